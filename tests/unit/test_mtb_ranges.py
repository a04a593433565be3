"""Straight ways between branches: the instructions executed on them, and those that cannot have been."""

from __future__ import annotations

import struct
from typing import Dict, List, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.counters.mtb.coverage import by_address, by_function, by_line
from gdb_prof.counters.mtb.packets import BRANCH, EXCEPTION, RETURN, Branch, branches, packets
from gdb_prof.counters.mtb.ranges import executed
from mtb_program import Halfwords

NOP, BX_LR, BEQ_HEAD, BL, IT_EQ = 0xBF00, 0x4770, 0xD0FC, (0xF000, 0xF802), 0xBF08
CODE = (
    *(NOP, NOP, BEQ_HEAD, *BL, NOP, BX_LR),  # 0x100 `loop`: beq at 0x104 to 0x100, bl at 0x106 to 0x10e
    *(NOP, IT_EQ, BX_LR, NOP, BX_LR),  # 0x10e `leaf`: a conditional return at 0x112, one at 0x116
)
LOOP, LEAF, END = 0x100, 0x10E, 0x118
PROGRAM = Halfwords(LOOP, CODE, {LOOP: "loop", LEAF: "leaf"}, {LEAF: [16]})


def counts_of(*traced: Branch, pc: Optional[int] = None) -> Dict[int, int]:
    found = executed(traced, PROGRAM, pc)
    assert found.left_out == ()
    return dict(found.counts)


def into(address: int) -> Branch:
    """What led to the first range: where it came from does not matter."""
    return Branch(BRANCH, 0x2000, address)


def test_from_a_destination_to_the_next_source() -> None:
    assert counts_of(into(LOOP), Branch(BRANCH, 0x106, LEAF)) == {0x100: 1, 0x102: 1, 0x104: 1, 0x106: 1}


def test_a_range_that_came_often_counts_as_often() -> None:
    turns = [Branch(BRANCH, 0x104, LOOP)] * 1000
    assert counts_of(into(LOOP), *turns) == {0x100: 1000, 0x102: 1000, 0x104: 1000}


def test_the_instruction_before_which_an_exception_came_was_not_executed() -> None:
    assert counts_of(into(LOOP), Branch(EXCEPTION, 0x104, LEAF)) == {0x100: 1, 0x102: 1}


def test_an_exception_at_once_leaves_nothing_executed() -> None:
    assert counts_of(into(LOOP), Branch(EXCEPTION, LOOP, LEAF)) == {}


def test_after_an_exceptions_return_the_way_goes_on() -> None:
    traced = (
        *(into(LOOP), Branch(EXCEPTION, 0x104, LEAF), Branch(RETURN, 0x116, 0x104)),
        Branch(BRANCH, 0x106, LEAF),
    )
    assert counts_of(*traced) == {
        **{0x100: 1, 0x102: 1, 0x104: 1, 0x106: 1},
        **{0x10E: 1, 0x110: 1, 0x112: 1, 0x114: 1, 0x116: 1},
    }


def test_what_ran_before_tracing_began_anew_is_not_counted() -> None:
    traced = (into(LOOP), Branch(BRANCH, 0x104, LOOP), Branch(BRANCH, 0x116, LEAF, started=True))
    found = executed((*traced, Branch(BRANCH, 0x112, LOOP)), PROGRAM)
    assert found.counts == {0x100: 1, 0x102: 1, 0x104: 1, 0x10E: 1, 0x110: 1, 0x112: 1}
    assert (found.gaps, found.left_out) == (1, ())


@pytest.mark.parametrize(
    "lost", [Branch(RETURN, None, LOOP), Branch(RETURN, 0x116, None)], ids=["its source", "its destination"]
)
def test_half_an_exception_return_is_a_gap_on_its_unknown_side(lost: Branch) -> None:
    found = executed((into(LEAF), lost, Branch(BRANCH, 0x104, LOOP)), PROGRAM)
    known = {0x10E, 0x110, 0x112, 0x114, 0x116} if lost.source else {0x100, 0x102, 0x104}
    assert (set(found.counts), found.gaps) == (known, 1)


@pytest.mark.parametrize(
    ("start", "branch", "complaint"),
    [
        (0x104, Branch(BRANCH, 0x100, LOOP), "0x00000104 to 0x00000100 goes backwards"),
        (0x100, Branch(BRANCH, 0x90000, LOOP), "0x00000100 to 0x00090000 is 589568 bytes without a branch"),
        (
            0x100,
            Branch(BRANCH, 0x10C, LOOP),
            "0x00000100 to 0x0000010c passes 0x00000106, which always branches",
        ),
        (
            0x106,
            Branch(BRANCH, 0x108, LOOP),
            "0x00000106 to 0x00000108 passes 0x00000106, which always branches",
        ),
        (
            0x110,
            Branch(BRANCH, 0x118, LOOP),
            "0x00000110 to 0x00000118 passes 0x00000116, which always branches",
        ),
        (
            0x2000,
            Branch(BRANCH, 0x2004, LOOP),
            "0x00002000 to 0x00002004 leaves the program's code at 0x00002000",
        ),
        (
            0x2000,
            Branch(BRANCH, 0x2000, LOOP),
            "0x00002000 to 0x00002000 leaves the program's code at 0x00002000",
        ),
        (
            0x100,
            Branch(BRANCH, 0x102, LOOP),
            "0x00000100 to 0x00000102 ends at an instruction that does not branch",
        ),
        (
            0x100,
            Branch(BRANCH, 0x104, LEAF),
            "the branch at 0x00000104 leads to 0x00000100, not to 0x0000010e",
        ),
    ],
)
def test_a_range_that_this_program_cannot_have_run_is_named_and_left_out(
    start: int, branch: Branch, complaint: str
) -> None:
    sound = (
        into(LOOP),
        Branch(BRANCH, 0x106, LEAF),
        Branch(BRANCH, 0x112, 0x10A),
        Branch(BRANCH, 0x10C, start),
    )
    found = executed((*sound, branch), PROGRAM)
    assert found.left_out == ((complaint, 1),)
    assert found.instructions == 4 + 3 + 2, "the rest is sound"


def test_a_range_that_ends_within_an_instruction_is_left_out() -> None:
    program = Halfwords(0x100, (0xF3BF, 0x8F6F, BX_LR), {0x100: "barrier"})  # isb
    found = executed((into(0x100), Branch(BRANCH, 0x102, LOOP)), program)
    assert found.left_out == (("0x00000100 to 0x00000102 ends in the middle of an instruction", 1),)


@pytest.mark.parametrize(
    ("start", "last", "it_blocks"), [(LOOP, 0x106, False), (LEAF, 0x116, True), (0x114, 0x116, False)]
)
def test_it_blocks_on_the_way_are_seen(start: int, last: int, it_blocks: bool) -> None:
    assert executed((into(start), Branch(BRANCH, last, LEAF)), PROGRAM).it_blocks == it_blocks
    assert executed((into(start),), PROGRAM, last).it_blocks == it_blocks, "and up to the PC"


def test_ranges_with_the_same_fault_are_counted_together() -> None:
    found = executed([Branch(BRANCH, 0x2000, 0x3000)] * 4, PROGRAM)
    assert found.left_out == (("0x00003000 to 0x00002000 goes backwards", 3),)


def test_the_first_instructions_after_a_return_may_lie_in_an_it_block() -> None:
    """bx lr at 0x112 is conditional by the it before it, where the exception came."""
    found = executed((Branch(RETURN, 0x2000, 0x112), Branch(BRANCH, 0x116, LOOP)), PROGRAM)
    assert (set(found.counts), found.left_out) == ({0x112, 0x114, 0x116}, ())
    found = executed((into(0x112), Branch(BRANCH, 0x116, LOOP)), PROGRAM)
    assert "passes 0x00000112" in found.left_out[0][0]


# -- up to the PC --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pc", "addresses", "tail"),
    [
        (0x104, [0x100, 0x102], 2),
        (0x100, [], 0),
        (0x10A, [], None),  # behind a bl
        (0x2000, [], None),
        (0xF0, [], None),
    ],
)
def test_from_the_last_destination_to_the_pc(pc: int, addresses: List[int], tail: Optional[int]) -> None:
    found = executed((into(LOOP),), PROGRAM, pc)
    assert (sorted(found.counts), found.tail, found.left_out) == (addresses, tail, ())


def test_without_a_pc_there_is_no_tail() -> None:
    assert executed((into(LOOP),), PROGRAM).tail is None
    empty = executed((), PROGRAM, 0x100)
    assert (empty.instructions, empty.tail, empty.gaps) == (0, None, 0)


# -- rows ----------------------------------------------------------------------------

TRACED = (
    *(into(LOOP), Branch(BRANCH, 0x104, LOOP), Branch(BRANCH, 0x106, LEAF)),
    *(Branch(BRANCH, 0x112, 0x10A), Branch(EXCEPTION, 0x10C, LEAF), Branch(RETURN, 0x116, 0x10C)),
)


def test_functions_with_their_share_of_instructions_and_of_their_own_code() -> None:
    rows = by_function(executed(TRACED, PROGRAM), TRACED, PROGRAM)
    assert [(r.name, r.instructions, r.covered, r.all, r.calls) for r in rows] == [
        ("leaf", 3 + 5, 5, 5, 2),  # a call and an exception
        ("loop", 3 + 4 + 1, 5, 6, 1),  # the jump from 0x104 within it is no call; 0x10c was not executed
    ]


HANDLERS = Halfwords(LOOP, CODE, {LOOP: "loop", LEAF: "leaf"}, {LEAF: [16], LOOP: [17]})
BODY = (Branch(BRANCH, 0x106, LEAF), Branch(BRANCH, 0x116, 0x10A))
"""Of loop, which calls leaf."""


@pytest.mark.parametrize(
    ("traced", "calls"),
    [
        ((Branch(EXCEPTION, 0x2000, LOOP), *BODY, Branch(RETURN, 0x10C, LEAF)), {"loop": 1, "leaf": 2}),
        (
            (
                *(Branch(EXCEPTION, 0x2000, LEAF), Branch(EXCEPTION, LEAF, LOOP), *BODY),
                *(Branch(RETURN, 0x10C, LEAF), Branch(RETURN, 0x116, 0x2000)),
            ),
            {"loop": 1, "leaf": 2},
        ),
        ((into(0x10A), Branch(RETURN, 0x10C, LEAF), Branch(RETURN, 0x116, 0x2000)), {"loop": 0, "leaf": 0}),
    ],
    ids=["leaf follows loop at once", "loop interrupts leaf at its first instruction", "either"],
)
def test_a_return_to_a_handler_is_its_entry_if_it_was_not_interrupted_there(
    traced: "tuple[Branch, ...]", calls: Dict[str, int]
) -> None:
    """The packets are written by hand. Of the calls of leaf one is loop's own."""
    rows = by_function(executed(traced, HANDLERS), traced, HANDLERS)
    assert {row.name: row.calls for row in rows} == calls


def test_lines_and_addresses() -> None:
    found = executed(TRACED, PROGRAM)
    assert sum(row.instructions for row in by_line(found, PROGRAM)) == found.instructions == 16
    addresses = by_address(found, PROGRAM)
    assert [(a, row.name, row.instructions) for a, row in addresses[:4]] == [
        (0x100, "loop", 2),
        (0x102, "loop+2", 2),
        (0x104, "loop+4", 2),
        (0x106, "loop+6", 1),
    ]


@given(
    st.lists(st.tuples(st.integers(0xF8, 0x120), st.integers(0xF8, 0x120)), max_size=20),
    st.integers(0xF8, 0x120),
)
def test_any_packets_near_the_code_give_instructions_of_the_code(
    pairs: "list[tuple[int, int]]", pc: int
) -> None:
    content = b"".join(struct.pack("<II", *pair) for pair in pairs)
    found = executed(branches(packets(content)), PROGRAM, pc)
    own = {0x100, 0x102, 0x104, 0x106, 0x10A, 0x10C, 0x10E, 0x110, 0x112, 0x114, 0x116}
    assert set(found.counts) <= own | {
        0x108
    }  # 0x108 is the bl's second half, a branch may be said to lead there


@given(st.binary(max_size=400))
def test_any_bytes_make_a_profile(content: bytes) -> None:
    traced = branches(packets(content))
    found = executed(traced, PROGRAM, 0x100)
    rows = by_function(found, traced, PROGRAM)
    assert sum(row.instructions for row in rows) == found.instructions
