"""Stamps of 32 bits become times on the kernel's own axis, whatever the clock did (cases 48, 50, 52)."""

from __future__ import annotations

from typing import Any, List, Sequence

import pytest
from ring_builder import Record, block, facts, findings, ready, runs, text

from gdb_prof.errors import UsageError
from gdb_prof.trace import ring
from gdb_prof.trace.assertion import check
from gdb_prof.trace.clock import ASSUMED_TICK, Axis, unwrapped
from gdb_prof.trace.events import DELAY, GIVE, IN, MARK, READY, TAKE, TICK, WAIT
from gdb_prof.trace.findings import find
from gdb_prof.trace.ring import Context, Ring

TURN = 1 << 32
A, B = 1, 2


def of(records: Sequence[Record], n: int = 0, **context: Any) -> Ring:
    return ring.parse(block(records, n=n or None), Context(**context), (12, 8))


def times(records: Sequence[Record], **context: Any) -> List[int]:
    return unwrapped(of(records, **context))[0]


def axis(records: Sequence[Record], **context: Any) -> Axis:
    return unwrapped(of(records, **context))[1]


def marks(*stamps: int) -> List[Record]:
    return [(stamp, MARK, A, 0) for stamp in stamps]


def tick_records(period: int, numbers: Sequence[int], first: int = 0) -> List[Record]:
    """A tick at each of these numbers, at its time, as the clock's 32 bits show it."""
    return [(first + (number - numbers[0]) * period, TICK, A, number) for number in numbers]


# -- wraps ----------------------------------------------------------------------------


def test_times_begin_at_the_first_record() -> None:
    assert times(marks(5_000, 5_100, 6_000)) == [0, 100, 1_000]
    assert times([]) == []


def test_a_clock_that_wraps_runs_on() -> None:
    assert times(marks(TURN - 100, TURN - 50, TURN + 50)) == [0, 50, 150]


def test_a_clock_that_wraps_several_times_runs_on() -> None:
    stamps = [i * (1 << 30) for i in range(13)]
    assert times(marks(*stamps)) == stamps  # three whole turns


@pytest.mark.parametrize("numbers", [[0, 1, 2, 40, 41, 42], [0, 1, 2, 20_000, 20_001, 20_002]])
def test_whole_turns_within_a_sleep_are_told_by_the_tick_numbers(numbers: List[int]) -> None:
    period = TURN // 10 + 12_345  # 38 ticks: 3.8 turns; 19,998: 1,999.8
    shown = times(tick_records(period, numbers))
    assert shown == [number * period for number in numbers]


@pytest.mark.parametrize("slept", [5, 6, 7, 8, 9, 15, 16, 18])
def test_a_sleep_of_more_than_half_a_turn_is_no_clock_set_back(slept: int) -> None:
    """168 MHz: half a turn is 12.8 s. What came before is kept."""
    period = TURN // 10
    numbers = [0, 1, 2, 2 + slept, 3 + slept, 4 + slept]
    records = [(0, IN, A, 1), *tick_records(period, numbers), (period * numbers[-1] + 5, IN, B, 1)]
    stamps, _, restarts = unwrapped(of(records))
    assert restarts == []
    assert stamps == [0, *(number * period for number in numbers), period * numbers[-1] + 5]


def test_a_clock_set_back_during_a_long_sleep_is_set_back() -> None:
    period = TURN // 10
    woken = [(1_000 + i * period, TICK, A, 7 + i) for i in range(3)]  # 5 ticks on: half a turn
    assert unwrapped(of([*tick_records(period, [0, 1, 2]), *woken]))[2] == [3]


def test_the_missing_turns_lie_in_the_longest_gap_between_the_two_ticks() -> None:
    period = TURN // 10
    numbers = [0, 1, 2, 32, 33, 34]
    ticks = tick_records(period, numbers)
    slept = ticks[2][0] + 100
    records = [*ticks[:3], (slept, MARK, A, 0), (ticks[3][0] - 10, MARK, A, 0), *ticks[3:]]
    shown = times(records)
    assert shown[3] == slept
    assert shown[4] == 32 * period - 10


# -- set back -------------------------------------------------------------------------


def test_a_clock_zeroed_when_the_scheduler_starts_begins_the_axis() -> None:
    """A naive unwrap adds 2^32 counts."""
    traced = facts((106_186, READY, A, 1), (18, IN, A, 1), (433, IN, B, 2), (1_000, MARK, B, 0))
    assert (traced.start, traced.end, traced.span) == (0, 982, 982)
    assert traced.axis.at(traced.start) == pytest.approx(0.018)  # the clock's own zero
    assert runs(traced) == [("L", 0, 415), ("M", 415, 982)]
    assert traced.unknown == 0


def test_what_happened_before_the_clock_was_set_back_has_no_time() -> None:
    traced = facts(
        *[(0, IN, A, 1), (500, WAIT, A, 7), (600, IN, B, 2), (5_000, MARK, B, 0)],
        *[(10, IN, A, 1), (20, TAKE, A, 7), (300, IN, B, 2), (400, MARK, B, 0)],
    )
    assert (traced.start, traced.span) == (5_000, 390)
    assert runs(traced) == [("L", 5_000, 5_290), ("M", 5_290, 5_390)]
    assert traced.waits == []
    assert ready(traced) == [("L", 5_290, 5_390)]
    assert traced.switches == (1, 1)


def test_the_scheduler_starting_the_clock_is_worth_no_remark() -> None:
    assert facts((106_186, READY, A, 1), (18, IN, A, 1), (433, IN, B, 2)).remarks == ()


def test_a_clock_set_back_twice_says_so() -> None:
    stamps = [9_000, 9_100, 10, 20, 30, 15, 25, 35]
    traced = facts(*[(stamp, IN, 1 + i % 2, 1) for i, stamp in enumerate(stamps)])
    assert "the clock was set back: what came before, 5 records, is left out" in traced.remarks
    assert traced.span == 20


# -- the axis -------------------------------------------------------------------------


def test_tick_number_k_lies_at_k_periods() -> None:
    scale = axis([(40, IN, A, 1), *tick_records(16_000, range(1, 6), first=16_190)], tick_hz=1000.0)
    assert (scale.unit, scale.per_unit, scale.counts_a_tick) == ("ms", 16_000, 16_000)
    assert scale.at(16_190 - 40) == pytest.approx(1.0)
    assert scale.time(2.5) == scale.time(2) + 8_000
    assert scale.at(scale.time(7.25)) == pytest.approx(7.25)
    assert scale.remarks == ()


@pytest.mark.parametrize(("tick_hz", "per_ms"), [(100.0, 1_600), (250.0, 4_000), (1000.0, 16_000)])
def test_the_tick_rate_scales_the_axis(tick_hz: float, per_ms: int) -> None:
    scale = axis(tick_records(16_000, range(10)), tick_hz=tick_hz)
    assert scale.per_unit == pytest.approx(per_ms)
    assert scale.at(scale.time(0) + 5 * 16_000) == pytest.approx(5_000 / tick_hz)


def test_without_a_tick_rate_a_tick_is_1_ms_and_the_report_says_so() -> None:
    scale = axis(tick_records(16_000, range(10)))
    assert scale.per_unit == 16_000
    assert scale.remarks == (ASSUMED_TICK,)


@pytest.mark.parametrize("tick_hz", [100, 250, 500, 1000])
def test_a_clock_rate_tells_the_tick_rate(tick_hz: int) -> None:
    scale = axis(tick_records(16_000_000 // tick_hz, range(10)), clock_hz=16e6)
    assert scale.per_unit == pytest.approx(16_000)
    assert scale.remarks == ()


def test_the_period_is_the_ticks_own_not_what_the_program_believes() -> None:
    scale = axis(tick_records(167_999, range(20)), clock_hz=168e6, tick_hz=1000.0)
    assert scale.per_unit == 167_999


def test_after_the_ring_has_wrapped_the_axis_is_that_of_the_ticks_own_numbers() -> None:
    records = tick_records(1_000, range(1, 21), first=1_000)
    wrapped = unwrapped(of(records, n=8))
    assert (wrapped[0][0], wrapped[1].at(wrapped[0][0])) == (0, pytest.approx(13.0))
    assert wrapped[1].at(wrapped[0][-1]) == pytest.approx(20.0)


def test_tick_numbers_of_16_bits_run_on_across_65_535() -> None:
    scale = axis(tick_records(1_000, range(65_530, 65_542)))
    assert scale.at(0) == pytest.approx(65_530)
    assert scale.at(11_000) == pytest.approx(65_541)
    assert scale.remarks == (ASSUMED_TICK,)


@pytest.mark.parametrize("now", [200_005, 200_008, 265_535])
def test_a_later_whole_tick_count_tells_the_upper_bits(now: int) -> None:
    scale = axis(tick_records(1_000, range(200_000, 200_006)), tick_count=now)
    assert scale.at(5_000) == pytest.approx(200_005)


def test_a_tick_count_from_before_does_not_make_the_axis_negative() -> None:
    assert axis(tick_records(1_000, range(60_000, 60_004)), tick_count=3).at(0) == pytest.approx(60_000)


def test_without_ticks_the_axis_is_counts_unless_the_clock_rate_is_known() -> None:
    plain = axis(marks(5_000, 5_500, 6_000))
    assert (plain.unit, plain.per_unit, plain.at(1_000)) == ("counts", 1, 1_000)
    assert plain.remarks == (
        "no tick records: times are counts of the recorder's clock (set rtos-trace clock-hz)",
    )
    known = axis(marks(5_000, 5_500, 6_000), clock_hz=1e6)
    assert (known.unit, known.at(1_000), known.remarks) == ("ms", 1.0, ())
    assert axis([*marks(5_000), (5_100, TICK, A, 3), *marks(6_000)], clock_hz=1e6).at(1_000) == 1.0


def test_ticks_that_take_no_time_give_no_scale() -> None:
    stamps = [(0, TICK, A, 0), (0, TICK, A, 1), (0, TICK, A, 2), (9, MARK, A, 0)]
    assert axis(stamps).unit == "counts"


# -- a clock that stops, and ticks that jump --------------------------------------------


def test_a_clock_that_stops_in_sleep_is_found_by_the_ticks() -> None:
    """Case 48: 64 MHz, 10.8 million counts in 1,000 ticks of 1 ms."""
    records = [(0, IN, A, 1), (0, TICK, A, 0), (10_800_000, TICK, A, 1_000)]
    traced = facts(*records, clock_hz=64e6, tick_hz=1e3)
    assert traced.axis.awake_share == pytest.approx(10.8 / 64)
    assert find(traced)[0].text == (
        "Time base: it counts awake time only, 17 % of what the ticks say (or clock-hz is too high); idle "
        "time is unknown, and so are shares and waits."
    )
    assert "CPU share" not in text(traced)
    with pytest.raises(UsageError, match=r"^no shares in this trace: its clock stopped in sleep$"):
        check(traced, "share L < 100%")
    with pytest.raises(UsageError, match=r"^no waits to check in this trace: its clock stopped in sleep$"):
        check(traced, "wait L < 1ms")
    assert traced.axis.span(64_000) == 1.0  # what it does count is real time


def test_a_clock_that_stops_for_a_part_of_every_tick_is_found_too() -> None:
    traced = facts(*tick_records(40_000, range(100)), clock_hz=64e6, tick_hz=1e3)
    assert traced.axis.awake_share == pytest.approx(0.625)


def test_a_jump_of_the_tick_count_is_told_and_the_clocks_time_is_kept() -> None:
    """Case 52: ticks 64912, 64937, 66087, 66112 with equal gaps."""
    gap = 25_000
    records = [(i * gap, TICK, A, number) for i, number in enumerate((64_912, 64_937, 66_087, 66_112))]
    scale = axis(records)
    assert (scale.per_unit, scale.awake_share) == (1_000, None)
    assert scale.at(3 * gap) - scale.at(0) == pytest.approx(75)
    assert scale.remarks == (
        ASSUMED_TICK,
        "the tick count jumped once (+1125): ticks were added after a sleep, or by hand; "
        "the clock's time is kept",
    )


@pytest.mark.parametrize("clock_hz", [0.0, 1e6])
def test_a_tick_recorded_late_is_neither_a_jump_nor_a_clock_that_stopped(clock_hz: float) -> None:
    """A critical section of 0.4 ms: the next gap is 0.6 ms."""
    records = tick_records(1_000, range(50))
    records[20] = (20_400, TICK, A, 20)
    scale = axis(records, clock_hz=clock_hz, tick_hz=1e3)
    assert (scale.per_unit, scale.awake_share, scale.remarks) == (1_000, None, ())


@pytest.mark.parametrize("clock_hz", [0.0, 1e6])
def test_nor_is_a_first_tick_recorded_late(clock_hz: float) -> None:
    records = tick_records(1_000, range(50))
    records[0] = (600, TICK, A, 0)
    scale = axis(records, clock_hz=clock_hz, tick_hz=1e3)
    assert (scale.per_unit, scale.awake_share, scale.remarks) == (1_000, None, ())


@pytest.mark.parametrize(("slept", "told"), [(9, True), (1, False)])
def test_many_short_ticks_without_a_clock_rate_are_a_clock_that_stopped(slept: int, told: bool) -> None:
    """Of 50 ticks some took half of the counts: too many to be jumps."""
    stamps, time = [], 0
    for number in range(50):
        stamps.append((time, TICK, A, number))
        time += 500 if number < slept else 1_000
    assert (axis(stamps).awake_share is not None) is told


@pytest.mark.parametrize("clock_hz", [0.0, 1e6])
def test_ticks_made_up_for_after_a_suspended_scheduler_are_no_jump(clock_hz: float) -> None:
    """The kernel says tick 5 each ms from 5 to 9, then 5 to 9 at once when it is resumed."""
    suspended = [(1_000 * i, TICK, A, 5) for i in range(5, 10)]
    made_up = [(9_500 + i, TICK, A, number) for i, number in enumerate(range(5, 10))]
    records = [
        *tick_records(1_000, range(5)),
        *suspended,
        *made_up,
        *tick_records(1_000, range(10, 40), 10_000),
    ]
    scale = axis(records, clock_hz=clock_hz, tick_hz=1e3)
    assert (scale.per_unit, scale.awake_share, scale.remarks) == (1_000, None, ())


def test_a_clock_that_does_not_run_gives_an_order_and_no_times() -> None:
    """Case 50: eight records, all of one stamp."""
    codes = [IN, TAKE, IN, WAIT, IN, GIVE, IN, TAKE]
    records = [(0x40000000, code, A + i // 2 % 2, 1) for i, code in enumerate(codes)]
    traced = facts(*records)
    assert traced.axis.stuck
    assert [finding.text for finding in find(traced)] == [
        "Time base: it does not run: every stamp is 0x40000000; order only, no times and no shares."
    ]
    shown = text(traced)
    assert "%" not in shown
    assert "share " not in shown
    with pytest.raises(UsageError, match=r"^this trace has no times: its clock does not run$"):
        check(traced, "share L < 100%")


def test_one_record_is_no_stuck_clock() -> None:
    traced = facts((77, IN, A, 1))
    assert (traced.axis.stuck, traced.span) == (False, 0)


def test_a_periodic_task_needs_a_tick_to_be_late() -> None:
    starts = [(i * 5_000 + (4_000 if i % 2 else 10), IN, A, 1) for i in range(8)]
    readies = [(i * 5_000, READY, A, 1) for i in range(8)]
    delays = [(time + 100, DELAY, A, 5 * i + 5) for i, (time, _, _, _) in enumerate(starts)]
    idle = [(time + 110, IN, B, 0) for time, _, _, _ in starts]
    assert findings(facts(*sorted([*starts, *readies, *delays, *idle]))) == []


# -- gaps ---------------------------------------------------------------------------------


def test_a_long_gap_without_ticks_is_a_gap_and_no_clock_that_was_set_back() -> None:
    """Three seconds of a clock of 1 GHz are more than half a turn; the stamps are not near zero."""
    stamps = [100_000_000, 200_000_000, 3_200_000_000, 3_200_001_000]
    traced = facts(*[(stamp, IN, 1 + i % 2, 1) for i, stamp in enumerate(stamps)])
    assert [(start, end) for _, start, end in runs(traced)] == [
        (0, 100_000_000),
        (100_000_000, 3_100_000_000),
        (3_100_000_000, 3_100_001_000),
    ]
    assert any("half a turn of the clock or more lies between two records" in r for r in traced.remarks)


def test_what_came_before_a_clock_was_set_back_is_said_to_be_left_out() -> None:
    traced = facts((900_000, IN, A, 1), (901_000, IN, 2, 1), (10, IN, A, 1), (20, IN, 2, 1))
    assert "the clock was set back: what came before, 2 records, is left out" in traced.remarks


def test_a_tick_that_comes_far_too_late_is_named_and_no_finding_is_made_of_it() -> None:
    """Halted for 2 s by a debugger, with a timer that runs on: tick 6 comes 1,999 ms late."""
    times = [1_000 * number for number in range(1, 6)] + [2_005_000 + 1_000 * k for k in range(5)]
    ticks = [(time, TICK, A, number) for number, time in enumerate(times, 1)]
    traced = facts((0, IN, A, 1), (10, READY, 2, 2), *ticks, (times[-1] + 10, IN, 2, 2), tick_hz=1e3)
    assert [excess for _, _, excess in traced.axis.late] == [1_999_000]
    (finding,) = find(traced)
    assert finding.text.startswith(
        "Time base: 1 tick came late, the worst by 1999.000 ms after 5.000: interrupts"
    )


def test_ticks_under_a_suspended_scheduler_are_not_late() -> None:
    """Recorded each tick under one number, then all at once."""
    before = [(1_000 * number, TICK, A, number) for number in range(1, 61)]
    suspended = [(60_000 + 1_000 * k, TICK, A, 61) for k in range(1, 21)]
    made_up = [(80_100 + k, TICK, A, 61 + k) for k in range(20)]
    after = [(81_000 + 1_000 * k, TICK, A, 81 + k) for k in range(5)]
    assert facts((0, IN, A, 1), *before, *suspended, *made_up, *after, tick_hz=1e3).axis.late == ()
