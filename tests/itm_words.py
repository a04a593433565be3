"""Words that a program writes to ITM ports: as SWO bytes, and as what a full FIFO leaves of them."""

from __future__ import annotations

import random
import struct
from typing import Iterable, List, Optional, Sequence, Tuple

from gdb_prof.trace.timeline import CUT, OPEN, UNKNOWN, Timeline

Word = Tuple[int, int]
"""Port, word."""


def swo(words: Iterable[Optional[Word]]) -> bytes:
    """Stimulus packets of four bytes; an overflow packet for each None."""
    return b"".join(
        b"\x70" if word is None else struct.pack("<BI", word[0] << 3 | 3, word[1]) for word in words
    )


def overflowed(
    words: Sequence[Word], seed: int, share: float = 0.02, marked: bool = True
) -> List[Optional[Word]]:
    """Without bursts of words, each marked by an overflow before the next that got through.
    `share`: how many of all words begin a burst. Not `marked`: the probe lost them, and no overflow
    tells; of at most three records then, whose numbers do."""
    chance = random.Random(seed)
    left: List[Optional[Word]] = []
    burst = since = 0
    for word in words:
        since += 1
        if not burst and chance.random() < share and (marked or since > 16):
            burst = chance.choice((1, 1, 2, 3, 8, 9, 40) if marked else (1, 2, 3, 4, 5, 6))
            if marked:
                left.append(None)
        if burst:
            burst -= 1
            since = 0
        else:
            left.append(word)
    return left


def false_facts(lossy: Timeline, whole: Timeline, slack_ms: float = 0.002) -> List[str]:
    """What the first says that is not so by the second, which has all the records.

    Times are compared on the axis. A run, a wait or a time ready may be shorter where records are
    missing, but may not be where there was none. `slack_ms`: from a task's switching in to its
    record of how a wait ended.
    """

    def at(timeline: Timeline, time: float) -> float:
        return round(timeline.axis.at(time), 3)

    def of(timeline: Timeline, task: int) -> int:
        return timeline.tasks[task].number

    ran = [(of(whole, r.task), at(whole, r.start), at(whole, r.end)) for r in whole.runs]
    ready = [(of(whole, r.task), at(whole, r.start), at(whole, r.end)) for r in whole.ready]
    waits = {
        (of(whole, w.task), w.code, w.object, at(whole, w.start)): (at(whole, w.end), w.outcome)
        for w in whole.waits
    }
    wrong = []
    for run in lossy.runs:
        task, start, end = of(lossy, run.task), at(lossy, run.start), at(lossy, run.end)
        ours = sum(max(0.0, min(end, e) - max(start, s)) for t, s, e in ran if t == task)
        if abs(ours - (end - start)) > slack_ms:
            wrong.append("task %d ran %.3f to %.3f: %.3f of that" % (task, start, end, ours))
    for one in lossy.ready:
        task, start, end = of(lossy, one.task), at(lossy, one.start), at(lossy, one.end)
        start = max(start, at(whole, whole.start))  # where that is missing: from a task's creation on
        if end > start and not any(
            t == task and s <= start + slack_ms and end <= e + slack_ms for t, s, e in ready
        ):
            wrong.append("task %d was ready %.3f to %.3f" % (task, start, end))
    for wait in lossy.waits:
        key = (of(lossy, wait.task), wait.code, wait.object, at(lossy, wait.start))
        end, outcome = waits.get(key, (-1.0, "was none"))
        until = at(lossy, wait.end)
        if wait.outcome in (CUT, OPEN):
            is_so = until <= end + slack_ms
        else:  # how it ended may be missing, but when the task ran again is not
            is_so = wait.outcome in (outcome, UNKNOWN) and abs(until - end) <= slack_ms
        if not is_so:
            wrong.append("%s: until %.3f, %s" % (key, until, wait.outcome))
    return wrong
