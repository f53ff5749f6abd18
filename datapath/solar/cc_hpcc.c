/*
 * datapath/solar/cc_hpcc.c - reference in the manner of HPCC (SIGCOMM 2019): the window follows the
 * utilisation of the most loaded hop, multiplicatively to ETA, with a few additive steps between.
 * Without telemetry in the packets the utilisation is inferred from delay, which is less: then
 * only "HPCC-like".
 */
#include "datapath/solar/cc_law.h"

#define ETA       0.95
#define STAGES    5
#define GROWS     0.98
#define ADD_SHARE (1.0 / 512) /* of the BDP a step */

static void init(struct cc *cc)
{
    cc->u.hpcc = (struct cc_hpcc){.base_bytes = cc->bdp_bytes, .utilisation = ETA};
}

static double utilisation_of(const struct cc *cc, const struct cc_ack *ack)
{
    if (ack->utilisation >= 0)
        return ack->utilisation;
    double queue = (double)ack->queue_ns / (double)cc->params.base_rtt_ns;
    /* With a queue the link is full. Without one nothing tells how full: only small steps then. */
    return queue > 0.01 ? 1 + queue : ETA * GROWS;
}

static void on_ack(struct cc *cc, const struct cc_ack *ack)
{
    struct cc_hpcc *h = &cc->u.hpcc;
    bool turn = ack->now_ns >= h->next_ns;
    double weight = (double)ack->acked_bytes / cc->window_bytes;
    weight = weight > 1 ? 1 : weight;
    h->utilisation += weight * (utilisation_of(cc, ack) - h->utilisation);

    double add = ADD_SHARE * cc->bdp_bytes, window;
    if (h->utilisation >= ETA || h->stage >= STAGES) {
        window = h->base_bytes * ETA / (h->utilisation > 0.01 ? h->utilisation : 0.01) + add;
        h->stage = turn ? 0 : h->stage;
    } else {
        window = h->base_bytes + add;
        h->stage += turn;
    }
    cc->window_bytes = window < cc->bdp_bytes ? window : cc->bdp_bytes;
    if (turn) {
        h->base_bytes = cc->window_bytes > 1 ? cc->window_bytes : 1;
        h->next_ns = ack->now_ns + ack->rtt_ns;
    }
    cc->rate_bps = cc->window_bytes * 8e9 / (double)cc->params.base_rtt_ns;
}

static void on_loss(struct cc *cc, int64_t now_ns, int64_t lost_bytes)
{
    (void)now_ns, (void)lost_bytes;
    cc->u.hpcc.utilisation = 2 * ETA;
}

const struct cc_law cc_law_hpcc = {
    .name = "hpcc", .init = init, .on_ack = on_ack, .on_loss = on_loss};
