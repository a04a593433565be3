"""A recorded stream, bare or in TPIU frames -> the bytes of its ITM stream."""

from __future__ import annotations

from typing import Iterable, Iterator, List, Optional, Union

from gdb_prof.errors import FileError
from gdb_prof.swo.quality import GOOD, quality
from gdb_prof.swo.tpiu import FEW, Block, Frames, by_id, choose_id, looks_framed, trace_data

AUTO = "auto"
Tpiu = Union[None, int, str]
"""None: found out; AUTO: in frames, the ITM's ID is found out; else the ID."""
_LOOK = 1 << 14
"""Bytes of the beginning by which it is judged what the stream is."""


class Unframed:
    """Iterate once over the ITM stream's bytes in chunks. Raises FileError where frames are expected
    and these are none, or none of that ID.

    Then `trace_id` is the ID used, None for a bare stream, and `frames` has its counters.
    """

    def __init__(self, chunks: Iterable[bytes], tpiu: Tpiu = None) -> None:
        self._chunks = chunks
        self._tpiu = tpiu
        self.trace_id: Optional[int] = tpiu if isinstance(tpiu, int) else None
        self.frames: Optional[Frames] = None

    def __iter__(self) -> Iterator[bytes]:
        chunks = iter(self._chunks)
        head = bytearray()
        for chunk in chunks:
            head += chunk
            if len(head) >= _LOOK:
                break
        if self._tpiu is None and not looks_framed(bytes(head[:_LOOK])):
            yield bytes(head)
            yield from chunks
            return
        self.frames = Frames()
        blocks = self.frames.feed(bytes(head))
        if len(head) < _LOOK:
            blocks += self.frames.finish()
        self._judge(blocks, self.frames, quality(bytes(head[:_LOOK])))
        yield self._own(blocks)
        for chunk in chunks:
            yield self._own(self.frames.feed(chunk))
        yield self._own(self.frames.finish())

    def _own(self, blocks: List[Block]) -> bytes:
        return b"".join(content for source, content in blocks if source == self.trace_id)

    def _judge(self, blocks: List[Block], frames: Frames, bare: float) -> None:
        """Choose the ID, or refuse. `bare`: the bytes' quality as they are."""
        sources = by_id(blocks)
        named = ", ".join("%d" % source for source in sorted(trace_data(sources))[:8]) or "none"
        if not frames.sane:
            raise FileError(
                "no TPIU frames: their trace IDs would be reserved or too many: "
                "leave out -tpiu for a bare stream"
            )
        if bare >= GOOD:
            raise FileError("no TPIU frames: the bytes read as a bare ITM stream: leave out -tpiu")
        if self.trace_id is None and frames.frames < FEW:
            raise FileError("%d TPIU frames are too few to find the trace ID: give -tpiu ID" % frames.frames)
        if self.trace_id is None:
            self.trace_id = choose_id(sources)
            if self.trace_id is None:
                raise FileError("no trace ID of the TPIU frames carries ITM packets; IDs found: %s" % named)
        elif self.trace_id not in sources:
            raise FileError(
                "no data with trace ID %d in the TPIU frames; IDs found: %s" % (self.trace_id, named)
            )
        if quality(sources[self.trace_id]) < GOOD:
            raise FileError(
                "trace ID %d of the TPIU frames does not carry ITM packets; IDs found: %s"
                % (self.trace_id, named)
            )
