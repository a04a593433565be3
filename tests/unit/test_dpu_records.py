"""A trace buffer's bytes -> records in order of time: layouts, rotation, where the first whole record is."""

from __future__ import annotations

import collections
import dataclasses
import random
import struct
import tracemalloc
from typing import Any, Dict, List, Optional, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpu_builder import COUNTED, LAYOUT, MODULUS, SIZE, START, Step, capture, packed, ring, rows
from gdb_prof.counters.dpu.capture import FILL, Capture, Counter
from gdb_prof.counters.dpu.decode import GIVEN, Decoded, decode
from gdb_prof.counters.dpu.phase import candidates
from gdb_prof.counters.dpu.records import layout_of, unpack
from gdb_prof.counters.dpu.tasks import analysed
from gdb_prof.counters.dpu.tasks_text import View, report, words
from gdb_prof.errors import GdbProfError, UsageError
from opcodes import opcodes

BUFFER = 1024


def steps(number: int, seed: int = 1, tasks: int = 3) -> List[Step]:
    chance = random.Random(seed)
    return [(chance.randint(1, tasks), chance.randint(1, 9000), chance.randint(0, 90)) for _ in range(number)]


def records(decoded: Decoded) -> List[Tuple[int, ...]]:
    names = decoded.records.layout.names
    return list(zip(*(decoded.records.values(name) for name in names)))


def filled(stream: bytes, size: int = BUFFER) -> bytes:
    return stream + bytes([FILL]) * (size - len(stream))


# -- layouts -----------------------------------------------------------------------------


def test_a_layout_is_names_and_bytes() -> None:
    layout = layout_of("task:2 -:2, A0:4 x:1 -:3 B2:8")
    assert layout.size == 20
    assert layout.names == ("task", "A0", "x", "B2")
    assert layout.counters == ("A0", "B2")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("task", "found task"),
        ("task:3", "found task:3"),
        ("task:", "found task:"),
        ("ta\x1bsk:4", r"found ta\\x1bsk:4"),
        ("task:²", "found task:²"),
        ("-:0", "found -:0"),
        ("task:4 task:4", "has task twice"),
        ("-:4", "a field that is not skipped"),
        ("", "a field that is not skipped"),
        ("task:4 -:4093", "1 to 4096 bytes"),
    ],
)
def test_a_layout_that_is_none(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        layout_of(text)


@pytest.mark.parametrize(("little", "value"), [(True, 0x04030201), (False, 0x01020304)])
def test_fields_are_read_in_either_byte_order(little: bool, value: int) -> None:
    found = unpack(bytes([9, 9, 1, 2, 3, 4, 7]) * 2, layout_of("-:2 A0:4 id:1"), little)
    assert found.number == 2
    assert found.columns == {"A0": (value, value), "id": (7, 7)}


# -- rotation ----------------------------------------------------------------------------


@given(st.integers(1, 4 * BUFFER // SIZE), st.booleans(), st.sampled_from([BUFFER, 28 * 40, 992]))
@settings(max_examples=150, deadline=None)
def test_every_rotation_holds_the_newest_records(number: int, little: bool, size: int) -> None:
    written = rows(steps(size // SIZE + number), [5000, MODULUS - 1, 0, 0, 0, 0])
    raw, offset = ring(packed(written, little), size)
    found = records(decode(capture(raw, offset, True, GIVEN, little)))
    assert found == written[-len(found) :]
    assert len(found) >= size // SIZE - 1


@given(st.integers(0, BUFFER // SIZE - 1))
def test_a_buffer_that_has_not_wrapped_ends_at_the_pointer(number: int) -> None:
    written = rows(steps(number))
    stream = packed(written)
    assert records(decode(capture(filled(stream), len(stream)))) == written


def test_without_the_pointer_it_ends_where_the_fill_pattern_begins() -> None:
    written = rows(steps(10))
    decoded = decode(capture(filled(packed(written))))
    assert records(decoded) == written
    assert "from byte 308 on the fill pattern is left: taken for the end" in decoded.remarks


def test_without_pointer_and_pattern_it_is_shown_as_it_lies() -> None:
    raw, _ = ring(packed(rows(steps(60))), 28 * 40)
    assert any("write pointer is not known" in remark for remark in decode(capture(raw)).remarks)


def test_a_pointer_outside_is_named() -> None:
    decoded = decode(capture(packed(rows(steps(10))), 5000))
    assert decoded.records.number == 11
    assert any("lies outside the buffer" in remark for remark in decoded.remarks)


# -- has it wrapped? ---------------------------------------------------------------------

WROTE = rows(steps(60))
OLD = packed(rows(steps(200, seed=5)))[BUFFER : 2 * BUFFER]


def wrapped(flag: Optional[bool], was_filled: bool, round_twice: bool) -> Decoded:
    """A buffer of 60 records, more than it holds, or of its first 20, over old bytes or the pattern."""
    if round_twice:
        raw, offset = ring(packed(WROTE), BUFFER)
    else:
        stream = packed(WROTE[:20])
        raw, offset = (
            stream + (bytes([FILL]) * BUFFER if was_filled else OLD)[len(stream) : BUFFER],
            len(stream),
        )
    how = "" if flag is None else "DP_SR.WRAP = %d" % flag
    return decode(dataclasses.replace(capture(raw, offset, flag, how), filled=was_filled))


@pytest.mark.parametrize("flag", [None, True, False])
@pytest.mark.parametrize("was_filled", [True, False])
def test_one_that_has_is_known_even_by_its_records_alone(flag: Optional[bool], was_filled: bool) -> None:
    decoded = wrapped(flag, was_filled, round_twice=True)
    assert decoded.wrapped
    found = records(decoded)
    assert found == WROTE[-len(found) :] and len(found) == 36


@pytest.mark.parametrize(("flag", "was_filled"), [(None, True), (False, True), (False, False)])
def test_one_that_has_not_is_known_by_the_pattern_or_the_flag(flag: Optional[bool], was_filled: bool) -> None:
    decoded = wrapped(flag, was_filled, round_twice=False)
    assert decoded.wrapped is False
    assert decoded.by == ("the fill pattern" if flag is None else "DP_SR.WRAP")
    assert records(decoded) == WROTE[:20]


def test_the_flag_counts_more_than_the_pattern_and_that_they_differ_is_said() -> None:
    """Set, and all behind the pointer is the pattern: whatever was overwritten, the records are before it."""
    decoded = wrapped(True, True, round_twice=False)
    assert decoded.wrapped and decoded.by == "DP_SR.WRAP"
    assert records(decoded) == WROTE[:20]
    assert decoded.remarks == (
        "DP_SR.WRAP = 1, but all of the fill pattern is left behind the write pointer",
    )


def test_a_second_trace_over_the_first_ones_records_is_not_taken_for_one_that_wrapped() -> None:
    """The flag is not set, and of the pattern nothing is left: the first trace wrote there."""
    raw = packed(WROTE[:20]) + OLD[20 * SIZE :]
    found = dataclasses.replace(capture(raw, 20 * SIZE, False, "DP_SR.WRAP = 0"), filled=True)
    decoded = decode(found)
    assert decoded.wrapped is False and records(decoded) == WROTE[:20]
    assert decoded.remarks == (
        "DP_SR.WRAP = 0, but nothing of the fill pattern is left behind the write pointer",
    )


def test_a_pattern_that_was_not_written_tells_nothing() -> None:
    stream = packed(WROTE[:20])
    bare = dataclasses.replace(capture(filled(stream), len(stream)), filled=False)
    assert decode(bare).wrapped is None
    assert decode(dataclasses.replace(bare, filled=None)).wrapped is False


def test_where_nothing_tells_the_newest_are_shown_and_the_rest_is_said() -> None:
    decoded = wrapped(None, False, round_twice=False)
    assert decoded.wrapped is None
    assert records(decoded) == WROTE[:20]
    assert decoded.remarks == (
        "what lies behind the write pointer, 464 bytes, is not shown (-wrapped shows it)",
    )


@pytest.mark.parametrize(
    ("told", "by"),
    [(dict(wrapped=True, how=GIVEN), "-wrapped"), (dict(wrapped=False, how=GIVEN), "-not-wrapped")],
)
def test_a_users_word_is_named_as_his(told: Dict[str, Any], by: str) -> None:
    raw, offset = ring(packed(WROTE), BUFFER)
    assert decode(dataclasses.replace(capture(raw, offset), filled=True, **told)).by == by


def test_a_mode_that_stops_when_full_has_not_wrapped() -> None:
    stream = packed(WROTE)[:BUFFER]
    decoded = decode(dataclasses.replace(capture(stream, BUFFER), mode="single"))
    assert records(decoded) == WROTE[:36]
    assert "the last 16 bytes are no whole record: left out" in decoded.remarks


# -- where the first whole record is -----------------------------------------------------


def test_28_divides_no_power_of_two_so_seven_places_are_left() -> None:
    assert candidates(0x340, 4096, 28) == [0, 4, 8, 12, 16, 20, 24]


def test_a_size_that_28_divides_leaves_one() -> None:
    assert candidates(100, 28 * 40, 28) == [-100 % 28]


def test_what_fits_in_more_than_one_place_is_refused_with_the_places() -> None:
    """One task and one counter: the ID passes for a counter that stands."""
    raw, offset = ring(packed(rows([(1, 10, 0)] * 80)), BUFFER)
    with pytest.raises(UsageError, match=r"cannot be told: (\d+, )+\d+ fit: give -phase N"):
        decode(capture(raw, offset, True, GIVEN))


def test_counters_known_not_to_count_tell_then() -> None:
    raw, offset = ring(packed(rows([(1, 10, 0)] * 80)), BUFFER)
    off = {name: Counter(starts="none") for name in ("A1", "A2", "B0", "B1", "B2")}
    known = dataclasses.replace(
        capture(raw, offset, True, GIVEN), counters={"A0": Counter("cycles", "trace", "mark"), **off}
    )
    assert set(decode(known).records.values("task")) == {1}


def test_a_phase_that_is_given_is_taken() -> None:
    raw, offset = ring(packed(rows([(1, 10, 0)] * 80)), BUFFER)
    right = -(offset + BUFFER * (81 * SIZE // BUFFER - 1)) % SIZE
    decoded = decode(capture(raw, offset, True, GIVEN), phase=right)
    assert set(decoded.records.values("task")) == {1}
    with pytest.raises(UsageError, match="less than a record's 28 bytes"):
        decode(capture(raw), phase=28)


def test_too_few_records_are_not_guessed_at() -> None:
    raw, offset = ring(packed(rows(steps(20))), 96)
    with pytest.raises(UsageError, match="3 records are too few to tell"):
        decode(capture(raw, offset, True, GIVEN))


def test_bytes_that_are_no_records_fit_nowhere() -> None:
    chance = random.Random(3)
    raw = bytes(chance.randrange(256) for _ in range(BUFFER))
    with pytest.raises(UsageError, match="none of 0, 4, 8, 12, 16, 20, 24 fits"):
        decode(capture(raw, 64, True, GIVEN))


def test_never_the_wrong_one() -> None:
    """It may be refused, but what is taken is right: few records, tasks in any order, counters that count or
    stand, nothing known of them. Of 18 records and more hardly anything is refused."""
    tried, taken = collections.Counter[bool](), collections.Counter[bool]()
    for seed in range(600):
        chance = random.Random(seed)
        size, counting = chance.choice([128, 160, 512, 992]), chance.sample(range(6), chance.randint(1, 6))
        values = [chance.randrange(MODULUS) if n in counting else 0 for n in range(6)]
        written: List[Tuple[int, ...]] = []
        for _ in range(size // SIZE + chance.randint(2, 60)):
            written.append((chance.randint(1, 12), *values))
            for n in counting:
                values[n] = (values[n] - chance.randint(0, 10**6)) % MODULUS
        raw, offset = ring(packed(written), size)
        tried[size >= 512] += 1
        try:
            found = records(decode(dataclasses.replace(capture(raw, offset, True, GIVEN), counters={})))
        except UsageError:
            continue
        assert found == written[-len(found) :], seed
        taken[size >= 512] += 1
    assert taken[True] >= 0.99 * tried[True] and taken[False] >= tried[False] / 2, (taken, tried)


# -- doubts ------------------------------------------------------------------------------


def test_the_other_byte_order_is_named_where_it_fits() -> None:
    stream = packed(rows(steps(30)), little=False)
    decoded = decode(capture(filled(stream), len(stream), little=True))
    assert "the other byte order fits better: -byte-order big" in decoded.remarks


def test_records_that_were_never_written_are_left_out() -> None:
    written = rows(steps(20))
    stream = packed(written[:8]) + bytes([FILL]) * SIZE * 2 + packed(written[8:])
    decoded = decode(capture(stream, len(stream)))
    assert records(decoded) == written
    assert "2 records hold only the fill pattern, so were not written: left out" in decoded.remarks


@pytest.mark.parametrize("zeros", [4, 8, 12])
def test_zeros_of_a_pause_up_to_a_bursts_boundary_are_left_out(zeros: int) -> None:
    written = rows(steps(40))
    first = next(n for n in range(4, 20) if -n * SIZE % 16 == zeros)
    stream = packed(written[:first]) + bytes(zeros) + packed(written[first:30])
    decoded = decode(capture(filled(stream), len(stream)))
    assert records(decoded) == written[:30]
    assert any(remark.startswith("%d bytes of zeros between records" % zeros) for remark in decoded.remarks)


def test_what_was_recorded_need_not_be_known() -> None:
    bare = dataclasses.replace(capture(packed(rows(steps(5)))), kind="")
    assert "what was recorded is not known: taken for task records (-record)" in decode(bare).remarks
    assert decode(bare, "direct").records.number == 42


def test_one_record_of_the_pattern_is_one() -> None:
    stream = packed(rows(steps(4))) + bytes([FILL]) * SIZE + packed(rows(steps(4)))
    assert "1 record holds only the fill pattern, so was not written: left out" in (
        decode(capture(stream, len(stream))).remarks
    )


def test_a_counter_whose_overflows_are_counted_may_seem_to_go_up() -> None:
    """A2 counts cycles, some runs longer than 2^31, A1 its overflows; all is right, and nothing is doubted."""
    a1, a2, written = MODULUS - 1, MODULUS - 1, []
    for n in range(12):
        written.append((1 + n % 2, 0, a1, a2, 0, 0, 0))
        cycles = (1 << 30) + 7919 * n + (3 << 31) * (n % 3)
        a1, a2 = a1 - (cycles - a2 - 1 + MODULUS) // MODULUS, (a2 - cycles) % MODULUS
    extended = {"A1": Counter("overflow", "oneshot"), "A2": Counter("cycles", "extended")}
    stream = packed(written)
    found = dataclasses.replace(capture(filled(stream), len(stream)), counters=extended)
    assert decode(found).remarks == ()
    assert any(
        "steps an ID or a counter" in r for r in decode(dataclasses.replace(found, counters={})).remarks
    )


def test_one_that_has_come_to_0_counts_no_more_overflows_and_the_records_are_not_doubted_for_it() -> None:
    written = [(1 + n % 2, 0, max(0, 2 - n), (900 + (100 if n % 2 else -100) * n), 0, 0, 0) for n in range(8)]
    counters = {"A1": Counter("overflow", "oneshot"), "A2": Counter("cycles", "extended")}
    stream = packed(written)
    found = dataclasses.replace(capture(filled(stream), len(stream)), counters=counters)
    assert decode(found).remarks == ()


@pytest.mark.parametrize("size", [1, 2])
def test_a_narrow_counter_that_wraps_is_not_doubted(size: int) -> None:
    chance, half, written, stream = random.Random(5), 1 << 8 * size - 1, [], b""
    cycles = misses = 0
    for _ in range(400):
        task = chance.randint(1, 5)
        written.append((task, cycles, misses))
        stream += struct.pack("<I", task) + cycles.to_bytes(size, "little") + struct.pack("<H", misses)
        cycles = (cycles - chance.randint(1, half)) % (2 * half)
        misses = (misses - chance.randint(0, 300)) % 65536
    decoded = decode(capture(stream, len(stream), False, GIVEN), layout="task:4 A0:%d A1:2" % size)
    assert decoded.remarks == () and records(decoded) == written


# -- what cannot be decoded --------------------------------------------------------------


def test_a_kind_that_is_not_decoded_makes_no_table_unless_it_is_said() -> None:
    found = dataclasses.replace(capture(packed(rows(steps(5)))), kind="oce_0")
    with pytest.raises(UsageError, match="the trace records oce_0, which is not decoded here"):
        decode(found)
    assert decode(found, "task").records.number == 6


def test_it_rests_on_the_kind_that_is_shown() -> None:
    rests = {what: ("unverified: " + what,) for what in ("task", "sample", "direct", "task_id")}
    found = dataclasses.replace(capture(packed(rows(steps(5)))), rests=("the unit",), rests_by=rests)
    assert decode(found).rests == ("the unit", "unverified: task", "unverified: task_id")
    assert decode(found, "direct").rests == ("the unit", "unverified: direct")
    assert decode(found, layout=LAYOUT).rests == ("the unit", "unverified: task_id")


@pytest.mark.parametrize("layout", ["a:4 b:4", ""])
def test_a_word_is_one_field(layout: str) -> None:
    with pytest.raises(UsageError):
        decode(capture(packed(rows(steps(5)))), "direct", layout)


# -- arbitrary bytes ---------------------------------------------------------------------


@given(
    st.binary(max_size=600),
    st.none() | st.integers(0, 700),
    st.sampled_from([None, True, False]),
    st.sampled_from(["", GIVEN]),
    st.booleans(),
    st.sampled_from(["task", "sample", "direct"]),
    st.sampled_from([None, "", "task:1", "task:1 A0:1 A1:2 A2:8", "A0:8 -:3", "x:2", LAYOUT]),
)
@settings(max_examples=400, deadline=None)
def test_arbitrary_bytes_are_records_or_an_error_of_ours(
    raw: bytes,
    offset: Optional[int],
    flag: Optional[bool],
    how: str,
    was_filled: bool,
    kind: str,
    layout: Optional[str],
) -> None:
    found = dataclasses.replace(capture(raw, offset, flag, how), filled=was_filled)
    try:
        decoded = decode(found, kind, layout)
    except GdbProfError:
        return
    assert all(len(column) == decoded.records.number for column in decoded.records.columns.values())


def test_each_cut_length_shows_its_whole_records() -> None:
    written = rows(steps(6))
    stream = packed(written)
    for cut in range(len(stream) + 1):
        decoded = decode(Capture(stream[:cut], START, kind="task", layouts={"task": LAYOUT}))
        assert records(decoded) == written[: cut // SIZE]
        assert any("no whole record" in remark for remark in decoded.remarks) == bool(cut % SIZE)


def test_words_are_words_in_any_rotation() -> None:
    stream = struct.pack("<20I", *range(20))
    raw, offset = ring(stream, 32)
    decoded = decode(capture(raw, offset, True, GIVEN), "direct")
    assert list(decoded.records.values("word")) == list(range(12, 20))


def test_many_pauses_in_a_large_buffer() -> None:
    written = rows(steps(3000))
    stream = b""
    for n, record in enumerate(written):
        pause = n % 37 == 5
        stream += (bytes(-len(stream) % 16) if pause else b"") + packed([record])
    decoded = decode(capture(filled(stream, 1 << 17), len(stream)))
    assert records(decoded) == written


# -- what it costs -----------------------------------------------------------------------


def work(number: int, rounds: int) -> int:
    """How many of Python's instructions a dump takes, of a buffer of so many records, which were written in
    so many rounds."""
    written = rows(steps(number * rounds + 3 * (rounds - 1)))
    raw, offset = ring(packed(written), SIZE * (number + 1) + 4)

    def dump() -> None:
        decoded = decode(capture(raw, offset, rounds > 1, GIVEN))
        assert decoded.records.number >= number - 1
        report(analysed(decoded, COUNTED), View(80, 20, 20))

    return opcodes(dump)


@pytest.mark.parametrize("rounds", [1, 2])
def test_twice_the_records_cost_twice_the_time(rounds: int) -> None:
    assert work(2000, rounds) < 2.3 * work(1000, rounds)


def test_words_are_no_python_numbers_until_they_are_shown() -> None:
    """A buffer may hold millions of them."""
    raw = bytes(range(256)) * 4096
    tracemalloc.start()
    try:
        decoded = decode(capture(raw, len(raw), False, GIVEN), "direct")
        words(decoded, View(80, 20, 20))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decoded.records.number == len(raw) // 4
    assert most < 5 * len(raw)
