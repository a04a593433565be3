"""OpenOCD's own `profile` beside `prof start -source pcsr`, on the simulated Cortex-M4 of the tests.

Printed only: samples a second and shares against those that the core has. The speed is that of
the simulated debug port, the same for both; a real adapter's is another.

    PYTHONPATH=src:tests python3 scripts/bench_openocd.py
"""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
import tempfile
import time
from typing import Dict, List, Sequence, Tuple

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", folder) for folder in ("src", "tests")]

from openocd import SHARES, OpenOcd, openocd  # noqa: E402
from running import elf, functions_of, rows  # noqa: E402

SECONDS = 4
_HISTOGRAM = struct.Struct("<IIII15sc")
_HEADER = 20


def gmon(content: bytes) -> Tuple[int, int, Sequence[int]]:
    """The first and the end address and the 16-bit counters of a gmon.out's histogram (GNU gprof, gmon_out.h)."""
    assert content[:4] == b"gmon" and content[_HEADER] == 0
    low, high, size = _HISTOGRAM.unpack_from(content, _HEADER + 1)[:3]
    return low, high, struct.unpack_from("<%dH" % size, content, _HEADER + 1 + _HISTOGRAM.size)


def theirs(server: OpenOcd) -> Tuple[float, Dict[str, float], Dict[str, float]]:
    """OpenOCD's `profile`, which ends at 10,000 samples: seconds that it took, samples by function as gprof
    reads the file (a counter shared out between the functions that its range lies in), and by the
    addresses that OpenOCD counts there.

    The file's counters are not quite two bytes wide, so that one may lie across two functions though
    the samples in it are all of one address.
    """
    with tempfile.NamedTemporaryFile(suffix=".gmon") as file:
        begin = time.monotonic()
        tcl(server.tcl_port, "profile %d %s" % (SECONDS, file.name))
        took = time.monotonic() - begin
        low, high, bins = gmon(file.read())
    shared: Dict[str, float] = {}
    counted: Dict[str, float] = {}
    width = (high - low) / len(bins)
    addresses = {(address - low) * len(bins) // (high - low): address for address in range(low, high, 2)}
    for number, samples in enumerate(bins):
        start, end = low + number * width, low + (number + 1) * width
        for name, (first, behind) in functions_of(server.elf).items():
            inside = max(0.0, min(end, behind) - max(start, first)) / width
            shared[name] = shared.get(name, 0) + samples * inside
            if first <= addresses.get(number, 0) < behind:
                counted[name] = counted.get(name, 0) + samples
    return took, shared, counted


def tcl(port: int, command: str) -> str:
    said = b""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(command.encode("ascii") + b"\x1a")
        while not said.endswith(b"\x1a"):
            said += connection.recv(4096)
    return said[:-1].decode()


def ours(server: OpenOcd, option: str) -> Tuple[float, Dict[str, float]]:
    """Seconds, by the rate that it reports, and samples by function."""
    output = server.gdb("prof start -source pcsr -seconds %d%s" % (SECONDS, option), "prof dump -min 0")
    said = re.search(r"prof: ([\d,]+) samples by DWT_PCSR.*?, ([\d,]+) a second", output)
    assert said, output
    taken, rate = (int(number.replace(",", "")) for number in said.groups())
    return taken / rate, {name: float(samples) for name, samples in rows(output).items()}


def show(name: str, seconds: float, counts: Dict[str, float]) -> None:
    total = sum(counts.values())
    shares: List[str] = []
    for function, truth in SHARES.items():
        share = counts.get(function, 0) / total
        off = (share - truth) / (truth * (1 - truth) / total) ** 0.5
        shares.append("%s %.2f %% (%+.1f)" % (function, 100 * share, off))
    print("bench: %-28s %5.0f samples/s  %s" % (name, total / seconds, ", ".join(shares)))


def main() -> None:
    truth = ", ".join("%s %.2f %%" % (name, 100 * share) for name, share in SHARES.items())
    print("bench: DWT_PCSR, at most %d s each; the core has %s" % (SECONDS, truth))
    print("bench: in brackets how many standard errors a share is off")
    with openocd(elf("three_loops")) as server:
        took, shared, counted = theirs(server)
        show("OpenOCD's profile", took, counted)
        show("  its file as gprof reads it", took, shared)
        show("pcsr by monitor", *ours(server, ""))
        show("pcsr by Tcl server", *ours(server, " -tcl-port %d" % server.tcl_port))


if __name__ == "__main__":
    main()
