"""Instructions, as the debugger's disassembler words them, and what they do to interrupts."""

from __future__ import annotations

import dataclasses
import re
import struct
from typing import List, NamedTuple, Optional, Protocol, Sequence

from gdb_prof.profile.places import Lines
from gdb_prof.profile.program.functions import FunctionMap

_TARGET = re.compile(r"(?:0x)?([0-9a-f]+)$")
_CONDITION = "(?:eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)"
_IN_IT_BLOCK = re.compile(r"(bx|blx|bl|msr|wfi|wfe|svc)%s" % _CONDITION)
_MASK_REGISTERS = ("primask", "faultmask", "basepri", "basepri_max")


class Instruction(NamedTuple):
    """`text` as GDB has it: the mnemonic, a tab, the operands, a comment after `@` or `;`."""

    address: int
    size: int
    text: str
    literal: Optional[int] = None
    """The word that an ``ldr`` relative to the PC loads."""

    @property
    def mnemonic(self) -> str:
        """In lower case, without `.n`, `.w` and an IT block's condition."""
        words = self.text.split(None, 1)
        name = re.sub(r"\.[nw]$", "", words[0].lower()) if words else ""
        conditional = _IN_IT_BLOCK.fullmatch(name)
        return conditional.group(1) if conditional else name

    @property
    def operands(self) -> str:
        words = re.split(r"\s+[@;]", self.text, maxsplit=1)[0].split(None, 1)
        return words[1].strip() if len(words) > 1 else ""

    @property
    def masks(self) -> bool:
        """Keeps interrupts away, or may: an `msr` sets what its register holds."""
        return self.mnemonic == "cpsid" or self._writes_mask

    @property
    def unmasks(self) -> bool:
        """Lets interrupts come, or may."""
        return self.mnemonic == "cpsie" or self._writes_mask

    @property
    def _writes_mask(self) -> bool:
        return self.mnemonic == "msr" and self.operands.split(",")[0].strip().lower() in _MASK_REGISTERS

    @property
    def waits(self) -> bool:
        """Sleeps until an interrupt or an event."""
        return self.mnemonic in ("wfi", "wfe")

    @property
    def is_barrier(self) -> bool:
        return self.mnemonic in ("isb", "dsb", "dmb", "nop")

    @property
    def stores(self) -> bool:
        return self.mnemonic.startswith(("str", "stm", "push", "vstr", "vstm", "vpush"))

    @property
    def is_call(self) -> bool:
        return self.mnemonic in ("bl", "blx")

    @property
    def branches(self) -> bool:
        """May go on elsewhere than at the next instruction; a call, too."""
        mnemonic = self.mnemonic
        if mnemonic in ("bl", "blx", "bx", "cbz", "cbnz", "tbb", "tbh", "bxns", "blxns"):
            return True
        if re.fullmatch("b%s?" % _CONDITION, mnemonic):
            return True
        return mnemonic.startswith(("pop", "ldm", "ldr", "mov", "add")) and self._writes_pc

    @property
    def leaves(self) -> bool:
        """Never goes on at the next instruction."""
        if self.mnemonic == "b":
            return True
        in_it_block = re.match(r"(pop|ldm\w*|bx|b)%s\b" % _CONDITION, self.text.lower()) is not None
        return (
            self.branches
            and not in_it_block
            and self.mnemonic in ("bx", "pop", "ldm", "ldmia", "tbb", "tbh", "ldr")
        )

    @property
    def _writes_pc(self) -> bool:
        first = self.operands.partition(",")[0]
        if self.mnemonic.startswith(("pop", "ldm")):
            return re.search(r"\bpc\b", self.operands.partition("{")[2]) is not None
        return first.strip() == "pc"

    @property
    def target(self) -> Optional[int]:
        """Where a direct branch or call leads; None for any other instruction."""
        if not self.branches or self.mnemonic.startswith(("bx", "blx", "tb", "pop", "ld", "mov", "add")):
            return None
        # the name after the address may hold blanks and commas
        match = _TARGET.search(self.operands.partition("<")[0].rsplit(",", 1)[-1].strip())
        return int(match.group(1), 16) & ~1 if match else None


class Code(Protocol):
    """The program's instructions; the debugger provides them."""

    def function(self, address: int) -> Sequence[Instruction]:
        """All of the function at an address, in order, without literal pools; empty where
        there is no function or its code cannot be read."""

    def waits(self, address: int) -> bool:
        """Whether the function at an address may hold a wfi or wfe: quickly told, for most do not."""

    def callers(self, address: int) -> Sequence[int]:
        """The addresses of the direct calls of the function that begins at an address, and of
        the direct branches to it from other functions."""


@dataclasses.dataclass(frozen=True)
class Build:
    """The program that was sampled: its functions, lines and instructions."""

    functions: FunctionMap
    lines: Lines
    code: Code

    def name_at(self, address: int) -> str:
        """`irq_on+2`; the bare address outside all functions."""
        function = self.functions.at(address)
        if function is None or not function.symbol:
            return "0x%08x" % address
        offset = address - function.address
        return function.name + ("+%d" % offset if offset else "")


def at(instructions: Sequence[Instruction], address: int) -> Optional[int]:
    """The place of the instruction at an address; None where none begins there."""
    low, high = 0, len(instructions)
    while low < high:
        middle = (low + high) // 2
        if instructions[middle].address < address:
            low = middle + 1
        else:
            high = middle
    return low if low < len(instructions) and instructions[low].address == address else None


def calls_to(content: bytes, base: int, target: int) -> List[int]:
    """The addresses in code at `base` of each ``BL``, ``B.W`` and ``B.N`` to `target`.

    Encodings T1 of BL, T4 and T2 of B (Armv7-M ARM, A7.7.18, A7.7.12), in little-endian
    halfwords: 11110 S imm10, 1 L J1 1 J2 imm11 with L for BL; 11100 imm11. The offset counts from
    the address plus 4.
    """
    halves = struct.unpack("<%dH" % (len(content) // 2), content[: len(content) & ~1])
    found = []
    for place, (high, low) in enumerate(zip(halves, [*halves[1:], 0])):
        address = base + 2 * place
        if high & 0xF800 == 0xE000:
            if address + 4 + ((high & 0x7FF) << 1) - (high << 2 & 0x1000) == target:
                found.append(address)
            continue
        if high & 0xF800 != 0xF000 or low & 0x9000 != 0x9000:
            continue
        sign = high >> 10 & 1
        i1 = 1 - ((low >> 13 & 1) ^ sign)
        i2 = 1 - ((low >> 11 & 1) ^ sign)
        offset = i1 << 23 | i2 << 22 | (high & 0x3FF) << 12 | (low & 0x7FF) << 1
        if sign:
            offset -= 1 << 24
        if address + 4 + offset == target:
            found.append(address)
    return found
