"""The symbols of an ELF file, and the functions they make of its code.

GDB's own answer (`info symbol`) knows no sizes: code without a symbol would be
charged to the function before it. So the table is read here: 16-byte entries of
``.symtab`` (System V ABI, figure 4-15), straight from the section's bytes, because
60,000 of them one by one through a library take seconds.
"""

from __future__ import annotations

import bisect
import dataclasses
import os
import struct
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from gdb_prof.errors import FileError
from gdb_prof.printable import printable
from gdb_prof.profile.program.functions import Function, Segment, mode_at

_SYMBOL = struct.Struct("<IIIBBH")  # st_name, st_value, st_size, st_info, st_other, st_shndx
_LOCAL, _GLOBAL = 0, 1
_NOTYPE, _OBJECT, _FUNC, _FILE, _GNU_IFUNC = 0, 1, 2, 4, 10
_EXECINSTR, _ALLOC, _WRITE = 0x4, 0x2, 0x1
_LONGEST_NAME = 4096  # a mangled name of C++ or Rust is longer than what a person reads
# What pyelftools raises on damaged files, beside its own.
_DAMAGED = (
    *(ELFError, struct.error, ValueError, TypeError, LookupError, AttributeError),
    *(OverflowError, RecursionError, MemoryError),
)


class Symbol(NamedTuple):
    name: str
    address: int
    size: int
    kind: int
    bind: int
    section: int
    source: str


@dataclasses.dataclass(frozen=True)
class Section:
    name: str
    address: int
    size: int
    executable: bool
    writable: bool = False


class Image:
    """The symbols of one ELF file at its link-time addresses.

    Raises FileError when the file cannot be read or is no 32-bit little-endian ELF.
    """

    def __init__(self, path: str) -> None:
        self.name = printable(os.path.basename(path))
        try:
            with open(path, "rb") as file:
                elf = ELFFile(file)
                if elf.elfclass != 32 or not elf.little_endian:
                    raise FileError("%s: not a 32-bit little-endian ELF file" % path)
                self.entry = elf["e_entry"] & ~1
                self.sections = {
                    i: Section(
                        *(s.name, s["sh_addr"], s["sh_size"]),
                        bool(s["sh_flags"] & _EXECINSTR),
                        bool(s["sh_flags"] & _WRITE),
                    )
                    for i, s in enumerate(elf.iter_sections())
                    if s["sh_flags"] & _ALLOC
                }
                self.build_id = _build_id(elf)
                table = elf.get_section_by_name(".symtab")
                raw, strings = b"", b""
                if table is not None and table["sh_type"] == "SHT_SYMTAB":
                    raw = table.data()
                    strings = elf.get_section(table["sh_link"]).data()
        except OSError as error:
            raise FileError("%s: %s" % (path, error.strerror)) from None
        except _DAMAGED as error:
            raise FileError("%s: not an ELF file that can be read: %s" % (path, error)) from None
        self._path = path
        self._content: Dict[int, bytes] = {}
        self._symbols = _symbols(raw, strings)
        self._by_name: Dict[str, Symbol] = {}
        for symbol in self._symbols:
            known = self._by_name.get(symbol.name)
            if known is None or symbol.bind == _GLOBAL:
                self._by_name[symbol.name] = symbol

    @property
    def stripped(self) -> bool:
        return not any(s.kind == _FUNC for s in self._symbols)

    def find(self, name: str) -> Optional[Symbol]:
        """The symbol of that name, a global one first; its address as in the file."""
        return self._by_name.get(name)

    def variables(self) -> List[Symbol]:
        """The sized data objects in writable sections; addresses as in the file."""
        return [
            symbol
            for symbol in self._symbols
            if symbol.kind == _OBJECT
            and symbol.size
            and symbol.section in self.sections
            and self.sections[symbol.section].writable
        ]

    def content(self, index: int) -> bytes:
        """The bytes of a section; none where it has none in the file, or the file is gone."""
        if index not in self._content:
            try:
                with open(self._path, "rb") as file:
                    section = ELFFile(file).get_section(index)
                    self._content[index] = b"" if section["sh_type"] == "SHT_NOBITS" else section.data()
            except (OSError, *_DAMAGED):
                self._content[index] = b""
        return self._content[index]

    def functions(self, index: int) -> List[Segment]:
        """The functions of one section as stretches, sorted, without overlap."""
        section = self.sections[index]
        inside = [s for s in self._symbols if s.section == index and s.kind != _OBJECT]
        modes = self.modes(index)
        names: Dict[int, List[Symbol]] = {}
        for symbol in inside:
            if symbol.kind in (_FUNC, _GNU_IFUNC) and not _is_mapping(symbol.name):
                names.setdefault(symbol.address & ~1, []).append(symbol)
        covered = _Cover((a, a + _size(group)) for a, group in names.items() if _size(group))
        # A label without a type is code where a mapping symbol says so, and counts where
        # nothing else covers it: start-up code and veneers in assembly.
        typed = set(names)
        for symbol in inside:
            if (
                symbol.kind == _NOTYPE
                and symbol.bind != _LOCAL
                and symbol.address & ~1 not in typed
                and not covered.holds(symbol.address)
                and mode_at(modes, symbol.address) in ("t", "a")
            ):
                names.setdefault(symbol.address & ~1, []).append(symbol)
        limit = section.address + section.size
        starts = sorted(names)
        functions = []
        for at, start in enumerate(starts):
            group = names[start]
            best = min(group, key=_preference)
            if best.size:
                end = start + _size(group)
            elif covered.holds(start):
                continue  # a label inside a function is no function
            else:
                end = starts[at + 1] if at + 1 < len(starts) else limit
            functions.append(
                Function(
                    printable(best.name, _LONGEST_NAME),
                    start,
                    min(end, limit),
                    self.name,
                    printable(best.source),
                    guessed=not best.size,
                    aliases=len({s.name for s in group}) - 1,
                )
            )
        return _segments(functions)

    def modes(self, index: int) -> List[Tuple[int, str]]:
        """The mapping symbols of a section, sorted: (address, 't' or 'a' code, 'd' data)."""
        return sorted(
            (s.address, s.name[1]) for s in self._symbols if s.section == index and _is_mapping(s.name)
        )


Images = Sequence[Tuple[Image, Dict[int, int]]]
"""Each with the offset of its sections: run-time less link-time address."""


def content_at(images: Images, address: int, size: int) -> bytes:
    """The bytes at a run-time address as a file has them, to the end of its section at most; none
    where no file has any, or several do: overlays."""
    found = [
        content
        for image, index, at in _sections_at(images, address)
        for content in [image.content(index)[at : at + size]]
        if content
    ]
    return found[0] if len(found) == 1 else b""


def is_read_only(images: Images, address: int) -> bool:
    """Whether a section that is not written has the run-time address."""
    found = [image.sections[index] for image, index, _ in _sections_at(images, address)]
    return bool(found) and not any(section.writable for section in found)


def _sections_at(images: Images, address: int) -> Iterator[Tuple[Image, int, int]]:
    """The sections with a run-time address, and how far into them it is."""
    for image, offsets in images:
        for index, section in image.sections.items():
            at = address - section.address - offsets.get(index, 0)
            if 0 <= at < section.size:
                yield image, index, at


class _Cover:
    """A set of ranges: is an address strictly inside one?"""

    def __init__(self, ranges: Iterable[Tuple[int, int]]) -> None:
        self._starts: List[int] = []
        self._ends: List[int] = []
        for start, end in sorted(ranges):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def holds(self, address: int) -> bool:
        at = bisect.bisect_right(self._starts, address) - 1
        return at >= 0 and address < self._ends[at]


def _segments(functions: List[Function]) -> List[Segment]:
    """Each address to the function that begins last before it; in: sorted by address."""
    segments: List[Segment] = []
    open_: List[Function] = []  # those that enclose the position, outermost first
    position = 0

    def advance(until: int) -> None:
        nonlocal position
        while open_ and position < until:
            end = min(open_[-1].end, until)
            if end > position:
                segments.append((position, end, open_[-1]))
                position = end
            else:
                open_.pop()
        position = until

    for function in functions:
        advance(function.address)
        open_.append(function)
    advance(1 << 32)
    return segments


def _size(group: Sequence[Symbol]) -> int:
    """The size of a body with these names."""
    return max(symbol.size for symbol in group)


def _preference(symbol: Symbol) -> Tuple[bool, int, str]:
    """Sized before unsized, global before local before weak, then alphabetical."""
    return (not symbol.size, {_GLOBAL: 0, _LOCAL: 1}.get(symbol.bind, 2), symbol.name)


def _is_mapping(name: str) -> bool:
    """``$a``, ``$t``, ``$d``, ``$x``, with any suffix after a dot (ELF for the Arm Architecture, 5.5.5)."""
    return len(name) >= 2 and name[0] == "$" and name[1] in "atdx" and (len(name) == 2 or name[2] == ".")


def _symbols(raw: bytes, strings: bytes) -> List[Symbol]:
    symbols = []
    source = ""
    usable = len(raw) - len(raw) % _SYMBOL.size
    for name, value, size, info, _, section in _SYMBOL.iter_unpack(raw[:usable]):
        kind, bind = info & 15, info >> 4
        if kind == _FILE:
            source = _string(strings, name)
        if kind not in (_NOTYPE, _OBJECT, _FUNC, _GNU_IFUNC) or not name or not 0 < section < 0xFF00:
            continue
        symbols.append(
            Symbol(_string(strings, name), value, size, kind, bind, section, source if bind == _LOCAL else "")
        )
    return symbols


def _string(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else len(strings)].decode("utf-8", "surrogateescape")


def _build_id(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".note.gnu.build-id")
    if section is None or section["sh_type"] != "SHT_NOTE":
        return ""
    raw = section.data()
    if len(raw) < 16:
        return ""
    name_size, size, kind = struct.unpack_from("<III", raw)
    start = 12 + (name_size + 3 & ~3)
    return raw[start : start + size].hex() if kind == 3 else ""
