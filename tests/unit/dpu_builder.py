"""Records of a simulated run as a DPU's buffer holds them: an independent writer for the tests of the reader."""

from __future__ import annotations

import dataclasses
import struct
from typing import List, Optional, Sequence, Tuple

from gdb_prof.counters.dpu.capture import Capture, Counter

START = 0x60000000
MODULUS = 1 << 31
LAYOUT = "task:4 A0:4 A1:4 A2:4 B0:4 B1:4 B2:4"
SIZE = 28
LAYOUTS = {"task": LAYOUT, "sample": LAYOUT, "direct": "word:4"}
COUNTED = {"A0": Counter("cycles", "trace", "mark"), "A1": Counter("dcache_miss", "trace", "mark")}

Step = Tuple[int, int, int]
"""A task, the cycles that it ran, its misses."""


def rows(steps: Sequence[Step], presets: Sequence[int] = (MODULUS - 1,) * 6) -> List[Tuple[int, ...]]:
    """A record at the beginning of each step, and one at the end, of the last step's task: A0 counts cycles,
    A1 misses, both down; the others stand."""
    values, found = list(presets), []
    for task, cycles, misses in steps:
        found.append((task, *values))
        values[0] = (values[0] - cycles) % MODULUS
        values[1] = (values[1] - misses) % MODULUS
    if steps:
        found.append((steps[-1][0], *values))
    return found


def packed(records: Sequence[Tuple[int, ...]], little: bool = True) -> bytes:
    return b"".join(struct.pack("%s%dI" % ("<" if little else ">", len(r)), *r) for r in records)


def ring(stream: bytes, size: int) -> Tuple[bytes, int]:
    """What a buffer of `size` bytes holds after the stream, byte by byte, and the offset written next."""
    held = bytearray(size)
    for at, byte in enumerate(stream):
        held[at % size] = byte
    return bytes(held), len(stream) % size


def capture(
    raw: bytes,
    offset: Optional[int] = None,
    wrapped: Optional[bool] = None,
    how: str = "",
    little: bool = True,
) -> Capture:
    """`wrapped`: as a unit's flag or, with `how`, a user says."""
    found = Capture(raw, START, None if offset is None else START + offset, wrapped, how)
    found = dataclasses.replace(found, mode="overwrite", kind="task", little=little, layouts=LAYOUTS)
    return dataclasses.replace(found, counters=COUNTED)
