"""Records -> what lies between them: by counter, by task, in time.

A record holds six counters that count down and the ID of a task. What two records in a row differ by belongs
to the task that ran between them: the first one's where the ID is the task's that begins (incoming), the
second one's where it is the task's that ends (outgoing). No record has a time stamp; time is what a counter
of cycles has counted.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.dpu.capture import INCOMING, Counter
from gdb_prof.counters.dpu.columns import APPLICATION, TIME, Column, checked, columns_of, outlasted
from gdb_prof.counters.dpu.decode import DOUBT, Decoded
from gdb_prof.counters.dpu.reading import WRAPPING
from gdb_prof.counters.dpu.records import TASK, Records
from gdb_prof.wording import count, plural, some

_MANY_IDS = 256


@dataclasses.dataclass(frozen=True)
class Row:
    """A task: how often it came to run, and its counts by column."""

    task: int
    runs: int
    counts: Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Facts:
    """`owners`: by step, whose it is; empty where no task is. `clock`: the column that is time, or None;
    `times`: by record, its counts since the first. `runs`: task, start, end in those counts. `doubted`: whose
    a step is, or what it counts, is not to be relied on, so that there are no shares."""

    decoded: Decoded
    columns: Tuple[Column, ...]
    clock: Optional[int]
    times: Tuple[int, ...]
    owners: Tuple[int, ...]
    rows: Tuple[Row, ...]
    switches: int
    runs: Tuple[Tuple[int, int, int], ...]
    remarks: Tuple[str, ...]
    doubted: bool = False

    @property
    def records(self) -> Records:
        return self.decoded.records


def analysed(decoded: Decoded, counters: Mapping[str, Counter]) -> Facts:
    """`counters`: how each is set, as far as is known; a user's word is in them already."""
    remarks: List[str] = []
    columns = columns_of(decoded.records, counters, remarks)
    clock = _clock(columns, remarks)
    columns = checked(columns, clock, remarks)
    remarks += outlasted(columns, clock)
    doubted = decoded.capture.mixed or _misfits(decoded, columns, clock)
    steps = max(0, decoded.records.number - 1)
    times = tuple(itertools.accumulate((0, *(columns[clock].counts if clock is not None else ()))))
    ids = decoded.records.columns.get("task", ()) if decoded.kind == TASK else ()
    owners = ids[:-1] if decoded.capture.task_id == INCOMING else ids[1:]
    came = [task for task, _ in itertools.groupby(ids)]
    runs = _runs(owners, times) if clock is not None else ()
    if len(set(ids)) > _MANY_IDS:
        remarks.append(
            "%s different IDs of tasks in %s: garbled, or another layout or byte order (-layout, -byte-order)"
            % (count(len(set(ids))), plural(decoded.records.number, "record"))
        )
    rows = _rows(owners, came, columns) if steps else ()
    return Facts(
        *(decoded, tuple(columns), clock, times, tuple(owners), rows),
        *(max(0, len(came) - 1), runs, tuple(remarks), doubted),
    )


def _misfits(decoded: Decoded, columns: Sequence[Column], clock: Optional[int]) -> bool:
    """Whether the clock may have been set anew, in a step that may have been the longest, or too many steps
    are none that records make. One of very many cycles may be one, and is remarked by itself."""
    explained = 0
    if clock is not None:
        time = columns[clock]
        large = not time.both and max(time.counts, default=0) > time.large
        if time.lost or (large and time.setting.mode not in WRAPPING):
            return True
        explained = len(
            {
                n
                for column in columns
                for n, counts in enumerate(column.counts)
                if column.event == time.event and column.large < counts == time.counts[n] % column.modulus
            }
        )
    steps = decoded.records.number - 1
    return decoded.misfit * steps - explained > DOUBT * steps


# -- time --------------------------------------------------------------------------------


def _clock(columns: Sequence[Column], remarks: List[str]) -> Optional[int]:
    """The column of a counter that counts everybody's cycles, and goes on once it has begun."""
    for column in columns:
        no_time = ": that is no time" if column.event in TIME else ""
        if column.whose:
            remarks.append("%s counts %s alone%s" % (column.counter, column.whose, no_time))
        if column.stops:
            remarks.append(
                "%s counts from %s to %s: what ran outside has none of it%s"
                % (column.counter, column.setting.starts or "its start", column.setting.stops, no_time)
            )
    for event in TIME:
        for at, column in sorted(enumerate(columns), key=lambda found: not found[1].both):
            if column.event == event and not (column.whose or column.stops or column.least):
                _begun(column, remarks)
                return at
    return None


def _begun(column: Column, remarks: List[str]) -> None:
    before = sum(1 for _ in itertools.takewhile(lambda n: n == 0, column.counts))
    if before and column.setting.starts != "immediate":
        waited = ", or all of that was wait or stop" if column.event == APPLICATION else ""
        remarks.append(
            "%s counted nothing before record %d: it had not started (%s)%s, and what ran has no time"
            % (column.counter, before, column.setting.starts or "its start event", waited)
        )
    if column.event == APPLICATION:
        remarks.append("time is by application_cycles: what was spent in wait and stop is not in it")


# -- by task -----------------------------------------------------------------------------


def _runs(owners: Sequence[int], times: Sequence[int]) -> Tuple[Tuple[int, int, int], ...]:
    runs, at = [], 0
    for task, steps in itertools.groupby(owners):
        end = at + sum(1 for _ in steps)
        runs.append((task, times[at], times[end]))
        at = end
    return tuple(runs)


def _rows(owners: Sequence[int], came: Sequence[int], columns: Sequence[Column]) -> Tuple[Row, ...]:
    """By the first column's counts, the most first; time's, where there is one."""
    totals: Dict[int, List[int]] = {task: [0] * len(columns) for task in (*owners, *came)}
    for at, column in enumerate(columns):
        for task, n in zip(owners, column.counts):
            totals[task][at] += n
    runs: Dict[int, int] = dict.fromkeys(totals, 0)
    for task in came:
        runs[task] += 1
    return tuple(Row(task, runs[task], tuple(counts)) for task, counts in totals.items())


def against_time(facts: Facts, at: int) -> Dict[int, Tuple[int, int]]:
    """By task, a column's events, and the cycles of the steps in which these are known."""
    assert facts.clock is not None
    column, clock = facts.columns[at], facts.columns[facts.clock]
    sums: Dict[int, Tuple[int, int]] = {}
    for step, (task, events, cycles) in enumerate(zip(facts.owners, column.counts, clock.counts)):
        if step not in column.lost:
            before = sums.get(task, (0, 0))
            sums[task] = before[0] + events, before[1] + cycles
    return sums


def unnamed(facts: Facts, names: Mapping[int, str]) -> Tuple[str, ...]:
    """Where the user has named the tasks: those that have no name."""
    strangers = [row.task for row in facts.rows if row.task not in names] if names else []
    if not strangers:
        return ()
    ids = facts.records.values("task")
    number = sum(task not in names for task in ids)
    return (
        "%s of tasks without a name: %s" % (plural(number, "record"), some(["%d" % t for t in strangers], 8)),
    )
