"""Device descriptions: rows of CSV, overridden and completed by a user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from device_rows import ROWS
from gdb_prof.counters.description import STATUSES, Description, packaged, parse
from gdb_prof.errors import FileError, UsageError
from running import ROOT


def description(rows: str = ROWS) -> Description:
    return Description("unit", parse(rows, "rows.csv", ""))


def test_registers_stand_in_the_order_of_their_offsets() -> None:
    found = description()
    assert [(r.name, r.offset, r.write_only) for r in found.registers.values()] == [
        ("CTRL", 4, False),
        ("AT0", 8, False),
        ("DATA", 16, True),
    ]


def test_fields_from_the_highest_bit_down() -> None:
    mode, enable = description().fields("CTRL")
    assert (mode.name, mode.lsb, mode.width, mode.mask, mode.of(0b10101)) == ("MODE", 1, 4, 0b11110, 0b1010)
    assert (enable.name, enable.lsb, enable.width, enable.of(0b10101)) == ("EN", 0, 1, 1)
    assert mode.fact.source == "damaged, here"


def test_a_pattern_stands_for_registers_and_a_question_mark_for_an_unknown_position() -> None:
    (kind,) = description().fields("AT0")
    assert (kind.register, kind.name, kind.lsb, kind.width) == ("AT0", "KIND", None, 4)
    assert description().fields("AT12") == ()
    assert description().placed("AT0", "KIND") is None and description().placed("CTRL", "EN") is not None


def test_codes_by_meaning() -> None:
    found = description()
    assert found.code("MODE", "fast").value == 2
    assert found.code("MODE", "slow").value is None
    with pytest.raises(UsageError, match="MODE has no quick: fast, slow"):
        found.code("MODE", "quick")
    with pytest.raises(UsageError, match="unit has no register X: it has CTRL, AT0, DATA"):
        found.register("X")


def test_a_users_rows_override_and_complete() -> None:
    found = description().completed(
        "register,CTRL,0x40\nfield,AT0.KIND,7:4\ncode,MODE.slow,3,documented,manual", "mine.csv"
    )
    assert found.registers["CTRL"].offset == 0x40
    (kind,) = found.fields("AT0")
    assert (kind.lsb, kind.width, kind.fact.status, kind.fact.source) == (4, 4, "yours", "mine.csv")
    slow = found.code("MODE", "slow")
    assert (slow.value, slow.fact.status, slow.fact.source) == (3, "documented", "manual")
    rule = found.fact("rule", "alignment")
    assert rule is not None and rule.value == "32"


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("register,CTRL", "mine.csv:2: expected kind,name,value,status,source,note, found 2 cells"),
        ("register,CTRL,4,seen", "mine.csv:2: the status is seen, expected one of documented, article, "),
        (
            "register,CTRL,6",
            "mine.csv:2: an offset is a multiple of 4 within 32 bits, perhaps with w, found 6",
        ),
        ("register,CTRL,0x100000000", "mine.csv:2: an offset is a multiple of 4 within 32 bits, perhaps"),
        ("register,CTRL,1" + 20 * "0", "mine.csv:2: an offset is a multiple of 4 within 32 bits, perhaps"),
        ("register,CTRL,four", "mine.csv:2: the offset is four, expected a number"),
        ("register,CTRL,", "mine.csv:2: the offset is missing, expected a number"),
        ("field,EN,0", "mine.csv:2: a field's name is REGISTER.FIELD, found EN"),
        ("field,CTRL.EN,40:32", "mine.csv:2: bits are msb:lsb within 31:0, found 40:32"),
        ("field,CTRL.EN,0:4", "mine.csv:2: bits are msb:lsb within 31:0, found 0:4"),
        ("field,CTRL.EN,?:many", "mine.csv:2: the width is many, expected a number"),
        ("code,fast,1", "mine.csv:2: a code's name is FIELD.MEANING, found fast"),
        ("code,MODE.fast,one", "mine.csv:2: the code is one, expected a number"),
        ("field,CTRL.EN,?:-5", "mine.csv:2: a width is 1 to 32 bits, found -5"),
        ("field,NOPE.EN,3", "mine.csv:2: NOPE fits no register of the unit"),
        ("field,AT[.EN,3", "mine.csv:2: AT[ fits no register of the unit"),
        ("field,CTRL.MODE,0", "mine.csv:2: MODE has 1 bits: fast = 0x2 does not fit"),
        ("code,MODE.fast,0x10", "mine.csv:2: MODE has 4 bits: fast = 0x10 does not fit"),
        ("code,SPEED.fast,1", "mine.csv:2: no field is called SPEED"),
        ("zork,a,b", "mine.csv:2: the kind is zork, expected one of unit, part, register, "),
        ("unit,base,zz", "mine.csv:2: the base is zz, expected a number"),
        ("unit,base,0x1001", "mine.csv:2: a base is a multiple of 4 within 32 bits, found 0x1001"),
        ("unit,byte_order,middle", "mine.csv:2: unit,byte_order is little or big, found middle"),
        ("record,task_id,sometimes", "mine.csv:2: record,task_id is incoming or outgoing, found sometimes"),
        ("rule,vtb_end,open", "mine.csv:2: rule,vtb_end is inclusive or exclusive, found open"),
        ("rule,allignment,64", "mine.csv:2: rule,allignment is unknown: there is alignment"),
        ("unit,width,8", "mine.csv:2: unit,width is unknown: there is none"),
        ("rule,vtb_range,1", "mine.csv:2: rule,vtb_range is 1, expected 2 numbers"),
        ("rule,vtb_alignment_16,0", "mine.csv:2: rule,vtb_alignment_16 is 0, expected a number above 0"),
        ("record,wrap_flag,CTRL.NOPE", "mine.csv:2: record,wrap_flag is REGISTER.FIELD, found CTRL.NOPE"),
        ("rule,long,%s" % ("x" * 140_000), "mine.csv:2: field larger than field limit (131072)"),
        ("code,MODE.\x1b[31m,one\x1b", r"mine.csv:2: the code is one\x1b, expected a number"),
    ],
)
def test_a_bad_row_is_named_by_its_line(row: str, complaint: str) -> None:
    with pytest.raises(FileError) as caught:
        description().completed("# mine\n" + row, "mine.csv")
    assert str(caught.value).startswith(complaint)


def test_what_a_row_says_is_safe_for_a_terminal() -> None:
    found = description().completed("code,MODE.\x1b[31m,1,,a\x07b", "mine.csv")
    code = found.codes("MODE")[-1]
    assert (code.meaning, code.fact.source) == (r"\x1b[31m", r"a\x07b")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "src/gdb_prof/counters/devices").glob("*.csv")), ids=lambda p: p.stem
)
def test_every_row_of_the_package_has_a_status_and_its_source(path: Path) -> None:
    found = packaged(path.stem, path.stem)
    assert found.facts
    for fact in found.facts:
        assert fact.status in STATUSES and fact.status != "yours", fact
        # what nobody knows may have no source
        assert fact.source != path.name or fact.status == "unknown", fact
