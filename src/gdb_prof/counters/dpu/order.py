"""The trace's switches as text for the user's own code, in the article's order, with what is waited for.

What is not known stays visible, as in printing: a field of unknown position is a macro.
"""

from __future__ import annotations

import textwrap
from typing import Dict, List, NamedTuple, Sequence, Tuple

from gdb_prof.counters.dpu.printing import WIDTH, c_comment, c_notes, mask, notes, place
from gdb_prof.counters.registers import Unit, Write

_TRIES = "1000000u"


class Step(NamedTuple):
    """A field to be set to `number`; WAIT until it is so, READ the register."""

    register: str
    field: str
    number: int
    what: str = ""


SET, WAIT, READ = "", "wait", "read"
_FLUSH = (
    Step("DP_SR", "TWBA", 0, WAIT),
    Step("DP_TC", "TMPDIS", 1),
    Step("DP_SR", "TWBA", 0, WAIT),
    Step("DP_TW", "", 0, READ),
)
_ORDERS: Dict[str, Tuple[Step, ...]] = {
    "start": (Step("DP_TC", "TMPDIS", 0), Step("DP_TC", "EN", 1)),
    "pause": _FLUSH,
    "resume": (Step("DP_TC", "TMPDIS", 0),),
    "stop": (*_FLUSH, Step("DP_TC", "EN", 0), Step("DP_TC", "TMPDIS", 0)),
}


def order(verb: str, unit: Unit) -> Tuple[Step, ...]:
    """`verb`: start, pause, resume or stop."""
    known = verb == "start" and unit.description.placed("DP_CR", "EN") is not None
    return (*([Step("DP_CR", "EN", 1)] if known else []), *_ORDERS[verb])


def as_values(steps: Sequence[Step], unit: Unit, width: int = WIDTH) -> List[str]:
    """A line each, then what they rest on."""
    lines = []
    for step in steps:
        if step.what == READ:
            lines.append("%s: read it, the address that would be written next" % step.register)
            continue
        bits = mask(_ones(step, unit))
        said = "%s=%d" % (step.field, step.number)
        if step.what == WAIT:
            lines.append("wait until %s & %s is 0  %s" % (step.register, bits, said))
        else:
            lines.append(
                "%s %s %s  %s"
                % (step.register, "|=" if step.number else "&=", bits if step.number else "~" + bits, said)
            )
    return lines + notes(_writes(steps, unit), unit, width, _starts(steps))


def as_c(steps: Sequence[Step], unit: Unit, width: int = WIDTH) -> List[str]:
    """Statements of a function of the user's own that returns nothing."""
    lines = []
    if any(step.what == WAIT for step in steps):
        lines += [*c_comment("with interrupts off from here to the end", width), "uint32_t left, next;"]
    for step in steps:
        where = place(step.register, unit)
        if step.what == READ:
            lines += c_comment("%s: the address that would be written next" % step.register, width)
            lines.append("next = %s;" % where)
            continue
        bits = mask(_ones(step, unit), "u")
        if step.what == WAIT:
            lines += c_comment("%s: wait for %s=%d" % (step.register, step.field, step.number), width)
            loop = "for (left = %s; left && (%s & (%s)); left--) { }" % (_TRIES, where, bits)
            lines += textwrap.wrap(loop, width, subsequent_indent="     ", break_long_words=False)
            lines.append("if (!left) return; /* still busy: nothing more is changed */")
        else:
            lines += c_comment("%s: %s=%d" % (step.register, step.field, step.number), width)
            lines.append("%s %s;" % (where, "|= %s" % bits if step.number else "&= ~(%s)" % bits))
    return lines + c_notes(_writes(steps, unit), unit, width, _starts(steps))


def _starts(steps: Sequence[Step]) -> bool:
    """Whether the unit has to be on."""
    return any((step.register, step.field, step.number) == ("DP_TC", "EN", 1) for step in steps)


def _ones(step: Step, unit: Unit) -> Write:
    return unit.setting(step.register, {step.field: 1})


def _writes(steps: Sequence[Step], unit: Unit) -> List[Write]:
    return [_ones(step, unit) if step.field else unit.raw(step.register, 0) for step in steps]
