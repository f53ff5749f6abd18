/*
 * fleet/health_text.c - health in words: subjects, findings.
 */
#include <inttypes.h>
#include <stdio.h>

#include "fleet/health.h"

void health_subject_text(const char *node, const struct health_subject *subject,
                         char out[HEALTH_SUBJECT_MAX])
{
    const char *kind = health_kind_name(subject->kind);
    const char *device = subject->device;
    bool is_numbered = subject->kind == TELEMETRY_PRIORITY || subject->kind == TELEMETRY_QP ||
                       subject->kind == TELEMETRY_RDMA || subject->number != 0;
    if (subject->kind == HEALTH_JOB) {
        const char *slash = device;
        while (*slash != '\0' && *slash != '/')
            slash++;
        snprintf(out, HEALTH_SUBJECT_MAX, "tenant/%.*s/job/%s/node/%s", (int)(slash - device),
                 device, *slash == '/' ? slash + 1 : slash, node);
    } else if (subject->kind == TELEMETRY_NODE) {
        snprintf(out, HEALTH_SUBJECT_MAX, "node/%s", node);
    } else if (is_numbered) {
        snprintf(out, HEALTH_SUBJECT_MAX, "node/%s/%s/%s/%u", node, kind, device, subject->number);
    } else {
        snprintf(out, HEALTH_SUBJECT_MAX, "node/%s/%s/%s", node, kind, device);
    }
}

enum finding_severity health_severity(enum health_state state)
{
    return state == HEALTH_CRITICAL  ? FINDING_CRITICAL
           : state == HEALTH_WARNING ? FINDING_WARNING
                                     : FINDING_INFO;
}

static void put_amount(char *out, size_t size, int64_t value, const char *unit)
{
    snprintf(out, size, "%" PRId64 "%s%s", value, unit[0] == '\0' || unit[0] == '%' ? "" : " ",
             unit);
}

void health_finding(const char *node, const struct health_status *status,
                    struct finding_list *findings)
{
    const struct health_rule *rule = status->rule;
    char subject[HEALTH_SUBJECT_MAX], observed[64] = "unknown", limit[80], amount[64], message[512];
    int64_t bound = status->state == HEALTH_CRITICAL || rule->warning == HEALTH_NONE
                        ? rule->critical
                        : rule->warning;
    if (bound == HEALTH_NONE)
        bound = rule->warning;
    health_subject_text(node, &status->subject, subject);
    if (status->value != HEALTH_NONE)
        put_amount(observed, sizeof(observed), status->value, rule->unit);
    put_amount(amount, sizeof(amount), bound, rule->unit);
    snprintf(limit, sizeof(limit), "%s %s", rule->at_most ? "above" : "below", amount);
    /* What is yes or no is said by the words alone. */
    if (rule->unit[0] == '\0' && bound == 1)
        snprintf(message, sizeof(message), "%s: %s", subject, rule->what);
    else
        snprintf(message, sizeof(message), "%s: %s; seen %s, good is %s", subject, rule->what,
                 observed, limit);
    finding_add(findings, &(struct finding){.rule = rule->id,
                                            .severity = health_severity(status->state),
                                            .subject = subject,
                                            .message = message,
                                            .observed = observed,
                                            .limit = limit,
                                            .hint = (char *)rule->hint});
}
