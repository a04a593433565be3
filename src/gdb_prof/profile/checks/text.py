"""Findings at length, as `prof check` prints them."""

from __future__ import annotations

from typing import Dict, List

from gdb_prof.profile.checks import Verdict
from gdb_prof.profile.finding import Severity
from gdb_prof.profile.report import head
from gdb_prof.profile.samples import Profile
from gdb_prof.wording import wrapped

_GRAVITY = {
    Severity.WRONG: "A number in the table is not what it seems.",
    Severity.DOUBT: "The table may mislead, or is less sure than it looks.",
    Severity.REMARK: "The table is right; there is more to know.",
}


def explained(profile: Profile, verdict: Verdict, width: int) -> str:
    """Each finding with its evidence, and what could not be looked for. Ends with a newline."""
    lines = wrapped(head(profile, verdict), width)
    if not verdict.findings:
        lines += ["", "No findings."]
    for number, finding in enumerate(verdict.findings, 1):
        first = "%d. " % number
        lines += ["", *wrapped(finding.summary, width, first, "   ")]
        for paragraph in (_GRAVITY[finding.severity], *finding.evidence):
            lines += wrapped(paragraph, width, "   ", "   ")
    for remark in profile.remarks:
        lines += ["", *wrapped(remark, width, "! ")]
    if verdict.unknown:
        reasons: Dict[str, List[str]] = {}
        for unknown in verdict.unknown:
            reasons.setdefault(unknown.why, []).append(unknown.kind)
        lines += ["", "Not looked for"]
        for why, kinds in reasons.items():
            lines += wrapped("%s: %s" % (", ".join(kinds), why), width, "  ", "    ")
    return "\n".join(lines) + "\n"
