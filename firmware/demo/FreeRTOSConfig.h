/* FreeRTOS as the demo programs use it: V9 to V11, the ARM_CM3 port (no FPU
 * registers are used in tasks). SPDX-License-Identifier: MIT */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board.h"

#define configCPU_CLOCK_HZ BOARD_CORE_HZ
#define configTICK_RATE_HZ 1000
#define configUSE_PREEMPTION 1
#define configMAX_PRIORITIES 6
#define configMINIMAL_STACK_SIZE 128
#define configTOTAL_HEAP_SIZE 16384
#define configMAX_TASK_NAME_LEN 12
#define configUSE_16_BIT_TICKS 0
#ifdef DEMO_IDLE_HOOK
#define configUSE_IDLE_HOOK 1
#else
#define configUSE_IDLE_HOOK 0
#endif
#define configUSE_TICK_HOOK 0
#define configUSE_MUTEXES 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define INCLUDE_vTaskDelay 1

/* Eight priority bits, as QEMU's netduino boards have. The kernel masks 0x50 and
 * below with BASEPRI: the sampler, at 0, sees the kernel too. */
#define configKERNEL_INTERRUPT_PRIORITY 0xFF
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x50

/* The kernel's handlers under the vector table's names. */
#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler

void demo_assert_failed(const char *file, int line);
#define configASSERT(x) ((x) ? (void)0 : demo_assert_failed(__FILE__, __LINE__))

#ifndef DEMO_TRACE /* SysTick is the sampler's, the tick comes from TIM4 (kernel_tick.c); not in tick_sync */
#define configUSE_TIME_SLICING 0
#else
#define xPortSysTickHandler SysTick_Handler
#ifdef DEMO_STRESS
#define configUSE_TIME_SLICING 0
extern unsigned stress_switches;
#define traceTASK_SWITCHED_OUT() stress_switches++
#endif
#define configUSE_TRACE_FACILITY 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configQUEUE_REGISTRY_SIZE 4
#define INCLUDE_vTaskDelayUntil 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_xResumeFromISR 1
#ifdef DEMO_TIMERS
#define configUSE_TIMERS 1
#define INCLUDE_xTimerPendFunctionCall 1
#define configTIMER_TASK_PRIORITY 4
#define configTIMER_QUEUE_LENGTH 4
#define configTIMER_TASK_STACK_DEPTH 128
#endif
#ifndef DEMO_COST /* the kernel's own account of who ran how long, to compare with the trace */
#define configGENERATE_RUN_TIME_STATS 1
#define portCONFIGURE_TIMER_FOR_RUN_TIME_STATS() /* it runs already, and the trace has its time */
#define portGET_RUN_TIME_COUNTER_VALUE() BOARD_CLOCK()
#endif
#ifndef DEMO_NO_TRACE
#define TRACE_CLOCK_ADDRESS BOARD_CLOCK_ADDRESS
#define TRACE_CLOCK_HZ BOARD_CLOCK_HZ
#ifdef DEMO_ITM_WORDS /* itm_words.c takes them: QEMU has no ITM */
void itm_word(uint32_t port, uint32_t word);
int itm_ready(void);
#define TRACE_ITM_WRITE(port, word) itm_word(port, word)
#define TRACE_ITM_READY(port) itm_ready()
#endif
#include "trace_rec.h"
#else /* the same program without the recorder */
#define trace_start()
#define trace_stop()
#define trace_done()
#define TRACE_MARK(number) (void)(number)
#endif
#endif

#endif
