"""Records -> counts by task, time, lanes: what belongs to whom, and what is said where it is not certain."""

from __future__ import annotations

import dataclasses
import re
from typing import Dict, Mapping, Sequence, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpu_builder import COUNTED, MODULUS, capture, packed, rows
from gdb_prof.counters.dpu.capture import Counter
from gdb_prof.counters.dpu.decode import GIVEN, decode
from gdb_prof.counters.dpu.tasks import Facts, analysed
from gdb_prof.counters.dpu.tasks_text import View, report, words

Rows = Sequence[Tuple[int, ...]]


def facts(
    records: Rows, counters: Mapping[str, Counter] = COUNTED, task_id: str = "incoming", kind: str = "task"
) -> Facts:
    raw = packed(records)
    found = capture(raw, len(raw), False, GIVEN)
    found = dataclasses.replace(found, task_id=task_id, kind=kind, counters=counters)
    return analysed(decode(found), counters)


def by_task(found: Facts) -> Dict[int, Tuple[int, ...]]:
    """Task -> runs, cycles, misses."""
    return {row.task: (row.runs, *row.counts) for row in found.rows}


def shown(found: Facts, width: int = 80, **view: object) -> str:
    return report(found, dataclasses.replace(View(width, 20, 20), **view))


def remark(found: Facts, word: str) -> str:
    said = [text for text in found.remarks if word in text]
    assert len(said) == 1, found.remarks
    return said[0]


# -- whose it is -------------------------------------------------------------------------

STEPS = [(1, 100, 10), (2, 50, 0), (2, 25, 5), (1, 10, 1)]


def test_what_two_records_differ_by_is_the_first_ones_whose_task_begins() -> None:
    assert by_task(facts(rows(STEPS))) == {1: (2, 110, 11), 2: (1, 75, 5)}


def test_or_the_second_ones_where_the_task_that_ends_is_recorded() -> None:
    ended = [(9, *row[1:]) if n == 0 else (STEPS[n - 1][0], *row[1:]) for n, row in enumerate(rows(STEPS))]
    assert by_task(facts(ended, task_id="outgoing")) == {9: (1, 0, 0), 1: (2, 110, 11), 2: (1, 75, 5)}


def test_a_switch_is_from_one_task_to_another_and_a_jump_is_none() -> None:
    assert facts(rows(STEPS)).switches == 2


def test_a_samples_counts_are_no_tasks() -> None:
    found = facts(rows(STEPS), kind="sample")
    assert found.rows == () and found.times == (0, 100, 150, 175, 185)
    assert "from the first to the last  cycles  dcache_miss" in shown(found)


@pytest.mark.parametrize("records", [[], rows([(1, 5, 5)])[:1]])
def test_of_less_than_two_records_there_is_nothing_to_tell(records: Rows) -> None:
    found = facts(records)
    assert found.rows == () and found.times == (0,)
    assert ("nothing was recorded" in shown(found)) == (not records)


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 2**29), st.integers(0, 2**20)), min_size=1, max_size=40
    )
)
@settings(deadline=None)
def test_the_sums_are_the_steps(steps: "list[Tuple[int, int, int]]") -> None:
    found = facts(rows(steps, [1000] * 6))
    expected: Dict[int, Tuple[int, int]] = {}
    for task, cycles, misses in steps:
        before = expected.get(task, (0, 0))
        expected[task] = before[0] + cycles, before[1] + misses
    assert {task: row[1:] for task, row in by_task(found).items()} == expected
    assert found.times[-1] == sum(cycles for _, cycles, _ in steps)


# -- 31 bits -----------------------------------------------------------------------------

PAIR = {
    "A1": Counter("overflow", "oneshot", "mark", "none", "any"),
    "A2": Counter("cycles", "extended", "mark", "none", "any"),
}


def test_a_counter_that_wraps_between_two_records_is_right() -> None:
    found = facts(rows([(1, 700, 0)], [300, 0, 0, 0, 0, 0]))
    assert found.times == (0, 700) and not found.remarks[1:]


def test_up_to_2_to_the_31_is_right_and_said() -> None:
    found = facts(rows([(1, MODULUS - 1, 1), (1, 5, 1)]))
    assert found.times == (0, MODULUS - 1, MODULUS + 4)
    assert remark(found, "2^30") == (
        "A0 counts more than 2^30 in 1 step, at record 1 first: modulo 2^31, or set anew there"
    )


def test_more_is_right_where_another_counter_counts_the_overflows() -> None:
    """A2 counts cycles, and A1 its overflows: 3 * 2^31 + 5 cycles, from 9 on."""
    records = [(1, 0, 100, 9, 0, 0, 0), (1, 0, 97, 4, 0, 0, 0)]
    found = facts(records, PAIR)
    assert found.times == (0, 3 * MODULUS + 5)
    assert [column.counter for column in found.columns] == ["A2"]


def test_so_many_in_a_step_are_not_doubted_then() -> None:
    records = [(1, 0, 100, 9, 0, 0, 0), (1, 0, 99, 9 + 12345, 0, 0, 0)]
    found = facts(records, PAIR)
    assert found.times[-1] == MODULUS - 12345
    assert found.remarks == ("A0, B0, B1, B2 did not move: left out",)


def paired(high: Counter = PAIR["A1"], low: Counter = PAIR["A2"]) -> Mapping[str, Counter]:
    return {"A1": high, "A2": low}


def but(counter: Counter, **other: str) -> Counter:
    return dataclasses.replace(counter, **other)


HIGH, LOW = PAIR["A1"], PAIR["A2"]


@pytest.mark.parametrize(
    ("counters", "why"),
    [
        (paired(but(HIGH, starts="watchpoint")), "A1 starts by another event than A2"),
        (paired(but(HIGH, starts="none")), "A1 starts by another event than A2"),
        (paired(but(HIGH, stops="debugev")), "A1 stops by another event than A2"),
        (paired(but(HIGH, filter="user")), "A1 has a filter, user"),
        (
            paired(low=but(LOW, mode="trace")),
            "A1 has none to count: A2 is in mode trace, not extended",
        ),
    ],
)
def test_overflows_that_are_not_all_counted_give_a_lower_bound_and_no_time(
    counters: Mapping[str, Counter], why: str
) -> None:
    """2^31 + 100 cycles, and A1 has counted no overflow."""
    found = facts([(1, 0, 50, 900, 0, 0, 0), (2, 0, 50, 800, 0, 0, 0)], counters)
    assert remark(found, "lower bound") == "A2: lower bound, %s: that is no time" % why
    assert found.clock is None and by_task(found)[1][-1] == 100
    text = shown(found)
    assert all(word not in text for word in ("share", "per 1,000", "|", " %", "right while"))


@pytest.mark.parametrize(
    "high",
    [HIGH, but(HIGH, starts="immediate"), but(HIGH, mode="trace"), but(HIGH, mode="")],
)
def test_one_that_counts_whenever_the_other_does_counts_all(high: Counter) -> None:
    low = but(LOW, starts="mark", filter="any")
    found = facts([(1, 0, 50, 900, 0, 0, 0), (2, 0, 49, 800, 0, 0, 0)], paired(high, low))
    assert found.times == (0, MODULUS + 100) and found.remarks == ("A0, B0, B1, B2 did not move: left out",)


def test_the_other_ones_filter_and_stop_are_its_own_affair() -> None:
    """A1 counts its overflows, whichever they are; but these are not everybody's cycles."""
    low = but(LOW, filter="user", stops="debugev")
    found = facts([(1, 0, 50, 900, 0, 0, 0), (2, 0, 48, 800, 0, 0, 0)], paired(HIGH, low))
    assert by_task(found) == {1: (1, 2 * MODULUS + 100), 2: (1, 0)}
    assert found.clock is None and not any("lower bound" in text for text in found.remarks)


def test_nor_are_they_too_many_for_a_time_of_31_bits() -> None:
    counters = {"A0": Counter("cycles", "trace", "mark"), **paired(HIGH, but(LOW, filter="user"))}
    found = facts([(1, 900, 50, 900, 0, 0, 0), (2, 800, 49, 800, 0, 0, 0)], counters)
    assert by_task(found)[1] == (1, 100, MODULUS + 100) and found.clock == 0
    assert not any("goes up" in text for text in found.remarks)


def test_steps_beyond_2_to_the_30_that_are_counted_make_up_for_no_step_that_is_none() -> None:
    """2 of 60 records are garbled, and that is too many."""
    records = [(1, 0, 500 - 3 * n, 900, 1000 - n, 0, 0) for n in range(61)]
    assert facts(records, PAIR).doubted is False
    for n in (20, 40):
        records[n] = (*records[n][:4], 5, 0, 0)
    assert facts(records, PAIR).doubted is True


@pytest.mark.parametrize("mode", ["oneshot", ""])
def test_a_counter_of_overflows_that_has_come_to_0_has_missed_some(mode: str) -> None:
    records = [(1, 0, 2, 900, 0, 0, 0), (2, 0, 0, 800, 0, 0, 0), (1, 0, 0, 850, 0, 0, 0)]
    found = facts(records, paired(but(HIGH, mode=mode)))
    assert remark(found, "A2: lower bound") == (
        "A2: lower bound, A1 has come to 0 at record 1, where it stops: that is no time"
    )
    assert found.clock is None


def test_one_that_goes_on_at_0_has_not() -> None:
    records = [(1, 0, 1, 900, 0, 0, 0), (2, 0, 0, 800, 0, 0, 0), (1, 0, MODULUS - 1, 850, 0, 0, 0)]
    found = facts(records, paired(but(HIGH, mode="trace")))
    assert found.times == (0, MODULUS + 100, 2 * MODULUS + 50)


def test_overflows_that_contradict_are_named_and_not_used() -> None:
    found = facts([(1, 0, 100, 9, 0, 0, 0), (1, 0, 100, 20, 0, 0, 0)], PAIR)
    assert remark(found, "lower bound") == (
        "A2: lower bound, A1 does not count its overflows in 1 of 1 step: that is no time"
    )


def test_what_is_not_known_of_a_pair_is_taken_to_fit_and_said() -> None:
    """As of a file that has the bytes alone, with a user's -counts."""
    records = [(1, 0, 100, 9, 0, 0, 0), (1, 0, 97, 4, 0, 0, 0)]
    found = facts(records, {"A1": Counter("overflow"), "A2": Counter("cycles")})
    assert found.times == (0, 3 * MODULUS + 5)
    assert remark(found, "taken") == (
        "A1 is taken to count all overflows of A2: how they start and stop, or a filter, is not known"
    )


def test_a_oneshot_counter_has_no_overflows_and_is_whole_without() -> None:
    found = facts([(1, 0, 50, 900, 0, 0, 0), (2, 0, 50, 800, 0, 0, 0)], paired(low=but(LOW, mode="oneshot")))
    assert found.times == (0, 100) and "A2 cycles (time)" in shown(found)
    assert not any("lower bound" in text for text in found.remarks)


def test_time_is_rather_what_counts_beyond_31_bits() -> None:
    records = [(1, 1000, 50, 900, 0, 0, 0), (2, 900, 49, 800, 0, 0, 0)]
    found = facts(records, {"A0": Counter("cycles", "trace", "mark"), **PAIR})
    assert found.times == (0, MODULUS + 100)
    assert not any("goes up" in text for text in found.remarks)
    assert remark(found, "A0") == (
        "A0 may have wrapped, and counted more, in the longest steps: of 2,147,483,748 cycles"
    )


def test_cycles_that_are_no_time_may_be_many_in_a_step() -> None:
    found = facts(rows([(1, MODULUS - 5, 0), (2, 7, 0)]), {"A0": Counter("cycles", "trace", filter="user")})
    assert by_task(found)[1] == (1, MODULUS - 5)
    assert remark(found, "2^30").endswith("modulo 2^31, or set anew there")


# -- fields of more bits and of fewer ----------------------------------------------------


def narrow(layout: str, records: Rows, counters: Mapping[str, Counter] = COUNTED) -> Facts:
    """What is told of records that a layout of other sizes holds, as far as its fields reach."""
    sizes = [int(field.split(":")[1]) for field in layout.split()]
    raw = b"".join(
        (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        for record in records
        for value, size in zip(record, sizes)
    )
    found = dataclasses.replace(capture(raw, len(raw), False, GIVEN), counters=counters)
    return analysed(decode(found, layout=layout), counters)


@pytest.mark.parametrize(("size", "most"), [(1, 120), (2, 30_000), (4, 1 << 29), (8, 1 << 29)])
def test_a_counter_of_any_field_counts_modulo_its_bits(size: int, most: int) -> None:
    """Across the field's wraps, and across the 31 bits' in one that is wide enough."""
    steps = [(1 + n % 2, most - n, n % 3) for n in range(40)]
    found = narrow("task:4 A0:%d A1:4" % size, [row[:3] for row in rows(steps)])
    assert found.times[-1] == sum(cycles for _, cycles, _ in steps)
    assert {task: row[1:] for task, row in by_task(found).items()} == {
        task: tuple(sum(step[n] for step in steps if step[0] == task) for n in (1, 2)) for task in (1, 2)
    }
    assert found.decoded.remarks == () and found.remarks == () and not found.doubted
    bound = "time: right while each step is below 2^%d cycles\n" % min(31, 8 * size)
    assert bound in shown(found)


@pytest.mark.parametrize(("size", "most"), [(1, 250), (2, 60_000)])
def test_steps_of_more_than_half_a_narrow_field_are_not_doubted(size: int, most: int) -> None:
    found = narrow("task:4 A0:%d" % size, [row[:2] for row in rows([(1, most, 0), (2, most - 1, 0)] * 50)])
    assert by_task(found) == {1: (50, 50 * most), 2: (50, 50 * (most - 1))}
    assert found.decoded.remarks == () and found.remarks == () and not found.doubted


def test_a_narrow_time_is_no_measure_of_other_counts() -> None:
    found = narrow("task:4 A0:1 A1:1", [row[:3] for row in rows([(1, 256 + 10, 200), (2, 7, 3)])])
    assert by_task(found) == {1: (1, 10, 200), 2: (1, 7, 3)}
    assert found.remarks == ()


def test_how_far_narrow_counts_go_is_said_also_of_what_is_no_time() -> None:
    found = narrow("task:4 A0:4 A1:2", [row[:3] for row in rows([(1, 5000, 4000), (2, 60_000, 5000)])])
    assert by_task(found) == {1: (1, 5000, 4000), 2: (1, 60_000, 5000)}
    text = shown(found)
    assert (
        "time: right while each step is below 2^31 cycles\ncounts: right while each step is A1 below 2^16\n"
        in text
    )


def test_the_lower_bits_of_a_oneshot_counter_may_go_up() -> None:
    steps = [(1 + n % 2, 100, 0) for n in range(9)]
    counters = {"A0": Counter("cycles", "oneshot", "mark")}
    found = narrow("task:4 A0:1", [row[:2] for row in rows(steps)], counters)
    assert found.times[-1] == 900 and found.remarks == ()


@pytest.mark.parametrize(
    ("layout", "wraps", "why"),
    [
        ("task:4 A0:4 A1:1 A2:4", (100, 97), ""),
        ("task:4 A0:4 A1:1 A2:4", (97, 100), "A1 does not count its overflows in 1 of 1 step"),
        ("task:4 A0:4 A1:4 A2:2", (100, 97), "A1 counts overflows of 31 bits, and a record has fewer"),
    ],
)
def test_overflows_are_of_31_bits_of_which_a_field_may_have_fewer(
    layout: str, wraps: Tuple[int, int], why: str
) -> None:
    found = narrow(layout, [(1, 0, wraps[0], 900), (2, 0, wraps[1], 800)], PAIR)
    assert found.times[1:] == (() if why else (3 * MODULUS + 100,))
    said = [text for text in found.remarks if "lower bound" in text]
    assert said == (["A2: lower bound, %s: that is no time" % why] if why else [])


def test_a_narrow_field_that_wraps_is_not_doubted_for_overflows_that_are_not_in_it() -> None:
    records = [(1, 0, 50, 60_000 - 30_000 * n) for n in range(9)]
    assert narrow("task:4 A0:4 A1:4 A2:2", records, PAIR).decoded.remarks == ()


# -- bits above ---------------------------------------------------------------------------


def test_bits_above_the_31_are_named() -> None:
    records = [(row[0], row[1] | MODULUS, *row[2:]) for row in rows(STEPS)]
    found = facts(records)
    assert found.times[-1] == 185
    assert "A0 has more than 31 bits in 5 records" in remark(found, "31 bits")


# -- what cannot be ----------------------------------------------------------------------


def test_events_that_outnumber_the_cycles_are_a_counter_that_went_up() -> None:
    records = [(1, 900, 15, 0, 0, 0, 0), (1, 800, 5, 0, 0, 0, 0), (1, 700, 500, 0, 0, 0, 0)]
    found = facts(records)
    assert "A1 goes up in 1 step, at record 2 first" in remark(found, "goes up")
    assert found.columns[1].lost == {1}
    assert shown(found).splitlines()[-2].split()[-1] == "?"


def test_a_oneshot_counter_never_goes_up() -> None:
    records = [(1, 100, 50, 0, 0, 0, 0), (1, 60, 60, 0, 0, 0, 0), (1, 40, 30, 0, 0, 0, 0)]
    counters = {"A0": Counter("cycles", "trace", "mark"), "A1": Counter("dcache_miss", "oneshot", "mark")}
    found = facts(records, counters)
    assert "A1 goes up in 1 step, at record 1 first" in remark(found, "goes up")
    assert found.columns[1].counts == (0, 30)


@pytest.mark.parametrize("mode", ["oneshot", ""])
def test_one_that_has_reached_0_gives_a_lower_bound(mode: str) -> None:
    records = [(1, 900, 50, 0, 0, 0, 0), (1, 800, 0, 0, 0, 0, 0), (1, 700, 0, 0, 0, 0, 0)]
    counters = {"A0": Counter("cycles", "trace", "mark"), "A1": Counter("dcache_miss", mode, "mark")}
    assert remark(facts(records, counters), "lower bound").startswith("A1 stands at 0 from record 1 on")


def test_of_a_oneshot_counter_one_0_is_enough() -> None:
    records = [(1, 900, 50, 0, 0, 0, 0), (1, 800, 0, 0, 0, 0, 0)]
    counters = {"A0": Counter("cycles", "trace", "mark"), "A1": Counter("dcache_miss", "oneshot", "mark")}
    assert remark(facts(records, counters), "lower bound").startswith("A1 stands at 0 from record 1 on")
    unknown = facts(records, {**counters, "A1": Counter("dcache_miss", "", "mark")})
    assert not any("lower bound" in text for text in unknown.remarks)


ENDED = [(1, 300, 900, 0, 0, 0, 0), (2, 0, 500, 0, 0, 0, 0), (1, 0, 100, 0, 0, 0, 0)]


def test_one_that_has_reached_0_is_no_time() -> None:
    found = facts(ENDED, {"A0": Counter("cycles", "oneshot", "mark")})
    assert found.clock is None
    assert remark(found, "lower bound").endswith("its figures are then a lower bound, and no time")
    assert "share" not in shown(found)


def test_another_counter_that_goes_on_is_time_then() -> None:
    counters = {"A0": Counter("cycles", "oneshot", "mark"), "A1": Counter("cycles", "trace", "mark")}
    found = facts(ENDED, counters)
    assert found.clock == 1 and found.times == (0, 400, 800)


def test_where_steps_hold_other_things_there_are_counts_and_no_shares() -> None:
    raw = packed(rows(STEPS))
    mixed = dataclasses.replace(capture(raw, len(raw), False, GIVEN), mixed=True, remarks=("paused",))
    text = shown(analysed(decode(mixed), COUNTED), hz=1e6)
    assert re.search(r"^1 +2 +110 +11$", text, re.M) and "! paused" in text
    assert "not all steps are what they seem (!): no shares, no lanes" in text
    assert all(word not in text.replace("no shares", "") for word in ("share", "per 1,000", "|", " %"))


def test_nor_where_too_many_steps_are_none_that_records_make() -> None:
    """One record in 60 may be garbled, and two may not."""
    few, many = ([*rows(STEPS * 15)] for _ in range(2))
    few[20] = (1, few[20][1], 5, *few[20][3:])
    many[20], many[40] = few[20], (1, many[40][1], 5, *many[40][3:])
    assert [facts(records).doubted for records in (few, many)] == [False, True]
    assert "share" in shown(facts(few)) and "no shares, no lanes" in shown(facts(many))


def test_how_far_a_time_goes_is_said_where_nothing_counts_its_overflows() -> None:
    found = facts(rows(STEPS))
    assert "time: right while each step is below 2^31 cycles\n" in shown(found)
    assert "time: right while each step is below 2^31 cycles (2.15 s)\n" in shown(found, hz=1e9)
    records = [(1, 0, 100, 9, 0, 0, 0), (1, 0, 97, 4, 0, 0, 0)]
    for without in (facts(rows(STEPS), {}), facts(records, PAIR)):
        assert "right while" not in shown(without)


def test_ids_without_end_are_named() -> None:
    assert "300 different IDs of tasks in 301 records" in remark(
        facts(rows([(n, 10, 0) for n in range(300)])), "different IDs"
    )


def test_tasks_that_have_no_name_among_those_that_have() -> None:
    assert "! 3 records of tasks without a name: 1" in shown(facts(rows(STEPS)), names={2: "io"})


# -- time --------------------------------------------------------------------------------


def test_without_a_counter_of_cycles_there_is_no_time() -> None:
    found = facts(rows(STEPS), {})
    assert found.clock is None
    text = shown(found)
    assert "no counter is known to count cycles: no times, no lanes (-counts A0=cycles)" in text
    assert "share" not in text and "|" not in text and "at cycles" not in text


def test_application_cycles_are_time_without_the_idle() -> None:
    found = facts(rows(STEPS), {"A0": Counter("application_cycles")})
    assert found.times[-1] == 185
    assert "time is by application_cycles: what was spent in wait and stop is not in it" in found.remarks


def test_cycles_come_before_application_cycles() -> None:
    found = facts(rows(STEPS), {"A0": Counter("application_cycles"), "A1": Counter("cycles")})
    assert found.clock == 1 and found.times[-1] == 16


def test_a_counter_that_counts_one_filters_cycles_is_no_time() -> None:
    found = facts(rows(STEPS), {"A0": Counter("cycles", "trace", "mark", filter="user")})
    assert found.clock is None
    assert remark(found, "A0 counts") == "A0 counts user alone: that is no time"
    text = shown(found)
    assert re.search(r"^task +runs +cycles \(user\) ", text, re.M) and "share" not in text
    assert "no counter counts all cycles: no times, no lanes" in text and "|" not in text


def test_nor_is_one_that_an_event_stops() -> None:
    found = facts(rows(STEPS), {"A0": Counter("cycles", "trace", "mark", "debugev", "any")})
    assert found.clock is None and by_task(found)[1] == (2, 110, 11)
    assert remark(found, "A0 counts") == (
        "A0 counts from mark to debugev: what ran outside has none of it: that is no time"
    )


def test_one_that_counts_all_cycles_comes_before_those() -> None:
    parts = Counter("cycles", filter="user"), Counter("cycles", stops="none", filter="any")
    found = facts(rows(STEPS), dict(zip(("A0", "A1"), parts)))
    assert found.clock == 1 and [c.label for c in found.columns] == ["cycles (A0, user)", "cycles (A1)"]


def test_what_ran_before_the_counter_of_cycles_had_started_has_no_time() -> None:
    found = facts(rows([(1, 0, 0), (2, 0, 0), (1, 100, 5), (2, 50, 1)]))
    assert remark(found, "nothing before") == (
        "A0 counted nothing before record 2: it had not started (mark), and what ran has no time"
    )


@pytest.mark.parametrize(
    ("hz", "ms"),
    [(1000.0, "110.000"), (1e6, "0.110"), (8e6, "0.0138"), (3e8, "0.000367"), (1e9, "0.000110")],
)
def test_a_clock_makes_milliseconds_of_so_many_digits_that_a_cycle_shows(hz: float, ms: str) -> None:
    line = next(line for line in shown(facts(rows(STEPS)), hz=hz).splitlines() if line.startswith("1 "))
    assert line.split() == ["1", "2", "110", ms, "59.5", "%", "11"]


# -- the report --------------------------------------------------------------------------


def test_the_table_the_ratios_and_the_lanes() -> None:
    text = shown(facts(rows([(1, 3000, 30), (2, 1000, 20)] * 2)), names={1: "control", 2: "io"})
    assert (
        """\
task     runs  cycles    share  dcache_miss
control     2   6,000   75.0 %           60
io          2   2,000   25.0 %           40
            4   8,000  100.0 %          100
what ran after the last record, of io, is in no column, but its run is in `runs`

per 1,000 cycles  dcache_miss
control                10.000
io                     20.000
                       12.500
"""
        in text
    )
    lanes = [line for line in text.splitlines() if line.endswith("|")]
    assert len(lanes) == 2 and lanes[0].count("#") == 3 * lanes[1].count("#"), lanes


def test_a_step_that_the_paired_time_explains_is_not_doubted() -> None:
    big = (1 << 30) + 100
    records = [(1, 90 + big, 50, 90 + big, 0, 0, 0), (2, 90, 50, 90, 0, 0, 0), (1, 20, 50, 20, 0, 0, 0)]
    found = facts(records, {"A0": Counter("cycles", "trace", "mark"), **PAIR})
    assert [column.counts for column in found.columns] == [(big, 70)] * 2 and found.doubted is False


def test_counts_before_the_time_began_are_no_step_up() -> None:
    big = (1 << 30) + 100
    records = [(1, 900 + big, 50, 7000, 0, 0, 0), (2, 900, 50, 7000, 0, 0, 0), (1, 500, 50, 6600, 0, 0, 0)]
    found = facts(records, {"A0": Counter("cycles", "trace", "immediate"), **PAIR})
    assert [column.counts for column in found.columns if column.counter == "A0"] == [(big, 400)]


@pytest.mark.parametrize(("mode", "doubted"), [("trace", False), ("", True)])
def test_a_time_that_may_have_been_set_anew_gives_no_shares(mode: str, doubted: bool) -> None:
    records = [(n % 2, 100 - n if n < 50 else 9000 - n, 0, 0, 0, 0, 0) for n in range(100)]
    assert facts(records, {"A0": Counter("cycles", mode, "mark" if mode else "")}).doubted is doubted


def test_a_ratio_is_of_the_steps_in_which_both_are_known() -> None:
    records = [(1, 90_000 - 1000 * n, (900 if n < 30 else 9000) - 10 * n, 0, 0, 0, 0) for n in range(61)]
    counters = {**COUNTED, "A1": Counter("dcache_miss", "oneshot", "mark")}
    assert re.search(r"^1 +10\.000\n +10\.000$", shown(facts(records, counters)), re.MULTILINE)


def test_where_the_time_was_set_anew_there_are_no_shares() -> None:
    records = [(1, 100, 90, 0, 0, 0, 0), (2, 900, 80, 0, 0, 0, 0), (1, 800, 70, 0, 0, 0, 0)]
    text = shown(facts(records, {**COUNTED, "A0": Counter("cycles", "oneshot", "mark", "none")}))
    assert "! A0 goes up in 1 step" in text and "no shares, no lanes" in text and "%" not in text


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**31), st.integers(0, 2**31)), max_size=12),
    st.integers(60, 120),
    st.sampled_from([{}, COUNTED, {"A1": Counter("overflow"), "A2": Counter("cycles")}]),
    st.sampled_from([0.0, 1e-3, 3e8, 1e300]),
)
@settings(max_examples=200, deadline=None)
def test_it_fits_the_console(
    steps: "list[Tuple[int, int, int]]", width: int, counters: Mapping[str, Counter], hz: float
) -> None:
    text = shown(facts(rows(steps), counters), width, hz=hz)
    assert max(len(line) for line in text.splitlines()) <= width, text


def test_what_ran_at_the_end_is_in_no_column_and_that_is_said() -> None:
    assert "what ran after the last record, of 1, is in no column" in shown(facts(rows(STEPS)))
    ended = facts(rows(STEPS), task_id="outgoing")
    assert "what ran before the first record, of 1, is in no column" in shown(ended)


@pytest.mark.parametrize(("live", "pointed"), [(True, True), (False, False)])
def test_an_empty_trace_points_to_the_check_where_there_is_a_target(live: bool, pointed: bool) -> None:
    assert ("`dpu check` looks for the reason" in shown(facts([]), live=live)) == pointed


def test_names_are_cut_and_made_safe() -> None:
    text = shown(facts(rows(STEPS)), names={1: "\x1b[2Jx" + "y" * 90})
    assert "\x1b" not in text and "y" * 30 not in text


def test_direct_words_in_hex_and_as_they_lie() -> None:
    raw = b"Hello world.\n\0\x80~"
    found = dataclasses.replace(capture(raw, len(raw), False, GIVEN), kind="direct")
    assert words(decode(found), View(80, 20, 20)).splitlines()[-1] == (
        "0  6c6c6548 6f77206f 2e646c72 7e80000a  Hello world....~"
    )


@pytest.mark.parametrize(
    ("last", "shown_words"), [(0, ""), (1, "7e80000a"), (3, "6f77206f 2e646c72 7e80000a")]
)
def test_so_many_of_the_last_words_are_shown(last: int, shown_words: str) -> None:
    raw = b"Hello world.\n\0\x80~"
    found = decode(dataclasses.replace(capture(raw, len(raw), False, GIVEN), kind="direct"))
    text = words(found, View(80, last, 20))
    assert text.splitlines()[-1] == "  … %d before these (-last)" % (4 - last)
    assert " ".join(re.findall(r" ([0-9a-f]{8})\b", text.split("endian")[-1])) == shown_words
