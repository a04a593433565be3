"""Who a task number is: one task after another, as tasks are created and deleted."""

from __future__ import annotations

import collections
import dataclasses
from typing import Dict, List, Optional, Sequence, Tuple

from gdb_prof.printable import from_array
from gdb_prof.trace import events
from gdb_prof.trace.ring import ObjectInfo, Ring

IDLE = "IDLE"
"""What FreeRTOS names its idle task, unless configIDLE_TASK_NAME says otherwise."""
NAMELESS = "task%d"


@dataclasses.dataclass(frozen=True)
class Task:
    """`label` is unlike every other task's. `priority`: the last it had."""

    number: int
    label: str
    priority: int
    idle: bool
    created: Optional[int]
    deleted: Optional[int]


class Lives:
    """Gives each number the index of its present owner; follows creations and deletions."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._now: Dict[int, int] = {}
        self._numbers: List[int] = []
        self._names: List[bytearray] = []
        self._created: List[Optional[int]] = []
        self._deleted: List[Optional[int]] = []
        self._naming: Dict[int, int] = {}
        self.objects: Dict[int, ObjectInfo] = {}
        self.recorded = ring.context.recorded

    def current(self, number: int) -> int:
        index = self._now.get(number, -1)
        return index if index >= 0 else self._new(number, None)

    def number(self, index: int) -> int:
        return self._numbers[index]

    def is_created(self, index: int) -> bool:
        """Whether its creation is in this trace."""
        return self._created[index] is not None

    def idle(self) -> Optional[int]:
        """The idle task's number: what the kernel says, else that of the one task which lives
        and has just the name that the kernel gives it. Users name tasks idle_led, too."""
        context = self._ring.context
        if context.idle is not None:
            return context.idle
        names = {**dict(enumerate(self._ring.names)), **context.tasks}
        for number, index in self._now.items():
            names[number] = "" if self._deleted[index] is not None else self._name(index)
        named = [number for number, name in names.items() if name == IDLE]
        return named[0] if len(named) == 1 else None

    def _new(self, number: int, created: Optional[int]) -> int:
        index = self._now[number] = len(self._numbers)
        self._numbers.append(number)
        self._names.append(bytearray())
        self._created.append(created)
        self._deleted.append(None)
        return index

    def broken(self, number: int) -> None:
        """Records are missing here, after one of the name that `number` has, if it is none of 0:
        that name may not be whole."""
        index = self._naming.get(number, -1) if number else -1
        if index >= 0:
            self._names[index].clear()
        self._naming.clear()

    def note(self, time: int, code: int, number: int, argument: int) -> None:
        if code == events.CREATE:
            self._naming[number] = self._new(number, time)
        elif code == events.DELETE:
            index = self.current(number)
            self._deleted[index] = time
            self._names[index].clear()
            self._naming[number] = index
        elif code == events.NAME and number in self._naming:
            self._names[self._naming[number]] += bytes((argument & 0xFF, argument >> 8))
        elif code == events.OBJECT:
            self.objects[argument] = ObjectInfo(kind=number)

    def tasks(self, priorities: Sequence[int]) -> Tuple[Task, ...]:
        labels = _unlike([self._name(index) for index in range(len(self._numbers))], self._numbers)
        idle = self.idle()
        return tuple(
            Task(
                number,
                labels[index],
                priorities[index],
                number == idle and self._deleted[index] is None,
                self._created[index],
                self._deleted[index],
            )
            for index, number in enumerate(self._numbers)
        )

    def _name(self, index: int) -> str:
        """From its creation or deletion, else what memory says of the number's last owner."""
        number = self._numbers[index]
        recorded = from_array(bytes(self._names[index]))
        if recorded:
            return recorded
        if self._now[number] == index:
            known = self._ring.context.tasks.get(number)
            if known and self._deleted[index] is None:
                return known
            if number < len(self._ring.names) and self._ring.names[number]:
                return self._ring.names[number]
        return NAMELESS % number


def _unlike(names: Sequence[str], numbers: Sequence[int]) -> List[str]:
    """`name`, or `name#number` where several have that name, or `name#number.2` where the
    number was given again."""
    several = collections.Counter(names)
    labels: Dict[str, None] = {}
    for name, number in zip(names, numbers):
        label = first = name if several[name] == 1 else "%s#%d" % (name, number)
        again = 2
        while label in labels:
            label, again = "%s.%d" % (first, again), again + 1
        labels[label] = None
    return list(labels)
