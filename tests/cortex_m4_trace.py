"""The trace units of a Cortex-M4 as a debugger finds them: DWT, ITM and TPIU.

Registers and bits: Armv7-M ARM (DDI 0403), C1.7, C1.8, C1.10; identification: Cortex-M4 TRM (100166),
chapters 8 to 11. While DEMCR.TRCENA is 0 they read as 0 and take nothing.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Callable, Dict, List, Mapping, Optional, Tuple

ITM, DWT, TPIU = 0xE0000000, 0xE0001000, 0xE0040000
CORE_HZ = 168_000_000
"""At which CYCCNT and SysTick count, by the host's clock."""
_TER, _TPR, _TCR, _LAR, _LSR = 0xE00, 0xE40, 0xE80, 0xFB0, 0xFB4
_UNLOCK = 0xC5ACCE55
_ITMENA, _BUSY = 1, 1 << 23
_CYCCNT, _PCSR = 0x004, 0x01C
_CYCCNTENA, _POSTCNT_IN_USE = 1, 1 << 12 | 1 << 22
_POSTCNT = 0x1FE
"""POSTINIT and POSTPRESET: what is written to them while PCSAMPLENA or CYCEVTENA is set is lost."""
_CTRL_TAKES = 0x007F1FFF
_NOCYCCNT, _NOPRFCNT = 1 << 25, 1 << 24
_PROFILING = {
    "cpi": (0x008, 17),
    "exc": (0x00C, 18),
    "sleep": (0x010, 19),
    "lsu": (0x014, 20),
    "fold": (0x018, 21),
}
"""DWT's counters of 8 bits: offset, and the bit of CTRL that enables it, which sets it to 0."""
_ACPR, _SPPR, _FFSR, _FFCR, _DEVID = 0x010, 0x0F0, 0x300, 0x304, 0xFC8

_READ_ONLY: Dict[int, Dict[int, int]] = {
    ITM: {},
    DWT: {},
    TPIU: {0x000: 0x0000000B, _FFSR: 8, 0xFA0: 0xF, _DEVID: 0xCA1, 0xFCC: 0x11},
}
_TAKES: Dict[int, Dict[int, int]] = {
    ITM: {_TER: 0xFFFFFFFF, _TPR: 0xF, _TCR: 0x007F0F1F},
    DWT: {0x000: _CTRL_TAKES, **{0x008 + 4 * n: 0xFF for n in range(5)}},
    TPIU: {0x004: 0xFFFFFFFF, _ACPR: 0x1FFF, _SPPR: 3, _FFCR: 2},
}
"""By unit and register the bits that keep what is written."""
for _comparator in range(0x020, 0x060, 0x10):
    _TAKES[DWT].update({_comparator: 0xFFFFFFFF, _comparator + 4: 0x1F, _comparator + 8: 0x000FFFBF})
_AT_RESET = {(DWT, 0x000): 0x40000000, (TPIU, 0x004): 1, (TPIU, _SPPR): 1, (TPIU, _FFCR): 0x102}
_FIXED = {(DWT, 0x000): 0x40000000, (TPIU, _FFCR): 0x100}
"""Four comparators and nothing left out; triggers are always put in."""


@dataclasses.dataclass(frozen=True)
class Counts:
    """What DWT counts, the same each time and nothing while the core is halted: `cycles` from each resumption
    to the next halt, one for a step; `profiled`: events in that time by name: cpi, exc, sleep, lsu, fold.
    `absent`: NOCYCCNT and NOPRFCNT as in CTRL. `cyccnt_reads`: what CYCCNT reads, where it is stuck."""

    cycles: int = 1000
    profiled: Mapping[str, int] = dataclasses.field(default_factory=dict)
    absent: int = 0
    cyccnt_reads: Optional[int] = None


def identification(part: int, designer_and_class: Tuple[int, int] = (0xE0, 0xB)) -> Dict[int, int]:
    """PID and CID registers by their offset. `part`: Arm's number of it, as the TRM has it."""
    component, revision = designer_and_class
    peripheral = (part & 0xFF, 0xB0 | part >> 8, revision, 0)
    ids = {0xFD0: 4, **{0xFE0 + 4 * n: value for n, value in enumerate(peripheral)}}
    ids.update({0xFF0 + 4 * n: value for n, value in enumerate((0x0D, component, 0x05, 0xB1))})
    return ids


_READ_ONLY[ITM].update(identification(0x001, (0xE0, 0x3B)))
_READ_ONLY[DWT].update(identification(0x002, (0xE0, 0x3B)))
_READ_ONLY[TPIU].update(identification(0x9A1, (0x90, 0x0B)))


class TraceUnits:
    """`stuck`: by address the bits that do not take, which then stay as they are. `tpiu`: where this part
    has its TPIU. `busy_reads`: how often ITM_TCR reads as busy once the ITM is switched off.
    `counts`: what DWT counts; without, CYCCNT alone, by the host's clock."""

    def __init__(
        self,
        pcsr: Callable[[], int],
        tpiu: int,
        stuck: Mapping[int, int],
        busy_reads: int = 3,
        counts: Optional[Counts] = None,
    ) -> None:
        self._pcsr = pcsr
        self._bases = {ITM: ITM, DWT: DWT, tpiu: TPIU}
        self._stuck = stuck
        self._busy_reads = busy_reads
        self._counts = counts
        self.stimulus: List[Tuple[int, int]] = []
        self.reset()

    def reset(self) -> None:
        self._words = dict(_AT_RESET)
        if self._counts is not None:
            self._words[DWT, 0] |= self._counts.absent
        self._locked, self._busy = True, 0
        self._cycles, self._since = 0, 0.0

    def has(self, address: int) -> bool:
        return address & ~0xFFF in self._bases

    def peek(self, address: int) -> int:
        """What a register holds, nothing changed by looking."""
        unit, offset = self._unit(address)
        if (unit, offset) == (DWT, _CYCCNT):
            return self._count()
        if (unit, offset) == (ITM, _LSR):
            return 3 if self._locked else 1
        if unit == ITM and offset < 0x80:  # a stimulus port has room where it is on
            on = self._words.get((ITM, _TCR), 0) & _ITMENA
            return int(bool(on and self._words.get((ITM, _TER), 0) >> offset // 4 & 1))
        return _READ_ONLY[unit].get(offset, self._words.get((unit, offset), 0))

    def read(self, address: int) -> int:
        unit, offset = self._unit(address)
        if (unit, offset) == (DWT, _PCSR):
            return self._pcsr()
        value = self.peek(address)
        if (unit, offset) == (ITM, _TCR) and self._busy:
            self._busy -= 1
            value |= _BUSY
        return value

    def write(self, address: int, value: int) -> None:
        unit, offset = self._unit(address)
        if unit == ITM and self._itm(offset, value):
            return
        if (unit, offset) == (DWT, _CYCCNT):
            self._cycles, self._since = value, time.monotonic()
            return
        takes = _TAKES[unit].get(offset)
        if takes is None:
            return
        before = self.peek(address)
        takes &= ~self._stuck.get(address, 0)
        if (unit, offset) == (DWT, 0):
            takes &= ~self._absent()
            for counter, bit in _PROFILING.values() if self._counts is not None else ():
                if value & takes & ~before & 1 << bit:
                    self._words[DWT, counter] = 0
            if before & _POSTCNT_IN_USE:
                takes &= ~_POSTCNT
            self._cycles, self._since = self._count(), time.monotonic()
        self._words[unit, offset] = before & ~takes | value & takes | self._fixed(unit, offset)

    def _fixed(self, unit: int, offset: int) -> int:
        return _FIXED.get((unit, offset), 0)

    def _absent(self) -> int:
        """Enable bits of counters that this part has not."""
        absent = self._counts.absent if self._counts is not None else 0
        enables = sum(1 << bit for _, bit in _PROFILING.values())
        return (_CYCCNTENA if absent & _NOCYCCNT else 0) | (enables if absent & _NOPRFCNT else 0)

    def ran(self, stepped: bool = False) -> None:
        """The program has run, from one halt to the next, with the units on."""
        if self._counts is None:
            return
        control = self._words[DWT, 0]
        if control & _CYCCNTENA:
            self._cycles = self._cycles + (1 if stepped else self._counts.cycles) & 0xFFFFFFFF
        for name, n in self._counts.profiled.items() if not stepped else ():
            counter, bit = _PROFILING[name]
            if control >> bit & 1:
                self._words[DWT, counter] = self._words.get((DWT, counter), 0) + n & 0xFF

    def _itm(self, offset: int, value: int) -> bool:
        """True where nothing is left to be written."""
        if offset == _LAR:
            self._locked = value != _UNLOCK
            return True
        if offset < 0x80:
            if self.peek(ITM + offset):
                self.stimulus.append((offset // 4, value))
            return True
        if self._locked:
            return True
        if offset == _TCR and self._words.get((ITM, _TCR), 0) & _ITMENA and not value & _ITMENA:
            self._busy = self._busy_reads
        return False

    def _count(self) -> int:
        if self._counts is not None:
            return self._cycles if self._counts.cyccnt_reads is None else self._counts.cyccnt_reads
        running = self._words.get((DWT, 0), 0) & _CYCCNTENA
        passed = (time.monotonic() - self._since) * CORE_HZ if running else 0
        return int(self._cycles + passed) & 0xFFFFFFFF

    def _unit(self, address: int) -> Tuple[int, int]:
        unit: Optional[int] = self._bases.get(address & ~0xFFF)
        assert unit is not None, hex(address)
        return unit, address & 0xFFF
