/*
 * agent/collect.c - see collect.h.
 */
#include "agent/collect.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cond.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "fleet/name.h"

struct collect {
    struct collect_config config;
    char node[NAME_SIZE];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop, ended, abandoned; /* ended: the thread touches nothing any more */
    /* of the thread */
    struct telemetry_batch batch;
    size_t taken, wanted; /* samples of the batch */
    struct telemetry_gap gaps[TELEMETRY_GAPS_MAX];
    size_t gap_count; /* of the next batch */
    int64_t last_us;  /* of the last sample; 0 = none yet */
    bool failing;     /* said */
    bool full;        /* said */
    size_t row;       /* of the look under way; SIZE_MAX = none */
    size_t hint;
};

static void add_gap(struct collect *c, int64_t from_us, int64_t to_us,
                    enum telemetry_gap_reason reason)
{
    if (from_us <= 0 || to_us <= from_us)
        return;
    if (c->gap_count > 0 && c->gaps[c->gap_count - 1].reason == reason &&
        c->gaps[c->gap_count - 1].to_us >= from_us) {
        c->gaps[c->gap_count - 1].to_us = to_us; /* it goes on */
        return;
    }
    if (c->gap_count == TELEMETRY_GAPS_MAX) { /* the newest say most */
        memmove(c->gaps, c->gaps + 1, (TELEMETRY_GAPS_MAX - 1) * sizeof(c->gaps[0]));
        c->gap_count--;
    }
    c->gaps[c->gap_count++] = (struct telemetry_gap){from_us, to_us, reason};
}

/* What a look tells ---------------------------------------------------------------------------- */

static void say_full(struct collect *c, const struct err *err)
{
    if (!c->full)
        log_warning("agent", "node %s: not everything is in its telemetry: %s", c->node, err->text);
    c->full = true;
}

static bool is_row(const struct telemetry_row *row, const struct telemetry_subject *subject)
{
    const struct telemetry_subject *s = &row->subject;
    return s->kind == subject->kind && s->device == subject->device &&
           s->number == subject->number && s->pid == subject->pid && s->label == subject->label;
}

/* Rows come in the same order each time, as a rule. */
static void on_row(void *arg, enum telemetry_kind kind, const char *device,
                   const struct telemetry_subject *which)
{
    struct collect *c = arg;
    struct telemetry_subject subject = *which;
    struct err err = ERR_INIT;
    c->row = SIZE_MAX;
    subject.kind = kind;
    if (telemetry_device_add(&c->batch, device, &subject.device, &err) != ERR_OK) {
        say_full(c, &err);
        return;
    }
    size_t count = c->batch.row_count;
    for (size_t i = 0; i < count; i++) {
        size_t at = (c->hint + i) % count;
        if (is_row(&c->batch.rows[at], &subject)) {
            c->row = at;
            c->hint = at + 1;
            return;
        }
    }
    if (telemetry_row_add(&c->batch, &subject, &err) != ERR_OK)
        say_full(c, &err);
    else
        c->row = count;
}

static int64_t *find_column(struct collect *c, const struct telemetry_name *name)
{
    const struct telemetry_row *row = &c->batch.rows[c->row];
    for (size_t i = row->first; i < row->first + row->count; i++) {
        const struct telemetry_name *known = &c->batch.names[c->batch.columns[i].name];
        if (strcmp(known->text, name->text) == 0)
            return c->batch.values + c->batch.columns[i].at;
    }
    return NULL;
}

/* The first that tells a counter is right. A column that an old row gets anew waits for the next
 * batch: columns of a row stand together. */
static void on_value(void *arg, const struct telemetry_name *name, int64_t value)
{
    struct collect *c = arg;
    struct err err = ERR_INIT;
    uint16_t index;
    if (c->row == SIZE_MAX)
        return;
    int64_t *values = find_column(c, name);
    if (values == NULL && c->row + 1 == c->batch.row_count &&
        (telemetry_name_add(&c->batch, name, &index, &err) != ERR_OK ||
         telemetry_column_add(&c->batch, index, &values, &err) != ERR_OK)) {
        say_full(c, &err);
        return;
    }
    if (values != NULL && values[c->taken] == TELEMETRY_ABSENT)
        values[c->taken] = value;
}

/* Batches -------------------------------------------------------------------------------------- */

static void begin(struct collect *c, size_t wanted)
{
    telemetry_batch_clear(&c->batch);
    c->batch.sample_count = c->config.samples; /* room for all of them */
    c->taken = 0;
    c->wanted = wanted;
    c->hint = 0;
}

static void store(struct collect *c, const uint8_t *data, size_t len)
{
    const int64_t times_us[2] = {c->batch.start_us, c->last_us};
    struct spool_lost lost = {0};
    struct err err = ERR_INIT;
    pthread_mutex_lock(&c->lock);
    if (c->abandoned) { /* spool and loop may be gone */
        pthread_mutex_unlock(&c->lock);
        return;
    }
    enum err_code code = spool_add(c->config.spool, data, len, times_us, &lost, &err);
    bool kept = code == ERR_OK;
    if (kept && !c->stop)
        code = loop_post(c->config.loop, c->config.ready, c->config.arg,
                         &err); /* else the next one's does */
    pthread_mutex_unlock(&c->lock);
    if (code != ERR_OK)
        log_warning("agent", "node %s: telemetry is late or lost: %s", c->node, err.text);
    if (!kept)
        add_gap(c, times_us[0], times_us[1], TELEMETRY_GAP_OVERFLOW);
    add_gap(c, lost.from_us, lost.to_us, TELEMETRY_GAP_OVERFLOW);
}

static void finish(struct collect *c)
{
    OWN(mem) void *memory = NULL;
    uint8_t *data = NULL;
    size_t len = 0;
    struct err err = ERR_INIT;
    if (c->taken == 0)
        return;
    if (c->config.spool == NULL) {
        begin(c, c->config.samples);
        return;
    }
    c->batch.sample_count = c->taken;
    memcpy(c->batch.gaps, c->gaps, c->gap_count * sizeof(c->gaps[0]));
    c->batch.gap_count = c->gap_count;
    c->batch.seq++;
    c->gap_count = 0;
    if (telemetry_encode(&c->batch, &data, &len, &err) != ERR_OK) {
        say_full(c, &err);
        add_gap(c, c->batch.start_us, c->last_us, TELEMETRY_GAP_OVERFLOW);
    } else {
        memory = data;
        store(c, data, len);
    }
    begin(c, c->config.samples);
}

/* A clock that was set ends the batch: the times of one grow. */
static bool clock_was_set(struct collect *c, int64_t now_us, int64_t expected_us)
{
    int64_t off_us = now_us - expected_us;
    if (c->last_us == 0 || (now_us > c->last_us && off_us > -1000000 && off_us < 1000000))
        return false;
    finish(c);
    add_gap(c, c->last_us, now_us, TELEMETRY_GAP_CLOCK);
    return true;
}

/* Whether what is borrowed may be gone: a look that was given up came back. */
static bool is_stopping(struct collect *c)
{
    pthread_mutex_lock(&c->lock);
    bool stop = c->stop;
    pthread_mutex_unlock(&c->lock);
    return stop;
}

static void look(struct collect *c, int64_t mono_ns, int64_t past_ns)
{
    const struct counters_sink sink = {c, on_row, on_value};
    struct err err = ERR_INIT;
    int64_t now_us = c->config.clock->wall_us(c->config.clock);
    bool was_set = clock_was_set(c, now_us, c->last_us + past_ns / 1000);
    int64_t interval_us = c->batch.interval_ms * INT64_C(1000);
    if (!was_set && c->last_us != 0 && now_us - c->last_us > interval_us * TELEMETRY_STRIDES)
        add_gap(c, c->last_us, now_us, TELEMETRY_GAP_READ);
    if (c->taken > 0 && now_us - c->batch.start_us > TELEMETRY_SPAN_MAX_MS * INT64_C(1000))
        finish(c);
    if (c->taken == 0)
        c->batch.start_us = now_us;
    c->batch.offset_ms[c->taken] = (uint32_t)((now_us - c->batch.start_us) / 1000);
    if (c->taken > 0 && c->batch.offset_ms[c->taken] <= c->batch.offset_ms[c->taken - 1])
        return; /* within a millisecond of the last */
    c->row = SIZE_MAX;
    enum err_code code = c->config.counters->ops->read(c->config.counters, mono_ns, &sink, &err);
    if (code != ERR_OK && !c->failing)
        log_warning("agent", "node %s: its counters cannot be read whole: %s", c->node, err.text);
    c->failing = code != ERR_OK;
    c->last_us = now_us;
    if (c->config.exporter != NULL && !is_stopping(c))
        exporter_put(c->config.exporter, &c->batch, c->taken);
    if (++c->taken >= c->wanted)
        finish(c);
}

/* The thread ----------------------------------------------------------------------------------- */

static bool wait_until(struct collect *c, int64_t mono_ns)
{
    pthread_mutex_lock(&c->lock);
    int64_t left_ns = mono_ns - c->config.clock->mono_ns(c->config.clock);
    if (left_ns > 0 && !c->stop) {
        const struct timespec until = cond_deadline(left_ns);
        pthread_cond_timedwait(&c->changed, &c->lock, &until);
    }
    bool stop = c->stop;
    pthread_mutex_unlock(&c->lock);
    return !stop;
}

static void *run(void *arg)
{
    struct collect *c = arg;
    struct clock *clock = c->config.clock;
    int64_t last_ns = clock->mono_ns(clock), next_ns = last_ns;
    while (wait_until(c, next_ns)) {
        int64_t now_ns = clock->mono_ns(clock);
        if (now_ns < next_ns)
            continue; /* woken early */
        look(c, now_ns, now_ns - last_ns);
        last_ns = now_ns;
        next_ns += c->config.interval_ns; /* what a slow look missed is not made up for */
        if (next_ns <= clock->mono_ns(clock))
            next_ns = clock->mono_ns(clock) + c->config.interval_ns;
    }
    finish(c);
    pthread_mutex_lock(&c->lock);
    c->ended = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Life ----------------------------------------------------------------------------------------- */

static void release(struct collect *c)
{
    counters_free(c->config.counters);
    telemetry_batch_release(&c->batch);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static void init(struct collect *c, const struct collect_config *config)
{
    uint32_t chance;
    c->config = *config;
    if (config->interval_ns == 0)
        c->config.interval_ns = COLLECT_INTERVAL_NS;
    if (config->samples == 0)
        c->config.samples = COLLECT_SAMPLES;
    snprintf(c->node, sizeof(c->node), "%s", config->node);
    pthread_mutex_init(&c->lock, NULL);
    cond_init(&c->changed);
    telemetry_batch_init(&c->batch);
    random_bytes(&c->batch.stream, sizeof(c->batch.stream));
    random_bytes(&chance, sizeof(chance));
    c->batch.stream |= 1;
    c->batch.interval_ms = (uint32_t)(c->config.interval_ns / NS_PER_MS);
    begin(c, 1 + chance % c->config.samples); /* so that nodes do not send together */
    if (config->spool != NULL)
        add_gap(c, spool_last_us(config->spool), config->clock->wall_us(config->clock),
                TELEMETRY_GAP_START);
}

enum err_code collect_new(const struct collect_config *config, struct collect **out,
                          struct err *err)
{
    struct collect *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        counters_free(config->counters);
        return err_nomem(err);
    }
    init(c, config);
    int why = thread_begin(&c->thread, 0, run, c);
    if (why != 0) {
        release(c);
        return err_set_errno(err, ERR_UNAVAILABLE, why, "no thread for the telemetry");
    }
    *out = c;
    return ERR_OK;
}

void collect_free(struct collect *c)
{
    const struct timespec until = cond_deadline(COLLECT_STOP_MS * NS_PER_MS);
    int late = 0;
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->changed);
    while (!c->ended && late == 0)
        late = pthread_cond_timedwait(&c->changed, &c->lock, &until);
    c->abandoned = !c->ended; /* it hangs in a device; what it holds goes with the process */
    bool abandoned = c->abandoned;
    pthread_mutex_unlock(&c->lock);
    if (abandoned) {
        pthread_detach(c->thread);
        return;
    }
    pthread_join(c->thread, NULL);
    release(c);
}
