"""The sampler (firmware/prof) as it lives in a target: its symbols, its state, its timer.

The layouts are those of ``firmware/prof/prof.h``; a build without ``prof_info`` (the
published sampler) is read by its symbols alone.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import List, Optional

import gdb

from gdb_prof.errors import GdbProfError, ProgramError, TargetError
from gdb_prof.printable import from_array
from gdb_prof.profile.program.image import Symbol
from gdb_prof.profile.samples import Histogram, Profile, Timing, elapsed, in_order
from gdb_prof.profile.saved.uart_text import TIMERS
from gdb_prof.target import freertos, session
from gdb_prof.target.call import call
from gdb_prof.target.images import Program
from gdb_prof.target.variables import Variables

_INFO = struct.Struct("<I4BI2BHIIII32sI")
_MAGIC = 0x464F5250
_SYSTICK, _TIM3, _UNKNOWN = 0, 1, 255

_VARIABLES = (
    *("prof_n", "prof_limit", "prof_jitter", "prof_period", "prof_clock"),
    *("prof_pc", "prof_tag", "prof_lr", "prof_hist", "prof_out", "prof_saturated"),
)

_SAMPLED = ("prof_n", "prof_pc", "prof_tag", "prof_lr", "prof_hist", "prof_out", "prof_saturated")

_SYST_CSR, _VTOR = 0xE000E010, 0xE000ED08
_ADD = "add firmware/prof/prof.c to the build"


@dataclasses.dataclass(frozen=True)
class Info:
    """`struct prof_info`: what a symbol's size does not tell."""

    timer: int
    base: int
    shift: int
    exception: int
    prescaler: int
    period_max: int
    reload: int
    handler: int
    tag: str
    clock_hz: int


class Sampler:
    """The sampler of a loaded program. Raises ProgramError when it has none."""

    def __init__(self, program: Program, clock_hz: int = 0, shift: int = 0) -> None:
        self._program = program
        self._clock_hz = clock_hz
        self._find("prof_n")
        self.data = program.find("prof_pc") or program.find("prof_hist")
        if self.data is None:
            raise ProgramError("no symbol `prof_pc` or `prof_hist` in %s: %s" % (program.name, _ADD))
        self.histogram = self.data.name == "prof_hist"
        self.size = self.data.size // (2 if self.histogram else 4)
        if not self.size:
            raise ProgramError("`%s` has no size in %s" % (self.data.name, program.name))
        if not self.histogram and self.size & (self.size - 1):
            raise ProgramError(
                "`prof_pc` holds %d words, not a power of two: where the oldest sample is cannot be told"
                % self.size
            )
        self.info = self._read_info(shift)

    # -- what it is ---------------------------------------------------------------

    def _find(self, name: str) -> Symbol:
        symbol = self._program.find(name)
        if symbol is None:
            raise ProgramError("no symbol `%s` in %s: %s" % (name, self._program.name, _ADD))
        return symbol

    def _address(self, name: str) -> Optional[int]:
        symbol = self._program.find(name)
        return symbol.address if symbol else None

    def _read_info(self, shift: int) -> Info:
        symbol = self._program.find("prof_info")
        if symbol is None:
            base = self._program.find("_stext")
            if self.histogram and (not shift or base is None):
                raise ProgramError(
                    "`prof_hist` without `prof_info` does not say what a bin covers: set prof shift, "
                    "and give the program a symbol `_stext`"
                )
            return Info(
                timer=_UNKNOWN,
                base=base.address if base else 0,
                shift=shift,
                exception=0,
                prescaler=0,
                period_max=1 << 24,
                reload=0,
                handler=0,
                tag="",
                clock_hz=0,
            )
        raw = session.read(symbol.address, _INFO.size, "prof_info")
        magic, _, _, timer, _, base_, shift, _, exception, scale, most, reload, handler, tag, hz = (
            _INFO.unpack(raw)
        )
        if magic != _MAGIC:
            raise TargetError(
                "the target does not hold %s: no sampler at `prof_info` (0x%08x): load it"
                % (self._program.name, symbol.address)
            )
        return Info(timer, base_, shift, exception, scale, most, reload, handler, from_array(tag), hz)

    @property
    def timer(self) -> str:
        if self.info.timer == _UNKNOWN:
            return Timing.timer
        return TIMERS[min(self.info.timer, len(TIMERS) - 1)]

    @property
    def has_jitter(self) -> bool:
        return self._program.find("prof_jitter") is not None

    @property
    def done(self) -> Optional[int]:
        """The address of `prof_done`."""
        address = self._address("prof_done")
        return None if address is None else address & ~1

    @property
    def clock_known(self) -> bool:
        return bool(self._clock_hz) or (
            self.info.timer == _SYSTICK and self._address("SystemCoreClock") is not None
        )

    def tick_hz(self) -> Optional[float]:
        """Ticks a second of the sampler's timer: the user's setting, or the processor's clock."""
        hz = self._clock_hz
        if not hz and self.info.timer == _SYSTICK:
            hz = self.core_hz()
        return hz / (self.info.prescaler + 1) if hz else None

    def core_hz(self) -> int:
        """CMSIS's SystemCoreClock in the target's memory; 0 without one."""
        address = self._address("SystemCoreClock")
        return session.read_word(address, "SystemCoreClock") if address is not None else 0

    # -- run it -------------------------------------------------------------------

    def start(self, period: int, limit: int, jitter: int) -> List[str]:
        """Stop what runs, call prof_start, and see that it did what it says.

        Returns what could not be checked, for the user. Raises ProgramError, TargetError,
        with the sampler's settings as before.
        """
        start = self._find("prof_start")
        doubts = self._check_vector()
        if self.sampling() is not False and self._program.find("prof_stop") is not None:
            self.stop()  # or the old timer's ticks would fall into the new profile
        # A limit that is certainly another one, so that its change shows that prof_start ran.
        settings = {"prof_jitter": jitter, "prof_limit": limit ^ 0xFFFFFFFF}
        before = {}
        for name, value in settings.items():
            address = self._address(name)
            if address is not None:
                before[address] = session.read_word(address, name)
                session.write_word(address, value, name)
        try:
            call(start.name, start.address, (period, limit))
            limit_at = self._address("prof_limit")
            if limit_at is not None and session.read_word(limit_at, "prof_limit") != limit:
                raise TargetError("prof_start returned without starting: it did not set prof_limit")
            running = self.sampling()
            if running is False and not (limit and self.taken() == limit):
                raise ProgramError("prof_start returned, but %s does not run" % self.timer)
        except GdbProfError:
            for address, was in before.items():
                session.write_word(address, was, "the sampler's settings")
            raise
        if running is None and self.info.timer in (_SYSTICK, _TIM3):
            doubts.append("whether %s runs cannot be read here" % self.timer)
        return doubts

    def stop(self) -> None:
        """Call prof_stop, and take out what was sampled meanwhile: that is our own call."""
        stop = self._find("prof_stop")
        before = self._memory()
        call(stop.name, stop.address, ())
        if self.taken() != before.word("prof_n"):
            before.put_back(_SAMPLED)

    def _check_vector(self) -> List[str]:
        """Does the timer's vector lead to the sampler? Raises ProgramError when it does not."""
        if not self.info.handler or not self.info.exception:
            return []
        try:
            table = session.read_system_word(_VTOR, "VTOR") & ~0x7F
            vector = session.read_word(table + 4 * self.info.exception, "the vector table")
        except TargetError:
            return ["whether the timer's vector leads to the sampler cannot be read here"]
        if vector | 1 != self.info.handler | 1:
            named = self._program.functions.at(vector & ~1)
            raise ProgramError(
                "vector %d leads to %s, not to the sampler at 0x%08x: no sample would be taken, unless "
                "that calls it: then have the program start it"
                % (
                    self.info.exception,
                    named.name if named else "0x%08x" % vector,
                    self.info.handler & ~1,
                )
            )
        return []

    def sampling(self) -> Optional[bool]:
        """Whether the timer runs; None where that cannot be read, or only the program knows."""
        try:
            if self.info.timer == _SYSTICK:
                return session.read_system_word(_SYST_CSR, "SYST_CSR") & 3 == 3
            if self.info.timer == _TIM3:
                return bool(session.read_system_word(self.info.reload & ~0xFF, "TIM3_CR1") & 1)
        except TargetError:
            pass
        return None

    # -- read it ------------------------------------------------------------------

    def taken(self) -> int:
        """Samples since the start."""
        return session.read_word(self._find("prof_n").address, "prof_n")

    def profile(self, build_id: str) -> Profile:
        """All that was sampled, in one read of memory. Raises TargetError."""
        memory = self._memory()
        taken = memory.word("prof_n") or 0
        limit = memory.word("prof_limit") or 0
        timing = self._timing(memory)
        common = Profile(
            taken=taken, limit=limit, timing=timing, build_id=build_id, program=self._program.name
        )
        if self.histogram:
            histogram = Histogram(
                self.info.base,
                self.info.shift,
                struct.unpack("<%dH" % self.size, memory.bytes("prof_hist") or b""),
                memory.word("prof_out") or 0,
                memory.word("prof_saturated") or 0,
            )
            return dataclasses.replace(common, histogram=histogram)
        # Halted in the handler, the oldest sample's place may hold half of the next one.
        first = 1 if taken >= self.size and self._in_handler() else 0
        columns = {name: memory.words(name) for name in ("prof_pc", "prof_tag", "prof_lr")}
        pcs, tags, lrs = (
            None if words is None else in_order(words, taken)[first:] for words in columns.values()
        )
        return dataclasses.replace(
            common,
            pcs=pcs or (),
            tags=tags,
            lrs=lrs,
            tag_symbol=self.info.tag,
            tag_names=freertos.task_names(sorted(set(tags))) if tags else {},
        )

    def _in_handler(self) -> bool:
        handler = self._program.functions.at(self.info.handler & ~1)
        here = self._program.functions.at(int(gdb.newest_frame().pc()) & ~1)
        return handler is not None and here == handler

    def _memory(self) -> Variables:
        found = {name: self._program.find(name) for name in _VARIABLES}
        symbols = {name: symbol for name, symbol in found.items() if symbol is not None}
        return Variables(symbols)

    def _timing(self, memory: Variables) -> Timing:
        period = memory.word("prof_period")
        if period is None and self.info.reload:
            try:
                period = session.read_system_word(self.info.reload, "the timer's reload register")
            except TargetError:
                period = None
        timing = Timing(
            self.timer,
            period + 1 if period else None,
            memory.word("prof_jitter") or 0,
            self.tick_hz(),
        )
        return dataclasses.replace(timing, elapsed_s=self._elapsed(memory, timing))

    def _elapsed(self, memory: Variables, timing: Timing) -> Optional[float]:
        """Seconds by the program's PROF_CLOCK from the start to the stop."""
        clock = memory.words("prof_clock")
        clock_hz = self.info.clock_hz or self.core_hz()
        taken = memory.word("prof_n") or 0
        if not clock or not clock_hz or not timing.mean_ticks or not timing.tick_hz or not taken:
            return None
        if self.sampling() is not False:
            return None  # still running: the second word is from an earlier stop
        return elapsed(clock, clock_hz, taken * timing.mean_ticks / timing.tick_hz)
