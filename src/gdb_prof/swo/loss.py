"""Local timestamps -> how many samples overflow cost, as far as they tell."""

from __future__ import annotations

import dataclasses
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Loss:
    """A gap is what lies between two local timestamps with an overflow between them.

    `timed_ticks`, `timed_samples`: from the first timestamp to the last; `gap_ticks`, `gap_samples`: of
    them, in gaps. `overflows`: all; `unbounded`: those before the first timestamp or after the last.
    """

    timed_ticks: int
    timed_samples: int
    gap_ticks: int
    gap_samples: int
    overflows: int
    unbounded: int

    @property
    def lost(self) -> Optional[int]:
        """How many samples the gaps cost, by the rate of samples where nothing was lost: at least, where
        there are `unbounded` overflows. None where all of them are, or where that rate is not known."""
        if not self.overflows:
            return 0
        ticks = self.timed_ticks - self.gap_ticks
        samples = self.timed_samples - self.gap_samples
        if self.unbounded == self.overflows or ticks <= 0 or samples <= 0:
            return None
        return max(0, round(self.gap_ticks * samples / ticks - self.gap_samples))


class Clock:
    """Takes local timestamps and overflows in order, each with the number of samples before it."""

    def __init__(self) -> None:
        self.stamps = self.ticks = 0
        self._first_delta = self._first_sample = self._last_sample = 0
        self._gap_ticks = self._gap_samples = 0
        self._overflows = self._unbounded = 0
        self._open = 0  # overflows since the last timestamp

    def tick(self, sample: int, delta: int) -> None:
        if not self.stamps:
            self._first_delta, self._first_sample = delta, sample
            self._unbounded = self._open
        elif self._open:
            self._gap_ticks += delta
            self._gap_samples += sample - self._last_sample
        self._open = 0
        self.stamps += 1
        self.ticks += delta
        self._last_sample = sample

    def overflow(self) -> None:
        self._overflows += 1
        self._open += 1

    def loss(self) -> Loss:
        return Loss(
            timed_ticks=self.ticks - self._first_delta,
            timed_samples=self._last_sample - self._first_sample,
            gap_ticks=self._gap_ticks,
            gap_samples=self._gap_samples,
            overflows=self._overflows,
            unbounded=self._unbounded + self._open,
        )
