"""Each row of the article's trouble table provoked in the simulated unit, and named by `dpu check`; nothing
named where all is right. And what is said where the unit does not take what it is told."""

from __future__ import annotations

import re
from typing import List, Sequence, Tuple

import pytest

from dpu_gdb import by_task, kinds, poke, session, sessions, to, to_end, verdict, word
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


def checked(
    cases: Sequence[Sequence[str]], quirks: Quirks = Quirks(), steps: Sequence[Step] = STEPS
) -> List[Tuple[DpuMachine, str]]:
    """For each, the unit after these commands, and what `dpu check -strict` says of it. Each register in the
    evidence is compared with the unit's."""
    machines = [DpuMachine(steps, quirks=quirks) for _ in cases]
    outputs = sessions([(machine, [*case, CHECK]) for machine, case in zip(machines, cases)])
    found = []
    for machine, output in zip(machines, outputs):
        said = verdict(output)
        for register, value in re.findall(r"^ +(DP_\w+) = 0x([0-9a-f]{8})", said, re.MULTILINE):
            if register != "DP_SR":  # that one changes with each read
                assert int(value, 16) == machine.words[register], (register, said)
        found.append((machine, said))
    return found


END = to_end(DpuMachine(STEPS))


# -- a counter stays at zero ---------------------------------------------------------


AT_ZERO = [
    ([ENABLE, "dpu counter A0 -event cycles -start none"], "start", "DP_CA0C = 0x00000000 CENM=none"),
    (["dpu counter A0 -event cycles", poke("DP_CR", 0)], "disabled", "DP_CR = 0x00000000 EN=0"),
    ([ENABLE, "dpu counter A0 -event cycles -filter user"], "filter", "DP_CA0C = 0x30080000 CEP=user"),
    (
        [ENABLE, poke("DP_RPID", 99), "dpu counter B2 -event cycles -filter task"],
        "filter",
        "DP_RPID = 0x00000063",
    ),
]


def test_a_counter_that_stays_at_zero() -> None:
    for (_, kind, evidence), (_, said) in zip(AT_ZERO, checked([[*case[0], *END] for case in AT_ZERO])):
        assert kinds(said) == [kind]
        assert evidence in said


def test_a_counter_whose_start_has_not_come_is_a_remark() -> None:
    commands = [ENABLE, "dpu counter A0 -event cycles -start mark", *to(DpuMachine(STEPS), 1)]
    ((_, said),) = checked([commands])
    assert kinds(said) == []
    assert re.search(r"^1\. A0 has counted nothing", said, re.MULTILINE), said


# -- the buffer stays empty ----------------------------------------------------------


PLACED = [ENABLE, poke("DP_TSA", VTB), poke("DP_TEA", VTB + 4095), poke("DP_TC", ON), *END]
EMPTY = [
    ([ENABLE, SETUP, *END], "trace-disabled", "DP_TC = 0x00000004 EN=0"),
    ([SETUP, START, "dpu trace pause", *END], "paused", "EN=1 TMPDIS=1"),
    ([SETUP + " -mode request -event-at 0x20000104", START, *END], "event", "DP_TER = 0x20000104"),
    ([SETUP, START, poke("DP_CR", 0), *END], "trace-unit", "DP_CR = 0x00000000 EN=0"),
    (
        [ENABLE, poke("DP_TSA", RAM), poke("DP_TEA", RAM + 4095), *PLACED[3:]],
        "address",
        "DP_TSA = 0x20000000",
    ),
    ([ENABLE, poke("DP_TSA", VTB + 16), *PLACED[2:]], "address", "DP_TSA = 0x60000010"),
    ([*PLACED[:2], poke("DP_TEA", VTB + (1 << 20)), *PLACED[3:]], "address", "DP_TEA = 0x60100000"),
]


def test_a_buffer_that_stays_empty() -> None:
    found = checked([commands for commands, _, _ in EMPTY])
    for (_, kind, evidence), (machine, said) in zip(EMPTY, found):
        assert not machine.truth.records, "this provokes nothing"
        assert kinds(said) == [kind]
        assert evidence in said


def test_a_trace_of_what_the_program_does_not_do_is_a_remark() -> None:
    ((_, said),) = checked([[SETUP + " -record direct", START, *to(DpuMachine(STEPS), 3)]])
    assert kinds(said) == []
    assert "the trace buffer is empty: no record has come" in said


def test_a_single_buffer_that_is_full_is_a_remark_and_an_unknown_code_a_finding() -> None:
    size = ("-size 4096", "-size 32")
    unknown = poke("DP_TC", ON | 3 << 8)
    full, strange = checked(
        [
            [SETUP.replace(*size) + " -mode single", START, *END],
            [SETUP, poke("DP_TC", ON & ~1 | 3 << 8), unknown],
        ]
    )
    assert kinds(full[1]) == []
    assert "the trace buffer is full: in mode single nothing that came later was recorded" in full[1]
    assert "DP_TW = 0x60000020" in full[1]
    assert "code" in kinds(strange[1]) and "what VTBWM = 3 means is not known" in strange[1]


# -- data are garbled ----------------------------------------------------------------


SINGLE = word("DP_TC", EN=1, TMODE="task", VTBWM="single", BURST_SIZE="16")
CHANGES = [("DP_TSA", VTB + 32), ("DP_TEA", VTB + 2047), ("DP_TER", 0x20000100), ("DP_TC", SINGLE)]


def test_a_change_while_it_is_enabled_is_named() -> None:
    cases = []
    for register, value in CHANGES:
        setup = SETUP if register != "DP_TER" else SETUP + " -mode request -event-at 0x20000104"
        cases.append([setup, START, *to(DpuMachine(STEPS), 3), poke(register, value), *END])
    for (register, value), (machine, said) in zip(CHANGES, checked(cases)):
        assert all(record.garbled for record in machine.truth.records if record.step >= 3)
        assert "changed" in kinds(said)
        assert re.search(r"%s = 0x%08x" % (register, value), said), said
        assert "this session wrote %s = " % register in said


OFF = word("DP_TC", EN=0, TMODE="task", VTBWM="overwrite", BURST_SIZE="16")


def test_an_end_past_the_safe_order_is_named() -> None:
    ((machine, said),) = checked([[SETUP, START, *to(DpuMachine(STEPS), 3), poke("DP_TC", OFF), *END]])
    recorded = 28 * len(machine.truth.records)
    assert machine.words["DP_TW"] - VTB < recorded, "this provokes nothing"
    assert kinds(said) == ["flush"]
    assert "DP_TC = 0x%08x EN=0" % OFF in said and "this session wrote DP_TC = 0x%08x" % ON in said
    assert "ended by somebody else, not by dpu trace stop" in said


def test_a_flush_that_never_ends_is_named() -> None:
    ((_, said),) = checked([[SETUP, START, *END]], Quirks(twba_stays=True))
    assert kinds(said) == ["flush"]
    assert re.search(r"DP_SR = 0x0000000[13] TWBA=1", said), said


def test_a_flush_that_ends_after_some_reads_is_not() -> None:
    ((_, said),) = checked([[SETUP, START, *END]], Quirks(twba_reads=9))
    assert kinds(said) == []


# -- counts differ from software timing ----------------------------------------------


TIMINGS = [
    (["dpu counter A0 -event application_cycles"], "A0 leaves out the cycles in wait and stop"),
    (
        ["dpu counter A0 -event cycles", *to(DpuMachine(STEPS), 2)],
        "A0 was set before 1 stop of the debugger",
    ),
    (["dpu counter A0 -event cycles -preset 2000"], "A0 stands at 0, where mode oneshot stops"),
]


def test_counts_that_are_not_software_timings() -> None:
    found = checked([[ENABLE, *commands, *END] for commands, _ in TIMINGS])
    for (_, summary), (_, said) in zip(TIMINGS, found):
        assert summary in said
        assert kinds(said) == []


# -- extended counts -----------------------------------------------------------------


def control(counter: str, **fields: "int | str") -> str:
    return poke("DP_C%sC" % counter, word("DP_C%sC" % counter, **{"CENM": "immediate", **fields}))


EXTENDED = ["dpu counter A1 -event overflow", "dpu counter A2 -event cycles -mode extended"]
WRONG = {
    "filter": (
        [control("A1", CE="overflow", CEP="supervisor"), EXTENDED[1]],
        "DP_CA1C = 0x30b00000 CE=overflow CEP=supervisor",
    ),
    "mode": (
        [EXTENDED[0], "dpu counter A2 -event cycles -mode trace"],
        "DP_CA2C = 0x30000002 CMODE=trace",
    ),
    "roles swapped": (
        [control("B2", CE="overflow"), "dpu counter B1 -event cycles -mode extended"],
        "DP_CB2C = 0x30a00000 CE=overflow",
    ),
    "nothing counts the overflows": ([EXTENDED[1]], "DP_CA2C = 0x30000004 CMODE=extended"),
    "starts later": (
        [EXTENDED[0] + " -start mark", EXTENDED[1] + " -force"],
        "DP_CA1C = 0x10a00000 CENM=mark CDM=none",
    ),
}


def test_an_extended_count_that_is_wrong() -> None:
    found = checked([[ENABLE, *commands, *END] for commands, _ in WRONG.values()])
    for (name, (_, evidence)), (_, said) in zip(WRONG.items(), found):
        assert set(kinds(said)) == {"extended"}, name
        assert evidence in said, name


def test_what_would_count_wrong_is_not_written() -> None:
    cases = {
        "dpu counter A1 -event overflow -filter supervisor": "CEP must be any",
        "dpu counter A1 -raw 0x30b00000": "CEP must be any",
        "dpu counter A2 -event overflow": "unverified (no source: the article has A1 counting overflows",
    }
    machine = DpuMachine([])
    for why, output in zip(cases.values(), sessions([(machine, [command]) for command in cases])):
        assert why in complaint(output, "dpu counter")
    assert machine.writes == []


# -- all is right --------------------------------------------------------------------

RIGHT = [
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
]


@pytest.mark.parametrize(
    ("cases", "quirks"), [(RIGHT, Quirks()), (RIGHT[-1:], Quirks(wrap_flag=False))], ids=["", "no wrap flag"]
)
def test_nothing_is_named_where_all_is_right(cases: Sequence[Sequence[str]], quirks: Quirks) -> None:
    """While it counts, and where there is a trace, once it is stopped."""
    # a few records more, so that a burst is in the buffer before the trace is stopped
    steps = [*STEPS, Jump(), Sample(), *[Write(n) for n in range(8)]]
    machines = [DpuMachine(steps, quirks=quirks) for _ in cases]
    commands = [
        [ENABLE, *case, *to_end(machines[0]), CHECK, *(["dpu trace stop"] if START in case else []), CHECK]
        for case in cases
    ]
    for case, output in zip(cases, sessions(list(zip(machines, commands)))):
        assert len(re.findall(r"^dpu: nothing found$", output, re.MULTILINE)) == 2, (case, output)
        assert not re.search(r"^\d+\. ", output, re.MULTILINE), (case, output)


def test_nothing_is_named_in_a_buffer_that_has_wrapped() -> None:
    steps = [Run(1 + n % 2, 100) for n in range(300)]
    commands = ["dpu counter A0 -event cycles -mode trace", SETUP, START, *to_end(DpuMachine(steps))]
    ((_, said),) = checked([[*commands, "dpu trace stop"]], steps=steps)
    assert said.startswith("dpu: nothing found\n") and not re.search(r"^\d+\. ", said, re.MULTILINE), said


def test_the_same_is_found_in_the_other_byte_order() -> None:
    machine = DpuMachine(STEPS, little=False)
    output = session(
        machine,
        *("set dpu byte-order big", "dpu counter A0 -event cycles -start none", SETUP, START),
        *("dpu trace pause", *END, CHECK),
    )
    assert sorted(kinds(output)) == ["paused", "start"]


def test_a_unit_that_nobody_has_set_is_not_taken_for_right() -> None:
    output = session(DpuMachine([]), ENABLE, CHECK)
    assert "no counter is set, and no trace is set up" in output
    assert complaint(output, "dpu check").startswith("dpu check: not all could be looked for")


# -- where the unit does not do what it is told --------------------------------------


REFUSED = [
    (
        "dpu counter A0 -event cycles",
        Quirks(drops_writes=True),
        "DP_CA0V at 0x50000030 did not take 0x7fffffff",
    ),
    (SETUP, Quirks(drops_writes=True), "DP_TSA at 0x50000080 did not take 0x60000000"),
    ("dpu status", Quirks(faults=True), "0x50000000"),
    ("dpu counters", Quirks(faults=True), "0x5000002c"),
    ("dpu check", Quirks(faults=True), "0x50000000"),
    ("dpu counter A0 -event cycles", Quirks(faults=True), "0x50000000"),
    (START, Quirks(faults=True), "0x50000000"),
]


def test_what_the_unit_refuses_is_said() -> None:
    outputs = sessions([(DpuMachine([], quirks=quirks), [command]) for command, quirks, _ in REFUSED])
    for (command, _, part), output in zip(REFUSED, outputs):
        assert part in complaint(output, " ".join(command.split()[: 3 if "trace" in command else 2]))


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
