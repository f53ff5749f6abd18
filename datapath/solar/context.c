/*
 * datapath/solar/context.c - a context, and the round in which all of its work is done:
 *
 *   acknowledgements of the last round -> what arrived -> grants -> timers -> sending -> flush
 *
 * Timers come after what arrived, and only when all of it was read: while this process did not run,
 * acknowledgements have come that they must not overtake.
 *
 * Acknowledgements wait for the next round where something was told to the user: what he posts in
 * answer is not held up by them.
 */
#include "datapath/solar/context.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/own.h"
#include "datapath/solar/control.h"
#include "datapath/solar/qp.h"

#define PATHS_DEFAULT      4
#define LINE_DEFAULT_BPS   INT64_C(100000000000)
#define RTT_DEFAULT_NS     INT64_C(200000)
#define TIMEOUT_DEFAULT_NS INT64_C(10000000)
#define DEAD_DEFAULT_NS    INT64_C(5000000000)
#define SPIN_DEFAULT_NS    INT64_C(50000)
#define POOL_PARTS         8 /* the pool is a BDP and one of these parts of it */
#define QUANTUM_BYTES      65536
#define AGE_NS             INT64_C(100000)
#define ABSENT_MAX_NS      INT64_C(10000000)
#define ABSENT_FADE        64.0 /* rounds that bring something, until a third is left */

_Static_assert(SOLAR_PATHS_MAX == UDP_PATHS_MAX && SOLAR_PATHS_MAX == TRACK_PATHS_MAX &&
                   SOLAR_PATHS_MAX == HELLO_PATHS_MAX,
               "as many paths everywhere");
_Static_assert(SOLAR_PAYLOAD_MIN == HELLO_PAYLOAD_MIN && SOLAR_PAYLOAD_MAX == HELLO_PAYLOAD_MAX,
               "as much payload everywhere");
_Static_assert(SOLAR_MESSAGE_MAX == WIRE_MESSAGE_MAX && SOLAR_MESSAGE_MAX <= ARBITER_MESSAGE_MAX,
               "as long messages everywhere");
_Static_assert(SOLAR_KEY_SIZE == MAC_KEY_SIZE && SOLAR_REGION_MAX == WIRE_OFFSET_MAX &&
                   SOLAR_TENSOR_MAX == WIRE_TENSOR_MAX && SOLAR_PRIORITY_MAX == WIRE_PRIORITY_MAX,
               "what the wire can carry");

int64_t context_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void context_wake_at(struct solar_context *context, int64_t at_ns)
{
    if (at_ns < context->next_ns)
        context->next_ns = at_ns;
}

static const struct {
    const char *name;
    size_t offset;
    int64_t min, max, normal;
} times[] = {
    {"line_bps", offsetof(struct solar_config, line_bps), CC_RATE_MIN_BPS, CC_RATE_MAX_BPS,
     LINE_DEFAULT_BPS},
    {"base_rtt_ns", offsetof(struct solar_config, base_rtt_ns), 1000, INT64_C(1000000000),
     RTT_DEFAULT_NS},
    {"timeout_min_ns", offsetof(struct solar_config, timeout_min_ns), 10000, TRACK_TIMEOUT_MAX_NS,
     TIMEOUT_DEFAULT_NS},
    {"dead_ns", offsetof(struct solar_config, dead_ns), 1000000, INT64_C(3600000000000),
     DEAD_DEFAULT_NS},
    {"spin_ns", offsetof(struct solar_config, spin_ns), -1, INT64_C(1000000000), SPIN_DEFAULT_NS},
};

static enum err_code complete_config(struct solar_config *c, struct err *err)
{
    c->address = c->address == NULL ? "127.0.0.1" : c->address;
    c->paths = c->paths == 0 ? PATHS_DEFAULT : c->paths;
    c->payload_max = c->payload_max == 0 ? SOLAR_PAYLOAD_MAX : c->payload_max;
    if (c->paths < 1 || c->paths > SOLAR_PATHS_MAX)
        return err_set(err, ERR_INVALID, "paths: %d (has 1 to %d)", c->paths, SOLAR_PATHS_MAX);
    if (c->payload_max < SOLAR_PAYLOAD_MIN || c->payload_max > SOLAR_PAYLOAD_MAX)
        return err_set(err, ERR_INVALID, "payload_max: %d (has %d to %d)", c->payload_max,
                       SOLAR_PAYLOAD_MIN, SOLAR_PAYLOAD_MAX);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        int64_t value;
        memcpy(&value, (char *)c + times[i].offset, sizeof(value));
        value = value == 0 ? times[i].normal : value;
        if (value < times[i].min || value > times[i].max)
            return err_set(err, ERR_INVALID, "%s: %lld (has %lld to %lld)", times[i].name,
                           (long long)value, (long long)times[i].min, (long long)times[i].max);
        memcpy((char *)c + times[i].offset, &value, sizeof(value));
    }
    return ERR_OK;
}

int64_t context_burst_bytes(const struct solar_context *context)
{
    const struct solar_config *c = &context->config;
    double bdp = (double)c->line_bps / 8e9 * (double)c->base_rtt_ns;
    return bdp < UDP_BURST_BYTES ? (int64_t)bdp : UDP_BURST_BYTES;
}

int64_t context_rtt_ns(const struct solar_context *context, int64_t burst_bytes)
{
    const struct solar_config *c = &context->config;
    return c->base_rtt_ns + (int64_t)((double)burst_bytes * 8e9 / (double)c->line_bps);
}

/* What is on its way here is at most what the path holds, and what the socket can keep: the kernel
 * counts more than the payload. One that sends alone may fill the socket: while this process does
 * not run nobody grants, and what waits in the socket waits in no switch. */
static enum err_code start_credit(struct solar_context *context, struct err *err)
{
    const struct solar_config *c = &context->config;
    int64_t burst = context_burst_bytes(context);
    burst = burst > c->payload_max ? burst : c->payload_max;
    int64_t bdp = (int64_t)((double)c->line_bps / 8e9 * (double)context_rtt_ns(context, burst));
    int64_t pool = bdp + bdp / POOL_PARTS, keeps = udp_buffer_bytes(context->udp) / 2;
    pool = pool < keeps ? pool : keeps;
    pool = pool > 2 * c->payload_max ? pool : 2 * c->payload_max;
    if (credit_init(context->credit, pool, c->payload_max, err) != ERR_OK)
        return err->code;
    credit_set_alone(context->credit, keeps);
    if (c->paths > 1 && pool <= keeps / CREDIT_FIRST_SPRAY)
        credit_set_first(context->credit, CREDIT_FIRST_SPRAY);
    return ERR_OK;
}

static enum err_code start(struct solar_context *context, struct err *err)
{
    struct udp_address own;
    const struct arbiter_config arbiter = {
        .quantum_bytes = QUANTUM_BYTES, .age_ns = AGE_NS, .order = ARBITER_SMALL_FIRST};
    enum err_code code =
        udp_address_parse(context->config.address, context->config.port, &own, err);
    if (code == ERR_OK)
        code = udp_new(&own, context->config.paths, &context->udp, err);
    if (code == ERR_OK)
        code = arbiter_init(context->arbiter, &arbiter, err);
    if (code == ERR_OK)
        code = start_credit(context, err);
    if (code == ERR_OK && context->config.control != NULL)
        code = control_new(context, &own, &context->control, err);
    context->config.address = context->config.control = context->config.interface = NULL;
    return code;
}

OWN_DEFINE(context, struct solar_context *, solar_context_free)

enum err_code solar_context_new(const struct solar_config *config, struct solar_context **out,
                                struct err *err)
{
    struct solar_config complete = *config;
    enum err_code code = complete_config(&complete, err);
    if (code != ERR_OK)
        return code;
    OWN(context) struct solar_context *context = calloc(1, sizeof(*context));
    if (context == NULL)
        return err_nomem(err);
    context->config = complete;
    context->spin_ns = complete.spin_ns;
    context->next_ns = INT64_MAX;
    context->arbiter = malloc(sizeof(*context->arbiter));
    context->credit = malloc(sizeof(*context->credit));
    if (context->arbiter == NULL || context->credit == NULL)
        return err_nomem(err);
    code = start(context, err);
    if (code != ERR_OK)
        return code;
    *out = GIVE(context);
    return ERR_OK;
}

void solar_context_free(struct solar_context *context)
{
    if (context == NULL)
        return;
    assert(context->domains == 0 && context->queues == 0);
    control_free(context->control);
    udp_free(context->udp);
    free(context->arbiter);
    free(context->credit);
    explicit_bzero(context->keys, sizeof(context->keys));
    free(context);
}

uint16_t solar_context_port(const struct solar_context *context)
{
    return udp_port(context->udp);
}

int solar_context_fd(const struct solar_context *context)
{
    return udp_fd(context->udp);
}

/* Rounds -------------------------------------------------------------------------------------- */

void qp_list_ack(struct solar_qp *qp)
{
    if (qp->ack.listed)
        return;
    qp->ack = (struct qp_link){.next = qp->context->ack_first, .listed = true};
    qp->context->ack_first = qp;
}

void qp_list_kick(struct solar_qp *qp)
{
    if (qp->kick.listed)
        return;
    qp->kick = (struct qp_link){.next = qp->context->kick_first, .listed = true};
    qp->context->kick_first = qp;
}

static void send_acks(struct solar_context *context, int64_t now_ns)
{
    while (context->ack_first != NULL) {
        struct solar_qp *qp = context->ack_first;
        context->ack_first = qp->ack.next;
        qp->ack = (struct qp_link){.next = NULL};
        if (place_owes_ack(&qp->place) || qp->credit_due)
            qp_send_ack(qp, now_ns);
    }
}

/* Each burst leaves at once, under its own time: the peer works while the next one is made, and
 * what those before it took here is not mistaken for a queue in the network. */
static void send_grants(struct solar_context *context, int64_t now_ns)
{
    struct arbiter_grant grant;
    int64_t ready_ns = INT64_MAX;
    for (;;) {
        if (!udp_make_room(context->udp))
            return; /* the sockets are full */
        if (!arbiter_pick(context->arbiter, now_ns, &grant, &ready_ns))
            break;
        qp_send_grant(context->qps[grant.token], grant.bytes, now_ns);
        if (!udp_has_burst(context->udp))
            continue;
        udp_flush(context->udp);
        now_ns = context_now_ns();
    }
    context_wake_at(context, ready_ns);
}

void context_kick(struct solar_context *context, int64_t now_ns)
{
    struct solar_qp *again = NULL;
    while (context->kick_first != NULL) {
        struct solar_qp *qp = context->kick_first;
        context->kick_first = qp->kick.next;
        qp->kick = (struct qp_link){.next = NULL};
        qp_send_repairs(qp, now_ns);
        if (qp->entry != ARBITER_NONE)
            arbiter_unpark(context->arbiter, qp->entry, now_ns);
        if (track_lost(&qp->track) != NULL && !udp_has_room(context->udp) && again == NULL)
            again = qp; /* the batch is full: the rest of the list waits for the next flush */
        if (again != NULL)
            break;
    }
    if (again != NULL)
        qp_list_kick(again);
    send_grants(context, now_ns);
}

void context_deliver(struct solar_context *context, const struct udp_arrived *arrived)
{
    if (hello_is(arrived->data, arrived->len))
        handshake_on_packet(context, arrived, context->round_ns);
    else
        qp_on_packet(context, arrived, context->round_ns);
}

static void on_arrived(void *arg, const struct udp_arrived *arrived)
{
    struct solar_context *context = arg;
    int64_t absent_ns = context->round_ns - arrived->arrived_ns;
    if (absent_ns > context->absent_now_ns)
        context->absent_now_ns = absent_ns;
    context->busy = true;
    if (context->filter != NULL)
        context->filter(context->filter_arg, arrived);
    else
        context_deliver(context, arrived);
}

/* A packet did not fit through a path: who counts on the old size has to open anew. */
static void check_paths(struct solar_context *context)
{
    for (int i = 1; i <= context->qp_top; i++) {
        struct solar_qp *qp = context->qps[i];
        int bytes;
        if (qp == NULL || qp->state != QP_OPEN ||
            udp_datagram_max(context->udp, &qp->peer, &bytes, NULL) != ERR_OK ||
            bytes >= qp->payload_max + WIRE_HEADER_SIZE)
            continue;
        qp_fail_with(qp, ERR_UNAVAILABLE,
                     "the path's MTU fell: it carries datagrams of %d bytes, the queue pair was "
                     "opened with %d; open a new one",
                     bytes, qp->payload_max + WIRE_HEADER_SIZE);
    }
}

static void run_timers(struct solar_context *context, int64_t now_ns)
{
    context->next_ns = INT64_MAX;
    for (int i = 1; i <= context->qp_top; i++) {
        struct solar_qp *qp = context->qps[i];
        if (qp == NULL)
            continue;
        qp_on_tick(qp, now_ns);
        context_wake_at(context, qp_deadline_ns(qp));
    }
}

/* A sender whose process does not run keeps what it was granted: others may have as much more. */
void context_note_away(struct solar_context *context, int64_t away_ns)
{
    context->away_ns -= context->away_ns / ABSENT_FADE;
    if ((double)away_ns > context->away_ns)
        context->away_ns = (double)(away_ns < ABSENT_MAX_NS ? away_ns : ABSENT_MAX_NS);
}

/* What came while nobody looked waited in the socket. */
static void note_absence(struct solar_context *context)
{
    int64_t now_ns =
        context->absent_now_ns < ABSENT_MAX_NS ? context->absent_now_ns : ABSENT_MAX_NS;
    context->absent_now_ns = 0;
    context->absent_ns -= context->absent_ns / ABSENT_FADE;
    if ((double)now_ns > context->absent_ns)
        context->absent_ns = (double)now_ns;
    double held_ns = context->absent_ns + context->away_ns;
    credit_set_held(context->credit, (int64_t)((double)context->config.line_bps / 8e9 * held_ns));
}

static void run_round(struct solar_context *context, int64_t now_ns)
{
    context->round_ns = now_ns;
    context->busy = false;
    if (context->control != NULL)
        control_look(context->control, now_ns);
    send_acks(context, now_ns);
    bool more;
    if (udp_receive(context->udp, on_arrived, context, &more) > 0) {
        note_absence(context);
        qp_grant_all(context);
    }
    if (now_ns >= context->next_ns && !more)
        run_timers(context, now_ns);
    if (!context->told)
        send_acks(context, now_ns);
    context->told = false;
    context_kick(context, now_ns);
    udp_flush(context->udp);
    if (udp_was_too_long(context->udp))
        check_paths(context);
}

/* Looking pays when what is waited for comes within the time of it. When it did not, the next look
 * is half as long: where waits are long, or the peer's process waits for this core, the time is
 * better slept. */
static void tune_spin(struct solar_context *context, int64_t waited_ns)
{
    int64_t most_ns = context->config.spin_ns;
    context->spin_ns = waited_ns < most_ns ? most_ns : context->spin_ns / 2;
}

bool solar_progress(struct solar_context *context, int64_t timeout_ns)
{
    const int64_t start_ns = context_now_ns(), spin_ns = context->spin_ns;
    bool slept = false;
    for (int64_t now_ns = start_ns;; now_ns = context_now_ns()) {
        run_round(context, now_ns);
        if (context->busy && slept)
            tune_spin(context, now_ns - start_ns);
        if (context->busy)
            return true;
        int64_t left_ns = timeout_ns - (now_ns - start_ns);
        if (left_ns <= 0)
            return false;
        if (now_ns - start_ns < spin_ns)
            continue;
        int64_t next_ns = context->next_ns;
        if (context->control != NULL && control_next_ns(context->control) < next_ns)
            next_ns = control_next_ns(context->control);
        int64_t due_ns = next_ns - context_now_ns();
        left_ns = due_ns < left_ns ? due_ns : left_ns;
        if (left_ns > 0 && context->ack_first == NULL) {
            udp_sleep(context->udp, left_ns);
            slept = true;
        }
    }
}
