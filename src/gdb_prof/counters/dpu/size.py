"""How large a trace buffer has to be, or how long one lasts."""

from __future__ import annotations

import dataclasses
import math

from gdb_prof.counters.description import Description, Fact, numbers
from gdb_prof.counters.dpu.capture import LARGEST
from gdb_prof.counters.dpu.records import layout_of
from gdb_prof.errors import FileError, UsageError
from gdb_prof.wording import plural


@dataclasses.dataclass(frozen=True)
class Need:
    """`record`, `alignment`: in bytes. `facts`: the rows that say so."""

    record: int
    alignment: int
    facts: "tuple[Fact, ...]"

    def size(self, rate: float, seconds: float) -> int:
        """Bytes for every record of that time, a whole number of alignments. Raises UsageError."""
        size = -(-_records(rate, seconds) * self.record // self.alignment) * self.alignment
        if size > LARGEST:
            raise UsageError(
                "so many records take %s: a buffer has at most %d" % (plural(size, "byte"), LARGEST)
            )
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
    if size > LARGEST:
        raise UsageError("a buffer has at most %d bytes, found %d" % (LARGEST, size))
    records = found.records(size)
    if not records:
        raise UsageError("%s no record of %s" % (_holds(size), plural(found.record, "byte")))
    seconds = records / rate
    return "%s %s of %s: %s s at %s a second" % (
        _holds(size),
        plural(records, "record"),
        plural(found.record, "byte"),
        "{:,.2f}".format(seconds) if seconds >= 0.1 else "%.3g" % seconds,
        _plain(rate),
    )


def _holds(size: int) -> str:
    return "%s hold%s" % (plural(size, "byte"), "s" if size == 1 else "")


def _records(rate: float, seconds: float) -> int:
    """Raises UsageError where they are past counting."""
    number = rate * seconds
    if not number < LARGEST:
        raise UsageError("%s records: a buffer has at most %d bytes" % (_plain(number), LARGEST))
    return max(math.ceil(round(number, 6)), 1)  # 100 * 0.07 is a little more than 7


def _plain(number: float) -> str:
    return "{:,.10g}".format(number)
