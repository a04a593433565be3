"""All registers of the core as one thing that can be put back."""

from __future__ import annotations

from typing import Dict, List

import gdb

from gdb_prof.errors import TargetError

_IT_ICI = 0x0600FC00
"""xPSR's IF-THEN and interrupted-continue bits (ARMv7-M ARM, B1.4.2). Left as they are,
they make the first instructions of any other code conditional: it may do nothing."""

_CONVENIENCE = "_gdb_prof_register"


class Registers:
    """The registers as they are now, the selected frame and thread among them.

    Made while stopped; `restore` writes back what has changed since.
    """

    def __init__(self) -> None:
        self._thread = gdb.selected_thread()
        self._level = level_of_selected_frame()
        gdb.newest_frame().select()
        self._values: Dict[str, gdb.Value] = {}
        for name in _names():
            try:
                value = gdb.newest_frame().read_register(name)
                value.fetch_lazy()
                self._values[name] = value
            except (gdb.error, ValueError):
                continue  # a stub may list what it cannot read
        self._texts = {name: str(value) for name, value in self._values.items()}

    def __getitem__(self, name: str) -> int:
        return int(self._values[name]) & 0xFFFFFFFF

    @property
    def status_name(self) -> str:
        """`xpsr` in QEMU, `xPSR` in OpenOCD."""
        for name in self._values:
            if name.lower() == "xpsr":
                return name
        raise TargetError("no xPSR among the target's registers: is this a Cortex-M?")

    def clear_it_bits(self) -> None:
        name = self.status_name
        gdb.execute("set $%s = 0x%x" % (name, self[name] & ~_IT_ICI), to_string=True)

    def restore(self) -> None:
        """Write back every register that differs, and select what was selected.

        Raises TargetError when one does not take its old value.
        """
        if self._thread is not None and self._thread.is_valid():
            self._thread.switch()
        gdb.newest_frame().select()
        # sp first: others (msp, psp) may be views of the same thing
        for name in sorted(self._values, key=lambda n: (n != "sp", n != "pc")):
            if self._now(name) != self._texts[name]:
                gdb.set_convenience_variable(_CONVENIENCE, self._values[name])
                gdb.execute("set $%s = $%s" % (name, _CONVENIENCE), to_string=True)
        gdb.set_convenience_variable(_CONVENIENCE, None)
        wrong = [name for name in self._values if self._now(name) != self._texts[name]]
        if wrong:
            raise TargetError("could not restore %s: the program cannot go on as it was" % ", ".join(wrong))
        frame = gdb.newest_frame()
        for _ in range(self._level):
            older = frame.older()
            if older is None:
                break
            frame = older
        frame.select()

    @staticmethod
    def _now(name: str) -> str:
        try:
            return str(gdb.newest_frame().read_register(name))
        except gdb.error:
            return ""


_CORE = [*("r%d" % number for number in range(13)), "sp", "lr", "pc", "xpsr", "xPSR"]


def _names() -> List[str]:
    architecture = gdb.newest_frame().architecture()
    if not hasattr(architecture, "registers"):  # before GDB 10
        return _CORE
    return [str(descriptor.name) for descriptor in architecture.registers()]


def level_of_selected_frame() -> int:
    level = 0
    frame = gdb.selected_frame().newer()
    while frame is not None:
        level += 1
        frame = frame.newer()
    return level
