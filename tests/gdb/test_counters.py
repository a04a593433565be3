"""`counters`, `counters start`, `read`, `stop`: by the real OpenOCD on a simulated Cortex-M4, by a server with
DWT and PMU, and against QEMU, which has neither."""

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
READ, STOP = "counters read -clock 1000000", "counters stop -clock 1000000"
"""A slow clock: 32 bits last for an hour, and a busy machine is no doubt about cycles."""
PROGRAM = (
    Step(0x100, 4, {0x08: 1}),
    Step(0x102, 20, {0x08: 9, 0x04: 3, 0x03: 1}),
    Step(0x104, 100, {0x08: 50, 0x04: 30, 0x03: 2}),
    Step(0x106, 6, {0x08: 4}),
)
"""130 cycles a lap, 64 instructions."""
SHORT = Counts(200, {"cpi": 30, "exc": 24, "sleep": 50, "lsu": 6, "fold": 10})
"""100 instructions from halt to halt: 200 - 30 - 24 - 50 - 6 + 10."""


def counted(output: str) -> "Dict[str, Tuple[int, str]]":
    """The last table of counts: by event the count and how far it is known."""
    rows = re.findall(r"^  (\w+) +([\d,]+)  (exact|stands|mod \S+) +(?:DWT|PMU)", output, re.MULTILINE)
    return {name: (int(count.replace(",", "")), known) for name, count, known in rows}


def attached(
    part: Part, *commands: str, before: "Dict[int, int] | None" = None
) -> "Tuple[str, Armv81mMachine]":
    """What GDB printed, connected to such a part, and the machine as it was left."""
    machine = Armv81mMachine(PROGRAM, part)
    machine.words.update(before or {})
    with DeviceServer(machine) as server:
        output = running.gdb(server.connect, *commands, target=False).stdout
    return output, machine


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
        (NOCYCCNT, {"CYCCNT": "none: NOCYCCNT is set", "CPICNT": "8  off (CPIEVTENA 0) +0"}),
        (NOPRFCNT, {"CYCCNT": r"32  off \(CYCCNTENA 0\) +0", "FOLDCNT": "none: NOPRFCNT is set"}),
    ],
    ids=["NOCYCCNT", "NOPRFCNT"],
)
def test_counters_that_dwt_says_it_lacks(absent: int, shown: Dict[str, str]) -> None:
    output, _ = on_openocd(Quirks(counts=Counts(absent=absent)), "counters")
    for name, text in shown.items():
        assert re.search(
            r"^  %s +%s" % (name, text.replace("(CPI", r"\(CPI").replace("A 0) ", r"A 0\) ")), output, re.M
        ), output


def test_cycles_that_move_while_the_core_is_halted_are_seen() -> None:
    output, _ = attached(Part(moves=7), "counters", before={DEMCR: TRCENA, CTRL: 4 << 28 | 1})
    assert re.search(r"^  CYCCNT +32  on, moves while halted +\d", output, re.M), output


@pytest.mark.parametrize("board", ["netduinoplus2", "mps2-an505"])
@pytest.mark.parametrize("command", ["counters", "counters start", "counters between hot_a hot_b"])
def test_in_qemu_nothing_answers(board: str, command: str) -> None:
    output = running.gdb(command, program=elf("three_loops", board), board=board).stdout
    name = " ".join(command.split()[:2])
    assert complaint(output, name) == (
        f"{name}: no counters answer here: DEMCR.TRCENA does not stay set (QEMU has none)"
    )


@pytest.mark.parametrize("command", ["counters", "counters start"])
def test_zeros_are_not_taken_for_a_unit(command: str) -> None:
    output, machine = attached(Part(ctrl=0, pmu=0), command)
    assert complaint(output, command) == (
        f"{command}: no counters answer here: DWT_CTRL at 0xe0001000 reads 0, and there is no PMU at 0xe0003000"
    )
    assert machine.words[DEMCR] == 0


@pytest.mark.parametrize("command", ["counters", "counters start", "counters between *0x102 *0x104"])
def test_a_core_without_trace_enable(command: str) -> None:
    output, _ = attached(Part(trace=False), command)
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
        "sleep": (50, "exact"),
        "lsu": (6, "exact"),
        "fold": (10, "exact"),
    }
    assert re.search(r"^  instructions +100$", output, re.M), output
    assert re.search(r"^  cycles an instruction +2.00$", output, re.M)
    assert re.search(r"^  asleep +25.0 %$", output, re.M)
    assert "instructions: cyccnt - cpi - exc - sleep - lsu + fold (Armv7-M ARM, C1.8)" in output
    assert "CYCCNT stops in sleep on many parts" in output, "it slept"
    assert "DWT_CYCCNT wraps after 2^32 cycles, 25.6 s at 168,000,000 Hz" in output


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


def test_the_pmu_counts_beyond_16_bits_and_what_follows_is_told() -> None:
    output, _ = attached(
        Part(),
        *("counters start inst_retired l1d_cache L1D_CACHE_REFILL", "break *0x106", "continue"),
        *("ignore 1 1999", "continue", READ),
    )
    # to the first arrival 124 cycles and 60 instructions, then 2,000 laps
    assert counted(output) == {
        "cyccnt": (124 + 2000 * 130, "exact"),
        "INST_RETIRED": (60 + 2000 * 64, "exact"),
        "L1D_CACHE": (33 + 2000 * 33, "exact"),
        "L1D_CACHE_REFILL": (3 + 2000 * 3, "exact"),
    }
    assert re.search(r"^  cycles an instruction +2.03$", output, re.M), output
    assert re.search(r"^  L1D misses per 1,000 accesses +90.9$", output, re.M)
    assert re.search(r"^  L1D misses per 1,000 instructions +46.9$", output, re.M)


def test_narrow_counters_tell_by_their_flag_that_they_have_wrapped() -> None:
    output, _ = attached(
        Part(),
        *("counters start INST_RETIRED STALL -narrow", "break *0x106", "ignore 1 2000", "continue"),
        READ,
    )
    assert counted(output)["INST_RETIRED"] == (60 + 2000 * 64, "mod 65,536")
    assert counted(output)["STALL"] == (0, "exact")
    assert "overflow flags were set: INST_RETIRED counted so much or any number of wraps more" in output
    assert "not given, since they need exact counts: cycles an instruction" in output


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
    output, _ = attached(Part(moves=7), "counters start cyccnt")
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


def test_the_programs_own_cycle_counter_goes_on() -> None:
    before = {DEMCR: TRCENA, arm.CTRL: 4 << 28 | NOPRFCNT | 1, arm.CYCCNT: 1000}
    output, machine = attached(
        Part(), *("counters start cyccnt", "break *0x104", "continue", STOP), before=before
    )
    assert "CYCCNT was running already: left to run on, only differences are taken" in output
    assert counted(output) == {"cyccnt": (24, "exact")}
    assert machine.words[arm.CYCCNT] == 1024 and machine.writes == []


def test_who_clears_the_trace_enable_is_told_and_the_rest_put_back() -> None:
    output, machine = attached(
        Part(ctrl=4 << 28),
        *(EVENTS, f"set *(unsigned *) {DEMCR:#x} = 0", "counters read", "counters stop"),
        before=FOUND,
    )
    assert complaint(output, "counters read") == (
        "counters read: DEMCR.TRCENA is not set any more: was the target reset? `counters stop`, then start again"
    )
    assert "counters: no counts: DEMCR.TRCENA is not set any more" in output
    untouched = Armv81mMachine(PROGRAM, Part(ctrl=4 << 28))
    untouched.words.update({**FOUND, DEMCR: 0})
    assert left(machine) == left(untouched), "but what was cleared stays so"


def test_a_target_that_went_away_is_no_error_later() -> None:
    machine = Armv81mMachine(PROGRAM)
    with DeviceServer(machine) as first, DeviceServer(Armv81mMachine(PROGRAM)) as second:
        output = running.gdb(
            *(first.connect, "counters start", "detach", "counters read", second.connect),
            *("counters read", "counters start", "counters stop"),
            target=False,
        ).stdout
    assert "counters read: no target: connect to one first" in output
    assert "counters: the target that counted is gone, and its counts with it" in output
    assert "counters read: nothing is counted: `counters start` first" in output
    assert "counters: stopped; the registers are as they were" in output


# -- wrong use -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("counters foo", "counters: unknown word foo: see `help counters`"),
        ("counters start FOO", "counters start: no event FOO (names, or numbers of 0 to 0xffff)"),
        ("counters start CHAIN", "counters start: CHAIN joins two counters"),
        ("counters start cpi", "counters start: this core has no cpi: DWT_CTRL.NOPRFCNT is set (0x41000000)"),
        ("counters start 1 2 3 4 5 6 7 8 9", "counters start: 9 PMU events, but 8 of the PMU's 8 event"),
        ("counters start MVE_ST_MULTI_RETIRED", "counters start: nothing is written: unverified (CMSIS_5@"),
        ("counters start -wide", "counters start: unknown option -wide: see `help counters start`"),
        ("counters read", "counters read: nothing is counted: `counters start` first"),
        ("counters read x", "counters read: unknown word x: see `help counters read`"),
        ("counters stop", "counters stop: nothing is counted: `counters start` first"),
    ],
)
def test_wrong_use_is_told_in_one_line_and_changes_nothing(command: str, said: str) -> None:
    output, machine = attached(Part(), command)
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


@pytest.mark.parametrize("command", ["counters", "counters start", "counters read", "counters between a b"])
def test_without_a_target(command: str) -> None:
    output = running.gdb(command, target=False).stdout
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


@pytest.mark.parametrize("command", ["", "start", "read", "stop", "between"])
def test_help_fits_the_console(command: str) -> None:
    output = running.gdb(f"help counters {command}".strip(), target=False).stdout
    assert "Usage: counters" in output
    ours = [line for line in output.splitlines() if not line.startswith("Type ")]
    assert all(len(line) < 80 for line in ours), output


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("counters st", ["counters start", "counters stop"]),
        ("counters start inst_", ["counters start inst_retired", "counters start inst_spec"]),
        ("counters start cpi INST_R", ["counters start cpi INST_RETIRED"]),
        ("counters start -n", ["counters start -narrow"]),
        ("counters read -", ["counters read -clock"]),
        (
            "counters between *1 *2 LE_",
            [
                "counters between *1 *2 LE_CANCEL",
                "counters between *1 *2 LE_RETIRED",
                "counters between *1 *2 LE_SPEC",
            ],
        ),
    ],
)
def test_completion(typed: str, completed: List[str]) -> None:
    output = running.gdb(f"complete {typed}", target=False).stdout
    assert output.splitlines() == completed


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
