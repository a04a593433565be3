"""One packet after the other, as the published vectors have them, and where public decoders differ."""

from __future__ import annotations

from typing import Dict, List, Tuple

import pytest

from gdb_prof.swo.packets import (
    CUT,
    OVERLONG,
    RESERVED,
    TRUNCATED,
    UNDEFINED,
    ZEROS,
    Asleep,
    DataAddress,
    DataMatch,
    DataPc,
    DataValue,
    Error,
    EventWrap,
    ExceptionTrace,
    Extension,
    GlobalTime1,
    GlobalTime2,
    Hardware,
    LocalTime,
    Overflow,
    Packet,
    PcSample,
    PmuOverflow,
    Prohibited,
    Stimulus,
    Sync,
    packet,
    well_formed,
)
from shared_data import shared_data
from swo_streams import decoded, packets


def error(kind: str, raw: str) -> Error:
    return Error(kind, bytes.fromhex(raw))


EXPECTED: Dict[str, List[Packet]] = {
    "sync-min": [Sync()],
    "sync-long": [Sync()],
    "sync-short": [error(ZEROS, "00 00 00 00"), error(RESERVED, "80")],
    "sync-broken": [error(ZEROS, "00 00 00 00"), error(TRUNCATED, "01")],
    "sync-break-mid": [error(ZEROS, "00 00 00 00"), LocalTime(2), error(RESERVED, "80")],
    "overflow": [Overflow()],
    "sw-1": [Stimulus(0, 1, 0x10)],
    "sw-2": [Stimulus(1, 2, 0x2030)],
    "sw-4": [Stimulus(2, 4, 0x40506070)],
    "sw-17": [Stimulus(17, 4, 0xFF3F0F03)],
    "sw-ascii4": [Stimulus(2, 4, int.from_bytes(b"abcd", "little"))],
    "sw-ascii2": [Stimulus(3, 2, int.from_bytes(b"ab", "little"))],
    "sw-30": [Stimulus(30, 2, 0x1299)],
    "sw-18": [Stimulus(18, 4, 0x44332211)],
    "ext-page7": [Extension(7)],
    "ext-page0": [Extension(0)],
    "ext-page1-use": [Extension(1), Stimulus(0, 1, 0x22)],
    "ext-page7-use": [Extension(7), Stimulus(18, 4, 0x44332211)],
    "ext-hw": [Extension(3, hardware=True)],
    "ext-long": [Extension(0x197, more=1)],
    "ext-long2": [Extension(0x6993, hardware=True, more=2)],
    "lts1-28": [LocalTime(0x204081)],
    "lts1-21": [LocalTime(0x4081)],
    "lts1-14": [LocalTime(0x81)],
    "lts1-7": [LocalTime(1)],
    "lts1-c9": [LocalTime(201)],
    "lts1-tc1": [LocalTime(0x4105, relation=1)],
    "lts1-tc3-max": [LocalTime(0xFFFFFFF, relation=3)],
    "lts1-toolong": [error(OVERLONG, "e0 85 85 85 85 85 00")],
    "lts1-endless": [
        error(OVERLONG, "c0 ff ff ff ff ff ff ff ff"),
        Stimulus(0, 1, 0x41),
        Sync(),
        Stimulus(0, 1, 0x42),
    ],
    "lts2-1": [LocalTime(1)],
    "lts2-3": [LocalTime(3)],
    "lts2-4": [LocalTime(4)],
    "lts2-6": [LocalTime(6)],
    "gts1-7": [GlobalTime1(0x7F, 7)],
    "gts1-14": [GlobalTime1(0x3FFF, 14)],
    "gts1-21": [GlobalTime1(0x1FFFFF, 21)],
    "gts1-26": [GlobalTime1(0x3FFFFFF, 26, wrap=True, clock_change=True)],
    "gts1-flags": [GlobalTime1(0x011000, 26, wrap=True, clock_change=True)],
    "gts1-wrap": [GlobalTime1(0x1F40973, 26, wrap=True)],
    "gts1-short-update": [GlobalTime1(0x1F40973, 26), GlobalTime1(0x42, 7)],
    "gts1-toolong": [error(OVERLONG, "94 f3 92 d0 ff 22")],
    "gts2-48": [GlobalTime2(0x247A3D, 22)],
    "gts2-48max": [GlobalTime2(0x3FFFFF, 22)],
    "gts2-64": [GlobalTime2(0x3F40247A3D, 38)],
    "gts2-64max": [GlobalTime2(0x3FFFFFFFFF, 38)],
    "gts2-5bytes": [error(UNDEFINED, "b4 84 81 82 83 01")],
    "gts2-toolong": [error(OVERLONG, "b4 84 81 82 83 81 81 07")],
    "evcnt": [EventWrap(0x2A)],
    "evcnt-sleep": [EventWrap(0x04)],
    "evcnt-all": [EventWrap(0x3F)],
    "exc-enter": [ExceptionTrace(16, "enter")],
    "exc-exit": [ExceptionTrace(16, "exit")],
    "exc-return": [ExceptionTrace(0, "return")],
    "exc-32": [ExceptionTrace(32, "return")],
    "exc-9bit": [ExceptionTrace(0x142, "enter")],
    "exc-9bit-exit": [ExceptionTrace(0x105, "exit")],
    "exc-fn0": [error(UNDEFINED, "0e 10 00")],
    "pc-sleep": [Asleep()],
    "pc-prohibited": [Prohibited()],
    "pc-other1": [error(UNDEFINED, "15 12")],
    "pc-2byte": [error(UNDEFINED, "16 10 10")],
    "pc": [PcSample(0x80000000)],
    "pc-allones": [PcSample(0xFFFFFFFF)],
    "pc-r": [PcSample(0xFF3F0F03)],
    "dpc": [DataPc(0, 0x80000000)],
    "dpc3": [DataPc(3, 0xFF3F0F03)],
    "dmatch": [DataMatch(0)],
    "daddr": [DataAddress(0, 2, 0x3412)],
    "daddr2": [DataAddress(2, 2, 0x0F03)],
    "dread1": [DataValue(0, 1, 0x12, write=False)],
    "dwrite4": [DataValue(2, 4, 0xFF3F0F03, write=True)],
    "dwrite2": [DataValue(2, 2, 0x0F03, write=True)],
    "dwrite1": [DataValue(2, 1, 0x03, write=True)],
    "dread2": [DataValue(1, 2, 0x4302, write=False)],
    "pmu-ovf": [PmuOverflow(0x42)],
    "hw-reserved4": [Hardware(4, 4, 0x04030201)],
    "reserved-80": [error(RESERVED, "80")],
    "reserved-34": [error(RESERVED, "34")],
    "trunc-1": [error(TRUNCATED, "17 00 10")],
    "ts-group": [
        Asleep(),
        Asleep(),
        Asleep(),
        GlobalTime1(0x11000, 26),
        GlobalTime2(0x247A3D, 22),
        LocalTime(201),
        Asleep(),
        LocalTime(201),
        Overflow(),
        LocalTime(201),
    ],
    "spec-mixed": [Sync(), Overflow(), Stimulus(3, 1, 0xBB), LocalTime(2)],
}
"""By the vector's name: what the file says in words."""


def vectors() -> List[Tuple[str, bytes]]:
    lines = shared_data("vectors/itm_vectors.txt").read_text(encoding="utf-8").splitlines()
    fields = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [(name, bytes.fromhex(raw)) for name, raw, *_ in fields]


def test_every_published_vector_decodes_as_it_should() -> None:
    assert {name: packets(raw) for name, raw in vectors()} == EXPECTED


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_vector_that_arrives_in_pieces_decodes_the_same(size: int) -> None:
    for name, raw in vectors():
        assert decoded(raw, size) == decoded(raw), name


def test_a_vector_cut_at_any_byte_decodes_the_same() -> None:
    for name, raw in vectors():
        for cut in range(len(raw)):
            assert decoded(raw, cut) == decoded(raw), (name, cut)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # flags only in the fourth byte of a GTS1
        ("94 7f", [GlobalTime1(0x7F, 7, wrap=False, clock_change=False)]),
        # 0x94 is GTS1, 0xb4 GTS2
        ("b4 bd f4 91 01", [GlobalTime2(0x247A3D, 22)]),
        # 0b10xx0000 is no local timestamp
        ("a0 44", [error(RESERVED, "a0"), error(RESERVED, "44")]),
        ("b0 c4 22", [error(RESERVED, "b0"), error(RESERVED, "c4 22")]),
        ("90", [error(RESERVED, "90")]),
        # the field is the exception's number, not the interrupt's
        ("0e 20 30", [ExceptionTrace(32, "return")]),
        # bit 2 set: a hardware source's extension, which leaves the page alone
        ("1c 01 22", [Extension(1, hardware=True), Stimulus(0, 1, 0x22)]),
        ("7c", [Extension(7, hardware=True)]),
        # discriminators 3..7 carry no data trace
        ("37 00 20 00 00", [Hardware(6, 4, 0x2000)]),
        ("2e 22 03", [Hardware(5, 2, 0x322)]),
        ("1d 42", [PmuOverflow(0x42)]),
        ("15 ff", [Prohibited()]),
        # 4 or 6 bytes of a GTS2, nothing else
        ("b4 84 81 82 83 01", [error(UNDEFINED, "b4 84 81 82 83 01")]),
        ("b4 01", [error(UNDEFINED, "b4 01")]),
        # local timestamps come least significant group first
        ("c0 85 12", [LocalTime(2309)]),
        # all six event bits
        ("05 10", [EventWrap(0x10)]),
    ],
)
def test_where_decoders_differ_the_architecture_is_right(raw: str, expected: List[Packet]) -> None:
    assert packets(bytes.fromhex(raw)) == expected


def test_event_wraps_have_their_names() -> None:
    assert EventWrap(0x3F).names == ("CPI", "EXC", "SLEEP", "LSU", "FOLD", "CYC")
    assert EventWrap(0x10).names == ("FOLD",)
    assert EventWrap(0xC0).names == ()


@pytest.mark.parametrize(
    ("raw", "page"), [("08", 0), ("78", 7), ("1c", None), ("f8 32", None), ("bc b2 1a", None)]
)
def test_only_a_bare_software_extension_chooses_a_page(raw: str, page: "int | None") -> None:
    found = packet(bytes.fromhex(raw))
    assert isinstance(found, Extension)
    assert found.page == page


@pytest.mark.parametrize(
    ("raw", "good"),
    [
        ("17 00 01 00 08", True),
        ("70", True),
        ("18", True),
        ("1c", False),
        ("27 01 02 03 04", False),
        ("80", False),
    ],
)
def test_what_the_architecture_defines_is_well_formed(raw: str, good: bool) -> None:
    assert well_formed(packet(bytes.fromhex(raw))) is good


def test_a_packet_that_is_not_whole_is_cut_short() -> None:
    assert packet(b"\x17\0\0") == error(CUT, "17 00 00")
    assert packet(b"\xc0\x80") == error(CUT, "c0 80")
