/*
 * fleet/rules/selector_empty.c - a placement that reaches nothing is probably a mistake.
 */
#include <string.h>

#include "fleet/rules/rule.h"

static bool has_site(const struct change *change)
{
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        for (size_t j = 0; j < site->job_count; j++)
            if (strcmp(site->jobs[j].tenant->name, change->tenant) == 0 &&
                strcmp(site->jobs[j].job->name, change->job) == 0)
                return true;
    }
    return false;
}

static void warn(const struct change *change, const char *pointer, const char *text,
                 struct finding_list *findings)
{
    struct rule_finding what = {.severity = FINDING_WARNING,
                                .tenant = change->tenant,
                                .job = change->job,
                                .pointer = pointer};
    rule_report(findings, &rule_selector_empty, change, &what, "job %s: %s", change->job, text);
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    if (change->kind != CHANGE_PLACEMENT || change->job == NULL)
        return;
    const struct placement *placement = view_placement_get(view, change->tenant, change->job);
    if (placement == NULL)
        return; /* it was taken away */
    const struct view_tenant *tenant = view_tenant_get(view, change->tenant);
    bool in_policy = tenant != NULL && tenant->policy != NULL &&
                     policy_job_get(tenant->policy, change->job) != NULL;
    size_t nodes = 0, reporting = 0;
    for (size_t i = 0; i < view->node_count; i++) {
        bool placed = view_placed_on(placement, &view->nodes[i]);
        nodes += placed;
        reporting += placed && view->nodes[i].inventory != NULL;
    }
    if (!in_policy)
        warn(change, "", "the tenant's policy does not name this job; the placement has no effect",
             findings);
    if (nodes == 0)
        warn(change, "", "the placement matches no node", findings);
    else if (reporting == 0)
        warn(change, "", "no node of the placement has reported its ports yet", findings);
    else if (in_policy && !has_site(change))
        warn(change, placement->port_count > 0 ? "/ports" : "",
             "no node of the placement has such a port with a known speed", findings);
}

const struct rule rule_selector_empty = {
    .id = "selector-empty",
    .text = "A placement reaches at least one port of one node (warning).",
    .reason = "A misspelt label selects nothing, and the job runs without its guarantee.",
    .check = check,
};
