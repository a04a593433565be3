"""The packets of ITM and DWT, ARMv7-M and ARMv8-M: what one token of the stream means.

A token is the bytes of one packet, header first, as `stream` cuts them; a token means the same
wherever it stands. Payloads are little-endian. Source: the ARMv7-M and ARMv8-M architectures'
packet tables; where public decoders differ, the architecture's answer.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Dict, Optional, Tuple, Union

SYNC_TOKEN = b"\0\0\0\0\0\x80"
"""47 zero bits and a one."""

CUT, TRUNCATED, ZEROS, OVERLONG = "cut", "truncated", "zeros", "over-long"
RESERVED, UNDEFINED, SKIPPED = "reserved", "undefined", "skipped"
ERRORS: Dict[str, str] = {
    CUT: "packet cut short by a sync",
    TRUNCATED: "packet cut short by the end",
    ZEROS: "zero bytes that are no sync",
    OVERLONG: "packet without an end",
    RESERVED: "reserved header",
    UNDEFINED: "packet of undefined size or value",
    SKIPPED: "bytes before the first sync",
}
"""What can be wrong, by kind, in words."""

EVENTS = ("CPI", "EXC", "SLEEP", "LSU", "FOLD", "CYC")
"""The DWT counters whose wrap an event counter packet tells of, by bit."""
ACTIONS = {1: "enter", 2: "exit", 3: "return"}
RELATIONS = ("", "timestamp late", "data late", "timestamp and data late")
"""What the relation bits of a local timestamp say."""


@dataclasses.dataclass(frozen=True)
class Sync:
    """`shift`: bits by which the bytes after it are out of step with the stream's; 0 as it should be."""

    shift: int = 0


@dataclasses.dataclass(frozen=True)
class Overflow:
    """Packets were lost here."""


@dataclasses.dataclass(frozen=True)
class Stimulus:
    """A write to a stimulus port: `port` 0..31 as in the header, without the page; `size` bytes."""

    port: int
    size: int
    value: int


@dataclasses.dataclass(frozen=True)
class LocalTime:
    """`delta` ticks since the last one; `relation` 0..3 as in RELATIONS."""

    delta: int
    relation: int = 0


@dataclasses.dataclass(frozen=True)
class GlobalTime1:
    """The low `bits` (7, 14, 21 or 26) of the global time; the flags only come with all 26."""

    value: int
    bits: int
    wrap: bool = False
    clock_change: bool = False


@dataclasses.dataclass(frozen=True)
class GlobalTime2:
    """The global time from bit 26 up: 22 bits (48-bit form) or 38 (64-bit form)."""

    value: int
    bits: int


@dataclasses.dataclass(frozen=True)
class Extension:
    """`value` of `more` payload bytes and the header's three bits; `hardware`: of that source."""

    value: int
    hardware: bool = False
    more: int = 0

    @property
    def page(self) -> Optional[int]:
        """The stimulus page 0..7 that it chooses, if it does."""
        return None if self.hardware or self.more else self.value


@dataclasses.dataclass(frozen=True)
class EventWrap:
    """DWT event counters that wrapped: bits as in EVENTS."""

    flags: int

    @property
    def names(self) -> Tuple[str, ...]:
        return tuple(name for bit, name in enumerate(EVENTS) if self.flags >> bit & 1)


@dataclasses.dataclass(frozen=True)
class ExceptionTrace:
    """`number` 0..511: the exception's (an interrupt's is its IRQ number + 16), 0 a thread; `action`
    enter, exit or return (to it)."""

    number: int
    action: str


@dataclasses.dataclass(frozen=True)
class PcSample:
    address: int


@dataclasses.dataclass(frozen=True)
class Asleep:
    """A PC sample taken while the core slept."""


@dataclasses.dataclass(frozen=True)
class Prohibited:
    """A PC sample that the core may not tell (ARMv8-M)."""


@dataclasses.dataclass(frozen=True)
class DataPc:
    """The instruction that made comparator `comparator` match."""

    comparator: int
    address: int


@dataclasses.dataclass(frozen=True)
class DataMatch:
    """Comparator `comparator` matched (ARMv8-M)."""

    comparator: int


@dataclasses.dataclass(frozen=True)
class DataAddress:
    """The low `size` bytes of the data's address."""

    comparator: int
    size: int
    value: int


@dataclasses.dataclass(frozen=True)
class DataValue:
    comparator: int
    size: int
    value: int
    write: bool


@dataclasses.dataclass(frozen=True)
class PmuOverflow:
    """Hardware source 3 of one byte: on ARMv8.1-M the PMU's event counters that overflowed, by bit."""

    flags: int


@dataclasses.dataclass(frozen=True)
class Hardware:
    """A packet of a hardware source (discriminator) that has no meaning known here."""

    source: int
    size: int
    value: int


@dataclasses.dataclass(frozen=True)
class Error:
    """Bytes that are no packet, or one that is not defined; `kind` as in ERRORS."""

    kind: str
    raw: bytes = b""


Packet = Union[
    Sync,
    Overflow,
    Stimulus,
    LocalTime,
    GlobalTime1,
    GlobalTime2,
    Extension,
    EventWrap,
    ExceptionTrace,
    PcSample,
    Asleep,
    Prohibited,
    DataPc,
    DataMatch,
    DataAddress,
    DataValue,
    PmuOverflow,
    Hardware,
    Error,
]


@functools.lru_cache(maxsize=1 << 14)
def packet(token: bytes) -> Packet:
    """What the bytes of one packet say. Never raises for a token that is not empty."""
    header = token[0]
    if header & 3:
        size = (0, 1, 2, 4)[header & 3]
        if len(token) != 1 + size:
            return Error(CUT, token)
        value = int.from_bytes(token[1:], "little")
        if header & 4:
            return _hardware(header >> 3, size, value, token)
        return Stimulus(header >> 3, size, value)
    if header == 0:
        return Error(ZEROS, token) if token != SYNC_TOKEN else Sync()
    if header == 0x70:
        return Overflow()
    if header < 0x70 and not header & 0x0F:
        return LocalTime(header >> 4)
    if len(token) == 1 and not header & 0x80 and header & 8:
        return Extension(header >> 4, bool(header & 4))
    if len(token) == 1 and not _continues(header):
        return Error(RESERVED, token)
    return _continued(header, token)


def _continues(header: int) -> bool:
    """Whether payload bytes follow, each with bit 7 set but the last."""
    return header & 3 == 0 and (header >= 0xC0 or (header & 0x80 and header & 0x0F)) != 0


def _continued(header: int, token: bytes) -> Packet:
    size = len(token) - 1
    if header & 0x0F == 4 and header not in (0x94, 0xB4):
        return Error(RESERVED, token)
    if size > (6 if header == 0xB4 else 4) or (size == 8 and token[-1] & 0x80):
        return Error(OVERLONG, token)
    if size == 0 or token[-1] & 0x80:
        return Error(CUT, token)
    value = 0
    for byte in reversed(token[1:]):
        value = value << 7 | byte & 0x7F
    if header == 0x94:
        if size < 4:
            return GlobalTime1(value, 7 * size)
        return GlobalTime1(value & 0x3FFFFFF, 26, bool(token[4] & 0x40), bool(token[4] & 0x20))
    if header == 0xB4:
        if size not in (4, 6):
            return Error(UNDEFINED, token)
        bits = 22 if size == 4 else 38
        return GlobalTime2(value & ((1 << bits) - 1), bits)
    if header & 8:
        return Extension(value << 3 | header >> 4 & 7, bool(header & 4), size)
    return LocalTime(value, header >> 4 & 3)


def _hardware(source: int, size: int, value: int, token: bytes) -> Packet:
    if source == 0 and size == 1:
        return EventWrap(value)
    if source == 1 and size == 2:
        action = ACTIONS.get(value >> 12 & 3)
        return Error(UNDEFINED, token) if action is None else ExceptionTrace(value & 0x1FF, action)
    if source == 2:
        if size == 4:
            return PcSample(value)
        if token == b"\x15\0":
            return Asleep()
        return Prohibited() if token == b"\x15\xff" else Error(UNDEFINED, token)
    if source == 3 and size == 1:
        return PmuOverflow(value)
    if 16 <= source < 24:
        return DataValue(source >> 1 & 3, size, value, bool(source & 1))
    if 8 <= source < 16:
        comparator = source >> 1 & 3
        if source & 1:
            return DataAddress(comparator, size, value)
        if size == 4:
            return DataPc(comparator, value)
        if size == 1 and value & 1:
            return DataMatch(comparator)
    return Hardware(source, size, value)


def well_formed(of: Packet) -> bool:
    """Whether the architecture defines it: what a sound stream is made of. A sync off its byte is
    one, but tells of lost bits."""
    if isinstance(of, Extension):
        return of.page is not None
    if isinstance(of, Sync):
        return of.shift == 0
    return not isinstance(of, (Error, Hardware))
