"""`mtb` on a simulated Cortex-M0+ that goes the way QEMU's Cortex-M0 went, and traces it."""

from __future__ import annotations

import collections
import contextlib
import functools
import re
import struct
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

import pytest

import running
from mi import Mi, streamed
from mtb_machine import BASE, ENABLE, FLOW, MASTER, POSITION, MtbMachine, Quirks
from mtb_stream import EXECUTED, RETURNED, Packet, Sizes, Step, packets_of, recorded
from remote_server import DeviceServer
from running import by_function, complaint, elf, functions_of

BOARD = "microbit"
PROGRAM = elf("foreign_isr", BOARD)
START = "mtb start -part kinetis -buffer 0x20003000"
NOWHERE = (
    "where the MTB's registers lie is not known: -base ADDRESS, from the manual or the ROM table, or -part: kinetis "
    "(0xf0000000), samd (0x41006000), lpc800 (0x14000000)"
)
TRIED_BASE = [(BASE, ~0x20000000 & 0xFFFFFFFF), (BASE, 0x20000000)]
"""That it does not take what is written, and what it was."""
Case = Tuple[Quirks, Sequence[str]]


@functools.lru_cache(maxsize=None)
def functions() -> Dict[str, Tuple[int, int]]:
    return functions_of(PROGRAM)


@functools.lru_cache(maxsize=None)
def way() -> Tuple[Step, ...]:
    """Ends before an instruction of main's, after some interrupts."""
    steps = recorded(PROGRAM, BOARD, 20_000)
    start, end = functions()["main"]
    while not (steps[-1].kind == EXECUTED and start <= steps[-1].address < end):
        steps.pop()
    return tuple(steps)


def sessions(*cases: Case, loaded: Optional[Path] = PROGRAM) -> List[Tuple[str, MtbMachine]]:
    """What one GDB printed of each case, on a target of its own, one after the other: to start a GDB takes
    longer than a case. The user's settings and breakpoints are as new in each."""
    lines = [] if loaded is None else [f"file {loaded}"]
    machines = [MtbMachine(PROGRAM, way(), quirks) for quirks, _ in cases]
    with contextlib.ExitStack() as servers:
        for machine, (_, commands) in zip(machines, cases):
            server = servers.enter_context(DeviceServer(machine))
            lines += ["echo == case\\n", server.connect, "set mtb base 0", "set mtb part none", *commands]
            lines += ["disconnect", "delete"]
        output = running.gdb(*lines, target=False).stdout
    assert "Traceback" not in output and "Python Exception" not in output, output
    assert max((len(line) for line in output.splitlines() if line.startswith("mtb ")), default=0) < 200
    found = output.split("== case\n")[1:]
    assert len(found) == len(cases), output
    return list(zip(found, machines))


def session(*commands: str, quirks: Quirks = Quirks()) -> Tuple[str, MtbMachine]:
    return sessions((quirks, commands))[0]


def said(output: str) -> List[str]:
    """The lines that are `mtb`'s."""
    return [line for line in output.splitlines() if line.startswith("mtb")]


def ran(first: int, end: int) -> List[int]:
    """The addresses of what was executed in these steps."""
    return [step.address for step in way()[first:end] if step.kind == EXECUTED]


def written(step: int) -> List[Tuple[int, Packet]]:
    """The packets until a machine is there: that there are so many, the truth of the window follows."""
    return [(at, packet) for at, packet in packets_of(way(), Sizes(PROGRAM)) if at <= step]


def place(address: int) -> str:
    """`hot_a+4`, by our own reading of the symbol table."""
    for name, (start, end) in functions().items():
        if start <= address < end:
            return name + ("+%d" % (address - start) if address != start else "")
    raise AssertionError(hex(address))


def branches_of(packets: Sequence[Packet]) -> List[Tuple[str, str]]:
    """Source and destination of each, an exception's return as one."""
    found: List[Tuple[str, str]] = []
    for packet, following in zip(packets, [*packets[1:], None]):
        if packet.destination >= 0xFF000000 and following is not None:
            found.append((place(packet.source), place(following.destination)))
        elif packet.source < 0xFF000000:
            found.append((place(packet.source), place(packet.destination)))
    return found


_DUMPED = re.compile(
    r"^ *(\d+(?:-\d+)?)?  (\S+)(?: \S+)? +->  (\S+)(?: \S+)?(?:  +(\S.*?))??(?:(?:, |  +)([\d,]+) times)?$",
    re.MULTILINE,
)
_COUNTED = re.compile(r"^0x(\w+) +([\d,]+) +\d+\.\d\d %", re.MULTILINE)
_BY_FUNCTION = re.compile(r"^ *([\d,]+) +\d+\.\d\d % +\d+/\d+ +[\d,]+  (\w+)", re.MULTILINE)


def rows(output: str) -> List[Tuple[str, str, str]]:
    """Source, destination and kind as printed."""
    return [(source, destination, kind) for _, source, destination, kind, _ in _DUMPED.findall(output)]


def dumped(output: str) -> List[Tuple[str, str]]:
    """Every branch, also those of loops, of which one turn is printed."""
    found: List[Tuple[str, str]] = []
    turn: List[Tuple[str, str]] = []
    turns = 0
    for numbers, source, destination, _, times in [*_DUMPED.findall(output), ("end", "", "", "", "")]:
        if numbers:  # else it goes on with the rows above
            found, turn = found + turn * turns, []
        turn.append((source, destination))
        turns = int(times.replace(",", "")) if times else 1
    return found


def counted(output: str) -> Dict[int, int]:
    """The rows by address."""
    return {int(at, 16): int(count.replace(",", "")) for at, count in _COUNTED.findall(output)}


def profiled(output: str) -> Dict[str, int]:
    return {name: int(count.replace(",", "")) for count, name in _BY_FUNCTION.findall(output)}


# -- start, run, read, stop ----------------------------------------------------------


def test_what_is_said_from_start_to_stop() -> None:
    output, _ = session(f"{START} -size 256", "break isr_work", "continue", "mtb stop", "mtb stop")
    assert said(output) == [
        "mtb: branches are traced to 0x20003000, 256 bytes: the last 32 packets; continue, then `mtb dump`",
        "mtb: stopped: MASTER is 0x00000000 and FLOW 0x00000000, as found; POSITION and the buffer stay, for "
        "`mtb dump`",
        "mtb stop: tracing is off already, MASTER reads 0x00000000",
    ]


def test_the_last_branches_are_the_recordings() -> None:
    """In buffers that wrap and one that does not at first, at each of three stops."""
    reports = ("continue", "echo == stop\\n", "mtb dump", "mtb profile -by address", "mtb profile")
    placed = {2048: "0x20003000", 512: "0x20002200", 16: "0x20003010"}
    cases = [
        (Quirks(), (f"mtb start -part kinetis -buffer {at} -size {size}", "break isr_work", *reports * 3))
        for size, at in placed.items()
    ]
    for size, (output, machine) in zip(placed, sessions(*cases)):
        stops = output.split("== stop\n")
        (at,) = re.findall(r"^Breakpoint \d+ at (0x\w+)", stops[0], re.MULTILINE)
        steps = [n for n, step in enumerate(way()) if step == Step(EXECUTED, int(at, 16))][:3]
        assert len(stops) == 4 and machine.step == steps[-1]
        for text, step in zip(stops[1:], steps):
            held = written(step)[-(size // 8) :]
            assert dumped(text) == branches_of([packet for _, packet in held]), text
            assert f"in a buffer of {size // 8} packet" in text
            assert ("it has wrapped" in text) == (len(written(step)) >= size // 8)
            window = ran(held[0][0], step)
            assert counted(text) == collections.Counter(window), text
            assert profiled(text) == dict(by_function(window, functions()))
            expected = "%s instructions from the first branch's destination on" % format(len(window), ",")
            assert expected in text


def test_an_interrupt_and_its_return_are_named_as_such() -> None:
    output, _ = session(
        *(f"{START} -size 256", "break isr_work", "continue", "tbreak hot_a", "continue", "mtb dump -last 3"),
        *("continue", "mtb dump -last 2"),
    )
    interrupted = place(next(s.address for n, s in enumerate(way()) if n and way()[n - 1].kind == RETURNED))
    leaves = place(next(way()[n - 1].address for n, s in enumerate(way()) if s.kind == RETURNED))
    assert rows(output)[1:4] == [
        (leaves, interrupted, "exception return"),
        (place(_call_of("hot_a")), "hot_a", "call"),
        (interrupted, "Spare_Handler", "exception IRQ 20"),
    ], output


def _call_of(name: str) -> int:
    """The instruction before which `name` was first entered."""
    start, _ = functions()[name]
    entry = next(n for n, s in enumerate(way()) if s == Step(EXECUTED, start))
    return way()[entry - 1].address


def test_after_a_stop_the_buffer_is_still_read_but_nothing_is_traced() -> None:
    output, _ = session(
        *(
            f"{START} -size 256",
            "break isr_work",
            "continue",
            "stepi 3",
            "echo == traced\\n",
            "mtb profile",
            "mtb dump",
        ),
        *("echo == stopped\\n", "mtb stop", "stepi", "mtb profile", "mtb dump"),
        *("echo == named\\n", "mtb dump -buffer 0x20003000", "mtb dump -buffer 0x20002000"),
    )
    _, traced, stopped, named = re.split("== traced\n|== stopped\n|== named\n", output)
    assert dumped(named) == dumped(stopped)
    assert complaint(named, "mtb dump").startswith(
        "mtb dump: tracing is off, and MASTER, which reads 0x00000000, does not tell how large the buffer was: save it by "
    )
    assert dumped(traced) == dumped(stopped) != []
    assert "the last 3 of them up to the PC" in traced
    assert "up to the PC" not in stopped
    assert profiled(traced) == {**profiled(stopped), "isr_work": 3}


def test_a_second_start_begins_anew_and_the_first_ones_finding_is_put_back() -> None:
    output, machine = session(
        *(f"{START} -size 64", "mtb profile", "break isr_work", "continue", f"{START} -size 128", "mtb dump"),
        *("continue", "mtb stop"),
        quirks=Quirks(found=(0x10, 0x4, 0x2000)),
    )
    assert output.count("mtb: branches are traced to 0x20003000") == 2, output
    assert output.count("mtb: the trace that was on, 64 bytes at 0x20003000, is dropped\n") == 1
    assert output.count("no branch is traced yet\n") == 2
    assert (machine.mtb[MASTER], machine.mtb[FLOW]) == (0x4, 0x2000)


OTHERS = Quirks(found=(0x2000, ENABLE | 3, 6))
STOPPED = [
    f"mtb stop: {NOWHERE}",
    "mtb: stopped: MASTER was 0x80000003, which `mtb start` did not write, and is 0x00000003",
]


def test_what_was_begun_in_a_target_that_has_gone_is_forgotten() -> None:
    begun = (Quirks(found=(0, 0, 0x18)), (START,))
    _, (output, machine) = sessions(begun, (OTHERS, ("mtb stop", "mtb stop -part kinetis")))
    assert said(output) == STOPPED
    assert machine.writes == [*TRIED_BASE, (MASTER, 3)]


def test_each_of_two_connections_has_its_own_trace() -> None:
    first, second = MtbMachine(PROGRAM, way()), MtbMachine(PROGRAM, way(), OTHERS)
    with DeviceServer(first) as one, DeviceServer(second) as other:
        output = running.gdb(
            *(
                f"file {PROGRAM}",
                one.connect,
                START,
                "add-inferior -no-connection",
                "inferior 2",
                other.connect,
            ),
            *("mtb stop", "mtb stop -part kinetis", "inferior 1", "mtb stop"),
            target=False,
        ).stdout
    assert said(output)[1:] == [
        *STOPPED,
        "mtb: stopped: MASTER is 0x00000000 and FLOW 0x00000000, as found; POSITION and the buffer stay, for "
        "`mtb dump`",
    ], output
    assert second.writes == [*TRIED_BASE, (MASTER, 3)]


def test_the_buffer_is_read_at_once() -> None:
    output, _ = session(
        *(
            START,
            "break isr_work",
            "continue",
            *running.COUNT_READS,
            "mtb dump",
            "python print('reads', sizes)",
        )
    )
    sizes = running.reads(output)
    assert sizes.count(1024) == 1 and len(sizes) <= 5, sizes  # and the registers, VTOR, ICTR, the vectors


def test_a_reset_of_the_mtb_is_noticed() -> None:
    reset = (
        "set *(unsigned *) 0xf0000004 = 0",
        "mtb dump",
        "set *(unsigned *) 0xf0000000 = 0x100",
        "mtb dump",
    )
    output, _ = session(START, "break isr_work", "continue", *reset)
    assert (
        "! MASTER reads 0x00000000, not as `mtb start` left it: the program or a reset changed it" in output
    )
    assert complaint(output, "mtb dump") == (
        "mtb dump: POSITION reads 0x00000100, which is not in the buffer of 1024 bytes at 0x20003000: has the program "
        "or a reset changed it?"
    )


# -- hardware that is otherwise ------------------------------------------------------


def test_the_trace_lies_in_the_buffer_whatever_position_holds() -> None:
    kinds = {
        "no BASE": (Quirks(has_base=False), 0x20003000),
        "BASE no multiple, below": (Quirks(ram=0x1FFFF000, reach=0x8000), 0x1FFFF000),
        "BASE no multiple, above": (Quirks(ram=0x1FFFF000, reach=0x8000), 0x20003000),
        "whole addresses": (Quirks(reach=1 << 32), 0x20003000),
        "whole addresses, below": (Quirks(ram=0x1FFFF000, reach=1 << 32), 0x1FFFF400),
    }
    cases = [
        (
            quirks,
            (f"mtb start -part kinetis -buffer {at:#x} -size 256", "break isr_work", "continue", "mtb dump"),
        )
        for quirks, at in kinds.values()
    ]
    for (kind, (quirks, at)), (output, machine) in zip(kinds.items(), sessions(*cases)):
        assert dumped(output) == branches_of([packet for _, packet in written(machine.step)[-32:]]), kind
        offset = at - quirks.ram
        assert any(machine.ram[offset : offset + 256]), kind
        assert not any(machine.ram[:offset]) and not any(machine.ram[offset + 256 :]), "and nowhere else"
        assert ("BASE reads 0" in output) == (not quirks.has_base)


def test_a_register_that_does_not_take_ends_it_with_one_line_and_all_is_put_back() -> None:
    kinds = {
        "a buffer at 0x20003000 is not in the MTB's RAM, 0x20000000 to 0x20001fff": Quirks(
            reach=0x2000, found=(0x18, 0x5, 0x2000)
        ),
        "MASTER at 0xf0000004 did not take 0x80000006: it reads 0x80000004": Quirks(stuck=2),
        "MASTER at 0xf0000004 did not take 0x80000006: it reads 0x00000006": Quirks(stuck=ENABLE),
        "nothing answers at 0xf0000000: POSITION reads 0 whatever is written: is there an MTB?": Quirks(
            drops=True
        ),
        "cannot read POSITION at 0xf0000000: Cannot access memory at address 0xf0000000": Quirks(
            present=False
        ),
    }
    found = sessions(*((quirks, (START,)) for quirks in kinds.values()))
    for (answer, quirks), (output, machine) in zip(kinds.items(), found):
        assert complaint(output, "mtb start") == "mtb start: " + answer
        assert tuple(machine.mtb[offset] for offset in (POSITION, MASTER, FLOW)) == quirks.found


def test_memory_is_not_taken_for_an_mtb() -> None:
    commands = {
        "mtb start -base 0x20000000 -buffer 0x20003000": "no MTB is at 0x20000000, but SystemCoreClock, prof_ram, "
        "prof_n and 1 more: another -base, or -force",
        "mtb start -base 0x20003010 -buffer 0x20003000": "the buffer, 0x20003000 to 0x200033ff, would lie over the "
        "registers at 0x20003010",
        "mtb start -base 0x20002800 -buffer 0x20003000": "no MTB is at 0x20002800: its BASE, which is only read, "
        "takes 0xffffffff, and was put back",
        "mtb start -base 0x20000000 -buffer 0x20003000 -force": "no MTB is at 0x20000000: its BASE, which is only "
        "read, takes 0xffffffff, and was put back",
        "mtb stop -base 0x20000000": "no MTB is at 0x20000000, but SystemCoreClock, prof_ram, prof_n and 1 more: "
        "another -base",
        "mtb stop -base 0x20002800": "no MTB is at 0x20002800: its BASE, which is only read, takes 0xffffffff, and was "
        "put back",
        "mtb stop": NOWHERE,  # none of these is remembered
    }
    stop = list(commands).index("mtb stop -base 0x20000000")
    looks_on = "set {unsigned} 0x20002804 = 0x80000001"
    output, machine = session(*list(commands)[:stop], looks_on, *list(commands)[stop:])
    assert said(output) == [
        "%s: %s" % (" ".join(command.split()[:2]), answer) for command, answer in commands.items()
    ]
    machine.ram[0x2804:0x2808] = bytes(4)
    assert not any(machine.ram), "all is as it was"


def test_bits_of_access_rights_stay_and_all_is_put_back() -> None:
    output, machine = session(START, "mtb stop", quirks=Quirks(found=(0x40, 0x1E3, 0x1001)))
    assert (machine.mtb[MASTER], machine.mtb[FLOW]) == (0x1E3, 0x1001)
    assert machine.writes[:2] == TRIED_BASE
    during = [value for offset, value in machine.writes if offset == MASTER]
    assert during == [0x180, 0x80000186, 0x1E3]
    assert [value for offset, value in machine.writes if offset == FLOW] == [0, 0x1001]
    assert "MASTER is 0x000001e3 and FLOW 0x00001001, as found" in output


def test_qemu_has_none() -> None:
    output = running.gdb(
        *("mtb start -part kinetis -buffer 0x20003000", "mtb dump -part kinetis"),
        program=PROGRAM,
        board=BOARD,
    ).stdout
    assert complaint(output, "mtb start") == (
        "mtb start: nothing answers at 0xf0000000: POSITION reads 0 whatever is written: is there an MTB?"
    )
    assert complaint(output, "mtb dump") == (
        "mtb dump: nothing answers at 0xf0000000: all registers read 0: no MTB, or none that was started"
    )


# -- a trace that somebody else began ------------------------------------------------

ON = Quirks(found=(0x3000, ENABLE | 4, 0))
"""256 bytes at 0x20003000."""


def test_the_programs_own_trace_is_not_taken_over_unless_forced() -> None:
    (output, machine), (forced, taken) = sessions(
        (ON, (START, "mtb stop")), (ON, (f"{START} -force", "mtb stop"))
    )
    assert said(output) == [
        "mtb start: tracing is on already, MASTER reads 0x80000004: the program's own? `mtb stop`, or -force",
        "mtb: stopped: MASTER was 0x80000004, which `mtb start` did not write, and is 0x00000004",
    ]
    assert machine.writes == [*TRIED_BASE, (MASTER, 4)]
    assert "as found: tracing was on when found, and is off" in forced
    assert taken.mtb[MASTER] == 4


def test_the_programs_own_trace_is_read_where_the_registers_tell_where_it_is_or_the_user() -> None:
    run = ("break isr_work", "continue", "mtb dump -part kinetis", "echo == told\\n")
    (output, machine), (open_, other) = sessions(
        (ON, (*run, "mtb dump -buffer 0x20003000")),
        (Quirks(has_base=False, found=ON.found), (*run, "mtb profile -part kinetis -buffer 0x20003000")),
    )
    expected = branches_of([packet for _, packet in written(machine.step)[-32:]])
    assert [dumped(text) for text in output.split("== told\n")] == [expected] * 2, output
    assert machine.writes == []
    assert complaint(open_, "mtb dump") == (
        "mtb dump: no trace was begun here, and POSITION 0x%08x with BASE 0x00000000 leaves open where the buffer is: "
        "-buffer ADDRESS, or an array's name" % other.mtb[POSITION]
    )
    window = ran(written(other.step)[-32][0], other.step)
    assert profiled(open_) == dict(by_function(window, functions()))


# -- offline -------------------------------------------------------------------------


def test_a_buffer_in_a_file(tmp_path: Path) -> None:
    machine = MtbMachine(PROGRAM, way(), ON)
    while machine.step < 9000:
        machine.run(set(), True)
    position = machine.mtb[POSITION]
    offset = position & 0xF8
    assert position & 4 and offset
    file, ordered = tmp_path / "buffer.bin", tmp_path / "ordered.bin"
    content = bytes(machine.ram[0x3000:0x3100])
    file.write_bytes(content)
    ordered.write_bytes(content[offset:] + content[:offset])
    output = running.gdb(
        *(f"file {PROGRAM}", f"mtb dump -file {file} -position {position:#x}", f"mtb dump -file {ordered}"),
        target=False,
    ).stdout
    assert dumped(output) == branches_of([packet for _, packet in written(machine.step)[-32:]]) * 2, output


_NONE = "buffer.bin is no trace of this program: %s its code; `file` alone forgets the program, and addresses are shown"
FILES = (
    ("dump", b"", "", "buffer.bin is no MTB buffer: it has 0 bytes, and a packet has 8"),
    ("dump", bytes(12), "", "buffer.bin is no MTB buffer: it has 12 bytes, and a packet has 8"),
    (
        *("dump", bytes(24), "-position 8"),
        "buffer.bin: a buffer's size is a power of two of 16 to 16777216 bytes, found 24: leave out -position",
    ),
    ("dump", bytes(16), "-part samd", "-file needs no -buffer, -base or -part"),
    ("dump", bytes(64), "", _NONE % "8 of the newest 8 branches do not fit"),
    ("dump", bytes(8), "", _NONE % "1 of the newest 1 branch does not fit"),
    ("profile", bytes((1 << 24) + 8), "", "has more than 16777216 bytes: too large"),
)


def test_files_that_are_none(tmp_path: Path) -> None:
    interrupted = struct.pack("<II", functions()["hot_a"][0] | 1, functions()["Spare_Handler"][0])
    few = (
        "profile",
        b"\x7fELF" * 92 + interrupted * 5,
        "",
        _NONE % "46 of the newest 51 branches do not fit",
    )
    files = (few, *FILES)
    commands = []
    for n, (name, content, options, _) in enumerate(files):
        (tmp_path / str(n)).mkdir()
        (tmp_path / str(n) / "buffer.bin").write_bytes(content)
        commands.append(f"mtb {name} -file {tmp_path}/{n}/buffer.bin {options}")
    output = running.gdb(f"file {PROGRAM}", *commands, "file", commands[5], commands[0], target=False).stdout
    assert said(output) == [
        *(f"mtb {name}: {answer}" for name, _, _, answer in files[:-1]),
        f"mtb profile: {tmp_path}/{len(files) - 1}/buffer.bin {files[-1][-1]}",
        "mtb profile: no ELF file: load the program's with `file`",
    ]
    assert "no ELF file is loaded: addresses alone\n" in output
    assert dumped(output) == [("0x00000000", "0x00000000")] * 8


# -- wrong use -----------------------------------------------------------------------


WRONG = (
    (
        "mtb start -part kinetis",
        "no buffer: -buffer ADDRESS, of RAM that nothing uses, or in the program uint32_t mtb_buffer[256] "
        "__attribute__((aligned(1024)));",
    ),
    (
        "mtb start -part kinetis -buffer 0x20000000",
        "0x20000000 to 0x200003ff is used by SystemCoreClock, prof_ram, prof_n and 5 more: another -buffer, or "
        "-force",
    ),
    (
        "mtb start -part kinetis -buffer 0x0",
        "0x00000000 to 0x000003ff is used by .isr_vector, .text: another -buffer, or -force",
    ),
    (
        "mtb start -part kinetis -buffer 0x20003c00",
        "0x20003c00 to 0x20003fff is used by the stack, 0x20003ec0 to 0x20003fff: another -buffer, or -force",
    ),
    (
        "mtb start -part kinetis -buffer 0x20002440",
        "the buffer is at 0x20002440, no multiple of 1024, the buffer's size: -size 64 would fit there",
    ),
    (
        "mtb start -part kinetis -buffer 0x20002800 -size 100",
        "a buffer's size is a power of two of 16 to 16777216 bytes, found 100",
    ),
    (
        "mtb start -part kinetis -buffer nothing",
        "no symbol nothing: -buffer is an address or an array's name",
    ),
    ("mtb start -part kinetis -buffer laps", "no symbol laps: -buffer is an address or an array's name"),
    (
        "mtb start -part kinetis -buffer prof_n",
        "prof_n has 4 bytes: a buffer of 16 does not fit",
    ),
    (
        "mtb start -part kinetis -buffer 0x10000000",
        "cannot read the buffer at 0x10000000: Cannot access memory at address 0x10000000",
    ),
    (
        "mtb start -part kinetis -buffer 0x123456789",
        "-buffer: expected an address of 32 bits, found '0x123456789'",
    ),
    ("mtb start -base 0xf0000000 -part samd", "-part: not allowed with argument -base"),
    (
        "mtb start -base 0xf0000008 -buffer 0x20003000",
        "the MTB's registers lie at a multiple of 16, not at 0xf0000008",
    ),
    ("mtb start -size", "-size: expected one argument"),
    ("mtb dump -part kinetis -position 4", "-position goes with -file"),
    ("mtb dump -file /nonexistent", "/nonexistent: No such file or directory"),
    ("mtb dump -last 0", "-last: expected a number above 0, found '0'"),
    ("mtb dump now", "unknown word now: see `help mtb dump`"),
)


@pytest.fixture(scope="module")
def answers() -> Dict[str, str]:
    """Of one GDB, by command."""
    commands = [command for command, _ in WRONG]
    output, machine = session(*(line for command in commands for line in (f"echo <{command}>\\n", command)))
    assert machine.writes == [], "none of them writes"
    found = re.split(r"^<(.*)>\n", output, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2]))


@pytest.mark.parametrize(("command", "answer"), WRONG)
def test_wrong_use_gets_one_line(command: str, answer: str, answers: Dict[str, str]) -> None:
    name = " ".join(command.split()[:2])
    assert complaint(answers[command], name) == f"{name}: {answer}"


def test_where_the_registers_are_is_not_guessed() -> None:
    """Nor is one remembered that did not answer."""
    faults = "mtb dump -base 0x40000000"
    output, machine = session(faults, "mtb start -buffer 0x20003000", "mtb dump", "mtb profile", "mtb stop")
    assert said(output) == [
        "mtb dump: cannot read POSITION at 0x40000000: Cannot access memory at address 0x40000000",
        *(f"mtb {name}: {NOWHERE}" for name in ("start", "dump", "profile", "stop")),
    ]
    assert machine.writes == []


def test_no_target() -> None:
    commands = ("mtb start -buffer 0x20003000", "mtb dump", "mtb profile", "mtb stop")
    output = running.gdb(f"file {PROGRAM}", "set mtb part samd", *commands, target=False).stdout
    for name in ("start", "dump", "profile", "stop"):
        expected = f"mtb {name}: no target: connect to one first (target remote …)"
        assert complaint(output, f"mtb {name}") == expected


def test_what_is_forced_is_said() -> None:
    output, _ = session("mtb start -part kinetis -buffer 0x20000000 -size 16 -force")
    assert said(output)[1:] == [
        "mtb: forced: SystemCoreClock, prof_ram, prof_n and 1 more will be overwritten"
    ]


def test_without_a_program_there_are_addresses_and_the_stack_is_still_spared() -> None:
    start = functions()["isr_work"][0]
    ((output, machine),) = sessions(
        (
            Quirks(),
            (
                *("mtb start -part kinetis -buffer 0x20003c00", f"{START} -size 256", f"break *{start:#x}"),
                *("continue", "mtb dump -last 2", "mtb profile"),
            ),
        ),
        loaded=None,
    )
    assert said(output) == [
        "mtb start: 0x20003c00 to 0x20003fff is used by the stack, 0x20003ec0 to 0x20003fff: another -buffer, or "
        "-force",
        "mtb: branches are traced to 0x20003000, 256 bytes: the last 32 packets; continue, then `mtb dump`",
        "mtb: no ELF file is loaded: whether anything uses the buffer is not known",
        "mtb profile: no ELF file: load the program's with `file`",
    ]
    assert "no ELF file is loaded: addresses alone\n" in output
    entered, called = (packet for _, packet in written(machine.step)[-2:])
    assert rows(output) == [
        ("0x%08x" % entered.source, "0x%08x" % entered.destination, "exception IRQ 20"),
        ("0x%08x" % called.source, "0x%08x" % called.destination, ""),
    ]


def test_another_programs_trace_is_named_as_such() -> None:
    other = elf("three_loops_o2", BOARD)
    ((output, _),) = sessions(
        (Quirks(), (f"file {PROGRAM}", START, "break isr_work", "continue", f"file {other}", "mtb dump")),
        loaded=None,
    )
    assert re.search(
        r"^! \d+ of the newest 128 branches do not fit the program's code: is this the program that was traced\?$",
        output,
        re.MULTILINE,
    ), output


def test_an_array_of_the_programs_is_taken_by_its_name(tmp_path: Path) -> None:
    kinds = ((64, "", 256), (64, " -size 64", 64), (96, "", 256))
    cases, addresses = [], []
    for n, (length, options, _) in enumerate(kinds):
        program = _array(tmp_path / str(n), length)
        addresses.append(running.symbol(program, "mtb_buffer")[0])
        cases.append((Quirks(), (f"file {program}", f"mtb start -part kinetis{options}")))
    for (_, _, size), address, (output, _) in zip(kinds, addresses, sessions(*cases, loaded=None)):
        packets = f"{size} bytes: the last {size // 8} packets"
        assert f"mtb: branches are traced to {address:#010x}, {packets}" in output


def _array(folder: Path, length: int) -> Path:
    """A program whose buffer has so many words."""
    folder.mkdir()
    source, program = folder / "array.c", folder / "array.elf"
    source.write_text(
        f"unsigned mtb_buffer[{length}] __attribute__((aligned(256)));\nvoid _start(void) {{ mtb_buffer[0] = 1; }}\n",
        encoding="ascii",
    )
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-nostdlib", "-Wl,-Tbss=0x20003100"]
    subprocess.run([*compiler, str(source), "-o", str(program)], check=True, capture_output=True)
    return program


# -- where the unit is ---------------------------------------------------------------


def test_settings_say_where_the_registers_are_and_options_come_first() -> None:
    output, _ = session(
        *(
            "show mtb",
            "show mtb what",
            "set mtb part kinetis",
            "show mtb part",
            f"{START[:9]} -buffer 0x20003000",
        ),
        *("set mtb base 0x14000000", "show mtb base", "mtb stop", "mtb stop -part kinetis"),
    )
    assert output.startswith(
        "The address of the MTB's registers is not given (0).\nThe part of the MTB is not given (none).\n",
        output.index("The"),
    )
    assert "show mtb: no setting what: there are base, part\n" in output
    assert "The part of the MTB is kinetis." in output
    assert "The address of the MTB's registers is 0x14000000." in output
    assert complaint(output, "mtb stop").startswith("mtb stop: cannot read POSITION at 0x14000000: ")
    assert "mtb: stopped: MASTER is 0x00000000" in output


# -- a console's width, a front end --------------------------------------------------


def test_no_line_is_wider_than_the_console() -> None:
    by = ("function", "line", "address")
    commands = (
        *(START, "mtb dump", "continue", "mtb dump", *(f"mtb profile -by {kind}" for kind in by)),
        "mtb stop",
    )
    begin = (f"{START} -size 2048", "break isr_work", "continue")
    widths = (60, 80)
    found = sessions(
        *((Quirks(), (*begin, f"set width {width}", "echo <\\n", *commands, "echo >\\n")) for width in widths)
    )
    for width, (output, _) in zip(widths, found):
        (text,) = re.findall(r"<\n(.*)>\n", output, re.DOTALL)
        own = re.sub(r"\nBreakpoint \d+,.*?\n.*?\n", "", text)
        assert max(map(len, own.splitlines())) <= width, own


def test_help_fits_eighty_columns() -> None:
    commands = ("mtb", "mtb start", "mtb stop", "mtb dump", "mtb profile", "set mtb part", "set mtb base")
    output = running.gdb(*(f"help {command}" for command in commands), target=False).stdout
    assert output.count("Usage: mtb ") == 4
    assert max(map(len, output.splitlines())) < 80


def test_a_front_end_gets_the_same_text() -> None:
    with DeviceServer(MtbMachine(PROGRAM, way())) as server:
        front = Mi("mi2")
        front.send(f"-file-exec-and-symbols {PROGRAM}")
        front.console("source gdb_prof")
        front.send("-target-select " + server.connect.split(" ", 1)[1])
        started = front.console(f"{START} -size 256")
        assert started[-1] == "^done" and "branches are traced to 0x20003000" in streamed(started)
        wrong = front.console("mtb dump now")
        assert wrong[-1] == '^error,msg="mtb dump: unknown word now: see `help mtb dump`"'
        read = front.console("mtb dump")
        assert "no branch is traced yet" in streamed(read)
        assert sum(line.startswith("=cmd-param-changed") for line in read) == 2, "once off and once on"
        front.close()
