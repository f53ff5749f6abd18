#pragma once
/*
 * db/series.h - telemetry of the fleet: latest values in memory, history in files of their own
 * below one folder, apart from the main store. One thread writes, one answers queries; neither is
 * the store's.
 *
 * Three tiers: raw batches as the nodes sent them, and roll-ups of a minute and of an hour. Each
 * tier is a folder of files, one a period (an hour, a day, 30 days), which are dropped by unlink.
 * A file is a row of frames (db/series_frame.h). A batch is acknowledged when its frame was
 * written: a crash of the server loses nothing that was acknowledged; a loss of power at most the
 * last second. What a crash tore is cut at the next start and said.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "fleet/name.h"
#include "fleet/telemetry.h"

#define SERIES_QUEUE_MAX      4096                  /* batches that wait; more: ERR_UNAVAILABLE */
#define SERIES_QUEUE_BYTES    (64 * 1024 * 1024)    /* of them; the same */
#define SERIES_QUERIES_MAX    64                    /* that wait; more: ERR_UNAVAILABLE */
#define SERIES_NODES_MAX      65536                 /* with anything in a file; see series_open() */
#define SERIES_TEXTS_MAX      65536                 /* different names of columns, and of devices */
#define SERIES_AHEAD_US       INT64_C(300000000)    /* a node's clock may be so far before ours */
#define SERIES_POINTS_MAX     200000                /* of one answer */
#define SERIES_SPAN_MAX       11000                 /* steps from its beginning to its end */
#define SERIES_SCAN_BYTES_MAX (512ll * 1024 * 1024) /* that one query may read */
#define SERIES_LABELS_MAX     999                   /* and one more is a page of the store */
#define SERIES_METRICS_MAX    16                    /* named in one query */

enum series_tier {
    SERIES_RAW = 0,
    SERIES_MINUTE,
    SERIES_HOUR,
    SERIES_TIER_COUNT,
};
const char *series_tier_name(enum series_tier tier); /* "raw", "minute", "hour" */
int64_t series_tier_step_us(enum series_tier tier);  /* 1 s, 1 min, 1 h */

struct series_config {
    const char *dir; /* made when missing */
    struct clock *clock;
    int64_t keep_us[SERIES_TIER_COUNT]; /* 0 = SERIES_KEEP_* */
    int64_t raw_bytes_max;              /* 0 = SERIES_RAW_BYTES; the oldest files go first */
    uint32_t nodes_max;                 /* 0 = SERIES_NODES_MAX */
    /* Roll-ups could not be made or written: once until they can again. Nobody else hears of it, as
     * of a raw batch its sender does. On a thread of the series, which it may not call. NULL =
     * none.
     */
    void (*failed)(void *arg, const struct err *err);
    void *failed_arg;
    /* Each batch when it was stored, once, before its answer; now_us is of our clock. On the
     * writing thread, under no lock: the next batches wait for it, queries do not. NULL = nobody.
     */
    void (*stored)(void *arg, const char *node, const struct telemetry_batch *batch,
                   int64_t now_us);
    void *stored_arg;
};
#define SERIES_KEEP_RAW_US    (INT64_C(6) * 3600 * 1000000)
#define SERIES_KEEP_MINUTE_US (INT64_C(14) * 86400 * 1000000)
#define SERIES_KEEP_HOUR_US   (INT64_C(400) * 86400 * 1000000)
#define SERIES_RAW_BYTES      (INT64_C(16) * 1024 * 1024 * 1024)

struct series;

/* Reads back what is needed to go on where it stopped. Once half of the nodes that may be are
 * there, those of which no file knows anything any more are forgotten. Blocking. */
ERR_MUST_CHECK enum err_code series_open(const struct series_config *config, struct series **out,
                                         struct err *err);
/* Finishes what is queued, rolls up what is open, joins the threads. */
void series_close(struct series *series);
OWN_DEFINE(series, struct series *, series_close)

struct series_receipt {
    bool repeated; /* the batch was stored before */
    size_t samples;
    size_t dropped; /* samples that are not later than what is stored: the node's clock went back */
};
/* On the series' thread, once. code: ERR_INVALID (damaged), ERR_LIMIT, ERR_IO (err_is_full()). */
typedef void series_put_fn(void *arg, enum err_code code, const struct series_receipt *receipt,
                           const struct err *err);
/* A batch of the node; data is borrowed until done was called. From any thread, does not block. */
ERR_MUST_CHECK enum err_code series_put(struct series *series, const char *node,
                                        const uint8_t *data, size_t len, series_put_fn *done,
                                        void *arg, struct err *err);

/* What is asked for; everything borrowed until done. */
struct series_query {
    const char *node;       /* NULL = all */
    int kind;               /* enum telemetry_kind; -1 = all */
    const char *device;     /* NULL = all */
    int64_t number;         /* -1 = all */
    const uint32_t *labels; /* rows of these jobs alone; NULL = all rows */
    size_t label_count;     /* 0 with labels: nothing */
    /* As many times: what was counted before is of another job that had the label; NULL = any. */
    const int64_t *labels_since_us;
    /* Of these rows those alone whose label the node may claim; NULL = all. Called on the thread
     * that answers, may not call the series. */
    bool (*owns)(void *owns_arg, const char *node, uint32_t label);
    void *owns_arg;
    const char *metrics[SERIES_METRICS_MAX];
    size_t metric_count; /* 0 = all */
    int64_t from_us, to_us;
    int64_t step_us; /* at least 1 s, whole seconds */
};

struct series_found {
    const char *node;
    enum telemetry_kind kind;
    const char *device;
    uint32_t number, pid, label;
    const struct telemetry_name *name;
    /* Of a history: `count` steps from query.from_us on; weight 0 = nothing is known. */
    const struct telemetry_sum *points;
    size_t count;
    /* Of the latest: */
    struct telemetry_last last;
    int64_t rate; /* a second, by the last two values; TELEMETRY_ABSENT = unknown */
};
struct series_gap {
    const char *node;
    struct telemetry_gap gap;
};

#define SERIES_GAPS_MAX 256 /* of one answer */

struct series_answer {
    const struct series_query *query;
    enum series_tier tier; /* that was read */
    struct series_found *found;
    size_t count;
    struct series_gap *gaps;
    size_t gap_count;
    bool truncated; /* over SERIES_POINTS_MAX or SERIES_GAPS_MAX: there is more */
    bool damaged;   /* a file could not be read to its end: what is missing is absent */
};
/* On the series' query thread; everything is borrowed. ERR_LIMIT: the span or what had to be read
 * is too much; the text says what to do. */
typedef void series_query_fn(void *arg, enum err_code code, const struct series_answer *answer,
                             const struct err *err);
/* From any thread, does not block. The coarsest tier whose step divides the query's is read. */
ERR_MUST_CHECK enum err_code series_query(struct series *series, const struct series_query *query,
                                          series_query_fn *done, void *arg, struct err *err);

/* The latest values, from memory, of the query's node, kind, device, number, labels and metrics;
 * false of fn = stop. Any thread; nobody may call the series from fn. Rows that were not seen for
 * SERIES_STALE_US are gone. */
typedef bool series_latest_fn(void *arg, const struct series_found *found);
void series_latest(struct series *series, const struct series_query *query, series_latest_fn *fn,
                   void *arg);
#define SERIES_STALE_US INT64_C(600000000)

struct series_stats {
    uint64_t batches, samples, values; /* stored since the start */
    uint64_t repeated, refused, dropped_samples, cut_bytes, failed_writes;
    uint64_t failed_rolls;             /* of failed_writes those of roll-ups */
    uint64_t bytes[SERIES_TIER_COUNT]; /* written since the start */
    uint32_t nodes, rows, queued;
    uint64_t columns; /* with a latest value */
};
void series_stats_get(struct series *series, struct series_stats *out); /* any thread */

/* Fault injection for tests: the tier's next write of a frame finds the disk full. */
void series_test_fail_write(struct series *series, enum series_tier tier);
