"""Ways in which the trace buffer stays empty, or holds what cannot be believed.

The rows of the article's trouble table that concern the trace: the buffer is empty; its data are garbled.
"""

from __future__ import annotations

from typing import Callable, Iterator, Optional, Tuple, Union

from gdb_prof.counters.description import numbers
from gdb_prof.counters.dpu.capture import end_is_inclusive
from gdb_prof.counters.dpu.evidence import Finding, NotKnown, Seen, Severity, Unknown
from gdb_prof.counters.dpu.reading import COUNTERS, control, meaning, wrap_flag
from gdb_prof.counters.dpu.records import BURST
from gdb_prof.errors import FileError
from gdb_prof.wording import plural

Result = Iterator[Union[Finding, Unknown]]
_WHERE = (("DP_TSA",), ("DP_TW",))
_CONFIGURATION = ("DP_TSA", "DP_TEA", "DP_TER")
_FREE = ("EN", "TMPDIS")
"""Fields of DP_TC that may be changed while it records."""


def _empty(seen: Seen) -> bool:
    """The write pointer has not moved, as far as can be told. Raises NotKnown."""
    start, pointer = seen.values["DP_TSA"], seen.values["DP_TW"]
    if pointer != start:
        # before it was ever enabled the pointer stands wherever it did
        return not _inside(seen, pointer) and not seen.field("DP_TC", "EN")
    return not _wrapped(seen)


def _inside(seen: Seen, pointer: int) -> bool:
    """Or just behind it, where a buffer is full."""
    return seen.values["DP_TSA"] <= pointer <= _beyond(seen)


def _beyond(seen: Seen) -> int:
    """The first address behind the buffer."""
    return seen.values["DP_TEA"] + (1 if end_is_inclusive(seen.description) else 0)


def _wrapped(seen: Seen) -> bool:
    """False also where nobody knows how to tell: a buffer that has wrapped just to its start is rare."""
    flag = wrap_flag(seen.description)
    return flag is not None and bool(flag.of(seen.values.get(flag.register, 0)))


def enabled(seen: Seen) -> Result:
    if _empty(seen) and not seen.field("DP_TC", "EN"):
        yield seen.finding(
            "trace-disabled",
            Severity.WRONG,
            "the trace buffer is empty, and not enabled",
            "dpu trace start, then let the program run",
            ("DP_TC", "EN"),
            *_WHERE,
        )


def paused(seen: Seen) -> Result:
    if _empty(seen) and seen.field("DP_TC", "EN") and seen.field("DP_TC", "TMPDIS"):
        yield seen.finding(
            "paused",
            Severity.WRONG,
            "the trace buffer is empty, and paused",
            "dpu trace resume",
            ("DP_TC", "EN", "TMPDIS"),
            *_WHERE,
        )


def unit_off(seen: Seen) -> Result:
    if _empty(seen) and not seen.field("DP_CR", "EN"):
        yield seen.finding(
            "trace-unit",
            Severity.WRONG,
            "the trace buffer is empty, and the unit is disabled",
            "dpu trace start, which sets EN of the unit, too (after dpu trace stop where it is on)",
            ("DP_CR", "EN"),
            *_WHERE,
        )


def event(seen: Seen) -> Result:
    if _empty(seen) and seen.has("DP_TC", "VTBWM", "request"):
        yield seen.finding(
            "event",
            Severity.WRONG,
            "the trace buffer is empty: the event that starts it, an access at 0x%08x, never occurred"
            % seen.values["DP_TER"],
            "dpu trace setup … -event-at, with an address that the program uses",
            ("DP_TC", "VTBWM"),
            ("DP_TER",),
            *_WHERE,
        )


def silent(seen: Seen) -> Result:
    """Enabled and empty, with nothing to be seen in the registers that would say why."""
    fine = seen.field("DP_TC", "EN") and not seen.field("DP_TC", "TMPDIS")
    if not fine or not _empty(seen) or any(_finds(look, seen) for look in (unit_off, event, place)):
        return
    yield seen.finding(
        "silent",
        Severity.REMARK,
        "the trace buffer is empty: no record has come, or less than a burst",
        "let the program run; dpu trace stop writes out a burst that is not full",
        ("DP_TC", "EN", "TMODE"),
        *_WHERE,
    )


def _finds(look: Callable[[Seen], Result], seen: Seen) -> bool:
    try:
        return any(isinstance(found, Finding) for found in look(seen))
    except NotKnown:
        return False


# -- where the buffer lies -----------------------------------------------------------


def place(seen: Seen) -> Result:
    """Outside of the memory that the unit can write, or not aligned to its bursts."""
    start, beyond = seen.values["DP_TSA"], _beyond(seen)
    if beyond <= start:
        yield _misplaced(seen, "it ends before it begins")
    elif beyond - start < BURST:
        yield _misplaced(seen, "it has %s, less than a burst of %d" % (plural(beyond - start, "byte"), BURST))
    alignment = _alignment(seen)
    if isinstance(alignment, Unknown):
        yield alignment
    elif start % alignment:
        yield _misplaced(seen, "its start is not aligned to %d bytes" % alignment)
    limits = _range(seen)
    if limits is None:
        yield Unknown(
            "a buffer outside the memory that the unit writes",
            "where Bank 3 lies is not known: give the description rule,vtb_range,LOW BEYOND",
        )
    elif not (limits[0] <= start and beyond <= limits[1]):
        yield _misplaced(seen, "it lies outside 0x%08x to 0x%08x" % (limits[0], limits[1] - 1))


def _misplaced(seen: Seen, what: str) -> Finding:
    return seen.finding(
        "address",
        Severity.WRONG,
        "the trace buffer is where nothing is recorded: %s" % what,
        "dpu trace stop, then dpu trace setup -start and -size anew",
        ("DP_TSA",),
        ("DP_TEA",),
        ("DP_TC", "BURST_SIZE"),
    )


def _alignment(seen: Seen) -> "int | Unknown":
    what = "the alignment of the buffer"
    try:
        burst = meaning(seen.description, "BURST_SIZE", seen.field("DP_TC", "BURST_SIZE"))
        rule = seen.description.fact("rule", "vtb_alignment_%s" % burst)
        if rule is None:
            return Unknown(what, "no rule for bursts of BURST_SIZE=%s" % burst)
        return numbers(rule, 1)[0]
    except (NotKnown, FileError) as unknown:
        return Unknown(what, str(unknown))


def _range(seen: Seen) -> Optional[Tuple[int, int]]:
    rule = seen.description.fact("rule", "vtb_range")
    if rule is None or rule.value == "?":
        return None
    low, beyond = numbers(rule, 2)
    return low, beyond


def pointer(seen: Seen) -> Result:
    """Enabled, and the unit writes elsewhere."""
    if _beyond(seen) <= seen.values["DP_TSA"]:
        return  # nowhere would be inside
    if seen.field("DP_TC", "EN") and not _inside(seen, seen.values["DP_TW"]):
        yield seen.finding(
            "pointer",
            Severity.WRONG,
            "the write pointer lies outside the trace buffer",
            "dpu trace stop, then dpu trace setup anew",
            *(("DP_TSA",), ("DP_TEA",), ("DP_TW",)),
        )


def full(seen: Seen) -> Result:
    """A buffer that is written once, to its end."""
    if seen.has("DP_TC", "VTBWM", "single") and seen.values["DP_TW"] == _beyond(seen) > seen.values["DP_TSA"]:
        yield seen.finding(
            "full",
            Severity.REMARK,
            "the trace buffer is full: in mode single nothing that came later was recorded",
            "dpu trace stop and dump; a larger -size, or -mode overwrite, where the last records count",
            ("DP_TC", "VTBWM"),
            ("DP_TEA",),
            ("DP_TW",),
        )


def codes(seen: Seen) -> Result:
    """Numbers in DP_TC that the description has no meaning for."""
    for name in ("TMODE", "VTBWM", "BURST_SIZE"):
        field = seen.description.placed("DP_TC", name)
        if field is None:
            yield Unknown("the code of %s" % name, "where %s lies is not known" % name)
        elif all(code.value != field.of(seen.values["DP_TC"]) for code in seen.description.codes(name)):
            yield seen.finding(
                "code",
                Severity.DOUBT,
                "what %s = %d means is not known" % (name, field.of(seen.values["DP_TC"])),
                "dpu trace stop, then dpu trace setup, or a row code,%s.… in the description" % name,
                ("DP_TC", name),
            )


# -- garbled data --------------------------------------------------------------------


def changed(seen: Seen) -> Result:
    """Not as this session left it. While EN is set a change garbles what is recorded."""
    names = [n for n in _CONFIGURATION if n in seen.written and seen.values[n] != seen.written[n]]
    if "DP_TC" in seen.written:
        free = sum(seen.placed("DP_TC", name).mask for name in _FREE)
        if (seen.values["DP_TC"] ^ seen.written["DP_TC"]) & ~free:
            names.append("DP_TC")
    if not names:
        return
    on = seen.field("DP_TC", "EN")
    yield seen.finding(
        "changed",
        Severity.WRONG if on else Severity.DOUBT,
        "the trace was set up anew by somebody else: %s%s"
        % (", ".join(names), ", and it is enabled" if on else ""),
        "change it only while EN is clear: records made across the change are garbled",
        *((name,) for name in names),
        ("DP_TC", "EN"),
        more=tuple("this session wrote %s = 0x%08x" % (name, seen.written[name]) for name in names),
    )


def counters_changed(seen: Seen) -> Result:
    """The same of counters, whose figures then mean something else."""
    for counter in COUNTERS:
        name = control(counter)
        if name in seen.written and seen.written[name] != seen.values[name]:
            yield seen.finding(
                "changed",
                Severity.DOUBT,
                "%s was set anew by somebody else: from when on it has counted this is not known" % counter,
                "dpu counter %s … again, or leave it to the program alone" % counter,
                (name, "CENM", "CE", "CEP", "CDM", "CMODE"),
                more=("this session wrote %s = 0x%08x" % (name, seen.written[name]),),
            )


def ended(seen: Seen) -> Result:
    """Off, where this session set it on and paused it no more: somebody else has cleared EN."""
    if "DP_TC" not in seen.written or seen.field("DP_TC", "EN"):
        return
    left = seen.written["DP_TC"]
    if seen.placed("DP_TC", "EN").of(left) and not seen.placed("DP_TC", "TMPDIS").of(left):
        yield seen.finding(
            "flush",
            Severity.DOUBT,
            "the trace was ended by somebody else, not by dpu trace stop: unless that was in the order of "
            "dpu trace stop -print, which no register tells, it was not flushed, and the newest records may "
            "be missing",
            "end it by dpu trace stop",
            ("DP_TC", "EN"),
            ("DP_TW",),
            more=("this session wrote DP_TC = 0x%08x" % left,),
        )


def flushed(seen: Seen) -> Result:
    """Still busy though nothing runs: what is in the buffer is not all."""
    if seen.field("DP_SR", "TWBA"):
        yield seen.finding(
            "flush",
            Severity.WRONG,
            "the trace is not flushed: its writes stay busy, and the newest records are not in the buffer",
            "dpu trace stop, which waits for it; where it stays so reset the unit",
            ("DP_SR", "TWBA"),
            more=("DP_SR was read %d times" % seen.busy_reads,),
        )


OF_TRACE = (
    ("a trace that is not enabled", enabled),
    ("a trace that is paused", paused),
    ("a trace in a disabled unit", unit_off),
    ("an event that never occurs", event),
    ("a buffer that nothing can be written to", place),
    ("a write pointer outside", pointer),
    ("a full buffer", full),
    ("codes of the trace's control", codes),
    ("a trace that has nothing to record", silent),
    ("a changed configuration", changed),
    ("a trace that somebody else ended", ended),
    ("a trace that is not flushed", flushed),
)
