"""What memory the program uses, as far as its file and its stack pointer tell."""

from __future__ import annotations

import contextlib
from typing import List, Optional, Tuple

import gdb

from gdb_prof.errors import GdbProfError
from gdb_prof.printable import printable
from gdb_prof.target import session
from gdb_prof.target.images import Program
from gdb_prof.wording import some

_BELOW_STACK = 256
"""Bytes under the stack pointer that a call or an interrupt will use."""
_LARGEST_STACK = 0x10000
_VTOR = 0xE000ED08
_MOST = 3


def in_use(program: Optional[Program], first: int, end: int, own: bool = False) -> List[str]:
    """What the program has in [first, end), in words. `own`: it is an array of the program's that is meant to
    be written over. Without its file what the stack pointer tells."""
    used: List[str] = []
    if program is not None and not own:
        used += _symbols(program, first, end) or _sections(program, first, end)
    low, high = _stack()
    if first < high and low < end:
        used.append("the stack, 0x%08x to 0x%08x" % (low, high - 1))
    return used


def _symbols(program: Program, first: int, end: int) -> List[str]:
    names = [
        printable(symbol.name)
        for symbol in sorted(program.variables(), key=lambda symbol: symbol.address)
        if symbol.address < end and first < symbol.address + symbol.size
    ]
    return [some(names, _MOST)] if names else []


def _sections(program: Program, first: int, end: int) -> List[str]:
    return [
        printable(section.name)
        for image, offsets in program.images
        for index, section in image.sections.items()
        for address in [section.address + offsets.get(index, 0)]
        if address < end and first < address + section.size
    ]


def _stack() -> Tuple[int, int]:
    """What is in use of the current stack, and a little below: up to the main stack's top where the stack
    pointer is in its reach, else a little above."""
    sp = int(gdb.newest_frame().read_register("sp")) & 0xFFFFFFFF
    top = 0
    with contextlib.suppress(GdbProfError):
        vectors = session.read_system_word(_VTOR, "VTOR")
        top = session.read_word(vectors, "the main stack's top")
    if not sp <= top <= sp + _LARGEST_STACK:
        top = sp + _BELOW_STACK
    return sp - _BELOW_STACK, top
