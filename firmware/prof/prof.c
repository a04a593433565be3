/* The sampler: prof.h says what it does and what may be set.
 * SPDX-License-Identifier: MIT */
#include "prof.h"

#include <stddef.h>

#define STR_(x) #x
#define STR(x) STR_(x)
#define REG32(a) (*(volatile uint32_t *)(a))

#define RING (PROF_MODE == PROF_RING)
#ifdef PROF_TAG
#define HAS_TAG 1
extern void *volatile PROF_TAG;
#else
#define HAS_TAG 0
#endif
#ifdef PROF_CLOCK
#define HAS_CLOCK 1
#else
#define HAS_CLOCK 0
#endif
#ifdef PROF_ACK
#define HAS_ACK 1
#else
#define HAS_ACK 0
#endif

#if PROF_MODE != PROF_RING && PROF_MODE != PROF_HISTOGRAM
#error "prof: PROF_MODE is PROF_RING or PROF_HISTOGRAM"
#endif
#if RING && (PROF_SIZE < 2 || (PROF_SIZE & (PROF_SIZE - 1)))
#error "prof: PROF_SIZE must be a power of two"
#endif
#if !RING && (PROF_SHIFT < 1 || PROF_SHIFT > 16 || PROF_BINS < 1 || (PROF_BINS & (PROF_BINS - 1)))
#error "prof: PROF_SHIFT is 1..16, PROF_BINS a power of two"
#endif
#if !RING && (HAS_TAG || PROF_LR)
#error "prof: a histogram keeps no tag and no LR: they need PROF_MODE=PROF_RING"
#endif

#if defined(__pic__)
#error "prof: the handler holds absolute addresses: compile prof.c without -fpic and -fpie"
#endif

#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define MAINLINE 0
#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define MAINLINE 1
#else
#error "prof: for Cortex-M only"
#endif

/* One block: the handler reaches all of it from one address, a debugger reads it
 * in one go. n and limit are loaded together, and so are the last four words
 * before the data. */
static struct {
#if !RING
    uint32_t out, saturated;
#endif
#if HAS_CLOCK
    uint32_t clock[2];
#endif
    uint32_t n, limit;
#if PROF_JITTER
    uint32_t seed, jitter, period;
    volatile uint32_t *reload;
#endif
#if RING
    uint32_t data[PROF_SIZE];
#else
    uint16_t data[PROF_BINS];
#endif
#if HAS_TAG
    uint32_t tag[PROF_SIZE];
#endif
#if PROF_LR
    uint32_t lr[PROF_SIZE];
#endif
} volatile prof_ram __attribute__((used, aligned(8)));

#if !RING
extern const char PROF_BASE[];
#endif

void PROF_HANDLER(void);
#ifdef PROF_DONE_HOOK
void PROF_DONE_HOOK(void);
#endif

__attribute__((used)) const struct prof_info prof_info = {
    .magic = PROF_MAGIC,
    .version = 1,
    .mode = PROF_MODE,
    .timer = PROF_TIMER,
    .flags = (PROF_JITTER ? PROF_HAS_JITTER : 0) | (HAS_TAG ? PROF_HAS_TAG : 0) |
             (PROF_LR ? PROF_HAS_LR : 0) | (HAS_CLOCK ? PROF_HAS_CLOCK : 0),
#if !RING
    .base = (uint32_t)PROF_BASE,
    .shift = PROF_SHIFT,
#endif
    .exception = PROF_EXCEPTION,
    .prescaler = PROF_PRESCALER,
    .period_max = PROF_PERIOD_MAX,
    .reload = PROF_RELOAD,
    .handler = (uint32_t)&PROF_HANDLER,
#if HAS_TAG
    .tag = STR(PROF_TAG),
#endif
    .clock_hz = PROF_CLOCK_HZ,
};
_Static_assert(sizeof(struct prof_info) == 68, "prof_info is read by its offsets");

/* ---- The timer ---------------------------------------------------------- */

/* Priority 0, because a handler of the same or a higher priority is never
 * sampled, and code that raises BASEPRI is sampled only at priority 0. */
#if PROF_TIMER == PROF_SYSTICK
struct scs { /* System Control Space: SysTick, and what is asked of the SCB */
    uint32_t reserved0[4], syst_csr, syst_rvr, syst_cvr;
    uint32_t reserved1[(0xD04 - 0x1C) / 4], icsr;
    uint32_t reserved2[(0xD20 - 0xD08) / 4];
    union {
        uint32_t word;
        uint8_t priority[4];
    } shpr3;
};
#define SCS ((volatile struct scs *)0xE000E000u)
_Static_assert(offsetof(struct scs, icsr) == 0xD04 && offsetof(struct scs, shpr3) == 0xD20,
               "the registers' places in the System Control Space");
static inline void timer_start(uint32_t reload)
{
#if MAINLINE
    SCS->shpr3.priority[3] = 0;
#else
    SCS->shpr3.word &= 0x00FFFFFFu; /* v6-M: words only */
#endif
    SCS->syst_rvr = reload;
    SCS->syst_cvr = 0;
    SCS->syst_csr = 7; /* CLKSOURCE: processor; TICKINT; ENABLE */
}
static inline void timer_stop(void)
{
    SCS->syst_csr = 0;
    SCS->icsr = 1u << 25; /* PENDSTCLR: one may be pending already */
}
#elif PROF_TIMER == PROF_TIM3
#define TIM3(offset) REG32(PROF_TIM3_BASE + (offset))
static inline void timer_start(uint32_t reload)
{
    REG32(PROF_RCC_ENR) |= 2; /* TIM3EN */
    (void)REG32(PROF_RCC_ENR); /* the clock is on two cycles later */
    TIM3(0x00) = 0;              /* CR1 */
    TIM3(0x28) = PROF_PRESCALER; /* PSC */
    TIM3(0x2C) = reload;         /* ARR */
    TIM3(0x14) = 1;              /* EGR.UG: PSC and ARR are taken over now, not a lap later */
    TIM3(0x10) = 0;              /* SR: UG has set UIF */
    TIM3(0x0C) = 1;              /* DIER.UIE */
    *(volatile uint8_t *)(0xE000E400u + PROF_IRQ) = 0;          /* NVIC_IPR */
    REG32(0xE000E100u + PROF_IRQ / 32 * 4) = 1u << (PROF_IRQ % 32); /* NVIC_ISER */
    TIM3(0x00) = 0x81; /* CR1: CEN; ARPE, so that a jittered ARR waits for the wrap */
}
static inline void timer_stop(void)
{
    TIM3(0x00) = 0;
    TIM3(0x0C) = 0;
    TIM3(0x10) = 0;
    (void)TIM3(0x10); /* the flag is down before the pending bit is cleared */
    REG32(0xE000E180u + PROF_IRQ / 32 * 4) = 1u << (PROF_IRQ % 32); /* NVIC_ICER */
    REG32(0xE000E280u + PROF_IRQ / 32 * 4) = 1u << (PROF_IRQ % 32); /* NVIC_ICPR */
}
#else
#define timer_start prof_timer_start
#define timer_stop prof_timer_stop
#endif

/* ---- What the program calls --------------------------------------------- */

/* `used`: the handler calls them in assembly, which link-time optimisation cannot see. */
__attribute__((used)) void prof_start(uint32_t period, uint32_t limit)
{
    prof_ram.n = 0;
    prof_ram.limit = limit;
#if PROF_JITTER
    prof_ram.period = period - 1;
    if (prof_ram.seed == 0) /* xorshift32 would stay there */
        prof_ram.seed = 2463534242u;
    prof_ram.reload = (volatile uint32_t *)PROF_RELOAD;
#endif
#if !RING
    prof_ram.out = prof_ram.saturated = 0;
    for (uint32_t i = 0; i < PROF_BINS; i++)
        prof_ram.data[i] = 0;
#endif
#if HAS_CLOCK
    prof_ram.clock[0] = PROF_CLOCK;
#endif
    timer_start(period - 1);
}

__attribute__((used)) void prof_stop(void)
{
    timer_stop();
#if HAS_CLOCK
    prof_ram.clock[1] = PROF_CLOCK;
#endif
}

/* ---- The handler -------------------------------------------------------- */

/* The interface's symbols, each a place in prof_ram; and references without a
 * byte, so that what only the debugger uses survives --gc-sections. */
#define SYMBOL(name, member, size)                                             \
    ".global " name "\n .set " name ", %c[" member "]\n"                        \
    ".type " name ", %%object\n .size " name ", " size "\n"
#define MEMBER(member) [member] "i"(&prof_ram.member)
#if RING
#define DATA_NAME "prof_pc"
#define OUT_SYMBOLS
#define OUT_MEMBERS
#else
#define DATA_NAME "prof_hist"
#define OUT_SYMBOLS SYMBOL("prof_out", "out", "4") SYMBOL("prof_saturated", "saturated", "4")
#define OUT_MEMBERS , MEMBER(out), MEMBER(saturated)
#endif
#if HAS_CLOCK
#define CLOCK_SYMBOLS SYMBOL("prof_clock", "clock", "8")
#define CLOCK_MEMBERS , MEMBER(clock)
#else
#define CLOCK_SYMBOLS
#define CLOCK_MEMBERS
#endif
#if PROF_JITTER
#define JITTER_SYMBOLS                                                         \
    SYMBOL("prof_seed", "seed", "4") SYMBOL("prof_jitter", "jitter", "4")                \
    SYMBOL("prof_period", "period", "4")
#define JITTER_MEMBERS , MEMBER(seed), MEMBER(jitter), MEMBER(period)
#else
#define JITTER_SYMBOLS
#define JITTER_MEMBERS
#endif
#if HAS_TAG
#define TAG_SYMBOLS SYMBOL("prof_tag", "tag", "%c[size]")
#define TAG_MEMBERS , MEMBER(tag), [task] "i"(&PROF_TAG)
#else
#define TAG_SYMBOLS
#define TAG_MEMBERS
#endif
#if PROF_LR
#define LR_SYMBOLS SYMBOL("prof_lr", "lr", "%c[size]")
#define LR_MEMBERS , MEMBER(lr)
#else
#define LR_SYMBOLS
#define LR_MEMBERS
#endif
#define SYMBOLS                                                                \
    SYMBOL("prof_n", "n", "4") SYMBOL("prof_limit", "limit", "4") SYMBOL(DATA_NAME, "data", "%c[size]") \
    OUT_SYMBOLS CLOCK_SYMBOLS JITTER_SYMBOLS TAG_SYMBOLS LR_SYMBOLS            \
    "0: .reloc 0b, R_ARM_NONE, prof_info\n"                                    \
    ".reloc 0b, R_ARM_NONE, prof_start\n .reloc 0b, R_ARM_NONE, prof_stop\n"
#define MEMBERS                                                                \
    MEMBER(n), MEMBER(limit), MEMBER(data), [size] "i"(sizeof prof_ram.data)   \
    OUT_MEMBERS CLOCK_MEMBERS JITTER_MEMBERS TAG_MEMBERS LR_MEMBERS

#if !PROF_ASM

__attribute__((noinline)) void prof_done(void)
{
    __asm volatile("");
#ifdef PROF_DONE_HOOK
    PROF_DONE_HOOK();
#endif
}

/* The specification. `frame`: what the core stacked on exception entry: r0-r3,
 * r12, LR (word 5), PC (word 6), xPSR. */
__attribute__((used)) void prof_tick(const uint32_t *frame)
{
    uint32_t pc = frame[6];
#if HAS_ACK
    REG32(PROF_ACK) = PROF_ACK_VALUE;
#endif
#if RING
    uint32_t i = prof_ram.n & (PROF_SIZE - 1);
    prof_ram.data[i] = pc;
#if PROF_LR
    prof_ram.lr[i] = frame[5];
#endif
#if HAS_TAG
    prof_ram.tag[i] = (uint32_t)PROF_TAG;
#endif
#else
    uint32_t bin = (pc - (uint32_t)PROF_BASE) >> PROF_SHIFT;
    if (bin >= PROF_BINS)
        prof_ram.out++;
    else if (prof_ram.data[bin] == 0xFFFF)
        prof_ram.saturated++;
    else
        prof_ram.data[bin]++;
#endif
    prof_ram.n++; /* last, so that a debugger never counts half a sample */
    if (prof_ram.n == prof_ram.limit && prof_ram.limit != 0) {
        prof_stop();
        prof_done();
        return;
    }
#if PROF_JITTER
    uint32_t x = prof_ram.seed; /* Marsaglia's xorshift32 */
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    prof_ram.seed = x;
    *prof_ram.reload = (x & prof_ram.jitter) + prof_ram.period;
#endif
}

__attribute__((naked, used)) void PROF_HANDLER(void)
{
    __asm volatile(".syntax unified\n" SYMBOLS
                   "mov r0, lr\n"
                   "lsls r0, r0, #29\n" /* EXC_RETURN bit 2: which stack */
                   "bmi 1f\n"
                   "mov r0, sp\n"
                   "b 2f\n"
                   "1: mrs r0, psp\n"
                   "2: ldr r1, 3f\n"
                   "bx r1\n"
                   ".balign 4\n"
                   "3: .word prof_tick\n" ::MEMBERS);
}

#else

/* The same in as few instructions as were found. r0: the PC, r1: &prof_ram.data
 * (v6-M, which has no negative offsets: &prof_ram.n), r2: n, r3: limit; r12 is
 * free too, and nothing is pushed but at the limit. Labels: 1 the PSP is the
 * stack, 2 PC in r0, 3 count the sample, 4 limit or wrap, 5 jitter,
 * 6 outside, 7 saturated, 9x literals. */

#if HAS_ACK
#define ACK "ldr r2, 94f\n ldr r3, 95f\n str r3, [r2]\n"
#define ACK_WORDS "94: .word %c[ack]\n 95: .word %c[ack_value]\n"
#define ACK_MEMBERS , [ack] "i"(PROF_ACK), [ack_value] "i"(PROF_ACK_VALUE)
#else
#define ACK
#define ACK_WORDS
#define ACK_MEMBERS
#endif

#define AT(member) offsetof(__typeof__(prof_ram), member)
#if RING
#define LOG2_SIZE __builtin_ctz(PROF_SIZE)
#else
#define LOG2_SIZE 0
#endif

/* prof_done is the handler's last step: lr is EXC_RETURN, so that it returns from
 * the interrupt, and a debugger there sees what was interrupted. */
#ifdef PROF_DONE_HOOK
#define DONE_RETURN "ldr r0, 92f\n bx r0\n"
#define DONE_WORDS "92: .word " STR(PROF_DONE_HOOK) "\n"
#else
#define DONE_RETURN "bx lr\n"
#define DONE_WORDS
#endif
#define DONE                                                                   \
    ".global prof_done\n .type prof_done, %%function\n .thumb_func\n"          \
    "prof_done: " DONE_RETURN ".size prof_done, . - prof_done\n"

#if MAINLINE

#define OFFSET(member) ((int)AT(member) - (int)AT(data))
#if PROF_LR
#define LOAD(frame) "ldrd r12, r0, [" frame ", #20]\n"
#else
#define LOAD(frame) "ldr r0, [" frame ", #24]\n"
#endif
#define PROLOGUE "tst lr, #4\n bne 1f\n" LOAD("sp") "2:\n"
#define PSP "1: mrs r0, psp\n" LOAD("r0") "b 2b\n"

#if RING && !HAS_TAG && !PROF_LR
#define KEEP                                                                   \
    "ldrd r2, r3, [r1, %[o_n]]\n"                                              \
    "ubfx r12, r2, #0, %[log2]\n"                                              \
    "str r0, [r1, r12, lsl #2]\n"
#define KEEP_SLOW
#define BASE_WORDS
#elif RING
#if PROF_LR
#define KEEP_LR "ldr r0, 96f\n str r12, [r0, r3, lsl #2]\n"
#define LR_WORDS "96: .word %c[lr]\n"
#else
#define KEEP_LR
#define LR_WORDS
#endif
#if HAS_TAG
#define KEEP_TAG "ldr r0, 97f\n ldr r12, 98f\n ldr r12, [r12]\n str r12, [r0, r3, lsl #2]\n"
#define TAG_WORDS "97: .word %c[tag]\n 98: .word %c[task]\n"
#else
#define KEEP_TAG
#define TAG_WORDS
#endif
#define KEEP                                                                   \
    "ldr r2, [r1, %[o_n]]\n"                                                   \
    "ubfx r3, r2, #0, %[log2]\n"                                               \
    "str r0, [r1, r3, lsl #2]\n" KEEP_LR KEEP_TAG                              \
    "ldr r3, [r1, %[o_limit]]\n"
#define KEEP_SLOW
#define BASE_WORDS LR_WORDS TAG_WORDS
#else
#define KEEP                                                                   \
    "ldr r12, 96f\n"                                                           \
    "sub r0, r0, r12\n"                                                        \
    "lsrs r0, r0, %[shift]\n"                                                  \
    "cmp r0, %[bins]\n"                                                        \
    "bhs 6f\n"                                                                 \
    "ldrh r2, [r1, r0, lsl #1]\n"                                              \
    "adds r2, r2, #1\n"                                                        \
    "lsrs r3, r2, #16\n"                                                       \
    "bne 7f\n"                                                                 \
    "strh r2, [r1, r0, lsl #1]\n"                                              \
    "3: ldrd r2, r3, [r1, %[o_n]]\n"
#define KEEP_SLOW                                                              \
    "6: ldr r2, [r1, %[o_out]]\n adds r2, r2, #1\n str r2, [r1, %[o_out]]\n b 3b\n" \
    "7: ldr r2, [r1, %[o_sat]]\n adds r2, r2, #1\n str r2, [r1, %[o_sat]]\n b 3b\n"
#define BASE_WORDS "96: .word %c[base]\n"
#endif

#define COUNT "adds r2, r2, #1\n str r2, [r1, %[o_n]]\n cmp r2, r3\n beq 4f\n"
#if PROF_JITTER
#define JITTER                                                                 \
    "5: ldmdb r1, {r0, r2, r3, r12}\n" /* seed, mask, period, reload */        \
    "eor r0, r0, r0, lsl #13\n"                                                \
    "eor r0, r0, r0, lsr #17\n"                                                \
    "eor r0, r0, r0, lsl #5\n"                                                 \
    "str r0, [r1, %[o_seed]]\n"                                                \
    "ands r0, r0, r2\n"                                                        \
    "adds r0, r0, r3\n"                                                        \
    "str r0, [r12]\n"
#else
#define JITTER "5:\n"
#endif
#define LIMIT                                                                  \
    "4: cmp r3, #0\n beq 5b\n" /* n has wrapped and there is no limit */       \
    "push {r0, lr}\n bl prof_stop\n pop {r0, lr}\n" DONE

#else /* v6-M, v8-M Baseline */

#define OFFSET(member) ((int)AT(member) - (int)AT(n))
#if PROF_LR
#define LOAD(frame) "ldr r1, [" frame ", #20]\n mov r12, r1\n ldr r0, [" frame ", #24]\n"
#else
#define LOAD(frame) "ldr r0, [" frame ", #24]\n"
#endif
#define PROLOGUE "mov r0, lr\n lsls r0, r0, #29\n bmi 1f\n" LOAD("sp") "2:\n"
#define PSP "1: mrs r0, psp\n" LOAD("r0") "b 2b\n"

#if RING
#if PROF_LR
#define KEEP_LR "ldr r0, 96f\n adds r0, r0, r3\n mov r1, r12\n str r1, [r0]\n"
#define LR_WORDS "96: .word %c[o_lr]\n"
#else
#define KEEP_LR
#define LR_WORDS
#endif
#if HAS_TAG
#define KEEP_TAG "ldr r0, 97f\n adds r0, r0, r3\n ldr r1, 98f\n ldr r1, [r1]\n str r1, [r0]\n"
#define TAG_WORDS "97: .word %c[o_tag]\n 98: .word %c[task]\n"
#else
#define KEEP_TAG
#define TAG_WORDS
#endif
#if PROF_LR || HAS_TAG
#define KEEP_AGAIN "ldr r1, 90f\n"
#else
#define KEEP_AGAIN
#endif
#define KEEP                                                                   \
    "ldr r2, [r1]\n"                                                           \
    "lsls r3, r2, %[up]\n"                                                     \
    "lsrs r3, r3, %[down]\n"                                                   \
    "adds r3, r3, r1\n"                                                        \
    "str r0, [r3, %[o_data]]\n" KEEP_LR KEEP_TAG KEEP_AGAIN
#define KEEP_SLOW
#define BASE_WORDS LR_WORDS TAG_WORDS
#else
#define KEEP                                                                   \
    "ldr r2, 96f\n"                                                            \
    "subs r0, r0, r2\n"                                                        \
    "lsrs r0, r0, %[shift]\n"                                                  \
    "ldr r2, 97f\n"                                                            \
    "cmp r0, r2\n"                                                             \
    "bhs 6f\n"                                                                 \
    "lsls r0, r0, #1\n"                                                        \
    "adds r0, r0, r1\n"                                                        \
    "ldrh r2, [r0, %[o_data]]\n"                                               \
    "adds r2, r2, #1\n"                                                        \
    "lsrs r3, r2, #16\n"                                                       \
    "bne 7f\n"                                                                 \
    "strh r2, [r0, %[o_data]]\n"                                               \
    "3: ldr r2, [r1]\n"
#define KEEP_SLOW                                                              \
    "6: ldr r3, 98f\n b 8f\n"                                                  \
    "7: ldr r3, 99f\n"                                                         \
    "8: ldr r2, [r3]\n adds r2, r2, #1\n str r2, [r3]\n b 3b\n"
#define BASE_WORDS                                                             \
    "96: .word %c[base]\n 97: .word %c[bins]\n"                                \
    "98: .word %c[out]\n 99: .word %c[saturated]\n"
#endif

#define COUNT                                                                  \
    "adds r2, r2, #1\n str r2, [r1]\n ldr r3, [r1, %[o_limit]]\n"              \
    "cmp r2, r3\n beq 4f\n"
#if PROF_JITTER
#define JITTER                                                                 \
    "5: ldr r0, [r1, %[o_seed]]\n"                                             \
    "lsls r2, r0, #13\n eors r0, r0, r2\n"                                     \
    "lsrs r2, r0, #17\n eors r0, r0, r2\n"                                     \
    "lsls r2, r0, #5\n eors r0, r0, r2\n"                                      \
    "str r0, [r1, %[o_seed]]\n"                                                \
    "ldr r2, [r1, %[o_jitter]]\n ands r0, r0, r2\n"                            \
    "ldr r2, [r1, %[o_period]]\n adds r0, r0, r2\n"                            \
    "ldr r2, [r1, %[o_reload]]\n str r0, [r2]\n"
#else
#define JITTER "5:\n"
#endif
#define LIMIT                                                                  \
    "4: cmp r3, #0\n beq 5b\n"                                                 \
    "push {r0, lr}\n bl prof_stop\n pop {r0, r1}\n mov lr, r1\n" DONE
#endif

#if PROF_JITTER
#define O_JITTER                                                               \
    , [o_seed] "i"(OFFSET(seed)), [o_jitter] "i"(OFFSET(jitter)),              \
        [o_period] "i"(OFFSET(period)), [o_reload] "i"(OFFSET(reload))
_Static_assert(AT(reload) + 4 == AT(data) && AT(seed) + 16 == AT(data),
               "the handler loads seed, jitter, period and reload at once");
#else
#define O_JITTER
#endif
#if RING
#define O_DATA , [log2] "i"(LOG2_SIZE), [up] "i"(32 - LOG2_SIZE), [down] "i"(30 - LOG2_SIZE)
#else
#define O_DATA                                                                 \
    , [shift] "i"(PROF_SHIFT), [bins] "i"(PROF_BINS), [base] "i"(PROF_BASE),   \
        [o_out] "i"(OFFSET(out)), [o_sat] "i"(OFFSET(saturated))
#endif
#if PROF_LR
#define O_LR , [o_lr] "i"(AT(lr) - AT(n))
#else
#define O_LR
#endif
#if HAS_TAG
#define O_TAG , [o_tag] "i"(AT(tag) - AT(n))
#else
#define O_TAG
#endif

_Static_assert(AT(limit) == AT(n) + 4, "the handler loads n and limit at once");

__attribute__((naked, used)) void PROF_HANDLER(void)
{
    __asm volatile(".syntax unified\n" SYMBOLS PROLOGUE ACK
                   "ldr r1, 90f\n" KEEP COUNT JITTER
                   "bx lr\n" PSP LIMIT KEEP_SLOW
                   ".balign 4\n"
#if MAINLINE
                   "90: .word %c[data]\n"
#else
                   "90: .word %c[n]\n"
#endif
                   BASE_WORDS ACK_WORDS DONE_WORDS
                   ::MEMBERS, [o_n] "i"(OFFSET(n)), [o_limit] "i"(OFFSET(limit)),
                   [o_data] "i"(OFFSET(data)) O_DATA O_JITTER O_LR O_TAG ACK_MEMBERS);
}
#endif

/* ---- As text ------------------------------------------------------------ */

static void dump_text(void (*put)(char), const char *text)
{
    while (*text)
        put(*text++);
}

static void dump_word(void (*put)(char), uint32_t word)
{
    for (int shift = 28; shift >= 0; shift -= 4)
        put("0123456789abcdef"[word >> shift & 15]);
}

static void dump_field(void (*put)(char), const char *name, uint32_t word)
{
    put(' ');
    dump_text(put, name);
    put('=');
    dump_word(put, word);
}

/* Words `from`..`to`-1 of an array taken modulo `size`, eight a line, and a
 * checksum, so that a lost character is found. */
static void dump_words(void (*put)(char), const char *name, const volatile void *words,
                       uint32_t from, uint32_t to, uint32_t size, int halves)
{
    uint32_t sum = 0, column = 0;
    dump_text(put, "prof ");
    dump_text(put, name);
    put('\n');
    for (uint32_t i = from; i != to; i++) {
        uint32_t word = halves ? ((const volatile uint16_t *)words)[i % size]
                               : ((const volatile uint32_t *)words)[i % size];
        sum += word;
        dump_word(put, word);
        put(++column % 8 && i + 1 != to ? ' ' : '\n');
    }
    dump_text(put, "prof sum ");
    dump_word(put, sum);
    put('\n');
}

void prof_dump(void (*put)(char c))
{
    uint32_t n = prof_ram.n;
    dump_text(put, "prof begin");
    dump_field(put, "version", 1);
    dump_field(put, "mode", PROF_MODE);
    dump_field(put, "timer", PROF_TIMER);
    dump_field(put, "n", n);
    dump_field(put, "limit", prof_ram.limit);
#if PROF_JITTER
    dump_field(put, "period", prof_ram.period + 1);
    dump_field(put, "jitter", prof_ram.jitter);
#else
    dump_field(put, "period", REG32(PROF_RELOAD) + 1);
#endif
    dump_field(put, "prescaler", PROF_PRESCALER);
#if HAS_CLOCK
    dump_field(put, "clock0", prof_ram.clock[0]);
    dump_field(put, "clock1", prof_ram.clock[1]);
    dump_field(put, "clockhz", PROF_CLOCK_HZ);
#endif
#if RING
    uint32_t kept = n < PROF_SIZE ? n : PROF_SIZE;
    dump_field(put, "size", PROF_SIZE);
    put('\n');
    dump_words(put, "pc", prof_ram.data, n - kept, n, PROF_SIZE, 0);
#if HAS_TAG
    dump_words(put, "tag", prof_ram.tag, n - kept, n, PROF_SIZE, 0);
#endif
#if PROF_LR
    dump_words(put, "lr", prof_ram.lr, n - kept, n, PROF_SIZE, 0);
#endif
#else
    dump_field(put, "size", PROF_BINS);
    dump_field(put, "base", (uint32_t)PROF_BASE);
    dump_field(put, "shift", PROF_SHIFT);
    dump_field(put, "out", prof_ram.out);
    dump_field(put, "saturated", prof_ram.saturated);
    put('\n');
    dump_words(put, "hist", prof_ram.data, 0, PROF_BINS, PROF_BINS, 1);
#endif
    dump_text(put, "prof end\n");
}
