"""Which returns from exceptions enter another one at once (tail-chaining), and which go on with what was
interrupted: packets tell only where they lead."""

from __future__ import annotations

import dataclasses
from typing import Iterator, List, Sequence

from gdb_prof.counters.mtb import packets
from gdb_prof.counters.mtb.packets import Branch
from gdb_prof.counters.mtb.program import Program


def with_chained(branches: Sequence[Branch], program: Program) -> Iterator[Branch]:
    """The branches, of which those that are known to enter another exception at once are `chained`. A handler
    whose first instruction is returned to may have been interrupted there: it is entered only if the place to
    go on with, at the exception that was entered last, is another. It is not known where that exception was
    entered before the first branch, or before tracing began anew, nor without vectors."""
    interrupted: List[int] = []  # where the exceptions that are active go on, the newest last
    for branch in branches:
        handles = branch.destination is not None and bool(program.exceptions(branch.destination))
        if branch.started or branch.destination is None:
            interrupted.clear()
        if branch.kind == packets.EXCEPTION:
            if handles and branch.source is not None:
                interrupted.append(branch.source)
            else:  # by a debugger, or by vectors that are not those of now
                interrupted.clear()
        elif branch.kind == packets.RETURN and interrupted:
            if handles and branch.destination != interrupted[-1]:
                branch = dataclasses.replace(branch, chained=True)
            else:  # perhaps elsewhere: an RTOS goes on with another task
                interrupted.pop()
        yield branch
