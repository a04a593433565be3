"""`prof compare-sources`: two ways of taking samples of one program, side by side."""

from __future__ import annotations

import argparse

from gdb_prof.commands import cli
from gdb_prof.commands.prof_diff import Comparison
from gdb_prof.errors import UsageError
from gdb_prof.profile.diff.difference import difference
from gdb_prof.profile.diff.sources import label, reasons
from gdb_prof.profile.diff.text import report
from gdb_prof.wording import some

_MOST_ROWS = 4


class CompareSources(Comparison):
    """Compare two sources and name the bias that fits.

    Files are of `prof save`: one of the sampler's interrupt and one over SWO, say;
    without a second one it is what `prof dump` shows now. Each source has biases
    of its own: an interrupt waits while interrupts are masked and wakes a core
    that sleeps, SWO loses samples, halting stands at the edges of an emulator's
    blocks. Where two sources agree, none of what only one of them has is at work;
    where they differ by more than chance, the known bias that fits is named. Of
    one build, doing the same in both. Example:
      prof compare-sources timer.prof swo.prof"""

    name = "prof compare-sources"

    def run(self, args: argparse.Namespace) -> None:
        first, second = self.sides(args)
        labels = [label(first), label(second)]
        if labels[0] == labels[1]:
            raise UsageError(
                "%s and %s are both by %s: `prof diff` compares them"
                % (first.profile.origin, second.profile.origin, first.profile.timing.timer)
            )
        found = difference(first, second, args.by)
        if not any(change.before and change.after for change in found.changes):
            raise UsageError(
                "%s and %s have no function in common: are they of one program?"
                % (first.profile.origin, second.profile.origin)
            )
        said = ["%s: %s" % (some(reason.rows, _MOST_ROWS), reason.why) for reason in reasons(found)]
        if first.profile.build_id != second.profile.build_id:
            said.append("the two are of different builds: what differs may be the program")
        text = report(found, self.layout(args), self.remarks(found), (*labels, "difference"), said)
        cli.show(text)
