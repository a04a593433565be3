"""A trace buffer as a file: its bytes as they lie in memory, then a trailer that describes them.

The trailer: JSON in ASCII, then 16 bytes: ``u32`` length of the JSON, ``u32`` CRC-32 of bytes and JSON, and
the 8 letters ``DPUvtb01``; all little-endian. Without it the file is what GDB's ``dump binary memory``
writes, which loads just as well.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import zlib
from typing import Any, Dict, Optional, Tuple

from gdb_prof.counters.dpu.capture import INCOMING, MODES, OUTGOING, TASK_ID, Capture, Counter
from gdb_prof.counters.dpu.reading import COUNTERS
from gdb_prof.counters.dpu.records import KINDS, layout_of
from gdb_prof.errors import FileError, UsageError
from gdb_prof.printable import printable

_END = struct.Struct("<II8s")
_LETTERS = b"DPUvtb01"
_BEGIN = b'{"byte_order": "'  # of the JSON: its keys are sorted
_VERSION = 1
_UNKNOWN = "place, mode and counters are unknown"
_MOST = 64
"""Entries of a list, and no longer: the file may be anything."""


def dumps(capture: Capture) -> bytes:
    meta = {
        "version": _VERSION,
        "byte_order": "little" if capture.little else "big",
        "start": capture.start,
        "size": len(capture.raw),
        "pointer": capture.pointer,
        "wrapped": capture.wrapped,
        "wrapped_by": capture.how,
        "filled": capture.filled,
        "mode": capture.mode,
        "record": capture.kind,
        "layouts": dict(capture.layouts),
        "task_id": capture.task_id,
        "counters": {n: list(dataclasses.astuple(c)) for n, c in capture.counters.items()},
        "rests_on": list(capture.rests),
        "rests_by": {what: list(rests) for what, rests in capture.rests_by.items()},
        "remarks": list(capture.remarks),
        "mixed": capture.mixed,
    }
    text = json.dumps(meta, ensure_ascii=True, sort_keys=True).encode("ascii")
    return capture.raw + text + _END.pack(len(text), zlib.crc32(capture.raw + text), _LETTERS)


def loads(raw: bytes, plain: Capture) -> Capture:
    """`plain`: what is known of a buffer that comes without a trailer. What is damaged is in the remarks.
    Raises FileError for an empty file."""
    if not raw:
        raise FileError("the file is empty")
    meta, size, remark = _trailer(raw)
    if meta is not None:
        try:
            return _capture(raw[:size], meta, plain, remark)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, UsageError) as error:
            remark = "the file's trailer is damaged (%s): %s" % (printable(str(error), 60), _UNKNOWN)
    return dataclasses.replace(
        plain, raw=raw[:size], remarks=(*plain.remarks, *((remark,) if remark else ()))
    )


def _trailer(raw: bytes) -> Tuple[Optional[Dict[str, Any]], int, str]:
    """What it says, where the buffer's bytes end, and a remark."""
    if len(raw) < _END.size or not raw.endswith(_LETTERS):
        size = _block_end(raw)
        return None, size, "the file's trailer is cut short: %s" % _UNKNOWN if size < len(raw) else ""
    length, crc, _ = _END.unpack(raw[-_END.size :])
    size = max(0, len(raw) - _END.size - length)
    try:
        meta = json.loads(raw[size : len(raw) - _END.size].decode("ascii"))
        if not isinstance(meta, dict) or meta.get("version") != _VERSION:
            raise ValueError("version")
    except (ValueError, RecursionError):
        end = min(_block_end(raw), len(raw) - _END.size)
        return None, end, "the file's trailer cannot be read: %s" % _UNKNOWN
    damaged = zlib.crc32(raw[: size + length]) != crc
    return meta, size, "the file's checksum is wrong: it was changed or damaged" if damaged else ""


def _block_end(raw: bytes) -> int:
    """Where the buffer ends whose trailer is damaged or cut short: at its whole beginning. Less of it may be
    the buffer's own bytes."""
    whole = raw.rfind(_BEGIN)
    return whole if whole >= 0 and raw[whole : whole + 64].isascii() else len(raw)


def _capture(raw: bytes, meta: Dict[str, Any], plain: Capture, remark: str) -> Capture:
    """Raises what wrong types and values make."""
    size, pointer = _address(meta["size"]), meta["pointer"]
    remarks = list(_texts(meta["remarks"]))
    remarks += [remark] if remark else []
    if size != len(raw):
        remarks.append("the file has %d of the buffer's %d bytes" % (len(raw), size))
    # what is missing would lie at the end, so the rest can be turned by the pointer only if it is whole
    whole = size == len(raw)
    return Capture(
        raw,
        start=_address(meta["start"]),
        pointer=None if pointer is None or not whole else _address(pointer),
        wrapped=_flag(meta["wrapped"]) if whole else None,
        how=printable(str(meta["wrapped_by"]), 80),
        filled=_flag(meta["filled"]),
        mode=_one_of(meta["mode"], ("", *MODES)),
        kind=printable(str(meta["record"]), 40),
        little=_one_of(meta["byte_order"], ("little", "big")) == "little",
        layouts={**plain.layouts, **{kind: layout_of(str(meta["layouts"][kind])).text for kind in KINDS}},
        task_id=_one_of(meta["task_id"], (INCOMING, OUTGOING)),
        counters={
            n: Counter(*(printable(str(w), 40) for w in meta["counters"][n]))
            for n in COUNTERS
            if n in meta["counters"]
        },
        rests=_texts(meta["rests_on"]),
        rests_by={what: _texts(meta["rests_by"].get(what, ())) for what in (*KINDS, TASK_ID)},
        remarks=tuple(remarks),
        mixed=bool(_flag(meta.get("mixed", False))),
    )


def _texts(value: Any) -> Tuple[str, ...]:
    return tuple(printable(str(text)) for text in list(value)[:_MOST])


def _address(value: Any) -> int:
    number = int(value)
    if not 0 <= number <= 1 << 32:
        raise ValueError("an address of %r" % (value,))
    return number


def _flag(value: Any) -> Optional[bool]:
    if value not in (None, True, False):
        raise ValueError("a flag of %r" % (value,))
    return None if value is None else bool(value)


def _one_of(value: Any, words: Tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError("%r is none of %s" % (value, ", ".join(words)))
    return str(value)
