"""Priority inversion: a wait for what another holds, which a third, lower task prolongs."""

from __future__ import annotations

import bisect
import collections
from typing import Dict, List, Set, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.finding import INVERSION, Finding
from gdb_prof.trace.naming import amount, between, kind, kind_of, label, place
from gdb_prof.trace.timeline import OPEN, TAKEN, Ready, Timeline, Wait


def inversions(timeline: Timeline) -> List[Finding]:
    """Waits for an object whose holder was ready but displaced by tasks of a priority below
    the waiter's. Several waits of one task for one object and holder are one finding."""
    grouped: Dict[Tuple[int, int, int], List[Tuple[Wait, Dict[int, int]]]] = collections.defaultdict(list)
    overlaps, signals = _Overlaps(timeline), _signals(timeline)
    for wait in timeline.waits:
        holder = _holder(timeline, wait, signals)
        if holder < 0 or wait.inherited:
            continue
        thieves = overlaps.of(wait, holder)
        if sum(thieves.values()) > 0.01 * (wait.end - wait.start):
            grouped[wait.task, wait.object, holder].append((wait, thieves))
    found = [_inversion(timeline, holder, cases) for (_, _, holder), cases in grouped.items()]
    return sorted(found, key=lambda finding: -finding.size)


def _signals(timeline: Timeline) -> Set[int]:
    """Objects that somebody gave who had not taken them: no locks."""
    taker: Dict[int, int] = {}
    signals: Set[int] = set()
    for act in timeline.acts:
        if act.code == events.TAKE:
            taker[act.argument] = act.task
        elif act.code == events.GIVE_ISR or (
            act.code == events.GIVE and taker.get(act.argument, act.task) != act.task
        ):
            signals.add(act.argument)
    return signals


def _holder(timeline: Timeline, wait: Wait, signals: Set[int]) -> int:
    """Who kept the waiter waiting: it had taken the object, and gave it in the end; -1 where
    the object is a signal, which others give than those who took it."""
    if wait.code != events.WAIT or wait.holder == wait.task:
        return -1
    what = kind_of(timeline, wait.object)
    if what in events.MUTEXES:
        return wait.holder if wait.holder >= 0 else wait.gave
    if what in events.UNHELD or wait.holder < 0:
        return -1
    if wait.gave == wait.holder or (wait.gave < 0 and wait.outcome != TAKEN and wait.object not in signals):
        return wait.holder
    return -1


class _Overlaps:
    """How long lower tasks ran while a lock's holder was ready and did not."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._starts = [run.start for run in timeline.runs]
        self._ready: Dict[int, List[Ready]] = collections.defaultdict(list)
        for ready in sorted(timeline.ready, key=lambda r: r.start):
            self._ready[ready.task].append(ready)
        self._ready_starts = {task: [r.start for r in all_] for task, all_ in self._ready.items()}

    def of(self, wait: Wait, holder: int) -> Dict[int, int]:
        below = {task for task, ran in enumerate(wait.ran) if ran and task not in (wait.task, holder)}
        thieves: Dict[int, int] = collections.defaultdict(int)
        mine = self._ready[holder] if below else []
        first = bisect.bisect_left(self._ready_starts.get(holder, ()), wait.start) - 1
        for at in range(max(0, first), len(mine)):
            if mine[at].start >= wait.end:
                break
            start, end = max(mine[at].start, wait.start), min(mine[at].end, wait.end)
            for task, counts in between(self._timeline, self._starts, start, end, wait.priority).items():
                if task in below:
                    thieves[task] += counts
        return thieves


def _inversion(timeline: Timeline, holder: int, cases: List[Tuple[Wait, Dict[int, int]]]) -> Finding:
    wait, thieves = max(cases, key=lambda case: sum(case[1].values()))
    stolen = sum(thieves.values())
    name = timeline.object_name(wait.object)
    names = " and ".join(label(timeline, t) for t, _ in sorted(thieves.items(), key=lambda i: -i[1])[:3])
    users = timeline.users.get(wait.object, set())
    innocent = not users & set(thieves)
    verb = "has waited" if wait.outcome == OPEN else "waited"
    text = "Priority inversion: %s %s %s for %s, %s to %s, held by %s. " % (
        *(
            label(timeline, wait.task),
            verb,
            amount(timeline, wait.end - wait.start),
            kind(timeline, wait.object),
        ),
        *(place(timeline, wait.start), place(timeline, wait.end), label(timeline, holder)),
    )
    need = (", which do not use it," if len(thieves) > 1 else ", which does not use it,") if innocent else ""
    text += "%s%s ran %s of that. " % (names, need, amount(timeline, stolen))
    own = wait.ran[holder] if holder < len(wait.ran) else 0
    what = kind_of(timeline, wait.object)
    if what in events.MUTEXES:
        text += "Nothing was inherited, though %s is a mutex." % name
    else:
        why = ": %s is a %s" % (name, events.KINDS[what]) if what in events.KINDS else ""
        text += "Nothing was inherited%s. With a mutex the wait would be what %s still had to do, %s." % (
            why,
            timeline.tasks[holder].label,
            amount(timeline, own),
        )
    if wait.held_since < 0:
        text += " It was taken before this trace begins."
    if wait.outcome == OPEN:
        text += " The wait is not over at the trace's end."
    if len(cases) > 1:
        total = sum(sum(t.values()) for _, t in cases)
        text += " %d such waits; this is the worst; %s stolen in all." % (len(cases), amount(timeline, total))
    return Finding(INVERSION, wait.task, wait.start, wait.end, stolen, text)
