/*
 * fleet/rules/rules.c - the table, in the order of doc/rules.md, and the one pass that runs it.
 */
#include <string.h>

#include "fleet/rules/rule.h"

const struct rule *const rules[] = {
    &rule_guarantee_sum,      &rule_limit_below_guarantee, &rule_bw_limit_floor,
    &rule_priority_range,     &rule_lossless_set,          &rule_dscp_conflict,
    &rule_strict_needs_limit, &rule_port_capacity,         &rule_knob_unsupported,
    &rule_tenant_quota,       &rule_selector_empty,        &rule_selector_overlap,
    &rule_solar_stability,    &rule_dcbx_conflict,         NULL,
};

/* Only nodes that the change can touch are looked at. */
static void add_nodes(struct site_index *index, const struct view *view,
                      const struct change *change)
{
    if (change->kind == CHANGE_INVENTORY && change->node != NULL) {
        const struct view_node *node = view_node_get(view, change->node);
        if (node != NULL)
            site_index_add_node(index, view, node);
        return;
    }
    if (change->tenant != NULL) {
        site_index_add_tenant(index, view, change->tenant);
        return;
    }
    for (size_t i = 0; i < view->node_count; i++)
        site_index_add_node(index, view, &view->nodes[i]);
}

void rules_check(const struct view *view, const struct change *change,
                 struct finding_list *findings)
{
    struct site_index index;
    site_index_init(&index);
    add_nodes(&index, view, change);
    site_index_finish(&index);
    struct change full = *change;
    full.sites = &index;
    findings->nomem |= index.nomem;
    for (size_t i = 0; rules[i] != NULL && !index.nomem; i++)
        rules[i]->check(view, &full, findings);
    site_index_release(&index);
}
