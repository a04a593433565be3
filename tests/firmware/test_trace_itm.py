"""Records that the recorder writes to ITM ports: the same as in the ring, each whole, in the format
that trace_rec.h gives.

QEMU has no ITM: firmware/demo/itm_words.c keeps the words.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import struct
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Tuple

import pytest
from test_trace import CORES, build, compiled, values

from gdb_prof.trace import ring
from gdb_prof.trace.events import ALL, IN, MARK
from gdb_prof.trace.finding import LOST
from gdb_prof.trace.findings import find
from gdb_prof.trace.itm import ring_of_words
from gdb_prof.trace.ring import Context
from gdb_prof.trace.scheduler import timeline
from gdb_prof.trace.timeline import Timeline
from itm_words import false_facts, overflowed
from running import elf, gdb, symbol

PORT = 8
ITM = "demo/itm_words.c -DDEMO_ITM_WORDS -DTRACE_ITM_PORT=8"


class Kept(NamedTuple):
    words: List[Tuple[int, int]]
    """Ports and words, in order."""
    block: bytes
    looks: int
    """How often the FIFO was looked at."""


def run(path: Path, *commands: str, until: str = "trace_done") -> Kept:
    with tempfile.TemporaryDirectory() as folder:
        names = ["itm_words", "itm_words_n", "trace_buf", "itm_looks"]
        dumps = []
        for name in names:
            address, size = symbol(path, name)
            dumps.append("dump binary memory %s/%s 0x%x 0x%x" % (folder, name, address, address + size))
        output = gdb(
            *("tbreak main", "continue", *commands, "tbreak " + until, "continue", *dumps),
            program=path,
            plugin=False,
        ).stdout
        assert re.search(r"^Temporary breakpoint [23], .*%s " % until, output, re.MULTILINE), output
        words, n, block, looks = (Path(folder, name).read_bytes() for name in names)
    pairs = list(struct.iter_unpack("<2I", words))
    (used,) = struct.unpack("<I", n)
    if until == "trace_done":
        assert used <= len(pairs), "all words are there"
    return Kept(pairs[:used], block, struct.unpack("<I", looks)[0])


@functools.lru_cache(maxsize=None)
def kept(program: str) -> Kept:
    return run(elf(program))


@pytest.mark.parametrize("program", ["inversion_itm", "inversion_mutex_itm", "load_itm", "events_itm"])
def test_the_words_tell_the_records_of_the_ring(program: str) -> None:
    words, block, _ = kept(program)
    in_ring = ring.parse(block, Context(spare=True), (12, 8))
    streamed = ring_of_words(words, PORT, Context())
    assert in_ring.total == len(in_ring) == len(streamed) > 40
    assert list(streamed.stamps) == list(in_ring.stamps)
    assert (streamed.codes, streamed.tasks) == (in_ring.codes, in_ring.tasks)
    assert list(streamed.arguments) == list(in_ring.arguments)
    assert (streamed.gaps, streamed.dropped) == ((), 0)


def test_a_trace_begins_with_the_names_that_tasks_have() -> None:
    words = kept("inversion_itm").words
    assert words[:6] == [
        (9, 1 << 16),  # the beginning, version 1
        (9, 1 << 8 | ord("c") << 16 | ord("t") << 24),
        (9, 1 << 8 | ord("l") << 16),
        (9, 2 << 8 | ord("H") << 16),
        (9, 3 << 8 | ord("M") << 16),
        (9, 4 << 8 | ord("L") << 16),
    ]
    assert words[6][0] == 8  # and then the first record's time
    assert ring_of_words(words, PORT, Context()).names == ("", "ctl", "H", "M", "L")


def test_times_and_numbered_events_take_turns() -> None:
    words = kept("inversion_itm").words[6:]
    assert [port for port, _ in words] == [8, 9] * (len(words) // 2)
    numbers = [word >> 6 & 3 for _, word in words[1::2]]
    assert numbers == [number % 4 for number in range(len(numbers))]


def test_no_ring_takes_memory_beside_the_stream() -> None:
    """Header, names, and two places in which nothing is."""
    words, block, _ = kept("inversion_itm_only")
    assert len(block) == 16 + 12 * 8 + 2 * 8
    assert ring.header(block) == (len(words[6:]) // 2, 2, 0)
    assert block[-16:] == bytes(16)


def test_nothing_is_sent_while_it_is_off() -> None:
    """`on` switches, as it does for the ring: after trace_stop() the kernel goes on."""
    stopped = kept("inversion_itm_only")
    later = run(elf("inversion_itm_only"), "tbreak trace_done", "continue", until="xTaskIncrementTick")
    assert later.words == stopped.words


def test_the_two_words_of_a_record_stay_together_under_interrupts_of_the_highest_priority(
    tmp_path: Path,
) -> None:
    """The first batch of marks, of two tasks and of a timer that interrupts all else."""
    path = build("test_stress_itm", "$(stress) %s -DTRACE_ITM_RING=1 -DINTERRUPT_TICKS=400" % ITM, tmp_path)
    words = run(path, until="trace_stop").words
    last = len(words) - words[::-1].index((9, 1 << 16))  # it starts its trace twice
    records = [pair for pair in words[last:] if pair[0] == 8 or pair[1] & 0x3F]
    assert len(records) > 8000
    assert [port for port, _ in records] == [8, 9] * (len(records) // 2)
    events = [word for _, word in records[1::2]]
    assert [word >> 6 & 3 for word in events] == [at % 4 for at in range(len(events))]
    assert {word & 0x3F for word in events} == {IN, MARK}
    of_interrupts = [word >> 16 & 0xFFF for word in events if word & 0x3F == MARK and word >> 30 == 3]
    assert of_interrupts == list(range(len(of_interrupts)))
    assert len(of_interrupts) > 500


def test_a_record_costs_at_most_25_instructions_in_a_switch_and_31_in_a_mark(tmp_path: Path) -> None:
    """Here the ports are words in RAM."""
    flags = "switch_cost -DDEMO_COST -DTRACE_ITM_PORT=8 -DTRACE_ITM_BASE=0x20010000u"
    names = ["cost_yields", "cost_marks", "cost_empty"]
    yields, marks, empty = values(build("test_cost", flags, tmp_path), "netduinoplus2", names)
    (bare,) = values(elf("switch_cost_bare"), "netduinoplus2", names[:1])
    assert (yields - bare) / 2000 <= 25  # two switches a round
    assert (marks - empty) / 1000 <= 31


# ---- The FIFO ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "busy", "looks_a_word"),
    [
        pytest.param(0, 3, 0, id="not looked at"),
        pytest.param(5, 3, 4, id="full three times, then not"),
        pytest.param(5, 100, 5, id="full for longer: given up"),
    ],
)
def test_a_full_fifo_is_looked_at_as_often_as_wanted_and_then_written_to(
    wait: int, busy: int, looks_a_word: int, tmp_path: Path
) -> None:
    path = build("test_wait_%d" % wait, "inversion %s -DTRACE_ITM_WAIT=%d" % (ITM, wait), tmp_path)
    words, block, looks = run(path, "set var itm_busy = %d" % busy)
    preface = 6
    assert looks == preface * (busy + 1) + (len(words) - preface) * looks_a_word
    assert ring.header(block)[0] == (len(words) - preface) // 2 > 40  # no record is kept back


def test_without_a_hook_the_words_are_written_to_the_ports_of_the_itm(tmp_path: Path) -> None:
    """Here with an ITM in RAM, which keeps the last word of each port. It is off (ITM_TCR is 0), so
    that nothing is waited for, though no port says that it is ready."""
    flags = (
        "inversion -DTRACE_ITM_PORT=8 -DTRACE_ITM_WAIT=100000 -DTRACE_ITM_RING=1 -DTRACE_ITM_BASE=0x20010000u"
    )
    path = build("test_ports", flags, tmp_path)
    address, size = symbol(path, "trace_buf")
    output = gdb(
        *("tbreak trace_done", "continue"),
        "dump binary memory %s 0x20010000 0x20010f00" % (tmp_path / "itm"),
        "dump binary memory %s 0x%x 0x%x" % (tmp_path / "block", address, address + size),
        program=path,
        plugin=False,
    ).stdout
    itm = struct.unpack("<960I", (tmp_path / "itm").read_bytes())
    last = ring.parse((tmp_path / "block").read_bytes(), Context(spare=True), (12, 8))
    assert {port for port, word in enumerate(itm) if word} == {8, 9}, output
    assert itm[8] == last.stamps[-1]
    number = (last.total - 1) % 4
    assert itm[9] == last.codes[-1] | number << 6 | last.tasks[-1] << 8 | last.arguments[-1] << 16


# ---- Options -----------------------------------------------------------------


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("more", [[], ["-DTRACE_ITM_WAIT=100", "-DTRACE_ITM_RING=1"]], ids=["plain", "more"])
def test_it_compiles_without_a_warning(core: str, more: List[str], tmp_path: Path) -> None:
    made = compiled(["-mcpu=" + core, "-DTRACE_ITM_PORT=30", *more], tmp_path)
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-DTRACE_ITM_PORT=31", "TRACE_ITM_PORT is 0 to 30"),
        ("-DTRACE_ITM_PORT=-1", "TRACE_ITM_PORT is 0 to 30"),
        ("-DTRACE_ASM=1", "no assembly for ITM ports"),
    ],
)
def test_wrong_options_are_refused_by_name(option: str, message: str, tmp_path: Path) -> None:
    port = [] if "PORT" in option else ["-DTRACE_ITM_PORT=8"]
    made = compiled(["-mcpu=cortex-m3", *port, option], tmp_path)
    assert made.returncode != 0
    assert message in made.stderr


# ---- What overflow leaves -------------------------------------------------------


@pytest.mark.parametrize("program", ["inversion_itm", "inversion_mutex_itm", "load_itm", "events_itm"])
def test_what_is_left_after_overflows_tells_nothing_that_was_not_so(program: str) -> None:
    words = kept(program).words
    context = Context(clock_hz=1e9, tick_hz=1000.0, recorded=ALL)
    whole = timeline(ring_of_words(words, PORT, context))
    known = [(finding.kind, label_of(whole, finding.task)) for finding in find(whole)]
    cut = 0
    for seed in range(200):
        lossy = timeline(ring_of_words(overflowed(words, seed), PORT, context))
        assert false_facts(lossy, whole) == [], seed
        for finding in find(lossy):
            assert finding.kind == LOST or (finding.kind, label_of(lossy, finding.task)) in known, seed
        cut += len(lossy.gaps)
    assert cut > 60


def test_the_same_words_mislead_where_the_gaps_are_not_known() -> None:
    context = Context(clock_hz=1e9, tick_hz=1000.0, recorded=ALL)
    words = kept("load_itm").words
    whole = timeline(ring_of_words(words, PORT, context))
    rings = [ring_of_words(overflowed(words, seed), PORT, context) for seed in range(50)]
    misled = [false_facts(timeline(dataclasses.replace(ring, gaps=())), whole) for ring in rings]
    assert sum(bool(facts) for facts in misled) > 25


def label_of(traced: Timeline, task: int) -> int:
    return traced.tasks[task].number if task >= 0 else -1
