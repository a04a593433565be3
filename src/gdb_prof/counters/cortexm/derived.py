"""Figures that follow from counts: cycles an instruction, misses, stalls, sleep.

The instructions of a core without a PMU: CYCCNT - CPICNT - EXCCNT - SLEEPCNT - LSUCNT + FOLDCNT (Armv7-M
ARM, C1.8), as long as none of the counters of 8 bits can have wrapped.
"""

from __future__ import annotations

import dataclasses
from typing import List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.cortexm.counter import CCNTR, CYCCNT, SLEEP, Figure

_SIGNS: Mapping[str, int] = {CYCCNT: 1, "cpi": -1, "exc": -1, SLEEP: -1, "lsu": -1, "fold": 1}
IDENTITY = "cyccnt - cpi - exc - sleep - lsu + fold"
PLAIN, THOUSAND, SHARE = "%.2f", "%.1f", "%.1f %%"
_SCALES = {PLAIN: 1, THOUSAND: 1000, SHARE: 100}
_CYCLES = "cycles"

_RATIOS: Sequence[Tuple[str, str, str, str]] = (
    ("cycles an instruction", _CYCLES, "INST_RETIRED", PLAIN),
    ("asleep", SLEEP, CYCCNT, SHARE),
    ("L1I misses per 1,000 accesses", "L1I_CACHE_REFILL", "L1I_CACHE", THOUSAND),
    ("L1D misses per 1,000 accesses", "L1D_CACHE_REFILL", "L1D_CACHE", THOUSAND),
    ("L2D misses per 1,000 accesses", "L2D_CACHE_REFILL", "L2D_CACHE", THOUSAND),
    ("L1I misses per 1,000 instructions", "L1I_CACHE_REFILL", "INST_RETIRED", THOUSAND),
    ("L1D misses per 1,000 instructions", "L1D_CACHE_REFILL", "INST_RETIRED", THOUSAND),
    ("branches mispredicted", "BR_MIS_PRED_RETIRED", "BR_RETIRED", SHARE),
    ("branches mispredicted, speculative", "BR_MIS_PRED", "BR_PRED", SHARE),
    ("stalled", "STALL", _CYCLES, SHARE),
    ("stalled, front end", "STALL_FRONTEND", _CYCLES, SHARE),
    ("stalled, back end", "STALL_BACKEND", _CYCLES, SHARE),
    ("stalled by MVE", "MVE_STALL", _CYCLES, SHARE),
)
"""What is shown, of which event, over which, and how."""


@dataclasses.dataclass(frozen=True)
class Derived:
    name: str
    value: float
    form: str = PLAIN

    @property
    def text(self) -> str:
        return self.form % self.value


def derived(figures: Sequence[Figure]) -> Tuple[Derived, ...]:
    """Of counts that are exact; none over 0."""
    by_name = _by_name(figures)
    found: List[Derived] = []
    instructions = _instructions(by_name)
    if instructions is not None and "INST_RETIRED" not in by_name:
        found.append(Derived("instructions", instructions, "%d"))
        found.append(Derived("cycles an instruction", by_name[CYCCNT].count / instructions))
    for name, above, below, form in _RATIOS:
        over, under = by_name.get(above), by_name.get(below)
        if over and under and over.exact and under.exact and under.count:
            found.append(Derived(name, _SCALES[form] * over.count / under.count, form))
    return tuple(found)


def withheld(figures: Sequence[Figure]) -> Tuple[str, ...]:
    """The figures that would follow, were the counts they need exact."""
    by_name = _by_name(figures)
    found = []
    if all(name in by_name for name in _SIGNS) and not _holds(by_name):
        found.append("instructions")
    for name, above, below, _ in _RATIOS:
        over, under = by_name.get(above), by_name.get(below)
        if over and under and not (over.exact and under.exact):
            found.append(name)
    return tuple(found)


def _by_name(figures: Sequence[Figure]) -> "dict[str, Figure]":
    found = {figure.counter.name: figure for figure in figures}
    cycles = [found[name] for name in (CYCCNT, CCNTR, "CPU_CYCLES") if name in found]
    if not cycles:
        return found
    return {**found, _CYCLES: next((figure for figure in cycles if figure.exact), cycles[0])}


def _holds(by_name: Mapping[str, Figure]) -> bool:
    """Whether all that the identity needs is known. Where SLEEPCNT is as before it has gone round while
    CYCCNT, which counted fewer, stood: if at all, and then nothing is to be taken off."""
    return all(
        by_name[name].exact or (name == SLEEP and not (by_name[name].count or by_name[name].doubt))
        for name in _SIGNS
    )


def _instructions(by_name: Mapping[str, Figure]) -> Optional[int]:
    """By the identity; None where it does not hold."""
    if not all(name in by_name for name in _SIGNS) or not _holds(by_name):
        return None
    total = sum(sign * by_name[name].count for name, sign in _SIGNS.items())
    return total if total > 0 else None
