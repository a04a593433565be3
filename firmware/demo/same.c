/* For the tests: pends the sampler's interrupt by software at places that do not move, so
 * that the assembly and the C that specifies it must keep the same samples, word for word.
 * SPDX-License-Identifier: MIT */
#include "board.h"
#include "prof.h"

#define ROUNDS 40
#define LIMIT 99 /* a whole number of rounds */

void *volatile tag;
volatile uint32_t reloads[ROUNDS * 3];
volatile uint32_t timer_after_limit, stopped_at;
#if PROF_MODE == PROF_HISTOGRAM
extern volatile uint16_t prof_hist[];
#endif

static inline void sample(void)
{
    REG32(0xE000ED04u) = 1u << 26; /* ICSR.PENDSTSET */
    __asm volatile("dsb\n isb" ::: "memory");
}

__attribute__((noinline)) static void here(void)
{
    sample();
}

__attribute__((noinline)) static void there(void)
{
    __asm volatile("nop\n nop");
    sample();
}

/* outside all bins of a histogram */
__attribute__((noinline, section(".ramfunc"))) static void in_ram(void)
{
    sample();
}

__attribute__((noinline)) void finished(void)
{
    __asm volatile("");
}

int main(void)
{
    void (*volatile far)(void) = in_ram;
    board_init();
#if PROF_JITTER
    prof_jitter = 0xFFFF;
#endif
    prof_start(0xF00000, LIMIT); /* no tick of its own comes: the program ends before */
#if PROF_MODE == PROF_HISTOGRAM
    for (uint32_t i = 0; i < PROF_BINS; i++) /* full after a few more */
        prof_hist[i] = 0xFFFC;
#endif
    for (uint32_t i = 0; i < ROUNDS; i++) {
        tag = (void *)(0x1000 + i);
        here();
        reloads[3 * i] = REG32(PROF_RELOAD);
        there();
        reloads[3 * i + 1] = REG32(PROF_RELOAD);
        far();
        reloads[3 * i + 2] = REG32(PROF_RELOAD);
        if (prof_n == LIMIT && !stopped_at) {
            stopped_at = prof_n;
            timer_after_limit = REG32(0xE000E010u);
            break;
        }
    }
    for (;;)
        finished();
}
