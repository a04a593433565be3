"""A sampler of the published layout, without `prof_info`: it stays readable for ever."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from running import ROOT, gdb, rows

SAMPLER = """
#include "board.h"
volatile uint32_t prof_n, prof_limit, prof_out;
extern const char _stext[];
#ifdef HIST
volatile uint16_t prof_hist[1024];
#else
volatile uint32_t prof_pc[4096];
#endif
__attribute__((noinline, used)) void prof_done(void) { __asm volatile(""); }
__attribute__((noinline, used)) void prof_stop(void) { REG32(0xE000E010u) = 0; }
__attribute__((noinline, used)) void prof_start(uint32_t period, uint32_t limit)
{
    prof_stop();
    prof_n = 0;
    prof_limit = limit;
    REG32(0xE000E014u) = period - 1;
    REG32(0xE000E018u) = 0;
    REG32(0xE000E010u) = 7;
}
__attribute__((used)) void prof_tick(uint32_t *frame)
{
#ifdef HIST
    uint32_t bin = (frame[6] - (uint32_t)_stext) >> 1;
    if (bin < 1024) prof_hist[bin]++; else prof_out++;
#else
    prof_pc[prof_n & 4095] = frame[6];
#endif
    if (++prof_n == prof_limit) { prof_stop(); prof_done(); }
}
__attribute__((naked)) void SysTick_Handler(void)
{
    __asm volatile("tst lr, #4\\n ite eq\\n mrseq r0, msp\\n mrsne r0, psp\\n b prof_tick\\n"
                   ".reloc ., R_ARM_NONE, prof_start\\n");
}
"""


@pytest.mark.parametrize(("define", "setting"), [("RING", "show prof shift"), ("HIST", "set prof shift 1")])
def test_record_and_dump(define: str, setting: str, tmp_path: Path) -> None:
    source, program, demo = tmp_path / "sampler.c", tmp_path / "published.elf", ROOT / "firmware" / "demo"
    source.write_text(SAMPLER, encoding="ascii")
    subprocess.run(
        ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m4", "-Os", "-g", "-nostartfiles", "-fno-ipa-icf"]
        + ["-ffunction-sections", "-specs=nano.specs", "-specs=nosys.specs", "-DNO_PROF", "-D" + define]
        + ["-DBOARD_netduinoplus2", f"-I{demo}", f"-L{demo}/boards", "-T", "netduinoplus2.ld"]
        + [str(demo / "startup.c"), str(demo / "three_loops.c"), str(source), "-o", str(program)],
        check=True,
        capture_output=True,
    )
    output = gdb(setting, "prof record -samples 2000 -period 2013", program=program).stdout
    assert "2,000 samples by an unknown timer, one per 2,013 ticks, no jitter" in output
    table = rows(output)
    assert sum(table.values()) == 2000
    assert list(table)[:3] == ["hot_a", "hot_b", "hot_c"]
    if define == "HIST":
        refused = gdb("prof record -samples 20", program=program).stdout
        assert "`prof_hist` without `prof_info` does not say what a bin covers: set prof shift" in refused
