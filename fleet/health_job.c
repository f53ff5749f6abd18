/*
 * fleet/health_job.c - see health_job.h: minutes of jobs, and the facts that follow.
 */
#include "fleet/health_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fleet/health_private.h"
#include "fleet/site.h"

#define MINUTE_US       INT64_C(60000000)
#define KNOWN_MS        30000 /* of a minute, or it is unknown */
#define BUSY_PERCENT    90    /* of the seconds of a minute */
#define MET_PERCENT     95    /* of what it asked for */
#define PRESSED_PERCENT 90    /* of its limit: what it would send without is not known */
#define SHARES          101   /* percent of the port */
#define QUANTILE        95
#define MINUTE_MASK     ((UINT32_C(1) << JOB_MINUTES) - 1)

/* What a queue pair sent: of verbs, of Solar-RDMA; a row has one of them. */
static const char *const sent_names[] = {"tx_bytes", "sent_bytes"};

/* A promise and what came of it. */
struct health_pledge {
    struct health_promise promise;
    int64_t minute; /* that is open, since 1970; 0 = none */
    int64_t bytes;  /* of it */
    uint32_t known_ms, busy_ms;
    uint32_t known, below;          /* the last minutes, the newest in bit 0 */
    int64_t rates_bps[JOB_MINUTES]; /* of those that are known, the newest first */
    uint32_t minutes;               /* in shares */
    uint16_t shares[SHARES];        /* minutes at such a share of the port */
};

/* What was sent of it between a batch's samples. */
struct tally {
    int64_t bytes[TELEMETRY_SAMPLES_MAX];
    uint32_t ms[TELEMETRY_SAMPLES_MAX]; /* 0 = unknown */
};

/* Promises ------------------------------------------------------------------------------------ */

enum err_code health_promises_of(const struct view *view, const struct view_node *node,
                                 struct health_promise *out, size_t *out_count, bool *truncated,
                                 struct err *err)
{
    struct site_index index;
    size_t count = 0;
    site_index_init(&index);
    site_index_add_node(&index, view, node);
    site_index_finish(&index);
    bool nomem = index.nomem, more = false;
    for (size_t i = 0; i < index.site_count && !nomem; i++) {
        const struct site *site = &index.sites[i];
        int64_t speed_bps = site->port->speed_bps > 0 ? site->port->speed_bps : 0;
        for (size_t k = 0; k < site->job_count; k++) {
            const struct policy_job *job = site->jobs[k].job;
            const struct placement *placement = site->jobs[k].placement;
            struct health_promise promise = {
                .label = placement->label,
                .speed_bps = speed_bps,
                .guarantee_bps = bandwidth_on_port_bps(&job->guarantee, speed_bps),
                .limit_bps = bandwidth_on_port_bps(&job->limit, speed_bps),
                .demand_bps = bandwidth_on_port_bps(&job->demand, speed_bps),
                .asked = job->guarantee};
            if (promise.guarantee_bps == 0 && promise.limit_bps == 0)
                continue;
            more |= count == JOB_PROMISES_MAX;
            if (count == JOB_PROMISES_MAX)
                continue;
            snprintf(promise.job, sizeof(promise.job), "%.47s/%.47s", placement->tenant,
                     placement->job);
            text_copy(promise.port, sizeof(promise.port), site->port->id);
            out[count++] = promise;
        }
    }
    site_index_release(&index);
    if (nomem)
        return err_nomem(err);
    *out_count = count;
    *truncated = more;
    return ERR_OK;
}

static struct health_pledge *pledge_of(const struct health *health, uint32_t label,
                                       const char *port)
{
    for (size_t i = 0; i < health->pledge_count; i++) {
        struct health_pledge *pledge = &health->pledges[i];
        if (pledge->promise.label == label && strcmp(pledge->promise.port, port) == 0)
            return pledge;
    }
    return NULL;
}

enum err_code health_promise(struct health *health, const struct health_promise *promises,
                             size_t count, struct err *err)
{
    struct health_pledge *pledges = NULL;
    if (count > 0) {
        pledges = calloc(count, sizeof(*pledges));
        if (pledges == NULL)
            return err_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct health_promise *promise = &promises[i];
        const struct health_pledge *old = pledge_of(health, promise->label, promise->port);
        /* A label may be another job's by now. */
        if (old != NULL && strcmp(old->promise.job, promise->job) == 0)
            pledges[i] = *old;
        pledges[i].promise = *promise;
    }
    free(health->pledges);
    health->pledges = pledges;
    health->pledge_count = count;
    return ERR_OK;
}

/* Minutes ------------------------------------------------------------------------------------- */

static int64_t percent_of(int64_t part, int64_t whole)
{
    return part > INT64_MAX / 100 ? INT64_MAX / whole : part * 100 / whole;
}

static int64_t asked_bps(const struct health_promise *promise)
{
    bool is_less = promise->demand_bps > 0 && promise->demand_bps < promise->guarantee_bps;
    return is_less ? promise->demand_bps : promise->guarantee_bps;
}

static void keep_share(struct health_pledge *pledge, int64_t rate_bps)
{
    if (pledge->promise.speed_bps <= 0)
        return;
    int64_t share = percent_of(rate_bps, pledge->promise.speed_bps);
    if (pledge->minutes >= JOB_HISTORY_MINUTES) {
        pledge->minutes = 0;
        for (size_t i = 0; i < SHARES; i++) {
            pledge->shares[i] /= 2;
            pledge->minutes += pledge->shares[i];
        }
    }
    pledge->shares[share < SHARES ? share : SHARES - 1]++;
    pledge->minutes++;
}

static bool is_below(const struct health_pledge *pledge, int64_t rate_bps)
{
    int64_t asked = asked_bps(&pledge->promise);
    bool is_busy = (uint64_t)pledge->busy_ms * 100 >= (uint64_t)pledge->known_ms * BUSY_PERCENT;
    return asked > 0 && is_busy && rate_bps < asked / 100 * MET_PERCENT;
}

/* So many minutes of which nothing is known. */
static void pass_minutes(struct health_pledge *pledge, int64_t count)
{
    size_t by = count < JOB_MINUTES ? (size_t)count : JOB_MINUTES;
    memmove(pledge->rates_bps + by, pledge->rates_bps,
            (JOB_MINUTES - by) * sizeof(pledge->rates_bps[0]));
    pledge->known = pledge->known << by & MINUTE_MASK;
    pledge->below = pledge->below << by & MINUTE_MASK;
}

/* The open minute becomes one of the last ones, `minute` the open one. Of a clock that went back
 * it is as if a minute had passed. */
static void close_minute(struct health_pledge *pledge, int64_t minute)
{
    bool is_known = pledge->known_ms >= KNOWN_MS;
    int64_t skipped = minute > pledge->minute ? minute - pledge->minute - 1 : 0;
    if (pledge->minute != 0)
        pass_minutes(pledge, 1);
    if (pledge->minute != 0 && is_known) {
        int64_t rate_bps = pledge->bytes > INT64_MAX / 8000
                               ? INT64_MAX
                               : pledge->bytes * 8000 / (int64_t)pledge->known_ms;
        pledge->known |= 1;
        pledge->below |= is_below(pledge, rate_bps);
        pledge->rates_bps[0] = rate_bps;
        keep_share(pledge, rate_bps);
    }
    pass_minutes(pledge, skipped);
    pledge->minute = minute;
    pledge->bytes = 0;
    pledge->known_ms = pledge->busy_ms = 0;
}

/* What a queue pair's column counted between the samples. */
static void add_column(struct tally *tally, const struct telemetry_batch *batch,
                       const struct telemetry_column *column)
{
    struct telemetry_last last = {.value = TELEMETRY_ABSENT};
    for (size_t i = 0; i < batch->sample_count; i++) {
        struct telemetry_sum sum;
        (void)telemetry_next(&last, &batch->names[column->name], telemetry_time_us(batch, i),
                             batch->values[column->at + i], batch->interval_ms, &sum);
        if (sum.weight == 0)
            continue;
        if (__builtin_add_overflow(tally->bytes[i], sum.sum, &tally->bytes[i]))
            tally->bytes[i] = INT64_MAX;
        if (sum.weight > tally->ms[i])
            tally->ms[i] = sum.weight;
    }
}

static bool is_sent(const struct telemetry_name *name)
{
    if (name->course == TELEMETRY_GAUGE)
        return false;
    for (size_t i = 0; i < sizeof(sent_names) / sizeof(sent_names[0]); i++)
        if (strcmp(name->text, sent_names[i]) == 0)
            return true;
    return false;
}

static void add_row(const struct health *health, const struct telemetry_batch *batch,
                    const struct telemetry_row *row, struct tally *tallies)
{
    struct health_subject subject = {.kind = TELEMETRY_QP, .number = row->subject.number};
    char port[PORT_ID_SIZE];
    text_copy(subject.device, sizeof(subject.device), batch->devices[row->subject.device]);
    health_port_of(health, &subject, port);
    struct health_pledge *pledge =
        port[0] == '\0' ? NULL : pledge_of(health, row->subject.label, port);
    for (size_t k = 0; pledge != NULL && k < row->count; k++) {
        const struct telemetry_column *column = &batch->columns[row->first + k];
        if (is_sent(&batch->names[column->name]))
            add_column(&tallies[pledge - health->pledges], batch, column);
    }
}

static void take_samples(struct health_pledge *pledge, const struct tally *tally,
                         const struct telemetry_batch *batch)
{
    for (size_t i = 0; i < batch->sample_count; i++) {
        int64_t minute = telemetry_time_us(batch, i) / MINUTE_US;
        if (minute != pledge->minute)
            close_minute(pledge, minute);
        pledge->known_ms += tally->ms[i];
        pledge->busy_ms += tally->bytes[i] > 0 ? tally->ms[i] : 0;
        if (__builtin_add_overflow(pledge->bytes, tally->bytes[i], &pledge->bytes))
            pledge->bytes = INT64_MAX;
    }
}

/* Facts --------------------------------------------------------------------------------------- */

/* What it did not pass in 95 of 100 minutes; 0 = not known, or nothing. */
static int64_t measured_bps(const struct health_pledge *pledge)
{
    uint64_t above = 0, allowed = (uint64_t)pledge->minutes * (100 - QUANTILE) / 100;
    if (pledge->minutes < JOB_MEASURED_MINUTES)
        return 0;
    size_t share = SHARES;
    while (share > 0 && above <= allowed)
        above += pledge->shares[--share];
    return pledge->promise.speed_bps / 100 * (int64_t)share;
}

static int64_t demand_bps(const struct health_pledge *pledge)
{
    const struct health_promise *promise = &pledge->promise;
    int64_t measured = measured_bps(pledge);
    int64_t step_bps = promise->speed_bps / 100; /* it is known to that */
    bool is_pressed = promise->limit_bps > 0 && measured <= promise->limit_bps &&
                      measured + step_bps > promise->limit_bps / 100 * PRESSED_PERCENT;
    if (measured == 0 || (is_pressed && promise->demand_bps > measured))
        return promise->demand_bps;
    return measured;
}

/* Of the label's ports the worst; HEALTH_NONE = unknown. */
static void worst_of(const struct health *health, uint32_t label, int64_t *out_minutes,
                     int64_t *out_percent)
{
    *out_minutes = *out_percent = HEALTH_NONE;
    for (size_t i = 0; i < health->pledge_count; i++) {
        const struct health_pledge *pledge = &health->pledges[i];
        const struct health_promise *promise = &pledge->promise;
        int64_t minutes = __builtin_popcount(pledge->below), demand = demand_bps(pledge);
        if (promise->label != label)
            continue;
        if (promise->guarantee_bps > 0 && pledge->known != 0 && minutes > *out_minutes)
            *out_minutes = minutes;
        if (promise->limit_bps == 0 || demand == 0)
            continue;
        int64_t percent = percent_of(promise->limit_bps, demand);
        if (*out_percent == HEALTH_NONE || percent < *out_percent)
            *out_percent = percent;
    }
}

static enum err_code put_job(struct health *health, const struct health_promise *promise,
                             struct err *err)
{
    struct health_subject subject = {
        .kind = HEALTH_JOB, .number = promise->label, .label = promise->label};
    int64_t minutes, percent;
    enum err_code code = ERR_OK;
    text_copy(subject.device, sizeof(subject.device), promise->job);
    worst_of(health, promise->label, &minutes, &percent);
    if (minutes != HEALTH_NONE)
        code = health_server_put(health, &subject, "minutes_below_guarantee", minutes, err);
    if (code == ERR_OK && percent != HEALTH_NONE)
        code = health_server_put(health, &subject, "limit_of_demand_percent", percent, err);
    return code;
}

static bool is_first_of_job(const struct health *health, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (health->pledges[i].promise.label == health->pledges[at].promise.label)
            return false;
    return true;
}

enum err_code health_take_jobs(struct health *health, const struct telemetry_batch *batch,
                               struct err *err)
{
    enum err_code code = ERR_OK;
    health_server_begin(health, HEALTH_JOB);
    if (health->pledge_count == 0)
        return ERR_OK;
    struct tally *tallies = calloc(health->pledge_count, sizeof(*tallies));
    if (tallies == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < batch->row_count; i++)
        if (batch->rows[i].subject.kind == TELEMETRY_QP && batch->rows[i].subject.label != 0)
            add_row(health, batch, &batch->rows[i], tallies);
    for (size_t i = 0; i < health->pledge_count; i++)
        take_samples(&health->pledges[i], &tallies[i], batch);
    free(tallies);
    for (size_t i = 0; i < health->pledge_count && code == ERR_OK; i++)
        if (is_first_of_job(health, i))
            code = put_job(health, &health->pledges[i].promise, err);
    return code;
}

void health_each_kept(const struct health *health, health_kept_fn *fn, void *arg)
{
    for (size_t i = 0; i < health->pledge_count; i++) {
        const struct health_pledge *pledge = &health->pledges[i];
        struct health_kept kept = {.promise = &pledge->promise,
                                   .known_minutes = __builtin_popcount(pledge->known),
                                   .below_minutes = __builtin_popcount(pledge->below)};
        for (size_t k = 0; k < JOB_MINUTES; k++) {
            if ((pledge->known >> k & 1) == 0)
                continue;
            int64_t rate_bps = pledge->rates_bps[k];
            kept.mean_bps += rate_bps / kept.known_minutes; /* no sum that could be too big */
            kept.peak_bps = rate_bps > kept.peak_bps ? rate_bps : kept.peak_bps;
        }
        fn(arg, &kept);
    }
}
