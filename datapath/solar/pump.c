/*
 * datapath/solar/pump.c - see pump.h.
 */
#include "datapath/solar/pump.h"

#include <assert.h>

#define PROBE_AGAIN_RTTS                                                                           \
    64 /* base round trips of silence after which credit may have been lost                        \
        */

#define HOLD_FADE 64.0 /* acknowledgements, until a hold counts for a third of what it did */

void pump_init(struct pump *p, struct track *track, const struct cc *cc, int header_bytes,
               uint64_t credit_bytes, bool path_marks)
{
    *p = (struct pump){.track = track,
                       .cc = *cc,
                       .header_bytes = header_bytes,
                       .credit_bytes = credit_bytes,
                       .burst = 1,
                       .window_bdps = 1,
                       .path_marks = path_marks};
}

void pump_set_burst(struct pump *p, int packets)
{
    assert(packets >= 1);
    p->burst = packets;
}

void pump_set_window(struct pump *p, double bdps)
{
    assert(bdps >= 1);
    p->window_bdps = bdps;
}

void pump_set_hold(struct pump *p, int64_t most_ns)
{
    p->hold_max_ns = most_ns;
}

static void note(const struct pump *p, double *longest_ns, int64_t hold_ns)
{
    hold_ns = hold_ns < p->hold_max_ns ? hold_ns : p->hold_max_ns;
    *longest_ns -= *longest_ns / HOLD_FADE;
    if ((double)hold_ns > *longest_ns)
        *longest_ns = (double)hold_ns;
}

void pump_note_absence(struct pump *p, int64_t absent_ns)
{
    note(p, &p->absent_ns, absent_ns);
}

static int64_t held_bytes(const struct pump *p)
{
    return (int64_t)(p->cc.rate_bps / 8e9 * (p->hold_ns + p->absent_ns));
}

static int burst_of(const struct pump *p)
{
    const struct cc_params *path = &p->cc.params;
    double own = p->cc.rate_bps / 8e9 * (double)path->base_rtt_ns / path->packet_bytes;
    int least = p->burst < PUMP_BURST_LEAST ? p->burst : PUMP_BURST_LEAST;
    return own > p->burst ? p->burst : own > least ? (int)own : least;
}

/* Without credit: ask for it, unless the receiver knows and has only others to serve. */
static enum pump_action ask(const struct pump *p, uint64_t wanted_bytes, int64_t now_ns,
                            int64_t *out_ready_ns)
{
    *out_ready_ns = p->heard_ns + PROBE_AGAIN_RTTS * p->cc.params.base_rtt_ns;
    return wanted_bytes > p->announced_bytes || now_ns >= *out_ready_ns ? PUMP_PROBE : PUMP_WAIT;
}

int64_t pump_fit(const struct pump *p, int64_t len)
{
    if (p->track->flight_bytes > 0 || p->credit_bytes <= p->sent_bytes)
        return len;
    uint64_t left = p->credit_bytes - p->sent_bytes;
    return left < (uint64_t)len ? (int64_t)left : len;
}

enum pump_action pump_next(struct pump *p, int64_t waiting, int64_t now_ns, int64_t *out_ready_ns)
{
    *out_ready_ns = INT64_MAX;
    const struct track_packet *lost = track_lost(p->track);
    if (lost == NULL && waiting == 0)
        return PUMP_WAIT;
    waiting = waiting == PUMP_EMPTY ? 0 : waiting;
    int64_t flight = p->track->flight_bytes, len = lost != NULL ? lost->len : waiting;
    int64_t train = (int64_t)(p->burst - 1) * p->cc.params.packet_bytes;
    double law = (double)cc_window_bytes(&p->cc, INT64_MAX) * p->window_bdps;
    int64_t window = (int64_t)law + train + held_bytes(p);
    if (flight > 0 && flight + len > window)
        return PUMP_WAIT;
    if (lost == NULL && !track_has_room(p->track))
        return PUMP_WAIT;
    /* Credit counts new bytes only: those of a repair were granted when they were new. */
    uint64_t wanted = p->sent_bytes + (uint64_t)len;
    if (lost == NULL && wanted > p->credit_bytes)
        return ask(p, wanted, now_ns, out_ready_ns);
    if ((double)now_ns < p->next_ns && p->run >= burst_of(p)) {
        *out_ready_ns = (int64_t)p->next_ns + 1;
        return PUMP_WAIT;
    }
    return lost != NULL ? PUMP_REPAIR : PUMP_NEW;
}

static void pace(struct pump *p, int64_t payload, int64_t now_ns)
{
    double ns = (double)(payload + p->header_bytes) * 8e9 / p->cc.rate_bps;
    p->run = p->next_ns > (double)now_ns ? p->run + 1 : 1;
    double behind_ns = p->absent_ns < PUMP_CATCH_UP_NS ? p->absent_ns : PUMP_CATCH_UP_NS;
    double least = (double)now_ns - (behind_ns > 1 ? behind_ns : 1);
    double from = p->next_ns > least ? p->next_ns : behind_ns > 1 ? least : (double)now_ns;
    p->next_ns = from + ns;
    double left_ns = p->line_ns > (double)now_ns + 1 ? p->line_ns - (double)now_ns : 0;
    p->track->behind_ns = left_ns < UINT32_MAX ? (uint32_t)left_ns : UINT32_MAX;
    p->line_ns = (double)now_ns + left_ns +
                 (double)(payload + p->header_bytes) * 8e9 / (double)p->cc.params.line_bps;
}

const struct track_packet *pump_send(struct pump *p, uint32_t token, uint64_t offset, uint16_t len,
                                     int64_t now_ns)
{
    pace(p, len, now_ns);
    p->sent_bytes += len;
    return track_send(p->track, token, offset, len, track_next_path(p->track, now_ns), now_ns);
}

const struct track_packet *pump_repair(struct pump *p, int64_t now_ns)
{
    pace(p, track_lost(p->track)->len, now_ns);
    return track_resend(p->track, track_next_path(p->track, now_ns), now_ns);
}

void pump_announced(struct pump *p, uint64_t sum_bytes, int64_t now_ns)
{
    if (sum_bytes > p->announced_bytes)
        p->announced_bytes = sum_bytes;
    p->heard_ns = now_ns;
}

void pump_on_credit(struct pump *p, const struct wire_ack *ack, int64_t now_ns)
{
    p->heard_ns = now_ns;
    p->credit_bytes = ack->credit_bytes;
    p->weight_total = ack->weight_total;
}

static int64_t queue_of(struct pump *p, int64_t measured_ns)
{
    measured_ns = measured_ns > 0 ? measured_ns : 0;
    if (p->hold_max_ns == 0)
        return measured_ns;
    p->queues_ns[p->queue_turn] = measured_ns;
    p->queue_turn = (p->queue_turn + 1) % PUMP_QUEUES;
    for (int i = 0; i < PUMP_QUEUES; i++)
        measured_ns = p->queues_ns[i] < measured_ns ? p->queues_ns[i] : measured_ns;
    return measured_ns;
}

enum err_code pump_on_ack(struct pump *p, const struct wire_ack *ack, int64_t now_ns,
                          struct err *err)
{
    struct track_news news;
    if (track_on_ack(p->track, ack, now_ns, &news, err) != ERR_OK)
        return ERR_INVALID;
    pump_on_credit(p, ack, now_ns);
    note(p, &p->hold_ns, ack->hold_ns);
    int64_t packets = (int32_t)(ack->arrived - p->heard_arrived);
    int64_t marked = (int32_t)(ack->marked - p->heard_marked);
    if (packets <= 0) { /* overtaken, or nothing new */
        packets = marked = 0;
    } else {
        p->heard_arrived = ack->arrived;
        p->heard_marked = ack->marked;
    }
    if (news.lost_packets > 0)
        cc_on_loss(&p->cc, now_ns, news.lost_bytes);
    int64_t queue_ns =
        queue_of(p, news.rtt_ns < 0 ? (int64_t)ack->queue_ns
                                    : news.rtt_ns - p->cc.params.base_rtt_ns - news.behind_ns);
    struct cc_ack told = {.now_ns = now_ns,
                          .rtt_ns = news.rtt_ns,
                          .queue_ns = queue_ns,
                          .hold_ns = (int64_t)(p->hold_ns + p->absent_ns),
                          .acked_bytes = news.acked_bytes,
                          .packets = packets,
                          .marked = p->path_marks ? marked : -1,
                          .weight_total = p->weight_total,
                          .utilisation = -1};
    cc_on_ack(&p->cc, &told);
    return ERR_OK;
}

void pump_on_tick(struct pump *p, int64_t now_ns)
{
    int64_t before = p->track->flight_bytes;
    if (track_on_tick(p->track, now_ns) > 0)
        cc_on_loss(&p->cc, now_ns, before - p->track->flight_bytes);
    cc_on_tick(&p->cc, now_ns);
}

int64_t pump_deadline_ns(const struct pump *p)
{
    return track_deadline_ns(p->track);
}
