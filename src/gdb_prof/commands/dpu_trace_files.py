"""`dpu trace save` and `dpu trace dump`."""

from __future__ import annotations

import argparse
import dataclasses
import re
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.commands import cli
from gdb_prof.commands.dpu import say
from gdb_prof.commands.dpu_trace import TraceCommand, address_of
from gdb_prof.counters.description import UNKNOWN, Description
from gdb_prof.counters.dpu import savefile
from gdb_prof.counters.dpu.capture import (
    INCOMING,
    LARGEST,
    NONE,
    OUTGOING,
    TASK_ID,
    Capture,
    Counter,
    bit,
    buffer_of,
    from_registers,
    plain,
)
from gdb_prof.counters.dpu.decode import GIVEN, Decoded, decode
from gdb_prof.counters.dpu.reading import COUNTERS, REGISTERS, control, wrap_flag
from gdb_prof.counters.dpu.records import DIRECT, KINDS
from gdb_prof.counters.dpu.tasks import analysed
from gdb_prof.counters.dpu.tasks_text import View, report, words
from gdb_prof.counters.registers import rests_on
from gdb_prof.errors import FileError, UsageError
from gdb_prof.files import read_file, write_file
from gdb_prof.printable import printable
from gdb_prof.wording import plural

_WIDTH = 80
_SETTINGS = ("DP_TC", "DP_TSA", "DP_TEA")
_READ = ("DP_SR", *REGISTERS, *_SETTINGS, "DP_TER", "DP_TW")
"""Neighbours, so that few requests are needed."""
_CONTROLS = tuple(map(control, COUNTERS))
_NO_RECORDS = 0.5
"""Of the steps from one record to the next, that none makes: then they are none."""
_TRAILER = 1 << 20


class Reader(TraceCommand):
    """What reads the buffer in the target."""

    def captured(self) -> Capture:
        """Raises GdbProfError, also where the trace is on and not paused."""
        unit = self.workbench.live()
        description, flag = unit.description, wrap_flag(unit.description)
        values = unit.read_all([*_READ, *([flag.register] if flag else [])])
        word = values["DP_TC"]
        on, paused = (bit(description, "DP_TC", name, word) for name in ("EN", "TMPDIS"))
        if on and not paused:
            raise UsageError(
                "the trace is on (DP_TC = 0x%08x): what is under way is not in the buffer: "
                "`dpu trace pause` or `stop` first" % word
            )
        remarks = [*self.vtb.unproven, *self.workbench.changed]
        values, filled = self._then(values, description, remarks)
        start, size = buffer_of(values, description)
        raw = self.vtb.read(start, size)
        capture = from_registers(raw, unit, values, self.workbench.is_little(), filled)
        if on is None:
            remarks.append("whether the trace is on is not known: what was under way may be missing")
        elif not on and self.vtb.began is not None and self.vtb.ended is None and self.vtb.paused is None:
            remarks.append(
                "the trace is off, and not by `dpu trace stop` (DP_TC = 0x%08x): what was under way then may "
                "be missing, unless it was flushed before" % word
            )
        if bit(description, "DP_SR", "TWBA", values["DP_SR"]):
            remarks.append(
                "DP_SR.TWBA is set: something is under way to the buffer (DP_SR = 0x%08x)" % values["DP_SR"]
            )
        return dataclasses.replace(
            capture,
            remarks=(*capture.remarks, *remarks),
            mixed=self.vtb.mixed or bool(self.workbench.changed),
        )

    def _then(
        self, now: Mapping[str, int], description: Description, remarks: List[str]
    ) -> Tuple[Dict[str, int], Optional[bool]]:
        """The registers as they were while it recorded, as far as this session knows, and whether the fill
        pattern can be relied on."""
        vtb = self.vtb
        place = buffer_of(now, description)
        if vtb.began is None:
            remarks.append(
                "what the counters count is as they are set now: no `dpu trace start` of this session"
            )
            return dict(now), vtb.pattern(*place)
        if vtb.ended is not None and vtb.ended != now["DP_TW"]:
            remarks.append(
                "DP_TW is 0x%08x, and was 0x%08x at `dpu trace stop`: recorded since, and how the counters "
                "were set then is not known: as now" % (now["DP_TW"], vtb.ended)
            )
            return dict(now), False if vtb.filled is False else None
        then = {name: vtb.began[name] for name in (*_SETTINGS, *_CONTROLS)}
        changed = [
            "%s = 0x%08x, then 0x%08x" % (name, now[name], word)
            for name, word in then.items()
            if (now[name] ^ word) & ~_switches(description, name)
        ]
        if changed:
            remarks.append("set anew since `dpu trace start`, shown as it was then: " + ", ".join(changed))
        values = {**now, **then}
        return values, vtb.pattern(*buffer_of(values, description))


def _switches(description: Description, register: str) -> int:
    """The bits of DP_TC that start and stop change."""
    fields = [field for field in description.fields(register) if field.lsb is not None]
    return sum(f.mask for f in fields if register == "DP_TC" and f.name in ("EN", "TMPDIS"))


class Save(Reader):
    """Save the trace buffer, with what is known of it.

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
    """Show what the trace buffer holds.

    By task, in time, record by record. From the target, or without one from a file
    of `dpu trace save` or of `dump binary memory`. Per task: what each counter
    counted while it ran, its share of the cycles, events per 1,000 cycles. A
    record has no time: time is what a counter of all cycles counted (application_
    cycles leave out wait and stop), or is not shown. How the counters are set is
    as it was at `dpu trace start`. A counter has 31 bits, or those of its field:
    right while there were fewer counts than these hold from one record to the
    next, or where A1 counts each overflow of A2.
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
        names = _named(args.names)
        capture = self._given(self._loaded(args) if args.file else self.captured(), args)
        decoded = decode(capture, args.record or "", args.layout, args.phase)
        if args.file and not capture.kind and not args.record and args.layout is None:
            _demand_records(args.file, decoded)
        view = View(cli.width(_WIDTH), args.last, args.top, args.clock or 0.0, names, not args.file)
        if decoded.kind == DIRECT:
            cli.show(words(decoded, view))
        else:
            cli.show(report(analysed(decoded, capture.counters), view))

    def _loaded(self, args: argparse.Namespace) -> Capture:
        order = self.workbench.byte_order()
        bare = plain(b"", self.workbench.description(), order.value == "little")
        if order.status == UNKNOWN and not args.byte_order:
            bare = dataclasses.replace(bare, rests=tuple(rests_on([order])))
        return savefile.loads(read_file(args.file, LARGEST + _TRAILER), bare)

    def _given(self, capture: Capture, args: argparse.Namespace) -> Capture:
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
            rests_by={**capture.rests_by, **({TASK_ID: ()} if args.task_id else {})},
            counters=_counting(args.counts, capture.counters, self.workbench.description()),
            little=args.byte_order == "little" if args.byte_order else capture.little,
        )


def _demand_records(path: str, decoded: Decoded) -> None:
    """Raises FileError for bytes that are no trace buffer's; one that is empty holds the fill pattern."""
    raw, size = decoded.capture.raw, decoded.records.layout.size
    reason = ""
    if len(raw) < size:
        reason = "%s, and a record has %d" % (plural(len(raw), "byte"), size)
    elif decoded.misfit > _NO_RECORDS:
        steps = "of %s from record to record %.0f %% fit nothing" % (
            plural(decoded.records.number - 1, "step"),
            100 * decoded.misfit,
        )
        reason = "; ".join([steps, *(text for text in decoded.remarks if "-byte-order" in text[-20:])])
    if reason:
        raise FileError("%s holds no task records: %s (-record or -layout shows it)" % (path, reason))


def _pairs(option: str, text: Optional[str]) -> Dict[str, str]:
    """Raises UsageError."""
    found: Dict[str, str] = {}
    for word in (text or "").split(","):
        key, equals, value = word.strip().partition("=")
        if not word.strip():
            continue
        if not (key and equals and value):
            raise UsageError("%s: expected NUMBER=NAME,… or A0=EVENT,…, found '%s'" % (option, word.strip()))
        if key in found:
            raise UsageError("%s: %s is there twice" % (option, key))
        found[key] = value
    return found


def _named(text: Optional[str]) -> Dict[int, str]:
    """Raises UsageError."""
    found: Dict[int, str] = {}
    for key, name in _pairs("-names", text).items():
        if not re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", key):
            raise UsageError("-names: expected NUMBER=NAME,…, found '%s=%s'" % (key, name))
        task = int(key, 0 if key[1:2] in "xX" else 10)
        if task in found or name in found.values():
            raise UsageError("-names: %s is there twice" % (key if task in found else name))
        found[task] = name
    return found


def _demand_events(events: Sequence[str], description: Description) -> None:
    """Raises UsageError for one that the description does not name."""
    names = [code.meaning for code in description.codes("CE")]
    for event in events:
        if event not in names:
            raise UsageError(
                "-counts: there is no %s: give one of %s (set dpu description names others)"
                % (printable(event), ", ".join(names))
            )


def _counting(
    text: Optional[str], known: Mapping[str, Counter], description: Description
) -> Dict[str, Counter]:
    """How each is set, with the user's word on top. Raises UsageError, also for an event that the description
    does not name; where it has several for a number, we show them with a / between."""
    found = {name: known.get(name, Counter()) for name in COUNTERS}
    for key, event in _pairs("-counts", text).items():
        name = key.upper()
        if name not in COUNTERS:
            raise UsageError("-counts: no counter %s: there are %s" % (key, ", ".join(COUNTERS)))
        _demand_events(event.split("/"), description)
        starts = found[name].starts
        found[name] = dataclasses.replace(found[name], event=event, starts="" if starts == NONE else starts)
    return found
