"""The report of `rtos-trace diag` says what was asked for: a stretch of time, a task, so many rows."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, List, Optional

import pytest
from ring_builder import IN_ORDER, MS, H, L, M, Record, X, facts, named, text, view

from gdb_prof.trace.events import ALL, BASIC, IN, INHERIT, MARK, READY, SLEEP, TAKE_FAIL, TICK, WAIT
from gdb_prof.trace.findings import find
from gdb_prof.trace.naming import between
from gdb_prof.trace.report import report
from gdb_prof.trace.statistics import recorder_cost
from gdb_prof.trace.timeline import Timeline

HALVES: List[Record] = [
    *[(0, IN, L, 1), (4 * MS, IN, H, 3), (6 * MS, SLEEP, H, 9), (6 * MS, IN, L, 1), (9 * MS, IN, M, 2)],
    (10 * MS, MARK, M, 0),
]
"""L 0 to 4 and 6 to 9 ms, H 4 to 6, M 9 to 10."""


def shown(traced: Timeline, **changes: Any) -> str:
    return report(traced, find(traced), dataclasses.replace(view(traced), **changes))


def section(text_: str, title: str) -> List[List[str]]:
    """The rows below a title, as words."""
    rows = text_[text_.index("\n" + title) :].split("\n\n", maxsplit=1)[0].split("\n")[2:]
    return [row.split() for row in rows if row]


@pytest.mark.parametrize(
    ("start", "end", "shares"),
    [
        (float("-inf"), float("inf"), {"L": "70.00", "H": "20.00", "M": "10.00"}),
        (0, 4 * MS, {"L": "100.00"}),
        (3 * MS, 5 * MS, {"L": "50.00", "H": "50.00"}),
        (5 * MS, 10 * MS, {"L": "60.00", "H": "20.00", "M": "20.00"}),
        (8 * MS, float("inf"), {"L": "50.00", "M": "50.00"}),
    ],
)
def test_shares_are_those_of_the_stretch_asked_for(start: float, end: float, shares: Dict[str, str]) -> None:
    rows = section(shown(facts(*HALVES), start=start, end=end), "CPU share")
    assert {row[0]: row[1] for row in rows} == shares


def test_what_ran_in_a_stretch_is_cut_at_its_edges() -> None:
    traced = facts(*HALVES)
    ran = between(traced, 3 * MS, 7 * MS)
    assert {traced.tasks[task].label: counts for task, counts in ran.items()} == {"L": 2 * MS, "H": 2 * MS}


def test_one_tasks_rows_alone_are_shown() -> None:
    traced = facts(*HALVES)
    rows = section(shown(traced, task=named(traced, "L")), "Runs")
    assert [row[0] for row in rows] == ["L", "L"]


def test_rows_beyond_the_limit_are_counted() -> None:
    cut = shown(facts(*HALVES), rows=2)
    assert [row[0] for row in section(cut, "Runs")][:2] == ["L", "H"]
    assert "… 2 more (-rows, -from, -to, -task)" in cut


@pytest.mark.parametrize("title", ["CPU share", "Ready -> running", "Runs", "Waits", "Events"])
def test_every_table_has_its_limit(title: str) -> None:
    records = []
    for i, task in enumerate((H, M, X)):
        records += [(100 * i, READY, task, 9), (100 * i + 10, IN, task, 9), (100 * i + 50, WAIT, task, 7)]
    cut = shown(facts((0, IN, L, 1), *records, (400, IN, L, 1), (500, MARK, L, 0)), rows=1)
    rows = cut[cut.index(title) :].split("\n\n", maxsplit=1)[0].splitlines()
    assert len(rows) == 3 and rows[2].endswith(" more (-rows, -from, -to, -task)")


def test_switches_are_those_of_the_stretch_asked_for() -> None:
    """A run that began before does not count; one that an inherited priority divides counts once."""
    records = [*HALVES[:-1], (9 * MS + 500, INHERIT, M, 3), *HALVES[-1:]]
    for start, end, expected in (
        (float("-inf"), float("inf"), {"L": "2", "H": "1", "M": "1"}),
        (5 * MS, float("inf"), {"L": "1", "H": "0", "M": "1"}),
        (9.2 * MS, float("inf"), {"M": "0"}),
    ):
        rows = section(shown(facts(*records), start=start, end=end), "CPU share")
        assert {row[0]: row[-1] for row in rows} == expected


def test_findings_elsewhere_are_counted_where_there_are_none() -> None:
    starved = facts(
        *[
            (0, READY, L, 1),
            (0, IN, H, 3),
            (30 * MS, SLEEP, H, 99),
            (30 * MS, IN, L, 1),
            (60 * MS, MARK, L, 0),
        ]
    )
    number = len(find(starved))
    assert number
    here = shown(starved, start=50 * MS)
    assert "No findings here; %d in the whole trace (without -from, -to, -task).\n" % number in here
    assert "No findings.\n" in text(facts(*HALVES))


@pytest.mark.parametrize("width", [60, 80])
def test_how_a_wait_ended_is_never_cut(width: int) -> None:
    names = {number: "a_task_of_16_ch%d" % number for number in (H, M, L, X)}
    others = [(1000 + 100 * i, IN, task, 1) for i, task in enumerate((L, M, X) * 3)]
    traced = facts(
        (0, IN, H, 3), (100, WAIT, H, 7), *others, (3000, IN, H, 3), (3001, TAKE_FAIL, H, 7), tasks=names
    )
    assert re.search(r"^  a_task.*… \(timed out\)$", text(traced, width), re.M)


def test_a_clock_that_stands_still_leaves_the_order() -> None:
    order = section(shown(facts(*[(5, *record[1:]) for record in IN_ORDER]), rows=5), "Order")[1:]
    assert [row[1:] for row in order] == [
        *(["H", "ready", "priority", "3"], ["H", "runs", "priority", "3"]),
        *(["H", "take", "queue7"], ["H", "tick", "3"], ["H", "mark", "1"]),
    ]
    assert [row[0] for row in order] == ["10", "11", "12", "13", "14"]
    cut = shown(facts(*[(5, *record[1:]) for record in IN_ORDER]), rows=5)
    assert "\n  … 9 before these (-rows, -task)\n" in cut
    of_m = shown(facts(*[(5, *record[1:]) for record in HALVES]), task=2)
    assert "runs   priority 2" in of_m and "… " not in of_m


def test_of_ticks_in_a_row_the_order_has_the_last() -> None:
    stuck = facts((5, IN, L, 1), *[(5, TICK, L, number) for number in range(1, 9)], (5, MARK, L, 4))
    assert section(text(stuck), "Order") == [
        ["1", "L", "runs", "priority", "1"],
        ["9", "L", "tick", "8"],
        ["10", "L", "mark", "4"],
    ]


@pytest.mark.parametrize(
    ("names", "context", "idle"),
    [
        ({L: "IDLE", H: "H"}, {}, "IDLE"),
        ({L: "IDLE", H: "idle_led"}, {}, "IDLE"),
        ({L: "idle", H: "H"}, {}, None),
        ({L: "IDLE", H: "IDLE"}, {}, None),
        ({L: "IDLE", H: "H"}, {"idle": H}, "H"),
        ({L: "", H: ""}, {"tasks": {L: "IDLE", H: "IDLE_2"}}, "IDLE"),
        ({L: "IDLE", H: "H"}, {"tasks": {L: "led"}}, None),
    ],
)
def test_the_idle_task_is_the_kernels_own(names: Any, context: Any, idle: Optional[str]) -> None:
    traced = facts(*HALVES, names=names, **context)
    assert [task.label for task in traced.tasks if task.idle] == ([idle] if idle else [])


def test_the_first_line_says_what_was_lost_and_from_when_to_when() -> None:
    assert text(facts(*HALVES)).startswith("6 records, none lost; 0.000 to 10.000 ms, 1,000 counts a ms\n")
    lost = text(facts(*HALVES, n=4))
    assert lost.startswith("4 records of 6: the 2 before are overwritten; 0.000 to 4.000 ms")


def test_what_the_recorder_does_not_record_is_said() -> None:
    assert "! the recorder does not say what it records" in text(facts(*IN_ORDER))
    assert "! not recorded" not in text(facts(*IN_ORDER, recorded=ALL))
    assert "! not recorded in this build: give-isr, take-isr, " in text(facts(*IN_ORDER, recorded=BASIC))
    assert "! not recorded in this build: tick\n" in text(facts(*IN_ORDER, recorded=ALL - {TICK}))


@pytest.mark.parametrize(
    ("context", "cost"),
    [
        ({}, 4 * 29 + 10 * 26),  # the published recorder
        ({"recorded": ALL}, 4 * 12 + 14 + 9 * 21),
        ({"recorded": ALL, "any_priority": False}, 4 * 10 + 14 + 9 * 21),
    ],
)
def test_the_recorders_own_cost_is_told(context: Any, cost: int) -> None:
    traced = facts(*IN_ORDER, **context)
    assert recorder_cost(traced) == cost
    assert "Recorder: about %d instructions for these records" % cost in text(traced)


@pytest.mark.parametrize("width", range(60, 201, 7))
def test_the_report_is_no_wider_than_the_console(width: int) -> None:
    for traced in (facts(*IN_ORDER, recorded=BASIC), facts(*HALVES, tasks={H: "a_task_of_16_char"})):
        assert max(len(line) for line in text(traced, width).splitlines()) <= width


def test_a_trace_without_records_has_a_report() -> None:
    assert text(facts()).startswith("0 records, none lost\n")
