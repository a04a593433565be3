"""`prof start -source pcsr`: samples by reading the core's DWT_PCSR while the program runs."""

from __future__ import annotations

import argparse
import contextlib

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.prof import Workbench
from gdb_prof.errors import TargetError
from gdb_prof.profile.samples import RECORDING, Profile, Timing
from gdb_prof.profile.source import PCSR, UNAVAILABLE, Source
from gdb_prof.target import pcsr
from gdb_prof.target.core_trace import Bases
from gdb_prof.target.pcsr import Polled
from gdb_prof.target.polling import NO_PC, Plan
from gdb_prof.wording import count, plural

DEFAULT_SECONDS = 2.0
OPTIONS = ("samples", "seconds", "rate", "tcl_port", "dwt_base")
"""What this source takes."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-tcl-port",
        type=cli.positive,
        metavar="N",
        help="pcsr: by OpenOCD's Tcl server, so that breakpoints work",
    )


def start(workbench: Workbench, args: argparse.Namespace) -> None:
    """Sample now; the profile is there when it returns. Raises GdbProfError."""
    seconds = args.seconds if args.seconds or args.samples else DEFAULT_SECONDS
    dwt = Bases().dwt if args.dwt_base is None else args.dwt_base
    program = workbench.program()
    workbench.disarm()
    polled = pcsr.poll(Plan(seconds, args.samples, 1 / args.rate if args.rate else 0.0, args.tcl_port, dwt))
    if not polled.pcs:
        raise TargetError(polled.remarks[0] if polled.remarks else "no sample was taken")
    profile = _profile(polled, program.build_id, program.name, args.samples or 0)
    workbench.loaded = profile
    if gdb.selected_inferior().pid:
        with contextlib.suppress(KeyboardInterrupt, gdb.error):  # a running target shows less
            workbench.loaded = workbench.observed(profile)
    said = "%s by DWT_PCSR through %s, %s a second: see `prof dump`" % (
        *(plural(profile.taken, "sample"), polled.way, count(round(polled.rate_hz))),
    )
    cli.say(said, *profile.remarks)


def _profile(polled: Polled, build_id: str, name: str, limit: int) -> Profile:
    # bit 0 of a PC is not one of its address
    pcs = [pc if pc == NO_PC else pc & ~1 for pc in polled.pcs]
    return Profile(
        pcs=pcs,
        taken=len(pcs),
        limit=limit,
        timing=Timing("DWT_PCSR", elapsed_s=polled.elapsed_s, random=True),
        build_id=build_id,
        program=name,
        origin=RECORDING,
        remarks=polled.remarks,
        source=Source(PCSR, rate_hz=polled.rate_hz or None),
        marks={NO_PC: UNAVAILABLE},
    )
