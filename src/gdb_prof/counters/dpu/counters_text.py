"""The six counters as a table, and what is to be known of their figures."""

from __future__ import annotations

from typing import List, Mapping, Sequence

from gdb_prof.counters.dpu.reading import (
    COUNTERS,
    WIDTH,
    WRAPPING,
    Reading,
    control,
    counted_by,
    missed,
    pairs,
    total,
    value,
)
from gdb_prof.wording import NARROWEST, aligned, count, plural, wrapped

_HEAD = ("", "value", "mode", "event", "start", "stop", "elapsed")
_ALIGN = ("left", "left", "left", "left", "left", "left", "right")
_WORDS = {"mode": "CMODE", "event": "CE", "start": "CENM", "stop": "CDM"}
_SHORTEST = 5
"""Characters of an event's name that are left where a line is short."""


def text(readings: Mapping[str, Reading], width: int) -> str:
    """A row a counter, then notes. Ends with a newline."""
    rows = [_row(readings[name]) for name in COUNTERS]
    lines = aligned([_HEAD, *rows], _ALIGN)
    excess = max(map(len, lines)) - max(width, NARROWEST)
    if excess > 0:
        lines = aligned([_HEAD, *_shorter(rows, excess)], _ALIGN)
    notes = [note for name in COUNTERS for note in _notes(readings[name])]
    for note in [*_wrapping(readings), *notes, *_totals(readings), *_unknown(readings)]:
        lines += wrapped(note, width)
    return "\n".join(lines) + "\n"


def _row(found: Reading) -> List[str]:
    said = found.settings
    words = [said.get(field, "?") for field in _WORDS.values()]
    spent = found.elapsed
    return [found.counter, "0x%08x" % found.value, *words, "?" if spent is None else count(spent)]


def _shorter(rows: Sequence[Sequence[str]], excess: int) -> List[List[str]]:
    """The words of the widest columns cut, until the line fits or they would be no words any more."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(_HEAD))]
    words = range(2, 6)
    while excess > 0:
        widest = max(words, key=lambda n: widths[n])
        if widths[widest] <= _SHORTEST:
            break
        widths[widest] -= 1
        excess -= 1
    return [
        [cell if n not in words or len(cell) <= widths[n] else cell[: widths[n] - 1] + "…"
         for n, cell in enumerate(row)]
        for row in rows
    ]  # fmt: skip


def _notes(found: Reading) -> List[str]:
    name, notes = found.counter, []
    only = found.settings.get("CEP", "any")
    if found.control and only != "any":
        notes.append("%s: counted only with the filter %s" % (name, only))
    if found.reached:
        if found.preset is None:
            notes.append("%s stands at 0: it has stopped there, or was never preset" % name)
        else:
            notes.append("%s has reached 0 and stopped: there may have been more events" % name)
    if found.overflows and counted_by(name) is None:
        notes.append("%s counts overflows: of which counter is not known, and no total is made" % name)
    if found.high:
        notes.append("%s: bit 31 of %s is set: what it means is not known" % (name, value(name)))
    return notes


def _wrapping(readings: Mapping[str, Reading]) -> List[str]:
    counted = {name: found.mode for name, found in readings.items() if found.elapsed is not None}
    wrap = [name for name, mode in counted.items() if mode in WRAPPING]
    may = [name for name, mode in counted.items() if mode not in (*WRAPPING, "oneshot")]
    lines = []
    if wrap:
        lines.append("%s on at 0: elapsed is modulo %s (2^31)" % (_run(wrap), count(WIDTH.modulus)))
    if may:
        lines.append("whether %s on at 0 is not known: elapsed may be modulo 2^31" % _run(may))
    return lines


def _run(names: Sequence[str]) -> str:
    return "%s run%s" % (", ".join(names), "s" if len(names) == 1 else "")


def _totals(readings: Mapping[str, Reading]) -> List[str]:
    lines = []
    for counting, counted in pairs(readings):
        together, why = total(counting, counted), missed(counting, counted)
        both = "%s and %s: " % (counting.counter, counted.counter)
        event = counted.settings.get("CE", "events")
        if together is None:
            lines.append(both + "the total is not known, since a preset is not")
        elif why:
            lines.append(both + "at least %s %s: %s" % (count(max(together, 0)), event, why))
        else:
            lines.append(
                both
                + "%s %s = %s * 2^31 %s %s (read with the target stopped, %s twice)"
                % (
                    *(count(together), event, plural((counting.preset or 0) - counting.count, "overflow")),
                    *_signed((counted.preset or 0) - counted.count),
                    counting.counter,
                )
            )
    return lines


def _signed(number: int) -> "tuple[str, str]":
    return ("-" if number < 0 else "+"), count(abs(number))


def _unknown(readings: Mapping[str, Reading]) -> List[str]:
    """Why a preset is not known, the counters with one reason together."""
    reasons: "dict[str, list[str]]" = {}
    for found in readings.values():
        if found.preset is None and found.control:
            reasons.setdefault(found.why, []).append(found.counter)
    lines = ["%s: preset not known: %s" % (", ".join(names), why) for why, names in reasons.items()]
    missing = [f for f in ("CENM", "CE", "CEP", "CDM", "CMODE") if f not in readings["A0"].settings]
    if missing:
        lines.append(
            "where these lie in %s and its like is not known: %s" % (control("A0"), ", ".join(missing))
        )
    return lines
