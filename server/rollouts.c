/*
 * server/rollouts.c - see rollouts.h.
 */
#include "server/rollouts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/tables.h"
#include "fleet/compile.h"

void rollout_change_release(struct rollout_change *change)
{
    rollout_free(change->copy);
    change->copy = NULL;
    rollout_actions_release(&change->actions);
    releases_release(&change->releases);
}

enum err_code rollout_change_begin(struct rollout_change *change, struct app *app,
                                   const struct rollout *rollout, struct err *err)
{
    *change = (struct rollout_change){.app = app};
    return rollout_copy(rollout, &change->copy, err);
}

struct rollout *rollouts_get(const struct world *world, int64_t number)
{
    for (size_t i = 0; i < world->rollout_count; i++)
        if (world->rollouts[i]->number == number)
            return world->rollouts[i];
    return NULL;
}

struct rollout *rollouts_of(const struct world *world, const char *node, size_t *out_index)
{
    for (size_t i = 0; i < world->rollout_count; i++) {
        *out_index = rollout_find(world->rollouts[i], node);
        if (*out_index != SIZE_MAX)
            return world->rollouts[i];
    }
    return NULL;
}

static void set_digest(char out[DIGEST_TEXT_MAX], const char *digest)
{
    snprintf(out, DIGEST_TEXT_MAX, "%s", digest);
}

/* What a node would have been offered: its target, or while the rollout is being prepared the
 * newest plan, which may not be compiled yet. "" = nothing else than what it has. */
static enum err_code newest_of(const struct app *app, const struct world_node *now,
                               const struct rollout_node *node, char out[DIGEST_TEXT_MAX],
                               struct err *err)
{
    const struct view *view = &app->world->view;
    OWN(plan) struct plan *plan = NULL;
    enum err_code code = ERR_OK;
    if (node->target[0] != '\0')
        set_digest(out, node->target);
    else if (now->planned && !now->dirty)
        set_digest(out, now->plan_digest);
    else {
        code = compile_plan(view, view_node_get(view, now->name), app->world->generation, &plan,
                            NULL, err);
        set_digest(out, code == ERR_OK ? plan->digest : "");
    }
    if (strcmp(out, now->release.digest) == 0)
        out[0] = '\0';
    /* Without a plan there is none that could begin by itself: the planner shows why. */
    return code == ERR_NOMEM ? code : ERR_OK;
}

static enum err_code refuse(struct rollout_change *change, struct db_tx *tx,
                            const struct world_node *now, const struct rollout_node *node,
                            struct err *err)
{
    struct node_release next = now->release;
    enum err_code code = newest_of(change->app, now, node, next.refused, err);
    if (code != ERR_OK || next.refused[0] == '\0')
        return code;
    return release_note(&change->releases, change->app, tx, node->name, &next, err);
}

static enum err_code give(struct rollout_change *change, struct db_tx *tx,
                          const struct rollout_action *action, struct err *err)
{
    const struct rollout_node *node = &change->copy->nodes[action->node];
    const struct world_node *now = world_node_get(change->app->world, node->name);
    if (now == NULL)
        return ERR_OK;
    struct node_release next = now->release;
    if (action->kind == ROLLOUT_REFUSE)
        return refuse(change, tx, now, node, err);
    next.rollout = next.timeout_s = 0;
    next.given_by = change->copy->number;
    set_digest(next.digest, action->kind == ROLLOUT_RETURN ? node->before : node->target);
    if (action->kind == ROLLOUT_RETURN)
        set_digest(next.refused, node->target);
    if (action->kind == ROLLOUT_OFFER) {
        next.rollout = change->copy->number;
        next.timeout_s = change->copy->settings.confirm_timeout_ns / NS_PER_S;
    } else
        set_digest(next.good, next.digest);
    return release_give(&change->releases, change->app, tx, node->name, &next, err);
}

static enum err_code tell_event(const struct rollout_change *change, struct db_tx *tx,
                                const struct rollout_action *action, const char *request_id,
                                struct err *err)
{
    const struct rollout *r = change->copy;
    char subject[ROLLOUT_ID_SIZE + 8], id[ROLLOUT_ID_SIZE];
    int64_t event;
    rollout_id(r->number, id);
    snprintf(subject, sizeof(subject), "rollout/%s", id);
    OWN(json)
    json_t *body =
        json_pack("{ss, ss, ss, sI}", "rollout", id, "state", rollout_state_name(r->state), "text",
                  action->text, "wave", (json_int_t)r->wave + 1);
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    if (text == NULL)
        return err_nomem(err);
    const struct db_event row = {
        .kind = action->event, .subject = subject, .request_id = request_id, .body = text};
    return event_add(tx, &row, &event, err);
}

static enum err_code store_node(struct db_tx *tx, int64_t number, const struct rollout_node *node,
                                struct err *err)
{
    OWN(json) json_t *body = rollout_node_to_json(node);
    OWN(str) char *text = body == NULL ? NULL : json_canonical(body, NULL);
    if (text == NULL)
        return err_nomem(err);
    const struct db_rollout_node row = {.node = node->name,
                                        .wave = node->wave,
                                        .state = rollout_node_state_name(node->state),
                                        .target = node->target,
                                        .before = node->before,
                                        .body = text};
    return rollout_node_put(tx, number, &row, err);
}

static enum err_code store_head(struct rollout_change *change, struct db_tx *tx, struct err *err)
{
    struct rollout *r = change->copy;
    int64_t now_ns = change->app->clock->mono_ns(change->app->clock);
    OWN(json) json_t *head = rollout_head_to_json(r, now_ns);
    OWN(str) char *text = head == NULL ? NULL : json_canonical(head, NULL);
    if (text == NULL)
        return err_nomem(err);
    r->revision++;
    r->saved_ns = now_ns;
    r->updated_us = db_tx_now_us(tx);
    const struct db_rollout row = {.number = r->number,
                                   .state = rollout_state_name(r->state),
                                   .active = !rollout_is_over(r->state),
                                   .revision = r->revision,
                                   .head = text,
                                   .created_us = r->created_us,
                                   .updated_us = r->updated_us};
    return rollout_put(tx, &row, err);
}

enum err_code rollout_change_store(struct rollout_change *change, struct db_tx *tx,
                                   const char *request_id, struct err *err)
{
    struct rollout *r = change->copy;
    enum err_code code = change->actions.nomem ? err_nomem(err) : ERR_OK;
    if (code == ERR_OK)
        code = store_head(change, tx, err);
    for (size_t i = 0; i < r->node_count && code == ERR_OK; i++)
        if (r->nodes[i].changed) {
            r->nodes[i].changed = false;
            code = store_node(tx, r->number, &r->nodes[i], err);
        }
    for (size_t i = 0; i < change->actions.count && code == ERR_OK; i++) {
        const struct rollout_action *action = &change->actions.items[i];
        code = action->kind == ROLLOUT_EVENT ? tell_event(change, tx, action, request_id, err)
                                             : give(change, tx, action, err);
    }
    return code;
}

void rollout_change_settle(struct rollout_change *change)
{
    struct world *world = change->app->world;
    struct rollout *copy = GIVE(change->copy);
    bool over = rollout_is_over(copy->state);
    size_t at = 0;
    while (at < world->rollout_count && world->rollouts[at]->number != copy->number)
        at++;
    releases_settle(&change->releases, change->app);
    if (at < world->rollout_count)
        rollout_free(world->rollouts[at]);
    else if (!over) {
        assert(world->rollout_count < ROLLOUTS_ACTIVE_MAX);
        world->rollout_count++;
    }
    if (!over)
        world->rollouts[at] = GIVE(copy);
    else if (at < world->rollout_count)
        world->rollouts[at] = world->rollouts[--world->rollout_count];
    rollout_free(copy);
    world->plans_unused |= over;
    world->rollouts_due = true;
}

void rollout_tell(struct rollout *r, size_t index, const struct world_node *node, int64_t now_ns)
{
    const struct receipt_note *receipt = &node->receipt;
    const struct rollout_report report = {
        .digest = receipt->digest,
        .observed = receipt->observed,
        .mine = receipt->rollout == r->number,
        .good = receipt->result == RECEIPT_APPLIED || receipt->result == RECEIPT_UNCHANGED ||
                receipt->result == RECEIPT_DRIFT,
        .expired = receipt->result == RECEIPT_EXPIRED,
        .drift = receipt->result == RECEIPT_DRIFT,
        .probes_ok = receipt->probes_ok,
        .problem = receipt->problem,
    };
    if (receipt->id != 0)
        rollout_receipt(r, index, &report, now_ns);
}

void rollouts_on_receipt(struct app *app, const struct world_node *node)
{
    size_t index;
    struct rollout *r = rollouts_of(app->world, node->name, &index);
    if (r == NULL)
        return;
    rollout_tell(r, index, node, app->clock->mono_ns(app->clock));
    app->world->rollouts_due = true;
}

void rollouts_on_drift(struct app *app, const struct world_node *node)
{
    size_t index;
    struct rollout *r = rollouts_of(app->world, node->name, &index);
    if (r != NULL && rollout_finding(r, index, "its state is not what the plan wants"))
        app->world->rollouts_due = true;
}
