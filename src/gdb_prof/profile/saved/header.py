"""The values in a saved profile's header: what a file says is believed as far as it can be true."""

from __future__ import annotations

from typing import Any, Optional

from gdb_prof.printable import MAXIMUM, printable


def whole(value: Any, most: int = (1 << 48) - 1) -> int:
    """A whole number of 0 or more. Raises ValueError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("%r is no whole number" % (value,))
    if not 0 <= value <= most:
        raise ValueError("%d" % value)
    return value


def word(value: Any) -> int:
    """An unsigned 32-bit word. Raises ValueError."""
    return whole(value, 0xFFFFFFFF)


def real(value: Any) -> Optional[float]:
    """Seconds or hertz, or None. Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, (int, float)) or not (value == 0 or 1e-9 <= value <= 1e15):
        raise ValueError("%r is no number of seconds or hertz" % (value,))
    return value


def text(value: Any, longest: int = MAXIMUM) -> str:
    """As a terminal may show it."""
    return printable(str(value), longest)
