/* prof: a sampling profiler in a timer interrupt, for any Cortex-M.
 *
 * Add prof.c to the build, let the vector table's entry of the timer name
 * PROF_HANDLER, and start it: from GDB (`prof start`) or from the program:
 *
 *     prof_jitter = 2047;         // plus 0..2047 at random: without it a program
 *                                 // with a period of its own is sampled in step
 *     prof_start(2013, 10000);    // every 2013 timer ticks, stop after 10,000
 *
 * Every option below is a default; give another with -D or before this file is
 * included (prof.c must see the same). Nothing here needs a vendor's headers.
 *
 * The sampler runs at priority 0, the highest that can be set: what it cannot
 * interrupt it cannot see, and the time of such code would be charged to
 * whatever runs after it. It calls nothing and touches nothing but its own RAM
 * and its timer, so it is safe above an RTOS's system-call priority.
 * See README.md for what a sampler in an interrupt can never see.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PROF_H
#define PROF_H

#include <stdint.h>

/* ---- What is kept ------------------------------------------------------- */

#define PROF_RING 0      /* the last PROF_SIZE program counters, in order */
#define PROF_HISTOGRAM 1 /* a 16-bit counter for each range of addresses */

#ifndef PROF_MODE
#define PROF_MODE PROF_RING
#endif
#ifndef PROF_SIZE
#define PROF_SIZE 1024 /* ring: samples kept, a power of two */
#endif
#ifndef PROF_BINS
#define PROF_BINS 256 /* histogram: number of bins, a power of two; 65,535 samples each */
#endif
#ifndef PROF_SHIFT
#define PROF_SHIFT 4 /* histogram: a bin is 1 << PROF_SHIFT bytes of code */
#endif
#ifndef PROF_BASE
#define PROF_BASE _stext /* histogram: the symbol where the first bin begins */
#endif
/* PROF_TAG: the name of any pointer variable, kept beside each sample of a
 * ring; with FreeRTOS, -DPROF_TAG=pxCurrentTCB gives every sample its task. */
#ifndef PROF_LR
#define PROF_LR 0 /* ring: keep LR too, which is the caller while in a leaf */
#endif
#ifndef PROF_JITTER
#define PROF_JITTER 1 /* 0: no code for jitter; else prof_jitter is the mask */
#endif
/* PROF_CLOCK: an expression that reads a free-running 32-bit counter, e.g.
 * (*(volatile uint32_t *)0xE0001004) for DWT->CYCCNT. prof_start() and
 * prof_stop() note it, which gives a profile its length in time. */
#ifndef PROF_CLOCK_HZ
#define PROF_CLOCK_HZ 0 /* its counts a second; 0: the processor's clock */
#endif

/* ---- The timer ---------------------------------------------------------- */

#define PROF_SYSTICK 0 /* when no RTOS has it; a tick is a processor cycle */
#define PROF_TIM3 1    /* STM32; a tick is the timer's clock / (prescaler+1) */
#define PROF_OWN 2     /* yours: see below */

#ifndef PROF_TIMER
#define PROF_TIMER PROF_SYSTICK
#endif

#if PROF_TIMER == PROF_SYSTICK
#define PROF_HANDLER SysTick_Handler
#define PROF_EXCEPTION 15
#define PROF_RELOAD 0xE000E014u /* SYST_RVR: taken over at the next wrap */
#define PROF_PERIOD_MAX 0x1000000u
#define PROF_PRESCALER 0
#elif PROF_TIMER == PROF_TIM3
#define PROF_HANDLER TIM3_IRQHandler
#ifndef PROF_IRQ
#define PROF_IRQ 29 /* F1, F2, F3, F4, L4, G4, H7; F0: 16 */
#endif
#define PROF_EXCEPTION (16 + PROF_IRQ)
#ifndef PROF_RCC_ENR
#define PROF_RCC_ENR 0x40023840u /* RCC_APB1ENR of F2, F4; F0, F1, F3: 0x4002101C;
                                    L4, G4: 0x40021058; H7: 0x580244E8 */
#endif
#define PROF_TIM3_BASE 0x40000400u
#define PROF_RELOAD (PROF_TIM3_BASE + 0x2Cu) /* TIM3_ARR, preloaded (CR1.ARPE) */
#define PROF_ACK (PROF_TIM3_BASE + 0x10u)    /* TIM3_SR: UIF is cleared by 0, */
#define PROF_ACK_VALUE 0xFFFFFFFEu           /* the others are left by 1 */
#define PROF_PERIOD_MAX 0x10000u
#ifndef PROF_PRESCALER
#define PROF_PRESCALER 0 /* 0..65535 */
#endif
#else
/* A timer of your own: define
 *   PROF_HANDLER     the interrupt's name in the vector table
 *   PROF_EXCEPTION   its exception number: 16 + IRQ
 *   PROF_RELOAD      address of the register that takes ticks - 1
 *   PROF_PERIOD_MAX  the longest period in ticks
 * and, where the interrupt must be acknowledged by writing a register,
 *   PROF_ACK, PROF_ACK_VALUE
 * and write, in a file of yours,
 *   void prof_timer_start(uint32_t reload);  set priority 0 and run, an
 *                                            interrupt each reload + 1 ticks
 *   void prof_timer_stop(void);              no interrupt after it returns  */
#ifndef PROF_PRESCALER
#define PROF_PRESCALER 0
#endif
#endif

/* ---- What the program or the debugger calls ----------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

extern volatile uint32_t prof_n; /* samples taken since prof_start */
#if PROF_JITTER
extern volatile uint32_t prof_jitter; /* mask, 2^k - 1; may be set at any time; 0: none */
#endif

/* Samples every `period` ticks, plus 0..prof_jitter more where jitter is
 * compiled in. Begins a new profile: what was there is forgotten. Stops by
 * itself after `limit` samples; 0 is no limit. While sampling, call prof_stop()
 * first. From a thread or any handler; masks no interrupt. Period:
 * 2..PROF_PERIOD_MAX, and long enough for
 * the sampler itself (about 60 cycles) to leave time for the program. */
void prof_start(uint32_t period, uint32_t limit);

/* No sample is taken after it has returned; what there is stays. From anywhere,
 * a fault handler too; masks no interrupt. */
void prof_stop(void);

/* Reached in the sampler's interrupt when the limit is met, with the sampler
 * stopped: a place for a breakpoint. Empty; with -DPROF_DONE_HOOK=name it goes on
 * to void name(void), still in the interrupt. */
void prof_done(void);

/* Prints the profile as text, oldest sample first, eight hex words a line:
 * `prof load` reads it out of a UART's log. From a thread, stopped. */
void prof_dump(void (*put)(char c));

#if PROF_TIMER == PROF_OWN
void prof_timer_start(uint32_t reload);
void prof_timer_stop(void);
#endif

#ifdef __cplusplus
}
#endif

/* ---- What the debugger reads: symbols, found by name in the ELF ---------
 *   prof_n          u32   samples taken since prof_start, also those overwritten
 *   prof_limit      u32
 *   prof_seed       u32   PROF_JITTER: state of the xorshift32, not 0 once started
 *   prof_jitter     u32   mask, 2^k - 1; may be set at any time; 0 is no jitter
 *   prof_period     u32   ticks - 1, before jitter is added
 *   prof_pc[]       u32   ring: sample i is at i % PROF_SIZE
 *   prof_tag[]      u32   the same for PROF_TAG
 *   prof_lr[]       u32   the same for LR
 *   prof_hist[]     u16   histogram: stays at 65,535 when full
 *   prof_out        u32   histogram: samples outside all bins
 *   prof_saturated  u32   histogram: samples lost in full bins
 *   prof_clock[2]   u32   PROF_CLOCK at the start and at the stop
 *   prof_info             what a size does not tell, in flash              */
struct prof_info {
    uint32_t magic; /* "PROF" */
    uint8_t version, mode, timer, flags; /* flags: PROF_HAS_… */
    uint32_t base;                       /* histogram: address of the first bin */
    uint8_t shift, reserved;
    uint16_t exception; /* number of the timer's interrupt in the vector table */
    uint32_t prescaler, period_max;
    uint32_t reload;  /* address of the register that holds ticks - 1 */
    uint32_t handler; /* the sampler's address, Thumb bit set */
    char tag[32];     /* the name in PROF_TAG */
    uint32_t clock_hz; /* PROF_CLOCK_HZ */
};
#define PROF_MAGIC 0x464F5250u
#define PROF_HAS_JITTER 1
#define PROF_HAS_TAG 2
#define PROF_HAS_LR 4
#define PROF_HAS_CLOCK 8

/* The sampler in assembly, or (0) the C that specifies it: the same samples,
 * at about twice the cost. */
#ifndef PROF_ASM
#define PROF_ASM 1
#endif

#endif
