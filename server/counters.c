/*
 * server/counters.c - see counters.h.
 */
#include "server/counters.h"

#include <string.h>

#include "fleet/rules.h"

void counters_receipt(struct counters *counters, enum receipt_result result)
{
    counters->receipts[result]++;
    if (result == RECEIPT_DRIFT)
        counters->drifts++;
}

static size_t rule_index(const char *id)
{
    size_t i = 0;
    while (i < COUNTERS_RULES_MAX && rules[i] != NULL && strcmp(rules[i]->id, id) != 0)
        i++;
    return i < COUNTERS_RULES_MAX && rules[i] != NULL ? i : COUNTERS_RULES_MAX;
}

void counters_refused(struct counters *counters, const struct finding_list *findings)
{
    for (size_t i = 0; findings != NULL && i < findings->count; i++)
        if (findings->items[i].severity == FINDING_ERROR)
            counters->refusals[rule_index(findings->items[i].rule)]++;
}
