"""What the way of taking samples does to them: found where it is, with its number, and nowhere else."""

from __future__ import annotations

import dataclasses
import random
from typing import Dict, List, Optional, Sequence

import pytest
from fake_code import Program, program

from gdb_prof.profile.checks import Verdict, examine
from gdb_prof.profile.circumstances import Circumstances
from gdb_prof.profile.finding import Finding, Severity
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.profile.shares import Selection
from gdb_prof.profile.source import HALT, KINDS, PCSR, SWO, TIMER, Source

FIRMWARE = program(
    """
    reset:
           .  ldr r0, [pc, #4] = 0x20001000
      .copy:
           .  str r1, [r0]
           .  bne.n {copy}
           .  bl {main}
      .for_ever:
           .  b.n {for_ever}
    main:
           .  nop
           .  bl {work}
           .  b.n {main}
    work:
           .  nop
           .  nop
           .  bx lr
    idle:
           .  wfi
           .  nop
    """
)
RESET, COPY, MAIN, WORK, IDLE = (FIRMWARE.at[name] for name in ("reset", "copy", "main", "work", "idle"))
SEEN = Circumstances(vectors={1: RESET, 2: FIRMWARE.at["for_ever"]})
HALTED = Source(HALT, rate_hz=330.0, stopped=0.3, spread=0.27)
MIXED = [MAIN, WORK, WORK + 2, MAIN, WORK + 4] * 8


def findings(
    pcs: Sequence[int],
    source: Source = HALTED,
    seen: Circumstances = SEEN,
    of: Program = FIRMWARE,
    first: Optional[int] = None,
) -> Dict[str, Finding]:
    timing = Timing("halting", random=True)
    verdict: Verdict = examine(
        Profile(pcs, taken=len(pcs), timing=timing, circumstances=seen, source=source),
        of.build,
        selection=Selection(first=first),
    )
    return {finding.kind: finding for finding in verdict.findings}


def source(kind: str, stopped: Optional[float] = None, spread: Optional[float] = None) -> Source:
    return Source(kind, stopped=stopped, spread=spread)


# -- overflow ------------------------------------------------------------------------------


def stream(
    overflows: int, lost: Optional[int], unbounded: int = 0, timestamps: Optional[bool] = True
) -> Source:
    return Source(SWO, overflows=overflows, lost=lost, unbounded=unbounded, timestamps=timestamps)


@pytest.mark.parametrize(
    ("lost", "size", "severity", "told"),
    [
        (10, 0.2, Severity.WRONG, "about 10 samples lost (20.0 %)"),
        (1, 1 / 41, Severity.DOUBT, "about 1 sample lost (2.44 %)"),
        (0, 0.0, Severity.REMARK, "about 0 samples lost (0.00 %)"),
    ],
)
def test_what_is_lost_is_a_part_of_all_that_there_was(
    lost: int, size: float, severity: Severity, told: str
) -> None:
    found = findings(MIXED, stream(2, lost))["lost samples"]
    assert (found.size, found.severity) == (size, severity)
    assert found.summary.startswith("lost samples: 2 overflows in the trace, %s: more where" % told)
    assert "A share is wrong by at most %.1f points" % (100 * size) in found.evidence[1]


@pytest.mark.parametrize("first", [None, 10])
@pytest.mark.parametrize(("lost", "size"), [(10, 0.2), (None, 2 / 42)])
def test_the_loss_of_the_capture_is_set_against_its_samples_not_the_selected(
    lost: Optional[int], size: float, first: Optional[int]
) -> None:
    assert findings(MIXED, stream(2, lost), first=first)["lost samples"].size == size


@pytest.mark.parametrize(
    ("unbounded", "told"),
    [
        (1, "1 overflow has no timestamp on both sides"),
        (2, "2 overflows have no timestamp on both sides"),
    ],
)
@pytest.mark.parametrize("lost", [0, 1])
def test_a_loss_that_is_known_in_part_is_no_bound(unbounded: int, told: str, lost: int) -> None:
    found = findings(MIXED, stream(3, lost, unbounded))["lost samples"]
    assert "at least about %d sample" % lost in found.summary and told in found.summary
    assert found.severity == Severity.DOUBT
    assert "by at most n / (n + 40)" in found.evidence[1]
    assert "points" not in found.evidence[1]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (stream(1, None, 1, timestamps=False), "The stream has no local timestamps, which"),
        (stream(1, None, 1), "No overflow lies between two local timestamps"),
        (stream(3, None), "No samples lie between two local timestamps without an overflow"),
        (stream(3, None, timestamps=None), "No samples lie between two local timestamps without an overflow"),
    ],
)
def test_why_a_loss_is_not_known_is_said_and_it_is_not_understated(source: Source, why: str) -> None:
    found = findings(MIXED * 100, source)["lost samples"]
    assert "how many samples were lost is not known" in found.summary
    assert found.severity == Severity.DOUBT
    assert found.evidence[1].startswith(why)
    assert found.evidence[1].endswith(
        "An overflow may have lost many samples. Where n are lost in all, a share is wrong by at most "
        "n / (n + 4,000)."
    )


# -- one address for ever ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [HALT, PCSR])
def test_fifty_samples_at_one_address_are_doubted(kind: str) -> None:
    """0x08000216, as it was seen."""
    firmware = program("main:\n" + "0  nop\n" * 0x120)
    assert firmware.at["main"] + 0x240 > 0x08000216
    found = findings([0x08000216] * 50, source(kind), of=firmware)["all equal"]
    assert found.severity == Severity.DOUBT
    assert found.summary == (
        "all equal: all 50 samples are at 0x08000216: does it wait there, is it held in reset, or does it "
        "always stop there?"
    )


@pytest.mark.parametrize("kind", [TIMER, SWO])
def test_of_a_sampler_that_does_not_stop_the_core_that_is_no_doubt(kind: str) -> None:
    assert "all equal" not in findings([WORK] * 50, source(kind))


@pytest.mark.parametrize(
    "pcs",
    [
        [WORK] * 49 + [WORK + 2],
        [WORK] * 7,  # too few to tell
        [IDLE + 2] * 50,  # it sleeps, which the table says
    ],
)
def test_what_is_not_all_equal(pcs: List[int]) -> None:
    assert "all equal" not in findings(pcs)


# -- resets --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [HALT, PCSR, SWO])
def test_eight_of_forty_samples_at_the_reset_handler_are_eight_resets(kind: str, seed: int) -> None:
    pcs = MIXED[:32]
    for at in sorted(random.Random(seed).sample(range(1, 33), 8), reverse=True):
        pcs.insert(at, RESET)
    assert (len(pcs), pcs.count(RESET)) == (40, 8)
    found = findings(pcs, source(kind))["resets"]
    assert (found.severity, found.size) == (Severity.WRONG, 0.2)
    assert found.summary.startswith("resets: the target was reset 8 times while samples were taken")


def test_samples_of_one_start_are_one_reset() -> None:
    pcs = [*MIXED, RESET, COPY, COPY + 2, COPY, *MIXED]
    assert "was reset 1 time while" in findings(pcs)["resets"].summary


@pytest.mark.parametrize(
    "pcs",
    [
        MIXED,
        [RESET, COPY, COPY, *MIXED],  # it began there
        [COPY] * 20,  # and has not left it
    ],
)
def test_a_program_that_was_not_reset(pcs: List[int]) -> None:
    assert "resets" not in findings(pcs)


def test_where_the_vectors_are_not_known_no_reset_is_seen() -> None:
    assert "resets" not in findings([*MIXED, RESET, *MIXED], seen=Circumstances())


def test_a_main_loop_inside_the_reset_handler_is_no_reset_but_its_start_is() -> None:
    inlined = program(
        """
        reset:
               .  ldr r0, [pc, #4] = 0x20001000
               .  nop
          .loop:
               .  nop
               .  bl {work}
               .  nop
               .  b.n {loop}
        work:
               .  nop
               .  bx lr
        """
    )
    reset, loop, work = (inlined.at[name] for name in ("reset", "loop", "work"))
    seen = Circumstances(vectors={1: reset})
    lap = [loop, work, work + 2, loop + 6, loop + 8]
    assert "resets" not in findings(lap * 8, seen=seen, of=inlined)
    assert (
        "was reset 1 time while"
        in findings([*lap * 4, reset + 2, *lap * 4], seen=seen, of=inlined)["resets"].summary
    )


# -- when and for how long -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("spread", "found"), [(0.0, True), (0.09, True), (0.11, False), (0.29, False), (None, False)]
)
def test_even_spacing_is_doubted(spread: Optional[float], found: bool) -> None:
    """Waits at random from half to one and a half of their mean have 0.289 of it as standard deviation."""
    assert ("evenly spaced" in findings(MIXED, source(HALT, spread=spread))) == found


def test_a_few_samples_may_be_evenly_spaced() -> None:
    assert "evenly spaced" not in findings(MIXED[:31], source(HALT, spread=0.01))


@pytest.mark.parametrize("kind", [TIMER, SWO, PCSR])
def test_spacing_is_measured_where_samples_are_halts_only(kind: str) -> None:
    assert "evenly spaced" not in findings(MIXED, source(kind, spread=0.01))


@pytest.mark.parametrize(
    ("stopped", "severity"),
    [(0.02, Severity.REMARK), (0.49, Severity.REMARK), (0.5, Severity.DOUBT), (0.71, Severity.DOUBT)],
)
def test_the_time_for_which_the_program_stood_is_told(stopped: float, severity: Severity) -> None:
    found = findings(MIXED, dataclasses.replace(HALTED, stopped=stopped))["halted"]
    assert (found.severity, found.size) == (severity, stopped)
    assert (
        "the program stood for %s %% of the time"
        % {0.02: "2.00", 0.49: "49.0", 0.5: "50.0", 0.71: "71.0"}[stopped]
        in found.summary
    )


@pytest.mark.parametrize("of", [source(HALT), source(PCSR, 0.7), source(TIMER, 0.7), source(SWO, 0.7)])
def test_where_it_was_not_measured_or_not_halted_that_is_not_told(of: Source) -> None:
    assert "halted" not in findings(MIXED, of)


# -- QEMU ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("emulator", ["", "QEMU"])
def test_block_edges_are_found_where_an_emulator_is_halted(kind: str, emulator: str) -> None:
    found = findings(MIXED, source(kind), dataclasses.replace(SEEN, emulator=emulator))
    assert ("block edges" in found) == (kind == HALT and emulator == "QEMU")
    if "block edges" in found:
        assert found["block edges"].severity == Severity.WRONG
        assert "QEMU halts only where a translated block begins" in found["block edges"].summary


def test_a_good_recording_by_halting_has_no_finding_but_that_it_halted() -> None:
    pcs = MIXED[:]
    random.Random(3).shuffle(pcs)
    found = findings(pcs)
    assert {(kind, finding.severity) for kind, finding in found.items()} == {("halted", Severity.REMARK)}
