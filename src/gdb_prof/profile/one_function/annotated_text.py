"""An annotated function -> text."""

from __future__ import annotations

import dataclasses
import re
from typing import FrozenSet, List, Sequence

from gdb_prof.printable import printable
from gdb_prof.profile.cells import cut, doubt, place, share
from gdb_prof.profile.checks import Verdict
from gdb_prof.profile.one_function.annotate import Annotated
from gdb_prof.profile.one_function.annotated_rows import Entry, Kind, own_file, where
from gdb_prof.profile.report import head
from gdb_prof.profile.samples import Profile
from gdb_prof.wording import NARROWEST, count, plural, wrapped

_NUMBERS = ("share", "± 95 %", "samples")
_SHORTEST_CODE = 24
"""Characters of an instruction that are shown before its line."""
_HEX = re.compile(r"\s*[@;] 0x[0-9a-f]+$")
_TARGET = re.compile(r"0x([0-9a-f]+) (<[^>]*(?:>[^>]*)*>)")


@dataclasses.dataclass(frozen=True)
class Page:
    """`name`: of the function, readable. `notes`: what was left out, and why. `marked`: addresses whose
    samples are another's, which `findings` say."""

    width: int
    name: str
    notes: Sequence[str] = ()
    findings: Sequence[str] = ()
    marked: FrozenSet[int] = frozenset()
    asleep: int = 0


def annotated_text(
    profile: Profile, verdict: Verdict, listing: Annotated, entries: Sequence[Entry], page: Page
) -> str:
    """Ends with a newline."""
    lines = wrapped(head(profile, verdict), page.width)
    lines += wrapped(_sum(verdict, listing, page), page.width)
    lines += _table(verdict, listing, entries, page)
    for remark in (*page.findings, *page.notes, *profile.remarks):
        lines += wrapped(remark, page.width, "! ")
    return "\n".join(lines) + "\n"


def _sum(verdict: Verdict, listing: Annotated, page: Page) -> str:
    """What the rows add up to."""
    row, total = listing.row, verdict.table.total
    effective = verdict.effective_of(verdict.table.rows.index(row))
    text = "%s%s: %s of %s, %s ± %s" % (
        *(page.name, " (%s)" % place(listing.definition) if listing.definition else "", count(row.samples)),
        *(plural(total, "sample"), share(row.samples, total), doubt(row.samples / total, effective)),
    )
    if row.divided:
        text += ", %s of them from bins that it shares" % count(row.divided)
    if page.asleep:
        text += "; %s more asleep in it are not shown" % count(page.asleep)
    return text + "; shares are of all samples"


def _table(verdict: Verdict, listing: Annotated, entries: Sequence[Entry], page: Page) -> List[str]:
    total = verdict.table.total
    effective = verdict.effective_of(verdict.table.rows.index(listing.row))  # as sure as the function's
    samples = max([len(_NUMBERS[2]), *(len(count(e.samples)) for e in entries)])
    room = max(page.width, NARROWEST) - 21 - samples
    by_line = any(e.kind == Kind.LINE for e in entries)
    texts = _lines_and_code(listing, entries, page) if by_line else _code(listing, entries, room, page)
    heads = (*_NUMBERS[:2], samples, _NUMBERS[2], "line" if by_line else "address")
    lines = [" %8s  %6s  %*s  %s" % heads]
    for entry, text in zip(entries, texts):
        numbers = ("", "", "")
        if entry.samples:
            part = entry.samples / total
            numbers = (share(entry.samples, total), doubt(part, effective), count(entry.samples))
        mark = ">" if entry.hottest else " "
        line = "%s%8s  %6s  %*s  %s" % (
            mark,
            *numbers[:2],
            samples,
            numbers[2],
            cut(printable(text, len(text)), room),
        )
        lines.append(line.rstrip())
    return lines


def _lines_and_code(listing: Annotated, entries: Sequence[Entry], page: Page) -> List[str]:
    digits = max([4, *(len(str(e.line)) for e in entries)])
    texts = []
    for entry in entries:
        indent = "  " if entry.inside else ""
        if entry.kind == Kind.LINE:
            texts.append("%s%*d  %s" % (indent, digits, entry.line, entry.text))
        elif entry.kind == Kind.INSTRUCTION:
            texts.append("%s    %s" % (indent, _instruction(entry, listing, page)))
        else:
            texts.append((digits + 2) * " " + entry.text)
    return texts


def _code(listing: Annotated, entries: Sequence[Entry], room: int, page: Page) -> List[str]:
    """Instructions with their lines beside them."""
    file = own_file(listing)
    codes = [_instruction(entry, listing, page) if entry.place else entry.text for entry in entries]
    sides = [where(entry.place, file) if entry.place else "" for entry in entries]
    side = max(map(len, sides), default=0)
    code = max(map(len, codes), default=0)
    side = min(side, room - 2 - min(code, max(_SHORTEST_CODE, room - 2 - side)))
    code = min(code, room - 2 - side)
    return ["%-*s  %s" % (code, cut(c, code), cut(s, side)) for c, s in zip(codes, sides)]


def _instruction(entry: Entry, listing: Annotated, page: Page) -> str:
    """The debugger's text, without what is said already: a constant in hex beside itself in decimal,
    the function's own name in its branches, a callee's address beside its name."""
    assert entry.place is not None
    function = listing.function

    def target(match: "re.Match[str]") -> str:
        inside = function.address <= int(match.group(1), 16) < function.end
        return "0x" + match.group(1) if inside else match.group(2)

    mnemonic, _, operands = entry.text.partition("\t")
    operands = _TARGET.sub(target, _HEX.sub("", operands)).replace("\t", "  ")
    text = "%-6s %s" % (mnemonic, operands) if operands else mnemonic
    mark = "! " if entry.place.address in page.marked else ""
    return "%08x  %s%s" % (entry.place.address, mark, text)
