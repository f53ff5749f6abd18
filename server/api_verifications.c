/*
 * server/api_verifications.c - verifications: ordered, cancelled, looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/verifications.h"
#include "server/api.h"
#include "server/look.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/task.h"
#include "server/verifications.h"

#define SUBJECT_SIZE (VERIFICATION_ID_SIZE + 16)

/* Reads the number of the path; false when 404 was replied. */
static bool parse_number(struct request *request, int64_t *out)
{
    if (verification_id_parse(request_param(request, 0), out))
        return true;
    request_reply_problem(request, 404, "not-found", NULL, NULL,
                          "there is no such verification; they are named v-1, v-2, ...");
    return false;
}

static enum err_code record(struct db_tx *tx, const struct task *task, const struct verification *v,
                            const char *action, const char *before, struct err *err)
{
    char subject[SUBJECT_SIZE], id[VERIFICATION_ID_SIZE];
    verification_id(v->number, id);
    snprintf(subject, sizeof(subject), "verification/%s", id);
    const struct db_audit audit = {.action = action,
                                   .subject = subject,
                                   .before = before,
                                   .after = verification_state_names[v->state]};
    return change_record(tx, task->request, &audit, NULL, NULL, err);
}

static enum err_code answer(struct task *task, const struct verification *v, struct err *err)
{
    task->answer = verification_to_json(v, true);
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

/* Ordered -------------------------------------------------------------------------------------- */

struct create_task {
    struct task base;
    json_t *document; /* owned copy: the request's belongs to another thread */
    struct verification_settings settings;
    bool dry_run;
    struct verification_change change;
};

static void release_create(struct task *task)
{
    struct create_task *ct = (struct create_task *)task;
    json_decref(ct->document);
    verification_change_release(&ct->change);
    task_release(task);
    free(ct);
}

static enum err_code check_free(struct create_task *ct, struct err *err)
{
    struct task *task = &ct->base;
    char why[VERIFY_WHY_SIZE];
    switch (verifications_conflict(task->app->world, ct->change.copy, why)) {
    case VERIFICATIONS_FULL:
        return task_refuse(task, 409, "verifications-full", err, "%s", why);
    case VERIFICATIONS_ACTIVE:
        return task_refuse(task, 409, "verification-active", err, "%s", why);
    case VERIFICATIONS_CAMPAIGN:
        return task_refuse(task, 409, "node-in-campaign", err, "%s", why);
    case VERIFICATIONS_FREE:
        break;
    }
    return ERR_OK;
}

static enum err_code make(struct create_task *ct, struct err *err)
{
    struct task *task = &ct->base;
    const struct world *world = task->app->world;
    const char *missing = world_missing_node(world, json_object_get(ct->document, "nodes"));
    if (missing != NULL)
        return task_refuse(task, 422, "unknown-node", err, "there is no node '%.63s'", missing);
    verification_change_init(&ct->change, task->app);
    struct err why = ERR_INIT;
    enum err_code code =
        verification_make(&world->view, ct->document, &ct->settings, &ct->change.copy, &why);
    if (code == ERR_NOT_FOUND)
        return task_refuse(task, 409, "nothing-to-verify", err,
                           "no node is chosen: none has these labels, or there is none");
    if (code == ERR_LIMIT)
        return task_refuse(task, 422, "verification-refused", err, "%.250s", why.text);
    if (code != ERR_OK)
        *err = why;
    return code != ERR_OK ? code : check_free(ct, err);
}

static enum err_code run_create(struct db_tx *tx, struct task *task, struct err *err)
{
    struct create_task *ct = (struct create_task *)task;
    enum err_code code = make(ct, err);
    struct verification *v = ct->change.copy;
    if (code != ERR_OK)
        return code;
    task_author(task, v->author, sizeof(v->author));
    if (ct->dry_run) {
        code = answer(task, v, err);
        if (code == ERR_OK)
            json_object_set_new(task->answer, "dry_run", json_true());
        return code;
    }
    code = verification_next(tx, &v->number, err);
    v->created_us = db_tx_now_us(tx);
    if (code == ERR_OK)
        code = verification_change_store(&ct->change, tx, request_id(task->request), err);
    if (code == ERR_OK)
        code = record(tx, task, v, "verification.create", "", err);
    if (code != ERR_OK)
        return code;
    char id[VERIFICATION_ID_SIZE];
    verification_id(v->number, id);
    task->status = 201;
    snprintf(task->location, sizeof(task->location), "/v1/verifications/%s", id);
    return answer(task, v, err);
}

static void settle_create(struct task *task)
{
    struct create_task *ct = (struct create_task *)task;
    if (!ct->dry_run)
        verification_change_settle(&ct->change);
}

/* Every problem of the document at once. */
static bool read_request(struct request *request, struct verification_settings *out)
{
    OWN_FINDINGS struct finding_list findings;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    enum err_code code =
        verification_request_from_json(request_json(request), out, &findings, &err);
    if (code == ERR_INVALID)
        request_reply_problem(request, 422, "verification-refused", &findings, NULL,
                              "the request is not valid; see errors");
    else if (code != ERR_OK)
        request_reply_err(request, &err);
    return code == ERR_OK;
}

void api_verification_post(struct request *request)
{
    struct err err = ERR_INIT;
    struct verification_settings settings;
    if (!read_request(request, &settings))
        return;
    struct create_task *ct = calloc(1, sizeof(*ct));
    if (ct != NULL)
        ct->document = json_deep_copy(request_json(request));
    if (ct == NULL || ct->document == NULL) {
        free(ct);
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    ct->settings = settings;
    ct->dry_run = request_is_dry_run(request);
    task_init(&ct->base, request, run_create, release_create);
    ct->base.settle = settle_create;
    ct->base.idempotent = !ct->dry_run;
    task_submit(&ct->base);
}

/* Cancelled ------------------------------------------------------------------------------------ */

struct cancel_task {
    struct task base;
    int64_t number;
    bool unchanged;
    struct verification_change change;
};

static void release_cancel(struct task *task)
{
    struct cancel_task *ct = (struct cancel_task *)task;
    verification_change_release(&ct->change);
    task_release(task);
    free(ct);
}

static enum err_code run_cancel(struct db_tx *tx, struct task *task, struct err *err)
{
    struct cancel_task *ct = (struct cancel_task *)task;
    struct verification_change *change = &ct->change;
    verification_change_init(change, task->app);
    enum err_code code =
        verification_change_begin(change, db_tx_ro(tx), ct->number, &ct->unchanged, err);
    if (code == ERR_NOT_FOUND)
        return task_refuse(task, 404, "not-found", err, "there is no verification v-%lld",
                           (long long)ct->number);
    if (code != ERR_OK)
        return code;
    if (change->copy->state == VERIFICATION_DONE)
        return task_refuse(task, 409, "verification-state", err,
                           "verification v-%lld is done: there is nothing to cancel",
                           (long long)ct->number);
    if (!ct->unchanged && verification_cancel(change->copy, &change->now)) {
        code = verification_change_store(change, tx, request_id(task->request), err);
        if (code == ERR_OK)
            code = record(tx, task, change->copy, "verification.cancel",
                          verification_state_names[VERIFICATION_ACTIVE], err);
    }
    return code != ERR_OK ? code : answer(task, change->copy, err);
}

static void settle_cancel(struct task *task)
{
    struct cancel_task *ct = (struct cancel_task *)task;
    if (!ct->unchanged)
        verification_change_settle(&ct->change);
}

void api_verification_cancel(struct request *request)
{
    int64_t number;
    if (!parse_number(request, &number))
        return;
    struct cancel_task *ct = api_alloc(request, sizeof(*ct));
    if (ct == NULL)
        return;
    ct->number = number;
    task_init(&ct->base, request, run_cancel, release_cancel);
    ct->base.settle = settle_cancel;
    task_submit(&ct->base);
}

/* Looked at ------------------------------------------------------------------------------------ */

static enum err_code read_one(struct db_ro *ro, void *arg, struct err *err)
{
    struct look *look = arg;
    const struct verification_now now = {.wall_us = 0}; /* of no deadline that is looked at */
    OWN(verification) struct verification *v = NULL;
    enum err_code code = verification_load(ro, look->number, &now, &v, err);
    if (code != ERR_OK)
        return code;
    look->revision = v->revision;
    look->answer = verification_to_json(v, true);
    return look->answer == NULL ? err_nomem(err) : ERR_OK;
}

void api_verification_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    int64_t number;
    if (!parse_number(request, &number))
        return;
    struct look *look = look_new(request, number);
    if (look == NULL)
        return;
    enum err_code code = db_read(app->db, read_one, look_done, look, &err);
    if (code != ERR_OK)
        look_done(look, code, &err);
}

static bool on_row(void *arg, const struct db_verification *row)
{
    struct page *page = arg;
    char id[VERIFICATION_ID_SIZE];
    OWN(json) json_t *head = json_loads(row->head, 0, NULL);
    OWN(json) json_t *counts = json_loads(row->counts, 0, NULL);
    verification_id(row->number, id);
    json_t *item = json_pack("{ss, ss}", "id", id, "state", row->state);
    if (strcmp(row->verdict, verify_verdict_names[VERIFY_OPEN]) != 0)
        json_object_set_new(item, "verdict", json_string(row->verdict));
    json_object_set(item, "kinds", json_object_get(head, "kinds"));
    if (json_object_get(counts, "nodes") != NULL)
        json_object_set(item, "nodes", json_object_get(counts, "nodes"));
    json_object_del(counts, "nodes"); /* stored beside those of tests */
    json_object_set(item, "counts", counts);
    json_object_set(item, "author", json_object_get(head, "author"));
    if (json_object_get(head, "message") != NULL)
        json_object_set(item, "message", json_object_get(head, "message"));
    api_set_time(item, "created", row->created_us);
    api_set_time(item, "updated", row->updated_us);
    return page_add(page, item, "%lld", (long long)row->number);
}

static enum err_code read_list(struct db_ro *ro, struct page *page, struct err *err)
{
    return verification_list(ro, page->after_number, page_limit(page), on_row, page, err);
}

void api_verifications_list(struct request *request)
{
    struct page *page = page_new(request, read_list);
    if (page != NULL)
        page_submit(page);
}
