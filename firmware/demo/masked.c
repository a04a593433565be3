/* Time spent with interrupts masked, which a sampler sees only at the instruction
 * that unmasks them: 30 %. SECTION: turns of the masked loop; 300 is shorter than
 * a period of 12,000 instructions, 12500 longer than three. SPDX-License-Identifier: MIT */
#include "board.h"
#include "work.h"

#ifndef SECTION
#define SECTION 300
#endif

__attribute__((noinline)) static void irq_off(void)
{
    __asm volatile("cpsid i" ::: "memory");
}

__attribute__((noinline)) static void irq_on(void)
{
    __asm volatile("cpsie i" ::: "memory");
}

WORK void locked(uint32_t turns)
{
    spin(turns);
}

WORK void hot_a(uint32_t turns)
{
    spin(turns);
}

int main(void)
{
    board_init();
    for (;;) {
        irq_off();
        locked(SECTION);
        irq_on();
        hot_a(SECTION * 7 / 3);
    }
}
