"""A DPU counter's configuration as planned writes; what is refused, and what is warned of."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from dpu_gdb import REAL
from dpu_gdb import planner as unit
from dpu_machine import BASE
from gdb_prof.counters.dpu.configure import Plan, Wanted, demand_match, plan, warnings
from gdb_prof.counters.dpu.printing import as_c, as_values
from gdb_prof.counters.registers import Unit, demand_placed, demand_verified
from gdb_prof.errors import UsageError


def written(found: Plan) -> List[Tuple[str, int]]:
    return [(write.register, write.value) for write in found.writes]


def test_off_then_the_preset_then_the_control() -> None:
    found = plan(unit(), Wanted("A0", "dcache_thrash", "mark", "debugev"))
    assert written(found) == [
        ("DP_CA0C", 0),
        ("DP_CA0V", 0x7FFFFFFF),
        # CENM 31:28 = 1, CE 25:21 = 6, CEP 20:19 = 0, CDM 18:15 = 1, CMODE 2:1 = 0
        ("DP_CA0C", 1 << 28 | 6 << 21 | 1 << 15),
    ]
    assert found.settings == {
        "CENM": "mark",
        "CE": "dcache_thrash",
        "CEP": "any",
        "CDM": "debugev",
        "CMODE": "oneshot",
    }


def test_what_is_not_said_is_immediate_none_oneshot_any_where_these_are_known() -> None:
    found = plan(unit(), Wanted("B2", "cycles"))
    assert written(found)[2] == ("DP_CB2C", 3 << 28)
    assert (found.settings["CENM"], found.settings["CDM"]) == ("immediate", "none")


def test_numbers_stand_for_meanings() -> None:
    by_number = plan(unit(), Wanted("A1", 0b00101, 1, 1, 2, 0))
    by_meaning = plan(unit(), Wanted("A1", "overflow", "mark", "debugev", "extended", "any"))
    assert written(by_number) == written(by_meaning)
    assert by_number.settings == by_meaning.settings


def test_bit_31_of_the_value_need_not_read_back_as_written() -> None:
    assert plan(unit(), Wanted("A0", "cycles")).writes[1].held == 0x7FFFFFFF


@pytest.mark.parametrize("preset", [-1, 0, 1 << 31])
def test_a_preset_has_31_bits(preset: int) -> None:
    with pytest.raises(UsageError, match="a preset is 1 to 0x7fffffff, 31 bits, found %d$" % preset):
        plan(unit(), Wanted("A0", "cycles", preset=preset))


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (Wanted("A0"), "what is counted is missing: -event with one of cycles, application_cycles, "),
        (Wanted("A0", "teapots"), "-event: there is no teapots: give one of cycles, application_cycles, "),
        (Wanted("A0", "icache_hit"), "the code of icache_hit in CE is not known: give one of cycles, "),
        (Wanted("A0", 32), "CE has 5 bits: 0x20 does not fit"),
        (Wanted("A0", "cycles", "mark", "debugev", "extende"), "-mode: there is no extende: give one of "),
    ],
)
def test_a_wrong_word_gives_the_list(wanted: Wanted, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(unit(), wanted)
    assert str(caught.value).startswith(complaint)


def test_a_default_that_nobody_knows_the_code_of_has_to_be_given() -> None:
    with pytest.raises(UsageError) as caught:
        plan(unit(REAL), Wanted("A0", "cycles", "mark"))
    assert str(caught.value) == (
        "-stop is missing, and the code of none in CDM is not known: give one of debugev, or a number"
    )
    with pytest.raises(UsageError, match="-start is missing, and the code of immediate in CENM is not known"):
        plan(unit(REAL), Wanted("A0", "cycles", stop="debugev"))


def test_a_wrong_word_is_named_before_what_is_missing() -> None:
    with pytest.raises(UsageError, match="-event: there is no teapots"):
        plan(unit(REAL), Wanted("A0", "teapots"))


def test_fields_of_unknown_position_are_named() -> None:
    found = plan(unit(REAL), Wanted("A0", "cycles", "mark", "debugev"))
    with pytest.raises(UsageError, match="where CENM, CE, CEP, CDM lie in DP_CA0C is not known"):
        demand_placed(found.writes)
    demand_placed(plan(unit(), Wanted("A0", "cycles")).writes)


def test_the_privilege_filters_of_start_and_stop_are_0_where_they_are_known() -> None:
    def zeros(found: Plan) -> List[str]:
        return [
            field.name for field, number in found.writes[2].fields if field.name.endswith("MP") and not number
        ]

    assert zeros(plan(unit(), Wanted("A0", "cycles"))) == ["CENMP", "CDMP"]
    assert zeros(plan(unit(REAL), Wanted("A0", "cycles", "mark", "debugev"))) == []


def test_a_raw_value_is_written_whole_behind_a_zero_which_is_off_wherever_cenm_lies() -> None:
    found = plan(unit(REAL), Wanted("A0", raw=0x12345678, preset=9))
    assert written(found) == [("DP_CA0C", 0), ("DP_CA0V", 9), ("DP_CA0C", 0x12345678)]
    demand_placed(found.writes)
    assert "CENM.none" in [fact.name for fact in found.writes[0].facts]


# -- what counts wrong ---------------------------------------------------------------


@pytest.mark.parametrize("wanted", [Wanted("A1", "overflow"), Wanted("A2", "cycles", mode="extended")])
def test_that_a1_counts_the_overflows_of_a2_rests_on_the_article(wanted: Wanted) -> None:
    (rule,) = [fact for fact in plan(unit(), wanted).writes[2].facts if fact.kind == "rule"]
    assert (rule.name, rule.status, rule.source) == ("extended", "article", "one on the MSC8251's DPU")
    demand_verified(plan(unit(), wanted).writes, False)


@pytest.mark.parametrize(
    "wanted", [Wanted("A0", "overflow"), Wanted("A2", "overflow"), Wanted("B1", raw=0x10A08000)]
)
def test_of_no_other_counter_is_it_known_that_it_counts_overflows(wanted: Wanted) -> None:
    found = plan(unit(), wanted).writes
    with pytest.raises(UsageError) as caught:
        demand_verified(found, False)
    assert str(caught.value) == (
        "nothing is written: unverified (no source: the article has A1 counting overflows, those of A2): "
        "%s counting overflows: -force writes it all the same" % wanted.counter
    )
    demand_verified(found, True)


@pytest.mark.parametrize("filter", ["user", "supervisor", "task", 3])
def test_overflows_are_counted_with_no_filter(filter: "str | int") -> None:
    with pytest.raises(UsageError, match=r"CEP must be any \(00\) where overflows are counted"):
        plan(unit(), Wanted("A1", "overflow", filter=filter))


def test_nor_is_that_written_as_a_raw_value() -> None:
    with pytest.raises(UsageError, match="with filter user A1 would miss"):
        plan(unit(), Wanted("A1", raw=0x10A88000))


OVERFLOW = {"CE": "overflow", "CMODE": "oneshot"}
EXTENDED = {"CE": "cycles", "CMODE": "extended"}
PLAIN = {"CE": "cycles", "CMODE": "oneshot"}
TRACED = {"CE": "cycles", "CMODE": "trace"}
WRAPPING = {"CE": "overflow", "CMODE": "extended"}
UNMATCHED = {"A1": {**OVERFLOW, "CENM": "watchpoint"}, "A2": {**EXTENDED, "CENM": "mark"}}
NEVER = {"CE": "cycles", "CENM": "none"}


@pytest.mark.parametrize(
    ("counter", "others", "start"),
    [
        ("A1", {"A1": OVERFLOW, "A2": EXTENDED}, ""),
        ("A2", {"A1": OVERFLOW, "A2": EXTENDED}, ""),
        ("A0", {"A0": PLAIN, "A1": OVERFLOW, "A2": EXTENDED}, ""),
        ("A1", {"A1": OVERFLOW, "A2": PLAIN}, "A1 counts the overflows of A2, which is in mode oneshot"),
        ("A2", {"A1": OVERFLOW, "A2": PLAIN}, "A1 counts the overflows of A2, which is in mode oneshot"),
        ("A2", {"A1": OVERFLOW, "A2": TRACED}, "A1 counts the overflows of A2, which is in mode trace"),
        ("A1", {"A1": WRAPPING, "A2": EXTENDED}, "A1 counts overflows in mode extended"),
        ("A0", {"A0": NEVER}, "A0 never starts"),
        ("A2", {"A1": PLAIN, "A2": EXTENDED}, "A1 does not count overflows (CE=cycles)"),
        ("A1", {"A1": OVERFLOW}, ""),  # of A2 nothing is known
        (
            "B2",
            {"B1": OVERFLOW, "B2": EXTENDED},
            "what B2 counts beyond 2^31 is lost: of A2 alone it is known",
        ),
        (
            "A1",
            {"A1": EXTENDED, "A2": EXTENDED},
            "what A1 counts beyond 2^31 is lost: of A2 alone it is known",
        ),
        (
            "A1",
            UNMATCHED,
            "A1 starts by another event than A2 and may miss overflows: A1 needs -filter any, ",
        ),
    ],
)
def test_the_other_of_a_pair_is_warned_of(
    counter: str, others: Dict[str, Dict[str, str]], start: str
) -> None:
    found = list(warnings(counter, others))
    assert len(found) == (1 if start else 0)
    assert all(text.startswith(start) for text in found)


ALWAYS = {**OVERFLOW, "CENM": "immediate", "CDM": "none", "CEP": "any"}
WINDOW = {"CENM": "mark", "CDM": "debugev", "CEP": "any"}


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        ({**OVERFLOW, **WINDOW}, {**EXTENDED, **WINDOW}, ""),
        (ALWAYS, {**EXTENDED, **WINDOW}, ""),
        (ALWAYS, {**EXTENDED, **WINDOW, "CEP": "user"}, ""),  # A2 may have a filter
        ({**ALWAYS, "CENM": "mark"}, {**EXTENDED, "CENM": "immediate"}, "A1 starts by another event than A2"),
        ({**ALWAYS, "CDM": "debugev"}, {**EXTENDED, "CDM": "none"}, "A1 stops by another event than A2"),
        ({**ALWAYS, "CEP": "user"}, EXTENDED, "A1 has a filter, user"),  # set by somebody else
        ({**ALWAYS, "CENM": "mark"}, {**PLAIN, "CENM": "immediate"}, ""),  # no pair, or none yet
        ({**PLAIN, "CENM": "mark"}, {**EXTENDED, "CENM": "immediate"}, ""),
        ({**ALWAYS, "CENM": "mark"}, EXTENDED, ""),  # where CENM lies is not known
    ],
)
def test_the_second_of_a_pair_is_refused_where_overflows_would_be_missed(
    one: Dict[str, str], two: Dict[str, str], why: str
) -> None:
    for counter in ("A1", "A2"):
        if not why:
            demand_match(counter, {"A1": one, "A2": two})
            continue
        with pytest.raises(UsageError) as caught:
            demand_match(counter, {"A1": one, "A2": two})
        assert str(caught.value).startswith(
            why + " and may miss overflows: A1 needs -filter any, and the same "
        )
    demand_match("A0", {"A1": one, "A2": two})


# -- printed -------------------------------------------------------------------------


def compiled_and_run(tmp_path: Path, lines: List[str], macros: str) -> List[int]:
    """The words that the printed C writes into an array in place of the unit."""
    compiler = shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    program = (
        "#include <stdint.h>\n#include <stdio.h>\nstatic uint32_t words[64];\n"
        "#define DPU_BASE ((char *) words)\n%s\nint main(void) {\n%s\n"
        'printf("%%u %%u\\n", words[0x2c / 4], words[0x30 / 4]); return 0; }\n' % (macros, "\n".join(lines))
    )
    source = tmp_path / "printed.c"
    source.write_text(program, encoding="utf-8")
    subprocess.run([compiler, "-Wall", "-Werror", "-o", str(tmp_path / "printed"), str(source)], check=True)
    output = subprocess.run([str(tmp_path / "printed")], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [int(word) for word in output.split()]


def test_printed_c_compiles_and_writes_the_plan(tmp_path: Path) -> None:
    whole = unit(base=None)
    found = plan(whole, Wanted("A0", "dcache_thrash", "mark", "debugev", preset=1000))
    lines = as_c(found.writes, whole)
    assert max(map(len, lines)) < 80
    assert compiled_and_run(tmp_path, lines, "") == [found.writes[2].value, 1000]


def test_printed_c_of_unknown_positions_compiles_with_the_users_macros(tmp_path: Path) -> None:
    real = unit(REAL, None)
    lines = as_c(plan(real, Wanted("A0", "dcache_thrash", "mark", "debugev")).writes, real)
    places = {"CENM": 20, "CE": 12, "CEP": 9, "CDM": 4}
    macros = "\n".join("#define DPU_%s(x) ((uint32_t)(x) << %d)" % place for place in places.items())
    # the article's codes: MARK 0001, DCache thrash 00100, any 00, DEBUGEV 0001
    assert compiled_and_run(tmp_path, lines, macros) == [1 << 20 | 4 << 12 | 1 << 4, 0x7FFFFFFF]


def test_printed_values_say_what_they_rest_on() -> None:
    whole = unit()
    lines = as_values(plan(whole, Wanted("A0", "cycles", "mark", "debugev")).writes, whole)
    assert lines[0].startswith("DP_CA0C = 0x00000000")
    assert lines[1].startswith("DP_CA0V = 0x7fffffff")
    assert lines[2].startswith("DP_CA0C = 0x10008000")
    assert any(line.startswith("# article (one on the MSC8251's DPU): ") for line in lines)


UNKNOWN_SWITCH = "how the unit as a whole is switched on is not known: set it on, or nothing is counted"


@pytest.mark.parametrize(
    ("part", "values", "c"),
    [
        (unit(), "DP_CR   |= 0x00000001  EN=1", "*(volatile uint32_t *)0x50000000u |= 0x00000001u;"),
        (unit(REAL, BASE), "# " + UNKNOWN_SWITCH, "/* %s */" % UNKNOWN_SWITCH),
    ],
    ids=["known", "not known"],
)
def test_that_the_unit_is_switched_on_is_printed_behind_a_counter(part: Unit, values: str, c: str) -> None:
    writes = plan(part, Wanted("A0", "cycles", "mark", "debugev")).writes
    known = not values.startswith("#")
    for printed, line in ((as_values, values), (as_c, c)):
        assert line in printed(writes, part, 100, switch=True)
        assert line not in printed(writes, part, 100)
        assert any("DP_CR" in text for text in printed(writes, part, 100, switch=True)) == known
