"""Records -> what lies between them: by counter, by task, in time.

A record holds six counters that count down and the ID of a task. What two records in a row differ by belongs
to the task that ran between them: the first one's where the ID is the task's that begins (incoming), the
second one's where it is the task's that ends (outgoing). No record has a time stamp; time is what a counter
of cycles has counted.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Collection, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.dpu.capture import ANY, INCOMING, NONE, Counter, overflow_counters
from gdb_prof.counters.dpu.decode import DOUBT, Decoded
from gdb_prof.counters.dpu.padding import HALF
from gdb_prof.counters.dpu.reading import MOST, WIDTH
from gdb_prof.counters.dpu.records import TASK, Records
from gdb_prof.wording import count, plural, some

CYCLES, APPLICATION = "cycles", "application_cycles"
_MANY_IDS = 256


@dataclasses.dataclass(frozen=True)
class Column:
    """A counter: `counts` by step from record to record; in the steps of `lost` it is not known, and 0 here.
    `event`: empty where not known. `setting`: of the counter; `both`: another one counts its overflows;
    `ended`: it has come to 0, and counts no more."""

    counter: str
    event: str
    label: str
    counts: Tuple[int, ...]
    lost: FrozenSet[int] = frozenset()
    setting: Counter = dataclasses.field(default_factory=Counter)
    both: bool = False
    ended: bool = False

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def whose(self) -> str:
        """The filter where it does not count everybody's events; empty where it does, or nobody knows."""
        return "" if self.setting.filter in ("", ANY) else self.setting.filter

    @property
    def stops(self) -> bool:
        return self.setting.stops not in ("", NONE)


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
    columns = _columns(decoded.records, counters, remarks)
    clock = _clock(columns, remarks)
    columns = _checked(columns, clock, remarks)
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
    """Whether too many steps are none that records make. One of very many cycles may be one, and is remarked
    by itself."""
    large = sum(n > HALF for n in columns[clock].counts) if clock is not None else 0
    steps = decoded.records.number - 1
    return decoded.misfit * steps - large > DOUBT * steps


# -- by counter --------------------------------------------------------------------------


def _columns(records: Records, counters: Mapping[str, Counter], remarks: List[str]) -> List[Column]:
    """Those that are known to count, or that moved."""
    values = {name: _values(records, name, remarks) for name in records.layout.counters}
    steps = {name: _down(column) for name, column in values.items()}
    pairs = overflow_counters(counters, tuple(values))
    unmoved, found = [], []
    for name, column in values.items():
        known = counters.get(name, Counter())
        if name in pairs.values() or known.starts == NONE:
            continue
        high = pairs.get(name)
        counts = steps[name] if high is None else _both(column, steps[high], steps[name], high, name, remarks)
        if not known.event and not any(counts):
            unmoved.append(name)
            continue
        lost: FrozenSet[int] = frozenset()
        ended = False
        if known.mode in ("oneshot", ""):
            lost, ended = _oneshot(name, column, known, remarks)
            counts = [0 if at in lost else n for at, n in enumerate(counts)] if lost else counts
        both = high is not None and counts is not steps[name]
        found.append(Column(name, known.event, "", tuple(counts), lost, known, both, ended))
    if unmoved and records.number > 1:
        remarks.append("%s did not move: left out" % ", ".join(unmoved))
    return _labelled(found)


def _labelled(columns: Sequence[Column]) -> List[Column]:
    """By the event, with the counter where two count it, and the filter."""
    events = [column.event for column in columns]
    found = []
    for column in columns:
        several = column.event and events.count(column.event) > 1
        more = [word for word in (column.counter if several else "", column.whose) if word]
        label = (column.event or column.counter) + (" (%s)" % ", ".join(more) if more else "")
        found.append(dataclasses.replace(column, label=label))
    return found


def _values(records: Records, name: str, remarks: List[str]) -> Sequence[int]:
    """Its 31 bits."""
    values = records.values(name)
    if not values or max(values) <= MOST:
        return values
    wrong = sum(value > MOST for value in values)
    remarks.append(
        "%s has more than 31 bits in %s: what stands above them is not known, and not counted"
        % (name, plural(wrong, "record"))
    )
    return tuple(value & MOST for value in values)


def _down(values: Sequence[int]) -> List[int]:
    """As counting.elapsed, of all steps at once."""
    return [a - b & MOST for a, b in zip(values, values[1:])]


def _both(
    values: Sequence[int],
    wraps: Sequence[int],
    alone: List[int],
    high: str,
    low: str,
    remarks: List[str],
) -> List[int]:
    """Of a counter whose overflows another one counts: its wraps are not guessed but counted."""
    both = [n * WIDTH.modulus + a - b for n, a, b in zip(wraps, values, values[1:])]
    wrong = sum(n < 0 or n > HALF * WIDTH.modulus for n in both)
    if wrong:
        remarks.append(
            "%s does not count %s's overflows in %s of %s: %s is counted alone"
            % (high, low, count(wrong), plural(len(both), "step"), low)
        )
        return alone
    return both


def _oneshot(
    name: str, values: Sequence[int], known: Counter, remarks: List[str]
) -> Tuple[FrozenSet[int], bool]:
    """The steps in which one that cannot go up does; and whether it has come to 0, where it stays."""
    if known.mode == "oneshot":
        up = frozenset(at for at, (a, b) in enumerate(zip(values, values[1:])) if b > a)
        if up:
            remarks.append(_up(name, up))
    else:
        up = frozenset()
    at_zero = len(values) - len(tuple(itertools.dropwhile(lambda v: v != 0, values)))
    stays = len(values) - at_zero
    # of a oneshot counter one 0 is enough: what it would have counted beyond is lost
    ended = not any(values[at_zero:]) and (bool(stays) if known.mode else stays >= 2 and at_zero > 0)
    if ended:
        remarks.append(
            "%s stands at 0 from record %d on%s: its figures are then a lower bound%s"
            % (
                *(name, at_zero, "" if known.mode else ", as a oneshot counter does that has reached 0"),
                ", and no time" if known.event in (CYCLES, APPLICATION) else "",
            )
        )
    return up, ended


def _up(name: str, steps: Collection[int]) -> str:
    return "%s goes up in %s, at record %d first: set anew, or garbled; its counts there are not known" % (
        *(name, plural(len(steps), "step")),
        min(steps) + 1,
    )


# -- time --------------------------------------------------------------------------------


def _clock(columns: Sequence[Column], remarks: List[str]) -> Optional[int]:
    """The column of a counter that counts everybody's cycles, and goes on once it has begun."""
    for column in columns:
        no_time = ": that is no time" if column.event in (CYCLES, APPLICATION) else ""
        if column.whose:
            remarks.append("%s counts %s alone%s" % (column.counter, column.whose, no_time))
        if column.stops:
            remarks.append(
                "%s counts from %s to %s: what ran outside has none of it%s"
                % (column.counter, column.setting.starts or "its start", column.setting.stops, no_time)
            )
    for event in (CYCLES, APPLICATION):
        for at, column in enumerate(columns):
            if column.event == event and not (column.whose or column.stops or column.ended):
                _begun(column, remarks)
                return at
    return None


def _begun(column: Column, remarks: List[str]) -> None:
    before = sum(1 for _ in itertools.takewhile(lambda n: n == 0, column.counts))
    if before:
        remarks.append(
            "%s counted nothing before record %d: it had not started (%s), and what ran has no time"
            % (column.counter, before, column.setting.starts or "its start event")
        )
    if column.event == APPLICATION:
        remarks.append("time is by application_cycles: what was spent in wait and stop is not in it")


def _checked(columns: List[Column], clock: Optional[int], remarks: List[str]) -> List[Column]:
    """Counts of more than 2^30 in a step: of cycles they may be; of anything that is counted in fewer cycles
    they are not, and the counter has gone up."""
    cycles = columns[clock].counts if clock is not None else None
    checked = []
    for at, column in enumerate(columns):
        large = [n for n, counts in enumerate(column.counts) if counts > HALF]
        wrong = [n for n in large if cycles is None or column.counts[n] > cycles[n]] if at != clock else []
        if wrong:
            remarks.append(_up(column.counter, wrong))
            lost = column.lost | frozenset(wrong)
            counts = tuple(0 if n in lost else c for n, c in enumerate(column.counts))
            column = dataclasses.replace(column, counts=counts, lost=lost)
        elif large and not column.both:
            remarks.append(
                "%s counts more than 2^30 in %s, at record %d first: modulo 2^31, or set anew there"
                % (column.counter, plural(len(large), "step"), large[0] + 1)
            )
        checked.append(column)
    return checked


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
