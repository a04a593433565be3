"""Two sources that disagree: the known bias that fits is named, and no other."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, Dict, List, Mapping

import pytest
from fake_code import Program, program
from test_checks import ALL_SEEN, elapsed

from gdb_prof.profile.checks import examine
from gdb_prof.profile.circumstances import Circumstances, Handler
from gdb_prof.profile.diff.difference import Difference, Side, difference
from gdb_prof.profile.diff.sources import label, reasons
from gdb_prof.profile.diff.text import report
from gdb_prof.profile.finding import Finding, Severity
from gdb_prof.profile.report import Layout
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.profile.shares import ASLEEP
from gdb_prof.profile.source import HALT, PCSR, SWO, TIMER, UNAVAILABLE, Source

MASKED = """
    irq_off:
           1  cpsid i
           1  bx lr
    irq_on:
           3  cpsie i
        2950  bx lr
    locked:
           3  nop
           .  subs r3, #1
           .  bne.n {locked}
           .  bx lr
    hot_a:
        2400  nop
        2300  subs r3, #1
        2342  bne.n {hot_a}
           .  bx lr
    main:
      .lap:
           .  bl {irq_off}
           .  bl {locked}
           .  bl {irq_on}
           .  bl {hot_a}
           .  b.n {lap}
"""


def side(shown: Program, counts: Mapping[str, int], origin: str, **more: Any) -> Side:
    """So many samples of each function, at its first instruction, or of a mark; else those of the text."""
    pcs: List[int] = []
    for name, n in counts.items():
        pcs += [shown.at[name] if name in shown.at else int(name, 16)] * n
    pcs = pcs or shown.pcs
    random.Random(len(pcs)).shuffle(pcs)
    fields: Dict[str, Any] = {"timing": elapsed(len(pcs)), "circumstances": ALL_SEEN, **more}
    profile = Profile(pcs, taken=len(pcs), origin=origin, build_id="1", **fields)
    return Side(profile, shown.build, examine(profile, shown.build))


def random_intervals(kind: str, **more: Any) -> Dict[str, Any]:
    return {"timing": Timing("x", random=True), "source": Source(kind=kind, **more)}


def explained(found: Difference) -> Dict[str, List[str]]:
    """For each row the reasons."""
    told: Dict[str, List[str]] = {}
    for reason in reasons(found):
        for row in reason.rows:
            told.setdefault(row, []).append(reason.why)
    return told


def test_time_with_interrupts_masked_is_where_the_timer_puts_it_and_where_pcsr_sees_it() -> None:
    shown = program(MASKED)
    timer = side(shown, {}, "timer.prof")
    pcsr = side(shown, {"hot_a": 7042, "locked": 2950, "irq_on": 8}, "pcsr.prof", **random_intervals(PCSR))
    told = explained(difference(timer, pcsr, "function"))
    assert set(told) == {"irq_on", "locked"}
    assert told["irq_on"][0].startswith("timer: masked interrupts: 29.5 % at irq_on+2, after `cpsie i`")
    assert told["locked"] == [
        "timer: its interrupt waits while interrupts are masked; that time is at irq_on"
    ]


def test_sources_that_agree_have_no_reasons() -> None:
    shown = program(MASKED)
    counts = {"hot_a": 7000, "locked": 3000}
    swo = side(shown, counts, "swo.prof", timing=Timing("DWT"), source=Source(kind=SWO))
    pcsr = side(shown, {"hot_a": 6950, "locked": 3050}, "pcsr.prof", **random_intervals(PCSR))
    assert reasons(difference(swo, pcsr, "function")) == []


def test_what_no_bias_explains_is_said_to_be_unexplained() -> None:
    shown = program(MASKED)
    swo = side(
        shown, {"hot_a": 7000, "locked": 3000}, "swo.prof", timing=Timing("DWT"), source=Source(kind=SWO)
    )
    pcsr = side(shown, {"hot_a": 5000, "locked": 5000}, "pcsr.prof", **random_intervals(PCSR))
    (reason,) = reasons(difference(swo, pcsr, "function"))
    assert set(reason.rows) == {"hot_a", "locked"}
    assert reason.why.startswith("no known bias of these sources fits")


def test_lost_trace_explains_a_difference_up_to_its_bound_and_no_larger_one() -> None:
    shown = program(MASKED)
    pcsr = side(shown, {"hot_a": 7000, "locked": 3000}, "pcsr.prof", **random_intervals(PCSR))

    def lost(locked: int) -> Side:
        source = Source(kind=SWO, overflows=50, lost=500)
        return side(
            shown,
            {"hot_a": 10_000 - locked, "locked": locked},
            "swo.prof",
            timing=Timing("DWT"),
            source=source,
        )

    near = explained(difference(pcsr, lost(2600), "function"))
    assert [why.split(":")[1] for why in near["locked"]] == [" lost samples"]
    far = explained(difference(pcsr, lost(1000), "function"))
    assert far["locked"][0].startswith("no known bias")


def swo_side(shown: Program, counts: Mapping[str, int], **source: Any) -> Side:
    return side(shown, counts, "swo.prof", timing=Timing("DWT"), source=Source(kind=SWO, **source))


def pcsr_side(shown: Program, counts: Mapping[str, int], **more: Any) -> Side:
    return side(shown, counts, "pcsr.prof", **more, **random_intervals(PCSR))


def halt_side(shown: Program, counts: Mapping[str, int], stopped: float) -> Side:
    return side(shown, counts, "halt.prof", **random_intervals(HALT, stopped=stopped))


UNEXPLAINED = "no known bias of these sources fits: was the program doing the same in both?"


@pytest.mark.parametrize("stopped", [0.04, 0.3, 0.6])
def test_a_program_that_stood_explains_as_much_as_the_time_for_which_it_stood(stopped: float) -> None:
    """A remark below a half of the time, a doubt above: the bound is the same."""
    shown = program(MASKED)
    pcsr = pcsr_side(shown, {"hot_a": 9500, "locked": 500})

    def told(points: float) -> str:
        locked = 500 + round(100 * points)
        halt = halt_side(shown, {"hot_a": 10_000 - locked, "locked": locked}, stopped)
        ((why,),) = {tuple(whys) for whys in explained(difference(pcsr, halt, "function")).values()}
        return why

    assert told(100 * stopped - 1).startswith("halt: halted: the program stood for")
    assert told(100 * stopped + 5) == UNEXPLAINED


@pytest.mark.parametrize("known", [{}, {"lost": 100, "unbounded": 1}])
def test_lost_trace_of_unknown_length_has_no_bound(known: Dict[str, int]) -> None:
    shown = program(MASKED)
    pcsr = pcsr_side(shown, {"hot_a": 7000, "locked": 3000})
    swo = swo_side(shown, {"hot_a": 9000, "locked": 1000}, overflows=50, **known)
    told = explained(difference(pcsr, swo, "function"))
    assert set(told) == {"hot_a", "locked"}
    assert all(why.startswith("swo: lost samples: 50 overflows") for whys in told.values() for why in whys)


def with_findings(of: Side, *findings: Finding) -> Side:
    return dataclasses.replace(of, verdict=dataclasses.replace(of.verdict, findings=findings))


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        *(("lockstep", Severity.DOUBT), ("dependent", Severity.DOUBT), ("crawling", Severity.DOUBT)),
        *(("too little jitter", Severity.DOUBT), ("slow program", Severity.DOUBT)),
        *(("few stays", Severity.REMARK), ("slow clock", Severity.DOUBT), ("inlined", Severity.REMARK)),
        *(("not synchronised", Severity.REMARK), ("overwritten", Severity.REMARK)),
    ],
)
def test_what_says_how_sure_a_share_is_or_moves_no_time_explains_nothing(
    kind: str, severity: Severity
) -> None:
    shown = program(MASKED)
    swo = with_findings(
        swo_side(shown, {"hot_a": 9000, "locked": 1000}), Finding(kind, severity, 1.0, kind + ": x")
    )
    pcsr = pcsr_side(shown, {"hot_a": 7000, "locked": 3000})
    assert explained(difference(swo, pcsr, "function")) == {"hot_a": [UNEXPLAINED], "locked": [UNEXPLAINED]}


@pytest.mark.parametrize(
    ("kind", "size", "far"),
    [
        *(("lost ticks", 0.2, True), ("lost ticks", 0.1, False)),
        *(("damaged stream", 0.2, True), ("damaged stream", 0.1, False)),
        *(("block edges", 1.0, True), ("tick-synchronous", 1.0, True)),
    ],
)
def test_a_finding_explains_twenty_points_if_it_concerns_that_much(kind: str, size: float, far: bool) -> None:
    shown = program(MASKED)
    finding = Finding(kind, Severity.WRONG, size, kind + ": x")
    swo = with_findings(swo_side(shown, {"hot_a": 9000, "locked": 1000}), finding)
    pcsr = pcsr_side(shown, {"hot_a": 7000, "locked": 3000})
    why = "swo: %s: x" % kind if far else UNEXPLAINED
    assert explained(difference(swo, pcsr, "function")) == {"hot_a": [why], "locked": [why]}


def test_samples_outside_code_are_missing_elsewhere_and_no_row_has_more_by_them() -> None:
    shown = program(MASKED)
    swo = swo_side(shown, {"hot_a": 5000, "locked": 3000, "20000000": 2000})
    pcsr = pcsr_side(shown, {"hot_a": 8000, "locked": 2000})
    told = explained(difference(swo, pcsr, "function"))
    assert told["(outside code)"][0].startswith("swo: outside code: 20.0 % of the samples")
    assert (told["locked"], told["hot_a"]) == ([UNEXPLAINED], [UNEXPLAINED])  # by 10 and 30 points
    near = explained(difference(swo, pcsr_side(shown, {"hot_a": 6900, "locked": 3100}), "function"))
    assert near["hot_a"][0].startswith("swo: outside code:")


def test_masked_interrupts_explain_no_more_than_their_pile() -> None:
    """2,947 of 10,000 samples wait after cpsie; pcsr has 50 points less in another row."""
    shown = program(MASKED)
    timer = side(shown, {}, "timer.prof")
    pcsr = pcsr_side(shown, {"hot_a": 2000, "locked": 7992, "irq_on": 8})
    told = explained(difference(timer, pcsr, "function"))
    assert told["irq_on"][0].startswith("timer: masked interrupts: 29.5 %")
    assert (told["locked"], told["hot_a"]) == ([UNEXPLAINED], [UNEXPLAINED])


def test_an_emulator_that_halts_at_block_edges_is_to_blame_for_any_row() -> None:
    shown = program(MASKED)
    seen = Circumstances(sampler_priority=0, hidden=(), contents="same", emulator="QEMU")
    timer = side(shown, {"hot_a": 5000, "locked": 5000}, "timer.prof", circumstances=seen)
    halt = side(
        shown, {"hot_a": 100, "locked": 9900}, "halt.prof", circumstances=seen, **random_intervals(HALT)
    )
    told = explained(difference(timer, halt, "function"))
    assert all(any(why.startswith("halt: block edges: QEMU halts") for why in whys) for whys in told.values())
    assert set(told) == {"hot_a", "locked"}


def test_a_handler_that_the_timer_cannot_interrupt_has_less_of_it() -> None:
    shown = program(MASKED)
    hidden = dataclasses.replace(ALL_SEEN, hidden=(Handler(16, shown.at["locked"], 0),))
    timer = side(shown, {"hot_a": 9000, "locked": 1000}, "timer.prof", circumstances=hidden)
    swo = side(
        shown, {"hot_a": 7000, "locked": 3000}, "swo.prof", timing=Timing("DWT"), source=Source(kind=SWO)
    )
    told = explained(difference(timer, swo, "function"))
    assert told["locked"][0].startswith("timer: hidden handlers: locked, IRQ 0 (priority 0)")


def test_what_a_hidden_handler_calls_is_missing_too_and_other_rows_have_that() -> None:
    shown = program(CALLING)
    hidden = dataclasses.replace(ALL_SEEN, hidden=(Handler(16, shown.at["handler"], 0),))
    timer = side(shown, {"work": 9000, "other": 1000}, "timer.prof", circumstances=hidden)
    swo = swo_side(shown, {"work": 7000, "other": 1000, "callee": 2000})
    told = explained(difference(timer, swo, "function"))
    assert set(told) == {"callee", "work"}
    assert all(why.startswith("timer: hidden handlers:") for whys in told.values() for why in whys)
    swo = swo_side(shown, {"work": 3000, "other": 6000, "callee": 1000})
    told = explained(difference(timer, swo, "function"))
    assert told["callee"][0].startswith("timer: hidden handlers:")
    assert (told["work"], told["other"]) == ([UNEXPLAINED], [UNEXPLAINED])  # 60 points more, 50 less


CALLING = """
    callee:
           1  nop
           .  bx lr
    handler:
           1  nop
           .  bl {callee}
           .  bx lr
    work:
           1  nop
           1  bx lr
    other:
           1  nop
           1  bx lr
"""

SLEEPING = """
    idle:
           .  wfi
           .  b.n {idle}
    hot_a:
           .  nop
           .  bx lr
    locked:
           .  nop
           .  bx lr
"""


def sleeping(shown: Program, kind: str, hot_a: int, locked: int, asleep: int) -> Side:
    counts = {"hot_a": hot_a, "locked": locked, "ffffffff" if kind == PCSR else "idle": asleep}
    if kind == PCSR:
        return pcsr_side(shown, counts, marks={0xFFFFFFFF: UNAVAILABLE})
    return swo_side(shown, counts) if kind == SWO else side(shown, counts, "timer.prof")


WAKES = "timer: its interrupt wakes a core that sleeps, so that it sleeps less"


def test_less_sleep_is_more_of_all_that_is_awake() -> None:
    """70 % and 30 % of the time awake with either."""
    shown = program(SLEEPING)
    timer = sleeping(shown, TIMER, hot_a=5600, locked=2400, asleep=2000)
    swo = sleeping(shown, SWO, hot_a=2800, locked=1200, asleep=6000)
    told = explained(difference(timer, swo, "function"))
    assert told == {"(asleep)": [WAKES], "hot_a": [WAKES], "locked": [WAKES]}


def test_what_differs_among_the_awake_samples_too_is_not_by_sleep() -> None:
    shown = program(SLEEPING)
    timer = sleeping(shown, TIMER, hot_a=2400, locked=5600, asleep=2000)
    swo = sleeping(shown, SWO, hot_a=2800, locked=1200, asleep=6000)
    told = explained(difference(timer, swo, "function"))
    assert told == {"(asleep)": [WAKES], "hot_a": [UNEXPLAINED], "locked": [UNEXPLAINED]}


def test_a_timer_does_not_make_a_core_sleep_more() -> None:
    shown = program(SLEEPING)
    timer = sleeping(shown, TIMER, hot_a=2800, locked=1200, asleep=6000)
    swo = sleeping(shown, SWO, hot_a=5600, locked=2400, asleep=2000)
    told = explained(difference(timer, swo, "function"))
    assert told == {name: [UNEXPLAINED] for name in ("(asleep)", "hot_a", "locked")}


def test_sleep_under_another_name_displaces_nothing() -> None:
    shown = program(SLEEPING)
    swo = sleeping(shown, SWO, hot_a=3500, locked=1500, asleep=5000)
    pcsr = sleeping(shown, PCSR, hot_a=2500, locked=2500, asleep=5000)
    told = explained(difference(swo, pcsr, "function"))
    assert (told["hot_a"], told["locked"]) == ([UNEXPLAINED], [UNEXPLAINED])


def test_a_sleeping_core_is_called_differently_by_each_source() -> None:
    shown = program(MASKED)
    mark = 0xFFFFFF01
    swo = side(
        *(shown, {"hot_a": 5000, "%x" % mark: 5000}, "swo.prof"),
        timing=Timing("DWT"),
        source=Source(kind=SWO),
        marks={mark: ASLEEP},
    )
    pcsr = side(
        *(shown, {"hot_a": 5000, "ffffffff": 5000}, "pcsr.prof"),
        marks={0xFFFFFFFF: UNAVAILABLE},
        **random_intervals(PCSR),
    )
    told = explained(difference(swo, pcsr, "function"))
    assert told["(asleep or unavailable)"][0].startswith(
        "pcsr: DWT_PCSR reads 0xffffffff while the core sleeps"
    )


def test_the_report_names_the_sources_and_fits_80_columns() -> None:
    shown = program(MASKED)
    timer = side(shown, {}, "timer.prof")
    pcsr = side(shown, {"hot_a": 7042, "locked": 2950, "irq_on": 8}, "pcsr.prof", **random_intervals(PCSR))
    found = difference(timer, pcsr, "function")
    text = report(found, Layout(80), (), (label(timer), label(pcsr), "difference"), ["because"])
    assert max(map(len, text.splitlines())) <= 80
    assert "timer  timer.prof: 10,000 samples" in text and "pcsr   pcsr.prof: 10,000 samples" in text
    assert "difference" in text and "change" not in text
    assert text.splitlines()[-1] == "- because"
