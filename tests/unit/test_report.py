"""The report: every line within the width, every sample accounted for, nothing unprintable."""

from __future__ import annotations

import dataclasses
import re
from typing import List, Optional, Tuple, Union

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines

from gdb_prof.profile.checks import Verdict
from gdb_prof.profile.dependence import Dependence, Repeat
from gdb_prof.profile.finding import Finding, Severity
from gdb_prof.profile.places import KINDS, Host, Row
from gdb_prof.profile.program.functions import Function, FunctionMap
from gdb_prof.profile.program.image import Image
from gdb_prof.profile.report import Layout, report, task_labels, worth
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.profile.shares import Shares, shares
from shared_data import shared_data

LONG = "std::map<std::string, std::vector<Widget<int, 42> > >::emplace_hint<char const (&) [%d]>(int)"
UNLIMITED = 10_000


def function(name: str, address: int = 0x100, image: str = "app.elf", source: str = "") -> Function:
    return Function(name, address, address + 8, image, source)


def row(name: str, samples: int, at: int = 0, source: Optional[Tuple[str, int]] = None) -> Row:
    return Row(name, samples, function(name, 0x100 + 8 * at), source=source)


def table(*rows: Row, by: str = "function", **classes: int) -> Shares:
    counted = {name.replace("_", " "): n for name, n in classes.items()}
    return Shares(by, rows, counted, sum(r.samples for r in rows) + sum(counted.values()))


def lines(shown: Union[Shares, Verdict], profile: Profile = Profile(), **layout: int) -> List[str]:
    """A report without the sentence on what a narrower interval would take: that has its own test."""
    verdict = shown if isinstance(shown, Verdict) else Verdict(shown, None)
    text = report(profile, verdict, Layout(**layout)).splitlines()  # type: ignore[arg-type]
    return [line for line in text if not re.match(r"±1\.0 % would take|Half the error would", line)]


def test_a_small_report_in_full() -> None:
    profile = Profile(taken=1000, pcs=[0] * 1000, timing=Timing("SysTick", 2013, 2047, 168e6, 0.0181))
    profile = dataclasses.replace(profile, origin="run1.prof")
    rows = (
        row("hot_a", 700, 0, ("C:/x/Common\\three_loops.c", 25)),
        Row("start", 299, Function("start", 0x200, 0x210, "app.elf", guessed=True, aliases=2)),
    )
    verdict = Verdict(
        table(*rows, outside_code=1),
        Dependence(1000),
        (
            Finding("masked", Severity.WRONG, 0.3, "masked: 29.9 %% at start, of which %s" % ("more " * 12)),
            Finding("inlined", Severity.REMARK, 0.1, "inlined: spin"),
        ),
        marked=frozenset((1,)),
    )
    assert report(profile, verdict, Layout()) == (
        "1,000 samples by SysTick, one per 11,982 ns + 0..12,185 jitter, in 18.100 ms;\n"
        "  from run1.prof; all independent\n"
        "    share  ± 95 %  samples  function             source\n"
        "  70.00 %    2.84      700  hot_a                three_loops.c:25\n"
        "  29.90 %    2.83      299  start~ +2 aliases !\n"
        " 100.00 %            1,000  999 in code, 1 outside code\n"
        "±1.0 % would take about 8,100 samples.\n"
        "! masked: 29.9 % at start, of which more more more more more more more more more\n"
        "  more more more\n"
        "- inlined: spin\n"
        "! ~ a symbol without a size: taken to reach to the next symbol\n"
    )


def test_no_samples_are_no_table() -> None:
    nothing = "0 samples by an unknown timer, at an unknown period\n"
    assert report(Profile(), Verdict(table(), None), Layout()) == nothing
    assert report(Profile(), Verdict(table(), Dependence(0, checked=False)), Layout()) == nothing


WORTH = [
    (None, ""),
    (Dependence(100, checked=False), "too few to check"),
    (Dependence(10_000), "all independent"),
    (Dependence(10_000, repeat=Repeat(186, 0)), "as sure as 186 independent"),
    (Dependence(10_000, ratio=48.0, block=256, repeat=Repeat(4000, 0)), "as sure as 208 independent"),
    (Dependence(10_000, repeat=Repeat(9, 0)), "9 independent"),
    (Dependence(10_000, ratio=400.0, block=512), "as sure as 25 independent"),
    (Dependence(10_000, ratio=2000.0, block=512), "how many independent is not known"),
    (Dependence(10_000, ratio=48.0, block=512, settled=False), "how many independent is not known"),
]


@pytest.mark.parametrize(("dependence", "text"), WORTH)
def test_the_head_says_what_the_samples_are_worth(dependence: Optional[Dependence], text: str) -> None:
    verdict = Verdict(table(row("f", 6000), row("g", 4000)), dependence)
    assert worth(verdict) == text
    head = report(Profile(), verdict, Layout(UNLIMITED)).splitlines()[0]
    assert head == "10,000 samples by an unknown timer, at an unknown period" + (text and "; " + text)


@pytest.mark.parametrize(
    ("dependence", "doubts"),
    [
        (None, ["0.96", "0.91", "0.20"]),  # of a histogram, which has no order
        (Dependence(10_000), ["0.96", "0.91", "0.20"]),
        (Dependence(10_000, ratio=4.0, block=64), ["1.92", "1.81", "0.40"]),
        (Dependence(10_000, repeat=Repeat(186, 0)), ["6.97", "6.59", "1.73"]),
        (Dependence(10_000, ratio=2000.0, block=512), ["?", "?", "?"]),
    ],
)
def test_each_share_has_the_interval_of_as_many_samples_as_are_independent(
    dependence: Optional[Dependence], doubts: List[str]
) -> None:
    shown = Verdict(table(row("f", 6000), row("g", 3100), row("h", 100), unreadable=800), dependence)
    assert [
        line.split()[2] for line in report(Profile(), shown, Layout(UNLIMITED)).splitlines()[2:5]
    ] == doubts


@pytest.mark.parametrize(
    ("samples", "sentence"),
    [
        ((500, 500), "±1.0 % would take about 9,600 samples."),
        ((990, 10), "Half the error would take 4,000 samples."),
        ((8000, 8000), "Half the error would take 64,000 samples."),
        pytest.param((1,), "Half the error would take 4 samples."),
        pytest.param((50,), "Half the error would take 200 samples."),
        pytest.param((219, 1), "Half the error would take 880 samples."),
    ],
)
def test_what_a_narrower_interval_would_take_is_more_than_there_is(
    samples: Tuple[int, ...], sentence: str
) -> None:
    shown = table(*(row("f%d" % i, n) for i, n in enumerate(samples)))
    assert report(Profile(), Verdict(shown, None), Layout()).splitlines()[-1] == sentence


@pytest.mark.parametrize(
    "dependence",
    [Dependence(1000, repeat=Repeat(186, 0)), Dependence(1000, ratio=500.0, block=64)],
    ids=["lockstep", "unknown"],
)
def test_more_samples_are_not_asked_for_where_they_do_not_help_or_nobody_knows(
    dependence: Dependence,
) -> None:
    text = report(Profile(), Verdict(table(row("f", 500), row("g", 500)), dependence), Layout())
    assert "would take" not in text


def test_samples_that_depend_on_each_other_are_needed_in_proportion() -> None:
    verdict = Verdict(table(row("f", 5000), row("g", 5000)), Dependence(10_000, ratio=10.0, block=64))
    assert "±1.0 % would take about 96,000 samples." in report(Profile(), verdict, Layout())


def test_sleep_has_its_place_in_the_last_line_and_a_column_of_what_is_busy() -> None:
    assert lines(table(row("f", 60), row("g", 20), asleep=20)) == [
        "100 samples by an unknown timer, at an unknown period",
        "    share  ± 95 %  of busy  samples  function  source",
        "  60.00 %    9.43  75.00 %       60  f",
        "  20.00 %    7.77  25.00 %       20  g",
        " 100.00 %                       100  80 in code, 20 asleep",
    ]


def test_by_task_sleep_has_no_share_of_what_is_busy() -> None:
    shown = table(dataclasses.replace(row("f", 60), tag=1), Row("(asleep)", 40, tag=2), by="task", asleep=40)
    shown = dataclasses.replace(shown, total=100)
    assert lines(shown, Profile(tag_names={1: "worker", 2: "IDLE"}))[1:] == [
        "    share  ± 95 %   of busy  samples  task / function  source",
        "  60.00 %    9.43  100.00 %       60  worker",
        "  60.00 %    9.43  100.00 %       60    f",
        "  40.00 %    9.43                 40  IDLE",
        "  40.00 %    9.43                 40    (asleep)",
        " 100.00 %                        100  60 in code, 40 asleep",
    ]


def test_all_asleep_is_a_table_without_what_is_busy() -> None:
    assert lines(table(asleep=9))[1:] == [
        "    share  ± 95 %  samples  function  source",
        " 100.00 %                9  0 in code, 9 asleep",
    ]


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
            assert any(line.endswith(":12345") for line in text), "the line is"


@pytest.mark.parametrize(
    ("samples", "name"),
    [
        (10, "f"),
        (10, "a_name_of_17_char"),
        (10**6, "a_name_of_17_char"),
    ],
)
def test_with_sleep_no_line_is_longer_than_the_console(samples: int, name: str) -> None:
    shown = table(row(name, samples, 0, ("main.c", 12)), asleep=samples)
    assert max(map(len, lines(shown, width=60))) <= 60


def test_an_indented_table_keeps_its_columns() -> None:
    rows = [
        dataclasses.replace(row("f", 2, 0, ("/src/f.c", 1)), tag=1),
        dataclasses.replace(row("g", 1), tag=1),
    ]
    text = lines(table(*rows, by="task"), Profile(tag_names={1: "worker"}))
    assert text[1:5] == [
        "    share  ± 95 %  samples  task / function  source",
        " 100.00 %   28.07        3  worker",
        "  66.67 %   36.54        2    f              f.c:1",
        "  33.33 %   36.54        1    g",
    ]


def test_what_is_inlined_stands_under_the_function_that_holds_it() -> None:
    """The limits of the table are for functions: what is under one that is shown is shown, too."""

    def part(samples: int, inlined: Tuple[str, ...], line: int, host: str = "run") -> Row:
        source = ("work.h", line) if inlined else ("run.c", 3)
        named = row(" ".join((*inlined, host)), samples, 0, source)
        return dataclasses.replace(named, host=Host(host, host, ("run.c", 3)), inlined=inlined)

    rows = (
        *(part(70, ("hot_a", "spin"), 8), part(20, ("spin",), 9), part(10, ("hot_a",), 7), part(5, (), 0)),
        *(row("g", 4, 1, ("g.c", 1)), row("h", 1, 2)),
    )
    verdict = Verdict(table(*rows, by="inline"), None, marked=frozenset([0, 3]))
    text = [re.sub(r" % +[\d.]+ ", " %", line) for line in lines(verdict)[1:-1]]
    assert text == [
        "    share  ± 95 %  samples  function / inlined  source",
        "  95.45 %     105  run                 run.c:3",
        "  72.73 %      80    hot_a             work.h:7",
        "  63.64 %      70      spin !          work.h:8",
        "   9.09 %      10      (itself)",
        "  18.18 %      20    spin              work.h:9",
        "   4.55 %       5    (itself) !",
        "   3.64 %       4  g                   g.c:1",
        "   0.91 %       1  h",
    ]
    assert [name for name, _ in numbers(lines(verdict, top=1))][:7] == [
        *("run                 run.c:3", "  hot_a             work.h:7", "    spin !          work.h:8"),
        *("    (itself)", "  spin              work.h:9", "  (itself) !", "(2 more)"),
    ]


def test_a_remark_is_wrapped_under_its_mark() -> None:
    text = lines(table(row("f", 1)), Profile(remarks=("word " * 20,)), width=60)
    assert text[-2:] == ["! " + "word " * 10 + "word", "  " + "word " * 8 + "word"]


@pytest.mark.parametrize(
    ("shown", "denominator"),
    [
        (table(row("f", 999), row("g", 1, 1)), " 100.00 %            1,000  in code; none outside"),
        (table(row("f", 9), unreadable=1), " 100.00 %               10  9 in code, 1 unreadable"),
        (table(outside_code=3), " 100.00 %                3  0 in code, 3 outside code"),
        (
            table(row("f", 2), asleep=5, in_full_bins=1),
            " 100.00 %                         8  2 in code, 5 asleep, 1 in full bins",
        ),
    ],
)
def test_the_last_row_is_the_denominator(shown: Shares, denominator: str) -> None:
    assert lines(shown)[-1] == denominator


def numbers(text: List[str]) -> List[Tuple[str, int]]:
    found = [re.match(r"^ +[\d.]+ % +(?:[\d.?]+ +)?([\d,]+)  (.*)", line) for line in text]
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
    found = (Finding(bad, Severity.WRONG, 1.0, bad, (bad,)),)
    verdict = Verdict(shares(profile, functions, debug, by), None, found)
    text = report(profile, verdict, Layout(demangle=lambda name: name + "\x9b"))
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert "\\x1b[31m\\x07" in text
    assert len(text.splitlines()) <= 14
