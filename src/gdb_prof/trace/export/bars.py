"""What of a trace is drawn: spans of time as bars, and one bar for many too close to tell apart."""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Tuple

FINEST = 0.1
"""Pixels: what no eye can tell apart."""
Span = Tuple[int, bool, float, float]
"""Lane, whether it is a special one of its kind, start and end in counts."""


class Bar(NamedTuple):
    """A span as it is drawn, or several too close to tell apart.

    `start`, `end`: pixels from the plot's left edge, of which `length` are filled; `first`:
    the place of the first in the list of spans.
    """

    lane: int
    special: bool
    start: float
    end: float
    length: float
    times: int
    first: int


def merged(bars: Iterable[Bar], times: int, most: int, coarsest: float) -> List[Bar]:
    """The bars, in their order; where they are too many, those of one lane and kind that are
    shorter than a tenth of a pixel and begin in the same tenth are one, else those of two tenths,
    and so on. At first no eye could tell them apart; then their density is what can be seen. So
    the file stays small however long the trace is, and the work grows with it only in proportion."""
    grain = FINEST
    while times > most and grain < coarsest:
        kept: List[Bar] = []
        places: Dict["tuple[int, bool, int]", int] = {}
        for bar in bars:
            if bar.end - bar.start >= grain:
                kept.append(bar)
                continue
            at = places.setdefault((bar.lane, bar.special, int(bar.start / grain)), len(kept))
            if at == len(kept):
                kept.append(bar)
            else:
                one = kept[at]
                both = (min(one.start, bar.start), max(one.end, bar.end), one.length + bar.length)
                kept[at] = Bar(one.lane, one.special, *both, one.times + bar.times, one.first)
        bars, times = kept, len(kept)
        grain *= 2
    return list(bars)
