"""Exception packets become counts and times; nesting is right where packets are missing, too."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import pytest

from gdb_prof.exceptions import name_of
from gdb_prof.swo import exceptions, exceptions_text
from gdb_prof.swo.exceptions import ExceptionFacts, Facts
from swo_streams import ENTER, EXIT, OVERFLOW, RETURN, exception, ticks

SYSTICK, IRQ0, IRQ1 = 15, 16, 17

Step = Tuple[int, int, int]
"""A time, an action, an exception; the action OVER is an overflow."""
OVER = 0


def stream(*steps: Step) -> bytes:
    out, now = bytearray(), 0
    for time, action, number in steps:
        out += OVERFLOW if action == OVER else exception(number, action)
        out += ticks(time - now)
        now = time
    return bytes(out)


def facts(*steps: Step) -> Facts:
    return exceptions.read([stream(*steps)])


def rows(*steps: Step) -> Dict[int, ExceptionFacts]:
    return {row.number: row for row in facts(*steps).rows}


def times(*steps: Step) -> Dict[int, Tuple[int, int]]:
    """By exception: the inclusive and the exclusive ticks of all its runs."""
    return {number: (row.inclusive.total, row.exclusive.total) for number, row in rows(*steps).items()}


# -- whole packets -----------------------------------------------------------------
def test_an_exception_runs_from_its_entry_to_its_exit() -> None:
    assert times((10, ENTER, IRQ0), (35, EXIT, IRQ0), (40, RETURN, 0)) == {IRQ0: (25, 25)}


def test_times_are_shortest_mean_and_longest() -> None:
    found = rows(
        *((10, ENTER, IRQ0), (15, EXIT, IRQ0), (16, RETURN, 0)),
        *((20, ENTER, IRQ0), (40, EXIT, IRQ0), (41, RETURN, 0)),
    )[IRQ0].inclusive
    assert (found.count, found.shortest, found.mean, found.longest) == (2, 5, 12.5, 20)


def test_what_interrupts_counts_as_inclusive_only() -> None:
    assert times(
        (10, ENTER, SYSTICK),
        (20, ENTER, IRQ0),
        (26, EXIT, IRQ0),
        (30, RETURN, SYSTICK),
        (50, EXIT, SYSTICK),
        (52, RETURN, 0),
    ) == {SYSTICK: (40, 30), IRQ0: (6, 6)}


def test_two_that_interrupt_one_after_the_other_without_a_return_between() -> None:
    assert times(
        (10, ENTER, SYSTICK),
        (20, ENTER, IRQ0),
        (26, EXIT, IRQ0),
        (27, ENTER, IRQ1),
        (33, EXIT, IRQ1),
        (35, RETURN, SYSTICK),
        (50, EXIT, SYSTICK),
    ) == {SYSTICK: (40, 25), IRQ0: (6, 6), IRQ1: (6, 6)}


def test_three_deep() -> None:
    assert times(
        (0, ENTER, 14),
        (10, ENTER, SYSTICK),
        (20, ENTER, IRQ0),
        (30, EXIT, IRQ0),
        (31, RETURN, SYSTICK),
        (40, EXIT, SYSTICK),
        (42, RETURN, 14),
        (60, EXIT, 14),
        (61, RETURN, 0),
    ) == {14: (60, 28), SYSTICK: (30, 19), IRQ0: (10, 10)}


def test_one_that_follows_another_at_once_is_not_within_it() -> None:
    assert times(
        (10, ENTER, IRQ0),
        (20, EXIT, IRQ0),
        (21, ENTER, IRQ1),
        (30, EXIT, IRQ1),
        (31, RETURN, 0),
    ) == {IRQ0: (10, 10), IRQ1: (9, 9)}


# -- missing packets ---------------------------------------------------------------
def test_without_exits_a_return_to_the_thread_ends_an_exception() -> None:
    assert times(
        *((10, ENTER, 44), (30, RETURN, 0), (50, ENTER, 44), (60, RETURN, 0)),
    ) == {44: (30, 30)}


def test_without_exits_a_return_to_another_tells_that_it_was_interrupted() -> None:
    assert times(
        (10, ENTER, SYSTICK),
        (20, ENTER, IRQ0),
        (30, RETURN, SYSTICK),
        (50, RETURN, 0),
    ) == {SYSTICK: (40, 30), IRQ0: (10, 10)}


def test_a_run_with_neither_exit_nor_return_has_no_time_when_another_was_entered_after_it() -> None:
    found = rows((10, ENTER, IRQ0), (9000, ENTER, IRQ1), (9030, RETURN, 0))
    assert (found[IRQ0].entered, found[IRQ0].inclusive.count, found[IRQ0].cut) == (1, 0, 1)
    assert (found[IRQ1].inclusive.total, found[IRQ1].exclusive.total, found[IRQ1].cut) == (30, 30, 0)


def test_a_run_with_neither_exit_nor_return_is_in_no_shortest_mean_or_longest() -> None:
    found = rows(
        *((10, ENTER, IRQ0), (15, EXIT, IRQ0), (16, RETURN, 0)),
        *((20, ENTER, IRQ0), (9000, ENTER, IRQ0), (9007, EXIT, IRQ0), (9008, RETURN, 0)),
    )[IRQ0]
    assert (found.entered, found.cut) == (3, 1)
    assert (found.inclusive.shortest, found.inclusive.mean, found.inclusive.longest) == (5, 6, 7)


def test_an_entry_again_tells_that_the_first_had_ended() -> None:
    found = rows((10, ENTER, IRQ0), (20, ENTER, IRQ0), (25, EXIT, IRQ0), (26, RETURN, 0))
    assert (found[IRQ0].entered, found[IRQ0].inclusive.count, found[IRQ0].inclusive.total) == (2, 1, 5)
    assert facts((10, ENTER, IRQ0), (20, ENTER, IRQ0)).deepest == 1


def test_an_exit_without_the_return_to_it_leaves_its_own_time_unknown() -> None:
    found = rows((10, ENTER, SYSTICK), (20, ENTER, IRQ0), (26, EXIT, IRQ0), (50, EXIT, SYSTICK))
    assert (found[SYSTICK].inclusive.total, found[SYSTICK].exclusive.count) == (40, 0)


def test_an_entry_before_the_stream_gives_no_time() -> None:
    found = rows((10, EXIT, IRQ0), (11, RETURN, SYSTICK), (20, EXIT, SYSTICK), (21, RETURN, 0))
    assert [(row.entered, row.cut, row.inclusive.count) for row in found.values()] == [(0, 1, 0), (0, 1, 0)]


def test_what_has_not_ended_at_the_end_is_open() -> None:
    assert rows((10, ENTER, IRQ0))[IRQ0].open == 1


# -- overflow ----------------------------------------------------------------------
def test_overflow_ends_what_is_open_without_a_time() -> None:
    found = facts((10, ENTER, IRQ0), (15, OVER, 0), (90, EXIT, IRQ0), (91, RETURN, 0))
    row = found.rows[0]
    assert (row.entered, row.inclusive.count, row.cut, found.gaps) == (1, 0, 1, 1)


def test_after_overflow_times_are_right_again() -> None:
    found = rows(
        *((10, ENTER, IRQ0), (15, OVER, 0), (90, EXIT, IRQ0), (91, RETURN, 0)),
        *((100, ENTER, IRQ0), (107, EXIT, IRQ0), (108, RETURN, 0)),
    )[IRQ0]
    assert (found.entered, found.inclusive.count, found.inclusive.total, found.cut) == (2, 1, 7, 1)


def test_an_exit_whose_entry_was_lost_is_counted_once() -> None:
    found = rows((15, OVER, 0), (90, EXIT, IRQ0), (91, RETURN, 0))[IRQ0]
    assert (found.entered, found.cut) == (0, 1)


def test_bytes_that_are_no_packet_are_a_gap_too() -> None:
    raw = exception(IRQ0, ENTER) + ticks(10) + b"\x80" + exception(IRQ0, EXIT) + ticks(10)
    found = exceptions.read([raw])
    assert (found.gaps, found.rows[0].cut, found.rows[0].inclusive.count) == (1, 1, 0)


# -- without time ------------------------------------------------------------------
UNTIMED = exception(IRQ0, ENTER) + exception(IRQ0, EXIT) + exception(0, RETURN)


def test_without_timestamps_there_are_counts_only() -> None:
    found = exceptions.read([UNTIMED])
    assert found.span is None
    assert [(r.entered, r.inclusive.count, r.untimed) for r in found.rows] == [(1, 0, 1)]


# -- text --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("number", "name"),
    [
        *((1, "Reset"), (2, "NMI"), (3, "HardFault"), (4, "MemManage"), (5, "BusFault")),
        *((6, "UsageFault"), (7, "SecureFault"), (8, "exception 8"), (11, "SVCall")),
        *((12, "DebugMonitor"), (14, "PendSV"), (15, "SysTick"), (16, "IRQ 0"), (322, "IRQ 306")),
    ],
)
def test_exceptions_have_the_names_that_arm_uses(number: int, name: str) -> None:
    assert name_of(number) == name


def lines(raw: bytes, width: int = 80, clock_hz: Optional[int] = None) -> List[str]:
    return exceptions_text.report(exceptions.read([raw]), width, clock_hz).splitlines()


NESTED = stream(
    (10, ENTER, SYSTICK),
    (20, ENTER, IRQ0),
    (26, EXIT, IRQ0),
    (30, RETURN, SYSTICK),
    (50, EXIT, SYSTICK),
    (52, RETURN, 0),
)


def test_the_table_has_a_row_an_exception() -> None:
    assert lines(NESTED) == [
        "6 exception packets; at most 2 deep; local time spans 52 ticks",
        "exception  entered  timed  ticks: min  mean  max  own: mean  min  max",
        "SysTick          1      1          40    40   40         30   30   30",
        "IRQ 0            1      1           6     6    6          6    6    6",
    ]


def test_with_a_clock_the_table_is_in_microseconds() -> None:
    row = lines(NESTED, clock_hz=10_000_000)[2]
    assert row.split() == ["SysTick", "1", "1", *["4.00"] * 3, *["3.00"] * 3]


def test_a_narrow_table_leaves_out_the_extremes_of_the_own_time() -> None:
    assert max(map(len, lines(NESTED, 60))) <= 60
    assert lines(NESTED, 60)[-1].split() == ["IRQ", "0", "1", "1", *["6"] * 4]


def test_without_timestamps_the_report_says_so() -> None:
    assert lines(UNTIMED) == [
        "3 exception packets; at most 1 deep; no timestamps: counts only",
        "exception  entered",
        "IRQ 0            1",
    ]


def test_what_the_times_leave_out_is_said() -> None:
    raw = stream((10, ENTER, IRQ0), (15, OVER, 0), (20, ENTER, IRQ0), (25, EXIT, IRQ0), (26, ENTER, IRQ1))
    assert lines(raw)[-3:] == [
        "! packets were lost at 1 place: entries there are not counted",
        "! 1 run cut (a gap, no entry, or neither exit nor return): no time for it",
        "! 1 run is still open at the stream's end",
    ]
