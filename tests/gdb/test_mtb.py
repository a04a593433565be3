"""`mtb` on a simulated Cortex-M0+ that goes the way QEMU's Cortex-M0 went, and traces it."""

from __future__ import annotations

import collections
import functools
import re
import subprocess
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import pytest

import running
from mi import Mi, streamed
from mtb_machine import ENABLE, FLOW, MASTER, POSITION, MtbMachine, Quirks
from mtb_stream import EXECUTED, RETURNED, Packet, Sizes, Step, packets_of, recorded
from remote_server import DeviceServer
from running import by_function, complaint, elf, functions_of

BOARD = "microbit"
PROGRAM = elf("foreign_isr", BOARD)
START = "mtb start -part kinetis -buffer 0x20003000"
NOWHERE = (
    "where the MTB's registers lie is not known, and reading a wrong address may fault: give -base ADDRESS, from "
    "the manual or the ROM table, or -part: kinetis (0xf0000000), samd (0x41006000), lpc800 (0x14000000)"
)


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


def session(*commands: str, quirks: Quirks = Quirks(), loaded: Path = PROGRAM) -> Tuple[str, MtbMachine]:
    machine = MtbMachine(PROGRAM, way(), quirks)
    with DeviceServer(machine) as server:
        output = running.gdb(f"file {loaded}", server.connect, *commands, target=False).stdout
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output, machine


def said(output: str) -> List[str]:
    """The lines that are `mtb`'s."""
    return [line for line in output.splitlines() if line.startswith("mtb")]


def ran(first: int, end: int) -> List[int]:
    """The addresses of what was executed in these steps."""
    return [step.address for step in way()[first:end] if step.kind == EXECUTED]


def written(machine: MtbMachine) -> List[Tuple[int, Packet]]:
    """The packets until where the machine is: that there are so many, the truth of the window follows."""
    return [(step, packet) for step, packet in packets_of(way(), Sizes(PROGRAM)) if step <= machine.step]


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


_DUMPED = re.compile(r"^ *\d+(?:-\d+)?  (\S+)(?: \S+)? +->  (\S+)(?: \S+)?(?:  +(\S.*))?$", re.MULTILINE)
_TIMES = re.compile(r", ([\d,]+) times$")
_COUNTED = re.compile(r"^0x(\w+) +([\d,]+) +\d+\.\d\d %", re.MULTILINE)
_BY_FUNCTION = re.compile(r"^ *([\d,]+) +\d+\.\d\d % +\d+/\d+ +[\d,]+  (\w+)", re.MULTILINE)


def dumped(output: str) -> List[Tuple[str, str]]:
    """Every branch, also those of a loop that are one row."""
    found = []
    for source, destination, kind in _DUMPED.findall(output):
        times = _TIMES.search(kind)
        found += [(source, destination)] * (int(times[1].replace(",", "")) if times else 1)
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


@pytest.mark.parametrize("stops", [1, 2, 3])
@pytest.mark.parametrize(("size", "begin"), [(2048, "0x20003000"), (512, "0x20002200"), (16, "0x20003010")])
def test_the_last_branches_are_the_recordings(size: int, begin: str, stops: int) -> None:
    output, machine = session(
        f"mtb start -part kinetis -buffer {begin} -size {size}",
        *("break isr_work", *["continue"] * stops, "mtb dump", "mtb profile -by address", "mtb profile"),
    )
    held = written(machine)[-(size // 8) :]
    assert dumped(output) == branches_of([packet for _, packet in held]), output
    assert f"in a buffer of {size // 8} packet" in output
    assert ("it has wrapped" in output) == (len(written(machine)) >= size // 8)
    window = ran(held[0][0], machine.step)
    assert counted(output) == collections.Counter(window), output
    assert profiled(output) == dict(by_function(window, functions()))
    assert "%s instructions from the first branch's destination on" % format(len(window), ",") in output


def test_an_interrupt_and_its_return_are_named_as_such() -> None:
    output, _ = session(
        *(f"{START} -size 256", "break isr_work", "continue", "tbreak hot_a", "continue", "mtb dump -last 3"),
        *("continue", "mtb dump -last 2"),
    )
    interrupted = place(next(s.address for n, s in enumerate(way()) if n and way()[n - 1].kind == RETURNED))
    leaves = place(next(way()[n - 1].address for n, s in enumerate(way()) if s.kind == RETURNED))
    assert _DUMPED.findall(output)[1:4] == [
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
    )
    _, traced, stopped = re.split("== traced\n|== stopped\n", output)
    assert dumped(traced) == dumped(stopped) != []
    assert "the last 3 of them up to the PC" in traced
    assert "up to the PC" not in stopped
    assert profiled(traced) == {**profiled(stopped), "isr_work": 3}


def test_nothing_is_traced_yet() -> None:
    output, _ = session(START, "mtb dump", "mtb profile")
    assert output.count("no branch is traced yet\n") == 2, output


def test_a_second_start_begins_anew_and_the_first_ones_finding_is_put_back() -> None:
    output, machine = session(
        *(
            f"{START} -size 64",
            "break isr_work",
            "continue",
            f"{START} -size 128",
            "mtb dump",
            "continue",
            "mtb stop",
        ),
        quirks=Quirks(found=(0x10, 0x4, 0x2000)),
    )
    assert output.count("mtb: branches are traced to 0x20003000") == 2, output
    assert "no branch is traced yet" in output
    assert (machine.mtb[MASTER], machine.mtb[FLOW]) == (0x4, 0x2000)


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


@pytest.mark.parametrize(
    ("quirks", "begin"),
    [
        (Quirks(has_base=False), "0x20003000"),
        (Quirks(ram=0x1FFFF000, reach=0x8000), "0x1ffff000"),
        (Quirks(ram=0x1FFFF000, reach=0x8000), "0x20003000"),
        (Quirks(reach=1 << 32), "0x20003000"),
        (Quirks(ram=0x1FFFF000, reach=1 << 32), "0x1ffff400"),
    ],
    ids=["no BASE", "BASE no multiple, below", "BASE no multiple, above", "whole addresses", "whole, below"],
)
def test_the_trace_lies_in_the_buffer_whatever_position_holds(quirks: Quirks, begin: str) -> None:
    output, machine = session(
        *(f"mtb start -part kinetis -buffer {begin} -size 256", "break isr_work", "continue", "mtb dump"),
        quirks=quirks,
    )
    assert dumped(output) == branches_of([packet for _, packet in written(machine)[-32:]]), output
    at = int(begin, 16) - quirks.ram
    assert any(machine.ram[at : at + 256])
    assert not any(machine.ram[:at]) and not any(machine.ram[at + 256 :]), "and nowhere else"
    assert ("BASE reads 0" in output) == (not quirks.has_base)


def test_a_buffer_beyond_what_position_can_address_is_refused_and_all_put_back() -> None:
    found = (0x18, 0x5, 0x2000)
    output, machine = session(START, quirks=Quirks(reach=0x2000, found=found))
    assert complaint(output, "mtb start") == (
        "mtb start: a buffer at 0x20003000 is not in the MTB's RAM, 0x20000000 to 0x20001fff"
    )
    assert (machine.mtb[POSITION], machine.mtb[MASTER], machine.mtb[FLOW]) == found


@pytest.mark.parametrize(
    ("quirks", "answer"),
    [
        (Quirks(stuck=2), "MASTER at 0xf0000004 did not take 0x80000006: it reads 0x80000004"),
        (Quirks(stuck=ENABLE), "MASTER at 0xf0000004 did not take 0x80000006: it reads 0x00000006"),
        (
            Quirks(drops=True),
            "nothing answers at 0xf0000000: POSITION reads 0 whatever is written: is there an MTB?",
        ),
        (
            Quirks(present=False),
            "cannot read POSITION at 0xf0000000: Cannot access memory at address 0xf0000000",
        ),
    ],
)
def test_a_register_that_does_not_take_ends_it_with_one_line(quirks: Quirks, answer: str) -> None:
    output, machine = session(START, quirks=quirks)
    assert complaint(output, "mtb start") == "mtb start: " + answer
    assert machine.mtb == {POSITION: 0, MASTER: 0, FLOW: 0}


def test_bits_of_access_rights_stay_and_all_is_put_back() -> None:
    output, machine = session(START, "mtb stop", quirks=Quirks(found=(0x40, 0x1E3, 0x1001)))
    assert (machine.mtb[MASTER], machine.mtb[FLOW]) == (0x1E3, 0x1001)
    during = [value for offset, value in machine.writes if offset == MASTER]
    assert during == [0x180, 0x80000186, 0x1E3]
    assert [value for offset, value in machine.writes if offset == FLOW] == [0, 0x1001]
    assert "MASTER is 0x000001e3 and FLOW 0x00001001, as found" in output


def test_qemu_has_none() -> None:
    output = running.gdb(
        "mtb start -part kinetis -buffer 0x20003000", "mtb dump", program=PROGRAM, board=BOARD
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


def test_the_programs_own_trace_is_not_taken_over() -> None:
    output, machine = session(START, "mtb stop", quirks=ON)
    assert said(output) == [
        "mtb start: tracing is on already, MASTER reads 0x80000004: the program's own? `mtb stop`, or -force",
        "mtb: stopped: MASTER was 0x80000004, which `mtb start` did not write, and is 0x00000004",
    ]
    assert machine.writes == [(MASTER, 4)]


def test_unless_forced_and_it_is_off_then() -> None:
    output, machine = session(f"{START} -force", "mtb stop", quirks=ON)
    assert "as found: tracing was on when found, and is off" in output
    assert machine.mtb[MASTER] == 4


@pytest.mark.parametrize("option", ["", " -buffer 0x20003000"])
def test_the_programs_own_trace_is_read(option: str) -> None:
    output, machine = session("break isr_work", "continue", f"mtb dump -part kinetis{option}", quirks=ON)
    assert dumped(output) == branches_of([packet for _, packet in written(machine)[-32:]]), output
    assert machine.writes == []


def test_where_the_registers_leave_it_open_the_buffer_is_asked_for() -> None:
    own = Quirks(has_base=False, found=ON.found)
    output, machine = session(
        *("break isr_work", "continue", "mtb dump -part kinetis", "mtb profile -buffer 0x20003000"),
        quirks=own,
    )
    assert complaint(output, "mtb dump") == (
        "mtb dump: no trace was begun here, and POSITION 0x%08x with BASE 0x00000000 leaves open where the buffer is: "
        "-buffer ADDRESS, or an array's name" % machine.mtb[POSITION]
    )
    window = ran(written(machine)[-32][0], machine.step)
    assert profiled(output) == dict(by_function(window, functions()))


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
    assert dumped(output) == branches_of([packet for _, packet in written(machine)[-32:]]) * 2, output


@pytest.mark.parametrize(
    ("content", "options", "answer"),
    [
        (b"", "", "buffer.bin has 0 bytes, expected packets of 8"),
        (bytes(12), "", "buffer.bin has 12 bytes, expected packets of 8"),
        (
            bytes(24),
            "-position 8",
            "buffer.bin: a buffer's size is a power of two of 16 to 16777216 bytes, found 24: leave out -position",
        ),
        (bytes(16), "-part samd", "-file needs no -buffer, -base or -part"),
    ],
)
def test_files_that_are_none(content: bytes, options: str, answer: str, tmp_path: Path) -> None:
    (tmp_path / "buffer.bin").write_bytes(content)
    output = running.gdb(
        f"file {PROGRAM}", f"mtb dump -file {tmp_path}/buffer.bin {options}", target=False
    ).stdout
    assert complaint(output, "mtb dump") == "mtb dump: " + answer


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
    output, machine = session("mtb start -buffer 0x20003000", "mtb dump", "mtb profile", "mtb stop")
    assert said(output) == [f"mtb {name}: {NOWHERE}" for name in ("start", "dump", "profile", "stop")]
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


@pytest.mark.parametrize(("length", "options", "size"), [(64, "", 256), (64, " -size 64", 64), (96, "", 256)])
def test_an_array_of_the_programs_is_taken_by_its_name(
    length: int, options: str, size: int, tmp_path: Path
) -> None:
    source = tmp_path / "array.c"
    source.write_text(
        f"unsigned mtb_buffer[{length}] __attribute__((aligned(256)));\nvoid _start(void) {{ mtb_buffer[0] = 1; }}\n",
        encoding="ascii",
    )
    program = tmp_path / "array.elf"
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-nostdlib", "-Wl,-Tbss=0x20003100"]
    subprocess.run([*compiler, str(source), "-o", str(program)], check=True, capture_output=True)
    output, _ = session(f"mtb start -part kinetis{options}", loaded=program)
    address = running.symbol(program, "mtb_buffer")[0]
    assert (
        f"mtb: branches are traced to {address:#010x}, {size} bytes: the last {size // 8} packets" in output
    )


# -- where the unit is ---------------------------------------------------------------


def test_settings_say_where_the_registers_are_and_options_come_first() -> None:
    output, _ = session(
        *(
            "show mtb part",
            "show mtb base",
            "set mtb part kinetis",
            "show mtb part",
            f"{START[:9]} -buffer 0x20003000",
        ),
        *("set mtb base 0x14000000", "show mtb base", "mtb stop", "mtb stop -part kinetis"),
    )
    assert "The part of the MTB is not given (none)." in output
    assert "The address of the MTB's registers is not given (0)." in output
    assert "The part of the MTB is kinetis." in output
    assert "The address of the MTB's registers is 0x14000000." in output
    assert complaint(output, "mtb stop").startswith("mtb stop: cannot read POSITION at 0x14000000: ")
    assert "mtb: stopped: MASTER is 0x00000000" in output


# -- a console's width, a front end --------------------------------------------------


@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_wider_than_the_console(width: int) -> None:
    by = ("function", "line", "address")
    output, _ = session(
        *(
            f"{START} -size 2048",
            "break isr_work",
            "continue",
            f"set width {width}",
            "echo <\\n",
            START,
            "mtb dump",
        ),
        *("continue", "mtb dump", *(f"mtb profile -by {kind}" for kind in by), "mtb stop", "echo >\\n"),
    )
    (text,) = re.findall(r"<\n(.*)>\n", output, re.DOTALL)
    own = re.sub(r"\nBreakpoint 1.*?\n.*?\n", "", text)
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
        assert "no branch is traced yet" in streamed(front.console("mtb dump"))
        front.close()
