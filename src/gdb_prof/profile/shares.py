"""Samples -> rows: to whom the time is charged. Every sample is in one row or one class."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Counter, Dict, FrozenSet, Hashable, List, Optional, Sequence, Tuple

from gdb_prof.errors import UsageError
from gdb_prof.profile.call_stacks import STACK_KINDS, Paths, demand_stacks
from gdb_prof.profile.places import PLACES, Lines, Place, Row
from gdb_prof.profile.program.functions import Function, FunctionMap
from gdb_prof.profile.samples import Histogram, Profile
from gdb_prof.profile.source import TIMER

ASLEEP = "asleep"
OUTSIDE = "outside code"
UNREADABLE = "unreadable"
NO_BIN = "outside the bins"
FULL_BIN = "in full bins"

UNREADABLE_PCS = frozenset((0xFFFFFFFF, 0xFFFFFFFE))
"""What a bus or an erased memory answers, and the PC of a core in lockup."""


@dataclasses.dataclass(frozen=True)
class Asleep:
    """What is sleep and not work: these addresses, and the code of these tasks, save `handlers`,
    the functions at these addresses: what interrupts a task is not its own."""

    addresses: FrozenSet[int] = frozenset()
    tags: FrozenSet[int] = frozenset()
    handlers: FrozenSet[int] = frozenset()


@dataclasses.dataclass(frozen=True)
class Order:
    """The samples of a table as they came, oldest first: their addresses, and their rows by
    number, below 0 for a class without a row."""

    pcs: Sequence[int]
    rows: Sequence[int]


@dataclasses.dataclass(frozen=True)
class Shares:
    """The rows, largest first; the classes that are no code; and what was divided.

    By task, stack and calls, the samples of the classes are rows without a function too: they are a
    task's, and of what led to them.
    """

    by: str
    rows: Tuple[Row, ...]
    classes: Dict[str, int]
    total: int
    divided_samples: int = 0
    divided_bins: int = 0
    order: Optional[Order] = None
    """None for a histogram, which has none."""

    @property
    def awake(self) -> int:
        return self.total - self.classes.get(ASLEEP, 0)

    @property
    def in_code(self) -> int:
        return self.total - sum(self.classes.values())


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which samples of a profile count: the first so many, those with one of these tags."""

    first: Optional[int] = None
    tags: Optional[Tuple[int, ...]] = None


def shares(
    profile: Profile,
    functions: FunctionMap,
    lines: Lines,
    by: str = "function",
    selection: Selection = Selection(),
    merge_clones: bool = False,
    asleep: Asleep = Asleep(),
) -> Shares:
    """Charge each sample. `by` is one of places.KINDS or call_stacks.STACK_KINDS.

    Raises UsageError where the profile does not hold what is asked for.
    """
    if profile.histogram and selection.first is not None:
        raise UsageError(_HISTOGRAM)
    if by == "task" or selection.tags:
        _demand_tags(profile)
    paths = None
    if by in STACK_KINDS:
        demand_stacks(profile)
        paths = Paths(profile.stack_table, functions, lines, merge_clones)
    place = PLACES["function" if paths else by](functions, lines, merge_clones)
    if profile.histogram:
        return _of_histogram(profile, functions, place, by, asleep)
    return _of_ring(profile, functions, place, by, selection, asleep, paths)


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
        if profile.source.kind != TIMER:
            raise UsageError("samples by %s carry no task" % profile.timing.timer)
        raise UsageError("the samples carry no task: build with PROF_TAG=pxCurrentTCB")
    return profile.tags


def _of_ring(
    profile: Profile,
    functions: FunctionMap,
    place: Place,
    by: str,
    selection: Selection,
    asleep: Asleep,
    paths: Optional[Paths],
) -> Shares:
    kept = selected(profile, selection)
    plain = kept.tags is None and paths is None  # then a sample is its address: millions may come over SWO
    samples: Sequence[Any] = kept.pcs
    if not plain:
        tags = kept.tags if kept.tags is not None else (None,) * len(kept.pcs)
        samples = list(
            zip(kept.pcs, tags, demand_stacks(kept) if paths is not None else (0,) * len(kept.pcs))
        )
    classes: Counter[str] = collections.Counter()
    rows: Dict[Hashable, Row] = {}
    charged: Dict[Any, Hashable] = {}
    key: Hashable
    for sample, n in collections.Counter(samples).items():
        pc, tag, stack = (sample, None, 0) if plain else sample
        function = functions.at(pc)
        name = profile.marks.get(pc) or _class(pc, tag, function, asleep)
        if name:
            classes[name] += n
            if by != "task" and paths is None:
                continue
        if paths is not None:
            key, row = paths.place(pc, stack, name)
        elif name:
            key, row = name, Row("(%s)" % name, 0)
        else:
            assert function is not None
            key, row = place(pc, function)
        tagged = tag if by == "task" else None
        charged[sample] = (key, tagged)
        _charge(rows, (key, tagged), row, n, tagged)
    ranked = sorted(rows, key=lambda key: _rank(rows[key]))
    number = {key: at for at, key in enumerate(ranked)}
    row_of = {sample: number[key] for sample, key in charged.items()}
    order = Order(kept.pcs, [row_of.get(sample, -1) for sample in samples])
    return Shares(by, tuple(rows[key] for key in ranked), dict(classes), len(samples), order=order)


def _class(pc: int, tag: Optional[int], function: Optional[Function], asleep: Asleep) -> str:
    """Empty for code that runs."""
    if function is None:
        return UNREADABLE if pc in UNREADABLE_PCS else OUTSIDE
    own = tag in asleep.tags and function.address not in asleep.handlers
    return ASLEEP if own or pc in asleep.addresses else ""


_COLUMNS = ("pcs", "tags", "lrs", "stacks")


def selected(profile: Profile, selection: Selection) -> Profile:
    """The samples of a ring that count, as a profile of their own; a histogram as it is."""
    columns = {
        name: None if column is None else column[: selection.first]
        for name, column in ((name, getattr(profile, name)) for name in _COLUMNS)
    }
    tags = columns["tags"]
    if selection.tags and tags is not None:
        kept = [at for at, tag in enumerate(tags) if tag in selection.tags]
        columns = {
            name: None if column is None else [column[at] for at in kept] for name, column in columns.items()
        }
    columns["pcs"] = columns["pcs"] or ()
    return dataclasses.replace(profile, **columns)  # type: ignore[arg-type]  # each is its field's type


def _of_histogram(profile: Profile, functions: FunctionMap, place: Place, by: str, asleep: Asleep) -> Shares:
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
        if asleep.addresses.issuperset(addresses):
            classes[ASLEEP] += n
            continue
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
    ranked = tuple(sorted(rows.values(), key=_rank))
    return Shares(by, ranked, present, profile.kept, divided_samples, divided_bins)


def _within(
    addresses: Sequence[int], functions: FunctionMap, place: Place
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


def _rank(row: Row) -> Tuple[int, str, int]:
    """Largest first."""
    return -row.samples, row.name, row.address or 0
