/* A timer of one's own for the sampler: CMSDK APB timer 1 of the mps2 boards, as an example
 * of what PROF_TIMER=PROF_OWN asks for (prof.h). The build gives
 *   -DPROF_TIMER=PROF_OWN -DPROF_HANDLER=Own_Handler -DPROF_EXCEPTION=25
 *   -DPROF_RELOAD=0x40001008 -DPROF_PERIOD_MAX=0xFFFFFFFF
 *   -DPROF_ACK=0x4000100C -DPROF_ACK_VALUE=1
 * SPDX-License-Identifier: MIT */
#include "board.h"
#include "prof.h"

#define TIMER(offset) REG32(0x40001000u + (offset))
#define TIMER_IRQ (PROF_EXCEPTION - 16)

void prof_timer_start(uint32_t reload)
{
    TIMER(0x0) = 0;      /* CTRL */
    TIMER(0x8) = reload; /* RELOAD */
    TIMER(0x4) = reload; /* VALUE */
    TIMER(0xC) = 1;      /* INTCLEAR */
    *(volatile uint8_t *)(0xE000E400u + TIMER_IRQ) = 0; /* NVIC_IPR: the sampler's priority */
    REG32(0xE000E100u) = 1u << TIMER_IRQ;               /* NVIC_ISER */
    TIMER(0x0) = 9;                                     /* CTRL: interrupt, enable */
}

void prof_timer_stop(void)
{
    TIMER(0x0) = 0;
    TIMER(0xC) = 1;
    REG32(0xE000E180u) = 1u << TIMER_IRQ; /* NVIC_ICER */
    REG32(0xE000E280u) = 1u << TIMER_IRQ; /* NVIC_ICPR */
}
