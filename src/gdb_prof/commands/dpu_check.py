"""`dpu check`, `dpu size`: what does not work, and how large a buffer has to be."""

from __future__ import annotations

import argparse
from typing import Dict, Tuple

from gdb_prof.commands.cli import positive, positive_real, show, width
from gdb_prof.commands.dpu import DpuCommand, Workbench, say
from gdb_prof.commands.dpu_session import Session
from gdb_prof.counters.dpu import trouble
from gdb_prof.counters.dpu.evidence import READ, Seen
from gdb_prof.counters.dpu.reading import wrap_flag
from gdb_prof.counters.dpu.size import lasts, need, needed
from gdb_prof.counters.registers import Unit, rests_on
from gdb_prof.errors import TargetError, UsageError
from gdb_prof.wording import plural

_BUSY_READS = 16


class Check(DpuCommand):
    """Say what keeps the DPU from counting or tracing, by its registers.

    Looked for: a counter without a start event, a disabled unit, a filter that
    lets nothing through; an empty trace buffer (not enabled, paused, an event that
    never occurs, an address where nothing is recorded); data that may be garbled
    (set up anew while it was enabled, not flushed); cycles that are not those of
    software timing; overflows that are not counted. What this session wrote is
    compared with what is there. What cannot be looked for, since nobody knows
    where a field lies, is said. With -strict the command fails where anything but
    a remark is found, or something could not be looked for: for a test under
    `gdb -batch`, whose exit status is that of the last command.
    Example:
      dpu check -strict"""

    name = "dpu check"

    def __init__(self, workbench: Workbench, session: Session) -> None:
        self._session = session
        super().__init__(workbench)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-strict", action="store_true", help="fail unless nothing is found")

    def run(self, args: argparse.Namespace) -> None:
        unit = self.workbench.live()
        flag = wrap_flag(unit.description)
        values, busy_reads = _settled(unit, unit.read_all([*READ, *([flag.register] if flag else [])]))
        seen = Seen(
            unit.description,
            values,
            self.workbench.written,
            busy_reads,
            self._session.stops(),
            unit.base or 0,
        )
        verdict = trouble.examine(seen)
        show(trouble.text(verdict, width()))
        if not args.strict:
            return
        if verdict.serious:
            kinds = ", ".join(dict.fromkeys(found.kind for found in verdict.serious))
            raise TargetError("%s: %s" % (plural(len(verdict.serious), "finding"), kinds))
        if verdict.unknown:
            first = verdict.unknown[0]
            raise TargetError("not all could be looked for: %s: %s" % (first.kind, first.why))


def _settled(unit: Unit, values: Dict[str, int]) -> Tuple[Dict[str, int], int]:
    """With DP_SR read until a flush that is under way has ended, and how many reads that took."""
    busy = unit.description.placed("DP_SR", "TWBA")
    reads = 1
    if busy is None:
        return values, reads
    while busy.of(values["DP_SR"]) and reads < _BUSY_READS:
        values["DP_SR"] = unit.read("DP_SR")
        reads += 1
    if reads > 1:
        values["DP_TW"] = unit.read("DP_TW")
    return values, reads


class Size(DpuCommand):
    """Say how large a trace buffer has to be, or how long one lasts.

    For records of tasks. RATE is of task switches; by the article a function jump
    or return is recorded, too, and is to be counted with them. With -seconds, the
    bytes for that time; with -size, the time that such a buffer lasts.
    Examples:
      dpu size -rate 1000 -seconds 60
      dpu size -rate 1000 -size 0x40000"""

    name = "dpu size"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-rate", type=positive_real, required=True, metavar="RATE", help="records a second"
        )
        parser.add_argument("-seconds", type=positive_real, metavar="S", help="for so long")
        parser.add_argument("-size", type=positive, metavar="BYTES", help="of a buffer of this size")

    def run(self, args: argparse.Namespace) -> None:
        if args.seconds is None and args.size is None:
            raise UsageError("give -seconds S or -size BYTES")
        found = need(self.workbench.description())
        if args.seconds is not None:
            say(needed(found, args.rate, args.seconds))
        if args.size is not None:
            say(lasts(found, args.rate, args.size))
        say(*("rests on %s" % line for line in rests_on(found.facts)))
