"""Straight ways that leave one section's code for the next one's, and IT blocks, on a program of an assembler's.
The packets are written by hand; the truth is what objdump lists between their places."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

import running
from gdb_prof.counters.mtb.packets import BRANCH, Branch
from gdb_prof.counters.mtb.ranges import executed
from mtb_program import ElfProgram

_SOURCE = """
    .syntax unified
    .cpu cortex-m33
    .thumb
    .macro function name
    .section .text.\\name, "ax", %progbits
    .global \\name
    .type \\name, %function
\\name:
    .endm

    function first
    nop
    adds r0, #1
    adds r0, #2
    nop
    .size first, . - first

    function second
    adds r0, #3
    cmp r0, #1
    itt eq
    moveq r1, #1
    moveq r2, #1
    ldr r3, =0x12345678
returns:
    bx lr
    .ltorg
    .size second, . - second

    function main
calls:
    bl first
    b .
    .size main, . - main
"""
_LINKED = {
    "one": "SECTIONS { .text 0x8000 : { *(.text.first) *(.text.second) *(.text.main) } }",
    "two": "SECTIONS { .text 0x8000 : { *(.text.first) } .second : { *(.text.second) *(.text.main) } }",
}
_IT = "instructions of IT blocks are counted whether or not their condition held\n"
_LISTED = re.compile(r"^ +([0-9a-f]+):\t\S", re.MULTILINE)
_COUNTED = re.compile(r"^0x(\w+) +(\d+) +\d+\.\d\d %", re.MULTILINE)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Path]:
    folder = tmp_path_factory.mktemp("sections")
    (folder / "program.s").write_text(_SOURCE, encoding="ascii")
    for name, script in _LINKED.items():
        (folder / (name + ".ld")).write_text(script, encoding="ascii")
        command = [
            "arm-none-eabi-gcc",
            "-nostdlib",
            "-T",
            name + ".ld",
            "-Wl,-emain",
            "program.s",
            "-o",
            name,
        ]
        subprocess.run(command, check=True, cwd=folder)
    return {name: folder / name for name in _LINKED}


def between(program: Path, start: int, last: int) -> List[int]:
    """The instructions of a straight way."""
    command = ["arm-none-eabi-objdump", "-d", str(program)]
    listing = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="ascii").stdout
    return [at for at in (int(word, 16) for word in _LISTED.findall(listing)) if start <= at <= last]


def places(program: Path) -> Tuple[int, int, int, int]:
    """Of calls, first, second and returns."""
    calls, first, second, returns = (
        running.symbol(program, name)[0] & ~1 for name in ("calls", "first", "second", "returns")
    )
    assert first + 8 == second, "they adjoin"
    return calls, first, second, returns


@pytest.mark.parametrize("sections", _LINKED)
def test_a_way_goes_on_in_the_section_that_follows(sections: str, programs: Dict[str, Path]) -> None:
    program = programs[sections]
    calls, first, _, returns = places(program)
    traced = (Branch(BRANCH, calls, first), Branch(BRANCH, returns, calls + 4))
    found = executed(traced, ElfProgram(program))
    assert found.left_out == ()
    assert sorted(found.counts) == between(program, first, returns)
    assert found.instructions == 11


def test_in_gdb_all_of_such_a_way_is_counted_and_it_blocks_are_told_of(
    programs: Dict[str, Path], tmp_path: Path
) -> None:
    commands: List[str] = []
    for name, program in programs.items():
        calls, first, _, returns = places(program)
        (tmp_path / name).write_bytes(struct.pack("<4I", calls, first | 1, returns, calls + 4))
        commands += ["echo == case\\n", f"file {program}", f"mtb profile -file {tmp_path / name} -by address"]
    cases = running.gdb(*commands, target=False).stdout.split("== case\n")[1:]
    assert len(cases) == len(programs)
    for output, program in zip(cases, programs.values()):
        _, first, _, returns = places(program)
        counted = {int(at, 16): int(times) for at, times in _COUNTED.findall(output)}
        assert counted == dict.fromkeys(between(program, first, returns), 1), output
        assert output.count(_IT) == 1 and "left out" not in output
