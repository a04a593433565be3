"""The text of prof_dump() out of a UART's log: noise is passed over, a loss is never silent."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.errors import FileError
from gdb_prof.profile.samples import Histogram, Profile, Timing
from gdb_prof.profile.saved.uart_text import loads

RING_FIELDS = {"version": 1, "mode": 0, "timer": 0, "n": 20, "limit": 20}
RING_FIELDS.update(period=2013, jitter=2047, prescaler=0, size=1024)
HIST_FIELDS = {"version": 1, "mode": 1, "timer": 1, "n": 19, "limit": 20, "period": 100}
HIST_FIELDS.update(prescaler=83, size=28, base=0x08000000, shift=4, out=5, saturated=2)
PCS = [0x08000238 + 2 * i for i in range(20)]
TAGS = [0] * 8 + [0x20001000] * 4 + [0] * 8
BINS = [0] * 10 + [5, 0, 7, 0, 0, 0] + [0] * 8 + [0, 0, 0, 1]


def dump(fields: Any, **sections: Sequence[int]) -> str:
    """As the firmware prints it: see the module's docstring."""
    lines = ["prof begin" + "".join(" %s=%08x" % item for item in fields.items())]
    for name, words in sections.items():
        lines.append("prof " + name)
        lines += [" ".join("%08x" % w for w in words[i : i + 8]) for i in range(0, len(words), 8)]
        lines.append("prof sum %08x" % (sum(words) & 0xFFFFFFFF))
    return "\n".join([*lines, "prof end"]) + "\n"


def stamped(text: str, stamp: str) -> str:
    """As a terminal program logs it."""
    return "".join(stamp + line + "\r\n" for line in text.splitlines())


RING = dump(RING_FIELDS, pc=PCS, tag=TAGS)
HIST = dump(HIST_FIELDS, hist=BINS)
NO_BUILD = "a UART's text does not say which build it is of"


def test_a_ring() -> None:
    assert loads(RING, "uart.log") == Profile(
        pcs=PCS,
        tags=TAGS,
        taken=20,
        limit=20,
        timing=Timing("SysTick", 2013, 2047),
        origin="uart.log",
        remarks=(NO_BUILD,),
    )


def test_a_histogram_of_a_timer_with_a_prescaler() -> None:
    assert loads(HIST, "uart.log") == Profile(
        pcs=[],
        histogram=Histogram(0x08000000, 4, tuple(BINS), outside=5, saturated=2),
        taken=19,
        limit=20,
        timing=Timing("TIM3", 100),
        origin="uart.log",
        remarks=(NO_BUILD,),
    )


def test_the_oldest_of_a_full_ring_are_gone_and_that_is_no_loss() -> None:
    profile = loads(dump({**RING_FIELDS, "n": 5000, "size": 20}, pc=PCS, lr=PCS[::-1]), "uart.log")
    assert (profile.taken, profile.kept, profile.lrs, profile.remarks) == (5000, 20, PCS[::-1], (NO_BUILD,))


@pytest.mark.parametrize("text", [RING, HIST], ids=["ring", "histogram"])
@pytest.mark.parametrize("stamp", ["[12:01:02.123] ", "[   12.345678] ", "12345678 | ", "> \t"])
def test_what_a_terminal_program_puts_before_a_line_is_passed_over(stamp: str, text: str) -> None:
    assert loads(stamped(text, stamp), "uart.log") == loads(text, "uart.log")


@pytest.mark.parametrize("noise", ["boot v1.2", "", "temperature 23 C", "\x1b[2J", "E (123) wifi: 0x20"])
def test_other_output_is_passed_over(noise: str) -> None:
    noisy = "".join(line + noise + "\n" for line in ["", *RING.splitlines(keepends=True)])
    assert loads(noisy, "uart.log") == loads(RING, "uart.log")


def test_the_last_dump_of_a_log_counts() -> None:
    log = "boot\n" + HIST + "reset\n" + RING[: len(RING) // 2] + "\nboot\n" + RING + "running\n"
    assert loads(log, "uart.log") == loads(RING, "uart.log")


def remarks(text: str) -> List[str]:
    return [r for r in loads(text, "uart.log").remarks if r != NO_BUILD]


@pytest.mark.parametrize(
    ("lost", "damage"),
    [
        ("0800023a", "a line of its pc words is not whole"),
        ("limit=", "its `prof begin` is not whole"),
        ("jitter=", "its `prof begin` is not whole"),
        ("size=0", "its `prof begin` is not whole"),
        ("prof tag", "a sum without its words"),
        ("prof sum 80004000", "the sum of its tag words is missing"),
    ],
)
def test_a_lost_character_is_told(lost: str, damage: str) -> None:
    assert "the log is damaged: " + damage in remarks(RING.replace(lost, lost[:3] + lost[4:]))


def test_a_changed_word_is_told_by_the_sum() -> None:
    assert remarks(RING.replace("0800023a", "0800023b")) == [
        "the log is damaged: the sum of its pc words is wrong"
    ]


LINE = "00000000 " * 7 + "00000000\n"


@pytest.mark.parametrize(
    ("text", "lost", "damage"),
    [
        (RING, LINE, "words are missing"),
        (dump(RING_FIELDS, pc=[0] * 20), LINE, "words are missing"),
        (HIST, "00000000 ", "a line of its hist words is not whole"),
        (HIST, " ".join(["00000000"] * 8) + "\n", "words are missing"),
    ],
    ids=["tags", "pcs", "bins", "a line of bins"],
)
def test_lost_words_are_told_where_the_sum_cannot(text: str, lost: str, damage: str) -> None:
    assert remarks(text) == []
    assert remarks(text.replace(lost, "", 1)) == ["the log is damaged: " + damage]


def test_a_timer_of_the_programs_own() -> None:
    for timer in (2, 9):
        log = loads(dump({**RING_FIELDS, "timer": timer}, pc=PCS), "uart.log")
        assert log.timing.timer == "the program's own timer"


def result(text: str) -> Optional[Profile]:
    try:
        profile = loads(text, "uart.log")
    except FileError:
        return None
    assert all(c is None or len(c) == len(profile.pcs) for c in (profile.tags, profile.lrs))
    return profile


@pytest.mark.parametrize("text", [RING, HIST], ids=["ring", "histogram"])
@pytest.mark.parametrize("stamp", ["", "[12:01] "])
def test_no_lost_character_is_silent(stamp: str, text: str) -> None:
    whole, told = loads(text, "uart.log"), 0
    for at in range(len(text)):
        profile = result(stamped(text[:at] + text[at + 1 :], stamp))
        if profile is None or any("damaged" in r or "cut short" in r for r in profile.remarks):
            told += 1
        else:
            assert profile == whole, "without character %d, %r" % (at, text[at])
    assert told > 0.95 * len(text)


@pytest.mark.parametrize("text", [RING, HIST], ids=["ring", "histogram"])
def test_a_log_that_is_cut_says_so_or_is_refused(text: str) -> None:
    end = text.index("prof end") + len("prof end")
    for length in range(end):
        profile = result(text[:length])
        if profile is not None:
            assert "the log is cut short: it has no `prof end`" in profile.remarks
            assert list(profile.pcs) == PCS[: len(profile.pcs)]
    assert result(text[:end]) == loads(text, "uart.log")


def test_the_samples_before_the_cut_are_kept_and_counted() -> None:
    profile = loads(RING[: RING.index("%08x" % PCS[16])], "uart.log")
    assert (profile.pcs, profile.tags, profile.taken) == (PCS[:16], None, 16)


def test_bare_words_are_taken_for_pcs() -> None:
    profile = loads("hello\n08000238 0800023A\n  0800023c\nbye 08000240\n", "uart.log")
    assert (profile.pcs, profile.taken) == ([0x08000238, 0x0800023A, 0x0800023C], 3)
    assert profile.remarks == ("bare words, taken for PCs: nothing says how they were sampled",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no profile in it"),
        ("booting\nhello world\n", "no profile in it"),
        (RING.replace("prof begin", "prof bgin"), "no `prof begin` that can be read"),
        (RING[: RING.index("\n")], "breaks off before the first sample"),
        (HIST.replace("base", "bass"), "does not say its base and shift"),
        (HIST.replace("shift=00000004", "shift=00000000"), "a shift of 0: it must be 1 to 16"),
        (HIST.replace("shift=00000004", "shift=00000011"), "a shift of 17: it must be 1 to 16"),
        (HIST.replace("shift=00000004", "shift=ffffffff"), "a shift of 4294967295"),
    ],
    ids=["empty", "other", "no begin", "no samples", "no base", "shift 0", "shift 17", "shift -1"],
)
def test_what_holds_no_profile_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        loads(text, "uart.log")


def test_the_name_of_a_log_is_printable() -> None:
    assert loads(RING, "\x1b.log").origin == loads("08000238", "\x1b.log").origin == "\\x1b.log"


PIECES = ["prof begin", "prof pc\n", "prof tag\n", "prof hist\n", "prof sum 00000000", "prof end\n", "prof "]
PIECES += [" n=00000002", " size=00000004", " base=08000000", " shift=00000004", " timer=00000009", "\n"]
PIECES += ["08000238 ", "00000000", "0800\n", "x", " \t", "\u2028", "\ufffd", *RING.splitlines()[:3]]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    result(text)
