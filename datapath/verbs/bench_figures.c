/*
 * datapath/verbs/bench_figures.c - what times say; see bench.h.
 */
#include "datapath/verbs/bench.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* One way is half of there and back, as perftest counts it. */
void bench_latency(int64_t *times, size_t count, struct bench_result *out)
{
    qsort(times, count, sizeof(*times), by_time);
    out->latency_min_ns = times[0] / 2;
    out->latency_p50_ns = times[(count - 1) / 2] / 2;
    out->latency_p99_ns = times[(count * 99 + 99) / 100 - 1] / 2;
}

void bench_spread(int64_t *times, size_t count, struct bench_result *out)
{
    qsort(times, count, sizeof(*times), by_time);
    int64_t median = times[(count - 1) / 2];
    out->iteration_ns = median;
    if (median > 0)
        out->spread_permyriad =
            (int64_t)((double)(times[count - 1] - times[0]) * 10000 / (double)median);
}
