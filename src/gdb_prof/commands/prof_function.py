"""What the commands about one function of a profile share: its name, its samples."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from typing import Any, Counter, List, Optional

from gdb_prof.commands import prof_dump
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.errors import GdbProfError, UsageError
from gdb_prof.profile.checks import Verdict, examine
from gdb_prof.profile.finding import Finding
from gdb_prof.profile.one_function.annotate import all_counts
from gdb_prof.profile.one_function.choice import chosen
from gdb_prof.profile.places import Row
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Selection
from gdb_prof.target.code import DisassembledCode
from gdb_prof.target.lines import demangle


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A function, in what it was found. `asleep`: its samples that are in no row. `here`: the program
    is loaded; else its names are those saved with the profile."""

    profile: Profile
    build: Build
    selection: Selection
    verdict: Verdict
    row: Row
    name: str
    asleep: int
    here: bool

    def findings(self) -> List[Finding]:
        """Those that say that samples of the function are another's."""
        at, function = self.build.functions.at, self.row.function
        return [f for f in self.verdict.findings if any(at(address) == function for address in f.addresses)]


class FunctionCommand(ProfCommand):
    """A subcommand of `prof` that is about one function."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "function",
            metavar="FUNCTION",
            nargs="*",  # words: C++'s names have blanks
            help="its name; FILE:name where several have it. Without: the one with the most samples",
        )
        prof_dump.add_selection(parser)

    def chosen(self, args: argparse.Namespace) -> Chosen:
        """Raises GdbProfError."""
        profile = self.workbench.current()
        build = self.workbench.build(profile)
        selection = prof_dump.selection(profile, args)
        verdict = examine(profile, build, "function", selection)
        counts = all_counts(profile, selection)
        name = " ".join(args.function)
        if name:
            row = chosen(name, verdict.table.rows, counts, build, demangle, self._address)
        elif verdict.table.rows:
            row = verdict.table.rows[0]
        else:
            raise UsageError("no function has samples")
        return Chosen(
            *(prof_dump.with_remarks(self.workbench, profile), build, selection, verdict, row),
            name=demangle(row.name),
            asleep=_all_of(row, counts, build) - row.samples if profile.histogram is None else 0,
            here=isinstance(build.code, DisassembledCode),
        )

    def _address(self, name: str) -> Optional[int]:
        """Where the loaded program has a symbol of that name."""
        with contextlib.suppress(GdbProfError):
            symbol = self.workbench.program().find(name)
            return symbol.address & ~1 if symbol is not None else None
        return None

    def complete(self, text: str, word: Optional[str]) -> Any:
        found = super().complete(text, word)
        last = text.rsplit(" ", 1)[-1]
        if found or last.startswith("-"):
            return found
        typed = len(last) - len(word or "") if word is not None else 0
        return [name[typed:] for name in self._names() if name.startswith(last)]

    def _names(self) -> List[str]:
        """Functions with samples, of a profile that is at hand: the target is not read for a Tab."""
        profile = self.workbench.loaded
        if profile is None:
            return []
        with contextlib.suppress(GdbProfError):
            functions = self.workbench.build(profile).functions
            found = {functions.at(pc) for pc in all_counts(profile, Selection())}
            return sorted({demangle(f.name) for f in found if f is not None and f.symbol})
        return []


def _all_of(row: Row, counts: Counter[int], build: Build) -> int:
    """The samples of a row's function, also those asleep."""
    return sum(n for pc, n in counts.items() if build.functions.at(pc) == row.function)
