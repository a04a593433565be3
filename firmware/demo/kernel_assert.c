/* Where configASSERT ends. SPDX-License-Identifier: MIT */
#include "FreeRTOS.h"

void demo_assert_failed(const char *file, int line)
{
    (void)file, (void)line;
    for (;;)
        ;
}
