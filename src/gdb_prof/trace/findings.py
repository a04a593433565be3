"""Facts -> conclusions, each with its evidence: what happened, how much, when, and why.

None without evidence in the ring; what is uncertain at the trace's edges is said as such.
"""

from __future__ import annotations

import collections
from typing import Dict, Iterable, List, Optional, Sequence

from gdb_prof.trace import events
from gdb_prof.trace.deadlock import deadlocks
from gdb_prof.trace.finding import (
    IDLE,
    JITTER,
    LOST,
    NEVER_BLOCKS,
    OVERFLOW,
    SHORT,
    STARVATION,
    TIME_BASE,
    Finding,
)
from gdb_prof.trace.inversion import inversions
from gdb_prof.trace.lives import NAMELESS
from gdb_prof.trace.naming import amount, between, kind, label, place, tasks_below, who_ran
from gdb_prof.trace.periodic import Missed, jitter_of, lateness, missed, periods
from gdb_prof.trace.timeline import Ready, Timeline
from gdb_prof.wording import count, plural

STARVED_MS = 10.0
IDLE_STARVED_MS = 50.0
NEVER_BLOCKS_MS = 20.0
LATE_SHARE = 0.5
"""A periodic task's worst start may come so much of its period late before it is a finding."""


def find(timeline: Timeline, starved_ms: float = STARVED_MS) -> List[Finding]:
    """Every finding: first what makes the others doubtful, then the worst kinds, each kind in
    the order of size."""
    found = _unsound(timeline)
    if timeline.axis.stuck or not len(timeline.ring):
        return found
    found += deadlocks(timeline)
    found += inversions(timeline)
    starved = starvations(timeline, starved_ms)
    found += starved
    found += jitters(timeline, {finding.task for finding in starved})
    found += _idle(timeline)
    found += _never_blocks(timeline)
    found += _overflows(timeline)
    found += _short(timeline)
    return found


def _unsound(timeline: Timeline) -> List[Finding]:
    """A clock that cannot be trusted, and records that are not there."""
    whole = timeline.start, timeline.end
    found = []
    if timeline.axis.fault:
        found.append(Finding(TIME_BASE, -1, *whole, timeline.span, "Time base: %s." % timeline.axis.fault))
    if timeline.gaps:
        found.append(_gaps(timeline))
    if timeline.ring.remarks:
        text = "Records lost: %s." % "; ".join(timeline.ring.remarks)
        found.append(Finding(LOST, -1, *whole, timeline.ring.dropped, text))
    return found


def _gaps(timeline: Timeline) -> Finding:
    start, end = max(timeline.gaps, key=lambda gap: gap[1] - gap[0])
    known = ", %s or more" % plural(timeline.ring.dropped, "record") if timeline.ring.dropped else ""
    text = (
        "Records lost: at %s%s; the longest gap is from %s to %s. Who ran there, and what became "
        "of waits, is not known; nothing is concluded across it."
        % (
            *(plural(len(timeline.gaps), "place"), known),
            *(place(timeline, start), place(timeline, end)),
        )
    )
    size = sum(after - before for before, after in timeline.gaps)
    return Finding(LOST, -1, start, end, size, text)


def starvations(timeline: Timeline, starved_ms: float = STARVED_MS) -> List[Finding]:
    """Tasks that were ready for longer than that without running; the worst time of each."""
    if not timeline.axis.has_ms:
        return []
    limit = starved_ms * timeline.axis.per_unit
    worst: Dict[int, Ready] = {}
    times: Dict[int, int] = collections.defaultdict(int)
    for ready in timeline.ready:
        length = ready.end - ready.start
        if length <= limit or _may_idle(timeline, ready.task):
            continue
        # others must be known to have run: where nobody did, nothing is known, or all stood
        known = sum(between(timeline, ready.start, ready.end).values())
        if known - timeline.axis.late_in(ready.start, ready.end) <= limit:
            continue
        times[ready.task] += 1
        best = worst.get(ready.task)
        if best is None or length > best.end - best.start:
            worst[ready.task] = ready
    found = []
    for task, ready in worst.items():
        text = "Starvation: %s was ready %s without running, %s to %s%s: %s." % (
            *(label(timeline, task), amount(timeline, ready.end - ready.start)),
            *(place(timeline, ready.start), place(timeline, ready.end)),
            ", and still is at the trace's end" if ready.open else "",
            who_ran(timeline, ready.start, ready.end),
        )
        if times[task] > 1:
            text += " %s times longer than %g ms; this is the longest." % (count(times[task]), starved_ms)
        found.append(Finding(STARVATION, task, ready.start, ready.end, ready.end - ready.start, text))
    return sorted(found, key=lambda finding: -finding.size)


def _may_idle(timeline: Timeline, task: int) -> bool:
    """Whether it is the idle task, or may be: its name may be among the records that are missing."""
    one = timeline.tasks[task]
    nameless = one.label == NAMELESS % one.number
    return one.idle or (nameless and bool(timeline.ring.gaps) and not any(t.idle for t in timeline.tasks))


def jitters(timeline: Timeline, starving: Iterable[int]) -> List[Finding]:
    """Periodic tasks whose worst start came half a period late or more, or that missed some."""
    a_tick = timeline.axis.counts_a_tick
    if a_tick is None:
        return []
    found = []
    all_starts = lateness(timeline)
    for task, ticks in periods(timeline).items():
        if task in starving:
            continue
        starts = [one for one in all_starts[task] if not timeline.axis.late_in(one.start, one.end)]
        jitter = jitter_of(starts)
        late = len(starts) >= 3 and jitter > LATE_SHARE * ticks * a_tick
        lost = missed(timeline, task, ticks)
        if lost and timeline.axis.late_in(lost.start, lost.end):
            lost = None
        if late or lost:
            found.append(_jitter(timeline, task, ticks * a_tick, starts if late else [], lost))
    return sorted(found, key=lambda finding: -finding.size)


def _jitter(
    timeline: Timeline, task: int, period: float, starts: Sequence[Ready], lost: Optional[Missed]
) -> Finding:
    """`starts`: where they vary too much."""
    text = "Jitter: %s, every %s" % (label(timeline, task), amount(timeline, period))
    start, end, size = (lost.start, lost.end, lost.end - lost.start) if lost else (0, 0, 0)
    if starts:
        size = jitter_of(starts)
        worst = max(starts, key=lambda ready: ready.end - ready.start)
        start, end = worst.start, worst.end
        text += ", starts up to %s late; %s vary by %s. The worst was due at %s: %s meanwhile." % (
            *(amount(timeline, end - start), plural(len(starts), "start"), amount(timeline, size)),
            *(place(timeline, start), who_ran(timeline, start, end)),
        )
    if lost:
        text += "%s%s of %s missed, the first at %s: the job before was not done." % (
            *(" " if starts else ": ", count(lost.times), plural(lost.of, "release")),
            place(timeline, lost.start),
        )
    return Finding(JITTER, task, start, end, size, text)


def _idle(timeline: Timeline) -> List[Finding]:
    idle = [index for index, task in enumerate(timeline.tasks) if task.idle]
    if not idle or not timeline.axis.has_ms:
        return []
    edges = [timeline.scheduled]
    for run in timeline.runs:
        if run.task == idle[0]:
            edges += [run.start, run.end]
    edges.append(timeline.end)
    gaps = [
        gap
        for gap in zip(edges[0::2], edges[1::2])
        if not timeline.axis.late_in(*gap) and timeline.is_whole(*gap)
    ]
    start, end = max(gaps, key=lambda gap: gap[1] - gap[0], default=(0, 0))
    if end - start < IDLE_STARVED_MS * timeline.axis.per_unit:
        return []
    text = (
        "Idle starved: %s did not run for %s, %s to %s: %s. What it does (memory of deleted tasks, "
        "idle hook, sleep) waits."
    ) % (
        *(timeline.tasks[idle[0]].label, amount(timeline, end - start)),
        *(place(timeline, start), place(timeline, end), who_ran(timeline, start, end)),
    )
    return [Finding(IDLE, idle[0], start, end, end - start, text)]


def _never_blocks(timeline: Timeline) -> List[Finding]:
    """Tasks that never blocked nor were readied, so that nothing below them ever runs."""
    start, end = timeline.scheduled, timeline.end
    if timeline.gaps:
        return []  # it may have, there
    if not timeline.axis.has_ms or end - start < 2 * NEVER_BLOCKS_MS * timeline.axis.per_unit:
        return []
    found = []
    for index, task in enumerate(timeline.tasks):
        ran = timeline.ran[index] if index < len(timeline.ran) else 0
        if timeline.blocked.get(index) or task.idle or ran < NEVER_BLOCKS_MS * timeline.axis.per_unit:
            continue
        below = tasks_below(timeline, index)
        if not below:
            continue
        rest = " and %s more" % count(len(below) - 3) if len(below) > 3 else ""
        text = (
            "Never blocks: %s ran %s of %s and waited for nothing: tasks below its priority starve: %s."
            % (
                *(label(timeline, index), amount(timeline, ran)),
                *(amount(timeline, end - start), ", ".join(below[:3]) + rest),
            )
        )
        found.append(Finding(NEVER_BLOCKS, index, start, end, ran, text))
    return found


def _overflows(timeline: Timeline) -> List[Finding]:
    """What an interrupt sent to a full queue is gone."""
    full = [act for act in timeline.acts if act.code == events.GIVE_ISR_FAIL]
    found = []
    for number in sorted({act.argument for act in full}):
        acts = [act for act in full if act.argument == number]
        text = "Overflow: %s from an interrupt to %s failed, the first at %s: it was full." % (
            *(plural(len(acts), "send"), kind(timeline, number)),
            place(timeline, acts[0].time),
        )
        found.append(Finding(OVERFLOW, -1, acts[0].time, acts[-1].time, len(acts), text))
    return found


def _short(timeline: Timeline) -> List[Finding]:
    a_tick = timeline.axis.counts_a_tick
    known = periods(timeline, 1)  # a short ring has no more steps of a long period
    if not timeline.ring.overwritten or not known or a_tick is None:
        return []
    task, ticks = max(known.items(), key=lambda item: item[1])
    if timeline.span >= 2 * ticks * a_tick:
        return []
    text = "Ring too short: it holds %s, and %s has a period of %s. Make TRACE_SIZE larger." % (
        *(amount(timeline, timeline.span), label(timeline, task)),
        amount(timeline, ticks * a_tick),
    )
    return [Finding(SHORT, task, timeline.start, timeline.end, timeline.span, text)]
