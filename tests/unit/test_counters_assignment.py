"""Which of the PMU's counters counts what, and which two are joined."""

from __future__ import annotations

from typing import List, Sequence, Tuple

import pytest

from gdb_prof.counters.cortexm.assignment import assign
from gdb_prof.errors import UsageError


def numbers(events: int, free: Sequence[int], narrow: bool = False) -> List[Tuple[int, ...]]:
    return [place.numbers for place in assign(events, free, 8, narrow)]


@pytest.mark.parametrize(
    ("events", "free", "expected"),
    [
        (1, range(8), [(0, 1)]),
        (4, range(8), [(0, 1), (2, 3), (4, 5), (6, 7)]),
        (5, range(8), [(0, 1), (2, 3), (4, 5), (6,), (7,)]),
        (8, range(8), [(0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,)]),
        (2, [0, 2, 3, 5], [(2, 3), (0,)]),  # an even one with the odd one behind it
        (2, [1, 2, 4, 7], [(1,), (2,)]),
        (0, range(8), []),
    ],
)
def test_two_are_joined_as_far_as_there_are_free_ones(
    events: int, free: Sequence[int], expected: List[Tuple[int, ...]]
) -> None:
    assert numbers(events, list(free)) == expected


def test_none_are_joined_where_narrow_ones_are_asked_for() -> None:
    assert numbers(2, list(range(8)), narrow=True) == [(0,), (1,)]


@pytest.mark.parametrize(
    ("events", "free", "said"),
    [
        (9, 8, "9 PMU events, but 8 of the PMU's 8 event counters are free: leave some out"),
        (2, 1, "2 PMU events, but 1 of the PMU's 8 event counters is free: leave some out"),
        (1, 0, "1 PMU event, but 0 of the PMU's 8 event counters are free: leave some out"),
    ],
)
def test_more_events_than_counters_are_refused(events: int, free: int, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        assign(events, list(range(free)), 8, False)
    assert str(caught.value) == said


@pytest.mark.parametrize("events", range(9))
def test_no_counter_has_two_uses(events: int) -> None:
    used = [n for place in numbers(events, list(range(8))) for n in place]
    assert len(used) == len(set(used)) and len(numbers(events, list(range(8)))) == events
