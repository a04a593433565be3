"""Facts -> numbers: shares, latencies, the recorder's own cost."""

from __future__ import annotations

import collections
import dataclasses
import statistics
from typing import Dict, List, Sequence, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.timeline import Ready, Timeline

# Instructions that a record of firmware/trace adds to the kernel (tests/firmware measures the
# first two): a switch, a mark, any other with its call.
SWITCH, SWITCH_UNMASKED, MARK, OTHER = 12, 10, 14, 21
PUBLISHED_SWITCH, PUBLISHED_OTHER = 29, 26


@dataclasses.dataclass(frozen=True)
class Latency:
    """From made ready to running, in counts; `worst_at`: when the longest began."""

    task: int
    times: int
    least: int
    median: float
    p99: int
    most: int
    worst_at: int


def latencies(ready: Sequence[Ready]) -> List[Latency]:
    """Of each task that was made ready and ran; in the order of the tasks' indices."""
    of_task: Dict[int, List[Tuple[int, int]]] = collections.defaultdict(list)
    for one in ready:
        if one.woken and not one.open:
            of_task[one.task].append((one.end - one.start, one.start))
    found = []
    for task, all_ in sorted(of_task.items()):
        lengths = sorted(length for length, _ in all_)
        most, at = max(all_, key=lambda item: item[0])
        p99 = lengths[min(len(lengths) - 1, -(-99 * len(lengths) // 100) - 1)]
        found.append(Latency(task, len(lengths), lengths[0], statistics.median(lengths), p99, most, at))
    return found


def recorder_cost(timeline: Timeline) -> int:
    """Instructions that the recorder executed for the records in this ring."""
    counts = timeline.counts
    switches, marks = counts[events.IN], counts[events.MARK]
    others = sum(counts.values()) - switches - marks
    if timeline.context.recorded is None:
        return switches * PUBLISHED_SWITCH + (marks + others) * PUBLISHED_OTHER
    return (
        switches * (SWITCH if timeline.context.any_priority else SWITCH_UNMASKED)
        + marks * MARK
        + others * OTHER
    )
