"""Two builds, two runs: what `prof diff` says of real profiles, and a profile with its own names."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import pytest

from gdb_prof.profile.checks import examine
from gdb_prof.profile.diff.difference import Difference, Side, difference
from mi import Mi, streamed
from running import ROOT, by_function, complaint, elf, functions_of, gdb, rows
from sampling import build, lap, longer, profile

LOOPS = elf("three_loops")
RECORD = "prof record -period 2013 -samples %d"

_CHANGE = re.compile(
    r"^ +(\d+\.\d\d) +\S+ +(\d+\.\d\d) +\S+ +([+-]\d+\.\d\d)  (yes|no|\?) +(\S+)(?: +(\S+))?$"
)


def changes(output: str) -> Dict[str, Tuple[float, float, float, str]]:
    """Before, after, change and `sure` by name, with the line where there is one, of the last table."""
    table: Dict[str, Tuple[float, float, float, str]] = {}
    for line in output.splitlines():
        match = _CHANGE.match(line)
        if line.startswith("before "):
            table = {}
        elif match:
            before, after, change = map(float, match.groups()[:3])
            key = match.group(5)
            table[key if key not in table else "%s %s" % (key, match.group(6))] = (
                *(before, after, change),
                match.group(4),
            )
    return table


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Path]:
    """Saved profiles: two runs of one program, one where hot_a has more turns, one of the same code at
    other addresses. QEMU's runs of the same instructions are the same run."""
    folder = tmp_path_factory.mktemp("saved")
    found = {}
    for name, program, samples in (
        ("one", "three_loops", 16_000),
        ("two", "three_loops", 14_000),
        ("shift", "three_loops_shift", 16_000),
        ("moved", "three_loops_moved", 16_000),
    ):
        found[name] = folder / (name + ".prof")
        output = gdb(
            "tbreak run", "continue", RECORD % samples, f"prof save {found[name]}", program=elf(program)
        ).stdout
        assert "samples saved" in output, output
    return found


def diff(*arguments: object, program: Path | None = None, before: Sequence[str] = ()) -> str:
    return gdb(*before, "prof diff " + " ".join(map(str, arguments)), program=program, target=False).stdout


# -- a profile with its own names -----------------------------------------------------------


def test_a_profile_is_reported_by_its_own_names_while_gdb_has_another_program(
    files: Dict[str, Path],
) -> None:
    commands = [f"prof load {files['moved']}"]
    commands += ["prof dump -by " + kind for kind in ("function", "line", "file", "inline", "address")]
    own = gdb(*commands, program=elf("three_loops_moved"), target=False).stdout
    other = gdb(*commands, program=elf("rtos_tag"), target=False).stdout

    def tables(output: str) -> List[str]:
        return [line for line in output.splitlines() if re.match(r"^ +\d+\.\d\d % ", line)]

    assert "hot_a" in rows(own.split("prof dump")[0]) or "hot_a" in own
    assert len(tables(own)) > 20
    assert tables(other) == tables(own)
    assert "belongs to another build" not in own


def test_whose_names_these_are_is_said(files: Dict[str, Path]) -> None:
    dump = (f"prof load {files['moved']}", "prof dump", "prof check")
    other = gdb(*dump, program=LOOPS, target=False).stdout
    build = r"! moved.prof belongs to another build of three_loops_moved.elf \(build-id \w{8}…; "
    assert len(re.findall(build + r"here build-id \w{8}…\): names are those saved with it", other)) == 2
    alone = gdb(*dump, target=False).stdout
    assert alone.count("! no ELF file is loaded: names are those saved with the profile") == 2
    strict = gdb(*dump, "prof check -strict", target=False)
    assert strict.returncode == 1
    assert "prof check: masked interrupts, emulator not looked for" in strict.stdout
    assert rows(alone.split("prof check")[0])["hot_a"] > 10_000


def test_a_log_that_is_saved_keeps_the_names_that_it_was_read_with(tmp_path: Path) -> None:
    log, file = tmp_path / "uart.txt", tmp_path / "saved.prof"
    log.write_text("%08x\n" % (functions_of(LOOPS)["hot_b"][0] + 4) * 20, encoding="ascii")
    gdb(f"prof load {log}", f"prof save {file}", program=LOOPS, target=False)
    assert set(rows(gdb(f"prof load {file}", "prof dump", program=elf("masked"), target=False).stdout)) == {
        "hot_b"
    }


def test_a_profile_without_names_is_reported_by_the_loaded_programs(
    files: Dict[str, Path], tmp_path: Path
) -> None:
    """A file of an earlier version: then names may be wrong, and that is said."""
    content = files["one"].read_bytes()
    older = tmp_path / "older.prof"
    older.write_bytes(content.replace(b'"names":', b'"nomen":', 1))
    same = gdb(f"prof load {older}", "prof dump", program=LOOPS, target=False).stdout
    assert rows(same)["hot_a"] > 10_000 and "names may be wrong" not in same
    output = diff(older, files["two"], program=elf("three_loops_moved"))
    assert re.search(
        r"^! older.prof belongs to another build of three_loops.elf .*: names may be wrong", output, re.M
    )
    again = tmp_path / "again.prof"
    gdb(f"prof load {older}", f"prof save {again}", program=elf("three_loops_moved"), target=False)
    assert b'"names"' not in again.read_bytes(), "names that may be wrong are not saved"


def test_names_outlive_a_second_load_and_save(files: Dict[str, Path], tmp_path: Path) -> None:
    again = tmp_path / "again.prof"
    gdb(f"prof load {files['moved']}", f"prof save {again}", program=LOOPS, target=False)
    output = diff(files["moved"], again)
    assert output.splitlines()[-1] == "No row differs."


def test_sleep_is_sleep_in_a_profile_of_another_build(tmp_path: Path) -> None:
    program, file = elf("sleeper", "mps2-an385"), tmp_path / "sleeper.prof"
    output = gdb(
        "prof record -period 301 -samples 2000",
        f"prof save {file}",
        "prof diff %s" % file,
        f"file {LOOPS}",
        "prof diff %s" % file,
        program=program,
        board="mps2-an385",
    ).stdout
    assert " asleep" in output
    assert output.count("No row differs.") >= 1, output
    loaded = gdb(f"prof load {file}", "prof dump", program=LOOPS, target=False).stdout
    assert re.search(r"[\d,]+ asleep", loaded), loaded
    assert rows(loaded) == rows(output.split("prof: 2,000 samples saved")[0])


# -- what changed -----------------------------------------------------------------------------


def test_a_profile_does_not_differ_from_itself(files: Dict[str, Path]) -> None:
    for kind in ("function", "line", "file"):
        output = diff(files["one"], files["one"], "-by", kind)
        assert output.splitlines() == [
            f"before  {files['one']}: 16,000 samples, all independent",
            f"after   {files['one']}: 16,000 samples, all independent",
            "No row differs.",
        ]


def test_two_runs_of_one_program_differ_by_chance_only(files: Dict[str, Path]) -> None:
    output = diff(files["one"], files["two"])
    found = changes(output)
    assert set(found) == {"hot_a", "hot_b", "hot_c", "run"}
    assert {sure for *_, sure in found.values()} == {"no"}
    assert "No change is larger than chance (5 % for all rows together). Samples like" in output


def test_what_became_slower_is_found(files: Dict[str, Path]) -> None:
    """Against the truth, QEMU's execution log of both."""
    output = diff(files["one"], files["shift"], program=elf("masked"))
    found = changes(output)
    for name in ("hot_a", "hot_b"):
        before, after = (truth(program)[name] for program in ("three_loops", "three_loops_shift"))
        assert abs(after - before) > 1.9
        error = 3.5 * math.sqrt(before * (100 - before) / 16_000 * 2)
        assert abs(found[name][2] - (after - before)) < error
    assert next(iter(found)) == "hot_a" and found["hot_a"][3] == "yes"
    assert re.search(r"^[1-4] of 4 changes (is|are) larger than chance", output, re.M)


def truth(program: str) -> Dict[str, float]:
    addresses = lap(program, "hot_a")
    counts = by_function(addresses, functions_of(elf(program)))
    return {name: 100 * n / len(addresses) for name, n in counts.items()}


@pytest.mark.parametrize("kind", ["function", "line", "file"])
def test_code_that_moved_is_the_same_code(files: Dict[str, Path], kind: str) -> None:
    at = [functions_of(elf(program))["hot_a"][0] for program in ("three_loops", "three_loops_moved")]
    assert at[0] != at[1]
    assert diff(files["one"], files["moved"], "-by", kind).splitlines()[2:] == ["No row differs."]


def test_the_second_profile_is_what_prof_dump_would_show(files: Dict[str, Path]) -> None:
    output = gdb(
        "break run",
        "continue",
        "delete",
        RECORD % 1000,
        f"prof diff {files['shift']}",
        f"prof load {files['two']}",
        f"prof diff {files['shift']}",
        "prof load -live",
        f"prof diff {files['shift']}",
        program=LOOPS,
    ).stdout
    assert re.search(r"^after   the recording: 1,000 samples", output, re.M)
    assert re.search(r"^after   two.prof: 14,000 samples", output, re.M)
    assert re.search(r"^after   the target: 1,000 samples", output, re.M)


def test_tasks_are_compared_by_name(tmp_path: Path) -> None:
    file = tmp_path / "tasks.prof"
    output = gdb(
        "tbreak heavy",
        "continue",
        RECORD % 2000,
        f"prof save {file}",
        RECORD % 3000,
        f"prof diff {file} -by task",
        program=elf("rtos_tag"),
    ).stdout
    assert set(changes(output)) == {"heavy", "light"}
    assert re.search(r"^ before +± +after +± +change +sure +task$", output, re.M)


def test_a_histogram_is_compared_with_a_ring(files: Dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "bins.prof"
    gdb(RECORD % 4000, f"prof save {file}", program=elf("three_loops_hist"))
    output = diff(files["one"], file)
    assert "after   bins.prof: 4,000 samples, taken to be independent" in output
    assert abs(changes(output)["hot_a"][2]) < 4


def test_no_line_is_wider_than_the_console(files: Dict[str, Path]) -> None:
    for width in (60, 80):
        for kind in ("function", "line"):
            output = diff(files["one"], files["shift"], "-by", kind, before=[f"set width {width}"])
            assert max(map(len, output.splitlines())) <= width
            assert ("hot_a" if kind == "function" else "three_loops.c:") in output


def test_rows_are_left_out_on_demand(files: Dict[str, Path]) -> None:
    assert list(changes(diff(files["one"], files["shift"], "-top", 2))) == ["hot_a", "hot_b"]
    least = diff(files["one"], files["shift"], "-min", 15, "-merge-clones")
    assert set(changes(least)) == {"hot_a", "hot_b"} and "(2 more)" in least


# -- wrong use --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("prof diff", "the following arguments are required: FILE"),
        ("prof diff /no/such/file", "/no/such/file: No such file or directory"),
        ("prof diff {one} /no/such/file", "/no/such/file: No such file or directory"),
        (
            "prof diff {one} {elf}",
            "{elf}: neither a file of `prof save` nor a log with the text of prof_dump(): is it for `prof swo`, a recorded stream?",
        ),
        ("prof diff {one} {two} {one}", "unknown word {one}: see `help prof diff`"),
        (
            "prof diff {one} {two} -by x",
            "-by: invalid choice: 'x' (choose from ",  # quoted or not, by Python's version
        ),
        (
            "prof diff {one} {two} -by task",
            "one.prof: the samples carry no task: build with PROF_TAG=pxCurrentTCB",
        ),
        ("prof diff {one} {two} -x", "unknown option -x: see `help prof diff`"),
        ("prof diff {one} {empty}", "empty.prof holds no samples"),
        ("prof diff {one}", "no second file, and no target: connect to one first (target remote …)"),
    ],
)
def test_wrong_use_gets_one_line(command: str, answer: str, files: Dict[str, Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty.prof"
    empty.write_bytes(re.sub(rb'"words":\d+', b'"words":0', files["one"].read_bytes()))
    places = {"one": files["one"], "two": files["two"], "elf": LOOPS, "empty": empty}
    output = gdb(command.format(**places), program=LOOPS, target=False).stdout
    assert complaint(output, "prof diff").startswith("prof diff: " + answer.format(**places))


def test_without_a_program_or_a_target_the_first_file_is_not_enough(files: Dict[str, Path]) -> None:
    output = diff(files["one"])
    assert complaint(output, "prof diff").startswith("prof diff: no second file, and no ")


def test_help_and_completion(files: Dict[str, Path]) -> None:
    output = gdb(
        "help prof diff",
        "help prof",
        "complete prof di",
        "complete prof diff -by f",
        "complete prof diff -m",
        f"complete prof diff {files['one'].parent}/sh",
        target=False,
    ).stdout
    assert "Usage: prof diff [-by KIND] [-top N] [-min PERCENT] [-merge-clones] FILE [FILE]" in output
    assert {"prof diff", "prof diff -by function", "prof diff -by file"} <= set(output.splitlines())
    assert {"prof diff -merge-clones", "prof diff -min", f"prof diff {files['shift']}"} <= set(
        output.splitlines()
    )
    assert "prof diff -- Compare two profiles" in output
    told = [line for line in output.splitlines() if not line.startswith(("prof diff /", "prof a", "prof c"))]
    assert max(map(len, told)) < 80


def test_a_d_alone_is_still_dump(files: Dict[str, Path]) -> None:
    output = gdb(f"prof load {files['one']}", "prof d -b l", "prof di", program=LOOPS, target=False).stdout
    assert "16,000 samples by SysTick" in output
    assert complaint(output, "prof diff").endswith("the following arguments are required: FILE")


@pytest.mark.parametrize("interpreter", ["mi3"])
def test_from_a_console_behind_mi(interpreter: str, files: Dict[str, Path]) -> None:
    session = Mi(interpreter)
    session.console(f"source {ROOT / 'gdb_prof'}")
    answer = session.console(f"prof diff {files['one']} {files['shift']}")
    assert answer[-1] == "^done"
    assert changes(streamed(answer))["hot_a"][3] == "yes"
    wrong = session.console("prof diff /no/such/file")[-1]
    assert wrong == '^error,msg="prof diff: /no/such/file: No such file or directory"'
    session.close()


# -- how often it is wrong --------------------------------------------------------------------


def simulated(turn: Sequence[int], samples: int, chance: random.Random) -> Side:
    """A run from anywhere in the lap, with the sampler's own jitter from any seed."""
    run = profile(turn, samples, chance.getrandbits(32) or 1, chance.randrange(len(turn)))
    return Side(run, build("three_loops"), examine(run, build("three_loops"), check=False))


def pairs(one: Sequence[int], two: Sequence[int], number: int, seed: int) -> List[Difference]:
    chance = random.Random(seed)
    return [
        difference(simulated(one, 10_000, chance), simulated(two, 10_000, chance), "function")
        for _ in range(number)
    ]


def test_equal_runs_raise_false_alarms_in_no_more_than_five_of_a_hundred_pairs() -> None:
    """Of 200 pairs 18 at most: if one in twenty raised an alarm, more would in one of 170 trials."""
    turn = lap("three_loops", "hot_a")
    alarms = sum(any(c.certain for c in found.changes) for found in pairs(turn, turn, 200, seed=1))
    more = 1 - sum(math.comb(200, k) * 0.05**k * 0.95 ** (200 - k) for k in range(19))
    assert more < 1 / 170
    assert alarms <= 18


def test_a_shift_of_three_points_is_found_in_95_of_100_pairs() -> None:
    turn = lap("three_loops", "hot_a")
    hot_b = functions_of(LOOPS)["hot_b"]
    slower = longer(turn, hot_b, 3)
    shares = [
        sum(hot_b[0] <= at < hot_b[1] for at in addresses) / len(addresses) for addresses in (turn, slower)
    ]
    assert 0.03 <= shares[1] - shares[0] < 0.032
    found = pairs(turn, slower, 100, seed=2)
    assert sum(any(c.certain and c.name == "hot_b" for c in each.changes) for each in found) >= 95
    assert all(each.found is not None and each.found < 0.03 for each in found), "and it says so"
