"""Lanes: how many are drawn, and what is said of the tasks that are not."""

from __future__ import annotations

from typing import List, Sequence, Tuple

import pytest

from dpu_builder import COUNTED, capture, packed, rows
from gdb_prof.counters.dpu.decode import GIVEN, decode
from gdb_prof.counters.dpu.tasks import analysed
from gdb_prof.counters.dpu.tasks_text import View, report


def lanes(steps: Sequence[Tuple[int, int]], top: int) -> Tuple[List[str], List[str]]:
    """The tasks of the lanes, and what is said below the ruler."""
    raw = packed(rows([(task, cycles, 0) for task, cycles in steps]))
    text = report(analysed(decode(capture(raw, len(raw), False, GIVEN)), COUNTED), View(80, 0, top))
    drawing = text.partition("# runs half of a cell or more, . less\n")[2].splitlines()
    ruler = next(n for n, line in enumerate(drawing) if line.startswith("cycles  "))
    assert all(line.endswith("|") for line in drawing[:ruler])
    return [line.split()[0] for line in drawing[:ruler]], drawing[ruler + 1 :]


def long(tasks: int) -> List[Tuple[int, int]]:
    """So many tasks that ran equally long, each long enough to be seen."""
    return [(task, 100) for task in range(1, tasks + 1)]


@pytest.mark.parametrize(
    ("tasks", "top", "drawn", "said"),
    [
        (3, 20, 3, []),
        (20, 20, 20, []),
        (21, 20, 20, ["  … 1 lane more (-top)"]),
        (59, 3, 3, ["  … 56 lanes more (-top)"]),
        (40, 50, 40, []),
        (59, 50, 40, ["  … 19 lanes more (at most 40 are drawn)"]),
    ],
)
def test_as_many_as_the_table_has_and_at_most_40(tasks: int, top: int, drawn: int, said: List[str]) -> None:
    assert lanes(long(tasks), top) == ([str(task) for task in range(1, drawn + 1)], said)


def test_those_who_ran_longest_are_drawn_as_in_the_table() -> None:
    assert lanes([(1, 100), (2, 900), (3, 500), (1, 100), (4, 1), (4, 1)], 2)[0] == ["2", "3"]


def test_too_short_to_be_seen_are_those_alone_whose_lane_would_be_empty() -> None:
    assert lanes([(task, 1000) for task in range(1, 6)] + [(8, 1), (9, 1), (1, 1000)], 4) == (
        ["1", "2", "3", "4"],
        ["  … 1 lane more (-top)", "too short to be seen: 8, 9"],
    )
