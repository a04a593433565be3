"""Wrong use gets one clear line, and leaves the target as it was."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from running import ROOT, complaint, elf, functions_of, gdb

LOOPS = elf("three_loops")
AT_RUN = ("tbreak run", "continue")
REGISTERS = ("echo <<<\\n", "info registers", "echo >>>\\n")


@pytest.mark.parametrize(
    "command", ["prof start", "prof stop", "prof status", "prof record -samples 5", "prof dump"]
)
def test_no_target(command: str) -> None:
    name = " ".join(command.split()[:2])
    output = gdb(command, program=LOOPS, target=False).stdout
    assert complaint(output, name) == f"{name}: no target: connect to one first (target remote …)"


def test_no_program() -> None:
    output = gdb(
        f"target remote | exec qemu-system-arm -M netduinoplus2 -S -nographic -monitor none -serial null "
        f"-kernel {LOOPS} -gdb stdio",
        "prof start",
        "monitor quit",
    ).stdout
    assert complaint(output, "prof start") == "prof start: no ELF file: load the program's with `file`"


def test_a_program_without_the_sampler() -> None:
    output = gdb(*AT_RUN, "prof start", program=elf("three_loops_bare")).stdout
    expected = "prof start: no symbol `prof_n` in three_loops_bare.elf: add firmware/prof/prof.c to the build"
    assert complaint(output, "prof start") == expected


def test_nothing_is_sampled_yet() -> None:
    output = gdb(*AT_RUN, "prof dump", program=LOOPS).stdout
    assert (
        complaint(output, "prof dump") == "prof dump: no sample is taken yet: `prof start`, then `continue`"
    )


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("prof start -foo", "prof start: unknown option -foo: see `help prof start`"),
        ("prof start foo", "prof start: unknown word foo: see `help prof start`"),
        ("prof start -period", "prof start: -period: expected one argument"),
        ("prof start -period x", "prof start: -period: expected a whole number, found 'x'"),
        (
            "prof start -period 5",
            "prof start: -period: expected at least 100 ticks, which the sampler itself "
            "needs in part, found '5'",
        ),
        ("prof start -period 2000 -rate 5", "prof start: -rate: not allowed with argument -period"),
        (
            "prof start -rate 5",
            "prof start: SysTick counts to 16,777,216 ticks, period and jitter together are ",
        ),
        ("prof start -rate 1e7", "prof start: a rate of 1e+07 Hz is "),
        (
            "prof start -jitter 100",
            "prof start: -jitter: expected auto, off or a power of two less 1 (such as 1023), found '100'",
        ),
        (
            "prof start -period 16777216 -jitter 1",
            "prof start: SysTick counts to 16,777,216 ticks, period and jitter together are 16,777,217",
        ),
        ("prof start -limit -1", "prof start: -limit: expected 0 to 4294967295, found '-1'"),
        ("prof start -limit 4294967296", "prof start: -limit: expected 0 to 4294967295, found '4294967296'"),
        ("prof record", "prof record: one of the arguments -samples -seconds is required"),
        ("prof record -seconds 0", "prof record: -seconds: expected a number above 0, found '0'"),
        ("prof dump -min 101", "prof dump: -min: expected 0 to 100, found '101'"),
        ("prof save", "prof save: the following arguments are required: FILE"),
        ('prof save "a', "prof save: a quote is not closed"),
        ("prof load", "prof load: one of the arguments FILE -live is required"),
        ("prof load /no/such/file", "prof load: /no/such/file: No such file or directory"),
        ('prof load "C:\\work dir\\new.bin"', "prof load: C:\\work dir\\new.bin: No such file or directory"),
        ("prof load C:/work dir/a.bin", "prof load: unknown word dir/a.bin: see `help prof load`"),
    ],
)
def test_words_that_do_not_fit(command: str, answer: str) -> None:
    where = r'printf "at %#x\n", $pc'
    output = gdb(*AT_RUN, where, command, where, program=LOOPS).stdout
    assert complaint(output, " ".join(command.split()[:2])).startswith(answer)
    before, after = re.findall(r"^at (0x\w+)$", output, re.MULTILINE)
    assert before == after


def test_a_file_that_is_no_profile(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(bytes(range(1, 256)) * 10)
    output = gdb(f"prof load {file}", program=LOOPS, target=False).stdout
    assert complaint(output, "prof load").endswith(
        "no profile in it: neither a file of `prof save` nor the text of prof_dump()"
    )


def test_a_program_is_no_profile() -> None:
    output = gdb(f"prof load {LOOPS}", program=LOOPS, target=False).stdout
    expected = "neither a file of `prof save` nor a log with the text of prof_dump(): is it for `prof swo`, a recorded stream?"
    assert complaint(output, "prof load").endswith(expected)


def test_a_breakpoint_before_the_first_sample() -> None:
    output = gdb(*AT_RUN, "break hot_c", "prof record -period 200000 -samples 20", program=LOOPS).stdout
    assert complaint(output, "prof record") == "prof record: stopped by breakpoint 2 before the first sample"


def test_a_file_that_is_cut_short_shows_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "run.prof"
    gdb("prof record -period 2013 -samples 100", f"prof save {file}", program=LOOPS)
    file.write_bytes(file.read_bytes()[:-42])
    output = gdb(f"prof load {file}", "prof dump", program=LOOPS, target=False).stdout
    assert "! the file is cut short: pcs holds 89 of 100 words" in output
    assert "89 samples by SysTick" in output


STUB = """
#include "board.h"
#include "prof.h"
const struct prof_info prof_info = {.magic = PROF_MAGIC, .version = 1};
volatile uint32_t prof_n, prof_limit, prof_pc[%(size)s];
__attribute__((used, noinline)) void prof_start(uint32_t period, uint32_t limit) { %(body)s }
__attribute__((used, noinline)) void prof_stop(void) { __asm volatile(""); }
__attribute__((noinline)) void run(void) { for (;;) prof_n += prof_pc[0] + prof_info.tag[prof_n & 31]; }
int main(void) { board_init(); if (prof_n) { prof_start(1, 2); prof_stop(); } run(); }
"""


def stub(folder: Path, body: str, size: int = 1024) -> Path:
    """A program with a prof_start of its own."""
    source, output = folder / "stub.c", folder / "stub.elf"
    source.write_text(STUB % {"body": body, "size": size}, encoding="ascii")
    firmware = ROOT / "firmware"
    subprocess.run(
        ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m4", "-Os", "-g", "-nostartfiles", "-specs=nano.specs"]
        + [
            "-DNO_PROF",
            "-specs=nosys.specs",
            "-DBOARD_netduinoplus2",
            f"-I{firmware}/demo",
            f"-I{firmware}/prof",
            f"-L{firmware}/demo/boards",
        ]
        + ["-T", "netduinoplus2.ld", str(firmware / "demo/startup.c"), str(source), "-o", str(output)],
        check=True,
        capture_output=True,
    )
    return output


def test_a_prof_start_that_returns_without_starting(tmp_path: Path) -> None:
    output = gdb(*AT_RUN, "prof start -limit 50", program=stub(tmp_path, "(void)period; (void)limit;")).stdout
    assert (
        complaint(output, "prof start")
        == "prof start: prof_start returned without starting: it did not set prof_limit"
    )


def test_a_prof_start_that_returns_without_starting_what_runs_already() -> None:
    """The same limit as before, and the timer runs: only that prof_start wrote tells."""
    jitter = r'printf "jitter %u\n", *(unsigned*)&prof_jitter'
    bx_lr = "set {unsigned short}((unsigned)&prof_start & ~1) = 0x4770"
    output = gdb(
        *AT_RUN,
        "prof start -limit 50",
        jitter,
        bx_lr,
        "prof start -limit 50 -jitter 1",
        jitter,
        program=LOOPS,
    ).stdout
    assert complaint(output.split("continue\n")[-1], "prof start") == (
        "prof start: prof_start returned without starting: it did not set prof_limit"
    )
    before, after = re.findall(r"^jitter (\d+)$", output, re.MULTILINE)
    assert before == after


def test_a_prof_start_whose_timer_does_not_run(tmp_path: Path) -> None:
    output = gdb(*AT_RUN, "prof start", program=stub(tmp_path, "(void)period; prof_limit = limit;")).stdout
    assert complaint(output, "prof start") == "prof start: prof_start returned, but SysTick does not run"


def test_a_prof_start_that_does_not_return(tmp_path: Path) -> None:
    output = gdb(
        *AT_RUN,
        *REGISTERS,
        "prof start",
        *REGISTERS,
        program=stub(tmp_path, "(void)period; for (;;) prof_n += limit;"),
    ).stdout
    assert complaint(output, "prof start") == "prof start: prof_start did not return in 5 s"
    before, after = re.findall(r"<<<\n(.*?)>>>\n", output, re.DOTALL)
    assert before == after


def test_a_breakpoint_in_prof_start(tmp_path: Path) -> None:
    output = gdb(
        *AT_RUN,
        "break prof_start",
        *REGISTERS,
        "prof start",
        *REGISTERS,
        program=LOOPS,
    ).stdout
    assert "prof_start did not return" in complaint(output, "prof start")
    before, after = re.findall(r"<<<\n(.*?)>>>\n", output, re.DOTALL)
    assert before == after


def test_a_ring_whose_size_is_no_power_of_two(tmp_path: Path) -> None:
    output = gdb(
        *AT_RUN, "prof start", program=stub(tmp_path, "(void)period; prof_limit = limit;", 1000)
    ).stdout
    assert complaint(output, "prof start").startswith(
        "prof start: `prof_pc` holds 1000 words, not a power of two"
    )


def test_a_vector_that_leads_elsewhere() -> None:
    vector = "set {unsigned}(0x08000000 + 60) = (unsigned)&Default_Handler"
    output = gdb(*AT_RUN, vector, "prof start", "prof status", program=LOOPS).stdout
    answer = complaint(output, "prof start")
    assert answer.startswith("prof start: vector 15 leads to Default_Handler, not to the sampler at 0x08000")
    assert re.search(r"^state +not started", output, re.MULTILINE)


def test_a_target_that_holds_another_program() -> None:
    output = gdb(
        f"file {elf('masked')}", "set {unsigned}&prof_info = 0", "prof dump", program=elf("masked")
    ).stdout
    assert "prof dump: the target does not hold masked.elf: no sampler at `prof_info`" in complaint(
        output, "prof dump"
    )


def test_jitter_in_a_build_without_it() -> None:
    output = gdb(*AT_RUN, "prof start -jitter 1023", program=elf("three_loops_nojit")).stdout
    expected = "prof start: this build has no jitter: compile prof.c with PROF_JITTER=1"
    assert complaint(output, "prof start") == expected


def test_tasks_and_order_that_were_not_recorded() -> None:
    output = gdb("prof record -period 2013 -samples 50", "prof dump -by task", program=LOOPS).stdout
    expected = "prof dump: the samples carry no task: build with PROF_TAG=pxCurrentTCB"
    assert complaint(output, "prof dump") == expected
    output = gdb(
        "prof record -period 2013 -samples 50", "prof dump -first 5", program=elf("three_loops_hist")
    ).stdout
    expected = "prof dump: a histogram has no order and no tasks: build with PROF_MODE=PROF_RING"
    assert complaint(output, "prof dump") == expected


def test_a_breakpoint_before_main_ends_the_run_to_it() -> None:
    start, end = functions_of(LOOPS)["Reset_Handler"]
    listing = subprocess.run(
        ["arm-none-eabi-objdump", "-d", f"--start-address={start}", f"--stop-address={end}", str(LOOPS)],
        capture_output=True,
        text=True,
        check=True,
    )
    fourth = re.findall(r"^ *([0-9a-f]+):\t", listing.stdout, re.MULTILINE)[3]
    output = gdb(f"break *0x{fourth}", "prof start", program=LOOPS).stdout
    assert re.fullmatch(
        r"prof start: stopped at 0x0800\w+ before main: sampling is not started",
        complaint(output, "prof start"),
    )
