"""Time with interrupts masked, and of handlers that the program pends itself."""

from __future__ import annotations

from typing import Iterable, List, Optional, Union

from gdb_prof.profile.checks.evidence import Evidence
from gdb_prof.profile.checks.piles import Pile, Section
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.wording import base, count, percent, some

NO_INSTRUCTIONS = "the program's instructions are not at hand"

_MOST_SECTIONS = 3
_HOTTEST = 8


def check(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    histogram = evidence.profile.histogram
    if histogram is not None and histogram.shift > 1:
        yield Unknown(
            "masked interrupts, emulator",
            "bins of %d bytes do not tell one instruction from the next" % (1 << histogram.shift),
        )
    elif not any(evidence.build.code.function(pc) for pc in evidence.hottest(_HOTTEST)):
        yield Unknown("masked interrupts, emulator", NO_INSTRUCTIONS)
    for pile in evidence.piles:
        if not pile.asleep:
            yield _pended(evidence, pile) if pile.pended is not None else _masked(evidence, pile)


def _masked(evidence: Evidence, pile: Pile) -> Finding:
    place = evidence.build.name_at(pile.address)
    part = evidence.part(pile.samples)
    by = pile.by.shown
    if pile.sections:
        known = all(samples is not None for _, samples in pile.sections)
        either = "; and " if known else "; or "
        where = either.join(_where(evidence, *section) for section in pile.sections[:_MOST_SECTIONS])
        if len(pile.sections) > _MOST_SECTIONS:
            where += either + "%d more" % (len(pile.sections) - _MOST_SECTIONS)
        what = "is time in the masked section ending here: %s" % where
    else:
        what = "is time in masked sections that end here; where they begin was not found"
    evidence_: List[str] = [
        "%s samples are at %s (0x%08x), the instruction after `%s` at %s, which has %s. Both are executed "
        "equally often: what comes on top is the time for which the sampler's interrupt waited, with "
        "interrupts masked. The table charges it to %s."
        % (
            *(count(evidence.counts.get(pile.address, 0)), place, pile.address, by),
            evidence.build.name_at(pile.by.address),
            count(evidence.counts.get(pile.by.address, 0)),
            place.rsplit("+", 1)[0],
        )
    ]
    for section, samples in pile.sections:
        evidence_.append(_described(evidence, section, samples))
    if not pile.sections:
        evidence_.append(
            "Nothing that masks interrupts stands before it, in this function or where it is called "
            "directly. With PROF_LR=1 the samples would tell the caller."
        )
    elif len(pile.sections) > 1 and all(samples is None for _, samples in pile.sections):
        evidence_.append(
            "Which of these sections has how much is not recorded: with PROF_LR=1 the samples tell."
        )
    evidence_.append(
        "A masked section shorter than the sampling period costs no samples: the share is right, "
        "only its place is not."
    )
    return Finding(
        "masked interrupts",
        Severity.WRONG,
        part,
        "masked interrupts: %s at %s, after `%s`, %s" % (percent(part), place, by, what),
        tuple(evidence_),
        frozenset((pile.address,)),
    )


def _where(evidence: Evidence, section: Section, samples: Optional[int]) -> str:
    share = "" if samples is None else " (%s)" % percent(evidence.part(samples))
    source = " (%s)" % _lines(evidence, section)
    if section.calls:
        return "%s%s, called in %s%s" % (some(section.calls, 3), share, section.host, source)
    return section.host + share + source


def _described(evidence: Evidence, section: Section, samples: Optional[int]) -> str:
    calls = ", which calls %s" % ", ".join(section.calls) if section.calls else ""
    share = (
        ""
        if samples is None
        else ": %s samples (%s), by LR" % (count(samples), percent(evidence.part(samples)))
    )
    return "Section in %s, 0x%08x to 0x%08x (%s)%s%s." % (
        *(section.host, section.start, section.end, _lines(evidence, section)),
        *(calls, share),
    )


def _lines(evidence: Evidence, section: Section) -> str:
    """`uart.c:31-36`."""
    first = evidence.build.lines.line(section.start)
    last = evidence.build.lines.line(section.end)
    if first is None:
        return "0x%08x" % section.start
    text = "%s:%d" % (base(first[0]), first[1])
    if last is not None and last[0] == first[0] and last[1] > first[1]:
        text += "-%d" % last[1]
    return text


def _pended(evidence: Evidence, pile: Pile) -> Finding:
    assert pile.pended is not None
    place, part = evidence.build.name_at(pile.address), evidence.part(pile.samples)
    by = pile.by.shown
    vector = evidence.profile.circumstances.vectors.get(pile.pended)
    handler = evidence.build.name_at(vector) if vector else "a handler"
    how = "calls" if pile.by.mnemonic == "svc" else "pends"
    own = evidence.profile.circumstances.sampler_priority
    remedy = "start the sampler once the scheduler runs" if own else "give it a larger priority value"
    return Finding(
        "hidden handler",
        Severity.WRONG,
        part,
        "hidden handler: %s at %s is time in %s, which `%s` before it %s and which the sampler "
        "cannot interrupt: %s" % (percent(part), place, handler, by, how, remedy),
        (
            "%s samples are at %s (0x%08x), and %s at the `%s` before it, though both are executed equally "
            "often. It raises %s, whose handler has the sampler's priority or a higher one: the "
            "sampler's interrupt waits until it returns, and finds what comes next."
            % (
                *(count(evidence.counts.get(pile.address, 0)), place, pile.address),
                *(count(evidence.counts.get(pile.by.address, 0)), by),
                "exception %d" % pile.pended if pile.pended else "an interrupt",
            ),
        ),
        frozenset((pile.address,)),
    )
