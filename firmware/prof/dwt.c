/* PC samples by the DWT: dwt.h says what it does and what may be set.
 * Registers and bits: Armv7-M ARM, C1.6.5 (DEMCR), C1.7 (ITM), C1.8 (DWT), C1.10 (TPIU).
 * SPDX-License-Identifier: MIT */
#include "dwt.h"

/* A test puts a model of the registers in their place. */
#ifdef DWT_WRITE
uint32_t DWT_READ(uint32_t address);
void DWT_WRITE(uint32_t address, uint32_t value);
#else
#define DWT_WRITE(address, value) (*(volatile uint32_t *)(uintptr_t)(address) = (value))
#define DWT_READ(address) (*(volatile uint32_t *)(uintptr_t)(address))
#endif

/* ---- The registers ------------------------------------------------------ */

enum {
    ITM_TER = 0xE00,
    ITM_TCR = 0xE80,
    ITM_LAR = 0xFB0,
    DWT_CTRL = 0x000,
    DWT_LAR = 0xFB0, /* M7; elsewhere it is not there, and ignores it */
    TPIU_ACPR = 0x010,
    TPIU_SPPR = 0x0F0,
    TPIU_FFCR = 0x304, /* reads 0 in a SWO unit, which has no formatter */
};
#define UNLOCK 0xC5ACCE55u /* for ITM and DWT: the TPIU's lock is not the program's */
#define NRZ 2u             /* TPIU_SPPR: as a UART sends */

/* A field from its bits, and the mask that the manual gives for it. */
#define FIELD(unit, reg, name, high, low, mask)                                              \
    enum { unit##_##reg##_##name = (int)((2u << (high)) - (1u << (low))), name##_AT = (low) }; \
    _Static_assert(unit##_##reg##_##name == (mask), #unit "_" #reg "." #name)
FIELD(CoreDebug, DEMCR, TRCENA, 24, 24, 0x01000000);
FIELD(ITM, TCR, BUSY, 23, 23, 0x00800000);
FIELD(ITM, TCR, TRACEBUSID, 22, 16, 0x007F0000);
FIELD(ITM, TCR, TSPRESCALE, 9, 8, 0x00000300);
FIELD(ITM, TCR, SWOENA, 4, 4, 0x00000010);
FIELD(ITM, TCR, DWTENA, 3, 3, 0x00000008); /* TXENA in Armv8-M */
FIELD(ITM, TCR, SYNCENA, 2, 2, 0x00000004);
FIELD(ITM, TCR, TSENA, 1, 1, 0x00000002);
FIELD(ITM, TCR, ITMENA, 0, 0, 0x00000001);
FIELD(DWT, CTRL, NOTRCPKT, 27, 27, 0x08000000);
FIELD(DWT, CTRL, NOCYCCNT, 25, 25, 0x02000000);
FIELD(DWT, CTRL, CYCEVTENA, 22, 22, 0x00400000);
FIELD(DWT, CTRL, EXCTRCENA, 16, 16, 0x00010000);
FIELD(DWT, CTRL, PCSAMPLENA, 12, 12, 0x00001000);
FIELD(DWT, CTRL, SYNCTAP, 11, 10, 0x00000C00);
FIELD(DWT, CTRL, CYCTAP, 9, 9, 0x00000200);
FIELD(DWT, CTRL, POSTINIT, 8, 5, 0x000001E0);
FIELD(DWT, CTRL, POSTPRESET, 4, 1, 0x0000001E);
FIELD(DWT, CTRL, CYCCNTENA, 0, 0, 0x00000001);
FIELD(TPIU, SPPR, TXMODE, 1, 0, 0x00000003);
FIELD(TPIU, FFCR, EnFCont, 1, 1, 0x00000002);
_Static_assert(DWT_TIMESTAMPS == 0 || DWT_TIMESTAMPS == 1 || DWT_TIMESTAMPS == 4 ||
                   DWT_TIMESTAMPS == 16 || DWT_TIMESTAMPS == 64,
               "DWT_TIMESTAMPS");
_Static_assert(DWT_SYNC >= 0 && DWT_SYNC <= 3, "DWT_SYNC");
_Static_assert(DWT_TRACE_ID >= 1 && DWT_TRACE_ID <= 0x6F, "DWT_TRACE_ID");

#define MOST_DIVIDER 0x10000u /* 13 bits in most cores, 16 in an M55 */
#define PRESCALE (DWT_TIMESTAMPS == 4 ? 1u : DWT_TIMESTAMPS == 16 ? 2u : DWT_TIMESTAMPS == 64 ? 3u : 0u)

/* What is changed in each register: nothing else is, and dwt_stop() puts back just these. */
#define OF_TCR                                                                               \
    (ITM_TCR_ITMENA | ITM_TCR_TSENA | ITM_TCR_SYNCENA | ITM_TCR_DWTENA | ITM_TCR_SWOENA |    \
     ITM_TCR_TSPRESCALE | ITM_TCR_TRACEBUSID)
#define ENABLES (DWT_CTRL_PCSAMPLENA | DWT_CTRL_CYCEVTENA)
#define PERIOD (DWT_CTRL_POSTINIT | DWT_CTRL_POSTPRESET | DWT_CTRL_CYCTAP)
#define OF_CTRL (ENABLES | PERIOD | DWT_CTRL_SYNCTAP | DWT_CTRL_EXCTRCENA | DWT_CTRL_CYCCNTENA)

static struct {
    uint32_t on; /* the rest is what dwt_start found */
    uint32_t demcr, tcr, ter, ctrl, sppr, acpr, ffcr;
} found;

static uint32_t read(uint32_t address)
{
    return DWT_READ(address);
}

static void set(uint32_t address, uint32_t mask, uint32_t value)
{
    DWT_WRITE(address, (read(address) & ~mask) | (value & mask));
}

/* Whether it took it. */
static int took(uint32_t address, uint32_t mask, uint32_t value)
{
    set(address, mask, value);
    return (read(address) & mask) == (value & mask);
}

/* ---- The units ---------------------------------------------------------- */

/* POSTCNT is loaded from POSTINIT when sampling is enabled, and period and tap may only be
 * changed while neither samples nor cycle events are. */
static int set_ctrl(uint32_t value)
{
    const uint32_t ctrl = DWT_DWT_BASE + DWT_CTRL;

    set(ctrl, ENABLES, 0);
    set(ctrl, OF_CTRL & ~ENABLES, value);
    return took(ctrl, OF_CTRL, value);
}

/* Whether it has sent what it had, after which it may be set. */
static int stop_itm(void)
{
    const uint32_t tcr = DWT_ITM_BASE + ITM_TCR;
    uint32_t reads = DWT_BUSY_READS;

    set(tcr, ITM_TCR_ITMENA, 0);
    while (read(tcr) & ITM_TCR_BUSY)
        if (!reads--)
            return 0;
    return 1;
}

static int start_tpiu(uint32_t divider)
{
    const uint32_t ffcr = DWT_TPIU_BASE + TPIU_FFCR;

    return took(DWT_TPIU_BASE + TPIU_SPPR, TPIU_SPPR_TXMODE, NRZ) &&
           took(DWT_TPIU_BASE + TPIU_ACPR, 0xFFFFFFFFu, divider - 1) &&
           took(ffcr, TPIU_FFCR_EnFCont, 0);
}

static enum dwt_result start_itm(void)
{
    uint32_t id = found.tcr & ITM_TCR_TRACEBUSID;
    uint32_t value = (id ? id : DWT_TRACE_ID << TRACEBUSID_AT) | ITM_TCR_ITMENA | ITM_TCR_DWTENA;

    if (DWT_SYNC)
        value |= ITM_TCR_SYNCENA;
    if (DWT_TIMESTAMPS)
        value |= ITM_TCR_TSENA | PRESCALE << TSPRESCALE_AT;
    if (DWT_PORTS && !took(DWT_ITM_BASE + ITM_TER, DWT_PORTS, DWT_PORTS))
        return DWT_NO_ITM;
    return took(DWT_ITM_BASE + ITM_TCR, OF_TCR, value) ? DWT_OK : DWT_NO_ITM;
}

static int start_dwt(uint32_t tap, uint32_t postcnt)
{
    uint32_t value = DWT_CTRL_PCSAMPLENA | DWT_CTRL_CYCCNTENA | (uint32_t)DWT_SYNC << SYNCTAP_AT |
                     postcnt << POSTINIT_AT | postcnt << POSTPRESET_AT;

    if (tap == 1024)
        value |= DWT_CTRL_CYCTAP;
    if (DWT_EXCEPTIONS)
        value |= DWT_CTRL_EXCTRCENA;
    return set_ctrl(value);
}

static void keep(uint32_t demcr)
{
    if (found.on)
        return;
    found.on = 1;
    found.demcr = demcr;
    found.tcr = read(DWT_ITM_BASE + ITM_TCR);
    found.ter = read(DWT_ITM_BASE + ITM_TER);
    found.ctrl = read(DWT_DWT_BASE + DWT_CTRL);
    found.sppr = read(DWT_TPIU_BASE + TPIU_SPPR);
    found.acpr = read(DWT_TPIU_BASE + TPIU_ACPR);
    found.ffcr = read(DWT_TPIU_BASE + TPIU_FFCR);
}

/* ---- Start and stop ----------------------------------------------------- */

enum dwt_result dwt_start(uint32_t tap, uint32_t postcnt, uint32_t trace_hz, uint32_t baud)
{
    uint32_t divider = baud ? trace_hz / baud + (trace_hz % baud >= baud - baud / 2) : 0;
    uint32_t demcr = read(DWT_DEMCR), ctrl;
    enum dwt_result result;

    if ((tap != 64 && tap != 1024) || postcnt > 15 || divider < 1 || divider > MOST_DIVIDER)
        return DWT_WRONG;
    if (!took(DWT_DEMCR, CoreDebug_DEMCR_TRCENA, CoreDebug_DEMCR_TRCENA))
        return DWT_NO_TRACE;
    ctrl = read(DWT_DWT_BASE + DWT_CTRL);
    if (!ctrl || ctrl & (DWT_CTRL_NOTRCPKT | DWT_CTRL_NOCYCCNT)) {
        set(DWT_DEMCR, CoreDebug_DEMCR_TRCENA, found.on ? found.demcr : demcr);
        return ctrl ? DWT_NO_SAMPLES : DWT_NO_TRACE;
    }
    keep(demcr);
    DWT_WRITE(DWT_DWT_BASE + DWT_LAR, UNLOCK);
    DWT_WRITE(DWT_ITM_BASE + ITM_LAR, UNLOCK);
    if (!stop_itm()) /* the port changes only while nothing is sent */
        result = DWT_ITM_BUSY;
    else
        result = start_tpiu(divider) ? start_itm() : DWT_NO_TPIU;
    if (result == DWT_OK && !start_dwt(tap, postcnt))
        result = DWT_NO_SAMPLES;
    if (result != DWT_OK)
        dwt_stop();
    return result;
}

void dwt_stop(void)
{
    if (!found.on)
        return;
    set_ctrl(found.ctrl);
    stop_itm();
    set(DWT_TPIU_BASE + TPIU_FFCR, TPIU_FFCR_EnFCont, found.ffcr);
    set(DWT_TPIU_BASE + TPIU_ACPR, 0xFFFFFFFFu, found.acpr);
    set(DWT_TPIU_BASE + TPIU_SPPR, TPIU_SPPR_TXMODE, found.sppr);
    if (DWT_PORTS)
        set(DWT_ITM_BASE + ITM_TER, DWT_PORTS, found.ter);
    set(DWT_ITM_BASE + ITM_TCR, OF_TCR, found.tcr);
    set(DWT_DEMCR, CoreDebug_DEMCR_TRCENA, found.demcr); /* last: the units do not answer without it */
    found.on = 0;
}
