"""Tables and sentences of counts."""

from __future__ import annotations

from typing import Optional, Tuple

import pytest

from gdb_prof.counters.cortexm import text
from gdb_prof.counters.cortexm.counter import AT_LEAST, UNKNOWN, Counter, Figure, Reading
from gdb_prof.counters.counting import Width

CYCCNT = Counter("cyccnt", "DWT_CYCCNT", Width(32))
SLEEP = Counter("sleep", "DWT_SLEEPCNT", Width(8))
INSTRUCTIONS = Counter("INST_RETIRED", "PMU 0", Width(16), flagged=True)


def lap(cycles: int, asleep: int, exact: bool = True) -> Tuple[Figure, ...]:
    return Figure(CYCCNT, cycles, True), Figure(SLEEP, asleep, exact)


def test_a_count_says_how_far_it_is_known() -> None:
    figures = (
        Figure(CYCCNT, 1_234_567, True),
        Figure(SLEEP, 12, False),
        Figure(INSTRUCTIONS, 70_000, False),
    )
    assert text.figures_table(figures) == [
        "  event             count  known       counter",
        "  cyccnt        1,234,567  exact       DWT_CYCCNT",
        "  sleep                12  mod 256     DWT_SLEEPCNT",
        "  INST_RETIRED     70,000  mod 65,536  PMU 0",
    ]


def test_least_median_and_most_of_all_laps() -> None:
    laps = [lap(100, 25), lap(400, 100, exact=False), lap(200, 50), lap(120, 30)]
    assert text.laps_table(laps, 1_000_000) == [
        "  event         min   median      max  known",
        "  cyccnt        100      160      400  exact",
        "  sleep          25       40      100  mod 256 in 1 of 4",
        "  time, us  100.000  160.000  400.000",
        "  asleep     25.0 %   25.0 %   25.0 %  in 3 of 4",
    ]


def test_each_way_in_which_laps_are_known_is_told() -> None:
    sleeps = (
        Figure(SLEEP, 5, True),
        Figure(SLEEP, 6, False, UNKNOWN),
        Figure(SLEEP, 7, False),
        Figure(SLEEP, 8, False),
    )
    assert text.laps_table([(figure,) for figure in sleeps], None)[1] == (
        "  sleep    5       7    8  unknown in 1 of 4, mod 256 in 2 of 4"
    )


def test_a_median_between_two_counts_has_a_decimal() -> None:
    assert text.laps_table([lap(100, 0), lap(101, 0)], None)[1].split()[1:4] == ["100", "100.5", "101"]


def test_the_share_asleep_stands_under_the_condition_that_it_has() -> None:
    assert text.asleep([(lap(200, 50, exact=False), 0.0)], None) == [
        "25.0 % asleep, if CYCCNT goes on then; CYCCNT stops in sleep on many parts, and then more may have passed"
    ]
    for figures in (lap(256, 50, exact=False), lap(40, 50, exact=False)):
        assert not any("% asleep" in said for said in text.asleep([(figures, 0.0)], None))


def test_why_eight_bits_do_not_tell() -> None:
    said = text.remarks((Figure(CYCCNT, 1_000, True), Figure(SLEEP, 12, False)))
    assert said[0] == (
        "8 bits wrap at 256: 1,000 cycles passed: of sleep only what is left modulo 256 is known"
    )
    assert said[1] == "not given, since they need exact counts: asleep"
    (few, *_) = text.remarks((Figure(CYCCNT, 100, True), Figure(SLEEP, 12, False)))
    assert few == (
        "8 bits wrap at 256: 100 cycles passed, and CYCCNT may have stood in sleep: of sleep only what is left modulo "
        "256 is known"
    )
    unknown = text.remarks((Figure(SLEEP, 12, False),))
    assert "how many cycles passed is not known" in unknown[0]


@pytest.mark.parametrize(
    ("figures", "warned"),
    [
        (lap(100, 0), False),  # it did not sleep
        (lap(100, 5), True),
        (lap(1000, 0, exact=False), True),  # or 256 times
        ((Figure(CYCCNT, 100, True),), True),  # nobody knows
        ((Figure(CYCCNT, 0, True),), False),  # it did not run
        ((Figure(INSTRUCTIONS, 5, True),), False),  # there are no cycles
    ],
)
def test_where_sleep_is_possible_it_is_said_what_it_does_to_cycles(
    figures: Tuple[Figure, ...], warned: bool
) -> None:
    assert (
        any("stops in sleep on many parts" in said for said in text.asleep([(figures, 0.0)], None)) == warned
    )


@pytest.mark.parametrize(
    ("cycles", "ran_s", "said"),
    [
        (
            10_800_000,
            1.01,
            [
                "DWT_CYCCNT counted 0.169 s of 1.01 s: 17 % awake, else halted by a breakpoint that did not "
                "stop it, or the clock is not 64,000,000 Hz"
            ],
        ),
        (64_000_000, 1.01, []),
        (
            100,
            0.01,
            ["where the core sleeps: CYCCNT stops in sleep on many parts; cycles may be those awake only"],
        ),
    ],
)
def test_how_much_it_was_awake(cycles: int, ran_s: float, said: "list[str]") -> None:
    assert text.asleep([((Figure(CYCCNT, cycles, True),), ran_s)], 64_000_000) == said


def test_of_many_laps_the_one_that_slept_most_is_told() -> None:
    laps = [
        ((Figure(CYCCNT, cycles, True),), ran_s) for cycles, ran_s in ((64_000_000, 1.0), (640_000, 0.95))
    ]
    (said,) = text.asleep(laps, 64_000_000)
    assert said.startswith(
        "in one of 2: DWT_CYCCNT counted 0.01 s of 0.95 s: 1 % awake, else halted by a breakpoint"
    )


@pytest.mark.parametrize(
    ("doubt", "known", "said"),
    [
        (
            UNKNOWN,
            "unknown",
            "cyccnt was written meanwhile, ran unseen by GDB, or the clock is another: what it counted is "
            "not known",
        ),
        (
            AT_LEAST,
            "at least",
            "INST_RETIRED may have stood for a while, since with PMU_CTRL.FRZ_ON_OV a flag in PMU_OVSSET stops all: how much more there was is "
            "not known",
        ),
    ],
)
def test_what_makes_a_count_doubtful(doubt: str, known: str, said: str) -> None:
    figures = (Figure(CYCCNT if doubt == UNKNOWN else INSTRUCTIONS, 5, False, doubt),)
    row = text.figures_table(figures)[1].split()
    assert row[1] == ("?" if doubt == UNKNOWN else "5") and " ".join(row[2:-1]).startswith(known)
    assert text.remarks(figures)[0] == said and text.span(figures, 1_000_000, 3.0) == []


def test_time_comes_from_the_cycle_counter_that_is_exact() -> None:
    ccntr = Counter("ccntr", "PMU_CCNTR", Width(32), flagged=True)
    stuck = [(Figure(CYCCNT, 0, False), Figure(ccntr, n, n < 300)) for n in (100, 200, 300)]
    assert text.laps_table(stuck, 1_000_000)[-1] == "  time, us  100.000  150.000  200.000  in 2 of 3"
    assert not any("time" in row for row in text.laps_table([lap[:1] for lap in stuck], 1_000_000))


@pytest.mark.parametrize(
    ("exact", "hz", "said"),
    [
        (True, 168_000_000, ["DWT_CYCCNT wraps after 2^32 cycles, 25.6 s at 168,000,000 Hz"]),
        (True, None, []),
        (
            False,
            168_000_000,
            ["DWT_CYCCNT wraps after 2^32 cycles, 25.6 s at 168,000,000 Hz; it may have, in 30.0 s"],
        ),
        (
            False,
            None,
            [
                "DWT_CYCCNT wraps after 2^32 cycles: how long that is is not known: give -clock HZ; it may "
                "have, in 30.0 s"
            ],
        ),
    ],
)
def test_after_how_long_cycles_wrap(exact: bool, hz: Optional[int], said: "list[str]") -> None:
    assert text.span((Figure(CYCCNT, 5, exact),), hz, 30.0) == said


def test_a_counter_that_stands_is_told_with_its_bits() -> None:
    figures = (Figure(CYCCNT, 0, False), Figure(SLEEP, 0, False))
    assert text.stuck(figures, Reading({"cyccnt": 0x40000000, "sleep": 0})) == [
        "DWT_CYCCNT does not move though the program ran: it reads 0x40000000 each time; NOCYCCNT is 0, "
        "CYCCNTENA 1, DEMCR.TRCENA 1: there is none, or the part has it off, or the core slept, or was where "
        "DWT_CTRL.CYCDISS has it stand"
    ]
    assert "stands" in text.figures_table(figures)[1]
    assert text.span(figures, 1_000_000, 3.0) == []
