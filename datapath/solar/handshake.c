/*
 * datapath/solar/handshake.c - opens queue pairs with the datagrams of hello.h.
 *
 *   connect: IDLE -> ASKING ---------- WELCOME, answered by READY ------------> OPEN
 *   accept:  IDLE -> LISTENING - HELLO, answered by WELCOME -> WELCOMING - READY -> OPEN
 *                        ^------------- no READY in time ---------'      or any genuine packet
 *
 * What a stranger can make this side do: one HMAC a datagram, and a refusal as long as the HELLO of
 * another version that it answers, one in REFUSE_NS. What one who recorded a HELLO can:
 * one WELCOME each, and one accepting queue pair taken for WELCOME_NS at most; a HELLO that comes
 * when none is free takes one that has waited for TAKE_AFTER_NS, so that they cannot lock others
 * out.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "datapath/solar/control.h"
#include "datapath/solar/qp.h"

_Static_assert(HELLO_SIZE <= UDP_HEAD_MAX, "a handshake is one head");

#define AGAIN_FIRST_NS INT64_C(20000000)
#define AGAIN_MAX_NS   INT64_C(500000000)
#define WELCOME_NS     INT64_C(2000000000)
#define REFUSE_NS      INT64_C(1000000)
#define TAKE_AFTER_NS  INT64_C(500000000) /* a READY takes a round trip and a process that runs */

static void fail_nonce(struct solar_qp *qp)
{
    qp_fail_with(qp, ERR_IO, "the kernel gave no random bytes");
}

static bool make_nonce(uint8_t nonce[HELLO_NONCE_SIZE])
{
    ssize_t n;
    do
        n = getrandom(nonce, HELLO_NONCE_SIZE, 0);
    while (n < 0 && errno == EINTR);
    return n == HELLO_NONCE_SIZE;
}

static void send_hello(struct solar_qp *qp)
{
    struct udp *udp = qp->context->udp;
    const struct job_key *key = context_key(qp->context, qp->config.label, qp->config.epoch);
    if (key == NULL || !udp_make_room(udp))
        return;
    hello_seal(key->key, &qp->hello, udp_head(udp));
    struct udp_packet packet = {.to = &qp->peer, .head_len = HELLO_SIZE};
    udp_put(udp, &packet);
}

/* What both sides can take: the path's MTU, and what the user allows. */
static enum err_code find_payload_max(struct solar_qp *qp, struct err *err)
{
    int bytes, most = qp->context->config.payload_max;
    enum err_code code = udp_datagram_max(qp->context->udp, &qp->peer, &bytes, err);
    if (code != ERR_OK)
        return code;
    bytes -= WIRE_HEADER_SIZE;
    bytes = bytes < most ? bytes : most;
    if (bytes < HELLO_PAYLOAD_MIN)
        return err_set(err, ERR_UNSUPPORTED,
                       "the path carries packets with %d bytes of payload; %d are needed", bytes,
                       HELLO_PAYLOAD_MIN);
    qp->payload_max = bytes;
    return ERR_OK;
}

static enum err_code join(struct solar_qp *qp, struct err *err)
{
    struct solar_context *context = qp->context;
    enum err_code code = ERR_OK;
    if (!qp->joined)
        code = credit_join(context->credit, context_label(context, qp->config.label)->weight,
                           &qp->sender, err);
    if (code != ERR_OK)
        return code;
    qp->joined = true;
    context->of_sender[qp->sender] = qp;
    return ERR_OK;
}

/* Keys of both directions, and what the peer said. */
static void take_over(struct solar_qp *qp, const struct job_key *key, const struct hello *from)
{
    const struct hello *both = qp->initiator ? from : &qp->hello;
    hello_keys(key->key, both, qp->initiator, &qp->keys_out);
    hello_keys(key->key, both, !qp->initiator, &qp->keys_in);
    qp->keys_in.cover = qp->context->config.cover;
    qp->cover_out = from->cover;
    qp->peer_number = from->qp_from;
    if (from->payload_max < qp->payload_max)
        qp->payload_max = from->payload_max;
}

static void on_ask(struct solar_context *context, const struct job_key *key, const struct hello *h,
                   const struct udp_address *from, int64_t now_ns)
{
    struct solar_qp *chosen = NULL;
    for (int i = 1; i <= context->qp_top; i++) {
        struct solar_qp *qp = context->qps[i];
        if (qp == NULL || qp->config.label != h->label ||
            (qp->config.epoch != h->epoch && !qp->any_epoch) ||
            (qp->initiator && qp->state != QP_LISTENING))
            continue;
        bool same = (qp->state == QP_WELCOMING || qp->state == QP_OPEN) &&
                    memcmp(qp->hello.nonce_initiator, h->nonce_initiator, HELLO_NONCE_SIZE) == 0;
        if (same && qp->state == QP_WELCOMING)
            send_hello(qp); /* the WELCOME was lost */
        if (same)
            return;
        bool free_now = qp->state == QP_LISTENING;
        bool waited = qp->state == QP_WELCOMING &&
                      now_ns - qp->open_deadline_ns + WELCOME_NS > TAKE_AFTER_NS &&
                      (chosen == NULL || (chosen->state == QP_WELCOMING &&
                                          qp->open_deadline_ns < chosen->open_deadline_ns));
        if ((free_now && (chosen == NULL || chosen->state != QP_LISTENING)) || waited)
            chosen = qp;
    }
    if (chosen == NULL) {
        context->stats.unknown++;
        return;
    }
    struct solar_qp *qp = chosen;
    qp->config.epoch = h->epoch;
    qp->peer = *from;
    struct err err = ERR_INIT;
    if (find_payload_max(qp, &err) != ERR_OK || join(qp, &err) != ERR_OK)
        return; /* it listens on; the other side has a limit of time */
    qp->hello = (struct hello){.type = HELLO_WELCOME,
                               .cover = context->config.cover,
                               .paths = (uint8_t)context->config.paths,
                               .label = h->label,
                               .qp_to = h->qp_from,
                               .qp_from = qp->number,
                               .epoch = h->epoch,
                               .credit_bytes = credit_sum(context->credit, qp->sender)};
    memcpy(qp->hello.nonce_initiator, h->nonce_initiator, HELLO_NONCE_SIZE);
    if (!make_nonce(qp->hello.nonce_responder)) {
        fail_nonce(qp);
        return;
    }
    qp->initiator = false;
    take_over(qp, key, h);
    qp->hello.payload_max = (uint16_t)qp->payload_max;
    qp->state = QP_WELCOMING;
    qp->open_deadline_ns = now_ns + WELCOME_NS;
    qp->hello_wait_ns = AGAIN_FIRST_NS;
    qp->hello_ns = now_ns + qp->hello_wait_ns;
    context_wake_at(context, qp->hello_ns);
    qp_open(qp, h->credit_bytes);
    send_hello(qp);
}

void handshake_is_ready(struct solar_qp *qp, int64_t now_ns)
{
    qp->state = QP_OPEN;
    qp->heard_ns = now_ns;
    qp->context->busy = true;
}

static void on_welcome(struct solar_qp *qp, const struct job_key *key, const struct hello *h)
{
    if (qp->state == QP_OPEN) {
        /* The READY was lost; `hello` is that READY. */
        if (qp->initiator && h->qp_from == qp->hello.qp_to &&
            memcmp(h->nonce_responder, qp->hello.nonce_responder, HELLO_NONCE_SIZE) == 0)
            send_hello(qp);
        return;
    }
    if (qp->state != QP_ASKING || !hello_answers(h, &qp->hello)) {
        qp->context->stats.replayed++;
        return;
    }
    take_over(qp, key, h);
    qp->hello.type = HELLO_READY;
    qp->hello.qp_to = h->qp_from;
    qp->hello.payload_max = (uint16_t)qp->payload_max;
    memcpy(qp->hello.nonce_responder, h->nonce_responder, HELLO_NONCE_SIZE);
    qp->state = QP_OPEN;
    qp->context->busy = true;
    qp_open(qp, h->credit_bytes);
    send_hello(qp);
}

static void on_ready(struct solar_qp *qp, const struct hello *h, int64_t now_ns)
{
    if (qp->state == QP_WELCOMING && hello_answers(h, &qp->hello))
        handshake_is_ready(qp, now_ns);
    else
        qp->context->stats.replayed++;
}

/* One of another version: who asks is told; who is told keeps it for its text. */
static void on_other_version(struct solar_context *context, const struct udp_arrived *arrived,
                             int64_t now_ns)
{
    uint8_t refusal[HELLO_SIZE];
    context->stats.other_version++;
    for (int i = 1; i <= context->qp_top; i++) {
        struct solar_qp *qp = context->qps[i];
        int version;
        if (qp != NULL && qp->state == QP_ASKING && udp_address_is(&qp->peer, arrived->from) &&
            hello_is_refused(arrived->data, arrived->len, qp->hello.nonce_initiator, &version))
            qp->refused_version = version;
    }
    bool may = context->refused_ns == 0 || now_ns - context->refused_ns >= REFUSE_NS;
    if (!may || !hello_refuse(arrived->data, arrived->len, refusal))
        return;
    struct udp *udp = context->udp;
    if (!udp_make_room(udp))
        return;
    context->refused_ns = now_ns;
    memcpy(udp_head(udp), refusal, HELLO_SIZE);
    struct udp_packet packet = {.to = arrived->from, .head_len = HELLO_SIZE};
    udp_put(udp, &packet);
}

void handshake_on_packet(struct solar_context *context, const struct udp_arrived *arrived,
                         int64_t now_ns)
{
    uint32_t label;
    uint64_t epoch;
    struct hello h;
    enum err_code code = hello_peek(arrived->data, arrived->len, &label, &epoch, NULL);
    if (code == ERR_UNSUPPORTED)
        on_other_version(context, arrived, now_ns);
    else if (code != ERR_OK)
        context->stats.malformed++;
    if (code != ERR_OK)
        return;
    const struct job_key *key = context_key(context, label, epoch);
    if (key == NULL) {
        context->stats.unknown++;
        return;
    }
    code = hello_open(key->key, arrived->data, arrived->len, &h, NULL);
    if (code != ERR_OK) {
        *(code == ERR_DENIED ? &context->stats.forged : &context->stats.malformed) += 1;
        return;
    }
    if (h.type == HELLO_ASK) {
        on_ask(context, key, &h, arrived->from, now_ns);
        return;
    }
    struct solar_qp *qp = h.qp_to <= SOLAR_QPS_MAX ? context->qps[h.qp_to] : NULL;
    if (qp == NULL || qp->config.label != label || qp->config.epoch != epoch)
        context->stats.unknown++;
    else if (h.type == HELLO_WELCOME)
        on_welcome(qp, key, &h);
    else
        on_ready(qp, &h, now_ns);
}

static void fail_unanswered(struct solar_qp *qp)
{
    char text[UDP_ADDRESS_TEXT];
    udp_address_format(&qp->peer, text);
    if (qp->refused_version >= 0)
        qp_fail_with(qp, ERR_UNSUPPORTED,
                     "%s speaks version %d of the transport, this is version %d; upgrade the older",
                     text, qp->refused_version, WIRE_VERSION);
    else
        qp_fail_with(qp, ERR_UNAVAILABLE,
                     "%s does not answer; is a queue pair accepting there under label %u and "
                     "epoch %llu with the same key?",
                     text, qp->config.label, (unsigned long long)qp->config.epoch);
}

void handshake_on_tick(struct solar_qp *qp, int64_t now_ns)
{
    if (qp->state != QP_ASKING && qp->state != QP_WELCOMING)
        return;
    if (now_ns >= qp->open_deadline_ns && qp->state == QP_WELCOMING) {
        qp->state = QP_LISTENING;
        return;
    }
    if (now_ns >= qp->open_deadline_ns) {
        fail_unanswered(qp);
        return;
    }
    if (now_ns < qp->hello_ns)
        return;
    send_hello(qp);
    qp->hello_wait_ns = qp->hello_wait_ns < AGAIN_MAX_NS / 2 ? 2 * qp->hello_wait_ns : AGAIN_MAX_NS;
    qp->hello_ns = now_ns + qp->hello_wait_ns;
}

static bool has_key(const struct solar_qp *qp)
{
    return context_key(qp->context, qp->config.label, qp->config.epoch) != NULL;
}

/* Epoch 0 is the agent's present one, unless the program set a key of that. */
static enum err_code check_idle(struct solar_qp *qp, struct err *err)
{
    struct control *control = qp->context->control;
    if (qp->state != QP_IDLE)
        return err_set(err, ERR_CONFLICT, "the queue pair connects or accepts already");
    if (qp->config.epoch == 0 && control != NULL && !has_key(qp)) {
        qp->config.epoch = control_epoch(control, qp->config.label);
        qp->any_epoch = qp->config.epoch != 0;
        if (!qp->any_epoch)
            return err_set(err, ERR_NOT_FOUND,
                           "label %u: no key of the node's agent: is jobs/%u in its folder, open "
                           "to this process, and does the job run on this node?",
                           qp->config.label, qp->config.label);
    }
    if (!has_key(qp))
        return err_set(err, ERR_NOT_FOUND, "no key of label %u and epoch %llu (solar_key_set)",
                       qp->config.label, (unsigned long long)qp->config.epoch);
    return ERR_OK;
}

enum err_code solar_qp_connect(struct solar_qp *qp, const char *address, uint16_t port,
                               int64_t timeout_ns, struct err *err)
{
    enum err_code code = check_idle(qp, err);
    if (code == ERR_OK)
        code = udp_address_parse(address, port, &qp->peer, err);
    if (code == ERR_OK)
        code = find_payload_max(qp, err);
    if (code == ERR_OK)
        code = join(qp, err);
    if (code != ERR_OK)
        return code;
    qp->hello = (struct hello){.type = HELLO_ASK,
                               .cover = qp->context->config.cover,
                               .paths = (uint8_t)qp->context->config.paths,
                               .label = qp->config.label,
                               .qp_from = qp->number,
                               .payload_max = (uint16_t)qp->payload_max,
                               .epoch = qp->config.epoch,
                               .credit_bytes = credit_sum(qp->context->credit, qp->sender)};
    if (!make_nonce(qp->hello.nonce_initiator))
        return err_set_errno(err, ERR_IO, errno, "random bytes");
    int64_t now_ns = context_now_ns();
    qp->initiator = true;
    qp->refused_version = -1;
    qp->state = QP_ASKING;
    qp->open_deadline_ns = now_ns + timeout_ns;
    qp->hello_wait_ns = AGAIN_FIRST_NS;
    qp->hello_ns = now_ns + qp->hello_wait_ns;
    context_wake_at(qp->context, qp->hello_ns);
    context_wake_at(qp->context, qp->open_deadline_ns);
    send_hello(qp);
    udp_flush(qp->context->udp);
    return ERR_OK;
}

enum err_code solar_qp_accept(struct solar_qp *qp, struct err *err)
{
    enum err_code code = check_idle(qp, err);
    if (code == ERR_OK)
        qp->state = QP_LISTENING;
    return code;
}
