"""The event codes of a trace record, and what each of them means for the task it names.

Codes 1 to 10 are those of the published recorder; all are listed with their arguments in
``firmware/trace/trace_rec.h`` (``enum trace_code``).
"""

from __future__ import annotations

from typing import Dict, FrozenSet

GAP = 0
"""No record: in lists of acts, the place where records are missing."""
IN, READY, TICK, GIVE, TAKE, WAIT, INHERIT, DISINHERIT, DELAY, MARK = range(1, 11)
GIVE_ISR, TAKE_ISR, SEND_WAIT, GIVE_FAIL, TAKE_FAIL, PEEK, SLEEP = range(11, 18)
NOTIFY, NOTIFY_ISR, NOTIFY_WAIT, NOTIFY_TAKE = range(18, 22)
SUSPEND, RESUME, RESUME_ISR, PRIORITY = range(22, 26)
CREATE, NAME, DELETE, OBJECT, OBJECT_DELETE = range(26, 31)
TIMER_COMMAND, TIMER_EXPIRE = 31, 32
GROUP_WAIT, GROUP_TAKE, GROUP_FAIL, GROUP_SET, GROUP_SET_ISR, GROUP_CLEAR = range(33, 39)
STREAM_WAIT, STREAM_TAKE, STREAM_FAIL = 39, 40, 41
STREAM_SEND, STREAM_SEND_WAIT, STREAM_SEND_FAIL, STREAM_SEND_ISR, STREAM_TAKE_ISR = range(42, 47)
ISR, ISR_END, LOW_POWER, LOW_POWER_END, GIVE_ISR_FAIL, TAKE_ISR_FAIL = range(47, 53)

BASIC: FrozenSet[int] = frozenset(range(1, 11))
ALL: FrozenSet[int] = frozenset(range(1, 53))

NAMES: Dict[int, str] = {
    value: name.lower().replace("_", "-")
    for name, value in list(globals().items())
    if name.isupper() and isinstance(value, int)
}

ENDS: Dict[int, "tuple[int, ...]"] = {
    WAIT: (TAKE, PEEK),
    SEND_WAIT: (GIVE,),
    NOTIFY_WAIT: (NOTIFY_TAKE,),
    GROUP_WAIT: (GROUP_TAKE,),
    STREAM_WAIT: (STREAM_TAKE,),
    STREAM_SEND_WAIT: (STREAM_SEND,),
}
"""A wait for an object, and the same task's records that end it with success."""

FAILS: Dict[int, int] = {
    WAIT: TAKE_FAIL,
    SEND_WAIT: GIVE_FAIL,
    GROUP_WAIT: GROUP_FAIL,
    STREAM_WAIT: STREAM_FAIL,
    STREAM_SEND_WAIT: STREAM_SEND_FAIL,
}
"""A wait, and the record that ends it when it timed out."""

TIMED: FrozenSet[int] = frozenset((DELAY, SLEEP))
"""Waits for time alone."""

BLOCKS: FrozenSet[int] = frozenset((*ENDS, *TIMED))
"""Records after which the task that made them does not run until it is made ready."""

OF_INTERRUPTS: FrozenSet[int] = frozenset(
    (TICK, GIVE_ISR, TAKE_ISR, NOTIFY_ISR, RESUME_ISR, GROUP_SET_ISR, STREAM_SEND_ISR, STREAM_TAKE_ISR)
    + (ISR, ISR_END, GIVE_ISR_FAIL, TAKE_ISR_FAIL, MARK)
)
"""Records that an interrupt makes, or may make: their task is the interrupted one."""

OF_OTHERS: FrozenSet[int] = frozenset((IN, READY, INHERIT, DISINHERIT, CREATE, NAME, DELETE, OBJECT))
"""Records whose task is not the one that runs."""

ACTS: FrozenSet[int] = ALL - OF_INTERRUPTS - OF_OTHERS - {TIMER_COMMAND, LOW_POWER, LOW_POWER_END}
"""Records that only the running task itself can make."""

OF_OBJECTS: FrozenSet[int] = frozenset(
    (GIVE, TAKE, WAIT, GIVE_ISR, TAKE_ISR, SEND_WAIT, GIVE_FAIL, TAKE_FAIL, PEEK, GIVE_ISR_FAIL)
    + (TAKE_ISR_FAIL, OBJECT, OBJECT_DELETE, TIMER_COMMAND, TIMER_EXPIRE, *range(GROUP_WAIT, ISR))
)
"""Records whose argument is an object's number."""

KINDS: Dict[int, str] = {
    **{0: "queue", 1: "mutex", 2: "counting semaphore", 3: "binary semaphore"},
    **{4: "recursive mutex", 5: "queue set", 16: "timer", 17: "event group"},
    **{18: "stream buffer", 19: "message buffer"},
}
"""Kinds of objects: 0 to 5 are FreeRTOS's queueQUEUE_TYPE_…, the others the recorder's."""

MUTEXES: FrozenSet[int] = frozenset((1, 4))

UNHELD: FrozenSet[int] = frozenset((0, 2, 5))
"""Kinds that a task takes something from, and never has: queues, counting semaphores, sets."""
