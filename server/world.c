/*
 * server/world.c - see world.h. Sorted arrays with binary search: the rules and the compiler want
 * sorted arrays, and a fleet's names change rarely against how often they are looked up.
 */
#include "server/world.h"

#include <stdlib.h>
#include <string.h>

static const char *const sync_names[] = {
    [NODE_IDLE] = "idle",
    [NODE_PLANNING] = "planning",
    [NODE_IN_SYNC] = "in-sync",
    [NODE_PENDING] = "pending",
    [NODE_FAILED] = "failed",
    [NODE_HELD] = "held",
    [NODE_CONFIRMING] = "confirming",
    [NODE_QUARANTINED] = "quarantined",
};

const char *node_sync_name(enum node_sync sync)
{
    return sync_names[sync];
}

void world_tenant_free(struct world_tenant *tenant)
{
    if (tenant == NULL)
        return;
    policy_free(tenant->policy);
    free(tenant);
}

void world_placement_free(struct world_placement *placement)
{
    if (placement == NULL)
        return;
    placement_free(placement->value);
    free(placement);
}

void node_document_release(struct node_document *document)
{
    free(document->labels);
    free(document->text);
    *document = (struct node_document){0};
}

void world_node_free(struct world_node *node)
{
    if (node == NULL)
        return;
    node_document_release(&node->document);
    inventory_free(node->inventory);
    free(node->state);
    free(node);
}

enum err_code world_new(struct world **out, struct err *err)
{
    static _Atomic uint64_t serials;
    struct world *world = calloc(1, sizeof(*world));
    if (world == NULL)
        return err_nomem(err);
    world->serial = ++serials;
    rollout_policy_init(&world->rollout_policy);
    *out = world;
    return ERR_OK;
}

void world_free(struct world *world)
{
    if (world == NULL)
        return;
    for (size_t i = 0; i < world->view.tenant_count; i++)
        world_tenant_free(world->tenants[i]);
    for (size_t i = 0; i < world->view.node_count; i++)
        world_node_free(world->nodes[i]);
    for (size_t i = 0; i < world->view.placement_count; i++)
        world_placement_free(world->placements[i]);
    for (size_t i = 0; i < world->rollout_count; i++)
        rollout_free(world->rollouts[i]);
    for (size_t i = 0; i < world->campaign_count; i++)
        campaign_free(world->campaigns[i]);
    for (size_t i = 0; i < world->verification_count; i++)
        verification_free(world->verifications[i]);
    rollout_policy_release(&world->rollout_policy);
    free(world->tenants);
    free(world->view_tenants);
    free(world->nodes);
    free(world->view_nodes);
    free(world->placements);
    free(world->view_placements);
    fabric_free(world->fabric);
    free(world);
}

/* Grows an array of entries and the view's array beside it to one more than count. */
static enum err_code grow(void **entries, void **views, size_t view_size, size_t count,
                          size_t *capacity, struct err *err)
{
    if (count < *capacity)
        return ERR_OK;
    size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
    void *more = realloc(*entries, wanted * sizeof(void *));
    if (more == NULL)
        return err_nomem(err);
    *entries = more;
    more = realloc(*views, wanted * view_size);
    if (more == NULL)
        return err_nomem(err);
    *views = more;
    *capacity = wanted;
    return ERR_OK;
}

static void point_view(struct world *world)
{
    world->view.fabric = world->fabric;
    world->view.tenants = world->view_tenants;
    world->view.nodes = world->view_nodes;
    world->view.placements = world->view_placements;
}

enum err_code world_reserve(struct world *world, struct err *err)
{
    enum err_code code =
        grow((void **)&world->tenants, (void **)&world->view_tenants, sizeof(struct view_tenant),
             world->view.tenant_count, &world->tenant_capacity, err);
    if (code == ERR_OK)
        code = grow((void **)&world->nodes, (void **)&world->view_nodes, sizeof(struct view_node),
                    world->view.node_count, &world->node_capacity, err);
    if (code == ERR_OK)
        code = grow((void **)&world->placements, (void **)&world->view_placements,
                    sizeof(struct placement *), world->view.placement_count,
                    &world->placement_capacity, err);
    point_view(world);
    return code;
}

/* First index whose name is >= the wanted one; *found says whether it is equal. */
static size_t find_tenant(const struct world *world, const char *name, bool *found)
{
    size_t low = 0, high = world->view.tenant_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(world->tenants[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < world->view.tenant_count && strcmp(world->tenants[low]->name, name) == 0;
    return low;
}

static size_t find_node(const struct world *world, const char *name, bool *found)
{
    size_t low = 0, high = world->view.node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(world->nodes[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < world->view.node_count && strcmp(world->nodes[low]->name, name) == 0;
    return low;
}

static size_t find_placement(const struct world *world, const char *tenant, const char *job,
                             bool *found)
{
    size_t low = 0, high = world->view.placement_count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct placement *p = world->view_placements[middle];
        int order = strcmp(p->tenant, tenant);
        if (order == 0)
            order = strcmp(p->job, job);
        if (order == 0)
            *found = true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct world_tenant *world_tenant_get(const struct world *world, const char *name)
{
    bool found;
    size_t at = find_tenant(world, name, &found);
    return found ? world->tenants[at] : NULL;
}

struct world_node *world_node_get(const struct world *world, const char *name)
{
    bool found;
    size_t at = find_node(world, name, &found);
    return found ? world->nodes[at] : NULL;
}

const char *world_missing_node(const struct world *world, const json_t *names)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (world_node_get(world, name) == NULL)
            return name;
    }
    return NULL;
}

struct world_placement *world_placement_get(const struct world *world, const char *tenant,
                                            const char *job)
{
    bool found;
    size_t at = find_placement(world, tenant, job, &found);
    return found ? world->placements[at] : NULL;
}

size_t world_placements_of(const struct world *world, const char *tenant, size_t *out_count)
{
    bool found;
    size_t first = find_placement(world, tenant, "", &found), end = first;
    while (end < world->view.placement_count &&
           strcmp(world->view_placements[end]->tenant, tenant) == 0)
        end++;
    *out_count = end - first;
    return first;
}

/* Opens (delta 1) or closes (delta -1) a place in two arrays that run side by side. */
static void shift(void *array, size_t size, size_t at, size_t count, int delta)
{
    char *base = array;
    if (delta > 0)
        memmove(base + (at + 1) * size, base + at * size, (count - at) * size);
    else
        memmove(base + at * size, base + (at + 1) * size, (count - at - 1) * size);
}

static void of_all_changed(struct world *world)
{
    world->changed = ++world->changes;
}

void world_swap_fabric(struct world *world, struct fabric **fabric)
{
    struct fabric *old = world->fabric;
    of_all_changed(world);
    world->fabric = *fabric;
    world->view.fabric = world->fabric;
    *fabric = old;
}

static struct view_tenant tenant_view(const struct world_tenant *tenant)
{
    return (struct view_tenant){
        .name = tenant->name, .quota = tenant->quota, .policy = tenant->policy};
}

void world_swap_tenant(struct world *world, const char *name, struct world_tenant **entry)
{
    bool found;
    size_t at = find_tenant(world, name, &found), count = world->view.tenant_count;
    struct world_tenant *old = found ? world->tenants[at] : NULL;
    int delta = (*entry != NULL) - (old != NULL);
    of_all_changed(world);
    if (delta != 0) {
        shift(world->tenants, sizeof(*world->tenants), at, count, delta);
        shift(world->view_tenants, sizeof(*world->view_tenants), at, count, delta);
        world->view.tenant_count = delta > 0 ? count + 1 : count - 1;
    }
    if (*entry != NULL) {
        world->tenants[at] = *entry;
        world->view_tenants[at] = tenant_view(*entry);
    }
    *entry = old;
}

void world_swap_placement(struct world *world, const char *tenant, const char *job,
                          struct world_placement **entry)
{
    bool found;
    size_t at = find_placement(world, tenant, job, &found), count = world->view.placement_count;
    struct world_placement *old = found ? world->placements[at] : NULL;
    int delta = (*entry != NULL) - (old != NULL);
    of_all_changed(world);
    if (delta != 0) {
        shift(world->placements, sizeof(*world->placements), at, count, delta);
        shift(world->view_placements, sizeof(*world->view_placements), at, count, delta);
        world->view.placement_count = delta > 0 ? count + 1 : count - 1;
    }
    if (*entry != NULL) {
        world->placements[at] = *entry;
        world->view_placements[at] = (*entry)->value;
    }
    *entry = old;
}

static struct view_node node_view(const struct world_node *node)
{
    return (struct view_node){.name = node->name,
                              .labels = node->document.labels,
                              .label_count = node->document.label_count,
                              .inventory = node->inventory};
}

void world_swap_node(struct world *world, const char *name, struct world_node **entry)
{
    bool found;
    size_t at = find_node(world, name, &found), count = world->view.node_count;
    struct world_node *old = found ? world->nodes[at] : NULL;
    int delta = (*entry != NULL) - (old != NULL);
    if (old != NULL) {
        world->sync_counts[old->sync]--;
        world->dirty_count -= old->dirty;
        world->rollouts_due = true; /* it may be part of one */
    }
    if (delta != 0) {
        shift(world->nodes, sizeof(*world->nodes), at, count, delta);
        shift(world->view_nodes, sizeof(*world->view_nodes), at, count, delta);
        world->view.node_count = delta > 0 ? count + 1 : count - 1;
    }
    if (*entry != NULL) {
        world->nodes[at] = *entry;
        world->view_nodes[at] = node_view(*entry);
        (*entry)->changed = ++world->changes;
        world->sync_counts[(*entry)->sync]++;
        world->dirty_count += (*entry)->dirty;
    }
    *entry = old;
}

void world_swap_policy(struct world *world, const char *tenant, struct policy **policy)
{
    bool found;
    size_t at = find_tenant(world, tenant, &found);
    struct policy *old = world->tenants[at]->policy;
    of_all_changed(world);
    world->tenants[at]->policy = *policy;
    world->view_tenants[at].policy = *policy;
    *policy = old;
}

void world_swap_quota(struct world *world, const char *tenant, struct tenant_quota *quota)
{
    bool found;
    size_t at = find_tenant(world, tenant, &found);
    struct tenant_quota old = world->tenants[at]->quota;
    world->tenants[at]->quota = *quota;
    world->view_tenants[at].quota = *quota;
    *quota = old;
}

void world_swap_document(struct world *world, const char *node, struct node_document *document)
{
    bool found;
    size_t at = find_node(world, node, &found);
    struct node_document old = world->nodes[at]->document;
    world->nodes[at]->changed = ++world->changes;
    world->nodes[at]->document = *document;
    world->view_nodes[at] = node_view(world->nodes[at]);
    *document = old;
}

void world_swap_inventory(struct world *world, const char *node, struct inventory **inventory)
{
    bool found;
    size_t at = find_node(world, node, &found);
    struct inventory *old = world->nodes[at]->inventory;
    world->nodes[at]->changed = ++world->changes;
    world->nodes[at]->inventory = *inventory;
    world->view_nodes[at].inventory = *inventory;
    *inventory = old;
}

void world_each_node(struct world *world, world_node_fn *fn, void *arg)
{
    for (size_t i = 0; i < world->view.node_count; i++)
        fn(arg, world->nodes[i]);
}

void world_each_placed(struct world *world, const struct placement *placement, world_node_fn *fn,
                       void *arg)
{
    for (size_t i = 0; i < placement->node_count; i++) {
        struct world_node *node = world_node_get(world, placement->nodes[i]);
        if (node != NULL)
            fn(arg, node);
    }
    if (placement->selector_count == 0)
        return;
    for (size_t i = 0; i < world->view.node_count; i++)
        if (view_placed_on(placement, &world->view_nodes[i]))
            fn(arg, world->nodes[i]);
}

void world_each_of_tenant(struct world *world, const char *tenant, world_node_fn *fn, void *arg)
{
    size_t count, first = world_placements_of(world, tenant, &count);
    for (size_t i = first; i < first + count; i++)
        world_each_placed(world, world->view_placements[i], fn, arg);
}

/* With a profile there is something for every node; one whose ports nobody knows yet cannot be
 * idle. */
static enum node_sync sync_untold(const struct world *world, const struct world_node *node)
{
    bool unreported = world->fabric != NULL && node->inventory == NULL;
    return node->plan_knobs == 0 && !unreported ? NODE_IDLE : NODE_PENDING;
}

static bool is_good(enum receipt_result result)
{
    return result == RECEIPT_APPLIED || result == RECEIPT_UNCHANGED || result == RECEIPT_DRIFT;
}

static bool has_plan(const struct world_node *node)
{
    return node->planned && !node->dirty && node->plan_problem[0] == '\0';
}

bool world_node_is_held(const struct world *world, const struct world_node *node)
{
    const struct node_release *release = &node->release;
    return world->rollout_policy.staged && has_plan(node) && release->rollout == 0 &&
           release->digest[0] != '\0' && strcmp(release->digest, node->plan_digest) != 0;
}

bool world_node_is_untold(const struct world *world, const struct world_node *node)
{
    return world->rollout_policy.staged && has_plan(node) && node->inventory != NULL &&
           node->release.digest[0] == '\0';
}

static enum node_sync failed_as(const struct receipt_note *receipt)
{
    return receipt->result == RECEIPT_QUARANTINED ? NODE_QUARANTINED : NODE_FAILED;
}

/* Of a node whose plan is on trial, or not the newest: what it says of the one it was given. */
static enum node_sync sync_of_given(const struct world_node *node, enum node_sync otherwise)
{
    const struct receipt_note *receipt = &node->receipt;
    bool of_given = receipt->id != 0 && strcmp(receipt->digest, node->release.digest) == 0 &&
                    (node->release.rollout == 0 || receipt->rollout == node->release.rollout);
    bool bad = !is_good(receipt->result) || strcmp(receipt->observed, receipt->digest) != 0;
    return of_given && bad ? failed_as(receipt) : otherwise;
}

static enum node_sync sync_of(const struct world *world, const struct world_node *node)
{
    const struct receipt_note *receipt = &node->receipt;
    if (node->dirty || !node->planned)
        return NODE_PLANNING;
    if (node->plan_problem[0] != '\0')
        return NODE_FAILED;
    if (node->release.rollout != 0)
        return sync_of_given(node, NODE_CONFIRMING);
    if (world_node_is_held(world, node))
        return sync_of_given(node, NODE_HELD);
    if (receipt->id == 0)
        return sync_untold(world, node);
    if (strcmp(receipt->digest, node->plan_digest) != 0)
        return NODE_PENDING;
    if (strcmp(receipt->observed, node->plan_digest) != 0 || !is_good(receipt->result))
        return failed_as(receipt);
    if (receipt->rollout != 0)
        return NODE_CONFIRMING; /* it is final here, and the node has not heard so yet */
    return node->drifted ? NODE_PENDING : NODE_IN_SYNC;
}

void world_node_resync(struct world *world, struct world_node *node)
{
    world->sync_counts[node->sync]--;
    node->sync = sync_of(world, node);
    world->sync_counts[node->sync]++;
    node->touched = true;
    world->any_touched = true;
}

void world_mark_dirty(struct world *world, struct world_node *node)
{
    if (node->dirty)
        return;
    node->dirty = true;
    world->dirty_count++;
    world_node_resync(world, node);
}

void world_clear_dirty(struct world *world, struct world_node *node)
{
    if (node->dirty)
        world->dirty_count--;
    node->dirty = false;
    world_node_resync(world, node);
}
