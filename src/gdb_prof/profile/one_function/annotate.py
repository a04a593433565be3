"""One function of a profile: its instructions with their samples, and the lines that they are of."""

from __future__ import annotations

import bisect
import collections
import dataclasses
from typing import Counter, Dict, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_prof.profile.checks import examine
from gdb_prof.profile.places import Row
from gdb_prof.profile.program.code import Build, Instruction
from gdb_prof.profile.program.functions import Function
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Selection, Shares, selected, shares

Location = Tuple[str, int]


class Source(Protocol):
    """The program's source, where it is at hand."""

    def text(self, address: int) -> Sequence[str]:
        """The lines of the file that the code at an address is from; empty where there is none."""

    def calls(self, address: int) -> Sequence[Optional[Location]]:
        """Where the functions that are inlined at an address are called, innermost first."""

    def begin(self, address: int) -> Optional[Location]:
        """The line of its name, in the definition of the function at an address."""


class Inlined(NamedTuple):
    """A function whose code the compiler put in place of its call."""

    name: str
    call: Optional[Location]


@dataclasses.dataclass(frozen=True)
class Place:
    """An instruction with its samples; or an address that was sampled though none begins there.

    `inlined`: outermost first. `size`: 0 where no instruction is known.
    """

    address: int
    size: int
    text: str
    samples: int
    line: Optional[Location]
    inlined: Tuple[Inlined, ...] = ()


@dataclasses.dataclass(frozen=True)
class Annotated:
    """A function's places, by address. `definition`: where it is in the source, in the line of its
    first instruction; `begin`: the line of its name, where that is known.

    `bins`: the bytes of a histogram's bin, whose samples are at its first instruction, where it
    holds more than one; else 0.
    """

    row: Row
    function: Function
    places: Tuple[Place, ...]
    definition: Optional[Location]
    begin: Optional[Location]
    bins: int = 0

    @property
    def has_code(self) -> bool:
        return any(place.size for place in self.places)

    @property
    def has_lines(self) -> bool:
        return any(place.line for place in self.places)


def annotated(
    profile: Profile, build: Build, source: Optional[Source], table: Shares, row: Row, selection: Selection
) -> Annotated:
    """The function of a row of a profile's table by function; its places' samples add up to the row's.

    Without `source` the program is not at hand: then it has no instructions.
    """
    function = row.function
    assert function is not None
    counts = _counts(profile, build, table, row, selection)
    read = build.code.function(function.address) if function.symbol and source is not None else ()
    instructions = {instruction.address: instruction for instruction in read}
    own = {a: i for a, i in instructions.items() if build.functions.at(a) == function}
    histogram = profile.histogram
    bins = 1 << histogram.shift if histogram is not None and histogram.shift > 1 else 0
    if bins:
        counts = _at_first_instructions(counts, sorted(own), bins)
    places = [
        Place(
            address,
            own[address].size if address in own else 0,
            own[address].text if address in own else _what_is_at(address, function, instructions, build),
            counts.get(address, 0),
            build.lines.line(address),
            _inlined(address, build, source),
        )
        for address in sorted({*own, *counts})
    ]
    definition = build.lines.definition(function.address) if function.symbol else None
    begin = source.begin(function.address) if source is not None else None
    if begin is None or definition is None or begin[0] != definition[0] or begin > definition:
        begin = definition
    return Annotated(row, function, tuple(places), definition, begin, bins)


def all_counts(profile: Profile, selection: Selection) -> Counter[int]:
    """All samples by address, those of a bin at its begin."""
    histogram = profile.histogram
    if histogram is None:
        return collections.Counter(selected(profile, selection).pcs)
    starts = ((histogram.base + (i << histogram.shift), n) for i, n in enumerate(histogram.counts))
    return collections.Counter({start: n for start, n in starts if n})


def _counts(profile: Profile, build: Build, table: Shares, row: Row, selection: Selection) -> Dict[int, int]:
    """A row's samples by address, or by the begin of the bin."""
    order, histogram = table.order, profile.histogram
    if order is not None:
        number = table.rows.index(row)
        return dict(collections.Counter(pc for pc, of in zip(order.pcs, order.rows) if of == number))
    assert histogram is not None and row.function is not None
    if histogram.shift == 1:
        rows = examine(profile, build, "address", selection, check=False).table.rows
        return {r.address: r.samples for r in rows if r.function == row.function and r.address is not None}
    counts = {}
    for start, n in all_counts(profile, selection).items():
        if row.function.address < start + (1 << histogram.shift) and start < row.function.end:
            # a bin by itself is divided among functions as it is in the whole table
            bin_alone = dataclasses.replace(histogram, base=start, counts=(n,), outside=0, saturated=0)
            for part in shares(Profile(histogram=bin_alone), build.functions, build.lines).rows:
                if part.function == row.function:
                    counts[start] = part.samples
    return counts


def _at_first_instructions(counts: Mapping[int, int], addresses: Sequence[int], size: int) -> Dict[int, int]:
    moved: Counter[int] = collections.Counter()
    for start, n in counts.items():
        at = bisect.bisect_left(addresses, start)
        inside = at < len(addresses) and addresses[at] < start + size
        moved[addresses[at] if inside else start] += n
    return dict(moved)


def _what_is_at(
    address: int, function: Function, instructions: Mapping[int, Instruction], build: Build
) -> str:
    if build.functions.in_literal_pool(address):
        return "(literal pool)"
    return "(no instruction begins here)" if instructions else ""


def _inlined(address: int, build: Build, source: Optional[Source]) -> Tuple[Inlined, ...]:
    names = list(build.lines.inlined(address))[:-1]
    calls = [*(source.calls(address) if source is not None else ()), *(None for _ in names)]
    return tuple(Inlined(name, call) for name, call in zip(names, calls))[::-1]
