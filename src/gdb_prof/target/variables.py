"""Several global variables as one snapshot."""

from __future__ import annotations

import struct
from typing import Dict, Optional, Sequence, Tuple

from gdb_prof.profile.program.image import Symbol
from gdb_prof.target import session


class Variables:
    """Global variables of the program, read at once where they lie together. Raises TargetError."""

    _SLACK = 4096

    def __init__(self, symbols: Dict[str, Symbol]) -> None:
        self._symbols = symbols
        self._raw: Dict[str, bytes] = {}
        start = min(s.address for s in symbols.values())
        end = max(s.address + s.size for s in symbols.values())
        if end - start <= sum(s.size for s in symbols.values()) + self._SLACK:
            block = session.read(start, end - start, "the program's variables")
            for name, s in symbols.items():
                self._raw[name] = block[s.address - start : s.address - start + s.size]
        else:
            for name, s in symbols.items():
                self._raw[name] = session.read(s.address, s.size, "`%s`" % name)

    def put_back(self, names: Sequence[str]) -> None:
        """Write these variables again as they were read."""
        for name in names:
            if name in self._raw:
                session.write(self._symbols[name].address, self._raw[name], "`%s`" % name)

    def bytes(self, name: str) -> Optional[bytes]:
        return self._raw.get(name)

    def words(self, name: str) -> Optional[Tuple[int, ...]]:
        raw = self._raw.get(name)
        return None if raw is None else struct.unpack("<%dI" % (len(raw) // 4), raw[: len(raw) & ~3])

    def word(self, name: str) -> Optional[int]:
        words = self.words(name)
        return words[0] if words else None
