"""Bytes of a trace block -> records, oldest first; what is unsound is left out and named.

The block, little-endian (``firmware/trace/trace_rec.h``): ``u32 magic 'TR33', head, n, on``,
names, ``n`` records ``u32 time, u8 event, u8 task, u16 argument``. Record i of all ever
written is at i % n; head counts them.
"""

from __future__ import annotations

import array
import dataclasses
import struct
import sys
from typing import Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from gdb_prof.errors import FileError
from gdb_prof.printable import from_array
from gdb_prof.trace.events import ALL, IN

MAGIC = 0x33335254
_HEADER = struct.Struct("<4I")
HEADER_SIZE = _HEADER.size
RECORD_SIZE = 8
_PUBLISHED_NAMES = (12, 8)
_NAME_LENGTHS = (4, 8, 12, 16, 20, 24, 32)
_MASK = 0xFFFFFFFF
LARGEST = 1 << 24
"""Records: more than any RAM holds; a larger n is damage."""


@dataclasses.dataclass(frozen=True)
class ObjectInfo:
    """A queue, semaphore, mutex, timer…: `kind` as in events.KINDS, -1 where unknown."""

    name: str = ""
    kind: int = -1


@dataclasses.dataclass(frozen=True)
class Context:
    """What the program and live memory add to a ring: all of it may be unknown.

    `recorded`: the event codes compiled in. `tasks`, `priorities`: by task number, of the
    tasks that live at the end; `idle`: the idle task's number. `objects` by number.
    `any_priority`: the recorder masks all interrupts at a switch, too (TRACE_ANY_PRIORITY).
    `stopped_at`: the clock's stamp when the target was stopped, where it was recording then.
    `spare`: the ring's place `head` holds no record. `now`: for an object waited for at the
    end, what the kernel says of it, as lines of text.
    """

    origin: str = ""
    recorded: Optional[FrozenSet[int]] = None
    clock_hz: float = 0.0
    tick_hz: float = 0.0
    kernel: str = ""
    build_id: str = ""
    program: str = ""
    spare: bool = False
    stopped_at: Optional[int] = None
    tick_count: Optional[int] = None
    tasks: Dict[int, str] = dataclasses.field(default_factory=dict)
    priorities: Dict[int, int] = dataclasses.field(default_factory=dict)
    idle: Optional[int] = None
    objects: Dict[int, ObjectInfo] = dataclasses.field(default_factory=dict)
    any_priority: bool = True
    now: Dict[int, Tuple[str, ...]] = dataclasses.field(default_factory=dict)
    remarks: Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Ring:
    """The sound records of a block, oldest first, as columns of one length.

    `total` were ever written, `overwritten` of them are gone, `dropped` were in the ring
    but unsound; `remarks` say why. `gaps`: before which of these records others are missing,
    or may be; 0: the beginning; as many as there are: after the last. `is_streamed`: it was no
    ring, but a stream of records (itm.py).
    """

    total: int
    n: int
    on: bool
    names: Tuple[str, ...]
    stamps: Sequence[int]
    codes: bytes
    tasks: bytes
    arguments: Sequence[int]
    overwritten: int = 0
    dropped: int = 0
    remarks: Tuple[str, ...] = ()
    context: Context = Context()
    gaps: Tuple[int, ...] = ()
    is_streamed: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def begins(self) -> bool:
        """Whether the trace's beginning is there."""
        return not self.overwritten and 0 not in self.gaps


def header(raw: bytes) -> Tuple[int, int, int]:
    """head, n, on. Raises FileError where this is no trace block."""
    if len(raw) < HEADER_SIZE:
        raise FileError("no trace block: %d bytes, its header has %d" % (len(raw), HEADER_SIZE))
    magic, head, n, on = _HEADER.unpack_from(raw)
    if magic != MAGIC:
        raise FileError("no trace block: it begins with 0x%08x, not with 0x%08x ('TR33')" % (magic, MAGIC))
    if n == 0:
        raise FileError("the trace block has no room for records: n is 0 (not started?)")
    if n > LARGEST:
        raise FileError("the trace block is damaged: n is %d" % n)
    return head, n, on


def parse(raw: bytes, context: Context, names: Optional[Tuple[int, int]] = None) -> Ring:
    """The records of a block. `names`: how many and how long, where that is known.

    Raises FileError where there is no block.
    """
    head, n, on = header(raw)
    remarks: List[str] = []
    names = names or _layout(raw, head, n)
    count, length = names
    start = HEADER_SIZE + count * length
    table = [raw[HEADER_SIZE + i * length : HEADER_SIZE + (i + 1) * length] for i in range(count)]
    places = min(n, max(0, len(raw) - start) // RECORD_SIZE)
    if places < n:
        remarks.append("cut short: %d of the ring's %d places are there" % (places, n))

    longer = len(raw) - start - n * RECORD_SIZE
    if longer > 0:
        remarks.append("the file is %d bytes longer than its block" % longer)

    spare = 1 if context.spare and head >= n else 0
    first = max(0, head - n + spare)
    order = _order(first, head, n, places)
    body = raw[start : start + places * RECORD_SIZE]
    stamps, words = _columns(body)
    stamps, words = _in_order(stamps, order), _in_order(words, order)
    missing = head - first - len(words)
    if missing:
        remarks.append("%d records of the ring are not in the file" % missing)
    keep, dropped = _sound(stamps, words, head >= n, context.spare)
    if dropped:
        remarks += dropped
        stamps = array.array("I", [stamps[i] for i in keep])
        words = array.array("I", [words[i] for i in keep])
    packed = _little(words)
    halves = array.array("H", packed)
    if sys.byteorder == "big":
        halves.byteswap()
    return Ring(
        total=head,
        n=n,
        on=bool(on),
        names=tuple(from_array(name) for name in table),
        stamps=stamps,
        codes=packed[0::4],
        tasks=packed[1::4],
        arguments=halves[1::2],
        overwritten=first,
        dropped=head - first - len(words),
        remarks=tuple(remarks),
        context=context,
    )


def _layout(raw: bytes, head: int, n: int) -> Tuple[int, int]:
    """How many names of what length the block has: the file's length tells, unless it is cut."""
    size = len(raw) - HEADER_SIZE - n * RECORD_SIZE
    if size < 0 or size % 4:
        return _PUBLISHED_NAMES
    count, length = _PUBLISHED_NAMES
    if not _is_ring(raw, size, min(head, n)) and _is_ring(raw, count * length, min(head, n)):
        return _PUBLISHED_NAMES
    return _names_layout(raw[HEADER_SIZE : HEADER_SIZE + size])


def _is_ring(raw: bytes, names: int, records: int) -> bool:
    """Whether records may begin after so many bytes of names."""
    start = HEADER_SIZE + names + 4
    return ALL.issuperset(raw[start : start + 8 * RECORD_SIZE : RECORD_SIZE][:records])


def _names_layout(names: bytes) -> Tuple[int, int]:
    """How many names of what length fill the table: there is no task 0, and there is a task
    1 where there is any."""
    for length in _NAME_LENGTHS:
        used = [bool(names[i]) for i in range(0, len(names), length)]
        if len(names) % length == 0 and used[:2] == [False, True]:
            return len(used), length
    return (len(names) // 8, 8) if len(names) % 8 == 0 else (1, len(names))


def _order(first: int, head: int, n: int, places: int) -> List["tuple[int, int]"]:
    """The stretches of places, oldest first, that hold records first..head."""
    if first == head:
        return []
    a, b = first % n, (head - 1) % n + 1
    stretches = [(a, b)] if a < b else [(a, n), (0, b)]
    return [(s, min(e, places)) for s, e in stretches if s < places]


def _columns(body: bytes) -> "tuple[array.array[int], array.array[int]]":
    values = array.array("I", body)
    if values.itemsize != 4:
        raise FileError("this Python's arrays have no 32-bit type")
    if sys.byteorder == "big":
        values.byteswap()
    return values[0::2], values[1::2]


def _in_order(column: "array.array[int]", order: List["tuple[int, int]"]) -> "array.array[int]":
    result = array.array("I")
    for start, end in order:
        result.extend(column[start:end])
    return result


def _little(words: "array.array[int]") -> bytes:
    if sys.byteorder == "big":
        words = array.array("I", words)
        words.byteswap()
    return words.tobytes()


def _sound(
    stamps: "array.array[int]", words: "array.array[int]", full: bool, whole: bool
) -> Tuple[List[int], List[str]]:
    """The places of sound records, and why the others are not; nothing where all are sound.

    `whole`: the recorder counts a record when it is written, so that none can be torn.
    """
    codes = _little(words)[0::4]
    empty = {i for i, code in enumerate(codes) if code == 0} if 0 in codes else set()
    torn = set() if whole else _torn(stamps, codes, full) - empty
    if not empty and not torn:
        return [], []
    remarks = []
    if empty:
        some = "1 record holds" if len(empty) == 1 else "%d records hold" % len(empty)
        remarks.append("%s no event: the ring does not hold what its head says" % some)
    if torn:
        some = "1 record was" if len(torn) == 1 else "%d records were" % len(torn)
        remarks.append("%s half written: left out" % some)
    bad = empty | torn
    return [i for i in range(len(words)) if i not in bad], remarks


def _torn(stamps: "array.array[int]", codes: bytes, full: bool) -> Set[int]:
    """Records whose stamp does not fit between its neighbours'.

    A stamp that runs backwards and forth again is that of a record half written. One that
    stays back is a clock that was set back, which clock.py deals with; so is one before
    which no task was ever switched in: the clock is zeroed when the scheduler starts.
    """
    last = len(stamps) - 1
    first_in = codes.find(IN) if not full else -1
    torn: Set[int] = set()
    for i in [i for i, (a, b) in enumerate(zip(stamps, stamps[1:]), 1) if (b - a) & 0x80000000]:
        if not full and (first_in < 0 or i <= first_in):
            continue
        if i == last or (stamps[i + 1] - stamps[i - 1]) & _MASK < (stamps[i + 1] - stamps[i]) & _MASK:
            torn.add(i)
        elif i == 1 and full and not (stamps[0] - stamps[last]) & 0x80000000:
            torn.add(0)  # the oldest place was being written anew
    return torn
