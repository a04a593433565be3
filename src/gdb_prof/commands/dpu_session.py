"""What a session knows of the counters that it has set."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

import gdb

from gdb_prof.counters.dpu.reading import COUNTERS, control, value
from gdb_prof.counters.registers import Write


class Session:
    """`written`: the workbench's. A preset is forgotten where the user writes over it, since the value that
    counts down tells nobody."""

    def __init__(self, written: Dict[str, int]) -> None:
        self._written = written
        self._addresses: Dict[int, str] = {}
        self._resumed = 0
        self._since: Dict[str, int] = {}
        gdb.events.cont.connect(self._continued)
        gdb.events.memory_changed.connect(self._changed)

    def _continued(self, _: Any) -> None:
        self._resumed += 1

    def _changed(self, event: Any) -> None:
        """Memory was written, by the user or by us; what we write is noted afterwards."""
        first, beyond = int(event.address), int(event.address) + int(event.length)
        for address, register in self._addresses.items():
            if first < address + 4 and address < beyond:
                self._written.pop(register, None)

    def forget(self, counter: str) -> Dict[str, int]:
        """Before it is set anew: a failure may leave it half set. What was known of it, for `recall`."""
        names = [name for name in (control(counter), value(counter)) if name in self._written]
        return {name: self._written.pop(name) for name in names}

    def recall(self, known: Mapping[str, int]) -> None:
        """Where all is as it was."""
        self._written.update(known)

    def wrote(self, counter: str, address: int, writes: Sequence[Write]) -> None:
        """`address`: of the value."""
        self._written.update({write.register: write.value for write in writes})
        self._addresses[address] = value(counter)
        self._since[counter] = self._resumed

    def stops(self) -> Dict[str, int]:
        """By counter, how often the program was stopped and went on since it was set: the first `continue`
        only lets it begin."""
        return {
            name: max(self._resumed - self._since[name] - 1, 0)
            for name in COUNTERS
            if name in self._since and value(name) in self._written
        }
