"""The prefix `mtb`, its settings, and what its commands share."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Dict, Optional

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.cli import Command, show, width
from gdb_prof.counters.description import packaged
from gdb_prof.counters.mtb.placement import Ram, mask_of
from gdb_prof.counters.registers import Unit
from gdb_prof.errors import ProgramError, UsageError
from gdb_prof.target.images import Images, Program
from gdb_prof.target.words import Words
from gdb_prof.wording import wrapped

NAME = "MTB"
EN, MASK = 1 << 31, 0x1F
"""Of MASTER."""
_PARTS = {fact.name: int(fact.value, 0) for fact in packaged("mtb_parts", NAME).facts if fact.kind == "part"}
_NONE = "none"


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


class _Prefix(gdb.Command):
    """Settings of the Micro Trace Buffer."""

    def __init__(self, words: str) -> None:
        super().__init__(words, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class _Base(gdb.Parameter):
    """An address; 0: not given, then the part's.
    A wrong one may fault the bus when it is read."""

    set_doc = "Set the address of the MTB's registers."
    show_doc = "Show the address of the MTB's registers."

    def __init__(self) -> None:
        super().__init__("mtb base", gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.value = 0

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return "The address of the MTB's registers is %s." % (
            "0x%08x" % int(value) if value != "0" else "not given (0)"
        )


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
    """What the commands share: the program, and the trace that was started."""

    def __init__(self, images: Images) -> None:
        self.images = images
        self._started: Dict[int, Started] = {}
        self._last: Optional[int] = None

    def unit(self, args: argparse.Namespace) -> Unit:
        """By option, by setting, or as the last command had it. Raises UsageError where none says it."""
        base = args.base
        if base is None and args.part is not None:
            base = _PARTS[args.part]
        if base is None:
            base = int(gdb.parameter("mtb base") or 0) or _PARTS.get(str(gdb.parameter("mtb part")))
        if base is None:
            base = self._last
        if base is None:
            raise UsageError(
                "where the MTB's registers lie is not known, and reading a wrong address may fault: give "
                "-base ADDRESS, from the manual or the ROM table, or -part: %s" % _table()
            )
        self._last = base
        return Unit(packaged("mtb", NAME), Words(), base)

    def program(self) -> Optional[Program]:
        """What is loaded; None where nothing is."""
        try:
            return self.images.program()
        except ProgramError:
            return None

    def started(self, unit: Unit) -> Optional[Started]:
        """Of this unit in this target."""
        return self._started.get(unit.base or 0)

    def remember(self, started: Started) -> None:
        self._started[started.base] = started


def _table() -> str:
    return ", ".join("%s (0x%08x)" % part for part in _PARTS.items())


def add_unit(parser: argparse.ArgumentParser) -> None:
    """Which unit."""
    parser.add_argument(
        "-base", type=cli.word32, metavar="ADDRESS", help="of its registers (default: `set mtb base`)"
    )
    parser.add_argument(
        "-part",
        type=cli.one_of(list(_PARTS)),
        choices=list(_PARTS),
        help="what says where they lie (default: `set mtb part`)",
    )


class MtbCommand(Command):
    """A subcommand of `mtb`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()


def say(*lines: str) -> None:
    """What `mtb` has to say, as lines of the console's width."""
    show("".join(part + "\n" for line in lines for part in wrapped("mtb: " + line, width())))


def register(images: Images) -> None:
    """Add the command, its settings and its subcommands."""
    from gdb_prof.commands import mtb_control, mtb_report

    Mtb()
    for prefix in ("set mtb", "show mtb"):
        _Prefix(prefix)
    for setting in (_Base, _Part):
        setting()
    workbench = Workbench(images)
    for command in (mtb_control.Start, mtb_control.Stop, mtb_report.Dump, mtb_report.Profile):
        command(workbench)
