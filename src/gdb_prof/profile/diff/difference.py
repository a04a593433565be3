"""Two profiles -> what changed between them, row by row, and what of it is larger than chance.

Rows of two builds are the same by name, never by address: code moves. Where a name occurs
twice in one profile, the image or the source file that tells the two apart belongs to it.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Dict, Hashable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_prof.profile.checks import Verdict
from gdb_prof.profile.diff.chance import Counts, change_found, larger_than_chance
from gdb_prof.profile.places import Row, without_clone_suffix
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.samples import Profile
from gdb_prof.wording import base

KINDS = ("function", "line", "file", "task")

Source = Optional[Tuple[str, int]]


@dataclasses.dataclass(frozen=True)
class Side:
    """One of the two: a profile, the program it is of, and its table, with a sample at least."""

    profile: Profile
    build: Build
    verdict: Verdict

    @property
    def total(self) -> int:
        return self.verdict.table.total

    def is_rare(self, number: int) -> bool:
        """Whether a row was seen too few times to say how sure its share is."""
        return self.verdict.dependence is not None and number in self.verdict.dependence.rare

    def worth(self, samples: int) -> float:
        """So many of the samples as independent ones."""
        return samples * (self.verdict.effective or 0.0) / self.total


@dataclasses.dataclass(frozen=True)
class Change:
    """A row of both sides. `apart`: what tells it from others of its name; empty where there are none.
    `points`: by how much its share changed, in percent of all samples. `certain`: whether
    that is larger than chance; None where it cannot be told."""

    name: str
    apart: str
    source: Source
    before: int
    after: int
    points: float
    certain: Optional[bool]
    rare: bool = False
    """Seen too few times on one side to say how sure it is."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """`changes`: first those larger than chance, and of each kind the largest first.

    `found`: the change of a share, as a fraction, that samples like these show in 95 of 100
    cases; None where that is not known. `merged`: for a function those parts and copies
    by the compiler that are counted as it. `shared`: names that several tasks of one side have.
    """

    by: str
    before: Side
    after: Side
    changes: Tuple[Change, ...]
    found: Optional[float]
    merged: Mapping[str, Tuple[str, ...]]
    shared: Tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether all shares are equal."""
        return not any(change.points for change in self.changes)


def difference(before: Side, after: Side, by: str) -> Difference:
    """Of two tables that are both by `by`, one of KINDS."""
    sides = [_entries(before, by), _entries(after, by)]
    merged: Dict[str, Tuple[str, ...]] = {}
    same_build = before.profile.build_id and before.profile.build_id == after.profile.build_id
    if by in ("function", "line") and not same_build:
        merged = _merged(*sides)
    rows = _rows([[_renamed(entry, merged) for entry in entries] for entries in sides])
    certain: Set[int] = set()
    found = None
    testable = before.verdict.effective is not None and after.verdict.effective is not None
    if testable:
        worth = before.worth(before.total), after.worth(after.total)
        counts = [
            Counts(before.worth(row.samples[0]), worth[0], after.worth(row.samples[1]), worth[1])
            for row in rows
        ]
        certain, found = larger_than_chance(counts), change_found(counts)
    changes = [
        Change(
            row.name,
            row.apart,
            row.source,
            *row.samples,
            100 * (row.samples[1] / after.total - row.samples[0] / before.total),
            at in certain if testable and not row.rare else None,
            row.rare,
        )
        for at, row in enumerate(rows)
    ]
    changes.sort(key=lambda c: (not c.certain, -abs(c.points), c.name, c.apart, c.source or ("", 0)))
    shared = {entry.name for entries in sides for entry in entries if entry.tasks > 1}
    return Difference(by, before, after, tuple(changes), found, merged, tuple(sorted(shared)))


# -- a table's rows as what they are called ----------------------------------------------


class _Entry(NamedTuple):
    """A row of one side. `image`, `file`: what tells it from others of its name. `original`: its
    name before clones were merged. `line`: the base name of a file and a line in it, and
    `first` the line of that file where the function begins. `tasks`: how many have the name."""

    name: str
    original: str
    samples: int
    image: str = ""
    file: str = ""
    source: Source = None
    line: Source = None
    first: Optional[int] = None
    tasks: int = 0
    rare: bool = False


def _entries(side: Side, by: str) -> List[_Entry]:
    table = side.verdict.table
    if by == "task":
        return _tasks(side.profile, table.rows)
    entries = [
        _entry(side.build, by, row)._replace(rare=side.is_rare(number))
        for number, row in enumerate(table.rows)
    ]
    return entries + [_Entry("(%s)" % name, name, n) for name, n in table.classes.items()]


def _entry(build: Build, by: str, row: Row) -> _Entry:
    function = row.function
    if function is None:  # by file
        return _Entry(base(row.name), row.name, row.samples, file=row.name)
    definition = build.lines.definition(function.address) if function.symbol else None
    file = base(definition[0]) if definition else function.source
    entry = _Entry(row.name, row.name, row.samples, function.image, file, row.source)
    if by != "line" or row.source is None:
        return entry
    line = base(row.source[0]), row.source[1]
    return entry._replace(line=line, first=definition[1] if definition and file == line[0] else None)


def _tasks(profile: Profile, rows: Sequence[Row]) -> List[_Entry]:
    by_tag: Dict[int, int] = collections.defaultdict(int)
    for row in rows:
        by_tag[row.tag or 0] += row.samples
    of_name: Dict[str, List[int]] = collections.defaultdict(list)
    for tag, samples in by_tag.items():
        unnamed = "task@%08x" % tag if tag else "(no task)"
        of_name[profile.tag_names.get(tag) or unnamed].append(samples)
    return [_Entry(name, name, sum(each), tasks=len(each)) for name, each in of_name.items()]


# -- rows of both sides ------------------------------------------------------------------


class _Both(NamedTuple):
    name: str
    apart: str
    source: Source
    samples: Tuple[int, int]
    rare: bool = False


def _merged(before: Sequence[_Entry], after: Sequence[_Entry]) -> Dict[str, Tuple[str, ...]]:
    """The functions whose parts and copies by the compiler are not the same ones on both sides."""
    names: Dict[str, Tuple[Set[str], Set[str]]] = collections.defaultdict(lambda: (set(), set()))
    for side, entries in enumerate((before, after)):
        for entry in entries:
            names[without_clone_suffix(entry.name)][side].add(entry.name)
    return {
        function: tuple(sorted((here | there) - {function}))
        for function, (here, there) in names.items()
        if here and there and here != there
    }


def _renamed(entry: _Entry, merged: Mapping[str, Sequence[str]]) -> _Entry:
    function = without_clone_suffix(entry.name)
    return entry._replace(name=function) if function in merged else entry


def _rows(sides: Sequence[Sequence[_Entry]]) -> List[_Both]:
    """Each name once, with what tells it from others of that name, where there are any."""
    images, files = _ambiguous(sides, "image"), _ambiguous(sides, "file")
    told = [
        [(e.name, e.image if e.name in images else "", e.file if e.name in files else "") for e in entries]
        for entries in sides
    ]
    moved = _moved(sides, told)
    samples: Dict[Hashable, List[int]] = collections.defaultdict(lambda: [0, 0])
    shown: Dict[Hashable, _Both] = {}
    for side, (entries, keys) in enumerate(zip(sides, told)):
        for entry, key in zip(entries, keys):
            place: Source = entry.line
            if place and not side:
                place = place[0], place[1] + moved[key, place[0]]
            samples[key, place][side] += entry.samples
            apart = ", ".join(part for part in key[1:] if part)
            rare = entry.rare or ((key, place) in shown and shown[key, place].rare)
            # as it is after the change
            shown[key, place] = _Both(entry.name, apart, entry.source, (0, 0), rare)
    return [row._replace(samples=(samples[key][0], samples[key][1])) for key, row in shown.items()]


_Told = Tuple[str, str, str]
_Lines = Tuple[Set[int], Set[int]]


_MOST_PAIRS = 1_000_000
"""Of lines of one function: more than a thousand on each side are of a damaged file."""


def _moved(
    sides: Sequence[Sequence[_Entry]], told: Sequence[Sequence[_Told]]
) -> Dict[Tuple[_Told, str], int]:
    """For each function and file how many lines down its code moved.

    As many as the function's first line; but that is the line of its first instruction, which
    depends on how it was compiled: where another distance brings more lines together, that one.
    """
    lines: Dict[Tuple[_Told, str], _Lines] = collections.defaultdict(lambda: (set(), set()))
    firsts: Dict[Tuple[_Told, str], _Lines] = collections.defaultdict(lambda: (set(), set()))
    for side, (entries, keys) in enumerate(zip(sides, told)):
        for entry, key in zip(entries, keys):
            if entry.line:
                lines[key, entry.line[0]][side].add(entry.line[1])
                if entry.first is not None:
                    firsts[key, entry.line[0]][side].add(entry.first)
    moved = {}
    for place, (before, after) in lines.items():
        first_before, first_after = firsts[place]
        by_first = min(first_after) - min(first_before) if first_before and first_after else 0
        pairs = ((a, b) for a in before for b in after) if len(before) * len(after) <= _MOST_PAIRS else ()
        together = collections.Counter(b - a for a, b in pairs)
        best = max(together, key=lambda by: (together[by], by == by_first, -abs(by)), default=by_first)
        moved[place] = best if together[best] > max(1, together[by_first]) else by_first
    return moved


def _ambiguous(sides: Sequence[Sequence[_Entry]], field: str) -> Set[str]:
    """The names that have more than one image, or file, on one side.

    A function and its clones need not all say theirs: a global symbol has no file of its own.
    """
    found: Set[str] = set()
    for entries in sides:
        values: Dict[str, Set[str]] = collections.defaultdict(set)
        originals: Dict[str, Set[str]] = collections.defaultdict(set)
        for entry in entries:
            value = getattr(entry, field)
            originals[entry.original].add(value)
            if value:
                values[entry.name].add(value)
            if len(values[entry.name]) > 1 or len(originals[entry.original]) > 1:
                found.add(entry.name)
    return found
