/* Where the recorder's words for the ITM go in QEMU, which has none: the debugger makes of them
 * what would have come out of the SWO pin. SPDX-License-Identifier: MIT */
#include <stdint.h>

#define ITM_WORDS 8192

struct {
    uint32_t port, word;
} itm_words[ITM_WORDS];
volatile uint32_t itm_words_n; /* also those that found no place */
volatile uint32_t itm_busy;    /* so often the FIFO is full when it is looked at after a word */
volatile uint32_t itm_looks;   /* how often it was looked at in all */
static uint32_t looks;

void itm_word(uint32_t port, uint32_t word)
{
    if (itm_words_n < ITM_WORDS) {
        itm_words[itm_words_n].port = port;
        itm_words[itm_words_n].word = word;
    }
    itm_words_n++;
    looks = 0;
}

int itm_ready(void)
{
    itm_looks++;
    return looks++ >= itm_busy;
}
