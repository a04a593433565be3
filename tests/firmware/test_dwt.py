"""The core's own samples, started and stopped by the program: what firmware/prof/dwt.c writes, in
which order, and that all of it is put back.

The registers are a model in firmware/demo/core_samples.c, with an M4's rules: no unit answers
without TRCENA, the ITM is locked and takes a while to stop, and POSTCNT's period stays as it is
while samples are on. What the bits are is held against the reference table.
"""

from __future__ import annotations

import csv
import os
import re
import struct
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Tuple

import pytest

from running import ROOT, SHARED, elf, gdb, symbol

SOURCE = (ROOT / "firmware/prof/dwt.c").read_text(encoding="utf-8")
HEADER = (ROOT / "firmware/prof/dwt.h").read_text(encoding="utf-8")
OK, NO_TRACE, NO_SAMPLES, NO_TPIU, NO_ITM, ITM_BUSY, WRONG = range(7)
DEMCR, TER, TCR, ITM_LAR, CTRL, DWT_LAR = (
    *(0xE000EDFC, 0xE0000E00, 0xE0000E80, 0xE0000FB0),
    *(0xE0001000, 0xE0001FB0),
)
ACPR, SPPR, FFCR, TPIU_LAR = 0xE0040010, 0xE00400F0, 0xE0040304, 0xE0040FB0
TRCENA = 1 << 24
REGISTERS = ["demcr", "ctrl", "ter", "tcr", "sppr", "acpr", "ffcr"]

Write = Tuple[int, int]


class Seen(NamedTuple):
    """`started`, `stopped`: the registers after dwt_start() and after dwt_stop()."""

    result: int
    before: Dict[str, int]
    started: Dict[str, int]
    stopped: Dict[str, int]
    writes: List[Write]
    """By dwt_start() alone."""


def run(folder: Path, *settings: str, program: str = "core_samples_model") -> Seen:
    """`settings`: variables of the program, as `model.tcr = 1`, set before it runs."""
    path = elf(program)
    dumps = []
    for name in ("model", "writes", "writes_n", "result"):
        address, size = symbol(path, name)
        dumps.append((name, address, size))

    def dump(when: str) -> List[str]:
        return [
            "dump binary memory %s 0x%x 0x%x" % (folder / (when + name), address, address + size)
            for name, address, size in dumps
        ]

    output = gdb(
        *("tbreak main", "continue", *("set var " + setting for setting in settings), *dump("before_")),
        *("tbreak started", "continue", *dump("started_")),
        *("tbreak finished", "continue", *dump("stopped_")),
        program=path,
        plugin=False,
    ).stdout
    assert (folder / "stopped_result").exists(), output

    def words(name: str) -> Tuple[int, ...]:
        raw = (folder / name).read_bytes()
        return struct.unpack("<%dI" % (len(raw) // 4), raw.ljust(4, b"\0"))

    def registers(when: str) -> Dict[str, int]:
        return dict(zip(REGISTERS, words(when + "_model")))

    flat, (n,) = words("started_writes"), words("started_writes_n")
    assert 2 * n <= len(flat)
    return Seen(
        (folder / "started_result").read_bytes()[0],
        *(registers("before"), registers("started"), registers("stopped")),
        list(zip(flat[0 : 2 * n : 2], flat[1 : 2 * n : 2])),
    )


# ---- The order, and what is left ---------------------------------------------


def test_it_starts_a_unit_after_the_other_and_the_samples_last(tmp_path: Path) -> None:
    """168 MHz by 2 Mbaud is 84; a sample every 1024 * (15 + 1) cycles."""
    seen = run(tmp_path)
    assert seen.result == OK
    assert seen.writes == [
        (DEMCR, TRCENA),
        (DWT_LAR, 0xC5ACCE55),
        (ITM_LAR, 0xC5ACCE55),
        (TCR, 0),  # off, and then it is waited for
        (SPPR, 2),  # NRZ
        (ACPR, 83),
        (FFCR, 0x100),  # no formatter; TrigIn stays
        (TCR, 0x1000F),  # ID 1, DWTENA, SYNCENA, TSENA, ITMENA
        (CTRL, 0x40000000),  # no samples, no cycle events: now the period may be set
        (CTRL, 0x400007FF),  # SYNCTAP 1, CYCTAP, POSTINIT and POSTPRESET 15, CYCCNTENA
        (CTRL, 0x400017FF),  # PCSAMPLENA
    ]
    assert seen.started["ctrl"] == 0x400017FF


def test_the_options_reach_their_bits(tmp_path: Path) -> None:
    """-DDWT_EXCEPTIONS=1 -DDWT_TIMESTAMPS=16 -DDWT_SYNC=2 -DDWT_PORTS=0x300u"""
    seen = run(tmp_path, "tap = 64", "postcnt = 4", "model.ter = 1", program="core_samples_all")
    assert seen.result == OK
    assert seen.started["ctrl"] == 0x40000000 | 1 << 16 | 1 << 12 | 2 << 10 | 4 << 5 | 4 << 1 | 1
    assert seen.started["tcr"] == 1 << 16 | 2 << 8 | 0xF
    assert seen.started["ter"] == 0x301
    assert seen.stopped["ter"] == 1


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param([], id="nothing was on"),
        pytest.param(["model.demcr = 0x01000000", "model.ctrl = 0x40000001"], id="the cycle counter was"),
        pytest.param(
            [
                "model.demcr = 0x010007f1",
                "model.is_locked = 0",
                "model.tcr = 0x00050c19",
                "model.ter = 0x80000001",
            ]
            + ["model.ctrl = 0x40421a41", "model.sppr = 2", "model.acpr = 7", "model.ffcr = 0x100"],
            id="a debugger traced",
        ),
    ],
)
def test_stop_puts_back_what_was_there(settings: List[str], tmp_path: Path) -> None:
    seen = run(tmp_path, *settings)
    assert seen.result == OK
    assert seen.started["ctrl"] & 0x1FFF == 0x17FF
    assert seen.stopped == seen.before


def test_the_period_is_set_though_samples_were_on(tmp_path: Path) -> None:
    """POSTCNT takes no other period while PCSAMPLENA or CYCEVTENA is set."""
    on = ["model.demcr = 0x01000000", "model.ctrl = 0x40401001"]
    seen = run(tmp_path, *on, "tap = 64", "postcnt = 3")
    assert seen.result == OK
    assert seen.started["ctrl"] == 0x40000000 | 1 << 12 | 1 << 10 | 3 << 5 | 3 << 1 | 1
    assert seen.stopped == seen.before


def test_a_trace_id_that_is_set_is_kept(tmp_path: Path) -> None:
    seen = run(tmp_path, "model.tcr = 0x00230000")
    assert seen.started["tcr"] >> 16 & 0x7F == 0x23


def test_the_lock_of_the_trace_port_is_never_written(tmp_path: Path) -> None:
    assert TPIU_LAR not in [address for address, _ in run(tmp_path).writes]


# ---- What does not answer ----------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "result", "written"),
    [
        pytest.param(["model.deaf = 0x01000000"], NO_TRACE, {DEMCR}, id="as in QEMU"),
        pytest.param(["model.ctrl = 0"], NO_TRACE, {DEMCR}, id="no DWT"),
        pytest.param(["model.ctrl = 0x48000000"], NO_SAMPLES, {DEMCR}, id="NOTRCPKT"),
        pytest.param(["model.ctrl = 0x42000000"], NO_SAMPLES, {DEMCR}, id="NOCYCCNT"),
        pytest.param(["postcnt = 16"], WRONG, set(), id="POSTCNT has four bits"),
        pytest.param(["tap = 128"], WRONG, set(), id="no such tap"),
        pytest.param(["baud = 0"], WRONG, set(), id="no bit rate"),
        pytest.param(["baud = 2000"], WRONG, set(), id="divided by 84,000"),
    ],
)
def test_what_cannot_sample_is_left_alone(
    settings: Sequence[str], result: int, written: "set[int]", tmp_path: Path
) -> None:
    seen = run(tmp_path, *settings)
    assert seen.result == result
    assert {address for address, _ in seen.writes} == written
    assert seen.started == seen.before


@pytest.mark.parametrize(
    ("settings", "result"),
    [
        pytest.param(["model.has_port = 0"], NO_TPIU, id="another place"),
        pytest.param(["baud = 10000"], NO_TPIU, id="16,800 is more than its 13 bits"),
        pytest.param(["model.deaf = 1 << 3"], NO_ITM, id="DWTENA stays 0"),
        pytest.param(
            ["model.busy_reads = 100000", "model.tcr = 1", "model.is_locked = 0"], ITM_BUSY, id="busy"
        ),
        pytest.param(["model.deaf = 1 << 12"], NO_SAMPLES, id="PCSAMPLENA stays 0"),
    ],
)
def test_the_unit_that_does_not_take_its_value_is_named_and_all_is_put_back(
    settings: Sequence[str], result: int, tmp_path: Path
) -> None:
    seen = run(tmp_path, *settings)
    assert seen.result == result
    assert seen.started == seen.before


@pytest.mark.parametrize("board", ["netduinoplus2", "netduino2", "mps2-an385", "mps2-an505", "microbit"])
def test_qemu_has_no_trace_hardware(board: str) -> None:
    output = gdb(
        *("tbreak started", "continue", "print result", "tbreak finished", "continue"),
        program=elf("core_samples", board),
        board=board,
        plugin=False,
    ).stdout
    assert re.search(r"^\$1 = DWT_NO_TRACE$", output, re.MULTILINE), output
    assert re.search(r"^Temporary breakpoint 2, .*finished", output, re.MULTILINE), output


# ---- The bits ----------------------------------------------------------------

TABLE = SHARED / "reference" / "cortexm_registers.csv"
HAVE_ITM = ["Cortex-M3", "Cortex-M4", "Cortex-M7", "Cortex-M33", "Cortex-M55"]
FIELD = re.compile(r"^FIELD\((\w+), (\w+), (\w+), (\d+), (\d+), (0x[0-9A-F]{8})\);", re.MULTILINE)
ELSEWHERE = {"Cortex-M55": {("TPIU", "FFCR", "EnFCont")}}
"""An M55's manual has one field of two bits there, EnFmt."""


def reference() -> List[Dict[str, str]]:
    """As shared_data.py: without it the test is skipped, in CI it fails."""
    if not TABLE.exists():
        give_up = pytest.fail if os.environ.get("GDB_PROF_CI") else pytest.skip
        give_up("no reference: %s does not exist" % TABLE)
    with open(TABLE, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("core", HAVE_ITM)
def test_every_field_is_where_the_reference_has_it(core: str) -> None:
    known = {
        (row["block"], row["register"], row["field"]): (int(row["msb"]), int(row["lsb"]), row["mask"])
        for row in reference()
        if row["core"] == core and row["field"]
    }
    fields = FIELD.findall(SOURCE)
    assert len(fields) == SOURCE.count("\nFIELD(")
    for unit, register, name, high, low, mask in fields:
        if (unit, register, name) not in ELSEWHERE.get(core, ()):
            assert known[unit, register, name] == (int(high), int(low), mask)


@pytest.mark.parametrize("core", HAVE_ITM)
def test_every_register_is_where_the_reference_has_it(core: str) -> None:
    known = {
        (row["block"], row["register"]): int(row["address"], 16)
        for row in reference()
        if row["core"] == core and row["address"]
    }
    bases = {unit: int(base, 16) for unit, base in re.findall(r"define DWT_(\w+)_BASE (0x\w+)u", HEADER)}
    offsets = re.findall(r"^    (DWT|ITM|TPIU)_(\w+) = (0x\w+),", SOURCE, re.MULTILINE)
    assert len(offsets) == 8
    for unit, register, offset in offsets:
        if register != "LAR":  # M7's DWT has one, M33's header leaves both out
            assert known[unit, register] == bases[unit] + int(offset, 16)
    (demcr,) = re.findall(r"define DWT_DEMCR (0x\w+)u", HEADER)
    assert known["CoreDebug", "DEMCR"] == int(demcr, 16)


@pytest.mark.parametrize(("core", "unit"), [("Cortex-M3", "ITM"), ("Cortex-M4", "ITM"), ("Cortex-M7", "DWT")])
def test_a_lock_is_where_the_reference_has_it(core: str, unit: str) -> None:
    (address,) = {
        int(row["address"], 16)
        for row in reference()
        if (row["core"], row["block"], row["register"]) == (core, unit, "LAR") and row["address"]
    }
    assert address == {"ITM": ITM_LAR, "DWT": DWT_LAR}[unit]


def test_the_results_are_in_the_headers_order() -> None:
    body = HEADER.split("enum dwt_result {")[1].split("};")[0]
    names = re.findall(r"^    DWT_(\w+)", body, re.MULTILINE)
    assert names == ["OK", "NO_TRACE", "NO_SAMPLES", "NO_TPIU", "NO_ITM", "ITM_BUSY", "WRONG"]
