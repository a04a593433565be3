"""A GDB server with non-stop in front of the simulated Cortex-M4: it reads memory while the program runs.

    with NonStopStub(CortexM4(elf, SHARES)) as stub:
        gdb("set non-stop on", stub.connect, …)

GDB's User Manual, appendix E: packets; E.13: notifications.
"""

from __future__ import annotations

import re
import select
import socket
import struct
import threading
from types import TracebackType
from typing import Callable, Dict, List, Optional, Tuple, Type

from cortex_m4 import CortexM4
from debug_port import BusError

_DHCSR, _KEY = 0xE000EDF0, 0xA05F0000
_DEBUGEN, _HALT, _STEP = 1, 2, 4
_FP_CTRL, _FP_COMP = 0xE0002000, 0xE0002008
_XPSR = 25
"""The number by which GDB asks for xPSR."""
_SIGTRAP = 5
_POLL_S = 0.002
_NAMES = [*("r%d" % n for n in range(13)), "sp", "lr", "pc"]
_TARGET = (
    '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">'
    '<architecture>arm</architecture><feature name="org.gnu.gdb.arm.m-profile">%s'
    '<reg name="xpsr" bitsize="32" regnum="%d"/></feature></target>'
    % ("".join('<reg name="%s" bitsize="32"/>' % name for name in _NAMES), _XPSR)
)
_PACKET = re.compile(rb"\$([^#]*)#..|[+\-\x03]", re.DOTALL)


class NonStopStub:
    """Serves one GDB on a port that the system chose, in a thread. The core is halted when it comes."""

    def __init__(self, core: CortexM4) -> None:
        self.core = core
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=1)
        self._thread = threading.Thread(target=self._serve, name="stub", daemon=True)
        self._connection: Optional[socket.socket] = None
        self._acknowledges, self._runs, self._signal = True, False, _SIGTRAP
        self._breakpoints: List[int] = []
        self.failure: Optional[BaseException] = None

    @property
    def connect(self) -> str:
        """The GDB command that attaches."""
        return "target remote 127.0.0.1:%d" % self._listening.getsockname()[1]

    def __enter__(self) -> "NonStopStub":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._listening.close()
        if self._connection is not None:
            self._thread.join()
        if self.failure is not None and error is None:
            raise self.failure

    # -- packets -------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            self._connection, _ = self._listening.accept()
        except OSError:  # closed before anybody came
            return
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._control(_HALT)
            while self._serve_once(self._connection):
                pass
        except OSError:  # GDB has gone
            pass
        except Exception as failure:  # for the test to raise, which else would wait for an answer
            self.failure = failure
        finally:
            self._connection.close()

    def _serve_once(self, connection: socket.socket) -> bool:
        """What came, and whether the program has stopped. False at the end."""
        ready, _, _ = select.select([connection], [], [], _POLL_S)
        if ready:
            received = connection.recv(65536)
            while received and received.count(b"$") > received.count(b"#"):
                received += connection.recv(65536)
            if not received:
                return False
            for packet in _PACKET.finditer(received):
                if packet.group(1) is None:
                    continue
                if self._acknowledges:
                    connection.sendall(b"+")
                text = packet.group(1).decode("latin-1")
                if text.startswith("k"):
                    return False
                self._send("$", self._answer(text))
        self._notify()
        return True

    def _send(self, kind: str, text: str) -> None:
        assert self._connection is not None
        self._connection.sendall(("%s%s#%02x" % (kind, text, sum(text.encode()) & 0xFF)).encode())

    def _notify(self) -> None:
        self.core.read(_DHCSR, 4)  # the core then sees what has happened to it
        if self._runs and self.core.halted:
            self._runs = False
            self._send("%", "Stop:T%02xthread:1;" % self._signal)

    def _answer(self, packet: str) -> str:
        fixed: Dict[str, str] = {
            "?": "OK" if self._runs else "T05thread:1;",
            **{"D": "OK", "vStopped": "OK", "vCont?": "vCont;c;C;s;S;t", "qC": "QC1", "qAttached": "1"},
            **{"qfThreadInfo": "m1", "qsThreadInfo": "l", "QNonStop:1": "OK", "QNonStop:0": "OK"},
        }
        if packet in fixed:
            return fixed[packet]
        answers: Tuple[Tuple[str, Callable[[str], str]], ...] = (
            ("qSupported", lambda _: "PacketSize=1000;qXfer:features:read+;QNonStop+;QStartNoAckMode+"),
            *(("QStartNoAckMode", self._no_acknowledge), ("qXfer:features:read:target.xml:", self._target)),
            *(("vCont;", self._resume), ("g", self._all_registers), ("p", self._register)),
            *(("P", self._set_register), ("m", self._read), ("M", self._write)),
            *(("Z", self._insert), ("z", self._remove), ("H", lambda _: "OK"), ("T", lambda _: "OK")),
        )
        return next((answer(packet[len(p) :]) for p, answer in answers if packet.startswith(p)), "")

    def _no_acknowledge(self, _: str) -> str:
        self._acknowledges = False
        return "OK"

    def _target(self, arguments: str) -> str:
        offset, length = (int(word, 16) for word in arguments.split(","))
        return ("l" if offset + length >= len(_TARGET) else "m") + _TARGET[offset : offset + length]

    # -- the core ------------------------------------------------------------------

    def _control(self, bits: int) -> None:
        self.core.write(_DHCSR, _KEY | _DEBUGEN | bits, 4)

    def _resume(self, actions: str) -> str:
        action = actions[:1]
        self._signal = 0 if action == "t" else _SIGTRAP
        if action != "t":
            self._runs = True
        self._control({"t": _HALT, "s": _STEP}.get(action, 0))
        return "OK"

    def _all_registers(self, _: str) -> str:
        return "".join(self._hex(self.core.registers[n]) for n in range(16))

    def _register(self, number: str) -> str:
        return self._hex(self.core.registers[self._number(number)])

    def _set_register(self, assignment: str) -> str:
        number, value = assignment.split("=")
        self.core.registers[self._number(number)] = struct.unpack("<I", bytes.fromhex(value))[0]
        return "OK"

    @staticmethod
    def _number(text: str) -> int:
        return 16 if int(text, 16) == _XPSR else int(text, 16)

    @staticmethod
    def _hex(value: int) -> str:
        return struct.pack("<I", value).hex()

    def _read(self, arguments: str) -> str:
        address, size = (int(word, 16) for word in arguments.split(","))
        try:
            if address % 4 == 0 and size == 4:
                return self._hex(self.core.read(address, 4))
            return bytes(self.core.read(at, 1) for at in range(address, address + size)).hex()
        except BusError:
            return "E01"

    def _write(self, arguments: str) -> str:
        place, content = arguments.split(":")
        address, size = (int(word, 16) for word in place.split(","))
        value = bytes.fromhex(content)
        try:
            if address % 4 == 0 and size == 4:
                self.core.write(address, struct.unpack("<I", value)[0], 4)
            else:
                for at, byte in enumerate(value):
                    self.core.write(address + at, byte, 1)
        except BusError:
            return "E01"
        return "OK"

    def _insert(self, arguments: str) -> str:
        kind, address = arguments.split(",")[:2]
        if kind in "01":
            self._breakpoints.append(int(address, 16))
            self._patch()
        return "OK" if kind in "01" else ""

    def _remove(self, arguments: str) -> str:
        kind, address = arguments.split(",")[:2]
        if kind in "01":
            self._breakpoints.remove(int(address, 16))
            self._patch()
        return "OK" if kind in "01" else ""

    def _patch(self) -> None:
        self.core.write(_FP_CTRL, 3, 4)
        for n in range(6):
            address = self._breakpoints[n] if n < len(self._breakpoints) else None
            half = 0 if address is None else (2 if address & 2 else 1) << 30 | address & 0x1FFFFFFC | 1
            self.core.write(_FP_COMP + 4 * n, half, 4)
