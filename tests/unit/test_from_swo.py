"""A capture becomes a profile, or is told to be nonsense (case 4)."""

from __future__ import annotations

import random
from typing import List

import pytest

from gdb_prof.errors import FileError
from gdb_prof.profile.from_swo import profile_of, timing
from gdb_prof.profile.saved.savefile import dumps, loads
from gdb_prof.profile.shares import ASLEEP
from gdb_prof.profile.source import PROHIBITED, SWO, Source
from gdb_prof.swo.capture import read_capture
from swo_streams import OVERFLOW, SYNC, damaged, pc, received, stream_of, ticks

CODE = range(0x08000100, 0x08002000)


def pcs(seed: int) -> List[int]:
    chance = random.Random(seed)
    return [CODE.start + 2 * int(3000 * chance.random() ** 3) for _ in range(4000)]


def judged(raw: bytes) -> str:
    """Why it is refused; empty where it is not."""
    try:
        profile_of(read_capture([raw]), timing(None, None), "a.swo", lambda address: address in CODE)
    except FileError as error:
        return str(error)
    return ""


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
    found = profile_of(
        read_capture([SYNC + pc(0x08000100) + b"\x15\x00\x15\xff"]), timing(None, None), "a.swo"
    )
    classes = [found.marks.get(address) for address in found.pcs]
    assert classes == [None, ASLEEP, PROHIBITED]
    assert found.taken == 3 and found.source.synchronised and found.source.damaged == 0


TIMED = (pc(0x08000100) + ticks(100)) * 20


@pytest.mark.parametrize(
    ("raw", "overflows", "unbounded", "lost", "timestamps"),
    [
        (pc(0x08000100), 0, 0, 0, False),
        (TIMED, 0, 0, 0, True),
        (pc(0x08000100) + OVERFLOW, 1, 1, None, False),
        (OVERFLOW + TIMED, 1, 1, None, True),
        (ticks(100) + (OVERFLOW + pc(0x08000100) + ticks(100)) * 3, 3, 0, None, True),
        (OVERFLOW + TIMED + OVERFLOW + ticks(500) + TIMED, 2, 1, 5, True),
    ],
)
def test_what_overflow_cost_is_told_saved_and_loaded(
    raw: bytes, overflows: int, unbounded: int, lost: "int | None", timestamps: bool
) -> None:
    found = profile_of(read_capture([SYNC + raw]), timing(None, None), "a.swo")
    assert found.source == Source(
        SWO, overflows=overflows, unbounded=unbounded, lost=lost, timestamps=timestamps
    )
    assert loads(dumps(found), "a.prof").source == found.source


def test_a_file_of_before_does_not_say_whether_there_were_timestamps() -> None:
    raw = dumps(profile_of(read_capture([SYNC + TIMED]), timing(None, None), "a.swo"))
    before = raw.replace(b'"unbounded":0,"timestamps":true,', b"")
    assert len(before) < len(raw)
    loaded = loads(before, "a.prof").source
    assert (loaded.lost, loaded.unbounded, loaded.timestamps) == (0, 0, None)
