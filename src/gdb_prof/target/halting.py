"""Samples by halting: let the program run for a moment, stop it, read where it is, and again.

A stop of ours is a catchpoint for SIGINT whose condition takes the sample and is false:
GDB then goes on without telling anyone that it stopped, which would cost time, and a front end would
ask for all of the program's state each time. Where a server names another signal, or
none, the program stops for good and is continued.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import random
import statistics
import time
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.target import posted, running, session
from gdb_prof.target.alarm import Alarm
from gdb_prof.target.unwinding import Unwinder

MEAN_S = 0.002
"""How long the program runs between two samples, on average, where no rate is asked for."""
_SHORTEST_MEAN_S = 0.001
_NO_SIGNAL = ("0", "SIGTRAP")
"""What some servers call a stop that the debugger asked for."""


@dataclasses.dataclass(frozen=True)
class Halts:
    """What was seen. `stacks`: one a sample, see unwinding; empty where none was asked for.

    `elapsed_s`: from the first resumption to the last stop, of the host's time, of which the
    program stood for `stopped_s`; `spread`: the standard deviation of the times that it ran, as a
    part of their mean. `ended`: what ended it early, else empty.
    """

    pcs: Sequence[int]
    stacks: Sequence[Tuple[int, ...]]
    elapsed_s: float
    stopped_s: float
    spread: Optional[float]
    ended: str = ""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How many samples, or for how long; how many a second on average, where it matters. At least one
    of the first two is given."""

    samples: Optional[int] = None
    seconds: Optional[float] = None
    rate_hz: Optional[float] = None
    backtrace: bool = False


def sample(plan: Plan, functions: FunctionMap) -> Halts:
    """Sample the live, stopped target, which is stopped again afterwards.

    The selected thread and frame are those from before, unless a stop that is not ours ended it: that
    is left as GDB left it. Raises TargetError where not one sample can be taken.
    """
    demand()
    selection = _Selection()
    run = _Run(plan, functions)
    try:
        run.go()
    except RuntimeError as error:  # gdb.error is one: whatever it is, the samples so far are kept
        run.ended = (str(error) or running.INTERRUPTED).splitlines()[0].rstrip(".")
    except KeyboardInterrupt:
        run.ended = running.INTERRUPTED
    if gdb.selected_inferior().pid and run.ours:
        selection.restore()
    if not run.pcs:
        raise TargetError("%s before the first sample" % (run.ended or running.INTERRUPTED))
    return run.halts()


def demand() -> None:
    """Raise TargetError where the target cannot be sampled as things stand, before it runs."""
    session.require_stopped()
    _demand_events()
    _demand_no_commands()


def _demand_no_commands() -> None:
    """GDB runs a breakpoint's commands after ours: behind the prompt, and the program may go on with them."""
    for breakpoint in gdb.breakpoints() or ():
        if breakpoint.enabled and breakpoint.visible and breakpoint.commands:
            raise TargetError(
                "breakpoint %d has commands: they would run the program: disable it first" % breakpoint.number
            )


def _demand_events() -> None:
    """Raise TargetError where GDB is set to see no events while the target runs."""
    said = gdb.execute("maint show target-async", to_string=True)
    if said.rstrip(" .\n").endswith("off"):
        raise TargetError("GDB cannot be told when to halt: `maint set target-async on`, then connect again")


class _Selection:
    """The thread and the frame that the user has selected."""

    def __init__(self) -> None:
        self._thread = gdb.selected_thread()
        frame = gdb.selected_frame()
        # the newest one is wherever the program stops
        self._frame = frame if frame != gdb.newest_frame() else None

    def restore(self) -> None:
        """Select them, as far as they are still there."""
        with contextlib.suppress(gdb.error):
            if self._thread is not None and self._thread.is_valid():
                self._thread.switch()
            if self._frame is not None and self._frame.is_valid():
                self._frame.select()


class _Run:
    """One recording. `ended`: why early; `ours`: the program stands where we stopped it, not elsewhere."""

    def __init__(self, plan: Plan, functions: FunctionMap) -> None:
        self.pcs: List[int] = []
        self.ended = ""
        self.ours = True
        self._plan = plan
        self._unwinder = Unwinder(functions) if plan.backtrace else None
        self._stacks: List[Tuple[int, ...]] = []
        self._ran: List[float] = []
        self._enough = self._stands = False
        self._alarm = Alarm()
        self._event: Optional[gdb.Event] = None
        self._cause = running.INTERRUPTED
        self._started = self._resumed = self._halted = 0.0
        self._stood_s = self._stopped_s = 0.0
        self._round = 0

    def halts(self) -> Halts:
        mean = statistics.fmean(self._ran) if self._ran else 0.0
        spread = statistics.stdev(self._ran) / mean if len(self._ran) > 1 and mean else None
        return Halts(
            *(self.pcs, self._stacks, self._halted - self._started, self._stopped_s, spread),
            ended=self.ended,
        )

    # -- run control -------------------------------------------------------------------

    def go(self) -> None:
        """Raises gdb.error where the program cannot go on."""
        posted.guard()
        # or GDB would say of a frame at the limit that nobody called it
        deep = running.settings(("backtrace limit", "unlimited"))
        with running.quiet(), deep, _listening(self._on_stop, self._on_resume), self._alarm:
            with _catch_interrupts(self._on_interrupt):
                while not self._stands:
                    self._event, self._cause = None, running.INTERRUPTED
                    try:
                        gdb.execute("continue", to_string=True)
                        self._alarm.stop()
                    except KeyboardInterrupt:
                        self._alarm.stop()
                        if self._event is None:
                            self._end(running.INTERRUPTED)
                    if not self._stands:
                        self._after_stop()

    def _after_stop(self) -> None:
        """The program stands, and none of our conditions has decided that."""
        if gdb.selected_inferior().pid and self._is_ours(self._event):
            self._on_interrupt()
        else:
            self.ours = False
            self._end(self._cause if gdb.selected_inferior().pid else "the program ended")

    def _end(self, why: str) -> None:
        """It stands, and that is that. `why`: where it was to go on."""
        self._stands = True
        if not self._enough:
            self.ended = self.ended or why

    def _is_ours(self, event: Optional[gdb.Event]) -> bool:
        """A stop for our interrupt under another name; the program may have one of its own: BKPT."""
        if isinstance(event, gdb.BreakpointEvent):
            return False
        name = getattr(event, "stop_signal", "0")
        if name == "SIGINT":
            return True
        return (self._alarm.fired or self._alarm.late > 0) and name in _NO_SIGNAL and not _at_bkpt()

    def _on_stop(self, event: gdb.Event) -> None:
        self._alarm.stop()
        self._event, self._cause = event, running.cause(event)

    def _on_resume(self, event: gdb.Event) -> None:
        self._round += 1
        # by way of GDB's events: the program is about to be resumed, and they wait until it is
        posted.post(functools.partial(self._runs, self._round))

    def _runs(self, of: int) -> None:
        if of != self._round or self._stands:
            return
        self._resumed = time.monotonic()
        if self.pcs:
            self._stood_s = self._resumed - self._halted
        else:
            self._started = self._resumed
        self._alarm.set(self._wait_s())

    def _wait_s(self) -> float:
        """How long to let it run: at random, so that no rhythm of the program's is met."""
        plan, mean = self._plan, MEAN_S
        if plan.rate_hz is not None:
            stands = self._stopped_s / len(self.pcs) if self.pcs else 0.0
            mean = max(1 / plan.rate_hz - stands, _SHORTEST_MEAN_S)
        wait = random.uniform(0.5, 1.5) * mean
        if plan.seconds is not None:
            wait = min(wait, max(self._started + plan.seconds - self._resumed, _SHORTEST_MEAN_S / 2))
        return wait

    # -- a halt ------------------------------------------------------------------------

    def _on_interrupt(self) -> bool:
        """Take a sample where our interrupt stopped it. True where it is to stand."""
        self._alarm.stop()
        ours = self._alarm.answered()
        if self._enough or self.ended:
            pass  # it has run on for what the server had still to answer
        elif self._alarm.asked or not ours:
            self.ended = running.INTERRUPTED
        elif self._alarm.deaf:
            self.ended = "GDB sees no events while this target runs"
        elif self._alarm.fired:  # otherwise the program has hardly run since the last sample
            self._sample()
        if (self._enough or self.ended) and not self._alarm.late:
            self._stands = True
        else:
            self._on_resume(None)  # type: ignore[arg-type]
        return self._stands

    def _sample(self) -> None:
        now = time.monotonic()
        try:
            self._take()
        except gdb.error as error:
            self.ended = "the PC cannot be read: %s" % error
            return
        self._halted = now
        self._stopped_s += self._stood_s
        self._ran.append(now - self._resumed)
        plan = self._plan
        self._enough = (plan.samples is not None and len(self.pcs) >= plan.samples) or (
            plan.seconds is not None and now >= self._started + plan.seconds
        )

    def _take(self) -> None:
        if self._unwinder is not None:
            stack = self._unwinder.stack()
            self._stacks.append(stack)
            self.pcs.append(stack[0])
        else:
            self.pcs.append(int(gdb.newest_frame().pc()) & 0xFFFFFFFE)


@contextlib.contextmanager
def _listening(stop: Callable[[gdb.Event], None], resume: Callable[[gdb.Event], None]) -> Iterator[None]:
    gdb.events.stop.connect(stop)
    gdb.events.cont.connect(resume)
    try:
        yield
    finally:
        gdb.events.stop.disconnect(stop)
        gdb.events.cont.disconnect(resume)


class _Asked(gdb.Function):
    """Whether a recording by halting ends with this stop; takes a sample of the program."""

    def __init__(self) -> None:
        self.ask: Callable[[], bool] = _stand
        super().__init__(_FUNCTION)

    def invoke(self, *arguments: gdb.Value) -> bool:
        return self.ask()


_FUNCTION = "_gdb_prof_halted"
_asked: List[_Asked] = []


@contextlib.contextmanager
def _catch_interrupts(ask: Callable[[], bool]) -> Iterator[None]:
    """Have `ask` decide at each SIGINT whether the program is to stand, where GDB has catchpoints for it.
    `$bpnum` is as before afterwards."""
    if not _asked:
        _asked.append(_Asked())
    _asked[0].ask = ask
    before = gdb.convenience_variable("bpnum")
    with contextlib.suppress(gdb.error), running.settings(("language", "c")):
        gdb.execute("catch signal SIGINT", to_string=True)
        gdb.execute("condition $bpnum $%s()" % _FUNCTION, to_string=True)
    number = gdb.convenience_variable("bpnum")
    try:
        yield
    finally:
        _asked[0].ask = _stand  # the function is GDB's for good; the recording need not be
        if number is not None and number != before:
            with contextlib.suppress(gdb.error):
                gdb.execute("delete %d" % int(number), to_string=True)
            gdb.set_convenience_variable("bpnum", before)


def _stand() -> bool:
    return True


def _at_bkpt() -> bool:
    try:
        code = session.read(int(gdb.newest_frame().pc()) & ~1, 2, "code")
    except (TargetError, gdb.error):
        return False
    return code[1] == 0xBE
