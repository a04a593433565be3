"""Two sources of samples that disagree about one program: which known bias fits.

A bias explains a row only as far as it can move time: in its direction, for its rows, and by no more
than its bound and what chance adds. Findings that only say how sure a share is explain nothing:
what is larger than chance was judged with them.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Callable, Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

from gdb_prof.profile.diff.chance import ERROR, Counts, p_value
from gdb_prof.profile.diff.difference import Change, Difference, Side
from gdb_prof.profile.finding import Finding
from gdb_prof.profile.interval import half_width
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.shares import ASLEEP, FULL_BIN, NO_BIN, OUTSIDE, UNREADABLE
from gdb_prof.profile.source import HALT, PCSR, TIMER, UNAVAILABLE

_OF_ANY_SIZE = (
    *("emulator", "block edges"),  # counts blocks, not time
    *("tick-synchronous", "evenly spaced", "no jitter"),  # may be in step, which its samples do not show
    *("resets", "all equal", "other code"),  # the program, or its names, are not those of the other source
)
_OF_THEIR_SIZE = ("halted", "lost samples", "lost ticks", "damaged stream")
"""Any row either way, by at most the part of the time, or of the samples, that is concerned."""
_INTO = {
    "wrong stack": (OUTSIDE, UNREADABLE),
    "outside code": (OUTSIDE, UNREADABLE),
    "full bins": (FULL_BIN,),
    "no bin": (NO_BIN,),
}
"""Time that these classes have and the rows that it belongs to have not."""
_MASKED = ("masked interrupts", "hidden handler")
_SLEEP = frozenset("(%s)" % name for name in (ASLEEP, UNAVAILABLE))
_LEFT = 0.5
"""A row that sleep displaced differs among the samples that are awake by at most this part of what it did."""


@dataclasses.dataclass(frozen=True)
class Reason:
    """`rows`: the names of those that it explains; `why`: the bias, and whose it is."""

    rows: Tuple[str, ...]
    why: str


def label(side: Side) -> str:
    """`timer`, `swo`, `pcsr`, `halt`."""
    return side.profile.source.kind


def reasons(found: Difference) -> List[Reason]:
    """For each bias the rows that differ by more than chance and that it explains; a row
    may have several. Rows that none explains come last."""
    differing = [change for change in found.changes if change.certain]
    told: List[Reason] = []
    explained: Set[str] = set()
    for side, sign in ((found.before, -1), (found.after, 1)):
        for why, fits in _biases(found, side, sign):
            rows = tuple(
                change.name
                for change in differing
                if any(fit.explains(change, sign * change.points, _chance(found, change)) for fit in fits)
            )
            if rows:
                told.append(Reason(rows, "%s: %s" % (label(side), why)))
                explained.update(rows)
    rest = tuple(change.name for change in differing if change.name not in explained)
    if rest:
        told.append(
            Reason(rest, "no known bias of these sources fits: was the program doing the same in both?")
        )
    return told


@dataclasses.dataclass(frozen=True)
class _Fit:
    """Which rows a bias of a side explains: those of these names, or the `others`, where the side has more
    of them (`more`), less, or either; by at most so many points."""

    names: FrozenSet[str] = frozenset()
    more: Optional[bool] = None
    most: float = 100.0
    others: bool = False

    def explains(self, change: Change, points: float, chance: float) -> bool:
        """`points`: by how much this side has more; `chance`: how many of them chance may add."""
        if (change.name in self.names) == self.others:
            return False
        return abs(points) <= self.most + chance and (self.more is None or self.more == (points > 0))


_ANY_ROW = _Fit(others=True)
_Bias = Tuple[str, Tuple[_Fit, ...]]


def _chance(found: Difference, change: Change) -> float:
    """In points, as 95 of 100 differences have it."""
    sides = ((found.before, change.before), (found.after, change.after))
    return 100 * math.hypot(*(half_width(n / side.total, side.worth(side.total)) for side, n in sides))


def _biases(found: Difference, side: Side, sign: int) -> Iterable[_Bias]:
    """The side's own findings, as far as they move time from one row to another, and what its way of
    sampling does to sleep. `sign`: of a change that is more on this side."""
    for finding in side.verdict.findings:
        fits = _moved(found, side, sign, finding)
        if fits:
            yield finding.summary, fits
    yield from _waits(side)
    yield from _sleeps(found, side, sign)


def _moved(found: Difference, side: Side, sign: int, finding: Finding) -> Tuple[_Fit, ...]:
    """None where a finding moves no time."""
    kind, most = finding.kind, 100 * finding.size
    if kind in _OF_ANY_SIZE:
        return (_ANY_ROW,)
    if kind in _OF_THEIR_SIZE:
        unknown = kind == "lost samples" and _loss_is_unknown(side)
        return (_ANY_ROW if unknown else dataclasses.replace(_ANY_ROW, most=most),)
    if kind in _MASKED:
        return (_Fit(_rows_at(side, finding.addresses.__contains__), more=True, most=most),)
    if kind in _INTO:
        classes = frozenset("(%s)" % name for name in _INTO[kind])
        return _Fit(classes, True, most), _Fit(classes, False, most, others=True)
    if kind == "bins across functions":
        divided = frozenset(row.name for row in side.verdict.table.rows if row.divided)
        return (_Fit(divided, most=most),)
    return _hidden(found, side, sign) if kind == "hidden handlers" else ()


def _loss_is_unknown(side: Side) -> bool:
    source = side.profile.source
    return source.lost is None or bool(source.unbounded)


def _rows_at(side: Side, is_meant: Callable[[int], bool]) -> FrozenSet[str]:
    """The rows that have samples at such addresses; of a histogram those whose function is there."""
    table = side.verdict.table
    if table.order is None:
        return frozenset(
            r.name for r in table.rows if r.function is not None and is_meant(r.function.address)
        )
    pairs = set(zip(table.order.pcs, table.order.rows))
    return frozenset(table.rows[number].name for pc, number in pairs if number >= 0 and is_meant(pc))


def _waits(side: Side) -> Iterable[_Bias]:
    """What is masked loses what the rows after it have too much of."""
    masked = [finding for finding in side.verdict.findings if finding.kind in _MASKED]
    addresses = frozenset(address for finding in masked for address in finding.addresses)
    piled = _rows_at(side, addresses.__contains__)
    if piled:
        most = sum(100 * finding.size for finding in masked)
        why = "its interrupt waits while interrupts are masked; that time is at %s" % ", ".join(sorted(piled))
        yield why, (_Fit(piled, False, most, others=True),)


def _hidden(found: Difference, side: Side, sign: int) -> Tuple[_Fit, ...]:
    """The handlers and what they call have less, as much as it may be; what runs after them has that more."""
    handlers = _with_called(
        side.build, [handler.address for handler in side.profile.circumstances.hidden or ()]
    )

    def is_theirs(pc: int) -> bool:
        function = side.build.functions.at(pc)
        return function is not None and function.address in handlers

    names = _rows_at(found.before, is_theirs) | _rows_at(found.after, is_theirs)
    missing = sum(max(0.0, -sign * change.points) for change in found.changes if change.name in names)
    return _Fit(names, more=False), _Fit(names, True, missing, others=True)


def _with_called(build: Build, addresses: Sequence[int]) -> Set[int]:
    """Where these functions begin and those that they branch to, directly or by others."""
    waiting, seen = list(addresses), set()
    while waiting:
        function = build.functions.at(waiting.pop() & ~1)
        if function is not None and function.address not in seen:
            seen.add(function.address)
            code = build.code.function(function.address)
            waiting += [instruction.target for instruction in code if instruction.target is not None]
    return seen


# -- sleep -------------------------------------------------------------------------------

_WAKES: Dict[str, Tuple[str, Optional[bool]]] = {
    TIMER: ("its interrupt wakes a core that sleeps, so that it sleeps less", False),
    PCSR: ("DWT_PCSR reads 0xffffffff while the core sleeps, is halted, or may not be sampled", None),
    HALT: ("a halt wakes a core that sleeps: it is found at the instruction after the wfi", None),
}
"""For each kind of source what it does to sleep, and whether there is more or less of it then."""


def _sleeps(found: Difference, side: Side, sign: int) -> Iterable[_Bias]:
    """The rows of sleep, and those that have the time of which there is more or less sleep."""
    if side.profile.source.kind not in _WAKES:
        return
    why, more = _WAKES[side.profile.source.kind]
    yield why, (_Fit(_SLEEP, more), *_displaced(found, sign, more))


def _displaced(found: Difference, sign: int, more: Optional[bool]) -> Tuple[_Fit, ...]:
    """The rows whose difference is that of sleep: among the samples that are awake it vanishes."""
    asleep = [c for c in found.changes if c.name in _SLEEP]
    points = sign * sum(change.points for change in asleep)
    slept = sum(change.before for change in asleep), sum(change.after for change in asleep)
    totals = found.before.total, found.after.total
    awake = totals[0] - slept[0], totals[1] - slept[1]
    if _by_chance(found, slept, totals) or not all(awake) or more not in (None, points > 0):
        return ()
    names = frozenset(
        change.name
        for change in found.changes
        if change.name not in _SLEEP
        and abs(change.after / awake[1] - change.before / awake[0]) <= _LEFT * abs(change.points) / 100
        and _by_chance(found, (change.before, change.after), awake)
    )
    return (_Fit(names, points < 0),)


def _by_chance(found: Difference, samples: Tuple[int, int], of: Tuple[int, int]) -> bool:
    before, after = found.before.worth, found.after.worth
    counts = Counts(before(samples[0]), before(of[0]), after(samples[1]), after(of[1]))
    return p_value(counts) > ERROR
