"""`dpu trace setup`, `start`, `pause`, `resume`, `stop`; `save` and `dump` are dpu_trace_files's."""

from __future__ import annotations

import argparse
from typing import Dict, List, Optional, Tuple

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.dpu import DpuCommand, Workbench, say
from gdb_prof.counters.dpu import printing
from gdb_prof.counters.dpu.capture import FILL, MODES, bit, buffer_of
from gdb_prof.counters.dpu.records import KINDS
from gdb_prof.counters.dpu.switching import Trace
from gdb_prof.counters.dpu.vtb import Setup, plan, unchecked
from gdb_prof.counters.registers import Unit, Write, demand_verified, rests_on
from gdb_prof.errors import GdbProfError, TargetError, UsageError
from gdb_prof.printable import printable
from gdb_prof.target import session
from gdb_prof.target.running import settings
from gdb_prof.wording import plural

_WIDTH = 80


class Vtb:
    """The buffer in the target's memory. `filled`: start and size of what this session has filled."""

    def __init__(self) -> None:
        self.filled: Optional[Tuple[int, int]] = None
        gdb.events.exited.connect(lambda _: self.forget())

    def forget(self) -> None:
        self.filled = None

    def read(self, start: int, size: int) -> bytes:
        """In one request. Raises TargetError."""
        session.require_stopped()
        with settings(("mem inaccessible-by-default", "off")):
            return session.read(start, size, "the trace buffer")

    def fill(self, start: int, size: int) -> None:
        """Raises TargetError, also where it does not take."""
        session.require_stopped()
        self.filled = None
        with settings(("mem inaccessible-by-default", "off")):
            session.write(start, bytes([FILL]) * size, "the trace buffer")
            for at in (start, start + size - 4):  # its ends: all of it would take long over a slow probe
                if session.read(at, 4, "the trace buffer") != bytes([FILL]) * 4:
                    raise TargetError(
                        "the trace buffer at 0x%08x did not take the fill pattern: is it RAM? (-no-fill)" % at
                    )
        self.filled = start, size


class TraceCommand(DpuCommand):
    """A subcommand of `dpu trace`."""

    def __init__(self, workbench: Workbench, vtb: Vtb) -> None:
        self.vtb = vtb
        super().__init__(workbench)


def address_of(text: str) -> int:
    """Of an expression in GDB's words, such as &vtb. Raises UsageError."""
    try:
        return int(gdb.parse_and_eval(text)) & 0xFFFFFFFF
    except (gdb.error, ValueError, TypeError, OverflowError) as error:
        raise UsageError("%s is no address: %s" % (printable(text), error)) from None


class SetUp(TraceCommand):
    """Set up the trace buffer (VTB): where it lies, what is recorded, how it ends.

    ADDR is an address or an expression, such as &vtb; the buffer is of physical
    addresses. What is known of where it may lie is checked; what cannot be is
    said. Writes DP_TSA, DP_TEA, with -mode request DP_TER, and DP_TC with the
    trace off, each read back; refused while it is on. Modes: overwrite, when full,
    from the start again; single until it is full; request from an access at
    -event-at on. Records: at each task switch, jump and return; at each software
    sample; or each word that the program writes to DP_TD.
      Nobody knows of a sign by which an overwritten buffer has wrapped. So setup
    fills it with bytes of 0xe5 first: what is left of them tells later. -no-fill
    leaves the memory as it is. Nothing unverified is written without -force.
      -print: the values for your own code, -c as C; needs no target and no -force.
    Examples:
      dpu trace setup -start &vtb -size 0x10000
      dpu trace setup -start 0x60000000 -size 4096 -mode single -print -c"""

    name = "dpu trace setup"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-start", required=True, metavar="ADDR", help="of the buffer's first byte")
        parser.add_argument("-size", required=True, type=cli.positive, metavar="BYTES", help="of the buffer")
        for option, words in (("-mode", MODES), ("-record", KINDS)):
            parser.add_argument(
                option,
                type=cli.one_of(words),
                choices=words,
                default=words[0],
                metavar="KIND",
                help="%s (default: %s)" % (", ".join(words), words[0]),
            )
        parser.add_argument(
            "-burst", type=cli.positive, default=16, metavar="BYTES", help="of a write to it (default: 16)"
        )
        parser.add_argument("-event-at", metavar="ADDR", help="of the access that -mode request waits for")
        parser.add_argument("-no-fill", action="store_true", help="do not fill the buffer")
        parser.add_argument("-force", action="store_true", help="write what is not verified, too")
        parser.add_argument("-print", action="store_true", help="print the values, write nothing")
        parser.add_argument("-c", action="store_true", help="with -print: as C")

    def run(self, args: argparse.Namespace) -> None:
        if args.c and not args.print:
            raise UsageError("-c goes with -print")
        event_at = address_of(args.event_at) if args.event_at else None
        setup = Setup(address_of(args.start), args.size, args.mode, args.record, args.burst, event_at)
        unit = self.workbench.unit() if args.print else self.workbench.live()
        said = unchecked(setup, unit.description)
        if args.print:
            text = printing.as_c if args.c else printing.as_values
            lines = text(plan(unit, setup, printing=True), unit, min(cli.width(_WIDTH), _WIDTH) - 1)
            cli.show("\n".join(lines) + "\n")
        else:
            self._write(unit, setup, args.force, not args.no_fill)
        say(*said)

    def _write(self, unit: Unit, setup: Setup, force: bool, fill: bool) -> None:
        before = unit.read_all(["DP_TC", "DP_TSA", "DP_TEA", "DP_TER"])
        writes = plan(unit, setup, before["DP_TC"])
        demand_verified(writes, force)
        if bit(unit.description, "DP_TC", "EN", before["DP_TC"]):
            raise UsageError(
                "the trace is on (DP_TC = 0x%08x): `dpu trace stop` first, or what it records is garbled"
                % before["DP_TC"]
            )
        if fill:
            self.vtb.fill(setup.start, setup.size)
        else:
            self.vtb.forget()
        self._perform(unit, writes, before, force)
        values = ", ".join("%s = 0x%08x" % (write.register, write.value) for write in writes)
        say(
            "%s, mode %s: 0x%08x to 0x%08x, %s%s; `dpu trace start`"
            % (
                *(setup.record, setup.mode, setup.start, setup.beyond - 1, plural(setup.size, "byte")),
                ", filled with 0xe5" if fill else "",
            ),
            "written and read back: " + values,
            "rests on: " + "; ".join(rests_on([fact for write in writes for fact in write.facts])),
        )

    def _perform(self, unit: Unit, writes: List[Write], before: Dict[str, int], force: bool) -> None:
        """All, or where one does not take, those before it put back."""
        done: List[Write] = []
        try:
            for write in writes:
                done.append(write)
                unit.perform([write], force)
                self.workbench.written[write.register] = write.value
        except GdbProfError as error:
            state = "the registers are as before"
            for write in reversed(done):
                try:
                    unit.perform([unit.raw(write.register, before[write.register])], True)
                    self.workbench.written[write.register] = before[write.register]
                except GdbProfError:
                    state = "%s could not be put back" % write.register
            raise TargetError("%s; %s" % (error, state)) from None


class _Switch(TraceCommand):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-force", action="store_true", help="write what is not verified, too")

    def run(self, args: argparse.Namespace) -> None:
        unit = self.workbench.live()
        trace = Trace(unit, self.workbench.written, args.force)
        said = self.switched(trace, unit)
        say(said, *trace.notes)

    def switched(self, trace: Trace, unit: Unit) -> str:
        raise NotImplementedError


def _reached(unit: Unit, pointer: int) -> str:
    start, size = buffer_of(unit.read_all(["DP_TSA", "DP_TEA"]), unit.description)
    if not start <= pointer <= start + size:
        return "the write pointer, 0x%08x, lies outside the buffer" % pointer
    return "the write pointer is at 0x%08x, byte %d of %d" % (pointer, pointer - start, size)


class Start(_Switch):
    """Let the trace record: sets EN, once `dpu trace setup` has set it up.

    Where the description knows a switch of the unit as a whole, that is set, too.
    Nothing unverified is written without -force."""

    name = "dpu trace start"

    def switched(self, trace: Trace, unit: Unit) -> str:
        return "the trace is on; " + _reached(unit, trace.start())


class Pause(_Switch):
    """Pause the trace: sets TMPDIS, and waits until all is in the buffer.

    In the article's order: waits for TWBA = 0, sets TMPDIS, waits again. If a wait
    takes too long, DP_TC is put back and the command fails. Where TWBA's place is
    not known it is refused; -force waits until DP_TW stands still."""

    name = "dpu trace pause"

    def switched(self, trace: Trace, unit: Unit) -> str:
        return "the trace is paused; " + _reached(unit, trace.pause())


class Resume(_Switch):
    """Let a paused trace go on: clears TMPDIS."""

    name = "dpu trace resume"

    def switched(self, trace: Trace, unit: Unit) -> str:
        trace.resume()
        return "the trace goes on"


class Stop(_Switch):
    """Stop the trace, with all that is under way in the buffer first.

    In the article's order: waits for TWBA = 0, sets TMPDIS, waits again; then
    reads the write pointer, and clears EN and TMPDIS. If a wait takes too long,
    DP_TC is put back and the command fails. Where TWBA's place is not known it is
    refused; -force waits until DP_TW stands still, which proves less. Then:
      dpu trace dump
      dpu trace save vtb.bin"""

    name = "dpu trace stop"

    def switched(self, trace: Trace, unit: Unit) -> str:
        return "the trace is off; " + _reached(unit, trace.stop())


def register(workbench: Workbench) -> None:
    """Add the subcommands."""
    from gdb_prof.commands import dpu_trace_files

    vtb = Vtb()
    for command in (SetUp, Start, Pause, Resume, Stop, dpu_trace_files.Save, dpu_trace_files.Dump):
        command(workbench, vtb)
