"""What the debugger saw around the samples, when it read them."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Optional, Tuple


@dataclasses.dataclass(frozen=True)
class Handler:
    """An interrupt that is enabled. `exception`: its number in the vector table, 16 + IRQ;
    `priority`: the byte of its priority register."""

    exception: int
    address: int
    priority: int


@dataclasses.dataclass(frozen=True)
class Circumstances:
    """Each field has a value for `not asked, or cannot be told`.

    `hidden`: the enabled interrupts that the sampler cannot interrupt; None is not known.
    `vectors`: the handler of each exception number, without the Thumb bit.
    `contents`: how the code in the target compares with the ELF: `same`, else where
    it differs; empty is not known.
    `tick`: the function that is the RTOS's tick, where the sampler's interrupt runs it.
    `idle_tags`: control blocks of idle tasks.
    """

    sampler_priority: Optional[int] = None
    hidden: Optional[Tuple[Handler, ...]] = None
    vectors: Mapping[int, int] = dataclasses.field(default_factory=dict)
    contents: str = ""
    emulator: str = ""
    tick: str = ""
    idle_tags: Tuple[int, ...] = ()


SAME = "same"
"""The target's code is the ELF's, as far as it was compared."""
