"""How large a DPU's trace buffer has to be."""

from __future__ import annotations

import pytest

from dpu_gdb import REAL
from gdb_prof.counters.dpu.size import lasts, need, needed
from gdb_prof.errors import FileError, UsageError


def test_the_articles_example_256_kib_at_1000_switches_a_second_is_about_9_seconds() -> None:
    assert lasts(need(REAL), 1000, 256 * 1024) == (
        "262,144 bytes hold 9,362 records of 28 bytes: 9.36 s at 1,000 a second"
    )


@pytest.mark.parametrize(
    ("rate", "seconds", "size"),
    [
        (1000, 60, 60_000 * 28),  # 52,500 times 32
        (1, 1, 32),
        (8, 1, 224),
        (9, 1, 256),  # 252
        (100, 0.07, 224),  # 7 records, though 100 * 0.07 is a little more in binary
        (0.5, 1, 32),
        (1e-7, 1, 32),  # if there is one at all
    ],
)
def test_bytes_for_a_time_are_whole_alignments(rate: float, seconds: float, size: int) -> None:
    assert need(REAL).size(rate, seconds) == size


def test_the_answer_names_its_parts() -> None:
    assert needed(need(REAL), 1000, 0.5) == (
        "500 records of 28 bytes, 0.5 s at 1,000 a second: 14,016 bytes (0x36c0), a multiple of 32"
    )


@pytest.mark.parametrize(("rate", "seconds"), [(1e300, 1e300), (1e6, 1e6), (2_400_000, 1)])
def test_more_than_a_buffer_may_have_is_refused(rate: float, seconds: float) -> None:
    with pytest.raises(UsageError, match="a buffer has at most 67108864"):
        needed(need(REAL), rate, seconds)


def test_another_layout_of_records_is_taken() -> None:
    assert need(REAL.completed("record,task,task:2 A0:4 -:2", "mine.csv")).record == 8


@pytest.mark.parametrize("layout", ["?", "task:4 A0", "task:0"])
def test_a_layout_that_is_none_is_named(layout: str) -> None:
    with pytest.raises(UsageError, match="a record's field is NAME:BYTES"):
        need(REAL.completed("record,task,%s" % layout, "mine.csv"))


def test_an_alignment_that_is_not_known_is_named() -> None:
    with pytest.raises(FileError, match=r"rule,vtb_alignment_16 is \?, expected a number above 0"):
        need(REAL.completed("rule,vtb_alignment_16,?", "mine.csv"))


def test_an_alignment_may_be_written_in_hex() -> None:
    assert need(REAL.completed("rule,vtb_alignment_16,0x20", "mine.csv")).alignment == 32


@pytest.mark.parametrize(
    ("size", "said"), [(28, "1 record of 28 bytes: 0.001 s"), (2_800, "100 records of 28 bytes: 0.10 s")]
)
def test_a_short_time_is_not_0(size: int, said: str) -> None:
    assert said in lasts(need(REAL), 1000, size)


@pytest.mark.parametrize(("size", "said"), [(27, "27 bytes hold no record"), (1, "1 byte holds no record")])
def test_a_buffer_without_room_for_a_record_is_refused(size: int, said: str) -> None:
    with pytest.raises(UsageError, match="^%s of 28 bytes$" % said):
        lasts(need(REAL), 1000, size)


def test_a_buffer_of_1_byte_may_hold_a_record() -> None:
    assert lasts(need(REAL.completed("record,task,task:1", "mine.csv")), 1000, 1) == (
        "1 byte holds 1 record of 1 byte: 0.001 s at 1,000 a second"
    )
