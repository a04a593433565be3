"""The names of a profile's addresses, kept with it, so that it outlives its ELF."""

from __future__ import annotations

import bisect
import dataclasses
import functools
from typing import FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_prof.profile.call_stacks import TRUNCATED
from gdb_prof.profile.checks import sleeping
from gdb_prof.profile.program.code import Build, Instruction
from gdb_prof.profile.program.functions import Function, FunctionMap
from gdb_prof.profile.samples import Profile

Source = Optional[Tuple[str, int]]


class Label(NamedTuple):
    """What a program says of one address. `asleep`: the core sleeps there."""

    function: Function
    definition: Source
    line: Source
    inlined: Tuple[str, ...] = ()
    in_literal_pool: bool = False
    asleep: bool = False


class Stretch(NamedTuple):
    """So many halfwords from `start` on have this label."""

    start: int
    halfwords: int
    label: Label


@dataclasses.dataclass(frozen=True)
class Names:
    """The labels of a profile's addresses, and the build that they were read from.

    `stretches` in ascending order. `known`: functions that are inlined somewhere, and have a
    body of their own, too.
    """

    build_id: str
    program: str
    stretches: Tuple[Stretch, ...]
    known: FrozenSet[str] = frozenset()

    @functools.cached_property
    def _starts(self) -> List[int]:
        return [stretch.start for stretch in self.stretches]

    def label(self, address: int) -> Optional[Label]:
        """None for an address that is not in the profile."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        start, halfwords, label = self.stretches[at]
        return label if address < start + 2 * halfwords and (address - start) % 2 == 0 else None

    def build(self) -> Build:
        """The program as far as the names tell it."""
        asleep = {
            stretch.start + 2 * at
            for stretch in self.stretches
            if stretch.label.asleep
            for at in range(stretch.halfwords)
        }
        return Build(_Functions(self), _Lines(self), _Code(), frozenset(asleep))


class _Functions(FunctionMap):
    """The functions that the profile has addresses in."""

    def __init__(self, names: Names) -> None:
        super().__init__(())
        self._saved = names
        functions = {s.label.function for s in names.stretches if s.label.function.symbol}
        self._bodies = sorted(functions, key=lambda f: f.address)
        self._starts = [f.address for f in self._bodies]
        self._known = {(f.image, f.name, f.source) for f in functions}
        self._names = {f.name for f in functions} | names.known

    @functools.lru_cache(maxsize=None)  # noqa: B019 (a map lives as long as its names)
    def at(self, address: int) -> Optional[Function]:
        """For an address that was not sampled the function whose body holds it, where that was."""
        label = self._saved.label(address)
        if label is not None:
            return label.function
        at = bisect.bisect_right(self._starts, address) - 1
        return self._bodies[at] if at >= 0 and address < self._bodies[at].end else None

    def in_literal_pool(self, address: int) -> bool:
        label = self._saved.label(address)
        return label is not None and label.in_literal_pool


class _Lines:
    """See places.Lines."""

    def __init__(self, names: Names) -> None:
        self._saved = names
        self._definitions = {s.label.function.address: s.label.definition for s in names.stretches}

    def line(self, address: int) -> Source:
        label = self._saved.label(address)
        return label.line if label else None

    def definition(self, address: int) -> Source:
        return self._definitions.get(address)

    def inlined(self, address: int) -> Sequence[str]:
        label = self._saved.label(address)
        return label.inlined if label else ()


class _Code:
    """See code.Code: instructions are not saved."""

    def function(self, address: int) -> Sequence[Instruction]:
        return ()

    def waits(self, address: int) -> bool:
        return False

    def callers(self, address: int) -> Sequence[int]:
        return ()


# -- from a program --------------------------------------------------------------------


def collected(profile: Profile, build: Build, build_id: str, program: str) -> Names:
    """What `build`, whose name is `program`, says of the profile's addresses."""
    asleep = sleeping(profile, build)
    functions, lines = build.functions, build.lines
    stretches: List[Stretch] = []
    known: Set[str] = set()
    for address in sorted(_addresses(profile)):
        function = functions.at(address)
        if function is None:
            continue
        inlined = tuple(lines.inlined(address))
        known.update(name for name in inlined[:-1] if name not in known and functions.knows(name))
        label = Label(
            function,
            lines.definition(function.address),
            lines.line(address),
            inlined,
            functions.in_literal_pool(address),
            address in asleep,
        )
        last = stretches[-1] if stretches else None
        if last is not None and last.label == label and address == last.start + 2 * last.halfwords:
            stretches[-1] = last._replace(halfwords=last.halfwords + 1)
        else:
            stretches.append(Stretch(address, 1, label))
    return Names(build_id, program, tuple(stretches), frozenset(known))


def _addresses(profile: Profile) -> Set[int]:
    """Those that a report may ask for: samples, call stacks, return addresses, handlers."""
    found = set(profile.pcs)
    found.update(address for stack in profile.stack_table for address in stack if address != TRUNCATED)
    found.update(lr & ~1 for lr in profile.lrs or ())
    found.update(profile.circumstances.vectors.values())
    found.update(handler.address for handler in profile.circumstances.hidden or ())
    histogram = profile.histogram
    if histogram is not None:
        for index, n in enumerate(histogram.counts):
            if n:
                start = histogram.base + (index << histogram.shift)
                found.update(range(start, start + (1 << histogram.shift), 2))
    return {address for address in found if address <= 0xFFFFFFFF}
