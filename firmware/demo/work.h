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

/* A macro: the loop belongs to the function and the line that it stands in. */
#define spin(turns)                                        \
    do {                                                   \
        for (uint32_t i_ = 0, n_ = (turns); i_ < n_; i_++) \
            __asm volatile("nop");                         \
    } while (0)

#endif
