"""The simulated debug port: what the wire carries does not depend on how it is cut."""

from __future__ import annotations

import random
from typing import List, Tuple

import pytest

from debug_port import IDCODE, BusError, DebugPort, Tap

DPACC, APACC, IDCODE_INSTRUCTION = 0xA, 0xB, 0xE
CONTROL, SELECT, BUFFER = 0x4, 0x8, 0xC
STATUS, ADDRESS, DATA = 0x0, 0x4, 0xC
WORDS, INCREMENT, STICKY_ERROR = 2, 0x10, 1 << 5


class Ram:
    """1 KiB at 0x20000000."""

    def __init__(self) -> None:
        self.content = bytearray(1024)

    def read(self, address: int, size: int) -> int:
        return int.from_bytes(self.content[self._at(address) :][:size], "little")

    def write(self, address: int, value: int, size: int) -> None:
        at = self._at(address)
        self.content[at : at + size] = value.to_bytes(size, "little")

    def _at(self, address: int) -> int:
        if not 0x20000000 <= address < 0x20000400:
            raise BusError
        return address - 0x20000000


def bits(modes: str, value: int = 0, reads: bool = False) -> bytes:
    """TCK pulses with these TMS, and TDI from `value`, the lowest bit first."""
    read = b"R" if reads else b""
    pins = [int(mode) << 1 | value >> n & 1 for n, mode in enumerate(modes)]
    return b"".join(b"%d%s%d" % (pin, read, pin | 4) for pin in pins)


def scan(length: int, value: int) -> bytes:
    """From Run-Test/Idle through Shift-DR and back."""
    return bits("100") + bits("0" * (length - 1) + "1", value, reads=True) + bits("10")


def instruction(value: int) -> bytes:
    return bits("1100") + bits("0001", value) + bits("10")


def access(register: int, value: int = 0, reads: bool = False) -> bytes:
    return scan(35, value << 3 | register >> 1 | reads)


RESET = bits("111110")


def read_back(tap: Tap) -> int:
    """What the access before has read."""
    answer = tap.feed(instruction(DPACC) + access(BUFFER, reads=True) + access(BUFFER, reads=True))
    return int(answer[-35:][::-1], 2) >> 3


def test_the_identification_comes_out_after_a_reset() -> None:
    answer = Tap(DebugPort(Ram())).feed(RESET + scan(32, 0))
    assert int(answer[::-1], 2) == IDCODE


def test_words_are_written_and_read_at_increasing_addresses() -> None:
    ram = Ram()
    tap = Tap(DebugPort(ram))
    status, address = access(STATUS, WORDS | INCREMENT), access(ADDRESS, 0x20000010)
    tap.feed(RESET + instruction(APACC) + status + address)
    tap.feed(access(DATA, 0x11223344) + access(DATA, 0xCAFEF00D))
    assert ram.content[0x10:0x18].hex() == "44332211" + "0df0feca"
    tap.feed(address + access(DATA, reads=True) + access(DATA, reads=True))
    assert read_back(tap) == 0xCAFEF00D


@pytest.mark.parametrize("size, lane, expected", [(0, 1, 0x22), (0, 3, 0x44), (1, 2, 0x4433)])
def test_bytes_and_halfwords_are_in_their_lanes(size: int, lane: int, expected: int) -> None:
    ram = Ram()
    ram.content[:4] = bytes.fromhex("11223344")
    tap = Tap(DebugPort(ram))
    tap.feed(RESET + instruction(APACC) + access(STATUS, size) + access(ADDRESS, 0x20000000 + lane))
    tap.feed(access(DATA, reads=True))
    assert read_back(tap) >> 8 * lane == expected


def test_an_error_stays_until_it_is_cleared() -> None:
    ram = Ram()
    tap = Tap(DebugPort(ram))
    tap.feed(RESET + instruction(APACC) + access(STATUS, WORDS) + access(ADDRESS, 0x90000000))
    tap.feed(access(DATA, 5) + access(ADDRESS, 0x20000000) + access(DATA, 7))
    assert not any(ram.content)
    assert control(tap) & STICKY_ERROR
    tap.feed(instruction(DPACC) + access(CONTROL, STICKY_ERROR))
    assert not control(tap) & STICKY_ERROR


def control(tap: Tap) -> int:
    answer = tap.feed(instruction(DPACC) + access(CONTROL, reads=True) + access(BUFFER, reads=True))
    return int(answer[-35:][::-1], 2) >> 3


def wire(seed: int) -> Tuple[bytes, List[int]]:
    """A session of random accesses, and random places to cut it."""
    source = random.Random(seed)
    session = RESET
    for _ in range(30):
        register = instruction(source.choice((DPACC, APACC, IDCODE_INSTRUCTION, 0x8, 0xF)))
        session += register + access(
            source.choice((0, 4, 8, 12)), source.getrandbits(32), source.random() < 0.5
        )
        session += bits("0" * source.randrange(4))
    return session, sorted(source.sample(range(len(session)), 40))


@pytest.mark.parametrize("seed", range(20))
def test_in_pieces_it_says_the_same(seed: int) -> None:
    session, cuts = wire(seed)
    whole = Tap(DebugPort(Ram())).feed(session)
    pieces, single = Tap(DebugPort(Ram())), Tap(DebugPort(Ram()))
    parts = [session[start:end] for start, end in zip([0, *cuts], [*cuts, len(session)])]
    assert b"".join(pieces.feed(part) for part in parts) == whole
    assert b"".join(single.feed(session[n : n + 1]) for n in range(len(session))) == whole
    assert set(whole) == set(b"01")
