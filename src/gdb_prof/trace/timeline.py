"""The facts of a trace: who ran when, who waited for what, who was ready and did not run.

Times are counts (clock.py); tasks are indices into Timeline.tasks: a number that was
reused after a deletion is another task. scheduler.py finds them.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
from typing import Counter, Dict, List, NamedTuple, Sequence, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.clock import Axis
from gdb_prof.trace.lives import Task
from gdb_prof.trace.ring import Context, ObjectInfo, Ring

TAKEN, FAILED, UNKNOWN, OPEN, CUT = "taken", "timed out", "ended", "open", "records lost"
"""How a wait ended. CUT: records are missing from its `end` on, and with them how it went on."""


class Run(NamedTuple):
    start: int
    end: int
    task: int
    priority: int
    inherited: bool


class Wait(NamedTuple):
    """`ran`: for each task how long it ran meanwhile. `holder`: who had the object when the
    wait began; -1 where that is not known."""

    task: int
    object: int
    code: int
    start: int
    end: int
    outcome: str
    ran: Tuple[int, ...]
    holder: int
    priority: int
    inherited: bool


class Ready(NamedTuple):
    """Ready but not running, from `start` to `end`. `woken`: made ready at the start, not
    preempted, and ran then or may still: a time that a suspension or a deletion ended is
    no latency, and not `woken`. `on_time`: out of a delay until the tick `due` (16 bits).
    `open`: still so at the trace's end."""

    task: int
    start: int
    end: int
    woken: bool
    on_time: bool
    open: bool
    due: int = -1


class Act(NamedTuple):
    """A record that names an object or a number, for the list of resource events; or events.GAP,
    whose argument is the index in Timeline.gaps."""

    time: int
    code: int
    task: int
    argument: int


class Interrupt(NamedTuple):
    start: int
    end: int
    exception: int
    task: int


@dataclasses.dataclass(frozen=True)
class Timeline:
    ring: Ring
    axis: Axis
    start: int
    end: int
    tasks: Tuple[Task, ...]
    runs: Sequence[Run]
    waits: Sequence[Wait]
    ready: Sequence[Ready]
    acts: Sequence[Act]
    interrupts: Sequence[Interrupt]
    ran: Tuple[int, ...]
    """Counts that each task ran in all."""
    unknown: int
    """Counts in which no task is known to have run."""
    switches: Tuple[int, ...]
    wakes: Dict[int, List[Tuple[int, int]]]
    """By task: when it delayed, and until which tick (16 bits), in order."""
    ticks: Tuple[Sequence[int], Sequence[int]]
    """The tick records' times and numbers (16 bits), where any task delayed until one."""
    blocked: Dict[int, bool]
    """By task: True where it blocked, or was readied, in this trace at all."""
    counts: Counter[int]
    users: Dict[int, "set[int]"]
    """By object: the tasks that took, gave or waited for it."""
    objects: Dict[int, ObjectInfo]
    remarks: Tuple[str, ...]
    gaps: Tuple[Tuple[int, int], ...] = ()
    """Times between which records are missing: of the last before and the first after."""

    @functools.cached_property
    def own_priorities(self) -> Dict[int, int]:
        """By task, the last priority that it ran at and had not inherited."""
        return {run.task: run.priority for run in self.runs if not run.inherited}

    @functools.cached_property
    def run_starts(self) -> List[int]:
        """When each run began, to look for one by time."""
        return [run.start for run in self.runs]

    @functools.cached_property
    def _gap_ends(self) -> List[int]:
        return [after for _, after in self.gaps]

    @property
    def context(self) -> Context:
        return self.ring.context

    @property
    def span(self) -> int:
        return self.end - self.start

    @property
    def scheduled(self) -> int:
        """Since when tasks are scheduled, as far as is known: nobody runs before."""
        return self.runs[0].start if self.runs and self.ring.begins else self.start

    def is_whole(self, start: float, end: float) -> bool:
        """Whether no record is missing between two times, as far as is known."""
        at = bisect.bisect_right(self._gap_ends, start)
        return at == len(self.gaps) or self.gaps[at][0] >= end

    def object_name(self, number: int) -> str:
        """`lock`, or `mutex 3`, or `queue3` where nothing is known of it."""
        info = self.objects.get(number, ObjectInfo())
        if info.name:
            return info.name
        kind = events.KINDS.get(info.kind)
        return "%s %d" % (kind, number) if kind else "queue%d" % number

    def target(self, wait: Wait) -> str:
        """What a wait is for, as text."""
        if wait.code == events.NOTIFY_WAIT:
            return "a notification"
        name = self.object_name(wait.object)
        return "room in %s" % name if wait.code in (events.SEND_WAIT, events.STREAM_SEND_WAIT) else name
