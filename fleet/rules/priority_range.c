/*
 * fleet/rules/priority_range.c - a job uses a priority that the fabric offers. That it is 0..7 is
 * checked when the policy is read (same rule id).
 */
#include <stdio.h>

#include "fleet/rules/rule.h"

static void offered(const struct fabric *fabric, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (int i = 0; i < PRIORITY_COUNT && len < size; i++)
        if (fabric->priorities[i].used)
            len += (size_t)snprintf(out + len, size - len, "%s%d", len == 0 ? "" : ", ", i);
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    char offer[64];
    if (view->fabric == NULL)
        return;
    offered(view->fabric, offer, sizeof(offer));
    for (size_t i = 0; i < view->tenant_count; i++) {
        const struct view_tenant *tenant = &view->tenants[i];
        if (tenant->policy == NULL || !rule_in_scope(change, tenant->name))
            continue;
        for (size_t j = 0; j < tenant->policy->job_count; j++) {
            const struct policy_job *job = &tenant->policy->jobs[j];
            if (view->fabric->priorities[job->priority].used)
                continue;
            char observed[16];
            snprintf(observed, sizeof(observed), "%d", job->priority);
            struct rule_finding what = {.severity = FINDING_ERROR,
                                        .tenant = tenant->name,
                                        .job = job->name,
                                        .member = "priority",
                                        .observed = observed,
                                        .limit = offer,
                                        .hint = "use a priority that the fabric profile names"};
            rule_report(findings, &rule_priority_range, change, &what,
                        "job %s: the fabric does not offer priority %d", job->name, job->priority);
        }
    }
}

const struct rule rule_priority_range = {
    .id = "priority-range",
    .text = "A job's priority is 0 to 7 and one that the fabric profile names.",
    .reason = "Traffic of another priority would end in the default class.",
    .check = check,
};
