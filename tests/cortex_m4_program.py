"""The program that the simulated Cortex-M4 runs: an ELF's memory, and program counters with known shares.

No instruction is executed. Functions take the time that they are said to; calls of `prof_start` and
`prof_stop` do what firmware/prof/prof.h says of them, and the sampler then fills its ring by the
host's clock.
"""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple

from elftools.elf.elffile import ELFFile

from cortex_m4_trace import CORE_HZ
from running import functions_of

FLASH, FLASH_SIZE = 0x08000000, 0x00100000
RAM, RAM_SIZE = 0x20000000, 0x00020000
NO_CALLER = 0xFFFFFFFF
_SYST_CSR, _SYST_RVR = 0xE000E010, 0xE000E014
_COUNTS_AND_INTERRUPTS = 7


class Memory:
    """Flash and RAM of the ELF's segments. Flash is also at 0, where the core looks for its vectors."""

    def __init__(self, elf: Path) -> None:
        self.flash, self.ram = bytearray(b"\xff" * FLASH_SIZE), bytearray(RAM_SIZE)
        self._variables: List[Tuple[int, bytes]] = []
        with open(elf, "rb") as file:
            for segment in ELFFile(file).iter_segments("PT_LOAD"):
                load, run = segment["p_paddr"] - FLASH, segment["p_vaddr"]
                self.flash[load : load + segment["p_filesz"]] = segment.data()
                if RAM <= run < RAM + RAM_SIZE:
                    self._variables.append((run - RAM, segment.data().ljust(segment["p_memsz"], b"\0")))

    def start_up(self) -> None:
        """What start-up code does: variables get their first values."""
        for offset, content in self._variables:
            self.ram[offset : offset + len(content)] = content

    def part(self, address: int) -> Optional[Tuple[bytearray, int]]:
        """The memory at an address and the offset in it."""
        for start, content in ((FLASH, self.flash), (RAM, self.ram), (0, self.flash)):
            if start <= address < start + len(content):
                return content, address - start
        return None

    def word(self, address: int) -> int:
        found = self.part(address)
        assert found, hex(address)
        return int(struct.unpack_from("<I", *found)[0])

    def set_word(self, address: int, value: int) -> None:
        struct.pack_into("<I", self.ram, address - RAM, value & NO_CALLER)


class Program:
    """`shares`: the part of the time by function, together 1. `asleep`: the part of all time, beside them,
    in which the core sleeps."""

    def __init__(self, elf: Path, shares: Mapping[str, float], asleep: float, seed: int) -> None:
        self.memory = Memory(elf)
        self.functions = functions_of(elf)
        self._symbols = _symbols(elf)
        self._random = random.Random(seed)
        self._names, self._weights = list(shares), list(shares.values())
        self._asleep = asleep
        self._addresses = {name: self._instructions(*self.functions[name]) for name in shares}
        self._returns = self._calls()

    def address(self, name: str) -> Optional[int]:
        """Of a symbol, without the Thumb bit."""
        return self._symbols[name][0] & ~1 if name in self._symbols else None

    def size(self, name: str) -> int:
        return self._symbols[name][1]

    def pc(self) -> int:
        """An instruction by the known shares."""
        name = self._random.choices(self._names, self._weights)[0]
        return self._random.choice(self._addresses[name])

    def sleeps(self) -> bool:
        return self._random.random() < self._asleep

    def caller(self, pc: int) -> int:
        """Where the function at `pc` returns to, with the Thumb bit; all ones where nothing calls it."""
        return next(
            (back | 1 for (start, end), back in self._returns.items() if start <= pc < end), 0xFFFFFFFF
        )

    def next(self, pc: int) -> int:
        """The instruction behind the one at `pc`; behind a function's last one its caller's, or its own first."""
        after = pc + self._size(pc)
        for start, end in self.functions.values():
            if start <= pc < end == after:
                caller = self.caller(pc)
                return start if caller == NO_CALLER else caller & ~1
        return after

    def in_loops(self, pc: int) -> bool:
        return any(pc in addresses for addresses in self._addresses.values())

    def first_met(self, pc: int, addresses: List[int]) -> Optional[int]:
        """Of these addresses the one that the loops meet first from `pc` on."""
        met = sorted(address for address in addresses if self.in_loops(address))
        return next((address for address in met if address >= pc), met[0] if met else None)

    def _size(self, address: int) -> int:
        return 4 if self.memory.word(address) & 0xFFFF >= 0xE800 else 2

    def _instructions(self, start: int, end: int) -> List[int]:
        found = []
        while start < end:
            found.append(start)
            start += self._size(start)
        return found

    def _calls(self) -> Dict[Tuple[int, int], int]:
        """By called function the instruction behind its call in the loops."""
        found = {}
        for address in [a for addresses in self._addresses.values() for a in addresses]:
            first, second = struct.unpack("<HH", struct.pack("<I", self.memory.word(address)))
            if first & 0xF800 != 0xF000 or second & 0xD000 != 0xD000:  # BL, encoding T1
                continue
            far = (first & 0x3FF) << 12 | (second & 0x7FF) << 1
            target = address + 4 + far - (0x400000 if first & 0x400 else 0)
            found.update({range_: address + 4 for range_ in self.functions.values() if range_[0] == target})
        return found


def _symbols(elf: Path) -> Dict[str, Tuple[int, int]]:
    """Address and size by name."""
    with open(elf, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {s.name: (s["st_value"], s["st_size"]) for s in table.iter_symbols() if s.name}


class Sampler:
    """firmware/prof as its header describes it, by SysTick; `registers` are the System Control Space's."""

    def __init__(self, program: Program, registers: Dict[int, int]) -> None:
        self._program, self._registers = program, registers
        self._due = 0.0
        self._since: Optional[float] = None

    @property
    def on(self) -> bool:
        return self._registers.get(_SYST_CSR, 0) & 3 == 3 and self._program.address("prof_pc") is not None

    def start(self, period: int, limit: int) -> None:
        self._set("prof_n", 0)
        self._set("prof_limit", limit)
        self._set("prof_period", period - 1)
        self._registers[_SYST_RVR] = period - 1
        self._registers[_SYST_CSR] = _COUNTS_AND_INTERRUPTS
        self._due = 0.0

    def stop(self) -> None:
        self._registers[_SYST_CSR] = 0

    def resume(self) -> None:
        self._since = time.monotonic()

    def halt(self) -> None:
        self._since = None

    def advance(self) -> bool:
        """Take the samples that are due since the last time; True when the last one has met the limit."""
        if not self.on or self._since is None:
            return False
        now = time.monotonic()
        self._due += (now - self._since) * CORE_HZ / self._mean_ticks()
        self._since = now
        taken, limit = self._get("prof_n"), self._get("prof_limit")
        due = int(self._due)
        self._due -= due
        last = min(taken + due, limit) if limit else taken + due
        self._keep(taken, last)
        if last == taken or last != limit:
            return False
        self.stop()
        return True

    def _keep(self, taken: int, last: int) -> None:
        memory = self._program.memory
        ring = self._program.address("prof_pc")
        size = self._program.size("prof_pc") // 4
        assert ring is not None
        for n in range(max(taken, last - size), last):
            memory.set_word(ring + 4 * (n % size), self._program.pc())
        self._set("prof_n", last)

    def _mean_ticks(self) -> float:
        return self._registers[_SYST_RVR] + 1 + self._get("prof_jitter") / 2

    def _get(self, name: str) -> int:
        address = self._program.address(name)
        return self._program.memory.word(address) if address is not None else 0

    def _set(self, name: str, value: int) -> None:
        address = self._program.address(name)
        if address is not None:
            self._program.memory.set_word(address, value)
