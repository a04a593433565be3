"""FreeRTOS state in the target's memory, as far as debug information describes it.

Lists are those of FreeRTOS's list.c: a count, an index, and a ring of items through an end
marker. Memory may be corrupt: walks are bounded by the counts and never visit twice.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, Iterable, List, Optional, Sequence

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.printable import from_array
from gdb_prof.target.images import Program
from gdb_prof.target.memory import Layout, Memory, layout

_TCB_TYPES = ("TCB_t", "tskTCB", "struct tskTaskControlBlock")
_MOST_TASKS = 1000
_WAITING_NOTIFICATION = 1


@dataclasses.dataclass(frozen=True)
class TaskState:
    """A task that lives. `where` as eTaskGetState has it: running, ready, blocked,
    suspended; `block`: its control block's address."""

    block: int
    name: str
    priority: int
    base_priority: int
    trace_word: int
    number: int
    where: str
    stack_top: int


def task_names(blocks: Iterable[int]) -> Dict[int, str]:
    """The name in each task control block, for those that can be read.

    Empty without debug information of the kernel. A deleted task's block may hold
    anything by now: the name is what memory says, made printable.
    """
    tcb, memory = layout(*_TCB_TYPES), Memory()
    names: Dict[int, str] = {}
    if tcb is None or "pcTaskName" not in tcb:
        return names
    for block in blocks:
        if not block or block % 4:
            continue
        try:
            names[block] = from_array(tcb.read(memory, block, "pcTaskName")) or "(unnamed)"
        except TargetError:
            continue
    return names


class Kernel:
    """The scheduler's own state. `missing`: what keeps it from being read, else empty."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self._program = program
        self.memory = memory
        self._tcb = layout(*_TCB_TYPES)
        self._list = layout("List_t", "struct xLIST")
        self._item = layout("ListItem_t", "struct xLIST_ITEM")
        self.missing = ""
        if self._tcb is None or self._list is None or self._item is None:
            self.missing = "no debug information of the kernel: tasks are known by the ring alone"
        elif program.find_static("pxReadyTasksLists") is None:
            self.missing = "no symbol `pxReadyTasksLists`: tasks are known by the ring alone"

    def current(self) -> int:
        """The running task's control block; 0 before there is one. Raises TargetError."""
        symbol = self._program.find_static("pxCurrentTCB")
        return self.memory.word(symbol.address) if symbol is not None else 0

    def tick_count(self) -> Optional[int]:
        symbol = self._program.find_static("xTickCount")
        if symbol is None:
            return None
        return int.from_bytes(self.memory.read(symbol.address, min(symbol.size or 4, 4)), "little")

    def tasks(self) -> List[TaskState]:
        """Every task that the kernel's lists hold; what is damaged in them is left out."""
        tcb, list_ = self._tcb, self._list
        if self.missing or tcb is None or list_ is None:
            return []
        found: Dict[int, str] = {}
        running = self.current()
        for name, where in (
            ("pxReadyTasksLists", "ready"),
            ("xPendingReadyList", "ready"),
            ("xDelayedTaskList1", "blocked"),
            ("xDelayedTaskList2", "blocked"),
            ("xSuspendedTaskList", "suspended"),
        ):
            symbol = self._program.find_static(name)
            if symbol is None:
                continue
            for address in range(symbol.address, symbol.address + max(symbol.size, 1), list_.size):
                for block in self.owners(address):
                    known = "blocked" if where == "suspended" and self._waits(block) else where
                    found.setdefault(block, "running" if block == running else known)
        if running:
            found.setdefault(running, "running")
        states = []
        for block, where in found.items():
            try:
                states.append(self._state(block, where))
            except TargetError:
                continue
        return states

    def _waits(self, block: int) -> bool:
        """Whether a task in the list of the suspended waits for ever, for an object or a
        notification: the kernel keeps it there, too, and so eTaskGetState tells them apart."""
        tcb = self._tcb
        assert tcb is not None
        try:
            for name in ("xEventListItem.pvContainer", "xEventListItem.pxContainer"):
                if name in tcb and tcb.number(self.memory, block, name):
                    return True
            # one byte, or since V10.4 one for each notification
            return "ucNotifyState" in tcb and _WAITING_NOTIFICATION in tcb.read(
                self.memory, block, "ucNotifyState"
            )
        except TargetError:
            return False

    def idle(self, tasks: Sequence[TaskState]) -> Optional[TaskState]:
        """The idle task, where the kernel says which it is: by its handle, else by the name
        that the configuration gives it. Elsewhere lives.py goes by the usual name."""
        for variable in ("xIdleTaskHandle", "xIdleTaskHandles"):  # V11: one for each core
            symbol = self._program.find_static(variable)
            if symbol is None:
                continue
            try:
                block = self.memory.word(symbol.address)
            except TargetError:
                continue
            found = next((task for task in tasks if task.block == block), None)
            if found is not None:
                return found
        tcb, name = self._tcb, _text_macro("configIDLE_TASK_NAME")
        if not name or not tasks or tcb is None or "pcTaskName" not in tcb:
            return None
        room = len(tcb.read(self.memory, tasks[0].block, "pcTaskName")) - 1
        named = [task for task in tasks if task.name == name[:room]]
        return named[0] if len(named) == 1 else None

    def owners(self, address: int) -> List[int]:
        """The control blocks that a list's items belong to."""
        list_, item = self._list, self._item
        if list_ is None or item is None:
            return []
        blocks: List[int] = []
        try:
            items = min(list_.number(self.memory, address, "uxNumberOfItems"), _MOST_TASKS)
            end = address + list_.offset("xListEnd")
            at = list_.number(self.memory, address, "xListEnd.pxNext")
            seen = {0, end}
            while at not in seen and len(blocks) < items and at % 4 == 0:
                seen.add(at)
                owner = item.number(self.memory, at, "pvOwner")
                if owner and owner % 4 == 0:
                    blocks.append(owner)
                at = item.number(self.memory, at, "pxNext")
        except TargetError:
            pass
        return blocks

    def _state(self, block: int, where: str) -> TaskState:
        tcb = self._tcb
        assert tcb is not None

        def number(name: str) -> int:
            return tcb.number(self.memory, block, name) if name in tcb else 0

        priority = number("uxPriority")
        return TaskState(
            block=block,
            name=from_array(tcb.read(self.memory, block, "pcTaskName")) or "(unnamed)",
            priority=priority,
            base_priority=number("uxBasePriority") if "uxBasePriority" in tcb else priority,
            trace_word=number("uxTaskNumber"),
            number=number("uxTCBNumber"),
            where=where,
            stack_top=number("pxTopOfStack"),
        )


def _text_macro(name: str) -> str:
    """A macro that is a text, where debug information has macros (-g3)."""
    try:
        return from_array(gdb.parse_and_eval(name).string().encode("utf-8"))
    except (gdb.error, ValueError, TypeError, AttributeError):
        return ""


def queue_layout() -> Optional[Layout]:
    return layout("Queue_t", "xQUEUE", "struct QueueDefinition")
