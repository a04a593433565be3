/* A FreeRTOS system that has little to do: `control` works for about 20 % of the time and
 * `logger` for a little, the rest is the idle task's. DEMO_IDLE_HOOK: it sleeps (`wfi`);
 * without, it spins, and a profile without the tasks' names shows a busy program.
 * SPDX-License-Identifier: MIT */
#include "FreeRTOS.h"
#include "task.h"
#include "work.h"

WORK void hot_a(uint32_t turns)
{
    spin(turns);
}

WORK void hot_b(uint32_t turns)
{
    spin(turns);
}

#if configUSE_IDLE_HOOK
void vApplicationIdleHook(void);
void vApplicationIdleHook(void)
{
    __asm volatile("wfi");
}
#endif

static void control(void *unused)
{
    (void)unused;
    for (;;) {
        hot_a(70000);
        vTaskDelay(1);
    }
}

static void logger(void *unused)
{
    (void)unused;
    for (;;) {
        hot_b(30000);
        vTaskDelay(4);
    }
}

int main(void)
{
    board_init();
#if configUSE_IDLE_HOOK
    board_heartbeat();
#endif
    xTaskCreate(control, "control", configMINIMAL_STACK_SIZE, 0, 2, 0);
    xTaskCreate(logger, "logger", configMINIMAL_STACK_SIZE, 0, 1, 0);
    vTaskStartScheduler();
    for (;;)
        ;
}
