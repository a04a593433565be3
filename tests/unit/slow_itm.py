"""A slow and obvious decoder of ITM streams, against which the quick one is checked.

It was written from the packet tables, shares nothing with the package, looks at one bit for syncs
and at one byte for packets at a time, and needs the whole stream. A packet is a tuple: the name of
its kind, then the fields of that kind in order.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

Found = Tuple[int, Tuple[Any, ...]]
"""An offset in bytes and a packet."""

SIZES = {1: 1, 2: 2, 3: 4}


LOOK, CLEAR = 64, 8
"""Bytes after a sync off its byte that are looked at, and the evidence that it is one."""


def decode(raw: bytes, sync: bool = False) -> List[Found]:
    found: List[Found] = []
    bits = [byte >> i & 1 for byte in raw for i in range(8)]
    at = 0
    waits = sync
    for one in sync_ones(bits):
        resumes = resume(raw, bits, one, at % 8)
        if resumes <= one:  # zeros, and no sync
            if not waits:
                data = in_bytes(bits, at, resumes)
                size = packets(found, data, at // 8)
                assert not any(data[size:])
                found.append((at // 8 + size, ("Error", "zeros", bytes(data[size:][:5]))))
            at = resumes
            continue
        end = (one // 8 - 5) * 8  # the five zero bytes before the one's byte are the sync's
        if waits:
            while end and not any(bits[end - 8 : end]):
                end -= 8
            if end:
                found.append((0, ("Error", "skipped", b"")))
            at, waits = end, False
        else:
            data = in_bytes(bits, at, end)
            size = packets(found, data, at // 8)
            if any(data[size:]):
                found.append((at // 8 + size, ("Error", "cut", bytes(data[size:]))))
                size = len(data)
            at += 8 * size
        found.append((at // 8, ("Sync", (one + 1) % 8)))
        at = one + 1
    if waits:
        if raw:
            found.append((0, ("Error", "skipped", b"")))
        return found
    data = in_bytes(bits, at, len(bits))
    size = packets(found, data, at // 8)
    rest = bytes(data[size:])
    if rest:
        # five zero bytes or fewer may be a sync's beginning, more are none
        kind = "zeros" if len(rest) > 5 and not any(rest) else "truncated"
        found.append((at // 8 + size, ("Error", kind, rest if any(rest) else rest[:5])))
    return found


def resume(raw: bytes, bits: List[int], one: int, shift: int) -> int:
    """Where reading goes on after the zeros before that one: after it if they are a sync, else where
    the byte that it is in begins. `shift`: of the bytes so far."""
    after = one + 1
    if after % 8 == 0:
        return after
    end = one // 8
    while end < len(raw) and end < one // 8 + LOOK and raw[end : end + 5] != bytes(5):
        end += 1
    if end + 5 > one // 8 + LOOK:  # zeros that are not all in sight
        end = min(len(raw), one // 8 + LOOK)
    best, most = -1, 0
    for alignment in sorted({0, shift} - {after % 8}):
        start = max(bit for bit in range(one - 7, one + 1) if bit % 8 == alignment)
        score = evidence(in_bytes(bits, start, 8 * end))
        if best < 0 or score > most:
            best, most = start, score
    return after if evidence(in_bytes(bits, after, 8 * end)) - most >= CLEAR else best


def evidence(data: List[int]) -> int:
    """How much these bytes, from the beginning of a packet on, look like a sound stream."""
    found: List[Found] = []
    packets(found, data, 0)
    score = 0
    for _, packet in found:
        name = packet[0]
        if name in ("Error", "Hardware") or (name == "Extension" and packet[2:] != (False, 0)):
            score -= 6
        elif name in ("PcSample", "Asleep", "ExceptionTrace", "EventWrap", "Overflow"):
            score += 5
        elif name == "LocalTime" or (name == "Stimulus" and packet[1] < 4):
            score += 3
    return score


def sync_ones(bits: List[int]) -> List[int]:
    """Where the ones are that end 47 zeros or more."""
    ones, zeros = [], 0
    for at, bit in enumerate(bits):
        if bit:
            if zeros >= 47:
                ones.append(at)
            zeros = 0
        else:
            zeros += 1
    return ones


def in_bytes(bits: List[int], at: int, end: int) -> List[int]:
    whole = max(0, (end - at) // 8)
    return [sum(bits[at + 8 * i + k] << k for k in range(8)) for i in range(whole)]


def packets(found: List[Found], data: List[int], offset: int) -> int:
    """Add all whole packets; returns how many bytes they have. What is left is the beginning of a
    packet, or zeros up to the end."""
    at = 0
    while at < len(data):
        size, packet = one_packet(data, at)
        if packet is None:
            break
        found.append((offset + at, packet))
        at += size
    return at


def one_packet(data: List[int], at: int) -> Tuple[int, Optional[Tuple[Any, ...]]]:
    header = data[at]
    if header == 0:
        end = at
        while end < len(data) and data[end] == 0:
            end += 1
        return end - at, None if end == len(data) else ("Error", "zeros", bytes(end - at))
    if header & 3:
        size = SIZES[header & 3]
        payload = data[at + 1 : at + 1 + size]
        if len(payload) < size:
            return 0, None
        value = sum(byte << 8 * i for i, byte in enumerate(payload))
        whole = bytes([header, *payload])
        if header & 4:
            return 1 + size, hardware(header >> 3, size, value, whole)
        return 1 + size, ("Stimulus", header >> 3, size, value)
    low = header & 15
    if low == 0 and header < 0x70:
        return 1, ("LocalTime", header >> 4, 0)
    if header == 0x70:
        return 1, ("Overflow",)
    if low == 0 and header < 0xC0:
        return 1, ("Error", "reserved", bytes([header]))
    if low == 4 and header < 0x80:
        return 1, ("Error", "reserved", bytes([header]))
    if low in (8, 12) and header < 0x80:
        return 1, ("Extension", header >> 4, low == 12, 0)
    return continued(data, at)


def continued(data: List[int], at: int) -> Tuple[int, Optional[Tuple[Any, ...]]]:
    """A header, then bytes of which all but the last have bit 7 set; after eight it is given up."""
    header, end, ended = data[at], at + 1, False
    while not ended and end - at - 1 < 8:
        if end == len(data):
            return 0, None
        ended = data[end] < 0x80
        end += 1
    payload = data[at + 1 : end]
    whole = bytes(data[at:end])
    size = len(payload)
    value = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(payload))
    too_long: Tuple[Any, ...] = ("Error", "over-long", whole)
    packet: Tuple[Any, ...]
    if header == 0x94:
        last = payload[3] if size == 4 else 0
        packet = ("GlobalTime1", value % 2**26, min(7 * size, 26), last & 64 != 0, last & 32 != 0)
        packet = packet if size <= 4 else too_long
    elif header == 0xB4:
        forms: Dict[int, Tuple[Any, ...]] = {
            4: ("GlobalTime2", value % 2**22, 22),
            6: ("GlobalTime2", value % 2**38, 38),
        }
        packet = forms.get(size, ("Error", "undefined", whole)) if size <= 6 else too_long
    elif header & 15 == 4:
        packet = ("Error", "reserved", whole)
    elif header & 15 == 0:
        packet = ("LocalTime", value, (header - 0xC0) // 16) if size <= 4 else too_long
    else:
        packet = ("Extension", value * 8 + header // 16 % 8, header & 4 != 0, size)
        packet = packet if size <= 4 else too_long
    return end - at, packet


def hardware(source: int, size: int, value: int, whole: bytes) -> Tuple[Any, ...]:
    undefined = ("Error", "undefined", whole)
    if (source, size) == (0, 1):
        return ("EventWrap", value)
    if (source, size) == (1, 2):
        actions = [None, "enter", "exit", "return"]
        action = actions[whole[2] // 16 % 4]
        return ("ExceptionTrace", whole[1] + 256 * (whole[2] % 2), action) if action else undefined
    if source == 2:
        if size == 4:
            return ("PcSample", value)
        return {b"\x15\x00": ("Asleep",), b"\x15\xff": ("Prohibited",)}.get(whole, undefined)
    if (source, size) == (3, 1):
        return ("PmuOverflow", value)
    if source in (8, 10, 12, 14):
        if size == 4:
            return ("DataPc", source // 2 - 4, value)
        if size == 1 and value % 2:
            return ("DataMatch", source // 2 - 4)
    if source in (9, 11, 13, 15):
        return ("DataAddress", (source - 9) // 2, size, value)
    if 16 <= source <= 23:
        return ("DataValue", (source - 16) // 2, size, value, source % 2 == 1)
    return ("Hardware", source, size, value)
