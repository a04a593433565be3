/* Every kind of event. source fills a queue that sink empties; logger holds the bus that
 * sink wants; director goes from scene to scene, a TRACE_MARK each, and worker, sleeper,
 * reader and two guests play them. The trace begins before the first object is made, so
 * that it tells of all of them. V9 has no stream buffers. Not here: LOW_POWER, which needs
 * -DconfigUSE_TICKLESS_IDLE=1. SPDX-License-Identifier: MIT */
#include "tasks.h"

#include "event_groups.h"
#include "timers.h"

#define HAS_STREAMS (tskKERNEL_VERSION_MAJOR >= 10)
#if HAS_STREAMS
#include "message_buffer.h"
#include "stream_buffer.h"

static StreamBufferHandle_t bytes;
static MessageBufferHandle_t letters;
#endif

static QueueHandle_t samples, mailbox, scratch;
static SemaphoreHandle_t bus, slots;
static EventGroupHandle_t flags;
static TimerHandle_t blink;
static TaskHandle_t worker_task, sleeper_task, guest_task;

#define ARRIVED 1u /* bits of flags */
#define DONE 2u
#define NEVER 4u

static void pend_interrupt(void)
{
    REG32(0xE000E200u) = 1u << BOARD_SPARE_IRQ; /* NVIC_ISPR */
    __asm volatile("dsb\n isb" ::: "memory");
}

/* At a priority that the kernel masks: it may call it. */
void Spare_Handler(void)
{
    BaseType_t yield = pdFALSE;
    uint32_t letter = 'a';

    TRACE_ISR_ENTER();
    work_us(100);
    xSemaphoreGiveFromISR(slots, &yield);
    xQueueSendFromISR(mailbox, &letter, &yield);
    xQueueSendFromISR(mailbox, &letter, &yield); /* it is full */
    xQueueReceiveFromISR(mailbox, &letter, &yield);
    xQueueReceiveFromISR(mailbox, &letter, &yield); /* it is empty */
    xEventGroupSetBitsFromISR(flags, ARRIVED, &yield);
    vTaskNotifyGiveFromISR(worker_task, &yield);
    if (xTaskResumeFromISR(sleeper_task))
        yield = pdTRUE;
#if HAS_STREAMS
    xMessageBufferSendFromISR(letters, &letter, 1, &yield);
    xMessageBufferReceiveFromISR(letters, &letter, sizeof letter, &yield);
#endif
#if tskKERNEL_VERSION_MAJOR < 11 /* from V11 on portYIELD_FROM_ISR does it */
    TRACE_ISR_EXIT();
#endif
    portYIELD_FROM_ISR(yield);
}

/* Four samples every 8 ticks into a queue of two: the third finds it full, the fourth
 * waits for room. */
static void source(void *unused)
{
    TickType_t woken = xTaskGetTickCount();

    (void)unused;
    for (uint32_t sample = 0;; sample++) {
        vTaskDelayUntil(&woken, 8);
        work_us(200);
        xQueueSend(samples, &sample, 0);
        xQueueSend(samples, &sample, 0);
        xQueueSend(samples, &sample, 0);
        work_us(100);
        xQueueSend(samples, &sample, portMAX_DELAY);
    }
}

static void sink(void *unused)
{
    uint32_t sample;

    (void)unused;
    for (;;) {
        while (!xQueuePeek(samples, &sample, 4))
            work_us(100);
        xSemaphoreTake(bus, portMAX_DELAY);
        work_us(300);
        xSemaphoreGive(bus);
        xQueueReceive(samples, &sample, 0);
    }
}

/* A line for each slot, which blink and the interrupt give. */
static void logger(void *unused)
{
    (void)unused;
    for (;;) {
        xSemaphoreTake(slots, portMAX_DELAY);
        xSemaphoreTake(bus, portMAX_DELAY);
        work_us(1000);
        xSemaphoreGive(bus);
    }
}

static void blinked(TimerHandle_t timer)
{
    (void)timer;
    work_us(100);
    xSemaphoreGive(slots);
}

/* The interrupt's deferred half; then what director wants of it. */
static void worker(void *unused)
{
    (void)unused;
    for (;;) {
        ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        work_us(300);
        xEventGroupSetBits(flags, DONE);
        xTaskNotifyWait(0, ~0u, 0, portMAX_DELAY);
        work_us(200);
    }
}

static void sleeper(void *unused)
{
    (void)unused;
    for (;;) {
        vTaskSuspend(0);
        work_us(400);
    }
}

/* Leaves by itself; the second one is made to. */
static void guest(void *unused)
{
    (void)unused;
    work_us(500);
    vTaskDelete(0);
}

#if HAS_STREAMS
static void reader(void *unused)
{
    char byte[4];

    (void)unused;
    for (;;) {
        xStreamBufferReceive(bytes, byte, sizeof byte, 10);
        work_us(200);
    }
}

static void scene_streams(void)
{
    char text[6] = "hello";

    xStreamBufferSend(bytes, text, 4, 0);
    xStreamBufferSend(bytes, text, 4, portMAX_DELAY); /* until reader has taken some */
    xMessageBufferSend(letters, text, sizeof text, 0);
    xMessageBufferSend(letters, text, sizeof text, 0); /* no room for it */
    xMessageBufferReceive(letters, text, sizeof text, 0);
}
#endif

static void scene_interrupt(void)
{
    pend_interrupt();
    xEventGroupWaitBits(flags, ARRIVED | DONE, pdTRUE, pdTRUE, portMAX_DELAY);
    work_us(200);
    xEventGroupSync(flags, 0, NEVER, 1); /* V9's xEventGroupWaitBits tells of no timeout */
    xEventGroupClearBits(flags, NEVER);
}

static void scene_tasks(void)
{
    xTaskNotify(worker_task, 0, eNoAction);
    vTaskResume(sleeper_task);
    vTaskPrioritySet(sleeper_task, 4); /* it runs at once, and suspends itself */
    work_us(100);
    vTaskPrioritySet(sleeper_task, 2);
}

static void scene_guests(void)
{
    xTaskCreate(guest, "guest", configMINIMAL_STACK_SIZE, 0, 4, 0);
    xTaskCreate(guest, "evicted", configMINIMAL_STACK_SIZE, 0, 1, &guest_task);
    vTaskSuspend(guest_task);
    work_us(100);
    vTaskDelete(guest_task);
}

static void scene_objects(void)
{
    scratch = xQueueCreate(4, 1);
    work_us(100);
    vQueueDelete(scratch);
}

static void director(void *unused)
{
    static void (*const scenes[])(void) = {
        scene_interrupt,
        scene_tasks,
        scene_guests,
        scene_objects,
#if HAS_STREAMS
        scene_streams,
#endif
    };

    (void)unused;
    xTimerStart(blink, 0);
    for (uint32_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        vTaskDelay(4);
        TRACE_MARK(i + 1);
        scenes[i]();
    }
    vTaskSuspend(0);
}

static void control(void *unused)
{
    (void)unused;
    stop_after(40);
}

int main(void)
{
    board_init();
    *(volatile uint8_t *)(0xE000E400u + BOARD_SPARE_IRQ) = configMAX_SYSCALL_INTERRUPT_PRIORITY;
    REG32(0xE000E100u) = 1u << BOARD_SPARE_IRQ; /* NVIC_ISER */
    trace_start();
    samples = xQueueCreate(2, sizeof(uint32_t));
    mailbox = xQueueCreate(1, sizeof(uint32_t));
    bus = xSemaphoreCreateMutex();
    slots = xSemaphoreCreateCounting(4, 0);
    flags = xEventGroupCreate();
    blink = xTimerCreate("blink", 7, pdTRUE, 0, blinked);
    vQueueAddToRegistry(samples, "samples");
    vQueueAddToRegistry(bus, "bus");
    task(control, "ctl", 5);
    task(source, "source", 3);
    task(director, "director", 3);
    task(sink, "sink", 2);
    task(logger, "logger", 1);
    xTaskCreate(worker, "worker", configMINIMAL_STACK_SIZE, 0, 2, &worker_task);
    xTaskCreate(sleeper, "sleeper", configMINIMAL_STACK_SIZE, 0, 2, &sleeper_task);
#if HAS_STREAMS
    bytes = xStreamBufferCreate(4, 1);
    letters = xMessageBufferCreate(12);
    task(reader, "reader", 2);
#endif
    vTaskStartScheduler();
    for (;;)
        ;
}
