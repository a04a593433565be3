"""Exception trace -> how often and how long each exception ran.

Packets tell of an exception's entry, its exit, and the return to what it interrupted (0 is a
thread). Any may be missing. What is left tells: whatever was interrupted is returned to before it
goes on, so that an exception to which nothing returned had ended when the next one was entered.
Overflow, and bytes that are no packet, end what is known.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from gdb_prof.swo.packets import SKIPPED, TRUNCATED, Error, ExceptionTrace, Overflow
from gdb_prof.swo.timeline import Event, events
from gdb_prof.swo.unframed import Tpiu
from gdb_prof.wording import aligned, be, count, plural, wrapped

_NAMES = {
    0: "thread",
    1: "Reset",
    2: "NMI",
    3: "HardFault",
    4: "MemManage",
    5: "BusFault",
    6: "UsageFault",
    7: "SecureFault",
    11: "SVCall",
    12: "DebugMonitor",
    14: "PendSV",
    15: "SysTick",
}

_ENDS = (SKIPPED, TRUNCATED)
"""What lies before and after the packets: no gap between them."""


def name_of(number: int) -> str:
    if number >= 16:
        return "IRQ %d" % (number - 16)
    return _NAMES.get(number, "exception %d" % number)


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
    those of what interrupted it; `cut` runs whose end or beginning fell into a gap, `open` at the
    stream's end, `untimed` that ended where no timestamp tells the time."""

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
    nothing has returned yet; if nothing ever does, it had ended then."""

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
            self._end(self._stack.pop(at), now)
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
            self._cut(above.number)
            self._lost.discard(above.number)
        active = self._stack[at]
        del self._stack[at:]
        if active.interrupted:  # nothing returned to it, though it ran: how long it did not is unknown
            active.interrupted, active.nested = False, None
        self._end(active, now)

    def _return(self, number: int, now: Optional[int]) -> None:
        at = self._place(number)
        first = 0 if at is None else at + 1
        for above in reversed(self._stack[first:]):
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
        """`now` at the latest; where it was interrupted and not returned to, it ended then."""
        end = active.interrupted_at if active.interrupted else now
        ticks = _between(active.entered, end)
        if not active.known:
            self._cut(active.number)
            self._lost.discard(active.number)
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


def report(found: Facts, width: int = 80, clock_hz: Optional[int] = None) -> str:
    """The facts as a table, ending with a line end. `clock_hz`: of the local timestamps, for times
    in microseconds rather than ticks."""
    if not found.packets:
        return "no exception packets in the stream: prof start -source swo -exceptions\n"
    timed = any(row.inclusive.count for row in found.rows)
    rows, align = _timed(found, width, clock_hz) if timed else _counted(found)
    lines = wrapped(_sentence(found, timed), width, later="") + aligned(rows, align)
    return "\n".join(lines + _remarks(found, width)) + "\n"


def _sentence(found: Facts, timed: bool) -> str:
    what = plural(found.packets, "exception packet")
    if timed:
        return "%s; at most %d deep; local time spans %s" % (
            what,
            found.deepest,
            plural(found.span or 0, "tick"),
        )
    why = "no timestamps" if found.span is None else "no whole run between timestamps"
    return "%s; at most %d deep; %s: counts only" % (what, found.deepest, why)


def _counted(found: Facts) -> Tuple[List[List[str]], List[str]]:
    rows = [["exception", "entered"]]
    rows += [[name_of(row.number), count(row.entered)] for row in found.rows]
    return rows, ["left", "right"]


def _timed(found: Facts, width: int, clock_hz: Optional[int]) -> Tuple[List[List[str]], List[str]]:
    unit = "µs" if clock_hz else "ticks"
    whole = width >= 80
    head = ["exception", "entered", "timed", unit + ": min", "mean", "max", "own: mean"]
    rows = [head + (["min", "max"] if whole else [])]
    for row in found.rows:
        own = row.exclusive
        figures: List[Optional[float]] = [row.inclusive.shortest, row.inclusive.mean, row.inclusive.longest]
        if not row.inclusive.count:
            figures = [None] * 3
        figures += [own.mean] + ([own.shortest, own.longest] if whole and own.count else [])
        counts = [count(row.entered), count(row.inclusive.count)]
        rows.append([name_of(row.number)] + counts + _shown(figures, len(rows[0]) - 3, clock_hz))
    return rows, ["left"] + ["right"] * (len(rows[0]) - 1)


def _shown(figures: Sequence[Optional[float]], columns: int, clock_hz: Optional[int]) -> List[str]:
    scale = 1e6 / clock_hz if clock_hz else 1.0
    cells = ["" if f is None else "{:,.{}f}".format(f * scale, 2 if clock_hz else 0) for f in figures]
    return cells + [""] * (columns - len(cells))


def _remarks(found: Facts, width: int) -> List[str]:
    cut, left_open = sum(row.cut for row in found.rows), sum(row.open for row in found.rows)
    untimed = sum(row.untimed for row in found.rows)
    remarks = []
    if found.gaps:
        remarks.append("packets were lost at %s: entries there are not counted" % plural(found.gaps, "place"))
    if cut:
        remarks.append(
            "%s without beginning or end in the stream: no time for %s"
            % (plural(cut, "run"), "it" if cut == 1 else "them")
        )
    if left_open:
        remarks.append("%s still open at the stream's end" % _are(left_open))
    if untimed and any(row.inclusive.count for row in found.rows):
        remarks.append("%s without a timestamp" % plural(untimed, "run"))
    if found.late:
        remarks.append("%s late: times are that much less exact" % _were(found.late))
    return [line for remark in remarks for line in wrapped(remark, width, "! ")]


def _are(n: int) -> str:
    return "%s %s" % (plural(n, "run"), be(n))


def _were(n: int) -> str:
    return "%s or %s came" % (plural(n, "packet"), "its timestamp" if n == 1 else "their timestamps")
