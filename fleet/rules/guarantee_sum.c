/*
 * fleet/rules/guarantee_sum.c - guarantees on one port must fit beside the default class's reserve.
 */
#include <string.h>

#include "fleet/rules/rule.h"

#define RESERVE_WITHOUT_PROFILE 500

struct sum {
    rule_wide own, others;
    bool needs_speed; /* a rate is in it */
};

static int64_t free_permyriad(const struct view *view)
{
    return SHARE_PERMYRIAD_FULL -
           (view->fabric == NULL ? RESERVE_WITHOUT_PROFILE : view->fabric->reserve_permyriad);
}

static struct sum sum_of(const struct site *site, const struct change *change, int64_t port_bps)
{
    struct sum sum = {0};
    for (size_t i = 0; i < site->job_count; i++) {
        const struct site_job *job = &site->jobs[i];
        rule_wide amount = rule_amount(&job->job->guarantee, port_bps);
        sum.needs_speed |= job->job->guarantee.kind == BANDWIDTH_RATE;
        if (rule_in_scope(change, job->tenant->name))
            sum.own += amount;
        else
            sum.others += amount;
    }
    return sum;
}

/* Others are only spoken of together; what is left beside them is all that a tenant may know. */
static void report(const struct view *view, const struct change *change, const struct site *site,
                   const struct sum *sum, struct finding_list *findings)
{
    char own[BANDWIDTH_TEXT_MAX], left[BANDWIDTH_TEXT_MAX], where[RULE_SITE_TEXT_MAX];
    int64_t port_bps = site->port->speed_bps > 0 ? site->port->speed_bps : 1;
    rule_wide room = (rule_wide)free_permyriad(view) * port_bps - sum->others;
    rule_amount_text(sum->own, port_bps, true, own);
    share_format(room <= 0 ? 0 : (int64_t)(room / port_bps), left);
    struct rule_finding what = {
        .severity = FINDING_ERROR,
        .tenant = change->tenant,
        .site = change->tenant == NULL ? site : NULL,
        .observed = own,
        .limit = left,
        .hint = "lower a guarantee, or place a job elsewhere",
    };
    rule_report(findings, &rule_guarantee_sum, change, &what,
                "guarantees on %s add up to %s of the port, but %s is left beside %sthe default "
                "class's reserve",
                rule_site_text(site, where), own, left,
                sum->others > 0 ? "other tenants and " : "");
}

/* The worst port only: a policy on a thousand nodes breaks the sum a thousand times. */
static void check_sites(const struct view *view, const struct change *change,
                        struct finding_list *findings)
{
    const struct site *worst = NULL;
    struct sum worst_sum = {0};
    rule_wide worst_over = 0;
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        bool known = site->port->speed_bps > 0;
        int64_t port_bps = known ? site->port->speed_bps : 1;
        struct sum sum = sum_of(site, change, port_bps);
        rule_wide over = sum.own + sum.others - (rule_wide)free_permyriad(view) * port_bps;
        /* Compared between ports as parts of the port. */
        over = over * SHARE_PERMYRIAD_FULL / port_bps + (over > 0 ? 1 : 0);
        if (sum.own == 0 || (sum.needs_speed && !known) || over <= worst_over)
            continue;
        worst = site;
        worst_sum = sum;
        worst_over = over;
    }
    if (worst != NULL)
        report(view, change, worst, &worst_sum, findings);
}

/* Jobs that are placed nowhere yet are taken to meet on one port: a document that cannot be true
 * anywhere is refused at once. Rates wait for a port. */
static void check_unplaced(const struct view *view, const struct change *change,
                           struct finding_list *findings)
{
    const struct view_tenant *tenant = view_tenant_get(view, change->tenant);
    int64_t sum = 0;
    if (tenant == NULL || tenant->policy == NULL)
        return;
    for (size_t i = 0; i < tenant->policy->job_count; i++) {
        const struct policy_job *job = &tenant->policy->jobs[i];
        if (job->guarantee.kind == BANDWIDTH_SHARE &&
            view_placement_get(view, tenant->name, job->name) == NULL)
            sum += job->guarantee.share_permyriad;
    }
    if (sum <= free_permyriad(view))
        return;
    char own[BANDWIDTH_TEXT_MAX], left[BANDWIDTH_TEXT_MAX];
    share_format(sum, own);
    share_format(free_permyriad(view), left);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = change->tenant,
                                .observed = own,
                                .limit = left,
                                .hint = "lower a guarantee, or place the jobs on different "
                                        "ports first"};
    rule_report(findings, &rule_guarantee_sum, change, &what,
                "the guarantees of the jobs that are not placed yet add up to %s; a port has %s "
                "beside the default class's reserve",
                own, left);
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    check_sites(view, change, findings);
    if (change->kind == CHANGE_POLICY)
        check_unplaced(view, change, findings);
}

const struct rule rule_guarantee_sum = {
    .id = "guarantee-sum",
    .text =
        "The guarantees of all jobs on a port add up to at most 100 % minus the default class's "
        "reserve.",
    .reason = "A port cannot give more than it has; traffic that no job claims must not starve.",
    .check = check,
};
