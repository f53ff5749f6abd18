#pragma once
/*
 * db/series_private.h - what the files of db/series share: the head of a frame, the picture in
 * memory, the object. The picture belongs to the writing thread; others look under `lock`.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "db/series.h"
#include "db/series_frame.h"

#define FRAME_MAGIC      0x31524653u /* "SFR1" */
#define FRAME_HASH_START UINT64_C(14695981039346656037)

struct frame_head {
    uint32_t magic, entry_count, raw_len, packed_len;
    int64_t first_us, last_us;
    uint64_t hash; /* of the above and the entries */
};

void frame_path(const char *dir, enum series_tier tier, int64_t period, char out[FRAME_PATH_MAX]);
uint64_t frame_hash(const void *data, size_t len, uint64_t hash);

/* Texts that repeat, by number ----------------------------------------------------------------- */

struct series_texts {
    char **items;     /* owned; NULL = its number is spare */
    uint32_t *owners; /* who brought it; of names of nodes nobody */
    uint32_t count, room;
    uint32_t *spare; /* owned; numbers that nothing uses any more, room for all */
    uint32_t spare_count;
    bool renamed;    /* a spare number was given to another text */
    uint32_t *slots; /* open addressing; number + 1 */
    uint32_t slot_count;
    uint32_t max; /* ERR_LIMIT beyond */
};
ERR_MUST_CHECK enum err_code series_text(struct series_texts *texts, const char *text,
                                         uint32_t *out, struct err *err);
/* Texts whose number is not used (a byte each says so) go, and all numbers without one are spare.
 */
void series_texts_forget(struct series_texts *texts, const uint8_t *used);
void series_texts_release(struct series_texts *texts);

/* The picture (series_memory.c) ---------------------------------------------------------------- */

struct series_metric {
    uint32_t name; /* of picture.names */
    struct telemetry_last last;
    int64_t rate; /* TELEMETRY_ABSENT = unknown */
    struct telemetry_sum minute, hour;
};

struct series_row {
    uint32_t device; /* of picture.devices */
    uint32_t number, pid, label;
    uint8_t kind;
    uint16_t count, room;
    struct series_metric *metrics; /* owned */
    int64_t last_us;
};

struct series_node {
    uint64_t stream, seq;               /* of the last batch that is stored */
    uint64_t staged_stream, staged_seq; /* of the last one that is being written */
    int64_t last_us, staged_us;         /* newest sample */
    int64_t heard_us;                   /* by our clock */
    int64_t minute_us, hour_us;         /* beginnings of what is summed up; 0 = nothing */
    int64_t minute_from_us;             /* earlier samples are in a roll-up already */
    int64_t hour_from_us;
    struct series_row *rows; /* owned */
    uint32_t row_count, row_room;
    struct telemetry_gap gaps[4]; /* since the last roll-up of a minute; more are in raw alone */
    uint8_t gap_count;
    uint32_t texts; /* names and devices that it was the first to bring */
    uint32_t number;
};

struct series_picture {
    struct series_texts node_names; /* number = that of frame entries */
    struct series_node *nodes;      /* owned; by number */
    uint32_t node_room;
    struct series_texts devices, name_keys;
    struct telemetry_name *names; /* owned; by number of name_keys */
    uint32_t name_room;
    uint64_t columns;
    uint32_t rows;
    /* scratch */
    uint32_t *cells;  /* of a batch's columns: index into the row's metrics */
    uint32_t *places; /* of a batch's rows: index into the node's rows */
    uint32_t *slots;  /* of a node's rows, by what they are about: index + 1; open addressing */
    bool indexed;     /* slots are those of the node at hand */
    struct telemetry_batch roll;
};
void series_picture_release(struct series_picture *picture);
#define NO_PLACE UINT32_MAX
/* The row that the subject is, a new one when it must be; NO_PLACE: the node has too many. Rows
 * come in the same order as a rule: *hint is where to look first. picture->indexed is false before
 * the first of a batch. */
ERR_MUST_CHECK enum err_code series_place_row(struct series_picture *picture,
                                              struct series_node *node,
                                              const struct telemetry_subject *subject,
                                              uint32_t device, uint32_t *hint, uint32_t *out,
                                              struct err *err);
/* The next number has no node; series_texts_forget() makes it spare. */
ERR_MUST_CHECK enum err_code series_picture_skip(struct series_picture *picture, struct err *err);
ERR_MUST_CHECK enum err_code series_picture_node(struct series_picture *picture, const char *name,
                                                 uint32_t *out, struct err *err);

/* A roll-up that is ready: a batch of four "samples" (sum, min, max, weight), interval_ms the
 * tier's step in s, start_us the beginning, stream the time in us up to which samples are in it. */
typedef enum err_code series_rolled_fn(void *arg, enum series_tier tier, uint32_t node,
                                       const struct telemetry_batch *roll, struct err *err);
struct series_roller {
    struct series_picture *picture;
    series_rolled_fn *fn;
    void *arg;
};

/* Takes a batch into the picture; minutes and hours that it ends are rolled up. */
ERR_MUST_CHECK enum err_code series_fold(struct series_roller *roller, uint32_t node,
                                         const struct telemetry_batch *batch, struct err *err);
/* Takes a minute's roll-up into the hour: after a start. */
ERR_MUST_CHECK enum err_code series_fold_minute(struct series_roller *roller, uint32_t node,
                                                const struct telemetry_batch *roll,
                                                struct err *err);
/* Forgets names of columns and of devices that no row has any more, once half of the room for them
 * is taken. Without memory they stay. */
void series_sweep(struct series_picture *picture);
/* Rolls up what is open of a node that was heard of last before then; INT64_MAX = of any. */
ERR_MUST_CHECK enum err_code series_roll_idle(struct series_roller *roller, uint32_t node,
                                              int64_t before_us, struct err *err);

/* The object (series.c) ------------------------------------------------------------------------ */

struct series_job {
    char node[NAME_SIZE];
    const uint8_t *data;
    size_t len;
    series_put_fn *done;
    void *arg;
    /* Set while it is written: */
    enum err_code code;
    struct err err;
    struct series_receipt receipt;
    uint32_t number; /* of the node */
    size_t values;
    bool taken; /* into the frame */
};

struct series_ask {
    struct series_query query; /* from aligned to the step */
    series_query_fn *done;
    void *arg;
};

struct series {
    char dir[FRAME_DIR_MAX];
    struct clock *clock;
    int64_t keep_us[SERIES_TIER_COUNT], raw_bytes_max;
    void (*failed)(void *arg, const struct err *err); /* NULL = nobody wants to hear it */
    void *failed_arg;
    void (*stored)(void *arg, const char *node, const struct telemetry_batch *batch,
                   int64_t now_us);
    void *stored_arg;
    pthread_t writer, reader;
    bool threads;
    pthread_mutex_t queue_lock;
    pthread_cond_t queue_filled, asks_filled;
    struct series_job *queue, *working; /* SERIES_QUEUE_MAX each; swapped */
    size_t queue_count, queue_bytes;
    struct series_ask asks[SERIES_QUERIES_MAX];
    size_t ask_count;
    bool stop;
    _Atomic bool cancel; /* a query under way ends */

    pthread_mutex_t lock; /* of the picture and stats */
    struct series_picture picture;
    struct series_stats stats;
    /* of the writing thread */
    struct series_roller roller;
    struct frame_file files[SERIES_TIER_COUNT];
    struct frame_builder builders[SERIES_TIER_COUNT];
    struct telemetry_batch batch;
    bool failing; /* roll-ups cannot be written: said */
    int64_t ticked_ns, flushed_ns, trimmed_ns;
    int names_fd;
    uint32_t names_stored; /* of picture.node_names */
};

/* series.c: the roller's fn; arg is the series. Under `lock`. */
ERR_MUST_CHECK enum err_code series_take_roll(void *arg, enum series_tier tier, uint32_t node,
                                              const struct telemetry_batch *roll, struct err *err);
/* Writes the roll-ups that wait. Under `lock`. */
void series_flush_rolls(struct series *series);
/* series_ingest.c: stores the jobs and tells each. On the writing thread. */
void series_store(struct series *series, struct series_job *jobs, size_t count);

/* series_recover.c */
ERR_MUST_CHECK enum err_code series_names_load(struct series *series, struct err *err);
/* The names that are not in the file yet, before a frame that uses their numbers. */
ERR_MUST_CHECK enum err_code series_names_store(struct series *series, struct err *err);
ERR_MUST_CHECK enum err_code series_recover(struct series *series, struct err *err);
/* series_latest.c: node may be NULL without query->owns. */
bool series_wants_row(const struct series_query *query, const char *node,
                      const struct telemetry_subject *subject, const char *device);
bool series_wants_metric(const struct series_query *query, const char *name);
/* From when on what was counted under the label is asked for. */
int64_t series_since(const struct series_query *query, uint32_t label);
/* series_query.c */
void series_run_query(struct series *series, const struct series_ask *ask);
