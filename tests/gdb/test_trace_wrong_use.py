"""Wrong use of rtos-trace gets one clear line and no traceback; nothing is lost by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from running import complaint, elf, gdb
from tracing import traced

COMMANDS = ["arm", "start", "stop", "status", "save x", "diag", "lanes", "svg x", "assert no inversion"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_target(command: str) -> None:
    name = "rtos-trace " + command.split(maxsplit=1)[0]
    output = gdb("rtos-trace " + command, program=elf("inversion"), target=False).stdout
    assert complaint(output, name) == name + ": no target: connect to one first (target remote …)"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_program_without_the_recorder(command: str) -> None:
    name = "rtos-trace " + command.split(maxsplit=1)[0]
    output = gdb("rtos-trace " + command, program=elf("three_loops_bare")).stdout
    expected = "no symbol `trace_buf` in three_loops_bare.elf: add firmware/trace/trace_rec.c to the build"
    assert complaint(output, name) == "%s: %s" % (name, expected)


def test_before_the_program_has_set_up_its_block() -> None:
    output = gdb("rtos-trace diag", program=elf("inversion")).stdout
    assert "no trace block: it begins with 0x00000000" in complaint(output, "rtos-trace diag")
    assert "has not got to its first task or to trace_start() yet" in output


def test_armed_before_the_program_runs_is_no_error() -> None:
    assert (
        "rtos-trace: armed at trace_done: continue" in gdb("rtos-trace arm", program=elf("inversion")).stdout
    )


def test_nothing_is_recorded_yet() -> None:
    output = gdb("tbreak vTaskStartScheduler", "continue", "rtos-trace diag", program=elf("inversion")).stdout
    assert complaint(output, "rtos-trace diag") == "rtos-trace diag: no records yet: `continue`"


def test_a_target_that_holds_another_program() -> None:
    """The symbols are those of `load`, the memory is that of a program without a recorder."""
    output = gdb(
        *("tbreak run", "continue", "symbol-file %s" % elf("load"), "rtos-trace diag"),
        program=elf("three_loops"),
    ).stdout
    line = complaint(output, "rtos-trace diag")
    assert "the target does not hold load.elf: no recorder at `trace_info`" in line


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("diag -x", "unknown option -x: see `help rtos-trace diag`"),
        ("diag -task nobody", "no task 'nobody' in this trace: H, IDLE, L, M, ctl"),
        ("diag -from 5 -to 5", "-from 5 is not before -to 5"),
        ("diag -from 500", "the trace goes from 0.000 to 20.000 ms"),
        ("diag -from soon", "-from: expected a number, found 'soon'"),
        ("lanes -step 0.0000001", "-step 1e-07 gives 200,0"),
        ("lanes -step 0", "-step: expected a number above 0, found '0'"),
        ("diag -rows 0", "-rows: expected a number above 0, found '0'"),
        ("diag 'a", "a quote is not closed"),
        ("assert", "the following arguments are required: EXPR"),
        ("assert latency H", "not understood: 'latency H'; one of: latency TASK < 2ms"),
        ("assert latency H < 2", "expected a time like 2ms or 500us, found '2'"),
        ("assert latency Z < 2ms", "no task 'Z' in this trace: H, IDLE, L, M, ctl"),
        ("assert wait H sofa < 2ms", "no object 'sofa' in this trace: lock"),
        ("assert share H < 2ms", "expected a share like 25%, found '2ms'"),
        ("assert no worries", "not understood: 'no worries'; one of:"),
        ("save", "the following arguments are required: file"),
    ],
)
def test_a_wrong_word(words: str, answer: str) -> None:
    name = "rtos-trace " + words.split(maxsplit=1)[0]
    line = complaint(traced("inversion", "rtos-trace " + words), name)
    assert line.lower().startswith(("%s: %s" % (name, answer)).lower()), line


def test_files_that_are_no_trace(tmp_path: Path) -> None:
    contents = {"empty": b"", "text": b"hello world, this is no trace", "zeros": bytes(9000)}
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        line = complaint(gdb("rtos-trace diag %s" % path, target=False).stdout, "rtos-trace diag")
        assert line.startswith("rtos-trace diag: %s: no trace block: " % path)
    line = complaint(gdb("rtos-trace diag %s/none" % tmp_path, target=False).stdout, "rtos-trace diag")
    assert line.endswith("none: No such file or directory")


def test_a_file_cut_short_shows_what_it_has(tmp_path: Path) -> None:
    path, cut = tmp_path / "whole", tmp_path / "cut"
    traced("inversion", "rtos-trace save %s" % path)
    cut.write_bytes(path.read_bytes()[: 112 + 30 * 8 + 3])
    output = gdb("set width 0", "rtos-trace diag %s" % cut, target=False).stdout
    assert output.startswith("30 records of ")
    assert "1. Records lost: cut short: 30 of the ring's 1024 places are there" in output.replace("\n  ", " ")
    assert "Traceback" not in output


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"precious")
    for command in ("save", "svg", "arm"):
        output = traced("inversion", "rtos-trace %s %s" % (command, kept))
        assert complaint(output, "rtos-trace " + command).endswith("kept exists: give -force to overwrite it")
        assert kept.read_bytes() == b"precious"
    output = traced("inversion", "rtos-trace save %s -force" % kept)
    assert "records saved to" in output and kept.read_bytes()[:4] == b"TR33"


def test_a_hostile_ring_reaches_no_terminal(tmp_path: Path) -> None:
    """Names of escape sequences and 0xFF, a head of four billion, half of the records random."""
    path = tmp_path / "ring"
    traced("inversion", "dump binary value %s trace_buf" % path)
    raw = bytearray(path.read_bytes())
    raw[4:8] = b"\xff\xff\xff\xff"
    raw[24:32] = b"\x1b[31mH\n\xff"
    raw[32:40] = b"\xff" * 8
    raw[400:2000] = bytes((i * 7919 >> 3) & 0xFF for i in range(1600))
    path.write_bytes(bytes(raw))
    for command in ("diag", "lanes"):
        output = gdb("rtos-trace %s %s" % (command, path), target=False).stdout
        assert "Traceback" not in output and "Python Exception" not in output
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", output)


def test_no_tick_records_and_no_rate_gives_counts(tmp_path: Path) -> None:
    path = tmp_path / "ring"
    traced("inversion", "dump binary value %s trace_buf" % path)
    raw = bytearray(path.read_bytes())
    for at in range(112, len(raw), 8):
        if raw[at + 4] == 3:
            raw[at + 4] = 10
    path.write_bytes(bytes(raw))
    output = gdb("rtos-trace diag %s" % path, target=False).stdout
    assert " counts" in output.splitlines()[0] + output.splitlines()[1]
    assert "set rtos-trace clock-hz" in " ".join(output.split())
    in_ms = gdb("set rtos-trace clock-hz 1000000000", "rtos-trace diag %s" % path, target=False).stdout
    assert "waited 9.002 ms" in in_ms or "waited 9.003 ms" in in_ms
