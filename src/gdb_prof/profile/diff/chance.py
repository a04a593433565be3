"""Which of many differences between two samples are larger than chance.

Each row is tested alone: a z-test of two proportions with Yates' correction for continuity
(F. Yates, Contingency tables involving small numbers and the chi-squared test, Supplement to the
Journal of the Royal Statistical Society 1 (1934), 217). It is an approximation: where one of the
four expected counts is below 50 the exact test stands in for it (R. A. Fisher, The logic of
inductive inference, Journal of the Royal Statistical Society 98 (1935), 39), as twice its
smaller tail. So equal rows are called different at most 1.05 times as often as the level says; with
10 in place of 50 it would be up to 1.6 times, where the two sides are unequal.

All rows together: S. Holm's steps (A simple sequentially rejective multiple test procedure,
Scandinavian Journal of Statistics 6 (1979), 65) over the rows that R. E. Tarone's bound leaves (A
modified Bonferroni method for discrete data, Biometrics 46 (1990), 515): a row of a few samples can
never become significant, whatever they did, and so costs the others nothing. Tarone's bound is
taken anew at each step (G. Hommel, F. Krummenauer, Improvements and modifications of Tarone's
multiple test procedure for discrete data, Biometrics 54 (1998), 673).
"""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple, Optional, Sequence, Set

ERROR = 0.05
"""How often chance alone may make one of all rows look different."""
POWER = 0.95

_FEWEST_EXPECTED = 50
_NORMAL = statistics.NormalDist()


class Counts(NamedTuple):
    """A row of two samples: `before` of `of_before` and `after` of `of_after` independent
    samples. They need not be whole numbers: samples that depend on each other are worth fewer."""

    before: float
    of_before: float
    after: float
    of_after: float

    @property
    def pooled(self) -> float:
        """The share in both together."""
        return (self.before + self.after) / (self.of_before + self.of_after)


def p_value(row: Counts) -> float:
    """How often chance alone makes a difference as large as this, in either direction."""
    pooled = min(max(row.pooled, 0.0), 1.0)
    if pooled in (0, 1):
        return 1.0
    if _is_small(row):
        return _exact(row)
    gap = abs(row.before / row.of_before - row.after / row.of_after) - _correction(row)
    return math.erfc(max(0.0, gap) / (_error(row, pooled) * math.sqrt(2)))


def least_p_value(row: Counts) -> float:
    """What p_value is at the least, however the row's samples fall on the two sides."""
    both = row.before + row.after
    most_before, most_after = min(both, row.of_before), min(both, row.of_after)
    return min(
        p_value(row._replace(before=most_before, after=both - most_before)),
        p_value(row._replace(before=both - most_after, after=most_after)),
    )


def larger_than_chance(rows: Sequence[Counts], error: float = ERROR) -> Set[int]:
    """The numbers of the rows that differ. With two samples of the same thing there is one such row,
    or more, in at most `error` of all cases."""
    values = [(p_value(row), least_p_value(row)) for row in rows]
    left = set(range(len(rows)))
    found: Set[int] = set()
    while left:
        level = error / _tests([values[at][1] for at in left], error)
        new = {at for at in left if values[at][0] <= level}
        if not new:
            break
        found |= new
        left -= new
    return found


def _tests(least: Sequence[float], error: float) -> int:
    """Tarone's K: the fewest tests among which the error may be divided, so that no more than
    that many rows can be significant then."""
    ascending = sorted(least)
    tests, able = 1, 0
    while True:
        while able < len(ascending) and ascending[able] <= error / tests:
            able += 1
        while able and ascending[able - 1] > error / tests:
            able -= 1
        if able <= tests:
            return tests
        tests += 1


def change_found(rows: Sequence[Counts], error: float = ERROR, power: float = POWER) -> Optional[float]:
    """The change of a share, as a fraction, that is called larger than chance in `power` of all
    cases, whichever row it is in: that of the row that needs the largest.

    None where that row has so few samples that its error is not a normal distribution's.
    """
    if not rows:
        return None
    tests = _tests([least_p_value(row) for row in rows], error)
    errors = _NORMAL.inv_cdf(1 - error / tests / 2) + _NORMAL.inv_cdf(power)

    def needed(row: Counts) -> float:
        rarer = min(row.pooled, 1 - row.pooled)
        change = errors * _error(row, rarer) + _correction(row)
        # the changed share may lie nearer to a half, where errors are larger
        return errors * _error(row, min(0.5, rarer + change)) + _correction(row)

    change, row = max((needed(row), row) for row in rows)
    return None if _is_small(row) else change


def _is_small(row: Counts) -> bool:
    """Whether the normal distribution is no measure of the row's error."""
    both, of_both = row.before + row.after, row.of_before + row.of_after
    # of whole numbers there is no rounding here, and both sides agree
    rarer = min(both, of_both - both)
    return rarer * min(row.of_before, row.of_after) < _FEWEST_EXPECTED * of_both


def _correction(row: Counts) -> float:
    return (1 / row.of_before + 1 / row.of_after) / 2


def _error(row: Counts, share: float) -> float:
    """The standard error of the difference of two shares that are equal."""
    return math.sqrt(share * (1 - share) * (1 / row.of_before + 1 / row.of_after))


def _exact(row: Counts) -> float:
    """Fisher's exact test, twice the tail. What is no whole number is rounded so that the
    difference becomes smaller."""
    more, fewer = (row.before, row.of_before), (row.after, row.of_after)
    if more[0] * fewer[1] < fewer[0] * more[1]:
        more, fewer = fewer, more
    of_more, of_fewer = math.floor(more[1]), math.floor(fewer[1])
    most = min(math.floor(more[0]), of_more)
    least = min(math.ceil(fewer[0]), of_fewer)
    both = most + least
    tail = (_hypergeometric(n, of_more, both - n, of_fewer) for n in range(most, min(both, of_more) + 1))
    return min(1.0, 2 * math.fsum(tail))


def _hypergeometric(a: int, of_a: int, b: int, of_b: int) -> float:
    """How probable it is that of a + b marked ones among all just `a` are among the first `of_a`."""
    return math.exp(_log_choose(of_a, a) + _log_choose(of_b, b) - _log_choose(of_a + of_b, a + b))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
