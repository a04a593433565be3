/* The kernel's tick from TIM4, which leaves SysTick to the sampler.
 * SPDX-License-Identifier: MIT */
#include "FreeRTOS.h"
#include "task.h"

#define TIM4(offset) REG32(0x40000800u + (offset))
#define TIM4_IRQ 30

void xPortSysTickHandler(void);

/* In the place of the port's weak one, which takes SysTick. The clock is QEMU's
 * 1 GHz: see BOARD_CLOCK(). */
void vPortSetupTimerInterrupt(void)
{
    REG32(0x40023840u) |= 4; /* RCC_APB1ENR: TIM4EN */
    TIM4(0x28) = 999;        /* PSC */
    TIM4(0x2C) = 999;        /* ARR */
    TIM4(0x14) = 1;          /* EGR.UG */
    TIM4(0x10) = 0;          /* SR */
    TIM4(0x0C) = 1;          /* DIER.UIE */
    *(volatile uint8_t *)(0xE000E400u + TIM4_IRQ) = configKERNEL_INTERRUPT_PRIORITY;
    REG32(0xE000E100u) = 1u << TIM4_IRQ; /* NVIC_ISER */
    TIM4(0x00) = 1;                      /* CR1.CEN */
}

void TIM4_IRQHandler(void)
{
    TIM4(0x10) = 0;
    TIM4(0x2C) = 999; /* ARR: QEMU sets its next alarm only when it is written */
    xPortSysTickHandler();
}
