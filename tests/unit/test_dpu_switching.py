"""The trace switched on and off in the article's order, with waits that end and nothing left half done."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest

from dpu_machine import BASE, DESCRIPTION
from gdb_prof.counters.description import Description
from gdb_prof.counters.dpu import order
from gdb_prof.counters.dpu.switching import MOST_READS, MOST_S, STILL_READS, Trace
from gdb_prof.counters.dpu.vtb import Setup, plan
from gdb_prof.counters.registers import Unit
from gdb_prof.errors import TargetError, UsageError

EN, TMPDIS, TASK = 1, 1 << 12, 0b0010 << 1
NAMES = {BASE + register.offset: name for name, register in DESCRIPTION.registers.items()}
BLIND = DESCRIPTION.completed("field,DP_SR.TWBA,?:1,article", "mine.csv")


class Registers:
    """`log`: what was done, in order. `busy`: for how many reads of DP_SR TWBA is set after a flush, and at first
    for one; `moves`: how DP_TW moves at each read; `refused`: bits of DP_TC that do not change; `sticky`: that stay set."""

    def __init__(self, control: int = TASK, busy: int = 2, moves: int = 0, refused: int = 0) -> None:
        self.words = {
            "DP_TC": control,
            "DP_TSA": 0x60000000,
            "DP_TEA": 0x60000FFF,
            "DP_TW": 0x60000100,
            "DP_CR": 1,
        }
        self.log: List[Tuple[str, int]] = []
        self.busy, self.left, self.moves, self.refused = busy, 1, moves, refused
        self.sticky = 0

    def read(self, address: int, number: int, what: str) -> Tuple[int, ...]:
        return tuple(self._read(NAMES.get(address + 4 * n, ""), number == 1) for n in range(number))

    def _read(self, name: str, logged: bool) -> int:
        value = self.words.get(name, 0)
        if name == "DP_SR":
            value, self.left = int(self.left > 0), max(0, self.left - 1)
        if name == "DP_TW":
            self.words[name] += self.moves
        if logged and name != "DP_TC":
            self.log.append(("read " + name, value))
        return value

    def write(self, address: int, value: int, what: str) -> None:
        name = NAMES[address]
        self.log.append((name, value))
        if name == "DP_TC":
            value = (value & ~self.refused) | (self.words[name] & (self.refused | self.sticky))
            self.left = self.busy if value & TMPDIS else self.left
        self.words[name] = value

    @property
    def controls(self) -> List[int]:
        return [value for name, value in self.log if name == "DP_TC"]


def trace(
    registers: Registers,
    description: Description = DESCRIPTION,
    force: bool = False,
    clock: Callable[[], float] = lambda: 0.0,
) -> Trace:
    return Trace(Unit(description, registers, BASE), {}, force, clock)


# -- the order ---------------------------------------------------------------------------


def test_a_stop_waits_pauses_waits_reads_the_pointer_and_goes_off() -> None:
    registers = Registers(TASK | EN)
    assert trace(registers).stop() == 0x60000100
    assert registers.log == [
        *(("read DP_SR", 1), ("read DP_SR", 0)),
        ("DP_TC", TASK | EN | TMPDIS),
        *(("read DP_SR", 1), ("read DP_SR", 1), ("read DP_SR", 0)),
        ("read DP_TW", 0x60000100),
        ("DP_TC", TASK | TMPDIS),
        ("DP_TC", TASK),
    ]


def test_a_stop_of_a_paused_trace_waits_once() -> None:
    registers = Registers(TASK | EN | TMPDIS)
    trace(registers).stop()
    assert registers.controls == [TASK | TMPDIS, TASK]


def test_a_pause_and_going_on_again() -> None:
    registers = Registers(TASK | EN)
    assert trace(registers).pause() == 0x60000100
    trace(registers).resume()
    assert registers.controls == [TASK | EN | TMPDIS, TASK | EN]


def test_a_start_sets_the_enable_and_takes_the_pause_away() -> None:
    registers = Registers(TASK | TMPDIS)
    assert trace(registers).start()["DP_TW"] == 0x60000100
    assert registers.controls == [TASK | EN]


def test_a_start_switches_the_unit_on_where_its_switch_is_known() -> None:
    registers = Registers()
    registers.words["DP_CR"] = 0
    started = trace(registers)
    started.start()
    writes = [entry for entry in registers.log if not entry[0].startswith("read")]
    assert writes == [("DP_CR", 1), ("DP_TC", TASK | EN)]
    assert started.notes == ["the unit as a whole was off: DP_CR.EN is set now"]


def test_what_was_written_is_remembered() -> None:
    written: Dict[str, int] = {}
    Trace(Unit(DESCRIPTION, Registers(), BASE), written, False).start()
    assert written == {"DP_TC": TASK | EN}


# -- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "verb", "complaint"),
    [
        (TASK | EN, "start", r"already on \(DP_TC = 0x00000005\)"),
        (TASK | EN | TMPDIS, "start", "already paused: `dpu trace resume`"),
        (TASK, "stop", "the trace is off"),
        (TASK, "pause", "the trace is off"),
        (TASK, "resume", "the trace is off"),
        (TASK | EN, "resume", "the trace is not paused"),
        (TASK | EN | TMPDIS, "pause", "already paused"),
    ],
)
def test_what_makes_no_sense_changes_nothing(control: int, verb: str, complaint: str) -> None:
    registers = Registers(control)
    with pytest.raises(UsageError, match=complaint):
        getattr(trace(registers), verb)()
    assert registers.controls == []


@pytest.mark.parametrize(
    ("register", "value", "complaint"),
    [
        ("DP_TEA", 0x60000000, "not set up: DP_TSA = 0x60000000, DP_TEA = 0x60000000"),
        ("DP_TEA", 0x5FFFFFFF, "not set up: DP_TSA = 0x60000000, DP_TEA = 0x5fffffff"),
        ("DP_TSA", 0x60000010, "a start is a multiple of 32"),
        ("DP_TEA", 0x60100FFF, "must lie within 0x60000000 to 0x600fffff"),
    ],
)
def test_a_start_without_a_buffer_is_refused(register: str, value: int, complaint: str) -> None:
    registers = Registers()
    registers.words[register] = value
    with pytest.raises((UsageError, TargetError), match=complaint + ".*`dpu trace setup`"):
        trace(registers).start()
    assert registers.controls == []


@pytest.mark.parametrize(("verb", "control"), [("start", TASK), ("pause", TASK | EN), ("stop", TASK | EN)])
def test_nothing_unverified_is_written_without_force(verb: str, control: int) -> None:
    rows = DESCRIPTION.completed("field,DP_TC.EN,0,unverified\nfield,DP_TC.TMPDIS,12,unverified", "mine.csv")
    registers = Registers(control)
    with pytest.raises(UsageError, match="nothing is written: unverified"):
        getattr(trace(registers, rows), verb)()
    assert registers.controls == []
    getattr(trace(registers, rows, force=True), verb)()
    assert registers.controls


# -- waits that end ----------------------------------------------------------------------


def test_a_busy_that_stays_changes_nothing() -> None:
    registers = Registers(TASK | EN)
    registers.left = 10**9
    complaint = r"TWBA stays set: DP_SR = 0x00000001 after %d reads.*; no register was changed" % MOST_READS
    with pytest.raises(TargetError, match=complaint):
        trace(registers).stop()
    assert registers.controls == []


@pytest.mark.parametrize("verb", ["pause", "stop"])
def test_one_that_stays_after_the_pause_is_put_back(verb: str) -> None:
    registers = Registers(TASK | EN, busy=10**9)
    with pytest.raises(TargetError, match=r"TWBA stays set.*; DP_TC put back as before"):
        getattr(trace(registers), verb)()
    assert registers.controls == [TASK | EN | TMPDIS, TASK | EN]


def test_a_slow_probe_ends_it_by_time() -> None:
    registers = Registers(TASK | EN)
    registers.left = 10**9
    seconds = itertools.count(0.0, MOST_S / 4)
    with pytest.raises(TargetError, match=r"after [45] reads in"):
        trace(registers, clock=lambda: next(seconds)).stop()


@pytest.mark.parametrize(("verb", "refused"), [("pause", TMPDIS), ("stop", EN)])
def test_a_bit_that_does_not_take_leaves_the_register_as_it_was(verb: str, refused: int) -> None:
    registers = Registers(TASK | EN, refused=refused)
    with pytest.raises(TargetError, match="did not take"):
        getattr(trace(registers), verb)()
    assert registers.words["DP_TC"] == TASK | EN


def test_where_busy_is_not_known_it_is_refused() -> None:
    registers = Registers(TASK | EN)
    with pytest.raises(UsageError, match="where TWBA lies in DP_SR is not known"):
        trace(registers, BLIND).stop()
    assert registers.controls == []


def test_with_force_the_pointer_has_to_stand_still() -> None:
    registers = Registers(TASK | EN)
    stopped = trace(registers, BLIND, force=True)
    stopped.stop()
    assert registers.controls == [TASK | EN | TMPDIS, TASK | TMPDIS, TASK]
    assert [name for name, _ in registers.log].count("read DP_TW") == 2 * (STILL_READS + 1) + 1
    assert len(stopped.unproven) == 1 and "stood still for 16 reads" in stopped.unproven[0]


def test_a_pointer_that_moves_on_changes_nothing() -> None:
    registers = Registers(TASK | EN, moves=16)
    with pytest.raises(TargetError, match="moves on, after %d reads" % MOST_READS):
        trace(registers, BLIND, force=True).stop()
    assert registers.controls == []


@pytest.mark.parametrize(
    ("after", "said", "controls"),
    [
        (0, "interrupted; no register was changed", []),
        (20, "interrupted; DP_TC put back as before", [TASK | EN | TMPDIS, TASK | EN]),
    ],
)
def test_an_interrupted_wait_puts_the_register_back(after: int, said: str, controls: List[int]) -> None:
    registers = Registers(TASK | EN, busy=10**9)
    reads = itertools.count()

    def clock() -> float:
        if next(reads) > after:
            raise KeyboardInterrupt
        return 0.0

    with pytest.raises(TargetError, match=said):
        trace(registers, clock=clock).stop()
    assert registers.controls == controls


def test_a_trace_that_is_off_is_not_switched_on_again() -> None:
    """EN set anew would begin at the buffer's start. TMPDIS can be set, but not cleared."""
    registers = Registers(TASK | EN)
    registers.sticky = TMPDIS
    with pytest.raises(TargetError, match="did not take 0x00000004: it reads 0x00001004; the trace is off"):
        trace(registers).stop()
    assert registers.controls == [TASK | EN | TMPDIS, TASK | TMPDIS, TASK]


# -- setting up --------------------------------------------------------------------------


def set_up(registers: Registers, fill: Callable[[], None]) -> Trace:
    unit = Unit(DESCRIPTION, registers, BASE)
    writes = plan(unit, Setup(0x60000400, 64, "overwrite", "sample", 16), registers.words["DP_TC"])
    found = trace(registers)
    found.set_up(writes, fill)
    return found


def test_the_buffer_is_filled_once_the_registers_have_taken() -> None:
    registers = Registers()
    set_up(registers, lambda: registers.log.append(("fill", 0)))
    assert [done for done in registers.log if not done[0].startswith("read")] == [
        *(("DP_TSA", 0x60000400), ("DP_TEA", 0x6000043F), ("DP_TC", 0b0100 << 1)),
        ("fill", 0),
    ]


@pytest.mark.parametrize("error", [TargetError("no RAM"), KeyboardInterrupt()])
def test_where_that_fails_the_registers_are_put_back(error: BaseException) -> None:
    registers = Registers()
    before = dict(registers.words)

    def fill() -> None:
        raise error

    with pytest.raises(TargetError, match=r"(no RAM|interrupted); DP_TC, DP_TEA, DP_TSA put back as before"):
        set_up(registers, fill)
    assert registers.words == before


def test_setting_up_a_trace_that_is_on_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the trace is on \(DP_TC = 0x00000005\): `dpu trace stop` first"):
        set_up(Registers(TASK | EN), lambda: None)


# -- as text -----------------------------------------------------------------------------


def test_a_stop_as_values_has_the_waits_in_their_places() -> None:
    unit = Unit(DESCRIPTION, Registers(), BASE)
    assert order.as_values(order.order("stop", unit), unit)[:6] == [
        "wait until DP_SR & 0x00000001 is 0  TWBA=0",
        "DP_TC |= 0x00001000  TMPDIS=1",
        "wait until DP_SR & 0x00000001 is 0  TWBA=0",
        "DP_TW: read it, the address that would be written next",
        "DP_TC &= ~0x00000001  EN=0",
        "DP_TC &= ~0x00001000  TMPDIS=0",
    ]


@pytest.mark.parametrize(("verb", "said"), [("start", True), ("resume", False), ("stop", False)])
def test_where_the_units_switch_is_not_known_a_start_says_so(verb: str, said: bool) -> None:
    unit = Unit(DESCRIPTION.completed("field,DP_CR.EN,?:1", "mine.csv"), Registers(), BASE)
    assert said == (
        "how the unit as a whole is switched on" in " ".join(order.as_values(order.order(verb, unit), unit))
    )


@pytest.mark.parametrize("known", [True, False], ids=["a known place", "an unknown one"])
@pytest.mark.parametrize("verb", ["start", "pause", "resume", "stop"])
def test_as_c_it_compiles_and_waits_no_longer_than_it_says(verb: str, known: bool, tmp_path: Path) -> None:
    """On memory of the test's own, where TWBA stays set: it gives up, and the trace is on still."""
    compiler = shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    unit = Unit(DESCRIPTION if known else BLIND, Registers(), None)
    lines = order.as_c(order.order(verb, unit), unit)
    source = tmp_path / "order.c"
    source.write_text(PROGRAM % "\n".join(lines))
    subprocess.run(
        [
            compiler,
            "-Wall",
            "-Wno-unused-but-set-variable",
            "-Werror",
            "-o",
            str(tmp_path / "order"),
            str(source),
        ],
        check=True,
        timeout=60,
    )
    control = subprocess.run(
        [str(tmp_path / "order")], check=True, timeout=60, stdout=subprocess.PIPE, text=True
    ).stdout
    expected = {"start": TASK | EN, "pause": TASK | TMPDIS, "resume": TASK, "stop": TASK | TMPDIS}
    assert control == "%x" % expected[verb]


PROGRAM = """
#include <stdint.h>
#include <stdio.h>
static uint8_t unit[0x100];
#define DPU_BASE unit
#define DPU_TWBA(x) ((uint32_t)(x) << 0)
static void order(void)
{
%s
}
int main(void)
{
    *(uint32_t *)(unit + 0x04) = 1;
    *(uint32_t *)(unit + 0x7c) = 0x1004;
    order();
    printf("%%x", *(uint32_t *)(unit + 0x7c));
    return 0;
}
"""
