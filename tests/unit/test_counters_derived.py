"""Figures that follow from counts, and that do not where a count is not exact."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

import pytest

from gdb_prof.counters.cortexm.counter import Counter, Figure
from gdb_prof.counters.cortexm.derived import derived, withheld
from gdb_prof.counters.counting import Width

SIX = {"cyccnt": 200, "cpi": 30, "exc": 24, "sleep": 50, "lsu": 6, "fold": 10}


def figures(counts: Dict[str, int], inexact: Tuple[str, ...] = ()) -> Tuple[Figure, ...]:
    return tuple(Figure(Counter(n, n, Width(32)), count, n not in inexact) for n, count in counts.items())


def texts(counts: Dict[str, int], *inexact: str) -> Dict[str, str]:
    return {each.name: each.text for each in derived(figures(counts, inexact))}


def test_the_instructions_of_a_core_without_a_pmu() -> None:
    """Armv7-M ARM, C1.8: 200 - 30 - 24 - 50 - 6 + 10 = 100."""
    assert texts(SIX) == {"instructions": "100", "cycles an instruction": "2.00", "asleep": "25.0 %"}


@pytest.mark.parametrize("name", list(SIX))
def test_not_where_one_of_the_six_can_have_wrapped(name: str) -> None:
    assert "instructions" not in texts(SIX, name)
    assert "instructions" in withheld(figures(SIX, (name,)))


@pytest.mark.parametrize("name", list(SIX))
def test_nor_where_one_of_the_six_is_not_counted(name: str) -> None:
    five = {other: count for other, count in SIX.items() if other != name}
    assert "instructions" not in texts(five) and "instructions" not in withheld(figures(five))


def test_nor_where_they_would_be_none() -> None:
    assert "instructions" not in texts({**SIX, "cpi": 255})


@pytest.mark.parametrize(
    ("counts", "name", "text"),
    [
        ({"cyccnt": 300, "INST_RETIRED": 200}, "cycles an instruction", "1.50"),
        ({"ccntr": 300, "INST_RETIRED": 200}, "cycles an instruction", "1.50"),
        ({"CPU_CYCLES": 300, "INST_RETIRED": 200}, "cycles an instruction", "1.50"),
        ({"L1D_CACHE_REFILL": 3, "L1D_CACHE": 400}, "L1D misses per 1,000 accesses", "7.5"),
        ({"L1D_CACHE_REFILL": 3, "INST_RETIRED": 2000}, "L1D misses per 1,000 instructions", "1.5"),
        ({"L1I_CACHE_REFILL": 1, "L1I_CACHE": 1000}, "L1I misses per 1,000 accesses", "1.0"),
        ({"BR_MIS_PRED_RETIRED": 5, "BR_RETIRED": 200}, "branches mispredicted", "2.5 %"),
        ({"cyccnt": 1000, "STALL": 125}, "stalled", "12.5 %"),
        ({"ccntr": 1000, "STALL_FRONTEND": 20}, "stalled, front end", "2.0 %"),
        ({"cyccnt": 1000, "STALL_BACKEND": 30}, "stalled, back end", "3.0 %"),
    ],
)
def test_ratios_of_pmu_events(counts: Dict[str, int], name: str, text: str) -> None:
    assert texts(counts) == {name: text}
    for inexact in counts:
        assert texts(counts, inexact) == {} and withheld(figures(counts, (inexact,))) == (name,)


@pytest.mark.parametrize("counts", [{"cyccnt": 5, "INST_RETIRED": 0}, {"L1D_CACHE": 5}, {}])
def test_nothing_is_divided_by_nothing(counts: "Optional[Dict[str, int]]") -> None:
    assert texts(counts or {}) == {}


@pytest.mark.parametrize(("inexact", "cpi"), [((), "3.00"), (("cyccnt",), "9.00")])
def test_of_two_cycle_counters_the_first_that_is_exact(inexact: Tuple[str, ...], cpi: str) -> None:
    counts = {"cyccnt": 300, "ccntr": 900, "INST_RETIRED": 100}
    assert texts(counts, *inexact) == {"cycles an instruction": cpi}
