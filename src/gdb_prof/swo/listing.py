"""Packets as lines of text."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, Iterator, List, Tuple

from gdb_prof.exceptions import name_of
from gdb_prof.swo import packets
from gdb_prof.swo.capture import ASLEEP, PROHIBITED, Capture
from gdb_prof.swo.timeline import Event, events
from gdb_prof.swo.unframed import Tpiu
from gdb_prof.wording import count, plural


def lines(chunks: Iterable[bytes], sync: bool = False, tpiu: Tpiu = None) -> Iterator[Tuple[int, str]]:
    """Each packet's offset in the ITM stream, and its line: offset, ticks where known, what it is.

    Raises FileError as `unframed.Unframed`.
    """
    for event in events(chunks, sync, tpiu):
        time = "" if event.time is None else count(event.time)
        yield event.offset, "0x%06x %13s  %s" % (event.offset, time, text(event))


def text(event: Event) -> str:
    """What a packet says, in one line."""
    found = event.packet
    if isinstance(found, packets.Stimulus):
        port = found.port if event.port is None else event.port
        return "stimulus port %d, %s" % (port, _sized(found.size, found.value))
    return _TEXTS[type(found)](found)


def _sized(size: int, value: int) -> str:
    characters = bytes(value >> 8 * i & 0xFF for i in range(size))
    shown = "".join(chr(c) if 0x20 <= c < 0x7F else "." for c in characters)
    return "%s: 0x%0*x '%s'" % (plural(size, "byte"), 2 * size, value, shown)


def _sync(p: packets.Sync) -> str:
    return "sync, %s out of step with the bytes" % plural(p.shift, "bit") if p.shift else "sync"


def _local(p: packets.LocalTime) -> str:
    late = packets.RELATIONS[p.relation]
    return "local time + %s%s" % (plural(p.delta, "tick"), late and ", %s" % late)


def _global1(p: packets.GlobalTime1) -> str:
    flags = (", wrapped" if p.wrap else "") + (", new clock" if p.clock_change else "")
    return "global time, low %d bits: 0x%x%s" % (p.bits, p.value, flags)


def _extension(p: packets.Extension) -> str:
    if p.page is not None:
        return "stimulus page %d" % p.page
    return "extension of %s source: 0x%x" % ("hardware" if p.hardware else "software", p.value)


def _data(p: packets.DataValue) -> str:
    way = "write" if p.write else "read"
    return "data %s, comparator %d, %s: 0x%0*x" % (
        way,
        p.comparator,
        plural(p.size, "byte"),
        2 * p.size,
        p.value,
    )


def _error(p: packets.Error) -> str:
    shown = " ".join("%02x" % byte for byte in p.raw)
    return "! %s%s" % (packets.ERRORS[p.kind], shown and ": %s" % shown)


_ACTIONS = {"enter": "exception entered", "exit": "exception left", "return": "returned to"}
_TEXTS: Dict[type, Callable[..., str]] = {
    packets.Sync: _sync,
    packets.Overflow: lambda p: "! overflow: packets were lost here",
    packets.LocalTime: _local,
    packets.GlobalTime1: _global1,
    packets.GlobalTime2: lambda p: "global time from bit 26, %d bits: 0x%x" % (p.bits, p.value),
    packets.Extension: _extension,
    packets.EventWrap: lambda p: "counters wrapped: %s" % (" ".join(p.names) or "none"),
    packets.ExceptionTrace: lambda p: "%s: %d, %s" % (_ACTIONS[p.action], p.number, name_of(p.number)),
    packets.PcSample: lambda p: "PC 0x%08x" % p.address,
    packets.Asleep: lambda p: "PC sample: asleep",
    packets.Prohibited: lambda p: "PC sample: prohibited",
    packets.DataPc: lambda p: "data trace PC, comparator %d: 0x%08x" % (p.comparator, p.address),
    packets.DataMatch: lambda p: "data trace match, comparator %d" % p.comparator,
    packets.DataAddress: lambda p: (
        "data address, comparator %d: ..%0*x" % (p.comparator, 2 * p.size, p.value)
    ),
    packets.DataValue: _data,
    packets.PmuOverflow: lambda p: "hardware source 3 (PMU overflow on Armv8.1-M): 0x%02x" % p.flags,
    packets.Hardware: lambda p: "hardware source %d, %s: 0x%x" % (p.source, plural(p.size, "byte"), p.value),
    packets.Error: _error,
}


def contents(capture: Capture) -> str:
    """What is in a stream, in one sentence without its stop."""
    asleep = capture.samples.count(ASLEEP) + capture.samples.count(PROHIBITED)
    found: List[Tuple[int, str]] = [
        (len(capture.samples) - asleep, "PC sample"),
        (asleep, "sample without a PC"),
        (sum(capture.stimulus.values()), "stimulus packet"),
        (capture.exceptions, "exception packet"),
        (capture.data_trace, "data trace packet"),
        (sum(capture.event_wraps.values()), "counter wrap"),
        (capture.syncs, "sync"),
        (capture.overflows, "overflow"),
        (capture.unknown, "unknown packet"),
        (sum(capture.errors.values()), "error"),
    ]
    return "%s with %s" % (
        plural(capture.size_bytes, "byte"),
        ", ".join(plural(n, noun) for n, noun in found if n) or "no packet",
    )
