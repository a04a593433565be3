"""A counter's configuration as planned writes, and what makes one count wrong without a word."""

from __future__ import annotations

import dataclasses
from typing import Dict, Iterator, Mapping, Optional, Tuple

from gdb_prof.counters.description import UNVERIFIED, Fact
from gdb_prof.counters.dpu.reading import (
    COUNTERS,
    FIELDS,
    MOST,
    PAIR,
    control,
    counted_by,
    is_pair,
    meaning,
    settings,
    unmatched,
    value,
)
from gdb_prof.counters.registers import Setting, Unit, Write
from gdb_prof.errors import UsageError
from gdb_prof.printable import printable

OPTIONS = {"CE": "-event", "CENM": "-start", "CDM": "-stop", "CMODE": "-mode", "CEP": "-filter"}


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a user asks of a counter: each a meaning or a number, None where it was not said. `raw`: the
    control register whole, in place of the rest."""

    counter: str
    event: Optional[Setting] = None
    start: Optional[Setting] = None
    stop: Optional[Setting] = None
    mode: Setting = "oneshot"
    filter: Setting = "any"
    preset: int = MOST
    raw: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """`writes` in their order: the counter off, its preset, its control. `settings`: by field of FIELDS, in
    words."""

    counter: str
    writes: Tuple[Write, ...]
    settings: Mapping[str, str]

    def back(self, unit: Unit, values: Mapping[str, int]) -> Tuple[Write, ...]:
        """What makes the counter as it was in `values`: off first, too."""
        off, preset, setting = self.writes
        before = unit.raw(preset.register, values[preset.register])
        return (
            off,
            dataclasses.replace(before, held=preset.held),
            unit.raw(setting.register, values[setting.register]),
        )

    def beside(self, unit: Unit, values: Mapping[str, int]) -> Dict[str, Mapping[str, str]]:
        """By counter how `values` have it set, and this one as planned."""
        now = {name: settings(unit.description, name, values[control(name)]) for name in COUNTERS}
        return {**now, self.counter: self.settings}


def plan(unit: Unit, wanted: Wanted) -> Plan:
    """Needs no target. Raises UsageError, also for what counts wrong (`refused`)."""
    if not 1 <= wanted.preset <= MOST:
        raise UsageError("a preset is 1 to 0x%x, 31 bits, found %d" % (MOST, wanted.preset))
    name = control(wanted.counter)
    if wanted.raw is not None:
        written = unit.raw(name, wanted.raw)
        said = settings(unit.description, wanted.counter, wanted.raw)
    else:
        fields = _fields(unit, wanted)
        written = unit.setting(name, {**fields, **_rest(unit, name)})
        said = {
            field.name: meaning(unit.description, field.name, number)
            for field, number in written.fields
            if field.name in FIELDS
        }
    refuse(wanted.counter, said)
    written = dataclasses.replace(written, facts=(*written.facts, *_pairing(unit, wanted.counter, said)))
    preset = unit.setting(value(wanted.counter), {"COUNT": wanted.preset})
    held = sum(field.mask for field, _ in preset.fields if field.lsb is not None)
    preset = dataclasses.replace(preset, held=held)
    return Plan(wanted.counter, (_off(unit, name), preset, written), said)


def _pairing(unit: Unit, counter: str, said: Mapping[str, str]) -> Tuple[Fact, ...]:
    """What it rests on that overflows are counted, and by which counter."""
    rule = unit.description.fact("rule", "extended")
    if said.get("CE") == "overflow" and counted_by(counter) is None:
        why = "no source: the article has %s counting overflows, those of %s" % PAIR
        return (Fact("rule", "%s counting overflows" % counter, "", UNVERIFIED, why),)
    uses = counter in PAIR and (said.get("CE") == "overflow" or said.get("CMODE") == "extended")
    return (rule,) if rule is not None and uses else ()


def _fields(unit: Unit, wanted: Wanted) -> Dict[str, Setting]:
    """All of FIELDS, in that order. Raises UsageError."""
    if wanted.event is None:
        raise UsageError("what is counted is missing: -event with one of %s" % _choices(unit, "CE"))
    given: Dict[str, Optional[Setting]] = {
        "CENM": wanted.start,
        "CE": wanted.event,
        "CEP": wanted.filter,
        "CDM": wanted.stop,
        "CMODE": wanted.mode,
    }
    defaults = {"CENM": "immediate", "CDM": "none"}
    for name, setting in given.items():  # what was said is judged before what was not
        if isinstance(setting, str):
            _known(unit, name, setting)
    found: Dict[str, Setting] = {}
    for name in FIELDS:
        setting = given[name]
        found[name] = _default(unit, name, defaults[name]) if setting is None else setting
    return found


def _rest(unit: Unit, register: str) -> Dict[str, Setting]:
    """What is 0 besides, such as the privilege filters of the start and the stop, where it is known: so that
    it is seen."""
    placed = (field for field in unit.description.fields(register) if field.lsb is not None)
    return {field.name: 0 for field in placed if field.name not in FIELDS}


def _choices(unit: Unit, field: str) -> str:
    known = [code.meaning for code in unit.description.codes(field) if code.value is not None]
    return ", ".join([*known, "or a number"])


def _default(unit: Unit, field: str, wanted: str) -> Setting:
    """What is taken where the user says nothing: only what the description knows a number of."""
    if any(code.meaning == wanted and code.value is not None for code in unit.description.codes(field)):
        return wanted
    raise UsageError(
        "%s is missing, and the code of %s in %s is not known: give one of %s"
        % (OPTIONS[field], wanted, field, _choices(unit, field))
    )


def _known(unit: Unit, field: str, wanted: str) -> None:
    """Raises UsageError for a meaning that is none, or that has no number."""
    codes = unit.description.codes(field)
    found = [code for code in codes if code.meaning == wanted]
    if found and found[0].value is not None:
        return
    if found:
        problem = "the code of %s in %s is not known" % (wanted, field)
    else:
        problem = "%s: there is no %s" % (OPTIONS[field], printable(wanted))
    raise UsageError("%s: give one of %s" % (problem, _choices(unit, field)))


def _off(unit: Unit, name: str) -> Write:
    """No start event. All of the register 0 says so wherever CENM lies, since `none` is 0."""
    none = unit.description.code("CENM", "none")
    if unit.description.placed(name, "CENM") is not None:
        return unit.setting(name, {"CENM": "none"})
    whole = unit.raw(name, 0)
    facts: Tuple[Fact, ...] = (*whole.facts, none.fact)
    return dataclasses.replace(whole, facts=facts)


# -- what counts wrong ---------------------------------------------------------------


def refuse(counter: str, said: Mapping[str, str]) -> None:
    """Raise UsageError for what is wrong whatever the other counters do."""
    if said.get("CE") == "overflow" and said.get("CEP", "any") != "any":
        raise UsageError(
            "with filter %s %s would miss overflows without a word: CEP must be any (00) where overflows "
            "are counted" % (said["CEP"], counter)
        )


def demand_match(counter: str, settings_of: Mapping[str, Mapping[str, str]]) -> None:
    """Raise UsageError where this counter makes a pair with the other as that one is set, and overflows would
    be missed without a word. `settings_of`: as for `warnings`."""
    why = _missing(settings_of) if counter in PAIR else ""
    if why:
        raise UsageError(
            "%s; where both are to be changed, -force the first (it writes what is unverified, too)" % why
        )


def _missing(settings_of: Mapping[str, Mapping[str, str]]) -> str:
    """Why the total would be no more than a lower bound, and what to do; empty where it is right, and where
    there is no pair."""
    counting, counted = (settings_of.get(name, {}) for name in PAIR)
    why = unmatched(counting, counted) if is_pair(counting, counted) else ""
    if not why:
        return ""
    return (
        "%s and may miss overflows: %s needs -filter any, and the same -start and -stop as %s, or "
        "-start immediate and -stop none" % (why, *PAIR)
    )


def warnings(counter: str, settings_of: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """What will count wrong, unless another counter is set, too. `settings_of`: by counter, as in
    reading.settings; those that are not known are left out."""
    said = settings_of.get(counter, {})
    if said.get("CENM") == "none":
        yield "%s never starts: its start event is none" % counter
    if said.get("CE") == "overflow" and said.get("CMODE") not in ("oneshot", None):
        yield (
            "%s counts overflows in mode %s: the article has such a counter in oneshot, and what it does "
            "beyond 0 is not said" % (counter, said["CMODE"])
        )
    if counter in PAIR:
        yield from _pair(settings_of, counter)
    if said.get("CMODE") == "extended" and said.get("CE") != "overflow" and counter != PAIR[1]:
        yield (
            "what %s counts beyond 2^31 is lost: of %s alone it is known that another counter, %s, counts "
            "how often it wraps" % (counter, PAIR[1], PAIR[0])
        )


def _pair(settings_of: Mapping[str, Mapping[str, str]], changed: str) -> Iterator[str]:
    """`changed`: which of the two has been set."""
    one, two = PAIR
    counting, counted = (settings_of.get(name, {}) for name in PAIR)
    event, mode = counting.get("CE"), counted.get("CMODE")
    why = _missing(settings_of)
    if why:
        yield why
    if event == "overflow" and mode not in ("extended", None):
        yield (
            "%s counts the overflows of %s, which is in mode %s and has none: dpu counter %s -mode extended …"
            % (one, two, mode, two)
        )
    lost = mode == "extended" and event not in ("overflow", None) and counted.get("CE") != "overflow"
    if lost and changed == two:
        yield (
            "%s does not count overflows (CE=%s): what %s counts beyond 2^31 is lost until it does: "
            "dpu counter %s -event overflow …" % (one, event, two, one)
        )
