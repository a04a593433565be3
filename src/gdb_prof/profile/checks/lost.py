"""Timer ticks that the sampler never saw."""

from __future__ import annotations

from typing import Iterable, Union

from gdb_prof.profile.checks.evidence import Evidence
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.wording import count, percent

_LEAST = 0.005
_AT_THE_ENDS = 3
"""Periods: the clock is read a little before the first tick, and starting takes one."""
_ERRORS = 4


def check(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    profile, timing = evidence.profile, evidence.profile.timing
    if timing.elapsed_s is None:
        yield Unknown("lost ticks", "the build keeps no elapsed time: compile prof.c with PROF_CLOCK")
        return
    if not timing.mean_ticks or not timing.tick_hz or not profile.taken:
        yield Unknown("lost ticks", "the period is not known in time")
        return
    ticks = timing.elapsed_s * timing.tick_hz / timing.mean_ticks
    jitter = timing.jitter_mask / 12**0.5 / timing.mean_ticks  # of one interval, as a part of it
    doubt = _LEAST * ticks + _AT_THE_ENDS * profile.runs + _ERRORS * jitter * ticks**0.5
    lost = ticks - profile.taken
    if lost > doubt:
        part = lost / ticks
        yield Finding(
            "lost ticks",
            Severity.WRONG,
            part,
            "lost ticks: %s of the timer's ticks: sections longer than a period run with interrupts "
            "masked; up to that much time is missing from the shares: sample less often" % percent(part),
            (
                "%.3f ms have passed by the program's clock, which are %s sampling periods; %s samples were "
                "taken. While interrupts are masked, or a handler of the sampler's priority runs, "
                "one tick waits "
                "and the ones after it are lost. The time that is missing belongs to what runs "
                "then; a share is wrong by at most %.1f points. "
                "A clock that runs on while a debugger holds the program counts halts, too."
                % (timing.elapsed_s * 1e3, count(round(ticks)), count(profile.taken), 100 * part),
            ),
        )
    elif -lost > doubt:
        part = -lost / profile.taken
        yield Finding(
            "slow clock",
            Severity.DOUBT,
            part,
            "slow clock: the program's clock counts %s less than the sampler's timer: does it stop in "
            "sleep? Elapsed times are awake time then" % percent(part),
            (
                "%.3f ms by the program's clock, and %s samples, which are %s more than fit into "
                "that. A cycle "
                "counter that stops in sleep counts awake time only."
                % (timing.elapsed_s * 1e3, count(profile.taken), count(round(-lost))),
            ),
        )
