/* Functions that call themselves, one directly and two in turn, so that call stacks are deep and of many
 * depths; each level has the same work to do after the call. DEPTH: of the first. The work is done in
 * leaf(), of which each turn of main's loop has DEPTH + 1 parts under walk(), and 8 under even() and odd().
 * With a debugger: after `stop_at` turns it is in reached(); `levels` is then 16 times as many, with DEPTH 7.
 * SPDX-License-Identifier: MIT */
#include "board.h"
#include "work.h"

#ifndef DEPTH
#define DEPTH 7
#endif

volatile uint32_t laps, levels, stop_at;

WORK void leaf(uint32_t turns)
{
    spin(turns);
}

__attribute__((noinline, noclone)) static void walk(uint32_t depth)
{
    if (depth)
        walk(depth - 1);
    leaf(100);
    levels++; /* after the call: or else it were a jump */
}

__attribute__((noinline, noclone)) static void odd(uint32_t n);

__attribute__((noinline, noclone)) static void even(uint32_t n)
{
    leaf(50);
    if (n)
        odd(n - 1);
    levels++;
}

__attribute__((noinline, noclone)) static void odd(uint32_t n)
{
    leaf(50);
    if (n)
        even(n - 1);
    levels++;
}

__attribute__((noinline, noclone)) static void reached(void)
{
    __asm volatile("nop");
}

int main(void)
{
    board_init();
    for (;;) {
        walk(DEPTH);
        even(7);
        laps++;
        if (laps == stop_at)
            reached();
    }
}
