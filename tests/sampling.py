"""Sampling without a target: the sampler's own arithmetic over a lap that QEMU executed.

What a run under GDB takes a second for takes milliseconds, so that a test can look at hundreds
of runs. A lap is the addresses of the instructions of one turn of the program's main loop.
"""

from __future__ import annotations

import functools
from typing import Iterator, List, Sequence, Tuple

from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.program.image import Image
from gdb_prof.profile.program.names import Names
from gdb_prof.profile.samples import Profile, Timing
from running import elf, executed, functions_of

TICK = 1000 / 168
"""Instructions: QEMU counts one a nanosecond, and SysTick at 168 MHz."""


@functools.lru_cache(maxsize=None)
def lap(program: str, function: str, longest: int = 20_000, board: str = "netduinoplus2") -> Tuple[int, ...]:
    """From one call of a function to the next: a turn of the loop that calls it once."""
    entry = functions_of(elf(program, board))[function][0]
    addresses = executed(elf(program, board), board, longest, after=entry)
    return tuple(addresses[: addresses.index(entry, 1)])


def xorshift32(seed: int) -> Iterator[int]:
    """As prof.c has it."""
    x = seed
    while True:
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        yield x


def sampled(
    addresses: Sequence[int], samples: int, period: int, jitter: int, seed: int, start: int = 0
) -> List[int]:
    """The addresses that the sampler meets in lap after lap, from an instruction on."""
    length, at = len(addresses), float(start)
    found = []
    for random, _ in zip(xorshift32(seed), range(samples)):
        at += ((random & jitter) + period) * TICK
        found.append(addresses[int(at) % length])
    return found


def profile(
    addresses: Sequence[int], samples: int, seed: int, start: int = 0, period: int = 2013, jitter: int = 2047
) -> Profile:
    pcs = sampled(addresses, samples, period, jitter, seed, start)
    return Profile(pcs, taken=samples, timing=Timing("SysTick", period, jitter, 168e6))


@functools.lru_cache(maxsize=None)
def build(program: str, board: str = "netduinoplus2") -> Build:
    """Its functions, from the ELF, and nothing of lines and instructions."""
    nothing = Names("", "", ()).build()
    return Build(FunctionMap([(Image(str(elf(program, board))), {})]), nothing.lines, nothing.code)


def longer(addresses: Sequence[int], function: Tuple[int, int], points: float) -> List[int]:
    """The lap with more turns of the loop in a function, [start, end), called once a lap: its share is larger
    by so many points, or by less than a turn's more."""
    inside = [at for at, address in enumerate(addresses) if function[0] <= address < function[1]]
    middle = inside[len(inside) // 2]
    turn = addresses.index(addresses[middle], middle + 1) - middle
    more = points / 100 * len(addresses) / (1 - len(inside) / len(addresses) - points / 100)
    turns = -int(-more // turn)
    return [*addresses[:middle], *list(addresses[middle : middle + turn]) * turns, *addresses[middle:]]
