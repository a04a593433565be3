"""What the way of taking the samples does to them: lost trace, halts, resets, an emulator's edges."""

from __future__ import annotations

from typing import Iterable, List, Sequence, Tuple, Union

from gdb_prof.profile.checks.evidence import Evidence
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.profile.program.code import Instruction
from gdb_prof.profile.source import HALT, PCSR, SWO, Source
from gdb_prof.wording import count, percent, plural

_RESET = 1
"""The number of the reset exception in the vector table."""
_EVEN = 0.1
"""A standard deviation below this part of the mean: the waits between samples hardly differ."""
_NOTICEABLE = 0.01
_SMALL, _LARGE = 0.001, 0.1


def check(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    kind = evidence.profile.source.kind
    if kind == SWO:
        yield from _stream(evidence)
    if kind == HALT:
        yield from _halting(evidence)
        yield from _evenly(evidence)
    if kind in (PCSR, HALT):
        yield from _one_address(evidence)
    if kind in (SWO, PCSR, HALT):
        yield from _resets(evidence)


def _stream(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    source = evidence.profile.source
    if source.overflows:
        yield _lost_samples(source, evidence.profile.taken)
    if source.damaged >= _NOTICEABLE:
        yield Finding(
            "damaged stream",
            Severity.DOUBT,
            source.damaged,
            "damaged stream: %s of its bytes are no packet: a wrong bit rate, or a bad line: samples "
            "after such a place may be none" % percent(source.damaged),
            (
                "Where a byte is lost the ones after it are read as other packets, up to the next "
                "synchronisation.",
            ),
        )
    if not source.synchronised:
        yield Finding(
            "not synchronised",
            Severity.REMARK,
            0.0,
            "not synchronised: the stream has no synchronisation packet: decoded from its first byte",
            (
                "ITM_TCR.SYNCENA and DWT_CTRL.SYNCTAP make the core send one now and then, with which a "
                "decoder finds its place again after a damage.",
            ),
        )


def _lost_samples(source: Source, taken: int) -> Finding:
    """`taken`: samples of the whole capture, as the overflows are; a report may be of some only."""
    if source.lost is None:
        size = source.overflows / (taken + source.overflows)
        lost, bound = "how many samples were lost is not known", _why_unknown(source)
    else:
        size = source.lost / (taken + source.lost) if source.lost else 0.0
        about = "about %s lost (%s)" % (plural(source.lost, "sample"), percent(size))
        lost = "at least " + about if source.unbounded else about
        bound = "A share is wrong by at most %.1f points, if all that is lost was of one kind." % (100 * size)
        if source.unbounded:
            have = "has" if source.unbounded == 1 else "have"
            often = plural(source.unbounded, "overflow")
            lost += "; %s %s no timestamp on both sides" % (often, have)
            bound = "What %s cost is not known." % often
    known = source.lost is not None and not source.unbounded
    if not known:
        bound += (
            " An overflow may have lost many samples. Where n are lost in all, a share is wrong by at most "
            "n / (n + %s)." % count(taken)
        )
    least = Severity.REMARK if known and size < _SMALL else Severity.DOUBT
    return Finding(
        "lost samples",
        Severity.WRONG if size >= _LARGE else least,
        size,
        "lost samples: %s in the trace, %s: more where the program traces much: sample less often, "
        "trace less, or raise the baud rate" % (plural(source.overflows, "overflow"), lost),
        (
            "The trace's queue was full and packets were dropped. It fills where other packets come: "
            "what runs there is seen too little.",
            bound,
        ),
    )


def _why_unknown(source: Source) -> str:
    if source.timestamps is False:
        return "The stream has no local timestamps, which would tell how long an overflow lasted."
    if source.unbounded == source.overflows:
        return "No overflow lies between two local timestamps, which would tell how long it lasted."
    return (
        "No samples lie between two local timestamps without an overflow, which would tell how many there "
        "are where none is lost."
    )


def _halting(evidence: Evidence) -> Iterable[Finding]:
    profile = evidence.profile
    emulator, stopped = profile.circumstances.emulator, profile.source.stopped
    if emulator:
        yield Finding(
            "block edges",
            Severity.WRONG,
            1.0,
            "block edges: %s halts only where a translated block begins, also with -icount: shares count "
            "blocks, not time: use the sampler in an interrupt (`prof record`)" % emulator,
            (
                "A function of straight code that has half of the time may get a hundredth of the samples. "
                "On silicon a halt comes after whichever instruction runs.",
            ),
        )
    if stopped is not None:
        yield Finding(
            "halted",
            Severity.DOUBT if stopped >= 0.5 else Severity.REMARK,
            stopped,
            "halted: the program stood for %s of the time while samples were taken: timers, watchdogs and "
            "what it talks to went on without it" % percent(stopped),
            ("What waits for the outside waits less by its own clock, and what is to be in time is late.",),
        )


def _one_address(evidence: Evidence) -> Iterable[Finding]:
    total, (pc, samples) = (
        evidence.table.total,
        max(evidence.counts.items(), key=lambda item: item[1], default=(0, 0)),
    )
    if total >= 8 and samples == total and pc not in evidence.asleep:
        name = evidence.profile.marks.get(pc) or "0x%08x" % pc
        yield Finding(
            "all equal",
            Severity.DOUBT,
            1.0,
            "all equal: all %s are at %s: does it wait there, is it held in reset, or does it always stop "
            "there?" % (plural(total, "sample"), name),
            ("A program that does anything is seen at more than one address.",),
        )


def _evenly(evidence: Evidence) -> Iterable[Finding]:
    spread = evidence.profile.source.spread
    if spread is not None and spread < _EVEN and evidence.table.total >= 32:
        yield Finding(
            "evenly spaced",
            Severity.DOUBT,
            1.0,
            "evenly spaced: the times from sample to sample differ by %s only: a program with a rhythm of "
            "its own may be seen in step" % percent(spread),
            ("The intervals are meant to be random; here the connection's own delay is nearly all of them.",),
        )


def _resets(evidence: Evidence) -> Iterable[Finding]:
    """A reset shows as samples in the reset handler that follow others.

    Not those of a loop that calls: where main is inlined in the handler, it returns there without a reset.
    """
    profile, order, build = evidence.profile, evidence.table.order, evidence.build
    reset = build.functions.at(profile.circumstances.vectors.get(_RESET, -2))
    if reset is None or order is None:
        return
    loops = _calling_loops(build.code.function(reset.address))
    inside = {
        pc
        for pc in evidence.counts
        if build.functions.at(pc) == reset and not any(start <= pc <= end for start, end in loops)
    }
    resets = sum(pc in inside and before not in inside for before, pc in zip(order.pcs, order.pcs[1:]))
    if resets:
        yield Finding(
            "resets",
            Severity.WRONG,
            evidence.part(sum(evidence.counts[pc] for pc in inside)),
            "resets: the target was reset %s while samples were taken: a watchdog that went on while it was "
            "halted?" % (plural(resets, "time")),
            ("So often %s, where the program begins after a reset, came after other code." % reset.name,),
        )


def _calling_loops(instructions: Sequence[Instruction]) -> List[Tuple[int, int]]:
    """From where a branch leads back to, up to it, where a call is between."""
    calls = [instruction.address for instruction in instructions if instruction.is_call]
    ends = [(i.target, i.address) for i in instructions if i.target is not None and not i.is_call]
    return [(start, end) for start, end in ends if any(start <= call <= end for call in calls)]
