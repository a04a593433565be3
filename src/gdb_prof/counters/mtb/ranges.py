"""The straight ways between branches, as the instructions that were executed on them."""

from __future__ import annotations

import collections
import dataclasses
from typing import Counter, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_prof.counters.mtb import packets, thumb
from gdb_prof.counters.mtb.packets import Branch
from gdb_prof.counters.mtb.program import Program, code_at

_LONGEST = 0x10000
"""Bytes of a straight way: no program goes further without a branch, but a damaged buffer may say so."""
_LONGEST_IT_BLOCK = 4


class Range(NamedTuple):
    """From `start`, where a branch led, to the instruction at `last`, which is executed itself unless an
    exception came before it. `leads_to`: where a branch there went, if not out of an exception; `resumed`:
    it may begin within an IT block."""

    start: int
    last: int
    executes_last: bool
    leads_to: Optional[int] = None
    resumed: bool = False


class Problem(NamedTuple):
    """Why a range cannot be followed: `kind` is the same for all that have the same fault."""

    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Executed:
    """`counts`: executions by instruction address. `left_out`: why ranges could not be followed, in words
    about the first of each kind, and how many. `gaps`: so often tracing began anew, or a packet was missing:
    what ran before is unknown. `tail`: how many of the instructions came after the last branch; None where
    that is not known. `it_blocks`: instructions of such were counted; no packet tells whether their
    condition held."""

    counts: Counter[int]
    left_out: Tuple[Tuple[str, int], ...]
    gaps: int
    tail: Optional[int]
    it_blocks: bool = False

    @property
    def instructions(self) -> int:
        return sum(self.counts.values())


def executed(branches: Sequence[Branch], program: Program, pc: Optional[int] = None) -> Executed:
    """What ran from the first branch's destination on. `pc`: where the program stands now, if it was
    traced until then."""
    ways: Counter[Range] = collections.Counter()
    gaps = 0
    for before, after in zip(branches, branches[1:]):
        way = None if after.started else _between(before, after)
        if way is None:
            gaps += 1
        else:
            ways[way] += 1
    counts: Counter[int] = collections.Counter()
    problems: Dict[str, Tuple[str, int]] = {}
    for way, times in ways.items():
        addresses, problem = instructions_of(way, program)
        if problem is not None:
            text, so_far = problems.get(problem.kind, (problem.text, 0))
            problems[problem.kind] = (text, so_far + times)
        for address in addresses:
            counts[address] += times
    tail = _tail(branches[-1], program, pc) if branches and pc is not None else None
    counts.update(tail or ())
    it_blocks = any(thumb.is_it(_halfword(address, program)) for address in counts)
    return Executed(counts, tuple(problems.values()), gaps, None if tail is None else len(tail), it_blocks)


def _halfword(address: int, program: Program) -> int:
    return int.from_bytes(code_at(program, address, address + 2), "little")


def _between(before: Branch, after: Branch) -> Optional[Range]:
    """None where a packet is missing."""
    if before.destination is None or after.source is None:
        return None
    leads_to = after.destination if after.kind == packets.BRANCH else None
    return Range(
        *(before.destination, after.source, after.kind != packets.EXCEPTION, leads_to),
        resumed=before.kind == packets.RETURN,
    )


def _tail(last: Branch, program: Program, pc: int) -> Optional[Sequence[int]]:
    """The instructions from the last branch's destination to the PC, which is not executed yet."""
    if last.destination is None:
        return None
    way = Range(last.destination, pc & ~1, False, resumed=last.kind == packets.RETURN)
    addresses, problem = instructions_of(way, program)
    return addresses if problem is None else None


def instructions_of(way: Range, program: Program) -> Tuple[Sequence[int], Optional[Problem]]:
    """The addresses of a range's instructions; none, and a problem, where they cannot be told."""
    if way.start == way.last and not way.executes_last:
        return (), None
    problem = _absurd(way)
    if problem is not None:
        return (), problem
    code = code_at(program, way.start, way.last + 4)
    passed: List[thumb.Instruction] = []
    final: Optional[thumb.Instruction] = None
    for found in thumb.instructions(code, way.start, _LONGEST_IT_BLOCK if way.resumed else 0):
        if found.address >= way.last:
            final = found
            break
        passed.append(found)
    problem = _not_straight(way, passed, final)
    if problem is not None:
        return (), problem
    return [*(i.address for i in passed), *([way.last] if way.executes_last else [])], None


def _name(way: Range) -> str:
    return "0x%08x to 0x%08x" % (way.start, way.last)


def _absurd(way: Range) -> Optional[Problem]:
    if way.last < way.start:
        return Problem("back", "%s goes backwards" % _name(way))
    if way.last - way.start > _LONGEST:
        return Problem("long", "%s is %d bytes without a branch" % (_name(way), way.last - way.start))
    return None


def _not_straight(
    way: Range, passed: Sequence[thumb.Instruction], final: Optional[thumb.Instruction]
) -> Optional[Problem]:
    """What tells that this code did not run from the range's start to its end."""
    for one in passed:
        if one.kind != thumb.PLAIN and not one.conditional:
            return Problem("passes", "%s passes 0x%08x, which always branches" % (_name(way), one.address))
    end = passed[-1].address + passed[-1].size if passed else way.start
    if end > way.last:
        return Problem("middle", "%s ends in the middle of an instruction" % _name(way))
    if end < way.last or (way.executes_last and final is None):
        return Problem("code", "%s leaves the program's code at 0x%08x" % (_name(way), end))
    if not way.executes_last or final is None:
        return None
    if final.kind == thumb.PLAIN:
        return Problem("plain", "%s ends at an instruction that does not branch" % _name(way))
    if None not in (final.target, way.leads_to) and final.target != way.leads_to:
        return Problem(
            "leads",
            "the branch at 0x%08x leads to 0x%08x, not to 0x%08x"
            % (way.last, final.target or 0, way.leads_to or 0),
        )
    return None
