"""Run a function on the target and leave no trace of it.

The call itself is GDB's, which knows how to come back without a stop that a front end
would see or a breakpoint of the user's that would count it. What it lacks is done here:
it keeps the IT bits of the instruction that the program stopped at, so that the function
may silently do nothing; it has no time limit; and when the function is interrupted, or
stops at a breakpoint, it leaves the registers as they are then.
"""

from __future__ import annotations

from typing import Sequence

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.target import running
from gdb_prof.target.registers import Registers

LIMIT_S = 5.0
"""How long a function may take: starting a sampler is a few dozen instructions."""


def call(name: str, address: int, arguments: Sequence[int]) -> None:
    """Call the Thumb function at `address` with up to four words; restore every register.

    Raises TargetError when it does not return within LIMIT_S, stops elsewhere, or cannot
    be run; the registers are restored then, too.
    """
    registers = Registers()
    words = ", ".join("0x%xu" % argument for argument in arguments)
    types = ", ".join("unsigned" for _ in arguments) or "void"
    expression = "((void (*)(%s)) 0x%x)(%s)" % (types, address | 1, words)
    failure = ""
    try:
        registers.clear_it_bits()
        c_language = running.settings(("language", "c"), ("unwindonsignal", "on"))
        with c_language, running.interrupt_after(LIMIT_S) as over:
            try:
                gdb.parse_and_eval(expression)
            except gdb.error as error:
                failure = str(error).splitlines()[0].rstrip(".")
            except KeyboardInterrupt:
                if not over.is_set():
                    raise
                failure = "interrupted"
    finally:
        if gdb.selected_inferior().pid:
            registers.restore()
    if failure and over.is_set():
        raise TargetError("%s did not return in %g s" % (name, LIMIT_S))
    if failure:
        raise TargetError("%s did not return: %s" % (name, failure))
