"""Instructions, as the debugger's disassembler words them, and what they do to interrupts."""

from __future__ import annotations

import dataclasses
import re
import struct
from typing import Callable, FrozenSet, Iterator, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_prof.profile.places import Lines
from gdb_prof.profile.program.functions import FunctionMap

_TARGET = re.compile(r"(?:0x)?([0-9a-f]+)$")
_CONDITION = "(?:eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)"
_IN_IT_BLOCK = re.compile(r"(bx|blx|bl|msr|wfi|wfe|svc)%s" % _CONDITION)
_MASK_REGISTERS = ("primask", "faultmask", "basepri", "basepri_max")
_COMMENT = re.compile(r"\s+[@;]")
_OTHER_NAMES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12", "sp": "r13", "lr": "r14"}
_SCRATCH = ("r0", "r1", "r2", "r3", "r12", "r14")
"""What a called function need not preserve (AAPCS32, 6.1.1), and LR, which the call writes."""
_READ_ONLY = ("bx", "cb", "cmp", "cmn", "tst", "teq", "msr")
_WRITE_TWO = ("ldrd", "ldrexd", "ldaexd", "umull", "smull", "umlal", "smlal", "umaal", "vmov")
_WRITTEN_BACK = re.compile(r"\[(\w+)(?:\],|[^]]*\]!)|^(\w+)!")


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
        words = self._uncommented.split(None, 1)
        return words[1].strip() if len(words) > 1 else ""

    @property
    def shown(self) -> str:
        """As a sentence has it: `msr PRIMASK, r0`, on one line and without a comment."""
        return " ".join(self._uncommented.split())

    @property
    def _uncommented(self) -> str:
        return _COMMENT.split(self.text, maxsplit=1)[0]

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

    def writes(self, register: str) -> bool:
        """Whether it may change a core register, a call by what is called."""
        wanted, operands, mnemonic = _number(register), self.operands.lower(), self.mnemonic
        if self.is_call:
            return wanted in _SCRATCH
        back = _WRITTEN_BACK.search(operands)
        if back is not None and _number(back.group(1) or back.group(2)) == wanted:
            return True
        if mnemonic.startswith(("pop", "ldm")):
            return wanted in _registers(operands.partition("{")[2])
        if mnemonic.startswith(_READ_ONLY) or (self.stores and not mnemonic.startswith("strex")):
            return False
        written = operands.split(",")[: 2 if mnemonic.startswith(_WRITE_TWO) else 1]
        return wanted in map(_number, written)

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


def _number(register: str) -> str:
    """`r14` for `lr`."""
    name = register.strip().lower()
    return _OTHER_NAMES.get(name, name)


def _registers(listed: str) -> List[str]:
    """`r4-r6, lr}` -> r4, r5, r6, r14."""
    found: List[str] = []
    for first, last in re.findall(r"(\w+)(?:-(\w+))?", listed):
        first, last = _number(first), _number(last or first)
        if last == first or not (first[1:].isdigit() and last[1:].isdigit()):
            found += [first, last]
        else:
            found += ["r%d" % n for n in range(int(first[1:]), int(last[1:]) + 1)]
    return found


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
    asleep: FrozenSet[int] = frozenset()
    """Addresses at which the core sleeps, where that is known without instructions."""
    demangle: Callable[[str], str] = str

    def name_at(self, address: int) -> str:
        """`irq_on+2`; the bare address outside all functions."""
        function = self.functions.at(address)
        if function is None or not function.symbol:
            return "0x%08x" % address
        offset = address - function.address
        return self.demangle(function.name) + ("+%d" % offset if offset else "")


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


def calls(content: bytes, base: int) -> Iterator[Tuple[int, int]]:
    """Each ``BL``, ``B.W`` and ``B.N`` in code at `base`: its address and where it leads.

    Encodings T1 of BL, T4 and T2 of B (Armv7-M ARM, A7.7.18, A7.7.12), in little-endian
    halfwords: 11110 S imm10, 1 L J1 1 J2 imm11 with L for BL; 11100 imm11. The offset counts from
    the address plus 4.
    """
    halves = struct.unpack("<%dH" % (len(content) // 2), content[: len(content) & ~1])
    address = base - 2
    for high, low in zip(halves, [*halves[1:], 0]):
        address += 2
        if high < 0xE000:  # most are
            continue
        if high < 0xE800:
            yield address, address + 4 + ((high & 0x7FF) << 1) - (high << 2 & 0x1000)
        elif high & 0xF800 == 0xF000 and low & 0x9000 == 0x9000:
            sign = high >> 10 & 1
            i1 = 1 - ((low >> 13 & 1) ^ sign)
            i2 = 1 - ((low >> 11 & 1) ^ sign)
            offset = i1 << 23 | i2 << 22 | (high & 0x3FF) << 12 | (low & 0x7FF) << 1
            yield address, address + 4 + offset - (sign << 24)
