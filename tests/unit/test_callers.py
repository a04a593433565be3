"""Whom LR names as the caller of a leaf function, and for which functions it does not."""

from __future__ import annotations

import dataclasses
from typing import List, Optional, Sequence, Tuple

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st
from listed_code import ListedCode

from gdb_prof.errors import UsageError
from gdb_prof.profile.checks import examine
from gdb_prof.profile.one_function.callers import EXCEPTION_RETURN, OTHER_STATE, Caller, callers
from gdb_prof.profile.one_function.callers_text import callers_text
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Histogram, Profile
from gdb_prof.profile.shares import Selection

LEAF, MAIN, OTHER, VIA = 0x08000000, 0x08000010, 0x08000020, 0x08000030
MAP = FunctionMap(
    [
        (
            image(
                [Section(".text", LEAF, 0x40)],
                "08000001 10 FUNC GLOBAL leaf\n08000011 10 FUNC GLOBAL main\n"
                "08000021 10 FUNC GLOBAL other\n08000031 10 FUNC GLOBAL via\n",
            ),
            {},
        )
    ]
)
REST = """
    08000010 push {r3, lr}
    08000012 bl 0x8000000 <leaf>
    08000016 bl 0x8000000 <leaf>
    0800001a blx r3
    0800001c pop {r3, pc}
    08000020 bl 0x8000000 <leaf>
    08000024 movs r0, #1
    08000030 b.w 0x8000000 <leaf>
"""
LINES = FakeLines(
    {
        0x08000012: ("main.c", 7),
        0x08000016: ("main.c", 9),
        0x0800001A: ("main.c", 11),
        0x08000020: ("other.c", 3),
    },
    {LEAF: ("leaf.c", 1)},
    {0x08000020: ("helper", "other")},
)
A, B = 0x20001000, 0x20002000
KNOWN = {
    0x08000017: ("main", 0x08000012, ("main.c", 7)),
    0x0800001B: ("main", 0x08000016, ("main.c", 9)),
    0x0800001D: ("main", 0x0800001A, ("main.c", 11)),
    0x08000025: ("helper (in other)", 0x08000020, ("other.c", 3)),
    0x08000027: ("(no call before other+6)", None, None),
    0xFFFFFFF9: (EXCEPTION_RETURN, None, None),
    0xFFFFFFED: (EXCEPTION_RETURN, None, None),
    0xFF000000: (EXCEPTION_RETURN, None, None),
    0xFEFFFFFF: (OTHER_STATE, None, None),
    0xFEFFFFFE: (OTHER_STATE, None, None),
    0xFEFFFFFD: ("(outside code: 0xfefffffd)", None, None),
    0x20000001: ("(outside code: 0x20000001)", None, None),
    0: ("(outside code: 0x00000000)", None, None),
}


def build(leaf: str = "nop\nbx lr") -> Build:
    code = "\n".join("%08x %s" % (LEAF + 2 * at, line.strip()) for at, line in enumerate(leaf.splitlines()))
    return Build(MAP, LINES, ListedCode(MAP, code + REST))


def found(
    profile: Profile, program: Optional[Build] = None, selection: Selection = Selection()
) -> Tuple[Caller, ...]:
    program = program or build()
    table = examine(profile, program, selection=selection, check=False).table
    row = next(row for row in table.rows if row.name == "leaf")
    return callers(profile, program, table, row, "leaf", selection)


def ring(*lrs: int, pcs: Optional[Sequence[int]] = None, tags: Optional[List[int]] = None) -> Profile:
    return Profile(pcs or [LEAF] * len(lrs), tags, lrs, taken=len(lrs))


@pytest.mark.parametrize("lr", KNOWN)
def test_what_an_lr_names(lr: int) -> None:
    name, site, source = KNOWN[lr]
    assert found(ring(lr, lr)) == (Caller(name, 2, site, source),)


def test_each_call_is_a_row_the_largest_first() -> None:
    profile = ring(*[0x08000017] * 2, *[0x0800001B] * 3, 0x08000025)
    assert [(c.name, c.samples) for c in found(profile)] == [
        ("main", 3),
        ("main", 2),
        ("helper (in other)", 1),
    ]


SAMPLE = st.tuples(st.sampled_from([LEAF, LEAF + 2, MAIN, 0x1FFF0000]), st.sampled_from(list(KNOWN)))


@given(samples=st.lists(SAMPLE, max_size=50), first=st.one_of(st.none(), st.integers(1, 50)))
def test_rows_add_up_to_the_functions_row(samples: List[Tuple[int, int]], first: Optional[int]) -> None:
    pcs = [pc for pc, _ in samples]
    of_leaf = sum(pc in (LEAF, LEAF + 2) for pc in pcs[:first])
    if of_leaf:
        profile = ring(*(lr for _, lr in samples), pcs=pcs)
        assert sum(caller.samples for caller in found(profile, selection=Selection(first))) == of_leaf


def test_of_one_task() -> None:
    profile = ring(0x08000017, 0x08000017, 0x0800001B, tags=[A, B, A])
    assert [c.source for c in found(profile, selection=Selection(tags=(B,)))] == [("main.c", 7)]


@pytest.mark.parametrize(
    ("leaf", "why"),
    [
        ("push {r4, lr}\nbx lr", "leaf saves LR (`push {r4, lr}` at leaf)"),
        ("nop\nstr lr, [sp, #-4]!\nldr lr, [sp], #4", "leaf saves LR (`str lr, [sp, #-4]!` at leaf+2)"),
        ("nop\nbl 0x8000020 <other>", "leaf calls others (`bl 0x8000020 <other>` at leaf+2)"),
        ("nop\nblx r3 @ a call", "leaf calls others (`blx r3` at leaf+2)"),
        ("mov lr, pc", "leaf writes LR (`mov lr, pc` at leaf)"),
        ("pop {r4, lr}", "leaf writes LR (`pop {r4, lr}` at leaf)"),
        ("ldmia.w sp!, {r4, lr}", "leaf writes LR (`ldmia.w sp!, {r4, lr}` at leaf)"),
        ("ldrd r4, lr, [r0]", "leaf writes LR (`ldrd r4, lr, [r0]` at leaf)"),
        ("stmdb sp!, {r4, lr}", "leaf saves LR (`stmdb sp!, {r4, lr}` at leaf)"),
    ],
)
def test_a_function_that_is_no_leaf_is_refused_with_the_reason(leaf: str, why: str) -> None:
    with pytest.raises(UsageError) as raised:
        found(ring(0x08000017), build(leaf))
    assert str(raised.value) == why + ": only in a leaf function LR tells the caller"


@pytest.mark.parametrize(
    "leaf",
    [
        "bx lr",
        "push {r4}\npop {r4}\nbx lr",
        "b.w 0x8000020 <other>",
        "cmp lr, r0",
        "mov r0, lr",
        "mrs r0, msp",
    ],
)
def test_a_function_that_leaves_lr_alone_is_a_leaf(leaf: str) -> None:
    assert [c.name for c in found(ring(0x08000017), build(leaf))] == ["main"]


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (Profile([LEAF], taken=1), "the samples carry no LR: build with PROF_LR=1"),
        (
            Profile(histogram=Histogram(LEAF, 1, (3,)), taken=3),
            "a histogram has no LR: build with PROF_MODE=PROF_RING",
        ),
    ],
)
def test_a_profile_without_lr_is_refused(profile: Profile, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        found(profile)


def test_code_that_is_not_at_hand_is_refused() -> None:
    program = dataclasses.replace(build(), code=ListedCode(MAP, ""))
    with pytest.raises(UsageError, match="the instructions of leaf are not at hand: load its ELF"):
        found(ring(0x08000017), program)


def test_code_without_a_symbol_is_refused() -> None:
    functions = FunctionMap([(image([Section(".text", LEAF, 0x40)]), {})])
    program = Build(functions, LINES, ListedCode(functions, ""))
    profile = ring(0x08000017)
    table = examine(profile, program, check=False).table
    with pytest.raises(UsageError, match="is no function: whether it leaves LR alone is not known"):
        callers(profile, program, table, table.rows[0], table.rows[0].name, Selection())


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_table(width: int) -> None:
    profile = ring(*[0x08000017] * 2, *[0x08000025] * 3, 0xFFFFFFF9, pcs=[LEAF] * 5 + [LEAF + 2])
    verdict = examine(profile, build(), check=False)
    row = verdict.table.rows[0]
    text = callers_text(profile, verdict, row, "leaf", found(profile), width).splitlines()
    assert max(map(len, text)) <= width
    if width == 100:
        assert text == [
            "6 samples by an unknown timer, at an unknown period; too few to check",
            "    share  ± 95 %  samples  called from                                 source",
            "  50.00 %   31.24        3  helper (in other)                           other.c:3",
            "  33.33 %   30.16        2  main                                        main.c:7",
            "  16.67 %   26.67        1  (exception return: called by the hardware)",
            " 100.00 %   19.52        6  all of leaf                                 leaf.c:1",
        ]
