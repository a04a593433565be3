"""How large a trace buffer has to be, or how long one lasts."""

from __future__ import annotations

import dataclasses
import math

from gdb_prof.counters.description import Description, Fact, numbers
from gdb_prof.counters.dpu.records import layout_of
from gdb_prof.errors import FileError, UsageError
from gdb_prof.wording import plural

_MOST = 1 << 32


@dataclasses.dataclass(frozen=True)
class Need:
    """`record`, `alignment`: in bytes. `facts`: the rows that say so."""

    record: int
    alignment: int
    facts: "tuple[Fact, ...]"

    def size(self, rate: float, seconds: float) -> int:
        """Bytes for every record of that time, a whole number of alignments. Raises UsageError."""
        size = -(-_records(rate, seconds) * self.record // self.alignment) * self.alignment
        if size > _MOST:
            raise UsageError("so many records take %s bytes: 32 bits of address end at 0x%x" % (size, _MOST))
        return size

    def records(self, size: int) -> int:
        """Whole ones that a buffer holds."""
        return size // self.record


def need(description: Description) -> Need:
    """Of records of tasks. Raises UsageError, FileError where the description does not say."""
    layout, alignment = description.fact("record", "task"), description.fact("rule", "vtb_alignment_16")
    if layout is None:
        raise FileError("the description has no layout of a record: give a row record,task")
    if alignment is None:
        raise FileError("the description does not say how a buffer is aligned: give rule,vtb_alignment_16")
    return Need(layout_of(layout.value).size, numbers(alignment, 1)[0], (layout, alignment))


def needed(found: Need, rate: float, seconds: float) -> str:
    size = found.size(rate, seconds)
    return "%s of %s, %s s at %s a second: %s (0x%x), a multiple of %d" % (
        plural(_records(rate, seconds), "record"),
        plural(found.record, "byte"),
        _plain(seconds),
        _plain(rate),
        plural(size, "byte"),
        size,
        found.alignment,
    )


def lasts(found: Need, rate: float, size: int) -> str:
    """Raises UsageError where it holds none."""
    records = found.records(size)
    if not records:
        raise UsageError("%s hold no record of %s" % (plural(size, "byte"), plural(found.record, "byte")))
    seconds = records / rate
    return "%s hold %s of %s: %s s at %s a second" % (
        plural(size, "byte"),
        plural(records, "record"),
        plural(found.record, "byte"),
        "{:,.2f}".format(seconds) if seconds >= 0.1 else "%.3g" % seconds,
        _plain(rate),
    )


def _records(rate: float, seconds: float) -> int:
    """Raises UsageError where they are past counting."""
    number = rate * seconds
    if not number < _MOST:
        raise UsageError("%s records are more than 32 bits of address hold" % _plain(number))
    return math.ceil(round(number, 6))  # 100 * 0.07 is a little more than 7


def _plain(number: float) -> str:
    return "{:,.10g}".format(number)
