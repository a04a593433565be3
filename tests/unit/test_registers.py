"""Registers by name: bulk reads, planned writes, read-back, and what is not written without force."""

from __future__ import annotations

from typing import Dict, List, Tuple

import pytest

from device_rows import ROWS
from gdb_prof.counters.description import Description, Fact, parse
from gdb_prof.counters.registers import Unit, Write, rests_on
from gdb_prof.errors import TargetError, UsageError

BASE = 0x1000


class Memory:
    """Words by address; `stuck`: bits that do not take. `reads` has what was asked for: address, words."""

    def __init__(self, stuck: int = 0) -> None:
        self.words: Dict[int, int] = {}
        self.reads: List[Tuple[int, int]] = []
        self.writes: List[Tuple[int, int]] = []
        self.stuck = stuck

    def read(self, address: int, number: int, what: str) -> Tuple[int, ...]:
        self.reads.append((address, number))
        return tuple(self.words.get(address + 4 * n, 0) for n in range(number))

    def write(self, address: int, value: int, what: str) -> None:
        self.writes.append((address, value))
        self.words[address] = value & ~self.stuck


def unit(memory: Memory, rows: str = ROWS) -> Unit:
    return Unit(Description("unit", parse(rows, "rows.csv", "")), memory, BASE)


def test_all_are_read_at_once_but_for_what_is_only_written() -> None:
    memory = Memory()
    memory.words = {BASE + 4: 7, BASE + 8: 9}
    assert unit(memory).read_all() == {"CTRL": 7, "AT0": 9}
    assert memory.reads == [(BASE + 4, 2)]


def test_a_register_that_is_only_written_is_not_read_over() -> None:
    memory = Memory()
    unit(memory, "register,A,0,article\nregister,D,4 w,article\nregister,B,8,article").read_all()
    assert memory.reads == [(BASE, 1), (BASE + 8, 1)]


def test_what_lies_between_two_registers_is_not_read() -> None:
    memory = Memory()
    tested = unit(memory, "register,A,0,article\nregister,B,4,article\nregister,C,0xc,article")
    assert list(tested.read_all(["C", "A"])) == ["C", "A"]
    tested.read_all()
    assert memory.reads == [(BASE, 1), (BASE + 0xC, 1), (BASE, 2), (BASE + 0xC, 1)]


def test_what_is_only_written_is_not_read_by_name() -> None:
    with pytest.raises(UsageError, match="DATA is only written, by manual"):
        unit(Memory(), ROWS.replace("w,article,text", "w,article,manual")).read_all(["CTRL", "DATA"])


def test_fields_that_overlap_are_not_set_together() -> None:
    tested = unit(Memory(), ROWS + "field,CTRL.HALF,2:1,yours\n")
    with pytest.raises(UsageError, match=r"HALF overlaps another field of CTRL, by rows\.csv:12"):
        tested.setting("CTRL", {"MODE": 3, "HALF": 0})


def test_a_plan_with_a_field_of_unknown_position_is_never_written() -> None:
    memory = Memory()
    tested = unit(memory)
    plan = tested.setting("AT0", {"KIND": 1}, before=7)
    assert (plan.value, [(field.name, number) for field, number in plan.fields]) == (7, [("KIND", 1)])
    with pytest.raises(UsageError, match="where KIND lies in AT0 is not known"):
        tested.perform([plan], force=True)
    assert memory.writes == []


def test_what_is_put_back_is_so_in_order_and_behind_what_fails() -> None:
    memory = Memory(stuck=1)
    tested = unit(memory)
    both = [tested.raw("CTRL", 2), tested.raw("AT0", 4)]
    assert tested.put_back(both) == "CTRL, AT0 put back as before"
    both = [tested.raw("CTRL", 1), tested.raw("AT0", 8)]
    assert tested.put_back(both) == "CTRL could not be put back"
    assert memory.words == {BASE + 4: 0, BASE + 8: 8}


def test_a_setting_changes_its_fields_alone() -> None:
    write = unit(Memory()).setting("CTRL", {"EN": 1, "MODE": "fast"}, before=0xFFFFFF00)
    assert (write.value, write.register) == (0xFFFFFF05, "CTRL")
    assert [(field.name, number) for field, number in write.fields] == [("EN", 1), ("MODE", 2)]
    assert rests_on(write.facts) == [
        "documented (manual)",
        "unverified (damaged, here): CTRL.MODE",
        "article (text): MODE.fast",
    ]


@pytest.mark.parametrize(
    ("register", "fields", "complaint"),
    [
        ("AT0", {"KIND": 16}, "KIND has 4 bits: 0x10 does not fit"),
        ("CTRL", {"MODE": "slow"}, "the code of slow in MODE is not known: give its number"),
        ("CTRL", {"MODE": 16}, "MODE has 4 bits: 0x10 does not fit"),
        ("CTRL", {"SPEED": 1}, "CTRL has no field SPEED: it has MODE, EN"),
        ("DATA", {"X": 1}, "DATA has no field X: it has none that is known"),
    ],
)
def test_what_is_not_known_is_not_written_by_name(
    register: str, fields: Dict[str, "int | str"], complaint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        unit(Memory()).setting(register, fields)
    assert str(caught.value).startswith(complaint)


def test_nothing_unverified_is_written_without_force() -> None:
    memory = Memory()
    tested = unit(memory)
    plan = [tested.setting("CTRL", {"EN": 1}), tested.setting("CTRL", {"MODE": 3})]
    with pytest.raises(UsageError) as caught:
        tested.perform(plan, force=False)
    assert str(caught.value) == (
        "nothing is written: unverified (damaged, here): CTRL.MODE: -force writes it all the same"
    )
    assert memory.writes == []
    tested.perform(plan, force=True)
    assert memory.writes == [(BASE + 4, 1), (BASE + 4, 6)]


def test_an_unverified_base_is_unverified_for_every_write() -> None:
    base = Fact("unit", "base", "0x1000", "unverified", "a header")
    tested = Unit(unit(Memory()).description, Memory(), BASE, [base])
    with pytest.raises(UsageError, match=r"unverified \(a header\): base"):
        tested.perform([tested.raw("CTRL", 0)], force=False)


def test_what_does_not_take_is_named() -> None:
    tested = unit(Memory(stuck=0x10))
    with pytest.raises(TargetError) as caught:
        tested.perform([tested.raw("CTRL", 0x11)], force=False)
    assert str(caught.value) == "CTRL at 0x00001004 did not take 0x00000011: it reads 0x00000001"
    tested.perform([Write("CTRL", 0x11, held=0x0F)], force=False)


def test_what_is_only_written_is_not_read_back() -> None:
    memory = Memory()
    tested = unit(memory)
    tested.perform([tested.raw("DATA", 5)], force=False)
    assert memory.writes == [(BASE + 16, 5)] and memory.reads == []
    with pytest.raises(UsageError, match="DATA is only written"):
        tested.read("DATA")


def test_without_a_base_there_are_plans_but_no_access() -> None:
    tested = Unit(unit(Memory()).description, Memory(), None)
    assert tested.raw("CTRL", 1).value == 1
    with pytest.raises(UsageError, match="the address of the unit is not known"):
        tested.read("CTRL")
