"""Samples by reading DWT_PCSR, the core's own program counter register, while the program runs.

DWT_PCSR: Armv7-M ARM, C1.8.7, Armv8-M ARM, D1.2.69: a recently executed instruction's address; all ones
while the core is halted or asleep, or where debugging it is not permitted; 0 where it is not implemented.
DHCSR, DEMCR: Armv7-M ARM, C1.6.

GDB reads memory only while it holds the program for stopped. Three ways around that:

- OpenOCD is told to resume by a command of its own, unseen by GDB, which then reads as ever.
- OpenOCD's Tcl server (its User's Guide, chapter 23) reads for a thread of ours while GDB continues, so
  that the user's breakpoints work: openocd_tcl.
- A server with non-stop reads while the program runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import struct
import threading
import time
from typing import Iterator, Tuple

import gdb

from gdb_prof.errors import GdbProfError, TargetError, UsageError
from gdb_prof.target import posted, running, session, swo_probe
from gdb_prof.target.core_trace import DEMCR, TRCENA, enable_trace
from gdb_prof.target.openocd_tcl import TclServer
from gdb_prof.target.polling import DHCSR, PCSR, S_HALT, Plan, Run

_STARTS_S = 0.001
"""How often it is seen whether the program runs already."""
_HALTS_S = 1.0
"""How long GDB may take to see that the program was halted."""
_NEVER_S = 1e9
"""A limit that is none: with one, the stop is not announced."""

_CTRL_C = "No support for interrupting the remote target"
"""What GDB says under non-stop where Ctrl-C comes within one of its reads."""

OPENOCD, TCL, NON_STOP = "OpenOCD", "OpenOCD's Tcl server", "a non-stop server"


@dataclasses.dataclass(frozen=True)
class Polled:
    """What was read: `pcs` in order, NO_PC among them, in `elapsed_s` of the host's time. `way`: OPENOCD, TCL
    or NON_STOP. `remarks`: for the report, one sentence each."""

    pcs: Tuple[int, ...]
    elapsed_s: float
    way: str
    remarks: Tuple[str, ...] = ()

    @property
    def rate_hz(self) -> float:
        return len(self.pcs) / self.elapsed_s if self.elapsed_s else 0.0


def poll(plan: Plan) -> Polled:
    """Let the live, stopped target run and sample it; it is stopped again afterwards. Under
    non-stop a running one is sampled, too, and goes on.

    Ctrl-C keeps what there is. Raises UsageError, and TargetError where it cannot be sampled: the target
    is stopped then, and DEMCR as it was.
    """
    if plan.seconds is None and plan.samples is None:
        raise UsageError("for how long? give -seconds S or -samples N")
    non_stop = bool(gdb.parameter("non-stop"))
    if not non_stop or gdb.selected_inferior().pid == 0:
        session.require_stopped()
    with running.settings(("mem inaccessible-by-default", "off")), _enabled():
        _demand_register(plan)
        way = _way(plan, non_stop)
        run = Run(plan)
        {OPENOCD: _by_monitor, TCL: _by_tcl, NON_STOP: _by_non_stop}[way](run)
    return Polled(tuple(run.pcs), run.elapsed_s, way, tuple(run.all_remarks()))


def _way(plan: Plan, non_stop: bool) -> str:
    if plan.tcl_port is not None:
        return TCL
    if non_stop:
        return NON_STOP
    if swo_probe.server() == swo_probe.OPENOCD:
        return OPENOCD
    raise TargetError(
        "this server does not read while the program runs; OpenOCD does, and one with `set non-stop on` "
        "before connecting: else sample by halting"
    )


@contextlib.contextmanager
def _enabled() -> Iterator[None]:
    """DEMCR.TRCENA set for a while. Raises TargetError where it does not stay set."""
    demcr = enable_trace(_read, _write)
    try:
        yield
    finally:
        if not demcr & TRCENA and gdb.selected_inferior().pid:
            _write(DEMCR, _read(DEMCR) & ~TRCENA)


def _demand_register(plan: Plan) -> None:
    if _read(plan.dwt + PCSR) == 0:
        raise TargetError(
            "DWT_PCSR at 0x%08x reads 0: this core has none (some have not): sample by halting, or "
            "give -dwt-base" % (plan.dwt + PCSR)
        )


def _read(address: int) -> int:
    """While the setting holds that lets GDB read there. Raises KeyboardInterrupt for Ctrl-C in whatever
    words GDB has for it."""
    try:
        return int.from_bytes(session.read(address, 4, "a debug register"), "little")
    except TargetError as error:
        if _CTRL_C in str(error):
            raise KeyboardInterrupt from None
        raise


def _write(address: int, value: int) -> None:
    session.write(address, struct.pack("<I", value), "a debug register")


# -- OpenOCD, unseen by GDB -----------------------------------------------------------


def _by_monitor(run: Run) -> None:
    numbers = [b.number for b in gdb.breakpoints() or () if b.enabled and b.number > 0]
    if numbers and gdb.parameter("breakpoint always-inserted") is not True:
        names = ", ".join(str(number) for number in numbers)
        was = "breakpoint %s was" if len(numbers) == 1 else "breakpoints %s were"
        run.remarks.append((was + " not active while it was sampled") % names)
    try:
        _told("resume")
        run.collect(_read)
    finally:
        if gdb.selected_inferior().pid:
            _halt(run)
    if gdb.selected_inferior().pid and not _read(DHCSR) & S_HALT:
        raise TargetError("OpenOCD did not halt the program: `monitor halt`")


def _halt(run: Run) -> None:
    for _ in range(2):
        try:
            _told("halt")
            break
        except KeyboardInterrupt:  # which comes once OpenOCD has answered
            run.interrupted = True
    # what GDB holds for the registers and the stack is from before
    for command in ("maintenance flush register-cache", "flushregs"):
        with contextlib.suppress(gdb.error):
            gdb.execute(command, to_string=True)
            break
    with contextlib.suppress(gdb.error):  # GDB 11 and later
        gdb.execute("maintenance flush dcache", to_string=True)


def _told(command: str) -> None:
    said = swo_probe.monitor(command)
    if "rror" in said or "timed out" in said:
        raise TargetError("OpenOCD: `monitor %s` says: %s" % (command, said.strip().splitlines()[-1]))


# -- while GDB continues ---------------------------------------------------------------


def _by_tcl(run: Run) -> None:
    assert run.plan.tcl_port is not None
    with TclServer(run.plan.tcl_port) as server:
        reader = _Reader(run, server)
        with _stop_seen(run):
            reader.start()
            try:
                running.run(_NEVER_S)
            except gdb.error as error:
                raise TargetError("cannot run: %s" % error) from None
            finally:
                reader.end()
    if reader.failure:
        raise TargetError(reader.failure)


class _Reader(threading.Thread):
    """Reads by the Tcl server once the program runs, until there is enough, and has it halted then."""

    def __init__(self, run: Run, server: TclServer) -> None:
        super().__init__(name="gdb_prof pcsr", daemon=True)
        self._run, self._server = run, server
        self._over = threading.Event()
        self.failure = ""
        self._signalled = False

    def end(self) -> None:
        """The program stands: nothing is to be read any more."""
        self._over.set()
        self.join()
        if self._signalled:
            # one that came too late is not to end the next command
            with contextlib.suppress(KeyboardInterrupt):
                gdb.execute("python pass", to_string=True)
                time.sleep(0)

    def run(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is GDB's
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            while self._server.word(DHCSR) & S_HALT and not self._over.is_set():
                time.sleep(_STARTS_S)
            self._run.collect(self._server.word, self._over.is_set)
            if self._run.enough:
                self._server.halt()
        except TargetError as error:
            self.failure = str(error)
        # it may have stood already, at a breakpoint whose condition is false, and GDB has let it go on
        while not self._over.wait(_HALTS_S) and running.CAN_INTERRUPT:
            self._signalled = True
            os.kill(os.getpid(), signal.SIGINT)


def _by_non_stop(run: Run) -> None:
    """GDB handles events while it waits for the program: one of them reads, for all of the time."""
    thread = gdb.selected_thread()
    if thread is None:
        raise TargetError("no thread is selected: is the target connected?")
    if thread.is_running():
        run.collect(_read)
        return
    reader = _EventReader(run)
    with _stop_seen(run):
        posted.guard()
        posted.post(reader.read)
        try:
            running.run(_NEVER_S)
        except gdb.error as error:
            raise TargetError("cannot run: %s" % error) from None
        finally:
            reader.over = True
    if reader.failure:
        raise TargetError(reader.failure)


class _EventReader:
    """Reads in events of GDB's, which are handled while it waits for the program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.over = False
        self.failure = ""

    def read(self) -> None:
        run = self._run
        if self.over:
            return
        try:
            if not _read(DHCSR) & S_HALT:
                run.collect(_read)
                if not run.halted:
                    gdb.execute("interrupt", to_string=True)
                    return
        except (GdbProfError, gdb.error) as error:
            self.failure = str(error)
            gdb.execute("interrupt", to_string=True)
            return
        # GDB has not resumed it yet, or is to see where it stopped, which may be no reason to stand
        time.sleep(_STARTS_S)
        posted.post(self.read)


@contextlib.contextmanager
def _stop_seen(run: Run) -> Iterator[None]:
    """Have `run` know what stopped it."""

    def seen(event: gdb.Event) -> None:
        if isinstance(event, (gdb.BreakpointEvent, gdb.SignalEvent)):
            run.stopped_by = running.cause(event)

    gdb.events.stop.connect(seen)
    try:
        yield
    finally:
        gdb.events.stop.disconnect(seen)
