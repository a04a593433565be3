/* FreeRTOS as the demo programs use it: V9 to V11, the ARM_CM3 port (no FPU
 * registers are used in tasks). SPDX-License-Identifier: MIT */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board.h"

#define configCPU_CLOCK_HZ BOARD_CORE_HZ
#define configTICK_RATE_HZ 1000
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 0
#define configMAX_PRIORITIES 6
#define configMINIMAL_STACK_SIZE 128
#define configTOTAL_HEAP_SIZE 16384
#define configMAX_TASK_NAME_LEN 12
#define configUSE_16_BIT_TICKS 0
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_MUTEXES 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define INCLUDE_vTaskDelay 1

/* Eight priority bits, as QEMU's netduino boards have. The kernel masks 0x50 and
 * below with BASEPRI: the sampler, at 0, sees the kernel too. */
#define configKERNEL_INTERRUPT_PRIORITY 0xFF
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x50

/* The kernel's handlers under the vector table's names. SysTick is the sampler's:
 * the kernel's tick comes from TIM4 (kernel_tick.c). */
#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler

void demo_assert_failed(const char *file, int line);
#define configASSERT(x) ((x) ? (void)0 : demo_assert_failed(__FILE__, __LINE__))

#endif
