"""`prof annotate`: where in a function the time goes."""

from __future__ import annotations

import argparse
from typing import List, Optional, Sequence

from gdb_prof.commands import cli
from gdb_prof.commands.prof_function import Chosen, FunctionCommand
from gdb_prof.errors import UsageError
from gdb_prof.profile.one_function.annotate import Annotated, Source, annotated
from gdb_prof.profile.one_function.annotated_rows import Entry, by_instruction, by_line
from gdb_prof.profile.one_function.annotated_text import Page, annotated_text
from gdb_prof.target.source import SourceFiles

_NO_LINES = "no source lines: nothing here has debug information (-g)"
_NO_BUILD = "the program of the profile is not loaded: its lines are shown by number"
_NO_CODE = "no instructions: this code is not in the ELF file, and cannot be read from the target"


class Annotate(FunctionCommand):
    """Show a function's lines and instructions with their samples.

    In the manner of `perf annotate`: under each source line its instructions, and
    under the line of an inlined call the lines of that function. The hottest line
    and the hottest instruction begin with `>`. Shares are of the whole profile:
    those of the lines add up to the function's row in `prof dump`, and so do those
    of the instructions. `!` at an instruction: its samples are another's, as said
    below. A sample is at the instruction that was to be executed next: a slow
    load or division shows at itself or at the one after. Lines and instructions
    far from any sample are folded to `...`. Examples:
      prof annotate hot_a
      prof annotate uart.c:send -asm"""

    name = "prof annotate"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        only = parser.add_mutually_exclusive_group()
        only.add_argument(
            "-asm", action="store_true", help="instructions alone, by address, lines beside them"
        )
        only.add_argument("-source", action="store_true", help="source lines alone")
        around = parser.add_mutually_exclusive_group()
        around.add_argument(
            "-context",
            type=cli.natural,
            default=4,
            metavar="N",
            help="show N lines and instructions on both sides of one with samples (default: 4)",
        )
        around.add_argument("-all", action="store_true", help="fold nothing")

    def run(self, args: argparse.Namespace) -> None:
        found = self.chosen(args)
        files = SourceFiles()
        source = files if found.here else None
        listing = annotated(
            *(found.profile, found.build, source), found.verdict.table, found.row, found.selection
        )
        entries, notes = _entries(listing, source, found, args)
        findings = found.findings()
        page = Page(
            *(cli.width(), found.name, [*notes, *files.remarks]),
            findings=[finding.summary for finding in findings],
            marked=frozenset(address for finding in findings for address in finding.addresses),
            asleep=found.asleep,
        )
        cli.show(annotated_text(found.profile, found.verdict, listing, entries, page))


def _entries(
    listing: Annotated, source: Optional[Source], found: Chosen, args: argparse.Namespace
) -> "tuple[Sequence[Entry], List[str]]":
    """The rows, and what must be said of what they do not show."""
    context = None if args.all else args.context
    notes: List[str] = []
    if listing.bins and args.source:
        raise UsageError(
            "bins of %d bytes do not tell lines apart: `prof dump -by line` divides them" % listing.bins
        )
    if listing.bins:
        notes.append(
            "samples of a bin of %d bytes stand at its first instruction: which one they are of is not known"
            % listing.bins
        )
    if not listing.has_code:
        notes.append(_NO_CODE if found.here else _NO_BUILD)
    if not listing.has_lines:
        if args.source:
            raise UsageError("%s has no source lines: build with -g" % found.name)
        notes.append(_NO_LINES)
    if args.asm or listing.bins or not listing.has_lines:
        return by_instruction(listing, context), notes
    return by_line(listing, source, not args.source and listing.has_code, context), notes
