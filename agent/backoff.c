/*
 * agent/backoff.c - see backoff.h. Full jitter after "Exponential Backoff And Jitter" (M. Brooker):
 * of the known kinds it gives the server the least work after an outage.
 */
#include "agent/backoff.h"

#include "base/file.h"

/* 2^BACKOFF_DOUBLINGS * floor is over the ceiling; more would only overflow. */
#define BACKOFF_DOUBLINGS 7

/* random / 2^32 of range_ns, without overflow for ranges up to years. */
static int64_t scale(int64_t range_ns, uint32_t random)
{
    return (int64_t)((double)range_ns * ((double)random / (double)UINT32_MAX));
}

int64_t backoff_next(struct backoff *backoff, uint32_t random)
{
    unsigned doublings =
        backoff->failures < BACKOFF_DOUBLINGS ? backoff->failures : BACKOFF_DOUBLINGS;
    int64_t range_ns = BACKOFF_FLOOR_NS << doublings;
    if (range_ns > BACKOFF_CEILING_NS)
        range_ns = BACKOFF_CEILING_NS;
    backoff->failures++;
    return scale(range_ns, random);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}

int64_t jitter(int64_t value_ns, int percent, uint32_t random)
{
    int64_t spread_ns = value_ns / 100 * percent;
    return value_ns - spread_ns + scale(2 * spread_ns, random);
}

uint32_t jitter_random(void)
{
    uint32_t random;
    random_bytes(&random, sizeof(random));
    return random;
}
