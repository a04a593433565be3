"""From ELF symbol tables to the function at an address (cases 14, 16-19, 23, 24, 26)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Tuple

import pytest
from elf_builder import Section, elf, image, image_of
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.errors import FileError
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.program.image import Image, content_at, is_read_only
from gdb_prof.profile.program.mangled import identifiers, last_part
from running import elf as firmware
from running import functions_of
from shared_data import shared_data

TEXT = Section(".text", 0x08000100, 0x70)


def names(functions: FunctionMap, *addresses: int) -> List[Optional[str]]:
    return [f.name if f else None for f in map(functions.at, addresses)]


def text(symbols: str, section: Section = TEXT) -> FunctionMap:
    return FunctionMap([(image([section], symbols), {})])


@pytest.mark.parametrize(
    ("pc", "name", "guessed"),
    [
        (0x08000118, "Reset_Handler", True),
        (0x0800011E, "Reset_Handler", True),
        (0x08000130, "main", False),
        (0x08000168, "__memcpy_veneer", True),
        (0x0800016E, "__memcpy_veneer", True),
    ],
)
def test_a_function_without_a_size_reaches_to_the_next(pc: int, name: str, guessed: bool) -> None:
    function = text(
        """
        08000101  0 FUNC GLOBAL Reset_Handler
        08000121 40 FUNC GLOBAL main
        08000161  0 FUNC LOCAL  __memcpy_veneer
        """
    ).at(pc)
    assert function is not None
    assert (function.name, function.guessed) == (name, guessed)


def test_code_that_no_symbol_covers_is_nobodys() -> None:
    functions = text("08000111 8 FUNC GLOBAL f\n 08000131 8 FUNC GLOBAL g")
    assert names(functions, 0x08000100, 0x08000110, 0x08000118, 0x08000136, 0x08000138) == [
        *("(no symbol, .text)", "f", "(no symbol, .text)", "g", "(no symbol, .text)")
    ]
    assert names(functions, 0x080000FE, 0x08000170, 0xFFFFFFFE, 0) == [None] * 4
    assert functions.at(0x08000118).symbol is False  # type: ignore[union-attr]


def test_a_size_beyond_the_section_ends_with_it() -> None:
    function = text("08000161 ffff0000 FUNC GLOBAL f").at(0x0800016E)
    assert function is not None
    assert (function.address, function.end) == (0x08000160, 0x08000170)


def test_labels_without_a_type_are_code_where_a_mapping_symbol_says_so() -> None:
    functions = text(
        """
        08000100 0 NOTYPE LOCAL  $t
        08000100 0 NOTYPE GLOBAL start_b
        08000100 0 NOTYPE GLOBAL start_a
        08000120 8 FUNC   GLOBAL f
        08000124 0 NOTYPE GLOBAL inside_f
        08000126 0 FUNC   LOCAL  also_inside_f
        08000140 0 NOTYPE LOCAL  $d
        08000140 0 NOTYPE GLOBAL table
        """
    )
    assert names(functions, 0x08000110, 0x08000124, 0x08000126) == ["start_a", "f", "f"]
    assert names(functions, 0x08000148) == ["(no symbol, .text)"]
    start = functions.at(0x08000110)
    assert start is not None
    assert (start.guessed, start.aliases) == (True, 1)


def test_mapping_symbols_are_no_names_and_bit_0_is_cleared_for_code_only() -> None:
    sections = [TEXT, Section(".data", 0x20000000, 0x10, "WA")]
    app = image(
        sections,
        """
        08000100  0 NOTYPE LOCAL  $t.0
        08000101 20 FUNC   GLOBAL f
        08000110  0 NOTYPE LOCAL  $d.realdata
        08000120  0 NOTYPE LOCAL  $t.1
        08000120  8 FUNC   GLOBAL g
        20000001  4 OBJECT GLOBAL tbl
        """,
    )
    functions = FunctionMap([(app, {})])
    assert names(functions, 0x08000112, 0x08000122, 0x08000123, 0x20000001) == ["f", "g", "g", None]
    assert [functions.in_literal_pool(a) for a in (0x0800010E, 0x08000112, 0x08000120)] == [
        False,
        True,
        False,
    ]
    table = app.find("tbl")
    assert table is not None
    assert (table.address, table.size) == (0x20000001, 4)


def test_a_body_is_named_sized_first_then_global_local_weak_then_by_alphabet() -> None:
    symbols = [
        "08000101  0 FUNC GLOBAL a_unsized",
        "08000101 10 FUNC WEAK   b_weak",
        "08000101 10 FUNC LOCAL  a_local",
        "08000101 10 FUNC GLOBAL d_global",
        "08000101 10 FUNC GLOBAL c_global",
    ]
    for order in (symbols, symbols[::-1]):
        function = text("\n".join(order)).at(0x08000104)
        assert function is not None
        assert (function.name, function.aliases, function.guessed) == ("c_global", 4, False)


def test_a_body_is_as_large_as_its_largest_name_says() -> None:
    functions = text("08000101 4 FUNC GLOBAL a\n 08000101 20 FUNC GLOBAL b")
    assert names(functions, 0x08000102, 0x0800011E, 0x08000120) == ["a", "a", "(no symbol, .text)"]


def test_the_default_handler_has_98_aliases() -> None:
    elfsym = str(shared_data("cmsisview_elf/elfsym.elf"))
    found = [FunctionMap([(Image(elfsym), {})]).at(0x10001582) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0] is not None
    assert found[0].aliases == 98
    assert names(FunctionMap([(Image(elfsym), {})]), 0x10001C70) == ["freopen"]


def test_a_local_symbol_knows_its_file_a_global_one_does_not() -> None:
    functions = text(
        """
        0 0 FILE LOCAL one.c
        08000101 8 FUNC LOCAL delay
        0 0 FILE LOCAL two.c
        08000111 8 FUNC LOCAL delay
        08000121 8 FUNC GLOBAL main
        """
    )
    sources = [f.source for f in map(functions.at, (0x08000100, 0x08000110, 0x08000120)) if f]
    assert sources == ["one.c", "two.c", ""]


# -- names of C++ and Rust ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symbol", "found"),
    [
        ("main", ""),
        ("_start", ""),
        ("_Z4stepi", "step"),
        ("_ZL4stepi", "step"),
        ("_ZN2ns4stepEi", "ns step"),
        ("_ZN2nsL4stepEi", "ns step"),
        ("_ZN14steppingFilterEv", "steppingFilter"),
        ("_Z3runN2ns4stepE", "run"),
        ("_ZN3runEN2ns4stepE", "run"),
        ("_ZNK2ns6Filter5valueEv", "ns Filter value"),
        ("_ZN4LockC1ERKi", "Lock"),
        ("_ZN2ns4LockD2Ev", "ns Lock ~Lock"),
        ("_ZN2ns4LockplERKS0_", "ns Lock"),
        ("_ZNSt6vectorIiSaIiEE9push_backERKi", "vector push_back"),
        ("_ZSt4swapIiEvRT_S1_", "swap"),
        ("_ZN6FilterIN2ns4stepELj5ELb1EE3runEv", "Filter run"),
        ("_ZN6FilterIL5Color1EE3runEv", "Filter run"),
        ("_ZN6FilterILN2ns5ColorE12EE3runEv", "Filter run"),
        ("_ZN6FilterIXadL_Z3foovEEE3runEv", "Filter run"),
        ("_ZN6FilterIA5_iDv4_fE3runEv", "Filter run"),
        ("_ZN3FooUlvE0_4callEv", "Foo call"),
        ("_ZN12_GLOBAL__N_14stepEv", "_GLOBAL__N_1 step"),
        ("_ZZN2ns4mainEvENKUlvE_clEv", "ns main"),
        ("_ZThn8_N4Lock3runEv", ""),
        ("_ZplRK1AS1_", ""),
        ("_ZN4core3ptr13read_volatile17h0123456789abcdefE", "core ptr read_volatile h0123456789abcdef"),
        ("_RNvNtCs1a2b3c_7mycrate4uart4send", "mycrate uart send"),
    ],
)
def test_the_identifiers_in_a_mangled_name(symbol: str, found: str) -> None:
    assert list(identifiers(symbol)) == found.split()


@given(st.text(alphabet="_ZRNIELSTAUDltC0123²v", max_size=30), st.sampled_from(["_Z", "_ZN", "_R", ""]))
def test_any_name_is_parsed(name: str, start: str) -> None:
    assert all(part in start + name for part in identifiers(start + name) if not part.startswith("~"))


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("step", "step"),
        ("ns::step(int)", "step"),
        ("ns::Filter<std::less<int> >::step<4>(std::vector<int>)", "step"),
        ("(anonymous namespace)::step()", "step"),
        ("core::ptr::read_volatile<u32>", "read_volatile"),
        ("ns::Lock::~Lock()", "~Lock"),
    ],
)
def test_the_last_part_of_a_name(name: str, last: str) -> None:
    assert last_part(name) == last


def test_a_function_is_known_by_its_identifier_and_not_by_a_part_of_one() -> None:
    functions = text(
        """
        08000101 8 FUNC GLOBAL _ZN14steppingFilterEv
        08000109 8 FUNC LOCAL _ZN2ns3runEi.isra.0
        08000111 8 FUNC LOCAL irq_on.part.0
        """
    )
    assert [functions.knows(n) for n in ("irq_on", "ns::run(int)", "ns::steppingFilter()")] == [True] * 3
    assert [functions.knows(n) for n in ("irq", "run", "ns::step(int)", "ns::stepping()")] == [False] * 4


# -- the files' bytes --------------------------------------------------------------------------


def test_the_bytes_at_a_run_time_address_are_the_files(tmp_path: Path) -> None:
    sections = [
        Section(".text", 0x1000, 8),
        Section(".ramfunc", 0x2000, 8, "WAX"),
        Section(".bss", 0x3000, 8, "WAN"),
        Section(".overlay_a", 0x4000, 8),
        Section(".overlay_b", 0x4000, 8),
    ]
    path = tmp_path / "app.elf"
    content = elf(sections)
    path.write_bytes(content[:52] + bytes(range(32)) + content[84:])
    program = Image(str(path))
    images = [(program, {1: 0x100})]
    assert content_at(images, 0x1102, 4) == bytes([2, 3, 4, 5])
    assert content_at(images, 0x1106, 4) == bytes([6, 7])
    assert content_at(images, 0x2000, 2) == bytes([8, 9])
    for elsewhere in (0x1000, 0x1108, 0x3000, 0x4000):  # moved away; past its end; not in the file; two
        assert content_at(images, elsewhere, 4) == b""
    assert [is_read_only(images, a) for a in (0x1100, 0x2000, 0x4000, 0x5000)] == [True, False, True, False]


def test_code_is_where_the_flags_say_so_not_where_the_name_does() -> None:
    sections = [
        Section("ER_ROM", 0x10000000, 0x20),
        Section(".text", 0x20000000, 0x20, "WA"),
        Section(".debug_frame", 0x10000000, 0x20, ""),
    ]
    program = image(sections, "10000001 8 FUNC GLOBAL f\n20000001 8 FUNC GLOBAL d")
    assert [s.name for s in program.sections.values()] == ["ER_ROM", ".text"]
    functions = FunctionMap([(program, {})])
    assert names(functions, 0x10000004, 0x20000004, 0x10000010) == ["f", None, "(no symbol, ER_ROM)"]


def test_code_in_ram_is_at_its_run_address_and_overlays_are_all_named() -> None:
    sections = [
        Section(".ramfunc", 0x20000400, 0x80),
        Section(".overlay_a", 0x20001000, 0x40),
        Section(".overlay_b", 0x20001000, 0x40),
    ]
    symbols = """
        20000401 40 FUNC GLOBAL flash_write
        20001001 20 FUNC GLOBAL step_a .overlay_a
        20001001 20 FUNC GLOBAL step_b .overlay_b
        20001021 10 FUNC GLOBAL only_b .overlay_b
    """
    functions = FunctionMap([(image(sections, symbols), {})])
    assert names(functions, 0x20000410, 0x08004010, 0x20001008, 0x20001022) == [
        *("flash_write", None, "step_a|step_b", "only_b")
    ]


def test_two_images_each_at_its_offset() -> None:
    boot = image([Section(".text", 0x08000000, 0x400)], "08000201 20 FUNC GLOBAL main", "boot.elf")
    app = image([Section(".text", 0x0, 0x400)], "00000201 20 FUNC GLOBAL main", "app.elf")
    functions = FunctionMap([(boot, {}), (app, {1: 0x600C0000})])
    found = [functions.at(a) for a in (0x08000210, 0x600C0210)]
    assert [(f.name, f.image, f.address) for f in found if f] == [
        ("main", "boot.elf", 0x08000200),
        ("main", "app.elf", 0x600C0200),
    ]
    assert functions.at(0x210) is None


def test_sections_of_one_image_may_move_apart() -> None:
    sections = [Section(".text", 0x1000, 0x40), Section(".ramfunc", 0x2000, 0x40)]
    symbols = """
        1001 10 FUNC GLOBAL f
        1000 0 NOTYPE LOCAL $t
        1008 0 NOTYPE LOCAL $d
        2001 10 FUNC GLOBAL g
    """
    functions = FunctionMap([(image(sections, symbols), {1: 0x08000000, 2: 0x20000000})])
    assert names(functions, 0x08001004, 0x20002004) == ["f", "g"]
    pools = [functions.in_literal_pool(a) for a in (0x08001004, 0x08001008, 0x20002004)]
    assert pools == [False, True, False]


def test_stripped_code_is_grouped_by_section_until_the_debug_file_is_there(tmp_path: Path) -> None:
    program = firmware("three_loops")
    stripped, debug = tmp_path / "app.elf", tmp_path / "app.debug"
    subprocess.run(["arm-none-eabi-objcopy", "--strip-all", program, stripped], check=True)
    subprocess.run(["arm-none-eabi-objcopy", "--only-keep-debug", program, debug], check=True)
    hot_a = functions_of(program)["hot_a"][0]
    image = Image(str(stripped))
    alone = FunctionMap([(image, {})])
    assert (names(alone, hot_a), image.stripped) == (["(no symbol, .text)"], True)
    for pair in ([debug], [stripped, debug], [debug, stripped]):
        assert names(FunctionMap([(Image(str(p)), {}) for p in pair]), hot_a) == ["hot_a"]


TINY = elf([TEXT], "08000101 8 FUNC GLOBAL f")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an ELF file"),
        (b"#!/bin/sh\n" * 20, "not an ELF file"),
        (TINY[:30], "not an ELF file"),
        (TINY[:-60], "not an ELF file"),
        (TINY[:32] + b"\xff\xff\xff\x7f" + TINY[36:48] + b"\0\0" + TINY[50:], "not an ELF file"),
    ],
    ids=["empty", "script", "header cut", "end cut", "sections elsewhere"],
)
def test_what_is_no_elf_file_for_a_cortex_m_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(FileError, match=r"x\.elf: " + message):
        image_of(content, "x.elf")


def test_an_elf_file_of_another_machine_is_refused(tmp_path: Path) -> None:
    big_endian = tmp_path / "big.o"
    subprocess.run(["arm-none-eabi-as", "-EB", "-o", big_endian, "/dev/null"], check=True)
    for path in (str(big_endian), os.path.realpath(sys.executable)):
        with pytest.raises(FileError, match="not a 32-bit little-endian ELF file"):
            Image(path)


def test_a_file_that_is_gone_is_a_file_error() -> None:
    with pytest.raises(FileError, match=r"/nowhere/x\.elf: No such file"):
        Image("/nowhere/x.elf")


@given(st.lists(st.tuples(st.integers(0, len(TINY) - 1), st.integers(0, 255)), max_size=6))
def test_a_damaged_file_is_read_or_refused(changes: List[Tuple[int, int]]) -> None:
    content = bytearray(TINY)
    for at, byte in changes:
        content[at] = byte
    try:
        FunctionMap([(image_of(bytes(content), "damaged.elf"), {})]).at(0x08000104)
    except FileError as error:
        assert "damaged.elf: " in str(error)


def test_names_from_a_file_are_printable_and_long_mangled_ones_whole() -> None:
    long = "_ZN" + "3foo" * 500 + "Ev"
    symbols = "0 0 FILE LOCAL \x1b.c\n 08000101 8 FUNC LOCAL a\x1b[31m\udcff\n 08000111 8 FUNC GLOBAL " + long
    functions = text(symbols, Section("\x07", TEXT.address, TEXT.size))
    assert names(functions, 0x08000100, 0x08000110) == ["a\\x1b[31m\\xff", long]
    assert names(functions, 0x08000120) == ["(no symbol, \\x07)"]
    assert functions.at(0x08000100).source == "\\x1b.c"  # type: ignore[union-attr]


START, SIZE = st.integers(0, 0x7F).map(lambda i: 2 * i), st.integers(1, 0x60)


@given(st.lists(st.tuples(START, SIZE), max_size=12))
def test_the_function_that_begins_last_before_an_address_has_it(ranges: List[Tuple[int, int]]) -> None:
    base, end = 0x08000000, 0x100
    symbols = ["%08x %x FUNC GLOBAL f%02d" % (base + a | 1, n, i) for i, (a, n) in enumerate(ranges)]
    functions = text("\n".join(symbols), Section(".text", base, end))
    for address in range(end):
        covering = [a for a, n in ranges if a <= address < a + n]
        name = "(no symbol, .text)"
        if covering:
            name = "f%02d" % [a for a, _ in ranges].index(max(covering))
        assert names(functions, base + address) == [name]
