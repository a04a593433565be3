"""Who called a leaf function: while it runs, LR is where it returns to (Armv7-M ARM, A2.3.1, A7.7.18).

That holds for a function that calls none and does not write LR, from its first instruction to
its last. Any other may be sampled with LR as a call of its own left it.
"""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import Counter, Optional, Sequence, Tuple

from gdb_prof.errors import UsageError
from gdb_prof.profile.places import Row
from gdb_prof.profile.program.code import Build, Instruction
from gdb_prof.profile.program.functions import Function
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Selection, Shares, selected
from gdb_prof.profile.source import TIMER

EXCEPTION_RETURN = "(exception return: called by the hardware)"
OTHER_STATE = "(called from the other security state)"

_LR = re.compile(r"\b(?:lr|r14)\b")
_FNC_RETURN = 0xFEFFFFFE
"""LR in a function that the other security state called, without its lowest bit."""


@dataclasses.dataclass(frozen=True)
class Caller:
    """Samples with one LR. `site`: the address of the call; None where LR is not after a call."""

    name: str
    samples: int
    site: Optional[int] = None
    source: Optional[Tuple[str, int]] = None


def callers(
    profile: Profile, build: Build, table: Shares, row: Row, name: str, selection: Selection
) -> Tuple[Caller, ...]:
    """The callers of a row's function in a table by function, most samples first: together the row's.

    Raises UsageError where LR does not tell them.
    """
    if profile.histogram:
        raise UsageError("a histogram has no LR: build with PROF_MODE=PROF_RING and PROF_LR=1")
    if profile.lrs is None or table.order is None:
        build_it = "build with PROF_LR=1, or " if profile.source.kind == TIMER else ""
        raise UsageError("the samples carry no LR: %s`prof start -source halt -backtrace`" % build_it)
    assert row.function is not None
    _demand_leaf(row.function, name, build)
    lrs = selected(profile, selection).lrs or ()
    number = table.rows.index(row)
    counts = collections.Counter(lr for lr, of in zip(lrs, table.order.rows) if of == number)
    found: Counter[Tuple[str, Optional[int], Optional[Tuple[str, int]]]] = collections.Counter()
    for lr, samples in counts.items():
        found[_caller(lr, build)] += samples
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0][0], item[0][1] or 0))
    return tuple(Caller(called, samples, site, source) for (called, site, source), samples in ranked)


def _demand_leaf(function: Function, name: str, build: Build) -> None:
    if not function.symbol:
        raise UsageError("%s is no function: whether it leaves LR alone is not known" % name)
    instructions = build.code.function(function.address)
    if not instructions:
        raise UsageError("the instructions of %s are not at hand: load its ELF" % name)
    for instruction in instructions:
        why = ""
        if instruction.is_call:
            why = "calls others"
        elif instruction.stores and _LR.search(instruction.operands):
            why = "saves LR"
        elif instruction.writes("lr"):
            why = "writes LR"
        if why:
            place = build.name_at(instruction.address)
            raise UsageError(
                "%s %s (`%s` at %s): only in a leaf function LR tells the caller"
                % (name, why, instruction.shown, place)
            )


def _caller(lr: int, build: Build) -> Tuple[str, Optional[int], Optional[Tuple[str, int]]]:
    if lr >= 0xFF000000:
        return EXCEPTION_RETURN, None, None
    if lr & ~1 == _FNC_RETURN:
        return OTHER_STATE, None, None
    back = lr & ~1
    function = build.functions.at(back - 2)
    if function is None:
        return "(outside code: 0x%08x)" % lr, None, None
    call = _call_before(back, build.code.function(back - 2))
    if call is None:
        return "(no call before %s)" % build.name_at(back), None, build.lines.line(back)
    chain = list(build.lines.inlined(call))
    name = function.name if len(chain) < 2 else "%s (in %s)" % (chain[0], ", in ".join(chain[1:]))
    return name, call, build.lines.line(call)


def _call_before(back: int, instructions: Sequence[Instruction]) -> Optional[int]:
    for instruction in instructions:
        if instruction.address + instruction.size == back:
            return instruction.address if instruction.is_call else None
    return None
