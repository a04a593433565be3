"""An emulator that takes interrupts at the edges of its translation blocks only.

QEMU without ``-icount`` looks for interrupts between blocks of translated code; a block
ends with each branch. So every sample falls on the first instruction of a block, and time is
counted in blocks, not in instructions. It shows in the samples: in straight code
every instruction is executed equally often, and here those after the first have none.
"""

from __future__ import annotations

import collections
from typing import Dict, Iterable, List, Sequence, Tuple, Union

from gdb_prof.profile.checks.evidence import Evidence
from gdb_prof.profile.finding import Finding, Severity, Unknown
from gdb_prof.profile.program.code import Instruction
from gdb_prof.wording import count, percent

_FEWEST = 100
_MOST_FUNCTIONS = 16
_EXPECTED = 0.5
"""The part of fair samples that would not be at a block's first instruction: where blocks are of one
or two instructions, nothing can be told."""
_SEEN = 0.01
_FEWEST_BLOCKS, _HOT = 3, 20
"""On silicon one slow instruction may hold nearly all samples: so many blocks are not by accident."""


def check(evidence: Evidence) -> Iterable[Union[Finding, Unknown]]:
    if evidence.dependence is not None and evidence.dependence.repeat is not None:
        return  # few places are seen for another reason
    emulator = evidence.profile.circumstances.emulator
    samples, inside, expected, hot = _at_edges(evidence)
    if samples < _FEWEST or expected < _EXPECTED * samples or inside > _SEEN * samples:
        return
    if not emulator and hot < _FEWEST_BLOCKS:
        return
    who = "%s without -icount" % emulator if emulator else "an emulator without an instruction clock"
    yield Finding(
        "emulator",
        Severity.WRONG,
        1.0,
        "emulator: %s of %s samples are at the first instruction of a block: so does %s, and shares count "
        "blocks, not time: start it with -icount shift=0"
        % (percent(1 - inside / samples), count(samples), who),
        (
            "In straight code all instructions are executed equally often. Of %s samples in the "
            "hottest functions, "
            "about %s would fall on others than a block's first; %s do. QEMU looks for interrupts "
            "between translated blocks; with -icount it ends a block where the timer is due, and a sampler "
            "in an interrupt tells the truth. Halting from the debugger does not, even then."
            % (count(samples), count(round(expected)), count(inside)),
        ),
    )


def _at_edges(evidence: Evidence) -> Tuple[int, int, float, int]:
    """Samples in the hottest functions; those not at a block's first instruction; how many
    of these are expected where time is counted by instructions; and the hot blocks."""
    # what follows a masked section or a wfi is hot for another reason
    other = {pile.address for pile in evidence.piles} | evidence.asleep
    by_function: Dict[int, List[Tuple[int, int]]] = collections.defaultdict(list)
    for pc, n in evidence.counts.items():
        function = evidence.build.functions.at(pc)
        if function is not None and function.symbol and pc not in other:
            by_function[function.address].append((pc, n))
    samples, inside, expected, hot = 0, 0, 0.0, 0
    hottest = sorted(by_function.items(), key=lambda item: -sum(n for _, n in item[1]))
    for address, places in hottest[:_MOST_FUNCTIONS]:
        first = block_of(evidence.build.code.function(address))
        sizes = collections.Counter(first.values())
        for pc, n in places:
            if pc in first:
                samples += n
                inside += n if first[pc] != pc else 0
                expected += n * (1 - 1 / sizes[first[pc]])
                hot += n >= _HOT and first[pc] == pc
    return samples, inside, expected, hot


def block_of(instructions: Sequence[Instruction]) -> Dict[int, int]:
    """For each instruction the address of the first one of its block. A block begins where a branch
    leads to, and after each branch and what QEMU ends one with, since it may let an interrupt in."""
    targets = {instruction.target for instruction in instructions if not instruction.is_call}
    first: Dict[int, int] = {}
    begin = True
    start = 0
    for instruction in instructions:
        if begin or instruction.address in targets:
            start = instruction.address
        first[instruction.address] = start
        begin = (
            instruction.branches
            or instruction.waits
            or instruction.masks
            or instruction.unmasks
            or instruction.mnemonic in ("isb", "svc")
        )
    return first
