"""The article's trouble table as tests on the registers: what does not work, why, what to do."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Tuple

from gdb_prof.counters.dpu import counting_trouble, tracing_trouble
from gdb_prof.counters.dpu.evidence import Finding, NotKnown, Seen, Severity, Unknown
from gdb_prof.counters.dpu.reading import silent
from gdb_prof.counters.registers import doubtful, rests_on
from gdb_prof.wording import plural, wrapped

_OF_COUNTERS = (
    *counting_trouble.LOOKS,
    ("changed counters", tracing_trouble.counters_changed),
)
_GRAVITY = {
    Severity.WRONG: "This cannot work, or has not.",
    Severity.DOUBT: "The figures may mislead.",
    Severity.REMARK: "No trouble in itself, but good to know.",
}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Most serious first. `unknown`: what could not be looked for, which is not taken for right."""

    findings: Tuple[Finding, ...]
    unknown: Tuple[Unknown, ...]

    @property
    def serious(self) -> Tuple[Finding, ...]:
        """Without the remarks."""
        return tuple(found for found in self.findings if found.severity > Severity.REMARK)


def examine(seen: Seen) -> Verdict:
    """Of what is in use."""
    dead = silent(seen.values, seen.base)
    if dead:
        return Verdict((), (Unknown("anything", dead),))
    counters = any(True for _ in seen.used())
    looks = (*(_OF_COUNTERS if counters else ()), *(tracing_trouble.OF_TRACE if seen.traces() else ()))
    findings: List[Finding] = []
    unknown: List[Unknown] = []
    for kind, look in looks:
        try:
            for result in look(seen):
                (findings if isinstance(result, Finding) else unknown).append(result)  # type: ignore[arg-type]
        except NotKnown as missing:
            unknown.append(Unknown(kind, missing.why))
    if not looks:
        unknown.append(Unknown("anything", "no counter is set, and no trace is set up"))
    findings.sort(key=lambda found: -found.severity)
    return Verdict(tuple(findings), tuple(dict.fromkeys(unknown)))


def text(verdict: Verdict, width: int) -> str:
    """Each finding with its evidence and remedy, and what could not be looked for. Ends with a newline."""
    lines = wrapped("dpu: " + _head(verdict), width)
    for number, found in enumerate(verdict.findings, 1):
        lines += ["", *wrapped("%s." % found.summary, width, "%d. " % number, "   ")]
        lines += wrapped(_GRAVITY[found.severity], width, "   ", "   ")
        for evidence in found.evidence:
            lines += wrapped(evidence, width, "   ", "     ")
        lines += wrapped("What to do: %s." % found.remedy, width, "   ", "   ")
        for line in rests_on(doubtful(found.facts)):
            lines += wrapped("Rests on %s" % line, width, "   ", "   ")
    return "\n".join([*lines, *_not_looked_for(verdict, width)]) + "\n"


def _head(verdict: Verdict) -> str:
    serious = len(verdict.serious)
    remarks = len(verdict.findings) - serious
    head = plural(serious, "finding") if serious else "nothing found"
    if remarks:
        head += "%s %s" % (" and" if serious else " but", plural(remarks, "remark"))
    return head + ("; not all could be looked for" if verdict.unknown else "")


def _not_looked_for(verdict: Verdict, width: int) -> List[str]:
    if not verdict.unknown:
        return []
    reasons: Dict[str, List[str]] = {}
    for unknown in verdict.unknown:
        reasons.setdefault(unknown.why, []).append(unknown.kind)
    lines = ["", "Not looked for"]
    for why, kinds in reasons.items():
        lines += wrapped("%s: %s" % (", ".join(kinds), why), width, "  ", "    ")
    return lines
