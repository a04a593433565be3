/* The recorder: trace_rec.h says what it does and what may be set.
 * SPDX-License-Identifier: MIT */
#include "FreeRTOS.h"
#include "task.h"

#include <string.h>

#ifndef TRACE_REC_H
#error "trace_rec: #include \"trace_rec.h\" as the last line of FreeRTOSConfig.h"
#endif
#ifdef configNUMBER_OF_CORES
#if configNUMBER_OF_CORES > 1
#error "trace_rec: one core only"
#endif
#endif

extern void *volatile pxCurrentTCB;

#define RECORDED (TRACE_EVENTS & TRACE_ALL)

__attribute__((used)) const struct trace_info trace_info = {
    .magic = TRACE_INFO_MAGIC,
    .version = 1,
    .flags = (TRACE_ANY_PRIORITY ? TRACE_HAS_ANY_PRIORITY : 0) | (TRACE_ASM ? TRACE_HAS_ASM : 0) |
             TRACE_HAS_SPARE,
    .events = {RECORDED & 0xFFFFFFFFu, RECORDED >> 32},
    .tasks = TRACE_TASKS,
    .name_len = TRACE_NAME_LEN,
    .kernel = {tskKERNEL_VERSION_MAJOR, tskKERNEL_VERSION_MINOR, tskKERNEL_VERSION_BUILD},
    .max_priorities = configMAX_PRIORITIES,
    .clock_hz = TRACE_CLOCK_HZ,
    .tick_hz = configTICK_RATE_HZ,
};
/* The control block that runs before there is one: its number is a byte that is 0. */
static void *const nobody = (char *)&trace_info.events[1] + 3 - (TRACE_TASK_WORD + 1);
_Static_assert(TRACE_ALL >> 56 == 0, "nobody's number");
_Static_assert(sizeof(struct trace_info) == 28, "trace_info is read by its offsets");
_Static_assert(sizeof(struct trace_record) == 8 && offsetof(struct trace_block, name) == 16,
               "the published layout");
_Static_assert(sizeof(UBaseType_t) == 4, "a control block's uxTaskNumber holds a whole record");

/* References without a byte, so that what only the debugger uses survives --gc-sections. */
#define PUBLISHED                                                                            \
    "0: .reloc 0b, R_ARM_NONE, trace_info\n .reloc 0b, R_ARM_NONE, trace_start\n"            \
    ".reloc 0b, R_ARM_NONE, trace_stop\n .reloc 0b, R_ARM_NONE, trace_done\n"

#ifdef TRACE_CLOCK
#define NOW() TRACE_CLOCK()
#else
#define NOW() (*trace_state.clock)
#endif

static inline uint32_t mask(void)
{
    uint32_t primask;
    __asm volatile("mrs %0, primask\n cpsid i" : "=r"(primask)::"memory");
    return primask;
}
static inline void unmask(uint32_t primask)
{
    __asm volatile("msr primask, %0" ::"r"(primask) : "memory");
}

#ifdef TRACE_ITM_PORT
#define TO_RING TRACE_ITM_RING
#define MORE_READS 0x10000 /* for what may take its time: trace_start() */
_Static_assert(TRACE_ALL >> 63 == 0, "a code has 6 bits; a mask of them has 64");

static inline __attribute__((always_inline)) void to_itm(uint32_t port, uint32_t word, uint32_t reads)
{
    while (reads-- && !TRACE_ITM_READY(port))
        ;
    TRACE_ITM_WRITE(port, word); /* also where there is no room: the ITM marks that it is lost */
}

/* That a trace begins, and the names that tasks have by then. */
static void begin_itm(void)
{
    to_itm(TRACE_ITM_PORT + 1, 1u << 16, MORE_READS);
    for (uint32_t task = 1; task < TRACE_TASKS; task++) {
        const char *name = trace_state.block.name[task];

        for (uint32_t i = 0; i < TRACE_NAME_LEN && name[i]; i += 2) {
            uint32_t two = (uint8_t)name[i] | (uint32_t)(uint8_t)name[i + 1] << 8;
            to_itm(TRACE_ITM_PORT + 1, task << 8 | two << 16, MORE_READS);
            if (!name[i + 1])
                break;
        }
    }
}
#else
#define TO_RING 1
#endif

/* Before the first hook that writes: the kernel's first is a creation. A RAM that is not
 * in .data costs no flash, but has no contents of its own. Gives &trace_state. */
__attribute__((noinline)) static volatile struct trace_state *prepare(void)
{
    volatile struct trace_state *state = &trace_state;
    uint32_t magic = TRACE_MAGIC;

    __asm("" : "+r"(state), "+r"(magic)); /* literals: GCC would compute the one from others, in more bytes */
    if (!state->block.n) {
        state->current = (void *volatile *)&nobody; /* until the first task is created */
#ifndef TRACE_CLOCK
        state->clock = (const volatile uint32_t *)TRACE_CLOCK_ADDRESS;
#endif
        state->block.magic = magic;
        state->block.n = TRACE_SIZE;
    }
    return state;
}

__attribute__((used)) void trace_start(void)
{
    volatile struct trace_state *state = prepare();

#if !defined(TRACE_CLOCK) && TRACE_CLOCK_ADDRESS == 0xE0001004u
    *(volatile uint32_t *)0xE000EDFCu |= 1u << 24; /* DEMCR.TRCENA */
    *(volatile uint32_t *)0xE0001000u |= 1;        /* DWT_CTRL.CYCCNTENA */
#endif
#ifdef TRACE_ITM_PORT
    state->block.on = 0; /* not a record between those words */
    begin_itm();
#endif
    state->block.head = 0;
    state->block.on = 1;
}

__attribute__((used)) void trace_stop(void)
{
    /* By its published name: for `dump binary value` debug information must know it. */
    ((volatile struct trace_block *)&trace_buf)->on = 0;
}

/* trace_buf is the block in trace_state, which is defined here beside it: -flto would place
 * a variable of C away from the assembly that gives it its second name. */
__attribute__((noinline, used)) void trace_done(void)
{
    __asm volatile(".pushsection .bss.trace_state, \"aw\", %%nobits\n"
                   ".balign 8\n"
                   ".global trace_state\n .type trace_state, %%object\n .size trace_state, %c0\n"
                   "trace_state: .space %c1\n"
                   ".global trace_buf\n .type trace_buf, %%object\n .size trace_buf, %c0 - %c1\n"
                   "trace_buf: .space %c0 - %c1\n"
                   ".popsection" ::"i"(sizeof(struct trace_state)),
                   "i"(offsetof(struct trace_state, block)));
}

#if TRACE_ASM
/* As the C below. r0 to r5 and r12 are the callers' to save (TRACE_CALL says so to the
 * compiler), which AAPCS would not allow. The time is read and the place is taken with
 * interrupts masked: places are in the order of time. */
#define HEAD                                                                                 \
    "mrs ip, primask\n"                                                                      \
    "cpsid i\n"                                                                              \
    "ldr r3, =%c0\n"
#define ENTRY(name) ".global " name "\n .type " name ", %%function\n .thumb_func\n" name ":\n"
#define SIZE(name) ".size " name ", . - " name "\n"
__attribute__((naked, used, section(".text.trace_asm_current"))) void trace_asm_current(void)
{
    __asm volatile("orr r0, r0, r1, lsl #16\n" /* code, argument */
                   HEAD
                   "ldrd r1, r2, [r3, #-12]\n" /* current, clock */
                   "ldr r1, [r1]\n"
                   "ldr r2, [r2]\n"
                   "ldrb r1, [r1, %[number]]\n"
                   "orr r0, r0, r1, lsl #8\n"
                   "b 2f\n"
                   SIZE("trace_asm_current")
                   ENTRY("trace_asm_ready") /* r0: the control block */
                   "ldr r1, [r0, %[priority]]\n"
                   "strh r1, [r0, %[word] + 2]\n"
                   "ldrh r0, [r0, %[word]]\n"
                   "adds r0, r0, #1\n" /* IN: READY */
                   SIZE("trace_asm_ready")
                   ENTRY("trace_asm_word") /* code and task, argument */
                   "orr r0, r0, r1, lsl #16\n"
                   HEAD
                   "ldr r2, [r3, #-8]\n" /* clock */
                   "ldr r2, [r2]\n"
                   "2: ldm r3, {r1, r4, r5}\n" /* head, n, on */
                   "ubfx r4, r1, #0, %[bits]\n"
                   "add r4, r3, r4, lsl #3\n"
                   "strd r2, r0, [r4, %[ring]]\n"
                   "adds r1, r1, r5\n" /* off: the record stays in the spare place */
                   "str r1, [r3]\n"
                   "msr primask, ip\n"
                   "bx lr\n"
                   ".ltorg\n"
                   SIZE("trace_asm_word")
                   PUBLISHED ::"i"(&trace_state.block.head), TRACE_OPERANDS_, [word] "i"(TRACE_TASK_WORD),
                   [priority] "i"(TRACE_TASK_PRIORITY));
}
_Static_assert(offsetof(struct trace_state, block.head) - offsetof(struct trace_state, current) == 12 &&
                   offsetof(struct trace_state, block.head) - offsetof(struct trace_state, clock) == 8,
               "the assembly reaches them from the head");
#endif

uint32_t trace_current(void)
{
    return ((const uint8_t *)*trace_state.current)[TRACE_TASK_WORD + 1];
}

__attribute__((used)) void trace_record(uint32_t code_and_task, uint32_t arg)
{
#if TRACE_ASM
    trace_word(code_and_task, arg);
#else /* the specification */
    volatile struct trace_block *block = &trace_state.block;
    uint32_t primask = mask(), head = block->head, now = NOW(), word = code_and_task | arg << 16;

    if (TO_RING) {
        volatile uint32_t *place = (volatile uint32_t *)&block->ring[head % TRACE_SIZE];
        place[0] = now;
        place[1] = word;
    }
#ifdef TRACE_ITM_PORT
    if (block->on) {
        to_itm(TRACE_ITM_PORT, now, TRACE_ITM_WAIT);
        to_itm(TRACE_ITM_PORT + 1, word | (head & 3) << 6, TRACE_ITM_WAIT);
    }
#endif
    block->head = head + block->on;
    unmask(primask);
    __asm volatile(PUBLISHED);
#endif
}

#define NAME_KEPT (TRACE_NAME_LEN < configMAX_TASK_NAME_LEN ? TRACE_NAME_LEN : configMAX_TASK_NAME_LEN)
/* Task numbers that live tasks have, a bit each: only where deletions are seen. */
#define KEEPS_LIVES TRACE_IS_ON(TRACE_DELETE)
static uint32_t in_use[8];

/* The next one; numbers go round, past those in use, so that one is reused as late as can
 * be. The 256th task that lives at once is number 0. */
static uint32_t free_number(volatile struct trace_state *state)
{
    uint32_t number = state->last_task, tries = 256;

    do
        number = (number + 1) & 0xFF;
    while (KEEPS_LIVES && --tries && (number == 0 || in_use[number / 32] >> (number % 32) & 1));
    if (KEEPS_LIVES && !tries)
        return 0;
    if (KEEPS_LIVES)
        in_use[number / 32] |= 1u << (number % 32);
    return state->last_task = number;
}

/* Two characters a record. */
static void record_name(uint32_t number, const char *name)
{
    if (!TRACE_IS_ON(TRACE_NAME))
        return;
    for (uint32_t i = 0; i < configMAX_TASK_NAME_LEN && name[i]; i += 2) {
        uint32_t second = i + 1 < configMAX_TASK_NAME_LEN ? (uint8_t)name[i + 1] : 0;
        trace_record(TRACE_NAME | number << 8, (uint8_t)name[i] | second << 8);
    }
}

static const char *name_of(const void *word)
{
    return (const char *)word - TRACE_TASK_WORD + TRACE_TASK_NAME;
}

/* In the kernel's critical section. The word's priority is written when the kernel readies
 * the task, which it does next. */
void trace_task_create(void *word)
{
    volatile struct trace_state *state = prepare();
    uint32_t number = free_number(state);

    *(uint32_t *)word = TRACE_IN + (number << 8);
    state->current = &pxCurrentTCB; /* there is one now */
    if (number < TRACE_TASKS) {
        char *slot = (char *)state->block.name[number];
        const char *name = name_of(word);
        __asm("" : "+r"(slot), "+r"(name)); /* two registers: fewer bytes than four long offsets */
        memcpy(slot, name, NAME_KEPT);      /* past its NUL: no harm */
    }
    if (TRACE_IS_ON(TRACE_CREATE)) {
        const uint32_t *priority =
            (const uint32_t *)((const char *)word - TRACE_TASK_WORD + TRACE_TASK_PRIORITY);
        trace_record(TRACE_CREATE | number << 8, *priority);
        record_name(number, name_of(word));
    }
}

/* In the kernel's critical section. V9 calls it when the memory is freed already, but not
 * yet anybody else's. */
void trace_task_delete(const void *word)
{
    uint32_t number = *(const uint32_t *)word >> 8 & 0xFF;

    if (KEEPS_LIVES) {
        in_use[number / 32] &= ~(1u << (number % 32));
        trace_record(TRACE_DELETE | number << 8, trace_current());
        record_name(number, name_of(word));
    }
}

/* One row of numbers for all kinds of objects. */
uint32_t trace_object_create(uint32_t kind)
{
    volatile struct trace_state *state = prepare();
    uint32_t primask = mask(), number = ++state->last_object;

    unmask(primask);
    if (TRACE_IS_ON(TRACE_OBJECT))
        trace_record(TRACE_OBJECT | kind << 8, number);
    return number;
}
