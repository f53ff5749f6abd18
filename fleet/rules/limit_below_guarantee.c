/*
 * fleet/rules/limit_below_guarantee.c - a job's limit must not be below its own guarantee.
 */
#include "fleet/rules/rule.h"

static enum rule_verdict verdict(const struct policy_job *job, int64_t port_bps)
{
    const struct bandwidth *limit = &job->limit, *guarantee = &job->guarantee;
    if (limit->kind == BANDWIDTH_NONE || guarantee->kind == BANDWIDTH_NONE)
        return RULE_FITS;
    if (limit->kind != guarantee->kind && port_bps == 0)
        return RULE_NEEDS_PORT;
    int64_t speed = port_bps == 0 ? 1 : port_bps;
    return rule_amount(limit, speed) < rule_amount(guarantee, speed) ? RULE_BREAKS : RULE_FITS;
}

static void report(const struct change *change, const char *tenant, const struct policy_job *job,
                   const struct site *site, struct finding_list *findings)
{
    char limit[BANDWIDTH_TEXT_MAX], guarantee[BANDWIDTH_TEXT_MAX], where[RULE_SITE_TEXT_MAX] = "";
    bandwidth_format(&job->limit, limit);
    bandwidth_format(&job->guarantee, guarantee);
    if (site != NULL)
        rule_site_text(site, where);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = tenant,
                                .job = job->name,
                                .member = "bw_limit",
                                .site = site,
                                .observed = limit,
                                .limit = guarantee,
                                .hint = "raise the limit to the guarantee, or lower the guarantee"};
    rule_report(findings, &rule_limit_below_guarantee, change, &what,
                "job %s: bw_limit %s is below bw_guarantee %s%s%s", job->name, limit, guarantee,
                site != NULL ? " on " : "", where);
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    static const struct rule_pair pair = {&rule_limit_below_guarantee, verdict, report};
    rule_check_pair(&pair, view, change, findings);
}

const struct rule rule_limit_below_guarantee = {
    .id = "limit-below-guarantee",
    .text = "A job's bw_limit is at least its bw_guarantee.",
    .reason = "Otherwise the job could never reach what it was promised.",
    .check = check,
};
