"""Thumb instructions by their bits: how long they are, and which of them branch where.

Encodings: Armv6-M ARM, A5 and A6.7; Armv7-M ARM, A5 and A7.7; Armv8-M ARM, C2 (BXNS, BLXNS).
"""

from __future__ import annotations

import struct
from typing import Iterator, NamedTuple, Optional

CALL, RETURN, JUMP, PLAIN = "call", "return", "branch", ""
_LR, _PC, _SP = 14, 15, 13


class Instruction(NamedTuple):
    """`kind`: CALL, RETURN, JUMP, or PLAIN, which never branches. `conditional`: it may not branch.
    `target`: where a direct branch leads."""

    address: int
    size: int
    kind: str
    conditional: bool = False
    target: Optional[int] = None


def instructions(code: bytes, address: int, conditional: int = 0) -> Iterator[Instruction]:
    """Those in `code`, which begins at `address` with one; a half one at the end is none.
    `conditional`: so many of them lie in an IT block, or may."""
    at = 0
    while at + 2 <= len(code):
        first = int(struct.unpack_from("<H", code, at)[0])
        size = size_of(first)
        if at + size > len(code):
            return
        second = int(struct.unpack_from("<H", code, at + 2)[0]) if size == 4 else 0
        found = _short(address + at, first) if size == 2 else _long(address + at, first, second)
        if is_it(first):  # in no IT block itself
            conditional = 4 - _lowest_bit(first & 0xF)
        elif conditional:
            conditional -= 1
            found = found._replace(conditional=True)
        yield found
        at += size


def is_it(halfword: int) -> bool:
    """Whether it begins an IT block."""
    return halfword & 0xFF00 == 0xBF00 and halfword & 0xF != 0


def size_of(halfword: int) -> int:
    """Bytes of the instruction that begins with it: 2, or 4 where bits 15:11 are 11101, 11110 or 11111."""
    return 4 if halfword >= 0xE800 else 2


def _lowest_bit(value: int) -> int:
    return (value & -value).bit_length() - 1


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def _short(address: int, code: int) -> Instruction:
    following = address + 4
    if code & 0xF000 == 0xD000 and code >> 8 & 0xF < 14:
        return Instruction(address, 2, JUMP, True, following + 2 * _signed(code & 0xFF, 8))
    if code & 0xF800 == 0xE000:
        return Instruction(address, 2, JUMP, False, following + 2 * _signed(code & 0x7FF, 11))
    if code & 0xF500 == 0xB100:  # CBZ, CBNZ
        offset = (code >> 9 & 1) << 6 | (code >> 3 & 0x1F) << 1
        return Instruction(address, 2, JUMP, True, following + offset)
    if code & 0xFF83 == 0x4700:  # BX, BXNS
        return Instruction(address, 2, RETURN if code >> 3 & 0xF == _LR else JUMP)
    if code & 0xFF83 == 0x4780:  # BLX, BLXNS
        return Instruction(address, 2, CALL)
    if code & 0xFF00 == 0xBD00:  # POP with the PC
        return Instruction(address, 2, RETURN)
    if code & 0xFF87 == 0x4687:  # MOV to the PC
        return Instruction(address, 2, RETURN if code >> 3 & 0xF == _LR else JUMP)
    return Instruction(address, 2, JUMP if code & 0xFF87 == 0x4487 else PLAIN)  # ADD to the PC


def _long(address: int, first: int, second: int) -> Instruction:
    if first & 0xF800 == 0xF000 and second & 0x8000:
        return _long_branch(address, first, second)
    if first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000:  # TBB, TBH
        return Instruction(address, 4, JUMP)
    register = first & 0xF
    if first & 0xFF70 == 0xF850 and second >> 12 == _PC:  # LDR to the PC
        popped = first == 0xF850 | _SP and second & 0xFFF == 0xB04
        return Instruction(address, 4, RETURN if popped else JUMP)
    if first & 0xFFD0 in (0xE890, 0xE910) and second & 0x8000:  # LDM, LDMDB with the PC
        popped = first & 0xFFF0 == 0xE8B0 and register == _SP
        return Instruction(address, 4, RETURN if popped else JUMP)
    return Instruction(address, 4, PLAIN)


def _long_branch(address: int, first: int, second: int) -> Instruction:
    sign, j1, j2 = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    if second & 0x1000:  # BL, B.W
        i1, i2 = 1 - (j1 ^ sign), 1 - (j2 ^ sign)
        offset = sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
        kind = CALL if second & 0x4000 else JUMP
        return Instruction(address, 4, kind, False, address + 4 + _signed(offset, 25))
    if second & 0x4000 or first >> 6 & 0xF >= 14:  # barriers, MSR, MRS and others
        return Instruction(address, 4, PLAIN)
    offset = sign << 20 | j2 << 19 | j1 << 18 | (first & 0x3F) << 12 | (second & 0x7FF) << 1
    return Instruction(address, 4, JUMP, True, address + 4 + _signed(offset, 21))
