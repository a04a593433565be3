"""Records -> facts: follows the scheduler through a ring, in one pass."""

from __future__ import annotations

import bisect
import collections
from typing import Dict, List, Sequence, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.clock import unwrapped
from gdb_prof.trace.interrupts import Nesting
from gdb_prof.trace.lives import Lives
from gdb_prof.trace.ring import Ring
from gdb_prof.trace.timeline import UNKNOWN, Act, Ready, Run, Timeline
from gdb_prof.trace.waits import Waits, unanswered
from gdb_prof.wording import plural


class _Pass:
    """The state of the pass over the records."""

    def __init__(self, ring: Ring, times: Sequence[int]) -> None:
        self.lives = Lives(ring)
        self.base = ring.context.priorities
        self.whole = not ring.overwritten
        recorded = ring.context.recorded
        self.says_ready = recorded is None or events.READY in recorded
        self.says_blocks = recorded is not None and events.BLOCKS | {events.SUSPEND} <= recorded
        self.runs: List[Run] = []
        self.waits = Waits(ring.context.recorded, self.totals)
        self.ready: List[Ready] = []
        self.acts: List[Act] = []
        self.interrupts = Nesting()
        self.current = -1
        self.started = 0
        self.ran: List[int] = []
        self.switches: List[int] = []
        self.priority: List[int] = []
        self.inherited: List[bool] = []
        self.ready_since: List[int] = []
        self.off_since: List[int] = []  # preempted then: ready, if no READY says otherwise
        self.off_priority: List[int] = []  # the lowest that it had since then
        self.preempted: List[bool] = []  # for certain: a higher priority took over
        self.is_blocked: List[bool] = []
        self.due: List[int] = []  # the tick (16 bits) that it delayed until; -1 if it did not
        self.entered: Dict[int, int] = {}  # by priority: when one of that was last switched in
        self.wakes: Dict[int, List[Tuple[int, int]]] = collections.defaultdict(list)
        self.blocked: Dict[int, bool] = {}
        self.unexplained = 0
        # the task of the READY just before, since when it was ready, whether it had blocked
        self.undo: Tuple[int, int, bool] = (-1, -1, False)

    def life(self, number: int) -> int:
        """The index of the task that has the number now."""
        index = self.lives.current(number)
        while len(self.ran) <= index:
            for zeros in (self.ran, self.switches):
                zeros.append(0)
            for unknown in (self.priority, self.ready_since, self.off_since, self.off_priority, self.due):
                unknown.append(-1)
            for flags in (self.inherited, self.preempted, self.is_blocked):
                flags.append(False)
        return index

    # -- running ------------------------------------------------------------------

    def close_run(self, time: int) -> None:
        task = self.current
        if task < 0 or time == self.started:
            return
        self.runs.append(Run(self.started, time, task, self.priority[task], self.inherited[task]))
        self.ran[task] += time - self.started
        self.started = time

    def switch(self, time: int, task: int, priority: int) -> None:
        current = self.current
        if current == task:
            if priority != self.priority[task]:
                self.close_run(time)
                self.priority[task] = priority
            if self.is_blocked[task]:  # readied again before it was switched out
                self.run_again(time, task)
            return
        if current >= 0:
            self.close_run(time)
            if 0 <= priority < self.priority[current]:  # so it blocked: not all that block say so
                self.is_blocked[current] = self.blocked[current] = True
            if not self.is_blocked[current]:
                self.off_since[current] = time
                self.off_priority[current] = self.priority[current]
                self.preempted[current] = priority > self.priority[current]
        elif self.whole:
            # the scheduler starts: whoever was created before was not ready for it until now
            self.ready_since = [time if since >= 0 else -1 for since in self.ready_since]
            self.ready_since[task] = -1
        self.current, self.started = task, time
        self.priority[task] = self.off_priority[task] = priority
        self.entered[priority] = time
        self.switches[task] += 1
        self.run_again(time, task)

    def run_again(self, time: int, task: int) -> None:
        self.undo = (-1, -1, False)
        since, due = self.ready_since[task], self.due[task]
        if since >= 0:
            self.ready.append(Ready(task, since, time, True, due >= 0, False, due))
        elif self.off_since[task] >= 0:
            # where READY is recorded, one that blocked would have been readied
            if self.says_ready or self.stayed_ready(task):
                self.ready.append(Ready(task, self.off_since[task], time, False, False, False))
        elif due >= 0 and not self.says_ready:  # since when is only known by the tick
            self.ready.append(Ready(task, time, time, False, True, False, due))
        self.ready_since[task] = self.off_since[task] = self.due[task] = -1
        self.is_blocked[task] = False
        self.waits.resumed(time, task)

    def stayed_ready(self, task: int) -> bool:
        """Whether a task that was switched out without a word has been ready since.

        Not if one of a lower priority was switched in: then it had blocked, or was suspended.
        """
        off, own = self.off_since[task], self.off_priority[task]
        if off < 0 or self.is_blocked[task]:
            return False
        if not (self.says_blocks or self.preempted[task]):
            return False
        return not any(time > off and 0 <= priority < own for priority, time in self.entered.items())

    def ready_ends(self, time: int, task: int, is_open: bool) -> None:
        """The task did not run: it is suspended, or deleted, or the trace ends."""
        since, due = self.ready_since[task], self.due[task]
        if task == self.current or (self.current < 0 and self.whole):
            return
        if since >= 0:
            self.ready.append(Ready(task, since, time, is_open, is_open and due >= 0, is_open, due))
        elif self.stayed_ready(task):
            self.ready.append(Ready(task, self.off_since[task], time, False, False, is_open))

    def readied(self, time: int, task: int, priority: int, is_moved: bool) -> None:
        """`is_moved`: from one ready list to another, if it was in one, at a new priority."""
        self.undo = (-1, -1, False)
        if task == self.current and not self.is_blocked[task]:
            self.priority_changed(time, task, priority)
            return
        if is_moved and self.off_since[task] >= 0:
            self.new_priority(task, priority)
            return
        self.undo = (task, self.ready_since[task], self.blocked.get(task, False))
        # a task is readied, too, when it is created
        is_new = (self.current < 0 and self.whole) or self.lives.is_created(task)
        if self.switches[task] or not is_new:
            self.blocked[task] = True
        self.priority[task] = priority if task != self.current else self.priority[task]
        if self.ready_since[task] < 0:
            self.ready_since[task] = time

    def priority_changed(self, time: int, task: int, priority: int) -> None:
        if task == self.current and priority != self.priority[task]:
            self.close_run(time)
        self.new_priority(task, priority)

    def new_priority(self, task: int, priority: int) -> None:
        self.priority[task] = priority
        self.off_priority[task] = min(self.off_priority[task], priority)

    def inherits(self, time: int, task: int, priority: int, on: bool) -> None:
        """The kernel readies a ready holder at its new priority just before it says so."""
        if on and self.undo[0] == task:
            _, self.ready_since[task], self.blocked[task] = self.undo
        if task == self.current:
            self.close_run(time)
        self.inherited[task] = on
        self.new_priority(task, priority)
        if on:
            self.waits.inherits(task, priority, self.current)

    def totals(self, time: int) -> List[int]:
        """What each task has run so far."""
        ran = self.ran[:]
        if self.current >= 0:
            ran[self.current] += time - self.started
        return ran

    def act(self, time: int, task: int, code: int, argument: int) -> None:
        """A record that only the running task makes."""
        self.waits.act(time, task, code, argument, self.priority[task])
        if code in events.ENDS:
            self.is_blocked[task] = self.blocked[task] = True
        elif code in events.TIMED:
            self.is_blocked[task] = self.blocked[task] = True
            if code == events.DELAY:
                self.wakes[task].append((time, argument))
                self.due[task] = argument
        elif code == events.SUSPEND:
            target = self.life(argument)
            self.ready_ends(time, target, False)
            self.is_blocked[target] = self.blocked[target] = True
            self.ready_since[target] = self.off_since[target] = -1


def timeline(ring: Ring) -> Timeline:
    """All facts of a ring. Never fails: what does not fit is counted in the remarks."""
    times, axis, restarts = unwrapped(ring)
    state = _Pass(ring, times)
    _run(state, ring, times, set(restarts))
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
    )


def _start(state: _Pass, ring: Ring, times: Sequence[int], restarts: Sequence[int]) -> int:
    """The first record's time, or that of the scheduler's start where all is there since before."""
    recorded = state.lives.recorded
    if restarts or not state.runs or not state.whole:
        return times[restarts[-1]] if restarts else 0
    first = state.runs[0].start
    # a tick before: it had started, but who ran is not known
    before = ring.codes[: bisect.bisect_left(times, first)]
    unstarted = (recorded is None or events.TICK in recorded) and events.TICK not in before
    return first if unstarted else 0


def _ticks(ring: Ring, times: Sequence[int]) -> Tuple[List[int], List[int]]:
    at = [i for i, code in enumerate(ring.codes) if code == events.TICK]
    return [times[i] for i in at], [ring.arguments[i] for i in at]


def _run(state: _Pass, ring: Ring, times: Sequence[int], restarts: "set[int]") -> None:
    in_, ready, tick = events.IN, events.READY, events.TICK
    acts, of_objects, marked = events.ACTS, events.OF_OBJECTS, {events.MARK}
    life, listed = state.life, state.acts
    at = moved = -1
    for time, code, number, argument in zip(times, ring.codes, ring.tasks, ring.arguments):
        at += 1
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


def _is_current(state: _Pass, time: int, task: int) -> None:
    """The record says that this task runs, whatever switches there are.

    V9 starts the scheduler without a switch record; and the first ones may be overwritten.
    """
    if task != state.current:
        if state.current >= 0:
            state.unexplained += 1
        known = state.priority[task]
        number = state.lives.number(task)
        state.switch(time, task, known if known >= 0 else state.base.get(number, -1))


def _deleted(state: _Pass, time: int, task: int) -> None:
    state.waits.end(time, task, UNKNOWN)
    state.ready_ends(time, task, False)
    state.ready_since[task] = state.off_since[task] = -1
    state.is_blocked[task] = state.blocked[task] = True


def _restart(state: _Pass) -> None:
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


def _finish(state: _Pass, end: int) -> None:
    state.waits.finish(end)
    state.close_run(end)
    for task in range(len(state.ran)):
        state.ready_ends(end, task, True)
