"""Planned writes as text for the user's own code: register values, or C.

What is not known stays visible. A field of unknown position is printed as a macro that the user defines, and
a unit of unknown address as `DPU_BASE`. Nothing here needs a target.
"""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.counters.description import Fact, Field
from gdb_prof.counters.registers import Setting, Unit, Write, rests_on
from gdb_prof.errors import UsageError
from gdb_prof.printable import printable
from gdb_prof.wording import plural

WIDTH = 79


def planned(unit: Unit, register: str, fields: Mapping[str, Setting], before: int = 0) -> Write:
    """As Unit.setting, but a field of unknown position is let through: it is in `fields` of what comes back,
    not in its value. Such a write is for printing (see `is_whole`). Raises UsageError."""
    known: Dict[str, Setting] = {}
    unknown: List[Tuple[Field, int]] = []
    facts: List[Fact] = []
    for name, setting in fields.items():
        field, number, code_fact = unit.resolved(register, name, setting)
        if field.lsb is not None and field.width is not None:
            known[name] = setting
            continue
        if field.width is not None and number >> field.width:
            raise UsageError("%s has %d bits: 0x%x does not fit" % (name, field.width, number))
        unknown.append((field, number))
        facts += [field.fact, *([code_fact] if code_fact else [])]
    write = unit.setting(register, known, before)
    return dataclasses.replace(
        write, fields=(*write.fields, *unknown), facts=tuple(dict.fromkeys((*write.facts, *facts)))
    )


def is_whole(write: Write) -> bool:
    """Whether its value is all of it: no field of unknown position."""
    return not _unplaced(write)


def meanings(write: Write, unit: Unit) -> str:
    """`EN=0 TMODE=task`: the fields that are set by name, by meaning where the number has one."""
    return " ".join("%s=%s" % (field.name, _meaning(unit, field, number)) for field, number in write.fields)


def as_values(writes: Sequence[Write], unit: Unit, width: int = WIDTH) -> List[str]:
    """`DP_TC = 0x00000004  EN=0 TMODE=task`, a line each, then what they rest on."""
    name = max([len(write.register) for write in writes], default=0)
    lines: List[str] = []
    for write in writes:
        value = " | ".join(["0x%08x" % write.value, *("%s(0x%x)" % item for item in _macros(write))])
        text = "%-*s = %s" % (name, write.register, value)
        said = meanings(write, unit)
        indent = " " * (name + 3)
        if said and len(text) + 2 + len(said) <= width:
            lines.append("%s  %s" % (text, said))
        else:
            lines += textwrap.wrap(text, width, subsequent_indent=indent)
            lines += textwrap.wrap(said, width, initial_indent=indent, subsequent_indent=indent)
    return lines + [part for line in _notes(writes, unit) for part in _comment(line, width, "# ", "#   ")]


def as_c(writes: Sequence[Write], unit: Unit, width: int = WIDTH) -> List[str]:
    """Assignments in their order, each under a comment, then what they rest on as comments."""
    lines: List[str] = []
    for write in writes:
        lines += _c_comment(" ".join([write.register + ":", meanings(write, unit)]).rstrip(" :"), width)
        terms = ["0x%08xu" % write.value, *("%s(0x%xu)" % item for item in _macros(write))]
        if len(terms) > 1 and not write.value:
            terms = terms[1:]
        lines += _assignment(_place(write, unit), terms, width)
    for note in _notes(writes, unit):
        lines += _c_comment(note, width)
    return lines


def _place(write: Write, unit: Unit) -> str:
    if unit.base is None:
        return "*(volatile uint32_t *)(DPU_BASE + 0x%02xu)" % unit.description.register(write.register).offset
    return "*(volatile uint32_t *)0x%08xu" % unit.address(write.register)


def _assignment(place: str, terms: Sequence[str], width: int) -> List[str]:
    line = "%s = %s;" % (place, " | ".join(terms))
    if len(line) <= width:
        return [line]
    text = " | ".join(terms) + ";"
    return [place + " =", *textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")]


def _unplaced(write: Write) -> List[Tuple[Field, int]]:
    return [(field, number) for field, number in write.fields if field.lsb is None or field.width is None]


def _macros(write: Write) -> List[Tuple[str, int]]:
    return [("DPU_" + field.name, number) for field, number in _unplaced(write)]


def _meaning(unit: Unit, field: Field, number: int) -> str:
    # a description may give several meanings to a number: all of them, since which is meant is not known
    found = [code.meaning for code in unit.description.codes(field.name) if code.value == number]
    return "/".join(found) or ("%d" % number if number < 10 else "0x%x" % number)


def _notes(writes: Sequence[Write], unit: Unit) -> List[str]:
    notes = []
    if unit.base is None:
        notes.append("DPU_BASE: the address of the unit, which is not known here (set dpu base ADDRESS)")
    widths = {field.name: field.width for write in writes for field, _ in _unplaced(write)}
    if widths:
        macros = ["DPU_%s(x), %s" % (name, _bits(size)) for name, size in widths.items()]
        notes.append(
            "where these lie is not known: define each as ((uint32_t)(x) << ITS_LOWEST_BIT): "
            + "; ".join(macros)
        )
    return notes + rests_on([fact for write in writes for fact in write.facts])


def _bits(size: Optional[int]) -> str:
    return "of a width that is not known" if size is None else plural(size, "bit")


def _comment(text: str, width: int, first: str, later: str) -> List[str]:
    return textwrap.wrap(
        printable(text, len(text)),
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
    )


def _c_comment(text: str, width: int) -> List[str]:
    # a row's source is the user's text: it must not end the comment
    lines = _comment(text.replace("*/", "* /").replace("/*", "/ *"), width - 3, "/* ", "   ")
    return [*lines[:-1], lines[-1] + " */"]
