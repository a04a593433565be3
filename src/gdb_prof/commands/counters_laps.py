"""The program's way from one place to another, again and again, and what is counted on it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from typing import Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Tuple

import gdb

from gdb_prof.commands.counters_session import Session
from gdb_prof.counters.cortexm.counter import Counter, Figure, Reading, differences
from gdb_prof.errors import TargetError
from gdb_prof.target import alarm, posted, running

_NEVER_S = 1e9
"""The alarm is not to interrupt by itself: it sees to it that no Ctrl-C is lost between two laps."""


@dataclasses.dataclass
class Measured:
    """`laps`: the readings of each. `cost`: of one stepped instruction. `restarts`: how often the first place
    came again before the second. `ended`: what ended it early, else empty. `arrived`: at the first place."""

    laps: List["Lap"] = dataclasses.field(default_factory=list)
    cost: Optional["Lap"] = None
    restarts: int = 0
    ended: str = ""
    arrived: bool = False


@dataclasses.dataclass(frozen=True)
class Lap:
    """Two readings, and the time between them by the host's clock. What they tell is asked in the end: only
    then the clock is known that the program has set."""

    counters: Sequence[Counter]
    before: Reading
    after: Reading
    ran_s: float

    def figures(self, hz: Optional[int]) -> Tuple[Figure, ...]:
        return differences(self.counters, self.before, self.after, self.ran_s, hz)


@contextlib.contextmanager
def stops(begin: int, end: int) -> Iterator[Tuple[running.Stop, running.Stop]]:
    """Breakpoints of ours at both; one and the same where they are the same place."""
    made: List[running.Stop] = []
    try:
        made.append(running.Stop(begin))
        if end != begin:
            made.append(running.Stop(end))
        yield made[0], made[-1]
    except gdb.error as error:
        raise TargetError("cannot stop there: %s" % error) from None
    finally:
        for stop in made:
            if stop.is_valid():
                stop.delete()


class Measurement:
    """Arrivals at the two places, and the counts between them."""

    def __init__(self, found: Session, ours: Tuple[running.Stop, running.Stop]) -> None:
        self._found = found
        self._begin, self._end = self._ours = ours
        self._before: Optional[Reading] = None
        self._since = 0.0
        self.measured = Measured()

    def run(self, times: int, stands_at_begin: bool) -> None:
        """Fill `measured` as far as it goes. Raises TargetError, KeyboardInterrupt."""
        hit: Optional[running.Stop] = self._begin if stands_at_begin else None
        with running.quiet(), _Runner(self._ours) as runner:  # once: a front end is told of each change
            while True:
                if hit is None:
                    hit, self.measured.ended = runner.go(running.run)
                    if hit is None:
                        return
                self._arrived(hit)
                if len(self.measured.laps) == times:
                    return
                if runner.asked:
                    self.measured.ended = running.INTERRUPTED
                    return
                starts, hit = hit is self._begin, None
                if starts:
                    self._start()
                if starts and self.measured.cost is None:
                    hit, self.measured.ended = self._stepped(runner)
                    if self.measured.ended:
                        return

    def _arrived(self, hit: running.Stop) -> None:
        if self._before is None:
            return
        if hit is self._end:
            self.measured.laps.append(self._lap(self._before))
            self._before = None
        else:
            self.measured.restarts += 1

    def _start(self) -> None:
        self._since = time.monotonic()
        self._before = self._found.take(begin=True)
        self.measured.arrived = True

    def _stepped(self, runner: "_Runner") -> Tuple[Optional[running.Stop], str]:
        """Step the first instruction, which GDB would do, too, to leave the breakpoint: what one halt costs.
        What stopped it, if more than the step."""
        assert self._before is not None
        hit, cause = runner.go(_step)
        self.measured.cost = self._lap(self._before)
        return hit, cause

    def _lap(self, before: Reading) -> Lap:
        after = self._found.take()
        return Lap(self._found.counting.counters, before, after, time.monotonic() - self._since)


def _step() -> None:
    with running.quiet():
        gdb.execute("stepi", to_string=True)


class _Runner:
    """Lets the program run until one of our stops, or anything else, stops it. A context."""

    def __init__(self, ours: Tuple[running.Stop, ...]) -> None:
        self._ours = ours
        self._alarm = alarm.Alarm() if alarm.CAN_INTERRUPT else None
        self._round = 0
        self._event: Optional[gdb.Event] = None
        self._others: List[int] = []
        self._before: Dict[int, Tuple[int, int]] = {}

    def __enter__(self) -> "_Runner":
        posted.guard()
        gdb.events.stop.connect(self._stopped)
        gdb.events.cont.connect(self._resumed)
        self._watching: ContextManager[object] = self._alarm or contextlib.nullcontext()
        self._watching.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        gdb.events.stop.disconnect(self._stopped)
        gdb.events.cont.disconnect(self._resumed)
        self._watching.__exit__(None, None, None)

    @property
    def asked(self) -> bool:
        """Whether the user has pressed Ctrl-C."""
        return self._alarm is not None and self._alarm.asked

    def go(self, resume: Callable[[], None]) -> Tuple[Optional[running.Stop], str]:
        """Which of ours it has met, else what stopped it; a step that only ended has neither."""
        self._before, self._event, self._others = _hits(), None, []
        try:
            resume()
        except gdb.error as error:
            return None, "cannot run: %s" % error
        finally:
            self._quiet()
        if gdb.selected_inferior().pid == 0:
            return None, "the program ended"
        at = getattr(self._event, "breakpoints", None) or ()
        for stop in self._ours:
            if stop in at:
                return stop, ""
        if self._event is None or self.asked:
            return None, running.INTERRUPTED
        if isinstance(self._event, gdb.SignalEvent):
            return None, running.cause(self._event)
        if self._others:
            return None, "stopped by breakpoint %d" % self._others[0]
        return None, "" if resume is _step else "stopped"

    def _resumed(self, event: gdb.Event) -> None:
        self._round += 1
        if self._alarm is not None:
            # by way of GDB's events: the program is about to be resumed, and they wait until it is
            posted.post(functools.partial(self._runs, self._round))

    def _runs(self, of: int) -> None:
        if self._alarm is not None and of == self._round:
            self._alarm.set(_NEVER_S)

    def _stopped(self, event: gdb.Event) -> None:
        self._event = event
        # asked as it stops, since a temporary one is gone later; one whose condition is false, or that
        # ignores this time, is named, too, where a step ends at it
        at = getattr(event, "breakpoints", None) or ()
        self._others = [b.number for b in at if b not in self._ours and _stops(b, self._before)]
        self._quiet()

    def _quiet(self) -> None:
        self._round += 1
        if self._alarm is not None:
            self._alarm.stop()


def _hits() -> Dict[int, Tuple[int, int]]:
    """Of the user's breakpoints, how often each was hit, and how often it is to be passed over."""
    return {b.number: (b.hit_count, b.ignore_count) for b in gdb.breakpoints() or ()}


def _stops(breakpoint: gdb.Breakpoint, before: Dict[int, Tuple[int, int]]) -> bool:
    hits, ignored = before.get(breakpoint.number, (0, 0))
    return breakpoint.hit_count > hits and not ignored
