/*
 * base/loop_timer.c - see loop_timer.h and, for loop_timer_set and _free, loop.h.
 */
#include "base/loop_timer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define DISARMED SIZE_MAX

struct loop_timer {
    struct timers *timers;
    int64_t deadline_ns;
    uint64_t sequence; /* equal deadlines fire in the order of arming */
    size_t at;         /* index in the heap or DISARMED */
    loop_fn *fn;
    void *arg;
    struct loop_timer *prev, *next;
};

/* epoll_wait() counts without suspend; deadlines follow the same clock. */
static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static bool is_before(const struct loop_timer *a, const struct loop_timer *b)
{
    if (a->deadline_ns != b->deadline_ns)
        return a->deadline_ns < b->deadline_ns;
    return a->sequence < b->sequence;
}

static void place(struct timers *timers, size_t at, struct loop_timer *timer)
{
    timers->heap[at] = timer;
    timer->at = at;
}

/* Moves the timer at `at` up or down to where it belongs. */
static void settle(struct timers *timers, size_t at)
{
    struct loop_timer *timer = timers->heap[at];
    while (at > 0 && is_before(timer, timers->heap[(at - 1) / 2])) {
        place(timers, at, timers->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= timers->armed)
            break;
        if (child + 1 < timers->armed && is_before(timers->heap[child + 1], timers->heap[child]))
            child++;
        if (!is_before(timers->heap[child], timer))
            break;
        place(timers, at, timers->heap[child]);
        at = child;
    }
    place(timers, at, timer);
}

static void disarm(struct loop_timer *timer)
{
    struct timers *timers = timer->timers;
    size_t at = timer->at;
    if (at == DISARMED)
        return;
    timer->at = DISARMED;
    struct loop_timer *last = timers->heap[--timers->armed];
    if (last == timer)
        return;
    place(timers, at, last);
    settle(timers, at);
}

struct loop_timer *timers_add(struct timers *timers, loop_fn *fn, void *arg)
{
    if (timers->total == timers->room) {
        size_t room = timers->room == 0 ? 16 : 2 * timers->room;
        void *heap = realloc(timers->heap, room * sizeof(*timers->heap));
        if (heap == NULL)
            return NULL;
        timers->heap = heap;
        timers->room = room;
    }
    struct loop_timer *timer = calloc(1, sizeof(*timer));
    if (timer == NULL)
        return NULL;
    *timer = (struct loop_timer){.timers = timers, .at = DISARMED, .fn = fn, .arg = arg};
    timer->next = timers->all;
    if (timers->all != NULL)
        timers->all->prev = timer;
    timers->all = timer;
    timers->total++;
    return timer;
}

int timers_wait_ms(const struct timers *timers, int wait_ms)
{
    if (timers->armed == 0)
        return wait_ms;
    int64_t left_ns = timers->heap[0]->deadline_ns - now_ns();
    int64_t left_ms = left_ns <= 0 ? 0 : left_ns / NS_PER_MS + (left_ns % NS_PER_MS != 0);
    if (wait_ms >= 0 && left_ms > wait_ms)
        return wait_ms;
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

void timers_run(struct timers *timers)
{
    if (timers->armed == 0)
        return;
    int64_t now = now_ns();
    uint64_t last = timers->sequence; /* what callbacks arm from here on waits for the next turn */
    while (timers->armed > 0) {
        struct loop_timer *timer = timers->heap[0];
        if (timer->deadline_ns > now || timer->sequence > last)
            break;
        disarm(timer);
        timer->fn(timer->arg); /* may free the timer */
    }
}

void timers_release(struct timers *timers)
{
    while (timers->all != NULL)
        loop_timer_free(timers->all);
    free(timers->heap);
}

void loop_timer_set(struct loop_timer *timer, int64_t delay_ns)
{
    disarm(timer);
    if (delay_ns < 0)
        return;
    struct timers *timers = timer->timers;
    int64_t now = now_ns();
    timer->deadline_ns = delay_ns > INT64_MAX - now ? INT64_MAX : now + delay_ns;
    timer->sequence = ++timers->sequence;
    place(timers, timers->armed++, timer);
    settle(timers, timer->at);
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer == NULL)
        return;
    struct timers *timers = timer->timers;
    disarm(timer);
    if (timer->prev != NULL)
        timer->prev->next = timer->next;
    else
        timers->all = timer->next;
    if (timer->next != NULL)
        timer->next->prev = timer->prev;
    timers->total--;
    free(timer);
}
