"""A traced demo program, run to the end of its trace, and what a report says."""

from __future__ import annotations

import re
from typing import Dict, List

from running import elf, gdb

TO_THE_END = ("rtos-trace arm", "continue")


def traced(program: str, *commands: str, board: str = "netduinoplus2") -> str:
    return gdb("set width 80", *TO_THE_END, *commands, program=elf(program, board), board=board).stdout


def lanes_in(output: str) -> List[str]:
    lines = output.splitlines()
    ruler = next(i for i, line in enumerate(lines) if re.match(r"ms +0", line))
    first = ruler
    while "|" in lines[first - 1]:
        first -= 1
    return lines[first : ruler + 1]


def section(output: str, title: str) -> List[List[str]]:
    """The rows of a table, each split at two blanks."""
    lines = output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    rows = []
    for line in lines[start + 1 :]:
        if not line.startswith("  "):
            break
        rows.append(re.split(r" {2,}", line.strip()))
    return rows


def shares(output: str) -> Dict[str, float]:
    """Milliseconds by task."""
    return {row[0]: float(row[2]) for row in section(output, "CPU share")}


def milliseconds(text: str) -> Dict[str, float]:
    """`M 6.001, L 3.002`."""
    return {name: float(ms) for name, ms in re.findall(r"(\w+) ([\d.]+)", text)}
