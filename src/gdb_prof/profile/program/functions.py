"""Which function a run-time address belongs to."""

from __future__ import annotations

import bisect
import functools
import re
from typing import TYPE_CHECKING, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from gdb_prof.printable import printable
from gdb_prof.profile.program.mangled import identifiers, last_part

if TYPE_CHECKING:
    from gdb_prof.profile.program.image import Image


class Function(NamedTuple):
    """A stretch of code under one name. `address` and `end` without the Thumb bit."""

    name: str
    address: int
    end: int
    image: str
    source: str = ""
    """The file of a local symbol, from the symbol table's STT_FILE entry before it."""
    guessed: bool = False
    """The symbol has no size: taken to reach to the next one, or to the section's end."""
    aliases: int = 0
    """Other names of the same body."""
    symbol: bool = True
    """False: a section's code that no symbol covers."""


Segment = Tuple[int, int, Function]
"""[start, end) belongs to the function: all of it, or what others inside it leave."""


class FunctionMap:
    """The functions of all loaded images, at run-time addresses.

    `images` are pairs of an Image and the offset of each of its sections.
    """

    def __init__(self, images: Sequence[Tuple[Image, Dict[int, int]]]) -> None:
        self._sections: List[Tuple[int, int, List[Segment], List[int], Function]] = []
        self._modes: List[Tuple[int, int, List[Tuple[int, str]]]] = []
        for image, offsets in images:
            for index, section in image.sections.items():
                if not section.executable or not section.size:
                    continue
                by = offsets.get(index, 0)
                segments = image.functions(index)
                if by:
                    segments = [
                        (a + by, b + by, f._replace(address=f.address + by, end=f.end + by))
                        for a, b, f in segments
                    ]
                start, end = section.address + by, section.address + by + section.size
                rest = Function(
                    "(no symbol, %s)" % printable(section.name), start, end, image.name, symbol=False
                )
                self._sections.append((start, end, segments, [a for a, _, _ in segments], rest))
                self._modes.append((start, end, [(a + by, kind) for a, kind in image.modes(index)]))
        self._known = {
            (f.image, f.name, f.source) for _, _, segments, _, _ in self._sections for _, _, f in segments
        }
        self._names = {name for _, name, _ in self._known}
        self._names |= {re.split(r"\.(?=[a-z])", name, maxsplit=1)[0] for name in self._names}

    @functools.lru_cache(maxsize=None)  # noqa: B019 (a map lives as long as its images)
    def at(self, address: int) -> Optional[Function]:
        """The function at a run-time address; None outside executable sections.

        Where several images or overlays share the address, one Function whose name is
        all of theirs, joined by ``|``.
        """
        found = []
        for start, end, segments, starts, rest in self._sections:
            if start <= address < end:
                at = bisect.bisect_right(starts, address) - 1
                inside = at >= 0 and address < segments[at][1]
                found.append(segments[at][2] if inside else rest)
        named = [f for f in found if f.symbol] or found
        distinct = list(dict.fromkeys(f.name for f in named))
        if len(distinct) > 1:
            return named[0]._replace(name="|".join(distinct))
        return named[0] if named else None

    def named(self, name: str) -> List[Function]:
        """The functions that have exactly this symbol."""
        stretches = [stretch for _, _, segments, _, _ in self._sections for stretch in segments]
        return list(dict.fromkeys(f for _, _, f in stretches if f.name == name))

    def in_literal_pool(self, address: int) -> bool:
        """Whether a mapping symbol says that this is data among code."""
        return any(
            mode_at(modes, address) == "d" for start, end, modes in self._modes if start <= address < end
        )

    def code_within(self, start: int, end: int) -> List[Tuple[int, int]]:
        """The stretches of [start, end) that mapping symbols do not say to be data, each within one section,
        up to where no executable section is."""
        found: List[Tuple[int, int]] = []
        while start < end:
            section = next((section for section in self._modes if section[0] <= start < section[1]), None)
            if section is None:
                break
            modes, last = section[2], min(section[1], end)
            inner = modes[bisect.bisect_right(modes, (start, "~")) : bisect.bisect_left(modes, (last, ""))]
            marks = [(start, mode_at(modes, start)), *inner]
            ends = [*(at for at, _ in marks[1:]), last]
            found += [(a, b) for (a, kind), b in zip(marks, ends) if kind != "d"]
            start = last
        return found

    def knows(self, name: str) -> bool:
        """Whether a function of that name has code, or a part or copy of it by the compiler. Of
        C++'s and Rust's mangled symbols one with the last part of the name is enough."""
        if name in self._names:
            return True
        last = last_part(name)
        return last != name and last in self._identifiers

    @functools.cached_property
    def _identifiers(self) -> FrozenSet[str]:
        return frozenset(part for name in self._names if name.startswith("_") for part in identifiers(name))

    def file_of(self, part: Function, whole: str) -> str:
        """The file to look for `whole` in, of which the compiler made `part`, a local symbol.

        Empty where `whole` is global: then the symbol table does not say its file.
        """
        of_own_file = (part.image, whole, part.source) in self._known
        return "" if (part.image, whole, "") in self._known and not of_own_file else part.source


def mode_at(modes: Sequence[Tuple[int, str]], address: int) -> str:
    """`t`, `a` or `d` of the mapping symbol that counts at an address; empty without one."""
    at = bisect.bisect_right(modes, (address, "~")) - 1
    return modes[at][1] if at >= 0 else ""
