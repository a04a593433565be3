"""A trace as a file: the block byte for byte, then a trailer that describes it.

The trailer: JSON in UTF-8, then 16 bytes: ``u32`` length of the JSON, ``u32`` CRC-32 of block
and JSON, and the 8 letters ``TR33meta``; all little-endian. Without it the file is what GDB's
``dump binary value FILE trace_buf`` writes, which loads just as well.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import zlib
from typing import Any, Dict, Optional, Tuple

from gdb_prof.printable import printable
from gdb_prof.trace import events
from gdb_prof.trace.ring import HEADER_SIZE, RECORD_SIZE, Context, ObjectInfo, Ring, parse

_END = struct.Struct("<II8s")
_LETTERS = b"TR33meta"
_BEGIN = b'{"any_priority": '  # of the JSON: its keys are sorted
_VERSION = 1


def is_plain(raw: bytes) -> bool:
    """Whether these bytes have no trailer: a block as GDB dumps it, or cut short."""
    return not raw.endswith(_LETTERS)


def dumps(block: bytes, context: Context, names: Tuple[int, int]) -> bytes:
    """The file of a block; `names`: how many names of what length are in it."""
    meta = {
        "version": _VERSION,
        "names": list(names),
        "recorded": sorted(context.recorded) if context.recorded is not None else None,
        "clock_hz": context.clock_hz,
        "tick_hz": context.tick_hz,
        "kernel": context.kernel,
        "build_id": context.build_id,
        "program": context.program,
        "spare": context.spare,
        "any_priority": context.any_priority,
        "stopped_at": context.stopped_at,
        "tick_count": context.tick_count,
        "tasks": {str(k): v for k, v in context.tasks.items()},
        "priorities": {str(k): v for k, v in context.priorities.items()},
        "idle": context.idle,
        "objects": {str(k): [v.name, v.kind] for k, v in context.objects.items()},
        "now": {str(k): list(v) for k, v in context.now.items()},
    }
    text = json.dumps(meta, ensure_ascii=True, sort_keys=True).encode("ascii")
    return block + text + _END.pack(len(text), zlib.crc32(block + text), _LETTERS)


def loads(
    raw: bytes,
    origin: str,
    given: Context,
    plain: Context = Context(),
    names: Optional[Tuple[int, int]] = None,
) -> Ring:
    """The ring in a file. `given`: the user's settings, which come before the file's own word;
    `plain` and `names`: what is known of a block that comes without a trailer.

    Raises FileError where it is no trace; what is damaged is named in the ring's remarks.
    """
    meta, size, remark = _trailer(raw)
    if meta is not None:
        try:
            context, its_names = _context(meta, origin, given)
            return parse(raw[:size], context, its_names)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            what = printable(str(error), 60)
            remark = "the file's trailer is damaged (%s): names and rates are unknown" % what
    context = dataclasses.replace(
        plain,
        origin=origin,
        clock_hz=given.clock_hz or plain.clock_hz,
        tick_hz=given.tick_hz or plain.tick_hz,
        remarks=(*plain.remarks, *((remark,) if remark else ())),
    )
    return parse(raw[:size], context, names)


def _trailer(raw: bytes) -> Tuple[Optional[Dict[str, Any]], int, str]:
    if len(raw) < _END.size or not raw.endswith(_LETTERS):
        size = _block_end(raw)
        cut = "the file's trailer is cut short: names and rates are unknown" if size < len(raw) else ""
        return None, size, cut
    length, crc, _ = _END.unpack(raw[-_END.size :])
    size = max(0, len(raw) - _END.size - length)
    damaged = zlib.crc32(raw[: size + length]) != crc
    try:
        meta = json.loads(raw[size : size + length].decode("ascii"))
        if not isinstance(meta, dict) or meta.get("version") != _VERSION:
            raise ValueError("version")
    except (ValueError, RecursionError):
        end = min(_block_end(raw), len(raw) - _END.size)
        return None, end, "the file's trailer cannot be read: names and rates are unknown"
    if damaged:
        meta["damaged"] = True
    return meta, size, ""


def _block_end(raw: bytes) -> int:
    """Where the block ends whose trailer is damaged or cut short: at what remains of its
    beginning. A block's words never look like that: there is no event 0x7b, `{`."""
    after = HEADER_SIZE + RECORD_SIZE * struct.unpack_from("<I", raw, 8)[0] if len(raw) >= HEADER_SIZE else 0
    whole = raw.find(_BEGIN, after)
    if whole >= 0:
        return whole
    for length in range(len(_BEGIN) - 1, 0, -1):
        size = len(raw) - length
        if size >= after and size % 4 == 0 and raw.endswith(_BEGIN[:length]):
            return size
    return len(raw)


def _context(meta: Dict[str, Any], origin: str, given: Context) -> Tuple[Context, Tuple[int, int]]:
    count, length = (int(value) for value in meta["names"])
    if not (0 <= count <= 255 and 0 <= length <= 1024):
        raise ValueError("names %d x %d" % (count, length))
    recorded = meta["recorded"]
    tick_count, stopped_at = meta["tick_count"], meta["stopped_at"]
    context = Context(
        origin=origin,
        recorded=None if recorded is None else frozenset(int(code) for code in recorded) & events.ALL,
        clock_hz=given.clock_hz or _rate(meta["clock_hz"]),
        tick_hz=given.tick_hz or _rate(meta["tick_hz"]),
        kernel=printable(str(meta["kernel"])),
        build_id=printable(str(meta["build_id"])),
        program=printable(str(meta["program"])),
        spare=bool(meta["spare"]),
        any_priority=bool(meta["any_priority"]),
        stopped_at=None if stopped_at is None else int(stopped_at) & 0xFFFFFFFF,
        tick_count=None if tick_count is None else int(tick_count) & 0xFFFFFFFF,
        tasks={int(k): printable(str(v)) for k, v in meta["tasks"].items()},
        priorities={int(k): int(v) for k, v in meta["priorities"].items()},
        idle=None if meta["idle"] is None else int(meta["idle"]),
        objects={int(k): ObjectInfo(printable(str(v[0])), int(v[1])) for k, v in meta["objects"].items()},
        now={int(k): tuple(printable(str(line)) for line in v) for k, v in meta["now"].items()},
        remarks=("the file's checksum is wrong: it was changed or damaged",) if meta.get("damaged") else (),
    )
    return context, (count, length)


def _rate(value: Any) -> float:
    rate = float(value)
    if not (rate == 0 or 1e-3 <= rate <= 1e12):
        raise ValueError("a rate of %r" % (value,))
    return rate
