"""What is known of a unit's registers, as data: rows of CSV, each with where it comes from.

A row is `kind,name,value,status,source,note`; lines that begin with # are comments. Kinds:

- `register`: value is the offset from the unit's base. A second word `w` says that it is only written.
- `field`: name is REGISTER.FIELD, value `msb:lsb` or one bit. Where the position is unknown, `?`, or
  `?:N` for a width of N bits.
- `code`: name is FIELD.MEANING, value the field's number; `?` where it is unknown.
- `unit`, `part`, `rule`, `record` are facts under their names, such as `unit,base`; a user's are ours.

REGISTER may be a pattern of shell wildcards: `DP_C[AB][012]C`. Of several fitting rows the last counts, so
that a user's own file, which is read after ours, overrides and completes.
"""

from __future__ import annotations

import csv
import dataclasses
import fnmatch
import functools
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from gdb_prof.errors import FileError, UsageError
from gdb_prof.printable import printable

DOCUMENTED, ARTICLE, UNVERIFIED, UNKNOWN, YOURS = "documented", "article", "unverified", "unknown", "yours"
STATUSES = (DOCUMENTED, ARTICLE, UNVERIFIED, UNKNOWN, YOURS)
_KINDS = ("unit", "part", "register", "field", "code", "rule", "record")
_NAMED = ("register", "field", "code")
"""Kinds of which a user may name new ones."""
_ALIGNMENT = "vtb_alignment_"
"""Before the length of the bursts."""
_WORDS = {
    ("unit", "byte_order"): ("little", "big"),
    ("record", "task_id"): ("incoming", "outgoing"),
    ("rule", "vtb_end"): ("inclusive", "exclusive"),
}
"""Facts whose value is one of a few."""
_FIELDS = (("record", "wrap_flag"), ("rule", "sample_bit"))
"""Facts whose value is REGISTER.FIELD."""
_DEVICES = Path(__file__).parent / "devices"
_COLUMNS = ("kind", "name", "value", "status", "source", "note")


@dataclasses.dataclass(frozen=True)
class Fact:
    """One row. `status`: one of STATUSES; `source`: the document, with its place. `place`: FILE:LINE."""

    kind: str
    name: str
    value: str
    status: str
    source: str = ""
    note: str = ""
    place: str = dataclasses.field(default="", compare=False)


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

    @property
    def size(self) -> int:
        """Bytes from the base to behind the last register."""
        return max((register.offset + 4 for register in self.registers.values()), default=0)

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

    def placed(self, register: str, name: str) -> Optional[Field]:
        """The field where its position is known, else None."""
        found = self.field(register, name)
        return None if found is None or found.lsb is None else found

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

    def fact(self, kind: str, name: str) -> Optional[Fact]:
        return self._facts.get((kind, name))

    def completed(self, rows: str, origin: str) -> "Description":
        """With a user's rows on top, whose status is YOURS where they give none. Raises FileError."""
        return _whole(self.name, self.facts, parse(rows, origin, YOURS))

    # -- what a row means only beside the others -------------------------------------

    def check(self, fact: Fact) -> None:
        """Raises ValueError for a row that names what is not there, or a number that does not fit."""
        if fact.kind == "field":
            pattern, _, name = fact.name.rpartition(".")
            if not fnmatch.filter(self.registers, pattern):
                raise ValueError("%s fits no register of the %s" % (pattern, self.name))
            for code in self.codes(name):
                self._fits(code)
        elif fact.kind == "code":
            self._fits(_code(fact))
        elif (fact.kind, fact.name) in _FIELDS and fact.value != "?":
            register, _, name = fact.value.partition(".")
            if register not in self.registers or self.field(register, name) is None:
                raise ValueError("%s,%s is REGISTER.FIELD, found %s" % (fact.kind, fact.name, fact.value))

    def demand_name(self, fact: Fact) -> None:
        """Raises ValueError for a fact under a name that nobody asks for."""
        kind, name = fact.kind, fact.name
        known = ", ".join(there for of, there in self._facts if of == kind) or "none"
        if kind not in _NAMED and (kind, name) not in self._facts and not name.startswith(_ALIGNMENT):
            raise ValueError("%s,%s is unknown: there is %s" % (kind, name, known))

    @functools.cached_property
    def _widths(self) -> Dict[str, int]:
        """By field, the bits that it has in every register; 32 where nobody knows."""
        found: Dict[str, int] = {}
        for register in self.registers:
            for field in self.fields(register):
                found[field.name] = min(found.get(field.name, 32), field.width or 32)
        return found

    def _fits(self, code: Code) -> None:
        width = self._widths.get(code.field)
        if width is None:
            raise ValueError("no field is called %s" % code.field)
        if code.value is not None and code.value >> width:
            raise ValueError(
                "%s has %d bits: %s = 0x%x does not fit" % (code.field, width, code.meaning, code.value)
            )


def packaged(name: str, title: str) -> Description:
    """The description that comes with the package."""
    path = _DEVICES / (name + ".csv")
    return _whole(title, (), parse(path.read_text(encoding="utf-8"), path.name, ""))


def _whole(name: str, before: Tuple[Fact, ...], rows: Tuple[Fact, ...]) -> Description:
    """`rows` are checked. Raises FileError."""
    found, ours = Description(name, before + rows), Description(name, before or rows)
    for fact in rows:
        try:
            ours.demand_name(fact)
            found.check(fact)
        except ValueError as error:
            raise FileError("%s: %s" % (fact.place, error)) from None
    return found


def parse(rows: str, origin: str, status: str) -> Tuple[Fact, ...]:
    """`status`: of rows that have none. What a row says is safe for a terminal. Raises FileError naming the
    line of `origin`."""
    facts: List[Fact] = []
    for number, line in enumerate(rows.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        place = "%s:%d" % (origin, number)
        try:
            cells = [printable(cell.strip(), len(cell)) for cell in next(csv.reader([line]))]
            if tuple(cells) == _COLUMNS:
                continue
            facts.append(_fact(cells, origin, place, status))
        except (csv.Error, ValueError) as error:
            raise FileError("%s: %s" % (place, error)) from None
    return tuple(facts)


def _fact(cells: List[str], origin: str, place: str, status: str) -> Fact:
    """Raises ValueError."""
    if not 3 <= len(cells) <= len(_COLUMNS):
        raise ValueError("expected %s, found %d cells" % (",".join(_COLUMNS), len(cells)))
    cells = cells + [""] * (len(_COLUMNS) - len(cells))
    kind, name, value, given, source, note = cells
    fact = Fact(kind, name, value, given or status, source or origin, note, place)
    if kind not in _KINDS:
        raise ValueError("the kind is %s, expected one of %s" % (kind or "missing", ", ".join(_KINDS)))
    if fact.status not in STATUSES:
        raise ValueError(
            "the status is %s, expected one of %s" % (fact.status or "missing", ", ".join(STATUSES))
        )
    _check(fact)
    return fact


def _check(fact: Fact) -> None:
    """Raises ValueError for what the constructors below would, and for a fact that has no such value."""
    words = _WORDS.get((fact.kind, fact.name), ())
    if words and fact.value not in (*words, "?"):
        raise ValueError("%s,%s is %s, found %s" % (fact.kind, fact.name, " or ".join(words), fact.value))
    if (fact.kind, fact.name) == ("unit", "base") and fact.value != "?":
        address(fact.value)
    elif (fact.kind, fact.name) == ("rule", "vtb_range") and fact.value != "?":
        _numbers(fact, 2)
    elif fact.kind == "rule" and fact.name.startswith(_ALIGNMENT) and fact.value != "?":
        _numbers(fact, 1)
    elif fact.kind == "register":
        _register(fact)
    elif fact.kind == "field":
        register, _, name = fact.name.rpartition(".")
        if not register or not name:
            raise ValueError("a field's name is REGISTER.FIELD, found %s" % fact.name)
        _field(register, name, fact)
    elif fact.kind == "code":
        if "." not in fact.name:
            raise ValueError("a code's name is FIELD.MEANING, found %s" % fact.name)
        _code(fact)


def numbers(fact: Fact, count: int) -> Tuple[int, ...]:
    """Of a rule. Raises FileError where it has not so many."""
    try:
        return _numbers(fact, count)
    except ValueError as error:
        raise FileError("the description's %s" % error) from None


def _numbers(fact: Fact, count: int) -> Tuple[int, ...]:
    """Raises ValueError."""
    try:
        found = tuple(int(word, 0) for word in fact.value.split())
    except ValueError:
        found = ()
    if len(found) != count or min(found) < (1 if count == 1 else 0):
        expected = "a number above 0" if count == 1 else "%d numbers" % count
        raise ValueError(
            "%s,%s is %s, expected %s" % (fact.kind, fact.name, fact.value or "missing", expected)
        )
    return found


def address(text: str) -> int:
    """Of a unit: a multiple of 4 in 32 bits. Raises ValueError."""
    found = _number(text, "the base")
    if found % 4 or not 0 <= found < 1 << 32:
        raise ValueError("a base is a multiple of 4 within 32 bits, found %s" % text)
    return found


def _number(text: str, what: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError("%s is %s, expected a number" % (what, text or "missing")) from None


def _register(fact: Fact) -> Register:
    words = fact.value.split()
    offset = _number(words[0] if words else "", "the offset")
    if offset % 4 or not 0 <= offset < 1 << 32 or words[1:] not in ([], ["w"]):
        raise ValueError("an offset is a multiple of 4 within 32 bits, perhaps with w, found %s" % fact.value)
    return Register(fact.name, offset, words[1:] == ["w"], fact)


def _field(register: str, name: str, fact: Fact) -> Field:
    high, _, low = fact.value.partition(":")
    if high == "?":
        width = _number(low, "the width") if low else None
        if width is not None and not 1 <= width <= 32:
            raise ValueError("a width is 1 to 32 bits, found %s" % low)
        return Field(register, name, None, width, fact)
    msb = _number(high, "the bit")
    lsb = _number(low, "the lowest bit") if low else msb
    if not 0 <= lsb <= msb <= 31:
        raise ValueError("bits are msb:lsb within 31:0, found %s" % fact.value)
    return Field(register, name, lsb, msb - lsb + 1, fact)


def _code(fact: Fact) -> Code:
    field, _, meaning = fact.name.partition(".")
    value = None if fact.value == "?" else _number(fact.value, "the code")
    if value is not None and not 0 <= value < 1 << 32:
        raise ValueError("a code has at most 32 bits, found %s" % fact.value)
    return Code(field, meaning, value, fact)
