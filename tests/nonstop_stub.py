"""A GDB server with non-stop in front of the simulated Cortex-M4: it reads memory while the program runs.

    with NonStopStub(CortexM4(elf, SHARES)) as stub:
        gdb("set non-stop on", stub.connect, …)

GDB's User Manual, appendix E: packets; E.13: notifications.
"""

from __future__ import annotations

import struct
from typing import Callable, Optional, Tuple

from cortex_m4 import CortexM4
from debug_port import BusError
from remote_server import Fault, RemoteServer

_DHCSR, _KEY = 0xE000EDF0, 0xA05F0000
_DEBUGEN, _HALT, _STEP = 1, 2, 4
_FP_CTRL, _FP_COMP = 0xE0002000, 0xE0002008
_SIGTRAP = 5


class NonStopStub(RemoteServer):
    """The core is halted when GDB comes."""

    features = RemoteServer.features + ";QNonStop+"

    def __init__(self, core: CortexM4) -> None:
        super().__init__()
        self.core = core
        self._runs, self._signal = False, _SIGTRAP

    def began(self) -> None:
        self._control(_HALT)

    def waited(self) -> None:
        self.core.read(_DHCSR, 4)  # the core then sees what has happened to it
        if self._runs and self.core.halted:
            self._runs = False
            self.send("%", "Stop:T%02xthread:1;" % self._signal)

    def more(self) -> Tuple[Tuple[str, Callable[[str], Optional[str]]], ...]:
        return (
            ("?", lambda _: "OK" if self._runs else "T05thread:1;"),
            *(("vStopped", lambda _: "OK"), ("QNonStop:", lambda _: "OK")),
            *(("vCont?", lambda _: "vCont;c;C;s;S;t"), ("vCont;", self._resume)),
        )

    # -- the core ----------------------------------------------------------------------

    def _control(self, bits: int) -> None:
        self.core.write(_DHCSR, _KEY | _DEBUGEN | bits, 4)

    def _resume(self, actions: str) -> str:
        action = actions[:1]
        self._signal = 0 if action == "t" else _SIGTRAP
        if action != "t":
            self._runs = True
        self._control({"t": _HALT, "s": _STEP}.get(action, 0))
        return "OK"

    def register(self, number: int) -> int:
        return self.core.registers[number]

    def set_register(self, number: int, value: int) -> None:
        self.core.registers[number] = value

    def read(self, address: int, size: int) -> bytes:
        try:
            if address % 4 == 0 and size == 4:
                return struct.pack("<I", self.core.read(address, 4))
            return bytes(self.core.read(at, 1) for at in range(address, address + size))
        except BusError:
            raise Fault from None

    def write(self, address: int, content: bytes) -> None:
        try:
            if address % 4 == 0 and len(content) == 4:
                self.core.write(address, struct.unpack("<I", content)[0], 4)
            else:
                for at, byte in enumerate(content):
                    self.core.write(address + at, byte, 1)
        except BusError:
            raise Fault from None

    def breakpoints_changed(self) -> None:
        self.core.write(_FP_CTRL, 3, 4)
        for n in range(6):
            address = self.breakpoints[n] if n < len(self.breakpoints) else None
            half = 0 if address is None else (2 if address & 2 else 1) << 30 | address & 0x1FFFFFFC | 1
            self.core.write(_FP_COMP + 4 * n, half, 4)
