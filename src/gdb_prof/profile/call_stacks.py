"""Call stacks -> the functions on them: a sample charged to the whole path that led to it."""

from __future__ import annotations

from typing import Dict, Hashable, List, Sequence, Tuple

from gdb_prof.errors import UsageError
from gdb_prof.profile.places import Host, Lines, Row, by_function
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Profile

TRUNCATED = 1
"""Last in a stack: what called the function before it is not known. Odd: no address of an instruction."""
EXCEPTION = 0xFF000000
"""From here on: EXC_RETURN, an exception came in between (Armv8-M ARM, B3.18). The address after it is
that of the interrupted instruction."""

STACK, CALLS = "stack", "calls"
STACK_KINDS = (STACK, CALLS)
"""Rows that only a profile with call stacks has: each path by itself, and all as a tree."""

TRUNCATED_NAME = "(truncated)"
EXCEPTION_NAME = "(exception)"
OUTSIDE_NAME = "(outside code)"


def demand_stacks(profile: Profile) -> Sequence[int]:
    """The number of each sample's stack. Raises UsageError where there are none."""
    if profile.stacks is None:
        raise UsageError(
            "the samples carry no call stacks: `prof start -source halt -backtrace` takes some with them"
        )
    return profile.stacks


class Paths:
    """The rows of a profile's call stacks."""

    def __init__(
        self,
        table: Sequence[Tuple[int, ...]],
        functions: FunctionMap,
        lines: Lines,
        merge_clones: bool = False,
    ) -> None:
        self._table = table
        self._functions = functions
        self._place = by_function(functions, lines, merge_clones)
        self._hosts: Dict[int, Host] = {}

    def place(self, pc: int, stack: int, kind: str = "") -> Tuple[Hashable, Row]:
        """See places.Place: the row of all samples with these functions on their stack, in this order.
        `kind`: the class of a sample that is no code that runs; it is innermost, in place of what is no
        function."""
        hosts: List[Host] = [self._host(address) for address in (pc, *self._table[stack][1:])]
        if kind:
            innermost = Host("(%s)" % kind, "(%s)" % kind, None)
            hosts[: 0 if hosts[0].function else 1] = [innermost]
        path = tuple(reversed(hosts))
        name = " > ".join(host.name for host in path)
        return tuple(host.key for host in path), Row(name, 0, path=path)

    def _host(self, address: int) -> Host:
        if address not in self._hosts:
            self._hosts[address] = self._looked_up(address)
        return self._hosts[address]

    def _looked_up(self, address: int) -> Host:
        special = ""
        function = None
        if address == TRUNCATED:
            special = TRUNCATED_NAME
        elif address >= EXCEPTION:
            special = EXCEPTION_NAME
        else:
            function = self._functions.at(address)
        if function is None:
            return Host(special or OUTSIDE_NAME, special or OUTSIDE_NAME, None)
        key, row = self._place(address, function)
        return Host(key, row.name, row.source, function)
