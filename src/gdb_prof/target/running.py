"""Letting the target run, and stopping it again, from inside a command."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Iterator, Optional

import gdb


class Stop(gdb.Breakpoint):
    """A breakpoint of ours at an address: internal, silent, and gone when `deleted`."""

    def __init__(self, address: int) -> None:
        super().__init__("*0x%x" % (address & ~1), internal=True)
        self.silent = True
        self.address = address & ~1


def run(seconds: Optional[float] = None) -> None:
    """Let the target run until it stops, at most for so long.

    A breakpoint, a signal or Ctrl-C ends it as ever; who calls looks at the target to see
    which. Raises gdb.error when it cannot be resumed.
    """
    with _quiet(), interrupt_after(seconds):
        try:
            gdb.execute("continue", to_string=True)
        except KeyboardInterrupt:
            pass  # GDB had stopped already, or was about to


@contextlib.contextmanager
def interrupt_after(seconds: Optional[float]) -> Iterator[threading.Event]:
    """Interrupt whatever GDB waits for when the time is up; the event then is set.

    A SIGINT to this process, which is what Ctrl-C is: it works with every server, in a
    console and in MI, and before `gdb.interrupt` of GDB 14.
    """
    over = threading.Event()
    if seconds is None:
        yield over
        return

    def interrupt() -> None:
        over.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
        timer.join()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No stop announcement on the console, where GDB can do so (13 and later)."""
    name = "suppress-cli-notifications"
    try:
        before = gdb.parameter(name)
    except RuntimeError:
        yield
        return
    gdb.execute("set %s on" % name, to_string=True)
    try:
        yield
    finally:
        gdb.execute("set %s %s" % (name, "on" if before else "off"), to_string=True)
