#pragma once
/*
 * agent/probe.h - the self-test of a plan: questions that are asked before it is applied and again
 * after, and whose answers go with the receipt. That the node is what the plan wants is in the
 * receipt's `observed`; that the server can be reached is proven by the receipt's arrival. A probe
 * is a row in probe.c.
 *
 * A bad answer undoes nothing: the server judges it, and with no answer the trial expires. A
 * question may have no answer either (not_possible): that is neither good nor bad.
 */

#include "agent/peers.h"
#include "base/clock.h"
#include "datapath/dp.h"
#include "fleet/receipt.h"

#define PROBE_LINK_WAIT_NS (3 * NS_PER_S) /* a link that was reset has this long to come back */

struct probe_port {
    char id[PORT_ID_SIZE];
    bool was_up;
};

/* What was there before. */
struct probe {
    struct dp *dp;           /* borrowed */
    const struct plan *plan; /* borrowed, in probe_end() */
    struct probe_port ports[INVENTORY_PORTS_MAX];
    size_t port_count;
    struct peer_list peers; /* of the plan */
    struct peers_heard heard;
};

/* Before the plan is applied. Blocks as peers_ask(). */
void probe_begin(struct probe *probe, struct dp *dp, const struct plan *plan);
/* After it, with what stands then: appends the answers to the receipt. Blocks up to
 * PROBE_LINK_WAIT_NS when a link that was up is down, and as peers_ask() twice. */
void probe_end(struct probe *probe, const struct plan *plan, struct receipt *receipt);
