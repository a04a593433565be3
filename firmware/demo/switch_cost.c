/* What the recorder costs: two tasks of one priority yield to each other 1,000 times;
 * then 1,000 marks. The counts are instructions under -icount shift=0; the same program
 * without the recorder gives the base. SPDX-License-Identifier: MIT */
#include "tasks.h"

#define ROUNDS 1000

volatile uint32_t cost_yields, cost_marks, cost_empty;

__attribute__((noinline)) static void finished(void)
{
    __asm volatile("");
}

static void first(void *unused)
{
    (void)unused;
    taskYIELD(); /* the other is at its loop now */
    uint32_t start = BOARD_CLOCK();
    for (uint32_t i = 0; i < ROUNDS; i++)
        taskYIELD();
    cost_yields = BOARD_CLOCK() - start;

    start = BOARD_CLOCK();
    for (uint32_t i = 0; i < ROUNDS; i++)
        __asm volatile("" ::"r"(i));
    cost_empty = BOARD_CLOCK() - start;

    start = BOARD_CLOCK();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        TRACE_MARK(7);
        __asm volatile("" ::"r"(i));
    }
    cost_marks = BOARD_CLOCK() - start;
    finished();
    for (;;)
        ;
}

static void second(void *unused)
{
    (void)unused;
    for (;;)
        taskYIELD();
}

int main(void)
{
    board_init();
    task(first, "first", 1);
    task(second, "second", 1);
    run();
}
