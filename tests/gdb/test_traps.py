"""Every trap is found where it is, and nothing where it is not: the table that stands in the README."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import List, Sequence, Tuple

import pytest

from running import ROOT, elf, gdb

README = ROOT / "README.md"
JITTER = "prof record -samples 4000 -period 2013"
PLAIN = JITTER + " -jitter off"
MPS2 = "prof record -samples 4000 -period 301"


@dataclasses.dataclass(frozen=True)
class Run:
    """One profile: what it is of, how it is taken, and what must be found, the most serious first.

    `says` are patterns that the report must hold; `loaded`: the ELF that GDB has, where that is not
    the program's.
    """

    label: str
    program: str
    take: Tuple[str, ...] = (JITTER,)
    finds: Tuple[str, ...] = ()
    says: Tuple[str, ...] = ()
    board: str = "netduinoplus2"
    icount: bool = True
    loaded: str = ""


TRAPS: Sequence[Tuple[str, Sequence[Run]]] = (
    (
        "Lockstep",
        (
            Run(
                "period 1691, no jitter: few places of the lap",
                "three_loops",
                ("prof record -samples 4000 -period 1691 -jitter off",),
                ("lockstep",),
                (r"samples\s+repeat\s+every\s+\d+",),
            ),
            Run(
                "the main loop's own period: one place",
                "fixed_period",
                ("prof record -samples 4000 -period 1680 -jitter off",),
                ("lockstep",),
                (r"100\.00 % +\? +4,000  wait_tick",),
            ),
            Run(
                "six instructions longer, 1,000 samples: part of a lap",
                "fixed_period",
                ("prof record -samples 1000 -period 1681 -jitter off",),
                ("crawling",),
                (r"50\.\d\d % +\? +\d+  control", r"seen\s+part\s+of\s+it"),
            ),
            Run("period 2013, no jitter", "three_loops", (PLAIN,), ("crawling",)),
            Run("jitter of 0..63 ticks", "three_loops", (JITTER + " -jitter 63",), ("too little jitter",)),
            Run("period 2013, jitter", "three_loops"),
            Run("period 1691, jitter", "three_loops", ("prof record -samples 4000 -period 1691",)),
            Run(
                "the main loop's period, jitter over 1.2 of it",
                "fixed_period",
                ("prof record -samples 4000 -period 1681 -jitter 2047",),
                ("too little jitter",),
                (r"do\s+not\s+spread\s+evenly",),
            ),
            Run(
                "the same over five of it",
                "fixed_period",
                ("prof record -samples 4000 -period 1681 -jitter 8191",),
            ),
        ),
    ),
    (
        "Masked interrupts",
        (
            Run(
                "a section of 900 instructions",
                "masked",
                finds=("masked interrupts",),
                says=(r"irq_on !", r"locked,\s+called\s+in\s+main"),
            ),
            Run(
                "of 37,500, longer than two periods",
                "masked_long",
                finds=("masked interrupts", "lost ticks"),
                says=(r"lost ticks: 15\.\d %",),
            ),
            Run(
                "four forms of them, and an svc",
                "sections",
                finds=("masked interrupts", "masked interrupts", "masked interrupts", "hidden handler"),
                says=tuple(r"work_%s\b" % name for name in "abcf") + (r"SVC_Handler,\s+which\s+`svc\s+0`",),
            ),
            Run("none", "three_loops_lr"),
        ),
    ),
    (
        "Handlers",
        (
            Run(
                "an interrupt of priority 0",
                "foreign_isr",
                finds=("hidden handler", "hidden handlers"),
                says=(r"Spare_Handler, IRQ 6\s+\(priority\s+0\)",),
            ),
            Run("the same at 0x80", "foreign_isr_low"),
            Run(
                "the sampler in the RTOS's tick",
                "tick_sync",
                ("tbreak prof_done", "continue", "prof dump"),
                ("lockstep", "tick-synchronous", "hidden handlers"),
                (r"xPortSysTickHandler",),
            ),
            Run("the sampler on a timer of its own", "rtos_tag", ("tbreak heavy", "continue", JITTER)),
        ),
    ),
    (
        "Stack",
        (
            Run(
                "MSP read, the program on PSP",
                "bad_stack",
                (JITTER,),
                ("wrong stack",),
                (r"100\.0 % of the samples are 0",),
            ),
            Run("a sampler that reads the right one", "three_loops_psp"),
        ),
    ),
    (
        "Histogram",
        (
            Run("bins of 16 bytes", "three_loops_hist16", finds=("bins across functions",)),
            Run("functions aligned to them", "three_loops_hist16_aligned"),
            Run(
                "120,000 samples in them",
                "three_loops_hist16_aligned",
                ("prof record -samples 120000 -period 400",),
                ("full bins",),
            ),
            Run("no jitter", "three_loops_hist", (PLAIN,), ("no jitter",)),
        ),
    ),
    (
        "Program",
        (
            Run(
                "GDB has the ELF of another build",
                "three_loops_shift",
                finds=("other code",),
                loaded="three_loops",
            ),
            Run(
                "functions inlined",
                "three_loops_o2",
                finds=("inlined",),
                says=(r"hot_a \(\d+\.\d % in run\)",),
            ),
            Run(
                "asleep after wfi",
                "sleeper",
                (MPS2,),
                says=(r"\d in code, [\d,]+ asleep",),
                board="mps2-an385",
            ),
            Run(
                "asleep in a masked section",
                "sleeper_masked",
                (MPS2,),
                says=(r"\d in code, [\d,]+ asleep",),
                board="mps2-an385",
            ),
            Run(
                "an idle task",
                "rtos_busy_idle",
                ("tbreak vTaskSwitchContext", "continue", JITTER),
                says=(r"\d in code, [\d,]+ asleep",),
            ),
        ),
    ),
    (
        "Emulator",
        (
            Run(
                "QEMU without -icount",
                "three_loops_far",
                ("prof record -seconds 1 -period 168000",),
                ("emulator",),
                icount=False,
            ),
            Run("with it", "three_loops_far"),
        ),
    ),
)
RUNS = [(trap, run) for trap, runs in TRAPS for run in runs]


@functools.lru_cache(maxsize=None)
def output(run: Run) -> str:
    done = gdb(
        "set width 80",
        *run.take,
        "echo CHECK\\n",
        "prof check",
        program=elf(run.program, run.board),
        board=run.board,
        loaded=elf(run.loaded, run.board) if run.loaded else None,
        icount=run.icount,
    )
    return done.stdout


def found(run: Run) -> List[str]:
    """The kinds of the findings of a `prof check`, as it numbers them."""
    checked = output(run).partition("CHECK\n")[2]
    assert "samples by" in checked, output(run)
    kinds = re.findall(r"^\d+\. ([a-z][\w -]*?)(?::| cannot)", checked, re.MULTILINE)
    # Without an instruction clock the host decides how samples follow one another.
    return (
        kinds if run.icount else [kind for kind in kinds if kind not in ("slow program", "too little jitter")]
    )


@pytest.mark.parametrize(("trap", "run"), RUNS, ids=["%s, %s" % (t, r.label) for t, r in RUNS])
def test_a_trap_is_found_where_it_is_and_nothing_where_it_is_not(trap: str, run: Run) -> None:
    text = output(run)
    assert sorted(found(run)) == sorted(run.finds), text
    for pattern in run.says:
        assert re.search(pattern, text.partition("CHECK\n")[0]), (pattern, text)


def table() -> str:
    rows = ["| trap | run | found |", "| --- | --- | --- |"]
    for trap, run in RUNS:
        kinds = found(run)
        each = ["%d × %s" % (kinds.count(k), k) if kinds.count(k) > 1 else k for k in dict.fromkeys(kinds)]
        asleep = ["sleep, as a class of its own"] if "asleep" in output(run) else []
        rows.append("| %s | %s | %s |" % (trap, run.label, ", ".join(each + asleep) or "nothing"))
    return "\n".join(rows)


def test_the_table_in_the_readme_is_this_one() -> None:
    assert table() in README.read_text(encoding="utf-8"), "README.md must hold:\n" + table()


CLEAN = (
    ("three_loops", (), "prof record -samples 2000 -period 2013"),
    ("foreign_isr_low", (), "prof record -samples 2000 -period 1009"),
    ("rtos_tag", ("tbreak heavy", "continue"), "prof record -samples 2000 -period 2013"),
)
SEEDS = 20


@pytest.mark.parametrize(("program", "before", "record"), CLEAN, ids=[c[0] for c in CLEAN])
def test_twenty_seeds_of_a_clean_run_find_nothing(program: str, before: Tuple[str, ...], record: str) -> None:
    """Each run goes on with the sampler's random numbers where the one before ended."""
    runs = gdb(
        *before,
        "python seeds = set()",
        "python for i in range(%d): gdb.execute('%s'); gdb.execute('prof check -strict'); "
        "seeds.add(int(gdb.parse_and_eval('*(unsigned*)&prof_seed')))" % (SEEDS, record),
        "python print('seeds', len(seeds))",
        program=elf(program),
    ).stdout
    assert "seeds %d" % SEEDS in runs
    assert runs.count("No findings.") == SEEDS, runs
    assert not re.search(r"^[!-] ", runs, re.MULTILINE), runs
