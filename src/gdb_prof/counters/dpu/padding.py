"""Bytes without what a pause may have put between records.

A pause flushes a burst that is not full. Nobody says whether the unit then writes what there is, or a whole
burst: in the second case zeros stand between a record and the next burst's boundary, and all that follows
would be read askew. Such zeros are taken out only where what follows them looks like records then, and not
before: a task whose ID is 0, and a counter that is set anew, look the same at first.
"""

from __future__ import annotations

import dataclasses
from typing import FrozenSet, List, Mapping, Set, Tuple

from gdb_prof.counters.dpu.reading import MOST, WIDTH
from gdb_prof.counters.dpu.records import BURST, Layout, Records, unpack

_MOST = 256
_AT_ONCE = 512
"""Records."""
_ENOUGH = 4
"""Records that must fit behind it, or as many as there are."""
_BEHIND = 16
"""Records in which it must show that those behind do not fit as they stand."""


@dataclasses.dataclass(frozen=True)
class Known:
    """How counters move: those in `still` not at all; those in `counted` by more than 31 bits, since another
    counter, the value there, counts their overflows."""

    still: FrozenSet[str] = frozenset()
    counted: Mapping[str, str] = dataclasses.field(default_factory=dict)


def breaks(records: Records, known: Known) -> List[int]:
    """The records before which a counter does what none does: goes up, moves though it stands still, or has
    more than its bits."""
    found: Set[int] = set()
    for name in records.layout.counters:
        values, modulus = records.values(name), records.layout.modulus(name)
        if known.counted.get(name) in records.columns and modulus == WIDTH.modulus:
            wraps = records.values(known.counted[name])
            # one that has come to 0 counts no more
            found.update(
                at
                for at, (a, b, c, d) in enumerate(zip(values, values[1:], wraps, wraps[1:]), 1)
                if (c == d != 0 and a < b) or b > MOST
            )
        elif name in known.still:
            found.update(at for at, (a, b) in enumerate(zip(values, values[1:]), 1) if a != b)
        elif modulus == WIDTH.modulus:  # few bits go round in any step
            # so far down in one step is rather a step up, or another field
            found.update(
                at
                for at, (a, b) in enumerate(zip(values, values[1:]), 1)
                if (a - b) % modulus > modulus // 2 or b > MOST
            )
    return sorted(found)


def without(content: bytes, place: int, layout: Layout, little: bool, known: Known) -> Tuple[bytes, int, int]:
    """`content` begins with a record, `place` bytes behind a burst's boundary. The bytes without zeros
    between records, how many there were, and in how many places they may as well be a record's, and are
    left."""
    kept: List[bytes] = []
    seen: Set[int] = set()
    size, begin, at, doubts = layout.size, 0, 0, 0
    while at + 2 * size <= len(content) and len(kept) < _MOST:
        found, zeros, doubtful = _padded(content, at, place, layout, little, known, seen)
        doubts += doubtful
        if zeros:
            kept.append(content[begin:found])
            begin = at = found + zeros
        else:
            at += (_AT_ONCE - 1) * size  # the last one is the next ones' first
    whole = b"".join([*kept, content[begin:]])
    return whole, len(content) - len(whole), doubts


def _padded(
    content: bytes, start: int, place: int, layout: Layout, little: bool, known: Known, seen: Set[int]
) -> Tuple[int, int, int]:
    """Among the records from `start` on, the first offset at which zeros are, and how many; none: 0, 0. And
    in how many places before they may be a record's. `seen`: IDs so far, and those up to there."""
    size, doubts = layout.size, 0
    records = unpack(content[start : start + _AT_ONCE * size], layout, little)
    ids = records.columns.get("task", ())
    for record in breaks(records, known):
        at = start + record * size
        zeros = -(place + at) % BURST
        if not zeros or any(content[at : at + zeros]):
            continue
        # with the record before, which has to lead on to them
        before, end = content[at - size : at], _BEHIND * size
        behind = unpack(before + content[at + zeros : at + zeros + end], layout, little)
        if behind.number < 2 or any(found <= _ENOUGH for found in breaks(behind, known)):
            continue
        seen.update(ids[:record])
        if _better(behind, unpack(before + content[at : at + end], layout, little), known, seen):
            return at, zeros, doubts
        doubts += 1
    seen.update(ids)
    return 0, 0, doubts


def _better(behind: Records, as_they_stand: Records, known: Known, seen: Set[int]) -> bool:
    """By IDs that have come before: more of them; half as many are enough where those that stand go on
    breaking."""
    here, there = (
        sum(task in seen for task in records.columns.get("task", ())) for records in (behind, as_they_stand)
    )
    return 2 * here >= there if len(breaks(as_they_stand, known)) > 1 else here > there
