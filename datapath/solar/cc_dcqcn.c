/*
 * datapath/solar/cc_dcqcn.c - DCQCN, reference: the reaction point of "Congestion Control for
 * Large-Scale RDMA Deployments" (SIGCOMM 2015). An acknowledgement with a mark stands for a CNP, of
 * which there is at most one in CNP_NS. Constants are the paper's; its additive steps, given for
 * 40G, are shares of the line.
 */
#include "datapath/solar/cc_law.h"

#define CNP_NS      50000
#define TIMER_NS    55000
#define BYTES       (10 * 1024 * 1024)
#define FAST_STEPS  5
#define GAIN        (1.0 / 256)
#define STEP_SHARE  0.001 /* 40 Mbit/s of 40 Gbit/s */
#define HYPER_SHARE 0.01

static void init(struct cc *cc)
{
    cc->u.dcqcn = (struct cc_dcqcn){.target_bps = cc->rate_bps, .alpha = 1, .cut_ns = -CNP_NS};
}

static void raise_rate(struct cc *cc)
{
    struct cc_dcqcn *d = &cc->u.dcqcn;
    double line = (double)cc->params.line_bps;
    int least = d->timer_stage < d->byte_stage ? d->timer_stage : d->byte_stage;
    int most = d->timer_stage < d->byte_stage ? d->byte_stage : d->timer_stage;
    if (least > FAST_STEPS)
        d->target_bps += HYPER_SHARE * line * (least - FAST_STEPS);
    else if (most > FAST_STEPS)
        d->target_bps += STEP_SHARE * line;
    if (d->target_bps > line)
        d->target_bps = line;
    cc->rate_bps = (d->target_bps + cc->rate_bps) / 2;
}

static void cut(struct cc *cc, int64_t now_ns)
{
    struct cc_dcqcn *d = &cc->u.dcqcn;
    d->target_bps = cc->rate_bps;
    cc->rate_bps *= 1 - d->alpha / 2;
    d->alpha = (1 - GAIN) * d->alpha + GAIN;
    d->cut_ns = d->alpha_ns = d->timer_ns = now_ns;
    d->bytes = 0;
    d->timer_stage = d->byte_stage = 0;
}

static void on_tick(struct cc *cc, int64_t now_ns)
{
    struct cc_dcqcn *d = &cc->u.dcqcn;
    if (now_ns - d->alpha_ns >= TIMER_NS) {
        d->alpha *= 1 - GAIN;
        d->alpha_ns = now_ns;
    }
    if (now_ns - d->timer_ns >= TIMER_NS) {
        d->timer_ns = now_ns;
        d->timer_stage += d->timer_stage < 1000;
        raise_rate(cc);
    }
}

static void on_ack(struct cc *cc, const struct cc_ack *ack)
{
    struct cc_dcqcn *d = &cc->u.dcqcn;
    /* Where nothing marks, delay of a round trip counts as the mark that a switch would set. */
    bool marked = ack->marked > 0 || (ack->marked < 0 && ack->queue_ns > cc->params.base_rtt_ns);
    if (marked && ack->now_ns - d->cut_ns >= CNP_NS)
        cut(cc, ack->now_ns);
    d->bytes += ack->acked_bytes < BYTES ? ack->acked_bytes : BYTES;
    if (d->bytes >= BYTES) {
        d->bytes = 0;
        d->byte_stage += d->byte_stage < 1000;
        raise_rate(cc);
    }
    on_tick(cc, ack->now_ns);
}

static void on_loss(struct cc *cc, int64_t now_ns, int64_t lost_bytes)
{
    (void)lost_bytes;
    if (now_ns - cc->u.dcqcn.cut_ns >= CNP_NS)
        cut(cc, now_ns);
}

const struct cc_law cc_law_dcqcn = {
    .name = "dcqcn", .init = init, .on_ack = on_ack, .on_loss = on_loss, .on_tick = on_tick};
