"""Tiny ELF files for a Cortex-M, from the sections and symbols that a test lists."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Sequence

from gdb_prof.profile.program.image import Image

_TYPES = {"NOTYPE": 0, "OBJECT": 1, "FUNC": 2, "FILE": 4}
_BINDS = {"LOCAL": 0, "GLOBAL": 1, "WEAK": 2}
_FLAGS = {"W": 1, "A": 2, "X": 4}
_SYMTAB, _STRTAB, _NOBITS, _PROGBITS, _ABS = 2, 3, 8, 1, 0xFFF1


class Section(NamedTuple):
    name: str
    address: int
    size: int
    flags: str = "AX"
    """W writable, A allocated, X code; N: without bytes in the file."""


def image(sections: Sequence[Section], symbols: str = "", name: str = "app.elf") -> Image:
    return image_of(elf(sections, symbols), name)


def image_of(content: bytes, name: str = "app.elf") -> Image:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return Image(str(path))


def elf(sections: Sequence[Section], symbols: str = "") -> bytes:
    """A 32-bit little-endian file for Arm; without symbols a stripped one.

    A line of `symbols` is ``value size type bind name [section]``, numbers in hex; without
    a section it is the first one that holds the value.
    """
    body, headers = b"", [struct.pack("<10I", *[0] * 10)]
    names = _strings([s.name for s in sections] + [".symtab", ".strtab", ".shstrtab"])

    def add(name: str, kind: int, flags: int, address: int, size: int, content: bytes, *rest: int) -> None:
        nonlocal body
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        headers.append(struct.pack("<10I", at, kind, flags, address, 52 + len(body), size, *rest))
        body += content

    for s in sections:
        kind = _NOBITS if "N" in s.flags else _PROGBITS
        flags = sum(_FLAGS[f] for f in s.flags if f in _FLAGS)
        add(s.name, kind, flags, s.address, s.size, b"" if kind == _NOBITS else bytes(s.size), 0, 0, 4, 0)
    lines = [line.split() for line in symbols.splitlines() if line.strip()]
    if lines:
        strings = _strings([line[4] for line in lines])
        table = bytes(16) + b"".join(_symbol(line, strings, sections) for line in lines)
        add(".symtab", _SYMTAB, 0, 0, len(table), table, len(sections) + 2, 1, 4, 16)
        add(".strtab", _STRTAB, 0, 0, len(strings), strings, 0, 0, 1, 0)
    add(".shstrtab", _STRTAB, 0, 0, len(names), names, 0, 0, 1, 0)
    header = struct.pack(
        "<16sHHIIIIIHHHHHH",
        *(b"\x7fELF\x01\x01\x01", 2, 40, 1, 0, 0, 52 + len(body), 0x05000000),
        *(52, 0, 0, 40, len(headers), len(headers) - 1),
    )
    return header + body + b"".join(headers)


def _strings(names: Sequence[str]) -> bytes:
    return b"\0" + b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)


def _symbol(line: List[str], strings: bytes, sections: Sequence[Section]) -> bytes:
    value, size, name = int(line[0], 16), int(line[1], 16), line[4].encode("utf-8", "surrogateescape")
    index = _ABS
    for i, s in reversed(list(enumerate(sections, 1))):
        if line[5:] == [s.name] or (len(line) == 5 and s.address <= value < s.address + s.size):
            index = i
    if line[2] == "FILE":
        index = _ABS
    info = _BINDS[line[3]] << 4 | _TYPES[line[2]]
    return struct.pack("<IIIBBH", strings.index(b"\0" + name + b"\0") + 1, value, size, info, 0, index)
