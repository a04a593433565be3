"""Facts -> lanes: a line of cells for each task, as in FIGURES.md's published drawing.

A cell is ``#`` where the task ran for half of it or more, ``.`` for at least a twentieth,
``^`` where most of that was at an inherited priority.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Dict, List, Optional, Set, Tuple

from gdb_prof.trace.timeline import Timeline

LEAST = 0.05
_STEPS = (1, 2, 2.5, 4, 5)
LEGEND = "# runs half of a cell or more, . less, ^ at an inherited priority"
MOST_CELLS = 20_000


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


def window(
    timeline: Timeline,
    start: Optional[float],
    end: Optional[float],
    step: Optional[float],
    cells: int,
) -> Window:
    """What to show: all of it where nothing is said, in a step that makes it fit into so
    many cells, and then from a multiple of that step on."""
    axis = timeline.axis
    first, last = axis.at(timeline.start), axis.at(timeline.end)
    if step is None:
        a, b = first if start is None else start, last if end is None else end
        step = round_up(max(b - a, 1e-9) / max(1, min(cells, MOST_CELLS) - 1))
        start = None if start is None else math.floor(start / step + 1e-6) * step
    if start is None:
        start = math.floor(first / step + LEAST) * step
    return Window(start, last if end is None else end, step)


def round_up(step: float) -> float:
    """The next of 1, 2, 2.5, 4 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    for factor in (*_STEPS, 10):
        if factor * power >= step * (1 - 1e-9):
            return factor * power
    return 10 * power


def name_width(timeline: Timeline) -> int:
    return max([len(task.label) for task in timeline.tasks] + [2])


def lanes(timeline: Timeline, view: Window, columns: int = 0) -> Tuple[List[str], List[str]]:
    """The drawing's lines, ruler last; and the tasks that ran too little to show.

    With `columns` the ruler's last number is left out where neither these nor the lanes hold it.
    Tasks by the highest priority that they had, inherited ones too, then by number.
    """
    ran, inherited = _cells(timeline, view)
    tops: Dict[int, int] = {}
    for run in timeline.runs:
        tops[run.task] = max(tops.get(run.task, -1), run.priority)
    shown, faint = [], []
    full = view.step * timeline.axis.per_unit
    for index in sorted(tops, key=lambda task: (-tops[task], timeline.tasks[task].number, task)):
        row = "".join(
            _mark(ran[index].get(cell, 0.0), inherited[index].get(cell, 0.0), full)
            for cell in range(view.cells)
        )
        if row.strip():
            shown.append((timeline.tasks[index].label, row))
        elif ran[index]:
            faint.append(timeline.tasks[index].label)
    missing = _missing(timeline, view)
    if missing.strip():
        shown.append(("?", missing))
    width = max([len(label) for label, _ in shown] + [len(timeline.axis.unit)])
    lines = ["%-*s   |%s|" % (width, label, row) for label, row in shown]
    room = max(columns, width + 5 + view.cells) if columns else MOST_CELLS * 2
    return lines + [_ruler(view, timeline.axis.unit, width, room)], faint


def _missing(timeline: Timeline, view: Window) -> str:
    """The cells in which records are missing."""
    cells: Set[int] = set()
    cell = view.step * timeline.axis.per_unit
    for before, after in timeline.gaps:
        first, last = (int((time - timeline.axis.time(view.start)) // cell) for time in (before, after))
        cells.update(range(max(first, 0), min(last, view.cells - 1) + 1))
    return "".join("?" if at in cells else " " for at in range(view.cells))


def _mark(ran: float, inherited: float, full: float) -> str:
    if ran < LEAST * full:
        return " "
    if ran < 0.5 * full:
        return "."
    return "^" if inherited >= 0.5 * ran else "#"


def _cells(
    timeline: Timeline, view: Window
) -> Tuple[Dict[int, Dict[int, float]], Dict[int, Dict[int, float]]]:
    """By task and cell, the counts that it ran, and those of them at an inherited priority."""
    axis = timeline.axis
    cell, cells = view.step * axis.per_unit, view.cells
    start = axis.time(view.start)
    end = start + cells * cell
    ran: Dict[int, Dict[int, float]] = collections.defaultdict(lambda: collections.defaultdict(float))
    inherited: Dict[int, Dict[int, float]] = collections.defaultdict(lambda: collections.defaultdict(float))
    for run in timeline.runs:
        if run.end <= start or run.start >= end:
            continue
        a, b = max(run.start, start), min(run.end, end)
        first, last = int((a - start) // cell), min(int((b - start) // cell), cells - 1)
        for at in range(first, last + 1):
            counts = min(b, start + (at + 1) * cell) - max(a, start + at * cell)
            ran[run.task][at] += counts
            if run.inherited:
                inherited[run.task][at] += counts
    return ran, inherited


def _ruler(view: Window, unit: str, width: int, columns: int) -> str:
    """The unit, and a number each round distance, at the cell that begins there."""
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
