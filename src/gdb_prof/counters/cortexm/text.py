"""Tables and sentences: what is there, what was counted, what follows from it."""

from __future__ import annotations

import statistics
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.cortexm import dwt, pmu
from gdb_prof.counters.cortexm.counter import CYCCNT, CYCLES, Figure, Reading
from gdb_prof.counters.cortexm.derived import IDENTITY, Derived, derived, withheld
from gdb_prof.counters.cortexm.dwt import REGISTERS, Dwt
from gdb_prof.wording import aligned, count, plural

EXACT = "exact"
_CYCLES_BIT = 31


def figures_table(figures: Sequence[Figure]) -> List[str]:
    """A row an event."""
    rows = [("event", "count", "known", "counter")]
    for figure in figures:
        rows.append((figure.counter.name, count(figure.count), _known(figure), figure.counter.place))
    return _indented(aligned(rows, ("left", "right", "left", "left")))


def derived_table(figures: Sequence[Figure]) -> List[str]:
    rows = [(each.name, each.text) for each in derived(figures)]
    return _indented(aligned(rows, ("left", "right"))) if rows else []


def laps_table(laps: Sequence[Sequence[Figure]], hz: Optional[int]) -> List[str]:
    """Least, median and most of each event, and of what follows from the counts of each lap."""
    rows: List[Sequence[str]] = [("event", "min", "median", "max", "known")]
    for figures in zip(*laps):
        known = {_known(figure) for figure in figures} - {EXACT}
        known_text = "%s in %d of %d" % (known.pop(), *_inexact(figures)) if known else EXACT
        rows.append((figures[0].counter.name, *_spread([f.count for f in figures], _number), known_text))
    cycles = next((c for c in zip(*laps) if c[0].counter.name in CYCLES), None)
    if cycles is not None and hz:
        rows.append(("time, us", *_spread([f.count / hz * 1e6 for f in cycles], "{:,.3f}".format), ""))
    rows += _derived_laps([derived(figures) for figures in laps])
    return _indented(aligned(rows, ("left", "right", "right", "right", "left")))


def _derived_laps(laps: Sequence[Sequence[Derived]]) -> List[Sequence[str]]:
    by_name: Dict[str, List[Derived]] = {}
    for lap in laps:
        for each in lap:
            by_name.setdefault(each.name, []).append(each)
    rows: List[Sequence[str]] = []
    for name, found in by_name.items():
        texts = _spread([each.value for each in found], found[0].form.__mod__)
        part = "" if len(found) == len(laps) else "in %d of %d" % (len(found), len(laps))
        rows.append((name, *texts, part))
    return rows


def _inexact(figures: Sequence[Figure]) -> Tuple[int, int]:
    return sum(not figure.exact for figure in figures), len(figures)


def _spread(values: Sequence[float], text: Callable[[float], str]) -> Tuple[str, str, str]:
    return text(min(values)), text(statistics.median(values)), text(max(values))


def _number(value: float) -> str:
    return "{:,.0f}".format(value) if value == int(value) else "{:,.1f}".format(value)


def _known(figure: Figure) -> str:
    if figure.exact:
        return EXACT
    if figure.stands:
        return "stands"
    bits = figure.counter.width.bits
    return "mod %s" % (count(1 << bits) if bits < 32 else "2^32")


def _indented(lines: Sequence[str]) -> List[str]:
    return ["  " + line for line in lines]


# -- what the reader must know ----------------------------------------------------------


def remarks(figures: Sequence[Figure]) -> List[str]:
    """Of wraps, of sleep, of the figures that are not there."""
    said: List[str] = []
    cycles = next((f for f in figures if f.counter.name in CYCLES), None)
    narrow = [f for f in figures if not f.exact and not f.counter.flagged and f.counter.width.bits == 8]
    if narrow:
        names = ", ".join(f.counter.name for f in narrow)
        why = "how many cycles passed is not known"
        if cycles is not None and cycles.exact:
            why = "%s passed" % plural(cycles.count, "cycle")
        said.append("8 bits wrap at 256: %s: of %s only what is left modulo 256 is known" % (why, names))
    flagged = [f for f in figures if not f.exact and f.counter.flagged]
    if flagged:
        names = ", ".join(f.counter.name for f in flagged)
        said.append("overflow flags were set: %s counted so much or any number of wraps more" % names)
    missing = withheld(figures)
    if missing:
        said.append("not given, since they need exact counts: %s" % ", ".join(missing))
    if any(each.name == "instructions" for each in derived(figures)):
        said.append("instructions: %s (Armv7-M ARM, C1.8)" % IDENTITY)
    return said + _of_sleep(figures)


def laps_remarks(laps: Sequence[Sequence[Figure]]) -> List[str]:
    """`remarks` of the worst there is of each event."""
    worst = [max(figures, key=lambda f: (not f.exact, f.count)) for figures in zip(*laps)]
    return remarks(worst)


def cost(figures: Sequence[Figure]) -> str:
    """What the measurement itself counts, by one stepped instruction."""
    counts = ", ".join("%s %s" % (f.counter.name, count(f.count)) for f in figures if f.count)
    return "cost of measuring: one stepped instruction and its halt count %s; two halts are in each count" % (
        counts or "nothing"
    )


def stuck(figures: Sequence[Figure], reading: Reading) -> List[str]:
    """Cycle counters that have stood while the program ran, and what there is to know of them."""
    said = []
    for figure in (figure for figure in figures if figure.stands):
        name, place = figure.counter.name, figure.counter.place
        enabled = "NOCYCCNT is 0, CYCCNTENA 1" if name == CYCCNT else "its bit in PMU_CNTENSET is 1"
        said.append(
            "%s does not move though the program ran: it reads 0x%08x each time; %s, DEMCR.TRCENA 1: there "
            "is none, or the part has it off, or the core slept" % (place, reading.values[name], enabled)
        )
    return said


def _of_sleep(figures: Sequence[Figure]) -> List[str]:
    by_name = {figure.counter.name: figure for figure in figures}
    cycles, asleep = by_name.get("cyccnt"), by_name.get("sleep")
    if cycles is None or (asleep is not None and asleep.exact and not asleep.count):
        return []
    return ["where the core sleeps: CYCCNT stops in sleep on many parts; cycles may be those awake only"]


def span(figures: Sequence[Figure], hz: Optional[int], ran_s: float) -> List[str]:
    """After how long the cycle counter has wrapped."""
    cycles = next((f for f in figures if f.counter.name in CYCLES), None)
    if cycles is None or cycles.stands:
        return []
    place, modulus = cycles.counter.place, cycles.counter.width.modulus
    after = "%s wraps after 2^32 cycles" % place
    if hz:
        after += ", %.1f s at %s Hz" % (modulus / hz, count(hz))
    elif not cycles.exact:
        after += ": how long that is is not known: give -clock HZ"
    if cycles.exact:
        return [after] if hz else []
    return ["%s; it may have, in %.1f s" % (after, ran_s)]


# -- what is there ------------------------------------------------------------------------


def dwt_table(unit: Dwt, seen: dwt.Seen, again: dwt.Seen) -> List[str]:
    """The six counters, of two looks one after the other at a core that stands."""
    rows = [("counter", "bits", "state", "value")]
    for event, (register, enable, bits) in REGISTERS.items():
        lacking = unit.lacks(event, seen.ctrl)
        if lacking:
            rows.append((register, "", "none: %s is set" % lacking, ""))
            continue
        on = bool(seen.ctrl & unit.bit(enable))
        moves = seen.values[event] != again.values[event]
        state = ("on, moves while halted" if moves else "on") if on else "off (%s 0)" % enable
        rows.append((register, str(bits), state, _value(again.values[event])))
    return _indented(aligned(rows, ("left", "right", "left", "right")))


def _value(value: int) -> str:
    # by this number one knows a counter that is none
    return "0x%08x" % value if value >= 1 << 28 else count(value)


def pmu_summary(seen: pmu.Seen, enabled: bool) -> str:
    return "PMU: %s of 16 bits, %s; %s (PMU_TYPE 0x%08x)" % (
        plural(seen.number, "event counter"),
        "a cycle counter" if seen.has_cycles else "no cycle counter",
        "enabled" if enabled else "off: PMU_CTRL.ENABLE is 0",
        seen.type,
    )


def pmu_table(seen: pmu.Seen, names: Mapping[int, str]) -> List[str]:
    """`names`: of the events that are programmed."""
    rows = [("counter", "event", "state", "value")]
    for number in range(seen.number):
        rows.append(
            (str(number), names[number], _state(seen, number), count(seen.values[number])),
        )
    if seen.has_cycles:
        rows.append(("CCNTR", "cycles", _state(seen, _CYCLES_BIT), _value(seen.cycles)))
    return _indented(aligned(rows, ("left", "left", "left", "right")))


def _state(seen: pmu.Seen, bit: int) -> str:
    state = "enabled" if seen.enabled >> bit & 1 else "off"
    return state + (", overflowed" if seen.overflowed >> bit & 1 else "")
