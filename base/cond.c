/*
 * base/cond.c - see cond.h.
 */
#include "base/cond.h"

#include "base/clock.h"

void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

struct timespec cond_deadline(int64_t wait_ns)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t at_ns = at.tv_sec * NS_PER_S + at.tv_nsec + wait_ns;
    return (struct timespec){.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S};
}
