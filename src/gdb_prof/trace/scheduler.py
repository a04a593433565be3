"""Records -> facts: follows the scheduler through a ring, in one pass."""

from __future__ import annotations

import bisect
import collections
from typing import Dict, List, Sequence, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.clock import unwrapped
from gdb_prof.trace.interrupts import Nesting
from gdb_prof.trace.ring import Ring
from gdb_prof.trace.state import State
from gdb_prof.trace.timeline import UNKNOWN, Act, Timeline
from gdb_prof.trace.waits import unanswered
from gdb_prof.wording import plural


def timeline(ring: Ring) -> Timeline:
    """All facts of a ring. Never fails: what does not fit is counted in the remarks."""
    times, axis, restarts = unwrapped(ring)
    state = State(ring)
    gaps = [at for at in ring.gaps if 0 < at <= len(times)]
    _run(state, ring, times, set(restarts), {before: at for at, before in enumerate(gaps)})
    end = times[-1] if times else 0
    if times and ring.context.stopped_at is not None and not axis.stuck:
        since = (ring.context.stopped_at - ring.stamps[-1]) & 0xFFFFFFFF
        end += since if since < 1 << 31 else 0
    idle = state.lives.idle() if times else None
    if idle is not None:
        state.life(idle)  # it is there, even if it never ran
    _finish(state, end)
    counts = collections.Counter(ring.codes)
    remarks = [*axis.remarks, *ring.context.remarks]
    start = _start(state, ring, times, restarts)
    strange = {code: n for code, n in counts.items() if code not in events.NAMES}
    for code, n in sorted(strange.items()):
        remarks.append("unknown event %d: %s" % (code, plural(n, "record")))
    if state.unexplained:
        remarks.append(
            "%s of a task that was not switched in: switches are missing"
            % plural(state.unexplained, "record")
        )
    return Timeline(
        ring,
        axis,
        start,
        end,
        state.lives.tasks(state.priority),
        [run for run in state.runs if run.end > start],
        unanswered(state.waits.done, ring, times, state.lives.number),
        state.ready,
        state.acts,
        state.interrupts.whole,
        tuple(state.ran),
        max(0, end - start - sum(state.ran)),
        tuple(state.switches),
        state.wakes,
        _ticks(ring, times) if state.wakes else ([], []),
        state.blocked,
        counts,
        state.waits.users,
        {**state.lives.objects, **ring.context.objects},
        tuple(dict.fromkeys(remarks)),
        tuple(_edges(times, at) for at in gaps),
    )


def _start(state: State, ring: Ring, times: Sequence[int], restarts: Sequence[int]) -> int:
    """The first record's time, or that of the scheduler's start where all is there since before."""
    recorded = state.lives.recorded
    if restarts or not state.runs or not ring.begins:
        return times[restarts[-1]] if restarts else 0
    first = state.runs[0].start
    # a tick before: it had started, but who ran is not known
    before = ring.codes[: bisect.bisect_left(times, first)]
    unstarted = (recorded is None or events.TICK in recorded) and events.TICK not in before
    return first if unstarted else 0


def _ticks(ring: Ring, times: Sequence[int]) -> Tuple[List[int], List[int]]:
    at = [i for i, code in enumerate(ring.codes) if code == events.TICK]
    return [times[i] for i in at], [ring.arguments[i] for i in at]


def _edges(times: Sequence[int], at: int) -> Tuple[int, int]:
    """When records are missing before record `at`, or after the last."""
    return times[at - 1], times[min(at, len(times) - 1)]


def _run(state: State, ring: Ring, times: Sequence[int], restarts: "set[int]", gaps: Dict[int, int]) -> None:
    """`gaps`: records before which others are missing, and the indices of these places."""
    in_, ready, tick = events.IN, events.READY, events.TICK
    acts, of_objects, marked = events.ACTS, events.OF_OBJECTS, {events.MARK}
    life, listed = state.life, state.acts
    at = moved = -1
    for time, code, number, argument in zip(times, ring.codes, ring.tasks, ring.arguments):
        at += 1
        if at in gaps:
            moved = -1
            _broken(state, ring, times, at, gaps[at])
        if at in restarts:
            _restart(state)
        if code == in_:
            state.switch(time, life(number), argument)
        elif code == ready:
            state.readied(time, life(number), argument, moved == at - 1 >= 0)
        elif code == tick:
            if number:
                _is_current(state, time, life(number))
        elif code in acts:
            task = life(number) if number else state.current
            if task < 0:
                continue
            if task != state.current and code in events.BLOCKS:
                _is_current(state, time, task)
            state.act(time, task, code, argument)
            if code == events.PRIORITY:
                moved = at
            if code in of_objects:
                listed.append(Act(time, code, task, argument))
        elif code in (events.INHERIT, events.DISINHERIT):
            task, moved = life(number), at
            state.inherits(time, task, argument, code == events.INHERIT)
            listed.append(Act(time, code, task, argument))
        elif code in (events.ISR, events.ISR_END):
            state.interrupts.note(time, code, argument, life(number) if number else -1)
        elif code in of_objects or code in marked:
            if code != events.OBJECT:
                listed.append(Act(time, code, life(number) if number else -1, argument))
            state.lives.note(time, code, number, argument)
        else:
            state.lives.note(time, code, number, argument)
            if code == events.CREATE:
                life(number)
            elif code == events.DELETE:
                _deleted(state, time, life(number))
    if at + 1 in gaps:
        _broken(state, ring, times, at + 1, gaps[at + 1])


def _broken(state: State, ring: Ring, times: Sequence[int], at: int, index: int) -> None:
    """Records are missing before record `at`."""
    naming = ring.codes[at - 1] in (events.CREATE, events.DELETE, events.NAME)
    state.broken(*_edges(times, at), ring.tasks[at - 1] if naming else 0, index)


def _is_current(state: State, time: int, task: int) -> None:
    """The record says that this task runs, whatever switches there are.

    V9 starts the scheduler without a switch record; and the first ones may be overwritten.
    """
    if task != state.current:
        if state.current >= 0:
            state.unexplained += 1
        known = state.priority[task]
        number = state.lives.number(task)
        state.switch(time, task, known if known >= 0 else state.base.get(number, -1))


def _deleted(state: State, time: int, task: int) -> None:
    state.waits.end(time, task, UNKNOWN)
    state.ready_ends(time, task, False)
    state.ready_since[task] = state.off_since[task] = -1
    state.is_blocked[task] = state.blocked[task] = True


def _restart(state: State) -> None:
    """The clock was set back: what came before has no place on the axis."""
    state.runs.clear()
    state.ready.clear()
    state.waits.forget()
    tasks = len(state.ran)
    state.current = -1
    state.ran, state.switches = [0] * tasks, [0] * tasks
    state.ready_since, state.off_since = [-1] * tasks, [-1] * tasks
    state.entered.clear()
    state.wakes.clear()
    state.interrupts = Nesting()


def _finish(state: State, end: int) -> None:
    state.waits.finish(end)
    state.close_run(end)
    for task in range(len(state.ran)):
        state.ready_ends(end, task, True)
