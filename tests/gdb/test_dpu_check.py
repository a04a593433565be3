"""`dpu check` in GDB: its exit status, what it reads, and what it says of what others did. The rows of the
article's table are in test_dpu_trouble_table."""

from __future__ import annotations

import re
import subprocess
from typing import List

import running
from dpu_gdb import DESCRIBED, poke, sessions, to, word
from dpu_machine import BASE, VTB, DebugEv, DpuMachine, Mark, Run, Step
from remote_server import DeviceServer
from running import complaint

WORKLOAD: List[Step] = [
    Mark(),
    *(Run(task, 1000, {"dcache_miss": 3}, user=task == 1) for task in (1, 2, 1, 2, 1, 2, 1, 2)),
    DebugEv(),
]
THROUGH = to(DpuMachine(WORKLOAD), len(WORKLOAD))
COUNTER = "dpu counter A0 -event dcache_miss -start mark -stop debugev"
SETUP = "dpu trace setup -start 0x%08x -size 4096" % VTB


def session(*commands: str) -> "subprocess.CompletedProcess[str]":
    with DeviceServer(DpuMachine(WORKLOAD)) as server:
        return running.gdb(server.connect, DESCRIBED, *commands, target=False)


def found(output: str) -> List[str]:
    """The first lines of the numbered findings."""
    return re.findall(r"^\d+\. (.*)\.$", output, re.MULTILINE)


def test_nothing_is_named_when_all_is_right() -> None:
    result = session(COUNTER, SETUP, "dpu trace start", *THROUGH, "dpu check -strict")
    assert result.stdout.count("\ndpu: nothing found\n") == 1 and not found(result.stdout), result.stdout
    assert result.returncode == 0


def test_a_finding_with_its_evidence_fails_a_strict_check() -> None:
    result = session("dpu counter A0 -event dcache_miss -start none", *THROUGH, "dpu check -strict")
    assert found(result.stdout) == ["A0 never starts: it has no start event"], result.stdout
    assert "DP_CA0C = 0x01000000 CENM=none" in result.stdout
    assert complaint(result.stdout, "dpu check") == "dpu check: 1 finding: start"
    assert result.returncode == 1


def test_a_check_reads_each_group_of_neighbours_once() -> None:
    """DP_CR and DP_SR; DP_RPID; the counters of A; those of B; the trace's registers."""

    def reads(*commands: str) -> int:
        with DeviceServer(DpuMachine(WORKLOAD)) as server:
            running.gdb(server.connect, DESCRIBED, COUNTER, *commands, target=False)
            return server.reads

    assert reads("dpu check") - reads() == 5


def test_what_others_did_is_told_from_what_this_session_did() -> None:
    halfway = to(DpuMachine(WORKLOAD), 4)
    cycles = "dpu counter B0 -event cycles -start mark -stop debugev"
    trace = (SETUP, "dpu trace start", *THROUGH)
    again = ("dpu trace stop", "dpu trace setup -start 0x%08x -size 8192" % VTB, "dpu trace start")
    cases = {
        "a counter set anew by another tool": (COUNTER, poke("DP_CA0C", 0x10C08000), *THROUGH),
        "no stop while cycles are counted": (cycles, *THROUGH),
        "a stop while cycles are counted": (cycles, *halfway, *THROUGH),
        "a trace set up anew by our commands": (*trace, *again),
        "a trace in a unit switched off by another tool": (SETUP, "dpu trace start", poke("DP_CR", 0)),
    }
    outputs = sessions([(DpuMachine(WORKLOAD), [*case, "dpu check"]) for case in cases.values()])
    other, none, stop, ours, off = (found(output) for output in outputs)
    assert "A0 was set anew by somebody else: from when on it has counted this is not known" in other
    assert "this session wrote DP_CA0C = 0x11008000" in outputs[0]
    assert none == []
    assert stop == [
        "B0 was set before 1 stop of the debugger: no cycles are counted in debug, where software timing goes on"
    ]
    assert [line.split(":")[0] for line in ours] == ["the trace buffer is empty"]  # a remark
    assert "dpu: nothing found but 1 remark\n" in outputs[3]
    assert off == ["the trace buffer is empty, and the unit is disabled"]
    assert "What to do: dpu trace start, which sets EN of the unit, too" in outputs[4]


def test_what_the_real_units_description_does_not_place_is_never_right() -> None:
    tasks = word("DP_TC", EN=1, TMODE="task")
    place = (poke("DP_TSA", VTB), poke("DP_TEA", VTB + 0xFFF), poke("DP_TC", tasks))
    with DeviceServer(DpuMachine(WORKLOAD)) as server:
        result = running.gdb(
            *(server.connect, "set dpu base %#x" % BASE, poke("DP_CA0C", 0x10C08000), *place),
            *(*THROUGH, "dpu check -strict"),
            target=False,
        )
    assert "dpu: nothing found but 2 remarks; not all could be looked for\n" in result.stdout
    assert re.search(r"Not looked for\n(  .*\n)*  .*: where CENM lies is not known\n", result.stdout)
    assert complaint(result.stdout, "dpu check").startswith("dpu check: not all could be looked for: ")
    assert result.returncode == 1
