"""The trace buffer's setting up as planned writes, and as text for the user's own code."""

from __future__ import annotations

from typing import List, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpu_machine import BASE, DESCRIPTION
from gdb_prof.counters.description import Description, packaged
from gdb_prof.counters.dpu.printing import as_c, as_values
from gdb_prof.counters.dpu.vtb import Setup, plan, unchecked
from gdb_prof.counters.registers import Memory, Unit
from gdb_prof.errors import UsageError

START = 0x60000000
REAL = packaged("msc8251_dpu", "DPU")


class Untouched(Memory):
    """What is planned or printed needs no target."""


def unit(description: Description = DESCRIPTION, base: Optional[int] = BASE) -> Unit:
    return Unit(description, Untouched(), base)


def setup(
    start: int = START, size: int = 4096, mode: str = "overwrite", event_at: Optional[int] = None
) -> Setup:
    return Setup(start, size, mode, "task", 16, event_at)


# -- rules -------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [START, START + 32, START + (1 << 20) - 4096])
def test_a_buffer_that_lies_well(start: int) -> None:
    assert unchecked(setup(start), DESCRIPTION) == []


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (
            setup(START + 16),
            r"a start is a multiple of 32 \(article: .*\): 0x60000010 is not; 0x60000000 and 0x60000020",
        ),
        (setup(START - 32), "must lie within 0x60000000 to 0x600fffff"),
        (setup(START + (1 << 20) - 4096 + 32), "0x600ff020 to 0x6010001f does not"),
        (setup(size=4090), "4090 bytes is no multiple of the burst, 16"),
        (setup(0xFFFFFFE0, 64), "lie beyond 32 bits"),
        (setup(size=1 << 27), "a buffer has at most 67108864 bytes"),
        (setup(size=16), "a task record has 28 bytes: 16 hold none"),
        (setup(mode="request"), "-mode request needs -event-at"),
        (setup(event_at=0x1000), "-event-at is for -mode request alone, not overwrite"),
    ],
)
def test_one_that_does_not_is_refused(wrong: Setup, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        unchecked(wrong, DESCRIPTION)


def test_where_bank_3_lies_is_not_known_of_the_real_unit_and_that_is_said() -> None:
    (said,) = unchecked(setup(), REAL)
    assert said.startswith("not checked: whether it lies in Bank 3")


# -- the writes --------------------------------------------------------------------------


def written(*arguments: object) -> List[tuple]:  # type: ignore[type-arg]
    return [(write.register, write.value) for write in plan(unit(), *arguments)]  # type: ignore[arg-type]


def test_the_end_is_inclusive_and_the_control_comes_last() -> None:
    assert written(setup()) == [("DP_TSA", START), ("DP_TEA", START + 4095), ("DP_TC", 0b0010 << 1)]


def test_an_event_request_has_its_address() -> None:
    assert written(setup(mode="request", event_at=0x1234)) == [
        *(("DP_TSA", START), ("DP_TEA", START + 4095), ("DP_TER", 0x1234)),
        ("DP_TC", 0b10 << 8 | 0b0010 << 1),
    ]


def test_what_else_is_in_the_control_register_stays() -> None:
    assert written(setup(), 0xFFF00000 | 1 << 12 | 1)[-1] == ("DP_TC", 0xFFF00000 | 0b0010 << 1)


def test_a_mode_or_burst_that_is_unknown_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="BURST_SIZE has no 32: 16"):
        plan(unit(), Setup(START, 4096, "overwrite", "task", 32))


# -- as text -----------------------------------------------------------------------------


def test_values_come_with_their_meaning_and_what_they_rest_on() -> None:
    lines = as_values(plan(unit(), setup()), unit())
    assert lines[:3] == [
        "DP_TSA = 0x60000000",
        "DP_TEA = 0x60000fff",
        "DP_TC  = 0x00000004  EN=0 TMPDIS=0 TMODE=task VTBWM=overwrite BURST_SIZE=16",
    ]
    assert lines[3] == "# documented (the simulation)"


def test_c_writes_the_words_in_order() -> None:
    lines = as_c(plan(unit(), setup()), unit())
    assert [line for line in lines if line.startswith("*")] == [
        "*(volatile uint32_t *)0x50000080u = 0x60000000u;",
        "*(volatile uint32_t *)0x50000084u = 0x60000fffu;",
        "*(volatile uint32_t *)0x5000007cu = 0x00000004u;",
    ]


def test_c_of_a_unit_whose_address_is_not_known_has_a_macro_for_it() -> None:
    real = unit(REAL, None)
    text = "\n".join(as_c(plan(real, setup()), real))
    assert "*(volatile uint32_t *)(DPU_BASE + 0x7cu) = 0x00000004u;" in text
    assert "/* DPU_BASE: the address of the unit, which is not known here" in text
    assert "/* unverified (the article's damaged pseudo-code):" in text


def test_a_field_whose_place_is_not_known_is_a_macro_too() -> None:
    real = unit(REAL, None)
    write = real.setting("DP_CA0C", {"CENM": "mark", "CE": "cycles", "CMODE": "trace"})
    assert write.value == 0b01 << 1
    text = "\n".join(as_c([write], real))
    assert (
        "*(volatile uint32_t *)(DPU_BASE + 0x2cu) =\n    0x00000002u | DPU_CENM(0x1u) | DPU_CE(0x0u);" in text
    )
    assert "DPU_CENM(x), 4 bits; DPU_CE(x), 5 bits" in text.replace("\n   ", " ")
    assert as_values([write], real)[0] == "DP_CA0C = 0x00000002 | DPU_CENM(0x1) | DPU_CE(0x0)"


def test_a_number_that_does_not_fit_an_unplaced_field_is_refused() -> None:
    with pytest.raises(UsageError, match="CENM has 4 bits: 0x10 does not fit"):
        unit(REAL, None).setting("DP_CA0C", {"CENM": 16})


def test_a_code_of_two_meanings_is_shown_as_both() -> None:
    real = unit(REAL, None)
    assert "CE=icache_thrash/dcache_thrash" in "\n".join(
        as_values([real.setting("DP_CA0C", {"CE": "dcache_thrash"})], real)
    )


def test_a_rows_source_cannot_end_the_comment() -> None:
    mine = DESCRIPTION.completed("register,DP_TSA,0x80,yours,a */ evil; /* book", "mine.csv")
    lines = as_c([unit(mine).raw("DP_TSA", 1)], unit(mine))
    text = "\n".join(lines)
    assert text.count("*/") == text.count("/*") == 2
    assert "a * / evil; / * book" in text


@given(st.integers(40, 100))
def test_both_fit_the_width(width: int) -> None:
    real = unit(REAL, None)
    writes = [real.setting("DP_CA0C", {"CENM": "mark", "CE": "cycles", "CEP": "any", "CDM": "debugev"})]
    for lines in (as_values(writes, real, width), as_c(writes, real, width)):
        assert max(len(line) for line in lines if not line.startswith("*")) <= width
