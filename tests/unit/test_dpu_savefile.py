"""A trace buffer as a file: what is saved is what is loaded, and what is damaged is named."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpu_builder import COUNTED, LAYOUTS, START, capture, packed, ring, rows
from gdb_prof.counters.dpu.capture import Capture
from gdb_prof.counters.dpu.decode import decode
from gdb_prof.counters.dpu.savefile import dumps, loads
from gdb_prof.counters.dpu.tasks import analysed
from gdb_prof.counters.dpu.tasks_text import View, report
from gdb_prof.errors import FileError, GdbProfError

RECORDS = rows([(n % 3, 100 + n, n) for n in range(60)])
RAW, OFFSET = ring(packed(RECORDS), 1024)
SAVED = dataclasses.replace(
    capture(RAW, OFFSET, True, "DP_SR.WRAP = 1"),
    filled=True,
    task_id="outgoing",
    rests=("unverified (an article): DP_TC",),
    rests_by={what: ("unverified: " + what,) for what in ("task", "sample", "direct", "task_id")},
    remarks=("something is under way",),
    mixed=True,
)
PLAIN = Capture(b"", layouts=LAYOUTS)
FILE = dumps(SAVED)
VIEW = View(80, 20, 20)


def shown(raw: bytes) -> str:
    decoded = decode(loads(raw, PLAIN))
    return report(analysed(decoded, decoded.capture.counters), VIEW)


def test_it_is_what_it_was() -> None:
    assert loads(FILE, PLAIN) == SAVED


def test_the_bytes_come_first_as_they_lay() -> None:
    assert FILE[: len(RAW)] == RAW


def test_without_a_trailer_it_is_the_bytes_and_what_is_known_besides() -> None:
    assert loads(RAW, PLAIN) == dataclasses.replace(PLAIN, raw=RAW)


def test_a_dump_that_ends_like_the_beginning_of_a_trailer_is_whole() -> None:
    raw = RAW[:26] + b'{"'
    assert loads(raw, PLAIN).raw == raw


def test_an_empty_file_is_none() -> None:
    with pytest.raises(FileError, match="the file is empty"):
        loads(b"", PLAIN)


def test_a_file_that_was_changed_is_loaded_and_named() -> None:
    raw = bytearray(FILE)
    raw[40] ^= 1
    loaded = loads(bytes(raw), PLAIN)
    assert loaded.pointer == START + OFFSET
    assert "the file's checksum is wrong: it was changed or damaged" in loaded.remarks


def test_a_hole_in_the_bytes_is_named_and_nothing_is_turned() -> None:
    loaded = loads(FILE[: len(RAW) - 256] + FILE[len(RAW) :], PLAIN)
    assert "the file has 768 of the buffer's 1024 bytes" in loaded.remarks
    assert loaded.pointer is None and loaded.counters == COUNTED


def test_every_cut_is_the_bytes_that_are_left_or_says_what_is_missing() -> None:
    for cut in range(1, len(FILE)):
        loaded = loads(FILE[:cut], PLAIN)
        known = cut >= len(RAW) + 16  # the trailer's beginning: less of it might be the buffer's bytes
        assert loaded.raw == (RAW if known else FILE[:cut])
        if known:
            assert any("trailer" in remark for remark in loaded.remarks), cut
        assert cut % 9 or shown(FILE[:cut])


@given(st.integers(len(RAW), len(FILE) - 1), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_any_byte_of_the_trailer_may_be_wrong(at: int, change: int) -> None:
    raw = bytearray(FILE)
    raw[at] ^= change
    loaded = loads(bytes(raw), PLAIN)
    assert loaded.raw[: len(RAW)] == RAW[: len(loaded.raw)]
    if loaded != SAVED and loaded.raw == RAW:
        assert any("trailer" in remark or "checksum" in remark for remark in loaded.remarks)


@given(st.binary(min_size=1, max_size=300))
@settings(max_examples=300, deadline=None)
def test_arbitrary_bytes_load(raw: bytes) -> None:
    assert loads(raw, PLAIN).raw == raw[: len(loads(raw, PLAIN).raw)]


@given(
    st.sampled_from(
        ["start", "pointer", "wrapped", "mode", "record", "layouts", "counters", "rests_on", "rests_by"]
        + ["size", "remarks", "filled", "task_id", "byte_order"]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda c: st.lists(c, max_size=3)
    ),
)
@settings(max_examples=400, deadline=None)
def test_arbitrary_values_in_the_trailer_are_an_error_of_ours_or_named(name: str, value: object) -> None:
    raw = forged(name, value)
    with contextlib.suppress(GdbProfError):
        shown(raw)


def forged(name: str, value: object) -> bytes:
    """The file with another value in its trailer, checksum and all."""
    text = FILE[len(RAW) : -16]
    meta = {**json.loads(text), name: value}
    forged = json.dumps(meta, sort_keys=True).encode("ascii")
    return RAW + forged + struct.pack("<II8s", len(forged), zlib.crc32(RAW + forged), b"DPUvtb01")


def test_text_of_the_trailer_is_made_safe_for_a_terminal() -> None:
    assert "\x1b" not in shown(forged("remarks", ["\x1b[2J"]))
    assert "\\x1b[2J" in shown(forged("remarks", ["\x1b[2J"]))
