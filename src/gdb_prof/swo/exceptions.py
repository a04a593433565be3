"""Exception trace -> how often and how long each exception ran.

Packets tell of an exception's entry, its exit, and the return to what it interrupted (0 is a
thread). Any may be missing. What is left tells: whatever was interrupted is returned to before it
goes on, so that an exception to which nothing returned had ended when the next one was entered: not
how long before, so that it has no time. Overflow, and bytes that are no packet, end what is known.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, Iterable, List, Optional, Set, Tuple

from gdb_prof.swo.packets import SKIPPED, TRUNCATED, Error, ExceptionTrace, Overflow
from gdb_prof.swo.timeline import Event, events
from gdb_prof.swo.unframed import Tpiu

_ENDS = (SKIPPED, TRUNCATED)
"""What lies before and after the packets: no gap between them."""


@dataclasses.dataclass(frozen=True)
class Durations:
    """`count` times in ticks."""

    count: int = 0
    shortest: int = 0
    longest: int = 0
    total: int = 0

    @property
    def mean(self) -> Optional[float]:
        return self.total / self.count if self.count else None

    def with_one(self, ticks: int) -> "Durations":
        shortest = ticks if not self.count else min(self.shortest, ticks)
        return Durations(self.count + 1, shortest, max(self.longest, ticks), self.total + ticks)


@dataclasses.dataclass(frozen=True)
class ExceptionFacts:
    """An exception: entered `entered` times; `inclusive` ticks from entry to end, `exclusive` without
    those of what interrupted it; `cut` runs whose beginning is not in the stream, or neither exit nor
    return, or that a gap may have ended; `open` at the stream's end; `untimed` that ended where no
    timestamp tells the time."""

    number: int
    entered: int = 0
    inclusive: Durations = Durations()
    exclusive: Durations = Durations()
    cut: int = 0
    open: int = 0
    untimed: int = 0


@dataclasses.dataclass(frozen=True)
class Facts:
    """`rows` by exception number; `packets` of exception trace; `gaps` within which any may have been
    lost; `span` ticks to the last timestamp, None without timestamps; `late` packets whose timestamp
    says that it or they came late; `deepest` nesting."""

    rows: Tuple[ExceptionFacts, ...]
    packets: int
    gaps: int
    span: Optional[int]
    late: int
    deepest: int


def read(chunks: Iterable[bytes], sync: bool = False, tpiu: Tpiu = None) -> Facts:
    """Raises FileError as `unframed.Unframed`."""
    return facts(events(chunks, sync, tpiu))


def facts(timeline: Iterable[Event]) -> Facts:
    nesting = _Nesting()
    packets = gaps = late = 0
    span: Optional[int] = None
    in_gap = False
    for event in timeline:
        if event.time is not None:
            span = event.time
        found = event.packet
        if isinstance(found, ExceptionTrace):
            packets += 1
            late += event.relation != 0
            nesting.take(found, event.time)
            in_gap = False
        elif isinstance(found, Overflow) or (isinstance(found, Error) and found.kind not in _ENDS):
            gaps += not in_gap
            in_gap = True
            nesting.gap()
    return Facts(nesting.finish(), packets, gaps, span, late, nesting.deepest)


@dataclasses.dataclass
class _Active:
    """An exception that was entered. `interrupted_at`: when the first one came over it to which
    nothing has returned yet; if nothing ever does, it had ended by then."""

    number: int
    entered: Optional[int]
    known: bool = True  # its entry was seen
    nested: Optional[int] = 0
    interrupted: bool = False
    interrupted_at: Optional[int] = None


class _Nesting:
    def __init__(self) -> None:
        self._rows: Dict[int, ExceptionFacts] = {}
        self._stack: List[_Active] = []
        self._lost: Set[int] = set()  # cut by the last gap, and not entered again
        self.deepest = 0

    def take(self, found: ExceptionTrace, now: Optional[int]) -> None:
        if found.action == "enter":
            self._enter(found.number, now)
        elif found.action == "exit":
            self._exit(found.number, now)
        else:
            self._return(found.number, now)

    def gap(self) -> None:
        for active in self._stack:
            self._cut(active.number)
        self._stack = []

    def finish(self) -> Tuple[ExceptionFacts, ...]:
        for active in self._stack:
            self._add(active.number, open=1)
        self._stack = []
        return tuple(self._rows[number] for number in sorted(self._rows))

    def _enter(self, number: int, now: Optional[int]) -> None:
        at = self._place(number)
        if at is not None:  # it cannot interrupt itself: it had ended
            self._cut_one(self._stack.pop(at))
        if self._stack and not self._stack[-1].interrupted:
            self._stack[-1].interrupted, self._stack[-1].interrupted_at = True, now
        self._add(number, entered=1)
        self._lost.discard(number)
        self._stack.append(_Active(number, now))
        self.deepest = max(self.deepest, len(self._stack))

    def _exit(self, number: int, now: Optional[int]) -> None:
        at = self._place(number)
        if at is None:
            self._cut(number)  # its entry is not there
            self._lost.discard(number)
            return
        for above in self._stack[at + 1 :]:  # their exits are not there
            self._cut_one(above)
        active = self._stack[at]
        del self._stack[at:]
        if active.interrupted:  # nothing returned to it, though it ran: how long it did not is unknown
            active.nested = None
        self._end(active, now)

    def _return(self, number: int, now: Optional[int]) -> None:
        at = self._place(number)
        first = 0 if at is None else at + 1
        for above in reversed(self._stack[first:]):
            if above.interrupted:  # neither its exit nor the return from it is there
                self._cut_one(above)
            else:
                self._end(above, now)
        del self._stack[first:]
        if number == 0:
            return
        if at is None:  # it was entered before what is known
            self._stack.append(_Active(number, None, known=False))
            return
        active = self._stack[at]
        if active.interrupted:
            if active.nested is not None:
                nested = _between(active.interrupted_at, now)
                active.nested = None if nested is None else active.nested + nested
            active.interrupted, active.interrupted_at = False, None

    def _place(self, number: int) -> Optional[int]:
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at].number == number:
                return at
        return None

    def _end(self, active: _Active, now: Optional[int]) -> None:
        ticks = _between(active.entered, now)
        if not active.known:
            self._cut_one(active)
        elif ticks is None:
            self._add(active.number, untimed=1)
        else:
            row = self._rows[active.number]
            exclusive = row.exclusive
            if active.nested is not None:
                exclusive = exclusive.with_one(ticks - active.nested)
            self._rows[active.number] = dataclasses.replace(
                row, inclusive=row.inclusive.with_one(ticks), exclusive=exclusive
            )

    def _cut_one(self, active: _Active) -> None:
        """A run that is known to have ended."""
        self._cut(active.number)
        self._lost.discard(active.number)

    def _cut(self, number: int) -> None:
        """Counted once, though a gap may hide its middle and another its end."""
        if number not in self._lost:
            self._add(number, cut=1)
        self._lost.add(number)

    def _add(self, number: int, **more: int) -> None:
        row = self._rows.get(number) or ExceptionFacts(number)
        new = {name: getattr(row, name) + n for name, n in more.items()}
        self._rows[number] = dataclasses.replace(row, **new)


def _between(start: Optional[int], end: Optional[int]) -> Optional[int]:
    return None if start is None or end is None else end - start
