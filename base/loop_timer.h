#pragma once
/*
 * base/loop_timer.h - the timers of a loop: a binary heap by deadline. Private to loop.c.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct timers {
    struct loop_timer **heap; /* armed timers, the next one first */
    size_t armed, room;       /* room is at least `total`, so that arming cannot fail */
    size_t total;
    struct loop_timer *all; /* list of all, armed or not */
    uint64_t sequence;
};

/* A disarmed timer, or NULL without memory. */
struct loop_timer *timers_add(struct timers *timers, loop_fn *fn, void *arg);

/* How long epoll may wait: until the next deadline (rounded up to ms), at most wait_ms (-1 = for
 * ever). */
int timers_wait_ms(const struct timers *timers, int wait_ms);

/* Runs what is due; each timer at most once, so that one re-armed with 0 starves nobody. */
void timers_run(struct timers *timers);

/* Frees all timers. */
void timers_release(struct timers *timers);
