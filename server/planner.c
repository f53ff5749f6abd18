/*
 * server/planner.c - see planner.h.
 */
#include "server/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/compile.h"
#include "server/release.h"
#include "server/campaigns.h"
#include "server/verifications.h"
#include "server/rollouts.h"

#define PLANNER_SLICE_NS (2 * NS_PER_MS) /* between two looks at the queue */

void plan_key(const char *node, char out[PUBLISH_KEY_SIZE])
{
    snprintf(out, PUBLISH_KEY_SIZE, "node/%s/plan", node);
}

static void show_plan(struct app *app, struct world_node *node, const struct plan *plan,
                      struct err *err)
{
    struct publish_entry *entry = NULL;
    OWN(json) json_t *document = plan_to_json(plan);
    char *text = document == NULL ? NULL : json_canonical(document, NULL);
    const struct plan_head head = {.node = node->name,
                                   .digest = plan->digest,
                                   .rollout = "",
                                   .attempt = node->attempt,
                                   .approved = node->approved};
    if (text == NULL)
        err_nomem(err);
    else if (plan_entry_new(&head, text, &entry, err) == ERR_OK)
        publish_put(app->publish, entry);
}

/* Without staging the newest plan is what the node is given. */
static void note_given(struct world_node *node, const struct plan *plan)
{
    node->release = (struct node_release){.knobs = plan->knob_count};
    memcpy(node->release.digest, plan->digest, sizeof(node->release.digest));
    memcpy(node->release.good, plan->digest, sizeof(node->release.good));
}

/* What the node said before the world was loaded, against its first plan after that. */
static bool state_differs(const struct world_node *node, const struct plan *plan)
{
    OWN(json) json_t *document = NULL;
    OWN_STATE struct state state;
    struct err err = ERR_INIT;
    char observed[DIGEST_TEXT_MAX];
    state_init(&state);
    /* A receipt of another plan says already that the node is not there yet. */
    return strcmp(node->receipt.digest, plan->digest) == 0 &&
           json_parse_limit(node->state, strlen(node->state), HTTP_BODY_LARGE_MAX, false, &document,
                            &err) == ERR_OK &&
           state_from_json(document, &state, &err) == ERR_OK &&
           (state.of.digest[0] == '\0' || strcmp(state.of.digest, plan->digest) == 0) &&
           plan_observed_digest(plan, &state, observed, &err) == ERR_OK &&
           strcmp(observed, plan->digest) != 0;
}

/* Compiles one node. A failure is the node's problem, shown on it; it is tried again with the next
 * change that touches the node. */
static void plan_node(struct app *app, size_t index)
{
    struct world *world = app->world;
    struct world_node *node = world->nodes[index];
    struct err err = ERR_INIT;
    OWN(plan) struct plan *plan = NULL;
    bool changed = false, staged = world->rollout_policy.staged, first = !node->planned;
    enum err_code code =
        compile_plan(&world->view, &world->view_nodes[index], world->generation, &plan, NULL, &err);
    if (code == ERR_OK) {
        changed = !staged && strcmp(node->release.digest, plan->digest) != 0;
        if (changed)
            show_plan(app, node, plan, &err);
        code = err.code;
    }
    if (code == ERR_OK) {
        bool given = changed || strcmp(node->release.digest, plan->digest) == 0;
        if (changed || (first && given))
            node->drifted = node->state != NULL && state_differs(node, plan);
        free(node->state);
        node->state = NULL;
        memcpy(node->plan_digest, plan->digest, sizeof(node->plan_digest));
        node->plan_knobs = plan->knob_count;
        node->plan_problem[0] = '\0';
        if (changed)
            note_given(node, plan);
    } else {
        snprintf(node->plan_problem, sizeof(node->plan_problem), "plan: %.200s", err.text);
        log_error("planner", "node=%s has no new plan: %s", node->name, err.text);
    }
    node->planned = true;
    world_clear_dirty(world, node);
    if (changed && code == ERR_OK) {
        char key[PUBLISH_KEY_SIZE];
        plan_key(node->name, key);
        waiters_wake(app->waiters, key);
    }
}

static void show_status(struct app *app)
{
    struct world *world = app->world;
    struct fleet_status fleet, old;
    const size_t *counts = world->sync_counts;
    for (size_t i = 0; world->any_touched && i < world->view.node_count; i++)
        if (world->nodes[i]->touched) {
            world->nodes[i]->touched = false;
            status_set(app->status, world->nodes[i]);
        }
    world->any_touched = false;
    status_fleet(app->status, &old);
    fleet = (struct fleet_status){
        .generation = world->generation,
        .planned_generation = world->dirty_count == 0 ? world->generation : old.planned_generation,
        .nodes = world->view.node_count,
        .total = world->view.node_count - counts[NODE_IDLE],
        .in_sync = counts[NODE_IN_SYNC],
        .pending = counts[NODE_PENDING] + counts[NODE_PLANNING] + counts[NODE_HELD] +
                   counts[NODE_CONFIRMING],
        .failed = counts[NODE_FAILED] + counts[NODE_QUARANTINED],
        .quarantined = counts[NODE_QUARANTINED],
        .held = counts[NODE_HELD],
        .confirming = counts[NODE_CONFIRMING],
        .tenants = world->view.tenant_count,
        .placements = world->view.placement_count,
    };
    status_set_fleet(app->status, &fleet);
    if (status_is_applied(app->status, world->generation))
        waiters_wake(app->waiters, BARRIER_KEY);
}

void planner_committed(void *arg)
{
    struct app *app = arg;
    effects_commit(&app->effects, app);
    event_hub_poke(app->events);
    show_status(app);
    rollouts_poke(app);
    campaigns_poke(app);
    verifications_poke(app);
}

bool planner_idle(void *arg)
{
    struct app *app = arg;
    struct world *world = app->world;
    if (world->dirty_count == 0)
        return false;
    int64_t end_ns = app->clock->mono_ns(app->clock) + PLANNER_SLICE_NS;
    for (size_t i = 0; i < world->view.node_count && world->dirty_count > 0; i++) {
        if (!world->nodes[i]->dirty)
            continue;
        plan_node(app, i);
        if (app->clock->mono_ns(app->clock) >= end_ns)
            break;
    }
    show_status(app);
    world->rollouts_due |= world->dirty_count == 0;
    rollouts_poke(app);
    return world->dirty_count > 0;
}

enum err_code planner_given(struct app *app, const struct world_node *node, struct plan **out,
                            struct err *err)
{
    struct world *world = app->world;
    char key[PUBLISH_KEY_SIZE];
    if (!world->rollout_policy.staged)
        return compile_plan(&world->view, view_node_get(&world->view, node->name),
                            world->generation, out, NULL, err);
    OWN(json) json_t *document = NULL;
    plan_key(node->name, key);
    struct blob *blob = publish_get(app->publish, key, NULL);
    if (blob == NULL)
        return err_set(err, ERR_NOT_FOUND, "node %s was given no plan yet", node->name);
    enum err_code code =
        json_parse_limit(blob->data, blob->len, HTTP_BODY_LARGE_MAX, false, &document, err);
    blob_unref(blob);
    return code != ERR_OK ? code : plan_from_json(document, out, err);
}

static void mark(void *arg, struct world_node *node)
{
    world_mark_dirty(arg, node);
}

void planner_reload(struct app *app)
{
    world_each_node(app->world, mark, app->world);
}
