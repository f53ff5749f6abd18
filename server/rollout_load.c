/*
 * server/rollout_load.c - rollouts out of the store; see rollouts.h.
 */
#include "server/rollouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/tables.h"

struct loading {
    struct rollout *rollout;
    int64_t now_ns;
    size_t room;
    int rows; /* of the page */
    enum err_code code;
    struct err *err;
};

static enum err_code read_head(struct loading *loading, const struct db_rollout *row)
{
    struct rollout *r = loading->rollout;
    OWN(json) json_t *head = NULL;
    enum err_code code = json_parse(row->head, strlen(row->head), &head, loading->err);
    if (code == ERR_OK)
        code = rollout_head_from_json(r, head, loading->now_ns, loading->err);
    if (code == ERR_OK && !rollout_state_from_name(row->state, &r->state))
        code = err_set(loading->err, ERR_INVALID, "has a state that this server does not know");
    r->number = row->number;
    r->revision = row->revision;
    r->created_us = row->created_us;
    r->updated_us = row->updated_us;
    r->saved_ns = loading->now_ns;
    return code;
}

static bool on_head(void *arg, const struct db_rollout *row)
{
    struct loading *loading = arg;
    loading->code = read_head(loading, row);
    return false;
}

static enum err_code read_node(struct loading *loading, const struct db_rollout_node *row)
{
    struct rollout *r = loading->rollout;
    OWN(json) json_t *body = NULL;
    if (r->node_count == loading->room) {
        size_t room = loading->room == 0 ? 64 : 2 * loading->room;
        struct rollout_node *more = realloc(r->nodes, room * sizeof(*more));
        if (more == NULL)
            return err_nomem(loading->err);
        r->nodes = more;
        loading->room = room;
    }
    struct rollout_node *node = &r->nodes[r->node_count];
    *node = (struct rollout_node){.wave = (uint32_t)row->wave};
    snprintf(node->name, sizeof(node->name), "%s", row->node);
    snprintf(node->target, sizeof(node->target), "%s", row->target);
    snprintf(node->before, sizeof(node->before), "%s", row->before);
    if (!rollout_node_state_from_name(row->state, &node->state))
        return err_set(loading->err, ERR_INVALID, "node %s has no state that this server knows",
                       row->node);
    enum err_code code = json_parse(row->body, strlen(row->body), &body, loading->err);
    if (code == ERR_OK)
        code = rollout_node_from_json(node, body, loading->now_ns, loading->err);
    r->node_count += code == ERR_OK;
    return code;
}

static bool on_node(void *arg, const struct db_rollout_node *row)
{
    struct loading *loading = arg;
    loading->rows++;
    loading->code = read_node(loading, row);
    return loading->code == ERR_OK;
}

enum err_code rollout_load(struct db_ro *ro, int64_t number, int64_t now_ns, struct rollout **out,
                           struct err *err)
{
    OWN(rollout) struct rollout *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return err_nomem(err);
    struct loading loading = {.rollout = r, .now_ns = now_ns, .err = err};
    char after[NAME_SIZE] = "";
    enum err_code code = rollout_get(ro, number, on_head, &loading, err);
    if (code == ERR_OK)
        code = loading.code;
    do {
        if (code != ERR_OK)
            break;
        loading.rows = 0;
        code = rollout_node_list(ro, number, after, DB_PAGE_MAX, on_node, &loading, err);
        if (code == ERR_OK)
            code = loading.code;
        if (loading.rows > 0 && code == ERR_OK)
            memcpy(after, r->nodes[r->node_count - 1].name, sizeof(after));
    } while (loading.rows == DB_PAGE_MAX);
    if (code == ERR_OK)
        code = rollout_check(r, err);
    if (code == ERR_NOT_FOUND)
        return code;
    if (code != ERR_OK)
        return err_context(err, "the store's rollout r-%lld", (long long)number);
    *out = GIVE(r);
    return ERR_OK;
}

struct numbers {
    int64_t items[ROLLOUTS_ACTIVE_MAX];
    size_t count;
};

static bool on_active(void *arg, const struct db_rollout *row)
{
    struct numbers *numbers = arg;
    numbers->items[numbers->count++] = row->number;
    return numbers->count < ROLLOUTS_ACTIVE_MAX;
}

/* A receipt may have become durable when its conclusions had not. One that was given before the
 * plan was offered is not of this rollout. */
static void tell_last(struct world *world, struct rollout *r, int64_t now_ns)
{
    for (size_t i = 0; i < r->node_count; i++) {
        const struct world_node *node = world_node_get(world, r->nodes[i].name);
        if (node == NULL)
            continue;
        if (node->receipt.rollout == r->number ||
            strcmp(node->receipt.digest, r->nodes[i].before) == 0)
            rollout_tell(r, i, node, now_ns);
    }
}

enum err_code rollouts_load(struct app *app, struct world *world, struct db_ro *ro, struct err *err)
{
    struct numbers numbers = {.count = 0};
    int64_t now_ns = app->clock->mono_ns(app->clock);
    enum err_code code = rollout_list(ro, 0, true, ROLLOUTS_ACTIVE_MAX, on_active, &numbers, err);
    for (size_t i = 0; i < numbers.count && code == ERR_OK; i++) {
        struct rollout *r = NULL;
        code = rollout_load(ro, numbers.items[i], now_ns, &r, err);
        if (code != ERR_OK)
            break;
        tell_last(world, r, now_ns);
        world->rollouts[world->rollout_count++] = r;
    }
    world->rollouts_due = world->plans_unused = true;
    return code;
}
