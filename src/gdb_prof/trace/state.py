"""What is known of the tasks while the records of a trace are followed, one after the other."""

from __future__ import annotations

import collections
from typing import Dict, List, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.interrupts import Nesting
from gdb_prof.trace.lives import Lives
from gdb_prof.trace.ring import Ring
from gdb_prof.trace.timeline import Act, Ready, Run
from gdb_prof.trace.waits import Waits


class State:
    """Of the pass over the records, up to one of them."""

    def __init__(self, ring: Ring) -> None:
        self.lives = Lives(ring)
        self.base = ring.context.priorities
        self.whole = ring.begins
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
                self.preempted[current] = 0 <= self.priority[current] < priority
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

    # -- what is not known ---------------------------------------------------------

    def broken(self, before: int, after: int, naming: int, index: int) -> None:
        """Records are missing between these times: what was so at the first ends there, as far as is
        known, and who runs, is ready, waits, or has what after the second is told anew.

        `naming`: the task whose name was being told; 0: none's. `index`: in Timeline.gaps.
        """
        self.waits.broken(before)
        self.close_run(before)
        for task in range(len(self.ran)):
            self.ready_ends(before, task, False)
        tasks = len(self.ran)
        # while nobody has run, the scheduler may not have started
        self.whole = self.whole and not any(self.switches)
        self.current, self.started = -1, after
        for unknown in ("priority", "ready_since", "off_since", "off_priority", "due"):
            setattr(self, unknown, [-1] * tasks)
        self.inherited, self.preempted, self.is_blocked = ([False] * tasks for _ in range(3))
        self.base = {}  # a priority may be an inherited one meanwhile
        self.undo = (-1, -1, False)
        self.entered.clear()
        self.interrupts.forget()
        self.lives.broken(naming)
        self.acts.append(Act(before, events.GAP, -1, index))
