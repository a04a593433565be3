"""What was read of a trace buffer, and what is known of how it came to be."""

from __future__ import annotations

import dataclasses
from typing import Dict, Mapping, Optional, Tuple

from gdb_prof.counters.description import UNKNOWN, UNVERIFIED, Description
from gdb_prof.counters.dpu.reading import COUNTERS
from gdb_prof.counters.dpu.reading import control as control_of
from gdb_prof.counters.dpu.records import DIRECT, KINDS, SAMPLE, TASK
from gdb_prof.counters.registers import rests_on
from gdb_prof.errors import TargetError

MODES = OVERWRITE, SINGLE, REQUEST = "overwrite", "single", "request"
INCOMING, OUTGOING = "incoming", "outgoing"
FILL = 0xE5
"""What `dpu trace setup` fills the buffer with: the same word in either byte order, with bit 31 set, which no
counter of 31 bits has; so what is left of it was not written."""
_DEFAULT = "task:4 A0:4 A1:4 A2:4 B0:4 B1:4 B2:4"
_LEAST, _LARGEST = 16, 1 << 28


@dataclasses.dataclass(frozen=True)
class Counter:
    """How one is set, by the description's meanings; empty where not known. `starts`: the start event."""

    event: str = ""
    mode: str = ""
    starts: str = ""


@dataclasses.dataclass(frozen=True)
class Capture:
    """`raw`: the buffer as it lies in memory, from address `start` on. `pointer`: the address that is written
    next. `wrapped`, and `how` it is known; None where it is not. `filled`: what was not written still holds
    FILL. `kind`: of record, `mode`: of writing, empty where not known. `task_id`: INCOMING or OUTGOING.
    `rests`: what all that rests on, by status."""

    raw: bytes
    start: int = 0
    pointer: Optional[int] = None
    wrapped: Optional[bool] = None
    how: str = ""
    filled: bool = False
    mode: str = ""
    kind: str = ""
    little: bool = True
    layouts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    task_id: str = INCOMING
    counters: Mapping[str, Counter] = dataclasses.field(default_factory=dict)
    rests: Tuple[str, ...] = ()
    remarks: Tuple[str, ...] = ()


def plain(raw: bytes, description: Description, little: bool, kind: str = "") -> Capture:
    """Of bytes alone, such as of GDB's `dump binary memory`: the rest is the description's. `kind`: of
    record, where it is known."""
    fact = description.fact("record", "task_id") if kind in ("", TASK) else None
    layout = description.fact("record", kind or TASK)
    facts = [f for f in (layout, fact) if f is not None and f.status in (UNVERIFIED, UNKNOWN)]
    return Capture(
        raw,
        kind=kind,
        little=little,
        layouts=layouts(description),
        task_id=OUTGOING if fact is not None and fact.value == OUTGOING else INCOMING,
        rests=tuple(rests_on(facts)),
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
    found = description.field(register, field)
    if word is None or found is None or found.lsb is None or found.width is None:
        return None
    return found.of(word)


def buffer_of(values: Mapping[str, int], description: Description) -> Tuple[int, int]:
    """Start and size in bytes by DP_TSA and DP_TEA. Raises TargetError where that is no buffer."""
    start, last = values["DP_TSA"], values["DP_TEA"]
    what = "DP_TSA = 0x%08x, DP_TEA = 0x%08x" % (start, last)
    beyond = last + 1 if end_is_inclusive(description) else last
    if not _LEAST <= beyond - start <= _LARGEST:
        raise TargetError("the buffer is not set up: %s: `dpu trace setup`" % what)
    return start, beyond - start


def end_is_inclusive(description: Description) -> bool:
    """Whether DP_TEA is the last byte's address, as the article has it, or the first beyond."""
    fact = description.fact("rule", "vtb_end")
    return fact is None or fact.value != "exclusive"


def from_registers(
    raw: bytes, description: Description, values: Mapping[str, int], little: bool, filled: bool
) -> Capture:
    """`raw`: what lies from DP_TSA to DP_TEA; `filled`: it was filled with FILL when it was set up."""
    control = values.get("DP_TC")
    mode = meaning(description, "DP_TC", "VTBWM", control)
    kind = meaning(description, "DP_TC", "TMODE", control)
    wrapped, how = _flag(description, values)
    counters = {}
    for name in COUNTERS:
        word = values.get(control_of(name))
        fields = (meaning(description, control_of(name), f, word) for f in ("CE", "CMODE", "CENM"))
        counters[name] = Counter(*fields)
    used = plain(raw, description, little, kind if kind in KINDS else "")
    rows = [description.register(name).fact for name in ("DP_TC", "DP_TSA", "DP_TEA", "DP_TW")]
    rows += [f.fact for f in description.fields("DP_TC") if f.name in ("TMODE", "VTBWM")]
    doubtful = [fact for fact in rows if fact.status in (UNVERIFIED, UNKNOWN)]
    return dataclasses.replace(
        used,
        start=values["DP_TSA"],
        pointer=values["DP_TW"],
        wrapped=wrapped,
        how=how,
        filled=filled,
        mode=mode if mode in MODES else "",
        counters=counters,
        rests=(*rests_on(doubtful), *used.rests),
        remarks=(
            ("the trace records %s, which is not decoded here" % kind,) if kind and kind not in KINDS else ()
        ),
    )


def _flag(description: Description, values: Mapping[str, int]) -> Tuple[Optional[bool], str]:
    fact = description.fact("record", "wrap_flag")
    register, _, field = (fact.value if fact else "").partition(".")
    number = bit(description, register, field, values.get(register)) if field else None
    return (None, "") if number is None else (bool(number), "%s.%s = %d" % (register, field, number))
