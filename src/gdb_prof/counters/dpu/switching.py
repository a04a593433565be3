"""The trace started, paused, resumed and stopped, in the article's order: each wait has an end.

Its order for a stop: wait for TWBA = 0, set TMPDIS, wait again, with interrupts off. The debugger has halted
the core meanwhile, so no interrupt can come between. What was under way is in the buffer only then, and the
write pointer is read before EN goes.
"""

from __future__ import annotations

import contextlib
import time
from typing import Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

from gdb_prof.counters.description import Fact, Field
from gdb_prof.counters.dpu.capture import bit, buffer_of, meaning
from gdb_prof.counters.dpu.enable import ENABLED, enabling
from gdb_prof.counters.dpu.reading import REGISTERS
from gdb_prof.counters.dpu.vtb import placed
from gdb_prof.counters.registers import Setting, Unit, Write, demand_verified
from gdb_prof.errors import GdbProfError, TargetError, UsageError

MOST_READS = 500
MOST_S = 5.0
STILL_READS = 16
"""Where nothing says that it is busy: DP_TW must be the same in so many reads."""


class Trace:
    """`written`: by register, what this session wrote last. `clock`: seconds. `notes`: what there is to say
    of what was done, besides that it was; `unproven`: what was waited for without proof; `facts`: what the
    writes rest on."""

    def __init__(
        self,
        unit: Unit,
        written: Dict[str, int],
        force: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._unit = unit
        self._written = written
        self._force = force
        self._clock = clock
        self.notes: List[str] = []
        self.unproven: List[str] = []
        self.facts: List[Fact] = []
        self._touched: List[str] = []

    # -- what it is ------------------------------------------------------------------

    def control(self) -> int:
        return self._unit.read("DP_TC")

    def is_on(self, control: int) -> bool:
        return self._has("EN", control)

    def is_paused(self, control: int) -> bool:
        return self._has("TMPDIS", control)

    def _has(self, name: str, control: int) -> bool:
        number = bit(self._unit.description, "DP_TC", name, control)
        if number is None:
            raise UsageError("where %s lies in DP_TC is not known: complete the description" % name)
        return bool(number)

    # -- what is done ----------------------------------------------------------------

    def set_up(self, writes: Sequence[Write], fill: Callable[[], None]) -> None:
        """`writes`: of `vtb.plan`, with the trace off; `fill` is called once all have taken. Raises
        UsageError, TargetError."""
        before = self._unit.read_all([write.register for write in writes])
        if self.is_on(before["DP_TC"]):
            raise UsageError(
                "the trace is on (DP_TC = 0x%08x): `dpu trace stop` first, or what it records is garbled"
                % before["DP_TC"]
            )
        with self._restoring(before):
            for write in writes:
                self._write(write)
            fill()

    def start(self, prepare: Callable[[int, int], None] = lambda start, size: None) -> Dict[str, int]:
        """`prepare` is given the buffer's start and size before anything is written. The registers that say
        what is recorded, and DP_TW, after it. Raises UsageError, TargetError."""
        values = self._unit.read_all(["DP_CR", *REGISTERS, "DP_TC", "DP_TSA", "DP_TEA"])
        control = values["DP_TC"]
        if self.is_on(control):
            state = "paused: `dpu trace resume`" if self.is_paused(control) else "on"
            raise UsageError("the trace is already %s (DP_TC = 0x%08x)" % (state, control))
        start, size = self._place(values)
        self._demand("DP_TC", {"EN": 1, "TMPDIS": 0})
        prepare(start, size)
        with self._restoring(values):
            for write in enabling(self._unit, values["DP_CR"]):
                self._write(write)
                self.notes.append(ENABLED)
            on = self._set("DP_TC", {"EN": 1, "TMPDIS": 0}, control)
        return {**values, "DP_TC": on, "DP_TW": self._unit.read("DP_TW")}

    def _place(self, values: Mapping[str, int]) -> Tuple[int, int]:
        """Start and size. Raises GdbProfError where nothing could be recorded there."""
        description = self._unit.description
        start, size = buffer_of(values, description)
        burst = meaning(description, "DP_TC", "BURST_SIZE", values["DP_TC"])
        if burst.isdigit():
            try:
                placed(start, size, int(burst), description)
            except UsageError as error:
                raise UsageError("the buffer is not set up: %s: `dpu trace setup`" % error) from None
        return start, size

    def pause(self) -> int:
        """The write pointer after it. Raises UsageError, TargetError."""
        control = self._on()
        if self.is_paused(control):
            raise UsageError("the trace is already paused (DP_TC = 0x%08x)" % control)
        self._demand("DP_TC", {"TMPDIS": 1})
        with self._restoring({"DP_TC": control}):
            self._flush(control)
        return self._unit.read("DP_TW")

    def resume(self) -> None:
        control = self._on()
        if not self.is_paused(control):
            raise UsageError("the trace is not paused (DP_TC = 0x%08x)" % control)
        self._demand("DP_TC", {"TMPDIS": 0})
        with self._restoring({"DP_TC": control}):
            self._set("DP_TC", {"TMPDIS": 0}, control)

    def stop(self) -> int:
        """The write pointer before EN went off. TMPDIS is cleared last. Raises UsageError, TargetError."""
        control = self._on()
        self._demand("DP_TC", {"TMPDIS": 1, "EN": 0})
        with self._restoring({"DP_TC": control}):
            paused = self._flush(control)
            pointer = self._unit.read("DP_TW")
            off = self._set("DP_TC", {"EN": 0}, paused)
            self._set("DP_TC", {"TMPDIS": 0}, off)
        return pointer

    def _on(self) -> int:
        control = self.control()
        if not self.is_on(control):
            raise UsageError("the trace is off (DP_TC = 0x%08x): `dpu trace start`" % control)
        return control

    def _flush(self, control: int) -> int:
        """TMPDIS, and all that was under way in the buffer. What DP_TC is then."""
        self._wait()
        if self.is_paused(control):
            return control
        paused = self._set("DP_TC", {"TMPDIS": 1}, control)
        self._wait()
        return paused

    # -- waiting ---------------------------------------------------------------------

    def _wait(self) -> None:
        """Until nothing is under way to the buffer. Raises TargetError when it takes too long."""
        busy = self._unit.description.placed("DP_SR", "TWBA")
        if busy is not None:
            self._until_not_busy(busy)
        elif self._force:
            self._until_still()
        else:
            raise UsageError(
                "where TWBA lies in DP_SR is not known, and so not when all is in the buffer: complete the "
                "description, or -force waits for DP_TW to stand still"
            )

    def _until_not_busy(self, busy: Field) -> None:
        began, reads = self._clock(), 0
        while reads < MOST_READS and self._clock() - began <= MOST_S:
            status = self._unit.read("DP_SR")
            reads += 1
            if not busy.of(status):
                return
        raise TargetError(
            "DP_SR.TWBA stays set: DP_SR = 0x%08x after %d reads in %.1f s"
            % (status, reads, self._clock() - began)
        )

    def _until_still(self) -> None:
        began, reads, same = self._clock(), 1, 0
        pointer = self._unit.read("DP_TW")
        while reads < MOST_READS and self._clock() - began <= MOST_S:
            before, pointer = pointer, self._unit.read("DP_TW")
            reads += 1
            same = same + 1 if pointer == before else 0
            if same >= STILL_READS:
                note = (
                    "where TWBA lies is not known: DP_TW stood still for %d reads, which does not prove that "
                    "all is in the buffer" % STILL_READS
                )
                self.unproven = [note]
                return
        raise TargetError("DP_TW = 0x%08x moves on, after %d reads: is the core halted?" % (pointer, reads))

    # -- writing ---------------------------------------------------------------------

    def _demand(self, register: str, fields: Dict[str, Setting]) -> None:
        """Before anything is written: that all of it may be, and that a wait can be."""
        demand_verified([self._unit.setting(register, fields)], self._force)

    def _set(self, register: str, fields: Dict[str, Setting], before: int) -> int:
        return self._write(self._unit.setting(register, fields, before))

    def _write(self, write: Write) -> int:
        self._touched.append(write.register)
        self._unit.perform([write], self._force)
        self._written[write.register] = write.value
        self.facts += write.facts
        return write.value

    @contextlib.contextmanager
    def _restoring(self, before: Mapping[str, int]) -> Iterator[None]:
        """Where it fails, or is interrupted, the registers that were written are given their former values,
        and that is said."""
        self._touched = []
        try:
            yield
        except UsageError:  # nothing was written
            raise
        except (GdbProfError, KeyboardInterrupt) as error:
            reason = str(error) if isinstance(error, GdbProfError) else "interrupted"
            raise TargetError("%s; %s" % (reason, self._put_back(before))) from None
        except BaseException:
            self._put_back(before)
            raise

    def _put_back(self, before: Mapping[str, int]) -> str:
        """What there is to be said of it."""
        touched = list(dict.fromkeys(reversed(self._touched)))
        if not touched:
            return "no register was changed"
        if self._is_off_since(before["DP_TC"]):
            # EN set anew would begin at the buffer's start, over what is in it
            return "the trace is off"
        for register in touched:
            self._written[register] = before[register]
        return self._unit.put_back([self._unit.raw(register, before[register]) for register in touched])

    def _is_off_since(self, control: int) -> bool:
        try:
            return self.is_on(control) and not self.is_on(self.control())
        except GdbProfError:
            return False
