"""Which memory a trace may be written to: an array of the program's, or an address that nothing uses."""

from __future__ import annotations

import contextlib
from typing import NamedTuple, Optional

from gdb_prof.counters.mtb.placement import SMALLEST, demand_aligned, mask_of
from gdb_prof.errors import ProgramError, UsageError
from gdb_prof.printable import printable
from gdb_prof.target.images import Program

SYMBOL = "mtb_buffer"
_DEFAULT_SIZE = 1024


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
