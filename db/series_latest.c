/*
 * db/series_latest.c - which rows a query is about, and the latest values of them, from memory. On
 * any thread; the picture is looked at under `lock`.
 */
#include <string.h>

#include "db/series_private.h"

/* What is asked for ---------------------------------------------------------------------------- */

static bool has_label(const struct series_query *query, uint32_t label)
{
    for (size_t i = 0; i < query->label_count; i++)
        if (query->labels[i] == label)
            return true;
    return query->labels == NULL;
}

int64_t series_since(const struct series_query *query, uint32_t label)
{
    for (size_t i = 0; query->labels_since_us != NULL && i < query->label_count; i++)
        if (query->labels[i] == label)
            return query->labels_since_us[i];
    return INT64_MIN;
}

bool series_wants_row(const struct series_query *query, const char *node,
                      const struct telemetry_subject *subject, const char *device)
{
    return (query->kind < 0 || query->kind == (int)subject->kind) &&
           (query->number < 0 || query->number == (int64_t)subject->number) &&
           (query->device == NULL || strcmp(query->device, device) == 0) &&
           has_label(query, subject->label) &&
           (query->owns == NULL || query->owns(query->owns_arg, node, subject->label));
}

bool series_wants_metric(const struct series_query *query, const char *name)
{
    for (size_t i = 0; i < query->metric_count; i++)
        if (strcmp(query->metrics[i], name) == 0)
            return true;
    return query->metric_count == 0;
}

/* The latest ----------------------------------------------------------------------------------- */

static bool tell_row(const struct series_picture *picture, uint32_t number,
                     const struct series_row *row, const struct series_query *query,
                     series_latest_fn *fn, void *arg)
{
    const struct telemetry_subject subject = {.kind = (enum telemetry_kind)row->kind,
                                              .number = row->number,
                                              .pid = row->pid,
                                              .label = row->label};
    const char *device = picture->devices.items[row->device];
    int64_t since_us = series_since(query, row->label);
    if (row->last_us + SERIES_STALE_US < picture->nodes[number].last_us ||
        !series_wants_row(query, picture->node_names.items[number], &subject, device))
        return true;
    for (uint32_t i = 0; i < row->count; i++) {
        const struct series_metric *metric = &row->metrics[i];
        const struct series_found found = {.node = picture->node_names.items[number],
                                           .kind = subject.kind,
                                           .device = device,
                                           .number = row->number,
                                           .pid = row->pid,
                                           .label = row->label,
                                           .name = &picture->names[metric->name],
                                           .last = metric->last,
                                           .rate = metric->rate};
        if (metric->last.value != TELEMETRY_ABSENT && metric->last.time_us >= since_us &&
            series_wants_metric(query, found.name->text) && !fn(arg, &found))
            return false;
    }
    return true;
}

void series_latest(struct series *series, const struct series_query *query, series_latest_fn *fn,
                   void *arg)
{
    const struct series_picture *picture = &series->picture;
    bool more = true;
    pthread_mutex_lock(&series->lock);
    for (uint32_t i = 0; more && i < picture->node_names.count; i++) {
        const char *name = picture->node_names.items[i];
        if (name == NULL || (query->node != NULL && strcmp(name, query->node) != 0))
            continue;
        for (uint32_t j = 0; more && j < picture->nodes[i].row_count; j++)
            more = tell_row(picture, i, &picture->nodes[i].rows[j], query, fn, arg);
    }
    pthread_mutex_unlock(&series->lock);
}
