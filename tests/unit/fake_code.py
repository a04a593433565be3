"""A program as a test writes it down: its instructions, and how many samples are at each.

    irq_on:
           0  cpsie i
        2992  bx lr
    main:
           3  bl {irq_off}
      .loop:
         100  ldr r3, [pc, #4] = 0xe000ed04
           .  bne {loop}

A name before a colon begins a function, or with a dot a label inside one; in braces it stands
for its address, as GDB writes it. A number is of samples, a dot is none. After ` = ` the word that
is loaded; after ` | ` what a debugger's comment says.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from elf_builder import Section, image
from fake_lines import FakeLines

from gdb_prof.profile.program.code import Build, Instruction, at
from gdb_prof.profile.program.functions import FunctionMap

BASE = 0x08000000
_LONG = ("bl", "msr", "mrs", "movw", "movt", "isb", "dsb", "dmb", "tbb", "tbh")
_LINE = re.compile(r"(?P<samples>\d+|\.)  (?P<text>[^=|]+?)(?: = (?P<literal>\w+))?(?: \| (?P<comment>.+))?")


class FakeCode:
    """See gdb_prof.profile.program.code.Code."""

    def __init__(self, functions: FunctionMap, instructions: Sequence[Instruction]) -> None:
        self._map, self._all = functions, instructions

    def function(self, address: int) -> Sequence[Instruction]:
        found = self._map.at(address)
        return [i for i in self._all if found and found.address <= i.address < found.end]

    def waits(self, address: int) -> bool:
        return any(instruction.waits for instruction in self.function(address))

    def callers(self, address: int) -> Sequence[int]:
        own = self._map.at(address)
        return [i.address for i in self._all if i.target == address and self._map.at(i.address) != own]


class Program(NamedTuple):
    """`counts`: samples by address; `at`: addresses of functions and labels."""

    build: Build
    counts: Dict[int, int]
    at: Dict[str, int]

    def instruction(self, label: str, further: int = 0) -> Instruction:
        """The one at a label, or so many after it."""
        instructions = self.build.code.function(self.at[label])
        place = at(instructions, self.at[label])
        assert place is not None
        return instructions[place + further]

    @property
    def pcs(self) -> List[int]:
        """The samples, by address."""
        return [pc for pc, n in self.counts.items() for _ in range(n)]


def program(text: str, lines: Optional[FakeLines] = None) -> Program:
    names: Dict[str, int] = {}
    begins: List[Tuple[str, int]] = []
    parsed: List[Tuple[int, int, "re.Match[str]"]] = []
    position = BASE
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            names[line[:-1].lstrip(".")] = position
            if not line.startswith("."):
                begins.append((line[:-1], position))
            continue
        match = _LINE.fullmatch(line)
        assert match, line
        mnemonic = match["text"].split()[0]
        size = 4 if mnemonic in _LONG or mnemonic.endswith(".w") else 2
        parsed.append((position, size, match))
        position += size
    words = {name: "0x%x <%s>" % (address, name) for name, address in names.items()}
    instructions = [
        Instruction(
            *(address, size, _as_gdb(match["text"].format(**words), match["comment"])),
            int(match["literal"], 0) if match["literal"] else None,
        )
        for address, size, match in parsed
    ]
    ends = [address for _, address in begins[1:]] + [position]
    symbols = ["%x %x FUNC GLOBAL %s" % (a | 1, end - a, name) for (name, a), end in zip(begins, ends)]
    functions = FunctionMap([(image([Section(".text", BASE, position - BASE)], "\n".join(symbols)), {})])
    counts = {a: int(m["samples"]) for a, _, m in parsed if m["samples"] not in (".", "0")}
    return Program(Build(functions, lines or FakeLines(), FakeCode(functions, instructions)), counts, names)


def _as_gdb(text: str, comment: Optional[str]) -> str:
    mnemonic, _, operands = text.partition(" ")
    return mnemonic + ("\t" + operands.strip() if operands else "") + ("\t@ " + comment if comment else "")
