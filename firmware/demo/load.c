/* A load that a CPU share of 60 % hides. burst (3) every 7 ms works 1, 3, 0.5 and 2 ms in
 * turn; period (2) every 5 ms works 0.5; poll (2) from 100 to 160 ms works without a
 * pause; logger (1) every 10 ms works 0.5. The fix (-DFIXED): period at 4, and poll sleeps
 * a tick after each 0.1 ms. SPDX-License-Identifier: MIT */
#include "tasks.h"

#ifdef FIXED
#define PERIOD_PRIORITY 4
#define POLL_SLEEP() vTaskDelay(1)
#else
#define PERIOD_PRIORITY 2
#define POLL_SLEEP()
#endif

static void every(uint32_t ticks, uint32_t us)
{
    TickType_t woken = xTaskGetTickCount();

    for (;;) {
        vTaskDelayUntil(&woken, ticks);
        work_us(us);
    }
}

static void burst(void *unused)
{
    static const uint16_t us[] = {1000, 3000, 500, 2000};
    TickType_t woken = xTaskGetTickCount();

    (void)unused;
    for (uint32_t i = 0;; i++) {
        vTaskDelayUntil(&woken, 7);
        work_us(us[i % 4]);
    }
}

static void period(void *unused)
{
    (void)unused;
    every(5, 500);
}

static void logger(void *unused)
{
    (void)unused;
    every(10, 500);
}

static void poll(void *unused)
{
    (void)unused;
    vTaskDelay(100);
    while (xTaskGetTickCount() < 160) {
        work_us(100);
        POLL_SLEEP();
    }
    vTaskSuspend(0);
}

static void control(void *unused)
{
    (void)unused;
    stop_after(200);
}

int main(void)
{
    board_init();
    task(control, "ctl", 5);
    task(burst, "burst", 3);
    task(period, "period", PERIOD_PRIORITY);
    task(poll, "poll", 2);
    task(logger, "logger", 1);
    run();
}
