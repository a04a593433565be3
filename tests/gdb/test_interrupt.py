"""Ctrl-C during a command: what there is stays, and the next command works."""

from __future__ import annotations

import os
import re
import signal
import subprocess

from running import GDB, ROOT, connect, elf, rows


def test_ctrl_c_ends_a_recording_and_shows_what_there_is() -> None:
    program = elf("three_loops")
    commands = [
        "set pagination off",
        "set confirm off",
        f"file {program}",
        "source gdb_prof",
        connect(program),
        "tbreak run",
        "continue",
        "python print('recording', flush=True)",
        "prof record -period 2013 -samples 1000000",
        "prof status",
        "prof record -period 2013 -samples 100",
        "monitor quit",
    ]
    arguments = [GDB, "-nx", "-q", "-batch"]
    for command in commands:
        arguments += ["-ex", command]
    # of its own group, so that the signal reaches GDB alone, as GDB arranges on a terminal
    process = subprocess.Popen(
        arguments,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    output = ""
    while "recording" not in output:
        line = process.stdout.readline()
        assert line, output
        output += line
    # once the program has run a ring's worth of instructions, it is inside the command
    seen = 0
    while seen < 20:
        assert process.poll() is None, output
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
            seen = sum(_cpu_ticks(int(child)) for child in children.read().split())
    os.kill(process.pid, signal.SIGINT)
    output += process.communicate(timeout=60)[0]
    assert re.search(r"! interrupted after [\d,]+ of 1,000,000 samples", output), output
    assert re.search(r"^state +stopped$", output, re.MULTILINE), output
    assert "100 samples by SysTick" in output
    assert sum(rows(output).values()) == 100


def _cpu_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(") ", 1)[1].split()
    return int(fields[11]) + int(fields[12])
