/*
 * datapath/solar/qp.c - queue pairs: how they begin and end, and what is posted to them.
 */
#include "datapath/solar/qp.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "datapath/solar/control.h"

#define HOLD_MAX_NS                                                                                \
    INT64_C(100000000) /* of a peer's process that does not run: counts in windows */

static void free_memory(struct solar_qp *qp)
{
    free(qp->track_slots);
    free(qp->place_slots);
    free(qp->messages);
    free(qp->receives);
    free(qp);
}

OWN_DEFINE(qp_memory, struct solar_qp *, free_memory)

static enum err_code check_config(const struct solar_qp_config *c, struct err *err)
{
    if (c->send_cq == NULL || c->receive_cq == NULL)
        return err_set(err, ERR_INVALID, "a queue pair needs send_cq and receive_cq");
    if (c->send_depth < 1 || c->send_depth > SOLAR_DEPTH_MAX)
        return err_set(err, ERR_INVALID, "send_depth %d (has 1 to %d)", c->send_depth,
                       SOLAR_DEPTH_MAX);
    if (c->receive_depth < 1 || c->receive_depth > SOLAR_DEPTH_MAX)
        return err_set(err, ERR_INVALID, "receive_depth %d (has 1 to %d)", c->receive_depth,
                       SOLAR_DEPTH_MAX);
    return ERR_OK;
}

/* Not one that was used a moment ago: its packets may still be on their way. */
static enum err_code take_number(struct solar_context *context, uint16_t *out, struct err *err)
{
    for (int i = 1; i <= SOLAR_QPS_MAX; i++) {
        int number = (context->qp_last + i - 1) % SOLAR_QPS_MAX + 1;
        if (context->qps[number] != NULL)
            continue;
        context->qp_last = number;
        context->qp_top = number > context->qp_top ? number : context->qp_top;
        *out = (uint16_t)number;
        return ERR_OK;
    }
    return err_set(err, ERR_LIMIT, "the context has %d queue pairs already", SOLAR_QPS_MAX);
}

enum err_code solar_qp_new(struct solar_pd *pd, const struct solar_qp_config *config,
                           struct solar_qp **out, struct err *err)
{
    enum err_code code = check_config(config, err);
    if (code != ERR_OK)
        return code;
    OWN(qp_memory) struct solar_qp *qp = calloc(1, sizeof(*qp));
    if (qp == NULL)
        return err_nomem(err);
    qp->pd = pd;
    qp->context = pd->context;
    qp->config = *config;
    qp->entry = ARBITER_NONE;
    qp->ready_ns = INT64_MAX;
    qp->message_depth = 1;
    while (qp->message_depth < config->send_depth + SOLAR_READS_MAX)
        qp->message_depth *= 2;
    qp->messages = calloc((size_t)qp->message_depth, sizeof(*qp->messages));
    qp->receives = calloc((size_t)config->receive_depth, sizeof(*qp->receives));
    qp->track_slots = calloc(QP_SLOTS, sizeof(*qp->track_slots));
    qp->place_slots = calloc(QP_SLOTS, sizeof(*qp->place_slots));
    if (qp->messages == NULL || qp->receives == NULL || qp->track_slots == NULL ||
        qp->place_slots == NULL)
        return err_nomem(err);
    code = context_need_label(qp->context, config->label, err);
    if (code == ERR_OK)
        code = take_number(qp->context, &qp->number, err);
    if (code != ERR_OK)
        return code;
    pd->users++;
    config->send_cq->users++;
    config->receive_cq->users++;
    qp->context->qps[qp->number] = qp;
    *out = GIVE(qp);
    return ERR_OK;
}

struct message *qp_message(const struct solar_qp *qp, uint64_t index)
{
    return &qp->messages[index & (uint64_t)(qp->message_depth - 1)];
}

struct message *qp_add_message(struct solar_qp *qp, int64_t now_ns)
{
    if (qp->message_first == qp->message_end)
        qp->owed_ns = now_ns;
    return qp_message(qp, qp->message_end++);
}

/* Ending -------------------------------------------------------------------------------------- */

static void unlist(struct solar_qp **first, struct solar_qp *qp, size_t link_offset)
{
    struct qp_link *own = (struct qp_link *)(void *)((char *)qp + link_offset);
    for (struct solar_qp **at = first; own->listed && *at != NULL;) {
        struct qp_link *link = (struct qp_link *)(void *)((char *)*at + link_offset);
        if (*at == qp) {
            *at = own->next;
            break;
        }
        at = &link->next;
    }
    *own = (struct qp_link){.next = NULL};
}

static void leave(struct solar_qp *qp)
{
    struct solar_context *context = qp->context;
    unlist(&context->ack_first, qp, offsetof(struct solar_qp, ack));
    unlist(&context->kick_first, qp, offsetof(struct solar_qp, kick));
    if (qp->entry != ARBITER_NONE)
        arbiter_remove(context->arbiter, qp->entry);
    qp->entry = ARBITER_NONE;
    if (qp->joined) {
        credit_leave(context->credit, qp->sender);
        context->of_sender[qp->sender] = NULL;
    }
    qp->joined = false;
}

static void end_message(struct solar_qp *qp, const struct message *m, bool tell)
{
    struct solar_cq *cq = qp->config.send_cq;
    if (m->mr != NULL)
        m->mr->users--;
    if (m->answer) {
        qp->answers--;
        return;
    }
    qp->posted--;
    struct solar_completion c = {
        .id = m->id, .qp = qp, .op = m->op, .status = qp->error.code, .length = m->length};
    if (tell)
        completion_add(cq, &c, true);
    else
        cq->held--;
}

static void end_all(struct solar_qp *qp, bool tell)
{
    for (; qp->message_first < qp->message_end; qp->message_first++)
        end_message(qp, qp_message(qp, qp->message_first), tell);
    qp->message_next = qp->message_end;
    for (; qp->receive_done < qp->receive_posted; qp->receive_done++) {
        struct receive *r = &qp->receives[qp->receive_done % (uint64_t)qp->config.receive_depth];
        struct solar_completion c = {
            .id = r->id, .qp = qp, .op = SOLAR_RECEIVE, .status = qp->error.code};
        if (r->mr != NULL)
            r->mr->users--;
        if (tell)
            completion_add(qp->config.receive_cq, &c, true);
        else
            qp->config.receive_cq->held--;
    }
}

void qp_fail(struct solar_qp *qp, const struct err *why)
{
    if (qp->state == QP_FAILED)
        return;
    leave(qp);
    qp->error = *why;
    qp->state = QP_FAILED;
    qp->context->busy = true;
    end_all(qp, true);
}

void qp_fail_with(struct solar_qp *qp, enum err_code code, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    struct err why = ERR_INIT;
    err_set(&why, code, "%s", text);
    qp_fail(qp, &why);
}

void solar_qp_free(struct solar_qp *qp)
{
    if (qp == NULL)
        return;
    struct solar_context *context = qp->context;
    if (qp->state == QP_OPEN || qp->state == QP_WELCOMING) {
        udp_flush(context->udp);
        qp_send_nak(qp, WIRE_NAK_STATE, context_now_ns());
        udp_flush(context->udp);
    }
    udp_drop(context->udp);
    leave(qp);
    end_all(qp, false);
    /* A completion must not name what is gone. */
    struct solar_cq *queues[] = {qp->config.send_cq, qp->config.receive_cq};
    for (int q = 0; q < 2; q++) {
        struct solar_cq *cq = queues[q];
        int kept = 0;
        for (int i = 0; i < cq->count; i++) {
            struct solar_completion c = cq->ring[(cq->first + i) % cq->depth];
            if (c.qp != qp)
                cq->ring[(cq->first + kept++) % cq->depth] = c;
        }
        cq->count = kept;
        cq->users--;
    }
    context->qps[qp->number] = NULL;
    qp->pd->users--;
    explicit_bzero(&qp->keys_in, sizeof(qp->keys_in));
    explicit_bzero(&qp->keys_out, sizeof(qp->keys_out));
    free_memory(qp);
}

/* Opening ------------------------------------------------------------------------------------- */

/* Another one for each connection, which both ends have seen. */
static uint64_t order_of(const struct solar_qp *qp)
{
    uint64_t seed;
    memcpy(&seed, qp->hello.nonce_initiator, sizeof(seed));
    return seed;
}

static enum err_code open_parts(struct solar_qp *qp, uint64_t credit_bytes, struct err *err)
{
    const struct solar_config *config = &qp->context->config;
    bool v6 = qp->peer.u.any.sa_family == AF_INET6;
    int head = WIRE_HEADER_SIZE + (v6 ? UDP_WIRE_V6 : UDP_WIRE_V4);
    int packet = qp->payload_max + head;
    qp->burst = (int)context_burst_bytes(qp->context) / packet;
    qp->burst = qp->burst < 1 ? 1 : qp->burst < UDP_BURST_PACKETS ? qp->burst : UDP_BURST_PACKETS;
    int64_t rtt_ns = context_rtt_ns(qp->context, packet);
    struct cc_params params = cc_defaults(config->line_bps, rtt_ns, packet);
    params.weight = context_label(qp->context, qp->config.label)->weight;
    params.weight_assumed = params.weight; /* receivers tell the total */
    if (qp->context->control != NULL)
        control_tune(qp->context->control, qp->config.label, &params);
    struct cc cc;
    enum err_code code = cc_init(&cc, CC_SOLAR, &params, err);
    if (code == ERR_OK)
        code = track_init(&qp->track, qp->track_slots, QP_SLOTS, config->paths,
                          config->timeout_min_ns, err);
    if (code == ERR_OK)
        code = place_init(&qp->place, qp->place_slots, QP_SLOTS, QP_ACK_EVERY, err);
    if (code != ERR_OK)
        return code;
    track_set_burst(&qp->track, qp->burst);
    track_set_order(&qp->track, order_of(qp));
    track_set_patience(&qp->track, TRACK_TIMEOUT_MAX_NS);
    pump_init(&qp->pump, &qp->track, &cc, head, credit_bytes, false);
    pump_set_burst(&qp->pump, qp->burst);
    pump_set_hold(&qp->pump, HOLD_MAX_NS);
    if (config->paths > 1)
        pump_set_window(&qp->pump, PUMP_SPRAY_BDPS);
    qp->window = (struct wire_window){.next = 0};
    return ERR_OK;
}

void qp_open(struct solar_qp *qp, uint64_t credit_bytes)
{
    struct err err = ERR_INIT;
    qp->heard_ns = context_now_ns();
    if (open_parts(qp, credit_bytes, &err) != ERR_OK)
        qp_fail(qp, &err);
}

static const enum solar_state shown[] = {
    [QP_IDLE] = SOLAR_IDLE,         [QP_ASKING] = SOLAR_OPENING, [QP_LISTENING] = SOLAR_OPENING,
    [QP_WELCOMING] = SOLAR_OPENING, [QP_OPEN] = SOLAR_OPEN,      [QP_FAILED] = SOLAR_FAILED,
};

enum solar_state solar_qp_state(const struct solar_qp *qp)
{
    return shown[qp->state];
}

const struct err *solar_qp_error(const struct solar_qp *qp)
{
    return &qp->error;
}

enum err_code solar_qp_wait(struct solar_qp *qp, int64_t timeout_ns, struct err *err)
{
    int64_t end_ns = context_now_ns() + timeout_ns;
    while (solar_qp_state(qp) == SOLAR_OPENING) {
        int64_t left_ns = end_ns - context_now_ns();
        if (left_ns <= 0)
            return err_set(err, ERR_UNAVAILABLE, "no peer within %lld ms",
                           (long long)(timeout_ns / 1000000));
        solar_progress(qp->context, left_ns);
    }
    if (qp->state == QP_IDLE)
        return err_set(err, ERR_CONFLICT, "the queue pair neither connects nor accepts");
    if (qp->state == QP_FAILED && err != NULL)
        *err = qp->error;
    return qp->error.code;
}

/* Posting ------------------------------------------------------------------------------------- */

static const struct {
    enum wire_type type;
    bool has_immediate, is_remote;
} ops[] = {
    [SOLAR_WRITE] = {WIRE_WRITE, false, true},
    [SOLAR_WRITE_IMMEDIATE] = {WIRE_WRITE, true, true},
    [SOLAR_READ] = {WIRE_READ, false, true},
    [SOLAR_SEND] = {WIRE_SEND, false, false},
    [SOLAR_SEND_IMMEDIATE] = {WIRE_SEND, true, false},
    [SOLAR_RECEIVE] = {WIRE_SEND, false, false},
};

#define OPS (sizeof(ops) / sizeof(ops[0]))

static enum err_code check_work(const struct solar_qp *qp, enum solar_op op,
                                const struct solar_work *w, struct err *err)
{
    if ((unsigned)op >= OPS || op == 0)
        return err_set(err, ERR_INVALID, "no operation %d", (int)op);
    if (w->length > SOLAR_MESSAGE_MAX)
        return err_set(err, ERR_INVALID, "an operation of %u bytes (at most %lld)", w->length,
                       (long long)SOLAR_MESSAGE_MAX);
    if (w->length > 0 && (w->mr == NULL || w->mr->pd != qp->pd))
        return err_set(err, ERR_INVALID, "the region is not of the queue pair's domain");
    if (w->mr != NULL && !region_holds(w->mr, w->offset, w->length))
        return err_set(err, ERR_INVALID,
                       "%u bytes at %llu are out of the region, which has %llu bytes", w->length,
                       (unsigned long long)w->offset, (unsigned long long)w->mr->size_bytes);
    if (w->tensor > SOLAR_TENSOR_MAX)
        return err_set(err, ERR_INVALID, "tensor class %u (has 0 to %d)", w->tensor,
                       SOLAR_TENSOR_MAX);
    if (ops[op].is_remote && w->remote_key > UINT16_MAX)
        return err_set(err, ERR_INVALID, "%u is no key of a region", w->remote_key);
    if (ops[op].is_remote &&
        (w->remote_offset > SOLAR_REGION_MAX || w->remote_offset + w->length > SOLAR_REGION_MAX))
        return err_set(err, ERR_INVALID, "%u bytes at %llu are in no region", w->length,
                       (unsigned long long)w->remote_offset);
    return ERR_OK;
}

static enum err_code check_room(const struct solar_qp *qp, enum solar_op op, struct err *err)
{
    const struct solar_qp_config *c = &qp->config;
    bool receives = op == SOLAR_RECEIVE;
    if (qp->state == QP_FAILED || (!receives && qp->state != QP_OPEN))
        return err_set(err, ERR_CONFLICT, "the queue pair is not open%s%s",
                       qp->error.code != ERR_OK ? ": " : "", qp->error.text);
    int used = receives ? (int)(qp->receive_posted - qp->receive_done) : qp->posted;
    int depth = receives ? c->receive_depth : c->send_depth;
    if (used >= depth)
        return err_set(err, ERR_LIMIT, "%d operations are posted already; poll first", depth);
    if (!completion_has_room(receives ? c->receive_cq : c->send_cq))
        return err_set(err, ERR_LIMIT, "the completion queue has no place left; poll it first");
    if (op == SOLAR_READ && qp->reads >= SOLAR_READS_MAX)
        return err_set(err, ERR_LIMIT, "%d reads are under way already; poll first",
                       SOLAR_READS_MAX);
    return ERR_OK;
}

static void post_receive(struct solar_qp *qp, const struct solar_work *w)
{
    struct receive *r = &qp->receives[qp->receive_posted++ % (uint64_t)qp->config.receive_depth];
    *r = (struct receive){.id = w->id, .mr = w->mr, .offset = w->offset, .length = w->length};
    completion_hold(qp->config.receive_cq);
}

static void post_message(struct solar_qp *qp, enum solar_op op, const struct solar_work *w,
                         int64_t now_ns)
{
    struct message *m = qp_add_message(qp, now_ns);
    *m = (struct message){.type = ops[op].type,
                          .op = op,
                          .has_immediate = ops[op].has_immediate,
                          .tensor = w->tensor,
                          .wire_id = (uint16_t)w->remote_key,
                          .id = w->id,
                          .posted_ns = qp->context->control != NULL ? context_now_ns() : 0,
                          .mr = w->mr,
                          .offset = w->offset,
                          .remote_offset = w->remote_offset,
                          .length = w->length,
                          .immediate = w->immediate};
    if (m->type == WIRE_SEND) {
        m->wire_id = qp->send_number++;
        m->remote_offset = 0;
    }
    if (m->type == WIRE_READ) {
        m->immediate = qp->read_number++;
        qp->read_of[m->immediate % SOLAR_READS_MAX] = m;
        qp->reads++;
    } else {
        qp->asked_bytes += m->length;
    }
    qp->posted++;
    completion_hold(qp->config.send_cq);
}

enum err_code solar_post(struct solar_qp *qp, enum solar_op op, const struct solar_work *work,
                         struct err *err)
{
    enum err_code code = check_work(qp, op, work, err);
    if (code == ERR_OK)
        code = check_room(qp, op, err);
    if (code != ERR_OK)
        return code;
    if (work->mr != NULL)
        work->mr->users++;
    if (op == SOLAR_RECEIVE) {
        post_receive(qp, work);
        return ERR_OK;
    }
    int64_t now_ns = context_now_ns();
    post_message(qp, op, work, now_ns);
    qp_send_next(qp, now_ns);
    context_kick(qp->context, now_ns);
    udp_flush(qp->context->udp);
    return ERR_OK;
}

void solar_qp_stats(const struct solar_qp *qp, struct solar_qp_stats *out)
{
    *out = qp->stats;
    const struct track_counters *c = &qp->track.counters;
    out->sent_packets = c->sent;
    out->acked_packets = c->acked;
    out->resent_packets = c->resent;
    out->lost_packets = c->lost;
    out->timeouts = c->timeouts;
    out->spurious_packets = c->spurious;
    out->sent_bytes = qp->pump.sent_bytes;
    out->received_packets = qp->place.counters.arrived;
    out->duplicate_packets = qp->place.counters.duplicates;
    out->rtt_ns = qp->track.srtt_ns;
    out->rate_bps = qp->track.paths > 0 ? cc_rate_bps(&qp->pump.cc) : 0;
    out->payload_max = qp->payload_max;
    out->paths = qp->track.paths;
    for (int i = 0; i < qp->track.paths; i++)
        out->bad_paths += track_path_is_bad(&qp->track, (uint8_t)i, context_now_ns());
}
