"""A simulated DPU in a core that does a scripted workload, for a `DeviceServer` to show to GDB.

    machine = DpuMachine([Mark(), Run(1, 1000, {"dcache_thrash": 7}), DebugEv()])
    with DeviceServer(machine) as server:
        gdb(server.connect, "set dpu description tests/simulated_dpu.csv", …)

Registers, fields and codes lie where simulated_dpu.csv has them, on top of our description. Steps are
dpu_workload's; what the trace half does is said in dpu_trace_unit. Nothing here was seen on hardware.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Dict, List, Sequence, Set, Tuple

from dpu_trace_unit import VTB, VTB_SIZE, Fields, TraceUnit
from dpu_workload import (
    APPLICATION_CYCLES,
    CYCLES,
    NO_TASK,
    TASK_SWITCHES,
    DebugEv,
    Event,
    Jump,
    Mark,
    Quirks,
    Ran,
    Run,
    Sample,
    Step,
    Truth,
    Watchpoint,
    Write,
)
from gdb_prof.counters.description import packaged
from remote_server import Fault

__all__ = [
    "APPLICATION_CYCLES",
    "BASE",
    "COUNTERS",
    "CYCLES",
    "DESCRIPTION",
    "FLASH",
    "NO_TASK",
    "RAM",
    "ROWS",
    "TASK_SWITCHES",
    "VTB",
    "VTB_SIZE",
    "DebugEv",
    "DpuMachine",
    "Event",
    "Jump",
    "Mark",
    "Quirks",
    "Run",
    "Sample",
    "Step",
    "Truth",
    "Watchpoint",
    "Write",
]

ROWS = Path(__file__).parent / "simulated_dpu.csv"
DESCRIPTION = packaged("msc8251_dpu", "DPU").completed(ROWS.read_text(encoding="utf-8"), ROWS.name)
BASE = 0x50000000
COUNTERS = ("A0", "A1", "A2", "B0", "B1", "B2")
MODULUS = 1 << 31
FLASH, RAM, RAM_SIZE = 0x08000000, 0x20000000, 0x10000
_SP, _LR, _PC, _XPSR, _THUMB = 13, 14, 15, 16, 1 << 24
_NOP = b"\x00\xbf"
_UNIT_SIZE = 0x1000
_STEPS_AT_ONCE = 20_000
_CONFIGURES = ("DP_TSA", "DP_TEA", "DP_TER")


class Counters:
    """The six: from the value in DP_CxxV down.

    - CENM `immediate` counts as soon as the control register is written, `mark` and `watchpoint` from that
      step on; CDM `debugev` stops it, and it may be started again. With DP_CR.EN off nothing is counted, and
      no event starts or stops anything.
    - CEP: of a task, that in DP_RPID; an overflow is counted with `any` alone.
    - oneshot stays at 0; the other modes go on from 0 to 2^31 - 1, which in mode extended is an overflow. Of
      A2 alone, by A1 alone, it is counted, as the article has it; of other counters it does not say.
    """

    def __init__(self, fields: Fields, words: Dict[str, int], truth: Truth) -> None:
        self._fields = fields
        self._words = words
        self._truth = truth
        self._counts: Set[str] = set()

    def values(self) -> Tuple[int, ...]:
        return tuple(self._words["DP_C%sV" % name] for name in COUNTERS)

    def controlled(self, name: str, step: int) -> None:
        """Its control register was written."""
        self._stop(name, step)
        if self._has(name, "CENM") == "immediate":
            self._start(name, step)

    def started_by(self, cause: str, step: int) -> None:
        for name in COUNTERS if self._enabled() else ():
            if self._has(name, "CENM") == cause:
                self._start(name, step)

    def stopped_by(self, cause: str, step: int) -> None:
        for name in COUNTERS if self._enabled() else ():
            if self._has(name, "CDM") == cause:
                self._stop(name, step)

    def count(self, ran: Ran) -> None:
        overflows = 0
        events = ran.events()
        for name in reversed(COUNTERS):  # A2 before A1, which counts its overflows
            if name not in self._counts or not self._enabled():
                continue
            event = self._has(name, "CE")
            if event == "overflow":
                number = overflows if name == "A1" and self._has(name, "CEP") == "any" else 0
            else:
                number = events.get(event, 0) if self._passes(name, ran.run) else 0
            wraps = self._down(name, number, ran.step)
            if name == "A2" and self._has(name, "CMODE") == "extended":
                overflows = wraps

    def _down(self, name: str, number: int, step: int) -> int:
        """How often it has gone from 0 to 2^31 - 1."""
        value = self._words["DP_C%sV" % name]
        if self._has(name, "CMODE") == "oneshot":
            self._words["DP_C%sV" % name] = max(value - number, 0)
            if number >= value:
                self._stop(name, step + 1)
            return 0
        self._words["DP_C%sV" % name] = (value - number) % MODULUS
        return -((value - number) // MODULUS)

    def _passes(self, name: str, run: Run) -> bool:
        return {
            "any": True,
            "user": run.user,
            "supervisor": not run.user,
            "task": run.task == self._words["DP_RPID"],
        }[self._has(name, "CEP")]

    def _has(self, name: str, field: str) -> str:
        register = "DP_C%sC" % name
        return self._fields.meaning(register, field, self._words[register])

    def _enabled(self) -> bool:
        return bool(self._fields.of("DP_CR", "EN", self._words["DP_CR"]))

    def _start(self, name: str, step: int) -> None:
        self._counts.add(name)
        self._truth.started(name, step)

    def _stop(self, name: str, step: int) -> None:
        if name in self._counts:
            self._counts.discard(name)
            self._truth.stopped(name, step)


class DpuMachine:
    """A Machine of remote_server. The program counter is FLASH + 2 * the number of the step that comes next;
    behind the last it stays. `words`: the registers by name; `truth`: what really happened; `writes`: by the
    debugger, to registers, in order.

    DP_TD is only written: a read of it is a Fault. What is between the registers reads 0.
    """

    def __init__(self, steps: Sequence[Step], little: bool = True, quirks: Quirks = Quirks()) -> None:
        self.steps = list(steps)
        self.base = BASE
        self.quirks = quirks
        self.truth = Truth()
        self.words: Dict[str, int] = {name: 0 for name in DESCRIPTION.registers}
        self.writes: List[Tuple[str, int]] = []
        self.registers = [0] * 17
        self.registers[_SP], self.registers[_LR] = RAM + RAM_SIZE // 2, FLASH | 1
        self.registers[_PC], self.registers[_XPSR] = FLASH, _THUMB
        self._order = "<" if little else ">"
        self._fields = Fields(DESCRIPTION)
        self._counters = Counters(self._fields, self.words, self.truth)
        self._trace = TraceUnit(self._fields, self.words, self.truth, little, quirks)
        self._task = NO_TASK
        self._flash = _NOP * (len(self.steps) + 0x400)
        self._ram = bytearray(RAM_SIZE)
        self._names = {register.offset: name for name, register in DESCRIPTION.registers.items()}

    @property
    def vtb(self) -> bytearray:
        """1 MiB at VTB."""
        return self._trace.vtb

    @staticmethod
    def address(step: int) -> int:
        """Where the program is before it does this step."""
        return FLASH + 2 * step

    @property
    def end(self) -> int:
        """Where the program loops when all is done."""
        return self.address(len(self.steps))

    # -- the program -----------------------------------------------------------------

    def run(self, breakpoints: Set[int], only_one: bool) -> bool:
        for _ in range(1 if only_one else _STEPS_AT_ONCE):
            index = (self.registers[_PC] - FLASH) // 2
            if index < len(self.steps):
                self._do(index, self.steps[index])
                self.registers[_PC] += 2
            if self.registers[_PC] in breakpoints:
                return True
            if index >= len(self.steps):
                break
        return False

    def run_all(self) -> "DpuMachine":
        """To the end of the script, without a debugger."""
        while not self.run({self.end}, False):
            pass
        return self

    def _do(self, index: int, step: Step) -> None:
        self._trace.stepped(index)
        if isinstance(step, Run):
            self._run(index, step)
        elif isinstance(step, Mark):
            self._counters.started_by("mark", index)
        elif isinstance(step, DebugEv):
            self._counters.stopped_by("debugev", index)
        elif isinstance(step, Watchpoint):
            self._counters.started_by("watchpoint", index)
        elif isinstance(step, Event):
            self._trace.accessed(step.address)
        elif isinstance(step, Write):
            self._direct(step.value)
        elif isinstance(step, Sample):
            self._record("sample")
        else:
            assert isinstance(step, Jump), step
            self._record("task")

    def _run(self, index: int, run: Run) -> None:
        """A switch is recorded before it is counted, so that what lies between two records, the switch
        included, is the task's that the first of them names."""
        ran = Ran(index, run, run.task != self._task)
        self._task = run.task
        if ran.switched:
            self._record("task")
        self._counters.count(ran)
        self.truth.runs.append(ran)

    def _record(self, kind: str) -> None:
        if self._enabled():
            self._trace.record(kind, lambda: (self._task, *self._counters.values()))

    def _direct(self, value: int) -> None:
        if self._enabled():
            self._trace.record("direct", lambda: (value,))

    def _enabled(self) -> bool:
        """The unit as a whole: without it nothing is recorded, either."""
        return bool(self._fields.of("DP_CR", "EN", self.words["DP_CR"]))

    # -- the debugger ----------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        if BASE <= address < BASE + _UNIT_SIZE:
            first, beyond = address & ~3, address + size + 3 & ~3
            words = [self._read_word(at - BASE) for at in range(first, beyond, 4)]
            content = struct.pack("%s%dI" % (self._order, len(words)), *words)
            return content[address - first : address - first + size]
        memory, offset = self._memory(address, size)
        return bytes(memory[offset : offset + size])

    def write(self, address: int, content: bytes) -> None:
        if not BASE <= address < BASE + _UNIT_SIZE:
            memory, offset = self._memory(address, len(content))
            if not isinstance(memory, bytearray):
                raise Fault
            memory[offset : offset + len(content)] = content
            return
        if address % 4 or len(content) % 4 or self.quirks.faults:
            raise Fault  # registers are written whole
        for n, word in enumerate(struct.unpack("%s%dI" % (self._order, len(content) // 4), content)):
            self.set(self._name(address - BASE + 4 * n), word)

    def _memory(self, address: int, size: int) -> "Tuple[bytes | bytearray, int]":
        places: Tuple[Tuple[int, "bytes | bytearray"], ...] = (
            *((FLASH, self._flash), (RAM, self._ram), (VTB, self.vtb)),
        )
        for start, memory in places:
            if start <= address and address + size <= start + len(memory):
                return memory, address - start
        raise Fault

    def _name(self, offset: int) -> str:
        if offset not in self._names:
            raise Fault
        return self._names[offset]

    def _read_word(self, offset: int) -> int:
        name = self._names.get(offset)
        if self.quirks.faults or (name and DESCRIPTION.registers[name].write_only):
            raise Fault
        if name is None:
            return 0
        value = self._trace.status() if name == "DP_SR" else self.words[name]
        return value | self.quirks.ones.get(name, 0)

    def set(self, name: str, value: int) -> None:
        """A write to a register, with all that follows from it."""
        self.writes.append((name, value))
        if self.quirks.drops_writes:
            return
        before = self.words[name]
        value &= ~self.quirks.stuck.get(name, 0)
        step = (self.registers[_PC] - FLASH) // 2
        if name == "DP_TD":
            self._direct(value)
        elif name == "DP_CR":
            sample = self._fields.mask("DP_CR", "SAMPLE")
            self.words[name] = value & ~sample
            if value & sample:
                self._record("sample")
        elif name != "DP_SR":
            self.words[name] = value % MODULUS if name.endswith("V") else value
        if name == "DP_TC":
            self._trace.controlled(before)
        elif name in _CONFIGURES:
            self._trace.configured(name, before)
        elif name.startswith("DP_C") and name.endswith("C"):
            self._counters.controlled(name[4:6], step)
