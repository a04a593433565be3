/* Priority inversion. L (1) takes a lock and works 4 ms; H (3) wakes at 1 ms and wants it,
 * then works 1 ms; M (2) wakes at 2 ms, works 6 ms and needs nothing. With a binary
 * semaphore H waits for M too; with a mutex (-DMUTEX) L inherits H's priority.
 * SPDX-License-Identifier: MIT */
#include "tasks.h"

static SemaphoreHandle_t lock;

static void low(void *unused)
{
    (void)unused;
    xSemaphoreTake(lock, portMAX_DELAY);
    work_us(4000);
    xSemaphoreGive(lock);
    vTaskSuspend(0);
}

static void middle(void *unused)
{
    (void)unused;
    vTaskDelay(2);
    work_us(6000);
    vTaskSuspend(0);
}

static void high(void *unused)
{
    (void)unused;
    vTaskDelay(1);
    xSemaphoreTake(lock, portMAX_DELAY);
    work_us(1000);
    xSemaphoreGive(lock);
    vTaskSuspend(0);
}

static void control(void *unused)
{
    (void)unused;
    stop_after(20);
}

int main(void)
{
    board_init();
#ifdef MUTEX
    lock = xSemaphoreCreateMutex();
#else
    lock = xSemaphoreCreateBinary();
    xSemaphoreGive(lock);
#endif
    task(control, "ctl", 5);
    task(high, "H", 3);
    task(middle, "M", 2);
    task(low, "L", 1);
    run();
}
