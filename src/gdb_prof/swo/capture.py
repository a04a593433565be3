"""A whole ITM stream -> its PC samples in order, and counts of all else: the fast way to a profile."""

from __future__ import annotations

import array
import collections
import dataclasses
import itertools
import sys
from typing import Callable, Dict, Iterable, List, Mapping, Optional

from gdb_prof.swo import packets
from gdb_prof.swo.loss import Clock, Loss
from gdb_prof.swo.packets import packet
from gdb_prof.swo.stream import Mark, Run, Stream
from gdb_prof.swo.unframed import Tpiu, Unframed

ASLEEP, PROHIBITED = 0xFFFFFF01, 0xFFFFFF03
"""Samples without an address: odd, as no PC is."""
_BLOCK = 1 << 16
_REMEMBERED = 1 << 16
_JUDGED_BYTES = 32
_SOUND = 0.9
"""The least quality of a sound stream: with one byte in ten damaged it has 0.93. At a wrong bit rate
most streams have less, not all: some turn into other packets, which are as good."""


@dataclasses.dataclass(frozen=True)
class Capture:
    """`samples`: 32-bit PCs in order, ASLEEP and PROHIBITED among them.

    `stimulus`: packets by port, pages counted in; `errors` by packets.ERRORS, `error_bytes` of them;
    `packets` of all defined and unknown kinds; `unknown`: of hardware sources and extensions without
    a meaning. Local timestamps: `ticks`, the sum of all, None where there is none; `delayed`, how
    many came late; `loss`, what they tell of the overflows.
    `quality`: the part of the bytes in defined packets, 0..1, the skipped and a cut end apart.
    `trace_id`: that of the TPIU frames, None without.
    """

    samples: "array.array[int]"
    size_bytes: int
    syncs: int
    misaligned: int
    skipped: int
    overflows: int
    truncated: int
    errors: Mapping[str, int]
    error_bytes: int
    packets: int
    stimulus: Mapping[int, int]
    exceptions: int
    event_wraps: Mapping[str, int]
    data_trace: int
    unknown: int
    ticks: Optional[int]
    delayed: int
    loss: Loss
    quality: float
    trace_id: Optional[int] = None

    @property
    def looks_wrong(self) -> bool:
        """Whether the bytes are no ITM stream, as when the bit rate or the core's clock is not the
        one they were recorded for. One byte in ten of a sound stream may be damaged without that."""
        return self.size_bytes - self.skipped >= _JUDGED_BYTES and self.quality < _SOUND

    def part(self, is_code: Callable[[int], bool]) -> Optional[float]:
        """The part of the samples with an address whose address is code; None without any."""
        counts = collections.Counter(self.samples)
        counts.pop(ASLEEP, None)
        counts.pop(PROHIBITED, None)
        total = sum(counts.values())
        return sum(n for pc, n in counts.items() if is_code(pc)) / total if total else None

    @property
    def lost(self) -> Optional[int]:
        """As `Loss.lost`."""
        return self.loss.lost


def read_capture(chunks: Iterable[bytes], sync: bool = False, tpiu: Tpiu = None) -> Capture:
    """Decode a whole stream; memory is bounded by its samples. `sync`: from the first sync on.

    Raises FileError as `unframed.Unframed`.
    """
    stream, tally = Stream(sync, rows=True), _Tally()
    itm = Unframed(chunks, tpiu)
    for chunk in itm:
        for at in range(0, len(chunk), _BLOCK):
            tally.add(stream.feed(chunk[at : at + _BLOCK]))
    tally.add(stream.finish())
    return tally.capture(stream, itm.trace_id)


_PC, _NO_PC = 0x17, 0x15
"""Headers of PC samples, with an address and without."""
_SAMPLES = frozenset([_PC, _NO_PC])
_AS_PC = {b"\x15\0": b"\x17\x01\xff\xff\xff", b"\x15\xff": b"\x17\x03\xff\xff\xff"}
"""A sample without an address as a token like one with."""
_EVEN = {token: token[:1] + bytes([token[1] & 0xFE]) + token[2:] for token in _AS_PC.values()}
"""The odd addresses that stand for samples without one, should a packet hold them."""
_OVERFLOW, _PAGE = -1, -2
_ORDERED = frozenset(
    [header for header in range(0x10, 0x100, 0x10) if header <= 0x70 or header >= 0xC0]
    + list(range(8, 0x80, 16))
)
"""Headers of local timestamps, overflow and stimulus pages."""


class _Times(Dict[bytes, Optional[int]]):
    """What depends on the order of tokens: a local timestamp's delta, _OVERFLOW, _PAGE or lower."""

    def __missing__(self, token: bytes) -> Optional[int]:
        value: Optional[int] = None
        found = packet(token)
        if isinstance(found, packets.LocalTime):
            value = found.delta
        elif isinstance(found, packets.Overflow):
            value = _OVERFLOW
        elif isinstance(found, packets.Extension) and found.page is not None:
            value = _PAGE - found.page
        self[token] = value
        return value


_BY_VALUE = frozenset([0x05, 0x0E, 0x15, 0x45, 0x55, 0x65, 0x75])
_BY_HEADER: Dict[int, packets.Packet] = {
    header: packet(bytes([header]) + b"\0" * (0, 1, 2, 4)[header & 3])
    for header in range(256)
    if header & 3 and header not in _BY_VALUE
}
"""A packet of each header that alone decides what kind it is."""


class _Tally:
    def __init__(self) -> None:
        self.samples = array.array("I")
        if self.samples.itemsize != 4:
            raise AssertionError("this Python's arrays have no 32-bit type")
        self.counts: Dict[str, int] = collections.Counter()
        self.errors: Dict[str, int] = collections.Counter()
        self.stimulus: Dict[int, int] = collections.Counter()
        self.wraps: Dict[str, int] = collections.Counter()
        self.page = 0
        self.clock = Clock()
        self._time_of = _Times()

    def add(self, pieces: Iterable["Run | Mark"]) -> None:
        for piece in pieces:
            if isinstance(piece, Run):
                self._run(piece.tokens)
            else:
                self._mark(piece)

    def _mark(self, mark: Mark) -> None:
        if isinstance(mark.packet, packets.Error):
            self.errors[mark.packet.kind] += 1
            self.counts["error bytes"] += mark.length
            if mark.packet.kind in (packets.TRUNCATED, packets.SKIPPED):
                self.counts["apart"] += mark.length
        else:
            self.page = 0
            self.counts["packets"] += 1
            if not packets.well_formed(mark.packet):
                self.counts["misaligned bytes"] += mark.length

    def _run(self, tokens: List[bytes]) -> None:
        before = len(self.samples)
        self._sample([token for token in tokens if token[0] in _SAMPLES])
        self.counts["packets"] += len(self.samples) - before
        places = [i for i, token in enumerate(tokens) if token[0] != _PC and token not in _AS_PC]
        others = [tokens[i] for i in places]
        ordered = [k for k, token in enumerate(others) if token[0] in _ORDERED]
        if ordered:
            sizes = [len(t) // 5 if t[0] == _PC else t in _AS_PC for t in tokens]
            samples = list(itertools.accumulate(sizes, initial=before))
        pages: Dict[int, List[bytes]] = {}
        first = 0
        for k in ordered:
            time = self._time_of[others[k]]
            if time is None:
                continue
            if time >= 0:
                self.clock.tick(samples[places[k]], time)
            elif time == _OVERFLOW:
                self.clock.overflow()
            else:
                pages.setdefault(self.page, []).extend(others[first:k])
                first, self.page = k, _PAGE - time
        pages.setdefault(self.page, []).extend(others[first:])
        for page, some in pages.items():
            self._others(some, page)
        if len(self._time_of) > _REMEMBERED:
            self._time_of.clear()

    def _sample(self, tokens: List[bytes]) -> None:
        """Add the samples that PC sample packets hold."""
        joined = b"".join(tokens)
        if any(odd[1:] in joined for odd in _EVEN):
            single = [t[i : i + 5] for t in tokens for i in range(0, len(t), 5)]
            tokens = [_EVEN.get(token, token) for token in single]
        joined = b"".join([t if t[0] == _PC else _AS_PC.get(t, b"") for t in tokens])
        words = bytearray(len(joined) // 5 * 4)
        for byte in range(4):
            words[byte::4] = joined[byte + 1 :: 5]
        samples = array.array("I", bytes(words))
        if sys.byteorder == "big":
            samples.byteswap()
        self.samples.extend(samples)

    def _others(self, tokens: List[bytes], page: int) -> None:
        """Count tokens, of one stimulus page, in any order."""
        known = _BY_HEADER
        for header, n in collections.Counter([t[0] for t in tokens if t[0] in known]).items():
            self._count(known[header], n, 1 + (0, 1, 2, 4)[header & 3], page)
        for token, n in collections.Counter([t for t in tokens if t[0] not in known]).items():
            self._count(packet(token), n, len(token), page)

    def _count(self, found: packets.Packet, n: int, size: int, page: int) -> None:
        counts = self.counts
        if isinstance(found, packets.Error):
            self.errors[found.kind] += n
            counts["error bytes"] += n * size
            return
        counts["packets"] += n
        if isinstance(found, packets.Stimulus):
            self.stimulus[32 * page + found.port] += n
        elif isinstance(found, packets.LocalTime):
            counts["delayed"] += n if found.relation else 0
        elif isinstance(found, packets.EventWrap):
            for name in found.names:
                self.wraps[name] += n
        elif not packets.well_formed(found):
            counts["unknown"] += n
            counts["unknown bytes"] += n * size
        else:
            counts[type(found).__name__] += n

    def capture(self, stream: Stream, trace_id: Optional[int]) -> Capture:
        counts, clock = self.counts, self.clock
        judged = stream.size - counts["apart"]
        bad = counts["error bytes"] - counts["apart"] + counts["unknown bytes"] + counts["misaligned bytes"]
        data = ("DataPc", "DataMatch", "DataAddress", "DataValue")
        errors = {kind: n for kind, n in self.errors.items() if kind != packets.SKIPPED}
        return Capture(
            samples=self.samples,
            size_bytes=stream.size,
            syncs=stream.syncs,
            misaligned=stream.misaligned,
            skipped=stream.skipped,
            overflows=counts["Overflow"],
            truncated=self.errors.get(packets.TRUNCATED, 0),
            errors=errors,
            error_bytes=counts["error bytes"] - stream.skipped,
            packets=counts["packets"],
            stimulus=dict(self.stimulus),
            exceptions=counts["ExceptionTrace"],
            event_wraps=dict(self.wraps),
            data_trace=sum(counts[name] for name in data),
            unknown=counts["unknown"],
            ticks=clock.ticks if clock.stamps else None,
            delayed=counts["delayed"],
            loss=clock.loss(),
            quality=(1.0 - bad / judged) if judged else 0.0,
            trace_id=trace_id,
        )
