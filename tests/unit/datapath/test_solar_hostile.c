/*
 * The transport among others: who has no key, who repeats what was sent, a peer that is killed, and
 * another process or thread as the peer.
 */
#include "solar_pair.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS_MAX 512

/* All that arrived at a side. */
struct recorder {
    struct solar_context *context;
    int count;
    struct record {
        uint8_t data[WIRE_PACKET_MAX];
        struct udp_arrived arrived;
        struct udp_address from;
    } * records;
};

static void record(void *arg, const struct udp_arrived *arrived)
{
    struct recorder *r = arg;
    if (r->count < RECORDS_MAX) {
        struct record *at = &r->records[r->count++];
        memcpy(at->data, arrived->data, arrived->len);
        at->arrived = *arrived;
        at->from = *arrived->from;
    }
    context_deliver(r->context, arrived);
}

static void begin_record(struct recorder *r, struct side *s)
{
    *r = (struct recorder){.context = s->context,
                           .records = calloc(RECORDS_MAX, sizeof(struct record))};
    assert_non_null(r->records);
    s->context->filter = record;
    s->context->filter_arg = r;
}

static void replay(struct recorder *r)
{
    r->context->filter = NULL;
    for (int i = 0; i < r->count; i++) {
        struct record *at = &r->records[i];
        at->arrived.data = at->data;
        at->arrived.from = &at->from;
        context_deliver(r->context, &at->arrived);
    }
}

static void write_some(struct pair *p, uint32_t length)
{
    struct err err = ERR_INIT;
    assert_ok(solar_post(
        p->a.qp, SOLAR_WRITE,
        &(struct solar_work){.mr = p->a.mr, .length = length, .remote_key = solar_mr_key(p->b.mr)},
        &err));
    assert_int_equal(await(p, &p->a).status, ERR_OK);
}

static void check_works(struct pair *p, uint32_t seed)
{
    fill(p->a.memory, 50000, seed);
    write_some(p, 50000);
    assert_memory_equal(p->b.memory, p->a.memory, 50000);
}

static struct solar_stats stats_of(const struct side *s)
{
    struct solar_stats stats;
    solar_context_stats(s->context, &stats);
    return stats;
}

static void packets_that_are_repeated_change_nothing(void **state)
{
    (void)state;
    struct pair p;
    struct recorder r;
    open_pair(&p, &(struct solar_config){.port = 0});
    begin_record(&r, &p.b);
    check_works(&p, 1);
    write_some(&p, 10);
    memset(p.b.memory, 0x55, 60000);
    replay(&r);
    for (int i = 0; i < 60000; i++)
        assert_int_equal(p.b.memory[i], 0x55);
    assert_int_equal(solar_qp_state(p.b.qp), SOLAR_OPEN);
    check_works(&p, 2);
    free(r.records);
    close_pair(&p);
}

static void acknowledgements_that_are_repeated_are_counted_and_dropped(void **state)
{
    (void)state;
    struct pair p;
    struct recorder r;
    open_pair(&p, &(struct solar_config){.port = 0});
    begin_record(&r, &p.a);
    check_works(&p, 1);
    int before = r.count;
    replay(&r);
    assert_true(before > 0);
    assert_int_equal(stats_of(&p.a).replayed, before);
    check_works(&p, 2);
    free(r.records);
    close_pair(&p);
}

/* Each byte of header and extension, changed on its way. */
static void a_packet_that_was_changed_is_forged(void **state)
{
    (void)state;
    struct pair p;
    struct recorder r;
    open_pair(&p, &(struct solar_config){.port = 0});
    begin_record(&r, &p.b);
    p.a.memory[0] = 1;
    write_some(&p, 40);
    assert_true(r.count >= 1);
    struct record *one = &r.records[0];
    one->arrived.data = one->data;
    one->arrived.from = &one->from;
    p.b.context->filter = NULL;
    memset(p.b.memory, 0, 40);
    uint64_t label_before = stats_of(&p.b).forged;
    for (size_t i = 4; i < 8; i++) { /* the label */
        one->data[i] ^= 1;
        context_deliver(p.b.context, &one->arrived);
        one->data[i] ^= 1;
    }
    assert_int_equal(stats_of(&p.b).forged, label_before + 4);
    for (size_t i = 0; i < one->arrived.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            one->data[i] ^= (uint8_t)(1 << bit);
            context_deliver(p.b.context, &one->arrived);
            one->data[i] ^= (uint8_t)(1 << bit);
        }
    assert_int_equal(p.b.memory[0], 0);
    assert_int_equal(solar_qp_state(p.b.qp), SOLAR_OPEN);
    check_works(&p, 3);
    free(r.records);
    close_pair(&p);
}

static void garbage_costs_only_a_look(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(solar_context_port(p.b.context)),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    uint8_t bytes[2000];
    uint32_t seed = 5;
    for (int i = 0; i < 3000; i++) {
        size_t len = roll(&seed) % 4 == 0 ? HELLO_SIZE : roll(&seed) % sizeof(bytes);
        fill(bytes, sizeof(bytes), seed);
        if (i % 3 > 0) /* as like one of ours as one without the key can make it */
            bytes[0] = (uint8_t)(WIRE_VERSION << 5 | (i % 3 == 1 ? 1 + i % 8 : HELLO_ASK + i % 3));
        bytes[8] = 0;
        bytes[9] = (uint8_t)p.b.qp->number;
        memcpy(bytes + 4, (const uint8_t[]){0, 0, 0, PAIR_LABEL}, 4);
        memcpy(bytes + 16, (const uint8_t[]){0, 0, 0, 0, 0, 0, 0, PAIR_EPOCH}, 8);
        ssize_t sent = sendto(fd, bytes, len, 0, (const struct sockaddr *)&to, sizeof(to));
        assert_true(sent >= 0);
        if (i % 16 == 0)
            both(&p);
    }
    close(fd);
    check_works(&p, 4);
    struct solar_stats s = stats_of(&p.b);
    assert_true(s.forged > 0 && s.malformed > 0);
    assert_true(s.forged + s.malformed + s.unknown + s.other_version >= 2500);
    assert_int_equal(solar_qp_state(p.b.qp), SOLAR_OPEN);
    close_pair(&p);
}

/* Opens another queue pair of a with one of b that accepts; waits until it is open or failed. */
static struct solar_qp *connect_more(struct pair *p, int64_t timeout_ns)
{
    struct err err = ERR_INIT;
    struct solar_qp *qp = new_qp(&p->a);
    assert_ok(
        solar_qp_connect(qp, "127.0.0.1", solar_context_port(p->b.context), timeout_ns, &err));
    while (solar_qp_state(qp) == SOLAR_OPENING)
        both(p);
    return qp;
}

static void another_key_opens_nothing(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    struct err err = ERR_INIT;
    struct solar_qp *waiting = new_qp(&p.b);
    assert_ok(solar_qp_accept(waiting, &err));
    assert_ok(solar_key_set(p.a.context, PAIR_LABEL, PAIR_EPOCH, (const uint8_t[32]){1}, &err));
    struct solar_qp *qp = connect_more(&p, 100 * MS_NS);
    assert_int_equal(solar_qp_state(qp), SOLAR_FAILED);
    assert_int_equal(solar_qp_error(qp)->code, ERR_UNAVAILABLE);
    assert_non_null(strstr(solar_qp_error(qp)->text, "label 7"));
    assert_int_equal(waiting->state, QP_LISTENING);
    assert_true(stats_of(&p.b).forged > 0);
    solar_qp_free(qp);
    solar_qp_free(waiting);
    close_pair(&p);
}

static void an_epoch_that_is_over_opens_nothing(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    struct err err = ERR_INIT;
    struct solar_qp *waiting = new_qp(&p.b);
    assert_ok(solar_qp_accept(waiting, &err));
    solar_key_drop(p.b.context, PAIR_LABEL, PAIR_EPOCH);
    assert_ok(solar_key_set(p.b.context, PAIR_LABEL, PAIR_EPOCH + 1, pair_key, &err));
    struct solar_qp *qp = connect_more(&p, 100 * MS_NS);
    assert_int_equal(solar_qp_error(qp)->code, ERR_UNAVAILABLE);
    assert_true(stats_of(&p.b).unknown > 0);
    check_works(&p, 6); /* what is open stays open */
    struct solar_qp *late = new_qp(&p.b);
    assert_fails(solar_qp_accept(late, &err), ERR_NOT_FOUND);
    solar_qp_free(late);
    solar_qp_free(qp);
    solar_qp_free(waiting);
    close_pair(&p);
}

static void a_handshake_that_was_recorded_opens_nothing(void **state)
{
    (void)state;
    struct pair p;
    struct recorder r;
    struct err err = ERR_INIT;
    open_pair(&p, &(struct solar_config){.port = 0});
    begin_record(&r, &p.b);
    struct solar_qp *first = new_qp(&p.b);
    assert_ok(solar_qp_accept(first, &err));
    struct solar_qp *qp = connect_more(&p, LONG_NS);
    while (solar_qp_state(first) == SOLAR_OPENING)
        both(&p);
    assert_int_equal(solar_qp_state(first), SOLAR_OPEN);
    replay(&r); /* while it is open: nothing */
    assert_int_equal(first->state, QP_OPEN);
    solar_qp_free(first);
    solar_qp_free(qp);
    /* One that accepts is taken by the recording, and given back to a true peer. */
    struct solar_qp *second = new_qp(&p.b);
    assert_ok(solar_qp_accept(second, &err));
    r.context->round_ns = context_now_ns();
    replay(&r);
    assert_int_equal(second->state, QP_WELCOMING);
    qp = connect_more(&p, LONG_NS);
    assert_int_equal(solar_qp_state(qp), SOLAR_OPEN);
    while (solar_qp_state(second) == SOLAR_OPENING)
        both(&p);
    assert_int_equal(solar_qp_state(second), SOLAR_OPEN);
    solar_qp_free(second);
    solar_qp_free(qp);
    free(r.records);
    close_pair(&p);
}

/* Versions ------------------------------------------------------------------------------------ */

/* A network in which one end is of another version: its first bytes are changed on their way. */
struct translation {
    struct solar_context *context;
    enum hello_type type;
    int version, count;
};

static void translate(void *arg, const struct udp_arrived *arrived)
{
    struct translation *t = arg;
    uint8_t bytes[HELLO_SIZE];
    struct udp_arrived changed = *arrived;
    if (!hello_is(arrived->data, arrived->len) || (arrived->data[0] & 31) != (int)t->type) {
        context_deliver(t->context, arrived);
        return;
    }
    memcpy(bytes, arrived->data, HELLO_SIZE);
    bytes[0] = (uint8_t)(t->version << 5 | (int)t->type);
    changed.data = bytes;
    t->count++;
    context_deliver(t->context, &changed);
}

static void set_translation(struct translation *t, struct side *s)
{
    t->context = s->context;
    s->context->filter = translate;
    s->context->filter_arg = t;
}

static void another_version_is_told_to_both_ends(void **state)
{
    (void)state;
    struct pair p;
    struct err err = ERR_INIT;
    open_pair(&p, &(struct solar_config){.port = 0});
    struct translation to_b = {.type = HELLO_ASK, .version = 1};
    struct translation to_a = {.type = HELLO_REFUSE, .version = 7};
    set_translation(&to_b, &p.b);
    set_translation(&to_a, &p.a);
    struct solar_qp *waiting = new_qp(&p.b);
    assert_ok(solar_qp_accept(waiting, &err));
    struct solar_qp *qp = connect_more(&p, 100 * MS_NS);
    assert_int_equal(solar_qp_error(qp)->code, ERR_UNSUPPORTED);
    assert_contains(solar_qp_error(qp)->text,
                    "speaks version 7 of the transport, this is version 2");
    assert_int_equal(waiting->state, QP_LISTENING);
    assert_true(to_b.count > 0 && to_a.count > 0);
    assert_int_equal(stats_of(&p.b).other_version, to_b.count);
    assert_int_equal(stats_of(&p.a).other_version, to_a.count);
    assert_int_equal(stats_of(&p.b).malformed, 0);
    solar_qp_free(qp);
    solar_qp_free(waiting);
    p.a.context->filter = p.b.context->filter = NULL;
    check_works(&p, 7); /* what is open stays open */
    close_pair(&p);
}

static struct udp_arrived from_port(const uint8_t *bytes, size_t len, uint16_t port,
                                    struct udp_address *out_from)
{
    struct err err = ERR_INIT;
    assert_ok(udp_address_parse("127.0.0.1", port, out_from, &err));
    return (struct udp_arrived){.data = bytes, .len = len, .from = out_from};
}

/* A WELCOME of another version is no question, a refusal neither: two ends never answer each other
 * without end. */
static void a_version_is_refused_once_a_millisecond(void **state)
{
    (void)state;
    struct pair p;
    uint8_t bytes[HELLO_SIZE] = {1 << 5 | HELLO_ASK};
    char answer[HELLO_SIZE + 1];
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t own_len = sizeof(own);
    open_pair(&p, &(struct solar_config){.port = 0});
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0 && bind(fd, (const struct sockaddr *)&own, sizeof(own)) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &own_len), 0);
    memcpy(bytes + 24, "nonce of asker.", HELLO_NONCE_SIZE);
    struct udp_address from;
    struct udp_arrived asked = from_port(bytes, sizeof(bytes), ntohs(own.sin_port), &from);
    static const struct {
        int64_t at_ns;
        uint8_t type;
        bool answered;
    } rows[] = {{1000, HELLO_ASK, true},         {1000, HELLO_ASK, false},
                {1000999, HELLO_ASK, false},     {1001000, HELLO_ASK, true},
                {9000000, HELLO_WELCOME, false}, {9000000, HELLO_READY, false},
                {9000000, HELLO_REFUSE, false},  {9000000, HELLO_ASK, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bytes[0] = (uint8_t)(1 << 5 | rows[i].type);
        handshake_on_packet(p.b.context, &asked, rows[i].at_ns);
        udp_flush(p.b.context->udp);
        ssize_t n =
            recv(fd, answer, sizeof(answer), 0); /* loopback: it is there, or was not sent */
        assert_int_equal(n, rows[i].answered ? HELLO_SIZE : -1);
        if (rows[i].answered)
            assert_memory_equal(answer + 24, "nonce of asker.", HELLO_NONCE_SIZE);
    }
    assert_int_equal(stats_of(&p.b).other_version, sizeof(rows) / sizeof(rows[0]));
    close(fd);
    close_pair(&p);
}

static void a_refusal_of_a_stranger_is_no_hint(void **state)
{
    (void)state;
    struct pair p;
    struct err err = ERR_INIT;
    open_pair(&p, &(struct solar_config){.port = 0});
    uint16_t port = solar_context_port(p.b.context);
    struct solar_qp *qp = new_qp(&p.a);
    assert_ok(solar_qp_connect(qp, "127.0.0.1", port, 20 * MS_NS, &err));
    uint8_t bytes[HELLO_SIZE] = {1 << 5 | HELLO_REFUSE};
    struct udp_address from;
    for (int i = 0; i < 2; i++) { /* without the nonce; from another port */
        struct udp_arrived refusal =
            from_port(bytes, sizeof(bytes), (uint16_t)(i == 0 ? port : port ^ 1), &from);
        context_deliver(p.a.context, &refusal);
        memcpy(bytes + 24, qp->hello.nonce_initiator, HELLO_NONCE_SIZE);
        assert_int_equal(qp->refused_version, -1);
    }
    while (solar_qp_state(qp) == SOLAR_OPENING)
        solar_progress(p.a.context, MS_NS);
    assert_int_equal(solar_qp_error(qp)->code, ERR_UNAVAILABLE);
    solar_qp_free(qp);
    /* Even a true hint does not end what may still be answered: an older end may be replaced. */
    struct solar_qp *waiting = new_qp(&p.b);
    assert_ok(solar_qp_accept(waiting, &err));
    qp = new_qp(&p.a);
    assert_ok(solar_qp_connect(qp, "127.0.0.1", port, LONG_NS, &err));
    memcpy(bytes + 24, qp->hello.nonce_initiator, HELLO_NONCE_SIZE);
    struct udp_arrived hint = from_port(bytes, sizeof(bytes), port, &from);
    context_deliver(p.a.context, &hint);
    assert_int_equal(qp->refused_version, 1);
    while (solar_qp_state(qp) == SOLAR_OPENING)
        both(&p);
    assert_int_equal(solar_qp_state(qp), SOLAR_OPEN);
    solar_qp_free(qp);
    solar_qp_free(waiting);
    close_pair(&p);
}

/* Processes and threads ----------------------------------------------------------------------- */

#define CHILD_BYTES 3000000

/* In the child: a failed assertion of cmocka would go on with the parent's other tests. */
static void must(bool holds)
{
    if (!holds)
        _exit(1);
}

static struct solar_completion next_of(struct side *s)
{
    struct solar_completion c;
    int64_t end_ns = context_now_ns() + LONG_NS;
    while (solar_cq_poll(s->cq, &c, 1) == 0) {
        if (context_now_ns() > end_ns)
            return (struct solar_completion){.status = ERR_UNAVAILABLE};
        solar_progress(s->context, 1000 * MS_NS);
    }
    return c;
}

/* Connects, says where its region is, waits for it to be filled, sends it back, and goes on. */
static void be_the_peer(uint16_t port)
{
    struct side s;
    struct err err = ERR_INIT;
    begin_side(&s, &(struct solar_config){.port = 0}, SOLAR_REMOTE_WRITE);
    s.qp = new_qp(&s);
    must(!solar_post(s.qp, SOLAR_RECEIVE, &(struct solar_work){.mr = s.mr, .length = 4}, &err));
    must(!solar_qp_connect(s.qp, "127.0.0.1", port, LONG_NS, &err));
    must(!solar_qp_wait(s.qp, LONG_NS, &err));
    must(!solar_post(s.qp, SOLAR_SEND_IMMEDIATE,
                     &(struct solar_work){.immediate = solar_mr_key(s.mr)}, &err));
    for (int done = 0; done < 3; done++) /* the send, the peer's region, its write */
        must(next_of(&s).status == ERR_OK);
    uint32_t remote;
    memcpy(&remote, s.memory, 4);
    must(!solar_post(s.qp, SOLAR_WRITE_IMMEDIATE,
                     &(struct solar_work){.mr = s.mr,
                                          .offset = 100,
                                          .length = CHILD_BYTES,
                                          .remote_key = remote,
                                          .remote_offset = 1000},
                     &err));
    for (;;)
        solar_progress(s.context, LONG_NS);
}

static void another_process_is_the_peer_until_it_is_killed(void **state)
{
    (void)state;
    struct side s;
    struct err err = ERR_INIT;
    begin_side(&s, &(struct solar_config){.dead_ns = 2000 * MS_NS}, SOLAR_REMOTE_WRITE);
    s.qp = new_qp(&s);
    assert_ok(solar_post(s.qp, SOLAR_RECEIVE, &(struct solar_work){.id = 1}, &err));
    assert_ok(solar_qp_accept(s.qp, &err));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        be_the_peer(solar_context_port(s.context));
        _exit(1);
    }
    struct solar_completion c = next_of(&s);
    assert_int_equal(c.op, SOLAR_RECEIVE);
    uint32_t remote = c.immediate, own = solar_mr_key(s.mr);
    fill(s.memory + 500000, CHILD_BYTES, 9);
    memcpy(s.memory, &own, 4);
    assert_ok(solar_post(s.qp, SOLAR_SEND, &(struct solar_work){.mr = s.mr, .length = 4}, &err));
    assert_ok(solar_post(s.qp, SOLAR_WRITE_IMMEDIATE,
                         &(struct solar_work){.mr = s.mr,
                                              .offset = 500000,
                                              .length = CHILD_BYTES,
                                              .remote_key = remote,
                                              .remote_offset = 100},
                         &err));
    assert_int_equal(next_of(&s).op, SOLAR_SEND);
    uint8_t *sent = malloc(CHILD_BYTES);
    assert_non_null(sent);
    memcpy(sent, s.memory + 500000, CHILD_BYTES);
    c = next_of(&s);
    if (c.op == SOLAR_WRITE_IMMEDIATE && !c.has_immediate)
        c = next_of(&s); /* the first was the end of our own */
    assert_true(c.has_immediate);
    assert_memory_equal(s.memory + 1000, sent, CHILD_BYTES);
    free(sent);

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_ok(solar_post(s.qp, SOLAR_SEND, &(struct solar_work){.id = 77}, &err));
    do
        c = next_of(&s);
    while (c.id != 77 && c.qp != NULL);
    assert_int_equal(c.status, ERR_UNAVAILABLE);
    assert_int_equal(solar_qp_state(s.qp), SOLAR_FAILED);
    end_side(&s);
}

struct shared_port {
    pthread_mutex_t lock;
    uint16_t port;
    uint32_t key;
};

static void *accept_in_a_thread(void *arg)
{
    struct shared_port *shared = arg;
    struct side s;
    struct err err = ERR_INIT;
    begin_side(&s, &(struct solar_config){.port = 0}, SOLAR_REMOTE_WRITE);
    s.qp = new_qp(&s);
    assert_ok(solar_qp_accept(s.qp, &err));
    pthread_mutex_lock(&shared->lock);
    shared->key = solar_mr_key(s.mr);
    shared->port = solar_context_port(s.context);
    pthread_mutex_unlock(&shared->lock);
    for (int i = 0; i < 20; i++)
        assert_int_equal(next_of(&s).op, SOLAR_WRITE_IMMEDIATE);
    for (int i = 0; i < 100; i++) /* the last acknowledgement */
        solar_progress(s.context, MS_NS);
    end_side(&s);
    return NULL;
}

static void contexts_of_two_threads_share_nothing(void **state)
{
    (void)state;
    struct shared_port shared = {.port = 0};
    assert_int_equal(pthread_mutex_init(&shared.lock, NULL), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, accept_in_a_thread, &shared), 0);
    uint16_t port = 0;
    uint32_t key = 0;
    while (port == 0) {
        pthread_mutex_lock(&shared.lock);
        port = shared.port;
        key = shared.key;
        pthread_mutex_unlock(&shared.lock);
        usleep(1000);
    }
    struct side s;
    struct err err = ERR_INIT;
    begin_side(&s, &(struct solar_config){.port = 0}, 0);
    s.qp = new_qp(&s);
    assert_ok(solar_qp_connect(s.qp, "127.0.0.1", port, LONG_NS, &err));
    assert_ok(solar_qp_wait(s.qp, LONG_NS, &err));
    for (int i = 0; i < 20; i++)
        assert_ok(solar_post(s.qp, SOLAR_WRITE_IMMEDIATE,
                             &(struct solar_work){.mr = s.mr, .length = 200000, .remote_key = key},
                             &err));
    for (int i = 0; i < 20; i++)
        assert_int_equal(next_of(&s).status, ERR_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_side(&s);
    pthread_mutex_destroy(&shared.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_that_are_repeated_change_nothing),
        cmocka_unit_test(acknowledgements_that_are_repeated_are_counted_and_dropped),
        cmocka_unit_test(a_packet_that_was_changed_is_forged),
        cmocka_unit_test(garbage_costs_only_a_look),
        cmocka_unit_test(another_key_opens_nothing),
        cmocka_unit_test(an_epoch_that_is_over_opens_nothing),
        cmocka_unit_test(a_handshake_that_was_recorded_opens_nothing),
        cmocka_unit_test(another_version_is_told_to_both_ends),
        cmocka_unit_test(a_version_is_refused_once_a_millisecond),
        cmocka_unit_test(a_refusal_of_a_stranger_is_no_hint),
        cmocka_unit_test(another_process_is_the_peer_until_it_is_killed),
        cmocka_unit_test(contexts_of_two_threads_share_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
