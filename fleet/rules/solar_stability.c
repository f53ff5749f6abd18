/*
 * fleet/rules/solar_stability.c - congestion-control parameters inside the stable region.
 *
 * Solar-CC in Kelly form, each update period: alpha += eta * (w - alpha * beta * q), q += N * alpha
 * - 1, with rates as parts of the bottleneck, q in bandwidth-delay products, w = 1, and eta scaled
 * by 1/N by the gain schedule, so that N = 1 is the case to look at. Around the fixed point
 * alpha = 1, q = 1/beta, with q seen one period late, the characteristic polynomial is
 *   z^3 - (2 - eta) z^2 + (1 - eta) z + eta * beta,
 * and Jury's criterion (E. I. Jury, Theory and Application of the z-Transform Method, 1964) gives
 * for 0 < eta <= 1 stability exactly when 1 - 2 beta + eta * beta * (1 - beta) > 0. That holds for
 * every such eta when 0 < beta <= 0.5: the region below. The defaults (0.05, 0.5) are inside.
 */
#include <stdio.h>

#include "fleet/read.h"
#include "fleet/rules/rule.h"

#define ETA_MICRO_MAX  INT64_C(1000000)
#define BETA_MICRO_MAX INT64_C(500000)

static void check_value(const struct change *change, const struct rule_finding *at,
                        const char *name, int64_t value, int64_t max, struct finding_list *findings)
{
    if (value > 0 && value <= max)
        return;
    char observed[READ_MICRO_TEXT_MAX], limit[READ_MICRO_TEXT_MAX], pointer[ERR_POINTER_MAX];
    write_micro(value, observed);
    write_micro(max, limit);
    struct rule_finding what = *at;
    what.severity = FINDING_ERROR;
    what.observed = observed;
    what.limit = limit;
    what.hint = value == 0 ? "0 never reacts to congestion" : "larger values oscillate";
    if (at->pointer != NULL) {
        snprintf(pointer, sizeof(pointer), "%s/%s", at->pointer, name);
        what.pointer = pointer;
    }
    rule_report(findings, &rule_solar_stability, change, &what,
                "%s %s is outside the stable region: above 0, at most %s", name, observed, limit);
}

static void check_cc(const struct change *change, const struct rule_finding *at,
                     const struct solar_cc *cc, struct finding_list *findings)
{
    if (cc->has_eta)
        check_value(change, at, "eta", cc->eta_micro, ETA_MICRO_MAX, findings);
    if (cc->has_beta)
        check_value(change, at, "beta", cc->beta_micro, BETA_MICRO_MAX, findings);
}

static void check_policy(const struct change *change, const struct view_tenant *tenant,
                         struct finding_list *findings)
{
    for (size_t i = 0; i < tenant->policy->job_count; i++) {
        const struct policy_job *job = &tenant->policy->jobs[i];
        if (!job->solar.has_eta && !job->solar.has_beta)
            continue;
        char pointer[ERR_POINTER_MAX] = "";
        json_pointer_push(pointer, sizeof(pointer), "qos_policy");
        json_pointer_push(pointer, sizeof(pointer), job->name);
        json_pointer_push(pointer, sizeof(pointer), "solar");
        struct rule_finding at = {.tenant = tenant->name, .job = job->name, .pointer = pointer};
        check_cc(change, &at, &job->solar, findings);
    }
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    const struct view_tenant *tenant =
        change->tenant == NULL ? NULL : view_tenant_get(view, change->tenant);
    if (change->kind == CHANGE_POLICY && tenant != NULL && tenant->policy != NULL)
        check_policy(change, tenant, findings);
    if (change->kind == CHANGE_FABRIC && view->fabric != NULL) {
        struct rule_finding at = {.pointer = "/fabric_profile/solar"};
        check_cc(change, &at, &view->fabric->solar, findings);
    }
}

const struct rule rule_solar_stability = {
    .id = "solar-stability",
    .text = "Solar-CC's eta is above 0 and at most 1, its beta above 0 and at most 0.5.",
    .reason = "Outside this region rates and queues oscillate or never react.",
    .check = check,
};
