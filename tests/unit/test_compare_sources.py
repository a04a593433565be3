"""Two sources that disagree: the known bias that fits is named, and no other."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, Dict, List, Mapping

from fake_code import Program, program
from test_checks import ALL_SEEN, elapsed

from gdb_prof.profile.checks import examine
from gdb_prof.profile.circumstances import Circumstances, Handler
from gdb_prof.profile.diff.difference import Difference, Side, difference
from gdb_prof.profile.diff.sources import label, reasons
from gdb_prof.profile.diff.text import report
from gdb_prof.profile.report import Layout
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.profile.shares import ASLEEP
from gdb_prof.profile.source import HALT, PCSR, SWO, UNAVAILABLE, Source

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
