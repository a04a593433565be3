"""The text that the firmware's ``prof_dump()`` prints, out of a UART's log.

::

    prof begin version=00000001 mode=00000000 timer=00000000 n=00002710 …
    prof pc
    08000238 0800023a …                     eight words a line, oldest sample first
    prof sum 1a2b3c4d                       of the words, modulo 2^32
    prof tag                                … prof lr, prof hist in the same form
    prof end

All numbers are hexadecimal. Other output, and whatever a terminal program puts before
a line, is passed over; the last dump in the log counts. The first line has no sum: a
field that is missing or unknown there says that a character was lost. Lines of nothing
but eight-digit words, without all this, are taken for PCs.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Dict, List, Optional, Sequence, Tuple

from gdb_prof.errors import FileError
from gdb_prof.printable import printable
from gdb_prof.profile.samples import Histogram, Profile, Timing, elapsed

TIMERS = ("SysTick", "TIM3", "the program's own timer")

_BEGIN = re.compile(r"prof begin((?: \w+=[0-9a-fA-F]{8})+)\s*(.*)")
_ALWAYS = {"version", "mode", "timer", "n", "limit", "period", "prescaler"}
_KNOWN = _ALWAYS | {"jitter", "clock0", "clock1", "clockhz", "size", "base", "shift", "out", "saturated"}
_SECTION = re.compile(r"prof (pc|tag|lr|hist)\s*$")
_SUM = re.compile(r"prof sum ([0-9a-fA-F]{8})")
_END = re.compile(r"prof end\s*$")
_WORD = re.compile(r"[0-9a-fA-F]{8}")
_WORDS_A_LINE = 8
_BARE = re.compile(r"^\s*[0-9a-fA-F]{8}(?:\s+[0-9a-fA-F]{8})*\s*$")


def loads(text: str, origin: str, clock_hz: float = 0) -> Profile:
    """The last dump in a log. Raises FileError when there is none that can be used.

    `clock_hz` is the clock of the sampler's timer before its prescaler; 0 is unknown.
    """
    lines = text.splitlines()
    begins = [i for i, line in enumerate(lines) if _BEGIN.search(line)]
    if not begins:
        return _bare(lines, origin)
    fields: Dict[str, int] = {}
    match = _BEGIN.search(lines[begins[-1]])
    assert match
    for field in match.group(1).split():
        name, _, value = field.partition("=")
        fields[name] = int(value, 16)
    remarks: List[str] = []
    if match.group(2) or not _ALWAYS <= set(fields) <= _KNOWN:
        remarks.append("the log is damaged: its `prof begin` is not whole")
    sections = _sections(lines[begins[-1] + 1 :], remarks)
    return _profile(fields, sections, remarks, printable(origin), clock_hz)


def _elapsed(fields: Dict[str, int], timing: Timing, clock_hz: float) -> Optional[float]:
    """By the program's PROF_CLOCK, whose counts a second are `clockhz`, or 0 for the processor's."""
    counted_hz = fields.get("clockhz") or clock_hz
    if (
        not counted_hz
        or not timing.tick_hz
        or not timing.mean_ticks
        or not {"clock0", "clock1"} <= set(fields)
    ):
        return None
    expected = fields.get("n", 0) * timing.mean_ticks / timing.tick_hz
    return elapsed((fields["clock0"], fields["clock1"]), counted_hz, expected)


def _sections(lines: Sequence[str], remarks: List[str]) -> Dict[str, List[int]]:
    sections: Dict[str, List[int]] = {}
    name = ""  # of the section whose sum has not come yet
    before = 0  # words that the terminal program puts before a line

    def damaged(what: str) -> None:
        remark = "the log is damaged: " + what
        if remark not in remarks:
            remarks.append(remark)

    for line in lines:
        section, total, end = _SECTION.search(line), _SUM.search(line), _END.search(line)
        if name and (section or end):
            damaged("the sum of its %s words is missing" % name)
        if section:
            name = section.group(1)
            if name in sections:
                damaged("another one begins within it")
            before = len(line[: section.start()].split())
            sections[name] = []
        elif total:
            if not name:
                damaged("a sum without its words")
            elif sum(sections[name]) & 0xFFFFFFFF != int(total.group(1), 16):
                damaged("the sum of its %s words is wrong" % name)
            name = ""
        elif end:
            return sections
        elif name:
            words, whole = _words(line.split(), before)
            if not whole or (words and len(sections[name]) % _WORDS_A_LINE):
                damaged("a line of its %s words is not whole" % name)
            sections[name] += words
    remarks.append("the log is cut short: it has no `prof end`")
    return sections


def _words(parts: Sequence[str], before: int) -> Tuple[List[int], bool]:
    """The words a line ends with, and whether they are all that it had."""
    words: List[int] = []
    for part in parts[: -_WORDS_A_LINE - 1 : -1]:
        if not _WORD.fullmatch(part):
            break
        words.insert(0, int(part, 16))
    whole = len(parts) - len(words) <= before if words else not any(_WORD.fullmatch(p) for p in parts)
    return words, whole


def _profile(
    fields: Dict[str, int],
    sections: Dict[str, List[int]],
    remarks: List[str],
    origin: str,
    clock_hz: float,
) -> Profile:
    timer = fields.get("timer", 2)
    timing = Timing(
        TIMERS[timer] if timer < len(TIMERS) else TIMERS[2],
        fields.get("period"),
        fields.get("jitter", 0),
        clock_hz / (fields.get("prescaler", 0) + 1) if clock_hz else None,
    )
    timing = dataclasses.replace(timing, elapsed_s=_elapsed(fields, timing, clock_hz))
    histogram = None
    pcs = sections.get("pc", [])
    columns = {
        name: words for name, words in sections.items() if name in ("tag", "lr") and len(words) == len(pcs)
    }
    lost = 0
    if "hist" in sections:
        if not {"base", "shift"} <= set(fields):
            raise FileError("the log's histogram does not say its base and shift")
        if not 1 <= fields["shift"] <= 16:
            raise FileError("the log's histogram has a shift of %d: it must be 1 to 16" % fields["shift"])
        if not remarks and len(sections["hist"]) != fields.get("size", len(sections["hist"])):
            remarks.append("the log is damaged: words are missing")
        histogram = Histogram(
            fields["base"],
            fields["shift"],
            tuple(sections["hist"]),
            fields.get("out", 0),
            fields.get("saturated", 0),
        )
    elif not pcs and fields.get("n"):
        raise FileError("the log breaks off before the first sample")
    else:
        lost = max(0, min(fields.get("n", 0), fields.get("size", 0)) - len(pcs))
        if not remarks and (lost or not set(sections) <= {"pc", *columns}):
            remarks.append("the log is damaged: words are missing")
    return Profile(
        pcs=pcs,
        tags=columns.get("tag"),
        lrs=columns.get("lr"),
        histogram=histogram,
        taken=fields.get("n", len(pcs)) - lost,
        limit=fields.get("limit", 0),
        timing=timing,
        origin=origin,
        remarks=(*remarks, "a UART's text does not say which build it is of"),
    )


def _bare(lines: Sequence[str], origin: str) -> Profile:
    if any(_SECTION.search(line) or _END.search(line) for line in lines):
        raise FileError("the log is damaged: its dump has no `prof begin` that can be read")
    pcs = [int(word, 16) for line in lines if _BARE.match(line) for word in line.split()]
    if not pcs:
        raise FileError("no profile in it: neither a file of `prof save` nor the text of prof_dump()")
    return Profile(
        pcs=pcs,
        taken=len(pcs),
        origin=printable(origin),
        remarks=("bare words, taken for PCs: nothing says how they were sampled",),
    )
