"""How sure a share is: Wilson's interval, and how many samples a width takes.

E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal
of the American Statistical Association 22 (1927), 209. It stays inside 0..1 and holds for
small shares, where the share plus or minus a multiple of sqrt(p(1-p)/N) does not.
"""

from __future__ import annotations

from typing import Tuple

Z95 = 1.959964
"""Standard errors on each side of 95 % of a normal distribution."""

FEWEST = 10
"""Samples that depend on each other and are worth less than this are given no interval: what they are
worth is a guess itself."""


def wilson(samples: float, total: float, z: float = Z95) -> Tuple[float, float]:
    """The interval of a share, as fractions. `total` is the number of independent samples,
    and `samples` the row's part of them; neither need be whole."""
    share = samples / total
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    half = z / scale * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def half_width(share: float, total: float) -> float:
    """Half of Wilson's interval for a share of so many independent samples."""
    low, high = wilson(share * total, total)
    return (high - low) / 2


def samples_for(share: float, width: float) -> float:
    """The independent samples that make an interval of plus or minus `width`, both as fractions."""
    return Z95 * Z95 * share * (1 - share) / (width * width)
