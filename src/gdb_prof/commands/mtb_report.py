"""`mtb dump`, `mtb profile`: what the buffer holds, as branches and as executed instructions."""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import List, NamedTuple, Optional, Tuple, Union

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.mtb import EN, MASK, MtbCommand, Started, add_unit
from gdb_prof.commands.mtb_buffer import place
from gdb_prof.commands.mtb_program import Addresses, LoadedProgram
from gdb_prof.counters.mtb import listing, report
from gdb_prof.counters.mtb.coverage import fits
from gdb_prof.counters.mtb.listing import Window
from gdb_prof.counters.mtb.packets import SIZE, branches, packets
from gdb_prof.counters.mtb.placement import LARGEST, SMALLEST, buffer_of, mask_of, place_of, size_of
from gdb_prof.counters.mtb.ranges import executed
from gdb_prof.counters.registers import Unit
from gdb_prof.counters.trace_buffer import Buffer
from gdb_prof.errors import FileError, TargetError, UsageError
from gdb_prof.files import read_file
from gdb_prof.printable import printable
from gdb_prof.target import session
from gdb_prof.wording import count, plural

_WRAP = 4
_LOOKED_AT = 4096
"""Of the newest branches: enough to tell another program's trace from this one's."""
_LEAST_FIT = 10
"""One in so many fits the program, or a file is no trace of it."""


class Trace(NamedTuple):
    """`on`: the target was traced up to where it stands. `file`: the name of the one that it is from."""

    window: Window
    on: bool
    file: Optional[str] = None


class _ReportCommand(MtbCommand):
    """A command that reads the buffer."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-buffer", metavar="ADDRESS", help="or an array's name: a trace begun elsewhere")
        add_unit(parser)
        parser.add_argument("-file", metavar="FILE", help="the buffer's bytes; no target is needed")
        parser.add_argument(
            "-position",
            type=cli.word32,
            metavar="VALUE",
            help="of the register, for -file (default: the oldest packet is first)",
        )

    def trace(self, args: argparse.Namespace) -> Trace:
        """Raises UsageError, FileError, TargetError."""
        if args.file is not None:
            if any(value is not None for value in (args.buffer, args.base, args.part)):
                raise UsageError("-file needs no -buffer, -base or -part")
            window = _recorded(args.file, args.position)
            return Trace(window, False, printable(os.path.basename(args.file)))
        if args.position is not None:
            raise UsageError("-position goes with -file")
        unit = self.workbench.unit(args)
        session.require_stopped()
        return self._live(unit, args.buffer)

    def _live(self, unit: Unit, buffer: Optional[str]) -> Trace:
        now = unit.read_all()
        started = self.workbench.started(unit)
        if not any(now.values()):
            raise TargetError(
                "nothing answers at 0x%08x: all registers read 0: no MTB, or none that was started"
                % unit.address("POSITION")
            )
        self.workbench.used(unit)
        notes: List[str] = []
        if started is not None and self._is_of(started, buffer):
            found = buffer_of(now["POSITION"], started.buffer, started.size, started.ram)
            notes += _changed(started, now["MASTER"])
        else:
            found = self._found(now["POSITION"], now["MASTER"], now["BASE"], buffer)
        content = session.read(found.start, found.size, "the trace buffer")
        on = bool(now["MASTER"] & EN)
        if not on and started is None:
            notes.append("tracing is off, MASTER reads 0x%08x" % now["MASTER"])
        return Trace(_window(found, content, notes), on)

    def program(self, trace: Trace) -> LoadedProgram:
        """Raises ProgramError; FileError for a file of which hardly anything fits the program."""
        program = LoadedProgram(self.workbench.images.program(), trace.file is None)
        misfits, newest = _misfits(trace.window, program)
        # not only where nothing does: in a large file of any kind some words look like code's addresses
        if trace.file is not None and newest > _LEAST_FIT * (newest - misfits):
            raise FileError(
                "%s is no trace of this program: %s of the newest %s its code; `file` alone forgets the "
                "program, and addresses are shown" % (trace.file, count(misfits), _do_not_fit(newest))
            )
        return program

    def _is_of(self, started: Started, buffer: Optional[str]) -> bool:
        """Whether `buffer` is the one that the trace was started with."""
        return buffer is None or place(self.workbench.program(), buffer, SMALLEST).address == started.buffer

    def _found(self, position: int, master: int, base: int, buffer: Optional[str]) -> Buffer:
        """The buffer of a trace that was not begun here. Raises UsageError where it is not known."""
        if not master & (EN | MASK):
            raise UsageError(
                "tracing is off, and MASTER, which reads 0x%08x, does not tell how large the buffer was: "
                "save it by `dump binary memory`, then -file FILE -position 0x%x" % (master, position)
            )
        size = size_of(master & MASK)
        if size > LARGEST:
            raise TargetError("MASTER reads 0x%08x: a buffer of %s bytes cannot be" % (master, count(size)))
        if buffer is not None:
            return buffer_of(position, place(self.workbench.program(), buffer, size).address, size)
        start = place_of(position, master & MASK, base)
        if start is None:
            raise UsageError(
                "no trace was begun here, and POSITION 0x%08x with BASE 0x%08x leaves open where the buffer "
                "is: -buffer ADDRESS, or an array's name" % (position, base)
            )
        return buffer_of(position, start, size)


def _changed(started: Started, master: int) -> List[str]:
    """What of MASTER is not as `mtb start` left it."""
    if not started.on or started.goes_on(master):
        return []
    return ["! MASTER reads 0x%08x, not as `mtb start` left it: the program or a reset changed it" % master]


def _window(found: Buffer, content: bytes, notes: List[str]) -> Window:
    """`content`: of the whole buffer, as it lies in memory."""
    oldest_first = b"".join(
        content[start - found.start : start - found.start + size] for start, size in found.parts()
    )
    return Window(branches(packets(oldest_first)), found.size // SIZE, found.wrapped, notes)


def _recorded(path: str, position: Optional[int]) -> Window:
    """Raises FileError."""
    content = read_file(path, LARGEST)
    name = printable(os.path.basename(path))
    if not content or len(content) % SIZE:
        raise FileError(
            "%s is no MTB buffer: it has %d bytes, and a packet has %d" % (name, len(content), SIZE)
        )
    if position is None:
        return Window(branches(packets(content)), len(content) // SIZE, None)
    try:
        mask_of(len(content))
    except UsageError as error:
        raise FileError("%s: %s: leave out -position" % (name, error)) from None
    # a file has no address: the position's low bits are the offset
    return _window(buffer_of(position % len(content) | position & _WRAP, 0, len(content)), content, [])


class Dump(_ReportCommand):
    """Show the branches in the trace buffer, the newest last.

    Each with where it came from and went to, and what it is, as far as the
    instruction tells: call, return, branch. At an exception the source is where
    the interrupted code goes on; an exception return names the exception that
    followed at once, where the buffer tells that one did. PC set in debug: by no
    exception. Exceptions are named where the target's vector table has one for
    that handler alone. * at a branch: tracing began with it. Of a loop one turn
    is shown, and how many there were. Tracing stays on: nothing is written while
    the target is stopped. Examples:
      mtb dump -last 20
      mtb dump -file buffer.bin -position 0x2c"""

    name = "mtb dump"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-last",
            type=cli.positive,
            metavar="N",
            help="the newest N branches (default: those of the newest %d rows)" % listing.MOST_ROWS,
        )
        super().add_arguments(parser)

    def run(self, args: argparse.Namespace) -> None:
        trace = self.trace(args)
        program: Union[LoadedProgram, Addresses]
        if self.workbench.program() is None:
            program, note = Addresses(trace.file is None), ["no ELF file is loaded: addresses alone"]
        else:
            program = self.program(trace)
            note = _doubts(trace.window, program)
        window = dataclasses.replace(trace.window, notes=[*trace.window.notes, *note])
        cli.show(listing.listing(window, program, cli.width(), args.last))


def _misfits(window: Window, program: LoadedProgram) -> Tuple[int, int]:
    """How many of the newest branches are not of this program, and of how many."""
    newest = window.branches[-_LOOKED_AT:]
    return sum(not fits(branch, program) for branch in newest), len(newest)


def _do_not_fit(newest: int) -> str:
    return "%s do%s not fit" % (plural(newest, "branch", "branches"), "es" if newest == 1 else "")


def _doubts(window: Window, program: LoadedProgram) -> List[str]:
    """Said where most do not fit; some may lead to code that is in no file, such as a ROM's."""
    misfits, newest = _misfits(window, program)
    if 2 * misfits <= newest:
        return []
    return [
        "! %s of the newest %s the program's code: is this the program that was traced?"
        % (count(misfits), _do_not_fit(newest))
    ]


class Profile(_ReportCommand):
    """Show what was executed in the window of the trace buffer.

    The straight ways between the branches are expanded to instructions: how many
    were executed in each function, how many of the function's own instructions
    these were (covered), and how often it was entered, as far as the window tells
    (calls). Instructions are counted in this window, which is short: it is no
    share of time. Instructions of IT blocks are counted whether or not their
    condition held. A way that does not fit the program's code is named and left
    out."""

    name = "mtb profile"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        kinds = (report.FUNCTION, report.LINE, report.ADDRESS)
        parser.add_argument(
            "-by",
            type=cli.one_of(kinds),
            choices=kinds,
            default=report.FUNCTION,
            help="what makes a row (default: function)",
        )
        parser.add_argument("-top", type=cli.positive, metavar="N", help="the first N rows")
        super().add_arguments(parser)

    def run(self, args: argparse.Namespace) -> None:
        trace = self.trace(args)
        program = self.program(trace)
        pc = int(gdb.newest_frame().pc()) if trace.on else None
        window = trace.window
        found = executed(window.branches, program, pc)
        if pc is not None and found.tail is None and window.branches:
            lost = (
                "the PC, 0x%08x, is not straight on from the last branch: what ran since is not counted" % pc
            )
            window = dataclasses.replace(window, notes=[*window.notes, lost])
        cli.show(report.report(window, found, program, cli.width(), args.by, args.top))
