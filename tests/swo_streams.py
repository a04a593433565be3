"""ITM streams and TPIU frames made for tests, and a decoded stream in a form that compares."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, Iterable, Iterator, List, Sequence, Tuple

from gdb_prof.swo.packets import Packet, packet
from gdb_prof.swo.stream import Piece, Run, Stream

SYNC = b"\0\0\0\0\0\x80"
OVERFLOW = b"\x70"
ASLEEP = b"\x15\0"
ENTER, EXIT, RETURN = 1, 2, 3


def pc(address: int) -> bytes:
    return b"\x17" + address.to_bytes(4, "little")


def stimulus(port: int, value: int, size: int = 1) -> bytes:
    return bytes([port << 3 | {1: 1, 2: 2, 4: 3}[size]]) + value.to_bytes(size, "little")


def ticks(delta: int, relation: int = 0) -> bytes:
    """A local timestamp with payload."""
    payload = [delta & 0x7F]
    while delta >> 7:
        delta >>= 7
        payload[-1] |= 0x80
        payload.append(delta & 0x7F)
    return bytes([0xC0 | relation << 4, *payload])


def exception(number: int, action: int) -> bytes:
    return bytes([0x0E, number & 0xFF, number >> 8 | action << 4])


def wrap(flags: int) -> bytes:
    return bytes([0x05, flags])


def chunks(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[at : at + size] for at in range(0, len(raw), size))


def pieces(parts: Iterable[bytes], sync: bool = False) -> List[Piece]:
    stream = Stream(sync)
    found = [piece for part in parts for piece in stream.feed(part)]
    return found + stream.finish()


def flat(of: Iterable[Piece]) -> List[Tuple[int, Packet]]:
    """Offset and packet, one by one; asserts that no byte is counted twice and none left out."""
    found: List[Tuple[int, Packet]] = []
    at = 0
    for piece in of:
        assert piece.offset == at
        if isinstance(piece, Run):
            for token in piece.tokens:
                found.append((at, packet(token)))
                at += len(token)
        else:
            found.append((at, piece.packet))
            at += piece.length
    return found


def decoded(raw: bytes, size: int = 0, sync: bool = False) -> List[Tuple[int, Packet]]:
    """Everything in a stream that is fed in one piece, or in pieces of `size` bytes."""
    return flat(pieces(chunks(raw, size) if size else [raw], sync))


def packets(raw: bytes) -> List[Packet]:
    return [found for _, found in decoded(raw)]


def as_tuple(of: Packet) -> Tuple[Any, ...]:
    return (type(of).__name__, *(getattr(of, field.name) for field in dataclasses.fields(of)))


def stream_of(pcs: Sequence[int]) -> bytes:
    """The PCs among all else that a core sends: 54,887 bytes for 10,000 of them.

    Text and counter wraps, exceptions, sleep and timestamps at fixed places; every 10,000 an
    overflow and a sync.
    """
    out = bytearray()
    for i, address in enumerate(pcs):
        if i % 10000 == 0:
            out += SYNC + OVERFLOW
        out += pc(address)
        if i % 12 == 0:
            out += ticks(12000 + i % 1000)
        if i % 50 == 7:
            out += exception(15, ENTER) + exception(15, EXIT)
        if i % 40 == 11:
            out += ASLEEP
        if i % 100 == 13:
            out += wrap(1 << i // 100 % 6)
        if i % 500 == 17:
            out += stimulus(0, 0x216B6F, 4)
        if i % 10000 < 189:
            out += stimulus(1, 0x2E, 1)
    return bytes(out)


def damaged(raw: bytes, part: float, seed: int) -> bytes:
    """With this part of the bytes replaced by others."""
    chance = random.Random(seed)
    out = bytearray(raw)
    for at in chance.sample(range(len(out)), round(part * len(out))):
        out[at] ^= chance.randrange(1, 256)
    return bytes(out)


def framed(sources: Sequence[Tuple[int, bytes]], full_sync_every: int = 0) -> bytes:
    """TPIU frames that carry the bytes of sources (ID, bytes) in this order, padded with ID 0."""
    todo = [(source, byte) for source, content in sources for byte in content]
    out, current, frames = bytearray(), -1, 0
    while todo:
        if full_sync_every and frames % full_sync_every == 0:
            out += b"\xff\xff\xff\x7f"
        frame, low_bits = bytearray(), 0
        for pair in range(8):
            first = todo.pop(0) if todo else (0, 0)
            second = todo[0] if todo else (0, 0)
            if first[0] != current:  # an ID, then the byte at once
                current = first[0]
                frame += bytes([current << 1 | 1, first[1]])
                if pair == 7:  # no room for the byte
                    todo.insert(0, first)
            elif pair == 7 or second[0] == current:
                frame += bytes([first[1] & 0xFE, second[1]])
                low_bits |= (first[1] & 1) << pair
                if pair < 7 and todo:
                    todo.pop(0)
            else:  # the next one's ID, which comes into force after this byte
                current = second[0]
                frame += bytes([current << 1 | 1, first[1]])
                low_bits |= 1 << pair
        out += frame[:15] + bytes([low_bits])
        frames += 1
    return bytes(out)


def mixed(one: Tuple[int, bytes], other: Tuple[int, bytes], seed: int) -> List[Tuple[int, bytes]]:
    """Two sources in turns of a few bytes, with pauses."""
    chance = random.Random(seed)
    left = [one, other]
    turns: List[Tuple[int, bytes]] = []
    while left[0][1] or left[1][1]:
        for i, most in enumerate((8, 4)):
            source, content = left[i]
            size = chance.randrange(1, most + 1)
            turns.append((source, content[:size]))
            left[i] = (source, content[size:])
        turns.append((0, bytes(chance.choice((0, 0, 0, 3)))))
    return turns


def received(sent: bytes, ratio: float) -> bytes:
    """What a UART that takes a bit for `ratio` bits' time makes of bytes sent 8N1 with pauses."""
    line: List[int] = []
    for at, byte in enumerate(sent):
        line += [1] * (at % 3) + [0] + [byte >> i & 1 for i in range(8)] + [1]
    line += [1] * 50
    out, at = bytearray(), 0
    while at < len(line) - 50:
        if line[at]:
            at += 1
            continue
        bits = [line[min(len(line) - 1, int(at + ratio * (i + 1.5)))] for i in range(9)]
        out.append(sum(bit << i for i, bit in enumerate(bits[:8])))
        at = max(at + 1, int(at + ratio * 9.5))
        while not bits[8] and at < len(line) and not line[at]:
            at += 1
    return bytes(out)
