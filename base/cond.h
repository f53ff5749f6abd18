#pragma once
/*
 * base/cond.h - condition variables that wait on the monotonic clock, so that a step of the wall
 * clock neither ends nor prolongs a wait.
 */

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* For pthread_cond_timedwait() with a cond_deadline(). Destroy it as any other. */
void cond_init(pthread_cond_t *cond);

/* The moment wait_ns from now. */
struct timespec cond_deadline(int64_t wait_ns);
