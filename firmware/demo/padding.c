/* PADDING bytes of code that nobody calls: what is linked behind it lies so much further.
 * SPDX-License-Identifier: MIT */
#define STR_(x) #x
#define STR(x) STR_(x)

void padding(void);
__attribute__((naked)) void padding(void)
{
    __asm volatile(".space " STR(PADDING));
}
