"""Which of the PMU's event counters counts what: alone, 16 bits, or two of them as one of 32.

CHAIN, which an odd counter has, counts the overflows of the even one before it.
"""

from __future__ import annotations

import dataclasses
from typing import List, Optional, Sequence, Tuple

from gdb_prof.errors import UsageError
from gdb_prof.wording import be, plural


@dataclasses.dataclass(frozen=True)
class Place:
    """`high`: the odd counter that counts the overflows of `low`; None for 16 bits."""

    low: int
    high: Optional[int] = None

    @property
    def numbers(self) -> Tuple[int, ...]:
        return (self.low,) if self.high is None else (self.low, self.high)


def assign(events: int, free: Sequence[int], total: int, narrow: bool) -> Tuple[Place, ...]:
    """A place for each event, the first ones wide as far as the free counters go. Raises UsageError."""
    if events > len(free):
        raise UsageError(
            "%s, but %d of the PMU's %s %s free: leave some out"
            % (plural(events, "PMU event"), len(free), plural(total, "event counter"), be(len(free)))
        )
    pairs = [n for n in free if n % 2 == 0 and n + 1 in free]
    wide = 0 if narrow else min(len(pairs), events, len(free) - events)
    taken = {n for low in pairs[:wide] for n in (low, low + 1)}
    places: List[Place] = [Place(low, low + 1) for low in pairs[:wide]]
    alone = [n for n in free if n not in taken]
    places += [Place(n) for n in alone[: events - wide]]
    return tuple(places)
