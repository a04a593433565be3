"""Bytes without what a pause may have put between records.

A pause flushes a burst that is not full. Nobody says whether the unit then writes what there is, or a whole
burst: in the second case zeros stand between a record and the next burst's boundary, and all that follows
would be read askew. Such zeros are taken out only where what follows them looks like records then, and not
before.
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
HALF = WIDTH.modulus // 2


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
        values = records.values(name)
        if known.counted.get(name) in records.columns:
            wraps = records.values(known.counted[name])
            found.update(
                at
                for at, (a, b, c, d) in enumerate(zip(values, values[1:], wraps, wraps[1:]), 1)
                if (c - d & MOST) * WIDTH.modulus + a - b < 0 or b > MOST
            )
        elif name in known.still:
            found.update(at for at, (a, b) in enumerate(zip(values, values[1:]), 1) if a != b)
        else:
            # so far down in one step is rather a step up, or another field
            found.update(
                at
                for at, (a, b) in enumerate(zip(values, values[1:]), 1)
                if (a - b & MOST) > HALF or b > MOST
            )
    return sorted(found)


def without(content: bytes, place: int, layout: Layout, little: bool, known: Known) -> Tuple[bytes, int]:
    """`content` begins with a record, `place` bytes behind a burst's boundary. The bytes without zeros
    between records, and how many there were."""
    kept: List[bytes] = []
    size, begin, at = layout.size, 0, 0
    while at + 2 * size <= len(content) and len(kept) < _MOST:
        found, zeros = _padded(content, at, place, layout, little, known)
        if zeros:
            kept.append(content[begin:found])
            begin = at = found + zeros
        else:
            at += (_AT_ONCE - 1) * size  # the last one is the next ones' first
    whole = b"".join([*kept, content[begin:]])
    return whole, len(content) - len(whole)


def _padded(
    content: bytes, start: int, place: int, layout: Layout, little: bool, known: Known
) -> Tuple[int, int]:
    """Among the records from `start` on, the first offset at which zeros are, and how many; none: 0, 0."""
    size = layout.size
    for record in breaks(unpack(content[start : start + _AT_ONCE * size], layout, little), known):
        at = start + record * size
        zeros = -(place + at) % BURST
        if not zeros or any(content[at : at + zeros]):
            continue
        # with the record before, which has to lead on to them
        tried = content[at - size : at] + content[at + zeros : at + zeros + _ENOUGH * size]
        behind = unpack(tried, layout, little)
        if behind.number >= 2 and not breaks(behind, known):
            return at, zeros
    return 0, 0
