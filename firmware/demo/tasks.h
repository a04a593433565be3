/* What the traced demo programs share. SPDX-License-Identifier: MIT */
#ifndef TASKS_H
#define TASKS_H

#include "FreeRTOS.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"
#include "work.h"

/* Three instructions a turn, whatever the compiler: under -icount shift=0 one microsecond
 * is 1,000 of them. */
WORK void work_us(uint32_t us)
{
    uint32_t turns = us * 1000 / 3;

    __asm volatile("1: subs %0, %0, #1\n"
                   "nop\n"
                   "bne 1b"
                   : "+r"(turns)::"cc");
}

static inline void task(void (*code)(void *), const char *name, uint32_t priority)
{
    xTaskCreate(code, name, configMINIMAL_STACK_SIZE, 0, priority, 0);
}

/* Stops the trace when its time is over: the highest priority of all. */
static inline void stop_after(uint32_t ticks)
{
    vTaskDelay(ticks);
    trace_stop();
    trace_done();
    vTaskSuspend(0);
}

static inline void run(void)
{
    BOARD_CLOCK_ZERO(); /* not later: records in the ring are older */
    trace_start();
    vTaskStartScheduler();
    for (;;)
        ;
}

#endif
