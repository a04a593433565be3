/* The functions that the demo programs spend their time in: empty loops whose cost
 * is a fixed number of instructions a turn. SPDX-License-Identifier: MIT */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

#ifdef INLINED /* the -O2 variant: to see what inlining does to a profile */
#define WORK static inline
#else
#define WORK __attribute__((noinline, noclone)) static
#endif

static inline void spin(uint32_t turns)
{
    for (uint32_t i = 0; i < turns; i++)
        __asm volatile("nop");
}

#endif
