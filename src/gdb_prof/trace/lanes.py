"""Facts -> lanes: a line of cells for each task, as in FIGURES.md's published drawing.

A cell is ``#`` where the task ran for half of it or more, ``.`` for at least a twentieth,
``^`` where most of that was at an inherited priority.
"""

from __future__ import annotations

import math
from typing import Dict, List, Optional, Set, Tuple

from gdb_prof.lanes import LEAST, MOST_CELLS, Window, mark, occupied, round_up, ruler
from gdb_prof.trace.timeline import Timeline

__all__ = ["LEGEND", "MOST_CELLS", "Window", "lanes", "name_width", "round_up", "window"]

LEGEND = "# runs half of a cell or more, . less, ^ at an inherited priority"


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
            _mark(ran.get(index, {}).get(cell, 0.0), inherited.get(index, {}).get(cell, 0.0), full)
            for cell in range(view.cells)
        )
        if row.strip():
            shown.append((timeline.tasks[index].label, row))
        elif ran.get(index):
            faint.append(timeline.tasks[index].label)
    missing = _missing(timeline, view)
    if missing.strip():
        shown.append(("?", missing))
    width = max([len(label) for label, _ in shown] + [len(timeline.axis.unit)])
    lines = ["%-*s   |%s|" % (width, label, row) for label, row in shown]
    room = max(columns, width + 5 + view.cells) if columns else MOST_CELLS * 2
    return lines + [ruler(view, timeline.axis.unit, width, room)], faint


def _missing(timeline: Timeline, view: Window) -> str:
    """The cells in which records are missing."""
    cells: Set[int] = set()
    cell = view.step * timeline.axis.per_unit
    for before, after in timeline.gaps:
        first, last = (int((time - timeline.axis.time(view.start)) // cell) for time in (before, after))
        cells.update(range(max(first, 0), min(last, view.cells - 1) + 1))
    return "".join("?" if at in cells else " " for at in range(view.cells))


def _mark(ran: float, inherited: float, full: float) -> str:
    return "^" if inherited >= 0.5 * ran and ran >= 0.5 * full else mark(ran, full)


def _cells(
    timeline: Timeline, view: Window
) -> Tuple[Dict[int, Dict[int, float]], Dict[int, Dict[int, float]]]:
    """By task and cell, the counts that it ran, and those of them at an inherited priority."""
    axis = timeline.axis
    place = axis.time(view.start), view.step * axis.per_unit, view.cells
    ran = occupied(((run.task, run.start, run.end) for run in timeline.runs), *place)
    inherited = occupied(((run.task, run.start, run.end) for run in timeline.runs if run.inherited), *place)
    return ran, inherited
