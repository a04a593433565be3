"""Deadlock: tasks that wait for each other's mutexes at the trace's end."""

from __future__ import annotations

from typing import Dict, List

from gdb_prof.trace import events
from gdb_prof.trace.finding import DEADLOCK, Finding
from gdb_prof.trace.inversion import holds
from gdb_prof.trace.naming import amount, kind_of, label, place
from gdb_prof.trace.timeline import OPEN, Timeline, Wait


def deadlocks(timeline: Timeline) -> List[Finding]:
    """Circles of open waits, each for a mutex that the next one's task has. Only mutexes: of a
    semaphore nobody can tell from here who else might give it."""
    waits = {
        wait.task: wait
        for wait in timeline.waits
        if wait.outcome == OPEN
        and wait.code == events.WAIT
        and kind_of(timeline, wait.object) in events.MUTEXES
    }
    if len(waits) < 2:
        return []
    holders = {number: all_[-1].task for number, all_ in holds(timeline).items() if not all_[-1].given}
    found: List[Finding] = []
    seen: "set[int]" = set()
    for first in sorted(waits):
        circle: Dict[int, Wait] = {}
        task = first
        while task in waits and task not in circle and task not in seen:
            circle[task] = waits[task]
            task = holders.get(waits[task].object, -1)
        seen.update(circle)
        if task in circle:  # others may only lead into it
            found.append(_deadlock(timeline, list(circle.values())[list(circle).index(task) :]))
    return found


def _deadlock(timeline: Timeline, circle: List[Wait]) -> Finding:
    since = max(wait.start for wait in circle)
    parts = [
        "%s waits for %s, which %s has"
        % (
            label(timeline, wait.task),
            timeline.object_name(wait.object),
            timeline.tasks[following.task].label,
        )
        for wait, following in zip(circle, [*circle[1:], circle[0]])
    ]
    text = "Deadlock: %s: since %s, %s, none of them can go on." % (
        "; ".join(parts),
        place(timeline, since),
        amount(timeline, timeline.end - since),
    )
    return Finding(DEADLOCK, circle[0].task, since, timeline.end, timeline.end - since, text)
