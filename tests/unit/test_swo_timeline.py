"""Packets in order with their ports and times: those before a timestamp were made when it says."""

from __future__ import annotations

from typing import List, Optional, Tuple

from gdb_prof.swo import timeline
from gdb_prof.swo.packets import (
    Asleep,
    GlobalTime1,
    GlobalTime2,
    LocalTime,
    Overflow,
    PcSample,
    Stimulus,
)
from gdb_prof.swo.timeline import Event, GlobalClock, events
from swo_streams import SYNC, chunks, pc, stimulus, stream_of, ticks


def read(raw: str) -> List[Event]:
    return list(events([bytes.fromhex(raw)]))


def test_timestamps_add_up_and_say_what_came_late() -> None:  # case 9
    found = read("01 41 d0 0a 01 42 e0 0a 01 43 f0 0a 70 70 70 c0 7f 17 18 02 00 08 c0 05")
    told = [(e.packet, e.time, e.relation) for e in found if not isinstance(e.packet, LocalTime)]
    assert told == [
        (Stimulus(0, 1, 0x41), 10, 1),
        (Stimulus(0, 1, 0x42), 20, 2),
        (Stimulus(0, 1, 0x43), 30, 3),
        (Overflow(), 157, 0),
        (Overflow(), 157, 0),
        (Overflow(), 157, 0),
        (PcSample(0x08000218), 162, 0),
    ]


def test_ports_above_31_are_chosen_by_a_page() -> None:  # case 10
    found = read("01 41 18 01 42 78 f9 43 08 01 44")
    written = [(e.port, e.packet.value) for e in found if isinstance(e.packet, Stimulus)]
    assert written == [(0, 0x41), (32, 0x42), (255, 0x43), (0, 0x44)]


def test_a_hardware_extension_leaves_the_page_and_a_sync_takes_it_back() -> None:  # case 10
    raw = b"\x18\x1c" + stimulus(1, 0) + SYNC + stimulus(1, 0)
    assert [event.port for event in events([raw]) if event.port is not None] == [33, 1]


def test_global_time_is_that_of_its_packets_and_the_local_time_since() -> None:
    found = read("15 00 15 00 15 00 94 80 a0 84 00 b4 bd f4 91 01 c0 c9 01 15 00 c0 c9 01 70 c0 c9 01")
    told = [(e.packet, e.global_time) for e in found if isinstance(e.packet, (Asleep, Overflow))]
    assert told == [
        (Asleep(), 160429712150729),
        (Asleep(), 160429712150729),
        (Asleep(), 160429712150729),
        (Asleep(), 160429712150930),
        (Overflow(), 160429712151131),
    ]


def clock(*taken: "GlobalTime1 | GlobalTime2") -> GlobalClock:
    made = GlobalClock()
    for found in taken:
        made.take(found)
    return made


def test_a_short_global_timestamp_replaces_its_bits_only() -> None:
    assert clock(GlobalTime1(0x1F40973, 26), GlobalTime1(0x42, 7)).value == 0x1F40942
    assert clock(GlobalTime1(0x1F40973, 26), GlobalTime1(0, 14)).value == 0x1F40000
    upper = GlobalTime2(0x3F40247A3D, 38)
    assert clock(GlobalTime1(5, 26), upper, GlobalTime1(6, 7)).now == (0x3F40247A3D << 26) + 6


def test_after_a_wrap_the_global_time_is_unknown_until_its_upper_half_comes() -> None:
    wrapped = clock(GlobalTime1(5, 26), GlobalTime2(1, 22), GlobalTime1(7, 26, wrap=True))
    assert wrapped.now is None
    wrapped.take(GlobalTime2(2, 22))
    assert wrapped.now == (2 << 26) + 7


def test_packets_that_no_timestamp_follows_have_no_time() -> None:
    found = list(events([pc(2) + ticks(5) + pc(4)]))
    assert [(e.packet, e.time) for e in found] == [
        (PcSample(2), 5),
        (LocalTime(5), 5),
        (PcSample(4), None),
    ]


def test_packets_wait_for_a_timestamp_but_not_without_bound() -> None:
    count = timeline._MOST_WAITING + 100
    untimed = (Event(i, Asleep()) for i in range(count))
    seen: List[Tuple[int, Optional[int]]] = []
    for event in timeline.timed(untimed):
        seen.append((event.offset, event.time))
        if len(seen) == 1:
            assert next(untimed).offset < count - 1  # the first came before all were read
    assert {time for _, time in seen} == {None}


def test_the_timeline_does_not_depend_on_the_chunks() -> None:
    raw = stream_of([0x08000100] * 300)
    assert list(events(chunks(raw, 1))) == list(events(chunks(raw, 100))) == list(events([raw]))
