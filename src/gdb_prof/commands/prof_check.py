"""`prof check`: the ways in which the profile may lie, at length."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli, prof_dump
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.errors import ProfileError
from gdb_prof.profile.checks.masked import NO_INSTRUCTIONS
from gdb_prof.profile.checks.text import explained
from gdb_prof.profile.finding import Severity
from gdb_prof.wording import plural


class Check(ProfCommand):
    """Say in which known ways the profile may lie, with the evidence.

    Of what `prof dump` shows now. Looked for: lockstep, crawling, too little
    jitter; time with interrupts masked, and of handlers that the sampler cannot
    interrupt; lost timer ticks; a wrong stack, full or shared histogram bins;
    other code in the target than in the ELF; an emulator without an instruction
    clock; a sampler in the RTOS's tick. What could not be looked for is said, and
    why. With -strict the command fails where one is found, remarks aside, where
    the profile is damaged or was interrupted, and where the program is not loaded,
    so that masked time cannot be looked for: for a test under `gdb -batch`, whose
    exit status is that of the last command.
    Example:
      prof check -strict"""

    name = "prof check"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        prof_dump.add_selection(parser)
        parser.add_argument("-strict", action="store_true", help="fail unless nothing is found")

    def run(self, args: argparse.Namespace) -> None:
        profile = self.workbench.current()
        verdict = prof_dump.examined(self.workbench, profile, args)
        shown = prof_dump.with_remarks(self.workbench, profile)
        cli.show(explained(shown, verdict, cli.width()))
        if not args.strict:
            return
        found = [f.kind for f in verdict.findings if f.severity > Severity.REMARK]
        if found:
            raise ProfileError("%s: %s" % (plural(len(found), "finding"), ", ".join(found)))
        if profile.remarks:
            raise ProfileError(profile.remarks[0])
        unseen = [u for u in verdict.unknown if u.why == NO_INSTRUCTIONS]
        if unseen:
            raise ProfileError("%s not looked for: %s" % (", ".join(u.kind for u in unseen), unseen[0].why))
