"""`counters between`: counts from one place of the program to another, on simulated cores."""

from __future__ import annotations

import os
import re
import signal
from typing import Dict, Iterator, Optional, Tuple

import pytest

import armv81m_machine as arm
import running
from armv81m_machine import Armv81mMachine, Part, Step
from cortex_m4 import Quirks
from cortex_m4_trace import Counts
from mi import Mi, streamed
from openocd import openocd
from remote_server import DeviceServer
from running import complaint, elf, said_until, started

PROGRAM = (
    Step(0x100, 4, {0x08: 1}),
    Step(0x102, 20, {0x08: 9, 0x04: 3, 0x03: 1}),
    Step(0x104, 100, {0x08: 50, 0x04: 30, 0x03: 2}),
    Step(0x106, 6, {0x08: 4}),
)
"""130 cycles a lap, 64 instructions."""
A, B, C, D = "*0x100", "*0x102", "*0x104", "*0x106"


class SteppingServer(DeviceServer):
    """One that GDB asks to step, for a program that goes other ways than its code shows."""

    features = DeviceServer.features + ";vContSupported+"


_ROW = re.compile(
    r"^  (\w[\w, ]*?)  +([\d,.]+(?: %)?)  +([\d,.]+(?: %)?)  +([\d,.]+(?: %)?)(?:  (\S.*))?$", re.MULTILINE
)


def rows(output: str) -> "Dict[str, Tuple[str, str, str, Optional[str]]]":
    """By event min, median, max and how far that is known, of the last table."""
    table = output[output.rindex("  event ") :] if "  event " in output else ""
    return {name: (low, mid, high, known or None) for name, low, mid, high, known in _ROW.findall(table)}


SLOW = " -clock 10000000"
"""32 bits last for minutes then: a busy machine, on which a lap takes seconds, is no doubt about cycles."""


def between(machine: Armv81mMachine, *commands: str) -> str:
    """What GDB printed; by a slow clock, where `counters between` is not given another."""
    typed = [c + SLOW if c.startswith("counters between") and "-clock" not in c else c for c in commands]
    with DeviceServer(machine) as server:
        return running.gdb(server.connect, *typed, target=False).stdout


def same(value: str, known: str = "exact") -> Tuple[str, str, str, str]:
    return value, value, value, known


# -- counts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "cycles", "instructions"),
    [
        ((B, C), "20", "9"),
        ((B, D), "120", "59"),
        ((D, B), "10", "5"),  # over the end of the loop
        ((B, B), "130", "64"),  # from one arrival to the next
        ((A, B), "4", "1"),  # the program stands there already
    ],
)
def test_what_is_counted_between_two_places(places: Tuple[str, str], cycles: str, instructions: str) -> None:
    output = between(Armv81mMachine(PROGRAM), "counters between %s %s INST_RETIRED -times 4" % places)
    assert "counters: from %s to %s, 4 times\n" % places in output, output
    assert rows(output)["cyccnt"] == same(cycles)
    assert rows(output)["INST_RETIRED"] == same(instructions)


def test_ten_times_where_nothing_is_said() -> None:
    machine = Armv81mMachine(PROGRAM)
    assert f"from {B} to {C}, 10 times" in between(machine, f"counters between {B} {C}")
    assert machine.passed == 4 + 20 + 9 * 130, "and no further"


def test_least_median_and_most_of_laps_that_differ() -> None:
    # three ways through: 10, 30 and 200 cycles from 0x100 to 0x102
    program = [
        step
        for cycles in (10, 30, 200)
        for step in (Step(0x100, cycles, {0x08: cycles // 2}), Step(0x102, 1000))
    ]
    output = between(
        Armv81mMachine(program), f"counters between {A} {B} INST_RETIRED -times 6 -clock 10000000"
    )
    assert rows(output) == {
        "cyccnt": ("10", "30", "200", "exact"),
        "INST_RETIRED": ("5", "15", "100", "exact"),
        "time, us": ("1.000", "3.000", "20.000", None),
        "cycles an instruction": ("2.00", "2.00", "2.00", None),
    }


def test_what_follows_from_the_counts_of_each_lap() -> None:
    output = between(
        Armv81mMachine(PROGRAM), f"counters between {B} {D} L1D_CACHE L1D_CACHE_REFILL INST_RETIRED -times 3"
    )
    found = rows(output)
    assert found["L1D misses per 1,000 accesses"][0] == "90.9"  # 3 of 33
    assert found["L1D misses per 1,000 instructions"][0] == "50.8"  # 3 of 59
    assert found["cycles an instruction"][0] == "2.03"  # 120 of 59


def test_eight_bits_are_exact_in_a_short_stretch_only() -> None:
    profiled = {"cpi": 3, "lsu": 2}
    program = (Step(0x100, 200, {}, profiled), Step(0x102, 300, {}, {"cpi": 270}), Step(0x104, 5))
    part = Part(ctrl=4 << 28, pmu=0)
    short = between(Armv81mMachine(program, part), f"counters between {A} {B} -times 3")
    assert rows(short)["cpi"] == same("3") and rows(short)["instructions"][0] == str(200 - 3 - 2)
    long = between(Armv81mMachine(program, part), f"counters between {A} {C} -times 3")
    assert rows(long)["cpi"] == same(str(273 % 256), "mod 256 in 3 of 3")
    assert "instructions" not in rows(long)
    assert "8 bits wrap at 256: 500 cycles passed" in long


def test_narrow_counters_begin_each_lap_at_0() -> None:
    """40,000 a lap: 16 bits last for one."""
    program = (Step(0x100, 600, {0x08: 40_000}), Step(0x102, 10, {0x08: 30_000}))
    output = between(Armv81mMachine(program), f"counters between {A} {B} INST_RETIRED -narrow -times 5")
    assert rows(output)["INST_RETIRED"] == same("40,000")
    wrapped = between(Armv81mMachine(program), f"counters between {A} {A} INST_RETIRED -narrow -times 5")
    assert rows(wrapped)["INST_RETIRED"] == same("70,000", "mod 65,536 in 5 of 5")


def test_where_the_first_comes_again_before_the_second_counting_begins_anew() -> None:
    # 0x100 three times, with 0x104 only behind the last one
    again = (Step(0x100, 10), Step(0x102, 1000))
    program = (*again, *again, Step(0x100, 10), Step(0x104, 7))
    with SteppingServer(Armv81mMachine(program)) as server:
        command = f"counters between {A} {C} cyccnt -times 2{SLOW}"
        output = running.gdb(server.connect, command, target=False).stdout
    assert rows(output)["cyccnt"] == same("10")
    assert f"{A} came again before {C} 4 times: counting began anew each time" in output


def test_the_halts_themselves_are_measured_by_a_stepped_instruction() -> None:
    output = between(
        Armv81mMachine(PROGRAM, Part(halt_cycles=3)), f"counters between {B} {D} INST_RETIRED -times 3"
    )
    assert rows(output)["cyccnt"] == same("126"), "120, and twice 3 as the core leaves Debug state"
    assert (
        "cost of measuring: one stepped instruction and its halt count cyccnt 23, INST_RETIRED 9; two halts "
        "are in each count"
    ) in output


def test_counters_that_go_on_in_a_halt_are_told() -> None:
    output = between(Armv81mMachine(PROGRAM, Part(moves=7)), f"counters between {B} {D} -times 2")
    assert "DWT_CYCCNT goes on while the core is halted (7 between two reads): halts are counted in" in output
    assert int(rows(output)["cyccnt"][0]) > 120 and rows(output)["cyccnt"][3] == "with halts in 2 of 2"
    assert "time, us" not in output


def test_a_stuck_cycle_counter_is_told() -> None:
    output = between(Armv81mMachine(PROGRAM, Part(cyccnt_reads=0x40000000)), f"counters between {B} {D}")
    assert rows(output)["cyccnt"] == same("0", "stands in 10 of 10") and "time, us" not in rows(output)
    assert "DWT_CYCCNT does not move though the program ran: it reads 0x40000000 each time" in output


def test_a_cortex_m4_by_openocd() -> None:
    with openocd(elf("three_loops"), quirks=Quirks(counts=Counts(200, {"cpi": 50, "fold": 10}))) as server:
        output = server.gdb("counters between hot_a hot_b -times 4", "info registers pc", "print/x &hot_b")
        registers = [server.core.word(address) for address in (0xE0001000, 0xE0001004, 0xE0001008)]
    # the instruction that GDB steps, then what the core counts until it halts
    assert rows(output)["cyccnt"] == same("201"), output
    assert rows(output)["cpi"] == same("50") and rows(output)["instructions"] == (*["161"] * 3, None)
    assert "time, us" in rows(output), "SystemCoreClock is known"
    assert registers == [0x40000000, 0, 0]


def test_a_place_as_break_takes_it() -> None:
    """Each is hot_a's first instruction: the first of the line's, where that lies in pieces."""
    places = ("hot_a", "*hot_a", "*&hot_a", "three_loops.c:11")
    lines = ("counters between %s %s cyccnt -times 2", "print $pc == (long) &hot_a")
    typed = [line.replace("%s", place) for place in places for line in lines]
    with openocd(elf("three_loops"), quirks=Quirks(counts=Counts(200))) as server:
        output = server.gdb(*typed)
    for number, place in enumerate(places, 1):
        of = output.split(f"counters: from {place} to {place}, 2 times\n")[1].split(f"${number} = ")
        assert rows(of[0])["cyccnt"] == same("201") and of[1].startswith("1\n"), output


def test_time_is_by_the_clock_that_the_program_has_set() -> None:
    """As it comes from reset with 4 MHz: the condition of a breakpoint sets what its start-up code does."""
    with openocd(elf("three_loops"), quirks=Quirks(counts=Counts(1680))) as server:
        output = server.gdb(
            *("monitor reset halt", "maintenance flush register-cache", "set var SystemCoreClock = 4000000"),
            *(
                "break hot_b if (SystemCoreClock = 168000000) == 0",
                "counters between hot_a hot_c cyccnt -times 2",
            ),
        )
    cycles = float(rows(output)["cyccnt"][0].replace(",", ""))
    assert rows(output)["time, us"][0] == "%.3f" % (cycles / 168), output
    assert "SystemCoreClock was 4,000,000 Hz before, 168,000,000 Hz in the end, which is taken" in output


# -- what ends it --------------------------------------------------------------------


def test_a_breakpoint_of_the_users_in_between_ends_it_with_what_there_is() -> None:
    machine = Armv81mMachine(PROGRAM)
    output = between(
        machine, f"break {C}", "ignore 1 2", f"counters between {B} {D} cyccnt", "info registers pc"
    )
    assert f"counters: from {B} to {D}, 2 times of 10: stopped by breakpoint 1" in output
    assert rows(output)["cyccnt"] == same("120") and re.search(r"^pc +0x104", output, re.M)


def test_before_the_first_count_it_is_an_error() -> None:
    output = between(Armv81mMachine(PROGRAM), f"break {C}", f"counters between {B} {D}")
    assert complaint(output, "counters between") == (
        f"counters between: stopped by breakpoint 1 before {D} was reached from {B}"
    )
    output = between(Armv81mMachine(PROGRAM), f"break {B}", f"counters between {C} {D}")
    assert complaint(output, "counters between") == (
        f"counters between: stopped by breakpoint 1 before {C} was reached"
    )


def test_a_breakpoint_of_the_users_at_one_of_the_two_does_not() -> None:
    output = between(Armv81mMachine(PROGRAM), f"break {B}", f"break {D}", f"counters between {B} {D}")
    assert f"from {B} to {D}, 10 times\n" in output and rows(output)["cyccnt"] == same("120")


@pytest.mark.parametrize("command", [f"counters between {B} *0x102 cyccnt -times 1000000" + SLOW])
def test_ctrl_c_keeps_what_there_is(command: str) -> None:
    machine = Armv81mMachine(PROGRAM)
    untouched = dict(machine.words)
    with DeviceServer(machine) as server:
        process = started(server.connect, "echo ready\\n", command, "counters read", "echo done\\n")
        said = said_until(process, "ready")
        while machine.passed < 130 * 20:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGINT)
        output = said + process.communicate(timeout=60)[0]
    match = re.search(r"from \S+ to \S+, ([\d,]+) times of 1000000: (\S+)", output)
    assert match and match.group(2) == "interrupted" and int(match.group(1).replace(",", "")) >= 10, output
    assert rows(output)["cyccnt"] == same("130") and "done" in output
    assert {k: v for k, v in machine.words.items() if v} == {k: v for k, v in untouched.items() if v}


def test_ctrl_c_where_the_second_place_is_never_reached() -> None:
    machine = Armv81mMachine(PROGRAM)
    with DeviceServer(machine) as server:
        process = started(server.connect, f"counters between {B} *0x110{SLOW}", "echo done\\n")
        while machine.passed < 130 * 50:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGINT)
        output = process.communicate(timeout=60)[0]
    assert complaint(output, "counters between") == (
        f"counters between: interrupted before *0x110 was reached from {B}"
    )
    assert "done" in output and not machine.words[arm.DEMCR] & arm.TRCENA


def test_a_connection_that_breaks_keeps_what_there_is() -> None:
    class Breaking(Armv81mMachine):
        """Its server goes away after some laps."""

        def run(self, breakpoints: "set[int]", only_one: bool) -> bool:
            if self.passed > 600:
                raise OSError
            return super().run(breakpoints, only_one)

    output = between(Breaking(PROGRAM), f"counters between {B} {D} cyccnt -times 50", "counters read")
    assert re.search(r"[1-9] times of 50: .*Remote connection closed", output), output
    assert rows(output)["cyccnt"] == same("120")
    assert complaint(output, "counters read").startswith("counters read: no target")


def test_a_lap_that_took_too_long_says_why_cycles_are_not_exact() -> None:
    """By a clock of the host's that is three seconds later at each look."""
    output = between(
        Armv81mMachine(PROGRAM),
        "python import time; late = [0]; now = time.monotonic",
        "python time.monotonic = lambda: (late.__setitem__(0, late[0] + 1), now() + late[0] * 3)[1]",
        f"counters between {B} {D} cyccnt -times 1 -clock 2000000000",
    )
    assert rows(output)["cyccnt"] == same("120", "mod 2^32 in 1 of 1")
    assert "DWT_CYCCNT wraps after 2^32 cycles, 2.1 s at 2,000,000,000 Hz; it may have, in " in output


def test_counters_that_are_switched_off_meanwhile_end_it() -> None:
    class Resetting(Armv81mMachine):
        """Switches its own trace enable off after ten laps."""

        def run(self, breakpoints: "set[int]", only_one: bool) -> bool:
            if self.passed > 1300:
                self.words[arm.DEMCR] = 0
            return super().run(breakpoints, only_one)

    output = between(Resetting(PROGRAM), f"counters between {B} {D} cyccnt -times 100")
    assert re.search(r"times of 100: DEMCR.TRCENA is not set any more \(was the target reset\?\)\n", output)
    assert rows(output)["cyccnt"] == same("120")


# -- as it was -----------------------------------------------------------------------


def test_every_register_is_as_it_was_and_nothing_needs_to_be_started() -> None:
    before = {
        arm.CYCCNT: 99,
        arm.DWT + 8: 7,
        arm.evcntr(1): 5,
        arm.evtyper(0): 3,
        arm.OVSSET: 1,
        arm.DEMCR: 0x400,
    }
    machine, untouched = (Armv81mMachine(PROGRAM, Part(ctrl=4 << 28)) for _ in range(2))
    for one in (machine, untouched):
        one.words.update(before)
    output = between(machine, f"counters between {B} {D} cpi INST_RETIRED", "counters read")
    assert complaint(output, "counters read") == "counters read: nothing is counted: `counters start` first"
    assert {k: v for k, v in machine.words.items() if v} == {k: v for k, v in untouched.words.items() if v}
    assert machine.writes[-1] == (arm.DEMCR, 0x400)


def test_breakpoints_and_settings_are_as_before() -> None:
    shown = (
        "show mem inaccessible-by-default",
        "show confirm",
        "show height",
        "show width",
        "info breakpoints",
        "print $bpnum",
    )
    output = between(
        Armv81mMachine(PROGRAM),
        *(f"break {C}", "disable 1", "python print('== before')", *shown, "python print('== counted')"),
        *(f"counters between {B} {D}", "python print('== after')", *shown, "python print('== end')"),
    )
    before, _, after = re.findall(r"== (?:before|counted|after)\n(.*?)(?=\n==)", output, re.DOTALL)
    assert before.replace("$1", "$") == after.replace("$2", "$") and "0x00000104" in before


def test_stops_are_not_announced() -> None:
    output = between(
        Armv81mMachine(PROGRAM), "python print('== here')", f"counters between {B} {D} cyccnt -times 3"
    )
    ours = output.split("== here\n")[1].split("[Inferior")[0]
    assert all(line.startswith(("counters: ", "  ")) for line in ours.splitlines() if line), ours


@pytest.mark.parametrize("columns", [80, 60])
def test_lines_fit_the_console(columns: int) -> None:
    output = between(
        Armv81mMachine(PROGRAM, Part(ctrl=4 << 28)),
        *(f"set width {columns}", "python print('== here')"),
        f"counters between {B} {D} cpi lsu INST_RETIRED L1D_CACHE -clock 168000000",
    )
    ours = output.split("== here\n")[1].split("[Inferior")[0]
    assert "INST_RETIRED" in ours and all(len(line) <= columns for line in ours.splitlines()), ours


# -- wrong use -----------------------------------------------------------------------


WRONG = (
    ("", "the following are required: LOCATION, LOCATION"),
    (B, "the following are required: LOCATION"),
    ("nowhere hot_b", 'No symbol table is loaded.  Use the "file" command'),
    (f"'-line 3' {D}", "no location -line 3: give a function, FILE:LINE or *ADDRESS"),
    (f"{B} {D} FOO", "no event FOO"),
    (f"{B} {D} -times 0", "-times: expected a number above 0, found '0'"),
    (f"{B} {D} cpi", "this core has no cpi: NOPRFCNT is set (DWT_CTRL 0x41000000)"),
    (f"'*0x102 if 1' {D}", "*0x102 if 1: "),
)


def test_wrong_use_is_told_in_one_line_and_changes_nothing() -> None:
    machine = Armv81mMachine(PROGRAM)
    marked = [line for words, _ in WRONG for line in ("echo == next\\n", f"counters between {words}{SLOW}")]
    with DeviceServer(machine) as server:
        outputs = running.gdb(server.connect, *marked, target=False).stdout.split("== next\n")[1:]
    for (_, said), output in zip(WRONG, outputs):
        found = complaint(output, "counters between").replace("arguments ", "")
        assert found.startswith("counters between: " + said), output
    assert "EVENT" not in outputs[0], "which may be left out"
    assert (
        machine.words[arm.DEMCR] == 0 and machine.words[arm.CTRL] == machine.part.ctrl and not machine.passed
    )


NOWHERE = (
    ("nowhere hot_b", 'Function "nowhere" not defined'),
    ("hot_a three_loops.c:9999", "No (?:compiled code for )?line 9999 in file"),
    ("hot_a '*0x8000000 hot_b'", r"\*0x8000000 hot_b: A syntax error"),
)


def test_a_location_that_is_none_is_told_in_gdbs_words() -> None:
    with openocd(elf("three_loops")) as server:
        output = server.gdb(*(f"counters between {places}" for places, _ in NOWHERE))
    for _, said in NOWHERE:
        assert re.search(f"^counters between: {said}", output, re.M), output
    assert "Traceback" not in output and "Python Exception" not in output


# -- a front end ---------------------------------------------------------------------


@pytest.fixture
def front_end() -> Iterator[Tuple[Mi, Armv81mMachine]]:
    machine = Armv81mMachine(PROGRAM)
    with DeviceServer(machine) as server:
        session = Mi("mi2")
        session.send("-gdb-set mi-async on")
        session.console("source gdb_prof")
        session.send("-target-select " + server.connect.split(" ", 1)[1])
        yield session, machine
        session.close()


def test_in_a_front_ends_console(front_end: Tuple[Mi, Armv81mMachine]) -> None:
    session, _ = front_end
    started = streamed(session.console("counters start cyccnt"))
    assert "counters: counting cyccnt" in started
    refused = session.console(f"counters between {B} {D}")
    assert refused[-1] == '^error,msg="counters between: counting goes on: `counters stop` first"'
    assert "counters: stopped" in streamed(session.console("counters stop"))
    assert "counters: PMU: 8 event counters" in streamed(session.console("counters"))
    records = session.console(f"counters between {B} {D} cyccnt -times 3{SLOW}")
    assert records[-1] == "^running", "as every command that resumes"
    output = streamed(session.until('~"counters: cost of measuring'))
    assert f"counters: from {B} to {D}, 3 times" in output and rows(output)["cyccnt"] == same("120"), output


def test_a_front_end_hears_of_no_more_than_one_change_of_a_setting(
    front_end: Tuple[Mi, Armv81mMachine],
) -> None:
    session, _ = front_end
    changes = [r for r in session.console("counters start") if "inaccessible-by-default" in r]
    assert [r.rsplit(",", 1)[1] for r in changes] == ['value="off"', 'value="on"'], "and back"
    session.console("counters stop")
    session.console(f"counters between {B} {D} cyccnt -times 3{SLOW}")
    changes = [r for r in session.until('~"counters: cost of') if "suppress-cli-notifications" in r]
    assert [r.rsplit(",", 1)[1] for r in changes] == ['value="off"'], "on before it ran, whatever the laps"
