"""What changed between two profiles: rows by name, and only what is more than chance is called sure
(cases 18, 19, 24 for the names)."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import pytest
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.profile.checks import examine
from gdb_prof.profile.diff.chance import Counts, p_value
from gdb_prof.profile.diff.difference import Difference, Side, difference
from gdb_prof.profile.diff.text import report
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import Function
from gdb_prof.profile.program.names import Label, Names, Stretch
from gdb_prof.profile.report import Layout
from gdb_prof.profile.samples import Histogram, Profile, Timing

JITTERED = Timing("SysTick", 2013, 2047, 168e6)


class Program:
    """Functions of 0x100 bytes, one after the other from an address on, as a test lists them:
    (name, image, file, first line). Each 4 bytes are a line."""

    def __init__(self, *functions: str, at: int = 0x08000000, image: str = "app.elf", down: int = 0) -> None:
        """`NAME [FILE [IMAGE]]`; `down`: how many lines lie before the first one."""
        self.addresses: Dict[str, int] = {}
        stretches = []
        for number, text in enumerate(functions):
            name, file, own_image = (text.split() + ["", ""])[:3]
            start, first = at + 0x100 * number, 10 + down
            function = Function(name, start, start + 0x100, own_image or image, file.rsplit("/", 1)[-1])
            self.addresses[text] = start
            for offset in range(0, 0x100, 4):
                line = (file, first + offset // 4) if file else None
                label = Label(function, (file, first) if file else None, line)
                stretches.append(Stretch(start + offset, 2, label))
        self.build = Names("", image, tuple(stretches)).build()

    def side(
        self,
        counts: Mapping[str, int],
        by: str = "function",
        origin: str = "a.prof",
        tags: Optional[Mapping[str, int]] = None,
        names: Optional[Dict[int, str]] = None,
        **fields: object,
    ) -> Side:
        """So many samples of functions, or of `function:line`, from the first one on, well mixed."""
        pcs = [pc for text, n in counts.items() for pc in [self._address(text)] * n]
        order = random.Random(1).sample(range(len(pcs)), len(pcs))
        tagged = [tag for text, n in counts.items() for tag in [(tags or {}).get(text, 0)] * n]
        profile = Profile(
            [pcs[at] for at in order],
            [tagged[at] for at in order] if tags else None,
            taken=len(pcs),
            timing=JITTERED,
            origin=origin,
            tag_names=names or {},
        )
        profile = dataclasses.replace(profile, **fields)  # type: ignore[arg-type]
        return Side(profile, self.build, examine(profile, self.build, by, check=False))

    def _address(self, text: str) -> int:
        if text in self.addresses:
            return self.addresses[text]
        name, _, line = text.partition(":")
        return self.addresses[name] + 4 * int(line) if line else 0


Rows = Dict[str, Tuple[int, int]]


def rows(found: Difference) -> Rows:
    """With what tells a name from others of its kind."""
    return {c.name + (" (%s)" % c.apart if c.apart else ""): (c.before, c.after) for c in found.changes}


def compared(
    before: Tuple[Sequence[str], Mapping[str, int]], after: Tuple[Sequence[str], Mapping[str, int]]
) -> Difference:
    """Two builds, the second one 0x1234000 further on and of another file name."""
    old, new = Program(*before[0]), Program(*after[0], at=0x09234000, image="new.elf")
    return difference(old.side(before[1]), new.side(after[1]), "function")


def test_functions_are_the_same_by_name_wherever_they_lie() -> None:
    found = compared(
        (["f", "g", "h"], {"f": 500, "g": 300, "h": 200}), (["h", "g", "f"], {"f": 400, "g": 600})
    )
    assert rows(found) == {"f": (500, 400), "g": (300, 600), "h": (200, 0)}
    assert [change.name for change in found.changes] == ["g", "h", "f"]
    assert [round(change.points, 1) for change in found.changes] == [30.0, -20.0, -10.0]
    assert all(change.certain for change in found.changes)


def test_changes_that_are_sure_come_first_then_the_largest() -> None:
    names = ["f", "g", "h", "k"]
    found = compared(
        (names, {"f": 700, "g": 290, "h": 0, "k": 10}), (names, {"f": 680, "g": 282, "h": 20, "k": 18})
    )
    assert [(c.name, c.certain) for c in found.changes] == [
        ("h", True),
        ("f", False),
        ("g", False),
        ("k", False),
    ]


def test_two_functions_of_one_name_are_told_apart_by_file() -> None:
    names = ["init src/uart.c", "init src/spi.c", "run src/main.c"]
    counts = {names[0]: 30, names[1]: 50, names[2]: 20}
    other = ["run src/main.c", "init lib/spi.c", "init lib/uart.c"]
    found = compared((names, counts), (other, {other[0]: 20, other[1]: 40, other[2]: 40}))
    assert rows(found) == {"init (uart.c)": (30, 40), "init (spi.c)": (50, 40), "run": (20, 20)}


def test_two_functions_of_one_name_are_told_apart_by_image() -> None:
    """And only by it where it does: the files of a single image may be called anything."""
    names = ["main - boot.elf", "main - app.elf", "run"]
    found = compared((names, dict(zip(names, (3, 7, 90)))), (names, dict(zip(names, (7, 3, 90)))))
    assert rows(found) == {"main (boot.elf)": (3, 7), "main (app.elf)": (7, 3), "run": (90, 90)}


def test_a_name_that_is_single_on_both_sides_needs_no_file() -> None:
    found = compared((["f src/old.c"], {"f src/old.c": 10}), (["f src/new.c"], {"f src/new.c": 12}))
    assert rows(found) == {"f": (10, 12)}


@pytest.mark.parametrize(
    ("before", "after", "expected", "merged"),
    [
        ({"f": 60, "f.part.0": 40}, {"f": 100}, {"f": (100, 100)}, {"f": ("f.part.0",)}),
        (
            {"f": 100},
            {"f.constprop.0": 70, "f.isra.0": 30},
            {"f": (100, 100)},
            {"f": ("f.constprop.0", "f.isra.0")},
        ),
        (
            {"f.lto_priv.3": 100},
            {"f.lto_priv.5": 100},
            {"f": (100, 100)},
            {"f": ("f.lto_priv.3", "f.lto_priv.5")},
        ),
        ({"f": 60, "f.part.0": 40}, {"f": 50, "f.part.0": 50}, {"f": (60, 50), "f.part.0": (40, 50)}, {}),
        ({"f.part.0": 40, "g": 60}, {"g": 100}, {"f.part.0": (40, 0), "g": (60, 100)}, {}),
        ({"f": 40, "g": 60}, {"h": 40, "g": 60}, {"f": (40, 0), "h": (0, 40), "g": (60, 60)}, {}),
        ({"v1.2_table": 50, "v1": 50}, {"v1": 100}, {"v1.2_table": (50, 0), "v1": (50, 100)}, {}),
    ],
)
def test_a_clone_of_one_build_only_is_counted_as_its_function(
    before: Dict[str, int], after: Dict[str, int], expected: Rows, merged: Dict[str, Tuple[str, ...]]
) -> None:
    found = compared((list(before), before), (list(after), after))
    assert rows(found) == expected
    assert found.merged == merged


def test_clones_of_functions_in_two_files_stay_apart() -> None:
    names = ["f a.c", "f.part.0 a.c", "f b.c"]
    found = compared(
        (names, dict(zip(names, (10, 20, 70)))), (["f a.c", "f b.c"], {"f a.c": 40, "f b.c": 60})
    )
    assert rows(found) == {"f (a.c)": (30, 40), "f (b.c)": (70, 60)}


def test_in_one_build_a_clone_that_was_not_sampled_is_no_reason_to_merge() -> None:
    program = Program("f", "f.part.0")
    before = program.side({"f": 60, "f.part.0": 40}, build_id="b1")
    after = program.side({"f": 100}, build_id="b1")
    assert rows(difference(before, after, "function")) == {"f": (60, 100), "f.part.0": (40, 0)}
    assert rows(difference(before, program.side({"f": 100}), "function")) == {"f": (100, 100)}


def by_line(
    before: Mapping[str, int], after: Mapping[str, int], down: int = 0
) -> List[Tuple[Optional[Tuple[str, int]], int, int]]:
    old = Program("f src/a.c", "g src/a.c")
    new = Program("g a.c", "f a.c", down=down)
    left = old.side({k.replace("f", "f src/a.c"): n for k, n in before.items()}, "line")
    right = new.side({k.replace("f", "f a.c"): n for k, n in after.items()}, "line")
    found = difference(left, right, "line")
    return sorted((c.source, c.before, c.after) for c in found.changes)  # type: ignore[type-var]


def test_lines_of_a_function_that_moved_as_a_whole_stay_the_same() -> None:
    assert by_line({"f:0": 10, "f:5": 90}, {"f:0": 20, "f:5": 80}, down=7) == [
        (("a.c", 17), 10, 20),
        (("a.c", 22), 90, 80),
    ]


def test_a_line_that_is_on_one_side_only_is_shown_there() -> None:
    assert by_line({"f:0": 10, "f:5": 90}, {"f:0": 20, "f:6": 80}, down=7) == [
        (("a.c", 17), 10, 20),
        (("a.c", 23), 0, 80),
        (("src/a.c", 15), 90, 0),
    ]


def side_of_lines(lines: Dict[int, Tuple[str, int]], first: int, counts: Dict[int, int]) -> Side:
    """One function `f` with these lines by offset, and the line of its first instruction."""
    function = Function("f", 0x08000000, 0x08000100, "app.elf")
    stretches = [
        Stretch(0x08000000 + at, 1, Label(function, ("a.c", first), line)) for at, line in lines.items()
    ]
    build = Names("", "", tuple(stretches)).build()
    pcs = [0x08000000 + at for at, n in counts.items() for _ in range(n)]
    profile = Profile(pcs, taken=len(pcs), timing=JITTERED)
    return Side(profile, build, examine(profile, build, "line", check=False))


def test_lines_are_the_same_though_the_first_instruction_is_of_another_line() -> None:
    """A compiler may put a part of the loop before the prologue: the first instruction's line says less
    than three lines that fit."""
    lines = {0: ("a.c", 9), 2: ("a.c", 10), 4: ("a.c", 12)}
    before = side_of_lines(lines, 6, {0: 10, 2: 20, 4: 70})
    after = side_of_lines(lines, 9, {0: 20, 2: 20, 4: 60})
    found = difference(before, after, "line")
    assert {c.source: (c.before, c.after) for c in found.changes} == {
        ("a.c", 9): (10, 20),
        ("a.c", 10): (20, 20),
        ("a.c", 12): (70, 60),
    }


def test_lines_inlined_from_another_file_are_at_their_own_place() -> None:
    before = side_of_lines({0: ("a.c", 10), 2: ("work.h", 16)}, 10, {0: 10, 2: 90})
    after = side_of_lines({0: ("a.c", 14), 2: ("work.h", 16)}, 14, {0: 20, 2: 80})
    found = difference(before, after, "line")
    assert {c.source: (c.before, c.after) for c in found.changes} == {
        ("a.c", 14): (10, 20),
        ("work.h", 16): (90, 80),
    }


def test_files_are_the_same_by_their_own_name_unless_that_occurs_twice() -> None:
    old = Program("f /home/a/src/x.c", "g /home/a/src/y.c")
    new = Program("f C:\\build\\x.c", "g C:\\build\\y.c")
    left = old.side({"f /home/a/src/x.c": 10, "g /home/a/src/y.c": 30}, "file")
    right = new.side({"f C:\\build\\x.c": 20, "g C:\\build\\y.c": 20}, "file")
    assert rows(difference(left, right, "file")) == {"x.c": (10, 20), "y.c": (30, 20)}
    twice = Program("f src/x.c", "g lib/x.c").side({"f src/x.c": 1, "g lib/x.c": 3}, "file")
    assert rows(difference(twice, twice, "file")) == {"x.c (src/x.c)": (1, 1), "x.c (lib/x.c)": (3, 3)}


def test_tasks_are_the_same_by_name_wherever_their_control_block_lies() -> None:
    program = Program("f", "g")
    before = program.side({"f": 60, "g": 40}, "task", tags={"f": 1, "g": 2}, names={1: "rx", 2: "tx"})
    after = program.side({"f": 30, "g": 70}, "task", tags={"f": 8, "g": 9}, names={8: "tx", 9: "rx"})
    assert rows(difference(before, after, "task")) == {"rx": (60, 70), "tx": (40, 30)}


def test_tasks_of_one_name_are_taken_together_and_said_so() -> None:
    program = Program("f", "g", "h")
    tags = {"f": 1, "g": 2, "h": 0}
    side = program.side({"f": 60, "g": 30, "h": 10}, "task", tags=tags, names={1: "w", 2: "w"})
    other = program.side({"f": 50, "g": 30, "h": 20}, "task", tags=tags, names={1: "w", 2: "w"})
    found = difference(side, other, "task")
    assert rows(found) == {"w": (90, 80), "(no task)": (10, 20)}
    assert found.shared == ("w",)
    assert "! several tasks have the name w: taken together" in report(found, Layout())


def test_samples_that_are_in_no_function_are_rows_too() -> None:
    program = Program("f")
    found = difference(
        program.side({"f": 90, "nowhere": 10}), program.side({"f": 60, "nowhere": 40}), "function"
    )
    assert rows(found) == {"f": (90, 60), "(outside code)": (10, 40)}


def test_shares_are_tested_as_so_many_samples_as_are_independent() -> None:
    """Runs of 50 at one place: 2,000 samples that are worth few."""
    program = Program("f", "g")
    mixed = program.side({"f": 1000, "g": 1000})
    more = program.side({"f": 1150, "g": 850})
    f, g = program.addresses["f"], program.addresses["g"]
    pcs = [pc for at in range(40) for pc in [f if at * 7 % 40 < 23 else g] * 50]
    profile = Profile(pcs, taken=len(pcs), timing=JITTERED)
    slow = Side(profile, program.build, examine(profile, program.build, check=False))
    assert slow.verdict.effective is None or slow.verdict.effective < 200
    assert all(c.certain for c in difference(mixed, more, "function").changes)
    assert not any(c.certain for c in difference(mixed, slow, "function").changes)


def test_nothing_is_sure_where_the_worth_of_the_samples_is_not_known() -> None:
    program = Program("f", "g")
    stuck = Profile([program.addresses["f"]] * 300, taken=300, timing=Timing("SysTick", 2013))
    before = Side(stuck, program.build, examine(stuck, program.build, check=False))
    assert before.verdict.effective is None
    found = difference(before, program.side({"f": 100, "g": 900}, origin="b.prof"), "function")
    assert [c.certain for c in found.changes] == [None, None]
    text = report(found, Layout(1000))
    assert re.search(r"^ 100\.00 +\? +10\.00 +1\.8\d +-90\.00 +\? +f$", text, re.MULTILINE), text
    assert "No change can be called larger than chance: too few of the samples of the target are" in text
    assert "for all rows together" not in text


NAMES = ["f", "f.part.0", "g", "g.constprop.0", "init a.c", "init b.c", "idle"]
COUNTS = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 80), min_size=1)


@given(COUNTS, st.sampled_from(["function", "line", "file"]))
def test_a_profile_does_not_differ_from_itself(counts: Dict[str, int], by: str) -> None:
    side = Program(*NAMES).side(counts, by)
    found = difference(side, side, by)
    assert found.is_none and not any(c.certain for c in found.changes)
    lines = report(found, Layout()).splitlines()
    assert lines[-1] == "No row differs." and len(lines) == 3


@given(COUNTS, COUNTS, st.sampled_from(["function", "line", "file"]))
def test_from_the_other_side_all_changes_are_the_other_way_round(
    one: Dict[str, int], two: Dict[str, int], by: str
) -> None:
    before, after = Program(*NAMES).side(one, by), Program(*reversed(NAMES), at=0x09000000).side(two, by)
    there, back = difference(before, after, by), difference(after, before, by)

    def told(found: Difference) -> List[Tuple[str, int, int, float, Optional[bool]]]:
        return [(c.name + c.apart, c.before, c.after, round(c.points, 9), c.certain) for c in found.changes]

    reversed_ = [(name, a, b, -points, certain) for name, b, a, points, certain in told(back)]
    assert sorted(told(there)) == sorted(reversed_)  # type: ignore[type-var]
    assert there.merged == back.merged


@given(COUNTS, COUNTS)
def test_every_sample_of_either_side_is_in_one_row(one: Dict[str, int], two: Dict[str, int]) -> None:
    before, after = Program(*NAMES).side(one), Program(*reversed(NAMES), at=0x09000000).side(two)
    found = difference(before, after, "function")
    assert sum(c.before for c in found.changes) == before.total
    assert sum(c.after for c in found.changes) == after.total
    assert abs(sum(c.points for c in found.changes)) < 1e-9


def test_one_row_alone_is_sure_just_where_its_p_value_is_small() -> None:
    program = Program("f", "g")
    for after in range(500, 600, 7):
        found = difference(
            program.side({"f": 500, "g": 500}), program.side({"f": after, "g": 1000 - after}), "function"
        )
        expected = p_value(Counts(500, 1000, after, 1000)) <= 0.05 / 2
        assert {c.certain for c in found.changes} == {expected}


# -- as text ------------------------------------------------------------------------------

OLD = Program("hot_a src/a.c", "hot_b src/a.c", "f.part.0 src/b.c", "f src/b.c")
NEW = Program("hot_b src/a.c", "hot_a src/a.c", "f src/b.c", at=0x09000000)
BEFORE = OLD.side(dict(zip(OLD.addresses, (6975, 1999, 520, 506))), origin="old.prof")
AFTER = NEW.side(dict(zip(NEW.addresses, (2305, 6670, 1025))), origin="new.prof")


def test_the_report() -> None:
    assert report(difference(BEFORE, AFTER, "function"), Layout(80)) == (
        "before  old.prof: 10,000 samples, all independent\n"
        "after   new.prof: 10,000 samples, all independent\n"
        "Shares in % of each side's samples, ± 95 %: not the time that a call takes.\n"
        " before     ±  after     ±  change  sure  function  source\n"
        "  19.99  0.78  23.05  0.83   +3.06  yes   hot_b     a.c:10\n"
        "  69.75  0.90  66.70  0.92   -3.05  yes   hot_a     a.c:10\n"
        "  10.26  0.59  10.25  0.59   -0.01  no    f         b.c:10\n"
        "2 of 3 changes are larger than chance (5 % for all rows together). Samples like\n"
        "  these find a change of 2.7 points in 95 of 100 cases.\n"
        "! f.part.0: counted as f, since the two builds do not have the same ones\n"
    )


def test_two_runs_of_one_program_differ_by_nothing_sure() -> None:
    other = OLD.side(dict(zip(OLD.addresses, (6950, 2030, 515, 505))), origin="new.prof")
    text = report(difference(BEFORE, other, "function"), Layout(80))
    assert "  yes  " not in text and text.count("  no  ") == 4
    assert "No change is larger than chance (5 % for all rows together). Samples like" in text


def test_rows_that_are_not_shown_are_counted_and_summed() -> None:
    found = difference(BEFORE, AFTER, "function")
    top = report(found, Layout(80, top=1))
    assert re.search(r"^  80\.01 +76\.95 +\(2 more\)$", top, re.MULTILINE), top
    least = report(found, Layout(80, least_percent=20.0))
    assert re.search(r"^  10\.26 +10\.25 +\(1 more\)$", least, re.MULTILINE), least


@pytest.mark.parametrize("width", [60, 61, 72, 80, 100])
def test_no_line_is_wider_than_the_console(width: int) -> None:
    long = Program("a_function_with_quite_a_long_name_of_its_own src/and_a_long_file_name.c", "g src/b.c")
    counts = dict(zip(long.addresses, (700, 300)))
    other = dict(zip(long.addresses, (600, 400)))
    for by in ("function", "line", "file"):
        found = difference(long.side(counts, by), long.side(other, by), by)
        lines = report(
            found, Layout(width), ["a remark that is longer than sixty columns are, " * 2]
        ).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) >= 8


def test_where_there_is_no_room_for_both_the_line_tells_more_than_its_function() -> None:
    program = Program("a_name_of_some_length src/source.c")
    counts = {"a_name_of_some_length src/source.c:1": 60, "a_name_of_some_length src/source.c:2": 40}
    found = difference(
        program.side(counts, "line"), program.side({**counts, next(iter(counts)): 90}, "line"), "line"
    )
    wide, narrow = report(found, Layout(100)), report(found, Layout(60))
    assert re.search(r"sure  function +source$", wide, re.MULTILINE)
    assert "  a_name_of_some_length  source.c:11\n" in wide
    assert re.search(r"sure  source$", narrow, re.MULTILINE)
    assert "  source.c:11\n" in narrow and "  source.c:12\n" in narrow and "a_name" not in narrow


def test_names_are_shown_as_their_source_says_them_and_printable() -> None:
    program = Program("_Z1fv", "g\x1b[31m")
    found = difference(
        program.side({"_Z1fv": 700, "g\x1b[31m": 300}, origin="a\x1b.prof"),
        program.side({"_Z1fv": 300, "g\x1b[31m": 700}),
        "function",
    )
    text = report(found, Layout(80, demangle=lambda name: name.replace("_Z1fv", "f()")))
    assert "  f()\n" in text and "  g\\x1b[31m\n" in text and "\x1b" not in text


def test_a_readable_name_keeps_what_tells_it_from_others() -> None:
    program = Program("_Z1fv a.c", "_Z1fv b.c")
    found = difference(
        program.side({"_Z1fv a.c": 7, "_Z1fv b.c": 3}), program.side({"_Z1fv a.c": 8}), "function"
    )
    text = report(found, Layout(80, demangle=lambda name: {"_Z1fv": "f()"}[name]))
    assert "  f() (a.c)  a.c:10\n" in text and "  f() (b.c)  b.c:10\n" in text


def test_different_periods_are_said_unless_both_took_a_known_time() -> None:
    remark = "; the periods differ, so that numbers of samples tell no time, either."
    slow = dataclasses.replace(JITTERED, period_ticks=4000)
    other = dataclasses.replace(AFTER.profile, timing=slow)
    found = difference(BEFORE, dataclasses.replace(AFTER, profile=other), "function")
    assert remark in report(found, Layout(1000))
    timed = [
        dataclasses.replace(
            side, profile=dataclasses.replace(side.profile, timing=dataclasses.replace(t, elapsed_s=1.0))
        )
        for side, t in ((BEFORE, JITTERED), (AFTER, slow))
    ]
    assert remark not in report(difference(timed[0], timed[1], "function"), Layout(1000))


def test_a_histogram_is_taken_to_be_independent_and_said_so() -> None:
    profile = Profile(
        histogram=Histogram(0x08000000, 8, (6900, 2000, 600, 500)), taken=10_000, timing=JITTERED
    )
    histogram = Side(profile, OLD.build, examine(profile, OLD.build, check=False))
    found = difference(BEFORE, histogram, "function")
    assert "after   the target: 10,000 samples, taken to be independent" in report(found, Layout())
    assert rows(found)["hot_a"] == (6975, 6900)


def test_lines_of_a_fake_that_says_nothing() -> None:
    """Without debug information all rows are functions."""
    build = Build(OLD.build.functions, FakeLines(), OLD.build.code)
    sides = [
        Side(side.profile, build, examine(side.profile, build, "line", check=False))
        for side in (BEFORE, BEFORE)
    ]
    assert set(rows(difference(sides[0], sides[1], "line"))) == {"hot_a", "hot_b", "f", "f.part.0"}
