"""The callers of a function -> text."""

from __future__ import annotations

from typing import List, Sequence

from gdb_prof.profile.cells import SHORTEST_NAME, doubt, place, share, shortened
from gdb_prof.profile.checks import Verdict
from gdb_prof.profile.one_function.callers import Caller
from gdb_prof.profile.places import Row
from gdb_prof.profile.report import head
from gdb_prof.profile.samples import Profile
from gdb_prof.wording import NARROWEST, aligned, count, wrapped

_HEADS = ["share", "± 95 %", "samples", "called from", "source"]


def callers_text(
    profile: Profile,
    verdict: Verdict,
    row: Row,
    name: str,
    found: Sequence[Caller],
    width: int,
    findings: Sequence[str] = (),
) -> str:
    """`row`: of the verdict's table, or of functions on stacks. `findings`: what is to be said of
    the function's samples. Ends with a newline."""
    total, rows = verdict.table.total, verdict.table.rows
    # the parts are as sure as the function
    effective = verdict.effective_of(rows.index(row) if row in rows else None)

    def numbers(samples: int) -> List[str]:
        return [share(samples, total), doubt(samples / total, effective), count(samples)]

    body: List[List[str]] = [
        [*numbers(caller.samples), caller.name, place(caller.source)] for caller in found
    ]
    body.append([*numbers(row.samples), "all of %s" % name, place(row.source)])
    widths = [max(len(line[at]) for line in [_HEADS, *body]) for at in range(len(_HEADS))]
    room = max(width, NARROWEST) - 1 - sum(w + 2 for w in widths[:3])
    source = min(widths[4], room - 2 - min(widths[3], SHORTEST_NAME))
    for line in body:
        line[3:] = [shortened(line[3], room - 2 - source), shortened(line[4], source)]
    lines = wrapped(head(profile, verdict), width)
    lines += [" " + line for line in aligned([_HEADS, *body], ["right"] * 3 + ["left"] * 2)]
    for remark in (*findings, *profile.remarks):
        lines += wrapped(remark, width, "! ")
    return "\n".join(lines) + "\n"
