"""Tables of a report: what of the facts they show, and how they fit the console."""

from __future__ import annotations

import dataclasses
from typing import List, Optional, Sequence, Tuple, TypeVar

from gdb_prof.trace.lanes import Window
from gdb_prof.wording import aligned, count

BLANK = "\u2800"
"""A blank, one column wide, that neither tabulate nor textwrap takes for one."""


@dataclasses.dataclass(frozen=True)
class View:
    """What to show: a stretch of time in counts, one task's or all rows, and how many."""

    width: int
    start: float
    end: float
    window: Window
    task: Optional[int] = None
    rows: int = 20

    def has(self, start: float, end: float, task: int) -> bool:
        """Whether a fact of this task, or of none (-1), is to be shown."""
        return end >= self.start and start <= self.end and (self.task is None or task in (-1, self.task))


def table(
    view: View,
    title: str,
    head: Sequence[str],
    rows: List[List[str]],
    align: str,
    spare: Sequence[str] = (),
    last: str = "",
) -> List[str]:
    """Rows under a head whose first cell is the section's title; `align`: l or r a column.

    Where the lines are too wide the columns in `spare` are left out, one after the other;
    then the last column, a list, is cut, and then what is in the second, a name; where that
    does not do, the column `last` goes, too.
    """
    cells = [[title, *head], *[["%s%s" % (2 * BLANK, row[0]), *row[1:]] for row in rows]]
    sides = ["left" if side == "l" else "right" for side in align]
    lines = aligned(cells, sides)
    for name in spare:
        if _width(lines) <= view.width:
            break
        at = cells[0].index(name)
        cells = [[*row[:at], *row[at + 1 :]] for row in cells]
        del sides[at]
        lines = aligned(cells, sides)
    for column in (len(sides) - 1, 1):
        over = _width(lines) - view.width
        if over > 0 and sides[column] == "left":
            notes = [len(_note(row[column])) for row in cells]
            room = max(8, 1 + max(notes), max(len(row[column]) for row in cells) - over)
            cells = [
                [_cut_text(cell, room) if at == column else cell for at, cell in enumerate(row)]
                for row in cells
            ]
            lines = aligned(cells, sides)
    if last and _width(lines) > view.width:
        at = head.index(last)
        without = [[*row[: at + 1], *row[at + 2 :]] for row in rows]
        return table(view, title, [*head[:at], *head[at + 1 :]], without, align[: at + 1] + align[at + 2 :])
    return [line.replace(BLANK, " ") for line in lines]


def _width(lines: Sequence[str]) -> int:
    return max(len(line) for line in lines)


def _cut_text(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    note = _note(text)
    return text[: room - len(note) - 1].rstrip() + "…" + note


def _note(text: str) -> str:
    """A list's last words in brackets, which are not cut: ` (timed out)`."""
    start = text.rfind(" (")
    return text[start:] if text.endswith(")") and start >= 0 else ""


_Fact = TypeVar("_Fact")


def cut(facts: List[_Fact], view: View) -> Tuple[List[_Fact], List[str]]:
    """The first of them, and a line that says how many there are more."""
    if len(facts) <= view.rows:
        return facts, []
    more = "  … %s more (-rows, -from, -to, -task)" % count(len(facts) - view.rows)
    return facts[: view.rows], [more]
