/* What a sample costs: the same work without and with the sampler, timed by
 * BOARD_CLOCK. Read the figures at finished(). SPDX-License-Identifier: MIT */
#include "board.h"
#include "prof.h"
#include "work.h"

#ifndef COST_PERIOD
#define COST_PERIOD 500
#endif

volatile uint32_t cost_without, cost_with, cost_samples;

WORK void work(void)
{
    spin(200000);
}

__attribute__((noinline)) void finished(void)
{
    __asm volatile("");
}

int main(void)
{
    board_init();
    uint32_t start = BOARD_CLOCK();
    work();
    cost_without = BOARD_CLOCK() - start;

    prof_start(COST_PERIOD, 0);
    uint32_t before = prof_n;
    start = BOARD_CLOCK();
    work();
    cost_with = BOARD_CLOCK() - start;
    cost_samples = prof_n - before;
    prof_stop();
    for (;;)
        finished();
}
