"""A trace buffer's packets, and the branches that they are.

A packet is two little-endian words (Arm DDI 0486, 2.3.1):

- word 0: bits 31:1 of the source, and in bit 0 the A-bit: the PC did not change by the source's instruction,
  but by an exception or a debugger; the source is then where it is to go on: that was not executed yet
- word 1: bits 31:1 of the destination, and in bit 0 the S-bit: the first packet after tracing began

An exception return is two packets: from the returning instruction to EXC_RETURN, and, with the A-bit,
from EXC_RETURN to where it goes on.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import List, Optional, Sequence, Tuple

SIZE = 8
"""Bytes of a packet."""
_EXC_RETURN = 0xFF000000
"""Its lowest value: in Armv8-M bits 31:24 are ones, in Armv6-M all but the lowest four."""

BRANCH, EXCEPTION, RETURN = "branch", "exception", "exception return"


@dataclasses.dataclass(frozen=True)
class Packet:
    """`unexecuted`: the A-bit; `started`: the S-bit. Addresses are even."""

    source: int
    destination: int
    unexecuted: bool
    started: bool


@dataclasses.dataclass(frozen=True)
class Branch:
    """A change of the PC. `kind`: BRANCH, an EXCEPTION's entry (or the PC set by a debugger), or the RETURN
    from one. Of a return whose other packet is not in the buffer one of both places is None.
    `started`: tracing began with it: what ran before is unknown. `chained`: a return that is another
    exception's entry at once (see nesting)."""

    kind: str
    source: Optional[int]
    destination: Optional[int]
    started: bool = False
    chained: bool = False


def packets(content: bytes) -> Tuple[Packet, ...]:
    """The oldest first, as in `content`; what is left over at its end is no packet."""
    usable = len(content) - len(content) % SIZE
    return tuple(
        Packet(source & ~1, destination & ~1, bool(source & 1), bool(destination & 1))
        for source, destination in struct.iter_unpack("<II", content[:usable])
    )


def branches(traced: Sequence[Packet]) -> Tuple[Branch, ...]:
    """In order, an exception return's two packets as one."""
    found: List[Branch] = []
    leaving: Optional[Branch] = None  # a return whose second packet is to come
    for packet in traced:
        if packet.unexecuted and packet.source >= _EXC_RETURN:
            if leaving is not None and not packet.started:
                found[-1] = dataclasses.replace(leaving, destination=packet.destination)
            else:
                found.append(Branch(RETURN, None, packet.destination, packet.started))
            leaving = None
            continue
        leaving = None
        if packet.destination >= _EXC_RETURN and not packet.unexecuted:
            leaving = Branch(RETURN, packet.source, None, packet.started)
            found.append(leaving)
        else:
            kind = EXCEPTION if packet.unexecuted else BRANCH
            found.append(Branch(kind, packet.source, packet.destination, packet.started))
    return tuple(found)
