"""GDB on a simulated DPU: what a user types, and what the tables on his screen say."""

from __future__ import annotations

import contextlib
import re
from typing import Dict, List, Optional, Sequence, Tuple, Union

import running
from dpu_machine import BASE, DESCRIPTION, ROWS, DpuMachine
from gdb_prof.counters.description import Description, packaged
from gdb_prof.counters.registers import Unit
from remote_server import DeviceServer

DESCRIBED = "set dpu description %s" % ROWS
REAL = packaged("msc8251_dpu", "DPU")
"""What is known of the unit itself."""
_VERDICT = r"^dpu: (nothing found|\d+ findings?)"
Case = Tuple[DpuMachine, Sequence[str]]


class NoMemory:
    """Where only plans are made."""

    def read(self, address: int, number: int, what: str) -> Tuple[int, ...]:
        raise AssertionError(what)

    def write(self, address: int, value: int, what: str) -> None:
        raise AssertionError(what)


def planner(description: Description = DESCRIPTION, base: Optional[int] = BASE) -> Unit:
    """For plans alone."""
    return Unit(description, NoMemory(), base)


def word(register: str, **fields: Union[int, str]) -> int:
    """A register's value with these in its fields, by the simulation's description."""
    return planner().setting(register, fields).value


def poke(register: str, value: int) -> str:
    """The command by which a user writes to a little-endian unit, past ours."""
    return "set {unsigned}0x%08x = 0x%x" % (BASE + DESCRIPTION.registers[register].offset, value)


def session(machine: DpuMachine, *commands: str, width: int = 200) -> str:
    """What GDB printed, attached to the machine."""
    return sessions([(machine, commands)], width)[0]


def sessions(cases: Sequence[Case], width: int = 200) -> List[str]:
    """What one GDB printed of each case, attached to its machine, one after the other: to start a GDB takes
    far longer than a case. Our settings, and the user's breakpoints, are as new in each."""
    lines = ["set width %d" % width]
    with contextlib.ExitStack() as servers:
        for machine, commands in cases:
            server = servers.enter_context(DeviceServer(machine))
            lines += ["echo == case\\n", server.connect, DESCRIBED, "set dpu base 0"]
            lines += ["set dpu byte-order auto", *commands, "disconnect", "delete"]
        output = running.gdb(*lines, target=False).stdout
    assert "Python Exception" not in output and "Traceback" not in output, output
    found = output.split("== case\n")[1:]
    assert len(found) == len(cases), output
    return found


def to(machine: DpuMachine, step: int) -> Tuple[str, str]:
    """Let the program run until it is about to do this step."""
    return "tbreak *0x%x" % machine.address(step), "continue"


def to_end(machine: DpuMachine) -> Tuple[str, str]:
    return to(machine, len(machine.steps))


def table(output: str, first: str) -> List[Dict[str, str]]:
    """The rows of the last table whose head begins with this title, each by title; up to an empty line or
    the sums, whose first cell is empty."""
    lines = output.splitlines()
    heads = [n for n, line in enumerate(lines) if re.match(re.escape(first) + r"\s{2,}", line)]
    assert heads, output
    titles = re.split(r"\s{2,}", lines[heads[-1]].strip())
    rows = []
    for line in lines[heads[-1] + 1 :]:
        cells = re.split(r"\s{2,}", line.strip())
        if line.startswith(" ") and len(cells) == len(titles):  # right-aligned figures of the first column
            line = line.lstrip()
        if not line or line.startswith(" ") or len(cells) != len(titles):
            break
        rows.append(dict(zip(titles, cells)))
    return rows


def number(text: str) -> int:
    return int(text.replace(",", ""))


def by_task(output: str, *events: str) -> Dict[int, Dict[str, int]]:
    """What `dpu trace dump` says of each task: `runs` and these columns."""
    return {
        int(row["task"]): {title: number(row[title]) for title in ("runs", *events)}
        for row in table(output, "task")
    }


def counters(output: str) -> Dict[str, Dict[str, str]]:
    """What `dpu counters` printed last: value, mode, event, start, stop, elapsed by the counter's name."""
    head = [line for line in output.splitlines() if re.match(r" +value +mode", line)][-1]
    titles = head.split()
    found = {}
    for line in output[output.rindex(head) :].splitlines()[1:7]:
        name, *cells = line.split()
        found[name] = dict(zip(titles, cells))
    return found


def elapsed(output: str, name: str) -> int:
    return number(counters(output)[name]["elapsed"])


def verdict(output: str) -> str:
    """What `dpu check` said, the last one."""
    return output[[m.start() for m in re.finditer(_VERDICT, output, re.MULTILINE)][-1] :]


def kinds(output: str) -> List[str]:
    """What `dpu check -strict` names as found, the last one; empty where it finds nothing."""
    complaint = re.findall(r"^dpu check: \d+ findings?: (.*)$", verdict(output), re.MULTILINE)
    return complaint[-1].split(", ") if complaint else []
