"""Trace blocks as the recorder writes them, and what the tracer makes of them."""

from __future__ import annotations

import struct
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from gdb_prof.trace import ring
from gdb_prof.trace.events import GIVE, IN, MARK, READY, TAKE, TICK, WAIT
from gdb_prof.trace.findings import find
from gdb_prof.trace.lanes import name_width, window
from gdb_prof.trace.report import View, report
from gdb_prof.trace.scheduler import timeline
from gdb_prof.trace.timeline import Timeline

Record = Tuple[int, int, int, int]
"""Stamp, event, task, argument."""

MS = 1000
"""Counts a millisecond of the clock that these tests have, where they say no other."""

H, M, L, X = 3, 2, 1, 4
"""Tasks by number; H, M and L have that priority, too."""

NAMES = {H: "H", M: "M", L: "L", X: "X"}

IN_ORDER: List[Record] = [
    *[(0, IN, L, 1), (100, TAKE, L, 7), (500, TICK, L, 1), (1_000, READY, H, 3), (1_010, IN, H, 3)],
    *[(1_020, WAIT, H, 7), (1_030, IN, L, 1), (1_500, TICK, L, 2), (2_000, GIVE, L, 7)],
    *[(2_010, READY, H, 3), (2_020, IN, H, 3), (2_030, TAKE, H, 7), (2_500, TICK, H, 3), (2_600, MARK, H, 1)],
]
"""A small trace: L takes, H waits, L gives, H takes."""


def block(
    written: Sequence[Record],
    n: Optional[int] = None,
    head: Optional[int] = None,
    on: int = 0,
    names: Optional[Dict[int, Any]] = None,
    layout: Tuple[int, int] = (12, 8),
) -> bytes:
    """All records ever written, the oldest first, each at the place that the recorder gives it."""
    if n is None:
        n = 1
        while n < len(written) + 1:
            n *= 2
    places = [bytes(8)] * n
    for i, (stamp, code, task, argument) in enumerate(written):
        places[i % n] = struct.pack("<IBBH", stamp & 0xFFFFFFFF, code, task, argument & 0xFFFF)
    head = len(written) if head is None else head
    return struct.pack("<4I", ring.MAGIC, head, n, on) + table(names, layout) + b"".join(places)


def table(names: Optional[Dict[int, Any]], layout: Tuple[int, int]) -> bytes:
    """The names in the block: `count` of them, each of `length` bytes."""
    count, length = layout
    rows: List[bytes] = [bytes(length)] * count
    for number, name in (NAMES if names is None else names).items():
        raw = name if isinstance(name, bytes) else name.encode()
        rows[number] = raw[:length].ljust(length, b"\0")
    return b"".join(rows)


def ticks(first: int, last: int, task: int, every: int = MS) -> List[Record]:
    """Tick records number `first` to `last`, at their times, while `task` runs."""
    return [(number * every, TICK, task, number) for number in range(first, last + 1)]


def merged(*parts: Iterable[Record]) -> List[Record]:
    """In the order of time; of one time, in the order given."""
    return sorted((record for part in parts for record in part), key=lambda record: record[0])


def facts(*records: Record, n: Optional[int] = None, names: Any = None, **context: Any) -> Timeline:
    """The timeline of these records, with a clock of 1 MHz unless the context says otherwise."""
    context.setdefault("clock_hz", 1e6)
    return timeline(ring.parse(block(records, n=n, names=names), ring.Context(**context), (12, 8)))


def named(traced: Timeline, label: str) -> int:
    """The index of a task."""
    return [task.label for task in traced.tasks].index(label)


def runs(traced: Timeline) -> List[Tuple[str, int, int]]:
    """Who, from, to."""
    return [(traced.tasks[run.task].label, run.start, run.end) for run in traced.runs]


def ready(traced: Timeline) -> List[Tuple[str, int, int]]:
    """Who was ready and did not run, from, to."""
    return [(traced.tasks[one.task].label, one.start, one.end) for one in traced.ready]


def findings(traced: Timeline) -> List[Tuple[str, str]]:
    """The kind of each finding, and whose it is."""
    return [(one.kind, traced.tasks[one.task].label if one.task >= 0 else "") for one in find(traced)]


def view(traced: Timeline, width: int = 80) -> View:
    """All of it, as `rtos-trace diag` shows it on a console of that width."""
    cells = max(20, width - name_width(traced) - 5)
    everything = window(traced, None, None, None, cells)
    return View(width, float("-inf"), float("inf"), everything)


def text(traced: Timeline, width: int = 80) -> str:
    return report(traced, find(traced), view(traced, width))
