/* dwt: the core's own PC samples, switched on and off by the program.
 *
 * The DWT samples the PC, the ITM makes packets of that, and the TPIU sends them out of
 * the SWO pin, which a probe records: `prof swo FILE` makes a profile of it. No interrupt,
 * no RAM, no instruction while it samples. `prof start -source swo` does the same from GDB;
 * this is for a program that has no debugger, or wants to choose what is sampled:
 *
 *     dwt_start(1024, 15, SystemCoreClock, 2000000);  // every 1024 * (15 + 1) cycles
 *     ...
 *     dwt_stop();
 *
 * The pin itself is the board's: its alternate function, and what else a part wants for
 * trace (STM32: DBGMCU_CR.TRACE_IOEN), must be set before. Cores: Armv7-M and v8-M Mainline
 * (M3, M4, M7, M33, M55), as far as the part has these units; the smaller ones have no ITM.
 *
 * Every option below is a default; give another with -D. Nothing here needs a vendor's
 * headers, and it may be used without prof.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DWT_H
#define DWT_H

#include <stdint.h>

/* ---- Options ------------------------------------------------------------ */

#ifndef DWT_DWT_BASE
#define DWT_DWT_BASE 0xE0001000u
#endif
#ifndef DWT_ITM_BASE
#define DWT_ITM_BASE 0xE0000000u
#endif
#ifndef DWT_TPIU_BASE
#define DWT_TPIU_BASE 0xE0040000u /* a SWO unit elsewhere: STM32H7 0x5C003000 */
#endif
#ifndef DWT_DEMCR
#define DWT_DEMCR 0xE000EDFCu
#endif
#ifndef DWT_EXCEPTIONS
#define DWT_EXCEPTIONS 0 /* 1: a packet for each exception's entry, exit and return, too */
#endif
#ifndef DWT_TIMESTAMPS
#define DWT_TIMESTAMPS 1 /* counted in so many cycles: 1, 4, 16 or 64; 0: none */
#endif
#ifndef DWT_SYNC
#define DWT_SYNC 1 /* a synchronisation every 1: 16 M, 2: 64 M, 3: 256 M cycles; 0: none */
#endif
#ifndef DWT_PORTS
#define DWT_PORTS 0u /* stimulus ports to enable, a bit each; those that are on stay so */
#endif
#ifndef DWT_TRACE_ID
#define DWT_TRACE_ID 1 /* 1..0x6F, where none is set yet */
#endif
#ifndef DWT_BUSY_READS
#define DWT_BUSY_READS 1000 /* so long the ITM may take to send what it has, when it is stopped */
#endif

/* ---- What the program calls --------------------------------------------- */

enum dwt_result {
    DWT_OK = 0,
    DWT_NO_TRACE,   /* no trace hardware answers: TRCENA does not stay, or DWT_CTRL reads 0 */
    DWT_NO_SAMPLES, /* this DWT has no cycle counter or no packets, or did not take its value */
    DWT_NO_TPIU,    /* no trace port at DWT_TPIU_BASE, or it has no NRZ or no such divider */
    DWT_NO_ITM,     /* locked, or not there */
    DWT_ITM_BUSY,   /* it did not stop within DWT_BUSY_READS */
    DWT_WRONG,      /* the arguments: nothing was touched */
};

#ifdef __cplusplus
extern "C" {
#endif

/* A sample every tap * (postcnt + 1) cycles: `tap` 64 or 1024, `postcnt` 0..15. The pin sends
 * trace_hz / divider bits a second, the divider chosen to come nearest to `baud`; trace_hz is
 * mostly the core's clock. Every register is read back; where one did not take its value, all
 * are put back and the unit is named. From a thread, privileged; nobody else may write these
 * registers meanwhile. Masks no interrupt. Started again, it keeps what the first one found. */
enum dwt_result dwt_start(uint32_t tap, uint32_t postcnt, uint32_t trace_hz, uint32_t baud);

/* Puts back what dwt_start found, bit by bit: what was on before stays on. The ITM stays
 * unlocked. The cycle counter, too: who else needs it (trace_rec.h) begins before dwt_start.
 * As dwt_start; without one before it does nothing. */
void dwt_stop(void);

#ifdef __cplusplus
}
#endif

#endif
