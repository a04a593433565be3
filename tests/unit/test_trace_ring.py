"""Blocks of bytes become records, oldest first; what is unsound is left out and named (cases 43, 51)."""

from __future__ import annotations

import struct
from typing import Any, List, Sequence, Tuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ring_builder import MS, H, L, M, Record, block, merged, text, ticks

from gdb_prof.errors import FileError, UsageError
from gdb_prof.trace import ring
from gdb_prof.trace.assertion import check
from gdb_prof.trace.events import ALL, GIVE, IN, INHERIT, ISR, ISR_END, READY, TAKE, TICK, WAIT
from gdb_prof.trace.ring import MAGIC, Context, ObjectInfo, Ring
from gdb_prof.trace.scheduler import timeline

PUBLISHED = (12, 8)


def parse(raw: bytes, **context: Any) -> Ring:
    return ring.parse(raw, Context(**context))


def stamps(parsed: Ring) -> List[int]:
    return list(parsed.stamps)


def numbered(count: int) -> List[Record]:
    """Record i has the stamp 100 i."""
    return [(100 * i, IN, 1 + i % 2, 1 + i % 2) for i in range(count)]


def head_of(magic: int, head: int, n: int, on: int = 0) -> bytes:
    return struct.pack("<4I", magic, head, n, on)


# -- which records are there -------------------------------------------------------


def test_a_record_is_a_stamp_an_event_a_task_and_an_argument() -> None:
    parsed = parse(block([(0xFFFFFFFF, 52, 255, 65535), (0, 1, 2, 3)], n=4))
    assert stamps(parsed) == [0xFFFFFFFF, 0]
    assert (list(parsed.codes), list(parsed.tasks), list(parsed.arguments)) == ([52, 1], [255, 2], [65535, 3])


@pytest.mark.parametrize(
    ("written", "kept", "overwritten"),
    [
        (0, [], 0),
        (1, [0], 0),
        (3, [0, 100, 200], 0),
        (4, [0, 100, 200, 300], 0),  # head is n exactly
        (5, [100, 200, 300, 400], 1),
        (6, [200, 300, 400, 500], 2),  # case 51
        (8, [400, 500, 600, 700], 4),
    ],
)
def test_a_full_ring_keeps_the_newest_and_counts_the_others(
    written: int, kept: List[int], overwritten: int
) -> None:
    parsed = parse(block(numbered(written), n=4))
    assert stamps(parsed) == kept
    assert (parsed.total, parsed.overwritten, parsed.dropped, parsed.remarks) == (written, overwritten, 0, ())


@pytest.mark.parametrize(
    ("written", "kept", "overwritten"),
    [
        (3, [0, 100, 200], 0),
        (4, [100, 200, 300], 1),
        (6, [300, 400, 500], 3),
    ],
)
def test_a_spare_place_holds_no_record_once_the_ring_is_full(
    written: int, kept: List[int], overwritten: int
) -> None:
    parsed = parse(block(numbered(written), n=4), spare=True)
    assert stamps(parsed) == kept
    assert (parsed.overwritten, parsed.dropped) == (overwritten, 0)


def test_after_four_billion_records_the_newest_are_still_in_order() -> None:
    last = 0xFFFFFFFF
    places = {i % 4: struct.pack("<IBBH", i & 0xFFFF, IN, 1, 1) for i in range(last - 4, last)}
    raw = head_of(MAGIC, last, 4) + bytes(96) + b"".join(places[i] for i in range(4))
    parsed = parse(raw)
    assert stamps(parsed) == [0xFFFB, 0xFFFC, 0xFFFD, 0xFFFE]
    assert (parsed.total, parsed.overwritten) == (0xFFFFFFFF, 0xFFFFFFFB)


def test_a_ring_of_any_size_is_read_also_one_that_is_no_power_of_two() -> None:
    assert stamps(parse(block(numbered(8), n=3))) == [500, 600, 700]
    assert stamps(parse(block(numbered(3), n=1))) == [200]


def test_a_big_ring_is_read_whole() -> None:
    parsed = parse(block(numbered(70_000), n=65_536))
    assert (len(parsed), parsed.stamps[0], parsed.stamps[-1]) == (65_536, 446_400, 6_999_900)


def test_recording_or_not_is_in_the_block() -> None:
    assert parse(block(numbered(1), on=1)).on
    assert not parse(block(numbered(1), on=0)).on


# -- what is damaged ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "no trace block: 0 bytes, its header has 16"),
        (head_of(MAGIC, 1, 4)[:15], "no trace block: 15 bytes, its header has 16"),
        (bytes(200), "no trace block: it begins with 0x00000000, not with 0x33335254 ('TR33')"),
        (head_of(MAGIC, 0, 0), "the trace block has no room for records: n is 0 (not started?)"),
        (head_of(MAGIC, 0, 0xA5A5A5A5), "the trace block is damaged: n is 2779096485"),
        (head_of(MAGIC, 0, (1 << 24) + 1), "the trace block is damaged: n is 16777217"),
    ],
)
def test_what_is_no_block_is_refused_with_what_was_found(raw: bytes, message: str) -> None:
    with pytest.raises(FileError) as refused:
        parse(raw)
    assert str(refused.value) == message


def test_a_file_that_ends_within_the_ring_gives_the_records_that_are_there() -> None:
    raw = block(numbered(6), n=8)
    parsed = parse(raw[: 16 + 96 + 8 * 4 + 3])
    assert stamps(parsed) == [0, 100, 200, 300]
    assert (parsed.total, parsed.dropped) == (6, 2)
    assert parsed.remarks == (
        "cut short: 4 of the ring's 8 places are there",
        "2 records of the ring are not in the file",
    )


def test_a_file_that_ends_within_a_ring_that_wrapped_lacks_the_middle() -> None:
    parsed = parse(block(numbered(11), n=8)[: 16 + 96 + 8 * 5])  # places 0 to 4: records 8, 9, 10, 3, 4
    assert stamps(parsed) == [300, 400, 800, 900, 1000]
    assert (parsed.overwritten, parsed.dropped) == (3, 3)


def test_a_file_that_ends_before_the_ring_has_no_records() -> None:
    parsed = parse(block(numbered(6), n=8)[:40])
    assert (len(parsed), parsed.dropped) == (0, 6)


def test_the_newest_record_half_written_is_left_out() -> None:
    """Case 51: r5 has its new event, and yet the stamp of r1, whose place it takes."""
    written = numbered(6)
    written[5] = (100, *written[5][1:])
    parsed = parse(block(written, n=4))
    assert stamps(parsed) == [200, 300, 400]
    assert (parsed.total, parsed.overwritten, parsed.dropped) == (6, 2, 1)
    assert parsed.remarks == ("1 record was half written: left out",)


def test_the_oldest_place_being_written_anew_is_left_out() -> None:
    raw = bytearray(block(numbered(6), n=4))
    raw[16 + 96 + 8 * 2 : 16 + 96 + 8 * 2 + 4] = struct.pack("<I", 590)  # of r6, the place of r2
    parsed = parse(bytes(raw))
    assert stamps(parsed) == [300, 400, 500]
    assert (parsed.dropped, parsed.remarks) == (1, ("1 record was half written: left out",))


@pytest.mark.parametrize("n", [8, 16])
def test_a_half_written_record_in_between_is_left_out(n: int) -> None:
    written = numbered(8)
    written[5] = (50, *written[5][1:])
    parsed = parse(block(written, n=n))
    assert stamps(parsed) == [0, 100, 200, 300, 400, 600, 700]
    assert parsed.dropped == 1


def test_a_clock_zeroed_when_the_scheduler_starts_is_no_damage() -> None:
    """Whatever lies between the first and the second record after it."""
    before = [(2_000, READY, 1, 1), (2_300, READY, 2, 2)]
    for second in (100, 2_200, 2_400, 1_000_000):
        after = [(18, IN, 2, 2), (second, IN, 1, 1)]
        parsed = parse(block(before + after))
        assert stamps(parsed) == [2_000, 2_300, 18, second]
        assert (parsed.dropped, parsed.remarks) == (0, ())
    assert stamps(parse(block([*before, (18, IN, 2, 2)]))) == [2_000, 2_300, 18]


def test_a_clock_set_back_later_is_no_damage_either() -> None:
    written = [(9_000, IN, 1, 1), (10, IN, 2, 2), (20, IN, 1, 1), (9_500, IN, 2, 2), (9_600, IN, 1, 1)]
    for n in (4, 8):
        assert stamps(parse(block(written[:3], n=n))) == [9_000, 10, 20]


def test_a_stamp_that_wraps_is_no_damage() -> None:
    written = [(0xFFFFFF00 + 0x80 * i, IN, 1 + i % 2, 1) for i in range(6)]
    parsed = parse(block(written, n=4))
    assert stamps(parsed) == [0, 0x80, 0x100, 0x180]
    assert parsed.dropped == 0


def test_places_without_an_event_are_left_out_and_counted() -> None:
    written = numbered(5)
    written[1] = written[3] = (0, 0, 0, 0)
    parsed = parse(block(written, n=8))
    assert stamps(parsed) == [0, 200, 400]
    assert parsed.dropped == 2
    assert parsed.remarks == ("2 records hold no event: the ring does not hold what its head says",)


def test_a_head_beyond_what_was_written_finds_empty_places() -> None:
    parsed = parse(block(numbered(2), n=8, head=3))
    assert stamps(parsed) == [0, 100]
    assert parsed.remarks == ("1 record holds no event: the ring does not hold what its head says",)


def test_an_unknown_event_is_kept_and_named_by_its_number() -> None:
    """Case 52."""
    traced = timeline(parse(block([*numbered(3), (300, 250, 1, 7), (400, 250, 1, 8)])))
    assert traced.counts[250] == 2
    assert "unknown event 250: 2 records" in traced.remarks
    assert "event 250 2" in text(traced)


# -- names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout", [(12, 4), (12, 8), (12, 12), (12, 16), (3, 8), (5, 20), (40, 24), (30, 32), (2, 4)]
)
@pytest.mark.parametrize("n", [4, 1024])
def test_the_length_of_the_names_is_told_by_the_files_length(layout: Tuple[int, int], n: int) -> None:
    names = {1: "abcdefghijklmnopqrstuvwxyzabcdefghij"[: layout[1]]}
    parsed = parse(block(numbered(3), n=n, names=names, layout=layout))
    assert (len(parsed.names), parsed.names[1]) == (layout[0], names[1])
    assert stamps(parsed) == [0, 100, 200]


def test_a_block_without_names_is_read() -> None:
    parsed = parse(block(numbered(3), names={}, layout=(0, 8)))
    assert (parsed.names, stamps(parsed)) == ((), [0, 100, 200])


def test_before_the_first_task_the_published_layout_is_taken() -> None:
    assert parse(block([], n=4, names={})).names == ("",) * 12


def test_a_layout_that_is_known_is_not_guessed() -> None:
    raw = block(numbered(3), names={2: "second"}, layout=(6, 16))
    assert ring.parse(raw, Context(), (6, 16)).names[2] == "second"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"Sensor_read_task", "Sensor_read_task"),  # 16 bytes, no NUL
        (b"\xff" * 16, "\\xff" * 16),
        (bytes.fromhex("c328"), "\\xc3("),
        (bytes.fromhex("410a1b5b33316d"), "A\\x0a\\x1b[31m"),
        (bytes(16), "task1"),
    ],
)
def test_a_name_is_shown_as_it_is_but_reaches_no_terminal_raw(raw: bytes, shown: str) -> None:
    """Case 43."""
    traced = timeline(ring.parse(block(numbered(4), names={1: raw}, layout=(12, 16)), Context(), (12, 16)))
    assert (
        [task.label for task in traced.tasks] == ["task1", "task2"] if shown == "task1" else [shown, "task2"]
    )
    assert "\x1b" not in text(traced)


def test_two_tasks_of_one_name_stay_apart() -> None:
    traced = timeline(parse(block(numbered(4), names={1: "worker", 2: "worker"})))
    assert [task.label for task in traced.tasks] == ["worker#1", "worker#2"]


def test_a_number_beyond_the_names_is_shown_as_a_number() -> None:
    traced = timeline(
        parse(block([(0, IN, 11, 1), (5, IN, 12, 1), (9, IN, 255, 1)], names={1: "a", 11: "last"}))
    )
    assert [task.label for task in traced.tasks] == ["last", "task12", "task255"]


def test_a_file_longer_than_its_block_says_so() -> None:
    parsed = ring.parse(block(numbered(3)) + b"more", Context(), PUBLISHED)
    assert stamps(parsed) == [0, 100, 200]
    assert parsed.remarks == ("the file is 4 bytes longer than its block",)


def test_what_the_debugger_read_comes_before_the_names_in_the_block() -> None:
    traced = timeline(parse(block(numbered(4), names={1: "short", 2: "b"}), tasks={1: "short_no_longer"}))
    assert [task.label for task in traced.tasks] == ["short_no_longer", "b"]


# -- anything at all ------------------------------------------------------------------

REAL = block(
    merged(
        ticks(0, 12, L),
        [(0, IN, L, 1), (100, TAKE, L, 1), (1010, READY, H, 3), (1020, IN, H, 3), (1030, WAIT, H, 1)],
        [(1040, READY, L, 3), (1050, INHERIT, L, 3), (1060, IN, L, 1), (2010, READY, M, 2), (2020, IN, M, 2)],
        [(8 * MS, IN, L, 1), (9 * MS, GIVE, L, 1), (9010, READY, H, 3), (9020, IN, H, 3), (9030, TAKE, H, 1)],
        [(9100, ISR, H, 20), (9110, ISR, H, 21), (9120, ISR_END, H, 21), (9130, ISR_END, H, 20)],
    ),
    n=32,
)
WHOLE = Context(
    recorded=ALL,
    clock_hz=1e6,
    tick_hz=1e3,
    tick_count=70_000,
    spare=True,
    idle=5,
    tasks={1: "L"},
    objects={1: ObjectInfo("lock", 3)},
    now={1: ("mutex \x1b[31m is free",)},
)
ASSERTIONS = (
    "latency H < 2ms",
    "wait H queue1 < 2ms",
    "share L < 5%",
    "jitter H < 1ms",
    "no findings",
    "lost = 0",
)


def read(raw: bytes, context: Context, layout: Any = None) -> None:
    """All that the tracer does with a block. Raises FileError alone."""
    try:
        traced = timeline(ring.parse(raw, context, layout))
    except FileError as error:
        assert "\n" not in str(error)
        return
    shown = text(traced)
    for words in ASSERTIONS:
        try:
            shown += check(traced, words).text
        except UsageError as error:
            shown += str(error)
    strange = {character for character in shown if not character.isprintable()} - {"\n"}
    assert not strange
    assert sum(traced.ran) + traced.unknown >= traced.span
    assert all(counts >= 0 for counts in traced.ran)


@settings(max_examples=150, derandomize=True)
@given(st.binary(max_size=400), st.sampled_from([Context(), WHOLE]))
def test_any_bytes_are_read_or_refused(raw: bytes, context: Context) -> None:
    read(raw, context)


@settings(max_examples=250, derandomize=True)
@given(
    st.binary(max_size=480),
    st.integers(0, 1 << 32) | st.integers(0, 80),
    st.integers(1, 64),
    st.sampled_from([Context(), WHOLE]),
)
def test_any_bytes_in_the_ring_are_read(raw: bytes, head: int, n: int, context: Context) -> None:
    read(head_of(MAGIC, head & 0xFFFFFFFF, n, 1) + raw, context, (2, 8))


RECORD = st.tuples(
    st.integers(0, 0xFFFFFFFF) | st.integers(0, 50),
    st.integers(0, 53),
    st.integers(0, 4),
    st.integers(0, 6) | st.integers(0, 0xFFFF),
)


@settings(max_examples=400, derandomize=True)
@given(st.lists(RECORD, max_size=40), st.booleans(), st.sampled_from([Context(), WHOLE]))
@example([(0, TICK, 1, 0), (0, TICK, 1, 1), (0, TICK, 1, 2), (9, TICK, 1, 3)], False, Context())
def test_any_records_in_any_order_are_read(
    written: Sequence[Record], in_order: bool, context: Context
) -> None:
    records = sorted(written) if in_order else list(written)
    read(block(records, n=32), context, PUBLISHED)


@settings(max_examples=400, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, len(REAL) - 1), st.integers(0, 255)), max_size=12),
    st.integers(0, len(REAL)) | st.just(len(REAL)),
    st.sampled_from([Context(), WHOLE]),
)
def test_a_ring_with_damage_anywhere_is_read_or_refused(
    damage: Sequence[Tuple[int, int]], length: int, context: Context
) -> None:
    raw = bytearray(REAL)
    for place, value in damage:
        raw[place] = value
    read(bytes(raw[:length]), context)


def test_a_recorder_that_counts_a_record_when_it_is_written_tears_none() -> None:
    """Its newest record may come after half a turn of the clock."""
    records = [(0, IN, 1, 1), (100, IN, 2, 1), (100 + (1 << 31), IN, 1, 1)]
    assert len(ring.parse(block(records), Context(spare=True))) == 3
    assert len(ring.parse(block(records), Context())) == 2
