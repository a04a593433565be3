"""A buffer in memory that hardware fills in a circle: where the oldest byte lies."""

from __future__ import annotations

import dataclasses
from typing import Optional, Tuple

from gdb_prof.errors import TargetError


@dataclasses.dataclass(frozen=True)
class Buffer:
    """`start` and `size` in bytes; `pointer`: the address that is written next. `wrapped`: it has been
    round at least once; None where the hardware does not tell."""

    start: int
    size: int
    pointer: int
    wrapped: Optional[bool]

    def parts(self) -> Tuple[Tuple[int, int], ...]:
        """What to read, the oldest first: address and size. Where it is not known whether it has wrapped, as
        if it had. Raises TargetError for a pointer outside."""
        if not self.start <= self.pointer <= self.start + self.size:
            raise TargetError(
                "the write pointer 0x%08x lies outside the buffer, 0x%08x to 0x%08x"
                % (self.pointer, self.start, self.start + self.size - 1)
            )
        written = self.pointer - self.start
        newest = ((self.start, written),) if written else ()
        if self.wrapped is False or written == self.size:
            return newest
        return ((self.pointer, self.size - written), *newest)
