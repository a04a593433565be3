"""How much of some bytes reads as ITM and DWT packets."""

from __future__ import annotations

from gdb_prof.swo.packets import TRUNCATED, Error, packet, well_formed
from gdb_prof.swo.stream import Run, Stream

GOOD = 0.85
"""At this quality and above a stream is one, if a damaged one; random bytes stay below."""


def quality(raw: bytes) -> float:
    """The part of the bytes that lies in defined packets, 0..1; 0 for no bytes. A packet that the
    end cuts short does not count."""
    stream = Stream()
    good = whole = 0
    for piece in stream.feed(raw) + stream.finish():
        if isinstance(piece, Run):
            whole += sum(map(len, piece.tokens))
            good += sum(len(token) for token in piece.tokens if well_formed(packet(token)))
        elif not (isinstance(piece.packet, Error) and piece.packet.kind == TRUNCATED):
            whole += piece.length
            good += piece.length if well_formed(piece.packet) else 0
    return good / whole if whole else 0.0
