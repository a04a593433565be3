"""Where writing ended, by what is left of the fill pattern: a record's last bytes may be as the pattern is."""

from __future__ import annotations

from typing import List, Tuple

import pytest

from dpu_builder import MODULUS, SIZE, capture, packed
from gdb_prof.counters.dpu.capture import FILL, Capture
from gdb_prof.counters.dpu.decode import Decoded, decode


def ending(last: int, number: int = 6) -> List[Tuple[int, ...]]:
    """B2 comes down to `last`."""
    return [
        (1 + n % 2, MODULUS - 1 - 900 * n, 0, 0, 0, 0, last + 256 * (number - 1 - n)) for n in range(number)
    ]


def filled(stream: bytes, little: bool) -> Capture:
    return capture(stream + bytes([FILL]) * 64, little=little)


def records(decoded: Decoded) -> List[Tuple[int, ...]]:
    return list(zip(*(decoded.records.values(name) for name in decoded.records.layout.names)))


@pytest.mark.parametrize("last", [0xE5, 0xE5E5, 0xE5E5E5, 0x12E5E5E5])
def test_a_last_record_that_ends_as_the_pattern_is_is_not_lost(last: int) -> None:
    written = ending(last)
    decoded = decode(filled(packed(written, little=False), little=False))
    assert records(decoded) == written
    assert decoded.remarks == ("from byte 168 on the fill pattern is left: taken for the end",)


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("words", range(1, 7))
def test_a_record_that_was_not_written_to_its_end_is_not_completed_from_the_pattern(
    words: int, little: bool
) -> None:
    stream = packed(ending(0), little)
    decoded = decode(filled(stream[: -4 * words], little))
    assert decoded.records.number == 5
    assert "the last %d bytes are no whole record: left out" % (SIZE - 4 * words) in decoded.remarks


def test_a_layout_of_bytes_is_taken_as_it_ends() -> None:
    stream = bytes([1, 9, 2, 8, 3, FILL])
    assert decode(filled(stream, True), layout="task:1 A0:1").records.number == 2


def test_words_that_end_as_the_pattern_is_are_not_lost() -> None:
    stream = bytes([0, 0, 0, 1, 0, 0, 0, FILL])
    assert list(decode(filled(stream, False), "direct").records.values("word")) == [1, FILL]
