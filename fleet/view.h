#pragma once
/*
 * fleet/view.h - everything that rules and the compiler look at: a borrowed, read-only picture of
 * the fleet's desired state. Whoever builds it (server/world) owns what it points to.
 */

#include <stddef.h>
#include <stdint.h>

#include "fleet/fabric.h"
#include "fleet/inventory.h"
#include "fleet/placement.h"
#include "fleet/policy.h"

struct tenant_quota {
    int32_t jobs_max;                /* 0 = no quota */
    int32_t guarantee_permyriad_max; /* per port, 0 = no quota */
    int32_t labels_max;              /* placements, 0 = no quota */
};

struct view_tenant {
    const char *name;
    struct tenant_quota quota;
    const struct policy *policy; /* NULL = none */
};

struct view_node {
    const char *name;
    const struct label_pair *labels;
    size_t label_count;
    const struct inventory *inventory; /* NULL = never reported */
};

struct view {
    const struct fabric *fabric;       /* NULL = no profile yet */
    const struct view_tenant *tenants; /* sorted by name */
    size_t tenant_count;
    const struct view_node *nodes; /* sorted by name */
    size_t node_count;
    const struct placement *const *placements; /* sorted by tenant, then job */
    size_t placement_count;
};

const struct view_tenant *view_tenant_get(const struct view *view, const char *name);
const struct view_node *view_node_get(const struct view *view, const char *name);
const struct placement *view_placement_get(const struct view *view, const char *tenant,
                                           const char *job);
/* True when the placement covers the node. */
bool view_placed_on(const struct placement *placement, const struct view_node *node);
/* Index of the tenant's first placement; the others follow it. *out_count may be 0. */
size_t view_placements_of(const struct view *view, const char *tenant, size_t *out_count);
/* True when a placement of the tenant covers the node. */
bool view_tenant_is_on(const struct view *view, const char *tenant, const struct view_node *node);
