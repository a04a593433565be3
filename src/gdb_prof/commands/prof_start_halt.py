"""`prof start -source halt`: samples by stopping the program, for a firmware without a sampler."""

from __future__ import annotations

import argparse
import contextlib
from typing import Dict, List, Optional, Tuple

import gdb

from gdb_prof.commands import cli
from gdb_prof.commands.prof import Workbench
from gdb_prof.errors import UsageError
from gdb_prof.profile.call_stacks import TRUNCATED, TRUNCATED_NAME
from gdb_prof.profile.samples import RECORDING, Profile, Timing
from gdb_prof.profile.source import HALT, Source
from gdb_prof.target import alarm, halting, running
from gdb_prof.target.halting import Halts, Plan
from gdb_prof.wording import count, percent, plural

DEFAULT_SAMPLES = 300
"""A second or so, and ± 5 points at the most."""

OPTIONS = ("samples", "seconds", "rate", "backtrace")
"""What this source takes."""


def add_options(parser: argparse.ArgumentParser) -> None:
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument(
        "-samples",
        type=cli.positive,
        metavar="N",
        help="halt, pcsr: take N samples (halt: %d by default)" % DEFAULT_SAMPLES,
    )
    how_long.add_argument(
        "-seconds", type=cli.positive_real, metavar="S", help="halt, pcsr, swo: for S seconds of your time"
    )
    parser.add_argument(
        "-backtrace", action="store_true", help="halt: whole call stacks, for `prof dump -by calls`"
    )


def start(workbench: Workbench, args: argparse.Namespace) -> None:
    """Sample now; the profile is there when it returns. Raises GdbProfError."""
    if not alarm.CAN_INTERRUPT:
        raise UsageError("-source halt does not work on Windows: GDB cannot be interrupted there")
    halting.demand()
    program = workbench.program()
    samples = None if args.seconds is not None else args.samples or DEFAULT_SAMPLES
    workbench.disarm()
    halts = halting.sample(Plan(samples, args.seconds, args.rate, args.backtrace), program.functions)
    profile = _profile(halts, samples, program.build_id, program.name)
    workbench.loaded = profile
    if gdb.selected_inferior().pid:
        with contextlib.suppress(KeyboardInterrupt):  # then it is not known what stands around the samples
            workbench.loaded = workbench.observed(profile)
    cli.say(*_said(profile))


def _profile(halts: Halts, samples: Optional[int], build_id: str, name: str) -> Profile:
    taken = len(halts.pcs)
    remarks = [*_early(halts, samples), *_cut(halts), *running.unseen_halts()]
    numbers: Dict[Tuple[int, ...], int] = {}
    stacks = [numbers.setdefault(stack, len(numbers)) for stack in halts.stacks]
    long_enough = halts.elapsed_s > 0
    return Profile(
        pcs=halts.pcs,
        taken=taken,
        limit=samples or 0,
        timing=Timing("halting", elapsed_s=halts.elapsed_s, random=True),
        build_id=build_id,
        program=name,
        origin=RECORDING,
        remarks=tuple(remarks),
        source=Source(
            HALT,
            rate_hz=taken / halts.elapsed_s if long_enough else None,
            stopped=halts.stopped_s / halts.elapsed_s if long_enough else None,
            spread=halts.spread,
        ),
        stacks=stacks if halts.stacks else None,
        stack_table=tuple(numbers),
    )


def _early(halts: Halts, samples: Optional[int]) -> List[str]:
    """What ended it, if something did."""
    if not halts.ended:
        return []
    of = " of %s" % count(samples) if samples else ""
    return ["%s after %s%s samples" % (halts.ended, count(len(halts.pcs)), of)]


def _cut(halts: Halts) -> List[str]:
    """How many stacks are not whole, if any."""
    cut = sum(stack[-1] == TRUNCATED for stack in halts.stacks)
    if not cut:
        return []
    return [
        "%s of %s could not be followed to the outermost call: %s with %s"
        % (
            *(count(cut), plural(len(halts.stacks), "stack")),
            *("it begins" if cut == 1 else "they begin", TRUNCATED_NAME),
        )
    ]


def _said(profile: Profile) -> List[str]:
    source = profile.source
    line = "%s by halting" % plural(profile.taken, "sample")
    if source.rate_hz is not None and source.stopped is not None:
        line += ", %s a second; the program stood %s of the time" % (
            *(count(round(source.rate_hz)), percent(source.stopped)),
        )
    return [line + ": see `prof dump`", *profile.remarks]
