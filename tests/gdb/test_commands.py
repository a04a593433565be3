"""What the commands print, and that nothing of the user's is changed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from running import COUNT_READS, ROOT, complaint, elf, functions_of, gdb, reads, rows

LOOPS = elf("three_loops")
AT_RUN = ("tbreak run", "continue")
XPSR = r'printf "xpsr %#x\n", $xpsr'


def test_start_says_what_it_does_and_continue_comes_back_by_itself() -> None:
    output = gdb(
        *AT_RUN, "prof start -period 2013 -limit 100", "continue", "prof status", program=LOOPS
    ).stdout
    assert (
        "prof: sampling by SysTick, one per 11,982 ns + 0..12,185 jitter\nprof: until 100 samples: continue"
        in output
    )
    assert "ran to main first" not in output
    assert output.split("until 100 samples: continue\n")[1].startswith(
        "prof: 100 samples are taken: see `prof dump`\n"
    )
    assert re.search(r"^samples +100 of 100$", output, re.MULTILINE)
    assert re.search(r"^state +stopped$", output, re.MULTILINE)
    assert re.search(r"^ring +100 of 16,384 kept$", output, re.MULTILINE)


def test_a_limit_above_the_ring_keeps_the_last_and_says_so() -> None:
    output = gdb(
        "prof start -period 193 -limit 3000",
        "continue",
        "prof dump",
        program=elf("three_loops", "microbit"),
        board="microbit",
    ).stdout
    assert "prof: only the last 2,048 are kept: that is the ring's size" in output
    assert "- overwritten: the ring keeps the last 2,048 of 3,000 samples taken" in output
    assert sum(rows(output).values()) == 2048


def test_start_from_the_reset_runs_to_main_and_says_so() -> None:
    output = gdb("prof start -period 2013 -limit 100", "info symbol $pc", program=LOOPS).stdout
    assert "prof: ran to main first: start-up code would have wiped the sampler's state" in output
    assert re.search(r"^main in section", output, re.MULTILINE)


def test_the_rate_is_the_mean_with_jitter() -> None:
    output = gdb(
        *AT_RUN, "prof start -rate 10000 -jitter 4095", "prof start -rate 10000", program=LOOPS
    ).stdout
    found = re.findall(r"one per ([\d,]+) ns \+ 0\.\.([\d,]+) jitter", output)
    assert len(found) == 2
    for period, jitter in found:
        mean = int(period.replace(",", "")) + int(jitter.replace(",", "")) / 2
        assert mean == pytest.approx(100_000, rel=0.001)


def test_registers_frame_and_settings_are_as_before() -> None:
    state = (
        "info all-registers",
        "frame",
        "info breakpoints",
        "show language",
        "show unwindonsignal",
        "show suppress-cli-notifications",
        "show height",
        "show width",
        "show confirm",
    )
    before_and_after = ("echo <<<\\n", *state, "echo >>>\\n")
    output = gdb(
        "set confirm on",
        "set height 7",
        "break hot_b",
        "continue",
        "up",
        *before_and_after,
        "prof start -period 2013 -limit 100",
        *before_and_after,
        "prof stop",
        *before_and_after,
        program=LOOPS,
    ).stdout
    before, started, stopped = re.findall(r"<<<\n(.*?)>>>\n", output, re.DOTALL)
    assert "breakpoint already hit 1 time" in before
    assert "#1 " in before
    assert started == before
    assert stopped == before


def test_a_stop_inside_an_it_block_does_not_keep_the_sampler_from_starting() -> None:
    """IT bits for `eq` while Z is clear: whatever runs next would be skipped."""
    output = gdb(
        "break hot_b",
        "continue",
        "set $xpsr = ($xpsr & ~0x4600fc00) | 0x0600040c",
        XPSR,
        "prof start -period 2013 -limit 100",
        XPSR,
        "prof status",
        program=LOOPS,
    ).stdout
    before, after = re.findall(r"^xpsr (0x\w+)$", output, re.MULTILINE)
    assert before == after
    assert int(after, 16) & 0x0600FC00
    assert re.search(r"^state +sampling$", output, re.MULTILINE)


def test_a_breakpoint_where_the_program_stands_is_stepped_over_once() -> None:
    output = gdb(
        "break hot_b",
        "continue",
        "prof start -period 2013 -limit 100",
        "continue",
        "info breakpoints",
        program=LOOPS,
    ).stdout
    assert "breakpoint already hit 2 times" in output


def test_record_takes_more_than_the_ring_holds() -> None:
    output = gdb(
        "prof record -period 193 -samples 5000", program=elf("three_loops", "microbit"), board="microbit"
    ).stdout
    assert output.count("5,000 samples by SysTick") == 1
    assert "halted" not in output
    assert sum(rows(output).values()) == 5000


def test_record_for_a_time_ends_by_itself() -> None:
    output = gdb("prof record -period 2013 -seconds 0.3", "prof status", program=LOOPS).stdout
    assert re.search(r"^[\d,]+ samples by SysTick", output, re.MULTILINE)
    assert re.search(r"^state +stopped$", output, re.MULTILINE)


def test_record_ends_at_a_breakpoint_of_the_users_and_keeps_what_there_is() -> None:
    output = gdb(
        *AT_RUN,
        "break hot_c if laps == 200",
        "prof record -period 2013 -samples 10000",
        "bt 1",
        program=LOOPS,
    ).stdout
    match = re.search(r"! stopped by breakpoint 2 after ([\d,]+) of 10,000 samples", output)
    assert match and 0 < int(match.group(1).replace(",", "")) < 1000, output
    assert "#0  hot_c" in output


def test_elapsed_time_comes_from_the_programs_clock_where_there_is_one() -> None:
    output = gdb(
        *AT_RUN, "prof record -period 2013 -jitter off -samples 1000", program=elf("three_loops_lr")
    ).stdout
    match = re.search(r"^1,000 samples by SysTick, .*no jitter, in ([\d.]+) ms", output, re.MULTILINE)
    assert match, output
    assert float(match.group(1)) == pytest.approx(1000 * 2013 / 168_000, rel=0.002)


def test_the_ring_is_read_at_once() -> None:
    output = gdb(
        "prof record -period 1000 -samples 16384 -min 1",
        *COUNT_READS,
        "prof load -live",
        "prof dump",
        "python print('reads', sizes)",
        program=LOOPS,
    ).stdout
    *others, ring = sorted(reads(output))
    assert 4 * 16384 <= ring < 4 * 16384 + 100
    assert sum(others) < 4096 and len(others) < 30, others  # the sampler, NVIC, vectors, the hottest code


def test_a_saved_profile_gives_the_same_report_without_a_target(tmp_path: Path) -> None:
    file = tmp_path / "a run.prof"
    program = elf("rtos_tag")
    live = gdb(
        "tbreak heavy",
        "continue",
        "prof record -period 2013 -samples 1000",
        "prof dump -by task",
        f"prof save '{file}'",
        program=program,
    ).stdout
    loaded = gdb(f'prof load "{file}"', "prof dump -by task", program=program, target=False).stdout
    assert f"prof: 1,000 samples saved to {file}" in live
    assert rows(loaded) == rows(live.split("prof: 1,000 samples saved")[0])
    assert "heavy" in rows(loaded)
    assert "; from a run.prof" in loaded


def test_save_keeps_a_file_that_exists(tmp_path: Path) -> None:
    file = tmp_path / "run.prof"
    file.write_text("precious", encoding="ascii")
    record = "prof record -period 2013 -samples 100"
    output = gdb(record, f"prof save {file}", program=LOOPS).stdout
    assert f"prof save: {file} exists: give -force to overwrite it" in output
    assert file.read_text(encoding="ascii") == "precious"
    gdb(record, f"prof save -force {file}", program=LOOPS)
    assert file.read_bytes().startswith(b"gdb_prof profile 1\n")


@pytest.mark.parametrize("program", ["three_loops", "three_loops_hist", "three_loops_lr"])
@pytest.mark.parametrize("board", ["netduinoplus2", "microbit", "mps2-an385"])
def test_what_prof_dump_prints_over_a_uart_is_the_same_profile(
    program: str, board: str, tmp_path: Path
) -> None:
    log = tmp_path / "uart.txt"
    path = elf(program, board)
    live = gdb(
        "prof start -period 301 -limit 1000",
        "continue",
        "prof dump",
        "call demo_dump()",
        program=path,
        board=board,
        uart=f"file:{log}",
    ).stdout
    loaded = gdb(f"prof load {log}", "prof dump", program=path, target=False).stdout
    assert rows(loaded) == rows(live), live + loaded
    assert sum(rows(loaded).values()) == 1000
    assert "damaged" not in loaded and "cut short" not in loaded


def test_another_build_is_named_and_shown_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "run.prof"
    gdb("prof record -period 2013 -samples 100", f"prof save {file}", program=LOOPS)
    output = gdb(f"prof load {file}", "prof dump", program=elf("three_loops_c"), target=False).stdout
    assert "! run.prof belongs to another build of three_loops.elf (build-id " in output
    assert sum(rows(output).values()) == 100


def test_without_a_build_id_the_code_itself_tells_builds_apart(tmp_path: Path) -> None:
    images = []
    for name in ("three_loops", "three_loops_c"):
        images.append(tmp_path / (name + ".elf"))
        subprocess.run(
            [
                "arm-none-eabi-objcopy",
                "--remove-section",
                ".note.gnu.build-id",
                str(elf(name)),
                str(images[-1]),
            ],
            check=True,
        )
    file = tmp_path / "run.prof"
    gdb("prof record -period 2013 -samples 100", f"prof save {file}", program=images[0])
    same = gdb(f"prof load {file}", "prof dump", program=images[0], target=False).stdout
    other = gdb(f"prof load {file}", "prof dump", program=images[1], target=False).stdout
    assert "another build" not in same
    assert "belongs to another build of three_loops.elf (sha256 " in other


def test_a_stripped_program_is_grouped_by_section(tmp_path: Path) -> None:
    file, stripped = tmp_path / "run.prof", tmp_path / "stripped.elf"
    gdb("prof record -period 2013 -samples 100", f"prof save {file}", program=LOOPS)
    subprocess.run(["arm-none-eabi-strip", "-s", str(LOOPS), "-o", str(stripped)], check=True)
    output = gdb(f"prof load {file}", "prof dump", program=stripped, target=False).stdout
    assert list(rows(output).items()) == [("(no symbol, .text)", 100)]
    assert "stripped.elf has no function symbols (stripped)" in output
    live = gdb("prof dump", program=stripped).stdout
    assert "prof dump: no symbol `prof_n` in stripped.elf: add firmware/prof/prof.c to the build" in live


def test_names_come_from_a_separate_debug_file(tmp_path: Path) -> None:
    file, stripped, debug = tmp_path / "run.prof", tmp_path / "app.elf", tmp_path / "app.debug"
    gdb("prof record -period 2013 -samples 100", f"prof save {file}", program=LOOPS)
    subprocess.run(["arm-none-eabi-strip", "-s", str(LOOPS), "-o", str(stripped)], check=True)
    subprocess.run(["arm-none-eabi-objcopy", "--only-keep-debug", str(LOOPS), str(debug)], check=True)
    output = gdb(
        f"symbol-file {debug}", f"prof load {file}", "prof dump", program=stripped, target=False
    ).stdout
    assert "hot_a" in rows(output), output


def test_a_program_that_is_rebuilt_or_deleted_in_the_session_is_noted(tmp_path: Path) -> None:
    app = tmp_path / "app.elf"
    app.write_bytes(LOOPS.read_bytes())
    record = "prof record -period 2013 -samples 100"
    gone = gdb(record, f"shell rm {app}", "prof dump", program=app).stdout
    assert rows(gone)["hot_a"] > 50
    assert "! app.elf is gone: its symbols are those read before" in gone
    app.write_bytes(LOOPS.read_bytes())
    changed = gdb(record, f"shell cp {elf('three_loops_c')} {app}", "prof dump", program=app).stdout
    assert rows(changed)["hot_a"] > 50
    assert "! app.elf has changed since GDB read it" in changed


def test_an_image_that_is_moved_at_load_keeps_its_names(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    hot_a = (
        int(
            subprocess.run(["arm-none-eabi-nm", str(LOOPS)], capture_output=True, text=True, check=True)
            .stdout.split(" t hot_a")[0]
            .split()[-1],
            16,
        )
        & ~1
    )
    log.write_text("%08x %08x\n" % (hot_a + 2 + 0x600C0000 - 0x08000000, hot_a + 4), encoding="ascii")
    output = gdb(
        f"add-symbol-file {LOOPS} -o 0x580c0000",
        f"prof load {log}",
        "prof dump",
        program=elf("masked"),
        target=False,
    ).stdout
    assert any(
        (name.startswith("hot_a") and "three_loops" in name) or name == "hot_a" for name in rows(output)
    ), output


def test_abbreviations_and_help() -> None:
    output = gdb(
        "prof rec -sam 100 -per 2013 -by a", "prof d -by x", "prof d -to 1", "help prof start", program=LOOPS
    ).stdout
    assert "100 samples by SysTick" in output
    assert "prof dump: -by: invalid choice: 'x'" in output
    assert re.search(r"^ .* \(\d+ more\)$", output, re.MULTILINE)
    assert "Usage: prof start [-source SOURCE] [-period TICKS | -rate HZ]" in output
    assert "-limit N" in output


def test_completion_offers_options_and_their_values() -> None:
    output = gdb("complete prof dump -b", "complete prof dump -by f", "complete prof s", target=False).stdout
    assert "prof dump -by" in output
    assert "prof dump -by function" in output and "prof dump -by file" in output
    assert {"prof save", "prof start", "prof status", "prof stop"} <= set(output.splitlines())


def test_a_profile_that_a_console_without_utf8_shows() -> None:
    output = gdb("set host-charset ASCII", "prof record -period 2013 -samples 100", program=LOOPS).stdout
    assert "Traceback" not in output and "Error" not in output
    assert sum(rows(output).values()) == 100


def test_no_line_is_wider_than_the_console() -> None:
    output = gdb("set width 60", "prof record -period 2013 -samples 300 -by address", program=LOOPS).stdout
    table = output[output.index("300 samples by") :].splitlines()
    assert max(len(line) for line in table if line.startswith(" ")) <= 60


def test_the_readme_names_every_command_and_option() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("start", "stop", "status", "record", "dump", "save", "load"):
        assert f"`prof {command}" in readme


@pytest.mark.parametrize("program", ["three_loops", "three_loops_hist", "rtos_tag"])
def test_the_plugins_own_calls_are_never_sampled(program: str) -> None:
    """A period so short that a tick falls into every call."""
    output = gdb(
        "break hot_a",
        "continue",
        "prof start -period 100 -jitter off -limit 0",
        *("continue",) * 20,
        "prof stop",
        "prof dump",
        "prof start -period 100 -jitter off -limit 0",
        "continue",
        "prof start -period 2013 -limit 50",
        "delete",
        "continue",
        "prof dump",
        program=elf(program),
    ).stdout
    first, second = output.split("until 50 samples: continue")
    assert "prof: stopped after" in first
    for part in (first, second):
        assert rows(part) and not any(name.startswith(("prof_", "SysTick")) for name in rows(part)), part
    assert sum(rows(second).values()) == 50


def test_a_recording_is_shown_until_the_program_runs_again() -> None:
    output = gdb(
        "prof record -period 2013 -samples 70",
        "prof dump -by line",
        "tbreak hot_c",
        "continue",
        "prof start -period 2013 -limit 30",
        "continue",
        "tbreak hot_b",
        "continue",
        "prof dump",
        program=LOOPS,
    ).stdout
    assert output.count("70 samples by SysTick") == 2
    assert sum(rows(output).values()) == 30


def test_a_recording_says_how_often_the_program_was_halted_on_the_way(tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text("break hot_c\ncommands\nsilent\ncontinue\nend\n", encoding="ascii")
    output = gdb(*AT_RUN, f"source {commands}", "prof record -period 2013 -samples 20", program=LOOPS).stdout
    assert re.search(r"! the program was halted \d+ times on the way", output), output


def test_status_before_any_start() -> None:
    output = gdb(*AT_RUN, "prof status", program=LOOPS).stdout
    assert "state      not started: `prof start`" in output


def test_elapsed_time_is_of_all_samples_or_not_said() -> None:
    output = gdb(
        *AT_RUN,
        "prof record -period 2013 -samples 100",
        "prof dump -first 1",
        program=elf("three_loops_lr"),
    ).stdout
    assert re.search(r"^100 samples .* in [\d.]+ ms", output, re.MULTILINE)
    assert re.search(r"^1 sample by SysTick, [^i]* jitter; too few to check$", output, re.MULTILINE)


def test_help_fits_eighty_columns() -> None:
    names = (
        *("start", "stop", "status", "record", "dump", "check"),
        *("annotate", "callers", "diff", "save", "load", "swo", "compare-sources"),
    )
    output = gdb(*("help prof " + name for name in names), "help prof", target=False).stdout
    assert max(len(line) for line in output.splitlines()) < 80


def test_another_program_takes_the_waiting_stop_away() -> None:
    output = gdb(
        *AT_RUN, "prof start -limit 100", f"file {elf('masked')}", "maint info breakpoints", program=LOOPS
    ).stdout
    assert not re.search(r"^-\d+ +breakpoint", output, re.MULTILINE), output


def test_what_the_commands_say_fits_eighty_columns() -> None:
    output = gdb(
        "prof start -period 2013 -limit 100000000",
        "prof status",
        "prof start -limit 500 -period 2013",
        "continue",
        "prof dump -by inline",
        program=LOOPS,
    ).stdout
    said = [line for line in output.splitlines() if line.startswith(("prof", "state", "period"))]
    assert len(said) > 8 and max(map(len, said)) < 80, said


def test_halted_in_the_handler_the_half_written_sample_is_left_out() -> None:
    """One place of the full ring may hold a new PC already, counted as the oldest one still."""
    program = elf("three_loops", "microbit")
    output = gdb(
        "prof start -period 193 -limit 0",
        "break *((unsigned)&SysTick_Handler & ~1) if *(unsigned*)&prof_n == 2500",
        "continue",
        "prof dump",
        program=program,
        board="microbit",
    ).stdout
    assert sum(rows(output).values()) == 2047
    assert "- overwritten: the ring keeps the last 2,047 of 2,500 samples taken" in output


MASKED = elf("masked")


def test_check_explains_what_dump_names() -> None:
    output = gdb("prof record -period 2013 -samples 2000", "prof check", program=MASKED).stdout
    dumped, checked = output.split("2,000 samples by SysTick")[1:]
    assert "! masked interrupts: " in dumped
    assert re.search(r"^1\. masked interrupts: .* locked, called in main", checked, re.MULTILINE)
    assert "A number in the table is not what it seems." in checked
    assert re.search(r"^[ \d]+\.\d\d %", dumped, re.MULTILINE)
    assert not re.search(r"^[ \d]+\.\d\d %", checked, re.MULTILINE), "without the table"


def test_check_looks_at_the_samples_that_are_asked_for() -> None:
    output = gdb(
        "tbreak heavy",
        "continue",
        "prof record -period 2013 -samples 1000",
        "prof check -task heavy",
        "prof check -first 20",
        "prof check -task nobody",
        program=elf("rtos_tag"),
    ).stdout
    _, heavy, first = re.findall(r"^([\d,]+) samples? by SysTick", output, re.MULTILINE)
    assert 400 < int(heavy) < 800
    assert first == "20"
    assert "  lockstep: 20 samples are too few" in output
    assert complaint(output, "prof check").startswith(
        "prof check: no sample of a task nobody: the tasks are "
    )


@pytest.mark.parametrize(
    ("program", "found"),
    [("masked", "1 finding: masked interrupts"), ("three_loops", ""), ("three_loops_o2", "")],
)
def test_check_strict_ends_gdb_with_its_status(program: str, found: str, tmp_path: Path) -> None:
    """Remarks are no failure: in the last, functions are inlined."""
    file = tmp_path / "run.prof"
    gdb("prof record -period 2013 -samples 2000", f"prof save {file}", program=elf(program))
    result = gdb(f"prof load {file}", "prof check -strict", program=elf(program), target=False)
    assert ("1. inlined: hot_a" in result.stdout) == (program == "three_loops_o2")
    assert result.returncode == (1 if found else 0)
    if found:
        assert complaint(result.stdout, "prof check") == "prof check: " + found
    else:
        assert "prof check: " not in result.stdout


def test_of_a_file_what_stood_around_the_sampler_is_not_known(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    hot_a = functions_of(LOOPS)["hot_a"][0]
    file.write_text("%08x\n" % (hot_a + 2) * 300, encoding="ascii")
    output = gdb(f"prof load {file}", "prof check", program=LOOPS, target=False).stdout
    missing = output[output.index("Not looked for\n") :]
    assert "  lost ticks: " in missing
    assert "  hidden handlers: " in missing
    assert "  other code: " in missing


def test_without_checks_there_is_the_table_alone() -> None:
    output = gdb("prof record -period 2013 -samples 2000 -no-check", "prof dump -no", program=MASKED).stdout
    assert output.count("2,000 samples by SysTick") == 2
    assert rows(output)["irq_on"] > 300
    assert "masked interrupts" not in output
    assert "!" not in output.split("2,000 samples by SysTick", 1)[1]


def test_the_rows_that_have_the_time_of_others_are_marked() -> None:
    output = gdb("prof record -period 2013 -samples 2000", program=MASKED).stdout
    marked = [line.split()[3] for line in output.splitlines() if re.match(r"^ +\d+\.\d\d %.* !( |$)", line)]
    assert [line.split("  ")[-2] for line in output.splitlines() if " !  " in line] == ["irq_on !"], marked


@pytest.mark.parametrize("command", ["dump", "check", "check -strict"])
def test_nothing_to_look_at(command: str) -> None:
    output = gdb(*AT_RUN, "prof " + command, program=LOOPS).stdout
    name = "prof " + command.split(maxsplit=1)[0]
    assert complaint(output, name) == name + ": no sample is taken yet: `prof start`, then `continue`"


def test_looking_changes_nothing() -> None:
    """The sampler, the controller and the code are read; nothing is written, no setting is left."""
    state = (
        "echo <<<\\n",
        "info all-registers",
        "show trust-readonly-sections",
        "show mem inaccessible-by-default",
    )
    memory = (
        "x/64xw &prof_n",
        "x/8xw 0xe000e100",
        "x/16xw 0xe000ed00",
        "frame",
        "show height",
        "echo >>>\\n",
    )
    output = gdb(
        "set height 7",
        "prof start -period 2013 -limit 300",
        "continue",
        *state,
        *memory,
        "prof dump",
        "prof check",
        *state,
        *memory,
        program=LOOPS,
    ).stdout
    before, after = re.findall(r"<<<\n(.*?)>>>\n", output, re.DOTALL)
    assert before == after


@pytest.mark.parametrize("width", [60, 80])
def test_findings_fit_the_console(width: int) -> None:
    output = gdb(
        f"set width {width}", "prof record -period 2013 -samples 2000", "prof check", program=MASKED
    ).stdout
    said = output[output.index("2,000 samples by") :].splitlines()
    assert width - 12 < max(len(line) for line in said if not line.startswith("Remote")) <= width
