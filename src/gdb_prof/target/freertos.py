"""FreeRTOS state in the target's memory, as far as debug information describes it."""

from __future__ import annotations

from typing import Dict, Iterable, Optional, Tuple

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.printable import from_array
from gdb_prof.target import session

_TCB_TYPES = ("TCB_t", "tskTCB", "struct tskTaskControlBlock")


def task_names(blocks: Iterable[int]) -> Dict[int, str]:
    """The name in each task control block, for those that can be read.

    Empty without debug information of the kernel. A deleted task's block may hold
    anything by now: the name is what memory says, made printable.
    """
    field = _name_field()
    names: Dict[int, str] = {}
    if field is None:
        return names
    offset, size = field
    for block in blocks:
        if not block or block % 4:
            continue
        try:
            names[block] = from_array(session.read(block + offset, size, "a task's name")) or "(unnamed)"
        except TargetError:
            continue
    return names


def _name_field() -> Optional[Tuple[int, int]]:
    """Offset and size in bytes of a control block's `pcTaskName`."""
    for name in _TCB_TYPES:
        try:
            fields = gdb.lookup_type(name).strip_typedefs().fields()
        except (gdb.error, TypeError):
            continue
        for field in fields:
            if field.name == "pcTaskName" and field.type is not None and field.bitpos is not None:
                return field.bitpos // 8, field.type.sizeof
    return None
