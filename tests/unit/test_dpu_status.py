"""The DPU's registers decoded, with the weakest status of what that rests on."""

from __future__ import annotations

from typing import Dict

import pytest

from dpu_gdb import REAL
from dpu_machine import DESCRIPTION as SIMULATED
from gdb_prof.counters.description import Description
from gdb_prof.counters.dpu.status import rows, text, unplaced


def values(**words: int) -> Dict[str, int]:
    return {**{name: 0 for name, r in REAL.registers.items() if not r.write_only}, **words}


def row(name: str, word: int) -> "tuple[str, str]":
    found = next(row for row in rows(SIMULATED, values(**{name: word})) if row.register == name)
    return " ".join(found.fields), found.known


@pytest.mark.parametrize(
    ("register", "word", "fields", "known"),
    [
        ("DP_CR", 0x3, "SAMPLE=1 EN=1", "documented"),
        ("DP_CR", 0x81, "SAMPLE=0 EN=1 rest=0x80", "documented"),
        ("DP_TSA", 0x60000000, "", "documented"),
        (
            "DP_CA0C",
            0x10C08000,
            "CENM=mark CENMP=0 CE=dcache_thrash CEP=any CDM=debugev CDMP=0 CMODE=oneshot",
            "article",  # of the codes of MARK and DEBUGEV
        ),
        # a number without a meaning is a number
        ("DP_CA0C", 0x03E00000, "CENM=none CENMP=0 CE=0x1f CEP=any CDM=none CDMP=0 CMODE=oneshot", "article"),
        ("DP_CA0V", 0x80000005, "COUNT=5 rest=0x80000000", "article"),
    ],
)
def test_a_register_by_its_fields(register: str, word: int, fields: str, known: str) -> None:
    assert row(register, word) == (fields, known)


def test_a_register_that_is_only_written_has_no_value() -> None:
    found = rows(SIMULATED, values())[-1]
    assert (found.register, found.value, found.fields) == ("DP_TD", None, ("only written",))


def test_of_the_real_unit_all_rests_on_an_unverified_map() -> None:
    assert {found.known for found in rows(REAL, values())} == {"unverified"}
    assert unplaced(REAL) == [
        "TWBA in DP_SR",
        "CENM, CENMP, CE, CEP, CDM, CDMP in DP_CA0C, DP_CA1C, DP_CA2C, DP_CB0C, DP_CB1C, DP_CB2C",
    ]


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("description", [REAL, SIMULATED], ids=["real", "simulated"])
def test_it_fits_and_says_where_it_comes_from(description: Description, width: int) -> None:
    output = text(description, values(DP_CA0C=0x10C08000), width)
    assert max(map(len, output.splitlines())) <= width
    assert "\narticle: one on the MSC8251's DPU\n" in output
    assert "DP_CA0C  0x10c08000  " in output
