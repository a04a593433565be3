"""A decoded SWO capture -> a profile."""

from __future__ import annotations

from typing import Callable, Optional

from gdb_prof.errors import FileError
from gdb_prof.profile.samples import CYCLES, Profile, Timing
from gdb_prof.profile.shares import ASLEEP
from gdb_prof.profile.source import PROHIBITED, SWO, Source
from gdb_prof.swo import capture as swo
from gdb_prof.wording import percent

TIMER = "DWT over SWO"
_LOOKS_WRONG = "%s looks wrong: %s: is the bit rate or the core's clock another one?"


def timing(period: Optional[int], clock_hz: Optional[float]) -> Timing:
    """A sample every so many cycles of the core's clock; None where unknown."""
    return Timing(TIMER, period, tick_hz=clock_hz, unit=CYCLES)


def profile_of(
    capture: swo.Capture, timing: Timing, origin: str, is_code: Optional[Callable[[int], bool]] = None
) -> Profile:
    """`timing`: how the core was told to sample, as far as that is known. `is_code`: which addresses are the
    program's. Raises FileError where the capture is no stream of that program."""
    why = _nonsense(capture, capture.part(is_code) if is_code else None)
    if why:
        raise FileError(
            "%s looks wrong: %s: is the bit rate or the core's clock another one?" % (origin, why)
        )
    return Profile(
        pcs=capture.samples,
        taken=len(capture.samples),
        timing=timing,
        origin=origin,
        source=Source(
            kind=SWO,
            overflows=capture.overflows,
            lost=capture.lost,
            unbounded=capture.loss.unbounded,
            timestamps=capture.ticks is not None,
            damaged=1.0 - capture.quality,
            synchronised=capture.syncs > 0,
        ),
        remarks=() if capture.trace_id is None else ("in TPIU frames: of trace ID %d" % capture.trace_id,),
        marks={swo.ASLEEP: ASLEEP, swo.PROHIBITED: PROHIBITED},
    )


_LEAST_IN_CODE = 0.5
_FEWEST = 16
_MOST_PORTS = 32
"""An Armv7-M has no more. Bits that are read at a wrong rate make well-formed writes to any of 256."""


def _nonsense(capture: swo.Capture, in_code: Optional[float]) -> str:
    """Why this is no stream of that program, as of a wrong bit rate; empty where it may be one.

    `in_code`: the part of the samples with an address that is in the program; None where unknown.
    """
    if capture.looks_wrong:
        return "%s of its bytes are no packet" % percent(1 - capture.quality)
    ports = len(capture.stimulus)
    if ports > _MOST_PORTS and not capture.syncs:
        return "%s of its bytes are no packet, and it has writes to %d stimulus ports" % (
            percent(1 - capture.quality),
            ports,
        )
    doubtful = capture.quality < 1 and not capture.syncs
    if in_code is not None and in_code < _LEAST_IN_CODE and doubtful and len(capture.samples) >= _FEWEST:
        return "%s of its bytes are no packet, and %s of its PC samples are outside the program" % (
            percent(1 - capture.quality),
            percent(1 - in_code),
        )
    return ""
