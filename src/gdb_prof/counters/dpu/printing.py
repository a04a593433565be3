"""Planned writes as text for the user's own code: register values, or C.

What is not known stays visible. A field of unknown position is printed as a macro that the user defines, and
a unit of unknown address as `DPU_BASE`. Nothing here needs a target.
"""

from __future__ import annotations

import textwrap
from typing import List, Optional, Sequence, Tuple

from gdb_prof.counters.description import Field
from gdb_prof.counters.dpu.enable import enabling
from gdb_prof.counters.dpu.reading import meaning
from gdb_prof.counters.registers import Unit, Write, rests_on
from gdb_prof.printable import printable
from gdb_prof.wording import plural

WIDTH = 79


def meanings(write: Write, unit: Unit) -> str:
    """`EN=0 TMODE=task`: the fields that are set by name, by meaning where the number has one."""
    return " ".join(
        "%s=%s" % (field.name, meaning(unit.description, field.name, number))
        for field, number in write.fields
    )


def as_values(writes: Sequence[Write], unit: Unit, width: int = WIDTH, switch: bool = False) -> List[str]:
    """`DP_TC = 0x00000004  EN=0 TMODE=task`, a line each, then what they rest on. `switch`: behind them the
    unit as a whole is switched on, `DP_CR |= 0x00000001  EN=1`."""
    writes = [*writes, *(enabling(unit, 0) if switch else ())]
    name = max([len(write.register) for write in writes], default=0)
    lines: List[str] = []
    for write in writes:
        value = " | ".join(_terms(write, ""))
        start = "%-*s %s " % (name, write.register, _operator(write))
        text, indent = start + value, " " * len(start)
        said = meanings(write, unit)
        if said and len(text) + 2 + len(said) <= width:
            lines.append("%s  %s" % (text, said))
        else:
            lines += textwrap.wrap(text, width, subsequent_indent=indent)
            lines += textwrap.wrap(said, width, initial_indent=indent, subsequent_indent=indent)
    return lines + notes(writes, unit, width, switch)


def as_c(writes: Sequence[Write], unit: Unit, width: int = WIDTH, switch: bool = False) -> List[str]:
    """Assignments in their order, each under a comment, then what they rest on as comments. `switch`: as for
    `as_values`."""
    writes = [*writes, *(enabling(unit, 0) if switch else ())]
    lines: List[str] = []
    for write in writes:
        lines += c_comment(" ".join([write.register + ":", meanings(write, unit)]).rstrip(" :"), width)
        terms = _terms(write, "u")
        if len(terms) > 1 and not write.value:
            terms = terms[1:]
        start = "%s %s" % (place(write.register, unit), _operator(write))
        lines += _assignment(start, terms, width)
    return lines + c_notes(writes, unit, width, switch)


def _operator(write: Write) -> str:
    """Of the unit's control no more than a field is known: the rest of it stays."""
    return "|=" if write.register == "DP_CR" else "="


def mask(write: Write, suffix: str = "") -> str:
    """The fields of a plan that sets them all to ones, as a term: `0x00000001`, or `DPU_EN(0x1)`. `suffix`:
    of the numbers."""
    terms = _terms(write, suffix)
    return " | ".join(terms if write.value else terms[1:])


def _terms(write: Write, suffix: str) -> List[str]:
    macros = ("DPU_%s(0x%x%s)" % (field.name, number, suffix) for field, number in _unplaced(write))
    return ["0x%08x%s" % (write.value, suffix), *macros]


def place(register: str, unit: Unit) -> str:
    """A register in C."""
    if unit.base is None:
        return "*(volatile uint32_t *)(DPU_BASE + 0x%02xu)" % unit.description.register(register).offset
    return "*(volatile uint32_t *)0x%08xu" % unit.address(register)


def _assignment(start: str, terms: Sequence[str], width: int) -> List[str]:
    line = "%s %s;" % (start, " | ".join(terms))
    if len(line) <= width:
        return [line]
    text = " | ".join(terms) + ";"
    return [start, *textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")]


def _unplaced(write: Write) -> List[Tuple[Field, int]]:
    return [(field, number) for field, number in write.fields if field.lsb is None]


def notes(writes: Sequence[Write], unit: Unit, width: int, switch: bool = False) -> List[str]:
    """What is to be defined, and what the writes rest on, as comments behind values. `switch`: the unit is to
    be on, too."""
    return [part for line in _notes(writes, unit, switch) for part in comment(line, width)]


def c_notes(writes: Sequence[Write], unit: Unit, width: int, switch: bool = False) -> List[str]:
    """As C's comments."""
    return [part for line in _notes(writes, unit, switch) for part in c_comment(line, width)]


def _notes(writes: Sequence[Write], unit: Unit, switch: bool) -> List[str]:
    found = []
    if switch and not enabling(unit, 0):
        found.append("how the unit as a whole is switched on is not known: set it on, or nothing is counted")
    if unit.base is None:
        found.append("DPU_BASE: the address of the unit, which is not known here (set dpu base ADDRESS)")
    widths = {field.name: field.width for write in writes for field, _ in _unplaced(write)}
    if widths:
        macros = ["DPU_%s(x), %s" % (name, _bits(size)) for name, size in widths.items()]
        found.append(
            "where these lie is not known: define each as ((uint32_t)(x) << ITS_LOWEST_BIT): "
            + "; ".join(macros)
        )
    return found + rests_on([fact for write in writes for fact in write.facts])


def _bits(size: Optional[int]) -> str:
    return "of a width that is not known" if size is None else plural(size, "bit")


def comment(text: str, width: int) -> List[str]:
    """As lines of a comment behind values."""
    return _comment(text, width, "# ", "#   ")


def _comment(text: str, width: int, first: str, later: str) -> List[str]:
    return textwrap.wrap(
        printable(text, len(text)),
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
    )


def c_comment(text: str, width: int) -> List[str]:
    """As lines of a comment in C."""
    # a row's source is the user's text: it must not end the comment
    lines = _comment(text.replace("*/", "* /").replace("/*", "/ *"), width - 3, "/* ", "   ")
    return [*lines[:-1], lines[-1] + " */"]
