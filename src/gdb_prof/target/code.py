"""The program's instructions, by GDB's own disassembler (see profile.program.code.Code)."""

from __future__ import annotations

import struct
from typing import Dict, List, Sequence, Tuple

import gdb

from gdb_prof.profile.program.code import Instruction, calls_to
from gdb_prof.profile.program.functions import Function
from gdb_prof.target.images import Program
from gdb_prof.target.running import settings

_WFI, _WFE = b"\x30\xbf", b"\x20\xbf"
_LARGEST = 0x10000
"""Bytes of a function; a larger one is data or damage."""


class DisassembledCode:
    """Answers for one program, each function disassembled once.

    Code in read-only sections is read from the ELF, not from the target: it is what names
    and lines are of, and a slow probe is left alone.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._functions: Dict[int, Tuple[Instruction, ...]] = {}
        self._waits: Dict[int, bool] = {}

    def function(self, address: int) -> Sequence[Instruction]:
        found = self.program.functions.at(address)
        if found is None or not found.symbol:
            return ()
        if found.address not in self._functions:
            self._functions[found.address] = tuple(self._disassembled(found))
        return self._functions[found.address]

    def waits(self, address: int) -> bool:
        found = self.program.functions.at(address)
        if found is None or not found.symbol:
            return False
        if found.address not in self._waits:
            content = _read(found.address, _size(found))
            self._waits[found.address] = _WFI in content or _WFE in content or b"\xaf\xf3" in content
        return self._waits[found.address]

    def callers(self, address: int) -> Sequence[int]:
        sites: List[int] = []
        for image, offsets in self.program.images:
            for index, section in image.sections.items():
                if section.executable:
                    base = section.address + offsets.get(index, 0)
                    sites += calls_to(image.content(index), base, address)
        own = self.program.functions.at(address)
        return [site for site in sites if self.program.functions.at(site) != own]

    def _disassembled(self, function: Function) -> List[Instruction]:
        instructions: List[Instruction] = []
        functions = self.program.functions
        architecture = gdb.selected_inferior().architecture()
        for start, end in functions.code_within(function.address, function.address + _size(function)):
            with settings(("trust-readonly-sections", "on")):
                try:
                    lines = architecture.disassemble(start, end - 1)
                except gdb.error:
                    continue
            instructions += [
                Instruction(line["addr"], line["length"], line["asm"], _literal(line["asm"], line["addr"]))
                for line in lines
            ]
        return instructions


def _size(function: Function) -> int:
    return min(function.end - function.address, _LARGEST)


def _literal(text: str, address: int) -> "int | None":
    """The word that an ldr relative to the PC loads."""
    mnemonic, _, operands = text.partition("\t")
    _, separator, offset = operands.partition("[pc, #")
    if not separator or not mnemonic.startswith("ldr"):
        return None
    try:
        place = (address + 4 & ~3) + int(offset.split("]")[0], 0)
    except ValueError:
        return None
    content = _read(place, 4)
    return int(struct.unpack("<I", content)[0]) if len(content) == 4 else None


def _read(address: int, size: int) -> bytes:
    """From the ELF where it has it read-only, else from the target; empty where neither has it."""
    with settings(("trust-readonly-sections", "on")):
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except gdb.error:
            return b""
