"""What a DPU counter has counted, from its two registers and what the session wrote."""

from __future__ import annotations

from typing import Dict, List, Optional

import pytest

from dpu_gdb import REAL, planner
from dpu_machine import DESCRIPTION as SIMULATED
from gdb_prof.counters.dpu.configure import Wanted, plan
from gdb_prof.counters.dpu.counters_text import text
from gdb_prof.counters.dpu.reading import (
    COUNTERS,
    REGISTERS,
    Reading,
    control,
    missed,
    named,
    other_of_pair,
    pairs,
    reading,
    settled,
    total,
    value,
)
from gdb_prof.errors import UsageError

MODULUS = 1 << 31


def control_of(counter: str, mode: str = "oneshot", event: str = "cycles") -> int:
    return plan(planner(), Wanted(counter, event, "mark", "debugev", mode)).writes[2].value


def read(
    mode: str, stands: int, preset: Optional[int], counter: str = "A2", event: str = "cycles"
) -> Reading:
    word = control_of(counter, mode, event)
    written = {} if preset is None else {control(counter): word, value(counter): preset}
    return reading(SIMULATED, counter, {control(counter): word, value(counter): stands}, written)


def test_names_in_either_case() -> None:
    assert [named(text) for text in ("a0", "B2")] == ["A0", "B2"]
    with pytest.raises(UsageError, match="no counter C0: there are A0, A1, A2, B0, B1, B2"):
        named("C0")


@pytest.mark.parametrize(
    ("mode", "preset", "stands", "elapsed"),
    [
        ("oneshot", 0x7FFFFFFF, 0x7FFFFFFF, 0),
        ("oneshot", 1000, 1, 999),
        ("oneshot", 1000, 0, 1000),
        ("trace", 5, 0x7FFFFFFF, 6),  # 5 4 3 2 1 0, then from the top
        ("extended", 0x7FFFFFFF, 0x7FFFFFFF, 0),  # or 2^31, which the register does not tell
        ("oneshot", 5, 1 << 31 | 3, 2),  # bit 31 does not count
    ],
)
def test_elapsed_is_the_preset_less_the_value(mode: str, preset: int, stands: int, elapsed: int) -> None:
    assert read(mode, stands, preset).elapsed == elapsed


def test_a_preset_is_known_only_as_this_session_wrote_it() -> None:
    assert read("trace", 7, None).elapsed is None
    assert read("oneshot", 1001, 1000).why == "the counter stands above 0x000003e8, which this session wrote"


def test_a_preset_is_not_believed_of_a_counter_that_somebody_else_has_set() -> None:
    word = control_of("A0")
    found = reading(SIMULATED, "A0", {"DP_CA0C": word | 1, "DP_CA0V": 5}, {"DP_CA0C": word, "DP_CA0V": 9})
    assert found.elapsed is None
    assert found.why == (
        "DP_CA0C is no longer as this session wrote it: 0x%08x then, 0x%08x now" % (word, word | 1)
    )


def test_oneshot_reaches_0_and_the_others_pass_it() -> None:
    assert read("oneshot", 0, 1000).reached
    assert read("oneshot", 0, None).reached
    assert not read("oneshot", 1, 1000).reached
    assert not read("trace", 0, 1000).reached


def down(preset: int, events: int) -> "tuple[int, int]":
    """Counted one by one in groups, the plain way: how often it wrapped, and where it stands."""
    wraps, stands = 0, preset
    while events:
        if events <= stands:
            return wraps, stands - events
        events -= stands + 1
        wraps, stands = wraps + 1, MODULUS - 1
    return wraps, stands


@pytest.mark.parametrize("preset", [0x7FFFFFFF, 0x7FFFFFFE, 1000, 0])
@pytest.mark.parametrize("events", [0, 1, 1000, 1001, MODULUS - 1, MODULUS, MODULUS + 1, 5_000_001_000])
def test_the_total_of_a_pair_from_any_preset(preset: int, events: int) -> None:
    wraps, stands = down(preset, events)
    counting = read("oneshot", 100 - wraps, 100, "A1", "overflow")
    assert total(counting, read("extended", stands, preset)) == events


def test_a_pair_is_one_that_counts_overflows_and_one_that_is_extended() -> None:
    counting, extended = read("oneshot", 9, 9, "A1", "overflow"), read("extended", 9, 9)
    assert pairs({"A1": counting, "A2": extended}) == [(counting, extended)]
    assert pairs({"A1": counting, "A2": read("oneshot", 9, 9)}) == []
    assert pairs({"A1": read("oneshot", 9, 9, "A1"), "A2": extended}) == []


def test_of_no_other_two_is_it_known_that_one_counts_the_overflows_of_the_other() -> None:
    """Though they are set so: no total is made of what nobody says."""
    for one, two in (("A0", "A1"), ("B0", "B1"), ("B1", "B2"), ("A2", "A1")):
        words = {
            control(one): control_of(one, "oneshot", "overflow"),
            control(two): control_of(two, "extended"),
        }
        written = {**words, value(one): 100, value(two): 100}
        output = table({**written, value(one): 99}, written)
        assert (" and %s: " % two) not in output and ("%s and " % one) not in output
        assert "%s counts overflows: of which counter is not known, and no total is made\n" % one in output


OVERFLOW = ("A1", "overflow", "mark", "debugev")


@pytest.mark.parametrize(
    ("wanted", "stands", "why"),
    [
        (Wanted(*OVERFLOW), 5, ""),
        (Wanted("A1", "overflow", "immediate", "none"), 5, ""),  # always on
        (Wanted("A1", "overflow", "watchpoint", "debugev"), 5, "A1 starts by another event than A2"),
        (Wanted("A1", "overflow", "mark", 2), 5, "A1 stops by another event than A2"),
        (Wanted(*OVERFLOW), 0, "A1 has stopped at 0"),
    ],
)
def test_a_total_is_exact_only_where_no_overflow_is_missed(wanted: Wanted, stands: int, why: str) -> None:
    one, two = plan(planner(), wanted).writes[2].value, control_of("A2", "extended")
    values = {"DP_CA1C": one, "DP_CA1V": stands, "DP_CA2C": two, "DP_CA2V": 9}
    written = {"DP_CA1C": one, "DP_CA1V": 10, "DP_CA2C": two, "DP_CA2V": 10}
    counting, counted = (reading(SIMULATED, name, values, written) for name in ("A1", "A2"))
    assert missed(counting, counted) == why
    (said,) = [line for line in table(values, written, 200).splitlines() if line.startswith("A1 and A2: ")]
    least = (10 - stands) * MODULUS + 1
    if why:
        assert said == "A1 and A2: at least {:,} cycles: {}".format(least, why)
    else:
        assert said.startswith("A1 and A2: {:,} cycles = ".format(least))


def test_a_filter_that_was_set_by_somebody_else_makes_a_lower_bound() -> None:
    one = control_of("A1", "oneshot", "overflow") | 1 << 19  # CEP
    two = control_of("A2", "extended")
    readings = [
        reading(SIMULATED, name, {"DP_C%sC" % name: word, "DP_C%sV" % name: 9}, {})
        for name, word in (("A1", one), ("A2", two))
    ]
    assert missed(*readings) == "A1 has a filter, user"


def test_the_other_of_a_pair() -> None:
    one, two = control_of("A1", "oneshot", "overflow"), control_of("A2", "extended")
    words = {**{name: 0 for name in REGISTERS}, "DP_CA1C": one, "DP_CA2C": two}
    found = {name: other_of_pair(SIMULATED, name, words) for name in COUNTERS}
    assert found == {"A0": None, "A1": "A2", "A2": "A1", "B0": None, "B1": None, "B2": None}


def test_a_wrap_between_two_reads_is_read_again() -> None:
    """A2 wraps behind the first read: A1 is read as 9, and then A2 already from the top."""
    later = {"DP_CA1V": [8, 8], "DP_CA2V": [0x7FFFFFF0]}
    asked: List[str] = []

    def again(register: str) -> int:
        asked.append(register)
        return later[register].pop(0)

    found = settled({"DP_CA1V": 9, "DP_CA2V": 0x7FFFFFFE}, again, "A1", "A2")
    assert found == {"DP_CA1V": 8, "DP_CA2V": 0x7FFFFFF0}
    assert asked == ["DP_CA1V", "DP_CA2V", "DP_CA1V"]


def test_a_pair_that_stands_still_is_read_once_more() -> None:
    asked: List[str] = []
    values = {"DP_CA1V": 9, "DP_CA2V": 5}
    assert settled(values, lambda r: (asked.append(r), values[r])[1], "A1", "A2") == values
    assert asked == ["DP_CA1V"]


# -- the table -----------------------------------------------------------------------


def table(values: Dict[str, int], written: Dict[str, int], width: int = 80) -> str:
    words = {**{name: 0 for name in REGISTERS}, **values}
    return text({name: reading(SIMULATED, name, words, written) for name in COUNTERS}, width)


def test_a_row_a_counter_and_the_total_of_a_pair() -> None:
    one, two = control_of("A1", "oneshot", "overflow"), control_of("A2", "extended")
    written = {"DP_CA1C": one, "DP_CA1V": 100, "DP_CA2C": two, "DP_CA2V": 0x7FFFFFFF}
    values = {"DP_CA1C": one, "DP_CA1V": 98, "DP_CA2C": two, "DP_CA2V": 0x7FFFFFFF - 705_033_704}
    output = table(values, written)
    assert "A1  0x00000062  oneshot   overflow  mark   debugev            2\n" in output
    assert "A2  0x55fa0a17  extended  cycles    mark   debugev  705,033,704\n" in output
    assert "A2 runs on at 0: elapsed is modulo 2,147,483,648 (2^31)\n" in output
    assert "A1 and A2: 5,000,001,000 cycles = 2 overflows * 2^31 + 705,033,704 (read with" in output
    assert "A1 and A2: 2,852,517,352 cycles = 1 overflow * 2^31 + " in table(
        {**values, "DP_CA1V": 99}, written
    )


def test_a_mode_without_a_name_may_run_on_at_0() -> None:
    field = SIMULATED.placed("DP_CA0C", "CMODE")
    assert field is not None and field.lsb is not None
    word = control_of("A0") & ~field.mask | 3 << field.lsb
    output = table({"DP_CA0C": word, "DP_CA0V": 500}, {"DP_CA0C": word, "DP_CA0V": 1000})
    assert "whether A0 runs on at 0 is not known: elapsed may be modulo 2^31\n" in output


def test_what_is_unknown_is_a_question_mark_with_its_reason() -> None:
    output = table({"DP_CA0C": control_of("A0"), "DP_CA0V": 1 << 31 | 7}, {})
    assert "A0  0x80000007  oneshot  cycles  mark   debugev        ?\n" in output
    assert "A0: bit 31 of DP_CA0V is set: what it means is not known\n" in output
    assert "A0: preset not known: this session did not write it\n" in output


@pytest.mark.parametrize("width", [60, 80])
def test_the_table_fits(width: int) -> None:
    found = plan(
        planner(), Wanted("B0", "application_cycles", "watchpoint", "debugev", "extended", "supervisor")
    )
    word = found.writes[2].value
    written = {"DP_CB0C": word, "DP_CB0V": 0x7FFFFFFF}
    output = table({"DP_CB0C": word, "DP_CB0V": 0}, written, width)
    assert max(map(len, output.splitlines())) <= width
    assert "2,147,483,647" in output and "B0: counted only with the filter supervisor" in output


def test_fields_that_nobody_can_place_are_named() -> None:
    words = {name: 0 for name in REGISTERS}
    output = text({name: reading(REAL, name, words, {}) for name in COUNTERS}, 80)
    assert "A0  0x00000000  oneshot  ?      ?      ?           ?\n" in output
    assert "where these lie in DP_CA0C and its like is not known: CENM, CE, CEP, CDM\n" in output
