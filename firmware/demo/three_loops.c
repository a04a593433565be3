/* Three functions that share the time 70 : 20 : 10, for ever.
 * Variants: INLINED inlines the three, SHIFTED gives the first three points more.
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
#ifdef SHIFTED
        hot_a(812);
#else
        hot_a(700);
#endif
        hot_b(200);
        hot_c(100);
        laps++;
        /* Makes the lap an odd number of instructions. A tick of the mps2 boards is 40 of
         * them: a lap that shares a factor with that is seen at a part of its phases only,
         * whatever the jitter. */
        __asm volatile("nop");
    }
}

int main(void)
{
    board_init();
    run();
}
