"""What a sequence of samples is worth: independent ones all of them, others as much less as they are."""

from __future__ import annotations

import itertools
import random
from typing import Any, Iterable, List, Optional, Sequence, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.profile.dependence import Dependence, Repeat, dependence, last_new, repetition
from gdb_prof.profile.interval import wilson
from opcodes import opcodes


def independent(
    seed: int, total: int, shares: Sequence[float], addresses: int = 20
) -> Tuple[List[int], List[int]]:
    """The addresses and rows of samples that know nothing of each other; so many addresses a row."""
    chance = random.Random(seed)
    rows = chance.choices(range(len(shares)), shares, k=total)
    return [0x1000 * row + 2 * chance.randrange(addresses) for row in rows], rows


# -- samples that do not depend on each other -------------------------------------------

SHARES = [
    (0.5, 0.5),
    (0.7, 0.2, 0.1),
    (0.99, 0.01),
    (0.995, 0.005),
    (0.97, 0.01, 0.01, 0.01),
    (0.94, *[0.005] * 12),
    [1 / 30] * 30,
]


@pytest.mark.parametrize("shares", SHARES, ids=lambda shares: "%g of %d" % (shares[0], len(shares)))
@pytest.mark.parametrize(("total", "seeds"), [(128, 100), (300, 60), (1000, 30), (5000, 8), (20_000, 2)])
def test_independent_samples_are_worth_their_number(total: int, seeds: int, shares: Sequence[float]) -> None:
    for seed in range(seeds):
        found = dependence(*independent(seed, total, shares), jittered=True)
        assert found == Dependence(total), seed
        assert found.independent
        assert found.effective == total


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.7, 0.2, 0.1), (0.9, 0.1)])
@pytest.mark.parametrize("total", [300, 2000])
def test_without_jitter_they_are_nearly_always_worth_it_too(total: int, shares: Sequence[float]) -> None:
    """Chance is believed there once in a thousand rows and lengths of block."""
    worth = [dependence(*independent(seed, total, shares), jittered=False) for seed in range(60)]
    assert sum(found.independent for found in worth) >= 57
    assert min(found.effective or 0 for found in worth) > total / 4


@pytest.mark.parametrize(
    ("total", "asleep", "seed"), [(128, 0.99, 162), (500, 0.99, 30), (2000, 0.998, 46)], ids=str
)
def test_a_program_that_nearly_always_sleeps_at_one_place_is_not_in_lockstep(
    total: int, asleep: float, seed: int
) -> None:
    samples = independent(seed, total, (asleep, 1 - asleep), addresses=1)
    assert dependence(*samples, jittered=True).repeat is None


@pytest.mark.parametrize("jittered", [True, False])
def test_of_fewer_than_32_nothing_is_said(jittered: bool) -> None:
    for total in (0, 1, 2, 31):
        found = dependence([0x100] * total, [0] * total, jittered)
        assert (found.checked, found.effective) == (False, total)
    assert dependence([0x100, 0x200] * 16, [0, 1] * 16, jittered).checked


def test_a_place_where_all_samples_are_is_what_it_seems_with_jitter_alone() -> None:
    same = ([0x100] * 500, [0] * 500)
    assert dependence(*same, jittered=True) == Dependence(500)
    found = dependence(*same, jittered=False)
    assert (found.repeat, found.effective) == (Repeat(1, 0), None)


def test_samples_of_one_row_say_nothing_of_others_without_jitter() -> None:
    """At many addresses, none of them twice."""
    samples = (list(range(0x100, 0x100 + 1000, 2)), [0] * 500)
    assert dependence(*samples, jittered=True).effective == 500
    assert dependence(*samples, jittered=False).effective is None


@given(
    st.lists(st.sampled_from([0x100, 0x102, 0x200, 0x300, 0x400]), max_size=300),
    st.integers(1, 5),
    st.booleans(),
)
def test_samples_are_never_worth_more_than_their_number(pcs: List[int], times: int, jittered: bool) -> None:
    pcs = pcs * times
    found = dependence(pcs, [-1 if pc == 0x400 else pc >> 8 for pc in pcs], jittered)
    assert found.ratio >= 1
    assert found.effective is None or 0 <= found.effective <= len(pcs)
    assert not found.independent or found.effective == len(pcs)


# -- samples that repeat ------------------------------------------------------------------


def distinct(number: int) -> List[int]:
    return list(range(0x1000, 0x1000 + 2 * number, 2))


@pytest.mark.parametrize(
    ("values", "repeat"),
    [
        ([], None),
        ([7], None),
        ([7] * 128, Repeat(1, 0)),
        ([7, 9] * 64, Repeat(2, 0)),
        (distinct(186) * 54, Repeat(186, 0)),
        (distinct(186) * 54 + distinct(186)[:100], Repeat(186, 0)),
        (distinct(32) * 4, Repeat(32, 0)),
        (distinct(128), None),
        ([1, 2, 3] * 10 + [7, 9] * 64, Repeat(2, 30)),  # something else first, a fifth of all
        ([1, 2, 3] * 30 + [7, 9] * 64, None),  # or two fifths
        ([7, 9] * 64 + [1, 2, 3] * 30, None),  # or last
        ([7, 9] * 32 + [8] + [7, 9] * 31, None),  # once out of step in the middle
    ],
    ids=lambda value: "%d values" % len(value) if isinstance(value, list) else None,
)
def test_the_period_that_a_sequence_ends_with(values: List[int], repeat: Optional[Repeat]) -> None:
    assert repetition(values) == repeat


@given(st.integers(1, 300), st.integers(4, 9), st.integers(0, 299), st.data())
def test_any_period_is_found_from_where_it_begins(
    period: int, times: int, more: int, data: st.DataObject
) -> None:
    lap = distinct(period)
    samples = lap * times + lap[: more % period]
    before = data.draw(st.integers(0, len(samples) // 4))
    assert repetition([0] * before + samples) == Repeat(period, before)


@given(st.integers(1, 60), st.integers(4, 20), st.integers(0, 59), st.data())
def test_what_is_said_to_repeat_does(period: int, times: int, more: int, data: st.DataObject) -> None:
    """Of few addresses, so that they repeat within the period, too."""
    lap = data.draw(st.lists(st.integers(0, 2), min_size=period, max_size=period))
    samples = lap * times + lap[: more % period]
    found = repetition(samples)
    assert found is not None
    assert found.period <= period
    assert all(a == b for a, b in zip(samples[found.since :], samples[found.since + found.period :]))


@pytest.mark.parametrize(("period", "worth"), [(186, 186), (10, 10), (9, None), (1, None), (2000, 2000)])
@pytest.mark.parametrize("jittered", [True, False])
def test_samples_that_repeat_are_worth_one_period_of_them(
    period: int, worth: Optional[float], jittered: bool
) -> None:
    """Below ten nobody knows."""
    if period == 1 and jittered:
        return
    chance = random.Random(period)
    rows = [chance.randrange(3) for _ in range(period)] * (10_000 // period)
    pcs = [0x1000 * row + 2 * place for row, place in zip(rows, itertools.cycle(range(period)))]
    found = dependence(pcs, rows, jittered)
    assert found.repeat == Repeat(period, 0)
    assert not found.independent
    assert found.effective == worth or (not jittered and found.effective is None and period < 100)


@pytest.mark.parametrize(
    ("values", "number"), [([], 0), ([5], 1), ([5, 5, 5], 1), ([5, 6, 5, 7, 6], 4), (distinct(9) * 3, 9)]
)
def test_the_last_sample_at_a_new_address(values: List[int], number: int) -> None:
    assert last_new(values) == number


# -- a program that is sampled as it goes round --------------------------------------------

LOOPS = ((0, 3504), (1, 1004), (2, 504), (3, 10))
"""Row and instructions of each part of a lap: the published three loops."""
SUPERLOOP = tuple((i % 7, 137 + 13 * i) for i in range(60))
"""Seven functions, in turn for ever longer: 31,230 instructions."""


def sampled(
    lap: Sequence[Tuple[int, int]], period: int, total: int, jitter: int = 0, seed: int = 0
) -> Tuple[List[int], List[int]]:
    """The addresses and rows of samples every `period` instructions, plus 0..`jitter` at random."""
    row_at = [row for row, length in lap for _ in range(length)]
    chance = random.Random(seed)
    at = chance.randrange(len(row_at))
    pcs, rows = [], []
    for _ in range(total):
        place = at % len(row_at)
        rows.append(row_at[place])
        pcs.append(0x1000 * row_at[place] + 2 * (place % 5))
        at += period + chance.randint(0, jitter)
    return pcs, rows


def misses(lap: Sequence[Tuple[int, int]], rows: Sequence[int], effective: float) -> Iterable[float]:
    """By how many halves of its interval each row's share is off the truth."""
    whole = sum(length for _, length in lap)
    for row in set(rows):
        truth = sum(length for r, length in lap if r == row) / whole
        share = rows.count(row) / len(rows)
        low, high = wilson(share * effective, effective)
        yield abs(share - truth) / ((high - low) / 2)


@pytest.mark.parametrize("jitter", [0, 255], ids=["no jitter", "too little"])
@pytest.mark.parametrize(
    ("lap", "periods"),
    [(LOOPS, range(1000, 9000, 173)), (SUPERLOOP, range(2000, 60_000, 1511))],
    ids=["three loops", "superloop"],
)
@pytest.mark.parametrize("total", [300, 2000])
def test_whatever_the_period_the_truth_is_near_the_interval(
    lap: Sequence[Tuple[int, int]], periods: range, total: int, jitter: int
) -> None:
    """1.7 half widths are 3.3 standard errors: chance alone has two in a thousand rows beyond."""
    known = 0
    for period in periods:
        pcs, rows = sampled(lap, period, total, jitter, period)
        effective = dependence(pcs, rows, jittered=False).effective
        known += effective is not None
        if effective is not None:
            assert max(misses(lap, rows, effective)) < 1.7, (period, effective)
    assert known > len(periods) / 2


@pytest.mark.parametrize("period", [5022, 2511, 10_044])
def test_a_period_of_the_laps_own_is_lockstep(period: int) -> None:
    found = dependence(*sampled(LOOPS, period, 2000), jittered=False)
    assert found.repeat is not None
    assert found.repeat.period <= 2
    assert found.effective is None


@pytest.mark.parametrize(
    ("ahead", "total"),
    [
        (6, 10_000),  # a lap is crawled through in 837 samples: 11.9 times
        (1, 10_000),  # in 5,022: twice
        (6, 2000),
    ],
)
def test_a_period_nearly_the_laps_own_crawls(ahead: int, total: int) -> None:
    found = dependence(*sampled(LOOPS, 5022 + ahead, total), jittered=False)
    assert not found.independent
    assert found.effective is None or found.effective < total / 100


@pytest.mark.parametrize("total", [128, 300, 500])
@pytest.mark.parametrize("jittered", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_window_that_saw_part_of_a_lap_does_not_know_what_it_is_worth(
    total: int, jittered: bool, seed: int
) -> None:
    """Three rows one after the other; the fourth never came."""
    rows = [0] * (total // 3) + [1] * (total // 3) + [2] * (total - total // 3 * 2)
    chance = random.Random(seed)
    pcs = [0x1000 * row + 2 * chance.randrange(9) for row in rows]
    found = dependence(pcs, rows, jittered)
    assert (found.settled, found.effective) == (False, None)


@pytest.mark.parametrize("period", [50, 100, 500])
def test_a_lap_of_many_samples_that_was_seen_often_is_no_doubt(period: int) -> None:
    """A main loop that is longer than the period, with jitter: its shares are surer than chance."""
    for seed in range(3):
        pcs, rows = sampled(LOOPS, period, 5000, jitter=period, seed=seed)
        assert max(misses(LOOPS, rows, 5000)) < 1.1
        assert dependence(pcs, rows, jittered=True).independent


# -- a program that stays in one place ---------------------------------------------------------


def stays(seed: int, total: int, inside: float, outside: float) -> Tuple[List[int], List[int]]:
    """Two rows, each for a number of samples that is geometric with that mean."""
    chance = random.Random(seed)
    rows: List[int] = []
    row = int(chance.random() < inside / (inside + outside))
    for _ in range(total):
        rows.append(row)
        if chance.random() < 1 / (inside if row else outside):
            row = 1 - row
    return [0x1000 * row + 2 * chance.randrange(9) for row in rows], rows


@pytest.mark.parametrize("jittered", [True, False])
@pytest.mark.parametrize(
    ("inside", "outside", "total", "ratio"),
    [
        (3, 3, 10_000, 2),
        (5, 5, 2000, 4),
        (5, 5, 10_000, 4),
        (20, 20, 10_000, 19),
        (100, 100, 20_000, 99),
        (5, 95, 10_000, 8.5),
        (50, 950, 20_000, 94),
    ],
)
def test_a_slow_program_is_worth_what_its_correlation_leaves(
    inside: float, outside: float, total: int, ratio: float, jittered: bool
) -> None:
    """r = 1 - 1/inside - 1/outside from one sample to the next, and the variance is (1+r)/(1-r) times as large."""
    found = [dependence(*stays(seed, total, inside, outside), jittered) for seed in range(10)]
    assert not any(f.independent for f in found)
    worth = sorted(f.effective for f in found if f.effective is not None)
    assert len(worth) >= 8
    assert worth[len(worth) // 2] == pytest.approx(total / ratio, rel=0.4)
    assert worth[0] > total / ratio / 3
    assert worth[-1] < total / ratio * 2.7


@pytest.mark.parametrize("total", [200, 1000, 10_000])
def test_a_program_slower_than_the_window_is_never_called_sure(total: int) -> None:
    """Stays of a fifth of the window, and of all of it."""
    for seed, stay in itertools.product(range(10), (total / 5, total)):
        pcs, rows = stays(seed, total, stay, stay)
        if 0.05 * total < sum(rows) < 0.95 * total:
            worth = dependence(pcs, rows, jittered=True).effective
            assert worth is None or worth < 40


@pytest.mark.parametrize("samples", [50, 100, 1000])
@pytest.mark.parametrize("at", [0, 4000, 9000], ids=["at first", "in between", "at last"])
def test_a_row_that_came_in_one_burst_was_seen_once(samples: int, at: int) -> None:
    pcs, rows = independent(1, 10_000, (0.6, 0.4))
    pcs[at : at + samples] = [0x9000] * samples
    rows[at : at + samples] = [2] * samples
    found = dependence(pcs, rows, jittered=True)
    if samples > 100:
        assert (found.independent, found.effective) == (False, None)
    else:
        assert found.rare == {2}
        assert found.effective is not None, "the other rows are a little less sure"
        assert found.effective > 3_500


def test_without_jitter_what_came_in_one_burst_makes_all_unsure() -> None:
    pcs, rows = independent(1, 10_000, (0.6, 0.4))
    pcs[4000:4100], rows[4000:4100] = [0x9000] * 100, [2] * 100
    found = dependence(pcs, rows, jittered=False)
    assert (found.rare, found.effective) == (frozenset(), None)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_a_few_samples_side_by_side_are_chance(samples: int) -> None:
    pcs, rows = independent(1, 500, (0.6, 0.4))
    rows[100 : 100 + samples] = [2] * samples
    assert dependence(pcs, rows, jittered=True).independent


def test_samples_without_a_row_depend_on_each_other_as_any_row_does() -> None:
    """Asleep, outside all code: numbers below 0."""
    pcs, rows = stays(3, 5000, 50, 50)
    found = dependence(pcs, [-1 if row else 0 for row in rows], jittered=True)
    assert found == dependence(pcs, rows, jittered=True)
    assert not found.independent


# -- what it costs --------------------------------------------------------------------------------


def steps(pcs: Sequence[int], rows: Sequence[int], jittered: bool) -> int:
    """How many of Python's instructions it takes."""
    return opcodes(lambda: dependence(pcs, rows, jittered))


@pytest.mark.parametrize("jittered", [True, False])
@pytest.mark.parametrize(
    "values",
    [
        lambda n: [random.Random(1).randrange(5) for _ in range(n)],
        lambda n: [0] * n,
        lambda n: [0] * (n - 1) + [1],
        lambda n: ([0] * 15 + [1]) * (n // 16),
        lambda n: ([0] * (n // 4 - 1) + [1]) * 4,
        lambda n: list(range(n)),
    ],
    ids=["chance", "one address", "another last", "short laps", "long laps", "all different"],
)
def test_twice_the_samples_cost_twice_the_time(values: Any, jittered: bool) -> None:
    once, twice = (steps(values(n), [v % 13 for v in values(n)], jittered) for n in (1024, 2048))
    assert twice < 2.3 * once


def test_no_more_rows_are_looked_at_than_the_largest() -> None:
    rows = [i * 7919 % 100 for i in range(3000)]  # a hundred, of a hundredth each
    few = [min(row, 12) for row in rows]
    assert steps(rows, rows, True) < 1.5 * steps(rows, few, True)


def test_of_a_hundred_samples_a_slow_program_is_not_called_sure() -> None:
    """Three stays of 74, 19 and 7 samples."""
    rows = [0] * 74 + [1] * 19 + [2] * 7
    assert dependence([0x100 + 2 * r for r in rows], rows, jittered=True).effective is None


def test_with_jitter_few_long_stays_are_not_known_and_not_called_lockstep() -> None:
    """Three cycles that are all alike: no more than three of them were seen."""
    rows = ([0] * 100 + [1] * 60) * 3
    found = dependence([0x100 + 2 * r for r in rows], rows, jittered=True)
    assert found.effective is None
    assert found.ratio > 3
