"""`prof start -source swo`: the core's own PC samples over the SWO pin."""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import time
from typing import Iterator, List

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.prof import Workbench
from gdb_prof.commands.swo_session import SwoSession
from gdb_prof.errors import FileError, ProgramError, TargetError, UsageError
from gdb_prof.profile.from_swo import timing
from gdb_prof.profile.report import spacing
from gdb_prof.profile.samples import RECORDING, Timing
from gdb_prof.target import running, session, swo_probe
from gdb_prof.target.core_trace import Bases, CoreTrace, Sampling, Wanted, demand_unused, sampling_near
from gdb_prof.wording import count, percent, plural

DEFAULT_BAUD = 2_000_000
_SAMPLE_BYTES, _STAMP_BYTES = 5, 3
_BITS = 10
"""Of a byte on the line: a start and a stop bit with it."""
_LOAD = 0.5
"""Of the line, for the samples alone: the rest is for what else the program traces."""
_FINE, _COARSE = 0, 3
"""Timestamps count cycles, for exceptions; else every 64, which makes them shorter."""
_CHUNK_S = 0.25


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group()
    group.add_argument(
        "-tap",
        type=int,
        choices=(64, 1024),
        metavar="64|1024",
        help="swo: cycles of a count (default: as the line carries)",
    )
    group.add_argument(
        "-postcnt",
        type=_postcnt,
        metavar="0..15",
        help="swo: a sample every tap x (N + 1) cycles; not with -rate",
    )
    group.add_argument(
        "-clock", type=cli.positive, metavar="HZ", help="swo: the core's clock (default: SystemCoreClock)"
    )
    group.add_argument(
        "-baud", type=cli.positive, metavar="BPS", help="swo: of the pin (default: %d)" % DEFAULT_BAUD
    )
    group.add_argument("-exceptions", action="store_true", help="swo: trace exceptions, too")
    group.add_argument("-ports", type=_ports, metavar="N,…", help="swo: stimulus ports to enable")
    group.add_argument("-file", metavar="FILE", help="swo: have the probe record to FILE")
    group.add_argument(
        "-port", type=cli.tcp_port, metavar="N", help="swo: record what a server has on this TCP port"
    )
    group.add_argument("-dither", action="store_true", help="swo: another period every 0.25 s, with -seconds")
    for unit in ("itm", "dwt", "tpiu"):
        group.add_argument(
            "-%s-base" % unit,
            type=cli.word32,
            metavar="ADDRESS",
            help="%s: where this part has its %s" % ("swo, pcsr" if unit == "dwt" else "swo", unit.upper()),
        )


OPTIONS = (
    *("tap", "postcnt", "clock", "baud", "exceptions", "ports", "file", "port", "dither"),
    *("itm_base", "dwt_base", "tpiu_base"),
)
"""What only this source takes."""


def _postcnt(text: str) -> int:
    value = cli.number(text)
    if not 0 <= value <= 15:
        raise argparse.ArgumentTypeError("expected 0 to 15, found '%s'" % text)
    return value


def _ports(text: str) -> List[int]:
    try:
        ports = [int(word) for word in text.split(",")]
    except ValueError:
        ports = [-1]
    if not all(0 <= port <= 31 for port in ports):
        raise argparse.ArgumentTypeError("expected numbers 0 to 31 such as 0,31, found '%s'" % text)
    return ports


@dataclasses.dataclass(frozen=True)
class _Line:
    """The core's clock and the pin's rate."""

    clock_hz: int
    baud: int
    stamped: bool = True

    @property
    def divider(self) -> int:
        return max(1, round(self.clock_hz / self.baud))

    def load(self, sampling: Sampling) -> float:
        """The part of the line that samples and their timestamps take."""
        size = _SAMPLE_BYTES + (_STAMP_BYTES if self.stamped else 0)
        return size * _BITS * self.clock_hz / sampling.cycles / (self.clock_hz / self.divider)


def start(workbench: Workbench, args: argparse.Namespace) -> None:
    """Raises GdbProfError; the registers are then as they were."""
    session.require_stopped()
    if args.seconds is not None and args.file is None and args.port is None:
        raise UsageError("-seconds needs -file or -port: else nothing records while it runs")
    if args.dither and args.seconds is None:
        raise UsageError("-dither needs -seconds S: the period is changed while the program stands")
    if args.file is not None and os.path.lexists(os.path.expanduser(args.file)):
        raise FileError("%s exists: give another name" % args.file)
    demand_unused()
    default, program = Bases(), workbench.program()
    bases = Bases(args.itm_base or default.itm, args.dwt_base or default.dwt, args.tpiu_base or default.tpiu)
    trace = CoreTrace(bases)
    recording = None
    try:
        trace.enable()
        line = _Line(_clock(workbench, args), args.baud or DEFAULT_BAUD)
        sampling = _sampling(args, line)
        recording = swo_probe.record(args.file, args.port, line.clock_hz, line.baud)
        stamps = _FINE if args.exceptions else _COARSE
        trace.start(Wanted(sampling, line.divider, args.exceptions, tuple(args.ports or ()), stamps))
    except BaseException:
        try:
            trace.stop()
        finally:
            if recording is not None:
                recording.stop()
        raise
    timed = timing(sampling.cycles, line.clock_hz)
    workbench.disarm()
    workbench.loaded = None
    workbench.swo = SwoSession(trace, recording, timed, program)
    _said(timed, line, sampling, workbench.swo, args.seconds is not None)
    if args.seconds is not None:
        _run(workbench, workbench.swo, sampling, args)


def _clock(workbench: Workbench, args: argparse.Namespace) -> int:
    if args.clock is not None:
        return int(args.clock)
    symbol = workbench.program().find("SystemCoreClock")
    hz = session.read_word(symbol.address, "SystemCoreClock") if symbol else 0
    if not hz:
        raise ProgramError(
            "the core's clock is not known (no SystemCoreClock, or not set yet): give -clock HZ"
        )
    return hz


def _sampling(args: argparse.Namespace, line: _Line) -> Sampling:
    if args.rate is not None:
        if args.tap is not None or args.postcnt is not None:
            raise UsageError("-rate and -tap, -postcnt say the same: give one")
        found = sampling_near(line.clock_hz / args.rate)
        if not 0.5 <= line.clock_hz / found.cycles / args.rate <= 2:
            slowest, fastest = (count(round(line.clock_hz / cycles)) for cycles in (16_384, 64))
            raise UsageError(
                "%g samples a second are not to be had: from %s to %s, with a clock of %s Hz"
                % (args.rate, slowest, fastest, count(line.clock_hz))
            )
        return found
    if args.tap is not None or args.postcnt is not None:
        return Sampling(args.tap or 1024, args.postcnt or 0)
    choices = [Sampling(tap, postcnt) for tap in (64, 1024) for postcnt in range(16)]
    return next((c for c in choices if line.load(c) <= _LOAD), choices[-1])


def _said(timed: Timing, line: _Line, sampling: Sampling, swo: SwoSession, runs: bool) -> None:
    load = line.load(sampling)
    part = percent(load) if load < 10 else "%s times" % count(round(load))
    lines = ["sampling by %s, %s" % (timed.timer, spacing(timed))]
    lines.append(
        "%s of what the line carries at %s baud" % (part, count(round(line.clock_hz / line.divider)))
    )
    if load > 1:
        lines.append("that is more than it carries: samples will be lost: sample less often, or raise -baud")
    off = line.clock_hz / line.divider / line.baud - 1
    if abs(off) > 0.03:
        lines.append(
            "that is %+.1f %% off the %s baud asked for: the clock divides so" % (100 * off, count(line.baud))
        )
    if swo.recording is not None:
        then = "" if runs else ": continue, then `prof dump`, `prof stop`"
        lines.append("recorded to %s%s" % (swo.recording.path, then))
    else:
        lines.append("not recorded from here: record the pin, then `prof swo FILE`; `prof stop` ends it")
    cli.say(*lines)


def _run(workbench: Workbench, swo: SwoSession, sampling: Sampling, args: argparse.Namespace) -> None:
    end = ""
    periods = [sampling]
    try:
        for seconds in _chunks(args.seconds, args.dither):
            if args.dither:
                periods.append(_other(sampling))
                swo.trace.set_period(periods[-1])
            end = _chunk(seconds)
            if end:
                break
    except TargetError as error:  # what is recorded is worth as much as before
        end = str(error)
    finally:
        swo.stop()
        workbench.swo = None
    cycles = [period.cycles for period in periods[1 if args.dither else 0 :]]
    swo.timing = dataclasses.replace(
        swo.timing, period_ticks=min(cycles), jitter_mask=max(cycles) - min(cycles)
    )
    profile = swo.profile()
    if end:
        profile = dataclasses.replace(
            profile, remarks=(*profile.remarks, "%s before %g s had passed" % (end, args.seconds))
        )
    if swo.alive:
        profile = workbench.observed(profile)
    workbench.loaded = dataclasses.replace(profile, origin=RECORDING)
    cli.say("%s are recorded: see `prof dump`" % plural(profile.taken, "sample"))


def _chunks(seconds: float, dither: bool) -> Iterator[float]:
    """Times to run, together `seconds`."""
    if not dither:
        yield seconds
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield min(_CHUNK_S * random.uniform(0.5, 1.5), max(0.001, end - time.monotonic()))


def _other(sampling: Sampling) -> Sampling:
    """A period of the one asked for up to half as long again, at least four choices."""
    first = min(sampling.postcnt, 12)
    return Sampling(sampling.tap, random.randint(first, min(15, first + max(3, first // 2))))


def _chunk(seconds: float) -> str:
    """Let the program run so long; what else stopped it, or empty."""
    begin = time.monotonic()
    try:
        running.run(seconds)
    except gdb.error as error:
        raise TargetError("cannot run: %s" % error) from None
    return "" if time.monotonic() - begin >= seconds else "stopped"
