"""A buffer in memory that hardware fills in a circle: where the oldest byte lies."""

from __future__ import annotations

import dataclasses
from typing import Tuple


@dataclasses.dataclass(frozen=True)
class Buffer:
    """`start` and `size` in bytes; `pointer`: the address that is written next, within it or just behind.
    `wrapped`: it has been round at least once."""

    start: int
    size: int
    pointer: int
    wrapped: bool

    def parts(self) -> Tuple[Tuple[int, int], ...]:
        """What to read, the oldest first: address and size."""
        written = self.pointer - self.start
        newest = ((self.start, written),) if written else ()
        if not self.wrapped or written == self.size:
            return newest
        return ((self.pointer, self.size - written), *newest)
