"""The published rings of FreeRTOS V10.5.1 (CM4F) show the published figures.

Source: ../shared/FIGURES.md, The tracer. Lengths of time agree to 5 microseconds.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import pytest
from ring_builder import named, text

from gdb_prof.trace import events, ring, statistics
from gdb_prof.trace.assertion import check
from gdb_prof.trace.finding import IDLE, INVERSION, JITTER, STARVATION
from gdb_prof.trace.findings import find
from gdb_prof.trace.lanes import Window, lanes
from gdb_prof.trace.periodic import jitter_of, lateness
from gdb_prof.trace.report import drawing
from gdb_prof.trace.scheduler import timeline
from gdb_prof.trace.statistics import Latency
from gdb_prof.trace.timeline import TAKEN, Timeline, Wait
from shared_data import shared_data

INVERTED, MUTEX, LOAD, FIXED = 1, 2, 3, 4


def load(scenario: int) -> Timeline:
    raw = shared_data("trace_ring/tr_V10.5.1_cm4f_s%d.bin" % scenario).read_bytes()
    return timeline(ring.parse(raw, ring.Context()))


def ms(value: float) -> Any:
    return pytest.approx(value, abs=0.005)


def at(traced: Timeline, time: float) -> float:
    return traced.axis.at(time)


def length(traced: Timeline, one: Any) -> float:
    return traced.axis.span(one.end - one.start)


def only_wait(traced: Timeline) -> Wait:
    (wait,) = traced.waits
    return wait


def latency(traced: Timeline, label: str) -> Latency:
    (found,) = [one for one in statistics.latencies(traced.ready) if traced.tasks[one.task].label == label]
    return found


def acts(traced: Timeline) -> List[Tuple[float, str, str, int]]:
    return [
        (ms(at(traced, act.time)), traced.tasks[act.task].label, events.NAMES[act.code], act.argument)
        for act in traced.acts
    ]


@pytest.mark.parametrize(
    ("scenario", "records", "switches"),
    [(INVERTED, 42, 12), (MUTEX, 45, 11), (LOAD, 518, 150), (FIXED, 658, 232)],
)
def test_every_record_is_read_and_none_is_lost(scenario: int, records: int, switches: int) -> None:
    traced = load(scenario)
    assert len(traced.ring) == records
    assert traced.counts[events.IN] == switches
    assert (traced.ring.overwritten, traced.ring.dropped, traced.ring.on) == (0, 0, False)
    assert text(traced).startswith("%d records, none lost; 0.000 to " % records)


@pytest.mark.parametrize("scenario", [1, 2, 3, 4])
def test_the_ticks_scale_the_axis(scenario: int) -> None:
    axis = load(scenario).axis
    assert axis.unit == "ms"
    assert axis.per_unit == 999_999
    assert (axis.stuck, axis.awake_share) == (False, None)


@pytest.mark.parametrize(("scenario", "end"), [(1, 20), (2, 20), (3, 200), (4, 200)])
def test_the_axis_begins_where_the_clock_was_zeroed_and_ends_with_the_trace(
    scenario: int, end: float
) -> None:
    traced = load(scenario)
    assert at(traced, traced.start) == ms(0)
    assert at(traced, traced.end) == ms(end)


def test_the_load_makes_2_59_records_a_ms() -> None:  # FIGURES.md: 2.58, the last digit cut
    assert "Records, 2.59 a ms (of each): tick 200 (1.00), in 150 (0.75)," in text(load(LOAD))


def test_with_a_semaphore_h_waits_9_003_ms_of_which_m_takes_6_001() -> None:
    traced = load(INVERTED)
    wait = only_wait(traced)
    assert traced.tasks[wait.task].label == "H"
    assert at(traced, wait.start) == ms(1.000)
    assert at(traced, wait.end) == ms(10.003)
    assert length(traced, wait) == ms(9.003)
    assert traced.axis.span(wait.ran[named(traced, "M")]) == ms(6.001)
    assert traced.axis.span(wait.ran[named(traced, "L")]) == ms(3.002)
    assert (traced.tasks[wait.holder].label, wait.outcome, wait.inherited) == ("L", TAKEN, False)


def test_with_a_mutex_h_waits_3_002_ms_for_l_alone() -> None:
    traced = load(MUTEX)
    wait = only_wait(traced)
    assert traced.tasks[wait.task].label == "H"
    assert length(traced, wait) == ms(3.002)
    assert traced.axis.span(wait.ran[named(traced, "L")]) == ms(3.002)
    assert wait.ran[named(traced, "M")] == 0
    assert (traced.tasks[wait.holder].label, wait.outcome, wait.inherited) == ("L", TAKEN, True)


def test_with_a_mutex_l_inherits_at_1_001_and_disinherits_at_4_002() -> None:
    assert acts(load(MUTEX)) == [
        (0.001, "L", "take", 1),
        (1.000, "H", "wait", 1),
        (1.001, "L", "inherit", 3),
        (4.002, "L", "give", 1),
        (4.002, "L", "disinherit", 1),
        (4.003, "H", "take", 1),
        (5.003, "H", "give", 1),
    ]


def test_with_a_mutex_m_waits_3_003_ms_for_the_processor() -> None:
    traced = load(MUTEX)
    of_m = latency(traced, "M")
    assert (of_m.times, traced.axis.span(of_m.most)) == (1, ms(3.003))
    assert at(traced, of_m.worst_at) == ms(2.000)


@pytest.mark.parametrize("scenario", [INVERTED, MUTEX])
def test_the_shares_are_the_same_with_either(scenario: int) -> None:
    traced = load(scenario)
    ran = {task.label: traced.axis.span(counts) for task, counts in zip(traced.tasks, traced.ran)}
    assert ran == {"H": ms(1.001), "L": ms(4.001), "M": ms(6.001), "IDLE": ms(8.996), "ctl": ms(0)}
    assert sum(traced.ran) + traced.unknown == traced.span


@pytest.mark.parametrize("scenario", [LOAD, FIXED])
def test_a_task_runs_156_counts_after_it_was_made_ready_at_best(scenario: int) -> None:
    assert min(one.least for one in statistics.latencies(load(scenario).ready)) == 156


def test_under_load_period_starts_up_to_3_001_ms_late() -> None:
    traced = load(LOAD)
    assert traced.axis.span(latency(traced, "period").most) == ms(3.001)
    assert at(traced, latency(traced, "period").worst_at) == ms(70.0)


def test_under_load_logger_is_ready_60_521_ms_from_100_to_160_521() -> None:
    traced = load(LOAD)
    of_logger = [one for one in traced.ready if traced.tasks[one.task].label == "logger"]
    longest = max(of_logger, key=lambda one: one.end - one.start)
    assert (at(traced, longest.start), at(traced, longest.end)) == (ms(100), ms(160.521))
    assert length(traced, longest) == ms(60.521)
    assert traced.axis.span(latency(traced, "logger").most) == ms(60.521)


def test_under_load_idle_does_not_run_from_98_to_164_523() -> None:
    traced = load(LOAD)
    (starved,) = [one for one in find(traced) if one.kind == IDLE]
    assert (at(traced, starved.start), at(traced, starved.end)) == (ms(98), ms(164.523))


def test_after_the_fix_period_starts_156_to_304_counts_late() -> None:
    of_period = latency(load(FIXED), "period")
    assert (of_period.least, of_period.most) == (156, 304)


def test_after_the_fix_logger_and_burst_are_late_by_3_501_and_0_501_ms_at_most() -> None:
    traced = load(FIXED)
    assert traced.axis.span(latency(traced, "logger").most) == ms(3.501)
    assert traced.axis.span(latency(traced, "burst").most) == ms(0.501)


def test_the_inversion_is_the_only_finding_and_names_all_three() -> None:
    traced = load(INVERTED)
    (found,) = find(traced)
    assert (found.kind, traced.tasks[found.task].label) == (INVERSION, "H")
    assert traced.axis.span(found.size) == ms(6.001)
    assert found.text == (
        "Priority inversion: H (3) waited 9.003 ms for queue1, 1.000 to 10.003, held by L (1). "
        "M (2), which does not use it, ran 6.001 ms of that. Nothing was inherited. "
        "With a mutex the wait would be what L still had to do, 3.002 ms."
    )


@pytest.mark.parametrize("scenario", [MUTEX, FIXED])
def test_where_nothing_is_wrong_nothing_is_found(scenario: int) -> None:
    traced = load(scenario)
    assert find(traced) == []
    assert "\nNo findings.\n" in text(traced)


def test_under_load_logger_starves_period_jitters_and_idle_waits() -> None:
    traced = load(LOAD)
    found = find(traced)
    assert [(one.kind, traced.tasks[one.task].label) for one in found] == [
        (STARVATION, "logger"),
        (JITTER, "period"),
        (IDLE, "IDLE"),
    ]
    assert [traced.axis.span(one.size) for one in found] == [ms(60.521), ms(3.001), ms(66.523)]
    assert found[0].text == (
        "Starvation: logger (1) was ready 60.521 ms without running, 100.000 to 160.521: "
        "poll ran 40.012, burst 14.004, period 6.504."
    )


def test_the_jitter_of_period_is_gone_after_the_fix() -> None:
    before, after = load(LOAD), load(FIXED)
    assert before.axis.span(jitter_of(lateness(before)[named(before, "period")])) == ms(3.001)
    assert jitter_of(lateness(after)[named(after, "period")]) == 304 - 156


DRAWINGS = {
    INVERTED: [
        "H      |                                        ####    |",
        "M      |        ########################                |",
        "L      |########                        ########        |",
        "IDLE   |                                            ####|",
        "ms      0   1   2   3   4   5   6   7   8   9   10  11  12",
    ],
    MUTEX: [
        "H      |                ####                            |",
        "L      |####^^^^^^^^^^^^                                |",
        "M      |                    ########################    |",
        "IDLE   |                                            ####|",
        "ms      0   1   2   3   4   5   6   7   8   9   10  11  12",
    ],
}


@pytest.mark.parametrize("scenario", [INVERTED, MUTEX])
def test_the_lanes_are_the_published_drawing(scenario: int) -> None:
    drawn, faint = lanes(load(scenario), Window(0, 12, 0.25))
    assert drawn == DRAWINGS[scenario]
    assert faint == ["ctl"]


def test_the_published_drawing_carries_its_legend() -> None:
    assert drawing(load(INVERTED), Window(0, 12, 0.25), 60)[:5] == DRAWINGS[INVERTED]
    assert " ".join(drawing(load(INVERTED), Window(0, 12, 0.25), 60)[5:]) == (
        "(a cell is 0.25 ms; # runs half of a cell or more, . less, ^ at an inherited priority; "
        "too little to show: ctl)"
    )


@pytest.mark.parametrize(
    ("scenario", "words", "holds"),
    [
        (INVERTED, "no inversion", False),
        (MUTEX, "no inversion", True),
        (INVERTED, "wait H < 4ms", False),
        (MUTEX, "wait H < 4ms", True),
        (INVERTED, "wait H queue1 <= 9.01ms", True),
        (INVERTED, "wait M < 1us", True),  # it waits for nothing
        (MUTEX, "latency M < 3ms", False),
        (MUTEX, "latency M < 3.01ms", True),
        (INVERTED, "share M > 29.9%", True),
        (INVERTED, "share M > 30.1%", False),
        (LOAD, "no starvation", False),
        (LOAD, "no starvation > 61ms", True),
        (FIXED, "no starvation", True),
        (LOAD, "jitter period < 0.5ms", False),
        (FIXED, "jitter period < 0.5us", True),
        (LOAD, "latency logger < 60.5ms", False),
        (FIXED, "latency logger < 3.51ms", True),
        (LOAD, "no findings", False),
        (FIXED, "no findings", True),
        (LOAD, "share IDLE > 42.7%", True),
        (LOAD, "lost = 0", True),
    ],
)
def test_an_assertion_holds_or_fails_by_the_published_figures(scenario: int, words: str, holds: bool) -> None:
    assert check(load(scenario), words).holds is holds
