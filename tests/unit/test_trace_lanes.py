"""The drawing: a cell says what ran in its time, the ruler where it lies, and it fits the console."""

from __future__ import annotations

import dataclasses
from typing import List, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ring_builder import MS, H, L, M, Record, X, facts, ticks

from gdb_prof.trace.events import DISINHERIT, IN, INHERIT, MARK, SLEEP
from gdb_prof.trace.lanes import Window, lanes, name_width, round_up, window
from gdb_prof.trace.report import drawing
from gdb_prof.trace.timeline import Timeline

CELL = 1000
"""Counts of a cell in a window whose step is 1 ms."""


def drawn(traced: Timeline, *window: float) -> List[str]:
    return lanes(traced, Window(*window))[0]


def row(traced: Timeline, label: str, *window: float) -> Optional[str]:
    for line in drawn(traced, *window):
        if line.startswith(label + " "):
            return line[line.index("|") + 1 : -1]
    return None


def h_runs(start: int, end: int, last: int = 10 * CELL) -> Timeline:
    return facts((0, IN, L, 1), (start, IN, H, 3), (end, SLEEP, H, 9), (end, IN, L, 1), (last, MARK, L, 0))


# -- cells ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "mark"),
    [(1000, "#"), (500, "#"), (499, "."), (50, "."), (49, " "), (1, " ")],
)
def test_half_a_cell_is_full_and_a_twentieth_a_dot(counts: int, mark: str) -> None:
    traced = h_runs(3 * CELL, 3 * CELL + counts)
    shown = row(traced, "H", 0, 10, 1)
    assert shown == ("   %s      " % mark if mark != " " else None)


def test_a_run_across_cells_marks_each_by_its_part() -> None:
    assert row(h_runs(1_501, 4_499), "H", 0, 10, 1) == " .##.     "
    assert row(h_runs(1_500, 4_500), "H", 0, 10, 1) == " ####     "


def test_short_runs_in_one_cell_add_up() -> None:
    records: List[Record] = [(0, IN, L, 1)]
    for i in range(5):
        records += [(2_000 + 200 * i, IN, H, 3), (2_100 + 200 * i, SLEEP, H, 9), (2_100 + 200 * i, IN, L, 1)]
    assert row(facts(*records, (5_000, MARK, L, 0)), "H", 0, 5, 1) == "  #  "


@pytest.mark.parametrize(("inherited", "mark"), [(1000, "^"), (500, "^"), (499, "#")])
def test_half_of_what_ran_at_an_inherited_priority_makes_a_hat(inherited: int, mark: str) -> None:
    traced = facts(
        (0, IN, L, 1), (2_000, INHERIT, L, 3), (2_000 + inherited, DISINHERIT, L, 1), (4_000, MARK, L, 0)
    )
    assert row(traced, "L", 0, 4, 1) == "##%s#" % mark


def test_a_dot_stays_a_dot_at_an_inherited_priority() -> None:
    traced = facts(
        *[(0, IN, M, 2), (1_000, INHERIT, L, 3), (1_000, IN, L, 3), (1_400, SLEEP, L, 3), (1_400, IN, M, 2)],
        (2_000, MARK, M, 0),
    )
    assert row(traced, "L", 0, 2, 1) == " ."


def test_a_window_cuts_runs_at_its_edges() -> None:
    traced = h_runs(1_000, 9_000)
    assert row(traced, "H", 0, 10, 1) == " ######## "
    assert row(traced, "H", 3, 5, 1) == "##"
    assert row(traced, "H", 0.75, 1.75, 0.25) == " ###"
    assert row(traced, "H", 8.5, 9.5, 0.5) == "# "
    assert row(traced, "H", 9, 10, 1) is None
    assert row(traced, "H", -2, 2, 1) == "   #"


def test_a_run_that_ends_at_a_cells_edge_leaves_the_next_one_empty() -> None:
    assert row(h_runs(2_000, 4_000), "H", 0, 6, 1) == "  ##  "


def test_the_last_cell_may_be_a_part() -> None:
    assert Window(0, 2.5, 1).cells == 3
    assert Window(0, 12, 0.25).cells == 48
    assert Window(0, 0.3, 0.1).cells == 3  # 0.3 / 0.1 is a little less than 3
    assert Window(1, 1, 0.5).cells == 1


# -- rows -----------------------------------------------------------------------------


def test_tasks_stand_by_their_highest_priority_inherited_or_not_then_by_number() -> None:
    traced = facts(
        *[(0, IN, L, 1), (1_000, IN, M, 2), (2_000, IN, X, 2), (3_000, IN, L, 1), (4_000, INHERIT, L, 3)],
        *[(5_000, DISINHERIT, L, 1), (6_000, MARK, L, 0)],
    )
    assert [line.split(" ")[0] for line in drawn(traced, 0, 6, 1)] == ["L", "M", "X", "ms"]


def test_a_task_too_short_to_show_is_named_below() -> None:
    traced = h_runs(3_000, 3_049)
    assert lanes(traced, Window(0, 10, 1))[1] == ["H"]
    assert "too little to show: H)" in " ".join(drawing(traced, Window(0, 10, 1), 80))


def test_a_task_outside_the_window_is_neither_shown_nor_named() -> None:
    assert lanes(h_runs(8_000, 9_000), Window(0, 2, 1)) == (["L    |##|", "ms    0"], [])


# -- the ruler --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "ruler"),
    [
        (Window(0, 12, 0.25), "ms    0   1   2   3   4   5   6   7   8   9   10  11  12"),
        (Window(0, 20, 0.4), "ms    0    2    4    6    8    10   12   14   16   18   20"),
        (Window(100, 160, 2), "ms    100  110  120  130  140  150  160"),
        (Window(99_990, 100_010, 1), "ms    99990     100000    100010"),
        (Window(5, 6, 0.125), "ms    5   5.5 6"),
        (Window(-2, 2, 0.5), "ms    -2  0   2"),
    ],
)
def test_the_ruler_has_round_numbers_at_the_cells_that_begin_there(view: Window, ruler: str) -> None:
    assert drawn(h_runs(1_000, 9_000), view.start, view.end, view.step)[-1] == ruler


@pytest.mark.parametrize("start", [0.1, 0.123456, 7.3, 1234.5678])
@pytest.mark.parametrize("step", [0.25, 0.3, 1, 7])
def test_each_number_is_the_time_of_its_own_cell(start: float, step: float) -> None:
    ruler = drawn(h_runs(1_000, 9_000), start, start + 60 * step, step)[-1]
    base = len("ms") + 4
    numbers = ruler[base:].split()
    assert len(numbers) >= 2
    column = base
    for number in numbers:
        column = ruler.index(number, column)
        assert float(number) == pytest.approx(start + (column - base) * step, abs=1e-6)
        assert ruler[column - 1] == " "
        assert column - base <= 60
        column += len(number)


def test_an_axis_of_counts_says_so() -> None:
    traced = facts((0, IN, L, 1), (1_500, IN, H, 3), (4_000, MARK, H, 0), clock_hz=0.0)
    assert drawn(traced, 0, 4_000, 500) == [
        "H        |   #####|",
        "L        |###     |",
        "counts    0    2500",
    ]


# -- fitting ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "rounded"),
    [
        (1, 1),
        (1.01, 2),
        (2.1, 2.5),
        (2.6, 4),
        (4.1, 5),
        (5.1, 10),
        (0.03, 0.04),
        (1e-9, 1e-9),
        (0.1 + 0.2 - 0.3 + 0.2, 0.2),
    ],
)
def test_steps_are_round(step: float, rounded: float) -> None:
    assert round_up(step) == pytest.approx(rounded)


def test_a_window_given_is_kept() -> None:
    assert window(h_runs(1_000, 9_000), 2, 6, 0.5, 70) == Window(2, 6, 0.5)


def test_a_beginning_between_two_round_numbers_costs_a_cell() -> None:
    """0.5 to 20.5 ms in 21 cells: from 0 on, a step of 1 makes 21."""
    traced = facts((0, MARK, 0, 0), *[(500 + 1_000 * i, IN, 1 + i % 2, 1) for i in range(21)])
    traced = dataclasses.replace(traced, start=500)
    assert window(traced, None, None, None, 21) == Window(0, 20.5, 1)
    assert window(traced, None, None, None, 20).step == 2


def test_the_last_number_stands_where_the_console_has_room_for_it() -> None:
    traced = h_runs(1_000, 9_000)
    lane, _, ruler, *_ = drawing(traced, Window(0, 60, 1), 68)
    assert (len(lane), len(ruler), ruler[-7:]) == (67, 68, " 56  60")
    assert drawing(traced, Window(0, 60, 1), 67)[2].endswith(" 52  56")
    assert drawing(traced, Window(0, 60, 1), 20)[2].endswith(" 52  56")


def test_without_a_window_all_is_shown_from_a_round_number_on() -> None:
    whole = window(h_runs(1_000, 9_000, 10_000), None, None, None, 60)
    assert (whole.start, whole.end, whole.step) == (0, 10, 0.2)
    late = window(facts(*ticks(1_003, 1_020, L)), None, None, None, 60)
    assert (late.start, late.end, late.step) == (pytest.approx(1002.8), 1020, 0.4)


WIDTHS = (60, 61, 72, 79, 80, 81, 100, 119, 120, 133, 160, 200)


@pytest.mark.parametrize("label", ["H", "sensor", "a_name_of_sixteen"])
@pytest.mark.parametrize("length", [1, 7, 10, 99, 100, 101, 1_000, 1_024, 12_345, 99_999, 100_000])
def test_no_line_is_longer_than_the_console(label: str, length: int) -> None:
    """As `rtos-trace lanes` asks for it: name, three blanks, two bars, and the cells."""
    traced = facts(*[(0, IN, L, 1), (length // 2, IN, H, 3), (length, MARK, H, 0)], tasks={H: label})
    for width in WIDTHS:
        cells = width - name_width(traced) - 5
        view = window(traced, None, None, None, cells)
        assert view.cells <= cells
        assert max(len(line) for line in drawing(traced, view, width)) <= width


@settings(max_examples=200, derandomize=True)
@given(st.integers(0, 10**7), st.integers(1, 10**8), st.integers(60, 200))
def test_any_stretch_of_time_fits_and_is_whole(first: int, length: int, width: int) -> None:
    traced = facts(
        *ticks(first // MS, first // MS + 1, L), (first // MS * MS + MS + length, MARK, L, 0), names={L: "L"}
    )
    cells = width - name_width(traced) - 5
    view = window(traced, None, None, None, cells)
    assert view.start <= traced.axis.at(traced.start) + 0.051 * view.step
    assert view.start + view.cells * view.step >= traced.axis.at(traced.end) - 1e-3 * view.step
    assert max(len(line) for line in drawing(traced, view, width)) <= width
