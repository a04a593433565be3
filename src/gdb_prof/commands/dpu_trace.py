"""`dpu trace setup`, and what a session knows of the buffer.

The switches are dpu_trace_switch's, `save` and `dump` dpu_trace_files's.
"""

from __future__ import annotations

import argparse
import contextlib
from typing import Dict, List, Optional, Sequence, Tuple

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.dpu import DpuCommand, Workbench, say
from gdb_prof.counters.dpu import printing
from gdb_prof.counters.dpu.capture import FILL, MODES
from gdb_prof.counters.dpu.records import KINDS
from gdb_prof.counters.dpu.switching import Trace
from gdb_prof.counters.dpu.vtb import Setup, plan, unchecked
from gdb_prof.counters.registers import Unit, demand_verified, rests_on
from gdb_prof.errors import GdbProfError, ProgramError, TargetError, UsageError
from gdb_prof.printable import printable
from gdb_prof.target import session
from gdb_prof.target.images import Images
from gdb_prof.target.in_use import in_use
from gdb_prof.wording import plural

_WIDTH = 80
_AT_ONCE = 1 << 16
"""Bytes of a write, behind which Ctrl-C is seen."""


class Vtb:
    """The buffer in the target's memory, and what this session did with it.

    `place`: start and size as it was set up; `filled`: whether with the fill pattern. `began`: the registers
    when it was started; `ended`: DP_TW when it was stopped. `unproven`: what a pause or stop could not prove,
    or what makes steps `mixed`. `paused`: DP_TW at a pause, and the counters' registers.
    """

    def __init__(self) -> None:
        self.forget()
        gdb.events.exited.connect(lambda _: self.forget())
        gdb.events.cont.connect(lambda _: self._ran())

    def forget(self) -> None:
        self.place: Optional[Tuple[int, int]] = None
        self.filled = self._fresh = False
        self.began: Optional[Dict[str, int]] = None
        self.ended: Optional[int] = None
        self.unproven: List[str] = []
        self.mixed = self._went_on = False
        self.paused: Optional[Tuple[int, Dict[str, int]]] = None

    def _ran(self) -> None:
        self._fresh, self._went_on = False, True

    def pause(self, pointer: int, counters: Dict[str, int]) -> None:
        self.paused, self._went_on = (pointer, counters), False

    def resume(self, counters: Dict[str, int]) -> None:
        """Before it goes on: what ran meanwhile, seen by GDB or by a counter, is in no record of its own."""
        if self.paused is None:
            self.mix("it was paused, not by this session: the step there also holds what ran meanwhile")
        elif self._went_on or counters != self.paused[1]:
            at = self.paused[0] - self.place[0] if self.place else self.paused[0]
            where = "byte %d of the buffer" % at if self.place else "0x%08x" % at
            self.mix("paused at %s: the step there also holds what ran meanwhile" % where)
        self.paused = None

    def mix(self, why: str) -> None:
        self.mixed = True
        self.unproven.append(why)

    def read(self, start: int, size: int) -> bytes:
        """In one request. Raises TargetError."""
        session.require_stopped()
        return session.read(start, size, "the trace buffer")

    def set_up(self, start: int, size: int, fill: bool) -> None:
        """Raises TargetError as `fill` does."""
        self.forget()
        if fill:
            self.fill(start, size)
        self.place = start, size

    def fill(self, start: int, size: int) -> None:
        """Raises TargetError, also where it does not take, and when it is interrupted."""
        session.require_stopped()
        self.filled = False
        try:
            for at in range(start, start + size, _AT_ONCE):
                part = bytes([FILL]) * min(_AT_ONCE, start + size - at)
                session.write(at, part, "the trace buffer")
            for at in (start, start + size - 4):  # its ends: all of it would take long over a slow probe
                if session.read(at, 4, "the trace buffer") != bytes([FILL]) * 4:
                    raise TargetError(
                        "the trace buffer at 0x%08x did not take the fill pattern: is it RAM? (-no-fill)" % at
                    )
        except (GdbProfError, KeyboardInterrupt) as error:
            reason = str(error) if isinstance(error, GdbProfError) else "interrupted"
            raise TargetError("%s; what 0xe5 was written over is lost" % reason) from None
        self.filled = self._fresh = True

    def prepare(self, start: int, size: int) -> bool:
        """Before the trace is started. Whether it was filled anew, since the program has run, or it is not
        the first trace in it: GDB does not see all that runs. Raises TargetError."""
        self.began, self.ended, self.unproven = None, None, []
        self.mixed, self.paused = False, None
        if self.place != (start, size):
            self.place = None
        elif self.filled and not self._fresh:
            self.fill(start, size)
            self._fresh = False
            return True
        self._fresh = False
        return False

    def pattern(self, start: int, size: int) -> Optional[bool]:
        """Whether what has not been written holds the fill pattern; None where that is not known."""
        return self.filled if self.place == (start, size) else None


class TraceCommand(DpuCommand):
    """A subcommand of `dpu trace`."""

    def __init__(self, workbench: Workbench, vtb: Vtb) -> None:
        self.vtb = vtb
        super().__init__(workbench)


def add_printing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-print", action="store_true", help="print the values, write nothing")
    parser.add_argument("-c", action="store_true", help="with -print: as C")


def print_width() -> int:
    return min(cli.width(_WIDTH), _WIDTH) - 1


def show(lines: Sequence[str]) -> None:
    cli.show("\n".join(lines) + "\n")


def address_of(text: str) -> int:
    """Of an expression in GDB's words, such as &vtb. Raises UsageError."""
    try:
        address = int(gdb.parse_and_eval(text))
    except (gdb.error, ValueError, TypeError, OverflowError) as error:
        raise UsageError("%s is no address: %s" % (printable(text), error)) from None
    if not 0 <= address <= 0xFFFFFFFF:
        raise UsageError("%s is no address of 32 bits" % printable(text))
    return address


class SetUp(TraceCommand):
    """Set up the trace buffer (VTB).

    Where it lies, what is recorded, how it ends. ADDR is an address or an
    expression, such as &vtb; the buffer is of physical addresses. What is known of
    where it may lie is checked; what cannot be is said. Writes DP_TSA, DP_TEA,
    with -mode request DP_TER, and DP_TC with EN off, each read back; refused while
    it is on. Modes: overwrite, when full, from the start again; single until it is
    full; request from an access at -event-at on. Records: at each task switch,
    jump and return; at each software sample; or each word that the program writes
    to DP_TD.
      Nobody knows of a sign by which an overwritten buffer has wrapped. So setup
    fills it with bytes of 0xe5, and `dpu trace start` anew if the program has run:
    what is left of them tells later. -no-fill leaves the memory as it is. What the
    program's symbols, sections and stack use is refused unless -in-use is given.
    Nothing unverified is written without -force.
      -print: the values for your own code, -c as C; needs no target and no -force.
    Examples:
      dpu trace setup -start &vtb -size 0x10000
      dpu trace setup -start 0x60000000 -size 4096 -mode single -print -c"""

    name = "dpu trace setup"

    def __init__(self, workbench: Workbench, vtb: Vtb, images: Images) -> None:
        self.images = images
        super().__init__(workbench, vtb)

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
        parser.add_argument("-in-use", action="store_true", help="also over what the program uses")
        add_printing(parser)

    def run(self, args: argparse.Namespace) -> None:
        if args.c and not args.print:
            raise UsageError("-c goes with -print")
        event_at = address_of(args.event_at) if args.event_at else None
        setup = Setup(address_of(args.start), args.size, args.mode, args.record, args.burst, event_at)
        unit = self.workbench.unit() if args.print else self.workbench.live()
        said = unchecked(setup, unit.description)
        if args.print:
            text = printing.as_c if args.c else printing.as_values
            show(text(plan(unit, setup), unit, print_width()))
        else:
            self._write(unit, setup, args)
        say(*said)

    def _write(self, unit: Unit, setup: Setup, args: argparse.Namespace) -> None:
        writes = plan(unit, setup, unit.read("DP_TC"))
        demand_verified(writes, args.force)
        session.require_stopped()
        used = _used(self.images, setup)
        if used and not args.in_use:
            raise UsageError(
                "0x%08x to 0x%08x is used by %s: another -start, or -in-use"
                % (setup.start, setup.beyond - 1, ", ".join(used))
            )
        trace = Trace(unit, self.workbench.written, args.force)
        trace.set_up(writes, lambda: self.vtb.set_up(setup.start, setup.size, not args.no_fill))
        self.workbench.changed.clear()
        values = ", ".join("%s = 0x%08x" % (write.register, write.value) for write in writes)
        say(
            "%s, mode %s: 0x%08x to 0x%08x, %s%s; `dpu trace start`"
            % (
                *(setup.record, setup.mode, setup.start, setup.beyond - 1, plural(setup.size, "byte")),
                "" if args.no_fill else ", filled with 0xe5",
            ),
            "written and read back: " + values,
            "rests on: " + "; ".join(rests_on(trace.facts)),
            *(["-in-use: it is written over %s" % ", ".join(used)] if used else []),
        )


def _used(images: Images, setup: Setup) -> List[str]:
    """What the program has there, in words: as far as an Arm program's file and stack pointer tell."""
    if not gdb.newest_frame().architecture().name().startswith("arm"):
        return []
    program = None
    with contextlib.suppress(ProgramError):
        program = images.program()
    variables = program.variables() if program else []
    own = any(v.address == setup.start and v.size >= setup.size for v in variables)
    return in_use(program, setup.start, setup.beyond, own)


def register(workbench: Workbench, images: Images) -> None:
    """Add the subcommands."""
    from gdb_prof.commands import dpu_trace_files, dpu_trace_switch

    vtb = Vtb()
    SetUp(workbench, vtb, images)
    for command in (
        dpu_trace_switch.Start,
        dpu_trace_switch.Pause,
        dpu_trace_switch.Resume,
        dpu_trace_switch.Stop,
        dpu_trace_files.Save,
        dpu_trace_files.Dump,
    ):
        command(workbench, vtb)
