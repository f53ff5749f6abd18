#pragma once
/*
 * agent/backoff.h - how long to wait before the next try, with jitter, so that a thousand agents
 * do not come back in the same instant. Pure: the random number is an argument.
 */

#include <stdint.h>

#include "base/clock.h"

#define BACKOFF_FLOOR_NS   (250 * NS_PER_MS)
#define BACKOFF_CEILING_NS (30 * NS_PER_S)

struct backoff {
    unsigned failures; /* in a row */
};

/*
 * Counts a failure and returns the wait: uniform in [0, min(ceiling, floor * 2^(failures-1))]
 * ("full jitter"). random is any 32 bits.
 */
int64_t backoff_next(struct backoff *backoff, uint32_t random);
void backoff_reset(struct backoff *backoff);

/* value_ns moved by at most `percent` of itself, up or down. */
int64_t jitter(int64_t value_ns, int percent, uint32_t random);

/* 32 random bits for the two above. */
uint32_t jitter_random(void);
