/*
 * datapath/solar/qp_send.c - what a queue pair sends: data as the arbiter and the pump allow,
 * repairs, acknowledgements. Nothing is copied: a packet's payload is sent from its region.
 */
#include "datapath/solar/qp.h"

#include <assert.h>

static void put(struct solar_qp *qp, struct wire_packet *w, uint8_t path, int64_t now_ns)
{
    struct udp *udp = qp->context->udp;
    const struct label_marks *marks = context_label(qp->context, qp->config.label);
    w->label = qp->config.label;
    w->qp = qp->peer_number;
    w->priority = marks->priority;
    w->path = path;
    w->sent_ticks = wire_ticks(now_ns);
    if (qp->cover_out)
        w->flags |= WIRE_F_COVER;
    struct udp_packet packet = {.to = &qp->peer,
                                .path = path,
                                .dscp = marks->dscp,
                                .head_len = wire_seal(&qp->keys_out, w, udp_head(udp)),
                                .payload = w->payload,
                                .payload_len = w->payload_len};
    udp_put(udp, &packet);
}

/* Control ------------------------------------------------------------------------------------- */

/* Whether a path carries control packets is not known, so they take turns: each acknowledgement
 * says all that those before it said. */
static void put_control(struct solar_qp *qp, struct wire_packet *w, int64_t now_ns)
{
    struct udp *udp = qp->context->udp;
    if (!udp_make_room(udp))
        return; /* as if it was lost */
    w->psn = qp->control_psn++;
    int paths = qp->context->config.paths;
    int path = (int)(w->psn % (uint64_t)paths);
    for (int i = 0; i < paths && track_path_is_bad(&qp->track, (uint8_t)path, now_ns); i++)
        path = (path + 1) % paths;
    put(qp, w, (uint8_t)path, now_ns);
}

static void send_ack(struct solar_qp *qp, int64_t now_ns)
{
    const struct credit *credit = qp->context->credit;
    struct wire_packet w = {.type = WIRE_CREDIT};
    if (place_owes_ack(&qp->place) || place_wants_ack(&qp->place)) {
        w.type = WIRE_ACK;
        place_ack(&qp->place, now_ns, &w.ack);
    }
    w.ack.credit_bytes = credit_sum(credit, qp->sender);
    w.ack.weight_total = credit_weight_total(credit);
    qp->credit_due = false;
    put_control(qp, &w, now_ns);
}

/* A batch that arrived beyond a gap may be more than one bitmap tells. */
void qp_send_ack(struct solar_qp *qp, int64_t now_ns)
{
    int sent = 0;
    do
        send_ack(qp, now_ns);
    while (place_wants_ack(&qp->place) && ++sent < QP_ACKS_MAX);
}

void qp_send_nak(struct solar_qp *qp, enum wire_nak why, int64_t now_ns)
{
    struct wire_packet w = {.type = WIRE_NAK, .id = (uint16_t)why};
    put_control(qp, &w, now_ns);
}

static uint32_t demand_kib(uint64_t kib)
{
    return kib < WIRE_DEMAND_MAX ? (uint32_t)kib : WIRE_DEMAND_MAX;
}

/* The sum that is wanted follows from what was sent (modulo 2^40) and what waits. */
void qp_send_probe(struct solar_qp *qp, int64_t now_ns)
{
    uint64_t waits = qp->asked_bytes - qp->pump.sent_bytes;
    uint64_t length = waits < WIRE_MESSAGE_MAX ? waits : WIRE_MESSAGE_MAX;
    uint64_t more_kib = (waits - length) / 1024;
    struct wire_packet w = {.type = WIRE_PROBE,
                            .flags = WIRE_F_START,
                            .offset = qp->pump.sent_bytes & WIRE_OFFSET_MAX,
                            .start = {.length = (uint32_t)length,
                                      .demand_kib = demand_kib(more_kib),
                                      .away = wire_away((int64_t)qp->pump.absent_ns)}};
    pump_announced(&qp->pump, qp->asked_bytes, now_ns);
    track_asked(&qp->track, now_ns);
    put_control(qp, &w, now_ns);
}

/* Data ---------------------------------------------------------------------------------------- */

/* Bytes of the message that stand in packets: none of a read's request. */
static uint32_t body_of(const struct message *m)
{
    return m->type == WIRE_READ ? 0 : m->length;
}

/* The first packet has an extension: with so much less payload all packets are of one size. */
static uint32_t chunk_of(const struct solar_qp *qp, const struct message *m)
{
    uint32_t left = body_of(m) - m->sent_bytes;
    uint32_t most = (uint32_t)qp->payload_max - (m->sent_bytes == 0 ? WIRE_START_SIZE : 0);
    return left < most ? left : most;
}

static void put_data(struct solar_qp *qp, const struct message *m, const struct track_packet *p,
                     int64_t now_ns)
{
    bool last = p->offset + p->len == body_of(m), first = p->offset == 0;
    struct wire_packet w = {.type = m->type,
                            .tensor = m->tensor,
                            .attempt = p->attempt,
                            .id = m->wire_id,
                            .offset = m->remote_offset + p->offset,
                            .psn = p->psn,
                            .payload_len = p->len};
    if (p->len > 0)
        w.payload = m->mr->base + m->offset + p->offset;
    if (last)
        w.flags = WIRE_F_LAST;
    if (last && (!first || p->attempt > 0))
        w.flags |= WIRE_F_ASK; /* one of a single packet is acknowledged in the next round anyway */
    if (first) {
        uint64_t end = m->start_sum + body_of(m);
        uint64_t more_kib = (qp->asked_bytes - end) / 1024;
        w.flags |= WIRE_F_START | (m->has_immediate ? WIRE_F_IMMEDIATE : 0);
        w.start.length = m->length;
        w.start.immediate = m->immediate;
        w.start.demand_kib = demand_kib(more_kib);
        w.start.away = wire_away((int64_t)qp->pump.absent_ns);
    }
    put(qp, &w, p->path, now_ns);
}

/* A grant for a message, in bytes that the arbiter counts: at least 1, so that it ends. */
static bool send_new(struct solar_qp *qp, struct message *m, uint32_t len, int64_t *left,
                     int64_t now_ns)
{
    if (m->sent_bytes == 0)
        m->start_sum = qp->pump.sent_bytes;
    const struct track_packet *p = pump_send(&qp->pump, (uint32_t)(qp->message_next & UINT32_MAX),
                                             m->sent_bytes, (uint16_t)len, now_ns);
    if (p->offset == 0)
        pump_announced(&qp->pump, qp->asked_bytes, now_ns);
    m->sent_bytes += len;
    put_data(qp, m, p, now_ns);
    bool is_last = m->sent_bytes == body_of(m);
    if (is_last) {
        m->all_sent = true;
        m->last_psn = p->psn;
        qp->message_next++;
    }
    int64_t counts = body_of(m) > 0 ? len : 1;
    *left -= counts;
    if (!arbiter_sent(qp->context->arbiter, qp->entry, (int64_t)len + WIRE_HEADER_SIZE, counts,
                      now_ns))
        return true;
    qp->entry = ARBITER_NONE;
    return false;
}

static void send_repair(struct solar_qp *qp, int64_t now_ns)
{
    const struct track_packet *p = pump_repair(&qp->pump, now_ns);
    put_data(qp, qp_message(qp, p->token), p, now_ns);
}

static void wait_until(struct solar_qp *qp, int64_t ready_ns)
{
    qp->ready_ns = ready_ns;
    context_wake_at(qp->context, ready_ns);
}

void qp_send_grant(struct solar_qp *qp, int64_t bytes, int64_t now_ns)
{
    struct arbiter *arbiter = qp->context->arbiter;
    struct message *m = qp_message(qp, qp->message_next);
    bool goes_on = true;
    for (int n = 0; goes_on && bytes > 0 && n < qp->burst && udp_has_room(qp->context->udp); n++) {
        int64_t ready_ns, want = pump_fit(&qp->pump, chunk_of(qp, m));
        switch (pump_next(&qp->pump, want > 0 ? want : PUMP_EMPTY, now_ns, &ready_ns)) {
        case PUMP_NEW:
            goes_on = send_new(qp, m, (uint32_t)want, &bytes, now_ns);
            break;
        case PUMP_REPAIR:
            send_repair(qp, now_ns);
            break;
        case PUMP_PROBE:
            qp_send_probe(qp, now_ns);
            break;
        case PUMP_WAIT:
            arbiter_park(arbiter, qp->entry);
            wait_until(qp, ready_ns);
            goes_on = false;
            break;
        }
    }
    context_wake_at(qp->context, track_deadline_ns(&qp->track));
    if (qp->entry == ARBITER_NONE)
        qp_send_next(qp, now_ns);
}

void qp_send_repairs(struct solar_qp *qp, int64_t now_ns)
{
    int64_t ready_ns = INT64_MAX;
    while (track_lost(&qp->track) != NULL && udp_has_room(qp->context->udp)) {
        if (pump_next(&qp->pump, 0, now_ns, &ready_ns) != PUMP_REPAIR) {
            wait_until(qp, ready_ns);
            break;
        }
        send_repair(qp, now_ns);
    }
    context_wake_at(qp->context, track_deadline_ns(&qp->track));
}

void qp_send_next(struct solar_qp *qp, int64_t now_ns)
{
    if (qp->state != QP_OPEN || qp->entry != ARBITER_NONE || qp->message_next == qp->message_end)
        return;
    const struct message *m = qp_message(qp, qp->message_next);
    struct err err = ERR_INIT;
    int64_t bytes = body_of(m) > 0 ? body_of(m) : 1;
    if (arbiter_push(qp->context->arbiter, qp->config.label, m->tensor, bytes, qp->number, now_ns,
                     &qp->entry, &err) != ERR_OK)
        qp_fail(qp, &err);
}

/* The read that is to be answered next, or NULL. */
static struct asked *next_asked(struct solar_qp *qp)
{
    struct asked *next = NULL;
    for (int i = 0; i < SOLAR_READS_MAX; i++) {
        struct asked *a = &qp->asked[i];
        if (a->used && a->told && (next == NULL || a->psn < next->psn))
            next = a;
    }
    return next;
}

void qp_send_answers(struct solar_qp *qp, int64_t now_ns)
{
    struct asked *next;
    while ((next = next_asked(qp)) != NULL && qp->answers < SOLAR_READS_MAX) {
        next->used = false;
        struct solar_mr *mr = region_find(qp->context, qp->pd, next->key, SOLAR_REMOTE_READ);
        if (next->length > 0 && (mr == NULL || !region_holds(mr, next->offset, next->length))) {
            qp_send_nak(qp, WIRE_NAK_ACCESS, now_ns);
            qp_fail_with(qp, ERR_DENIED, "the peer reads from a region that is gone");
            return;
        }
        struct message *m = qp_add_message(qp, now_ns);
        *m = (struct message){.type = WIRE_READ_DATA,
                              .op = SOLAR_READ,
                              .answer = true,
                              .tensor = 1,
                              .wire_id = next->number,
                              .immediate = next->number,
                              .mr = next->length > 0 ? mr : NULL,
                              .offset = next->offset,
                              .length = next->length};
        if (m->mr != NULL)
            m->mr->users++;
        qp->answers++;
        qp->asked_bytes += m->length;
    }
    qp->unanswered = next != NULL;
    qp_send_next(qp, now_ns);
}

/* Acknowledged -------------------------------------------------------------------------------- */

static bool is_complete(const struct solar_qp *qp, const struct message *m)
{
    return m->all_sent && qp->track.una > m->last_psn && (m->type != WIRE_READ || m->answered);
}

void qp_complete(struct solar_qp *qp)
{
    while (qp->message_first < qp->message_next) {
        struct message *m = qp_message(qp, qp->message_first);
        if (!is_complete(qp, m))
            break;
        if (m->mr != NULL)
            m->mr->users--;
        qp->message_first++;
        if (m->answer) {
            qp->answers--;
            continue;
        }
        qp->posted--;
        if (m->type == WIRE_READ) {
            qp->reads--;
            qp->read_of[m->immediate % SOLAR_READS_MAX] = NULL;
        }
        if (m->posted_ns != 0)
            histogram_add(&qp->latency, context_now_ns() - m->posted_ns);
        struct solar_completion c = {.id = m->id, .qp = qp, .op = m->op, .length = m->length};
        completion_add(qp->config.send_cq, &c, true);
    }
}

void qp_on_ack(struct solar_qp *qp, const struct wire_packet *packet, int64_t now_ns)
{
    struct wire_ack ack = packet->ack;
    /* One that was overtaken says less than was granted since. */
    if (packet->psn + 1 != qp->window.next) {
        ack.credit_bytes = qp->pump.credit_bytes;
        ack.weight_total = (uint32_t)qp->pump.weight_total;
    }
    struct err err = ERR_INIT;
    pump_note_absence(&qp->pump, qp->context->round_ns - now_ns);
    if (packet->type == WIRE_CREDIT) {
        pump_on_credit(&qp->pump, &ack, now_ns);
    } else if (pump_on_ack(&qp->pump, &ack, now_ns, &err) != ERR_OK) {
        qp_send_nak(qp, WIRE_NAK_STATE, now_ns);
        qp_fail(qp, &err);
        return;
    }
    qp_complete(qp);
    if (qp->unanswered)
        qp_send_answers(qp, now_ns);
    if (qp->state == QP_OPEN)
        qp_list_kick(qp);
}
