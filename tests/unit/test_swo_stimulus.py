"""What a program wrote to a stimulus port: text, safe for a terminal, and words with their gaps."""

from __future__ import annotations

from typing import List

import pytest

from gdb_prof.swo import stimulus
from gdb_prof.swo.stimulus import Word, words
from gdb_prof.swo.timeline import placed
from swo_streams import OVERFLOW, SYNC, ticks
from swo_streams import stimulus as packet


def written(port: int, raw: bytes, size: int = 1) -> bytes:
    parts = [raw[at : at + size].ljust(size, b"\0") for at in range(0, len(raw), size)]
    return b"".join(packet(port, int.from_bytes(part, "little"), size) for part in parts)


def text(raw: bytes, port: int = 0) -> str:
    return stimulus.text([raw], port)


def test_text_in_packets_of_one_two_and_four_bytes() -> None:  # case 7
    raw = bytes.fromhex("0b 57 41 52 4e 02 48 69 03 0a 00 00 00 01 21")
    assert text(raw, 1) == "WARN\n"
    assert text(raw, 0) == "Hi\n!\n"
    assert text(raw, 2) == ""


@pytest.mark.parametrize("size", [1, 2, 4])
def test_text_does_not_depend_on_the_packets_size(size: int) -> None:
    assert text(written(0, b"hello\nworld\n", size)) == "hello\nworld\n"


def test_text_keeps_ports_apart_and_other_packets_out() -> None:
    raw = written(0, b"a") + ticks(300) + written(1, b"x") + OVERFLOW + SYNC + written(0, b"b")
    assert (text(raw, 0), text(raw, 1)) == ("ab\n", "x\n")


def test_text_of_a_port_above_31() -> None:
    assert text(b"\x18" + written(0, b"page one"), 32) == "page one\n"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m\n"),
        (b"bell\x07", "bell\\x07\n"),
        (b"line\r\nend\r\n", "line\nend\n"),
        (b"over\rwrite", "over\\x0dwrite\n"),
        ("°C é".encode(), "°C é\n"),
        (b"\xff\xfe", "\\xff\\xfe\n"),
        (b"\n\n", "\n\n"),
        (b"\0\0\0", ""),
        (b"a" * 1000, "a" * 1000 + "\n"),
    ],
)
def test_no_control_character_reaches_the_terminal(raw: bytes, shown: str) -> None:
    assert text(written(0, raw)) == shown


def test_raw_bytes_keep_their_nuls() -> None:
    assert stimulus.raw(placed([written(0, b"ab\0c", 4)]), 0) == b"ab\0c"


def word_list(raw: bytes) -> List[Word]:
    return list(words(placed([raw]), (3, 4)))


GAP = None


def test_words_of_two_ports_come_in_the_streams_order() -> None:
    raw = packet(3, 1, 4) + packet(4, 2, 4) + packet(3, 0xFFFFFFFF, 4)
    assert word_list(raw) == [(3, 1), (4, 2), (3, 0xFFFFFFFF)]


def test_other_ports_and_packets_between_them_do_not_matter() -> None:
    raw = packet(3, 1, 4) + packet(5, 9, 4) + ticks(7) + SYNC + packet(4, 2, 4)
    assert word_list(raw) == [(3, 1), (4, 2)]


@pytest.mark.parametrize(
    "between",
    [
        OVERFLOW,
        OVERFLOW * 3,
        b"\x80",  # a reserved header
        b"\x17\0" + SYNC,  # a packet that is cut
        packet(3, 1, 1),  # no word
        OVERFLOW + packet(9, 1) + OVERFLOW,
    ],
)
def test_where_packets_may_be_missing_there_is_one_gap(between: bytes) -> None:
    assert word_list(packet(3, 1, 4) + between + packet(4, 2, 4)) == [(3, 1), GAP, (4, 2)]
