"""Counting from its start to its stop: what runs in the core, for how long, and its trace enable."""

from __future__ import annotations

import time
from typing import Callable, List, Optional, Tuple

import gdb

from gdb_prof.counters.cortexm.counter import Figure, Reading, Tally
from gdb_prof.counters.cortexm.dwt import put_back
from gdb_prof.counters.cortexm.events import Chosen, packaged_once
from gdb_prof.counters.cortexm.session import NONE, Counting, not_put_back
from gdb_prof.counters.registers import Unit
from gdb_prof.errors import GdbProfError, TargetError
from gdb_prof.target import session
from gdb_prof.target.core_trace import DEMCR, TRCENA, demand_unused, enable_trace, used
from gdb_prof.target.words import Words


def units() -> Tuple[Unit, Unit]:
    """DWT and PMU, at the architecture's addresses."""
    found = []
    for name in ("dwt", "pmu"):
        description = packaged_once(name)
        fact = description.fact("unit", "base")
        assert fact is not None
        found.append(Unit(description, Words(), int(fact.value, 0), (fact,)))
    return found[0], found[1]


class TraceEnable:
    """DEMCR.TRCENA, set for as long as the units are to answer."""

    def __init__(self) -> None:
        """Raises TargetError where it does not stay set."""
        self._words = Words()
        self._found = enable_trace(self._read, self._write, NONE, "")

    @property
    def was_off(self) -> bool:
        return not self._found & TRCENA

    def demand(self) -> None:
        """Raises TargetError where somebody has cleared it."""
        if not self._read(DEMCR) & TRCENA:
            raise TargetError("DEMCR.TRCENA is not set any more (was the target reset?)")

    def again(self) -> None:
        """Set it once more, where somebody has cleared it, for registers to be put back."""
        there = self._read(DEMCR)
        if not there & TRCENA:
            self._write(DEMCR, there | TRCENA)
            self._found &= ~TRCENA

    def put_back(self) -> None:
        """As it was, or as somebody has it now."""
        if self.was_off:
            there = self._read(DEMCR)
            if there & TRCENA:
                self._write(DEMCR, there & ~TRCENA)

    def _read(self, address: int) -> int:
        return self._words.read(address, 1, "DEMCR")[0]

    def _write(self, address: int, value: int) -> None:
        self._words.write(address, value, "DEMCR")


class Stopwatch:
    """For how long the program has run, by the host's clock."""

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self._since: Optional[float] = None
        self._ran_s = 0.0
        self._listens = True
        gdb.events.cont.connect(self._resumed)
        gdb.events.stop.connect(self._stopped)

    def close(self) -> None:
        if self._listens:
            self._listens = False
            gdb.events.cont.disconnect(self._resumed)
            gdb.events.stop.disconnect(self._stopped)

    def lap(self) -> Tuple[float, float]:
        """Since the lap before: how long it ran, and how long that was ago. Called while it stands."""
        now = time.monotonic()
        self._stopped(None)
        ran_s, self._ran_s = self._ran_s, 0.0
        ago, self._looked = now - self._looked, now
        return ran_s, ago

    def _resumed(self, event: object) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def _stopped(self, event: object) -> None:
        if self._since is not None:
            self._ran_s += time.monotonic() - self._since
            self._since = None


class Session:
    """Counters of the live, stopped target, which run from here to `stop`."""

    def __init__(self, chosen: Chosen, narrow: bool, force: bool) -> None:
        """Raises GdbProfError; the registers are then as they were, or it says which are not."""
        demand_unused()
        self._connected = session.connection()
        self._ended = False
        self.trace = TraceEnable()
        self.counting = Counting(*units())
        self.watch = Stopwatch()
        self.ran_s = 0.0
        try:
            self.counting.start(chosen, narrow, force)
            self.tally = Tally(self.counting.counters, self.counting.begin())
        except GdbProfError as error:
            failures = self.stop()
            if failures:
                raise type(error)("%s; %s" % (error, not_put_back(failures))) from None
            raise
        except BaseException:
            self.stop()
            raise
        used("counters stop", lambda: self.alive and not self._ended)

    @property
    def alive(self) -> bool:
        """Whether the target is still the one that counts."""
        return session.is_still(self._connected)

    def read(self, hz: Optional[int]) -> Tuple[Figure, ...]:
        """What was counted since the start. Raises TargetError where counters do not run any more."""
        reading = self.take()
        ran_s, ago_s = self.watch.lap()
        self.ran_s += ran_s
        self.tally.add(reading, ago_s if self.counting.moves_in_halt else ran_s, hz)
        return self.tally.figures

    def take(self, begin: bool = False) -> Reading:
        self.trace.demand()
        return self.counting.begin() if begin else self.counting.take()

    def stop(self) -> List[str]:
        """Every register as it was found, the trace enable last; what could not be, one message each. Ctrl-C
        does not break it off: it ends with that anyway."""
        self.watch.close()
        failures: List[str] = []
        if self.alive:
            failures += _unbroken(lambda: put_back([self.trace.again]))
            failures += _unbroken(self.counting.stop)
            failures += _unbroken(lambda: put_back([self.trace.put_back]))
        self._ended = True
        return failures


def _unbroken(step: Callable[[], List[str]]) -> List[str]:
    while True:
        try:
            return step()
        except KeyboardInterrupt:
            continue
