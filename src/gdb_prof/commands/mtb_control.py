"""`mtb start`, `mtb stop`: the trace is placed and begun, and the registers put back."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from typing import Dict, List, Optional, Sequence

from gdb_prof.commands import cli
from gdb_prof.commands.mtb import EN, REGISTERS, MtbCommand, Started, add_unit, say
from gdb_prof.commands.mtb_buffer import SYMBOL, Place, place
from gdb_prof.counters.mtb.packets import SIZE
from gdb_prof.counters.mtb.placement import Ram, implemented, mask_of
from gdb_prof.counters.registers import Unit, Write
from gdb_prof.errors import TargetError, UsageError
from gdb_prof.target import session
from gdb_prof.target.images import Program
from gdb_prof.target.in_use import in_use
from gdb_prof.wording import count, plural

_KEPT = 0x180
"""RAMPRIV and SFRWPRIV, which say who may have access and stay as they are."""
_HELD_MASTER = 0x8000007F
"""EN, the trace inputs and MASK: what a trace depends on. Some parts lack bits 8 and 7."""
_HELD_POSITION = 0xFFFFFFFC


class Start(MtbCommand):
    """Begin to trace branches.

    The buffer lies in RAM and is written over: an array of the program's, by
    default `mtb_buffer`, or an address. What the program's symbols, its sections
    and the stack use is refused; a heap nobody knows of. Its size is a power of
    two, and its address a multiple of that; each branch takes 8 bytes, and the
    newest overwrite the oldest. Registers within the program's memory are refused,
    and those whose BASE takes what is written: that is RAM. Each register that is
    written is read back; all are as before where one does not take. Examples:
      mtb start -part samd
      mtb start -base 0xf0000000 -buffer 0x20001000 -size 4096"""

    name = "mtb start"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-size", type=cli.positive, metavar="BYTES", help="of the buffer (default: the array's, or 1024)"
        )
        parser.add_argument(
            "-buffer", metavar="ADDRESS", help="or an array's name (default: the array %s)" % SYMBOL
        )
        add_unit(parser)
        parser.add_argument(
            "-force", action="store_true", help="over what the program uses, or over a trace that is on"
        )

    def run(self, args: argparse.Namespace) -> None:
        unit = self.workbench.unit(args)
        session.require_stopped()
        program = self.workbench.program()
        found = place(program, args.buffer, args.size)
        _demand_apart(unit, found)
        if not args.force:
            _demand_unused(unit, program, "-base, or -force")
        used = in_use(program, found.address, found.address + found.size, found.own)
        if used and not args.force:
            raise UsageError(
                "0x%08x to 0x%08x is used by %s: another -buffer, or -force"
                % (found.address, found.address + found.size - 1, ", ".join(used))
            )
        session.read(found.address, found.size, "the buffer")
        before = unit.read_all()
        ours = self.workbench.started(unit)
        if ours is not None and not ours.goes_on(before["MASTER"]):
            ours = None
        if before["MASTER"] & EN and not args.force and ours is None:
            self.workbench.used(unit)
            raise UsageError(
                "tracing is on already, MASTER reads 0x%08x: the program's own? `mtb stop`, or -force"
                % before["MASTER"]
            )
        ram = _begun(unit, found, before)
        kept = ours.found if ours else before
        self.workbench.remember(Started(unit.base or 0, found.address, found.size, ram, kept))
        self.workbench.used(unit)
        say(
            "branches are traced to 0x%08x, %s bytes: the last %s; continue, then `mtb dump`"
            % (found.address, count(found.size), plural(found.size // SIZE, "packet")),
            *_remarks(program, used, ram, ours),
        )


def _demand_apart(unit: Unit, found: Place) -> None:
    """Raises UsageError for registers within the buffer."""
    base = unit.address("POSITION")
    if found.address < base + REGISTERS and base < found.address + found.size:
        raise UsageError(
            "the buffer, 0x%08x to 0x%08x, would lie over the registers at 0x%08x"
            % (found.address, found.address + found.size - 1, base)
        )


def _demand_unused(unit: Unit, program: Optional[Program], remedy: str) -> None:
    """Raises UsageError for registers in memory of the program's, before anything is written there."""
    base = unit.address("POSITION")
    used = in_use(program, base, base + REGISTERS)
    if used:
        raise UsageError("no MTB is at 0x%08x, but %s: another %s" % (base, ", ".join(used), remedy))


def _demand_mtb(unit: Unit, before: Dict[str, int]) -> None:
    """Raises TargetError where BASE, which is only read, takes what is written: that is memory. It is as it
    was before anything else is written."""
    other = before["BASE"] ^ 0xFFFFFFFF
    try:
        with contextlib.suppress(TargetError):  # that it is refused says as much
            unit.memory.write(unit.address("BASE"), other, "BASE")
        changed = unit.read("BASE") ^ before["BASE"]
    finally:
        _put_back(unit, before, ("BASE",))
    if changed:
        raise TargetError(
            "no MTB is at 0x%08x: its BASE, which is only read, takes 0x%08x, and was put back"
            % (unit.address("POSITION"), other)
        )


def _remarks(
    program: Optional[Program], used: Sequence[str], ram: Ram, dropped: Optional[Started]
) -> List[str]:
    remarks = ["forced: %s will be overwritten" % ", ".join(used)] if used else []
    if dropped is not None:
        remarks.append(
            "the trace that was on, %s bytes at 0x%08x, is dropped" % (count(dropped.size), dropped.buffer)
        )
    if program is None:
        remarks.append("no ELF file is loaded: whether anything uses the buffer is not known")
    if not ram.base:
        remarks.append("BASE reads 0: whether the buffer is in the MTB's RAM is not known")
    return remarks


def _begun(unit: Unit, found: Place, before: Dict[str, int]) -> Ram:
    """The trace begun, or all registers as before. Raises TargetError, UsageError."""
    _demand_mtb(unit, before)
    try:
        idle = unit.setting("MASTER", {"EN": 0}, before["MASTER"] & _KEPT, _HELD_MASTER)
        unit.perform([idle], False)
        ram = _ram(unit, before)
        ram.demand_holds(found.address, found.size)
        fields = {"EN": 1, "MASK": mask_of(found.size)}
        unit.perform(
            [
                _whole(unit, "POSITION", ram.position(found.address), _HELD_POSITION),
                _whole(unit, "FLOW", 0),
                unit.setting("MASTER", fields, before["MASTER"] & _KEPT, _HELD_MASTER),
            ],
            False,
        )
    except BaseException:
        _put_back(unit, before, ("MASTER", "POSITION", "FLOW"))
        raise
    return ram


def _whole(unit: Unit, register: str, value: int, held: int = 0xFFFFFFFF) -> Write:
    """`held`: the bits that must read back."""
    return dataclasses.replace(unit.raw(register, value), held=held)


def _ram(unit: Unit, before: Dict[str, int]) -> Ram:
    """By what POSITION holds of all ones: tracing is off, and it is to be written anyhow."""
    unit.memory.write(unit.address("POSITION"), 0xFFFFFFFF, "POSITION")
    there = unit.read("POSITION")
    if not there:
        raise TargetError(
            "nothing answers at 0x%08x: POSITION reads 0 whatever is written: is there an MTB?"
            % unit.address("POSITION")
        )
    size = implemented(there)
    if size is None:
        raise TargetError(
            "POSITION at 0x%08x holds 0x%08x of 0xffffffff: that is no MTB's"
            % (unit.address("POSITION"), there)
        )
    return Ram(before["BASE"], size)


def _put_back(unit: Unit, before: Dict[str, int], registers: Sequence[str]) -> None:
    """As found, MASTER last since it may enable; what does not take is not worth another complaint."""
    for register in sorted(registers, key=lambda name: name == "MASTER"):
        with contextlib.suppress(TargetError):
            unit.memory.write(unit.address(register), before[register], register)


class Stop(MtbCommand):
    """Stop tracing, and put back what `mtb start` changed.

    MASTER and FLOW are as before `mtb start`, but with tracing off. POSITION and
    the buffer stay: `mtb dump` and `mtb profile` still read them."""

    name = "mtb stop"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_unit(parser)

    def run(self, args: argparse.Namespace) -> None:
        unit = self.workbench.unit(args)
        session.require_stopped()
        started = self.workbench.started(unit)
        if started is None or not started.on:
            self._stop_others(unit)
        else:
            self._stop_ours(unit, started)
        self.workbench.used(unit)

    def _stop_others(self, unit: Unit) -> None:
        _demand_unused(unit, self.workbench.program(), "-base")
        now = unit.read_all()
        if not now["MASTER"] & EN:
            raise UsageError("tracing is off already, MASTER reads 0x%08x" % now["MASTER"])
        _demand_mtb(unit, now)
        off = now["MASTER"] & ~EN
        unit.perform([_whole(unit, "MASTER", off, _HELD_MASTER)], False)
        say(
            "stopped: MASTER was 0x%08x, which `mtb start` did not write, and is 0x%08x"
            % (now["MASTER"], off)
        )

    def _stop_ours(self, unit: Unit, started: Started) -> None:
        master, flow = started.found["MASTER"] & ~EN, started.found["FLOW"]
        writes = [_whole(unit, "MASTER", master, _HELD_MASTER), _whole(unit, "FLOW", flow)]
        unit.perform(writes, False)
        self.workbench.remember(dataclasses.replace(started, on=False))
        was_on = ": tracing was on when found, and is off" if started.found["MASTER"] & EN else ""
        say(
            "stopped: MASTER is 0x%08x and FLOW 0x%08x, as found%s; POSITION and the buffer stay, for "
            "`mtb dump`" % (master, flow, was_on)
        )
