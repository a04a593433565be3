"""The calls that led to where the program stands, as GDB unwinds them, and checked against the code."""

from __future__ import annotations

import functools
from typing import Dict, Iterator, List, Optional, Tuple

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.profile.call_stacks import EXCEPTION, TRUNCATED
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.target import session

DEEPEST = 32
"""Frames of a stack. GDB reads the target for each, and the program stands meanwhile."""
_NO_CODE = 0xE0000000
"""From here on there is no code (Armv7-M ARM, B3.1): what LR holds after a reset, or EXC_RETURN."""
_ON_PSP = 4
"""EXC_RETURN.SPSEL: what was interrupted has the process stack, as tasks do (Armv7-M ARM, B1.5.8)."""
_NOT_REAL = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
"""GDB makes these of debug information: they have no frame of their own on the stack."""


class Unwinder:
    """Call stacks of a program with these functions."""

    def __init__(self, functions: FunctionMap) -> None:
        self._functions = functions
        self._bottoms: Dict[int, bool] = {}
        self._calls: Dict[int, bool] = {}

    def stack(self) -> Tuple[int, ...]:
        """The PC, then an address within each call that led there, innermost first; where an exception
        came in between, EXC_RETURN and the address that it interrupted; last TRUNCATED where
        more is not known. Of the stopped thread. Raises gdb.error where not even the PC can be read.
        """
        found: List[int] = []
        try:
            for frame, in_call in _real_frames():
                pc = int(frame.pc()) & 0xFFFFFFFF
                if frame.type() == gdb.SIGTRAMP_FRAME:
                    found.append(pc if pc >= EXCEPTION else EXCEPTION)
                    if pc & _ON_PSP and not self._has_psp:
                        return (*found, TRUNCATED)
                    continue
                if in_call and self._is_bottom(pc):
                    return tuple(found)
                if len(found) >= DEEPEST or (in_call and not self._is_after_call(pc)):
                    return (*found, TRUNCATED)
                found.append((pc & ~1) - 2 if in_call else pc & ~1)
        except gdb.error:
            if not found:
                raise
            return (*found, TRUNCATED)
        return tuple(found)

    @functools.cached_property
    def _has_psp(self) -> bool:
        """Without it GDB takes the main stack for a task's, and shows calls that never were."""
        try:
            gdb.newest_frame().read_register("psp")
        except (gdb.error, ValueError):
            return False
        return True

    def _is_bottom(self, back: int) -> bool:
        """No return address: what an RTOS or a reset leaves for a function that has no caller."""
        if back not in self._bottoms:
            self._bottoms[back] = self._has_no_caller(back)
        return self._bottoms[back]

    def _has_no_caller(self, back: int) -> bool:
        function = self._functions.at(back & ~1)
        at_start = function is not None and function.symbol and function.address == back & ~1
        return not back or back >= _NO_CODE or (at_start and not self._is_after_call(back))

    def _is_after_call(self, back: int) -> bool:
        """Whether the instruction before is a call: BL, or BLX or BLXNS of a register (Armv8-M ARM, C2.4)."""
        if back not in self._calls:
            self._calls[back] = self._follows_call(back)
        return self._calls[back]

    def _follows_call(self, back: int) -> bool:
        end = back & ~1
        if self._functions.at(end - 2) is None:
            return False
        try:
            code = session.read(end - 4, 4, "code")
        except TargetError:
            return True  # GDB could unwind it; what is there cannot be looked at
        high, low = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
        is_long = high & 0xF800 == 0xF000 and low & 0xD000 == 0xD000
        return is_long or low & 0xFF80 == 0x4780


def _real_frames() -> Iterator[Tuple[gdb.Frame, bool]]:
    """From the innermost on; and whether its PC is a return address, and not where it was interrupted."""
    frame: Optional[gdb.Frame] = gdb.newest_frame()
    in_call = False
    while frame is not None:
        if frame.type() not in _NOT_REAL:
            yield frame, in_call
            in_call = frame.type() != gdb.SIGTRAMP_FRAME
        frame = frame.older()
