"""`prof stop`."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.wording import count


class Stop(ProfCommand):
    """Stop sampling; what was sampled stays.

    Calls the firmware's prof_stop on the target, with every register as it was
    afterwards."""

    name = "prof stop"

    def run(self, args: argparse.Namespace) -> None:
        sampler = self.workbench.sampler()
        sampler.stop()
        self.workbench.disarm()
        cli.show("prof: stopped after %s samples\n" % count(sampler.taken()))
