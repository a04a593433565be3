"""Tables and sentences: what is there, what was counted, what follows from it."""

from __future__ import annotations

import collections
import statistics
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.cortexm import dwt, pmu
from gdb_prof.counters.cortexm.counter import (
    AT_LEAST,
    CYCCNT,
    CYCLES,
    DIFFERS,
    HALTS,
    SLEEP,
    UNKNOWN,
    Figure,
    Reading,
)
from gdb_prof.counters.cortexm.derived import IDENTITY, Derived, derived, withheld
from gdb_prof.counters.cortexm.dwt import REGISTERS, Dwt
from gdb_prof.wording import aligned, count, plural

EXACT = "exact"
_LATE_S = 0.5
"""It does not take so long to start and stop the program: more by the host's clock was spent elsewhere."""
_AWAKE = 0.9


def figures_table(figures: Sequence[Figure]) -> List[str]:
    """A row an event."""
    rows = [("event", "count", "known", "counter")]
    for figure in figures:
        rows.append((figure.counter.name, _count(figure), _known(figure), figure.counter.place))
    return _indented(aligned(rows, ("left", "right", "left", "left")))


def _count(figure: Figure) -> str:
    return "?" if figure.doubt == UNKNOWN else count(figure.count)


def derived_table(figures: Sequence[Figure]) -> List[str]:
    rows = [(each.name, each.text) for each in derived(figures)]
    return _indented(aligned(rows, ("left", "right"))) if rows else []


def laps_table(laps: Sequence[Sequence[Figure]], hz: Optional[int]) -> List[str]:
    """Least, median and most of each event, and of what follows from the counts of each lap."""
    rows: List[Sequence[str]] = [("event", "min", "median", "max", "known")]
    for figures in zip(*laps):
        known = collections.Counter(_known(figure) for figure in figures if not figure.exact)
        parts = ["%s in %d of %d" % (how, times, len(figures)) for how, times in known.items()]
        counts = [f.count for f in figures if f.doubt != UNKNOWN]
        spread = _spread(counts, _number) if counts else ("?",) * 3
        rows.append((figures[0].counter.name, *spread, ", ".join(parts) or EXACT))
    cycles = max(
        (
            [f.count for f in figures if f.exact]
            for figures in zip(*laps)
            if figures[0].counter.name in CYCLES
        ),
        key=len,
        default=[],
    )
    if cycles and hz:
        times = _spread([cycle / hz * 1e6 for cycle in cycles], "{:,.3f}".format)
        rows.append(("time, us", *times, _part(len(cycles), len(laps))))
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
        rows.append((name, *texts, _part(len(found), len(laps))))
    return rows


def _part(number: int, of: int) -> str:
    return "" if number == of else "in %d of %d" % (number, of)


def _spread(values: Sequence[float], text: Callable[[float], str]) -> Tuple[str, str, str]:
    return text(min(values)), text(statistics.median(values)), text(max(values))


def _number(value: float) -> str:
    return "{:,.0f}".format(value) if value == int(value) else "{:,.1f}".format(value)


def _known(figure: Figure) -> str:
    if figure.exact or figure.doubt:
        return figure.doubt or EXACT
    if figure.stands:
        return "stands"
    bits = figure.counter.width.bits
    return "mod %s" % (count(1 << bits) if bits < 32 else "2^32")


def _indented(lines: Sequence[str]) -> List[str]:
    return ["  " + line for line in lines]


# -- what the reader must know ----------------------------------------------------------


def remarks(figures: Sequence[Figure]) -> List[str]:
    """Of wraps, and of the figures that are not there."""
    said: List[str] = _of_doubts(figures)
    cycles = next((f for f in figures if f.counter.name in CYCLES), None)
    narrow = [f for f in figures if not f.exact and not f.counter.flagged and f.counter.width.bits == 8]
    few = cycles is not None and cycles.exact and cycles.count < 1 << 8
    slept = [f for f in narrow if few and f.counter.name == SLEEP]
    for these in (slept, [f for f in narrow if f not in slept]):
        why = "how many cycles passed is not known"
        if cycles is not None and cycles.exact:
            why = "%s passed" % plural(cycles.count, "cycle")
        if these is slept:
            why += ", and CYCCNT may have stood in sleep"
        if these:
            names = ", ".join(f.counter.name for f in these)
            said.append("8 bits wrap at 256: %s: of %s only what is left modulo 256 is known" % (why, names))
    flagged = [f for f in figures if not (f.exact or f.doubt or f.stands) and f.counter.flagged]
    if flagged:
        names = ", ".join(f.counter.name for f in flagged)
        said.append(
            "overflow flags were set, or the program can have cleared one (16 bits wrap at 65,536, and "
            "fewer cycles are not known to have passed): %s counted so much or any number of wraps more"
            % names
        )
    missing = withheld(figures)
    if missing:
        said.append("not given, since they need exact counts: %s" % ", ".join(missing))
    if any(each.name == "instructions" for each in derived(figures)):
        said.append("instructions: %s (Armv7-M ARM, C1.8)" % IDENTITY)
    return said


def _of_doubts(figures: Sequence[Figure]) -> List[str]:
    said = []
    for doubt, flagged, why in (
        (
            UNKNOWN,
            False,
            "was written meanwhile, ran unseen by GDB, or the clock is another: what it counted",
        ),
        (UNKNOWN, True, "went back without an overflow, so it was written meanwhile: what it counted"),
        (
            AT_LEAST,
            True,
            "may have stood for a while, since with PMU_CTRL.FRZ_ON_OV a flag in PMU_OVSSET stops all: how "
            "much more there was",
        ),
    ):
        names = [f.counter.name for f in figures if (f.doubt, f.counter.flagged) == (doubt, flagged)]
        if names:
            said.append("%s %s is not known" % (", ".join(names), why))
    differ = [f.counter.name for f in figures if f.doubt == DIFFERS]
    if differ:
        said.append(
            "%s are to count the same cycles, and differ: one was written or stood meanwhile, and which is "
            "right is not known" % " and ".join(differ)
        )
    halts = [f.counter.name for f in figures if f.doubt == HALTS]
    if halts:
        said.append(
            "%s went on while the core was halted: how much of it the program took is not known"
            % ", ".join(halts)
        )
    return said


def worst(laps: Sequence[Sequence[Figure]]) -> List[Figure]:
    """Of each event what is known least of all laps, else the most."""
    return [max(figures, key=lambda f: (not f.exact, bool(f.doubt), f.count)) for figures in zip(*laps)]


def cost(figures: Sequence[Figure]) -> str:
    """What the measurement itself counts, by one stepped instruction."""
    counts = ", ".join("%s %s" % (f.counter.name, _count(f)) for f in figures if f.count)
    return "cost of measuring: one stepped instruction and its halt count %s; two halts are in each count" % (
        counts or "nothing"
    )


def stuck(figures: Sequence[Figure], reading: Reading) -> List[str]:
    """Cycle counters that have stood while the program ran, and what there is to know of them."""
    said = []
    for figure in (figure for figure in figures if figure.stands):
        name, place = figure.counter.name, figure.counter.place
        enabled = "NOCYCCNT is 0, CYCCNTENA 1" if name == CYCCNT else "its bit in PMU_CNTENSET is 1"
        secure = "DWT_CTRL.CYCDISS" if name == CYCCNT else "PMU_CTRL.CYCCNT_DISABLE"
        said.append(
            "%s does not move though the program ran: it reads 0x%08x each time; %s, DEMCR.TRCENA 1: there "
            "is none, or the part has it off, or the core slept, or was where %s has it stand"
            % (place, reading.values[name], enabled, secure)
        )
    return said


def asleep(laps: Sequence[Tuple[Sequence[Figure], float]], hz: Optional[int]) -> List[str]:
    """What sleep does to the cycles, of the lap in which that is most. Each with the seconds that it ran, by
    the host's clock, or longer."""
    said = [_of_sleep(figures, hz, ran_s) for figures, ran_s in laps]
    found = min((each for each in said if each is not None), default=None)
    if found is None:
        return []
    return ["in one of %d: %s" % (len(laps), found[1]) if len(laps) > 1 and found[0] < 1 else found[1]]


def _of_sleep(figures: Sequence[Figure], hz: Optional[int], ran_s: float) -> Optional[Tuple[float, str]]:
    """The less awake it was, the less is the number before it; 1 where that is not known."""
    by_name = {figure.counter.name: figure for figure in figures}
    cycles, slept = by_name.get(CYCCNT), by_name.get(SLEEP)
    if cycles is None or not cycles.count or (slept is not None and slept.exact and not slept.count):
        return None
    if slept is not None and cycles.exact and slept.count <= cycles.count < slept.counter.width.modulus:
        share = slept.count / cycles.count
        return 1 - share, (
            "%.1f %% asleep, if CYCCNT goes on then; CYCCNT stops in sleep on many parts, and then more "
            "may have passed" % (100 * share)
        )
    if hz and cycles.exact:
        awake_s = cycles.count / hz
        if awake_s > _AWAKE * ran_s:
            return None
        if ran_s - awake_s > _LATE_S:
            return awake_s / ran_s, (
                "%s counted %.3g s of %.3g s: %.0f %% awake, else halted by a breakpoint that did not stop "
                "it, or the clock is not %s Hz"
                % (cycles.counter.place, awake_s, ran_s, 100 * awake_s / ran_s, count(hz))
            )
    return 1, "where the core sleeps: CYCCNT stops in sleep on many parts; cycles may be those awake only"


def span(figures: Sequence[Figure], hz: Optional[int], ran_s: float) -> List[str]:
    """After how long the cycle counter has wrapped."""
    cycles = next((f for f in figures if f.counter.name in CYCLES), None)
    if cycles is None or cycles.stands or cycles.doubt:
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
            rows.append((register, "", "none: %s" % lacking, ""))
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
        rows.append(("CCNTR", "cycles", _state(seen, pmu.CYCLES_BIT), _value(seen.cycles)))
    return _indented(aligned(rows, ("left", "left", "left", "right")))


def _state(seen: pmu.Seen, bit: int) -> str:
    state = "enabled" if seen.enabled >> bit & 1 else "off"
    return state + (", overflowed" if seen.overflowed >> bit & 1 else "")
