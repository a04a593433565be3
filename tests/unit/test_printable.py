"""Names out of a target's RAM, as they may be shown (case 43)."""

from __future__ import annotations

import pytest

from gdb_prof.printable import MAXIMUM, from_array, printable


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"IDLE\0\0\0\0", "IDLE"),
        (b"Tmr\0", "Tmr"),
        (b"Sensor_read_task", "Sensor_read_task"),  # 16 bytes, no NUL
        (b"a_name_of_thirty-two_characters_", "a_name_of_thirty-two_characters_"),
        (b"old\0er name left behind", "old"),
        (bytes.fromhex("c328") + b"ok\0", "\\xc3(ok"),
        (b"\xff" * 16, "\\xff" * 16),
        (bytes(16), ""),
        (b"", ""),
        (bytes.fromhex("410a1b5b33316d00"), "A\\x0a\\x1b[31m"),
        ("Größe".encode(), "Größe"),
        ("\u202egnp".encode(), "\\xe2\\x80\\xaegnp"),  # would turn the line around
        (b"\x7f\xc2\x9b", "\\x7f\\xc2\\x9b"),  # DEL, and a CSI of one character
    ],
)
def test_a_name_stops_at_its_nul_and_bad_bytes_are_seen(raw: bytes, shown: str) -> None:
    assert from_array(raw) == shown


def test_text_is_cut_where_nobody_reads_on() -> None:
    assert printable("x" * MAXIMUM) == "x" * MAXIMUM
    assert printable("x" * (MAXIMUM + 1)) == "x" * MAXIMUM + "…"
    assert printable("\x1b" * 3, maximum=2) == "\\x1b\\x1b…"


def test_half_a_surrogate_pair_is_shown_as_bytes() -> None:
    assert printable("a\ud800b\udcff") == "a\\xed\\xa0\\x80b\\xff"
