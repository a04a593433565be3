"""`prof record`: start, run, stop, dump in one."""

from __future__ import annotations

import argparse
import dataclasses
from typing import List, Optional

import gdb

from gdb_prof.commands import cli, prof_dump, prof_start
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.errors import TargetError, UsageError
from gdb_prof.profile.samples import RECORDING, Profile, joined
from gdb_prof.target import running
from gdb_prof.target.sampler import Sampler
from gdb_prof.wording import count


class Record(ProfCommand):
    """Sample for a while and show the report.

    Start, continue, stop and dump in one. More samples than the ring holds are
    taken in rings, one after the other, with the program stopped while each is
    read. A breakpoint of yours or Ctrl-C ends it early: what there is by then is
    shown. The program is left stopped, and `prof dump` and `prof save` have the
    recording until it runs again. Example:
      prof record -samples 10000 -by line"""

    name = "prof record"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        how_long = parser.add_mutually_exclusive_group(required=True)
        how_long.add_argument("-samples", type=cli.positive, metavar="N", help="take N samples")
        how_long.add_argument(
            "-seconds", type=cli.positive_real, metavar="S", help="run for S seconds of your time"
        )
        prof_start.add_spacing(parser)
        prof_dump.add_view(parser)

    def run(self, args: argparse.Namespace) -> None:
        if args.seconds is not None and not running.CAN_INTERRUPT:
            raise UsageError("-seconds does not work on Windows: give -samples")
        sampler, spacing, _ = prof_start.prepare(self.workbench, args)
        self.workbench.disarm()
        self.workbench.loaded = None
        stops: List[str] = []
        if args.seconds is not None:
            parts = [self._ring(sampler, spacing, 0, args.seconds, stops)]
        else:
            parts = self._rings(sampler, spacing, args.samples, stops)
        profile = dataclasses.replace(joined(parts), origin=RECORDING)
        profile = dataclasses.replace(profile, remarks=(*profile.remarks, *running.unseen_halts()))
        if len(stops) > len(parts):
            remark = "the program was halted %d times on the way: after each a sample may be of that place"
            remarks = (*profile.remarks, remark % (len(stops) - len(parts)))
            profile = dataclasses.replace(profile, remarks=remarks)
        if gdb.selected_inferior().pid:
            profile = self.workbench.observed(profile, sampler.info.exception, not args.no_check)
        self.workbench.loaded = profile
        prof_dump.show_profile(self.workbench, self.workbench.loaded, args)

    def _rings(
        self, sampler: Sampler, spacing: prof_start.Spacing, samples: int, stops: List[str]
    ) -> List[Profile]:
        """Ring after ring until there are enough, or until something ends it early."""
        parts: List[Profile] = []
        taken, end = 0, ""
        while taken < samples and not end:
            limit = samples - taken if sampler.histogram else min(samples - taken, sampler.size)
            try:
                part = self._ring(sampler, spacing, limit, None, stops)
            except (TargetError, KeyboardInterrupt) as error:
                if not parts:
                    raise
                end = str(error) or "interrupted"
            else:
                parts.append(part)
                taken += part.taken
                end = "" if part.taken >= limit else (stops or ["interrupted"])[-1]
        if end and not taken:
            raise TargetError("%s before the first sample" % end)
        if end:
            remark = "%s after %s of %s samples" % (end, count(taken), count(samples))
            parts[-1] = dataclasses.replace(parts[-1], remarks=(*parts[-1].remarks, remark))
        return parts

    def _ring(
        self,
        sampler: Sampler,
        spacing: prof_start.Spacing,
        limit: int,
        seconds: Optional[float],
        stops: List[str],
    ) -> Profile:
        """Start, run to the limit or until something else stops the program, stop, read.

        What stopped the program is added to `stops`, each time that it did.
        """
        sampler.start(spacing.period, limit, spacing.jitter)
        stop = running.Stop(sampler.done) if limit and sampler.done is not None else None

        def note(event: gdb.Event) -> None:
            stops.append(running.cause(event))

        gdb.events.stop.connect(note)
        try:
            running.run(seconds)
        except gdb.error as error:
            raise TargetError("cannot run: %s" % error) from None
        finally:
            gdb.events.stop.disconnect(note)
            if stop is not None and stop.is_valid():
                stop.delete()
        if gdb.selected_inferior().pid == 0:
            raise TargetError("the target is gone: no samples can be read")
        if sampler.sampling() is not False:
            sampler.stop()
        profile = sampler.profile(self.workbench.program().build_id)
        if profile.timing.period_ticks is None:  # a firmware that does not say it was told just now
            timing = dataclasses.replace(
                profile.timing, period_ticks=spacing.period, jitter_mask=spacing.jitter
            )
            profile = dataclasses.replace(profile, timing=timing)
        return profile
