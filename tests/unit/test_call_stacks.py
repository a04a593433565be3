"""Samples with call stacks: as paths, as a tree, and by who called a function; each sample in one row."""

from __future__ import annotations

import dataclasses
import gc
import re
import weakref
from typing import Any, Dict, List, Sequence, Tuple

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st
from listed_code import ListedCode

from gdb_prof.errors import UsageError
from gdb_prof.profile.call_stacks import STACK_KINDS, TRUNCATED, Paths
from gdb_prof.profile.call_text import BLANK, path_text, shortened_path
from gdb_prof.profile.call_tree import lines, tree
from gdb_prof.profile.checks import Verdict, examine
from gdb_prof.profile.one_function.callers import EXCEPTION_RETURN
from gdb_prof.profile.one_function.stack_callers import OUTERMOST, on_stacks, stack_callers
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.program.names import collected
from gdb_prof.profile.report import Layout, report
from gdb_prof.profile.samples import Histogram, Profile
from gdb_prof.profile.saved import savefile
from gdb_prof.profile.shares import Selection, shares

MAIN, RUN, LEAF, ODD, ISR, IDLE, TWIN_A, TWIN_B = range(0x08000000, 0x08000080, 0x10)
NAMES = ("main", "run", "leaf", "odd", "isr", "idle")
SYMBOLS = "".join(
    "%08x 10 FUNC GLOBAL %s\n" % (0x08000001 + 0x10 * at, name) for at, name in enumerate(NAMES)
)
SYMBOLS += (
    "0 0 FILE LOCAL a.c\n08000061 10 FUNC LOCAL twin\n0 0 FILE LOCAL b.c\n08000071 10 FUNC LOCAL twin\n"
)
MAP = FunctionMap([(image([Section(".text", MAIN, 0x80)], SYMBOLS), {})])
LINES = FakeLines(
    {MAIN + 4: ("main.c", 5), MAIN + 8: ("main.c", 9), RUN + 4: ("run.c", 3), ODD + 4: ("odd.c", 7)},
    {MAIN: ("main.c", 1), RUN: ("run.c", 1), LEAF: ("leaf.c", 1), ODD: ("odd.c", 1)},
    {RUN + 4: ("helper", "run")},
)
BUILD = Build(MAP, LINES, ListedCode(MAP, "%08x wfi\n%08x nop" % (IDLE, IDLE + 2)))
EXC_RETURN = 0xFFFFFFF9
OUTSIDE = 0x20000000

Stack = Tuple[int, ...]


def profile(stacks: Dict[Stack, int], **more: Any) -> Profile:
    """So many samples of each stack, as they are written down: PC first."""
    table = tuple(stacks)
    numbers = [number for number, n in enumerate(stacks.values()) for _ in range(n)]
    pcs = [table[number][0] for number in numbers]
    return Profile(pcs, stacks=numbers, stack_table=table, taken=len(pcs), **more)


def verdict(of: Profile, by: str, selection: Selection = Selection()) -> Verdict:
    return examine(of, BUILD, by, selection, check=False)


def paths(of: Profile) -> Dict[str, int]:
    return {row.name: row.samples for row in verdict(of, "stack").table.rows}


def shown(of: Profile, by: str, **layout: Any) -> List[str]:
    """As if no sample depended on another, which here they do: they stand in order."""
    text = report(of, Verdict(verdict(of, by).table, None), Layout(**layout)).splitlines()
    return [line for line in text[1:] if not re.match(r"±1\.0 % would take|Half the error would", line)]


WORK = {
    (LEAF, RUN + 4, MAIN + 4): 60,
    (LEAF + 2, RUN + 4, MAIN + 4): 10,
    (RUN, MAIN + 4): 10,
    (LEAF, MAIN + 8): 15,
    (MAIN + 2,): 5,
}


# -- paths ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stack", "path"),
    [
        ((MAIN,), "main"),
        ((LEAF, RUN + 4, MAIN + 4), "main > run > leaf"),
        ((LEAF, ODD + 4, ODD + 4, MAIN + 4), "main > odd > odd > leaf"),
        ((ISR, EXC_RETURN, LEAF, MAIN + 4), "main > leaf > (exception) > isr"),
        ((LEAF, ODD + 4, TRUNCATED), "(truncated) > odd > leaf"),
        ((ISR, 0xFFFFFFFD, TRUNCATED), "(truncated) > (exception) > isr"),
        ((LEAF, OUTSIDE, MAIN + 4), "main > (outside code) > leaf"),
    ],
)
def test_a_stack_is_a_path_of_functions(stack: Stack, path: str) -> None:
    assert paths(profile({stack: 3})) == {path: 3}


def test_addresses_in_one_function_are_one_path() -> None:
    assert paths(profile(WORK)) == {
        "main > run > leaf": 70,
        "main > leaf": 15,
        "main > run": 10,
        "main": 5,
    }


def test_other_functions_of_one_name_are_other_paths() -> None:
    of = profile({(LEAF, TWIN_A + 4, MAIN + 4): 2, (LEAF, TWIN_B + 4, MAIN + 4): 1})
    assert [row.samples for row in verdict(of, "stack").table.rows] == [2, 1]
    assert "main > twin (a.c) > leaf" in shown(of, "stack")[1]
    assert "main > twin (b.c) > leaf" in shown(of, "stack")[2]


NO_WORK = {
    (IDLE + 2, MAIN + 4): 40,
    (OUTSIDE, MAIN + 4): 20,
    (OUTSIDE + 8, MAIN + 4): 5,
    (0xFFFFFFFE, RUN + 4, MAIN + 4): 10,
    (MAIN,): 25,
}


def test_what_is_no_code_or_sleeps_is_innermost_on_the_path_to_it() -> None:
    of = profile(NO_WORK)
    assert paths(of) == {
        "main > idle > (asleep)": 40,
        "main": 25,
        "main > (outside code)": 25,
        "main > run > (unreadable)": 10,
    }
    table = verdict(of, "stack").table
    assert (table.classes, table.total, table.in_code) == (
        *({"asleep": 40, "outside code": 25, "unreadable": 10}, 100, 25),
    )
    assert table.order and min(table.order.rows) == 0


def test_a_function_has_the_time_of_all_that_it_led_to() -> None:
    of = profile({(OUTSIDE, MAIN + 4): 20, (LEAF, MAIN + 4): 80})
    assert shown(of, "calls") == [
        "    share  ± 95 %  samples  own  function          source",
        " 100.00 %    1.85      100       main              main.c:1",
        "  80.00 %    7.77       80   80    leaf            leaf.c:1",
        "  20.00 %    7.77       20   20    (outside code)",
        " 100.00 %              100  80 in code, 20 outside code",
    ]


def test_a_call_from_outside_code_and_a_sample_there_are_one_node() -> None:
    of = profile({(OUTSIDE, MAIN + 4): 2, (LEAF, OUTSIDE, MAIN + 4): 3})
    (main,) = tree(verdict(of, "calls").table.rows)
    assert [(node.host.name, node.samples, node.own) for node in main.calls.values()] == [
        ("(outside code)", 5, 2)
    ]


def test_a_mark_of_the_source_is_innermost_too() -> None:
    of = profile({(OUTSIDE, MAIN + 4): 2}, marks={OUTSIDE: "sampling prohibited"})
    assert paths(of) == {"main > (sampling prohibited)": 2}


def test_paths_do_not_outlive_their_report() -> None:
    made = Paths(((MAIN,),), MAP, LINES)
    made.place(MAIN, 0)
    left = weakref.ref(made)
    del made
    gc.collect()
    assert left() is None


def test_paths_of_the_first_samples() -> None:
    of = profile({(MAIN,): 5, (LEAF, MAIN + 8): 5})
    table = shares(of, MAP, LINES, "stack", Selection(first=6))
    assert {row.name: row.samples for row in table.rows} == {"main": 5, "main > leaf": 1}


@pytest.mark.parametrize("by", STACK_KINDS)
@pytest.mark.parametrize(
    "of", [Profile([MAIN], taken=1), Profile(histogram=Histogram(MAIN, 1, (3,)), taken=3)]
)
def test_a_profile_without_stacks_is_refused_with_the_remedy(of: Profile, by: str) -> None:
    with pytest.raises(UsageError, match="carry no call stacks: `prof start -source halt -backtrace`"):
        verdict(of, by)


# -- text ----------------------------------------------------------------------------------


def test_the_table_of_paths() -> None:
    assert shown(profile(WORK), "stack") == [
        "    share  ± 95 %  samples  call path",
        "  70.00 %    8.84       70  main > run > leaf",
        "  15.00 %    6.99       15  main > leaf",
        "  10.00 %    5.96       10  main > run",
        "   5.00 %    4.51        5  main",
        " 100.00 %              100  in code; none outside",
    ]


def test_the_tree() -> None:
    assert shown(profile(WORK), "calls") == [
        "    share  ± 95 %  samples  own  function  source",
        " 100.00 %    1.85      100    5  main      main.c:1",
        "  80.00 %    7.77       80   10    run     run.c:1",
        "  70.00 %    8.84       70   70      leaf  leaf.c:1",
        "  15.00 %    6.99       15   15    leaf    leaf.c:1",
        " 100.00 %              100  in code; none outside",
    ]


def test_the_tree_is_cut_at_its_smallest_and_the_sums_stay() -> None:
    assert [line[23:] for line in shown(profile(WORK), "calls", least_percent=20)[1:-1]] == [
        "100    5  main        main.c:1",
        " 80   10    run       run.c:1",
        " 70   70      leaf    leaf.c:1",
        " 15         (1 more)",
    ]
    assert [line[23:] for line in shown(profile(WORK), "calls", top=2)[1:-1]] == [
        "100    5  main          main.c:1",
        " 80   10    run         run.c:1",
        " 70           (1 more)",
        " 15         (1 more)",
    ]


def test_a_function_that_calls_itself_is_named_once() -> None:
    assert (
        path_text(["main", "walk", "walk", "walk", "leaf"]).replace(BLANK, " ")
        == "main > walk (3 deep) > leaf"
    )


@pytest.mark.parametrize(
    ("room", "text"),
    [
        (40, "main > first > second > third > leaf"),
        (36, "main > first > second > third > leaf"),
        (35, "main > (2 more) > third > leaf"),
        (29, "main > (3 more) > leaf"),
        (21, "… > leaf"),
        (6, "… …eaf"),
    ],
)
def test_a_long_path_loses_its_middle(room: int, text: str) -> None:
    path = path_text(["main", "first", "second", "third", "leaf"])
    assert shortened_path(path, room).replace(BLANK, " ") == text


def test_a_name_with_an_arrow_in_it_is_one_name() -> None:
    names = ["main", "f<g<int> > >", "h"]
    assert shortened_path(path_text(names), 20).replace(BLANK, " ") == "main > (1 more) > h"


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("by", STACK_KINDS)
def test_no_line_is_wider_than_the_console(by: str, width: int) -> None:
    deep = (LEAF, *[ODD + 4, RUN + 4] * 15, MAIN + 4)
    assert max(map(len, shown(profile({**WORK, deep: 7}), by, width=width))) <= width


# -- callers -------------------------------------------------------------------------------


def callers(of: Profile, name: str, selection: Selection = Selection()) -> List[Tuple[str, int, Any]]:
    row = next(row for row in on_stacks(of, BUILD, selection) if row.name == name)
    found = stack_callers(of, BUILD, row, selection)
    assert sum(caller.samples for caller in found) == row.samples
    return [(caller.name, caller.samples, caller.source) for caller in found]


def test_callers_of_any_function_by_the_place_of_the_call() -> None:
    of = profile(WORK)
    assert callers(of, "leaf") == [("helper (in run)", 70, ("run.c", 3)), ("main", 15, ("main.c", 9))]
    assert callers(of, "run") == [("main", 80, ("main.c", 5))]
    assert callers(of, "main") == [(OUTERMOST, 100, None)]


def test_a_function_counts_with_what_it_called_and_once_a_sample() -> None:
    of = profile({(LEAF, ODD + 4, ODD + 4, ODD + 4, MAIN + 4): 3, (ODD, MAIN + 8): 1})
    rows = on_stacks(of, BUILD, Selection())
    assert {row.name: row.samples for row in rows} == {"main": 4, "odd": 4, "leaf": 3}
    assert callers(of, "odd") == [("main", 3, ("main.c", 5)), ("main", 1, ("main.c", 9))]


def test_functions_that_call_each_other_were_called_from_outside() -> None:
    of = profile({(LEAF, RUN + 4, ODD + 4, RUN + 4, ODD + 4, MAIN + 4): 2})
    assert callers(of, "run") == [("odd", 2, ("odd.c", 7))]
    assert callers(of, "odd") == [("main", 2, ("main.c", 5))]


@pytest.mark.parametrize(
    ("rest", "caller"),
    [
        ((EXC_RETURN, LEAF, MAIN + 4), EXCEPTION_RETURN),
        ((TRUNCATED,), "(truncated)"),
        ((OUTSIDE, MAIN + 4), "(outside code: 0x20000000)"),
        ((), OUTERMOST),
    ],
)
def test_what_is_no_call(rest: Stack, caller: str) -> None:
    assert callers(profile({(ISR, *rest): 2}), "isr") == [(caller, 2, None)]


def test_callers_count_what_is_no_code_or_sleeps_as_the_tree_does() -> None:
    of = profile(NO_WORK)
    assert callers(of, "main") == [(OUTERMOST, 100, None)]
    assert callers(of, "run") == [("main", 10, ("main.c", 5))]
    assert callers(of, "idle") == [("main", 40, ("main.c", 5))]
    (main,) = tree(verdict(of, "calls").table.rows)
    assert (main.samples, main.own) == (100, 25)


def test_callers_of_the_first_samples() -> None:
    of = profile({(LEAF, MAIN + 8): 5, (LEAF, RUN + 4): 5})
    assert [samples for _, samples, _ in callers(of, "leaf", Selection(first=7))] == [5, 2]


# -- any stacks ----------------------------------------------------------------------------

ADDRESS = st.sampled_from(
    [MAIN + 4, MAIN + 8, RUN + 4, LEAF, ODD + 4, ISR, IDLE + 2, EXC_RETURN, OUTSIDE, TRUNCATED]
)
PC = st.sampled_from([MAIN, RUN, LEAF, ODD, IDLE + 2, OUTSIDE])
STACKS = st.dictionaries(
    st.tuples(PC, st.lists(ADDRESS, max_size=8)).map(lambda parts: (parts[0], *parts[1])),
    st.integers(1, 9),
    max_size=12,
)


@given(stacks=STACKS, top=st.integers(1, 9), least=st.sampled_from([0.0, 20.0]))
def test_every_sample_is_in_one_row(stacks: Dict[Stack, int], top: int, least: float) -> None:
    of = profile(stacks)
    table = verdict(of, "stack").table
    assert sum(row.samples for row in table.rows) == table.total == sum(stacks.values())
    roots = tree(table.rows)
    assert sum(root.samples for root in roots) == table.total
    nodes = list(roots)
    for node in nodes:
        nodes += node.calls.values()
        assert node.own + sum(called.samples for called in node.calls.values()) == node.samples
    shown_lines = list(lines(roots, top, least * table.total / 100))
    hidden = sum(line.samples for line in shown_lines if line.node is None)
    assert hidden + sum(line.node.own for line in shown_lines if line.node) == table.total
    for row in on_stacks(of, BUILD, Selection()):
        assert sum(c.samples for c in stack_callers(of, BUILD, row, Selection())) == row.samples


@given(stacks=STACKS)
def test_stacks_and_their_names_outlive_the_program(stacks: Dict[Stack, int]) -> None:
    of = profile(stacks)
    saved = savefile.loads(
        savefile.dumps(dataclasses.replace(of, names=collected(of, BUILD, "id", "app"))), "f"
    )
    assert (list(saved.stacks or ()), tuple(saved.stack_table)) == (of.stacks, of.stack_table)
    assert saved.names is not None
    build = saved.names.build()
    for by in STACK_KINDS:
        own = examine(saved, build, by, check=False)
        assert report(of, verdict(of, by), Layout()) == report(of, own, Layout())


def test_an_empty_stack_in_a_file_is_its_pc() -> None:
    assert paths(dataclasses.replace(profile({(MAIN,): 1}), stack_table=((),))) == {"main": 1}


def test_the_lines_of_a_tree_are_as_many_as_asked_for() -> None:
    rows: Sequence[Any] = verdict(profile(WORK), "calls").table.rows
    assert [
        sum(line.node is not None for line in lines(tree(rows), most, 0)) for most in (1, 2, 3, 4, 9)
    ] == [*(1, 2, 3, 4, 4)]
