"""Samples that pile up where interrupts were let in again: whose time they are."""

from __future__ import annotations

import random
from typing import Dict, Mapping, Optional, Sequence, Tuple

import pytest
from fake_code import Program, program

from gdb_prof.profile.checks.piles import Pile, asleep_after, piles
from gdb_prof.profile.program.code import at


def found(
    shown: Program,
    callers: Mapping[int, Mapping[int, int]] = {},
    basepri_masks: bool = True,
    total: Optional[int] = None,
) -> Tuple[Pile, ...]:
    whole = total if total is not None else sum(shown.counts.values())
    return piles(shown.counts, whole, shown.build, callers, basepri_masks)


def only(shown: Program, **more: bool) -> Pile:
    (pile,) = found(shown, **more)
    return pile


WORK = """
    work:
         100  subs r0, #1
         110  bne.n {work}
          20  bx lr
"""

INLINE = program(
    """
    main:
          1  cpsid i
          .  str r0, [r1, #0]
          .  bl {work}
      .end:
          .  cpsie i
      .hot:
        300  adds r0, #1
          1  b.n {main}
    """
    + WORK
)


def test_a_section_in_one_function() -> None:
    """cpsie has none, what follows has all of the section."""
    pile = only(INLINE)
    assert (pile.address, pile.samples) == (INLINE.at["hot"], 299)  # one is its own, as the next one has
    assert pile.by == INLINE.instruction("end")
    assert (pile.pended, pile.asleep) == (None, False)
    ((section, samples),) = pile.sections
    assert (section.host, section.start, section.end) == ("main", INLINE.at["main"] + 2, INLINE.at["end"])
    assert (section.calls, section.waits, samples) == (("work",), False, None)


ONE_CALLER = """
    irq_off:
          3  cpsid i
          .  bx lr
    irq_on:
          2  cpsie i
      .hot:
        300  bx lr
    update:
          5  bl {irq_off}
      .begin:
          .  bl {work}
          .  bl {work}
      .end:
          .  bl {irq_on}
          4  b.n {update}
"""
TWO_CALLERS = (
    ONE_CALLER
    + """
    log:
          5  bl {irq_off}
      .log_begin:
          .  ldr r0, [r1, #4]
      .log_end:
          .  bl {irq_on}
          4  b.n {log}
"""
)


def test_a_section_that_a_called_function_ends() -> None:
    shown = program(ONE_CALLER + WORK)
    pile = only(shown)
    assert (pile.address, pile.samples, pile.by.address) == (shown.at["hot"], 300, shown.at["irq_on"])
    ((section, samples),) = pile.sections
    assert (section.host, section.start, section.end) == ("update", shown.at["begin"], shown.at["end"])
    assert (section.calls, samples) == (("work",), None)


def test_of_two_callers_each_may_be_the_one() -> None:
    sections = only(program(TWO_CALLERS + WORK)).sections
    assert [(s.host, s.calls, samples) for s, samples in sections] == [
        *(("update", ("work",), None), ("log", (), None))
    ]


def test_lr_tells_which_caller_has_how_much() -> None:
    """The address after the call, with the Thumb bit."""
    shown = program(TWO_CALLERS + WORK)
    by_lr = {(shown.at["end"] + 4) | 1: 60, (shown.at["log_end"] + 4) | 1: 240}
    (pile,) = found(shown, {shown.at["hot"]: by_lr})
    assert [(s.host, samples) for s, samples in pile.sections] == [("log", 240), ("update", 60)]


@pytest.mark.parametrize("lr", [0xFFFFFFF9, 0, 0x08000001, 0xFFFFFFFF])
def test_an_lr_that_is_no_return_from_it_tells_nothing(lr: int) -> None:
    shown = program(TWO_CALLERS + WORK)
    (pile,) = found(shown, {shown.at["hot"]: {lr: 300}})
    assert [samples for _, samples in pile.sections] == [None, None]


def test_callers_without_lr_where_only_one_masks() -> None:
    shown = program(ONE_CALLER + "start:\n  . bl {irq_on}\n  . bl {work}\n".replace("  .", "  .  ") + WORK)
    assert [section.host for section, _ in only(shown).sections] == ["update"]


def test_a_function_between_the_section_and_what_ends_it() -> None:
    shown = program(
        ONE_CALLER.replace("bl {irq_on}", "bl {unlock}")
        + """
        unlock:
              .  subs r1, #1
              .  bne.n {no}
              .  b.w {irq_on}
          .no:
              .  bx lr
        """
        + WORK
    )
    assert [section.host for section, _ in only(shown).sections] == ["update"]


def test_a_section_whose_beginning_is_not_found_is_a_pile_all_the_same() -> None:
    shown = program("f:\n 5  nop\n .  cpsie i\n 90  bx lr\n" + WORK)
    assert (only(shown).samples, only(shown).sections) == (90, ())


RESTORE = """
    f:
          1  mrs r4, PRIMASK
          1  cpsid i
      .begin:
          .  bl {work}
      .end:
          .  msr PRIMASK, r4
      .hot:
        300  movs r0, #0
          2  bx lr
"""


@pytest.mark.parametrize(
    ("saved", "mask", "restore"),
    [
        ("PRIMASK", "cpsid i", "msr PRIMASK, r4"),
        ("PRIMASK", "cpsid i", "cpsie i"),
        ("FAULTMASK", "cpsid f", "msr FAULTMASK, r4"),
        ("FAULTMASK", "cpsid f", "cpsie f"),
        ("BASEPRI", "msr BASEPRI_MAX, r2", "msr BASEPRI, r4"),
        ("BASEPRI", "msr BASEPRI, r2", "msr BASEPRI, r4"),
        ("BASEPRI", "mov.w r2, #80\n.  msr BASEPRI, r2\n", "movs r4, #0\n.  msr BASEPRI, r4\n"),  # FreeRTOS
        ("PRIMASK", "movs r2, #1\n.  msr PRIMASK, r2\n", "movs r4, #0\n.  msr PRIMASK, r4\n"),
    ],
)
def test_every_register_that_masks(saved: str, mask: str, restore: str) -> None:
    text = RESTORE.replace("cpsid i", mask).replace("msr PRIMASK, r4", restore)
    shown = program(text.replace("mrs r4, PRIMASK", "mrs r4, " + saved) + WORK)
    pile = only(shown)
    assert (pile.address, pile.samples) == (shown.at["hot"], 298)
    assert pile.by.text.split("\t")[0] == restore.splitlines()[-1].split("  ")[-1].split()[0]
    ((section, _),) = pile.sections
    assert (section.host, section.start, section.calls) == ("f", shown.at["begin"], ("work",))


@pytest.mark.parametrize(
    ("keep", "give_back"),
    [
        ("str r3, [sp, #4]", ".  ldr r3, [sp, #4]\n.  msr PRIMASK, r3"),
        ("str r3, [sp, #4]", ".  ldr r2, [sp, #4]\n.  msr PRIMASK, r2"),
        ("mov r4, r3", ".  msr PRIMASK, r4"),
    ],
)
def test_what_the_mask_was_may_come_back_in_another_register(keep: str, give_back: str) -> None:
    """From the stack, as compilers do it that do not optimise, and C++ and Rust with a guard object."""
    shown = program(
        "f:\n1  mrs r3, PRIMASK\n1  %s\n1  cpsid i\n.begin:\n.  bl {work}\n%s\n.hot:\n300  nop\n2  bx lr\n"
        % (keep, give_back)
        + WORK
    )
    ((section, _),) = only(shown).sections
    assert (section.start, section.calls) == (shown.at["begin"], ("work",))


@pytest.mark.parametrize(
    ("register", "between"),
    [
        ("r0", "bl {work}"),
        ("r3", "bl {work}"),
        ("ip", "blx r4"),
        ("r1", "ldrd r0, r1, [r2]"),
        ("r1", "umull r0, r1, r2, r3"),
        ("r0", "pop {{r0, r4}}"),
        ("r2", "ldmia r6!, {{r1, r2}}"),
    ],
)
def test_a_constant_from_before_what_overwrites_its_register_does_not_mask(
    register: str, between: str
) -> None:
    """`movs r0, #1; bl saved; msr PRIMASK, r0` restores what was returned."""
    shown = program(
        "f:\n1  cpsid i\n.begin:\n.  bl {work}\n.  movs %s, #1\n.  %s\n.  msr PRIMASK, %s\n"
        ".hot:\n300  nop\n2  bx lr\n" % (register, between, register) + WORK
    )
    ((section, _),) = only(shown).sections
    assert section.start == shown.at["begin"]


@pytest.mark.parametrize("between", ["bl {work}", "ldrd r0, r1, [r2]", "pop {{r0, r5}}", "cmp r4, #0"])
def test_a_constant_in_a_register_that_is_preserved_masks(between: str) -> None:
    shown = program(
        "f:\n1  cpsid i\n.  movs r4, #1\n.  %s\n.  msr PRIMASK, r4\n300  nop\n2  bx lr\n" % between + WORK
    )
    assert found(shown) == ()


@pytest.mark.parametrize(
    ("back", "restores"),
    [("pop {{r0, r4}}", True), ("ldrd r1, r0, [sp]", True), ("mov r0, r4", True), ("bl {work}", False)],
)
def test_basepri_comes_back_from_the_stack_or_a_copy_and_not_from_a_call(back: str, restores: bool) -> None:
    shown = program(
        "f:\n1  mrs r0, BASEPRI\n1  msr BASEPRI_MAX, r2\n.  %s\n.  msr BASEPRI, r0\n300  nop\n2  bx lr\n"
        % back
        + WORK
    )
    assert len(found(shown)) == restores


def test_basepri_does_not_keep_a_sampler_of_priority_0_away() -> None:
    shown = program(RESTORE.replace("PRIMASK", "BASEPRI").replace("cpsid i", "msr BASEPRI, r2") + WORK)
    assert len(found(shown, basepri_masks=True)) == 1
    assert found(shown, basepri_masks=False) == ()
    assert len(found(program(RESTORE + WORK), basepri_masks=False)) == 1, "PRIMASK does"


@pytest.mark.parametrize(
    "late", ["", ".  isb sy", ".  dsb sy\n.  isb sy", ".  nop\n0  nop", "1  adds r1, #1\n2  adds r2, #1"]
)
def test_a_sample_that_is_an_instruction_or_two_late(late: str) -> None:
    shown = program("f:\n1  cpsid i\n.  bl {work}\n.on:\n.  cpsie i\n%s\n.hot:\n90  bx lr\n" % late + WORK)
    assert [(p.address, p.by.address) for p in found(shown)] == [(shown.at["hot"], shown.at["on"])]


@pytest.mark.parametrize(
    "between",
    [
        ".  isb sy\n.  dsb sy\n.  nop",  # four late
        ".  b.n {hot}",
        ".  cbz r0, {hot}",
    ],
)
def test_what_is_not_right_after_is_no_pile(between: str) -> None:
    assert found(program("f:\n.  cpsie i\n%s\n.hot:\n90  bx lr\n" % between + WORK)) == ()


def test_after_a_literal_pool_nothing_is_right_after() -> None:
    """Two instructions in order of which the second is not next to the first."""
    shown = program("f:\n.  cpsie i\n.  ldr.w pc, [r0, #4]\n.hot:\n90  nop\n" + WORK)
    assert found(shown) == ()


# -- handlers that the program pends itself ------------------------------------------------


@pytest.mark.parametrize(
    ("store", "exception"),
    [
        (".  mov.w r3, #3758153728 | 0xe000e000\n.  movs r2, #64 | 0x40\n1  str.w r2, [r3, #512]", 16 + 6),
        (".  movs r2, #64 | 0x40\n.  ldr r3, [pc, #16] = 0xe000e200\n1  str r2, [r3, #0]", 16 + 6),
        (".  movw r3, #57856\n.  movt r3, #57344\n.  movs r2, #1\n1  str r2, [r3, #4]", 16 + 32),
        (".  movw r3, #57856\n.  movt r3, #57344\n.  mov.w r2, #268435456\n1  str r2, [r3, #0]", 16 + 28),
        (
            ".  ldr r3, [pc, #16] = 0xe000e204\n.  ldr r2, [pc, #20] = 0x80000000\n1  str r2, [r3, #-4]",
            16 + 31,
        ),
        (".  ldr r3, [pc, #16] = 0xe000e200\n.  movs r2, #64\n.  cmp r2, #0\n1  str r2, [r3, #0]", 16 + 6),
        (
            ".  ldr r3, [pc, #16] = 0xe000e200\n.  lsls r2, r1, r0\n1  str r2, [r3, #0]",
            0,
        ),  # which, is not seen
        (".  ldr r3, [pc, #16] = 0xe000ed04\n.  mov.w r2, #268435456\n1  str r2, [r3, #0]", 14),
        (".  mov.w r3, #3758153728\n.  mov.w r2, #268435456\n1  str.w r2, [r3, #3332] | 0xd04", 14),
        (".  ldr r3, [pc, #16] = 0xe000ef00\n.  movs r2, #6\n1  str r2, [r3, #0]", 16 + 6),
        (".  ldr r3, [pc, #16] = 0xe000ef00\n1  str r0, [r3, #0]", 0),
        ("1  svc 0", 11),
        ("1  svc 255 | 0xff", 11),
    ],
)
def test_a_handler_that_the_instruction_before_raises(store: str, exception: int) -> None:
    """Such a store has its fair part itself; only what follows has the handler's time."""
    shown = program("f:\n1  nop\n%s\n.hot:\n300  ldr r0, [r1, #0]\n2  bx lr\n" % store + WORK)
    pile = only(shown)
    assert (pile.address, pile.samples, pile.pended, pile.sections) == (shown.at["hot"], 298, exception, ())


@pytest.mark.parametrize(
    "store",
    [
        "1  str r2, [r3, #0]",  # to where, is not seen
        ".  ldr r3, [pc, #16] = 0x40020014\n1  str r2, [r3, #0]",  # a port
        ".  ldr r3, [pc, #16] = 0xe000e280\n1  str r2, [r3, #0]",  # NVIC_ICPR: takes back
        ".  ldr r3, [pc, #16] = 0xe000e100\n1  str r2, [r3, #0]",  # NVIC_ISER
        ".  ldr r3, [pc, #16] = 0xe000e200\n.  ldr r3, [r3, #0]\n1  str r2, [r3, #0]",
        ".  ldr r3, [pc, #16] = 0xe000e200\n.  adds r3, #128\n1  str r2, [r3, #0]",
        ".  ldr r3, [pc, #16] = 0xe000e200\n1  str r2, [r3, r1]",
        ".  ldr r3, [pc, #16] = 0xe000e200\n1  ldr r2, [r3, #0]",
        "1  push {{r4, lr}}",
        "1  bl {work}",
        "1  nop",
    ],
)
def test_a_store_that_is_not_seen_to_raise_anything_is_no_pile(store: str) -> None:
    assert found(program("f:\n1  nop\n%s\n300  ldr r0, [r1, #0]\n2  bx lr\n" % store + WORK)) == ()


@pytest.mark.parametrize("late", ["1  dsb sy", "1  dsb sy\n.  isb sy"])
def test_a_handler_that_is_raised_an_instruction_or_two_late(late: str) -> None:
    shown = program(
        "f:\n1  movs r2, #64\n1  ldr r3, [pc, #16] = 0xe000e200\n1  str r2, [r3, #0]\n%s\n"
        ".hot:\n300  ldr r0, [r1, #0]\n2  bx lr\n" % late + WORK
    )
    assert only(shown).pended == 16 + 6


# -- sleep ------------------------------------------------------------------------------------


def test_a_section_that_sleeps_is_asleep() -> None:
    """What FreeRTOS's tickless idle does."""
    shown = program(
        """
        idle:
              1  cpsid i
              .  dsb sy
              .  wfi
              .  isb sy
              .  cpsie i
          .hot:
            900  isb sy
              1  b.n {idle}
        """
        + WORK
    )
    pile = only(shown)
    assert (pile.address, pile.asleep) == (shown.at["hot"], True)


def test_a_pile_is_asleep_only_where_all_sections_that_may_be_it_are() -> None:
    shown = program(TWO_CALLERS.replace(".  ldr r0, [r1, #4]", ".  wfi") + WORK)
    assert [section.waits for section, _ in only(shown).sections] == [False, True]
    assert not only(shown).asleep
    assert not only(INLINE).asleep
    assert not Pile(0x100, 10, INLINE.instruction("end")).asleep, "nor where none is known"


@pytest.mark.parametrize(
    ("code", "asleep"),
    [
        (".here:\n.  wfi", True),  # about to
        (".  wfi\n.here:\n.  bx lr", True),
        (".  wfe\n.here:\n.  bx lr", True),
        (".  wfi\n.  isb sy\n.here:\n.  bx lr", True),
        (".  wfi\n.  dsb sy\n.  isb sy\n.  nop\n.here:\n.  bx lr", True),
        (".  wfi\n.  adds r0, #1\n.here:\n.  bx lr", False),
        (".here:\n.  isb sy\n.  wfi", False),  # before it
        (".  nop\n.here:\n.  nop", False),
        (".here:\n.  nop", False),  # the first instruction
    ],
)
def test_the_core_was_asleep_when_it_was_taken_on_or_right_after_a_wait(code: str, asleep: bool) -> None:
    shown = program("f:\n" + code)
    instructions = shown.build.code.function(shown.at["f"])
    place = at(instructions, shown.at["here"])
    assert place is not None
    assert asleep_after(instructions, place) == asleep


# -- what is fair -------------------------------------------------------------------------------


def fair(seed: int) -> Dict[str, int]:
    """A number of samples for each of ten instructions that are executed equally often: 5 to 60 on
    average, some take three times as long."""
    chance = random.Random(seed)
    mean = chance.choice((5, 20, 60))
    weights = [chance.choice((1, 1, 2, 3)) for _ in range(10)]
    samples = chance.choices(range(10), weights, k=mean * 10)
    return {"n%d" % i: samples.count(i) for i in range(10)}


@pytest.mark.parametrize("by", ["cpsie i", "msr PRIMASK, r3", "svc 0", "str r2, [r3, #0]"])
def test_in_fair_profiles_there_is_no_pile(by: str) -> None:
    """Short sections, short handlers: all instructions of a function have their part."""
    text = """
    f:
        {n0}  ldr r3, [pc, #16] = 0xe000e200
        {n1}  cpsid i
        {n2}  ldr r2, [r1, #4]
        {n3}  str r2, [r1, #0]
        {n4}  BY
        {n5}  adds r0, #1
        {n6}  adds r0, #1
        {n7}  isb sy
        {n8}  adds r0, #1
        {n9}  bx lr
    """.replace("BY", by)
    for seed in range(400):
        assert found(program(text.format(**fair(seed)))) == (), seed


@pytest.mark.parametrize(
    ("hot", "by", "total", "pile"),
    [
        (19, 0, 100, False),  # too few
        (20, 0, 100, True),
        (20, 2, 100, True),  # more than eight times as many
        (20, 3, 100, False),
        (49, 0, 10_000, False),  # less than half a percent
        (50, 0, 10_000, True),
    ],
)
def test_what_is_seldom_or_small_is_no_pile(hot: int, by: int, total: int, pile: bool) -> None:
    shown = program("f:\n.  cpsid i\n%d  cpsie i\n%d  bx lr\n" % (by, hot))
    assert bool(found(shown, total=total)) == pile


def test_the_largest_pile_is_the_first() -> None:
    shown = program("f:\n.  cpsid i\n.  cpsie i\n50  bx lr\ng:\n.  cpsid i\n.  cpsie i\n90  bx lr\n" + WORK)
    assert [pile.samples for pile in found(shown)] == [90, 50]


@pytest.mark.parametrize("after", [30, 40, 90])
def test_samples_as_many_as_the_next_instruction_has_are_no_pile(after: int) -> None:
    assert found(program("f:\n.  cpsid i\n.  cpsie i\n30  adds r1, #1\n%d  bx lr\n" % after + WORK)) == ()


LOOPS_AFTER = {
    "a loop of one": "f:\n.  cpsie i\n.loop:\n900  b.n {loop}",
    "a loop": "f:\n.  cpsie i\n.loop:\n90  ldr r2, [r3, #0]\n85  lsls r2, r2, #31\n95  bpl.n {loop}",
    "a loop after one more": "f:\n.  cpsie i\n.  nop\n.loop:\n90  ldr r2, [r3]\n85  lsls r2, r2, #31\n95  b.n {loop}",
    "a loop that sleeps": "f:\n.  cpsie i\n.loop:\n.  wfi\n900  b.n {loop}",
    "what is often jumped to": "f:\n90  cbnz r0, {out}\n1  cpsie i\n.out:\n85  bx lr",
    "a loop after svc": "f:\n.  svc 0\n.loop:\n900  b.n {loop}",
}


@pytest.mark.parametrize("name", LOOPS_AFTER)
def test_what_is_executed_more_often_than_the_instruction_before_is_no_pile(name: str) -> None:
    """`__enable_irq(); for (;;) ...` and `if (was_enabled) __enable_irq();`"""
    assert found(program(LOOPS_AFTER[name] + WORK)) == ()


BY_CHANCE = {
    # in QEMU, of `if (!was_masked) cpsie` that is called in a loop: 603 and 704, each 5 % off
    "jumped to past it": "f:\n603  cbnz r0, {out}\n2  cpsie i\n.out:\n704  bx lr",
    "a loop of two": "f:\n9  adds r0, #1\n7  cpsie i\n.loop:\n143  adds r0, #1\n110  bne.n {loop}\n12  bx lr",
    "a slow register": "f:\n.  cpsie i\n.loop:\n400  ldr r3, [r2]\n100  lsls r3, r3, #31\n200  bpl.n {loop}\n9  bx lr",
}


@pytest.mark.parametrize("name", BY_CHANCE)
def test_what_is_jumped_to_and_a_little_more_frequent_than_the_rest_is_no_pile(name: str) -> None:
    """By chance, or since a read of a peripheral takes four times as long."""
    assert found(program(BY_CHANCE[name] + WORK)) == ()


def test_a_pile_where_a_condition_ends_is_one_all_the_same() -> None:
    """Jumped to, but not as often as it has samples."""
    shown = program(
        """
        f:
              5  cbz r0, {hot}
              .  cpsid i
              .  bl {work}
              .  cpsie i
          .hot:
            300  ldr r0, [r1, #0]
              6  bx lr
        """
        + WORK
    )
    assert [pile.samples for pile in found(shown)] == [294]


# -- where a section begins -------------------------------------------------------------------


def test_a_way_out_in_between_does_not_begin_a_section() -> None:
    """As GCC compiles `p = save(); work(); if (a) { restore(p); return; } work(); restore(p);`"""
    shown = program(
        """
        f:
              1  mrs r4, PRIMASK
              1  cpsid i
          .begin:
              .  bl {work}
              .  cbz r0, {more}
              .  msr PRIMASK, r4
          .out:
              5  pop {{r4, pc}}
          .more:
              .  bl {work}
              .  msr PRIMASK, r4
            300  ldr r2, [r1, #0]
              1  b.n {out}
        """
        + WORK
    )
    ((section, _),) = only(shown).sections
    assert section.start == shown.at["begin"]


OWN_SECTION = (
    """
    irq_save:
          1  mrs r0, PRIMASK
          1  cpsid i
          .  bx lr
    irq_restore:
          .  msr PRIMASK, r0
        300  bx lr
    get_tick:
          .  mrs r3, PRIMASK
          .  cpsid i
          .  ldr r0, [r2, #0]
          .  msr PRIMASK, r3
          .  bx lr
    f:
          .  bl {irq_save}
      .begin:
          .  bl {work}
          .  bl {get_tick}
          .  bl {irq_restore}
         10  b.n {f}
    """
    + WORK
)


def test_a_function_with_a_section_of_its_own_does_not_begin_one() -> None:
    shown = program(OWN_SECTION)
    ((section, _),) = only(shown).sections
    assert (section.start, section.calls) == (shown.at["begin"], ("work", "get_tick"))


# -- addresses without an instruction ------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        0,
        0x07FFFFFE,  # before all code
        0x0900_0000,
        0xFFFFFFFE,
        INLINE.at["main"] + 1,  # odd
        INLINE.at["main"] + 6,  # in the middle of a bl
    ],
)
def test_samples_where_no_instruction_begins_are_no_pile(address: int) -> None:
    assert piles({address: 1000}, 1000, INLINE.build, {}, True) == ()


def test_the_first_instruction_of_a_function_has_none_before_it() -> None:
    shown = program("f:\n.  cpsie i\ng:\n900  nop\n5  bx lr")
    assert found(shown) == ()


@pytest.mark.parametrize("counts", [{}, {0x08000000: 0}])
def test_no_samples_are_no_pile(counts: Dict[int, int]) -> None:
    assert piles(counts, 0, INLINE.build, {}, True) == ()


def test_a_function_whose_code_cannot_be_read_has_no_pile() -> None:
    class Unreadable:
        def function(self, address: int) -> Sequence[object]:
            return ()

        def callers(self, address: int) -> Sequence[int]:
            return ()

    build = INLINE.build
    unreadable = type(build)(build.functions, build.lines, Unreadable())  # type: ignore[arg-type]
    assert piles(INLINE.counts, 400, unreadable, {}, True) == ()


def test_a_loop_that_follows_takes_nothing_from_a_pile() -> None:
    """`disable; work; enable; for (…)`: what stands before the loop runs as often as the enable."""
    shown = program(
        """
        f:
              .  cpsid i
              .  bl {work}
              .  cpsie i
          .hot:
            300  movs r3, #200
          .loop:
            100  nop
            105  subs r3, #1
             95  bne.n {loop}
              1  bx lr
        """
        + WORK
    )
    pile = only(shown)
    assert (pile.address, pile.samples) == (shown.at["hot"], 300)
