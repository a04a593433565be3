"""The branches of a trace as lines, the newest last."""

from __future__ import annotations

import dataclasses
from typing import List, Optional, Sequence, Tuple

from gdb_prof.counters.mtb import packets
from gdb_prof.counters.mtb.coverage import kind_of, place
from gdb_prof.counters.mtb.exceptions import name_of
from gdb_prof.counters.mtb.packets import Branch
from gdb_prof.counters.mtb.program import Program
from gdb_prof.wording import aligned, base, count, plural, wrapped

_ARROW = "->"
_GAP = 2
_NARROWEST_PLACE = 8
_MISSING = "?"
_PC_SET = "PC set in debug"


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


def listing(window: Window, program: Program, width: int, last: Optional[int] = None) -> str:
    """`last`: so many of the newest; `width`: of the console."""
    shown = window.branches[-last:] if last else window.branches
    first = len(window.branches) - len(shown) + 1
    head = window.summary
    if len(shown) < len(window.branches):
        head += "; the last %s:" % count(len(shown))
    lines = wrapped(head, width)
    for note in window.notes:
        lines += wrapped(note, width)
    if not shown:
        return "\n".join(lines) + "\n"
    groups = _alike(shown, first)
    kinds = [kind_text(branch, program) + _times(many) for _, branch, many in groups]
    numbers = ["%d" % n if many == 1 else "%d-%d" % (n, n + many - 1) for n, _, many in groups]
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
        for number, (_, branch, _), kind in zip(numbers, groups, kinds)
    ]
    lines += aligned(rows, ("right", "left", "left", "left", "left"))
    if any(branch.started for branch in shown):
        lines += wrapped("* tracing began here: what ran before is not known", width)
    return "\n".join(lines) + "\n"


def _alike(shown: Sequence[Branch], first: int) -> List[Tuple[int, Branch, int]]:
    """The branches with their numbers; those of a loop, one like the other, as one and how many."""
    groups: List[Tuple[int, Branch, int]] = []
    for number, branch in enumerate(shown, first):
        if groups and groups[-1][1] == branch:
            begin, _, many = groups[-1]
            groups[-1] = (begin, branch, many + 1)
        else:
            groups.append((number, branch, 1))
    return groups


def _times(many: int) -> str:
    return "" if many == 1 else ", %s times" % count(many)


def kind_text(branch: Branch, program: Program) -> str:
    """`call`, `exception SysTick`; a star where tracing began with it."""
    text = _kind(branch, program)
    return ("* " + text).strip() if branch.started else text


def _kind(branch: Branch, program: Program) -> str:
    if branch.kind == packets.BRANCH:
        return kind_of(branch, program)
    numbers = program.exceptions(branch.destination) if branch.destination is not None else None
    if branch.kind == packets.EXCEPTION:
        if numbers is not None and not numbers:
            return _PC_SET
        # of several that share a handler the trace does not tell which
        return "%s %s" % (branch.kind, name_of(numbers[0])) if numbers and len(numbers) == 1 else branch.kind
    return "%s, %s" % (branch.kind, name_of(numbers[0])) if numbers else branch.kind


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
