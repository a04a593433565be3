"""Who ran when, by the counter that counts cycles: a line of cells for each task."""

from __future__ import annotations

from typing import List, Mapping, Tuple

from gdb_prof.counters.dpu.tasks import Facts
from gdb_prof.lanes import Window, mark, occupied, round_up, ruler

LEGEND = "# runs half of a cell or more, . less"
MOST_LANES = 40
_LEAST_CELLS = 20


def lanes(
    facts: Facts, names: Mapping[int, str], per_unit: float, unit: str, width: int, most: int
) -> Tuple[List[str], List[str], int]:
    """The lines, ruler last, of the `most` tasks that ran longest; the tasks that ran too little to show; and
    how many others there are. `per_unit`: counts of the clock in a `unit`; `names`: every task's label."""
    label = max([len(names[row.task]) for row in facts.rows] + [len(unit)])
    cells = max(_LEAST_CELLS, width - label - 5)
    length = facts.times[-1] / per_unit
    if length <= 0:
        return [], [], 0
    view = Window(0.0, length, round_up(length / cells))
    full = view.step * per_unit
    ran = occupied(facts.runs, 0.0, full, view.cells)
    lines: List[str] = []
    faint: List[str] = []
    cut = 0
    for row in sorted(facts.rows, key=lambda row: (-sum(ran.get(row.task, {}).values()), row.task)):
        cellsof = ran.get(row.task, {})
        line = "".join(mark(cellsof.get(at, 0.0), full) for at in range(view.cells))
        if line.strip() and len(lines) < most:
            lines.append("%-*s   |%s|" % (label, names[row.task], line))
        elif line.strip():
            cut += 1
        elif cellsof:
            faint.append(names[row.task])
    return [*lines, ruler(view, unit, label, max(width, label + 5 + view.cells))], faint, cut
