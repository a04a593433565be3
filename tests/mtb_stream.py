"""A trace buffer as the MTB would have written it, made of what QEMU executed.

Independent of the product's decoder: the format is Arm DDI 0486, 2.3.1, and the program's way is QEMU's own
log (`-d exec,int`, one instruction a block). `recorded` gives that way as steps, `packets_of` the packets of
steps, `Trace` a circular buffer that takes them.
"""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from elftools.elf.elffile import ELFFile

from running import GDB, ROOT, qemu

EXECUTED, ENTERED, RETURNED = "executed", "entered", "returned"
_EXCEPTION_RETURN = 0xFFFFFFF9
_SYMBOLS = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
_STOPPED = re.compile(r"^Stopped execution of TB chain before \S+ \[([0-9a-f]+)\]")
_TAKEN = re.compile(r"^\.\.\.taking pending \w+ exception (\d+)")


class Step(NamedTuple):
    """EXECUTED: the instruction at `address`. ENTERED: exception number `address` was taken. RETURNED: the
    instruction before left an exception."""

    kind: str
    address: int = 0


class Packet(NamedTuple):
    """As the hardware has it: even addresses, the A-bit and the S-bit."""

    source: int
    destination: int
    a: bool = False
    s: bool = False

    @property
    def words(self) -> bytes:
        return struct.pack("<II", self.source & ~1 | self.a, self.destination & ~1 | self.s)


def steps(log: Iterable[str]) -> Iterator[Step]:
    """Of QEMU's log. It repeats an instruction that it compiles again, and lists one that it then did not
    begin since an interrupt came first."""
    waiting: Optional[int] = None
    leaving = False
    for line in log:
        executed, stopped, taken = _SYMBOLS.match(line), _STOPPED.match(line), _TAKEN.match(line)
        if executed:
            address = int(executed.group(1), 16)
            if waiting is not None and waiting != address:
                yield Step(EXECUTED, waiting)
            waiting = address
        elif stopped and waiting == int(stopped.group(1), 16):
            waiting = None
        elif line.startswith("Exception return:"):
            if waiting is not None:
                yield Step(EXECUTED, waiting)
            waiting, leaving = None, True
        elif taken or (leaving and "successful exception return" in line):
            if waiting is not None:
                yield Step(EXECUTED, waiting)
            waiting = None
            if leaving:
                yield Step(RETURNED)
            leaving = False
            if taken:
                yield Step(ENTERED, int(taken.group(1)))


def recorded(program: Path, board: str, number: int, commands: Sequence[str] = ()) -> List[Step]:
    """So many steps of a program, from its first instruction, or from where a GDB has it after the commands
    (`prof start`…), from where on it runs by itself."""
    one_a_block = ["-singlestep"]
    told = subprocess.run(["qemu-system-arm", "--help"], capture_output=True, check=True).stdout
    if b"-singlestep" not in told:
        one_a_block = ["-accel", "tcg,one-insn-per-tb=on"]
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "log")
        os.mkfifo(fifo)
        number_file = os.path.join(folder, "pid")
        machine = [*qemu(program, board), *one_a_block, "-D", fifo, "-pidfile", number_file]
        if commands:
            target = "target remote | exec %s -S -gdb stdio" % " ".join(machine)
            lines = ["set pagination off", "set confirm off", "file %s" % program]
            lines += [
                "source %s" % (ROOT / "gdb_prof"),
                target,
                *commands,
                "monitor log exec,int",
                "continue",
            ]
            command = [GDB, "-nx", "-q", "-batch", *(word for line in lines for word in ("-ex", line))]
        else:
            command = [*machine, "-d", "exec,int"]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        found: List[Step] = []
        try:
            with open(fifo, encoding="ascii", errors="replace") as log:
                for step in steps(log):
                    found.append(step)
                    if len(found) >= number:
                        break
        finally:
            with open(number_file, encoding="ascii") as file:
                os.kill(int(file.read()), signal.SIGKILL)  # GDB would wait for it to end by itself
            process.kill()
            process.wait()
    return found


class Sizes:
    """How long the instruction at an address is, by the ELF's bytes."""

    def __init__(self, program: Path) -> None:
        self._known: Dict[int, int] = {}
        with open(program, "rb") as file:
            self._pieces: List[Tuple[int, bytes]] = [
                (section["sh_addr"], section.data())
                for section in ELFFile(file).iter_sections()
                if section["sh_flags"] & 2 and section["sh_type"] == "SHT_PROGBITS"
            ]

    def halfword(self, address: int) -> int:
        for start, content in self._pieces:
            if start <= address < start + len(content):
                return int(struct.unpack_from("<H", content, address - start)[0])
        raise AssertionError("no code at %#x" % address)

    def __call__(self, address: int) -> int:
        if address not in self._known:
            self._known[address] = 4 if self.halfword(address) >> 11 in (0b11101, 0b11110, 0b11111) else 2
        return self._known[address]

    def vector(self, number: int) -> int:
        """The handler of an exception."""
        return self.halfword(4 * number) & ~1 | self.halfword(4 * number + 2) << 16


def packets_of(way: Sequence[Step], sizes: Sizes) -> List[Tuple[int, Packet]]:
    """Each with the number of the step before which it is written. The first has the S-bit."""
    found: List[Tuple[int, Packet]] = []
    at: Optional[int] = None  # where the program goes on if nothing happens
    ran: Optional[int] = None  # the last instruction, of which it is not yet known where it led
    resumes = _resumptions(way)

    def arrived(step: int, place: int) -> None:
        """The instruction `ran` led to `place`."""
        if ran is not None and place != at:
            found.append((step, Packet(ran, place)))

    for number, step in enumerate(way):
        if step.kind == EXECUTED:
            arrived(number, step.address)
            ran, at = step.address, step.address + sizes(step.address)
        elif step.kind == RETURNED:
            assert ran is not None
            found.append((number, Packet(ran, _EXCEPTION_RETURN)))
            following = way[number + 1] if number + 1 < len(way) else None
            if following is None:
                break
            place = following.address if following.kind == EXECUTED else sizes.vector(following.address)
            found.append((number, Packet(_EXCEPTION_RETURN, place, a=True)))
            ran, at = None, place
        elif ran is None and number and way[number - 1].kind == RETURNED:
            at = sizes.vector(step.address)  # tail-chained
        else:
            resumption = resumes.get(number, at)
            if resumption is None:
                continue  # nothing ran before it
            arrived(number, resumption)
            found.append((number, Packet(resumption, sizes.vector(step.address), a=True)))
            ran, at = None, sizes.vector(step.address)
    return [(n, p._replace(s=k == 0)) for k, (n, p) in enumerate(found)]


def _resumptions(way: Sequence[Step]) -> Dict[int, int]:
    """Where each exception's entry, by the number of its step, was come back to."""
    found: Dict[int, int] = {}
    nested: List[int] = []
    for number, step in enumerate(way[:-1]):
        if step.kind == ENTERED and way[number - 1].kind != RETURNED:
            nested.append(number)
        elif step.kind == RETURNED and way[number + 1].kind == EXECUTED and nested:
            found[nested.pop()] = way[number + 1].address
    return found


@dataclasses.dataclass
class Trace:
    """A circular buffer of `size` bytes: `position` is the offset of the next packet."""

    size: int
    content: bytearray = dataclasses.field(default_factory=bytearray)
    position: int = 0
    wrapped: bool = False

    def __post_init__(self) -> None:
        self.content = bytearray(b"\xa5" * self.size)

    def add(self, packet: Packet) -> None:
        self.content[self.position : self.position + 8] = packet.words
        self.position += 8
        if self.position == self.size:
            self.position, self.wrapped = 0, True
