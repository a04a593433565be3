"""What two readings of counters tell, and what they leave open: wraps, flags, a counter that stands."""

from __future__ import annotations

import dataclasses
from typing import Dict, FrozenSet, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.counters.cortexm.counter import (
    AT_LEAST,
    DIFFERS,
    HALTS,
    UNKNOWN,
    Counter,
    Reading,
    Tally,
    differences,
)
from gdb_prof.counters.counting import Width

CYCCNT = Counter("cyccnt", "DWT_CYCCNT", Width(32))
CPI = Counter("cpi", "DWT_CPICNT", Width(8))
SLEEPCNT = Counter("sleep", "DWT_SLEEPCNT", Width(8))
CCNTR = Counter("ccntr", "PMU_CCNTR", Width(32), flagged=True)
NARROW = Counter("INST_RETIRED", "PMU 0", Width(16), flagged=True)
WIDE = Counter("INST_RETIRED", "PMU 0+1", Width(32), flagged=True)
WIDE_TOO = Counter("STALL", "PMU 2+3", Width(32), flagged=True)
SOON_S = 0.001


def counted(
    counters: Tuple[Counter, ...],
    before: Tuple[int, ...],
    after: Tuple[int, ...],
    overflowed: FrozenSet[str] = frozenset(),
    ran_s: float = SOON_S,
    hz: Optional[int] = None,
) -> Dict[str, Tuple[int, bool]]:
    """By event the count and whether it is exact."""
    names = [counter.name for counter in counters]
    first, last = Reading(dict(zip(names, before))), Reading(dict(zip(names, after)), overflowed)
    found = differences(counters, first, last, ran_s, hz)
    return {figure.counter.name: (figure.count, figure.exact) for figure in found}


@pytest.mark.parametrize(
    ("cycles", "before", "after", "expected"),
    [
        (255, 10, 20, (10, True)),
        (255, 250, 4, (10, True)),  # over the end, once
        (255, 0, 255, (255, True)),
        (124, 0, 125, (125, False)),  # more than cycles: they stood meanwhile
        (256, 0, 0, (0, False)),  # 0, or 256
        (1000, 10, 20, (10, False)),
    ],
)
def test_eight_bits_are_exact_while_fewer_than_256_cycles_passed(
    cycles: int, before: int, after: int, expected: Tuple[int, bool]
) -> None:
    assert counted((CYCCNT, CPI), (7, before), (7 + cycles, after))["cpi"] == expected


def test_eight_bits_without_a_cycle_counter_are_only_known_modulo_256() -> None:
    assert counted((CPI,), (10,), (20,)) == {"cpi": (10, False)}


def test_cycles_go_over_the_end_of_32_bits() -> None:
    assert counted((CYCCNT,), (0xFFFFFFF0,), (0x10,)) == {"cyccnt": (0x20, True)}


@pytest.mark.parametrize(
    ("ran_s", "hz", "exact"),
    [
        (24.3, 168_000_000, True),  # 2^32 cycles take 25.57 s, 24.35 s where the oscillator is 5 % faster
        (24.4, 168_000_000, False),
        (2.1, None, True),  # at 2 GHz 2.147 s: no core is faster
        (2.2, None, False),
    ],
)
def test_cycles_are_exact_for_as_long_as_32_bits_last(ran_s: float, hz: Optional[int], exact: bool) -> None:
    assert counted((CYCCNT,), (0,), (100,), ran_s=ran_s, hz=hz) == {"cyccnt": (100, exact)}


@pytest.mark.parametrize(
    ("before", "after", "ran_s", "hz"),
    [
        (1000, 124, 0.004, None),  # the program has set it to 0: 2^32 - 876 come out
        (0, 745_032_704, 30.0, 4_000_000),  # 168 MHz: it has wrapped
        (0, 705_032_704, 0.0, 168_000_000),  # ran, and GDB has not seen it
    ],
)
def test_more_cycles_than_there_was_time_for_are_not_known(
    before: int, after: int, ran_s: float, hz: Optional[int]
) -> None:
    names = {"cyccnt": before, "cpi": 0}, {"cyccnt": after, "cpi": 3}
    cycles, cpi = differences((CYCCNT, CPI), Reading(names[0]), Reading(names[1]), ran_s, hz)
    assert (cycles.exact, cycles.doubt, cpi.exact) == (False, UNKNOWN, False)


@pytest.mark.parametrize(
    ("cycles", "asleep", "ran_s", "expected"),
    [
        (124, 0, 0.001, (0, False)),  # or 256
        (124, 100, 0.001, (100, False)),  # CYCCNT may have stood, and these are 356
        (124, 100, 0.000001, (100, True)),  # there was no time for 256
    ],
)
def test_sleep_is_exact_only_where_there_was_no_time_for_more(
    cycles: int, asleep: int, ran_s: float, expected: Tuple[int, bool]
) -> None:
    found = counted((CYCCNT, SLEEPCNT), (0, 0), (cycles, asleep), ran_s=ran_s, hz=168_000_000)
    assert found["sleep"] == expected


def test_where_cycles_may_have_wrapped_eight_bits_are_not_exact_either() -> None:
    found = counted((CYCCNT, CPI), (0, 0), (100, 3), ran_s=60, hz=168_000_000)
    assert found == {"cyccnt": (100, False), "cpi": (3, False)}


def test_a_cycle_counter_that_stands_while_the_program_runs_tells_nothing() -> None:
    found = counted((CYCCNT, CPI), (0x40000000, 1), (0x40000000, 3))
    assert found == {"cyccnt": (0, False), "cpi": (2, False)}
    assert counted((CYCCNT,), (7,), (7,), ran_s=0.0) == {"cyccnt": (0, True)}, "it did not run"


@pytest.mark.parametrize(
    ("before", "after", "flag", "expected"),
    [
        (0, 65535, False, (65535, True)),
        (60000, 65000, False, (5000, True)),
        (65000, 464, True, (1000, False)),  # 1000, or 66536
        (100, 200, True, (65636, False)),  # at least once round
    ],
)
def test_an_overflow_flag_tells_that_16_bits_have_wrapped(
    before: int, after: int, flag: bool, expected: Tuple[int, bool]
) -> None:
    flags = frozenset({"INST_RETIRED"}) if flag else frozenset()
    assert counted((CYCCNT, NARROW), (7, before), (65007, after), flags)["INST_RETIRED"] == expected


@pytest.mark.parametrize(
    ("cycles", "ran_s", "exact"), [(65_535, SOON_S, True), (65_536, SOON_S, False), (100, 60.0, False)]
)
def test_16_bits_are_exact_only_for_so_many_cycles_since_the_program_can_clear_a_flag(
    cycles: int, ran_s: float, exact: bool
) -> None:
    found = counted((CYCCNT, NARROW, WIDE_TOO), (0, 0, 0), (cycles, 50, 50), ran_s=ran_s)
    assert (found["INST_RETIRED"], found["STALL"]) == ((50, exact), (50, True)), "32 bits last"


def test_a_flagged_counter_that_went_back_without_its_flag_was_written() -> None:
    (figure,) = differences((WIDE,), Reading({"INST_RETIRED": 60}), Reading({"INST_RETIRED": 59}), 1, None)
    assert (figure.count, figure.exact, figure.doubt) == (59, False, UNKNOWN), "not 4,294,967,295"


@pytest.mark.parametrize("at", ["before", "after"])
def test_what_stands_at_an_end_is_a_lower_bound(at: str) -> None:
    frozen = frozenset({"INST_RETIRED"})
    first = Reading({"INST_RETIRED": 0}, frozen=frozen if at == "before" else frozenset())
    last = Reading({"INST_RETIRED": 70}, frozen=frozen if at == "after" else frozenset())
    (figure,) = differences((WIDE,), first, last, 1, None)
    assert (figure.count, figure.exact, figure.doubt) == (70, False, AT_LEAST)


@pytest.mark.parametrize("counter", [WIDE, CCNTR, dataclasses.replace(CCNTR, flagged=False)])
def test_what_may_have_stood_is_a_lower_bound_and_no_count_where_it_went_back(counter: Counter) -> None:
    frozen = frozenset({counter.name})
    for last, doubt in ((70_000, AT_LEAST), (59_000, UNKNOWN)):
        after = Reading({counter.name: last}, frozen=frozen)
        (figure,) = differences((counter,), Reading({counter.name: 60_000}), after, SOON_S, None)
        assert (figure.exact, figure.doubt) == (False, doubt)


@pytest.mark.parametrize(
    ("cyccnt", "ccntr", "expected"),
    [(130_020, 130_020, (True, "")), (90_000, 130_020, (False, DIFFERS))],  # it was set to 0 meanwhile
)
def test_two_counters_of_cycles_that_differ_are_neither_exact(
    cyccnt: int, ccntr: int, expected: Tuple[bool, str]
) -> None:
    after = Reading({"cyccnt": cyccnt, "ccntr": ccntr, "cpi": 3})
    counters = (CYCCNT, CCNTR, CPI)
    found = differences(counters, Reading({"cyccnt": 0, "ccntr": 0, "cpi": 0}), after, SOON_S, None)
    assert [(f.exact, f.doubt) for f in found] == [expected, expected, (False, "")]


def test_cycles_that_go_on_in_a_halt_are_not_exact_but_bound_the_rest() -> None:
    moving = dataclasses.replace(CYCCNT, moves=True)
    first, last = Reading({"cyccnt": 0, "cpi": 0}), Reading({"cyccnt": 200, "cpi": 3})
    found = differences((moving, CPI), first, last, SOON_S, None)
    assert [(f.count, f.exact, f.doubt) for f in found] == [(200, False, HALTS), (3, True, "")]


@pytest.mark.parametrize(
    ("seconds", "doubt"), [((SOON_S, SOON_S), HALTS), ((SOON_S, 60.0), ""), ((60.0, SOON_S), "")]
)
def test_nor_is_their_sum_which_may_have_wrapped_as_well(seconds: Tuple[float, float], doubt: str) -> None:
    tally = Tally((dataclasses.replace(CYCCNT, moves=True),), Reading({"cyccnt": 0}))
    for n, ran_s in enumerate(seconds, 1):
        tally.add(Reading({"cyccnt": 100 * n}), ran_s, None)
    assert [(f.count, f.exact, f.doubt) for f in tally.figures] == [(200, False, doubt)]


def test_cycles_with_a_flag_need_no_clock() -> None:
    assert counted((CCNTR,), (0xFFFFFFF0,), (0x10,), frozenset({"ccntr"}), ran_s=60) == {
        "ccntr": (0x20, False)
    }
    assert counted((CCNTR,), (0xFFFFFFF0,), (0x10,), frozenset({"ccntr"})) == {"ccntr": (0x20, True)}, "once"
    assert counted((CCNTR,), (0x10,), (0xFFFFFFF0,), ran_s=60) == {"ccntr": (0xFFFFFFE0, True)}


def test_eight_bits_go_by_the_cycle_counter_that_is_exact() -> None:
    found = counted((CYCCNT, CCNTR, CPI), (0x40000000, 0, 0), (0x40000000, 200, 3))
    assert found == {"cyccnt": (0, False), "ccntr": (200, True), "cpi": (3, True)}


def test_two_joined_counters_are_exact_whatever_the_cycles() -> None:
    assert counted((WIDE,), (0,), (70_000,)) == {"INST_RETIRED": (70_000, True)}


def test_readings_that_come_soon_enough_add_up_over_many_wraps() -> None:
    tally = Tally((CYCCNT, CPI), Reading({"cyccnt": 0, "cpi": 0}))
    for n in range(1, 11):
        tally.add(Reading({"cyccnt": 200 * n, "cpi": 100 * n % 256}), SOON_S, None)
    assert [(f.count, f.exact) for f in tally.figures] == [(2000, True), (1000, True)]


def test_one_interval_that_was_too_long_leaves_the_sum_open() -> None:
    tally = Tally((CYCCNT, CPI), Reading({"cyccnt": 0, "cpi": 0}))
    tally.add(Reading({"cyccnt": 300, "cpi": 44}), SOON_S, None)
    tally.add(Reading({"cyccnt": 400, "cpi": 50}), SOON_S, None)
    assert [(f.count, f.exact) for f in tally.figures] == [(400, True), (50, False)]


def test_a_doubt_of_one_interval_is_one_of_the_sum() -> None:
    tally = Tally((CYCCNT,), Reading({"cyccnt": 1000}))
    for value in (100, 200):
        tally.add(Reading({"cyccnt": value}), SOON_S, None)
    assert [(f.exact, f.doubt) for f in tally.figures] == [(False, UNKNOWN)]


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 10_000))
def test_what_is_called_exact_is_the_truth(start: int, cycles_more: int, cycles: int) -> None:
    """A counter of at most one a cycle, whatever it began with."""
    events = min(cycles, cycles_more * 40)
    found = counted((CYCCNT, CPI), (5, start), (5 + cycles, (start + events) % 256))
    count, exact = found["cpi"]
    assert count == events if exact else (events - count) % 256 == 0
