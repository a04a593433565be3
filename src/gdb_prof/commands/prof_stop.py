"""`prof stop`."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli
from gdb_prof.commands.prof import Workbench
from gdb_prof.profile.report import count


class Stop(cli.Command):
    """Stop sampling; what was sampled stays.

    Calls the firmware's prof_stop on the target, with every register as it was afterwards."""

    name = "prof stop"

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        super().__init__()

    def run(self, args: argparse.Namespace) -> None:
        sampler = self._workbench.sampler()
        sampler.stop()
        self._workbench.disarm()
        cli.show("prof: stopped after %s samples\n" % count(sampler.taken()))
