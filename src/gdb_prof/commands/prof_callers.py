"""`prof callers`: who calls a leaf function."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli
from gdb_prof.commands.prof_function import FunctionCommand
from gdb_prof.profile.one_function.callers import callers
from gdb_prof.profile.one_function.callers_text import callers_text


class Callers(FunctionCommand):
    """Show who called a leaf function, by the place of the call.

    For a firmware built with PROF_LR=1, whose samples carry LR. In a function that
    calls none and does not use LR itself, LR is where it returns to; any other
    function is refused. The line is that of the call; shares are of the whole
    profile, and the rows add up to the function's row in `prof dump`. A function
    that was entered by a tail call, a jump at the end of another one, returns to
    that one's caller: the step between is hidden. Example:
      prof callers hot_a"""

    name = "prof callers"

    def run(self, args: argparse.Namespace) -> None:
        found = self.chosen(args)
        sites = callers(
            *(found.profile, found.build, found.verdict.table, found.row, found.name, found.selection)
        )
        said = [finding.summary for finding in found.findings()]
        text = callers_text(
            *(found.profile, found.verdict, found.row, found.name, sites, cli.width()), findings=said
        )
        cli.show(text)
