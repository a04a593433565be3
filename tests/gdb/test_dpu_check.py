"""`dpu check` in GDB: each row of the trouble table provoked in a simulated unit that runs, and named."""

from __future__ import annotations

import re
import subprocess
from typing import List, Tuple

import pytest

import running
from dpu_machine import BASE, ROWS, VTB, DebugEv, DpuMachine, Mark, Quirks, Run, Step
from remote_server import DeviceServer
from running import complaint

DESCRIBED = "set dpu description %s" % ROWS
OFFSETS = {"DP_CR": 0x00, "DP_TC": 0x7C, "DP_TSA": 0x80, "DP_TEA": 0x84, "DP_TER": 0x88, "DP_CA0C": 0x2C}
WORKLOAD: List[Step] = [
    Mark(),
    *(Run(task, 1000, {"dcache_miss": 3}, user=task == 1) for task in (1, 2, 1, 2, 1, 2, 1, 2)),
    DebugEv(),
]
THROUGH = ("tbreak *0x%x" % DpuMachine.address(len(WORKLOAD)), "continue")
COUNTER = "dpu counter A0 -event dcache_miss -start mark -stop debugev"
EN, TASK, TMPDIS, REQUEST = 1, 2 << 1, 1 << 12, 2 << 8
"""Of DP_TC, as simulated_dpu.csv has them."""


def to(register: str, value: int) -> str:
    """As a user or another tool writes it, past our commands."""
    return "set {unsigned}0x%x = 0x%x" % (BASE + OFFSETS[register], value)


ON = to("DP_CR", 1)


def trace(start: int = VTB, size: int = 0x1000, control: int = EN | TASK) -> Tuple[str, ...]:
    return (
        *(to("DP_TSA", start), to("DP_TEA", start + size - 1), to("DP_TER", 0x2000)),
        *((to("DP_TC", control & ~EN), to("DP_TC", control)) if control & EN else (to("DP_TC", control),)),
    )


def session(
    *commands: str, quirks: Quirks = Quirks(), steps: "List[Step]" = WORKLOAD
) -> "subprocess.CompletedProcess[str]":
    with DeviceServer(DpuMachine(steps, quirks=quirks)) as server:
        return running.gdb(server.connect, DESCRIBED, *commands, target=False)


def found(output: str) -> List[str]:
    """The first lines of the numbered findings."""
    return re.findall(r"^\d+\. (.*)\.$", output, re.MULTILINE)


def checked(*commands: str, quirks: Quirks = Quirks()) -> str:
    return session(*commands, *THROUGH, "dpu check", quirks=quirks).stdout


# -- all is right --------------------------------------------------------------------


@pytest.mark.parametrize(
    "commands",
    [
        (ON, COUNTER),
        (ON, COUNTER + " -filter user"),
        (ON, COUNTER, *trace()),
        (
            *(ON, "dpu counter A1 -event overflow -start mark -stop debugev"),
            "dpu counter A2 -event cycles -start mark -stop debugev -mode extended",
        ),
    ],
)
def test_nothing_is_named_when_all_is_right(commands: Tuple[str, ...]) -> None:
    result = session(*commands, *THROUGH, "dpu check -strict")
    assert result.stdout.count("\ndpu: nothing found\n") == 1 and not found(result.stdout), result.stdout
    assert result.returncode == 0


def test_a_check_reads_the_unit_once() -> None:
    def reads(*commands: str) -> int:
        with DeviceServer(DpuMachine(WORKLOAD)) as server:
            running.gdb(server.connect, DESCRIBED, ON, COUNTER, *commands, target=False)
            return server.reads

    assert reads("dpu check") - reads() == 1


# -- rows of the table ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("commands", "finding", "evidence"),
    [
        (
            (ON, "dpu counter A0 -event dcache_miss -start none"),
            "A0 never starts: it has no start event",
            "DP_CA0C = 0x01000000 CENM=none",
        ),
        (
            (COUNTER, to("DP_CR", 0)),
            "the unit is disabled: nothing is counted (A0)",
            "DP_CR = 0x00000000 EN=0",
        ),
        (
            (ON, COUNTER + " -filter task", "set {unsigned}0x%x = 77" % (BASE + 0x0C)),
            "A0 has counted nothing, and its filter lets only this through: task",
            "DP_RPID = 0x0000004d",
        ),
        (
            (ON, *trace(control=TASK)),
            "the trace buffer is empty, and not enabled",
            "DP_TC = 0x00000004 EN=0",
        ),
        (
            (ON, *trace(control=EN | TASK | TMPDIS)),
            "the trace buffer is empty, and paused",
            "DP_TC = 0x00001005 EN=1 TMPDIS=1",
        ),
        (
            trace(),
            "the trace buffer is empty, and the unit is disabled",
            "DP_CR = 0x00000000 EN=0",
        ),
        (
            (ON, *trace(control=EN | TASK | REQUEST)),
            "the trace buffer is empty: the event that starts it, an access at 0x00002000, never occurred",
            "DP_TER = 0x00002000",
        ),
        (
            (ON, *trace(start=VTB + 16)),
            "the trace buffer is where nothing is recorded: its start is not aligned to 32 bytes",
            "DP_TSA = 0x60000010",
        ),
        (
            (ON, *trace(start=VTB + 0x100000)),
            "the trace buffer is where nothing is recorded: it lies outside 0x60000000 to 0x600fffff",
            "DP_TSA = 0x60100000",
        ),
        (
            (
                *(ON, "dpu counter A1 -event overflow -start mark -stop debugev"),
                "dpu counter A2 -event cycles -start mark -stop debugev",
            ),
            "A1 counts the overflows of A2, which is not extended and has none to be counted",
            "CMODE=oneshot",
        ),
        (
            (ON, "dpu counter A2 -event cycles -start mark -stop debugev -mode extended"),
            "A2 wraps in mode extended and nothing counts how often: what is beyond 2^31 is lost",
            "CMODE=extended",
        ),
    ],
)
def test_a_row_of_the_table(commands: Tuple[str, ...], finding: str, evidence: str) -> None:
    result = session(*commands, *THROUGH, "dpu check -strict")
    assert found(result.stdout) == [finding], result.stdout
    assert evidence in result.stdout
    assert complaint(result.stdout, "dpu check").startswith("dpu check: 1 finding: ")
    assert result.returncode == 1


def test_a_filter_where_overflows_are_counted_by_a_raw_value() -> None:
    """By name it is refused; 0x10b08000 is MARK, overflow, supervisor, DEBUGEV."""
    output = checked(
        *(ON, "dpu counter A1 -raw 0x10b08000"),
        "dpu counter A2 -event cycles -start mark -stop debugev -mode extended",
    )
    assert found(output)[0].startswith("A1 misses overflows: its filter must be any (CEP = 00)")
    refused = session("dpu counter A1 -event overflow -filter supervisor").stdout
    assert "CEP must be any (00) where overflows are counted" in complaint(refused, "dpu counter")


def test_a_counter_changed_by_another_tool() -> None:
    output = checked(ON, COUNTER, to("DP_CA0C", 0x10C08000))
    assert "A0 was set anew by somebody else: from when on it has counted this is not known" in found(output)
    assert "this session wrote DP_CA0C = 0x11008000" in output


SET_UP = ("dpu trace setup -start 0x%08x -size 4096" % VTB, "dpu trace start", *THROUGH)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (to("DP_TEA", VTB + 0x7FF), "DP_TEA"),
        (to("DP_TC", EN | 4 << 1), "DP_TC"),  # TMODE=sample
    ],
)
def test_a_trace_set_up_anew_by_another_tool_while_it_was_enabled(change: str, names: str) -> None:
    assert found(session(ON, *SET_UP, "dpu check").stdout) == []
    output = session(ON, *SET_UP, change, "dpu check").stdout
    assert found(output) == ["the trace was set up anew by somebody else: %s, and it is enabled" % names]
    assert "this session wrote %s = 0x" % names in output


def test_a_trace_that_is_stopped_and_set_up_anew_by_our_commands_is_no_trouble() -> None:
    again = ("dpu trace stop", "dpu trace setup -start 0x%08x -size 8192" % VTB, "dpu trace start")
    output = session(ON, *SET_UP, *again, "dpu check").stdout
    assert [line.split(":")[0] for line in found(output)] == ["the trace buffer is empty"]  # a remark
    assert "dpu: nothing found\n" in output


def test_not_flushed() -> None:
    """A unit that stays busy once it has been."""
    stopped = to("DP_TC", TASK)
    result = session(*(ON, *trace(), *THROUGH, stopped, "dpu check -strict"), quirks=Quirks(twba_stays=True))
    assert found(result.stdout)[0].startswith("the trace is not flushed: its writes stay busy")
    assert "DP_SR = 0x00000001 TWBA=1" in result.stdout and "DP_SR was read 16 times" in result.stdout


def test_a_flush_that_is_under_way_is_waited_for() -> None:
    result = session(*(ON, *trace(), *THROUGH, to("DP_TC", TASK), "dpu check"), quirks=Quirks(twba_reads=9))
    assert "dpu: nothing found\n" in result.stdout and not found(result.stdout)


def test_cycles_that_are_not_those_of_software_timing() -> None:
    counter = "dpu counter B0 -event %s -start mark -stop debugev"
    output = checked(ON, counter % "application_cycles")
    assert found(output)[0].startswith("B0 leaves out the cycles in wait and stop")
    assert "dpu: nothing found\n" in output  # it is a remark


def test_stops_of_the_debugger_while_cycles_are_counted() -> None:
    halfway = ("tbreak *0x%x" % DpuMachine.address(4), "continue")
    counter = (ON, "dpu counter B0 -event cycles -start mark -stop debugev")
    assert found(checked(*counter)) == []
    output = checked(*counter, *halfway)
    assert found(output) == [
        "B0 was set before 1 stop of the debugger: no cycles are counted in debug, where software timing goes on"
    ]
    assert "dpu: nothing found\n" in output  # it is a remark


# -- what cannot be looked for -------------------------------------------------------


def test_what_the_real_units_description_does_not_place_is_never_right() -> None:
    with DeviceServer(DpuMachine(WORKLOAD)) as server:
        result = running.gdb(
            *(server.connect, "set dpu base %#x" % BASE, to("DP_CA0C", 0x10C08000), *trace()),
            *(*THROUGH, "dpu check -strict"),
            target=False,
        )
    assert "dpu: nothing found; not all could be looked for\n" in result.stdout
    assert re.search(r"Not looked for\n(  .*\n)*  .*: where CENM lies is not known\n", result.stdout)
    assert complaint(result.stdout, "dpu check").startswith("dpu check: not all could be looked for: ")
    assert result.returncode == 1
