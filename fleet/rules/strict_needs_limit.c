/*
 * fleet/rules/strict_needs_limit.c - a strict class has a limit.
 */
#include "fleet/rules/rule.h"

static bool class_has_limit(const struct fabric *fabric, int traffic_class)
{
    for (int i = 0; i < PRIORITY_COUNT; i++)
        if (fabric->priorities[i].used && fabric->priorities[i].traffic_class == traffic_class &&
            fabric->priorities[i].limit.kind != BANDWIDTH_NONE)
            return true;
    return false;
}

static void check(const struct view *view, const struct change *change,
                  struct finding_list *findings)
{
    if (change->kind != CHANGE_FABRIC || view->fabric == NULL)
        return;
    for (int i = 0; i < PRIORITY_COUNT; i++) {
        const struct fabric_priority *priority = &view->fabric->priorities[i];
        if (!priority->used || !priority->strict ||
            class_has_limit(view->fabric, priority->traffic_class))
            continue;
        char pointer[ERR_POINTER_MAX];
        rule_priority_pointer(view->fabric, i, "limit", pointer);
        struct rule_finding what = {.severity = FINDING_ERROR,
                                    .pointer = pointer,
                                    .hint = "add a limit such as \"10%\", or use ETS"};
        rule_report(findings, &rule_strict_needs_limit, change, &what,
                    "priority %d is strict and has no limit", i);
    }
}

const struct rule rule_strict_needs_limit = {
    .id = "strict-needs-limit",
    .text = "A strict-priority class has a limit.",
    .reason = "A strict class is served first; without a limit one busy job starves all others.",
    .check = check,
};
