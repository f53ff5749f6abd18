/*
 * server/api_exclusions.c - findings that somebody accepts for a time, with a reason.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/incidents.h"
#include "fleet/read.h"
#include "server/api.h"
#include "server/health.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"

#define REASON_SIZE     257                     /* 256 bytes */
#define LIFETIME_MAX_US INT64_C(31622400000000) /* a year */

struct exclusion_task {
    struct task base;
    struct db_exclusion row;
    char rule[64], subject[HEALTH_SUBJECT_MAX], reason[REASON_SIZE];
    int64_t id;
};

static json_t *exclusion_to_json(const struct db_exclusion *row)
{
    json_t *item = json_pack("{sI, ss, ss, ss}", "id", (json_int_t)row->id, "subject", row->subject,
                             "reason", row->reason, "created_by", row->created_by);
    if (item != NULL && row->rule[0] != '\0')
        json_object_set_new(item, "rule", json_string(row->rule));
    if (item != NULL) {
        api_set_time(item, "created", row->created_us);
        api_set_time(item, "expires", row->expires_us);
    }
    return item;
}

static void release(struct task *task)
{
    task_release(task);
    free(task);
}

static enum err_code record(struct db_tx *tx, struct exclusion_task *et, const char *action,
                            const char *event, struct err *err)
{
    char subject[64], body[64];
    snprintf(subject, sizeof(subject), "exclusion/%" PRId64, et->id);
    snprintf(body, sizeof(body), "{\"exclusion\":%" PRId64 "}", et->id);
    const struct db_audit audit = {.action = action, .subject = subject, .after = et->reason};
    return change_record(tx, et->base.request, &audit, event, body, err);
}

/* A list --------------------------------------------------------------------------------------- */

static bool on_exclusion(void *arg, const struct db_exclusion *row)
{
    return page_add(arg, exclusion_to_json(row), "%lld", (long long)row->id);
}

static enum err_code read_exclusions(struct db_ro *ro, struct page *page, struct err *err)
{
    return exclusion_list(ro, page->after_number, page_limit(page), on_exclusion, page, err);
}

void api_exclusions_list(struct request *request)
{
    struct page *page = page_new(request, read_exclusions);
    if (page != NULL)
        page_submit(page);
}

/* Made ----------------------------------------------------------------------------------------- */

static bool is_subject(const char *text)
{
    return (strncmp(text, "node/", 5) == 0 && text[5] != '\0') ||
           (strncmp(text, "tenant/", 7) == 0 && text[7] != '\0');
}

static void check_row(struct json_reader *r, struct exclusion_task *et, const char *expires,
                      int64_t now_us)
{
    if (et->rule[0] != '\0' && health_rule_find(et->rule) == NULL)
        read_problem(r, "rule", "'%s' is no rule of health; doc/health.md lists them", et->rule);
    if (!is_subject(et->subject))
        read_problem(r, "subject",
                     "a subject begins with node/NAME or tenant/NAME, such as "
                     "node/n1/port/0000:3b:00.0/0");
    if (!clock_parse(expires, &et->row.expires_us))
        read_problem(r, "expires", "a time such as 2026-03-01T12:00:00Z");
    else if (et->row.expires_us <= now_us)
        read_problem(r, "expires", "that is over already");
    else if (et->row.expires_us > now_us + LIFETIME_MAX_US)
        read_problem(r, "expires", "at most a year from now");
}

/* False when it has replied. */
static bool read_body(struct exclusion_task *et)
{
    struct request *request = et->base.request;
    struct app *app = et->base.app;
    OWN_FINDINGS struct finding_list findings;
    struct json_reader r;
    struct err err = ERR_INIT;
    const char *rule = "", *subject = "", *reason = "", *expires = "";
    finding_list_init(&findings);
    json_reader_init(&r, request_json(request), "", &findings);
    json_reader_string(&r, "rule", false, 1, sizeof(et->rule) - 1, &rule);
    json_reader_string(&r, "subject", true, 1, sizeof(et->subject) - 1, &subject);
    json_reader_string(&r, "reason", true, 1, sizeof(et->reason) - 1, &reason);
    json_reader_string(&r, "expires", true, 1, CLOCK_TEXT_MAX - 1, &expires);
    json_reader_end(&r);
    text_copy(et->rule, sizeof(et->rule), rule);
    text_copy(et->subject, sizeof(et->subject), subject);
    text_copy(et->reason, sizeof(et->reason), reason);
    if (!finding_list_has_errors(&findings))
        check_row(&r, et, expires, app->clock->wall_us(app->clock));
    enum err_code code = read_result(&findings, &err);
    if (code == ERR_INVALID)
        request_reply_problem(request, 422, "invalid", &findings, NULL,
                              "the exclusion is not valid; see errors");
    else if (code != ERR_OK)
        request_reply_err(request, &err);
    return code == ERR_OK;
}

static bool keep_answer(void *arg, const struct db_exclusion *row)
{
    struct exclusion_task *et = arg;
    et->base.answer = exclusion_to_json(row);
    return false;
}

static enum err_code run_post(struct db_tx *tx, struct task *task, struct err *err)
{
    struct exclusion_task *et = (struct exclusion_task *)task;
    char who[AUDIT_ACTOR_SIZE];
    principal_actor(request_principal(task->request), who);
    et->row.rule = et->rule;
    et->row.subject = et->subject;
    et->row.reason = et->reason;
    et->row.created_by = who;
    enum err_code code = exclusion_add(tx, &et->row, &et->id, err);
    if (code == ERR_LIMIT) {
        struct err why = *err;
        return task_refuse(task, 409, "exclusions-full", err, "%.250s", why.text);
    }
    if (code == ERR_OK)
        code = record(tx, et, "exclusion.create", "exclusion.created", err);
    if (code == ERR_OK)
        code = exclusion_get(db_tx_ro(tx), et->id, keep_answer, et, err);
    if (code == ERR_OK && task->answer == NULL)
        code = err_nomem(err);
    snprintf(task->location, sizeof(task->location), "/v1/exclusions/%" PRId64, et->id);
    et->row.id = et->id;
    return code;
}

static void after_post(struct task *task)
{
    health_desk_exclude(task->app->health, &((struct exclusion_task *)task)->row);
}

void api_exclusion_post(struct request *request)
{
    struct exclusion_task *et = api_alloc(request, sizeof(*et));
    if (et == NULL)
        return;
    task_init(&et->base, request, run_post, release);
    if (!read_body(et)) {
        release(&et->base);
        return;
    }
    et->base.idempotent = true;
    et->base.status = 201;
    et->base.after = after_post;
    task_submit(&et->base);
}

/* Ended ---------------------------------------------------------------------------------------- */

static bool keep_subject(void *arg, const struct db_exclusion *row)
{
    struct exclusion_task *et = arg;
    text_copy(et->subject, sizeof(et->subject), row->subject);
    return false;
}

static enum err_code run_delete(struct db_tx *tx, struct task *task, struct err *err)
{
    struct exclusion_task *et = (struct exclusion_task *)task;
    enum err_code code = exclusion_get(db_tx_ro(tx), et->id, keep_subject, et, err);
    if (code == ERR_NOT_FOUND)
        return task_refuse(task, 404, "not-found", err, "there is no exclusion %lld",
                           (long long)et->id);
    if (code == ERR_OK)
        code = exclusion_delete(tx, et->id, err);
    task->status = 204;
    return code == ERR_OK ? record(tx, et, "exclusion.delete", "exclusion.deleted", err) : code;
}

static void after_delete(struct task *task)
{
    health_desk_include(task->app->health, ((struct exclusion_task *)task)->id);
}

void api_exclusion_delete(struct request *request)
{
    const char *text = request_param(request, 0);
    char *end;
    errno = 0;
    long long id = strtoll(text, &end, 10);
    if (text[0] < '1' || text[0] > '9' || *end != '\0' || errno != 0) {
        request_reply_problem(request, 404, "not-found", NULL, NULL,
                              "there is no such exclusion; they are numbered 1, 2, ...");
        return;
    }
    struct exclusion_task *et = api_alloc(request, sizeof(*et));
    if (et == NULL)
        return;
    task_init(&et->base, request, run_delete, release);
    et->id = id;
    et->base.after = after_delete;
    task_submit(&et->base);
}
