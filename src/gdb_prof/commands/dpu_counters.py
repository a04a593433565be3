"""`dpu status`, `dpu counters`, `dpu counter`: the unit's registers and its six counters."""

from __future__ import annotations

import argparse
from typing import Callable, Dict, Iterator, Mapping, Union

import gdb

from gdb_prof.commands.cli import number, show, width, word32
from gdb_prof.commands.dpu import DpuCommand, Workbench, say
from gdb_prof.commands.dpu_check import Check, Size
from gdb_prof.commands.dpu_session import Session
from gdb_prof.counters.description import Description
from gdb_prof.counters.dpu import counters_text, status
from gdb_prof.counters.dpu.configure import Plan, Wanted, plan, warnings
from gdb_prof.counters.dpu.enable import ENABLED, enabling
from gdb_prof.counters.dpu.printing import as_c, as_values
from gdb_prof.counters.dpu.reading import (
    COUNTERS,
    MOST,
    REGISTERS,
    control,
    demand_readable,
    named,
    pairs,
    reading,
    settings,
    settled,
    value,
)
from gdb_prof.counters.registers import Unit, demand_verified, rests_on
from gdb_prof.errors import GdbProfError, UsageError
from gdb_prof.wording import wrapped


class Status(DpuCommand):
    """Show every register of the DPU, decoded as far as it is known.

    `known` is how sure that is, by the weakest row of the description that it
    rests on: documented, yours (of `set dpu description`), article, or unverified,
    which nobody has confirmed. `rest` are bits that are set and that nobody has
    explained. Registers that are only written are listed without a value."""

    name = "dpu status"

    def run(self, args: argparse.Namespace) -> None:
        unit = self.workbench.live()
        values = unit.read_all()
        order = "little" if self.workbench.is_little() else "big"
        say("registers at 0x%08x (%s), %s-endian" % (unit.base or 0, _known_from(unit), order))
        show(status.text(unit.description, values, width()))


def _known_from(unit: Unit) -> str:
    fact = unit.description.fact("unit", "base")
    if gdb.parameter("dpu base") or fact is None:
        return "set dpu base"
    return "%s: %s" % (fact.status, fact.source)


class Counters(DpuCommand):
    """Show the counters: value, mode, event, what starts and stops them, elapsed.

    They count down, 31 bits: elapsed is the preset minus the value. The preset is
    in no register: it is known where `dpu counter` wrote it since the connection
    began and nobody has changed the counter. Where A1 counts the overflows of A2,
    or B1 those of B2, the total of both is shown."""

    name = "dpu counters"

    def run(self, args: argparse.Namespace) -> None:
        unit, written = self.workbench.live(), self.workbench.written
        demand_readable(unit.description, REGISTERS)
        values = unit.read_all(REGISTERS)
        found = {name: reading(unit.description, name, values, written) for name in COUNTERS}
        for counting, counted in pairs(found):
            values = settled(values, unit.read, counting.counter, counted.counter)
        found = {name: reading(unit.description, name, values, written) for name in COUNTERS}
        show(counters_text.text(found, width()))


class _Meanings:
    """What a field's codes mean, for completion; a number is right as well, and configure judges words."""

    def __init__(self, description: Callable[[], Description], field: str) -> None:
        self._description = description
        self._field = field

    def __contains__(self, _: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        try:
            codes = self._description().codes(self._field)
        except GdbProfError:  # the user's file has gone: no matter while completing
            return iter(())
        return iter([code.meaning for code in codes])


def _setting(text: str) -> Union[int, str]:
    """A number, 0b…, 0x… or decimal, or a meaning."""
    try:
        return int(text, 0)
    except ValueError:
        return text


class Counter(DpuCommand):
    """Set one of the DPU's counters, or print what would set it.

    NAME is A0, A1, A2, B0, B1 or B2. What is counted, starts and stops are words,
    such as cycles, mark, debugev, or numbers (0b00011); a wrong one gives a list.
      -start    immediate where its code is known, else it has to be given
      -stop     none, likewise
      -mode     oneshot: down to 0 and stop; trace: runs on, for the trace buffer;
                extended: wraps, and the counter before it counts the overflows
      -filter   any, or user, supervisor, task: as far as the codes are known
      -raw      the control register whole, for fields of unknown position
    Written in this order: the counter off, its value (the preset), its control;
    each is read back. What rests on unverified rows is only written with -force.
    -print needs no target: the register values for code of yours, with -c as C.
    To count beyond 2^31:
      dpu counter A1 -event overflow -start mark -stop debugev
      dpu counter A2 -event cycles -start mark -stop debugev -mode extended
    Example:
      dpu counter A0 -event dcache_thrash -start mark -stop debugev -print -c"""

    name = "dpu counter"

    def __init__(self, workbench: Workbench, session: Session) -> None:
        self._session = session
        super().__init__(workbench)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("counter", metavar="NAME")
        for option, field, metavar, text in (
            ("-event", "CE", "EVENT", "what is counted"),
            ("-start", "CENM", "EVENT", "what starts it"),
            ("-stop", "CDM", "EVENT", "what stops it"),
            ("-mode", "CMODE", "MODE", "oneshot (if not given), trace or extended"),
            ("-filter", "CEP", "FILTER", "whose events are counted; any if not given"),
        ):
            choices = _Meanings(self.workbench.description, field)
            parser.add_argument(
                option,
                type=_setting,
                choices=choices,  # type: ignore[arg-type]
                metavar=metavar,
                help=text,
            )
        parser.add_argument("-preset", type=number, default=None, metavar="N", help="0x7fffffff if not given")
        parser.add_argument("-raw", type=word32, metavar="VALUE", help="the control register, whole")
        parser.add_argument("-force", action="store_true", help="write what is unverified, too")
        parser.add_argument("-print", dest="prints", action="store_true", help="write nothing, print it")
        parser.add_argument("-c", action="store_true", help="with -print: as assignments in C")

    def run(self, args: argparse.Namespace) -> None:
        wanted = _wanted(args)
        if args.c and not args.prints:
            raise UsageError("-c belongs to -print")
        found = plan(self.workbench.unit(), wanted)
        if args.prints:
            self._print(found, args.c)
            return
        if found.unplaced:
            raise UsageError(
                "where %s %s in %s is not known: set dpu description FILE, or give -raw VALUE, or -print"
                % (
                    ", ".join(found.unplaced),
                    "lies" if len(found.unplaced) == 1 else "lie",
                    control(wanted.counter),
                )
            )
        self._write(self.workbench.live(), found, args.force)

    def _print(self, found: Plan, as_assignments: bool) -> None:
        unit = self.workbench.unit()
        columns = min(width(79), 100)
        lines = (as_c if as_assignments else as_values)(found.writes, unit, columns)
        show("".join(line + "\n" for line in lines))

    def _write(self, unit: Unit, found: Plan, force: bool) -> None:
        demand_readable(unit.description, ("DP_CR", *REGISTERS))
        enable = enabling(unit, unit.read("DP_CR"))
        demand_verified([*enable, *found.writes], force)
        self._session.forget(found.counter)
        unit.perform(found.writes, force)
        self._session.wrote(found.counter, unit.address(value(found.counter)), found.writes)
        unit.perform(enable, force)
        values = unit.read_all(("DP_CR", *REGISTERS))
        say(_told(found))
        _, preset, setting = found.writes
        say(
            "%s = 0x%08x, %s = 0x%08x, read back"
            % (preset.register, preset.value, setting.register, values[setting.register])
        )
        facts = [fact for write in found.writes for fact in write.facts]
        for line in rests_on(facts):
            show("".join(part + "\n" for part in wrapped("rests on %s" % line, width(), "  ", "    ")))
        say(*_remarks(unit, found, values))
        if enable:
            say(ENABLED)


def _wanted(args: argparse.Namespace) -> Wanted:
    given = [
        option
        for option, setting in (
            *(("-event", args.event), ("-start", args.start), ("-stop", args.stop)),
            *(("-mode", args.mode), ("-filter", args.filter)),
        )
        if setting is not None
    ]
    if args.raw is not None and given:
        raise UsageError("-raw is the whole control register: it goes without %s" % ", ".join(given))
    return Wanted(
        named(args.counter),
        args.event,
        args.start,
        args.stop,
        "oneshot" if args.mode is None else args.mode,
        "any" if args.filter is None else args.filter,
        MOST if args.preset is None else args.preset,
        args.raw,
    )


def _told(found: Plan) -> str:
    said = found.settings
    if not all(field in said for field in ("CE", "CENM", "CDM", "CMODE", "CEP")):
        return "%s is set by a raw value" % found.counter
    return "%s counts %s from %s to %s, %s, filter %s" % (
        found.counter,
        said["CE"],
        said["CENM"],
        said["CDM"],
        said["CMODE"],
        said["CEP"],
    )


def _remarks(unit: Unit, found: Plan, values: Mapping[str, int]) -> Iterator[str]:
    """What keeps the counter from counting, or from counting what was meant."""
    description = unit.description
    configured: Dict[str, Mapping[str, str]] = {
        name: settings(description, name, values[control(name)]) for name in COUNTERS
    }
    yield from warnings(found.counter, configured)
    if found.settings.get("CEP") == "task":
        yield "DP_RPID = 0x%08x is the task whose events are counted; it lies at 0x%08x" % (
            unit.read("DP_RPID"),
            unit.address("DP_RPID"),
        )


def register(workbench: Workbench) -> None:
    """Add the subcommands."""
    session = Session(workbench.written)
    Status(workbench)
    Counters(workbench)
    Counter(workbench, session)
    Check(workbench, session)
    Size(workbench)
