/* A sampler of one's own, in the place of prof.c, with the fault that is made most often:
 * it takes the interrupted PC from the main stack, while the program runs on the process
 * stack, as an RTOS's tasks do. Every sample is then a word that has nothing to do with
 * the program: here one past the end of RAM, which QEMU's netduinos read as 0.
 * BOTH_STACKS: the same without the fault. Layout and names are those that the debugger
 * finds without `prof_info` (prof.h). SPDX-License-Identifier: MIT */
#include "board.h"

volatile uint32_t prof_n, prof_limit;
volatile uint32_t prof_pc[PROF_SIZE];

void prof_start(uint32_t period, uint32_t limit);
void prof_stop(void);
void prof_done(void);
void prof_tick(const uint32_t *frame);
void SysTick_Handler(void);

__attribute__((noinline)) void prof_done(void)
{
    __asm volatile("");
}

__attribute__((noinline)) void prof_stop(void)
{
    REG32(0xE000E010u) = 0; /* SYST_CSR */
}

void prof_start(uint32_t period, uint32_t limit)
{
    prof_stop();
    prof_n = 0;
    prof_limit = limit;
    REG32(0xE000E014u) = period - 1; /* SYST_RVR */
    REG32(0xE000E018u) = 0;          /* SYST_CVR */
    REG32(0xE000E010u) = 7;
}

void prof_tick(const uint32_t *frame)
{
    prof_pc[prof_n % PROF_SIZE] = frame[6];
    if (++prof_n == prof_limit) {
        prof_stop();
        prof_done();
    }
}

/* The last line: prof_start survives --gc-sections. */
__attribute__((naked)) void SysTick_Handler(void)
{
    __asm volatile(".syntax unified\n"
#ifdef BOTH_STACKS
                   "mov r0, lr\n"
                   "lsls r0, r0, #29\n" /* EXC_RETURN bit 2: which stack */
                   "mrs r0, psp\n"
                   "bmi 1f\n"
#endif
                   "mrs r0, msp\n"
                   "1: ldr r1, 2f\n"
                   "bx r1\n"
                   ".balign 4\n"
                   "2: .word prof_tick\n"
                   ".reloc 2b, R_ARM_NONE, prof_start\n");
}
