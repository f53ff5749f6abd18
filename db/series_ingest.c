/*
 * db/series_ingest.c - batches into a frame on disk, then into the picture, then the answers. On
 * the writing thread.
 */
#include <inttypes.h>

#include "db/series_private.h"

/* What the batch says is possible and new. Under `lock`. */
static enum err_code judge(struct series *series, struct series_job *job, int64_t now_us)
{
    const struct telemetry_batch *batch = &series->batch;
    const struct series_node *node = &series->picture.nodes[job->number];
    if (batch->sample_count == 0)
        return err_set(&job->err, ERR_INVALID, "the batch has no samples");
    int64_t last_us = telemetry_time_us(batch, batch->sample_count - 1);
    if (last_us > now_us + SERIES_AHEAD_US)
        return err_set(&job->err, ERR_INVALID,
                       "the batch is of %" PRId64 " s from now: set the node's clock",
                       (last_us - now_us) / 1000000);
    if (batch->start_us < now_us - series->keep_us[SERIES_RAW])
        return err_set(&job->err, ERR_INVALID,
                       "the batch is older than what is kept (%" PRId64 " s)",
                       series->keep_us[SERIES_RAW] / 1000000);
    job->receipt.repeated = node->staged_stream == batch->stream && batch->seq <= node->staged_seq;
    job->receipt.samples = batch->sample_count;
    for (size_t i = 0; i < batch->sample_count && !job->receipt.repeated; i++)
        job->receipt.dropped += telemetry_time_us(batch, i) <= node->staged_us;
    return ERR_OK;
}

/* True = it goes into the frame; *out_before is then what was known of the node. */
static bool stage(struct series *series, struct series_job *job, int64_t now_us,
                  struct series_node *out_before)
{
    const struct telemetry_batch *batch = &series->batch;
    pthread_mutex_lock(&series->lock);
    job->code = series_picture_node(&series->picture, job->node, &job->number, &job->err);
    if (job->code == ERR_OK)
        job->code = judge(series, job, now_us);
    bool taken = job->code == ERR_OK && !job->receipt.repeated &&
                 job->receipt.dropped < job->receipt.samples;
    if (taken) {
        struct series_node *node = &series->picture.nodes[job->number];
        *out_before = *node;
        node->staged_stream = batch->stream;
        node->staged_seq = batch->seq;
        node->staged_us = telemetry_time_us(batch, batch->sample_count - 1);
        job->values = batch->value_count;
    }
    pthread_mutex_unlock(&series->lock);
    return taken;
}

/* Or what comes again would be taken for stored. */
static void unstage(struct series *series, const struct series_job *job,
                    const struct series_node *before)
{
    pthread_mutex_lock(&series->lock);
    struct series_node *node = &series->picture.nodes[job->number];
    node->staged_stream = before->staged_stream;
    node->staged_seq = before->staged_seq;
    node->staged_us = before->staged_us;
    pthread_mutex_unlock(&series->lock);
}

/* A job whose batch is in the file: into the picture, then to who listens. Only the first needs the
 * lock, so that who reads waits for one batch at most, and not for what is made of it. */
static void publish(struct series *series, const struct series_job *job, int64_t now_us)
{
    /* It was decoded before: neither fails but without memory, and the file has it. */
    bool good = telemetry_decode(job->data, job->len, &series->batch, NULL) == ERR_OK;
    pthread_mutex_lock(&series->lock);
    if (!good || series_fold(&series->roller, job->number, &series->batch, NULL) != ERR_OK)
        series->stats.failed_writes++;
    series->picture.nodes[job->number].heard_us = now_us;
    series->stats.batches++;
    series->stats.samples += job->receipt.samples;
    series->stats.values += job->values;
    pthread_mutex_unlock(&series->lock);
    if (good && series->stored != NULL)
        series->stored(series->stored_arg, job->node, &series->batch, now_us);
}

/* A job whose batch could not be written: it may come again. */
static void give_back(struct series *series, struct series_job *job, enum err_code code,
                      const struct err *err)
{
    pthread_mutex_lock(&series->lock);
    struct series_node *node = &series->picture.nodes[job->number];
    job->code = code;
    job->err = *err;
    node->staged_stream = node->stream;
    node->staged_seq = node->seq;
    node->staged_us = node->last_us;
    pthread_mutex_unlock(&series->lock);
}

/* Jobs from..to are in the frame or were dealt with: writes it, then takes them into the picture.
 */
static void commit(struct series *series, struct series_job *jobs, size_t count, int64_t now_us)
{
    struct frame_builder *builder = &series->builders[SERIES_RAW];
    uint64_t bytes = 0;
    struct err err = ERR_INIT;
    enum err_code code = ERR_OK;
    if (builder->entry_count > 0)
        code = series_names_store(series, &err);
    if (code == ERR_OK && builder->entry_count > 0)
        code = frame_write(&series->files[SERIES_RAW], builder, &bytes, &err);
    builder->entry_count = builder->len = 0;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].taken && code == ERR_OK)
            publish(series, &jobs[i], now_us);
        else if (jobs[i].taken)
            give_back(series, &jobs[i], code, &err);
    }
    pthread_mutex_lock(&series->lock);
    series->stats.bytes[SERIES_RAW] += bytes;
    series->stats.failed_writes += code != ERR_OK;
    for (size_t i = 0; i < count; i++) {
        series->stats.repeated += jobs[i].receipt.repeated;
        series->stats.dropped_samples += jobs[i].receipt.dropped;
        series->stats.refused += jobs[i].code == ERR_INVALID || jobs[i].code == ERR_LIMIT;
    }
    series->stats.cut_bytes = 0;
    for (int i = 0; i < SERIES_TIER_COUNT; i++)
        series->stats.cut_bytes += series->files[i].cut;
    pthread_mutex_unlock(&series->lock);
    for (size_t i = 0; i < count; i++)
        jobs[i].done(jobs[i].arg, jobs[i].code, &jobs[i].receipt, &jobs[i].err);
}

/* Into series->batch. */
static bool decode(struct series *series, struct series_job *job)
{
    job->code = telemetry_decode(job->data, job->len, &series->batch, &job->err);
    return job->code == ERR_OK;
}

/* The decoded batch into the frame. */
static void add(struct series *series, struct series_job *job, int64_t now_us)
{
    const struct telemetry_batch *batch = &series->batch;
    struct series_node before;
    if (!stage(series, job, now_us, &before))
        return;
    job->code = frame_add(&series->builders[SERIES_RAW], job->number, batch->start_us,
                          telemetry_time_us(batch, batch->sample_count - 1), job->data, job->len,
                          &job->err);
    job->taken = job->code == ERR_OK;
    if (!job->taken)
        unstage(series, job, &before);
}

void series_store(struct series *series, struct series_job *jobs, size_t count)
{
    struct frame_builder *builder = &series->builders[SERIES_RAW];
    int64_t now_us = series->clock->wall_us(series->clock);
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        struct series_job *job = &jobs[i];
        if (!decode(series, job))
            continue;
        int64_t period = frame_period(SERIES_RAW, series->batch.start_us);
        if (builder->entry_count > 0 &&
            (builder->period != period || frame_is_full(builder, job->len))) {
            /* Before this one is staged: the frame may fail. It decodes into the same batch. */
            commit(series, jobs + first, i - first, now_us);
            first = i;
            if (!decode(series, job))
                continue;
        }
        builder->period = period;
        add(series, job, now_us);
    }
    commit(series, jobs + first, count - first, now_us);
}
