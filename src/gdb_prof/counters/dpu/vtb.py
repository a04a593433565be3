"""The trace buffer (VTB) set up: what its place must be, and the writes that make it so."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Optional

from gdb_prof.counters.description import Description, Fact, numbers
from gdb_prof.counters.dpu.capture import LARGEST, REQUEST, end_is_inclusive, layouts
from gdb_prof.counters.dpu.records import layout_of
from gdb_prof.counters.registers import Setting, Unit, Write
from gdb_prof.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Setup:
    """`start`, `event_at`: addresses; `size`, `burst`: bytes; `mode`, `record`: meanings of VTBWM, TMODE."""

    start: int
    size: int
    mode: str
    record: str
    burst: int
    event_at: Optional[int] = None

    @property
    def beyond(self) -> int:
        return self.start + self.size


def unchecked(setup: Setup, description: Description) -> List[str]:
    """What of the place could not be checked, since it is not known, as sentences. Raises UsageError for what
    is wrong."""
    if (setup.mode == REQUEST) != (setup.event_at is not None):
        raise UsageError(
            "-mode request needs -event-at ADDR, for DP_TER"
            if setup.event_at is None
            else "-event-at is for -mode request alone, not %s" % setup.mode
        )
    record = layout_of(layouts(description)[setup.record]).size
    if setup.size < record:
        raise UsageError("a %s record has %d bytes: %d hold none" % (setup.record, record, setup.size))
    return placed(setup.start, setup.size, setup.burst, description)


def placed(start: int, size: int, burst: int, description: Description) -> List[str]:
    """As `unchecked`, of a place alone."""
    if size > LARGEST:
        raise UsageError("a buffer has at most %d bytes, found %d" % (LARGEST, size))
    if start + size > 1 << 32:
        raise UsageError("0x%08x and %d bytes lie beyond 32 bits" % (start, size))
    if size % burst:
        raise UsageError("a size of %d bytes is no multiple of the burst, %d" % (size, burst))
    said = []
    aligned = description.fact("rule", "vtb_alignment_%d" % burst)
    if aligned is None:
        said.append("what a start must be aligned to for bursts of %d is not known: not checked" % burst)
    else:
        _aligned(start, burst, aligned)
    ranged, bank = description.fact("rule", "vtb_range"), description.fact("rule", "vtb_bank")
    if ranged is not None and ranged.value != "?":
        _ranged(start, start + size, ranged)
    else:
        said.append(
            "not checked: whether it lies in %s, as it must; where that is is not known (rule,vtb_range)"
            % (bank.value if bank else "the memory that the VTB may be in")
        )
    return said


def _aligned(start: int, burst: int, fact: Fact) -> None:
    alignment = numbers(fact, 1)[0]
    down = start - start % alignment
    if start != down:
        raise UsageError(
            "for bursts of %d a start is a multiple of %d (%s: %s): 0x%08x is not; 0x%08x and 0x%08x are"
            % (burst, alignment, fact.status, fact.source, start, down, down + alignment)
        )


def _ranged(start: int, beyond: int, fact: Fact) -> None:
    low, high = numbers(fact, 2)
    if not low <= start < beyond <= high:
        raise UsageError(
            "the buffer must lie within 0x%08x to 0x%08x (%s): 0x%08x to 0x%08x does not"
            % (low, high - 1, fact.source, start, beyond - 1)
        )


def plan(unit: Unit, setup: Setup, before: int = 0) -> List[Write]:
    """The addresses, then DP_TC with the trace off, whose other bits stay as in `before`. Raises
    UsageError."""
    fields: Dict[str, Setting] = {
        **{"EN": 0, "TMPDIS": 0, "TMODE": setup.record, "VTBWM": setup.mode},
        "BURST_SIZE": str(setup.burst),
    }
    last = setup.beyond - 1 if end_is_inclusive(unit.description) else setup.beyond
    end = unit.raw("DP_TEA", last)
    rule = unit.description.fact("rule", "vtb_end")
    if rule is not None:
        end = dataclasses.replace(end, facts=(*end.facts, rule))
    writes = [unit.raw("DP_TSA", setup.start), end]
    if setup.event_at is not None:
        writes.append(unit.raw("DP_TER", setup.event_at))
    return [*writes, unit.setting("DP_TC", fields, before)]
