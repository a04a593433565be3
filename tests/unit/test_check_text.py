"""Findings at length: numbered, within the width, nothing unprintable, and what was not looked for."""

from __future__ import annotations

from typing import List

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines

from gdb_prof.profile.checks import Verdict, examine
from gdb_prof.profile.checks.text import explained
from gdb_prof.profile.circumstances import Circumstances, Handler
from gdb_prof.profile.dependence import Dependence
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.profile.places import Row
from gdb_prof.profile.program.code import Build, Instruction
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.profile.shares import Shares

TABLE = Shares("function", (Row("f", 1000),), {}, 1000)
PROFILE = Profile([0] * 1000, taken=1000, timing=Timing("SysTick", 2013, 2047, 168e6))
HEAD = "1,000 samples by SysTick, one per 11,982 ns + 0..12,185 jitter; all independent"


def text(
    *findings: Finding, unknown: "tuple[Unknown, ...]" = (), remarks: "tuple[str, ...]" = ()
) -> List[str]:
    verdict = Verdict(TABLE, Dependence(1000), findings, unknown)
    profile = Profile([0] * 1000, taken=1000, timing=PROFILE.timing, remarks=remarks)
    return explained(profile, verdict, 80).splitlines()


def test_nothing_found() -> None:
    assert text() == [HEAD, "", "No findings."]


def test_each_finding_has_its_number_its_gravity_and_its_evidence() -> None:
    assert text(
        Finding(
            "masked interrupts", Severity.WRONG, 0.3, "masked interrupts: 29.9 % " + "word " * 15, ("Why.",)
        ),
        Finding("lockstep", Severity.DOUBT, 1.0, "lockstep: all", ("Since.", "And " + "so " * 30)),
        Finding("inlined", Severity.REMARK, 0.1, "inlined: spin"),
        unknown=(
            Unknown("lost ticks", "the build keeps no elapsed time"),
            Unknown("hidden handlers", "the file does not say"),
            Unknown("other code", "the file does not say"),
        ),
        remarks=("halted twice",),
    ) == [
        HEAD,
        "",
        "1. masked interrupts: 29.9 % word word word word word word word word word word",
        "   word word word word word",
        "   A number in the table is not what it seems.",
        "   Why.",
        "",
        "2. lockstep: all",
        "   The table may mislead, or is less sure than it looks.",
        "   Since.",
        "   And so so so so so so so so so so so so so so so so so so so so so so so so",
        "   so so so so so so",
        "",
        "3. inlined: spin",
        "   The table is right; there is more to know.",
        "",
        "! halted twice",
        "",
        "Not looked for",
        "  lost ticks: the build keeps no elapsed time",
        "  hidden handlers, other code: the file does not say",
    ]


def test_findings_from_ten_on_keep_their_text_in_line() -> None:
    shown = text(
        *(Finding("k%d" % i, Severity.DOUBT, 0.5, "k%d: %s" % (i, "word " * 20)) for i in range(1, 12))
    )
    assert [line.split()[0] for line in shown if line[:1].isdigit()][1:] == ["%d." % i for i in range(1, 12)]
    assert "11. k11: word word word word word word word word word word word word word word" in shown


def test_what_is_not_known_is_said_where_nothing_is_found_too() -> None:
    assert text(unknown=(Unknown("lockstep", "127 samples are too few"),)) == [
        *(HEAD, "", "No findings.", "", "Not looked for", "  lockstep: 127 samples are too few")
    ]


BAD = "\x1b[31m\x07\u202e\n" + 40 * "n"


class OneFunction:
    """A masked section in a function with a name that is no name."""

    def function(self, address: int) -> List[Instruction]:
        texts = ("cpsid\ti", "bl\t0x100 <%s>" % BAD, "cpsie\ti", "bx\tlr")
        return [Instruction(0x100 + 2 * i, 2, text) for i, text in enumerate(texts)]

    def waits(self, address: int) -> bool:
        return False

    def callers(self, address: int) -> List[int]:
        return []


@pytest.mark.parametrize("width", [0, 59, 60, 80, 200])
def test_within_the_width_and_without_control_characters(width: int) -> None:
    """All findings that show what a program calls its functions, files and tasks."""
    functions = FunctionMap(
        [
            (
                image(
                    [Section(".te\x1bxt", 0x100, 0x20)],
                    "101 8 FUNC GLOBAL " + BAD.replace("\n", ""),
                    "app\x1b.elf",
                ),
                {},
            )
        ]
    )
    everywhere = {a: (BAD + "/" + BAD, 3) for a in range(0x100, 0x120, 2)}
    lines = FakeLines(everywhere, everywhere, {0x106: (BAD, BAD)})
    seen = Circumstances(0, (Handler(22, 0x100, 0), Handler(23, 0x101, 0)), {22: 0x100}, BAD, BAD, BAD)
    pcs = [0x106] * 900 + [0x20000000] * 100
    profile = Profile(
        pcs,
        taken=5000,
        timing=Timing(BAD, 1000, 0, 168e6, 1.5),
        circumstances=seen,
        program=BAD,
        origin=BAD,
        remarks=(BAD,),
    )
    verdict = examine(profile, Build(functions, lines, OneFunction()))
    assert {f.kind for f in verdict.findings} >= {
        *(
            "masked interrupts",
            "crawling",
            "lost ticks",
            "hidden handlers",
            "tick-synchronous",
            "outside code",
        ),
        *("overwritten", "other code", "inlined"),
    }
    shown = explained(profile, verdict, width)
    assert [c for c in shown if not c.isprintable() and c != "\n"] == []
    assert max(map(len, shown.splitlines())) <= max(width, 60)
    assert "\\x1b[31m\\x07" in shown.replace("\n   ", "")
    assert shown.endswith("\n") and not shown.endswith("\n\n")


def test_at_80_columns_most_of_the_width_is_used() -> None:
    shown = text(Finding("k", Severity.DOUBT, 0.5, "k: " + "word " * 40, ("word " * 60,)))
    assert 74 < max(map(len, shown[2:])) <= 80
