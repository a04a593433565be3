"""Packets as lines, for `prof swo -events`."""

from __future__ import annotations

import random

import pytest

from gdb_prof.swo import listing
from gdb_prof.swo.capture import read_capture
from gdb_prof.swo.timeline import events
from swo_streams import SYNC, pc, stimulus, ticks


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("00 00 00 00 00 80", "sync"),
        ("70", "! overflow: packets were lost here"),
        ("01 41", "stimulus port 0, 1 byte: 0x41 'A'"),
        ("12 0a 42", "stimulus port 2, 2 bytes: 0x420a '.B'"),
        ("c0 01", "local time + 1 tick"),
        ("f0 ff 7f", "local time + 16,383 ticks, timestamp and data late"),
        ("94 7f", "global time, low 7 bits: 0x7f"),
        ("94 80 a0 84 60", "global time, low 26 bits: 0x11000, wrapped, new clock"),
        ("b4 bd f4 91 01", "global time from bit 26, 22 bits: 0x247a3d"),
        ("18", "stimulus page 1"),
        ("3c", "extension of hardware source: 0x3"),
        ("f8 32", "extension of software source: 0x197"),
        ("05 2a", "counters wrapped: EXC LSU CYC"),
        ("0e 0f 10", "exception entered: 15, SysTick"),
        ("0e 20 20", "exception left: 32, IRQ 16"),
        ("0e 00 30", "returned to: 0, thread"),
        ("17 18 02 00 08", "PC 0x08000218"),
        ("15 00", "PC sample: asleep"),
        ("15 ff", "PC sample: prohibited"),
        ("57 18 02 00 08", "data trace PC, comparator 1: 0x08000218"),
        ("45 01", "data trace match, comparator 0"),
        ("4e 12 34", "data address, comparator 0: ..3412"),
        ("ae 03 0f", "data write, comparator 2, 2 bytes: 0x0f03"),
        ("85 12", "data read, comparator 0, 1 byte: 0x12"),
        ("1d 42", "hardware source 3 (PMU overflow on Armv8.1-M): 0x42"),
        ("27 01 02 03 04", "hardware source 4, 4 bytes: 0x4030201"),
        ("80", "! reserved header: 80"),
        ("15 12", "! packet of undefined size or value: 15 12"),
        ("17 00", "! packet cut short by the end: 17 00"),
    ],
)
def test_each_kind_of_packet_has_its_line(raw: str, line: str) -> None:
    first = next(events([bytes.fromhex(raw)]))
    assert listing.text(first) == line


def test_a_line_has_the_offset_and_the_time() -> None:
    raw = SYNC + stimulus(0, 0x41) + ticks(12000) + pc(0x08000218)
    assert list(listing.lines([raw])) == [
        (0, "0x000000        12,000  sync"),
        (6, "0x000006        12,000  stimulus port 0, 1 byte: 0x41 'A'"),
        (8, "0x000008        12,000  local time + 12,000 ticks"),
        (11, "0x00000b                PC 0x08000218"),
    ]


def test_no_packet_is_without_a_line_and_none_breaks_it() -> None:
    for seed in range(300):
        for _, line in listing.lines([random.Random(seed).randbytes(300)]):
            assert line.isprintable()
            assert len(line) <= 80


def test_what_is_in_a_stream_in_one_sentence() -> None:
    raw = SYNC + stimulus(0, 0x41) * 2 + pc(2) + b"\x15\0\x70\x80"
    assert listing.contents(read_capture([raw])) == (
        "19 bytes with 1 PC sample, 1 sample without a PC, 2 stimulus packets, 1 sync, 1 overflow, 1 error"
    )
    assert listing.contents(read_capture([b""])) == "0 bytes with no packet"


def test_a_sync_that_is_not_on_a_byte_says_by_how_much() -> None:
    # bits lost before it; what follows reads well only one bit further on
    raw = bytes.fromhex("01 00 00 00 00 00 03 82 2e 30 04 00 10 02 82 2e 30 04 00 10 00")
    assert "sync, 1 bit out of step with the bytes" in [
        line.split(None, 1)[1] for _, line in listing.lines([raw])
    ]
