"""Two sources of samples that disagree about one program: which known bias fits."""

from __future__ import annotations

import dataclasses
from typing import Iterable, List, Optional, Set, Tuple

from gdb_prof.profile.diff.difference import Change, Difference, Side
from gdb_prof.profile.finding import Severity
from gdb_prof.profile.shares import ASLEEP
from gdb_prof.profile.source import HALT, PCSR, SWO, TIMER, UNAVAILABLE

_NAMES = {TIMER: "timer", SWO: "swo", PCSR: "pcsr", HALT: "halt"}


@dataclasses.dataclass(frozen=True)
class Reason:
    """`rows`: the names of those that it explains; `why`: the bias, and whose it is."""

    rows: Tuple[str, ...]
    why: str


def label(side: Side) -> str:
    """`timer`, `swo`, `pcsr`, `halt`."""
    return _NAMES.get(side.profile.source.kind, side.profile.source.kind)


def reasons(found: Difference) -> List[Reason]:
    """For each bias the rows that differ by more than chance and that it explains; a row
    may have several. Rows that none explains come last."""
    differing = [change for change in found.changes if change.certain]
    told: List[Reason] = []
    explained: Set[str] = set()
    for side, sign in ((found.before, -1), (found.after, 1)):
        for why, fits in _biases(side):
            rows = tuple(c.name for c in differing if fits.explains(c, sign * c.points))
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
class _Fits:
    """Which rows a bias of a side explains: those of these names (None: any), where the side has more of
    them (`more`), less, or either; `most`: by at most so many points."""

    names: Optional[Set[str]] = None
    more: Optional[bool] = None
    most: float = 100.0

    def explains(self, change: Change, points: float) -> bool:
        """`points`: by how much this side has more."""
        if self.names is not None and change.name not in self.names:
            return False
        return abs(points) <= self.most and (self.more is None or self.more == (points > 0))


def _biases(side: Side) -> Iterable[Tuple[str, _Fits]]:
    """The side's own findings, as far as they move time from one row to another."""
    table, marked = side.verdict.table, side.verdict.marked
    piled = {table.rows[number].name for number in marked}
    for finding in side.verdict.findings:
        if finding.severity == Severity.REMARK and finding.kind != "halted":
            continue
        if finding.kind in ("masked interrupts", "pended"):
            yield finding.summary, _Fits(piled, more=True)
            yield (
                "its interrupt waits while interrupts are masked; that time is at %s"
                % ", ".join(sorted(piled)),
                _Fits(more=False),
            )
        elif finding.kind == "hidden handlers":
            yield finding.summary, _Fits(more=False)
        elif finding.kind == "lost samples":
            yield finding.summary, _Fits(most=100 * finding.size)
        elif finding.kind == "halted":
            yield finding.summary, _Fits()
        else:
            yield finding.summary, _Fits()
    yield from _asleep(side)


def _asleep(side: Side) -> Iterable[Tuple[str, _Fits]]:
    names = {"(%s)" % name for name in (ASLEEP, UNAVAILABLE)}
    kind = side.profile.source.kind
    if kind == TIMER:
        yield "its interrupt wakes a core that sleeps, so that it sleeps less", _Fits(names, more=False)
    elif kind == PCSR:
        yield (
            "DWT_PCSR reads 0xffffffff while the core sleeps, is halted, or may not be sampled",
            _Fits(names),
        )
    elif kind == HALT:
        yield "a halt wakes a core that sleeps: it is found at the instruction after the wfi", _Fits(names)
