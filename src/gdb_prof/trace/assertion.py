"""`latency H < 2ms`: plain words -> what was measured, and whether it holds."""

from __future__ import annotations

import dataclasses
import decimal
import math
import operator
import re
from typing import Callable, Dict, FrozenSet, Iterable, Sequence, Tuple

from gdb_prof.errors import UsageError
from gdb_prof.trace import events, statistics
from gdb_prof.trace.findings import find, starvations
from gdb_prof.trace.inversion import inversions
from gdb_prof.trace.naming import amount, place
from gdb_prof.trace.periodic import jitter_of, lateness, missed, periods, since_due
from gdb_prof.trace.timeline import CUT, OPEN, Timeline, Wait
from gdb_prof.wording import count, plural

_COMPARE: Dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
}
_UNITS = {"s": 3, "ms": 0, "us": -3, "µs": -3, "ns": -6}
"""Powers of ten to milliseconds."""
_FORMS = (
    "latency TASK < 2ms; wait TASK [OBJECT] < 4ms; share TASK < 25%; jitter TASK < 0.5ms; "
    "no inversion; no starvation [> 10ms]; no findings; lost = 0"
)


@dataclasses.dataclass(frozen=True)
class Result:
    holds: bool
    text: str
    """What was measured, and against what."""


def check(timeline: Timeline, expression: str) -> Result:
    """Whether it holds in this trace. Raises UsageError where the words are not understood, a
    name is unknown, or the trace cannot say."""
    words = re.sub(r"(<=|>=|==|<|>|=)", r" \1 ", expression).split()
    if not words:
        raise UsageError("nothing to check: %s" % _FORMS)
    if words[0] == "no":
        return _sure(timeline, _none_of(timeline, words[1:]))
    split = next((at for at, word in enumerate(words) if word in _COMPARE), 0)
    measure = _MEASURES.get(words[0])
    if measure is None or not split or split + 1 == len(words):
        raise UsageError("not understood: '%s'; one of: %s" % (expression, _FORMS))
    result = measure(timeline, words[1:split], words[split], "".join(words[split + 1 :]))
    return result if measure is _lost else _sure(timeline, result, words[split].startswith("<"))


def _sure(timeline: Timeline, result: Result, is_limit: bool = True) -> Result:
    """The same, unless what is missing may make it another. What is too much with the records
    there are is too much with all of them. Raises UsageError."""
    if timeline.gaps and (result.holds or not is_limit):
        raise UsageError(
            "this trace cannot tell: records are missing at %s: as far as it goes, %s"
            % (plural(len(timeline.gaps), "place"), result.text)
        )
    return result


def _none_of(timeline: Timeline, words: Sequence[str]) -> Result:
    _require_time(timeline)
    kind, rest = (words[0] if words else ""), words[1:]
    if kind == "inversion" and not rest:
        _require_records(timeline, "inversion", events.IN, events.GIVE, events.TAKE, events.WAIT)
        found = inversions(timeline)
    elif kind == "starvation" and (not rest or (len(rest) > 1 and rest[0] == ">")):
        _require_ms(timeline)
        _require_records(timeline, "starvation", events.IN, events.READY)
        found = starvations(timeline, _duration("".join(rest[1:]))) if rest else starvations(timeline)
    elif kind == "findings" and not rest:
        _require_ms(timeline)
        found = find(timeline)
    else:
        raise UsageError("not understood: '%s'; one of: %s" % (" ".join(["no", *words]), _FORMS))
    if not found:
        return Result(True, "no %s in %s" % (kind, amount(timeline, timeline.span)))
    return Result(False, "%s found: %s" % (count(len(found)), found[0].text))


def _latency(timeline: Timeline, names: Sequence[str], sign: str, limit: str) -> Result:
    task = _task(timeline, names, "latency")
    _require_records(timeline, "latency", events.IN, events.READY)
    mine = [since_due(timeline, ready) for ready in timeline.ready if ready.task == task]
    one = statistics.latencies(mine)
    late = [ready for ready in mine if ready.open and ready.woken]
    open_ = max([r.end - r.start for r in late] + [0])
    if not one and not late:
        raise UsageError("%s never became ready in this trace: no latency to check" % " ".join(names))
    most = max([r.most for r in one] + [open_])
    where = late[0].start if late and open_ == most else one[0].worst_at
    times = one[0].times if one else 0
    text = "latency of %s at most %s, at %s (%s)" % (
        *(" ".join(names), _length(timeline, most), place(timeline, where), plural(times, "time")),
    )
    return _compared(timeline, most, sign, limit, text)


def _wait(timeline: Timeline, names: Sequence[str], sign: str, limit: str) -> Result:
    if timeline.axis.awake_share is not None:
        raise UsageError("no waits to check in this trace: its clock stopped in sleep")
    labels = [task.label for task in timeline.tasks]  # `Tmr Svc` is one, too
    size = next((k for k in range(len(names), 0, -1) if " ".join(names[:k]) in labels), 1)
    name, wanted = " ".join(names[:size]), " ".join(names[size:])
    task = _task(timeline, names[:size], "wait")
    _require_records(timeline, "wait", events.IN, events.WAIT)
    known = {*timeline.users, *timeline.objects}
    if wanted and not any(wanted in _names_of(timeline, number) for number in known):
        names_ = (timeline.object_name(number) for number in known)
        raise UsageError("no object '%s' in this trace: %s" % (wanted, _listed(names_)))
    waits = [
        wait
        for wait in timeline.waits
        if wait.task == task
        and (not wanted or (_has_object(wait) and wanted in _names_of(timeline, wait.object)))
    ]
    if not waits:
        text = "%s did not wait%s" % (name, " for %s" % wanted if wanted else "")
        return _compared(timeline, 0, sign, limit, text)
    worst = max(waits, key=lambda wait: wait.end - wait.start)
    text = "wait of %s for %s at most %s, %s to %s%s (%s)" % (
        *(name, timeline.target(worst), _length(timeline, worst.end - worst.start)),
        *(place(timeline, worst.start), place(timeline, worst.end)),
        *(", not over" if worst.outcome in (OPEN, CUT) else "", plural(len(waits), "time")),
    )
    return _compared(timeline, worst.end - worst.start, sign, limit, text)


def _has_object(wait: Wait) -> bool:
    return wait.code != events.NOTIFY_WAIT


def _names_of(timeline: Timeline, number: int) -> Tuple[str, ...]:
    return timeline.object_name(number), "queue%d" % number, str(number)


def _share(timeline: Timeline, names: Sequence[str], sign: str, limit: str) -> Result:
    task = _task(timeline, names, "share")
    _require_time(timeline)
    _require_records(timeline, "share", events.IN)
    if timeline.axis.awake_share is not None:
        raise UsageError("no shares in this trace: its clock stopped in sleep")
    number = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)%", limit)
    if not number:
        raise UsageError("expected a share like 25%%, found '%s'" % limit)
    value = 100.0 * timeline.ran[task] / timeline.span
    text = "share of %s %.2f %% of %s" % (" ".join(names), value, amount(timeline, timeline.span))
    return Result(_COMPARE[sign](value, float(number.group(1))), "%s; asked: %s %s" % (text, sign, limit))


def _jitter(timeline: Timeline, names: Sequence[str], sign: str, limit: str) -> Result:
    task = _task(timeline, names, "jitter")
    recorded = _recorded(timeline)
    _require_records(timeline, "jitter", events.IN, events.DELAY)
    if events.READY not in recorded and events.TICK not in recorded:
        _require_records(timeline, "jitter", events.READY)
    starts = lateness(timeline).get(task, [])
    period = periods(timeline).get(task)
    lost = missed(timeline, task, period) if period else None
    if len(starts) < 2 and not lost:
        raise UsageError(
            "%s has %s after a delay until: no jitter" % (" ".join(names), plural(len(starts), "start"))
        )
    jitter = jitter_of(starts)
    text = "jitter of %s %s (%s)" % (
        *(" ".join(names), _length(timeline, jitter), plural(len(starts), "start")),
    )
    if not lost:
        return _compared(timeline, jitter, sign, limit, text)
    text += ", and %s of %s missed, the first at %s: the job before was not done" % (
        *(count(lost.times), plural(lost.of, "release"), place(timeline, lost.start)),
    )
    # how late a missed one began is not recorded: no limit holds
    return _compared(timeline, math.inf, sign, limit, text)


def _lost(timeline: Timeline, names: Sequence[str], sign: str, limit: str) -> Result:
    if names or not re.fullmatch(r"\d{1,10}", limit):
        raise UsageError("expected `lost = 0`")
    lost = timeline.ring.total - len(timeline.ring)
    if timeline.ring.gaps:
        where = plural(len(timeline.gaps), "place") if timeline.gaps else "the beginning"
        return Result(False, "records are missing at %s; asked: %s %s" % (where, sign, limit))
    text = "lost %s of %s; asked: %s %s" % (
        *(count(lost), plural(timeline.ring.total, "record"), sign, limit),
    )
    return Result(_COMPARE[sign](lost, int(limit)), text)


_MEASURES: Dict[str, Callable[[Timeline, Sequence[str], str, str], Result]] = {
    "latency": _latency,
    "wait": _wait,
    "share": _share,
    "jitter": _jitter,
    "lost": _lost,
}


def _task(timeline: Timeline, names: Sequence[str], what: str) -> int:
    if not names:
        raise UsageError("%s of which task? %s" % (what, _listed(t.label for t in timeline.tasks)))
    return task_named(timeline, " ".join(names))


def task_named(timeline: Timeline, name: str) -> int:
    """The index of a task by its label. Raises UsageError listing the labels."""
    for index, task in enumerate(timeline.tasks):
        if task.label == name:
            return index
    raise UsageError("no task '%s' in this trace: %s" % (name, _listed(t.label for t in timeline.tasks)))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "there is none"


def _length(timeline: Timeline, counts: float) -> str:
    """As `amount`, with the digits that a short time needs."""
    ms = timeline.axis.span(counts) if timeline.axis.has_ms else 1.0
    return "%.1f µs" % (1000 * ms) if ms < 0.1 else amount(timeline, counts)


def _compared(timeline: Timeline, counts: float, sign: str, limit: str, text: str) -> Result:
    _require_ms(timeline)
    value = timeline.axis.span(counts)
    return Result(_COMPARE[sign](value, _duration(limit)), "%s; asked: %s %s" % (text, sign, limit))


def _duration(text: str) -> float:
    """Milliseconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(s|ms|us|µs|ns)", text)
    if not match:
        raise UsageError("expected a time like 2ms or 500us, found '%s'" % text)
    return float(decimal.Decimal(match.group(1)).scaleb(_UNITS[match.group(2)]))


def _recorded(timeline: Timeline) -> FrozenSet[int]:
    """The event codes compiled in; the published recorder does not say that it has ten."""
    recorded = timeline.context.recorded
    return events.BASIC if recorded is None else recorded


def _require_records(timeline: Timeline, what: str, *codes: int) -> None:
    missing = [events.NAMES[code] for code in codes if code not in _recorded(timeline)]
    if missing:
        raise UsageError(
            "this trace cannot tell of %s: not recorded in this build: %s" % (what, ", ".join(missing))
        )


def _require_time(timeline: Timeline) -> None:
    if timeline.axis.stuck or not timeline.span:
        raise UsageError("this trace has no times: its clock does not run")


def _require_ms(timeline: Timeline) -> None:
    _require_time(timeline)
    if not timeline.axis.has_ms:
        raise UsageError("this trace has no milliseconds, only counts: set rtos-trace clock-hz")
