"""The `dpu` commands on a simulated unit: what they say is what the scripted workload did."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Dict, List, Sequence

import pytest

import running
from dpu_gdb import Case, by_task, elapsed, number, poke, session, sessions, table, to, to_end, word
from dpu_machine import (
    ROWS,
    VTB,
    DebugEv,
    DpuMachine,
    Event,
    Jump,
    Mark,
    Quirks,
    Run,
    Sample,
    Step,
    Write,
)
from dpu_workload import Recorded

FULL = 0x7FFFFFFF
EVENTS = {
    **{"A0": "cycles", "A1": "dcache_miss", "A2": "icache_miss"},
    **{"B0": "dcache_thrash", "B1": "application_cycles", "B2": "task_switches"},
}
COUNTED = tuple("dpu counter %s -event %s -mode trace" % pair for pair in EVENTS.items())
RECORD = 28
ORDERS = pytest.mark.parametrize("little", [True, False], ids=["little-endian", "big-endian"])


def workload(switches: int, seed: int = 1) -> List[Step]:
    """Five tasks that take turns by chance; no two runs are alike."""
    chance = random.Random(seed)
    steps: List[Step] = []
    task = 0
    for _ in range(switches):
        task = chance.choice([t for t in (1, 2, 3, 40, 500) if t != task])
        for _ in range(chance.randint(1, 2)):
            cycles = chance.randint(50, 40_000)
            kinds = ("dcache_miss", "icache_miss", "dcache_thrash")
            events = {kind: chance.randint(0, 50) for kind in kinds}
            steps.append(
                Run(task, cycles, events, chance.random() < 0.3, chance.randint(0, cycles // 2)),
            )
    return steps


def tracing(machine: DpuMachine, setup: str, *commands: str, little: bool = True) -> Case:
    """All counters, a trace set up so, the whole workload, the trace stopped; then the commands."""
    return machine, [
        *("set dpu byte-order %s" % ("little" if little else "big"), *COUNTED),
        *("dpu trace setup -start 0x%08x %s" % (VTB, setup), "dpu trace start"),
        *(*to_end(machine), "dpu trace stop", *commands),
    ]


def traced(machine: DpuMachine, setup: str, *commands: str, little: bool = True) -> str:
    return sessions([tracing(machine, setup, *commands, little=little)])[0]


def shows(machine: DpuMachine, output: str, records: Sequence[Recorded]) -> None:
    """That the table by task is what these records can tell."""
    assert by_task(output, *EVENTS.values()) == of_records(machine, records), output


def of_records(machine: DpuMachine, records: Sequence[Recorded]) -> Dict[int, Dict[str, int]]:
    """The table by task that these records, one after the other, can tell; a task without a run has 0."""
    done = machine.truth.tasks(records[0].step, records[-1].step)
    found: Dict[int, Dict[str, int]] = {}
    before = None
    for record in records:
        task = record.content[0]
        row = found.setdefault(
            task, {"runs": 0, **{e: done.get(task, {}).get(e, 0) for e in EVENTS.values()}}
        )
        row["runs"] += task != before
        before = task
    return found


def left_in(machine: DpuMachine, size: int) -> List[Recorded]:
    """The records that are whole in a buffer which is overwritten."""
    records = machine.truth.records
    lost = max(0, RECORD * len(records) - size)
    return records[-(-lost // RECORD) :]


# -- by task -------------------------------------------------------------------------


def test_the_table_by_task_is_the_truth() -> None:
    machines = [DpuMachine(workload(120), little) for little in (True, False)]
    outputs = sessions(
        [
            tracing(machine, "-size 4096", "dpu trace dump", little=little)
            for machine, little in zip(machines, (True, False))
        ]
    )
    for machine, output in zip(machines, outputs):
        assert len(machine.truth.records) == 120
        shows(machine, output, machine.truth.records)
        assert "it has not wrapped (by DP_SR.WRAP)" in output


@ORDERS
@pytest.mark.parametrize("flag", [True, False], ids=["a wrap flag", "no wrap flag"])
def test_a_buffer_that_has_wrapped_tells_of_its_newest_records(
    little: bool, flag: bool, tmp_path: Path
) -> None:
    """That it has wrapped is told by a flag, and else by the fill pattern, of which nothing is left."""
    rows = tmp_path / "rows.csv"
    unknown = "" if flag else "record,wrap_flag,?,unknown\n"
    rows.write_text(ROWS.read_text(encoding="utf-8") + unknown, encoding="utf-8")
    sizes = (512, 1024, 4096, 4000)
    cases = [
        tracing(DpuMachine(workload(301), little), "-size %d" % size, "dpu trace dump -last 3", little=little)
        for size in sizes
    ]
    outputs = sessions([(machine, ["set dpu description %s" % rows, *does]) for machine, does in cases])
    for (machine, _), size, output in zip(cases, sizes, outputs):
        kept = left_in(machine, size)
        assert len(kept) in (size // RECORD, size // RECORD - 1)
        shows(machine, output, kept)
        assert re.search(r"^%d task records in " % len(kept), output, re.MULTILINE)
        assert "it has wrapped (by %s)" % ("DP_SR.WRAP" if flag else "the fill pattern") in output


def test_wherever_the_seam_of_a_wrapped_buffer_cuts_a_record() -> None:
    """At each of the places within a record's 28 bytes that a size in bursts of 16 can give."""
    sizes = range(3584, 3696, 16)
    cases = [
        tracing(DpuMachine(workload(300, seed=size)), "-size %d" % size, "dpu trace dump -last 3")
        for size in sizes
    ]
    for (machine, _), size, output in zip(cases, sizes, sessions(cases)):
        shows(machine, output, left_in(machine, size))


def test_a_buffer_that_is_just_full() -> None:
    machine = DpuMachine(workload(128))
    output = traced(machine, "-size 3584", "dpu trace dump -last 3")
    assert machine.words["DP_TW"] == VTB
    assert by_task(output, *EVENTS.values()) == of_records(machine, machine.truth.records)


def test_a_short_trace_is_not_doubted() -> None:
    """Though no task comes again in it."""
    machines = [
        DpuMachine([Run(task, 1000 + task, {"dcache_miss": 3}) for task in tasks])
        for tasks in ([1, 2], [1, 2, 3], [7, 5, 9, 6, 8], list(range(1, 13)))
    ]
    outputs = sessions([tracing(machine, "-size 4096", "dpu trace dump") for machine in machines])
    for machine, output in zip(machines, outputs):
        shows(machine, output, machine.truth.records)
        assert "\n! " not in output, output


def test_the_few_records_of_a_small_buffer_that_has_wrapped() -> None:
    sizes = (128, 160, 256)
    steps = [Run(1 + n % 5, 1000 + n, {"dcache_miss": 3}) for n in range(40)]
    cases = [tracing(DpuMachine(steps), "-size %d" % size, "dpu trace dump") for size in sizes]
    for (machine, _), size, output in zip(cases, sizes, sessions(cases)):
        shows(machine, output, left_in(machine, size))


def test_calls_and_returns_are_records_and_no_switches() -> None:
    steps: List[Step] = []
    for step in workload(40):
        steps += [step, Jump(), Jump()]
    machine = DpuMachine(steps)
    output = traced(machine, "-size 8192", "dpu trace dump")
    switches = machine.truth.count("task_switches")
    assert len(machine.truth.records) > switches == 40
    assert by_task(output, *EVENTS.values()) == of_records(machine, machine.truth.records)
    assert "%d task records" % len(machine.truth.records) in output and "; 39 switches" in output


def test_each_record_in_the_list_is_the_truths() -> None:
    machine = DpuMachine(workload(50))
    output = traced(machine, "-size 4096", "dpu trace dump -last 50")
    records, rows = machine.truth.records, table(output, "record")
    assert [int(row["task"]) for row in rows] == [record.content[0] for record in records]
    for record, after, row in zip(records, records[1:], rows):
        assert number(row["at cycles"]) == machine.truth.count("cycles", records[0].step, record.step)
        for event in EVENTS.values():
            assert number(row[event]) == machine.truth.count(event, record.step, after.step), row
    assert {rows[-1][event] for event in EVENTS.values()} == {"-"}


def test_ratios_and_shares_are_of_the_truth() -> None:
    machine = DpuMachine(workload(50))
    output = traced(machine, "-size 4096", "dpu trace dump")
    truth = of_records(machine, machine.truth.records)
    cycles = sum(row["cycles"] for row in truth.values())
    for row in table(output, "task"):
        share = 100 * truth[int(row["task"])]["cycles"] / cycles
        assert float(row["share"].rstrip(" %")) == pytest.approx(share, abs=0.06)
    ratios = table(output, "per 1,000 cycles")
    assert len(ratios) == len(truth)
    for row in ratios:
        told = truth[int(row["per 1,000 cycles"])]
        for event in ("dcache_miss", "icache_miss", "dcache_thrash"):
            expected = 1000 * told[event] / told["cycles"]
            assert float(row[event]) == pytest.approx(expected, abs=0.00051)


@ORDERS
def test_a_saved_buffer_says_the_same_without_a_target(little: bool, tmp_path: Path) -> None:
    machine = DpuMachine(workload(300), little)
    saved = tmp_path / "vtb.bin"
    live = traced(machine, "-size 4096", "dpu trace dump", "dpu trace save %s" % saved, little=little)
    output = running.gdb("set width 200", "dpu trace dump %s" % saved, target=False).stdout
    assert saved.read_bytes()[:4096] == bytes(machine.vtb[:4096])
    assert by_task(output, *EVENTS.values()) == of_records(machine, left_in(machine, 4096))
    assert by_task(output, "cycles") == by_task(live, "cycles")


# -- totals --------------------------------------------------------------------------


def test_the_totals_are_the_truth() -> None:
    orders = (True, False)
    cases = [
        tracing(DpuMachine(workload(60), little), "-size 4096", "dpu counters", little=little)
        for little in orders
    ]
    for (machine, _), output in zip(cases, sessions(cases)):
        assert {name: elapsed(output, name) for name in EVENTS} == {
            name: machine.truth.count(event) for name, event in EVENTS.items()
        }


def counting(count: str) -> Case:
    machine = DpuMachine(workload(60))
    enabled = poke("DP_CR", word("DP_CR", EN=1))
    return machine, [poke("DP_RPID", 40), count, enabled, *to_end(machine), "dpu counters"]


def test_a_oneshot_counter_from_any_preset() -> None:
    presets = (FULL, 1_000_000, 100)
    cases = [counting("dpu counter A0 -event dcache_miss -preset %d" % preset) for preset in presets]
    for (machine, _), preset, output in zip(cases, presets, sessions(cases)):
        truth = machine.truth.count("dcache_miss")
        assert 100 < truth < 1_000_000
        assert elapsed(output, "A0") == min(truth, preset)
        assert ("A0 has reached 0" in output) == (preset == 100)


def test_a_filter_counts_its_part_of_the_truth() -> None:
    parts = {"any": {}, "user": {"user": True}, "supervisor": {"user": False}, "task": {"task": 40}}
    cases = [counting("dpu counter B1 -event cycles -filter %s" % name) for name in parts]
    for (machine, _), part, output in zip(cases, parts.values(), sessions(cases)):
        assert elapsed(output, "B1") == machine.truth.count("cycles", **part) > 0  # type: ignore[arg-type]


# -- wraps of 31 bits ----------------------------------------------------------------

WRAPPED = (
    "dpu counter A1 -event overflow",
    "dpu counter A2 -event cycles -mode extended -preset %d",
    poke("DP_CR", 1),
)


def total(output: str) -> int:
    match = re.findall(r"^A1 and A2: ([\d,]+) cycles", output, re.MULTILINE)
    assert match, output
    return number(match[-1])


@pytest.mark.parametrize("preset", [FULL, 100, 1])
def test_a1_and_a2_together_count_beyond_31_bits(preset: int) -> None:
    lengths = (
        [1],
        [100, 1],
        [FULL],
        [FULL, 1],
        [FULL, 2],
        [1 << 32],
        [7 << 31, 12345],
        [3 << 33, 5 << 31, 1],
    )
    machines = [DpuMachine([Run(1, n) for n in cycles]) for cycles in lengths]
    commands = (WRAPPED[0], WRAPPED[1] % preset, WRAPPED[2])
    outputs = sessions([(machine, [*commands, *to_end(machine), "dpu counters"]) for machine in machines])
    for machine, cycles, output in zip(machines, lengths, outputs):
        assert total(output) == machine.truth.count("cycles") == sum(cycles)


def test_a_trace_counts_beyond_31_bits_from_one_record_to_the_next() -> None:
    lengths = [1000, (3 << 31) + 5, FULL, 1 << 31, 17, (1 << 31) + 1, 40, 41, 42]
    machine = DpuMachine([Run(1 + n % 2, cycles) for n, cycles in enumerate(lengths)])
    output = session(
        machine,
        *(WRAPPED[0], WRAPPED[1] % FULL, "dpu trace setup -start 0x%08x -size 4096" % VTB),
        *("dpu trace start", *to_end(machine), "dpu trace stop", "dpu trace dump"),
    )
    assert {task: row["cycles"] for task, row in by_task(output, "cycles").items()} == {
        1: 1000 + FULL + 17 + 40,
        2: (3 << 31) + 5 + (1 << 31) + (1 << 31) + 1 + 41,
    }


LONG = (1 << 31) + 100
UNCOUNTED = {
    "another start": (
        ("-start watchpoint -stop none", "-start mark -stop none -mode extended"),
        [Mark(), Run(1, 1000), Run(2, LONG), Run(1, 300), Run(3, 5), Run(1, 10)],
        "A1 starts by another event than A2",
    ),
    "no overflows": (
        ("-start mark", "-start mark -stop none -mode trace"),
        [Mark(), Run(1, 1000), Run(2, LONG), Run(1, 300), Run(3, 5), Run(1, 10)],
        "A1 has none to count: A2 is in mode trace, not extended",
    ),
    "no more of them": (
        ("-preset 2", "-mode extended"),
        [Mark(), Run(1, 1000), Run(2, (3 << 31) + 100), Run(1, 300), Run(3, 5), Run(1, 10)],
        "A1 has come to 0 at record 2, where it stops",
    ),
    "another stop": (
        ("-start mark -stop debugev", "-start mark -stop none -mode extended"),
        [Mark(), Run(1, 1000), DebugEv(), Run(2, LONG), Run(1, 300), Run(3, 5), Run(1, 10)],
        "A1 stops by another event than A2",
    ),
}


def test_a_pair_that_misses_overflows_gives_a_lower_bound_and_no_time_also_from_a_file(
    tmp_path: Path,
) -> None:
    saved = tmp_path / "vtb.bin"
    machines = [DpuMachine(steps) for _, steps, _ in UNCOUNTED.values()]
    cases = [
        (
            machine,
            [
                "dpu counter A1 -event overflow %s -force" % high,
                "dpu counter A2 -event cycles %s -force" % low,
                *("dpu trace setup -start 0x%08x -size 4096" % VTB, "dpu trace start", *to_end(machine)),
                *("dpu trace stop", "echo == shown\\n", "dpu trace dump", "dpu trace save %s -force" % saved),
                *("echo == shown\\n", "dpu trace dump %s" % saved),
                *("echo == shown\\n", "dpu trace dump %s -counts A1=overflow,A2=cycles" % saved),
            ],
        )
        for machine, ((high, low), _, _) in zip(machines, UNCOUNTED.values())
    ]
    for machine, (_, _, why), output in zip(machines, UNCOUNTED.values(), sessions(cases)):
        _, *parts = output.split("== shown\n")
        assert len(parts) == 3
        for part in parts:
            assert "! A2: lower bound, %s: that is no time\n" % why in part
            assert not any(word in part for word in ("share", "per 1,000", "right while", " %", "|")), part
            least = {task: row["cycles"] for task, row in by_task(part, "cycles").items()}
            truth = of_records(machine, machine.truth.records)
            assert least == {task: row["cycles"] % (1 << 31) for task, row in truth.items()}
            assert least[2] == 100 < truth[2]["cycles"]


def test_a_narrow_field_counts_modulo_its_bits() -> None:
    """The lower 16 bits of A0, which wrap many times in 838,101 cycles, and more bits of it than it has."""
    machine = DpuMachine([Run(1 + n % 2, 100 + n) for n in range(1200)])
    layouts = ("task:4 A0:2 -:22", "task:4 A0:4 -:20")
    output = session(
        *(machine, "dpu counter A0 -event cycles -mode trace"),
        *("dpu trace setup -start 0x%08x -size 0x10000" % VTB, "dpu trace start", *to_end(machine)),
        *("dpu trace stop", *("dpu trace dump -last 1 -layout '%s'" % layout for layout in layouts)),
    )
    narrow, whole = re.split(r"^1,200 task records", output, flags=re.MULTILINE)[1:]
    truth = {task: row["cycles"] for task, row in of_records(machine, machine.truth.records).items()}
    assert truth == {1: 419_400, 2: 418_701}
    for part, bits in ((narrow, 16), (whole, 31)):
        assert {task: row["cycles"] for task, row in by_task(part, "cycles").items()} == truth
        assert "time: right while each step is below 2^%d cycles\n" % bits in part
        assert "\n! " not in part


# -- modes and kinds of records ------------------------------------------------------


def test_single_keeps_the_first_records() -> None:
    machine = DpuMachine(workload(100))
    output = traced(machine, "-size 1024 -mode single", "dpu trace dump -last 3")
    kept = machine.truth.records[: 1024 // RECORD]
    assert len(machine.truth.records) > len(kept) == 36
    assert by_task(output, *EVENTS.values()) == of_records(machine, kept)


def test_request_records_from_the_event_on() -> None:
    before, after = workload(30, seed=5), workload(20, seed=6)
    machine = DpuMachine([*before, Event(0x20000100), *after])
    output = traced(machine, "-size 4096 -mode request -event-at 0x20000100", "dpu trace dump")
    assert all(record.step > len(before) for record in machine.truth.records)
    assert len(machine.truth.records) >= 19
    assert by_task(output, *EVENTS.values()) == of_records(machine, machine.truth.records)


def sampled() -> List[Step]:
    steps: List[Step] = []
    for n, step in enumerate(workload(40)):
        steps += [step, *([Sample()] if n % 4 == 3 else [])]
    return steps


def test_samples_have_what_was_counted_between_them() -> None:
    cases = [
        tracing(
            DpuMachine(sampled(), little),
            "-size 4096 -record sample",
            "dpu trace dump -last 100",
            little=little,
        )
        for little in (True, False)
    ]
    for (machine, _), output in zip(cases, sessions(cases)):
        records, rows = machine.truth.records, table(output, "record")
        assert len(rows) == len(records) > 10
        for before, record, row in zip(records, records[1:], rows[1:]):
            assert int(row["task"]) == record.content[0]
            for event in EVENTS.values():
                assert number(row["+" + event]) == machine.truth.count(event, before.step, record.step)
        assert "\n! " not in output, output


@ORDERS
def test_direct_words_are_as_the_program_wrote_them(little: bool) -> None:
    written = [[0x01000000 + 0x10203 * n for n in range(number)] for number in (1, 4, 15, 128, 140)]
    cases = [
        tracing(
            DpuMachine([Write(value) for value in words], little),
            "-size 512 -record direct",
            "dpu trace dump -last 1000",
            little=little,
        )
        for words in written
    ]
    for words, output in zip(written, sessions(cases)):
        shown = [
            int(cell, 16)
            for line in output.splitlines()
            for row in re.findall(r"^ *[\d,]+  ((?:[0-9a-f]{8} ?)+) ", line)
            for cell in row.split()
        ]
        assert shown == words[-128:]


def test_a_pause_leaves_a_gap_and_loses_nothing_else() -> None:
    steps = workload(90)
    machine = DpuMachine(steps)
    output = session(
        machine,
        *(*COUNTED, "dpu trace setup -start 0x%08x -size 4096" % VTB, "dpu trace start"),
        *(*to(machine, 40), "dpu trace pause", *to(machine, 60), "dpu trace resume", *to_end(machine)),
        *("dpu trace stop", "dpu trace dump -last 1000"),
    )
    records = machine.truth.records
    assert {record.step for record in records}.isdisjoint(range(40, 60))
    rows = table(output, "record")
    assert [int(row["task"]) for row in rows] == [record.content[0] for record in records]
    assert [number(row["at cycles"]) for row in rows] == [
        machine.truth.count("cycles", records[0].step, record.step) for record in records
    ]
    pointer = RECORD * sum(record.step < 40 for record in records)
    told = "! paused at byte %d of the buffer: the step there also holds what ran meanwhile" % pointer
    assert re.findall("^! .*", output, re.M) == [told] and "no shares, no lanes" in output


def test_a_pause_in_which_nothing_ran_is_none(tmp_path: Path) -> None:
    """The file says, too, what ran in one."""
    idle, busy = (DpuMachine(workload(90)) for _ in range(2))
    begin = (*COUNTED, "dpu trace setup -start 0x%08x -size 4096" % VTB, "dpu trace start")
    saved = tmp_path / "vtb.bin"
    ended = ("dpu trace stop", "dpu trace save %s" % saved, "dpu trace dump %s" % saved)
    without, within = sessions(
        [
            (
                machine,
                [*begin, *to(machine, 40), "dpu trace pause", *ran, "dpu trace resume", *to_end(machine), *e],
            )
            for machine, ran, e in (
                (idle, (), ("dpu trace stop", "dpu trace dump")),
                (busy, to(busy, 60), ended),
            )
        ]
    )
    shows(idle, without, idle.truth.records)
    assert "\n! " not in without and "share" in without
    assert within.count("! paused at byte") == 1 and "no shares, no lanes" in within


def test_what_is_recorded_is_never_garbled_by_our_commands() -> None:
    machine = DpuMachine(workload(90), quirks=Quirks(twba_reads=40))
    output = traced(machine, "-size 1024", "dpu trace dump")
    assert not any(record.garbled for record in machine.truth.records)
    assert by_task(output, *EVENTS.values()) == of_records(machine, left_in(machine, 1024))


def test_a_burst_that_is_under_way_when_the_program_stops_is_waited_for() -> None:
    """The last step is a switch, so that TWBA is set still."""
    cases: List[Case] = []
    for command in ("pause", "stop"):
        for switches in (8, 9, 10, 11):
            machine = DpuMachine([Run(1 + n % 3, 1000 + n) for n in range(switches)])
            setup = "dpu trace setup -start 0x%08x -size 4096" % VTB
            ended = (*to_end(machine), "dpu trace %s" % command, "dpu trace dump")
            cases.append((machine, [*COUNTED, setup, "dpu trace start", *ended]))
    for (machine, _), output in zip(cases, sessions(cases)):
        shows(machine, output, machine.truth.records)
        assert machine.words["DP_TW"] == VTB + RECORD * len(machine.steps)


def test_a_unit_that_fills_up_its_last_burst() -> None:
    """Behind the last record lie zeros, and the write pointer behind them."""
    cases = [
        tracing(
            DpuMachine(workload(switches), quirks=Quirks(pads_flush=True)), "-size 4096", "dpu trace dump"
        )
        for switches in (117, 118, 119, 120)
    ]
    for (machine, _), output in zip(cases, sessions(cases)):
        shows(machine, output, machine.truth.records)


def test_a_pause_in_such_a_unit_leaves_zeros_that_are_no_records() -> None:
    """41 and 271 records are no whole number of bursts. Of 301, 41 are overwritten, and so is the gap."""
    pauses = ((81, 41, False), (301, 41, True), (301, 271, True))
    cases: List[Case] = []
    for switches, paused_at, _ in pauses:
        assert paused_at * RECORD % 16
        steps = [Run(1 + n % 3, 1000 + n, {"dcache_miss": n % 7}) for n in range(switches)]
        machine = DpuMachine(steps, quirks=Quirks(pads_flush=True))
        setup = "dpu trace setup -start 0x%08x -size 4096" % VTB
        paused = (*to(machine, paused_at), "dpu trace pause", "dpu trace resume", *to_end(machine))
        ended = ("dpu trace stop", "dpu trace dump -last 1000")
        cases.append((machine, [*COUNTED, setup, "dpu trace start", *paused, *ended]))
    for (machine, _), (_, paused_at, wrapped), output in zip(cases, pauses, sessions(cases)):
        rows = table(output, "record")
        assert len(rows) == 81 if not wrapped else len(rows) in (145, 146)
        records = machine.truth.records[-len(rows) :]
        assert [int(row["task"]) for row in rows] == [record.content[0] for record in records]
        for event in ("cycles", "dcache_miss"):
            assert [number(row[event]) for row in rows[:-1]] == [
                machine.truth.count(event, a.step, b.step) for a, b in zip(records, records[1:])
            ]
        assert ("bytes of zeros between records" in output) == (paused_at != 41 or not wrapped)
