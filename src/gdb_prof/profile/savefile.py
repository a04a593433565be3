"""A profile as a file that describes itself.

Layout: a line ``gdb_prof profile 1``; a line of JSON, the header; then the blocks the
header lists, one after the other without gaps, each of ``words`` unsigned 32-bit
little-endian words and with its CRC-32 (zlib). The samples stand in order, oldest first.
"""

from __future__ import annotations

import array
import json
import sys
import zlib
from typing import Any, Dict, List, Sequence, Tuple

from gdb_prof.errors import FileError
from gdb_prof.printable import printable
from gdb_prof.profile.samples import Histogram, Profile, Timing

MAGIC = b"gdb_prof profile "
_VERSION = b"1"
_COLUMNS = ("pcs", "tags", "lrs", "bins")


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
    blocks = {name: _words(column) for name, column in columns.items()}
    t = profile.timing
    header = {
        "taken": profile.taken,
        "limit": profile.limit,
        "timer": t.timer,
        "period_ticks": t.period_ticks,
        "jitter_mask": t.jitter_mask,
        "tick_hz": t.tick_hz,
        "elapsed_s": t.elapsed_s,
        "tag_symbol": profile.tag_symbol,
        "tag_names": {"%d" % tag: name for tag, name in profile.tag_names.items()},
        "build_id": profile.build_id,
        "program": profile.program,
        "remarks": list(profile.remarks),
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
    text = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return MAGIC + _VERSION + b"\n" + text + b"\n" + b"".join(blocks.values())


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
    text, newline, body = rest.partition(b"\n")
    try:
        if not newline:
            raise ValueError("cut within its header")
        header = json.loads(text)
        return _profile(header, body, origin)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FileError("damaged: its header cannot be read: %s" % printable(str(error))) from None


def _profile(header: Dict[str, Any], body: bytes, origin: str) -> Profile:
    remarks = [printable(str(r)) for r in header["remarks"]]
    columns, lost = _columns(header["blocks"], body, remarks)
    if ("bins" if "histogram" in header else "pcs") not in columns:
        raise ValueError("neither samples nor bins")
    histogram = None
    if "histogram" in header:
        h = header["histogram"]
        histogram = Histogram(
            _int(h["base"]),
            _int(h["shift"]),
            tuple(columns["bins"]),
            _int(h["outside"]),
            _int(h["saturated"]),
        )
        if not 0 < histogram.shift <= 16:
            raise ValueError("shift %d" % histogram.shift)
    period = header["period_ticks"]
    return Profile(
        pcs=columns.get("pcs", ()),
        tags=columns.get("tags"),
        lrs=columns.get("lrs"),
        histogram=histogram,
        taken=max(0, _int(header["taken"]) - lost),
        limit=_int(header["limit"]),
        timing=Timing(
            printable(str(header["timer"])),
            None if period is None else _int(period),
            _int(header["jitter_mask"]),
            _float(header["tick_hz"]),
            _float(header["elapsed_s"]),
        ),
        tag_symbol=printable(str(header["tag_symbol"])),
        tag_names={int(tag): printable(str(name)) for tag, name in header["tag_names"].items()},
        build_id=printable(str(header["build_id"])),
        program=printable(str(header["program"])),
        origin=printable(origin),
        remarks=tuple(remarks),
    )


def _columns(
    blocks: List[Dict[str, Any]], body: bytes, remarks: List[str]
) -> Tuple[Dict[str, Sequence[int]], int]:
    """The columns that are there, and how many samples a cut took off."""
    lost = 0
    columns: Dict[str, Sequence[int]] = {}
    at = 0
    for block in blocks:
        name, words = str(block["name"]), _int(block["words"])
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
    for name in ("tags", "lrs"):
        if name in columns and len(columns[name]) != len(columns.get("pcs", ())):
            del columns[name]  # better no task than the wrong one
            remarks.append("the file is cut short or damaged: %s are left out" % name)
    return columns, lost


def _int(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("%r is no whole number" % (value,))
    if not 0 <= value < 1 << 48:
        raise ValueError("%d" % value)
    return value


def _float(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, (int, float)) or not (value == 0 or 1e-9 <= value <= 1e15):
        raise ValueError("%r is no number of seconds or hertz" % (value,))
    return value


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
