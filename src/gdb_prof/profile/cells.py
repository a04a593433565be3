"""What stands in the cells of a profile's tables."""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_prof.profile.interval import half_width
from gdb_prof.wording import base

SHORTEST_NAME = 16
"""Characters of a name that are shown before its source is shortened."""


def share(samples: int, total: int) -> str:
    return "%.2f %%" % (100 * samples / total)


def doubt(part: float, effective: Optional[float]) -> str:
    """Half of the 95 % interval in points; `?` where nobody knows."""
    return "?" if effective is None else "%.2f" % (100 * half_width(part, effective))


def place(source: Optional[Tuple[str, int]]) -> str:
    """`uart.c:31`."""
    return "%s:%d" % (base(source[0]), source[1]) if source else ""


def shortened(text: str, room: int) -> str:
    """The middle is left out: what tells a name from others, and a line number, is at the end."""
    if len(text) <= room:
        return text
    if room < 3:
        return text[:room]
    tail = (room - 1) * 2 // 3
    return text[: room - 1 - tail] + "…" + text[-tail:]


def cut(text: str, room: int) -> str:
    """The end is left out."""
    return text if len(text) <= room else text[: room - 1] + "…"
