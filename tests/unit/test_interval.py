"""Wilson's interval, against figures from the literature and against its own definition."""

from __future__ import annotations

from typing import Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.profile.interval import Z95, half_width, samples_for, wilson

NEWCOMBE = [
    ((81, 263), (0.2553, 0.3662)),
    ((15, 148), (0.0624, 0.1605)),
    ((0, 20), (0.0000, 0.1611)),
    ((1, 29), (0.0061, 0.1718)),
]
"""R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in
Medicine 17 (1998), 857: table I, method 3, with z = 1.96."""


@pytest.mark.parametrize(("counts", "interval"), NEWCOMBE)
def test_the_intervals_of_the_literature(counts: Tuple[int, int], interval: Tuple[float, float]) -> None:
    assert wilson(*counts) == pytest.approx(interval, abs=0.00005)


@pytest.mark.parametrize(
    ("samples", "total", "low", "high"),
    [
        (10, 10, 0.7225, 1.0),  # n / (n + z²)
        (0, 10, 0.0, 0.2775),
        (0, 1, 0.0, 0.7935),
        (5, 10, 0.2366, 0.7634),
        (1, 2, 0.0945, 0.9055),
        (186 * 0.7, 186, 0.6306, 0.7613),  # no whole number of samples
    ],
)
def test_small_numbers(samples: float, total: float, low: float, high: float) -> None:
    assert wilson(samples, total) == pytest.approx((low, high), abs=0.00005)


TOTAL = st.integers(1, 10**7)
COUNTS = TOTAL.flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS)
def test_the_limits_are_the_shares_of_which_this_one_is_z_errors_away(counts: Tuple[int, int]) -> None:
    samples, total = counts
    for limit in wilson(samples, total):
        error = (limit * (1 - limit) / total) ** 0.5
        assert abs(samples / total - limit) == pytest.approx(Z95 * error, rel=1e-6, abs=1e-9)


@given(COUNTS)
def test_the_interval_contains_the_share_and_lies_between_0_and_1(counts: Tuple[int, int]) -> None:
    low, high = wilson(*counts)
    assert 0 <= low <= counts[0] / counts[1] + 1e-12
    assert counts[0] / counts[1] - 1e-12 <= high <= 1


@given(COUNTS)
def test_the_interval_of_all_others_is_its_mirror(counts: Tuple[int, int]) -> None:
    samples, total = counts
    low, high = wilson(samples, total)
    assert wilson(total - samples, total) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_samples_of_the_same_share_are_surer(share: float, fewer: int, more: int) -> None:
    if fewer < more:
        assert half_width(share, more) < half_width(share, fewer)


@given(st.floats(0, 1), st.integers(1, 10**6))
def test_half_a_width_is_no_more_than_a_half_and_the_same_for_all_others(share: float, total: int) -> None:
    half = half_width(share, total)
    assert 0 < half < 0.5
    assert half_width(1 - share, total) == pytest.approx(half, abs=1e-9)


@pytest.mark.parametrize(
    ("share", "width", "samples"),
    [(0.5, 0.01, 9604), (0.7, 0.01, 8067), (0.02, 0.01, 753), (0.5, 0.05, 384)],
)
def test_how_many_samples_a_width_takes(share: float, width: float, samples: int) -> None:
    assert samples_for(share, width) == pytest.approx(samples, abs=0.5)


@given(st.floats(0.01, 0.99), st.floats(0.001, 0.01))
def test_so_many_samples_do_have_that_width(share: float, width: float) -> None:
    if width < share * (1 - share) / 4:  # or else it is too wide for what is a normal distribution's
        assert half_width(share, samples_for(share, width)) == pytest.approx(width, rel=0.03)
