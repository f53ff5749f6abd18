/*
 * fleet/rules/dscp_conflict.c - one DSCP leads to one priority, and a job's packets carry one that
 * the port trusts.
 */
#include <stdio.h>

#include "fleet/rules/rule.h"

/* The priority that a DSCP is mapped to, -1 = none. */
static int priority_of(const struct fabric *fabric, int dscp)
{
    for (int i = 0; i < PRIORITY_COUNT; i++)
        for (size_t j = 0; fabric->priorities[i].used && j < fabric->priorities[i].dscp_count; j++)
            if (fabric->priorities[i].dscps[j] == dscp)
                return i;
    return -1;
}

static void check_doubles(const struct fabric *fabric, const struct change *change,
                          struct finding_list *findings)
{
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        const struct fabric_priority *priority = &fabric->priorities[i];
        for (size_t j = 0; priority->used && j < priority->dscp_count; j++) {
            int first = priority_of(fabric, priority->dscps[j]);
            if (first == i)
                continue;
            char pointer[ERR_POINTER_MAX];
            rule_priority_pointer(fabric, i, "dscps", pointer);
            struct rule_finding what = {.severity = FINDING_ERROR,
                                        .pointer = pointer,
                                        .hint = "map the DSCP to one of the two"};
            rule_report(findings, &rule_dscp_conflict, change, &what,
                        "DSCP %d is mapped to priority %d and to priority %d", priority->dscps[j],
                        first, i);
        }
    }
}

static void check_cnp(const struct fabric *fabric, const struct change *change,
                      struct finding_list *findings)
{
    if (!fabric->has_cnp)
        return;
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .pointer = "/fabric_profile/cnp/priority"};
    int mapped = priority_of(fabric, fabric->cnp_dscp);
    if (mapped >= 0 && mapped != fabric->cnp_priority)
        rule_report(findings, &rule_dscp_conflict, change, &what,
                    "DSCP %d of CNPs is mapped to priority %d, but cnp says priority %d",
                    fabric->cnp_dscp, mapped, fabric->cnp_priority);
    if (!fabric->priorities[fabric->cnp_priority].used)
        rule_report(findings, &rule_dscp_conflict, change, &what,
                    "priority %d of CNPs is not in the profile's priorities", fabric->cnp_priority);
}

static void check_given(const struct fabric *fabric, const struct change *change,
                        const struct site_job *job, const struct rule_finding *at,
                        struct finding_list *findings)
{
    int dscp = job->placement->match.dscp, mapped = priority_of(fabric, dscp);
    if (fabric->trust != FABRIC_TRUST_PCP && mapped == job->job->priority)
        return;
    char observed[16];
    snprintf(observed, sizeof(observed), "%d", dscp);
    struct rule_finding what = *at;
    what.observed = observed;
    if (change->kind == CHANGE_PLACEMENT)
        what.pointer = "/match/dscp";
    if (fabric->trust == FABRIC_TRUST_PCP)
        rule_report(findings, &rule_dscp_conflict, change, &what,
                    "job %s matches DSCP %d, but ports trust the VLAN priority, not the DSCP",
                    job->job->name, dscp);
    else if (mapped < 0)
        rule_report(findings, &rule_dscp_conflict, change, &what,
                    "job %s matches DSCP %d, which the fabric maps to no priority", job->job->name,
                    dscp);
    else
        rule_report(findings, &rule_dscp_conflict, change, &what,
                    "job %s has priority %d, but its DSCP %d is mapped to priority %d",
                    job->job->name, job->job->priority, dscp, mapped);
}

static void check_job(const struct fabric *fabric, const struct change *change,
                      const struct site_job *job, struct finding_list *findings)
{
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = job->tenant->name,
                                .job = job->job->name,
                                .member = "priority",
                                .hint = "use a DSCP of the job's priority in the fabric profile"};
    const struct fabric_priority *priority = &fabric->priorities[job->job->priority];
    if (job->placement->match.dscp >= 0)
        check_given(fabric, change, job, &what, findings);
    else if (fabric->trust == FABRIC_TRUST_DSCP && priority->used && priority->dscp_count == 0)
        rule_report(findings, &rule_dscp_conflict, change, &what,
                    "job %s: priority %d has no DSCP in the fabric profile, so its packets cannot "
                    "be told apart",
                    job->job->name, job->job->priority);
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    if (view->fabric == NULL)
        return;
    if (change->kind == CHANGE_FABRIC) {
        check_doubles(view->fabric, change, findings);
        check_cnp(view->fabric, change, findings);
    }
    struct rule_seen seen = {.count = 0};
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        for (size_t j = 0; j < site->job_count; j++) {
            const struct site_job *job = &site->jobs[j];
            if (!rule_in_scope(change, job->tenant->name) || rule_is_seen(&seen, job->job))
                continue;
            size_t before = findings->count;
            check_job(view->fabric, change, job, findings);
            if (findings->count > before)
                rule_first(&seen, job->job, findings);
        }
    }
}

const struct rule rule_dscp_conflict = {
    .id = "dscp-conflict",
    .text =
        "One DSCP maps to one priority, and a placed job's DSCP is one that the ports trust for "
        "its priority.",
    .reason = "Packets with another DSCP travel in another class than the policy says.",
    .check = check,
};
