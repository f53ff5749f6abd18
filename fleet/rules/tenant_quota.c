/*
 * fleet/rules/tenant_quota.c - what the operator allows a tenant to ask for.
 */
#include <stdio.h>
#include <string.h>

#include "fleet/rules/rule.h"

static void report_count(const struct change *change, const char *tenant, const char *member,
                         size_t count, int32_t max, struct finding_list *findings)
{
    char observed[32], limit[32], pointer[64];
    snprintf(observed, sizeof(observed), "%zu", count);
    snprintf(limit, sizeof(limit), "%d", (int)max);
    snprintf(pointer, sizeof(pointer), "/quota/%s_max", member);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = tenant,
                                .observed = observed,
                                .limit = limit,
                                .hint = "ask the operator for a larger quota"};
    if (change->kind == CHANGE_TENANT)
        what.pointer = pointer;
    else if (change->kind == CHANGE_PLACEMENT)
        what.pointer = "";
    rule_report(findings, &rule_tenant_quota, change, &what, "%zu %s; the quota is %d", count,
                member, (int)max);
}

static size_t placements_of(const struct view *view, const char *tenant)
{
    size_t count = 0;
    for (size_t i = 0; i < view->placement_count; i++)
        count += strcmp(view->placements[i]->tenant, tenant) == 0;
    return count;
}

static void report_share(const struct change *change, const struct view_tenant *tenant,
                         const struct site *site, rule_wide sum, struct finding_list *findings)
{
    char observed[BANDWIDTH_TEXT_MAX], limit[BANDWIDTH_TEXT_MAX], where[RULE_SITE_TEXT_MAX];
    int64_t port_bps = site == NULL || site->port->speed_bps <= 0 ? 1 : site->port->speed_bps;
    rule_amount_text(sum, port_bps, true, observed);
    share_format(tenant->quota.guarantee_permyriad_max, limit);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = tenant->name,
                                .observed = observed,
                                .limit = limit,
                                .hint = "ask the operator for a larger quota"};
    if (change->kind == CHANGE_TENANT)
        what.pointer = "/quota/guarantee_max";
    else if (change->kind == CHANGE_PLACEMENT)
        what.pointer = "";
    rule_report(findings, &rule_tenant_quota, change, &what,
                "the tenant's guarantees add up to %s of %s; the quota is %s", observed,
                site == NULL ? "a port" : rule_site_text(site, where), limit);
}

static void check_guarantees(const struct view_tenant *tenant, const struct change *change,
                             struct finding_list *findings)
{
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        int64_t port_bps = site->port->speed_bps > 0 ? site->port->speed_bps : 1;
        rule_wide sum = 0;
        for (size_t j = 0; j < site->job_count; j++)
            if (site->jobs[j].tenant == tenant &&
                (port_bps > 1 || site->jobs[j].job->guarantee.kind == BANDWIDTH_SHARE))
                sum += rule_amount(&site->jobs[j].job->guarantee, port_bps);
        if (sum > (rule_wide)tenant->quota.guarantee_permyriad_max * port_bps) {
            report_share(change, tenant, site, sum, findings);
            return;
        }
    }
}

/* A single job over the quota can be placed nowhere. */
static void check_jobs(const struct view_tenant *tenant, const struct change *change,
                       struct finding_list *findings)
{
    for (size_t i = 0; i < tenant->policy->job_count; i++) {
        const struct bandwidth *guarantee = &tenant->policy->jobs[i].guarantee;
        if (guarantee->kind == BANDWIDTH_SHARE &&
            guarantee->share_permyriad > tenant->quota.guarantee_permyriad_max) {
            report_share(change, tenant, NULL, guarantee->share_permyriad, findings);
            return;
        }
    }
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    const struct view_tenant *tenant =
        change->tenant == NULL ? NULL : view_tenant_get(view, change->tenant);
    if (tenant == NULL)
        return;
    const struct tenant_quota *quota = &tenant->quota;
    size_t jobs = tenant->policy == NULL ? 0 : tenant->policy->job_count;
    size_t labels = placements_of(view, tenant->name);
    if (quota->jobs_max > 0 && jobs > (size_t)quota->jobs_max)
        report_count(change, tenant->name, "jobs", jobs, quota->jobs_max, findings);
    if (quota->labels_max > 0 && labels > (size_t)quota->labels_max)
        report_count(change, tenant->name, "labels", labels, quota->labels_max, findings);
    if (quota->guarantee_permyriad_max <= 0 || tenant->policy == NULL)
        return;
    size_t before = findings->count;
    check_guarantees(tenant, change, findings);
    if (findings->count == before)
        check_jobs(tenant, change, findings);
}

const struct rule rule_tenant_quota = {
    .id = "tenant-quota",
    .text = "A tenant's jobs, labels and guarantees on a port are within its quota.",
    .reason = "One tenant must not use up what all share.",
    .check = check,
};
