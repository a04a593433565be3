"""Which object of the kernel's has which number, of what kind it is, and what it is called.

Objects carry the recorder's number (uxQueueNumber, uxTimerNumber…). They are found through
the queue registry and through every variable of the program that points to one or is one.
"""

from __future__ import annotations

import functools
import re
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

from gdb_prof.errors import TargetError
from gdb_prof.printable import from_array
from gdb_prof.target.freertos import queue_layout
from gdb_prof.target.images import Program
from gdb_prof.target.memory import Layout, Memory, layout
from gdb_prof.trace.ring import ObjectInfo

_LARGEST_VARIABLE = 1024
"""Bytes: stacks, heaps and buffers hold no handles that a user gave a name."""
_LONGEST_NAME = 64
_GROUP, _TIMER, _STREAM, _MESSAGE = 17, 16, 18, 19


class _Kind(NamedTuple):
    """A structure of the kernel's that has a number: what it is, where it looks like one."""

    layout: Layout
    number: str
    info: Callable[[int], Optional[ObjectInfo]]


class Objects:
    """Finds objects by their numbers. `where`: their addresses, for those found."""

    def __init__(self, program: Program, memory: Memory, numbers: Iterable[int]) -> None:
        self._program = program
        self._memory = memory
        self._wanted = set(numbers)
        self.where: Dict[int, int] = {}
        self.known: Dict[int, ObjectInfo] = {}
        self.queue = queue_layout()
        self._kinds = [kind for kind in self._known_kinds() if kind.number in kind.layout]
        if self._wanted and self._kinds:
            for name, address in [*self._registry(), *self._variables()]:
                self._try(name, address)

    def _try(self, name: str, address: int) -> None:
        for kind in self._kinds:
            try:
                number = kind.layout.number(self._memory, address, kind.number) & 0xFFFF
                info = kind.info(address) if number in self._wanted else None
            except TargetError:
                return
            if info is not None:
                if not self.known.get(number, ObjectInfo()).name:
                    self.known[number] = ObjectInfo(info.name or name, info.kind)
                    self.where[number] = address
                return

    def _registry(self) -> List[Tuple[str, int]]:
        symbol, entry = (
            self._program.find_static("xQueueRegistry"),
            layout("xQueueRegistryItem", "QueueRegistryItem_t"),
        )
        if symbol is None or entry is None:
            return []
        found = []
        for address in range(symbol.address, symbol.address + symbol.size, entry.size):
            try:
                handle = entry.number(self._memory, address, "xHandle")
                text = entry.number(self._memory, address, "pcQueueName")
                if handle and text:
                    found.append((from_array(self._memory.read(text, _LONGEST_NAME)), handle))
            except TargetError:
                continue
        return found

    def _variables(self) -> List[Tuple[str, int]]:
        """Every word of the program's variables that may be the address of an object, under
        the variable's name; then the variables themselves."""
        variables = [
            v for v in self._program.variables() if v.size <= _LARGEST_VARIABLE and v.address % 4 == 0
        ]
        if not variables:
            return []
        ram = _blocks(self._program)
        pointers, selves = [], []
        for variable in variables:
            name = re.sub(r"(\.lto_priv)?\.\d+$", "", variable.name)
            selves.append((name, variable.address))
            if variable.size < 4:
                continue
            try:
                raw = self._memory.read(variable.address, variable.size)
            except TargetError:
                continue
            for offset in range(0, variable.size - 3, 4):
                value = int.from_bytes(raw[offset : offset + 4], "little")
                if value % 4 == 0 and value >> 20 in ram:
                    part = name if variable.size == 4 else "%s[%d]" % (name, offset // 4)
                    pointers.append((part, value))
        return pointers + selves

    # -- what an object of each kind looks like ------------------------------------

    def _known_kinds(self) -> Iterator[_Kind]:
        if self.queue is not None:
            yield _Kind(self.queue, "uxQueueNumber", self._queue)
        for number, info, names in (
            ("uxEventGroupNumber", self._group, ("EventGroup_t", "struct EventGroupDef_t")),
            ("uxTimerNumber", self._timer, ("Timer_t", "xTIMER", "struct tmrTimerControl")),
            ("uxStreamBufferNumber", self._stream, ("StreamBuffer_t", "struct StreamBufferDef_t")),
        ):
            found = layout(*names)
            if found is not None:
                yield _Kind(found, number, functools.partial(info, found))

    def _is_list(self, kind: Layout, address: int, path: str) -> bool:
        """A list's end marker has the largest tick."""
        field = path + ".xListEnd.xItemValue"
        return field in kind and set(kind.read(self._memory, address, field)) == {0xFF}

    def _queue(self, address: int) -> Optional[ObjectInfo]:
        kind = self.queue
        if kind is None or not all(
            self._is_list(kind, address, name) for name in ("xTasksWaitingToSend", "xTasksWaitingToReceive")
        ):
            return None
        return ObjectInfo(
            "", kind.number(self._memory, address, "ucQueueType") if "ucQueueType" in kind else -1
        )

    def _group(self, kind: Layout, address: int) -> Optional[ObjectInfo]:
        return ObjectInfo("", _GROUP) if self._is_list(kind, address, "xTasksWaitingForBits") else None

    def _timer(self, kind: Layout, address: int) -> Optional[ObjectInfo]:
        owner = "xTimerListItem.pvOwner"
        if owner not in kind or kind.number(self._memory, address, owner) != address:
            return None
        text = kind.number(self._memory, address, "pcTimerName")
        return ObjectInfo(from_array(self._memory.read(text, _LONGEST_NAME)) if text else "", _TIMER)

    def _stream(self, kind: Layout, address: int) -> Optional[ObjectInfo]:
        length, head, tail = (
            kind.number(self._memory, address, name) for name in ("xLength", "xHead", "xTail")
        )
        if not (0 < length < 1 << 24 and head < length and tail < length):
            return None
        flags = kind.number(self._memory, address, "ucFlags") if "ucFlags" in kind else 0
        return ObjectInfo("", _MESSAGE if flags & 1 else _STREAM)


def _blocks(program: Program) -> Set[int]:
    """The megabytes of memory in which the program's variables lie: its RAM, also that part
    of it which is a heap of the linker script's."""
    return {
        (section.address + offsets.get(index, 0)) >> 20
        for image, offsets in program.images
        for index, section in image.sections.items()
        if section.writable
    }
