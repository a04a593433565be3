"""`counters between`: what is counted from one place of the program to another, again and again."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, Optional, Sequence

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.counters import CountersCommand, Workbench, chosen, complete_event, lines, say
from gdb_prof.commands.counters_control import add_clock, add_options
from gdb_prof.commands.counters_laps import Measured, Measurement, stops
from gdb_prof.commands.counters_session import Session
from gdb_prof.counters.cortexm import text
from gdb_prof.counters.cortexm.counter import CYCLES
from gdb_prof.errors import GdbProfError, ProgramError, TargetError
from gdb_prof.printable import printable
from gdb_prof.target import running
from gdb_prof.wording import count, plural, some

DEFAULT_TIMES = 10


class Between(CountersCommand):
    """Count from one place to another, again and again.

    LOCATION is a function (its first instruction), FILE:LINE or *ADDRESS. Counting
    begins each time the first one is reached, anew where that comes again before
    the second; twice the same LOCATION is from one arrival to the next. EVENT as
    for `counters start`: nothing needs to be started, all is put back. A
    breakpoint of yours or Ctrl-C ends it with what there is. The program must have
    set up its own counters before: see `help counters start`.

    The core is halted at each end, and GDB steps off the first LOCATION before it
    goes on: what it counts as it enters and leaves Debug state is in each count.
    How much that can be is measured once, by an instruction that is stepped."""

    name = "counters between"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("begin", metavar="LOCATION", help="where counting begins")
        parser.add_argument("end", metavar="LOCATION", help="where it ends")
        parser.add_argument("events", metavar="EVENT", nargs="*", default=[], help="what to count")
        parser.add_argument(
            *("-times",),
            type=cli.positive,
            metavar="N",
            default=DEFAULT_TIMES,
            help="how often (default: %d)" % DEFAULT_TIMES,
        )
        add_clock(parser)
        add_options(parser)

    def complete(self, text: str, word: Optional[str]) -> Any:
        words = text.split(" ")
        if words[-1].startswith("-"):
            return super().complete(text, word)
        return gdb.COMPLETE_LOCATION if len(words) < 3 else complete_event(text, word)

    def run(self, args: argparse.Namespace) -> None:
        self.workbench.demand_none()
        begin, end = _place(args.begin), _place(args.end)
        events = chosen(args.events)
        before_hz = self.workbench.clock_hz(args.clock)
        found = Session(events, args.narrow, args.force)
        self.workbench.started(found)  # from here on GDB puts it back as it ends
        measured, failed = Measured(), ""
        try:
            with stops(begin, end) as ours:
                measurement = Measurement(found, ours)
                measured = measurement.measured
                measurement.run(args.times, int(gdb.newest_frame().pc()) == begin)
        except KeyboardInterrupt:
            measured.ended = running.INTERRUPTED
        except GdbProfError as error:
            measured.ended = str(error)
        finally:
            failed = _put_back(self.workbench, found)
        if not measured.laps:
            raise TargetError(_nothing(args, measured, failed))
        hz = self.workbench.clock_hz(args.clock)  # only now: the program may have set it
        _said(args, found, measured, hz or before_hz)
        if hz and before_hz and hz != before_hz:
            say(
                "SystemCoreClock was %s Hz before, %s Hz in the end, which is taken"
                % (count(before_hz), count(hz))
            )
        if failed:
            raise TargetError(failed)


def _place(location: str) -> int:
    """The address of a location. Raises ProgramError for none, and for more than one."""
    shown = printable(location)
    if location.startswith("*"):  # GDB 13 crashes where decode_line meets an expression that is none
        try:
            return _address(gdb.parse_and_eval(location[1:]))
        except gdb.error as error:
            raise ProgramError("%s: %s" % (shown, str(error).rstrip("."))) from None
    try:
        unparsed, places = ("", None) if location.startswith("-") else gdb.decode_line(location)
    except gdb.error as error:
        raise ProgramError(str(error).splitlines()[0].rstrip(".")) from None
    if unparsed or not places:
        raise ProgramError("no location %s: give a function, FILE:LINE or *ADDRESS" % shown)
    addresses = _entries([int(place.pc) & ~1 for place in places])
    if len(addresses) > 1:
        found = some(["*0x%x" % address for address in addresses], 4)
        raise ProgramError("%s is in %d places: give one of %s" % (shown, len(addresses), found))
    return addresses[0]


def _entries(addresses: Sequence[int]) -> List[int]:
    """The first address in each function, or inlined copy of one: of a line that lies in pieces `break`
    takes that, too."""
    first: Dict[int, int] = {}
    for address in sorted(addresses):
        block = gdb.block_for_pc(address)
        while block is not None and block.function is None:
            block = block.superblock
        first.setdefault(address if block is None else block.start, address)
    return list(first.values())


def _address(value: gdb.Value) -> int:
    """Of the code at an address, or of a function. Raises gdb.error."""
    if value.type.code == gdb.TYPE_CODE_FUNC and value.address is not None:
        value = value.address
    return int(value) & 0xFFFFFFFE


def _nothing(args: argparse.Namespace, measured: Measured, failed: str) -> str:
    """Why there is not one count."""
    place = printable(args.begin)
    if measured.arrived:
        place = "%s was reached from %s" % (printable(args.end), place)
    else:
        place += " was reached"
    return "%s before %s%s" % (measured.ended, place, failed and "; " + failed)


def _put_back(workbench: Workbench, found: Session) -> str:
    """What could not be, or empty."""
    try:
        workbench.ended(found)
    except GdbProfError as error:
        return str(error)
    return ""


def _said(args: argparse.Namespace, found: Session, measured: Measured, hz: Optional[int]) -> None:
    laps = [lap.figures(hz) for lap in measured.laps]
    said = "from %s to %s, %s" % (
        *(printable(args.begin), printable(args.end)),
        plural(len(laps), "time"),
    )
    if measured.ended:
        said += " of %d: %s" % (args.times, measured.ended)
    say(said)
    lines(text.laps_table(laps, hz))
    if measured.restarts:
        say(
            "%s came again before %s %s: counting began anew each time"
            % (printable(args.begin), printable(args.end), plural(measured.restarts, "time"))
        )
    longest_s = max(lap.ran_s for lap in measured.laps)
    worst = text.worst(laps)
    say(*found.counting.remarks, *text.remarks(worst))
    say(*text.asleep([(figures, lap.ran_s) for figures, lap in zip(laps, measured.laps)], hz))
    say(*text.stuck(laps[-1], measured.laps[-1].after))
    if not all(figure.exact for figure in worst if figure.counter.name in CYCLES):
        say(*text.span(worst, hz, longest_s))
    if measured.cost is not None:
        say(text.cost(measured.cost.figures(hz)))
