/* Time that a sampler cannot see, in the forms in which firmware spends it: PRIMASK saved
 * and restored in one function (a), two sections that end in the same irq_on() (b and c),
 * FAULTMASK (f: mainline cores), a handler at priority 0 that `svc` enters. Each has about
 * 10 % of the time and is charged to the instruction after `msr`, `cpsie` or `svc`; LR
 * tells the two callers of irq_on() apart. Each section is shorter than a period of 12,000
 * instructions, so that no tick is lost. SPDX-License-Identifier: MIT */
#include "board.h"
#include "work.h"

#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define MAINLINE 0
#else
#define MAINLINE 1
#endif

__attribute__((noinline)) static void irq_off(void)
{
    __asm volatile("cpsid i" ::: "memory");
}

__attribute__((noinline)) static void irq_on(void)
{
    __asm volatile("cpsie i" ::: "memory");
}

WORK void work_a(uint32_t turns)
{
    spin(turns);
}

WORK void work_b(uint32_t turns)
{
    spin(turns);
}

WORK void work_c(uint32_t turns)
{
    spin(turns);
}

WORK void svc_work(uint32_t turns)
{
    spin(turns);
}

WORK void hot_a(uint32_t turns)
{
    spin(turns);
}

__attribute__((noinline)) static void update_a(void)
{
    uint32_t primask;

    __asm volatile("mrs %0, primask\n cpsid i" : "=r"(primask)::"memory");
    work_a(300);
    __asm volatile("msr primask, %0" ::"r"(primask) : "memory");
}

__attribute__((noinline)) static void update_b(void)
{
    irq_off();
    work_b(320);
    irq_on();
}

__attribute__((noinline)) static void update_c(void)
{
    irq_off();
    work_c(280);
    irq_on();
}

#if MAINLINE
WORK void work_f(uint32_t turns)
{
    spin(turns);
}

__attribute__((noinline)) static void update_f(void)
{
    uint32_t faultmask;

    __asm volatile("mrs %0, faultmask\n cpsid f" : "=r"(faultmask)::"memory");
    work_f(300);
    __asm volatile("msr faultmask, %0" ::"r"(faultmask) : "memory");
}
#endif

void SVC_Handler(void)
{
    svc_work(300);
}

__attribute__((noinline)) static void ask(void)
{
    __asm volatile("svc 0" ::: "memory");
}

int main(void)
{
    board_init();
    for (;;) {
        update_a();
        update_b();
        update_c();
#if MAINLINE
        update_f();
#endif
        ask();
        hot_a(1500);
        __asm volatile("nop"); /* an odd lap: see three_loops */
    }
}
