"""The simulated DPU against little scripts counted by hand: what it is right about, others are tested by."""

from __future__ import annotations

import struct
from typing import Dict, List, Sequence, Tuple, Union

import pytest

from dpu_machine import (
    BASE,
    COUNTERS,
    DESCRIPTION,
    FLASH,
    RAM,
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
    Watchpoint,
    Write,
)
from gdb_prof.counters.registers import Unit
from remote_server import Fault

FULL = 0x7FFFFFFF
MISSES = {"dcache_miss": 7, "icache_miss": 2, "dcache_thrash": 1}


class NoMemory:
    def read(self, address: int, number: int, what: str) -> Tuple[int, ...]:
        raise AssertionError(what)

    def write(self, address: int, value: int, what: str) -> None:
        raise AssertionError(what)


def word(register: str, **fields: Union[int, str]) -> int:
    return Unit(DESCRIPTION, NoMemory(), BASE).setting(register, fields).value


def counter(machine: DpuMachine, name: str, preset: int = FULL, **fields: Union[int, str]) -> None:
    """Started at once and never stopped, in mode trace, unless `fields` say otherwise."""
    settings: Dict[str, Union[int, str]] = {"CENM": "immediate", "CDM": "none", "CMODE": "trace", **fields}
    machine.set("DP_C%sV" % name, preset)
    machine.set("DP_C%sC" % name, word("DP_C%sC" % name, **settings))


def enabled(steps: Sequence[Step], little: bool = True, quirks: Quirks = Quirks()) -> DpuMachine:
    machine = DpuMachine(steps, little, quirks)
    machine.set("DP_CR", word("DP_CR", EN=1))
    return machine


def counted(steps: Sequence[Step], preset: int = FULL, **fields: Union[int, str]) -> int:
    """What A0 reads at the end."""
    machine = enabled(steps)
    counter(machine, "A0", preset, **fields)
    return machine.run_all().words["DP_CA0V"]


# -- counting ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "number"),
    [
        ("cycles", 150),
        ("application_cycles", 110),
        ("task_switches", 2),
        ("dcache_miss", 7),
        ("icache_miss", 2),
        ("dcache_thrash", 1),
        ("icache_thrash", 0),
        (0b11111, 0),
    ],
)
def test_a_counter_counts_down_its_event(event: Union[int, str], number: int) -> None:
    assert counted([Run(1, 100, MISSES, waiting=40), Run(1, 20), Run(2, 30)], CE=event) == FULL - number


@pytest.mark.parametrize(("preset", "left"), [(1000, 850), (151, 1), (150, 0), (149, 0), (0, 0)])
def test_oneshot_stays_at_0(preset: int, left: int) -> None:
    assert counted([Run(1, 100), Run(1, 50)], preset, CMODE="oneshot") == left


@pytest.mark.parametrize("mode", ["trace", "extended"])
@pytest.mark.parametrize(("preset", "left"), [(1000, 850), (150, 0), (149, FULL), (148, FULL - 1)])
def test_other_modes_go_on_from_0_to_the_highest(preset: int, left: int, mode: str) -> None:
    assert counted([Run(1, 100), Run(1, 50)], preset, CMODE=mode) == left


@pytest.mark.parametrize(
    ("start", "stop", "number"),
    [
        ("immediate", "none", 0b11111),
        ("none", "none", 0),
        ("mark", "none", 0b11110),
        ("mark", "debugev", 0b10010),
        ("watchpoint", "none", 0b11100),
        ("watchpoint", "debugev", 0b10100),
        ("immediate", "debugev", 0b00011),
    ],
)
def test_when_it_starts_and_stops(start: str, stop: str, number: int) -> None:
    """Each run is another bit of what is counted; the last start begins again what was stopped."""
    steps = [
        *(Run(1, 0b00001), Mark(), Run(1, 0b00010), DebugEv(), Watchpoint(), Run(1, 0b00100), DebugEv()),
        *(Run(1, 0b01000), Mark(), Watchpoint(), Run(1, 0b10000)),
    ]
    assert counted(steps, CENM=start, CDM=stop) == FULL - number


def test_the_windows_are_the_truths() -> None:
    machine = enabled([Run(1, 1), Mark(), Run(1, 10), DebugEv(), Run(1, 100), Mark(), Run(1, 1000)])
    counter(machine, "B1", CENM="mark", CDM="debugev")
    machine.run_all()
    assert machine.truth.windows == {"B1": [(1, 3), (5, None)]}
    assert machine.truth.count("cycles", 1, 3) + machine.truth.count("cycles", 5) == 1010
    assert machine.words["DP_CB1V"] == FULL - 1010


@pytest.mark.parametrize(("filtered", "number"), [("any", 0b111), ("user", 0b010), ("supervisor", 0b101)])
def test_a_filter_of_privilege(filtered: str, number: int) -> None:
    steps = [Run(1, 0b001), Run(1, 0b010, user=True), Run(2, 0b100)]
    assert counted(steps, CEP=filtered) == FULL - number


def test_a_filter_of_one_task() -> None:
    machine = enabled([Run(1, 0b001), Run(2, 0b010), Run(1, 0b100)])
    machine.set("DP_RPID", 1)
    counter(machine, "A0", CEP="task")
    counter(machine, "B2", CEP="task", CE="task_switches")
    machine.run_all()
    assert (machine.words["DP_CA0V"], machine.words["DP_CB2V"]) == (FULL - 0b101, FULL - 2)


def test_without_the_unit_nothing_counts_and_nothing_starts() -> None:
    machine = DpuMachine([Mark(), Run(1, 100), Sample(), Run(1, 10)])
    counter(machine, "A0")
    counter(machine, "A1", CENM="mark")
    tracing(machine, "sample")
    machine.run({machine.address(3)}, False)
    assert (machine.words["DP_CA0V"], machine.words["DP_CA1V"]) == (FULL, FULL)
    machine.set("DP_CR", word("DP_CR", EN=1))
    machine.run_all()
    assert (machine.words["DP_CA0V"], machine.words["DP_CA1V"]) == (FULL - 10, FULL)
    assert machine.truth.records == []


def test_a_write_to_the_control_register_stops_it_until_its_start() -> None:
    machine = enabled([Mark(), Run(1, 100), Run(1, 10), Mark(), Run(1, 1)])
    counter(machine, "A0", CENM="mark")
    machine.run({machine.address(2)}, False)
    machine.set("DP_CA0C", machine.words["DP_CA0C"])
    assert machine.run_all().words["DP_CA0V"] == FULL - 101


# -- overflows -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "cycles", "left", "overflows"),
    [
        (FULL, FULL, 0, 0),
        (FULL, FULL + 1, FULL, 1),
        (FULL, 5 * (1 << 31) + 3, FULL - 3, 5),
        (100, 100, 0, 0),
        (100, 101, FULL, 1),
        (0, 1, FULL, 1),
    ],
)
def test_a1_counts_the_overflows_of_a2(preset: int, cycles: int, left: int, overflows: int) -> None:
    machine = enabled([Run(1, cycles // 2), Run(1, cycles - cycles // 2)])
    counter(machine, "A1", CE="overflow", CMODE="oneshot")
    counter(machine, "A2", preset, CMODE="extended")
    machine.run_all()
    assert (machine.words["DP_CA2V"], FULL - machine.words["DP_CA1V"]) == (left, overflows)


@pytest.mark.parametrize(
    ("counted_by", "of", "filtered", "mode", "overflows"),
    [
        ("A1", "A2", "any", "extended", 2),
        ("B1", "B2", "any", "extended", 0),
        ("A0", "A1", "any", "extended", 0),
        ("A1", "A2", "supervisor", "extended", 0),
        ("A1", "A2", "any", "trace", 0),
        ("A0", "A2", "any", "extended", 0),
        ("A1", "B2", "any", "extended", 0),
        ("A2", "A1", "any", "extended", 0),
    ],
)
def test_whose_overflows_are_counted(
    counted_by: str, of: str, filtered: str, mode: str, overflows: int
) -> None:
    machine = enabled([Run(1, 1 << 32)])
    counter(machine, counted_by, CE="overflow", CEP=filtered)
    counter(machine, of, CMODE=mode)
    assert FULL - machine.run_all().words["DP_C%sV" % counted_by] == overflows


# -- what a debugger sees ------------------------------------------------------------


def test_the_program_counter_says_how_far_it_is() -> None:
    machine = DpuMachine([Mark(), Run(1, 5), Run(1, 5)])
    assert machine.run(set(), True) is False and machine.registers[15] == FLASH + 2
    assert machine.run({FLASH + 4}, False) is True and machine.registers[15] == FLASH + 4
    assert machine.run(set(), False) is False and machine.registers[15] == FLASH + 6 == machine.end
    assert machine.run({machine.end}, False) is True and machine.registers[15] == machine.end
    assert machine.truth.count("cycles") == 10


@pytest.mark.parametrize(("little", "order"), [(True, "<"), (False, ">")])
def test_the_byte_order_of_registers_and_records(little: bool, order: str) -> None:
    machine = enabled([Write(0x01020304)] * 4, little)
    machine.write(BASE + 0x30, struct.pack(order + "I", 0x11223344))
    assert machine.words["DP_CA0V"] == 0x11223344
    assert machine.read(BASE + 0x30, 4) == struct.pack(order + "I", 0x11223344)
    assert machine.read(BASE + 0x31, 2) == struct.pack(order + "I", 0x11223344)[1:3]
    tracing(machine, "direct")
    assert flushed(machine.run_all())[:8] == struct.pack(order + "II", 0x01020304, 0x01020304)


def test_what_lies_where() -> None:
    machine = DpuMachine([])
    machine.write(RAM + 4, b"abcd")
    machine.write(VTB + 0xFFFFC, b"wxyz")
    assert (machine.read(RAM + 4, 4), machine.read(VTB + 0xFFFFC, 4)) == (b"abcd", b"wxyz")
    assert machine.read(FLASH, 2) == b"\x00\xbf"
    assert machine.read(BASE, 0x90) == bytes(0x90)


@pytest.mark.parametrize("address", [VTB + (1 << 20), RAM - 4, 0, BASE + 0x90])
def test_where_a_read_faults(address: int) -> None:
    with pytest.raises(Fault):
        DpuMachine([]).read(address, 4)


@pytest.mark.parametrize(("address", "size"), [(FLASH, 4), (BASE + 0x14, 4), (BASE, 2), (BASE + 2, 4)])
def test_where_a_write_faults(address: int, size: int) -> None:
    with pytest.raises(Fault):
        DpuMachine([]).write(address, bytes(size))


def test_a_counter_has_31_bits() -> None:
    machine = DpuMachine([])
    machine.set("DP_CB2V", 0xFFFFFFFF)
    assert machine.words["DP_CB2V"] == FULL


def test_quirks_of_registers() -> None:
    machine = DpuMachine([], quirks=Quirks(stuck={"DP_TSA": 0x1F}, ones={"DP_CA0V": 1 << 31}))
    machine.set("DP_TSA", 0x6000003F)
    assert machine.read(BASE + 0x80, 4) == b"\x20\x00\x00\x60"
    assert machine.read(BASE + 0x30, 4) == b"\x00\x00\x00\x80"
    machine = DpuMachine([], quirks=Quirks(drops_writes=True))
    machine.set("DP_TSA", 0x60000000)
    assert machine.words["DP_TSA"] == 0
    with pytest.raises(Fault):
        DpuMachine([], quirks=Quirks(faults=True)).read(BASE, 4)


# -- records -------------------------------------------------------------------------


def tracing(machine: DpuMachine, record: str, mode: str = "overwrite", size: int = 1024) -> None:
    machine.set("DP_TSA", VTB)
    machine.set("DP_TEA", VTB + size - 1)
    machine.set("DP_TC", word("DP_TC", TMODE=record, VTBWM=mode, BURST_SIZE="16", EN=1))


def control(machine: DpuMachine, **fields: int) -> None:
    before = machine.words["DP_TC"]
    machine.set("DP_TC", Unit(DESCRIPTION, NoMemory(), BASE).setting("DP_TC", fields, before).value)


def flushed(machine: DpuMachine) -> bytes:
    """The whole VTB after a stop in the safe order."""
    wait(machine)
    control(machine, TMPDIS=1)
    wait(machine)
    return bytes(machine.vtb)


def status(machine: DpuMachine) -> int:
    """DP_SR of either byte order: its flags are in the lowest byte, the others are 0."""
    return sum(machine.read(BASE + 4, 4))


def wait(machine: DpuMachine) -> int:
    """How often TWBA was read as busy."""
    for reads in range(100):
        if not status(machine) & word("DP_SR", TWBA=1):
            return reads
    raise AssertionError("TWBA stays")


def words(content: bytes, number: int) -> List[Tuple[int, ...]]:
    """So many records of a task ID and six counters."""
    return [struct.unpack_from("<7I", content, 28 * n) for n in range(number)]


def test_a_record_at_each_task_switch_has_the_task_that_begins_and_the_counters_before() -> None:
    machine = enabled([Run(5, 100), Run(5, 11), Run(6, 200), Run(5, 1)])
    for name, event in zip(COUNTERS, ("cycles", "task_switches", "application_cycles")):
        counter(machine, name, CE=event)
    tracing(machine, "task")
    expected = [
        (5, FULL, FULL, FULL, 0, 0, 0),
        (6, FULL - 111, FULL - 1, FULL - 111, 0, 0, 0),
        (5, FULL - 311, FULL - 2, FULL - 311, 0, 0, 0),
    ]
    assert words(flushed(machine.run_all()), 3) == expected
    assert [record.content for record in machine.truth.records] == expected
    assert machine.words["DP_TW"] == VTB + 3 * 28
    assert machine.truth.traced() == {
        5: {"cycles": 111, "application_cycles": 111, "task_switches": 1},
        6: {"cycles": 200, "application_cycles": 200, "task_switches": 1},
    }


def test_calls_and_returns_are_recorded_too() -> None:
    machine = enabled([Run(1, 100), Jump(), Run(1, 10), Jump()])
    counter(machine, "B2")
    tracing(machine, "task")
    assert words(flushed(machine.run_all()), 3) == [
        (1, 0, 0, 0, 0, 0, FULL),
        (1, 0, 0, 0, 0, 0, FULL - 100),
        (1, 0, 0, 0, 0, 0, FULL - 110),
    ]


def test_samples_by_the_program_and_by_the_debugger() -> None:
    machine = enabled([Run(3, 100), Sample(), Jump(), Write(1), Run(4, 10)])
    counter(machine, "A0")
    tracing(machine, "sample")
    machine.run_all()
    machine.set("DP_CR", word("DP_CR", EN=1, SAMPLE=1))
    assert machine.words["DP_CR"] == word("DP_CR", EN=1)
    assert words(flushed(machine), 3) == [
        (3, FULL - 100, 0, 0, 0, 0, 0),
        (4, FULL - 110, 0, 0, 0, 0, 0),
        (0, 0, 0, 0, 0, 0, 0),
    ]


def test_direct_words_by_the_program_and_by_the_debugger() -> None:
    machine = enabled([Write(1), Sample(), Run(4, 10), Write(0xFFFFFFFF)])
    tracing(machine, "direct")
    machine.run_all()
    machine.set("DP_TD", 7)
    assert flushed(machine)[:16] == struct.pack("<4I", 1, 0xFFFFFFFF, 7, 0)
    assert machine.words["DP_TW"] == VTB + 12


# -- bursts, and the buffer's end ----------------------------------------------------


def direct(number: int, mode: str = "overwrite", size: int = 64, quirks: Quirks = Quirks()) -> DpuMachine:
    """Words 1, 2, … as the program writes them, all done."""
    machine = enabled([Write(n + 1) for n in range(number)], quirks=quirks)
    tracing(machine, "direct", mode, size)
    return machine.run_all()


def content(machine: DpuMachine, size: int = 64) -> List[int]:
    return list(struct.unpack_from("<%dI" % (size // 4), machine.vtb))


def test_a_burst_is_in_the_buffer_when_it_is_full_and_twba_has_cleared() -> None:
    machine = direct(3)
    assert (content(machine)[:4], machine.words["DP_TW"], wait(machine)) == ([0, 0, 0, 0], VTB, 0)
    machine = direct(4)
    assert (content(machine)[:4], machine.words["DP_TW"]) == ([0, 0, 0, 0], VTB)
    assert wait(machine) == 3
    assert (content(machine)[:5], machine.words["DP_TW"]) == ([1, 2, 3, 4, 0], VTB + 16)
    machine = direct(5)
    assert (content(machine)[:5], machine.words["DP_TW"]) == ([1, 2, 3, 4, 0], VTB + 16)


@pytest.mark.parametrize("fields", [{"TMPDIS": 1}, {"EN": 0}])
def test_a_flush_writes_what_is_left(fields: Dict[str, int]) -> None:
    machine = direct(6)
    control(machine, **fields)
    assert content(machine)[:6] == [1, 2, 3, 4, 0, 0]
    assert wait(machine) == 3
    assert (content(machine)[:7], machine.words["DP_TW"]) == ([1, 2, 3, 4, 5, 6, 0], VTB + 24)


def test_a_flush_may_fill_up_the_burst() -> None:
    machine = direct(6, quirks=Quirks(pads_flush=True))
    flushed(machine)
    assert (content(machine)[:8], machine.words["DP_TW"]) == ([1, 2, 3, 4, 5, 6, 0, 0], VTB + 32)


@pytest.mark.parametrize("fields", [{"TMPDIS": 1}, {"EN": 0}])
def test_what_is_under_way_is_lost_where_nobody_waits(fields: Dict[str, int]) -> None:
    machine = direct(4)
    control(machine, **fields)
    wait(machine)
    assert (content(machine)[:4], machine.words["DP_TW"]) == ([0, 0, 0, 0], VTB)


def test_a_flush_is_lost_where_the_trace_is_switched_off_meanwhile() -> None:
    machine = direct(3)
    control(machine, TMPDIS=1)
    control(machine, EN=0)
    assert (wait(machine), content(machine)[:3]) == (0, [0, 0, 0])


def test_nothing_is_recorded_while_it_pauses_and_then_it_goes_on() -> None:
    machine = enabled([Write(n + 1) for n in range(9)])
    tracing(machine, "direct")
    machine.run({machine.address(3)}, False)
    flushed(machine)
    machine.run({machine.address(5)}, False)
    control(machine, TMPDIS=0)
    flushed(machine.run_all())
    assert content(machine)[:8] == [1, 2, 3, 6, 7, 8, 9, 0]
    assert [record.content for record in machine.truth.records] == [(n,) for n in (1, 2, 3, 6, 7, 8, 9)]


def wrap_flag(machine: DpuMachine) -> bool:
    return bool(status(machine) & word("DP_SR", WRAP=1))


@pytest.mark.parametrize(
    ("number", "left", "pointer", "wrapped"),
    [
        (15, [*range(1, 16), 0], 60, False),
        (16, list(range(1, 17)), 0, True),
        (18, [17, 18, *range(3, 17)], 8, True),
        (40, [33, 34, 35, 36, 37, 38, 39, 40, *range(25, 33)], 32, True),
    ],
)
def test_overwrite_goes_round_behind_the_end_address(
    number: int, left: List[int], pointer: int, wrapped: bool
) -> None:
    machine = direct(number)
    flushed(machine)
    assert (content(machine), machine.words["DP_TW"] - VTB, wrap_flag(machine)) == (left, pointer, wrapped)
    assert not any(machine.vtb[64:])


def test_a_unit_may_not_tell_that_it_has_wrapped() -> None:
    machine = direct(18, quirks=Quirks(wrap_flag=False))
    flushed(machine)
    assert not wrap_flag(machine) and machine.words["DP_TW"] == VTB + 8


def test_single_ends_when_it_is_full() -> None:
    machine = direct(40, "single")
    flushed(machine)
    assert (content(machine), machine.words["DP_TW"]) == (list(range(1, 17)), VTB + 64)
    assert len(machine.truth.records) == 16 and not any(machine.vtb[64:]) and not wrap_flag(machine)


def test_single_may_end_within_a_record() -> None:
    machine = enabled([Run(n + 1, 1) for n in range(9)])
    tracing(machine, "task", "single", 64)
    flushed(machine.run_all())
    assert words(bytes(machine.vtb), 3)[1:] == [(2, 0, 0, 0, 0, 0, 0), (3, 0, 0, 0, 0, 0, 0)]
    assert machine.words["DP_TW"] == VTB + 64


def test_request_begins_at_the_event_address() -> None:
    machine = enabled([Write(1), Event(0x1004), Write(2), Event(0x1000), Write(3), Write(4)])
    machine.set("DP_TER", 0x1000)
    tracing(machine, "direct", "request")
    flushed(machine.run_all())
    assert content(machine)[:3] == [3, 4, 0]


def test_a_new_start_begins_at_the_start_address() -> None:
    machine = direct(18)
    flushed(machine)
    control(machine, EN=0)
    tracing(machine, "direct")
    assert machine.words["DP_TW"] == VTB and not wrap_flag(machine)


# -- what is wrong with a trace ------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (VTB + 16, VTB + 0x3FF),
        (VTB + 4, VTB + 0x3FF),
        (RAM, RAM + 0x3FF),
        (VTB - 32, VTB + 0x3FF),
        (VTB + 0xFFC00, VTB + 0x100000),
        (VTB + 0x400, VTB + 0x3FF),
    ],
)
def test_a_place_where_nothing_is_recorded(start: int, end: int) -> None:
    machine = enabled([Write(n + 1) for n in range(9)])
    machine.set("DP_TSA", start)
    machine.set("DP_TEA", end)
    machine.set("DP_TC", word("DP_TC", TMODE="direct", EN=1))
    flushed(machine.run_all())
    assert (machine.truth.records, any(machine.vtb), machine.words["DP_TW"]) == ([], False, start)


@pytest.mark.parametrize(
    ("register", "value"),
    [
        ("DP_TSA", VTB + 32),
        ("DP_TEA", VTB + 2047),
        ("DP_TER", 4),
        ("DP_TC", word("DP_TC", EN=1, TMODE="direct", VTBWM="single")),
        ("DP_TC", word("DP_TC", EN=1, TMODE="direct", BURST_SIZE=1)),
    ],
)
def test_a_change_while_it_is_enabled_garbles_what_comes_after(register: str, value: int) -> None:
    machine = enabled([Write(n + 1) for n in range(9)])
    tracing(machine, "direct")
    before = {name: machine.words[name] for name in ("DP_TSA", "DP_TEA", "DP_TER", "DP_TC")}
    machine.run({machine.address(5)}, False)
    machine.set(register, value)
    machine.set(register, before[register])
    flushed(machine.run_all())
    assert content(machine)[:9] == [1, 2, 3, 4] + [n ^ 0xA5A5A5A5 for n in (5, 6, 7, 8, 9)]
    assert [record.garbled for record in machine.truth.records] == [False] * 5 + [True] * 4


def test_the_same_value_once_more_garbles_nothing() -> None:
    machine = direct(6)
    for register in ("DP_TSA", "DP_TEA", "DP_TER", "DP_TC"):
        machine.set(register, machine.words[register])
    flushed(machine)
    assert content(machine)[:7] == [1, 2, 3, 4, 5, 6, 0]


def test_a_change_while_twba_is_busy_garbles_the_flush() -> None:
    machine = direct(2)
    control(machine, EN=0)
    machine.set("DP_TEA", VTB + 2047)
    wait(machine)
    assert content(machine)[:2] == [1 ^ 0xA5A5A5A5, 2 ^ 0xA5A5A5A5]


def test_twba_may_stay() -> None:
    machine = direct(4, quirks=Quirks(twba_stays=True))
    with pytest.raises(AssertionError, match="TWBA stays"):
        wait(machine)


def test_twba_may_never_be_seen() -> None:
    machine = direct(4, quirks=Quirks(twba_reads=0))
    assert (wait(machine), content(machine)[:4]) == (0, [1, 2, 3, 4])


def test_a_burst_behind_a_flush_ends_at_the_next_boundary() -> None:
    machine = enabled([Write(n + 1) for n in range(4)])
    tracing(machine, "direct")
    machine.run({machine.address(3)}, False)
    flushed(machine)
    assert machine.words["DP_TW"] == VTB + 12
    control(machine, TMPDIS=0)
    machine.run_all()
    assert (wait(machine), machine.words["DP_TW"]) == (3, VTB + 16)
    assert content(machine)[:5] == [1, 2, 3, 4, 0]
