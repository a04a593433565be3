"""Ways in which the counters count nothing, or something else than was meant.

The rows of the article's trouble table that concern counters: a counter stays at zero; counts differ from
software timing; an extended count is wrong.
"""

from __future__ import annotations

from typing import Iterator, Optional, Sequence, Union

from gdb_prof.counters.dpu.evidence import Finding, NotKnown, Seen, Severity, Unknown
from gdb_prof.counters.dpu.reading import (
    COUNTERS,
    PAIR,
    Reading,
    control,
    counted_by,
    missed,
    value,
)
from gdb_prof.wording import plural

Result = Iterator[Union[Finding, Unknown]]


def start(seen: Seen) -> Result:
    """Set, but with no event that starts it."""
    for found in seen.used():
        name = control(found.counter)
        if found.control and not seen.has(name, "CENM", "none"):
            continue
        yield seen.finding(
            "start",
            Severity.WRONG,
            "%s never starts: it has no start event" % found.counter,
            "dpu counter %s … -start, with an event" % found.counter,
            (name, "CENM"),
        )


def disabled(seen: Seen) -> Result:
    """The unit as a whole is off, and a counter that waits for it has counted nothing yet."""
    waiting = [found for found in seen.used() if found.control and found.elapsed in (None, 0)]
    if not waiting or seen.field("DP_CR", "EN"):
        return
    yield seen.finding(
        "disabled",
        Severity.WRONG,
        "the unit is disabled: nothing is counted (%s)" % ", ".join(found.counter for found in waiting),
        "dpu counter %s … again, which sets EN, too" % waiting[0].counter,
        ("DP_CR", "EN"),
        *((control(found.counter),) for found in waiting),
    )


def filtered(seen: Seen) -> Result:
    """Nothing counted, with a filter that may be why."""
    for found in seen.used():
        name = control(found.counter)
        if found.overflows or found.elapsed or not found.control or seen.has(name, "CEP", "any"):
            continue
        if found.elapsed is None:
            yield Unknown("filter of %s" % found.counter, _uncounted(found))
            continue
        only = found.settings["CEP"]
        shown = [(name, "CEP"), (value(found.counter),)]
        if only == "task":
            shown.append(("DP_RPID",))
        yield seen.finding(
            "filter",
            Severity.DOUBT,
            "%s has counted nothing, and its filter lets only this through: %s" % (found.counter, only),
            "DP_RPID is to hold the ID of the task that is meant"
            if only == "task"
            else "dpu counter %s … -filter any, to see whether anything is to be counted" % found.counter,
            *shown,
        )


def _uncounted(found: Reading) -> str:
    return "whether it has counted is not known: %s" % found.why


def nothing(seen: Seen) -> Result:
    """Nothing counted where all that the registers can say is right."""
    idle = []
    for found in seen.used():
        if found.control and found.elapsed is None:
            yield Unknown("whether %s counts" % found.counter, found.why)
        elif found.control and found.elapsed == 0 and not found.overflows and not _explained(seen, found):
            idle.append(found)
    if idle:
        yield seen.finding(
            "nothing",
            Severity.REMARK,
            "%s counted nothing: what starts it has not come, or nothing that it counts" % _have(idle),
            "let the program run, past the start event",
            *(shown for f in idle for shown in ((control(f.counter), "CENM", "CE"), (value(f.counter),))),
        )


def _have(counters: Sequence[Reading]) -> str:
    names = ", ".join(found.counter for found in counters)
    return "%s %s" % (names, "has" if len(counters) == 1 else "have each")


def _explained(seen: Seen, found: Reading) -> bool:
    """Whether another check says why."""
    try:
        unit_off = not seen.field("DP_CR", "EN")
    except NotKnown:
        unit_off = False
    said = found.settings
    return unit_off or said.get("CENM") == "none" or said.get("CEP", "any") != "any"


def reached(seen: Seen) -> Result:
    """A counter that stopped at 0 has counted its preset, and there may have been more."""
    for found in seen.used():
        if found.reached and not found.overflows:
            yield seen.finding(
                "zero",
                Severity.REMARK,
                "%s stands at 0, where mode oneshot stops: there may have been more events" % found.counter,
                "a larger preset, or A1 counting the overflows of A2",
                (control(found.counter), "CMODE"),
                (value(found.counter),),
            )


def kinds(seen: Seen) -> Result:
    """Cycles that are fewer than a software timer's."""
    for found in seen.used():
        name = control(found.counter)
        if seen.has(name, "CE", "application_cycles"):
            yield seen.finding(
                "cycles",
                Severity.REMARK,
                "%s leaves out the cycles in wait and stop: it counts less than software timing"
                % found.counter,
                "dpu counter %s -event cycles …, where idle time is to be in it" % found.counter,
                (name, "CE"),
            )


def stops(seen: Seen) -> Result:
    """Cycles without those that a debugger took."""
    for found in seen.used():
        name, number = control(found.counter), seen.stops.get(found.counter, 0)
        if number and (seen.has(name, "CE", "cycles") or seen.has(name, "CE", "application_cycles")):
            yield seen.finding(
                "stops",
                Severity.REMARK,
                "%s was set before %s of the debugger: no cycles are counted in debug, where software "
                "timing goes on" % (found.counter, plural(number, "stop")),
                "compare only what ran without a stop in between",
                (name, "CE"),
            )


# -- extended counting ---------------------------------------------------------------


def overflows(seen: Seen) -> Result:
    """A counter of overflows, and what keeps it from counting all of them."""
    for name in COUNTERS:
        found = seen.readings[name]
        if not found.control or not seen.has(control(name), "CE", "overflow"):
            continue
        after = counted_by(name)
        if after is None:
            yield _unsaid(seen, found)
            continue
        if not seen.has(control(after), "CMODE", "extended"):
            yield seen.finding(
                "extended",
                Severity.WRONG,
                "%s counts the overflows of %s, which is not extended and has none to be counted"
                % (name, after),
                "dpu counter %s -mode extended …" % after,
                (control(name), "CE"),
                (control(after), "CMODE"),
            )
        yield from _missing(seen, found, seen.readings[after])


def _unsaid(seen: Seen, found: Reading) -> Finding:
    return seen.finding(
        "extended",
        Severity.DOUBT,
        "%s counts overflows, and of which counter is not known: no total can be made" % found.counter,
        "let %s count the overflows of %s, as the article has it" % PAIR,
        (control(found.counter), "CE", "CMODE"),
    )


def _missing(seen: Seen, found: Reading, after: Reading) -> Result:
    """What `missed` says of the pair, and what is not to be seen."""
    name = control(found.counter)
    if not seen.has(name, "CEP", "any"):
        yield seen.finding(
            "extended",
            Severity.WRONG,
            "%s misses overflows: its filter must be any (CEP = 00) where overflows are counted"
            % found.counter,
            "dpu counter %s -event overflow -filter any …" % found.counter,
            (name, "CE", "CEP"),
        )
        return
    why = missed(found, after)
    if why:
        yield seen.finding(
            "extended",
            Severity.DOUBT,
            "the total of %s and %s is no more than a lower bound: %s" % (found.counter, after.counter, why),
            "set both anew, with the same -start and -stop, and %s with a larger preset" % found.counter
            if found.reached
            else "give both the same -start and -stop",
            (name, "CENM", "CDM"),
            (value(found.counter),),
            (control(after.counter), "CENM", "CDM"),
        )


def extended(seen: Seen) -> Result:
    """A counter that wraps, with or without one that counts how often."""
    for name in COUNTERS:
        found = seen.readings[name]
        if found.control and seen.has(control(name), "CMODE", "extended"):
            yield from _counted(seen, found, seen.readings[PAIR[0]] if name == PAIR[1] else None)


def _counted(seen: Seen, found: Reading, before: Optional[Reading]) -> Iterator[Finding]:
    if found.overflows:
        return  # it is itself the one that counts, and wraps only after 2**62
    if before is not None and before.control and seen.has(control(before.counter), "CE", "overflow"):
        return
    yield seen.finding(
        "extended",
        Severity.DOUBT,
        "%s wraps in mode extended and nothing %s how often: what is beyond 2^31 is lost"
        % (found.counter, "counts" if before else "is known to count"),
        "dpu counter %s -event overflow …" % before.counter
        if before
        else "take %s, whose overflows %s counts" % (PAIR[1], PAIR[0]),
        (control(found.counter), "CMODE"),
        *(((control(before.counter), "CE"),) if before else ()),
    )


LOOKS = (
    ("a counter without a start event", start),
    ("a disabled unit", disabled),
    ("filters", filtered),
    ("counters that count nothing", nothing),
    ("counters at 0", reached),
    ("kinds of cycles", kinds),
    ("stops of the debugger", stops),
    ("counters of overflows", overflows),
    ("extended counting", extended),
)
