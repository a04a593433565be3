"""The text that the firmware's ``prof_dump()`` prints, out of a UART's log.

::

    prof begin version=00000001 mode=00000000 timer=00000000 n=00002710 …
    prof pc
    08000238 0800023a …                     eight words a line, oldest sample first
    prof sum 1a2b3c4d                       of the words, modulo 2^32
    prof tag                                … prof lr, prof hist in the same form
    prof end

All numbers are hexadecimal. Other output between dumps, and whatever a terminal
program puts before a line, is passed over; the last dump in the log counts. Lines of
nothing but eight-digit words, without all this, are taken for PCs.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence

from gdb_prof.errors import FileError
from gdb_prof.profile.samples import Histogram, Profile, Timing

TIMERS = ("SysTick", "TIM3", "the program's own timer")

_BEGIN = re.compile(r"prof begin((?: \w+=[0-9a-fA-F]{8})+)")
_SECTION = re.compile(r"prof (pc|tag|lr|hist)\s*$")
_SUM = re.compile(r"prof sum ([0-9a-fA-F]{8})")
_END = re.compile(r"prof end\s*$")
_WORDS = re.compile(r"(?:^|\s)((?:[0-9a-fA-F]{8}\s+)*[0-9a-fA-F]{8})\s*$")
_BARE = re.compile(r"^\s*[0-9a-fA-F]{8}(?:\s+[0-9a-fA-F]{8})*\s*$")


def looks_like(text: str) -> bool:
    return "prof begin " in text or any(_BARE.match(line) for line in text.splitlines())


def loads(text: str, origin: str) -> Profile:
    """The last dump in a log. Raises FileError when there is none that can be used."""
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
    sections = _sections(lines[begins[-1] + 1 :], remarks)
    return _profile(fields, sections, remarks, origin)


def _sections(lines: Sequence[str], remarks: List[str]) -> Dict[str, List[int]]:
    sections: Dict[str, List[int]] = {}
    words: Optional[List[int]] = None
    name = ""
    for line in lines:
        section, total = _SECTION.search(line), _SUM.search(line)
        if section:
            name = section.group(1)
            words = sections.setdefault(name, [])
        elif total and words is not None:
            if sum(words) & 0xFFFFFFFF != int(total.group(1), 16):
                remarks.append("the log is damaged: the sum of its %s words is wrong" % name)
            words = None
        elif _END.search(line):
            return sections
        elif words is not None:
            found = _WORDS.search(line)
            if found:
                words += [int(word, 16) for word in found.group(1).split()]
    remarks.append("the log is cut short: it has no `prof end`")
    return sections


def _profile(
    fields: Dict[str, int], sections: Dict[str, List[int]], remarks: List[str], origin: str
) -> Profile:
    timer = fields.get("timer", 2)
    timing = Timing(
        TIMERS[timer] if timer < len(TIMERS) else TIMERS[2],
        fields["period"] * (fields.get("prescaler", 0) + 1) if "period" in fields else None,
        fields.get("jitter", 0) * (fields.get("prescaler", 0) + 1),
    )
    histogram = None
    pcs = sections.get("pc", [])
    tags, lrs = sections.get("tag"), sections.get("lr")
    if "hist" in sections:
        if not {"base", "shift"} <= set(fields):
            raise FileError("the log's histogram does not say its base and shift")
        histogram = Histogram(
            fields["base"],
            fields["shift"],
            tuple(sections["hist"]),
            fields.get("out", 0),
            fields.get("saturated", 0),
        )
    elif not pcs and fields.get("n"):
        raise FileError("the log breaks off before the first sample")
    return Profile(
        pcs=pcs,
        tags=tags if tags is not None and len(tags) == len(pcs) else None,
        lrs=lrs if lrs is not None and len(lrs) == len(pcs) else None,
        histogram=histogram,
        taken=fields.get("n", len(pcs)),
        limit=fields.get("limit", 0),
        timing=timing,
        origin=origin,
        remarks=(*remarks, "a UART's text does not say which build it is of"),
    )


def _bare(lines: Sequence[str], origin: str) -> Profile:
    pcs = [int(word, 16) for line in lines if _BARE.match(line) for word in line.split()]
    if not pcs:
        raise FileError("no profile in it: neither a file of `prof save` nor the text of prof_dump()")
    return Profile(
        pcs=pcs,
        taken=len(pcs),
        origin=origin,
        remarks=("bare words, taken for PCs: nothing says how they were sampled",),
    )
