/*
 * server/health_report_parts.c - see health_report_parts.h.
 */
#include "server/health_report_parts.h"

#include <stdlib.h>
#include <string.h>

#include "db/health_reports.h"
#include "db/incidents.h"
#include "db/series.h"
#include "fleet/incident.h"
#include "server/api.h"
#include "server/health_reports.h"

/* Exceptions ---------------------------------------------------------------------------------- */

struct report_exception {
    char *rule, *subject; /* owned; rule "" = every one */
};

void report_parts_release(struct report_parts *parts)
{
    for (size_t i = 0; i < parts->exception_count; i++) {
        free(parts->exceptions[i].rule);
        free(parts->exceptions[i].subject);
    }
    free(parts->exceptions);
    parts->exceptions = NULL;
    parts->exception_count = 0;
}

struct walk {
    struct report_parts *parts;
    enum err_code code;
    struct err *err;
    int rows;
    int64_t last;
};

static json_t *exception_of(const struct db_exclusion *row)
{
    json_t *item =
        json_pack("{sI, ss, ss, ss, ss}", "id", (json_int_t)row->id, "rule", row->rule, "subject",
                  row->subject, "reason", row->reason, "created_by", row->created_by);
    if (item != NULL)
        api_set_time(item, "expires", row->expires_us);
    return item;
}

static bool on_exclusion(void *arg, const struct db_exclusion *row)
{
    struct walk *walk = arg;
    struct report_parts *parts = walk->parts;
    walk->rows++;
    walk->last = row->id;
    if (row->expires_us <= parts->now_us || parts->exception_count == EXCLUSIONS_MAX)
        return true;
    struct report_exception *e = &parts->exceptions[parts->exception_count++];
    e->rule = strdup(row->rule);
    e->subject = strdup(row->subject);
    walk->code = e->rule == NULL || e->subject == NULL
                     ? err_nomem(walk->err)
                     : report_add_exception(parts->report, exception_of(row), walk->err);
    return walk->code == ERR_OK;
}

enum err_code report_take_exceptions(struct report_parts *parts, struct err *err)
{
    struct walk walk = {.parts = parts, .err = err};
    enum err_code code;
    parts->exceptions = calloc(EXCLUSIONS_MAX, sizeof(parts->exceptions[0]));
    if (parts->exceptions == NULL)
        return err_nomem(err);
    do {
        walk.rows = 0;
        code = exclusion_list(parts->ro, walk.last, DB_PAGE_MAX, on_exclusion, &walk, err);
        code = code == ERR_OK ? walk.code : code;
    } while (code == ERR_OK && walk.rows == DB_PAGE_MAX);
    return code;
}

static bool is_excepted(const struct report_parts *parts, const struct db_incident *row)
{
    for (size_t i = 0; i < parts->exception_count; i++) {
        const struct report_exception *e = &parts->exceptions[i];
        if (incident_is_covered(e->rule, e->subject, row->rule, row->subject))
            return true;
    }
    return false;
}

/* Findings ------------------------------------------------------------------------------------ */

static bool on_incident(void *arg, const struct db_incident *row)
{
    struct walk *walk = arg;
    const struct report_finding finding = {
        .id = row->id,
        .rule = row->rule,
        .subject = row->subject,
        .node = row->node,
        .severity = row->severity,
        .message = row->message,
        .opened_us = row->opened_us,
        .cleared_us = row->cleared_us,
        .is_excepted = is_excepted(walk->parts, row),
        .is_explained = walk->parts->tenant == NULL && row->root != 0,
    };
    walk->rows++;
    walk->last = row->id;
    walk->code = report_add_finding(walk->parts->report, &finding, walk->err);
    return walk->code == ERR_OK;
}

enum err_code report_take_incidents(struct report_parts *parts, struct err *err)
{
    struct walk walk = {.parts = parts, .err = err};
    const struct incident_filter wanted = {.tenant = parts->tenant,
                                           .since_us = parts->born_us,
                                           .open = -1,
                                           .acknowledged = -1,
                                           .root = -1};
    enum err_code code;
    do {
        walk.rows = 0;
        code = incident_list(parts->ro, &wanted, walk.last, DB_PAGE_MAX, on_incident, &walk, err);
        code = code == ERR_OK ? walk.code : code;
    } while (code == ERR_OK && walk.rows == DB_PAGE_MAX);
    return code;
}

/* Nodes --------------------------------------------------------------------------------------- */

struct freshness {
    int64_t since_us;
    json_t *names; /* owned; the nodes as keys */
    const char *last;
};

static bool on_latest(void *arg, const struct series_found *found)
{
    struct freshness *fresh = arg;
    if (found->last.time_us < fresh->since_us || found->node == fresh->last)
        return true;
    fresh->last = found->node; /* names of nodes stay where they are */
    return json_object_set_new(fresh->names, found->node, json_true()) == 0;
}

static enum err_code add_nodes(struct report_parts *parts, const struct freshness *fresh,
                               struct err *err)
{
    const struct status_filter filter = {.sync = NODE_SYNC_COUNT};
    char after[NAME_SIZE] = "", next[NAME_SIZE];
    enum err_code code = ERR_OK;
    do {
        OWN(json)
        json_t *items =
            status_list(parts->app->status, after, DB_PAGE_MAX, &filter, parts->now_us, next);
        if (items == NULL)
            return err_nomem(err);
        for (size_t i = 0; i < json_array_size(items) && code == ERR_OK; i++) {
            const json_t *item = json_array_get(items, i);
            const char *name = json_string_value(json_object_get(item, "name"));
            if (name != NULL)
                code = report_add_node(parts->report, name,
                                       json_object_get(fresh->names, name) != NULL, err);
        }
        memcpy(after, next, sizeof(after));
    } while (code == ERR_OK && after[0] != '\0');
    return code;
}

enum err_code report_take_nodes(struct report_parts *parts, struct err *err)
{
    const struct series_query all = {.kind = -1, .number = -1};
    OWN(json) json_t *names = json_object();
    if (names == NULL)
        return err_nomem(err);
    struct freshness fresh = {.since_us = parts->now_us - HEALTH_REPORT_FRESH_US, .names = names};
    series_latest(parts->app->series, &all, on_latest, &fresh);
    return add_nodes(parts, &fresh, err);
}

/* The rest ------------------------------------------------------------------------------------ */

enum err_code report_take_convergence(struct report_parts *parts, struct err *err)
{
    struct fleet_status fleet;
    status_fleet(parts->app->status, &fleet);
    json_t *value =
        json_pack("{sI, sI, sI, sI, sI, sI, sI, sI}", "generation", (json_int_t)fleet.generation,
                  "total", (json_int_t)fleet.total, "in_sync", (json_int_t)fleet.in_sync, "pending",
                  (json_int_t)fleet.pending, "failed", (json_int_t)fleet.failed, "quarantined",
                  (json_int_t)fleet.quarantined, "held", (json_int_t)fleet.held, "stale",
                  (json_int_t)status_stale(parts->app->status, parts->now_us));
    if (value != NULL && fleet.total > 0)
        json_object_set_new(value, "in_sync_percent",
                            json_integer((json_int_t)(100 * fleet.in_sync / fleet.total)));
    return report_set(parts->report, "convergence", value, err);
}

static bool on_upload(void *arg, const struct db_health_report *row)
{
    json_t *list = arg;
    json_t *item = json_pack("{sI, ss, ss}", "id", (json_int_t)row->id, "source", row->source,
                             "grade", row->grade);
    if (item != NULL)
        api_set_time(item, "time", row->created_us);
    return json_array_append_new(list, item) == 0;
}

enum err_code report_take_uploads(struct report_parts *parts, struct err *err)
{
    json_t *list = json_array();
    enum err_code code = list == NULL
                             ? err_nomem(err)
                             : health_report_list(parts->ro, "upload", 0, HEALTH_REPORT_UPLOADS,
                                                  on_upload, list, err);
    if (code == ERR_OK)
        return report_set(parts->report, "uploads", list, err);
    json_decref(list);
    return code;
}
