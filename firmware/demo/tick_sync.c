/* A sampler that is chained into the RTOS's own tick because no timer is left: each sample
 * is taken at the moment when the tick is about to release `brief`, which then works for
 * 10 % of the tick and is never seen at it. All samples are `background`'s. The sampler
 * must not touch the tick: its timer's start and stop are a flag, and it has no jitter.
 * main() starts it; `prof start` finds SysTick's vector led elsewhere.
 * SPDX-License-Identifier: MIT */
#include "FreeRTOS.h"
#include "prof.h"
#include "task.h"
#include "work.h"

#define SAMPLES 1000

void xPortSysTickHandler(void);
void prof_tick(const uint32_t *frame); /* prof.c, with PROF_ASM=0 */

static volatile uint32_t sampling;

void prof_timer_start(uint32_t reload)
{
    (void)reload; /* the tick's */
    sampling = 1;
}

void prof_timer_stop(void)
{
    sampling = 0;
}

/* Of the lowest priority: it has interrupted a task, whose frame is on the process stack. */
void SysTick_Handler(void)
{
    const uint32_t *frame;

    __asm volatile("mrs %0, psp" : "=r"(frame));
    if (sampling)
        prof_tick(frame);
    xPortSysTickHandler();
}

/* Three instructions a turn; a tick is 1,000,000 in QEMU. */
WORK void hot_a(uint32_t turns)
{
    spin(turns);
}

WORK void hot_b(uint32_t turns)
{
    spin(turns);
}

static void background(void *unused)
{
    (void)unused;
    for (;;)
        hot_a(600);
}

static void brief(void *unused)
{
    (void)unused;
    for (;;) {
        vTaskDelay(1);
        hot_b(100000 / 3);
    }
}

int main(void)
{
    board_init();
    xTaskCreate(brief, "brief", configMINIMAL_STACK_SIZE, 0, 2, 0);
    xTaskCreate(background, "background", configMINIMAL_STACK_SIZE, 0, 1, 0);
    prof_start(configCPU_CLOCK_HZ / configTICK_RATE_HZ, SAMPLES);
    vTaskStartScheduler();
    for (;;)
        ;
}
