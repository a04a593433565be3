"""`prof stop`."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.commands.swo_session import SwoSession
from gdb_prof.errors import UsageError
from gdb_prof.profile.samples import RECORDING
from gdb_prof.profile.source import TIMER
from gdb_prof.target import session
from gdb_prof.wording import count


class Stop(ProfCommand):
    """Stop sampling; what was sampled stays.

    Calls the firmware's prof_stop on the target, with every register as it was
    afterwards. Of `prof start -source swo`: puts the trace registers back as they
    were, and ends the recording."""

    name = "prof stop"

    def run(self, args: argparse.Namespace) -> None:
        swo = self.workbench.sampling_over_swo()
        if swo is not None:
            self._stop_swo(swo)
            return
        loaded = self.workbench.loaded
        if loaded is not None and loaded.origin == RECORDING and loaded.source.kind != TIMER:
            raise UsageError("nothing is sampling: the recording by %s has ended" % loaded.timing.timer)
        sampler = self.workbench.sampler()
        sampler.stop()
        self.workbench.disarm()
        cli.show("prof: stopped after %s samples\n" % count(sampler.taken()))

    def _stop_swo(self, swo: SwoSession) -> None:
        session.require_stopped()
        swo.stop()
        self.workbench.swo = None
        if swo.recording is None:
            cli.say("the trace registers are as they were")
            return
        self.workbench.loaded = self.workbench.observed(swo.profile())
        taken = self.workbench.loaded.taken
        cli.say("stopped after %s samples, in %s" % (count(taken), swo.recording.path))
