/*
 * agent/gap.c - how long the node may have been without what stands on it: from its boot, or from
 * when a device that had gone was there again, until a pass put it back. Told in that pass's
 * receipt. Called by agent.c.
 */
#include <string.h>

#include "agent/agent_private.h"

void agent_gap_event(struct agent *agent)
{
    if (agent->gap.gone && agent->gap.event_ns == 0)
        agent->gap.event_ns = agent->clock->mono_ns(agent->clock);
}

static bool is_whole(const struct receipt *receipt)
{
    return (receipt->result == RECEIPT_APPLIED || receipt->result == RECEIPT_UNCHANGED ||
            receipt->result == RECEIPT_DRIFT) &&
           strcmp(receipt->observed, receipt->digest) == 0;
}

/* Of a device the latest moment at which it was seen to be away is known, or the first event after
 * it: the gap is at most what is told. */
void agent_gap_look(struct agent *agent, struct outcome *outcome)
{
    struct receipt *receipt = outcome->receipt;
    int64_t now_ns = agent->clock->mono_ns(agent->clock), from_ns = 0;
    if (!is_whole(receipt)) {
        if (outcome->transient) {
            agent->gap.gone = true;
            agent->gap.gone_ns = now_ns;
            agent->gap.event_ns = 0;
        }
        return;
    }
    if (agent->gap.booted)
        receipt->gap = RECEIPT_GAP_BOOT; /* the clock counts from the boot */
    else if (agent->gap.gone)
        receipt->gap = RECEIPT_GAP_DEVICE;
    if (receipt->gap == RECEIPT_GAP_DEVICE)
        from_ns = agent->gap.event_ns != 0 ? agent->gap.event_ns : agent->gap.gone_ns;
    if (receipt->gap != RECEIPT_GAP_NONE)
        receipt->gap_ms = (now_ns - from_ns) / NS_PER_MS;
    agent->gap = (struct gap){.booted = false};
}
