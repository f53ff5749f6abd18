/*
 * fleet/rules/rule.c - see rule.h.
 */
#include "fleet/rules/rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define SUBJECT_MAX 256

bool rule_in_scope(const struct change *change, const char *tenant)
{
    return change->tenant == NULL || strcmp(change->tenant, tenant) == 0;
}

/* Into the changed document, when the fault lies there. */
static bool pointer_of(const struct change *change, const struct rule_finding *what,
                       char out[ERR_POINTER_MAX])
{
    out[0] = '\0';
    if (what->pointer != NULL) {
        snprintf(out, ERR_POINTER_MAX, "%s", what->pointer);
        return true;
    }
    if (change->kind != CHANGE_POLICY)
        return change->kind == CHANGE_PLACEMENT && what->tenant != NULL &&
               (what->job == NULL || change->job == NULL || strcmp(what->job, change->job) == 0);
    json_pointer_push(out, ERR_POINTER_MAX, "qos_policy");
    if (what->job != NULL)
        json_pointer_push(out, ERR_POINTER_MAX, what->job);
    if (what->job != NULL && what->member != NULL)
        json_pointer_push(out, ERR_POINTER_MAX, what->member);
    return true;
}

static void subject_of(const struct rule_finding *what, char out[SUBJECT_MAX])
{
    if (what->tenant != NULL && what->job != NULL)
        snprintf(out, SUBJECT_MAX, "tenant/%s/job/%s", what->tenant, what->job);
    else if (what->site != NULL)
        snprintf(out, SUBJECT_MAX, "node/%s/port/%s", what->site->node->name, what->site->port->id);
    else if (what->tenant != NULL)
        snprintf(out, SUBJECT_MAX, "tenant/%s", what->tenant);
    else
        snprintf(out, SUBJECT_MAX, "fabric");
}

void rule_report(struct finding_list *findings, const struct rule *rule,
                 const struct change *change, const struct rule_finding *what, const char *fmt, ...)
{
    char message[ERR_TEXT_MAX], pointer[ERR_POINTER_MAX], subject[SUBJECT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    bool pointed = pointer_of(change, what, pointer);
    subject_of(what, subject);
    finding_add(findings, &(struct finding){.rule = rule->id,
                                            .severity = what->severity,
                                            .subject = subject,
                                            .pointer = pointed ? pointer : NULL,
                                            .message = message,
                                            .observed = (char *)what->observed,
                                            .limit = (char *)what->limit,
                                            .hint = (char *)what->hint});
}

const char *rule_site_text(const struct site *site, char out[RULE_SITE_TEXT_MAX])
{
    snprintf(out, RULE_SITE_TEXT_MAX, "port %s of node %s", site->port->id, site->node->name);
    return out;
}

bool rule_is_seen(const struct rule_seen *seen, const void *item)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->items[i] == item)
            return true;
    return false;
}

bool rule_first(struct rule_seen *seen, const void *item, struct finding_list *findings)
{
    if (rule_is_seen(seen, item))
        return false;
    if (seen->count == RULE_SEEN_MAX) {
        findings->truncated = true;
        return false;
    }
    seen->items[seen->count++] = item;
    return true;
}

rule_wide rule_amount(const struct bandwidth *bw, int64_t port_bps)
{
    if (bw->kind == BANDWIDTH_SHARE)
        return (rule_wide)bw->share_permyriad * port_bps;
    return bw->kind == BANDWIDTH_RATE ? (rule_wide)bw->rate_bps * SHARE_PERMYRIAD_FULL : 0;
}

void rule_amount_text(rule_wide amount, int64_t port_bps, bool as_share,
                      char out[BANDWIDTH_TEXT_MAX])
{
    rule_wide unit = as_share ? port_bps : SHARE_PERMYRIAD_FULL;
    rule_wide rounded = amount <= 0 ? 0 : (amount + unit - 1) / unit;
    int64_t value = rounded > INT64_MAX ? INT64_MAX : (int64_t)rounded;
    if (as_share)
        share_format(value, out);
    else
        rate_format(value, out);
}

/* A job that needs a port to be judged: on each of its sites. */
static void check_pair_on_sites(const struct rule_pair *pair, const struct change *change,
                                struct finding_list *findings)
{
    struct rule_seen seen = {.count = 0};
    for (size_t i = 0; i < change->sites->site_count; i++) {
        const struct site *site = &change->sites->sites[i];
        for (size_t j = 0; j < site->job_count && site->port->speed_bps > 0; j++) {
            const struct site_job *job = &site->jobs[j];
            if (rule_in_scope(change, job->tenant->name) &&
                pair->verdict(job->job, 0) == RULE_NEEDS_PORT &&
                pair->verdict(job->job, site->port->speed_bps) == RULE_BREAKS &&
                rule_first(&seen, job->job, findings))
                pair->report(change, job->tenant->name, job->job, site, findings);
        }
    }
}

void rule_check_pair(const struct rule_pair *pair, const struct view *view,
                     const struct change *change, struct finding_list *findings)
{
    bool needs_port = false;
    for (size_t i = 0; i < view->tenant_count; i++) {
        const struct view_tenant *tenant = &view->tenants[i];
        if (tenant->policy == NULL || !rule_in_scope(change, tenant->name))
            continue;
        for (size_t j = 0; j < tenant->policy->job_count; j++) {
            const struct policy_job *job = &tenant->policy->jobs[j];
            enum rule_verdict verdict = pair->verdict(job, 0);
            needs_port |= verdict == RULE_NEEDS_PORT;
            if (verdict == RULE_BREAKS)
                pair->report(change, tenant->name, job, NULL, findings);
        }
    }
    if (needs_port)
        check_pair_on_sites(pair, change, findings);
}

void rule_priority_pointer(const struct fabric *fabric, int priority, const char *member,
                           char out[ERR_POINTER_MAX])
{
    const json_t *profile = json_object_get(fabric->document, "fabric_profile");
    const json_t *array = json_object_get(profile, "priorities");
    snprintf(out, ERR_POINTER_MAX, "/fabric_profile/priorities");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *number = json_object_get(json_array_get(array, i), "priority");
        if (json_integer_value(number) != priority)
            continue;
        char index[24];
        snprintf(index, sizeof(index), "%zu", i);
        json_pointer_push(out, ERR_POINTER_MAX, index);
        if (member != NULL)
            json_pointer_push(out, ERR_POINTER_MAX, member);
        return;
    }
}
