"""Stamps of 32 bits -> times, and the scale and origin of the axis.

Times are counts of the recorder's clock since the first record, without wraps. The axis is
the kernel's where there are tick records: tick number k lies at k tick periods, so that it
holds after the ring has wrapped.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import statistics
from typing import List, Optional, Sequence, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.ring import Ring
from gdb_prof.wording import plural

_TURN = 1 << 32
_MASK = _TURN - 1
_BACK = 1 << 31
_YOUNG = 1 << 24
"""Counts of a clock that was zeroed not long ago, as at the scheduler's start."""
_LATE_TICKS = 5
_DEFAULT_TICK_HZ = 1000.0

ASSUMED_TICK = "ticks are taken as 1 ms: the trace does not say the tick rate (set rtos-trace tick-hz)"


@dataclasses.dataclass(frozen=True)
class Axis:
    """From counts to what is shown: milliseconds, or counts where no scale is known.

    `per_unit`: counts a unit; `origin`: the time that is 0. `stuck`: all stamps are equal,
    so there is an order but no time. `awake_share`: where the clock stops while the
    processor sleeps, the share of time that it counted; durations are then awake time.
    `late`: from one tick record to the next that came far too late, and how many counts too
    late: interrupts were masked, or the program was halted while its clock ran on. `fault`
    says in words why times are not to be trusted.
    """

    unit: str
    per_unit: float
    origin: float
    counts_a_tick: Optional[float] = None
    stuck: bool = False
    awake_share: Optional[float] = None
    late: Tuple[Tuple[int, int, int], ...] = ()
    fault: str = ""
    remarks: Tuple[str, ...] = ()

    def at(self, time: float) -> float:
        return (time - self.origin) / self.per_unit

    def span(self, counts: float) -> float:
        return counts / self.per_unit

    def time(self, position: float) -> float:
        """The time at a position on the axis: the inverse of `at`."""
        return position * self.per_unit + self.origin

    def late_in(self, start: int, end: int) -> int:
        """Counts between two times in which the program stood, by late ticks."""
        return sum(excess for begin, until, excess in self.late if begin < end and until > start)

    @property
    def has_ms(self) -> bool:
        return self.unit == "ms"


def unwrapped(ring: Ring) -> Tuple[List[int], Axis, List[int]]:
    """The records' times, the axis, and at which records the clock had been set back."""
    stamps = ring.stamps
    deltas = [(b - a) & _MASK for a, b in zip(stamps, stamps[1:])]
    backwards = [i for i, delta in enumerate(deltas, 1) if delta >= _BACK]
    restarts = _set_back(ring, backwards) if backwards else []
    for i in restarts:
        deltas[i - 1] = 0
    times = list(itertools.accumulate(deltas, initial=0)) if len(stamps) else []
    # the record whose time is known in the clock's own counts: that after the last restart
    anchor = restarts[-1] if restarts else 0
    remarks: List[str] = []
    if events.IN in ring.codes[:anchor]:
        remarks.append("the clock was set back: what came before, %d records, is left out" % anchor)
    if any(delta >= _BACK for delta in deltas):
        remarks.append(
            "half a turn of the clock or more lies between two records: whole turns may be missing"
        )
    if len(times) >= 2 and times[-1] == 0:
        fault = "it does not run: every stamp is 0x%08x; order only, no times and no shares" % stamps[0]
        return times, Axis("counts", 1.0, 0.0, stuck=True, fault=fault, remarks=tuple(remarks)), restarts

    ticks = [i for i, code in enumerate(ring.codes) if code == events.TICK and i >= anchor]
    numbers = _extended([ring.arguments[i] for i in ticks], ring.context.tick_count)
    axis = None
    if len(ticks) >= 2 and numbers[-1] > numbers[0]:
        axis = _by_ticks(ring, times, ticks, numbers, remarks)
    return times, axis or _by_clock(ring, times, anchor, remarks), restarts


def _set_back(ring: Ring, backwards: Sequence[int]) -> List[int]:
    """Those of the records with a smaller stamp than the one before whose clock was set back.

    A clock that is set back begins near zero. Where it does not, or where so many ticks lie
    between that it turned by more than half meanwhile, it ran on.
    """
    ticks = [i for i, code in enumerate(ring.codes) if code == events.TICK]
    stamps, arguments, context = ring.stamps, ring.arguments, ring.context
    singles = [
        (stamps[j] - stamps[i]) & _MASK
        for i, j in zip(ticks, ticks[1:])
        if (arguments[j] - arguments[i]) & 0xFFFF == 1
    ]
    nominal = context.clock_hz / (context.tick_hz or _DEFAULT_TICK_HZ)
    a_tick = statistics.median(singles) if singles else nominal

    def ran_on(at: int) -> bool:
        after = bisect.bisect_left(ticks, at)
        if not 0 < after < len(ticks):
            return False
        i, j = ticks[after - 1], ticks[after]
        expected = ((arguments[j] - arguments[i]) & 0xFFFF) * a_tick
        off = (stamps[j] - stamps[i] - expected + _BACK) % _TURN - _BACK
        return expected > 0.9 * _BACK and abs(off) < a_tick + 0.02 * expected

    return [at for at in backwards if stamps[at] < _YOUNG and not ran_on(at)]


def _extended(low: Sequence[int], now: Optional[int]) -> List[int]:
    """Tick numbers of 16 bits as whole ones; `now` is a later whole one, where known."""
    numbers: List[int] = []
    for value in low:
        step = (value - numbers[-1]) & 0xFFFF if numbers else 0
        numbers.append(numbers[-1] + (step if step < 0x8000 else step - 0x10000) if numbers else value)
    if numbers and now is not None:
        shift = now - ((now - numbers[-1]) & 0xFFFF) - numbers[-1]
        if numbers[0] + shift >= 0:
            numbers = [number + shift for number in numbers]
    return numbers


def _by_ticks(
    ring: Ring, times: List[int], ticks: List[int], numbers: List[int], remarks: List[str]
) -> Optional[Axis]:
    """None where the clock did not run from one tick to the next."""
    steps = [
        (i, j, n - m) for (i, m), (j, n) in zip(zip(ticks, numbers), zip(ticks[1:], numbers[1:])) if n > m
    ]
    clock_hz, tick_hz = ring.context.clock_hz, ring.context.tick_hz
    singles = [times[j] - times[i] for i, j, step in steps if step == 1]
    measured = (
        statistics.median(singles)
        if len(singles) >= len(steps) // 2 and singles
        else statistics.median([(times[j] - times[i]) / step for i, j, step in steps])
    )
    if measured <= 0:
        return None
    if not tick_hz:
        tick_hz = _DEFAULT_TICK_HZ
        if clock_hz and measured * tick_hz > 0.98 * clock_hz:
            tick_hz = clock_hz / measured  # no clock counts more than there is time
        else:
            remarks.append(ASSUMED_TICK)
    nominal = clock_hz / tick_hz
    _restore_turns(times, steps, nominal or measured)
    gaps = [
        (times[j] - times[i], n - m)
        for (i, m), (j, n) in zip(zip(ticks, numbers), zip(ticks[1:], numbers[1:]))
        if n >= m
    ]
    awake, jumped = _awake_share(gaps, measured, nominal)
    a_tick = nominal if awake is not None and nominal else measured
    late = _late(times, ticks, numbers, a_tick)
    per_ms = a_tick * tick_hz / 1000
    origin = times[ticks[0]] - numbers[0] * a_tick
    axis = Axis("ms", per_ms, origin, a_tick, awake_share=awake, late=late)
    if jumped:
        remarks.append(jumped)
    return dataclasses.replace(axis, fault=_fault(axis), remarks=tuple(remarks))


def _fault(axis: Axis) -> str:
    if axis.awake_share is not None:
        return (
            "it counts awake time only, %.*f %% of what the ticks say (or clock-hz is too high); idle time "
            "is unknown, and so are shares and waits"
        ) % (0 if axis.awake_share < 0.99 else 2, 100 * axis.awake_share)
    if not axis.late:
        return ""
    start, _, most = max(axis.late, key=lambda gap: gap[2])
    return "%s came late, the worst by %.3f ms after %.3f: %s" % (
        *(plural(len(axis.late), "tick"), axis.span(most), axis.at(start)),
        "interrupts were masked, or the program was halted while its clock ran on; what spans that is "
        "no finding",
    )


def _late(
    times: Sequence[int], ticks: Sequence[int], numbers: Sequence[int], a_tick: float
) -> Tuple[Tuple[int, int, int], ...]:
    """Gaps between tick records that are longer than their numbers say, and by how much. A
    suspended scheduler is none: its ticks are recorded, under one number."""
    found = []
    for (i, m), (j, n) in zip(zip(ticks, numbers), zip(ticks[1:], numbers[1:])):
        excess = times[j] - times[i] - max(n - m, 1) * a_tick
        if excess > _LATE_TICKS * a_tick:
            found.append((times[i], times[j], round(excess)))
    return tuple(found)


def _restore_turns(times: List[int], steps: Sequence[Tuple[int, int, int]], a_tick: float) -> None:
    """Add the whole turns of the clock that lie between two ticks, in their longest gap."""
    if not any(step * a_tick >= _BACK for _, _, step in steps):
        return
    shift, at = 0, 0
    added = [0] * len(times)
    for i, j, step in steps:
        turns = round((step * a_tick - (times[j] - times[i])) / _TURN)
        if turns > 0:
            widest = max(range(i + 1, j + 1), key=lambda k: times[k] - times[k - 1])
            added[widest] += turns * _TURN
    for at, more in enumerate(added):
        shift += more
        times[at] += shift


def _awake_share(
    gaps: Sequence[Tuple[int, int]], measured: float, nominal: float
) -> Tuple[Optional[float], str]:
    """The share of time that the clock counted, where it stood still for a part of it; else
    None, and what to say of ticks that jumped.

    `gaps`: counts and ticks from each tick record to the next.
    """
    expected = nominal or measured
    short = _short(gaps, expected)
    counted, ticked = sum(counts for counts, _ in gaps), sum(step for _, step in gaps)
    share = counted / (ticked * expected)
    if (1 - share) * ticked < 0.9 or not (short or (nominal and share < 0.95)):
        return None, ""
    if not nominal and len(short) * 20 < len(gaps) + 19:
        what = ", ".join("%+d" % (step - round(counts / expected)) for counts, step in short[:3])
        places = "once" if len(short) == 1 else "%d times" % len(short)
        return None, (
            "the tick count jumped %s (%s): ticks were added after a sleep, or by hand; "
            "the clock's time is kept" % (places, what)
        )
    return share, ""


def _short(gaps: Sequence[Tuple[int, int]], expected: float) -> List[Tuple[int, int]]:
    """The gaps for which the clock counted too little. A tick that was recorded late (a
    critical section, a suspended scheduler) makes the next gap short, and is no such thing."""
    short, late = [], 0.0
    for counts, step in gaps:
        late += counts - step * expected
        if late < -0.2 * step * expected:
            short.append((counts, step))
        late = max(late, 0.0)
    return short


def _by_clock(ring: Ring, times: Sequence[int], anchor: int, remarks: List[str]) -> Axis:
    hz = ring.context.clock_hz
    # while nothing is lost the clock's own zero is the trace's: it was set back, or is young
    origin = 0.0
    if len(times) and ring.begins and anchor:
        origin = times[anchor] - ring.stamps[anchor]
    if hz:
        return Axis("ms", hz / 1000, origin, remarks=tuple(remarks))
    if len(times):
        remarks.append("no tick records: times are counts of the recorder's clock (set rtos-trace clock-hz)")
    return Axis("counts", 1.0, origin, remarks=tuple(remarks))
