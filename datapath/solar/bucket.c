/*
 * datapath/solar/bucket.c - see bucket.h.
 */
#include "datapath/solar/bucket.h"

#include <assert.h>

#define BIT_NS      INT64_C(8000000000) /* of a byte at 1 bit/s */
#define FILL_MAX_NS (INT64_MAX / 4)     /* 73 years */

static int64_t fill_ns(int64_t rate_bps, int64_t burst_bytes)
{
    int64_t ns = burst_bytes * BIT_NS / rate_bps; /* below 2^63: 2^30 * 8e9 = 8.6e18 */
    return ns < 1 ? 1 : ns > FILL_MAX_NS ? FILL_MAX_NS : ns;
}

void bucket_init(struct bucket *b, int64_t rate_bps, int64_t burst_bytes, int64_t now_ns)
{
    assert(rate_bps >= 1 && rate_bps <= BUCKET_RATE_MAX_BPS);
    assert(burst_bytes >= 1 && burst_bytes <= BUCKET_BURST_MAX_BYTE);
    *b = (struct bucket){
        .rate_bps = rate_bps, .burst_ns = fill_ns(rate_bps, burst_bytes), .full_ns = now_ns};
}

void bucket_retune(struct bucket *b, int64_t rate_bps, int64_t burst_bytes, int64_t now_ns)
{
    double level = (double)(b->full_ns > now_ns ? b->full_ns - now_ns : 0);
    double missing_ns = level * ((double)b->rate_bps / (double)rate_bps);
    bucket_init(b, rate_bps, burst_bytes, now_ns);
    /* A debt of hours comes from a far lower rate: a burst of debt is enough then. */
    b->full_ns += missing_ns < 2.0 * (double)b->burst_ns ? (int64_t)missing_ns : 2 * b->burst_ns;
}

bool bucket_has(const struct bucket *b, int64_t now_ns)
{
    return b->full_ns < now_ns || b->full_ns - now_ns < b->burst_ns;
}

int64_t bucket_ready_ns(const struct bucket *b)
{
    return b->full_ns - b->burst_ns + 1;
}

void bucket_take(struct bucket *b, int64_t bytes, int64_t now_ns)
{
    assert(bytes >= 0 && bytes <= BUCKET_BURST_MAX_BYTE);
    if (b->full_ns < now_ns) {
        b->full_ns = now_ns;
        b->rest = 0;
    }
    int64_t parts = bytes * BIT_NS;
    int64_t ns = parts / b->rate_bps;
    b->rest += parts % b->rate_bps;
    if (b->rest >= b->rate_bps) {
        b->rest -= b->rate_bps;
        ns++;
    }
    b->full_ns = ns > INT64_MAX / 2 - b->full_ns ? INT64_MAX / 2 : b->full_ns + ns;
}
