"""Samples by halting: what they show, what they leave as it was, and what ends them early.

Which shares they show is not looked at: QEMU halts where a block of code begins, and says so.
"""

from __future__ import annotations

import os
import re
import signal
from typing import Dict, List, Sequence

import pytest

from mi import session, streamed
from running import complaint, connect, cpu_ticks, elf, gdb, rows, said_until, started

SAMPLES = 300
AT_WORK = ("tbreak run", "continue")
HALT = "prof start -source halt"


def halted(*commands: str, program: str = "three_loops", **more: str) -> str:
    return gdb(*commands, program=elf(program), **more).stdout  # type: ignore[arg-type]


def said(output: str) -> List[str]:
    return [line for line in output.splitlines() if line.startswith("prof: ")]


def paths(output: str) -> Dict[str, int]:
    return {name: n for name, n in rows(output).items() if not name.endswith("more)")}


@pytest.mark.parametrize("board", ["netduinoplus2", "microbit", "mps2-an505"])
def test_three_hundred_samples_and_the_note_about_qemu(board: str) -> None:
    output = gdb(*AT_WORK, HALT, "prof dump", program=elf("three_loops", board), board=board).stdout
    line = r"prof: 300 samples by halting, \d+ a second; the program stood \d+\.\d+ % of the time: see `prof dump`"
    assert re.fullmatch(line, said(output)[-1]), output
    table = rows(output)
    assert sum(table.values()) == SAMPLES
    assert set(table) <= {"hot_a", "hot_b", "hot_c", "run"}
    assert re.search(r"^300 samples by halting, at random intervals, \d+ a second", output, re.MULTILINE)
    assert "! block edges: QEMU halts only where a translated block begins" in output
    assert "halted: the program stood for" in output
    assert "evenly spaced" not in output


def test_from_the_reset_on() -> None:
    """Start-up code need not have run."""
    assert said(halted(HALT + " -samples 20"))[-1].startswith("prof: 20 samples by halting")


def test_call_stacks_by_path_as_a_tree_and_by_caller() -> None:
    output = halted(
        *AT_WORK,
        HALT + " -backtrace",
        "prof dump -by function",
        "prof dump -by stack",
        "prof dump -by calls",
        "prof callers run",
        "prof callers hot_a",
    )
    by_function, by_stack, by_calls, of_run, of_hot_a = re.split(
        r"^300 samples by halting.*$", output, flags=re.MULTILINE
    )[1:]
    functions = rows(by_function)
    expected = {"main > run > " + name: n for name, n in functions.items() if name != "run"}
    expected["main > run"] = functions.get("run", 0)
    assert rows(by_stack) == {name: n for name, n in expected.items() if n}
    tree = re.findall(r"([\d,]+)  (.{3})  ( *)(\w+) +three_loops\.c:\d+$", by_calls, re.MULTILINE)
    assert [(int(n), len(indent), name) for n, _, indent, name in tree[:2]] == [
        (300, 0, "main"),
        (300, 2, "run"),
    ]
    assert {(name, int(n)) for n, own, indent, name in tree if len(indent) == 4 and own == n.rjust(3)} == {
        (name, n) for name, n in functions.items() if name != "run"
    }
    assert rows(of_run) == {"main": 300, "all of run": 300}
    assert rows(of_hot_a) == {"run": functions["hot_a"], "all of hot_a": functions["hot_a"]}


@pytest.mark.parametrize("limit", ["2", "unlimited"])
def test_the_limit_of_gdbs_backtraces_is_not_that_of_the_stacks(limit: str) -> None:
    output = halted(
        *AT_WORK,
        "set backtrace limit " + limit,
        HALT + " -backtrace -samples 50",
        "prof dump -by stack",
        "show backtrace limit",
    )
    assert sum(rows(output).values()) == 50
    assert all(path.startswith("main > run") for path in rows(output)), output
    assert "is %s." % limit in output.splitlines()[-2:][0] + output.splitlines()[-1]


WALK = r"(?: > walk(?: \(\d deep\))?)?"
TURNS = r"(?: > even(?: > odd > even)*(?: > odd)?)?"


def test_stacks_of_functions_that_call_themselves_are_calls_that_the_program_makes() -> None:
    output = halted(
        "tbreak main", "continue", HALT + " -backtrace", "prof dump -by stack", program="recursive"
    )
    found = paths(output)
    assert sum(rows(output).values()) == SAMPLES
    for path in found:
        assert re.fullmatch("main(?:%s|%s)(?: > leaf)?" % (WALK, TURNS), path), path
    depths = {int(deep) for path in found for deep in re.findall(r"walk \((\d) deep\)", path)}
    assert len(depths) > 4 and max(depths) <= 8


def test_a_stack_that_is_too_deep_is_cut_and_says_so() -> None:
    output = halted(
        "tbreak main",
        "continue",
        HALT + " -backtrace -samples 100",
        "prof dump -by stack",
        "prof callers walk",
        program="recursive_deep",
    )
    dump, callers = re.split(r"^100 samples by halting.*$", output, flags=re.MULTILINE)[1:]
    cut = [path for path in rows(dump) if path.startswith("(truncated) > walk (3")]
    assert cut, dump
    table = rows(callers)
    assert set(table) == {"main", "(truncated)", "all of walk"}
    assert table["main"] + table["(truncated)"] == table["all of walk"]
    n = sum(count for path, count in rows(dump).items() if path.startswith("(truncated)"))
    remark = "%d of 100 stacks could not be followed to the outermost call: they begin with (truncated)" % n
    assert "\nprof: " + remark in output
    assert "\n! " + remark in output


def test_a_stack_goes_on_through_an_exception() -> None:
    output = halted(
        "tbreak main", "continue", HALT + " -backtrace", "prof dump -by stack", program="sections"
    )
    inside = [path for path in rows(output) if "SVC_Handler" in path]
    assert inside, output
    assert all(path.startswith("main > ask > (exception) > SVC_Handler") for path in inside)


def test_a_tasks_stack_begins_with_the_task() -> None:
    output = halted(
        "tbreak light", "continue", HALT + " -backtrace", "prof dump -by stack", program="rtos_tag"
    )
    tasks = [path for path in rows(output) if re.search(r"\b(?:heavy|light)\b", path)]
    assert tasks, output
    assert all(re.match(r"(?:heavy|light)\b", path) for path in tasks)


def test_a_saved_recording_has_its_stacks_and_names(tmp_path: os.PathLike[str]) -> None:
    file = os.path.join(tmp_path, "halted.prof")
    dump = ("prof dump -by stack", "prof dump -by calls", "prof callers hot_b")
    before = halted(*AT_WORK, HALT + " -backtrace", *dump, "prof save " + file)
    after = gdb("prof load " + file, *dump, target=False).stdout
    table = re.compile(r"^ +\d+\.\d\d % .*$", re.MULTILINE)
    assert len(table.findall(before)) > 10
    assert table.findall(after) == table.findall(before)


# -- what is left as it was ----------------------------------------------------------------


def test_the_program_goes_on_to_the_right_result() -> None:
    """levels is counted after each return: 16 of them a turn."""
    output = halted(
        *("tbreak main", "continue", HALT, HALT + " -backtrace -samples 100"),
        *(
            "tbreak walk if depth == 7",
            "continue",
            "python print('right:', gdb.parse_and_eval('laps > 100 && levels == 16 * laps'))",
        ),
        program="recursive",
    )
    assert "right: 1" in output, output


SHOWN = (
    "info breakpoints",
    "show language",
    "show width",
    "show suppress-cli-notifications",
    "info signals SIGINT",
    "frame",
    "thread",
)


def test_the_users_breakpoints_settings_thread_and_frame_are_as_they_were() -> None:
    state = ["python print('state')", *SHOWN, "python print('end')"]
    output = halted(
        *(
            "break main",
            "continue",
            "tbreak leaf",
            "continue",
            "break reached",
            "disable 3",
            "frame function main",
        ),
        *(*state, HALT + " -backtrace -samples 30", *state),
        program="recursive",
    )
    before, after = re.findall(r"^state$(.*?)^end$", output, re.MULTILINE | re.DOTALL)
    assert "breakpoint already hit 1 time" in before and "in main ()" in before
    # main is at another place by then, perhaps the innermost frame itself
    place = re.compile(r"^#\d+ .*\b(main \(\)) .*\n.*$", re.MULTILINE)
    assert place.sub(r"\1", before) == place.sub(r"\1", after)


@pytest.mark.parametrize(
    ("before", "number"),
    [((), "None"), ((*AT_WORK, "break main", "break main", "delete 2"), "3")],
)
def test_the_number_of_the_last_breakpoint_stays(before: Sequence[str], number: str) -> None:
    """`$bpnum`, by which a script names the one that it has just made."""
    shown = ("python print('bpnum', gdb.convenience_variable('bpnum'))",)
    output = halted(*before, *shown, HALT + " -samples 10", *shown)
    assert said(output)[-1].startswith("prof: 10 samples by halting")
    assert re.findall(r"^bpnum (.*)$", output, re.MULTILINE) == [number, number]


def test_nothing_of_a_recording_outlives_it() -> None:
    """What was read of the program's code, above all: another program may be loaded next."""
    output = halted(
        *AT_WORK,
        HALT + " -samples 10 -backtrace",
        "python import gc; from gdb_prof.target.unwinding import Unwinder; gc.collect()",
        "python print('left', sum(isinstance(o, Unwinder) for o in gc.get_objects()))",
    )
    assert said(output)[-1].startswith("prof: 10 samples by halting")
    assert "left 0" in output, output


def test_the_innermost_frame_stays_the_innermost() -> None:
    output = halted(*AT_WORK, HALT + " -samples 10", "python print('level', gdb.selected_frame().newer())")
    assert "level None" in output


# -- what ends it --------------------------------------------------------------------------


def test_a_breakpoint_ends_it_with_what_there_is() -> None:
    output = halted(
        *(
            "tbreak main",
            "continue",
            "set var stop_at = 2000",
            "break reached",
            HALT + " -samples 100000",
            "prof dump",
        ),
        *("info breakpoints", "python print('at', gdb.selected_frame().name())", HALT + " -samples 50"),
        program="recursive",
    )
    ended = re.search(
        r"^prof: stopped by breakpoint 2 after ([\d,]+) of 100,000 samples$", output, re.MULTILINE
    )
    assert ended, output
    table = re.split(r"^[\d,]+ samples? by halting, at random.*$", output, flags=re.MULTILINE)[1]
    assert sum(rows(table).values()) == int(ended.group(1).replace(",", ""))
    assert "! stopped by breakpoint 2 after" in table
    assert "breakpoint already hit 1 time" in output and "at reached" in output
    assert said(output)[-1].startswith("prof: 50 samples by halting")


def test_a_breakpoint_before_the_first_sample_is_an_error_that_says_so() -> None:
    output = halted(*AT_WORK, "break hot_b", HALT)
    assert complaint(output, "prof start") == "prof start: stopped by breakpoint 2 before the first sample"


def test_a_breakpoint_whose_condition_is_false_does_not_end_it() -> None:
    output = halted(*AT_WORK, "break hot_b if laps < 0", HALT + " -samples 10", "info breakpoints")
    assert said(output)[0].startswith("prof: 10 samples by halting")
    assert "already hit" not in output


def test_a_temporary_breakpoint_ends_it_with_what_there_is() -> None:
    """It is deleted as it stops the program."""
    output = halted(
        *("tbreak main", "continue", "set var stop_at = 2000", "tbreak reached"),
        *(HALT + " -seconds 60", "prof dump", "python print('at', gdb.selected_frame().name())"),
        program="recursive",
    )
    ended = re.search(r"^prof: stopped by breakpoint 2 after ([\d,]+) samples$", output, re.MULTILINE)
    assert ended, output
    assert sum(rows(output).values()) == int(ended.group(1).replace(",", ""))
    assert "at reached" in output


def test_a_temporary_breakpoint_before_the_first_sample_is_named_too() -> None:
    output = halted(*AT_WORK, "tbreak hot_b", HALT)
    assert complaint(output, "prof start") == "prof start: stopped by breakpoint 2 before the first sample"


def test_a_condition_is_not_broken_off_by_a_halt() -> None:
    """GDB stands where a condition cannot be evaluated. Each takes GDB longer than the time between two samples."""
    output = halted(
        *AT_WORK,
        "python import gdb",
        "python asked = []",
        "python slow = lambda self: asked.append(1) or sum(1 for _ in range(30000)) < 0",
        "python type('Slow', (gdb.Function,), {'invoke': slow})('slow')",
        *("tbreak hot_b", "continue", "break hot_b if $slow()"),
        HALT + " -samples 6",
        "python print('asked', bool(asked))",
    )
    assert said(output)[0].startswith("prof: 6 samples by halting"), output
    assert "asked True" in output and "Error in testing" not in output, output


@pytest.mark.parametrize("how", ["condition 2 laps < 0", "ignore 2 1000000"])
def test_a_breakpoint_that_halts_unseen_is_remarked(how: str) -> None:
    output = halted(*AT_WORK, "break hot_b", how, HALT + " -samples 10", "prof dump")
    remark = "breakpoint 2 halts the program each time, also where its condition is false: "
    assert "\nprof: " + remark in output
    assert "\n! " + remark in output


@pytest.mark.parametrize("state", ["enable", "disable"])
def test_a_breakpoint_with_commands_is_refused_while_it_is_enabled(state: str) -> None:
    """They would run behind the prompt, once the samples are there."""
    output = halted(
        *AT_WORK,
        "python gdb.Breakpoint('hot_b').commands = 'continue'",
        state + " 2",
        "python print('at', int(gdb.selected_frame().pc()))",
        HALT + " -samples 10",
        "python print('at', int(gdb.selected_frame().pc()))",
    )
    if state == "disable":
        assert said(output)[-1].startswith("prof: 10 samples by halting")
        return
    assert complaint(output, "prof start") == (
        "prof start: breakpoint 2 has commands: they would run the program: disable it first"
    )
    before, after = re.findall(r"^at (\d+)$", output, re.MULTILINE)
    assert before == after


def test_a_start_that_is_refused_leaves_the_recording() -> None:
    output = halted(
        *AT_WORK,
        HALT + " -samples 10",
        "python gdb.Breakpoint('hot_b').commands = 'continue'",
        HALT + " -samples 20",
        "prof dump",
    )
    assert "breakpoint 3 has commands" in complaint(output, "prof start")
    assert re.search(r"^10 samples by halting", output, re.MULTILINE), output


@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_ends_it_with_what_there_is(times: int) -> None:
    """Also more than once, which GDB would take for a wish to give up the target."""
    program = elf("three_loops")
    process = started(
        *(f"file {program}", connect(program), *AT_WORK, "python print('recording', flush=True)"),
        *(HALT + " -samples 1000000", "prof dump", HALT + " -samples 50"),
        *("python print('at', gdb.selected_thread().is_stopped())", "monitor quit"),
    )
    output = said_until(process, "recording")
    before = cpu_ticks(process.pid)  # GDB works for each sample
    while cpu_ticks(process.pid) < before + 20:  # so that there are samples
        assert process.poll() is None, output
    for _ in range(times):
        os.kill(process.pid, signal.SIGINT)
    output += process.communicate(timeout=60)[0]
    ended = re.search(r"^prof: interrupted after ([\d,]+) of 1,000,000 samples$", output, re.MULTILINE)
    assert ended, output
    assert f"{ended.group(1)} samples by halting, at random" in output
    assert "! interrupted after" in output
    assert said(output)[-1].startswith("prof: 50 samples by halting")
    assert "at True" in output


def test_for_a_time() -> None:
    output = halted(*AT_WORK, HALT + " -seconds 0.3 -rate 200")
    taken = int(re.findall(r"^prof: (\d+) samples? by halting", output, re.MULTILINE)[0])
    assert 1 <= taken <= 0.3 / 0.0005, output


# -- wrong use -----------------------------------------------------------------------------

WRONG = [
    (
        "prof start -samples 3",
        "-samples goes with -source .*halt; the timer takes -period, -rate, -jitter, -limit",
    ),
    (
        "prof start -backtrace",
        "-backtrace goes with -source halt; the timer takes -period, -rate, -jitter, -limit",
    ),
    (
        HALT + " -limit 3",
        "-limit goes with -source timer; halt takes -samples, -seconds, -rate, -backtrace",
    ),
    (HALT + " -period 3000", "-period goes with -source .*timer; halt takes -samples, .*"),
]


@pytest.mark.parametrize(("command", "message"), WRONG)
def test_an_option_of_another_source_is_refused(command: str, message: str) -> None:
    assert re.fullmatch("prof start: " + message, complaint(halted(command), "prof start"))


def test_without_a_target_it_says_what_to_do() -> None:
    output = gdb(HALT, program=elf("three_loops"), target=False).stdout
    assert complaint(output, "prof start") == "prof start: no target: connect to one first (target remote …)"


@pytest.mark.parametrize("by", ["stack", "calls"])
def test_without_stacks_the_remedy_is_named(by: str) -> None:
    output = halted(*AT_WORK, HALT + " -samples 5", "prof dump -by " + by)
    assert complaint(output, "prof dump") == (
        "prof dump: the samples carry no call stacks: `prof start -source halt -backtrace` takes some with them"
    )


def test_where_gdb_sees_no_events_it_is_refused() -> None:
    program = elf("three_loops")
    output = gdb(
        "maint set target-async off", "file %s" % program, connect(program), HALT, "monitor quit"
    ).stdout
    assert complaint(output, "prof start") == (
        "prof start: GDB cannot be told when to halt: `maint set target-async on`, then connect again"
    )


# -- MI ------------------------------------------------------------------------------------


@pytest.mark.parametrize("interpreter", ["mi2", "mi3"])
def test_a_front_end_sees_one_run_and_one_stop(interpreter: str) -> None:
    """And not one for each sample, upon which it would ask for threads, frames and variables."""
    for mi in session(interpreter, "three_loops"):
        mi.console("tbreak run")
        mi.send("-exec-continue")
        mi.until("*stopped")
        records = mi.console(HALT + " -samples 200 -backtrace")
        records += mi.until('~"prof: 200 samples by halting')
        assert sum(record.startswith("*stopped") for record in records) == 1
        assert sum(record.startswith("*running") for record in records) == 1
        dump = mi.console("prof dump -by stack")
        assert dump[-1] == "^done"
        assert "main > run > hot_a" in streamed(dump)
        assert "No breakpoints" in streamed(mi.console("info breakpoints"))
        assert mi.send("-exec-continue")[-1] == "^running"
        mi.send("-exec-interrupt")
        assert 'signal-name="SIGINT"' in mi.until("*stopped")[-1]


@pytest.mark.parametrize("option", ["", "-t "])
def test_a_front_end_sees_the_stop_at_a_breakpoint_before_the_first_sample(option: str) -> None:
    """Also at the second start on it. Without the record it would go on to show a program that runs."""
    for mi in session("mi3", "three_loops"):
        mi.console("tbreak run")
        mi.send("-exec-continue")
        mi.until("*stopped")
        for _ in range(2):
            number = re.search(r'number="(\d+)"', mi.send("-break-insert %shot_c" % option)[-1])
            assert number
            records = mi.console(HALT + " -samples 20000")
            # on a busy machine a sample may come first: then it is no error
            records += mi.until(("^error", '~"prof: '))
            assert sum(record.startswith("*stopped") for record in records) == 1, records
            said = "".join(records[-2:])
            assert re.search(r"stopped by breakpoint \d+ (before the first sample|after \d+ of)", said), said
