"""The published scenarios, run here: what the commands say, against FIGURES.md and against
the kernel's own account of the same run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from running import gdb
from tracing import lanes_in, milliseconds, section, shares, traced

BOARDS = ["netduinoplus2", "netduino2"]
WITHIN_MS = 0.005

# The kernel's run-time counters of every task: counts of the same clock.
COUNTERS = """python
from gdb_prof.target import freertos, images, memory
kernel = freertos.Kernel(images.Images().program(), memory.Memory())
for task in kernel.tasks():
    print("counter", task.name, int(gdb.parse_and_eval("((TCB_t *)%d)->ulRunTimeCounter" % task.block)))"""


LANES = {
    "inversion": """\
H      |                                        ####    |
M      |        ########################                |
L      |########                        ########        |
IDLE   |                                            ####|
ms      0   1   2   3   4   5   6   7   8   9   10  11  12""",
    "inversion_mutex": """\
H      |                ####                            |
L      |####^^^^^^^^^^^^                                |
M      |                    ########################    |
IDLE   |                                            ####|
ms      0   1   2   3   4   5   6   7   8   9   10  11  12""",
}


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("program", LANES)
def test_the_lanes_are_the_published_ones(program: str, board: str) -> None:
    output = traced(program, "rtos-trace lanes -from 0 -to 12 -step 0.25", board=board)
    assert lanes_in(output) == LANES[program].splitlines()


@pytest.mark.parametrize("board", BOARDS)
def test_without_a_mutex_h_waits_for_m_too(board: str) -> None:
    output = traced("inversion", "rtos-trace diag", board=board)
    ((task, what, start, end, length, meanwhile),) = section(output, "Waits")
    assert (task, what) == ("H", "lock")
    for seen, published in ((start, 1.000), (end, 10.003), (length, 9.003)):
        assert float(seen) == pytest.approx(published, abs=WITHIN_MS)
    assert milliseconds(meanwhile) == pytest.approx({"M": 6.001, "L": 3.002}, abs=WITHIN_MS)
    flat = " ".join(output.split())
    assert flat.count("Priority inversion") == 1
    assert "1. Priority inversion: H (3) waited 9.00" in flat and "2. " not in flat
    assert "held by L (1). M (2), which does not use it, ran 6.001 ms of that." in flat
    assert "Nothing was inherited: lock is a binary semaphore." in flat


@pytest.mark.parametrize("board", BOARDS)
def test_with_a_mutex_l_inherits_and_h_waits_for_l_alone(board: str) -> None:
    output = traced("inversion_mutex", "rtos-trace diag", board=board)
    ((_, _, _, _, length, meanwhile),) = section(output, "Waits")
    assert float(length) == pytest.approx(3.002, abs=WITHIN_MS)
    assert set(milliseconds(meanwhile)) == {"L"}
    events = {(row[1], row[2]): float(row[0]) for row in section(output, " Events")}
    assert events["L", "inherit"] == pytest.approx(1.001, abs=WITHIN_MS)
    assert events["L", "disinherit"] == pytest.approx(4.002, abs=WITHIN_MS)
    latency = {row[0]: float(row[5]) for row in section(output, "Ready -> running")}
    assert latency["M"] / 1000 == pytest.approx(3.003, abs=WITHIN_MS)
    assert "No findings." in output


@pytest.mark.parametrize("program", ["inversion", "inversion_mutex"])
def test_shares_are_the_published_ones(program: str) -> None:
    ran = shares(traced(program, "rtos-trace diag"))
    for task, published in {"H": 1.001, "L": 4.001, "M": 6.001}.items():
        assert ran[task] == pytest.approx(published, abs=WITHIN_MS)


@pytest.mark.parametrize("board", BOARDS)
def test_load_starves_the_logger_and_makes_period_late(board: str) -> None:
    output = traced("load", "rtos-trace diag", board=board)
    flat = " ".join(output.split())
    starved = re.search(
        r"1\. Starvation: logger \(1\) was ready ([\d.]+) ms .*?, ([\d.]+) to ([\d.]+):", flat
    )
    late = re.search(r"2\. Jitter: period \(2\), every 5\.000 ms, starts up to ([\d.]+) ms late", flat)
    idle = re.search(r"3\. Idle starved: IDLE did not run for [\d.]+ ms, ([\d.]+) to ([\d.]+)", flat)
    assert starved and late and idle, output
    assert [float(x) for x in starved.groups()] == pytest.approx([60.521, 100.0, 160.521], abs=WITHIN_MS)
    assert float(late[1]) == pytest.approx(3.001, abs=WITHIN_MS)
    assert [float(x) for x in idle.groups()] == pytest.approx([98.0, 164.523], abs=WITHIN_MS)


@pytest.mark.parametrize("board", BOARDS)
def test_load_fixed_gives_no_finding(board: str) -> None:
    output = traced("load_fixed", "rtos-trace diag", board=board)
    latency = {row[0]: float(row[5]) / 1000 for row in section(output, "Ready -> running")}
    assert "No findings." in output
    assert latency["logger"] == pytest.approx(3.501, abs=WITHIN_MS)
    assert latency["burst"] == pytest.approx(0.501, abs=WITHIN_MS)
    assert latency["period"] < 0.001


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("program", ["inversion", "inversion_mutex", "load", "load_fixed"])
def test_sums_agree_with_the_kernels_own_counters_to_a_microsecond(program: str, board: str) -> None:
    output = traced(program, "rtos-trace diag", COUNTERS, board=board)
    counters = {name: int(n) for name, n in re.findall(r"^counter (\S+) (\d+)$", output, re.MULTILINE)}
    ran = shares(output)
    assert set(counters) == set(ran)
    for task, counts in counters.items():
        assert ran[task] == pytest.approx(counts / 1e6, abs=0.001 + 0.0005), task  # and half a printed digit


ASSERTIONS = [
    ("inversion", "wait H lock < 4ms", False),
    ("inversion_mutex", "wait H lock < 4ms", True),
    ("inversion_mutex", "wait H queue1 < 4ms", True),
    ("inversion", "no inversion", False),
    ("inversion_mutex", "no inversion", True),
    ("load", "no starvation > 10ms", False),
    ("load_fixed", "no starvation > 10ms", True),
    ("load", "jitter period < 0.5ms", False),
    ("load_fixed", "jitter period < 0.5ms", True),
    ("load", "latency period < 2ms", False),
    ("load_fixed", "latency period < 2ms", True),
    ("load", "share poll < 15%", False),
    ("load_fixed", "share poll < 15%", True),
    ("load_fixed", "lost = 0", True),
    ("inversion_small", "lost = 0", False),
]


@pytest.mark.parametrize(("program", "words", "holds"), ASSERTIONS)
def test_an_assertion_ends_gdb_with_its_status(program: str, words: str, holds: bool, tmp_path: Path) -> None:
    traced(program, "rtos-trace save %s" % (tmp_path / "t.bin"))
    result = gdb("rtos-trace assert -file %s %s" % (tmp_path / "t.bin", words), target=False)
    assert result.returncode == (0 if holds else 1), result.stdout
    assert ("rtos-trace assert: failed: " in result.stdout) is not holds
    assert "asked: " in result.stdout or "no " in words
