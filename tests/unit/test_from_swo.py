"""A capture becomes a profile, or is told to be nonsense (case 4)."""

from __future__ import annotations

import random
from typing import List

import pytest

from gdb_prof.profile.from_swo import nonsense, profile_of
from gdb_prof.profile.shares import ASLEEP
from gdb_prof.profile.source import PROHIBITED
from gdb_prof.swo.capture import read_capture
from swo_streams import SYNC, damaged, pc, received, stream_of

CODE = range(0x08000100, 0x08002000)


def pcs(seed: int) -> List[int]:
    chance = random.Random(seed)
    return [CODE.start + 2 * int(3000 * chance.random() ** 3) for _ in range(4000)]


def judged(raw: bytes) -> str:
    capture = read_capture([raw])
    return nonsense(capture, capture.part(lambda address: address in CODE))


RATIOS = [0.5, 0.66, 0.8, 0.9, 1.1, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 4.0]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("seed", range(4))
def test_a_stream_received_at_another_bit_rate_is_nonsense(ratio: float, seed: int) -> None:
    assert "of its bytes are no packet" in judged(received(stream_of(pcs(seed)), ratio))


@pytest.mark.parametrize("seed", range(20))
def test_a_stream_as_it_was_sent_is_none_even_if_a_hundredth_of_its_bytes_is_damaged(seed: int) -> None:
    sent = stream_of(pcs(seed))
    assert judged(received(sent, 1.0)) == judged(sent) == judged(damaged(sent, 0.01, seed)) == ""


@pytest.mark.parametrize("seed", range(200))
def test_2000_random_bytes_are_nonsense(seed: int) -> None:
    assert judged(random.Random(seed).randbytes(2000))


def test_samples_without_an_address_are_marks_of_their_class() -> None:
    found = profile_of(read_capture([SYNC + pc(0x08000100) + b"\x15\x00\x15\xff"]), None, "a.swo")
    classes = [found.marks.get(address) for address in found.pcs]
    assert classes == [None, ASLEEP, PROHIBITED]
    assert found.taken == 3 and found.source.synchronised and found.source.damaged == 0
