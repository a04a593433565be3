"""Counters, what they read, and how much of a difference between two readings is known."""

from __future__ import annotations

import dataclasses
from typing import Dict, FrozenSet, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.counting import Width, elapsed

CYCCNT, CCNTR = "cyccnt", "ccntr"
CYCLES = (CYCCNT, CCNTR)
FASTEST_HZ = 2_000_000_000
"""No Cortex-M has a faster clock: the limit where nobody says which this one has."""
_OFF = 1.05
"""By so much an internal oscillator may be faster than it is said to be."""
SLEEP = "sleep"
AT_LEAST, UNKNOWN, DIFFERS, HALTS = "at least", "unknown", "differs", "with halts"
"""How far a count is known that is neither exact nor right modulo its size: its counter stood for a while;
somebody wrote it, or what the host's clock says is not so; the other counter of cycles says otherwise; it
goes on while the core is halted."""


@dataclasses.dataclass(frozen=True)
class Counter:
    """`name`: of the event, as the user writes it; `place`: the register or registers. `flagged`: an overflow
    flag tells whether it has wrapped; where there is none, only the cycles that went by tell. `moves`: also
    while the core is halted."""

    name: str
    place: str
    width: Width
    flagged: bool = False
    moves: bool = False


@dataclasses.dataclass(frozen=True)
class Reading:
    """`values` by name of the event; `overflowed`: those whose flag was set since the reading before;
    `frozen`: those that do not count at the moment."""

    values: Mapping[str, int]
    overflowed: FrozenSet[str] = frozenset()
    frozen: FrozenSet[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Figure:
    """What was counted: `count`, or where that is not `exact` any multiple of 2**bits more; or it is `doubt`:
    AT_LEAST, UNKNOWN, DIFFERS or HALTS."""

    counter: Counter
    count: int
    exact: bool
    doubt: str = ""

    @property
    def stands(self) -> bool:
        """A cycle counter that has not moved while the program ran."""
        return self.counter.name in CYCLES and not (self.count or self.exact or self.doubt)

    def __add__(self, more: "Figure") -> "Figure":
        doubts = {self.doubt, more.doubt} - {""}
        doubt = UNKNOWN if len(doubts) > 1 else "".join(doubts)
        if doubt == HALTS and any(not (each.exact or each.doubt) for each in (self, more)):
            doubt = ""  # it may have wrapped as well
        return Figure(self.counter, self.count + more.count, self.exact and more.exact, doubt)


def differences(
    counters: Sequence[Counter], before: Reading, after: Reading, ran_s: float, hz: Optional[int]
) -> Tuple[Figure, ...]:
    """What each has counted between two readings. `ran_s`: for how long it may have counted, by the host's
    clock, or longer; `hz`: the core's clock, where it is known."""
    most = ran_s * (hz * _OFF if hz else FASTEST_HZ)
    found = {c.name: _of_cycles(c, before, after, most) for c in counters if c.name in CYCLES}
    found = _agreed(found)
    cycles = next((figure.count for figure in found.values() if figure.exact), None)
    for counter in counters:
        if counter.name in found:
            continue
        if counter.flagged:
            found[counter.name] = _of_event(counter, before, after, cycles)
        else:
            found[counter.name] = _of_one_a_cycle(counter, before, after, cycles, most)
    return tuple(_with_halts(found[counter.name]) for counter in counters)


def _agreed(cycles: Dict[str, Figure]) -> Dict[str, Figure]:
    """Two that are to count the same, and do not: one of them was written, or stood."""
    both = [figure for figure in cycles.values() if figure.exact and not figure.counter.moves]
    if len({figure.count for figure in both}) < 2:
        return cycles
    return {n: dataclasses.replace(figure, exact=False, doubt=DIFFERS) for n, figure in cycles.items()}


def _with_halts(figure: Figure) -> Figure:
    if figure.counter.moves and figure.exact:
        return dataclasses.replace(figure, exact=False, doubt=HALTS)
    return figure


def _of_cycles(counter: Counter, before: Reading, after: Reading, most: float) -> Figure:
    """`most`: how many there can have been."""
    change = elapsed(counter.width, before.values[counter.name], after.values[counter.name])
    stood = _stood(counter, before, after)
    if not change and most > 0 and counter.name not in after.overflowed:
        # it is none, or off: then nothing is known by it
        return Figure(counter, 0, False, AT_LEAST if stood else "")
    if counter.flagged:
        found = _flagged(counter, before, after)
        # there was no time for a second wrap
        once = not found.doubt and found.count == change <= most < counter.width.modulus
        return dataclasses.replace(found, exact=found.exact or once)
    if most >= counter.width.modulus:
        return Figure(counter, change, False)
    if stood and change <= most:
        return Figure(counter, change, False, AT_LEAST)
    # or it was set to 0 meanwhile, the clock is another, or it ran unseen
    return Figure(counter, change, change <= most, "" if change <= most else UNKNOWN)


def _stood(counter: Counter, before: Reading, after: Reading) -> bool:
    """Whether it did not count at one of the readings."""
    return counter.name in before.frozen | after.frozen


def _of_event(counter: Counter, before: Reading, after: Reading, cycles: Optional[int]) -> Figure:
    """Of one of the PMU's. 32 bits last; 16 do only for so many cycles, if the program clears the flag."""
    figure = _flagged(counter, before, after)
    lasts = counter.width.bits > 16 or (cycles is not None and cycles < counter.width.modulus)
    return figure if lasts else dataclasses.replace(figure, exact=False)


def _flagged(counter: Counter, before: Reading, after: Reading) -> Figure:
    """Of a counter whose flag tells of a wrap."""
    first, last = before.values[counter.name], after.values[counter.name]
    change = elapsed(counter.width, first, last)
    if _stood(counter, before, after) and (last >= first or counter.name in after.overflowed):
        return Figure(counter, change, False, AT_LEAST)
    if counter.name in after.overflowed:
        return Figure(counter, change + (counter.width.modulus if last >= first else 0), False)
    if last < first:  # it has not wrapped: somebody wrote it
        return Figure(counter, last, False, UNKNOWN)
    return Figure(counter, change, True)


def _of_one_a_cycle(
    counter: Counter, before: Reading, after: Reading, cycles: Optional[int], most: float
) -> Figure:
    """Of a counter that counts at most one a cycle; `cycles` went by, or None where nobody knows."""
    change = elapsed(counter.width, before.values[counter.name], after.values[counter.name])
    if counter.name == SLEEP and most >= counter.width.modulus:
        return Figure(counter, change, False)  # the cycle counter may have stood while it slept
    return Figure(counter, change, cycles is not None and change <= cycles < counter.width.modulus)


class Tally:
    """Readings one after the other, added up: what each interval tells is kept."""

    def __init__(self, counters: Sequence[Counter], first: Reading) -> None:
        self.counters = tuple(counters)
        self.last = first
        self.figures = tuple(Figure(counter, 0, True) for counter in counters)

    def add(self, reading: Reading, ran_s: float, hz: Optional[int]) -> None:
        new = differences(self.counters, self.last, reading, ran_s, hz)
        self.figures = tuple(old + more for old, more in zip(self.figures, new))
        self.last = reading
