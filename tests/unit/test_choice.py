"""Which function a name means, and what is said where it is none or several."""

from __future__ import annotations

import collections
from typing import Dict, Optional

import pytest
from elf_builder import Section, image
from fake_lines import FakeLines
from listed_code import ListedCode

from gdb_prof.errors import UsageError
from gdb_prof.profile.one_function.choice import chosen
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Asleep, shares

BASE = 0x08000000
SYMBOLS = (
    *("hot_a", "hot_b", "parse", "parse.part.0", "main", "idle"),
    *("delay", "delay", "_ZNK3dsp6FilterILi3EE4stepEi", "_ZN3dsp6FilterILi3EE4stepEf", "_ZN1aclEv"),
    *("_ZN4core3fmt5write17h0123456789abcdefE", "_Z6hiddeni.isra.0", "twin", "start"),
)
READABLE = {
    "_ZNK3dsp6FilterILi3EE4stepEi": "dsp::Filter<3>::step(int) const",
    "_ZN3dsp6FilterILi3EE4stepEf": "dsp::Filter<3>::step(float)",
    "_ZN1aclEv": "a::operator()()",
    "_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write::h0123456789abcdef",
    "_Z6hiddeni.isra.0": "(anonymous namespace)::hidden(std::vector<int>) [clone .isra.0]",
}
FILES = {6: "glcd.c", 7: "touch.c"}


def _address(at: int) -> int:
    return BASE + 8 * at


def _table() -> str:
    lines = []
    for at, name in enumerate(SYMBOLS):
        if at in FILES:
            lines.append("0 0 FILE LOCAL " + FILES[at])
        lines.append("%08x 8 FUNC %s %s" % (_address(at) | 1, "LOCAL" if at in FILES else "GLOBAL", name))
    return "\n".join(lines)


BOOT = image(
    [Section(".text", 0x1000, 0x20)], "00001001 8 FUNC GLOBAL start\n00001009 8 FUNC GLOBAL twin", "boot.elf"
)
MAP = FunctionMap([(image([Section(".text", BASE, 0x100)], _table(), "app.elf"), {}), (BOOT, {})])
LINES = FakeLines(
    definitions={_address(0): ("C:\\src\\loops.c", 3)},
    inlined={_address(0) + 2: ("spin", "hot_a"), _address(1) + 2: ("spin", "hot_b")},
)
BUILD = Build(MAP, LINES, ListedCode(MAP, ""))
UNUSED, SLEEPS = SYMBOLS.index("main"), SYMBOLS.index("idle")
PCS = (
    [_address(at) + 2 for at in range(len(SYMBOLS)) if at != UNUSED]
    + [0x1002, 0x100A]
    + [_address(0) + 2] * 9
)
ROWS = shares(Profile(PCS), MAP, LINES, asleep=Asleep(frozenset([_address(SLEEPS) + 2]))).rows


def at(name: str, aliases: Optional[Dict[str, int]] = None) -> int:
    """The address of the function that is chosen."""
    find = (aliases or {}).get
    row = chosen(name, ROWS, collections.Counter(PCS), BUILD, lambda n: READABLE.get(n, n), find)
    assert row.function is not None
    return row.function.address


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("hot_a", "hot_a"),
        ("loops.c:hot_a", "hot_a"),
        ("hot_a (loops.c)", "hot_a"),
        ("C:\\src\\loops.c:hot_a", "hot_a"),
        ("app.elf:hot_a", "hot_a"),
        ("08000000:hot_a", "hot_a"),
        ("parse", "parse"),
        ("parse.part.0", "parse.part.0"),
        ("_ZN3dsp6FilterILi3EE4stepEf", "_ZN3dsp6FilterILi3EE4stepEf"),
        ("dsp::Filter<3>::step(float)", "_ZN3dsp6FilterILi3EE4stepEf"),
        ("dsp::Filter<3>::step(int) const", "_ZNK3dsp6FilterILi3EE4stepEi"),
        ("a::operator()()", "_ZN1aclEv"),
        ("a::operator()", "_ZN1aclEv"),
        ("core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE"),
        ("fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE"),
        ("write", "_ZN4core3fmt5write17h0123456789abcdefE"),
        ("(anonymous namespace)::hidden(std::vector<int>)", "_Z6hiddeni.isra.0"),
        ("(anonymous namespace)::hidden", "_Z6hiddeni.isra.0"),
        ("hidden", "_Z6hiddeni.isra.0"),
    ],
)
def test_a_name_as_the_symbol_table_or_the_source_has_it(name: str, symbol: str) -> None:
    assert at(name) == _address(SYMBOLS.index(symbol))


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("glcd.c:delay", _address(6)),
        ("delay (touch.c)", _address(7)),
        ("boot.elf:start", 0x1000),
        ("app.elf:start", _address(SYMBOLS.index("start"))),
        ("start (boot.elf)", 0x1000),
        ("00001008:twin", 0x1008),
    ],
)
def test_the_file_or_the_image_tells_functions_of_one_name_apart(name: str, address: int) -> None:
    assert at(name) == address


def test_another_name_of_the_same_body() -> None:
    assert at("SysTick_Handler", {"SysTick_Handler": _address(1)}) == _address(1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("delay", "2 functions are called delay: glcd.c:delay, touch.c:delay"),
        ("start", "2 functions are called start: app.elf:start, boot.elf:start"),
        ("step", "2 functions are called step: dsp::Filter<3>::step(float), dsp::Filter<3>::step(int) const"),
        ("hto_a", "no function hto_a has samples; near it: hot_a, hot_b"),
        ("boot.elf:hot_a", "no function boot.elf:hot_a has samples; near it: loops.c:hot_a"),
        ("xyzzy", "no function xyzzy has samples: `prof dump` lists what has"),
        ("main", "main has no samples: `prof dump` lists what has"),
        ("parse.part", "no function parse.part has samples; near it: parse.part.0, parse"),
        ("idle", "idle only sleeps: its 1 sample lie on or after a wfi or wfe, or are the idle task's"),
        (
            "spin",
            "spin is inlined in hot_a and 1 other function: `prof annotate hot_a` shows 10 samples of it",
        ),
    ],
)
def test_what_is_not_there_is_said_with_what_is(name: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        at(name)
    assert str(raised.value) == message


def test_the_choices_that_are_named_lead_to_one_function_each() -> None:
    for name in ("glcd.c:delay", "touch.c:delay", "app.elf:start", "boot.elf:start"):
        assert at(name)


def test_without_any_row() -> None:
    with pytest.raises(UsageError, match=r"no function f has samples$"):
        chosen("f", (), {}, BUILD, str)
