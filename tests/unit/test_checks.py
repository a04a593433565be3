"""Each way in which a profile may lie: found with its number where it is, and nowhere else."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest
from elf_builder import Section, image
from fake_code import BASE, Program, program
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st
from listed_code import ListedCode

from gdb_prof.profile.checks import Verdict, examine
from gdb_prof.profile.checks.emulator import block_of
from gdb_prof.profile.circumstances import SAME, Circumstances, Handler
from gdb_prof.profile.finding import Finding, Severity, Unknown, by_seriousness
from gdb_prof.profile.places import KINDS
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Histogram, Profile, Timing
from gdb_prof.profile.shares import Selection

JITTER = Timing("SysTick", 1000, 1023, 168e6)
NO_JITTER = Timing("SysTick", 1000, 0, 168e6)
ALL_SEEN = Circumstances(sampler_priority=0, hidden=(), contents=SAME)
"""The interrupt controller was read, and the code compared."""


def elapsed(samples: float, timing: Timing = JITTER) -> Timing:
    """As long as so many periods take."""
    assert timing.mean_ticks and timing.tick_hz
    return dataclasses.replace(timing, elapsed_s=samples * timing.mean_ticks / timing.tick_hz)


def ring(
    pcs: Sequence[int], timing: Optional[Timing] = None, seen: Circumstances = ALL_SEEN, **more: Any
) -> Profile:
    """Samples in the order given, of which all is known."""
    timing = elapsed(len(pcs)) if timing is None else timing
    return Profile(pcs, taken=more.pop("taken", len(pcs)), timing=timing, circumstances=seen, **more)


def shuffled(shown: Program, seed: int = 1) -> List[int]:
    pcs = shown.pcs
    random.Random(seed).shuffle(pcs)
    return pcs


def kinds(verdict: Verdict) -> List[str]:
    return [finding.kind for finding in verdict.findings]


def unknown(verdict: Verdict) -> Dict[str, str]:
    return {what.kind: what.why for what in verdict.unknown}


def only(verdict: Verdict) -> Finding:
    (finding,) = verdict.findings
    return finding


CLEAN = program(
    """
    hot_a:
         500  nop
         480  adds r3, #1
         520  cmp r3, r0
         490  bne.n {hot_a}
           3  bx lr
    hot_b:
         150  nop
         140  adds r3, #1
         160  bne.n {hot_b}
           2  bx lr
    run:
           2  bl {hot_a}
           1  bl {hot_b}
           2  b.n {run}
    """
)


def test_a_clean_profile_has_no_findings_and_nothing_is_unknown() -> None:
    for seed in range(20):
        verdict = examine(ring(shuffled(CLEAN, seed)), CLEAN.build)
        assert (verdict.findings, verdict.unknown, verdict.marked) == ((), (), frozenset())
        assert verdict.effective == verdict.table.total == 2450


@pytest.mark.parametrize("by", KINDS)
def test_in_whatever_way_it_is_looked_at(by: str) -> None:
    pcs = shuffled(CLEAN)
    verdict = examine(ring(pcs, tags=[0x20001000] * len(pcs)), CLEAN.build, by)
    assert verdict.findings == ()


def test_where_nothing_is_known_that_is_said() -> None:
    verdict = examine(Profile(shuffled(CLEAN)[:20], taken=20), CLEAN.build)
    assert verdict.findings == ()
    assert unknown(verdict) == {
        "lockstep": "20 samples are too few",
        "lost ticks": "the build keeps no elapsed time: compile prof.c with PROF_CLOCK",
        "hidden handlers": "the interrupt controller was not read",
        "other code": "the target's code was not compared with the ELF",
    }


def test_of_one_sample_it_is_said_as_of_one() -> None:
    assert unknown(examine(ring([BASE]), CLEAN.build))["lockstep"] == "1 sample is too few"


def test_in_a_stripped_program_masked_time_cannot_be_looked_for() -> None:
    stripped = FunctionMap([(image([Section(".text", BASE, 0x40)]), {})])
    verdict = examine(ring(shuffled(MASKED)), Build(stripped, MASKED.build.lines, ListedCode(stripped, "")))
    assert "masked interrupts, emulator" in unknown(verdict)


def test_without_checks_there_is_a_table_and_how_sure_it_is() -> None:
    shown = program("f:\n.  cpsid i\n.  cpsie i\n900  bx lr")
    verdict = examine(ring(shown.pcs), shown.build, check=False)
    assert (verdict.findings, verdict.unknown, verdict.effective) == ((), (), 900)


@pytest.mark.parametrize("check", [True, False])
def test_no_samples_have_no_findings(check: bool) -> None:
    verdict = examine(Profile((), [], taken=7), CLEAN.build, selection=Selection(tags=(1,)), check=check)
    assert (verdict.table.total, verdict.findings, verdict.unknown) == (0, (), ())


# -- lockstep, crawling, a slow program --------------------------------------------------

LAP = [BASE + 2 * i for i in (0, 1, 2, 3, 0, 1, 5, 6, 7)]


def test_samples_that_repeat() -> None:
    finding = only(examine(ring(LAP * 20, elapsed(180, NO_JITTER)), CLEAN.build))
    assert (finding.kind, finding.severity, finding.size) == ("lockstep", Severity.DOUBT, 1.0)
    assert finding.summary.startswith(
        "lockstep: the samples repeat every 9 and touch 7 addresses; nothing after the 9th is new"
    )
    assert finding.summary.endswith("-jitter auto (in a build with PROF_JITTER)")


def test_from_which_sample_on_each_is_at_the_address_of_one_before() -> None:
    late = [BASE + 0xA, BASE + 0xC] + LAP * 20
    (said, *_) = only(examine(ring(late, elapsed(182, NO_JITTER)), CLEAN.build)).evidence
    assert "From sample 12 on, each sample is at the address of the one 9 samples before it" in said


@pytest.mark.parametrize(
    ("pcs", "said"),
    [
        ([BASE] * 200, "lockstep: all samples are at one address; "),
        (
            [BASE, BASE + 2] * 100,
            "lockstep: the samples repeat every 2 and touch 2 addresses; nothing after the 2nd",
        ),
        (
            LAP[:2] + [BASE + 4] * 200,
            "lockstep: the samples repeat every 1 and touch 3 addresses; nothing after the 3rd",
        ),
    ],
)
def test_samples_that_repeat_at_few_places(pcs: List[int], said: str) -> None:
    finding = only(examine(ring(pcs, elapsed(len(pcs), NO_JITTER)), CLEAN.build))
    assert finding.summary.startswith(said)


def test_one_place_with_jitter_is_what_it_seems() -> None:
    shown = program("f:\n200  b.n {f}")
    assert examine(ring(shown.pcs), shown.build).findings == ()


def crawling(laps: int, each: int) -> List[int]:
    """Each of seven addresses of two functions for so many samples, in turn."""
    chance = random.Random(1)
    places = [BASE + 2 * i for i in (0, 1, 2, 3, 5, 6, 7)]
    return [place for _ in range(laps) for place in places for _ in range(each + chance.randrange(3))]


@pytest.mark.parametrize(
    ("timing", "kind"),
    [
        (NO_JITTER, "crawling"),
        (dataclasses.replace(NO_JITTER, jitter_mask=127), "too little jitter"),
        (JITTER, "slow program"),
    ],
)
def test_samples_that_stay_in_one_place(timing: Timing, kind: str) -> None:
    rows = random.Random(1).choices((0, 5), k=40)  # hot_a and hot_b, at random, for 50 samples each
    pcs = [BASE + 2 * (row + i % 3) for row in rows for i in range(50)]
    verdict = examine(ring(pcs, elapsed(len(pcs), timing)), CLEAN.build)
    finding = only(verdict)
    assert (finding.kind, finding.severity, finding.size) == (kind, Severity.DOUBT, 1.0)
    assert verdict.effective is not None
    assert 15 < verdict.effective < 120  # 40 stays of 50
    assert (
        "{:,} samples are as sure as {:.0f} independent ones".format(2000, verdict.effective)
        in finding.summary
    )


def test_a_window_that_has_seen_part_of_the_lap() -> None:
    pcs = [BASE + 2 * (i % 3) for i in range(150)] + [BASE + 0xA + 2 * (i % 3) for i in range(100)]
    verdict = examine(ring(pcs, elapsed(250, NO_JITTER)), CLEAN.build)
    assert (kinds(verdict), verdict.effective) == (["crawling"], None)
    assert "and the window has seen part of it" in only(verdict).summary


def test_of_samples_that_stay_without_a_known_period_it_is_not_said_why() -> None:
    """The published sampler keeps none: nor does a file with nothing but addresses."""
    rows = random.Random(1).choices((0, 5), k=40)
    pcs = [BASE + 2 * (row + i % 3) for row in rows for i in range(50)]
    finding = only(examine(ring(pcs, Timing()), CLEAN.build))
    assert (finding.kind, finding.severity) == ("dependent", Severity.DOUBT)
    assert "jitter is large enough" not in " ".join(finding.evidence)


def test_without_jitter_samples_of_one_row_may_be_in_step() -> None:
    """Of a program that is always there, they would be the same."""
    pcs = [pc for pc in shuffled(CLEAN) if pc < CLEAN.at["hot_b"]]
    assert examine(ring(pcs), CLEAN.build).findings == ()
    verdict = examine(ring(pcs, elapsed(len(pcs), NO_JITTER)), CLEAN.build)
    assert (kinds(verdict), verdict.effective) == (["lockstep"], None)
    assert only(verdict).summary.startswith("lockstep cannot be ruled out: nearly all samples are in one row")


def test_what_is_no_code_repeats_for_another_reason() -> None:
    verdict = examine(ring([0] * 300, elapsed(300, NO_JITTER)), CLEAN.build)
    assert kinds(verdict) == ["wrong stack"]


# -- masked interrupts -------------------------------------------------------------------

MASKED = program(
    """
    irq_off:
          6  cpsid i
          .  bx lr
    irq_on:
          .  cpsie i
        300  bx lr
    locked:
          .  nop
          .  bx lr
    hot_a:
        300  nop
        310  adds r3, #1
        290  bne.n {hot_a}
          2  bx lr
    main:
          2  bl {irq_off}
          .  bl {locked}
          .  bl {irq_on}
          3  bl {hot_a}
          2  b.n {main}
    """,
    FakeLines({BASE + 0x18: ("src/masked.c", 36), BASE + 0x1C: ("src/masked.c", 37)}),
)


def test_a_masked_section() -> None:
    verdict = examine(ring(shuffled(MASKED)), MASKED.build)
    finding = only(verdict)
    assert (finding.kind, finding.severity) == ("masked interrupts", Severity.WRONG)
    assert finding.size == pytest.approx(300 / 1215)
    assert finding.addresses == {MASKED.at["irq_on"] + 2}
    assert finding.summary == (
        "masked interrupts: 24.7 % at irq_on+2, after `cpsie i`, is time in the masked section ending here: "
        "locked, called in main (masked.c:36-37)"
    )
    assert finding.evidence[0].startswith(
        "300 samples are at irq_on+2 (0x08000006), the instruction after `cpsie i` at irq_on, which has 0."
    )
    assert [verdict.table.rows[number].name for number in verdict.marked] == ["irq_on"]


@pytest.mark.parametrize(
    ("by", "marked"), [("function", 1), ("address", 1), ("line", 1), ("file", 1), ("inline", 1)]
)
def test_the_row_that_has_the_samples_of_others_is_marked(by: str, marked: int) -> None:
    assert len(examine(ring(shuffled(MASKED)), MASKED.build, by).marked) == marked


def test_a_masked_section_in_bins_of_one_instruction() -> None:
    size = max(MASKED.counts) - BASE + 2
    counts = tuple(MASKED.counts.get(at, 0) for at in range(BASE, BASE + size, 2))
    verdict = examine(
        Profile(
            histogram=Histogram(BASE, 1, counts), timing=elapsed(1215), taken=1215, circumstances=ALL_SEEN
        ),
        MASKED.build,
    )
    assert kinds(verdict) == ["masked interrupts"]
    assert unknown(verdict).keys() == {"lockstep"}


def test_larger_bins_do_not_tell_one_instruction_from_the_next() -> None:
    verdict = examine(
        Profile(
            histogram=Histogram(BASE, 4, (900, 600)), timing=elapsed(1500), taken=1500, circumstances=ALL_SEEN
        ),
        MASKED.build,
    )
    assert (
        unknown(verdict)["masked interrupts, emulator"]
        == "bins of 16 bytes do not tell one instruction from the next"
    )


def test_by_lr_each_section_has_its_share() -> None:
    shown = program(
        """
        irq_off:
              6  cpsid i
              .  bx lr
        irq_on:
              .  cpsie i
            300  bx lr
        a:
              .  bl {irq_off}
              .  bl {irq_on}
              5  b.n {a}
        b:
              .  bl {irq_off}
              .  bl {irq_on}
              5  b.n {b}
        hot_a:
            300  nop
            310  adds r3, #1
            290  bne.n {hot_a}
        """
    )
    hot, chance = shown.at["irq_on"] + 2, random.Random(2)
    after = (shown.at["a"] + 8 | 1, shown.at["b"] + 8 | 1)
    pcs = shuffled(shown)
    lrs = [after[chance.random() < 0.25] if pc == hot else 0xFFFFFFF9 for pc in pcs]
    finding = only(examine(ring(pcs, lrs=lrs), shown.build))
    first, second = (lrs.count(lr) for lr in after)
    said = " ".join(finding.evidence)
    assert "Section in a, 0x%08x to 0x%08x" % ((shown.at["a"] + 4,) * 2) in said
    assert "%d samples (%.1f %%), by LR" % (first, 100 * first / len(pcs)) in said
    assert "%d samples (" % second in said


def test_time_with_interrupts_masked_asleep_is_sleep_and_no_trap() -> None:
    shown = program(
        """
        idle:
              1  cpsid i
              .  wfi
              .  cpsie i
            900  isb sy
              1  b.n {idle}
        hot_a:
             40  nop
             41  adds r3, #1
             39  bne.n {hot_a}
        """
    )
    verdict = examine(ring(shuffled(shown)), shown.build)
    assert (verdict.findings, verdict.table.classes) == ((), {"asleep": 900})


@pytest.mark.parametrize(
    ("store", "vectors", "said"),
    [
        (
            ".  movs r2, #64\n1  str r2, [r3, #0]",
            {22: BASE},
            "is time in isr, which `str r2, [r3, #0]` before it pends",
        ),
        (
            ".  movs r2, #64\n1  str r2, [r3, #0]",
            {},
            "is time in a handler, which `str r2, [r3, #0]` before it pends",
        ),
        ("1  svc 0", {11: BASE}, "is time in isr, which `svc 0` before it calls"),
    ],
)
def test_a_handler_that_the_program_pends(store: str, vectors: Dict[int, int], said: str) -> None:
    shown = program(
        "isr:\n.  bx lr\nf:\n1  ldr r3, [pc, #16] = 0xe000e200\n%s\n300  nop\n1  nop\n" % store
        + "200  nop\n190  nop\n210  b.n {f}".format(f="0x8000002")
    )
    seen = dataclasses.replace(ALL_SEEN, vectors=vectors)
    finding = only(examine(ring(shuffled(shown), seen=seen), shown.build))
    assert (finding.kind, finding.severity) == ("hidden handler", Severity.WRONG)
    assert finding.size == pytest.approx(299 / len(shown.pcs))
    assert said in finding.summary


def test_a_handler_that_is_not_known_has_no_number() -> None:
    shown = program("f:\n1  ldr r3, [pc, #16] = 0xe000e200\n1  str r0, [r3, #0]\n300  nop\n1  bx lr")
    finding = only(examine(ring(shuffled(shown)), shown.build))
    assert "exception 0" not in finding.evidence[0]


# -- lost ticks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "periods", "timing", "runs", "kind"),
    [
        # 0.5 % and 3 periods, 53 of 10,000 without jitter
        (10_000, 10_000, NO_JITTER, 1, None),
        (10_000, 10_052, NO_JITTER, 1, None),
        (10_000, 10_055, NO_JITTER, 1, "lost ticks"),
        (10_000, 9_948, NO_JITTER, 1, None),
        (10_000, 9_940, NO_JITTER, 1, "slow clock"),
        # three a run
        (10_000, 10_055, NO_JITTER, 2, None),
        (10_000, 10_090, NO_JITTER, 10, "lost ticks" if 90 > 50.5 + 30 else None),
        (10_000, 10_090, NO_JITTER, 15, None),
        # jitter's mean of so many differs: by 4 * 0.195 * sqrt(10,000) = 78 at most
        (10_000, 10_120, JITTER, 1, None),
        (10_000, 10_140, JITTER, 1, "lost ticks"),
        (10_000, 9_880, JITTER, 1, None),
        (10_000, 9_860, JITTER, 1, "slow clock"),
        (100, 103, NO_JITTER, 1, None),
        (100, 104, NO_JITTER, 1, "lost ticks"),
        (1, 4, NO_JITTER, 1, None),
    ],
)
def test_ticks_are_lost_where_more_time_has_passed_than_samples_take(
    taken: int, periods: float, timing: Timing, runs: int, kind: Optional[str]
) -> None:
    pcs = shuffled(CLEAN)[:taken]
    verdict = examine(ring(pcs, elapsed(periods, timing), taken=taken, runs=runs), CLEAN.build)
    found = [finding.kind for finding in verdict.findings if finding.kind in ("lost ticks", "slow clock")]
    assert found == ([kind] if kind else [])


@given(st.integers(0, 1000), st.sampled_from([1000, 10_000, 40_000]), st.sampled_from([255, 1023, 2047]))
def test_jitter_alone_loses_none(seed: int, taken: int, mask: int) -> None:
    chance = random.Random(seed)
    timing = dataclasses.replace(JITTER, jitter_mask=mask)
    mean = 1000 + (mask / 2) + chance.gauss(0, 1) * (mask + 1) / 12**0.5 / taken**0.5
    passed = dataclasses.replace(timing, elapsed_s=(taken * mean + chance.uniform(0, 2000)) / 168e6)
    verdict = examine(ring(shuffled(CLEAN), passed, taken=taken), CLEAN.build)
    assert not {"lost ticks", "slow clock"} & set(kinds(verdict))


def test_how_many_ticks_are_lost_and_what_that_means() -> None:
    pcs = shuffled(CLEAN)
    finding = only(examine(ring(pcs, elapsed(len(pcs) / 0.845)), CLEAN.build))
    assert (finding.severity, finding.size) == (Severity.WRONG, pytest.approx(0.155))
    assert finding.summary.startswith("lost ticks: 15.5 % of the timer's ticks")


def test_a_clock_that_stops_in_sleep_is_slower_than_the_timer() -> None:
    pcs = shuffled(CLEAN)
    finding = only(examine(ring(pcs, elapsed(len(pcs) * 0.25)), CLEAN.build))
    assert (finding.kind, finding.severity, finding.size) == (
        "slow clock",
        Severity.DOUBT,
        pytest.approx(0.75),
    )
    assert "counts 75.0 % less than the sampler's timer" in finding.summary


@pytest.mark.parametrize(
    ("timing", "why"),
    [
        (JITTER, "the build keeps no elapsed time: compile prof.c with PROF_CLOCK"),
        (dataclasses.replace(elapsed(2450), tick_hz=None), "the period is not known in time"),
        (dataclasses.replace(elapsed(2450), period_ticks=None), "the period is not known in time"),
    ],
)
def test_whether_ticks_were_lost_may_not_be_known(timing: Timing, why: str) -> None:
    verdict = examine(ring(shuffled(CLEAN), timing), CLEAN.build)
    assert unknown(verdict) == {"lost ticks": why}


# -- handlers that the sampler cannot interrupt ------------------------------------------


@pytest.mark.parametrize(
    ("own", "hidden", "said"),
    [
        (
            0,
            (Handler(22, BASE, 0),),
            "hot_a, IRQ 6 (priority 0) is invisible; its time is charged to what runs after",
        ),
        (
            64,
            (Handler(11, BASE, 0), Handler(22, BASE + 0xA, 64)),
            "hot_a (priority 0), hot_b, IRQ 6 (priority 64) are invisible; their time is charged to what runs after",
        ),
        (
            0,
            tuple(Handler(16 + i, BASE, 0) for i in range(5)),
            "hot_a, IRQ 0 (priority 0), hot_a, IRQ 1 (priority 0), hot_a, IRQ 2 (priority 0) and 2 more are invisible",
        ),
        (0, (Handler(18, 0, 0),), "0x00000000, IRQ 2 (priority 0) is invisible"),
    ],
)
def test_handlers_at_the_samplers_priority_or_above(own: int, hidden: Tuple[Handler, ...], said: str) -> None:
    seen = dataclasses.replace(ALL_SEEN, sampler_priority=own, hidden=hidden)
    finding = only(examine(ring(shuffled(CLEAN), seen=seen), CLEAN.build))
    assert (finding.kind, finding.severity, finding.size) == ("hidden handlers", Severity.DOUBT, 0.0)
    assert said in finding.summary
    assert all("IRQ %d (" % (h.exception - 16) in finding.evidence[0] for h in hidden if h.exception > 15)


def test_nothing_is_above_priority_0() -> None:
    seen = dataclasses.replace(ALL_SEEN, sampler_priority=64, hidden=(Handler(22, BASE, 0),))
    assert "priority above 0" not in only(examine(ring(shuffled(CLEAN), seen=seen), CLEAN.build)).summary


def test_a_sampler_in_the_rtos_tick() -> None:
    seen = dataclasses.replace(ALL_SEEN, tick="xPortSysTickHandler")
    finding = only(examine(ring(shuffled(CLEAN), seen=seen), CLEAN.build))
    assert (finding.kind, finding.severity) == ("tick-synchronous", Severity.DOUBT)
    assert "(xPortSysTickHandler)" in finding.summary


# -- the recording: the wrong stack, bins, the ring --------------------------------------


@pytest.mark.parametrize(
    ("bad", "kind", "size", "said"),
    [
        ([0] * 24, None, 0, ""),  # less than one in a hundred
        ([0] * 2450, "wrong stack", 0.5, "50.0 % of the samples are 0"),
        ([0] * 50, "wrong stack", 0.02, "2.00 % of the samples are 0"),
        ([BASE + 1] * 50, "wrong stack", 0.02, "2.00 % of the samples are odd"),
        ([BASE + 1] * 30 + [0] * 20, "wrong stack", 0.02, "1.20 % of the samples are odd"),
        ([0xFFFFFFFE] * 24, None, 0, ""),
        ([0x20001000] * 24, None, 0, ""),
        ([0x20001000] * 50, "outside code", 0.02, "2.00 % of the samples are in no loaded image"),
        ([0x20001000] * 2450, "wrong stack", 0.5, "50.0 % of the samples are outside all code"),
        (
            [0x20001000 + 4 * i for i in range(2450)],
            "wrong stack",
            0.5,
            "50.0 % of the samples are outside all code",
        ),
    ],
    ids=lambda value: "%d of %x" % (len(value), value[0]) if isinstance(value, list) else None,
)
def test_samples_that_are_no_addresses_of_code(
    bad: List[int], kind: Optional[str], size: float, said: str
) -> None:
    pcs = shuffled(CLEAN) + bad
    random.Random(3).shuffle(pcs)
    verdict = examine(ring(pcs), CLEAN.build)
    assert kinds(verdict) == ([kind] if kind else [])
    if kind:
        finding = only(verdict)
        assert finding.size == pytest.approx(size, abs=0.001)
        assert said in finding.summary
        assert finding.severity == (Severity.WRONG if kind == "wrong stack" else Severity.DOUBT)


def test_what_most_of_them_are_is_said() -> None:
    pcs = [*shuffled(CLEAN), *[0x20001000] * 3000, 0]
    random.Random(3).shuffle(pcs)
    assert "outside all code" in only(examine(ring(pcs), CLEAN.build)).summary


def test_unreadable_samples_are_not_called_odd() -> None:
    pcs = shuffled(CLEAN) + [0xFFFFFFFF] * 50
    random.Random(3).shuffle(pcs)
    assert "odd" not in " ".join(f.summary for f in examine(ring(pcs), CLEAN.build).findings)


def test_the_addresses_outside_are_named() -> None:
    pcs = shuffled(CLEAN) + [0x20001000] * 40 + [0x1FFF0000] * 10
    random.Random(3).shuffle(pcs)
    (said,) = only(examine(ring(pcs), CLEAN.build)).evidence
    assert said == "The most frequent of these addresses: 0x20001000 (40), 0x1fff0000 (10)."


def test_of_bins_outside_no_addresses_are_named() -> None:
    profile = Profile(
        histogram=Histogram(BASE, 4, (900, 600, *[0] * 30, 300)),
        timing=elapsed(1800),
        circumstances=ALL_SEEN,
        taken=1800,
    )
    finding = next(f for f in examine(profile, CLEAN.build).findings if f.kind == "outside code")
    assert finding.evidence == ()


def histogram(*counts: int, shift: int = 1, taken: int = 0, **more: Any) -> Profile:
    shown = Histogram(BASE, shift, counts, **more)
    total = sum(counts) + shown.outside + shown.saturated
    return Profile(histogram=shown, timing=elapsed(total), taken=taken or total, circumstances=ALL_SEEN)


def test_bins_of_one_instruction_and_none_full_are_clean_but_have_no_order() -> None:
    verdict = examine(histogram(500, 480, 520, 490, 3), CLEAN.build)
    assert verdict.findings == ()
    assert unknown(verdict) == {
        "lockstep": "a histogram keeps no order: whether its samples repeat cannot be told"
    }
    assert (verdict.effective, verdict.dependence) == (1993, None)


def test_a_histogram_without_jitter_may_be_in_step() -> None:
    profile = dataclasses.replace(histogram(500, 480, 520, 490, 3), timing=elapsed(1993, NO_JITTER))
    assert kinds(examine(profile, CLEAN.build)) == ["no jitter"]


@pytest.mark.parametrize(
    ("counts", "saturated", "size", "said"),
    [
        ((65_535, 480), 120, 120 / 66_135, "1 bin at 65,535 and 120 samples not counted in them"),
        ((65_535, 65_535), 1, 1 / 131_071, "2 bins at 65,535 and 1 sample not counted in them"),
        ((65_535, 480), 0, 0.0, "1 bin at 65,535 and 0 samples not counted"),  # the published one counts none
    ],
)
def test_full_bins(counts: Tuple[int, ...], saturated: int, size: float, said: str) -> None:
    finding = only(examine(histogram(*counts, saturated=saturated), CLEAN.build))
    assert (finding.kind, finding.severity) == ("full bins", Severity.WRONG)
    assert finding.size == pytest.approx(size)
    assert said in finding.summary


def test_bins_that_two_functions_share() -> None:
    """hot_a has 10 bytes, hot_b 8: the first bin of 16 is 10 to 6."""
    finding = only(examine(histogram(800, 200, shift=4), CLEAN.build))
    assert (finding.kind, finding.severity, finding.size) == ("bins across functions", Severity.DOUBT, 1.0)
    assert "1,000 samples (100.0 %) in 2 bins that more than one row shares" in finding.summary
    assert "-falign-functions=16" in finding.evidence[0]


def test_samples_that_have_no_bin() -> None:
    finding = only(examine(histogram(500, 480, outside=20), CLEAN.build))
    assert (finding.kind, finding.severity, finding.size) == ("no bin", Severity.DOUBT, 0.02)
    assert "20 samples where no bin is" in finding.summary
    assert finding.evidence == ("The bins cover 4 bytes from 0x08000000.",)


@pytest.mark.parametrize(
    "profile", [histogram(500, 480, outside=1), histogram(1, shift=4)], ids=["no bin", "shared"]
)
def test_one_sample_lies(profile: Profile) -> None:
    summary = only(examine(profile, CLEAN.build)).summary
    assert re.search(r"\b1 sample\b", summary)
    assert " lie " not in summary


def test_a_ring_that_was_overwritten() -> None:
    verdict = examine(ring(shuffled(CLEAN), elapsed(10_000), taken=10_000), CLEAN.build)
    finding = only(verdict)
    assert (finding.kind, finding.severity, finding.size) == ("overwritten", Severity.REMARK, 0.755)
    assert "the ring keeps the last 2,450 of 10,000 samples taken" in finding.summary


@pytest.mark.parametrize("selection", [Selection(first=100), Selection(tags=(0x20001000,))])
def test_a_selection_of_a_ring_is_not_overwritten(selection: Selection) -> None:
    pcs = shuffled(CLEAN)
    tags = [0x20001000 + 0x1000 * (i % 2) for i in range(len(pcs))]
    verdict = examine(ring(pcs, tags=tags), CLEAN.build, selection=selection)
    assert verdict.findings == ()
    assert verdict.table.total in (100, 1225)


# -- other code, inlined code ------------------------------------------------------------


def test_a_target_that_does_not_run_what_is_loaded() -> None:
    where = "at 0x08000100 the target has ffffffff, the file 00bf7047"
    profile = ring(shuffled(CLEAN), seen=dataclasses.replace(ALL_SEEN, contents=where), program="app.elf")
    finding = only(examine(profile, CLEAN.build))
    assert (finding.kind, finding.severity, finding.size) == ("other code", Severity.WRONG, 1.0)
    assert "the target does not run app.elf: %s" % where in finding.summary


def inlined(chains: Dict[int, Sequence[str]]) -> Build:
    return dataclasses.replace(
        CLEAN.build, lines=FakeLines(inlined={BASE + 2 * i: c for i, c in chains.items()})
    )


HOT_A = (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("chains", "said"),
    [
        ({i: ("spin", "hot_a") for i in HOT_A}, "spin (81.2 % in hot_a)"),
        (
            {**{i: ("spin", "hot_a") for i in HOT_A}, 5: ("spin", "hot_b")},
            "spin (81.2 % in hot_a, 6.12 % in hot_b)",
        ),
        ({i: ("nop", "spin", "hot_a") for i in HOT_A}, "nop (81.2 % in hot_a), spin (81.2 % in hot_a)"),
        (
            {0: ("f", "hot_a"), 1: ("g", "hot_a"), 2: ("h", "hot_a")},
            "h (21.2 % in hot_a), f (20.4 % in hot_a) and 1 more",
        ),
        (
            {i: ("Filter::step(int) const", "hot_a") for i in HOT_A},
            "Filter::step(int) const (81.2 % in hot_a)",
        ),
        ({i: ("spin", "spin", "hot_a") for i in HOT_A}, "spin (81.2 % in hot_a)"),  # in itself
    ],
)
def test_functions_without_a_body_that_have_time(chains: Dict[int, Sequence[str]], said: str) -> None:
    finding = only(examine(ring(shuffled(CLEAN)), inlined(chains)))
    assert (finding.kind, finding.severity) == ("inlined", Severity.REMARK)
    assert "inlined: %s: charged to" % said in finding.summary


@pytest.mark.parametrize(
    "chains",
    [
        {i: ("hot_a",) for i in HOT_A},  # nothing inlined
        {i: ("hot_b", "hot_a") for i in HOT_A},  # it has a body, too
        {4: ("spin", "hot_a")},  # a thousandth
        {},
    ],
)
def test_functions_with_a_body_or_without_time(chains: Dict[int, Sequence[str]]) -> None:
    assert examine(ring(shuffled(CLEAN)), inlined(chains)).findings == ()


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("step", "step"),
        ("step.part.0", "step"),
        ("step.constprop.1.isra.0", "step"),
        ("_ZN6Filter4stepEi", "Filter::step(int)"),
        ("_ZN6Filter4stepEi", "Filter::step"),
        ("_ZN3app4main4step17h0123456789abcdefE", "app::main::step"),
    ],
)
def test_a_clone_or_a_mangled_symbol_is_a_body_too(symbol: str, name: str) -> None:
    table = "08000001 a FUNC GLOBAL hot_a\n0800000b 8 FUNC GLOBAL " + symbol
    functions = FunctionMap([(image([Section(".text", BASE, 0x20)], table), {})])
    build = dataclasses.replace(inlined({i: (name, "hot_a") for i in HOT_A}), functions=functions)
    pcs = [BASE + 2 * random.Random(i).choice(HOT_A) for i in range(500)]
    assert examine(ring(pcs), build).findings == ()


@pytest.mark.parametrize("by", ["inline", "line", "address"])
def test_where_the_table_shows_it_it_is_not_said(by: str) -> None:
    build = inlined({i: ("spin", "hot_a") for i in HOT_A})
    assert examine(ring(shuffled(CLEAN)), build, by).findings == ()


# -- an emulator -------------------------------------------------------------------------

STRAIGHT = """
    f:
        {0}  ldr r3, [r0, #0]
        {1}  adds r3, #1
        {1}  adds r3, #2
        {1}  str r3, [r0, #0]
        {1}  bne.n {{f}}
    g:
        {0}  nop
        {1}  nop
      .loop:
        {0}  subs r0, #1
        {1}  bne.n {{loop}}
          .  bx lr
"""


@pytest.mark.parametrize(
    ("first", "others", "emulator", "said"),
    [
        (
            300,
            0,
            "QEMU",
            "100.0 % of 900 samples are at the first instruction of a block: so does QEMU without -icount",
        ),
        (300, 1, "QEMU", "99.3 % of 906 samples"),
        (300, 0, "", "an emulator without an instruction clock"),
        (300, 2, "QEMU", None),  # more than one in a hundred are not
        (300, 300, "QEMU", None),
        (20, 0, "QEMU", None),  # too few
    ],
)
def test_samples_at_the_edges_of_blocks_only(
    first: int, others: int, emulator: str, said: Optional[str]
) -> None:
    shown = program(STRAIGHT.format(first, others))
    seen = dataclasses.replace(ALL_SEEN, emulator=emulator)
    verdict = examine(ring(shuffled(shown), seen=seen), shown.build)
    assert kinds(verdict) == (["emulator"] if said else [])
    if said:
        assert (only(verdict).severity, only(verdict).size) == (Severity.WRONG, 1.0)
        assert said in only(verdict).summary


def test_at_the_edges_of_blocks_what_follows_cpsie_is_no_masked_time() -> None:
    """Two instructions are masked, seven are not: all of these are charged to the first."""
    section = """
    h:
          .  cpsid i
        180  ldr r0, [r1, #0]
          .  str r0, [r1, #4]
          .  cpsie i
        300  adds r0, #1
          .  adds r0, #2
          .  adds r0, #3
          .  adds r0, #4
          .  adds r0, #5
          .  bx lr
    """
    shown = program(STRAIGHT.format(300, 0) + section)
    seen = dataclasses.replace(ALL_SEEN, emulator="QEMU")
    assert kinds(examine(ring(shuffled(shown), seen=seen), shown.build)) == ["emulator"]


def test_blocks_of_one_or_two_instructions_tell_nothing() -> None:
    shown = program("f:\n900  bne.n {f}\n100  nop\n.  bne.n {f}\n300  bx lr")
    assert examine(ring(shuffled(shown)), shown.build).findings == ()


@pytest.mark.parametrize("emulator", ["QEMU", ""])
@pytest.mark.parametrize(
    "sleeper",
    [
        ".loop:\n.  dsb sy\n.  wfi\n990  isb sy\n2  ldr r2, [r3, #0]\n1  adds r2, #1\n3  str r2, [r3, #0]\n.  b.n {loop}",
        ".  wfi\n500  isb sy\n.  bx lr\ng:\n.  wfi\n400  ldr r0, [r1, #0]\n2  adds r0, #1\n.  cmp r0, r1\n.  bx lr",
    ],
    ids=["idle loop", "two"],
)
def test_a_program_that_sleeps_is_no_emulator(sleeper: str, emulator: str) -> None:
    shown = program("f:\n" + sleeper)
    seen = dataclasses.replace(ALL_SEEN, emulator=emulator)
    assert examine(ring(shuffled(shown), seen=seen), shown.build).findings == ()


def test_one_hot_instruction_is_no_emulator_where_none_is_known() -> None:
    """A core that waits there for its flash or for a slow bus."""
    shown = program("f:\n900  ldr r3, [r0, #0]\n2  adds r3, #1\n1  str r3, [r0, #0]\n2  bx lr\n")
    assert examine(ring(shuffled(shown)), shown.build).findings == ()


def test_blocks_begin_where_a_branch_leads_and_after_each() -> None:
    shown = program(
        """
        f:
            .  nop
            .  cbz r0, {out}
          .a:
            .  bl {f}
          .b:
            .  nop
          .out:
            .  cpsie i
          .c:
            .  wfi
          .d:
            .  msr PRIMASK, r0
          .e:
            .  bx lr
        """
    )
    first = block_of(shown.build.code.function(BASE))
    assert sorted(set(first.values())) == sorted(
        shown.at[name] for name in ("f", "a", "b", "out", "c", "d", "e")
    )
    assert first[shown.at["f"] + 2] == shown.at["f"]
    assert block_of([]) == {}


# -- sleep -------------------------------------------------------------------------------

SLEEPER = program(
    """
    idle:
          .  wfi
        700  isb sy
          5  adds r0, #1
          5  b.n {idle}
    hot_a:
         50  nop
         45  adds r3, #1
         55  bne.n {hot_a}
    prvIdleTask:
         40  nop
         40  adds r3, #1
         40  b.n {prvIdleTask}
    """
)
IDLE, WORKER = 0x20001000, 0x20002000


def test_asleep_is_what_lies_after_a_wfi_and_an_idle_task_that_has_no_tag() -> None:
    table = examine(ring(shuffled(SLEEPER)), SLEEPER.build).table
    assert (table.classes, table.awake) == ({"asleep": 825}, 155)


def test_asleep_is_the_idle_task_by_its_tag_or_where_none_is_known_by_its_code() -> None:
    pcs = shuffled(SLEEPER)
    tags = [IDLE if pc >= SLEEPER.at["prvIdleTask"] else WORKER for pc in pcs]
    seen = dataclasses.replace(ALL_SEEN, idle_tags=(IDLE,))
    asleep = {
        tag: examine(ring(pcs, tags=tags, seen=s), SLEEPER.build).table.classes.get("asleep", 0)
        for tag, s in ((IDLE, seen), (0, ALL_SEEN))
    }
    assert asleep == {IDLE: 825, 0: 825}


def test_a_handler_in_the_idle_task_is_not_asleep() -> None:
    """An interrupt of the idle task has its tag."""
    pcs = [SLEEPER.at["hot_a"]] * 100 + [SLEEPER.at["prvIdleTask"]] * 100
    seen = dataclasses.replace(ALL_SEEN, idle_tags=(IDLE,), vectors={22: SLEEPER.at["hot_a"]})
    table = examine(ring(pcs, tags=[IDLE] * 200, seen=seen), SLEEPER.build).table
    assert table.classes == {"asleep": 100}


@pytest.mark.parametrize("by", KINDS)
def test_all_asleep(by: str) -> None:
    pcs = [SLEEPER.at["idle"] + 2] * 300
    verdict = examine(ring(pcs, tags=[IDLE] * 300), SLEEPER.build, by)
    assert (verdict.table.classes, verdict.table.awake) == ({"asleep": 300}, 0)
    assert verdict.effective == 300


# -- all of them -------------------------------------------------------------------------


def test_the_most_serious_is_the_first_and_of_these_the_largest() -> None:
    findings = [
        Finding("d", Severity.REMARK, 1.0, ""),
        Finding("c", Severity.DOUBT, 0.1, ""),
        Finding("b", Severity.DOUBT, 0.9, ""),
        Finding("f", Severity.DOUBT, 0.1, ""),
        Finding("a", Severity.WRONG, 0.0, ""),
    ]
    assert [f.kind for f in sorted(findings, key=by_seriousness)] == ["a", "b", "c", "f", "d"]


def test_several_traps_in_one_profile_are_all_found() -> None:
    pcs = MASKED.pcs + [0x20003000] * 50
    random.Random(4).shuffle(pcs)
    seen = Circumstances(0, (Handler(22, BASE, 0),), {}, "elsewhere", "QEMU", "SysTick_Handler")
    verdict = examine(ring(pcs, elapsed(2 * len(pcs)), seen, taken=len(pcs) + 5), MASKED.build)
    assert kinds(verdict) == [
        *("other code", "lost ticks", "masked interrupts"),
        *("tick-synchronous", "outside code", "hidden handlers"),
        "overwritten",
    ]
    assert [f.severity for f in verdict.findings] == sorted(
        (f.severity for f in verdict.findings), reverse=True
    )


ADDRESS = st.one_of(
    st.sampled_from([*range(BASE, BASE + 0x30), 0, 1, 0x20001000, 0xFFFFFFFE, 0xFFFFFFFF]),
    st.integers(0, 0xFFFFFFFF),
)


@given(
    st.lists(st.tuples(ADDRESS, st.integers(0, 400)), max_size=8),
    st.sampled_from(KINDS),
    st.sampled_from([JITTER, NO_JITTER, Timing(), elapsed(5), elapsed(1e9)]),
    st.sampled_from([MASKED, CLEAN, SLEEPER]),
    st.sampled_from([Selection(), Selection(first=1), Selection(first=200), Selection(tags=(IDLE,))]),
)
def test_whatever_was_sampled_is_examined(
    counts: List[Tuple[int, int]], by: str, timing: Timing, shown: Program, selection: Selection
) -> None:
    """Odd addresses, the middle of an instruction, no code at all, nothing selected."""
    pcs = [pc for pc, n in counts for _ in range(n)]
    random.Random(len(pcs)).shuffle(pcs)
    tags = [(IDLE, WORKER)[pc & 1] for pc in pcs]
    seen = Circumstances(None, None, {3: 0x12345678}, "", "", "", (IDLE,))
    verdict = examine(ring(pcs, timing, seen, tags=tags, taken=len(pcs) + 1), shown.build, by, selection)
    for finding in verdict.findings:
        assert finding.summary.startswith(finding.kind)
        assert 0 <= finding.size <= 1
        assert "  " not in finding.summary + "".join(finding.evidence)
    assert all(0 <= number < len(verdict.table.rows) for number in verdict.marked)
    assert all(isinstance(what, Unknown) for what in verdict.unknown)


@given(
    st.lists(st.integers(0, 65_535), min_size=1, max_size=24),
    st.integers(1, 6),
    st.integers(0, 2),
    st.sampled_from(sorted(set(KINDS) - {"task"})),
)
def test_whatever_bins_hold_is_examined(counts: List[int], shift: int, lost: int, by: str) -> None:
    shown = Histogram(BASE - 8, shift, tuple(counts), lost, lost)
    verdict = examine(Profile(histogram=shown, taken=7), MASKED.build, by)
    assert verdict.table.total == sum(counts) + 2 * lost
    assert verdict.effective == verdict.table.total
    assert all(0 <= finding.size <= 1 for finding in verdict.findings)
