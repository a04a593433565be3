"""GDB and QEMU as a user starts them, and the truth that QEMU's execution log tells."""

from __future__ import annotations

import collections
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Counter, Dict, List, Sequence, Tuple

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parent.parent
FIRMWARE = ROOT / "firmware" / "build"
SHARED = ROOT.parent / "shared"
GDB = os.environ.get("GDB", "gdb-multiarch")
TIMEOUT_S = 120
# Also where the user's Python writes no bytecode: compiling the plugin is a third of a session's start.
_COMPILED_ONCE = {"PYTHONPYCACHEPREFIX": str(FIRMWARE / "pycache"), "PYTHONDONTWRITEBYTECODE": ""}

# About 12 microseconds on every board, 12,000 instructions: more than two laps of three_loops.
PERIOD = {"netduinoplus2": 2013, "netduino2": 1439, "mps2-an385": 301, "mps2-an505": 241, "microbit": 193}


def elf(program: str, board: str = "netduinoplus2") -> Path:
    return FIRMWARE / board / (program + ".elf")


def qemu(program: Path, board: str, uart: str = "null", icount: bool = True) -> List[str]:
    """QEMU with its clock tied to executed instructions. Without `sleep=off` the time that GDB
    takes between two stops shows in it, and no run is like the one before; with it the clock
    goes on to the next timer at each stop, so that a sample falls there."""
    return [
        *(
            "qemu-system-arm",
            "-M",
            board,
            *(("-icount", "shift=0,sleep=off") if icount else ()),
            "-nographic",
            "-kernel",
            str(program),
        ),
        *("-serial", uart, "-monitor", "none"),
    ]


def connect(program: Path, board: str = "netduinoplus2", uart: str = "null", icount: bool = True) -> str:
    """The GDB command that starts a QEMU which ends with GDB; no port is taken."""
    return "target remote | exec %s -S -gdb stdio" % " ".join(qemu(program, board, uart, icount))


def gdb(
    *commands: str,
    program: Path | None = None,
    board: str = "netduinoplus2",
    target: bool = True,
    uart: str = "null",
    cwd: Path = ROOT,
    plugin: bool = True,
    environment: Dict[str, str] | None = None,
    loaded: Path | None = None,
    icount: bool = True,
) -> "subprocess.CompletedProcess[str]":
    """Run a GDB with the plugin and, behind it, `program` in QEMU; every command as typed.
    `loaded`: the ELF that GDB is given, where that is another one."""
    lines = ["set pagination off", "set confirm off"]
    if program is not None:
        lines.append("file %s" % (loaded or program))
    if plugin:
        lines.append("source %s" % (ROOT / "gdb_prof"))
    if target and program is not None:
        lines.append(connect(program, board, uart, icount))
    arguments = [GDB, "-nx", "-q", "-batch"]
    # Or else GDB waits five seconds for QEMU to end by itself; after `kill` QEMU 10 sometimes never does.
    for line in [*lines, *commands, *(["monitor quit"] if target and program is not None else [])]:
        arguments += ["-ex", line]
    return subprocess.run(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        cwd=cwd,
        env={**os.environ, **_COMPILED_ONCE, "LC_ALL": "C.UTF-8", **(environment or {})},
        check=False,
    )


def started(*commands: str) -> "subprocess.Popen[str]":
    """A GDB with the plugin that works through the commands, to be sent signals meanwhile."""
    lines = ["set pagination off", "set confirm off", "source %s" % (ROOT / "gdb_prof"), *commands]
    return subprocess.Popen(
        [GDB, "-nx", "-q", "-batch", *(word for line in lines for word in ("-ex", line))],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said_until(process: "subprocess.Popen[str]", word: str) -> str:
    """What it prints up to a line with the word."""
    assert process.stdout
    output = ""
    while word not in output:
        line = process.stdout.readline()
        assert line, output
        output += line
    return output


def cpu_ticks(pid: int) -> int:
    """How long a process has worked."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as stat:
        fields = stat.read().rsplit(") ", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def complaint(output: str, command: str) -> str:
    """The one line that a command answers with."""
    lines = [line for line in output.splitlines() if line.startswith(command + ": ")]
    assert len(lines) == 1, output
    assert "Traceback" not in output and "Python Exception" not in output
    return lines[0]


COUNT_READS = (
    "python import gdb; inferior = gdb.selected_inferior; sizes = []",
    "python Counted = type('Counted', (), {'__init__': lambda s, i: setattr(s, 'i', i), "
    "'__getattr__': lambda s, n: getattr(s.i, n), "
    "'read_memory': lambda s, a, n: (sizes.append(n), s.i.read_memory(a, n))[1]})",
    "python gdb.selected_inferior = lambda: Counted(inferior())",
)
"""From here on the sizes of all reads of the target's memory are in the list `sizes`."""


def reads(output: str) -> List[int]:
    """What `python print('reads', sizes)` printed last."""
    found = re.findall(r"^reads \[(.*)\]$", output, re.MULTILINE)[-1]
    return [int(size) for size in found.split(", ")]


_ROW = re.compile(r"^ *(\d+\.\d\d) % +(?:[\d.]+|\?) +(?:[\d.]+ % +)?([\d,]+)  (.+?)(?: !)?(?:  +(\S+:\d+))?$")


def rows(output: str) -> Dict[str, int]:
    """The table of a report: samples by name, the last report in the output.

    Under a task the names of its functions keep their indent of two blanks.
    """
    table: Dict[str, int] = {}
    for line in output.splitlines():
        match = _ROW.match(line)
        if re.match(r"^ +share .*samples ", line):
            table = {}
        elif match and "in code" not in line:  # not the last line, which is the sum
            table[match.group(3).rstrip()] = int(match.group(2).replace(",", ""))
    return table


def functions_of(program: Path) -> Dict[str, Tuple[int, int]]:
    """[start, end) of every sized function, without the Thumb bit: an `nm -S` of our own."""
    with open(program, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {
            s.name: (s["st_value"] & ~1, (s["st_value"] & ~1) + s["st_size"])
            for s in table.iter_symbols()
            if s["st_info"]["type"] == "STT_FUNC" and s["st_size"]
        }


def symbol(program: Path, name: str) -> Tuple[int, int]:
    """Address and size."""
    with open(program, "rb") as file:
        found = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name(name)
        return found[0]["st_value"], found[0]["st_size"]


def executed(program: Path, board: str, instructions: int, after: int = 0) -> List[int]:
    """The addresses of so many instructions that the program executes, from the first or,
    since start-up takes longer with one compiler than with another, from one at `after` on.

    From QEMU's `-d exec` log with one instruction a block. It repeats a line when an I/O
    access is compiled again: an adjacent repeat is dropped. So none of the programs under
    test may have an instruction that branches to itself.
    """
    one_a_block = ["-singlestep"]
    if (
        b"-singlestep"
        not in subprocess.run(["qemu-system-arm", "--help"], capture_output=True, check=True).stdout
    ):
        one_a_block = ["-accel", "tcg,one-insn-per-tb=on"]
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "log")
        os.mkfifo(fifo)
        process = subprocess.Popen(
            [*qemu(program, board), *one_a_block, "-d", "exec", "-D", fifo],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        addresses: List[int] = []
        last = -1
        try:
            with open(fifo, encoding="ascii", errors="replace") as log:
                for line in log:
                    if line.startswith("Stopped execution of TB chain before") and addresses:
                        addresses.pop()  # an interrupt came first
                        last = -1
                    if not line.startswith("Trace"):
                        continue
                    address = int(line.split("/", 2)[1], 16)
                    if address != last and (addresses or address == after or not after):
                        addresses.append(address)
                    last = address
                    if len(addresses) >= instructions:
                        break
        finally:
            process.kill()
            process.wait()
    return addresses


def by_function(addresses: Sequence[int], functions: Dict[str, Tuple[int, int]]) -> Counter[str]:
    counts: Counter[str] = collections.Counter()
    for address, n in collections.Counter(addresses).items():
        for name, (start, end) in functions.items():
            if start <= address < end:
                counts[name] += n
                break
        else:
            counts["?"] += n
    return counts


def within(samples: int, total: int, truth: float, errors: float = 3.5) -> bool:
    """Whether a share lies within so many standard errors, sqrt(p(1-p)/N), of the truth."""
    return abs(samples / total - truth) <= errors * (truth * (1 - truth) / total) ** 0.5
