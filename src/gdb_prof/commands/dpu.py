"""The prefix `dpu`, its settings, and what its commands share."""

from __future__ import annotations

import contextlib
import os
from typing import Dict, List, Optional

import gdb

from gdb_prof.commands.cli import UnitCommand, speaker
from gdb_prof.commands.settings import Address, prefixes
from gdb_prof.counters.description import UNKNOWN, YOURS, Description, Fact, address, packaged
from gdb_prof.counters.dpu.records import KINDS, layout_of
from gdb_prof.counters.registers import Unit, doubtful
from gdb_prof.errors import FileError, GdbProfError, UsageError
from gdb_prof.files import read_file
from gdb_prof.target.images import Images
from gdb_prof.target.words import Words, target_is_little

NAME = "DPU"
AUTO, LITTLE, BIG = "auto", "little", "big"
_ORDER = "set dpu byte-order"
say = speaker("dpu")


class Dpu(gdb.Command):
    """Count and trace with the MSC8251's Debug and Profiling Unit.

    Six counters and a trace buffer (VTB). Over any connection that shows its
    memory, as printed register values for code of yours, or offline from dumps:
      dpu size, dpu counter A0 -event cycles -start mark -print, dpu trace dump F
    What is documented, and what is not: src/gdb_prof/counters/README.md"""

    def __init__(self) -> None:
        super().__init__("dpu", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class _Trace(gdb.Command):
    """The DPU's trace buffer: set up, start, stop, save, show."""

    def __init__(self) -> None:
        super().__init__("dpu trace", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


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

    set_doc = "Set the byte order of the DPU's registers and buffer."
    show_doc = "Show the byte order of the DPU's registers and buffer."

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
    found = ours.completed(read_file(path).decode("utf-8-sig", "replace"), path)
    for kind in KINDS:
        fact = found.fact("record", kind)
        if fact is not None and fact.value != "?":
            try:
                layout_of(fact.value)
            except UsageError as error:
                raise FileError("%s: %s" % (fact.place, error)) from None
    return found


class Workbench:
    """What the user has set, and the unit in the live target. `written`: what this session wrote last into
    each register by name, until the target has gone. `changed`: the counters that it set while the trace was
    on, and where DP_TW was."""

    def __init__(self) -> None:
        self.written: Dict[str, int] = {}
        self.changed: List[str] = []
        # of every end: kill, detach, disconnect, another `target remote`, a server that has gone
        gdb.events.exited.connect(lambda _: self._forget())

    def _forget(self) -> None:
        self.written.clear()
        self.changed.clear()

    def description(self) -> Description:
        """Raises FileError."""
        path = gdb.parameter("dpu description")
        return _described(str(path) if path else None)

    def is_little(self) -> bool:
        """Raises FileError."""
        return self.byte_order().value == LITTLE

    def byte_order(self) -> Fact:
        """LITTLE or BIG, with where that is from: the user, the description, or else GDB, which knows the
        target's but not the unit's. Raises FileError."""
        order = str(gdb.parameter("dpu byte-order"))
        if order != AUTO:
            return Fact("unit", "byte_order", order, YOURS, _ORDER)
        fact = self.description().fact("unit", "byte_order")
        if fact is not None and fact.value in (LITTLE, BIG):
            return fact
        order = LITTLE if target_is_little() else BIG
        return Fact("unit", "byte_order", order, UNKNOWN, "GDB's, %s-endian: %s" % (order, _ORDER))

    def unit(self) -> Unit:
        """For plans even where its address is not known. Raises FileError."""
        return self._unit()

    def _unit(self, *facts: Fact) -> Unit:
        """Raises FileError, UsageError for a base beyond which there are not 32 bits for the registers."""
        description = self.description()
        fact = description.fact("unit", "base")
        base: Optional[int] = int(gdb.parameter("dpu base") or 0) or None
        if base is None and fact is not None and not doubtful([fact]):
            with contextlib.suppress(ValueError):
                base = address(fact.value)
                facts = (fact, *facts)
        if base is not None and base + description.size > 1 << 32:
            raise UsageError(
                "at 0x%08x the registers reach beyond 32 bits: they take 0x%x bytes (set dpu base)"
                % (base, description.size)
            )
        return Unit(description, Words(self.is_little()), base, facts)

    def live(self) -> Unit:
        """To be read and written. Raises UsageError where its address is not known."""
        order = self.byte_order()
        # the user's own word needs no mention
        unit = self._unit(*(() if order.source == _ORDER else (order,)))
        if unit.base is None:
            raise UsageError(_no_base(unit.description.fact("unit", "base")))
        return unit


def _no_base(fact: Optional[Fact]) -> str:
    if fact is None:
        return "where the unit lies is not known: set dpu base ADDRESS"
    return "where the unit lies is %s (%s: %s): set dpu base ADDRESS" % (fact.status, fact.value, fact.source)


class DpuCommand(UnitCommand):
    """A subcommand of `dpu`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()


def register(images: Images) -> None:
    """Add the prefixes, settings and every subcommand."""
    from gdb_prof.commands import dpu_counters, dpu_trace

    Dpu()
    _Trace()
    prefixes("dpu", ("base", "description", "byte-order"))
    Address("dpu", NAME, "0: not given, then the description's, unless that is unverified.")
    _File()
    _ByteOrder()
    workbench = Workbench()
    dpu_counters.register(workbench)
    dpu_trace.register(workbench, images)
