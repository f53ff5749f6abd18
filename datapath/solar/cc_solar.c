/*
 * datapath/solar/cc_solar.c - Solar-CC, its stable form and its literal one. See cc.h for the law.
 */
#include <math.h>

#include "datapath/solar/cc_law.h"

#define LOSS_BETA_Q                                                                                \
    0.5               /* beta q, of 1 where a link is shared, from which on loss is congestion     \
                       */
#define QUEUE_MAX 4.0 /* round trips; a longer queue says nothing more */

static double share_of(const struct cc *cc, double weight_total)
{
    double total = weight_total > 0 ? weight_total : cc->params.weight_assumed;
    return total > cc->params.weight ? cc->params.weight / total : 1;
}

static double reward_stable(const struct cc *cc, double beta_q, double weight_total)
{
    return share_of(cc, weight_total) - (cc->u.solar.alpha - 1) * beta_q;
}

static double reward_literal(const struct cc *cc, double beta_q, double weight_total)
{
    (void)beta_q, (void)weight_total;
    return cc->params.reward + cc->params.reward_rate * cc->u.solar.alpha;
}

static void init(struct cc *cc)
{
    cc->u.solar = (struct cc_solar){.alpha = 1};
}

/* The queue of the last round trip, 0 to QUEUE_MAX: marks where the path marks, else delay. */
static double observed_queue(struct cc_solar *s, double beta)
{
    double queue = s->queue;
    if (s->packets > 0)
        queue = (double)s->marked / (double)s->packets * 2 / beta;
    else if (s->delays > 0)
        queue = s->delay_sum / (double)s->delays;
    s->packets = s->marked = s->delays = 0;
    s->delay_sum = 0;
    return queue < QUEUE_MAX ? queue : QUEUE_MAX;
}

typedef double reward_fn(const struct cc *cc, double beta_q, double weight_total);

/* How many steps are due, one a round trip; 0 = none yet. */
static double steps_due(struct cc_solar *s, int64_t now_ns, int64_t rtt_ns)
{
    int64_t elapsed_ns = now_ns - s->step_ns;
    if (elapsed_ns >= 0 && elapsed_ns < rtt_ns && s->step_ns != 0)
        return 0;
    bool first = s->step_ns == 0 || elapsed_ns < 0;
    s->step_ns = now_ns;
    double steps = first ? 1 : (double)elapsed_ns / (double)rtt_ns;
    return steps < CC_STEPS_MAX ? steps : CC_STEPS_MAX;
}

static void step(struct cc *cc, const struct cc_ack *ack, reward_fn *reward)
{
    struct cc_solar *s = &cc->u.solar;
    int64_t rtt_ns = cc->params.base_rtt_ns + ack->hold_ns;
    s->delay_sum += (double)ack->queue_ns / (double)rtt_ns;
    s->delays++;
    if (ack->marked >= 0) {
        s->packets += ack->packets;
        s->marked += ack->marked;
    }
    double steps = steps_due(s, ack->now_ns, rtt_ns);
    if (steps == 0)
        return;

    double before = s->queue;
    s->queue = observed_queue(s, cc->params.beta);
    double ahead = s->queue + cc->params.damping * (s->queue - before) / steps;
    double beta_q = cc->params.beta * (ahead > 0 ? ahead : 0);
    double least = s->alpha / 2;
    s->alpha += cc->params.eta * steps * (reward(cc, beta_q, ack->weight_total) - beta_q);
    /* The law is a small step from one queue to the next. A queue that jumps by several round trips
     * would take all at once, and then there is no acknowledgement to take the next step with. */
    if (!(s->alpha > least))
        s->alpha = least;
    /* A step may end anywhere; the next one starts where a rate can be. */
    s->alpha = !(s->alpha > CC_SHARE_MIN) ? CC_SHARE_MIN : s->alpha > 1 ? 1 : s->alpha;
    cc->rate_bps = s->alpha * (double)cc->params.line_bps;
}

static void on_ack(struct cc *cc, const struct cc_ack *ack)
{
    step(cc, ack, reward_stable);
}

static void on_ack_literal(struct cc *cc, const struct cc_ack *ack)
{
    step(cc, ack, reward_literal);
}

/* A loss beside a queue is a full buffer, and the queue longer than any delay has told yet. Without
 * a queue it is a bad cable, which sending less does not mend. */
static void on_loss(struct cc *cc, int64_t now_ns, int64_t lost_bytes)
{
    (void)now_ns, (void)lost_bytes;
    struct cc_solar *s = &cc->u.solar;
    double now = s->delays > 0 ? s->delay_sum / (double)s->delays : s->queue;
    if (now * cc->params.beta < LOSS_BETA_Q && s->marked == 0)
        return;
    s->delay_sum = QUEUE_MAX;
    s->delays = 1;
    s->marked = s->packets;
}

const struct cc_law cc_law_solar = {
    .name = "solar", .init = init, .on_ack = on_ack, .on_loss = on_loss};
const struct cc_law cc_law_solar_literal = {
    .name = "solar-literal", .init = init, .on_ack = on_ack_literal, .on_loss = on_loss};
