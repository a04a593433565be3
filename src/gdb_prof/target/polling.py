"""Reading DWT_PCSR again and again while the program runs, by whatever reads a word then.

DWT_PCSR, DHCSR: pcsr.
"""

from __future__ import annotations

import dataclasses
import random
import time
from typing import Callable, List, Optional

from gdb_prof.errors import TargetError
from gdb_prof.wording import count, plural

NO_PC = 0xFFFFFFFF
"""What the register holds while there is no program counter."""
PCSR = 0x1C
DHCSR, S_HALT = 0xE000EDF0, 1 << 17
_LOOK_S = 0.05
"""How often DHCSR is read, to see whether the program has stopped by itself: seldom, since reading it
clears bits that tell of a reset."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """For how long, or how many; at least one is given. `mean_interval_s`: from read to read on average;
    0 for as often as the connection reads. `tcl_port`: of OpenOCD's Tcl server on the machine that GDB
    is connected to. `dwt`: where the unit is."""

    seconds: Optional[float] = None
    samples: Optional[int] = None
    mean_interval_s: float = 0.0
    tcl_port: Optional[int] = None
    dwt: int = 0xE0001000


class Run:
    """The samples as they come. `halted`: the program has stopped by itself; `interrupted`: the user has
    pressed Ctrl-C; `enough`: all that was asked for is there. For the report: `stopped_by`, and `failed`,
    why no more could be read."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.pcs: List[int] = []
        self.elapsed_s = 0.0
        self.remarks: List[str] = []
        self.halted = self.interrupted = self.enough = False
        self.stopped_by = "stopped by itself"
        self.failed = ""
        self._sure = 0

    def collect(self, read: Callable[[int], int], over: Optional[Callable[[], bool]] = None) -> None:
        """Read until there is enough or the program has stopped. Raises what `read` raises at first; later
        what there is is kept. `over` tells that it has stopped, where GDB may let it go on: at a
        breakpoint whose condition is false.

        Between two reads lies a random time, or a program that has a period of its own might be met in
        step: half to one and a half times the mean interval; and where the connection cannot keep
        up with that, up to as long again as a read takes.
        """
        begin = time.monotonic()
        look = begin + _LOOK_S
        try:
            while not (over and over()) and not self._is_enough(begin):
                before = time.monotonic()
                self.pcs.append(read(self.plan.dwt + PCSR))
                took = time.monotonic() - before
                if before >= look:
                    self._look(read)
                    if self.halted and over is None:
                        return
                    look = time.monotonic() + _LOOK_S
                wanted = self.plan.mean_interval_s * random.uniform(0.5, 1.5)
                time.sleep(max(wanted - took, took * random.random()))
            self._look(read)
        except KeyboardInterrupt:
            self.interrupted = True
        except TargetError as error:
            if not self.pcs:
                raise
            self.failed = str(error)
        finally:
            self.elapsed_s += time.monotonic() - begin

    def _is_enough(self, begin: float) -> bool:
        plan = self.plan
        self.enough = (plan.samples is not None and len(self.pcs) >= plan.samples) or (
            plan.seconds is not None and self.elapsed_s + time.monotonic() - begin >= plan.seconds
        )
        return self.enough

    def _look(self, read: Callable[[int], int]) -> None:
        """Where the program has stopped, what was read since is no sample of it."""
        self.halted = bool(read(DHCSR) & S_HALT)
        if not self.halted:
            self._sure = len(self.pcs)
            return
        self.enough = False
        while len(self.pcs) > self._sure and self.pcs[-1] == NO_PC:
            self.pcs.pop()

    def all_remarks(self) -> List[str]:
        plan = self.plan
        remarks = list(self.remarks)
        if not self.enough:
            asked = plural(len(self.pcs), "sample")
            if plan.samples is not None:
                asked = "%s of %s" % (count(len(self.pcs)), plural(plan.samples, "sample"))
            how = "interrupted" if self.interrupted else "ended" if self.failed else self.stopped_by
            remarks.insert(0, "%s after %s, %.1f s" % (how, asked, self.elapsed_s))
            if self.failed:
                remarks[0] += ": " + self.failed
        if self.pcs and all(pc == NO_PC for pc in self.pcs):
            remarks.append(
                "DWT_PCSR never had an address: the core slept all the time, or debugging it is not permitted"
            )
        return remarks
