"""The program's instructions, by GDB's own disassembler (see profile.program.code.Code)."""

from __future__ import annotations

import contextlib
import struct
from typing import Any, ContextManager, Dict, List, Optional, Sequence, Tuple

import gdb

from gdb_prof.profile.program.code import Instruction, calls
from gdb_prof.profile.program.functions import Function
from gdb_prof.profile.program.image import content_at, is_read_only
from gdb_prof.target.images import Program
from gdb_prof.target.running import settings

_WFI, _WFE = b"\x30\xbf", b"\x20\xbf"
_LARGEST = 0x10000
"""Bytes of a function; a larger one is data or damage."""
_TRUST = "trust-readonly-sections"


class DisassembledCode:
    """Answers for one program, each function disassembled once.

    Code is read from the ELF where it can be, not from the target: it is what names
    and lines are of, and a slow probe is left alone.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._functions: Dict[int, Tuple[Instruction, ...]] = {}
        self._waits: Dict[int, bool] = {}
        self._calls: Optional[Dict[int, List[int]]] = None

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
            content = self._read(found.address, _size(found))
            self._waits[found.address] = _WFI in content or _WFE in content or b"\xaf\xf3" in content
        return self._waits[found.address]

    def callers(self, address: int) -> Sequence[int]:
        if self._calls is None:
            self._calls = self._all_calls()
        own = self.program.functions.at(address)
        return [s for s in self._calls.get(address, ()) if self.program.functions.at(s) != own]

    def _all_calls(self) -> Dict[int, List[int]]:
        found: Dict[int, List[int]] = {}
        for image, offsets in self.program.images:
            for index, section in image.sections.items():
                if section.executable:
                    for site, target in calls(image.content(index), section.address + offsets.get(index, 0)):
                        found.setdefault(target, []).append(site)
        return found

    def _disassembled(self, function: Function) -> List[Instruction]:
        instructions: List[Instruction] = []
        end = function.address + _size(function)
        with self._from_file(function.address):
            for first, last in self.program.functions.code_within(function.address, end):
                with contextlib.suppress(gdb.error):
                    instructions += [
                        Instruction(line["addr"], line["length"], line["asm"], self._literal(line))
                        for line in _architecture().disassemble(first, last - 1)
                    ]
        return instructions

    def _from_file(self, address: int) -> ContextManager[None]:
        """GDB reads from the ELF, what is not written. A front end is told of each change of a setting:
        there is none without a target, or where the setting is so already."""
        if (
            not gdb.selected_inferior().pid
            or gdb.parameter(_TRUST)
            or not is_read_only(self.program.images, address)
        ):
            return contextlib.nullcontext()
        return settings((_TRUST, "on"))

    def _literal(self, line: Dict[str, Any]) -> Optional[int]:
        """The word that an ldr relative to the PC loads."""
        mnemonic, _, operands = line["asm"].partition("\t")
        _, separator, offset = operands.partition("[pc, #")
        if not separator or not mnemonic.startswith("ldr"):
            return None
        try:
            place = (line["addr"] + 4 & ~3) + int(offset.split("]")[0], 0)
        except ValueError:
            return None
        content = self._read(place, 4)
        return int(struct.unpack("<I", content)[0]) if len(content) == 4 else None

    def _read(self, address: int, size: int) -> bytes:
        """From the ELF where it has it, else from the target; empty where neither has it."""
        content = content_at(self.program.images, address, size)
        if not content:
            with contextlib.suppress(gdb.error):
                content = bytes(gdb.selected_inferior().read_memory(address, size))
        return content


def _size(function: Function) -> int:
    return min(function.end - function.address, _LARGEST)


def _architecture() -> Any:
    """Raises gdb.error where an old GDB, without a target, does not tell."""
    inferior = gdb.selected_inferior()
    if hasattr(inferior, "architecture"):
        return inferior.architecture()
    return gdb.newest_frame().architecture()
