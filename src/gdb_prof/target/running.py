"""Letting the target run, and stopping it again, from inside a command."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Iterator, List, Optional, Tuple

import gdb

CAN_INTERRUPT = os.name != "nt"
"""On Windows a signal to the own process ends it: there a time limit does nothing."""

_QUIET = "suppress-cli-notifications"


class Stop(gdb.Breakpoint):
    """A breakpoint of ours at an address, which the user's list does not show.

    Silent on a console, where the command says in its own words what happened. Not so under
    a front end: a silent stop has no frame in MI.
    """

    def __init__(self, address: int) -> None:
        super().__init__("*0x%x" % (address & ~1), internal=True)
        self.silent = not _has_front_end()


def _has_front_end() -> bool:
    """Whether GDB was started to speak MI or DAP; where that cannot be told, it may have been."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().decode("utf-8", "replace").replace("=", "\0").split("\0")
    except OSError:
        return True
    return any(
        option.lstrip("-") in ("i", "interpreter") and value.startswith(("mi", "dap"))
        for option, value in zip(words, words[1:])
    )


def run(seconds: Optional[float] = None) -> None:
    """Let the target run until it stops, at most for so long.

    A breakpoint, a signal or Ctrl-C ends it as ever; who calls looks at the target to see
    which. Raises gdb.error when it cannot be resumed.
    """
    # two interrupts at once, ours and the user's, are a wish to give the target up: to be asked, then
    asked = settings(("confirm", "on")) if seconds is not None else contextlib.nullcontext()
    with quiet(), asked, _caught(seconds), interrupt_after(seconds):
        with contextlib.suppress(KeyboardInterrupt):  # GDB had stopped already, or was about to
            gdb.execute("continue", to_string=True)


@contextlib.contextmanager
def _caught(seconds: Optional[float]) -> Iterator[None]:
    """Where an interrupt is to come, a catchpoint for it: GDB announces a signal that nothing
    catches, whatever it was told about notifications. Not under a front end, which would show it."""
    if seconds is None or _has_front_end():
        yield
        return
    before = gdb.convenience_variable("bpnum")
    with contextlib.suppress(gdb.error):
        gdb.execute("tcatch signal SIGINT", to_string=True)
    number = gdb.convenience_variable("bpnum")
    try:
        yield
    finally:
        if number is not None and number != before:
            with contextlib.suppress(gdb.error):  # a temporary one that stopped the program is gone
                gdb.execute("delete %d" % int(number), to_string=True)
            gdb.set_convenience_variable("bpnum", before)


@contextlib.contextmanager
def interrupt_after(seconds: Optional[float]) -> Iterator[threading.Event]:
    """Interrupt whatever GDB waits for when the time is up; the event then is set.

    A SIGINT to this process, which is what Ctrl-C is: it works with every server, in a
    console and in MI, and before `gdb.interrupt` of GDB 14.
    """
    over = threading.Event()
    if seconds is None or not CAN_INTERRUPT:
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


def cause(event: gdb.Event) -> str:
    """What stopped the program. Asked as it stops: a temporary breakpoint is gone later."""
    breakpoints = getattr(event, "breakpoints", None)
    if breakpoints:
        return "stopped by breakpoint %d" % breakpoints[0].number
    name = getattr(event, "stop_signal", "SIGINT")
    return INTERRUPTED if name == "SIGINT" else "stopped by signal %s" % name


INTERRUPTED = "interrupted"


def unseen_halts() -> List[str]:
    """Stops that GDB does not report: the program is halted each time to see whether it is to stop."""
    numbers = [
        "%d" % b.number
        for b in gdb.breakpoints() or ()
        if b.enabled and b.visible and (b.condition or b.ignore_count)
    ]
    if not numbers:
        return []
    return [
        "breakpoint %s halts the program each time, also where its condition is false: a sample may be of "
        "that place, and elapsed time that of the halt: disable it" % ", ".join(numbers)
    ]


def _can_be_quiet() -> bool:
    try:
        gdb.parameter(_QUIET)
    except RuntimeError:
        return False
    return True


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No announcement of stops on the console, where GDB can do so (13 and later)."""
    if not _can_be_quiet():
        yield
        return
    with settings((_QUIET, "on")):
        yield


@contextlib.contextmanager
def settings(*wanted: Tuple[str, str]) -> Iterator[None]:
    """GDB settings for a while, and the user's again afterwards."""
    before = [(name, gdb.parameter(name)) for name, _ in wanted]
    try:
        for name, value in wanted:
            gdb.execute("set %s %s" % (name, value), to_string=True)
        yield
    finally:
        for name, was in before:
            text = ("on" if was else "off") if isinstance(was, bool) else "unlimited" if was is None else was
            gdb.execute("set %s %s" % (name, text), to_string=True)
