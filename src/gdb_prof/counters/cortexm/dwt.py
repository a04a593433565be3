"""The counters of the Data Watchpoint and Trace unit: cycles, and five of 8 bits.

Registers and fields: devices/dwt.csv. A profiling counter counts while its enable bit is set; it may be
set to 0 when that bit is, so that only readings behind it count. While DEMCR.TRCENA is 0 the unit reads as
0: who calls has set it.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Mapping, Sequence, Tuple

from gdb_prof.counters.cortexm.counter import CYCCNT, Counter
from gdb_prof.counters.counting import Width
from gdb_prof.counters.registers import Unit, Write
from gdb_prof.errors import TargetError

REGISTERS: Mapping[str, Tuple[str, str, int]] = {
    CYCCNT: ("CYCCNT", "CYCCNTENA", 32),
    "cpi": ("CPICNT", "CPIEVTENA", 8),
    "exc": ("EXCCNT", "EXCEVTENA", 8),
    "sleep": ("SLEEPCNT", "SLEEPEVTENA", 8),
    "lsu": ("LSUCNT", "LSUEVTENA", 8),
    "fold": ("FOLDCNT", "FOLDEVTENA", 8),
}
"""By event: the counter's register, the bit of CTRL that enables it, its width."""

MEANINGS: Mapping[str, str] = {
    CYCCNT: "cycles",
    "cpi": "cycles more than one an instruction, and fetch stalls",
    "exc": "cycles of exception entry and exit",
    "sleep": "cycles asleep",
    "lsu": "cycles more than one a load or store",
    "fold": "instructions that took no cycle",
}


@dataclasses.dataclass(frozen=True)
class Seen:
    """The unit as it is. `values` by event, of all six registers."""

    ctrl: int
    values: Mapping[str, int]

    @property
    def answers(self) -> bool:
        return self.ctrl != 0


class Dwt:
    """`start`, `read` as often as one likes, then `stop`, which puts back what `start` found."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._found: Dict[str, int] = {}
        self.events: Tuple[str, ...] = ()
        self.was_running: Tuple[str, ...] = ()

    def look(self) -> Seen:
        words = self.unit.read_all(["CTRL", *(register for register, _, _ in REGISTERS.values())])
        return Seen(words["CTRL"], {event: words[r] for event, (r, _, _) in REGISTERS.items()})

    def bit(self, field: str) -> int:
        """A field's mask in CTRL."""
        found = self.unit.description.field("CTRL", field)
        assert found is not None, field
        return found.mask

    def lacks(self, event: str, ctrl: int) -> str:
        """The bit that says so, or empty."""
        field = "NOCYCCNT" if event == CYCCNT else "NOPRFCNT"
        return field if ctrl & self.bit(field) else ""

    def present(self) -> Tuple[str, ...]:
        """The events that CTRL does not say to be absent; none where no unit answers."""
        ctrl = self.unit.read("CTRL")
        return tuple(event for event in REGISTERS if ctrl and not self.lacks(event, ctrl))

    def start(self, events: Sequence[str]) -> Tuple[str, ...]:
        """Enable them. Those whose enable bit does not stay set are not counted, and returned. Raises
        TargetError where the register does not answer."""
        seen = self.look()
        self._found = {"CTRL": seen.ctrl, **seen.values}
        self.was_running = tuple(e for e in events if seen.ctrl & self._enable(e))
        self.events = tuple(events)
        if not events:
            return ()
        wanted = self._mask()
        if seen.ctrl & wanted != wanted:
            self.unit.perform([Write("CTRL", seen.ctrl | wanted, held=0)], force=False)
        there = self.unit.read("CTRL")
        dead = tuple(e for e in events if not there & self._enable(e))
        self.events = tuple(e for e in events if e not in dead)
        return dead

    def counters(self) -> Tuple[Counter, ...]:
        return tuple(Counter(e, "DWT_" + REGISTERS[e][0], Width(REGISTERS[e][2])) for e in self.events)

    def read(self) -> Dict[str, int]:
        """Raises TargetError where one is not enabled any more."""
        if not self.events:
            return {}
        seen = self.look()
        for event in self.events:
            if not seen.ctrl & self._enable(event):
                raise TargetError(
                    "DWT_CTRL.%s is not set any more (0x%08x): was the target reset, or does the program use "
                    "the DWT? `counters stop`, then start again" % (REGISTERS[event][1], seen.ctrl)
                )
        # above a counter's bits nothing is defined
        return {e: seen.values[e] & Width(REGISTERS[e][2]).modulus - 1 for e in self.events}

    def stop(self) -> List[str]:
        """What could not be put back, one message each."""
        events, self.events = self.events, ()
        started = [e for e in events if e not in self.was_running]
        writes: List[Write] = []
        if started:
            mask = sum(self._enable(e) for e in started)
            writes.append(Write("CTRL", self.unit.read("CTRL") & ~mask, held=mask))
        for event in started:
            register, _, bits = REGISTERS[event]
            writes.append(Write(register, self._found[event], held=Width(bits).modulus - 1))
        return put_back(self.unit, writes)

    def _enable(self, event: str) -> int:
        return self.bit(REGISTERS[event][1])

    def _mask(self) -> int:
        return sum(self._enable(event) for event in self.events)


def put_back(unit: Unit, writes: Sequence[Write]) -> List[str]:
    """Perform each, whatever becomes of the others; what went wrong."""
    failures = []
    for write in writes:
        try:
            unit.perform([write], force=True)  # what stood there before rests on nothing
        except TargetError as error:
            failures.append(str(error))
    return failures
