"""`dpu status`, `dpu counters`, `dpu counter`: the unit's registers and its six counters."""

from __future__ import annotations

import argparse
import contextlib
from typing import Callable, Iterator, List, Mapping, Sequence, Union

import gdb

from gdb_prof.commands.cli import number, show, width, word32
from gdb_prof.commands.dpu import DpuCommand, Workbench, say
from gdb_prof.commands.dpu_check import Check, Size
from gdb_prof.commands.dpu_session import Session
from gdb_prof.counters.description import UNKNOWN, YOURS, Description, Fact
from gdb_prof.counters.dpu import counters_text, status
from gdb_prof.counters.dpu.capture import bit
from gdb_prof.counters.dpu.configure import Plan, Wanted, demand_match, plan, warnings
from gdb_prof.counters.dpu.enable import ENABLED, enabling
from gdb_prof.counters.dpu.printing import as_c, as_values
from gdb_prof.counters.dpu.reading import (
    COUNTERS,
    MOST,
    REGISTERS,
    named,
    other_of_pair,
    pairs,
    reading,
    settled,
    silent,
    value,
)
from gdb_prof.counters.registers import Unit, Write, demand_placed, demand_verified, rests_on
from gdb_prof.errors import GdbProfError, TargetError, UsageError
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
        say(
            "registers at 0x%08x (%s), %s"
            % (unit.base or 0, _base_from(unit), _order_from(self.workbench.byte_order()))
        )
        show(status.text(unit.description, values, width()))
        _say(silent(values, unit.base or 0))


def _base_from(unit: Unit) -> str:
    fact = unit.description.fact("unit", "base")
    if gdb.parameter("dpu base") or fact is None:
        return "set dpu base"
    return "%s: %s" % (fact.status, fact.source)


def _order_from(fact: Fact) -> str:
    if fact.status == UNKNOWN:
        return "%s-endian as GDB has the target; the unit's is not known (set dpu byte-order)" % fact.value
    return "%s-endian (%s)" % (
        fact.value,
        fact.source if fact.status == YOURS else "%s: %s" % (fact.status, fact.source),
    )


def _say(told: str) -> None:
    say(*([told] if told else []))


class Counters(DpuCommand):
    """Show the six counters: how they are set, and what they counted.

    They count down, 31 bits: elapsed is the preset minus the value. The preset is
    in no register: it is known where `dpu counter` wrote it since the connection
    began and nobody has changed the counter. Where A1 counts the overflows of A2
    the total of both is shown; `at least` where A1 may have missed some, with the
    reason."""

    name = "dpu counters"

    def run(self, args: argparse.Namespace) -> None:
        unit, written = self.workbench.live(), self.workbench.written
        values = unit.read_all(REGISTERS)
        found = {name: reading(unit.description, name, values, written) for name in COUNTERS}
        for counting, counted in pairs(found):
            values = settled(values, unit.read, counting.counter, counted.counter)
        found = {name: reading(unit.description, name, values, written) for name in COUNTERS}
        show(counters_text.text(found, width()))
        if silent(values, 0):  # of all that can be read, then
            _say(silent(unit.read_all(), unit.base or 0))


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
                extended: wraps, and A1 can count how often A2 did
      -filter   of the counted event: any, or user, supervisor, task, as far as
                the codes are known; those of start and stop are set to 0
      -raw      the control register whole, for fields of unknown position
    Written in this order: the counter off, its value (the preset), its control;
    each is read back, and all put back where one fails. What rests on unverified
    rows is only written with -force, and so is what would let A1 miss overflows of
    A2 as the other is set, and any counter while the trace is on.
    -print needs no target: the register values for code of yours, with -c as C.
    To count beyond 2^31, once the description has the code of overflow (the
    packaged one has not: give -event its number, or set dpu description):
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
        parser.add_argument(
            "-force", action="store_true", help="write what is unverified, too, or ill matched"
        )
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
        try:
            demand_placed(found.writes)
        except UsageError as error:
            raise UsageError("%s (-raw), or -print" % error) from None
        unit = self.workbench.live()
        self._write(unit, plan(unit, wanted), args.force)

    def _print(self, found: Plan, as_assignments: bool) -> None:
        unit = self.workbench.unit()
        columns = min(width(79), 100)
        lines = (as_c if as_assignments else as_values)(found.writes, unit, columns, switch=True)
        show("".join(line + "\n" for line in lines))

    def _write(self, unit: Unit, found: Plan, force: bool) -> None:
        """All of it, or where that fails or is interrupted, nothing."""
        before = unit.read_all(("DP_CR", "DP_TC", "DP_TW", *REGISTERS))
        if all(word == 0xFFFFFFFF for word in before.values()):
            raise TargetError(silent(before, unit.base or 0))
        enable = enabling(unit, before["DP_CR"])
        demand_verified([*found.writes, *enable], force)
        if not force:
            demand_match(found.counter, found.beside(unit, before))
        on = bit(unit.description, "DP_TC", "EN", before["DP_TC"])
        if on and not force:
            raise UsageError(
                "the trace is on (DP_TC = 0x%08x): its records before and after would mean different "
                "things: `dpu trace stop` first (or -force)" % before["DP_TC"]
            )
        known = self._session.forget(found.counter)
        touched: List[str] = []
        if on:
            self.workbench.changed.append(
                "%s was set anew while the trace was on, DP_TW at 0x%08x: the steps before and behind mean "
                "different things" % (found.counter, before["DP_TW"])
            )
        try:
            for write in (*found.writes, *enable):
                touched.append(write.register)
                unit.perform([write], force)
            values = unit.read_all(("DP_CR", *REGISTERS))
        except BaseException as error:
            state = self._back(unit, found, before, touched, known)
            if isinstance(error, KeyboardInterrupt):
                raise TargetError("interrupted; %s" % state) from None
            if isinstance(error, GdbProfError):
                raise TargetError("%s; %s" % (error, state)) from None
            raise
        self._session.wrote(found.counter, unit.address(value(found.counter)), [*found.writes, *enable])
        self._tell(unit, found, values, bool(enable))

    def _back(
        self,
        unit: Unit,
        found: Plan,
        before: Mapping[str, int],
        touched: Sequence[str],
        known: Mapping[str, int],
    ) -> str:
        """What there is to be said of it: of what was written, no more is written. `known`: of the session,
        while it was so."""
        hint = _reason(unit, found.writes[1], touched)
        writes = [*found.back(unit, before), unit.raw("DP_CR", before["DP_CR"])]
        said = unit.put_back([write for write in writes if write.register in touched]) + hint
        with contextlib.suppress(GdbProfError):
            now = unit.read_all()
            if all(now[name] == before[name] for name in known):
                self._session.recall(known)
        return said

    def _tell(self, unit: Unit, found: Plan, values: Mapping[str, int], enabled: bool) -> None:
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
        other = other_of_pair(unit.description, found.counter, values)
        if other and reading(unit.description, other, values, self.workbench.written).elapsed:
            self._session.forget(other)
            say("%s had counted before: set it anew, too, or the total is not known" % other)
        if enabled:
            say(ENABLED)


def _reason(unit: Unit, preset: Write, touched: Sequence[str]) -> str:
    """Why a write may have failed, by what the registers read then, before they are put back."""
    with contextlib.suppress(GdbProfError):
        now = unit.read_all()
        if silent(now, 0):
            return "; every register reads the same: nothing answers at 0x%08x?" % (unit.base or 0)
        there = now[preset.register]
        # the unit keeps 31 bits of a value, as it sees it
        wanted, seen = (int.from_bytes(word.to_bytes(4, "little"), "big") for word in (preset.value, there))
        if preset.register in touched and there != preset.value and seen == wanted & MOST:
            return "; it fits a unit of the other byte order: set dpu byte-order"
    return ""


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
    yield from warnings(found.counter, found.beside(unit, values))
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
