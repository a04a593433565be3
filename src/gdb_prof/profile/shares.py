"""Samples -> rows: to whom the time is charged. Every sample is in one row or one class."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import Callable, Counter, Dict, Hashable, List, Optional, Protocol, Sequence, Tuple

from gdb_prof.errors import UsageError
from gdb_prof.profile.functions import Function, FunctionMap
from gdb_prof.profile.samples import Histogram, Profile

OUTSIDE = "outside code"
UNREADABLE = "unreadable"
NO_BIN = "outside the bins"
FULL_BIN = "in full bins"

_UNREADABLE = frozenset((0xFFFFFFFF, 0xFFFFFFFE))
"""What a bus or an erased memory answers, and the PC of a core in lockup."""

# GCC's and LLVM's names for parts and copies of a function.
_CLONE = re.compile(r"(?:\.(?:part|isra|constprop|cold|lto_priv|llvm|clone)(?:\.\d+)*)+$")


class Lines(Protocol):
    """What only debug information tells about an address; the debugger provides it."""

    def line(self, address: int) -> Optional[Tuple[str, int]]:
        """File name and line; None where there is no line."""

    def definition(self, address: int) -> Optional[Tuple[str, int]]:
        """File name and line where the function at an address is defined."""

    def inlined(self, address: int) -> Sequence[str]:
        """The functions inlined at an address, innermost first, and the one they are in."""


@dataclasses.dataclass(frozen=True)
class Row:
    """`samples` charged to one place. `name` is for sorting and showing."""

    name: str
    samples: int
    function: Optional[Function] = None
    address: Optional[int] = None
    source: Optional[Tuple[str, int]] = None
    tag: Optional[int] = None
    divided: int = 0
    """How many of the samples are this row's part of bins that it shares with others."""


@dataclasses.dataclass(frozen=True)
class Shares:
    """The rows, largest first; the classes that are no code; and what was divided.

    By task, the samples of the classes are rows without a function too: they are a task's.
    """

    by: str
    rows: Tuple[Row, ...]
    classes: Dict[str, int]
    total: int
    divided_samples: int = 0
    divided_bins: int = 0

    @property
    def in_code(self) -> int:
        return self.total - sum(self.classes.values())


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which samples of a profile count: the first so many, those with one of these tags."""

    first: Optional[int] = None
    tags: Optional[Tuple[int, ...]] = None


KINDS = ("function", "line", "address", "file", "task", "inline")

_Place = Callable[[int, Function], Tuple[Hashable, Row]]


def shares(
    profile: Profile,
    functions: FunctionMap,
    lines: Lines,
    by: str = "function",
    selection: Selection = Selection(),
    merge_clones: bool = False,
) -> Shares:
    """Charge each sample. `by` is one of KINDS.

    Raises UsageError where the profile does not hold what is asked for.
    """
    if profile.histogram and selection.first is not None:
        raise UsageError(_HISTOGRAM)
    if by == "task" or selection.tags:
        _demand_tags(profile)
    place = _PLACES[by](functions, lines, merge_clones)
    if profile.histogram:
        return _of_histogram(profile, functions, place, by)
    return _of_ring(profile, functions, place, by, selection)


def task_tags(profile: Profile, name: str) -> Tuple[int, ...]:
    """The tags whose name it is, or the one tag whose address it is. Raises UsageError."""
    tags = set(_demand_tags(profile))
    found = tuple(sorted(t for t in tags if profile.tag_names.get(t, "") == name))
    if not found:
        found = tuple(t for t in tags if name.lower() in ("0x%x" % t, "task@%08x" % t))
    if not found:
        known = sorted({profile.tag_names.get(t) or "0x%x" % t for t in tags})
        raise UsageError("no sample of a task %s: the tasks are %s" % (name, ", ".join(known) or "none"))
    return found


_HISTOGRAM = "a histogram has no order and no tasks: build with PROF_MODE=PROF_RING"


def _demand_tags(profile: Profile) -> Sequence[int]:
    if profile.histogram:
        raise UsageError(_HISTOGRAM)
    if profile.tags is None:
        raise UsageError("the samples carry no task: build with PROF_TAG=pxCurrentTCB")
    return profile.tags


def _of_ring(
    profile: Profile, functions: FunctionMap, place: _Place, by: str, selection: Selection
) -> Shares:
    pcs = profile.pcs[: selection.first]
    counts: Counter[Tuple[int, Optional[int]]]
    if profile.tags is not None and (by == "task" or selection.tags):
        pairs = collections.Counter(zip(pcs, profile.tags))
        wanted = selection.tags
        counts = collections.Counter({p: n for p, n in pairs.items() if not wanted or p[1] in wanted})
    else:
        counts = collections.Counter({(pc, None): n for pc, n in collections.Counter(pcs).items()})
    classes: Counter[str] = collections.Counter()
    rows: Dict[Hashable, Row] = {}
    for (pc, tag), n in counts.items():
        function = functions.at(pc)
        if function is None:
            name = UNREADABLE if pc in _UNREADABLE else OUTSIDE
            classes[name] += n
            if by != "task":
                continue
            key: Hashable = name
            row = Row("(%s)" % name, 0)
        else:
            key, row = place(pc, function)
        tagged = tag if by == "task" else None
        _charge(rows, (key, tagged), row, n, tagged)
    return Shares(by, _sorted(rows), dict(classes), sum(counts.values()))


def _of_histogram(profile: Profile, functions: FunctionMap, place: _Place, by: str) -> Shares:
    histogram = profile.histogram
    assert histogram is not None
    classes: Counter[str] = collections.Counter()
    classes[NO_BIN] = histogram.outside
    classes[FULL_BIN] = histogram.saturated
    rows: Dict[Hashable, Row] = {}
    divided_bins = divided_samples = 0
    for index, n in enumerate(histogram.counts):
        if not n:
            continue
        start = histogram.base + (index << histogram.shift)
        addresses = range(start, start + (1 << histogram.shift), 2)
        shares_of_bin = _within(addresses, functions, place)
        if by == "address":
            shares_of_bin = _whole(shares_of_bin, histogram)
        if not shares_of_bin:
            classes[OUTSIDE] += n
            continue
        if len(shares_of_bin) > 1:
            divided_bins += 1
            divided_samples += n
        parts = _divided(n, [weight for _, _, weight in shares_of_bin])
        for (key, row, _), part in zip(shares_of_bin, parts):
            if part:
                divided = part if len(parts) > 1 else 0
                _charge(rows, key, dataclasses.replace(row, divided=divided), part, None)
    present = {name: n for name, n in classes.items() if n}
    return Shares(by, _sorted(rows), present, profile.kept, divided_samples, divided_bins)


def _within(
    addresses: Sequence[int], functions: FunctionMap, place: _Place
) -> List[Tuple[Hashable, Row, int]]:
    """The places in a bin with their number of halfwords.

    Filler between functions and literal pools, which are not executed, count only where the
    bin holds nothing else.
    """
    weights: Counter[Hashable] = collections.Counter()
    rows: Dict[Hashable, Row] = {}
    found = [(a, f) for a in addresses for f in (functions.at(a),) if f is not None]
    executed = [(a, f) for a, f in found if f.symbol and not functions.in_literal_pool(a)]
    for address, function in executed or found:
        key, row = place(address, function)
        weights[key] += 1
        rows.setdefault(key, row)
    return [(key, rows[key], weight) for key, weight in weights.items()]


def _whole(parts: List[Tuple[Hashable, Row, int]], histogram: Histogram) -> List[Tuple[Hashable, Row, int]]:
    """A bin's addresses as one row: which of them was sampled is not known."""
    if len(parts) < 2:
        return parts
    key, row, _ = parts[0]
    return [(key, dataclasses.replace(row, name="%s (%d bytes)" % (row.name, 1 << histogram.shift)), 1)]


def _divided(n: int, weights: Sequence[int]) -> List[int]:
    """`n` in proportion to `weights`, as whole numbers that add up: largest remainders."""
    total = sum(weights)
    parts = [n * w // total for w in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(n * weights[i] % total), i))
    for i in by_remainder[: n - sum(parts)]:
        parts[i] += 1
    return parts


def _charge(rows: Dict[Hashable, Row], key: Hashable, row: Row, n: int, tag: Optional[int]) -> None:
    known = rows.get(key, dataclasses.replace(row, tag=tag, divided=0))
    rows[key] = dataclasses.replace(known, samples=known.samples + n, divided=known.divided + row.divided)


def _sorted(rows: Dict[Hashable, Row]) -> Tuple[Row, ...]:
    return tuple(sorted(rows.values(), key=lambda r: (-r.samples, r.name, r.address or 0)))


def without_clone_suffix(name: str) -> str:
    """`parse` for `parse.constprop.1.isra.0`; other dots stay."""
    return _CLONE.sub("", name)


def _by_function(functions: FunctionMap, lines: Lines, merge_clones: bool) -> _Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        source = lines.definition(function.address) if function.symbol else None
        if merge_clones:
            name = without_clone_suffix(function.name)
            file = source[0] if source else functions.file_of(function, name)
            return (name, function.image, file), Row(name, 0, function, source=source)
        return (function.name, function.address, function.image), Row(
            function.name, 0, function, source=source
        )

    return place


def _by_line(functions: FunctionMap, lines: Lines, merge_clones: bool) -> _Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        source = lines.line(address)
        if source is None:
            return _by_function(functions, lines, merge_clones)(address, function)
        name = without_clone_suffix(function.name) if merge_clones else function.name
        return (source, name, function.image), Row(name, 0, function, source=source)

    return place


def _by_address(functions: FunctionMap, lines: Lines, merge_clones: bool) -> _Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        name = function.name
        if function.symbol and address != function.address:
            name += "+%d" % (address - function.address)
        if functions.in_literal_pool(address):
            name += " (literal pool)"
        return address, Row(name, 0, function, address, lines.line(address))

    return place


def _by_file(functions: FunctionMap, lines: Lines, merge_clones: bool) -> _Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        source = lines.line(address)
        name = source[0] if source else function.source or "(no source)"
        return name, Row(name, 0)

    return place


def _by_inline(functions: FunctionMap, lines: Lines, merge_clones: bool) -> _Place:
    def place(address: int, function: Function) -> Tuple[Hashable, Row]:
        chain = tuple(lines.inlined(address))
        if len(chain) < 2:
            return _by_function(functions, lines, merge_clones)(address, function)
        name = chain[0] + " (in %s)" % ", in ".join(chain[1:])
        return (chain, function.address), Row(name, 0, function, source=lines.line(address))

    return place


_PLACES = {
    "function": _by_function,
    "line": _by_line,
    "address": _by_address,
    "file": _by_file,
    "task": _by_function,
    "inline": _by_inline,
}
