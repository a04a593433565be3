"""`dpu trace` in GDB: what is written and what is refused, files, and the console's width."""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path
from typing import List, Sequence

import running
from dpu_gdb import DESCRIBED, Case, by_task, poke, session, sessions, to, to_end
from dpu_machine import BASE, ROWS, VTB, VTB_SIZE, DpuMachine, Quirks, Run, Step, Write
from mi import Mi, streamed
from remote_server import DeviceServer
from running import complaint

SETUP = "dpu trace setup -start 0x%x -size 4096" % VTB
COUNT = tuple(
    "dpu counter %s -event %s -mode trace" % pair for pair in (("A0", "cycles"), ("A1", "dcache_miss"))
)
REAL = ("set dpu description", "set dpu base 0x%x" % BASE, "set dpu byte-order little")
VERBS = ("setup", "start", "pause", "resume", "stop", "save", "dump")


def workload(number: int = 60, seed: int = 1) -> List[Step]:
    chance = random.Random(seed)
    return [
        Run(1 + n % 3, chance.randint(10, 5000), {"dcache_miss": chance.randint(0, 99)})
        for n in range(number)
    ]


def recorded(
    *commands: str, machine: "DpuMachine | None" = None, width: int = 200, before: Sequence[str] = ()
) -> str:
    machine = machine or DpuMachine(workload())
    return session(
        *(machine, *before, *COUNT, SETUP, "dpu trace start", *to_end(machine), "dpu trace stop", *commands),
        width=width,
    )


def offline(*commands: str) -> str:
    output = running.gdb("set width 80", *commands, target=False).stdout
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


def answers(output: str, command: str) -> List[str]:
    """The errors of a command that was given several times."""
    return [line for line in output.splitlines() if line.startswith(command + ": ")]


# -- setting up --------------------------------------------------------------------------


def test_the_registers_are_as_it_says_and_the_buffer_and_nothing_else_is_filled() -> None:
    machines = [DpuMachine([]) for _ in range(3)]
    output, *_ = sessions(
        [
            (
                machines[0],
                [
                    "dpu trace setup -start 0x60000400 -size 0x800 -mode request -event-at 0x1234 "
                    "-record sample"
                ],
            ),
            (machines[1], [SETUP + " -no-fill"]),
            (machines[2], ["set $vtb = 0x60000000", "dpu trace setup -start $vtb+32*4 -size 4096"]),
        ]
    )
    words = machines[0].words
    assert words["DP_TSA"] == 0x60000400 and words["DP_TEA"] == 0x60000BFF
    assert words["DP_TER"] == 0x1234 and words["DP_TC"] == 0b10 << 8 | 0b0100 << 1
    assert "DP_TSA = 0x60000400, DP_TEA = 0x60000bff, DP_TER = 0x00001234, DP_TC = 0x00000208" in output
    assert machines[0].vtb == bytes(0x400) + b"\xe5" * 0x800 + bytes(VTB_SIZE - 0xC00)
    assert machines[1].vtb == bytes(VTB_SIZE)
    assert machines[2].words["DP_TSA"] == VTB + 128


def test_what_is_refused_or_fails_leaves_the_registers_and_says_what_is_lost() -> None:
    on, stuck, flash, stack, real = (
        DpuMachine([], quirks=Quirks(stuck={"DP_TEA": 0xFF} if n == 1 else {})) for n in range(5)
    )
    over = "dpu trace setup -start 0x20007000 -size 0x2000 -force"
    said = sessions(
        [
            (on, [SETUP, "dpu trace start", "dpu trace setup -start 0x60001000 -size 4096"]),
            (stuck, [poke("DP_TSA", 0x60002000), SETUP]),
            (flash, [*REAL, "dpu trace setup -start 0x08000000 -size 64 -force"]),
            (stack, [*REAL, over, over + " -in-use"]),
            (real, [*REAL, SETUP]),
        ]
    )
    refused, not_taken, no_ram, used, unforced = (complaint(output, "dpu trace setup") for output in said)
    assert refused.startswith("dpu trace setup: the trace is on (DP_TC = 0x00000005): `dpu trace stop` first")
    assert on.words["DP_TSA"] == VTB and on.vtb[0x1000:0x2000] == bytes(0x1000)
    assert not_taken == (
        "dpu trace setup: DP_TEA at 0x50000084 did not take 0x60000fff: it reads 0x60000f00; "
        "DP_TEA, DP_TSA put back as before"
    )
    assert stuck.words["DP_TSA"] == 0x60002000 and stuck.words["DP_TEA"] == 0
    assert stuck.vtb == bytes(VTB_SIZE)
    assert "cannot write the trace buffer at 0x08000000" in no_ram
    assert no_ram.endswith("what 0xe5 was written over is lost; DP_TC, DP_TEA, DP_TSA put back as before")
    assert {flash.words[name] for name in ("DP_TSA", "DP_TEA", "DP_TC")} == {0}
    assert re.match(
        "dpu trace setup: 0x20007000 to 0x20008fff is used by the stack, 0x20007f00 to .* or -in-use$", used
    )
    assert "0x20007000 to 0x20008fff, 8,192 bytes, filled with 0xe5" in said[3]
    assert "dpu: -in-use: it is written over the stack, 0x20007f00 to 0x200080ff" in said[3]
    assert "nothing is written: unverified (memory map" in unforced
    assert real.writes == [] and real.vtb == bytes(VTB_SIZE)


def test_wrong_words_are_answered_and_write_nothing() -> None:
    wrong = {
        "": "the following arguments are required: -start, -size",
        "-start 0x60000010 -size 4096": "a start is a multiple of 32",
        "-start 0x70000000 -size 4096": "must lie within 0x60000000 to 0x600fffff",
        "-start 0x160000000 -size 4096": "0x160000000 is no address of 32 bits",
        "-start 0x60000000 -size 4090": "no multiple of the burst, 16",
        "-start 0x60000000 -size 16": "a task record has 28 bytes: 16 hold none",
        "-start 0x60000000 -size 0x20000000": "a buffer has at most 67108864 bytes",
        "-start 0x60000000 -size 4096 -burst 32": "BURST_SIZE has no 32: 16",
        "-start 0x60000000 -size 4096 -mode request": "-mode request needs -event-at",
        "-start 0x60000000 -size 4096 -event-at 4": "-event-at is for -mode request alone",
        "-start 0x60000000 -size 4096 -c": "-c goes with -print",
        "-start nowhere -size 4096": "nowhere is no address: No symbol",
        "-start 0x60000000 -size 0": "expected a number above 0",
        "-start 0x60000000 -size 4096 -mode twice": "invalid choice: 'twice'",
    }
    machine = DpuMachine([])
    output = session(machine, *("dpu trace setup " + words for words in wrong))
    said = answers(output, "dpu trace setup")
    assert [answer in line for answer, line in zip(wrong.values(), said)] == [True] * len(wrong), output
    assert machine.writes == [] and machine.vtb == bytes(VTB_SIZE)


def test_printing_needs_no_target_and_no_force_and_all_else_says_that_there_is_none() -> None:
    output = offline(
        *(SETUP + " -print", SETUP + " -print -c", "dpu trace stop -print", "dpu trace stop -print -c"),
        *(DESCRIBED, *("dpu trace %s" % verb for verb in ("start", "stop", "dump"))),
        *("echo == help\\n", *("help dpu trace " + verb for verb in VERBS), "help dpu trace"),
    )
    assert "DP_TC  = 0x00000004  EN=0 TMPDIS=0 TMODE=task VTBWM=overwrite BURST_SIZE=16" in output
    assert "*(volatile uint32_t *)(DPU_BASE + 0x84u) = 0x60000fffu;" in output
    assert output.count("not checked: whether it lies in Bank 3") == 2
    waits = [line for line in output.splitlines() if "DPU_TWBA(0x1" in line]
    assert len(waits) == 4 and waits[0] == "wait until DP_SR & DPU_TWBA(0x1) is 0  TWBA=0"
    assert output.index("|= 0x00001000u;") < output.index("&= ~(0x00000001u);")
    for verb in ("start", "stop", "dump"):
        assert "no target: connect to one first" in complaint(output, "dpu trace " + verb)
    helped = output.split("== help\n")[1].split("\nType ")[0]
    assert helped.count("Usage: dpu trace ") == len(VERBS)
    assert max(map(len, helped.splitlines())) < 80


# -- the real unit -----------------------------------------------------------------------


def test_with_force_it_traces_and_says_what_it_rests_on(tmp_path: Path) -> None:
    machine = DpuMachine(workload())
    saved = tmp_path / "vtb.bin"
    counted = "-counts A0=cycles,A1=dcache_miss"
    output = session(
        machine,
        *(*COUNT, *REAL, SETUP + " -force", "dpu trace start -force", poke("DP_CR", 1), *to_end(machine)),
        *("dpu trace stop", "dpu trace stop -force", "echo == shown\\n", "dpu trace dump " + counted),
        *("dpu trace save %s" % saved, "echo == saved\\n", "dpu trace dump %s %s" % (saved, counted)),
    )
    done, shown, loaded = re.split("== (?:shown|saved)\n", output)
    unproven = "DP_TW stood still for 16 reads, which does not prove that all is in the buffer"
    for part in (done, shown, loaded):
        assert part.count(unproven) == 1
    rests = (
        r"rests on: unverified \(memory map of the SmartDSP OS headers\): DP_TC; unverified \(the article's"
    )
    assert len(re.findall("^dpu: " + rests, done, re.M)) == 2, done
    assert re.search(r"^rests on: unverified \(memory map.*damaged pseudo-code", shown, re.M), shown
    assert "it has not wrapped (by the fill pattern)" in shown
    # what was under way at the end is missing: no read of DP_SR waited for it
    kept = machine.truth.records[:-1]
    assert "%d task records" % len(kept) in shown
    truth = machine.truth.tasks(kept[0].step, kept[-1].step)
    for part in (shown, loaded):
        table = by_task(part, "cycles", "dcache_miss")
        assert {task: (row["cycles"], row["dcache_miss"]) for task, row in table.items()} == {
            task: (row["cycles"], row["dcache_miss"]) for task, row in truth.items()
        }


def without_flag(folder: Path) -> str:
    """The command for a unit of which nobody knows how to tell that the buffer has wrapped."""
    rows = folder / "without_flag.csv"
    rows.write_text(ROWS.read_text(encoding="utf-8") + "record,wrap_flag,?,unknown\n", encoding="utf-8")
    return "set dpu description %s" % rows


# -- one trace after another -------------------------------------------------------------


def test_a_second_trace_shows_none_of_the_first_ones_records(tmp_path: Path) -> None:
    """Neither with a wrap flag nor without, where the fill pattern tells; without either it is not known."""
    flagged, unflagged, unfilled = (DpuMachine(workload(50)) for _ in range(3))
    unknown = without_flag(tmp_path)
    small = "dpu trace setup -start 0x%x -size 448" % VTB

    def twice(machine: DpuMachine) -> List[str]:
        first = ("dpu trace start", *to(machine, 40), "dpu trace stop")
        return [*first, "dpu trace start", *to_end(machine), "dpu trace stop", "dpu trace dump"]

    with_flag, with_pattern, with_neither = sessions(
        [
            (flagged, [COUNT[0], small, *twice(flagged)]),
            (unflagged, [unknown, COUNT[0], small, *twice(unflagged)]),
            (unfilled, [unknown, COUNT[0], small + " -no-fill", *twice(unfilled)]),
        ]
    )
    for machine, output, by in (
        (flagged, with_flag, "DP_SR.WRAP"),
        (unflagged, with_pattern, "the fill pattern"),
    ):
        assert "the trace is on, its buffer filled anew" in output
        assert "it has not wrapped (by %s)" % by in output
        records = [record for record in machine.truth.records if record.step >= 40]
        assert "%d task records" % len(records) in output and len(records) == 10
        assert sum(row["cycles"] for row in by_task(output, "cycles").values()) == machine.truth.count(
            "cycles", records[0].step, records[-1].step
        )
    assert with_neither.count("whether it has wrapped is not known") == 1
    assert "has wrapped" not in with_neither.replace("whether it has wrapped", "")
    assert "! what lies behind the write pointer, 168 bytes, is not shown (-wrapped shows it)" in with_neither


def test_nor_where_gdb_saw_nothing_run(tmp_path: Path) -> None:
    """A debugger's own writes are records, too."""
    machine = DpuMachine([])
    words = [[poke("DP_TD", part + n) for n in range(number)] for part, number in ((0x100, 24), (0x200, 8))]
    switched = [("dpu trace start", *part, "dpu trace stop") for part in words]
    setup = "dpu trace setup -start 0x%x -size 64 -record direct" % VTB
    output = session(
        machine, without_flag(tmp_path), poke("DP_CR", 1), setup, *switched[0], *switched[1], "dpu trace dump"
    )
    assert output.count("its buffer filled anew") == 1
    assert "8 words in 64 bytes" in output and "it has not wrapped (by the fill pattern)" in output


def test_a_counter_that_is_set_anew_while_it_records_is_named() -> None:
    """Also one that counts the same, from another preset; the next trace is another one."""
    machine = DpuMachine(workload())
    anew = "dpu counter A0 -event cycles -mode trace -preset 0x7ffff000 -force"
    again = ("dpu trace start", *to_end(machine), "dpu trace stop", "dpu trace dump")
    output = session(
        *(machine, *COUNT, SETUP, "dpu trace start", *to(machine, 20), anew, *to(machine, 40)),
        *("dpu trace stop", "dpu trace dump", "echo == again\\n", *again),
    )
    first, second = output.split("== again\n")
    (at,) = re.findall("^! A0 was set anew while the trace was on, DP_TW at (0x[0-9a-f]{8}): ", first, re.M)
    assert 20 * 28 - 28 - 16 < int(at, 16) - VTB <= 20 * 28  # the last record, or a burst, may be under way
    assert "no shares, no lanes" in first
    assert "set anew" not in second and "share" in second and "no shares" not in second


def test_records_are_of_the_counters_as_they_were_set_when_it_was_started(tmp_path: Path) -> None:
    """What the registers say later is said; so is where only they say it."""
    saved = tmp_path / "vtb.bin"
    machine, by_hand, again = (DpuMachine(workload()) for _ in range(3))
    changed, unknown, other = sessions(
        [
            (
                machine,
                [
                    *(*COUNT, SETUP, "dpu trace start", *to_end(machine), "dpu trace stop"),
                    *("dpu counter A0 -event dcache_thrash -mode trace", "dpu trace dump"),
                    *("dpu trace save %s" % saved, "echo == saved\\n", "dpu trace dump %s" % saved),
                ],
            ),
            (
                by_hand,
                [*COUNT, SETUP, poke("DP_TC", 5), *to_end(by_hand), "dpu trace stop", "dpu trace dump"],
            ),
            (
                again,
                [
                    *(*COUNT, SETUP, "dpu trace start", *to(again, 20), "dpu trace stop"),
                    *(poke("DP_TC", 5), *to_end(again), poke("DP_TC", 4), "dpu trace dump"),
                ],
            ),
        ]
    )
    first, last = machine.truth.records[0].step, machine.truth.records[-1].step
    for part in changed.split("== saved\n"):
        assert (
            "! set anew since `dpu trace start`, shown as it was then: DP_CA0C = 0x30c00002, then 0x30000002"
        ) in part
        assert "counted: A0 cycles (time)" in part
        counted = sum(row["cycles"] for row in by_task(part, "cycles").values())
        assert counted == machine.truth.count("cycles", first, last)
    assert "! what the counters count is as they are set now: no `dpu trace start`" in unknown
    assert "recorded since, and how the counters were set then is not known: as now" in other


def test_what_is_no_time_and_what_is_no_record_we_know_makes_no_such_table() -> None:
    filtered = DpuMachine([Run(1 + n % 2, 100 + n, user=bool(n % 2)) for n in range(7)])
    by_user, undecoded = sessions(
        [
            (
                filtered,
                [
                    *("dpu counter A0 -event cycles -mode trace -filter user", SETUP, "dpu trace start"),
                    *(*to_end(filtered), "dpu trace stop", "dpu trace dump"),
                ],
            ),
            (
                DpuMachine([]),
                [SETUP, poke("DP_TC", 0), "dpu trace dump", "dpu trace dump -record direct"],
            ),
        ]
    )
    assert "! A0 counts user alone: that is no time" in by_user and "share" not in by_user
    assert {t: row["cycles (user)"] for t, row in by_task(by_user, "cycles (user)").items()} == {
        task: filtered.truth.count("cycles", 0, 6, task=task, user=True) for task in (1, 2)
    }
    assert complaint(undecoded, "dpu trace dump").startswith(
        "dpu trace dump: the trace records oce_0, which is not decoded here"
    )
    assert "1,024 words in 4,096 bytes" in undecoded


# -- files -------------------------------------------------------------------------------


def test_a_saved_buffer_says_the_same_offline_and_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    saved, mine = tmp_path / "vtb.bin", tmp_path / "mine.bin"
    mine.write_bytes(b"mine")
    machine = DpuMachine(workload(300))
    output = recorded(
        *("echo == shown\\n", "dpu trace dump -last 5", "echo == shown\\n", "dpu trace save %s" % saved),
        *("dpu trace save %s" % mine, "dpu trace save %s -force" % mine, "disconnect"),
        *("echo == shown\\n", "dpu trace dump %s -last 5" % saved, "echo == shown\\n"),
        machine=machine,
    )
    _, live, files, offline_, _ = output.split("== shown\n")
    assert saved.read_bytes()[:4096] == machine.vtb[:4096]
    assert live.strip() and live == offline_
    assert complaint(files, "dpu trace save").endswith("exists: give -force to overwrite it")
    assert mine.read_bytes() == saved.read_bytes()


def test_gdbs_own_dump_is_read_with_what_the_user_says(tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    machine = DpuMachine(workload(300), little=False)
    commands = (
        *COUNT,
        SETUP,
        "dpu trace start",
        *to_end(machine),
        "dpu trace stop",
        "dpu trace dump -last 1",
    )
    live = session(
        machine,
        *("set dpu byte-order big", *commands, "dump binary memory %s 0x60000000 0x60001000" % raw),
    )
    said = "-wrapped -byte-order big -counts A0=cycles,A1=dcache_miss -last 1"
    pointer = machine.words["DP_TW"]
    shown = offline(
        *("set width 200", "dpu trace dump %s -offset %d %s" % (raw, pointer - VTB, said)),
        "echo == shown\\n",
        "dpu trace dump %s -start 0x60000000 -pointer 0x%x %s" % (raw, pointer, said),
    )
    for part in shown.split("== shown\n"):
        assert by_task(part, "cycles", "dcache_miss") == by_task(live, "cycles", "dcache_miss")
        assert "it has wrapped (by -wrapped)" in part


def test_another_layout(tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    raw.write_bytes(b"".join(struct.pack("<IHBx", 1000 - 10 * n, 7, n % 2) for n in range(5)))
    shown = offline('dpu trace dump %s -layout "A0:4 job:2 task:1 -:1" -counts a0=cycles' % raw)
    assert by_task(shown, "cycles") == {0: {"runs": 3, "cycles": 20}, 1: {"runs": 2, "cycles": 20}}
    assert re.search(r"^3 +30 +1 +10 +0x7\n4 +40 +0 +- +0x7$", shown, re.M), shown


def test_an_event_of_the_users_own_description_is_known(tmp_path: Path) -> None:
    raw, own = tmp_path / "raw.bin", tmp_path / "own.csv"
    raw.write_bytes(b"".join(struct.pack("<7I", 1 + n % 2, *[9000 - 7 * n] * 6) for n in range(40)))
    own.write_text("code,CE.dma_waits,?\n", encoding="utf-8")
    dump = "dpu trace dump %s -counts B0=icache_thrash/dcache_thrash,A0=" % raw
    output = offline(dump + "dma_waits", "set dpu description %s" % own, dump + "dma_waits")
    assert complaint(output, "dpu trace dump").startswith(
        "dpu trace dump: -counts: there is no dma_waits: give one of cycles, "
    )
    assert output.count("counted: A0 dma_waits, ") == 1
    assert "B0 icache_thrash/dcache_thrash" in output


def test_wrong_words_for_a_dump_are_answered(tmp_path: Path) -> None:
    raw = tmp_path / "raw.bin"
    chance = random.Random(1)
    raw.write_bytes(bytes(chance.randrange(256) for _ in range(1000)))
    wrong = {
        "/nonexistent/file": "No such file",
        "FILE -counts A0": "expected NUMBER=NAME",
        "FILE -counts C0=cycles": "no counter C0: there are A0, A1, A2, B0, B1, B2",
        "FILE -counts A0=cycels": "there is no cycels: give one of cycles, application_cycles, task_switches, ",
        "FILE -counts A0=cycles/foo": "there is no foo: give one of cycles, ",
        "FILE -names one=io": "expected NUMBER=NAME",
        "FILE -names 1=a,0x1=b": "-names: 0x1 is there twice",
        "FILE -names 1=a,2=a": "-names: a is there twice",
        "FILE -layout task": "a record's field is NAME:BYTES",
        'FILE -layout ""': "a field that is not skipped",
        'FILE -record direct -layout "a:4 b:4"': "a direct record is one field, the word, found a, b",
        "FILE -phase 28": "less than a record's 28 bytes",
        "FILE -wrapped": "-wrapped needs the write pointer",
        "FILE -offset 1001": "lies outside the buffer",
        "FILE -pointer 0x10 -offset 3": "not allowed with",
        "FILE -clock 0": "expected a number above 0",
        "FILE -offset 8 -wrapped": "cannot be told: none of",
        "FILE": "raw.bin holds no task records: of 34 steps from record to record 100 % fit nothing",
    }
    output = offline(*("dpu trace dump " + words.replace("FILE", str(raw)) for words in wrong))
    said = answers(output, "dpu trace dump")
    assert [answer in line for answer, line in zip(wrong.values(), said)] == [True] * len(wrong), output


def test_a_file_of_another_kind_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    short, other, big = (tmp_path / name for name in ("short.txt", "other.bin", "big.bin"))
    short.write_bytes(b"hello\n")
    other.write_bytes(Path(__file__).read_bytes())
    big.write_bytes(b"".join(struct.pack(">7I", 1 + n % 2, *[900000 - 12345 * n] * 6) for n in range(50)))
    output = offline(
        *("dpu trace dump %s" % path for path in (short, other, big)),
        *("dpu trace dump %s -record task" % other, "dpu trace dump %s -byte-order big" % big),
    )
    said = answers(output, "dpu trace dump")
    assert "6 bytes, and a record has 28 (-record or -layout shows it)" in said[0]
    assert "fit nothing" in said[1] and "the other byte order fits better: -byte-order big" in said[2]
    assert len(said) == 3 and output.count("task records in") == 2


# -- from the target ---------------------------------------------------------------------


def test_nothing_is_read_while_the_trace_is_on_but_when_it_is_paused() -> None:
    machine, busy = DpuMachine(workload()), DpuMachine(workload(), quirks=Quirks(twba_stays=True))
    output, stays, empty = sessions(
        [
            (
                machine,
                [
                    *(SETUP, "dpu trace start", *to(machine, 10), "dpu trace save /nonexistent/file"),
                    *("dpu trace dump", "dpu trace pause", "echo == paused\\n", "dpu trace dump"),
                ],
            ),
            (busy, [*COUNT, SETUP, "dpu trace start", *to_end(busy), "dpu trace stop"]),
            (DpuMachine([]), [SETUP, "dpu trace start", "dpu trace stop", "dpu trace dump"]),
        ]
    )
    on, paused = output.split("== paused\n")
    for verb in ("save", "dump"):
        assert "what is under way is not in the buffer: `dpu trace pause`" in complaint(
            on, "dpu trace " + verb
        )
    assert "10 task records" in paused
    assert "DP_SR.TWBA stays set: DP_SR = 0x00000001 after 500 reads" in complaint(stays, "dpu trace stop")
    assert busy.writes[-1] == ("DP_TC", 0b0010 << 1 | 1)
    assert "0 task records" in empty and "`dpu check` looks for the reason" in empty


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
    assert sizes.count(4096) == 1 and len(sizes) <= 5, sizes


def test_a_trace_that_somebody_else_switched_off_may_lack_its_end(tmp_path: Path) -> None:
    """Not one that was paused before, nor one that we stopped; and a saved file says it, too."""
    saved = tmp_path / "vtb.bin"
    other, paused, ours = (DpuMachine(workload(10)) for _ in range(3))
    begin, off = (COUNT[0], SETUP, "dpu trace start"), poke("DP_TC", 0b0010 << 1)
    shown = ("dpu trace dump", "dpu trace save %s -force" % saved, "dpu trace dump %s" % saved)
    by_other, by_pause, by_us = sessions(
        [
            (other, [*begin, *to(other, 7), off, *to_end(other), *shown]),
            (paused, [*begin, *to(paused, 7), "dpu trace pause", off, *to_end(paused), *shown]),
            (ours, [*begin, *to_end(ours), "dpu trace stop", *shown]),
        ]
    )
    told = (
        "! the trace is off, and not by `dpu trace stop` (DP_TC = 0x00000004): what was under way then may be "
        "missing, unless it was flushed before\n"
    )
    assert [output.count(told) for output in (by_other, by_pause, by_us)] == [2, 0, 0]
    assert by_other.count("6 task records in") == 2 and by_pause.count("7 task records in") == 2


# -- the console -------------------------------------------------------------------------


def test_what_it_says_fits_the_console() -> None:
    cases: List[Case] = []
    for width in (60, 80):
        machine = DpuMachine([*workload(), Write(0x6C6C6548)])
        told = ("dpu trace start", *to_end(machine), "dpu trace pause", "dpu trace resume", "dpu trace stop")
        printed = (SETUP + " -print", "dpu trace stop -print", "dpu trace dump")
        ours = ["python print('== ours')", SETUP, *told, *printed, "python print('== ours')"]
        cases.append((machine, [*COUNT, "set width %d" % width, *ours]))
    for width, output in zip((60, 80), sessions(cases)):
        said = output.split("== ours\n")[1].splitlines()
        assert len(said) > 40 and max(map(len, said)) <= width, said


def test_a_front_end_gets_the_same_text(tmp_path: Path) -> None:
    saved = tmp_path / "raw.bin"
    saved.write_bytes(b"".join(struct.pack("<7I", 1 + n % 3, *[9000 - 7 * n] * 6) for n in range(40)))
    dump = "dpu trace dump %s -last 3 -counts A0=cycles" % saved
    front = Mi("mi2")
    front.console("source gdb_prof")
    front.send("-gdb-set width 80")
    text = streamed(front.console(dump)).replace(r"\342\200\246", "…")
    assert "40 task records" in text and text.strip() == offline(dump).strip()
    records = front.console("dpu trace dump /nonexistent/file")
    front.close()
    assert records[-1] == '^error,msg="dpu trace dump: /nonexistent/file: No such file or directory"'


def test_the_flag_of_a_wrap_may_be_in_any_register(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    flag = "field,DP_MR.FULL,3\nrecord,wrap_flag,DP_MR.FULL\nrule,vtb_range,?,unknown\n"
    rows.write_text(ROWS.read_text(encoding="utf-8") + flag, encoding="utf-8")
    machine = DpuMachine(workload(300))
    machine.set("DP_MR", 1 << 3)
    output = recorded("dpu trace dump -last 0", machine=machine, before=("set dpu description %s" % rows,))
    assert "it has wrapped (by DP_MR.FULL), and what was recorded before these is lost" in output
    assert "where that is is not known (rule,vtb_range)" in output
