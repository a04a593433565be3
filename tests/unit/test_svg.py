"""The drawing of a trace: valid XML, everything where its time is, and small."""

from __future__ import annotations

import math
import re
import struct
import time
from typing import Dict, List, Optional, Sequence, Tuple
from xml.etree import ElementTree

import pytest

from gdb_prof.trace import events, ring
from gdb_prof.trace.export.svg import svg
from gdb_prof.trace.finding import STARVATION, Finding
from gdb_prof.trace.findings import find
from gdb_prof.trace.lanes import Window, window
from gdb_prof.trace.ring import Context, ObjectInfo
from gdb_prof.trace.scheduler import timeline
from gdb_prof.trace.timeline import Timeline
from shared_data import shared_data

SVG = "{http://www.w3.org/2000/svg}"
MS = Context(clock_hz=1e6)  # 1,000 counts a ms
Record = Tuple[int, int, int, int]
"""Stamp, event, task, argument."""


def block(records: Sequence[Record], names: Sequence[bytes] = (), context: Context = MS) -> Timeline:
    raw = struct.pack("<4I", ring.MAGIC, len(records), max(1, len(records)), 0)
    raw += b"".join(name.ljust(12, b"\0") for name in names)
    raw += b"".join(struct.pack("<IBBH", *record) for record in records)
    return timeline(ring.parse(raw, context, (len(names), 12)))


def scenario(number: int) -> Timeline:
    raw = shared_data("trace_ring/tr_V10.5.1_cm4f_s%d.bin" % number).read_bytes()
    return timeline(ring.parse(raw, Context()))


def all_of(one: Timeline) -> Window:
    return window(one, None, None, None, 70)


class Drawing:
    """What can be read off the picture."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text)
        found = re.search(r'<path d="M(\d+) (\d+)H(\d+)"', text)  # the ruler
        self.left, self.bottom, self.right = map(int, found.groups()) if found else (0, 0, 0)

    @property
    def texts(self) -> List[str]:
        return [element.text or "" for element in self.root.iter(SVG + "text")]

    @property
    def tooltips(self) -> Dict[str, ElementTree.Element]:
        """By its text, the element that has it."""
        parents = [element for element in self.root.iter() if element.tag != SVG + "svg"]
        return {child.text or "": p for p in parents for child in p if child.tag == SVG + "title"}

    def edges(self, tooltip: str) -> Tuple[float, float]:
        (element,) = [e for text, e in self.tooltips.items() if text.startswith(tooltip)]
        x = float(element.attrib["x"])
        return x, x + float(element.attrib["width"])


def drawn(one: Timeline, view: Optional[Window] = None, found: Sequence[Finding] = ()) -> Drawing:
    return Drawing(svg(one, found, view or all_of(one)))


THREE = [(0, events.IN, 1, 2), (2000, events.IN, 2, 3), (5000, events.IN, 1, 2), (10000, events.IN, 2, 3)]


def test_the_picture_is_900_wide_and_white() -> None:
    root = drawn(block(THREE)).root
    assert root.tag == SVG + "svg"
    assert root.attrib["viewBox"].split()[:3] == ["0", "0", "900"]
    paper = root.find(SVG + "rect")
    assert paper is not None
    assert (paper.attrib["width"], paper.attrib["fill"]) == ("900", "#ffffff")


def test_the_file_needs_nothing_else() -> None:
    text = svg(block(THREE), (), Window(0, 10, 1), "t")
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in text and "href" not in text and "@import" not in text


def test_a_run_lies_where_its_time_is() -> None:
    one = drawn(block(THREE), Window(0, 10, 1))
    pixels_a_ms = (one.right - one.left) / 10
    for about, start, end in (
        ("task1 (2), 0.000 to 2.000 = 2.000 ms", 0, 2),
        ("task2 (3), 2.000 to 5.000 = 3.000 ms", 2, 5),
        ("task1 (2), 5.000 to 10.000 = 5.000 ms", 5, 10),
    ):
        expected = (one.left + start * pixels_a_ms, one.left + end * pixels_a_ms)
        assert one.edges(about) == pytest.approx(expected, abs=0.5)


def test_every_run_of_the_samples_lies_where_its_time_is() -> None:
    for number in (1, 2, 3):
        facts = scenario(number)
        view = all_of(facts)
        one = drawn(facts, view)
        expected = sorted(
            one.left
            + (run.start / facts.axis.per_unit - view.start)
            / (view.end - view.start)
            * (one.right - one.left)
            for run in facts.runs
        )
        runs = [e for text, e in one.tooltips.items() if " ms" in text and e.attrib.get("height") == "18"]
        assert sorted(float(e.attrib["x"]) for e in runs) == pytest.approx(expected, abs=0.5)


def test_lanes_are_in_the_order_of_the_highest_priority() -> None:
    labels = [text for text in drawn(scenario(2)).texts if re.fullmatch(r"\w+ \(\d\)", text)]
    assert labels == ["ctl (5)", "H (3)", "L (1)", "M (2)", "IDLE (0)"]


def test_an_inherited_priority_has_a_hatched_fill_of_its_own() -> None:
    tooltips = drawn(scenario(2)).tooltips
    inherited = tooltips["L (1), priority 3 inherited, 1.001 to 4.002 = 3.001 ms"]
    own = tooltips["L (1), 0.001 to 1.000 = 0.999 ms"]
    assert inherited.attrib["fill"] == "url(#inherited)"
    assert own.attrib["fill"].startswith("#")
    assert "stroke" in inherited.attrib and "stroke" not in own.attrib


def test_another_priority_than_the_task_s_own_is_said() -> None:
    one = drawn(
        block(
            [
                (0, events.IN, 1, 2),
                (1000, events.READY, 1, 4),
                (2000, events.READY, 1, 2),
                (3000, events.TICK, 1, 0),
            ]
        )
    )
    assert "task1 (2), priority 4, 1.000 to 2.000 = 1.000 ms" in one.tooltips


def test_a_wait_is_a_thin_bar_in_the_waiter_s_lane() -> None:
    one = drawn(scenario(1))
    tooltips = one.tooltips
    wait = tooltips["H waits for queue1 1.000 to 10.003 = 9.003 ms"]
    (run,) = [e for text, e in tooltips.items() if text.startswith("H (3), 10.003")]
    top, bottom = float(run.attrib["y"]), float(run.attrib["y"]) + float(run.attrib["height"])
    assert top < float(wait.attrib["y"]) and float(wait.attrib["y"]) + float(wait.attrib["height"]) == bottom
    assert one.texts.count("queue1") == 1


def test_an_open_wait_ends_in_dashes() -> None:
    records = [
        (0, events.IN, 1, 2),
        (1000, events.WAIT, 1, 9),
        (1010, events.IN, 2, 1),
        (9000, events.TICK, 2, 0),
    ]
    text = svg(block(records), (), Window(0, 9, 0.5))
    assert "stroke-dasharray" in text
    assert (
        "task1 waits for queue9 1.000 to 9.000 = 8.000 ms, still waits at the trace's end"
        in Drawing(text).tooltips
    )
    assert "stroke-dasharray" not in svg(block(records), (), Window(0, 5, 0.5))  # its end is out of view


def test_a_task_that_only_waits_in_the_view_has_a_lane() -> None:
    records = [
        (0, events.IN, 1, 2),
        (1000, events.WAIT, 1, 9),
        (1010, events.IN, 2, 1),
        (9000, events.IN, 3, 0),
    ]
    texts = drawn(block(records), Window(4, 8, 0.5)).texts
    assert "task1 (2)" in texts and "task2 (1)" in texts
    assert "task3 (0)" not in texts


def test_the_window_cuts_what_reaches_out_of_it() -> None:
    one = drawn(block(THREE), Window(3, 7, 0.1))
    assert one.edges("task2 (3), 2.000 to 5.000") == pytest.approx(
        (one.left, (one.left + one.right) / 2), abs=0.5
    )
    assert one.edges("task1 (2), 5.000 to 10.000") == pytest.approx(
        ((one.left + one.right) / 2, one.right), abs=0.5
    )
    assert not any(text.startswith("task1 (2), 0.000") for text in one.tooltips)


def test_the_ruler_has_round_numbers_and_the_unit() -> None:
    texts = drawn(block(THREE), Window(0, 10, 1)).texts
    assert "ms" in texts
    assert [text for text in texts if re.fullmatch(r"\d+", text)] == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
    ]


def test_without_a_scale_the_axis_is_in_counts() -> None:
    one = drawn(block(THREE, context=Context()))
    assert "counts" in one.texts and "10,000" in one.texts
    assert "task2 (3), 2,000 to 5,000 = 3,000 counts" in one.tooltips


def test_marks_and_interrupts_have_lanes_of_their_own() -> None:
    one = drawn(
        block(
            [
                *(
                    (0, events.IN, 1, 2),
                    (2000, events.MARK, 1, 7),
                    (3000, events.ISR, 1, 21),
                    (3500, events.ISR, 1, 15),
                ),
                *((3600, events.ISR_END, 1, 15), (4000, events.ISR_END, 1, 21), (9000, events.TICK, 1, 0)),
            ]
        )
    )
    assert one.texts[:2] == ["marks", "interrupts"]
    assert "7" in one.texts
    assert "mark 7 at 2.000, while task1 runs" in one.tooltips
    assert {"IRQ 5, 3.000 to 4.000 = 1.000 ms", "exception 15, 3.500 to 3.600 = 0.100 ms"} <= set(
        one.tooltips
    )


def test_findings_are_numbered_under_the_picture_and_banded_in_it() -> None:
    facts = scenario(3)
    one = drawn(facts, found=find(facts))
    starts = [text[:14] for text in one.texts if re.match(r"\d\. ", text)]
    assert starts == ["1. Starvation:", "2. Jitter: per", "3. Idle starve"]
    assert all(number in one.texts for number in "123")
    pixels_a_ms = (one.right - one.left) / 200
    expected = (one.left + 100 * pixels_a_ms, one.left + 160.521 * pixels_a_ms)
    assert one.edges("finding 1: Starvation: logger") == pytest.approx(expected, abs=0.5)


def test_no_text_is_smaller_than_10_or_runs_out_of_the_picture() -> None:
    for number in (1, 2, 3):
        facts = scenario(number)
        for text in drawn(facts, found=find(facts)).root.iter(SVG + "text"):
            size = float(text.attrib.get("font-size", 12))
            length = 0.6 * size * len(text.text or "")
            left = float(text.attrib["x"]) - (length / 2 if text.attrib.get("text-anchor") == "middle" else 0)
            assert size >= 10 and left >= 0 and left + length <= 900


HOSTILE = '<b>&"\x1b[31m\u202e]]>\x00'


def test_text_from_the_target_cannot_become_markup() -> None:
    name = '<b>&"\x1b[31m'
    records = [
        (0, events.IN, 1, 2),
        (1000, events.WAIT, 1, 9),
        (1010, events.IN, 2, 1),
        (9000, events.TICK, 2, 0),
    ]
    facts = block(records, (b"", name.encode()), Context(clock_hz=1e6, objects={9: ObjectInfo(HOSTILE)}))
    finding = Finding(STARVATION, 0, 0, 5000, 5000, "Starvation: %s" % HOSTILE)
    text = svg(facts, [finding], Window(0, 9, 1), HOSTILE)
    one = Drawing(text)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert '<b>&"\\x1b[31m (2)' in one.texts
    shown = '<b>&"\\x1b[31m\\xe2\\x80\\xae]]>\\x00'
    assert (
        "<b>&\"\\x1b[31m waits for %s 1.000 to 9.000 = 8.000 ms, still waits at the trace's end" % shown
        in one.tooltips
    )
    assert shown in one.texts
    assert "1. Starvation: " + shown in one.texts
    assert {element.tag for element in one.root.iter()} <= {
        SVG + tag for tag in ["svg", "title", "defs", "pattern", "rect", "path", "text"]
    }


def switches(times: int, tasks: int) -> List[Record]:
    return [(i * 500, events.IN, i % tasks + 1, i % tasks + 1) for i in range(times)]


@pytest.mark.parametrize("tasks", [2, 12, 250])
def test_200_000_switches_give_a_small_file_soon(tasks: int) -> None:
    facts = block(switches(200_000, tasks))
    found = find(facts)
    view = all_of(facts)
    start = time.process_time()
    text = svg(facts, found, view)
    assert time.process_time() - start < 10
    assert len(text.encode()) < 1_000_000
    assert Drawing(text).texts.count("ms") == 1


def test_runs_drawn_as_one_say_how_many_and_how_long_they_are_in_all() -> None:
    facts = block(switches(100_001, 2))  # 50 seconds, of which each task runs half
    several = [
        re.fullmatch(r"task1 \(1\), (\d+) runs, \S+ to \S+, (\S+) ms in all", t)
        for t in drawn(facts).tooltips
    ]
    alone = [re.fullmatch(r"task1 \(1\), \S+ to \S+ = (\S+) ms", text) for text in drawn(facts).tooltips]
    found = [match for match in several if match]
    assert sum(int(match[1]) for match in found) + len([1 for m in alone if m]) == 50_000
    assert sum(float(match[2]) for match in found) + sum(float(m[1]) for m in alone if m) == pytest.approx(
        25_000, rel=0.001
    )


def test_many_waits_marks_and_interrupts_give_a_small_file_too() -> None:
    records: List[Record] = []
    for i in range(20_000):
        at, task = i * 100, i % 8 + 1
        records += [(at, events.IN, task, task), (at + 10, events.MARK, task, i & 0xFFFF)]
        records += [(at + 20, events.ISR, task, 16), (at + 30, events.ISR_END, task, 16)]
        records += [(at + 40, events.TAKE, task, task), (at + 50, events.WAIT, task, task)]
    text = svg(block(records), (), Window(0, 2000, 20))
    assert len(text.encode()) < 500_000
    assert Drawing(text).texts[:2] == ["marks", "interrupts"]


def test_a_view_of_few_runs_of_a_long_trace_shows_each() -> None:
    one = drawn(block(switches(200_000, 2)), Window(1000, 1005, 0.1))
    assert len([text for text in one.tooltips if text.startswith("task")]) == 10


def test_of_too_many_tasks_the_rest_is_counted() -> None:
    facts = block([(i * 500, events.IN, i + 1, 1) for i in range(151)])
    assert "! 50 more tasks, not drawn" in drawn(facts).texts


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (block([]), "The ring holds no records: nothing to draw."),
        (
            block([(7, events.IN, 1, 1), (7, events.IN, 2, 1)]),
            "The clock did not run: there is no time to draw along.",
        ),
    ],
    ids=["empty", "stuck"],
)
def test_without_time_the_picture_says_so(facts: Timeline, why: str) -> None:
    text = svg(facts, find(facts), Window(0, 1, 1), "a title")
    assert Drawing(text).texts[:2] == ["a title", why]
    assert len(text) < 2000


@pytest.mark.parametrize(
    ("start", "end"),
    [(5, 5), (6, 5), (math.nan, 5), (0, math.nan), (-math.inf, math.inf), (0, 1e308), (5, 5 + 1e-15)],
)
def test_a_view_without_length_or_limits_says_so(start: float, end: float) -> None:
    assert (
        "No time passes in this part of the trace: nothing to draw."
        in drawn(block(THREE), Window(start, end, 1)).texts
    )


@pytest.mark.parametrize(
    ("start", "end"), [(-1e12, -1e11), (20, 30), (0, 1e-9), (1e9, 1e9 + 1e-2), (0, 1e200)]
)
def test_a_view_of_nothing_is_drawn_empty(start: float, end: float) -> None:
    one = drawn(block(THREE), Window(start, end, 1))
    assert "ms" in one.texts
