"""What something costs, as the number of Python's instructions: the same on every machine."""

from __future__ import annotations

import sys
from typing import Any, Callable


def opcodes(work: Callable[[], object]) -> int:
    """How many it executes, in the calls that it makes."""
    executed = 0

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal executed
        frame.f_trace_opcodes = True
        executed += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return executed
