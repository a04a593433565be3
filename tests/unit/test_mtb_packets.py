"""Packets of the Micro Trace Buffer (Arm DDI 0486, 2.3.1), and the branches that they are."""

from __future__ import annotations

import struct
from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.counters.mtb.packets import BRANCH, EXCEPTION, RETURN, Branch, Packet, branches, packets
from gdb_prof.counters.trace_buffer import Buffer

EXC_RETURN = 0xFFFFFFF8
"""EXC_RETURN[31:1] of 0xfffffff9, shifted back."""


def words(*values: int) -> bytes:
    return struct.pack("<%dI" % len(values), *values)


def decoded(*values: int) -> List[Branch]:
    return list(branches(packets(words(*values))))


@pytest.mark.parametrize(
    ("pair", "packet"),
    [
        ((0x1000, 0x2000), Packet(0x1000, 0x2000, False, False)),
        ((0x1001, 0x2000), Packet(0x1000, 0x2000, True, False)),
        ((0x1000, 0x2001), Packet(0x1000, 0x2000, False, True)),
        ((0xFFFFFFFF, 0xFFFFFFFF), Packet(0xFFFFFFFE, 0xFFFFFFFE, True, True)),
    ],
)
def test_a_packet_is_a_source_and_a_destination_each_with_a_bit(
    pair: "tuple[int, int]", packet: Packet
) -> None:
    assert packets(words(*pair)) == (packet,)


def test_the_a_bit_is_an_exceptions_entry() -> None:
    assert decoded(0x1001, 0x200) == [Branch(EXCEPTION, 0x1000, 0x200)]


def test_the_two_packets_of_an_exception_return_are_one_branch() -> None:
    assert decoded(0x210, EXC_RETURN, EXC_RETURN | 1, 0x1000) == [Branch(RETURN, 0x210, 0x1000)]


def test_a_return_from_a_nested_exception_is_no_return_from_the_outer_one() -> None:
    assert decoded(0x210, EXC_RETURN, EXC_RETURN | 1, 0x110, 0x112, EXC_RETURN, EXC_RETURN | 1, 0x1000) == [
        Branch(RETURN, 0x210, 0x110),
        Branch(RETURN, 0x112, 0x1000),
    ]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((EXC_RETURN | 1, 0x1000), [Branch(RETURN, None, 0x1000)]),
        ((0x210, EXC_RETURN), [Branch(RETURN, 0x210, None)]),
        ((0x210, EXC_RETURN, 0x300, 0x400), [Branch(RETURN, 0x210, None), Branch(BRANCH, 0x300, 0x400)]),
        (
            (0x210, EXC_RETURN, EXC_RETURN | 1, 0x1001),
            [Branch(RETURN, 0x210, None), Branch(RETURN, None, 0x1000, True)],
        ),
    ],
    ids=[
        "the first was overwritten",
        "the second is to come",
        "the second is not there",
        "tracing began between",
    ],
)
def test_half_a_return_has_half_its_places(values: "tuple[int, ...]", found: List[Branch]) -> None:
    assert decoded(*values) == found


def test_tracing_that_began_anew_is_marked_at_its_first_packet() -> None:
    assert [b.started for b in decoded(0x10, 0x21, 0x22, 0x30, 0x32, 0x41)] == [True, False, True]


def test_a_rest_that_is_no_packet_is_left() -> None:
    assert packets(words(0x10, 0x20) + b"\1\2\3\4\5\6\7") == (Packet(0x10, 0x20, False, False),)
    assert packets(b"") == () and branches(()) == ()


@given(st.binary(max_size=400))
def test_any_bytes_are_packets(content: bytes) -> None:
    found = packets(content)
    assert len(found) == len(content) // 8
    encoded = b"".join(words(p.source | p.unexecuted, p.destination | p.started) for p in found)
    assert encoded == content[: len(encoded)]
    merged = branches(found)
    assert len(found) / 2 <= len(merged) <= len(found)


@pytest.mark.parametrize("newest", range(8))
def test_each_rotation_is_put_in_order(newest: int) -> None:
    """Packet n goes from 16 n to 16 n + 8; the buffer holds eight, and so many more overwrote the first."""
    written = range(newest + 8)
    ring = bytearray(64)
    for n in written:
        ring[n % 8 * 8 : n % 8 * 8 + 8] = words(16 * n, 16 * n + 8)
    buffer = Buffer(0x2000, 64, 0x2000 + newest * 8, wrapped=True)
    content = b"".join(ring[start - 0x2000 : start - 0x2000 + size] for start, size in buffer.parts())
    assert [p.source // 16 for p in packets(content)] == list(written)[-8:]
