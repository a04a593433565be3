"""Which memory a trace may be written to: an array of the program's, or an address that nothing uses."""

from __future__ import annotations

import contextlib
from typing import List, NamedTuple, Optional, Tuple

import gdb

from gdb_prof.counters.mtb.placement import SMALLEST, demand_aligned, mask_of
from gdb_prof.errors import GdbProfError, ProgramError, UsageError
from gdb_prof.printable import printable
from gdb_prof.target import session
from gdb_prof.target.images import Program
from gdb_prof.wording import some

SYMBOL = "mtb_buffer"
_DEFAULT_SIZE = 1024
_BELOW_STACK = 256
"""Bytes under the stack pointer that a call or an interrupt will use."""
_LARGEST_STACK = 0x10000
_VTOR = 0xE000ED08
_MOST = 3


class Place(NamedTuple):
    """`own`: an array of the program's that is meant to be written over."""

    address: int
    size: int
    own: bool


def place(program: Optional[Program], buffer: Optional[str], size: Optional[int]) -> Place:
    """By -buffer and -size. Raises UsageError, ProgramError."""
    number = _number(buffer) if buffer is not None else None
    if number is not None:
        return _checked(Place(number, size or _DEFAULT_SIZE, False), "the buffer")
    name = buffer or SYMBOL
    symbol = program.find_static(name) if program else None
    if symbol is None and buffer is not None:
        raise ProgramError("no symbol %s: -buffer is an address or an array's name" % printable(buffer))
    if symbol is None:
        raise ProgramError(
            "no buffer: -buffer ADDRESS, of RAM that nothing uses, or in the program uint32_t %s[256] "
            "__attribute__((aligned(1024)));" % SYMBOL
        )
    if symbol.size < (size or SMALLEST):
        raise UsageError(
            "%s has %d bytes: a buffer of %d does not fit" % (printable(name), symbol.size, size or SMALLEST)
        )
    whole = 1 << (symbol.size.bit_length() - 1)
    return _checked(Place(symbol.address, size or whole, True), printable(name))


def _number(text: str) -> Optional[int]:
    with contextlib.suppress(ValueError):
        value = int(text, 0)
        if not 0 <= value <= 0xFFFFFFFF:
            raise UsageError("-buffer: expected an address of 32 bits, found '%s'" % printable(text))
        return value
    return None


def _checked(found: Place, what: str) -> Place:
    mask_of(found.size)
    demand_aligned(found.address, found.size, what)
    return found


def uses(program: Optional[Program], found: Place) -> List[str]:
    """What the program has there, in words; none where the place is its own array. Without its file what the
    stack pointer tells."""
    first, end = found.address, found.address + found.size
    used: List[str] = []
    if program is not None and not found.own:
        used += _symbols(program, first, end) or _sections(program, first, end)
    low, high = _stack()
    if first < high and low < end:
        used.append("the stack, 0x%08x to 0x%08x" % (low, high - 1))
    return used


def _symbols(program: Program, first: int, end: int) -> List[str]:
    names = [
        printable(symbol.name)
        for symbol in sorted(program.variables(), key=lambda symbol: symbol.address)
        if symbol.address < end and first < symbol.address + symbol.size
    ]
    return [some(names, _MOST)] if names else []


def _sections(program: Program, first: int, end: int) -> List[str]:
    return [
        printable(section.name)
        for image, offsets in program.images
        for index, section in image.sections.items()
        for address in [section.address + offsets.get(index, 0)]
        if address < end and first < address + section.size
    ]


def _stack() -> Tuple[int, int]:
    """What is in use of the current stack, and a little below: up to the main stack's top where the stack
    pointer is in its reach, else a little above."""
    sp = int(gdb.newest_frame().read_register("sp")) & 0xFFFFFFFF
    top = 0
    with contextlib.suppress(GdbProfError):
        vectors = session.read_system_word(_VTOR, "VTOR")
        top = session.read_word(vectors, "the main stack's top")
    if not sp <= top <= sp + _LARGEST_STACK:
        top = sp + _BELOW_STACK
    return sp - _BELOW_STACK, top
