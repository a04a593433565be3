"""`counters`: what a Cortex-M counts in hardware; alone it shows what is there."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any, List, Optional, Tuple

import gdb

from gdb_prof.commands.cli import UnitCommand, show, speaker
from gdb_prof.commands.counters_session import Session, TraceEnable, units
from gdb_prof.counters.cortexm import events, text
from gdb_prof.counters.cortexm.counter import Figure
from gdb_prof.counters.cortexm.dwt import Dwt
from gdb_prof.counters.cortexm.pmu import Pmu
from gdb_prof.counters.cortexm.session import not_put_back, nothing
from gdb_prof.errors import GdbProfError, TargetError, UsageError
from gdb_prof.target import session
from gdb_prof.target.core_trace import demand_unused
from gdb_prof.target.images import Images

say = speaker("counters")


class Workbench:
    """What counts, from `counters start` to `counters stop`."""

    def __init__(self, images: Images) -> None:
        self._images = images
        self._session: Optional[Session] = None
        self._left: Optional[Session] = None
        if hasattr(gdb.events, "gdb_exiting"):  # GDB 12
            gdb.events.gdb_exiting.connect(lambda event: self._leaving())

    def counting(self) -> Optional[Session]:
        """What goes on; what counted in a target that is gone has ended."""
        found = self._session
        if found is not None and not found.alive:
            self._session = None
            found.stop()
            say(
                "the target that counted is gone, and its counts with it; its registers were not put back: "
                "`counters stop` before `detach`"
            )
            return None
        return found

    def demand(self) -> Session:
        """Raises UsageError where nothing counts."""
        found = self.counting()  # first: where the target is gone that is to be said
        session.require_stopped()
        if found is None:
            raise UsageError("nothing is counted: `counters start` first")
        return found

    def demand_none(self) -> None:
        session.require_stopped()
        if self.counting() is not None:
            raise UsageError("counting goes on: `counters stop` first")
        failures = self.put_back_left()
        if failures:  # told, and in nobody's way
            say("still " + not_put_back(failures))
            self._left = None

    def started(self, found: Optional[Session]) -> None:
        self._session = found

    def ended(self, found: Session) -> None:
        """Put back. Raises TargetError naming what could not be, which another stop tries again."""
        self._session = None  # before: what cannot be put back now is not to be in the way of what comes
        failures = found.stop()
        self._left = found if failures else None
        if failures:
            raise TargetError(not_put_back(failures))

    def has_left(self) -> bool:
        """Whether a stop could not put back all, of a target that is still there."""
        return self._left is not None and self._left.alive

    def put_back_left(self) -> List[str]:
        """What a stop could not put back; what still cannot be. Raises TargetError where another uses the
        units."""
        left = self._left
        if left is None or not left.alive:
            self._left = None
            return []
        demand_unused()
        failures = left.stop()
        self._left = left if failures else None
        return failures

    def clock_hz(self, given: Optional[int]) -> Optional[int]:
        """The user's, else SystemCoreClock, else None."""
        if given is not None:
            return given
        with contextlib.suppress(GdbProfError):
            symbol = self._images.program().find("SystemCoreClock")
            if symbol is not None:
                return session.read_word(symbol.address, "SystemCoreClock") or None
        return None

    def _leaving(self) -> None:
        """GDB ends, and lets the target go: not with its counters changed."""
        found, self._session = self._session, None
        if found is not None and found.alive:
            failures = found.stop()
            if failures:  # it may be running
                say(not_put_back(failures))


class CountersCommand(UnitCommand):
    """A subcommand of `counters`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()


class _Prefix(gdb.Command):
    """A command that has subcommands and also runs by itself."""

    def __init__(self, name: str, kind: int) -> None:
        super().__init__(name, kind, gdb.COMPLETE_NONE, True)


class Counters(CountersCommand, _Prefix):
    """Count events in hardware: cycles, instructions, cache misses, stalls.

    Alone: which counters are there (DWT's, and the PMU of Armv8.1-M), what they
    are set to and what they read. Nothing is changed for it but DEMCR.TRCENA,
    without which they do not answer, and that is put back.
      counters start, continue, counters read, counters stop
      counters between encode send -times 100"""

    name = "counters"

    def complete(self, text: str, word: Optional[str]) -> Any:
        return []

    def run(self, args: argparse.Namespace) -> None:
        session.require_stopped()
        counting = self.workbench.counting()
        trace = TraceEnable()
        try:
            _look(trace.was_off)
        finally:
            trace.put_back()
        if counting is not None:
            say("counting since `counters start`: " + ", ".join(c.name for c in counting.counting.counters))


def _look(was_off: bool) -> None:
    unit, pmu_unit = units()
    dwt, pmu = Dwt(unit), Pmu(pmu_unit)
    seen, again, more = dwt.look(), dwt.look(), pmu.look()
    if not seen.answers and more is None:
        raise TargetError(nothing(unit, pmu_unit))
    if was_off:
        say("DEMCR.TRCENA was 0, and no counter ran: set for this look, then put back")
    if seen.answers and dwt.is_baseline:
        say("DWT at 0x%08x has no counters: %s" % (unit.address("CTRL"), dwt.is_baseline))
    elif seen.answers:
        say("DWT at 0x%08x, DWT_CTRL 0x%08x" % (unit.address("CTRL"), seen.ctrl))
        lines(text.dwt_table(dwt, seen, again))
    else:
        say("no DWT: DWT_CTRL at 0x%08x reads 0" % unit.address("CTRL"))
    if more is None:
        say("no PMU at 0x%08x (Armv8.1-M has one)" % pmu_unit.address("EVCNTR0"))
        return
    say(text.pmu_summary(more, pmu.on(more)))
    names = {n: events.name_of(pmu_unit.description, event) for n, event in more.events.items()}
    lines(text.pmu_table(more, names))


def show_figures(figures: Tuple[Figure, ...], found: Session, hz: Optional[int]) -> None:
    """What was counted, what follows from it, and what is to be known of it."""
    say("since `counters start`; the program ran %.3g s by the host's clock" % found.ran_s)
    lines(text.figures_table(figures))
    lines(text.derived_table(figures))
    say(*text.stuck(figures, found.tally.last), *text.remarks(figures))
    say(*text.asleep([(figures, found.ran_s)], hz), *text.span(figures, hz, found.ran_s))


def chosen(words: List[str]) -> events.Chosen:
    """Raises UsageError."""
    return events.chosen(words, events.packaged_once("pmu"))


def complete_event(before: str, word: Optional[str]) -> List[str]:
    """Names of events that go on from the last word."""
    last = before.rsplit(" ", maxsplit=1)[-1]
    typed = len(last) - len(word or "") if word is not None else 0
    found = [
        name for name in events.names(events.packaged_once("pmu")) if name.lower().startswith(last.lower())
    ]
    # what is typed stays as it is typed
    found = [name.lower() if last.islower() else name for name in found]
    return [name[typed:] for name in found if name.startswith(last)]


def lines(rows: List[str]) -> None:
    show("".join(row + "\n" for row in rows))


def register(images: Images) -> None:
    """Add the command and its subcommands."""
    from gdb_prof.commands import counters_between, counters_control

    workbench = Workbench(images)
    for command in (
        Counters,
        counters_control.Start,
        counters_control.Read,
        counters_control.Stop,
        counters_between.Between,
    ):
        command(workbench)
