"""A trace in a file is the trace: what was saved is read again, and damage is named, never guessed over."""

from __future__ import annotations

import dataclasses
import json
import struct
import zlib
from typing import Any, Dict, Optional, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ring_builder import IN_ORDER, NAMES, block, text

from gdb_prof.errors import FileError
from gdb_prof.trace import ring
from gdb_prof.trace.events import ALL, BASIC
from gdb_prof.trace.ring import Context, ObjectInfo, Ring
from gdb_prof.trace.savefile import dumps, loads
from gdb_prof.trace.scheduler import timeline

LAYOUT = (12, 8)
RECORDS = IN_ORDER
STAMPS = [record[0] for record in RECORDS]
BLOCK = block(RECORDS, n=16)
CONTEXT = Context(
    recorded=ALL,
    clock_hz=1e6,
    tick_hz=250.0,
    kernel="V10.5.1",
    build_id="0123abcd",
    program="demo.elf",
    spare=True,
    tick_count=70_000,
    tasks={1: "low", 3: "high"},
    priorities={1: 1, 3: 3},
    idle=5,
    objects={7: ObjectInfo("lock", 3), 9: ObjectInfo()},
    any_priority=False,
    now={7: ("the semaphore is empty",)},
)
SAVED = dumps(BLOCK, CONTEXT, LAYOUT)
NOTHING = Context()


def plain(read: Ring) -> Dict[str, Any]:
    """With what can be compared."""
    fields = {field.name: getattr(read, field.name) for field in dataclasses.fields(read)}
    return {**fields, "stamps": list(read.stamps), "arguments": list(read.arguments)}


def with_trailer(change: Any) -> bytes:
    """A file whose trailer is whole, and says something else."""
    meta = json.loads(SAVED[len(BLOCK) : -16])
    change(meta)
    raw = BLOCK + json.dumps(meta, sort_keys=True).encode()
    return raw + struct.pack("<II8s", len(raw) - len(BLOCK), zlib.crc32(raw), b"TR33meta")


NAME = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=12)
NUMBER = st.integers(0, 255)
RATE = st.just(0.0) | st.floats(1e-3, 1e12)


@st.composite
def contexts(draw: Any) -> Context:
    return Context(
        origin="a.trace",
        recorded=draw(st.none() | st.frozensets(st.sampled_from(sorted(ALL)))),
        clock_hz=draw(RATE),
        tick_hz=draw(RATE),
        kernel=draw(NAME),
        build_id=draw(NAME),
        program=draw(NAME),
        spare=draw(st.booleans()),
        stopped_at=draw(st.none() | st.integers(0, 0xFFFFFFFF)),
        tick_count=draw(st.none() | st.integers(0, 0xFFFFFFFF)),
        tasks=draw(st.dictionaries(NUMBER, NAME, max_size=3)),
        priorities=draw(st.dictionaries(NUMBER, NUMBER, max_size=3)),
        idle=draw(st.none() | NUMBER),
        objects=draw(st.dictionaries(NUMBER, st.builds(ObjectInfo, NAME, st.integers(-1, 20)), max_size=3)),
        any_priority=draw(st.booleans()),
        now=draw(st.dictionaries(NUMBER, st.lists(NAME, max_size=2).map(tuple), max_size=2)),
    )


@settings(max_examples=60, derandomize=True)
@given(contexts())
def test_what_is_saved_is_read_again(context: Context) -> None:
    raw = dumps(BLOCK, context, LAYOUT)
    assert raw.startswith(BLOCK)
    read = loads(raw, "a.trace", NOTHING)
    assert read.context == context
    assert plain(read) == plain(ring.parse(BLOCK, context, LAYOUT))


def test_the_users_rates_come_before_the_files() -> None:
    read = loads(SAVED, "a.trace", Context(clock_hz=8e6, tick_hz=100.0))
    assert (read.context.clock_hz, read.context.tick_hz) == (8e6, 100.0)
    assert (loads(SAVED, "", NOTHING).context.clock_hz, loads(SAVED, "", NOTHING).context.tick_hz) == (
        1e6,
        250.0,
    )


def test_what_gdb_dumps_is_read_as_well() -> None:
    read = loads(BLOCK, "dump.bin", Context(clock_hz=1e6))
    assert (read.context.origin, read.context.clock_hz, read.context.recorded) == ("dump.bin", 1e6, None)
    assert [name for name in read.names if name] == [NAMES[number] for number in sorted(NAMES)]
    assert list(read.stamps) == STAMPS


def test_a_saved_file_and_a_dump_give_the_same_report() -> None:
    """Where the file says nothing that the dump does not."""
    saved = loads(dumps(BLOCK, Context(), LAYOUT), "it", NOTHING)
    dumped = loads(BLOCK, "it", NOTHING)
    assert text(timeline(saved)) == text(timeline(dumped))


def test_what_is_known_of_a_dump_is_used() -> None:
    read = loads(BLOCK, "dump.bin", Context(tick_hz=100.0), CONTEXT, LAYOUT)
    assert (read.context.tasks, read.context.tick_hz, read.context.clock_hz) == (CONTEXT.tasks, 100.0, 1e6)


# -- damage ---------------------------------------------------------------------------------


def test_a_changed_byte_in_the_block_is_noticed() -> None:
    raw = bytearray(SAVED)
    raw[len(BLOCK) - 1] ^= 1
    read = loads(bytes(raw), "", NOTHING)
    assert read.context.remarks == ("the file's checksum is wrong: it was changed or damaged",)
    assert read.context.tasks == CONTEXT.tasks


def test_a_file_cut_anywhere_gives_what_is_sound_or_one_line() -> None:
    """All records while the block is whole; never more than there are, and none that was not written."""
    whole = [record[:3] for record in RECORDS]
    for length in range(len(SAVED)):
        try:
            read = loads(SAVED[:length], "cut", NOTHING)
        except FileError as error:
            assert length < 16
            assert "\n" not in str(error)
            continue
        found = list(zip(read.stamps, read.codes, read.tasks))
        there = max(0, min(len(whole), (length - 16 - 96) // 8))
        assert found == whole[:there], length
        if length > len(BLOCK):
            assert read.context.remarks == ("the file's trailer is cut short: names and rates are unknown",)
            assert read.names == ring.parse(BLOCK, NOTHING, LAYOUT).names
        text(timeline(read))


def test_a_dump_whose_last_bytes_look_like_a_trailer_is_read_whole() -> None:
    """0x7b is `{`: here the high byte of an argument."""
    raw = block([*RECORDS, *[(99_000 + i, 10, 1, 0x7B00 + i) for i in range(16 - len(RECORDS))]], n=16)
    assert raw.endswith(b"{")
    read = loads(raw, "", NOTHING)
    assert (len(read), read.remarks, read.context.remarks) == (16, (), ())


@pytest.mark.parametrize("length", [0, 1, 5, 300, 1_000, 1 << 20, 0xFFFFFFFF])
def test_a_trailer_of_the_wrong_length_is_not_believed(length: int) -> None:
    raw = SAVED[:-16] + struct.pack("<I", length) + SAVED[-12:]
    read = loads(raw, "", NOTHING)
    assert list(read.stamps) == STAMPS
    assert read.context.remarks == ("the file's trailer cannot be read: names and rates are unknown",)


@settings(max_examples=200, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SAVED) - len(BLOCK) - 1), st.integers(0, 255)), min_size=1, max_size=6
    )
)
def test_a_damaged_trailer_never_costs_the_records(damage: Any) -> None:
    raw = bytearray(SAVED)
    for place, value in damage:
        raw[len(BLOCK) + place] = value
    read = loads(bytes(raw), "", NOTHING)
    shown = text(timeline(read))
    assert not {character for character in shown if not character.isprintable()} - {"\n"}
    if bytes(raw) != SAVED:
        assert list(read.stamps) == STAMPS
        assert read.context.remarks or read.remarks


@pytest.mark.parametrize(
    "change",
    [
        lambda meta: meta.pop("names"),
        lambda meta: meta.pop("tasks"),
        lambda meta: meta.update(names=[12]),
        lambda meta: meta.update(names=[-1, 8]),
        lambda meta: meta.update(names="12x8"),
        lambda meta: meta.update(names=[float("inf"), 8]),
        lambda meta: meta.update(tasks=[1, 2]),
        lambda meta: meta.update(tasks={"one": "L"}),
        lambda meta: meta.update(objects={"7": []}),
        lambda meta: meta.update(objects={"7": ["lock", "mutex"]}),
        lambda meta: meta.update(recorded=7),
        lambda meta: meta.update(clock_hz="fast"),
        lambda meta: meta.update(clock_hz=-1.0),
        lambda meta: meta.update(clock_hz=float("nan")),
        lambda meta: meta.update(clock_hz=10**400),
        lambda meta: meta.update(tick_hz=1e300),
        lambda meta: meta.update(idle="\x1b[31m" * 100),
        lambda meta: meta.update(now={"7": 5}),
    ],
)
def test_a_trailer_that_says_nonsense_is_named_and_left_aside(change: Any) -> None:
    read = loads(with_trailer(change), "", NOTHING)
    (remark,) = read.context.remarks
    assert remark.startswith("the file's trailer is damaged (")
    assert remark.endswith("): names and rates are unknown")
    assert len(remark) < 150
    assert list(read.stamps) == STAMPS


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_a_trailer_of_another_version_is_left_aside(version: Optional[object]) -> None:
    read = loads(with_trailer(lambda meta: meta.update(version=version)), "", NOTHING)
    assert read.context.remarks == ("the file's trailer cannot be read: names and rates are unknown",)
    assert list(read.stamps) == STAMPS


@pytest.mark.parametrize("trailer", [b"[" * 100_000, b"[]", b"7", b"", b"\xff\xff", b'{"version": 1'])
def test_a_trailer_that_is_no_trailer_is_left_aside(trailer: bytes) -> None:
    end = struct.pack("<II8s", len(trailer), zlib.crc32(BLOCK + trailer), b"TR33meta")
    read = loads(BLOCK + trailer + end, "", NOTHING)
    assert "the file's trailer cannot be read: names and rates are unknown" in read.context.remarks


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "no trace block: 0 bytes, its header has 16"),
        (b"\x7fELF" + bytes(100), "no trace block: it begins with 0x464c457f, not with 0x33335254 ('TR33')"),
        (SAVED[len(BLOCK) :], "no trace block: 0 bytes, its header has 16"),  # a trailer alone
    ],
)
def test_another_file_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(FileError) as refused:
        loads(raw, "", NOTHING)
    assert str(refused.value) == message


def test_names_of_a_file_reach_no_terminal_raw() -> None:
    raw = dumps(
        BLOCK, dataclasses.replace(CONTEXT, tasks={1: "\x1b[31m"}, kernel="\x07", spare=False), LAYOUT
    )
    shown = text(timeline(loads(raw, "a\x1bb", NOTHING)))
    assert "\\x1b[31m" in shown
    assert "FreeRTOS \\x07; from a\\x1bb" in " ".join(shown.split())
    assert not {character for character in shown if not character.isprintable()} - {"\n"}


@pytest.mark.parametrize("recorded", [ALL, BASIC, frozenset({1, 2, 250})])
def test_events_that_nobody_knows_are_not_taken_for_recorded(recorded: Any) -> None:
    read = loads(dumps(BLOCK, Context(recorded=recorded), LAYOUT), "", NOTHING)
    assert read.context.recorded == recorded & ALL


def test_the_layout_of_the_names_is_the_files_own() -> None:
    layout: Tuple[int, int] = (30, 32)
    raw = dumps(block(RECORDS, n=16, layout=layout, names={2: "no task 1"}), CONTEXT, layout)
    read = loads(raw, "", NOTHING)
    assert (len(read.names), read.names[2]) == (30, "no task 1")


def test_a_block_without_names_is_saved_and_read() -> None:
    raw = dumps(block(RECORDS, n=16, layout=(0, 8), names={}), CONTEXT, (0, 8))
    read = loads(raw, "", NOTHING)
    assert (read.names, list(read.stamps), read.context.tasks) == ((), STAMPS, CONTEXT.tasks)


def test_a_name_of_any_language_is_saved_and_read() -> None:
    context = dataclasses.replace(CONTEXT, tasks={1: "Größe", 3: "測定"}, program="ü.elf")
    assert loads(dumps(BLOCK, context, LAYOUT), "", NOTHING).context == context
