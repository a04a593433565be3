"""Who called a function, by whole call stacks: any function, with the samples of all that it called."""

from __future__ import annotations

import collections
from typing import Counter, Dict, List, Optional, Sequence, Tuple

from gdb_prof.profile.call_stacks import EXCEPTION, TRUNCATED, TRUNCATED_NAME, demand_stacks
from gdb_prof.profile.one_function.callers import EXCEPTION_RETURN, Caller
from gdb_prof.profile.places import Row
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import Function
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Selection, selected

OUTERMOST = "(no caller: it is the outermost)"

_Place = Tuple[str, Optional[int], Optional[Tuple[str, int]]]


def on_stacks(profile: Profile, build: Build, selection: Selection) -> Tuple[Row, ...]:
    """The functions on the stacks of the samples, those on most samples' first. A sample counts once
    for each, however often that called itself. Raises UsageError where there are no stacks."""
    counts: Counter[Function] = collections.Counter()
    for stack, n in _stacks(profile, selection).items():
        for function in {build.functions.at(address) for address in stack if _is_code(address)}:
            if function is not None:
                counts[function] += n
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0].name, item[0].address))
    return tuple(
        Row(function.name, n, function, source=build.lines.definition(function.address))
        for function, n in ranked
    )


def stack_callers(profile: Profile, build: Build, row: Row, selection: Selection) -> Tuple[Caller, ...]:
    """The places from which a row of `on_stacks` was called, those of most samples first: together the
    row's. Of a function that calls itself the first call counts: how it came to run at all."""
    found: Counter[_Place] = collections.Counter()
    for stack, n in _stacks(profile, selection).items():
        outermost = None
        for at, address in enumerate(stack):
            if _is_code(address) and build.functions.at(address) == row.function:
                outermost = at
        if outermost is not None:
            found[_caller(stack[outermost + 1 :], build)] += n
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0][0], item[0][1] or 0))
    return tuple(Caller(name, samples, site, source) for (name, site, source), samples in ranked)


def _stacks(profile: Profile, selection: Selection) -> Dict[Tuple[int, ...], int]:
    """The stacks of the samples, PC first, with their number; also of those that sleep or are no
    code, which something led to."""
    kept = selected(profile, selection)
    numbers = demand_stacks(kept)
    counts: Counter[Tuple[int, int]] = collections.Counter(zip(kept.pcs, numbers))
    stacks: Counter[Tuple[int, ...]] = collections.Counter()
    for (pc, number), n in counts.items():
        stack = (pc, *profile.stack_table[number][1:])
        stacks[stack] += n
    return stacks


def _is_code(address: int) -> bool:
    return address != TRUNCATED and address < EXCEPTION


def _caller(rest: Sequence[int], build: Build) -> _Place:
    """By the part of a stack outside the function."""
    if not rest:
        return OUTERMOST, None, None
    site = rest[0]
    if site == TRUNCATED:
        return TRUNCATED_NAME, None, None
    if site >= EXCEPTION:
        return EXCEPTION_RETURN, None, None
    function = build.functions.at(site)
    if function is None:
        return "(outside code: 0x%08x)" % site, None, None
    chain: List[str] = list(build.lines.inlined(site))
    name = function.name if len(chain) < 2 else "%s (in %s)" % (chain[0], ", in ".join(chain[1:]))
    return name, site, build.lines.line(site)
