/* Three functions that share the time 70 : 20 : 10, for ever.
 * Variants: USE_PSP runs on the process stack; INLINED inlines the three.
 * SPDX-License-Identifier: MIT */
#include "board.h"
#include "work.h"

volatile uint32_t laps;

WORK void hot_a(uint32_t turns)
{
    spin(turns);
}

WORK void hot_b(uint32_t turns)
{
    spin(turns);
}

WORK void hot_c(uint32_t turns)
{
    spin(turns);
}

__attribute__((noinline, noreturn)) static void run(void)
{
    for (;;) {
        hot_a(700);
        hot_b(200);
        hot_c(100);
        laps++;
    }
}

int main(void)
{
    board_init();
#ifdef USE_PSP
    static uint64_t stack[64];
    __asm volatile("msr psp, %0\n"
                   "movs r3, #2\n"
                   "msr control, r3\n" /* thread mode on the process stack */
                   "isb\n" ::"r"(stack + 64)
                   : "r3", "memory");
#endif
    run();
}
