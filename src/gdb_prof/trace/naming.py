"""How findings and reports call tasks, objects, moments and lengths of time."""

from __future__ import annotations

import bisect
import collections
from typing import Dict, List, Optional, TypeVar

from gdb_prof.trace import events
from gdb_prof.trace.timeline import Timeline

_Time = TypeVar("_Time", int, float)


def between(timeline: Timeline, start: _Time, end: _Time, below: Optional[int] = None) -> Dict[int, _Time]:
    """How long each task ran from `start` to `end`, in counts, interrupts included; at a
    priority known to be lower than `below`."""
    starts = timeline.run_starts
    ran: Dict[int, _Time] = collections.defaultdict(int)
    for at in range(max(0, bisect.bisect_right(starts, start) - 1), len(starts)):
        run = timeline.runs[at]
        if run.start >= end:
            break
        counts = min(run.end, end) - max(run.start, start)
        if counts > 0 and (below is None or 0 <= run.priority < below):
            ran[run.task] += counts
    return ran


def label(timeline: Timeline, task: int) -> str:
    """`H (3)`: its name and its own priority, not one inherited."""
    priority = _own_priority(timeline, task)
    name = timeline.tasks[task].label
    return "%s (%d)" % (name, priority) if priority >= 0 else name


def tasks_below(timeline: Timeline, task: int) -> List[str]:
    """The tasks known to have a lower priority, as `label` names them, the highest first."""
    context = timeline.context
    own = _own_priority(timeline, task)
    known: Dict[str, int] = {}
    for index, one in enumerate(timeline.tasks):
        if one.deleted is None:
            known[label(timeline, index)] = _own_priority(timeline, index)
    numbers = {one.number for one in timeline.tasks}
    for number, priority in context.priorities.items():
        if number not in numbers:
            name = context.tasks.get(number, "task%d" % number)
            known["%s (%d)" % (name, priority)] = priority
    below = [name for name, priority in known.items() if 0 <= priority < own]
    return sorted(below, key=lambda name: (-known[name], name))


def _own_priority(timeline: Timeline, task: int) -> int:
    """Not one inherited; that of the idle task is always 0. -1 where it is not known."""
    one = timeline.tasks[task]
    priority = timeline.own_priorities.get(task, one.priority)
    if priority < 0:
        priority = 0 if one.idle else timeline.context.priorities.get(one.number, -1)
    return priority


def amount(timeline: Timeline, counts: float) -> str:
    axis = timeline.axis
    return "%.3f ms" % axis.span(counts) if axis.has_ms else "{:,.0f} counts".format(counts)


def place(timeline: Timeline, time: float) -> str:
    axis = timeline.axis
    # a place a little before 0 is no "-0.000"
    return "%.3f" % (round(axis.at(time), 3) + 0.0) if axis.has_ms else "{:,.0f}".format(axis.at(time))


def who_ran(timeline: Timeline, start: int, end: int) -> str:
    """`poll ran 40.012, burst 12.003`: the four who ran longest."""
    ran = sorted(between(timeline, start, end).items(), key=lambda item: -item[1])
    axis = timeline.axis
    parts = [
        "%s %s" % (timeline.tasks[task].label, ("%.3f" if axis.has_ms else "%.0f") % axis.span(counts))
        for task, counts in ran[:4]
        if counts >= 0.0005 * axis.per_unit or not axis.has_ms
    ]
    if not parts:
        return "nobody ran"
    first, *rest = parts
    name, _, value = first.rpartition(" ")
    return ", ".join(["%s ran %s" % (name, value), *rest])


def kind(timeline: Timeline, number: int) -> str:
    """``semaphore `lock``` or `queue3`."""
    what = kind_of(timeline, number)
    name = timeline.object_name(number)
    if what in events.KINDS and not name.startswith(events.KINDS[what]):
        return "%s `%s`" % (events.KINDS[what].split()[-1], name)
    return name


def kind_of(timeline: Timeline, number: int) -> int:
    """As in events.KINDS; -1 where it is not known."""
    return timeline.objects[number].kind if number in timeline.objects else -1
