"""An annotated function: every sample at one instruction and one line, each where it belongs."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Optional, Sequence, Tuple

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st
from listed_code import ListedCode

from gdb_prof.profile.checks import Verdict, examine
from gdb_prof.profile.one_function.annotate import Annotated, annotated
from gdb_prof.profile.one_function.annotated_rows import Entry, Kind, by_instruction, by_line
from gdb_prof.profile.one_function.annotated_text import Page, annotated_text
from gdb_prof.profile.places import Row
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Histogram, Profile
from gdb_prof.profile.shares import Selection

BASE = 0x08000000
A, B = 0x20001000, 0x20002000
MAP = FunctionMap(
    [
        (
            image(
                [Section(".text", BASE, 0x40)],
                """
                08000001 18 FUNC GLOBAL work
                08000019  8 FUNC GLOBAL rest
                08000000  0 NOTYPE LOCAL $t
                08000014  0 NOTYPE LOCAL $d
                08000018  0 NOTYPE LOCAL $t
                """,
            ),
            {},
        )
    ]
)
LISTING = """
    08000000 push {r4, lr}
    08000002 bl 0x8000018 <rest>
    08000006 subs r0, #1
    08000008 bne.n 0x8000006 <work+6>
    0800000a mov.w r1, #700 @ 0x2bc
    0800000e nop
    08000010 pop {r4, pc}
    08000018 wfi
    0800001a adds r0, #1
    0800001c nop
    0800001e bx lr
"""
FILE, HEADER = "src/work.c", "src/spin.h"
LINES = FakeLines(
    {
        BASE: (FILE, 3),
        BASE + 2: (FILE, 5),
        BASE + 6: (HEADER, 8),
        BASE + 8: (HEADER, 7),
        BASE + 10: (FILE, 9),
        BASE + 14: (FILE, 5),
        BASE + 16: (FILE, 10),
        BASE + 24: (FILE, 20),
    },
    {BASE: (FILE, 3), BASE + 24: (FILE, 20)},
    {BASE + 6: ("turn", "spin", "work"), BASE + 8: ("turn", "spin", "work")},
)
BUILD = Build(MAP, LINES, ListedCode(MAP, LISTING))
NOTHING = Build(MAP, FakeLines(), ListedCode(MAP, ""))


class FakeSource:
    def __init__(
        self,
        calls: Optional[Dict[int, Sequence[Optional[Tuple[str, int]]]]] = None,
        begin: Optional[Tuple[str, int]] = None,
    ) -> None:
        self._calls, self._begin = calls or {}, begin

    def text(self, address: int) -> Sequence[str]:
        line = LINES.line(address)
        return ["%s line %d" % (line[0], n) for n in range(1, 13)] if line else ()

    def calls(self, address: int) -> Sequence[Optional[Tuple[str, int]]]:
        return self._calls.get(address, ())

    def begin(self, address: int) -> Optional[Tuple[str, int]]:
        return self._begin


SOURCE = FakeSource({BASE + n: ((HEADER, 2), (FILE, 7)) for n in (6, 8)})


def ring(*offsets: int) -> Profile:
    return Profile([BASE + n for n in offsets], taken=len(offsets))


def look(
    profile: Profile,
    build: Build = BUILD,
    source: Optional[FakeSource] = SOURCE,
    name: str = "work",
    selection: Selection = Selection(),
) -> Tuple[Verdict, Annotated]:
    verdict = examine(profile, build, selection=selection, check=False)
    row = next(row for row in verdict.table.rows if row.name == name)
    return verdict, annotated(profile, build, source, verdict.table, row, selection)


def samples(entries: Sequence[Entry], kind: Kind) -> int:
    return sum(entry.samples for entry in entries if entry.kind == kind)


def shown(entries: Sequence[Entry]) -> List[str]:
    """A row in short: the number of a line, `+` and the offset of an instruction, or the text; samples."""
    texts = {
        Kind.LINE: lambda e: str(e.line),
        Kind.INSTRUCTION: lambda e: "+%d" % (e.place.address - BASE),
        Kind.LABEL: lambda e: e.text,
        Kind.FOLDED: lambda e: e.text,
    }
    return [texts[e.kind](e) + (" = %d" % e.samples if e.samples else "") for e in entries]


@given(
    offsets=st.lists(st.integers(0, 0x1F).map(lambda n: 2 * n), max_size=60),
    context=st.one_of(st.none(), st.integers(0, 5)),
    first=st.one_of(st.none(), st.integers(1, 60)),
    has_lines=st.booleans(),
    at_hand=st.booleans(),
)
def test_rows_add_up_to_the_functions_row(
    offsets: List[int], context: Optional[int], first: Optional[int], has_lines: bool, at_hand: bool
) -> None:
    build, source = (BUILD if has_lines else NOTHING), (SOURCE if at_hand else None)
    profile, selection = ring(*offsets), Selection(first)
    for row in examine(profile, build, selection=selection, check=False).table.rows:
        _, listing = look(profile, build, source, row.name, selection)
        assert sum(place.samples for place in listing.places) == row.samples
        lines, code = by_line(listing, source, True, context), by_instruction(listing, context)
        assert samples(code, Kind.INSTRUCTION) == samples(lines, Kind.INSTRUCTION) == row.samples
        without = sum(place.samples for place in listing.places if place.line is None)
        assert samples(lines, Kind.LINE) == row.samples - without
        assert samples(by_line(listing, source, False, context), Kind.LINE) == row.samples - without
        if context is None:
            assert len({e.place.address for e in lines if e.place}) == len(listing.places)


@given(
    counts=st.lists(st.integers(0, 99), min_size=1, max_size=32),
    base=st.sampled_from([BASE - 8, BASE, BASE + 8]),
    shift=st.integers(1, 6),
)
def test_bins_add_up_to_the_functions_row(counts: List[int], base: int, shift: int) -> None:
    profile = Profile(histogram=Histogram(base, shift, tuple(counts)), taken=sum(counts))
    for row in examine(profile, BUILD, check=False).table.rows:
        _, listing = look(profile, name=row.name)
        assert sum(place.samples for place in listing.places) == row.samples
        assert samples(by_instruction(listing, 2), Kind.INSTRUCTION) == row.samples


def test_lines_in_order_with_their_instructions_and_inlined_code_under_its_call() -> None:
    _, listing = look(ring(0, 6, 6, 8, 14, 14, 14, 16))
    assert shown(by_line(listing, SOURCE, True, None)) == [
        *("3 = 1", "+0 = 1", "4", "5 = 3", "+2", "+14 = 3", "6", "7"),
        *("turn in spin, inlined (spin.h) = 3", "7 = 1", "+8 = 1", "8 = 2", "+6 = 2"),
        *("8", "9", "+10", "10 = 1", "+16 = 1"),
    ]
    assert shown(by_line(listing, SOURCE, False, None)) == [
        *("3 = 1", "4", "5 = 3", "6", "7", "turn in spin, inlined (spin.h) = 3", "7 = 1", "8 = 2"),
        *("8", "9", "10 = 1"),
    ]
    assert shown(by_instruction(listing, None)) == [
        *("+0 = 1", "+2", "+6 = 2", "+8 = 1", "+10", "+14 = 3", "+16 = 1"),
    ]


def test_inlined_code_whose_call_is_not_known_stands_after_the_line_before_it() -> None:
    _, listing = look(ring(6), source=FakeSource())
    rows = shown(by_line(listing, SOURCE, False, None))
    assert rows[:5] == ["3", "4", "5", "turn in spin, inlined (spin.h) = 1", "7"]


def test_code_of_another_file_that_is_not_inlined_is_labelled_with_the_file() -> None:
    build = dataclasses.replace(
        BUILD, lines=FakeLines({BASE: (FILE, 3), BASE + 2: (HEADER, 8)}, {BASE: (FILE, 3)})
    )
    _, listing = look(ring(0, 2), build)
    assert shown(by_line(listing, SOURCE, True, 0)) == [
        *("3 = 1", "+0 = 1", "(spin.h) = 1", "8 = 1", "+2 = 1", "..."),
    ]


def test_the_first_row_is_the_line_of_the_functions_name() -> None:
    for begin, first in (((FILE, 1), "1"), ((FILE, 4), "3"), ((HEADER, 1), "3"), (None, "3")):
        source = FakeSource(begin=begin)
        _, listing = look(ring(16), source=source)
        assert shown(by_line(listing, source, False, None))[0] == first


def test_lines_before_the_function_in_its_own_file_are_a_part_of_their_own() -> None:
    """By the line table they are of a function that the debug information does not say to be inlined."""
    lines = FakeLines({BASE: (FILE, 3), BASE + 2: (FILE, 1), BASE + 14: (FILE, 4)}, {BASE: (FILE, 3)})
    _, listing = look(ring(0, 2, 14), dataclasses.replace(BUILD, lines=lines))
    assert shown(by_line(listing, SOURCE, False, None)) == [
        *("3 = 1", "(work.c) = 1", "1 = 1", "(no line)", "4 = 1"),
    ]


def test_what_is_far_from_samples_is_folded() -> None:
    _, listing = look(ring(16))
    assert shown(by_line(listing, SOURCE, True, 0)) == ["3", "...", "10 = 1", "+16 = 1"]
    assert shown(by_line(listing, SOURCE, True, 1)) == [
        *("3", "...", "5", "+2", "+14", "...", "9", "+10", "10 = 1", "+16 = 1"),
    ]
    assert shown(by_instruction(listing, 1)) == ["...", "+14", "+16 = 1"]
    assert "..." not in shown(by_line(listing, SOURCE, True, 20))


def test_the_hottest_line_and_instruction_are_marked() -> None:
    _, listing = look(ring(2, 2, 2, 14, 14, 6, 6, 6, 6))
    hot = [e for e in by_line(listing, SOURCE, True, None) if e.hottest]
    assert [(e.kind, e.line, e.samples) for e in hot] == [(Kind.LINE, 5, 5), (Kind.INSTRUCTION, 0, 4)]


def test_samples_where_no_instruction_begins_are_rows_of_their_own() -> None:
    _, listing = look(ring(4, 0x14, 0x14))
    assert {(p.address - BASE, p.text, p.samples) for p in listing.places if p.samples} == {
        (4, "(no instruction begins here)", 1),
        (0x14, "(literal pool)", 2),
    }


def test_samples_asleep_are_not_in_the_rows() -> None:
    verdict, listing = look(ring(24, 24, 26, 28, 28, 28, 28), name="rest")
    assert verdict.table.classes == {"asleep": 3}
    assert [(p.address - BASE, p.samples) for p in listing.places] == [(24, 0), (26, 0), (28, 4), (30, 0)]


def test_a_histogram_with_a_bin_an_instruction_is_exact() -> None:
    counts = [0] * 16
    counts[0], counts[3], counts[13], counts[14] = 1, 70_000, 5, 2  # 13: after the wfi
    profile = Profile(histogram=Histogram(BASE, 1, tuple(counts)), taken=70_008)
    _, listing = look(profile)
    assert listing.bins == 0
    assert [(p.address - BASE, p.samples) for p in listing.places if p.samples] == [(0, 1), (6, 70_000)]
    _, listing = look(profile, name="rest")
    assert [(p.address - BASE, p.samples) for p in listing.places if p.samples] == [(28, 2)]


def test_a_wider_bin_stands_at_its_first_instruction_divided_as_in_the_table() -> None:
    """Bins of 16 bytes: work has 16 and 4 of its own that are executed, rest 4 in the second."""
    profile = Profile(histogram=Histogram(BASE, 4, (10, 8)), taken=18)
    verdict, listing = look(profile)
    work = next(row for row in verdict.table.rows if row.name == "work")
    assert listing.bins == 16
    assert [(p.address - BASE, p.samples) for p in listing.places if p.samples] == [
        (0, 10),
        (16, work.samples - 10),
    ]
    assert 0 < work.samples - 10 < 8


def test_without_the_program_there_are_the_sampled_addresses() -> None:
    _, listing = look(ring(6, 6, 14), source=None)
    assert [(p.address - BASE, p.size, p.text, p.samples) for p in listing.places] == [
        (6, 0, "", 2),
        (14, 0, "", 1),
    ]
    assert not listing.has_code and listing.has_lines
    assert shown(by_line(listing, None, False, 4)) == [
        *("3", "turn in spin, inlined (spin.h) = 2", "8 = 2", "5 = 1"),
    ]


def text_of(
    profile: Profile, width: int = 80, lines: bool = True, build: Build = BUILD, **page: object
) -> List[str]:
    verdict, listing = look(profile, build)
    entries = by_line(listing, SOURCE, True, 4) if lines else by_instruction(listing, 4)
    made = Page(width, "work", **page)  # type: ignore[arg-type]
    text = annotated_text(profile, verdict, listing, entries, made)
    assert text.endswith("\n")
    return text.splitlines()


def test_a_small_report_in_full() -> None:
    assert text_of(ring(*([6] * 9), 8, 28)) == [
        "11 samples by an unknown timer, at an unknown period; too few to check",
        "work (work.c:3): 10 of 11 samples, 90.91 % ± 18.06; shares are of all samples",
        "    share  ± 95 %  samples  line",
        "                               3  src/work.c line 3",
        "                                08000000  push   {r4, lr}",
        "                               4  src/work.c line 4",
        "                               5  src/work.c line 5",
        "                                08000002  bl     <rest>",
        "                                0800000e  nop",
        "                               6  src/work.c line 6",
        "                               7  src/work.c line 7",
        "  90.91 %   18.06       10        turn in spin, inlined (spin.h)",
        "   9.09 %   18.06        1       7  src/spin.h line 7",
        "   9.09 %   18.06        1        08000008  bne.n  0x8000006",
        "> 81.82 %   21.28        9       8  src/spin.h line 8",
        "> 81.82 %   21.28        9        08000006  subs   r0, #1",
        "                               8  src/work.c line 8",
        "                               9  src/work.c line 9",
        "                                0800000a  mov.w  r1, #700",
        "                              10  src/work.c line 10",
        "                                08000010  pop    {r4, pc}",
    ]


def test_instructions_alone_have_their_lines_beside_them() -> None:
    assert text_of(ring(6, 14), lines=False)[2:] == [
        "    share  ± 95 %  samples  address",
        "                            08000000  push   {r4, lr}   :3",
        "                            08000002  bl     <rest>     :5",
        "> 50.00 %   40.55        1  08000006  subs   r0, #1     spin.h:8, turn in spin",
        "                            08000008  bne.n  0x8000006  spin.h:7, turn in spin",
        "                            0800000a  mov.w  r1, #700   :9",
        "  50.00 %   40.55        1  0800000e  nop               :5",
        "                            08000010  pop    {r4, pc}   :10",
    ]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_wider_than_the_console(width: int, lines: bool) -> None:
    long = ListedCode(
        MAP,
        LISTING.replace(
            "subs r0, #1", "ldr r0, [r1, #16] @ (0x8000014 <work+20> and more than eighty columns hold)"
        ),
    )
    build = dataclasses.replace(BUILD, code=long)
    text = text_of(ring(*range(0, 16, 2)), width, lines, build, findings=["word " * 40], notes=["note " * 40])
    assert max(map(len, text)) <= width
    assert any(line.endswith("…") for line in text), "what is cut says so"


def test_an_instruction_whose_samples_are_anothers_is_marked_and_said_below() -> None:
    text = text_of(ring(6), marked=frozenset([BASE + 6]), findings=["masked: why"], notes=["no lines"])
    assert any(line.endswith("08000006  ! subs   r0, #1") for line in text)
    assert text[-2:] == ["! masked: why", "! no lines"]


def test_what_is_asleep_is_counted_in_the_head() -> None:
    assert "; 1,234 more asleep in it are not shown; " in " ".join(text_of(ring(6), 10_000, asleep=1234))


def test_how_sure_nobody_knows_is_a_question_mark() -> None:
    profile = Profile([BASE + 6, BASE + 8] * 300, taken=600)
    text = text_of(profile)
    assert "± ?" in text[1]
    assert any(line.startswith("  50.00 %       ?      300") for line in text), text


def test_no_control_character_reaches_the_console() -> None:
    bad = "\x1b[31m\x07"
    build = dataclasses.replace(
        BUILD,
        lines=FakeLines({BASE + 6: (bad, 1)}, {BASE: (bad, 1)}, {BASE + 6: (bad, bad)}),
        code=ListedCode(MAP, "08000006 nop " + bad),
    )
    text = "".join(text_of(ring(6), build=build, notes=[bad]) + text_of(ring(6), lines=False, build=build))
    assert text.isprintable()


def test_a_row_without_a_symbol_is_its_addresses() -> None:
    functions = FunctionMap([(image([Section(".text", BASE, 0x40)]), {})])
    build = Build(functions, FakeLines(), ListedCode(functions, "08000000 nop"))
    verdict = examine(ring(0, 2, 2), build, check=False)
    row: Row = verdict.table.rows[0]
    listing = annotated(ring(0, 2, 2), build, SOURCE, verdict.table, row, Selection())
    assert [(p.address - BASE, p.size, p.samples) for p in listing.places] == [(0, 0, 1), (2, 0, 2)]
