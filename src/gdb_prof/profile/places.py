"""Where an address is charged to: a function, a line, an address, a file, an inlined function."""

from __future__ import annotations

import dataclasses
import re
from typing import Callable, Hashable, NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_prof.profile.program.functions import Function, FunctionMap

# GCC's and LLVM's names for parts and copies of a function.
_CLONE = re.compile(r"(?:\.(?:part|isra|constprop|cold|lto_priv|llvm|clone)(?:\.\d+)*)+$")


class Lines(Protocol):
    """What only debug information tells about an address; the debugger provides it."""

    def line(self, address: int) -> Optional[Tuple[str, int]]:
        """File name and line; None where there is no line."""

    def definition(self, address: int) -> Optional[Tuple[str, int]]:
        """File name and line where the function at an address is defined."""

    def inlined(self, address: int) -> Sequence[str]:
        """The functions inlined at an address, innermost first, and the one they are in."""


class Host(NamedTuple):
    """The function that code inlined from others is in, or one on a call path: `key` tells it from
    others of its name."""

    key: Hashable
    name: str
    source: Optional[Tuple[str, int]]
    function: Optional[Function] = None


@dataclasses.dataclass(frozen=True)
class Row:
    """`samples` charged to one place. `name` is for sorting and showing."""

    name: str
    samples: int
    function: Optional[Function] = None
    address: Optional[int] = None
    source: Optional[Tuple[str, int]] = None
    tag: Optional[int] = None
    divided: int = 0
    """How many of the samples are this row's part of bins that it shares with others."""
    host: Optional[Host] = None
    """By inline: whose code it is in."""
    inlined: Tuple[str, ...] = ()
    """By inline: the functions that the code is from, outermost first; none where it is the host's own."""
    path: Tuple[Host, ...] = ()
    """By stack and calls: the function and those that called it, outermost first."""


Place = Callable[[int, Function], Tuple[Hashable, Row]]


def without_clone_suffix(name: str) -> str:
    """`parse` for `parse.constprop.1.isra.0`; other dots stay."""
    return _CLONE.sub("", name)


def by_function(functions: FunctionMap, lines: Lines, merge_clones: bool) -> Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        source = lines.definition(function.address) if function.symbol else None
        if merge_clones:
            name = without_clone_suffix(function.name)
            file = source[0] if source else functions.file_of(function, name)
            return (name, function.image, file), Row(name, 0, function, source=source)
        return (function.name, function.address, function.image), Row(
            function.name, 0, function, source=source
        )

    return place


def _by_line(functions: FunctionMap, lines: Lines, merge_clones: bool) -> Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        source = lines.line(address)
        if source is None:
            return by_function(functions, lines, merge_clones)(address, function)
        name = without_clone_suffix(function.name) if merge_clones else function.name
        return (source, name, function.image), Row(name, 0, function, source=source)

    return place


def _by_address(functions: FunctionMap, lines: Lines, merge_clones: bool) -> Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        name = function.name
        if function.symbol and address != function.address:
            name += "+%d" % (address - function.address)
        if functions.in_literal_pool(address):
            name += " (literal pool)"
        return address, Row(name, 0, function, address, lines.line(address))

    return place


def _by_file(functions: FunctionMap, lines: Lines, merge_clones: bool) -> Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        source = lines.line(address)
        name = source[0] if source else function.source or "(no source)"
        return name, Row(name, 0)

    return place


def _by_inline(functions: FunctionMap, lines: Lines, merge_clones: bool) -> Place:
    of_function = by_function(functions, lines, merge_clones)

    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        key, row = of_function(address, function)
        host = Host(key, row.name, row.source)
        chain = tuple(lines.inlined(address))
        if len(chain) < 2:
            return key, dataclasses.replace(row, host=host)
        name = chain[0] + " (in %s)" % ", in ".join(chain[1:])
        inlined = chain[-2::-1]
        source = lines.line(address)
        return (key, inlined), dataclasses.replace(row, name=name, source=source, host=host, inlined=inlined)

    return place


PLACES = {
    "function": by_function,
    "line": _by_line,
    "address": _by_address,
    "file": _by_file,
    "task": by_function,
    "inline": _by_inline,
}

KINDS = tuple(PLACES)
