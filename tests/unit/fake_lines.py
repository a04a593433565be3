"""What a debugger would say about addresses, as a test lists it."""

from __future__ import annotations

from typing import Dict, Optional, Sequence, Tuple

Place = Tuple[str, int]


class FakeLines:
    """See gdb_prof.profile.places.Lines; by address, and nothing where nothing is listed."""

    def __init__(
        self,
        lines: Optional[Dict[int, Place]] = None,
        definitions: Optional[Dict[int, Place]] = None,
        inlined: Optional[Dict[int, Sequence[str]]] = None,
    ) -> None:
        self._lines, self._definitions, self._inlined = lines or {}, definitions or {}, inlined or {}

    def line(self, address: int) -> Optional[Place]:
        return self._lines.get(address)

    def definition(self, address: int) -> Optional[Place]:
        return self._definitions.get(address)

    def inlined(self, address: int) -> Sequence[str]:
        return self._inlined.get(address, ())
