#pragma once
/*
 * fleet/telemetry.h - what a node counted: samples of rows, a batch of them as bytes, and the
 * arithmetic of counters. Pure. Made by agent/collect, kept by db/series.
 *
 * A batch holds up to TELEMETRY_SAMPLES_MAX samples, a second apart as a rule. Each row (a queue
 * pair, a port, a priority of a port, ...) has columns, a value of each a sample. Names of columns
 * are the canonical ones of fleet/evidence/counter.h, or the driver's own. What was not read is
 * TELEMETRY_ABSENT, never 0. The form of the bytes: doc/telemetry.md.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "fleet/inventory.h"

#define TELEMETRY_BODY_MAX    (256 * 1024) /* bytes of a batch */
#define TELEMETRY_SAMPLES_MAX 60
#define TELEMETRY_ROWS_MAX    4096
#define TELEMETRY_COLUMNS_MAX 16384 /* of all rows */
#define TELEMETRY_NAMES_MAX   512   /* different names of columns */
#define TELEMETRY_DEVICES_MAX 256
#define TELEMETRY_GAPS_MAX    64
#define TELEMETRY_NAME_SIZE   64
#define TELEMETRY_SPAN_MAX_MS 600000 /* from the first sample to the last */
#define TELEMETRY_STRIDES     3      /* samples further apart than so many intervals tell no rate */
#define TELEMETRY_ABSENT      INT64_MIN
#define TELEMETRY_TIME_MIN_US INT64_C(946684800000000)    /* 2000 */
#define TELEMETRY_TIME_MAX_US INT64_C(253402300799000000) /* 9999 */

/* What a row is about. */
enum telemetry_kind {
    TELEMETRY_NODE = 0,
    TELEMETRY_PORT,     /* device: PCI address/port */
    TELEMETRY_PRIORITY, /* device as of a port; number: 0 to 7 */
    TELEMETRY_QP,       /* device: name of the RDMA device; number: QPN */
    TELEMETRY_RDMA,     /* device: name of the RDMA device; number: its port */
    TELEMETRY_GPU,
    TELEMETRY_PCIE,
    TELEMETRY_IRQ,         /* device: PCI address, as of the GPU, PCIe, temperature and PTP rows */
    TELEMETRY_TEMPERATURE, /* number: of the sensor on its device */
    TELEMETRY_PTP,
    TELEMETRY_KIND_COUNT,
};
const char *telemetry_kind_name(enum telemetry_kind kind);
bool telemetry_kind_find(const char *name, enum telemetry_kind *out);

/* How the values of a column go. */
enum telemetry_course {
    TELEMETRY_GAUGE = 0,
    TELEMETRY_STAYS, /* a counter that stays at its end: 2^width - 1; width 0 = never gets there */
    TELEMETRY_WRAPS, /* a counter that goes on at 0 after 2^width - 1 */
    TELEMETRY_COURSE_COUNT,
};

struct telemetry_name {
    char text[TELEMETRY_NAME_SIZE];
    uint8_t course; /* enum telemetry_course */
    uint8_t width;  /* bits, 0 to 63 */
};

struct telemetry_subject {
    enum telemetry_kind kind;
    uint16_t device; /* index into the batch's devices */
    uint32_t number;
    uint32_t pid;   /* owner of a queue pair; 0 = unknown */
    uint32_t label; /* of its job (fleet/placement.h); 0 = unknown */
};

struct telemetry_column {
    uint16_t name; /* index */
    uint32_t at;   /* of its first value in `values`; as many as samples */
};

struct telemetry_row {
    struct telemetry_subject subject;
    uint32_t first, count; /* columns */
};

/* Why nothing is known of a time. */
enum telemetry_gap_reason {
    TELEMETRY_GAP_START = 0, /* the agent did not run */
    TELEMETRY_GAP_OVERFLOW,  /* the server was away for longer than the agent keeps */
    TELEMETRY_GAP_READ,      /* the node could not be read in time */
    TELEMETRY_GAP_CLOCK,     /* the node's clock was set */
    TELEMETRY_GAP_COUNT,
};
const char *telemetry_gap_name(enum telemetry_gap_reason reason);

struct telemetry_gap {
    int64_t from_us, to_us;
    enum telemetry_gap_reason reason;
};

/* A batch; owned memory that clear() keeps for the next one. */
struct telemetry_batch {
    uint64_t stream;      /* of one run of an agent; 1 or more */
    uint64_t seq;         /* in the stream; a batch that comes again has the same */
    uint32_t interval_ms; /* between samples, as intended */
    int64_t start_us;     /* of the first sample */
    size_t sample_count;
    uint32_t offset_ms[TELEMETRY_SAMPLES_MAX]; /* from the start; growing; the first is 0 */
    size_t name_count, device_count, gap_count;
    struct telemetry_name *names;  /* TELEMETRY_NAMES_MAX */
    char (*devices)[PORT_ID_SIZE]; /* TELEMETRY_DEVICES_MAX */
    struct telemetry_gap gaps[TELEMETRY_GAPS_MAX];
    size_t row_count, column_count, value_count;
    size_t row_room, column_room, value_room;
    struct telemetry_row *rows;
    struct telemetry_column *columns;
    int64_t *values;
};
void telemetry_batch_init(struct telemetry_batch *batch);
void telemetry_batch_clear(struct telemetry_batch *batch);
void telemetry_batch_release(struct telemetry_batch *batch);

int64_t telemetry_time_us(const struct telemetry_batch *batch, size_t sample);

/* Building: samples are set first, then names and devices as needed, rows, columns of the last row.
 * The value pointer is good until the next column. ERR_LIMIT at a named maximum; ERR_INVALID: a
 * name that is none (1 to 63 of letters, digits, '_', '-', '.', ':', '[', ']'). */
ERR_MUST_CHECK enum err_code telemetry_name_add(struct telemetry_batch *batch,
                                                const struct telemetry_name *name, uint16_t *out,
                                                struct err *err);
ERR_MUST_CHECK enum err_code telemetry_device_add(struct telemetry_batch *batch, const char *device,
                                                  uint16_t *out, struct err *err);
ERR_MUST_CHECK enum err_code telemetry_row_add(struct telemetry_batch *batch,
                                               const struct telemetry_subject *subject,
                                               struct err *err);
/* All values are TELEMETRY_ABSENT at first. */
ERR_MUST_CHECK enum err_code telemetry_column_add(struct telemetry_batch *batch, uint16_t name,
                                                  int64_t **out_values, struct err *err);

bool telemetry_name_is_valid(const char *text);

/* That sample alone, which makes `out` anew (initialised before). On failure `out` is empty. */
ERR_MUST_CHECK enum err_code telemetry_batch_sample(const struct telemetry_batch *batch,
                                                    size_t sample, struct telemetry_batch *out,
                                                    struct err *err);

/* As bytes; malloc'ed. ERR_LIMIT over TELEMETRY_BODY_MAX. */
ERR_MUST_CHECK enum err_code telemetry_encode(const struct telemetry_batch *batch, uint8_t **out,
                                              size_t *out_len, struct err *err);
/* From bytes, which are hostile; clears batch first. ERR_INVALID says at which byte. */
ERR_MUST_CHECK enum err_code telemetry_decode(const uint8_t *data, size_t len,
                                              struct telemetry_batch *batch, struct err *err);

/* Counters ------------------------------------------------------------------------------------ */

enum telemetry_step {
    TELEMETRY_KNOWN = 0,
    TELEMETRY_RESET,     /* it fell, and no wrap explains that: what was counted is unknown */
    TELEMETRY_SATURATED, /* it stands at its end: it counted at least so far */
    TELEMETRY_UNKNOWN,   /* one of the two is absent */
};
/* What a counter counted between two values. *out is set when KNOWN. */
enum telemetry_step telemetry_increase(const struct telemetry_name *name, int64_t before,
                                       int64_t now, int64_t *out);

/* What is known of a span. Of a counter: sum = what it counted, weight = milliseconds that it is
 * known for, min and max = rates a second. Of a gauge: weight = values, min and max = of them.
 * weight 0 = nothing is known. */
struct telemetry_sum {
    int64_t sum, min, max;
    uint32_t weight;
};
void telemetry_sum_merge(struct telemetry_sum *into, const struct telemetry_sum *from);

/* Where a series stands between its values. */
struct telemetry_last {
    int64_t value; /* TELEMETRY_ABSENT = none yet */
    int64_t time_us;
};
/* Takes the next value; one that is not later than the last is left out. *out (weight 0 = nothing)
 * is what it adds to its span. */
enum telemetry_step telemetry_next(struct telemetry_last *last, const struct telemetry_name *name,
                                   int64_t time_us, int64_t value, uint32_t interval_ms,
                                   struct telemetry_sum *out);
