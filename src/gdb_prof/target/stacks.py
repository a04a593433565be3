"""Where a task stands that does not run: its saved registers, unwound by GDB.

No register is written: an unwinder of ours tells GDB that the frame it stands in was called
from the task's saved context, and GDB's own unwinding goes on from there.
"""

from __future__ import annotations

import struct
from typing import Dict, List, Optional

import gdb
from gdb.unwinder import Unwinder

from gdb_prof.errors import TargetError
from gdb_prof.printable import printable
from gdb_prof.target.freertos import TaskState
from gdb_prof.target.memory import Memory
from gdb_prof.target.registers import level_of_selected_frame
from gdb_prof.wording import base

_MOST_FRAMES = 8


class _FrameId:
    def __init__(self, sp: gdb.Value, pc: gdb.Value) -> None:
        self.sp, self.pc = sp, pc


class _SavedContext(Unwinder):
    """Claims the innermost frame, and gives the task's registers as its caller's."""

    def __init__(self, registers: Dict[str, int]) -> None:
        super().__init__("gdb_prof task")
        self._registers = registers
        self._used = False

    def __call__(self, pending_frame: "gdb.PendingFrame") -> "Optional[gdb.UnwindInfo]":
        pending = pending_frame
        if self._used:
            return None
        self._used = True
        # GDB ends a backtrace where a caller's stack is not above its callee's: the innermost
        # frame, on another stack, gets a place below the task's
        below = gdb.Value(self._registers["sp"] - 32).cast(pending.read_register("sp").type)
        info = pending.create_unwind_info(_FrameId(below, pending.read_register("pc")))
        # every register has to be given: one that is not counts as lost, and ends the backtrace
        for name in [*_names(pending), *self._registers]:
            try:
                now = pending.read_register(name)
            except (gdb.error, ValueError):
                continue  # xpsr has another name with another server
            value = self._registers.get(name)
            info.add_saved_register(name, now if value is None else gdb.Value(value).cast(now.type))
        return info


def _names(pending: "gdb.PendingFrame") -> List[str]:
    """All registers of the target, where GDB can list them (11 and later)."""
    architecture = pending.architecture()
    return [str(r) for r in architecture.registers()] if hasattr(architecture, "registers") else []


def backtrace(task: TaskState, memory: Memory) -> str:
    """`work_us (tasks.h:15) < low (inversion.c:17)`, innermost first; empty where unknown."""
    if task.where == "running":
        return _frames(gdb.newest_frame())
    registers = _saved(task.stack_top, memory)
    if registers is None:
        return ""
    level = level_of_selected_frame()
    unwinder = _SavedContext(registers)
    # the newest registered is asked first
    gdb.unwinder.register_unwinder(None, unwinder, replace=True)
    gdb.invalidate_cached_frames()
    try:
        caller = gdb.newest_frame().older()
        return _frames(caller) if caller is not None else ""
    except gdb.error:
        return ""
    finally:
        gdb.frame_unwinders.remove(unwinder)
        gdb.invalidate_cached_frames()
        frame: Optional[gdb.Frame] = gdb.newest_frame()
        for _ in range(level):
            frame = frame.older() if frame is not None else None
        if frame is not None:
            frame.select()


def _saved(top: int, memory: Memory) -> Optional[Dict[str, int]]:
    """The registers that FreeRTOS's M3, M4F, M7 and M33 ports saved at pxTopOfStack.

    Ascending: (M33: PSPLIM, EXC_RETURN,) r4-r11, (M4F: EXC_RETURN, s16-s31 where it says
    so), then what the core stacked: r0-r3, r12, lr, pc, xPSR (ARMv7-M ARM, B1.5.6).
    """
    if not top or top % 4:
        return None
    try:
        words = struct.unpack("<36I", memory.read(top, 144))
    except TargetError:
        return None
    at = 2 if words[1] >> 8 == 0xFFFFFF else 0  # M33
    low = words[at : at + 8]
    at += 8
    floats = False
    if at == 8 and words[at] >> 8 == 0xFFFFFF:  # M4F, M7
        floats = not words[at] & 0x10
        at += 1
    elif at == 10:
        floats = not words[1] & 0x10
    at += 16 if floats else 0
    stacked = words[at : at + 8]
    if len(stacked) < 8 or stacked[7] >> 24 & 1 == 0:  # a task's xPSR has its Thumb bit
        return None
    size = (at + 8) * 4 + (72 if floats else 0) + (4 if stacked[7] >> 9 & 1 else 0)
    names = ["r%d" % number for number in range(4, 12)]
    saved = {**dict(zip(names, low)), **dict(zip(("r0", "r1", "r2", "r3", "r12", "lr"), stacked))}
    return {
        **saved,
        "pc": stacked[6] & ~1,
        "sp": top + size,
        "xpsr": stacked[7],
        "xPSR": stacked[7],
        "psp": top + size,
    }


def _frames(frame: Optional[gdb.Frame]) -> str:
    parts: List[str] = []
    while frame is not None and len(parts) < _MOST_FRAMES:
        name = frame.name()
        if frame.type() == gdb.SIGTRAMP_FRAME:  # what was interrupted is what counts
            parts = []
        elif name is None:
            break
        else:
            parts.append(printable(name) + _place(frame))
        try:
            frame = frame.older()
        except gdb.error:
            break
    return " < ".join(parts)


def _place(frame: gdb.Frame) -> str:
    found = frame.find_sal()
    if found.symtab is None or not found.line:
        return ""
    return " (%s:%d)" % (base(found.symtab.filename), found.line)
