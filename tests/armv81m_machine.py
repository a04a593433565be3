"""A simulated core with DWT and PMU, of Armv8.1-M, for DeviceServer: a scripted program and its counts.

    machine = Armv81mMachine([Step(0x100, 4, {0x08: 1}), Step(0x102, 20, {0x08: 9, 0x04: 3})])

Each Step is an instruction of the program by its address, and what passes until it is at the next one:
cycles, events by their number, and what the program writes in the end. The program is a loop; what memory
shows of it are nops and branches. Registers as in CMSIS' core_cm55.h; while DEMCR.TRCENA is 0 DWT and PMU
read as 0 and take nothing. With PMU_CTRL.FRZ_ON_OV the PMU's counters stand while a flag is set in OVSSET.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Dict, FrozenSet, List, Mapping, Sequence, Set, Tuple

from cortex_m4_trace import identification
from remote_server import Fault

DEMCR, TRCENA = 0xE000EDFC, 1 << 24
DWT, PMU = 0xE0001000, 0xE0003000
CTRL, CYCCNT = DWT, DWT + 4
CCNTR, CNTENSET, CNTENCLR = PMU + 0x07C, PMU + 0xC00, PMU + 0xC20
INTENSET, INTENCLR, OVSCLR, OVSSET = PMU + 0xC40, PMU + 0xC60, PMU + 0xC80, PMU + 0xCC0
TYPE, PMU_CTRL = PMU + 0xE00, PMU + 0xE04
ENABLE, FRZ_ON_OV = 1, 1 << 9
NOCYCCNT, NOPRFCNT = 1 << 25, 1 << 24
CHAIN = 0x1E
CPUID, FAULTS = 0xE000ED00, 0xE0001FFC
"""What is written to FAULTS, which no core has: so many reads of a part's `faulty` registers fail."""
_ABOVE = 0x5A5A5A00
"""What a counter of 8 bits reads above them: nobody says that it is 0."""
CYCLES = 1 << 31
_ENABLES = {4: 0, 8: 17, 0xC: 18, 0x10: 19, 0x14: 20, 0x18: 21}
"""By DWT counter's offset the bit of CTRL that enables it."""
PROFILED = {"cpi": 0x8, "exc": 0xC, "sleep": 0x10, "lsu": 0x14, "fold": 0x18}
_SCS = (0xE000E000, 0xE000F000)
_NOP, _BRANCH = 0xBF00, 0xE000


def evcntr(n: int) -> int:
    return PMU + 4 * n


def evtyper(n: int) -> int:
    return PMU + 0x400 + 4 * n


@dataclasses.dataclass(frozen=True)
class Step:
    """`events`: by PMU event number; `profiled`: by the name of a DWT counter of 8 bits; `writes`: to a
    register by address."""

    address: int
    cycles: int
    events: Mapping[int, int] = dataclasses.field(default_factory=dict)
    profiled: Mapping[str, int] = dataclasses.field(default_factory=dict)
    writes: Mapping[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Part:
    """What this part has. `ctrl`: DWT_CTRL's fixed bits. `stuck`: by address the bits that do not take.
    `halt_cycles`: counted by entering and leaving Debug state; `moves`: cycles a read, where counters go on
    while the core is halted. `pmu`: how many event counters; 0: no PMU, and its addresses fault."""

    ctrl: int = 4 << 28 | NOPRFCNT
    pmu: int = 8
    stuck: Mapping[int, int] = dataclasses.field(default_factory=dict)
    halt_cycles: int = 0
    moves: int = 0
    trace: bool = True
    cyccnt_reads: "int | None" = None
    cpuid: int = 0x410FD220
    faulty: FrozenSet[int] = frozenset()


def _code(address: int, following: int) -> int:
    """The halfword from which GDB sees where the program goes."""
    return _NOP if following == address + 2 else _BRANCH | (following - address - 4) // 2 & 0x7FF


class Armv81mMachine:
    """A `Machine`. `words` has every register by address; `writes` each write: (address, value); `passed`:
    cycles since reset, whoever counts them."""

    def __init__(self, program: Sequence[Step], part: Part = Part()) -> None:
        self.program, self.part = tuple(program), part
        self.registers: List[int] = [0] * 17
        self.registers[15], self.registers[16] = program[0].address, 1 << 24
        self.writes: List[Tuple[int, int]] = []
        self.words: Dict[int, int] = {CTRL: part.ctrl, DEMCR: 0, CPUID: part.cpuid}
        self.passed = self.faults = 0
        if part.pmu:
            self.words[TYPE] = 1 << 21 | 1 << 14 | 0x1F << 8 | part.pmu
            ids = identification(0xD24, (0x90, 0x0B))
            self.words.update({PMU + offset: value for offset, value in ids.items()})
        self._at = 0
        following = [step.address for step in (*program[1:], program[0])]
        self._code = {step.address: _code(step.address, to) for step, to in zip(program, following)}

    # -- the program -------------------------------------------------------------------

    def run(self, breakpoints: Set[int], only_one: bool) -> bool:
        self._cycles(self.part.halt_cycles)
        for _ in range(1 if only_one else 1000):
            step = self.program[self._at]
            self._cycles(step.cycles)
            for number, times in step.events.items():
                self._event(number, times)
            for name, times in step.profiled.items():
                self._profiled(PROFILED[name], times)
            for address, value in step.writes.items():
                self._store(address, value)
            self._at = (self._at + 1) % len(self.program)
            self.registers[15] = self.program[self._at].address
            if self.registers[15] in breakpoints:
                return True
        return False

    def _cycles(self, n: int) -> None:
        self.passed += n
        self._profiled(4, n)
        if self._counts(31):
            self._add(CCNTR, n, 1 << 32, 31)
        self._event(0x11, n)

    def _profiled(self, offset: int, n: int) -> None:
        modulus = 1 << 32 if offset == 4 else 1 << 8
        if self._on() and self.words[CTRL] >> _ENABLES[offset] & 1:
            self.words[DWT + offset] = (self.words.get(DWT + offset, 0) + n) % modulus

    def _event(self, number: int, times: int) -> None:
        for n in range(self.part.pmu):
            if self._counts(n) and self.words.get(evtyper(n), 0) == number:
                self._count(n, times)

    def _count(self, n: int, times: int) -> None:
        wraps = self._add(evcntr(n), times, 1 << 16, n)
        above = n + 1
        if wraps and n % 2 == 0 and self._counts(above) and self.words.get(evtyper(above)) == CHAIN:
            self._count(above, wraps)

    def _add(self, address: int, n: int, modulus: int, bit: int) -> int:
        """How often it has wrapped; its flag is set then."""
        wraps, self.words[address] = divmod(self.words.get(address, 0) + n, modulus)
        if wraps:
            self.words[OVSSET] = self.words.get(OVSSET, 0) | 1 << bit
        return wraps

    def _counts(self, bit: int) -> bool:
        ctrl = self.words.get(PMU_CTRL, 0)
        stands = ctrl & FRZ_ON_OV and self.words.get(OVSSET, 0)
        on = self._on() and ctrl & ENABLE and not stands
        return bool(on and self.words.get(CNTENSET, 0) >> bit & 1)

    def _on(self) -> bool:
        return bool(self.words[DEMCR] & TRCENA)

    # -- memory ------------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        first, last = address & ~3, (address + size - 1) & ~3
        content = b"".join(struct.pack("<I", self._word(at)) for at in range(first, last + 4, 4))
        return content[address - first : address - first + size]

    def _word(self, address: int) -> int:
        base = address & ~0xFFF
        if self.faults and address in self.part.faulty:
            self.faults -= 1
            raise Fault
        if base in (DWT, PMU):
            if base == PMU and not self.part.pmu:
                raise Fault
            if not self._on():
                return 0
            if self.part.moves and address in (CYCCNT, CCNTR):
                self._cycles(self.part.moves)
            if address == CYCCNT and self.part.cyccnt_reads is not None:
                return self.part.cyccnt_reads
            same = {CNTENCLR: CNTENSET, INTENCLR: INTENSET, OVSCLR: OVSSET}
            value = self.words.get(same.get(address, address), 0)
            return value | _ABOVE if address - DWT in PROFILED.values() else value
        if _SCS[0] <= address < _SCS[1]:
            return self.words.get(address, 0)
        if address & ~0xFFF == self.program[0].address & ~0xFFF:
            return self._code.get(address, _NOP) | self._code.get(address + 2, _NOP) << 16
        raise Fault

    def write(self, address: int, content: bytes) -> None:
        value = int.from_bytes(content, "little")
        if address == FAULTS:
            self.faults = value
            return
        self.writes.append((address, value))
        self._store(address, value)

    def _store(self, address: int, value: int) -> None:
        if address == DEMCR:
            self.words[DEMCR] = value & ~(0 if self.part.trace else TRCENA)
            return
        if address & ~0xFFF not in (DWT, PMU):
            raise Fault
        if self._on():
            stuck = self.part.stuck.get(address, 0)
            self._take(address, value & ~stuck | self.words.get(address, 0) & stuck)

    def _take(self, address: int, value: int) -> None:
        words = self.words
        if address in (CNTENSET, INTENSET, OVSSET):
            words[address] = words.get(address, 0) | value
        elif address in (CNTENCLR, INTENCLR, OVSCLR):
            words[address - 0x20 if address != OVSCLR else OVSSET] = self._word(address) & ~value
        elif address == CTRL:
            self._control(value)
        elif address == PMU_CTRL:
            words[address] = value & (ENABLE | FRZ_ON_OV | 1 << 5 | 1 << 11)
        elif address in (CCNTR, CYCCNT):
            words[address] = value
        elif PMU <= address < PMU + 4 * self.part.pmu or evtyper(0) <= address < evtyper(self.part.pmu):
            words[address] = value & 0xFFFF
        elif DWT + 8 <= address <= DWT + 0x18:
            words[address] = value & 0xFF

    def _control(self, value: int) -> None:
        before = self.words[CTRL]
        takes = 0x007F1FFF
        takes &= ~(1 if self.part.ctrl & NOCYCCNT else 0)
        takes &= ~(0x3E0000 if self.part.ctrl & NOPRFCNT else 0)
        for offset, bit in _ENABLES.items():  # a profiling counter begins at 0
            if offset != 4 and value & takes & ~before & 1 << bit:
                self.words[DWT + offset] = 0
        self.words[CTRL] = value & takes | before & ~takes
