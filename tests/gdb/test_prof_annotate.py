"""`prof annotate` and `prof callers` agree with `prof dump` of the same recording."""

from __future__ import annotations

import collections
import re
import subprocess
from pathlib import Path
from typing import Counter, Dict, Iterator, List, NamedTuple

import pytest

from gdb_prof.profile.saved.savefile import loads
from mi import Mi, session, streamed
from running import ROOT, by_function, complaint, elf, functions_of, gdb, rows

RECORD = "prof record -period 2013 -samples 2000 -no-check"
ALL = "prof dump -no-check -top 1000"
_ROW = re.compile(r"^([> ]) *(?:(\d+\.\d\d) % +([\d.]+|\?) +([\d,]+))?  (.*)$")
_INSTRUCTION = re.compile(r"^ *([0-9a-f]{8})  (?:! )?(\S*)")
_LINE = re.compile(r"^ *(\d+)(?:  |$)")


class Annotation(NamedTuple):
    """Samples by address, by the line's number and by label; and what is marked as hottest."""

    head: str
    instructions: Dict[int, int]
    lines: Counter[int]
    labels: Dict[str, int]
    hottest: List[str]


def annotation(output: str) -> Annotation:
    """The last one in the output."""
    head, table = re.split(r"\n +share  ± 95 %  samples  (?:line|address)\n", output)[-2:]
    found = Annotation(head.splitlines()[-1], {}, collections.Counter(), {}, [])
    for line in table.splitlines():
        match = _ROW.match(line)
        if not match:
            break
        samples, body = int((match.group(4) or "0").replace(",", "")), match.group(5)
        if match.group(1) == ">":
            found.hottest.append(body.strip())
        instruction, of_line = _INSTRUCTION.match(body), _LINE.match(body)
        if instruction:
            assert int(instruction.group(1), 16) not in found.instructions
            found.instructions[int(instruction.group(1), 16)] = samples
        elif of_line:
            found.lines[int(of_line.group(1))] += samples
        else:
            found.labels[body.strip()] = samples
    return found


def by_address(output: str) -> Dict[int, int]:
    """Of `prof dump -by address`."""
    return {int(name[:8], 16): samples for name, samples in rows(output).items()}


def by_line(output: str, function: str) -> Counter[int]:
    """Of `prof dump -by line`: the rows of a function."""
    found: Counter[int] = collections.Counter()
    for line in output.splitlines():
        match = re.match(r"^ *[\d.]+ % +\S+ +([\d,]+)  (\S+).* \S+:(\d+)$", line)
        if match and match.group(2) == function:
            found[int(match.group(3))] += int(match.group(1).replace(",", ""))
    return found


def positive(counts: Dict[int, int]) -> Dict[int, int]:
    return {key: n for key, n in counts.items() if n}


@pytest.mark.parametrize(
    ("program", "function", "rest"),
    [
        ("three_loops", "hot_a", {"hot_b", "hot_c", "run"}),
        ("three_loops_o2", "run", set()),
        ("three_loops_hist", "hot_a", {"hot_b", "hot_c", "run"}),
    ],
)
def test_instructions_and_lines_are_those_of_prof_dump(program: str, function: str, rest: "set[str]") -> None:
    path = elf(program)
    output = gdb(
        *(RECORD, ALL + " -by address", ALL + " -by line", f"prof annotate {function}"), program=path
    ).stdout
    table, addresses, lines, text = output.split("2,000 samples by SysTick")[1:]
    start, end = functions_of(path)[function]
    sampled = {
        a: n
        for a, n in by_address("\n    share  ± 95 %  samples  \n" + addresses).items()
        if start <= a < end
    }
    found = annotation(text)
    assert positive(found.instructions) == sampled
    assert positive(found.lines) == positive(by_line(lines, function))
    total = rows("\n    share  ± 95 %  samples  \n" + table)[function]
    assert sum(found.instructions.values()) == sum(found.lines.values()) == total
    assert f"{function} (three_loops.c:" in found.head and f"{total:,} of 2,000 samples" in found.head
    hottest = max(sampled, key=lambda address: sampled[address])
    assert len(found.hottest) == 2 and any(text.startswith("%08x" % hottest) for text in found.hottest)
    assert rest == set(rows("\n    share  ± 95 %  samples  \n" + table)) - {function}


def test_every_instruction_has_its_row_with_the_debuggers_text() -> None:
    output = gdb(
        RECORD,
        "prof annotate run -asm -all",
        "prof annotate run -all",
        "disassemble run",
        program=elf("three_loops"),
    ).stdout
    addresses = [int(a, 16) for a in re.findall(r"^   0x([0-9a-f]{8}) <", output, re.MULTILINE)]
    addresses = addresses[:-2]  # a literal pool of two halfwords, which are no instructions
    first, second = re.split(r"\nrun \(three_loops.c:\d+\)", output)[1:3]
    for text in (first, second):
        rows_ = annotation("run" + text).instructions
        assert list(rows_) == addresses or sorted(rows_) == addresses
    assert "bl     <hot_a>" in first and re.search(r"nop +:\d+$", first, re.MULTILINE)


def test_inlined_code_is_under_its_call_with_the_function_and_the_file() -> None:
    output = gdb(
        RECORD, "prof annotate run", "prof annotate run -source", program=elf("three_loops_o2")
    ).stdout
    for part in re.split(r"\nrun \(three_loops.c:\d+\)", output)[1:]:
        found = annotation("run" + part)
        inlined = {
            name: found.labels["%s, inlined (three_loops.c)" % name] for name in ("hot_a", "hot_b", "hot_c")
        }
        assert inlined["hot_a"] > 1200 and sum(inlined.values()) > 1950
        for name in inlined:
            assert re.search(
                r"\n +\d+  +%s\(\d+\);\n.* %s, inlined \(three_loops.c\)\n" % (name, name), part
            ), part
        assert "static void run(void)\n" in part.split("samples  line\n")[1].split("{")[0]
    assert not found.instructions


def test_inlined_code_of_a_header_is_labelled_with_it(tmp_path: Path) -> None:
    program, log = elf("three_loops"), tmp_path / "log.txt"
    start, end = functions_of(program)["main"]
    log.write_text("".join("%08x\n" % address for address in range(start, end, 2)), encoding="ascii")
    output = gdb(f"prof load {log}", "prof annotate main", program=program, target=False).stdout
    found = annotation(output)
    assert re.search(r"\n.* \d+  +board_init\(\);\n.* board_init, inlined \(board.h\)\n", output), output
    assert 0 < found.labels["board_init, inlined (board.h)"] < (end - start) // 2
    assert sum(found.instructions.values()) == (end - start) // 2
    assert "  (no instruction begins here)" in output


def test_what_is_inlined_everywhere_is_looked_for_where_it_is() -> None:
    output = gdb(RECORD, "prof annotate hot_a", program=elf("three_loops_o2")).stdout
    assert re.match(
        r"prof annotate: hot_a is inlined in run: `prof annotate run` shows 1,\d{3} samples of it$",
        complaint(output, "prof annotate"),
    )


def test_a_task_and_the_first_samples() -> None:
    output = gdb(
        *("tbreak heavy", "continue", "prof record -period 2013 -samples 1000 -no-check -by task"),
        *("prof annotate hot_a -task light", "prof annotate hot_a -first 500"),
        program=elf("rtos_tag"),
    ).stdout
    whole, light, first = re.split(r"\nhot_a \(rtos_tag.c:\d+\): ", output)
    of_light = whole.split("  light\n")[1]
    assert (
        sum(annotation("hot_a" + light).instructions.values())
        == rows(" share  samples  \n" + of_light)["  hot_a"]
    )
    assert light.split(";")[0].split(" of ")[1].startswith("%d samples" % rows(whole)["light"])
    assert " of 500 samples" in first.split(";")[0].replace("\n ", "")


def test_from_a_file_without_a_target_it_is_the_same(tmp_path: Path) -> None:
    file, program = tmp_path / "run.prof", elf("three_loops_o2")
    live = gdb(RECORD, f"prof save {file}", "prof annotate", program=program).stdout
    loaded = gdb(f"prof load {file}", "prof annotate", program=program, target=False).stdout
    assert annotation(loaded)[1:] == annotation(live)[1:]
    assert "hot_a(700);" in loaded


def test_another_build_shows_the_lines_that_were_saved(tmp_path: Path) -> None:
    file = tmp_path / "run.prof"
    live = gdb(RECORD, f"prof save {file}", "prof annotate run", program=elf("three_loops_o2")).stdout
    output = gdb(f"prof load {file}", "prof annotate run", program=elf("three_loops"), target=False).stdout
    found = annotation(output)
    assert positive(found.lines) == positive(annotation(live).lines)
    labels = {name: n for name, n in annotation(live).labels.items() if name != "..."}
    assert not found.instructions and found.labels == labels
    assert "hot_a(700);" not in output and "nop" not in output
    assert "! the program of the profile is not loaded: its lines are shown by number" in output
    assert "run.prof belongs to another build" in output


def test_source_that_is_not_there_leaves_numbers_and_instructions(tmp_path: Path) -> None:
    output = gdb(
        *(f"set substitute-path {ROOT} /nowhere", RECORD, "prof annotate hot_a"), program=elf("three_loops")
    ).stdout
    assert "! no source file /nowhere/firmware/demo/three_loops.c: see `help set substitute-path`" in output
    found = annotation(output)
    assert sum(found.lines.values()) == sum(found.instructions.values()) > 1000


def test_a_source_newer_than_the_program_is_noted(tmp_path: Path) -> None:
    demo = tmp_path / "firmware" / "demo"
    demo.mkdir(parents=True)
    (demo / "three_loops.c").write_bytes(b"\t\xff\x1b[31m one\r\n" * 40)
    (demo / "work.h").write_text("\n", encoding="ascii")
    output = gdb(
        *(f"set substitute-path {ROOT} {tmp_path}", RECORD, "prof annotate hot_a"), program=elf("three_loops")
    ).stdout
    assert "! three_loops.c is newer than three_loops.elf: lines may have moved" in output
    assert re.search(r"\n {28,} 9      \\xff\\x1b\[31m one\n", output), output


def test_what_is_too_large_for_a_source_file_is_not_read(tmp_path: Path) -> None:
    demo = tmp_path / "firmware" / "demo"
    demo.mkdir(parents=True)
    with open(demo / "three_loops.c", "wb") as file:
        file.truncate((16 << 20) + 1)
    commands = (f"set substitute-path {ROOT} {tmp_path}", RECORD, "prof annotate hot_a")
    output = gdb(*commands, program=elf("three_loops")).stdout
    assert "three_loops.c is too large for a source file: not shown" in re.sub(r"\s+", " ", output)


def test_without_debug_information_there_are_instructions(tmp_path: Path) -> None:
    bare = tmp_path / "bare.elf"
    subprocess.run(["arm-none-eabi-strip", "-g", str(elf("three_loops")), "-o", str(bare)], check=True)
    output = gdb(RECORD, "prof annotate hot_a", "prof annotate hot_a -source", program=bare).stdout
    assert sum(annotation(output).instructions.values()) > 1000
    assert "! no source lines: nothing here has debug information (-g)" in output
    assert complaint(output, "prof annotate") == "prof annotate: hot_a has no source lines: build with -g"


def test_wide_bins_stand_at_their_first_instruction() -> None:
    output = gdb(
        *(RECORD, "prof annotate hot_a", "prof annotate hot_a -source"), program=elf("three_loops_hist16")
    ).stdout
    table = output[: output.index("\nhot_a (three_loops.c")]
    total = int(rows(table)["hot_a (%s divided)" % re.findall(r"hot_a \(([\d,]+) divided", output)[0]])
    assert sum(annotation(output).instructions.values()) == total
    assert "! samples of a bin of 16 bytes stand at its first instruction: which one they are of" in output
    assert (
        complaint(output, "prof annotate")
        == "prof annotate: bins of 16 bytes do not tell lines apart: `prof dump -by line` divides them"
    )


def test_samples_that_are_anothers_are_marked() -> None:
    output = gdb(RECORD, "prof annotate irq_on", program=elf("masked")).stdout
    assert re.search(r"^> 2\d\.\d\d % .*  ! bx     lr$", output, re.MULTILINE), output
    assert "! masked interrupts: 2" in output


def test_a_function_that_only_sleeps_has_no_rows() -> None:
    program, board = elf("sleeper", "mps2-an385"), "mps2-an385"
    output = gdb(
        *("prof record -period 301 -samples 300 -no-check", "prof annotate wait_tick", "prof annotate"),
        program=program,
        board=board,
    ).stdout
    assert re.match(
        r"prof annotate: wait_tick only sleeps: its 2\d\d samples lie on", complaint(output, "prof annotate")
    )
    assert sum(annotation(output).instructions.values()) == rows(output[: output.index("in code,")])["hot_a"]


CPP = """
volatile unsigned sink;
namespace dsp {
struct Filter {
    __attribute__((noinline, noipa)) void step(int x) { sink += x; }
    __attribute__((noinline, noipa)) void step(float x) { sink = (unsigned)x; }
};
}
extern "C" void Reset_Handler() { dsp::Filter f; f.step(3); f.step(2.5f); for (;;); }
"""


def test_names_of_cpp(tmp_path: Path) -> None:
    program, source, log = tmp_path / "app.elf", tmp_path / "app.cpp", tmp_path / "log.txt"
    source.write_text(CPP, encoding="ascii")
    subprocess.run(
        [
            "arm-none-eabi-g++",
            "-g",
            "-Os",
            "-mcpu=cortex-m4",
            "-mthumb",
            "-mfloat-abi=softfp",
            "-mfpu=fpv4-sp-d16",
        ]
        + ["-nostdlib", "-Ttext=0x08000000", "-Wl,-eReset_Handler", str(source), "-o", str(program)],
        check=True,
    )
    starts = [start for name, (start, _) in functions_of(program).items() if "step" in name]
    log.write_text("".join("%08x\n" % start * 3 for start in starts), encoding="ascii")
    output = gdb(
        *(f"prof load {log}", "prof annotate dsp::Filter::step(int) -source", "prof annotate Filter::step"),
        *("prof annotate app.cpp:step", "complete prof annotate dsp::Filter::step(f"),
        program=program,
        target=False,
    ).stdout
    assert "dsp::Filter::step(int) (app.cpp:5): 3 of 6 samples" in output
    assert "void step(int x) { sink += x; }" in output
    assert "prof annotate: 2 functions are called Filter::step: " in output
    choices = re.search(r"prof annotate: 2 functions are called app.cpp:step: (.*)", output)
    assert choices and set(choices.group(1).split(", ")) == {
        "dsp::Filter::step(int)",
        "dsp::Filter::step(float)",
    }
    assert "prof annotate dsp::Filter::step(float)" in output


@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_wider_than_the_console(width: int) -> None:
    output = gdb(
        *(
            f"set width {width}",
            RECORD,
            "prof annotate run",
            "prof annotate run -asm",
            "prof annotate -source",
        ),
        *("prof callers hot_a",),
        program=elf("three_loops_lr"),
    ).stdout
    assert (
        max(len(line) for line in output[output.index("2,000 samples") :].splitlines() if line[:1] in "> ")
        <= width
    )


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("prof annotate hto_a", "no function hto_a has samples; near it: hot_a, hot_c, hot_b"),
        ("prof annotate xyzzy", "no function xyzzy has samples: `prof dump` lists what has"),
        ("prof annotate main", "main has no samples: `prof dump` lists what has"),
        ("prof annotate hot_a -asm -source", "-source: not allowed with argument -asm"),
        ("prof annotate hot_a -context x", "-context: expected a whole number, found 'x'"),
        ("prof annotate hot_a -context -1", "-context: expected a number, 0 or more, found '-1'"),
        ("prof annotate hot_a -x", "unknown option -x: see `help prof annotate`"),
        ("prof annotate hot_a -task T", "the samples carry no task: build with PROF_TAG=pxCurrentTCB"),
        (
            "prof callers hot_a",
            "the samples carry no LR: build with PROF_LR=1, or `prof start -source halt -backtrace`",
        ),
    ],
)
def test_wrong_use_is_one_line(command: str, message: str) -> None:
    output = gdb(
        "prof record -period 2013 -samples 100 -no-check", command, program=elf("three_loops")
    ).stdout
    name = " ".join(command.split()[:2])
    assert complaint(output, name) == f"{name}: {message}"


def test_before_any_sample() -> None:
    output = gdb("tbreak run", "continue", "prof annotate hot_a", program=elf("three_loops")).stdout
    assert "no sample is taken yet" in complaint(output, "prof annotate")
    output = gdb("prof callers hot_a", program=elf("three_loops"), target=False).stdout
    assert complaint(output, "prof callers")


def test_all_calls_are_from_run_in_the_lines_of_the_calls() -> None:
    output = gdb(
        *(RECORD, "prof callers hot_a", "prof callers hot_b", "prof callers run"),
        program=elf("three_loops_lr"),
    ).stdout
    table = rows(output[: output.index("in code;")])
    source = (ROOT / "firmware" / "demo" / "three_loops.c").read_text(encoding="ascii").splitlines()
    for name in ("hot_a", "hot_b"):
        part = output[: output.index("all of " + name)].splitlines()
        share, doubt, samples, caller, place = part[-2].replace(" %", "").split()
        assert (int(samples.replace(",", "")), caller) == (table[name], "run")
        assert name + "(" in source[int(place.replace("three_loops.c:", "")) - 1]
        assert part[-1].split()[:4] == [share, "%", doubt, samples]
    assert (
        complaint(output, "prof callers")
        == "prof callers: run saves LR (`push {r3, lr}` at run): only in a leaf function LR tells the caller"
    )


def test_two_callers_have_the_samples_whose_lr_is_theirs(tmp_path: Path) -> None:
    file, program = tmp_path / "run.prof", elf("sections")
    output = gdb(RECORD, f"prof save {file}", "prof callers irq_on", program=program).stdout
    profile = loads(file.read_bytes(), "run.prof")
    assert profile.lrs
    functions = functions_of(program)
    inside = [lr for pc, lr in zip(profile.pcs, profile.lrs) if by_function([pc], functions)["irq_on"]]
    truth = by_function([lr - 1 for lr in inside], functions)
    text = output[output.index("called from") : output.index("all of irq_on")]
    rows_ = re.findall(r"([\d,]+)  (\w+) +sections\.c:\d+\n", text)
    assert {name: int(n.replace(",", "")) for n, name in rows_} == truth
    assert set(truth) == {"update_b", "update_c"} and sum(truth.values()) == len(inside) > 300
    assert "! masked interrupts: " in output.split("all of irq_on")[1]


@pytest.fixture(params=["mi3"])
def mi(request: pytest.FixtureRequest) -> Iterator[Mi]:
    yield from session(request.param, "three_loops_lr")


def test_over_mi_and_without_a_question(mi: Mi) -> None:
    mi.console("set height 10")
    mi.console(RECORD)
    mi.until("*stopped")
    for command, word in (("annotate hot_a", "hot_a (three_loops.c:"), ("callers hot_a", "all of hot_a")):
        answer = mi.console("prof " + command)
        assert answer[-1] == "^done"
        assert word in streamed(answer)
    assert mi.console("prof annotate hot_x")[-1].startswith(
        '^error,msg="prof annotate: no function hot_x has samples'
    )


def test_the_readme_names_the_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`prof annotate [FUNCTION]" in readme and "`prof callers [FUNCTION]" in readme


def test_help_and_completion() -> None:
    output = gdb(
        *(
            "prof record -period 2013 -samples 300 -no-check",
            "complete prof annotate h",
            "complete prof callers -f",
        ),
        *("help prof annotate", "help prof callers"),
        program=elf("three_loops"),
    ).stdout
    assert {"prof annotate hot_a", "prof annotate hot_b", "prof callers -first"} <= set(output.splitlines())
    assert "prof annotate uart.c:send -asm" in output and "prof callers hot_a" in output
    assert "tail call" in output
    text = output[output.index("Show a function's lines and instructions") :]
    assert max(len(line) for line in text.splitlines() if not line.startswith("Remote")) < 80
