"""OpenOCD's Tcl server, which answers while GDB waits for the program.

A command and its result each end with the byte 0x1a (OpenOCD User's Guide, 23.4).
"""

from __future__ import annotations

import random
import re
import socket
from types import TracebackType
from typing import Optional, Type

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.target import swo_probe

_END = b"\x1a"
_WAIT_S = 5.0
_SAME = "::gdb_prof_same"
_WORD = re.compile(r"\b(?:0x)?([0-9a-fA-F]+)\s*$")


class TclServer:
    """A connection, as a context; it may be used in any thread, one at a time.

    Raises TargetError where nobody listens, or another OpenOCD than the one that GDB is connected to.
    """

    def __init__(self, port: int) -> None:
        host = _host()
        try:
            self._socket = socket.create_connection((host, port), timeout=_WAIT_S)
        except OSError as error:
            raise TargetError(
                "no Tcl server at %s:%d: %s: OpenOCD's is 6666, or what its tcl_port says"
                % (host, port, error.strerror or error)
            ) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = "read_memory 0x%x 32 1"
        try:
            self._demand_same(port)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> "TclServer":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._socket.close()

    def ask(self, command: str) -> str:
        """Its result, or its complaint. Raises TargetError where none comes."""
        said = b""
        try:
            self._socket.sendall(command.encode("ascii") + _END)
            while not said.endswith(_END):
                part = self._socket.recv(4096)
                if not part:
                    raise TargetError("OpenOCD has closed the connection to its Tcl server")
                said += part
        except OSError as error:
            raise TargetError(
                "OpenOCD's Tcl server does not answer: %s" % (error.strerror or error)
            ) from None
        return said[:-1].decode("utf-8", "replace").strip()

    def word(self, address: int) -> int:
        """A word of memory. Raises TargetError."""
        said = self.ask(self._read % address)
        if "invalid command name" in said:  # before OpenOCD 0.12
            self._read = "capture {mdw 0x%x}"
            said = self.ask(self._read % address)
        found = _WORD.search(said)
        if found is None:
            raise TargetError("OpenOCD cannot read 0x%08x: %s" % (address, said[:80]))
        return int(found.group(1), 16)

    def halt(self) -> None:
        self.ask("halt")

    def _demand_same(self, port: int) -> None:
        """A variable set by way of GDB is there."""
        value = "%d" % random.getrandbits(30)
        swo_probe.monitor("set %s %s" % (_SAME, value))
        if self.ask("set %s" % _SAME) != value:
            raise TargetError("port %d is not the Tcl server of the OpenOCD that GDB is connected to" % port)
        self.ask("unset %s" % _SAME)


def _host() -> str:
    """Of GDB's connection, where it says so (GDB 12 and later) and it is a network's; else this machine."""
    connection = getattr(gdb.selected_inferior(), "connection", None)
    match = re.fullmatch(r"(?:tcp[46]?:)?\[?([\w.:\-]+?)\]?:\d+", getattr(connection, "details", None) or "")
    return match.group(1) if match else "127.0.0.1"
