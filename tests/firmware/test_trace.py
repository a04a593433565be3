"""What the recorder costs and takes, and that it keeps every event, whole and in order.

Two measures of cost that know nothing of each other: the program's own instruction clock,
and QEMU's execution log.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Set, Tuple

import pytest
from elftools.elf.elffile import ELFFile

from gdb_prof.trace.statistics import MARK, SWITCH, SWITCH_UNMASKED
from running import FIRMWARE, ROOT, elf, executed, functions_of, gdb, symbol

HEADER = (ROOT / "firmware/trace/trace_rec.h").read_text(encoding="utf-8")
BOARDS = ["netduinoplus2", "netduino2"]


def enumerators(name: str) -> Dict[str, int]:
    """The header is where an event has its number: IN is 1, READY is 2, ..."""
    body = HEADER.split("enum %s {" % name)[1].split("};")[0]
    return {code: int(number) for code, number in re.findall(r"TRACE_(\w+) = (\d+),", body)}


CODE = enumerators("trace_code")
KIND = enumerators("trace_kind")
STREAMS = {code for code in CODE if code.startswith("STREAM_")}
LOW_POWER = {"LOW_POWER", "LOW_POWER_END"}
OF_AN_OBJECT = {
    *("GIVE", "TAKE", "WAIT", "PEEK", "SEND_WAIT", "GIVE_FAIL", "TAKE_FAIL", "OBJECT_DELETE"),
    *("GIVE_ISR", "TAKE_ISR", "GIVE_ISR_FAIL", "TAKE_ISR_FAIL", "TIMER_COMMAND", "TIMER_EXPIRE"),
    *(code for code in CODE if code.startswith(("GROUP_", "STREAM_"))),
}
OF_A_TASK = {"NOTIFY", "NOTIFY_ISR", "SUSPEND", "RESUME", "RESUME_ISR", "PRIORITY", "DELETE"}


class Record(NamedTuple):
    time: int
    event: str
    task: int
    argument: int


class Info(NamedTuple):
    flags: int
    events: int
    kernel: int


def values(path: Path, board: str, names: Sequence[str]) -> List[int]:
    """Of the program's variables, once it calls finished()."""
    output = gdb(
        "tbreak finished",
        "continue",
        r'printf "values %s\n", %s' % (" ".join(["%u"] * len(names)), ", ".join(names)),
        program=path,
        board=board,
        plugin=False,
    ).stdout
    match = re.search(r"^values ([\d ]+)$", output, re.MULTILINE)
    assert match, output
    return [int(value) for value in match.group(1).split()]


def trace(path: Path, board: str, folder: Path, *commands: str) -> Tuple[List[Record], Info, str]:
    """The records in the ring when the program calls trace_done(), what the build says of
    itself, and what GDB printed."""
    dumps = []
    for name in ("trace_buf", "trace_info"):
        address, size = symbol(path, name)
        dumps.append("dump binary memory %s 0x%x 0x%x" % (folder / name, address, address + size))
    output = gdb(
        "tbreak trace_done", "continue", *dumps, *commands, program=path, board=board, plugin=False
    ).stdout
    assert re.search(r"^Temporary breakpoint 1, .*trace_done", output, re.MULTILINE), output
    block = (folder / "trace_buf").read_bytes()
    magic, head, n, on = struct.unpack_from("<4I", block)
    assert (magic, on) == (0x33335254, 0)
    assert head < n, "the ring holds the whole trace"
    named = {number: code for code, number in CODE.items()}
    records = [
        Record(time, named[event], task, argument)
        for time, event, task, argument in struct.iter_unpack("<IBBH", block[-8 * n :])
        if event
    ]
    assert len(records) >= head
    magic, _, flags, _, _, low, high, kernel = struct.unpack_from(
        "<I4B2IB", (folder / "trace_info").read_bytes()
    )
    assert magic == 0x4E495254
    return records[:head], Info(flags, low | high << 32, kernel), output


def build(name: str, flags: str, folder: Path, board: str = "netduinoplus2") -> Path:
    """A variant as the Makefile's own, but only for this test."""
    made = subprocess.run(
        ["make", "-s", "-C", str(ROOT / "firmware"), "BOARDS=" + board, "TRACE_PROGRAMS=" + name]
        + ["%s=%s" % (name, flags), "-W", "demo/startup.c", "build/%s/%s.elf" % (board, name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return Path(shutil.move(str(FIRMWARE / board / (name + ".elf")), str(folder / (name + ".elf"))))


def codes(records: Sequence[Record]) -> Set[str]:
    return {record.event for record in records}


def untimed(records: Sequence[Record]) -> List[Tuple[str, int, int]]:
    return [(record.event, record.task, record.argument) for record in records]


# ---- Cost and size ----------------------------------------------------------


def cost_by_clock(program: str, board: str) -> Tuple[float, float]:
    """Of one switch, of one mark."""
    names = ["cost_yields", "cost_marks", "cost_empty"]
    yields, marks, empty = values(elf(program, board), board, names)
    (bare,) = values(elf("switch_cost_bare", board), board, names[:1])
    return (yields - bare) / 2000, (marks - empty) / 1000  # two switches a round


def switch_by_log(program: str, board: str) -> Set[int]:
    """Instructions in vTaskSwitchContext, a call."""
    functions = functions_of(elf(program, board))
    start, end = functions["vTaskSwitchContext"]
    log = executed(elf(program, board), board, 60_000, after=functions["main"][0])
    entries = [i for i, address in enumerate(log) if address == start]
    assert len(entries) > 100
    return {
        sum(start <= address < end for address in log[entry:following])
        for entry, following in zip(entries[10:], entries[11:])
    }


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(("program", "most"), [("switch_cost", 12), ("switch_cost_kernel", 10)])
def test_a_switch_costs_at_most(program: str, most: int, board: str) -> None:
    switch, _ = cost_by_clock(program, board)
    assert switch == pytest.approx(most, abs=0.002) or switch < most


def test_a_report_counts_the_recorders_cost_as_it_is_measured() -> None:
    masked, mark = cost_by_clock("switch_cost", "netduinoplus2")
    unmasked, _ = cost_by_clock("switch_cost_kernel", "netduinoplus2")
    assert (round(masked), round(unmasked), round(mark)) == (SWITCH, SWITCH_UNMASKED, MARK)


@pytest.mark.parametrize("board", BOARDS)
def test_a_mark_costs_at_most_14(board: str) -> None:
    _, mark = cost_by_clock("switch_cost", board)
    assert mark == pytest.approx(14, abs=0.002) or mark < 14


@pytest.mark.parametrize(("program", "most"), [("switch_cost", 12), ("switch_cost_kernel", 10)])
def test_the_log_counts_what_the_clock_says(program: str, most: int) -> None:
    (with_,) = switch_by_log(program, "netduinoplus2")
    (without,) = switch_by_log("switch_cost_bare", "netduinoplus2")
    assert with_ - without <= most
    assert with_ - without == round(cost_by_clock(program, "netduinoplus2")[0])


def flash(program: str, board: str) -> int:
    """Without what differs in the program itself: the calls of trace_start() and trace_stop()."""
    sizes = subprocess.run(
        ["arm-none-eabi-size", str(elf(program, board))], capture_output=True, text=True, check=True
    )
    own = sum(symbol(elf(program, board), name)[1] for name in ("main", "control"))
    return int(sizes.stdout.splitlines()[1].split()[0]) - own


@pytest.mark.parametrize("board", BOARDS)
def test_events_1_to_10_take_at_most_464_bytes_of_flash(board: str) -> None:
    """The recorder, its information, and every hook in the kernel: V9, later ones have more."""
    if "FREERTOS_KERNEL" in os.environ:
        pytest.skip("another kernel is in use here")
    assert flash("inversion_plain", board) - flash("inversion_bare", board) <= 464


# ---- Nothing torn, lost or out of order -------------------------------------

STRESS = ["stress_records", "stress_wrong", "stress_interrupts"]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("program", ["stress", "stress_c"])
def test_a_million_records_under_interrupts_of_the_highest_priority_are_right(
    program: str, board: str
) -> None:
    records, wrong, interrupts = values(elf(program, board), board, STRESS)
    assert records >= 1_000_000
    assert interrupts > 100_000
    assert wrong == 0


def test_the_same_check_fails_where_these_interrupts_are_not_masked() -> None:
    _, wrong, interrupts = values(elf("stress_kernel"), "netduinoplus2", STRESS)
    assert interrupts > 100_000
    assert wrong > 0


@pytest.mark.parametrize("board", BOARDS)
def test_assembly_and_specification_write_the_same_records(board: str, tmp_path: Path) -> None:
    assembly, _, _ = trace(elf("inversion", board), board, tmp_path)
    specification, _, _ = trace(elf("inversion_c", board), board, tmp_path)
    assert len(assembly) > 40
    assert untimed(assembly) == untimed(specification)


# ---- Every event ------------------------------------------------------------


def check_every_event(records: Sequence[Record], info: Info, absent: Set[str]) -> None:
    """`absent`: what the program does not make; V9, besides, has no stream buffers."""
    unknown = STREAMS if info.kernel < 10 else set()
    assert all(info.events >> number & 1 for number in CODE.values())
    assert codes(records) == set(CODE) - unknown - absent
    times = [record.time for record in records]
    assert times == sorted(times)


def check_numbers(records: Sequence[Record]) -> None:
    """Tasks and objects are numbered from 1, each once, before they are spoken of."""
    tasks: List[int] = [0]  # nobody: before there is a task
    objects: List[int] = []
    for record in records:
        if record.event == "CREATE":
            tasks.append(record.task)
        elif record.event == "OBJECT":
            objects.append(record.argument)
            assert record.task in KIND.values()
        else:
            assert record.task in tasks, record
        if record.event in OF_AN_OBJECT:
            assert record.argument in objects, record
        if record.event in OF_A_TASK:
            assert record.argument & 0xFF in tasks, record
    assert tasks == list(range(len(tasks)))
    assert objects == list(range(1, len(objects) + 1))


@pytest.mark.parametrize("board", BOARDS)
def test_every_event_is_recorded(board: str, tmp_path: Path) -> None:
    """But LOW_POWER: the next test."""
    records, info, _ = trace(elf("events", board), board, tmp_path)
    check_every_event(records, info, absent=LOW_POWER)
    check_numbers(records)


@pytest.mark.parametrize(
    ("flags", "absent"),
    [
        pytest.param("-O0", LOW_POWER, id="O0"),
        pytest.param("-O2", LOW_POWER, id="O2"),
        pytest.param("-DTRACE_ASM=0", LOW_POWER, id="specification"),
        pytest.param("-D'TRACE_CLOCK()=BOARD_CLOCK()'", LOW_POWER, id="clock"),
        # In partitions, as -flto makes of every large program. V9 does not keep its own function.
        pytest.param(
            "-flto --param lto-min-partition=300 -Wl,--undefined=vTaskSwitchContext", LOW_POWER, id="lto"
        ),
        pytest.param("-DconfigUSE_TICKLESS_IDLE=1", set(), id="tickless"),
    ],
)
def test_every_event_is_recorded_in_a_build_with(flags: str, absent: Set[str], tmp_path: Path) -> None:
    program = build("test_events", "events -DDEMO_TIMERS " + flags, tmp_path)
    records, info, _ = trace(program, "netduinoplus2", tmp_path)
    check_every_event(records, info, absent)
    check_numbers(records)


def test_a_task_has_its_name_in_records_from_its_creation_on_and_at_its_end(tmp_path: Path) -> None:
    records, _, _ = trace(elf("events"), "netduinoplus2", tmp_path)
    heads: List[Tuple[str, str]] = []
    for record in records:
        if record.event in ("CREATE", "DELETE"):
            heads.append((record.event, ""))
        elif record.event == "NAME":
            event, name = heads.pop()
            text = record.argument.to_bytes(2, "little").decode("ascii").rstrip("\0")
            heads.append((event, name + text))
    created = [name for event, name in heads if event == "CREATE"]
    assert {"ctl", "source", "sink", "sleeper", "IDLE", "Tmr Svc", "guest", "evicted"} <= set(created)
    assert [name for event, name in heads if event == "DELETE"] == ["guest", "evicted"]


@pytest.mark.parametrize(("handle", "kind"), [("samples", "QUEUE"), ("bus", "MUTEX"), ("slots", "COUNTING")])
def test_an_object_has_its_number_in_the_record_of_its_creation_and_in_itself(
    handle: str, kind: str, tmp_path: Path
) -> None:
    number = 'printf "number %%u\\n", ((struct QueueDefinition *)%s)->uxQueueNumber' % handle
    records, _, output = trace(elf("events"), "netduinoplus2", tmp_path, number)
    match = re.search(r"^number (\d+)$", output, re.MULTILINE)
    assert match, output
    created = {record.argument: record.task for record in records if record.event == "OBJECT"}
    assert created[int(match.group(1))] == KIND[kind]


def test_an_interrupt_is_between_its_entry_and_its_end(tmp_path: Path) -> None:
    records, _, _ = trace(elf("events"), "netduinoplus2", tmp_path)
    spare = [i for i, r in enumerate(records) if r.event in ("ISR", "ISR_END") and r.argument == 16 + 6]
    entry, end = spare
    assert (records[entry].event, records[end].event) == ("ISR", "ISR_END")
    by_interrupt = {code for code in CODE if code.endswith(("_ISR", "_ISR_FAIL"))} - STREAMS
    assert by_interrupt <= codes(records[entry:end])
    assert not by_interrupt & codes(records[:entry] + records[end:])


# ---- Options ----------------------------------------------------------------


def test_an_event_that_is_not_compiled_in_is_all_that_is_missing(tmp_path: Path) -> None:
    everything, info, _ = trace(elf("inversion"), "netduinoplus2", tmp_path)
    flags = "inversion -DTRACE_EVENTS='(TRACE_ALL & ~TRACE_BIT(TRACE_TICK))'"
    without, less, _ = trace(build("test_no_tick", flags, tmp_path), "netduinoplus2", tmp_path)
    assert "TICK" in codes(everything)
    assert untimed(without) == [record for record in untimed(everything) if record[0] != "TICK"]
    assert less.events == info.events & ~(1 << CODE["TICK"])


def compiled(
    flags: Sequence[str],
    folder: Path,
    source: Path = ROOT / "firmware/trace/trace_rec.c",
    standard: str = "c11",
) -> "subprocess.CompletedProcess[str]":
    kernel = FIRMWARE / "freertos"
    return subprocess.run(
        ["arm-none-eabi-gcc", "-mthumb", "-Os", "-g", "-std=" + standard, "-Wall", "-Wextra", "-Werror"]
        + ["-DDEMO_TRACE", "-DBOARD_netduinoplus2", "-I" + str(ROOT / "firmware/demo")]
        + ["-I" + str(ROOT / "firmware/trace"), "-isystem", str(kernel / "include")]
        + ["-isystem", str(kernel / "portable/GCC/ARM_CM3"), *flags]
        + ["-c", str(source), "-o", str(folder / (source.stem + ".o"))],
        capture_output=True,
        text=True,
        check=False,
    )


CORES = ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m23", "cortex-m33"]
OPTIONS = {
    "all": [],
    "plain": ["-DTRACE_EVENTS=TRACE_BASIC"],
    "clock": ["-DTRACE_CLOCK()=BOARD_CLOCK()"],
    "specification": ["-DTRACE_ASM=0"],
    "masked": ["-DTRACE_ANY_PRIORITY=0", "-DTRACE_SIZE=65536"],
    "lto": ["-flto"],
    "unoptimised": ["-O0"],
}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_it_compiles_without_a_warning(core: str, options: List[str], tmp_path: Path) -> None:
    made = compiled(["-mcpu=" + core, *options], tmp_path)
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-DTRACE_SIZE=1000", "TRACE_SIZE must be a power of two"),
        ("-DTRACE_NAME_LEN=6", "TRACE_NAME_LEN must be a multiple of 4"),
        ("-DTRACE_TASKS=200", "all names together at most 960 bytes"),
        ("-DconfigNUMBER_OF_CORES=2", "one core only"),
    ],
)
def test_wrong_options_are_refused_by_name(option: str, message: str, tmp_path: Path) -> None:
    made = compiled(["-mcpu=cortex-m3", option], tmp_path)
    assert made.returncode != 0
    assert message in made.stderr


@pytest.mark.parametrize("options", [[], ["-DTRACE_ASM=0"]], ids=["assembly", "specification"])
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_a_program_in_cplusplus_may_call_it(standard: str, options: List[str], tmp_path: Path) -> None:
    source = tmp_path / "program.cc"
    source.write_text(
        '#include "FreeRTOS.h"\n#include "task.h"\n'
        'extern "C" void isr() { TRACE_ISR_ENTER(); TRACE_MARK(1); TRACE_ISR_EXIT(); }\n'
        "void control() { trace_start(); trace_stop(); trace_done(); }\n"
    )
    made = compiled(["-mcpu=cortex-m3", *options], tmp_path, source, standard)
    assert made.returncode == 0, made.stderr
    with open(tmp_path / "program.o", "rb") as file:
        symbols = {s.name for s in ELFFile(file).get_section_by_name(".symtab").iter_symbols()}
    assert {"trace_start", "trace_stop", "trace_done"} <= symbols  # as C calls them
