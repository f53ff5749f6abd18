/*
 * server/health_report_jobs.c - a tenant's report: its placed jobs, by their labels, beside what
 * came of their promises on every port.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/tables.h"
#include "server/health.h"
#include "server/health_report_parts.h"

#define WORST_SIZE (NAME_SIZE + PORT_ID_SIZE)

struct job_sum {
    uint32_t label;
    char job[NAME_SIZE], asked[BANDWIDTH_TEXT_MAX], worst[WORST_SIZE];
    struct report_job sum;
};

struct job_list {
    struct job_sum *items; /* owned; by label, once all are there */
    size_t count, room, rows;
    bool no_memory;
};

static bool on_placement(void *arg, const struct db_placement *placement)
{
    struct job_list *list = arg;
    list->rows++;
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 16 : 2 * list->room;
        struct job_sum *items = realloc(list->items, room * sizeof(*items));
        list->no_memory = items == NULL;
        if (items == NULL)
            return false;
        list->items = items;
        list->room = room;
    }
    struct job_sum *job = &list->items[list->count++];
    *job = (struct job_sum){.label = placement->label};
    text_copy(job->job, sizeof(job->job), placement->job);
    return true;
}

static enum err_code take_placements(const struct report_parts *parts, struct job_list *list,
                                     struct err *err)
{
    enum err_code code;
    do {
        char after[NAME_SIZE] = "";
        if (list->count > 0)
            memcpy(after, list->items[list->count - 1].job, sizeof(after));
        list->rows = 0;
        code = placement_list(parts->ro, parts->tenant, parts->tenant, after, DB_PAGE_MAX,
                              on_placement, list, err);
        if (code == ERR_OK && list->no_memory)
            code = err_nomem(err);
    } while (code == ERR_OK && list->rows == DB_PAGE_MAX);
    return code;
}

static int compare_labels(const void *one, const void *other)
{
    const struct job_sum *a = one, *b = other;
    return (a->label > b->label) - (a->label < b->label);
}

static int64_t least(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* More minutes below its guarantee, else less sent. */
static bool is_worse(const struct health_kept *kept, const struct report_job *than)
{
    if (than->known_minutes == 0)
        return true;
    if (kept->below_minutes != than->below_minutes)
        return kept->below_minutes > than->below_minutes;
    return kept->mean_bps < than->mean_bps;
}

/* A name of more bytes than a promise holds stands cut in it: labels alone say whose it is. */
static void on_kept(void *arg, const char *node, const struct health_kept *kept)
{
    struct job_list *list = arg;
    const struct health_promise *promise = kept->promise;
    const struct job_sum key = {.label = promise->label};
    if (list->count == 0)
        return;
    struct job_sum *job =
        bsearch(&key, list->items, list->count, sizeof(list->items[0]), compare_labels);
    if (job == NULL)
        return;
    struct report_job *sum = &job->sum;
    bandwidth_format(&promise->asked, job->asked);
    sum->ports++;
    sum->granted_bps = least(sum->granted_bps, promise->guarantee_bps);
    sum->limit_bps = least(sum->limit_bps, promise->limit_bps);
    if (kept->known_minutes == 0)
        return;
    sum->known_ports++;
    if (!is_worse(kept, sum))
        return;
    snprintf(job->worst, sizeof(job->worst), "%s %s", node, promise->port);
    sum->known_minutes = kept->known_minutes;
    sum->below_minutes = kept->below_minutes;
    sum->mean_bps = kept->mean_bps;
    sum->peak_bps = kept->peak_bps;
}

static int compare_names(const void *one, const void *other)
{
    const struct job_sum *a = one, *b = other;
    return strcmp(a->job, b->job);
}

enum err_code report_take_jobs(struct report_parts *parts, struct err *err)
{
    struct job_list list = {.items = NULL};
    enum err_code code = take_placements(parts, &list, err);
    if (code == ERR_OK && list.count > 0) {
        qsort(list.items, list.count, sizeof(list.items[0]), compare_labels);
        health_desk_each_kept(parts->app->health, on_kept, &list);
        qsort(list.items, list.count, sizeof(list.items[0]), compare_names);
    }
    for (size_t i = 0; i < list.count && code == ERR_OK; i++) {
        struct job_sum *job = &list.items[i];
        job->sum.job = job->job;
        job->sum.asked = job->asked;
        job->sum.worst = job->worst;
        code = report_add_job(parts->report, &job->sum, err);
    }
    free(list.items);
    return code;
}
