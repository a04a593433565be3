"""What the trace's reports ask of the program."""

from __future__ import annotations

from typing import NamedTuple, Optional, Protocol, Sequence, Tuple


class Function(NamedTuple):
    """Its name for a reader, and [address, end) without the Thumb bit."""

    name: str
    address: int
    end: int


class Program(Protocol):
    def function(self, address: int) -> Optional[Function]:
        """The one with an address; None outside all of them."""

    def stretches(self, start: int, end: int) -> Sequence[Tuple[int, bytes]]:
        """The code in [start, end) as the ELF files have it, without literal pools: each piece's address and
        its bytes. A piece may follow on the one before, as a section does. Empty where no file has any."""

    def line(self, address: int) -> Optional[Tuple[str, int]]:
        """Source file and line; None without debug information."""

    def exceptions(self, handler: int) -> Optional[Sequence[int]]:
        """The numbers of the exceptions whose vector leads to an address, perhaps none; None where the
        vectors are not known."""


def code_at(program: Program, start: int, end: int) -> bytes:
    """The code in [start, end), up to a literal pool or to where no file has any."""
    code = b""
    for address, piece in program.stretches(start, end):
        if address != start + len(code):
            break
        code += piece
    return code
