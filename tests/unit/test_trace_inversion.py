"""A priority inversion is a wait for a lock that a third, lower task prolongs; and nothing else is."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest
from ring_builder import MS, H, L, M, Record, X, facts, named, text

from gdb_prof.trace.events import (
    ALL,
    DISINHERIT,
    GIVE,
    GIVE_ISR,
    IN,
    INHERIT,
    MARK,
    OBJECT,
    PRIORITY,
    READY,
    SEND_WAIT,
    SLEEP,
    TAKE,
    TAKE_FAIL,
    TICK,
    WAIT,
)
from gdb_prof.trace.inversion import inversions
from gdb_prof.trace.naming import label
from gdb_prof.trace.timeline import Timeline

LOCK = 7
QUEUE, MUTEX, COUNTING, BINARY, RECURSIVE = 0, 1, 2, 3, 4

BEGINS: List[Record] = [(0, IN, L, 1), (1 * MS - 100, TAKE, L, LOCK)]
H_WAITS: List[Record] = [
    (1 * MS, READY, H, 3),
    (1 * MS, IN, H, 3),
    (1 * MS, WAIT, H, LOCK),
    (1 * MS, IN, L, 1),
]
M_RUNS: List[Record] = [(2 * MS, READY, M, 2), (2 * MS, IN, M, 2), (8 * MS, SLEEP, M, 99), (8 * MS, IN, L, 1)]
L_GIVES: List[Record] = [(10 * MS, GIVE, L, LOCK), (10 * MS, READY, H, 3), (10 * MS, IN, H, 3)]
H_TAKES: List[Record] = [(10 * MS, TAKE, H, LOCK), (11 * MS, GIVE, H, LOCK), (11 * MS, MARK, H, 0)]
INVERTED = BEGINS + H_WAITS + M_RUNS + L_GIVES + H_TAKES
"""H waits from 1 to 10 ms for what L has; M keeps L from running for 6 of them."""


def kind(number: int) -> List[Record]:
    return [(0, OBJECT, number, LOCK)]


def without(records: Sequence[Record], *left_out: Record) -> List[Record]:
    return [record for record in records if record not in left_out]


def found(traced: Timeline) -> List[Tuple[str, int, int, float]]:
    """Who waited, from, to, and how much of it was stolen."""
    return [(traced.tasks[one.task].label, one.start, one.end, one.size) for one in inversions(traced)]


def the_one() -> List[Tuple[str, int, int, float]]:
    return [("H", 1 * MS, 10 * MS, 6 * MS)]


def test_a_binary_semaphore_as_a_lock_inverts_priorities() -> None:
    traced = facts(*kind(BINARY), *INVERTED)
    assert found(traced) == the_one()
    assert inversions(traced)[0].text == (
        "Priority inversion: H (3) waited 9.000 ms for binary semaphore 7, 1.000 to 10.000, held by L (1). "
        "M (2), which does not use it, ran 6.000 ms of that. Nothing was inherited: binary semaphore 7 is a "
        "binary semaphore. With a mutex the wait would be what L still had to do, 3.000 ms."
    )


@pytest.mark.parametrize("what", [None, BINARY, MUTEX, RECURSIVE])
def test_so_does_any_lock_for_which_nothing_was_inherited(what: Optional[int]) -> None:
    assert found(facts(*([] if what is None else kind(what)), *INVERTED)) == the_one()


def test_a_mutex_that_did_not_inherit_is_not_answered_with_a_mutex() -> None:
    traced = facts(*kind(MUTEX), *INVERTED)
    assert "Nothing was inherited, though mutex 7 is a mutex." in inversions(traced)[0].text
    assert "With a mutex" not in inversions(traced)[0].text


@pytest.mark.parametrize("what", [QUEUE, COUNTING])
def test_what_nobody_holds_is_no_lock(what: int) -> None:
    assert found(facts(*kind(what), *INVERTED)) == []


def test_waiting_for_room_is_no_inversion() -> None:
    records = [(t, SEND_WAIT if code == WAIT else code, task, a) for t, code, task, a in INVERTED]
    assert found(facts(*records)) == []


def test_a_mutex_that_inherits_is_no_inversion() -> None:
    inherits = [(1 * MS, READY, L, 3), (1 * MS, INHERIT, L, 3), (1 * MS, IN, L, 3)]
    gives = [
        (4 * MS, GIVE, L, LOCK),
        (4 * MS, DISINHERIT, L, 1),
        (4 * MS, READY, L, 1),
        (4 * MS, READY, H, 3),
    ]
    rest = [(4 * MS, IN, H, 3), (4 * MS, TAKE, H, LOCK), (5 * MS, GIVE, H, LOCK), (5 * MS, MARK, H, 0)]
    m_wakes = [(2 * MS, READY, M, 2)]
    traced = facts(*kind(MUTEX), *BEGINS, *H_WAITS[:3], *inherits, *m_wakes, *gives, *rest)
    assert found(traced) == []
    assert traced.waits[0].inherited


# -- a signal is no lock ------------------------------------------------------------------


def test_a_semaphore_that_another_task_gives_is_a_signal() -> None:
    """L consumed it once; X gives it, M runs meanwhile: nothing that L held."""
    x_gives = [(10 * MS, IN, X, 4), (10 * MS, GIVE, X, LOCK), (10 * MS, READY, H, 3), (10 * MS, IN, H, 3)]
    assert found(facts(*kind(BINARY), *BEGINS, *H_WAITS, *M_RUNS, *x_gives, *H_TAKES)) == []


def test_a_semaphore_that_an_interrupt_gives_is_a_signal() -> None:
    isr_gives = [(10 * MS, GIVE_ISR, L, LOCK), (10 * MS, READY, H, 3), (10 * MS, IN, H, 3)]
    assert found(facts(*kind(BINARY), *BEGINS, *H_WAITS, *M_RUNS, *isr_gives, *H_TAKES)) == []


@pytest.mark.parametrize("giver", [(500, GIVE_ISR, L, LOCK), (500, GIVE, X, LOCK)])
def test_a_signal_that_does_not_come_is_no_inversion(giver: Record) -> None:
    """It was given by others before; L and H are two consumers, and nobody gives now."""
    before = [(0, IN, L, 1), (100, TAKE, L, LOCK), giver, (600, IN, L, 1), (700, TAKE, L, LOCK)]
    timed_out = [
        (10 * MS, READY, H, 3),
        (10 * MS, IN, H, 3),
        (10 * MS, TAKE_FAIL, H, LOCK),
        (11 * MS, MARK, H, 0),
    ]
    assert found(facts(*before, *H_WAITS, *M_RUNS, *timed_out)) == []
    assert found(facts(*before, *H_WAITS, *M_RUNS)) == []


def test_the_first_giving_of_a_new_semaphore_makes_it_no_signal() -> None:
    """A binary semaphore is created empty: whoever creates it gives it once."""
    assert found(facts((0, IN, X, 4), (5, GIVE, X, LOCK), (6, IN, L, 1), *INVERTED[1:])) == the_one()


# -- who ran ----------------------------------------------------------------------------


def test_a_task_of_the_waiters_own_priority_is_no_inversion() -> None:
    records = [
        (t, code, task, 3 if task == M and code in (IN, READY) else a) for t, code, task, a in INVERTED
    ]
    assert found(facts(*records)) == []


def test_a_task_of_unknown_priority_is_not_accused() -> None:
    """Its switch is overwritten: only its records say that it runs."""
    m_runs = [(8 * MS, SLEEP, M, 99), (8 * MS, IN, L, 1)]
    assert found(facts(*BEGINS, *H_WAITS, *m_runs, *L_GIVES, *H_TAKES)) == []


def test_what_the_holder_slept_is_not_stolen() -> None:
    """L blocks from 1.5 to 5 ms; M runs from 2 to 8: it keeps L waiting from 5 on."""
    sleeps = [(1500, SLEEP, L, 5), (1500, IN, X, 0)]
    wakes = [(5 * MS, READY, L, 1)]
    traced = facts(*BEGINS, *H_WAITS, *sleeps, *M_RUNS[:2], *wakes, *M_RUNS[2:], *L_GIVES, *H_TAKES)
    assert found(traced) == [("H", 1 * MS, 10 * MS, 3 * MS)]


def test_a_holder_that_slept_all_the_time_was_kept_by_nobody() -> None:
    sleeps = [(1500, SLEEP, L, 9), (1500, IN, X, 0)]
    wakes = [(9 * MS, READY, L, 1), (9 * MS, IN, L, 1)]
    traced = facts(*BEGINS, *H_WAITS, *sleeps, *M_RUNS[:3], (8 * MS, IN, X, 0), *wakes, *L_GIVES, *H_TAKES)
    assert found(traced) == []


def test_less_than_a_hundredth_of_the_wait_is_none() -> None:
    def with_m_for(counts: int) -> List[Record]:
        m_runs = [(2 * MS, READY, M, 2), (2 * MS, IN, M, 2), (2 * MS + counts, SLEEP, M, 99)]
        return [*BEGINS, *H_WAITS, *m_runs, (2 * MS + counts, IN, L, 1), *L_GIVES, *H_TAKES]

    assert found(facts(*with_m_for(90))) == []
    assert found(facts(*with_m_for(91))) == [("H", 1 * MS, 10 * MS, 91)]


def test_several_thieves_are_all_named() -> None:
    x_runs = [(9 * MS, IN, X, 2), (9500, SLEEP, X, 99), (9500, IN, L, 1)]
    traced = facts(*BEGINS, *H_WAITS, *M_RUNS, *x_runs, *L_GIVES, *H_TAKES)
    assert found(traced) == [("H", 1 * MS, 10 * MS, 6500)]
    assert "M (2) and X (2), which do not use it, ran 6.500 ms of that." in inversions(traced)[0].text


def test_a_thief_that_uses_the_lock_itself_is_not_called_innocent() -> None:
    m_uses = [(50, IN, M, 2), (60, TAKE, M, LOCK), (70, GIVE, M, LOCK), (80, IN, L, 1)]
    traced = facts((0, IN, L, 1), *m_uses, *INVERTED[1:])
    assert "M (2) ran 6.000 ms of that." in inversions(traced)[0].text


def test_a_task_is_shown_with_its_own_priority_not_with_one_inherited() -> None:
    """L inherited 2 from X by another lock, which it still has."""
    other = [(50, READY, X, 2), (50, IN, X, 2), (60, WAIT, X, 9), (60, INHERIT, L, 2), (60, IN, L, 2)]
    traced = facts(*BEGINS, *[(1 * MS - 100 + t // 2, *rest) for t, *rest in other], *H_WAITS)
    assert label(traced, named(traced, "L")) == "L (1)"
    raised = facts((0, IN, L, 1), (5, IN, X, 4), (9, IN, L, 2), (12, MARK, L, 0))
    assert label(raised, named(raised, "L")) == "L (2)"
    assert traced.tasks[named(traced, "L")].priority == 1


# -- the edges of the trace ----------------------------------------------------------------


def test_a_mutex_taken_before_the_trace_is_held_by_who_gives_it() -> None:
    traced = facts(*kind(MUTEX), *without(INVERTED, BEGINS[1]))
    assert found(traced) == the_one()
    assert "held by L (1)" in inversions(traced)[0].text
    assert inversions(traced)[0].text.endswith(" It was taken before this trace begins.")


def test_what_was_taken_before_the_trace_and_is_no_mutex_may_be_a_signal() -> None:
    assert found(facts(*without(INVERTED, BEGINS[1]))) == []


def test_a_wait_that_is_not_over_is_an_inversion_so_far() -> None:
    traced = facts(*BEGINS, *H_WAITS, *M_RUNS[:2], (7 * MS, MARK, M, 0))
    assert found(traced) == [("H", 1 * MS, 7 * MS, 5 * MS)]
    assert inversions(traced)[0].text.startswith("Priority inversion: H (3) has waited 6.000 ms for queue7")
    assert inversions(traced)[0].text.endswith(" The wait is not over at the trace's end.")


def test_what_the_kernel_says_of_the_object_now_stands_beside_an_open_wait() -> None:
    traced = facts(*BEGINS, *H_WAITS, *M_RUNS[:2], (7 * MS, MARK, M, 0), now={LOCK: ("count 0",)})
    assert "now: count 0\n" in text(traced)


def test_a_wait_that_timed_out_is_one_too() -> None:
    timed_out = [
        (9 * MS, READY, H, 3),
        (9 * MS, IN, H, 3),
        (9 * MS, TAKE_FAIL, H, LOCK),
        (9 * MS, MARK, H, 0),
    ]
    assert found(facts(*BEGINS, *H_WAITS, *M_RUNS, *timed_out)) == [("H", 1 * MS, 9 * MS, 6 * MS)]


def test_waits_of_one_task_for_one_lock_are_one_finding_with_their_number() -> None:
    again: List[Record] = []
    for i in range(3):
        again += [(t + 20 * MS * i, code, task, a) for t, code, task, a in INVERTED]
        again += [(20 * MS * i + 11 * MS, SLEEP, H, 20)]
    traced = facts(*again)
    assert found(traced) == the_one()
    assert inversions(traced)[0].text.endswith(" 3 such waits; this is the worst; 18.000 ms stolen in all.")


def test_waits_for_two_locks_are_two_findings_the_worse_one_first() -> None:
    other = {LOCK: 8}
    longer: Dict[int, int] = {8 * MS: 9 * MS}
    second = [
        (longer.get(t, t) + 20 * MS, code, task, other.get(a, a) if code in (TAKE, GIVE, WAIT) else a)
        for t, code, task, a in INVERTED
    ]
    traced = facts(*INVERTED, (12 * MS, SLEEP, H, 20), *second)
    assert [size for *_, size in found(traced)] == [7 * MS, 6 * MS]


@pytest.mark.parametrize("context", [{}, {"clock_hz": 0.0}])
def test_an_inversion_needs_no_milliseconds(context: Any) -> None:
    traced = facts(*INVERTED, **context)
    assert found(traced) == the_one()
    assert ("9,000 counts" in inversions(traced)[0].text) == bool(context)


def test_who_took_the_lock_next_is_not_blamed_on_the_one_before() -> None:
    """L gives it at 3 ms, X (4) takes it and sleeps with it; what M runs then delays nobody."""
    ms = 1_000
    records = [
        *[(0, IN, L, 1), (10, TAKE, L, 7), (1 * ms, READY, H, 3), (1 * ms + 1, IN, H, 3)],
        *[(1 * ms + 2, WAIT, H, 7), (1 * ms + 3, IN, L, 1), (3 * ms, GIVE, L, 7), (3 * ms + 1, READY, X, 4)],
        *[
            (3 * ms + 2, IN, X, 4),
            (3 * ms + 3, TAKE, X, 7),
            (3 * ms + 4, SLEEP, X, 15),
            (3 * ms + 5, IN, M, 2),
        ],
        *[
            (15 * ms, READY, X, 4),
            (15 * ms + 1, IN, X, 4),
            (15 * ms + 2, GIVE, X, 7),
            (15 * ms + 3, READY, H, 3),
        ],
        *[
            (15 * ms + 4, SLEEP, X, 99),
            (15 * ms + 5, IN, H, 3),
            (15 * ms + 6, TAKE, H, 7),
            (16 * ms, TICK, H, 16),
        ],
    ]
    assert inversions(facts(*records, recorded=ALL, clock_hz=1e6)) == []


def test_what_is_given_without_having_been_taken_is_a_signal() -> None:
    """L clears a stale signal, works and gives; the next time it gives without taking."""
    records = [
        *[(0, IN, L, 1), (10, TAKE, L, 7), (1_000, READY, H, 3), (1_001, IN, H, 3), (1_002, WAIT, H, 7)],
        *[
            (1_003, IN, L, 1),
            (1_500, READY, M, 2),
            (1_501, IN, M, 2),
            (5_000, SLEEP, M, 9),
            (5_001, IN, L, 1),
        ],
        *[
            (6_000, GIVE, L, 7),
            (6_001, READY, H, 3),
            (6_002, IN, H, 3),
            (6_003, TAKE, H, 7),
            (6_004, SLEEP, H, 9),
        ],
        *[(6_005, IN, L, 1), (7_000, GIVE, L, 7), (7_001, TICK, L, 7)],
    ]
    assert inversions(facts(*records, recorded=ALL, clock_hz=1e6)) == []


def test_a_holder_that_sleeps_leaves_that_much_of_the_wait_with_a_mutex_too() -> None:
    """H waits 9 ms: L works 1, sleeps 3 and is displaced by M for 5: 4 would be left."""
    ms = 1_000
    records = [
        *[(0, IN, L, 1), (10, TAKE, L, 7), (1 * ms, READY, H, 3), (1 * ms, IN, H, 3), (1 * ms, WAIT, H, 7)],
        *[(1 * ms, IN, L, 1), (2 * ms, SLEEP, L, 5), (2 * ms, IN, X, 0), (5 * ms, READY, L, 1)],
        *[(5 * ms, IN, L, 1), (5 * ms, READY, M, 2), (5 * ms, IN, M, 2), (10 * ms, SLEEP, M, 99)],
        *[(10 * ms, IN, L, 1), (10 * ms, GIVE, L, 7), (10 * ms, READY, H, 3), (10 * ms, IN, H, 3)],
        (10 * ms, TAKE, H, 7),
    ]
    (finding,) = inversions(facts(*records, recorded=ALL, clock_hz=1e6))
    assert "ran 5.000 ms of that" in finding.text
    assert finding.text.endswith("With a mutex the wait would be what is left without that, 4.000 ms.")


def test_a_waiter_that_was_lowered_meanwhile_stands_above_nobody() -> None:
    records = [
        *[(0, IN, L, 1), (10, TAKE, L, 7), (1_000, READY, H, 3), (1_001, IN, H, 3), (1_002, WAIT, H, 7)],
        *[(1_003, IN, L, 1), (1_200, PRIORITY, L, H | 1 << 8), (1_500, READY, M, 2), (1_501, IN, M, 2)],
        *[(5_000, SLEEP, M, 9), (5_001, IN, L, 1), (6_000, GIVE, L, 7), (6_001, READY, H, 1)],
        *[(6_002, SLEEP, L, 9), (6_003, IN, H, 1), (6_004, TAKE, H, 7), (7_000, TICK, H, 7)],
    ]
    assert inversions(facts(*records, recorded=ALL, clock_hz=1e6)) == []
