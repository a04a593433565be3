"""`prof status`."""

from __future__ import annotations

import argparse
from typing import List

from gdb_prof.commands import cli
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.commands.swo_session import SwoSession
from gdb_prof.profile.report import spacing
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.source import TIMER
from gdb_prof.target import session
from gdb_prof.target.sampler import Sampler
from gdb_prof.wording import count, plural


class Status(ProfCommand):
    """Show what the sampler does and what was lost."""

    name = "prof status"

    def run(self, args: argparse.Namespace) -> None:
        swo = self.workbench.sampling_over_swo()
        if swo is not None:
            cli.show("".join("%-10s %s\n" % row for row in self._swo_rows(swo)))
            return
        loaded = self.workbench.loaded
        if loaded is not None and loaded.source.kind != TIMER:
            cli.say(
                "%s by %s, %s: see `prof dump`"
                % (plural(loaded.taken, "sample"), loaded.timing.timer, spacing(loaded.timing))
            )
            return
        sampler = self.workbench.sampler()
        profile = sampler.profile("")
        rows = self._rows(sampler, profile)
        cli.show("".join("%-10s %s\n" % row for row in rows))
        if self.workbench.loaded is not None:
            cli.show("`prof dump` shows %s until `prof load -live`\n" % self.workbench.loaded.origin)

    @staticmethod
    def _swo_rows(swo: SwoSession) -> List[tuple[str, str]]:
        rows = [("state", "sampling"), ("source", swo.timing.timer), ("period", spacing(swo.timing))]
        if swo.recording is None:
            return [*rows, ("file", "recorded elsewhere")]
        session.require_stopped()
        profile = swo.profile()
        return [
            *rows,
            ("file", swo.recording.path),
            ("samples", count(profile.taken)),
            ("overflows", count(profile.source.overflows)),
        ]

    @staticmethod
    def _rows(sampler: Sampler, profile: Profile) -> List[tuple[str, str]]:
        sampling = sampler.sampling()
        state = {True: "sampling", False: "stopped", None: "cannot be read here"}
        of = " of %s" % count(profile.limit) if profile.limit else ", no limit"
        if not profile.taken and not profile.limit and not sampling:
            return [("state", "not started: `prof start`"), ("source", profile.timing.timer)]
        rows = [
            ("state", state[sampling]),
            ("source", profile.timing.timer),
            ("period", spacing(profile.timing)),
            ("samples", count(profile.taken) + of),
        ]
        if profile.timing.elapsed_s is not None:
            rows.append(("elapsed", "%.3f ms by the program's clock" % (profile.timing.elapsed_s * 1e3)))
        elif profile.timing.mean_ticks and profile.timing.tick_hz:
            about = profile.taken * profile.timing.mean_ticks / profile.timing.tick_hz
            rows.append(("elapsed", "about %.3f ms: samples times the mean period" % (about * 1e3)))
        h = profile.histogram
        if h:
            rows.append(("bins", "%s of %s" % (count(len(h.counts)), plural(1 << h.shift, "byte"))))
            rows.append(("outside", "%s outside the bins" % plural(h.outside, "sample")))
            rows.append(("saturated", "%s in full bins" % plural(h.saturated, "sample")))
        else:
            lost = profile.taken - profile.kept
            overwritten = ", %s overwritten" % count(lost) if lost else ""
            rows.append(("ring", "%s of %s kept%s" % (count(profile.kept), count(sampler.size), overwritten)))
        return rows
