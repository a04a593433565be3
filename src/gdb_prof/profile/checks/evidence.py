"""What the checks look at."""

from __future__ import annotations

import collections
import dataclasses
from typing import Counter, FrozenSet, List, Mapping, Optional, Tuple

from gdb_prof.profile.checks.piles import Pile
from gdb_prof.profile.dependence import Dependence
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Shares


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One report's samples and all that is known about them.

    `counts`: samples by address, where addresses are known one by one. `dependence`: None
    for a histogram.
    """

    profile: Profile
    table: Shares
    build: Build
    counts: Mapping[int, int]
    piles: Tuple[Pile, ...]
    asleep: FrozenSet[int]
    dependence: Optional[Dependence]

    def hottest(self, most: int) -> List[int]:
        """So many of the addresses with the most samples."""
        return [pc for pc, _ in collections.Counter(self.counts).most_common(most)]

    def part(self, samples: float) -> float:
        """As a fraction of all."""
        return samples / self.table.total if self.table.total else 0.0


def by_address(profile: Profile) -> Counter[int]:
    """Samples by address: of a ring, and of a histogram whose bins hold one instruction."""
    histogram = profile.histogram
    if histogram is None:
        return collections.Counter(profile.pcs)
    if histogram.shift > 1:
        return collections.Counter()
    return collections.Counter({histogram.base + 2 * i: n for i, n in enumerate(histogram.counts) if n})
