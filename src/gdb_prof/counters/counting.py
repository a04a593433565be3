"""What a counter of some bits, which counts up or down and wraps, has counted between two readings."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Width:
    """Of a counter. `down`: it counts down, as the DPU's do."""

    bits: int
    down: bool = False

    @property
    def modulus(self) -> int:
        return 1 << self.bits


def elapsed(width: Width, before: int, after: int) -> int:
    """Events between two readings, modulo 2**bits: right while there were fewer than that many."""
    change = before - after if width.down else after - before
    return change % width.modulus
