/*
 * server/api_rollouts.c - rollouts: made, looked at, and told what to do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/tables.h"
#include "server/api.h"
#include "server/campaigns.h"
#include "server/look.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/rollout_pick.h"
#include "server/rollout_preview.h"
#include "server/rollouts.h"
#include "server/task.h"

#define SUBJECT_SIZE (ROLLOUT_ID_SIZE + 8)

static void subject_of(const struct rollout *r, char out[SUBJECT_SIZE])
{
    char id[ROLLOUT_ID_SIZE];
    rollout_id(r->number, id);
    snprintf(out, SUBJECT_SIZE, "rollout/%s", id);
}

/* Reads the number of the path; false when 404 was replied. */
static bool parse_number(struct request *request, int64_t *out)
{
    if (rollout_id_parse(request_param(request, 0), out))
        return true;
    request_reply_problem(request, 404, "not-found", NULL, NULL,
                          "there is no such rollout; they are named r-1, r-2, ...");
    return false;
}

static enum err_code check_room(struct task *task, struct err *err)
{
    if (task->app->world->rollout_count < ROLLOUTS_ACTIVE_MAX)
        return ERR_OK;
    return task_refuse(task, 409, "rollouts-full", err,
                       "%d rollouts are under way, as many as may be: let one end first",
                       ROLLOUTS_ACTIVE_MAX);
}

/* Made ---------------------------------------------------------------------------------------- */

struct create_task {
    struct task base;
    json_t *document; /* owned copy: the request's belongs to another thread */
    struct rollout_change change;
};

static void release_create(struct task *task)
{
    struct create_task *ct = (struct create_task *)task;
    json_decref(ct->document);
    rollout_change_release(&ct->change);
    task_release(task);
    free(ct);
}

static enum err_code make_rollout(struct create_task *ct, struct db_tx *tx,
                                  const struct rollout_pick *pick, struct err *err)
{
    struct task *task = &ct->base;
    const char *message = json_string_value(json_object_get(ct->document, "message"));
    OWN(mem) void *names = rollout_pick_pointers(pick);
    if (names == NULL)
        return err_nomem(err);
    ct->change = (struct rollout_change){.app = task->app};
    enum err_code code = rollout_new(&pick->settings, names, pick->count, &ct->change.copy, err);
    struct rollout *r = ct->change.copy;
    if (code == ERR_OK)
        code = rollout_next(tx, &r->number, err);
    if (code != ERR_OK)
        return code;
    snprintf(r->message, sizeof(r->message), "%s", message == NULL ? "" : message);
    task_author(task, r->author, sizeof(r->author));
    r->created_us = db_tx_now_us(tx);
    return rollout_change_store(&ct->change, tx, request_id(task->request), err);
}

static enum err_code record(struct db_tx *tx, const struct task *task, const struct rollout *r,
                            const char *action, const char *before, struct err *err)
{
    char subject[SUBJECT_SIZE];
    subject_of(r, subject);
    const struct db_audit audit = {.action = action,
                                   .subject = subject,
                                   .before = before,
                                   .after = rollout_state_name(r->state)};
    return change_record(tx, task->request, &audit, NULL, NULL, err);
}

static json_t *document_of(const struct app *app, const struct rollout *r)
{
    json_t *document = rollout_to_json(r, app->clock->mono_ns(app->clock));
    if (document == NULL)
        return NULL;
    api_set_time(document, "created", r->created_us);
    api_set_time(document, "updated", r->updated_us);
    return document;
}

static enum err_code answer_rollout(struct task *task, const struct rollout *r, struct err *err)
{
    task->answer = document_of(task->app, r);
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

static enum err_code run_create(struct db_tx *tx, struct task *task, struct err *err)
{
    struct create_task *ct = (struct create_task *)task;
    struct rollout_pick pick;
    enum err_code code = rollout_pick_make(&pick, task->app->world, ct->document, err);
    if (code == ERR_CONFLICT && pick.status != 0) {
        struct err why = *err;
        code = task_refuse(task, pick.status, pick.code, err, "%.250s", why.text);
    } else if (code == ERR_OK) {
        code = check_room(task, err);
    }
    if (code == ERR_OK)
        code = make_rollout(ct, tx, &pick, err);
    rollout_pick_release(&pick);
    if (code == ERR_OK)
        code = record(tx, task, ct->change.copy, "rollout.create", "", err);
    if (code != ERR_OK)
        return code;
    task->status = 201;
    char id[ROLLOUT_ID_SIZE];
    rollout_id(ct->change.copy->number, id);
    snprintf(task->location, sizeof(task->location), "/v1/rollouts/%s", id);
    return answer_rollout(task, ct->change.copy, err);
}

static void settle_create(struct task *task)
{
    rollout_change_settle(&((struct create_task *)task)->change);
}

/* Every problem of the document at once; the policy's settings come in on the writer thread. */
static bool check_document(struct request *request)
{
    OWN_FINDINGS struct finding_list findings;
    struct rollout_settings settings;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    rollout_settings_init(&settings);
    settings.soak_ns = 0;
    /* The policy's may be anything. */
    settings.confirm_timeout_ns = settings.wave_deadline_ns = ROLLOUT_TIME_MAX_NS;
    enum err_code code =
        rollout_request_from_json(request_json(request), &settings, &findings, &err);
    rollout_settings_release(&settings);
    if (code == ERR_INVALID)
        request_reply_problem(request, 422, "rollout-refused", &findings, NULL,
                              "the request is not valid; see errors");
    else if (code != ERR_OK)
        request_reply_err(request, &err);
    return code == ERR_OK;
}

void api_rollout_post(struct request *request)
{
    struct err err = ERR_INIT;
    if (!check_document(request))
        return;
    if (request_is_dry_run(request)) {
        rollout_preview_start(request);
        return;
    }
    struct create_task *ct = calloc(1, sizeof(*ct));
    if (ct != NULL)
        ct->document = json_deep_copy(request_json(request));
    if (ct == NULL || ct->document == NULL) {
        free(ct);
        err_nomem(&err);
        request_reply_err(request, &err);
        return;
    }
    task_init(&ct->base, request, run_create, release_create);
    ct->base.settle = settle_create;
    ct->base.idempotent = true;
    task_submit(&ct->base);
}

/* Told what to do ------------------------------------------------------------------------------ */

struct verb_task {
    struct task base;
    int64_t number;
    enum rollout_verb verb;
    const char *action; /* of the audit row */
    bool unchanged;
    struct rollout_change change;
};

static void release_verb(struct task *task)
{
    struct verb_task *vt = (struct verb_task *)task;
    rollout_change_release(&vt->change);
    task_release(task);
    free(vt);
}

/* A rollout that is over can be taken back until something else was given to its nodes. */
static enum err_code check_returnable(struct verb_task *vt, struct rollout *r, struct err *err)
{
    struct task *task = &vt->base;
    struct app *app = task->app;
    size_t index;
    enum err_code code = check_room(task, err);
    if (code != ERR_OK)
        return code;
    for (size_t i = 0; i < r->node_count; i++) {
        const struct world_node *node = world_node_get(app->world, r->nodes[i].name);
        if (node == NULL || r->nodes[i].state == ROLLOUT_NODE_WAITING)
            continue;
        if (node->release.given_by != r->number ||
            rollouts_of(app->world, node->name, &index) != NULL)
            return task_refuse(task, 409, "rollout-superseded", err,
                               "node %s was given another plan since, or is in another rollout: "
                               "change what is wanted of it instead",
                               node->name);
        const struct campaign *campaign = campaigns_on(app->world, node->name);
        if (campaign != NULL)
            return task_refuse(task, 409, "node-in-campaign", err,
                               "node %s is being flashed by firmware campaign c-%lld: wait until "
                               "it has ended there",
                               node->name, (long long)campaign->number);
        if (strcmp(node->receipt.digest, r->nodes[i].before) == 0)
            rollout_tell(r, i, node, app->clock->mono_ns(app->clock));
    }
    return ERR_OK;
}

static enum err_code begin_verb(struct verb_task *vt, struct db_tx *tx, struct err *err)
{
    struct app *app = vt->base.app;
    const struct rollout *active = rollouts_get(app->world, vt->number);
    if (active != NULL)
        return rollout_change_begin(&vt->change, app, active, err);
    vt->change = (struct rollout_change){.app = app};
    enum err_code code = rollout_load(db_tx_ro(tx), vt->number, app->clock->mono_ns(app->clock),
                                      &vt->change.copy, err);
    if (code == ERR_NOT_FOUND)
        return task_refuse(&vt->base, 404, "not-found", err, "there is no rollout r-%lld",
                           (long long)vt->number);
    bool back = code == ERR_OK && vt->verb == ROLLOUT_ROLLBACK &&
                vt->change.copy->state != ROLLOUT_ROLLED_BACK;
    return back ? check_returnable(vt, vt->change.copy, err) : code;
}

static enum err_code run_verb(struct db_tx *tx, struct task *task, struct err *err)
{
    struct verb_task *vt = (struct verb_task *)task;
    int64_t now_ns = task->app->clock->mono_ns(task->app->clock);
    enum err_code code = begin_verb(vt, tx, err);
    if (code != ERR_OK)
        return code;
    struct rollout *r = vt->change.copy;
    const char *before = rollout_state_name(r->state);
    code = rollout_command(r, vt->verb, now_ns, &vt->change.actions, &vt->unchanged, err);
    if (code == ERR_CONFLICT) {
        struct err why = *err;
        return task_refuse(task, 409, "rollout-state", err, "%.250s", why.text);
    }
    if (code == ERR_OK && !vt->unchanged)
        code = rollout_change_store(&vt->change, tx, request_id(task->request), err);
    if (code == ERR_OK && !vt->unchanged)
        code = record(tx, task, r, vt->action, before, err);
    return code != ERR_OK ? code : answer_rollout(task, r, err);
}

static void settle_verb(struct task *task)
{
    struct verb_task *vt = (struct verb_task *)task;
    if (!vt->unchanged)
        rollout_change_settle(&vt->change);
}

static void submit_verb(struct request *request, enum rollout_verb verb, const char *action)
{
    int64_t number;
    if (!parse_number(request, &number))
        return;
    struct verb_task *vt = api_alloc(request, sizeof(*vt));
    if (vt == NULL)
        return;
    vt->number = number;
    vt->verb = verb;
    vt->action = action;
    task_init(&vt->base, request, run_verb, release_verb);
    vt->base.settle = settle_verb;
    task_submit(&vt->base);
}

void api_rollout_pause(struct request *request)
{
    submit_verb(request, ROLLOUT_PAUSE, "rollout.pause");
}

void api_rollout_resume(struct request *request)
{
    submit_verb(request, ROLLOUT_RESUME, "rollout.resume");
}

void api_rollout_confirm(struct request *request)
{
    submit_verb(request, ROLLOUT_CONFIRM_WAVE, "rollout.confirm");
}

void api_rollout_rollback(struct request *request)
{
    submit_verb(request, ROLLOUT_ROLLBACK, "rollout.rollback");
}

/* Looked at ------------------------------------------------------------------------------------ */

/* On the writer thread: what remains of timers is known there, and what came in since the last
 * write. */
static enum err_code read_one(struct db_tx *tx, void *arg, struct err *err)
{
    struct look *look = arg;
    struct app *app = request_app(look->request);
    int64_t now_ns = app->clock->mono_ns(app->clock);
    OWN(rollout) struct rollout *loaded = NULL;
    const struct rollout *r = rollouts_get(app->world, look->number);
    enum err_code code = ERR_OK;
    if (r == NULL) {
        code = rollout_load(db_tx_ro(tx), look->number, now_ns, &loaded, err);
        r = loaded;
    }
    if (code != ERR_OK)
        return code;
    look->revision = r->revision;
    look->answer = document_of(app, r);
    return look->answer == NULL ? err_nomem(err) : ERR_OK;
}

void api_rollout_get(struct request *request)
{
    struct app *app = request_app(request);
    struct err err = ERR_INIT;
    int64_t number;
    if (!parse_number(request, &number))
        return;
    struct look *look = look_new(request, number);
    if (look == NULL)
        return;
    enum err_code code = db_look(app->db, read_one, look_done, look, &err);
    if (code != ERR_OK)
        look_done(look, code, &err);
}

static bool on_rollout(void *arg, const struct db_rollout *row)
{
    struct page *page = arg;
    char id[ROLLOUT_ID_SIZE];
    static const char *const shown[] = {"message", "author", "problem", "nodes", "waves"};
    OWN(json) json_t *head = json_loads(row->head, 0, NULL);
    rollout_id(row->number, id);
    json_t *item = json_pack("{ss, ss}", "id", id, "state", row->state);
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (json_object_get(head, shown[i]) != NULL)
            json_object_set(item, shown[i], json_object_get(head, shown[i]));
    api_set_time(item, "created", row->created_us);
    api_set_time(item, "updated", row->updated_us);
    return page_add(page, item, "%lld", (long long)row->number);
}

static enum err_code read_rollouts(struct db_ro *ro, struct page *page, struct err *err)
{
    return rollout_list(ro, page->after_number, false, page_limit(page), on_rollout, page, err);
}

void api_rollouts_list(struct request *request)
{
    struct page *page = page_new(request, read_rollouts);
    if (page != NULL)
        page_submit(page);
}

static bool on_node(void *arg, const struct db_rollout_node *row)
{
    struct page *page = arg;
    json_t *item = json_pack("{ss, sI, ss}", "node", row->node, "wave", (json_int_t)row->wave + 1,
                             "state", row->state);
    OWN(json) json_t *body = json_loads(row->body, 0, NULL);
    api_set_text(item, "target", row->target);
    api_set_text(item, "before", row->before);
    api_set_text(item, "problem", json_string_value(json_object_get(body, "problem")));
    return page_add(page, item, "%s", row->node);
}

static bool on_found(void *arg, const struct db_rollout *row)
{
    (void)arg;
    (void)row;
    return false;
}

static enum err_code read_nodes(struct db_ro *ro, struct page *page, struct err *err)
{
    int64_t number = strtoll(page->subject, NULL, 10);
    enum err_code code = rollout_get(ro, number, on_found, NULL, err);
    return code != ERR_OK
               ? code
               : rollout_node_list(ro, number, page->after, page_limit(page), on_node, page, err);
}

void api_rollout_nodes(struct request *request)
{
    int64_t number;
    if (!parse_number(request, &number))
        return;
    struct page *page = page_new(request, read_nodes);
    if (page == NULL)
        return;
    snprintf(page->subject, sizeof(page->subject), "%lld", (long long)number);
    page_submit(page);
}
