"""Words of two ITM stimulus ports -> the records that a ring of the same run would hold.

The format (``firmware/trace/trace_rec.h``, TRACE_ITM_PORT): port n has a record's 32-bit time; port
n + 1 its event: code in bits 5:0, the record's number modulo 4 in 7:6, task in 15:8, argument in
31:16. An event of code 0 has no time: of task 0 it begins a trace, its argument is the format's
version; of another task it holds two characters of that task's name.
"""

from __future__ import annotations

import array
import dataclasses
from typing import Dict, Iterable, List, Optional, Tuple

from gdb_prof.errors import FileError
from gdb_prof.printable import from_array
from gdb_prof.trace.ring import Context, Ring
from gdb_prof.wording import count

Word = Optional[Tuple[int, int]]
"""A port and the word written to it; None where packets may be missing."""

_VERSION = 1
_CODE, _NUMBERS = 0x3F, 4


def ring_of_words(words: Iterable[Word], port: int, context: Context) -> Ring:
    """The records of the last trace in the stream, whose times are on `port`.

    Ring.gaps has the places where records are missing or may be; 0 is among them where the
    trace's beginning is not in the stream. Raises FileError where the format is unknown.
    """
    reader = _Reader()
    for word in words:
        if word is None:
            reader.lost()
        elif word[0] == port:
            reader.time(word[1])
        elif word[0] == port + 1:
            reader.event(word[1])
    return reader.ring(context)


class _Reader:
    """Joins times and events. A time belongs to the event that comes next, unless something was
    lost between them, or may have been: an overflow, or a number that does not follow."""

    def __init__(self) -> None:
        self._begun = 0
        self._clear()

    def _clear(self) -> None:
        self._stamps = array.array("I")
        self._codes, self._tasks = bytearray(), bytearray()
        self._arguments = array.array("H")
        self._names: Dict[int, bytearray] = {}
        self._gaps: List[int] = []
        self._missing = 0  # by the records' numbers: at least so many
        self._time: Optional[int] = None  # the word that waits for its event
        self._next: Optional[int] = None  # the number of the next record
        self._is_broken = not self._begun  # something is missing before the next record
        # since the last event: a mark of loss, and times whose events are missing
        self._is_marked, self._alone = False, 0

    def lost(self) -> None:
        self._time = None
        self._is_broken = self._is_marked = True

    def time(self, value: int) -> None:
        if self._time is not None:
            self._is_broken = True
            self._alone += 1
        self._time = value

    def event(self, word: int) -> None:
        code, number = word & _CODE, word >> 6 & 3
        task, argument = word >> 8 & 0xFF, word >> 16
        if code == 0:
            self._preface(task, argument)
            return
        time, self._time = self._time, None
        marked, self._is_marked = self._is_marked, False
        alone, self._alone = self._alone, 0
        skipped = 0 if self._next is None else (number - self._next) % _NUMBERS
        self._next = (number + 1) % _NUMBERS
        self._missing += skipped
        if time is None or (not marked and skipped != alone):
            # no time, or one that may be another record's: more is missing than what was seen tells
            self._missing += 1
            self._is_broken = True
            return
        if self._is_broken:
            self._gaps.append(len(self._codes))
            self._is_broken = False
        self._stamps.append(time)
        self._codes.append(code)
        self._tasks.append(task)
        self._arguments.append(argument)

    def _preface(self, task: int, argument: int) -> None:
        """A word without a time: a trace begins; or it tells of a name, which is not whole where
        something is missing since."""
        if task == 0:
            if argument != _VERSION:
                raise FileError("trace records in format %d: only %d is known here" % (argument, _VERSION))
            self._begun += 1
            self._clear()
            self._next = 0
        elif self._begun and not self._codes and not self._is_broken:
            self._names.setdefault(task, bytearray()).extend((argument & 0xFF, argument >> 8))

    def ring(self, context: Context) -> Ring:
        if self._is_broken and self._codes:
            self._gaps.append(len(self._codes))
        if self._begun > 1:
            remark = "%s traces began in the stream: this is the last" % count(self._begun)
            context = dataclasses.replace(context, remarks=(*context.remarks, remark))
        table = [bytes(self._names.get(task, b"")) for task in range(max(self._names, default=-1) + 1)]
        return Ring(
            total=len(self._codes) + self._missing,
            n=len(self._codes),
            on=False,
            names=tuple(from_array(name) for name in table),
            stamps=self._stamps,
            codes=bytes(self._codes),
            tasks=bytes(self._tasks),
            arguments=self._arguments,
            dropped=self._missing,
            context=context,
            gaps=tuple(self._gaps),
            is_streamed=True,
        )
