"""Recorded streams: an STM32F105's, with its published decode, and OpenCSD's, bare and in frames."""

from __future__ import annotations

import collections
import csv
import re
from typing import Any, Dict, List, Tuple

import pytest

from gdb_prof.swo import exceptions, stimulus, timeline
from gdb_prof.swo.capture import read_capture
from gdb_prof.swo.packets import SKIPPED, Error, Packet
from shared_data import shared_data
from swo_streams import as_tuple, chunks, decoded, framed, mixed


def stm32f105() -> bytes:
    return shared_data("sigrok_stm32f105/stream1_itm.bin").read_bytes()


def as_published(packet: Packet) -> Tuple[str, ...]:
    """A packet as expected_events.csv writes it: its kind and three fields."""
    name, *fields = as_tuple(packet)
    rows: Dict[str, Any] = {
        "PcSample": lambda address: ("pc_sample", "0x%08x" % address, "", ""),
        "Stimulus": lambda port, size, value: (
            "stimulus",
            str(port),
            str(size),
            "0x%0*x" % (2 * size, value),
        ),
        "DataValue": lambda comparator, size, value, write: (
            "data_write" if write else "data_read",
            str(comparator),
            str(size),
            "0x%0*x" % (2 * size, value),
        ),
        "DataAddress": lambda comparator, size, value: (
            "data_addr16",
            str(comparator),
            str(size),
            "0x%04x" % value,
        ),
        "DataPc": lambda comparator, address: ("data_pc", str(comparator), "4", "0x%08x" % address),
        "ExceptionTrace": lambda number, action: ("exception", str(number), action, ""),
        "Overflow": lambda: ("overflow", "", "", ""),
    }
    return rows[name](*fields)


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_the_stm32f105_capture_gives_its_586_events_at_their_offsets(size: int) -> None:
    text = shared_data("sigrok_stm32f105/expected_events.csv").read_text(encoding="utf-8")
    expected = [
        (int(row["offset"]), (row["kind"], row["a"], row["b"], row["c"]))
        for row in csv.DictReader(text.splitlines())
    ]
    assert len(expected) == 586
    found = [(offset, as_published(packet)) for offset, packet in decoded(stm32f105(), size)]
    assert found == expected


def test_the_stm32f105_capture_gives_its_393_samples_by_address() -> None:
    text = shared_data("sigrok_stm32f105/expected_profile.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^0x([0-9a-f]+) +(\d+)$", text, re.MULTILINE)
    expected = {int(address, 16): int(count) for address, count in rows}
    capture = read_capture(chunks(stm32f105(), 100))
    assert dict(collections.Counter(capture.samples)) == expected
    assert sum(expected.values()) == 393


def test_the_stm32f105_capture_is_counted_by_kind() -> None:
    capture = read_capture([stm32f105()])
    assert (capture.packets, capture.overflows, capture.exceptions, capture.data_trace) == (586, 14, 16, 66)
    assert capture.stimulus == {0: 25, 1: 72}
    assert (capture.syncs, capture.errors, capture.unknown, capture.quality) == (0, {}, 0, 1.0)
    assert (capture.ticks, capture.lost, capture.looks_wrong) == (None, None, False)


def test_the_stm32f105_capture_holds_the_text_and_the_numbers_that_were_written() -> None:
    text = shared_data("sigrok_stm32f105/expected_events.csv").read_text(encoding="utf-8")
    port_0 = [
        int(row["c"], 16)
        for row in csv.DictReader(text.splitlines())
        if row["kind"] == "stimulus" and row["a"] == "0"
    ]
    assert stimulus.text([stm32f105()], 0) == bytes(port_0).decode() + "\n"
    assert re.fullmatch(r"(OnOff)+", bytes(port_0).decode())
    written = stimulus.raw(timeline.placed([stm32f105()]), 1)
    numbers = b"".join(n.to_bytes(4, "little") for n in (2, 2, 11, 35, 235))
    assert written == (b"Sort" + numbers) * 8


def test_the_stm32f105_captures_exceptions_have_no_exits_and_no_times() -> None:
    facts = exceptions.read([stm32f105()])
    assert [(row.number, row.entered, row.inclusive.count) for row in facts.rows] == [(44, 8, 0)]
    assert (facts.packets, facts.span, facts.deepest) == (16, None, 1)


# -- OpenCSD -----------------------------------------------------------------------
def opencsd(name: str = "itm_testdata.bin") -> bytes:
    return shared_data("opencsd_itm/" + name).read_bytes()


def published() -> List[Tuple[int, bytes, str]]:
    """Offset, bytes and words of each event."""
    text = shared_data("opencsd_itm/expected_events.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^([0-9a-f]{4}) +((?:[0-9a-f]{2} )+) +(\S.*)$", text, re.MULTILINE)
    return [(int(at, 16), bytes.fromhex(raw), words) for at, raw, words in rows]


def words_of(packet: Packet, port: "int | None") -> List[str]:
    """What must stand in expected_events.txt beside a packet."""
    name, *fields = as_tuple(packet)
    rows: Dict[str, Any] = {
        "Sync": lambda shift: ["synchronisation"],
        "Overflow": lambda: ["overflow"],
        "Stimulus": lambda _, size, value: [
            "stimulus port %d " % port,
            "size %d value 0x%0*x " % (size, 2 * size, value),
        ],
        "LocalTime": lambda delta, relation: (
            ["local timestamp", "delta %d" % delta] + (["relation %d " % relation] if relation else [])
        ),
        "GlobalTime1": lambda value, bits, wrap, change: [
            "global timestamp 1: %d payload bytes" % ((bits + 6) // 7),
            "low bits 0x%x, wrap=%d clock-change=%d" % (value, wrap, change),
        ],
        "GlobalTime2": lambda value, bits: ["(%d-bit form): upper bits 0x%x" % (bits + 26, value)],
        "Extension": lambda value, hardware, more: ["extension, stimulus port page %d" % value],
        "EventWrap": lambda flags: ["event counter wrap flags 0x%x" % flags],
        "ExceptionTrace": lambda number, action: ["exception trace number %d %s" % (number, action)],
        "PcSample": lambda address: ["PC sample 0x%08x" % address],
        "Asleep": lambda: ["PC sample: core asleep"],
        "DataValue": lambda comparator, size, value, write: [
            "comparator %d %s size %d 0x%x" % (comparator, "write" if write else "read", size, value)
        ],
        "Hardware": lambda source, size, value: [
            "discriminator %d (reserved in ARMv7-M), size %d, value 0x%x" % (source, size, value)
        ],
    }
    return rows[name](*fields)


@pytest.mark.parametrize("name", ["itm_testdata.bin", "itm_testdata_ID_0x14.bin"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_opencsds_streams_give_their_75_events(name: str, size: int) -> None:
    expected = published()
    assert len(expected) == 75
    skipped, *found = timeline.placed(chunks(opencsd(name), size), sync=True)
    assert skipped.packet == Error(SKIPPED)
    assert found[0].offset == 16
    assert [event.offset for event in found] == [offset for offset, _, _ in expected]
    for event, (_, _, words) in zip(found, expected):
        for part in words_of(event.packet, event.port):
            assert part in words + " "


def test_opencsds_stream_waits_for_its_sync_and_says_what_it_skipped() -> None:
    capture = read_capture([opencsd()], sync=True)
    assert (capture.skipped, capture.syncs, capture.errors, capture.unknown) == (16, 5, {}, 2)
    assert list(capture.samples) == [0x1000, 0x1080, 0xFFFFFF01]


def test_opencsds_frames_are_recognised_and_unframed() -> None:
    frames = opencsd("itm_testdata_ID_0x14.bin")
    assert read_capture([frames]).trace_id == 0x14
    assert read_capture([frames], tpiu=0x14).packets == read_capture([opencsd()]).packets


# -- the capture as it was on the pin: with the ETM's stream, in frames ------------
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("full_sync_every", [0, 8])
def test_the_stm32f105_capture_in_frames_gives_the_same_profile(seed: int, full_sync_every: int) -> None:
    etm = shared_data("sigrok_stm32f105/stream2_etm.bin").read_bytes()
    frames = framed(mixed((1, stm32f105()), (2, etm), seed), full_sync_every)
    bare = read_capture([stm32f105()])
    for tpiu in (None, "auto", 1):
        capture = read_capture(chunks(frames, 1000), tpiu=tpiu)
        assert (capture.trace_id, capture.samples, capture.quality) == (1, bare.samples, 1.0)
