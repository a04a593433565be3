"""`dpu trace save` and `dpu trace dump`."""

from __future__ import annotations

import argparse
import dataclasses
import re
from typing import Dict, Optional

from gdb_prof.commands import cli
from gdb_prof.commands.dpu import say
from gdb_prof.commands.dpu_trace import TraceCommand, address_of
from gdb_prof.counters.dpu import savefile
from gdb_prof.counters.dpu.capture import (
    INCOMING,
    OUTGOING,
    Capture,
    Counter,
    bit,
    buffer_of,
    from_registers,
    plain,
)
from gdb_prof.counters.dpu.decode import GIVEN, decode
from gdb_prof.counters.dpu.reading import COUNTERS, REGISTERS
from gdb_prof.counters.dpu.records import DIRECT, KINDS
from gdb_prof.counters.dpu.tasks import analysed
from gdb_prof.counters.dpu.tasks_text import View, report, words
from gdb_prof.errors import UsageError
from gdb_prof.files import read_file, write_file
from gdb_prof.wording import plural

_WIDTH = 80
_TRACE = ("DP_TC", "DP_TSA", "DP_TEA", "DP_TW", "DP_SR")


class Reader(TraceCommand):
    """What reads the buffer in the target."""

    def captured(self) -> Capture:
        """Raises GdbProfError, also where the trace is on and not paused."""
        unit = self.workbench.live()
        values = unit.read_all([*_TRACE, *(name for name in REGISTERS if name.endswith("C"))])
        control, description = values["DP_TC"], unit.description
        on, paused = (bit(description, "DP_TC", name, control) for name in ("EN", "TMPDIS"))
        if on and not paused:
            raise UsageError(
                "the trace is on (DP_TC = 0x%08x): what is under way is not in the buffer: "
                "`dpu trace pause` or `stop` first" % control
            )
        start, size = buffer_of(values, description)
        filled = self.vtb.filled == (start, size)
        raw = self.vtb.read(start, size)
        capture = from_registers(raw, description, values, self.workbench.is_little(), filled)
        remarks = list(capture.remarks)
        if on is None:
            remarks.append("whether the trace is on is not known: what was under way may be missing")
        if bit(description, "DP_SR", "TWBA", values["DP_SR"]):
            remarks.append(
                "DP_SR.TWBA is set: something is under way to the buffer (DP_SR = 0x%08x)" % values["DP_SR"]
            )
        return dataclasses.replace(capture, remarks=tuple(remarks))


class Save(Reader):
    """Save the trace buffer to a file, with what is known of it.

    The file begins with the buffer's bytes as they lie in memory, as `dump binary
    memory` writes them; then follow its place, the write pointer, whether it has
    wrapped, the mode, the records' layout, how the counters are set, and what
    that rests on. Refused while the trace is on and not paused. A file that exists
    is kept unless -force is given. See it with `dpu trace dump FILE`."""

    name = "dpu trace save"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="where to; quote a name with blanks")
        parser.add_argument("-force", action="store_true", help="overwrite FILE")

    def run(self, args: argparse.Namespace) -> None:
        capture = self.captured()
        write_file(args.file, savefile.dumps(capture), args.force)
        say("%s of the trace buffer saved to %s" % (plural(len(capture.raw), "byte"), args.file))


class Dump(Reader):
    """Show what the trace buffer holds: by task, in time, record by record.

    From the target, or without one from a file of `dpu trace save` or of `dump
    binary memory`. Per task: what each counter counted while it ran, its share of
    the cycles, events per 1,000 cycles. A record has no time: time is what a
    counter of cycles counted (application_cycles leave out wait and stop), or is
    not shown. A counter has 31 bits: right while there were fewer than 2^31 counts
    from one record to the next, or where another one counts its overflows.
      In an overwritten buffer the oldest record is cut; the first whole one is
    where IDs come again and counters count down, if that is so in one place only;
    else -phase says it. What is doubtful is in lines that begin with !. Examples:
      dpu trace dump -clock 1e9 -names 1=control,2=io
      dpu trace dump vtb.bin -offset 0x340 -counts A0=cycles,B0=dcache_miss
      dpu trace dump vtb.bin -byte-order big -layout "A0:4 A1:4 task:2 -:2"
    Words of -record direct are shown in hex, and as ASCII as they lie in memory."""

    name = "dpu trace dump"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", nargs="?", help="a saved buffer, or its bytes alone")
        parser.add_argument(
            "-last", type=cli.natural, default=20, metavar="N", help="show N records (default: 20)"
        )
        parser.add_argument(
            "-top", type=cli.positive, default=20, metavar="N", help="and N tasks (default: 20)"
        )
        parser.add_argument(
            "-record", type=cli.one_of(KINDS), choices=KINDS, metavar="KIND", help=", ".join(KINDS)
        )
        parser.add_argument("-layout", metavar="FIELDS", help="a record's fields NAME:BYTES; -:BYTES skips")
        parser.add_argument(
            "-byte-order",
            type=cli.one_of(("little", "big")),
            choices=("little", "big"),
            metavar="ORDER",
            help="little or big",
        )
        pointer = parser.add_mutually_exclusive_group()
        pointer.add_argument("-pointer", metavar="ADDR", help="the write pointer, for bytes from -start on")
        pointer.add_argument("-offset", type=cli.natural, metavar="N", help="or its offset in the bytes")
        parser.add_argument("-start", metavar="ADDR", help="the address of a file's first byte")
        wrapped = parser.add_mutually_exclusive_group()
        wrapped.add_argument("-wrapped", action="store_true", help="the buffer has gone round")
        wrapped.add_argument("-not-wrapped", action="store_true", help="or has not")
        parser.add_argument("-phase", type=cli.natural, metavar="N", help="offset of the first whole record")
        parser.add_argument(
            "-task-id",
            type=cli.one_of((INCOMING, OUTGOING)),
            choices=(INCOMING, OUTGOING),
            metavar="WHICH",
            help="a record's task: incoming, that begins, or outgoing, that ends",
        )
        parser.add_argument("-counts", metavar="LIST", help="what they count: A0=cycles,B0=dcache_miss")
        parser.add_argument("-names", metavar="LIST", help="of tasks: 1=control,2=io")
        parser.add_argument("-clock", type=cli.positive, metavar="HZ", help="of the cycles: times in ms, too")

    def run(self, args: argparse.Namespace) -> None:
        names = {
            int(key, 0 if key[1:2] in "xX" else 10): name
            for key, name in _pairs("-names", args.names).items()
        }
        given = _counted(args.counts)
        capture = self._given(
            self._loaded(args.file, args.record or "") if args.file else self.captured(), args
        )
        decoded = decode(capture, args.record or "", args.layout or "", args.phase)
        view = View(cli.width(_WIDTH), args.last, args.top, args.clock or 0.0, names)
        if decoded.kind == DIRECT:
            cli.show(words(decoded, view))
            return
        known = {name: capture.counters.get(name, Counter()) for name in COUNTERS}
        for name, event in given.items():
            known[name] = dataclasses.replace(known[name], event=event, starts="")
        cli.show(report(analysed(decoded, known), view))

    def _loaded(self, path: str, kind: str) -> Capture:
        workbench = self.workbench
        bare = plain(b"", workbench.description(), workbench.is_little(), kind)
        return savefile.loads(read_file(path), bare)

    @staticmethod
    def _given(capture: Capture, args: argparse.Namespace) -> Capture:
        """With the user's word on top."""
        start = address_of(args.start) if args.start else capture.start
        pointer: Optional[int] = capture.pointer
        if args.offset is not None:
            pointer = start + args.offset
        elif args.pointer is not None:
            pointer = address_of(args.pointer)
        if (
            pointer is not None
            and not start <= pointer <= start + len(capture.raw)
            and (args.pointer or args.offset)
        ):
            raise UsageError(
                "the write pointer 0x%08x lies outside the buffer, 0x%08x to 0x%08x (-start)"
                % (pointer, start, start + len(capture.raw) - 1)
            )
        if args.wrapped and pointer is None:
            raise UsageError("-wrapped needs the write pointer: -pointer ADDR or -offset N")
        told = args.wrapped or args.not_wrapped
        return dataclasses.replace(
            capture,
            start=start,
            pointer=pointer,
            wrapped=bool(args.wrapped) if told else capture.wrapped,
            how=GIVEN if told else capture.how,
            task_id=args.task_id or capture.task_id,
            little=args.byte_order == "little" if args.byte_order else capture.little,
        )


def _pairs(option: str, text: Optional[str]) -> Dict[str, str]:
    """Raises UsageError."""
    found = {}
    for word in (text or "").split(","):
        key, equals, value = word.strip().partition("=")
        if not word.strip():
            continue
        if not (key and equals and value) or (
            option == "-names" and not re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", key)
        ):
            raise UsageError("%s: expected NUMBER=NAME,… or A0=EVENT,…, found '%s'" % (option, word.strip()))
        found[key] = value
    return found


def _counted(text: Optional[str]) -> Dict[str, str]:
    """Raises UsageError."""
    found = {}
    for key, event in _pairs("-counts", text).items():
        if key.upper() not in COUNTERS:
            raise UsageError("-counts: no counter %s: there are %s" % (key, ", ".join(COUNTERS)))
        found[key.upper()] = event
    return found
