/*
 * fleet/view.c - look-ups in the picture that rules and the compiler work on.
 */
#include "fleet/view.h"

#include <stdlib.h>
#include <string.h>

/* Rows of all tables here start with their name. */
static int compare_name(const void *key, const void *row)
{
    return strcmp(key, *(const char *const *)row);
}

const struct view_tenant *view_tenant_get(const struct view *view, const char *name)
{
    _Static_assert(offsetof(struct view_tenant, name) == 0, "the name is the key");
    return view->tenant_count == 0 ? NULL
                                   : bsearch(name, view->tenants, view->tenant_count,
                                             sizeof(*view->tenants), compare_name);
}

const struct view_node *view_node_get(const struct view *view, const char *name)
{
    _Static_assert(offsetof(struct view_node, name) == 0, "the name is the key");
    return view->node_count == 0
               ? NULL
               : bsearch(name, view->nodes, view->node_count, sizeof(*view->nodes), compare_name);
}

struct placement_key {
    const char *tenant, *job;
};

static int compare_placement(const void *a, const void *b)
{
    const struct placement_key *key = a;
    const struct placement *placement = *(const struct placement *const *)b;
    int order = strcmp(key->tenant, placement->tenant);
    return order != 0 ? order : strcmp(key->job, placement->job);
}

const struct placement *view_placement_get(const struct view *view, const char *tenant,
                                           const char *job)
{
    const struct placement_key key = {tenant, job};
    const struct placement *const *found =
        view->placement_count == 0 ? NULL
                                   : bsearch(&key, view->placements, view->placement_count,
                                             sizeof(view->placements[0]), compare_placement);
    return found == NULL ? NULL : *found;
}

static const struct label_pair *label_get(const struct view_node *node, const char *key)
{
    for (size_t i = 0; i < node->label_count; i++)
        if (strcmp(node->labels[i].key, key) == 0)
            return &node->labels[i];
    return NULL;
}

static bool selector_matches(const struct placement *placement, const struct view_node *node)
{
    for (size_t i = 0; i < placement->selector_count; i++) {
        const struct label_pair *label = label_get(node, placement->selector[i].key);
        if (label == NULL || strcmp(label->value, placement->selector[i].value) != 0)
            return false;
    }
    return placement->selector_count > 0;
}

static int compare_text(const void *key, const void *row)
{
    return strcmp(key, row);
}

bool view_placed_on(const struct placement *placement, const struct view_node *node)
{
    bool named =
        placement->node_count > 0 && bsearch(node->name, placement->nodes, placement->node_count,
                                             sizeof(placement->nodes[0]), compare_text) != NULL;
    return named || selector_matches(placement, node);
}

size_t view_placements_of(const struct view *view, const char *tenant, size_t *out_count)
{
    size_t low = 0, high = view->placement_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(view->placements[middle]->tenant, tenant) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < view->placement_count && strcmp(view->placements[end]->tenant, tenant) == 0)
        end++;
    *out_count = end - low;
    return low;
}

bool view_tenant_is_on(const struct view *view, const char *tenant, const struct view_node *node)
{
    size_t count, first = view_placements_of(view, tenant, &count);
    for (size_t i = first; i < first + count; i++)
        if (view_placed_on(view->placements[i], node))
            return true;
    return false;
}
