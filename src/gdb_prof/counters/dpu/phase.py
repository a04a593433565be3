"""Where the first whole record begins in a buffer that has gone round.

28 bytes divide few sizes, so the oldest record is cut by the write pointer. Every byte of the stream so far
would tell where, but only their number modulo the size is known: the pointer. What is left is to see at which
offsets the bytes look like records: IDs that come again, or at least are no counter's values, and counters
that count down. One that fits all the way, and no other, is taken; else the user has to say.
Where there is but one task, read askew a counter's values may stand for its ID. A counter that is set anew
goes up once, which does not fit, while IDs may go up: so IDs that seldom do are taken for such a counter's,
and then a place where little does not fit may be the right one.
"""

from __future__ import annotations

import dataclasses
from typing import List, Sequence, Tuple

from gdb_prof.counters.dpu.padding import Known, breaks, without
from gdb_prof.counters.dpu.reading import MOST
from gdb_prof.counters.dpu.records import Layout, Records, unpack
from gdb_prof.errors import UsageError

LOOKED_AT = 4096
"""Records; of more, the oldest."""
LEAST = 4
_SHORT = 64
"""In so many records no task need come again."""
_SOME = 8
"""Of fewer records the IDs may go down by chance."""
_FEW, _MANY = 0.02, 0.1
_SELDOM = 0.34
"""Of the changes of a counter that is set anew now and then, those up; of IDs in any order it is half."""
_OFTEN, _MOSTLY = 0.2, 0.6
"""Of the steps of records, those before which a counter may have been set anew; and where all have one ID."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """`breaks`: of `steps` from one record to the next, how many are none that records make; where IDs are
    none, all of them. `removed`: bytes of zeros that were taken out for it. `doubtful`: the IDs are
    as the values of a counter that is set anew now and then, and `scattered`, if they do not come again, too.
    `one`: all have the same."""

    phase: int
    steps: int
    breaks: int
    removed: int = 0
    doubtful: bool = False
    scattered: bool = False
    one: bool = False

    @property
    def share(self) -> float:
        return self.breaks / self.steps if self.steps else 1.0

    @property
    def near(self) -> bool:
        """Whether counters that are set anew now and then would explain the breaks."""
        return self.breaks <= max(1, _OFTEN * self.steps)

    @property
    def possible(self) -> bool:
        """Whether they would, of one task even very often."""
        return self.near or (self.one and self.breaks <= _MOSTLY * self.steps)


def candidates(offset: int, size: int, record: int) -> List[int]:
    """In bytes behind the oldest: where a record may begin, after 1, 2, 3… rounds of `size` bytes with the
    write pointer at `offset`. Records are written without gaps from the buffer's start on."""
    return sorted({-(offset + rounds * size) % record for rounds in range(record)})


def fit(records: Records, known: Known, phase: int = 0, choosing: bool = False) -> Fit:
    """`choosing`: whether IDs might be a counter's values, of records read askew."""
    steps = max(0, records.number - 1)
    if not (records.layout.counters or "task" in records.columns):
        return Fit(phase, 0, 0)
    ids = records.columns.get("task", ())
    often = 2 * len(set(ids)) <= len(ids)
    counting = choosing and _counts(records)
    if not often and len(ids) > _SHORT:
        return Fit(phase, steps, steps)
    scattered = counting and not often and len(ids) >= _SOME
    return Fit(
        *(phase, steps, len(breaks(records, known))),
        doubtful=counting,
        scattered=scattered,
        one=len(set(ids)) == 1,
    )


def _counts(records: Records) -> bool:
    """Whether the IDs, if any, stand or go down, and seldom up, as what a counter holds that is set anew now
    and then."""
    if "task" not in records.columns:
        return True
    ids, modulus = records.values("task"), records.layout.modulus("task")
    moves = [(a - b) % modulus > modulus // 2 for a, b in zip(ids, ids[1:]) if a != b]
    return not any(task > MOST for task in ids) and sum(moves) <= max(1, _SELDOM * len(moves))


def fits(
    content: bytes, at: int, layout: Layout, little: bool, phases: Sequence[int], known: Known
) -> Tuple[Fit, ...]:
    """`at`: where in the buffer the content begins."""
    end = LOOKED_AT * layout.size
    found = []
    for phase in phases:
        part, removed, _ = without(content[phase : phase + end], at + phase, layout, little, known)
        fitting = fit(unpack(part, layout, little), known, phase, len(phases) > 1)
        found.append(dataclasses.replace(fitting, removed=removed))
    return tuple(found)


def _stands_out(best: Fit, fits: Sequence[Fit]) -> bool:
    """Where its IDs may be a counter's, only if no other place may be right; where they are but one, one at
    which they are scattered is not."""
    others = (f for f in fits if f is not best and not (best.one and f.scattered))
    return not best.doubtful or not any(f.possible for f in others)


def found(fits: Sequence[Fit], records: int) -> Tuple[int, str]:
    """The one that fits, and how sure that is. `records`: how many whole ones there are. Raises UsageError
    where not just one fits, or there is too little to look at."""
    if len(fits) == 1:
        return fits[0].phase, ""
    whole = [f for f in fits if not f.breaks]
    # the last record's zeros may pass for a pause's: better is what needs none taken out
    whole = [f for f in whole if not f.removed] or whole
    whole = [f for f in whole if not f.scattered] or whole
    good = [f for f in fits if f.share <= _FEW and not f.scattered]
    rest = [f for f in fits if _FEW < f.share < _MANY]
    few = records < LEAST
    if not few and len(whole) == 1 and _stands_out(whole[0], fits):
        return whole[0].phase, "found: of %d places only this fits in every step" % len(fits)
    if not few and not whole and len(good) == 1 and not rest and _stands_out(good[0], fits):
        return good[0].phase, (
            "found: of %d places this fits in all but %d of %d steps, the others in far fewer"
            % (len(fits), good[0].breaks, good[0].steps)
        )
    near = [f for f in fits if f.near]
    can = [f.phase for f in (fits if few else whole if len(whole) > 1 else near or fits)]
    which = ", ".join(str(p) for p in can)
    reason = (
        "%d records are too few to tell" % records
        if few
        else "%s fit" % which
        if len(whole) > 1
        else "%s may be right" % which
        if near
        else "none of %s fits" % which
    )
    raise UsageError(
        "where the first whole record begins cannot be told: %s: give -phase N, its offset in bytes behind "
        "the oldest (of %s), or -layout, -byte-order" % (reason, which)
    )
