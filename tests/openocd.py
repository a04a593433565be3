"""The real OpenOCD in front of a simulated Cortex-M4, for tests without hardware.

    with openocd(elf("three_loops"), SHARES) as server:
        output = server.gdb("prof status")          GDB with the plugin, attached; what it printed
        server.core.word(0xE0001000)                a register of the core, nothing changed by looking
        server.core.writes                          all writes that came over the wire: (address, value)
        server.tcl_port                             OpenOCD's Tcl server

`SHARES` are of three_loops, in which the model draws its program counters. Quirks of other parts:
`openocd(elf, SHARES, Quirks(trace=False))`; see cortex_m4.py. The core runs when OpenOCD finds it and
GDB halts it by attaching. All ports are chosen by the system; OpenOCD ends with the context.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import subprocess
import threading
from pathlib import Path
from typing import IO, Dict, Iterator, List, Mapping, Optional

import running
from cortex_m4 import CortexM4, Quirks
from debug_port import IDCODE, Server

SHARES: Mapping[str, float] = {"hot_a": 0.6977, "hot_b": 0.1999, "hot_c": 0.1004, "run": 0.0020}
_START_S = 60
_WHILE_WE_ARE = '"$@" & exec 2>/dev/null; read -r _; kill $!; wait'
"""For sh: run a command until standard input ends, which it does however the test ends."""
_PORT = re.compile(r"Listening on port (\d+) for (\w+) connections")


@dataclasses.dataclass(frozen=True)
class OpenOcd:
    """OpenOCD, which listens, and the core behind it."""

    elf: Path
    core: CortexM4
    gdb_port: int
    tcl_port: int
    log: List[str]
    """What it says, line by line."""

    @property
    def connect(self) -> str:
        """The GDB command that attaches."""
        return "target extended-remote 127.0.0.1:%d" % self.gdb_port

    def gdb(self, *commands: str, loaded: Optional[Path] = None) -> str:
        """Run a GDB with the plugin, attached, and every command as typed; what it printed."""
        done = running.gdb(
            *("file %s" % (loaded or self.elf), self.connect, *commands), target=False, program=None
        )
        return done.stdout


def _configuration(port: int, tpiu: int) -> List[str]:
    """OpenOCD's commands. Port 0 has the system choose."""
    return [
        *("adapter driver remote_bitbang", "remote_bitbang host 127.0.0.1", "remote_bitbang port %d" % port),
        *("transport select jtag", "gdb_port 0", "tcl_port 0", "telnet_port disabled"),
        "jtag newtap model cpu -irlen 4 -expected-id 0x%08x" % IDCODE,
        "dap create model.dap -chain-position model.cpu",
        "target create model.cpu cortex_m -dap model.dap -ap-num 0",
        "tpiu create model.tpiu -dap model.dap -ap-num 0 -baseaddr 0x%08x" % tpiu,
        # with its memory map GDB takes the core's own breakpoints for the flash
        "flash bank model.flash stm32f2x 0x08000000 0 0 0 model.cpu",
        *("cortex_m reset_config sysresetreq", "init"),
    ]


@contextlib.contextmanager
def openocd(
    elf: Path, shares: Mapping[str, float] = SHARES, quirks: Optional[Quirks] = None, seed: int = 1
) -> Iterator[OpenOcd]:
    """OpenOCD with a core that runs `elf`. `seed`: of the program counters."""
    core = CortexM4(elf, shares, quirks, seed)
    with Server(core) as port:
        arguments = ["sh", "-c", _WHILE_WE_ARE, "sh", "openocd"]
        for command in _configuration(port.number, core.quirks.tpiu):
            arguments += ["-c", command]
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        log: List[str] = []
        reader = threading.Thread(target=lambda: log.extend(process.stderr or ()), daemon=True)
        try:
            assert process.stderr
            ports = _ports(process, process.stderr, log)
            reader.start()  # or it would wait for somebody who does
            yield OpenOcd(elf, core, ports["gdb"], ports["tcl"], log)
        finally:
            assert process.stdin and process.stderr
            process.stdin.close()
            process.wait()
            if reader.ident is not None:
                reader.join()
            process.stderr.close()


def _ports(process: "subprocess.Popen[str]", said: IO[str], log: List[str]) -> Dict[str, int]:
    """The ports by what they serve."""
    late = threading.Timer(_START_S, process.kill)
    late.start()
    ports: Dict[str, int] = {}
    while not {"gdb", "tcl"} <= set(ports):
        line = said.readline()
        assert line, "OpenOCD does not start:\n" + "".join(log)
        log.append(line)
        ports.update({served: int(number) for number, served in _PORT.findall(line)})
    late.cancel()
    return ports
