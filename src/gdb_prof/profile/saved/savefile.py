"""A profile as a file that describes itself.

Layout: a line ``gdb_prof profile 1``; a line of JSON, the header; then the blocks the
header lists, one after the other without gaps, each of ``words`` unsigned 32-bit
little-endian words and with its CRC-32 (zlib). The samples stand in order, oldest first.
What a header does not have is not known; what it has beyond this is passed over.
"""

from __future__ import annotations

import array
import dataclasses
import json
import sys
import zlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.errors import FileError
from gdb_prof.printable import printable
from gdb_prof.profile.circumstances import Circumstances, Handler
from gdb_prof.profile.program.names import Names
from gdb_prof.profile.samples import TICKS, Histogram, Profile, Timing
from gdb_prof.profile.saved import names_header
from gdb_prof.profile.saved.header import real, text, whole, word
from gdb_prof.profile.source import TIMER, Source

MAGIC = b"gdb_prof profile "
_VERSION = b"1"
_EXCEPTIONS = 512
"""More are in no vector table (ARMv7-M ARM, B1.5.3)."""
_COLUMNS = ("pcs", "tags", "lrs", "stacks", "bins")
# What a header that is no header makes its readers raise.
_DAMAGED = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)


def dumps(profile: Profile) -> bytes:
    h = profile.histogram
    columns: Dict[str, Sequence[int]] = {}
    if h:
        columns["bins"] = h.counts
    else:
        columns["pcs"] = profile.pcs
        if profile.tags is not None:
            columns["tags"] = profile.tags
        if profile.lrs is not None:
            columns["lrs"] = profile.lrs
        if profile.stacks is not None:
            columns["stacks"] = profile.stacks
    blocks = {name: _words(column) for name, column in columns.items()}
    header = {
        **_facts(profile),
        "blocks": [
            {"name": name, "words": len(raw) // 4, "crc32": zlib.crc32(raw)} for name, raw in blocks.items()
        ],
    }
    if h:
        header["histogram"] = {
            "base": h.base,
            "shift": h.shift,
            "outside": h.outside,
            "saturated": h.saturated,
        }
    if profile.names is not None:
        header["names"] = names_header.to_header(profile.names)
    line = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return MAGIC + _VERSION + b"\n" + line + b"\n" + b"".join(blocks.values())


def _facts(profile: Profile) -> Dict[str, Any]:
    t, c = profile.timing, profile.circumstances
    return {
        "taken": profile.taken,
        "limit": profile.limit,
        "runs": profile.runs,
        "timer": t.timer,
        "period_ticks": t.period_ticks,
        "jitter_mask": t.jitter_mask,
        "tick_hz": t.tick_hz,
        "elapsed_s": t.elapsed_s,
        "random": t.random,
        "unit": t.unit,
        "tag_symbol": profile.tag_symbol,
        "tag_names": {"%d" % tag: name for tag, name in profile.tag_names.items()},
        "build_id": profile.build_id,
        "program": profile.program,
        "remarks": list(profile.remarks),
        "source": dataclasses.asdict(profile.source),
        "marks": {"%d" % pc: name for pc, name in profile.marks.items()},
        "stack_table": [list(stack) for stack in profile.stack_table],
        "circumstances": {
            "sampler_priority": c.sampler_priority,
            "hidden": None if c.hidden is None else [dataclasses.astuple(h) for h in c.hidden],
            "vectors": _runs(c.vectors),
            "contents": c.contents,
            "emulator": c.emulator,
            "tick": c.tick,
            "idle_tags": list(c.idle_tags),
        },
    }


def _runs(vectors: Mapping[int, int]) -> List[List[int]]:
    """[first, number, address] of exceptions with one handler: most have the default one."""
    runs: List[List[int]] = []
    for exception, address in sorted(vectors.items()):
        if runs and runs[-1][0] + runs[-1][1] == exception and runs[-1][2] == address:
            runs[-1][1] += 1
        else:
            runs.append([exception, 1, address])
    return runs


def loads(raw: bytes, origin: str) -> Profile:
    """The profile in a file's bytes; `origin` is its name, for the report.

    A file that is cut short gives the samples that are whole, with a remark. Raises
    FileError for anything that is no profile.
    """
    first, _, rest = raw.partition(b"\n")
    if not first.startswith(MAGIC):
        raise FileError("no file of `prof save`: it does not begin with `%s`" % MAGIC.decode().strip())
    version = first[len(MAGIC) :]
    if version != _VERSION:
        raise FileError(
            "a profile of version %s; this gdb_prof reads version %s: update it"
            % (printable(version.decode("ascii", "replace")), _VERSION.decode())
        )
    line, newline, body = rest.partition(b"\n")
    try:
        if not newline:
            raise ValueError("cut within its header")
        return _profile(json.loads(line), body, origin)
    except _DAMAGED as error:
        raise FileError("damaged: its header cannot be read: %s" % printable(str(error))) from None


def _profile(header: Dict[str, Any], body: bytes, origin: str) -> Profile:
    remarks = [text(r) for r in header["remarks"]]
    columns, lost = _columns(header["blocks"], body, remarks)
    if ("bins" if "histogram" in header else "pcs") not in columns:
        raise ValueError("neither samples nor bins")
    period = header["period_ticks"]
    saved = _names(header, remarks)
    stacks = _stacks(columns.get("stacks"), header.get("stack_table", ()), remarks)
    return Profile(
        pcs=columns.get("pcs", ()),
        tags=columns.get("tags"),
        lrs=columns.get("lrs"),
        histogram=_histogram(header["histogram"], columns["bins"]) if "histogram" in header else None,
        taken=max(0, whole(header["taken"]) - lost),
        limit=whole(header["limit"]),
        runs=whole(header.get("runs", 1)),
        timing=Timing(
            text(header["timer"]),
            None if period is None else whole(period),
            whole(header["jitter_mask"]),
            real(header["tick_hz"]),
            real(header["elapsed_s"]),
            bool(header.get("random", False)),
            text(header.get("unit", TICKS)),
        ),
        tag_symbol=text(header["tag_symbol"]),
        tag_names={int(tag): text(name) for tag, name in header["tag_names"].items()},
        build_id=text(header["build_id"]),
        program=text(header["program"]),
        origin=printable(origin),
        remarks=tuple(remarks),
        circumstances=_circumstances(header.get("circumstances", {})),
        names=saved,
        source=_source(header.get("source", {})),
        marks={word(int(pc)): text(name) for pc, name in header.get("marks", {}).items()},
        stacks=stacks,
        stack_table=tuple(tuple(map(word, stack)) for stack in header.get("stack_table", ())),
    )


def _source(s: Dict[str, Any]) -> Source:
    lost, timestamps = s.get("lost"), s.get("timestamps")
    return Source(
        kind=text(s.get("kind", TIMER)),
        rate_hz=real(s.get("rate_hz")),
        stopped=real(s.get("stopped")),
        spread=real(s.get("spread")),
        overflows=whole(s.get("overflows", 0)),
        lost=None if lost is None else whole(lost),
        unbounded=whole(s.get("unbounded", 0)),
        timestamps=None if timestamps is None else bool(timestamps),
        damaged=real(s.get("damaged", 0.0)) or 0.0,
        synchronised=bool(s.get("synchronised", True)),
    )


def _stacks(
    column: Optional[Sequence[int]], table: Sequence[Any], remarks: List[str]
) -> Optional[Sequence[int]]:
    if column is None or all(number < len(table) for number in column):
        return column
    remarks.append("the file is damaged: its call stacks are left out")
    return None


def _histogram(h: Dict[str, Any], bins: Sequence[int]) -> Histogram:
    shift = whole(h["shift"])
    if not 0 < shift <= 16:
        raise ValueError("shift %d" % shift)
    return Histogram(whole(h["base"]), shift, tuple(bins), whole(h["outside"]), whole(h["saturated"]))


def _circumstances(c: Dict[str, Any]) -> Circumstances:
    priority, hidden = c.get("sampler_priority"), c.get("hidden")
    return Circumstances(
        sampler_priority=None if priority is None else whole(priority),
        hidden=None if hidden is None else tuple(Handler(*(word(n) for n in h)) for h in hidden),
        vectors={
            first + n: word(address)
            for first, exceptions, address in c.get("vectors", ())
            for n in range(whole(exceptions, _EXCEPTIONS - whole(first, _EXCEPTIONS)))
        },
        contents=text(c.get("contents", "")),
        emulator=text(c.get("emulator", "")),
        tick=text(c.get("tick", "")),
        idle_tags=tuple(word(tag) for tag in c.get("idle_tags", ())),
    )


def _names(header: Dict[str, Any], remarks: List[str]) -> Optional[Names]:
    """None without them, and where they are damaged: the samples are as good as before."""
    if header.get("names") is None:
        return None
    try:
        return names_header.from_header(header["names"])
    except _DAMAGED:
        remarks.append("the file is damaged: the names in it are left out")
        return None


def _columns(
    blocks: List[Dict[str, Any]], body: bytes, remarks: List[str]
) -> Tuple[Dict[str, Sequence[int]], int]:
    """The columns that are there, and how many samples a cut took off."""
    lost = 0
    columns: Dict[str, Sequence[int]] = {}
    at = 0
    for block in blocks:
        name, words = str(block["name"]), whole(block["words"])
        raw = body[at : at + 4 * words]
        at += 4 * words
        if name not in _COLUMNS:
            continue  # from a later version
        if len(raw) < 4 * words:
            remarks.append(
                "the file is cut short: %s holds %s of %s words"
                % (name, format(len(raw) // 4, ","), format(words, ","))
            )
        elif zlib.crc32(raw) != block["crc32"]:
            remarks.append("the file is damaged: the checksum of %s is wrong" % name)
        columns[name] = _unpack(raw)
        if name == "pcs":
            lost = words - len(columns[name])
    for name in ("tags", "lrs", "stacks"):
        if name in columns and len(columns[name]) != len(columns.get("pcs", ())):
            del columns[name]  # better no task than the wrong one
            remarks.append("the file is cut short or damaged: %s are left out" % name)
    return columns, lost


def _words(values: Sequence[int]) -> bytes:
    words = array.array("I", values)
    assert words.itemsize == 4
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()


def _unpack(raw: bytes) -> Sequence[int]:
    words = array.array("I")
    words.frombytes(raw[: len(raw) - len(raw) % 4])
    if sys.byteorder == "big":
        words.byteswap()
    return words
