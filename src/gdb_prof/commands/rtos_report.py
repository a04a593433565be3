"""`rtos-trace diag`, `lanes`, `assert`: what a trace says."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli
from gdb_prof.commands.rtos_trace import TraceCommand, add_source, add_window, view_of
from gdb_prof.errors import TargetError, UsageError
from gdb_prof.trace.assertion import check, task_named
from gdb_prof.trace.findings import STARVED_MS, find
from gdb_prof.trace.lanes import name_width
from gdb_prof.trace.report import drawing, report
from gdb_prof.trace.tables import View
from gdb_prof.trace.timeline import Timeline

_UNLIMITED = 80
_BARS = 5  # beside the cells: three blanks and two bars


def _cells(traced: Timeline, width: int) -> int:
    return max(20, width - name_width(traced) - _BARS)


class Diag(TraceCommand):
    """Say what happened and why: findings first, then the tables that prove them.

    From the target at any stop, or without a target from a file of `rtos-trace
    save` or of `dump binary value FILE trace_buf`. Findings: deadlock, priority
    inversion, starvation, jitter of periodic tasks, a starved idle task, a task
    that never blocks, overflow, a ring too short, a clock that is not to be
    trusted, lost records. Times are ms of the kernel's ticks. `^` in the lanes
    and after a priority: inherited. From a recorded SWO stream, where the program
    sends its records to ITM ports (TRACE_ITM_PORT): where an overflow lost some,
    nothing is concluded across the gap. Examples:
      rtos-trace diag
      rtos-trace diag before.bin -from 90 -to 170 -task logger
      rtos-trace diag -swo run.swo -itm-port 8"""

    name = "rtos-trace diag"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", nargs="?", help="a saved trace")
        add_source(parser)
        add_window(parser)
        parser.add_argument("-task", metavar="NAME", help="only this task's rows")
        parser.add_argument(
            "-rows", type=cli.positive, default=20, metavar="N", help="at most N rows a table (default: 20)"
        )
        parser.add_argument(
            "-starved",
            type=cli.positive_real,
            default=STARVED_MS,
            metavar="MS",
            help="ready for longer without running is starvation (default: %g)" % STARVED_MS,
        )

    def run(self, args: argparse.Namespace) -> None:
        traced = self.facts(args)
        width = cli.width(_UNLIMITED)
        view, start, end = view_of(args, traced, _cells(traced, width))
        task = task_named(traced, args.task) if args.task else None
        cli.show(report(traced, find(traced, args.starved), View(width, start, end, view, task, args.rows)))


class Lanes(TraceCommand):
    """Draw who ran when, a line of characters for each task.

    Fitted to the console's width unless -step says how long a cell is. Examples:
      rtos-trace lanes -from 0 -to 12 -step 0.25
      rtos-trace lanes before.bin"""

    name = "rtos-trace lanes"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", nargs="?", help="a saved trace")
        add_source(parser)
        add_window(parser)

    def run(self, args: argparse.Namespace) -> None:
        traced = self.facts(args)
        if traced.axis.stuck:
            raise UsageError(
                "no lanes: the trace has no times: the clock %s" % traced.axis.fault.partition(" ")[2]
            )
        width = cli.width(_UNLIMITED)
        view, _, _ = view_of(args, traced, _cells(traced, width))
        cli.show("\n".join(drawing(traced, view, width)) + "\n")


class Assert(TraceCommand):
    """Check a trace in an automated test: fails unless the words hold.

    Prints what was measured. When they do not hold the command fails, so that
    `gdb -batch` ends with status 1, if it is the last command: the status is that
    of the last -ex, so put the assertion last, or run a gdb for each, with -file.
    In plain words, without quotes:
      rtos-trace assert latency H < 2ms
      rtos-trace assert wait H lock < 4ms
      rtos-trace assert share poll < 25%
      rtos-trace assert jitter period < 0.5ms
      rtos-trace assert no inversion
      rtos-trace assert no starvation > 10ms
      rtos-trace assert no findings
      rtos-trace assert lost = 0
      rtos-trace assert -file run.bin wait H < 4ms
    latency: from ready to running, the worst; of a task that delays until a tick,
    from that tick. wait: the worst, for one object (its name, or queue1 for number
    1) or for any. Times in s, ms, us or ns; compared by < <= > >= =."""

    name = "rtos-trace assert"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", metavar="EXPR", nargs="+", help="what must hold")
        parser.add_argument("-file", metavar="FILE", help="in a saved trace")
        add_source(parser)

    def run(self, args: argparse.Namespace) -> None:
        result = check(self.facts(args), " ".join(args.words))
        if not result.holds:
            raise TargetError("failed: %s" % result.text)
        cli.show("rtos-trace assert: %s\n" % result.text)
