"""`dpu trace start`, `pause`, `resume`, `stop`: by the unit, or as text for the user's own code."""

from __future__ import annotations

import argparse
from typing import List

from gdb_prof.commands.dpu import say
from gdb_prof.commands.dpu_trace import TraceCommand, add_printing, print_width, show
from gdb_prof.counters.dpu import order
from gdb_prof.counters.dpu.capture import buffer_of
from gdb_prof.counters.dpu.reading import REGISTERS
from gdb_prof.counters.dpu.switching import Trace
from gdb_prof.counters.registers import Unit, doubtful, rests_on
from gdb_prof.errors import UsageError


class _Switch(TraceCommand):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-force", action="store_true", help="write what is not verified, too")
        add_printing(parser)

    def run(self, args: argparse.Namespace) -> None:
        if args.c and not args.print:
            raise UsageError("-c goes with -print")
        if args.print:
            unit = self.workbench.unit()
            text = order.as_c if args.c else order.as_values
            show(text(order.order(self.name.split()[-1], unit), unit, print_width()))
            return
        unit = self.workbench.live()
        trace = Trace(unit, self.workbench.written, args.force)
        said = self.switched(trace, unit)
        doubted = doubtful(trace.facts)
        rests = ["rests on: " + "; ".join(rests_on(doubted))] if doubted else []
        say(said, *trace.notes, *trace.unproven, *rests)

    def switched(self, trace: Trace, unit: Unit) -> str:
        raise NotImplementedError

    def _note(self, trace: Trace) -> None:
        """For who looks at the buffer later."""
        self.vtb.unproven = list(dict.fromkeys((*self.vtb.unproven, *trace.unproven)))


def _reached(unit: Unit, pointer: int) -> str:
    start, size = buffer_of(unit.read_all(["DP_TSA", "DP_TEA"]), unit.description)
    if not start <= pointer <= start + size:
        return "the write pointer, 0x%08x, lies outside the buffer" % pointer
    return "the write pointer is at 0x%08x, byte %d of %d" % (pointer, pointer - start, size)


class Start(_Switch):
    """Let the trace record.

    Sets EN, once `dpu trace setup` has set it up; fills the buffer anew where
    setup filled it and the program has run since, or a trace was started. What the
    counters are set to now is what `dpu trace dump` shows later. Where the
    description knows a switch of the unit as a whole, that is set, too. Nothing
    unverified is written without -force."""

    name = "dpu trace start"

    def switched(self, trace: Trace, unit: Unit) -> str:
        refilled: List[bool] = []
        values = trace.start(lambda start, size: refilled.append(self.vtb.prepare(start, size)))
        self.vtb.began = values
        self.workbench.changed.clear()
        filled = ", its buffer filled anew" if any(refilled) else ""
        return "the trace is on%s; %s" % (filled, _reached(unit, values["DP_TW"]))


class Pause(_Switch):
    """Pause the trace, with what is under way in the buffer.

    In the article's order: waits for TWBA = 0, sets TMPDIS, waits again. If a wait
    takes too long, DP_TC is put back and the command fails. Where TWBA's place is
    not known it is refused; -force waits until DP_TW stands still."""

    name = "dpu trace pause"

    def switched(self, trace: Trace, unit: Unit) -> str:
        pointer = trace.pause()
        self._note(trace)
        self.vtb.pause(pointer, unit.read_all(REGISTERS))
        return "the trace is paused; " + _reached(unit, pointer)


class Resume(_Switch):
    """Let a paused trace go on: clear TMPDIS."""

    name = "dpu trace resume"

    def switched(self, trace: Trace, unit: Unit) -> str:
        counters = unit.read_all(REGISTERS)
        trace.resume()
        self.vtb.resume(counters)
        return "the trace goes on"


class Stop(_Switch):
    """Stop the trace, once what is under way is in the buffer.

    In the article's order: waits for TWBA = 0, sets TMPDIS, waits again; then
    reads the write pointer, and clears EN and TMPDIS. If a wait takes too long,
    DP_TC is put back and the command fails. Where TWBA's place is not known it is
    refused; -force waits until DP_TW stands still, which proves less. Then:
      dpu trace dump
      dpu trace save vtb.bin"""

    name = "dpu trace stop"

    def switched(self, trace: Trace, unit: Unit) -> str:
        self.vtb.ended = trace.stop()
        self._note(trace)
        return "the trace is off; " + _reached(unit, self.vtb.ended)
