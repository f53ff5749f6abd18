/*
 * tests/unit/datapath/test_solar_keys.c - two contexts under keys that agents put into the folders
 * of two nodes: opened, refused, changed without loss, taken away.
 */
#include "tests/unit/datapath/solar_pair.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datapath/solar/control.h"
#include "datapath/solar/keyring.h"

#define LABEL 9

struct node {
    char folder[32], jobs[64], job[96];
};

static struct node here = {.folder = "/tmp/stellar-keys-XXXXXX"};
static struct node there = {.folder = "/tmp/stellar-keys-XXXXXX"};

static void make_node(struct node *n)
{
    assert_non_null(mkdtemp(n->folder));
    snprintf(n->jobs, sizeof(n->jobs), "%s/jobs", n->folder);
    snprintf(n->job, sizeof(n->job), "%s/%d", n->jobs, LABEL);
    assert_int_equal(mkdir(n->jobs, 0755), 0);
    assert_int_equal(mkdir(n->job, 0730), 0);
}

static int make_nodes(void **state)
{
    (void)state;
    make_node(&here);
    make_node(&there);
    return 0;
}

static int remove_nodes(void **state)
{
    (void)state;
    struct node *nodes[] = {&here, &there};
    for (size_t i = 0; i < 2; i++) {
        keyring_drop(nodes[i]->job);
        rmdir(nodes[i]->job);
        rmdir(nodes[i]->jobs);
        rmdir(nodes[i]->folder);
    }
    return 0;
}

/* As the server makes them: the present epoch, the one before, the one after. */
static void give(const struct node *n, uint64_t now, int secret)
{
    static const int order[3] = {0, -1, 1};
    struct err err = ERR_INIT;
    struct keyring ring = {.count = 3};
    for (size_t i = 0; i < 3; i++) {
        ring.keys[i].epoch = now + (uint64_t)order[i];
        memset(ring.keys[i].key, (int)ring.keys[i].epoch + secret, MAC_KEY_SIZE);
    }
    assert_ok(keyring_write(n->job, &ring, &err));
}

static void begin(struct side *s, const struct node *n)
{
    const struct solar_config config = {.control = n->folder, .spin_ns = -1};
    begin_side(s, &config, SOLAR_REMOTE_WRITE);
}

static struct solar_qp *qp_of_agent(struct side *s)
{
    struct err err = ERR_INIT;
    const struct solar_qp_config config = {.label = LABEL,
                                           .send_cq = s->cq,
                                           .receive_cq = s->cq,
                                           .send_depth = 16,
                                           .receive_depth = 16};
    if (solar_qp_new(s->pd, &config, &s->qp, &err) != ERR_OK)
        fail_msg("%s", err.text);
    return s->qp;
}

static void pass(struct pair *p, int64_t ns)
{
    for (int64_t end_ns = context_now_ns() + ns; context_now_ns() < end_ns;)
        both(p);
}

/* Whether they meet within the time. */
static bool meet(struct pair *p, int64_t within_ns)
{
    struct err err = ERR_INIT;
    assert_ok(solar_qp_accept(p->b.qp, &err));
    assert_ok(
        solar_qp_connect(p->a.qp, "127.0.0.1", solar_context_port(p->b.context), within_ns, &err));
    while (solar_qp_state(p->a.qp) == SOLAR_OPENING)
        both(p);
    return solar_qp_state(p->a.qp) == SOLAR_OPEN;
}

static void write_all(struct pair *p, uint32_t seed)
{
    struct err err = ERR_INIT;
    fill(p->a.memory, 300000, seed);
    const struct solar_work work = {
        .mr = p->a.mr, .length = 300000, .remote_key = solar_mr_key(p->b.mr), .tensor = 1};
    assert_ok(solar_post(p->a.qp, SOLAR_WRITE, &work, &err));
    assert_int_equal(await(p, &p->a).status, ERR_OK);
    assert_memory_equal(p->a.memory, p->b.memory, 300000);
}

static void begin_both(struct pair *p)
{
    begin(&p->a, &here);
    begin(&p->b, &there);
    qp_of_agent(&p->a);
    qp_of_agent(&p->b);
}

static void without_a_key_of_the_agent_nothing_opens(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct pair p;
    begin_both(&p);
    assert_fails(solar_qp_accept(p.b.qp, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "jobs/9"));
    assert_fails(solar_qp_connect(p.a.qp, "127.0.0.1", 1, MS_NS, &err), ERR_NOT_FOUND);
    /* It comes later: the same queue pairs open then. */
    give(&here, 100, 0);
    give(&there, 100, 0);
    assert_true(meet(&p, LONG_NS));
    write_all(&p, 1);
    close_pair(&p);
}

static void keys_of_another_job_do_not_meet(void **state)
{
    (void)state;
    struct pair p;
    give(&here, 100, 0);
    give(&there, 100, 50);
    begin_both(&p);
    assert_false(meet(&p, 300 * MS_NS));
    struct solar_stats stats;
    solar_context_stats(p.b.context, &stats);
    assert_true(stats.forged > 0);
    close_pair(&p);
}

/* Nodes ask their server at different times: one is an epoch ahead, then the other. */
static void nodes_that_are_an_epoch_apart_meet(void **state)
{
    (void)state;
    struct pair p;
    for (int i = 0; i < 2; i++) {
        give(&here, 100 + (uint64_t)i, 0);
        give(&there, 101 - (uint64_t)i, 0);
        begin_both(&p);
        assert_true(meet(&p, LONG_NS));
        assert_int_equal(p.b.qp->config.epoch, 100 + i); /* the one who asks says which */
        write_all(&p, 2);
        close_pair(&p);
    }
}

static void keys_change_under_a_queue_pair_without_loss(void **state)
{
    (void)state;
    struct pair p;
    struct err err = ERR_INIT;
    give(&here, 100, 0);
    give(&there, 100, 0);
    begin_both(&p);
    assert_true(meet(&p, LONG_NS));
    struct solar_qp *first[2] = {p.a.qp, p.b.qp};
    for (uint64_t epoch = 101; epoch < 104; epoch++) {
        give(&here, epoch, 0);
        give(&there, epoch, 0);
        pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
        write_all(&p, (uint32_t)epoch);
    }
    assert_int_equal(solar_qp_state(p.a.qp), SOLAR_OPEN);
    assert_null(context_key(p.b.context, LABEL, 100)); /* its time is over */
    assert_non_null(context_key(p.b.context, LABEL, 102));
    /* New ones open under the new epoch, and a job that left the node opens none. */
    qp_of_agent(&p.a);
    qp_of_agent(&p.b);
    assert_true(meet(&p, LONG_NS));
    assert_int_equal(p.b.qp->config.epoch, 103);
    solar_qp_free(p.a.qp);
    solar_qp_free(p.b.qp);
    keyring_drop(there.job);
    pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
    assert_null(context_key(p.b.context, LABEL, 103));
    qp_of_agent(&p.b);
    assert_fails(solar_qp_accept(p.b.qp, &err), ERR_NOT_FOUND);
    solar_qp_free(p.b.qp);
    p.a.qp = first[0];
    p.b.qp = first[1];
    write_all(&p, 7); /* those that are open stay open */
    close_pair(&p);
}

static void a_damaged_file_changes_nothing(void **state)
{
    (void)state;
    struct pair p;
    char path[128];
    give(&here, 100, 0);
    give(&there, 100, 0);
    begin_both(&p);
    snprintf(path, sizeof(path), "%s/" KEYRING_FILE, there.job);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("nonsense", f);
    fclose(f);
    pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
    assert_non_null(context_key(p.b.context, LABEL, 100));
    assert_true(meet(&p, LONG_NS));
    close_pair(&p);
}

static uint64_t key_changes(const struct side *s)
{
    struct solar_stats stats;
    solar_context_stats(s->context, &stats);
    return stats.key_changes;
}

static void the_same_keys_again_change_nothing(void **state)
{
    (void)state;
    struct pair p;
    give(&here, 100, 0);
    give(&there, 100, 0);
    begin_both(&p);
    assert_int_equal(key_changes(&p.a), 1);
    give(&here, 100, 0); /* another file of the same content */
    pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
    assert_int_equal(key_changes(&p.a), 1);
    give(&here, 100, 1); /* the same epochs with other keys */
    pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
    assert_int_equal(key_changes(&p.a), 2);
    assert_int_equal(context_key(p.a.context, LABEL, 100)->key[0], 101);
    solar_key_drop(p.a.context, LABEL, 100); /* what the program took away comes back */
    pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
    assert_int_equal(key_changes(&p.a), 3);
    assert_non_null(context_key(p.a.context, LABEL, 100));
    keyring_drop(here.job);
    pass(&p, CONTROL_RETRY_NS + 100 * MS_NS);
    assert_int_equal(key_changes(&p.a), 4);
    assert_null(context_key(p.a.context, LABEL, 100));
    close_pair(&p);
}

#define MESSAGE_BYTES 4096
#define SENDS         4
#define RECEIVES      8

struct stream {
    uint32_t ready, posted, done, came; /* receives posted, sends posted, complete, and received */
};

static void post_next(struct pair *p, struct stream *s, bool more)
{
    struct err err = ERR_INIT;
    for (; s->ready < s->came + RECEIVES; s->ready++)
        assert_ok(solar_post(p->b.qp, SOLAR_RECEIVE,
                             &(struct solar_work){.id = s->ready,
                                                  .mr = p->b.mr,
                                                  .offset = s->ready % RECEIVES * MESSAGE_BYTES,
                                                  .length = MESSAGE_BYTES},
                             &err));
    for (; more && s->posted < s->done + SENDS; s->posted++) {
        uint64_t offset = s->posted % SENDS * MESSAGE_BYTES;
        fill(p->a.memory + offset, MESSAGE_BYTES, s->posted);
        assert_ok(solar_post(p->a.qp, SOLAR_SEND_IMMEDIATE,
                             &(struct solar_work){.mr = p->a.mr,
                                                  .offset = offset,
                                                  .length = MESSAGE_BYTES,
                                                  .immediate = s->posted,
                                                  .tensor = 1},
                             &err));
    }
}

/* Each message comes once, whole and in its turn. */
static void take_next(struct pair *p, struct stream *s)
{
    struct solar_completion c;
    uint8_t expected[MESSAGE_BYTES];
    while (solar_cq_poll(p->b.cq, &c, 1) == 1) {
        assert_int_equal(c.status, ERR_OK);
        assert_int_equal(c.length, MESSAGE_BYTES);
        assert_int_equal(c.immediate, s->came);
        fill(expected, MESSAGE_BYTES, s->came++);
        assert_memory_equal(p->b.memory + c.id % RECEIVES * MESSAGE_BYTES, expected, MESSAGE_BYTES);
    }
    while (solar_cq_poll(p->a.cq, &c, 1) == 1) {
        assert_int_equal(c.status, ERR_OK);
        s->done++;
    }
}

static void stream_for(struct pair *p, struct stream *s, int64_t ns)
{
    const int64_t begin_ns = context_now_ns();
    bool more = true;
    while (more || s->came < s->posted || s->done < s->posted) {
        more = context_now_ns() < begin_ns + ns;
        assert_true(context_now_ns() < begin_ns + ns + LONG_NS);
        post_next(p, s, more);
        both(p);
        take_next(p, s);
    }
}

/* One node has the new keys before the other, and packets are lost and come twice besides. */
static void no_message_is_lost_while_keys_change(void **state)
{
    (void)state;
    struct pair p;
    struct stream s = {0};
    give(&here, 100, 0);
    give(&there, 100, 0);
    begin_both(&p);
    assert_true(meet(&p, LONG_NS));
    set_weather(&p.a, (struct weather){.lost = 5000, .twice = 5000, .dead_path = -1});
    set_weather(&p.b, (struct weather){.lost = 5000, .twice = 5000, .dead_path = -1});
    for (uint64_t epoch = 101; epoch < 103; epoch++) {
        uint32_t before = s.came;
        give(&here, epoch, 0);
        stream_for(&p, &s, CONTROL_RETRY_NS + 100 * MS_NS);
        give(&there, epoch, 0);
        stream_for(&p, &s, CONTROL_RETRY_NS + 100 * MS_NS);
        assert_true(s.came > before);
    }
    assert_null(context_key(p.a.context, LABEL, 100)); /* the one they opened under */
    assert_null(context_key(p.b.context, LABEL, 100));
    assert_int_equal(key_changes(&p.a), 3);
    assert_int_equal(key_changes(&p.b), 3);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_key_of_the_agent_nothing_opens),
        cmocka_unit_test(keys_of_another_job_do_not_meet),
        cmocka_unit_test(nodes_that_are_an_epoch_apart_meet),
        cmocka_unit_test(keys_change_under_a_queue_pair_without_loss),
        cmocka_unit_test(a_damaged_file_changes_nothing),
        cmocka_unit_test(the_same_keys_again_change_nothing),
        cmocka_unit_test(no_message_is_lost_while_keys_change),
    };
    return cmocka_run_group_tests_name("solar_keys", tests, make_nodes, remove_nodes);
}
