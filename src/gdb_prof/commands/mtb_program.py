"""The loaded program, as the reports of a trace ask for it (see counters.mtb.program)."""

from __future__ import annotations

import functools
import struct
from typing import Dict, List, Optional, Sequence, Tuple

from gdb_prof.counters.mtb.program import Function
from gdb_prof.errors import TargetError
from gdb_prof.exceptions import FIRST_INTERRUPT
from gdb_prof.profile.program.image import content_at
from gdb_prof.target import images, session
from gdb_prof.target.lines import DebugLines, demangle

_ICTR, _VTOR = 0xE000E004, 0xE000ED08


class _Vectors:
    """`live`: the vector table of the target says which handler is whose; without it none is named."""

    def __init__(self, live: bool) -> None:
        self._vectors = _vectors() if live else None

    def exceptions(self, handler: int) -> Optional[Sequence[int]]:
        return None if self._vectors is None else self._vectors.get(handler, ())


class Addresses(_Vectors):
    """Where no program is loaded: addresses are all that is known."""

    def function(self, address: int) -> Optional[Function]:
        return None

    def stretches(self, start: int, end: int) -> Sequence[Tuple[int, bytes]]:
        return ()

    def line(self, address: int) -> Optional[Tuple[str, int]]:
        return None


class LoadedProgram(_Vectors):
    """Code is read from the ELF files: it is what names and lines are of."""

    def __init__(self, program: images.Program, live: bool) -> None:
        super().__init__(live)
        self._program = program
        lines = DebugLines()
        self.line = lines.line
        self.function = functools.lru_cache(maxsize=None)(self._function)

    def _function(self, address: int) -> Optional[Function]:
        found = self._program.functions.at(address)
        if found is None or not found.symbol:  # code under no symbol is no function
            return None
        return Function(demangle(found.name), found.address, found.end)

    def stretches(self, start: int, end: int) -> Sequence[Tuple[int, bytes]]:
        return [
            (first, content)
            for first, last in self._program.functions.code_within(start, end)
            for content in [content_at(self._program.images, first, last - first)]
            if content
        ]


def _vectors() -> Optional[Dict[int, List[int]]]:
    """The numbers of the exceptions by their handlers. Armv6-M has no ICTR, which reads 0: 32 interrupts, as
    it may have; None where the table cannot be read."""
    try:
        interrupts = 32 * min((session.read_system_word(_ICTR, "ICTR") & 0xF) + 1, 15)
        table = session.read_system_word(_VTOR, "VTOR")
        number = FIRST_INTERRUPT + interrupts
        words = struct.unpack("<%dI" % number, session.read(table, 4 * number, "the vector table"))
    except TargetError:
        return None
    found: Dict[int, List[int]] = {}
    for exception, handler in enumerate(words):
        if exception and handler:
            found.setdefault(handler & ~1, []).append(exception)
    return found
