#pragma once
/*
 * agent/collect.h - reads the node's counters each second on a thread of its own, where a device
 * that hangs keeps nobody waiting, and makes batches of them in a spool. What the thread could not
 * read is a gap of the next batch with its reason; nothing is made up.
 */

#include "agent/exporter.h"
#include "agent/spool.h"
#include "base/clock.h"
#include "base/loop.h"
#include "datapath/counters.h"

#define COLLECT_INTERVAL_NS     (1 * NS_PER_S)
#define COLLECT_SAMPLES         10 /* of a batch; of the first a random number up to as many */
#define COLLECT_INTERVAL_MIN_NS (100 * NS_PER_MS)
#define COLLECT_INTERVAL_MAX_NS (60 * NS_PER_S)
#define COLLECT_BATCH_MAX_NS    (TELEMETRY_SPAN_MAX_MS * NS_PER_MS)
#define COLLECT_STOP_MS         500 /* then a thread that hangs is given up */

struct collect;

struct collect_config {
    const char *node;          /* for messages; copied */
    struct counters *counters; /* taken over, also on failure */
    struct spool *spool;       /* borrowed, longer; NULL = no batches are kept */
    struct exporter *exporter; /* borrowed, longer; NULL = nobody else is told */
    struct clock *clock;       /* borrowed; any thread */
    int64_t interval_ns;       /* 0 = COLLECT_INTERVAL_NS */
    size_t samples;            /* of a batch, at most TELEMETRY_SAMPLES_MAX; 0 = COLLECT_SAMPLES */
    struct loop *loop;
    void (*ready)(void *arg); /* on the loop: a batch is in the spool */
    void *arg;
};

/* Begins at once. */
ERR_MUST_CHECK enum err_code collect_new(const struct collect_config *config, struct collect **out,
                                         struct err *err);
/* What was read and is no batch yet becomes one. Before the loop and the spool. */
void collect_free(struct collect *collect);
OWN_DEFINE(collect, struct collect *, collect_free)
