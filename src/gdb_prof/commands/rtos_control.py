"""`rtos-trace arm`, `start`, `stop`, `status`."""

from __future__ import annotations

import argparse
import os

from gdb_prof.commands.cli import show, width
from gdb_prof.commands.rtos_trace import TraceCommand
from gdb_prof.errors import FileError, GdbProfError, ProgramError
from gdb_prof.files import write_file
from gdb_prof.trace.report import summary
from gdb_prof.wording import count, plural, wrapped


def show_wrapped(text: str) -> None:
    show("\n".join(wrapped(text, width(80))) + "\n")


class Arm(TraceCommand):
    """Stop where the trace is done.

    A breakpoint at trace_done(), which the program calls where its trace ends.
    `continue` then comes back with a line of summary, and with the trace in FILE
    where one is given. Once: arm again for the next."""

    name = "rtos-trace arm"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", nargs="?", help="save the trace there")
        parser.add_argument("-force", action="store_true", help="overwrite FILE")

    def run(self, args: argparse.Namespace) -> None:
        recorder = self.workbench.recorder()
        if recorder.done is None:
            program = self.workbench.images.program()
            raise ProgramError(
                "no symbol `trace_done` in %s: the program never says that its trace is done; "
                "stop it where you like: rtos-trace works at any stop" % program.name
            )
        if args.file and os.path.lexists(os.path.expanduser(args.file)) and not args.force:
            raise FileError("%s exists: give -force to overwrite it" % args.file)

        def done() -> None:
            try:
                raw, facts = self.workbench.captured()
                show_wrapped("rtos-trace: %s: see `rtos-trace diag`" % summary(facts))
                if args.file:
                    write_file(args.file, self.workbench.file(raw, facts), args.force)
                    show("rtos-trace: saved to %s\n" % args.file)
            except GdbProfError as error:
                show("rtos-trace: the trace is done, but %s\n" % error)

        self.workbench.armed.arm(recorder.done, done)
        show("rtos-trace: armed at trace_done: continue\n")


class Start(TraceCommand):
    """Begin a new trace: the ring is emptied.

    Writes the recorder's block in the target's memory, and enables DWT's cycle counter
    where that is the recorder's clock: as trace_start() does."""

    name = "rtos-trace start"

    def run(self, args: argparse.Namespace) -> None:
        recorder = self.workbench.recorder()
        head = recorder.switch(True)
        silent = recorder.start_clock()
        before = "; %s of the trace before are forgotten" % plural(head, "record") if head else ""
        show("rtos-trace: recording%s: continue\n" % before)
        if silent:
            show_wrapped("! %s" % silent)


class Stop(TraceCommand):
    """Stop recording. What is in the ring stays."""

    name = "rtos-trace stop"

    def run(self, args: argparse.Namespace) -> None:
        head = self.workbench.recorder().switch(False)
        show("rtos-trace: stopped, %s written\n" % plural(head, "record"))


class Status(TraceCommand):
    """Show what the recorder holds, in one line or two."""

    name = "rtos-trace status"

    def run(self, args: argparse.Namespace) -> None:
        facts = self.workbench.captured()[1]
        ring = facts.ring
        text = "%s: %s in all, %s kept, %s overwritten; the ring holds %s" % (
            "recording" if ring.on else "off",
            *(plural(ring.total, "record"), count(len(ring)), count(ring.overwritten)),
            count(ring.n - (1 if ring.context.spare else 0)),
        )
        show_wrapped("rtos-trace: %s" % text)
        if len(ring) > 1:
            axis, span = facts.axis, facts.axis.span(facts.span)
            if span and axis.has_ms:
                show("rtos-trace: %.3f ms, %.2f records a ms\n" % (span, len(ring) / span))
            for remark in (*([axis.fault] if axis.fault else []), *ring.remarks, *facts.remarks):
                show_wrapped("! %s" % remark)
