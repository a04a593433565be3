"""Whether samples depend on each other, and how many independent ones they are worth.

Three measures. The first is exact: a sequence whose second half repeats was sampled in lockstep,
and holds no more than one period of it. The other two are of each row's samples, as a sequence
of yes and no, and give the *ratio* by which the variance of its share is larger than
that of independent samples:

- Blocking. The samples are cut into blocks of 2, 4, 8 …, and the variance from block to block is set
  against the binomial one (H. Flyvbjerg, H. G. Petersen, Error estimates on averages of
  correlated data, Journal of Chemical Physics 91 (1989), 461). It grows with the block until a block
  is longer than what ties the samples together; where it still grows for a quarter of all, the
  samples have not seen all that the program does.
- Stays. How often the row is entered and left, against what independent samples do (A. Wald, J.
  Wolfowitz, On a test whether two samples are from the same population, Annals of Mathematical
  Statistics 11 (1940), 147). Where it is for random times, samples one apart are correlated by r, and
  the ratio is (1 + r) / (1 - r). It tells from few samples what blocking tells from many.

A program with a rhythm of its own that is slower than the sampler's has neighbours alike, and is yet
seen evenly: large blocks vary less than small ones, and its cycles, each a stay and the time to
the next one, are alike (M. A. Crane, D. L. Iglehart, Simulating stable stochastic systems III,
Operations Research 23 (1975), 33). With jitter the ratio is therefore at most what blocks of two cycles
and more show, or where these are too few, the cycles. Without jitter nothing that looks better
than chance is believed: the largest ratio of any block counts; and where a row nearly repeats
every few samples, since the period is near a fraction of the program's, so that a part of the lap
is never seen, the same is done with the samples sorted by their place in that short period.

Blocks, and not a sum of autocorrelations over a number of lags: such a sum is blind to a program that
crawls more slowly than its longest lag, costs a pass a lag where blocks cost one in all,
and does not tell when the window was too short. With jitter a ratio is believed only where chance gives
it to less than one row in a million, so that independent samples are called that, and their
intervals are Wilson's own; without, where it gives it to one in a thousand.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import FrozenSet, List, Optional, Sequence

from gdb_prof.profile.interval import FEWEST

_FEWEST_SAMPLES = 32
"""With fewer nothing is said about dependence; below 128, where there are no 16 blocks of 8, stays tell."""
_MOST_SAMPLES = 1 << 20
"""Of more only the newest are looked at, and stand for all."""
_FEWEST_BLOCKS = 16
_SETTLED_BLOCKS, _SETTLED = 4, 2.5
"""Where samples fall evenly over what the program does, the ratio of a quarter of them is about that
of smaller blocks; above 2.5 times, which chance gives to one in seventeen, it still grows."""
_SMALLEST_SHARE = 0.005
_ONE_IN_A_MILLION, _ONE_IN_A_THOUSAND = 4.75, 3.09
"""Standard deviations of a normal distribution that are exceeded so seldom."""
_FEWEST_CHANGES = 8
"""A row that is entered and left less than four times has not been seen often enough."""
_LARGE_BLOCKS = 8
"""So many blocks of two cycles tell how much they differ."""
_RARE = 0.02
"""A row of at most this share is left out where it was not seen often enough: it moves the others little."""
_MOST_ROWS = 12
"""The largest are tested: one that depends takes the others with it."""
_FEWEST_ALIKE = 8
"""Samples elsewhere than at the most frequent address: fewer may repeat by chance."""
_LONGEST_RETURN, _RETURNS = 64, 0.5
"""A row nearly repeats where samples up to 64 apart are correlated by half or more. Beyond that there
are enough different places."""


@dataclasses.dataclass(frozen=True)
class Repeat:
    """From sample `since` on the sequence repeats every `period` samples."""

    period: int
    since: int


@dataclasses.dataclass(frozen=True)
class Dependence:
    """What a sequence of `total` samples is worth.

    `ratio`: the variance of the share that depends most, over that of independent samples.
    `block`: the samples in the block that showed it; 0 where stays did. `settled`: False where
    the samples have not seen all that the program does, as far as can be told. `repeat`: the
    whole sequence does; `places`: rows nearly do, every so many samples. `rare`: the numbers of small
    rows that were seen too few times for their own share, start-up code for one; the others are not
    measured by them.
    """

    total: int
    ratio: float = 1.0
    block: int = 0
    settled: bool = True
    repeat: Optional[Repeat] = None
    places: int = 0
    rare: FrozenSet[int] = frozenset()
    checked: bool = True

    @property
    def independent(self) -> bool:
        return self.ratio == 1.0 and self.settled and self.repeat is None

    @property
    def effective(self) -> Optional[float]:
        """The number of independent samples that these are worth; None where that is not known."""
        worth = max(self.total / self.ratio, float(self.places))
        if self.repeat is not None:
            worth = min(worth, float(self.repeat.period))
        return worth if self.settled and (self.independent or worth >= FEWEST) else None


def dependence(pcs: Sequence[int], rows: Sequence[int], jittered: bool) -> Dependence:
    """Of samples in order: their addresses, and the row of each by number, negative for none.

    `jittered`: the sampler adds so much at random that it cannot be in step; samples that are
    all the same are then what they seem. Without it, samples of one row alone say nothing.
    """
    total = len(rows)
    if total < _FEWEST_SAMPLES:
        return Dependence(total, checked=False)
    if total > _MOST_SAMPLES:
        newest = dependence(pcs[-_MOST_SAMPLES:], rows[-_MOST_SAMPLES:], jittered)
        return dataclasses.replace(newest, total=total)
    repeat = repetition(pcs)
    if repeat is not None and (_fell_so(pcs) if repeat.period > 1 else jittered):
        repeat = None
    largest = [
        (row, samples)
        for row, samples in collections.Counter(rows).most_common(_MOST_ROWS)
        if _SMALLEST_SHARE <= samples / total <= 1 - _SMALLEST_SHARE
    ]
    found = {row: _of_row([1 if r == row else 0 for r in rows], n, jittered) for row, n in largest}
    rare = frozenset(row for row, n in largest if not found[row].settled and n <= _RARE * total and jittered)
    measured = [one for row, one in found.items() if row not in rare]
    worst = max(measured, key=lambda one: one.ratio, default=Dependence(total))
    settled = all(one.settled for one in measured) and (jittered or _changes(rows) >= _FEWEST_CHANGES)
    return dataclasses.replace(worst, settled=settled, repeat=repeat, rare=rare)


def _of_row(row: Sequence[int], samples: int, jittered: bool) -> Dependence:
    """Of one row's samples, as ones among zeros."""
    deviations = _ONE_IN_A_MILLION if jittered else _ONE_IN_A_THOUSAND
    worst = _worse(_blocking(row, samples, deviations), _stays(row, samples, deviations))
    if jittered:
        if worst.independent or not worst.settled:
            return worst
        return dataclasses.replace(worst, ratio=min(worst.ratio, max(1.0, _at_most(row, samples))))
    places = _returns(row, samples)
    if not places:
        return worst
    sorted_ = [x for place in range(places) for x in row[place::places]]
    by_place = _worse(_blocking(sorted_, samples, deviations), _stays(sorted_, samples, deviations))
    # So many places are worth as many samples, even if each of them says always the same.
    settled = by_place.settled or places >= FEWEST
    return _worse(worst, dataclasses.replace(by_place, settled=settled, places=places))


def _worse(one: Dependence, other: Dependence) -> Dependence:
    worst = one if one.ratio >= other.ratio else other
    return dataclasses.replace(worst, settled=one.settled and other.settled)


def _stays(row: Sequence[int], samples: int, deviations: float) -> Dependence:
    """The ratio by how often the row is entered and left, if at random."""
    total = len(row)
    few = min(samples, total - samples)
    changes = _changes(row)
    # Neighbours among the rarer of yes and no: by chance nearly Poisson's
    neighbours, by_chance = few - changes / 2, few * few / total
    if neighbours - by_chance <= deviations * by_chance**0.5 * (1 - few / total) + deviations**2 / 6:
        return Dependence(total)
    correlated = 1 - changes * total / (2 * few * (total - few))
    return Dependence(total, (1 + correlated) / (1 - correlated), settled=changes >= _FEWEST_CHANGES)


def _at_most(row: Sequence[int], samples: int) -> float:
    """The largest ratio that what is longer than a cycle allows: by blocks of two cycles and
    more, else by the cycles themselves. 1 where all of these are as chance has them, within two
    deviations; else the largest with three deviations more."""
    total, share = len(row), samples / len(row)
    cycle = 2 * total / max(1, _changes(row))
    sums = list(itertools.accumulate(row, initial=0))
    edges: List[Sequence[int]] = []
    size = 2
    while total // size >= _LARGE_BLOCKS:
        if size >= 2 * cycle:
            edges.append(range(0, total + 1, size))
        size *= 2
    if not edges:
        edges.append([0, *(at for at in range(1, total) if row[at] and not row[at - 1]), total])
    found = [(_spread(sums, e, share), (2 / max(1, len(e) - 2)) ** 0.5) for e in edges]
    if all(ratio <= 1 + 2 * deviation for ratio, deviation in found):
        return 1.0
    return float(max(ratio * (1 + 3 * deviation) for ratio, deviation in found))


def _spread(sums: Sequence[int], edges: Sequence[int], share: float) -> float:
    """The variance of a share between these edges over that of independent samples."""
    pieces = len(edges) - 1
    squares = sum((sums[b] - sums[a] - share * (b - a)) ** 2 for a, b in zip(edges, edges[1:]))
    return squares / ((edges[-1] - edges[0]) * share * (1 - share)) * pieces / max(1, pieces - 1)


def _changes(values: Sequence[int]) -> int:
    return sum(a != b for a, b in zip(values, values[1:]))


def _returns(row: Sequence[int], samples: int) -> int:
    """After how many samples the row nearly repeats; 0 where it does not."""
    share = samples / len(row)
    bits = int("".join("1" if x else "0" for x in row), 2)
    for lag in range(2, min(_LONGEST_RETURN, len(row) // _FEWEST_BLOCKS) + 1):
        both = _ones(bits & bits >> lag) / (len(row) - lag)
        if both - share * share > _RETURNS * share * (1 - share):
            return lag
    return 0


def _ones(bits: int) -> int:
    return bits.bit_count() if hasattr(bits, "bit_count") else bin(bits).count("1")


def _fell_so(pcs: Sequence[int]) -> bool:
    """Whether nearly all samples are at one address, and the few others may lie as they do by chance."""
    half = pcs[len(pcs) // 2 :]
    return len(half) - collections.Counter(half).most_common(1)[0][1] < _FEWEST_ALIKE


def repetition(values: Sequence[int]) -> Optional[Repeat]:
    """The period with which a sequence ends, where its second half holds it twice, or nearly so
    and with all that is in it; None where there is none, or it began late."""
    half = len(values) // 2
    tail = values[half:]
    border = _border(tail)
    period = len(tail) - border
    if not border or (period > border and len(set(tail[:border])) < len(set(tail))):
        return None
    since = half
    while since and values[since - 1] == values[since - 1 + period]:
        since -= 1
    return Repeat(period, since) if since <= len(values) // 4 else None


def last_new(values: Sequence[int]) -> int:
    """The number of the sample, from 1, after which none is at an address not seen before."""
    seen = set()
    last = 0
    for number, value in enumerate(values, 1):
        if value not in seen:
            seen.add(value)
            last = number
    return last


def _border(values: Sequence[int]) -> int:
    """The longest proper prefix that is also a suffix (the prefix function of Knuth, Morris
    and Pratt at the last place)."""
    longest = [0] * len(values)
    matched = 0
    for at in range(1, len(values)):
        value = values[at]
        while matched and values[matched] != value:
            matched = longest[matched - 1]
        if values[matched] == value:
            matched += 1
        longest[at] = matched
    return longest[-1] if longest else 0


def _blocking(row: Sequence[int], samples: int, deviations: float) -> Dependence:
    """The largest ratio by blocks that chance does not explain."""
    total = len(row)
    share = samples / total
    variance = share * (1 - share)
    excess = (1 - 6 * variance) / variance  # the kurtosis of one sample, which small shares have
    sums: List[int] = list(itertools.accumulate(row, initial=0))
    best, block, ratio = 1.0, 0, 1.0
    size = 2
    while total // size >= _SETTLED_BLOCKS:
        blocks = total // size
        ratio = _spread(sums, range(0, blocks * size + 1, size), share)
        doubt = 2 / (blocks - 1) + max(0.0, excess) / (size * blocks)
        if blocks >= _FEWEST_BLOCKS and ratio > _by_chance(doubt, deviations) and ratio > best:
            best, block = ratio, size
        size *= 2
    return Dependence(total, best, block, not block or ratio < _SETTLED * best)


def _by_chance(doubt: float, deviations: float) -> float:
    """What a ratio with this relative variance exceeds as seldom as a normal distribution so many
    deviations: a chi-square's quantile (E. B. Wilson, M. M. Hilferty, The distribution of
    chi-square, Proceedings of the National Academy of Sciences 17 (1931), 684)."""
    ninth = doubt / 9  # 2 / (9 degrees of freedom)
    return float((1 - ninth + deviations * ninth**0.5) ** 3)
