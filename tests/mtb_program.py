"""Programs for the trace's reports: an ELF file's, or a few instructions at an address."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Dict, Optional, Sequence, Tuple

from gdb_prof.counters.mtb.program import Function
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.program.image import Image, content_at


class ElfProgram:
    """See gdb_prof.counters.mtb.program.Program; without lines. `vectors`: exceptions by handler, if known."""

    def __init__(self, path: Path, vectors: Optional[Dict[int, Sequence[int]]] = None) -> None:
        self._vectors = vectors
        image = Image(str(path))
        self._images: "tuple[tuple[Image, dict[int, int]], ...]" = ((image, {}),)
        self._functions = FunctionMap(self._images)

    def function(self, address: int) -> Optional[Function]:
        found = self._functions.at(address)
        return Function(found.name, found.address, found.end) if found else None

    def stretches(self, start: int, end: int) -> Sequence[Tuple[int, bytes]]:
        return [
            (first, content_at(self._images, first, last - first))
            for first, last in self._functions.code_within(start, end)
        ]

    def line(self, address: int) -> Optional[Tuple[str, int]]:
        return None

    def exceptions(self, handler: int) -> Optional[Sequence[int]]:
        return None if self._vectors is None else self._vectors.get(handler, ())


class Halfwords:
    """A program of these halfwords at an address; `functions` by where they begin, each up to the next one.
    `vectors`: exceptions by handler, if known."""

    def __init__(
        self,
        start: int,
        halfwords: Sequence[int],
        functions: Dict[int, str],
        vectors: Optional[Dict[int, Sequence[int]]] = None,
    ) -> None:
        self._start, self._code = start, struct.pack("<%dH" % len(halfwords), *halfwords)
        self._vectors = vectors
        starts = [*sorted(functions), start + len(self._code)]
        self._functions = [Function(functions[a], a, b) for a, b in zip(starts, starts[1:])]

    def function(self, address: int) -> Optional[Function]:
        return next((f for f in self._functions if f.address <= address < f.end), None)

    def stretches(self, start: int, end: int) -> Sequence[Tuple[int, bytes]]:
        if not self._start <= start < self._start + len(self._code):
            return []
        return [(start, self._code[start - self._start : end - self._start])]

    def line(self, address: int) -> Optional[Tuple[str, int]]:
        return ("/src/loops.c", 10 + address % 16) if self.function(address) else None

    def exceptions(self, handler: int) -> Optional[Sequence[int]]:
        return None if self._vectors is None else self._vectors.get(handler, ())
