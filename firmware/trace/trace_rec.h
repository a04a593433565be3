/* trace_rec: a flight recorder of what FreeRTOS schedules, for GDB's `rtos-trace`.
 *
 * FreeRTOS V9.0.0 to V11, one core, no change to the kernel:
 *   1. #include "trace_rec.h" as the last line of FreeRTOSConfig.h;
 *   2. add trace_rec.c to the build, and its folder to the include path of all of it;
 *   3. call trace_start() before vTaskStartScheduler(), or later, or from GDB
 *      (`rtos-trace start`);
 *   4. call trace_stop() where the trace is to end, then trace_done().
 *
 * A record is 8 bytes in a ring in RAM; the newest overwrites the oldest, and all are
 * counted. Every option below is a default: give another with -D, for the kernel and
 * trace_rec.c alike. configUSE_TRACE_FACILITY must be 1; the control blocks' field
 * uxTaskNumber (vTaskSetTaskNumber) is the recorder's.
 *
 * Interrupts: records are written with interrupts masked (PRIMASK), so that none can be
 * torn, doubled or lost, whichever interrupt records at whichever priority. Unprivileged
 * code cannot mask: under an MPU port only the kernel and privileged tasks may record.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRACE_REC_H
#define TRACE_REC_H
#if !defined(__ASSEMBLER__) && !defined(__IASMARM__)

#include <stddef.h>
#include <stdint.h>

/* ---- Options ------------------------------------------------------------ */

#ifndef TRACE_SIZE
#if !defined(TRACE_ITM_PORT) || TRACE_ITM_RING
#define TRACE_SIZE 1024 /* records kept, less one; a power of two */
#else
#define TRACE_SIZE 2 /* there is no ring: see TRACE_ITM_PORT */
#endif
#endif
#ifndef TRACE_TASKS
#define TRACE_TASKS 12 /* names kept in RAM for a plain memory dump; GDB itself reads pcTaskName */
#endif
#ifndef TRACE_NAME_LEN
#define TRACE_NAME_LEN 8 /* a multiple of 4 */
#endif
/* The clock: the address of a free-running 32-bit up-counter. In its place TRACE_CLOCK()
 * may be any expression that gives 32 bits; a record then costs more (see TRACE_ASM). */
#ifndef TRACE_CLOCK_ADDRESS
#define TRACE_CLOCK_ADDRESS 0xE0001004u /* DWT->CYCCNT, which trace_start() enables */
#endif
#ifndef TRACE_CLOCK_HZ
#define TRACE_CLOCK_HZ 0 /* its counts a second; 0: told by the kernel's ticks */
#endif
/* 0 where no interrupt above configMAX_SYSCALL_INTERRUPT_PRIORITY ever records (calls
 * TRACE_MARK, TRACE_ISR_ENTER or TRACE_ISR_EXIT): a switch then costs two instructions
 * less, because the kernel itself masks the others. */
#ifndef TRACE_ANY_PRIORITY
#define TRACE_ANY_PRIORITY 1
#endif

/* TRACE_ITM_PORT=n, 0..30: each record goes to the ITM's stimulus ports n and n + 1 and out of
 * the SWO pin, in place of the ring: as long as the probe records, and RAM for no record
 * (`rtos-trace diag -swo FILE -itm-port n`). ITM, ports and pin must be on: by the debugger, or
 * by firmware/prof/dwt.h with -DDWT_PORTS=(3u<<n). A record is two packets of four bytes, 10
 * bytes on the pin: 50 us at 2 Mbaud. The recorder is then the C below (TRACE_ASM is 0).
 *
 *   port n      the time
 *   port n + 1  the event: code, bits 5:0; the record's number (head) modulo 4, 7:6; task,
 *               15:8; argument, 31:16
 *
 * A time belongs to the event that comes next, unless an overflow lies between; numbers that
 * do not follow each other tell of up to three lost records where no overflow does. An event of
 * code 0 has no time: of task 0, the trace begins (trace_start) in this format, argument: 1;
 * else two characters of the task's name, after that beginning.
 *
 * A word that finds the ITM's FIFO full is lost, and the ITM says so by an overflow. Only
 * trace_start() waits for room, for those words: in a thread, interrupts on. */
#ifdef TRACE_ITM_PORT
#ifndef TRACE_ITM_WAIT
#define TRACE_ITM_WAIT 0 /* look so often, interrupts masked, whether a full FIFO has room again */
#endif
#ifndef TRACE_ITM_RING
#define TRACE_ITM_RING 0 /* 1: into the ring, too */
#endif
#ifndef TRACE_ITM_BASE
#define TRACE_ITM_BASE 0xE0000000u
#endif
/* Either may be anything else that takes a word, or says that it would. */
#ifndef TRACE_ITM_WRITE
#define TRACE_ITM_WRITE(port, word) (TRACE_ITM_WORD_(4 * (port)) = (word))
#define TRACE_ITM_READY(port) /* FIFOREADY; or ITM_TCR.ITMENA is 0: nothing to wait for */ \
    (TRACE_ITM_WORD_(4 * (port)) & 1 || !(TRACE_ITM_WORD_(0xE80) & 1))
#define TRACE_ITM_WORD_(offset) (*(volatile uint32_t *)(TRACE_ITM_BASE + (offset)))
#endif
#ifndef TRACE_ITM_READY
#define TRACE_ITM_READY(port) 1
#endif
#endif

/* Event codes. 1 to 10 are for ever what they are; `arg` is the record's 16 bits, `task`
 * the one that runs (for READY, INHERIT and DISINHERIT the one that it happens to).
 * An object's number is its uxQueueNumber (uxTimerNumber…), which the recorder counts up. */
enum trace_code {
    TRACE_IN = 1,          /* task runs from here on; arg: its priority */
    TRACE_READY = 2,       /* arg: priority */
    TRACE_TICK = 3,        /* arg: tick number, low 16 bits */
    TRACE_GIVE = 4,        /* sent to, or given; arg: object */
    TRACE_TAKE = 5,        /* received from, or taken; arg: object */
    TRACE_WAIT = 6,        /* blocks until there is something to take; arg: object */
    TRACE_INHERIT = 7,     /* arg: the priority inherited */
    TRACE_DISINHERIT = 8,  /* arg: the priority it has again */
    TRACE_DELAY = 9,       /* blocks in vTaskDelayUntil; arg: the tick to wake at */
    TRACE_USER_MARK = 10,  /* TRACE_MARK(arg) */
    TRACE_GIVE_ISR = 11,   /* by an interrupt, while task is interrupted; arg: object */
    TRACE_TAKE_ISR = 12,
    TRACE_SEND_WAIT = 13,  /* blocks until there is room; arg: object */
    TRACE_GIVE_FAIL = 14,  /* timed out, or was full; arg: object */
    TRACE_TAKE_FAIL = 15,  /* timed out, or was empty; arg: object */
    TRACE_PEEK = 16,       /* ends a WAIT, takes nothing; arg: object */
    TRACE_SLEEP = 17,      /* blocks in vTaskDelay; arg: the tick to wake at */
    TRACE_NOTIFY = 18,     /* arg: the task notified */
    TRACE_NOTIFY_ISR = 19, /* arg: the task notified */
    TRACE_NOTIFY_WAIT = 20, /* arg: index of the notification */
    TRACE_NOTIFY_TAKE = 21, /* arg: index */
    TRACE_SUSPEND = 22,    /* arg: the task suspended */
    TRACE_RESUME = 23,     /* arg: the task resumed */
    TRACE_RESUME_ISR = 24, /* arg: the task resumed */
    TRACE_PRIORITY = 25,   /* vTaskPrioritySet; arg: the task, and << 8 its new base priority */
    TRACE_CREATE = 26,     /* task: the new one; arg: its priority; NAMEs follow */
    TRACE_NAME = 27,       /* task: whose; arg: two characters; up to the first NUL */
    TRACE_DELETE = 28,     /* task: the one deleted; arg: by whom; NAMEs follow */
    TRACE_OBJECT = 29,     /* created; task: its kind (enum trace_kind); arg: object */
    TRACE_OBJECT_DELETE = 30, /* arg: object */
    TRACE_TIMER_COMMAND = 31, /* arg: object */
    TRACE_TIMER_EXPIRE = 32,  /* arg: object */
    TRACE_GROUP_WAIT = 33, /* blocks on an event group; arg: object */
    TRACE_GROUP_TAKE = 34, /* has the bits; arg: object */
    TRACE_GROUP_FAIL = 35, /* timed out (V9: in xEventGroupSync only, else a TAKE); arg: object */
    TRACE_GROUP_SET = 36,
    TRACE_GROUP_SET_ISR = 37,
    TRACE_GROUP_CLEAR = 38,
    TRACE_STREAM_WAIT = 39, /* blocks on receiving from a stream or message buffer */
    TRACE_STREAM_TAKE = 40,
    TRACE_STREAM_FAIL = 41, /* received nothing */
    TRACE_STREAM_SEND = 42,
    TRACE_STREAM_SEND_WAIT = 43,
    TRACE_STREAM_SEND_FAIL = 44,
    TRACE_STREAM_SEND_ISR = 45,
    TRACE_STREAM_TAKE_ISR = 46,
    TRACE_ISR = 47,        /* an interrupt begins; arg: exception number, 16 + IRQ */
    TRACE_ISR_END = 48,    /* arg: exception number */
    TRACE_LOW_POWER = 49,  /* the idle task stops the tick */
    TRACE_LOW_POWER_END = 50,
    TRACE_GIVE_ISR_FAIL = 51, /* it was full: what the interrupt sent is lost; arg: object */
    TRACE_TAKE_ISR_FAIL = 52,
};
enum trace_kind { /* 0 to 5 are the kernel's queue types */
    TRACE_QUEUE = 0,
    TRACE_MUTEX = 1,
    TRACE_COUNTING = 2,
    TRACE_BINARY = 3,
    TRACE_RECURSIVE = 4,
    TRACE_SET = 5,
    TRACE_TIMER = 16,
    TRACE_GROUP = 17,
    TRACE_STREAM = 18,
    TRACE_MESSAGE = 19,
};

/* TRACE_EVENTS: the mask of the codes that are compiled in. */
#define TRACE_BIT(code) (1ull << (code))
#define TRACE_BASIC 0x7FEull      /* 1 to 10 */
#define TRACE_ALL (~0ull >> (63 - 52))
#ifndef TRACE_EVENTS
#define TRACE_EVENTS TRACE_ALL /* e.g. (TRACE_ALL & ~TRACE_BIT(TRACE_TICK)) */
#endif

/* ---- What the program calls --------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a new trace: what was there is forgotten. From a thread, or before the scheduler. */
void trace_start(void);
/* Ends it. From anywhere: a fault handler, a watchdog's interrupt. */
void trace_stop(void);
/* Does nothing: the place of `rtos-trace arm`'s breakpoint. */
void trace_done(void);

/* TRACE_MARK(number): a record of your own, 16 bits. From anywhere once a task or a
 * queue has been created or trace_start() has run.
 * TRACE_ISR_ENTER(), TRACE_ISR_EXIT(): the first and last thing in an interrupt handler
 * whose time is to be known, under the same condition: an interrupt that is enabled before
 * the first creation must not record. With V11, traceISR_ENTER and traceISR_EXIT are these, and
 * portYIELD_FROM_ISR does the latter: a handler that ends with it needs no TRACE_ISR_EXIT(). */
#define TRACE_MARK(number) trace_inline(TRACE_USER_MARK, (number))
#define TRACE_ISR_ENTER() trace_event(TRACE_ISR, trace_exception())
#define TRACE_ISR_EXIT() trace_event(TRACE_ISR_END, trace_exception())

/* ---- What the debugger reads -------------------------------------------- */

struct trace_record {
    uint32_t ts;
    uint8_t ev, task;
    uint16_t arg;
};
/* The published block, symbol trace_buf. Record i is at i % n; the place of record
 * `head` itself may be half written at any time. */
struct trace_block {
    uint32_t magic; /* 'TR33' */
    uint32_t head;  /* records since trace_start, also those overwritten */
    uint32_t n;     /* TRACE_SIZE */
    uint32_t on;    /* 1: recording, 0: not; added to head with each record */
    char name[TRACE_TASKS][TRACE_NAME_LEN];
    struct trace_record ring[TRACE_SIZE];
};
#define TRACE_MAGIC 0x33335254u
extern struct trace_block trace_buf;

/* What this build records and how, in flash. */
struct trace_info {
    uint32_t magic; /* "TRIN" */
    uint8_t version, flags; /* flags: TRACE_HAS_… */
    uint8_t tasks, name_len;
    uint32_t events[2]; /* TRACE_EVENTS, low word first */
    uint8_t kernel[3];  /* tskKERNEL_VERSION_MAJOR, _MINOR, _BUILD */
    uint8_t max_priorities;
    uint32_t clock_hz, tick_hz;
};
#define TRACE_INFO_MAGIC 0x4E495254u
#define TRACE_HAS_ANY_PRIORITY 1 /* TRACE_ANY_PRIORITY */
#define TRACE_HAS_ASM 2
#define TRACE_HAS_SPARE 4 /* the ring keeps n - 1: the place of record `head` is not one */

/* ---- How it is done ----------------------------------------------------- */

#ifndef configUSE_TRACE_FACILITY
#define configUSE_TRACE_FACILITY 1
#elif configUSE_TRACE_FACILITY != 1
#error "trace_rec: configUSE_TRACE_FACILITY must be 1: objects and tasks carry their numbers in its fields"
#endif
#if TRACE_SIZE < 2 || (TRACE_SIZE & (TRACE_SIZE - 1)) || TRACE_SIZE > 0x1000000
#error "trace_rec: TRACE_SIZE must be a power of two"
#endif
#if TRACE_TASKS > 255 || TRACE_NAME_LEN % 4 || TRACE_NAME_LEN < 4 || TRACE_TASKS < 1 || TRACE_TASKS * TRACE_NAME_LEN > 960
#error "trace_rec: TRACE_NAME_LEN must be a multiple of 4, and all names together at most 960 bytes"
#endif

#ifdef TRACE_ITM_PORT
#if TRACE_ITM_PORT < 0 || TRACE_ITM_PORT > 30
#error "trace_rec: TRACE_ITM_PORT is 0 to 30: a record takes this port and the next"
#endif
#if defined(TRACE_ASM) && TRACE_ASM
#error "trace_rec: no assembly for ITM ports: leave TRACE_ASM out"
#endif
#undef TRACE_ASM
#define TRACE_ASM 0
#endif
/* Assembly for cores with the full Thumb-2 set (M3 and up), or (0) the C that specifies
 * it: the same records at about twice the cost. */
#ifndef TRACE_ASM
#if (defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__) || defined(__ARM_ARCH_8M_MAIN__) || \
     defined(__ARM_ARCH_8_1M_MAIN__)) && !defined(TRACE_CLOCK)
#define TRACE_ASM 1
#else
#define TRACE_ASM 0
#endif
#endif

/* One block, so that one base register and one LDM reach all of it. */
struct trace_state {
    uint32_t last_task, last_object; /* numbers given so far */
    void *volatile *current; /* &pxCurrentTCB; before there is a task, a stand-in's */
    const volatile uint32_t *clock;
    struct trace_block block;
};
extern struct trace_state trace_state;

void trace_task_create(void *word);
void trace_task_delete(const void *word);
uint32_t trace_object_create(uint32_t kind);
uint32_t trace_current(void); /* the running task's number */
void trace_record(uint32_t code_and_task, uint32_t arg); /* code | task << 8 */

#ifdef __cplusplus
}
#endif

#define TRACE_IS_ON(code) ((TRACE_EVENTS >> (code)) & 1)

static inline __attribute__((always_inline)) uint32_t trace_exception(void)
{
    uint32_t number;
    __asm volatile("mrs %0, ipsr" : "=r"(number));
    return number;
}

#if TRACE_ASM
#define TRACE_STR_(x) #x
#define TRACE_STR(x) TRACE_STR_(x)
#define TRACE_LOG2_(n) (__builtin_ctz(n))
/* These are called with arguments in r0 and r1 and keep all but r0-r5, r12 and lr. */
#define TRACE_CALL(function, first, second)                                                  \
    do {                                                                                     \
        register uint32_t trace_r0_ __asm("r0") = (uint32_t)(first);                         \
        register uint32_t trace_r1_ __asm("r1") = (second);                                  \
        __asm volatile("bl " function                                                        \
                       : "+r"(trace_r0_), "+r"(trace_r1_)::"r2", "r3", "r4", "r5", "ip", "lr", \
                         "cc", "memory");                                                    \
    } while (0)
#define trace_word(code_and_task, arg) TRACE_CALL("trace_asm_word", (code_and_task), (arg))
#define trace_of_current(code, arg) TRACE_CALL("trace_asm_current", (code), (arg))
#define trace_ready(tcb)                                                                     \
    do {                                                                                     \
        register uint32_t trace_r0_ __asm("r0") = (uint32_t)(tcb);                           \
        __asm volatile("bl trace_asm_ready"                                                  \
                       : "+r"(trace_r0_)::"r1", "r2", "r3", "r4", "r5", "ip", "lr", "cc",    \
                         "memory");                                                          \
    } while (0)

/* As trace_asm_current, without the call. A macro: StaticTask_t is not known here yet. */
#define trace_inline(code, arg)                                                              \
    do {                                                                                     \
        uint32_t trace_w_, trace_mask_;                                                      \
        if (TRACE_IS_ON(code))                                                               \
            __asm volatile("mrs %[mask], primask\n"                                          \
                           "cpsid i\n"                                                       \
                           "ldrd r0, r1, [%[head], #-12]\n" /* current, clock */             \
                           "ldr r0, [r0]\n"                                                  \
                           "ldr r1, [r1]\n"                                                  \
                           "ldrb r0, [r0, %[number]]\n"                                      \
                           "orr %[w], %[word], r0, lsl #8\n"                                 \
                           "ldm %[head], {r0, r2, r3}\n" /* head, n, on */                   \
                           "ubfx r2, r0, #0, %[bits]\n"                                      \
                           "add r2, %[head], r2, lsl #3\n"                                   \
                           "strd r1, %[w], [r2, %[ring]]\n"                                  \
                           "adds r0, r0, r3\n"                                               \
                           "str r0, [%[head]]\n"                                             \
                           "msr primask, %[mask]\n"                                          \
                           : [w] "=&r"(trace_w_), [mask] "=&r"(trace_mask_)                  \
                           : [head] "r"(&trace_state.block.head), TRACE_OPERANDS_,           \
                             [word] "r"((code) | (uint32_t)(arg) << 16)                      \
                           : "r0", "r1", "r2", "r3", "cc", "memory");                        \
    } while (0)
#define TRACE_OPERANDS_                                                                      \
    [number] "i"(TRACE_TASK_WORD + 1), [bits] "i"(TRACE_LOG2_(TRACE_SIZE)),                  \
        [ring] "i"(offsetof(struct trace_block, ring) - offsetof(struct trace_block, head))

#if TRACE_ANY_PRIORITY
/* In vTaskSwitchContext interrupts are never masked by PRIMASK already: PendSV has come. */
#define TRACE_MASK_ "cpsid i\n"
#define TRACE_UNMASK_ "cpsie i\n"
#else
#define TRACE_MASK_
#define TRACE_UNMASK_
#endif
/* In the kernel's tasks.c: the record is the control block's word as it stands. The base is
 * in r3, and not in a register that is free long before: GCC 14 would load it between two
 * instructions of one IT block of the kernel's, and so make them two. */
#define trace_switched_in()                                                                  \
    do {                                                                                     \
        register void *trace_base_ __asm("r3") = &trace_state.current;                       \
        __asm volatile(TRACE_MASK_                                                           \
                       "ldm %[base], {r0, r1, r2, r4, ip, lr}\n"                             \
                       "ldr r0, [r0]\n" /* current */                                        \
                       "ldr r1, [r1]\n" /* clock; r2 is magic, ip is n */                    \
                       "ldr r0, [r0, %[word]]\n"                                             \
                       "ubfx r2, r4, #0, %[bits]\n" /* head */                               \
                       "add r2, %[base], r2, lsl #3\n"                                       \
                       "strd r1, r0, [r2, %[ring]]\n"                                        \
                       "add r4, r4, lr\n" /* on */                                           \
                       "str r4, [%[base], #12]\n" TRACE_UNMASK_                              \
                       : [base] "+r"(trace_base_)                                            \
                       : [word] "i"(TRACE_TASK_WORD), [bits] "i"(TRACE_LOG2_(TRACE_SIZE)),   \
                         [ring] "i"(offsetof(struct trace_state, block.ring) -               \
                                    offsetof(struct trace_state, current))                   \
                       : "r0", "r1", "r2", "r4", "ip", "lr", "cc", "memory");                \
    } while (0)
#else
#define trace_word(code_and_task, arg) trace_record((code_and_task), (arg))
#define trace_of_current(code, arg) trace_record((code) | trace_current() << 8, (arg))
#define trace_inline trace_event
#define trace_switched_in() trace_record(pxCurrentTCB->uxTaskNumber & 0xFFFF, pxCurrentTCB->uxTaskNumber >> 16)
#define trace_ready(tcb)                                                                     \
    do {                                                                                     \
        (tcb)->uxTaskNumber = (uint16_t)(tcb)->uxTaskNumber | (tcb)->uxPriority << 16;       \
        trace_record(TRACE_READY | TRACE_NUMBER(tcb) << 8, (tcb)->uxPriority);               \
    } while (0)
#endif

/* `code` is constant: what is not compiled in leaves nothing. */
#define trace_event(code, arg)                                                               \
    do {                                                                                     \
        if (TRACE_IS_ON(code))                                                               \
            trace_of_current((code), (uint32_t)(arg));                                       \
    } while (0)
#define trace_event_of(code, tcb, arg)                                                       \
    do {                                                                                     \
        if (TRACE_IS_ON(code))                                                               \
            trace_word((uint16_t)(tcb)->uxTaskNumber + (code) - TRACE_IN, (uint32_t)(arg));  \
    } while (0)

/* A control block's uxTaskNumber is TRACE_IN | number << 8 | priority << 16, which is a
 * whole IN record. The priority is brought up to date whenever the kernel puts the task
 * into a ready list, which it does whatever changed it. StaticTask_t mirrors the control
 * block, whose own type only tasks.c knows. */
#define TRACE_TASK_WORD (offsetof(StaticTask_t, uxDummy10) + sizeof(UBaseType_t))
#define TRACE_TASK_PRIORITY offsetof(StaticTask_t, uxDummy5)
#define TRACE_TASK_NAME offsetof(StaticTask_t, ucDummy7)
#define TRACE_NUMBER(tcb) ((tcb)->uxTaskNumber >> 8 & 0xFF)

/* ---- The kernel's hooks, in its own order ------------------------------- */

#define traceTASK_SWITCHED_IN()                                                              \
    do {                                                                                     \
        if (TRACE_IS_ON(TRACE_IN))                                                           \
            trace_switched_in();                                                             \
    } while (0)
#define traceMOVED_TASK_TO_READY_STATE(tcb)                                                  \
    do {                                                                                     \
        if (TRACE_IS_ON(TRACE_READY))                                                        \
            trace_ready(tcb);                                                                \
        else                                                                                 \
            (tcb)->uxTaskNumber = (uint16_t)(tcb)->uxTaskNumber | (tcb)->uxPriority << 16;   \
    } while (0)
#define traceTASK_INCREMENT_TICK(count) trace_event(TRACE_TICK, (count) + 1)
#define traceTASK_PRIORITY_INHERIT(tcb, priority) \
    trace_event_of(TRACE_INHERIT, (tcb), (priority))
#define traceTASK_PRIORITY_DISINHERIT(tcb, priority) \
    trace_event_of(TRACE_DISINHERIT, (tcb), (priority))
#define traceTASK_PRIORITY_SET(tcb, priority) \
    trace_event(TRACE_PRIORITY, TRACE_NUMBER(tcb) | (priority) << 8)
#define traceTASK_CREATE(tcb) trace_task_create(&(tcb)->uxTaskNumber)
#define traceTASK_DELETE(tcb) trace_task_delete(&(tcb)->uxTaskNumber)
#define traceTASK_DELAY_UNTIL(tick) trace_event(TRACE_DELAY, (tick))
#define traceTASK_DELAY() trace_event(TRACE_SLEEP, xTickCount + xTicksToDelay)
#define traceTASK_SUSPEND(tcb) trace_event(TRACE_SUSPEND, TRACE_NUMBER(tcb))
#define traceTASK_RESUME(tcb) trace_event(TRACE_RESUME, TRACE_NUMBER(tcb))
#define traceTASK_RESUME_FROM_ISR(tcb) trace_event(TRACE_RESUME_ISR, TRACE_NUMBER(tcb))
#define traceLOW_POWER_IDLE_BEGIN() trace_event(TRACE_LOW_POWER, 0)
#define traceLOW_POWER_IDLE_END() trace_event(TRACE_LOW_POWER_END, 0)

/* V9 gives these no index; pxTCB is the kernel's name for the task notified. */
#define TRACE_INDEX(...) (__VA_ARGS__ + 0)
#define traceTASK_NOTIFY(...) trace_event(TRACE_NOTIFY, TRACE_NUMBER(pxTCB))
#define traceTASK_NOTIFY_FROM_ISR(...) trace_event(TRACE_NOTIFY_ISR, TRACE_NUMBER(pxTCB))
#define traceTASK_NOTIFY_GIVE_FROM_ISR(...) trace_event(TRACE_NOTIFY_ISR, TRACE_NUMBER(pxTCB))
#define traceTASK_NOTIFY_TAKE_BLOCK(...) trace_event(TRACE_NOTIFY_WAIT, TRACE_INDEX(__VA_ARGS__))
#define traceTASK_NOTIFY_WAIT_BLOCK(...) trace_event(TRACE_NOTIFY_WAIT, TRACE_INDEX(__VA_ARGS__))
#define traceTASK_NOTIFY_TAKE(...) trace_event(TRACE_NOTIFY_TAKE, TRACE_INDEX(__VA_ARGS__))
#define traceTASK_NOTIFY_WAIT(...) trace_event(TRACE_NOTIFY_TAKE, TRACE_INDEX(__VA_ARGS__))

#define traceQUEUE_CREATE(queue) (queue)->uxQueueNumber = trace_object_create((queue)->ucQueueType)
#define traceQUEUE_DELETE(queue) trace_event(TRACE_OBJECT_DELETE, (queue)->uxQueueNumber)
#define traceQUEUE_SEND(queue) trace_event(TRACE_GIVE, (queue)->uxQueueNumber)
#define traceQUEUE_SEND_FAILED(queue) trace_event(TRACE_GIVE_FAIL, (queue)->uxQueueNumber)
#define traceQUEUE_SEND_FROM_ISR(queue) trace_event(TRACE_GIVE_ISR, (queue)->uxQueueNumber)
#define traceQUEUE_SEND_FROM_ISR_FAILED(queue) trace_event(TRACE_GIVE_ISR_FAIL, (queue)->uxQueueNumber)
#define traceQUEUE_RECEIVE(queue) trace_event(TRACE_TAKE, (queue)->uxQueueNumber)
#define traceQUEUE_RECEIVE_FAILED(queue) trace_event(TRACE_TAKE_FAIL, (queue)->uxQueueNumber)
#define traceQUEUE_RECEIVE_FROM_ISR(queue) trace_event(TRACE_TAKE_ISR, (queue)->uxQueueNumber)
#define traceQUEUE_RECEIVE_FROM_ISR_FAILED(queue) trace_event(TRACE_TAKE_ISR_FAIL, (queue)->uxQueueNumber)
#define traceQUEUE_PEEK(queue) trace_event(TRACE_PEEK, (queue)->uxQueueNumber)
#define traceQUEUE_PEEK_FAILED(queue) trace_event(TRACE_TAKE_FAIL, (queue)->uxQueueNumber)
#define traceBLOCKING_ON_QUEUE_RECEIVE(queue) trace_event(TRACE_WAIT, (queue)->uxQueueNumber)
#define traceBLOCKING_ON_QUEUE_PEEK(queue) trace_event(TRACE_WAIT, (queue)->uxQueueNumber)
#define traceBLOCKING_ON_QUEUE_SEND(queue) trace_event(TRACE_SEND_WAIT, (queue)->uxQueueNumber)

#define TRACE_TIMER_NUMBER(timer) (((Timer_t *)(timer))->uxTimerNumber)
#define traceTIMER_CREATE(timer) (timer)->uxTimerNumber = trace_object_create(TRACE_TIMER)
#define traceTIMER_COMMAND_SEND(timer, ...) trace_event(TRACE_TIMER_COMMAND, TRACE_TIMER_NUMBER(timer))
#define traceTIMER_EXPIRED(timer) trace_event(TRACE_TIMER_EXPIRE, TRACE_TIMER_NUMBER(timer))

#define TRACE_GROUP_NUMBER(group) (((EventGroup_t *)(group))->uxEventGroupNumber)
#define traceEVENT_GROUP_CREATE(group) TRACE_GROUP_NUMBER(group) = trace_object_create(TRACE_GROUP)
#define traceEVENT_GROUP_DELETE(group) trace_event(TRACE_OBJECT_DELETE, TRACE_GROUP_NUMBER(group))
#define traceEVENT_GROUP_WAIT_BITS_BLOCK(group, ...) trace_event(TRACE_GROUP_WAIT, TRACE_GROUP_NUMBER(group))
#define traceEVENT_GROUP_SYNC_BLOCK(group, ...) trace_event(TRACE_GROUP_WAIT, TRACE_GROUP_NUMBER(group))
#define TRACE_GROUP_END(group, late)                                                         \
    do {                                                                                     \
        if (late)                                                                            \
            trace_event(TRACE_GROUP_FAIL, TRACE_GROUP_NUMBER(group));                        \
        else                                                                                 \
            trace_event(TRACE_GROUP_TAKE, TRACE_GROUP_NUMBER(group));                        \
    } while (0)
#define traceEVENT_GROUP_WAIT_BITS_END(group, bits, late) TRACE_GROUP_END(group, late)
#define traceEVENT_GROUP_SYNC_END(group, set, bits, late) TRACE_GROUP_END(group, late)
#define traceEVENT_GROUP_SET_BITS(group, bits) trace_event(TRACE_GROUP_SET, TRACE_GROUP_NUMBER(group))
#define traceEVENT_GROUP_SET_BITS_FROM_ISR(group, bits) \
    trace_event(TRACE_GROUP_SET_ISR, TRACE_GROUP_NUMBER(group))
#define traceEVENT_GROUP_CLEAR_BITS(group, bits) trace_event(TRACE_GROUP_CLEAR, TRACE_GROUP_NUMBER(group))
#define traceEVENT_GROUP_CLEAR_BITS_FROM_ISR(group, bits) \
    trace_event(TRACE_GROUP_CLEAR, TRACE_GROUP_NUMBER(group))

#define TRACE_STREAM_NUMBER(stream) (((StreamBuffer_t *)(stream))->uxStreamBufferNumber)
#define traceSTREAM_BUFFER_CREATE(stream, type) \
    TRACE_STREAM_NUMBER(stream) = trace_object_create((type) == 1 ? TRACE_MESSAGE : TRACE_STREAM)
#define traceSTREAM_BUFFER_DELETE(stream) trace_event(TRACE_OBJECT_DELETE, TRACE_STREAM_NUMBER(stream))
#define traceBLOCKING_ON_STREAM_BUFFER_RECEIVE(stream) \
    trace_event(TRACE_STREAM_WAIT, TRACE_STREAM_NUMBER(stream))
#define traceSTREAM_BUFFER_RECEIVE(stream, n) trace_event(TRACE_STREAM_TAKE, TRACE_STREAM_NUMBER(stream))
#define traceSTREAM_BUFFER_RECEIVE_FAILED(stream) trace_event(TRACE_STREAM_FAIL, TRACE_STREAM_NUMBER(stream))
#define traceBLOCKING_ON_STREAM_BUFFER_SEND(stream) \
    trace_event(TRACE_STREAM_SEND_WAIT, TRACE_STREAM_NUMBER(stream))
#define traceSTREAM_BUFFER_SEND(stream, n) trace_event(TRACE_STREAM_SEND, TRACE_STREAM_NUMBER(stream))
#define traceSTREAM_BUFFER_SEND_FAILED(stream) \
    trace_event(TRACE_STREAM_SEND_FAIL, TRACE_STREAM_NUMBER(stream))
#define traceSTREAM_BUFFER_SEND_FROM_ISR(stream, n) \
    trace_event(TRACE_STREAM_SEND_ISR, TRACE_STREAM_NUMBER(stream))
#define traceSTREAM_BUFFER_RECEIVE_FROM_ISR(stream, n) \
    trace_event(TRACE_STREAM_TAKE_ISR, TRACE_STREAM_NUMBER(stream))

#define traceISR_ENTER() TRACE_ISR_ENTER()
#define traceISR_EXIT() TRACE_ISR_EXIT()
#define traceISR_EXIT_TO_SCHEDULER() TRACE_ISR_EXIT()

#endif
#endif
