"""Samples that pile up where interrupts were let in again.

While interrupts are masked the sampler's stays pending, and is taken at the first instruction
after: all the time before is charged to that one. It is told by the instructions and the
samples, by no name. What lets interrupts in (``cpsie``, ``msr primask``, a return from an
exception of the sampler's priority) is executed exactly as often as what follows it; so in a fair
profile both have about the same number of samples, and here the first has none, since it
is executed masked, and the second has those of the section. A store that pends an interrupt
and an ``svc`` have their own fair part, and the handler's time falls to what follows.

The sample may be an instruction or two late on silicon, so that the three before it are looked
at, back over barriers and what is no branch.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.profile.program.code import Build, Instruction, at

_SMALLEST_SHARE = 0.005
_FEWEST = 20
_TIMES = 8
"""How many times the samples of what let interrupts in. Equal instructions differ by their cycles, three
or four times at most; two of twenty, where twenty are expected, come once in a million."""
_TIMES_OWN = 4
"""How many times what is its own, by the next in line or a branch to it: less may be a slow instruction."""
_BACK = 3
_DEEP = 2
_SHORT = 24
"""Instructions: a function that only masks or unmasks is no longer than this."""
_WAY_OUT = 4
"""Instructions from restoring the mask to leaving: registers are popped."""


@dataclasses.dataclass(frozen=True)
class Section:
    """Code that runs with interrupts masked: from the instruction after which they are to the one
    that lets them in, in `host`. `calls`: the functions it calls. `waits`: it sleeps."""

    host: str
    start: int
    end: int
    calls: Tuple[str, ...]
    waits: bool


@dataclasses.dataclass(frozen=True)
class Pile:
    """`samples` at `address` that are another's time. `by`: the instruction before that let
    interrupts in; `sections` that end there, where they can be found, with the samples
    of each where LR tells, else None. `pended`: the exception number that a store pends, or an
    `svc` raises."""

    address: int
    samples: int
    by: Instruction
    sections: Tuple[Tuple[Section, Optional[int]], ...] = ()
    pended: Optional[int] = None

    @property
    def asleep(self) -> bool:
        """Whether the section sleeps: then its time is sleep, and no trap."""
        return bool(self.sections) and all(section.waits for section, _ in self.sections)


def piles(
    counts: Mapping[int, int],
    total: int,
    build: Build,
    callers: Mapping[int, Mapping[int, int]],
    basepri_masks: bool,
) -> Tuple[Pile, ...]:
    """All piles in samples by address, the largest first.

    `callers`: for an address the samples by LR, where recorded. `basepri_masks`: whether
    BASEPRI can keep the sampler away; at priority 0 it cannot.
    """
    found: List[Pile] = []
    for address, samples in counts.items():
        if samples < max(_FEWEST, _SMALLEST_SHARE * total):
            continue
        instructions = build.code.function(address)
        place = at(instructions, address)
        if place is None:
            continue
        cause = _cause(instructions, place, counts, basepri_masks)
        if cause is None:
            continue
        by = instructions[cause]
        if _is_in_loop(instructions, cause, place):
            continue  # executed more often than what let interrupts in
        own = _own(instructions, cause, place, counts)
        if samples - own < max(_FEWEST, _SMALLEST_SHARE * total) or samples < _TIMES_OWN * own:
            continue
        if by.unmasks:
            sections = _sections(build, instructions, cause, callers.get(address, {}))
            found.append(Pile(address, samples - own, by, sections))
        else:
            found.append(Pile(address, samples - own, by, pended=_pended(instructions, cause)))
    return tuple(sorted(found, key=lambda pile: (-pile.samples, pile.address)))


def _cause(
    instructions: Sequence[Instruction], place: int, counts: Mapping[int, int], basepri_masks: bool
) -> Optional[int]:
    """The place of what let interrupts in before the hot instruction; None where that is nothing."""
    samples = counts.get(instructions[place].address, 0)
    for cause in range(place - 1, max(-1, place - 1 - _BACK), -1):
        before, after = instructions[cause], instructions[cause + 1]
        if (
            before.address + before.size != after.address
            or samples <= _TIMES * counts.get(before.address, 0)
            or before.waits
        ):
            return None
        if before.mnemonic == "svc":
            return cause
        if before.unmasks and not _masks(instructions, cause):
            return cause if basepri_masks or "basepri" not in before.operands.lower() else None
        if before.stores:
            late = all(instruction.is_barrier for instruction in instructions[cause + 1 : place])
            return cause if late and _pended(instructions, cause) is not None else None
        if before.branches:
            return None
    return None


def _is_in_loop(instructions: Sequence[Instruction], cause: int, place: int) -> bool:
    """Whether a branch leads back to the hot instruction, but not over what let interrupts in."""
    between = {instruction.address for instruction in instructions[cause + 1 : place + 1]}
    return any(i.target in between for i in instructions[place:] if not i.is_call)


def _own(instructions: Sequence[Instruction], cause: int, place: int, counts: Mapping[int, int]) -> int:
    """What the hot instruction has of its own: about what the next one in line has, or a branch
    that leads to it past what let interrupts in."""
    here = instructions[place]
    fair = [0]
    following = instructions[place + 1 : place + 2]
    led_to = {i.target for i in instructions if not i.is_call}
    if following and not here.branches and following[0].address not in led_to:
        fair.append(counts.get(following[0].address, 0))  # a loop's head has its turns, too
    between = {instruction.address for instruction in instructions[cause + 1 : place + 1]}
    fair += [counts.get(i.address, 0) for i in instructions if not i.is_call and i.target in between]
    return min(max(fair), counts.get(here.address, 0))


# -- masked sections -------------------------------------------------------------------


def _sections(
    build: Build, instructions: Sequence[Instruction], end: int, by_lr: Mapping[int, int]
) -> Tuple[Tuple[Section, Optional[int]], ...]:
    inside = _section(build, instructions, end)
    if inside is not None:
        return ((inside, None),)
    found: Dict[Section, Optional[int]] = {}
    start = instructions[0].address
    sites = build.code.callers(start)
    if by_lr:
        # LR is the address after the call, with the Thumb bit: the BL before it has 4 bytes
        returns = {site + 4: site for site in sites}
        for lr, samples in by_lr.items():
            site = returns.get(lr & ~1)
            section = _section_at_call(build, site) if site is not None else None
            if section is not None:
                found[section] = (found.get(section) or 0) + samples
    if not found:
        for site in sites:
            section = _section_at_call(build, site)
            if section is not None:
                found[section] = None
    return tuple(sorted(found.items(), key=lambda item: (-(item[1] or 0), item[0].start)))


def _section_at_call(build: Build, site: int, deep: int = _DEEP) -> Optional[Section]:
    """The section that a call at `site` ends; through callers that are only a step between."""
    instructions = build.code.function(site)
    place = at(instructions, site)
    if place is None:
        return None
    found = _section(build, instructions, place)
    if found is None and deep and len(instructions) <= _SHORT:
        above = [_section_at_call(build, s, deep - 1) for s in build.code.callers(instructions[0].address)]
        return next((section for section in above if section is not None), None)
    return found


def _section(build: Build, instructions: Sequence[Instruction], end: int) -> Optional[Section]:
    """Back from the instruction at `end` to what masked interrupts, in the order of addresses:
    None where that is not in this function."""
    calls: List[str] = []
    waits = False
    for place in range(end - 1, -1, -1):
        instruction = instructions[place]
        callee = instruction.target if instruction.is_call else None
        if _masks(instructions, place) or (callee is not None and _only_masks(build, callee)):
            return Section(
                build.name_at(instructions[0].address),
                instructions[place + 1].address,
                instructions[end].address,
                tuple(dict.fromkeys(reversed(calls))),
                waits,
            )
        if instruction.unmasks and not _is_way_out(instructions, place):
            return None
        waits = waits or instruction.waits
        if callee is not None:
            calls.append(build.name_at(callee))
    return None


def _masks(instructions: Sequence[Instruction], place: int) -> bool:
    """Whether interrupts are masked after the instruction. An `msr` does it with a constant that
    is not 0, BASEPRI_MAX always, and BASEPRI with a register that does not hold what it was
    before; anything else restores."""
    instruction = instructions[place]
    if instruction.mnemonic == "cpsid":
        return True
    if not instruction.masks:
        return False
    mask, _, source = (word.strip().lower() for word in instruction.operands.partition(","))
    value = _value(instructions, place, source)
    if mask == "basepri_max" or value is not None:
        return mask == "basepri_max" or bool(value)
    return (
        mask == "basepri"
        and _was_read(instructions[:place])
        and not _is_restored(instructions[:place], source)
    )


def _was_read(before: Sequence[Instruction]) -> bool:
    return any(i.mnemonic == "mrs" and i.operands.lower().endswith("basepri") for i in before)


def _is_restored(before: Sequence[Instruction], register: str) -> bool:
    """Whether a register holds what `mrs` read, was copied, or comes from the stack."""
    last = next((i for i in reversed(before) if i.writes(register)), None)
    return last is not None and last.mnemonic.startswith(("mrs", "mov", "ldr", "ldm", "pop"))


def _is_way_out(instructions: Sequence[Instruction], place: int) -> bool:
    """Whether the function is left, or control goes elsewhere, right after."""
    return any(i.leaves for i in instructions[place + 1 : place + 1 + _WAY_OUT])


def _only_masks(build: Build, function: int) -> bool:
    """Whether a short function leaves interrupts masked."""
    instructions = build.code.function(function)
    last = [place for place, i in enumerate(instructions) if i.masks or i.unmasks]
    return 0 < len(instructions) <= _SHORT and bool(last) and _masks(instructions, last[-1])


# -- interrupts that the program pends itself -------------------------------------------


_ISPR, _ICSR, _STIR = range(0xE000E200, 0xE000E240), 0xE000ED04, 0xE000EF00
_SVC = 11
_ICSR_BITS = ((28, 14), (26, 15), (31, 2))
"""PENDSVSET, PENDSTSET, NMIPENDSET, and the exceptions that they raise."""
_MEMORY = re.compile(r"^(\w+), \[(\w+)(?:, #(-?\d+|0x[0-9a-f]+))?\]$")
_CONSTANT = re.compile(r"^(\w+), #(\d+|0x[0-9a-f]+)$")


def _pended(instructions: Sequence[Instruction], place: int) -> Optional[int]:
    """The exception that an svc or a store to the NVIC raises; None where it is not seen that one does.

    Only what is written with constants is followed: the register's address and the bit.
    """
    instruction = instructions[place]
    if instruction.mnemonic == "svc":
        return _SVC
    match = _MEMORY.match(instruction.operands)
    if not match:
        return None
    base = _value(instructions, place, match.group(2))
    if base is None:
        return None
    address = base + int(match.group(3) or "0", 0)
    value = _value(instructions, place, match.group(1))
    if address == _ICSR:
        return next((number for bit, number in _ICSR_BITS if value and value >> bit & 1), None)
    if value == 0 and address in _ISPR:
        return None
    if address == _STIR:
        return 0 if value is None else 16 + value
    if address in _ISPR:
        bit = (value & -value).bit_length() - 1 if value else -1
        return 16 + (address - _ISPR.start) * 8 + bit if bit >= 0 else 0
    return None


def _value(instructions: Sequence[Instruction], place: int, register: str) -> Optional[int]:
    """What a register holds, where the last write to it before, in the order of addresses,
    is a constant; a call writes what it need not preserve."""
    high: Optional[int] = None
    for instruction in reversed(instructions[:place]):
        if not instruction.writes(register):
            continue
        constant = _CONSTANT.match(instruction.operands)
        if instruction.mnemonic == "movt" and constant:
            high = int(constant.group(2), 0)
        elif instruction.mnemonic in ("mov", "movs", "movw") and constant:
            low = int(constant.group(2), 0)
            return low if high is None else high << 16 | low & 0xFFFF
        elif instruction.mnemonic == "ldr" and instruction.literal is not None:
            return instruction.literal
        else:
            return None
    return None


def asleep_after(instructions: Sequence[Instruction], place: int) -> bool:
    """Whether the core was asleep, or about to be, when an interrupt was taken here."""
    if instructions[place].waits:
        return True
    while place and instructions[place - 1].is_barrier:
        place -= 1
    return place > 0 and instructions[place - 1].waits


IDLE_FUNCTIONS: FrozenSet[str] = frozenset(
    ("prvIdleTask", "prvMinimalIdleTask", "vApplicationIdleHook", "osRtxIdleThread")
)
"""FreeRTOS's and RTX's idle code, for samples that carry no task."""
