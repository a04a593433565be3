"""`rtos-trace` on a recorded SWO stream: the same report as from the ring of the same run, and what
it says where packets were lost.

QEMU has no ITM: the demo programs keep the words, and here the SWO bytes are made of them.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Dict, List

import pytest

from itm_words import Word, overflowed, swo
from running import ROOT, complaint, elf, gdb, symbol
from tracing import TO_THE_END, lanes_in

BOARD = "netduinoplus2"
PROGRAMS = ["inversion_itm", "inversion_mutex_itm", "load_itm", "events_itm"]


def dumped(program: str, path: Path) -> List[str]:
    """The commands that write the words to a file, at any stop."""
    address, size = symbol(elf(program), "itm_words")
    count, _ = symbol(elf(program), "itm_words_n")
    return [
        "dump binary memory %s 0x%x 0x%x" % (path, address, address + size),
        "dump binary memory %s.n 0x%x 0x%x" % (path, count, count + 4),
    ]


def words_in(path: Path) -> List[Word]:
    (n,) = struct.unpack("<I", Path(str(path) + ".n").read_bytes())
    words = list(struct.iter_unpack("<2I", path.read_bytes()))
    assert n <= len(words)
    return words[:n]


def recorded(program: str, folder: Path) -> List[Word]:
    output = gdb(*TO_THE_END, *dumped(program, folder / "words"), program=elf(program)).stdout
    assert (folder / "words").exists(), output
    return words_in(folder / "words")


def file_of(stream: bytes, folder: Path) -> Path:
    path = folder / "run.swo"
    path.write_bytes(stream)
    return path


def sections(output: str) -> Dict[str, str]:
    """What stands after each `echo =name=`."""
    parts = re.split(r"^=(\w+)=\n", output, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def body(report: str) -> List[str]:
    """All but the sentence of where it is from, which program that was, and what the recorder cost."""
    text = report[report.index("\n\n") :]
    text = re.sub(r"^! (the stream|what the stream)[^\n]*\n(  [^\n]*\n)*", "", text, flags=re.MULTILINE)
    return re.sub(r"^Recorder:.*?\n(?=\n)", "", text, flags=re.MULTILINE | re.DOTALL).splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_ring_and_stream_of_one_run_give_one_report(program: str, tmp_path: Path) -> None:
    words, stream = tmp_path / "words", tmp_path / "run.swo"
    made = "import sys; sys.path.insert(0, '%s'); import pathlib, struct, itm_words; " % (ROOT / "tests")
    made += "p = pathlib.Path('%s'); n = struct.unpack('<I', pathlib.Path('%s.n').read_bytes())[0]; " % (
        words,
        words,
    )
    made += "w = list(struct.iter_unpack('<2I', p.read_bytes()))[:n]; "
    made += "open('%s', 'wb').write(itm_words.swo(w))" % stream
    output = gdb(
        *("set width 80", *TO_THE_END, *dumped(program, words), "python " + made),
        *("echo =ring=\\n", "rtos-trace diag -rows 2000"),
        *("echo =stream=\\n", "rtos-trace diag -rows 2000 -swo %s -itm-port 8" % stream),
        *("echo =lanes=\\n", "rtos-trace lanes"),
        *("echo =lanes_of_stream=\\n", "rtos-trace lanes -swo %s -itm-port 8" % stream, "echo =end=\\n"),
        program=elf(program),
    ).stdout
    said = sections(output)
    assert len(body(said["ring"])) > 40, output
    assert body(said["stream"]) == body(said["ring"])
    assert said["lanes"] == said["lanes_of_stream"] != ""
    assert "none lost;" in said["stream"] and "; from run.swo" in " ".join(said["stream"].split())


def test_without_a_target_the_stream_tells_the_names(tmp_path: Path) -> None:
    path = file_of(swo(recorded("inversion_itm", tmp_path)), tmp_path)
    command = "rtos-trace diag -swo %s -itm-port 8" % path
    flat = " ".join(gdb(command, program=elf("inversion_itm"), target=False).stdout.split())
    assert "Priority inversion: H (3) waited 9.00" in flat and "held by L (1)" in flat
    assert "FreeRTOS V" in flat
    assert "the stream does not say which program wrote it: taken to be inversion_itm.elf" in flat


def test_without_a_program_it_tells_them_too(tmp_path: Path) -> None:
    path = file_of(swo(recorded("inversion_itm", tmp_path)), tmp_path)
    flat = " ".join(gdb("rtos-trace diag -swo %s -itm-port 8" % path, target=False).stdout.split())
    assert "Priority inversion: H (3) waited 9.00" in flat
    assert "ticks are taken as 1 ms" in flat


def test_lanes_have_a_question_mark_where_packets_were_lost(tmp_path: Path) -> None:
    """From H's wait on: 1 ms to 8 ms."""
    words = recorded("inversion_itm", tmp_path)
    tick = [at for at, (port, word) in enumerate(words) if port == 9 and word & 0x3F == 3]
    path = file_of(swo([*words[: tick[1] + 1], None, *words[tick[7] - 1 :]]), tmp_path)
    output = gdb(
        "set width 80",
        "rtos-trace lanes -swo %s -itm-port 8 -from 0 -to 12 -step 0.25" % path,
        "rtos-trace diag -swo %s -itm-port 8" % path,
        program=elf("inversion_itm"),
        target=False,
    ).stdout
    assert lanes_in(output)[-2] == "?      |        " + "?" * 25 + " " * 15 + "|", output
    flat = " ".join(output.split())
    assert "1. Records lost: at 1 place, 3 records or more; the longest gap is from 2.000 to 8.000." in flat
    assert "Priority inversion" not in flat


@pytest.mark.parametrize("program", ["inversion_itm", "load_itm"])
def test_a_lossy_stream_is_told_as_far_as_it_goes(program: str, tmp_path: Path) -> None:
    words = recorded(program, tmp_path)
    commands = []
    for seed in range(10):
        path = tmp_path / ("%d.swo" % seed)
        path.write_bytes(swo(overflowed(words, seed)))
        commands.append("rtos-trace diag -swo %s -itm-port 8" % path)
    output = gdb(*commands, program=elf(program), target=False).stdout
    assert "Traceback" not in output and "Python Exception" not in output
    assert len(re.findall(r"^\d+\. Records lost: at \d+ place", output, re.MULTILINE)) >= 8
    assert output.count("\nRecords, ") + output.count("\nRecords: ") == 10


def test_an_assertion_on_a_stream(tmp_path: Path) -> None:
    words = recorded("inversion_itm", tmp_path)
    path = file_of(swo(words), tmp_path)
    broken = tmp_path / "broken.swo"
    broken.write_bytes(swo([*words[:40], None, *words[42:]]))
    asked = "rtos-trace assert -swo %s -itm-port 8 "
    holds = gdb(asked % path + "lost = 0", target=False)
    assert (holds.returncode, "asked: = 0" in holds.stdout) == (0, True)
    lost = gdb(asked % broken + "lost = 0", target=False)
    assert lost.returncode == 1
    assert "records are missing at 1 place" in complaint(lost.stdout, "rtos-trace assert")


# ---- What does not fit -----------------------------------------------------------


def test_a_ring_that_is_not_written_says_where_the_records_went() -> None:
    output = gdb(*TO_THE_END, "rtos-trace diag", program=elf("inversion_itm_only")).stdout
    said = complaint(output, "rtos-trace diag")
    assert re.search(r"none of the \d+ records is in the ring", said)
    assert said.endswith("record that, then `rtos-trace diag -swo FILE -itm-port N`")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-swo {file}", "-swo FILE needs -itm-port N: what TRACE_ITM_PORT is in the program"),
        ("-itm-port 8", "-itm-port, -sync and -tpiu go with -swo FILE"),
        ("saved.bin -swo {file} -itm-port 8", "either saved.bin or -swo {file}"),
        ("-swo {file} -itm-port 31", "-itm-port: expected a port of 0 to 30, found '31'"),
        ("-swo {file} -itm-port 3", "{file} holds no records on ports 3 and 4; written to: 0 (2), 8 (1)"),
        ("-swo {file}x -itm-port 8", "{file}x: No such file or directory"),
        ("-swo {file} -itm-port 8 -tpiu 5", "{file}: no TPIU frames"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(options: str, said: str, tmp_path: Path) -> None:
    path = file_of(swo([(0, 65), (0, 66), (8, 1000)]), tmp_path)
    output = gdb("rtos-trace diag " + options.format(file=path), target=False).stdout
    assert complaint(output, "rtos-trace diag").startswith("rtos-trace diag: " + said.format(file=path))


def test_noise_is_no_trace(tmp_path: Path) -> None:
    path = file_of(bytes((at * at * 7 + at // 3) & 0xFF for at in range(4000)), tmp_path)
    output = gdb("rtos-trace diag -swo %s -itm-port 8" % path, target=False).stdout
    assert "Traceback" not in output
    assert complaint(output, "rtos-trace diag") or "Records lost" in output
