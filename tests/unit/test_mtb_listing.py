"""The text of branches and of what was executed."""

from __future__ import annotations

import re
from typing import List, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.counters.mtb.coverage import fits
from gdb_prof.counters.mtb.listing import MOST_ROWS, Window, kind_text, listing, place_text
from gdb_prof.counters.mtb.nesting import with_chained
from gdb_prof.counters.mtb.packets import BRANCH, EXCEPTION, RETURN, Branch, branches, packets
from gdb_prof.counters.mtb.ranges import executed
from gdb_prof.counters.mtb.report import ADDRESS, FUNCTION, LINE, report
from gdb_prof.exceptions import name_of
from mtb_program import Halfwords

NOP, BX_LR, BL = 0xBF00, 0x4770, (0xF000, 0xF801)
MAIN, LEAF = 0x100, 0x108
"""main: nop, bl leaf, nop; leaf: nop, bx lr."""
TRACED = (
    *(Branch(BRANCH, 0x2000, MAIN, started=True), Branch(BRANCH, 0x102, LEAF)),
    *(Branch(EXCEPTION, 0x10A, LEAF), Branch(RETURN, 0x10A, 0x10A), Branch(BRANCH, 0x10A, 0x106)),
)
WINDOW = Window(TRACED, 8, wrapped=False)


def program(vectors: "Optional[dict[int, list[int]]]" = None, name: str = "leaf") -> Halfwords:
    return Halfwords(MAIN, (NOP, *BL, NOP, NOP, BX_LR), {MAIN: "main", LEAF: name}, vectors)


def kinds(*traced: Branch, vectors: "Optional[dict[int, list[int]]]" = None) -> List[str]:
    """What is said of each."""
    known = program(vectors)
    return [kind_text(branch, known) for branch in with_chained(traced, known)]


def test_each_branch_is_a_line_from_where_to_where_and_what_it_is() -> None:
    assert listing(WINDOW, program({LEAF: [15]}), 80).splitlines() == [
        "5 branches in a buffer of 8 packets: all since the start",
        "   source                 destination",
        "1  0x00002000         ->  main loops.c:10    *",
        "2  main+2 loops.c:12  ->  leaf loops.c:18    call",
        "3  leaf+2 loops.c:20  ->  leaf loops.c:18    exception SysTick",
        "4  leaf+2 loops.c:20  ->  leaf+2 loops.c:20  exception return",
        "5  leaf+2 loops.c:20  ->  main+6 loops.c:16  return",
        "* tracing began here: what ran before is not known",
    ]


def test_the_last_ones_keep_their_numbers() -> None:
    assert listing(WINDOW, program(), 80, last=2).splitlines() == [
        "5 branches in a buffer of 8 packets: all since the start; the last 2:",
        "   source                 destination",
        "4  leaf+2 loops.c:20  ->  leaf+2 loops.c:20  exception return",
        "5  leaf+2 loops.c:20  ->  main+6 loops.c:16  return",
    ]


BACK, CALL, DONE = Branch(BRANCH, 0x2000, MAIN), Branch(BRANCH, 0x102, LEAF), Branch(BRANCH, 0x10A, 0x106)
LOOP = (CALL, DONE, BACK)
"""main calls leaf, which returns, and from elsewhere it goes on with main."""


def listed(*traced: Branch, last: Optional[int] = None) -> List[str]:
    """The rows, without where lines are, and what is said of loops; words with one blank between."""
    lines = listing(Window(traced, 512, False), program(), 80, last).splitlines()
    shown = [line for line in lines if "->" in line or line[0] in "n…"]
    return [" ".join(re.sub(r" loops.c:\d+", "", line).split()) for line in shown]


TURN = ("main+2 -> leaf call, 3 times", "leaf+2 -> main+6 return, 3 times", "0x00002000 -> main 3 times")
MEANING = "no number: in turn with the rows above, a loop"


@pytest.mark.parametrize(
    ("traced", "rows"),
    [
        (
            (DONE, BACK, BACK, DONE),
            ["1 leaf+2 -> main+6 return", "2-3 0x00002000 -> main 2 times", "4 leaf+2 -> main+6 return"],
        ),
        (
            (DONE, *LOOP * 3, CALL),
            ["1 leaf+2 -> main+6 return", "2-10 " + TURN[0], *TURN[1:], "11 main+2 -> leaf call", MEANING],
        ),
        (
            (CALL, DONE) * 2,
            [
                *("1 main+2 -> leaf call", "2 leaf+2 -> main+6 return"),
                *("3 main+2 -> leaf call", "4 leaf+2 -> main+6 return"),
            ],
        ),
    ],
    ids=["one branch", "three, from the second on", "two turns of two are no loop"],
)
def test_loops_are_shown_once_with_their_turns(traced: "tuple[Branch, ...]", rows: List[str]) -> None:
    assert listed(*traced) == rows


def test_of_a_loop_the_last_ones_are_so_many_branches() -> None:
    assert listed(*LOOP * 40, last=11) == [
        *("110-118 " + TURN[1], TURN[2], TURN[0], "119 leaf+2 -> main+6 return", "120 0x00002000 -> main"),
        MEANING,
    ]


def test_unless_asked_the_oldest_rows_are_left_out() -> None:
    mixed = [Branch(BRANCH, 0x2000 + 2 * n, MAIN) for n in range(MOST_ROWS)]
    rows = listed(*LOOP * 3, *mixed)
    assert rows[0] == "… 9 before these (-last)"
    assert [rows[1].split()[0], rows[-1].split()[0], len(rows) - 1] == ["10", "109", MOST_ROWS]
    assert len(listed(*LOOP * 3, *mixed[:-3])) - 1 == MOST_ROWS, "a loop has a row for each branch of a turn"
    assert listed(*LOOP * 3, *mixed[:-2])[0] == "… 9 before these (-last)", "which are shown all or none"
    assert len(listed(*mixed, *mixed, last=150)) == 150


@pytest.mark.parametrize(
    ("branch", "fit"),
    [
        (CALL, True),
        (BACK, False),
        (Branch(BRANCH, 0x100, MAIN), False),  # a nop
        (Branch(BRANCH, 0x10A, 0x2000), False),
        (Branch(EXCEPTION, 0x100, LEAF), True),
        (Branch(EXCEPTION, 0x100, 0x2000), False),
        (Branch(RETURN, 0x10A, None), True),
        (Branch(RETURN, None, 0x2000), False),
        (Branch(BRANCH, 0, 0), False),
    ],
)
def test_a_branch_of_the_program_is_from_its_code_to_its_code(branch: Branch, fit: bool) -> None:
    assert fits(branch, program()) == fit


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (None, "exception"),
        ({LEAF: [2]}, "exception NMI"),
        ({LEAF: [16]}, "exception IRQ 0"),
        ({LEAF: [17, 18]}, "exception"),
        ({MAIN: [15]}, "PC set in debug"),
    ],
    ids=["no vectors", "a system's", "an interrupt", "shared by two", "no vector leads there"],
)
def test_an_exception_is_named_by_the_vector_that_leads_there(
    vectors: "Optional[dict[int, list[int]]]", said: str
) -> None:
    assert kinds(Branch(EXCEPTION, 0x10A, LEAF), vectors=vectors) == [said]


# Exceptions' returns, by packets written by hand (those of a real program: tests/gdb/test_mtb_nested.py).
# leaf and main are handlers here.

ENTRY = Branch(EXCEPTION, 0x2000, MAIN)
TO_LEAF, TO_MAIN, AWAY = (
    Branch(RETURN, 0x106, LEAF),
    Branch(RETURN, 0x10A, MAIN),
    Branch(RETURN, 0x10A, 0x3000),
)


@pytest.mark.parametrize(
    ("traced", "said"),
    [
        ((ENTRY, TO_LEAF), ", PendSV"),
        ((ENTRY, TO_LEAF, TO_MAIN), ", IRQ 0"),
        ((ENTRY, Branch(EXCEPTION, 0x102, LEAF), TO_MAIN), ", IRQ 0"),
        ((Branch(EXCEPTION, 0x2000, LEAF), Branch(EXCEPTION, LEAF, MAIN), TO_LEAF), ""),
        ((ENTRY, Branch(EXCEPTION, MAIN, LEAF), TO_MAIN, Branch(RETURN, 0x106, LEAF)), ", PendSV"),
        ((Branch(EXCEPTION, LEAF, MAIN), TO_LEAF), ""),
        ((ENTRY, AWAY), ""),
        ((ENTRY, AWAY, TO_LEAF), ""),
        ((TO_LEAF,), ""),
        ((ENTRY, Branch(BRANCH, 0x10A, 0x106, started=True), TO_LEAF), ""),
        ((ENTRY, Branch(EXCEPTION, 0x102, LEAF), Branch(RETURN, 0x10A, None), TO_LEAF), ""),
        ((ENTRY, Branch(EXCEPTION, 0x102, 0x10A), TO_LEAF), ""),
        ((ENTRY, Branch(RETURN, 0x106, None)), ""),
    ],
    ids=[
        *("another follows at once", "and one after it", "at two levels"),
        *(
            "a handler goes on at its first instruction",
            "and another follows then",
            "an outer one before the window",
        ),
        *("another task goes on", "after which nothing is active", "entered before the window"),
        *("tracing began anew", "a packet is missing", "a PC set in debug", "the second packet is to come"),
    ],
)
def test_a_return_names_the_exception_that_follows_if_it_is_known_that_one_does(
    traced: "tuple[Branch, ...]", said: str
) -> None:
    assert kinds(*traced, vectors={LEAF: [14], MAIN: [16]})[-1] == "exception return" + said


def test_an_exception_that_follows_at_once_is_not_named_if_others_share_its_handler() -> None:
    assert kinds(ENTRY, TO_LEAF, vectors={LEAF: [2, 3, 11], MAIN: [16]})[-1] == "exception return"


def test_without_vectors_no_return_is_another_ones_entry() -> None:
    assert kinds(ENTRY, TO_LEAF, AWAY) == ["exception", "exception return", "exception return"]


def test_returns_are_shown_as_one_loop_only_if_all_lead_to_the_same() -> None:
    """leaf follows main at once, and again; then it is interrupted at its first instruction."""
    traced = (ENTRY, TO_LEAF, AWAY, ENTRY, TO_LEAF, AWAY, Branch(EXCEPTION, LEAF, MAIN), TO_LEAF)
    shown = listing(Window(traced, 512, False), program({LEAF: [14], MAIN: [16]}), 80).splitlines()[2:]
    assert [line.endswith("exception return, PendSV") for line in shown] == [n in (1, 4) for n in range(8)]


def test_what_cannot_be_read_is_not_called_anything() -> None:
    assert kinds(Branch(BRANCH, 0x2000, MAIN), Branch(BRANCH, 0x100, MAIN)) == ["", ""]


@pytest.mark.parametrize(
    ("number", "name"), [(1, "Reset"), (3, "HardFault"), (11, "SVCall"), (13, "exception 13"), (36, "IRQ 20")]
)
def test_exceptions_by_number(number: int, name: str) -> None:
    assert name_of(number) == name


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (40, "interrupt_handler+2 loops.c:20"),
        (24, "interrupt_handler+2 :20"),
        (20, "interrupt_handl… :20"),
        (16, "interrupt_h… :20"),
    ],
)
def test_a_place_is_shortened_to_its_room(room: int, shown: str) -> None:
    assert place_text(0x10A, program(name="interrupt_handler"), room) == shown
    assert len(shown) <= room


@pytest.mark.parametrize("width", [60, 80, 132])
@pytest.mark.parametrize(
    "name", ["leaf", "a_very_long_name_of_a_function_in_a_namespace::with::parts(int, char)"]
)
def test_no_line_is_wider_than_the_console(width: int, name: str) -> None:
    found = executed(TRACED, program(name=name))
    texts = [listing(WINDOW, program({LEAF: [15]}, name), width)]
    texts += [report(WINDOW, found, program(name=name), width, by) for by in (FUNCTION, LINE, ADDRESS)]
    for text in texts:
        assert max(map(len, text.splitlines())) <= width, text


@pytest.mark.parametrize(
    ("wrapped", "said"),
    [
        (True, "1 branch in a buffer of 4 packets: it has wrapped, older ones are lost"),
        (False, "1 branch in a buffer of 4 packets: all since the start"),
        (None, "1 branch in a buffer of 4 packets"),
    ],
)
def test_whether_older_branches_are_lost(wrapped: Optional[bool], said: str) -> None:
    assert Window(TRACED[:1], 4, wrapped).summary == said


def test_an_empty_buffer_says_so() -> None:
    empty = Window((), 8, wrapped=False)
    assert listing(empty, program(), 80) == "no branch is traced yet\n"
    assert report(empty, executed((), program()), program(), 80) == "no branch is traced yet\n"


def test_a_profile_by_function() -> None:
    assert report(WINDOW, executed(TRACED, program(), pc=0x108), program(), 80).splitlines() == [
        "5 branches in a buffer of 8 packets: all since the start",
        "7 instructions from the first branch's destination on: what led to it is not",
        "  known",
        "the last of them up to the PC: traced by no branch yet",
        "instructions    share  covered  calls  function  source",
        "           4  57.14 %      2/2      2  leaf      loops.c:18",
        "           3  42.86 %      3/3      1  main      loops.c:10",
        "Instructions are counted, not time: what one costs, waits and sleep are not",
        "  seen.",
    ]


def test_that_an_it_blocks_instructions_may_not_have_run_is_said() -> None:
    code = Halfwords(0x100, (0xBF08, 0x2101, BX_LR), {0x100: "f"})  # it eq; moveq r1, #1; bx lr
    traced = (Branch(BRANCH, 0x2000, 0x100), Branch(BRANCH, 0x104, 0x2000))
    said = "instructions of IT blocks are counted whether or not their condition held"
    assert said in report(Window(traced, 8, False), executed(traced, code), code, 80).splitlines()
    assert "IT blocks" not in report(WINDOW, executed(TRACED, program()), program(), 80)


def test_the_first_rows_alone() -> None:
    text = report(WINDOW, executed(TRACED, program()), program(), 80, ADDRESS, top=3)
    assert text.splitlines()[3:-2] == [
        "   address  instructions    share  function  source",
        "0x00000100             1  16.67 %  main      loops.c:10",
        "0x00000102             1  16.67 %  main+2    loops.c:12",
        "0x00000108             2  33.33 %  leaf      loops.c:18",
        "(1 row more)",
    ]


def test_what_is_left_out_is_said_before_the_table() -> None:
    traced = (
        *TRACED,
        Branch(BRANCH, 0x104, MAIN),
        Branch(BRANCH, 0x90, MAIN),
        Branch(BRANCH, 0x91, MAIN, True),
    )
    text = report(Window(traced, 8, True), executed(traced, program()), program(), 200)
    assert "! 1 gap: tracing began anew, or a packet is missing: what ran before is not counted" in text
    assert (
        "! left out: 0x00000106 to 0x00000104 goes backwards (and 1 range alike): is this the program" in text
    )


@given(
    st.lists(st.tuples(st.sampled_from([CALL, DONE, BACK]), st.integers(1, 4))),
    st.integers(1, 5),
)
def test_no_branch_is_lost_in_loops(some: "list[tuple[Branch, int]]", turns: int) -> None:
    traced = [branch for branch, times in some for _ in range(times)] * turns
    lines = listing(Window(traced, 512, None), program(), 80, len(traced) or None).splitlines()
    end, shown = 0, 0
    for line in (line for line in lines if " -> " in line):
        numbers = re.match(r"^ *(\d+)(?:-(\d+))?  ", line)
        if numbers:
            assert int(numbers[1]) == end + 1 == shown + 1
            end = int(numbers[2] or numbers[1])
        times = re.search(r" (\d+) times$", line)
        shown += int(times[1]) if times else 1
    assert end == shown == len(traced)


@given(st.binary(max_size=200), st.integers(60, 100))
def test_any_bytes_are_shown(content: bytes, width: int) -> None:
    window = Window(branches(packets(content)), 32, None)
    lines = listing(window, program({LEAF: [15]}), width).splitlines()
    rows = [line for line in lines if " -> " in line]
    assert bool(rows) == bool(window.branches)
    assert max(map(len, lines)) <= width
