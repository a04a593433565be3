"""Where a trace buffer lies: POSITION, MASTER.MASK and BASE as addresses, and back.

POSITION holds the low bits of the next packet's address: those above the MTB's RAM read as zero and ignore
writes. So with that RAM's size R, a power of two,

    address = BASE + (POSITION - BASE) mod R

(as NXP's KL04 manual begins it, with the bits of BASE that POSITION has; a KL27 whose BASE was written to
POSITION reads 0x6000). NXP's KL27 manual has the buffer's size for R in that formula, by which
POSITION 0 would not be the same place in buffers of two sizes: not followed. Within a buffer, whose size
divides R and which lies at a multiple of its size, both agree: the low bits are the offset.
"""

from __future__ import annotations

import dataclasses
from typing import Optional

from gdb_prof.counters.mtb.packets import SIZE
from gdb_prof.counters.trace_buffer import Buffer
from gdb_prof.errors import TargetError, UsageError

SMALLEST, LARGEST = 16, 1 << 24
"""Bytes of a buffer. No part with an MTB has as much RAM as the largest."""
_POINTER = 0xFFFFFFF8
_WRAP = 4
_NEVER = 3
_LARGEST_RAM = LARGEST.bit_length() - 1
"""In bits of an address: a POSITION that has more is a whole address."""


def mask_of(size: int) -> int:
    """MASTER.MASK for a buffer of so many bytes. Raises UsageError for a size that cannot be."""
    if not SMALLEST <= size <= LARGEST or size & (size - 1):
        raise UsageError(
            "a buffer's size is a power of two of %d to %d bytes, found %d" % (SMALLEST, LARGEST, size)
        )
    return size.bit_length() - 5


def size_of(mask: int) -> int:
    """Bytes of the buffer for a MASTER.MASK; larger than all memory where the MASK says so."""
    return 1 << (mask + 4)


def demand_aligned(buffer: int, size: int, what: str) -> None:
    """Raises UsageError, saying what would fit."""
    if buffer % size:
        fits = buffer & -buffer
        raise UsageError(
            "%s is at 0x%08x, no multiple of %d, the buffer's size%s"
            % (what, buffer, size, ": -size %d would fit there" % fits if fits >= SMALLEST else "")
        )


@dataclasses.dataclass(frozen=True)
class Ram:
    """The MTB's own view of RAM. `base`: BASE, 0 where there is none; `size`: what POSITION can address."""

    base: int
    size: int

    def address(self, position: int) -> int:
        """That of a POSITION; the low bits alone where BASE is not known."""
        return self.base + ((position & _POINTER) - self.base) % self.size

    def position(self, address: int) -> int:
        return address % self.size & _POINTER

    def demand_holds(self, buffer: int, size: int) -> None:
        """Raises UsageError for a buffer that lies elsewhere, which would be written over what lies at the
        same low bits."""
        if size > self.size:
            raise UsageError("%d bytes are more than the MTB's RAM has, %d" % (size, self.size))
        if self.base and not self.base <= buffer <= self.base + self.size - size:
            raise UsageError(
                "a buffer at 0x%08x is not in the MTB's RAM, 0x%08x to 0x%08x"
                % (buffer, self.base, self.base + self.size - 1)
            )


def implemented(read_back: int) -> Optional[int]:
    """The size of the RAM that POSITION can address, by what it holds of all ones; None where that is no
    contiguous run of bits from bit 3 on, or has one of the bits 1 and 0, which no MTB has."""
    size = (read_back & _POINTER) + SIZE
    return size if size > SIZE and not size & (size - 1) and not read_back & _NEVER else None


def buffer_of(position: int, start: int, size: int, ram: Optional[Ram] = None) -> Buffer:
    """The buffer at `start` as POSITION tells. Raises TargetError for a POSITION elsewhere; without `ram`
    only for one that is elsewhere whatever the RAM's size."""
    pointer = position & _POINTER
    above = pointer & ~(size - 1)
    # of the bits above the offset POSITION has those that address the RAM, and the rest are zero
    known = ram.size if ram else 1 << above.bit_length()
    if above != start % max(known, size) & ~(size - 1):
        raise TargetError(
            "POSITION reads 0x%08x, which is not in the buffer of %d bytes at 0x%08x: has the program or a "
            "reset changed it?" % (position, size, start)
        )
    return Buffer(start, size, start + pointer % size, bool(position & _WRAP))


def place_of(position: int, mask: int, base: int) -> Optional[int]:
    """The buffer's address as the registers have it; None where they leave it open, since the size of the
    MTB's RAM is not known."""
    if not base:
        return None
    least = max(mask + 4, (position & _POINTER).bit_length())
    most = _LARGEST_RAM if least <= _LARGEST_RAM else 32
    rams = (Ram(base, 1 << bits) for bits in range(least, most + 1))
    places = {ram.address(position) & -size_of(mask) for ram in rams}
    return places.pop() if len(places) == 1 else None
