"""Rows -> text: the table of a profile, its head and what must be said below it."""

from __future__ import annotations

import collections
import dataclasses
import os
from typing import Callable, Dict, Iterable, List, Sequence

from gdb_prof.printable import printable
from gdb_prof.profile.functions import Function
from gdb_prof.profile.samples import RECORDING, TARGET, Profile, Timing
from gdb_prof.profile.shares import FULL_BIN, NO_BIN, Row, Shares
from gdb_prof.wording import NARROWEST, aligned, count, plural, wrapped

_INDENT = "\u2800"
"""A blank, one column wide, that tabulate does not strip from a cell."""
_SHORTEST_NAME = 16


@dataclasses.dataclass(frozen=True)
class Layout:
    """How much to show. `width` in characters."""

    width: int = 80
    top: int = 40
    least_percent: float = 0.0
    demangle: Callable[[str], str] = str


def spacing(timing: Timing) -> str:
    """`one per 11,982 ns + 0..12,185 jitter`, in ticks where the clock is unknown."""
    if timing.period_ticks is None:
        return "at an unknown period"
    if timing.tick_hz:
        scale, unit = 1e9 / timing.tick_hz, "ns"
    else:
        scale, unit = 1.0, "ticks"
    text = "one per %s %s" % (count(round(timing.period_ticks * scale)), unit)
    if timing.jitter_mask:
        return text + " + 0..%s jitter" % count(round(timing.jitter_mask * scale))
    return text + ", no jitter"


def report(profile: Profile, table: Shares, layout: Layout) -> str:
    """The whole report. Ends with a newline."""
    lines = wrapped(_head(profile, table), layout.width)
    if table.total:
        lines += _table(profile, table, layout)
    for remark in _remarks(profile, table):
        lines += wrapped(remark, layout.width, "! ")
    return "\n".join(lines) + "\n"


def _head(profile: Profile, table: Shares) -> str:
    head = "%s by %s, %s" % (plural(table.total, "sample"), profile.timing.timer, spacing(profile.timing))
    if profile.timing.elapsed_s is not None and table.total == profile.taken:
        head += ", in %.3f ms" % (profile.timing.elapsed_s * 1e3)
    if profile.origin not in (TARGET, RECORDING):
        head += "; from %s" % profile.origin
    return head


def _remarks(profile: Profile, table: Shares) -> Iterable[str]:
    yield from profile.remarks
    if not profile.histogram and profile.taken > profile.kept:
        yield "the ring keeps the last %s of %s samples taken: the time before is not in this table" % (
            count(profile.kept),
            count(profile.taken),
        )
    if table.divided_bins:
        yield "%s (%.2f %%) lie in %s that more than one row shares: divided by bytes" % (
            plural(table.divided_samples, "sample"),
            100 * table.divided_samples / table.total,
            plural(table.divided_bins, "bin"),
        )
    if table.classes.get(FULL_BIN):
        yield "%s found a bin at 65,535: shares are too small where it is hot; take fewer samples" % plural(
            table.classes[FULL_BIN], "sample"
        )
    if table.classes.get(NO_BIN):
        yield "%s have no bin: PROF_BASE, PROF_BINS and PROF_SHIFT do not cover them" % plural(
            table.classes[NO_BIN], "sample"
        )
    if any(row.function and row.function.guessed and row.address is None for row in table.rows):
        yield "~ a symbol without a size: taken to reach to the next symbol"


def _table(profile: Profile, table: Shares, layout: Layout) -> List[str]:
    clashes = _clashes(table.rows)
    if table.by == "task":
        body = _task_rows(profile, table, clashes, layout)
    else:
        body = _cut(table.rows, table, clashes, layout)
    headers = ["share", "samples", *_HEADS[table.by]]
    body.append([_share(table.total, table.total), count(table.total)])
    body = [[printable(cell, len(cell)) for cell in row] + [""] * (len(headers) - len(row)) for row in body]
    _fit(body, headers, layout)
    align = ["right", "right"] + ["left"] * (len(headers) - 2)
    lines = [line.replace(_INDENT, " ") for line in aligned([headers, *body], align)]
    total = " " + lines[-1].rstrip() + "  "
    return [" " + line.rstrip() for line in lines[:-1]] + wrapped(
        _classes(table), layout.width, total, " " * len(total)
    )


_HEADS = {
    "function": ("function", "source"),
    "line": ("function", "source"),
    "address": ("address", "source"),
    "file": ("file",),
    "task": ("task / function", "source"),
    "inline": ("function", "source"),
}


def _cells(row: Row, clashes: Dict[str, List[Function]], layout: Layout) -> List[str]:
    """The name, with what tells it from others of that name, and the source."""
    name, function = layout.demangle(row.name), row.function
    if function is None:
        return [name]
    source = ""
    if row.source:
        source = "%s:%d" % (os.path.basename(row.source[0].replace("\\", "/")), row.source[1])
    if row.address is not None:
        return ["%08x %s" % (row.address, name), source]
    if len(clashes[row.name]) > 1:
        name += " (%s)" % _what_differs(function, clashes[row.name])
    if row.divided:
        name += " (%s divided)" % count(row.divided)
    if function.guessed:
        name += "~"
    if function.aliases:
        name += " +%d alias%s" % (function.aliases, "" if function.aliases == 1 else "es")
    return [name, source]


def _clashes(rows: Sequence[Row]) -> Dict[str, List[Function]]:
    """The different functions of each name."""
    named: Dict[str, List[Function]] = collections.defaultdict(list)
    for row in rows:
        if row.function is not None and row.function not in named[row.name]:
            named[row.name].append(row.function)
    return named


def _what_differs(function: Function, same_name: Sequence[Function]) -> str:
    """The image, else the source file, else the address: the first that is its own."""
    for field in ("image", "source"):
        values = [getattr(other, field) for other in same_name]
        if len(set(values)) == len(values) and all(values):
            return str(getattr(function, field))
    return "%08x" % function.address


def _cut(
    rows: Sequence[Row],
    table: Shares,
    clashes: Dict[str, List[Function]],
    layout: Layout,
    indent: str = "",
) -> List[List[str]]:
    """The rows that are shown, as cells, and one for all the others."""
    shown = [r for r in rows[: layout.top] if 100 * r.samples >= layout.least_percent * table.total]
    body = []
    for row in shown:
        name, *source = _cells(row, clashes, layout)
        body.append([_share(row.samples, table.total), count(row.samples), indent + name, *source])
    hidden = rows[len(shown) :]
    if hidden:
        rest = sum(row.samples for row in hidden)
        body.append([_share(rest, table.total), count(rest), "%s(%s more)" % (indent, count(len(hidden)))])
    return body


def _task_rows(
    profile: Profile, table: Shares, clashes: Dict[str, List[Function]], layout: Layout
) -> List[List[str]]:
    """Each task's sum, and under it its functions."""
    by_tag: Dict[int, List[Row]] = collections.defaultdict(list)
    for row in table.rows:
        by_tag[row.tag or 0].append(row)
    sums = {tag: sum(row.samples for row in rows) for tag, rows in by_tag.items()}
    labels = task_labels(profile, sums)
    body = []
    for tag, samples in sorted(sums.items(), key=lambda item: (-item[1], item[0])):
        body.append([_share(samples, table.total), count(samples), labels[tag]])
        body += _cut(by_tag[tag], table, clashes, layout, 2 * _INDENT)
    return body


def task_labels(profile: Profile, tags: Iterable[int]) -> Dict[int, str]:
    """A name for each tag; two tasks of one name keep their address."""
    names = {tag: profile.tag_names.get(tag) or ("task@%08x" % tag if tag else "(no task)") for tag in tags}
    often = collections.Counter(names.values())
    return {tag: name if often[name] == 1 else "%s @%08x" % (name, tag) for tag, name in names.items()}


def _classes(table: Shares) -> str:
    if not table.classes:
        return "in code; none outside"
    named = [(table.in_code, "in code"), *((n, name) for name, n in sorted(table.classes.items()))]
    return ", ".join("%s %s" % (count(n), name) for n, name in named)


def _share(samples: int, total: int) -> str:
    return "%.2f %%" % (100 * samples / total)


def _fit(body: List[List[str]], headers: Sequence[str], layout: Layout) -> None:
    """Shorten names, and where that is not enough sources, so that a line has its width."""
    widths = [max(len(row[i]) for row in [*body, headers]) for i in range(len(headers))]
    room = max(layout.width, NARROWEST) - 1 - sum(width + 2 for width in widths[:2])
    rooms = [room]
    if len(headers) > 3:
        source = min(widths[3], room - 2 - min(widths[2], _SHORTEST_NAME))
        rooms = [room - 2 - source, source]
    for row in body:
        row[2:] = [_shortened(cell, width) for cell, width in zip(row[2:], rooms)]


def _shortened(text: str, room: int) -> str:
    """The middle is left out: what tells a name from others, and a line number, is at the end."""
    if len(text) <= room:
        return text
    tail = (room - 1) * 2 // 3
    return text[: room - 1 - tail] + "…" + text[-tail:]
