"""A unit's registers by name: whole reads, planned writes, each read back.

Nothing is written that rests on an unverified row unless it is forced, and every plan can say what it
rests on.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

from gdb_prof.counters.description import DOCUMENTED, UNKNOWN, UNVERIFIED, YOURS, Description, Fact, Field
from gdb_prof.errors import TargetError, UsageError
from gdb_prof.printable import printable

_SURE = (DOCUMENTED, YOURS)
_LONGEST_GAP = 16
"""In words: reading so many that are no register costs less than another request."""


class Memory(Protocol):
    """How words of a target's memory are reached, in its byte order."""

    def read(self, address: int, number: int, what: str) -> Tuple[int, ...]:
        """Raises TargetError naming `what`."""

    def write(self, address: int, value: int, what: str) -> None:
        """Raises TargetError naming `what`."""


@dataclasses.dataclass(frozen=True)
class Write:
    """`value` into the whole register. `held`: the bits that must read back; `fields`: those set by name,
    with what is in them, for a listing. `facts`: the rows that it rests on."""

    register: str
    value: int
    held: int = 0xFFFFFFFF
    fields: Tuple[Tuple[Field, int], ...] = ()
    facts: Tuple[Fact, ...] = ()


Setting = Union[int, str]
"""A field's number, or its meaning."""


class Unit:
    """`base` is None where nobody knows it: then nothing is read or written, but plans can be made."""

    def __init__(
        self, description: Description, memory: Memory, base: Optional[int], base_fact: Optional[Fact] = None
    ) -> None:
        self.description = description
        self.memory = memory
        self.base = base
        self._base_fact = base_fact

    def address(self, register: str) -> int:
        if self.base is None:
            raise UsageError("the address of the %s is not known" % self.description.name)
        return self.base + self.description.register(register).offset

    def read(self, register: str) -> int:
        """Raises UsageError for an unknown or write-only register, TargetError."""
        if self.description.register(register).write_only:
            raise UsageError("%s is only written" % register)
        return self.memory.read(self.address(register), 1, register)[0]

    def read_all(self, registers: Optional[Sequence[str]] = None) -> Dict[str, int]:
        """Of these, or of all that can be read, in as few requests as their places allow."""
        wanted = [self.description.register(name) for name in registers or self.description.registers]
        wanted = sorted((r for r in wanted if not r.write_only), key=lambda r: r.offset)
        values: Dict[str, int] = {}
        at = 0
        while at < len(wanted):
            end = at + 1
            while end < len(wanted) and self._together(wanted[end - 1].offset, wanted[end].offset):
                end += 1
            first, last = wanted[at], wanted[end - 1]
            number = (last.offset - first.offset) // 4 + 1
            words = self.memory.read(self.address(first.name), number, first.name)
            values.update({r.name: words[(r.offset - first.offset) // 4] for r in wanted[at:end]})
            at = end
        return values

    def _together(self, before: int, after: int) -> bool:
        """Whether what lies between may be read, too: nothing that is only written."""
        between = range(before + 4, after, 4)
        guarded = {r.offset for r in self.description.registers.values() if r.write_only}
        return len(between) <= _LONGEST_GAP and not guarded.intersection(between)

    # -- plans -----------------------------------------------------------------------

    def raw(self, register: str, value: int) -> Write:
        return Write(register, value, facts=self._place(register))

    def setting(
        self, register: str, fields: Mapping[str, Setting], before: int = 0, held: Optional[int] = None
    ) -> Write:
        """`before` with these fields changed. Raises UsageError for a field or code of unknown place or
        value, and for one that does not fit."""
        value = before
        facts: List[Fact] = list(self._place(register))
        named: List[Tuple[Field, int]] = []
        for name, setting in fields.items():
            field, number, code_fact = self.resolved(register, name, setting)
            if field.lsb is None or field.width is None:
                raise UsageError(
                    "where %s lies in %s is not known: complete the description, or write the register whole"
                    % (name, register)
                )
            if number >> field.width:
                raise UsageError("%s has %d bits: 0x%x does not fit" % (name, field.width, number))
            value = value & ~field.mask | number << field.lsb
            named.append((field, number))
            facts += [field.fact, *([code_fact] if code_fact else [])]
        return Write(register, value, 0xFFFFFFFF if held is None else held, tuple(named), tuple(facts))

    def resolved(self, register: str, name: str, setting: Setting) -> Tuple[Field, int, Optional[Fact]]:
        """A field, the number to be in it, and the row that says so; the field's place may be unknown.
        Raises UsageError for a field that is none, and a code whose number is unknown."""
        field = self.description.field(register, name)
        if field is None:
            fields = ", ".join(f.name for f in self.description.fields(register)) or "none that is known"
            raise UsageError("%s has no field %s: it has %s" % (register, printable(name), fields))
        if isinstance(setting, int):
            return field, setting, None
        code = self.description.code(name, setting)
        if code.value is None:
            raise UsageError("the code of %s in %s is not known: give its number" % (setting, name))
        return field, code.value, code.fact

    def _place(self, register: str) -> Tuple[Fact, ...]:
        """What a register's address rests on."""
        return (
            *([self._base_fact] if self._base_fact else []),
            self.description.register(register).fact,
        )

    def perform(self, writes: Sequence[Write], force: bool) -> None:
        """In order, each read back. Raises UsageError where one rests on an unverified row and `force` is
        not given: nothing is written then; TargetError where one does not take."""
        demand_verified(writes, force)
        for write in writes:
            address = self.address(write.register)
            self.memory.write(address, write.value, write.register)
            if self.description.register(write.register).write_only:
                continue
            there = self.read(write.register)
            if (there ^ write.value) & write.held:
                raise TargetError(
                    "%s at 0x%08x did not take 0x%08x: it reads 0x%08x"
                    % (write.register, address, write.value, there)
                )


def demand_verified(writes: Sequence[Write], force: bool) -> None:
    doubtful = unverified(writes)
    if doubtful and not force:
        raise UsageError(
            "nothing is written: %s: -force writes it all the same" % "; ".join(rests_on(doubtful))
        )


def unverified(writes: Sequence[Write]) -> Tuple[Fact, ...]:
    """The rows of these writes that nobody has confirmed, each once."""
    facts = dict.fromkeys(fact for write in writes for fact in write.facts)
    return tuple(fact for fact in facts if fact.status in (UNVERIFIED, UNKNOWN))


def rests_on(facts: Sequence[Fact]) -> List[str]:
    """By status and source: `unverified (damaged pseudo-code): DP_TC.EN, DP_TC.TMODE`. What is in a manual is
    not listed row by row."""
    groups: Dict[Tuple[str, str], List[str]] = {}
    for fact in dict.fromkeys(facts):
        groups.setdefault((fact.status, fact.source), []).append(fact.name)
    return [
        "%s (%s)" % (status, source) + ("" if status in _SURE else ": " + ", ".join(names))
        for (status, source), names in groups.items()
    ]
