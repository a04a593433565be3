"""Every sample is charged to one row or counted in one class (cases 13, 19, 20)."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Dict, List, Optional, Tuple

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.errors import UsageError
from gdb_prof.profile.places import KINDS, without_clone_suffix
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Histogram, Profile
from gdb_prof.profile.shares import Selection, Shares, shares, task_tags

BASE = 0x08000000
MAP = FunctionMap(
    [
        (
            image(
                [Section(".text", BASE, 0x100), Section(".ramfunc", 0x20000000, 0x20)],
                """
                08000001  c FUNC GLOBAL f
                0800000d  4 FUNC GLOBAL g
                08000011  4 FUNC GLOBAL h
                0800001d  4 FUNC GLOBAL k
                08000031 10 FUNC GLOBAL w
                20000001 20 FUNC GLOBAL ram
                """,
            ),
            {},
        )
    ]
)
CODE = [*range(BASE, BASE + 0x40, 2), 0x20000000, 0x20000010]
ELSEWHERE = [0, 0x1FFF0000, 0x08000100, 0x20000020, 0xFFFFFFFE, 0xFFFFFFFF]
LINES = FakeLines(
    lines={a: ("src/%d.c" % (a >> 4 & 1), a >> 3 & 3) for a in CODE if a & 0xC},
    definitions={BASE: ("src/0.c", 1)},
    inlined={a: ("step", "f") for a in range(BASE, BASE + 8, 2)},
)
NO_LINES = FakeLines()
A, B = 0x20001000, 0x20002000


def by_name(table: Shares) -> Dict[str, int]:
    return {row.name: row.samples for row in table.rows}


def ring(*pcs: int, tags: Optional[List[int]] = None, **names: int) -> Profile:
    return Profile(pcs, tags, taken=len(pcs), tag_names={tag: name for name, tag in names.items()})


SAMPLE = st.tuples(st.sampled_from(CODE + ELSEWHERE), st.sampled_from([0, A, B]))


@pytest.mark.parametrize("by", KINDS)
@given(samples=st.lists(SAMPLE), merge=st.booleans())
def test_each_sample_of_a_ring_is_in_one_row_or_class(
    by: str, samples: List[Tuple[int, int]], merge: bool
) -> None:
    pcs, tags = [pc for pc, _ in samples], [tag for _, tag in samples]
    table = shares(Profile(pcs, tags, taken=len(pcs)), MAP, LINES, by, merge_clones=merge)
    outside = [row for row in table.rows if by == "task" and row.function is None]
    assert sum(row.samples for row in table.rows if row not in outside) == table.in_code
    assert table.in_code == sum(pc in CODE for pc in pcs)
    assert table.classes == Counter(
        "unreadable" if pc >= 0xFFFFFFFE else "outside code" for pc in pcs if pc in ELSEWHERE
    )
    assert table.total == table.in_code + sum(table.classes.values()) == len(pcs)
    if by == "task":  # outside code they are still a task's
        assert sum(row.samples for row in outside) == sum(table.classes.values())
        assert Counter(tags) == sum((Counter({r.tag: r.samples}) for r in table.rows), Counter())
    assert [r.samples for r in table.rows] == sorted((r.samples for r in table.rows), reverse=True)


@pytest.mark.parametrize("by", sorted(set(KINDS) - {"task"}))
@given(
    counts=st.lists(st.integers(0, 65535), min_size=1, max_size=20),
    base=st.sampled_from([BASE - 16, BASE, BASE + 8]),
    shift=st.integers(1, 8),
    outside=st.integers(0, 9),
    saturated=st.integers(0, 9),
)
def test_each_sample_of_a_histogram_is_in_one_row_or_class(
    by: str, counts: List[int], base: int, shift: int, outside: int, saturated: int
) -> None:
    profile = Profile(histogram=Histogram(base, shift, tuple(counts), outside, saturated))
    table = shares(profile, MAP, LINES, by)
    assert sum(row.samples for row in table.rows) == table.in_code
    assert table.in_code + sum(table.classes.values()) == table.total
    assert table.total == sum(counts) + outside + saturated
    assert 0 not in table.classes.values()
    assert table.classes.get("outside the bins", 0) == outside
    assert table.classes.get("in full bins", 0) == saturated


def test_samples_outside_code_and_unreadable_ones_are_no_functions() -> None:
    table = shares(ring(BASE, 0xFFFFFFFF, BASE + 2, 0, 0x20000101), MAP, NO_LINES)
    assert by_name(table) == {"f": 2}
    assert table.classes == {"unreadable": 1, "outside code": 2}


def test_a_bin_is_divided_by_bytes_and_filler_does_not_count() -> None:
    counts = (
        10,  # f 12 bytes, g 4: 7.5 and 2.5
        10,  # h 4 bytes, 8 of filler, k 4
        3,  # filler alone
        7,  # w alone
        *(0,) * 12,
        2,  # behind the section
    )
    table = shares(Profile(histogram=Histogram(BASE, 4, counts, 5, 6)), MAP, NO_LINES)
    assert by_name(table) == {"f": 8, "g": 2, "h": 5, "k": 5, "(no symbol, .text)": 3, "w": 7}
    assert table.classes == {"outside code": 2, "outside the bins": 5, "in full bins": 6}
    assert (table.total, table.in_code, table.divided_samples, table.divided_bins) == (43, 30, 20, 2)


def test_a_literal_pool_has_no_part_in_a_bin() -> None:
    """f is 8 bytes of code and 4 of literals, g the 4 bytes that are left of the bin."""
    symbols = """
    08000001  c FUNC GLOBAL f
    08000000  0 NOTYPE LOCAL $t
    08000008  0 NOTYPE LOCAL $d
    0800000d  4 FUNC GLOBAL g
    0800000c  0 NOTYPE LOCAL $t
    """
    functions = FunctionMap([(image([Section(".text", BASE, 0x10)], symbols), {})])
    table = shares(Profile(histogram=Histogram(BASE, 4, (30,))), functions, NO_LINES)
    assert by_name(table) == {"f": 20, "g": 10}


def test_by_address_a_bin_is_one_row() -> None:
    table = shares(Profile(histogram=Histogram(BASE + 0x30, 4, (7,))), MAP, NO_LINES, "address")
    assert [(row.address, row.name, row.samples) for row in table.rows] == [(BASE + 0x30, "w (16 bytes)", 7)]
    assert table.divided_bins == 0


@given(st.integers(0, 65535), st.lists(st.integers(1, 20), min_size=1, max_size=6))
def test_parts_of_a_bin_are_whole_and_add_up(n: int, halfwords: List[int]) -> None:
    symbols, at = [], BASE
    for i, weight in enumerate(halfwords):
        symbols.append("%08x %x FUNC GLOBAL f%d" % (at | 1, 2 * weight, i))
        at += 2 * weight
    functions = FunctionMap([(image([Section(".text", BASE, 256)], "\n".join(symbols)), {})])
    found = by_name(shares(Profile(histogram=Histogram(BASE, 8, (n,))), functions, NO_LINES))
    assert sum(found.values()) == n
    for i, weight in enumerate(halfwords):
        assert abs(found.get("f%d" % i, 0) - n * weight / sum(halfwords)) < 1


def test_the_first_samples_alone() -> None:
    profile = ring(BASE, BASE, BASE + 0x30, BASE, tags=[A, A, B, A])
    assert by_name(shares(profile, MAP, NO_LINES, selection=Selection(first=3))) == {"f": 2, "w": 1}
    assert by_name(shares(profile, MAP, NO_LINES, selection=Selection(first=3, tags=(A,)))) == {"f": 2}
    assert shares(profile, MAP, NO_LINES, selection=Selection(first=99)).total == 4


def test_a_task_by_its_name_or_its_address() -> None:
    same = {A: "worker", B: "worker", 0x20003000: "idle"}
    profile = dataclasses.replace(
        ring(BASE, BASE + 0x30, BASE + 0x30, 0, tags=[A, B, 0x20003000, B]), tag_names=same
    )
    assert task_tags(profile, "idle") == (0x20003000,)
    assert task_tags(profile, "worker") == (A, B)
    assert task_tags(profile, "0x20001000") == task_tags(profile, "task@20001000") == (A,)
    table = shares(profile, MAP, NO_LINES, selection=Selection(tags=(A, B)))
    assert (by_name(table), table.classes, table.total) == ({"f": 1, "w": 1}, {"outside code": 1}, 3)


def test_by_task_each_function_is_charged_to_each_task() -> None:
    profile = ring(BASE, BASE + 2, BASE, 0, 0xFFFFFFFF, tags=[A, B, A, B, B])
    table = shares(profile, MAP, NO_LINES, "task")
    assert [(r.tag, r.name, r.samples) for r in table.rows] == [
        *((A, "f", 2), (B, "(outside code)", 1), (B, "(unreadable)", 1), (B, "f", 1))
    ]


def test_by_address_tells_the_place_in_its_function_and_literal_pools() -> None:
    symbols = "08000001 20 FUNC GLOBAL f\n08000000 0 NOTYPE LOCAL $t\n08000018 0 NOTYPE LOCAL $d"
    functions = FunctionMap([(image([Section(".text", BASE, 0x40)], symbols), {})])
    table = shares(ring(BASE, BASE + 2, BASE + 0x18), functions, NO_LINES, "address")
    assert [row.name for row in table.rows] == ["f", "f+2", "f+24 (literal pool)"]


def test_inline_view_names_what_the_symbol_view_hides_and_both_add_up() -> None:
    loop = range(BASE, BASE + 8, 2)
    lines = FakeLines(inlined={**{a: ("crc_step", "f") for a in loop}, BASE + 8: ("f",)})
    profile = ring(*loop, BASE + 8)
    assert by_name(shares(profile, MAP, lines)) == {"f": 5}
    assert by_name(shares(profile, MAP, lines, "inline")) == {"crc_step (in f)": 4, "f": 1}


def test_a_helper_inlined_in_two_places_is_two_rows() -> None:
    lines = FakeLines(inlined={BASE: ("step", "f"), BASE + 0x30: ("step", "w")})
    assert by_name(shares(ring(BASE, BASE + 0x30), MAP, lines, "inline")) == {
        "step (in f)": 1,
        "step (in w)": 1,
    }


def test_by_line_each_line_of_a_function_is_a_row_and_code_without_lines_one() -> None:
    lines = FakeLines({BASE: ("f.c", 1), BASE + 2: ("f.c", 2), BASE + 4: ("f.c", 1)})
    table = shares(ring(*range(BASE, BASE + 12, 2)), MAP, lines, "line")
    assert [(r.name, r.source, r.samples) for r in table.rows] == [
        *(("f", None, 3), ("f", ("f.c", 1), 2), ("f", ("f.c", 2), 1))
    ]


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("parse", "parse"),
        ("parse.part.0", "parse"),
        ("parse.constprop.1.isra.0", "parse"),
        ("parse.cold", "parse"),
        ("log.lto_priv.3", "log"),
        ("f.llvm.1234567890", "f"),
        ("v1.2_table", "v1.2_table"),
        ("parse.partial", "parse.partial"),
        ("a.part.0.b", "a.part.0.b"),
    ],
)
def test_only_the_suffixes_of_compilers_are_taken_off(name: str, whole: str) -> None:
    assert without_clone_suffix(name) == whole


def clones(*symbols: str) -> Tuple[FunctionMap, Profile]:
    """Functions of 8 bytes one after the other, and 10 samples in each."""
    table, pcs = [], []
    for at, symbol in zip(range(BASE, BASE + 0x100, 8), symbols):
        if symbol.startswith("file "):
            table.append("0 0 FILE LOCAL " + symbol[5:])
        else:
            table.append("%08x 8 FUNC %s" % (at | 1, symbol))
            pcs += 10 * [at]
    return FunctionMap([(image([Section(".text", BASE, 0x100)], "\n".join(table)), {})]), ring(*pcs)


def test_clones_are_rows_of_their_own_until_they_are_merged() -> None:
    names = ["parse", "parse.part.0", "parse.constprop.1.isra.0", "parse.cold", "log.lto_priv.3"]
    functions, profile = clones(*("GLOBAL " + name for name in names))
    assert by_name(shares(profile, functions, NO_LINES)) == dict.fromkeys(names, 10)
    assert by_name(shares(profile, functions, NO_LINES, merge_clones=True)) == {"parse": 40, "log": 10}


def test_clones_of_two_static_functions_of_one_name_stay_apart() -> None:
    functions, profile = clones(
        *("file a.c", "LOCAL parse", "LOCAL parse.part.0"),
        *("file b.c", "LOCAL parse", "LOCAL parse.cold", "LOCAL parse.part.1"),
    )
    table = shares(profile, functions, NO_LINES, merge_clones=True)
    assert [(row.name, row.samples) for row in table.rows] == [("parse", 30), ("parse", 20)]


def test_a_local_clone_joins_its_global_function_without_debug_information() -> None:
    functions, profile = clones("file a.c", "LOCAL parse.part.0", "GLOBAL parse")
    assert by_name(shares(profile, functions, NO_LINES, merge_clones=True)) == {"parse": 20}


def test_a_local_clone_stays_with_the_local_function_of_its_file() -> None:
    functions, profile = clones("file a.c", "LOCAL parse", "LOCAL parse.part.0", "GLOBAL parse")
    table = shares(profile, functions, NO_LINES, merge_clones=True)
    assert [(row.name, row.samples) for row in table.rows] == [("parse", 20), ("parse", 10)]


UNTAGGED, HISTOGRAM = ring(BASE), Profile(histogram=Histogram(BASE, 4, (1,)), taken=1)
NO_TASK, NO_ORDER = "carry no task: build with PROF_TAG", "a histogram has no order and no tasks"


@pytest.mark.parametrize(
    ("profile", "by", "selection", "message"),
    [
        (UNTAGGED, "task", Selection(), NO_TASK),
        (UNTAGGED, "function", Selection(tags=(A,)), NO_TASK),
        (HISTOGRAM, "task", Selection(), NO_ORDER),
        (HISTOGRAM, "function", Selection(tags=(A,)), NO_ORDER),
        (HISTOGRAM, "function", Selection(first=1), NO_ORDER),
    ],
)
def test_what_a_profile_does_not_hold_is_refused(
    profile: Profile, by: str, selection: Selection, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        shares(profile, MAP, NO_LINES, by, selection)


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (ring(BASE, BASE, tags=[A, B], heavy=A), "no sample of a task x: the tasks are 0x20002000, heavy"),
        (UNTAGGED, NO_TASK),
        (HISTOGRAM, NO_ORDER),
    ],
)
def test_a_task_that_is_not_there_is_refused(profile: Profile, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        task_tags(profile, "x")
