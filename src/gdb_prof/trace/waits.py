"""What tasks wait for: from the record that blocks to the one that says how it ended."""

from __future__ import annotations

import bisect
import collections
from typing import Callable, Dict, FrozenSet, List, Optional, Sequence

from gdb_prof.trace import events
from gdb_prof.trace.ring import Ring
from gdb_prof.trace.timeline import CUT, FAILED, OPEN, TAKEN, UNKNOWN, Wait


class _Open:
    """A wait that has begun. `before`: what each task had run then; `taken`: by another
    meanwhile; `resumed`: when the task ran again, and `after` what each had run then."""

    __slots__ = (
        *("code", "number", "start", "before", "priority", "holder", "inherited"),
        *("taken", "resumed", "after"),
    )

    def __init__(self, code: int, number: int, start: int, before: List[int], priority: int) -> None:
        self.code, self.number, self.start, self.before = code, number, start, before
        self.priority = priority
        self.holder = self.resumed = -1
        self.inherited = self.taken = False
        self.after = before


def unanswered(
    waits: Sequence[Wait], ring: Ring, times: Sequence[int], number_of: Callable[[int], int]
) -> List[Wait]:
    """The waits, those for a notification that nobody sent meanwhile as timed out: the kernel
    says of every one that it took. `number_of`: a task's number, by its index."""
    recorded = ring.context.recorded
    if recorded is None or not {events.NOTIFY, events.NOTIFY_ISR} <= recorded:
        return list(waits)
    sent: Dict[int, List[int]] = collections.defaultdict(list)
    for time, code, target in zip(times, ring.codes, ring.arguments):
        if code in (events.NOTIFY, events.NOTIFY_ISR):
            sent[target].append(time)

    def judged(wait: Wait) -> Wait:
        if wait.code != events.NOTIFY_WAIT or wait.outcome != TAKEN:
            return wait
        mine = sent[number_of(wait.task)]
        at = bisect.bisect_left(mine, wait.start)
        return wait if at < len(mine) and mine[at] <= wait.end else wait._replace(outcome=FAILED)

    return [judged(wait) for wait in waits]


class Waits:
    """Follows each task's wait, and who has which object. `totals`: what each task has run
    up to a time."""

    def __init__(self, recorded: Optional[FrozenSet[int]], totals: Callable[[int], List[int]]) -> None:
        self.done: List[Wait] = []
        self.users: Dict[int, "set[int]"] = collections.defaultdict(set)
        self._recorded, self._totals = recorded or frozenset(), totals
        self._open: Dict[int, _Open] = {}
        self._of_object: Dict[int, List[int]] = collections.defaultdict(list)
        self._holder: Dict[int, int] = {}

    def act(self, time: int, task: int, code: int, argument: int, priority: int) -> None:
        """A record that only the running task makes."""
        waiting = self._open.get(task)
        if waiting is not None and 0 <= priority < waiting.priority:
            waiting.priority = priority  # it was lowered meanwhile: fewer tasks stood below it
        if waiting is not None and code not in events.ENDS:
            fits = waiting.number == argument or code == events.NOTIFY_TAKE
            if fits and code in events.ENDS[waiting.code]:
                self.end(time, task, TAKEN)
            elif fits and code == events.FAILS.get(waiting.code):
                self.end(time, task, FAILED)
            else:  # it runs on and does something else: how the wait ended is not recorded
                self.end(time, task, UNKNOWN)
        if code == events.TAKE:
            self._holder[argument] = task
            self.users[argument].add(task)
            for other in self._of_object.get(argument, ()):
                self._open[other].taken = True
        elif code == events.GIVE:
            if self._holder.get(argument, -1) == task:
                del self._holder[argument]
            self.users[argument].add(task)
        elif code in events.ENDS:
            if code != events.NOTIFY_WAIT:  # its argument is no object
                self.users[argument].add(task)
            self._begin(time, task, code, argument, priority)

    def _begin(self, time: int, task: int, code: int, number: int, priority: int) -> None:
        waiting = self._open.get(task)
        if waiting is not None:
            same = waiting.code == code and waiting.number == number
            if same and (waiting.taken or events.FAILS.get(code) in self._recorded):
                waiting.resumed = -1
                return  # woken, but somebody else was faster: the same wait goes on
            self.end(time, task, UNKNOWN)
        waiting = _Open(code, number, time, self._totals(time), priority)
        if code == events.WAIT:
            waiting.holder = self._holder.get(number, -1)
        self._open[task] = waiting
        self._of_object[number].append(task)

    def resumed(self, time: int, task: int) -> None:
        """The task runs again: if no record says how its wait ended, it ended here."""
        waiting = self._open.get(task)
        if waiting is not None and waiting.resumed < 0:
            waiting.resumed, waiting.after = time, self._totals(time)

    def inherits(self, task: int, priority: int, current: int) -> None:
        """For those who wait for what `task` holds, as `current` does from now on."""
        mine = self._open.get(current)
        if mine is not None and mine.code == events.WAIT and mine.holder < 0:
            mine.holder = task
        for waiting in self._open.values():
            if waiting.holder == task and priority >= waiting.priority:
                waiting.inherited = True

    def end(self, time: int, task: int, outcome: str) -> None:
        waiting = self._open.pop(task, None)
        if waiting is None:
            return
        self._of_object[waiting.number].remove(task)
        end, ran = time, self._totals(time)
        if outcome == UNKNOWN and waiting.resumed >= 0:
            end, ran = waiting.resumed, waiting.after
        before = waiting.before + [0] * (len(ran) - len(waiting.before))
        self.done.append(
            Wait(
                *(task, waiting.number, waiting.code, waiting.start, end, outcome),
                tuple(now - then for now, then in zip(ran, before)),
                *(waiting.holder, waiting.priority, waiting.inherited),
            )
        )

    def broken(self, time: int) -> None:
        """Records are missing from here on: how a wait ended that is open, and who has what."""
        for task, waiting in sorted(self._open.items()):
            self.end(time, task, CUT if waiting.resumed < 0 else UNKNOWN)
        self._holder.clear()

    def finish(self, end: int) -> None:
        """The trace ends: who has not run since still waits."""
        for task, waiting in sorted(self._open.items()):
            self.end(end, task, OPEN if waiting.resumed < 0 else UNKNOWN)

    def forget(self) -> None:
        """All but who holds what."""
        self.done.clear()
        self._open.clear()
        self._of_object.clear()
