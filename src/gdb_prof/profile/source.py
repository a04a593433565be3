"""Where samples come from, and what each way of taking them knows about its own losses."""

from __future__ import annotations

import dataclasses
from typing import Optional

TIMER, SWO, PCSR, HALT = "timer", "swo", "pcsr", "halt"
KINDS = (TIMER, SWO, PCSR, HALT)


@dataclasses.dataclass(frozen=True)
class Source:
    """How the samples came to be. None is not known.

    `kind`: TIMER, the firmware's interrupt; SWO, the core's own PC samples in a trace stream; PCSR, the
    debugger reading DWT_PCSR; HALT, the debugger stopping the program.
    PCSR, HALT: `rate_hz`, samples a second of the host's time.
    HALT: `stopped`, the part of the time for which the program stood; `spread`, the standard
    deviation of the times that it ran between two samples, as a part of their mean.
    SWO: `overflows`, how often the trace's queue was full; `unbounded`, how many of them have no local
    timestamp on both sides; `lost`, the samples estimated to be missing by the others; `timestamps`,
    whether there are any; `damaged`, the part of the stream's bytes that are no packet;
    `synchronised`, whether a synchronisation packet was ever seen.
    """

    kind: str = TIMER
    rate_hz: Optional[float] = None
    stopped: Optional[float] = None
    spread: Optional[float] = None
    overflows: int = 0
    lost: Optional[int] = None
    unbounded: int = 0
    timestamps: Optional[bool] = None
    damaged: float = 0.0
    synchronised: bool = True


PROHIBITED = "sampling prohibited"
"""The core may not be sampled where it runs: secure code, for one."""
UNAVAILABLE = "asleep or unavailable"
"""DWT_PCSR reads as all ones: the core sleeps, is halted, or may not be sampled."""
