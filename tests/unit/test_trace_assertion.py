"""Plain words are checked against the trace: they hold, they fail, or they are not understood."""

from __future__ import annotations

from typing import List

import pytest
from ring_builder import MS, H, L, M, Record, X, facts, merged, ticks

from gdb_prof.errors import UsageError
from gdb_prof.trace import events
from gdb_prof.trace.assertion import _FORMS, check
from gdb_prof.trace.events import (
    ALL,
    DELAY,
    GIVE,
    IN,
    MARK,
    NOTIFY_TAKE,
    NOTIFY_WAIT,
    OBJECT,
    READY,
    SLEEP,
    TAKE,
    TICK,
    WAIT,
)
from gdb_prof.trace.ring import ObjectInfo
from gdb_prof.trace.timeline import Timeline

LOCK = 7
TIMER = 6

RECORDS: List[Record] = [
    *[(0, IN, L, 1), (100, TAKE, L, LOCK)],
    *[(1 * MS, READY, H, 3), (1 * MS + 250, IN, H, 3), (2 * MS, WAIT, H, LOCK), (2 * MS, IN, L, 1)],
    *[(3 * MS, IN, M, 2), (5 * MS, DELAY, M, 9), (5 * MS, IN, L, 1)],
    *[
        (6 * MS, GIVE, L, LOCK),
        (6 * MS, READY, H, 3),
        (6 * MS + 500, IN, H, 3),
        (6 * MS + 500, TAKE, H, LOCK),
    ],
    *[(7 * MS, DELAY, H, 8), (7 * MS, IN, L, 1)],
    *[(8 * MS, READY, H, 3), (8 * MS + 100, IN, H, 3), (8 * MS + 200, DELAY, H, 9), (8 * MS + 200, IN, L, 1)],
    *[(9 * MS, READY, H, 3), (9 * MS + 900, IN, H, 3), (10 * MS, MARK, H, 0)],
]
"""10 ms: H waits from 2 to 6.5 ms; is woken at 1, 6, 8, 9, by 0.25, 0.5, 0.1, 0.9 ms late, twice after a
delay; M runs 2 of them while L has the lock."""


def trace(**context: object) -> Timeline:
    return facts(*RECORDS, objects={LOCK: ObjectInfo("lock", 3), 9: ObjectInfo("uart")}, **context)


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        ("latency H", "latency of H at most 0.900 ms, at 9.000 ("),
        ("wait H", "wait of H for lock at most 4.500 ms, 2.000 to 6.500 ("),
        ("wait H lock", "wait of H for lock at most 4.500 ms, 2.000 to 6.500 ("),
        ("jitter H", "jitter of H 0.800 ms (2 starts)"),
    ],
)
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "=", "=="])
@pytest.mark.parametrize("side", [-1, 0, 1])
def test_a_length_of_time_is_compared_as_the_sign_says(
    words: str, measured: str, sign: str, side: int
) -> None:
    length = {"latency H": 900, "wait H": 4500, "wait H lock": 4500, "jitter H": 800}[words]
    limit = length + side
    result = check(trace(), "%s %s %dus" % (words, sign, limit))
    expected = {
        "<": side > 0,
        "<=": side >= 0,
        ">": side < 0,
        ">=": side <= 0,
        "=": side == 0,
        "==": side == 0,
    }
    assert result.holds is expected[sign]
    assert result.text.startswith(measured)
    assert result.text.endswith("; asked: %s %dus" % (sign, limit))


@pytest.mark.parametrize(
    ("words", "holds", "text"),
    [
        ("share M < 20.1%", True, "share of M 20.00 % of 10.000 ms; asked: < 20.1%"),
        ("share M < 20%", False, "share of M 20.00 % of 10.000 ms; asked: < 20%"),
        ("share M >= .5 %", True, "share of M 20.00 % of 10.000 ms; asked: >= .5%"),
        ("lost = 0", True, "lost 0 of 22 records; asked: = 0"),
        ("lost > 0", False, "lost 0 of 22 records; asked: > 0"),
        ("no starvation", True, "no starvation in 10.000 ms"),
        ("no starvation > 4ms", True, "no starvation in 10.000 ms"),
    ],
)
def test_the_other_forms_say_what_they_measured(words: str, holds: bool, text: str) -> None:
    assert (check(trace(), words).holds, check(trace(), words).text) == (holds, text)


@pytest.mark.parametrize("words", ["no inversion", "no findings"])
def test_what_is_found_is_told_when_nothing_should_be(words: str) -> None:
    result = check(trace(), words)
    assert not result.holds
    assert result.text.startswith("1 found: Priority inversion: H (3) waited 4.500 ms for semaphore `lock`, ")
    quiet = facts((0, IN, L, 1), (MS, MARK, L, 0))
    assert check(quiet, words).holds
    assert check(quiet, words).text == "%s in 1.000 ms" % words


@pytest.mark.parametrize(
    ("words", "holds"),
    [("no starvation > 10ms", False), ("no starvation > 12 ms", True), ("no starvation>11999us", False)],
)
def test_a_limit_for_starvation_may_be_given(words: str, holds: bool) -> None:
    traced = facts((0, IN, H, 3), (1 * MS, READY, L, 1), (13 * MS, IN, L, 1), (14 * MS, MARK, L, 0))
    assert check(traced, words).holds is holds


@pytest.mark.parametrize(
    "limit", ["0.9ms", ".9ms", "0.90 ms", "900us", "900 us", "900µs", "900000ns", "0.0009s", "0.0009 s"]
)
def test_a_time_has_any_unit_with_a_blank_or_without(limit: str) -> None:
    assert check(trace(), "latency H <= " + limit).holds
    assert not check(trace(), "latency H < " + limit).holds


@pytest.mark.parametrize(
    "words", ["latency H<1ms", "latency H <1ms", "latency H< 1ms", "  latency   H  <  1ms  "]
)
def test_blanks_around_the_sign_do_not_matter(words: str) -> None:
    assert check(trace(), words).holds


def test_a_share_that_is_wrong_by_a_comma_is_not_read() -> None:
    for limit in ("25", "25 ms", "1.2.3%", ".%", "-1%", "x%"):
        with pytest.raises(UsageError, match=r"^expected a share like 25%, found '"):
            check(trace(), "share M < " + limit)


@pytest.mark.parametrize(
    "limit", ["2", "2m", "2 minutes", "ms", "1.2.3ms", "-1ms", "2ms 3ms", "1e3ms", "<3ms"]
)
def test_a_time_that_is_none_is_not_read(limit: str) -> None:
    with pytest.raises(UsageError, match=r"^expected a time like 2ms or 500us, found '"):
        check(trace(), "latency H < " + limit)


# -- names ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["latency Q < 1ms", "wait Q < 1ms", "share Q < 1%", "jitter Q < 1ms"])
def test_an_unknown_task_is_answered_with_those_there_are(words: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(trace(), words)
    assert str(refused.value) == "no task 'Q' in this trace: H, L, M"


@pytest.mark.parametrize("words", ["latency < 1ms", "wait < 1ms", "share < 1%", "jitter < 1ms"])
def test_a_task_must_be_named(words: str) -> None:
    with pytest.raises(UsageError, match=r"of which task\? H, L, M$"):
        check(trace(), words)


@pytest.mark.parametrize("name", ["lock", "queue7", "7"])
def test_an_object_is_named_by_its_name_or_its_number(name: str) -> None:
    assert check(trace(), "wait H %s <= 4.5ms" % name).text.startswith("wait of H for lock at most 4.500 ms")


def test_an_object_that_was_not_waited_for_was_waited_for_0_ms() -> None:
    result = check(trace(), "wait H uart < 1us")
    assert (result.holds, result.text) == (True, "H did not wait for uart; asked: < 1us")
    assert check(trace(), "wait M < 1us").text == "M did not wait; asked: < 1us"


def test_an_unknown_object_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        check(trace(), "wait H spi < 1ms")
    assert str(refused.value) == "no object 'spi' in this trace: lock, uart"


def test_an_object_of_a_kind_has_two_words() -> None:
    traced = facts((0, OBJECT, 1, LOCK), *RECORDS)
    assert check(traced, "wait H mutex 7 < 5ms").text.startswith("wait of H for mutex 7 at most 4.500 ms")


def test_a_task_may_have_two_words_too() -> None:
    traced = facts(*RECORDS, tasks={H: "Tmr Svc"})
    assert check(traced, "wait Tmr Svc queue7 < 5ms").text.startswith(
        "wait of Tmr Svc for queue7 at most 4.5"
    )
    assert check(traced, "wait Tmr Svc < 5ms").text.startswith("wait of Tmr Svc for queue7 at most 4.500 ms")
    assert check(traced, "latency Tmr Svc < 1ms").text.startswith("latency of Tmr Svc at most 0.900 ms")
    assert check(traced, "share Tmr Svc > 1%").text.startswith("share of Tmr Svc 1")
    with pytest.raises(UsageError, match=r"^Tmr Svc has 0 starts after a delay until: no jitter$"):
        check(traced, "jitter Tmr Svc < 1ms")  # it has no period
    other = facts(*RECORDS, tasks={H: "my task"})
    assert check(other, "jitter my task < 1ms").text.startswith("jitter of my task 0.800 ms")


def test_the_index_of_a_notification_is_no_object() -> None:
    notified = [
        (0, IN, X, 4),
        (1, NOTIFY_WAIT, X, 1),
        (2, IN, L, 1),
        (9 * MS, IN, X, 4),
        (9 * MS, NOTIFY_TAKE, X, 1),
    ]
    traced = facts(*notified, (9 * MS + 1, TAKE, X, 1))
    assert check(traced, "wait X 1 < 1us").text == "X did not wait for 1; asked: < 1us"
    assert check(traced, "wait X > 8ms").text.startswith("wait of X for a notification at most 8.999 ms")


# -- what a trace cannot say ---------------------------------------------------------------


def test_a_task_still_ready_at_the_end_is_that_late_already() -> None:
    traced = facts((0, IN, H, 3), (1 * MS, READY, L, 1), (5 * MS, MARK, H, 0))
    assert (
        check(traced, "latency L < 4ms").text
        == "latency of L at most 4.000 ms, at 1.000 (0 times); asked: < 4ms"
    )
    assert not check(traced, "latency L < 4ms").holds


def test_a_wait_that_is_not_over_is_that_long_already() -> None:
    traced = facts(*RECORDS[:6], (4 * MS, MARK, L, 0))
    result = check(traced, "wait H < 2ms")
    assert not result.holds
    assert ", 2.000 to 4.000, not over (" in result.text


def test_records_that_are_gone_are_lost() -> None:
    traced = facts(*RECORDS, n=16)
    assert check(traced, "lost = 6").holds
    assert not check(traced, "lost < 6").holds
    assert check(traced, "lost <= 8").text == "lost 6 of 22 records; asked: <= 8"


def test_a_task_that_never_became_ready_has_no_latency() -> None:
    with pytest.raises(UsageError, match=r"^L never became ready in this trace: no latency to check$"):
        check(trace(), "latency L < 1ms")


def test_a_task_without_delays_has_no_jitter() -> None:
    with pytest.raises(UsageError, match=r"^L has 0 starts after a delay until: no jitter$"):
        check(trace(), "jitter L < 1ms")


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("no inversion", [IN, GIVE, TAKE, WAIT]),
        ("no starvation", [IN, READY]),
        ("no starvation > 20ms", [IN, READY]),
        ("latency H < 1ms", [IN, READY]),
        ("wait H < 5ms", [IN, WAIT]),
        ("jitter H < 1ms", [IN, DELAY]),
        ("share H < 90%", [IN]),
    ],
)
def test_what_this_build_does_not_record_cannot_be_asserted(words: str, missing: List[int]) -> None:
    for code in missing:
        with pytest.raises(UsageError) as refused:
            check(trace(recorded=ALL - {code}), words)
        assert str(refused.value) == "this trace cannot tell of %s: not recorded in this build: %s" % (
            words.replace("no ", "").split()[0],
            events.NAMES[code],
        )
    check(trace(recorded=frozenset(missing) | {READY}), words)
    check(trace(recorded=None), words)  # the published recorder: codes 1 to 10


def test_jitter_needs_ready_or_ticks() -> None:
    words = "jitter H < 1ms"
    with pytest.raises(UsageError, match=r": not recorded in this build: ready$"):
        check(trace(recorded=ALL - {READY, TICK}), words)
    for recorded in (ALL - {TICK}, ALL - {READY}):
        check(trace(recorded=recorded), words)


def test_without_ready_records_ticks_tell_how_late_a_start_is() -> None:
    """Due at 2, 4, 6 ms; begun 0.2, 0.7 and 0.2 later."""
    starts = [(2_200, 4), (4_700, 6), (6_200, 8)]
    runs = [[(at, IN, H, 3), (at + 50, DELAY, H, wake), (at + 60, IN, L, 1)] for at, wake in starts]
    first = [(0, IN, H, 3), (50, DELAY, H, 2), (60, IN, L, 1)]
    traced = facts(*merged(ticks(1, 7, 0), first, *runs), recorded=frozenset((IN, DELAY, TICK)))
    assert check(traced, "jitter H < 1ms").text == "jitter of H 0.500 ms (3 starts); asked: < 1ms"


def test_a_release_that_was_missed_keeps_no_limit() -> None:
    """Every 2 ms; the job due at 4 takes 5 ms: those due at 6 and 8 begin late, without a record."""
    jobs = [(2, 100, 4), (4, 5_000, 10), (10, 100, 12), (12, 100, 14)]
    records = [(0, IN, H, 3), (50, DELAY, H, 2), (60, IN, L, 1)]
    for due, work, wake in jobs:
        at = due * MS
        records += [(at, READY, H, 3), (at, IN, H, 3), (at + work, DELAY, H, wake), (at + work, IN, L, 1)]
    traced = facts(*merged(ticks(1, 15, 0), records))
    result = check(traced, "jitter H < 900ms")
    assert not result.holds
    assert result.text == (
        "jitter of H 0.0 µs (4 starts), and 2 of 7 releases missed, the first at 6.000: "
        "the job before was not done; asked: < 900ms"
    )


def test_the_latency_of_a_periodic_start_begins_when_it_was_due() -> None:
    """Interrupts are masked from 1.5 to 4.2 ms: tick 2 is recorded, and H made ready, at 4.2."""
    masked = [(0, IN, H, 3), (50, DELAY, H, 2), (60, IN, L, 1), (1_000, TICK, 0, 1), (4_200, TICK, 0, 2)]
    starts = [(4_210, READY, H, 3), (4_220, IN, H, 3), (4_300, SLEEP, H, 99), (4_310, IN, L, 1)]
    traced = facts(*masked, *starts, *ticks(5, 12, 0), tick_hz=1e3)
    assert check(traced, "latency H < 1ms").text.startswith(
        "latency of H at most 2.220 ms, at 2.000 (1 time)"
    )


def test_short_times_are_told_in_microseconds() -> None:
    traced = facts((0, IN, L, 1), (MS, READY, H, 3), (MS + 99, IN, H, 3), (2 * MS, MARK, H, 0))
    assert check(traced, "latency H < 50us").text == (
        "latency of H at most 99.0 µs, at 1.000 (1 time); asked: < 50us"
    )


@pytest.mark.parametrize("words", ["latency H < 1ms", "wait H < 1ms", "no starvation", "no findings"])
def test_a_trace_of_counts_has_no_milliseconds(words: str) -> None:
    with pytest.raises(
        UsageError, match=r"^this trace has no milliseconds, only counts: set rtos-trace clock-hz$"
    ):
        check(trace(clock_hz=0.0), words)


@pytest.mark.parametrize("words", ["share M < 21%", "lost = 0"])
def test_shares_and_losses_need_none(words: str) -> None:
    assert check(trace(clock_hz=0.0), words).holds
    assert not check(trace(clock_hz=0.0), "no inversion").holds


@pytest.mark.parametrize("words", ["no findings", "no inversion", "no starvation", "share L < 1%"])
def test_a_trace_of_one_moment_says_nothing(words: str) -> None:
    with pytest.raises(UsageError, match=r"^this trace has no times"):
        check(facts((5, IN, L, 1)), words)


# -- what is not understood -------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        *(
            "latency H",
            "latency H 2ms",
            "latency H <",
            "< 2ms",
            "H < 2ms",
            "Latency H < 2ms",
            "latence H < 2ms",
        ),
        *(
            "no",
            "no problem",
            "no inversion H",
            "no starvation 10ms",
            "no starvation < 10ms",
            "no starvation >",
        ),
        *("no findings > 1", "lost", "x = 0", "=", "< < <"),
    ],
)
def test_other_words_are_refused_in_one_line_with_the_forms(words: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(trace(), words)
    assert str(refused.value) == "not understood: '%s'; one of: %s" % (words, _FORMS)
    assert "\n" not in _FORMS


@pytest.mark.parametrize("words", ["", "   "])
def test_no_words_at_all_are_answered_with_the_forms(words: str) -> None:
    with pytest.raises(UsageError, match=r"^nothing to check: latency TASK < 2ms; "):
        check(trace(), words)


@pytest.mark.parametrize("words", ["lost H = 0", "lost = 0ms", "lost = -1", "lost != 0", "lost = 1%"])
def test_losses_are_counted_in_records(words: str) -> None:
    with pytest.raises(UsageError, match=r"^expected `lost = 0`$"):
        check(trace(), words)


def test_every_form_that_is_offered_is_understood() -> None:
    for form in _FORMS.split("; "):
        for words in {form.replace("[", "").replace("]", ""), form.split(" [")[0] + form.partition("]")[2]}:
            check(trace(), words.replace("TASK", "H").replace("OBJECT", "lock"))
