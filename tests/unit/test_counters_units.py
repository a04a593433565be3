"""DWT and PMU by their registers, on a simulated Armv8.1-M: counted, wrapped, and put back to the bit."""

from __future__ import annotations

import struct
from typing import Dict, List, Sequence, Tuple

import pytest

import armv81m_machine as arm
from armv81m_machine import Armv81mMachine, Part, Step
from gdb_prof.counters.cortexm.counter import AT_LEAST, HALTS, UNKNOWN, differences
from gdb_prof.counters.cortexm.events import chosen
from gdb_prof.counters.cortexm.session import Counting
from gdb_prof.counters.description import packaged
from gdb_prof.counters.registers import Unit
from gdb_prof.errors import TargetError, UsageError
from remote_server import Fault

INST, REFILL, ACCESS = 0x08, 0x03, 0x04
LOOP = (Step(0x100, 100, {INST: 40, ACCESS: 10, REFILL: 2}, {"cpi": 30, "lsu": 20, "fold": 5}),)
PROFILED = Part(ctrl=4 << 28)
PMU = packaged("pmu", "PMU")


class Wire:
    """A `Memory` that is the machine's. Its units answer: DEMCR.TRCENA is set."""

    def __init__(self, machine: Armv81mMachine) -> None:
        self.machine = machine
        self.reads = 0
        machine.words[arm.DEMCR] = arm.TRCENA

    def read(self, address: int, number: int, what: str) -> Tuple[int, ...]:
        self.reads += 1
        try:
            return struct.unpack("<%dI" % number, self.machine.read(address, 4 * number))
        except Fault:
            raise TargetError("cannot read %s" % what) from None

    def write(self, address: int, value: int, what: str) -> None:
        try:
            self.machine.write(address, struct.pack("<I", value))
        except Fault:
            raise TargetError("cannot write %s" % what) from None


def counting(machine: Armv81mMachine) -> Counting:
    wire = Wire(machine)
    return Counting(Unit(packaged("dwt", "DWT"), wire, arm.DWT), Unit(PMU, wire, arm.PMU))


def started(machine: Armv81mMachine, *words: str, narrow: bool = False, force: bool = False) -> Counting:
    found = counting(machine)
    found.start(chosen(words, PMU), narrow, force)
    return found


def run(machine: Armv81mMachine, times: int) -> None:
    for _ in range(times):
        machine.run(set(), only_one=True)


def counted(machine: Armv81mMachine, found: Counting, times: int) -> "Dict[str, Tuple[int, bool | str]]":
    before = found.begin()
    run(machine, times)
    figures = differences(found.counters, before, found.take(), 0.001, None)
    return {figure.counter.name: (figure.count, figure.doubt or figure.exact) for figure in figures}


def state(machine: Armv81mMachine) -> Dict[int, int]:
    return {address: value for address, value in machine.words.items() if value}


# -- counts --------------------------------------------------------------------------


def test_dwts_six_counters() -> None:
    machine = Armv81mMachine(LOOP, PROFILED)
    assert counted(machine, started(machine, "cpi", "exc", "sleep", "lsu", "fold"), 2) == {
        "cyccnt": (200, True),
        "cpi": (60, True),
        "exc": (0, True),
        "sleep": (0, False),  # or 256, while CYCCNT stood
        "lsu": (40, True),
        "fold": (10, True),
    }


def test_their_eight_bits_wrap() -> None:
    machine = Armv81mMachine(LOOP, PROFILED)
    found = started(machine, "cpi")
    assert counted(machine, found, 10) == {"cyccnt": (1000, True), "cpi": (300 % 256, False)}
    assert found.take().values["cpi"] == 300 % 256, "what reads above them is nothing"


def test_pmu_events_on_two_counters_each_pass_16_bits() -> None:
    machine = Armv81mMachine(LOOP)
    found = started(machine, "INST_RETIRED", "L1D_CACHE_REFILL")
    assert [c.place for c in found.counters] == ["DWT_CYCCNT", "PMU 0+1", "PMU 2+3"]
    assert counted(machine, found, 2000) == {
        "cyccnt": (200_000, True),
        "INST_RETIRED": (80_000, True),
        "L1D_CACHE_REFILL": (4_000, True),
    }


def test_a_reading_takes_few_requests_and_to_begin_none() -> None:
    machine = Armv81mMachine(LOOP)
    found = started(machine, "INST_RETIRED")
    wire = found.pmu.unit.memory
    assert isinstance(wire, Wire)
    before = wire.reads
    found.pmu.begin()
    assert wire.reads == before
    found.take()
    assert wire.reads == before + 6, "DWT's, the two counters, their events, CNTENSET, OVSSET, CTRL"


def test_on_one_counter_each_a_wrap_is_told_by_the_flag_which_is_cleared() -> None:
    machine = Armv81mMachine(LOOP)
    found = started(machine, "INST_RETIRED", narrow=True)
    assert counted(machine, found, 2000)["INST_RETIRED"] == (80_000, False), "65,536 or more"
    assert machine.words[arm.OVSSET] == 0
    assert counted(machine, found, 2)["INST_RETIRED"] == (80, True)


def test_joined_counters_that_wrap_at_32_bits_say_so() -> None:
    machine = Armv81mMachine((Step(0x100, 10, {INST: 0x80000000}),))
    found = started(machine, "INST_RETIRED")
    assert counted(machine, found, 1)["INST_RETIRED"] == (0x80000000, True)
    assert counted(machine, found, 3)["INST_RETIRED"] == (3 * 0x80000000, False)


def test_without_names_all_of_dwts_and_instructions() -> None:
    machine = Armv81mMachine(LOOP, PROFILED)
    names = [c.name for c in started(machine).counters]
    assert names == ["cyccnt", "cpi", "exc", "sleep", "lsu", "fold", "INST_RETIRED"]


def test_a_number_is_counted_as_it_is() -> None:
    machine = Armv81mMachine((Step(0x100, 10, {0x1234: 7}),))
    assert counted(machine, started(machine, "0x1234"), 3)["0x1234"] == (21, True)


def test_without_dwts_cycle_counter_the_pmus_counts_cycles() -> None:
    machine = Armv81mMachine(LOOP, Part(ctrl=4 << 28 | arm.NOCYCCNT | arm.NOPRFCNT))
    found = started(machine, "INST_RETIRED")
    assert counted(machine, found, 3) == {"ccntr": (300, True), "INST_RETIRED": (120, True)}


# -- what the program uses -----------------------------------------------------------


def test_a_cycle_counter_that_runs_is_not_written() -> None:
    machine = Armv81mMachine(LOOP, PROFILED)
    machine.words.update({arm.CTRL: 4 << 28 | 1, arm.CYCCNT: 0xFFFFFFF0})
    found = started(machine, "cyccnt")
    assert "CYCCNT was running already: left to run on, only differences are taken" in found.remarks
    assert counted(machine, found, 1) == {"cyccnt": (100, True)}
    assert found.stop() == []
    assert machine.words[arm.CYCCNT] == 0xFFFFFFF0 + 100 - (1 << 32) and machine.words[arm.CTRL] & 1
    assert machine.writes == []


def test_pmu_counters_that_the_program_has_enabled_are_left_alone() -> None:
    machine = Armv81mMachine(LOOP)
    theirs = {arm.PMU_CTRL: arm.ENABLE, arm.CNTENSET: 0b11, arm.evtyper(0): INST, arm.evtyper(1): ACCESS}
    machine.words.update({**theirs, arm.evcntr(0): 500, arm.OVSSET: 0b1})
    found = started(machine, "INST_RETIRED")
    assert found.counters[1].place == "PMU 2+3"
    assert "PMU counters 0, 1 were enabled already, left alone" in found.remarks
    assert counted(machine, found, 2)["INST_RETIRED"] == (80, True)
    assert found.stop() == []
    assert machine.words[arm.evcntr(0)] == 580 and machine.words[arm.OVSSET] == 0b1
    assert {address: machine.words[address] for address in theirs} == theirs


def test_pmu_counters_enabled_in_a_unit_that_is_off_stay_off() -> None:
    machine = Armv81mMachine(LOOP)
    machine.words.update({arm.CNTENSET: arm.CYCLES | 0b100, arm.evtyper(2): INST, arm.evcntr(2): 7})
    machine.words[arm.CCNTR] = 9
    found = started(machine, "INST_RETIRED")
    assert any("PMU counter 2 was enabled already, but PMU_CTRL.ENABLE was not" in r for r in found.remarks)
    counted(machine, found, 2)
    assert found.stop() == []
    assert machine.words[arm.evcntr(2)] == 7 and machine.words[arm.CCNTR] == 9
    assert machine.words[arm.CNTENSET] == arm.CYCLES | 0b100 and machine.words[arm.PMU_CTRL] == 0


FREEZES = {arm.PMU_CTRL: arm.ENABLE | arm.FRZ_ON_OV, arm.CNTENSET: 1 << 7, arm.evtyper(7): 0x11}


def test_a_freeze_on_overflow_of_the_programs_leaves_a_lower_bound() -> None:
    machine = Armv81mMachine(LOOP)
    machine.words.update(FREEZES)
    found = started(machine, "INST_RETIRED")
    assert any("FRZ_ON_OV" in remark for remark in found.remarks)
    assert found.counters[1].place == "PMU 0", "a low half's wrap would freeze the program's, too"
    assert counted(machine, found, 600)["INST_RETIRED"] == (600 * 40, AT_LEAST), "it may have cleared a flag"
    # the program's own counter of cycles overflows after 655 of all laps
    assert counted(machine, found, 600)["INST_RETIRED"] == (55 * 40, AT_LEAST)


def test_a_freeze_that_the_program_sets_meanwhile_leaves_no_exact_count() -> None:
    set_up = {arm.PMU_CTRL: arm.ENABLE | arm.FRZ_ON_OV}
    machine = Armv81mMachine((Step(0x100, 40_000, {INST: 40_000}, writes=set_up),))
    found = started(machine, "INST_RETIRED", "ccntr")
    known = {name: known for name, (_, known) in counted(machine, found, 3).items()}
    assert known == {"cyccnt": True, "ccntr": AT_LEAST, "INST_RETIRED": AT_LEAST}


def test_a_flag_that_the_program_clears_makes_no_exact_count() -> None:
    clears = (Step(0x100, 70_000, {INST: 70_000}), Step(0x102, 20, writes={arm.OVSCLR: 0xFFFFFFFF}))
    machine = Armv81mMachine(clears)
    found = started(machine, "INST_RETIRED", narrow=True)
    assert counted(machine, found, 2)["INST_RETIRED"] == (70_000 - 65_536, False)


def test_a_flag_that_stopped_all_before_leaves_a_lower_bound() -> None:
    machine = Armv81mMachine(LOOP)
    machine.words.update({**FREEZES, arm.OVSSET: 1 << 7})
    assert counted(machine, started(machine, "INST_RETIRED"), 3)["INST_RETIRED"] == (0, AT_LEAST)


def test_a_freeze_of_a_unit_that_is_off_does_not_stop_our_counters() -> None:
    machine = Armv81mMachine(LOOP)
    machine.words[arm.PMU_CTRL] = arm.FRZ_ON_OV
    assert counted(machine, started(machine, "INST_RETIRED"), 2000)["INST_RETIRED"] == (80_000, True)


def test_event_counters_that_the_program_resets_are_not_known() -> None:
    reset = {arm.evcntr(0): 0, arm.evcntr(1): 0}
    machine = Armv81mMachine((Step(0x100, 100, {INST: 40}), Step(0x102, 10, {INST: 1}, writes=reset)))
    found = started(machine, "INST_RETIRED")
    assert counted(machine, found, 1)["INST_RETIRED"] == (40, True)
    assert counted(machine, found, 2)["INST_RETIRED"][1] == UNKNOWN, "also in the interval that began with it"


@pytest.mark.parametrize(("name", "address"), [("cyccnt", arm.CYCCNT), ("ccntr", arm.CCNTR)])
def test_nor_are_cycles_of_a_counter_that_the_program_sets_to_0(name: str, address: int) -> None:
    machine = Armv81mMachine((Step(0x100, 100), Step(0x102, 24, writes={address: 0})))
    found = started(machine, name)
    assert counted(machine, found, 1)[name] == (100, True)
    assert counted(machine, found, 2)[name][1] == UNKNOWN, "though it was 0 before it was started"
    counted(machine, found, 2)
    if name == "ccntr":
        assert counted(machine, found, 2)[name][1] == UNKNOWN, "in each interval"


def test_the_pmus_cycle_counter_tells_of_a_wrap_by_its_flag() -> None:
    machine = Armv81mMachine((Step(0x100, 0x80000000),), Part(ctrl=4 << 28 | arm.NOCYCCNT | arm.NOPRFCNT))
    found = started(machine)
    assert counted(machine, found, 1)["ccntr"] == (0x80000000, True)
    assert counted(machine, found, 2)["ccntr"] == (1 << 32, False)
    assert machine.words[arm.OVSSET] == 0


def test_the_flag_of_a_cycle_counter_that_ran_is_the_programs() -> None:
    machine = Armv81mMachine((Step(0x100, 0x80000000),), Part(ctrl=4 << 28 | arm.NOCYCCNT | arm.NOPRFCNT))
    machine.words.update({arm.PMU_CTRL: 1, arm.CNTENSET: arm.CYCLES, arm.CCNTR: 1 << 31})
    found = started(machine, "ccntr")
    counted(machine, found, 1)
    assert not found.counters[0].flagged and found.stop() == [] and machine.words[arm.OVSSET] == arm.CYCLES


def test_an_interrupt_on_overflow_is_off_while_we_count() -> None:
    machine = Armv81mMachine(LOOP)
    machine.words[arm.INTENSET] = 0b11
    found = started(machine, "INST_RETIRED")
    assert machine.words[arm.INTENSET] == 0
    found.stop()
    assert machine.words[arm.INTENSET] == 0b11


LEFT: Sequence[Tuple[str, Dict[int, int], Tuple[str, ...]]] = (
    ("nothing was on", {}, ()),
    ("old values", {arm.CYCCNT: 0x12345678, arm.DWT + 8: 200, arm.evcntr(0): 77, arm.evtyper(1): 4}, ()),
    ("old flags", {arm.OVSSET: arm.CYCLES | 0xFF, arm.INTENSET: 0xFF}, ("INST_RETIRED", "ccntr")),
    ("freezes", {arm.PMU_CTRL: arm.FRZ_ON_OV, arm.CNTENSET: 0xF0}, ("STALL", "0x1234", "ccntr")),
    ("samples", {arm.CTRL: 4 << 28 | 1 << 12 | 9 << 1 | 1 << 9}, ("cpi", "fold")),
)


@pytest.mark.parametrize(("before", "words"), [case[1:] for case in LEFT], ids=[case[0] for case in LEFT])
def test_every_register_is_as_it_was(before: Dict[int, int], words: Tuple[str, ...]) -> None:
    machine = Armv81mMachine(LOOP, PROFILED)
    machine.words.update(before)
    found = counting(machine)
    was = state(machine)
    found.start(chosen(words, PMU), False, False)
    counted(machine, found, 2000)
    assert state(machine) != was
    assert found.stop() == []
    assert state(machine) == was


@pytest.mark.parametrize(
    ("part", "words", "error"),
    [
        (Part(stuck={arm.evtyper(1): 0xFFFF}), ("INST_RETIRED",), "EVTYPER1 at 0xe0003404 did not take"),
        (
            Part(stuck={arm.CNTENSET: 0x3}),
            ("INST_RETIRED",),
            "CNTENSET at 0xe0003c00 did not take 0x00000003",
        ),
        (Part(stuck={arm.PMU_CTRL: 1}), ("INST_RETIRED",), "CTRL at 0xe0003e04 did not take 0x00000001"),
        (
            Part(ctrl=4 << 28, stuck={arm.CTRL: 1 << 20}),
            ("lsu",),
            "DWT_CTRL.LSUEVTENA does not stay set: this core does not count lsu",
        ),
        (
            Part(ctrl=4 << 28 | arm.NOPRFCNT, pmu=0, stuck={arm.CTRL: 0xFFFFFFFF}),
            (),
            "this core counts nothing: DWT_CTRL is 0x41000000, and there is no PMU",
        ),
        (
            Part(ctrl=2 << 28, pmu=0, stuck={arm.CTRL: 0xFFFFFFFF}, cpuid=0x410CC601),
            (),
            "this core counts nothing: Armv6-M or Armv8-M Baseline, by CPUID 0x410cc601, and there is no PMU",
        ),
        (Part(ctrl=0, pmu=0), (), "no counters answer here: DWT_CTRL at 0xe0001000 reads 0, and there is no"),
    ],
)
def test_what_does_not_take_is_named_and_nothing_stays_changed(
    part: Part, words: Tuple[str, ...], error: str
) -> None:
    machine = Armv81mMachine(LOOP, part)
    machine.words[arm.evcntr(0)] = 77 if part.pmu else 0
    found = counting(machine)
    was = state(machine)
    with pytest.raises(TargetError) as caught:
        found.start(chosen(words, PMU), False, False)
    assert str(caught.value).startswith(error)
    assert found.stop() == [] and state(machine) == was


def test_a_counter_that_cannot_be_enabled_is_left_out_where_nobody_asked_for_it() -> None:
    machine = Armv81mMachine(LOOP, Part(ctrl=4 << 28, pmu=0, stuck={arm.CTRL: 1 << 20}))
    found = started(machine)
    assert [c.name for c in found.counters] == ["cyccnt", "cpi", "exc", "sleep", "fold"]
    assert "DWT_CTRL.LSUEVTENA does not stay set: this core does not count lsu" in found.remarks


@pytest.mark.parametrize(
    ("part", "words", "error"),
    [
        (Part(), ("cpi",), "this core has no cpi: NOPRFCNT is set (DWT_CTRL 0x41000000)"),
        (
            Part(ctrl=4 << 28 | arm.NOCYCCNT),
            ("cyccnt",),
            "this core has no cyccnt: NOCYCCNT is set (DWT_CTRL 0x42000000)",
        ),
        (
            Part(ctrl=2 << 28, pmu=0, stuck={arm.CTRL: 0xFFFFFFFF}, cpuid=0x410CC601),
            ("cyccnt",),
            "this core has no cyccnt: Armv6-M or Armv8-M Baseline, by CPUID 0x410cc601",
        ),
        (
            Part(pmu=0),
            ("INST_RETIRED",),
            "INST_RETIRED is counted by a PMU (Armv8.1-M), and none answers at 0xe0003000",
        ),
        (
            Part(),
            tuple(str(n) for n in range(9)),
            "9 PMU events, but 8 of the PMU's 8 event counters are free: leave some out",
        ),
        (
            Part(),
            ("MVE_ST_MULTI_RETIRED",),
            "nothing is written: unverified (CMSIS_5@51f8f89612c8 CMSIS/Core/Include/pmu_armv8.h:136)",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(part: Part, words: Tuple[str, ...], error: str) -> None:
    machine = Armv81mMachine(LOOP, part)
    found = counting(machine)
    was = state(machine)
    with pytest.raises(UsageError) as caught:
        found.start(chosen(words, PMU), False, False)
    assert str(caught.value).startswith(error)
    assert found.stop() == [] and state(machine) == was


def test_an_unverified_event_is_counted_when_forced_and_it_is_said() -> None:
    machine = Armv81mMachine((Step(0x100, 10, {0x0261: 3}),))
    found = started(machine, "MVE_ST_MULTI_RETIRED", force=True)
    assert counted(machine, found, 2)["MVE_ST_MULTI_RETIRED"] == (6, True)
    assert any(r.startswith("rests on what is unverified") for r in found.remarks)


def test_cycles_that_go_on_while_halted_are_noticed() -> None:
    machine = Armv81mMachine(LOOP, Part(moves=7))
    found = started(machine, "cyccnt")
    assert found.moves_in_halt
    assert counted(machine, found, 1)["cyccnt"][1] == HALTS
    assert "DWT_CYCCNT goes on while the core is halted (7 between two reads): halts are counted in" in (
        found.remarks
    )
    assert not started(Armv81mMachine(LOOP), "cyccnt").moves_in_halt


@pytest.mark.parametrize(
    ("address", "value", "error"),
    [
        (arm.CTRL, 4 << 28, "DWT_CTRL.CYCCNTENA is not set any more (0x40000000; was the target reset"),
        (arm.PMU_CTRL, 0, "the PMU is not enabled any more (CNTENSET 0x00000003, CTRL 0x00000000; was "),
        (arm.CNTENSET, 2, "the PMU is not enabled any more (CNTENSET 0x00000002, CTRL 0x00000001; was "),
    ],
)
def test_counters_that_somebody_switched_off_are_not_read(address: int, value: int, error: str) -> None:
    machine = Armv81mMachine(LOOP)
    found = started(machine, "INST_RETIRED")
    machine.words[address] = value
    with pytest.raises(TargetError) as caught:
        found.take()
    assert str(caught.value).startswith(error)


def test_a_counter_to_which_the_program_gives_another_event_is_not_read() -> None:
    machine = Armv81mMachine((Step(0x100, 100, {INST: 40}, writes={arm.evtyper(0): 0x11}),))
    found = started(machine, "INST_RETIRED")
    run(machine, 1)
    with pytest.raises(TargetError) as caught:
        found.take()
    assert str(caught.value) == (
        "PMU_EVTYPER0 is 0x0011, not 0x0008 any more: another event is counted (does the program set up its "
        "PMU?)"
    )


@pytest.mark.parametrize("address", [arm.CTRL, arm.PMU_CTRL, arm.CNTENSET, arm.evcntr(0)])
def test_a_read_that_fails_once_is_no_obstacle_to_putting_back(address: int) -> None:
    machine = Armv81mMachine(LOOP, Part(ctrl=4 << 28, faulty=frozenset({address})))
    found = counting(machine)
    was = state(machine)
    found.start(chosen(("INST_RETIRED", "cpi"), PMU), False, False)
    machine.faults = 1
    assert found.stop() == [] and machine.faults == 0
    assert state(machine) == was


@pytest.mark.parametrize(
    ("address", "register"), [(arm.CTRL, "CTRL"), (arm.PMU_CTRL, "CTRL"), (arm.CNTENSET, "CNTENSET")]
)
def test_a_read_that_always_fails_leaves_the_rest_as_it_was(address: int, register: str) -> None:
    machine = Armv81mMachine(LOOP, Part(ctrl=4 << 28, faulty=frozenset({address})))
    machine.words.update({arm.CYCCNT: 77, arm.evcntr(0): 78})
    found = counting(machine)
    found.start(chosen(("INST_RETIRED", "cpi"), PMU), False, False)
    machine.faults = 1000
    assert found.stop() == ["cannot read %s" % register]
    assert machine.words[arm.evcntr(0)] == 78 and machine.words[arm.CYCCNT] == 77
    machine.faults = 0
    machine.words[arm.evcntr(0)] = 5  # by the program, which has gone on
    assert found.stop() == [], "what was left, by another stop"
    assert machine.words[arm.CTRL] == 4 << 28 and machine.words.get(arm.PMU_CTRL, 0) == 0
    assert machine.words.get(arm.CNTENSET, 0) == 0
    assert machine.words[arm.evcntr(0)] == 5, "and nothing else"


def test_what_broke_off_is_put_back_by_another_stop() -> None:
    machine = Armv81mMachine(LOOP, Part(ctrl=4 << 28))
    found = counting(machine)
    was = state(machine)
    found.start(chosen(("INST_RETIRED", "cpi"), PMU), False, False)
    write, at = machine.write, len(machine.writes) + 4

    def interrupted(address: int, content: bytes) -> None:
        if len(machine.writes) == at:
            machine.write = write  # type: ignore[method-assign]
            raise KeyboardInterrupt
        write(address, content)

    machine.write = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        found.stop()
    assert found.stop() == []
    assert state(machine) == was


def test_a_start_that_fails_says_what_it_could_not_put_back() -> None:
    part = Part(stuck={arm.evtyper(1): 0xFFFF}, faulty=frozenset({arm.evcntr(0)}))
    machine = Armv81mMachine(LOOP, part)
    found = counting(machine)
    writes = machine._take

    def then_faults(address: int, value: int) -> None:
        writes(address, value)
        machine.faults = 1000 if address == arm.evtyper(1) else machine.faults

    machine._take = then_faults  # type: ignore[method-assign]
    with pytest.raises(TargetError, match="did not take"):
        found.start(chosen(("INST_RETIRED",), PMU), False, False)
    assert "cannot read EVCNTR0" in found.stop()


def test_what_could_not_be_put_back_is_told_and_the_rest_is() -> None:
    machine = Armv81mMachine(LOOP)
    machine.words.update({arm.evcntr(0): 77, arm.evcntr(1): 78})
    found = started(machine, "INST_RETIRED")
    machine.part = Part(stuck={arm.evcntr(0): 0xFFFF})
    failures: List[str] = found.stop()
    assert failures == ["EVCNTR0 at 0xe0003000 did not take 0x0000004d: it reads 0x00000000"]
    assert machine.words[arm.evcntr(1)] == 78 and machine.words[arm.CNTENSET] == 0
