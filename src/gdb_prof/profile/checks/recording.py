"""What the recording itself lost or mixed, and whether it is of this program."""

from __future__ import annotations

import collections
from typing import Counter, Dict, Iterable, List, Set, Union

from gdb_prof.profile.checks.evidence import Evidence
from gdb_prof.profile.circumstances import SAME
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.profile.places import without_clone_suffix
from gdb_prof.profile.shares import FULL_BIN, NO_BIN, OUTSIDE, UNREADABLE, UNREADABLE_PCS
from gdb_prof.profile.source import TIMER
from gdb_prof.wording import count, percent, plural, some

_NOTICEABLE = 0.01


def check(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    yield from _no_code(evidence)
    yield from _bins(evidence)
    yield from _ring(evidence)
    yield from _contents(evidence)
    yield from _inlined(evidence)


def _no_code(evidence: Evidence) -> Iterable[Finding]:
    """The core stacks even addresses of code (ARMv7-M ARM, B1.5.6): anything else is another word."""
    pcs = evidence.counts
    zeros, odd = pcs.get(0, 0), sum(n for pc, n in pcs.items() if pc & 1 and pc not in UNREADABLE_PCS)
    outside = evidence.table.classes.get(OUTSIDE, 0) + evidence.table.classes.get(UNREADABLE, 0)
    nonsense = evidence.part(max(zeros + odd, outside))
    stacked = evidence.profile.source.kind == TIMER
    if stacked and (evidence.part(zeros + odd) >= _NOTICEABLE or nonsense >= 0.5):
        # of what is outside, zeros and odd ones are the better word where they are the most
        number, what = max(
            (zeros, "are 0"),
            (odd, "are odd"),
            (outside - zeros - odd, "are outside all code"),
            key=lambda m: m[0],
        )
        yield Finding(
            "wrong stack",
            Severity.WRONG,
            nonsense,
            "wrong stack: %s of the samples %s, which no PC is: does the handler read MSP where the program "
            "runs on PSP? See PROF_HANDLER in prof.c" % (percent(evidence.part(number)), what),
            (
                "An interrupt stacks an even address in code. %s of %s samples are 0, %s are odd, %s are "
                "outside all loaded code. A handler that looks at the wrong stack, or at the wrong word of "
                "it, gives such." % (count(zeros), count(evidence.table.total), count(odd), count(outside)),
            ),
        )
    elif evidence.part(outside) >= _NOTICEABLE:
        addresses = ["0x%08x (%s)" % (pc, count(n)) for pc, n in _outside(evidence).most_common(5)]
        yield Finding(
            "outside code",
            Severity.DOUBT,
            evidence.part(outside),
            "outside code: %s of the samples are in no loaded image: `add-symbol-file` what runs there"
            % percent(evidence.part(outside)),
            ("The most frequent of these addresses: %s." % ", ".join(addresses),) if addresses else (),
        )


def _outside(evidence: Evidence) -> Counter[int]:
    functions = evidence.build.functions
    return collections.Counter({pc: n for pc, n in evidence.counts.items() if functions.at(pc) is None})


def _bins(evidence: Evidence) -> Iterable[Finding]:
    table, histogram = evidence.table, evidence.profile.histogram
    if histogram is None:
        return
    full, none = table.classes.get(FULL_BIN, 0), table.classes.get(NO_BIN, 0)
    at_limit = sum(1 for n in histogram.counts if n == 0xFFFF)
    if full or at_limit:
        yield Finding(
            "full bins",
            Severity.WRONG,
            evidence.part(full),
            "full bins: %s at 65,535 and %s not counted in them: shares are too small where it is hot: "
            "take fewer samples" % (plural(at_limit, "bin"), plural(full, "sample")),
            ("A bin's counter has 16 bits, and stays at 65,535. What came after is in no row.",),
        )
    if table.divided_bins:
        part = evidence.part(table.divided_samples)
        yield Finding(
            "bins across functions",
            Severity.DOUBT if part >= _NOTICEABLE else Severity.REMARK,
            part,
            "bins across functions: %s (%s) in %s that more than one row shares: divided by bytes: "
            "use a smaller PROF_SHIFT, or align functions to a bin"
            % (plural(table.divided_samples, "sample"), percent(part), plural(table.divided_bins, "bin")),
            (
                "A bin covers %d bytes from a multiple of that on. Where two functions meet inside one, its "
                "samples are divided in proportion to their bytes, whatever was executed. "
                "-falign-functions=%d ends that." % (1 << histogram.shift, 1 << histogram.shift),
            ),
        )
    if none:
        yield Finding(
            "no bin",
            Severity.DOUBT,
            evidence.part(none),
            "no bin: %s where no bin is: PROF_BASE, PROF_BINS and PROF_SHIFT do not cover that"
            % plural(none, "sample"),
            (
                "The bins cover %s bytes from 0x%08x."
                % (count(len(histogram.counts) << histogram.shift), histogram.base),
            ),
        )


def _ring(evidence: Evidence) -> Iterable[Finding]:
    profile = evidence.profile
    if not profile.histogram and profile.taken > profile.kept:
        yield Finding(
            "overwritten",
            Severity.REMARK,
            (profile.taken - profile.kept) / profile.taken,
            "overwritten: the ring keeps the last %s of %s samples taken: the time before is not in "
            "this table" % (count(profile.kept), count(profile.taken)),
            ("`prof record -samples N` takes as many as you like, ring after ring.",),
        )


def _contents(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    contents = evidence.profile.circumstances.contents
    if not contents:
        yield Unknown("other code", "the target's code was not compared with the ELF")
    elif contents != SAME:
        yield Finding(
            "other code",
            Severity.WRONG,
            1.0,
            "other code: the target does not run %s: %s: load it, or give GDB the file that runs"
            % (evidence.profile.program or "this program", contents),
            ("Names and lines are those of the file. Where the code differs, they are wrong.",),
        )


def _inlined(evidence: Evidence) -> Iterable[Finding]:
    """What the table by function hides; by inline it shows."""
    if evidence.table.by not in ("function", "task"):
        return
    hosts: Dict[str, Counter[str]] = collections.defaultdict(collections.Counter)
    functions = evidence.build.functions
    for pc, n in evidence.counts.items():
        function = functions.at(pc)
        if function is None or not function.symbol:
            continue
        host = evidence.build.demangle(without_clone_suffix(function.name))
        seen: Set[str] = set()
        for name in evidence.build.lines.inlined(pc)[:-1]:
            if name not in seen and not functions.knows(name):
                seen.add(name)
                hosts[name][host] += n
    shown: List[str] = []
    most = 0
    for name, in_hosts in sorted(hosts.items(), key=lambda item: (-sum(item[1].values()), item[0])):
        samples = sum(in_hosts.values())
        if evidence.part(samples) < _NOTICEABLE:
            break
        most = max(most, samples)
        shown.append(
            "%s (%s)"
            % (
                name,
                some(["%s in %s" % (percent(evidence.part(n)), h) for h, n in in_hosts.most_common()], 2),
            )
        )
    if shown:
        yield Finding(
            "inlined",
            Severity.REMARK,
            evidence.part(most),
            "inlined: %s: charged to the function that holds it: see -by inline" % some(shown, 2),
            ("Functions without a body of their own: %s." % "; ".join(shown),),
        )
