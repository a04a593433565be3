"""DWT, ITM and TPIU: the core's own PC samples, switched on and off by the debugger.

Registers and bits: Armv7-M ARM, C1.8 (DWT), C1.7 (ITM), C1.10 (TPIU), C1.6.5 (DEMCR). Every write is
read back, since a server may drop it, and a part may not have the bit.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Callable, Dict, Optional, Tuple

from gdb_prof.errors import TargetError, UsageError
from gdb_prof.target import session
from gdb_prof.target.running import settings

DEMCR, TRCENA = 0xE000EDFC, 1 << 24
_TER, _TCR, _LAR, _LSR = 0xE00, 0xE80, 0xFB0, 0xFB4
_LOCKED = 1 << 1
_UNLOCK = 0xC5ACCE55
_ITMENA, _TSENA, _SYNCENA, _DWTENA, _BUSY = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 23
_PRESCALE, _BUS_ID = 3 << 8, 0x7F << 16
_CYCCNTENA, _CYCTAP, _PCSAMPLENA, _EXCTRCENA, _CYCEVTENA = 1, 1 << 9, 1 << 12, 1 << 16, 1 << 22
_POSTPRESET, _POSTINIT, _SYNCTAP = 0xF << 1, 0xF << 5, 3 << 10
_SYNC_16M = 1 << 10
"""A synchronisation packet every 16 M cycles, the most frequent choice."""
_NOCYCCNT, _NOTRCPKT = 1 << 25, 1 << 27
_ACPR, _SPPR, _FFCR = 0x010, 0x0F0, 0x304
_USES_POSTCNT = _PCSAMPLENA | _CYCEVTENA
_NRZ, _FORMATS, _TRIGGER_IN, _MOST_DIVIDER = 2, 3, 1 << 8, 0xFFFF
_CIDR = 0xFF0
_CORESIGHT = (0x0D, 0x05, 0xB1)
"""The component ID of a CoreSight component (Arm IHI 0029, B2.2), without its class."""
_TAPS = (64, 1024)
_BUSY_READS = 100

_NO_HARDWARE = "no trace hardware answers here"
_users: Dict[str, Callable[[], bool]] = {}


@dataclasses.dataclass(frozen=True)
class Bases:
    """Where the units are: the architecture's addresses; a part may have its SWO unit elsewhere."""

    itm: int = 0xE0000000
    dwt: int = 0xE0001000
    tpiu: int = 0xE0040000


@dataclasses.dataclass(frozen=True)
class Sampling:
    """A sample every tap * (postcnt + 1) cycles. `tap`: 64 or 1024; `postcnt`: 0..15."""

    tap: int
    postcnt: int

    @property
    def cycles(self) -> int:
        return self.tap * (self.postcnt + 1)


def sampling_near(cycles: float) -> Sampling:
    """The choice whose period is nearest in ratio; of two alike the one with the larger tap."""
    choices = [Sampling(tap, postcnt) for tap in _TAPS for postcnt in range(16)]
    return min(
        choices,
        key=lambda s: (
            abs(s.cycles / cycles - 1) if s.cycles > cycles else abs(cycles / s.cycles - 1),
            -s.tap,
        ),
    )


def period_of(ctrl: int) -> int:
    """The sampling period in cycles that a DWT_CTRL says."""
    return _TAPS[bool(ctrl & _CYCTAP)] * ((ctrl >> 1 & 0xF) + 1)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """`divider`: the trace clock's cycles a bit. `ports`: stimulus ports to enable beside those that are.
    `prescale`: 0..3 for timestamps counted by 1, 4, 16 or 64 cycles; None for none."""

    sampling: Sampling
    divider: int
    exceptions: bool = False
    ports: Tuple[int, ...] = ()
    prescale: Optional[int] = 0


def enable_trace(
    read: Callable[[int], int],
    write: Callable[[int, int], None],
    missing: str = _NO_HARDWARE,
    instead: str = ": sample by a timer",
) -> int:
    """Set DEMCR.TRCENA, without which the units do not answer; returns DEMCR as it was. Raises TargetError
    where it does not stay set: what is `missing` then, and what to do `instead`."""
    demcr = read(DEMCR)
    if not demcr & TRCENA:
        write(DEMCR, demcr | TRCENA)
        if not read(DEMCR) & TRCENA:
            raise TargetError("%s: DEMCR.TRCENA does not stay set (QEMU has none)%s" % (missing, instead))
    return demcr


def demand_unused() -> None:
    """Raises UsageError where somebody else is to put the DWT back as it was found: two of them would put
    back what the other has set."""
    for ends, goes_on in list(_users.items()):
        if goes_on():
            raise UsageError("the DWT is in use: `%s` first" % ends)
        del _users[ends]


def used(ends: str, goes_on: Callable[[], bool]) -> None:
    """Say that the DWT is in use, for as long as `goes_on`. `ends`: the command that ends it."""
    _users[ends] = goes_on


class CoreTrace:
    """The units of the live, stopped target: `enable`, `start`, then `stop`, which puts back what
    `enable` found."""

    def __init__(self, bases: Bases) -> None:
        self.bases = bases
        self._found: Dict[int, int] = {}
        self._was_locked = self._started = False
        self._names = {
            DEMCR: "DEMCR",
            bases.tpiu + _SPPR: "TPIU_SPPR",
            bases.tpiu + _ACPR: "TPIU_ACPR",
            bases.tpiu + _FFCR: "TPIU_FFCR",
            bases.itm + _TER: "ITM_TER",
            bases.itm + _TCR: "ITM_TCR",
            bases.dwt: "DWT_CTRL",
        }

    def enable(self) -> None:
        """Have the units answer, and remember their registers. Raises TargetError where there are none
        that can sample; then `stop`, too."""
        demcr = enable_trace(self._read, self._write)
        self._found = {DEMCR: demcr}
        self._demand_unit(self.bases.itm, "ITM", "itm")
        self._was_locked = bool(self._words(self.bases.itm + _LSR, 1, "ITM_LSR")[0] & _LOCKED)
        ctrl = self._read(self.bases.dwt)
        if not ctrl:
            raise TargetError(
                "%s: DWT_CTRL at 0x%08x reads 0: sample by a timer, or give -dwt-base"
                % (_NO_HARDWARE, self.bases.dwt)
            )
        if ctrl & (_NOTRCPKT | _NOCYCCNT):
            missing = "trace packets" if ctrl & _NOTRCPKT else "cycle counter"
            raise TargetError(
                "this core's DWT has no %s (DWT_CTRL 0x%08x): sample by a timer" % (missing, ctrl)
            )
        self._demand_unit(self.bases.tpiu, "trace port unit", "tpiu")
        for address in self._names:
            self._found.setdefault(address, self._read(address))

    def start(self, wanted: Wanted) -> None:
        """Raises TargetError naming the register that did not take its value; UsageError."""
        if not 1 <= wanted.divider <= _MOST_DIVIDER + 1:
            raise UsageError(
                "the trace clock divided by %d: the divider goes from 1 to %d: give another -baud"
                % (wanted.divider, _MOST_DIVIDER + 1)
            )
        self._started = True
        self._itm_off()
        base = self.bases.tpiu
        self._set(base + _SPPR, _NRZ, 3)
        self._set(base + _ACPR, wanted.divider - 1, _MOST_DIVIDER)
        if self._found[base + _FFCR]:  # 0 where the unit has no formatter: a SWO unit of its own
            self._set(base + _FFCR, _TRIGGER_IN, _FORMATS | _TRIGGER_IN)
        self._itm(wanted)
        ctrl = self._found[self.bases.dwt]
        quiet = ctrl & ~(_USES_POSTCNT | _EXCTRCENA | _SYNCTAP) | _CYCCNTENA | _SYNC_16M
        self._dwt(quiet, wanted.sampling, _PCSAMPLENA | (_EXCTRCENA if wanted.exceptions else 0))

    def stop(self) -> None:
        """Every register as it was found. Raises TargetError naming one that is not: then again."""
        if not self._found:
            return
        if self._started:
            dwt, itm, tpiu = self.bases.dwt, self.bases.itm, self.bases.tpiu
            # what POSTCNT reloads only changes while nothing uses it
            self._write(dwt, self._read(dwt) & ~_USES_POSTCNT)
            self._restore(dwt)
            self._itm_off()
            for address in (tpiu + _FFCR, tpiu + _ACPR, tpiu + _SPPR, itm + _TER, itm + _TCR):
                self._restore(address)
            if self._was_locked:
                self._write(itm + _LAR, 0)
            self._started = False
        self._restore(DEMCR)  # last: behind it the units do not answer any more
        self._found = {}

    def _restore(self, address: int) -> None:
        if self._read(address) != self._found[address]:
            self._set(address, self._found[address], ~_BUSY)

    def set_period(self, sampling: Sampling) -> None:
        """Another period while it samples."""
        ctrl = self._read(self.bases.dwt)
        self._dwt(ctrl & ~_USES_POSTCNT, sampling, ctrl & _USES_POSTCNT)

    def _demand_unit(self, base: int, what: str, option: str) -> None:
        """Each unit has the component ID of CoreSight; the class in it is the part's."""
        ids = tuple(word & 0xFF for word in self._words(base + _CIDR, 4, "the component ID of the " + what))
        if (ids[0], ids[2], ids[3]) != _CORESIGHT:
            raise TargetError(
                "no %s at 0x%08x: its component ID reads %s, expected 0d .. 05 b1: give -%s-base"
                % (what, base, " ".join("%02x" % b for b in ids), option)
            )

    def _itm_off(self) -> None:
        """What it sends changes only while it sends nothing. It has a lock on Armv7-M."""
        base = self.bases.itm
        self._write(base + _LAR, _UNLOCK)
        self._write(base + _TCR, self._read(base + _TCR) & ~(_ITMENA | _BUSY))
        if all(self._read(base + _TCR) & _BUSY for _ in range(_BUSY_READS)):
            raise TargetError("ITM_TCR.BUSY stays set: reset the target")

    def _itm(self, wanted: Wanted) -> None:
        base = self.bases.itm
        tcr, ter = self._found[base + _TCR], self._found[base + _TER]
        ports = sum(1 << port for port in wanted.ports)
        if ter | ports != ter:
            self._set(base + _TER, ter | ports)
        value = tcr & _BUS_ID or 1 << 16
        value |= _ITMENA | _SYNCENA | _DWTENA
        if wanted.prescale is not None:
            value |= _TSENA | wanted.prescale << 8
        self._set(base + _TCR, value, _ITMENA | _SYNCENA | _DWTENA | _TSENA | _PRESCALE | _BUS_ID)

    def _dwt(self, quiet: int, sampling: Sampling, traced: int) -> None:
        """Write `quiet`, in which nothing uses POSTCNT, then the period, then what is `traced`: the
        order that POSTCNT demands."""
        base = self.bases.dwt
        self._set(base, quiet)
        value = quiet & ~(_POSTPRESET | _POSTINIT | _CYCTAP)
        value |= sampling.postcnt << 1 | sampling.postcnt << 5
        value |= _CYCTAP if sampling.tap == _TAPS[1] else 0
        self._set(base, value)
        self._set(base, value | traced)

    # -- words ---------------------------------------------------------------------

    def _set(self, address: int, value: int, mask: int = 0xFFFFFFFF) -> None:
        """Write; the bits of `mask` must take. Raises TargetError."""
        self._write(address, value)
        there = self._read(address)
        if there & mask != value & mask:
            raise TargetError(
                "%s at 0x%08x did not take 0x%08x: it reads 0x%08x"
                % (self._names[address], address, value, there)
            )

    def _read(self, address: int) -> int:
        return self._words(address, 1, self._names[address])[0]

    @staticmethod
    def _words(address: int, number: int, name: str) -> Tuple[int, ...]:
        with settings(("mem inaccessible-by-default", "off")):
            return struct.unpack("<%dI" % number, session.read(address, 4 * number, name))

    def _write(self, address: int, value: int) -> None:
        name = self._names.get(address, "ITM_LAR")
        with settings(("mem inaccessible-by-default", "off")):
            session.write(address, struct.pack("<I", value), name)
