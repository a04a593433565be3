"""Events by the names and numbers that the user writes, and the rows they come from."""

from __future__ import annotations

from typing import Tuple

import pytest

from gdb_prof.counters.cortexm.events import Chosen, chosen, meaning, name_of, names
from gdb_prof.counters.description import packaged
from gdb_prof.errors import UsageError

PMU, DWT = packaged("pmu", "PMU"), packaged("dwt", "DWT")


def test_every_event_of_the_header_has_its_row() -> None:
    codes = PMU.codes("EVENT")
    assert len(codes) == len({code.meaning for code in codes}) == 177
    assert all(code.fact.source.startswith("CMSIS_5@") and code.fact.note for code in codes)


@pytest.mark.parametrize(
    ("name", "number", "note"),
    [
        ("SW_INCR", 0x0000, "Software update to the PMU_SWINC register"),
        ("L1D_CACHE_REFILL", 0x0003, "L1 D-Cache refill"),
        ("INST_RETIRED", 0x0008, "Instruction architecturally executed"),
        ("CHAIN", 0x001E, "For an odd numbered counter"),
        ("STALL", 0x003C, "Stall cycle"),
        ("MVE_STALL", 0x02CC, "Stall cycles caused by an MVE instruction"),
        ("PF_BUFFER_HIT", 0xC424, "A load access hits"),
    ],
)
def test_numbers_are_those_of_the_header(name: str, number: int, note: str) -> None:
    code = PMU.code("EVENT", name)
    assert code.value == number and code.fact.note.startswith(note) and code.fact.status == "documented"


def test_a_number_that_the_header_gives_twice_is_unverified() -> None:
    doubtful = [code.meaning for code in PMU.codes("EVENT") if code.fact.status != "documented"]
    assert doubtful == ["MVE_ST_MULTI_RETIRED"]
    assert name_of(PMU, 0x0261) == "0x0261", "two names have it"


@pytest.mark.parametrize(
    ("register", "offset"), [("EVCNTR0", 0), ("EVCNTR30", 0x78), ("CCNTR", 0x7C), ("EVTYPER30", 0x478)]
)
def test_the_pmus_registers(register: str, offset: int) -> None:
    assert PMU.register(register).offset == offset


@pytest.mark.parametrize(
    ("field", "bit"), [("NOCYCCNT", 25), ("NOPRFCNT", 24), ("CYCCNTENA", 0), ("FOLDEVTENA", 21)]
)
def test_dwts_fields(field: str, bit: int) -> None:
    found = DWT.field("CTRL", field)
    assert found is not None and found.mask == 1 << bit


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cyccnt", "CPI"), Chosen(("cyccnt", "cpi"))),
        (("ccntr",), Chosen(ccntr=True)),
        (("inst_retired",), Chosen(pmu=(("INST_RETIRED", "INST_RETIRED"),))),
        (("0x8", "8"), Chosen(pmu=(("INST_RETIRED", "INST_RETIRED"),))),
        (("0xFFFF",), Chosen(pmu=(("0xffff", 0xFFFF),))),
        (("0x0261",), Chosen(pmu=(("0x0261", 0x0261),))),
        (("lsu", "lsu", "STALL", "stall"), Chosen(("lsu",), pmu=(("STALL", "STALL"),))),
        ((), Chosen()),
    ],
)
def test_names_in_either_case_and_numbers_each_once(words: Tuple[str, ...], expected: Chosen) -> None:
    assert chosen(words, PMU) == expected


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("INST_RETIRE", "no event INST_RETIRE (names, or numbers of 0 to 0xffff): is it INST_RETIRED"),
        ("cycnt", "no event cycnt (names, or numbers of 0 to 0xffff): is it cyccnt or ccntr?"),
        ("x", "no event x (names, or numbers of 0 to 0xffff): see `help counters start`"),
        ("0x10000", "no event 0x10000 (names, or numbers"),
        ("-1", "no event -1 (names"),
        ("\x1b[31m", "no event \\x1b[31m (names"),
        ("chain", "CHAIN joins two counters to one of 32 bits: that is done without being asked"),
        ("0x1e", "CHAIN joins two counters"),
    ],
)
def test_what_is_no_event(word: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        chosen((word,), PMU)
    assert str(caught.value).startswith(said)


def test_each_name_can_be_asked_for_and_has_a_meaning() -> None:
    for name in names(PMU):
        found = chosen((name,), PMU)
        assert len(found.dwt) + found.ccntr + len(found.pmu) == 1 and meaning(PMU, name)
