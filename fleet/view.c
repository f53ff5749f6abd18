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
