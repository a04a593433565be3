"""The records of a ring become facts: who ran, who was ready, who waited for what, and until when."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ring_builder import H, L, M, Record, X, facts, findings, named, ready, runs, text

from gdb_prof.trace.events import (
    ALL,
    BASIC,
    CREATE,
    DELAY,
    DELETE,
    DISINHERIT,
    GIVE,
    GIVE_ISR,
    IN,
    INHERIT,
    ISR,
    ISR_END,
    MARK,
    NAME,
    NOTIFY_ISR,
    NOTIFY_TAKE,
    NOTIFY_WAIT,
    OBJECT,
    PEEK,
    PRIORITY,
    READY,
    SEND_WAIT,
    SLEEP,
    SUSPEND,
    TAKE,
    TAKE_FAIL,
    TICK,
    WAIT,
)
from gdb_prof.trace.interrupts import interrupt_times
from gdb_prof.trace.timeline import FAILED, OPEN, TAKEN, UNKNOWN, Timeline, Wait

LOCK = 7


def waits(traced: Timeline) -> List[Tuple[str, int, int, str]]:
    return [(traced.tasks[one.task].label, one.start, one.end, one.outcome) for one in traced.waits]


def meanwhile(traced: Timeline, wait: Wait) -> Dict[str, int]:
    return {task.label: ran for task, ran in zip(traced.tasks, wait.ran) if ran}


def only(traced: Timeline) -> Wait:
    (wait,) = traced.waits
    return wait


# -- running --------------------------------------------------------------------------


def test_a_task_runs_from_its_switch_to_the_next() -> None:
    traced = facts((0, IN, L, 1), (100, IN, H, 3), (130, IN, L, 1), (200, MARK, L, 0))
    assert runs(traced) == [("L", 0, 100), ("H", 100, 130), ("L", 130, 200)]
    assert dict(zip("LH", traced.ran)) == {"L": 170, "H": 30}
    assert (traced.span, traced.unknown, traced.switches) == (200, 0, (2, 1))


def test_until_the_first_switch_it_is_not_known_who_runs() -> None:
    lost = [(0, MARK, 0, 1)] * 4
    traced = facts(*lost, (0, MARK, 0, 1), (60, IN, L, 1), (100, MARK, L, 0), n=4)
    assert runs(traced) == [("L", 60, 100)]
    assert traced.unknown == 60
    assert "(not known)" in text(traced)


def test_a_whole_trace_begins_when_the_scheduler_starts() -> None:
    traced = facts((0, MARK, 0, 1), (60, IN, L, 1), (100, MARK, L, 0))
    assert (runs(traced), traced.start, traced.unknown) == ([("L", 60, 100)], 60, 0)
    assert "(not known)" not in text(traced)
    ticked = facts((0, TICK, 0, 1), (60, IN, L, 1), (100, MARK, L, 0))  # V9: it has started
    assert (ticked.start, ticked.unknown) == (0, 60)


def test_a_tick_says_who_runs_where_the_switch_is_overwritten() -> None:
    traced = facts((0, TICK, L, 1), (100, IN, H, 3), (130, MARK, H, 0))
    assert runs(traced) == [("L", 0, 100), ("H", 100, 130)]
    assert traced.remarks == ()


def test_v9_records_no_first_switch_and_task_0_until_the_second() -> None:
    traced = facts(
        (0, TAKE, 0, LOCK), (50, TICK, 0, 1), (100, IN, L, 1), (130, TICK, L, 2), (150, MARK, L, 0)
    )
    assert runs(traced) == [("L", 100, 150)]
    assert (traced.unknown, [task.label for task in traced.tasks]) == (100, ["L"])
    text(traced)


def test_a_record_of_a_task_that_was_not_switched_in_is_counted() -> None:
    traced = facts((0, IN, L, 1), (100, TICK, H, 1), (200, IN, L, 1), (250, MARK, L, 0))
    assert runs(traced) == [("L", 0, 100), ("H", 100, 200), ("L", 200, 250)]
    assert "1 record of a task that was not switched in: switches are missing" in traced.remarks


def test_a_switch_to_the_same_task_is_one_run() -> None:
    traced = facts((0, IN, L, 1), (40, IN, L, 1), (100, IN, H, 3), (101, MARK, H, 0))
    assert runs(traced) == [("L", 0, 100), ("H", 100, 101)]
    assert traced.switches == (1, 1)


def test_a_change_of_priority_divides_a_run() -> None:
    traced = facts((0, IN, L, 1), (40, INHERIT, L, 3), (70, DISINHERIT, L, 1), (90, MARK, L, 0))
    assert [(run.start, run.end, run.priority, run.inherited) for run in traced.runs] == [
        (0, 40, 1, False),
        (40, 70, 3, True),
        (70, 90, 1, False),
    ]


def test_the_trace_of_a_target_that_still_records_ends_when_it_was_stopped() -> None:
    traced = facts((0, IN, L, 1), (100, IN, H, 3), stopped_at=5_000)
    assert runs(traced) == [("L", 0, 100), ("H", 100, 5_000)]


def test_a_stop_before_the_last_record_adds_nothing() -> None:
    assert facts((0, IN, L, 1), (100, IN, H, 3), stopped_at=90).end == 100


def test_a_task_that_is_only_known_by_its_ticks_has_the_priority_that_the_debugger_read() -> None:
    records = [(0, TICK, L, 1), (100, IN, H, 3), (130, MARK, H, 0)]
    assert [run.priority for run in facts(*records, priorities={L: 1}).runs] == [1, 3]
    assert [run.priority for run in facts(*records).runs] == [-1, 3]


def test_a_new_priority_of_the_running_task_divides_its_run() -> None:
    traced = facts((0, IN, L, 1), (40, PRIORITY, L, L | 2 << 8), (41, READY, L, 2), (90, MARK, L, 0))
    assert [(run.start, run.end, run.priority) for run in traced.runs] == [(0, 41, 1), (41, 90, 2)]
    assert ready(traced) == []


# -- ready ----------------------------------------------------------------------------

READIED_TWICE = [(1, READY, H, 3), (5, READY, H, 3), (8, IN, H, 3), (9, MARK, H, 0)]


def test_a_task_readied_twice_is_ready_since_the_first_time() -> None:
    traced = facts((0, IN, H, 3), (0, SLEEP, H, 9), (0, IN, L, 1), *READIED_TWICE)
    assert ready(traced) == [("H", 1, 8), ("L", 8, 9)]
    assert traced.ready[0].woken


def test_a_task_is_ready_from_its_ready_record_until_it_runs() -> None:
    traced = facts((0, IN, L, 1), (10, READY, H, 3), (15, IN, H, 3), (20, MARK, H, 0))
    (one, rest) = traced.ready
    assert (one.start, one.end, one.woken, one.open) == (10, 15, True, False)
    assert (rest.start, rest.end, rest.woken, rest.open) == (15, 20, False, True)  # L: preempted


def test_a_preempted_task_is_ready_all_the_time_that_it_does_not_run() -> None:
    traced = facts((0, IN, L, 1), (100, IN, H, 3), (130, IN, L, 1), (140, MARK, L, 0))
    assert ready(traced) == [("L", 100, 130)]
    assert not traced.ready[0].woken


def test_a_task_that_blocked_is_not_ready_until_it_is_made_so() -> None:
    traced = facts(
        *[
            (0, IN, H, 3),
            (10, SLEEP, H, 5),
            (15, IN, L, 1),
            (50, READY, H, 3),
            (58, IN, H, 3),
            (60, MARK, H, 0),
        ]
    )
    assert ready(traced) == [("H", 50, 58), ("L", 58, 60)]


def test_a_task_that_gave_way_to_a_lower_one_blocked_even_if_no_record_says_so() -> None:
    """The timer task has no hook where it blocks: it does not starve from then on."""
    records = [(0, IN, H, 3), (10, IN, L, 1), (50_000, MARK, L, 0)]
    assert ready(facts(*records)) == []
    assert ready(facts(*records, recorded=ALL)) == []
    assert findings(facts(*records, recorded=ALL, tasks={X: "X"}, priorities={X: 0})) == [
        ("never-blocks", "L")
    ]


def test_a_task_that_gave_way_to_an_equal_one_is_ready_if_the_recorder_would_say_else() -> None:
    records = [(0, IN, M, 2), (10, IN, X, 2), (500, MARK, X, 0)]
    assert ready(facts(*records, recorded=ALL)) == [("M", 10, 500)]
    assert ready(facts(*records)) == []  # the published recorder does not record all that blocks


def test_nobody_is_ready_before_the_scheduler_starts() -> None:
    """Created at 0 and 5, 80 ms of initialisation, then the scheduler."""
    created = [(0, READY, H, 3), (5, READY, L, 1), (80_000, IN, H, 3)]
    rest = [(80_100, SLEEP, H, 99), (80_110, IN, L, 1), (80_200, MARK, L, 0)]
    assert ready(facts(*created, *rest)) == [("L", 80_000, 80_110)]
    lost = [(0, MARK, 0, 1)] * 8  # it may have run already
    assert ready(facts(*lost, *created, *rest, n=8)) == [("H", 0, 80_000), ("L", 5, 80_110)]


ONLY_SWITCHES = frozenset((IN, TICK))


def test_where_neither_ready_nor_blocking_is_recorded_only_the_preempted_are_ready() -> None:
    equal = [(0, IN, M, 2), (10, IN, X, 2), (500, IN, M, 2), (600, MARK, M, 0)]
    assert ready(facts(*equal, recorded=ONLY_SWITCHES)) == []
    assert ready(facts(*equal)) == [("M", 10, 500)]  # M, had it blocked, would have been readied
    higher = [(0, IN, M, 2), (10, IN, H, 3), (500, IN, M, 2), (600, MARK, M, 0)]
    assert ready(facts(*higher, recorded=ONLY_SWITCHES)) == [("M", 10, 500)]


def test_a_preempted_task_was_not_ready_if_a_lower_one_came_to_run() -> None:
    """H suspends M: not recorded."""
    records = [(0, IN, M, 2), (10, IN, H, 3), (50, IN, L, 1), (900, IN, H, 3), (950, IN, M, 2)]
    assert ("M", 10, 950) not in ready(facts(*records, recorded=ONLY_SWITCHES))
    assert ("M", 10, 900) not in ready(facts(*records[:4], recorded=ONLY_SWITCHES))
    as_high = [(time, code, task, 2 if task == L else p) for time, code, task, p in records]
    assert ("M", 10, 950) in ready(facts(*as_high, recorded=ONLY_SWITCHES))


def test_a_task_that_was_lowered_while_it_was_ready_gives_way_to_more() -> None:
    """L inherited 3, is preempted by X, and disinherits when the wait times out: M runs before it."""
    lowered = [(0, IN, L, 3), (10, IN, X, 4), (20, DISINHERIT, L, 1), (21, READY, L, 1)]
    rest = [(30, SLEEP, X, 9), (32, IN, M, 2), (60, SLEEP, M, 9), (61, IN, L, 1), (70, MARK, L, 0)]
    assert ready(facts(*lowered, *rest, recorded=ALL)) == [("L", 10, 61)]


@pytest.mark.parametrize("end", [(90, SUSPEND, X, L), (90, DELETE, L, X)])
def test_a_time_that_a_suspension_or_a_deletion_ends_is_ready_but_no_latency(end: Record) -> None:
    records = [(0, IN, M, 2), (5, READY, L, 1), (80, READY, X, 4), (81, IN, X, 4), end]
    traced = facts(*records, (95, SLEEP, X, 9), (96, IN, M, 2), (100, MARK, M, 0))
    assert ready(traced) == [("X", 80, 81), ("L", 5, 90), ("M", 81, 96)]
    of_l = traced.ready[1]
    assert (of_l.woken, of_l.on_time, of_l.open) == (False, False, False)


def test_a_task_that_suspended_itself_or_another_is_not_ready() -> None:
    traced = facts(
        *[(0, IN, L, 1), (5, READY, H, 3), (10, IN, H, 3), (20, SUSPEND, H, L), (30, SUSPEND, H, H)],
        *[(31, IN, X, 0), (60, MARK, X, 0)],
    )
    assert ready(traced) == [("H", 5, 10), ("L", 10, 20)]


def test_the_ready_of_an_inheritance_is_no_waking() -> None:
    """The kernel takes a ready holder from one ready list to another."""
    traced = facts(
        *[(0, IN, L, 1), (5, TAKE, L, LOCK), (100, READY, H, 3), (105, IN, H, 3), (110, WAIT, H, LOCK)],
        *[(115, READY, L, 3), (118, INHERIT, L, 3), (120, IN, L, 3), (130, MARK, L, 0)],
    )
    assert ready(traced) == [("H", 100, 105), ("L", 105, 120)]
    assert not traced.ready[1].woken
    assert (traced.runs[-1].priority, traced.runs[-1].inherited) == (3, True)
    assert traced.blocked.get(named(traced, "L")) in (None, False)


def test_an_inheritance_keeps_since_when_a_woken_holder_was_ready() -> None:
    traced = facts(
        *[(0, IN, H, 3), (50, READY, L, 1), (110, WAIT, H, LOCK), (115, READY, L, 3), (118, INHERIT, L, 3)],
        *[(120, IN, L, 3), (130, MARK, L, 0)],
    )
    assert ready(traced) == [("L", 50, 120)]
    assert traced.ready[0].woken


def test_the_ready_of_a_disinheritance_is_no_waking() -> None:
    traced = facts(
        *[(0, IN, L, 3), (10, GIVE, L, LOCK), (12, DISINHERIT, L, 1), (14, READY, L, 1)],
        *[(16, READY, H, 3), (20, IN, H, 3), (30, IN, L, 1), (40, MARK, L, 0)],
    )
    assert ready(traced) == [("H", 16, 20), ("L", 20, 30)]
    assert traced.runs[-1].priority == 1


def test_a_wait_that_times_out_moves_the_holder_back_without_waking_it() -> None:
    """DISINHERIT and READY of a task that was preempted before."""
    traced = facts(
        *[(0, IN, L, 3), (100, READY, X, 4), (105, IN, X, 4), (200, DISINHERIT, L, 1), (202, READY, L, 1)],
        *[(210, SLEEP, X, 9), (220, IN, L, 1), (230, MARK, L, 0)],
    )
    assert ready(traced) == [("X", 100, 105), ("L", 105, 220)]
    assert not traced.ready[1].woken


def test_a_new_priority_moves_a_ready_task_without_waking_it() -> None:
    traced = facts(
        *[
            (0, IN, L, 1),
            (100, READY, H, 3),
            (105, IN, H, 3),
            (150, PRIORITY, H, L | 2 << 8),
            (152, READY, L, 2),
        ],
        *[(160, SLEEP, H, 9), (170, IN, L, 2), (180, MARK, L, 0)],
    )
    assert ready(traced) == [("H", 100, 105), ("L", 105, 170)]
    assert traced.tasks[named(traced, "L")].priority == 2


def test_a_task_woken_after_a_new_priority_is_woken() -> None:
    traced = facts(
        *[(0, IN, L, 1), (10, SLEEP, L, 9), (12, IN, H, 3), (20, PRIORITY, H, L | 2 << 8), (30, READY, L, 2)],
        *[(40, SLEEP, H, 9), (45, IN, L, 2), (50, MARK, L, 0)],
    )
    assert ready(traced) == [("L", 30, 45)]
    assert traced.ready[0].woken


def test_a_task_readied_before_it_was_switched_out_goes_on() -> None:
    traced = facts(
        *[(0, IN, H, 3), (10, WAIT, H, LOCK), (12, READY, H, 3), (14, IN, H, 3), (16, TAKE, H, LOCK)],
        (20, MARK, H, 0),
    )
    assert runs(traced) == [("H", 0, 20)]
    assert ready(traced) == [("H", 12, 14)]
    assert waits(traced) == [("H", 10, 16, TAKEN)]


@pytest.mark.parametrize(("code", "on_time"), [(DELAY, True), (SLEEP, False)])
def test_only_a_delay_until_makes_a_start_periodic(code: int, on_time: bool) -> None:
    traced = facts(
        *[(0, IN, H, 3), (10, code, H, 5), (12, IN, L, 0), (5_000, READY, H, 3), (5_010, IN, H, 3)],
        (5_020, MARK, H, 0),
    )
    assert [one.on_time for one in traced.ready if one.woken] == [on_time]


# -- waiting --------------------------------------------------------------------------

H_WAITS = [(0, IN, L, 1), (10, READY, H, 3), (12, IN, H, 3), (20, WAIT, H, LOCK), (22, IN, L, 1)]
H_IS_BACK = [(100, READY, H, 3), (104, IN, H, 3)]


def test_a_wait_ends_when_the_object_is_taken() -> None:
    traced = facts(*H_WAITS, (99, GIVE, L, LOCK), *H_IS_BACK, (106, TAKE, H, LOCK), (110, MARK, H, 0))
    wait = only(traced)
    assert waits(traced) == [("H", 20, 106, TAKEN)]
    assert meanwhile(traced, wait) == {"L": 82, "H": 4}
    assert (wait.object, wait.priority) == (LOCK, 3)


def test_a_peek_ends_a_wait() -> None:
    assert waits(facts(*H_WAITS, *H_IS_BACK, (106, PEEK, H, LOCK))) == [("H", 20, 106, TAKEN)]


def test_a_wait_for_room_ends_with_the_sending() -> None:
    traced = facts((0, IN, H, 3), (5, SEND_WAIT, H, LOCK), (8, IN, L, 1), *H_IS_BACK, (106, GIVE, H, LOCK))
    assert waits(traced) == [("H", 5, 106, TAKEN)]
    assert traced.target(only(traced)) == "room in queue7"


def test_a_wait_for_a_notification_is_for_no_object() -> None:
    traced = facts((0, IN, H, 3), (5, NOTIFY_WAIT, H, 1), (8, IN, L, 1), *H_IS_BACK, (106, NOTIFY_TAKE, H, 0))
    assert waits(traced) == [("H", 5, 106, TAKEN)]
    assert traced.target(only(traced)) == "a notification"
    assert traced.users == {}


def test_a_wait_that_timed_out_says_so_where_that_is_recorded() -> None:
    traced = facts(*H_WAITS, *H_IS_BACK, (106, TAKE_FAIL, H, LOCK), (110, MARK, H, 0))
    assert waits(traced) == [("H", 20, 106, FAILED)]


def test_a_wait_whose_end_is_not_recorded_ended_when_the_task_ran_again() -> None:
    """The published recorder has no record of a time-out."""
    traced = facts(
        *[*H_WAITS, *H_IS_BACK, (150, READY, X, 4), (152, IN, X, 4), (190, IN, H, 3)],
        *[(200, GIVE, H, 9), (210, MARK, H, 0)],
    )
    assert waits(traced) == [("H", 20, 104, UNKNOWN)]  # neither 190, nor 200
    assert meanwhile(traced, only(traced)) == {"L": 82, "H": 2}


def test_a_delay_ends_a_wait_whose_end_is_not_recorded() -> None:
    traced = facts(*H_WAITS, *H_IS_BACK, (150, DELAY, H, 9), (152, IN, L, 1), (900, GIVE, L, LOCK))
    assert waits(traced) == [("H", 20, 104, UNKNOWN)]


def test_a_task_that_has_run_since_does_not_wait_any_more() -> None:
    traced = facts(*H_WAITS, *H_IS_BACK, (5_000, MARK, H, 0))
    assert waits(traced) == [("H", 20, 104, UNKNOWN)]


def test_a_wait_goes_on_when_somebody_else_was_faster() -> None:
    traced = facts(
        *[
            *H_WAITS,
            (99, GIVE, L, LOCK),
            (100, READY, H, 3),
            (101, IN, X, 4),
            (102, TAKE, X, LOCK),
            (103, IN, H, 3),
        ],
        *[(105, WAIT, H, LOCK), (107, IN, X, 4), (200, GIVE, X, LOCK), (201, IN, H, 3), (203, TAKE, H, LOCK)],
    )
    assert waits(traced) == [("H", 20, 203, TAKEN)]
    assert meanwhile(traced, only(traced)) == {"L": 79, "X": 96, "H": 8}
    assert traced.switches[named(traced, "H")] == 3


@pytest.mark.parametrize("recorded", [None, BASIC])
def test_waiting_again_after_a_time_out_that_is_not_recorded_is_another_wait(recorded: Any) -> None:
    again = [(200, WAIT, H, LOCK), (202, IN, L, 1), (300, READY, H, 3), (303, IN, H, 3), (305, TAKE, H, LOCK)]
    traced = facts(*H_WAITS, *H_IS_BACK, *again, recorded=recorded)
    assert waits(traced) == [("H", 20, 104, UNKNOWN), ("H", 200, 305, TAKEN)]


def test_a_wait_that_is_not_over_is_open() -> None:
    traced = facts(*H_WAITS, (500, MARK, L, 0))
    assert waits(traced) == [("H", 20, 500, OPEN)]
    assert meanwhile(traced, only(traced)) == {"L": 478, "H": 2}
    assert "L 0.478 (still waits)" in text(traced)


def test_who_holds_the_object_is_who_took_it_last() -> None:
    held = facts((0, IN, L, 1), (5, TAKE, L, LOCK), *[(t + 6, c, k, a) for t, c, k, a in H_WAITS])
    wait = only(held)
    assert held.tasks[wait.holder].label == "L"
    free = facts(
        (0, IN, L, 1), (5, TAKE, L, LOCK), (6, GIVE, L, LOCK), *[(t + 6, c, k, a) for t, c, k, a in H_WAITS]
    )
    assert only(free).holder == -1


def test_an_inheritance_tells_who_holds_what_was_taken_before_the_trace() -> None:
    traced = facts(*H_WAITS[:4], (21, READY, L, 3), (22, INHERIT, L, 3), (24, IN, L, 3), (100, MARK, L, 0))
    wait = only(traced)
    assert (traced.tasks[wait.holder].label, wait.inherited) == ("L", True)


def test_a_priority_inherited_for_another_object_counts_only_if_it_is_high_enough() -> None:
    """L inherits 2 from M by another lock while H, of 3, waits."""
    held = [(0, IN, L, 1), (1, TAKE, L, LOCK), (2, TAKE, L, 9)]
    h_waits = [(10, IN, H, 3), (20, WAIT, H, LOCK), (22, IN, M, 2), (30, WAIT, M, 9)]
    traced = facts(*held, *h_waits, (31, INHERIT, L, 2), (33, IN, L, 2), (90, MARK, L, 0))
    assert {traced.tasks[one.task].label: one.inherited for one in traced.waits} == {"H": False, "M": True}


def test_what_ran_during_a_wait_is_what_the_runs_say() -> None:
    traced = facts(*H_WAITS, (50, IN, M, 2), (80, IN, L, 1), *H_IS_BACK, (106, TAKE, H, LOCK))
    assert overlaps(traced, only(traced)) == only(traced).ran


# -- lives ----------------------------------------------------------------------------


def name(time: int, task: int, text_: str) -> List[Record]:
    raw = text_.encode() + b"\0" * (2 - len(text_) % 2)
    return [(time, NAME, task, raw[i] | raw[i + 1] << 8) for i in range(0, len(raw), 2)]


def test_a_deleted_task_keeps_its_name_and_what_it_ran() -> None:
    """Case 45: A 15, B 40, A shown as deleted. The memory of A is gone."""
    traced = facts(
        *[(0, CREATE, 5, 2), *name(0, 5, "A"), (5, IN, 5, 2), (20, DELETE, 5, 5), *name(20, 5, "A")],
        *[(20, IN, 6, 1), (60, MARK, 6, 0)],
        names={5: b"\xa5" * 8, 6: "B"},
    )
    assert {task.label: ran for task, ran in zip(traced.tasks, traced.ran)} == {"A": 15, "B": 40}
    assert [(task.label, task.created, task.deleted) for task in traced.tasks] == [
        ("A", 0, 20),
        ("B", None, None),
    ]
    assert "A (deleted)" in text(traced)


def test_a_task_that_deleted_itself_is_not_ready_any_more() -> None:
    traced = facts((0, IN, H, 3), (20, DELETE, H, H), (21, IN, X, 3), (60, MARK, X, 0), recorded=ALL)
    assert ready(traced) == []


def test_a_deleted_task_without_a_recorded_name_has_that_in_the_block() -> None:
    traced = facts((0, IN, H, 3), (20, DELETE, H, H), (21, IN, X, 3), tasks={H: "whose memory it is now"})
    assert [task.label for task in traced.tasks] == ["H", "X"]


def test_a_number_given_again_is_another_task() -> None:
    traced = facts(
        *[(0, CREATE, 5, 2), *name(0, 5, "first"), (5, IN, 5, 2), (20, DELETE, 5, 5), *name(20, 5, "first")],
        *[(20, IN, L, 1), (30, CREATE, 5, 3), *name(30, 5, "second"), (31, READY, 5, 3), (40, IN, 5, 3)],
        (100, MARK, 5, 0),
        names={5: "second", L: "L"},
    )
    assert runs(traced) == [("first", 5, 20), ("L", 20, 40), ("second", 40, 100)]


def test_a_worker_created_again_and_again_has_a_label_for_each_life() -> None:
    lives: List[Record] = []
    for i in range(3):
        at = 100 * i
        lives += [(at, CREATE, 5, 2), *name(at, 5, "worker"), (at + 10, IN, 5, 2), (at + 50, DELETE, 5, 5)]
        lives += [*name(at + 50, 5, "worker"), (at + 51, IN, L, 1)]
    traced = facts(*lives)
    assert [task.label for task in traced.tasks] == ["worker#5", "L", "worker#5.2", "worker#5.3"]


@pytest.mark.parametrize("label", ["A", "four", "seventeen letters"])
def test_a_recorded_name_has_any_length(label: str) -> None:
    traced = facts((0, CREATE, 9, 1), *name(0, 9, label), (5, IN, 9, 1), (9, MARK, 9, 0))
    assert [task.label for task in traced.tasks] == [label]


def test_a_name_without_an_end_stops_with_its_records() -> None:
    traced = facts((0, CREATE, 9, 1), (0, NAME, 9, 0x4241), (5, IN, 9, 1), (9, MARK, 9, 0))
    assert [task.label for task in traced.tasks] == ["AB"]


def test_a_creation_as_the_last_record_makes_a_task() -> None:
    assert [task.number for task in facts((0, CREATE, 9, 1)).tasks] == [9]


def test_a_wait_of_a_deleted_task_is_over() -> None:
    traced = facts(*H_WAITS, (60, DELETE, H, L), (90, MARK, L, 0))
    assert waits(traced) == [("H", 20, 60, UNKNOWN)]
    assert ready(traced) == [("H", 10, 12), ("L", 12, 22)]


def test_a_created_object_has_its_kind_and_the_debuggers_name_comes_first() -> None:
    traced = facts((0, OBJECT, 3, LOCK), *H_WAITS)
    assert traced.object_name(LOCK) == "binary semaphore 7"
    assert facts(*H_WAITS).object_name(LOCK) == "queue7"


def test_the_idle_task_is_known_even_if_it_never_ran() -> None:
    by_name = facts((0, IN, L, 1), (9, MARK, L, 0), names={L: "L", 6: "IDLE"})
    assert [(task.label, task.idle) for task in by_name.tasks] == [("L", False), ("IDLE", True)]
    by_number = facts((0, IN, L, 1), (9, MARK, L, 0), idle=6, tasks={6: "rest"})
    assert [(task.label, task.idle) for task in by_number.tasks] == [("L", False), ("rest", True)]
    assert facts(idle=6).tasks == ()


# -- interrupts -----------------------------------------------------------------------


def spans(traced: Timeline) -> List[Tuple[int, int, int]]:
    return [(one.exception, one.start, one.end) for one in traced.interrupts]


def test_interrupts_nest_and_their_own_times_do_not_count_twice() -> None:
    traced = facts(
        *[(0, IN, L, 1), (10, ISR, L, 20), (13, ISR, L, 21), (17, ISR_END, L, 21), (20, ISR_END, L, 20)],
        *[(30, ISR, L, 21), (31, ISR_END, L, 21)],
    )
    assert spans(traced) == [(21, 13, 17), (20, 10, 20), (21, 30, 31)]
    assert interrupt_times(traced.interrupts) == {20: (1, 6, 10), 21: (2, 5, 4)}
    assert "IRQ 4" in text(traced)


def test_an_interrupts_end_without_a_beginning_counts_for_nothing() -> None:
    traced = facts((0, ISR_END, L, 20), (10, ISR, L, 21), (12, ISR_END, L, 20), (14, ISR_END, L, 21))
    assert spans(traced) == [(21, 10, 14)]


def test_a_beginning_without_an_end_is_given_up_when_the_outer_one_ends() -> None:
    traced = facts((0, ISR, L, 20), (5, ISR, L, 21), (9, ISR_END, L, 20), (12, ISR_END, L, 21))
    assert spans(traced) == [(20, 0, 9)]


# -- anything plausible ------------------------------------------------------------------


def overlaps(traced: Timeline, wait: Wait) -> Tuple[int, ...]:
    """What each task ran during a wait, counted naively."""
    found = [0] * len(traced.tasks)
    for run in traced.runs:
        found[run.task] += max(0, min(run.end, wait.end) - max(run.start, wait.start))
    assert not any(found[len(wait.ran) :])  # tasks that the trace does not know yet
    return tuple(found[: len(wait.ran)])


@st.composite
def histories(draw: Any) -> List[Record]:
    """Four tasks that switch, block, wake, and share two objects, as a kernel would record it."""
    time, current = 0, L
    records: List[Record] = [(0, IN, L, 1)]
    for _ in range(draw(st.integers(1, 40))):
        time += draw(st.sampled_from([0, 1, 7, 100, 1_000]))
        what = draw(
            st.sampled_from([IN, IN, IN, READY, TICK, WAIT, TAKE, GIVE, TAKE_FAIL, SLEEP, GIVE_ISR, INHERIT])
        )
        task = draw(st.integers(1, 4))
        if what == IN:
            current = task
            records.append((time, IN, task, task))
        elif what in (READY, INHERIT):
            records.append((time, what, task, task))
        elif what == TICK:
            records.append((time, TICK, current, time // 1_000))
        else:
            records.append((time, what, current, draw(st.integers(1, 2))))
            if what in (WAIT, SLEEP):
                current = task
                records.append((time + 1, IN, task, task))
                time += 1
    records.append((time, MARK, current, 0))
    return records


@settings(max_examples=300, derandomize=True)
@given(histories(), st.sampled_from([None, ALL, BASIC]))
def test_the_sums_are_right_whatever_happened(records: Sequence[Record], recorded: Any) -> None:
    traced = facts(*records, recorded=recorded)
    assert sum(traced.ran) + traced.unknown == traced.span
    assert sum(run.end - run.start for run in traced.runs) == sum(traced.ran)
    for before, after in zip(traced.runs, traced.runs[1:]):
        assert before.end <= after.start
    assert all(traced.start <= run.start < run.end <= traced.end for run in traced.runs)
    for wait in traced.waits:
        assert traced.start <= wait.start <= wait.end <= traced.end
        assert wait.ran == overlaps(traced, wait)
    for one in traced.ready:
        assert traced.start <= one.start <= one.end <= traced.end
        assert not any(
            run.task == one.task and run.start < one.end and run.end > one.start for run in traced.runs
        )


def test_a_wait_for_a_notification_that_nobody_sent_timed_out() -> None:
    """The kernel says NOTIFY_TAKE of both; only the second was answered, by an interrupt."""
    records = [
        *[(0, IN, H, 3), (10, NOTIFY_WAIT, H, 0), (20, IN, L, 1), (500, READY, H, 3), (510, IN, H, 3)],
        *[(520, NOTIFY_TAKE, H, 0), (600, NOTIFY_WAIT, H, 0), (610, IN, L, 1), (700, NOTIFY_ISR, L, H)],
        *[(710, READY, H, 3), (720, IN, H, 3), (730, NOTIFY_TAKE, H, 0), (800, TICK, H, 1)],
    ]
    outcomes = [wait.outcome for wait in facts(*records, recorded=ALL).waits]
    assert outcomes == ["timed out", "taken"]
    assert [wait.outcome for wait in facts(*records).waits] == ["taken", "taken"]  # not recorded there
