"""Which differences are larger than chance. Expected p-values are SciPy 1.17's (chi2_contingency with
its correction, hypergeom), and what is computed in another way here."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import List, Set, Tuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gdb_prof.profile.diff.chance import Counts, change_found, larger_than_chance, least_p_value, p_value


def pearson(row: Counts) -> float:
    """Yates' chi-squared of the two by two table, and what a chi-squared of one degree of freedom
    exceeds so often: the density's integral, by Simpson's rule."""
    a, b = row.before, row.of_before - row.before
    c, d = row.after, row.of_after - row.after
    n = a + b + c + d
    squared = n * max(0, abs(a * d - b * c) - n / 2) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))
    steps, root = 2000, math.sqrt(squared)
    density = [
        math.exp(-((root * i / steps) ** 2) / 2) * (1 if i in (0, steps) else 4 if i % 2 else 2)
        for i in range(steps + 1)
    ]
    return 1 - 2 * sum(density) * root / steps / 3 / math.sqrt(2 * math.pi)


def fisher(before: int, of_before: int, after: int, of_after: int) -> Fraction:
    """Twice the smaller tail, in whole numbers."""
    both = before + after

    def ways(n: int) -> int:
        return math.comb(of_before, n) * math.comb(of_after, both - n) if both >= n else 0

    lower, upper = sum(map(ways, range(before + 1))), sum(map(ways, range(before, of_before + 1)))
    return min(Fraction(1), Fraction(2 * min(lower, upper), math.comb(of_before + of_after, both)))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Counts(6975, 10_000, 6670, 10_000), 3.896431969e-06),
        (Counts(150, 500, 200, 500), 0.001159465691),
        (Counts(150, 500, 151, 500), 1.0),  # closer than the correction
        (Counts(60, 1000, 90, 1000), 0.013817896392),
    ],
)
def test_a_z_test_with_yates_correction(row: Counts, expected: float) -> None:
    assert p_value(row) == pytest.approx(expected, rel=1e-9)
    assert p_value(row) == pytest.approx(pearson(row), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Counts(3, 4, 1, 4), 2 * 17 / 70),  # Fisher's lady tasting tea
        (Counts(0, 10_000, 5, 10_000), 0.062468750782),
        (Counts(10, 15, 2, 20), 0.001434055268),
        (Counts(3, 10_000, 16, 10_000), 0.004407325426),
        (Counts(7, 10_000, 7, 10_000), 1.0),
        (Counts(0, 50, 0, 70), 1.0),
        (Counts(50, 50, 70, 70), 1.0),
    ],
)
def test_an_exact_test_where_a_row_has_few_samples(row: Counts, expected: float) -> None:
    assert p_value(row) == pytest.approx(expected, rel=1e-9)
    assert p_value(row) == pytest.approx(float(fisher(*map(int, row))), rel=1e-9)


def test_what_is_no_whole_number_is_rounded_towards_no_difference() -> None:
    assert p_value(Counts(10.9, 100.7, 1.2, 90.9)) == pytest.approx(float(fisher(10, 100, 2, 90)))
    assert p_value(Counts(1.2, 90.9, 10.9, 100.7)) == pytest.approx(float(fisher(2, 90, 10, 100)))


@st.composite
def whole_rows(draw: st.DrawFn) -> Counts:
    of_before, of_after = draw(st.integers(1, 400)), draw(st.integers(1, 400))
    return Counts(draw(st.integers(0, of_before)), of_before, draw(st.integers(0, of_after)), of_after)


@given(whole_rows())
@example(Counts(22, 170, 113, 289))  # just 50 are expected
def test_a_p_value_is_a_probability_and_the_same_from_either_side(row: Counts) -> None:
    before, of_before, after, of_after = row
    assert 0 <= p_value(row) <= 1
    assert p_value(row) == pytest.approx(p_value(Counts(after, of_after, before, of_before)))
    others = Counts(of_before - before, of_before, of_after - after, of_after)
    assert p_value(row) == pytest.approx(p_value(others), rel=1e-6)


@given(whole_rows())
def test_no_p_value_is_below_the_least(row: Counts) -> None:
    assert least_p_value(row) <= p_value(row) * (1 + 1e-9)


def test_the_least_p_value_has_all_samples_on_one_side() -> None:
    assert least_p_value(Counts(2, 100, 3, 100)) == pytest.approx(float(fisher(0, 100, 5, 100)))
    assert least_p_value(Counts(2, 100, 3, 900)) == pytest.approx(float(fisher(5, 100, 0, 900)))


def rows_of(*pairs: Tuple[int, int]) -> List[Counts]:
    return [Counts(before, 1000, after, 1000) for before, after in pairs]


def test_the_threshold_is_for_all_rows_together() -> None:
    row = (100, 130)  # 0.0421 alone
    assert larger_than_chance(rows_of(row)) == {0}
    assert larger_than_chance(rows_of(row, (400, 390), (500, 480))) == set()


def test_holm_asks_less_of_the_next_once_one_is_found() -> None:
    second = (100, 134)  # 0.0217: above 5 % / 3, below 5 % / 2
    assert larger_than_chance(rows_of(second, (400, 410), (500, 456))) == set()
    assert larger_than_chance(rows_of(second, (400, 410), (500, 300))) == {0, 2}


def test_rows_that_can_never_be_significant_cost_nothing() -> None:
    row = (100, 130)
    assert larger_than_chance(rows_of(row, *[(3, 2)] * 50)) == {0}
    assert larger_than_chance(rows_of(row, *[(30, 20)] * 50)) == set()


def holm(values: List[float], error: float) -> Set[int]:
    found: Set[int] = set()
    for at in sorted(range(len(values)), key=values.__getitem__):
        if values[at] > error / (len(values) - len(found)):
            break
        found.add(at)
    return found


@given(st.lists(whole_rows(), max_size=12))
def test_nothing_that_holm_alone_finds_is_missed(rows: List[Counts]) -> None:
    found = larger_than_chance(rows)
    assert found >= holm([p_value(row) for row in rows], 0.05)
    assert all(p_value(rows[at]) <= 0.05 for at in found)


def test_the_change_that_is_found_is_of_the_largest_row() -> None:
    """2.394 and 1.645 standard errors for 5 % of three tests and a power of 95 %."""
    rows = [Counts(share * 100, 10_000, share * 100, 10_000) for share in (70, 20, 10)]
    found = change_found(rows)
    assert found is not None
    share = 0.3 + (2.394 + 1.645) * math.sqrt(0.21 / 5000) + 1e-4
    assert found == pytest.approx((2.394 + 1.645) * math.sqrt(share * (1 - share) / 5000) + 1e-4, rel=1e-3)


def test_with_few_samples_no_change_is_promised_to_be_found() -> None:
    assert change_found([Counts(3, 10, 4, 10)]) is None
    assert change_found([]) is None
