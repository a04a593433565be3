"""A profile that is saved with its names is reported as its own program would report it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, Optional, Sequence, Tuple

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.profile.checks import examine
from gdb_prof.profile.circumstances import Circumstances, Handler
from gdb_prof.profile.places import KINDS
from gdb_prof.profile.program.code import Build, Instruction
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.program.names import Names, collected
from gdb_prof.profile.report import Layout, report
from gdb_prof.profile.samples import Histogram, Profile
from gdb_prof.profile.saved.names_header import from_header, to_header
from gdb_prof.profile.saved.savefile import dumps, loads

BASE = 0x08000000
FUNCTIONS = FunctionMap(
    [
        (
            image(
                [Section(".text", BASE, 0x200), Section(".ramfunc", 0x20000000, 0x20)],
                """
                00000000  0 FILE   LOCAL  a.c
                08000001 20 FUNC   LOCAL  step
                08000000  0 NOTYPE LOCAL  $t
                08000018  0 NOTYPE LOCAL  $d
                08000020  0 NOTYPE LOCAL  $t
                08000021 20 FUNC   LOCAL  step.part.0
                00000000  0 FILE   LOCAL  b.c
                08000041 20 FUNC   LOCAL  step
                08000061 20 FUNC   GLOBAL Default_Handler
                08000061 20 FUNC   WEAK   USART1_IRQHandler
                08000081  0 FUNC   GLOBAL memcpy
                080000a1 20 FUNC   GLOBAL idle
                080000c1 20 FUNC   GLOBAL crc
                20000001 20 FUNC   GLOBAL flash_write
                """,
            ),
            {},
        ),
        (image([Section(".text", BASE + 0x10000, 0x40)], "08010001 20 FUNC GLOBAL crc", "boot.elf"), {}),
        (image([Section(".overlay", 0x20000000, 0x20)], "20000001 20 FUNC GLOBAL other", "b.elf"), {}),
    ]
)
CODE = [*range(BASE, BASE + 0x1E0, 2), *range(0x20000000, 0x20000020, 2), *range(0x08010000, 0x08010040, 2)]
ELSEWHERE = [0, 3, BASE + 5, 0x1FFF0000, 0xFFFFFFFE, 0xFFFFFFFF]
LINES = FakeLines(
    lines={a: ("src/%d.c" % (a >> 4 & 1), a >> 3 & 7) for a in CODE if a & 0xC},
    definitions={BASE: ("src/a.c", 1), BASE + 0x40: ("src\\b.c", 3), BASE + 0xC0: ("crc.h", 9)},
    inlined={
        **{a: ("turn", "step") for a in range(BASE, BASE + 8, 2)},
        **{a: ("crc", "turn", "crc") for a in range(BASE + 0xC0, BASE + 0xD0, 2)},
    },
)
IDLE = [
    Instruction(BASE + 0xA0, 2, "movs\tr0, #1"),
    Instruction(BASE + 0xA2, 2, "wfi"),
    Instruction(BASE + 0xA4, 4, "isb\tsy"),
    Instruction(BASE + 0xA8, 2, "adds\tr0, #1"),
    Instruction(BASE + 0xAA, 2, "b.n\t0x80000a0 <idle>"),
]


class Code:
    """See gdb_prof.profile.program.code.Code: of one function."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._instructions = instructions

    def function(self, address: int) -> Sequence[Instruction]:
        return self._instructions if self.waits(address) else ()

    def waits(self, address: int) -> bool:
        return any(0 <= address - each.address < each.size for each in self._instructions)

    def callers(self, address: int) -> Sequence[int]:
        return ()


BUILD = Build(FUNCTIONS, LINES, Code(IDLE))
SEEN = Circumstances(
    0, (Handler(37, BASE + 0x60, 0),), {15: BASE + 0x60, 37: BASE + 0x60}, "same", "QEMU", "", (0x20002000,)
)


def as_saved(profile: Profile, build: Build = BUILD) -> Profile:
    """Through a file."""
    names = collected(profile, build, "b1", "app.elf")
    return loads(dumps(dataclasses.replace(profile, names=names)), "a.prof")


def read(profile: Profile, build: Build, by: str, merge_clones: bool = False) -> str:
    verdict = examine(profile, build, by, merge_clones=merge_clones)
    return report(dataclasses.replace(profile, origin="a.prof"), verdict, Layout(200, 1000))


TAG = st.sampled_from([0, 0x20001000, 0x20002000])
ADDRESS = st.sampled_from(CODE + ELSEWHERE) | st.integers(0, 0xFFFFFFFF)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    pcs = draw(st.lists(ADDRESS, min_size=1, max_size=60))
    tags = draw(st.none() | st.lists(TAG, min_size=len(pcs), max_size=len(pcs)))
    lrs = draw(st.none() | st.lists(ADDRESS, min_size=len(pcs), max_size=len(pcs)))
    if draw(st.booleans()):
        return Profile(pcs, tags, lrs, taken=len(pcs), circumstances=SEEN)
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=40))
    shift = draw(st.integers(1, 5))
    histogram = Histogram(BASE, shift, tuple(counts), draw(st.integers(0, 2)))
    return Profile(histogram=histogram, taken=max(1, sum(counts)), circumstances=SEEN)


@given(profiles(), st.sampled_from(KINDS), st.booleans())
def test_the_report_is_the_same_without_the_program(profile: Profile, by: str, merge_clones: bool) -> None:
    if by == "task" and profile.tags is None:
        by = "function"
    saved = as_saved(profile)
    assert saved.names is not None
    expected = read(profile, BUILD, by, merge_clones)
    assert read(saved, saved.names.build(), by, merge_clones) == expected


@given(profiles())
def test_every_address_of_the_profile_is_answered_as_by_the_program(profile: Profile) -> None:
    saved = as_saved(profile)
    assert saved.names is not None
    build = saved.names.build()
    for address in {*profile.pcs, *(lr & ~1 for lr in profile.lrs or ()), BASE + 0x60}:
        function = FUNCTIONS.at(address)
        assert build.functions.at(address) == function
        if function is None:
            continue
        assert build.functions.in_literal_pool(address) == FUNCTIONS.in_literal_pool(address)
        assert build.lines.line(address) == LINES.line(address)
        assert tuple(build.lines.inlined(address)) == tuple(LINES.inlined(address))
        assert build.lines.definition(function.address) == LINES.definition(function.address)
        assert build.name_at(address) == BUILD.name_at(address)


def test_an_address_that_was_not_sampled_has_its_function_but_no_line() -> None:
    build = collected(Profile([BASE + 4], taken=1), BUILD, "b1", "app.elf").build()
    function = build.functions.at(BASE + 8)
    assert function is not None and function.name == "step"
    assert build.lines.line(BASE + 8) is None
    assert build.functions.at(BASE + 0x48) is None
    assert build.functions.at(BASE - 2) is None


def test_sleep_stays_sleep_though_no_instruction_is_saved() -> None:
    """On the wfi and after it, behind a barrier; what comes next is awake."""
    profile = Profile([BASE + 0xA2, BASE + 0xA4, BASE + 0xA8, BASE + 0xAA, BASE + 0xC0], taken=5)
    saved = as_saved(profile)
    assert saved.names is not None
    table = examine(saved, saved.names.build()).table
    assert table.classes == examine(profile, BUILD).table.classes == {"asleep": 3}
    assert [row.name for row in table.rows] == ["crc", "idle"]
    assert not any(saved.names.build().code.function(pc) for pc in (BASE + 0xAA, BASE + 0xC0))


def test_sleep_in_a_bin_of_one_instruction_stays_sleep() -> None:
    profile = Profile(histogram=Histogram(BASE + 0xA0, 1, (1, 5, 0, 0, 7, 2)), taken=15)
    saved = as_saved(profile)
    assert saved.names is not None
    assert examine(saved, saved.names.build()).table.classes == {"asleep": 12}
    assert examine(profile, BUILD).table.classes == {"asleep": 12}


def test_nothing_is_said_twice() -> None:
    """1,000 addresses of 8 lines in one function: a number each, not a name each."""
    name = "a_function_with_a_long_name"
    text = image([Section(".text", BASE, 0x4000)], "08000001 4000 FUNC GLOBAL " + name)
    functions = FunctionMap([(text, {})])
    lines = FakeLines(
        {a: ("a/long/path/to/a/source.c", a >> 2 & 7) for a in range(BASE, BASE + 0x4000, 2)},
        {BASE: ("a/long/path/to/a/source.c", 1)},
    )
    build = Build(functions, lines, Code(()))
    pcs = list(range(BASE, BASE + 16_000, 16))
    content = json.dumps(to_header(collected(Profile(pcs, taken=1000), build, "b1", "app.elf")))
    assert content.count(name) == content.count("a/long/path") == 1
    assert len(content) < 1000 * 12
    whole = Profile(histogram=Histogram(BASE, 4, (1,) * 1000), taken=1000)
    stretches = to_header(collected(whole, build, "b1", "app.elf"))["stretches"]
    assert len(stretches) == 3 * 16_000 // 4  # a line is 4 bytes


SMALL = collected(Profile([BASE, BASE + 2, BASE + 0xA2, BASE + 0xC0], taken=4), BUILD, "b1", "app.elf")


def test_what_is_written_is_read_again() -> None:
    assert from_header(json.loads(json.dumps(to_header(SMALL)))) == SMALL
    assert SMALL.known == {"crc"}


def names_with(**changes: Any) -> Tuple[Optional[Names], Tuple[str, ...]]:
    """The names and the remarks of a file in whose header tables are changed."""
    profile = Profile([BASE, BASE + 2], taken=2, names=SMALL)
    first, header, body = dumps(profile).split(b"\n", 2)
    fields = json.loads(header)
    fields["names"] = {**fields["names"], **changes} if changes else "none"
    loaded = loads(b"\n".join([first, json.dumps(fields).encode(), body]), "a.prof")
    assert list(loaded.pcs) == [BASE, BASE + 2]
    return loaded.names, loaded.remarks


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"strings": "step"},
        {"strings": []},
        {"functions": [[0, 1]]},
        {"functions": [[0, -1, 4, 0, 0, 0, 0, None, 0]]},
        {"functions": {}},
        {"chains": [[99]]},
        {"chains": [["step"]]},
        {"labels": [[0, None, 0, 0]]},
        {"labels": [[99, None, 0, 0, 0]]},
        {"labels": [[0, -1, 0, 0, 0]]},
        {"labels": [[0, 0, -1, 0, 0]]},
        {"labels": [[True, None, 0, 0, 0]]},
        {"labels": 7},
        {"stretches": [0, 0, 0]},
        {"stretches": [0, 1 << 40, 0]},
        {"stretches": [1 << 32, 1, 0]},
        {"stretches": [0, 1, 99]},
        {"stretches": [-2, 1, 0]},
        {"stretches": [0.5, 1, 0]},
        {"stretches": None},
        {"known": [99]},
        {"known": 0},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_names_that_cannot_be_true_are_left_out_and_said_so(changes: Dict[str, Any]) -> None:
    assert names_with(**changes) == (None, ("the file is damaged: the names in it are left out",))


def test_names_in_a_file_are_printable_and_bounded() -> None:
    strings = ["\x1b[31m" + "x" * 10_000] * len(to_header(SMALL)["strings"])
    names, remarks = names_with(strings=strings)
    assert names is not None and not remarks
    label = names.stretches[0].label
    for text in (label.function.name, label.function.image, *label.inlined, *(label.line or ())[:1]):
        assert str(text).startswith("\\x1b[31mxxx") and len(str(text)) < 4200


def test_a_huge_stretch_is_no_work() -> None:
    names, _ = names_with(stretches=[0, 1 << 31, 0])
    assert names is not None and names.label(0xFFFFFFFE) == names.label(0) is not None
