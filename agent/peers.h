#pragma once
/*
 * agent/peers.h - the peers of a plan, asked over RoCE before the plan is applied and again after.
 * Called by the self-test (probe.c).
 *
 * A peer that does not answer may be off, or not there yet: that alone says nothing of the plan.
 * So only a port whose peers answered before and do not any more makes the question a failure, and
 * only an answer after the plan makes it a pass; all else is "not possible".
 */

#include "datapath/dp.h"
#include "fleet/peer.h"
#include "fleet/receipt.h"

#define PEERS_WAIT_MS 1500 /* for the peers of a port */
/* For all of them: ports that are left then are not asked. */
#define PEERS_BUDGET_NS (4 * NS_PER_S)

enum peers_port {
    PEERS_UNASKED = 0,
    PEERS_SILENT,
    PEERS_ANSWERED,
};

/* What was heard, by peer of the list: those of one port have the same. */
struct peers_heard {
    enum peers_port ports[PEERS_MAX];
    bool answered[PEERS_MAX];
    char why[ERR_TEXT_MAX]; /* of the first that did not answer or could not be asked; "" = none */
};

/* Blocks for PEERS_BUDGET_NS at most. */
void peers_ask(struct dp *dp, const struct peer_list *peers, struct peers_heard *out);

/* The answer to the question, from what was heard before the plan and after it. */
void peers_judge(const struct peer_list *peers, const struct peers_heard *before,
                 const struct peers_heard *after, struct receipt_probe *out);
