"""A simulated Cortex-M4 as a debugger sees it: memory, debug registers, breakpoints, trace units.

Registers and bits: Armv7-M ARM (DDI 0403), C1.6 (halting debug), C1.11 (FPB); CPUID, FPB and ROM table:
Cortex-M4 TRM (100166). The program in it is cortex_m4_program's: nothing is executed.
"""

from __future__ import annotations

import dataclasses
import struct
import time
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple

from cortex_m4_program import RAM, RAM_SIZE, Program, Sampler
from cortex_m4_trace import TPIU, Counts, TraceUnits, identification
from debug_port import BusError

_FPB, _SCS, _ROM = 0xE0002000, 0xE000E000, 0xE00FF000
_ICSR, _AIRCR = 0xE000ED04, 0xE000ED0C
_DFSR, _DHCSR, _DCRSR, _DCRDR, _DEMCR = 0xE000ED30, 0xE000EDF0, 0xE000EDF4, 0xE000EDF8, 0xE000EDFC
_KEY, _RESET_KEY = 0xA05F, 0x05FA
_DEBUGEN, _HALT, _STEP = 1, 2, 4
_REGRDY, _S_HALT, _S_SLEEP, _RETIRED, _WAS_RESET = 1 << 16, 1 << 17, 1 << 18, 1 << 24, 1 << 25
_TRCENA, _VC_CORERESET = 1 << 24, 1
_HALTED, _BKPT, _VCATCH = 1, 2, 8
_SP, _LR, _PC, _XPSR, _MSP, _PSP = 13, 14, 15, 16, 17, 18
_THUMB, _EXC_RETURN, _SYSTICK = 1 << 24, 0xFFFFFFF9, 15
_FRAME = 32
"""Bytes that the core stacks when an exception begins: r0-r3, r12, lr, pc, xPSR."""
_STACKED = 64
"""What lies on the stack below the loops, all zero: there a debugger finds no more callers."""
_WRITES_REGISTER = 1 << 16
_COMPARATORS = 6

_READ_ONLY = {
    0xE000E004: 2,  # ICTR
    0xE000ED00: 0x410FC241,  # CPUID
    _AIRCR: 0xFA050000,
    0xE000EF40: 0x10110021,  # MVFR0, MVFR1: single precision
    0xE000EF44: 0x11000011,
    **{_SCS + offset: value for offset, value in identification(0x00C).items()},
    **{_FPB + offset: value for offset, value in identification(0x003).items()},
    **{_ROM + offset: value for offset, value in identification(0x4C4, (0x10, 0xB)).items()},
    # what is where, from the table's own address; bit 0: it is there
    **{_ROM + 4 * n: e for n, e in enumerate((0xFFF0F003, 0xFFF02003, 0xFFF03003, 0xFFF01003, 0xFFF41003))},
    _ROM + 0xFCC: 1,
    0xE0042000: 0x10076413,  # DBGMCU_IDCODE and the flash's size in KiB: an STM32F405 (RM0090, 38.6.1, 39.2)
    0x1FFF7A20: 0x0400FFFF,
}
_HOLDS = ((0x40000000, 0x60000000), (0xE000E010, 0xE000EF00), (0xE0042004, 0xE0043000))
"""Peripherals, and those of the core that are no more here than words that keep what is written."""


@dataclasses.dataclass(frozen=True)
class Quirks:
    """What other parts do. `trace`: False for none of the trace hardware, DEMCR.TRCENA included. `pcsr`:
    False where DWT_PCSR reads 0. `tpiu`: the trace port's address. `stuck`: by address the bits
    of a trace register that do not take. `asleep`: the part of the time in which the core sleeps.
    `lap_s`: how long the program runs until it meets a breakpoint in its loops. `counts`: what DWT counts."""

    trace: bool = True
    pcsr: bool = True
    tpiu: int = TPIU
    stuck: Mapping[int, int] = dataclasses.field(default_factory=dict)
    asleep: float = 0.0
    lap_s: float = 12e-6
    counts: Optional[Counts] = None


class CortexM4:
    """A Bus for a debug port. `shares`: the part of the time by function of the ELF, together 1.

    `writes` has each write to the bus, (address, value), in order; `registers` the core's by their number in
    DCRSR; `word` what is at an address, nothing changed by looking; `polled` how often DWT_PCSR was read.
    """

    def __init__(
        self, elf: Path, shares: Mapping[str, float], quirks: Optional[Quirks] = None, seed: int = 1
    ) -> None:
        self.quirks = quirks or Quirks()
        self.program = Program(elf, shares, self.quirks.asleep, seed)
        self.writes: List[Tuple[int, int]] = []
        self.polled = 0
        self.registers: Dict[int, int] = {}
        self._words: Dict[int, int] = {}
        self._sampler = Sampler(self.program, self._words)
        self.trace = TraceUnits(self._pcsr, self.quirks.tpiu, self.quirks.stuck, counts=self.quirks.counts)
        self._control, self._monitor, self._data, self._reasons = 0, 0, 0, 0
        self._comparators, self._patching = [0] * _COMPARATORS, False
        self._interrupted: Optional[Dict[int, int]] = None
        self._meets: Optional[Tuple[float, int]] = None
        self.halted = False
        self._reset()

    # -- the bus -------------------------------------------------------------------

    def read(self, address: int, size: int) -> int:
        self._advance()
        memory = self.program.memory.part(address)
        if memory is not None:
            content, offset = memory
            return int.from_bytes(content[offset : offset + size], "little")
        value = self._register(address & ~3)
        return value >> 8 * (address & 3) & (1 << 8 * size) - 1

    def write(self, address: int, value: int, size: int) -> None:
        self._advance()
        self.writes.append((address, value))
        if RAM <= address < RAM + RAM_SIZE:
            offset = address - RAM
            self.program.memory.ram[offset : offset + size] = value.to_bytes(size, "little")
        elif self.program.memory.part(address) is None:  # flash takes no writes
            if size < 4:
                shift = 8 * (address & 3)
                mask = (1 << 8 * size) - 1 << shift
                value = self.word(address & ~3) & ~mask | value << shift
            self._set_register(address & ~3, value)

    def word(self, address: int) -> int:
        if self.trace.has(address):
            return self.trace.peek(address)
        if self.program.memory.part(address) is not None:
            return self.program.memory.word(address)
        known = {_DEMCR: self._monitor, _DHCSR: self._control & 0xF | (_S_HALT if self.halted else 0)}
        known.update({_DCRDR: self._data, _DFSR: self._reasons})
        return known.get(address, _READ_ONLY.get(address, self._words.get(address, 0)))

    def _register(self, address: int) -> int:
        if self.trace.has(address):
            return self.trace.read(address) if self._monitor & _TRCENA else 0
        if address == _DHCSR:
            status = self._control & 0xF | _REGRDY | self._was_reset
            status |= _S_HALT if self.halted else _RETIRED
            if not self.halted and self.program.sleeps():
                status |= _S_SLEEP
            self._was_reset = 0
            return status
        if address & ~0xFFF == _FPB and address & 0xFFF < 0x28:
            return self._patch(address - _FPB)
        if address in _READ_ONLY or address in (_DEMCR, _DCRDR, _DFSR) or self._holds(address):
            return self.word(address)
        if 0xE0000000 <= address <= 0xE00FFFFF:
            return 0
        raise BusError

    @staticmethod
    def _holds(address: int) -> bool:
        return any(start <= address < end for start, end in _HOLDS)

    def _set_register(self, address: int, value: int) -> None:
        if self.trace.has(address):
            if self._monitor & _TRCENA:
                self.trace.write(address, value)
        elif address == _DHCSR:
            if value >> 16 == _KEY:
                self._run_control(value & 0xF)
        elif address == _DCRSR:
            self._transfer(value & 0x7F, bool(value & _WRITES_REGISTER))
        elif address == _DCRDR:
            self._data = value
        elif address == _DEMCR:
            self._monitor = value & (0x010F07F1 if self.quirks.trace else 0x000F07F1)
        elif address == _DFSR:
            self._reasons &= ~value
        elif address == _AIRCR:
            if value >> 16 == _RESET_KEY and value & 4:
                self._reset()
        elif address & ~0xFFF == _FPB and address & 0xFFF < 0x28:
            self._set_patch(address - _FPB, value)
        elif self._holds(address):
            self._words[address] = value
        elif not 0xE0000000 <= address <= 0xE00FFFFF:
            raise BusError

    def _pcsr(self) -> int:
        self.polled += 1
        if not self.quirks.pcsr:
            return 0
        return 0xFFFFFFFF if self.halted or self.program.sleeps() else self.program.pc()

    # -- halting, stepping, resuming -----------------------------------------------

    def _run_control(self, control: int) -> None:
        self._control = control
        if not control & _DEBUGEN:
            self._resume()
        elif control & _HALT:
            self._halt(_HALTED)
        elif self.halted and control & _STEP:
            self._step()
        else:
            self._resume()

    def _halt(self, why: int, pc: Optional[int] = None, ran: bool = True) -> None:
        """At `pc`, or wherever the program is now. `ran`: False where nothing was executed since it was
        resumed."""
        if not self.halted:
            self._arrive(self.program.pc() if pc is None else pc)
            self._sampler.halt()
            if ran:
                self._ran()
            self.halted = True
            self._control |= _HALT  # which the core sets, whatever halts it
            self._reasons |= why

    def _arrive(self, pc: int) -> None:
        """The program is at `pc` now, in the loops or where it was called to."""
        if self.program.in_loops(pc):
            stack = self.program.memory.word(0) - _STACKED
            self.registers.update({_LR: self.program.caller(pc), _SP: stack, _MSP: stack})
        self.registers[_PC] = pc

    def _step(self) -> None:
        self._reasons |= _HALTED
        self._control |= _HALT
        self._ran(stepped=True)
        if not self._go_on():
            self.registers[_PC] = self.program.next(self.registers[_PC])

    def _ran(self, stepped: bool = False) -> None:
        if self._monitor & _TRCENA:
            self.trace.ran(stepped)

    def _resume(self) -> None:
        if not self.halted:
            return
        self.halted = False
        stops = self._breakpoints()
        while self.registers[_PC] not in stops:
            if not self._go_on():
                self._sampler.resume()
                self._watch()
                return
        self._halt(_BKPT, self.registers[_PC], ran=False)

    def _go_on(self) -> bool:
        """From a place outside the loops to the next: true if that could be told."""
        registers, program = self.registers, self.program
        pc = registers[_PC]
        if self._interrupted is not None:
            registers.update(self._interrupted)
            self._interrupted = None
            return True
        if pc == program.address("prof_start"):
            self._sampler.start(registers[0], registers[1])
        elif pc == program.address("prof_stop"):
            self._sampler.stop()
        elif pc == program.address("Reset_Handler"):
            program.memory.start_up()
            registers[_LR] = 0xFFFFFFFF
            registers[_PC] = program.address("main") or program.pc()
            return True
        else:
            return False
        registers[_PC] = registers[_LR] & ~1
        return True

    def _watch(self) -> None:
        """Which breakpoint the loops meet, and when."""
        address = self.program.first_met(self.registers[_PC], self._breakpoints())
        self._meets = (time.monotonic() + self.quirks.lap_s, address) if address is not None else None

    def _advance(self) -> None:
        """What has happened since the debugger looked last."""
        if self.halted:
            return
        if self._sampler.advance():
            self._done()
        elif self._meets is not None and time.monotonic() >= self._meets[0]:
            self._halt(_BKPT, self._meets[1])

    def _done(self) -> None:
        """The limit is met: in the sampler's interrupt at `prof_done`, if there is a breakpoint."""
        done = self.program.address("prof_done")
        if done not in self._breakpoints():
            return
        self._arrive(self.program.pc())
        registers = self._interrupted = dict(self.registers)
        stack = registers[_SP] - _FRAME
        words = (*(registers[n] for n in (0, 1, 2, 3, 12, _LR, _PC)), registers[_XPSR])
        struct.pack_into("<8I", self.program.memory.ram, stack - RAM, *words)
        changed = {_SP: stack, _MSP: stack, _LR: _EXC_RETURN, _XPSR: _THUMB | _SYSTICK}
        self.registers.update(changed)
        self._halt(_BKPT, done)

    def _reset(self) -> None:
        vectors = self.program.memory
        self.registers.update({number: 0 for number in range(128)})
        self.registers.update({_SP: vectors.word(0), _MSP: vectors.word(0), _LR: 0xFFFFFFFF, _XPSR: _THUMB})
        self.registers[_PC] = vectors.word(4) & ~1
        self._was_reset = _WAS_RESET
        self._interrupted = self._meets = None
        self._words.clear()
        self._sampler.halt()
        self.trace.reset()
        if self._control & _DEBUGEN and self._monitor & _VC_CORERESET:
            self.halted = True
            self._control |= _HALT
            self._reasons |= _VCATCH
        else:
            self.halted = True  # for an instant
            self._resume()

    # -- registers and breakpoints -------------------------------------------------

    def _transfer(self, number: int, writes: bool) -> None:
        if not writes:
            self._data = self.registers.get(number, 0)
            return
        self.registers[number] = self._data & ~1 if number == _PC else self._data
        if number in (_SP, _MSP):  # one and the same: the process stack is not in use
            self.registers[_SP] = self.registers[_MSP] = self._data & ~3

    def _patch(self, offset: int) -> int:
        if offset == 0:
            return _COMPARATORS << 4 | 2 << 8 | self._patching
        return self._comparators[(offset - 8) // 4] if 8 <= offset < 8 + 4 * _COMPARATORS else 0

    def _set_patch(self, offset: int, value: int) -> None:
        if offset == 0 and value & 2:
            self._patching = bool(value & 1)
        elif 8 <= offset < 8 + 4 * _COMPARATORS:
            self._comparators[(offset - 8) // 4] = value & 0xDFFFFFFD
        if not self.halted:
            self._watch()

    def _breakpoints(self) -> List[int]:
        """Addresses: REPLACE 1 the lower halfword of the word, 2 the upper, 3 both."""
        found = []
        for value in self._comparators if self._patching else ():
            if value & 1:
                found += [value & 0x1FFFFFFC | upper << 1 for upper in (0, 1) if value >> 30 & 1 << upper]
        return found
