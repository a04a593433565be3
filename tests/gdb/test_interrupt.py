"""Ctrl-C during a command: what there is stays, and the next command works."""

from __future__ import annotations

import os
import re
import signal

from running import connect, cpu_ticks, elf, rows, said_until, started


def test_ctrl_c_ends_a_recording_and_shows_what_there_is() -> None:
    program = elf("three_loops")
    process = started(
        f"file {program}",
        connect(program),
        "tbreak run",
        "continue",
        "python print('recording', flush=True)",
        "prof record -period 2013 -samples 1000000",
        "prof status",
        "prof record -period 2013 -samples 100",
        "monitor quit",
    )
    output = said_until(process, "recording")
    # once the program has run a ring's worth of instructions, it is inside the command
    seen = 0
    while seen < 20:
        assert process.poll() is None, output
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
            seen = sum(cpu_ticks(int(child)) for child in children.read().split())
    os.kill(process.pid, signal.SIGINT)
    output += process.communicate(timeout=60)[0]
    assert re.search(r"! interrupted after [\d,]+ of 1,000,000 samples", output), output
    assert re.search(r"^state +stopped$", output, re.MULTILINE), output
    assert "100 samples by SysTick" in output
    assert sum(rows(output).values()) == 100
