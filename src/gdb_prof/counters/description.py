"""What is known of a unit's registers, as data: rows of CSV, each with where it comes from.

A row is `kind,name,value,status,source,note`; lines that begin with # are comments. Kinds:

- `register`: value is the offset from the unit's base. A second word `w` says that it is only written.
- `field`: name is REGISTER.FIELD, value `msb:lsb` or one bit. Where the position is unknown, `?`, or
  `?:N` for a width of N bits.
- `code`: name is FIELD.MEANING, value the field's number; `?` where it is unknown.
- anything else is a fact under its name, such as `unit,base` or `record,task`.

REGISTER may be a pattern of shell wildcards: `DP_C[AB][012]C`. Of several fitting rows the last counts, so
that a user's own file, which is read after ours, overrides and completes.
"""

from __future__ import annotations

import csv
import dataclasses
import fnmatch
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from gdb_prof.errors import FileError, UsageError
from gdb_prof.printable import printable

DOCUMENTED, ARTICLE, UNVERIFIED, UNKNOWN, YOURS = "documented", "article", "unverified", "unknown", "yours"
STATUSES = (DOCUMENTED, ARTICLE, UNVERIFIED, UNKNOWN, YOURS)
_DEVICES = Path(__file__).parent / "devices"
_COLUMNS = ("kind", "name", "value", "status", "source", "note")


@dataclasses.dataclass(frozen=True)
class Fact:
    """One row. `status`: one of STATUSES; `source`: the document, with its place."""

    kind: str
    name: str
    value: str
    status: str
    source: str = ""
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Register:
    name: str
    offset: int
    write_only: bool
    fact: Fact


@dataclasses.dataclass(frozen=True)
class Field:
    """`lsb` is None where the position is unknown, `width` where that is, too."""

    register: str
    name: str
    lsb: Optional[int]
    width: Optional[int]
    fact: Fact

    @property
    def mask(self) -> int:
        """Its bits in the register. Only of a known position."""
        assert self.lsb is not None and self.width is not None
        return (1 << self.width) - 1 << self.lsb

    def of(self, word: int) -> int:
        """Its value in a register's. Only of a known position."""
        assert self.lsb is not None
        return (word & self.mask) >> self.lsb

    @property
    def bits(self) -> str:
        """`31`, `4:1`, or `?`."""
        if self.lsb is None or self.width is None:
            return "?"
        return str(self.lsb) if self.width == 1 else "%d:%d" % (self.lsb + self.width - 1, self.lsb)


@dataclasses.dataclass(frozen=True)
class Code:
    """What a number in a field means. `value` is None where it is unknown."""

    field: str
    meaning: str
    value: Optional[int]
    fact: Fact


class Description:
    """All rows of a unit, in order; `registers` by name, in the order of the offsets."""

    def __init__(self, name: str, facts: Tuple[Fact, ...]) -> None:
        self.name = name
        self.facts = facts
        latest = {(fact.kind, fact.name): fact for fact in facts}
        registers = [_register(fact) for (kind, _), fact in latest.items() if kind == "register"]
        self.registers: Dict[str, Register] = {
            r.name: r for r in sorted(registers, key=lambda r: (r.offset, r.name))
        }
        self._fields = [fact for fact in facts if fact.kind == "field"]
        self._codes = [_code(fact) for (kind, _), fact in latest.items() if kind == "code"]
        self._facts = latest

    def register(self, name: str) -> Register:
        """Raises UsageError naming those there are."""
        found = self.registers.get(name)
        if found is None:
            raise UsageError(
                "%s has no register %s: it has %s" % (self.name, printable(name), ", ".join(self.registers))
            )
        return found

    def fields(self, register: str) -> Tuple[Field, ...]:
        """Its fields, from the highest bit down; those of unknown position last."""
        found: Dict[str, Field] = {}
        for fact in self._fields:
            pattern, _, name = fact.name.rpartition(".")
            if fnmatch.fnmatchcase(register, pattern):
                found[name] = _field(register, name, fact)
        return tuple(sorted(found.values(), key=lambda f: -1 if f.lsb is None else f.lsb, reverse=True))

    def field(self, register: str, name: str) -> Optional[Field]:
        return next((field for field in self.fields(register) if field.name == name), None)

    def codes(self, field: str) -> Tuple[Code, ...]:
        return tuple(code for code in self._codes if code.field == field)

    def code(self, field: str, meaning: str) -> Code:
        """Raises UsageError naming those there are."""
        codes = self.codes(field)
        for code in codes:
            if code.meaning == meaning:
                return code
        raise UsageError(
            "%s has no %s: %s"
            % (field, printable(meaning), ", ".join(c.meaning for c in codes) or "none known")
        )

    def meaning(self, field: str, value: int) -> Optional[Code]:
        return next((code for code in self.codes(field) if code.value == value), None)

    def fact(self, kind: str, name: str) -> Optional[Fact]:
        return self._facts.get((kind, name))

    def completed(self, rows: str, origin: str) -> "Description":
        """With a user's rows on top, whose status is YOURS where they give none. Raises FileError."""
        return Description(self.name, self.facts + parse(rows, origin, YOURS))


def packaged(name: str, title: str) -> Description:
    """The description that comes with the package."""
    path = _DEVICES / (name + ".csv")
    return Description(title, parse(path.read_text(encoding="utf-8"), path.name, ""))


def parse(rows: str, origin: str, status: str) -> Tuple[Fact, ...]:
    """`status`: of rows that have none. Raises FileError naming the line of `origin`."""
    facts: List[Fact] = []
    for number, line in enumerate(rows.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if tuple(cells) == _COLUMNS:
            continue
        place = "%s:%d" % (origin, number)
        if not 3 <= len(cells) <= len(_COLUMNS):
            raise FileError("%s: expected %s, found %d cells" % (place, ",".join(_COLUMNS), len(cells)))
        cells += [""] * (len(_COLUMNS) - len(cells))
        fact = Fact(*cells)
        fact = dataclasses.replace(fact, status=fact.status or status, source=fact.source or origin)
        if fact.status not in STATUSES:
            raise FileError(
                "%s: the status is %s, expected one of %s"
                % (place, printable(fact.status) or "missing", ", ".join(STATUSES))
            )
        try:
            _check(fact)
        except ValueError as error:
            raise FileError("%s: %s" % (place, error)) from None
        facts.append(fact)
    return tuple(facts)


def _check(fact: Fact) -> None:
    """Raises ValueError for what the constructors below would."""
    if fact.kind == "register":
        _register(fact)
    elif fact.kind == "field":
        register, _, name = fact.name.rpartition(".")
        if not register or not name:
            raise ValueError("a field's name is REGISTER.FIELD, found %s" % printable(fact.name))
        _field(register, name, fact)
    elif fact.kind == "code":
        if "." not in fact.name:
            raise ValueError("a code's name is FIELD.MEANING, found %s" % printable(fact.name))
        _code(fact)


def _number(text: str, what: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError("%s is %s, expected a number" % (what, printable(text) or "missing")) from None


def _register(fact: Fact) -> Register:
    words = fact.value.split()
    offset = _number(words[0] if words else "", "the offset")
    if offset < 0 or offset % 4 or words[1:] not in ([], ["w"]):
        raise ValueError("an offset is a multiple of 4, perhaps with w, found %s" % printable(fact.value))
    return Register(fact.name, offset, words[1:] == ["w"], fact)


def _field(register: str, name: str, fact: Fact) -> Field:
    high, _, low = fact.value.partition(":")
    if high == "?":
        return Field(register, name, None, _number(low, "the width") if low else None, fact)
    msb = _number(high, "the bit")
    lsb = _number(low, "the lowest bit") if low else msb
    if not 0 <= lsb <= msb <= 31:
        raise ValueError("bits are msb:lsb within 31:0, found %s" % printable(fact.value))
    return Field(register, name, lsb, msb - lsb + 1, fact)


def _code(fact: Fact) -> Code:
    field, _, meaning = fact.name.partition(".")
    value = None if fact.value == "?" else _number(fact.value, "the code")
    return Code(field, meaning, value, fact)
