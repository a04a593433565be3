/* A handler that takes 30 % of the time: visible to a sampler only if its priority
 * is lower than the sampler's. SPARE_PRIORITY: 0 is the sampler's own.
 * SPDX-License-Identifier: MIT */
#include "board.h"
#include "work.h"

#ifndef SPARE_PRIORITY
#define SPARE_PRIORITY 0
#endif

WORK void isr_work(uint32_t turns)
{
    spin(turns);
}

WORK void hot_a(uint32_t turns)
{
    spin(turns);
}

void Spare_Handler(void)
{
    isr_work(300);
}

int main(void)
{
    board_init();
    REG32(0xE000E400u + BOARD_SPARE_IRQ / 4 * 4) |= (uint32_t)SPARE_PRIORITY
                                                    << (BOARD_SPARE_IRQ % 4 * 8);
    REG32(0xE000E100u) = 1u << BOARD_SPARE_IRQ; /* NVIC_ISER */
    for (;;) {
        REG32(0xE000E200u) = 1u << BOARD_SPARE_IRQ; /* NVIC_ISPR: pend it */
        hot_a(700);
    }
}
