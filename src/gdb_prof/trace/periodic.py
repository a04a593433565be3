"""Tasks that delay until a tick: their period, how late they start, what they miss."""

from __future__ import annotations

import bisect
import collections
from typing import Dict, List, NamedTuple, Optional, Sequence

from gdb_prof.trace.timeline import Ready, Timeline

TIMERS = "Tmr Svc"
"""The kernel's own task (configTIMER_SERVICE_TASK_NAME): it delays until its next timer."""

_MULTIPLES = 0.8
_NEAR = 4
"""Ticks: so near its wake-up a tick record tells when that was due."""
_TICK_WORK = 0.05
"""Of a tick: so long after it the tick's interrupt may make a task ready that is in time."""


class Missed(NamedTuple):
    """Releases that came while the job before was not done: `times` of `of`, the first due at
    `start`; the job was done at `end` at the latest."""

    times: int
    of: int
    start: int
    end: int


def periods(timeline: Timeline, least: int = 3) -> Dict[int, int]:
    """The period in ticks of each periodic task: nearly all steps from one wake-up to the next
    are multiples of the smallest, and half of them the smallest. `least`: so many steps."""
    found = {}
    for task, wakes in timeline.wakes.items():
        if timeline.tasks[task].label.startswith(TIMERS):
            continue
        pairs = ((a, b) for a, b in zip(wakes, wakes[1:]) if timeline.is_whole(a[0], b[0]))
        steps = [(b - a) & 0xFFFF for (_, a), (_, b) in pairs]
        steps = [step for step in steps if 0 < step < 0x8000]  # more: a step back
        if len(steps) < least or not steps:
            continue
        period = min(steps)
        multiples = sum(step % period == 0 for step in steps)
        if multiples >= _MULTIPLES * len(steps) and 2 * steps.count(period) >= len(steps):
            found[task] = period
    return found


def lateness(timeline: Timeline) -> Dict[int, List[Ready]]:
    """By task, the starts after a delay until a tick: from that tick, or where no ticks tell
    it from made ready, to running."""
    starts: Dict[int, List[Ready]] = collections.defaultdict(list)
    for ready in timeline.ready:
        if ready.on_time and not ready.open and not timeline.tasks[ready.task].label.startswith(TIMERS):
            starts[ready.task].append(since_due(timeline, ready))
    return starts


def since_due(timeline: Timeline, ready: Ready) -> Ready:
    """The same, but from the tick that it delayed until, where the kernel made it ready later:
    interrupts were masked then, or the scheduler suspended."""
    due = _due(timeline, ready.due, ready.start) if ready.on_time else None
    if due is None or timeline.axis.late_in(due, ready.end):
        return ready
    return ready._replace(start=due)


def jitter_of(starts: Sequence[Ready]) -> int:
    lengths = [ready.end - ready.start for ready in starts]
    return max(lengths) - min(lengths) if lengths else 0


def missed(timeline: Timeline, task: int, period: int) -> Optional[Missed]:
    """The releases of a periodic task that came before it delayed again; None if there is none.

    The kernel returns from such a delay at once, without a record: the next wake-up is two
    periods or more after the last. That may be meant; a release that was over is not.
    """
    wakes = timeline.wakes.get(task, [])
    times, start, end = 0, -1, -1
    for (since, last), (time, wake) in zip(wakes, wakes[1:]):
        if not timeline.is_whole(since, time):
            continue  # it may have delayed in between
        step = (wake - last) & 0xFFFF
        if step >= 0x8000 or step % period:
            continue
        for release in range(period, step, period):
            due = _due(timeline, (last + release) & 0xFFFF, time)
            if due is None:
                break
            times += 1
            if start < 0:
                start, end = due, time
    return Missed(times, len(wakes) + times, start, end) if times else None


def _due(timeline: Timeline, tick: int, before: int) -> Optional[int]:
    """When a tick (16 bits) was due, where that was before a time; else None.

    Ticks are recorded too late, or under an older number while the scheduler is suspended,
    but never too early: what the earliest of those near it says holds.
    """
    a_tick = timeline.axis.counts_a_tick
    if a_tick is None or timeline.axis.awake_share is not None:
        return None
    times, numbers = timeline.ticks
    in_time = _TICK_WORK * a_tick
    last = bisect.bisect_right(times, before) - 1
    if (
        (last > 0 and numbers[last] == tick and before - times[last] <= in_time)
        and (tick - numbers[last - 1]) & 0xFFFF == 1
        and times[last] - times[last - 1] <= a_tick + in_time
    ):
        return None  # as nearly always
    best = float(before)
    for at in range(last, -1, -1):
        ahead = ((tick - numbers[at] + 0x8000) & 0xFFFF) - 0x8000
        if ahead > _NEAR:
            break
        best = min(best, times[at] + ahead * a_tick)
    return round(best) if before - best > in_time else None
