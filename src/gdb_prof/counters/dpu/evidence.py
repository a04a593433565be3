"""What `dpu check` looks at, and what it finds."""

from __future__ import annotations

import dataclasses
import enum
from typing import Dict, Iterator, List, Mapping, Optional, Tuple

from gdb_prof.counters.description import Description, Fact, Field
from gdb_prof.counters.dpu.reading import (
    COUNTERS,
    REGISTERS,
    Reading,
    control,
    meaning,
    reading,
)

READ = (*REGISTERS, "DP_CR", "DP_SR", "DP_RPID", "DP_TC", "DP_TSA", "DP_TEA", "DP_TER", "DP_TW")
"""What is looked at."""


class Severity(enum.IntEnum):
    """REMARK: no trouble in itself. DOUBT: the figures may mislead. WRONG: what was set up cannot work, or
    has not."""

    REMARK = 0
    DOUBT = 1
    WRONG = 2


@dataclasses.dataclass(frozen=True)
class Finding:
    """`evidence`: registers with their fields, `DP_CA0C = 0x00008000 CENM=none`, or sentences. `facts`: the
    rows of the description that it rests on."""

    kind: str
    severity: Severity
    summary: str
    remedy: str
    evidence: Tuple[str, ...]
    facts: Tuple[Fact, ...] = ()


@dataclasses.dataclass(frozen=True)
class Unknown:
    """What could not be looked for, and why."""

    kind: str
    why: str


class NotKnown(Exception):
    """A check meets a field or a code that the description does not place; `why` says which."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Seen:
    """The registers of READ as read, the description, and what this session knows.

    `written`: by register what this session wrote last. `busy_reads`: how often DP_SR was read, at least
    once, until TWBA was clear or we gave up. `stops`: by counter how often the debugger stopped the program
    and let it go on since the counter was set. `base`: the unit's address.
    """

    def __init__(
        self,
        description: Description,
        values: Mapping[str, int],
        written: Mapping[str, int],
        busy_reads: int = 1,
        stops: Optional[Mapping[str, int]] = None,
        base: int = 0,
    ) -> None:
        self.description = description
        self.values = values
        self.written = written
        self.busy_reads = busy_reads
        self.base = base
        self.stops: Mapping[str, int] = stops or {}
        self.readings: Dict[str, Reading] = {
            name: reading(description, name, values, written) for name in COUNTERS
        }

    def used(self) -> Iterator[Reading]:
        """Counters that somebody has set, this session also to 0."""
        for found in self.readings.values():
            if found.control or control(found.counter) in self.written:
                yield found

    def traces(self) -> bool:
        """Whether somebody has set the trace buffer up."""
        names = ("DP_TC", "DP_TSA", "DP_TEA")
        return any(self.values.get(name) or self.written.get(name) for name in names)

    def field(self, register: str, name: str) -> int:
        """Raises NotKnown."""
        return self.placed(register, name).of(self.values[register])

    def placed(self, register: str, name: str) -> Field:
        """Raises NotKnown."""
        field = self.description.field(register, name)
        if field is None:
            raise NotKnown("no field %s of %s is known" % (name, register))
        if field.lsb is None:
            raise NotKnown("where %s lies is not known" % name)
        return field

    def has(self, register: str, name: str, wanted: str) -> bool:
        """Whether a field says that. Raises NotKnown, also where the code's number is not known."""
        number = self.field(register, name)
        for code in self.description.codes(name):
            if code.meaning == wanted and code.value is not None:
                return number == code.value
        raise NotKnown("the code of %s in %s is not known" % (wanted, name))

    def says(self, register: str, *names: str) -> str:
        """`DP_CA0C = 0x00008000 CENM=none`."""
        word = self.values[register]
        fields = [self.description.placed(register, name) for name in names]
        said = [
            "%s=%s" % (field.name, meaning(self.description, field.name, field.of(word)))
            for field in fields
            if field is not None
        ]
        return " ".join(["%s = 0x%08x" % (register, word), *said])

    def facts(self, register: str, *names: str) -> Tuple[Fact, ...]:
        """The rows that place a register and its fields."""
        found: List[Fact] = [self.description.register(register).fact]
        for name in names:
            field = self.description.placed(register, name)
            if field is not None:
                number = field.of(self.values[register])
                codes = [c.fact for c in self.description.codes(name) if c.value == number]
                found += [field.fact, *codes]
        return tuple(found)

    def finding(
        self,
        kind: str,
        severity: Severity,
        summary: str,
        remedy: str,
        *shown: Tuple[str, ...],
        more: Tuple[str, ...] = (),
    ) -> Finding:
        """`shown`: register and fields, for the evidence and what it rests on; `more`: other evidence."""
        evidence = (*(self.says(*names) for names in shown), *more)
        facts = tuple(fact for names in shown for fact in self.facts(*names))
        return Finding(kind, severity, summary, remedy, evidence, tuple(dict.fromkeys(facts)))
