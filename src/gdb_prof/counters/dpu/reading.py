"""A counter as its two registers show it: how it is set, where it stands, what it has counted.

Counters count down, 31 bits, from a preset (article). The preset is in no register: it is known where this
session wrote it and nobody has changed the counter since.
"""

from __future__ import annotations

import dataclasses
from typing import Callable, Dict, List, Mapping, Optional, Tuple

from gdb_prof.counters.counting import Width, elapsed
from gdb_prof.counters.description import Description, Field
from gdb_prof.errors import UsageError
from gdb_prof.printable import printable

COUNTERS = ("A0", "A1", "A2", "B0", "B1", "B2")
WIDTH = Width(31, down=True)
MOST = WIDTH.modulus - 1
"""The preset that lets a counter count longest."""
FIELDS = ("CENM", "CE", "CEP", "CDM", "CMODE")
"""Start event, counted event and its filter, stop event, mode."""
_TRIES = 4
WRAPPING = ("trace", "extended")
"""Modes that run on at 0."""
PAIR = ("A1", "A2")
"""The one that counts the other's overflows: the description's rule,extended. Of no other two is it said."""


def control(counter: str) -> str:
    return "DP_C%sC" % counter


def value(counter: str) -> str:
    return "DP_C%sV" % counter


REGISTERS = tuple(register(name) for name in COUNTERS for register in (control, value))


def named(text: str) -> str:
    """A counter by its name in either case. Raises UsageError."""
    if text.upper() not in COUNTERS:
        raise UsageError("no counter %s: there are %s" % (printable(text), ", ".join(COUNTERS)))
    return text.upper()


def counted_by(counter: str) -> Optional[str]:
    """The counter whose overflows this one counts; None where no source says so."""
    return PAIR[1] if counter == PAIR[0] else None


def meaning(description: Description, field: str, number: int) -> str:
    """Of a number in a field: `cycles`; all of them where the description gives several; else the number."""
    found = [code.meaning for code in description.codes(field) if code.value == number]
    return "/".join(found) or ("%d" % number if number < 10 else "0x%x" % number)


def silent(values: Mapping[str, int], base: int) -> str:
    """What there is to be said where no register tells anything; empty where one does."""
    if any(word != 0xFFFFFFFF for word in values.values()) and any(values.values()):
        return ""
    if any(values.values()):
        return "every register reads 0xffffffff: nothing answers at 0x%08x (set dpu base)" % base
    return (
        "every register reads 0: nothing answers at 0x%08x (set dpu base), or nobody has set the unit" % base
    )


def wrap_flag(description: Description) -> Optional[Field]:
    """The field that tells that the trace buffer has wrapped; None where nobody knows."""
    fact = description.fact("record", "wrap_flag")
    register, _, name = (fact.value if fact else "").partition(".")
    return description.placed(register, name)


def settings(description: Description, counter: str, word: int) -> Dict[str, str]:
    """By field of FIELDS what a control register says; a field of unknown position is left out."""
    found = {}
    for field in description.fields(control(counter)):
        if field.name in FIELDS and field.lsb is not None:
            found[field.name] = meaning(description, field.name, field.of(word))
    return found


@dataclasses.dataclass(frozen=True)
class Reading:
    """`control`, `value`: the whole registers. `settings`: by field, as `settings` above. `count`: the bits
    that count, `high` what stands above them. `preset`: None where it is not known; `why` says why."""

    counter: str
    control: int
    value: int
    settings: Mapping[str, str]
    preset: Optional[int]
    why: str = ""

    @property
    def count(self) -> int:
        return self.value & MOST

    @property
    def high(self) -> int:
        return self.value & ~MOST

    @property
    def mode(self) -> Optional[str]:
        return self.settings.get("CMODE")

    @property
    def elapsed(self) -> Optional[int]:
        """Events since the preset; modulo 2**31 where it wraps."""
        return None if self.preset is None else elapsed(WIDTH, self.preset, self.count)

    @property
    def reached(self) -> bool:
        """It counted down to 0 and stopped there: there may have been more events."""
        return self.mode == "oneshot" and self.count == 0 and bool(self.control) and self.preset != 0

    @property
    def overflows(self) -> bool:
        """Whether it counts those of another counter."""
        return self.settings.get("CE") == "overflow"


def reading(
    description: Description, counter: str, values: Mapping[str, int], written: Mapping[str, int]
) -> Reading:
    """`values`: the registers as read; `written`: what this session wrote last, by register."""
    word, stands = values[control(counter)], values[value(counter)]
    preset, why = _preset(counter, word, stands, written, settings(description, counter, word))
    return Reading(counter, word, stands, settings(description, counter, word), preset, why)


def _preset(
    counter: str, word: int, stands: int, written: Mapping[str, int], said: Mapping[str, str]
) -> Tuple[Optional[int], str]:
    preset, setting = written.get(value(counter)), written.get(control(counter))
    if preset is None or setting is None:
        return None, "this session did not write it"
    if setting != word:
        return None, "%s is no longer as this session wrote it: 0x%08x then, 0x%08x now" % (
            control(counter),
            setting,
            word,
        )
    if said.get("CMODE") == "oneshot" and stands & MOST > preset:
        return None, "the counter stands above 0x%08x, which this session wrote" % preset
    return preset, ""


def pairs(readings: Mapping[str, Reading]) -> List[Tuple[Reading, Reading]]:
    """The counter that counts overflows with the wrapping one whose they are; empty where they are not set
    so."""
    counting, counted = (readings[name] for name in PAIR)
    return [(counting, counted)] if is_pair(counting.settings, counted.settings) else []


def is_pair(counting: Mapping[str, str], counted: Mapping[str, str]) -> bool:
    """Whether the settings of A1 and A2 make A1 count the overflows of A2."""
    return counting.get("CE") == "overflow" and counted.get("CMODE") == "extended"


def other_of_pair(description: Description, counter: str, values: Mapping[str, int]) -> Optional[str]:
    """The one that counts this one's overflows, or whose overflows it counts."""
    one, two = (settings(description, name, values[control(name)]) for name in PAIR)
    if counter not in PAIR or not is_pair(one, two):
        return None
    return PAIR[1] if counter == PAIR[0] else PAIR[0]


def settled(
    values: Mapping[str, int], read: Callable[[str], int], counting: str, counted: str
) -> Dict[str, int]:
    """The registers with the two values of a pair of one moment: a counter that wraps between a read of
    itself and of the one that counts its overflows would make the total wrong by 2**31.

    Who debugs has stopped the core, and cycles are not counted in debug; but whether all events stand still
    then is not said anywhere, so that A1 is read again behind A2, and both where it has moved.
    """
    found = dict(values)
    for _ in range(_TRIES):
        again = read(value(counting))
        if again == found[value(counting)]:
            break
        found[value(counting)], found[value(counted)] = again, read(value(counted))
    return found


def total(counting: Reading, counted: Reading) -> Optional[int]:
    """Events that a wrapping counter and the one that counts its overflows have counted together; no more
    than a lower bound where `missed` has a reason.

    The article adds A1 * 2**31 + A2, as if both counted up. They count down, so the parts are what has
    elapsed: each overflow of A2 stands for 2**31, from 0 back to 0x7fffffff. A2 itself is *not* taken modulo
    2**31 here: with a preset P below 0x7fffffff its first lap is P + 1 long, and after the overflow it
    stands above P; the difference P - A2 is then negative, and just right with the overflow counted.
    None where a preset is not known.
    """
    if counting.preset is None or counted.preset is None:
        return None
    return (counting.preset - counting.count) * WIDTH.modulus + counted.preset - counted.count


def missed(counting: Reading, counted: Reading) -> str:
    """Why a counter of overflows may have missed some; empty where it counts whenever the other does."""
    if counting.reached:
        return "%s has stopped at 0" % counting.counter
    for field in ("CEP", "CENM", "CDM"):
        if field not in counting.settings or field not in counted.settings:
            return "where %s lies is not known" % field
    return unmatched(counting.settings, counted.settings)


def unmatched(counting: Mapping[str, str], counted: Mapping[str, str]) -> str:
    """Why A1, set so, may miss overflows of A2; empty where it counts whenever A2 does. By field, as
    `settings`; one that is not known is passed over."""
    one, two = PAIR
    if counting.get("CEP", "any") != "any":
        return "%s has a filter, %s" % (one, counting["CEP"])
    for field, what, always in (("CENM", "starts", "immediate"), ("CDM", "stops", "none")):
        event, other = counting.get(field), counted.get(field)
        if None not in (event, other) and event not in (other, always):
            return "%s %s by another event than %s" % (one, what, two)
    return ""
