"""The event recorder (firmware/trace) as it lives in a target: its block, and what the
program and the kernel's memory add to it.

The layouts are those of ``firmware/trace/trace_rec.h``; a build without ``trace_info`` (the
published recorder) is read by its block alone.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Dict, FrozenSet, List, Optional, Tuple

import gdb

from gdb_prof.errors import FileError, ProgramError, TargetError
from gdb_prof.target import session
from gdb_prof.target.freertos import Kernel, TaskState
from gdb_prof.target.images import Program
from gdb_prof.target.memory import Memory
from gdb_prof.target.objects import Objects
from gdb_prof.target.running import settings
from gdb_prof.target.stacks import backtrace
from gdb_prof.trace import events, ring
from gdb_prof.trace.ring import Context, ObjectInfo, Ring

_INFO = struct.Struct("<I4BII4BII")
_INFO_MAGIC = 0x4E495254
_ANY_PRIORITY, _ASM, _SPARE = 1, 2, 4
_ON = 12
_ADD = "add firmware/trace/trace_rec.c to the build"
_DWT_CYCCNT = 0xE0001004
_DEMCR, _DWT_CTRL = 0xE000EDFC, 0xE0001000
_HEAD = 4


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the user set; 0 is not given."""

    clock_hz: int = 0
    tick_hz: int = 0


@dataclasses.dataclass(frozen=True)
class Info:
    """`struct trace_info`: what this build records and how."""

    names: Tuple[int, int]
    recorded: FrozenSet[int]
    kernel: str
    clock_hz: int
    tick_hz: int
    spare: bool
    any_priority: bool


class Recorder:
    """The recorder of a loaded program. Raises ProgramError when it has none."""

    def __init__(self, program: Program, settings: Settings) -> None:
        self._program = program
        self._settings = settings
        symbol = program.find("trace_buf")
        if symbol is None:
            raise ProgramError("no symbol `trace_buf` in %s: %s" % (program.name, _ADD))
        self.address, self._size = symbol.address, symbol.size
        done = program.find("trace_done")
        self.done = done.address if done is not None else None
        self.info = self._read_info()
        self._memory: Optional[Memory] = None
        self._objects: Optional[Objects] = None
        self._tasks: List[TaskState] = []

    def _read_info(self) -> Optional[Info]:
        symbol = self._program.find("trace_info")
        if symbol is None:
            return None
        raw = session.read(symbol.address, _INFO.size, "trace_info")
        magic, _, flags, tasks, length, low, high, major, minor, build, _, clock_hz, tick_hz = _INFO.unpack(
            raw
        )
        if magic != _INFO_MAGIC:
            raise TargetError(
                "the target does not hold %s: no recorder at `trace_info` (0x%08x): load it"
                % (self._program.name, symbol.address)
            )
        mask = low | high << 32
        return Info(
            (tasks, length),
            frozenset(code for code in events.ALL if mask >> code & 1),
            "V%d.%d.%d" % (major, minor, build),
            clock_hz,
            tick_hz,
            bool(flags & _SPARE),
            bool(flags & _ANY_PRIORITY),
        )

    # -- the block ----------------------------------------------------------------

    def head(self) -> Tuple[int, int, int]:
        """head, n, on. Raises TargetError where the block is not set up."""
        return ring.header(self._sound(ring.HEADER_SIZE))

    def block(self) -> bytes:
        """The whole block, in one read. Raises TargetError where it is not set up."""
        size = self._size
        if size < ring.HEADER_SIZE + ring.RECORD_SIZE:  # a symbol without a size
            _, n, _ = self.head()
            size = ring.HEADER_SIZE + self.names()[0] * self.names()[1] + n * ring.RECORD_SIZE
        return self._sound(size)

    def _sound(self, size: int) -> bytes:
        """The block's first bytes; read again where they are none: some servers give zeros or
        ones once, when they have just woken the core."""
        for last in (False, True):
            raw = session.read(self.address, size, "trace_buf")
            try:
                ring.header(raw)
                break
            except FileError as error:
                if last:
                    raise TargetError(
                        "%s, at 0x%08x: the program has not got to its first task or to trace_start() "
                        "yet, or it is another program" % (error, self.address)
                    ) from None
        return raw

    def names(self) -> Tuple[int, int]:
        """How many names of what length the block holds."""
        if self.info is not None:
            return self.info.names
        try:
            names = gdb.parse_and_eval("trace_buf")["name"]
            length = int(names[0].type.sizeof)
            return int(names.type.sizeof) // length, length
        except (gdb.error, ZeroDivisionError):
            return 12, 8

    def switch(self, on: bool) -> int:
        """Start a new trace or stop this one, by writing the block; how many records there were.

        Starting empties the ring. Raises TargetError where the write does not take.
        """
        head, _, _ = self.head()
        if on:
            session.write_word(self.address + _ON, 0, "trace_buf.on")
            session.write_word(self.address + _HEAD, 0, "trace_buf.head")
        session.write_word(self.address + _ON, int(on), "trace_buf.on")
        return head

    def start_clock(self) -> str:
        """Enable the cycle counter where it is the recorder's clock, as trace_start() does.

        Returns why it does not run; empty where it does, or where the clock is another.
        """
        if self._clock_address() != _DWT_CYCCNT:
            return ""
        for register, bit, name in ((_DEMCR, 24, "DEMCR.TRCENA"), (_DWT_CTRL, 0, "DWT_CTRL.CYCCNTENA")):
            try:
                value = session.read_system_word(register, name)
                if value >> bit & 1:
                    continue
                with settings(("mem inaccessible-by-default", "off")):
                    session.write(register, struct.pack("<I", value | 1 << bit), name)
                if not session.read_system_word(register, name) >> bit & 1:
                    return (
                        "the cycle counter does not start: %s stays 0: this core or emulator may have none: "
                        "give TRACE_CLOCK_ADDRESS a timer's"
                    ) % name
            except TargetError as error:
                return "the cycle counter does not start: %s" % error
        return ""

    # -- what surrounds it --------------------------------------------------------

    def ring(self) -> Tuple[bytes, Ring]:
        """The block's bytes, and its records with all that is known of them."""
        raw = self.block()
        found = ring.parse(raw, self._base_context(), self.names())
        return raw, dataclasses.replace(found, context=self.context(found))

    def _base_context(self) -> Context:
        info = self.info
        return Context(
            recorded=info.recorded if info else None,
            clock_hz=self._settings.clock_hz or (info.clock_hz if info else 0) or self._cycle_hz(),
            tick_hz=self._settings.tick_hz or (info.tick_hz if info else 0) or _macro("configTICK_RATE_HZ"),
            kernel=info.kernel if info else "",
            build_id=self._program.build_id,
            program=self._program.name,
            spare=info.spare if info else False,
            any_priority=info.any_priority if info else True,
        )

    def fits(self, size: int) -> bool:
        """Whether a plain dump of the program's block has so many bytes."""
        return size == self._size

    def described(self, size: int) -> Tuple[Context, Optional[Tuple[int, int]]]:
        """What the program's own file says of a plain dump of so many bytes, if it is one of
        its block."""
        if self.info is None or not self.fits(size):
            return Context(), None
        remark = "the dump does not say which program wrote it: taken to be %s" % self._program.name
        return dataclasses.replace(self._base_context(), remarks=(remark,)), self.info.names

    def _cycle_hz(self) -> int:
        """SystemCoreClock where the recorder's clock is the cycle counter; 0 elsewhere."""
        symbol = self._program.find("SystemCoreClock")
        if self.info is None or symbol is None or self._clock_address() != _DWT_CYCCNT:
            return 0
        hz = session.read_word(symbol.address, "`SystemCoreClock`")
        return hz if 1000 <= hz <= 10**10 else 0

    def _clock_address(self) -> int:
        """What the recorder reads its time from: the word before the block; 0: an expression."""
        return session.read_word(self.address - 4, "the recorder's clock") if self.info else 0

    def context(self, found: Ring) -> Context:
        """The ring's context with what the kernel's memory says now."""
        base, memory = found.context, Memory()
        kernel = Kernel(self._program, memory)
        remarks: List[str] = list(self._program.remarks) + self._clock_remarks(found)
        numbers = {
            argument
            for code, argument in zip(found.codes, found.arguments)
            if code in events.OF_OBJECTS and code != events.OBJECT_DELETE
        }
        objects = Objects(self._program, memory, numbers)
        tick: Optional[int] = None
        tasks: List[TaskState] = []
        try:
            tick = kernel.tick_count()
            tasks = kernel.tasks()
        except TargetError as error:
            remarks.append("the kernel's lists cannot be read (%s)" % error)
        if kernel.missing:
            remarks.append(kernel.missing)
        self._memory, self._objects, self._tasks = memory, objects, tasks
        by_number = {self.number_of(task): task for task in tasks}
        by_number.pop(0, None)
        idle = kernel.idle(tasks)
        return dataclasses.replace(
            base,
            tick_count=tick,
            tasks={number: task.name for number, task in by_number.items()},
            priorities={number: task.base_priority for number, task in by_number.items()},
            idle=(self.number_of(idle) or None) if idle is not None else None,
            objects=objects.known,
            stopped_at=self._stamp() if found.on else None,
            remarks=tuple(remarks),
        )

    def _stamp(self) -> Optional[int]:
        """What the recorder's clock says now; None where it cannot be read from here, or runs on
        while the program stands (STM32's timers do so by default)."""
        try:
            address = self._clock_address()
            stamps = [session.read_system_word(address, "the recorder's clock") for _ in "12" if address]
        except TargetError:
            return None
        return stamps[0] if len(set(stamps)) == 1 else None

    def now(self, held: Dict[int, int], awaited: Dict[int, str]) -> Dict[int, Tuple[str, ...]]:
        """What the kernel's memory says of objects that are waited for: who has each, and
        where that one stands. `held`: object to the task that the ring says has it, or 0;
        `awaited`: task to what the ring says that it waits for itself.

        After `ring`. A mutex names its holder itself; of other objects only the ring knows.
        """
        objects, memory = self._objects, self._memory
        if objects is None or memory is None:
            return {}
        lines: Dict[int, Tuple[str, ...]] = {}
        for number, task_number in held.items():
            holder = self._mutex_holder(number) or next(
                (task for task in self._tasks if task_number and self.number_of(task) == task_number), None
            )
            if holder is None:
                continue
            name = objects.known.get(number, ObjectInfo()).name or "queue%d" % number
            text = "%s is held by %s (%d), which is %s" % (name, holder.name, holder.priority, holder.where)
            target = awaited.get(self.number_of(holder))
            if target and holder.where == "blocked":
                text += ", waiting for %s" % target
            stack = backtrace(holder, memory)
            lines[number] = (text + (": " + stack if stack else ""),)
        return lines

    def _mutex_holder(self, number: int) -> Optional[TaskState]:
        objects, memory = self._objects, self._memory
        if objects is None or memory is None or objects.queue is None or number not in objects.where:
            return None
        if objects.known[number].kind not in events.MUTEXES:
            return None
        for field in ("u.xSemaphore.xMutexHolder", "pxMutexHolder", "pcTail"):
            if field in objects.queue:
                try:
                    block = objects.queue.number(memory, objects.where[number], field)
                except TargetError:
                    return None
                return next((task for task in self._tasks if task.block == block), None)
        return None

    def number_of(self, task: TaskState) -> int:
        """The task's number in the ring; 0 where its control block does not say one."""
        if self.info is None:
            return task.number & 0xFF
        return task.trace_word >> 8 & 0xFF if task.trace_word & 0xFF == events.IN else 0

    def _clock_remarks(self, found: Ring) -> List[str]:
        """Why the clock stands still, where it does and is the cycle counter."""
        if len(set(found.stamps)) > 1 or len(found) < 2 or self._clock_address() != _DWT_CYCCNT:
            return []
        try:
            demcr, control = (session.read_system_word(register, "DWT") for register in (_DEMCR, _DWT_CTRL))
        except TargetError:
            return []
        if control >> 25 & 1:
            return [
                "DWT_CTRL.NOCYCCNT is set: this core has no cycle counter: give TRACE_CLOCK_ADDRESS a timer's"
            ]
        if not demcr >> 24 & 1:
            return [
                "the cycle counter is off, or this core or emulator has none (DEMCR.TRCENA reads 0): "
                "give TRACE_CLOCK_ADDRESS a timer's"
            ]
        if not control & 1:
            return ["DWT_CTRL.CYCCNTENA is clear: the cycle counter is off"]
        return []


def _macro(name: str) -> int:
    """A macro's value, where debug information has macros (-g3)."""
    try:
        return int(gdb.parse_and_eval(name))
    except (gdb.error, ValueError, OverflowError):
        return 0
