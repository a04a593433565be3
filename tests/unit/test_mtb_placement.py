"""Where the trace buffer lies, by POSITION, MASK and BASE."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.counters.mtb.placement import (
    Ram,
    buffer_of,
    demand_aligned,
    implemented,
    mask_of,
    place_of,
    size_of,
)
from gdb_prof.counters.trace_buffer import Buffer
from gdb_prof.errors import TargetError, UsageError

KL27 = Ram(0x1FFFE000, 0x8000)
SAMD = Ram(0x20000000, 0x8000)


@pytest.mark.parametrize(("size", "mask"), [(16, 0), (32, 1), (1024, 6), (4096, 8), (1 << 24, 20)])
def test_the_mask_of_a_size(size: int, mask: int) -> None:
    assert mask_of(size) == mask and size_of(mask) == size


@pytest.mark.parametrize("size", [0, 8, 15, 17, 1000, 1 << 25])
def test_sizes_that_cannot_be(size: int) -> None:
    with pytest.raises(UsageError, match="a power of two of 16 to 16777216 bytes, found %d" % size):
        mask_of(size)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        (0x20000200, "no multiple of 1024, the buffer's size: -size 512 would fit there"),
        (0x20000408, "no multiple of 1024, the buffer's size$"),
    ],
)
def test_a_buffer_lies_at_a_multiple_of_its_size(address: int, complaint: str) -> None:
    demand_aligned(0x20000400, 1024, "the buffer")
    with pytest.raises(UsageError, match=complaint):
        demand_aligned(address, 1024, "the buffer")


@pytest.mark.parametrize(
    ("ram", "address", "position"),
    [
        (SAMD, 0x20000000, 0),
        (SAMD, 0x20001000, 0x1000),
        # NXP's forum: a KL27's BASE written to POSITION reads 0x6000
        (KL27, 0x1FFFE000, 0x6000),
        # KL04 manual: (0x2000_0000 & 0x0000_7FF8) = 0
        (KL27, 0x20000000, 0),
        (KL27, 0x20001008, 0x1008),
    ],
)
def test_position_and_address(ram: Ram, address: int, position: int) -> None:
    assert ram.position(address) == position
    assert ram.address(position) == address
    assert ram.address(position | 7) == address


@given(st.integers(3, 29), st.integers(0, (1 << 29) - 1), st.integers(0, 1 << 29))
def test_every_address_in_the_ram_has_a_position_of_its_own(bits: int, base: int, offset: int) -> None:
    ram = Ram(8 * base, 1 << bits)
    address = ram.base + offset % ram.size & ~7
    assert ram.address(ram.position(address)) == address


@pytest.mark.parametrize(
    ("buffer", "size"), [(0x1FFFC000, 64), (0x20006000, 64), (0x20008000, 64), (0x1FFE0000, 0x10000)]
)
def test_a_buffer_outside_the_ram_is_refused(buffer: int, size: int) -> None:
    with pytest.raises(UsageError, match="the MTB's RAM"):
        KL27.demand_holds(buffer, size)


def test_a_ram_without_base_takes_any_buffer_that_is_not_larger() -> None:
    Ram(0, 0x1000).demand_holds(0x10000400, 1024)
    with pytest.raises(UsageError, match="8192 bytes are more than the MTB's RAM has, 4096"):
        Ram(0, 0x1000).demand_holds(0x10000000, 8192)


@pytest.mark.parametrize(
    ("held", "size"),
    [
        (0x7FF8, 0x8000),
        (0xFFFFFFF8, 1 << 32),
        (0x7FFC, 0x8000),
        (0x7FFE, None),
        (0xFFFFFFFF, None),
        (0, None),
        (7, None),
        (0x7FF0, None),
        (0x5A58, None),
    ],
)
def test_what_position_holds_tells_the_size_of_the_ram(held: int, size: Optional[int]) -> None:
    assert implemented(held) == size


@pytest.mark.parametrize(
    ("position", "ram", "pointer", "wrapped"),
    [
        (0x400, SAMD, 0x20000400, False),
        (0x478, SAMD, 0x20000478, False),
        (0x404, SAMD, 0x20000400, True),
        (0x20000478, None, 0x20000478, False),
        (0x478, None, 0x20000478, False),
        (0x78, None, 0x20000478, False),
    ],
)
def test_the_write_pointer(position: int, ram: Optional[Ram], pointer: int, wrapped: bool) -> None:
    assert buffer_of(position, 0x20000400, 1024, ram) == Buffer(0x20000400, 1024, pointer, wrapped)


@pytest.mark.parametrize(
    ("position", "ram"), [(0, SAMD), (0x800, SAMD), (0x800, None), (0x10000400, None), (0x20000800, None)]
)
def test_a_position_elsewhere_is_no_write_pointer(position: int, ram: Optional[Ram]) -> None:
    with pytest.raises(TargetError, match="not in the buffer of 1024 bytes at 0x20000400"):
        buffer_of(position, 0x20000400, 1024, ram)


@pytest.mark.parametrize(
    ("position", "base", "place"),
    [
        (0x478, 0x20000000, 0x20000400),  # BASE is a multiple of whatever the RAM's size is
        (0x20000478, 0x20000000, 0x20000400),
        (0x478, 0, None),  # LPC800 has no BASE
        (0x6478, 0x1FFFE000, None),  # in a RAM of 0x8000 at 0x1fffe400, in a larger one elsewhere
    ],
)
def test_a_buffer_that_was_set_up_elsewhere(position: int, base: int, place: Optional[int]) -> None:
    assert place_of(position, mask_of(1024), base) == place
