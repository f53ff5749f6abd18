#pragma once
/*
 * fleet/histogram.h - how often something took how long: counts in fixed buckets, so that those of
 * many queue pairs, nodes and times add up. Pure.
 *
 * Two buckets an octave, from 256 ns up to 2^32 ns (4.3 s), one for what is longer. In telemetry a
 * bucket is a counter column (histogram_column()); the empty ones need none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/telemetry.h"

#define HISTOGRAM_BUCKETS     50
#define HISTOGRAM_PREFIX_SIZE 48

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
};

/* The longest time that is in the bucket; INT64_MAX of the last. */
int64_t histogram_end_ns(size_t bucket);
size_t histogram_bucket(int64_t time_ns); /* what is negative is in the first */
void histogram_add(struct histogram *histogram, int64_t time_ns);
/* Counts stay at their end. */
void histogram_merge(struct histogram *into, const struct histogram *from);
/* What came between two states of one; false: a count fell, it began anew. */
bool histogram_between(const struct histogram *before, const struct histogram *now,
                       struct histogram *out);
uint64_t histogram_count(const struct histogram *histogram);
/* So many permyriad took at most as long as *out_ns, a bucket's end: never better than it was.
 * p99 = 9900, p99.9 = 9990. False: it is empty. */
bool histogram_quantile_ns(const struct histogram *histogram, unsigned permyriad, int64_t *out_ns);

/* The column of a bucket: "latency.b7" of the prefix "latency". False: the prefix is too long, or
 * there is no such bucket. */
bool histogram_column(const char *prefix, size_t bucket, struct telemetry_name *out);
/* The other way; false: it is no bucket of that prefix. */
bool histogram_column_find(const char *prefix, const char *column, size_t *out_bucket);
