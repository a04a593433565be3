"""Bytes of an ITM stream, in chunks of any size -> its tokens, with their offsets.

Syncs are looked for first, in the raw bits and whatever packet they lie in: 47 or more zero bits,
then a one, where the least significant bit of a byte comes first. No sequence of packets holds so
many: a packet's last 32 bits can be zero (a payload of four bytes), with at most six before them
(header 0x03) and six after them (header 0x40 or 0xc0), 44 in all; every byte of a timestamp or
extension but the last has bit 7 set. So a sync ends what came before, and cuts it, if it must.

A sync that is not on a byte says that bits were lost, and what follows is to be read shifted. But
a line that breaks gives zeros, too, and the bytes after it are where they were. So such a sync is
believed only where what follows reads clearly better shifted.

What lies between two syncs is cut into tokens by one regular expression in which every byte is
part of some token; none is longer than nine bytes, save for zeros.
"""

from __future__ import annotations

import functools
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Union

from gdb_prof.swo import packets
from gdb_prof.swo.packets import CUT, SKIPPED, TRUNCATED, ZEROS, Error, Packet, Sync

MOST_PAYLOAD = 8
"""Bytes after the header of a timestamp or extension at which an endless one is given up: none
has more than six. What comes after them is read as packets again."""

_SYNC_BITS = 47
_SYNC_ZEROS = b"\0\0\0\0\0"
"""Whole zero bytes in the least of all syncs, wherever its bits lie."""
_LOOK_AHEAD = 64
"""Bytes after a sync off its byte that decide whether it is one."""
_CLEARLY = 8
"""By so many bits of evidence the shifted reading has to be the better one."""
_HELD_ZEROS = 16
"""Zero bytes at the end that are kept as such, more are counted: a packet takes at most eight of
them, and a sync five."""


def _headers(choose: Callable[[int], object]) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % header for header in range(256) if choose(header)) + b"]"


_PC = b"\\x17...."
_OTHERS = b"|".join(
    [
        _headers(lambda h: h & 3 == 3) + b"....",
        _headers(lambda h: h & 3 == 1) + b".",
        _headers(lambda h: h & 3 == 2) + b"..",
        # overflow, short timestamps and extensions, reserved headers of one byte
        _headers(lambda h: h and h & 3 == 0 and (h < 0x80 or h in (0x80, 0x90, 0xA0, 0xB0))),
        # timestamps, extensions, reserved headers: continued while bit 7 is set
        _headers(lambda h: h & 3 == 0 and (h >= 0xC0 or (h & 0x80 and h & 0x0F)))
        + b"(?:[\\x80-\\xff]{0,%d}[\\x00-\\x7f]|[\\x80-\\xff]{%d})" % (MOST_PAYLOAD - 1, MOST_PAYLOAD),
    ]
)
COMPLETE = re.compile(_PC + b"|" + _OTHERS, re.DOTALL)
TOKEN = re.compile(_PC + b"|" + _OTHERS + b"|\\x00+|.+", re.DOTALL)
"""A PC sample first: the commonest by far. The last alternative is the rest of a segment that ends
within a packet."""
_ROW = b"(?:" + _PC + b"){1,64}|"
COMPLETE_ROW = re.compile(_ROW + _OTHERS, re.DOTALL)
TOKEN_ROW = re.compile(_ROW + _OTHERS + b"|\\x00+|.+", re.DOTALL)
"""The same, with PC samples that follow each other as one token."""
_NOT_ZERO = re.compile(b"[^\\x00]")

_EVIDENCE: Dict[type, int] = {
    packets.PcSample: 5,
    packets.Asleep: 5,
    packets.ExceptionTrace: 5,
    packets.EventWrap: 5,
    packets.Overflow: 5,
    packets.LocalTime: 3,
}
"""How much likelier, in bits, a header of this kind is in a sound stream than in random bytes. That
packets are well formed is not enough: PC samples read a bit off are as good stimulus packets."""
_COMMON_PORTS, _COMMON_STIMULUS = 4, 3
_NOT_DEFINED = -6


@functools.lru_cache(maxsize=1 << 12)
def _evidence(token: bytes) -> int:
    found = packets.packet(token)
    if isinstance(found, packets.Stimulus):
        return _COMMON_STIMULUS if found.port < _COMMON_PORTS else 0
    return _EVIDENCE.get(type(found), 0) if packets.well_formed(found) else _NOT_DEFINED


def _bytes(raw: bytes, bit: int, size: int) -> bytes:
    """`size` bytes from that bit on."""
    start, shift = bit >> 3, bit & 7
    if not shift:
        return raw[start : start + size]
    bits = int.from_bytes(raw[start : start + size + 1], "little") >> shift
    return (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")


class Run(NamedTuple):
    """Tokens that follow each other; `offset` is the first one's in the stream, in bytes."""

    offset: int
    tokens: List[bytes]


class Mark(NamedTuple):
    """`length` bytes from `offset` that are one thing, `packet`: a Sync, or an Error that only its
    surroundings tell: cut, truncated, zeros, skipped."""

    offset: int
    length: int
    packet: Packet


Piece = Union[Run, Mark]
"""Pieces follow each other without a gap; in a misaligned stretch a byte counts where its first
bit lies."""


class Stream:
    """Feed chunks, take pieces; then `finish`. The tokens and offsets do not depend on the chunks.

    `sync`: nothing is read before the first sync. `rows`: up to 64 PC samples that follow each other
    may be one token, which is quicker. What is held back is bounded: an unfinished packet, zeros that
    may become a sync, and what tells whether they are one, where it is not on a byte. A chunk's tokens
    are all in memory, about ten times its size. Counters: `size` bytes fed, `syncs` of both kinds,
    `misaligned` ones that are not on a byte, `skipped` bytes before the first with `sync`.
    """

    def __init__(self, sync: bool = False, rows: bool = False) -> None:
        self._token, self._complete = (TOKEN_ROW, COMPLETE_ROW) if rows else (TOKEN, COMPLETE)
        self.size = self.syncs = self.misaligned = self.skipped = 0
        self._waits = sync
        self._raw = b""  # from one byte before the first that is not decoded
        self._base = 0  # the stream's offset of _raw[0]
        self._bit = 0  # where in _raw the first bit is that is not decoded
        self._zeros = 0  # zero bytes at the end of _raw that are counted, not kept

    @property
    def held(self) -> int:
        """Bytes in memory that are not decoded yet."""
        return len(self._raw)

    def feed(self, chunk: bytes) -> List[Piece]:
        pieces: List[Piece] = []
        if not chunk:
            return pieces
        self.size += len(chunk)
        self._raw += chunk
        undecided = self._to_syncs(pieces)
        # zeros at the end may become a sync and cut the packet they are in
        end = max(len(self._raw.rstrip(b"\0")), self._bit >> 3) if undecided is None else undecided
        if self._waits:
            self._bit = 8 * end
        else:
            self._decode(pieces, 8 * end)
        self._forget(end if undecided is None else len(self._raw))
        return pieces

    def finish(self) -> List[Piece]:
        """What is left, as far as it can be read; the stream has ended."""
        pieces: List[Piece] = []
        self._to_syncs(pieces, ended=True)
        if self._waits:
            self._skip(pieces, self.size)
        else:
            rest = self._decode(pieces, 8 * len(self._raw))
            if rest.strip(b"\0"):
                self._mark(pieces, Error(TRUNCATED, rest), len(rest))
            elif rest:
                zeros = len(rest) + self._zeros
                # so few may be the beginning of a sync
                kind = TRUNCATED if zeros <= len(_SYNC_ZEROS) else ZEROS
                self._mark(pieces, Error(kind, rest[: len(_SYNC_ZEROS)]), zeros)
        self._raw, self._bit, self._base, self._zeros = b"", 0, self.size, 0
        return pieces

    def _to_syncs(self, pieces: List[Piece], ended: bool = False) -> Optional[int]:
        """Everything up to the last sync that is there. Returns where zeros begin of which only more
        bytes can tell what they are, if there are such."""
        raw = self._raw
        at = raw.find(_SYNC_ZEROS, self._bit >> 3)
        while at >= 0:
            found = _NOT_ZERO.search(raw, at + len(_SYNC_ZEROS))
            if found is None:
                return None
            end = found.start()
            low = (raw[end] & -raw[end]).bit_length() - 1
            before = 8 - raw[at - 1].bit_length() if at else 0
            if before + 8 * (end - at) + low >= _SYNC_BITS:
                one = 8 * end + low
                bit = self._resume(one, ended)
                if bit is None:
                    return at
                if bit > one:
                    self._take_sync(pieces, at, end, bit)
                else:
                    self._take_zeros(pieces, bit)
            at = raw.find(_SYNC_ZEROS, end)
        return None

    def _resume(self, one: int, ended: bool) -> Optional[int]:
        """The bit where reading goes on after zeros that bit `one` ends: the next, if they are a sync;
        else the first one of the byte that `one` is in. None if more bytes are needed to tell."""
        shifted, raw = one + 1, self._raw
        if not shifted & 7:
            return shifted
        # to the next such place: it is judged by itself, and no byte is looked at for two of them
        end = (one >> 3) + _LOOK_AHEAD
        zeros = raw.find(_SYNC_ZEROS, one >> 3, end)
        if zeros < 0 and len(raw) < end and not ended:
            return None
        end = zeros if zeros >= 0 else min(end, len(raw))

        def evidence(bit: int) -> int:
            tokens = TOKEN.findall(_bytes(raw, bit, (8 * end - bit) >> 3))
            if tokens and not COMPLETE.fullmatch(tokens[-1]):
                tokens.pop()
            return sum(map(_evidence, tokens))

        # on a byte, or as far off as before, should that have been wrong or right
        others = [one & ~7]
        before = one - ((one - self._bit) & 7)
        if before not in (one & ~7, one - 7):  # that is the alignment of `shifted`
            others.append(before)
        scores = [evidence(bit) for bit in others]
        best = max(scores)
        return shifted if evidence(shifted) >= best + _CLEARLY else others[scores.index(best)]

    def _take_sync(self, pieces: List[Piece], at: int, end: int, bit: int) -> None:
        """A sync whose zero bytes begin at `at`, whose one is in byte `end`, and which ends before
        `bit`."""
        if self._waits:
            self._skip(pieces, self._base + at)
            self._waits, self._bit = False, 8 * at
        else:
            rest = self._decode(pieces, 8 * (end - len(_SYNC_ZEROS)))
            if rest.strip(b"\0"):
                self._mark(pieces, Error(CUT, rest), len(rest))
        shift = bit & 7
        self.syncs += 1
        self.misaligned += shift != 0
        self._pass(pieces, Sync(shift), bit)

    def _take_zeros(self, pieces: List[Piece], bit: int) -> None:
        """Zeros that are no sync, up to `bit`. There are four whole bytes of them at least, so that the
        packet that they begin in ends in them."""
        if self._waits:
            self._base += self._zeros
            self._bit, self._zeros = bit, 0
            return
        rest = self._decode(pieces, bit)
        self._pass(pieces, Error(ZEROS, rest[: len(_SYNC_ZEROS)]), bit)

    def _pass(self, pieces: List[Piece], packet: Packet, bit: int) -> None:
        """One thing up to `bit`, the zeros that are counted among it."""
        length = (bit >> 3) - (self._bit >> 3) + self._zeros
        pieces.append(Mark(self._base + (self._bit >> 3), length, packet))
        self._base += self._zeros
        self._bit, self._zeros = bit, 0

    def _decode(self, pieces: List[Piece], end: int) -> bytes:
        """The whole tokens before bit `end`; returns what is there after them: the beginning of a
        packet, or zeros."""
        size = (end - self._bit) >> 3
        if size <= 0:
            return b""
        tokens = self._token.findall(_bytes(self._raw, self._bit, size))
        rest = b"" if self._complete.fullmatch(tokens[-1]) else tokens.pop()
        if tokens:
            pieces.append(Run(self._base + (self._bit >> 3), tokens))
            self._bit += 8 * (size - len(rest))
        return rest

    def _mark(self, pieces: List[Piece], packet: Packet, length: int) -> None:
        pieces.append(Mark(self._base + (self._bit >> 3), length, packet))
        self._bit += 8 * length

    def _skip(self, pieces: List[Piece], to: int) -> None:
        self.skipped = to
        if to:
            pieces.append(Mark(0, to, Error(SKIPPED)))

    def _forget(self, end: int) -> None:
        """Drop what is decoded, save for one byte whose high bits may belong to a sync, and
        count the zeros from byte `end` instead of keeping them."""
        surplus = len(self._raw) - end - _HELD_ZEROS
        if surplus > 0:
            self._raw = self._raw[:-surplus]
            self._zeros += surplus
        done = (self._bit >> 3) - 1
        if done > 0:
            self._raw = self._raw[done:]
            self._base += done
            self._bit -= 8 * done
