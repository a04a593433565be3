"""Scripted workloads for the simulated DPU, the ways in which a unit may misbehave, and what really happened.

The truth is kept from the script's steps and not from the unit's registers: a test compares the two.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Mapping, Optional, Tuple

NO_TASK = 0
"""The task ID at reset: a `Run` of another task is a switch, the first one, too."""
CYCLES, APPLICATION_CYCLES, TASK_SWITCHES = "cycles", "application_cycles", "task_switches"
"""The events that every step has of itself, named as in the unit's description."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a workload."""


@dataclasses.dataclass(frozen=True)
class Run(Step):
    """`task` runs for so many cycles; of these `waiting` in WAIT, which `application_cycles` leaves out.
    `events`: how many by meaning, such as dcache_miss. `user`: not in supervisor mode."""

    task: int
    cycles: int
    events: Mapping[str, int] = dataclasses.field(default_factory=dict)
    user: bool = False
    waiting: int = 0


@dataclasses.dataclass(frozen=True)
class Mark(Step):
    """The instruction MARK."""


@dataclasses.dataclass(frozen=True)
class DebugEv(Step):
    """The instruction DEBUGEV."""


@dataclasses.dataclass(frozen=True)
class Watchpoint(Step):
    """An event of the core's event analyser."""


@dataclasses.dataclass(frozen=True)
class Write(Step):
    """The program writes DP_TD."""

    value: int


@dataclasses.dataclass(frozen=True)
class Sample(Step):
    """The program sets DP_CR.SAMPLE."""


@dataclasses.dataclass(frozen=True)
class Event(Step):
    """An access at an address."""

    address: int


@dataclasses.dataclass(frozen=True)
class Jump(Step):
    """A call of a function, or a return from one."""


@dataclasses.dataclass(frozen=True)
class Quirks:
    """What a unit may do. `twba_stays`: once busy, for ever. `twba_reads`: busy for so many reads of DP_SR.
    `pads_flush`: a flush writes a whole burst, zeros after the last record, in place of just what is left.
    `drops_writes`: registers take none. `stuck`: by register the bits that stay 0; `ones`: those that read 1.
    `wrap_flag`: False where DP_SR.WRAP reads 0. `faults`: nothing answers at the unit's addresses."""

    twba_stays: bool = False
    twba_reads: int = 3
    pads_flush: bool = False
    drops_writes: bool = False
    stuck: Mapping[str, int] = dataclasses.field(default_factory=dict)
    ones: Mapping[str, int] = dataclasses.field(default_factory=dict)
    wrap_flag: bool = True
    faults: bool = False


@dataclasses.dataclass(frozen=True)
class Ran:
    """A `Run` that was done: as which step of the script, and whether it began with a task switch."""

    step: int
    run: Run
    switched: bool

    def events(self) -> Dict[str, int]:
        return {
            **self.run.events,
            CYCLES: self.run.cycles,
            APPLICATION_CYCLES: self.run.cycles - self.run.waiting,
            TASK_SWITCHES: int(self.switched),
        }


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A record that was produced. `kind`: as TMODE's code; `content`: its words in order; what was done
    before `step` had been counted then. `garbled`: what reached the buffer is not this."""

    kind: str
    content: Tuple[int, ...]
    step: int
    garbled: bool = False


@dataclasses.dataclass
class Truth:
    """`runs` and `records` in order; `windows`: by counter, the steps at which it was started and stopped,
    the latter None while it counts. Step -1: before the first."""

    runs: List[Ran] = dataclasses.field(default_factory=list)
    records: List[Recorded] = dataclasses.field(default_factory=list)
    windows: Dict[str, List[Tuple[int, Optional[int]]]] = dataclasses.field(default_factory=dict)

    def done(self, first: int = 0, beyond: Optional[int] = None) -> List[Ran]:
        """The runs of the steps from `first` to before `beyond`."""
        return [r for r in self.runs if first <= r.step and (beyond is None or r.step < beyond)]

    def count(
        self,
        event: str,
        first: int = 0,
        beyond: Optional[int] = None,
        task: Optional[int] = None,
        user: Optional[bool] = None,
    ) -> int:
        """How often it happened in these steps, perhaps of one task or in one mode."""
        return sum(
            ran.events().get(event, 0)
            for ran in self.done(first, beyond)
            if (task is None or ran.run.task == task) and (user is None or ran.run.user == user)
        )

    def tasks(self, first: int = 0, beyond: Optional[int] = None) -> Dict[int, Dict[str, int]]:
        """All events by task ID in these steps."""
        table: Dict[int, Dict[str, int]] = {}
        for ran in self.done(first, beyond):
            row = table.setdefault(ran.run.task, {})
            for event, number in ran.events().items():
                row[event] = row.get(event, 0) + number
        return table

    def traced(self) -> Dict[int, Dict[str, int]]:
        """`tasks` between the first record and the last, which is what records can tell."""
        return self.tasks(self.records[0].step, self.records[-1].step) if self.records else {}

    def started(self, counter: str, step: int) -> None:
        windows = self.windows.setdefault(counter, [])
        if not windows or windows[-1][1] is not None:
            windows.append((step, None))

    def stopped(self, counter: str, step: int) -> None:
        windows = self.windows.setdefault(counter, [])
        if windows and windows[-1][1] is None:
            windows[-1] = (windows[-1][0], step)
