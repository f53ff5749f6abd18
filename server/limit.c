/*
 * server/limit.c - see limit.h.
 */
#include "server/limit.h"

#include <stdatomic.h>

#include "base/clock.h"

struct limit_rate limit_rate_of(uint32_t per_second)
{
    if (per_second == 0)
        return (struct limit_rate){.interval_ns = 0};
    int64_t interval_ns = NS_PER_S / per_second;
    return (struct limit_rate){.interval_ns = interval_ns == 0 ? 1 : interval_ns,
                               .burst_ns = LIMIT_BURST_S * NS_PER_S};
}

bool limit_take(struct limit *limit, const struct limit_rate *rate, int64_t now_mono_ns,
                int64_t *out_wait_ns)
{
    if (rate->interval_ns == 0)
        return true;
    int64_t full_ns = atomic_load_explicit(&limit->full_ns, memory_order_relaxed), next_ns;
    do {
        int64_t from_ns = full_ns > now_mono_ns ? full_ns : now_mono_ns;
        next_ns = from_ns + rate->interval_ns;
        if (next_ns - now_mono_ns > rate->burst_ns) {
            *out_wait_ns = next_ns - now_mono_ns - rate->burst_ns;
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&limit->full_ns, &full_ns, next_ns,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}
