/*
 * server/rollout_pump.c - the work of rollouts between other writes: one unit a write, in this
 * order: a rollout whose conclusions are due, first plans of nodes that never had one, a rollout
 * that starts by itself, plans that nothing names any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "db/tables.h"
#include "fleet/compile.h"
#include "server/campaigns.h"
#include "server/planner.h"
#include "server/rollouts.h"
#include "server/verifications.h"

#define PUMP_NODES    64               /* first plans in one write */
#define PUMP_PLANS    32               /* plans dropped in one write */
#define PUMP_SLICE_NS (20 * NS_PER_MS) /* of compiling in one write: all others wait for it */

/* Freezing ------------------------------------------------------------------------------------ */

static bool is_ready(const struct world *world, const struct rollout *r)
{
    for (size_t i = 0; i < r->node_count; i++) {
        const struct world_node *node = world_node_get(world, r->nodes[i].name);
        if (node != NULL && (node->dirty || !node->planned))
            return false;
    }
    return true;
}

static enum err_code compile_kept(struct app *app, struct db_tx *tx, const char *name,
                                  char out_digest[DIGEST_TEXT_MAX], struct err *err)
{
    const struct view *view = &app->world->view;
    OWN(plan) struct plan *plan = NULL;
    enum err_code code =
        compile_plan(view, view_node_get(view, name), app->world->generation, &plan, NULL, err);
    if (code == ERR_OK)
        code = release_keep_plan(tx, plan, err);
    if (code == ERR_OK)
        memcpy(out_digest, plan->digest, DIGEST_TEXT_MAX);
    return code;
}

/* The newest plans of nodes whose target is another one, as many as a slice has time for; what was
 * kept is stored with the rollout, and the next slice goes on behind it. */
static enum err_code keep_targets(struct rollout_change *change, struct db_tx *tx, bool *out_left,
                                  struct err *err)
{
    struct rollout *r = change->copy;
    struct app *app = change->app;
    int64_t end_ns = app->clock->mono_ns(app->clock) + PUMP_SLICE_NS;
    enum err_code code = ERR_OK;
    *out_left = false;
    for (size_t i = 0; i < r->node_count && code == ERR_OK && !*out_left; i++) {
        struct rollout_node *node = &r->nodes[i];
        const struct world_node *now = world_node_get(app->world, node->name);
        if (now == NULL || !world_node_is_held(app->world, now) ||
            strcmp(node->target, now->plan_digest) == 0)
            continue;
        code = compile_kept(app, tx, node->name, node->target, err);
        node->changed = true;
        if (code == ERR_OK && strcmp(node->target, now->plan_digest) != 0)
            code =
                err_set(err, ERR_CONFLICT, "node %s: compiled twice, its plan differs", node->name);
        *out_left = app->clock->mono_ns(app->clock) >= end_ns;
    }
    return code;
}

static enum err_code leave(struct rollout *r, size_t index, struct db_tx *tx, struct err *err)
{
    enum err_code code = rollout_node_delete(tx, r->number, r->nodes[index].name, err);
    if (code == ERR_OK)
        rollout_gone(r, index);
    return code;
}

/* Nodes that hold no newer plan (any more) leave; the others have their targets and get waves. */
static enum err_code freeze(struct rollout_change *change, struct db_tx *tx, struct err *err)
{
    struct rollout *r = change->copy;
    struct world *world = change->app->world;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < r->node_count && code == ERR_OK;) {
        struct rollout_node *node = &r->nodes[i];
        const struct world_node *now = world_node_get(world, node->name);
        if (now == NULL || !world_node_is_held(world, now)) {
            code = leave(r, i, tx, err);
            continue;
        }
        memcpy(node->before, now->release.good, sizeof(node->before));
        node->stands = node->changed = true;
        i++;
    }
    if (code != ERR_OK)
        return code;
    OWN(mem) void *memory = calloc(r->node_count + 1, sizeof(char *) + sizeof(uint32_t));
    if (memory == NULL)
        return err_nomem(err);
    const char **names = memory;
    uint32_t *waves = (uint32_t *)(void *)(names + r->node_count);
    for (size_t i = 0; i < r->node_count; i++)
        names[i] = r->nodes[i].name;
    size_t count = rollout_assign_waves(&r->settings, &world->view, names, r->node_count, waves);
    for (size_t i = 0; i < r->node_count; i++)
        r->nodes[i].wave = waves[i];
    rollout_start(r, (uint32_t)count, &change->actions);
    return ERR_OK;
}

/* One rollout --------------------------------------------------------------------------------- */

/* Nodes that are no longer in the fleet, or were made anew under their name, leave. */
static enum err_code drop_gone(struct rollout_change *change, struct db_tx *tx, bool *out_any,
                               struct err *err)
{
    struct rollout *r = change->copy;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < r->node_count && code == ERR_OK;) {
        const struct world_node *node = world_node_get(change->app->world, r->nodes[i].name);
        if (node != NULL && node->release.digest[0] != '\0') {
            i++;
            continue;
        }
        *out_any = true;
        code = leave(r, i, tx, err);
    }
    return code;
}

static bool has_changed(const struct rollout *r, int64_t now_ns)
{
    bool changed = now_ns - r->saved_ns >= ROLLOUT_SAVE_NS;
    for (size_t i = 0; i < r->node_count && !changed; i++)
        changed = r->nodes[i].changed;
    return changed;
}

/* *out_did: something was stored. */
static enum err_code advance(struct app *app, struct db_tx *tx, const struct rollout *rollout,
                             bool *out_did, struct err *err)
{
    int64_t now_ns = app->clock->mono_ns(app->clock);
    struct rollout_change change;
    struct verification_change verification;
    bool gone = false, left = true, verified = false;
    verification_change_init(&verification, app);
    enum err_code code = rollout_change_begin(&change, app, rollout, err);
    if (code == ERR_OK)
        code = drop_gone(&change, tx, &gone, err);
    if (code == ERR_OK && change.copy->state == ROLLOUT_PREPARING &&
        is_ready(app->world, change.copy))
        code = keep_targets(&change, tx, &left, err);
    if (code == ERR_OK && !left)
        code = freeze(&change, tx, err);
    if (code == ERR_OK)
        code = rollout_verify_hear(&change, tx, &verified, err);
    if (code == ERR_OK) {
        rollout_step(change.copy, now_ns, &change.actions);
        code = rollout_verify_order(&change, tx, &verification, &verified, err);
    }
    *out_did = code == ERR_OK &&
               (gone || verified || change.actions.count > 0 || has_changed(change.copy, now_ns));
    if (*out_did)
        code = rollout_change_store(&change, tx, "", err);
    if (code == ERR_OK && verification.copy != NULL)
        verification_change_settle(&verification);
    if (code == ERR_OK && *out_did)
        rollout_change_settle(&change);
    rollout_change_release(&change);
    verification_change_release(&verification);
    return code;
}

/* First plans --------------------------------------------------------------------------------- */

static enum err_code give_first(struct app *app, struct db_tx *tx, struct releases *releases,
                                const struct world_node *node, struct err *err)
{
    struct node_release next = node->release;
    enum err_code code = compile_kept(app, tx, node->name, next.digest, err);
    memcpy(next.good, next.digest, sizeof(next.good));
    return code != ERR_OK ? code : release_give(releases, app, tx, node->name, &next, err);
}

static enum err_code give_firsts(struct app *app, struct db_tx *tx, bool *out_did, struct err *err)
{
    struct releases releases = {.count = 0};
    struct world *world = app->world;
    enum err_code code = ERR_OK;
    size_t given = 0;
    int64_t end_ns = app->clock->mono_ns(app->clock) + PUMP_SLICE_NS;
    for (size_t i = 0; i < world->view.node_count && code == ERR_OK && given < PUMP_NODES; i++)
        if (world_node_is_untold(world, world->nodes[i])) {
            code = give_first(app, tx, &releases, world->nodes[i], err);
            given++;
            if (app->clock->mono_ns(app->clock) >= end_ns)
                break;
        }
    if (code == ERR_OK && given > 0)
        releases_settle(&releases, app);
    *out_did = given > 0;
    releases_release(&releases);
    return code;
}

/* By itself ----------------------------------------------------------------------------------- */

static bool may_start(const struct world *world, const struct world_node *node)
{
    size_t index;
    return world_node_is_held(world, node) &&
           strcmp(node->release.refused, node->plan_digest) != 0 &&
           rollouts_of(world, node->name, &index) == NULL &&
           campaigns_on(world, node->name) == NULL;
}

static enum err_code start_auto(struct app *app, struct db_tx *tx, bool *out_did, struct err *err)
{
    struct world *world = app->world;
    const struct rollout_policy *policy = &world->rollout_policy;
    size_t count = 0;
    if (!policy->staged || !policy->auto_start || world->dirty_count > 0 ||
        world->rollout_count == ROLLOUTS_ACTIVE_MAX)
        return ERR_OK;
    OWN(mem) void *memory = calloc(world->view.node_count + 1, sizeof(char *));
    const char **names = memory;
    if (names == NULL)
        return err_nomem(err);
    for (size_t i = 0; i < world->view.node_count && count < ROLLOUT_NODES_MAX; i++)
        if (may_start(world, world->nodes[i]))
            names[count++] = world->nodes[i]->name;
    if (count == 0)
        return ERR_OK;
    struct rollout_change change = {.app = app};
    enum err_code code = rollout_new(&policy->settings, names, count, &change.copy, err);
    if (code == ERR_OK)
        code = rollout_next(tx, &change.copy->number, err);
    if (code == ERR_OK) {
        snprintf(change.copy->author, sizeof(change.copy->author), "stellard");
        change.copy->created_us = db_tx_now_us(tx);
        code = rollout_change_store(&change, tx, "", err);
    }
    *out_did = code == ERR_OK;
    if (code == ERR_OK)
        rollout_change_settle(&change);
    rollout_change_release(&change);
    return code;
}

/* The pump ------------------------------------------------------------------------------------ */

static enum err_code pump(struct db_tx *tx, void *arg, struct err *err)
{
    struct app *app = arg;
    struct world *world = app->world;
    enum err_code code = ERR_OK;
    bool did = false;
    world->rollouts_due = false;
    for (size_t i = 0; i < world->rollout_count && code == ERR_OK && !did; i++)
        code = advance(app, tx, world->rollouts[i], &did, err);
    if (code == ERR_OK && !did)
        code = give_firsts(app, tx, &did, err);
    if (code == ERR_OK && !did)
        code = start_auto(app, tx, &did, err);
    if (code == ERR_OK && !did && world->plans_unused) {
        code = plans_drop_unused(tx, PUMP_PLANS, &did, err);
        world->plans_unused = did;
    }
    world->rollouts_due |= did; /* there may be more */
    return code;
}

static void pumped(void *arg, enum err_code code, const struct err *err)
{
    struct app *app = arg;
    app->rollouts_queued = false;
    if (code == ERR_OK) {
        rollouts_poke(app);
        return;
    }
    app->world->rollouts_due = true; /* with the next tick or commit, not at once */
    log_error("rollouts", "not carried on, will be tried again: %s", err->text);
}

void rollouts_poke(struct app *app)
{
    struct world *world = app->world;
    struct rollout_ticker *ticker = app->ticker;
    if (ticker == NULL)
        return; /* the store is being opened or closed */
    rollout_ticker_set(ticker, world->rollout_count > 0 || world->campaign_count > 0 ||
                                   world->verification_count > 0);
    if (!world->rollout_policy.staged && world->rollout_count == 0)
        world->rollouts_due = false;
    if (!world->rollouts_due || app->rollouts_queued)
        return;
    app->rollouts_queued = db_write(app->db, pump, pumped, app, NULL) == ERR_OK;
}
