"""A million streams: the decoder and a slow and obvious one find the same packets at the same places.

Streams are short, since what a decoder holds in mind is; the pieces they are made of are chosen so
that syncs, cuts, zeros and endless packets meet. Seeds are fixed: a failure repeats.
"""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, List, Tuple

import pytest
import slow_itm

from gdb_prof.swo import packets
from gdb_prof.swo.capture import ASLEEP, PROHIBITED, read_capture
from gdb_prof.swo.loss import Loss
from swo_streams import SYNC, as_tuple, decoded, exception, pc, stimulus, ticks

PARTS = 25
STREAMS = 40_000
"""A million in all."""

WHOLE: List[bytes] = [
    SYNC,
    b"\x70",
    b"\x15\0",
    b"\x15\xff",
    b"\x15\x12",
    b"\x05\x3f",
    b"\x18",
    b"\xf8\x32",
    b"\x94\x80\xa0\x84\x60",
    b"\xb4\xbd\xf4\x91\x01",
    b"\xb4\xbd\xf4\x91\x81\xf4\x07",
    b"\x1d\x42",
    b"\x45\x01",
    b"\x4e\x12\x34",
    b"\xaf\x03\x0f\x3f\xff",
    b"\x27\x01\x02\x03\x04",
    pc(0),
    pc(0x08000218),
    pc(0xFFFFFFFF),
    stimulus(0, 0x41),
    stimulus(31, 0, 4),
    ticks(3),
    ticks(0xFFFFFFF, 3),
    exception(15, 1),
    exception(0, 3),
]
HEADERS = bytes([0, 0, 0, 0, 0, 0x80, 0x17, 0x15, 0x70, 0x01, 0x03, 0xC0, 0x94, 0xB4, 0x08, 0xFC, 0x0E, 0x84])
ADDRESSES = [0, 0x08000218, 0x17171717, 0xFFFFFF01, 0xFFFFFF03, 0xFFFFFFFF]
BITS = bytes([0] * 8 + [1 << i for i in range(8)])

Chance = random.Random


def noise(chance: Chance) -> bytes:
    return chance.randbytes(chance.randrange(1, 24))


def headers(chance: Chance) -> bytes:
    return bytes(chance.choices(HEADERS, k=chance.randrange(1, 24)))


def sparse(chance: Chance) -> bytes:
    """Mostly zero bits: syncs, on a byte and off it."""
    return bytes(chance.choices(BITS, k=chance.randrange(6, 26)))


def zeros(chance: Chance) -> bytes:
    parts = [chance.randbytes(chance.randrange(5)) + bytes(chance.randrange(3, 9)) for _ in range(2)]
    return b"".join(parts) + chance.randbytes(chance.randrange(5))


def sound(chance: Chance) -> bytes:
    return b"".join(chance.choices(WHOLE, k=chance.randrange(1, 7)))


def mutated(chance: Chance) -> bytes:
    """Whole packets with a bit turned, a byte lost or one put in."""
    raw = bytearray(sound(chance))
    at = chance.randrange(len(raw))
    way = chance.randrange(3)
    if way == 0:
        raw[at] ^= 1 << chance.randrange(8)
    elif way == 1:
        del raw[at]
    else:
        raw.insert(at, chance.choice(HEADERS))
    return bytes(raw)


def rows(chance: Chance) -> bytes:
    """PC samples that follow each other, with little between them."""
    between = (b"", b"", b"\x15\0", b"\x70", b"\xc0\x05", b"\x18")
    return b"".join(
        pc(chance.choice(ADDRESSES)) + chance.choice(between) for _ in range(chance.randrange(1, 5))
    )


def out_of_step(chance: Chance) -> bytes:
    """Whole packets whose bits are shifted."""
    raw = SYNC + sound(chance) + chance.choice((b"", SYNC))
    by = chance.randrange(1, 8)
    return (int.from_bytes(raw, "little") << by | chance.randrange(1 << by)).to_bytes(len(raw) + 1, "little")


KINDS: List[Callable[[Chance], bytes]] = [noise, headers, sparse, zeros, sound, mutated, rows, out_of_step]


@pytest.mark.parametrize("part", range(PARTS))
def test_the_decoder_finds_what_the_slow_one_finds(part: int) -> None:
    chance = random.Random(part)
    for i in range(STREAMS):
        raw = KINDS[i % len(KINDS)](chance)
        sync = i % 5 == 0
        size = chance.randrange(8)  # of the chunks; 0 is one
        found = [(offset, as_tuple(packet)) for offset, packet in decoded(raw, size, sync)]
        expected = slow_itm.decode(raw, sync)
        assert found == expected, "%s in chunks of %d, sync %s" % (raw.hex(" "), size, sync)


def broken(chance: Chance) -> bytes:
    """Stretches long enough to judge zeros by, with breaks of the line and lost bits between them."""
    out = 0
    size = 0
    for _ in range(chance.randrange(1, 4)):
        stretch = b"".join(chance.choices(WHOLE, k=chance.randrange(30)))[chance.randrange(4) :]
        stretch += bytes(chance.randrange(4, 40))
        out |= int.from_bytes(stretch, "little") << size
        size += 8 * len(stretch) + chance.choice((0, 0, 0, chance.randrange(8)))
    return out.to_bytes((size + 7) // 8, "little") + KINDS[chance.randrange(len(KINDS))](chance)


@pytest.mark.parametrize("part", range(4))
def test_what_follows_zeros_is_judged_as_the_slow_one_judges_it(part: int) -> None:
    chance = random.Random(2000 + part)
    shifts = set()
    for i in range(2_500):
        raw = broken(chance)
        sync = i % 5 == 0
        expected = slow_itm.decode(raw, sync)
        for size in (0, 1, chance.randrange(2, 80)):
            found = [(offset, as_tuple(packet)) for offset, packet in decoded(raw, size, sync)]
            assert found == expected, "%s in chunks of %d, sync %s" % (raw.hex(" "), size, sync)
        shifts |= {packet for _, packet in expected if packet[0] == "Sync"}
    assert shifts == {("Sync", shift) for shift in range(8)}  # that all were met


def loss(found: List[slow_itm.Found]) -> Loss:
    """From the stretches between timestamps, before the first and after the last."""
    stretches: List[List[Any]] = [[None]]
    for _, packet in found:
        if packet[0] == "LocalTime":
            stretches[-1].append(packet)
            stretches.append([packet])
        elif packet[0] in ("PcSample", "Asleep", "Prohibited", "Overflow"):
            stretches[-1].append(packet)
    stretches[-1].append(None)
    inner, gaps, overflows, unbounded = [], [], 0, 0
    for before, *within, after in stretches:
        lost = within.count(("Overflow",))
        overflows += lost
        if before and after:
            inner.append((after[1], len(within) - lost))
            gaps += inner[-1:] if lost else []
        else:
            unbounded += lost
    sums = [sum(column) for some in (inner, gaps) for column in (zip(*some) if some else ((), ()))]
    return Loss(*sums, overflows=overflows, unbounded=unbounded)


def counted(found: List[slow_itm.Found]) -> Dict[str, Any]:
    """What a capture says of the packets, counted one by one."""
    names = [packet[0] for _, packet in found]
    samples: List[int] = []
    stimulated: Dict[int, int] = {}
    errors: Dict[str, int] = {}
    page = 0
    for _, packet in found:
        if packet[0] == "PcSample":
            samples.append(packet[1] & ~1 if packet[1] in (ASLEEP, PROHIBITED) else packet[1])
        elif packet[0] in ("Asleep", "Prohibited"):
            samples.append(ASLEEP if packet[0] == "Asleep" else PROHIBITED)
        elif packet[0] == "Sync":
            page = 0
        elif packet[0] == "Extension" and packet[2:] == (False, 0):
            page = packet[1]
        elif packet[0] == "Stimulus":
            stimulated[32 * page + packet[1]] = stimulated.get(32 * page + packet[1], 0) + 1
        elif packet[0] == "Error" and packet[1] != packets.SKIPPED:
            errors[packet[1]] = errors.get(packet[1], 0) + 1
    deltas = [packet[1] for _, packet in found if packet[0] == "LocalTime"]
    unknown = [p for _, p in found if p[0] == "Hardware" or (p[0] == "Extension" and p[2:] != (False, 0))]
    return {
        "samples": samples,
        "stimulus": stimulated,
        "errors": errors,
        "packets": len(names) - names.count("Error"),
        "syncs": names.count("Sync"),
        "overflows": names.count("Overflow"),
        "exceptions": names.count("ExceptionTrace"),
        "data_trace": sum(name in ("DataPc", "DataMatch", "DataAddress", "DataValue") for name in names),
        "unknown": len(unknown),
        "ticks": sum(deltas) if deltas else None,
        "loss": loss(found),
        "delayed": sum(p[0] == "LocalTime" and p[2] != 0 for _, p in found),
    }


@pytest.mark.parametrize("part", range(4))
def test_a_capture_counts_what_the_slow_decoder_finds(part: int) -> None:
    chance = random.Random(1000 + part)
    for i in range(2_500):
        raw = b"".join(kind(chance) for kind in chance.choices(KINDS, k=4))[:60]
        sync = i % 5 == 0
        cut = chance.randrange(len(raw))
        capture = read_capture([raw[:cut], b"", raw[cut:]], sync)
        expected = counted(slow_itm.decode(raw, sync))
        found: Tuple[Dict[str, Any], ...] = (
            {name: getattr(capture, name) for name in expected if name != "samples"},
            {"samples": list(capture.samples)},
        )
        assert {**found[0], **found[1]} == expected, raw.hex(" ")
        assert 0.0 <= capture.quality <= 1.0
        assert capture.size_bytes == len(raw)
