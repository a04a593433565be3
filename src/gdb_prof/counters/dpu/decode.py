"""A capture -> its records in order of time, and what is to be said of how they were found."""

from __future__ import annotations

import dataclasses
from typing import FrozenSet, List, Optional, Sequence, Tuple

from gdb_prof.counters.dpu.capture import FILL, SINGLE, Capture
from gdb_prof.counters.dpu.padding import without
from gdb_prof.counters.dpu.phase import LOOKED_AT, Fit, candidates, fit, fits, found
from gdb_prof.counters.dpu.reading import COUNTERS
from gdb_prof.counters.dpu.records import DIRECT, TASK, Layout, Records, layout_of, unpack
from gdb_prof.errors import UsageError
from gdb_prof.wording import be, count, plural

_BURST = 16
_DOUBT = 0.02


@dataclasses.dataclass(frozen=True)
class Decoded:
    """`kind`: of the records; `wrapped` as it was taken. `origin`: how their places were found;
    `remarks`: what is doubtful or missing."""

    capture: Capture
    kind: str
    records: Records
    wrapped: bool
    origin: str
    remarks: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class _Stretch:
    """The bytes in order of time, where in the buffer they begin, and where in them records may."""

    content: bytes
    at: int
    phases: Sequence[int]
    wrapped: bool


def decode(capture: Capture, kind: str = "", layout: str = "", phase: Optional[int] = None) -> Decoded:
    """`kind`, `layout`, `phase` where the user gives them. Raises UsageError."""
    remarks = list(capture.remarks)
    if not (kind or capture.kind):
        remarks.append("what was recorded is not known: taken for task records (-record)")
    kind = kind or capture.kind or TASK
    shape = layout_of(layout or capture.layouts[kind])
    if phase is not None and phase >= shape.size:
        raise UsageError("-phase is less than a record's %d bytes" % shape.size)
    first, stretch, sure = _chosen(capture, shape, phase, remarks)
    content, removed = without(
        stretch.content[first:], stretch.at + first, shape, capture.little, still(capture)
    )
    if removed:
        remarks.append(
            "%s of zeros between records, to a burst's boundary: left out" % plural(removed, "byte")
        )
    left = len(content) % shape.size
    records = _written(content, shape, capture.little, remarks)
    if first and stretch.wrapped:
        remarks.append("the oldest record is cut by the write pointer: its last %s left out" % _are(first))
    if left:
        remarks.append("the last %s no whole record: left out" % _are(left))
    _doubts(records, content, capture, kind, remarks)
    origin = "the first whole record begins %d bytes behind the oldest: %s" % (first, sure) if sure else ""
    return Decoded(capture, kind, records, stretch.wrapped, origin, tuple(remarks))


def _are(number: int) -> str:
    return "%s %s" % (plural(number, "byte"), be(number))


def _chosen(
    capture: Capture, layout: Layout, phase: Optional[int], remarks: List[str]
) -> Tuple[int, _Stretch, str]:
    """Where the first whole record begins, in which bytes, and how that is known."""
    wrapped, sure = _wrapped(capture, remarks)
    offset = _offset(capture, remarks)
    whole = _Stretch(capture.raw[:offset], 0, [0], False)
    if offset is None or (wrapped is False and sure):
        return phase or 0, whole, ""
    turned = _turned(capture, offset, layout)
    if wrapped:
        return _phase(turned, layout, capture, phase)
    unsure = "whether the buffer has wrapped is not known"
    if wrapped is False:
        unsure = "%s, so that the buffer has not wrapped" % capture.how
    return _guessed(capture, layout, phase, (whole, turned), unsure, remarks)


def _guessed(
    capture: Capture,
    layout: Layout,
    phase: Optional[int],
    stretches: Tuple[_Stretch, _Stretch],
    unsure: str,
    remarks: List[str],
) -> Tuple[int, _Stretch, str]:
    """It may have wrapped or not. What lies before the write pointer is the newest in any case."""
    whole, turned = stretches
    known = whole.content.replace(bytes([FILL]) * layout.size, b"")
    straight = fits(known, 0, layout, capture.little, [0], still(capture))[0]
    if straight.breaks <= _DOUBT * straight.steps:
        behind = len(turned.content) - len(whole.content)
        if capture.wrapped is None and behind:
            remarks.append(
                "%s: what lies behind the write pointer, %s, is not shown (-wrapped shows it)"
                % (unsure, plural(behind, "byte"))
            )
        return phase or 0, whole, ""
    tried = _tried(turned, layout, capture)
    if phase is None and not any(fit.share <= _DOUBT for fit in tried):
        return 0, whole, ""  # neither way: what is the newest for sure, and the doubts are said
    remarks.append("%s, but its records fit only as those of one that has: taken so" % unsure)
    return _phase(turned, layout, capture, phase)


def _phase(
    turned: _Stretch, layout: Layout, capture: Capture, phase: Optional[int]
) -> Tuple[int, _Stretch, str]:
    """Raises UsageError where it cannot be told."""
    if phase is not None:
        return phase, turned, "given"
    place, sure = found(_tried(turned, layout, capture), len(turned.content) // layout.size)
    return place, turned, sure


def _tried(turned: _Stretch, layout: Layout, capture: Capture) -> Tuple[Fit, ...]:
    known = turned.content, turned.at, layout, capture.little
    tried = fits(*known, turned.phases, still(capture))
    if len(tried) == 1 and tried[0].breaks > _DOUBT * tried[0].steps:
        # there are gaps in the stream, of words
        return fits(*known, range(0, layout.size, 4), still(capture))
    return tried


def still(capture: Capture) -> FrozenSet[str]:
    """The counters that are known not to count: without a start event."""
    return frozenset(
        name for name in COUNTERS if name in capture.counters and capture.counters[name].starts == "none"
    )


# -- the bytes ---------------------------------------------------------------------------


def _offset(capture: Capture, remarks: List[str]) -> Optional[int]:
    """The write pointer from the buffer's start on; None where it is not known, and then remarked."""
    if capture.pointer is None:
        end = _end_of_writing(capture.raw)
        if end is not None:
            remarks.append("from byte %s on the fill pattern is left: taken for the end" % count(end))
            return end
        remarks.append("the write pointer is not known (-pointer, -offset): shown from the buffer's start on")
        return None
    offset = capture.pointer - capture.start
    if not 0 <= offset <= len(capture.raw):
        remarks.append(
            "the write pointer 0x%08x lies outside the buffer, 0x%08x to 0x%08x: shown from its start on"
            % (capture.pointer, capture.start, capture.start + len(capture.raw) - 1)
        )
        return None
    return offset


def _end_of_writing(raw: bytes) -> Optional[int]:
    """Where nothing but the fill pattern is left; None where less than a burst of it is."""
    end = len(raw.rstrip(bytes([FILL])))
    return end if len(raw) - end >= _BURST else None


def _wrapped(capture: Capture, remarks: List[str]) -> Tuple[Optional[bool], bool]:
    """What is known best, and whether it is sure: a user's word, the fill pattern's, the mode's; then
    what the capture says, by a flag of the unit."""
    if capture.how == GIVEN:
        return capture.wrapped, True
    seen = _seen(capture)
    if seen is not None:
        if capture.wrapped not in (None, seen):
            remarks.append(
                "%s, but %s the fill pattern is left behind the write pointer: taken as %s"
                % (capture.how, "nothing of" if seen else "all of", "wrapped" if seen else "not wrapped")
            )
        return seen, True
    return (False, True) if capture.mode == SINGLE else (capture.wrapped, bool(capture.wrapped))


GIVEN = "given"
"""Of Capture.how: the user has said it."""


def _seen(capture: Capture) -> Optional[bool]:
    """Whether it has wrapped, by what is left of the fill pattern; None where that does not tell."""
    pointer = capture.pointer
    if pointer is None:
        return False if _end_of_writing(capture.raw) is not None else None
    behind = capture.raw[max(0, pointer - capture.start) :]
    if len(behind) < _BURST or not capture.start <= pointer <= capture.start + len(capture.raw):
        return None
    if behind == bytes([FILL]) * len(behind):
        return False
    return True if capture.filled and bytes([FILL]) * _BURST not in behind else None


def _turned(capture: Capture, offset: int, layout: Layout) -> _Stretch:
    raw = capture.raw
    return _Stretch(raw[offset:] + raw[:offset], offset, candidates(offset, len(raw), layout.size), True)


# -- doubts ------------------------------------------------------------------------------


def _written(content: bytes, layout: Layout, little: bool, remarks: List[str]) -> Records:
    """The records, but those that are nothing but the fill pattern."""
    empty = bytes([FILL]) * layout.size
    if layout.size < 8 or empty not in content:
        return unpack(content, layout, little)
    size = layout.size
    rows = [content[at : at + size] for at in range(0, len(content) - size + 1, size)]
    kept = [row for row in rows if row != empty]
    if len(kept) < len(rows):
        number = len(rows) - len(kept)
        remarks.append(
            "%s hold only the fill pattern, so were not written: left out" % plural(number, "record")
        )
    return unpack(b"".join(kept), layout, little)


def _doubts(records: Records, content: bytes, capture: Capture, kind: str, remarks: List[str]) -> None:
    """Where they do not look like records, and whether they would in the other byte order."""
    layout = records.layout
    if kind == DIRECT or records.number < 2:
        return
    here = fit(records, still(capture))
    if here.breaks <= _DOUBT * here.steps:
        return
    remarks.append(
        "in %s of %s steps an ID or a counter does what none does: garbled, or another layout, byte order or "
        "phase (-layout, -byte-order, -phase)" % (count(here.breaks), count(here.steps))
    )
    other = fit(unpack(content[: LOOKED_AT * layout.size], layout, not capture.little), still(capture))
    if other.share < 0.5 * here.share:
        remarks.append(
            "the other byte order fits better: -byte-order %s" % ("big" if capture.little else "little")
        )
