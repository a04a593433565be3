"""The prefix `rtos-trace`, and what its commands share."""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import gc
import os
from typing import Counter, Iterator, Optional, Tuple

import gdb

from gdb_prof.commands import cli, settings
from gdb_prof.commands.armed import Armed
from gdb_prof.commands.cli import Command
from gdb_prof.errors import FileError, GdbProfError, UsageError
from gdb_prof.files import read_file
from gdb_prof.swo.stimulus import words
from gdb_prof.swo.timeline import Event, placed
from gdb_prof.swo.unframed import Tpiu
from gdb_prof.target import session
from gdb_prof.target.images import Images
from gdb_prof.target.recorder import Recorder
from gdb_prof.trace import events, savefile
from gdb_prof.trace.itm import ring_of_words
from gdb_prof.trace.lanes import MOST_CELLS, Window, round_up, window
from gdb_prof.trace.naming import place
from gdb_prof.trace.ring import Context, ObjectInfo, Ring
from gdb_prof.trace.scheduler import timeline
from gdb_prof.trace.timeline import OPEN, Timeline, Wait
from gdb_prof.wording import count, plural


class RtosTrace(gdb.Command):
    """See who ran when on FreeRTOS, who waited for whom, and why so long.

    A recorder in the firmware (firmware/trace) keeps the scheduler's events in a ring:
      rtos-trace arm, continue, rtos-trace diag"""

    def __init__(self) -> None:
        super().__init__("rtos-trace", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class Workbench:
    """What the tracer has open: the loaded images and a waiting stop."""

    def __init__(self, images: Images) -> None:
        self.images = images
        self.armed = Armed()

    def recorder(self) -> Recorder:
        """The recorder in the live, stopped target. Raises GdbProfError."""
        session.require_stopped()
        return Recorder(self.images.program(), settings.trace())

    def captured(self) -> Tuple[bytes, Timeline]:
        """The target's trace: the block's bytes, and its facts. Raises GdbProfError.

        A wait that is open is joined to what the kernel says of its object now.
        """
        recorder = self.recorder()
        raw, ring = recorder.ring()
        facts = timeline(ring)
        still = [wait for wait in facts.waits if wait.outcome == OPEN]
        waiting = [wait for wait in still if _may_be_held(facts, wait)]
        if waiting:
            held = {
                wait.object: facts.tasks[wait.holder].number if wait.holder >= 0 else 0 for wait in waiting
            }
            awaited = {facts.tasks[wait.task].number: facts.target(wait) for wait in still}
            context = dataclasses.replace(ring.context, now=recorder.now(held, awaited))
            facts = dataclasses.replace(facts, ring=dataclasses.replace(ring, context=context))
        return raw, facts

    def timeline(self, path: Optional[str]) -> Timeline:
        """The facts of a file, else of the target. Raises GdbProfError, also where there is
        no record."""
        facts = self.captured()[1] if path is None else timeline(self._load(path))
        if len(facts.ring):
            return facts
        if path is not None:
            raise UsageError("%s holds no records" % path)
        if facts.ring.dropped:
            raise UsageError(
                "none of the %s is in the ring: with TRACE_ITM_PORT they went out of the SWO pin: record "
                "that, then `rtos-trace diag -swo FILE -itm-port N`" % plural(facts.ring.total, "record")
            )
        start = "" if facts.ring.on else "`rtos-trace start` or trace_start() in the program, then "
        raise UsageError("no records yet: %s`continue`" % start)

    def _load(self, path: str) -> Ring:
        set_ = settings.trace()
        raw = read_file(path)
        plain, names = self._of_program(raw) if savefile.is_plain(raw) else (Context(), None)
        try:
            given = Context(clock_hz=set_.clock_hz, tick_hz=set_.tick_hz)
            return savefile.loads(raw, os.path.basename(path), given, plain, names)
        except FileError as error:
            raise FileError("%s: %s" % (path, error)) from None

    def _of_program(self, raw: bytes) -> Tuple[Context, Optional[Tuple[int, int]]]:
        """What is known of a plain dump: all, where the target holds these very bytes; else
        what the loaded program's file says of its recorder, where the size fits."""
        try:
            recorder = Recorder(self.images.program(), settings.trace())
            try:
                if recorder.info is not None and recorder.fits(len(raw)) and self.recorder().block() == raw:
                    return self.captured()[1].context, recorder.info.names
            except GdbProfError:
                pass  # no target, or another program in it
            return recorder.described(len(raw))
        except GdbProfError:
            return Context(), None

    def streamed(self, path: str, port: int, sync: bool, tpiu: Tpiu) -> Timeline:
        """The facts of the records that a recorded SWO stream holds. Raises GdbProfError, also where
        there is no record."""
        seen: Counter[int] = collections.Counter()

        def counted(events_: Iterator[Event]) -> Iterator[Event]:
            for event in events_:
                if event.port is not None:
                    seen[event.port] += 1
                yield event

        raw, set_ = read_file(path), settings.trace()
        given = Context(clock_hz=set_.clock_hz, tick_hz=set_.tick_hz)
        try:
            written = words(counted(placed([raw], sync, tpiu)), (port, port + 1))
            ring = ring_of_words(written, port, given)
        except FileError as error:
            raise FileError("%s: %s" % (path, error)) from None
        if not len(ring):
            ports = ", ".join("%d (%s)" % (at, count(n)) for at, n in sorted(seen.items())[:8])
            raise UsageError(
                "%s holds no records on ports %d and %d; written to: %s"
                % (path, port, port + 1, ports or "none")
            )
        context = dataclasses.replace(self._around(ring), origin=os.path.basename(path))
        return timeline(dataclasses.replace(ring, context=context))

    def _around(self, ring: Ring) -> Context:
        """What the loaded program adds to records without a block, and what the target does where
        it holds that program; the stream's own names come first."""
        try:
            program = self.images.program()
            recorder, symbol = Recorder(program, settings.trace()), program.find("trace_buf")
        except GdbProfError:
            return ring.context
        context, _ = recorder.described(symbol.size if symbol is not None else 0)
        remark = "the stream does not say which program wrote it: taken to be %s" % program.name
        told = {number: name for number, name in enumerate(ring.names) if name}
        found = dataclasses.replace(context, tasks=told, remarks=(*ring.context.remarks, remark))
        try:
            recorder = self.recorder()
            recorder.head()  # set up: the program has run
            live = recorder.context(dataclasses.replace(ring, context=found))
        except GdbProfError:
            return found
        if live.tasks or live.objects:
            remark = "what the stream does not tell (names, kinds, priorities) is that of the target now"
        # the tick is another moment's
        return dataclasses.replace(
            live, tasks={**live.tasks, **told}, tick_count=None, remarks=(*found.remarks, remark)
        )

    def file(self, raw: bytes, facts: Timeline) -> bytes:
        """The content of a file for what `captured` gave."""
        return savefile.dumps(raw, facts.context, self.recorder().names())


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles, which goes through a million small facts again and
    again and finds none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _may_be_held(facts: Timeline, wait: Wait) -> bool:
    """Whether another task may have what is waited for: not so for queues and counting
    semaphores, of which nobody has more than a part."""
    kind = facts.objects.get(wait.object, ObjectInfo()).kind
    return wait.code == events.WAIT and wait.holder != wait.task and kind not in events.UNHELD


class TraceCommand(Command):
    """A subcommand of `rtos-trace`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()

    def invoke(self, argument: str, from_tty: bool) -> None:
        with _uncollected():
            super().invoke(argument, from_tty)

    def facts(self, args: argparse.Namespace) -> Timeline:
        """Of the stream, the file or the target that the words and options of `add_source` name."""
        if args.swo is None:
            if args.itm_port is not None or args.sync or args.tpiu is not None:
                raise UsageError("-itm-port, -sync and -tpiu go with -swo FILE")
            return self.workbench.timeline(args.file)
        if args.file is not None:
            raise UsageError("either %s or -swo %s" % (args.file, args.swo))
        if args.itm_port is None:
            raise UsageError("-swo FILE needs -itm-port N: what TRACE_ITM_PORT is in the program")
        return self.workbench.streamed(args.swo, args.itm_port, args.sync, args.tpiu)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Where the records come from, beside `file`."""
    parser.add_argument("-swo", metavar="FILE", help="a recorded SWO stream (TRACE_ITM_PORT)")
    parser.add_argument("-itm-port", type=_port, metavar="N", help="the records' first ITM port")
    parser.add_argument("-sync", action="store_true", help="the stream from its first synchronisation")
    parser.add_argument("-tpiu", type=cli.trace_id, metavar="ID|auto", help="the stream is in TPIU frames")


def _port(text: str) -> int:
    port = cli.number(text)
    if not 0 <= port <= 30:
        raise argparse.ArgumentTypeError("expected a port of 0 to 30, found '%s'" % text)
    return port


def add_window(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-from", dest="start", type=cli.real, metavar="MS", help="from this time on")
    parser.add_argument("-to", dest="end", type=cli.real, metavar="MS", help="up to this time")
    parser.add_argument("-step", type=cli.positive_real, metavar="MS", help="the time of one cell")


def view_of(args: argparse.Namespace, traced: Timeline, cells: int) -> Tuple[Window, float, float]:
    """The window that the options ask for, and its edges in counts. Raises UsageError."""
    if args.start is not None and args.end is not None and args.start >= args.end:
        raise UsageError("-from %g is not before -to %g" % (args.start, args.end))
    axis = traced.axis
    first, last = axis.at(traced.start), axis.at(traced.end)
    if (args.start is not None and args.start > last) or (args.end is not None and args.end < first):
        edges = place(traced, traced.start), place(traced, traced.end), axis.unit
        raise UsageError("the trace goes from %s to %s %s" % edges)
    view = window(traced, args.start, args.end, args.step, cells)
    if view.wanted > MOST_CELLS:
        least = round_up((view.end - view.start) / MOST_CELLS)
        raise UsageError(
            "-step %g gives %s cells, at most %s can be drawn: -step %g would do"
            % (view.step, count(view.wanted), count(MOST_CELLS), least)
        )
    start = axis.time(args.start) if args.start is not None else float("-inf")
    end = axis.time(args.end) if args.end is not None else float("inf")
    return view, start, end
