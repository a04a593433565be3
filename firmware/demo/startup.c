/* Vector table and start-up for all boards. SPDX-License-Identifier: MIT */
#include "board.h"
#ifndef NO_PROF
#include "prof.h"
#endif

extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], _estack[];
int main(void);

uint32_t SystemCoreClock = BOARD_CORE_HZ;

__attribute__((noreturn)) void Reset_Handler(void)
{
#if defined(__ARM_FP)
    REG32(0xE000ED88u) |= 0xFu << 20; /* CPACR: before any C that may use d-registers */
    __asm volatile("dsb\n isb");
#endif
    for (uint32_t *to = _sdata, *from = _sidata; to < _edata;)
        *to++ = *from++;
    for (uint32_t *to = _sbss; to < _ebss;)
        *to++ = 0;
#ifdef USE_PSP /* the variant that runs on the process stack, as an RTOS's tasks do */
    static uint64_t stack[64];
    /* Above the main stack some memory is left: bad_stack.c's sampler reads there. */
    __asm volatile("sub sp, #64\n"
                   "msr psp, %0\n"
                   "movs r3, #2\n"
                   "msr control, r3\n"
                   "isb\n" ::"r"(stack + 64)
                   : "r3", "memory");
#endif
    main();
    for (;;)
        ;
}

void Default_Handler(void)
{
    for (;;)
        ;
}

#ifndef NO_PROF
/* For the debugger: call demo_dump() */
void demo_dump(void)
{
    prof_dump(board_putc);
}
#endif

#define WEAK __attribute__((weak, alias("Default_Handler")))
WEAK void NMI_Handler(void);
WEAK void HardFault_Handler(void);
WEAK void SVC_Handler(void);
WEAK void PendSV_Handler(void);
WEAK void SysTick_Handler(void);
WEAK void Spare_Handler(void); /* the board's BOARD_SPARE_IRQ */
WEAK void Own_Handler(void); /* own_timer.c */
WEAK void TIM3_IRQHandler(void);
WEAK void TIM4_IRQHandler(void);

#pragma GCC diagnostic ignored "-Woverride-init"
__attribute__((section(".isr_vector"), used)) void *const vectors[16 + 96] = {
    [0 ... 16 + 95] = Default_Handler,
    [0] = _estack,
    [1] = Reset_Handler,
    [2] = NMI_Handler,
    [3] = HardFault_Handler,
    [11] = SVC_Handler,
    [14] = PendSV_Handler,
    [15] = SysTick_Handler,
    [16 + 9] = Own_Handler,
    [16 + 29] = TIM3_IRQHandler,
    [16 + 30] = TIM4_IRQHandler,
    [16 + BOARD_SPARE_IRQ] = Spare_Handler,
};
