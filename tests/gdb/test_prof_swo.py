"""`prof swo`: a recorded stream becomes a profile, or is refused; what else is in it is shown."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path
from typing import Dict, Iterator, List

import pytest

from gdb_prof.profile.saved import savefile
from mi import Mi, session, streamed
from running import complaint, elf, gdb, rows
from shared_data import shared_data
from swo_streams import (
    ENTER,
    EXIT,
    OVERFLOW,
    RETURN,
    SYNC,
    exception,
    framed,
    pc,
    stimulus,
    stream_of,
    ticks,
)

LOOPS = elf("three_loops")


def swo(*commands: str, program: Path = LOOPS) -> str:
    """GDB with the program's file and no target."""
    return gdb(*commands, program=program, target=False).stdout


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10,000 samples that the sampler took in a real run, saved."""
    path = tmp_path_factory.mktemp("ring") / "ring.prof"
    output = gdb("prof record -period 2013 -samples 10000", "prof save %s" % path, program=LOOPS).stdout
    assert "10,000 samples saved" in output, output
    return path


@pytest.fixture(scope="module")
def stream(ring: Path) -> Path:
    """The same samples as a core would send them over SWO, among all else that it sends."""
    pcs = savefile.loads(ring.read_bytes(), "ring.prof").pcs
    path = ring.with_name("ring.swo")
    path.write_bytes(stream_of(pcs))
    assert path.stat().st_size == 54_887
    return path


def saved(tmp_path: Path, raw: bytes) -> Path:
    path = tmp_path / "stream.swo"
    path.write_bytes(raw)
    return path


def test_the_profile_of_the_stream_is_that_of_the_ring(ring: Path, stream: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.prof"
    output = swo("prof swo %s" % stream, "prof save %s" % again)
    of_stream = rows(output)
    of_ring = rows(swo("prof load %s" % ring, "prof dump"))
    assert of_stream == of_ring and sum(of_stream.values()) == 10_000
    assert "10,250 samples by DWT over SWO, at an unknown period; from ring.swo" in output
    assert "250 asleep" in output
    pcs = savefile.loads(again.read_bytes(), "again").pcs
    assert [p for p in pcs if not p & 1] == list(savefile.loads(ring.read_bytes(), "ring").pcs)


def test_a_real_capture_gives_its_published_profile() -> None:
    folder = shared_data("sigrok_stm32f105/trace_example.elf").parent
    expected: Dict[str, int] = {}
    for line in (folder / "expected_profile.txt").read_text().splitlines():
        match = re.match(r" *(\d+) +[\d.]+% (\w+)$", line)
        if match:
            expected[match.group(2)] = int(match.group(1))
    output = swo("prof swo %s" % (folder / "stream1_itm.bin"), program=folder / "trace_example.elf")
    assert rows(output) == expected and sum(expected.values()) == 393
    assert "! lost samples: 14 overflows in the trace" in output
    assert "- not synchronised" in output


def test_the_text_of_a_real_capture() -> None:
    raw = shared_data("sigrok_stm32f105/stream1_itm.bin")
    with open(raw.with_name("expected_events.csv"), encoding="ascii", newline="") as file:
        events = [row for row in csv.DictReader(file) if row["kind"] == "stimulus" and row["a"] == "0"]
    text = "".join(chr(int(row["c"], 16)) for row in events)
    assert text.startswith("OnOffOn")
    assert swo("prof swo -text 0 %s" % raw).splitlines()[-1] == text


def test_saved_and_loaded_it_says_the_same(stream: Path, tmp_path: Path) -> None:
    path = tmp_path / "swo.prof"
    dump = "prof swo %s -period 16384 -clock 168000000" % stream
    first = swo(dump, "prof save %s" % path)
    again = swo("prof load %s" % path, "prof dump")
    kept = [line for line in again.splitlines() if not line.startswith("prof: ")]
    assert "one per 16,384 cycles (97,524 ns)" in first
    assert [line.replace("swo.prof", "ring.swo") for line in kept] == [
        line for line in first.splitlines() if not line.startswith("prof: ")
    ]


@pytest.mark.parametrize("seed", range(8))
def test_noise_is_refused_and_ends_a_batch_with_an_error(seed: int, tmp_path: Path) -> None:
    path = saved(tmp_path, random.Random(seed).randbytes(2000))
    run = gdb("prof swo %s" % path, program=LOOPS, target=False)
    line = complaint(run.stdout, "prof swo")
    assert re.fullmatch(
        r"prof swo: \S+/stream.swo looks wrong: [\d.]+ % of its bytes are no packet"
        r"(, and [\d.]+ % of its PC samples are outside the program)?: "
        r"is the bit rate or the core's clock another one\?",
        line,
    ), line
    assert "%  " not in run.stdout and run.returncode == 1


def test_frames_are_recognised_and_a_bare_stream_is_no_frames(stream: Path, tmp_path: Path) -> None:
    path = saved(tmp_path, framed([(2, bytes(range(1, 60))), (1, stream.read_bytes()[:20_000])]))
    plain, named = (swo("prof swo %s%s" % (path, more)) for more in ("", " -tpiu 1"))
    assert rows(plain) == rows(named) and sum(rows(plain).values()) > 3000
    assert "! in TPIU frames: of trace ID 1" in plain
    assert complaint(swo("prof swo %s -tpiu auto" % stream), "prof swo").startswith(
        "prof swo: no TPIU frames: "
    )
    assert complaint(swo("prof swo %s -tpiu 5" % path), "prof swo") == (
        "prof swo: no data with trace ID 5 in the TPIU frames; IDs found: 1, 2"
    )


def test_lost_samples_are_estimated_from_timestamps(tmp_path: Path) -> None:
    sample = pc(0x08000218)
    raw = SYNC + (sample + ticks(100)) * 500 + OVERFLOW + ticks(5100) + (sample + ticks(100)) * 500
    output = swo("prof swo %s" % saved(tmp_path, raw))
    assert "! lost samples: 1 overflow in the trace, about 51 samples lost (4.85 %)" in output


def test_what_is_asleep_prohibited_or_no_code_is_a_class_of_its_own(tmp_path: Path) -> None:
    start = 0x08000200
    raw = (
        SYNC + pc(start) * 50 + b"\x15\x00" * 30 + b"\x15\xff" * 10 + pc(0xFFFFFFFF) * 5 + pc(0x20000100) * 5
    )
    output = swo("prof swo %s" % saved(tmp_path, raw))
    assert re.search(
        r"100.00 % +100  50 in code, 30 asleep, 5 outside code, 10 sampling prohibited, 5 unreadable", output
    )


def test_what_such_samples_do_not_carry_is_not_asked_of_the_build(stream: Path) -> None:
    output = swo("prof swo %s" % stream, "prof dump -by task", "prof callers hot_a")
    assert complaint(output, "prof dump") == "prof dump: samples by DWT over SWO carry no task"
    assert complaint(output, "prof callers") == (
        "prof callers: the samples carry no LR: `prof start -source halt -backtrace`"
    )


def test_text_of_a_port_reaches_no_terminal_raw(tmp_path: Path) -> None:
    raw = (
        b"".join(stimulus(1, byte) for byte in b"a\x1b[31m\n")
        + stimulus(1, 0x64636261, 4)
        + stimulus(0, 0x21)
    )
    path = saved(tmp_path, raw)
    assert swo("prof swo -text 1 %s" % path).splitlines()[-2:] == ["a\\x1b[31m", "abcd"]
    assert complaint(swo("prof swo -text 3 %s" % path), "prof swo") == (
        "prof swo: nothing was written to port 3: there are ports 0, 1"
    )


def test_exceptions_have_their_times_with_and_without_those_that_interrupted_them(tmp_path: Path) -> None:
    one = exception(16, ENTER) + ticks(10) + exception(17, ENTER) + ticks(20)
    one += exception(17, EXIT) + exception(16, RETURN) + ticks(30)
    raw = SYNC + ticks(5) + (one + exception(16, EXIT) + ticks(40)) * 3
    table = swo("prof swo -exceptions %s" % saved(tmp_path, raw))
    assert re.search(r"^IRQ 0 +3 +3 +90 +90 +90 +60 +60 +60$", table, re.MULTILINE), table
    assert re.search(r"^IRQ 1 +3 +3 +30 +30 +30 +30 +30 +30$", table, re.MULTILINE), table


def test_events_are_listed_from_an_offset_on(stream: Path) -> None:
    lines = swo("prof swo -events -rows 3 %s" % stream).splitlines()
    assert [line[:8] for line in lines[-4:-1]] == ["0x000000", "0x000006", "0x000007"]
    assert lines[-4].endswith("sync") and lines[-3].endswith("! overflow: packets were lost here")
    assert lines[-1] == "(more: -from 0xc)"
    assert swo("prof swo -events -rows 1 -from 0x7 %s" % stream).splitlines()[-2].startswith("0x000007")


@pytest.mark.parametrize(
    "typed, expected",
    [
        ("/no/such", "/no/such: No such file or directory"),
        ("-text 0 /no/such", "/no/such: No such file or directory"),
        ("-exceptions /no/such", "/no/such: No such file or directory"),
        ("EMPTY", "EMPTY is empty"),
        (".", ". is no regular file: record the stream to one first"),
        ("-sync NOTHING", "NOTHING has no synchronisation packet: leave out -sync"),
        ("-rows 5 NOTHING", "-from and -rows go with -events"),
        ("-text 0 -by line NOTHING", "-by goes with the profile"),
        ("-tpiu 200 EMPTY", "-tpiu: expected auto or an ID of 1 to 111, found '200'"),
        ("-text 300 EMPTY", "-text: expected 0 to 255, found '300'"),
        ("NOTHING", "NOTHING holds no PC samples: 200 bytes with 100 stimulus packets"),
        ("-exceptions NOTHING", "NOTHING holds no exception packets: `prof start -source swo -exceptions`"),
    ],
)
def test_wrong_use_is_answered_in_one_line(typed: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "EMPTY").write_bytes(b"")
    (tmp_path / "NOTHING").write_bytes(stimulus(0, 0x41) * 100)
    run = gdb("prof swo %s" % typed, program=LOOPS, target=False, cwd=tmp_path)
    assert complaint(run.stdout, "prof swo") == "prof swo: " + expected
    assert run.returncode == 1


@pytest.fixture(scope="module", params=["mi2", "mi3"])
def mi(request: pytest.FixtureRequest) -> Iterator[Mi]:
    yield from session(request.param, "three_loops")


def test_a_front_end_gets_the_report_as_console_records(mi: Mi, stream: Path) -> None:
    records = mi.console("prof swo %s" % stream)
    assert records[-1] == "^done"
    assert rows(streamed(records))["hot_a"] > 6500


def test_help_and_reports_fit_80_columns(stream: Path) -> None:
    output = swo(
        "set width 80",
        "help prof swo",
        "prof swo %s" % stream,
        "prof check",
        "prof swo -exceptions %s" % stream,
    )
    lines: List[str] = [line for line in output.splitlines() if str(stream) not in line]
    assert max(map(len, lines)) <= 80, max(lines, key=len)
