/*
 * db/series.c - see series.h: the object, its two threads and their queues.
 *
 *   HTTP thread -- series_put() --> queue -- writer: series_ingest.c --> raw frame --> done()
 *                                              |
 *                                              v series_memory.c: picture, minutes, hours
 *                                        roll-ups --> minute and hour frames
 *   HTTP thread -- series_query() -> asks -- reader: series_query.c --> done()
 */
#include "db/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "db/series_private.h"

#define SLICE_NS    (2 * NS_PER_MS) /* as long as more comes, it goes into the same frame */
#define SLICES_MAX  25
#define GATHER_MAX  512
#define TICK_NS     NS_PER_S
#define FLUSH_NS    (5 * NS_PER_S) /* roll-ups wait for others at most so long */
#define FLUSH_BYTES (256 * 1024)
#define TRIM_NS     (60 * NS_PER_S)
#define IDLE_US     INT64_C(120000000) /* of a node without news so long all is rolled up */

/* Roll-ups ------------------------------------------------------------------------------------- */

static void note_failure(struct series *series, const struct err *err)
{
    series->stats.failed_writes++;
    series->stats.failed_rolls++;
    if (!series->failing && series->failed != NULL)
        series->failed(series->failed_arg, err);
    series->failing = true;
}

static void flush_tier(struct series *series, enum series_tier tier)
{
    struct frame_builder *builder = &series->builders[tier];
    uint64_t bytes;
    struct err err = ERR_INIT;
    if (builder->entry_count == 0)
        return;
    if (series_names_store(series, &err) != ERR_OK ||
        frame_write(&series->files[tier], builder, &bytes, &err) != ERR_OK) {
        note_failure(series, &err); /* tried again; see make_way() for the end of that */
        return;
    }
    series->failing = false;
    series->stats.bytes[tier] += bytes;
}

/* Minutes first: an hour without its minutes would be summed up again after a crash. */
void series_flush_rolls(struct series *series)
{
    flush_tier(series, SERIES_MINUTE);
    flush_tier(series, SERIES_HOUR);
}

/* A frame is of one file; one that cannot be written is given up when there is no more room: raw
 * batches still hold what it was made of. */
static void make_way(struct series *series, enum series_tier tier, int64_t period, size_t len)
{
    struct frame_builder *builder = &series->builders[tier];
    if (builder->entry_count > 0 && (builder->period != period || frame_is_full(builder, len))) {
        flush_tier(series, tier);
        builder->entry_count = builder->len = 0;
    }
    builder->period = period;
}

enum err_code series_take_roll(void *arg, enum series_tier tier, uint32_t node,
                               const struct telemetry_batch *roll, struct err *err)
{
    struct series *series = arg;
    OWN(mem) void *memory = NULL;
    uint8_t *data = NULL;
    size_t len = 0;
    enum err_code code = telemetry_encode(roll, &data, &len, err);
    memory = data;
    if (code != ERR_OK)
        return code;
    make_way(series, tier, frame_period(tier, roll->start_us), len);
    return frame_add(&series->builders[tier], node, roll->start_us, (int64_t)roll->stream, data,
                     len, err);
}

/* The writing thread --------------------------------------------------------------------------- */

static void deadline(int64_t ns, struct timespec *out)
{
    clock_gettime(CLOCK_MONOTONIC, out);
    ns += out->tv_nsec;
    out->tv_sec += ns / NS_PER_S;
    out->tv_nsec = ns % NS_PER_S;
}

static void trim(struct series *series, int64_t now_us)
{
    for (int i = 0; i < SERIES_TIER_COUNT; i++)
        frame_trim(series->dir, (enum series_tier)i, now_us - series->keep_us[i],
                   i == SERIES_RAW ? series->raw_bytes_max : 0);
}

static void roll_idle(struct series *series, int64_t before_us)
{
    struct err err = ERR_INIT;
    for (uint32_t i = 0; i < series->picture.node_names.count; i++)
        if (series_roll_idle(&series->roller, i, before_us, &err) != ERR_OK)
            note_failure(series, &err);
}

static void tick(struct series *series)
{
    int64_t now_ns = series->clock->mono_ns(series->clock);
    int64_t now_us = series->clock->wall_us(series->clock);
    if (now_ns - series->ticked_ns < TICK_NS)
        return;
    series->ticked_ns = now_ns;
    frame_sync(&series->files[SERIES_RAW]);
    pthread_mutex_lock(&series->lock);
    roll_idle(series, now_us - IDLE_US);
    if (now_ns - series->flushed_ns >= FLUSH_NS ||
        series->builders[SERIES_MINUTE].len >= FLUSH_BYTES) {
        series_flush_rolls(series);
        series->flushed_ns = now_ns;
    }
    pthread_mutex_unlock(&series->lock);
    if (now_ns - series->trimmed_ns >= TRIM_NS) {
        trim(series, now_us);
        pthread_mutex_lock(&series->lock);
        series_sweep(&series->picture);
        pthread_mutex_unlock(&series->lock);
        series->trimmed_ns = now_ns;
    }
}

/* Waits for jobs, then as long as more of them come, a little. Under queue_lock. */
static size_t gather(struct series *series)
{
    struct timespec until;
    deadline(TICK_NS, &until);
    while (series->queue_count == 0 && !series->stop)
        if (pthread_cond_timedwait(&series->queue_filled, &series->queue_lock, &until) != 0)
            break;
    for (int i = 0; i < SLICES_MAX && series->queue_count > 0 && !series->stop; i++) {
        size_t before = series->queue_count;
        struct timespec slice = {.tv_nsec = SLICE_NS};
        if (before >= GATHER_MAX)
            break;
        pthread_mutex_unlock(&series->queue_lock);
        nanosleep(&slice, NULL);
        pthread_mutex_lock(&series->queue_lock);
        if (series->queue_count == before)
            break;
    }
    size_t count = series->queue_count;
    struct series_job *jobs = series->queue;
    series->queue = series->working;
    series->working = jobs;
    series->queue_count = series->queue_bytes = 0;
    return count;
}

static void *writer_main(void *arg)
{
    struct series *series = arg;
    for (bool over = false; !over;) {
        pthread_mutex_lock(&series->queue_lock);
        size_t count = gather(series);
        over = series->stop && count == 0;
        pthread_mutex_unlock(&series->queue_lock);
        if (count > 0)
            series_store(series, series->working, count);
        tick(series);
    }
    return NULL;
}

static void *reader_main(void *arg)
{
    struct series *series = arg;
    for (;;) {
        pthread_mutex_lock(&series->queue_lock);
        while (series->ask_count == 0 && !series->stop)
            pthread_cond_wait(&series->asks_filled, &series->queue_lock);
        if (series->ask_count == 0) {
            pthread_mutex_unlock(&series->queue_lock);
            return NULL;
        }
        struct series_ask ask = series->asks[0];
        memmove(series->asks, series->asks + 1, --series->ask_count * sizeof(ask));
        pthread_mutex_unlock(&series->queue_lock);
        series_run_query(series, &ask);
    }
}

/* Life ----------------------------------------------------------------------------------------- */

static enum err_code make_folders(struct series *series, const struct series_config *config,
                                  struct err *err)
{
    static const int64_t keep_us[] = {SERIES_KEEP_RAW_US, SERIES_KEEP_MINUTE_US,
                                      SERIES_KEEP_HOUR_US};
    int n = snprintf(series->dir, sizeof(series->dir), "%s", config->dir);
    if (n < 0 || (size_t)n >= sizeof(series->dir))
        return err_set(err, ERR_LIMIT, "the path of the telemetry's folder is too long");
    enum err_code code = ERR_OK;
    for (int i = 0; code == ERR_OK && i < SERIES_TIER_COUNT; i++) {
        char path[FRAME_PATH_MAX];
        enum series_tier tier = (enum series_tier)i;
        snprintf(path, sizeof(path), "%s/%s", series->dir, series_tier_name(tier));
        code = file_mkdirs(path, 0700, err);
        series->files[i] = (struct frame_file){.tier = tier, .fd = -1};
        memcpy(series->files[i].dir, series->dir, sizeof(series->dir));
        series->keep_us[i] = config->keep_us[i] != 0 ? config->keep_us[i] : keep_us[i];
    }
    series->raw_bytes_max = config->raw_bytes_max != 0 ? config->raw_bytes_max : SERIES_RAW_BYTES;
    return code;
}

static enum err_code init(struct series *series, struct err *err)
{
    pthread_condattr_t attr;
    series->names_fd = -1;
    pthread_mutex_init(&series->queue_lock, NULL);
    pthread_mutex_init(&series->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&series->queue_filled, &attr);
    pthread_cond_init(&series->asks_filled, NULL);
    pthread_condattr_destroy(&attr);
    series->picture.devices.max = series->picture.name_keys.max = SERIES_TEXTS_MAX;
    series->roller = (struct series_roller){&series->picture, series_take_roll, series};
    telemetry_batch_init(&series->batch);
    telemetry_batch_init(&series->picture.roll);
    series->queue = calloc(SERIES_QUEUE_MAX, sizeof(*series->queue));
    series->working = calloc(SERIES_QUEUE_MAX, sizeof(*series->working));
    return series->queue == NULL || series->working == NULL ? err_nomem(err) : ERR_OK;
}

static enum err_code start_threads(struct series *series, struct err *err)
{
    int why = pthread_create(&series->writer, NULL, writer_main, series);
    if (why != 0)
        return err_set_errno(err, ERR_UNAVAILABLE, why, "no thread for the telemetry");
    why = pthread_create(&series->reader, NULL, reader_main, series);
    if (why == 0) {
        series->threads = true;
        return ERR_OK;
    }
    pthread_mutex_lock(&series->queue_lock);
    series->stop = true;
    pthread_cond_signal(&series->queue_filled);
    pthread_mutex_unlock(&series->queue_lock);
    pthread_join(series->writer, NULL);
    return err_set_errno(err, ERR_UNAVAILABLE, why, "no thread for the telemetry");
}

enum err_code series_open(const struct series_config *config, struct series **out, struct err *err)
{
    OWN(series) struct series *series = calloc(1, sizeof(*series));
    if (series == NULL)
        return err_nomem(err);
    series->clock = config->clock;
    series->picture.node_names.max = config->nodes_max != 0 ? config->nodes_max : SERIES_NODES_MAX;
    series->failed = config->failed;
    series->failed_arg = config->failed_arg;
    series->stored = config->stored;
    series->stored_arg = config->stored_arg;
    enum err_code code = init(series, err);
    for (int i = 0; i < SERIES_TIER_COUNT; i++)
        series->files[i].fd = -1;
    if (code == ERR_OK)
        code = make_folders(series, config, err);
    if (code == ERR_OK)
        trim(series, series->clock->wall_us(series->clock));
    if (code == ERR_OK)
        code = series_names_load(series, err);
    if (code == ERR_OK)
        code = series_recover(series, err);
    if (code == ERR_OK)
        code = start_threads(series, err);
    if (code == ERR_OK)
        *out = GIVE(series);
    return code;
}

static void stop_threads(struct series *series)
{
    pthread_mutex_lock(&series->queue_lock);
    series->stop = true;
    series->cancel = true;
    pthread_cond_broadcast(&series->queue_filled);
    pthread_cond_broadcast(&series->asks_filled);
    pthread_mutex_unlock(&series->queue_lock);
    pthread_join(series->writer, NULL);
    pthread_join(series->reader, NULL);
    roll_idle(series, INT64_MAX);
    series_flush_rolls(series);
    for (int i = 0; i < SERIES_TIER_COUNT; i++)
        frame_sync(&series->files[i]);
}

void series_close(struct series *series)
{
    if (series == NULL)
        return;
    if (series->threads)
        stop_threads(series);
    for (int i = 0; i < SERIES_TIER_COUNT; i++) {
        frame_close(&series->files[i]);
        frame_builder_release(&series->builders[i]);
    }
    if (series->names_fd >= 0)
        close(series->names_fd);
    series_picture_release(&series->picture);
    telemetry_batch_release(&series->batch);
    free(series->queue);
    free(series->working);
    pthread_cond_destroy(&series->queue_filled);
    pthread_cond_destroy(&series->asks_filled);
    pthread_mutex_destroy(&series->queue_lock);
    pthread_mutex_destroy(&series->lock);
    free(series);
}

/* Callers -------------------------------------------------------------------------------------- */

enum err_code series_put(struct series *series, const char *node, const uint8_t *data, size_t len,
                         series_put_fn *done, void *arg, struct err *err)
{
    struct series_job job = {.data = data, .len = len, .done = done, .arg = arg};
    snprintf(job.node, sizeof(job.node), "%s", node);
    pthread_mutex_lock(&series->queue_lock);
    bool full = series->stop || series->queue_count == SERIES_QUEUE_MAX ||
                series->queue_bytes + len > SERIES_QUEUE_BYTES;
    if (!full) {
        series->queue[series->queue_count++] = job;
        series->queue_bytes += len;
        pthread_cond_signal(&series->queue_filled);
    }
    pthread_mutex_unlock(&series->queue_lock);
    return full ? err_set(err, ERR_UNAVAILABLE,
                          "too many batches of telemetry wait to be stored; send it again later")
                : ERR_OK;
}

enum err_code series_query(struct series *series, const struct series_query *query,
                           series_query_fn *done, void *arg, struct err *err)
{
    struct series_ask ask = {.query = *query, .done = done, .arg = arg};
    ask.query.from_us -= query->from_us % query->step_us;
    if (query->to_us <= ask.query.from_us ||
        (query->to_us - ask.query.from_us) / query->step_us >= SERIES_SPAN_MAX)
        return err_set(err, ERR_LIMIT,
                       "from must be before to, and at most %d steps between them; ask for a "
                       "shorter time or a longer step",
                       SERIES_SPAN_MAX);
    pthread_mutex_lock(&series->queue_lock);
    bool full = series->stop || series->ask_count == SERIES_QUERIES_MAX;
    if (!full)
        series->asks[series->ask_count++] = ask;
    pthread_cond_signal(&series->asks_filled);
    pthread_mutex_unlock(&series->queue_lock);
    return full ? err_set(err, ERR_UNAVAILABLE,
                          "%d queries of telemetry wait already; ask again later",
                          SERIES_QUERIES_MAX)
                : ERR_OK;
}

void series_stats_get(struct series *series, struct series_stats *out)
{
    pthread_mutex_lock(&series->queue_lock);
    uint32_t queued = (uint32_t)series->queue_count;
    pthread_mutex_unlock(&series->queue_lock);
    pthread_mutex_lock(&series->lock);
    *out = series->stats;
    out->nodes = series->picture.node_names.count - series->picture.node_names.spare_count;
    out->rows = series->picture.rows;
    out->columns = series->picture.columns;
    out->queued = queued;
    pthread_mutex_unlock(&series->lock);
}

void series_test_fail_write(struct series *series, enum series_tier tier)
{
    series->files[tier].fail = true;
}
