"""The same commands as VS Code's Cortex-Debug sends them: MI, asynchronous, no tty."""

from __future__ import annotations

from typing import Iterator

import pytest

from mi import Mi, session, streamed


@pytest.fixture(params=["mi2", "mi3"])
def mi(request: pytest.FixtureRequest) -> Iterator[Mi]:
    yield from session(request.param, "three_loops")


def test_start_continue_dump(mi: Mi) -> None:
    started = streamed(mi.console("prof start -period 2013 -limit 2000") + mi.until('~"prof: ran to main'))
    assert "sampling by SysTick" in started
    assert mi.send("-exec-continue")[-1] == "^running"
    stopped = mi.until("*stopped")[-1]
    assert 'reason="breakpoint-hit"' in stopped and 'frame={addr="0x08' in stopped
    status = mi.console("prof status")
    assert status[-1] == "^done"
    dump = mi.console("prof dump")
    assert dump[-1] == "^done"
    assert "2,000 samples by SysTick" in streamed(dump)
    assert "hot_a" in streamed(dump)


def test_a_wrong_word_is_an_error_record(mi: Mi) -> None:
    assert mi.console("prof dump -x")[-1] == '^error,msg="prof dump: unknown option -x: see `help prof dump`"'


def test_a_long_table_asks_nothing(mi: Mi) -> None:
    """Height 24, more rows than that: no pager, no prompt."""
    mi.console("set height 24")
    mi.console("prof record -period 2013 -samples 3000 -by address -top 300")
    mi.until("*stopped")
    dump = mi.console("prof dump -by address -top 300")
    assert dump[-1] == "^done"
    assert streamed(dump).count("\n") > 20


def test_what_is_found_is_an_error_record_where_nothing_may_be(mi: Mi) -> None:
    """Without jitter, at a fraction of the loops' own period."""
    mi.console("prof record -period 1691 -jitter off -samples 2000")
    mi.until("*stopped")
    check = mi.console("prof check")
    assert check[-1] == "^done"
    assert "1. lockstep: " in streamed(check)
    assert mi.console("prof check -strict")[-1] == '^error,msg="prof check: 1 finding: lockstep"'


def test_commands_say_politely_that_the_target_runs(mi: Mi) -> None:
    mi.console("tbreak run")
    mi.send("-exec-continue")
    mi.until("*stopped")
    mi.send("-exec-continue")
    answer = mi.console("prof dump")[-1]
    assert answer == '^error,msg="prof dump: the target is running: interrupt it first (Ctrl-C)"'
    mi.send("-exec-interrupt")
    mi.until("*stopped")


@pytest.fixture(params=["mi2", "mi3"])
def traced_mi(request: pytest.FixtureRequest) -> Iterator[Mi]:
    yield from session(request.param, "inversion")


def test_a_trace_from_arm_to_assertion(traced_mi: Mi) -> None:
    assert traced_mi.console("rtos-trace arm")[-1] == "^done"
    assert traced_mi.send("-exec-continue")[-1] == "^running"
    stopped = traced_mi.until("*stopped")
    assert 'func="trace_done"' in stopped[-1]
    diag = traced_mi.console("rtos-trace diag")
    assert diag[-1] == "^done"
    assert "Priority inversion: H (3) waited 9.003 ms" in streamed(diag)
    assert traced_mi.console("rtos-trace assert wait H lock < 10ms")[-1] == "^done"
    failed = traced_mi.console("rtos-trace assert wait H lock < 4ms")[-1]
    assert failed.startswith('^error,msg="rtos-trace assert: failed: wait of H for lock at most 9.003 ms')


def test_a_trace_is_not_read_while_the_target_runs(traced_mi: Mi) -> None:
    traced_mi.send("-exec-continue")
    for command in ("diag", "status", "arm"):
        answer = traced_mi.console("rtos-trace " + command)[-1]
        assert (
            answer
            == '^error,msg="rtos-trace %s: the target is running: interrupt it first (Ctrl-C)"' % command
        )
    traced_mi.send("-exec-interrupt")
    traced_mi.until("*stopped")
