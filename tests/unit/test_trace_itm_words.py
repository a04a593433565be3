"""Records from the words of two ITM ports, and what a report makes of the gaps between them.

Words are those of port 8, times, and of port 9, events; None is an overflow.
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import pytest
from ring_builder import IN_ORDER, MS, H, L, M, Record, X, facts, merged, ready, runs, text, ticks

from gdb_prof.errors import FileError, UsageError
from gdb_prof.trace import events
from gdb_prof.trace.assertion import check
from gdb_prof.trace.events import (
    CREATE,
    DELAY,
    GIVE,
    GIVE_ISR,
    IN,
    INHERIT,
    ISR,
    ISR_END,
    NAME,
    READY,
    SLEEP,
    TAKE,
    TICK,
    WAIT,
)
from gdb_prof.trace.finding import DEADLOCK, IDLE, INVERSION, JITTER, LOST, NEVER_BLOCKS, STARVATION
from gdb_prof.trace.findings import find
from gdb_prof.trace.itm import Word, ring_of_words
from gdb_prof.trace.ring import Context, ObjectInfo, Ring
from gdb_prof.trace.scheduler import timeline
from gdb_prof.trace.timeline import CUT, Timeline
from itm_words import false_facts, overflowed

BEGIN = (9, 1 << 16)


def record(number: int, stamp: int, code: int, task: int, argument: int = 0) -> List[Word]:
    """The record of that number, as the recorder writes it."""
    return [(8, stamp), (9, code | (number & 3) << 6 | task << 8 | (argument & 0xFFFF) << 16)]


def words(records: Sequence[Optional[Record]], first: int = 0) -> List[Word]:
    """All of these; None is an overflow, and loses none of those that are given."""
    written: List[Word] = []
    number = first
    for one in records:
        if one is None:
            written.append(None)
        else:
            written += record(number, *one)
            number += 1
    return written


def parsed(stream: Sequence[Word], **context: Any) -> Ring:
    return ring_of_words(stream, 8, Context(**context))


def stamps(stream: Sequence[Word]) -> List[int]:
    return list(parsed(stream).stamps)


def streamed(*records: Optional[Record], **context: Any) -> Timeline:
    """The timeline of a stream that begins a trace, with a clock of 1 MHz."""
    context.setdefault("clock_hz", 1e6)
    context.setdefault("tasks", {H: "H", M: "M", L: "L", X: "X"})
    return timeline(parsed([BEGIN, *words(records)], **context))


def kinds(traced: Timeline) -> List[str]:
    return [finding.kind for finding in find(traced)]


# ---- Words -> records ----------------------------------------------------------


def test_a_time_and_the_event_after_it_are_a_record() -> None:
    ring = parsed([BEGIN, (8, 0x12345678), (9, TAKE | 0 << 6 | 3 << 8 | 0xBEEF << 16)])
    assert (list(ring.stamps), ring.codes, ring.tasks) == ([0x12345678], bytes([TAKE]), bytes([3]))
    assert list(ring.arguments) == [0xBEEF]
    assert (ring.gaps, ring.dropped, ring.begins) == ((), 0, True)


def test_the_stream_tells_what_the_ring_of_the_same_records_does() -> None:
    """But for what the recorder's own instructions cost, which is another's."""
    lines = text(facts(*IN_ORDER)).split("\n")
    cost = [at for at, line in enumerate(lines) if line.startswith("Recorder: ")]
    assert text(streamed(*IN_ORDER)).split("\n") == lines[: cost[0]] + lines[cost[0] + 2 :]


A, B, C = (record(number, 100 * number, MARK_, 1, number) for number, MARK_ in enumerate([10] * 3))


@pytest.mark.parametrize(
    ("stream", "kept", "gaps", "least_lost"),
    [
        pytest.param([BEGIN, *A, *B], [0, 100], (), 0, id="nothing is lost"),
        pytest.param([*A, *B], [0, 100], (0,), 0, id="the beginning is not there"),
        pytest.param([*B[1:], *C], [200], (0,), 1, id="nor the first time"),
        pytest.param([BEGIN, *A, None, *C], [0, 200], (1,), 1, id="a whole record"),
        pytest.param([BEGIN, *A, None, *B], [0, 100], (1,), 0, id="somebody else's packets, or four records"),
        pytest.param([BEGIN, *A, B[0], None, *C], [0, 200], (1,), 1, id="an event"),
        pytest.param([BEGIN, *A, None, B[1], *C], [0, 200], (1,), 1, id="a time"),
        pytest.param([BEGIN, A[0], None, B[1], *C], [200], (0,), 2, id="an event and the next time"),
        pytest.param([BEGIN, *A, *B, None], [0, 100], (2,), 0, id="at the end"),
        pytest.param([BEGIN, *A, B[0]], [0], (), 0, id="the stream ends within a record"),
    ],
)
def test_what_an_overflow_leaves(
    stream: Sequence[Word], kept: List[int], gaps: Tuple[int, ...], least_lost: int
) -> None:
    ring = parsed(stream)
    assert (list(ring.stamps), ring.gaps, ring.dropped) == (kept, gaps, least_lost)


@pytest.mark.parametrize(
    ("stream", "kept"),
    [
        pytest.param([BEGIN, *A, B[0], *C], [0, 200], id="an event: two times follow each other"),
        pytest.param([BEGIN, *A, B[1], *C], [0, 200], id="a time: two events do"),
        pytest.param([BEGIN, A[0], B[1], *C], [200], id="an event and the next time: the number tells"),
        pytest.param([BEGIN, *A, *C, *record(3, 300, 10, 1)], [0, 300], id="a record: C may have B's time"),
    ],
)
def test_what_is_lost_without_a_mark_is_seen_by_the_numbers(stream: Sequence[Word], kept: List[int]) -> None:
    ring = parsed(stream)
    assert list(ring.stamps) == kept
    assert len(ring.gaps) == 1


def test_the_last_trace_that_begins_is_the_one() -> None:
    ring = parsed([BEGIN, *A, *B, None, BEGIN, *A])
    assert (list(ring.stamps), ring.gaps) == ([0], ())
    assert "2 traces began in the stream: this is the last" in ring.context.remarks


def test_a_trace_started_by_the_debugger_has_no_beginning_in_the_stream() -> None:
    """It writes `head` and `on` in memory, so that the numbers begin anew without a word."""
    ring = parsed([BEGIN, *A, *B, *C, *A, *B])
    assert (list(ring.stamps), ring.gaps) == ([0, 100, 200, 100], (3,))


def test_another_format_is_refused() -> None:
    with pytest.raises(FileError, match="format 2: only 1 is known"):
        parsed([(9, 2 << 16), *A])


def test_other_ports_are_no_concern() -> None:
    assert stamps([BEGIN, (0, 65), *A[:1], (10, 7), *A[1:], (7, 8)]) == [0]


def named(task: int, two: str) -> Word:
    return 9, task << 8 | ord(two[0]) << 16 | (ord(two[1]) << 24 if len(two) > 1 else 0)


@pytest.mark.parametrize(
    ("preface", "names"),
    [
        pytest.param([named(1, "ct"), named(1, "l"), named(2, "H")], ("", "ctl", "H"), id="whole"),
        pytest.param(
            [named(2, "H"), None, named(3, "X")], ("", "", "H"), id="not after a gap: an X may be Max"
        ),
        pytest.param([named(2, "\033["), named(2, "A")], ("", "", "\\x1b[A"), id="control characters"),
    ],
)
def test_names_come_with_the_beginning(preface: Sequence[Word], names: Tuple[str, ...]) -> None:
    ring = parsed([BEGIN, *preface, *A])
    assert ring.names == names


def test_a_name_that_a_gap_may_have_cut_is_none() -> None:
    created: List[Optional[Record]] = [
        *[(0, CREATE, 5, 1), (0, NAME, 5, ord("a") | ord("b") << 8), None, (0, NAME, 5, ord("c"))],
        *[(0, CREATE, 6, 1), (0, NAME, 6, ord("x")), (10, IN, 5, 1), (20, IN, 6, 1), (30, IN, 5, 1)],
    ]
    assert [task.label for task in streamed(*created).tasks] == ["task5", "x"]


# ---- Gaps ----------------------------------------------------------------------


def test_who_ran_is_known_up_to_a_gap_and_from_the_next_switch_on() -> None:
    traced = streamed((0, IN, L, 1), (1_000, TICK, L, 1), None, (5_000, IN, H, 3), (6_000, TICK, H, 6))
    assert runs(traced) == [("L", 0, 1_000), ("H", 5_000, 6_000)]
    assert traced.unknown == 4_000


def test_a_tick_tells_who_runs_after_a_gap() -> None:
    traced = streamed((0, IN, L, 1), (1_000, TICK, L, 1), None, (5_000, TICK, H, 5), (6_000, TICK, H, 6))
    assert runs(traced) == [("L", 0, 1_000), ("H", 5_000, 6_000)]
    assert traced.runs[1].priority == -1  # it may be one inherited


def test_a_wait_that_reaches_a_gap_is_not_told_beyond_it() -> None:
    traced = streamed(
        *[(0, IN, H, 3), (100, WAIT, H, 7), (110, IN, L, 1), (1_000, TICK, L, 1)],
        *[None, (5_000, IN, H, 3), (5_010, TAKE, H, 7), (6_000, TICK, H, 6)],
    )
    ((start, end, outcome),) = [(wait.start, wait.end, wait.outcome) for wait in traced.waits]
    assert (start, end, outcome) == (100, 1_000, CUT)
    assert "(records lost)" in text(traced)


def test_a_wait_at_a_gap_at_the_end_is_not_still_open() -> None:
    traced = streamed((0, IN, H, 3), (100, WAIT, H, 7), (110, IN, L, 1), (1_000, TICK, L, 1), None)
    assert [wait.outcome for wait in traced.waits] == [CUT]


def test_a_task_that_was_ready_at_a_gap_is_not_known_to_have_been_so_across_it() -> None:
    traced = streamed(
        *[(0, IN, H, 3), (100, READY, L, 1), (20_000, TICK, H, 20), None],
        *[(90_000, TICK, H, 90), (91_000, IN, L, 1), (92_000, TICK, L, 92)],
    )
    assert ready(traced) == [("L", 100, 20_000)]
    (starved,) = [finding for finding in find(traced) if finding.kind == STARVATION]
    assert (starved.start, starved.end) == (100, 20_000)


def test_an_interrupt_that_began_before_a_gap_has_no_end_after_it() -> None:
    traced = streamed((0, IN, L, 1), (10, ISR, L, 22), None, (500, ISR_END, L, 22), (600, TICK, L, 1))
    assert list(traced.interrupts) == []


@pytest.mark.parametrize("gap", [[], [None]], ids=["whole", "gap"])
def test_a_lock_taken_before_a_gap_has_nobody_after_it(gap: List[Optional[Record]]) -> None:
    """With all records L holds mutex 7 while M keeps it from running: an inversion."""
    traced = streamed(
        *[
            (0, IN, L, 1),
            (100, TAKE, L, 7),
            *gap,
            (1_000, READY, H, 3),
            (1_000, IN, H, 3),
            (1_010, WAIT, H, 7),
        ],
        *[(1_020, IN, L, 1), (2_000, READY, M, 2), (2_000, IN, M, 2), (9_000, WAIT, M, 9), (9_000, IN, L, 1)],
        *[(9_500, TICK, L, 9)],
        objects={7: ObjectInfo("lock", 1)},
    )
    assert (INVERSION in kinds(traced)) is (gap == [])


def test_an_inversion_before_a_gap_is_told_up_to_it() -> None:
    traced = streamed(
        *[(0, IN, L, 1), (100, TAKE, L, 7), (1_000, READY, H, 3), (1_000, IN, H, 3), (1_010, WAIT, H, 7)],
        *[(1_020, IN, L, 1), (2_000, READY, M, 2), (2_000, IN, M, 2), (9_000, TICK, M, 9), None],
        *[(20_000, IN, H, 3), (20_100, TICK, H, 20)],
        objects={7: ObjectInfo("lock", 1)},
    )
    (found,) = [finding for finding in find(traced) if finding.kind == INVERSION]
    assert (found.start, found.end, found.size) == (1_010, 9_000, 7_000)
    assert "H (3) has waited" in found.text
    assert "From then on records are missing." in found.text
    assert "does not use it" not in found.text  # it may, in what is missing


def test_a_semaphore_whose_giving_may_be_missing_is_no_lock() -> None:
    """L takes it, an interrupt gives it while records are lost, and H waits for the next."""
    traced = streamed(
        *[(0, IN, L, 1), (100, TAKE, L, 7), (150, GIVE_ISR, L, 8), None, (900, TAKE, L, 7)],
        *[(1_000, READY, H, 3), (1_000, IN, H, 3), (1_010, WAIT, H, 7), (1_020, IN, L, 1)],
        *[(2_000, READY, M, 2), (2_000, IN, M, 2), (9_000, TICK, M, 9)],
        objects={7: ObjectInfo("data", 3)},
    )
    assert INVERSION not in kinds(traced)


@pytest.mark.parametrize("gap", [[], [None]], ids=["whole", "gap"])
def test_a_deadlock_needs_both_holders_after_the_last_gap(gap: List[Optional[Record]]) -> None:
    traced = streamed(
        *[
            (0, IN, L, 1),
            (10, TAKE, L, 7),
            (1_000, READY, H, 3),
            (1_000, IN, H, 3),
            (1_010, TAKE, H, 8),
            *gap,
        ],
        *[
            (1_020, WAIT, H, 7),
            (1_030, IN, L, 1),
            (1_040, WAIT, L, 8),
            (1_050, IN, X, 0),
            (9_000, TICK, X, 9),
        ],
        objects={7: ObjectInfo("a", 1), 8: ObjectInfo("b", 1)},
    )
    assert (DEADLOCK in kinds(traced)) is (gap == [])


def test_a_mutex_holder_that_a_waiter_names_after_a_gap_is_one_while_it_waits() -> None:
    """The kernel says whom the waiter lends its priority to."""
    traced = streamed(
        *[(0, IN, L, 1), (10, TICK, L, 0), None, (1_000, IN, H, 3), (1_010, WAIT, H, 7)],
        *[(1_011, INHERIT, L, 3), (1_020, IN, L, 3), (2_000, TICK, L, 2)],
        objects={7: ObjectInfo("a", 1)},
    )
    ((holder, outcome),) = [(traced.tasks[w.holder].label, w.outcome) for w in traced.waits]
    assert (holder, outcome) == ("L", "open")


def periodic(gap: bool) -> Timeline:
    """H delays until every fifth tick; with a gap, one of its delays is lost."""
    records: List[Record] = merged(
        ticks(0, 40, L),
        *(
            [(k * 5 * MS, READY, H, 3), (k * 5 * MS, IN, H, 3), (k * 5 * MS + 50, DELAY, H, 5 * (k + 1))]
            + [(k * 5 * MS + 60, IN, L, 1)]
            for k in range(8)
        ),
    )
    if not gap:
        return streamed(*records)
    lost = records.index((20_050, DELAY, H, 25))
    return streamed(*records[:lost], None, *records[lost + 1 :])


@pytest.mark.parametrize("gap", [False, True])
def test_a_release_whose_delay_is_lost_is_not_missed(gap: bool) -> None:
    traced = periodic(gap)
    assert {LOST: gap, JITTER: False} == {kind: kind in kinds(traced) for kind in (LOST, JITTER)}


def test_idle_may_have_run_where_records_are_missing() -> None:
    idle: List[Record] = [(0, IN, X, 0), (1_000, IN, L, 1)]
    busy = [(ms * MS, TICK, L, ms) for ms in range(2, 80)]
    last: List[Record] = [(80_000, IN, X, 0), (81_000, TICK, X, 81)]
    names = {L: "L", X: "IDLE"}
    assert IDLE in kinds(streamed(*idle, *busy, *last, tasks=names))
    assert IDLE not in kinds(streamed(*idle, *busy[:40], None, *busy[40:], *last, tasks=names))


def test_a_task_may_have_blocked_where_records_are_missing() -> None:
    run: List[Record] = [(0, IN, L, 1), *((ms * MS, TICK, L, ms) for ms in range(1, 60))]
    known = {"priorities": {L: 1, X: 0}, "tasks": {L: "L", X: "IDLE"}, "idle": X}
    assert NEVER_BLOCKS in kinds(streamed(*run, **known))
    assert NEVER_BLOCKS not in kinds(streamed(*run[:30], None, *run[30:], **known))


def test_a_task_without_a_name_may_be_idle() -> None:
    """It is ready all the time: that it starves is no finding."""
    starving: List[Optional[Record]] = [(0, READY, 9, 0), (10, IN, L, 1)]
    starving += [(ms * MS, TICK, L, ms) for ms in range(1, 40)]
    assert STARVATION in kinds(streamed(*starving))
    assert STARVATION not in kinds(streamed(None, *starving))


# ---- What is said ----------------------------------------------------------------

BROKEN: List[Optional[Record]] = [
    *[(0, IN, L, 1), (100, TAKE, L, 7), (1_000, TICK, L, 1), None],
    *[(5_000, TICK, H, 5), (5_500, GIVE, H, 7), (10_000, TICK, H, 10)],
]


def test_a_report_marks_every_gap() -> None:
    lines = text(streamed(*BROKEN, tick_hz=1000.0)).split("\n")
    flat = " ".join(" ".join(lines).split())
    assert lines[0].startswith("6 records, others lost at 1 place; ")
    assert "1. Records lost: at 1 place; the longest gap is from 1.000 to 5.000." in flat
    assert "nothing is concluded across it." in flat
    assert "1.000 ? records lost to 5.000" in flat
    assert "(not known)" in flat
    (row,) = [line for line in lines if line.startswith("?  ")]
    assert row.count("?") > 10
    assert "? where records are missing" in flat


def test_how_many_are_missing_at_least_is_told_by_their_numbers() -> None:
    stream = [BEGIN, *record(0, 0, IN, L, 1), None, *record(3, 900, TICK, L, 1)]
    traced = timeline(parsed(stream, clock_hz=1e6))
    assert "at 1 place, 2 records or more; the longest gap" in find(traced)[0].text


def test_a_stream_without_the_beginning_says_so() -> None:
    traced = timeline(parsed(words(IN_ORDER), clock_hz=1e6))
    head = "14 records, none lost of these; what came before them is not in the stream;"
    assert " ".join(text(traced).split()).startswith(head)
    assert LOST not in kinds(traced)


@pytest.mark.parametrize(
    ("words_", "answer"),
    [
        ("share L < 50%", "this trace cannot tell: records are missing at 1 place"),
        ("no findings", "found: Records lost"),
        ("no inversion", "this trace cannot tell"),
        ("lost = 0", "records are missing at 1 place; asked: = 0"),
        ("share H < 10%", "share of H 50.00 %"),
    ],
)
def test_an_assertion_does_not_hold_on_what_is_missing(words_: str, answer: str) -> None:
    traced = streamed(*BROKEN, tick_hz=1000.0, recorded=events.ALL)
    try:
        result = check(traced, words_)
    except UsageError as error:
        assert answer in str(error)
    else:
        assert not result.holds
        assert answer in result.text


@pytest.mark.parametrize("marked", [True, False], ids=["overflow", "no mark"])
@pytest.mark.parametrize("seed", range(100))
def test_what_is_left_of_a_lossy_stream_tells_nothing_that_was_not_so(seed: int, marked: bool) -> None:
    """A minute of three tasks and a lock."""
    records: List[Record] = []
    for k in range(60):
        records += [(stamp + k * 4_000, code, task, (argument + 4 * k if code == TICK else argument))
                    for stamp, code, task, argument in IN_ORDER[1:]]  # fmt: skip
        records += [(2_990 + k * 4_000, SLEEP, H, 4 + 4 * k), (3_000 + k * 4_000, IN, L, 1)]
    stream = words([IN_ORDER[0], *records])
    known = {"clock_hz": 1e6, "tick_hz": 1000.0, "recorded": events.ALL}
    whole = timeline(parsed([BEGIN, *stream], **known))
    lossy = timeline(parsed(overflowed([BEGIN, *stream], seed, marked=marked), **known))  # type: ignore[list-item]
    assert lossy.ring.gaps
    assert false_facts(lossy, whole, slack_ms=0.011) == []
    assert set(kinds(lossy)) - {LOST} <= set(kinds(whole))
    text(lossy)
