"""Facts -> the lanes of lanes.py as a drawing: one SVG file that needs nothing else.

Lengths are pixels of a picture 900 wide. The font is monospace, so that what fits is known
without a renderer.
"""

from __future__ import annotations

import math
from typing import Dict, Iterable, List, Sequence
from xml.sax.saxutils import escape

from gdb_prof.printable import printable
from gdb_prof.trace import events
from gdb_prof.trace.export.bars import Bar, Span, merged
from gdb_prof.trace.finding import Finding
from gdb_prof.trace.lanes import Window, round_up
from gdb_prof.trace.naming import amount, place
from gdb_prof.trace.timeline import CUT, FAILED, OPEN, UNKNOWN, Timeline
from gdb_prof.wording import count, wrapped

WIDTH, RIGHT, MARGIN = 900, 876, 12
ADVANCE = 0.64
"""A character's width, of the font's size: the widest of the usual fonts, rounded up to pixels."""
LONGEST_LABEL, LONGEST_LINE = 22, 114
MOST_LANES, MOST_RUNS, MOST_OTHERS, MOST_MARKS, MOST_LINES = 100, 2000, 500, 100, 100
QUIET, LINE, TEXT, PAPER = "#555555", "#dddddd", "#222222", "#ffffff"
HATCH, IDLE = "#4a3500", 'fill="#7d93a8"'
RUN, RAISED = 'fill="#0072b2"', 'fill="url(#inherited)" stroke="%s"' % HATCH
PURPLE = "#a63d7d"
WAIT, INTERRUPT, BAND = 'fill="%s"' % PURPLE, 'fill="#008060"', 'fill="#fdeebb" stroke="#d9b84a"'
INTERRUPTS, MARKS = -1, -2
"""Lanes that are no task's. What is found of no task, -1 too, is what interrupts did."""
OUTCOMES = {
    **{FAILED: ", timed out", OPEN: ", still waits at the trace's end", UNKNOWN: ", end unknown"},
    CUT: ", then records are missing",
}
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}"
 font-family="monospace" font-size="12" fill="{text}">
<title>{title}</title>
<defs><pattern id="inherited" width="5" height="5" patternUnits="userSpaceOnUse">
<rect width="5" height="5" fill="#f0b000"/><path d="M-1 1l2-2M0 5l5-5M4 6l2-2" stroke="{hatch}"/>
</pattern></defs>
<rect width="{w}" height="{h}" fill="{paper}"/>"""


def svg(timeline: Timeline, found: Sequence[Finding], view: Window, title: str = "") -> str:
    """The whole file as text, to be written as UTF-8; `view` is in the axis' unit.

    Never fails: where there is nothing to draw, the picture says why.
    """
    picture = _Picture(timeline, found, view)
    if title:
        picture.text(MARGIN, picture.y + 12, title, 'font-size="14" font-weight="bold"', 96)
        picture.y += 28
    if not len(timeline.ring):
        picture.lines(["The ring holds no records: nothing to draw."], TEXT)
    elif timeline.axis.stuck:
        picture.lines(["The clock did not run: there is no time to draw along."], TEXT)
    elif not picture.has_span:
        picture.lines(["No time passes in this part of the trace: nothing to draw."], TEXT)
    else:
        picture.draw()
    picture.conclusions()
    size = {"w": WIDTH, "h": picture.y + MARGIN}
    head = HEAD.format(title=_safe(title or "Trace"), text=TEXT, hatch=HATCH, paper=PAPER, **size)
    return "\n".join([head, *picture.parts, "</svg>\n"])


class _Picture:
    """The elements so far, which reach down to `y`."""

    def __init__(self, timeline: Timeline, found: Sequence[Finding], view: Window) -> None:
        self.timeline, self.found, self.view = timeline, found, view
        self.start, self.end = timeline.axis.time(view.start), timeline.axis.time(view.end)
        self.parts: List[str] = []
        self.y = MARGIN
        self.top = self.left = self.hidden = 0
        self.scale = 1.0
        self.rows: Dict[int, int] = {}  # the top of each lane's bars
        self.labels: Dict[int, str] = {}
        self.legend: Dict[str, str] = {}  # what it means by how it is filled

    @property
    def has_span(self) -> bool:
        """False also for what is no number, or too short for numbers of 53 bits."""
        least = 1e-12 * max(1.0, abs(self.view.start))
        return self.view.end - self.view.start > least and 0 < self.end - self.start < math.inf

    def text(self, x: float, y: float, text: str, how: str = "", most: int = LONGEST_LINE) -> None:
        shown = printable(text)
        shown = shown if len(shown) <= most else shown[: most - 1] + "…"
        self.parts.append('<text x="%s" y="%s" %s>%s</text>' % (_n(x), _n(y), how, escape(shown)))

    def lines(self, lines: Iterable[str], colour: str) -> None:
        for line in lines:
            indent = len(line) - len(line.lstrip())  # XML drops it
            self.text(MARGIN + 7 * indent, self.y + 12, line.lstrip(), 'fill="%s"' % colour)
            self.y += 16

    def bar(self, bar: Bar, top: float, height: float, about: str, how: str) -> None:
        """One too short to see is half a pixel wide; several are as dark as they are dense."""
        width = max(bar.end - bar.start, 0.5)
        if bar.times > 1:
            how += ' fill-opacity="%.2f"' % max(0.2, min(1.0, bar.length / width))
        self.parts.append(
            '<rect x="%s" y="%s" width="%s" height="%s" %s><title>%s</title></rect>'
            % (_n(self.left + bar.start), _n(top), _n(width), _n(height), how, _safe(about))
        )

    def x(self, time: float) -> float:
        """From the plot's left edge; what is out of view lies at its edges."""
        return (max(self.start, min(self.end, time)) - self.start) * self.scale

    def sees(self, start: float, end: float) -> bool:
        return (end > self.start and start < self.end) or (start == end and self.start <= start <= self.end)

    def bars(self, spans: Sequence[Span], most: int) -> List[Bar]:
        """The spans in view whose lane is drawn, in their order, about `most` at most."""
        inside = [at for at, s in enumerate(spans) if s[0] in self.rows and self.sees(s[2], s[3])]
        return merged((self.placed(spans[at], at) for at in inside), len(inside), most, 2 * WIDTH)

    def placed(self, span: Span, at: int = 0) -> Bar:
        lane, special, start, end = span
        a, b = self.x(start), self.x(end)
        return Bar(lane, special, a, b, b - a, 1, at)

    def draw(self) -> None:
        self._layout()
        self._bands()
        self._ruler()
        self._runs()
        self._waits()
        self._interrupts()
        self._marks()
        self._legend()

    # -- where everything is ------------------------------------------------------

    def _layout(self) -> None:
        timeline = self.timeline
        lanes = self._tasks()
        if any(self.sees(one.start, one.end) for one in timeline.interrupts):
            lanes.insert(0, INTERRUPTS)
        if any(act.code == events.MARK and self.sees(act.time, act.time) for act in timeline.acts):
            lanes.insert(0, MARKS)
        self.labels.update({INTERRUPTS: "interrupts", MARKS: "marks"})
        flagged = {finding.task for finding in self.found if self.sees(finding.start, finding.end)}
        longest = max([len(self.labels[lane]) for lane in lanes] + [len(timeline.axis.unit)])
        self.left = math.ceil(2 * MARGIN + min(longest, LONGEST_LABEL) * 12 * ADVANCE)
        self.scale = (RIGHT - self.left) / (self.end - self.start)
        self.top = self.y
        for lane in lanes:
            self.y += 12 if lane in flagged else 0  # room for the numbers of findings
            self.rows[lane] = self.y + 4
            self.text(MARGIN, self.y + 17, self.labels[lane], most=LONGEST_LABEL)
            self.y += 26

    def _tasks(self) -> List[int]:
        """Those that ran or waited in the view, or of which something was found there: as in
        lanes.py by the highest priority that they had. Of too many, those that ran longest."""
        timeline = self.timeline
        tops: Dict[int, int] = {}
        own: Dict[int, int] = {}
        seen = {wait.task for wait in timeline.waits if self.sees(wait.start, wait.end)}
        seen.update(one.task for one in self.found if one.task >= 0 and self.sees(one.start, one.end))
        for run in timeline.runs:
            tops[run.task] = max(tops.get(run.task, -1), run.priority)
            if not run.inherited:
                own[run.task] = run.priority
            if run.end > self.start and run.start < self.end:
                seen.add(run.task)
        for task in seen:
            info = timeline.tasks[task]
            priority = own.get(task, info.priority)
            tops.setdefault(task, priority)
            self.labels[task] = "%s (%d)" % (info.label, priority) if priority >= 0 else info.label
        ran = dict(enumerate(timeline.ran))
        kept = sorted(seen, key=lambda task: (-ran.get(task, 0), task))[:MOST_LANES]
        self.hidden = len(seen) - len(kept)
        return sorted(kept, key=lambda task: (-tops[task], timeline.tasks[task].number, task))

    # -- what is drawn ------------------------------------------------------------

    def _bands(self) -> None:
        """Where each finding is, with its number above the bars."""
        free: Dict[int, float] = {}
        for number, one in sorted(enumerate(self.found[:MOST_LINES], 1), key=lambda item: item[1].start):
            if one.task not in self.rows or not self.sees(one.start, one.end):
                continue
            bar, top = self.placed((one.task, False, one.start, one.end)), self.rows[one.task] - 14
            self.bar(bar, top, 36, "finding %d: %s" % (number, one.text), BAND)
            x = max(self.left + bar.start + 2, free.get(one.task, 0))
            free[one.task] = x + 10 * ADVANCE * len(str(number)) + 5
            if free[one.task] < WIDTH:
                self.text(x, top + 10, str(number), 'font-size="10" font-weight="bold"')
            self.legend[BAND] = "a finding, by number"

    def _ruler(self) -> None:
        """Grid lines at round numbers, and the numbers and the unit under them."""
        axis, view = self.timeline.axis, self.view
        room, needed = 0.0, 60.0
        while needed > room:
            room = needed
            step = round_up((view.end - view.start) * room / (RIGHT - self.left))
            step = step if axis.has_ms else max(1.0, step)
            first, last = math.ceil(view.start / step - 1e-6), math.floor(view.end / step + 1e-6)
            numbers = {at * step: _number(at * step, axis.has_ms) for at in range(first, last + 1)}
            needed = max([len(number) for number in numbers.values()] or [0]) * 11 * ADVANCE + 24
        self.parts.append('<path d="M%d %dH%d" stroke="%s"/>' % (self.left, self.y, RIGHT, QUIET))
        least = MARGIN + (len(axis.unit) + 1) * 12 * ADVANCE
        for value, number in numbers.items():
            x = self.left + self.x(axis.time(value))
            half = len(number) * 11 * ADVANCE / 2
            self.parts.append('<path d="M%s %dV%d" stroke="%s"/>' % (_n(x), self.top, self.y, LINE))
            at = min(max(x, least + half), WIDTH - 4 - half)
            self.text(at, self.y + 15, number, 'font-size="11" text-anchor="middle"')
        self.text(MARGIN, self.y + 15, axis.unit)
        self.y += 32

    def _runs(self) -> None:
        runs = self.timeline.runs
        bars = self.bars([(run.task, run.inherited, run.start, run.end) for run in runs], MOST_RUNS)
        for lane in sorted({bar.lane for bar in bars if bar.times > 1}):  # no band shines through
            self.parts.append(
                '<path d="M%d %dH%dv18H%dz" fill="%s"/>'
                % (self.left, self.rows[lane], RIGHT, self.left, PAPER)
            )
        for bar in bars:
            run, who = runs[bar.first], self.labels[bar.lane]
            fill = IDLE if self.timeline.tasks[run.task].idle else RUN
            if run.inherited:
                who, fill = "%s, priority %d inherited" % (who, run.priority), RAISED
            elif run.priority >= 0 and not who.endswith(" (%d)" % run.priority):
                who += ", priority %d" % run.priority
            about = self._about(who + ",", bar, "runs", run.start, run.end)
            self.bar(bar, self.rows[run.task], 18, about, fill)
            self.legend[fill] = {IDLE: "idle", RUN: "runs", RAISED: "runs at an inherited priority"}[fill]
            if bar.times > 1:
                self.legend[RUN + ' fill-opacity="0.5"'] = "several runs, by their share"

    def _waits(self) -> None:
        """Thin bars at the lane's foot; what is waited for above them, where the task did not run."""
        timeline, waits = self.timeline, self.timeline.waits
        spans = [(w.task, w.outcome == OPEN and w.end <= self.end, w.start, w.end) for w in waits]
        for bar in self.bars(spans, MOST_OTHERS):
            wait, top, name = waits[bar.first], self.rows[bar.lane], timeline.target(waits[bar.first])
            who, several = timeline.tasks[wait.task].label, bar.times > 1
            who = who + "," if several else "%s waits for %s" % (who, name)
            about = self._about(who, bar, "waits", wait.start, wait.end)
            about += "" if several else OUTCOMES.get(wait.outcome, "")
            self.legend.setdefault(WAIT, "waits")
            ran = sum(wait.ran[wait.task : wait.task + 1]) * self.scale  # until it was switched out
            room = int((bar.end - bar.start - ran - 4) / (10 * ADVANCE))
            if not several and room >= min(len(name), 6) and ran < 12:
                self.text(self.left + bar.start + ran + 2, top + 10, name, 'font-size="10" ' + WAIT, room)
            if bar.special:
                self.legend[WAIT] = "waits (dashed: still does at the trace's end)"
                whole, bar = bar, bar._replace(end=max(bar.start, bar.end - 15))
                self.parts.append(
                    '<path d="M%s %sH%s" stroke="%s" stroke-width="5" stroke-dasharray="3 2"/>'
                    % (_n(self.left + bar.end), top + 15.5, _n(self.left + whole.end), PURPLE)
                )
            self.bar(bar, top + 13, 5, about, WAIT)

    def _interrupts(self) -> None:
        """Those that are nested in another are upon it, with a thin edge."""
        ordered = sorted(self.timeline.interrupts, key=lambda one: (one.start, -one.end))
        for bar in self.bars([(INTERRUPTS, False, one.start, one.end) for one in ordered], MOST_OTHERS):
            one = ordered[bar.first]
            name = "IRQ %d," % (one.exception - 16) if one.exception > 15 else "exception %d," % one.exception
            about = self._about("" if bar.times > 1 else name, bar, "interrupts", one.start, one.end)
            edge = ' stroke="%s"' % PAPER if bar.end - bar.start > 4 else ""
            self.bar(bar, self.rows[INTERRUPTS], 18, about, INTERRUPT + edge)
            self.legend[INTERRUPT] = "interrupts"

    def _marks(self) -> None:
        acts = [act for act in self.timeline.acts if act.code == events.MARK]
        bars = self.bars([(MARKS, False, act.time, act.time) for act in acts], MOST_MARKS)
        for bar, after in zip(bars, [bar.start for bar in bars[1:]] + [float(WIDTH - self.left)]):
            act, top, x = acts[bar.first], self.rows[MARKS], self.left + bar.start
            number = "%d" % act.argument if bar.times == 1 else "%d marks" % bar.times
            about = "%s%s at %s" % ("mark " * (bar.times == 1), number, place(self.timeline, act.time))
            about += ", while %s runs" % self.timeline.tasks[act.task].label if act.task >= 0 else ""
            self.parts.append(
                '<path d="M%s %dl-4-8h8z"><title>%s</title></path>' % (_n(x), top + 18, _safe(about))
            )
            if x + 5 + 10 * ADVANCE * len(number) < self.left + after - 5:
                self.text(x + 5, top + 16, number, 'font-size="10"')

    def _about(self, who: str, bar: Bar, noun: str, start: float, end: float) -> str:
        """`L (1), 1.001 to 4.002 = 3.001 ms`; of several, from where to where and how much in all."""
        timeline = self.timeline
        if bar.times == 1:
            span = (place(timeline, start), place(timeline, end), amount(timeline, end - start))
            return "%s %s to %s = %s" % (who, *span)
        a, b, length = (value / self.scale for value in (bar.start, bar.end, bar.length))
        span = (place(timeline, self.start + a), place(timeline, self.start + b), amount(timeline, length))
        return ("%s %d %s, %s to %s, %s in all" % (who, bar.times, noun, *span)).lstrip()

    # -- what is said under it ----------------------------------------------------

    def _legend(self) -> None:
        x = MARGIN
        for how, text in self.legend.items():
            width = math.ceil(22 + 11 * ADVANCE * len(text) + 18)
            if x + width > WIDTH:
                x, self.y = MARGIN, self.y + 18
            self.parts.append('<rect x="%d" y="%d" width="16" height="10" %s/>' % (x, self.y, how))
            self.text(x + 22, self.y + 9, text, 'font-size="11"')
            x += width
        self.y += 26

    def conclusions(self) -> None:
        """The findings by number, and what else is to be known of the trace."""
        for number, one in enumerate(self.found[:MOST_LINES], 1):
            self.lines(wrapped(one.text, LONGEST_LINE, "%d. " % number, "   "), TEXT)
        if self.rows and not self.found:
            self.lines(["No findings."], TEXT)
        more = len(self.found) - MOST_LINES
        notes = ["%s more findings" % count(more)] if more > 0 else []
        notes += ["%s more tasks, not drawn" % count(self.hidden)] if self.hidden else []
        for note in (notes + list(self.timeline.remarks))[:MOST_LINES]:
            self.lines(wrapped(note, LONGEST_LINE, "! "), QUIET)


def _safe(text: str) -> str:
    return escape(printable(text, 2000))


def _n(value: float) -> str:
    return ("%.2f" % value).rstrip("0").rstrip(".")


def _number(value: float, decimals: bool) -> str:
    text = ("%.6f" % value).rstrip("0").rstrip(".") if decimals else "{:,.0f}".format(value)
    return "0" if text == "-0" else text
