"""When DWT_PCSR is read, and which reads are samples, by a clock of the test's own."""

from __future__ import annotations

import random
import statistics
from typing import Callable, List, Optional

import pytest

from gdb_prof.errors import TargetError
from gdb_prof.target import polling
from gdb_prof.target.polling import DHCSR, NO_PC, S_HALT, Plan, Run

PC = 0x08000248


class Core:
    """Reading takes `cost_s`, and the program halts by itself at `halts_s`. `reads` has the times of those of the
    PCSR. It is the module's clock, too."""

    def __init__(self, cost_s: float, halts_s: float = 1e9, interrupt_s: float = 1e9) -> None:
        self.now, self.cost_s, self.halts_s, self.interrupt_s = (
            100.0,
            cost_s,
            100 + halts_s,
            100 + interrupt_s,
        )
        self.reads: List[float] = []

    def read(self, address: int) -> int:
        if self.now >= self.interrupt_s:
            raise KeyboardInterrupt
        self.now += self.cost_s
        if address == DHCSR:
            return S_HALT if self.now >= self.halts_s else 0
        self.reads.append(self.now)
        return NO_PC if self.now >= self.halts_s else PC

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


@pytest.fixture
def run_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    def collected(core: Core, plan: Plan, over: Optional[Callable[[], bool]] = None) -> Run:
        random.seed(1)
        monkeypatch.setattr(polling, "time", core)
        run = Run(plan)
        run.collect(core.read, over)
        return run

    return collected


def intervals(core: Core) -> List[float]:
    return [later - earlier for earlier, later in zip(core.reads, core.reads[1:])]


def test_intervals_are_half_to_one_and_a_half_times_the_mean(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.0001)
    run_with(core, Plan(samples=2000, mean_interval_s=0.002))
    found = intervals(core)
    # where DHCSR is read in between, that comes on top
    assert min(found) >= 0.001 and max(found) <= 0.003 + core.cost_s
    assert statistics.mean(found) == pytest.approx(0.002, rel=0.03)


def test_where_reading_is_slower_than_that_the_intervals_stay_random(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.001)
    run_with(core, Plan(samples=2000, mean_interval_s=0.0001))
    found = intervals(core)
    assert min(found) >= 0.001
    assert statistics.mean(found) == pytest.approx(0.0015, rel=0.05)
    assert statistics.stdev(found) > 0.1 * statistics.mean(found)


def test_it_ends_at_the_number_or_at_the_time(run_with: Callable[..., Run]) -> None:
    by_number = run_with(Core(0.001), Plan(seconds=1000, samples=70))
    assert len(by_number.pcs) == 70 and by_number.enough and by_number.all_remarks() == []
    core = Core(0.001)
    by_time = run_with(core, Plan(seconds=0.5, samples=10**6))
    assert by_time.enough and 0.5 <= by_time.elapsed_s < 0.51
    assert by_time.elapsed_s == pytest.approx(core.now - 100)


def test_what_is_read_of_a_halted_core_is_no_sample(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.001, halts_s=0.3)
    run = run_with(core, Plan(samples=10**6))
    assert run.halted and not run.enough and NO_PC not in run.pcs
    assert len(run.pcs) == sum(time < core.halts_s for time in core.reads)
    run.stopped_by = "stopped by breakpoint 3"
    assert run.all_remarks() == [
        "stopped by breakpoint 3 after %d of 1,000,000 samples, %.1f s" % (len(run.pcs), run.elapsed_s)
    ]


def test_a_sleeping_core_is_one_sample_a_read(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.001)
    core.read = lambda address: 0 if address == DHCSR else NO_PC  # type: ignore[method-assign]
    run = run_with(core, Plan(samples=40, mean_interval_s=0.01))
    assert run.pcs == [NO_PC] * 40 and not run.halted
    assert run.all_remarks() == [
        "DWT_PCSR never had an address: the core slept all the time, or debugging it is not permitted"
    ]


def test_where_gdb_may_let_it_go_on_only_gdb_ends_it(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.001, halts_s=0.1)
    run = run_with(core, Plan(samples=10**6), lambda: core.now >= 100.4)
    assert run.elapsed_s >= 0.4 and NO_PC not in run.pcs


def test_ctrl_c_keeps_what_there_is(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.001, interrupt_s=0.2)
    run = run_with(core, Plan(samples=1000))
    assert run.interrupted and len(run.pcs) == len(core.reads) > 0
    assert run.all_remarks() == ["interrupted after %d of 1,000 samples, 0.2 s" % len(run.pcs)]


def test_a_connection_that_ends_keeps_what_there_is(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.001)
    whole = core.read

    def read(address: int) -> int:
        if len(core.reads) == 30:
            raise TargetError("the connection is gone")
        return whole(address)

    core.read = read  # type: ignore[method-assign]
    run = run_with(core, Plan(samples=1000))
    assert run.pcs == [PC] * 30
    assert run.all_remarks()[0].startswith("ended after 30 of 1,000 samples, 0.")
    assert run.all_remarks()[0].endswith(" s: the connection is gone")


def test_one_that_never_reads_has_nothing_to_keep(run_with: Callable[..., Run]) -> None:
    core = Core(cost_s=0.001)

    def read(_: int) -> int:
        raise TargetError("cannot read")

    core.read = read  # type: ignore[method-assign]
    with pytest.raises(TargetError, match="cannot read"):
        run_with(core, Plan(samples=10))
