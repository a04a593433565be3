"""Instructions as a test lists them: `08000002 bl 0x8000018 <rest>`, an address and a text a line."""

from __future__ import annotations

from typing import List, Sequence

from gdb_prof.profile.program.code import Instruction
from gdb_prof.profile.program.functions import FunctionMap

_LONG = ("bl", "blx", "msr", "mrs", "movw", "movt", "isb", "dsb", "dmb", "ldrd", "stmdb")


class ListedCode:
    """See gdb_prof.profile.program.code.Code."""

    def __init__(self, functions: FunctionMap, listing: str) -> None:
        self._functions = functions
        self._all: List[Instruction] = []
        for line in filter(None, map(str.strip, listing.splitlines())):
            address, _, text = line.partition(" ")
            mnemonic, _, operands = text.partition(" ")
            long = mnemonic.endswith(".w") or (mnemonic in _LONG and not operands.startswith("r"))
            size = 4 if long or mnemonic in ("mrs", "movw", "movt", "ldrd") else 2
            self._all.append(Instruction(int(address, 16), size, "\t".join((mnemonic, operands)).strip()))

    def function(self, address: int) -> Sequence[Instruction]:
        found = self._functions.at(address)
        return [i for i in self._all if found is not None and found.address <= i.address < found.end]

    def waits(self, address: int) -> bool:
        return any(instruction.waits for instruction in self.function(address))

    def callers(self, address: int) -> Sequence[int]:
        return [i.address for i in self._all if i.target == address]
