"""The Performance Monitoring Unit of Armv8.1-M: up to 31 event counters of 16 bits, and one of cycles.

Registers, fields and events: devices/pmu.csv. While DEMCR.TRCENA is 0 the unit does not answer: who calls
has set it. Counters that the program has enabled are left alone.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.cortexm.assignment import Place, assign
from gdb_prof.counters.cortexm.counter import CCNTR, Counter
from gdb_prof.counters.cortexm.dwt import put_back
from gdb_prof.counters.counting import Width
from gdb_prof.counters.registers import Setting, Unit, Write, demand_verified, rests_on, unverified
from gdb_prof.errors import TargetError

CHAIN = "CHAIN"
_CORESIGHT = (0x0D, 0x05, 0xB1)
"""The component ID of a CoreSight component (Arm IHI 0029, B2.2), without its class."""
_NARROW, _WIDE = Width(16), Width(32)
_CYCLES = 1 << 31
"""The cycle counter's bit in CNTEN…, INTEN… and OVS…; those below are the event counters'."""


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
    """`start`, `zero` and `read` as often as one likes, then `stop`, which puts back what `start` found."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.places: Dict[str, Place] = {}
        self.counts_cycles = False
        self.left_alone: Tuple[int, ...] = ()
        self.paused: Tuple[int, ...] = ()
        self.rests_on: Tuple[str, ...] = ()
        self._paused_bits = 0
        self._found: Optional[Seen] = None
        self._interrupts = 0

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
        places = assign(len(events), free, seen.number, narrow)
        programs = self._programs(events, places)
        demand_verified(programs, force)
        self.rests_on = tuple(rests_on(unverified(programs)))
        self._interrupts = self.unit.read("INTENSET")
        self._found = seen
        self.places, self.counts_cycles = dict(zip(events, places)), cycles
        if not self.places and not cycles:
            return
        ours = self._ours()
        on = self._mask("ENABLE")
        off = self._mask("EVENTCNT_RESET") | self._mask("CYCCNT_RESET")
        writes: List[Write] = []
        if not seen.ctrl & on:
            # with the unit on they would count, which they did not
            self.paused, self.left_alone = self.left_alone, ()
            self._paused_bits = seen.enabled & ~ours
            if self._paused_bits:
                writes.append(Write("CNTENCLR", self._paused_bits, held=0))
            off |= self._mask("FRZ_ON_OV")
        if self._interrupts & ours:
            writes.append(Write("INTENCLR", self._interrupts & ours, held=0))
        writes += [*programs, *self._zeros()]
        if seen.enabled & ours != ours:
            writes.append(Write("CNTENSET", ours, held=ours))
        if not seen.ctrl & on:
            writes.append(Write("CTRL", seen.ctrl & ~off | on, held=on))
        self.unit.perform(writes, force)

    @property
    def freezes(self) -> bool:
        """Whether the program has it stop at the first overflow."""
        found = self._found
        return bool(found and self.on(found) and found.ctrl & self._mask("FRZ_ON_OV"))

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
        return tuple(found) if not self.counts_cycles else (Counter(CCNTR, "PMU_CCNTR", _WIDE), *found)

    def zero(self) -> None:
        """Have our event counters begin anew."""
        if self.places:
            self.unit.perform(self._zeros(), force=True)

    def read(self) -> Tuple[Dict[str, int], FrozenSet[str]]:
        """Values by name, and who has overflowed since the reading before. Raises TargetError where one is
        not enabled any more."""
        if not self.places and not self.counts_cycles:
            return {}, frozenset()
        names = ["EVCNTR%d" % n for place in self.places.values() for n in place.numbers]
        words = self.unit.read_all([*names, "CCNTR", "CNTENSET", "OVSSET", "CTRL"])
        ours = self._ours()
        if words["CNTENSET"] & ours != ours or not words["CTRL"] & self._mask("ENABLE"):
            raise TargetError(
                "the PMU is not enabled any more (CNTENSET 0x%08x, CTRL 0x%08x): was the target reset, or "
                "does the program use it? `counters stop`, then start again"
                % (words["CNTENSET"], words["CTRL"])
            )
        flags = words["OVSSET"] & self._events()
        if flags:
            self.unit.perform([Write("OVSCLR", flags, held=0)], force=True)
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
        return values, frozenset(overflowed)

    def stop(self) -> List[str]:
        """What could not be put back, one message each."""
        found, self._found = self._found, None
        if found is None or not (self.places or self.counts_cycles):
            return []
        counted = self.on(found) and found.enabled & _CYCLES
        ours = self._ours() & ~(_CYCLES if counted else 0)
        on = self._mask("ENABLE")
        writes: List[Write] = []
        if not found.ctrl & on:
            back = on | self._mask("FRZ_ON_OV")
            ctrl = self.unit.read("CTRL") & ~back | found.ctrl & back
            writes.append(Write("CTRL", ctrl, held=back))
        if ours & ~found.enabled:
            writes.append(Write("CNTENCLR", ours & ~found.enabled, held=0))
        for n in (n for place in self.places.values() for n in place.numbers):
            writes.append(Write("EVTYPER%d" % n, found.events[n], held=0xFFFF))
            writes.append(Write("EVCNTR%d" % n, found.values[n], held=0xFFFF))
        if ours & _CYCLES:
            writes.append(Write("CCNTR", found.cycles))
        if ours:
            writes.append(Write("OVSCLR", ours, held=0))
        for register, bits in (
            ("OVSSET", found.overflowed & ours),
            ("INTENSET", self._interrupts & ours),
            ("CNTENSET", self._paused_bits),
        ):
            if bits:
                writes.append(Write(register, bits, held=bits))
        failures = put_back(self.unit, writes)
        self.places, self.counts_cycles = {}, False
        return failures + self._still_enabled(ours & ~found.enabled)

    def _still_enabled(self, bits: int) -> List[str]:
        there = self.unit.read("CNTENSET") & bits
        return ["PMU_CNTENCLR did not clear 0x%08x" % there] if there else []

    def _programs(self, events: Mapping[str, Setting], places: Sequence[Place]) -> List[Write]:
        writes = []
        for setting, place in zip(events.values(), places):
            for n, what in zip(place.numbers, (setting, CHAIN)):
                writes.append(self.unit.setting("EVTYPER%d" % n, {"EVENT": what}))
        return writes

    def _zeros(self) -> List[Write]:
        numbers = [n for place in self.places.values() for n in place.numbers]
        # while they count they may have gone on before they are read back
        writes = [Write("EVCNTR%d" % n, 0, held=0) for n in numbers]
        return [*writes, Write("OVSCLR", self._events(), held=0)] if numbers else []

    def _events(self) -> int:
        return sum(1 << n for place in self.places.values() for n in place.numbers)

    def _ours(self) -> int:
        return self._events() | (_CYCLES if self.counts_cycles else 0)

    def _mask(self, field: str) -> int:
        found = self.unit.description.field("CTRL", field)
        assert found is not None, field
        return found.mask

    def _of(self, register: str, field: str, word: int) -> int:
        found = self.unit.description.field(register, field)
        assert found is not None, field
        return found.of(word)
