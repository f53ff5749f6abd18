/*
 * fleet/rules/lossless_set.c - how many priorities may be lossless, and which one never.
 */
#include <stdio.h>

#include "fleet/rules/rule.h"

static void check_count(const struct fabric *fabric, const struct change *change,
                        struct finding_list *findings)
{
    int count = 0;
    for (int i = 0; i < PRIORITY_COUNT; i++)
        count += fabric->priorities[i].used && fabric->priorities[i].lossless;
    if (count <= fabric->lossless_max)
        return;
    char observed[16], limit[16];
    snprintf(observed, sizeof(observed), "%d", count);
    snprintf(limit, sizeof(limit), "%d", fabric->lossless_max);
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .pointer = "/fabric_profile/priorities",
                                .observed = observed,
                                .limit = limit,
                                .hint =
                                    "make fewer priorities lossless, or raise lossless_max when "
                                    "every switch has the buffers"};
    rule_report(findings, &rule_lossless_set, change, &what,
                "%d priorities are lossless; at most %d", count, fabric->lossless_max);
}

static void check_cnp(const struct fabric *fabric, const struct change *change,
                      struct finding_list *findings)
{
    if (!fabric->has_cnp || !fabric->priorities[fabric->cnp_priority].lossless)
        return;
    struct rule_finding what = {.severity = FINDING_ERROR,
                                .pointer = "/fabric_profile/cnp/priority",
                                .hint = "give CNPs a lossy priority of their own"};
    rule_report(findings, &rule_lossless_set, change, &what,
                "congestion notifications travel in priority %d, which is lossless",
                fabric->cnp_priority);
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    if (change->kind != CHANGE_FABRIC || view->fabric == NULL)
        return;
    check_count(view->fabric, change, findings);
    check_cnp(view->fabric, change, findings);
}

const struct rule rule_lossless_set = {
    .id = "lossless-set",
    .text = "At most lossless_max priorities are lossless, and the priority of CNPs never is.",
    .reason = "Each lossless priority takes headroom from every switch buffer; a paused CNP cannot "
              "end the congestion that paused it.",
    .check = check,
};
