"""The Performance Monitoring Unit of Armv8.1-M: up to 31 event counters of 16 bits, and one of cycles.

Registers, fields and events: devices/pmu.csv. While DEMCR.TRCENA is 0 the unit does not answer: who calls
has set it. Counters that the program has enabled are left alone.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.cortexm.assignment import Place, assign
from gdb_prof.counters.cortexm.counter import CCNTR, Counter, Reading
from gdb_prof.counters.cortexm.dwt import Step, field, performed, put_back
from gdb_prof.counters.counting import Width
from gdb_prof.counters.registers import Setting, Unit, Write, demand_verified, doubtful, rests_on
from gdb_prof.errors import TargetError

CHAIN = "CHAIN"
_CORESIGHT = (0x0D, 0x05, 0xB1)
"""The component ID of a CoreSight component (Arm IHI 0029, B2.2), without its class."""
_NARROW, _WIDE = Width(16), Width(32)
CYCLES_BIT = 31
"""The cycle counter's in CNTEN…, INTEN… and OVS…; those below are the event counters'."""
_CYCLES = 1 << CYCLES_BIT
_BEGIN = 1 << 14
"""What the upper 16 bits of our counters begin with: from 0 it would not be seen that the program sets them
to 0. The less, the longer until they wrap."""


@dataclasses.dataclass(frozen=True)
class Seen:
    """The unit as it is. By number: `events` programmed and `values`; `enabled`, `overflowed`: their bits."""

    type: int
    number: int
    has_cycles: bool
    ctrl: int
    enabled: int
    overflowed: int
    events: Mapping[int, int]
    values: Mapping[int, int]
    cycles: int


class Pmu:
    """`start`, `begin` and `read` as often as one likes, then `stop`, which puts back what `start` found."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.places: Dict[str, Place] = {}
        self.counts_cycles = False
        self.left_alone: Tuple[int, ...] = ()
        self.paused: Tuple[int, ...] = ()
        self.rests_on: Tuple[str, ...] = ()
        self.freezes = False
        """Whether the program has it stop at the first overflow."""
        self._paused_bits = 0
        self._found: Optional[Seen] = None
        self._interrupts = 0
        self._left: List[Step] = []
        self._types: Dict[str, int] = {}

    def look(self) -> Optional[Seen]:
        """None where no such unit answers."""
        try:
            ids = self.unit.read_all(["CIDR0", "CIDR1", "CIDR2", "CIDR3"])
            kind = self.unit.read("TYPE")
        except TargetError:  # there is nothing at its address
            return None
        component = tuple(ids["CIDR%d" % n] & 0xFF for n in (0, 2, 3))
        number = self._of("TYPE", "NUM_CNTS", kind)
        if component != _CORESIGHT or not number & 0x1F:
            return None
        number = min(number, 31)
        counters = ["EVCNTR%d" % n for n in range(number)]
        types = ["EVTYPER%d" % n for n in range(number)]
        words = self.unit.read_all([*counters, "CCNTR", *types, "CNTENSET", "OVSSET", "CTRL"])
        return Seen(
            kind,
            number,
            bool(self._of("TYPE", "CYCCNT_PRESENT", kind)),
            words["CTRL"],
            words["CNTENSET"],
            words["OVSSET"],
            {n: self._of("EVTYPER0", "EVENT", words["EVTYPER%d" % n]) for n in range(number)},
            {n: self._of("EVCNTR0", "CNT", words["EVCNTR%d" % n]) for n in range(number)},
            words["CCNTR"],
        )

    def on(self, seen: Seen) -> bool:
        """Whether the unit counts at all."""
        return bool(seen.ctrl & self._mask("ENABLE"))

    def start(self, events: Mapping[str, Setting], cycles: bool, narrow: bool, force: bool) -> None:
        """Count `events`, by name as shown: the event's name or number. Raises UsageError for more than
        there are counters, and for one that nobody has verified, unless forced; TargetError."""
        seen = self.look()
        assert seen is not None
        self.left_alone = tuple(n for n in range(seen.number) if seen.enabled >> n & 1)
        free = [n for n in range(seen.number) if n not in self.left_alone]
        # what freezes at an overflow: not at that of a low half, which stops the program's counters, too
        freezes = bool(seen.ctrl & self._mask("ENABLE") and seen.ctrl & self._mask("FRZ_ON_OV"))
        places = assign(len(events), free, seen.number, narrow or freezes)
        programs = self._programs(events, places)
        demand_verified(programs, force)
        self.rests_on = tuple(rests_on(doubtful(fact for write in programs for fact in write.facts)))
        self._interrupts = self.unit.read("INTENSET")
        self._found, self.freezes = seen, freezes
        self._types = {write.register: self._event_of(write.value) for write in programs}
        self.places, self.counts_cycles = dict(zip(events, places)), cycles
        if not self.places and not cycles:
            return
        ours = self._ours()
        on = self._mask("ENABLE")
        ctrl = seen.ctrl
        writes: List[Write] = []
        if not seen.ctrl & on:
            # with the unit on they would count, which they did not
            self.paused, self.left_alone = self.left_alone, ()
            self._paused_bits = seen.enabled & ~ours
            if self._paused_bits:
                writes.append(Write("CNTENCLR", self._paused_bits, held=0))
            ctrl = ctrl & ~self._mask("FRZ_ON_OV") | on
        if self._interrupts & ours:
            writes.append(Write("INTENCLR", self._interrupts & ours, held=0))
        writes += [*programs, *self._begins()]
        if seen.enabled & ours != ours:
            writes.append(Write("CNTENSET", ours, held=ours))
        if not seen.ctrl & on:
            writes.append(Write("CTRL", ctrl, held=on))
        self.unit.perform(writes, force)

    @property
    def cycles_were_running(self) -> bool:
        found = self._found
        return bool(found and self.on(found) and found.enabled & _CYCLES)

    def counters(self) -> Tuple[Counter, ...]:
        found = [
            Counter(
                name,
                "PMU %s" % "+".join(str(n) for n in place.numbers),
                _NARROW if place.high is None else _WIDE,
                flagged=True,
            )
            for name, place in self.places.items()
        ]
        if not self.counts_cycles:
            return tuple(found)
        # one that ran already has its flag for the program
        return (Counter(CCNTR, "PMU_CCNTR", _WIDE, flagged=bool(self._flags() & _CYCLES)), *found)

    def begin(self) -> None:
        """Have our event counters begin anew."""
        if self.places or self.counts_cycles:
            self._send(self._begins())

    def read(self) -> Reading:
        """Raises TargetError where one is not enabled any more."""
        if not self.places and not self.counts_cycles:
            return Reading({})
        names = ["EVCNTR%d" % n for place in self.places.values() for n in place.numbers]
        names += ["CCNTR"] if self.counts_cycles else []
        words = self.unit.read_all([*names, *self._types, "CNTENSET", "OVSSET", "CTRL"])
        ours = self._ours()
        if words["CNTENSET"] & ours != ours or not words["CTRL"] & self._mask("ENABLE"):
            raise TargetError(
                "the PMU is not enabled any more (CNTENSET 0x%08x, CTRL 0x%08x; was the target reset, or "
                "does the program use it?)" % (words["CNTENSET"], words["CTRL"])
            )
        for register, event in self._types.items():
            if self._event_of(words[register]) != event:
                raise TargetError(
                    "PMU_%s is 0x%04x, not 0x%04x any more: another event is counted (does the program set "
                    "up its PMU?)" % (register, self._event_of(words[register]), event)
                )
        flags = words["OVSSET"] & self._flags()
        if flags:
            self._send([Write("OVSCLR", flags, held=0)])
        values, overflowed = {}, set()
        for name, place in self.places.items():
            value = self._of("EVCNTR0", "CNT", words["EVCNTR%d" % place.low])
            if place.high is not None:
                value |= self._of("EVCNTR0", "CNT", words["EVCNTR%d" % place.high]) << _NARROW.bits
            values[name] = value
            if flags >> place.numbers[-1] & 1:
                overflowed.add(name)
        if self.counts_cycles:
            values[CCNTR] = words["CCNTR"]
            if flags & _CYCLES:
                overflowed.add(CCNTR)
        # any flag stops all of them, the program's as well as ours: also one that it has cleared again
        freezes = words["CTRL"] & self._mask("FRZ_ON_OV")
        return Reading(values, frozenset(overflowed), frozenset(values if freezes else ()))

    def stop(self) -> List[str]:
        """What could not be put back, one message each: called again, that is tried again. Broken off, it is
        to be called again."""
        found = self._found
        steps = [*self._left]
        if found is not None and (self.places or self.counts_cycles):
            steps += self._back(found)
        failures = put_back(steps)
        self.places, self.counts_cycles, self._found, self._left = {}, False, None, steps
        return failures

    def _back(self, found: Seen) -> List[Step]:
        ours = self._flags()
        steps: List[Step] = []
        if not self.on(found):
            steps.append(functools.partial(self._disable, found.ctrl))
        if ours & ~found.enabled:
            steps.append(performed(self.unit, Write("CNTENCLR", ours & ~found.enabled, held=0)))
            steps.append(functools.partial(self._demand_disabled, ours & ~found.enabled))
        for n in (n for place in self.places.values() for n in place.numbers):
            steps.append(performed(self.unit, Write("EVTYPER%d" % n, found.events[n], held=0xFFFF)))
            steps.append(performed(self.unit, Write("EVCNTR%d" % n, found.values[n], held=0xFFFF)))
        if ours & _CYCLES:
            steps.append(performed(self.unit, Write("CCNTR", found.cycles)))
        if ours:
            steps.append(performed(self.unit, Write("OVSCLR", ours, held=0)))
        for register, bits in (
            ("OVSSET", found.overflowed & ours),
            ("INTENSET", self._interrupts & ours),
            ("CNTENSET", self._paused_bits),
        ):
            if bits:
                steps.append(performed(self.unit, Write(register, bits, held=bits)))
        return steps

    def _disable(self, found: int) -> None:
        back = self._mask("ENABLE") | self._mask("FRZ_ON_OV")
        ctrl = self.unit.read("CTRL") & ~back | found & back
        self.unit.perform([Write("CTRL", ctrl, held=back)], force=True)

    def _demand_disabled(self, bits: int) -> None:
        """Raises TargetError."""
        there = self.unit.read("CNTENSET") & bits
        if there:
            raise TargetError("PMU_CNTENCLR did not clear 0x%08x" % there)

    def _programs(self, events: Mapping[str, Setting], places: Sequence[Place]) -> List[Write]:
        writes = []
        for setting, place in zip(events.values(), places):
            for n, what in zip(place.numbers, (setting, CHAIN)):
                writes.append(self.unit.setting("EVTYPER%d" % n, {"EVENT": what}))
        return writes

    def _send(self, writes: Sequence[Write]) -> None:
        """What cannot be read back, since it counts on: not read, which would cost time in each lap."""
        for write in writes:
            self.unit.memory.write(self.unit.address(write.register), write.value, write.register)

    def _begins(self) -> List[Write]:
        # while they count they may have gone on before they are read back
        writes = [
            Write("EVCNTR%d" % n, _BEGIN if n == place.numbers[-1] else 0, held=0)
            for place in self.places.values()
            for n in place.numbers
        ]
        if self._flags() & _CYCLES:
            writes.append(Write("CCNTR", _BEGIN << _NARROW.bits, held=0))
        return [*writes, Write("OVSCLR", self._flags(), held=0)] if self._flags() else writes

    def _events(self) -> int:
        return sum(1 << n for place in self.places.values() for n in place.numbers)

    def _ours(self) -> int:
        return self._events() | (_CYCLES if self.counts_cycles else 0)

    def _flags(self) -> int:
        """Our own in OVSSET."""
        return self._ours() & ~(_CYCLES if self.cycles_were_running else 0)

    def _event_of(self, word: int) -> int:
        return self._of("EVTYPER0", "EVENT", word)

    def _mask(self, name: str) -> int:
        return field(self.unit, "CTRL", name).mask

    def _of(self, register: str, name: str, word: int) -> int:
        return field(self.unit, register, name).of(word)
