"""Facts -> the report: what was read, doubts, tables by task, lanes, records."""

from __future__ import annotations

import dataclasses
import math
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.dpu.capture import INCOMING, SINGLE, Capture
from gdb_prof.counters.dpu.columns import TIME, Column, power
from gdb_prof.counters.dpu.decode import Decoded
from gdb_prof.counters.dpu.lanes import LEGEND, MOST_LANES, lanes
from gdb_prof.counters.dpu.reading import WIDTH
from gdb_prof.counters.dpu.records import DIRECT, SAMPLE, TASK
from gdb_prof.counters.dpu.tasks import Facts, Row, against_time, unnamed
from gdb_prof.printable import printable
from gdb_prof.wording import aligned, count, percent, plural, some, wrapped

_KINDS = {TASK: "task records", SAMPLE: "samples", DIRECT: "words"}
_WORDS = 4
"""Of direct records in a line."""
_MOST_DIGITS = 12


@dataclasses.dataclass(frozen=True)
class View:
    """`last`: so many records, the newest; `top`: so many tasks; `hz`: of the cycles; 0 where not known.
    `live`: of a target."""

    width: int
    last: int
    top: int
    hz: float = 0.0
    names: Mapping[int, str] = dataclasses.field(default_factory=dict)
    live: bool = False

    @property
    def unit(self) -> str:
        return "ms" if self.hz else "cycles"

    @property
    def per_unit(self) -> float:
        return self.hz / 1000 if self.hz else 1.0

    def time(self, cycles: int) -> str:
        """In milliseconds with so many digits that a single cycle is one."""
        if not self.hz:
            return count(cycles)
        digits = min(_MOST_DIGITS, max(3, math.ceil(math.log10(self.per_unit))))
        return "{:,.{}f}".format(cycles / self.per_unit, digits)


def report(facts: Facts, view: View) -> str:
    labels = {row.task: _label(row.task, view.names) for row in facts.rows}
    lines = _head(facts.decoded, facts, view)
    lines += _remarks((*facts.decoded.remarks, *facts.remarks, *unnamed(facts, view.names)), view.width)
    if facts.rows:
        lines += ["", *_by_task(facts, view, labels)]
        if facts.clock is not None and not facts.doubted:
            lines += _ratios(facts, view, labels) + _drawing(facts, view, labels)
    elif facts.records.number > 1 and facts.columns:
        lines += ["", *_sums(facts, view)]
    if facts.records.number and view.last:
        lines += ["", *_records(facts, view, labels)]
    return "\n".join(lines) + "\n"


def words(decoded: Decoded, view: View) -> str:
    """Of direct records: in hex, and as they lie in memory where that is ASCII."""
    lines = _head(decoded, None, view) + _remarks(decoded.remarks, view.width)
    (name,) = decoded.records.layout.names
    values, size = decoded.records.values(name), dict(decoded.records.layout.fields)[name]
    first = max(0, len(values) - view.last)
    little = decoded.capture.little
    if values[first:]:
        lines.append("")
    digits = len(count(len(values)))
    for at in range(first, len(values), _WORDS):
        row = values[at : at + _WORDS]
        raw = b"".join(value.to_bytes(size, "little" if little else "big") for value in row)
        hexes = " ".join("%0*x" % (2 * size, value) for value in row)
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in raw)
        lines.append("%*s  %-*s  %s" % (digits, count(at), _WORDS * (2 * size + 1) - 1, hexes, text))
    lines += ["  … %s before these (-last)" % count(first)] if first else []
    return "\n".join(lines) + "\n"


# -- what was read -----------------------------------------------------------------------


def _head(decoded: Decoded, facts: Optional[Facts], view: View) -> List[str]:
    capture, number = decoded.capture, decoded.records.number
    said = plural(number, _KINDS[decoded.kind][:-1]) + " in %s bytes" % count(len(capture.raw))
    said += " at 0x%08x" % capture.start if capture.start else ""
    if facts is not None and facts.rows:
        said += "; %s between %s" % (
            plural(facts.switches, "switch", "switches"),
            plural(len(facts.rows), "task"),
        )
    sentences = [said, _wrapping(capture, decoded), decoded.origin]
    layout = "a record is %s, %s-endian" % (
        decoded.records.layout.text,
        "little" if capture.little else "big",
    )
    if decoded.kind == TASK and "task" in decoded.records.columns:
        begins = capture.task_id == INCOMING
        layout += "; its task is taken for the one that %s (%s)" % (
            "begins" if begins else "ends",
            capture.task_id,
        )
    sentences.append(layout)
    if facts is not None and facts.columns:
        sentences.append("counted: " + ", ".join(_counted(facts, view)))
        sentences += _bounded(facts, view)
    sentences += ["rests on: " + "; ".join(decoded.rests)] if decoded.rests else []
    if not number:
        remedy = ": `dpu check` looks for the reason" if view.live else ""
        sentences.append("nothing was recorded, or nothing of it is left" + remedy)
    return [line for text in sentences if text for line in wrapped(text, view.width)]


def _wrapping(capture: Capture, decoded: Decoded) -> str:
    mode = "mode %s" % capture.mode if capture.mode else ""
    by = " (by %s)" % decoded.by if decoded.by else ""
    if decoded.wrapped:
        said = "it has wrapped%s, and what was recorded before these is lost" % by
    elif decoded.wrapped is None:
        said = "whether it has wrapped is not known" if capture.pointer is not None else ""
    else:
        said = "it has not wrapped%s" % by if capture.mode != SINGLE else ""
    return ": ".join(part for part in (mode, said) if part)


def _counted(facts: Facts, view: View) -> List[str]:
    found = []
    for at, column in enumerate(facts.columns):
        text = column.counter + (" " + column.event if column.event else " ?")
        if at == facts.clock:
            text += " (time%s)" % (", at %g Hz" % view.hz if view.hz else "")
        found.append(text)
    return found


def _bounded(facts: Facts, view: View) -> List[str]:
    """How far its time goes, which shows in no record; and counts of which a record has less than 31 bits."""
    said, narrow = [], []
    for at, column in enumerate(facts.columns):
        if at == facts.clock and not column.both:
            seconds = " (%.3g s)" % (column.modulus / view.hz) if view.hz else ""
            said.append("time: right while each step is below %s cycles%s" % (power(column.modulus), seconds))
        elif column.modulus < WIDTH.modulus:
            narrow.append("%s below %s" % (column.counter, power(column.modulus)))
    return said + (["counts: right while each step is " + ", ".join(narrow)] if narrow else [])


def _remarks(remarks: Sequence[str], width: int) -> List[str]:
    return [line for text in remarks for line in wrapped(text, width, "! ")]


# -- by task -----------------------------------------------------------------------------


def _label(task: int, names: Mapping[int, str]) -> str:
    given = printable(names.get(task, ""), 24)
    return given or ("%d" % task if task <= 0xFFFF else "0x%x" % task)


def _sorted(facts: Facts, view: View) -> Tuple[List[Row], List[str]]:
    by = facts.clock if facts.clock is not None else 0
    rows = sorted(facts.rows, key=lambda row: (-row.counts[by] if row.counts else 0, row.task))
    rest = len(rows) - view.top
    return rows[: view.top], ["  … %s more (-top)" % count(rest)] if rest > 0 else []


def _by_task(facts: Facts, view: View, labels: Mapping[int, str]) -> List[str]:
    rows, more = _sorted(facts, view)
    order = _order(facts)
    head = ["task", "runs", *(title for at in order for title in _titles(facts, at, view))]
    table = [
        [labels[row.task], count(row.runs), *(cell for at in order for cell in _cells(facts, row, at, view))]
        for row in rows
    ]
    whole = Row(0, sum(row.runs for row in facts.rows), tuple(column.total for column in facts.columns))
    table.append(["", count(whole.runs), *(cell for at in order for cell in _cells(facts, whole, at, view))])
    lines = blocks([head, *table], view.width)
    if facts.doubted:
        lines += wrapped("not all steps are what they seem (!): no shares, no lanes", view.width)
    elif facts.clock is None:
        cycles = any(column.event in TIME for column in facts.columns)
        reason = "counts all cycles" if cycles else "is known to count cycles"
        lines += wrapped("no counter %s: no times, no lanes (-counts A0=cycles)" % reason, view.width)
    return [*lines, *more, *wrapped(_unfinished(facts, labels), view.width)]


def _unfinished(facts: Facts, labels: Mapping[int, str]) -> str:
    """One more run was begun, or had been, than there are whole ones."""
    incoming = facts.decoded.capture.task_id == INCOMING
    task = labels[facts.records.values("task")[-1 if incoming else 0]]
    return "what ran %s, of %s, is in no column, but its run is in `runs`" % (
        *("after the last record" if incoming else "before the first record",),
        task,
    )


def _order(facts: Facts) -> List[int]:
    """Columns, time first."""
    rest = [at for at in range(len(facts.columns)) if at != facts.clock]
    return rest if facts.clock is None else [facts.clock, *rest]


def _timed(facts: Facts, at: int) -> bool:
    return at == facts.clock and not facts.doubted


def _titles(facts: Facts, at: int, view: View) -> List[str]:
    title = facts.columns[at].label
    return [title, *(["ms"] if view.hz else []), "share"] if _timed(facts, at) else [title]


def _cells(facts: Facts, row: Row, at: int, view: View) -> List[str]:
    number = row.counts[at]
    if not _timed(facts, at):
        return [count(number)]
    share = percent(number / facts.columns[at].total) if facts.columns[at].total else "-"
    return [count(number), *([view.time(number)] if view.hz else []), share]


def _ratios(facts: Facts, view: View, labels: Mapping[int, str]) -> List[str]:
    """Events in a thousand cycles."""
    assert facts.clock is not None
    others = [at for at in _order(facts) if at != facts.clock]
    if not others:
        return []
    rows, _ = _sorted(facts, view)
    head = ["per 1,000 cycles", *(facts.columns[at].label for at in others)]
    sums = [against_time(facts, at) for at in others]
    table = [
        [labels.get(row.task, ""), *(_per_thousand(*each.get(row.task, (0, 0))) for each in sums)]
        for row in rows
    ]
    table.append(["", *(_per_thousand(*map(sum, zip((0, 0), *each.values()))) for each in sums)])
    return ["", *blocks([head, *table], view.width)]


def _per_thousand(events: int, cycles: int) -> str:
    return "{:,.3f}".format(1000 * events / cycles) if cycles else "-"


def blocks(rows: Sequence[Sequence[str]], width: int) -> List[str]:
    """A table, its head first, and where it is too wide several, each with the first column."""
    sides = ["left", *["right"] * (len(rows[0]) - 1)]
    columns = list(range(1, len(rows[0])))
    lines: List[str] = []
    while columns:
        number = len(columns)
        while True:
            kept = [0, *columns[:number]]
            block = aligned([[row[at] for at in kept] for row in rows], [sides[at] for at in kept])
            if number == 1 or max(len(line) for line in block) <= width:
                break
            number -= 1
        lines += ([""] if lines else []) + block
        columns = columns[number:]
    return lines


def _drawing(facts: Facts, view: View, labels: Dict[int, str]) -> List[str]:
    most = min(view.top, MOST_LANES)
    lines, faint, cut = lanes(facts, labels, view.per_unit, view.unit, view.width, most)
    if not lines:
        return []
    why = "-top" if most == view.top else "at most %d are drawn" % MOST_LANES
    more = ["  … %s more (%s)" % (plural(cut, "lane"), why)] if cut else []
    unseen = wrapped("too short to be seen: " + some(faint, 8), view.width) if faint else []
    return ["", LEGEND, *lines, *more, *unseen]


# -- record by record --------------------------------------------------------------------


def _sums(facts: Facts, view: View) -> List[str]:
    """Of samples: from the first to the last."""
    head = ["from the first to the last", *(column.label for column in facts.columns)]
    return blocks([head, ["", *(count(column.total) for column in facts.columns)]], view.width)


def _records(facts: Facts, view: View, labels: Mapping[int, str]) -> List[str]:
    """The last ones. One of a task has what that task's run counted; a sample what was counted since the one
    before it."""
    number = facts.records.number
    ids = facts.records.columns.get("task")
    others = [n for n in facts.records.layout.names if n != "task" and n not in facts.records.layout.counters]
    order = _order(facts)
    timed = facts.clock is not None
    head = ["record", *(["at " + view.unit] if timed else []), *(["task"] if ids else [])]
    runs = facts.decoded.kind == TASK
    head += [("" if runs else "+") + facts.columns[at].label for at in order] + others
    # a step is from one record to the next, and its task is in the first of them where that is incoming
    back = 0 if runs and facts.decoded.capture.task_id == INCOMING else 1
    rows = []
    for n in range(max(0, number - view.last), number):
        row = [count(n), *([view.time(facts.times[n])] if timed else [])]
        row += [labels.get(ids[n]) or _label(ids[n], view.names)] if ids else []
        row += [_step(facts.columns[at], n - back) for at in order]
        rows.append([*row, *("0x%x" % facts.records.values(name)[n] for name in others)])
    more = number - len(rows)
    lines = blocks([head, *rows], view.width)
    return lines + (["  … %s before these (-last)" % count(more)] if more else [])


def _step(column: Column, step: int) -> str:
    if not 0 <= step < len(column.counts):
        return "-"
    return "?" if step in column.lost else count(column.counts[step])
