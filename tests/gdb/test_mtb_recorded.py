"""Buffers in the MTB's format, made of what QEMU executed on a Cortex-M0, decoded back to its branches and
instructions. The truth is the log itself."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import List, NamedTuple, Optional, Sequence, Tuple

import pytest

import running
from gdb_prof.counters.mtb.coverage import by_function
from gdb_prof.counters.mtb.packets import BRANCH, EXCEPTION, RETURN, Branch, branches, packets
from gdb_prof.counters.mtb.ranges import executed
from gdb_prof.counters.trace_buffer import Buffer
from mtb_program import ElfProgram
from mtb_stream import ENTERED, EXECUTED, RETURNED, Packet, Sizes, Step, Trace, packets_of, recorded
from running import elf, functions_of

BOARD = "microbit"
START = 0x20001000
EXCEPTION_RETURN = 0xFFFFFFF9
"""As mtb_stream writes it, before bit 0 becomes another bit."""


class Log(NamedTuple):
    """A program, and the way it went: what a test traces a part of."""

    program: str
    number: int
    commands: Tuple[str, ...] = ()


PLAIN = Log("three_loops", 40_000)
CALLS = Log("recursive", 40_000)
PENDED = Log("foreign_isr", 40_000)
"""Its interrupts come after one and the same instruction."""
TIMED = Log("three_loops", 150_000, ("prof start -period 193",))
"""Its interrupts come anywhere: SysTick, every 12,000 instructions and a random number more."""
LOGS = (PLAIN, CALLS, PENDED, TIMED)
of_each_log = pytest.mark.parametrize(
    "log", LOGS, ids=lambda log: log.program + ("_timed" if log.commands else "")
)


@functools.lru_cache(maxsize=None)
def way(log: Log) -> Tuple[Step, ...]:
    """Up to the end of the last exception, since where one goes back to is known only then."""
    steps = recorded(elf(log.program, BOARD), BOARD, log.number, log.commands)
    assert len(steps) == log.number
    depth = 0
    for step in steps:
        depth += {ENTERED: 1, RETURNED: -1}.get(step.kind, 0)
    assert depth in (0, 1)
    if depth:
        del steps[max(n for n, step in enumerate(steps) if step.kind == ENTERED) :]
    return tuple(steps)


@functools.lru_cache(maxsize=None)
def written(log: Log) -> "list[tuple[int, Packet]]":
    return packets_of(way(log), Sizes(elf(log.program, BOARD)))


class Traced(NamedTuple):
    """A buffer after tracing of some steps; `first` and `last`: the steps that the oldest packet that it
    still holds, and its newest, led to."""

    trace: Trace
    steps: Sequence[Step]
    first: int
    last: int

    def decoded(self) -> Tuple[Branch, ...]:
        size = self.trace.size
        buffer = Buffer(START, size, START + self.trace.position, self.trace.wrapped)
        parts = ((start - START, length) for start, length in buffer.parts())
        return branches(packets(b"".join(self.trace.content[at : at + length] for at, length in parts)))


def traced(log: Log, size: int, most: Optional[int] = None) -> Traced:
    """`most`: tracing goes on for so many packets only."""
    packets_then = written(log)[:most]
    trace = Trace(size)
    for _, packet in packets_then:
        trace.add(packet)
    held = packets_then[-(size // 8) :]
    return Traced(trace, way(log), held[0][0] if held else 0, held[-1][0] if held else 0)


@functools.lru_cache(maxsize=None)
def truth(log: Log) -> List[Branch]:
    """What the log has of changes of the PC. An exception's handler is what was executed next; it came
    before the instruction that was executed after its return."""
    sizes, steps = Sizes(elf(log.program, BOARD)), way(log)
    found: List[Branch] = []
    for n, (step, following) in enumerate(zip(steps, steps[1:]), 1):
        if step.kind == EXECUTED:
            goes_on = step.address + sizes(step.address)
            resumed = following.address if following.kind == EXECUTED else None
            if following.kind == ENTERED:
                resumed = _after_return(steps, n)
            if resumed is not None and resumed != goes_on:
                found.append(Branch(BRANCH, step.address, resumed))
        elif step.kind == ENTERED:
            found.append(Branch(EXCEPTION, _after_return(steps, n - 1), following.address))
        else:
            found.append(Branch(RETURN, steps[n - 2].address, following.address))
    return found


def _after_return(steps: Sequence[Step], entry: int) -> int:
    """None of these programs' exceptions nest."""
    returned = next(n for n in range(entry, len(steps)) if steps[n].kind == RETURNED)
    return steps[returned + 1].address


@of_each_log
def test_the_logs_have_what_the_tests_are_about(log: Log) -> None:
    kinds = collections.Counter(step.kind for step in way(log))
    assert kinds[ENTERED] == kinds[RETURNED]
    places = {_after_return(way(log), n) for n, step in enumerate(way(log)[:-1]) if step.kind == ENTERED}
    assert len(places) >= {PENDED: 1, TIMED: 5}.get(log, 0)
    assert bool(places) == (log in (PENDED, TIMED))


@of_each_log
def test_a_buffer_that_holds_all_is_decoded_to_the_logs_branches(log: Log) -> None:
    found = traced(log, 1 << 21)
    assert not found.trace.wrapped
    decoded = [Branch(b.kind, b.source, b.destination) for b in found.decoded()]
    assert decoded == truth(log), log
    assert [b.started for b in found.decoded()] == [n == 0 for n in range(len(decoded))]


@pytest.mark.parametrize("turn", range(16))
@of_each_log
def test_a_wrapped_buffer_is_decoded_to_the_last_branches_at_each_rotation(log: Log, turn: int) -> None:
    """Of 16 packets. Tracing ends a little before the last exception's return, within it, or after it."""
    returns = [n for n, (_, packet) in enumerate(written(log)) if packet.destination == EXCEPTION_RETURN]
    number = (returns[-1] if returns else 9000) - 4 + turn
    found = traced(log, 128, number)
    assert found.trace.wrapped and found.trace.position == number % 16 * 8
    decoded = list(found.decoded())
    # each packet is a branch, but for the second ones of exceptions' returns
    before = sum(packet.source != EXCEPTION_RETURN for _, packet in written(log)[: number - 16])
    expected = truth(log)[before:][: len(decoded)]
    if written(log)[number - 16][1].source == EXCEPTION_RETURN:  # its first packet is overwritten
        before -= 1
        expected = [dataclasses.replace(truth(log)[before], source=None), *expected[:-1]]
    if written(log)[number - 1][1].destination == EXCEPTION_RETURN:  # its second one is not written yet
        expected[-1] = dataclasses.replace(expected[-1], destination=None)
    assert decoded == expected
    assert 16 - 3 <= len(decoded) <= 16


def test_an_empty_buffer_has_no_branch() -> None:
    assert traced(PLAIN, 128, 0).decoded() == ()


@pytest.mark.parametrize(("number", "held", "wrapped"), [(15, 15, False), (16, 16, True), (17, 16, True)])
def test_a_buffer_that_is_just_full_has_wrapped_by_the_hardwares_word(
    number: int, held: int, wrapped: bool
) -> None:
    found = traced(PLAIN, 128, number)
    assert (len(found.decoded()), found.trace.wrapped) == (held, wrapped)
    assert list(found.decoded())[-held:] == [
        Branch(b.kind, b.source, b.destination, n == 0 and number <= 16)
        for n, b in enumerate(truth(PLAIN)[number - held : number])
    ]


# -- instructions --------------------------------------------------------------------


@pytest.mark.parametrize("size", [1 << 7, 1 << 10, 1 << 14, 1 << 21])
@of_each_log
def test_the_instructions_of_the_window_are_the_logs_one_by_one(log: Log, size: int) -> None:
    found = traced(log, size)
    program = ElfProgram(elf(log.program, BOARD))
    measured = executed(found.decoded(), program)
    window = [s.address for s in found.steps[found.first : found.last] if s.kind == EXECUTED]
    assert (measured.left_out, measured.gaps, measured.tail) == ((), 0, None)
    assert measured.counts == collections.Counter(window)
    by_name = {row.name: row.instructions for row in by_function(measured, found.decoded(), program)}
    assert by_name == dict(running.by_function(window, functions_of(elf(log.program, BOARD))))


@of_each_log
def test_up_to_the_pc_it_is_all_that_ran(log: Log) -> None:
    found = traced(log, 1 << 10)
    last = found.steps[-1]
    assert last.kind == EXECUTED, "it is the one at the PC"
    measured = executed(found.decoded(), ElfProgram(elf(log.program, BOARD)), last.address)
    ran = [s.address for s in found.steps[found.first : -1] if s.kind == EXECUTED]
    assert measured.counts == collections.Counter(ran)
    assert measured.tail == len(found.steps) - 1 - found.last


@of_each_log
def test_functions_are_entered_and_covered_as_the_log_has_it(log: Log) -> None:
    found = traced(log, 1 << 21)
    program = ElfProgram(elf(log.program, BOARD))
    rows = {
        row.name: row for row in by_function(executed(found.decoded(), program), found.decoded(), program)
    }
    window = found.steps[found.first : found.last + 1]
    sizes = Sizes(elf(log.program, BOARD))
    for name, (start, end) in functions_of(elf(log.program, BOARD)).items():
        own = {s.address for s in window[:-1] if s.kind == EXECUTED and start <= s.address < end}
        if not own:
            assert name not in rows
            continue
        assert rows[name].covered == len(own)
        entries = sum(
            s.kind == EXECUTED and s.address == start and _led_here(window, n, sizes)
            for n, s in enumerate(window)
        )
        assert rows[name].calls == entries, name


def _led_here(window: Sequence[Step], n: int, sizes: Sizes) -> bool:
    """By a branch or an exception, not from the instruction before, nor by a return from one."""
    before = window[n - 1] if n else None
    if before is None or before.kind == ENTERED:
        return True
    return before.kind == EXECUTED and before.address + sizes(before.address) != window[n].address


@pytest.mark.parametrize("other", ["foreign_isr", "recursive", "three_loops_o2"])
def test_another_programs_trace_is_seen_as_such(other: str) -> None:
    measured = executed(traced(PLAIN, 1 << 14).decoded(), ElfProgram(elf(other, BOARD)))
    assert measured.left_out
