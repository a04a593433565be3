"""Facts and findings -> the text of `rtos-trace diag`."""

from __future__ import annotations

from typing import Iterable, List, Sequence

from gdb_prof.trace import events, statistics
from gdb_prof.trace.finding import Finding
from gdb_prof.trace.interrupts import interrupt_times
from gdb_prof.trace.lanes import LEGEND, Window, lanes
from gdb_prof.trace.naming import amount, between, place
from gdb_prof.trace.periodic import jitter_of, lateness
from gdb_prof.trace.tables import BLANK, View, cut, table
from gdb_prof.trace.timeline import OPEN, TAKEN, Timeline
from gdb_prof.wording import count, plural, wrapped


def report(timeline: Timeline, found: Sequence[Finding], view: View) -> str:
    """The whole report. Ends with a newline."""
    lines = wrapped(summary(timeline), view.width)
    lines += _findings(timeline, found, view)
    for remark in remarks(timeline):
        lines += wrapped(remark, view.width, "! ")
    if len(timeline.ring):
        if not timeline.axis.stuck:
            for section in (_waits, _latency, _shares, _interrupts, _runs, _acts):
                lines += _titled(section(timeline, view))
        else:
            lines += _titled(_order(timeline, view))
        lines += _titled(_counts(timeline, view))
        if not timeline.axis.stuck:
            lines += ["", *drawing(timeline, view.window, view.width)]
    return "\n".join(lines) + "\n"


def summary(timeline: Timeline) -> str:
    """One sentence: how many records, what was lost, from when to when."""
    ring, axis, context = timeline.ring, timeline.axis, timeline.context
    text = plural(len(ring), "record")
    if ring.gaps:
        places = len(timeline.gaps)
        text += ", others lost at %s" % plural(places, "place") if places else ", none lost of these"
        text += "" if ring.begins else "; what came before them is not in the stream"
    elif ring.overwritten:
        text += " of %s: the %s before are overwritten" % (count(ring.total), count(ring.overwritten))
    elif ring.dropped:
        text += " of %s" % count(ring.total)
    else:
        text += ", none lost"
    if len(ring) and not axis.stuck:
        text += "; %s to %s %s" % (place(timeline, timeline.start), place(timeline, timeline.end), axis.unit)
        if axis.has_ms:
            text += ", %s counts a ms" % count(round(axis.per_unit))
    if context.kernel:
        text += "; FreeRTOS %s" % context.kernel
    if context.origin:
        text += "; from %s" % context.origin
    return text + ("" if not ring.on else "; recording")


def remarks(timeline: Timeline) -> Iterable[str]:
    yield from timeline.remarks
    recorded = timeline.context.recorded
    if recorded is None:
        yield (
            "the recorder does not say what it records: ends of delays, notifications and interrupts "
            "may be missing"
        )
    else:
        missing = sorted(events.ALL - recorded - {events.CREATE, events.NAME, events.OBJECT})
        if missing:
            yield "not recorded in this build: %s" % ", ".join(events.NAMES[code] for code in missing)


def drawing(timeline: Timeline, window: Window, width: int) -> List[str]:
    """The lanes with their legend."""
    lines, faint = lanes(timeline, window, width)
    step = ("%.9f" % window.step).rstrip("0").rstrip(".")
    legend = "a cell is %s %s; %s" % (step, timeline.axis.unit, LEGEND)
    if timeline.gaps:
        legend += "; ? where records are missing"
    if faint:
        legend += "; too little to show: %s" % ", ".join(faint)
    return lines + wrapped("(%s)" % legend, width, "", "")


def _titled(lines: List[str]) -> List[str]:
    return ["", *lines] if lines else []


def _findings(timeline: Timeline, found: Sequence[Finding], view: View) -> List[str]:
    shown = [f for f in found if view.has(f.start, f.end, f.task)]
    if not shown and found:
        text = "No findings here; %s in the whole trace (without -from, -to, -task)." % count(len(found))
        return ["", *wrapped(text, view.width)]
    if not shown:
        return ["", "No findings."] if len(timeline.ring) else []
    lines = ["", "Findings"]
    for number, finding in enumerate(shown, 1):
        lines += wrapped(finding.text, view.width, "%d. " % number, "   ")
    return lines


def _meanwhile(timeline: Timeline, ran: Sequence[int], waiter: int) -> str:
    least = 0.0005 * timeline.axis.per_unit if timeline.axis.has_ms else 1
    others = ((counts, task) for task, counts in enumerate(ran) if counts >= least and task != waiter)
    most = sorted(others, reverse=True)
    digits = "%s %.3f" if timeline.axis.has_ms else "%s %.0f"
    return ", ".join(
        digits % (timeline.tasks[task].label, timeline.axis.span(counts)) for counts, task in most[:4]
    )


def _number(timeline: Timeline, counts: float) -> str:
    return amount(timeline, counts).split()[0]


def _waits(timeline: Timeline, view: View) -> List[str]:
    waits = sorted(timeline.waits, key=lambda wait: wait.start)
    shown, more = cut([wait for wait in waits if view.has(wait.start, wait.end, wait.task)], view)
    rows = []
    for wait in shown:
        note = {TAKEN: "", OPEN: " (still waits)"}.get(wait.outcome, " (%s)" % wait.outcome)
        rows.append(
            [
                timeline.tasks[wait.task].label,
                timeline.target(wait),
                *(place(timeline, wait.start), place(timeline, wait.end)),
                _number(timeline, wait.end - wait.start),
                _meanwhile(timeline, wait.ran, wait.task) + note,
            ]
        )
    if not rows:
        return []
    head = ["for", "from", "to", timeline.axis.unit, "who ran meanwhile"]
    return table(view, "Waits", head, rows, "llrrrl", last="to") + more + _now(timeline, view)


def _now(timeline: Timeline, view: View) -> List[str]:
    """What the kernel says of the objects that are waited for at the end."""
    lines = []
    for number in sorted({wait.object for wait in timeline.waits if wait.outcome == OPEN}):
        for line in timeline.context.now.get(number, ()):
            lines += wrapped(line, view.width, "  now: ", "       ")
    return lines


def _latency(timeline: Timeline, view: View) -> List[str]:
    axis = timeline.axis
    scale = 1000.0 if axis.has_ms else 1.0
    digits = "%.1f" if axis.has_ms else "%.0f"

    def text(counts: float) -> str:
        return digits % (axis.span(counts) * scale)

    periodic = lateness(timeline)
    ready = [
        one
        for one in timeline.ready
        # idle is ready all the time, and runs when nobody else does
        if view.has(one.start, one.end, one.task) and not timeline.tasks[one.task].idle
    ]
    shown, more = cut(statistics.latencies(ready), view)
    rows = []
    for one in shown:
        starts = [r for r in periodic.get(one.task, ()) if view.has(r.start, r.end, r.task)]
        rows.append(
            [
                timeline.tasks[one.task].label,
                count(one.times),
                *(text(value) for value in (one.least, one.median, one.p99, one.most)),
                place(timeline, one.worst_at),
                text(jitter_of(starts)) if len(starts) > 1 else "",
            ]
        )
    if not rows:
        return []
    unit = "µs" if axis.has_ms else axis.unit
    head = ["times", "min %s" % unit, "median", "p99", "max", "worst at", "jitter"]
    return table(view, "Ready -> running", head, rows, "lrrrrrrr", ("p99", "median", "jitter")) + more


def _shares(timeline: Timeline, view: View) -> List[str]:
    if timeline.axis.awake_share is not None:
        return []
    start, end = max(view.start, timeline.start), min(view.end, timeline.end)
    if end <= start:
        return []
    ran, switches = between(timeline, start, end), _switches(timeline, view)
    ranked = sorted(ran.items(), key=lambda item: -item[1])
    shown, more = cut([item for item in ranked if view.task in (None, item[0])], view)
    rows = [
        [
            timeline.tasks[task].label + (" (deleted)" if timeline.tasks[task].deleted is not None else ""),
            "%.2f %%" % (100 * counts / (end - start)),
            _number(timeline, counts),
            count(switches[task]),
        ]
        for task, counts in shown
    ]
    unknown = end - start - sum(ran.values())
    if unknown > 0.0005 * (end - start) and view.task is None:
        rows.append(
            ["(not known)", "%.2f %%" % (100 * unknown / (end - start)), _number(timeline, unknown), ""]
        )
    return table(view, "CPU share", ["share", timeline.axis.unit, "switches"], rows, "lrrr") + more


def _switches(timeline: Timeline, view: View) -> Sequence[int]:
    """By task, how often it was switched in while the view lasts."""
    if view.start <= timeline.start and view.end >= timeline.end:
        return timeline.switches
    switches, before = [0] * len(timeline.tasks), -1
    for run in timeline.runs:
        # a change of its priority divides a task's run
        if run.task != before and view.start <= run.start < view.end:
            switches[run.task] += 1
        before = run.task
    return switches


def _interrupts(timeline: Timeline, view: View) -> List[str]:
    inside = [one for one in timeline.interrupts if view.has(one.start, one.end, one.task)]
    rows = [
        [
            "IRQ %d" % (exception - 16) if exception >= 16 else "exception %d" % exception,
            *(count(times), _number(timeline, total), _number(timeline, longest)),
        ]
        for exception, (times, total, longest) in sorted(interrupt_times(inside).items())
    ]
    if not rows:
        return []
    return table(view, "Interrupts", ["times", timeline.axis.unit, "longest"], rows, "lrrr")


def _runs(timeline: Timeline, view: View) -> List[str]:
    shown, more = cut([run for run in timeline.runs if view.has(run.start, run.end, run.task)], view)
    rows = [
        [
            timeline.tasks[run.task].label,
            "%d%s" % (run.priority, "^" if run.inherited else "") if run.priority >= 0 else "?",
            *(place(timeline, run.start), place(timeline, run.end)),
            _number(timeline, run.end - run.start),
        ]
        for run in shown
    ]
    head = ["priority", "from", "to", timeline.axis.unit]
    return table(view, "Runs", head, rows, "lrrrr") + more if rows else []


def _acts(timeline: Timeline, view: View) -> List[str]:
    shown, more = cut([act for act in timeline.acts if view.has(act.time, act.time, act.task)], view)
    rows = [
        [
            place(timeline, act.time),
            timeline.tasks[act.task].label if act.task >= 0 else "(before the scheduler)",
            *(events.NAMES[act.code], _argument(timeline, act.code, act.argument)),
        ]
        if act.code != events.GAP
        else [place(timeline, act.time), "?", "records lost", _until(timeline, act.argument)]
        for act in shown
    ]
    return table(view, "Events", ["task", "event", ""], rows, "rlll") + more if rows else []


def _until(timeline: Timeline, gap: int) -> str:
    return "to %s" % place(timeline, timeline.gaps[gap][1])


def _order(timeline: Timeline, view: View) -> List[str]:
    """The newest records as they were made, where there are no times: what led to the end.

    Of ticks one after the other only the last is shown; the names that tasks have, never.
    """
    ring = timeline.ring
    labels = {task.number: task.label for task in timeline.tasks}
    wanted = None if view.task is None else timeline.tasks[view.task].number
    following = (*ring.codes[1:], 0)
    all_ = [
        (at, code, task, argument)
        for at, (code, after, task, argument) in enumerate(
            zip(ring.codes, following, ring.tasks, ring.arguments), 1
        )
        if wanted in (None, task) and code != events.NAME and not code == after == events.TICK
    ]
    rows = [
        [
            count(ring.overwritten + at),
            labels.get(task, "task%d" % task) if task and code != events.OBJECT else "",
            "runs" if code == events.IN else events.NAMES.get(code, "event %d" % code),
            _argument(timeline, code, argument),
        ]
        for at, code, task, argument in all_[-view.rows :]
    ]
    lines = table(view, "Order", ["task", "event", ""], rows, "rlll") if rows else []
    if len(all_) > view.rows:
        lines.insert(1, "  … %s before these (-rows, -task)" % count(len(all_) - view.rows))
    return lines + _now(timeline, view)


def _argument(timeline: Timeline, code: int, argument: int) -> str:
    if code in events.OF_OBJECTS:
        return timeline.object_name(argument)
    if code in (events.INHERIT, events.DISINHERIT, events.IN, events.READY):
        return "priority %d" % argument
    return str(argument)


def _counts(timeline: Timeline, view: View) -> List[str]:
    """How many records of each kind, and in a ms; and what writing them cost."""
    axis = timeline.axis
    span = axis.span(timeline.span) if axis.has_ms and not axis.stuck else 0.0
    parts = []
    for code, n in sorted(timeline.counts.items(), key=lambda item: -item[1]):
        part = "%s %s" % (events.NAMES.get(code, "event %d" % code), count(n))
        parts.append(part + (" (%.2f)" % (n / span) if span else ""))
    head = "Records, %.2f a ms (of each)" % (len(timeline.ring) / span) if span else "Records"
    listed = ", ".join(part.replace(" ", BLANK) for part in parts)
    lines = [line.replace(BLANK, " ") for line in wrapped("%s: %s" % (head, listed), view.width)]
    if timeline.ring.is_streamed:
        return lines
    cost = statistics.recorder_cost(timeline)
    text = "Recorder: about %s instructions for these records" % count(cost)
    if span and timeline.context.clock_hz:
        text += ": %.3f %% of the time at a count each" % (100.0 * cost / timeline.span)
    return lines + wrapped(text, view.width)
