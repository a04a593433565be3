"""Words of a unit's registers in the live target, read and written in the unit's byte order."""

from __future__ import annotations

import struct
from typing import Tuple

import gdb

from gdb_prof.target import session
from gdb_prof.target.running import settings


def target_is_little() -> bool:
    """The byte order that GDB takes the target's for; in its own words, since the names of integer types are
    the language's."""
    return "big endian" not in gdb.execute("show endian", to_string=True)


class Words:
    """A `Memory` for counters.registers. Units lie in address ranges that some servers' memory maps do not
    list, and are reached all the same."""

    def __init__(self, little: bool = True) -> None:
        self._order = "<" if little else ">"

    def read(self, address: int, number: int, what: str) -> Tuple[int, ...]:
        """Raises TargetError."""
        session.require_stopped()
        with settings(("mem inaccessible-by-default", "off")):
            return struct.unpack(self._order + "%dI" % number, session.read(address, 4 * number, what))

    def write(self, address: int, value: int, what: str) -> None:
        """Raises TargetError. Not read back: who writes knows which bits hold."""
        session.require_stopped()
        with settings(("mem inaccessible-by-default", "off")):
            session.write(address, struct.pack(self._order + "I", value), what)
