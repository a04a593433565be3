"""Interrupting a program that GDB waits for, again and again, without being taken for the user.

An interrupt is the command of that name, run by GDB's loop of events: between two events, and not while
GDB deals with a stop. A signal there would break off the condition of a breakpoint of the user's, or the
announcement of a stop. Meanwhile SIGINT is blocked in GDB's thread, so that a Ctrl-C of the user's waits in
the process until it is looked for: GDB takes a second one, while it waits for the answer to the first,
for a wish to disconnect.
"""

from __future__ import annotations

import functools
import signal
import threading
import time
from types import TracebackType
from typing import Optional, Set, Type

import gdb

from gdb_prof.target import posted

CAN_INTERRUPT = hasattr(signal, "pthread_sigmask")
"""Windows has no such signals."""

_SIGINT = {signal.SIGINT}
_SLICE_S = 0.05
"""How long a Ctrl-C of the user's may wait to be seen."""
_AGAIN_S, _LONGEST_S = 0.1, 1.0
"""After so long without an answer the interrupt is sent again: a server may pass one over while it steps.
Later, up to the second, where answers take long."""
_TRIES = 20
"""After so many the user's Ctrl-C goes to GDB, which knows how to give up a target."""
_DEAF_S = 5.0


class Alarm:
    """One interrupt a round, sent again while it is not answered. Used in GDB's thread, as a context.

    `fired`: the round's interrupt is sent. `late`: how many interrupts of the rounds before are not
    answered, and may be in this one. `asked`: the user pressed Ctrl-C. `deaf`: GDB's events do not come
    while it waits for the target, so that nobody knows when that runs.
    """

    def __init__(self) -> None:
        self.fired = self.asked = self.deaf = False
        self.late = self._sent = 0
        self._first = self._last = 0.0
        self._again_s = self._late_s = _AGAIN_S
        self._changed = threading.Condition()
        self._round = self._tries = 0
        self._due: Optional[float] = None
        self._over = False
        self._mask: Optional[Set[signal.Signals]] = None
        self._thread = threading.Thread(target=self._watch, name="gdb_prof alarm", daemon=True)

    def __enter__(self) -> "Alarm":
        self._due = time.monotonic() + _DEAF_S
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()
        self._look()
        try:  # one that came too late is ours, and not to end the next command
            gdb.execute("python pass", to_string=True)
            time.sleep(0)
        except (KeyboardInterrupt, gdb.error):
            pass
        self._let_through()

    def set(self, seconds: float) -> None:
        """Begin a round: interrupt after so long. Called when the target runs, by GDB's loop of events."""
        if self._mask is None:  # not before it is known that these come
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGINT)  # type: ignore[assignment]
        with self._changed:
            self._begin(time.monotonic() + seconds + (self._late_s if self.late else 0))
            self._changed.notify()

    def stop(self) -> None:
        """The target stands: no interrupt is sent from here on."""
        with self._changed:
            self._due = None
            self._look()

    def answered(self) -> bool:
        """An interrupt has stopped the target. Whether it is one of ours, of this round where it `fired`,
        else of one before. OpenOCD keeps one that comes when the target stands already, and halts it as soon
        as it runs again: the next round leaves it time to."""
        if self.fired:
            now = time.monotonic()
            self.late = self._sent - 1
            self._late_s = min(max(2 * (now - self._first), _AGAIN_S), _LONGEST_S)
            self._again_s = min(max(3 * (now - self._last), self._again_s), _LONGEST_S)
        elif self.late:
            self.late -= 1
        else:
            return False
        return True

    def _begin(self, due: Optional[float]) -> None:
        self._round += 1
        self._tries = self._sent = 0
        self.fired = False
        self._due = due

    def _look(self) -> None:
        """Take a waiting Ctrl-C of the user's."""
        while signal.SIGINT in signal.sigpending():
            signal.sigwait(_SIGINT)
            self.asked = True

    def _let_through(self) -> None:
        if self._mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            self._mask = None

    def _watch(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGINT)
        with self._changed:
            while not self._over:
                if self._due is None:
                    self._changed.wait()
                    continue
                self._look()
                left = self._due - time.monotonic()
                if left <= 0 or (self.asked and not self._tries and not self.late):
                    self._fire()
                    left = self._again_s
                self._changed.wait(min(left, _SLICE_S))

    def _fire(self) -> None:
        self._tries += 1
        self._due = time.monotonic() + self._again_s
        if self._round:
            posted.post(functools.partial(self._interrupt, self._round, self._tries > _TRIES))
        elif not self.deaf:
            self.fired = self.deaf = True
            self._sent = 1
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGINT)
            signal.raise_signal(signal.SIGINT)
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGINT)

    def _interrupt(self, of: int, give_up: bool) -> None:
        """In GDB's thread, while it waits."""
        if of == self._round and self._due is not None:
            self._last = time.monotonic()
            if not self.fired:
                self._first = self._last
            self.fired = True
            self._sent += 1
            gdb.execute("interrupt", to_string=True)
            if give_up:
                self._let_through()
                if self.asked:
                    signal.raise_signal(signal.SIGINT)
