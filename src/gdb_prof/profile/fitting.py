"""A table's cells, made short enough for a line of the console."""

from __future__ import annotations

from typing import List

from gdb_prof.profile.call_text import shortened_path
from gdb_prof.profile.cells import SHORTEST_NAME, shortened
from gdb_prof.wording import NARROWEST

_SHORTEST_SOURCE = 6
_ADDRESS = len("08000100 ")


def fit(body: List[List[str]], headers: List[str], numbers: int, width: int) -> None:
    """Shorten names, and where that is not enough sources, so that a line has its width. In place; the
    names are the first column after so many with numbers."""
    widths = [max(len(row[i]) for row in [*body, headers]) for i in range(len(headers))]
    room = max(width, NARROWEST) - 1 - sum(w + 2 for w in widths[:numbers])
    rooms = [room]
    # an address is its row's name, and stays whole
    kept = _ADDRESS if headers[numbers] == "address" else 0
    if len(headers) > numbers + 1:
        source = min(widths[numbers + 1], room - 2 - min(widths[numbers], kept + SHORTEST_NAME))
        # where it would be a few letters, none
        rooms = [room - 2 - source, source] if source >= _SHORTEST_SOURCE else [room - 2, 0]
    for row in [*body, headers]:
        name = row[numbers][:kept] + shortened_path(row[numbers][kept:], rooms[0] - kept)
        row[numbers:] = [
            name,
            *(shortened(cell, w) for cell, w in zip(row[numbers + 1 :], rooms[1:])),
        ]
