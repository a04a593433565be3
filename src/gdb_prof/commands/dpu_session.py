"""What a session knows of the counters that it has set, and how a user enables the unit by hand."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence

import gdb

from gdb_prof.commands.dpu import Workbench
from gdb_prof.counters.dpu.reading import COUNTERS, control, value
from gdb_prof.counters.registers import Unit, Write
from gdb_prof.target.words import target_is_little


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

    def forget(self, counter: str) -> None:
        """Before it is set anew: a failure leaves it half set."""
        for register in (control(counter), value(counter)):
            self._written.pop(register, None)

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


def enabling(workbench: Workbench, unit: Unit, word: int) -> Optional[str]:
    """What a user types to set DP_CR.EN, where `word` is in DP_CR. None where its place is not known."""
    field = unit.description.field("DP_CR", "EN")
    if field is None or field.lsb is None:
        return None
    value = word | field.mask
    if workbench.is_little() != target_is_little():  # GDB writes in the target's order
        value = int.from_bytes(value.to_bytes(4, "little"), "big")
    return "set {unsigned}0x%08x = 0x%x" % (unit.address("DP_CR"), value)
