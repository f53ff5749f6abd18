/*
 * fleet/rules/selector_overlap.c - no packet may belong to two jobs.
 */
#include <string.h>

#include "fleet/rules/rule.h"

#define PAIRS_MAX 16 /* reported; more mark the list as truncated */

struct pairs {
    const struct placement *a[PAIRS_MAX], *b[PAIRS_MAX];
    size_t count;
};

static bool first_time(struct pairs *pairs, const struct site_job *a, const struct site_job *b,
                       struct finding_list *findings)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (pairs->a[i] == a->placement && pairs->b[i] == b->placement)
            return false;
    if (pairs->count == PAIRS_MAX) {
        findings->truncated = true;
        return false;
    }
    pairs->a[pairs->count] = a->placement;
    pairs->b[pairs->count++] = b->placement;
    return true;
}

/* About `job`, which the caller may see; the other one may be a stranger's. */
static void report(const struct change *change, const struct site *site, const struct site_job *job,
                   const struct site_job *other, struct finding_list *findings)
{
    char where[RULE_SITE_TEXT_MAX];
    bool visible = rule_in_scope(change, other->tenant->name);
    bool same_tenant = job->tenant == other->tenant;
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .tenant = job->tenant->name,
                                .job = job->job->name,
                                .site = site,
                                .hint =
                                    "narrow the match of one of them (addresses, port or DSCP)"};
    if (change->kind == CHANGE_PLACEMENT && strcmp(job->job->name, change->job) == 0)
        what.pointer = "/match";
    rule_report(findings, &rule_selector_overlap, change, &what,
                "job %s matches flows of %s%s%s%s%s on %s", job->job->name,
                visible ? "job " : "other tenants", visible ? other->job->name : "",
                visible && !same_tenant ? " (tenant " : "",
                visible && !same_tenant ? other->tenant->name : "",
                visible && !same_tenant ? ")" : "", rule_site_text(site, where));
}

static void check_site(const struct change *change, const struct site *site, struct pairs *pairs,
                       struct finding_list *findings)
{
    for (size_t i = 0; i < site->job_count; i++) {
        const struct site_job *a = &site->jobs[i];
        bool sees_a = rule_in_scope(change, a->tenant->name);
        for (size_t j = i + 1; j < site->job_count; j++) {
            const struct site_job *b = &site->jobs[j];
            bool sees_b = rule_in_scope(change, b->tenant->name);
            if ((!sees_a && !sees_b) || !flow_match_overlaps(&a->match, &b->match) ||
                !first_time(pairs, a, b, findings))
                continue;
            if (sees_a)
                report(change, site, a, b, findings);
            if (sees_b)
                report(change, site, b, a, findings);
        }
    }
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    struct pairs pairs = {.count = 0};
    if (view->fabric == NULL)
        return; /* without a profile no match is complete: its DSCP comes from there */
    for (size_t i = 0; i < change->sites->site_count; i++)
        check_site(change, &change->sites->sites[i], &pairs, findings);
}

const struct rule rule_selector_overlap = {
    .id = "selector-overlap",
    .text = "No two jobs on a port match the same flows.",
    .reason = "The packet would get the class of whichever filter comes first.",
    .check = check,
};
