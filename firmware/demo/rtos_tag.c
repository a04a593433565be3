/* Two FreeRTOS tasks of one priority that share hot_a and take turns: `heavy` has
 * about 60 % of the time, `light` 40 %. The sampler keeps pxCurrentTCB beside each
 * PC. SPDX-License-Identifier: MIT */
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

static void heavy(void *unused)
{
    (void)unused;
    for (;;) {
        hot_a(600);
        taskYIELD();
    }
}

static void light(void *unused)
{
    (void)unused;
    for (;;) {
        hot_a(300);
        hot_b(100);
        taskYIELD();
    }
}

int main(void)
{
    board_init();
    xTaskCreate(heavy, "heavy", configMINIMAL_STACK_SIZE, 0, 1, 0);
    xTaskCreate(light, "light", configMINIMAL_STACK_SIZE, 0, 1, 0);
    vTaskStartScheduler();
    for (;;)
        ;
}
