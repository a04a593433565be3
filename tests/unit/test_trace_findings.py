"""Each conclusion is drawn at its limit, and not below it; always with its evidence."""

from __future__ import annotations

from typing import Any, List

import pytest
from ring_builder import MS, H, L, M, Record, X, facts, findings, merged, named, text, ticks

from gdb_prof.trace.events import DELAY, DELETE, GIVE_ISR_FAIL, IN, MARK, OBJECT, READY, SLEEP, SUSPEND, TICK
from gdb_prof.trace.finding import IDLE, JITTER, NEVER_BLOCKS, OVERFLOW, SHORT, STARVATION
from gdb_prof.trace.findings import find, starvations
from gdb_prof.trace.periodic import lateness, periods
from gdb_prof.trace.timeline import Timeline

REST = 5
NAMES = {H: "H", M: "M", L: "L", X: "X", REST: "IDLE"}


def told(traced: Timeline) -> List[str]:
    return [one.text for one in find(traced)]


# -- starvation -----------------------------------------------------------------------


def starved(counts: int) -> List[Record]:
    """L is ready at 1 ms, and runs so many counts later; H runs meanwhile."""
    return [
        *[(0, IN, L, 1), (100, SLEEP, L, 1), (100, IN, H, 3), (1 * MS, READY, L, 1)],
        *[(1 * MS + counts, SLEEP, H, 99), (1 * MS + counts, IN, L, 1), (1 * MS + counts + 9, MARK, L, 0)],
    ]


def test_more_than_10_ms_ready_without_running_is_starvation() -> None:
    assert findings(facts(*starved(10 * MS + 1))) == [(STARVATION, "L")]
    assert told(facts(*starved(12 * MS))) == [
        "Starvation: L (1) was ready 12.000 ms without running, 1.000 to 13.000: H ran 12.000."
    ]


def test_10_ms_are_not() -> None:
    assert findings(facts(*starved(10 * MS))) == []


def test_another_limit_may_be_given() -> None:
    assert len(starvations(facts(*starved(5 * MS)), 4.999)) == 1
    assert starvations(facts(*starved(5 * MS)), 5.0) == []


def test_a_task_still_ready_at_the_end_starves_so_far() -> None:
    traced = facts((0, IN, H, 3), (1 * MS, READY, L, 1), (20 * MS, MARK, H, 0))
    assert told(traced)[0] == (
        "Starvation: L (1) was ready 19.000 ms without running, 1.000 to 20.000, "
        "and still is at the trace's end: H ran 19.000."
    )


def test_a_preempted_task_starves_as_well() -> None:
    traced = facts((0, IN, L, 1), (1 * MS, IN, H, 3), (15 * MS, SLEEP, H, 99), (15 * MS, IN, L, 1))
    assert findings(traced) == [(STARVATION, "L")]


def test_each_task_starves_once_by_its_longest_time_and_the_others_are_counted() -> None:
    records = [
        *[(0, IN, L, 1), (1 * MS, IN, H, 3), (13 * MS, SLEEP, H, 9), (13 * MS, IN, L, 1)],
        *[(14 * MS, IN, H, 3), (34 * MS, SLEEP, H, 9), (34 * MS, IN, L, 1), (35 * MS, MARK, L, 0)],
    ]
    (one,) = [one for one in find(facts(*records)) if one.kind == STARVATION]
    assert (one.start, one.end, one.size) == (14 * MS, 34 * MS, 20 * MS)
    assert one.text.endswith(" 2 times longer than 10 ms; this is the longest.")


def test_the_idle_task_does_not_starve_by_being_idle() -> None:
    records = [(0, IN, REST, 0), (1 * MS, IN, H, 3), (30 * MS, SLEEP, H, 99), (30 * MS, IN, REST, 0)]
    assert findings(facts(*records, names=NAMES)) == []


def test_what_was_created_before_the_scheduler_started_has_not_starved() -> None:
    """80 ms of initialisation: neither those created, nor the idle task, could run."""
    records = [(0, READY, X, 5), (5, READY, H, 3), (80 * MS, READY, REST, 0), (80 * MS, IN, X, 5)]
    rest = [(80 * MS + 50, SLEEP, X, 180), (80 * MS + 51, IN, H, 3), (90 * MS, SLEEP, H, 99)]
    assert (
        findings(facts(*records, *rest, (90 * MS, IN, REST, 0), (99 * MS, MARK, REST, 0), names=NAMES)) == []
    )


def test_nobody_starves_while_nobody_is_known_to_run() -> None:
    """The ring has wrapped; the first switch that is left comes 80 ms after READY."""
    lost = [(0, MARK, 0, 1)] * 8
    records = [(0, READY, L, 1), (80 * MS, IN, H, 3), (85 * MS, SLEEP, H, 99), (85 * MS, IN, L, 1)]
    assert findings(facts(*lost, *records, n=4)) == []


@pytest.mark.parametrize("end", [(90 * MS, SUSPEND, X, L), (90 * MS, DELETE, L, X)])
def test_who_starved_until_it_was_suspended_or_deleted_has_starved(end: Record) -> None:
    records = [(0, IN, M, 2), (0, SLEEP, M, 1), (0, IN, L, 1), (5 * MS, READY, M, 2), (5 * MS, IN, M, 2)]
    traced = facts(*records, (90 * MS, IN, X, 4), end, (90 * MS, SLEEP, X, 99), (90 * MS, IN, M, 2))
    assert told(traced)[0].startswith(
        "Starvation: L (1) was ready 85.000 ms without running, 5.000 to 90.000"
    )


def test_times_beyond_a_thousand_have_separators() -> None:
    one = [(0, IN, L, 1), (1 * MS, IN, H, 3), (13 * MS, SLEEP, H, 9)]
    records = [(time + 13 * MS * k, code, task, a) for k in range(1001) for time, code, task, a in one]
    assert told(facts(*records, (13_013 * MS, IN, L, 1)))[0].endswith(
        " 1,001 times longer than 10 ms; this is the longest."
    )


def test_without_milliseconds_nobody_starves() -> None:
    assert findings(facts(*starved(100 * MS), clock_hz=0.0)) == []


# -- jitter ---------------------------------------------------------------------------


def periodic(late: List[int], period: int = 10) -> List[Record]:
    """M wakes each period, and starts so many counts late because H runs."""
    records: List[Record] = []
    for i, counts in enumerate(late, 1):
        due = period * i * MS
        records += [
            (due, READY, M, 2),
            (due, IN, H, 3),
            (due + counts, SLEEP, H, 0),
            (due + counts, IN, M, 2),
        ]
        records += [(due + counts + 50, DELAY, M, period * (i + 1)), (due + counts + 60, IN, REST, 0)]
    start = [(0, IN, M, 2), (50, DELAY, M, period), (60, IN, REST, 0)]
    return merged(start, records, ticks(1, period * len(late) + 9, 0))


def regular(*records: Record) -> Timeline:
    return facts(*records, names=NAMES)


def test_a_start_more_than_half_a_period_later_than_another_is_jitter() -> None:
    traced = regular(*periodic([100, 100, 5_101, 100]))
    assert findings(traced) == [(JITTER, "M")]
    assert told(regular(*periodic([100, 100, 6_100, 100]))) == [
        "Jitter: M (2), every 10.000 ms, starts up to 6.100 ms late; 4 starts vary by 6.000 ms. "
        "The worst was due at 30.000: H ran 6.100 meanwhile."
    ]


def test_half_a_period_is_not() -> None:
    assert findings(regular(*periodic([100, 100, 5_100, 100]))) == []


def test_two_starts_are_too_few_to_say() -> None:
    assert findings(regular(*periodic([100, 9_000]))) == []


def test_what_starves_is_not_said_to_jitter_as_well() -> None:
    assert findings(regular(*periodic([100, 100, 10_100, 100], period=20))) == [(STARVATION, "M")]


def test_the_period_is_in_ticks_across_the_16_bit_boundary() -> None:
    shift = 65_536 - 25
    records = [
        (time, code, task, argument + shift if code in (TICK, DELAY) else argument)
        for time, code, task, argument in periodic([100, 100, 6_100, 100])
    ]
    assert "every 10.000 ms" in told(regular(*records))[0]


def overrun() -> List[Record]:
    """M every 5 ms; the job due at 10 takes 12: those due at 15 and 20 begin at 22 and 22.5, and
    no record says so, because the kernel has no delay to make."""
    records: List[Record] = [(0, IN, M, 2), (100, DELAY, M, 5), (110, IN, REST, 0)]
    for due, work, wake in [(5, 500, 10), (10, 13_000, 25), (25, 500, 30), (30, 500, 35), (35, 500, 40)]:
        start = due * MS + 10
        records += [(start - 10, READY, M, 2), (start, IN, M, 2), (start + work, DELAY, M, wake)]
        records += [(start + work, IN, REST, 0)]
    return merged(ticks(1, 39, 0), records)


def test_releases_that_came_before_the_last_job_was_done_are_missed() -> None:
    traced = regular(*overrun())
    assert findings(traced) == [(JITTER, "M")]
    assert told(traced) == [
        "Jitter: M (2), every 5.000 ms: 2 of 8 releases missed, the first at 15.000: "
        "the job before was not done."
    ]
    assert (find(traced)[0].start, find(traced)[0].end) == (15 * MS, 23 * MS + 10)


def test_a_wake_up_that_was_meant_to_be_two_periods_later_misses_none() -> None:
    """5, 5, 10, 5, 5, 10 ms: when it delays, the release between is still to come."""
    records: List[Record] = [(0, IN, M, 2), (100, DELAY, M, 5), (110, IN, REST, 0)]
    for due, wake in [(5, 10), (10, 20), (20, 25), (25, 30), (30, 40)]:
        at = due * MS
        records += [(at, READY, M, 2), (at + 10, IN, M, 2), (at + 500, DELAY, M, wake)]
        records += [(at + 510, IN, REST, 0)]
    assert findings(regular(*merged(ticks(1, 39, 0), records))) == []


def test_a_start_is_late_from_its_tick_on_even_if_it_was_made_ready_late() -> None:
    """The scheduler is suspended from 39.5 to 46: ticks are recorded under one number, then all
    at once; M, due at 40, is made ready at 46."""
    records = [one for one in periodic([100] * 5) if not 40 * MS <= one[0] < 47 * MS]
    stands = [(number * MS, TICK, 0, 40) for number in range(40, 47)]
    resumed = [(46 * MS + 1 + number - 40, TICK, 0, number) for number in range(40, 47)]
    starts = [(46 * MS + 10, READY, M, 2), (46 * MS + 20, IN, M, 2), (46 * MS + 60, DELAY, M, 50)]
    traced = regular(*merged(records, stands, resumed, starts, [(46 * MS + 70, IN, REST, 0)]))
    (found,) = find(traced)
    assert (found.kind, found.start, found.end) == (JITTER, 40 * MS, 46 * MS + 20)
    assert ", starts up to 6.020 ms late; 5 starts vary by 5.920 ms. " in found.text


def test_the_timer_task_has_no_period() -> None:
    """It delays until whatever timer is next, and for ever where there is none."""
    traced = facts(*periodic([100, 100, 6_100, 100]), names={**NAMES, M: "Tmr Svc"})
    assert findings(traced) == []
    assert lateness(traced) == {}


def delayed(*wakes: int) -> Timeline:
    records = [(time, DELAY, M, wake) for time, wake in enumerate(wakes, 1)]
    return facts((0, IN, M, 2), *records, (90, MARK, M, 0))


@pytest.mark.parametrize(
    ("wakes", "period"),
    [
        ((5, 10, 15), None),  # two steps say too little
        ((5, 10, 15, 20), 5),
        ((5, 10, 15, 30, 45), 5),
        ((2, 22, 24, 44, 46), 2),  # multiples, and half of them the smallest
        ((2, 22, 24, 44, 64), None),
        ((2, 23, 25, 46, 48), None),  # 21 is no multiple of 2
        ((65_530, 65_535, 4, 9), 5),
        ((1003, 64, 1003, 64, 1003), None),  # 64,597 is a step back
    ],
)
def test_a_period_is_what_nearly_all_steps_are_multiples_of(wakes: Any, period: Any) -> None:
    traced = delayed(*wakes)
    assert periods(traced).get(named(traced, "M")) == period


# -- idle -----------------------------------------------------------------------------


def busy(counts: int) -> List[Record]:
    """The idle task does not run for so many counts from 1 ms on."""
    return [
        *[(0, IN, REST, 0), (1 * MS, READY, H, 3), (1 * MS, IN, H, 3), (1 * MS + counts, SLEEP, H, 9)],
        *[(1 * MS + counts, IN, REST, 0), (2 * MS + counts, MARK, REST, 0)],
    ]


def test_50_ms_without_the_idle_task_are_a_finding() -> None:
    assert findings(facts(*busy(50 * MS), names=NAMES)) == [(IDLE, "IDLE")]
    assert told(facts(*busy(60 * MS), names=NAMES))[0] == (
        "Idle starved: IDLE did not run for 60.000 ms, 1.000 to 61.000: H ran 60.000. "
        "What it does (memory of deleted tasks, idle hook, sleep) waits."
    )


def test_less_is_not() -> None:
    assert findings(facts(*busy(50 * MS - 1), names=NAMES)) == []


def test_an_idle_task_that_never_ran_did_not_run_all_the_time() -> None:
    records = [
        (0, IN, H, 3),
        (10 * MS, SLEEP, H, 9),
        (10 * MS, IN, M, 2),
        (70 * MS, SLEEP, M, 9),
        (70 * MS, IN, H, 3),
    ]
    traced = facts(*records, names=NAMES)
    assert findings(traced) == [(IDLE, "IDLE")]
    assert (find(traced)[0].start, find(traced)[0].end) == (0, 70 * MS)


def test_where_nobody_knows_the_idle_task_it_is_a_task_like_others() -> None:
    assert findings(facts(*busy(60 * MS))) == [(STARVATION, "task5")]


# -- never blocks ---------------------------------------------------------------------


def spinning(counts: int, rest: int = 0) -> List[Record]:
    """M, while L is ready."""
    return [
        *[(0, IN, L, 1), (0, IN, M, 2)],
        *[(counts, IN, X, 4), (counts + rest, MARK, X, 0)],
    ]


def test_20_ms_without_ever_blocking_in_40_are_a_finding() -> None:
    traced = facts(*spinning(20 * MS, 20 * MS), recorded=None)
    assert (NEVER_BLOCKS, "M") in findings(traced)
    assert (
        "Never blocks: M (2) ran 20.000 ms of 40.000 ms and waited for nothing: "
        "tasks below its priority starve: L (1)."
    ) in told(traced)


def test_a_task_below_may_be_known_by_the_debugger_or_be_the_idle_task() -> None:
    alone = [(0, IN, M, 2), (90 * MS, MARK, M, 0)]
    assert findings(facts(*alone)) == []
    known = facts(*alone, tasks={L: "log", H: "H"}, priorities={L: 1, H: 3})
    assert told(known)[0].endswith(": tasks below its priority starve: log (1).")
    assert (NEVER_BLOCKS, "M") in findings(facts(*alone, names=NAMES))  # IDLE's is 0
    assert findings(facts((0, IN, M, 0), (90 * MS, MARK, M, 0), tasks={L: "L"}, priorities={L: 0})) == []


def test_of_many_tasks_below_three_are_named() -> None:
    alone = [(0, IN, M, 9), (90 * MS, MARK, M, 0)]
    known = facts(*alone, tasks={n: "t%d" % n for n in range(4, 9)}, priorities={n: n for n in range(4, 9)})
    assert told(known)[0].endswith(" starve: t8 (8), t7 (7), t6 (6) and 2 more.")


@pytest.mark.parametrize(("ran", "rest"), [(20 * MS - 1, 21 * MS), (20 * MS, 20 * MS - 1)])
def test_less_time_or_a_shorter_trace_is_not(ran: int, rest: int) -> None:
    assert (NEVER_BLOCKS, "M") not in findings(facts(*spinning(ran, rest)))


def test_a_task_that_blocked_or_was_woken_does_block() -> None:
    once = [
        (0, IN, M, 2),
        (10, SLEEP, M, 5),
        (12, IN, X, 0),
        (50, READY, M, 2),
        (52, IN, M, 2),
        (90 * MS, MARK, M, 0),
    ]
    assert (NEVER_BLOCKS, "M") not in findings(facts(*once))
    woken = [(0, IN, X, 0), (50, READY, M, 2), (52, IN, M, 2), (90 * MS, MARK, M, 0)]
    assert (NEVER_BLOCKS, "M") not in findings(facts(*woken))


def test_being_readied_at_its_creation_is_no_sign_that_a_task_blocks() -> None:
    created = [(0, READY, M, 2), (10, READY, L, 1), (20, IN, M, 2), (90 * MS, MARK, M, 0)]
    assert (STARVATION, "L") in findings(facts(*created))
    assert (NEVER_BLOCKS, "M") in findings(facts(*created))


def test_after_the_ring_has_wrapped_a_first_ready_is_a_waking() -> None:
    lost = [(0, MARK, 0, 1)] * 4
    traced = facts(*lost, (0, READY, M, 2), (20, IN, M, 2), (90 * MS, MARK, M, 0), n=4)
    assert traced.ring.overwritten
    assert findings(traced) == []


def test_the_idle_task_may_run_for_ever() -> None:
    assert findings(facts((0, IN, REST, 0), (90 * MS, MARK, REST, 0), names=NAMES)) == []


# -- overflow, and a ring too short -----------------------------------------------------


def test_what_an_interrupt_could_not_send_is_an_overflow() -> None:
    fails = [(100, GIVE_ISR_FAIL, L, 7), (2 * MS, GIVE_ISR_FAIL, L, 7), (3 * MS, GIVE_ISR_FAIL, L, 8)]
    traced = facts((0, OBJECT, 0, 7), (0, IN, L, 1), *fails)
    assert findings(traced) == [(OVERFLOW, ""), (OVERFLOW, "")]
    assert told(traced) == [
        "Overflow: 2 sends from an interrupt to queue 7 failed, the first at 0.100: it was full.",
        "Overflow: 1 send from an interrupt to queue8 failed, the first at 3.000: it was full.",
    ]


def wrapped(span: int) -> List[Record]:
    """The ring keeps so many ms of a task with a period of 100 ms."""
    delays = [(1 * MS + 1, DELAY, M, 101), (1 * MS + 2, IN, X, 0), (1 * MS + 3, DELAY, M, 201)]
    return merged(ticks(0, span, X), [(0, IN, M, 2)], delays)


@pytest.mark.parametrize(("span", "found"), [(199, [(SHORT, "M")]), (200, [])])
def test_a_ring_that_wrapped_should_hold_two_of_the_longest_periods(span: int, found: List[object]) -> None:
    records = [(0, MARK, 0, 0), *wrapped(span)]
    traced = facts(*records, n=len(records) - 1)
    assert (traced.ring.overwritten, traced.span) == (1, span * MS)
    assert [one for one in findings(traced) if one[0] == SHORT] == found


def test_of_several_periods_the_longest_counts() -> None:
    shorter = [(1 * MS, DELAY, L, 11), (1 * MS, IN, X, 0), (2 * MS, DELAY, L, 21)]
    records = [(0, MARK, 0, 0), *merged([(0, IN, L, 1)], shorter, wrapped(199))]
    assert (SHORT, "M") in findings(facts(*records, n=len(records) - 1))


def test_a_ring_that_has_not_wrapped_is_not_too_short() -> None:
    assert SHORT not in [kind for kind, _ in findings(facts(*wrapped(10)))]


# -- order ----------------------------------------------------------------------------


def test_findings_are_numbered_in_the_report_and_none_is_said_to_be_none() -> None:
    assert "\nFindings\n1. Starvation: L (1) was ready 12.000 ms" in text(facts(*starved(12 * MS)))
    assert "\nNo findings.\n" in text(facts(*starved(5 * MS)))


def test_the_size_of_a_finding_orders_its_kind() -> None:
    records = [
        *[(0, IN, H, 3), (1 * MS, READY, L, 1), (5 * MS, READY, M, 2), (30 * MS, SLEEP, H, 9)],
        *[(30 * MS, IN, M, 2), (31 * MS, SLEEP, M, 9), (31 * MS, IN, L, 1), (32 * MS, MARK, L, 0)],
    ]
    starving = [one for one in find(facts(*records)) if one.kind == STARVATION]
    assert [one.size for one in starving] == [30 * MS, 25 * MS]
