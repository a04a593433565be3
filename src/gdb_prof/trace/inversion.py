"""Priority inversion: a wait for what another holds, which a third, lower task prolongs."""

from __future__ import annotations

import bisect
import collections
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.finding import INVERSION, Finding
from gdb_prof.trace.naming import amount, between, kind, kind_of, label, place
from gdb_prof.trace.timeline import CUT, OPEN, Act, Ready, Timeline, Wait
from gdb_prof.wording import count


class Hold(NamedTuple):
    """A task had a lock from `start` to `end`; `before`: it was taken before the trace begins;
    `given`: not still held at the trace's end."""

    task: int
    start: int
    end: int
    before: bool
    given: bool = True


class _Case(NamedTuple):
    """A wait, and by holder who ran how long while that holder was ready and did not."""

    wait: Wait
    thieves: Dict[int, Dict[int, int]]
    before: bool

    @property
    def stolen(self) -> int:
        return sum(sum(ran.values()) for ran in self.thieves.values())

    @property
    def by_thief(self) -> Dict[int, int]:
        ran: Dict[int, int] = collections.defaultdict(int)
        for thieves in self.thieves.values():
            for task, counts in thieves.items():
                ran[task] += counts
        return ran


def inversions(timeline: Timeline) -> List[Finding]:
    """Waits for a lock whose holder was ready but displaced by tasks of a priority below the
    waiter's. Several waits of one task for one lock are one finding."""
    grouped: Dict[Tuple[int, int], List[_Case]] = collections.defaultdict(list)
    overlaps, locks = _Overlaps(timeline), holds(timeline)
    ends = {number: [hold.end for hold in all_] for number, all_ in locks.items()}
    for wait in timeline.waits:
        if wait.code != events.WAIT or wait.inherited or wait.object not in locks:
            continue
        thieves: Dict[int, Dict[int, int]] = {}
        before = False
        for hold in _during(locks[wait.object], ends[wait.object], wait):
            for task, counts in overlaps.of(wait, hold).items():
                of_holder = thieves.setdefault(hold.task, {})
                of_holder[task] = of_holder.get(task, 0) + counts
                before = before or hold.before
        case = _Case(wait, thieves, before)
        if case.stolen > 0.01 * (wait.end - wait.start):
            grouped[wait.task, wait.object].append(case)
    found = [_inversion(timeline, cases) for cases in grouped.values()]
    return sorted(found, key=lambda finding: -finding.size)


def holds(timeline: Timeline) -> Dict[int, List[Hold]]:
    """Who had which lock when, in the order of time.

    A lock is what is given by the task that took it and by nobody else, in all of the trace:
    what interrupts give, or a task that has not taken it, is a signal. Mutexes are locks
    always; queues and counting semaphores never, since nobody has more than a part of them.
    Where records are missing nobody is known to have anything on; what is no mutex must then
    have been taken and given by one task.
    """
    locks = _Locks(timeline)
    for act in timeline.acts:
        if act.code == events.GAP:
            locks.broken(act.time, timeline.gaps[act.argument][1])
        elif act.code == events.TAKE:
            locks.taken(act)
        elif act.code == events.GIVE:
            locks.given(act)
        elif act.code == events.GIVE_ISR:
            locks.signals.add(act.argument)
    return locks.finish()


class _Locks:
    """Who has what, from one act to the next."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._found: Dict[int, List[Hold]] = collections.defaultdict(list)
        self._has: Dict[int, Tuple[int, int]] = {}
        self._seen: Set[int] = set()
        self._paired: Set[int] = set()
        self._start = timeline.start
        self._begins = timeline.ring.begins  # else what is given may have been taken before
        self.signals = {
            number
            for number in {*timeline.users, *timeline.objects}
            if kind_of(timeline, number) in events.UNHELD
        }

    def _is_mutex(self, number: int) -> bool:
        return kind_of(self._timeline, number) in events.MUTEXES

    def taken(self, act: Act) -> None:
        number = act.argument
        if number in self._has and not self._is_mutex(number):
            self.signals.add(number)  # taken twice: somebody gave it whose giving is not recorded
        self._has[number] = (act.task, act.time)
        self._seen.add(number)

    def given(self, act: Act) -> None:
        number, is_mutex = act.argument, self._is_mutex(act.argument)
        holder, since = self._has.pop(number, (-1, -1))
        if holder == act.task:
            self._found[number].append(Hold(act.task, since, act.time, False))
            self._paired.add(number)
        elif holder < 0 and number not in self._seen and (is_mutex or not self._begins):
            self._found[number].append(Hold(act.task, self._start, act.time, True))
        elif not is_mutex and (holder >= 0 or number in self._seen):
            self.signals.add(number)
        self._seen.add(number)

    def broken(self, before: int, after: int) -> None:
        """Records are missing between these times."""
        for number, (task, since) in self._has.items():
            self._found[number].append(Hold(task, since, before, False))
        self._has.clear()
        self._seen.clear()
        self._start, self._begins = after, False

    def finish(self) -> Dict[int, List[Hold]]:
        timeline, found = self._timeline, self._found
        for number, (task, since) in self._has.items():
            found[number].append(Hold(task, since, timeline.end, False, False))
        for wait in timeline.waits:  # a mutex that was taken before the trace and is not given in it
            if wait.object not in found and wait.holder >= 0 and wait.code == events.WAIT:
                if timeline.gaps:
                    hold = Hold(wait.holder, wait.start, wait.end, True, wait.outcome != OPEN)
                else:
                    hold = Hold(wait.holder, timeline.start, timeline.end, True, False)
                found[wait.object].append(hold)
        unsure = {n for n in found if timeline.gaps and n not in self._paired and not self._is_mutex(n)}
        return {number: all_ for number, all_ in found.items() if number not in self.signals | unsure}


def _during(all_: List[Hold], ends: List[int], wait: Wait) -> Iterator[Hold]:
    """Others' holds in the time of a wait, cut to it."""
    for at in range(bisect.bisect_right(ends, wait.start), len(all_)):
        hold = all_[at]
        if hold.start >= wait.end:
            return
        if hold.task != wait.task:
            yield hold._replace(start=max(hold.start, wait.start), end=min(hold.end, wait.end))


class _Overlaps:
    """How long lower tasks ran while a lock's holder was ready and did not."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._ready: Dict[int, List[Ready]] = collections.defaultdict(list)
        for ready in sorted(timeline.ready, key=lambda r: r.start):
            self._ready[ready.task].append(ready)
        self._ready_starts = {task: [r.start for r in all_] for task, all_ in self._ready.items()}

    def of(self, wait: Wait, hold: Hold) -> Dict[int, int]:
        """Counts by thief, while the holder was ready; `hold` lies in the time of the wait."""
        below = {task for task, ran in enumerate(wait.ran) if ran and task not in (wait.task, hold.task)}
        thieves: Dict[int, int] = collections.defaultdict(int)
        mine = self._ready[hold.task] if below else []
        first = bisect.bisect_left(self._ready_starts.get(hold.task, ()), hold.start) - 1
        for at in range(max(0, first), len(mine)):
            if mine[at].start >= hold.end:
                break
            start, end = max(mine[at].start, hold.start), min(mine[at].end, hold.end)
            for task, counts in between(self._timeline, start, end, wait.priority).items():
                if task in below:
                    thieves[task] += counts
        return thieves


def _inversion(timeline: Timeline, cases: List[_Case]) -> Finding:
    case = max(cases, key=lambda case: case.stolen)
    wait, thieves = case.wait, case.by_thief
    length = wait.end - wait.start
    thief_names = " and ".join(
        label(timeline, t) for t, _ in sorted(thieves.items(), key=lambda i: -i[1])[:3]
    )
    innocent = not timeline.gaps and not timeline.users.get(wait.object, set()) & set(thieves)
    text = "Priority inversion: %s %s %s for %s, %s to %s, held by %s. " % (
        label(timeline, wait.task),
        "has waited" if wait.outcome in (OPEN, CUT) else "waited",
        *(amount(timeline, length), kind(timeline, wait.object)),
        *(place(timeline, wait.start), place(timeline, wait.end)),
        " and ".join(label(timeline, holder) for holder in case.thieves),
    )
    need = (", which do not use it," if len(thieves) > 1 else ", which does not use it,") if innocent else ""
    text += "%s%s ran %s of that. " % (thief_names, need, amount(timeline, case.stolen))
    text += _cure(timeline, case)
    if case.before:
        text += " It was taken before this trace begins%s." % (
            ", or where records are missing" if timeline.gaps else ""
        )
    if wait.outcome == OPEN:
        text += " The wait is not over at the trace's end."
    elif wait.outcome == CUT:
        text += " From then on records are missing."
    if len(cases) > 1:
        total = amount(timeline, sum(case.stolen for case in cases))
        text += " %s such waits; this is the worst; %s stolen in all." % (count(len(cases)), total)
    return Finding(INVERSION, wait.task, wait.start, wait.end, case.stolen, text)


def _cure(timeline: Timeline, case: _Case) -> str:
    """Why nothing was inherited, and what a mutex would leave of the wait."""
    wait, name = case.wait, timeline.object_name(case.wait.object)
    what = kind_of(timeline, wait.object)
    if what in events.MUTEXES:
        return "Nothing was inherited, though %s is a mutex." % name
    why = ": %s is a %s" % (name, events.KINDS[what]) if what in events.KINDS else ""
    left = wait.end - wait.start - case.stolen
    own = sum(wait.ran[holder] for holder in case.thieves if holder < len(wait.ran))
    text = "Nothing was inherited%s. With a mutex the wait would be %%s, %s." % (why, amount(timeline, left))
    if len(case.thieves) == 1 and abs(left - own) <= 0.02 * left:
        holder = timeline.tasks[next(iter(case.thieves))].label
        return text % ("what %s still had to do" % holder)
    return text % "what is left without that"
