/*
 * fleet/rules/bw_limit_floor.c - a limit must leave 70 % of the job's demand. The demand is what
 * the policy declares; measured demand is judged by health/.
 */
#include "fleet/rules/rule.h"

#define FLOOR_NUMERATOR   7
#define FLOOR_DENOMINATOR 10
#define UNCHECKED_MAX     16 /* named one by one; more are counted */

static enum rule_verdict verdict(const struct policy_job *job, int64_t port_bps)
{
    const struct bandwidth *limit = &job->limit, *demand = &job->demand;
    if (limit->kind == BANDWIDTH_NONE || demand->kind == BANDWIDTH_NONE)
        return RULE_FITS;
    if (limit->kind != demand->kind && port_bps == 0)
        return RULE_NEEDS_PORT;
    int64_t speed = port_bps == 0 ? 1 : port_bps;
    return rule_amount(limit, speed) * FLOOR_DENOMINATOR <
                   rule_amount(demand, speed) * FLOOR_NUMERATOR
               ? RULE_BREAKS
               : RULE_FITS;
}

static void report(const struct change *change, const char *tenant, const struct policy_job *job,
                   const struct site *site, struct finding_list *findings)
{
    char limit[BANDWIDTH_TEXT_MAX], demand[BANDWIDTH_TEXT_MAX], floor[BANDWIDTH_TEXT_MAX];
    char where[RULE_SITE_TEXT_MAX] = "";
    int64_t speed = site == NULL ? 1 : site->port->speed_bps;
    rule_wide needed = rule_amount(&job->demand, speed) * FLOOR_NUMERATOR;
    bandwidth_format(&job->limit, limit);
    bandwidth_format(&job->demand, demand);
    rule_amount_text((needed + FLOOR_DENOMINATOR - 1) / FLOOR_DENOMINATOR, speed,
                     job->limit.kind == BANDWIDTH_SHARE, floor);
    if (site != NULL)
        rule_site_text(site, where);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = tenant,
                                .job = job->name,
                                .member = "bw_limit",
                                .site = site,
                                .observed = limit,
                                .limit = floor,
                                .hint = "raise the limit; an administrator may override with a "
                                        "reason"};
    rule_report(findings, &rule_bw_limit_floor, change, &what,
                "job %s: bw_limit %s is below 70%% of its demand %s%s%s (floor %s)", job->name,
                limit, demand, site != NULL ? " on " : "", where, floor);
}

static void warn_unchecked(const struct change *change, const char *tenant,
                           const struct policy_job *job, struct finding_list *findings)
{
    char limit[BANDWIDTH_TEXT_MAX];
    bandwidth_format(&job->limit, limit);
    struct rule_finding what = {.severity = FINDING_WARNING,
                                .tenant = tenant,
                                .job = job->name,
                                .member = "bw_limit",
                                .observed = limit,
                                .hint = "declare the job's \"demand\""};
    rule_report(findings, &rule_bw_limit_floor, change, &what,
                "job %s: floor unchecked: the demand of the job is unknown", job->name);
}

/* Said to the one who uploads; a change of fabric or inventory does not make it news. */
static void check_unknown(const struct view *view, const struct change *change,
                          struct finding_list *findings)
{
    const struct view_tenant *tenant = view_tenant_get(view, change->tenant);
    size_t unknown = 0;
    if (tenant == NULL || tenant->policy == NULL)
        return;
    for (size_t i = 0; i < tenant->policy->job_count; i++) {
        const struct policy_job *job = &tenant->policy->jobs[i];
        if (job->limit.kind == BANDWIDTH_NONE || job->demand.kind != BANDWIDTH_NONE)
            continue;
        if (++unknown <= UNCHECKED_MAX)
            warn_unchecked(change, tenant->name, job, findings);
    }
    if (unknown > UNCHECKED_MAX) {
        struct rule_finding what = {.severity = FINDING_WARNING, .tenant = tenant->name};
        rule_report(findings, &rule_bw_limit_floor, change, &what,
                    "floor unchecked for %zu more jobs", unknown - UNCHECKED_MAX);
    }
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    static const struct rule_pair pair = {&rule_bw_limit_floor, verdict, report};
    rule_check_pair(&pair, view, change, findings);
    if (change->kind == CHANGE_POLICY)
        check_unknown(view, change, findings);
}

const struct rule rule_bw_limit_floor = {
    .id = "bw-limit-floor",
    .text = "A job's bw_limit is at least 70 % of its demand; without a known demand it is a "
            "warning.",
    .reason = "A tighter limit makes senders push back on each other until the job stalls.",
    .check = check,
};
