"""Bytes -> records of the DPU's trace buffer, by a layout that is data.

A layout is written as `task:4 A0:4 A1:4 …`: fields in their order, NAME:BYTES of 1, 2, 4 or 8, unsigned; `-`
for bytes to be skipped, of any number. `task` is the task's ID, A0 to B2 are counters' values, which count
down in 31 bits; other names are shown and mean nothing here.
"""

from __future__ import annotations

import array
import dataclasses
import struct
import sys
from typing import Dict, List, Sequence, Tuple

from gdb_prof.counters.dpu.reading import COUNTERS, WIDTH
from gdb_prof.errors import UsageError
from gdb_prof.printable import printable

BURST = 16
"""Bytes that the unit writes to the buffer at once: the only burst that the article gives."""
KINDS = TASK, SAMPLE, DIRECT = "task", "sample", "direct"
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_LONGEST = 4096


@dataclasses.dataclass(frozen=True)
class Layout:
    """`fields`: name and bytes; `size`: of a record."""

    fields: Tuple[Tuple[str, int], ...]
    size: int

    @property
    def text(self) -> str:
        return " ".join("%s:%d" % field for field in self.fields)

    @property
    def names(self) -> Tuple[str, ...]:
        return tuple(name for name, _ in self.fields if name != "-")

    @property
    def counters(self) -> Tuple[str, ...]:
        return tuple(name for name in self.names if name in COUNTERS)

    def modulus(self, name: str) -> int:
        """Of a counter's values, as far as its field has them: of 31 bits, or of less."""
        return min(WIDTH.modulus, 1 << 8 * dict(self.fields)[name])


def layout_of(text: str) -> Layout:
    """Raises UsageError."""
    fields: List[Tuple[str, int]] = []
    for word in text.replace(",", " ").split():
        name, _, digits = word.partition(":")
        size = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 4 else 0
        named = name.isascii() and name.replace("_", "").isalnum()
        if not (1 <= size <= _LONGEST if name == "-" else named and size in _LETTERS):
            raise UsageError(
                "a record's field is NAME:BYTES with 1, 2, 4 or 8, or -:BYTES, found %s" % printable(word, 40)
            )
        if name != "-" and name in dict(fields):
            raise UsageError("a record's layout has %s twice" % printable(name, 40))
        fields.append((name, size))
    size = sum(size for _, size in fields)
    if all(name == "-" for name, _ in fields) or size > _LONGEST:
        raise UsageError("a record has 1 to %d bytes, and a field that is not skipped" % _LONGEST)
    return Layout(tuple(fields), size)


@dataclasses.dataclass(frozen=True)
class Records:
    """By field, its value in each record, in order of time."""

    layout: Layout
    columns: Dict[str, Sequence[int]]
    number: int

    def values(self, name: str) -> Sequence[int]:
        return self.columns[name]


def unpack(content: bytes, layout: Layout, little: bool) -> Records:
    """Whole records from the first byte on; what is left at the end is not looked at."""
    whole = len(content) - len(content) % layout.size
    if len(layout.fields) == 1:  # words, of which there may be millions: as compact as they came
        ((name, size),) = layout.fields
        values = array.array(_LETTERS[size], content[:whole])
        if little != (sys.byteorder == "little"):
            values.byteswap()
        return Records(layout, {name: values}, len(values))
    order = "<" if little else ">"
    letters = "".join("%dx" % n if name == "-" else _LETTERS[n] for name, n in layout.fields)
    rows = struct.iter_unpack(order + letters, content[:whole])
    columns: List[Tuple[int, ...]] = list(zip(*rows)) or [() for _ in layout.names]
    return Records(layout, dict(zip(layout.names, columns)), whole // layout.size)
