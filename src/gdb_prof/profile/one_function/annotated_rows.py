"""Rows of an annotated function: lines with their instructions under them, or instructions alone.

Source lines are in their order, and what is inlined stands under the line that calls it. Instructions of one
line are together, wherever they lie; every instruction is in one place.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_prof.profile.one_function.annotate import Annotated, Inlined, Place, Source
from gdb_prof.wording import base

_MOST_LINES = 5000
"""Lines without code between two with code: with more they are of no one text."""


class Kind(enum.Enum):
    LINE = "line"
    LABEL = "label"
    INSTRUCTION = "instruction"
    FOLDED = "folded"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One row. `line`: the number of a LINE. `near`: it has samples, or is close to what has. `inside`:
    it is of a part that has a label."""

    kind: Kind
    samples: int
    text: str
    line: int = 0
    place: Optional[Place] = None
    near: bool = True
    hottest: bool = False
    inside: bool = False


_Lines = Dict[int, List[Place]]


class _Section(NamedTuple):
    """A part of a function's code: what is inlined, outermost first; the file, None for code without
    a line; whether its lines are before the function's own."""

    inlined: Tuple[Inlined, ...]
    file: Optional[str]
    before: bool = False


def by_line(listing: Annotated, source: Optional[Source], code: bool, context: Optional[int]) -> List[Entry]:
    """`code`: with instructions. `context`: the lines and instructions shown on both sides of one with
    samples; None: all are."""
    around = context or 0
    near = _near(listing.places, around)
    sections = _sections(listing)
    file = own_file(listing)
    own = sections.pop(_Section((), file), {})
    calls = _calls(listing)
    texts = _texts(listing.places, source)
    whole = {*own, *(line for line in calls.values() if line)}
    if listing.begin is not None:
        whole.add(listing.begin[1])
    under: Dict[Optional[int], List[_Section]] = collections.defaultdict(list)
    for section in sections:
        under[calls[section]].append(section)

    def section_rows(section: _Section) -> List[Entry]:
        lines = sections[section]
        text = texts.get(section.file or "", ())
        rows = [row for n in _span(lines, text) for row in _line_rows(n, lines, text, near, around)]
        samples = sum(place.samples for places in lines.values() for place in places)
        label = Entry(Kind.LABEL, samples, _label(section), near=any(row.near for row in rows))
        return [label, *(dataclasses.replace(row, inside=True) for row in rows)]

    entries: List[Entry] = []
    for n in _span(whole, texts.get(file or "", ())):
        line, *code_rows = _line_rows(n, own, texts.get(file or "", ()), near, around)
        inside = [row for section in under.pop(n, []) for row in section_rows(section)]
        called = any(row.near for row in inside)
        entries += [dataclasses.replace(line, near=line.near or called), *code_rows, *inside]
    for rest in under.values():
        entries += [row for section in rest for row in section_rows(section)]
    if entries and whole:
        entries[0] = dataclasses.replace(entries[0], near=True)  # what the function is called
    if not code:
        entries = [entry for entry in entries if entry.kind != Kind.INSTRUCTION]
    return _marked(entries) if context is None else _folded(_marked(entries))


def by_instruction(listing: Annotated, context: Optional[int]) -> List[Entry]:
    """In the order of addresses. `context` as in `by_line`; a bin is not taken apart."""
    near = _near(listing.places, max(context or 0, listing.bins // 2))
    entries = _marked([_instruction(place, near) for place in listing.places])
    return entries if context is None else _folded(entries)


def where(place: Place, file: Optional[str]) -> str:
    """`:31`, or `work.h:16, spin in hot_a` for what is not of the function's own file."""
    name = base(place.line[0]) if place.line and place.line[0] != file else ""
    parts = ["%s:%d" % (name, place.line[1])] if place.line else []
    return ", ".join([*parts, *([_chain(place.inlined)] if place.inlined else [])])


def _chain(inlined: Sequence[Inlined]) -> str:
    return " in ".join(function.name for function in reversed(inlined))


def _label(section: _Section) -> str:
    from_file = base(section.file) if section.file else "no line"
    return (
        "%s, inlined (%s)" % (_chain(section.inlined), from_file) if section.inlined else "(%s)" % from_file
    )


def _near(places: Sequence[Place], context: int) -> Set[int]:
    """The addresses of places that are so close to one with samples."""
    near: Set[int] = set()
    for at, place in enumerate(places):
        if place.samples:
            near.update(other.address for other in places[max(0, at - context) : at + context + 1])
    return near


def _section(place: Place, listing: Annotated) -> _Section:
    if place.line is None:
        return _Section(place.inlined, None)
    begin = listing.begin
    before = begin is not None and not place.inlined and place.line[0] == begin[0] and place.line < begin
    return _Section(place.inlined, place.line[0], before)


def _sections(listing: Annotated) -> Dict[_Section, _Lines]:
    sections: Dict[_Section, _Lines] = {}
    for place in listing.places:
        line = place.line[1] if place.line else 0
        sections.setdefault(_section(place, listing), {}).setdefault(line, []).append(place)
    return sections


def own_file(listing: Annotated) -> Optional[str]:
    """The file that the function is defined in."""
    if listing.definition:
        return listing.definition[0]
    return next((place.line[0] for place in listing.places if place.line and not place.inlined), None)


def _calls(listing: Annotated) -> Dict[_Section, Optional[int]]:
    """The line of the function's own under which each section goes: of the call, else of the
    instruction before; None where there is none."""
    file = own_file(listing)
    known: Dict[_Section, Optional[int]] = {}
    last = listing.begin[1] if listing.begin else None
    for place in listing.places:
        section = _section(place, listing)
        if section == _Section((), file):
            last = place.line[1] if place.line else last
        elif section not in known:
            call = place.inlined[0].call if place.inlined else None
            known[section] = call[1] if call and call[0] == file else last
    return known


def _texts(places: Sequence[Place], source: Optional[Source]) -> Dict[str, Sequence[str]]:
    """Each file's lines."""
    texts: Dict[str, Sequence[str]] = {}
    for place in places:
        if place.line and place.line[0] not in texts:
            texts[place.line[0]] = source.text(place.address) if source is not None else ()
    return texts


def _span(lines: Iterable[int], text: Sequence[str]) -> Iterable[int]:
    """The lines, and what is between them where there is a text."""
    known = sorted(lines)
    if text and known and known[0] and known[-1] - known[0] < _MOST_LINES:
        return range(known[0], known[-1] + 1)
    return known


def _line_rows(n: int, lines: _Lines, text: Sequence[str], near: Set[int], context: int) -> List[Entry]:
    """A line and its instructions; instructions alone where they have no line."""
    places = lines.get(n, [])
    rows = [_instruction(place, near) for place in places]
    if not n:
        return rows
    samples = sum(place.samples for place in places)
    close = any(
        place.samples for m in range(n - context, n + context + 1) for place in lines.get(m, ())
    ) or any(row.near for row in rows)
    return [Entry(Kind.LINE, samples, text[n - 1] if n <= len(text) else "", n, near=close), *rows]


def _instruction(place: Place, near: Set[int]) -> Entry:
    return Entry(Kind.INSTRUCTION, place.samples, place.text, place=place, near=place.address in near)


def _marked(entries: List[Entry]) -> List[Entry]:
    """The line and the instruction with the most samples are the hottest."""
    for kind in (Kind.LINE, Kind.INSTRUCTION):
        best = max((e.samples for e in entries if e.kind == kind), default=0)
        for at, entry in enumerate(entries):
            if best and entry.kind == kind and entry.samples == best:
                entries[at] = dataclasses.replace(entry, hottest=True)
                break
    return entries


def _folded(entries: List[Entry]) -> List[Entry]:
    """Rows far from samples as one; a single one stays."""
    shown: List[Entry] = []
    far: List[Entry] = []
    for entry in [*entries, None]:
        if entry is not None and not entry.near:
            far.append(entry)
            continue
        shown += far if len(far) < 2 else [Entry(Kind.FOLDED, 0, "...")]
        far = []
        if entry is not None:
            shown.append(entry)
    return shown
