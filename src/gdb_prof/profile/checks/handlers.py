"""Interrupts that the sampler cannot interrupt, and one that it shares."""

from __future__ import annotations

from typing import Iterable, Union

from gdb_prof.profile.checks.evidence import Evidence
from gdb_prof.profile.circumstances import Handler
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.wording import some


def check(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    seen = evidence.profile.circumstances
    if seen.hidden is None:
        yield Unknown("hidden handlers", "the interrupt controller was not read")
    elif seen.hidden:
        yield _hidden(evidence, seen.hidden)
    if seen.tick:
        yield Finding(
            "tick-synchronous",
            Severity.DOUBT,
            1.0,
            "tick-synchronous: the sampler's interrupt is the RTOS's tick, too (%s): what the tick "
            "releases has not begun when the sample is taken: give the sampler a timer of its own"
            % seen.tick,
            (
                "The interrupt that takes the samples goes on to %s. Every sample falls at the same "
                "place of the "
                "tick's own rhythm: a task that works for a while after each tick is never seen, "
                "and its time is charged to what runs when the next one comes." % seen.tick,
            ),
        )


def _hidden(evidence: Evidence, hidden: "tuple[Handler, ...]") -> Finding:
    names = ["%s (priority %d)" % (_name(evidence, handler), handler.priority) for handler in hidden]
    own = evidence.profile.circumstances.sampler_priority or 0
    one = len(hidden) == 1
    remedy = (
        "the sampler has priority %d and not prof_start's 0: start it once the scheduler runs" % own
        if own
        else "give %s a larger priority value than the sampler's 0" % ("it" if one else "them")
    )
    return Finding(
        "hidden handlers",
        Severity.DOUBT,
        0.0,
        "hidden handlers: %s %s invisible; %s time is charged to what runs after: %s"
        % (some(names, 3), "is" if one else "are", "its" if one else "their", remedy),
        (
            "Enabled in the interrupt controller, at the sampler's priority or above: %s. The sampler's "
            "interrupt waits until such a handler returns. How much time that is cannot be seen from here."
            % ", ".join(names),
        ),
    )


def _name(evidence: Evidence, handler: Handler) -> str:
    if handler.exception < 16:
        return evidence.build.name_at(handler.address)
    return "%s, IRQ %d" % (evidence.build.name_at(handler.address), handler.exception - 16)
