/*
 * server/api_agent.c - what agents send and fetch. The node is the token's, never the body's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/compile.h"
#include "server/api.h"
#include "server/hardware.h"
#include "server/long_poll.h"
#include "server/pipeline.h"
#include "server/planner.h"
#include "server/rollouts.h"
#include "server/speaker.h"
#include "server/task.h"

#define PLAN_WAIT_MAX_NS (60 * NS_PER_S)
#define DRIFT_SHOWN_MAX  20 /* knobs in one event */

/* A store that was restored lacks what the agent told since: it tells all of it again. */
static void name_store(struct request *request)
{
    const struct app *app = request_app(request);
    request_set_header(request, "Stellar-Store", app->store_id);
}

/* Inventory ----------------------------------------------------------------------------------- */

struct inventory_write {
    struct write base;
    struct inventory *inventory; /* the new one; after the swap the old one */
};

static enum err_code prepare(struct write *w, struct err *err)
{
    const struct world_node *node = world_node_get(w->world, w->node);
    if (node == NULL)
        return write_refuse(w, 404, "not-found", err, "there is no node '%s'", w->node);
    w->current = node->revision;
    memcpy(w->current_digest, node->inventory_digest, sizeof(w->current_digest));
    w->unchanged = strcmp(w->digest, w->current_digest) == 0;
    return ERR_OK;
}

static void swap(struct write *w)
{
    world_swap_inventory(w->world, w->node, &((struct inventory_write *)w)->inventory);
}

static void each_node(struct write *w, world_node_fn *fn, void *arg)
{
    struct world_node *node = world_node_get(w->world, w->node);
    if (node != NULL)
        fn(arg, node);
}

static enum err_code store(struct write *w, struct db_tx *tx, struct err *err)
{
    enum err_code code = node_inventory_put(tx, w->node, w->text, err);
    return code != ERR_OK
               ? code
               : hardware_inventory_changed(w->app, tx, w->request, w->node,
                                            ((struct inventory_write *)w)->inventory, err);
}

static enum err_code effects(struct write *w, struct err *err)
{
    (void)w;
    (void)err;
    return ERR_OK;
}

static void settle(struct write *w)
{
    struct world_node *node = world_node_get(w->world, w->node);
    memcpy(node->inventory_digest, w->digest, sizeof(node->inventory_digest));
}

static void release_inventory(struct write *w)
{
    inventory_free(((struct inventory_write *)w)->inventory);
    write_release(w);
    free(w);
}

/* A report is no change that somebody made: no audit row. */
static const struct write_kind inventory_kind = {
    .action = "node.inventory",
    .event = "node.inventory",
    .refused = "inventory-refused",
    .body = true,
    .change = CHANGE_INVENTORY,
    .ruled = true,
    .prepare = prepare,
    .swap = swap,
    .each_node = each_node,
    .store = store,
    .effects = effects,
    .settle = settle,
    .release = release_inventory,
};

void api_agent_inventory(struct request *request)
{
    struct err err = ERR_INIT;
    const json_t *document = request_json(request);
    if (!speaker_is_named(request, json_string_value(json_object_get(document, "node"))))
        return;
    struct inventory_write *iw = api_alloc(request, sizeof(*iw));
    if (iw == NULL)
        return;
    struct write *w = &iw->base;
    if (!write_init(w, &inventory_kind, request))
        return;
    w->mode = WRITE_STORE;
    snprintf(w->node, sizeof(w->node), "%s", request_principal(request)->node);
    snprintf(w->subject, sizeof(w->subject), "node/%s", w->node);
    enum err_code code = inventory_from_json(document, &iw->inventory, &w->findings, &err);
    write_submit_document(w, document, code, &err);
}

/* Plan ---------------------------------------------------------------------------------------- */

/* Replies when the node's plan is not the known one. */
static bool reply_plan(struct request *request, bool wait_over)
{
    struct app *app = request_app(request);
    const char *node = request_principal(request)->node;
    char key[PUBLISH_KEY_SIZE], tag[PUBLISH_TAG_SIZE];
    plan_key(node, key);
    struct blob *blob = publish_get(app->publish, key, tag);
    if (blob == NULL && !status_has(app->status, node)) {
        request_reply_problem(request, 404, "not-found", NULL, NULL, "there is no node '%s'", node);
        return true;
    }
    return long_poll_answer(request, blob, tag, wait_over);
}

static void on_plan(struct request *request, bool late)
{
    (void)late; /* when woken, the plan may have gone back to the known one: the agent asks again */
    reply_plan(request, true);
}

void api_agent_plan(struct request *request)
{
    char key[PUBLISH_KEY_SIZE];
    plan_key(request_principal(request)->node, key);
    name_store(request);
    long_poll(request, &(struct long_poll){.key = key,
                                           .wait_max_ns = PLAN_WAIT_MAX_NS,
                                           .reply = reply_plan,
                                           .woken = on_plan});
}

/* Receipts ------------------------------------------------------------------------------------ */

struct receipt_task {
    struct task base;
    char node[NAME_SIZE];
    struct receipt *receipt;
    struct receipt_note note;
    char *text; /* canonical */
};

static void release_receipt(struct task *task)
{
    struct receipt_task *rt = (struct receipt_task *)task;
    receipt_free(rt->receipt);
    free(rt->text);
    task_release(task);
    free(rt);
}

/* Nothing new in it: the node says again that it is as it was. */
static bool is_quiet(const struct receipt_note *before, const struct receipt_note *note)
{
    return note->result == RECEIPT_UNCHANGED && before->id != 0 &&
           strcmp(before->digest, note->digest) == 0 &&
           strcmp(before->observed, note->observed) == 0;
}

static enum err_code add_receipt_event(struct db_tx *tx, const struct receipt_task *rt,
                                       struct err *err)
{
    const struct receipt *receipt = rt->receipt;
    char subject[NAME_SIZE + 8];
    snprintf(subject, sizeof(subject), "node/%s", rt->node);
    OWN(json)
    json_t *body =
        json_pack("{ss, sI, ss, ss, sI, sb}", "result", receipt_result_name(receipt->result),
                  "generation", (json_int_t)receipt->generation, "digest", receipt->digest,
                  "observed", receipt->observed, "receipt", (json_int_t)rt->note.id, "equal",
                  strcmp(receipt->digest, receipt->observed) == 0);
    if (body != NULL && receipt->problem[0] != '\0')
        json_object_set_new(body, "problem", json_string(receipt->problem));
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    const struct db_audit subject_only = {.subject = subject};
    return change_record(tx, rt->base.request, &subject_only,
                         receipt->result == RECEIPT_DRIFT ? "node.drift" : "node.receipt", text,
                         err);
}

static enum err_code run_receipt(struct db_tx *tx, struct task *task, struct err *err)
{
    struct receipt_task *rt = (struct receipt_task *)task;
    const struct world_node *node = world_node_get(task->app->world, rt->node);
    if (node == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", rt->node);
    /* A receipt whose answer was lost comes again. */
    bool repeated =
        node->receipt.id > 0 && strcmp(node->receipt.body_digest, rt->note.body_digest) == 0;
    enum err_code code = ERR_OK;
    const struct db_receipt row = {.node = rt->node,
                                   .generation = rt->receipt->generation,
                                   .digest = rt->receipt->digest,
                                   .observed = rt->receipt->observed,
                                   .result = receipt_result_name(rt->receipt->result),
                                   .rollout = rt->receipt->rollout,
                                   .body = rt->text};
    if (repeated)
        rt->note.id = node->receipt.id;
    else
        code = receipt_put(tx, &row, &rt->note.id, err);
    if (code == ERR_OK && !repeated && !is_quiet(&node->receipt, &rt->note))
        code = add_receipt_event(tx, rt, err);
    if (code != ERR_OK)
        return code;
    task->status = 201;
    task->answer = json_pack("{sI}", "id", (json_int_t)rt->note.id);
    if (task->answer == NULL)
        return err_nomem(err);
    return ERR_OK;
}

static void settle_receipt(struct task *task)
{
    struct receipt_task *rt = (struct receipt_task *)task;
    struct world_node *node = world_node_get(task->app->world, rt->node);
    counters_receipt(&task->app->counters, rt->receipt->result);
    node->receipt = rt->note;
    node->drifted = false;
    free(node->state);
    node->state = NULL;
    node->heard = status_heard(task->app->status, node->name);
    world_node_resync(task->app->world, node);
    rollouts_on_receipt(task->app, node);
}

void api_agent_receipt(struct request *request)
{
    struct err err = ERR_INIT;
    char digest[DIGEST_TEXT_MAX];
    size_t len;
    struct receipt_task *rt = api_alloc(request, sizeof(*rt));
    if (rt == NULL)
        return;
    name_store(request);
    task_init(&rt->base, request, run_receipt, release_receipt);
    rt->base.settle = settle_receipt;
    snprintf(rt->node, sizeof(rt->node), "%s", request_principal(request)->node);
    enum err_code code = receipt_from_json(request_json(request), &rt->receipt, &err);
    if (code == ERR_OK && !speaker_is_named(request, rt->receipt->node)) {
        release_receipt(&rt->base);
        return;
    }
    if (code == ERR_OK && (rt->text = json_canonical(request_json(request), &len)) == NULL)
        code = err_nomem(&err);
    if (code != ERR_OK) {
        release_receipt(&rt->base);
        request_reply_err(request, &err);
        return;
    }
    bytes_digest(rt->text, len, digest);
    receipt_note_of(rt->receipt, digest, &rt->note);
    task_submit(&rt->base);
}

/* State --------------------------------------------------------------------------------------- */

struct state_task {
    struct task base;
    char node[NAME_SIZE];
    struct state state;
    char *text;
    bool compared;
    bool differs; /* from the plan that the node said it has applied */
};

static void release_state(struct task *task)
{
    struct state_task *st = (struct state_task *)task;
    state_release(&st->state);
    free(st->text);
    task_release(task);
    free(st);
}

static json_t *drift_to_json(const struct plan_steps *steps)
{
    json_t *knobs = json_array();
    for (size_t i = 0; i < steps->count && i < DRIFT_SHOWN_MAX; i++) {
        const struct plan_step *step = &steps->items[i];
        json_t *knob = json_pack("{ss, ss, ss}", "kind", step->kind->name, "subject", step->subject,
                                 "id", step->id);
        if (knob != NULL && step->to != NULL)
            json_object_set(knob, "want", step->to);
        if (knob != NULL && step->from != NULL)
            json_object_set(knob, "is", step->from);
        json_array_append_new(knobs, knob);
    }
    return knobs;
}

/* Compares the state with the plan that the node's last receipt said is applied. A plan that is
 * newer than the receipt makes every state "different", which is no drift. */
static enum err_code compare(struct state_task *st, struct db_tx *tx, const struct world_node *node,
                             size_t *out_count, struct err *err)
{
    OWN(plan) struct plan *plan = NULL;
    OWN_STEPS struct plan_steps steps = {0};
    char observed[DIGEST_TEXT_MAX], subject[NAME_SIZE + 8];
    enum err_code code = planner_given(st->base.app, node, &plan, err);
    if (code == ERR_OK)
        code = plan_observed_digest(plan, &st->state, observed, err);
    if (code != ERR_OK)
        return code;
    st->differs = strcmp(observed, plan->digest) != 0;
    if (!st->differs)
        return ERR_OK;
    struct err diff_err = ERR_INIT;
    OWN(json) json_t *body = json_object();
    code = plan_diff(plan, &st->state, &steps, &diff_err);
    if (code == ERR_OK)
        json_object_set_new(body, "knobs", drift_to_json(&steps));
    else /* a knob that cannot be read: not in sync, and not known how */
        json_object_set_new(body, "problem", json_string(diff_err.text));
    *out_count = code == ERR_OK ? steps.count : 1;
    json_object_set_new(body, "count", json_integer((json_int_t)*out_count));
    snprintf(subject, sizeof(subject), "node/%s", st->node);
    if (node->drifted)
        return ERR_OK; /* said already */
    OWN(str) char *text = json_canonical(body, NULL);
    const struct db_audit subject_only = {.subject = subject};
    return change_record(tx, st->base.request, &subject_only, "node.drift", text, err);
}

/* Whether the node said that it is what it was given. */
static bool stands_as_given(const struct world_node *node)
{
    if (node->sync == NODE_HELD || node->sync == NODE_CONFIRMING)
        return strcmp(node->receipt.digest, node->release.digest) == 0 &&
               strcmp(node->receipt.observed, node->release.digest) == 0;
    return !node->dirty && (node->sync == NODE_IN_SYNC || node->drifted);
}

/* States and receipts come on ways of their own: what was seen under another plan than that of the
 * last receipt is kept, and says nothing of the plan that stands now. */
static bool is_of_receipt(const struct state *state, const struct world_node *node)
{
    return state->of.digest[0] == '\0' || strcmp(state->of.digest, node->receipt.digest) == 0;
}

static enum err_code run_state(struct db_tx *tx, struct task *task, struct err *err)
{
    struct state_task *st = (struct state_task *)task;
    const struct world_node *node = world_node_get(task->app->world, st->node);
    size_t drift = 0;
    if (node == NULL)
        return task_refuse(task, 404, "not-found", err, "there is no node '%s'", st->node);
    enum err_code code = ERR_OK;
    st->compared = stands_as_given(node) && is_of_receipt(&st->state, node);
    if (st->compared)
        code = compare(st, tx, node, &drift, err);
    /* What differs is kept with its time: after a start it counts when no receipt came since. */
    if (code == ERR_OK && st->compared && !st->differs)
        code = node_state_keep(tx, st->node, st->text, err);
    else if (code == ERR_OK)
        code = node_state_put(tx, st->node, st->text, err);
    if (code != ERR_OK)
        return code;
    task->answer = json_pack("{sI}", "drift", (json_int_t)drift);
    if (task->answer == NULL)
        return err_nomem(err);
    return ERR_OK;
}

static void settle_state(struct task *task)
{
    struct state_task *st = (struct state_task *)task;
    struct world_node *node = world_node_get(task->app->world, st->node);
    st->base.app->counters.states++;
    if (node->state != NULL) { /* its first plan will be compared with the newest */
        free(node->state);
        node->state = GIVE(st->text);
    }
    if (!st->compared || node->drifted == st->differs)
        return;
    if (st->differs && !node->drifted)
        st->base.app->counters.drifts++;
    node->drifted = st->differs;
    world_node_resync(task->app->world, node);
    if (st->differs)
        rollouts_on_drift(task->app, node);
}

void api_agent_state(struct request *request)
{
    struct err err = ERR_INIT;
    struct state_task *st = api_alloc(request, sizeof(*st));
    if (st == NULL)
        return;
    name_store(request);
    state_init(&st->state);
    task_init(&st->base, request, run_state, release_state);
    st->base.settle = settle_state;
    snprintf(st->node, sizeof(st->node), "%s", request_principal(request)->node);
    enum err_code code = state_from_json(request_json(request), &st->state, &err);
    if (code == ERR_OK && (st->text = json_canonical(request_json(request), NULL)) == NULL)
        code = err_nomem(&err);
    if (code != ERR_OK) {
        release_state(&st->base);
        request_reply_err(request, &err);
        return;
    }
    state_seal(&st->state);
    task_submit(&st->base);
}
