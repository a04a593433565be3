"""A debug port without hardware: JTAG TAP, ADIv5 JTAG-DP and one MEM-AP, behind OpenOCD's `remote_bitbang`.

Wire: one character a request (OpenOCD, doc/manual/jtag/drivers/remote_bitbang.txt): '0'..'7' sets TCK (4),
TMS (2) and TDI (1), 'R' asks for TDO, answered '0' or '1', 'Q' ends. States of the TAP: IEEE 1149.1.
Registers of DP and AP: Arm IHI 0031 (ADIv5.2), B2.2 and C2.6.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from types import TracebackType
from typing import Dict, List, Optional, Protocol, Type

IDCODE = 0x4BA00477
"""Of Arm's JTAG-DP, as on every Cortex-M4."""
_MEM_AP = 0x24770011
"""IDR of the AHB-AP of a Cortex-M4."""
_ABORT, _DPACC, _APACC, _IDCODE = 0x8, 0xA, 0xB, 0xE
_OK = 2
_POWER = 0x50000000
_POWERED = _POWER << 1
_STICKY = 1 << 5
_INCREMENT = 0x1000
"""The address increments within so many bytes and then begins again."""


class BusError(Exception):
    """Nothing answers at this address."""


class Bus(Protocol):
    """What is behind the MEM-AP. `size`: 1, 2 or 4 bytes; the address is aligned. Raises BusError."""

    def read(self, address: int, size: int) -> int: ...

    def write(self, address: int, value: int, size: int) -> None: ...


class DebugPort:
    """DP and AP: what is read stays in a buffer that the next scan brings out."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.buffer = 0
        self._select = self._control = self._sticky = 0
        self._status, self._address = 0x43000042, 0

    def abort(self) -> None:
        self._sticky = 0

    def port(self, register: int, value: int, reads: bool) -> None:
        if not reads:
            if register == 0x4:
                self._control = value
                self._sticky &= ~value
            elif register == 0x8:
                self._select = value
        elif register == 0x4:
            powered = (self._control & _POWER) << 1
            self.buffer = self._control & 0x50000F00 | powered & _POWERED | self._sticky
        elif register == 0x8:
            self.buffer = self._select
        elif register == 0x0:
            self.buffer = 0

    def access(self, register: int, value: int, reads: bool) -> None:
        """The AP. After an error nothing is done until that is cleared."""
        if self._sticky:
            return
        register |= self._select & 0xF0
        if self._select >> 24:  # there is only the first
            self.buffer = 0 if reads else self.buffer
            return
        try:
            if reads:
                self.buffer = self._read(register)
            else:
                self._write(register, value)
        except BusError:
            self._sticky = _STICKY

    def _read(self, register: int) -> int:
        if register == 0x0C:
            size = 1 << (self._status & 7)
            value = self._bus.read(self._address, size) << 8 * (self._address & 3)
            self._next(size)
            return value & 0xFFFFFFFF
        if 0x10 <= register <= 0x1C:
            return self._bus.read(self._address & ~0xF | register & 0xC, 4)
        known: Dict[int, int] = {0x00: self._status, 0x04: self._address, 0xF8: 0xE00FF003, 0xFC: _MEM_AP}
        return known.get(register, 0)

    def _write(self, register: int, value: int) -> None:
        if register == 0x00:
            packed = 0x20 & value  # not offered: the field stays at no increment, as a server finds out
            self._status = 0x40 | value & ~(0x30 if packed else 0)
        elif register == 0x04:
            self._address = value
        elif register == 0x0C:
            size = 1 << (self._status & 7)
            lanes = value >> 8 * (self._address & 3) & (1 << 8 * size) - 1
            self._bus.write(self._address, lanes, size)
            self._next(size)
        elif 0x10 <= register <= 0x1C:
            self._bus.write(self._address & ~0xF | register & 0xC, value, 4)

    def _next(self, size: int) -> None:
        if self._status & 0x10:
            block = self._address & ~(_INCREMENT - 1)
            self._address = block | self._address + size & _INCREMENT - 1


(_RESET, _IDLE, _SELECT_DR, _CAPTURE_DR, _SHIFT_DR, _EXIT1_DR, _PAUSE_DR, _EXIT2_DR, _UPDATE_DR) = range(9)
(_SELECT_IR, _CAPTURE_IR, _SHIFT_IR, _EXIT1_IR, _PAUSE_IR, _EXIT2_IR, _UPDATE_IR) = range(9, 16)
_NEXT = (
    *((_IDLE, _RESET), (_IDLE, _SELECT_DR), (_CAPTURE_DR, _SELECT_IR), (_SHIFT_DR, _EXIT1_DR)),
    *((_SHIFT_DR, _EXIT1_DR), (_PAUSE_DR, _UPDATE_DR), (_PAUSE_DR, _EXIT2_DR), (_SHIFT_DR, _UPDATE_DR)),
    *((_IDLE, _SELECT_DR), (_CAPTURE_IR, _RESET), (_SHIFT_IR, _EXIT1_IR), (_SHIFT_IR, _EXIT1_IR)),
    *((_PAUSE_IR, _UPDATE_IR), (_PAUSE_IR, _EXIT2_IR), (_SHIFT_IR, _UPDATE_IR), (_IDLE, _SELECT_DR)),
)
"""The state after a rising edge of TCK with TMS 0 and 1."""

_REQUEST = re.compile(rb"(?:[01]R?[45])+|.", re.DOTALL)
"""Bits shifted with TMS 0 together, since they are nine tenths of all; every other character alone."""
_NOT_A_BIT = bytes(set(range(256)) - set(b"45"))
_BITS = bytes.maketrans(b"45", b"01")


class Tap:
    """The TAP: characters in, TDO out."""

    def __init__(self, port: DebugPort) -> None:
        self._port = port
        self._state, self._instruction = _RESET, _IDCODE
        self._shifted, self._length = IDCODE, 32
        self._clock = 0

    def feed(self, requests: bytes) -> bytes:
        """The answers to `requests`."""
        answers: List[bytes] = []
        for request in _REQUEST.findall(requests):
            at = 0
            while at < len(request):
                if len(request) - at > 1 and self._state in (_SHIFT_DR, _SHIFT_IR):
                    answers.append(self._shift(request[at:]))
                    break
                if request[at] == ord("R"):
                    answers.append(b"%d" % (self._shifted & 1))
                elif ord("0") <= request[at] <= ord("7"):
                    self._edge(request[at])
                at += 1
        return b"".join(answers)

    def _edge(self, pins: int) -> None:
        clock = pins & 4
        if clock and not self._clock:
            self._rise(pins >> 1 & 1, pins & 1)
        self._clock = clock

    def _shift(self, request: bytes) -> bytes:
        """Bits in and out with TMS 0, from a low TCK on: the state stays."""
        bits = request.translate(_BITS, _NOT_A_BIT)
        number = len(bits)
        out = b""
        stream = self._shifted | int(bits[::-1], 2) << self._length
        if b"R" in request:
            shown = format(stream & (1 << number) - 1, "0%db" % number).encode("ascii")[::-1]
            if request.count(b"R") == number:
                out = shown
            else:
                asked = (b"R" in part for part in re.findall(rb"[01](R?)[45]", request))
                out = bytes(bit for bit, wanted in zip(shown, asked) if wanted)
        self._shifted = stream >> number & (1 << self._length) - 1
        self._clock = 4
        return out

    def _rise(self, mode: int, data: int) -> None:
        state = self._state
        if state in (_SHIFT_DR, _SHIFT_IR):
            self._shifted = self._shifted >> 1 | data << self._length - 1
        elif state == _CAPTURE_DR:
            self._capture()
        elif state == _CAPTURE_IR:
            self._shifted, self._length = 1, 4
        self._state = state = _NEXT[state][mode]
        if state == _UPDATE_DR:
            self._update()
        elif state == _UPDATE_IR:
            self._instruction = self._shifted
        elif state == _RESET:
            self._instruction = _IDCODE

    def _capture(self) -> None:
        if self._instruction == _IDCODE:
            self._shifted, self._length = IDCODE, 32
        elif self._instruction in (_DPACC, _APACC):
            self._shifted, self._length = self._port.buffer << 3 | _OK, 35
        elif self._instruction == _ABORT:
            self._shifted, self._length = 0, 35
        else:  # bypass
            self._shifted, self._length = 0, 1

    def _update(self) -> None:
        reads, register, value = self._shifted & 1, self._shifted << 1 & 0xC, self._shifted >> 3
        if self._instruction == _DPACC:
            self._port.port(register, value, bool(reads))
        elif self._instruction == _APACC:
            self._port.access(register, value, bool(reads))
        elif self._instruction == _ABORT:
            self._port.abort()


class Server:
    """Serves a TAP on a port that the system chose, one client, in a thread. A context."""

    def __init__(self, bus: Bus) -> None:
        self._tap = Tap(DebugPort(bus))
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=1)
        self._connection: Optional[socket.socket] = None
        self._thread = threading.Thread(target=self._serve, name="debug port", daemon=True)
        self.failure: Optional[BaseException] = None

    @property
    def number(self) -> int:
        return int(self._listening.getsockname()[1])

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Raises what the model raised, unless the test fails by itself."""
        for end in (self._connection, self._listening):
            if end is not None:
                with contextlib.suppress(OSError):  # nobody there any more
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        self._thread.join()
        if self.failure is not None and error is None:
            raise self.failure

    def _serve(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except OSError:  # closed before anybody came
            return
        self._connection = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                requests = connection.recv(65536)
                if not requests or requests == b"Q":
                    return
                answers = self._tap.feed(requests)
                if answers:
                    connection.sendall(answers)
            except OSError:  # the client has gone, or the test is over
                return
            except Exception as failure:  # for the test to raise, which else would wait for an answer
                self.failure = failure
                connection.close()
                return
