"""The branches of a trace as lines, the newest last."""

from __future__ import annotations

import dataclasses
from typing import List, NamedTuple, Optional, Sequence

from gdb_prof.counters.mtb import packets
from gdb_prof.counters.mtb.coverage import kind_of, place
from gdb_prof.counters.mtb.nesting import with_chained
from gdb_prof.counters.mtb.packets import Branch
from gdb_prof.counters.mtb.program import Program
from gdb_prof.exceptions import name_of
from gdb_prof.wording import aligned, base, count, plural, wrapped

_ARROW = "->"
_GAP = 2
_NARROWEST_PLACE = 8
_MISSING = "?"
_PC_SET = "PC set in debug"
MOST_ROWS = 100
"""Of a listing, unless it is asked for more."""
_LONGEST_LOOP = 4
_FEWEST_TURNS = 3
"""Branches of a loop, and turns of one of several branches, that are shown as one turn."""


@dataclasses.dataclass(frozen=True)
class Window:
    """What the buffer holds. `wrapped`: older branches are lost; None where that is not known. `capacity`: of
    packets; `notes`: what else must be said."""

    branches: Sequence[Branch]
    capacity: int
    wrapped: Optional[bool]
    notes: Sequence[str] = ()

    @property
    def summary(self) -> str:
        if not self.branches:
            return "no branch is traced yet"
        kept = "%s in a buffer of %s" % (
            plural(len(self.branches), "branch", "branches"),
            plural(self.capacity, "packet"),
        )
        if self.wrapped is None:
            return kept
        return kept + (": it has wrapped, older ones are lost" if self.wrapped else ": all since the start")


class _Loop(NamedTuple):
    """`turn`: branches that follow each other so many times; `first`: the number of the first. A branch that
    is in no loop is a turn of one."""

    first: int
    turn: Sequence[Branch]
    times: int

    @property
    def numbers(self) -> str:
        last = self.first + len(self.turn) * self.times - 1
        return "%d" % last if last == self.first else "%d-%d" % (self.first, last)


def listing(window: Window, program: Program, width: int, last: Optional[int] = None) -> str:
    """`last`: so many of the newest branches; None: as many as MOST_ROWS show. `width`: of the console."""
    shown = [*with_chained(window.branches, program)][-last if last else 0 :]
    loops = _folded(shown, len(window.branches) - len(shown) + 1)
    head = window.summary
    if len(shown) < len(window.branches):
        head += "; the last %s:" % count(len(shown))
    lines = wrapped(head, width)
    for note in window.notes:
        lines += wrapped(note, width)
    if last is None:
        del loops[: -_newest(loops)]
        if loops and loops[0].first > 1:
            lines.append("… %s before these (-last)" % count(loops[0].first - 1))
    if loops:
        lines += _rows(loops, program, width)
    return "\n".join(lines) + "\n"


def _rows(loops: Sequence[_Loop], program: Program, width: int) -> List[str]:
    """A row for each branch of a turn, the loop's numbers at the first; and what the signs mean."""
    shown = [branch for loop in loops for branch in loop.turn]
    numbers = [number for loop in loops for number in (loop.numbers, *[""] * (len(loop.turn) - 1))]
    kinds = [_with_times(kind_text(branch, program), loop.times) for loop in loops for branch in loop.turn]
    room = (width - max(map(len, numbers)) - len(_ARROW) - 4 * _GAP - max(map(len, kinds))) // 2
    room = max(room, _NARROWEST_PLACE)
    rows = [("", "source", "", "destination", "")]
    rows += [
        (
            number,
            place_text(branch.source, program, room),
            _ARROW,
            place_text(branch.destination, program, room),
            kind,
        )
        for number, branch, kind in zip(numbers, shown, kinds)
    ]
    lines = aligned(rows, ("right", "left", "left", "left", "left"))
    if "" in numbers:
        lines += wrapped("no number: in turn with the rows above, a loop", width)
    if any(branch.started for branch in shown):
        lines += wrapped("* tracing began here: what ran before is not known", width)
    return lines


def _folded(shown: Sequence[Branch], first: int) -> List[_Loop]:
    """The branches, those of a loop as one turn: the one that takes the most of them."""
    loops: List[_Loop] = []
    at = 0
    while at < len(shown):
        best = _Loop(first + at, shown[at : at + 1], _turns(shown, at, 1))
        for length in range(2, _LONGEST_LOOP + 1):
            times = _turns(shown, at, length)
            if times >= _FEWEST_TURNS and length * times > len(best.turn) * best.times:
                best = _Loop(first + at, shown[at : at + length], times)
        loops.append(best)
        at += len(best.turn) * best.times
    return loops


def _turns(shown: Sequence[Branch], at: int, length: int) -> int:
    """How often the `length` branches from `at` on follow each other."""
    end = at + length
    while end < len(shown) and shown[end] == shown[end - length]:
        end += 1
    return (end - at) // length


def _newest(loops: Sequence[_Loop]) -> int:
    """How many of the newest MOST_ROWS show."""
    rows = 0
    for number, loop in enumerate(reversed(loops)):
        rows += len(loop.turn)
        if rows > MOST_ROWS:
            return number
    return len(loops)


def _with_times(kind: str, times: int) -> str:
    return kind if times == 1 else "%s%s times" % (kind + ", " if kind else "", count(times))


def kind_text(branch: Branch, program: Program) -> str:
    """`call`, `exception SysTick`; a star where tracing began with it."""
    text = _kind(branch, program)
    return ("* " + text).strip() if branch.started else text


def _kind(branch: Branch, program: Program) -> str:
    if branch.kind == packets.BRANCH:
        return kind_of(branch, program)
    if branch.destination is None or (branch.kind == packets.RETURN and not branch.chained):
        return branch.kind
    numbers = program.exceptions(branch.destination)
    if numbers is not None and not numbers:
        return _PC_SET
    if numbers is None or len(numbers) > 1:  # of several that share a handler the trace does not tell which
        return branch.kind
    return "%s%s%s" % (branch.kind, ", " if branch.chained else " ", name_of(numbers[0]))


def place_text(address: Optional[int], program: Program, room: int) -> str:
    """`hot_a+4 three_loops.c:11`, shortened to the room: the file goes first, then the name is cut."""
    if address is None:
        return _MISSING
    name, line = place(program.function(address), address), program.line(address)
    if line is None:
        return _cut(name, "", room)
    whole = "%s %s:%d" % (name, base(line[0]), line[1])
    return whole if len(whole) <= room else _cut(name, " :%d" % line[1], room)


def _cut(name: str, rest: str, room: int) -> str:
    excess = len(name) + len(rest) - room
    return (name[: max(len(name) - excess - 1, 1)] + "…" if excess > 0 else name) + rest
