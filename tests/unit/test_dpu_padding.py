"""Zeros between records, to a burst's boundary: a pause's are left out, a record's are not."""

from __future__ import annotations

import dataclasses
from typing import List, Sequence, Tuple

import pytest

from dpu_builder import LAYOUT, MODULUS, SIZE, capture, packed
from gdb_prof.counters.dpu.capture import FILL
from gdb_prof.counters.dpu.decode import Decoded, decode
from gdb_prof.counters.dpu.padding import Known, without
from gdb_prof.counters.dpu.records import layout_of

Record = Tuple[int, ...]
MAYBE = "in 1 place zeros up to a burst's boundary may be a pause's, not a record's: not left out"


def counted(tasks: Sequence[int], anew: Sequence[int] = (), column: int = 0, other: int = 0) -> List[Record]:
    """One counter of the six down from 50,000 by 1000 from record to record, and set anew at some."""
    found, value = [], 50000
    for n, task in enumerate(tasks):
        value = 50000 if n in anew else value - 1000 * bool(n)
        values = [other] * 6
        values[column] = value % MODULUS
        found.append((task, *values))
    return found


def flat(stream: bytes) -> Decoded:
    raw = stream + bytes([FILL]) * (4096 - len(stream))
    return decode(dataclasses.replace(capture(raw, len(stream)), counters={}))


def records(decoded: Decoded) -> List[Record]:
    return list(zip(*(decoded.records.values(name) for name in decoded.records.layout.names)))


@pytest.mark.parametrize("anew", range(1, 20))
def test_a_counter_set_anew_at_any_record_of_task_0_costs_no_bytes(anew: int) -> None:
    written = counted([0] * 20, [anew])
    assert records(flat(packed(written))) == written


def test_that_they_may_be_a_pauses_is_said() -> None:
    assert MAYBE in flat(packed(counted([0] * 20, [5]))).remarks


@pytest.mark.parametrize("column", range(6))
@pytest.mark.parametrize("every", [3, 5, 8])
def test_nor_does_one_that_is_set_anew_again_and_again(column: int, every: int) -> None:
    written = counted([0] * 60, range(0, 60, every), column)
    assert records(flat(packed(written))) == written


def test_nor_do_several_tasks_of_which_one_has_the_id_0() -> None:
    written = counted([0, 3, 3, 0] * 10, [4, 12, 20])
    assert records(flat(packed(written))) == written


def paused(written: Sequence[Record], first: int) -> bytes:
    stream = packed(written[:first])
    return stream + bytes(-len(stream) % 16) + packed(written[first:])


@pytest.mark.parametrize("first", [9, 10, 11])
@pytest.mark.parametrize("column", [0, 5])
def test_a_pauses_zeros_are_left_out_where_it_is_one_task(first: int, column: int) -> None:
    """Its ID comes again behind them, and as they stand those behind would be of tasks not seen before."""
    written = counted([7] * 40, column=column)
    decoded = flat(paused(written, first))
    assert records(decoded) == written
    assert not any("may be" in remark for remark in decoded.remarks)


@pytest.mark.parametrize("first", [9, 10, 11])
def test_a_pauses_zeros_are_left_out_where_they_would_pass_for_the_task_0(first: int) -> None:
    """The records behind do not fit again and again, as they stand."""
    written = counted([0, 3, 1, 0, 2] * 10, other=0x1000)
    assert records(flat(paused(written, first))) == written


def test_how_many_bytes_and_doubtful_places_there_are() -> None:
    layout, nothing = layout_of(LAYOUT), Known()
    pause, record = paused(counted([7] * 40, column=5), 10), packed(counted([0] * 20, [5]))
    assert without(pause, 0, layout, True, nothing)[1:] == (8, 0)
    assert without(record, 0, layout, True, nothing) == (record, 0, 1)
    assert len(pause) == 40 * SIZE + 8
