/*
 * db/series_query.c - answers queries of history, from the files and what is not in them yet. On
 * the query thread; the picture is looked at under `lock`.
 */
#include <stdlib.h>
#include <string.h>

#include "db/series_private.h"

#define S_US        INT64_C(1000000)
#define BEFORE_US   (15 * S_US) /* what a counter stood at before the first step */
#define KEY_SIZE    (NAME_SIZE + PORT_ID_SIZE + TELEMETRY_NAME_SIZE + 96)
#define STEPS_FIRST 16

/* One query under way. */
struct hunt {
    struct series *series;
    const struct series_query *query;
    enum series_tier tier;
    size_t steps;
    struct series_texts keys; /* a series' number = its index below */
    struct series_found *found;
    struct telemetry_last *lasts; /* of raw: where each stands */
    struct telemetry_name *names;
    size_t room;
    struct series_gap gaps[SERIES_GAPS_MAX];
    size_t gap_count;
    int64_t read_bytes;
    bool truncated, damaged;
    int64_t node; /* number of query->node; -1 = all, -2 = there is none */
    struct telemetry_batch batch;
};

/* Series --------------------------------------------------------------------------------------- */

static bool make_room(struct hunt *hunt)
{
    if (hunt->keys.count < hunt->room)
        return true;
    size_t room = hunt->room == 0 ? STEPS_FIRST : hunt->room * 2;
    struct series_found *found = realloc(hunt->found, room * sizeof(*found));
    if (found == NULL)
        return false;
    hunt->found = found;
    struct telemetry_last *lasts = realloc(hunt->lasts, room * sizeof(*lasts));
    if (lasts == NULL)
        return false;
    hunt->lasts = lasts;
    struct telemetry_name *names = realloc(hunt->names, room * sizeof(*names));
    if (names == NULL)
        return false;
    hunt->names = names;
    hunt->room = room;
    return true;
}

/* Names of nodes stay where they are as long as the series is open; a device is copied. */
static enum err_code add_series(struct hunt *hunt, uint32_t node, const char *device,
                                const struct telemetry_subject *subject,
                                const struct telemetry_name *name, uint32_t at, struct err *err)
{
    struct telemetry_sum *points = calloc(hunt->steps, sizeof(*points));
    char *text = points == NULL ? NULL : strdup(device);
    if (text == NULL) {
        free(points);
        return err_nomem(err);
    }
    hunt->found[at] = (struct series_found){.node = hunt->series->picture.node_names.items[node],
                                            .kind = subject->kind,
                                            .device = text,
                                            .number = subject->number,
                                            .pid = subject->pid,
                                            .label = subject->label,
                                            .points = points,
                                            .count = hunt->steps,
                                            .last = {.value = TELEMETRY_ABSENT},
                                            .rate = TELEMETRY_ABSENT};
    hunt->lasts[at] = (struct telemetry_last){.value = TELEMETRY_ABSENT};
    hunt->names[at] = *name;
    return ERR_OK;
}

/* *out = -1: there are too many already. locked: the caller holds series->lock. */
static enum err_code find_series(struct hunt *hunt, uint32_t node, const char *device,
                                 const struct telemetry_subject *subject,
                                 const struct telemetry_name *name, bool locked, int64_t *out,
                                 struct err *err)
{
    char key[KEY_SIZE];
    uint32_t at, before = hunt->keys.count;
    snprintf(key, sizeof(key), "%u|%d|%s|%u|%u|%u|%s|%u|%u", node, (int)subject->kind, device,
             subject->number, subject->pid, subject->label, name->text, name->course, name->width);
    if (!make_room(hunt))
        return err_nomem(err);
    enum err_code code = series_text(&hunt->keys, key, &at, err);
    *out = -1;
    if (code == ERR_LIMIT) {
        hunt->truncated = true;
        return ERR_OK;
    }
    if (code != ERR_OK)
        return code;
    *out = at;
    if (at < before)
        return ERR_OK;
    if (!locked)
        pthread_mutex_lock(&hunt->series->lock);
    code = add_series(hunt, node, device, subject, name, at, err);
    if (!locked)
        pthread_mutex_unlock(&hunt->series->lock);
    if (code != ERR_OK)
        hunt->found[at] = (struct series_found){0}; /* the query ends here */
    return code;
}

static void add_point(struct hunt *hunt, int64_t at, int64_t time_us,
                      const struct telemetry_sum *sum)
{
    int64_t step = (time_us - hunt->query->from_us) / hunt->query->step_us;
    if (time_us >= hunt->query->from_us && step < (int64_t)hunt->steps)
        telemetry_sum_merge((struct telemetry_sum *)&hunt->found[at].points[step], sum);
}

/* Batches -------------------------------------------------------------------------------------- */

/* Under `lock`. */
static void take_gap(struct hunt *hunt, uint32_t node, const struct telemetry_gap *gap)
{
    if (gap->to_us <= hunt->query->from_us || gap->from_us >= hunt->query->to_us)
        return;
    if (hunt->gap_count == SERIES_GAPS_MAX) {
        hunt->truncated = true;
        return;
    }
    hunt->gaps[hunt->gap_count++] =
        (struct series_gap){hunt->series->picture.node_names.items[node], *gap};
}

static void take_gaps(struct hunt *hunt, uint32_t node)
{
    if (hunt->batch.gap_count == 0)
        return;
    pthread_mutex_lock(&hunt->series->lock);
    for (size_t i = 0; i < hunt->batch.gap_count; i++)
        take_gap(hunt, node, &hunt->batch.gaps[i]);
    pthread_mutex_unlock(&hunt->series->lock);
}

static void take_values(struct hunt *hunt, int64_t at, const int64_t *values)
{
    const struct telemetry_batch *batch = &hunt->batch;
    int64_t since_us = series_since(hunt->query, hunt->found[at].label);
    if (hunt->tier != SERIES_RAW) {
        if (batch->start_us < since_us)
            return; /* a part of it may be the other job's */
        const struct telemetry_sum sum = {values[0], values[1], values[2], (uint32_t)values[3]};
        add_point(hunt, at, batch->start_us, &sum);
        return;
    }
    for (size_t s = 0; s < batch->sample_count; s++) {
        struct telemetry_sum sum;
        int64_t time_us = telemetry_time_us(batch, s);
        if (time_us >= since_us &&
            telemetry_next(&hunt->lasts[at], &hunt->names[at], time_us, values[s],
                           batch->interval_ms, &sum) == TELEMETRY_KNOWN)
            add_point(hunt, at, time_us, &sum);
    }
}

static const char *owner_of(struct hunt *hunt, uint32_t node)
{
    if (hunt->query->owns == NULL)
        return NULL;
    pthread_mutex_lock(&hunt->series->lock);
    const char *name = hunt->series->picture.node_names.items[node];
    pthread_mutex_unlock(&hunt->series->lock);
    return name;
}

static enum err_code take_batch(struct hunt *hunt, uint32_t node, struct err *err)
{
    const struct telemetry_batch *batch = &hunt->batch;
    const char *owner = owner_of(hunt, node);
    enum err_code code = ERR_OK;
    if (hunt->tier != SERIES_RAW && batch->sample_count != 4)
        return ERR_OK;
    if (hunt->query->labels == NULL)
        take_gaps(hunt, node);
    for (size_t i = 0; code == ERR_OK && i < batch->row_count; i++) {
        const struct telemetry_row *row = &batch->rows[i];
        const char *device = batch->devices[row->subject.device];
        if (!series_wants_row(hunt->query, owner, &row->subject, device))
            continue;
        for (uint32_t c = row->first; code == ERR_OK && c < row->first + row->count; c++) {
            const struct telemetry_name *name = &batch->names[batch->columns[c].name];
            int64_t at = -1;
            if (!series_wants_metric(hunt->query, name->text))
                continue;
            code = find_series(hunt, node, device, &row->subject, name, false, &at, err);
            if (code == ERR_OK && at >= 0)
                take_values(hunt, at, batch->values + batch->columns[c].at);
        }
    }
    return code;
}

static bool overlaps(const struct hunt *hunt, int64_t first_us, int64_t last_us)
{
    int64_t before_us = hunt->tier == SERIES_RAW ? BEFORE_US : 0;
    return last_us >= hunt->query->from_us - before_us && first_us < hunt->query->to_us;
}

static bool wants_entry(const struct hunt *hunt, int64_t first_us, const struct frame_entry *entry)
{
    int64_t start_us = first_us + (int64_t)entry->first_ms * 1000;
    return (hunt->node == -1 || hunt->node == (int64_t)entry->node) &&
           overlaps(hunt, start_us, start_us + (int64_t)entry->span_ms * 1000);
}

static enum err_code take_entries(struct hunt *hunt, const uint8_t *data,
                                  const struct frame_entry *entries, size_t count, int64_t first_us,
                                  struct err *err)
{
    enum err_code code = ERR_OK;
    for (size_t i = 0, at = 0; code == ERR_OK && i < count; at += entries[i++].len) {
        if (!wants_entry(hunt, first_us, &entries[i]))
            continue;
        if (telemetry_decode(data + at, entries[i].len, &hunt->batch, NULL) != ERR_OK)
            hunt->damaged = true;
        else
            code = take_batch(hunt, entries[i].node, err);
    }
    return code;
}

static enum err_code take_frame(struct hunt *hunt, struct frame_reader *reader, struct err *err)
{
    bool any = false;
    if (!overlaps(hunt, reader->first_us, reader->last_us))
        return ERR_OK;
    for (size_t i = 0; i < reader->entry_count && !any; i++)
        any = wants_entry(hunt, reader->first_us, &reader->entries[i]);
    if (!any)
        return ERR_OK;
    hunt->read_bytes += (int64_t)reader->raw_len;
    if (hunt->read_bytes > SERIES_SCAN_BYTES_MAX)
        return err_set(err, ERR_LIMIT,
                       "the query would read more than %lld MiB; name a node, a shorter time or a "
                       "step of 60 s or 3600 s",
                       SERIES_SCAN_BYTES_MAX >> 20);
    if (!frame_load(reader))
        return ERR_OK;
    return take_entries(hunt, reader->data, reader->entries, reader->entry_count, reader->first_us,
                        err);
}

/* What is in no file yet ----------------------------------------------------------------------- */

/* How far a tier's newest file belongs to the answer: what is written after the picture was looked
 * at was in the picture. */
struct horizon {
    int64_t period;
    uint64_t size;
};

static enum err_code take_row_sums(struct hunt *hunt, uint32_t number, const struct series_row *row,
                                   struct err *err)
{
    const struct series_picture *picture = &hunt->series->picture;
    const struct series_node *node = &picture->nodes[number];
    const struct telemetry_subject subject = {.kind = (enum telemetry_kind)row->kind,
                                              .number = row->number,
                                              .pid = row->pid,
                                              .label = row->label};
    const char *device = picture->devices.items[row->device];
    int64_t since_us = series_since(hunt->query, row->label);
    enum err_code code = ERR_OK;
    if (!series_wants_row(hunt->query, picture->node_names.items[number], &subject, device))
        return ERR_OK;
    for (uint32_t i = 0; code == ERR_OK && i < row->count; i++) {
        const struct series_metric *metric = &row->metrics[i];
        const struct telemetry_name *name = &picture->names[metric->name];
        bool hour =
            hunt->tier == SERIES_HOUR && metric->hour.weight > 0 && node->hour_us >= since_us;
        /* A minute that came again after a crash may be in its hour already. */
        bool minute = metric->minute.weight > 0 && node->minute_us >= since_us &&
                      (hunt->tier != SERIES_HOUR ||
                       node->minute_us + series_tier_step_us(SERIES_MINUTE) > node->hour_from_us);
        int64_t at = -1;
        if (!series_wants_metric(hunt->query, name->text) || (!hour && !minute))
            continue;
        code = find_series(hunt, number, device, &subject, name, true, &at, err);
        if (code == ERR_OK && at >= 0 && hour)
            add_point(hunt, at, node->hour_us, &metric->hour);
        if (code == ERR_OK && at >= 0 && minute)
            add_point(hunt, at, node->minute_us, &metric->minute);
    }
    return code;
}

static enum err_code take_picture(struct hunt *hunt, struct err *err)
{
    const struct series_picture *picture = &hunt->series->picture;
    bool wants_gaps = hunt->tier == SERIES_MINUTE && hunt->query->labels == NULL;
    enum err_code code = ERR_OK;
    for (uint32_t i = 0; code == ERR_OK && i < picture->node_names.count; i++) {
        if (hunt->node != -1 && hunt->node != (int64_t)i)
            continue;
        for (size_t j = 0; wants_gaps && j < picture->nodes[i].gap_count; j++)
            take_gap(hunt, i, &picture->nodes[i].gaps[j]);
        for (uint32_t j = 0; code == ERR_OK && j < picture->nodes[i].row_count; j++)
            code = take_row_sums(hunt, i, &picture->nodes[i].rows[j], err);
    }
    return code;
}

/* Writes the roll-ups that wait, and takes what is not rolled up yet. */
static enum err_code take_open(struct hunt *hunt, struct horizon *out, struct err *err)
{
    struct series *series = hunt->series;
    enum err_code code = ERR_OK;
    *out = (struct horizon){.period = INT64_MAX};
    pthread_mutex_lock(&series->lock);
    uint32_t number;
    hunt->node = -1;
    if (hunt->query->node != NULL) {
        hunt->node = -2;
        for (number = 0; number < series->picture.node_names.count; number++) {
            const char *name = series->picture.node_names.items[number];
            if (name != NULL && strcmp(name, hunt->query->node) == 0)
                hunt->node = number;
        }
    }
    if (hunt->tier != SERIES_RAW) {
        series_flush_rolls(series);
        const struct frame_file *file = &series->files[hunt->tier];
        if (file->fd >= 0)
            *out = (struct horizon){file->period, file->size};
        code = take_picture(hunt, err);
    }
    pthread_mutex_unlock(&series->lock);
    return code;
}

/* The hunt ------------------------------------------------------------------------------------- */

static enum err_code take_file(struct hunt *hunt, int64_t period, const struct horizon *horizon,
                               struct err *err)
{
    struct frame_reader reader;
    enum err_code code = frame_open(hunt->series->dir, hunt->tier, period, &reader, err);
    if (code == ERR_NOT_FOUND)
        return ERR_OK;
    if (code != ERR_OK)
        return code;
    if (period == horizon->period && reader.size > horizon->size)
        reader.size = horizon->size;
    while (code == ERR_OK && frame_next(&reader)) {
        code = take_frame(hunt, &reader, err);
        if (code == ERR_OK && hunt->series->cancel)
            code = err_set(err, ERR_UNAVAILABLE, "the server stops");
    }
    hunt->damaged = hunt->damaged || reader.damaged;
    frame_reader_release(&reader);
    return code;
}

static enum series_tier tier_of(int64_t step_us)
{
    if (step_us % series_tier_step_us(SERIES_HOUR) == 0)
        return SERIES_HOUR;
    return step_us % series_tier_step_us(SERIES_MINUTE) == 0 ? SERIES_MINUTE : SERIES_RAW;
}

static enum err_code run(struct hunt *hunt, struct err *err)
{
    const struct series_query *query = hunt->query;
    struct horizon horizon;
    int64_t early_us = hunt->tier == SERIES_RAW ? TELEMETRY_SPAN_MAX_MS * INT64_C(1000) : 0;
    enum err_code code = take_open(hunt, &horizon, err);
    int64_t last = frame_period(hunt->tier, query->to_us);
    if (horizon.period != INT64_MAX && last > horizon.period)
        last = horizon.period;
    for (int64_t period = frame_period(hunt->tier, query->from_us - early_us);
         code == ERR_OK && period <= last && hunt->node != -2; period++)
        code = take_file(hunt, period, &horizon, err);
    return code;
}

void series_run_query(struct series *series, const struct series_ask *ask)
{
    struct err err = ERR_INIT;
    OWN(mem) void *memory = calloc(1, sizeof(struct hunt));
    struct hunt *hunt = memory;
    if (hunt == NULL) {
        ask->done(ask->arg, err_nomem(&err), NULL, &err);
        return;
    }
    hunt->series = series;
    hunt->query = &ask->query;
    hunt->tier = tier_of(ask->query.step_us);
    hunt->steps = (size_t)((ask->query.to_us - ask->query.from_us + ask->query.step_us - 1) /
                           ask->query.step_us);
    hunt->keys.max = (uint32_t)(SERIES_POINTS_MAX / hunt->steps);
    telemetry_batch_init(&hunt->batch);
    enum err_code code = run(hunt, &err);
    for (uint32_t i = 0; code == ERR_OK && i < hunt->keys.count; i++)
        hunt->found[i].name = &hunt->names[i];
    const struct series_answer answer = {.query = hunt->query,
                                         .tier = hunt->tier,
                                         .found = hunt->found,
                                         .count = hunt->keys.count,
                                         .gaps = hunt->gaps,
                                         .gap_count = hunt->gap_count,
                                         .truncated = hunt->truncated,
                                         .damaged = hunt->damaged};
    ask->done(ask->arg, code, code == ERR_OK ? &answer : NULL, &err);
    for (uint32_t i = 0; i < hunt->keys.count; i++) {
        free((void *)hunt->found[i].points);
        free((void *)hunt->found[i].device);
    }
    series_texts_release(&hunt->keys);
    telemetry_batch_release(&hunt->batch);
    free(hunt->found);
    free(hunt->lasts);
    free(hunt->names);
}
