"""An ITM stream -> its packets in order, with the time, the port and the global time of each.

A local timestamp tells when the packets before it were made, so that these wait for it.
"""

from __future__ import annotations

from typing import Iterable, Iterator, List, NamedTuple, Optional, Tuple

from gdb_prof.swo.packets import (
    Extension,
    GlobalTime1,
    GlobalTime2,
    LocalTime,
    Packet,
    Stimulus,
    Sync,
    packet,
)
from gdb_prof.swo.stream import Piece, Run, Stream
from gdb_prof.swo.unframed import Tpiu, Unframed

_BLOCK = 1 << 16
_MOST_WAITING = 1 << 16
"""Packets that wait for a timestamp; if none has come by then, they get no time."""


class Event(NamedTuple):
    """A packet at byte `offset` of the ITM stream.

    `time`: ticks of the local timestamps, added up to the one that follows the packet; None where
    none follows. `relation`: that timestamp's, packets.RELATIONS. `global_time`: what the global
    timestamps said last, and the local ones after them, where both count the same clock; None
    before there is one, and from a wrap to the upper half that follows it. `port`: of a stimulus
    packet, pages counted in.
    """

    offset: int
    packet: Packet
    port: Optional[int] = None
    time: Optional[int] = None
    relation: int = 0
    global_time: Optional[int] = None


def events(chunks: Iterable[bytes], sync: bool = False, tpiu: Tpiu = None) -> Iterator[Event]:
    """All packets, in order. `sync`: from the first sync on. Raises FileError as
    `unframed.Unframed`."""
    return timed(placed(chunks, sync, tpiu))


def placed(chunks: Iterable[bytes], sync: bool = False, tpiu: Tpiu = None) -> Iterator[Event]:
    """All packets in order, without their times: none waits for a timestamp."""
    stream, page = Stream(sync), 0
    for pieces in _pieces(stream, Unframed(chunks, tpiu)):
        for offset, found in _packets(pieces):
            port = None
            if isinstance(found, Stimulus):
                port = 32 * page + found.port
            elif isinstance(found, Sync):
                page = 0
            elif isinstance(found, Extension) and found.page is not None:
                page = found.page
            yield Event(offset, found, port)


def _pieces(stream: Stream, chunks: Iterable[bytes]) -> Iterator[List[Piece]]:
    for chunk in chunks:
        for at in range(0, len(chunk), _BLOCK):
            yield stream.feed(chunk[at : at + _BLOCK])
    yield stream.finish()


def _packets(pieces: List[Piece]) -> Iterator[Tuple[int, Packet]]:
    for piece in pieces:
        if isinstance(piece, Run):
            offset = piece.offset
            for token in piece.tokens:
                yield offset, packet(token)
                offset += len(token)
        else:
            yield piece.offset, piece.packet


def timed(untimed: Iterable[Event]) -> Iterator[Event]:
    """The same packets with their times."""
    waiting: List[Event] = []
    time = 0
    clock = GlobalClock()
    for event in untimed:
        waiting.append(event)
        found = event.packet
        if isinstance(found, LocalTime):
            time += found.delta
            clock.add(found.delta)
            now = clock.now
            for before in waiting:
                yield before._replace(time=time, relation=found.relation, global_time=now)
            waiting = []
        elif isinstance(found, (GlobalTime1, GlobalTime2)):
            clock.take(found)
        elif len(waiting) > _MOST_WAITING:
            yield from waiting
            waiting = []
    yield from waiting


class GlobalClock:
    """The global time of 48 or 64 bits, as far as its packets told it."""

    def __init__(self) -> None:
        self.value: Optional[int] = None
        """As the packets said it, without the local time since; the upper half is 0 until known."""
        self._stale = False  # the lower half wrapped, and the upper one has not come
        self._since = 0

    @property
    def now(self) -> Optional[int]:
        return None if self.value is None or self._stale else self.value + self._since

    def add(self, ticks: int) -> None:
        self._since += ticks

    def take(self, found: "GlobalTime1 | GlobalTime2") -> None:
        value = self.value or 0
        self._since = 0
        if isinstance(found, GlobalTime2):
            self.value = found.value << 26 | value & 0x3FFFFFF
            self._stale = False
        else:  # a short one replaces its bits only
            self.value = value >> found.bits << found.bits | found.value
            self._stale = self._stale or found.wrap
