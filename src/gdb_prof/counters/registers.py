"""A unit's registers by name: whole reads, planned writes, each read back.

Nothing is written that rests on an unverified row unless it is forced, and every plan can say what it
rests on.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, Iterable, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

from gdb_prof.counters.description import DOCUMENTED, UNKNOWN, UNVERIFIED, YOURS, Description, Fact, Field
from gdb_prof.errors import GdbProfError, TargetError, UsageError
from gdb_prof.printable import printable
from gdb_prof.wording import some

_SURE = (DOCUMENTED, YOURS)
_MOST_NAMES = 4
"""That a refusal lists; an answer lists all."""


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
    """`base` is None where nobody knows it: then nothing is read or written, but plans can be made. `facts`:
    what every access rests on, such as where the base and the byte order are from."""

    def __init__(
        self, description: Description, memory: Memory, base: Optional[int], facts: Sequence[Fact] = ()
    ) -> None:
        self.description = description
        self.memory = memory
        self.base = base
        self._facts = tuple(facts)

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
        """Of these, or of all that can be read, neighbours in one request: what lies between registers is
        not read, since nobody says what a read of it does. Raises UsageError for one that is only written,
        TargetError."""
        wanted = [self.description.register(name) for name in registers or self.description.registers]
        for register in wanted:
            if register.write_only and registers:
                raise UsageError("%s is only written, by %s" % (register.name, register.fact.source))
        offsets = sorted({r.offset for r in wanted if not r.write_only})
        runs: List[List[int]] = []
        for offset in offsets:
            if runs and runs[-1][-1] + 4 == offset:
                runs[-1].append(offset)
            else:
                runs.append([offset])
        names = {r.offset: r.name for r in wanted}
        words: Dict[int, int] = {}
        for run in runs:
            first = names[run[0]]
            words.update(zip(run, self.memory.read(self.address(first), len(run), first)))
        return {r.name: words[r.offset] for r in wanted if r.offset in words}

    # -- plans -----------------------------------------------------------------------

    def raw(self, register: str, value: int) -> Write:
        return Write(register, value, facts=self._place(register))

    def setting(
        self, register: str, fields: Mapping[str, Setting], before: int = 0, held: Optional[int] = None
    ) -> Write:
        """`before` with these fields changed. One of unknown position is in `fields` of what comes back, not
        in its value: such a plan can be printed, and is refused where it is to be written. Raises UsageError
        for a code of unknown value, and for a number that does not fit."""
        value, changed = before, 0
        facts: List[Fact] = list(self._place(register))
        named: List[Tuple[Field, int]] = []
        for name, setting in fields.items():
            field, number, code_fact = self.resolved(register, name, setting)
            if field.width is not None and number >> field.width:
                raise UsageError("%s has %d bits: 0x%x does not fit" % (name, field.width, number))
            named.append((field, number))
            facts += [field.fact, *([code_fact] if code_fact else [])]
            if field.lsb is None:
                continue
            if changed & field.mask:
                raise UsageError(
                    "%s overlaps another field of %s, by %s"
                    % (name, register, field.fact.place or "the description")
                )
            changed |= field.mask
            value = value & ~field.mask | number << field.lsb
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
        """What an access to a register rests on."""
        return (self.description.register(register).fact, *self._facts)

    def perform(self, writes: Sequence[Write], force: bool) -> None:
        """In order, each read back. Raises UsageError where one rests on an unverified row and `force` is
        not given: nothing is written then; TargetError where one does not take."""
        demand_verified(writes, force)
        for write in writes:
            address = self.address(write.register)
            self.memory.write(address, write.value, write.register)
            if self.description.register(write.register).write_only or not write.held:
                continue
            there = self.read(write.register)
            if (there ^ write.value) & write.held:
                raise TargetError(
                    "%s at 0x%08x did not take 0x%08x: it reads 0x%08x"
                    % (write.register, address, write.value, there)
                )

    def put_back(self, writes: Sequence[Write]) -> str:
        """All of them, also behind one that fails. What there is to be said of it."""
        failed: Dict[str, None] = {}
        for write in writes:
            try:
                self.perform([write], True)
            except GdbProfError:
                failed[write.register] = None
        if failed:
            return "%s could not be put back" % ", ".join(failed)
        return "%s put back as before" % ", ".join(dict.fromkeys(write.register for write in writes))


def demand_placed(writes: Sequence[Write]) -> None:
    """Raises UsageError for a field of unknown position: it is not in the value."""
    for write in writes:
        missing = [field.name for field, _ in write.fields if field.lsb is None]
        if missing:
            raise UsageError(
                "where %s %s in %s is not known: complete the description, or write the register whole"
                % (", ".join(missing), "lies" if len(missing) == 1 else "lie", write.register)
            )


def demand_verified(writes: Sequence[Write], force: bool) -> None:
    """Raises UsageError for what rests on an unverified row unless `force` is given, and in any case for a
    field of unknown position."""
    demand_placed(writes)
    doubted = doubtful(fact for write in writes for fact in write.facts)
    if doubted and not force:
        raise UsageError(
            "nothing is written: %s: -force writes it all the same"
            % "; ".join(rests_on(doubted, _MOST_NAMES))
        )


def doubtful(facts: Iterable[Fact]) -> Tuple[Fact, ...]:
    """Those that nobody has confirmed, each once."""
    return tuple(fact for fact in dict.fromkeys(facts) if fact.status in (UNVERIFIED, UNKNOWN))


def rests_on(facts: Sequence[Fact], most: Optional[int] = None) -> List[str]:
    """By status and source: `unverified (damaged pseudo-code): DP_TC.EN, DP_TC.TMODE`. What is in a manual is
    not listed row by row. `most`: so many names of each."""
    groups: Dict[Tuple[str, str], List[str]] = {}
    for fact in dict.fromkeys(facts):
        groups.setdefault((fact.status, fact.source), []).append(fact.name)
    return [
        "%s (%s)" % (status, source)
        + ("" if status in _SURE else ": " + some(names, len(names) if most is None else most))
        for (status, source), names in groups.items()
    ]
