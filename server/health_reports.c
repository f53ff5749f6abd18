/*
 * server/health_reports.c - see health_reports.h.
 */
#include "server/health_reports.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "db/incidents.h"
#include "db/series.h"
#include "db/tables.h"
#include "fleet/report.h"
#include "server/api.h"
#include "server/health_report_parts.h"

struct health_reports {
    struct app *app;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    size_t under_way; /* makings, and the daily one's way into the store */
    bool stopped, daily;
    json_t *made; /* owned; the daily one between reading and writing */
};

enum err_code health_reports_new(struct app *app, struct health_reports **out, struct err *err)
{
    struct health_reports *reports = calloc(1, sizeof(*reports));
    if (reports == NULL)
        return err_nomem(err);
    reports->app = app;
    pthread_mutex_init(&reports->lock, NULL);
    pthread_cond_init(&reports->idle, NULL);
    *out = reports;
    return ERR_OK;
}

void health_reports_free(struct health_reports *reports)
{
    if (reports == NULL)
        return;
    pthread_mutex_destroy(&reports->lock);
    pthread_cond_destroy(&reports->idle);
    free(reports);
}

static bool enter(struct health_reports *reports, bool daily)
{
    pthread_mutex_lock(&reports->lock);
    bool may = !reports->stopped && !(daily && reports->daily);
    reports->under_way += may;
    reports->daily = reports->daily || (daily && may);
    pthread_mutex_unlock(&reports->lock);
    return may;
}

static void leave(struct health_reports *reports, bool daily)
{
    pthread_mutex_lock(&reports->lock);
    reports->under_way--;
    reports->daily = reports->daily && !daily;
    pthread_cond_broadcast(&reports->idle);
    pthread_mutex_unlock(&reports->lock);
}

void health_reports_stop(struct health_reports *reports)
{
    if (reports == NULL)
        return;
    pthread_mutex_lock(&reports->lock);
    reports->stopped = true;
    while (reports->under_way > 0)
        pthread_cond_wait(&reports->idle, &reports->lock);
    pthread_mutex_unlock(&reports->lock);
}

/* Making one ---------------------------------------------------------------------------------- */

static bool on_last(void *arg, const struct db_health_report *row)
{
    *(int64_t *)arg = row->created_us;
    return false;
}

static enum err_code last_daily(struct db_ro *ro, int64_t *out_us, struct err *err)
{
    *out_us = 0;
    return health_report_list(ro, "daily", 0, 1, on_last, out_us, err);
}

/* The document of what was taken; code: how that went. */
static enum err_code end(struct report_parts *parts, enum err_code code, json_t **out,
                         struct err *err)
{
    report_parts_release(parts);
    if (code != ERR_OK)
        return code;
    *out = report_to_json(parts->report);
    return *out == NULL ? err_nomem(err) : ERR_OK;
}

static enum err_code make_tenant(struct app *app, struct db_ro *ro, const char *tenant,
                                 json_t **out, struct err *err)
{
    OWN(report) struct report *report = NULL;
    int64_t now_us = app->clock->wall_us(app->clock);
    struct report_parts parts = {.app = app, .ro = ro, .now_us = now_us, .tenant = tenant};
    enum err_code code = tenant_created(ro, tenant, &parts.born_us, err);
    if (code == ERR_OK && parts.born_us == INT64_MAX)
        code = err_set(err, ERR_NOT_FOUND, "there is no tenant %s", tenant);
    parts.since_us = now_us - HEALTH_REPORT_DAY_US;
    if (parts.since_us < parts.born_us)
        parts.since_us = parts.born_us;
    if (code == ERR_OK)
        code = report_new(now_us, parts.since_us, &report, err);
    if (code != ERR_OK)
        return code;
    report_of_tenant(report, tenant);
    parts.report = report;
    code = report_take_jobs(&parts, err);
    if (code == ERR_OK)
        code = report_take_incidents(&parts, err);
    return end(&parts, code, out, err);
}

static enum err_code make(struct app *app, struct db_ro *ro, json_t **out, struct err *err)
{
    OWN(report) struct report *report = NULL;
    int64_t now_us = app->clock->wall_us(app->clock), since_us;
    enum err_code code = last_daily(ro, &since_us, err);
    if (code == ERR_OK)
        code = report_new(now_us, since_us, &report, err);
    struct report_parts parts = {
        .app = app, .ro = ro, .report = report, .now_us = now_us, .since_us = since_us};
    if (code == ERR_OK)
        code = report_take_exceptions(&parts, err);
    if (code == ERR_OK)
        code = report_take_incidents(&parts, err);
    if (code == ERR_OK)
        code = report_take_nodes(&parts, err);
    if (code == ERR_OK)
        code = report_take_convergence(&parts, err);
    if (code == ERR_OK)
        code = report_take_uploads(&parts, err);
    return end(&parts, code, out, err);
}

enum err_code health_report_make(struct health_reports *reports, struct db_ro *ro, json_t **out,
                                 struct err *err)
{
    if (!enter(reports, false))
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    enum err_code code = make(reports->app, ro, out, err);
    leave(reports, false);
    return code;
}

enum err_code health_report_make_tenant(struct health_reports *reports, struct db_ro *ro,
                                        const char *tenant, json_t **out, struct err *err)
{
    if (!enter(reports, false))
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    enum err_code code = make_tenant(reports->app, ro, tenant, out, err);
    leave(reports, false);
    return code;
}

/* The daily one ------------------------------------------------------------------------------- */

static enum err_code read_daily(struct db_ro *ro, void *arg, struct err *err)
{
    struct health_reports *reports = arg;
    struct clock *clock = reports->app->clock;
    int64_t last_us, now_us = clock->wall_us(clock);
    enum err_code code = last_daily(ro, &last_us, err);
    if (code != ERR_OK || last_us / HEALTH_REPORT_DAY_US == now_us / HEALTH_REPORT_DAY_US)
        return code;
    return make(reports->app, ro, &reports->made, err);
}

static enum err_code write_daily(struct db_tx *tx, void *arg, struct err *err)
{
    const struct health_reports *reports = arg;
    OWN(str) char *body = json_canonical(reports->made, NULL);
    int64_t id;
    if (body == NULL)
        return err_nomem(err);
    const struct db_health_report row = {
        .kind = "daily",
        .source = "stellard",
        .grade = json_string_value(json_object_get(reports->made, "grade")),
        .body = body};
    return health_report_add(tx, &row, &id, err);
}

static void daily_written(void *arg, enum err_code code, const struct err *err)
{
    struct health_reports *reports = arg;
    if (code != ERR_OK)
        log_error("health", "the daily report was not kept, and is tried again: %s", err->text);
    json_decref(reports->made);
    reports->made = NULL;
    leave(reports, true);
}

static void daily_read(void *arg, enum err_code code, const struct err *err)
{
    struct health_reports *reports = arg;
    struct err failed = ERR_INIT;
    if (code == ERR_OK && reports->made == NULL)
        leave(reports, true); /* today's is there */
    else if (code != ERR_OK)
        daily_written(reports, code, err);
    else if (db_write(reports->app->db, write_daily, daily_written, reports, &failed) != ERR_OK)
        daily_written(reports, failed.code, &failed);
}

void health_reports_tick(struct health_reports *reports)
{
    struct err err = ERR_INIT;
    if (enter(reports, true) &&
        db_read(reports->app->db, read_daily, daily_read, reports, &err) != ERR_OK)
        daily_written(reports, err.code, &err);
}
