"""Rows -> text: the table of a profile, its head and what must be said below it."""

from __future__ import annotations

import collections
import dataclasses
from typing import Callable, Dict, Iterable, List, Optional, Sequence

from gdb_prof.printable import printable
from gdb_prof.profile import call_tree
from gdb_prof.profile.call_stacks import CALLS, STACK, STACK_KINDS
from gdb_prof.profile.call_text import BLANK, path_text
from gdb_prof.profile.cells import doubt, place, share
from gdb_prof.profile.checks import Verdict
from gdb_prof.profile.finding import Severity
from gdb_prof.profile.fitting import fit
from gdb_prof.profile.inline_tree import below, tree
from gdb_prof.profile.interval import half_width, samples_for
from gdb_prof.profile.places import Host, Row
from gdb_prof.profile.program.functions import Function
from gdb_prof.profile.samples import CYCLES, RECORDING, TARGET, Profile, Timing
from gdb_prof.profile.shares import ASLEEP, Shares
from gdb_prof.wording import aligned, count, plural, wrapped


@dataclasses.dataclass(frozen=True)
class Layout:
    """How much to show. `width` in characters."""

    width: int = 80
    top: int = 40
    least_percent: float = 0.0
    demangle: Callable[[str], str] = str


def spacing(timing: Timing) -> str:
    """`one per 11,982 ns + 0..12,185 jitter`, in ticks where the clock is unknown."""
    if timing.random:
        return "at random intervals"
    if timing.period_ticks is None:
        return "at an unknown period"
    if timing.unit == CYCLES:
        return _in_cycles(timing)
    if timing.tick_hz:
        scale, unit = 1e9 / timing.tick_hz, "ns"
    else:
        scale, unit = 1.0, timing.unit
    text = "one per %s %s" % (count(round(timing.period_ticks * scale)), unit)
    if timing.jitter_mask:
        return text + " + 0..%s jitter" % count(round(timing.jitter_mask * scale))
    return text + ", no jitter"


def _in_cycles(timing: Timing) -> str:
    shortest = timing.period_ticks or 0
    if timing.jitter_mask:
        longest = shortest + timing.jitter_mask
        return "one per %s..%s cycles, another one now and then" % (count(shortest), count(longest))
    text = "one per %s cycles" % count(shortest)
    return text + (" (%s ns)" % count(round(shortest / timing.tick_hz * 1e9)) if timing.tick_hz else "")


def report(profile: Profile, verdict: Verdict, layout: Layout) -> str:
    """The whole report. Ends with a newline."""
    table = verdict.table
    lines = wrapped(head(profile, verdict), layout.width)
    if table.total:
        lines += _table(profile, verdict, layout)
        lines += wrapped(_needed(verdict), layout.width)
    for finding in verdict.findings:
        lines += wrapped(finding.summary, layout.width, "- " if finding.severity == Severity.REMARK else "! ")
    for remark in _remarks(profile, table):
        lines += wrapped(remark, layout.width, "! ")
    return "\n".join(lines) + "\n"


def worth(verdict: Verdict) -> str:
    """How many independent samples the profile's are worth, as the head line says it."""
    found = verdict.dependence
    if found is None:
        return ""
    if not found.checked:
        return "too few to check" if found.total else ""
    if found.independent:
        return "all independent"
    if found.effective is not None:
        return "as sure as %s independent" % count(round(found.effective))
    if found.repeat is not None:
        return "%s independent" % count(found.repeat.period)
    return "how many independent is not known"


def head(profile: Profile, verdict: Verdict) -> str:
    """`10,000 samples by SysTick, one per 11,982 ns + 0..12,185 jitter; all independent`."""
    table, known = verdict.table, worth(verdict)
    head = "%s by %s, %s" % (plural(table.total, "sample"), profile.timing.timer, spacing(profile.timing))
    if profile.source.rate_hz is not None:
        head += ", %s a second" % count(round(profile.source.rate_hz))
    elif profile.timing.elapsed_s is not None and table.total == profile.taken:
        head += ", in %.3f ms" % (profile.timing.elapsed_s * 1e3)
    if profile.origin not in (TARGET, RECORDING):
        head += "; from %s" % profile.origin
    return head + ("; " + known if known else "")


def _needed(verdict: Verdict) -> str:
    """What a narrower interval would take, for the share that is least sure."""
    table, effective = verdict.table, verdict.effective
    least = max((row.samples / table.total for row in table.rows), key=lambda p: p * (1 - p), default=0.0)
    if not effective or not least or (verdict.dependence and verdict.dependence.repeat):
        return ""  # more of the same would not help, or nobody knows
    each = table.total / effective
    for_a_point = _round(samples_for(least, _POINT) * each)
    if half_width(least, effective) > _POINT and for_a_point > table.total:
        return "±1.0 % would take about {} samples.".format(count(for_a_point))
    return "Half the error would take {} samples.".format(count(4 * table.total))


_POINT = 0.01


def _round(samples: float) -> int:
    """To two digits."""
    scale = int(10 ** max(0, len(str(int(samples))) - 2))
    return round(samples / scale) * scale


def _remarks(profile: Profile, table: Shares) -> Iterable[str]:
    yield from profile.remarks
    if any(row.function and row.function.guessed and row.address is None for row in table.rows):
        yield "~ a symbol without a size: taken to reach to the next symbol"


def _table(profile: Profile, verdict: Verdict, layout: Layout) -> List[str]:
    table = verdict.table
    if table.by == "task":
        body = _task_rows(profile, verdict, layout)
    elif table.by == "inline":
        body = _inline_rows(verdict, layout)
    elif table.by == STACK:
        body = _cut(range(len(table.rows)), verdict, _on_paths(table.rows), layout)
    elif table.by == CALLS:
        body = _call_rows(verdict, layout)
    else:
        body = _cut(range(len(table.rows)), verdict, _clashes(table.rows), layout)
    numbers = _heads_of_numbers(table)
    headers = [*numbers, *_HEADS[table.by]]
    total_at = numbers.index("samples")
    body.append(["100.00 %", *([""] * (total_at - 1)), count(table.total)])
    body = [[printable(cell, len(cell)) for cell in row] + [""] * (len(headers) - len(row)) for row in body]
    fit(body, headers, len(numbers), layout.width)
    align = ["right"] * len(numbers) + ["left"] * (len(headers) - len(numbers))
    lines = [line.replace(BLANK, " ") for line in aligned([headers, *body], align)]
    total = " " + lines[-1].rstrip() + "  "
    return [" " + line.rstrip() for line in lines[:-1]] + wrapped(
        _classes(table), layout.width, total, " " * len(total)
    )


_HEADS = {
    "function": ("function", "source"),
    "line": ("function", "source"),
    "address": ("address", "source"),
    "file": ("file",),
    "task": ("task / function", "source"),
    "inline": ("function / inlined", "source"),
    STACK: ("call path",),
    CALLS: ("function", "source"),
}


def _heads_of_numbers(table: Shares) -> List[str]:
    # what led to sleep has it, too: of that time no part is of busy
    parts = table.by not in STACK_KINDS
    busy = ["of busy"] if parts and table.classes.get(ASLEEP) and table.awake else []
    return ["share", "± 95 %", *busy, "samples", *(["own"] if table.by == CALLS else [])]


def _numbers(samples: int, verdict: Verdict, asleep: bool = False, number: Optional[int] = None) -> List[str]:
    """A row's cells below `_heads_of_numbers`, save `own`. `number`: the row's; None for rows together."""
    table = verdict.table
    cells = [share(samples, table.total), doubt(samples / table.total, _effective(verdict, number))]
    if "of busy" in _heads_of_numbers(table):
        cells.append("" if asleep else share(samples, table.awake))
    return [*cells, count(samples)]


def _effective(verdict: Verdict, number: Optional[int]) -> Optional[float]:
    """None, too, for a row that has its part of bins by bytes: how far that is off nobody knows."""
    divided = number is not None and verdict.table.rows[number].divided
    return None if divided else verdict.effective_of(number)


def _cells(row: Row, clashes: Dict[str, List[Function]], layout: Layout) -> List[str]:
    """The name, with what tells it from others of that name, and the source."""
    name, function = layout.demangle(row.name), row.function
    if row.path:
        return [path_text([_cells(_named(host), clashes, layout)[0] for host in row.path])]
    if function is None:
        return [name]
    source = place(row.source)
    if row.address is not None:
        return ["%08x %s" % (row.address, name), source]
    if len(clashes[row.name]) > 1:
        name += " (%s)" % _what_differs(function, clashes[row.name])
    if row.divided:
        name += " (%s divided)" % count(row.divided)
    if function.guessed:
        name += "~"
    if function.aliases:
        name += " +%d alias%s" % (function.aliases, "" if function.aliases == 1 else "es")
    return [name, source]


def _clashes(rows: Sequence[Row]) -> Dict[str, List[Function]]:
    """The different functions of each name."""
    named: Dict[str, List[Function]] = collections.defaultdict(list)
    for row in rows:
        if row.function is not None and row.function not in named[row.name]:
            named[row.name].append(row.function)
    return named


def _named(host: Host) -> Row:
    function = host.function._replace(guessed=False, aliases=0) if host.function else None
    return Row(host.name, 0, function, source=host.source)


def _on_paths(rows: Sequence[Row]) -> Dict[str, List[Function]]:
    """The different functions of each name on call paths."""
    return _clashes([_named(host) for host in dict.fromkeys(host for row in rows for host in row.path)])


def _what_differs(function: Function, same_name: Sequence[Function]) -> str:
    """The image, else the source file, else the address: the first that is its own."""
    for field in ("image", "source"):
        values = [getattr(other, field) for other in same_name]
        if len(set(values)) == len(values) and all(values):
            return str(getattr(function, field))
    return "%08x" % function.address


def _cut(
    numbers: Sequence[int],
    verdict: Verdict,
    clashes: Dict[str, List[Function]],
    layout: Layout,
    indent: str = "",
) -> List[List[str]]:
    """The rows of these numbers that are shown, as cells, and one for all the others."""
    table = verdict.table
    least = layout.least_percent * table.total / 100
    shown = [number for number in numbers[: layout.top] if table.rows[number].samples >= least]
    body = []
    for number in shown:
        row = table.rows[number]
        name, *source = _cells(row, clashes, layout)
        if number in verdict.marked:
            name += " !"
        body.append([*_numbers(row.samples, verdict, row.name == "(asleep)", number), indent + name, *source])
    return body + _more([table.rows[number].samples for number in numbers[len(shown) :]], verdict, indent)


def _more(hidden: Sequence[int], verdict: Verdict, indent: str = "") -> List[List[str]]:
    """The rows with so many samples that are not shown, as one; none where none is hidden."""
    if not hidden:
        return []
    return [[*_numbers(sum(hidden), verdict), "%s(%s more)" % (indent, count(len(hidden)))]]


def _inline_rows(verdict: Verdict, layout: Layout) -> List[List[str]]:
    """Each function's sum, and under it what is inlined in it; the layout's limits are for functions."""
    nodes = tree(verdict.table.rows)
    clashes = _clashes([node.row for node in nodes])
    least = layout.least_percent * verdict.table.total / 100
    shown = [node for node in nodes[: layout.top] if node.row.samples >= least]
    body = []
    for node in shown:
        name, *source = _cells(node.row, clashes, layout)
        inside = list(below(node))
        lines = [(name, source, node.row, None if inside else node.own)]
        for depth, row, number in inside:
            lines.append((2 * depth * BLANK + layout.demangle(row.name), [place(row.source)], row, number))
        for name, source, row, number in lines:
            mark = " !" if number in verdict.marked else ""
            body.append([*_numbers(row.samples, verdict, number=number), name + mark, *source])
    return body + _more([node.row.samples for node in nodes[len(shown) :]], verdict)


def _call_rows(verdict: Verdict, layout: Layout) -> List[List[str]]:
    """Each function with all that it called, and under it what that was."""
    table = verdict.table
    roots, clashes = call_tree.tree(table.rows), _on_paths(table.rows)
    body = []
    for line in call_tree.lines(roots, layout.top, layout.least_percent * table.total / 100):
        indent, node = 2 * line.depth * BLANK, line.node
        if node is None:
            more = "%s(%s more)" % (indent, count(line.hidden))
            body.append([*_numbers(line.samples, verdict), "", more])
            continue
        name, *source = _cells(_named(node.host), clashes, layout)
        numbers = _numbers(node.samples, verdict, number=node.number if node.is_one_row else None)
        mark = " !" if node.number in verdict.marked else ""
        body.append([*numbers, count(node.own) if node.own else "", indent + name + mark, *source])
    return body


def _task_rows(profile: Profile, verdict: Verdict, layout: Layout) -> List[List[str]]:
    """Each task's sum, and under it its functions."""
    table = verdict.table
    clashes = _clashes(table.rows)
    by_tag: Dict[int, List[int]] = collections.defaultdict(list)
    for number, row in enumerate(table.rows):
        by_tag[row.tag or 0].append(number)
    sums = {tag: sum(table.rows[number].samples for number in numbers) for tag, numbers in by_tag.items()}
    labels = task_labels(profile, sums)
    body = []
    for tag, samples in sorted(sums.items(), key=lambda item: (-item[1], item[0])):
        asleep = all(table.rows[number].name == "(asleep)" for number in by_tag[tag])
        body.append([*_numbers(samples, verdict, asleep), labels[tag]])
        body += _cut(by_tag[tag], verdict, clashes, layout, 2 * BLANK)
    return body


def task_labels(profile: Profile, tags: Iterable[int]) -> Dict[int, str]:
    """A name for each tag; two tasks of one name keep their address."""
    names = {tag: profile.tag_names.get(tag) or ("task@%08x" % tag if tag else "(no task)") for tag in tags}
    often = collections.Counter(names.values())
    return {tag: name if often[name] == 1 else "%s @%08x" % (name, tag) for tag, name in names.items()}


def _classes(table: Shares) -> str:
    if not table.classes:
        return "in code; none outside"
    named = [(table.in_code, "in code"), *((n, name) for name, n in sorted(table.classes.items()))]
    return ", ".join("%s %s" % (count(n), name) for n, name in named)
