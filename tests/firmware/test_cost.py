"""What a sample costs, in executed instructions, and what the sampler takes in flash.

Two measures that know nothing of each other: the program's own instruction clock, and
QEMU's execution log.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from running import ROOT, elf, executed, functions_of, gdb

# The published sampler: 21, 30, 32, 41; on M0 22.
MOST = {"cost": 14, "cost_hist": 22, "cost_jitter": 24, "cost_hist_jitter": 31}
MOST_ON_PSP = {"cost_psp": 14, "cost_jitter_psp": 24, "cost_hist_jitter_psp": 31}


def by_clock(program: str, board: str) -> float:
    output = gdb(
        "tbreak finished",
        "continue",
        r'printf "%u %u %u\n", cost_without, cost_with, cost_samples',
        program=elf(program, board),
        board=board,
    ).stdout
    match = re.search(r"^(\d+) (\d+) (\d+)$", output, re.MULTILINE)
    assert match, output
    without, with_, samples = map(int, match.groups())
    assert samples > 100
    return (with_ - without) / samples


def by_log(program: str, board: str, instructions: int) -> float:
    path = elf(program, board)
    start, end = functions_of(path)["SysTick_Handler"]
    log = executed(path, board, instructions, after=functions_of(path)["main"][0])
    entries = [i for i, address in enumerate(log) if address == start]
    assert len(entries) > 5
    whole = log[entries[0] : entries[-1]]  # from the first entry to the last: whole handlers
    return sum(start <= address < end for address in whole) / (len(entries) - 1)


@pytest.mark.parametrize("board", ["netduinoplus2", "netduino2"])
@pytest.mark.parametrize(("program", "most"), {**MOST, **MOST_ON_PSP}.items())
def test_a_sample_costs_at_most(program: str, most: int, board: str) -> None:
    cost = by_clock(program, board)
    assert cost <= most
    assert cost == int(cost), "every sample costs the same"


@pytest.mark.parametrize("program", ["cost", "cost_hist_jitter"])
def test_the_log_counts_what_the_clock_says(program: str) -> None:
    assert by_log(program, "netduinoplus2", 1_000_000) == by_clock(program, "netduinoplus2")


@pytest.mark.parametrize("program", ["cost", "cost_psp"])
def test_a_sample_on_m0_costs_at_most_18(program: str) -> None:
    assert by_log(program, "microbit", 2_000_000) <= 18


def test_code_without_dump_is_at_most_114_bytes(tmp_path: Path) -> None:
    """The ring without options, M3, -Os: handler with prof_done, prof_start, prof_stop."""
    output = tmp_path / "prof.o"
    subprocess.run(
        ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m3", "-Os", "-std=c11", "-ffunction-sections"]
        + ["-DPROF_JITTER=0", "-c", str(ROOT / "firmware/prof/prof.c"), "-o", str(output)],
        check=True,
    )
    sizes = subprocess.run(
        ["arm-none-eabi-size", "-A", str(output)], capture_output=True, text=True, check=True
    )
    code = {
        name: int(size)
        for name, size in re.findall(r"^(\.text\S*)\s+(\d+)", sizes.stdout, re.MULTILINE)
        if "dump" not in name
    }
    assert {".text.SysTick_Handler", ".text.prof_start", ".text.prof_stop"} <= set(code)
    assert sum(code.values()) <= 114, code


CORES = ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m23", "cortex-m33"]
OPTIONS = {
    "plain": "",
    "histogram": "-DPROF_MODE=1",
    "everything": "-DPROF_LR=1 -DPROF_TAG=pxCurrentTCB -DPROF_CLOCK=(*(uint32_t*)0xE0001004)",
    "tim3": "-DPROF_TIMER=PROF_TIM3 -DPROF_PRESCALER=83",
    "own": "-DPROF_TIMER=PROF_OWN -DPROF_HANDLER=TIMER0_IRQHandler -DPROF_EXCEPTION=24 "
    "-DPROF_RELOAD=0x40008540 -DPROF_PERIOD_MAX=0xFFFFFF -DPROF_ACK=0x40008140 -DPROF_ACK_VALUE=0",
    "hook": "-DPROF_DONE_HOOK=told",
    "specification": "-DPROF_ASM=0",
    "lto": "-flto",
}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_it_compiles_without_a_warning(core: str, options: str, tmp_path: Path) -> None:
    made = subprocess.run(
        ["arm-none-eabi-gcc", "-mthumb", "-mcpu=" + core, "-Os", "-g", "-std=c11", "-Wall", "-Wextra"]
        + ["-Werror", *options.split(), "-c", str(ROOT / "firmware/prof/prof.c")]
        + ["-o", str(tmp_path / "prof.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-DPROF_SIZE=1000", "PROF_SIZE must be a power of two"),
        ("-DPROF_MODE=1 -DPROF_LR=1", "a histogram keeps no tag and no LR"),
        ("-DPROF_MODE=1 -DPROF_BINS=1023", "PROF_BINS a power of two"),
        ("-fpic", "compile prof.c without -fpic and -fpie"),
        ("-DPROF_MODE=2", "PROF_MODE is PROF_RING or PROF_HISTOGRAM"),
    ],
)
def test_wrong_options_are_refused_by_name(options: str, message: str, tmp_path: Path) -> None:
    made = subprocess.run(
        ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m3", *options.split()]
        + ["-c", str(ROOT / "firmware/prof/prof.c"), "-o", str(tmp_path / "prof.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode != 0
    assert message in made.stderr


def test_the_kernel_under_test_is_the_one_that_the_readme_names() -> None:
    """Unless another one is in use."""
    if "FREERTOS_KERNEL" in os.environ or shutil.which("apt-get") is None:
        pytest.skip("another kernel is in use here")
    assert '"V9.0.0"' in (ROOT / "firmware/build/freertos/include/task.h").read_text(encoding="utf-8")
