"""What was executed in a trace's window, as a table."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from gdb_prof.counters.mtb.coverage import Row, by_address, by_function, by_line
from gdb_prof.counters.mtb.listing import Window
from gdb_prof.counters.mtb.program import Program
from gdb_prof.counters.mtb.ranges import Executed
from gdb_prof.wording import aligned, base, count, plural, wrapped

FUNCTION, LINE, ADDRESS = "function", "line", "address"
_NARROWEST_NAME = 12


def report(
    window: Window,
    executed: Executed,
    program: Program,
    width: int,
    by: str = FUNCTION,
    top: Optional[int] = None,
) -> str:
    """`by`: FUNCTION, LINE or ADDRESS; `top`: so many rows."""
    lines = wrapped(window.summary, width)
    for note in (*window.notes, *_circumstances(window, executed)):
        lines += wrapped(note, width)
    if executed.counts:
        rows = _rows(window, executed, program, by)
        lines += _table(rows[: top + 1] if top else rows, width)
        if top and len(rows) - 1 > top:
            lines.append("(%s more)" % plural(len(rows) - 1 - top, "row"))
        lines += wrapped(
            "Instructions are counted, not time: what one costs, waits and sleep are not seen.", width
        )
    return "\n".join(lines) + "\n"


def _circumstances(window: Window, executed: Executed) -> List[str]:
    """The window's length, and what of it is not known."""
    said: List[str] = []
    if window.branches:
        said.append(
            "%s from the first branch's destination on: what led to it is not known"
            % plural(executed.instructions, "instruction")
        )
    if executed.tail:
        last = "the last" if executed.tail == 1 else "the last %s" % count(executed.tail)
        said.append("%s of them up to the PC: traced by no branch yet" % last)
    if executed.it_blocks:
        said.append("instructions of IT blocks are counted whether or not their condition held")
    if executed.gaps:
        said.append(
            "! %s: tracing began anew, or a packet is missing: what ran before is not counted"
            % plural(executed.gaps, "gap")
        )
    for why, times in executed.left_out:
        more = " (and %s alike)" % plural(times - 1, "range") if times > 1 else ""
        said.append("! left out: %s%s: is this the program that was traced?" % (why, more))
    return said


Cells = Tuple[str, ...]


def _rows(window: Window, executed: Executed, program: Program, by: str) -> List[Cells]:
    """The head first; the name is the last but one cell, its source the last."""
    total = executed.instructions
    rows: List[Cells] = []
    if by == FUNCTION:
        rows.append(("instructions", "share", "covered", "calls", "function", "source"))
        for row in by_function(executed, window.branches, program):
            covered = "%d/%d" % (row.covered, row.all)
            rows.append((*_counted(row, total), covered, count(row.calls), row.name, _source(row)))
    elif by == LINE:
        rows.append(("instructions", "share", "function", "source"))
        rows += [(*_counted(row, total), row.name, _source(row)) for row in by_line(executed, program)]
    else:
        rows.append(("address", "instructions", "share", "function", "source"))
        for address, row in by_address(executed, program):
            rows.append(("0x%08x" % address, *_counted(row, total), row.name, _source(row)))
    return rows


def _counted(row: Row, total: int) -> Tuple[str, str]:
    return count(row.instructions), "%.2f %%" % (100 * row.instructions / total)


def _source(row: Row) -> str:
    return "%s:%d" % (base(row.where[0]), row.where[1]) if row.where else ""


def _table(rows: Sequence[Cells], width: int) -> List[str]:
    """Names are cut to the console's width, or the sources left out where that does not suffice."""
    rest = len(rows[0]) - 2
    align = ("right",) * rest + ("left", "left")

    def taken(columns: Sequence[int]) -> int:
        return sum(max(len(row[n]) for row in rows) + 2 for n in columns)

    room = width - taken([*range(rest), rest + 1])
    if room >= _NARROWEST_NAME or not any(row[-1] for row in rows[1:]):
        return aligned([(*row[:rest], _cut(row[rest], room), row[-1]) for row in rows], align)
    room = width - taken(range(rest))
    return aligned([(*row[:rest], _cut(row[rest], room)) for row in rows], align[:-1])


def _cut(name: str, room: int) -> str:
    room = max(room, _NARROWEST_NAME)
    return name if len(name) <= room else name[: room - 1] + "…"
