"""What an instruction does, as GDB's and objdump's disassemblers of several versions spell it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import List, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.profile.program.code import Instruction, at, calls
from running import elf, gdb


def instruction(text: str) -> Instruction:
    return Instruction(0x08000100, 2, text)


@pytest.mark.parametrize(
    ("text", "mnemonic", "operands"),
    [
        ("nop", "nop", ""),
        ("nop.w", "nop", ""),
        ("bx\tlr", "bx", "lr"),
        ("LDR.W\tr3, [r2, #4]", "ldr", "r3, [r2, #4]"),
        ("b.n\t0x8000200 <main+4>", "b", "0x8000200 <main+4>"),
        ("movs\tr2, #64\t@ 0x40", "movs", "r2, #64"),  # GDB 13 and 16
        ("movs\tr2, #64\t; 0x40", "movs", "r2, #64"),  # GDB 9 to 12
        ("ldr\tr3, [pc, #72]\t@ (0x80000e0 <f+224>)", "ldr", "r3, [pc, #72]"),
        ("ldr\tr3, [pc, #72]\t; (80000e0 <f+0xe0>)", "ldr", "r3, [pc, #72]"),
        ("it\teq", "it", "eq"),
        ("msr\tPRIMASK, r0", "msr", "PRIMASK, r0"),
        ("cpsid  i", "cpsid", "i"),
        ("\t\t@ <UNDEFINED> instruction: 0xed04e000", "@", ""),
        ("", "", ""),
    ],
)
def test_mnemonic_and_operands_without_width_and_comment(text: str, mnemonic: str, operands: str) -> None:
    assert (instruction(text).mnemonic, instruction(text).operands) == (mnemonic, operands)


@pytest.mark.parametrize(
    ("text", "masks", "unmasks"),
    [
        ("cpsid\ti", True, False),
        ("cpsid\tf", True, False),
        ("cpsid\tif", True, False),
        ("cpsie\ti", False, True),
        ("cpsie\tf", False, True),
        ("CPSIE\ti", False, True),
        ("msr\tPRIMASK, r0", True, True),  # what its register holds is not told here
        ("msr\tprimask, r0", True, True),
        ("msr\tFAULTMASK, r1", True, True),
        ("msr\tBASEPRI, r3", True, True),
        ("msr\tBASEPRI_MAX, r0", True, True),
        ("msr\tCONTROL, r0", False, False),
        ("msr\tPSP, r0", False, False),
        ("mrs\tr0, PRIMASK", False, False),
        ("movs\tr0, #0", False, False),
        ("nop", False, False),
    ],
)
def test_what_keeps_interrupts_away_and_lets_them_in(text: str, masks: bool, unmasks: bool) -> None:
    assert (instruction(text).masks, instruction(text).unmasks) == (masks, unmasks)


@pytest.mark.parametrize(
    ("text", "branches", "is_call", "target"),
    [
        ("b.n\t0x8000200 <main+4>", True, False, 0x08000200),
        ("b.w\t0x8000200 <main+4>", True, False, 0x08000200),
        ("b\t0x8000200", True, False, 0x08000200),
        ("beq.n\t8000200 <main+0x4>", True, False, 0x08000200),  # objdump's
        ("bls.n\t0x8000200 <main+4>", True, False, 0x08000200),
        ("ble.w\t0x8000200 <main+4>", True, False, 0x08000200),
        ("blt.n\t0x8000200 <main+4>", True, False, 0x08000200),
        ("bl\t0x8000200 <irq_off>", True, True, 0x08000200),
        ("bl\t8000200 <irq_off>", True, True, 0x08000200),
        ("cbz\tr0, 0x8000200 <main+4>", True, False, 0x08000200),
        ("cbnz\tr7, 0x8000200 <main+4>", True, False, 0x08000200),
        ("bx\tlr", True, False, None),
        ("blx\tr3", True, True, None),
        ("bxns\tlr", True, False, None),
        ("blxns\tr3", True, False, None),
        ("tbb\t[pc, r0]", True, False, None),
        ("tbh\t[pc, r0, lsl #1]", True, False, None),
        ("pop\t{r4, pc}", True, False, None),
        ("pop\t{pc}", True, False, None),
        ("popne\t{r4, pc}", True, False, None),
        ("ldmia.w\tsp!, {r4, r5, pc}", True, False, None),
        ("ldr.w\tpc, [r3, r2, lsl #2]", True, False, None),
        ("ldr.w\tpc, [sp], #4", True, False, None),
        ("mov\tpc, lr", True, False, None),
        ("add\tpc, r2", True, False, None),
        # none of these
        ("bic.w\tr0, r1, #3", False, False, None),
        ("bfi\tr0, r1, #3, #4", False, False, None),
        ("bkpt\t0x00ab", False, False, None),
        ("pop\t{r4}", False, False, None),
        ("pop\t{r4, r5}", False, False, None),
        ("ldmia\tr3!, {r1, r2}", False, False, None),
        ("push\t{r4, lr}", False, False, None),
        ("ldr\tr3, [pc, #72]\t@ (0x80000e0 <f+224>)", False, False, None),
        ("ldr.w\tr3, [pc, #64]\t@ 0x80000dc <f+220>", False, False, None),
        ("mov\tr0, pc", False, False, None),
        ("add\tr0, pc, #4\t@ (adr r0, 0x8000108)", False, False, None),
        ("adds\tr0, #1", False, False, None),
        ("svc\t0", False, False, None),
        ("it\teq", False, False, None),
        ("wfi", False, False, None),
        ("\t\t@ <UNDEFINED> instruction: 0xed04e000", False, False, None),
    ],
)
def test_what_goes_on_elsewhere_and_where(
    text: str, branches: bool, is_call: bool, target: Optional[int]
) -> None:
    found = instruction(text)
    assert (found.branches, found.is_call, found.target) == (branches, is_call, target)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("popne\t{r4, pc}", {"branches": True}),
        ("ldrne.w\tpc, [r3, #4]", {"branches": True}),
        ("strne\tr0, [r1, #0]", {"stores": True}),
        ("bxeq\tlr", {"mnemonic": "bx", "branches": True}),
        ("bleq\t0x8000200 <f>", {"branches": True, "is_call": True, "target": 0x08000200}),
        ("blxne\tr3", {"branches": True, "is_call": True}),
        ("msreq\tPRIMASK, r0", {"masks": True, "unmasks": True}),
        ("wfine", {"waits": True}),
        ("svcne\t3", {"mnemonic": "svc"}),
        ("ble.n\t0x8000200", {"mnemonic": "ble", "is_call": False}),  # none of BL with a condition
        ("bls.n\t0x8000200", {"mnemonic": "bls", "is_call": False}),
        ("blt.n\t0x8000200", {"mnemonic": "blt", "is_call": False}),
    ],
)
def test_in_an_it_block_an_instruction_is_what_it_is_elsewhere(text: str, fields: dict[str, object]) -> None:
    found = instruction(text)
    assert {name: getattr(found, name) for name in fields} == fields


@pytest.mark.parametrize(
    "text",
    [
        "bl\t0x8000000 <Lock::take(int, char)>",
        "cbz\tr0, 0x8000000 <Lock::take(int, char)+4>",
        "bl\t0x8000000 <std::map<int, char>::at(int const&)>",
        "b.w\t0x8000000 <operator<(A, B)>",
    ],
)
def test_the_target_where_the_name_has_arguments(text: str) -> None:
    """With `set print asm-demangle on`, as GDB 13 prints it."""
    assert instruction(text).target == 0x08000000


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("b.n\t0x8000200 <main+4>", True),
        ("bx\tlr", True),
        ("pop\t{r4, pc}", True),
        ("ldmia.w\tsp!, {r4, pc}", True),
        ("ldr.w\tpc, [sp], #4", True),
        ("tbb\t[pc, r0]", True),
        ("bxeq\tlr", False),
        ("popne\t{r4, pc}", False),
        ("beq.n\t0x8000200", False),
        ("cbz\tr0, 0x8000200", False),
        ("bl\t0x8000200", False),
        ("blx\tr3", False),
        ("pop\t{r4, r5}", False),
        ("ldr\tr3, [r4, #0]", False),
        ("bic.w\tr0, r1, #3", False),
        ("nop", False),
    ],
)
def test_what_never_goes_on_at_the_next_instruction(text: str, leaves: bool) -> None:
    assert instruction(text).leaves == leaves


def test_a_target_has_no_thumb_bit() -> None:
    assert instruction("bl\t0x8000201 <f>").target == 0x08000200


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("wfi", {"waits": True}),
        ("wfe", {"waits": True}),
        ("wfe.w", {"waits": True}),
        ("sev", {"waits": False}),
        ("isb\tsy", {"is_barrier": True}),
        ("dsb\tsy", {"is_barrier": True}),
        ("dmb", {"is_barrier": True}),
        ("nop.w", {"is_barrier": True}),
        ("wfi", {"is_barrier": False}),
        ("str\tr2, [r3, #0]", {"stores": True}),
        ("strb\tr2, [r3, #0]", {"stores": True}),
        ("str.w\tr2, [r3], #4", {"stores": True}),
        ("strex\tr0, r1, [r2]", {"stores": True}),
        ("strd\tr2, r3, [r4]", {"stores": True}),
        ("stmia\tr3!, {r1, r2}", {"stores": True}),
        ("push\t{r4, lr}", {"stores": True}),
        ("vpush\t{d8}", {"stores": True}),
        ("vstr\ts0, [r0]", {"stores": True}),
        ("ldr\tr2, [r3, #0]", {"stores": False}),
        ("svc\t0", {"stores": False}),
    ],
)
def test_what_sleeps_what_waits_for_memory_and_what_writes_it(text: str, fields: dict[str, bool]) -> None:
    found = instruction(text)
    assert {name: getattr(found, name) for name in fields} == fields


# -- the place of an address -----------------------------------------------------------------


@given(st.lists(st.sampled_from([2, 4]), max_size=20), st.integers(-3, 90))
def test_an_instruction_is_found_by_the_address_where_it_begins(sizes: List[int], offset: int) -> None:
    starts = [0x100 + sum(sizes[:i]) for i in range(len(sizes))]
    instructions = [Instruction(start, size, "nop") for start, size in zip(starts, sizes)]
    expected = starts.index(0x100 + offset) if 0x100 + offset in starts else None
    assert at(instructions, 0x100 + offset) == expected


# -- what is shown and written ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("msr\tPRIMASK, r0", "msr PRIMASK, r0"),
        ("movs\tr2, #64\t@ 0x40", "movs r2, #64"),
        ("movs\tr2, #64\t; 0x40", "movs r2, #64"),
        ("nop", "nop"),
    ],
)
def test_an_instruction_in_a_sentence_has_no_comment(text: str, shown: str) -> None:
    assert instruction(text).shown == shown


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("movs\tr0, #1", "r0"),
        ("ldr\tr3, [r2, #4]", "r3"),
        ("ldr.w\tr3, [r2], #4", "r2 r3"),
        ("ldr.w\tr3, [r2, #4]!", "r2 r3"),
        ("str.w\tr3, [r2, #4]!", "r2"),
        ("str\tr3, [r2, #4]", ""),
        ("strex\tr0, r1, [r2]", "r0"),
        ("ldrd\tr0, r1, [r2]", "r0 r1"),
        ("ldrd\tr0, r1, [r2], #8", "r0 r1 r2"),
        ("umull\tr0, r1, r2, r3", "r0 r1"),
        ("smull\tr2, r3, r0, r1", "r2 r3"),
        ("pop\t{r0, r3, pc}", "r0 r3"),
        ("pop\t{r0-r3, lr}", "r0 r1 r2 r3 lr"),
        ("ldmia.w\tr1!, {r2, r3}", "r1 r2 r3"),
        ("ldmia.w\tr1, {r2, r3}", "r2 r3"),
        ("push\t{r0, lr}", ""),
        ("bl\t0x8000200 <f>", "r0 r1 r2 r3 ip lr"),
        ("blx\tr4", "r0 r1 r2 r3 ip lr"),
        ("b.n\t0x8000200 <f>", ""),
        ("bx\tr3", ""),
        ("cbz\tr0, 0x8000200 <f>", ""),
        ("cmp\tr0, #1", ""),
        ("msr\tPRIMASK, r0", ""),
        ("mrs\tr0, PRIMASK", "r0"),
        ("mov\tlr, r0", "lr"),
        ("add.w\tr12, r0, #1", "ip"),
        ("it\teq", ""),
        ("nop", ""),
    ],
)
def test_which_registers_an_instruction_may_change(text: str, written: str) -> None:
    registers = ("r0", "r1", "r2", "r3", "r4", "ip", "lr")
    assert [r for r in registers if instruction(text).writes(r)] == written.split()
    assert instruction(text).writes("R14") == instruction(text).writes("lr")


# -- calls -----------------------------------------------------------------------------------


def calls_to(content: bytes, base: int, target: int) -> List[int]:
    return [site for site, leads in calls(content, base) if leads == target]


def assembled(source: str, folder: Path, base: int = 0) -> bytes:
    """The code of an assembly file for M4, linked at `base`."""
    (folder / "a.s").write_text(".syntax unified\n.cpu cortex-m4\n.thumb\n" + source, encoding="ascii")
    for command in (
        ["arm-none-eabi-as", "-o", "a.o", "a.s"],
        ["arm-none-eabi-ld", "-Ttext=0x%x" % base, "-e", "0", "-o", "a.elf", "a.o"],
        ["arm-none-eabi-objcopy", "-O", "binary", "a.elf", "a.bin"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    return (folder / "a.bin").read_bytes()


@pytest.mark.parametrize("base", [0x08000000, 0x0, 0x20000400, 0x600C0000])
def test_calls_and_branches_before_and_behind_are_found_and_others_not(base: int, tmp_path: Path) -> None:
    code = assembled(
        """
        bl f            @ 0
        nop             @ 4
        b.w f           @ 6
        beq.w f         @ a: a condition, another encoding
        bl g            @ e
        b.n f           @ 12
        .space 0x100
        .thumb_func
    f:  push {r4, lr}   @ 114
        bl f            @ 116: itself
        .thumb_func
    g:  nop             @ 11a
        bl f            @ 11c
        b.w f           @ 120
        blx r3          @ 124
        .space 0x1000
        bl f            @ 1126
        """,
        tmp_path,
        base,
    )
    f, g = base + 0x114, base + 0x11A
    found = calls_to(code, base, f)
    assert found == [base + at for at in (0, 6, 0x12, 0x116, 0x11C, 0x120, 0x1126)]
    assert calls_to(code, base, g) == [base + 0xE]


def test_a_short_branch_to_a_function_is_one_of_its_calls(tmp_path: Path) -> None:
    """As GCC compiles `critical() { irq_off(); work(); irq_on(); }` where irq_on is static."""
    code = assembled("irq_on: cpsie i\n bx lr\n critical: nop\n b.n irq_on\n", tmp_path)
    assert calls_to(code, 0, 0) == [6]


def test_calls_to_what_is_no_function_are_none(tmp_path: Path) -> None:
    code = assembled("bl f\n.thumb_func\nf: nop\n", tmp_path)
    assert (calls_to(code, 0, 4), calls_to(code, 0, 2), calls_to(code, 0, 5)) == ([0], [], [])


@pytest.mark.parametrize("distance", [0x400000 - 2, 0x800000, 0xFFFF00])
def test_calls_as_far_as_an_instruction_reaches(distance: int, tmp_path: Path) -> None:
    """Bits 22 and 23 of the offset are stored exclusive-or with its sign."""
    base = 0x08000000
    there = assembled("bl far\n.thumb_func\n.set far, . - 4 + 0x%x\n" % distance, tmp_path, base)
    assert calls_to(there[:4], base, base + distance) == [base]
    back = assembled("bl far\n.thumb_func\n.set far, . - 4 - 0x%x\n" % distance, tmp_path, base)
    assert calls_to(back[:4], base, base - distance) == [base]


def test_a_call_at_any_halfword_and_after_what_looks_like_half_of_one(tmp_path: Path) -> None:
    code = assembled(
        """
        nop
        bl f              @ 2
        .short 0xf000     @ 6: the first half of a BL, as data
        bl f              @ 8
        .short 0xf7ff     @ c
        .thumb_func
    f:  nop
        """,
        tmp_path,
    )
    assert calls_to(code, 0, 0xE) == [2, 8]


@pytest.mark.parametrize("content", [b"", b"\0", b"\x00\xf0", b"\x00\xf0\x00", bytes(1000)])
def test_code_without_a_call_or_cut_in_one(content: bytes) -> None:
    assert calls_to(content, 0x08000000, 0x08000004) == []


@given(st.binary(max_size=64))
def test_any_bytes_are_read(content: bytes) -> None:
    for address, _ in calls(content, 0x08000000):
        assert 0x08000000 <= address <= 0x08000000 + len(content) - 2


OFFSET: st.SearchStrategy[Tuple[int, int]] = st.tuples(
    st.integers(-(1 << 23), (1 << 23) - 1).map(lambda n: 2 * n), st.sampled_from([0xD000, 0x9000])
)


@given(OFFSET)
def test_every_offset_of_24_bits_and_a_sign(found: Tuple[int, int]) -> None:
    offset, kind = found
    sign = int(offset < 0)
    j1 = (offset >> 23 & 1) ^ sign ^ 1
    j2 = (offset >> 22 & 1) ^ sign ^ 1
    high = 0xF000 | sign << 10 | offset >> 12 & 0x3FF
    low = kind | j1 << 13 | j2 << 11 | offset >> 1 & 0x7FF
    code = high.to_bytes(2, "little") + low.to_bytes(2, "little")
    assert calls_to(code, 0x10000000, 0x10000004 + offset) == [0x10000000]


# -- GDB's disassembler -----------------------------------------------------------------------

WATCHED = (
    "python import contextlib, gdb_prof.target.code as code; from gdb_prof.target.images import Images",
    "python set_ = []; code.settings = lambda *a: set_.append(a) or contextlib.nullcontext()",
    "python program = Images().program(); c = code.DisassembledCode(program)",
    "python main = program.find('main').address & ~1",
    "python print('waits', c.waits(main), 'set', len(set_))",
    "python f = c.function(main); print('some', len(f) > 1, 'set', len(set_))",
    "python c.function(main); c.callers(main); print('again', len(set_))",
)


@pytest.mark.parametrize(
    ("target", "trusted", "changes"), [(True, "off", 1), (True, "on", 0), (False, "off", 0)]
)
def test_code_is_read_from_the_file_with_hardly_a_change_of_a_setting(
    target: bool, trusted: str, changes: int
) -> None:
    """A front end is told of each change."""
    shown = gdb(
        "set trust-readonly-sections " + trusted, *WATCHED, program=elf("masked"), target=target
    ).stdout
    assert "waits False set 0" in shown, shown
    assert "some True set %d" % changes in shown, shown
    assert "again %d" % changes in shown, shown


def test_without_inferior_architecture_the_frame_tells_it() -> None:
    """Of an older GDB."""
    old = "python code.gdb = type('Old', (), dict(vars(gdb), selected_inferior=lambda: type('I', (), {'pid': 1})()))"
    shown = gdb(*WATCHED[:4], old, WATCHED[5], program=elf("masked")).stdout
    assert "some True set 1" in shown, shown
