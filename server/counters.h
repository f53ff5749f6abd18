#pragma once
/*
 * server/counters.h - what /metrics counts beside the parts' own statistics: receipts by result,
 * and what the rules refused. Any thread adds; nothing here names a tenant, a job or a node.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/finding.h"
#include "fleet/campaign.h"
#include "fleet/verify.h"
#include "fleet/receipt.h"

#define COUNTERS_RULES_MAX 64 /* of fleet/rules.h; the place behind them counts what is no rule */

struct counters {
    _Atomic uint64_t receipts[RECEIPT_RESULT_COUNT];
    _Atomic uint64_t drifts; /* nodes found to differ from their plan */
    _Atomic uint64_t states; /* told by agents */
    _Atomic uint64_t refusals[COUNTERS_RULES_MAX + 1];
    _Atomic uint32_t campaigns[CAMPAIGN_STATE_COUNT];      /* of firmware, not over: as of now */
    _Atomic uint32_t flashing;                             /* devices at work as of now */
    _Atomic uint64_t flashes[CAMPAIGN_DEVICE_STATE_COUNT]; /* ended tasks by outcome */
    _Atomic uint64_t verified[VERIFY_UNKNOWN + 1];         /* tests that ended, by verdict */
};

void counters_receipt(struct counters *counters, enum receipt_result result);
/* Each error of the list; findings may be NULL. */
void counters_refused(struct counters *counters, const struct finding_list *findings);
