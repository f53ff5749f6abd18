/*
 * datapath/solar/qp_receive.c - what arrives: whose it is, whether it is genuine, where its bytes
 * go. A packet that is not genuine costs a look into a table and one short hash; it changes a
 * counter and nothing else.
 */
#include "datapath/solar/qp.h"

#include <string.h>

/* Where the payload goes, or why it does not. */
struct target {
    uint8_t *at;
    bool unready;      /* no receive is posted: as if it was lost */
    enum wire_nak nak; /* 0 = allowed */
};

static struct target target_of_write(struct solar_qp *qp, const struct wire_packet *w)
{
    if (w->payload_len == 0)
        return (struct target){.at = NULL};
    struct solar_mr *mr = region_find(qp->context, qp->pd, w->id, SOLAR_REMOTE_WRITE);
    if (mr == NULL || !region_holds(mr, w->offset, w->payload_len))
        return (struct target){.nak = WIRE_NAK_ACCESS};
    return (struct target){.at = mr->base + w->offset};
}

/* Sends are numbered modulo 2^16, receives without end. */
static struct target target_of_send(struct solar_qp *qp, const struct wire_packet *w)
{
    int16_t distance = (int16_t)(w->id - (uint16_t)qp->receive_done);
    uint64_t number = qp->receive_done + (uint64_t)(int64_t)distance;
    if (distance < 0)
        return (struct target){.nak = WIRE_NAK_STATE};
    if (number >= qp->receive_posted)
        return (struct target){.unready = true};
    const struct receive *r = &qp->receives[number % (uint64_t)qp->config.receive_depth];
    if (w->start.length > r->length || w->offset > r->length ||
        w->payload_len > r->length - w->offset)
        return (struct target){.nak = WIRE_NAK_LENGTH};
    return (struct target){.at = r->mr == NULL ? NULL : r->mr->base + r->offset + w->offset};
}

static struct target target_of_read(struct solar_qp *qp, const struct wire_packet *w)
{
    if (w->start.length == 0)
        return (struct target){.at = NULL};
    struct solar_mr *mr = region_find(qp->context, qp->pd, w->id, SOLAR_REMOTE_READ);
    if (mr == NULL || !region_holds(mr, w->offset, w->start.length))
        return (struct target){.nak = WIRE_NAK_ACCESS};
    return (struct target){.at = NULL};
}

static struct target target_of_read_data(struct solar_qp *qp, const struct wire_packet *w)
{
    const struct message *m = qp->read_of[w->id % SOLAR_READS_MAX];
    if (m == NULL || (uint16_t)m->immediate != w->id || w->offset > m->length ||
        w->payload_len > m->length - w->offset)
        return (struct target){.nak = WIRE_NAK_STATE};
    return (struct target){.at = m->length == 0 ? NULL : m->mr->base + m->offset + w->offset};
}

static struct target (*const targets[])(struct solar_qp *, const struct wire_packet *) = {
    [WIRE_WRITE] = target_of_write,
    [WIRE_SEND] = target_of_send,
    [WIRE_READ] = target_of_read,
    [WIRE_READ_DATA] = target_of_read_data,
};

/* Ends the queue pair on both sides. */
static void refuse(struct solar_qp *qp, enum wire_nak nak, const struct wire_packet *w,
                   int64_t now_ns)
{
    qp_send_nak(qp, nak, now_ns);
    qp_fail_with(qp, nak == WIRE_NAK_STATE ? ERR_INVALID : ERR_DENIED,
                 "the peer's %s of %zu bytes at %llu %s", wire_type_name(w->type), w->payload_len,
                 (unsigned long long)w->offset,
                 nak == WIRE_NAK_ACCESS   ? "is out of the regions that it may use"
                 : nak == WIRE_NAK_LENGTH ? "is longer than the receive that was posted"
                                          : "belongs to nothing that is under way");
}

static bool note_read(struct solar_qp *qp, const struct wire_packet *w)
{
    for (int i = 0; i < SOLAR_READS_MAX; i++) {
        struct asked *a = &qp->asked[i];
        if (a->used)
            continue;
        *a = (struct asked){.used = true,
                            .psn = w->psn,
                            .offset = w->offset,
                            .key = w->id,
                            .number = (uint16_t)w->start.immediate,
                            .length = w->start.length};
        return true;
    }
    return false;
}

/* A start tells what is coming. It may have overtaken packets, so it says the least of it. */
static void count_credit(struct solar_qp *qp, const struct wire_packet *w)
{
    struct credit *credit = qp->context->credit;
    uint64_t arrived = credit->sender[qp->sender].arrived;
    uint64_t more = (uint64_t)w->start.demand_kib * 1024;
    if ((w->flags & WIRE_F_START) != 0)
        context_note_away(qp->context, (int64_t)w->start.away * WIRE_AWAY_NS);
    if ((w->flags & WIRE_F_START) != 0)
        credit_demand(credit, qp->sender,
                      arrived + more + (w->type == WIRE_READ ? 0 : w->start.length));
    if (w->payload_len > 0)
        credit_arrived(credit, qp->sender, (int64_t)w->payload_len);
}

static void on_data(struct solar_qp *qp, const struct wire_packet *w,
                    const struct udp_arrived *arrived, int64_t now_ns)
{
    struct target target = {.at = NULL};
    bool is_new = !place_has(&qp->place, w->psn);
    if (is_new)
        target = targets[w->type](qp, w);
    if (target.unready) {
        qp->stats.unready_packets++;
        return;
    }
    if (target.nak != 0) {
        refuse(qp, target.nak, w, now_ns);
        return;
    }
    qp_list_ack(qp);
    if (place_arrive(&qp->place, w, arrived->marked, arrived->arrived_ns) != PLACE_NEW)
        return;
    if (w->type == WIRE_READ && !note_read(qp, w)) {
        refuse(qp, WIRE_NAK_STATE, w, now_ns);
        return;
    }
    if (target.at != NULL) {
        memcpy(target.at, w->payload, w->payload_len);
        qp->context->stats.copied_bytes += w->payload_len;
    }
    qp->stats.received_bytes += w->payload_len;
    count_credit(qp, w);
    qp_tell(qp, now_ns);
}

/* Telling ------------------------------------------------------------------------------------- */

static bool tell_receive(struct solar_qp *qp, const struct place_message *m)
{
    struct solar_completion c = {.qp = qp,
                                 .op = SOLAR_WRITE_IMMEDIATE,
                                 .length = m->length,
                                 .immediate = m->immediate,
                                 .has_immediate = m->has_immediate};
    if (m->type == WIRE_WRITE) {
        if (m->has_immediate)
            completion_add(qp->config.receive_cq, &c, false);
        return true;
    }
    if (m->id != (uint16_t)qp->receive_done || qp->receive_done == qp->receive_posted)
        return false;
    struct receive *r = &qp->receives[qp->receive_done++ % (uint64_t)qp->config.receive_depth];
    if (r->mr != NULL)
        r->mr->users--;
    c.id = r->id;
    c.op = SOLAR_RECEIVE;
    completion_add(qp->config.receive_cq, &c, true);
    return true;
}

static bool tell_read(struct solar_qp *qp, const struct place_message *m)
{
    for (int i = 0; i < SOLAR_READS_MAX; i++)
        if (qp->asked[i].used && qp->asked[i].psn == m->last_psn)
            return qp->asked[i].told = true;
    return false;
}

static bool tell_read_data(struct solar_qp *qp, const struct place_message *m)
{
    struct message *asked = qp->read_of[m->id % SOLAR_READS_MAX];
    if (asked == NULL || asked->answered || m->length != asked->length)
        return false;
    asked->answered = true;
    qp_complete(qp);
    return true;
}

static bool (*const tells[])(struct solar_qp *, const struct place_message *) = {
    [WIRE_WRITE] = tell_receive,
    [WIRE_SEND] = tell_receive,
    [WIRE_READ] = tell_read,
    [WIRE_READ_DATA] = tell_read_data,
};

void qp_tell(struct solar_qp *qp, int64_t now_ns)
{
    bool has = true, reads = false;
    struct place_message message;
    struct err err = ERR_INIT;
    while (has && qp->state == QP_OPEN) {
        /* A peer's immediates hold no place: they wait here, and then it waits for us. */
        qp->untold = !completion_has_room(qp->config.receive_cq);
        if (qp->untold) {
            qp->context->untold = true;
            break;
        }
        if (place_message(&qp->place, &has, &message, &err) != ERR_OK) {
            qp_send_nak(qp, WIRE_NAK_STATE, now_ns);
            qp_fail(qp, &err);
            return;
        }
        if (has && !tells[message.type](qp, &message)) {
            qp_send_nak(qp, WIRE_NAK_STATE, now_ns);
            qp_fail_with(qp, ERR_INVALID, "the peer's %s fits nothing that is under way",
                         wire_type_name(message.type));
            return;
        }
        reads = reads || (has && message.type == WIRE_READ);
    }
    if (reads && qp->state == QP_OPEN) {
        qp_send_answers(qp, now_ns);
        qp_list_kick(qp);
    }
}

/* Control ------------------------------------------------------------------------------------- */

static void on_probe(struct solar_qp *qp, const struct wire_packet *w)
{
    struct credit *credit = qp->context->credit;
    uint64_t arrived = credit->sender[qp->sender].arrived;
    /* What was sent cannot be less than what arrived. */
    uint64_t sent = arrived + ((w->offset - arrived) & WIRE_OFFSET_MAX);
    if ((w->flags & WIRE_F_START) != 0)
        credit_demand(credit, qp->sender,
                      sent + w->start.length + (uint64_t)w->start.demand_kib * 1024);
    place_probed(&qp->place, w->sent_ticks);
    qp->credit_due = true;
    qp_list_ack(qp);
}

static const char *const nak_words[] = {
    [WIRE_NAK_ACCESS] = "a region was used that does not exist, is not of that queue pair's "
                        "domain, does not allow it, or is shorter",
    [WIRE_NAK_LENGTH] = "a message was longer than the receive that was posted for it",
    [WIRE_NAK_STATE] = "its queue pair is closed",
};

static void on_nak(struct solar_qp *qp, const struct wire_packet *w)
{
    enum err_code code = w->id == WIRE_NAK_STATE ? ERR_UNAVAILABLE : ERR_DENIED;
    qp_fail_with(qp, code, "the peer refused: %s", nak_words[w->id]);
}

/* Congestion control sees when a packet came to the host, so that it does not take a process that
 * does not run for a queue in the network. */
static void on_genuine(struct solar_qp *qp, const struct wire_packet *w,
                       const struct udp_arrived *arrived, int64_t now_ns)
{
    struct solar_stats *stats = &qp->context->stats;
    if (w->label != qp->config.label) {
        stats->mislabeled++;
        return;
    }
    if (wire_is_control(w->type) && !wire_window_pass(&qp->window, w->psn)) {
        stats->replayed++;
        return;
    }
    qp->heard_ns = now_ns;
    if (qp->state == QP_WELCOMING)
        handshake_is_ready(qp, now_ns);
    if (qp->state != QP_OPEN)
        return;
    if (!wire_is_control(w->type))
        on_data(qp, w, arrived, now_ns);
    else if (w->type == WIRE_PROBE)
        on_probe(qp, w);
    else if (w->type == WIRE_NAK)
        on_nak(qp, w);
    else
        qp_on_ack(qp, w, arrived->arrived_ns);
}

void qp_on_packet(struct solar_context *context, const struct udp_arrived *arrived, int64_t now_ns)
{
    uint16_t number;
    struct wire_packet w;
    if (wire_peek(arrived->data, arrived->len, &number, NULL) != ERR_OK) {
        context->stats.malformed++;
        return;
    }
    struct solar_qp *qp = number <= SOLAR_QPS_MAX ? context->qps[number] : NULL;
    if (qp == NULL || (qp->state != QP_OPEN && qp->state != QP_WELCOMING)) {
        context->stats.unknown++;
        return;
    }
    struct wire_near near = {
        .data_psn = qp->place.next, .control_psn = qp->window.next, .acked_psn = qp->track.una};
    enum err_code code = wire_open(&qp->keys_in, &near, arrived->data, arrived->len, &w, NULL);
    if (code == ERR_OK)
        on_genuine(qp, &w, arrived, now_ns);
    else if (code == ERR_DENIED)
        context->stats.forged++;
    else /* who sent it is not sure: what is cut short has no tag */
        context->stats.malformed++;
}

void qp_grant_all(struct solar_context *context)
{
    uint16_t sender;
    while (credit_grant(context->credit, &sender)) {
        struct solar_qp *qp = context->of_sender[sender];
        qp->credit_due = true;
        qp_list_ack(qp);
    }
}
