"""Tasks that wait for each other's mutexes at the trace's end."""

from __future__ import annotations

from typing import List

from ring_builder import H, L, M, Record, X, facts

from gdb_prof.trace.deadlock import deadlocks
from gdb_prof.trace.events import ALL, GIVE, IN, OBJECT, TAKE, TICK, WAIT

MUTEX, BINARY = 1, 3


def crossed(kind: int) -> List[Record]:
    """L has 1 and wants 2, H has 2 and wants 1; M wants 1, too."""
    return [
        *[(0, OBJECT, kind, 1), (1, OBJECT, kind, 2), (10, IN, L, 1), (20, TAKE, L, 1), (100, IN, H, 3)],
        *[(110, TAKE, H, 2), (120, WAIT, H, 1), (130, IN, L, 1), (200, WAIT, L, 2), (210, IN, M, 2)],
        *[(220, WAIT, M, 1), (230, IN, X, 0), (1_000, TICK, X, 1), (2_000, TICK, X, 2)],
    ]


def test_two_tasks_that_want_each_others_mutex_are_named_with_the_moment() -> None:
    (finding,) = deadlocks(facts(*crossed(MUTEX), recorded=ALL, clock_hz=1e6, tick_hz=1e3))
    assert finding.text == (
        "Deadlock: L (1) waits for mutex 2, which H has; H (3) waits for mutex 1, which L has: "
        "since 0.200, 1.800 ms, none of them can go on."
    )


def test_semaphores_may_be_given_by_somebody_else() -> None:
    assert deadlocks(facts(*crossed(BINARY), recorded=ALL, clock_hz=1e6, tick_hz=1e3)) == []


def test_a_mutex_that_is_given_in_the_end_locks_nobody_out() -> None:
    records = [
        *crossed(MUTEX)[:7],
        (130, IN, L, 1),
        (140, GIVE, L, 1),
        (150, WAIT, L, 2),
        (2_000, TICK, X, 2),
    ]
    assert deadlocks(facts(*records, recorded=ALL, clock_hz=1e6, tick_hz=1e3)) == []
