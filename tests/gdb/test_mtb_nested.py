"""Exceptions that nest and follow each other at once, as QEMU executed them: how often each was entered, and
what the listing calls each packet of them. The truth is QEMU's log."""

from __future__ import annotations

import collections
import re
import subprocess
from pathlib import Path
from typing import Counter, Dict, List, NamedTuple, Sequence, Tuple

import pytest

import running
from gdb_prof.counters.mtb.coverage import by_function
from gdb_prof.counters.mtb.listing import kind_text
from gdb_prof.counters.mtb.nesting import with_chained
from gdb_prof.counters.mtb.packets import BRANCH, Branch, branches, packets
from gdb_prof.counters.mtb.ranges import executed
from mtb_machine import MtbMachine
from mtb_program import ElfProgram
from mtb_stream import ENTERED, EXECUTED, RETURNED, Packet, Sizes, Step, packets_of, recorded
from remote_server import DeviceServer

HANDLERS = {"tick": (15, "SysTick"), "low": (16, "IRQ 0"), "high": (17, "IRQ 1")}
"""By rising priority low, high, tick: exception number, and what it is called."""
_SOURCE = """
    .syntax unified
    .cpu cortex-m0
    .thumb
    .macro function name
    .global \\name
    .type \\name, %function
\\name:
    .endm

    .word 0x20004000, reset
    .rept 13
    .word 0
    .endr
    .word tick, low, high
    .rept 30
    .word 0
    .endr

    function reset
    ldr r0, =0xe000e400     @ NVIC_IPR0
    ldr r1, =0x40c0
    str r1, [r0]
    ldr r0, =0xe000e100     @ NVIC_ISER
    movs r1, #3
    str r1, [r0]
    ldr r0, =0xe000e010     @ SysTick, each 125 instructions in QEMU
    movs r1, #1
    str r1, [r0, #4]
    movs r1, #7
    str r1, [r0]
    ldr r4, =0xe000e200     @ NVIC_ISPR
    movs r5, #1
    movs r6, #2
    movs r7, #0
1:  str r5, [r4]            @ pends low
    nop
    b 1b
    .size reset, . - reset
    .ltorg

    function low
    movs r0, #3
    str r6, [r4]            @ high interrupts it
1:  subs r0, #1
    bne 1b
    bx lr
    .size low, . - low

    function high
    nop
    nop
    bx lr
    .size high, . - high

    function tick
    movs r0, #1
    adds r7, #1
    tst r7, r0
    bne 1f
    str r6, [r4]            @ high follows, each second time
1:  bx lr
    .size tick, . - tick
"""
NAMES = dict(HANDLERS.values())
EXCEPTION_RETURN = 0xFFFFFFF9
"""As mtb_stream writes it, before bit 0 becomes another bit."""
RETURN_ALONE = "exception return"
_CALLS = re.compile(r"^ *[\d,]+ +\d+\.\d\d % +\d+/\d+ +([\d,]+)  (\w+)", re.MULTILINE)
_KINDS = re.compile(r" (exception .*?)(?:, \d+ times)?$", re.MULTILINE)


class Recording(NamedTuple):
    """`program` by the vectors. By steps: `called`, what is to be said of each exception that interrupted
    something, and each return; `level`: of a return, the step in which the exception was entered that the
    running one followed at once, perhaps over others, or which it is itself."""

    path: Path
    program: ElfProgram
    way: List[Step]
    packets: List[Tuple[int, Packet]]
    called: Dict[int, str]
    level: Dict[int, int]

    def decoded(self, first: int, end: int) -> Tuple[Branch, ...]:
        """Of these packets."""
        return branches(packets(b"".join(packet.words for _, packet in self.packets[first:end])))

    def expected(self, first: int, end: int) -> List[str]:
        """What is to be said of these packets. What a return leads to is known only where its level was
        entered in them, and its second packet is there."""
        held = {n for n, packet in self.packets[first:end] if packet.a}
        said: List[str] = []
        for at, (n, packet) in enumerate(self.packets[first:end], first):
            if packet.destination == EXCEPTION_RETURN:
                known = at + 1 < end and self.level[n] in held
                said.append(self.called[n] if known else RETURN_ALONE)
            elif packet.a and packet.source != EXCEPTION_RETURN:
                said.append(self.called[n])
            elif packet.a and at == first:
                said.append(RETURN_ALONE)
        return said


def built(folder: Path) -> Path:
    """A Cortex-M0 program whose three interrupts nest and follow each other at once, each at any instruction."""
    source, program = folder / "nested.s", folder / "nested.elf"
    source.write_text(_SOURCE, encoding="ascii")
    command = ["arm-none-eabi-gcc", "-nostdlib", "-Wl,-Ttext=0", "-Wl,-ereset", source, "-o", program]
    subprocess.run(command, check=True)
    return program


def _recording(folder: Path) -> Recording:
    path = built(folder)
    way = recorded(path, "microbit", 60_000)
    called: Dict[int, str] = {}
    level: Dict[int, int] = {}
    active: List[int] = []
    idle = 0
    for n, (step, following) in enumerate(zip(way, way[1:])):
        if step.kind == ENTERED and way[n - 1].kind != RETURNED:
            active.append(n)
            called[n] = "exception " + NAMES[step.address]
        elif step.kind == RETURNED:
            level[n] = active[-1]
            called[n] = RETURN_ALONE
            if following.kind == ENTERED:
                called[n] += ", " + NAMES[following.address]
            else:
                active.pop()
        idle = idle if active else n
    del way[idle + 2 :]  # in no exception: where one goes back to is known only then
    sizes = Sizes(path)
    program = ElfProgram(path, {sizes.vector(number): [number] for number in NAMES})
    return Recording(path, program, way, packets_of(way, sizes), called, level)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return _recording(tmp_path_factory.mktemp("nested"))


def kinds(found: Recording, first: int, end: int) -> List[str]:
    told = with_chained(found.decoded(first, end), found.program)
    texts = [kind_text(branch, found.program) for branch in told if branch.kind != BRANCH]
    return [text[2:] if text.startswith("* ") else text for text in texts]


def calls(found: Recording, first: int, end: int) -> Dict[str, int]:
    """Of the handlers of which an instruction was executed in the window."""
    traced = found.decoded(first, end)
    rows = by_function(executed(traced, found.program), traced, found.program)
    return {row.name: row.calls for row in rows if row.name in HANDLERS}


def entries(said: Sequence[str]) -> Counter[str]:
    """Of each handler, by what is said of the exceptions."""
    handlers = {name: handler for handler, (_, name) in HANDLERS.items()}
    found = [re.sub("^exception (return, )?", "", text) for text in said if text != RETURN_ALONE]
    return collections.Counter(handlers[name] for name in found)


def test_the_log_has_what_the_tests_are_about(recording: Recording) -> None:
    """Handlers interrupted at their first instruction and gone back to; others that follow at once."""
    way, level = recording.way, recording.level
    firsts = {Sizes(recording.path).vector(number): name for number, name in NAMES.items()}
    returns = [n for n, step in enumerate(way[:-1]) if step.kind == RETURNED]
    resumed = [n for n in returns if way[n + 1].kind == EXECUTED and way[n + 1].address in firsts]
    chained = [n for n in returns if way[n + 1].kind == ENTERED]
    assert {firsts[way[n + 1].address] for n in resumed} == {"IRQ 0", "IRQ 1"}
    assert {NAMES[way[n + 1].address] for n in chained} == {"IRQ 1", "SysTick"}
    assert min(len(resumed), len(chained)) > 10
    assert {level[n] for n in resumed} & {level[n] for n in chained}, "gone back to by one that followed"


def test_from_the_start_on_every_exception_is_called_what_it_was(recording: Recording) -> None:
    assert kinds(recording, 0, len(recording.packets)) == [
        recording.called[n] for n, _ in enumerate(recording.way) if n in recording.called
    ]


def test_from_the_start_on_handlers_are_entered_as_often_as_they_were(recording: Recording) -> None:
    entered = collections.Counter(NAMES[s.address] for s in recording.way if s.kind == ENTERED)
    assert calls(recording, 0, len(recording.packets)) == {
        handler: entered[name] for handler, (_, name) in HANDLERS.items()
    }


@pytest.mark.parametrize("size", [3, 16, 64])
def test_what_was_entered_before_the_window_is_not_guessed(recording: Recording, size: int) -> None:
    """At each place among exceptions of every kind."""
    unknown = 0
    for first in range(4000):
        expected = recording.expected(first, first + size)
        assert kinds(recording, first, first + size) == expected, first
        entered = calls(recording, first, first + size)
        assert entered == {name: entries(expected)[name] for name in entered}, first
        steps = {n for n, _ in recording.packets[first : first + size] if n in recording.called}
        unknown += entries([recording.called[n] for n in steps]) != entries(expected)
    assert 0 < unknown < 4000 / 10


def test_the_instructions_of_the_window_are_the_logs_one_by_one(recording: Recording) -> None:
    way, written = recording.way, recording.packets
    found = executed(recording.decoded(0, len(written)), recording.program)
    window = [step.address for step in way[written[0][0] : written[-1][0]] if step.kind == EXECUTED]
    assert (found.left_out, found.gaps, found.it_blocks) == ((), 0, False)
    assert found.counts == collections.Counter(window)


def test_in_gdb_by_the_targets_vectors(recording: Recording) -> None:
    machine = MtbMachine(recording.path, recording.way[:6000])
    with DeviceServer(machine) as server:
        output = running.gdb(
            *(
                f"file {recording.path}",
                server.connect,
                "mtb start -part kinetis -buffer 0x20002000 -size 4096",
            ),
            *("continue", "mtb profile", "mtb dump -last 400"),
            target=False,
        ).stdout
    end = sum(n <= machine.step for n, _ in recording.packets)
    expected = recording.expected(end - 512, end)
    printed = {name: int(count.replace(",", "")) for count, name in _CALLS.findall(output)}
    assert {name: printed[name] for name in HANDLERS} == entries(expected), output
    assert set(_KINDS.findall(output)) == set(expected), output
