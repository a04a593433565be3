"""DWT and PMU together: what is counted from `start` to `stop`."""

from __future__ import annotations

import dataclasses
from typing import List, Sequence, Tuple

from gdb_prof.counters.cortexm.counter import CCNTR, CYCCNT, CYCLES, Counter, Reading
from gdb_prof.counters.cortexm.dwt import REGISTERS, Dwt
from gdb_prof.counters.cortexm.events import Chosen
from gdb_prof.counters.cortexm.pmu import Pmu, Seen
from gdb_prof.counters.registers import Unit
from gdb_prof.errors import TargetError, UsageError
from gdb_prof.wording import count

NONE = "no counters answer here"
_DEFAULT = "INST_RETIRED"
"""What a PMU counts where nothing is asked for: with the cycles it gives cycles an instruction."""


class Counting:
    """Counters that run. `remarks`: what the user is to know of them, one sentence each."""

    def __init__(self, dwt: Unit, pmu: Unit) -> None:
        self.dwt, self.pmu = Dwt(dwt), Pmu(pmu)
        self.counters: Tuple[Counter, ...] = ()
        self.remarks: List[str] = []
        self.moves_in_halt = False

    def start(self, chosen: Chosen, narrow: bool, force: bool) -> None:
        """Raises UsageError and TargetError: `stop` then puts back what was changed."""
        ctrl = self.dwt.unit.read("CTRL")
        pmu = self.pmu.look()
        if not ctrl and pmu is None:
            raise TargetError(nothing(self.dwt.unit, self.pmu.unit))
        everything = not (chosen.dwt or chosen.ccntr or chosen.pmu)
        self._demand(chosen, ctrl, pmu)
        present = self.dwt.present()
        # cycles are counted with everything else: by them it is known what can have wrapped
        events = present if everything else tuple(e for e in REGISTERS if e in (*chosen.dwt, CYCCNT))
        events = tuple(e for e in events if e in present)
        dead = self.dwt.start(events)
        self._said_of_dwt(dead, () if everything else chosen.dwt)
        if pmu is not None:
            cycles = chosen.ccntr or (CYCCNT not in self.dwt.events and pmu.has_cycles)
            wanted = dict(chosen.pmu)
            if everything and any(not pmu.enabled >> n & 1 for n in range(pmu.number)):
                wanted = {_DEFAULT: _DEFAULT}
            self.pmu.start(wanted, cycles, narrow, force)
            self._said_of_pmu()
        self.counters = (*self.dwt.counters(), *self.pmu.counters())
        if not self.counters:
            lacking = self.dwt.is_baseline or "DWT_CTRL is 0x%08x" % ctrl
            raise TargetError("this core counts nothing: %s, and there is no PMU" % lacking)
        self._said_of_options(narrow, force)
        self._halted()

    def _said_of_options(self, narrow: bool, force: bool) -> None:
        """Those that have changed nothing."""
        if narrow and not self.pmu.places:
            self.remarks.append("-narrow changes nothing: no event of a PMU is counted")
        if force and not self.pmu.rests_on:
            self.remarks.append("-force changes nothing: no event is counted whose number is not verified")

    def _demand(self, chosen: Chosen, ctrl: int, pmu: "Seen | None") -> None:
        for event in chosen.dwt:
            lacking = self.dwt.lacks(event, ctrl)
            if not ctrl:
                raise UsageError("no %s: DWT_CTRL reads 0, no DWT answers" % event)
            if lacking:
                raise UsageError("this core has no %s: %s (DWT_CTRL 0x%08x)" % (event, lacking, ctrl))
        asked = [name for name, _ in chosen.pmu] + ([CCNTR] if chosen.ccntr else [])
        if asked and pmu is None:
            raise UsageError(
                "%s is counted by a PMU (Armv8.1-M), and none answers at 0x%08x"
                % (asked[0], self.pmu.unit.address("EVCNTR0"))
            )
        if chosen.ccntr and pmu is not None and not pmu.has_cycles:
            raise UsageError("this PMU has no cycle counter: PMU_TYPE is 0x%08x" % pmu.type)

    def _said_of_dwt(self, dead: Sequence[str], asked: Sequence[str]) -> None:
        for event in dead:
            said = "DWT_CTRL.%s does not stay set: this core does not count %s" % (REGISTERS[event][1], event)
            if event in asked:
                raise TargetError(said)
            self.remarks.append(said)
        running = [event for event in self.dwt.was_running if event in self.dwt.events]
        if running:
            self.remarks.append(
                "%s %s running already: left to run on, only differences are taken"
                % (", ".join(REGISTERS[e][0] for e in running), "was" if len(running) == 1 else "were")
            )

    def _said_of_pmu(self) -> None:
        pmu = self.pmu
        for numbers, became in (
            (pmu.left_alone, "left alone"),
            (pmu.paused, "but PMU_CTRL.ENABLE was not: kept off until `counters stop`"),
        ):
            if numbers:
                shown = ", ".join(str(n) for n in numbers)
                noun = "PMU counter %s was" if len(numbers) == 1 else "PMU counters %s were"
                self.remarks.append((noun + " enabled already, %s") % (shown, became))
        self.remarks += ["rests on what is %s" % doubt for doubt in pmu.rests_on]
        if pmu.cycles_were_running and pmu.counts_cycles:
            self.remarks.append("PMU_CCNTR was running already: only differences are taken")
        if pmu.freezes:
            self.remarks.append(
                "the program has set PMU_CTRL.FRZ_ON_OV: all stop at the first overflow of one, until its "
                "flag is cleared"
            )

    def _halted(self) -> None:
        """Whether time in Debug state is counted: nobody says, so it is looked at."""
        before, after = self.take(), self.take()
        for counter in self.counters:
            moved = (after.values[counter.name] - before.values[counter.name]) % counter.width.modulus
            if counter.name in CYCLES and moved:
                self.moves_in_halt = True
                moving = dataclasses.replace(counter, moves=True)
                self.counters = tuple(moving if c is counter else c for c in self.counters)
                self.remarks.append(
                    "%s goes on while the core is halted (%s between two reads): halts are counted in"
                    % (counter.place, count(moved))
                )

    def begin(self) -> Reading:
        """A reading to begin from; the PMU's counters, as far as they are ours, anew."""
        self.pmu.begin()
        return self.take()

    def take(self) -> Reading:
        """Raises TargetError where counters are not enabled any more."""
        dwt, pmu = self.dwt.read(), self.pmu.read()
        return dataclasses.replace(pmu, values={**dwt, **pmu.values})

    def stop(self) -> List[str]:
        """Put back every register that `start` wrote; what could not be, one message each: called again, that
        is tried again. Broken off, it is to be called again."""
        failures = self.pmu.stop()
        return failures + self.dwt.stop()


def not_put_back(failures: Sequence[str]) -> str:
    return "not all is as it was: %s" % "; ".join(dict.fromkeys(failures))


def nothing(dwt: Unit, pmu: Unit) -> str:
    """That neither unit is there."""
    return "%s: DWT_CTRL at 0x%08x reads 0, and there is no PMU at 0x%08x" % (
        *(NONE, dwt.address("CTRL"), pmu.address("EVCNTR0")),
    )
