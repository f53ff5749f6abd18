#pragma once
/*
 * server/limit.h - how often a caller may call: a token bucket in one number.
 *
 * The number is the time at which the bucket is full again (the "theoretical arrival time" of the
 * generic cell rate algorithm, ITU-T I.371 A.1). One compare-and-swap a request, no lock, no timer.
 */

#include <stdbool.h>
#include <stdint.h>

struct limit_rate {
    int64_t interval_ns; /* between two calls in the long run; 0 = no limit */
    int64_t burst_ns;    /* how far a caller may be ahead of that */
};
/* per_second calls, and as many at once as LIMIT_BURST_S seconds allow; 0 = no limit. */
#define LIMIT_BURST_S 2
struct limit_rate limit_rate_of(uint32_t per_second);

struct limit {
    _Atomic int64_t full_ns;
};

/* Any thread. True = go on; false = too often, *out_wait_ns until the next call would go on. */
bool limit_take(struct limit *limit, const struct limit_rate *rate, int64_t now_mono_ns,
                int64_t *out_wait_ns);
