"""The prefix `dpu`, its settings, and what its commands share."""

from __future__ import annotations

import contextlib
import os
from typing import Dict, Optional

import gdb

from gdb_prof.commands.cli import Command, show, width
from gdb_prof.counters.description import UNVERIFIED, Description, Fact, packaged
from gdb_prof.counters.registers import Unit
from gdb_prof.errors import GdbProfError, UsageError
from gdb_prof.files import read_file
from gdb_prof.target.words import Words, target_is_little
from gdb_prof.wording import wrapped

NAME = "DPU"
AUTO, LITTLE, BIG = "auto", "little", "big"


class Dpu(gdb.Command):
    """Count and trace with the MSC8251's Debug and Profiling Unit.

    Six counters and a trace buffer (VTB). Over any connection that shows the unit's
    memory, as printed register values for code of yours, or offline from dumps:
      dpu size, dpu counter A0 -event cycles -start mark -print, dpu trace dump FILE
    What is documented, and what nobody has confirmed: src/gdb_prof/counters/README.md"""

    def __init__(self) -> None:
        super().__init__("dpu", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class _Trace(gdb.Command):
    """The DPU's trace buffer: set up, start, stop, save, show."""

    def __init__(self) -> None:
        super().__init__("dpu trace", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class _Prefix(gdb.Command):
    """Settings of the DPU."""

    def __init__(self, words: str) -> None:
        super().__init__(words, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class _Base(gdb.Parameter):
    """An address; 0: not given, then the description's, unless that is unverified."""

    set_doc = "Set the address of the DPU's registers."
    show_doc = "Show the address of the DPU's registers."

    def __init__(self) -> None:
        super().__init__("dpu base", gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.value = 0

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return "The address of the DPU's registers is %s." % (
            "0x%08x" % int(value) if value != "0" else "not given (0)"
        )


class _File(gdb.Parameter):
    """A file of rows `kind,name,value,status,source,note`: they override and complete what is known of the
    unit; src/gdb_prof/counters/README.md says how. Empty: none."""

    set_doc = "Set a file that completes the DPU's description."
    show_doc = "Show the file that completes the DPU's description."

    def __init__(self) -> None:
        super().__init__("dpu description", gdb.COMMAND_DATA, gdb.PARAM_OPTIONAL_FILENAME)
        self.value = None
        self._good: Optional[str] = None

    def get_set_string(self) -> str:
        # absolute, since the user may change to another folder
        path = os.path.abspath(os.path.expanduser(str(self.value))) if self.value else None
        try:
            _described(path)
        except GdbProfError as error:
            self.value = self._good
            raise gdb.GdbError("set dpu description: %s" % error) from None
        self.value = self._good = path
        return ""

    def get_show_string(self, value: str) -> str:
        return "The DPU's description is completed by %s." % (value or "no file")


class _ByteOrder(gdb.Parameter):
    """auto: what the description says, else the one that GDB takes the target's for."""

    set_doc = "Set the byte order of the DPU's registers and of its trace buffer."
    show_doc = "Show the byte order of the DPU's registers and of its trace buffer."

    def __init__(self) -> None:
        super().__init__("dpu byte-order", gdb.COMMAND_DATA, gdb.PARAM_ENUM, [AUTO, LITTLE, BIG])
        self.value = AUTO

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return "The byte order of the DPU is %s." % value


def _described(path: Optional[str]) -> Description:
    ours = packaged("msc8251_dpu", NAME)
    if not path:
        return ours
    return ours.completed(read_file(path).decode("utf-8", "replace"), path)


class Workbench:
    """What the user has set, and the unit in the live target. `written`: what this session wrote last into
    each register by name, until the target has gone."""

    def __init__(self) -> None:
        self.written: Dict[str, int] = {}
        # of every end: kill, detach, disconnect, another `target remote`, a server that has gone
        gdb.events.exited.connect(lambda _: self.written.clear())

    def description(self) -> Description:
        """Raises FileError."""
        path = gdb.parameter("dpu description")
        return _described(str(path) if path else None)

    def is_little(self) -> bool:
        order = str(gdb.parameter("dpu byte-order"))
        if order == AUTO:
            fact = self.description().fact("unit", "byte_order")
            order = fact.value if fact else AUTO
        return target_is_little() if order not in (LITTLE, BIG) else order == LITTLE

    def unit(self) -> Unit:
        """For plans even where its address is not known. Raises FileError."""
        description = self.description()
        fact = description.fact("unit", "base")
        base: Optional[int] = int(gdb.parameter("dpu base") or 0) or None
        if base is None and fact is not None and fact.status != UNVERIFIED:
            with contextlib.suppress(ValueError):
                base = int(fact.value, 0)
        return Unit(description, Words(self.is_little()), base)

    def live(self) -> Unit:
        """To be read and written. Raises UsageError where its address is not known."""
        unit = self.unit()
        if unit.base is None:
            raise UsageError(_no_base(unit.description.fact("unit", "base")))
        return unit


def _no_base(fact: Optional[Fact]) -> str:
    if fact is None:
        return "where the unit lies is not known: set dpu base ADDRESS"
    return "where the unit lies is unverified (%s: %s): set dpu base ADDRESS" % (
        fact.value,
        fact.source,
    )


class DpuCommand(Command):
    """A subcommand of `dpu`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()


def say(*lines: str) -> None:
    """What `dpu` has to say, as lines of the console's width."""
    show("".join(part + "\n" for line in lines for part in wrapped("dpu: " + line, width())))


def register() -> None:
    """Add the prefixes, settings and every subcommand."""
    from gdb_prof.commands import dpu_counters, dpu_trace

    Dpu()
    _Trace()
    for prefix in ("set dpu", "show dpu"):
        _Prefix(prefix)
    for setting in (_Base, _File, _ByteOrder):
        setting()
    workbench = Workbench()
    dpu_counters.register(workbench)
    dpu_trace.register(workbench)
