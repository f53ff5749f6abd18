/*
 * fleet/health_latency.c - how long a queue pair's messages took, by the histogram that it counts:
 * the 99th percentile of a batch, as the fact latency_p99_ns. See health.h.
 *
 * A bucket counts from the batch's first sample to its last: what lies between two batches is left
 * out, which no quantile notices, and nothing of a batch need be kept for the next.
 */
#include "fleet/health_private.h"

#include <string.h>

#include "base/text.h"
#include "fleet/histogram.h"

#define HISTOGRAM "latency" /* the prefix of its columns, datapath/counters_solar.c */
#define P99       9900
#define NO_BUCKET UINT8_MAX

static bool first_and_last(const struct telemetry_batch *batch,
                           const struct telemetry_column *column, int64_t *first, int64_t *last)
{
    size_t seen = 0;
    for (size_t i = 0; i < batch->sample_count; i++) {
        int64_t value = batch->values[column->at + i];
        if (value == TELEMETRY_ABSENT)
            continue;
        *last = value;
        if (seen++ == 0)
            *first = value;
        else if (value < *first)
            return false; /* it began anew */
    }
    return seen >= 2;
}

/* False = it is not known. */
static bool p99_of(const struct telemetry_batch *batch, const struct telemetry_row *row,
                   const uint8_t *buckets, int64_t *out_ns)
{
    struct histogram histogram = {.counts = {0}};
    int64_t first = 0, last = 0;
    for (size_t k = 0; k < row->count; k++) {
        const struct telemetry_column *column = &batch->columns[row->first + k];
        uint8_t bucket = buckets[column->name];
        if (bucket == NO_BUCKET)
            continue;
        if (!first_and_last(batch, column, &first, &last) || first < 0)
            return false;
        histogram.counts[bucket] = (uint64_t)(last - first);
    }
    return histogram_count(&histogram) >= HEALTH_LATENCIES_MIN &&
           histogram_quantile_ns(&histogram, P99, out_ns);
}

static bool find_buckets(const struct telemetry_batch *batch, uint8_t *buckets)
{
    bool any = false;
    for (size_t i = 0; i < batch->name_count; i++) {
        size_t bucket;
        bool is = histogram_column_find(HISTOGRAM, batch->names[i].text, &bucket);
        buckets[i] = is ? (uint8_t)bucket : NO_BUCKET;
        any |= is;
    }
    return any;
}

enum err_code health_take_latencies(struct health *health, const struct telemetry_batch *batch,
                                    struct err *err)
{
    uint8_t buckets[TELEMETRY_NAMES_MAX];
    uint16_t input = health_input(health->book, HEALTH_LATENCY_INPUT);
    if (!find_buckets(batch, buckets))
        return ERR_OK;
    for (size_t i = 0; i < batch->row_count; i++) {
        const struct telemetry_row *row = &batch->rows[i];
        struct health_subject subject = {.kind = (int)row->subject.kind,
                                         .number = row->subject.number,
                                         .label = row->subject.label};
        struct health_slot *slot;
        struct health_datum *datum;
        int64_t ns;
        if (subject.kind != TELEMETRY_QP || subject.label == 0 || !p99_of(batch, row, buckets, &ns))
            continue;
        text_copy(subject.device, sizeof(subject.device), batch->devices[row->subject.device]);
        enum err_code code = health_slot_get(health, &subject, &slot, err);
        if (code != ERR_OK || slot == NULL)
            return code;
        code = health_datum_get(slot, input, &datum, err);
        if (code != ERR_OK)
            return code;
        slot->is_told = true;
        datum->source = HEALTH_FROM_NODE;
        datum->value = ns;
        datum->is_known = true;
    }
    return ERR_OK;
}
