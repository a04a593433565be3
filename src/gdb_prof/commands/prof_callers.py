"""`prof callers`: who calls a function."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli, prof_dump
from gdb_prof.commands.prof_function import FunctionCommand
from gdb_prof.errors import UsageError
from gdb_prof.profile.checks import examine
from gdb_prof.profile.finding import Severity
from gdb_prof.profile.one_function.annotate import all_counts
from gdb_prof.profile.one_function.callers import callers
from gdb_prof.profile.one_function.callers_text import callers_text
from gdb_prof.profile.one_function.choice import chosen
from gdb_prof.profile.one_function.stack_callers import on_stacks, stack_callers
from gdb_prof.profile.samples import Profile
from gdb_prof.target.lines import demangle


class Callers(FunctionCommand):
    """Show who called a function, by the place of the call.

    Of samples with call stacks (`prof start -source halt -backtrace`), any
    function that is on one: its samples and those of all that it called, by the
    call that led to it; of a function that calls itself by the first one.

    Else for a firmware built with PROF_LR=1, whose samples carry LR. In a function
    that calls none and does not use LR itself, LR is where it returns to; others
    are refused. A function that was entered by a tail call, a jump at the end of
    another one, returns to that one's caller: the step between is hidden.

    The line is that of the call; shares are of the whole profile, and the rows add
    up to the function's row in `prof dump`, of stacks in `prof dump -by calls`.
    Example:
      prof callers hot_a"""

    name = "prof callers"

    def run(self, args: argparse.Namespace) -> None:
        profile = self.workbench.current()
        if profile.stacks is not None:
            self._by_stacks(profile, args)
            return
        found = self.chosen(args)
        sites = callers(
            *(found.profile, found.build, found.verdict.table, found.row, found.name, found.selection)
        )
        said = [finding.summary for finding in found.findings()]
        text = callers_text(
            *(found.profile, found.verdict, found.row, found.name, sites, cli.width()), findings=said
        )
        cli.show(text)

    def _by_stacks(self, profile: Profile, args: argparse.Namespace) -> None:
        build, selection = self.workbench.build(profile), prof_dump.selection(profile, args)
        verdict = examine(profile, build, "function", selection)
        rows = on_stacks(profile, build, selection)
        if not rows:
            raise UsageError("no function has samples")
        name = " ".join(args.function)
        hottest = verdict.table.rows[0].function if verdict.table.rows else None
        row = next((row for row in rows if row.function == hottest), rows[0])
        if name:
            row = chosen(name, rows, all_counts(profile, selection), build, demangle, self._address)
        sites = stack_callers(profile, build, row, selection)
        said = [finding.summary for finding in verdict.findings if finding.severity > Severity.REMARK]
        shown = prof_dump.with_remarks(self.workbench, profile)
        cli.show(callers_text(shown, verdict, row, demangle(row.name), sites, cli.width(), findings=said))
