/*
 * server/api_campaigns.c - firmware campaigns: made, told what to do, looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/campaigns.h"
#include "server/api.h"
#include "server/campaign_wish.h"
#include "server/campaigns.h"
#include "server/look.h"
#include "server/page.h"
#include "server/pipeline.h"
#include "server/rollouts.h"
#include "server/task.h"

#define SUBJECT_SIZE (CAMPAIGN_ID_SIZE + 16)

/* Reads the number of the path; false when 404 was replied. */
static bool parse_number(struct request *request, int64_t *out)
{
    if (campaign_id_parse(request_param(request, 0), out))
        return true;
    request_reply_problem(request, 404, "not-found", NULL, NULL,
                          "there is no such campaign; they are named c-1, c-2, ...");
    return false;
}

static enum err_code record(struct db_tx *tx, const struct task *task, const struct campaign *c,
                            const char *action, const char *before, struct err *err)
{
    char subject[SUBJECT_SIZE], id[CAMPAIGN_ID_SIZE];
    campaign_id(c->number, id);
    snprintf(subject, sizeof(subject), "firmware/%s", id);
    const struct db_audit audit = {.action = action,
                                   .subject = subject,
                                   .before = before,
                                   .after = campaign_state_name(c->state)};
    return change_record(tx, task->request, &audit, NULL, NULL, err);
}

static json_t *document_of(const struct app *app, const struct campaign *c)
{
    json_t *document = campaign_to_json(c, app->clock->wall_us(app->clock));
    if (document == NULL)
        return NULL;
    api_set_time(document, "created", c->created_us);
    api_set_time(document, "updated", c->updated_us);
    return document;
}

static enum err_code answer_campaign(struct task *task, const struct campaign *c, struct err *err)
{
    task->answer = document_of(task->app, c);
    return task->answer == NULL ? err_nomem(err) : ERR_OK;
}

/* Made ---------------------------------------------------------------------------------------- */

struct create_task {
    struct task base;
    json_t *document; /* owned copy: the request's belongs to another thread */
    bool dry_run;
    struct campaign_change change;
};

static void release_create(struct task *task)
{
    struct create_task *ct = (struct create_task *)task;
    json_decref(ct->document);
    campaign_change_release(&ct->change);
    task_release(task);
    free(ct);
}

static enum err_code make_campaign(struct create_task *ct, struct db_tx *tx,
                                   const struct campaign_draft *draft, struct err *err)
{
    struct task *task = &ct->base;
    if (task->app->world->campaign_count == CAMPAIGNS_ACTIVE_MAX)
        return task_refuse(
            task, 409, "campaigns-full", err,
            "%d campaigns are not over, as many as may be: let one end, or cancel it",
            CAMPAIGNS_ACTIVE_MAX);
    ct->change = (struct campaign_change){.app = task->app};
    enum err_code code = campaign_draft_campaign(draft, &ct->change.copy, err);
    struct campaign *c = ct->change.copy;
    if (code == ERR_OK)
        code = campaign_next(tx, &c->number, err);
    if (code != ERR_OK)
        return code;
    task_author(task, c->author, sizeof(c->author));
    c->created_us = db_tx_now_us(tx);
    code = campaign_change_store(&ct->change, tx, request_id(task->request), err);
    return code != ERR_OK ? code : record(tx, task, c, "campaign.create", "", err);
}

static enum err_code run_create(struct db_tx *tx, struct task *task, struct err *err)
{
    struct create_task *ct = (struct create_task *)task;
    struct app *app = task->app;
    struct campaign_draft draft;
    enum err_code code = campaign_draft_make(&draft, app, db_tx_ro(tx), ct->document, err);
    if (code == ERR_CONFLICT && draft.status != 0) {
        struct err why = *err;
        code = task_refuse(task, draft.status, draft.code, err, "%.250s", why.text);
    } else if (code == ERR_OK && ct->dry_run) {
        task->answer =
            campaign_draft_to_json(&draft, &app->world->view, app->clock->wall_us(app->clock));
        code = task->answer == NULL ? err_nomem(err) : ERR_OK;
    } else if (code == ERR_OK) {
        code = make_campaign(ct, tx, &draft, err);
    }
    campaign_draft_release(&draft);
    if (code != ERR_OK || ct->dry_run)
        return code;
    task->status = 201;
    char id[CAMPAIGN_ID_SIZE];
    campaign_id(ct->change.copy->number, id);
    snprintf(task->location, sizeof(task->location), "/v1/firmware/campaigns/%s", id);
    return answer_campaign(task, ct->change.copy, err);
}

static void settle_create(struct task *task)
{
    struct create_task *ct = (struct create_task *)task;
    if (!ct->dry_run)
        campaign_change_settle(&ct->change);
}

/* Every problem of the document at once. */
static bool check_document(struct request *request)
{
    OWN_FINDINGS struct finding_list findings;
    struct campaign_request read;
    struct err err = ERR_INIT;
    finding_list_init(&findings);
    enum err_code code = campaign_request_from_json(request_json(request), &read, &findings, &err);
    if (code == ERR_INVALID)
        request_reply_problem(request, 422, "campaign-refused", &findings, NULL,
                              "the request is not valid; see errors");
    else if (code != ERR_OK)
        request_reply_err(request, &err);
    return code == ERR_OK;
}

void api_campaign_post(struct request *request)
{
    struct err err = ERR_INIT;
    if (!check_document(request))
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
    ct->dry_run = request_is_dry_run(request);
    task_init(&ct->base, request, run_create, release_create);
    ct->base.settle = settle_create;
    ct->base.idempotent = !ct->dry_run;
    task_submit(&ct->base);
}

/* Told what to do ------------------------------------------------------------------------------ */

struct verb_task {
    struct task base;
    int64_t number;
    enum campaign_verb verb;
    const char *action; /* of the audit row */
    bool unchanged;
    struct campaign_change change;
};

static void release_verb(struct task *task)
{
    struct verb_task *vt = (struct verb_task *)task;
    campaign_change_release(&vt->change);
    task_release(task);
    free(vt);
}

static enum err_code begin_verb(struct verb_task *vt, struct db_tx *tx, struct err *err)
{
    struct app *app = vt->base.app;
    const struct campaign *active = campaigns_get(app->world, vt->number);
    if (active != NULL)
        return campaign_change_begin(&vt->change, app, active, err);
    vt->change = (struct campaign_change){.app = app};
    enum err_code code = campaign_load(db_tx_ro(tx), vt->number, app->clock->mono_ns(app->clock),
                                       &vt->change.copy, err);
    if (code == ERR_NOT_FOUND)
        return task_refuse(&vt->base, 404, "not-found", err, "there is no campaign c-%lld",
                           (long long)vt->number);
    return code;
}

/* A rollout that is under way has its nodes for itself. */
static enum err_code check_rollouts(struct verb_task *vt, struct err *err)
{
    const struct campaign *c = vt->change.copy;
    for (size_t i = 0; i < c->device_count && vt->verb == CAMPAIGN_START; i++) {
        size_t index;
        const struct rollout *r = rollouts_of(vt->base.app->world, c->devices[i].node, &index);
        if (r != NULL && c->devices[i].state == CAMPAIGN_DEVICE_WAITING)
            return task_refuse(&vt->base, 409, "node-in-rollout", err,
                               "node %s is in rollout r-%lld, which is %s: let that end first",
                               c->devices[i].node, (long long)r->number,
                               rollout_state_name(r->state));
    }
    return ERR_OK;
}

static enum err_code run_verb(struct db_tx *tx, struct task *task, struct err *err)
{
    struct verb_task *vt = (struct verb_task *)task;
    struct campaign_change *change = &vt->change;
    enum err_code code = begin_verb(vt, tx, err);
    if (code != ERR_OK)
        return code;
    const char *before = campaign_state_name(change->copy->state);
    code = campaign_command(change->copy, vt->verb, &change->actions, &vt->unchanged, err);
    if (code == ERR_CONFLICT) {
        struct err why = *err;
        return task_refuse(task, 409, "campaign-state", err, "%.250s", why.text);
    }
    if (code == ERR_OK && !vt->unchanged)
        code = check_rollouts(vt, err);
    if (code == ERR_OK && !vt->unchanged) {
        campaign_change_step(change);
        code = campaign_change_store(change, tx, request_id(task->request), err);
    }
    if (code == ERR_OK && !vt->unchanged)
        code = record(tx, task, change->copy, vt->action, before, err);
    return code != ERR_OK ? code : answer_campaign(task, change->copy, err);
}

static void settle_verb(struct task *task)
{
    struct verb_task *vt = (struct verb_task *)task;
    if (!vt->unchanged)
        campaign_change_settle(&vt->change);
}

static void submit_verb(struct request *request, enum campaign_verb verb, const char *action)
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

void api_campaign_start(struct request *request)
{
    submit_verb(request, CAMPAIGN_START, "campaign.start");
}

void api_campaign_pause(struct request *request)
{
    submit_verb(request, CAMPAIGN_PAUSE, "campaign.pause");
}

void api_campaign_resume(struct request *request)
{
    submit_verb(request, CAMPAIGN_RESUME, "campaign.resume");
}

void api_campaign_cancel(struct request *request)
{
    submit_verb(request, CAMPAIGN_CANCEL, "campaign.cancel");
}

/* Looked at ------------------------------------------------------------------------------------ */

static enum err_code read_one(struct db_tx *tx, void *arg, struct err *err)
{
    struct look *look = arg;
    struct app *app = request_app(look->request);
    OWN(campaign) struct campaign *loaded = NULL;
    const struct campaign *c = campaigns_get(app->world, look->number);
    enum err_code code = ERR_OK;
    if (c == NULL) {
        int64_t now_ns = app->clock->mono_ns(app->clock);
        code = campaign_load(db_tx_ro(tx), look->number, now_ns, &loaded, err);
        c = loaded;
    }
    if (code != ERR_OK)
        return code;
    look->revision = c->revision;
    look->answer = document_of(app, c);
    return look->answer == NULL ? err_nomem(err) : ERR_OK;
}

void api_campaign_get(struct request *request)
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

static bool on_campaign(void *arg, const struct db_campaign *row)
{
    struct page *page = arg;
    char id[CAMPAIGN_ID_SIZE];
    static const char *const shown[] = {"message", "author", "problem", "waves"};
    OWN(json) json_t *head = json_loads(row->head, 0, NULL);
    const json_t *image = json_object_get(head, "image");
    campaign_id(row->number, id);
    json_t *item = json_pack("{ss, ss, ss}", "id", id, "state", row->state, "image", row->image);
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (json_object_get(head, shown[i]) != NULL)
            json_object_set(item, shown[i], json_object_get(head, shown[i]));
    json_object_set(item, "devices_total", json_object_get(head, "devices"));
    json_object_set(item, "component", json_object_get(image, "component"));
    json_object_set(item, "version", json_object_get(image, "version"));
    api_set_time(item, "created", row->created_us);
    api_set_time(item, "updated", row->updated_us);
    return page_add(page, item, "%lld", (long long)row->number);
}

static enum err_code read_campaigns(struct db_ro *ro, struct page *page, struct err *err)
{
    return campaign_list(ro, page->after_number, false, page_limit(page), on_campaign, page, err);
}

void api_campaigns_list(struct request *request)
{
    struct page *page = page_new(request, read_campaigns);
    if (page != NULL)
        page_submit(page);
}

struct devices_page {
    struct page *page;
    int64_t number, created_us; /* of their campaign */
};

static bool on_device(void *arg, const struct db_campaign_device *row)
{
    const struct devices_page *of = arg;
    const struct campaign_task_name name = {
        .number = of->number, .index = (size_t)row->place - 1, .created_us = of->created_us};
    static const char *const shown[] = {"psid", "from", "running", "stored", "percent", "problem"};
    char task[NAME_SIZE];
    OWN(json) json_t *body = json_loads(row->body, 0, NULL);
    campaign_task_id(&name, task);
    json_t *item = json_pack("{ss, ss, ss, sI, ss}", "task", task, "node", row->node, "device",
                             row->device, "wave", (json_int_t)row->wave + 1, "state", row->state);
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (json_object_get(body, shown[i]) != NULL)
            json_object_set(item, shown[i], json_object_get(body, shown[i]));
    if (json_is_true(json_object_get(body, "cancel")))
        json_object_set_new(item, "cancel", json_true());
    return page_add(of->page, item, "%lld", (long long)row->place);
}

static bool on_found(void *arg, const struct db_campaign *row)
{
    ((struct devices_page *)arg)->created_us = row->created_us;
    return false;
}

static enum err_code read_devices(struct db_ro *ro, struct page *page, struct err *err)
{
    struct devices_page of = {.page = page, .number = strtoll(page->subject, NULL, 10)};
    enum err_code code = campaign_get(ro, of.number, on_found, &of, err);
    return code != ERR_OK ? code
                          : campaign_device_list(ro, of.number, page->after_number,
                                                 page_limit(page), on_device, &of, err);
}

void api_campaign_devices(struct request *request)
{
    int64_t number;
    if (!parse_number(request, &number))
        return;
    struct page *page = page_new(request, read_devices);
    if (page == NULL)
        return;
    snprintf(page->subject, sizeof(page->subject), "%lld", (long long)number);
    page_submit(page);
}
