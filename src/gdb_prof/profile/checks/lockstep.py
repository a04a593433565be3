"""Lockstep, crawling, too little jitter: samples that depend on each other."""

from __future__ import annotations

from typing import Iterable, Union

from gdb_prof.profile.checks.evidence import Evidence
from gdb_prof.profile.dependence import Dependence, Repeat, last_new
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.profile.samples import CYCLES, Timing
from gdb_prof.profile.shares import ASLEEP
from gdb_prof.wording import be, count, ordinal, percent, plural, some

_AUTO = "use -jitter auto (in a build with PROF_JITTER)"
_DITHER = "use another -postcnt, or -dither"


def jittered(timing: Timing) -> bool:
    """Whether a quarter of the period or more is random: then samples that are all the same
    are not in step with the program, for their distances differ by more than they would stay."""
    if timing.unit == CYCLES:  # the core samples evenly; at most its period is changed now and then
        return False
    some = bool(timing.jitter_mask)
    return timing.random or (some and timing.jitter_mask * 4 >= (timing.period_ticks or 0))


def _remedy(timing: Timing) -> str:
    return _DITHER if timing.unit == CYCLES else _AUTO


def check(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    found, timing = evidence.dependence, evidence.profile.timing
    if not evidence.table.in_code and evidence.profile.marks:
        return  # all asleep: they have no address that could repeat
    if 2 * evidence.table.in_code + 2 * evidence.table.classes.get(ASLEEP, 0) < evidence.table.total:
        return  # what is no code repeats for another reason
    if found is None:
        yield Unknown("lockstep", "a histogram keeps no order: whether its samples repeat cannot be told")
        if timing.period_ticks is not None and not timing.jitter_mask:
            yield _histogram_without_jitter()
    elif not found.checked:
        yield Unknown("lockstep", "%s %s too few" % (plural(found.total, "sample"), be(found.total)))
    elif found.repeat is not None:
        yield _repeat(evidence, found, found.repeat)
    elif not found.independent:
        yield _dependent(evidence, found)
    if found is not None and found.rare:
        yield _rare(evidence, found)


def _repeat(evidence: Evidence, found: Dependence, repeat: Repeat) -> Finding:
    assert evidence.table.order is not None
    pcs = evidence.table.order.pcs
    addresses, newest = len(set(pcs)), last_new(pcs)
    where = "one address" if addresses == 1 else plural(addresses, "address", "addresses")
    what = (
        "all samples are at one address"
        if addresses == 1
        else ("the samples repeat every %s and touch %s" % (count(repeat.period), where))
    )
    return Finding(
        "lockstep",
        Severity.DOUBT,
        1.0,
        "lockstep: %s; nothing after the %s is new, and what lies between is never seen: %s"
        % (what, ordinal(max(newest, min(repeat.period, found.total))), _remedy(evidence.profile.timing)),
        (
            "From sample %s on, each sample is at the address of the one %s before it. The sampling period "
            "and the program's own are in a ratio of whole numbers, so that few places of the "
            "program's lap are ever seen, the same ones again and again. The last address that had "
            "not been seen before came with sample %s of %s."
            % (
                *(count(repeat.since + repeat.period + 1), plural(repeat.period, "sample")),
                *(count(newest), count(found.total)),
            ),
            "More samples of this kind do not help. With many places the shares may still be good; with few "
            "they say nothing. ± is at best that of %s, `?` that of too few."
            % plural(repeat.period, "sample"),
        ),
    )


def _dependent(evidence: Evidence, found: Dependence) -> Finding:
    timing = evidence.profile.timing
    if found.effective is None:
        worth = "how sure a share is cannot be said"
    else:
        worth = "%s samples are as sure as %s independent ones" % (
            *(count(found.total), count(round(found.effective))),
        )
    if found.ratio == 1.0:
        return Finding(
            "lockstep",
            Severity.DOUBT,
            1.0,
            "lockstep cannot be ruled out: nearly all samples are in one row, and there is no jitter: %s"
            % _remedy(timing),
            (
                "In step with the program, a sampler sees one place of its lap. So does one of a program "
                "that is always there. Without jitter the samples do not tell which.",
            ),
        )
    measure = _measure(found)
    if timing.period_ticks is None and not timing.random and timing.unit != CYCLES:
        return Finding(
            "dependent",
            Severity.DOUBT,
            1.0,
            "dependent: %s: in step with the program, or it stays in one place for many samples; how they "
            "were spaced is not known" % worth,
            (measure,),
        )
    if timing.unit == CYCLES or not (timing.jitter_mask or timing.random):
        return Finding(
            "crawling",
            Severity.DOUBT,
            1.0,
            "crawling: %s: without jitter each sample falls a little further in the program's lap "
            "than the last%s: %s"
            % (worth, "" if found.settled else ", and the window has seen part of it", _remedy(timing)),
            (measure, _CRAWLING),
        )
    if not jittered(timing):
        return Finding(
            "too little jitter",
            Severity.DOUBT,
            1.0,
            "too little jitter: %s: 0..%s ticks do not reach over the program's lap: %s"
            % (worth, count(timing.jitter_mask), _AUTO),
            (measure, _LITTLE),
        )
    if found.ratio < _SHORT and not timing.random:
        return Finding(
            "too little jitter",
            Severity.DOUBT,
            1.0,
            "too little jitter: %s: 0..%s ticks do not spread evenly over the program's lap: give more, "
            "or another -period" % (worth, count(timing.jitter_mask)),
            (measure, _UNEVEN),
        )
    return Finding(
        "slow program",
        Severity.DOUBT,
        1.0,
        "slow program: %s: it stays in one place for many samples: sample for longer, or less often" % worth,
        (measure, _SLOW),
    )


def _rare(evidence: Evidence, found: Dependence) -> Finding:
    rows = [evidence.table.rows[number] for number in sorted(found.rare)]
    each = ["%s (%s)" % (row.name, percent(evidence.part(row.samples))) for row in rows]
    return Finding(
        "few stays",
        Severity.REMARK,
        evidence.part(sum(row.samples for row in rows)),
        "few stays: %s came in a few stays of many samples: how sure %s cannot be said"
        % (some(each, 3), "that share is" if len(rows) == 1 else "these shares are"),
        ("Code that runs once, or seldom and for long, as start-up does. Others are as sure as they say.",),
    )


def _measure(found: Dependence) -> str:
    text = "the variance of its share is %.1f times that of independent samples." % found.ratio
    if found.places:
        text = (
            "A row nearly repeats every %s, and at each of these places " % plural(found.places, "sample")
            + text
        )
    elif found.block:
        text = "From block to block of %s, a row differs so much that " % plural(found.block, "sample") + text
    else:
        text = "A row is entered and left so seldom that " + text
    if not found.settled:
        text += " It has been seen too few times, or still grows: the samples do not show the whole program."
    return text


_CRAWLING = (
    "The sampling period is nearly a multiple of the program's own, or the program stays in one place "
    "for many samples. Jitter tells which: it is free of the first, and shows the second."
)
_LITTLE = (
    "What is added to the period at random should reach over half the period, or over the length of the "
    "main loop: less leaves the samples in step with it for a while."
)
_SHORT = 3
"""A program that stays for two samples on average has this ratio: below it, only neighbours are alike."""
_UNEVEN = (
    "What is added to the period reaches over the program's lap, but not over a whole number of them: some "
    "steps from one place to the next are likelier than others. The shares are right on average, "
    "and less sure."
)
_SLOW = (
    "The sampler's jitter is large enough, so that it is not in step. The program itself works for many "
    "sampling periods at one thing: samples of the same stay say little more than one of them. What "
    "counts is how many such stays the samples saw."
)


def _histogram_without_jitter() -> Finding:
    return Finding(
        "no jitter",
        Severity.DOUBT,
        1.0,
        "no jitter: a histogram keeps no order, so that whether its samples are in step with the "
        "program cannot be told: %s" % _AUTO,
        (
            "A sampler whose period shares a ratio with the program's sees the same few places over and "
            "over. In a ring that shows in the order of the samples; a histogram has none.",
        ),
    )
