/*
 * fleet/histogram.c - see histogram.h.
 */
#include "fleet/histogram.h"

#define FIRST_SHIFT    8     /* 256 ns */
#define HALF_PERMYRIAD 14142 /* of an octave's beginning: the root of 2 */

int64_t histogram_end_ns(size_t bucket)
{
    int64_t octave = INT64_C(1) << (FIRST_SHIFT + bucket / 2);
    if (bucket + 1 >= HISTOGRAM_BUCKETS)
        return INT64_MAX;
    return bucket % 2 == 0 ? octave : octave * HALF_PERMYRIAD / 10000;
}

size_t histogram_bucket(int64_t time_ns)
{
    size_t low = 0, high = HISTOGRAM_BUCKETS - 1; /* the first whose end is not before it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (histogram_end_ns(middle) < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_to(uint64_t *count, uint64_t more)
{
    *count = UINT64_MAX - *count < more ? UINT64_MAX : *count + more;
}

void histogram_add(struct histogram *histogram, int64_t time_ns)
{
    add_to(&histogram->counts[histogram_bucket(time_ns)], 1);
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        add_to(&into->counts[i], from->counts[i]);
}

bool histogram_between(const struct histogram *before, const struct histogram *now,
                       struct histogram *out)
{
    struct histogram between;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (now->counts[i] < before->counts[i])
            return false;
        between.counts[i] = now->counts[i] - before->counts[i];
    }
    *out = between;
    return true;
}

uint64_t histogram_count(const struct histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        add_to(&count, histogram->counts[i]);
    return count;
}

/* The rank rounded up, without an overflow: the values behind the point must be at least as many.
 */
static uint64_t rank_of(uint64_t count, unsigned permyriad)
{
    uint64_t whole = count / 10000 * permyriad, rest = count % 10000 * permyriad;
    uint64_t rank = whole + (rest + 9999) / 10000;
    return rank == 0 ? 1 : rank;
}

bool histogram_quantile_ns(const struct histogram *histogram, unsigned permyriad, int64_t *out_ns)
{
    uint64_t count = histogram_count(histogram), seen = 0;
    uint64_t rank = rank_of(count, permyriad > 10000 ? 10000 : permyriad);
    if (count == 0)
        return false;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        add_to(&seen, histogram->counts[i]);
        if (seen >= rank) {
            *out_ns = histogram_end_ns(i);
            break;
        }
    }
    return true;
}
