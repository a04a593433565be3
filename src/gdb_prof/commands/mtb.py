"""The prefix `mtb`, its settings, and what its commands share."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Dict, Optional, Tuple

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.cli import UnitCommand, speaker
from gdb_prof.commands.settings import Address, prefixes
from gdb_prof.counters.description import packaged
from gdb_prof.counters.mtb.placement import Ram, mask_of
from gdb_prof.counters.registers import Unit
from gdb_prof.errors import ProgramError, UsageError
from gdb_prof.target import session
from gdb_prof.target.images import Images, Program
from gdb_prof.target.words import Words

NAME = "MTB"
EN, MASK = 1 << 31, 0x1F
"""Of MASTER."""
REGISTERS = 16
"""Bytes of POSITION, MASTER, FLOW and BASE."""
_PARTS = {fact.name: int(fact.value, 0) for fact in packaged("mtb_parts", NAME).facts if fact.kind == "part"}
_NONE = "none"
say = speaker("mtb")


class Mtb(gdb.Command):
    """Trace branches with the Micro Trace Buffer of Cortex-M0+, M23 and M33.

    The MTB writes each branch into a buffer in RAM, in a circle:
      mtb start -part kinetis -buffer 0x20000400, continue, mtb dump, mtb profile
    mtb dump shows the branches, mtb profile the instructions executed between. The
    buffer is memory that the program must not use: an array of it, such as
      uint32_t mtb_buffer[256] __attribute__((aligned(1024)));
    which is found by that name, or an address. Not seen on hardware:
    src/gdb_prof/counters/README.md"""

    def __init__(self) -> None:
        super().__init__("mtb", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class _Part(gdb.Parameter):
    """Says where the MTB's registers lie, for parts whose manual was at hand."""

    set_doc = "Set the kind of part that the MTB is in."
    show_doc = "Show the kind of part that the MTB is in."

    def __init__(self) -> None:
        super().__init__("mtb part", gdb.COMMAND_DATA, gdb.PARAM_ENUM, [_NONE, *_PARTS])
        self.value = _NONE

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return "The part of the MTB is %s." % (value if value != _NONE else "not given (none)")


@dataclasses.dataclass(frozen=True)
class Started:
    """A trace begun by `mtb start`. `found`: the registers before; `on`: not stopped by `mtb stop`."""

    base: int
    buffer: int
    size: int
    ram: Ram
    found: Dict[str, int]
    on: bool = True

    def goes_on(self, master: int) -> bool:
        """Whether MASTER is as it was left: tracing is on, to a buffer of this size."""
        return self.on and master & (EN | MASK) == EN | mask_of(self.size)


class Workbench:
    """What the commands share: the program, and by connection the trace that was started, and the unit that
    was used last, until a target has gone."""

    def __init__(self, images: Images) -> None:
        self.images = images
        self._started: Dict[Tuple[object, int], Started] = {}
        self._last: Dict[object, int] = {}

    def unit(self, args: argparse.Namespace) -> Unit:
        """By option, by setting, or as the last command that succeeded had it. Raises UsageError where none
        says it."""
        base = args.base
        if base is None and args.part is not None:
            base = _PARTS[args.part]
        if base is None:
            base = int(gdb.parameter("mtb base") or 0) or _PARTS.get(str(gdb.parameter("mtb part")))
        if base is None:
            base = self._last.get(session.connection())
        if base is None:
            raise UsageError(
                "where the MTB's registers lie is not known: -base ADDRESS, from the manual or the ROM "
                "table, or -part: %s" % _table()
            )
        if base % REGISTERS:
            raise UsageError("the MTB's registers lie at a multiple of 16, not at 0x%08x" % base)
        return Unit(packaged("mtb", NAME), Words(), base)

    def program(self) -> Optional[Program]:
        """What is loaded; None where nothing is."""
        try:
            return self.images.program()
        except ProgramError:
            return None

    def started(self, unit: Unit) -> Optional[Started]:
        """Of this unit in this target."""
        return self._started.get((session.connection(), unit.base or 0))

    def remember(self, started: Started) -> None:
        self._started[session.connection(), started.base] = started

    def used(self, unit: Unit) -> None:
        """It is an MTB's: the next command need not be told where it is."""
        self._last[session.connection()] = unit.base or 0


def _table() -> str:
    return ", ".join("%s (0x%08x)" % part for part in _PARTS.items())


def add_unit(parser: argparse.ArgumentParser) -> None:
    """Which unit."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "-base", type=cli.word32, metavar="ADDRESS", help="of its registers (default: `set mtb base`)"
    )
    one.add_argument(
        "-part",
        type=cli.one_of(list(_PARTS)),
        choices=list(_PARTS),
        help="what says where they lie (default: `set mtb part`)",
    )


class MtbCommand(UnitCommand):
    """A subcommand of `mtb`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()


def register(images: Images) -> None:
    """Add the command, its settings and its subcommands."""
    from gdb_prof.commands import mtb_control, mtb_report

    Mtb()
    prefixes("mtb", ("base", "part"))
    Address("mtb", NAME, "0: not given, then the part's. A wrong one may fault the bus when it is read.")
    _Part()
    workbench = Workbench(images)
    for command in (mtb_control.Start, mtb_control.Stop, mtb_report.Dump, mtb_report.Profile):
        command(workbench)
