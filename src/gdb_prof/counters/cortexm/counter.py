"""Counters, what they read, and how much of a difference between two readings is known."""

from __future__ import annotations

import dataclasses
from typing import FrozenSet, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.counting import Width, elapsed

CYCCNT, CCNTR = "cyccnt", "ccntr"
CYCLES = (CYCCNT, CCNTR)
FASTEST_HZ = 2_000_000_000
"""No Cortex-M has a faster clock: the limit where nobody says which this one has."""


@dataclasses.dataclass(frozen=True)
class Counter:
    """`name`: of the event, as the user writes it; `place`: the register or registers. `flagged`: an overflow
    flag tells whether it has wrapped; where there is none, only the cycles that went by tell."""

    name: str
    place: str
    width: Width
    flagged: bool = False


@dataclasses.dataclass(frozen=True)
class Reading:
    """`values` by name of the event; `overflowed`: those whose flag was set since the reading before."""

    values: Mapping[str, int]
    overflowed: FrozenSet[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Figure:
    """What was counted: `count`, or where that is not `exact` any multiple of 2**bits more."""

    counter: Counter
    count: int
    exact: bool

    @property
    def stands(self) -> bool:
        """A cycle counter that has not moved while the program ran."""
        return self.counter.name in CYCLES and not self.count and not self.exact


def differences(
    counters: Sequence[Counter], before: Reading, after: Reading, ran_s: float, hz: Optional[int]
) -> Tuple[Figure, ...]:
    """What each has counted between two readings. `ran_s`: for how long it may have counted, by the host's
    clock, or longer; `hz`: the core's clock, where it is known."""
    cycles = _cycles(counters, before, after, ran_s, hz)
    figures: List[Figure] = []
    for counter in counters:
        if counter.name in CYCLES:
            figures.append(_of_cycles(counter, before, after, ran_s, hz))
            continue
        change = elapsed(counter.width, before.values[counter.name], after.values[counter.name])
        if counter.flagged:
            exact = counter.name not in after.overflowed
            if not exact and after.values[counter.name] >= before.values[counter.name]:
                change += counter.width.modulus
        else:  # at most one a cycle
            exact = cycles is not None and cycles < counter.width.modulus
        figures.append(Figure(counter, change, exact))
    return tuple(figures)


def _of_cycles(counter: Counter, before: Reading, after: Reading, ran_s: float, hz: Optional[int]) -> Figure:
    change = elapsed(counter.width, before.values[counter.name], after.values[counter.name])
    stands = not change and ran_s > 0  # it is none, or off: then nothing is known by it
    return Figure(counter, change, not stands and ran_s * (hz or FASTEST_HZ) < counter.width.modulus)


def _cycles(
    counters: Sequence[Counter], before: Reading, after: Reading, ran_s: float, hz: Optional[int]
) -> Optional[int]:
    """How many went by; None where that is not known."""
    for counter in counters:
        if counter.name in CYCLES:
            figure = _of_cycles(counter, before, after, ran_s, hz)
            return figure.count if figure.exact else None
    return None


class Tally:
    """Readings one after the other, added up: what each interval tells is kept."""

    def __init__(self, counters: Sequence[Counter], first: Reading) -> None:
        self.counters = tuple(counters)
        self.last = first
        self.figures = tuple(Figure(counter, 0, True) for counter in counters)

    def add(self, reading: Reading, ran_s: float, hz: Optional[int]) -> Tuple[Figure, ...]:
        """The interval's own figures; the sums are in `figures`."""
        new = differences(self.counters, self.last, reading, ran_s, hz)
        self.figures = tuple(
            Figure(old.counter, old.count + more.count, old.exact and more.exact)
            for old, more in zip(self.figures, new)
        )
        self.last = reading
        return new
