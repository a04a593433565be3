"""Beginnings and ends of interrupts -> intervals, nested ones too, and their times."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from gdb_prof.trace import events
from gdb_prof.trace.timeline import Interrupt


class Nesting:
    """Pairs beginnings with ends. An end without a beginning counts for nothing: it began
    before the trace, or the handler does not say when it begins."""

    def __init__(self) -> None:
        self.whole: List[Interrupt] = []
        self._open: List[Tuple[int, int, int]] = []

    def forget(self) -> None:
        """Ends may be missing from here on: what is open is none."""
        self._open.clear()

    def note(self, time: int, code: int, exception: int, task: int) -> None:
        if code == events.ISR:
            self._open.append((time, exception, task))
            return
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at][1] == exception:
                start, _, interrupted = self._open[at]
                del self._open[at:]
                self.whole.append(Interrupt(start, time, exception, interrupted))
                return


def interrupt_times(interrupts: Sequence[Interrupt]) -> Dict[int, Tuple[int, int, int]]:
    """By exception number: how often, counts in all without those nested in it, the longest."""
    found: Dict[int, Tuple[int, int, int]] = {}
    open_: List[List[int]] = []  # end, exception, own time, length

    def close(until: float) -> None:
        while open_ and open_[-1][0] <= until:
            _, exception, own, length = open_.pop()
            times, total, longest = found.get(exception, (0, 0, 0))
            found[exception] = (times + 1, total + own, max(longest, length))

    for one in sorted(interrupts, key=lambda i: (i.start, -i.end)):
        close(one.start)
        length = one.end - one.start
        if open_:
            open_[-1][2] -= length
        open_.append([one.end, one.exception, length, length])
    close(float("inf"))
    return found
