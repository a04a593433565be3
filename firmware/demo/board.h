/* The few registers that the demo programs need of each QEMU board.
 * SPDX-License-Identifier: MIT */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define REG32(a) (*(volatile uint32_t *)(a))

/* board_heartbeat(), for programs that sleep: a timer that runs out every 4 us and interrupts
 * nobody. In QEMU 7.2 a SysTick that wakes the core takes the clock on to the next timer's
 * time first; if that is the next SysTick, every other one is lost. Silicon needs none. */

#if defined(BOARD_netduinoplus2) || defined(BOARD_netduino2) /* STM32F405, F205 */
#ifdef BOARD_netduinoplus2
#define BOARD_CORE_HZ 168000000u
#else
#define BOARD_CORE_HZ 120000000u
#endif
#define BOARD_SPARE_IRQ 6 /* EXTI0 */
/* TIM2; QEMU clocks it at 1 GHz, so that under -icount shift=0 it counts executed
 * instructions. On silicon it counts timer clocks. */
#define BOARD_CLOCK_ADDRESS 0x40000024u
#define BOARD_CLOCK() REG32(BOARD_CLOCK_ADDRESS)
#define BOARD_CLOCK_ZERO() (REG32(BOARD_CLOCK_ADDRESS) = 0)
#define BOARD_CLOCK_HZ 1000000000u
static inline void board_init(void)
{
    REG32(0x40023840u) |= 1;         /* RCC_APB1ENR: TIM2EN */
    REG32(0x40023844u) |= 1u << 4;   /* RCC_APB2ENR: USART1EN */
    REG32(0x40000000u) = 1;          /* TIM2_CR1: CEN */
    REG32(0x4001100Cu) = 0x2008;     /* USART1_CR1: UE, TE */
}
static inline void board_heartbeat(void)
{
    REG32(0x40023840u) |= 8;         /* RCC_APB1ENR: TIM5EN */
    REG32(0x40000C0Cu) = 1;          /* TIM5_DIER: UIE, but the NVIC does not let it through */
    REG32(0x40000C00u) = 1;          /* CR1: CEN */
    REG32(0x40000C2Cu) = 3999;       /* ARR */
}
static inline void board_putc(char c)
{
    while (!(REG32(0x40011000u) & 0x80)) /* SR: TXE */
        ;
    REG32(0x40011004u) = (uint8_t)c; /* DR */
}

#elif defined(BOARD_microbit) /* nRF51822. QEMU gives its M0 a SysTick; silicon has none */
#define BOARD_CORE_HZ 16000000u
#define BOARD_SPARE_IRQ 20 /* SWI0 */
static inline uint32_t board_clock(void)
{
    REG32(0x40009040u) = 1;    /* TIMER1 TASKS_CAPTURE[0] */
    return REG32(0x40009540u); /* CC[0] */
}
#define BOARD_CLOCK() board_clock()
#define BOARD_CLOCK_HZ 16000000u
static inline void board_init(void)
{
    REG32(0x40002500u) = 4;      /* UART ENABLE */
    REG32(0x40002008u) = 1;      /* TASKS_STARTTX */
    REG32(0x40009508u) = 3;      /* TIMER1 BITMODE: 32 bit */
    REG32(0x40009510u) = 0;      /* PRESCALER: 16 MHz */
    REG32(0x40009000u) = 1;      /* TASKS_START */
}
static inline void board_putc(char c)
{
    REG32(0x4000211Cu) = 0; /* EVENTS_TXDRDY */
    REG32(0x4000251Cu) = (uint8_t)c;
    while (!REG32(0x4000211Cu))
        ;
}

#elif defined(BOARD_mps2_an385) || defined(BOARD_mps2_an505) /* Cortex-M3, Cortex-M33 */
#ifdef BOARD_mps2_an385
#define BOARD_CORE_HZ 25000000u
#define BOARD_UART 0x40004000u
#define BOARD_TIMER 0x40000000u /* CMSDK APB timer 0: counts down */
#else
#define BOARD_CORE_HZ 20000000u
#define BOARD_UART 0x50200000u  /* secure alias */
#define BOARD_TIMER 0x50000000u
#endif
#define BOARD_SPARE_IRQ 31
#define BOARD_CLOCK() (0xFFFFFFFFu - REG32(BOARD_TIMER + 4))
#define BOARD_CLOCK_HZ BOARD_CORE_HZ
static inline void board_init(void)
{
    REG32(BOARD_UART + 0x10) = 16;         /* BAUDDIV: the least that is allowed */
    REG32(BOARD_UART + 0x08) = 1;          /* CTRL: TX */
    REG32(BOARD_TIMER + 8) = 0xFFFFFFFFu;  /* RELOAD */
    REG32(BOARD_TIMER + 4) = 0xFFFFFFFFu;  /* VALUE */
    REG32(BOARD_TIMER) = 1;                /* CTRL: enable */
}
#ifdef BOARD_mps2_an385
static inline void board_heartbeat(void)
{
    REG32(0x40002000u) = 99;   /* dual timer, TIMER1LOAD */
    REG32(0x40002008u) = 0xC0; /* TIMER1CONTROL: enable, periodic */
}
#endif
static inline void board_putc(char c)
{
    while (REG32(BOARD_UART + 4) & 1) /* STATE: TX full */
        ;
    REG32(BOARD_UART) = (uint8_t)c;
}

#else
#error "board.h: no such board"
#endif

#endif
