"""What was read of a trace buffer, and what is known of how it came to be."""

from __future__ import annotations

import dataclasses
from typing import Collection, Dict, List, Mapping, Optional, Tuple

from gdb_prof.counters.description import Description
from gdb_prof.counters.dpu import reading
from gdb_prof.counters.dpu.reading import COUNTERS, counted_by, unmatched
from gdb_prof.counters.dpu.reading import control as control_of
from gdb_prof.counters.dpu.records import BURST, DIRECT, KINDS, SAMPLE, TASK
from gdb_prof.counters.registers import Unit, doubtful, rests_on
from gdb_prof.errors import TargetError

MODES = OVERWRITE, SINGLE, REQUEST = "overwrite", "single", "request"
INCOMING, OUTGOING = "incoming", "outgoing"
FILL = 0xE5
"""What `dpu trace setup` fills the buffer with: the same word in either byte order, with bit 31 set, which no
counter of 31 bits has; so what is left of it was not written."""
_DEFAULT = "task:4 A0:4 A1:4 A2:4 B0:4 B1:4 B2:4"
LARGEST = 1 << 26
"""Bytes of a buffer: more would not fit GDB's memory as records."""
ANY, NONE = "any", "none"


@dataclasses.dataclass(frozen=True)
class Counter:
    """How one is set, by the description's meanings, or a number where it has none; empty where not known.
    `starts`, `stops`: the events; `filter`: whose events are counted."""

    event: str = ""
    mode: str = ""
    starts: str = ""
    stops: str = ""
    filter: str = ""


@dataclasses.dataclass(frozen=True)
class Capture:
    """`raw`: the buffer as it lies in memory, from address `start` on. `pointer`: the address that is written
    next. `wrapped`, and `how` it is known; None where it is not. `filled`: what was not written still holds
    FILL; None where nobody knows. `kind`: of record, perhaps none that is decoded, `mode`: of writing, empty
    where not known. `task_id`: INCOMING or OUTGOING. `rests`: what all that rests on, by status; `rests_by`:
    besides, by kind of record, and for the task's ID under TASK_ID. `mixed`: steps are known to hold other
    things than they seem to, as the remarks say."""

    raw: bytes
    start: int = 0
    pointer: Optional[int] = None
    wrapped: Optional[bool] = None
    how: str = ""
    filled: Optional[bool] = None
    mode: str = ""
    kind: str = ""
    little: bool = True
    layouts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    task_id: str = INCOMING
    counters: Mapping[str, Counter] = dataclasses.field(default_factory=dict)
    rests: Tuple[str, ...] = ()
    rests_by: Mapping[str, Tuple[str, ...]] = dataclasses.field(default_factory=dict)
    remarks: Tuple[str, ...] = ()
    mixed: bool = False


TASK_ID = "task_id"


def plain(raw: bytes, description: Description, little: bool) -> Capture:
    """Of bytes alone, such as of GDB's `dump binary memory`: the rest is the description's."""
    facts = {what: description.fact("record", what) for what in (*KINDS, TASK_ID)}
    fact = facts[TASK_ID]
    return Capture(
        raw,
        little=little,
        layouts=layouts(description),
        task_id=OUTGOING if fact is not None and fact.value == OUTGOING else INCOMING,
        rests_by={what: tuple(rests_on(doubtful([row]))) for what, row in facts.items() if row is not None},
    )


def layouts(description: Description) -> Dict[str, str]:
    found = {kind: description.fact("record", kind) for kind in KINDS}
    default = {TASK: _DEFAULT, SAMPLE: _DEFAULT, DIRECT: "word:4"}
    return {kind: fact.value if fact and fact.value != "?" else default[kind] for kind, fact in found.items()}


def meaning(description: Description, register: str, field: str, word: Optional[int]) -> str:
    """Of a field in a register's value: all meanings that the number has in the description; empty where its
    place, or the meaning, is not known."""
    number = bit(description, register, field, word)
    if number is None:
        return ""
    return "/".join(code.meaning for code in description.codes(field) if code.value == number)


def bit(description: Description, register: str, field: str, word: Optional[int]) -> Optional[int]:
    """A field's number; None where its place is not known."""
    found = description.placed(register, field)
    return None if word is None or found is None else found.of(word)


@dataclasses.dataclass(frozen=True)
class Pair:
    """`high` is set to count the overflows of `low`. `missed`: why it does not count all of them; empty where
    it does, as far as is known, and `sure`, where all of that is."""

    low: str
    high: str
    missed: str
    sure: bool


def overflow_counters(counters: Mapping[str, Counter], names: Collection[str]) -> List[Pair]:
    """Of `names`; one that stops at 0, or never starts, has no overflows, and is whole without."""
    found = []
    for high in names:
        low = counted_by(high)
        one, two = counters.get(high, Counter()), counters.get(low or "", Counter())
        if low is None or low not in names or one.event != "overflow":
            continue
        if two.mode == "oneshot" or two.starts == NONE:
            continue
        missed = unmatched(_limits(one), _limits(two))
        if two.mode not in ("", "extended"):
            missed = "%s has none to count: %s is in mode %s, not extended" % (high, low, two.mode)
        found.append(Pair(low, high, missed, len(_limits(one)) == len(_limits(two)) == 3))
    return found


def _limits(counter: Counter) -> Dict[str, str]:
    """Which events it counts, by field, as far as is known."""
    limits = {"CEP": counter.filter, "CENM": counter.starts, "CDM": counter.stops}
    return {field: meaning for field, meaning in limits.items() if meaning}


def buffer_of(values: Mapping[str, int], description: Description) -> Tuple[int, int]:
    """Start and size in bytes by DP_TSA and DP_TEA. Raises TargetError where that is no buffer."""
    start, last = values["DP_TSA"], values["DP_TEA"]
    what = "DP_TSA = 0x%08x, DP_TEA = 0x%08x" % (start, last)
    beyond = last + 1 if end_is_inclusive(description) else last
    if not BURST <= beyond - start <= LARGEST:
        raise TargetError("the buffer is not set up: %s: `dpu trace setup`" % what)
    return start, beyond - start


def end_is_inclusive(description: Description) -> bool:
    """Whether DP_TEA is the last byte's address, as the article has it, or the first beyond."""
    fact = description.fact("rule", "vtb_end")
    return fact is None or fact.value != "exclusive"


def from_registers(
    raw: bytes, unit: Unit, values: Mapping[str, int], little: bool, filled: Optional[bool]
) -> Capture:
    """`raw`: what lies from DP_TSA to DP_TEA; `filled`: it was filled with FILL before the trace began."""
    description, control = unit.description, values.get("DP_TC")
    mode = meaning(description, "DP_TC", "VTBWM", control)
    number = bit(description, "DP_TC", "TMODE", control)
    kind = meaning(description, "DP_TC", "TMODE", control)
    wrapped, how = _flag(description, values)
    facts = [fact for name in ("DP_TC", "DP_TSA", "DP_TEA", "DP_TW") for fact in unit.raw(name, 0).facts]
    facts += [f.fact for f in description.fields("DP_TC") if f.name in ("TMODE", "VTBWM")]
    return dataclasses.replace(
        plain(raw, description, little),
        start=values["DP_TSA"],
        pointer=values["DP_TW"],
        wrapped=wrapped,
        how=how,
        filled=filled,
        mode=mode if mode in MODES else "",
        kind=kind or ("" if number is None else "TMODE = %d" % number),
        counters={name: counter_of(description, name, values.get(control_of(name))) for name in COUNTERS},
        rests=tuple(rests_on(doubtful(facts))),
    )


def counter_of(description: Description, name: str, word: Optional[int]) -> Counter:
    """By its control register's value."""
    register = control_of(name)
    fields = (meaning(description, register, field, word) for field in ("CE", "CMODE", "CENM"))
    limits = ((field, bit(description, register, field, word)) for field in ("CDM", "CEP"))
    return Counter(
        *fields,
        *("" if n is None else reading.meaning(description, field, n) for field, n in limits),
    )


def _flag(description: Description, values: Mapping[str, int]) -> Tuple[Optional[bool], str]:
    flag = reading.wrap_flag(description)
    if flag is None or flag.register not in values:
        return None, ""
    number = flag.of(values[flag.register])
    return bool(number), "%s.%s = %d" % (flag.register, flag.name, number)
