"""`prof diff`: what changed between two profiles."""

from __future__ import annotations

import argparse
import dataclasses
from typing import List, Tuple

from gdb_prof.commands import cli, prof_dump
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.commands.prof_files import load
from gdb_prof.errors import FileError, ProgramError, TargetError, UsageError
from gdb_prof.profile.checks import examine
from gdb_prof.profile.diff.difference import KINDS, Difference, Side, difference
from gdb_prof.profile.diff.text import report
from gdb_prof.profile.finding import Severity
from gdb_prof.profile.report import Layout
from gdb_prof.profile.samples import Profile
from gdb_prof.target.lines import demangle


class Comparison(ProfCommand):
    """A command of two profiles: files, or a file and what `prof dump` shows."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("before", metavar="FILE", help="the first; quote a name with blanks")
        parser.add_argument(
            "after", metavar="FILE", nargs="?", help="the second (default: what `prof dump` shows)"
        )
        prof_dump.add_rows(parser, KINDS)

    def sides(self, args: argparse.Namespace) -> "tuple[Side, Side]":
        """Raises GdbProfError."""
        before, after = load(args.before), self._after(args)
        if before.origin == after.origin:
            before = dataclasses.replace(before, origin=args.before)
            after = dataclasses.replace(after, origin=args.after or after.origin)
        return self._side(before, args), self._side(after, args)

    def layout(self, args: argparse.Namespace) -> Layout:
        return Layout(cli.width(), args.top, args.min, demangle)

    def remarks(self, found: Difference) -> Tuple[str, ...]:
        return tuple(dict.fromkeys([*self._remarks(found.before), *self._remarks(found.after)]))

    def _after(self, args: argparse.Namespace) -> Profile:
        if args.after is not None:
            return load(args.after)
        try:
            return self.workbench.current()
        except (TargetError, ProgramError) as error:
            raise type(error)("no second file, and %s" % error) from None

    def _side(self, profile: Profile, args: argparse.Namespace) -> Side:
        if not profile.kept:
            raise UsageError("%s holds no samples" % profile.origin)
        build = self.workbench.build(profile)
        try:
            verdict = examine(profile, build, args.by, merge_clones=args.merge_clones)
        except UsageError as error:
            raise FileError("%s: %s" % (profile.origin, error)) from None
        return Side(profile, build, verdict)

    def _remarks(self, side: Side) -> List[str]:
        """What else is to be known of one side, save that it is of another build: that is why
        it is compared."""
        profile = side.profile
        own = self.workbench.own_names(profile)
        told = [] if own else self.workbench.remarks(profile)
        wrong = dict.fromkeys(f.kind for f in side.verdict.findings if f.severity == Severity.WRONG)
        kinds = ["%s: %s: see `prof check` of it" % (profile.origin, ", ".join(wrong))] if wrong else []
        return [*kinds, *("%s: %s" % (profile.origin, remark) for remark in profile.remarks), *told]


class Diff(Comparison):
    """Compare two profiles: what changed by more than chance.

    The first file is before, the second after; without a second one it is what
    `prof dump` shows now: the target, a recording, a loaded file. Files are of
    `prof save`, of any build: each is reported by its own names.

    Rows are matched by name, never by address. Parts and copies that the compiler
    made of a function in one build only (f.part.0, f.constprop.1) are counted as
    f. Lines are matched by their place in their function, so that code that moved
    as a whole stays matched; around an edit inside a function lines are not.

    Shares are compared, not the time of a call: where one function becomes slower,
    the shares of all others become smaller. `sure` is yes where a change is larger
    than chance: a z-test of two proportions (exact for rows of few samples), of as
    many samples as are independent, with 5 % for all rows together (Holm, Tarone).
    Changes that are sure come first, then the largest. ± is half of the 95 %
    interval. Examples:
      prof diff before.prof
      prof diff before.prof after.prof -by line -min 1"""

    name = "prof diff"

    def run(self, args: argparse.Namespace) -> None:
        found = difference(*self.sides(args), args.by)
        cli.show(report(found, self.layout(args), self.remarks(found)))
