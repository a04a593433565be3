"""`prof dump`: the report."""

from __future__ import annotations

import argparse
import dataclasses
from typing import List

from gdb_prof.commands import cli
from gdb_prof.commands.prof import ProfCommand, Workbench
from gdb_prof.errors import UsageError
from gdb_prof.profile.report import Layout, report
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import KINDS, Selection, shares, task_tags
from gdb_prof.target.lines import DebugLines, demangle


def add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-by",
        type=cli.one_of(KINDS),
        choices=KINDS,
        default="function",
        metavar="KIND",
        help="rows: %s" % ", ".join(KINDS),
    )
    parser.add_argument(
        "-top", type=cli.positive, default=40, metavar="N", help="the N largest rows (default: 40)"
    )
    parser.add_argument(
        "-min", type=cli.percent, default=0.0, metavar="PERCENT", help="rows with at least this share"
    )
    parser.add_argument("-first", type=cli.positive, metavar="N", help="only the first N samples")
    parser.add_argument("-task", metavar="NAME", help="only samples of this task")
    parser.add_argument(
        "-merge-clones",
        action="store_true",
        help="count the compiler's parts and copies (f.part.0, f.constprop.1) as f",
    )


def show_profile(workbench: Workbench, profile: Profile, args: argparse.Namespace) -> None:
    if not profile.taken and not profile.kept:
        raise UsageError("no sample is taken yet: `prof start`, then `continue`")
    program = workbench.program()
    selection = Selection(args.first, task_tags(profile, args.task) if args.task else None)
    table = shares(profile, program.functions, DebugLines(), args.by, selection, args.merge_clones)
    other = _other_build(profile, program.build_id, program.name)
    profile = dataclasses.replace(profile, remarks=(*profile.remarks, *program.remarks, *other))
    layout = Layout(cli.width(), args.top, args.min, demangle)
    cli.show(report(profile, table, layout))


def _other_build(profile: Profile, build_id: str, name: str) -> List[str]:
    if not profile.build_id or not build_id or profile.build_id == build_id:
        return []
    return [
        "%s belongs to another build of %s (%s; here %s): names may be wrong"
        % (profile.origin, profile.program or name, _short(profile.build_id), _short(build_id))
    ]


def _short(build_id: str) -> str:
    kind, _, digest = build_id.rpartition(":")
    return "%s %s…" % (kind or "build-id", digest[:8])


class Dump(ProfCommand):
    """Show where the time went, as a table of shares.

    From the target, a recording or a loaded file. Every sample is in exactly one
    row or in a class named in the last line, which gives the denominator. Reads
    the target's memory once and changes nothing. Examples:
      prof dump -by line -top 20
      prof dump -by task
      prof dump -task heavy -min 1"""

    name = "prof dump"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_view(parser)

    def run(self, args: argparse.Namespace) -> None:
        show_profile(self.workbench, self.workbench.current(), args)
