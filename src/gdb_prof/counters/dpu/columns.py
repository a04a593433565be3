"""Records -> by counter what it counted from each record to the next, and how far that is to be believed."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Collection, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.dpu.capture import ANY, NONE, Counter, Pair, overflow_counters
from gdb_prof.counters.dpu.reading import MOST, WIDTH, WRAPPING
from gdb_prof.counters.dpu.records import Layout, Records
from gdb_prof.wording import count, plural

TIME = CYCLES, APPLICATION = "cycles", "application_cycles"


@dataclasses.dataclass(frozen=True)
class Column:
    """A counter: `counts` by step from record to record; in the steps of `lost` it is not known, and 0 here.
    `event`: empty where not known. `setting`: of the counter; `modulus`: of a step; `both`: another one
    counts its overflows, so that there is none; `least`: its counts are no more than a lower bound."""

    counter: str
    event: str
    label: str
    counts: Tuple[int, ...]
    lost: FrozenSet[int] = frozenset()
    setting: Counter = dataclasses.field(default_factory=Counter)
    modulus: int = WIDTH.modulus
    both: bool = False
    least: bool = False

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def whose(self) -> str:
        """The filter where it does not count everybody's events; empty where it does, or nobody knows."""
        return "" if self.setting.filter in ("", ANY) else self.setting.filter

    @property
    def large(self) -> int:
        """More in a step is doubtful: it may be a step up. Few bits do not tell."""
        return self.modulus // 2 if self.modulus == WIDTH.modulus else self.modulus

    @property
    def stops(self) -> bool:
        return self.setting.stops not in ("", NONE)


def columns_of(records: Records, counters: Mapping[str, Counter], remarks: List[str]) -> List[Column]:
    """Those that are known to count, or that moved. What is to be said of them goes to `remarks`."""
    values = {name: _values(records, name, remarks) for name in records.layout.counters}
    whole, highs, short = _pairs(records.layout, values, counters, remarks)
    unmoved, found = [], []
    for name, column in values.items():
        known, modulus = counters.get(name, Counter()), records.layout.modulus(name)
        if name in highs or known.starts == NONE:
            continue
        counts = whole.get(name) or _down(column, modulus)
        if not known.event and not any(counts):
            unmoved.append(name)
            continue
        lost: FrozenSet[int] = frozenset()
        ended = False
        if known.mode in ("oneshot", ""):
            # the lower bits go up, and come to 0, while it counts down
            seen = known if modulus == WIDTH.modulus else dataclasses.replace(known, mode="")
            lost, ended = _oneshot(name, column, seen, remarks)
            counts = [0 if at in lost else n for at, n in enumerate(counts)] if lost else counts
        least = ended or name in short
        found.append(Column(name, known.event, "", tuple(counts), lost, known, modulus, name in whole, least))
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


def _down(values: Sequence[int], modulus: int) -> List[int]:
    """As counting.elapsed, of all steps at once."""
    return [(a - b) % modulus for a, b in zip(values, values[1:])]


def _pairs(
    layout: Layout,
    values: Mapping[str, Sequence[int]],
    counters: Mapping[str, Counter],
    remarks: List[str],
) -> Tuple[Dict[str, List[int]], Tuple[str, ...], Tuple[str, ...]]:
    """Of counters whose overflows another one counts, their counts: wraps are not guessed but counted; those
    others; and of which one does not count them all, and they are counted alone."""
    whole: Dict[str, List[int]] = {}
    highs, short = [], []
    for pair in overflow_counters(counters, tuple(values)):
        wraps = _down(values[pair.high], layout.modulus(pair.high))
        low = values[pair.low]
        both = [n * WIDTH.modulus + a - b for n, a, b in zip(wraps, low, low[1:])]
        missed = pair.missed or _missed(pair, layout, values[pair.high], counters[pair.high].mode, both)
        if missed:
            no_time = ": that is no time" if counters.get(pair.low, Counter()).event in TIME else ""
            remarks.append("%s: lower bound, %s%s" % (pair.low, missed, no_time))
            short.append(pair.low)
            continue
        if not pair.sure:
            remarks.append(
                "%s is taken to count all overflows of %s: how they start and stop, or a filter, is not known"
                % (pair.high, pair.low)
            )
        whole[pair.low] = both
        highs.append(pair.high)
    return whole, tuple(highs), tuple(short)


def _missed(pair: Pair, layout: Layout, wraps: Sequence[int], mode: str, both: Sequence[int]) -> str:
    """Why, by the records, overflows are missing; empty where none are."""
    if layout.modulus(pair.low) < WIDTH.modulus:
        return "%s counts overflows of 31 bits, and a record has fewer" % pair.high
    if 0 in wraps and mode not in WRAPPING:
        return "%s has come to 0 at record %s, where it stops" % (pair.high, count(wraps.index(0)))
    most = layout.modulus(pair.high) // 2 * WIDTH.modulus
    wrong = sum(not 0 <= n <= most for n in both)
    if wrong:
        return "%s does not count its overflows in %s of %s" % (
            *(pair.high, count(wrong)),
            plural(len(both), "step"),
        )
    return ""


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
                ", and no time" if known.event in TIME else "",
            )
        )
    return up, ended


def _up(name: str, steps: Collection[int]) -> str:
    return "%s goes up in %s, at record %d first: set anew, or garbled; its counts there are not known" % (
        *(name, plural(len(steps), "step")),
        min(steps) + 1,
    )


def checked(columns: List[Column], clock: Optional[int], remarks: List[str]) -> List[Column]:
    """Counts of more than 2^30 in a step: of cycles they may be; of anything that is counted in fewer cycles
    they are not, and the counter has gone up. The few bits of a narrow field do not tell."""
    narrow = clock is not None and columns[clock].modulus < WIDTH.modulus
    cycles = columns[clock].counts if clock is not None and not narrow else None
    # before its first count it had not started
    begun = sum(1 for _ in itertools.takewhile(lambda n: n == 0, cycles or ()))
    found = []
    for at, column in enumerate(columns):
        large = [n for n, counts in enumerate(column.counts) if counts > column.large]
        if at == clock or column.both:
            wrong = []
        elif cycles is not None:
            wrong = [n for n in large if n >= begun and column.counts[n] > cycles[n]]
        else:
            wrong = large if column.event not in TIME else []
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
        found.append(column)
    return found


def outlasted(columns: Sequence[Column], clock: Optional[int]) -> List[str]:
    """Of counters with fewer bits than a step has cycles, as time by two counters together may have."""
    if clock is None:
        return []
    long = max(columns[clock].counts, default=0)
    names = [column.counter for column in columns if not column.both and long >= column.modulus]
    if not names:
        return []
    return [
        "%s may have wrapped, and counted more, in the longest steps: of %s cycles"
        % (", ".join(names), count(long))
    ]


def power(modulus: int) -> str:
    """`2^31`."""
    return "2^%d" % (modulus.bit_length() - 1)
