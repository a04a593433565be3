"""The report: every line within the width, every sample accounted for, nothing unprintable."""

from __future__ import annotations

import dataclasses
import re
from typing import List, Optional, Tuple

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines
from shared_data import shared_data

from gdb_prof.profile.functions import Function, FunctionMap, Image
from gdb_prof.profile.report import Layout, report, task_labels
from gdb_prof.profile.samples import Histogram, Profile, Timing
from gdb_prof.profile.shares import KINDS, Row, Shares, shares

LONG = "std::map<std::string, std::vector<Widget<int, 42> > >::emplace_hint<char const (&) [%d]>(int)"
UNLIMITED = 10_000


def function(name: str, address: int = 0x100, image: str = "app.elf", source: str = "") -> Function:
    return Function(name, address, address + 8, image, source)


def row(name: str, samples: int, at: int = 0, source: Optional[Tuple[str, int]] = None) -> Row:
    return Row(name, samples, function(name, 0x100 + 8 * at), source=source)


def table(*rows: Row, by: str = "function", **classes: int) -> Shares:
    counted = {name.replace("_", " "): n for name, n in classes.items()}
    return Shares(by, rows, counted, sum(r.samples for r in rows) + sum(counted.values()))


def lines(shown: Shares, profile: Profile = Profile(), **layout: int) -> List[str]:
    return report(profile, shown, Layout(**layout)).splitlines()  # type: ignore[arg-type]


def test_a_small_report_in_full() -> None:
    profile = Profile(taken=1000, pcs=[0] * 1000, timing=Timing("SysTick", 2013, 2047, 168e6, 0.0181))
    profile = dataclasses.replace(profile, origin="run1.prof")
    rows = (
        row("hot_a", 700, 0, ("C:/x/Common\\three_loops.c", 25)),
        Row("start", 299, Function("start", 0x200, 0x210, "app.elf", guessed=True, aliases=2)),
    )
    assert report(profile, table(*rows, outside_code=1), Layout()) == (
        "1,000 samples by SysTick, one per 11,982 ns + 0..12,185 jitter, in 18.100 ms;\n"
        "  from run1.prof\n"
        "    share  samples  function           source\n"
        "  70.00 %      700  hot_a              three_loops.c:25\n"
        "  29.90 %      299  start~ +2 aliases\n"
        " 100.00 %    1,000  999 in code, 1 outside code\n"
        "! ~ a symbol without a size: taken to reach to the next symbol\n"
    )


def test_no_samples_are_no_table() -> None:
    assert report(Profile(), table(), Layout()) == "0 samples by an unknown timer, at an unknown period\n"


ROWS = [
    row(LONG % 7, 4_000_000, 0, ("/src/a_module_with_a_name_longer_than_the_column_for_it.cpp", 12345)),
    row(LONG % 8, 2_000_000, 1, ("/src/b.cpp", 7)),
    row("f", 1, 2),
]
CLASSES = {"outside code": 5, "unreadable": 6, "outside the bins": 7, "in full bins": 8}
REMARK = (
    "/a/path/without/blanks/" + 60 * "x" + " is gone: its symbols are those read before, which was long ago"
)
CROWDED = Profile(
    taken=9_000_000,
    timing=Timing("the program's own timer", 1_000_000, 0xFFFF, 1e6, 9000.5),
    origin="a capture of last week before the fix.prof",
    remarks=(REMARK,),
)


@pytest.mark.parametrize("width", [60, 80, UNLIMITED])
@pytest.mark.parametrize("by", KINDS)
def test_no_line_is_longer_than_the_console(by: str, width: int) -> None:
    rows = [dataclasses.replace(r, tag=1, address=0x100 if by == "address" else None) for r in ROWS]
    rows = [dataclasses.replace(r, function=None) for r in rows] if by == "file" else rows
    shown = dataclasses.replace(table(*rows, by=by), classes=CLASSES, divided_samples=10, divided_bins=2)
    text = lines(shown, CROWDED, width=width)
    assert max(map(len, text)) <= width
    if width == UNLIMITED:
        assert sum(LONG % 7 in line for line in text) == 1
        assert "! " + REMARK in text
    else:
        assert max(map(len, text)) > width - 12, "the room is used"
        assert any("…" in line and "[7]>(int)" in line for line in text), "both ends of a name are shown"
        if by not in ("file", "address"):
            assert any(line.endswith(".cpp:12345") for line in text)


def test_an_indented_table_keeps_its_columns() -> None:
    rows = [
        dataclasses.replace(row("f", 2, 0, ("/src/f.c", 1)), tag=1),
        dataclasses.replace(row("g", 1), tag=1),
    ]
    text = lines(table(*rows, by="task"), Profile(tag_names={1: "worker"}))
    assert text[1:5] == [
        "    share  samples  task / function  source",
        " 100.00 %        3  worker",
        "  66.67 %        2    f              f.c:1",
        "  33.33 %        1    g",
    ]


def test_a_remark_is_wrapped_under_its_mark() -> None:
    text = lines(table(row("f", 1)), Profile(remarks=("word " * 20,)), width=60)
    assert text[-2:] == ["! " + "word " * 10 + "word", "  " + "word " * 8 + "word"]


@pytest.mark.parametrize(
    ("shown", "denominator"),
    [
        (table(row("f", 999), row("g", 1, 1)), " 100.00 %    1,000  in code; none outside"),
        (table(row("f", 9), unreadable=1), " 100.00 %       10  9 in code, 1 unreadable"),
        (table(outside_code=3), " 100.00 %        3  0 in code, 3 outside code"),
    ],
)
def test_the_last_row_is_the_denominator(shown: Shares, denominator: str) -> None:
    assert lines(shown)[-1] == denominator


def numbers(text: List[str]) -> List[Tuple[str, int]]:
    found = [re.match(r"^ +[\d.]+ % +([\d,]+)  (.*)", line) for line in text]
    return [(m.group(2), int(m.group(1).replace(",", ""))) for m in found if m]


def test_rows_that_are_not_shown_are_one_row() -> None:
    shown = table(*(row("f%d" % i, 2000 - i, i) for i in range(5)))
    assert numbers(lines(shown, top=2)) == [
        *(("f0", 2000), ("f1", 1999), ("(3 more)", 1998 + 1997 + 1996), ("in code; none outside", 9990))
    ]
    assert [name for name, _ in numbers(lines(shown, top=5))] == [
        *("f0", "f1", "f2", "f3", "f4"),
        "in code; none outside",
    ]


def test_rows_below_the_least_share_are_one_row() -> None:
    shown = table(row("f", 90), row("g", 5, 1), row("h", 4, 2), row("i", 1, 3))
    assert numbers(lines(shown, least_percent=5)) == [
        *(("f", 90), ("g", 5), ("(2 more)", 5), ("in code; none outside", 100))
    ]


def test_tasks_of_one_name_are_told_apart_by_address() -> None:
    names = {0x20001000: "worker", 0x20002000: "worker", 0x20003000: "idle"}
    tags = [0x20001000, 0x20001000, 0x20002000, 0x20003000, 0x20004000, 0]
    rows = [dataclasses.replace(row("run", tags.count(t)), tag=t) for t in dict.fromkeys(tags)]
    assert numbers(lines(table(*rows, by="task"), Profile(tags=tags, tag_names=names)))[::2] == [
        ("worker @20001000", 2),
        ("(no task)", 1),
        ("worker @20002000", 1),
        ("idle", 1),
        ("task@20004000", 1),
        ("in code; none outside", 6),
    ]
    assert task_labels(Profile(tag_names=names), [0x20001000]) == {0x20001000: "worker"}


@pytest.mark.parametrize(
    ("first", "second", "labels"),
    [
        (
            function("f", 0, "boot.elf", "a.c"),
            function("f", 0, "app.elf", "b.c"),
            ["f (boot.elf)", "f (app.elf)"],
        ),
        (function("f", 0x100, source="a.c"), function("f", 0x200, source="b.c"), ["f (a.c)", "f (b.c)"]),
        (function("f", 0x100, source="a.c"), function("f", 0x200), ["f (00000100)", "f (00000200)"]),
    ],
)
def test_functions_of_one_name_show_what_differs(
    first: Function, second: Function, labels: List[str]
) -> None:
    rows = [Row(first.name, 3, first), Row(second.name, 2, second)]
    assert [name for name, _ in numbers(lines(table(*rows)))][:2] == labels
    one_hidden = [name for name, _ in numbers(lines(table(*rows), top=1))]
    assert one_hidden[0] == labels[0]
    in_two_tasks = [dataclasses.replace(r, tag=i) for i, r in enumerate(rows, 1)]
    shown = [name.strip() for name, _ in numbers(lines(table(*in_two_tasks, by="task")))]
    assert shown[1:4:2] == labels


def test_what_differs_is_shown_at_any_width() -> None:
    name = LONG % 1
    rows = [Row(name, 3, function(name, 0x100)), Row(name, 2, function(name, 0x20000200))]
    first, second, _ = numbers(lines(table(*rows), width=60))
    assert first[0].endswith("(00000100)")
    assert second[0].endswith("(20000200)")


def test_the_same_static_name_in_two_files_of_a_real_program() -> None:
    functions = FunctionMap([(Image(str(shared_data("cmsisview_elf/elfsym.elf"))), {})])
    profile = Profile([0x10000940] * 3 + [0x10001030] * 4 + [0x10001582] * 10, taken=17)
    text = lines(shares(profile, functions, FakeLines()), profile)
    assert numbers(text)[1:3] == [("delay_ms (Touch_V2M-MPS2.c)", 4), ("delay_ms (GLCD_V2M-MPS2.c)", 3)]
    assert numbers(text)[0] == ("GPIO3_0_Handler~ +98 aliases", 10)


@pytest.mark.parametrize(
    ("profile", "shown", "remark"),
    [
        (
            Profile([0], taken=5000),
            table(row("f", 1)),
            "! the ring keeps the last 1 of 5,000 samples taken: the time before is not in\n  this table\n",
        ),
        (
            Profile(histogram=Histogram(0, 4, (8,)), taken=8),
            dataclasses.replace(table(row("f", 6), row("g", 2)), divided_samples=4, divided_bins=1),
            "! 4 samples (50.00 %) lie in 1 bin that more than one row shares: divided by\n  bytes\n",
        ),
        (
            Profile(),
            table(row("f", 1), in_full_bins=1),
            "! 1 sample found a bin at 65,535: shares are too small where it is hot; take\n  fewer samples\n",
        ),
        (
            Profile(),
            table(row("f", 1), outside_the_bins=2),
            "! 2 samples have no bin: PROF_BASE, PROF_BINS and PROF_SHIFT do not cover them\n",
        ),
    ],
    ids=["ring", "divided", "full", "no bin"],
)
def test_what_makes_shares_unsure_is_said(profile: Profile, shown: Shares, remark: str) -> None:
    assert report(profile, shown, Layout()).endswith(remark)


@pytest.mark.parametrize("by", KINDS)
def test_no_control_character_reaches_the_console(by: str) -> None:
    bad = "\x1b[31m\x07\u202e"
    functions = FunctionMap(
        [(image([Section(".te\x1bxt", 0x100, 0x20)], "101 8 FUNC GLOBAL " + bad, bad), {})]
    )
    everywhere = {0x100: (bad, 1)}
    debug = FakeLines(everywhere, everywhere, {0x100: (bad, bad)})
    profile = Profile(
        *([0x100, 0x110], [1, 2]),
        taken=2,
        timing=Timing(bad, 1),
        tag_names={1: bad, 2: "\n"},
        origin=bad,
        remarks=(bad,),
    )
    text = report(profile, shares(profile, functions, debug, by), Layout(demangle=lambda name: name + "\x9b"))
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert "\\x1b[31m\\x07" in text
    assert len(text.splitlines()) <= 12
