/* A main loop that works at a fixed period and polls a timer for the rest: what a
 * sampler with a period like its own cannot see. SPDX-License-Identifier: MIT */
#include "board.h"
#include "work.h"

#ifndef LOOP_TICKS
#define LOOP_TICKS 9999 /* of BOARD_CLOCK: instructions on the netduinos */
#endif

WORK void control(void)
{
    spin(1000);
}

WORK void filter(void)
{
    spin(333);
}

WORK void wait_tick(uint32_t until)
{
    while ((int32_t)(BOARD_CLOCK() - until) < 0)
        ;
}

int main(void)
{
    board_init();
    for (uint32_t next = BOARD_CLOCK();;) {
        next += LOOP_TICKS;
        control();
        filter();
        wait_tick(next);
    }
}
