"""The switch of the unit as a whole, where the description knows it."""

from __future__ import annotations

from typing import Tuple

from gdb_prof.counters.dpu.capture import bit
from gdb_prof.counters.registers import Unit, Write

ENABLED = "the unit as a whole was off: DP_CR.EN is set now"


def enabling(unit: Unit, word: int) -> Tuple[Write, ...]:
    """What sets DP_CR.EN, where `word` is in DP_CR; nothing where it is set, or its place is not known."""
    if bit(unit.description, "DP_CR", "EN", word) != 0:
        return ()
    return (unit.setting("DP_CR", {"EN": 1}, word),)
