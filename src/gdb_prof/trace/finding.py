"""A conclusion with its evidence and size."""

from __future__ import annotations

import dataclasses

INVERSION, STARVATION, JITTER, IDLE = "inversion", "starvation", "jitter", "idle"
NEVER_BLOCKS, SHORT, OVERFLOW = "never-blocks", "ring", "overflow"
TIME_BASE, LOST, DEADLOCK = "time-base", "lost", "deadlock"


@dataclasses.dataclass(frozen=True)
class Finding:
    """`size` in counts: the time stolen, starved, late…; `task` an index, -1 where there is
    none. `text`: one or more sentences; the first begins with what it is."""

    kind: str
    task: int
    start: int
    end: int
    size: float
    text: str
