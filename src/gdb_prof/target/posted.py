"""Functions for GDB's loop of events to call, and what becomes of those that it never gets to.

GDB 13 crashes as it ends where one still waits: under `-batch` the loop does not go on after a command.
"""

from __future__ import annotations

import atexit
import os
from typing import Callable, List

import gdb

_waiting: "List[object]" = []
_exit_code: "List[int]" = []
_guarded: "List[bool]" = []


def post(call: Callable[[], None]) -> None:
    """Have GDB call it in its own thread, when it next waits for something. From any thread."""
    token = object()
    _waiting.append(token)

    def run() -> None:
        _waiting.remove(token)
        call()

    gdb.post_event(run)


def guard() -> None:
    """Let GDB end well whatever is waiting then. Called in GDB's thread, before the first `post`."""
    if not _guarded and hasattr(gdb.events, "gdb_exiting"):  # GDB 12
        _guarded.append(True)
        gdb.events.gdb_exiting.connect(lambda event: _exit_code.append(getattr(event, "exit_code", 0)))
        atexit.register(_end)


def _end() -> None:
    """Python ends, after GDB has let go of its targets; what would be left to do is the crash."""
    if _waiting and _exit_code:
        gdb.flush()
        os._exit(_exit_code[-1])
