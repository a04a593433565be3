"""A call path as one cell of a table: `main > run > hot_a`."""

from __future__ import annotations

import itertools
from typing import Sequence

from gdb_prof.profile.cells import shortened

BLANK = "\u2800"
"""A blank, one column wide, that tabulate does not strip from a cell, and that is in no name."""
_STEP = BLANK + ">" + BLANK


def path_text(names: Sequence[str]) -> str:
    """Outermost first; a function that calls itself is named once."""
    return _STEP.join(
        name if times == 1 else "%s (%d deep)" % (name, times)
        for name, times in ((name, len(list(group))) for name, group in itertools.groupby(names))
    )


def shortened_path(text: str, room: int) -> str:
    """Functions in the middle are left out, then letters: what was running is at the end, and where all
    began at the start. Other text as cells.shortened has it."""
    names = text.split(_STEP)
    if len(text) <= room or len(names) < 3:
        return shortened(text, room)
    for kept in range(len(names) - 2, 0, -1):
        shorter = _STEP.join([names[0], "(%d more)" % (len(names) - 1 - kept), *names[-kept:]])
        if len(shorter) <= room:
            return shorter
    return shortened(_STEP.join(["…", names[-1]]), room)
