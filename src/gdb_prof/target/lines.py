"""Source lines, inlined functions and readable names, from GDB's own debug information."""

from __future__ import annotations

import functools
from typing import List, Optional, Tuple

import gdb

from gdb_prof.printable import printable


class DebugLines:
    """Answers for one report, each address asked once (see profile.places.Lines)."""

    def __init__(self) -> None:
        self.line = functools.lru_cache(maxsize=None)(_line)
        self.definition = functools.lru_cache(maxsize=None)(_definition)
        self.inlined = functools.lru_cache(maxsize=None)(_inlined)


def _line(address: int) -> Optional[Tuple[str, int]]:
    try:
        found = gdb.find_pc_line(address)
    except gdb.error:
        return None
    if found.symtab is None or not found.line:
        return None
    return printable(found.symtab.filename), int(found.line)


def functions_at(address: int) -> List[gdb.Symbol]:
    """The functions at an address, innermost inlined one first."""
    found = []
    try:
        block = gdb.block_for_pc(address)
    except (RuntimeError, gdb.error):
        return []
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            found.append(block.function)
        block = block.superblock
    return found


def _definition(address: int) -> Optional[Tuple[str, int]]:
    # A function may begin with code inlined from a header, by the line table, and may be
    # declared in a header, by its debug entry: the one that is no header is the place.
    line, functions = _line(address), functions_at(address)
    if not functions or functions[-1].symtab is None:
        return line
    declared = printable(functions[-1].symtab.filename), int(functions[-1].line)
    if line is None or (_is_header(line[0]) and not _is_header(declared[0])):
        return declared
    return line


def _is_header(path: str) -> bool:
    return path.endswith((".h", ".hh", ".hpp", ".hxx", ".inc"))


def _inlined(address: int) -> Tuple[str, ...]:
    return tuple(printable(function.print_name) for function in functions_at(address))


def demangle(name: str) -> str:
    """A C++ or Rust symbol as its source says it; any other as it is."""
    if not name.startswith(("_Z", "_R", "__Z")):
        return name
    try:  # in the current language, which may be C, nothing is demangled; C++'s way knows Rust, too
        text = gdb.execute("demangle -l c++ -- %s" % name.split(maxsplit=1)[0], to_string=True).strip()
    except gdb.error:
        return name
    return printable(text) if text and not text.startswith("Can't demangle") else name
