/*
 * datapath/solar/cc_swift.c - reference in the manner of Swift (SIGCOMM 2020): a target of delay
 * that grows for small windows, additive increase, decrease by how far the delay is over it, at
 * most once a round trip. Below one packet the rate paces.
 */
#include <math.h>

#include "datapath/solar/cc_law.h"

#define QUEUE_TARGET  0.5 /* base round trips of queue that are wanted */
#define SCALE_MOST    1.0 /* more for the smallest windows */
#define SCALE_WINDOW  0.1 /* packets at which that is reached */
#define INCREASE      1.0 /* packets a round trip */
#define DECREASE      0.8
#define DECREASE_MOST 0.5
#define WINDOW_MIN    0.01 /* packets */

static double packets_of_bdp(const struct cc *cc)
{
    return cc->bdp_bytes / cc->params.packet_bytes;
}

static void publish(struct cc *cc)
{
    struct cc_swift *s = &cc->u.swift;
    double most = packets_of_bdp(cc);
    s->window = !(s->window > WINDOW_MIN) ? WINDOW_MIN : s->window > most ? most : s->window;
    double bytes = s->window * cc->params.packet_bytes;
    cc->window_bytes = bytes > cc->params.packet_bytes ? bytes : cc->params.packet_bytes;
    cc->rate_bps = bytes * 8e9 / (double)cc->params.base_rtt_ns;
}

static void init(struct cc *cc)
{
    cc->u.swift = (struct cc_swift){.window = packets_of_bdp(cc)};
}

/* The more flows share the path, the smaller the windows and the longer the queue that is apt. */
static double target_ns(const struct cc *cc)
{
    double scale = 1 / sqrt(cc->u.swift.window) - 1 / sqrt(packets_of_bdp(cc));
    double most = 1 / sqrt(SCALE_WINDOW);
    scale = scale < 0 ? 0 : scale > most ? most : scale;
    return (double)cc->params.base_rtt_ns * (QUEUE_TARGET + SCALE_MOST * scale / most);
}

static void on_ack(struct cc *cc, const struct cc_ack *ack)
{
    struct cc_swift *s = &cc->u.swift;
    double target = target_ns(cc), delay = (double)ack->queue_ns;
    double packets = (double)ack->acked_bytes / cc->params.packet_bytes;
    if (delay < target) {
        s->window += s->window >= 1 ? INCREASE * packets / s->window : INCREASE * packets;
    } else if (ack->now_ns - s->cut_ns >= ack->rtt_ns) {
        double base = (double)cc->params.base_rtt_ns;
        double keep = 1 - DECREASE * (delay - target) / (delay + base);
        s->window *= keep > 1 - DECREASE_MOST ? keep : 1 - DECREASE_MOST;
        s->cut_ns = ack->now_ns;
    }
    publish(cc);
}

static void on_loss(struct cc *cc, int64_t now_ns, int64_t lost_bytes)
{
    (void)lost_bytes;
    if (now_ns - cc->u.swift.cut_ns < cc->params.base_rtt_ns)
        return;
    cc->u.swift.window *= 1 - DECREASE_MOST;
    cc->u.swift.cut_ns = now_ns;
    publish(cc);
}

const struct cc_law cc_law_swift = {
    .name = "swift", .init = init, .on_ack = on_ack, .on_loss = on_loss};
