"""Branches by their bits, as objdump disassembles the same code."""

from __future__ import annotations

import re
import struct
import subprocess
from typing import Dict, List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.counters.mtb.thumb import CALL, JUMP, PLAIN, RETURN, Instruction, instructions
from mtb_program import ElfProgram
from running import elf, functions_of

_LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{4} ?)+)\s*\t(\S+)\t?(.*)$")
_CONDITION = "(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"


def listed(board: str, program: str) -> Dict[int, Tuple[int, str, str]]:
    """Size, mnemonic without width, and operands by address, by objdump."""
    command = ["arm-none-eabi-objdump", "-d", str(elf(program, board))]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not match.group(3).startswith("."):
            size = len(match.group(2).replace(" ", "")) // 2
            mnemonic = re.sub(r"\.[nw]$", "", match.group(3))
            found[int(match.group(1), 16)] = (size, mnemonic, match.group(4))
    return found


def kind_of(mnemonic: str, operands: str) -> str:
    """By the words of the Architecture Reference Manuals."""
    loads_pc = mnemonic.startswith(("pop", "ldm")) and "pc" in operands.rsplit("{", maxsplit=1)[-1]
    if mnemonic in ("bl", "blx"):
        return CALL
    if (mnemonic.startswith("bx") and operands.startswith("lr")) or (mnemonic.startswith("pop") and loads_pc):
        return RETURN
    if mnemonic.startswith("ldmia") and operands.startswith("sp!") and loads_pc:
        return RETURN
    if mnemonic.startswith("ldr") and operands.startswith("pc, [sp], #4"):
        return RETURN
    writes_pc = mnemonic.startswith(("mov", "ldr", "add")) and operands.startswith("pc,")
    if loads_pc or writes_pc or mnemonic.startswith("bx") or mnemonic in ("b", "cbz", "cbnz", "tbb", "tbh"):
        return JUMP
    return JUMP if re.fullmatch("b" + _CONDITION, mnemonic) else PLAIN


@pytest.mark.parametrize(
    ("board", "program"),
    [
        *(
            ("microbit", name)
            for name in ("three_loops", "foreign_isr", "recursive", "three_loops_o2", "same_c")
        ),
        *(
            ("mps2-an505", name)
            for name in ("three_loops", "foreign_isr", "recursive", "three_loops_o2", "same_c")
        ),
        ("netduinoplus2", "inversion"),
    ],
)
def test_every_instruction_is_what_objdump_says(board: str, program: str) -> None:
    listing = listed(board, program)
    found: List[Instruction] = []
    source = ElfProgram(elf(program, board))
    for name, (first, end) in functions_of(elf(program, board)).items():
        for start, code in source.stretches(first, end):
            decoded = list(instructions(code, start))
            assert decoded and decoded[-1].address + decoded[-1].size == start + len(code), name
            found += decoded
    assert len(found) > 100
    shown = [(i.address, i.size, i.kind) for i in found]
    assert shown == [(i.address, listing[i.address][0], kind_of(*listing[i.address][1:])) for i in found]
    direct = [i for i in found if i.target is not None]
    assert len(direct) > 20
    for instruction in direct:
        operands = listing[instruction.address][2].split("<")[0].split(",")[-1]
        assert instruction.target == int(operands, 16), instruction
    for instruction in found:
        _, mnemonic, operands = listing[instruction.address]
        if instruction.kind == JUMP and instruction.target is not None:
            assert instruction.conditional == (mnemonic != "b"), instruction


@pytest.mark.parametrize(
    ("halfwords", "kind", "conditional", "target"),
    [
        ((0xD0FE,), JUMP, True, 0x1000),  # beq .
        ((0xE7FE,), JUMP, False, 0x1000),  # b .
        ((0xDE00,), PLAIN, False, None),  # udf
        ((0xDF00,), PLAIN, False, None),  # svc
        ((0x4770,), RETURN, False, None),  # bx lr
        ((0x4718,), JUMP, False, None),  # bx r3
        ((0x4774,), RETURN, False, None),  # bxns lr
        ((0x4798,), CALL, False, None),  # blx r3
        ((0x479C,), CALL, False, None),  # blxns r3
        ((0xBD10,), RETURN, False, None),  # pop {r4, pc}
        ((0xBC10,), PLAIN, False, None),  # pop {r4}
        ((0x469F,), JUMP, False, None),  # mov pc, r3
        ((0x46F7,), RETURN, False, None),  # mov pc, lr
        ((0x449F,), JUMP, False, None),  # add pc, r3
        ((0xB101,), JUMP, True, 0x1004),  # cbz r1, .+4
        ((0xF7FF, 0xFFFE), CALL, False, 0x1000),  # bl .
        ((0xF7FF, 0xBFFE), JUMP, False, 0x1000),  # b.w .
        ((0xF43F, 0xAFFE), JUMP, True, 0x1000),  # beq.w .
        ((0xF3BF, 0x8F6F), PLAIN, False, None),  # isb
        ((0xF3EF, 0x8010), PLAIN, False, None),  # mrs r0, primask
        ((0xE8D0, 0xF001), JUMP, False, None),  # tbb [r0, r1]
        ((0xE8BD, 0x8010), RETURN, False, None),  # ldmia.w sp!, {r4, pc}
        ((0xE8B0, 0x8010), JUMP, False, None),  # ldmia.w r0!, {r4, pc}
        ((0xF85D, 0xFB04), RETURN, False, None),  # ldr.w pc, [sp], #4
        ((0xF8DF, 0xF010), JUMP, False, None),  # ldr.w pc, [pc, #16]
        ((0xF8D0, 0x1010), PLAIN, False, None),  # ldr.w r1, [r0, #16]
    ],
)
def test_encodings(halfwords: "tuple[int, ...]", kind: str, conditional: bool, target: "int | None") -> None:
    code = struct.pack("<%dH" % len(halfwords), *halfwords)
    assert list(instructions(code, 0x1000)) == [Instruction(0x1000, len(code), kind, conditional, target)]


def test_instructions_in_an_it_block_are_conditional() -> None:
    code = struct.pack("<5H", 0xBF08, 0x4770, 0x4770, 0xBF1C, 0xBD10)  # it eq; bxeq lr; bx lr; itt ne; popne
    known = [(PLAIN, False), (RETURN, True), (RETURN, False), (PLAIN, False), (RETURN, True)]
    assert [(i.kind, i.conditional) for i in instructions(code, 0)] == known


def test_what_may_be_an_it_block_ends_where_another_begins() -> None:
    code = struct.pack("<5H", 0x4770, 0xBF08, 0x4770, 0x4770, 0x4770)  # bx lr; it eq; bxeq lr; bx lr; bx lr
    found = [(i.kind, i.conditional) for i in instructions(code, 0, conditional=4)]
    assert found == [(RETURN, True), (PLAIN, False), (RETURN, True), (RETURN, False), (RETURN, False)]


@given(st.binary(max_size=200), st.integers(0, 4))
def test_any_bytes_are_instructions_end_to_end(code: bytes, conditional: int) -> None:
    found = list(instructions(code, 0x100, conditional))
    ends = [0x100, *(i.address + i.size for i in found)]
    assert [i.address for i in found] == ends[:-1]
    assert 0x100 + len(code) - ends[-1] in (0, 1, 2, 3)
