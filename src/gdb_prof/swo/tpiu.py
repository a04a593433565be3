"""TPIU frames -> the bytes of each trace source.

A frame has 16 bytes. Byte 15 holds, bit i for pair i, the lowest bit of the pair's even byte, which
itself tells by its own lowest bit whether it is data (0) or a trace ID (1, the ID above it). After an
ID its bit in byte 15 says whether the byte that follows still is the old source's. A full sync
(ff ff ff 7f) may stand between frames, a half sync (ff 7f) between pairs; neither can be part of a
frame, since ID 0x7f is reserved. Source: the CoreSight architecture's formatter.
"""

from __future__ import annotations

import collections
from typing import Dict, List, Mapping, Optional, Tuple

from gdb_prof.swo.quality import GOOD, quality

NULL, TRIGGER = 0x00, 0x7D
"""IDs of padding and of trigger events: no trace data."""
FRAME = 16
_FULL, _HALF = b"\xff\xff\xff\x7f", b"\xff\x7f"
_RESERVED = frozenset([*range(0x70, 0x7D), 0x7E, 0x7F])
_SEARCH = 64 * FRAME
"""Bytes in which the alignment is looked for where no full sync shows it."""
FEW = 4
"""Frames that are too few to tell anything: a stream of fewer is taken to begin with a whole one."""
_MARGIN = 0.05
_MOST_SOURCES = 8
_SHARE, _LEAST = 8, 32
"""A source with less than one in so many bytes, or fewer bytes, is not judged: a few read as anything."""

Block = Tuple[int, bytes]
"""A trace ID and consecutive bytes of it."""


class Frames:
    """Feed chunks of any size, take the bytes by trace ID in order; then `finish`.

    Without a full sync among the first bytes the alignment is the one of 16 under which the IDs are
    sane and a source reads as ITM. Counters: `full_syncs`, `half_syncs`; bytes `skipped` before the
    first frame, `left` of an unfinished one at the end, `without_id` before the first ID; frames
    `dropped`, since a full sync came within them; `frames`, and how many of them had a `reserved` ID.
    """

    def __init__(self) -> None:
        self.full_syncs = self.half_syncs = self.skipped = self.left = self.dropped = 0
        self.without_id = self.frames = self.reserved = 0
        self._data = b""
        self._aligned = False
        self._id: Optional[int] = None
        self._changes: Dict[int, int] = collections.Counter()
        self._false_padding = 0

    def feed(self, chunk: bytes) -> List[Block]:
        self._data += chunk
        if not self._aligned and not self._align(len(self._data) >= _SEARCH):
            return []
        # what ends a frame may be the beginning of a full sync
        return self._take(len(self._data) - len(_FULL) + 1)

    def finish(self) -> List[Block]:
        if not self._aligned:
            self._align(True)
        blocks = self._take(len(self._data))
        self.left, self._data = len(self._data), b""
        return blocks

    @property
    def sane(self) -> bool:
        """Whether the IDs are such as a formatter sends: defined, few different ones, and zeros as
        padding."""
        commonest = sorted(self._changes.values())[-_MOST_SOURCES:]
        few = sum(commonest) * 10 >= sum(self._changes.values()) * 9
        padded = self._false_padding * 20 <= self.frames * FRAME
        return bool(self._changes) and self.reserved * 20 <= self.frames and few and padded

    def _align(self, enough: bool) -> bool:
        """Skip to the first whole frame, once that is known."""
        head = self._data[:_SEARCH]
        sync = head.find(_FULL)
        if sync < 0 and not enough:
            return False
        start = _before_sync(head[:sync]) if sync >= 0 else _by_content(head)
        self._data = self._data[start:]
        self.skipped, self._aligned = start, True
        return True

    def _take(self, limit: int) -> List[Block]:
        """The frames that end before byte `limit`."""
        joined: List[Tuple[int, bytearray]] = []
        data, at = self._data, 0
        while True:
            sync = data.find(_FULL, at)
            at = self._frames(joined, at, sync if sync >= 0 else limit)
            if sync < 0:
                break
            self.dropped += at < sync
            self.full_syncs += 1
            at = sync + len(_FULL)
        self._data = data[at:]
        return [(source, bytes(content)) for source, content in joined]

    def _frames(self, joined: List[Tuple[int, bytearray]], at: int, limit: int) -> int:
        """Take frames from `at` on; returns where the first unfinished one begins."""
        data = self._data
        while at + FRAME <= limit:
            frame, end = data[at : at + FRAME], at + FRAME
            if _HALF in frame:
                frame, end = _without_half_syncs(data, at, limit)
                if len(frame) < FRAME:
                    break
                self.half_syncs += (end - at - FRAME) // 2
            self._frame(joined, frame)
            at = end
        return at

    def _frame(self, joined: List[Tuple[int, bytearray]], frame: bytes) -> None:
        low_bits, bad = frame[15], False
        for pair in range(8):
            even, low, odd = frame[2 * pair], low_bits >> pair & 1, frame[2 * pair + 1 : 2 * pair + 2]
            if pair == 7:
                odd = b""
            if not even & 1:
                self._data_bytes(joined, bytes([even | low]) + odd)
                continue
            if low:  # the byte after it is the old source's
                self._data_bytes(joined, odd)
            self._id = even >> 1
            self._changes[self._id] += 1
            bad = bad or self._id in _RESERVED
            if not low:
                self._data_bytes(joined, odd)
        self.frames += 1
        self.reserved += bad

    def _data_bytes(self, joined: List[Tuple[int, bytearray]], content: bytes) -> None:
        if self._id == NULL:
            self._false_padding += len(content) - content.count(0)
        if self._id is None:
            self.without_id += len(content)
        elif joined and joined[-1][0] == self._id:
            joined[-1][1].extend(content)
        elif content:
            joined.append((self._id, bytearray(content)))


def _without_half_syncs(data: bytes, at: int, limit: int) -> Tuple[bytes, int]:
    """The frame that begins at `at`, as far as it goes, and where it ends."""
    frame = bytearray()
    while len(frame) < FRAME and at + 2 <= limit:
        if data[at : at + 2] != _HALF:
            frame += data[at : at + 2]
        at += 2
    return bytes(frame), at


def _before_sync(head: bytes) -> int:
    """Where the first whole frame begins of bytes that end at a frame's end."""
    odd = len(head) & 1
    pairs = [head[i : i + 2] for i in range(odd, len(head), 2)]
    surplus = (len(pairs) - pairs.count(_HALF)) % (FRAME // 2)
    at = odd
    while surplus:
        surplus -= head[at : at + 2] != _HALF
        at += 2
    return at


def _by_content(head: bytes) -> int:
    """The alignment under which the bytes make most sense; where that is not clear, none is skipped."""
    if len(head) < (FEW + 1) * FRAME:
        return 0
    scores = [_sense(head[start:]) for start in range(FRAME)]
    best = max(scores)
    return scores.index(best) if best > scores[0] + _MARGIN else 0


def _sense(aligned: bytes) -> float:
    """How well the bytes read as frames: how well one source reads as ITM, less for each further ID
    and for reserved ones."""
    frames = Frames()
    frames._aligned = True
    sources = by_id(frames.feed(aligned) + frames.finish())
    best = max(map(quality, _judged(sources).values()), default=0.0)
    return best - len(sources) / _MOST_SOURCES - frames.reserved / max(1, frames.frames)


def by_id(blocks: List[Block]) -> Dict[int, bytes]:
    """Blocks put together."""
    sources: Dict[int, bytearray] = {}
    for source, content in blocks:
        sources.setdefault(source, bytearray()).extend(content)
    return {source: bytes(content) for source, content in sources.items()}


def trace_data(sources: Mapping[int, bytes]) -> Dict[int, bytes]:
    """Without what is padding, a trigger or of no defined source."""
    return {s: content for s, content in sources.items() if s not in (NULL, TRIGGER) and s not in _RESERVED}


def _judged(sources: Mapping[int, bytes]) -> Dict[int, bytes]:
    """Those with enough bytes to tell what they are."""
    data = trace_data(sources)
    total = sum(map(len, data.values()))
    least = max(_LEAST, total // _SHARE)
    return {source: content for source, content in data.items() if len(content) >= least}


def choose_id(sources: Mapping[int, bytes]) -> Optional[int]:
    """The source that reads as ITM: of those that do, the one with most bytes."""
    good = [(len(c), -s) for s, c in _judged(sources).items() if quality(c) >= GOOD]
    return -max(good)[1] if good else None


def looks_framed(raw: bytes) -> bool:
    """Whether the bytes (some thousand of the beginning are enough) are TPIU frames: they do not read
    as ITM as they are, but a source of them does, and their IDs are sane."""
    if len(raw) < 2 * FEW * FRAME or quality(raw) >= GOOD:
        return False
    frames = Frames()
    sources = by_id(frames.feed(raw) + frames.finish())
    return frames.sane and choose_id(sources) is not None
