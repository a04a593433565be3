"""Facts about exceptions -> a table with remarks."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from gdb_prof.exceptions import name_of
from gdb_prof.swo.exceptions import Facts
from gdb_prof.wording import aligned, be, count, plural, wrapped


def report(found: Facts, width: int = 80, clock_hz: Optional[int] = None) -> str:
    """The facts as a table, ending with a line end. `clock_hz`: of the local timestamps, for times
    in microseconds rather than ticks."""
    timed = any(row.inclusive.count for row in found.rows)
    rows, align = _timed(found, width, clock_hz) if timed else _counted(found)
    lines = wrapped(_sentence(found, timed), width, later="") + aligned(rows, align)
    return "\n".join(lines + _remarks(found, width)) + "\n"


def _sentence(found: Facts, timed: bool) -> str:
    what = plural(found.packets, "exception packet")
    if timed:
        return "%s; at most %d deep; local time spans %s" % (
            what,
            found.deepest,
            plural(found.span or 0, "tick"),
        )
    why = "no timestamps" if found.span is None else "no whole run between timestamps"
    return "%s; at most %d deep; %s: counts only" % (what, found.deepest, why)


def _counted(found: Facts) -> Tuple[List[List[str]], List[str]]:
    rows = [["exception", "entered"]]
    rows += [[name_of(row.number), count(row.entered)] for row in found.rows]
    return rows, ["left", "right"]


def _timed(found: Facts, width: int, clock_hz: Optional[int]) -> Tuple[List[List[str]], List[str]]:
    unit = "µs" if clock_hz else "ticks"
    whole = width >= 80
    head = ["exception", "entered", "timed", unit + ": min", "mean", "max", "own: mean"]
    rows = [head + (["min", "max"] if whole else [])]
    for row in found.rows:
        own = row.exclusive
        figures: List[Optional[float]] = [row.inclusive.shortest, row.inclusive.mean, row.inclusive.longest]
        if not row.inclusive.count:
            figures = [None] * 3
        figures += [own.mean] + ([own.shortest, own.longest] if whole and own.count else [])
        counts = [count(row.entered), count(row.inclusive.count)]
        rows.append([name_of(row.number)] + counts + _shown(figures, len(rows[0]) - 3, clock_hz))
    return rows, ["left"] + ["right"] * (len(rows[0]) - 1)


def _shown(figures: Sequence[Optional[float]], columns: int, clock_hz: Optional[int]) -> List[str]:
    scale = 1e6 / clock_hz if clock_hz else 1.0
    cells = ["" if f is None else "{:,.{}f}".format(f * scale, 2 if clock_hz else 0) for f in figures]
    return cells + [""] * (columns - len(cells))


def _remarks(found: Facts, width: int) -> List[str]:
    cut, left_open = sum(row.cut for row in found.rows), sum(row.open for row in found.rows)
    untimed = sum(row.untimed for row in found.rows)
    remarks = []
    if found.gaps:
        remarks.append("packets were lost at %s: entries there are not counted" % plural(found.gaps, "place"))
    if cut:
        remarks.append(
            "%s cut (a gap, no entry, or neither exit nor return): no time for %s"
            % (plural(cut, "run"), "it" if cut == 1 else "them")
        )
    if left_open:
        remarks.append("%s still open at the stream's end" % _are(left_open))
    if untimed and any(row.inclusive.count for row in found.rows):
        remarks.append("%s without a timestamp" % plural(untimed, "run"))
    if found.late:
        remarks.append("%s late: times are that much less exact" % _were(found.late))
    return [line for remark in remarks for line in wrapped(remark, width, "! ")]


def _are(n: int) -> str:
    return "%s %s" % (plural(n, "run"), be(n))


def _were(n: int) -> str:
    return "%s or %s came" % (plural(n, "packet"), "its timestamp" if n == 1 else "their timestamps")
