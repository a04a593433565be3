"""The assembly keeps the same samples as the C that specifies it, word for word."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Dict

import pytest

from running import elf, gdb, symbol

STATE = ["prof_n", "prof_limit", "prof_pc", "prof_tag", "prof_lr", "prof_hist", "prof_out", "prof_saturated"]
STATE += ["prof_seed", "prof_jitter", "prof_period", "reloads", "stopped_at", "timer_after_limit"]


def state(program: str, board: str, folder: Path) -> Dict[str, bytes]:
    """What the program left in RAM, by symbol."""
    path = elf(program, board)
    commands = ["tbreak finished", "continue"]
    names = []
    for name in STATE:
        try:
            address, size = symbol(path, name)
        except (TypeError, IndexError):
            continue
        names.append(name)
        commands.append(
            "dump binary memory %s 0x%x 0x%x" % (folder / (program + name), address, address + size)
        )
    output = gdb(*commands, program=path, board=board).stdout
    assert re.search(r"^Temporary breakpoint 1, .*finished", output, re.MULTILINE), output
    return {name: (folder / (program + name)).read_bytes() for name in names}


@pytest.mark.parametrize("board", ["netduinoplus2", "netduino2", "mps2-an505", "microbit"])
@pytest.mark.parametrize("program", ["same", "same_psp", "same_plain", "same_hist"])
def test_assembly_and_specification_agree(program: str, board: str, tmp_path: Path) -> None:
    assembly = state(program, board, tmp_path)
    specification = state(program + "_c", board, tmp_path)
    assert set(assembly) == set(specification)
    for name, content in assembly.items():
        assert content == specification[name], name
    n, stopped_at, timer = (
        struct.unpack("<I", assembly[x])[0] for x in ("prof_n", "stopped_at", "timer_after_limit")
    )
    assert (n, stopped_at) == (99, 99)
    assert timer & 3 == 0, "the timer is off once the limit is met"
    if "prof_hist" in assembly:
        bins = struct.unpack("<64H", assembly["prof_hist"])
        outside, saturated = (struct.unpack("<I", assembly[x])[0] for x in ("prof_out", "prof_saturated"))
        assert outside == 33
        assert saturated == 2 * 33 - 2 * 3
        assert sorted(bins)[-2:] == [0xFFFF, 0xFFFF]
    else:
        words = struct.unpack("<%dI" % (len(assembly["prof_pc"]) // 4), assembly["prof_pc"])
        assert len(set(words[:99])) == 3, "three places"
        reloads = struct.unpack("<120I", assembly["reloads"])
        assert len(set(reloads[:98])) > 90, "jitter"
        assert all(0xEFFFFF <= r <= 0xEFFFFF + 0xFFFF for r in reloads[:98])
