/* A program that sleeps: every 500 us CMSDK timer 1 of the mps2-an385 ticks, hot_a works
 * for 30 % of that, the rest is `wfi`. What a sampler sees of sleep is the instruction
 * after `wfi`, woken by its own interrupt. MASKED: the form of a tickless RTOS, which sleeps
 * with interrupts masked; then it is the instruction after `cpsie i`, and looks like a
 * masked section. SPDX-License-Identifier: MIT */
#include "board.h"
#include "work.h"

#define TIMER(offset) REG32(0x40001000u + (offset))
#define TIMER_IRQ 9
#define TICK_HZ 2000

static volatile uint32_t tick;

void Own_Handler(void)
{
    TIMER(0xC) = 1; /* INTCLEAR */
    tick = 1;
}

WORK void hot_a(uint32_t turns)
{
    spin(turns);
}

__attribute__((noinline)) static void wait_tick(void)
{
#ifdef MASKED
    do {
        __asm volatile("cpsid i" ::: "memory");
        if (!tick)
            __asm volatile("wfi");
        __asm volatile("cpsie i" ::: "memory");
    } while (!tick);
#else
    while (!tick) /* a tick between this and wfi waits for the next interrupt */
        __asm volatile("wfi");
#endif
    tick = 0;
}

int main(void)
{
    board_init();
    board_heartbeat();
    TIMER(0x8) = BOARD_CORE_HZ / TICK_HZ - 1;               /* RELOAD */
    TIMER(0x4) = BOARD_CORE_HZ / TICK_HZ - 1;               /* VALUE */
    *(volatile uint8_t *)(0xE000E400u + TIMER_IRQ) = 0x80; /* NVIC_IPR: below the sampler */
    REG32(0xE000E100u) = 1u << TIMER_IRQ;                   /* NVIC_ISER */
    TIMER(0x0) = 9;                                         /* CTRL: interrupt, enable */
    for (;;) {
        wait_tick();
        hot_a(50000);
    }
}
