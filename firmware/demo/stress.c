/* The recorder under attack: two tasks that mark and yield, and a timer interrupt every few
 * dozen instructions, at priority 0, above what the kernel masks, that marks too. After each
 * batch the whole ring is checked: times in order, every source's marks complete and in
 * their order, as many records as were written. SPDX-License-Identifier: MIT */
#include "tasks.h"

#define TIM3(offset) REG32(0x40000400u + (offset))
#define TIM3_IRQ 29
#define BATCH (TRACE_SIZE - 64)
#ifndef INTERRUPT_TICKS /* from one to the next, at least: a slower recorder needs more */
#define INTERRUPT_TICKS 60
#endif

volatile uint32_t stress_records, stress_wrong, stress_interrupts;
unsigned stress_switches; /* counted by traceTASK_SWITCHED_OUT */
static volatile uint32_t marks[2], interrupt_marks, random_ = 1;

__attribute__((noinline)) static void finished(void)
{
    __asm volatile("");
}

void TIM3_IRQHandler(void)
{
    TIM3(0x10) = 0;
    random_ = random_ * 1664525u + 1013904223u;
    if (trace_buf.on) { /* the sequence shows a loss */
        TRACE_MARK(0xC000 | (interrupt_marks & 0xFFF));
        interrupt_marks++;
        stress_interrupts++;
    }
    TIM3(0x2C) = INTERRUPT_TICKS + (random_ >> 26); /* ARR: QEMU sets its next alarm only when it is written */
}

/* In a place of its own: the ring is at rest. */
static void check(unsigned switches)
{
    uint32_t head = trace_buf.head, next[4] = {0}, ins = 0;

    if (head != marks[0] + marks[1] + interrupt_marks + switches)
        stress_wrong++;
    for (uint32_t i = 0; i < head; i++) {
        const struct trace_record *record = &trace_buf.ring[i];
        if (i && record->ts - record[-1].ts > 1000000)
            stress_wrong++;
        if (record->ev == TRACE_IN)
            ins++;
        else if (record->ev != TRACE_USER_MARK || (record->arg & 0xFFF) != (next[record->arg >> 14]++ & 0xFFF))
            stress_wrong++;
    }
    if (ins != switches || next[0] != marks[0] || next[1] != marks[1] || next[3] != interrupt_marks)
        stress_wrong++;
    stress_records += head;
}

static void mark(uint32_t who)
{
    uint32_t primask;

    if (trace_buf.head >= BATCH) {
        /* Stop and look. Only this is masked, not what is under test. */
        __asm volatile("mrs %0, primask\n cpsid i" : "=r"(primask)::"memory");
        trace_stop();
        check(stress_switches);
        marks[0] = marks[1] = interrupt_marks = stress_switches = 0;
        if (stress_records >= 1000000)
            finished();
        trace_start();
        __asm volatile("msr primask, %0" ::"r"(primask) : "memory");
    }
    TRACE_MARK(who << 14 | (marks[who] & 0xFFF));
    marks[who] = marks[who] + 1;
}

static void first(void *unused)
{
    (void)unused;
    trace_start(); /* anew: the scheduler's start is a switch that is not counted */
    marks[1] = stress_switches = 0;
    REG32(0x40023840u) |= 2; /* RCC_APB1ENR: TIM3EN */
    TIM3(0x2C) = 99;         /* ARR */
    TIM3(0x0C) = 1;          /* DIER.UIE */
    *(volatile uint8_t *)(0xE000E400u + TIM3_IRQ) = 0;
    REG32(0xE000E100u) = 1u << TIM3_IRQ; /* NVIC_ISER */
    TIM3(0x00) = 1;                      /* CR1.CEN */
    for (;;) {
        mark(0);
        mark(0);
        taskYIELD();
    }
}

static void second(void *unused)
{
    (void)unused;
    for (;;) {
        mark(1);
        taskYIELD();
    }
}

int main(void)
{
    board_init();
    task(first, "first", 1);
    task(second, "second", 1);
    run();
}
