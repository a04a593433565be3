"""A whole stream becomes samples and counts; streams that are none are told from damaged ones."""

from __future__ import annotations

import random
from typing import List

import pytest

from gdb_prof.swo import capture as capture_module
from gdb_prof.swo.capture import PROHIBITED, Capture, read_capture
from gdb_prof.swo.loss import Loss
from gdb_prof.swo.quality import quality
from shared_data import shared_data
from swo_streams import (
    ASLEEP,
    ENTER,
    EXIT,
    OVERFLOW,
    SYNC,
    chunks,
    damaged,
    exception,
    pc,
    received,
    stimulus,
    stream_of,
    ticks,
    wrap,
)

PCS = [0x08000100 + 2 * (i * 7919 % 500) for i in range(10_000)]
STREAM = stream_of(PCS)


def read(raw: bytes) -> Capture:
    return read_capture([raw])


# -- samples -----------------------------------------------------------------------
def test_a_stream_made_of_pcs_gives_the_pcs_back_in_order() -> None:
    assert len(STREAM) == 54_887
    capture = read(STREAM)
    assert [pc for pc in capture.samples if pc != capture_module.ASLEEP] == PCS
    assert (capture.errors, capture.quality, capture.unknown) == ({}, 1.0, 0)


def test_all_else_in_that_stream_is_counted() -> None:
    capture = read(STREAM)
    assert capture.samples.count(capture_module.ASLEEP) == 250
    assert (capture.syncs, capture.overflows, capture.exceptions) == (1, 1, 400)
    assert capture.stimulus == {0: 20, 1: 189}
    assert capture.event_wraps == {"CPI": 17, "EXC": 17, "SLEEP": 17, "LSU": 17, "FOLD": 16, "CYC": 16}
    assert capture.ticks == sum(12000 + i % 1000 for i in range(0, 10_000, 12))
    assert capture.packets == 10_000 + 250 + 1 + 1 + 400 + 20 + 189 + 100 + 834


@pytest.mark.parametrize("size", [1, 5, 1000, 1 << 16, 1 << 20])
def test_a_capture_does_not_depend_on_the_chunks(size: int) -> None:
    raw = damaged(STREAM, 0.01, 1)
    assert read_capture(chunks(raw, size)) == read(raw)


def test_samples_without_an_address_are_marks_that_no_pc_can_be() -> None:
    raw = pc(0x08000218) + b"\x15\0" + b"\x15\xff" + pc(0xFFFFFF01) + pc(0xFFFFFF03) + pc(0xFFFFFFFF) + pc(0)
    assert list(read(raw).samples) == [
        0x08000218,
        capture_module.ASLEEP,
        PROHIBITED,
        0xFFFFFF00,
        0xFFFFFF02,
        0xFFFFFFFF,
        0,
    ]


def test_malformed_pc_samples_are_errors_and_no_samples() -> None:
    capture = read(b"\x15\x12\x16\x10\x10" + pc(0x08000218))
    assert (list(capture.samples), capture.errors, capture.error_bytes) == ([0x08000218], {"undefined": 2}, 5)


def test_the_part_of_the_samples_that_is_code_leaves_out_those_without_an_address() -> None:
    capture = read(pc(0x08000218) + pc(0x0800021A) + pc(0x20000101) + b"\x15\0\x15\xff")
    assert capture.part(lambda address: address < 0x20000000) == pytest.approx(2 / 3)
    assert read(b"\x15\0").part(lambda address: True) is None


def test_ports_above_31_are_counted_by_their_page_until_a_sync() -> None:
    raw = (
        bytes.fromhex("01 41 18 01 42 78 f9 43 08 01 44 18")
        + SYNC
        + stimulus(2, 0)
        + b"\x1c"
        + stimulus(3, 0)
    )
    assert read(raw).stimulus == {0: 2, 32: 1, 255: 1, 2: 1, 3: 1}


@pytest.mark.parametrize("cut", range(5))
def test_a_truncated_packet_is_one_and_no_offence(cut: int) -> None:
    capture = read(pc(0x08000218) + pc(0x0800021A)[:cut])
    assert (capture.truncated, capture.quality) == (1 if cut else 0, 1.0)


def test_an_empty_stream_has_no_quality() -> None:
    capture = read_capture([])
    assert (capture.size_bytes, capture.packets, capture.quality, capture.looks_wrong) == (0, 0, 0.0, False)


def test_waiting_for_a_sync_skips_what_is_before_it() -> None:
    raw = b"\x17\0\x01\x41" + SYNC + pc(0x08000218)
    capture = read_capture([raw], sync=True)
    assert (capture.skipped, capture.errors, list(capture.samples)) == (4, {}, [0x08000218])
    never = read_capture([b"\x17\0\x01\x41"], sync=True)
    assert (never.skipped, never.syncs, never.packets) == (4, 0, 0)


def test_memory_holds_only_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_module, "_REMEMBERED", 100)
    raw = b"".join(pc(i) + stimulus(0, i, 4) + OVERFLOW + ticks(i) for i in range(2000))
    capture = read_capture(chunks(raw, 500))
    assert list(capture.samples) == list(range(2000))
    assert (capture.stimulus, capture.overflows) == ({0: 2000}, 2000)


# -- time --------------------------------------------------------------------------
def test_late_timestamps_add_up_and_overflow_leaves_a_gap() -> None:  # case 9
    raw = bytes.fromhex("01 41 d0 0a 01 42 e0 0a 01 43 f0 0a 70 70 70 c0 7f 17 18 02 00 08 c0 05")
    capture = read(raw)
    assert (capture.ticks, capture.delayed, capture.overflows) == (162, 3, 3)
    assert capture.loss == Loss(
        timed_ticks=152, timed_samples=1, gap_ticks=127, gap_samples=0, overflows=3, unbounded=0
    )


def timed(count: int, period: int) -> bytes:
    return b"".join(pc(0x08000100) + ticks(period) for _ in range(count))


def test_lost_samples_are_estimated_by_the_rate_of_the_others() -> None:
    # one sample per 100 ticks; 700 ticks with an overflow and two samples: five are missing
    gap = OVERFLOW + pc(0x08000100) * 2 + ticks(700)
    capture = read(timed(20, 100) + gap + timed(20, 100))
    assert (capture.loss.gap_ticks, capture.loss.gap_samples, capture.loss.unbounded) == (700, 2, 0)
    assert capture.lost == 5


def test_the_gaps_add_up() -> None:
    gap = timed(20, 100) + OVERFLOW + pc(0x08000100) + ticks(400)
    capture = read(gap * 10)
    assert (capture.loss.gap_ticks, capture.loss.gap_samples, capture.lost) == (4000, 10, 30)


def test_samples_before_the_first_timestamp_are_not_of_the_timed_ones() -> None:
    # one sample per 100 ticks between the timestamps; 700 ticks with an overflow and two: five are missing
    gap = OVERFLOW + pc(0x08000100) * 2 + ticks(700)
    capture = read(pc(0x08000100) * 1000 + ticks(100) + timed(20, 100) + gap + timed(20, 100))
    assert (capture.loss.timed_samples, capture.loss.timed_ticks, capture.lost) == (42, 4700, 5)


def test_where_nothing_is_lost_none_are() -> None:
    assert read(timed(20, 100)).lost == 0


@pytest.mark.parametrize(
    "raw",
    [
        OVERFLOW + pc(0x08000100) * 20,  # no timestamps
        ticks(100) + (OVERFLOW + pc(0x08000100) + ticks(100)) * 3,  # none without loss
        ticks(100) + OVERFLOW + pc(0x08000100) + ticks(100) * 2,  # no sample where nothing is lost
    ],
)
def test_without_timestamps_lost_samples_are_unknown(raw: bytes) -> None:
    assert read(raw).lost is None


@pytest.mark.parametrize(
    ("raw", "unbounded"),
    [
        (OVERFLOW + timed(20, 100), 1),
        (timed(20, 100) + OVERFLOW + pc(0x08000100) + OVERFLOW, 2),
        (OVERFLOW + timed(20, 100) + OVERFLOW, 2),
        (OVERFLOW * 3, 3),
    ],
)
def test_what_overflows_cost_that_no_two_timestamps_enclose_is_unknown(raw: bytes, unbounded: int) -> None:
    capture = read(raw)
    assert (capture.overflows, capture.loss.unbounded, capture.lost) == (unbounded, unbounded, None)


def test_overflows_that_no_two_timestamps_enclose_are_told_from_the_others() -> None:
    gap = OVERFLOW + pc(0x08000100) * 2 + ticks(700)
    capture = read(OVERFLOW * 2 + timed(20, 100) + gap + timed(20, 100) + OVERFLOW)
    assert (capture.overflows, capture.loss.unbounded, capture.lost) == (4, 3, 5)


# -- no stream at all (case 4) -----------------------------------------------------
SEEDS = range(250)


def test_random_bytes_look_wrong_with_every_seed() -> None:
    assert all(read(random.Random(seed).randbytes(2000)).looks_wrong for seed in SEEDS)


def test_the_quality_of_random_bytes_lies_far_below_that_of_a_damaged_stream() -> None:
    noise = [read(random.Random(seed).randbytes(2000)).quality for seed in SEEDS]
    worst = [read(damaged(STREAM[:4000], 0.1, seed)).quality for seed in SEEDS]
    assert max(noise) + 0.1 < min(worst)


@pytest.mark.parametrize("part", [0.001, 0.01, 0.05])
def test_a_stream_with_damaged_bytes_does_not_look_wrong(part: float) -> None:
    recorded = shared_data("sigrok_stm32f105/stream1_itm.bin").read_bytes()
    for raw in (recorded, STREAM[:5000]):
        captures = [read(damaged(raw, part, seed)) for seed in SEEDS]
        assert not any(capture.looks_wrong for capture in captures)


@pytest.mark.parametrize(
    "name",
    [
        "sigrok_stm32f105/stream1_itm.bin",
        "opencsd_itm/itm_testdata.bin",
        "opencsd_itm/itm_testdata_ID_0x14.bin",
    ],
)
def test_recorded_streams_do_not_look_wrong(name: str) -> None:
    assert not read(shared_data(name).read_bytes()).looks_wrong


WRONG_RATES = [0.25, 0.33, 0.5, 0.6, 0.67, 0.75, 0.8, 0.9, 1.1, 1.2, 1.25, 1.5, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("ratio", WRONG_RATES)
def test_what_a_receiver_at_another_bit_rate_makes_of_a_stream_looks_wrong(ratio: float) -> None:
    recorded = shared_data("sigrok_stm32f105/stream1_itm.bin").read_bytes()
    for raw in (recorded, STREAM[:5000]):
        assert read(received(raw, ratio)).looks_wrong


@pytest.mark.parametrize("ratio", [1.75, 2.0, 2.5])
def test_a_stream_that_turns_into_other_packets_by_chance_has_no_samples_to_speak_of(ratio: float) -> None:
    # it repeats itself, and what it turns into does, too: at half the rate mostly stimulus packets
    recorded = shared_data("sigrok_stm32f105/stream1_itm.bin").read_bytes()
    for raw in (recorded, STREAM[:5000]):
        capture = read(received(raw, ratio))
        assert capture.looks_wrong or len(capture.samples) <= capture.packets // 100


@pytest.mark.parametrize("ratio", [0.97, 1.0, 1.03])
def test_what_a_receiver_at_nearly_the_bit_rate_makes_of_a_stream_is_the_stream(ratio: float) -> None:
    assert received(STREAM[:5000], ratio) == STREAM[:5000]


def sound_streams() -> List[bytes]:
    events = exception(15, ENTER) + exception(15, EXIT)
    return [
        STREAM,
        b"\x01\x41" * 100,
        ASLEEP * 100,
        events * 50,
        wrap(0x3F) * 100,
        OVERFLOW * 100,
        SYNC * 50,
        ticks(5) * 100,
    ]


@pytest.mark.parametrize("raw", sound_streams(), ids=len)
def test_sound_streams_are_of_full_quality(raw: bytes) -> None:
    assert quality(raw) == read(raw).quality == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_the_quality_of_bytes_is_that_of_their_capture(seed: int) -> None:
    raw = random.Random(seed).randbytes(500)
    assert quality(raw) == pytest.approx(read(raw).quality)
