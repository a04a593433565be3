"""Traces of a live target: at any stop, saved, started and stopped, and what must not change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from running import COUNT_READS, elf, gdb, reads
from tracing import section, traced

IN_M = ("tbreak inversion.c:22", "continue")
A_TICK_LATER = ("tbreak xTaskIncrementTick", "continue")


def test_a_saved_trace_begins_with_the_block_as_gdb_dumps_it(tmp_path: Path) -> None:
    saved, dumped, value = tmp_path / "saved", tmp_path / "dumped", tmp_path / "value"
    output = traced(
        "inversion",
        "rtos-trace save %s" % saved,
        "dump binary memory %s &trace_buf ((char *)&trace_buf)+sizeof(trace_buf)" % dumped,
        "dump binary value %s trace_buf" % value,
    )
    assert "records saved to" in output
    assert len(dumped.read_bytes()) == 8304
    assert dumped.read_bytes() == value.read_bytes()
    assert saved.read_bytes()[:8304] == dumped.read_bytes()


def test_a_plain_dump_a_saved_file_and_the_target_give_one_report(tmp_path: Path) -> None:
    saved, dumped = tmp_path / "trace", tmp_path / "dump" / "trace"
    dumped.parent.mkdir()
    output = traced(
        "inversion",
        "rtos-trace save %s" % saved,
        "dump binary value %s trace_buf" % dumped,
        "echo =live=\\n",
        "rtos-trace diag",
        "echo =saved=\\n",
        "rtos-trace diag %s" % saved,
        "echo =dumped=\\n",
        "rtos-trace diag %s" % dumped,
        "echo =end=\\n",
    )
    live, of_saved, of_dumped = (
        re.search("=%s=\n(.*?)=%s=" % pair, output, re.DOTALL)
        for pair in (("live", "saved"), ("saved", "dumped"), ("dumped", "end"))
    )
    assert live and of_saved and of_dumped and "Priority inversion" in live[1]
    assert of_saved[1] == of_dumped[1]
    assert (
        of_saved[1].split("\n", 2)[2] == live[1].split("\n", 1)[1]
    )  # all but the head, which names the file


def test_a_plain_dump_alone_gives_the_same_numbers(tmp_path: Path) -> None:
    saved, dumped = tmp_path / "saved", tmp_path / "dumped"
    traced("load", "rtos-trace save %s" % saved, "dump binary value %s trace_buf" % dumped)
    reports = [gdb("rtos-trace diag -rows 500 %s" % f, target=False).stdout for f in (saved, dumped)]
    numbers = [re.findall(r"\d+\.\d{3}", report.split("\nRecorder:")[0]) for report in reports]
    assert len(numbers[0]) > 300
    assert numbers[0] == numbers[1]
    with_elf = gdb("rtos-trace diag %s" % dumped, program=elf("load"), target=False).stdout.replace("\n ", "")
    assert "FreeRTOS V9.0.0" in with_elf and "taken to be load.elf" in with_elf


def test_an_open_wait_is_joined_to_who_holds_the_lock_and_where_it_stands() -> None:
    output = gdb(*IN_M, *A_TICK_LATER, "rtos-trace diag", program=elf("inversion")).stdout
    flat = " ".join(output.split())
    assert "Priority inversion: H (3) has waited" in flat
    assert "The wait is not over at the trace's end." in flat
    assert "(still waits)" in flat
    assert "now: lock is held by L (1), which is ready: work_us (tasks.h:" in flat
    assert re.search(r"work_us \(tasks\.h:\d+\) < low \(inversion\.c:\d+\)", flat)
    assert "; recording" in flat


def test_a_mutex_says_itself_who_holds_it() -> None:
    commands = ("tbreak work_us", "continue", "tbreak xTaskPriorityDisinherit", "continue", "rtos-trace diag")
    flat = " ".join(gdb(*commands, program=elf("inversion_mutex")).stdout.split())
    assert "now: lock is held by L (3), which is running: xTaskPriorityDisinherit (tasks.c:" in flat
    assert "< low (inversion.c:" in flat


def test_the_time_since_the_last_record_counts() -> None:
    """M has run for a while when the program is stopped, and made no record yet."""
    output = gdb(*IN_M, *A_TICK_LATER, "rtos-trace diag", program=elf("inversion")).stdout
    ran = {row[0]: float(row[2]) for row in section(output, "CPU share")}
    assert ran["M"] >= 0.9


def test_looking_changes_no_register_frame_breakpoint_or_memory(tmp_path: Path) -> None:
    state = (
        "info registers",
        "frame",
        "info breakpoints",
        "x/64wx &trace_buf",
        "show pagination",
        "show width",
    )
    output = gdb(
        *(*IN_M, *A_TICK_LATER, "frame 1", "break work_us"),
        *("echo =before=\\n", *state, "echo =then=\\n"),
        *(
            "rtos-trace diag",
            "rtos-trace status",
            "rtos-trace lanes",
            "rtos-trace save %s" % (tmp_path / "a"),
        ),
        *("rtos-trace svg %s" % (tmp_path / "a.svg"), "rtos-trace assert lost = 0"),
        *("echo =after=\\n", *state, "echo =end=\\n"),
        program=elf("inversion"),
    ).stdout
    before = re.search("=before=\n(.*?)=then=", output, re.DOTALL)
    after = re.search("=after=\n(.*?)=end=", output, re.DOTALL)
    assert before and after and "#1 " in before[1]
    assert before[1] == after[1]


def test_continue_after_a_look_goes_on_as_without_one() -> None:
    looked = traced("inversion", "rtos-trace diag")
    commands = (*IN_M, "rtos-trace diag", "rtos-trace arm", "continue", "echo =end=\\n", "rtos-trace diag")
    after = gdb("set width 80", *commands, program=elf("inversion")).stdout.split("=end=")[1]
    names = {row[0] for row in section(looked, "CPU share")}
    assert names == {row[0] for row in section(after, "CPU share")}
    assert "Priority inversion" in after


def test_start_empties_the_ring_and_stop_ends_it() -> None:
    output = gdb(
        *(*IN_M, "rtos-trace stop", "rtos-trace status", "rtos-trace start", "rtos-trace status"),
        *("rtos-trace arm", "continue", "rtos-trace status"),
        program=elf("inversion"),
    ).stdout
    assert re.search(r"^rtos-trace: stopped, \d\d records written$", output, re.MULTILINE)
    assert re.search(r"^rtos-trace: off: (\d\d) records in all, \1 kept, 0 overwritten", output, re.MULTILINE)
    assert re.search(r"^rtos-trace: recording; \d\d records of the trace before are forgotten", output, re.M)
    assert "rtos-trace: recording: 0 records in all" in output
    assert re.search(
        r"^rtos-trace: off: \d\d records in all.*\nrtos-trace: [\d.]+ ms, [\d.]+ records a ms", output, re.M
    )


def test_a_ring_that_has_wrapped_keeps_the_kernels_time() -> None:
    """32 places hold 31 records; the axis is the ticks' own, and ends where it ends without."""
    whole, small = (traced(p, "rtos-trace diag") for p in ("inversion", "inversion_small"))
    head = re.search(
        r"^31 records of (\d+): the (\d+) before are overwritten; ([\d.]+) to ([\d.]+)", small, re.M
    )
    total = re.search(r"^(\d+) records, none lost; [\d.]+ to ([\d.]+) ms", whole, re.M)
    assert head and total
    assert int(head[1]) - int(head[2]) == 31
    assert head[1] == total[1] and head[4] == total[2]
    assert float(head[3]) > 1.0


def test_armed_with_a_file_the_trace_is_saved_and_an_old_file_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    output = gdb("rtos-trace arm %s" % path, "continue", program=elf("inversion")).stdout
    assert re.search(r"^rtos-trace: \d+ records, none lost;", output, re.M)
    assert "\nrtos-trace: saved to %s\n" % path in output
    kept = path.read_bytes()
    again = gdb("rtos-trace arm %s" % path, program=elf("load"))
    assert "run.bin exists: give -force to overwrite it" in again.stdout
    assert path.read_bytes() == kept


def test_the_blocks_of_other_kinds_have_their_names() -> None:
    output = traced("events", "rtos-trace diag -rows 1000")
    for name in ("samples", "bus", "slots"):
        assert name in output
    assert "Interrupts" in output and "IRQ 6" in output
    assert not re.search(r"queue\d+", output)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_console(width: int) -> None:
    for program in ("inversion", "load", "events"):
        output = gdb(
            *("rtos-trace arm", "continue", "set width %d" % width, "echo =report=\\n", "rtos-trace diag"),
            *("rtos-trace lanes", "echo =end=\\n"),
            program=elf(program),
        ).stdout
        report = output.split("=report=")[1].split("=end=")[0]
        assert max(len(line) for line in report.splitlines()) <= width


def test_the_ring_is_read_at_once_and_the_kernel_in_few_pages() -> None:
    output = traced("load", *COUNT_READS, "rtos-trace diag", "python print('reads', sizes)")
    sizes = reads(output)
    assert [size for size in sizes if size > 512] == [8304]
    assert len(sizes) <= 40


KERNEL = """python
from gdb_prof.commands.rtos_trace import Workbench
from gdb_prof.target import freertos, images, memory
kernel = freertos.Kernel(images.Images().program(), memory.Memory())
print("states", {task.name: task.where for task in kernel.tasks()})
print("idle", kernel.idle(kernel.tasks()).name)
recorder = Workbench(images.Images()).recorder()
_, ring = recorder.ring()
worker, = (number for number, name in ring.context.tasks.items() if name == "worker")
print("now", recorder.now({1: worker}, {worker: "a notification"}))"""


def test_who_waits_for_ever_is_blocked_and_not_suspended() -> None:
    """The kernel keeps both in one list: sleeper and director suspend themselves, worker waits
    for a notification without a limit."""
    output = traced("events", KERNEL)
    (states,) = re.findall(r"^states (.*)$", output, re.M)
    for name, state in {"sleeper": "suspended", "director": "suspended", "worker": "blocked"}.items():
        assert "'%s': '%s'" % (name, state) in states
    assert "\nidle IDLE\n" in output
    assert re.search(
        r"^now .*is held by worker \(\d\), which is blocked, waiting for a notification: ", output, re.M
    )


def test_before_the_scheduler_starts_there_is_a_report() -> None:
    output = gdb(
        *("tbreak vTaskStartScheduler", "continue", "up", "rtos-trace diag", "rtos-trace lanes", "frame"),
        program=elf("events"),
    ).stdout
    assert "(not known)  100.00 %" in output and "Traceback" not in output
    assert re.search(r"^#1 .* in main \(\)", output.split("rtos-trace")[-1].split("(a cell")[-1], re.M)


def test_start_enables_the_cycle_counter_or_says_that_it_does_not_run() -> None:
    """QEMU has no DWT: its registers read 0, and RAM stands in for them."""
    output = gdb(
        *IN_M,
        "python from gdb_prof.target import recorder",
        "python recorder.Recorder._clock_address = lambda self: 0xE0001004",
        "rtos-trace start",
        "python recorder._DEMCR, recorder._DWT_CTRL = 0x20010000, 0x20010004",
        "set *(unsigned *)0x20010000 = 0x20",
        "set *(unsigned *)0x20010004 = 0x40000000",
        "echo =there=\\n",
        "rtos-trace start",
        "x/2wx 0x20010000",
        program=elf("inversion"),
    ).stdout
    without, there = output.split("=there=")
    assert "! the cycle counter does not start: DEMCR.TRCENA stays 0" in without
    assert "recording" in there and "does not start" not in there
    assert "0x01000020\t0x40000001" in there


def test_a_file_that_describes_itself_needs_no_look_at_the_target(tmp_path: Path) -> None:
    saved, dumped = tmp_path / "saved", tmp_path / "dumped"
    traced("inversion", "rtos-trace save %s" % saved, "dump binary value %s trace_buf" % dumped)
    for path, ring_is_read in ((saved, False), (dumped, True)):
        output = traced(
            "inversion", *COUNT_READS, "rtos-trace diag %s" % path, "python print('reads', [0] + sizes)"
        )
        assert (8304 in reads(output)) is ring_is_read
        assert "Priority inversion" in output
