"""`dpu trace` in GDB: what is written and what is refused, files, and the console's width."""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path
from typing import List

import pytest

import running
from dpu_gdb import DESCRIBED, by_task, poke, session, to, to_end
from dpu_machine import BASE, VTB, VTB_SIZE, DpuMachine, Quirks, Run, Step, Write
from mi import Mi, streamed
from remote_server import DeviceServer
from running import complaint

SETUP = "dpu trace setup -start 0x%x -size 4096" % VTB
COUNT = tuple(
    "dpu counter %s -event %s -mode trace" % pair for pair in (("A0", "cycles"), ("A1", "dcache_miss"))
)
REAL = ("set dpu description", "set dpu base 0x%x" % BASE)
VERBS = ("setup", "start", "pause", "resume", "stop", "save", "dump")


def workload(number: int = 60, seed: int = 1) -> List[Step]:
    chance = random.Random(seed)
    return [
        Run(1 + n % 3, chance.randint(10, 5000), {"dcache_miss": chance.randint(0, 99)})
        for n in range(number)
    ]


def recorded(*commands: str, machine: "DpuMachine | None" = None, width: int = 200) -> str:
    machine = machine or DpuMachine(workload())
    return session(
        *(machine, *COUNT, SETUP, "dpu trace start", *to_end(machine), "dpu trace stop", *commands),
        width=width,
    )


def offline(*commands: str) -> str:
    output = running.gdb("set width 80", *commands, target=False).stdout
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


# -- setting up --------------------------------------------------------------------------


def test_the_registers_are_as_it_says() -> None:
    machine = DpuMachine([])
    output = session(
        machine, "dpu trace setup -start 0x60000400 -size 0x800 -mode request -event-at 0x1234 -record sample"
    )
    assert machine.words["DP_TSA"] == 0x60000400 and machine.words["DP_TEA"] == 0x60000BFF
    assert machine.words["DP_TER"] == 0x1234 and machine.words["DP_TC"] == 0b10 << 8 | 0b0100 << 1
    assert "DP_TSA = 0x60000400, DP_TEA = 0x60000bff, DP_TER = 0x00001234, DP_TC = 0x00000208" in output


def test_the_buffer_and_nothing_else_is_filled() -> None:
    machine = DpuMachine([])
    session(machine, "dpu trace setup -start 0x60000400 -size 0x800")
    assert machine.vtb == bytes(0x400) + b"\xe5" * 0x800 + bytes(VTB_SIZE - 0xC00)


def test_no_fill_leaves_it() -> None:
    machine = DpuMachine([])
    session(machine, SETUP + " -no-fill")
    assert machine.vtb == bytes(VTB_SIZE)


def test_an_address_may_be_an_expression() -> None:
    machine = DpuMachine([])
    session(machine, "set $vtb = 0x60000000", "dpu trace setup -start $vtb+32*4 -size 4096")
    assert machine.words["DP_TSA"] == VTB + 128


def test_it_is_refused_while_the_trace_is_on() -> None:
    machine = DpuMachine([])
    output = session(machine, SETUP, "dpu trace start", "dpu trace setup -start 0x60001000 -size 4096")
    assert complaint(output, "dpu trace setup").startswith(
        "dpu trace setup: the trace is on (DP_TC = 0x00000005): `dpu trace stop` first"
    )
    assert machine.words["DP_TSA"] == VTB
    assert machine.vtb[0x1000:0x2000] == bytes(0x1000)


def test_where_a_register_does_not_take_all_are_as_before() -> None:
    machine = DpuMachine([], quirks=Quirks(stuck={"DP_TEA": 0xFF}))
    output = session(machine, poke("DP_TSA", 0x60002000), SETUP)
    assert complaint(output, "dpu trace setup") == (
        "dpu trace setup: DP_TEA at 0x50000084 did not take 0x60000fff: it reads 0x60000f00; "
        "the registers are as before"
    )
    assert machine.words["DP_TSA"] == 0x60002000 and machine.words["DP_TEA"] == 0


def test_memory_that_does_not_take_the_pattern_is_named_before_anything_is_written() -> None:
    machine = DpuMachine([])
    output = session(
        machine, "set dpu description", *REAL[1:], "dpu trace setup -start 0x08000000 -size 64 -force"
    )
    assert "cannot write the trace buffer at 0x08000000" in complaint(output, "dpu trace setup")
    assert machine.writes == []


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("", "the following arguments are required: -start, -size"),
        ("-start 0x60000010 -size 4096", "a start is a multiple of 32"),
        ("-start 0x70000000 -size 4096", "must lie within 0x60000000 to 0x600fffff"),
        ("-start 0x60000000 -size 4090", "no multiple of the burst, 16"),
        ("-start 0x60000000 -size 4096 -burst 32", "BURST_SIZE has no 32: 16"),
        ("-start 0x60000000 -size 4096 -mode request", "-mode request needs -event-at"),
        ("-start 0x60000000 -size 4096 -event-at 4", "-event-at is for -mode request alone"),
        ("-start 0x60000000 -size 4096 -c", "-c goes with -print"),
        ("-start nowhere -size 4096", "nowhere is no address: No symbol"),
        ("-start 0x60000000 -size 0", "expected a number above 0"),
        ("-start 0x60000000 -size 4096 -mode twice", "invalid choice: 'twice'"),
    ],
)
def test_wrong_words_are_answered_and_write_nothing(words: str, answer: str) -> None:
    machine = DpuMachine([])
    assert answer in complaint(session(machine, "dpu trace setup " + words), "dpu trace setup")
    assert machine.writes == [] and machine.vtb == bytes(VTB_SIZE)


def test_printing_needs_no_target_and_no_force() -> None:
    output = offline(SETUP + " -print", SETUP + " -print -c")
    assert "DP_TC  = 0x00000004  EN=0 TMPDIS=0 TMODE=task VTBWM=overwrite BURST_SIZE=16" in output
    assert "*(volatile uint32_t *)(DPU_BASE + 0x84u) = 0x60000fffu;" in output
    assert output.count("not checked: whether it lies in Bank 3") == 2


# -- the real unit -----------------------------------------------------------------------


def test_nothing_is_written_to_the_real_unit_without_force() -> None:
    machine = DpuMachine([])
    output = session(machine, *REAL, SETUP)
    assert "nothing is written: unverified (memory map" in complaint(output, "dpu trace setup")
    assert machine.writes == [] and machine.vtb == bytes(VTB_SIZE)


def test_with_force_it_traces_and_says_what_it_rests_on() -> None:
    machine = DpuMachine(workload())
    output = session(
        machine,
        *(*COUNT, *REAL, SETUP + " -force", "dpu trace start -force", poke("DP_CR", 1), *to_end(machine)),
        *("dpu trace stop", "dpu trace stop -force", "dpu trace dump -counts A0=cycles,A1=dcache_miss"),
    )
    assert "DP_TW stood still for 16 reads, which does not prove that all is in the buffer" in output
    assert re.search(r"^rests on: unverified \(memory map.*damaged pseudo-code", output, re.M), output
    # what was under way at the end is missing: no read of DP_SR waited for it
    kept = machine.truth.records[:-1]
    assert "%d task records" % len(kept) in output
    done = machine.truth.tasks(kept[0].step, kept[-1].step)
    table = by_task(output, "cycles", "dcache_miss")
    assert {task: (row["cycles"], row["dcache_miss"]) for task, row in table.items()} == {
        task: (row["cycles"], row["dcache_miss"]) for task, row in done.items()
    }


# -- files -------------------------------------------------------------------------------


def test_a_saved_buffer_says_the_same_offline(tmp_path: Path) -> None:
    saved = tmp_path / "vtb.bin"
    machine = DpuMachine(workload(300))
    live = recorded("dpu trace dump -last 5", "dpu trace save %s" % saved, machine=machine)
    assert saved.read_bytes()[:4096] == machine.vtb[:4096]
    shown = running.gdb("set width 200", "dpu trace dump %s -last 5" % saved, target=False).stdout
    assert shown.strip() and shown.strip() in live


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    saved = tmp_path / "vtb.bin"
    saved.write_bytes(b"mine")
    output = recorded("dpu trace save %s" % saved)
    assert complaint(output, "dpu trace save").endswith("exists: give -force to overwrite it")
    assert saved.read_bytes() == b"mine"
    recorded("dpu trace save %s -force" % saved)
    assert len(saved.read_bytes()) > 4096


def test_gdbs_own_dump_is_read_with_what_the_user_says(tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    machine = DpuMachine(workload(300), little=False)
    live = session(
        *(
            machine,
            "set dpu byte-order big",
            *COUNT,
            SETUP,
            "dpu trace start",
            *to_end(machine),
            "dpu trace stop",
        ),
        *("dump binary memory %s 0x60000000 0x60001000" % raw, "dpu trace dump -last 1"),
    )
    said = "-offset %d -wrapped -byte-order big -counts A0=cycles,A1=dcache_miss" % (
        machine.words["DP_TW"] - VTB
    )
    shown = offline("set width 200", "dpu trace dump %s %s -last 1" % (raw, said))
    assert by_task(shown, "cycles", "dcache_miss") == by_task(live, "cycles", "dcache_miss")
    pointer = "-start 0x60000000 -pointer 0x%x" % machine.words["DP_TW"]
    again = offline(
        "set width 200", "dpu trace dump %s %s %s -last 1" % (raw, pointer, said.split(" ", 2)[2])
    )
    assert by_task(again, "cycles", "dcache_miss") == by_task(live, "cycles", "dcache_miss")


def test_another_layout(tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    raw.write_bytes(b"".join(struct.pack("<IHBx", 1000 - 10 * n, 7, n % 2) for n in range(5)))
    shown = offline('dpu trace dump %s -layout "A0:4 job:2 task:1 -:1" -counts a0=cycles' % raw)
    assert by_task(shown, "cycles") == {0: {"runs": 3, "cycles": 20}, 1: {"runs": 2, "cycles": 20}}
    assert re.search(r"^3 +30 +1 +10 +0x7\n4 +40 +0 +- +0x7$", shown, re.M), shown


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("/nonexistent/file", "No such file"),
        ("FILE -counts A0", "expected NUMBER=NAME"),
        ("FILE -counts C0=cycles", "no counter C0: there are A0, A1, A2, B0, B1, B2"),
        ("FILE -names one=io", "expected NUMBER=NAME"),
        ("FILE -layout task", "a record's field is NAME:BYTES"),
        ("FILE -phase 28", "less than a record's 28 bytes"),
        ("FILE -wrapped", "-wrapped needs the write pointer"),
        ("FILE -offset 1001", "lies outside the buffer"),
        ("FILE -pointer 0x10 -offset 3", "not allowed with"),
        ("FILE -clock 0", "expected a number above 0"),
        ("FILE -offset 8 -wrapped", "cannot be told: none of"),
    ],
)
def test_wrong_words_for_a_dump_are_answered(words: str, answer: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    chance = random.Random(1)
    raw.write_bytes(bytes(chance.randrange(256) for _ in range(1000)))
    output = offline("dpu trace dump " + words.replace("FILE", str(raw)))
    assert answer in complaint(output, "dpu trace dump")


def test_without_a_target_it_says_so() -> None:
    output = offline(DESCRIBED, *("dpu trace %s" % verb for verb in ("start", "stop", "dump")))
    for verb in ("start", "stop", "dump"):
        assert "no target: connect to one first" in complaint(output, "dpu trace " + verb)


# -- from the target ---------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["save /nonexistent/file", "dump"])
def test_nothing_is_read_while_the_trace_is_on(verb: str) -> None:
    machine = DpuMachine(workload())
    output = session(machine, SETUP, "dpu trace start", *to(machine, 10), "dpu trace " + verb)
    assert "what is under way is not in the buffer: `dpu trace pause`" in complaint(
        output, "dpu trace " + verb.split(maxsplit=1)[0]
    )


def test_a_paused_trace_can_be_read() -> None:
    machine = DpuMachine(workload())
    output = session(machine, SETUP, "dpu trace start", *to(machine, 10), "dpu trace pause", "dpu trace dump")
    assert "10 task records" in output


def test_the_buffer_is_read_once_and_the_registers_in_few_reads() -> None:
    machine = DpuMachine(workload())
    commands = (*COUNT, SETUP, "dpu trace start", *to_end(machine), "dpu trace stop")
    with DeviceServer(machine) as server:
        output = running.gdb(
            server.connect,
            DESCRIBED,
            *commands,
            *running.COUNT_READS,
            "dpu trace dump",
            "python print('reads', sizes)",
            target=False,
        ).stdout
    sizes = running.reads(output)
    assert sizes.count(4096) == 1 and len(sizes) <= 4, sizes


def test_a_wait_that_does_not_end_changes_nothing() -> None:
    machine = DpuMachine(workload(), quirks=Quirks(twba_stays=True))
    output = session(machine, *COUNT, SETUP, "dpu trace start", *to_end(machine), "dpu trace stop")
    assert "DP_SR.TWBA stays set: DP_SR = 0x00000001 after 500 reads" in complaint(output, "dpu trace stop")
    assert machine.writes[-1] == ("DP_TC", 0b0010 << 1 | 1)


def test_an_empty_trace_points_to_the_check() -> None:
    output = session(DpuMachine([]), SETUP, "dpu trace start", "dpu trace stop", "dpu trace dump")
    assert "0 task records" in output and "`dpu check` looks for the reason" in output


def test_a_dump_of_the_whole_vtb_is_quick(tmp_path: Path) -> None:
    """1 MiB, 37,000 records, in processor time of GDB's own Python."""
    raw = tmp_path / "raw.bin"
    rows = (
        (1 + n % 5, *(0x7FFFFFFF - step * n for step in (900, 7, 0, 3, 0, 1))) for n in range(VTB_SIZE // 28)
    )
    raw.write_bytes(b"".join(struct.pack("<7I", *row) for row in rows))
    output = offline(
        *("python import time; began = time.process_time()", "dpu trace dump %s -counts A0=cycles" % raw),
        "python print('took', time.process_time() - began)",
    )
    assert "37,449 task records" in output
    assert float(re.findall(r"^took (.*)$", output, re.M)[0]) < 2


# -- the console -------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_fits_a_console(verb: str) -> None:
    said = offline("help dpu trace " + verb).splitlines()
    assert len(said) > 4 and max(map(len, said)) < 80, said


@pytest.mark.parametrize("width", [60, 80])
def test_what_it_says_fits_the_console(width: int) -> None:
    output = recorded(
        *("python print('== ours')", SETUP, "dpu trace start", "dpu trace pause", "dpu trace resume"),
        *("dpu trace stop", SETUP + " -print", "dpu trace dump"),
        width=width,
    )
    said = output[output.index("== ours") :].splitlines()
    assert max(map(len, said)) <= width, said


def test_a_front_end_gets_the_same_text(tmp_path: Path) -> None:
    saved = tmp_path / "vtb.bin"
    recorded("dpu trace save %s" % saved)
    front = Mi("mi2")
    front.console("source gdb_prof")
    front.send("-gdb-set width 80")
    text = streamed(front.console("dpu trace dump %s -last 3" % saved)).replace(r"\342\200\246", "…")
    assert text.strip() == offline("dpu trace dump %s -last 3" % saved).strip()
    records = front.console("dpu trace dump /nonexistent/file")
    front.close()
    assert records[-1] == '^error,msg="dpu trace dump: /nonexistent/file: No such file or directory"'


def test_the_words_direct_and_sample_are_shown(tmp_path: Path) -> None:
    machine = DpuMachine([Write(0x6C6C6548), Write(0x6F)])
    output = session(
        machine,
        SETUP + " -record direct",
        "dpu trace start",
        *to_end(machine),
        "dpu trace stop",
        "dpu trace dump",
    )
    assert "0  6c6c6548 0000006f                    Hello..." in output
