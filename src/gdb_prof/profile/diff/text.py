"""What changed between two profiles -> text."""

from __future__ import annotations

from typing import Iterable, List, Optional, Sequence

from gdb_prof.profile.cells import SHORTEST_NAME, doubt, place, shortened
from gdb_prof.profile.diff.difference import Change, Difference, Side
from gdb_prof.profile.report import Layout, worth
from gdb_prof.wording import NARROWEST, aligned, count, plural, some, wrapped

_BEFORE_AFTER = ("before", "after", "change")
_HEADS = {"function": "function", "line": "function", "file": "file", "task": "task"}
_ALL_ROWS = "(5 % for all rows together)"


def report(
    found: Difference,
    layout: Layout,
    remarks: Sequence[str] = (),
    labels: Sequence[str] = _BEFORE_AFTER,
    reasons: Sequence[str] = (),
) -> str:
    """The whole report. `labels`: what the sides and their difference are called; `reasons`: what is
    said below the table. Ends with a newline."""
    before, after, _ = labels
    widest = max(len(before), len(after))
    lines: List[str] = []
    for name, side in ((before, found.before), (after, found.after)):
        lines += wrapped(_side(name.ljust(widest), side), layout.width, later=" " * (widest + 2))
    if found.is_none:
        lines.append("No row differs.")
    else:
        lines += wrapped(_meaning(found), layout.width)
        lines += _table(found, layout, labels)
        lines += wrapped(_verdict(found, labels[2]), layout.width)
    for reason in reasons:
        lines += wrapped(reason, layout.width, "- ")
    for remark in (*_remarks(found), *remarks):
        lines += wrapped(remark, layout.width, "! ")
    return "\n".join(lines) + "\n"


def _side(name: str, side: Side) -> str:
    return "%s  %s: %s, %s" % (
        name,
        side.profile.origin,
        plural(side.total, "sample"),
        worth(side.verdict) or "taken to be independent",
    )


def _meaning(found: Difference) -> str:
    before, after = found.before.profile.timing, found.after.profile.timing
    text = "Shares in % of each side's samples, ± 95 %: not the time that a call takes"
    timed = before.elapsed_s is not None and after.elapsed_s is not None
    period = (before.period_ticks, before.jitter_mask, before.tick_hz)
    if timed or period == (after.period_ticks, after.jitter_mask, after.tick_hz):
        return text + "."
    return text + "; the periods differ, so that numbers of samples tell no time, either."


def _table(found: Difference, layout: Layout, labels: Sequence[str]) -> List[str]:
    shown = [c for c in found.changes[: layout.top] if _largest(found, c) >= layout.least_percent]
    body = [[*_numbers(found, c), _name(c, layout), place(c.source)] for c in shown]
    hidden = len(found.changes) - len(shown)
    if hidden:
        rest = [c for c in found.changes if c not in shown]
        sums = [sum(c.before for c in rest), sum(c.after for c in rest)]
        cells = _shares(found, sums[0], sums[1])
        body.append([cells[0], "", cells[2], "", "", "", "(%s more)" % count(hidden), ""])
    before, after, change = labels
    body = [[before, "±", after, "±", change, "sure", _HEADS[found.by], "source"], *body]
    room = max(layout.width, NARROWEST) - 1 - sum(2 + max(len(row[i]) for row in body) for i in range(6))
    sources = max((len(row[7]) for row in body[1:]), default=0)
    if sources and room - 2 - sources >= SHORTEST_NAME:
        room -= 2 + sources
    elif found.by == "line":
        # where there is no room for both, the line is what one row has and the next has not
        body = [[*row[:6], row[7] or row[6]] for row in body]
    else:
        body = [row[:7] for row in body]
    for row in body:
        row[6] = shortened(row[6], room)
    align = ["right"] * 5 + ["left"] * (len(body[0]) - 5)
    return [" " + line for line in aligned(body, align)]


def _largest(found: Difference, change: Change) -> float:
    return 100 * max(change.before / found.before.total, change.after / found.after.total)


def _shares(found: Difference, before: int, after: int, rare: bool = False) -> List[str]:
    cells = []
    for side, samples in ((found.before, before), (found.after, after)):
        share, effective = samples / side.total, None if rare else side.verdict.effective
        cells += ["%.2f" % (100 * share), doubt(share, effective)]
    return cells


def _numbers(found: Difference, change: Change) -> List[str]:
    sure = {None: "?", True: "yes", False: "no"}[change.certain]
    return [*_shares(found, change.before, change.after, change.rare), "%+.2f" % change.points, sure]


def _name(change: Change, layout: Layout) -> str:
    return layout.demangle(change.name) + (" (%s)" % change.apart if change.apart else "")


def _verdict(found: Difference, change: str) -> str:
    unknown = [side.profile.origin for side in (found.before, found.after) if side.verdict.effective is None]
    if unknown:
        return (
            "No %s can be called larger than chance: too few of the samples of %s are known to be "
            "independent: see `prof check`." % (change, " and ".join(dict.fromkeys(unknown)))
        )
    rows, certain = len(found.changes), sum(1 for c in found.changes if c.certain)
    if not certain:
        text = "No %s is larger than chance %s" % (change, _ALL_ROWS)
    else:
        text = "%s of %s %s larger than chance %s" % (
            count(certain),
            plural(rows, change),
            "is" if certain == 1 else "are",
            _ALL_ROWS,
        )
    return text + _power(found.found, change)


def _power(found: Optional[float], change: str) -> str:
    if found is None:
        return "."
    return ". Samples like these find a %s of %.1f points in 95 of 100 cases." % (change, 100 * found)


def _remarks(found: Difference) -> Iterable[str]:
    for function, clones in sorted(found.merged.items()):
        yield "%s: counted as %s, since the two builds do not have the same ones" % (
            some(clones, 3),
            function,
        )
    for task in found.shared:
        yield "several tasks have the name %s: taken together" % task
