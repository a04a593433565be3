"""`rtos-trace save` and `rtos-trace svg`."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli
from gdb_prof.commands.rtos_trace import TraceCommand, add_window, view_of
from gdb_prof.errors import UsageError
from gdb_prof.files import write_file
from gdb_prof.trace.export.svg import svg
from gdb_prof.trace.findings import find
from gdb_prof.wording import plural

_SVG_CELLS = 800


class Save(TraceCommand):
    """Save the trace that the target holds to a file.

    The file begins with the recorder's block, byte for byte as `dump binary value`
    writes it; then follow names, rates and the build that it belongs to. A file
    that exists is kept unless -force is given. See it with `rtos-trace diag FILE`."""

    name = "rtos-trace save"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="where to; quote a name with blanks")
        parser.add_argument("-force", action="store_true", help="overwrite FILE")

    def run(self, args: argparse.Namespace) -> None:
        raw, facts = self.workbench.captured()
        if not facts.ring.total:
            raise UsageError("no records yet: `rtos-trace start`, then `continue`")
        write_file(args.file, self.workbench.file(raw, facts), args.force)
        cli.show("rtos-trace: %s saved to %s\n" % (plural(len(facts.ring), "record"), args.file))


class Svg(TraceCommand):
    """Write the lanes as a picture: a standalone SVG for a browser or a report.

    Tasks, inherited priority, waits, marks, interrupts, findings, with tooltips."""

    name = "rtos-trace svg"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="where to; quote a name with blanks")
        parser.add_argument("-force", action="store_true", help="overwrite FILE")
        parser.add_argument("-file", dest="source", metavar="TRACE", help="of a saved trace")
        add_window(parser)

    def run(self, args: argparse.Namespace) -> None:
        traced = self.workbench.timeline(args.source)
        view, _, _ = view_of(args, traced, _SVG_CELLS)
        title = traced.context.origin or traced.context.program
        picture = svg(traced, find(traced), view, title)
        write_file(args.file, picture.encode("utf-8"), args.force)
        cli.show("rtos-trace: written to %s\n" % args.file)
