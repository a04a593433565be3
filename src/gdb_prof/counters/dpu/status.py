"""Every register of the unit, decoded as far as it is known, with what that rests on."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.description import (
    ARTICLE,
    DOCUMENTED,
    UNKNOWN,
    UNVERIFIED,
    YOURS,
    Description,
    Fact,
    Register,
)
from gdb_prof.counters.dpu.reading import meaning
from gdb_prof.wording import NARROWEST, wrapped

_STRENGTH = (DOCUMENTED, YOURS, ARTICLE, UNVERIFIED, UNKNOWN)
"""From what is surest."""


@dataclasses.dataclass(frozen=True)
class Row:
    """`value`: None of a register that is only written. `fields`: `CE=cycles`, and `rest=0x…` for bits that
    are set and nobody explained. `facts`: what that rests on."""

    register: str
    value: Optional[int]
    fields: Tuple[str, ...]
    facts: Tuple[Fact, ...]

    @property
    def known(self) -> str:
        """The weakest status of its facts."""
        return weakest(self.facts)


def weakest(facts: Iterable[Fact]) -> str:
    return max((fact.status for fact in facts), key=_STRENGTH.index)


def rows(description: Description, values: Mapping[str, int]) -> List[Row]:
    """One a register, in the order of their offsets."""
    return [_row(description, register, values.get(name)) for name, register in description.registers.items()]


def _row(description: Description, register: Register, value: Optional[int]) -> Row:
    facts, said = [register.fact], []
    if value is None:
        return Row(register.name, None, ("only written",), tuple(facts))
    rest = value
    placed = [field for field in description.fields(register.name) if field.lsb is not None]
    for field in placed:
        number = field.of(value)
        rest &= ~field.mask
        said.append("%s=%s" % (field.name, meaning(description, field.name, number)))
        facts.append(field.fact)
        facts += [code.fact for code in description.codes(field.name) if code.value == number]
    if rest and placed:
        said.append("rest=0x%x" % rest)
    return Row(register.name, value, tuple(said), tuple(facts))


def unplaced(description: Description) -> List[str]:
    """`CENM, CE in DP_CA0C, DP_CA1C`: fields whose position nobody knows."""
    registers: Dict[Tuple[str, ...], List[str]] = {}
    for name in description.registers:
        fields = tuple(field.name for field in description.fields(name) if field.lsb is None)
        if fields:
            registers.setdefault(fields, []).append(name)
    return ["%s in %s" % (", ".join(fields), ", ".join(names)) for fields, names in registers.items()]


def text(description: Description, values: Mapping[str, int], width: int) -> str:
    """A line a register, fields that have no room below; then the sources. Ends with a newline."""
    found = rows(description, values)
    width = max(width, NARROWEST)
    name = max(len(row.register) for row in found)
    known = max(len(row.known) for row in found)
    form = "%%-%ds  %%-10s  %%-%ds  " % (name, known)
    lines = [(form % ("", "value", "known") + "fields").rstrip()]
    for row in found:
        value = "" if row.value is None else "0x%08x" % row.value
        lines += _filled(form % (row.register, value, row.known), row.fields, width)
    lines.append("")
    unknown = unplaced(description)
    if unknown:
        lines += wrapped("where they lie is not known: %s" % "; ".join(unknown), width)
    lines += legend([fact for row in found for fact in row.facts], width)
    return "\n".join(lines) + "\n"


def _filled(first: str, words: Sequence[str], width: int) -> List[str]:
    later = " " * len(first)
    # fields are not cut: a long one stands beyond the edge rather than in two lines
    lines = textwrap.wrap(
        " ".join(words),
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]


def legend(facts: Iterable[Fact], width: int) -> List[str]:
    """Each status that occurs with its sources: `article: one on the MSC8251's DPU`."""
    sources: Dict[str, List[str]] = {}
    for fact in dict.fromkeys(facts):
        found = sources.setdefault(fact.status, [])
        if fact.source and fact.source not in found:
            found.append(fact.source)
    lines: List[str] = []
    for status in sorted(sources, key=_STRENGTH.index):
        said = "; ".join(sources[status])
        lines += wrapped("%s%s" % (status, ": " + said if said else ""), width)
    return lines
