"""Having the debug probe record the SWO pin: what each server offers for that.

OpenOCD: `tpiu` and `swo` objects since 0.12, `tpiu config` before (its User's Guide, 16.6). J-Link:
`qSeggerSWO` packets (UM08001, 3.3.4). pyOCD serves the raw stream on a TCP port when it is started
with that option; Black Magic sends it over a USB interface of its own. Only OpenOCD was tried.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import tempfile
import threading
import time
from typing import Optional, Protocol

import gdb

from gdb_prof.errors import FileError, TargetError, UsageError

OPENOCD, JLINK, BLACK_MAGIC, OTHER = "OpenOCD", "J-Link", "Black Magic", ""
_CONNECT_S = 3.0
_PART = 4096
"""Bytes asked of a J-Link at once: twice as many digits come back."""


class Recording(Protocol):
    """A stream on its way to a file."""

    path: str
    fault: str
    """What went wrong with it since, else empty."""

    def flush(self) -> None:
        """Have all that was received by now in the file. The target is stopped. Raises TargetError."""

    def stop(self) -> None:
        """No more is recorded. Raises TargetError."""


def server() -> str:
    """Which GDB server it is, by what it answers; OTHER where that is not known here."""
    said = monitor("version")
    if "Open On-Chip Debugger" in said:
        return OPENOCD
    if "Black Magic" in said:
        return BLACK_MAGIC
    return JLINK if _packet("qSeggerSWO:GetSpeedInfo:0") else OTHER


def monitor(command: str) -> str:
    """What the server says to a command of its own; its complaint, too."""
    try:
        return str(gdb.execute("monitor " + command, to_string=True))
    except gdb.error as error:
        return "error: %s" % error


def _packet(text: str) -> str:
    try:
        said = gdb.execute("maintenance packet " + text, to_string=True)
    except gdb.error:
        return ""
    match = re.search(r'received: "(.*)"', said)
    return match.group(1) if match else ""


class OpenOcd:
    """OpenOCD writes the file, or with a port serves it, where the adapter can capture SWO."""

    def __init__(self, path: str, output: str, clock_hz: int, baud: int) -> None:
        """`output`: a file's absolute name, or `:PORT`. Raises TargetError, UsageError."""
        if re.search(r"[{}\\\n]", output):
            raise UsageError("OpenOCD cannot take the file name %s: without { } and \\" % output)
        self.path, self.fault = path, ""
        names = monitor("tpiu names").split()
        self._name = names[0] if names and _is_name(names[0]) else ""
        try:
            self._begin(output, clock_hz, baud)
        except TargetError:
            with contextlib.suppress(OSError):
                if not os.path.getsize(path):  # it makes the file before it finds that it cannot record
                    os.unlink(path)
            raise

    def _begin(self, output: str, clock_hz: int, baud: int) -> None:
        if self._name:
            self._said(
                "%s configure -protocol uart -formatter off -traceclk %d -pin-freq %d -output {%s}"
                % (self._name, clock_hz, baud, output)
            )
            self._said("%s enable" % self._name)
        else:  # before 0.12
            self._said("tpiu config internal {%s} uart off %d %d" % (output, clock_hz, baud))

    @staticmethod
    def _said(command: str) -> None:
        said = monitor(command).strip()
        if re.search(r"(?i)error|invalid|fail|not supported|unknown|wrong|can't", said):
            raise TargetError(
                "OpenOCD does not record SWO, its own messages say why (can the adapter?): `monitor %s`: %s: "
                "without -file and -port you record" % (command, said.splitlines()[-1])
            )

    def flush(self) -> None:
        """It writes what it has each time that it polls the adapter."""

    def stop(self) -> None:
        self._said("%s disable" % self._name if self._name else "tpiu config disable")


def _is_name(word: str) -> bool:
    return re.fullmatch(r"[\w.\-]+", word) is not None and "invalid" not in word and "error" not in word


class JLink:
    """The server keeps the bytes; they are asked for while the target is stopped."""

    def __init__(self, path: str, baud: int) -> None:
        self.path, self.fault = path, ""
        if _packet("qSeggerSWO:start:0:%x" % baud) != "OK":
            raise TargetError("the J-Link server does not record SWO at %d baud" % baud)

    def flush(self) -> None:
        left = _hex(_packet("qSeggerSWO:GetNumBytes"))
        with open(self.path, "ab") as file:
            while left > 0:
                part = _packet("qSeggerSWO:read:%x" % min(left, _PART))
                try:
                    content = bytes.fromhex(part)
                except ValueError:
                    content = b""
                if not content:
                    raise TargetError("the J-Link server does not give the %d bytes that it holds" % left)
                file.write(content)
                left -= len(content)

    def stop(self) -> None:
        self.flush()
        _packet("qSeggerSWO:stop")


def _hex(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        return 0


class Port:
    """A raw stream from a TCP port of this machine, received in a thread of its own."""

    def __init__(self, path: str, connection: socket.socket, served: Optional[Recording] = None) -> None:
        """`served`: what serves it, and stops with it. Raises FileError."""
        self.path, self.fault = path, ""
        self._served, self._socket = served, connection
        self._stopped = False
        try:
            with open(path, "wb"):
                pass
        except OSError as error:
            connection.close()
            raise FileError("%s: %s" % (path, error.strerror)) from None
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        try:
            with self._socket, open(self.path, "ab", buffering=0) as file:
                while True:
                    part = self._socket.recv(1 << 16)
                    if not part:
                        break
                    file.write(part)
            fault = "the server of the stream closed the connection"
        except OSError as error:
            fault = "the stream is not recorded any more: %s" % (error.strerror or error)
        if not self._stopped:
            self.fault = fault

    def flush(self) -> None:
        """It writes as it receives."""

    def stop(self) -> None:
        self._stopped = True
        if self._served is not None:
            self._served.stop()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(_CONNECT_S)


def _connected(port: int, wait_s: float) -> Optional[socket.socket]:
    """None where nobody listens for so long."""
    end = time.monotonic() + wait_s
    while True:
        try:
            connection = socket.create_connection(("localhost", port), timeout=_CONNECT_S)
            connection.settimeout(None)
            return connection
        except OSError:
            if time.monotonic() >= end:
                return None
            time.sleep(0.05)  # the server may just be about to open it


def _from_port(path: str, port: int, kind: str, clock_hz: int, baud: int) -> Port:
    """What is served there already, else what OpenOCD is told to serve."""
    served = None
    connection = _connected(port, 0.0)
    if connection is None and kind == OPENOCD:
        served = OpenOcd(path, ":%d" % port, clock_hz, baud)
        connection = _connected(port, _CONNECT_S)
    if connection is None:
        if served is not None:
            served.stop()
        raise TargetError("nothing serves SWO on port %d" % port)
    return Port(path, connection, served)


def record(path: Optional[str], port: Optional[int], clock_hz: int, baud: int) -> Optional[Recording]:
    """Have the stream recorded to `path`, a file that does not exist, or to a temporary one. None where
    this server cannot be told to: then the user records. Raises GdbProfError."""
    if path is None and port is None:
        return None
    if path is not None:
        return _recording(os.path.abspath(os.path.expanduser(path)), port, clock_hz, baud)
    where = _temporary()
    try:
        return _recording(where, port, clock_hz, baud)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(where)
        raise


def _recording(where: str, port: Optional[int], clock_hz: int, baud: int) -> Recording:
    kind = server()
    if port is not None:
        return _from_port(where, port, kind, clock_hz, baud)
    if kind == OPENOCD:
        return OpenOcd(where, where, clock_hz, baud)
    if kind == JLINK:
        return JLink(where, baud)
    raise TargetError(what_to_run(kind, baud))


def _temporary() -> str:
    handle, path = tempfile.mkstemp(suffix=".swo")
    os.close(handle)
    return path


def what_to_run(kind: str, baud: int) -> str:
    """One line: how to record with a server that cannot be told to from here."""
    if kind == BLACK_MAGIC:
        return (
            "Black Magic sends SWO over its own USB interface: `monitor swo enable %d` (`traceswo` in old "
            "firmware), record with a host program, then `prof swo FILE`" % baud
        )
    return (
        "this server cannot be told to record SWO: start pyOCD with -O enable_swv=1 -O swv_raw_enable=1 and "
        "give -port 3443, or record the pin at %d baud, then `prof swo FILE`" % baud
    )
