"""Small structures in the target's memory, read a page at a time and each page once."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.target import session

_PAGE = 512


class Memory:
    """What was read stays read: make one for each command, while the target is stopped.

    Nothing is read that was not asked for, save the rest of its page; where a page cannot be
    read as a whole, only what was asked for is.
    """

    def __init__(self) -> None:
        self._pages: Dict[int, Optional[bytes]] = {}

    def read(self, address: int, size: int) -> bytes:
        """Raises TargetError where that cannot be read."""
        first, last = address // _PAGE, (address + size - 1) // _PAGE
        pages = [self._page(number) for number in range(first, last + 1)]
        if any(page is None for page in pages):
            return session.read(address, size, "the kernel's data")
        start = address - first * _PAGE
        return b"".join(page for page in pages if page is not None)[start : start + size]

    def word(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def _page(self, number: int) -> Optional[bytes]:
        if number not in self._pages:
            try:
                self._pages[number] = session.read(number * _PAGE, _PAGE, "the kernel's data")
            except TargetError:
                self._pages[number] = None
        return self._pages[number]


class Layout:
    """Offsets and sizes in bytes of a structure's fields, by name, as debug information has
    them; those of structures and unions in it as `outer.inner`."""

    def __init__(self, kind: gdb.Type) -> None:
        self.size = int(kind.sizeof)
        self._fields: Dict[str, Tuple[int, int]] = {}
        self._add(kind, "", 0)

    def _add(self, kind: gdb.Type, prefix: str, base: int) -> None:
        for field in kind.fields():
            bits = getattr(field, "bitpos", None)  # static members of C++ have none
            if field.type is None or bits is None:
                continue
            offset = base + int(bits) // 8
            inner = field.type.strip_typedefs()
            path = prefix + (field.name or "")
            if field.name:
                self._fields[path] = (offset, int(inner.sizeof))
            if inner.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
                self._add(inner, path + "." if field.name else prefix, offset)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def offset(self, name: str) -> int:
        return self._fields[name][0]

    def read(self, memory: Memory, address: int, name: str) -> bytes:
        offset, size = self._fields[name]
        return memory.read(address + offset, size)

    def number(self, memory: Memory, address: int, name: str) -> int:
        return int.from_bytes(self.read(memory, address, name), "little")


def layout(*names: str) -> Optional[Layout]:
    """Of the first of these types that debug information knows as a structure."""
    for name in names:
        try:
            kind = gdb.lookup_type(name).strip_typedefs()
        except gdb.error:
            continue
        if kind.code == gdb.TYPE_CODE_STRUCT and kind.fields():
            return Layout(kind)
    return None
