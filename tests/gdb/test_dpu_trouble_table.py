"""Each row of the article's trouble table provoked in the simulated unit, and named by `dpu check`; nothing
named where all is right. And what is said where the unit does not take what it is told."""

from __future__ import annotations

import re
from typing import Sequence, Tuple

import pytest

from dpu_gdb import by_task, kinds, poke, session, to, to_end, word
from dpu_machine import RAM, VTB, DpuMachine, Event, Jump, Mark, Quirks, Run, Sample, Step, Write
from running import complaint

ENABLE = poke("DP_CR", word("DP_CR", EN=1))
SETUP = "dpu trace setup -start 0x%08x -size 4096" % VTB
CHECK = "dpu check -strict"
START = "dpu trace start"
ON = word("DP_TC", EN=1, TMODE="task", VTBWM="overwrite", BURST_SIZE="16")
STEPS = [
    *(Run(1, 1000, {"dcache_miss": 3}), Mark(), Run(2, 3000, {"dcache_miss": 5}), Jump()),
    *(Sample(), Write(7), Event(0x20000100), Run(3, 2000, waiting=500), Run(1, 10), Run(2, 20), Run(1, 30)),
]


def checked(commands: Sequence[str], quirks: Quirks = Quirks(), steps: Sequence[Step] = STEPS) -> str:
    """What `dpu check -strict` says of the unit after these commands. Each register in its evidence is
    compared with the unit's."""
    machine = DpuMachine(steps, quirks=quirks)
    output = session(machine, *commands, CHECK)
    said = output[output.rindex("dpu: nothing found" if "dpu: nothing found" in output else "\ndpu: ") :]
    for register, value in re.findall(r"^ +(DP_\w+) = 0x([0-9a-f]{8})", said, re.MULTILINE):
        if register != "DP_SR":  # that one changes with each read
            assert int(value, 16) == machine.words[register], (register, said)
    return output


END = to_end(DpuMachine(STEPS))


# -- a counter stays at zero ---------------------------------------------------------


@pytest.mark.parametrize(
    ("commands", "found", "evidence"),
    [
        ([ENABLE, "dpu counter A0 -event cycles -start none"], ["start"], "DP_CA0C = 0x00000000 CENM=none"),
        (["dpu counter A0 -event cycles", poke("DP_CR", 0)], ["disabled"], "DP_CR = 0x00000000 EN=0"),
        (
            [ENABLE, "dpu counter A0 -event cycles -filter user"],
            ["filter"],
            "DP_CA0C = 0x30080000 CEP=user",
        ),
        (
            [ENABLE, poke("DP_RPID", 99), "dpu counter B2 -event cycles -filter task"],
            ["filter"],
            "DP_RPID = 0x00000063",
        ),
    ],
)
def test_a_counter_that_stays_at_zero(commands: Sequence[str], found: Sequence[str], evidence: str) -> None:
    output = checked([*commands, *END])
    assert kinds(output) == found
    assert evidence in output, output


def test_a_counter_whose_start_has_not_come_is_a_remark() -> None:
    output = checked([ENABLE, "dpu counter A0 -event cycles -start mark", *to(DpuMachine(STEPS), 1)])
    assert kinds(output) == []
    assert re.search(r"^1\. A0 has counted nothing", output, re.MULTILINE), output


# -- the buffer stays empty ----------------------------------------------------------


@pytest.mark.parametrize(
    ("commands", "found", "evidence"),
    [
        ([ENABLE, SETUP, *END], ["trace-disabled"], "DP_TC = 0x00000004 EN=0"),
        ([SETUP, START, "dpu trace pause", *END], ["paused"], "EN=1 TMPDIS=1"),
        (
            [SETUP + " -mode request -event-at 0x20000104", START, *END],
            ["event"],
            "DP_TER = 0x20000104",
        ),
        ([SETUP, START, poke("DP_CR", 0), *END], ["trace-unit"], "DP_CR = 0x00000000 EN=0"),
        (
            [ENABLE, poke("DP_TSA", RAM), poke("DP_TEA", RAM + 4095), poke("DP_TC", ON), *END],
            ["address"],
            "DP_TSA = 0x20000000",
        ),
        (
            [ENABLE, poke("DP_TSA", VTB + 16), poke("DP_TEA", VTB + 4095), poke("DP_TC", ON), *END],
            ["address"],
            "DP_TSA = 0x60000010",
        ),
        (
            [ENABLE, poke("DP_TSA", VTB), poke("DP_TEA", VTB + (1 << 20)), poke("DP_TC", ON), *END],
            ["address"],
            "DP_TEA = 0x60100000",
        ),
    ],
)
def test_a_buffer_that_stays_empty(commands: Sequence[str], found: Sequence[str], evidence: str) -> None:
    machine = DpuMachine(STEPS)
    session(machine, *commands)
    assert not machine.truth.records, "this provokes nothing"
    output = checked(commands)
    assert kinds(output) == found
    assert evidence in output, output


def test_a_trace_of_what_the_program_does_not_do_is_a_remark() -> None:
    output = checked([SETUP + " -record direct", START, *to(DpuMachine(STEPS), 3)])
    assert kinds(output) == []
    assert "the trace buffer is empty: no record has come" in output


# -- data are garbled ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("register", "value"),
    [
        ("DP_TSA", VTB + 32),
        ("DP_TEA", VTB + 2047),
        ("DP_TER", 0x20000100),
        ("DP_TC", word("DP_TC", EN=1, TMODE="task", VTBWM="single", BURST_SIZE="16")),
    ],
)
def test_a_change_while_it_is_enabled_is_named(register: str, value: int) -> None:
    setup = SETUP if register != "DP_TER" else SETUP + " -mode request -event-at 0x20000104"
    machine = DpuMachine(STEPS)
    commands = [setup, START, *to(machine, 3), poke(register, value), *END]
    session(machine, *commands)
    assert all(record.garbled for record in machine.truth.records if record.step >= 3)
    output = checked(commands)
    assert "changed" in kinds(output)
    assert re.search(r"DP_\w+ = 0x%08x" % value, output), output
    assert "this session wrote %s = " % register in output


def test_a_flush_that_never_ends_is_named() -> None:
    output = checked([SETUP, START, *END], Quirks(twba_stays=True))
    assert kinds(output) == ["flush"]
    assert re.search(r"DP_SR = 0x0000000[13] TWBA=1", output), output


def test_a_flush_that_ends_after_some_reads_is_not() -> None:
    assert kinds(checked([SETUP, START, *END], Quirks(twba_reads=9))) == []


# -- counts differ from software timing ----------------------------------------------


@pytest.mark.parametrize(
    ("commands", "summary"),
    [
        (
            ["dpu counter A0 -event application_cycles", *END],
            "A0 leaves out the cycles in wait and stop",
        ),
        (
            ["dpu counter A0 -event cycles", *to(DpuMachine(STEPS), 2), *END],
            "A0 was set before 1 stop of the debugger",
        ),
        (
            ["dpu counter A0 -event cycles -preset 2000", *END],
            "A0 stands at 0, where mode oneshot stops",
        ),
    ],
)
def test_counts_that_are_not_software_timings(commands: Sequence[str], summary: str) -> None:
    output = checked([ENABLE, *commands])
    assert summary in output, output
    assert kinds(output) == []


# -- extended counts -----------------------------------------------------------------


def control(counter: str, **fields: "int | str") -> str:
    return poke("DP_C%sC" % counter, word("DP_C%sC" % counter, **{"CENM": "immediate", **fields}))


@pytest.mark.parametrize(
    ("commands", "evidence"),
    [
        (
            [
                *(control("A1", CE="overflow", CEP="supervisor"),),
                "dpu counter A2 -event cycles -mode extended",
            ],
            "DP_CA1C = 0x30b00000 CE=overflow CEP=supervisor",
        ),
        (
            ["dpu counter A1 -event overflow", "dpu counter A2 -event cycles -mode trace"],
            "DP_CA2C = 0x30000002 CMODE=trace",
        ),
        (
            [control("B2", CE="overflow"), "dpu counter B1 -event cycles -mode extended"],
            "DP_CB2C = 0x30a00000 CE=overflow",
        ),
        (["dpu counter A2 -event cycles -mode extended"], "DP_CA2C = 0x30000004 CMODE=extended"),
        (
            [
                "dpu counter A1 -event overflow -start mark",
                "dpu counter A2 -event cycles -mode extended",
            ],
            "DP_CA1C = 0x10a00000 CENM=mark CDM=none",
        ),
    ],
    ids=["filter", "mode", "roles swapped", "nothing counts the overflows", "starts later"],
)
def test_an_extended_count_that_is_wrong(commands: Sequence[str], evidence: str) -> None:
    output = checked([ENABLE, *commands, *END])
    assert set(kinds(output)) == {"extended"}, output
    assert evidence in output, output


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("dpu counter A1 -event overflow -filter supervisor", "CEP must be any"),
        ("dpu counter A2 -event overflow", "no counter comes after it"),
    ],
)
def test_what_would_count_wrong_is_not_written(command: str, why: str) -> None:
    machine = DpuMachine([])
    assert why in complaint(session(machine, command), "dpu counter")
    assert machine.writes == []


# -- all is right --------------------------------------------------------------------

EXTENDED = ["dpu counter A1 -event overflow", "dpu counter A2 -event cycles -mode extended"]


@pytest.mark.parametrize(
    "commands",
    [
        ["dpu counter A0 -event cycles"],
        ["dpu counter A0 -event cycles -start mark -stop debugev"],
        ["dpu counter B1 -event dcache_miss -mode trace", "dpu counter A0 -event cycles -filter supervisor"],
        [poke("DP_RPID", 2), "dpu counter A0 -event cycles -filter task"],
        EXTENDED,
        list(reversed(EXTENDED)),
        [SETUP, START],
        [SETUP + " -mode single", START],
        [SETUP + " -mode request -event-at 0x20000100", START],
        [SETUP + " -record sample", START],
        [SETUP + " -record direct", START],
        ["dpu counter A0 -event cycles -mode trace", SETUP, START],
    ],
)
@pytest.mark.parametrize("quirks", [Quirks(), Quirks(wrap_flag=False)], ids=["", "no wrap flag"])
def test_nothing_is_named_where_all_is_right(commands: Sequence[str], quirks: Quirks) -> None:
    """While it counts, and where there is a trace, once it is stopped."""
    stop = ["dpu trace stop"] if START in commands else []
    # a few records more, so that a burst is in the buffer before the trace is stopped
    steps = [*STEPS, Jump(), Sample(), *[Write(n) for n in range(8)]]
    output = checked(
        [ENABLE, *commands, *to_end(DpuMachine(steps)), CHECK, *stop], quirks=quirks, steps=steps
    )
    assert len(re.findall(r"^dpu: nothing found$", output, re.MULTILINE)) == 2, output
    assert not re.search(r"^\d+\. ", output, re.MULTILINE), output


def test_nothing_is_named_in_a_buffer_that_has_wrapped() -> None:
    steps = [Run(1 + n % 2, 100) for n in range(300)]
    commands = ["dpu counter A0 -event cycles -mode trace", SETUP, START, *to_end(DpuMachine(steps))]
    output = checked([*commands, "dpu trace stop"], steps=steps)
    assert re.search(r"^dpu: nothing found$", output, re.MULTILINE), output
    assert not re.search(r"^\d+\. ", output, re.MULTILINE), output


def test_the_same_is_found_in_the_other_byte_order() -> None:
    machine = DpuMachine(STEPS, little=False)
    output = session(
        machine,
        *("set dpu byte-order big", "dpu counter A0 -event cycles -start none", SETUP, START),
        *("dpu trace pause", *END, CHECK),
    )
    assert sorted(kinds(output)) == ["paused", "start"]


def test_a_unit_that_nobody_has_set_is_not_taken_for_right() -> None:
    output = session(DpuMachine([]), CHECK)
    assert "no counter is set, and no trace is set up" in output
    assert complaint(output, "dpu check").startswith("dpu check: not all could be looked for")


# -- where the unit does not do what it is told --------------------------------------


@pytest.mark.parametrize(
    ("command", "quirks", "parts"),
    [
        ("dpu counter A0 -event cycles", Quirks(drops_writes=True), ("DP_CA0V", "did not take 0x7fffffff")),
        (SETUP, Quirks(drops_writes=True), ("DP_TSA", "did not take 0x60000000")),
        (
            "dpu counter A0 -event cycles",
            Quirks(stuck={"DP_CA0C": 1 << 28}),
            ("DP_CA0C at 0x5000002c did not take 0x30000000: it reads 0x20000000",),
        ),
        ("dpu status", Quirks(faults=True), ("0x50000000",)),
        ("dpu counters", Quirks(faults=True), ("0x5000002c",)),
        ("dpu check", Quirks(faults=True), ("0x50000000",)),
        ("dpu counter A0 -event cycles", Quirks(faults=True), ("0x50000000",)),
        (START, Quirks(faults=True), ("0x50000000",)),
    ],
)
def test_what_the_unit_refuses_is_said(command: str, quirks: Quirks, parts: Tuple[str, ...]) -> None:
    output = session(DpuMachine([], quirks=quirks), command)
    said = complaint(output, " ".join(command.split()[: 3 if "trace" in command else 2]))
    assert all(part in said for part in parts), said


def test_a_trace_that_never_gets_ready_is_not_stopped_halfway() -> None:
    machine = DpuMachine(STEPS, quirks=Quirks(twba_stays=True))
    output = session(machine, SETUP, START, *END, "dpu trace stop", "dpu trace pause")
    assert "DP_SR.TWBA stays set" in complaint(output, "dpu trace stop")
    assert "DP_SR.TWBA stays set" in complaint(output, "dpu trace pause")
    assert machine.words["DP_TC"] == ON
    assert [value for name, value in machine.writes if name == "DP_TC"] == [ON & ~1, ON]


def test_a_trace_that_is_on_is_not_set_up_anew() -> None:
    machine = DpuMachine(STEPS)
    output = session(
        machine,
        *("dpu counter A0 -event cycles -mode trace", SETUP, START, *to(machine, 3)),
        *("dpu trace setup -start 0x60001000 -size 512", "dpu trace dump", *END),
        *("dpu trace stop", "dpu trace dump"),
    )
    assert "the trace is on" in complaint(output, "dpu trace setup")
    assert "the trace is on" in complaint(output, "dpu trace dump")
    assert {task: row["cycles"] for task, row in by_task(output, "cycles").items()} == {
        1: machine.truth.traced()[1]["cycles"],
        2: machine.truth.traced()[2]["cycles"],
        3: machine.truth.traced()[3]["cycles"],
    }
