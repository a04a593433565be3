"""The worked examples of the article on the MSC8251's DPU, done with the commands on the simulated unit; and
the register values that are printed for code of the user's own, done by a program."""

from __future__ import annotations

import re
from typing import List, Sequence, Tuple

import running
from dpu_gdb import DESCRIBED, elapsed, number, poke, session, sessions, table, to_end, word
from dpu_machine import BASE, DESCRIPTION, VTB, DebugEv, DpuMachine, Mark, Run, Step
from running import complaint

ENABLE = poke("DP_CR", word("DP_CR", EN=1))


def without_target(*commands: str) -> str:
    return running.gdb("set width 100", *commands, target=False).stdout


# -- DCache thrash between MARK and DEBUGEV ------------------------------------------

THRASH = "dpu counter A0 -event dcache_thrash -start mark -stop debugev"
WINDOW: List[Step] = [
    *(Run(1, 10_000, {"dcache_thrash": 900}), Mark()),
    *(Run(1, 500, {"dcache_thrash": 20, "icache_miss": 5}), Run(2, 800, {"dcache_thrash": 22})),
    *(DebugEv(), Run(1, 10_000, {"dcache_thrash": 900})),
]


def test_dcache_thrash_between_mark_and_debugev_once_and_again_and_again() -> None:
    machines = [DpuMachine(WINDOW), DpuMachine(WINDOW * 3)]
    once, thrice = sessions([(m, [ENABLE, THRASH, *to_end(m), "dpu counters"]) for m in machines])
    assert (elapsed(once, "A0"), elapsed(thrice, "A0")) == (20 + 22, 3 * (20 + 22))
    assert machines[0].truth.windows["A0"] == [(1, 4)]


def test_the_printed_values_and_the_printed_c_written_by_a_program_do_the_same() -> None:
    values, assignments = without_target(
        DESCRIBED, THRASH + " -print", "echo == C\\n", THRASH + " -print -c"
    ).split("== C\n")
    printed = re.findall(r"^(DP_\w+) +(\|?=) (0x[0-9a-f]+)", values, re.MULTILINE)
    found = re.findall(r"^\*\(volatile uint32_t \*\)\(?(0x\w+?)u?\)? (\|?=)\s+(0x\w+?)u?;", assignments, re.M)
    names = {BASE + register.offset: name for name, register in DESCRIPTION.registers.items()}
    for writes in (
        [(register, how, int(value, 0)) for register, how, value in printed],
        [(names[int(address, 0)], how, int(value, 0)) for address, how, value in found],
    ):
        assert [register for register, _, _ in writes] == ["DP_CA0C", "DP_CA0V", "DP_CA0C", "DP_CR"]
        assert preset_and_left(writes) == (0x7FFFFFFF, 42)


def preset_and_left(writes: Sequence[Tuple[str, str, int]]) -> Tuple[int, int]:
    """Of a program that makes these writes, and no other, and then has the window: A0's preset, and how far
    it came."""
    machine = DpuMachine(WINDOW)
    for register, how, value in writes:
        machine.set(register, machine.words[register] | value if how == "|=" else value)
    preset = machine.words["DP_CA0V"]
    return preset, preset - machine.run_all().words["DP_CA0V"]


def test_of_the_real_unit_it_says_which_positions_nobody_knows() -> None:
    output = without_target(THRASH + " -print -c")
    for text in ("DPU_CENM(0x1u)", "DPU_CE(0x4u)", "DPU_CEP(0x0u)", "DPU_CDM(0x1u)", "DPU_BASE + 0x2cu"):
        assert text in output, output
    assert "where these lie is not known" in output
    assert "/* how the unit as a whole is switched on is not known: " in output
    refused = complaint(without_target("set dpu base 0x50000000", THRASH), "dpu counter")
    assert "CENM, CE, CEP, CDM lie in DP_CA0C is not known" in refused, refused


# -- all cycles, beyond 2^31 ---------------------------------------------------------


def test_all_cycles_between_mark_and_debugev_by_a1_and_a2() -> None:
    window = [(5 << 31) + 3, 1 << 31, 77]
    machine = DpuMachine([Run(1, 1 << 40), Mark(), *(Run(1, n) for n in window), DebugEv(), Run(1, 1 << 35)])
    output = session(
        machine,
        *(ENABLE, "dpu counter A1 -event overflow -start mark -stop debugev"),
        "dpu counter A2 -event cycles -start mark -stop debugev -mode extended",
        *(*to_end(machine), "dpu counters", "dpu check -strict"),
    )
    said = re.findall(r"^A1 and A2: ([\d,]+) cycles = (\d+) overflows", output, re.MULTILINE)
    assert [(number(total), int(overflows)) for total, overflows in said] == [((6 << 31) + 80, 6)], output
    assert "dpu: nothing found" in output


def test_cycles_of_the_application_leave_out_what_is_spent_in_wait() -> None:
    machine = DpuMachine([Run(1, 1000, waiting=600), Run(2, 500)])
    output = session(
        machine,
        *(ENABLE, "dpu counter B0 -event cycles", "dpu counter B1 -event application_cycles"),
        *(*to_end(machine), "dpu counters"),
    )
    assert (elapsed(output, "B0"), elapsed(output, "B1")) == (1500, 900)


# -- how large a buffer is -----------------------------------------------------------


def test_256_kib_last_about_9_seconds_at_1000_switches_a_second() -> None:
    """28 bytes a record: 262,144 / 28 = 9,362 records."""
    output = without_target("dpu size -rate 1000 -size 0x40000")
    assert "262,144 bytes hold 9,362 records of 28 bytes: 9.36 s at 1,000 a second" in output


def test_a_buffer_of_that_size_keeps_all_of_them() -> None:
    """146 records need 4,088 bytes, so 4,096; one more, and the oldest is overwritten."""
    size = re.search(
        r"records of 28 bytes, .*: ([\d,]+) bytes", without_target("dpu size -rate 146 -seconds 1")
    )
    assert size and number(size.group(1)) == 4096
    machines = [DpuMachine([Run(1 + n % 2, 100) for n in range(switches)]) for switches in (146, 147)]
    commands = (
        *("dpu counter A0 -event cycles -mode trace", "dpu trace setup -start 0x%x -size 4096" % VTB),
        "dpu trace start",
    )
    all_of_them, one_more = sessions(
        [(m, [*commands, *to_end(m), "dpu trace stop", "dpu trace dump"]) for m in machines]
    )
    for output in (all_of_them, one_more):
        assert re.search(r"^146 task records in 4,096 bytes", output, re.MULTILINE), output
    assert "it has wrapped" not in all_of_them and "it has wrapped" in one_more


# -- where a buffer may begin, and where it ends -------------------------------------

SWITCHES = [Run(1 + n % 2, 100) for n in range(12)]


def test_a_start_that_is_not_aligned_to_32_is_refused() -> None:
    starts = [VTB + 4, VTB + 8, VTB + 16, VTB + 48]
    machine = DpuMachine(SWITCHES)
    outputs = sessions([(machine, ["dpu trace setup -start 0x%x -size 4096" % start]) for start in starts])
    for start, output in zip(starts, outputs):
        said = complaint(output, "dpu trace setup")
        below = start - start % 32
        assert "a start is a multiple of 32" in said
        assert "0x%08x is not; 0x%08x and 0x%08x are" % (start, below, below + 32) in said
    assert machine.writes == []


def test_an_aligned_one_is_recorded_to_with_an_inclusive_end() -> None:
    starts = [VTB, VTB + 32, VTB + 0xFF000]
    machines = [DpuMachine(SWITCHES) for _ in starts]
    sessions(
        [
            (
                machine,
                [
                    *("dpu trace setup -start 0x%x -size 64 -no-fill" % start, "dpu trace start"),
                    *(*to_end(machine), "dpu trace stop"),
                ],
            )
            for start, machine in zip(starts, machines)
        ]
    )
    for start, machine in zip(starts, machines):
        offset = start - VTB
        assert (machine.words["DP_TSA"], machine.words["DP_TEA"]) == (start, start + 63)
        assert len(machine.truth.records) == 12
        before, after = machine.vtb[:offset], machine.vtb[offset + 64 :]
        assert any(machine.vtb[offset + 48 : offset + 64]) and not any(before) and not any(after)


def test_a_buffer_outside_of_bank_3_is_refused() -> None:
    places = [(VTB - 4096, 4096), (VTB + 0xFF000, 8192), (0x20000000, 4096), (VTB, 1 << 21)]
    machine = DpuMachine(SWITCHES)
    outputs = sessions([(machine, ["dpu trace setup -start 0x%x -size %d" % place]) for place in places])
    for output in outputs:
        assert "must lie within 0x60000000 to 0x600fffff" in complaint(output, "dpu trace setup")
    assert machine.writes == []


def test_of_the_real_unit_it_says_that_bank_3_could_not_be_checked() -> None:
    output = without_target("dpu trace setup -start 0x60000000 -size 4096 -print")
    assert "not checked: whether it lies in Bank 3" in output
    assert re.search(r"^DP_TEA += 0x60000fff", output, re.MULTILINE)


# -- a line for the switch to a task -------------------------------------------------


def test_a_line_for_each_switch_with_the_time_by_the_cycle_counter() -> None:
    machine = DpuMachine([Run(1, 2_000_000), Run(2, 500_000), Run(1, 1_000_000), Run(2, 10)])
    output = session(
        machine,
        *("dpu counter A0 -event cycles -mode trace", "dpu trace setup -start 0x%x -size 4096" % VTB),
        *("dpu trace start", *to_end(machine), "dpu trace stop"),
        "dpu trace dump -clock 1e9 -names 1=control,2=io",
    )
    assert [(row["at ms"], row["task"]) for row in table(output, "record")] == [
        *(("0.000000", "control"), ("2.000000", "io"), ("2.500000", "control"), ("3.500000", "io")),
    ]


def test_no_time_is_printed_where_nothing_counts_cycles() -> None:
    machine = DpuMachine([Run(1 + n % 2, 1000, {"dcache_miss": 3}) for n in range(8)])
    output = session(
        machine,
        *("dpu counter A0 -event dcache_miss -mode trace", "dpu trace setup -start 0x%x -size 4096" % VTB),
        *("dpu trace start", *to_end(machine), "dpu trace stop", "dpu trace dump -clock 1e9"),
    )
    assert "no counter is known to count cycles: no times, no lanes" in output
    assert not re.search(r"\bms\b", output.partition("! ")[0]), output
    assert [row["dcache_miss"] for row in table(output, "record")] == [*["3"] * 7, "-"]


# -- the order in which a trace is stopped -------------------------------------------


def test_a_trace_is_stopped_by_tmpdis_first_and_then_en() -> None:
    machine = DpuMachine(SWITCHES)
    session(
        machine,
        *("dpu trace setup -start 0x%x -size 4096" % VTB, "dpu trace start", *to_end(machine)),
        "dpu trace stop",
    )
    steps = [
        (machine_field("EN", value), machine_field("TMPDIS", value))
        for name, value in machine.writes
        if name == "DP_TC"
    ]
    assert steps == [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    assert machine.words["DP_TW"] == VTB + 12 * 28


def machine_field(name: str, value: int) -> int:
    field = DESCRIPTION.field("DP_TC", name)
    assert field is not None
    return field.of(value)
