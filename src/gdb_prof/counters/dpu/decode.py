"""A capture -> its records in order of time, and what is to be said of how they were found."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import List, Optional, Sequence, Tuple

from gdb_prof.counters.dpu.capture import FILL, NONE, SINGLE, TASK_ID, Capture, overflow_counters
from gdb_prof.counters.dpu.padding import Known, without
from gdb_prof.counters.dpu.phase import LOOKED_AT, Fit, candidates, fit, fits, found
from gdb_prof.counters.dpu.reading import COUNTERS
from gdb_prof.counters.dpu.records import BURST, DIRECT, KINDS, TASK, Layout, Records, layout_of, unpack
from gdb_prof.counters.trace_buffer import Buffer
from gdb_prof.errors import UsageError
from gdb_prof.wording import be, count, plural

DOUBT = 0.02
"""Of the steps from one record to the next, that none makes: more are said, and give no shares."""


@dataclasses.dataclass(frozen=True)
class Decoded:
    """`kind`: of the records; `wrapped` as it was taken, None where it is not known, and `by` what. `origin`:
    how their places were found; `rests`: what that rests on. `misfit`: the part of the steps from one record
    to the next that none makes; `remarks`: what is doubtful or missing."""

    capture: Capture
    kind: str
    records: Records
    wrapped: Optional[bool]
    by: str
    origin: str
    rests: Tuple[str, ...]
    misfit: float
    remarks: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class _Stretch:
    """The bytes in order of time, where in the buffer they begin, and where in them records may."""

    content: bytes
    at: int
    phases: Sequence[int]
    wrapped: Optional[bool]
    by: str = ""


def decode(
    capture: Capture, kind: str = "", layout: Optional[str] = None, phase: Optional[int] = None
) -> Decoded:
    """`kind`, `layout`, `phase` where the user gives them. Raises UsageError."""
    remarks = list(capture.remarks)
    kind = kind or capture.kind
    if not kind:
        remarks.append("what was recorded is not known: taken for task records (-record)")
        kind = TASK
    shape = _shape(capture, kind, layout)
    if phase is not None and phase >= shape.size:
        raise UsageError("-phase is less than a record's %d bytes" % shape.size)
    first, stretch, sure = _chosen(capture, shape, phase, remarks)
    content, removed, doubts = without(
        stretch.content[first:], stretch.at + first, shape, capture.little, known(capture)
    )
    if removed:
        remarks.append(
            "%s of zeros between records, to a burst's boundary: left out" % plural(removed, "byte")
        )
    if doubts:
        remarks.append(
            "in %s zeros up to a burst's boundary may be a pause's, not a record's: not left out"
            % plural(doubts, "place")
        )
    left = len(content) % shape.size
    records = _written(content, shape, capture, remarks)
    if first and stretch.wrapped:
        remarks.append("the oldest record is cut by the write pointer: its last %s left out" % _are(first))
    if left:
        remarks.append("the last %s no whole record: left out" % _are(left))
    misfit = _doubts(records, content, capture, kind, remarks)
    origin = "the first whole record begins %d bytes behind the oldest: %s" % (first, sure) if sure else ""
    rests = _rests(capture, kind, layout)
    found = (stretch.wrapped, stretch.by, origin, rests, misfit)
    return Decoded(capture, kind, records, *found, tuple(remarks))


def _shape(capture: Capture, kind: str, layout: Optional[str]) -> Layout:
    """Raises UsageError."""
    if kind not in KINDS:
        raise UsageError(
            "the trace records %s, which is not decoded here: `dpu trace save`, or -record" % kind
        )
    shape = layout_of(capture.layouts[kind] if layout is None else layout)
    if kind == DIRECT and len(shape.names) != 1:
        raise UsageError("a direct record is one field, the word, found %s" % ", ".join(shape.names))
    return shape


def _rests(capture: Capture, kind: str, layout: Optional[str]) -> Tuple[str, ...]:
    """A user's own word rests on nothing."""
    used = [*([kind] if layout is None else []), *([TASK_ID] if kind == TASK else [])]
    return (*capture.rests, *(text for what in used for text in capture.rests_by.get(what, ())))


def _are(number: int) -> str:
    return "%s %s" % (plural(number, "byte"), be(number))


def _chosen(
    capture: Capture, layout: Layout, phase: Optional[int], remarks: List[str]
) -> Tuple[int, _Stretch, str]:
    """Where the first whole record begins, in which bytes, and how that is known."""
    wrapped, by, sure = _wrapped(capture, remarks)
    offset = _offset(capture, layout, remarks)
    whole = _Stretch(capture.raw[:offset], 0, [0], wrapped, by)
    if offset is None or (wrapped is False and sure):
        return phase or 0, whole, ""
    turned = _turned(capture, offset, layout, by)
    if wrapped:
        return _phase(turned, layout, capture, phase)
    return _guessed(capture, layout, phase, (whole, turned), remarks)


def _guessed(
    capture: Capture,
    layout: Layout,
    phase: Optional[int],
    stretches: Tuple[_Stretch, _Stretch],
    remarks: List[str],
) -> Tuple[int, _Stretch, str]:
    """It may have wrapped or not. What lies before the write pointer is the newest in any case."""
    whole, turned = stretches
    written = whole.content.replace(bytes([FILL]) * layout.size, b"")
    straight = fits(written, 0, layout, capture.little, [0], known(capture))[0]
    if straight.breaks <= DOUBT * straight.steps:
        behind = len(turned.content) - len(whole.content)
        if phase is None and capture.wrapped is None:
            _demand_one_place(written, turned, behind, layout, capture)
        if capture.wrapped is None and behind:
            remarks.append(
                "what lies behind the write pointer, %s, is not shown (-wrapped shows it)"
                % plural(behind, "byte")
            )
        return phase or 0, whole, ""
    tried = _tried(turned, layout, capture)
    if phase is None and not any(fit.share <= DOUBT for fit in tried):
        return 0, whole, ""  # neither way: what is the newest for sure, and the doubts are said
    unsure = "whether the buffer has wrapped is not known" if capture.wrapped is None else capture.how
    remarks.append("%s, but its records fit only as those of one that has wrapped: taken so" % unsure)
    return _phase(dataclasses.replace(turned, by="its records"), layout, capture, phase)


def _demand_one_place(
    written: bytes, turned: _Stretch, behind: int, layout: Layout, capture: Capture
) -> None:
    """Raises UsageError where records may begin elsewhere, had the buffer wrapped. What lies behind the write
    pointer must fit then, too; where that is zeros of a record and more, it was never written."""
    if behind >= layout.size and not any(turned.content[:behind]):
        return
    places = [(f.phase - behind) % layout.size for f in _tried(turned, layout, capture) if f.near]
    others = fits(written, 0, layout, capture.little, [at for at in places if at], known(capture))
    if any(f.near for f in others):
        raise UsageError(
            "whether the buffer has wrapped is not known, and if it has, records may begin elsewhere: give "
            "-not-wrapped, or -wrapped (and -phase N where that is asked for)"
        )


def _phase(
    turned: _Stretch, layout: Layout, capture: Capture, phase: Optional[int]
) -> Tuple[int, _Stretch, str]:
    """Raises UsageError where it cannot be told."""
    if phase is not None:
        return phase, turned, "given"
    place, sure = found(_tried(turned, layout, capture), len(turned.content) // layout.size)
    return place, turned, sure


def _tried(turned: _Stretch, layout: Layout, capture: Capture) -> Tuple[Fit, ...]:
    given = turned.content, turned.at, layout, capture.little
    tried = fits(*given, turned.phases, known(capture))
    if len(tried) == 1 and tried[0].breaks > DOUBT * tried[0].steps:
        # there are gaps in the stream, of words
        return fits(*given, range(0, layout.size, 4), known(capture))
    return tried


def known(capture: Capture) -> Known:
    """How the counters move, as far as it is known how they are set."""
    set_up = {name: capture.counters[name] for name in COUNTERS if name in capture.counters}
    still = frozenset(name for name, counter in set_up.items() if counter.starts == NONE)
    pairs = overflow_counters(set_up, COUNTERS)
    return Known(still, {pair.low: pair.high for pair in pairs if not pair.missed})


# -- the bytes ---------------------------------------------------------------------------


def _offset(capture: Capture, layout: Layout, remarks: List[str]) -> Optional[int]:
    """The write pointer from the buffer's start on; None where it is not known, and then remarked."""
    if capture.pointer is None:
        end = _end_of_writing(capture)
        if end is not None:
            # a number is written whole, and its last bytes may be as the pattern is
            end += -end % functools.reduce(math.gcd, (size for _, size in layout.fields), BURST)
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


def _end_of_writing(capture: Capture) -> Optional[int]:
    """Where nothing but the fill pattern is left; None where less than a burst of it is."""
    end = len(capture.raw.rstrip(bytes([FILL])))
    return end if capture.filled is not False and len(capture.raw) - end >= BURST else None


def _wrapped(capture: Capture, remarks: List[str]) -> Tuple[Optional[bool], str, bool]:
    """What is known best, by what, and whether it is sure: a user's word, a flag of the unit's, what is left
    of the fill pattern, the mode."""
    if capture.how == GIVEN:
        return capture.wrapped, "-wrapped" if capture.wrapped else "-not-wrapped", True
    seen = _seen(capture)
    if capture.wrapped is not None:
        if seen not in (None, capture.wrapped):
            remarks.append(
                "%s, but %s the fill pattern is left behind the write pointer"
                % (capture.how, "nothing of" if seen else "all of")
            )
        sure = capture.wrapped or seen is False or capture.mode == SINGLE
        return capture.wrapped, capture.how.partition(" ")[0], sure
    if seen is not None:
        return seen, "the fill pattern", True
    return (False, "", True) if capture.mode == SINGLE else (None, "", False)


GIVEN = "given"
"""Of Capture.how: the user has said it."""


def _seen(capture: Capture) -> Optional[bool]:
    """Whether it has wrapped, by what is left of the fill pattern; None where that does not tell."""
    pointer = capture.pointer
    if capture.filled is False:
        return None
    if pointer is None:
        return False if _end_of_writing(capture) is not None else None
    behind = capture.raw[max(0, pointer - capture.start) :]
    if len(behind) < BURST or not capture.start <= pointer <= capture.start + len(capture.raw):
        return None
    if behind == bytes([FILL]) * len(behind):
        return False
    return True if capture.filled and bytes([FILL]) * BURST not in behind else None


def _turned(capture: Capture, offset: int, layout: Layout, by: str) -> _Stretch:
    raw = capture.raw
    parts = Buffer(0, len(raw), offset, True).parts()
    if _seen(capture) is False:  # whatever a flag says: there are no records behind the pointer
        parts = ((0, offset),)
    content = b"".join(raw[at : at + size] for at, size in parts)
    at = parts[0][0] if parts else 0
    return _Stretch(content, at, candidates(at, len(raw), layout.size), True, by)


# -- doubts ------------------------------------------------------------------------------


def _written(content: bytes, layout: Layout, capture: Capture, remarks: List[str]) -> Records:
    """The records, but those that are nothing but the fill pattern."""
    empty, size = bytes([FILL]) * layout.size, layout.size
    if size < 8 or empty not in content or capture.filled is False:
        return unpack(content, layout, capture.little)
    rows = [content[at : at + size] for at in range(0, len(content) - size + 1, size)]
    kept = [row for row in rows if row != empty]
    if len(kept) < len(rows):
        number = len(rows) - len(kept)
        remarks.append(
            "%s only the fill pattern, so %s not written: left out"
            % (plural(number, "record holds", "records hold"), "was" if number == 1 else "were")
        )
    return unpack(b"".join(kept), layout, capture.little)


def _doubts(records: Records, content: bytes, capture: Capture, kind: str, remarks: List[str]) -> float:
    """Where they do not look like records, and whether they would in the other byte order. The part of the
    steps in which they do not."""
    layout, how = records.layout, known(capture)
    if kind == DIRECT or records.number < 2:
        return 0.0
    here = fit(records, how)
    if here.breaks <= DOUBT * here.steps:
        return here.share if here.steps else 0.0
    remarks.append(
        "in %s of %s steps an ID or a counter does what none does: garbled, or another layout, byte order or "
        "phase (-layout, -byte-order, -phase)" % (count(here.breaks), count(here.steps))
    )
    other = fit(unpack(content[: LOOKED_AT * layout.size], layout, not capture.little), how)
    if other.share < 0.5 * here.share:
        remarks.append(
            "the other byte order fits better: -byte-order %s" % ("big" if capture.little else "little")
        )
    return here.share
