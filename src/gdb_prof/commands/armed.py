"""A stop that waits at an address of the program, and what is done when it is reached."""

from __future__ import annotations

from typing import Callable, Optional

import gdb

from gdb_prof.target import running


class Armed:
    """At most one stop at a time. It goes when it is reached, and with the program."""

    def __init__(self) -> None:
        self._stop: Optional[running.Stop] = None
        self._reached: Optional[Callable[[], None]] = None
        gdb.events.stop.connect(self._stopped)
        gdb.events.exited.connect(lambda event: self.disarm())
        gdb.events.clear_objfiles.connect(lambda event: self.disarm())

    def arm(self, address: Optional[int], reached: Callable[[], None]) -> None:
        """Have `continue` come back at the address, and call `reached` then."""
        self.disarm()
        if address is not None:
            self._stop, self._reached = running.Stop(address), reached

    def disarm(self) -> None:
        if self._stop is not None and self._stop.is_valid():
            self._stop.delete()
        self._stop = self._reached = None

    def _stopped(self, event: gdb.Event) -> None:
        if self._stop is None or self._stop not in (getattr(event, "breakpoints", None) or ()):
            return
        reached = self._reached
        self.disarm()
        if reached is not None:
            reached()
