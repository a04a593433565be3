"""The counters of the Data Watchpoint and Trace unit: cycles, and five of 8 bits.

Registers and fields: devices/dwt.csv. A profiling counter counts while its enable bit is set; it may be
set to 0 when that bit is, so that only readings behind it count. While DEMCR.TRCENA is 0 the unit reads as
0: who calls has set it.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Callable, Dict, List, Mapping, Sequence, Tuple

from gdb_prof.counters.cortexm.counter import CYCCNT, SLEEP, Counter
from gdb_prof.counters.counting import Width
from gdb_prof.counters.description import Field
from gdb_prof.counters.registers import Unit, Write
from gdb_prof.errors import TargetError

_CPUID, _BASELINE = 0xE000ED00, 0xC
"""Bits 19:16 of CPUID (Armv6-M ARM, B3.2.3; Armv8-M ARM, CPUID): Armv6-M or Armv8-M Baseline. Its DWT has
comparators only, and no bit that says so."""

REGISTERS: Mapping[str, Tuple[str, str, int]] = {
    CYCCNT: ("CYCCNT", "CYCCNTENA", 32),
    "cpi": ("CPICNT", "CPIEVTENA", 8),
    "exc": ("EXCCNT", "EXCEVTENA", 8),
    SLEEP: ("SLEEPCNT", "SLEEPEVTENA", 8),
    "lsu": ("LSUCNT", "LSUEVTENA", 8),
    "fold": ("FOLDCNT", "FOLDEVTENA", 8),
}
"""By event: the counter's register, the bit of CTRL that enables it, its width."""

MEANINGS: Mapping[str, str] = {
    CYCCNT: "cycles",
    "cpi": "cycles more than one an instruction, and fetch stalls",
    "exc": "cycles of exception entry and exit",
    SLEEP: "cycles asleep",
    "lsu": "cycles more than one a load or store",
    "fold": "instructions that took no cycle",
}


_BEGIN = 1 << 31
"""What our cycle counter begins with: from 0 it would not be seen that the program sets it to 0."""


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
        self._left: List[Step] = []
        self.events: Tuple[str, ...] = ()
        self.was_running: Tuple[str, ...] = ()

    def look(self) -> Seen:
        words = self.unit.read_all(["CTRL", *(register for register, _, _ in REGISTERS.values())])
        # above a counter's bits nothing is defined
        values = {e: words[r] & Width(bits).modulus - 1 for e, (r, _, bits) in REGISTERS.items()}
        return Seen(words["CTRL"], values)

    @functools.cached_property
    def cpuid(self) -> int:
        """0 where it cannot be read."""
        try:
            return self.unit.memory.read(_CPUID, 1, "CPUID")[0]
        except TargetError:
            return 0

    def bit(self, name: str) -> int:
        """A field's mask in CTRL."""
        return field(self.unit, "CTRL", name).mask

    @property
    def is_baseline(self) -> str:
        """Says so where the core is one whose DWT has no counters at all; empty where it is not."""
        if self.cpuid >> 16 & 0xF != _BASELINE:
            return ""
        return "Armv6-M or Armv8-M Baseline, by CPUID 0x%08x" % self.cpuid

    def lacks(self, event: str, ctrl: int) -> str:
        """What says so, or empty."""
        name = "NOCYCCNT" if event == CYCCNT else "NOPRFCNT"
        return self.is_baseline or ("%s is set" % name if ctrl & self.bit(name) else "")

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
        if CYCCNT in self.events and CYCCNT not in self.was_running:
            self.unit.perform([Write("CYCCNT", _BEGIN, held=0)], force=False)
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
                    "DWT_CTRL.%s is not set any more (0x%08x; was the target reset, or does the program use "
                    "the DWT?)" % (REGISTERS[event][1], seen.ctrl)
                )
        return {e: seen.values[e] for e in self.events}

    def stop(self) -> List[str]:
        """What could not be put back, one message each: called again, that is tried again. Broken off, it is
        to be called again."""
        started = [e for e in self.events if e not in self.was_running]
        steps = [*self._left]
        if started:
            steps.append(functools.partial(self._disable, sum(self._enable(e) for e in started)))
        for event in started:
            register, _, bits = REGISTERS[event]
            steps.append(performed(self.unit, Write(register, self._found[event], Width(bits).modulus - 1)))
        failures = put_back(steps)
        self.events, self._left = (), steps
        return failures

    def _disable(self, mask: int) -> None:
        self.unit.perform([Write("CTRL", self.unit.read("CTRL") & ~mask, held=mask)], force=True)

    def _enable(self, event: str) -> int:
        return self.bit(REGISTERS[event][1])

    def _mask(self) -> int:
        return sum(self._enable(event) for event in self.events)


Step = Callable[[], None]
"""Puts something back. Raises TargetError. What it does may be done again."""


def performed(unit: Unit, write: Write) -> Step:
    # what stood there before rests on nothing
    return functools.partial(unit.perform, [write], force=True)


def put_back(steps: List[Step]) -> List[str]:
    """Each, whatever becomes of the others, and once more where it failed; what went wrong. `steps` are then
    those that failed."""
    failures, left = [], []
    for step in steps:
        try:
            step()
        except TargetError:
            try:
                step()
            except TargetError as error:
                failures.append(str(error))
                left.append(step)
    steps[:] = left
    return failures


def field(unit: Unit, register: str, name: str) -> Field:
    """Of a register that the package describes."""
    found = unit.description.placed(register, name)
    assert found is not None, name
    return found
