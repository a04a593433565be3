"""`counters start`, `read`, `stop`."""

from __future__ import annotations

import argparse
from typing import Any, Optional

from gdb_prof.commands import cli
from gdb_prof.commands.counters import CountersCommand, chosen, complete_event, lines, say, show_figures
from gdb_prof.commands.counters_session import Session
from gdb_prof.counters.cortexm.events import meaning
from gdb_prof.counters.cortexm.session import not_put_back
from gdb_prof.errors import GdbProfError, TargetError
from gdb_prof.target import session
from gdb_prof.wording import wrapped


class Start(CountersCommand):
    """Have counters run.

    EVENT is one of DWT's: cyccnt cpi exc sleep lsu fold, or one of the PMU's by
    name or number: INST_RETIRED, 0x0008; ccntr is the PMU's cycle counter. Without
    any: all of DWT's that are there, and INST_RETIRED where there is a PMU. Cycles
    are counted with whatever else. Of the PMU's counters of 16 bits two are joined
    for 32 where enough are free; a core that has no such event counts 0.

    A counter that the program uses goes on as it is, and only differences are
    taken. Where the program writes a counter meanwhile, or switches it off and on,
    they are wrong, which is seen only if less than before or too much for the time
    comes out, or by ccntr beside cyccnt.
    Start when the program has set up its own: what was off is off in the end.
    Where the ITM sends, counters of 8 bits send a packet each time they wrap."""

    name = "counters start"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("events", metavar="EVENT", nargs="*", help="what to count")
        add_options(parser)

    def complete(self, text: str, word: Optional[str]) -> Any:
        if text.rsplit(" ", maxsplit=1)[-1].startswith("-"):
            return super().complete(text, word)
        return complete_event(text, word)

    def run(self, args: argparse.Namespace) -> None:
        self.workbench.demand_none()
        found = Session(chosen(args.events), args.narrow, args.force)
        self.workbench.started(found)
        counters = found.counting.counters
        names = ", ".join(counter.name for counter in counters)
        say("counting %s: continue, then `counters read`, `counters stop`" % names)
        description = found.counting.pmu.unit.description
        for counter in counters:
            what = meaning(description, counter.name) or "an event without a name here"
            row = "%s, %s, %d bits: %s" % (counter.name, counter.place, counter.width.bits, what)
            lines(wrapped(row, cli.width(), "  ", "    "))
        say(*found.counting.remarks)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of how the PMU counts."""
    parser.add_argument("-narrow", action="store_true", help="PMU: 16 bits, never two counters for 32")
    parser.add_argument("-force", action="store_true", help="also events whose number nobody has verified")


class Read(CountersCommand):
    """Show what was counted since `counters start`.

    A counter that can have wrapped is known only modulo its size, which is said.
    What each read tells is added up: reads that come soon enough keep it exact.
    What follows from exact counts: cycles an instruction, share asleep, misses,
    stalls."""

    name = "counters read"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_clock(parser)

    def run(self, args: argparse.Namespace) -> None:
        found = self.workbench.demand()
        hz = self.workbench.clock_hz(args.clock)
        try:
            figures = found.read(hz)
        except TargetError as error:
            raise TargetError("%s: `counters stop`, then start again" % error) from None
        show_figures(figures, found, hz)


class Stop(CountersCommand):
    """Show the counts, and put every register back.

    As it was found; what cannot be is named, and tried again by another stop. GDB
    from 12 on does that, too, where it ends while the program stands.
    Stop before `detach`, `disconnect` or `kill`: then nobody can any more."""

    name = "counters stop"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_clock(parser)

    def run(self, args: argparse.Namespace) -> None:
        if self.workbench.counting() is None and self.workbench.has_left():
            session.require_stopped()
            failures = self.workbench.put_back_left()
            if failures:
                raise TargetError(not_put_back(failures))
            say("what was left is put back: the registers are as they were")
            return
        found = self.workbench.demand()
        hz = self.workbench.clock_hz(args.clock)
        try:
            show_figures(found.read(hz), found, hz)
        except GdbProfError as error:
            say("no counts: %s" % error)
        self.workbench.ended(found)
        say("stopped; the registers are as they were")


def add_clock(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-clock", type=cli.positive, metavar="HZ", help="the core's clock (default: SystemCoreClock)"
    )
