/*
 * server/rollout_pick.c - see rollout_pick.h.
 */
#include "server/rollout_pick.h"

#include <stdlib.h>
#include <string.h>

#include "server/campaigns.h"
#include "server/rollouts.h"

void rollout_pick_release(struct rollout_pick *pick)
{
    rollout_settings_release(&pick->settings);
    free(pick->names);
    *pick = (struct rollout_pick){.count = 0};
}

static enum err_code refuse(struct rollout_pick *pick, int status, const char *code)
{
    pick->status = status;
    pick->code = code;
    return ERR_CONFLICT;
}

static enum err_code check_named(struct rollout_pick *pick, const struct world *world,
                                 const json_t *document, struct err *err)
{
    const char *name = world_missing_node(world, json_object_get(document, "nodes"));
    if (name == NULL)
        return ERR_OK;
    err_set(err, ERR_CONFLICT, "there is no node '%s'", name);
    return refuse(pick, 422, "unknown-node");
}

/* A plan that is being compiled may turn out to be a newer one. */
static bool may_hold(const struct world *world, const struct world_node *node)
{
    bool compiling = node->dirty || !node->planned;
    return world->rollout_policy.staged &&
           (compiling ? node->release.digest[0] != '\0' : world_node_is_held(world, node));
}

static enum err_code take_nodes(struct rollout_pick *pick, const struct world *world,
                                const json_t *document, struct err *err)
{
    for (size_t i = 0; i < world->view.node_count; i++) {
        const struct world_node *node = world->nodes[i];
        size_t index;
        if (!rollout_request_has(document, &world->view.nodes[i]))
            continue;
        const struct rollout *other = rollouts_of(world, node->name, &index);
        if (other != NULL) {
            err_set(err, ERR_CONFLICT,
                    "node %s is in rollout r-%lld, which is %s: end it first, or leave the node "
                    "out",
                    node->name, (long long)other->number, rollout_state_name(other->state));
            return refuse(pick, 409, "rollout-active");
        }
        if (!may_hold(world, node))
            continue;
        const struct campaign *campaign = campaigns_on(world, node->name);
        if (campaign != NULL) {
            err_set(err, ERR_CONFLICT,
                    "node %s is being flashed by firmware campaign c-%lld: wait until it has "
                    "ended there, or leave the node out",
                    node->name, (long long)campaign->number);
            return refuse(pick, 409, "node-in-campaign");
        }
        if (pick->count == ROLLOUT_NODES_MAX) {
            err_set(err, ERR_CONFLICT, "a rollout takes at most %d nodes", ROLLOUT_NODES_MAX);
            return refuse(pick, 422, "rollout-refused");
        }
        memcpy(pick->names[pick->count++], node->name, NAME_SIZE);
    }
    return ERR_OK;
}

enum err_code rollout_pick_make(struct rollout_pick *pick, const struct world *world,
                                const json_t *document, struct err *err)
{
    const struct rollout_policy *policy = &world->rollout_policy;
    *pick = (struct rollout_pick){.count = 0};
    enum err_code code = rollout_settings_copy(&policy->settings, &pick->settings, err);
    if (code == ERR_OK)
        code = rollout_request_from_json(document, &pick->settings, NULL, err);
    if (code == ERR_INVALID) /* right by itself, but not over the policy */
        return refuse(pick, 422, "rollout-refused");
    if (code == ERR_OK)
        code = check_named(pick, world, document, err);
    if (code != ERR_OK)
        return code;
    pick->names = calloc(world->view.node_count + 1, NAME_SIZE);
    if (pick->names == NULL)
        return err_nomem(err);
    code = take_nodes(pick, world, document, err);
    if (code != ERR_OK || pick->count > 0)
        return code;
    err_set(err, ERR_CONFLICT, "%s",
            policy->staged ? "none of these nodes holds a newer plan than the one it was given"
                           : "changes are not staged: every node is given its newest plan at once "
                             "(rollout policy, mode \"direct\")");
    return refuse(pick, 409, "nothing-to-roll-out");
}

const char **rollout_pick_pointers(const struct rollout_pick *pick)
{
    const char **names = calloc(pick->count + 1, sizeof(*names));
    for (size_t i = 0; names != NULL && i < pick->count; i++)
        names[i] = pick->names[i];
    return names;
}
