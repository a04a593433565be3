"""`prof dump`: the report."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Sequence

from gdb_prof.commands import cli
from gdb_prof.commands.prof import ProfCommand, Workbench
from gdb_prof.errors import UsageError
from gdb_prof.profile.call_stacks import STACK_KINDS
from gdb_prof.profile.checks import Verdict, examine
from gdb_prof.profile.places import KINDS
from gdb_prof.profile.report import Layout, report
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Selection, task_tags
from gdb_prof.target.lines import demangle


def add_view(parser: argparse.ArgumentParser, kinds: Sequence[str] = KINDS) -> None:
    add_rows(parser, kinds)
    parser.add_argument("-no-check", action="store_true", help="the table alone, without findings below it")
    add_selection(parser)


def add_rows(parser: argparse.ArgumentParser, kinds: Sequence[str]) -> None:
    parser.add_argument(
        "-by",
        type=cli.one_of(kinds),
        choices=kinds,
        default="function",
        metavar="KIND",
        help="rows: %s" % ", ".join(kinds),
    )
    parser.add_argument(
        "-top", type=cli.positive, default=40, metavar="N", help="the first N rows (default: 40)"
    )
    parser.add_argument(
        "-min", type=cli.percent, default=0.0, metavar="PERCENT", help="rows with at least this share"
    )
    parser.add_argument(
        "-merge-clones",
        action="store_true",
        help="count the compiler's parts and copies (f.part.0, f.constprop.1) as f",
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-first", type=cli.positive, metavar="N", help="only the first N samples")
    parser.add_argument("-task", metavar="NAME", help="only samples of this task")


def selection(profile: Profile, args: argparse.Namespace) -> Selection:
    """Raises UsageError where there is nothing to select from."""
    if not profile.taken and not profile.kept:
        raise UsageError("no sample is taken yet: `prof start`, then `continue`")
    return Selection(args.first, task_tags(profile, args.task) if args.task else None)


def examined(
    workbench: Workbench,
    profile: Profile,
    args: argparse.Namespace,
    by: str = "function",
    merge_clones: bool = False,
    check: bool = True,
) -> Verdict:
    """The table of the samples that the options select, and what is found about it. Raises GdbProfError."""
    return examine(profile, workbench.build(profile), by, selection(profile, args), merge_clones, check)


def with_remarks(workbench: Workbench, profile: Profile) -> Profile:
    """The profile with what is to be said of the program's file."""
    return dataclasses.replace(profile, remarks=(*profile.remarks, *workbench.remarks(profile)))


def show_profile(workbench: Workbench, profile: Profile, args: argparse.Namespace) -> None:
    verdict = examined(workbench, profile, args, args.by, args.merge_clones, not args.no_check)
    layout = Layout(cli.width(), args.top, args.min, demangle)
    cli.show(report(with_remarks(workbench, profile), verdict, layout))


class Dump(ProfCommand):
    """Show where the time went, as a table of shares.

    From the target, a recording or a loaded file. Every sample is in exactly one
    row or in a class named in the last line, which gives the denominator. ± is
    half of the 95 % interval (Wilson's), of as many samples as do not depend on
    each other; `?` where these are too few. Below the table stand the ways in
    which it may lie, the most serious first; `prof check` explains them. Rows that
    one is about end with `!`. Asleep is what lies on or after a wfi or wfe, and
    the idle task; `of busy` is the share of the rest. Reads the target's memory
    and changes nothing. By stack and by calls need call stacks (`prof start
    -source halt -backtrace`): a row for each path of calls, or all of them as a
    tree, in which a function's share has that of what it called in it; own are
    the samples of the function itself. Examples:
      prof dump -by line -top 20
      prof dump -by task
      prof dump -task heavy -min 1"""

    name = "prof dump"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_view(parser, (*KINDS, *STACK_KINDS))

    def run(self, args: argparse.Namespace) -> None:
        show_profile(self.workbench, self.workbench.current(not args.no_check), args)
