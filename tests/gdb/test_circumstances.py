"""What `prof check` reads of the target's code, to see whether it is the file's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from running import elf, functions_of, gdb, symbol

RECORD = "prof record -samples 500 -period 2013"


@pytest.fixture
def without_build_id(tmp_path: Path) -> Path:
    program = tmp_path / "three_loops.elf"
    command = ["arm-none-eabi-objcopy", "--remove-section", ".note.gnu.build-id", str(elf("three_loops"))]
    subprocess.run([*command, str(program)], check=True)
    return program


def test_another_build_is_told_by_its_build_id() -> None:
    output = gdb(RECORD, program=elf("three_loops_shift"), loaded=elf("three_loops")).stdout
    assert "! other code: the target does not run three_loops.elf: its build-id is " in output


def test_without_one_the_code_is_compared(without_build_id: Path) -> None:
    """The two differ in the constants that are loaded, nowhere else."""
    output = gdb(RECORD, program=elf("three_loops_shift"), loaded=without_build_id).stdout
    assert "! other code: the target does not run three_loops.elf: at 0x08000" in output
    assert "other code" not in gdb(RECORD, program=elf("three_loops"), loaded=without_build_id).stdout


@pytest.mark.parametrize("file", ["with", "without"])
def test_a_patched_vector_is_not_another_build(file: str, without_build_id: Path) -> None:
    """A boot loader, a debugger or a program may set one that the file has not."""
    output = gdb(
        "set *(unsigned *)0x080000f8 = *(unsigned *)0x080000fc ^ 0x10",
        "print *(unsigned *)0x080000f8 == *(unsigned *)0x080000fc",
        RECORD,
        program=elf("three_loops"),
        loaded=without_build_id if file == "without" else None,
    ).stdout
    assert "$1 = 0" in output
    assert "other code" not in output


def test_code_that_cannot_be_read_is_not_compared() -> None:
    first = min(start for start, _ in functions_of(elf("three_loops")).values())
    info, _ = symbol(elf("three_loops"), "prof_info")
    output = gdb(
        *("tbreak main", "continue", "mem 0 0x%08x rw" % first, "mem 0x%08x 0 rw" % info),
        *("mem 0x%08x 0x%08x wo" % (first, info), RECORD, "prof check"),
        program=elf("three_loops"),
    ).stdout
    assert "500 samples by SysTick" in output
    assert "other code: the target's code was not compared with the ELF" in output
    assert "hidden handlers: " not in output


def test_code_is_compared_with_the_target_whatever_gdb_takes_from_the_file() -> None:
    """`trust-readonly-sections` makes GDB read read-only sections from the ELF."""
    trust = "set trust-readonly-sections on"
    output = gdb(
        trust,
        RECORD,
        "show trust-readonly-sections",
        program=elf("three_loops_shift"),
        loaded=elf("three_loops"),
    )
    assert "! other code: " in output.stdout
    assert "Mode for reading from readonly sections is on." in output.stdout


def test_a_sampler_that_the_scheduler_made_the_lowest_is_told_why() -> None:
    """Started before the scheduler, which gives SysTick the lowest priority."""
    output = gdb("set width 0", RECORD, program=elf("rtos_tag")).stdout
    # how many bits of it there are is the core's
    assert re.search(
        r"has priority [1-9]\d* and not prof_start's 0: start it once the scheduler runs", output
    )
