"""Executed instructions by function, line or address, and how much of each function they cover."""

from __future__ import annotations

import collections
import dataclasses
from typing import Counter, Dict, List, Optional, Sequence, Tuple

from gdb_prof.counters.mtb import packets, thumb
from gdb_prof.counters.mtb.nesting import with_chained
from gdb_prof.counters.mtb.packets import Branch
from gdb_prof.counters.mtb.program import Function, Program, code_at
from gdb_prof.counters.mtb.ranges import Executed

_OUTSIDE = "(no function)"


@dataclasses.dataclass(frozen=True)
class Row:
    """`instructions`: executions. `covered` of the function's `all` instructions were executed. `calls`: how
    often it is known to have been entered at its first instruction. `where`: file and line."""

    name: str
    instructions: int
    covered: int
    all: int
    calls: int
    where: Optional[Tuple[str, int]]


def by_function(executed: Executed, branches: Sequence[Branch], program: Program) -> List[Row]:
    """The most instructions first."""
    counts: Counter[Optional[Function]] = collections.Counter()
    covered: Counter[Optional[Function]] = collections.Counter()
    for address, times in executed.counts.items():
        function = program.function(address)
        counts[function] += times
        covered[function] += 1
    calls = _calls(branches, program)
    rows = [
        Row(
            function.name if function else _OUTSIDE,
            *(times, covered[function], size(function, program) if function else covered[function]),
            calls[function],
            program.line(function.address) if function else None,
        )
        for function, times in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row.instructions, row.name))


def by_line(executed: Executed, program: Program) -> List[Row]:
    """`covered`: instructions of the line that were executed; all that are its own are not counted."""
    counts: Dict[Tuple[str, Optional[Tuple[str, int]]], Tuple[int, int]] = {}
    for address, times in executed.counts.items():
        function = program.function(address)
        key = (function.name if function else _OUTSIDE, program.line(address))
        so_far, places = counts.get(key, (0, 0))
        counts[key] = (so_far + times, places + 1)
    rows = [Row(name, times, places, places, 0, where) for (name, where), (times, places) in counts.items()]
    return sorted(rows, key=lambda row: (-row.instructions, row.name, row.where or ("", 0)))


def by_address(executed: Executed, program: Program) -> List[Tuple[int, Row]]:
    """In the order of the addresses."""
    rows = []
    for address, times in sorted(executed.counts.items()):
        function = program.function(address)
        name = place(function, address) if function else _OUTSIDE
        rows.append((address, Row(name, times, 1, 1, 0, program.line(address))))
    return rows


def place(function: Optional[Function], address: int) -> str:
    """`hot_a+4`; the bare address outside all functions."""
    if function is None:
        return "0x%08x" % address
    offset = address - function.address
    return function.name + ("+%d" % offset if offset else "")


def size(function: Function, program: Program) -> int:
    """How many instructions it has."""
    return sum(
        1
        for start, code in program.stretches(function.address, function.end)
        for _ in thumb.instructions(code, start)
    )


def kind_of(branch: Branch, program: Program) -> str:
    """What its source's instruction is: one of thumb's kinds; PLAIN where that cannot be read."""
    if branch.source is None or branch.kind == packets.EXCEPTION:
        return thumb.PLAIN
    code = code_at(program, branch.source, branch.source + 4)
    return next((found.kind for found in thumb.instructions(code, branch.source)), thumb.PLAIN)


def fits(branch: Branch, program: Program) -> bool:
    """Whether both places are in the program's code, and a branch comes from an instruction that branches. A
    place whose packet is not in the buffer may be anywhere."""
    if branch.kind == packets.BRANCH and kind_of(branch, program) == thumb.PLAIN:
        return False
    places = (branch.source, branch.destination)
    return all(code_at(program, place, place + 2) for place in places if place is not None)


def _calls(branches: Sequence[Branch], program: Program) -> Counter[Optional[Function]]:
    """Arrivals at a function's first instruction: calls, entries of exceptions, jumps from elsewhere; not
    a loop's that begins there, nor a return to where it was interrupted."""
    calls: Counter[Optional[Function]] = collections.Counter()
    for branch in with_chained(branches, program):
        if branch.destination is None or (branch.kind == packets.RETURN and not branch.chained):
            continue
        function = program.function(branch.destination)
        if function is None or branch.destination != function.address:
            continue
        own = branch.source is not None and function.address <= branch.source < function.end
        if branch.kind != packets.BRANCH or not own or kind_of(branch, program) == thumb.CALL:
            calls[function] += 1
    return calls
