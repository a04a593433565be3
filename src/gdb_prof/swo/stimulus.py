"""What the program wrote to stimulus ports."""

from __future__ import annotations

from typing import Collection, Iterable, Iterator, Optional, Tuple

from gdb_prof.printable import printable
from gdb_prof.swo.packets import Error, Overflow, Stimulus
from gdb_prof.swo.timeline import Event, placed
from gdb_prof.swo.unframed import Tpiu

Word = Optional[Tuple[int, int]]
"""A port and the 32-bit word written to it; None where packets may be missing."""


def raw(written: Iterable[Event], port: int) -> bytes:
    """All bytes written to a port: each packet's, least significant first."""
    return b"".join(
        event.packet.value.to_bytes(event.packet.size, "little")
        for event in written
        if event.port == port and isinstance(event.packet, Stimulus)
    )


def text(chunks: Iterable[bytes], port: int, sync: bool = False, tpiu: Tpiu = None) -> str:
    """A port's bytes as UTF-8 text for a terminal: control characters but line ends, and what is no
    UTF-8, as ``\\xNN``; the NULs left out that pad a packet. Ends with a line end, unless there is
    nothing. Raises FileError as `unframed.Unframed`."""
    written = raw(placed(chunks, sync, tpiu), port).replace(b"\0", b"").replace(b"\r\n", b"\n")
    if not written:
        return ""
    lines = written.decode("utf-8", "surrogateescape").split("\n")
    if not lines[-1]:
        lines.pop()
    return "".join(printable(line, len(line)) + "\n" for line in lines)


def words(written: Iterable[Event], ports: Collection[int]) -> Iterator[Word]:
    """The words written to some ports, in order, and a gap wherever packets may be missing between
    them: an overflow, bytes that are no packet, or a write to one of these ports that is no word.
    Gaps that follow each other are one."""
    last_is_gap = False
    for event in written:
        found = event.packet
        if event.port in ports and isinstance(found, Stimulus) and found.size == 4:
            yield event.port, found.value  # type: ignore[misc]
            last_is_gap = False
        elif isinstance(found, (Overflow, Error)) or event.port in ports:
            if not last_is_gap:
                yield None
            last_is_gap = True
