/*
 * server/api_incidents.c - incidents: listed, looked at, acknowledged. A tenant sees those of its
 * own jobs, and of the others not even that they are there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/incidents.h"
#include "server/api.h"
#include "server/health.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

static json_t *incident_to_json(struct app *app, const struct db_incident *row, bool for_tenant)
{
    json_t *item = json_pack("{sI, ss, ss, ss, ss, ss, sI}", "id", (json_int_t)row->id, "rule",
                             row->rule, "severity", row->severity, "state",
                             row->cleared_us == 0 ? "open" : "cleared", "subject", row->subject,
                             "message", row->message, "count", (json_int_t)row->count);
    if (item == NULL)
        return NULL;
    api_set_text(item, "node", row->node);
    api_set_text(item, "tenant", row->tenant);
    api_set_text(item, "job", row->job);
    api_set_text(item, "port", row->port);
    api_set_text(item, "observed", row->observed);
    api_set_text(item, "limit", row->limit);
    api_set_text(item, "hint", row->hint);
    api_set_time(item, "opened", row->opened_us);
    api_set_time(item, "changed", row->changed_us);
    api_set_time(item, "cleared", row->cleared_us);
    api_set_time(item, "acknowledged", row->acknowledged_us);
    api_set_text(item, "acknowledged_by", row->acknowledged_by);
    api_set_text(item, "acknowledged_reason", row->acknowledged_why);
    if (for_tenant)
        return item;
    if (row->root != 0)
        json_object_set_new(item, "root", json_integer(row->root));
    int64_t exclusion = health_desk_excluded(app->health, row->rule, row->subject);
    if (exclusion != 0)
        json_object_set_new(item, "exclusion", json_integer(exclusion));
    return item;
}

/* "17"; false = it is no number of an incident. */
static bool parse_id(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long id = strtoll(text, &end, 10);
    *out = id;
    return text[0] >= '1' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static bool is_own(const struct request *request, const struct db_incident *row, int64_t since_us)
{
    const char *tenant = api_own_tenant(request);
    return tenant == NULL || (strcmp(tenant, row->tenant) == 0 && row->opened_us >= since_us);
}

/* A list --------------------------------------------------------------------------------------- */

static bool on_incident(void *arg, const struct db_incident *row)
{
    struct page *page = arg;
    json_t *item = incident_to_json(page->app, row, api_own_tenant(page->request) != NULL);
    return page_add(page, item, "%lld", (long long)row->id);
}

/* -1 = not asked for. */
static int one_of(const struct request *request, const char *key, const char *yes)
{
    const char *text = request_query(request, key);
    return text == NULL ? -1 : strcmp(text, yes) == 0;
}

static enum err_code read_incidents(struct db_ro *ro, struct page *page, struct err *err)
{
    const struct request *request = page->request;
    const char *root = request_query(request, "root"), *own = api_own_tenant(request);
    struct incident_filter filter = {
        .rule = request_query(request, "rule"),
        .node = request_query(request, "node"),
        .tenant = own != NULL ? own : request_query(request, "tenant"),
        .severity = request_query(request, "severity"),
        .open = one_of(request, "state", "open"),
        .acknowledged = one_of(request, "acknowledged", "true"),
        .root = root == NULL ? -1 : strtoll(root, NULL, 10),
    };
    enum err_code code = api_own_since(ro, request, &filter.since_us, err);
    if (code != ERR_OK)
        return code;
    return incident_list(ro, &filter, page->after_number, page_limit(page), on_incident, page, err);
}

struct choice {
    const char *key, *first, *second;
};

static bool check_filters(struct request *request)
{
    static const struct choice choices[] = {
        {"state", "open", "cleared"},
        {"severity", "warning", "critical"},
        {"acknowledged", "true", "false"},
    };
    const char *rule = request_query(request, "rule"), *root = request_query(request, "root");
    int64_t number;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const struct choice *c = &choices[i];
        const char *text = request_query(request, c->key);
        if (text == NULL || strcmp(text, c->first) == 0 || strcmp(text, c->second) == 0)
            continue;
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL, "%s is %s or %s",
                              c->key, c->first, c->second);
        return false;
    }
    if (rule != NULL && health_rule_find(rule) == NULL) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "rule=%s is no rule of health; doc/health.md lists them", rule);
        return false;
    }
    if (root != NULL && strcmp(root, "0") != 0 && !parse_id(root, &number)) {
        request_reply_problem(request, 400, "invalid-parameter", NULL, NULL,
                              "root is the number of an incident, or 0 for those without one");
        return false;
    }
    return true;
}

void api_incidents_list(struct request *request)
{
    if (!check_filters(request))
        return;
    struct page *page = page_new(request, read_incidents);
    if (page != NULL)
        page_submit(page);
}

/* One ------------------------------------------------------------------------------------------ */

struct look {
    struct app *app;
    struct request *request;
    int64_t id, since_us;
    json_t *answer; /* owned */
};

static bool on_one(void *arg, const struct db_incident *row)
{
    struct look *look = arg;
    if (is_own(look->request, row, look->since_us))
        look->answer = incident_to_json(look->app, row, api_own_tenant(look->request) != NULL);
    return false;
}

static enum err_code look_up(struct db_ro *ro, struct look *look, struct err *err)
{
    enum err_code code = api_own_since(ro, look->request, &look->since_us, err);
    if (code == ERR_OK)
        code = incident_get(ro, look->id, on_one, look, err);
    if (code == ERR_OK && look->answer == NULL) /* another tenant's: as if it were not there */
        code = err_set(err, ERR_NOT_FOUND, "there is no incident %lld", (long long)look->id);
    return code;
}

static enum err_code read_one(struct db_ro *ro, void *arg, struct err *err)
{
    return look_up(ro, arg, err);
}

static void looked(void *arg, enum err_code code, const struct err *err)
{
    struct look *look = arg;
    if (code != ERR_OK)
        request_reply_err(look->request, err);
    else
        request_reply_json(look->request, 200, GIVE(look->answer), NULL, NULL);
    json_decref(look->answer);
    free(look);
}

static bool read_id(struct request *request, int64_t *out)
{
    if (parse_id(request_param(request, 0), out))
        return true;
    request_reply_problem(request, 404, "not-found", NULL, NULL,
                          "there is no such incident; they are numbered 1, 2, ...");
    return false;
}

void api_incident_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    int64_t id;
    if (!read_id(request, &id))
        return;
    struct look *look = api_alloc(request, sizeof(*look));
    if (look == NULL)
        return;
    *look = (struct look){.app = app, .request = request, .id = id};
    enum err_code code = db_read(app->db, read_one, looked, look, &err);
    if (code != ERR_OK)
        looked(look, code, &err);
}

/* Acknowledged --------------------------------------------------------------------------------- */

struct ack_task {
    struct task base;
    int64_t id;
};

static void release(struct task *task)
{
    task_release(task);
    free(task);
}

static enum err_code record(struct db_tx *tx, const struct ack_task *at, struct err *err)
{
    char subject[64], body[64];
    snprintf(subject, sizeof(subject), "incident/%lld", (long long)at->id);
    snprintf(body, sizeof(body), "{\"incident\":%lld}", (long long)at->id);
    const struct db_audit audit = {
        .action = "incident.acknowledge", .subject = subject, .after = "acknowledged"};
    return change_record(tx, at->base.request, &audit, "incident.acknowledged", body, err);
}

static enum err_code run(struct db_tx *tx, struct task *task, struct err *err)
{
    struct ack_task *at = (struct ack_task *)task;
    struct look look = {.app = task->app, .request = task->request, .id = at->id};
    char who[AUDIT_ACTOR_SIZE];
    bool again = false;
    principal_actor(request_principal(task->request), who);
    enum err_code code =
        incident_acknowledge(tx, at->id, who, request_query(task->request, "reason"), &again, err);
    if (code == ERR_NOT_FOUND)
        return task_refuse(task, 404, "not-found", err, "there is no incident %lld",
                           (long long)at->id);
    if (code == ERR_OK && !again)
        code = record(tx, at, err);
    if (code == ERR_OK)
        code = look_up(db_tx_ro(tx), &look, err);
    task->answer = look.answer;
    return code;
}

void api_incident_acknowledge(struct request *request)
{
    const char *why = request_query(request, "reason");
    int64_t id;
    if (!read_id(request, &id))
        return;
    if (why == NULL || why[0] == '\0' || strlen(why) > WRITE_TEXT_MAX) {
        request_reply_problem(
            request, 400, "invalid-parameter", NULL, NULL,
            "say why it is acknowledged in at most %d bytes: ?reason=", WRITE_TEXT_MAX);
        return;
    }
    struct ack_task *at = api_alloc(request, sizeof(*at));
    if (at == NULL)
        return;
    task_init(&at->base, request, run, release);
    at->id = id;
    task_submit(&at->base);
}
