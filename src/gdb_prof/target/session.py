"""The live target: is there one, is it stopped, what does its memory hold."""

from __future__ import annotations

import struct

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.target.running import settings


def require_stopped() -> None:
    """Raise TargetError unless there is a live target and it is stopped.

    Without a live target GDB reads memory from the ELF file, where all of ``.bss`` is
    zero: a profile would look empty and true.
    """
    if gdb.selected_inferior().pid == 0:
        raise TargetError("no target: connect to one first (target remote …)")
    thread = gdb.selected_thread()
    if thread is None or not thread.is_valid():
        raise TargetError("no thread is selected: is the target connected?")
    if thread.is_running():
        raise TargetError("the target is running: interrupt it first (Ctrl-C)")


_gone = [0]
"""How many programs have ended, or were let go of: what a connection was good for until then."""


def _count_gone(event: object) -> None:
    _gone[0] += 1


gdb.events.exited.connect(_count_gone)


def connection() -> object:
    """Tells one connection from the next, and from itself where its program has ended meanwhile. GDB before
    12 gives connections no number."""
    return _number(), _gone[0]


def _number() -> object:
    return getattr(getattr(gdb.selected_inferior(), "connection", None), "num", None)


def is_still(connected: object) -> bool:
    """Whether there is a live target, by this connection."""
    return gdb.selected_inferior().pid != 0 and connection() == connected


def read(address: int, size: int, what: str) -> bytes:
    """`size` bytes of memory in one request. Raises TargetError naming `what` was read.

    From the target, also where the user has GDB take read-only sections from the file: what is
    read here is to be what is there.
    """
    if gdb.parameter("trust-readonly-sections"):
        with settings(("trust-readonly-sections", "off")):
            return _read(address, size, what)
    return _read(address, size, what)


def _read(address: int, size: int, what: str) -> bytes:
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.error as error:
        raise TargetError("cannot read %s at 0x%08x: %s" % (what, address, error)) from None


def read_system_word(address: int, what: str) -> int:
    """A word of the System Control Space or of a peripheral.

    Some servers' memory maps list only flash and RAM, and GDB then refuses the rest unread:
    not for this read.
    """
    with settings(("mem inaccessible-by-default", "off")):
        return read_word(address, what)


def read_word(address: int, what: str) -> int:
    return int(struct.unpack("<I", read(address, 4, what))[0])


def write(address: int, content: bytes, what: str) -> None:
    """Raises TargetError naming `what` was to be written."""
    try:
        gdb.selected_inferior().write_memory(address, content)
    except gdb.error as error:
        raise TargetError("cannot write %s at 0x%08x: %s" % (what, address, error)) from None


def write_word(address: int, value: int, what: str) -> None:
    """Write a 32-bit word and read it back: some servers drop writes without an error."""
    write(address, struct.pack("<I", value), what)
    if read_word(address, what) != value:
        raise TargetError(
            "%s at 0x%08x did not take 0x%x: is that address RAM here?" % (what, address, value)
        )
