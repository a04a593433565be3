"""`counters`, `counters start`, `read`, `stop`: by the real OpenOCD on a simulated Cortex-M4, by a server
with DWT and PMU, and against QEMU, which has neither."""

from __future__ import annotations

import re
from typing import Dict, List, Sequence, Tuple

import pytest

import armv81m_machine as arm
import running
from armv81m_machine import Armv81mMachine, Part, Step
from cortex_m4 import Quirks
from cortex_m4_trace import Counts
from openocd import OpenOcd, openocd
from remote_server import DeviceServer
from running import complaint, elf

DEMCR, TRCENA, CTRL, CYCCNT, CPICNT = 0xE000EDFC, 1 << 24, 0xE0001000, 0xE0001004, 0xE0001008
NOCYCCNT, NOPRFCNT = 1 << 25, 1 << 24
LOOPS = elf("three_loops")
READ, STOP = "counters read -clock 10000000", "counters stop -clock 10000000"
"""A slow clock: 32 bits last for minutes, and a busy machine is no doubt about cycles."""
PROGRAM = (
    Step(0x100, 4, {0x08: 1}),
    Step(0x102, 20, {0x08: 9, 0x04: 3, 0x03: 1}),
    Step(0x104, 100, {0x08: 50, 0x04: 30, 0x03: 2}),
    Step(0x106, 6, {0x08: 4}),
)
"""130 cycles a lap, 64 instructions."""
SHORT = Counts(200, {"cpi": 30, "exc": 24, "lsu": 56, "fold": 10})
"""100 instructions from halt to halt: 200 - 30 - 24 - 56 + 10."""


def counted(output: str) -> "Dict[str, Tuple[int, str]]":
    """The last table of counts: by event the count and how far it is known."""
    rows = re.findall(
        r"^  (\w+) +([\d,]+|\?)  (exact|stands|unknown|at least|differs|with halts|mod \S+) +(?:DWT|PMU)",
        output,
        re.MULTILINE,
    )
    return {name: (int(count.replace(",", "").replace("?", "-1")), known) for name, count, known in rows}


def attached(
    part: Part, *commands: str, before: "Dict[int, int] | None" = None
) -> "Tuple[str, Armv81mMachine]":
    """What GDB printed, connected to such a part, and the machine as it was left."""
    machine = Armv81mMachine(PROGRAM, part)
    machine.words.update(before or {})
    with DeviceServer(machine) as server:
        output = running.gdb(server.connect, *commands, target=False).stdout
    return output, machine


def answers(commands: Sequence[str], *first: str) -> List[str]:
    """What each command printed, all in one GDB without a target but what `first` connects to."""
    marked = [line for command in commands for line in ("echo == next\\n", command)]
    return running.gdb(*first, *marked, "echo == next\\n", target=False).stdout.split("== next\n")[1:-1]


AT_MAIN = ("monitor reset halt", "maintenance flush register-cache", "tbreak main", "continue")
"""Or the core is wherever it is, which may be at the next breakpoint: GDB then steps off it first."""


def on_openocd(quirks: Quirks, *commands: str) -> "Tuple[str, OpenOcd]":
    with openocd(LOOPS, quirks=quirks) as server:
        return server.gdb(*commands), server


# -- what is there -------------------------------------------------------------------


def test_a_cortex_m4s_counters_by_openocd() -> None:
    output, server = on_openocd(
        Quirks(counts=Counts()),
        *(f"set *(unsigned *) {DEMCR:#x} = {TRCENA}", f"set *(unsigned *) {CTRL:#x} = 0x20001"),
        *(f"set *(unsigned *) {CYCCNT:#x} = 123456", "python print('== look')", "counters"),
    )
    assert output.split("== look\n")[1].splitlines()[:9] == [
        "counters: DWT at 0xe0001000, DWT_CTRL 0x40020001",
        "  counter   bits  state                  value",
        "  CYCCNT      32  on                   123,456",
        "  CPICNT       8  on                         0",
        "  EXCCNT       8  off (EXCEVTENA 0)          0",
        "  SLEEPCNT     8  off (SLEEPEVTENA 0)        0",
        "  LSUCNT       8  off (LSUEVTENA 0)          0",
        "  FOLDCNT      8  off (FOLDEVTENA 0)         0",
        "counters: no PMU at 0xe0003000 (Armv8.1-M has one)",
    ]
    assert server.core.word(DEMCR) & TRCENA, "it was on"


def test_a_look_sets_the_trace_enable_and_puts_it_back_and_writes_nothing_else() -> None:
    output, machine = attached(Part(), "counters", before={DEMCR: 0x400})
    assert "DEMCR.TRCENA was 0, and no counter ran: set for this look, then put back" in output
    assert machine.writes == [(DEMCR, TRCENA | 0x400), (DEMCR, 0x400)]


def test_a_pmu_with_its_events_by_name() -> None:
    before = {DEMCR: TRCENA, arm.PMU_CTRL: 1, arm.CNTENSET: arm.CYCLES | 0b101, arm.OVSSET: 0b100}
    events = {arm.evtyper(0): 0x08, arm.evcntr(0): 1234, arm.evtyper(2): 0x1234, arm.CCNTR: 99}
    output, machine = attached(Part(pmu=4), "counters", before={**before, **events})
    assert machine.writes == []
    assert output.split("PMU: ")[1].splitlines()[:7] == [
        "4 event counters of 16 bits, a cycle counter; enabled (PMU_TYPE 0x00205f04)",
        "  counter  event         state                value",
        "  0        INST_RETIRED  enabled              1,234",
        "  1        SW_INCR       off                      0",
        "  2        0x1234        enabled, overflowed      0",
        "  3        SW_INCR       off                      0",
        "  CCNTR    cycles        enabled                 99",
    ]


@pytest.mark.parametrize(
    ("absent", "shown"),
    [
        (NOCYCCNT, {"CYCCNT": "none: NOCYCCNT is set", "CPICNT": r"8  off \(CPIEVTENA 0\) +0"}),
        (NOPRFCNT, {"CYCCNT": r"32  off \(CYCCNTENA 0\) +0", "FOLDCNT": "none: NOPRFCNT is set"}),
    ],
    ids=["NOCYCCNT", "NOPRFCNT"],
)
def test_counters_that_dwt_says_it_lacks(absent: int, shown: Dict[str, str]) -> None:
    output, _ = on_openocd(Quirks(counts=Counts(absent=absent)), "counters")
    for name, text in shown.items():
        assert re.search(r"^  %s +%s" % (name, text), output, re.M), output


def test_a_core_of_the_baseline_has_no_counters_though_no_bit_says_so() -> None:
    cortex_m0plus = Part(ctrl=2 << 28, pmu=0, stuck={CTRL: 0xFFFFFFFF}, cpuid=0x410CC601)
    output, _ = attached(cortex_m0plus, "counters")
    assert (
        "counters: DWT at 0xe0001000 has no counters: Armv6-M or Armv8-M Baseline, by CPUID 0x410cc601\n"
    ) in output and "CYCCNT" not in output


def test_cycles_that_move_while_the_core_is_halted_are_seen() -> None:
    output, _ = attached(Part(moves=7), "counters", before={DEMCR: TRCENA, CTRL: 4 << 28 | 1})
    assert re.search(r"^  CYCCNT +32  on, moves while halted +\d", output, re.M), output


@pytest.mark.parametrize("board", ["netduinoplus2", "mps2-an505"])
def test_in_qemu_nothing_answers(board: str) -> None:
    commands = ("counters", "counters start", "counters between hot_a hot_b")
    output = running.gdb(*commands, program=elf("three_loops", board), board=board).stdout
    for command in commands:
        name = " ".join(command.split()[:2])
        assert complaint(output, name) == (
            f"{name}: no counters answer here: DEMCR.TRCENA does not stay set (QEMU has none)"
        )


def test_zeros_are_not_taken_for_a_unit() -> None:
    output, machine = attached(Part(ctrl=0, pmu=0), "counters", "counters start")
    for name in ("counters", "counters start"):
        assert complaint(output, name) == (
            f"{name}: no counters answer here: DWT_CTRL at 0xe0001000 reads 0, and there is no PMU at "
            "0xe0003000"
        )
    assert machine.words[DEMCR] == 0


def test_a_core_without_trace_enable() -> None:
    commands = ("counters", "counters start", "counters between *0x102 *0x104")
    output, _ = attached(Part(trace=False), *commands)
    for command in commands:
        assert "no counters answer here: DEMCR.TRCENA" in complaint(output, " ".join(command.split()[:2]))


# -- counting ------------------------------------------------------------------------


def test_a_cortex_m4_counts_until_it_is_read() -> None:
    output, _ = on_openocd(
        Quirks(counts=SHORT),
        *AT_MAIN,
        "counters start",
        "break hot_b",
        "continue",
        "counters read -clock 168000000",
    )
    assert counted(output) == {
        "cyccnt": (200, "exact"),
        "cpi": (30, "exact"),
        "exc": (24, "exact"),
        "sleep": (0, "mod 256"),  # CYCCNT may have stood meanwhile
        "lsu": (56, "exact"),
        "fold": (10, "exact"),
    }
    assert re.search(r"^  instructions +100$", output, re.M), output
    assert re.search(r"^  cycles an instruction +2.00$", output, re.M)
    assert "instructions: cyccnt - cpi - exc - sleep - lsu + fold (Armv7-M ARM, C1.8)" in output
    assert "0.0 % asleep, if CYCCNT goes on then" in output and not re.search("^  asleep", output, re.M)
    assert "DWT_CYCCNT wraps after 2^32 cycles, 25.6 s at 168,000,000 Hz" in output


def test_what_slept_may_have_slept_longer() -> None:
    output, _ = on_openocd(
        Quirks(counts=Counts(200, {"sleep": 50})),
        *(*AT_MAIN, "counters start", "break hot_b", "continue", "counters read"),
    )
    assert counted(output)["cyccnt"] == (200, "exact") and counted(output)["sleep"] == (50, "mod 256")
    assert "CYCCNT stops in sleep on many parts" in output, output
    assert not re.search("^  (instructions|asleep)", output, re.M), output


def test_the_clock_is_the_programs_where_it_has_one() -> None:
    output, _ = on_openocd(
        Quirks(counts=SHORT), "counters start", "counters read", "counters read -clock 1000000"
    )
    assert "25.6 s at 168,000,000 Hz" in output and "4295.0 s at 1,000,000 Hz" in output


def test_eight_bits_that_may_have_wrapped_give_no_instructions() -> None:
    many = Counts(100_000, {"cpi": 1000, "lsu": 300})
    output, _ = on_openocd(
        Quirks(counts=many), *AT_MAIN, "counters start", "break hot_b", "continue", "counters read"
    )
    found = counted(output)
    assert found["cyccnt"] == (100_000, "exact")
    assert found["cpi"] == (1000 % 256, "mod 256") and found["lsu"] == (300 % 256, "mod 256")
    assert "8 bits wrap at 256: 100,000 cycles passed: of cpi, exc, sleep, lsu, fold only" in output
    assert "not given, since they need exact counts: instructions, asleep" in output
    assert "cycles an instruction" not in output


def test_reads_in_between_keep_short_intervals_exact() -> None:
    output, _ = on_openocd(
        Quirks(counts=Counts(200, {"cpi": 150})),
        *(*AT_MAIN, "counters start cpi", "break hot_b", "break hot_c", "continue", "counters read"),
        *("continue", "counters read", "continue", "counters read"),
    )
    assert counted(output) == {"cyccnt": (602, "exact"), "cpi": (450, "exact")}, "two steps off a breakpoint"


MANY = (
    Step(0x100, 500, {0x08: 50_000, 0x04: 40_000, 0x03: 4_000}),
    Step(0x102, 100, {0x08: 10_000}),
)
"""60,000 instructions a lap: 16 bits last for one."""


def test_the_pmu_counts_beyond_16_bits_and_what_follows_is_told() -> None:
    machine = Armv81mMachine(MANY)
    with DeviceServer(machine) as server:
        output = running.gdb(
            *(server.connect, "counters start inst_retired l1d_cache L1D_CACHE_REFILL", "break *0x102"),
            *("ignore 1 2", "continue", READ),
            target=False,
        ).stdout
    assert counted(output) == {
        "cyccnt": (3 * 500 + 2 * 100, "exact"),
        "INST_RETIRED": (3 * 50_000 + 2 * 10_000, "exact"),
        "L1D_CACHE": (3 * 40_000, "exact"),
        "L1D_CACHE_REFILL": (3 * 4_000, "exact"),
    }
    assert re.search(r"^  cycles an instruction +0.01$", output, re.M), output
    assert re.search(r"^  L1D misses per 1,000 accesses +100.0$", output, re.M)
    assert re.search(r"^  L1D misses per 1,000 instructions +70.6$", output, re.M)


def test_narrow_counters_tell_by_their_flag_that_they_have_wrapped() -> None:
    with DeviceServer(Armv81mMachine(MANY)) as server:
        output = running.gdb(
            *(server.connect, "counters start INST_RETIRED STALL -narrow", "break *0x102"),
            *("ignore 1 1", "continue", READ),
            target=False,
        ).stdout
    assert counted(output)["INST_RETIRED"] == (50_000 + 60_000, "mod 65,536"), "or a wrap more"
    assert counted(output)["STALL"] == (0, "exact")
    assert "overflow flags were set, or the program can have cleared one" in output
    assert "INST_RETIRED counted so much or any number of wraps more" in output
    assert "not given, since they need exact counts: cycles an instruction" in output


def test_a_program_that_zeroes_its_cycle_counter_gives_no_wrong_count() -> None:
    machine = Armv81mMachine((Step(0x100, 100, writes={CYCCNT: 0}), Step(0x102, 24)))
    machine.words.update({DEMCR: TRCENA, CTRL: 4 << 28 | NOPRFCNT | 1, CYCCNT: 1000})
    with DeviceServer(machine) as server:
        output = running.gdb(
            server.connect, "counters start INST_RETIRED", "break *0x102", "continue", READ, target=False
        ).stdout
    assert counted(output)["cyccnt"] == (-1, "unknown"), output
    assert "cyccnt was written meanwhile, ran unseen by GDB, or the clock is another" in output
    assert "not given, since they need exact counts: cycles an instruction" in output


def test_two_counters_of_cycles_that_contradict_each_other_are_told() -> None:
    machine = Armv81mMachine(
        (Step(0x100, 40_000), Step(0x102, 20, writes={CYCCNT: 0}), Step(0x104, 90_000), Step(0x106, 6))
    )
    machine.words.update({DEMCR: TRCENA, CTRL: 4 << 28 | NOPRFCNT | 1})
    with DeviceServer(machine) as server:
        output = running.gdb(
            *(server.connect, "counters start cyccnt ccntr INST_RETIRED", "break *0x106", "continue"),
            "counters read -clock 1000000000",
            target=False,
        ).stdout
    assert (counted(output)["cyccnt"], counted(output)["ccntr"]) == (
        (90_000, "differs"),
        (130_020, "differs"),
    )
    assert "cyccnt and ccntr are to count the same cycles, and differ" in output


def test_an_option_that_changes_nothing_is_told() -> None:
    output, _ = attached(Part(), "counters start cyccnt -narrow -force")
    assert "counters: -narrow changes nothing: no event of a PMU is counted" in output
    assert "counters: -force changes nothing" in output


def test_start_says_what_counts_where() -> None:
    output, _ = attached(Part(), "counters start 0x08 0x1234 cyccnt -narrow")
    assert output.split("counters: counting ")[1].splitlines()[:4] == [
        "cyccnt, INST_RETIRED, 0x1234: continue, then `counters read`, `counters stop`",
        "  cyccnt, DWT_CYCCNT, 32 bits: cycles",
        "  INST_RETIRED, PMU 0, 16 bits: Instruction architecturally executed",
        "  0x1234, PMU 1, 16 bits: an event without a name here",
    ]


def test_a_counter_that_is_stuck_is_told_with_the_bits_that_say_otherwise() -> None:
    output, _ = on_openocd(
        Quirks(counts=Counts(cyccnt_reads=0x40000000)),
        *(*AT_MAIN, "counters start", "break hot_b", "continue", "counters read"),
    )
    assert counted(output)["cyccnt"] == (0, "stands") and counted(output)["cpi"][1] == "mod 256"
    assert (
        "DWT_CYCCNT does not move though the program ran: it reads 0x40000000 each time; NOCYCCNT is 0, "
        "CYCCNTENA 1, DEMCR.TRCENA 1"
    ) in output


def test_nothing_stands_where_the_program_did_not_run() -> None:
    output, _ = on_openocd(Quirks(counts=Counts()), "counters start", "counters read")
    assert counted(output)["cyccnt"] == (0, "exact") and "does not move" not in output


@pytest.mark.parametrize(
    ("absent", "names"), [(NOPRFCNT, ["cyccnt"]), (NOCYCCNT, ["cpi", "exc", "sleep", "lsu", "fold"])]
)
def test_what_is_absent_is_not_counted(absent: int, names: List[str]) -> None:
    output, _ = on_openocd(
        Quirks(counts=Counts(200, SHORT.profiled, absent)),
        *(*AT_MAIN, "counters start", "break hot_b", "continue", "counters read"),
    )
    assert list(counted(output)) == names, output
    if absent == NOCYCCNT:
        assert all(known == "mod 256" for _, known in counted(output).values())
        assert "how many cycles passed is not known" in output


def test_halts_are_counted_in_where_counters_go_on_and_it_is_said() -> None:
    output, _ = attached(Part(moves=7), "counters start cyccnt INST_RETIRED", "stepi", "stepi", READ)
    assert counted(output)["cyccnt"][1] == "with halts" and counted(output)["INST_RETIRED"] == (10, "exact")
    assert "cyccnt went on while the core was halted: how much of it the program took" in output
    assert "not given, since they need exact counts: cycles an instruction" in output
    assert "DWT_CYCCNT goes on while the core is halted (7 between two reads): halts are counted in" in output


# -- put back ------------------------------------------------------------------------


FOUND = {
    DEMCR: 0x400,
    arm.CTRL: 4 << 28 | 1 << 12 | 9 << 1,
    arm.CYCCNT: 0x12345678,
    arm.DWT + 8: 0x55,
    arm.evcntr(0): 0x1234,
    arm.evtyper(0): 4,
    arm.OVSSET: 0b11,
    arm.INTENSET: 0b1,
}
EVENTS = "counters start cpi lsu INST_RETIRED STALL ccntr"


def left(machine: Armv81mMachine) -> Dict[int, int]:
    return {address: value for address, value in machine.words.items() if value}


@pytest.mark.parametrize(
    "end",
    [("counters stop",), (), ("counters stop", "counters start", "counters stop")],
    ids=["stop", "GDB ends", "twice"],
)
def test_every_register_is_as_it_was(end: Sequence[str]) -> None:
    untouched = Armv81mMachine(PROGRAM, Part(ctrl=4 << 28))
    untouched.words.update(FOUND)
    output, machine = attached(
        Part(ctrl=4 << 28), *(EVENTS, "break *0x104", "continue", READ, *end), before=FOUND
    )
    assert re.search(r"^  cyccnt +24  exact", output, re.M), output
    assert left(machine) == left(untouched)
    assert machine.writes[-1] == (DEMCR, 0x400), "the trace enable last"


def test_on_a_cortex_m4_too_by_openocd() -> None:
    found = {CTRL: 0x40000000 | 1 << 12 | 5 << 1, CYCCNT: 77, CPICNT: 0x21, DEMCR: 0x01000401}
    output, server = on_openocd(
        Quirks(counts=SHORT),
        *AT_MAIN,
        *(f"set *(unsigned *) {a:#x} = {v:#x}" for a, v in [(DEMCR, found[DEMCR]), *found.items()]),
        *("counters start", "break hot_b", "continue", "counters stop"),
    )
    assert counted(output)["cyccnt"] == (200, "exact")
    assert {address: server.core.word(address) for address in found} == found


def test_stop_prints_the_last_counts() -> None:
    output, _ = attached(Part(), *("counters start", "break *0x104", "continue", STOP, "counters read"))
    assert counted(output) == {"cyccnt": (24, "exact"), "INST_RETIRED": (10, "exact")}
    assert "counters: stopped; the registers are as they were" in output
    assert complaint(output, "counters read") == "counters read: nothing is counted: `counters start` first"


def test_after_stop_nobody_listens_any_more() -> None:
    output, _ = attached(
        Part(),
        "python import gdb_prof.commands.counters_session as c; seen = []",
        "python c.Stopwatch._stopped = lambda self, event: seen.append(event)",
        *("counters start cyccnt", "stepi", "python print('counting', len(seen))", "counters stop"),
        *("python seen.clear()", "stepi", "python print('stopped', len(seen))"),
    )
    assert "counting 1\n" in output and "stopped 0\n" in output, output


def test_the_programs_own_cycle_counter_goes_on() -> None:
    before = {DEMCR: TRCENA, arm.CTRL: 4 << 28 | NOPRFCNT | 1, arm.CYCCNT: 1000}
    output, machine = attached(
        Part(), *("counters start cyccnt", "break *0x104", "continue", STOP), before=before
    )
    assert "CYCCNT was running already: left to run on, only differences are taken" in output
    assert counted(output) == {"cyccnt": (24, "exact")}
    assert machine.words[arm.CYCCNT] == 1024 and machine.writes == []


@pytest.mark.parametrize("demcr", [0x400, TRCENA | 0x400])
def test_who_clears_the_trace_enable_is_told_and_the_rest_put_back(demcr: int) -> None:
    output, machine = attached(
        Part(ctrl=4 << 28),
        *(EVENTS, f"set *(unsigned *) {DEMCR:#x} = 0", "counters read", "counters stop"),
        before={**FOUND, DEMCR: demcr},
    )
    assert complaint(output, "counters read") == (
        "counters read: DEMCR.TRCENA is not set any more (was the target reset?): `counters stop`, then "
        "start again"
    )
    assert "counters: no counts: DEMCR.TRCENA is not set any more (was the target reset?)\n" in output
    untouched = Armv81mMachine(PROGRAM, Part(ctrl=4 << 28))
    untouched.words.update({**FOUND, DEMCR: 0})
    assert left(machine) == left(untouched), "but what was cleared stays so"


def test_what_could_not_be_put_back_is_by_another_stop() -> None:
    untouched = Armv81mMachine(PROGRAM, Part(ctrl=4 << 28))
    untouched.words.update(FOUND)
    output, machine = attached(
        Part(ctrl=4 << 28, faulty=frozenset({CTRL})),
        *(EVENTS, f"set *(unsigned *) {arm.FAULTS:#x} = 1000", "counters stop"),
        *(f"set *(unsigned *) {arm.FAULTS:#x} = 0", "counters stop", "echo == third\\n", "counters stop"),
        before=FOUND,
    )
    assert "counters stop: not all is as it was: cannot read CTRL" in output
    assert "counters: what was left is put back: the registers are as they were\n" in output
    assert left(machine) == left(untouched)
    third = output.split("== third\n")[1]
    assert complaint(third, "counters stop") == "counters stop: nothing is counted: `counters start` first"


def test_a_start_puts_back_what_a_stop_could_not() -> None:
    untouched = Armv81mMachine(PROGRAM, Part(ctrl=4 << 28))
    untouched.words.update(FOUND)
    output, machine = attached(
        Part(ctrl=4 << 28, faulty=frozenset({arm.CNTENSET})),
        *(EVENTS, f"set *(unsigned *) {arm.FAULTS:#x} = 1000", "counters stop"),
        *(f"set *(unsigned *) {arm.FAULTS:#x} = 0", EVENTS, "counters stop"),
        before=FOUND,
    )
    assert "enabled already" not in output and left(machine) == left(untouched), output


INTERRUPTED_ONCE = (
    "python import gdb_prof.counters.cortexm.dwt as d; stop = d.Dwt.stop",
    "python d.Dwt.stop = lambda s: (setattr(d.Dwt, 'stop', stop), exec('raise KeyboardInterrupt'))",
)
"""As if Ctrl-C came while the registers are put back."""


def test_ctrl_c_while_registers_are_put_back_waits_until_they_are() -> None:
    untouched = Armv81mMachine(PROGRAM, Part(ctrl=4 << 28))
    untouched.words.update(FOUND)
    output, machine = attached(
        Part(ctrl=4 << 28), EVENTS, *INTERRUPTED_ONCE, "counters stop", "counters stop", before=FOUND
    )
    assert "counters: stopped; the registers are as they were" in output
    assert complaint(output, "counters stop") == "counters stop: nothing is counted: `counters start` first"
    assert left(machine) == left(untouched)


@pytest.mark.parametrize(
    ("address", "said"), [(DEMCR, "DEMCR at 0xe000edfc"), (CTRL, "CTRL at 0xe0001000")], ids=["DEMCR", "CTRL"]
)
def test_a_register_that_cannot_be_read_any_more_is_told_and_in_nobodys_way(address: int, said: str) -> None:
    output, machine = attached(
        Part(ctrl=4 << 28, faulty=frozenset({address})),
        *(EVENTS, f"set *(unsigned *) {arm.FAULTS:#x} = 1000", "counters stop"),
        *(f"set *(unsigned *) {arm.FAULTS:#x} = 0", EVENTS, "counters stop"),
        before=FOUND,
    )
    assert complaint(output, "counters stop").startswith(
        f"counters stop: not all is as it was: cannot read {said}"
    ), output
    assert output.count("counters: counting") == 2
    assert "counters: stopped; the registers are as they were" in output
    assert machine.words[arm.evtyper(0)] == FOUND[arm.evtyper(0)], "the rest was put back"


def test_counting_and_sampling_by_swo_do_not_put_back_what_the_other_has_set() -> None:
    output, _ = on_openocd(
        Quirks(counts=Counts()),
        *("counters start cyccnt", "prof start -source swo", "counters stop", "prof start -source swo"),
        *("counters start", "counters between hot_a hot_b", "prof stop", "counters start"),
    )
    assert complaint(output, "prof start") == "prof start: the DWT is in use: `counters stop` first"
    assert complaint(output, "counters start") == "counters start: the DWT is in use: `prof stop` first"
    assert complaint(output, "counters between").endswith(": the DWT is in use: `prof stop` first")
    assert output.count("counters: counting") == 2


def test_a_program_that_runs_as_gdb_ends_is_told() -> None:
    output, _ = attached(Part(), "set mi-async on", "counters start cyccnt", "continue &")
    assert "counters: not all is as it was: the target is running: interrupt it first" in output, output


NUMBERLESS = "python import gdb_prof.target.session as s; s._number = lambda: None"
"""As GDB before 12, which gives connections no number."""


@pytest.mark.parametrize("before", [(), (NUMBERLESS,)], ids=["", "before GDB 12"])
def test_a_target_that_went_away_is_no_error_later(before: Sequence[str]) -> None:
    machine = Armv81mMachine(PROGRAM)
    with DeviceServer(machine) as first, DeviceServer(Armv81mMachine(PROGRAM)) as second:
        output = running.gdb(
            *(*before, first.connect, "counters start", "detach", "counters read", second.connect),
            *("counters read", "counters start", "counters stop"),
            target=False,
        ).stdout
    gone, missing = (
        output.index("counters: the target that counted is gone"),
        output.index("read: no target: "),
    )
    assert gone < missing, "told at the first word after it"
    assert (
        "counters: the target that counted is gone, and its counts with it; its registers were not" in output
    )
    assert "counters read: nothing is counted: `counters start` first" in output
    assert "counters: stopped; the registers are as they were" in output


# -- wrong use -----------------------------------------------------------------------


WRONG = (
    ("counters foo", "counters: unknown word foo: see `help counters`"),
    ("counters start FOO", "counters start: no event FOO (names, or numbers of 0 to 0xffff)"),
    ("counters start CHAIN", "counters start: CHAIN joins two counters"),
    ("counters start cpi", "counters start: this core has no cpi: NOPRFCNT is set (DWT_CTRL 0x41000000)"),
    ("counters start 1 2 3 4 5 6 7 8 9", "counters start: 9 PMU events, but 8 of the PMU's 8 event"),
    ("counters start MVE_ST_MULTI_RETIRED", "counters start: nothing is written: unverified (CMSIS_5@"),
    ("counters start -wide", "counters start: unknown option -wide: see `help counters start`"),
    ("counters read", "counters read: nothing is counted: `counters start` first"),
    ("counters read x", "counters read: unknown word x: see `help counters read`"),
    ("counters stop", "counters stop: nothing is counted: `counters start` first"),
)


def test_wrong_use_is_told_in_one_line_and_changes_nothing() -> None:
    machine = Armv81mMachine(PROGRAM)
    with DeviceServer(machine) as server:
        outputs = answers([command for command, _ in WRONG], server.connect)
    for (command, said), output in zip(WRONG, outputs):
        name = "counters" if "foo" in command else " ".join(command.split()[:2])
        assert complaint(output, name).startswith(said)
    assert left(machine) == left(Armv81mMachine(PROGRAM))


def test_a_clock_of_nothing_is_refused() -> None:
    output, _ = attached(Part(), "counters start", "counters read -clock 0")
    assert complaint(output, "counters read") == "counters read: -clock: expected a number above 0, found '0'"


def test_starting_twice_is_refused() -> None:
    output, _ = attached(Part(), "counters start", "counters start", "counters between *0x102 *0x104")
    assert complaint(output, "counters start") == "counters start: counting goes on: `counters stop` first"
    assert "counters between: counting goes on" in output


def test_without_a_target() -> None:
    commands = ("counters", "counters start", "counters read", "counters between a b")
    for command, output in zip(commands, answers(commands)):
        assert complaint(output, " ".join(command.split()[:2])).endswith(
            "no target: connect to one first (target remote …)"
        )


def test_a_part_whose_registers_do_not_take_is_named() -> None:
    output, machine = attached(Part(stuck={arm.evtyper(0): 0xFFFF}), "counters start INST_RETIRED")
    assert complaint(output, "counters start").startswith(
        "counters start: EVTYPER0 at 0xe0003400 did not take 0x00000008: it reads 0x00000000"
    )
    assert left(machine) == left(Armv81mMachine(PROGRAM))


# -- the session ---------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 60])
def test_lines_fit_the_console(columns: int) -> None:
    output, _ = attached(
        Part(ctrl=4 << 28),
        *(f"set width {columns}", "python print('== ours')", "counters"),
        *("counters start cpi INST_RETIRED STALL_FRONTEND", "counters read -clock 1000000", "counters stop"),
    )
    ours = output.split("== ours\n")[1].split("[Inferior")[0]
    assert "counters: counting" in ours
    assert all(len(line) <= columns for line in ours.splitlines()), ours


def test_help_fits_the_console() -> None:
    commands = ["help counters " + name for name in ("", "start", "read", "stop", "between")]
    for output in answers([command.strip() for command in commands]):
        assert "Usage: counters" in output
        ours = [line for line in output.splitlines() if not line.startswith("Type ")]
        assert all(len(line) < 80 for line in ours), output


COMPLETIONS = {
    "counters st": ["counters start", "counters stop"],
    "counters start inst_": ["counters start inst_retired", "counters start inst_spec"],
    "counters start cpi INST_R": ["counters start cpi INST_RETIRED"],
    "counters start -n": ["counters start -narrow"],
    "counters read -": ["counters read -clock"],
    "counters between *1 *2 LE_": [
        "counters between *1 *2 LE_CANCEL",
        "counters between *1 *2 LE_RETIRED",
        "counters between *1 *2 LE_SPEC",
    ],
}


def test_completion() -> None:
    outputs = answers([f"complete {typed}" for typed in COMPLETIONS])
    assert [output.splitlines() for output in outputs] == list(COMPLETIONS.values())


def test_settings_and_breakpoints_are_as_before() -> None:
    shown = (
        "show mem inaccessible-by-default",
        "show confirm",
        "show height",
        "info breakpoints",
        "print $bpnum",
    )
    output, _ = attached(
        Part(),
        *("break *0x104", "python print('== before')", *shown, "python print('== counted')"),
        *("counters", "counters start", "counters read", "counters stop", "python print('== after')", *shown),
        "python print('== end')",
    )
    before, _, after = re.findall(r"== (?:before|counted|after)\n(.*?)(?=\n==)", output, re.DOTALL)
    assert before.replace("$1", "$") == after.replace("$2", "$") and "0x00000104" in before


def test_the_memory_map_of_a_server_is_no_obstacle() -> None:
    output, _ = on_openocd(
        Quirks(counts=Counts()), "set mem inaccessible-by-default on", "counters start cyccnt"
    )
    assert "counters: counting cyccnt" in output
