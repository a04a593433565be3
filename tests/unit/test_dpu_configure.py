"""A DPU counter's configuration as planned writes; what is refused, and what is warned of."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from dpu_gdb import REAL
from dpu_gdb import planner as unit
from gdb_prof.counters.dpu.configure import Plan, Wanted, plan, warnings
from gdb_prof.counters.dpu.printing import as_c, as_values
from gdb_prof.counters.registers import demand_placed
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


@pytest.mark.parametrize("counter", ["A2", "B2"])
def test_the_last_of_a_triad_cannot_count_overflows(counter: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(unit(), Wanted(counter, "overflow"))
    triad = counter[0]
    assert str(caught.value) == (
        f"{counter} cannot count overflows: no counter comes after it; {triad}1 counts those of {triad}2, "
        f"and {triad}2 is the one in mode extended"
    )


@pytest.mark.parametrize("filter", ["user", "supervisor", "task", 3])
def test_overflows_are_counted_with_no_filter(filter: "str | int") -> None:
    with pytest.raises(UsageError, match=r"CEP must be any \(00\) where overflows are counted"):
        plan(unit(), Wanted("A1", "overflow", filter=filter))


@pytest.mark.parametrize(
    ("counter", "raw", "why"),
    [("A1", 0x10A88000, "with filter user A1 would miss"), ("A2", 0x10A08000, "A2 cannot count overflows")],
)
def test_nor_is_that_written_as_a_raw_value(counter: str, raw: int, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        plan(unit(), Wanted(counter, raw=raw))


OVERFLOW = {"CE": "overflow", "CMODE": "oneshot"}
EXTENDED = {"CE": "cycles", "CMODE": "extended"}
PLAIN = {"CE": "cycles", "CMODE": "oneshot"}
TRACED = {"CE": "cycles", "CMODE": "trace"}
WRAPPING = {"CE": "overflow", "CMODE": "extended"}
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
    ],
)
def test_the_other_of_a_pair_is_warned_of(
    counter: str, others: Dict[str, Dict[str, str]], start: str
) -> None:
    found = list(warnings(counter, others))
    assert len(found) == (1 if start else 0)
    assert all(text.startswith(start) for text in found)


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
