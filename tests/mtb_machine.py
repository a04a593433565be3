"""A Cortex-M0+ with a Micro Trace Buffer, for DeviceServer: it goes the way that QEMU recorded, and writes
the packets of it while tracing is on. Registers and memory are all that a debugger sees of it."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Dict, List, Sequence, Set

from elftools.elf.elffile import ELFFile

from mtb_stream import EXECUTED, Packet, Sizes, Step, packets_of
from remote_server import Fault

MTB = 0xF0000000
POSITION, MASTER, FLOW, BASE = 0x0, 0x4, 0x8, 0xC
ENABLE, WRAP = 1 << 31, 4
RAM_END = 0x20004000
_SCS, _SCS_END = 0xE000E000, 0xE000F000
_SP, _PC, _XPSR = 13, 15, 16


@dataclasses.dataclass(frozen=True)
class Quirks:
    """`ram`: where RAM begins, which BASE reads unless `has_base` is false. `reach`: what POSITION can
    address. `stuck`: bits of MASTER that do not take. `drops`: every write to the MTB is lost. `present`: else
    its addresses fault."""

    ram: int = 0x20000000
    reach: int = 0x4000
    has_base: bool = True
    stuck: int = 0
    drops: bool = False
    present: bool = True
    found: Sequence[int] = (0, 0, 0)
    """POSITION, MASTER and FLOW as a debugger finds them."""


class MtbMachine:
    """See remote_server.Machine. `way` begins with an instruction."""

    def __init__(self, program: Path, way: Sequence[Step], quirks: Quirks = Quirks()) -> None:
        self.quirks = quirks
        self.way = way
        self.writes: List["tuple[int, int]"] = []
        """To the MTB's registers: offset and value."""
        sizes = Sizes(program)
        self._packets: Dict[int, List[Packet]] = {}
        for step, packet in packets_of(way, sizes):
            self._packets.setdefault(step, []).append(packet)
        self.mtb = dict(zip((POSITION, MASTER, FLOW), quirks.found))
        self.ram = bytearray(RAM_END - quirks.ram)
        with open(program, "rb") as file:
            self._flash = [
                (segment["p_paddr"], segment.data())
                for segment in ELFFile(file).iter_segments()
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]
            ]
        self._begins = True
        self.step = 0
        self.registers = [0] * 17
        self.registers[_SP], self.registers[_PC], self.registers[_XPSR] = (
            RAM_END - 64,
            way[0].address,
            1 << 24,
        )

    # -- the program -------------------------------------------------------------------

    def run(self, breakpoints: Set[int], only_one: bool) -> bool:
        for _ in range(1 if only_one else 4096):
            if not self._advance():
                return True  # the recording ends here
            if self.registers[_PC] in breakpoints:
                return True
        return False

    def _advance(self) -> bool:
        """On to the next instruction, which is not executed yet."""
        while self.step + 1 < len(self.way):
            self.step += 1
            for packet in self._packets.get(self.step, ()):
                self._trace(packet)
            if self.way[self.step].kind == EXECUTED:
                self.registers[_PC] = self.way[self.step].address
                return True
        return False

    def _trace(self, packet: Packet) -> None:
        if not self.mtb[MASTER] & ENABLE:
            return
        position = self.mtb[POSITION]
        pointer, size = position & ~7, 1 << (self.mtb[MASTER] & 0x1F) + 4
        self._store(pointer, packet._replace(s=self._begins).words)
        self._begins = False
        following = pointer & ~(size - 1) | (pointer + 8) % size
        self.mtb[POSITION] = following | position & WRAP | (WRAP if not following % size else 0)

    def _store(self, pointer: int, words: bytes) -> None:
        at = (pointer - self.quirks.ram) % self.quirks.reach
        assert at + 8 <= len(self.ram), "traced to where there is no RAM: %#x" % pointer
        self.ram[at : at + 8] = words

    # -- memory ------------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        if MTB <= address < MTB + 0x1000 and self.quirks.present:
            self._demand_words(address, size)
            return b"".join(
                struct.pack("<I", self._register(at)) for at in range(address - MTB, address - MTB + size, 4)
            )
        if _SCS <= address < _SCS_END:
            return bytes(size)  # VTOR is 0, ICTR is not there
        place, content = self._memory(address, size)
        return bytes(content[place : place + size])

    def write(self, address: int, content: bytes) -> None:
        if MTB <= address < MTB + 0x1000 and self.quirks.present:
            self._demand_words(address, len(content))
            for n, (value,) in enumerate(struct.iter_unpack("<I", content)):
                self._set_register(address - MTB + 4 * n, value)
            return
        place, memory = self._memory(address, len(content))
        if not isinstance(memory, bytearray):
            raise Fault
        memory[place : place + len(content)] = content

    @staticmethod
    def _demand_words(address: int, size: int) -> None:
        if address % 4 or size % 4:
            raise Fault

    def _memory(self, address: int, size: int) -> "tuple[int, bytes | bytearray]":
        if self.quirks.ram <= address and address + size <= RAM_END:
            return address - self.quirks.ram, self.ram
        for start, content in self._flash:
            if start <= address and address + size <= start + len(content):
                return address - start, content
        raise Fault

    def _register(self, offset: int) -> int:
        if offset == BASE:
            return self.quirks.ram if self.quirks.has_base and not self.quirks.drops else 0
        return self.mtb.get(offset, 0)

    def _set_register(self, offset: int, value: int) -> None:
        self.writes.append((offset, value))
        if self.quirks.drops or offset not in self.mtb:
            return
        if offset == POSITION:
            value &= self.quirks.reach - 4
        elif offset == MASTER:
            value &= 0x800003FF & ~self.quirks.stuck
            self._begins = self._begins or bool(value & ENABLE and not self.mtb[MASTER] & ENABLE)
        self.mtb[offset] = value
