"""Who ran when, as lines of characters: cells of a time axis, and the ruler below them.

A cell is ``#`` where what it stands for took half of it or more, ``.`` for at least a twentieth.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import DefaultDict, Dict, Hashable, Iterable, List, Tuple, TypeVar

LEAST = 0.05
_STEPS = (1, 2, 2.5, 4, 5)
MOST_CELLS = 20_000

_Key = TypeVar("_Key", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class Window:
    """A part of the axis in its own unit, and the length of a cell."""

    start: float
    end: float
    step: float

    @property
    def wanted(self) -> int:
        """How many cells the step gives; `cells`: how many of them are drawn."""
        return max(1, math.ceil((self.end - self.start) / self.step - 1e-6))

    @property
    def cells(self) -> int:
        return min(MOST_CELLS, self.wanted)


def round_up(step: float) -> float:
    """The next of 1, 2, 2.5, 4 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    for factor in (*_STEPS, 10):
        if factor * power >= step * (1 - 1e-9):
            return factor * power
    return 10 * power


def occupied(
    intervals: Iterable[Tuple[_Key, float, float]], start: float, cell: float, cells: int
) -> Dict[_Key, Dict[int, float]]:
    """By key and cell, how much of the cell its intervals, (key, start, end), fill: in the axis's counts, as
    `start` and `cell`, the length of one."""
    filled: DefaultDict[_Key, DefaultDict[int, float]] = collections.defaultdict(
        lambda: collections.defaultdict(float)
    )
    end = start + cells * cell
    for key, first, last in intervals:
        if last <= start or first >= end:
            continue
        a, b = max(first, start), min(last, end)
        lane = filled[key]
        for at in range(int((a - start) // cell), min(int((b - start) // cell), cells - 1) + 1):
            lane[at] += min(b, start + (at + 1) * cell) - max(a, start + at * cell)
    return {key: dict(lane) for key, lane in filled.items()}


def mark(ran: float, full: float) -> str:
    if ran < LEAST * full:
        return " "
    return "." if ran < 0.5 * full else "#"


def ruler(view: Window, unit: str, width: int, columns: int) -> str:
    """The unit, and a number each round distance, at the cell that begins there. `width`: of the labels
    before the lanes; `columns`: where a number that ends beyond is left out."""
    distance = round_up(view.step * 4)
    labels = _labels(view, distance)
    while any(b - a <= len(text) for (a, text), (b, _) in zip(labels, labels[1:])):
        distance = round_up(distance * 1.01)
        labels = _labels(view, distance)
    row = "%-*s    " % (width, unit)
    base = len(row)
    for at, text in labels:
        if base + at + len(text) <= columns:
            row = row.ljust(base + at) + text
    return row


def _labels(view: Window, distance: float) -> List[Tuple[int, str]]:
    """Cells and the numbers that stand at their beginnings."""
    every = max(1, round(distance / view.step))
    first = round((math.ceil(view.start / distance - 1e-6) * distance - view.start) / view.step)
    return [(at, _number(view.start + at * view.step)) for at in range(first, view.cells + 1, every)]


def _number(value: float) -> str:
    text = ("%.6f" % value).rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text
