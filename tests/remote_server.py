"""The packets of a GDB server, for simulated targets: registers of an M-profile core, memory, breakpoints.

GDB's User Manual, appendix E. `RemoteServer` is the base; what runs, and how it is stopped, is a subclass's.
`DeviceServer` is one for a `Machine`: all-stop, as most servers are.

    with DeviceServer(machine) as server:
        gdb(server.connect, …)
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import struct
import threading
from types import TracebackType
from typing import Callable, Dict, List, Optional, Protocol, Set, Tuple, Type, TypeVar

_SERVER = TypeVar("_SERVER", bound="RemoteServer")
_XPSR = 25
"""The number by which GDB asks for xPSR."""
_SIGINT, _SIGTRAP = 2, 5
_POLL_S = 0.002
_NAMES = [*("r%d" % n for n in range(13)), "sp", "lr", "pc"]
_TARGET = (
    '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">'
    '<architecture>arm</architecture><feature name="org.gnu.gdb.arm.m-profile">%s'
    '<reg name="xpsr" bitsize="32" regnum="%d"/></feature></target>'
    % ("".join('<reg name="%s" bitsize="32"/>' % name for name in _NAMES), _XPSR)
)
_PACKET = re.compile(rb"\$([^#]*)#..|[+\-\x03]", re.DOTALL)


class Fault(Exception):
    """There is nothing at an address."""


class RemoteServer:
    """Serves one GDB on a port that the system chose, in a thread."""

    features = "PacketSize=1000;qXfer:features:read+;QStartNoAckMode+"

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=1)
        self._thread = threading.Thread(target=self._serve, name="stub", daemon=True)
        self.connection: Optional[socket.socket] = None
        self._acknowledges = True
        self.failure: Optional[BaseException] = None
        self.breakpoints: List[int] = []

    @property
    def connect(self) -> str:
        """The GDB command that attaches."""
        return "target remote 127.0.0.1:%d" % self._listening.getsockname()[1]

    def __enter__(self: _SERVER) -> _SERVER:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self.connection is None:
            # closing alone would not wake who waits there
            with contextlib.suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        if self.failure is not None and error is None:
            raise self.failure

    # -- what a subclass has -----------------------------------------------------------

    def began(self) -> None:
        """A GDB has come: halt."""

    def waited(self) -> None:
        """Called again and again while nothing comes."""

    def interrupted(self) -> None:
        """Ctrl-C came."""

    def more(self) -> Tuple[Tuple[str, Callable[[str], Optional[str]]], ...]:
        """Further packets by what they begin with; an answer of None: none yet."""
        raise NotImplementedError

    def register(self, number: int) -> int:
        """r0 to r15, 16 is xPSR."""
        raise NotImplementedError

    def set_register(self, number: int, value: int) -> None:
        raise NotImplementedError

    def read(self, address: int, size: int) -> bytes:
        """Raises Fault."""
        raise NotImplementedError

    def write(self, address: int, content: bytes) -> None:
        """Raises Fault."""
        raise NotImplementedError

    def breakpoints_changed(self) -> None:
        """`breakpoints` has other addresses."""

    # -- packets -----------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            self.connection, _ = self._listening.accept()
        except OSError:  # closed before anybody came
            return
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.began()
            while self._serve_once(self.connection):
                pass
        except OSError:  # GDB has gone
            pass
        except Exception as failure:  # for the test to raise, which else would wait for an answer
            self.failure = failure
        finally:
            self.connection.close()

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
                    if packet.group() == b"\x03":
                        self.interrupted()
                    continue
                if self._acknowledges:
                    connection.sendall(b"+")
                text = packet.group(1).decode("latin-1")
                if text.startswith("k"):
                    return False
                answer = self._answer(text)
                if answer is not None:
                    self.send("$", answer)
        self.waited()
        return True

    def send(self, kind: str, text: str) -> None:
        assert self.connection is not None
        self.connection.sendall(("%s%s#%02x" % (kind, text, sum(text.encode()) & 0xFF)).encode())

    def _answer(self, packet: str) -> Optional[str]:
        fixed: Dict[str, str] = {
            **{"D": "OK", "qC": "QC1", "qAttached": "1", "qfThreadInfo": "m1", "qsThreadInfo": "l"},
        }
        if packet in fixed:
            return fixed[packet]
        answers: Tuple[Tuple[str, Callable[[str], Optional[str]]], ...] = (
            *self.more(),
            ("qSupported", lambda _: self.features),
            *(("QStartNoAckMode", self._no_acknowledge), ("qXfer:features:read:target.xml:", self._target)),
            *(("g", self._all_registers), ("p", self._register), ("P", self._set_register)),
            *(("m", self._read), ("M", self._write), ("Z", self._insert), ("z", self._remove)),
            *(("H", lambda _: "OK"), ("T", lambda _: "OK")),
        )
        return next((answer(packet[len(p) :]) for p, answer in answers if packet.startswith(p)), "")

    def _no_acknowledge(self, _: str) -> str:
        self._acknowledges = False
        return "OK"

    @staticmethod
    def _target(arguments: str) -> str:
        offset, length = (int(word, 16) for word in arguments.split(","))
        return ("l" if offset + length >= len(_TARGET) else "m") + _TARGET[offset : offset + length]

    def _all_registers(self, _: str) -> str:
        return "".join(self._hex(self.register(n)) for n in range(16))

    def _register(self, number: str) -> str:
        return self._hex(self.register(self._number(number)))

    def _set_register(self, assignment: str) -> str:
        number, value = assignment.split("=")
        self.set_register(self._number(number), struct.unpack("<I", bytes.fromhex(value))[0])
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
            return self.read(address, size).hex()
        except Fault:
            return "E01"

    def _write(self, arguments: str) -> str:
        place, content = arguments.split(":")
        try:
            self.write(int(place.split(",")[0], 16), bytes.fromhex(content))
        except Fault:
            return "E01"
        return "OK"

    def _insert(self, arguments: str) -> str:
        kind, address = arguments.split(",")[:2]
        if kind not in "01":
            return ""
        self.breakpoints.append(int(address, 16))
        self.breakpoints_changed()
        return "OK"

    def _remove(self, arguments: str) -> str:
        kind, address = arguments.split(",")[:2]
        if kind not in "01":
            return ""
        self.breakpoints.remove(int(address, 16))
        self.breakpoints_changed()
        return "OK"


class Machine(Protocol):
    """What a `DeviceServer` shows. `registers`: r0 to r15 and xPSR."""

    registers: List[int]

    def read(self, address: int, size: int) -> bytes:
        """Raises Fault."""

    def write(self, address: int, content: bytes) -> None:
        """Raises Fault."""

    def run(self, breakpoints: Set[int], only_one: bool) -> bool:
        """Go on for a little, or for one instruction. True where it has come to a breakpoint: the PC is there."""


class DeviceServer(RemoteServer):
    """All-stop: silent while the program runs, then a stop reply."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self._runs = self._one = False
        self.reads = 0
        """How many reads of memory came over the wire."""

    def more(self) -> Tuple[Tuple[str, Callable[[str], Optional[str]]], ...]:
        return (
            ("?", lambda _: "T%02x" % _SIGTRAP),
            ("vCont?", lambda _: "vCont;c;C;s;S"),
            *(("vCont;c", self._continue), ("vCont;C", self._continue), ("c", self._continue)),
            *(("vCont;s", self._step), ("vCont;S", self._step), ("s", self._step)),
        )

    def _continue(self, _: str) -> None:
        self._runs, self._one = True, False

    def _step(self, _: str) -> None:
        self._runs = self._one = True

    def waited(self) -> None:
        if self._runs and (self.machine.run(set(self.breakpoints), self._one) or self._one):
            self._stopped(_SIGTRAP)

    def interrupted(self) -> None:
        if self._runs:
            self._stopped(_SIGINT)

    def _stopped(self, signal: int) -> None:
        self._runs = False
        self.send("$", "T%02xthread:1;" % signal)

    def register(self, number: int) -> int:
        return self.machine.registers[number]

    def set_register(self, number: int, value: int) -> None:
        self.machine.registers[number] = value

    def read(self, address: int, size: int) -> bytes:
        self.reads += 1
        return self.machine.read(address, size)

    def write(self, address: int, content: bytes) -> None:
        self.machine.write(address, content)
