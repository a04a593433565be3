"""TPIU frames become the bytes of each source; bare streams and frames are told apart."""

from __future__ import annotations

import ast
import random
import re
from typing import Dict, List, Tuple

import pytest

from gdb_prof.errors import FileError
from gdb_prof.swo.capture import read_capture
from gdb_prof.swo.tpiu import Block, Frames, by_id, choose_id, looks_framed
from shared_data import shared_data
from swo_streams import chunks, framed, mixed, received, stream_of

PCS = [0x08000100 + 2 * (i * i % 97) for i in range(800)]
ITM = stream_of(PCS)
OTHER = bytes(random.Random(1).choices(range(256), k=len(ITM) // 3))


def unframed(raw: bytes, size: int = 0) -> Tuple[Frames, List[Block]]:
    """The frames' counters, and the blocks, those of one ID that follow each other put together."""
    frames, joined = Frames(), []
    parts = chunks(raw, size) if size else [raw]
    for source, content in [b for part in parts for b in frames.feed(part)] + frames.finish():
        if joined and joined[-1][0] == source:
            joined[-1] = (source, joined[-1][1] + content)
        else:
            joined.append((source, content))
    return frames, joined


def vectors() -> List[Tuple[str, bytes, List[Block], Dict[str, int]]]:
    found = []
    for line in shared_data("vectors/tpiu_vectors.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, raw, blocks, counters = line.split(" | ")[:4]
            parts = re.findall(r"id(\w\w): ((?:[0-9a-f]{2} ?)+)", re.sub(r"\[.*?\] ", "", blocks))
            expected = [(int(source, 16), bytes.fromhex(content)) for source, content in parts]
            # the same ID before and after a dropped frame
            joined: List[Block] = []
            for source, content in expected:
                if joined and joined[-1][0] == source:
                    content = joined.pop()[1] + content
                joined.append((source, content))
            found.append((name, bytes.fromhex(raw), joined, ast.literal_eval(counters)))
    return found


def test_every_published_vector_is_unframed_in_chunks_of_any_size() -> None:
    assert len(vectors()) == 11
    for name, raw, expected, counters in vectors():
        for size in (0, 1, 2, 3, 5, 16, 17):
            frames, found = unframed(raw, size)
            assert found == expected, (name, size)
            assert {key: getattr(frames, key) for key in counters} == counters, (name, size)


def test_a_frame_cut_by_a_full_sync_is_dropped_and_counted() -> None:
    raw = next(raw for name, raw, _, _ in vectors() if name == "lost-byte")
    assert unframed(raw)[0].dropped == 1


def test_bytes_before_the_first_id_are_of_no_source() -> None:
    raw = bytes(16) + framed([(1, b"\x01\x41")])
    frames, found = unframed(raw)
    assert frames.without_id == 15
    assert found[0] == (1, b"\x01\x41")


def test_what_is_left_of_a_frame_at_the_end_is_counted() -> None:
    raw = framed([(1, ITM[:100])])
    assert unframed(raw[:-3])[0].left == 13


# -- alignment ---------------------------------------------------------------------
@pytest.mark.parametrize("cut", range(16))
@pytest.mark.parametrize("full_sync_every", [0, 5])
def test_the_first_whole_frame_is_found_wherever_the_capture_begins(cut: int, full_sync_every: int) -> None:
    raw = framed(mixed((1, ITM), (2, OTHER), 7), full_sync_every)[4 if full_sync_every else 0 :]
    for size in (0, 11):
        frames, found = unframed(raw[cut:], size)
        assert (frames.skipped + cut) % 16 == 0
        whole = by_id(unframed(raw[16 * ((cut + 15) // 16) :])[1])
        assert by_id(found) == whole
        assert choose_id(by_id(found)) == 1


def test_half_syncs_before_the_first_full_sync_do_not_shift_the_frames() -> None:
    frame = framed([(1, b"\x01\x41\x01\x42")])[:16]
    raw = b"\x55" * 3 + frame[:6] + b"\xff\x7f" + frame[6:] + b"\xff\xff\xff\x7f" + frame
    frames, found = unframed(raw)
    assert (frames.skipped, frames.full_syncs, frames.half_syncs, frames.frames) == (3, 1, 1, 2)
    assert by_id(found)[1] == b"\x01\x41\x01\x42" * 2


def test_the_slow_framer_and_the_frames_agree_on_random_sources() -> None:
    chance = random.Random(3)
    for _ in range(300):
        sources = [
            (chance.randrange(1, 0x70), chance.randbytes(chance.randrange(1, 20)))
            for _ in range(chance.randrange(1, 12))
        ]
        expected: Dict[int, bytes] = {}
        for source, content in sources:
            expected[source] = expected.get(source, b"") + content
        # a sync before the first frame, so that the alignment is known
        raw = framed(sources, full_sync_every=chance.choice((1, 1000)))
        found = by_id(unframed(raw, chance.randrange(40))[1])
        found.pop(0, None)
        assert found == expected


def test_data_as_padding_is_not_sane() -> None:
    assert unframed(framed([(1, ITM[:100]), (0, bytes(100))]))[0].sane
    assert not unframed(framed([(1, ITM[:100]), (0, b"\x55" * 100)]))[0].sane


def test_reserved_ids_are_not_sane() -> None:
    assert unframed(framed([(0x6F, ITM[:100]), (1, ITM[:100])]))[0].sane
    assert not unframed(framed([(0x70, ITM[:100]), (1, ITM[:100])]))[0].sane


# -- bare or framed ----------------------------------------------------------------
FRAMED = {
    "one source": framed([(1, ITM)]),
    "two sources": framed(mixed((1, ITM), (2, OTHER), 1)),
    "mostly the other": framed(mixed((0x33, ITM[: len(ITM) // 4]), (2, OTHER * 2), 1)),
    "full syncs": framed(mixed((1, ITM), (2, OTHER), 1), 4),
    "begun within a frame": framed(mixed((1, ITM), (2, OTHER), 1))[5:],
    "short": framed(mixed((1, ITM[:200]), (2, b""), 1)),
    "mostly padding": framed(
        [part for i in range(0, 3000, 7) for part in ((1, ITM[i : i + 7]), (0, bytes(70)))]
    ),
}
BARE = {
    "samples": ITM,
    "no sync": ITM[7:],
    "short": ITM[:200],
    "text": b"".join(bytes([0x01, c]) for c in b"the quick brown fox jumps over the lazy dog\n" * 20),
    "asleep": b"\x15\0" * 500,
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "few bytes": b"\x01\x41",
    "nothing": b"",
}


@pytest.mark.parametrize("raw", FRAMED.values(), ids=FRAMED.keys())
def test_frames_given_as_a_bare_stream_are_recognised(raw: bytes) -> None:
    assert looks_framed(raw)
    assert read_capture([raw]).trace_id == (0x33 if raw is FRAMED["mostly the other"] else 1)


@pytest.mark.parametrize("raw", BARE.values(), ids=BARE.keys())
def test_a_bare_stream_is_not_taken_for_frames(raw: bytes) -> None:
    assert not looks_framed(raw)
    assert read_capture([raw]).trace_id is None


@pytest.mark.parametrize("tpiu", ["auto", 1])
@pytest.mark.parametrize("raw", BARE.values(), ids=BARE.keys())
def test_a_bare_stream_given_as_frames_is_refused(raw: bytes, tpiu: "str | int") -> None:
    with pytest.raises(FileError, match=r"TPIU frames") as raised:
        read_capture([raw], tpiu=tpiu)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["sigrok_stm32f105/stream1_itm.bin", "opencsd_itm/itm_testdata.bin"])
def test_a_recorded_bare_stream_is_neither_taken_for_frames_nor_read_as_frames(name: str) -> None:
    raw = shared_data(name).read_bytes()
    for length in (len(raw), 200, 100, 20):
        assert not looks_framed(raw[:length])
        for tpiu in ("auto", 1, 0x14):
            with pytest.raises(FileError):
                read_capture([raw[:length]], tpiu=tpiu)


@pytest.mark.parametrize("length", [64, 150, 500, 2000])
def test_random_bytes_are_no_frames(length: int) -> None:
    for seed in range(200):
        raw = random.Random(seed).randbytes(length)
        assert not looks_framed(raw)
        with pytest.raises(FileError):
            read_capture([raw], tpiu="auto")


def test_random_bytes_given_as_frames_are_refused_whatever_the_id() -> None:
    for seed in range(20):
        raw = random.Random(seed).randbytes(2000)
        for source in by_id(unframed(raw)[1]):
            with pytest.raises(
                FileError, match=r"^no TPIU frames: their trace IDs would be reserved or too many"
            ):
                read_capture([raw], tpiu=source)


@pytest.mark.parametrize(
    "ratio", [0.5, 0.6, 0.67, 0.75, 0.8, 0.9, 1.1, 1.2, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5]
)
def test_what_a_receiver_at_another_bit_rate_makes_of_a_stream_is_no_frames(ratio: float) -> None:
    recorded = shared_data("sigrok_stm32f105/stream1_itm.bin").read_bytes()
    assert not looks_framed(received(recorded, ratio))
    assert not looks_framed(received(ITM, ratio))


def test_an_id_that_is_not_there_or_carries_something_else_is_named_with_those_found() -> None:
    raw = FRAMED["two sources"]
    with pytest.raises(FileError, match=r"^no data with trace ID 5 in the TPIU frames; IDs found: 1, 2$"):
        read_capture([raw], tpiu=5)
    with pytest.raises(FileError, match=r"^trace ID 2 of the TPIU frames does not carry ITM packets; "):
        read_capture([raw], tpiu=2)


def test_of_two_sources_the_one_that_reads_as_itm_is_chosen() -> None:
    assert choose_id({1: OTHER, 0x14: ITM, 2: OTHER}) == 0x14
    assert choose_id({0: ITM, 0x7D: ITM, 0x70: ITM}) is None
    assert choose_id({1: OTHER}) is None
    assert choose_id({}) is None
