"""`prof start`, and the choices that `prof record` shares with it."""

from __future__ import annotations

import argparse
import dataclasses
from typing import List, Optional, Union

import gdb

from gdb_prof.commands import cli, prof_start_halt, prof_start_pcsr, prof_start_swo
from gdb_prof.commands.prof import ProfCommand, Workbench
from gdb_prof.errors import ProgramError, TargetError, UsageError
from gdb_prof.profile.report import spacing
from gdb_prof.profile.samples import Timing
from gdb_prof.profile.source import HALT, PCSR, SWO, TIMER
from gdb_prof.target import running
from gdb_prof.target.images import Program
from gdb_prof.target.sampler import Sampler
from gdb_prof.wording import count, plural

DEFAULT_PERIOD = 10_007
SHORTEST_PERIOD = 100
"""Ticks. The sampler itself takes up to about 60 cycles a sample: less would starve the
program, and a period below that never comes back."""


_TAKES = {
    TIMER: ("period", "rate", "jitter", "limit"),
    SWO: ("rate", "seconds", *prof_start_swo.OPTIONS),
    PCSR: prof_start_pcsr.OPTIONS,
    HALT: prof_start_halt.OPTIONS,
}
"""The options of each source."""
_STARTS = {SWO: prof_start_swo.start, PCSR: prof_start_pcsr.start, HALT: prof_start_halt.start}


@dataclasses.dataclass(frozen=True)
class Spacing:
    period: int
    jitter: int


def add_spacing(parser: argparse.ArgumentParser) -> None:
    how_often = parser.add_mutually_exclusive_group()
    how_often.add_argument(
        "-period",
        type=_period,
        metavar="TICKS",
        help="the shortest time from sample to sample, in ticks of the sampler's timer (default: %d)"
        % DEFAULT_PERIOD,
    )
    how_often.add_argument(
        "-rate",
        type=cli.positive_real,
        metavar="HZ",
        help="samples a second on average, jitter included; the timer needs a known clock: "
        "SystemCoreClock in the program, or `set prof clock-hz`",
    )
    parser.add_argument(
        "-jitter",
        type=_jitter,
        default="auto",
        metavar="MASK|auto|off",
        help="add a random 0..MASK ticks (a power of two less 1) to each period; "
        "auto (default): half the period on average",
    )


def prepare(workbench: Workbench, args: argparse.Namespace) -> "tuple[Sampler, Spacing, bool]":
    """The sampler, what it is to be told, and whether the program was run to main first.

    Raises GdbProfError, where it can before the program runs.
    """
    workbench.demand_no_swo()
    sampler = workbench.sampler()
    if args.rate is None:
        spacing_ = _spacing(args, sampler)
        return sampler, spacing_, run_to_main(workbench.program())
    if not sampler.clock_known:
        raise ProgramError(
            "-rate needs the clock of %s: `set prof clock-hz HZ`, or give -period" % sampler.timer
        )
    ran = run_to_main(workbench.program())  # before it SystemCoreClock has no value
    return sampler, _spacing(args, sampler), ran


def _spacing(args: argparse.Namespace, sampler: Sampler) -> Spacing:
    """Period and jitter mask in ticks. Raises UsageError, ProgramError."""
    if args.jitter not in ("auto", 0) and not sampler.has_jitter:
        raise ProgramError("this build has no jitter: compile prof.c with PROF_JITTER=1")
    most = sampler.info.period_max or 1 << 24
    auto = args.jitter == "auto"
    mask = 0 if auto else args.jitter
    if args.rate is not None:
        mean = (sampler.tick_hz() or 0) / args.rate
        if auto and sampler.has_jitter:
            mask = _mask_near(mean * 2 / 3)  # so that its mean is half of what is left
        period = round(mean - mask / 2)
    else:
        period = args.period or DEFAULT_PERIOD
        if auto and sampler.has_jitter:
            mask = _mask_near(period)
    while auto and mask and period + mask > most:
        mask >>= 1
    if period < SHORTEST_PERIOD:
        raise UsageError(
            "a rate of %g Hz is %s from sample to sample; at least %d leave the program time"
            % (args.rate, plural(max(period, 0), "tick"), SHORTEST_PERIOD)
        )
    if period + mask > most:
        raise UsageError(
            "%s counts to %s ticks, period and jitter together are %s: %s"
            % (
                sampler.timer,
                count(most),
                count(period + mask),
                "take more samples a second" if args.rate else "give less",
            )
        )
    return Spacing(period, mask)


def _period(text: str) -> int:
    ticks = int(cli.positive(text))
    if ticks < SHORTEST_PERIOD:
        raise argparse.ArgumentTypeError(
            "expected at least %d ticks, which the sampler itself needs in part, found '%s'"
            % (SHORTEST_PERIOD, text)
        )
    return ticks


def _jitter(text: str) -> Union[int, str]:
    """The mask, or `auto`."""
    if text == "auto":
        return text
    try:
        mask = 0 if text == "off" else int(text, 0)
    except ValueError:
        mask = -1
    if mask < 0 or mask & (mask + 1):
        raise argparse.ArgumentTypeError(
            "expected auto, off or a power of two less 1 (such as 1023), found '%s'" % text
        )
    return mask


def _mask_near(ticks: float) -> int:
    """The power of two less 1 that is nearest to `ticks`, in ratio."""
    power = 1
    while power * 2 <= ticks * 2**0.5:
        power *= 2
    return power - 1


def run_to_main(program: Program) -> bool:
    """Let start-up code run: it would wipe the sampler's state. True if it had not run yet."""
    main = program.find("main")
    if main is None:  # inlined into start-up code, or under another name
        if int(gdb.newest_frame().pc()) & ~1 != program.entry:
            return False
        raise ProgramError(
            "start-up code has not run yet and there is no `main` to run to: go on past it first"
        )
    if not _in_startup(program, main.address & ~1):
        return False
    stop = running.Stop(main.address)
    try:
        running.run()
    except gdb.error as error:
        raise TargetError("cannot run to main: %s" % error) from None
    finally:
        stop.delete()
    pc = int(gdb.newest_frame().pc()) & ~1
    if pc != main.address & ~1:
        raise TargetError("stopped at 0x%08x before main: sampling is not started" % pc)
    return True


def _in_startup(program: Program, main: int) -> bool:
    """Whether a frame is in the function at the ELF's entry point, and none in main.

    A task has a stack of its own, with neither: then start-up code is long past.
    """
    entry = program.functions.at(program.entry or 0)
    frame: Optional[gdb.Frame] = gdb.newest_frame()
    for _ in range(64):
        if frame is None or not frame.is_valid():
            return False
        try:
            function = program.functions.at(int(frame.pc()) & ~1)
            if function is not None and function.address == main:
                return False
            if function is not None and function == entry:
                return True
            frame = frame.older()
        except gdb.error:
            return False
    return False


class Start(ProfCommand):
    """Start sampling; `continue` returns when the limit is met.

    -source timer (the default) calls the firmware's prof_start on the target, with
    every register as it was afterwards, and checks that the timer runs and leads
    to the sampler. A new profile begins: what the sampler held is forgotten.
    Stopped in start-up code, the program first runs to main. Without jitter, a
    program with a period of its own may show the same few addresses for ever.

    The others need no sampler in the firmware. -source swo has the core send its
    PC over the SWO pin every so many cycles (M3 and up) and the probe record it;
    `prof dump` shows what is there by then, `prof stop` puts the trace registers
    back. With -seconds it runs the program itself. The period cannot be random:
    -dither changes it now and then. -source pcsr reads DWT_PCSR while the program
    runs, through OpenOCD or a non-stop server, for -seconds (default: 2) or
    -samples. -source halt lets the program run, halts it after a random time,
    reads where it is, and so on: timers and watchdogs may go on meanwhile. Under
    QEMU it shows where blocks of code begin, not where the time goes. pcsr and
    halt return with their samples and the program stopped; a breakpoint or Ctrl-C
    ends them with what there is. Examples:
      prof start -rate 10000 -limit 5000
      prof start -source swo -file run.swo
      prof start -source pcsr -seconds 5
      prof start -source halt -samples 500 -backtrace"""

    name = "prof start"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-source",
            type=cli.one_of(tuple(_TAKES)),
            choices=tuple(_TAKES),
            default=TIMER,
            metavar="SOURCE",
            help="how to take samples: %s (default: timer)" % ", ".join(_TAKES),
        )
        add_spacing(parser)
        prof_start_halt.add_options(parser)
        prof_start_pcsr.add_options(parser)
        prof_start_swo.add_options(parser)
        parser.add_argument(
            "-limit",
            type=cli.word32,
            metavar="N",
            help="timer: stop after N samples; 0: no limit (default: as many as the ring holds)",
        )

    def run(self, args: argparse.Namespace) -> None:
        self._demand_fit(args)
        self.workbench.demand_no_swo()
        if args.source != TIMER:
            _STARTS[args.source](self.workbench, args)
            return
        sampler, spacing_, ran = prepare(self.workbench, args)
        limit = args.limit if args.limit is not None else default_limit(sampler)
        doubts = sampler.start(spacing_.period, limit, spacing_.jitter)
        self.workbench.loaded = None
        self.workbench.disarm()
        if limit:
            self.workbench.arm(sampler)
        cli.show("\n".join(self._said(sampler, spacing_, limit, ran, doubts)) + "\n")

    def _demand_fit(self, args: argparse.Namespace) -> None:
        """Raises UsageError for an option of another source."""
        own = _TAKES[args.source]
        for option in dict.fromkeys(option for options in _TAKES.values() for option in options):
            if option not in own and getattr(args, option) != self.parser.get_default(option):
                raise UsageError(
                    "-%s goes with -source %s; %s takes %s"
                    % (
                        option.replace("_", "-"),
                        " or ".join(source for source, options in _TAKES.items() if option in options),
                        "the timer" if args.source == TIMER else args.source,
                        ", ".join("-" + other.replace("_", "-") for other in own),
                    )
                )

    @staticmethod
    def _said(sampler: Sampler, spacing_: Spacing, limit: int, ran: bool, doubts: List[str]) -> List[str]:
        timing = Timing(sampler.timer, spacing_.period, spacing_.jitter, sampler.tick_hz())
        lines = []
        if ran:
            lines.append("prof: ran to main first: start-up code would have wiped the sampler's state")
        end = plural(limit, "sample") if limit else "`prof stop`"
        lines.append("prof: sampling by %s, %s" % (sampler.timer, spacing(timing)))
        lines.append("prof: until %s: continue" % end)
        if limit > sampler.size and not sampler.histogram:
            lines.append("prof: only the last %s are kept: that is the ring's size" % count(sampler.size))
        return lines + ["prof: " + doubt for doubt in doubts]


def default_limit(sampler: Sampler) -> int:
    return 0 if sampler.histogram else sampler.size
