"""Chunks of any size become tokens; syncs are found in the raw bits; what is held back is bounded."""

from __future__ import annotations

import itertools
from typing import List, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_prof.swo import stream as stream_module
from gdb_prof.swo.packets import (
    CUT,
    RESERVED,
    SKIPPED,
    TRUNCATED,
    ZEROS,
    Asleep,
    DataMatch,
    Error,
    Overflow,
    Packet,
    PcSample,
    PmuOverflow,
    Prohibited,
    Stimulus,
    Sync,
    packet,
)
from gdb_prof.swo.stream import COMPLETE, TOKEN, Run, Stream
from swo_streams import (
    ENTER,
    EXIT,
    RETURN,
    SYNC,
    chunks,
    decoded,
    exception,
    flat,
    packets,
    pc,
    pieces,
    stimulus,
    stream_of,
    ticks,
)

A, B = Stimulus(0, 1, 0x41), Stimulus(0, 1, 0x42)
PC = PcSample(0x08000218)


def shifted(raw: bytes, bits: int) -> bytes:
    """With so many one bits before it."""
    value = int.from_bytes(raw, "little") << bits | (1 << bits) - 1
    return value.to_bytes(len(raw) + 1, "little")


def followed(raw: bytes, rest: bytes) -> bytes:
    """`rest` with its first bit right after the last one bit of `raw`."""
    value = int.from_bytes(raw, "little")
    at = value.bit_length()
    return (value | int.from_bytes(rest, "little") << at).to_bytes((at + 7) // 8 + len(rest), "little")


def without_bits(raw: bytes, at: int, bits: int) -> bytes:
    """Bits lost from bit `at` on, and the last byte with them."""
    value = int.from_bytes(raw, "little")
    value = value & (1 << at) - 1 | value >> at + bits << at
    return value.to_bytes(len(raw), "little")[:-1]


# -- cases from people who do this job ---------------------------------------------
def test_a_stream_without_a_sync_is_decoded_from_its_first_byte() -> None:  # case 1
    raw = bytes.fromhex("01 41 17 18 02 00 08 15 00 70 01 42")
    stream = Stream()
    found = [p for _, p in flat(stream.feed(raw) + stream.finish())]
    assert (found, stream.syncs) == ([A, PC, Asleep(), Overflow(), B], 0)


NOISE = bytes.fromhex("a5 3c 88 99 00 00 00 00 00 80 01 41")


def test_noise_before_the_first_sync_is_skipped_and_counted() -> None:  # case 3
    stream = Stream(sync=True)
    found = flat(stream.feed(NOISE) + stream.finish())
    assert found == [(0, Error(SKIPPED)), (4, Sync()), (10, A)]
    assert (stream.skipped, stream.syncs) == (4, 1)


def test_without_waiting_a_sync_is_found_within_a_packet_that_would_swallow_it() -> None:  # case 3
    assert decoded(NOISE)[1:] == [(2, Error(CUT, b"\x88\x99")), (4, Sync()), (10, A)]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (7, [PC, A]),
        (4, [PC, Error(TRUNCATED, b"\x01")]),
        (3, [PC]),
    ],
)
def test_packets_cut_by_reads_are_kept_and_empty_reads_do_no_harm(end: int, expected: List[Packet]) -> None:
    # case 6
    parts = [bytes.fromhex("17 18 02"), b"", bytes.fromhex("00 08 01"), b"", b"\x41"]
    raw = b"".join(parts)
    kept = {7: parts, 4: parts[:4], 3: [parts[0], b"", raw[3:5]]}[end]
    assert [p for _, p in flat(pieces(kept))] == expected


def test_packets_of_newer_cores_and_unknown_ones_stay_in_step() -> None:  # case 13
    raw = bytes.fromhex("1d 42 45 01 15 ff 17 18 02 00 08")
    assert packets(raw) == [PmuOverflow(0x42), DataMatch(0), Prohibited(), PC]


# -- syncs in the bits -------------------------------------------------------------
@pytest.mark.parametrize("bits", range(1, 8))
def test_after_a_sync_that_is_not_on_a_byte_the_bits_are_shifted(bits: int) -> None:
    raw = shifted(SYNC + b"\x01\x41" + pc(0x08000218) * 3, bits) + b"\x3f"
    stream = Stream()
    found = [p for _, p in flat(stream.feed(raw) + stream.finish())]
    sync = found.index(Sync(bits))
    assert found[sync + 1 : sync + 3] == [A, PC]
    assert (stream.syncs, stream.misaligned) == (1, 1)


@pytest.mark.parametrize("bits", range(1, 8))
def test_the_next_sync_on_a_byte_puts_it_right_again(bits: int) -> None:
    raw = shifted(SYNC + (b"\x01\x41" + pc(0x08000218)) * 4, bits) + b"\x70" + SYNC + b"\x01\x42"
    found = decoded(raw)
    assert [p for _, p in found if p in (Sync(bits), A, PC)] == [Sync(bits)] + [A, PC] * 4
    assert found[-2][1] == Sync()
    assert found[-1] == (len(raw) - 2, B)


@pytest.mark.parametrize(
    ("raw", "syncs"),
    [
        ("00 00 00 00 00 80", 1),
        ("ff 00 00 00 00 00 80", 1),
        ("00 00 00 00 00 40", 0),  # 46 zeros
        ("7f 00 00 00 00 00 40", 1),  # 47, one of them in the byte before
        ("01 00 00 00 00 00 01", 1),  # 7 before, 40, none after
        ("03 00 00 00 00 00 01", 0),
        ("00 00 00 00 00 00 01", 1),
        ("00 00 00 00 80", 0),
        ("03 00 00 00 00 40", 0),  # the most zeros that packets can have: 6 + 32 + 6
    ],
)
def test_a_sync_is_47_zero_bits_or_more_and_a_one(raw: str, syncs: int) -> None:
    whole = followed(bytes.fromhex(raw), (b"\x01\x41" + pc(0x08000218)) * 4)
    for size in (1, 2, 100):
        stream = Stream()
        for chunk in chunks(whole, size):
            stream.feed(chunk)
        stream.finish()
        assert stream.syncs == syncs


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # the payload's own zeros, then the sync's
        ("17 00 00 00 00 00 00 00 00 00 80", [(0, PcSample(0)), (5, Sync())]),
        # a long sync after a packet
        ("17 00 00 00 00 00 00 00 00 00 00 00 80", [(0, PcSample(0)), (5, Sync())]),
        # one that leaves three of the payload's four bytes
        ("17 00 00 00 00 00 00 00 00 80", [(0, Error(CUT, b"\x17\0\0\0")), (4, Sync())]),
        ("17 00 00 00 00 00 80", [(0, Error(CUT, b"\x17")), (1, Sync())]),
        ("c0 81 00 00 00 00 00 80", [(0, Error(CUT, b"\xc0\x81")), (2, Sync())]),
        ("01 00 00 00 00 00 00 80", [(0, Stimulus(0, 1, 0)), (2, Sync())]),
    ],
)
def test_zeros_before_a_sync_belong_to_the_packet_that_needs_them(
    raw: str, expected: List[Tuple[int, Packet]]
) -> None:
    for size in range(1, 13):
        assert decoded(bytes.fromhex(raw), size) == expected


# -- a line that breaks ------------------------------------------------------------
PCS = [0x08000100 + 2 * (i * 7919 % 3000) for i in range(50)]
TEXT = b"The quick brown fox jumps over the lazy dog, 0123456789 times a day; or so they say.\r\n"
SOUND = {
    "all kinds": stream_of(PCS)[len(SYNC) :],
    "samples": b"".join(map(pc, PCS)),
    "text": b"".join(stimulus(0, character) for character in TEXT * 2),
    "exceptions": b"".join(
        exception(15, ENTER)
        + ticks(80 + i * 37)
        + exception(15, EXIT)
        + exception(0, RETURN)
        + ticks(971 * i)
        for i in range(1, 30)
    ),
}
"""Streams without a sync."""
sound = pytest.mark.parametrize("stream", SOUND.values(), ids=SOUND.keys())


def missing(stream: bytes, cut: int, put_in: bytes) -> List[int]:
    """Offsets of the packets of `stream` that are gone when that is put in at `cut`."""
    found = set(decoded(stream[:cut] + put_in + stream[cut:]))
    moved = len(put_in)
    # a packet before is where it was, one after is moved
    return [at for at, p in decoded(stream) if (at if at < cut else at + moved, p) not in found]


def near(gone: List[int], cut: int) -> bool:
    """Whether these are few packets and round about the place; a packet has nine bytes at most."""
    return len(gone) <= 8 and all(cut - 9 < at < cut + 32 for at in gone)


@sound
@pytest.mark.parametrize("zeros", [*range(5, 21), 31, 32, 33, 64, 100, 199, 200])
def test_a_break_of_the_line_costs_the_packets_around_it_only(stream: bytes, zeros: int) -> None:
    for cut in range(60, 120):
        gone = missing(stream, cut, bytes(zeros))
        assert near(gone, cut), (cut, gone)


@sound
def test_a_break_of_any_length_costs_the_packets_around_it_only(stream: bytes) -> None:
    for zeros in range(5, 201):
        assert near(missing(stream, 100, bytes(zeros)), 100), zeros


@sound
def test_whatever_byte_follows_the_break_it_costs_the_packets_around_it_only(stream: bytes) -> None:
    for zeros, cut, byte in itertools.product((6, 40), (100, 101, 102), range(0x100)):
        if byte != 0x80:  # with that it is a sync
            assert near(missing(stream, cut, bytes(zeros) + bytes([byte])), cut), (zeros, cut, byte)


def test_the_zeros_of_a_break_are_an_error_of_their_length() -> None:
    raw = b"\x01\x41" + bytes(7) + pc(0x08000218) * 5
    expected: List[Tuple[int, Packet]] = [(0, A), (2, Error(ZEROS, bytes(5)))]
    assert decoded(raw) == expected + [(9 + 5 * i, PC) for i in range(5)]
    assert pieces([raw])[1].length == 7


def test_a_packet_that_the_break_hits_takes_the_zeros_it_needs() -> None:
    raw = b"\x17\x18" + bytes(9) + pc(0x08000218) * 5
    assert decoded(raw)[:3] == [(0, PcSample(0x18)), (5, Error(ZEROS, bytes(5))), (11, PC)]


def test_with_too_few_bytes_to_tell_zeros_are_no_sync() -> None:
    zeros: Tuple[int, Packet] = (0, Error(ZEROS, bytes(5)))
    assert decoded(bytes(6) + b"\x01\x41") == [zeros, (6, A)]
    assert decoded(bytes(6) + b"\x01") == [zeros, (6, Error(TRUNCATED, b"\x01"))]


def test_a_break_before_the_first_sync_is_not_taken_for_one() -> None:
    raw = b"\x41" + bytes(40) + SOUND["samples"][:100] + SYNC + b"\x01\x42"
    for size in (0, 1, 50):
        assert decoded(raw, size, sync=True) == [(0, Error(SKIPPED)), (141, Sync()), (147, B)]


def test_an_endless_break_is_counted_not_kept() -> None:
    stream = Stream()
    stream.feed(b"\x01\x41")
    for _ in range(1000):
        stream.feed(bytes(100))
        assert stream.held <= 32
    found = flat_of(stream, pc(0x08000218) * 5)
    assert found[:2] == [(2, Error(ZEROS, bytes(5))), (100_002, PC)]


@sound
@pytest.mark.parametrize("bits", range(1, 8))
def test_where_bits_are_lost_the_next_sync_puts_it_right(stream: bytes, bits: int) -> None:
    after = decoded(stream)
    for at in range(8 * 60, 8 * 80, 3):
        raw = without_bits(stream[:100] + SYNC + stream, at, bits)
        found = decoded(raw)
        sync = next(i for i, (_, p) in enumerate(found) if isinstance(p, Sync))
        assert found[sync][1] == Sync(8 - bits)
        moved = 100 + len(SYNC) - 1  # a byte counts where its first bit is
        # the last packet is cut
        assert found[sync + 1 :][: len(after) - 1] == [(o + moved, p) for o, p in after[:-1]]


@sound
def test_zeros_and_lost_bits_cut_at_any_byte_read_the_same(stream: bytes) -> None:
    broken = stream[:70] + bytes(30) + stream[71:90]
    lost = without_bits(stream[:30] + SYNC + stream[:100], 99, 3)
    raw = broken + lost + SYNC + bytes(6) + b"\x01" + stream[3:50]
    whole = decoded(raw)
    assert decoded(raw, 1) == whole
    for cut in range(len(raw)):
        assert flat(pieces([raw[:cut], raw[cut:]])) == whole, cut


# -- zeros without end -------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
def test_an_endless_run_of_zeros_is_counted_not_kept(size: int) -> None:
    stream = Stream()
    stream.feed(b"\x01\x41\x17")
    for chunk in chunks(bytes(100_000), size):
        assert stream.feed(chunk) == []
        assert stream.held <= 32
    found = flat_of(stream, b"\x80\x01\x42")
    assert found == [(2, PcSample(0)), (7, Sync()), (100_004, B)]


def test_an_endless_run_of_zeros_at_the_end_is_no_sync() -> None:
    raw = b"\x01\x41" + bytes(10_000)
    assert decoded(raw, 999) == decoded(raw) == [(0, A), (2, Error(ZEROS, bytes(5)))]


def test_what_may_be_a_sync_cut_short_by_the_end_is_truncated() -> None:
    assert decoded(b"\x01\x41" + bytes(5)) == [(0, A), (2, Error(TRUNCATED, bytes(5)))]


def flat_of(stream: Stream, rest: bytes) -> List[Tuple[int, Packet]]:
    """What `rest` and the end give, at the offsets that the pieces say."""
    found: List[Tuple[int, Packet]] = []
    for piece in stream.feed(rest) + stream.finish():
        if isinstance(piece, Run):
            sizes = [0, *itertools.accumulate(map(len, piece.tokens))]
            found += [(piece.offset + at, packet(token)) for at, token in zip(sizes, piece.tokens)]
        else:
            found.append((piece.offset, piece.packet))
    return found


# -- any chunks --------------------------------------------------------------------
@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from(
            [b"\0", SYNC, b"\x17", pc(0), b"\xc0\x81", b"\x01", b"\x70", b"\x40", b"\0" * 6, b"\x01\x41" * 20]
        )
    ),
    st.data(),
)
def test_chunks_do_not_matter(parts: List[bytes], data: st.DataObject) -> None:
    raw = b"".join(parts)
    sizes = data.draw(st.lists(st.integers(0, 9), max_size=len(raw)))
    ends = [*itertools.accumulate(sizes), len(raw)]
    cut = [raw[a:b] for a, b in zip([0, *ends], ends)]
    assert flat(pieces(cut)) == decoded(raw)


@given(st.binary(max_size=200), st.integers(1, 10))
def test_no_bytes_raise(raw: bytes, size: int) -> None:
    assert decoded(raw, size) == decoded(raw)
    assert decoded(raw, size, sync=True) == decoded(raw, sync=True)


def test_a_stream_of_samples_comes_back_with_its_addresses() -> None:
    pcs = [0x08000100 + 2 * (i * 7919 % 500) for i in range(2000)]
    found = [p.address for p in packets(stream_of(pcs)) if isinstance(p, PcSample)]
    assert found == pcs


def test_misread_headers_do_not_lose_the_packets_after_them() -> None:
    assert packets(b"\x80\x34\x90" + stimulus(0, 0x41)) == [
        Error(RESERVED, b"\x80"),
        Error(RESERVED, b"\x34"),
        Error(RESERVED, b"\x90"),
        A,
    ]


# -- the work is linear ------------------------------------------------------------
class Counting:
    """A tokeniser that counts the bytes it is given and the tokens it returns."""

    def __init__(self) -> None:
        self.scanned = self.tokens = 0

    def findall(self, segment: bytes) -> List[bytes]:
        self.scanned += len(segment)
        tokens = TOKEN.findall(segment)
        self.tokens += len(tokens)
        return tokens


HARD = {
    "endless timestamps": b"\xc0",
    "continued bytes": b"\xff",
    "zeros": b"\0",
    "packets of zeros": b"\x17\0\0\0\0",
    "syncs": SYNC,
    "short syncs": b"\0\0\0\0\x80",
    "syncs off their byte": b"\0\0\0\0\0\0\x01",
    "breaks": b"\0\0\0\0\0\0" + pc(0x08000218) * 12,
    "breaks and half a window": b"\0\0\0\0\0\0\xff" + b"\x41" * 30,
    "breaks and much": b"\0\0\0\0\0\0\x03" + b"\x80" * 200,
    "unfinished packets": b"\x17\0\0\0\0\0\x80",
    "timestamps that end late": b"\xc0\x80\x80\x80\x80\x80\x80\x80\0",
}


@pytest.mark.parametrize("size", [1, 100, 10_000])
@pytest.mark.parametrize("pattern", HARD.values(), ids=HARD.keys())
def test_every_byte_is_scanned_a_bounded_number_of_times(
    pattern: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = Counting()
    monkeypatch.setattr(stream_module, "TOKEN", counting)
    raw = (pattern * 20_000)[:20_000]
    stream = Stream()
    held = 0
    for chunk in chunks(raw, size):
        stream.feed(chunk)
        held = max(held, stream.held)
    stream.finish()
    # an unfinished packet is scanned again with the next chunk: nine bytes at most, and again
    # as it is cut, and its first zeros; what follows zeros is read in three ways to judge them
    assert counting.scanned <= 4 * len(raw) + 32 * (len(raw) // size + 1)
    assert counting.tokens <= 4 * len(raw) + 2 * (len(raw) // size + 1)
    assert held <= 32 + 64


def test_no_token_is_longer_than_nine_bytes_but_for_zeros() -> None:
    for header in range(1, 256):
        for filling in (b"\0", b"\x7f", b"\x80", b"\xff"):
            token = TOKEN.findall(bytes([header]) + filling * 100)[0]
            assert len(token) <= 9
            assert COMPLETE.fullmatch(token)
