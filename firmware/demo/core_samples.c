/* Starts and stops the core's own samples. On a board, and in QEMU, which has none of the
 * units, that is all; with -DMODEL, for the tests, the registers are a model of an M4's that
 * keeps every write, in order. SPDX-License-Identifier: MIT */
#include "board.h"
#include "dwt.h"

volatile uint32_t tap = 1024, postcnt = 15, baud = 2000000; /* the debugger may choose others */
volatile enum dwt_result result;

#ifdef MODEL
#define TRCENA (1u << 24)
#define ENABLES (1u << 12 | 1u << 22) /* PCSAMPLENA, CYCEVTENA */
#define PERIOD 0x3FEu                 /* CYCTAP, POSTINIT, POSTPRESET */
#define READ_ONLY 0xFF000000u         /* DWT_CTRL.NUMCOMP and what there is not */

struct model {
    uint32_t demcr, ctrl, ter, tcr, sppr, acpr, ffcr;
    uint32_t is_locked, busy_reads; /* of the ITM */
    uint32_t deaf;                  /* bits that DEMCR, DWT_CTRL and ITM_TCR do not take */
    uint32_t has_port;
} model = {.ctrl = 0x40000000u, .ffcr = 0x102, .sppr = 1, .is_locked = 1, .busy_reads = 3, .has_port = 1};
struct {
    uint32_t address, value;
} writes[64];
uint32_t writes_n, busy;

static uint32_t *word_of(uint32_t address)
{
    switch (address) {
    case 0xE000EDFCu: return &model.demcr;
    case 0xE0001000u: return &model.ctrl;
    case 0xE0000E00u: return &model.ter;
    case 0xE0000E80u: return &model.tcr;
    case 0xE00400F0u: return model.has_port ? &model.sppr : 0;
    case 0xE0040010u: return model.has_port ? &model.acpr : 0;
    case 0xE0040304u: return model.has_port ? &model.ffcr : 0;
    default: return 0;
    }
}

uint32_t model_read(uint32_t address)
{
    const uint32_t *word = word_of(address);

    if (!word || (word != &model.demcr && !(model.demcr & TRCENA)))
        return 0;
    if (word == &model.tcr && busy)
        return busy--, *word | 1u << 23;
    return *word;
}

void model_write(uint32_t address, uint32_t value)
{
    uint32_t *word = word_of(address), fixed = 0;

    if (writes_n < sizeof writes / sizeof *writes) {
        writes[writes_n].address = address;
        writes[writes_n].value = value;
    }
    writes_n++;
    if (address == 0xE0000FB0u && model.demcr & TRCENA)
        model.is_locked = value != 0xC5ACCE55u;
    if (!word || (word != &model.demcr && !(model.demcr & TRCENA)))
        return;
    if (model.is_locked && address >> 12 == 0xE0000)
        return;
    if (word == &model.ctrl) /* POSTCNT's period stays while it is in use */
        fixed = READ_ONLY | (*word & ENABLES ? PERIOD : 0);
    if (word == &model.demcr || word == &model.ctrl || word == &model.tcr)
        fixed |= model.deaf;
    if (word == &model.acpr)
        fixed = ~0x1FFFu;
    if (word == &model.tcr)
        fixed |= 1u << 23; /* BUSY */
    if (word == &model.tcr && *word & ~value & 1)
        busy = model.busy_reads;
    *word = (*word & fixed) | (value & ~fixed);
}
#endif

__attribute__((noinline)) void started(void)
{
    __asm volatile("");
}

__attribute__((noinline)) void finished(void)
{
    __asm volatile("");
}

int main(void)
{
    board_init();
    result = dwt_start(tap, postcnt, BOARD_CORE_HZ, baud);
    started();
    dwt_stop();
    for (;;)
        finished();
}
