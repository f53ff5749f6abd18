/*
 * The transport on loopback: each operation, byte for byte, also through a network that loses,
 * repeats and reorders.
 */
#include "solar_pair.h"

#include <time.h>

static void post(struct side *s, enum solar_op op, const struct solar_work *work)
{
    struct err err = ERR_INIT;
    if (solar_post(s->qp, op, work, &err) != ERR_OK)
        fail_msg("%s", err.text);
}

static void check_done(struct solar_completion c, uint64_t id, enum solar_op op)
{
    if (c.status != ERR_OK)
        fail_msg("%s", solar_qp_error(c.qp)->text);
    assert_int_equal(c.id, id);
    assert_int_equal(c.op, op);
}

static void a_write_places_its_bytes(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    fill(p.a.memory, 100000, 1);
    const struct solar_work w = {.id = 5,
                                 .mr = p.a.mr,
                                 .offset = 100,
                                 .length = 99000,
                                 .remote_key = solar_mr_key(p.b.mr),
                                 .remote_offset = 777};
    post(&p.a, SOLAR_WRITE, &w);
    struct solar_completion c = await(&p, &p.a);
    check_done(c, 5, SOLAR_WRITE);
    assert_int_equal(c.length, 99000);
    assert_memory_equal(p.b.memory + 777, p.a.memory + 100, 99000);
    assert_int_equal(p.b.memory[776], 0);
    assert_int_equal(p.b.memory[777 + 99000], 0);
    close_pair(&p);
}

static void a_write_with_immediate_tells_the_peer(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    fill(p.a.memory, 5000, 2);
    const struct solar_work w = {
        .id = 6, .mr = p.a.mr, .length = 5000, .remote_key = solar_mr_key(p.b.mr), .immediate = 99};
    post(&p.a, SOLAR_WRITE_IMMEDIATE, &w);
    struct solar_completion c = await(&p, &p.b);
    check_done(c, 0, SOLAR_WRITE_IMMEDIATE);
    assert_true(c.has_immediate);
    assert_int_equal(c.immediate, 99);
    assert_int_equal(c.length, 5000);
    assert_memory_equal(p.b.memory, p.a.memory, 5000);
    check_done(await(&p, &p.a), 6, SOLAR_WRITE_IMMEDIATE);
    close_pair(&p);
}

static void an_empty_write_with_immediate_needs_no_region(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    post(&p.a, SOLAR_WRITE_IMMEDIATE, &(struct solar_work){.id = 1, .immediate = 4});
    assert_int_equal(await(&p, &p.b).immediate, 4);
    check_done(await(&p, &p.a), 1, SOLAR_WRITE_IMMEDIATE);
    close_pair(&p);
}

static void sends_meet_receives_in_order(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    fill(p.a.memory, PAIR_BYTES, 3);
    const uint32_t lengths[] = {0, 1, 1428, 1429, 70000, 33};
    for (uint64_t i = 0; i < 6; i++)
        post(&p.b, SOLAR_RECEIVE,
             &(struct solar_work){
                 .id = 100 + i, .mr = p.b.mr, .offset = i * 100000, .length = 80000});
    for (uint64_t i = 0; i < 6; i++)
        post(
            &p.a, i == 3 ? SOLAR_SEND_IMMEDIATE : SOLAR_SEND,
            &(struct solar_work){
                .id = i, .mr = p.a.mr, .offset = i * 90001, .length = lengths[i], .immediate = 42});
    for (uint64_t i = 0; i < 6; i++) {
        struct solar_completion c = await(&p, &p.b);
        check_done(c, 100 + i, SOLAR_RECEIVE);
        assert_int_equal(c.length, lengths[i]);
        assert_int_equal(c.has_immediate, i == 3);
        assert_memory_equal(p.b.memory + i * 100000, p.a.memory + i * 90001, lengths[i]);
    }
    for (uint64_t i = 0; i < 6; i++)
        check_done(await(&p, &p.a), i, i == 3 ? SOLAR_SEND_IMMEDIATE : SOLAR_SEND);
    close_pair(&p);
}

static void a_send_waits_for_its_receive(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 2 * MS_NS});
    fill(p.a.memory, 300, 4);
    post(&p.a, SOLAR_SEND, &(struct solar_work){.id = 1, .mr = p.a.mr, .length = 300});
    struct solar_qp_stats stats = {.unready_packets = 0};
    while (stats.unready_packets == 0) {
        both(&p);
        solar_qp_stats(p.b.qp, &stats);
    }
    post(&p.b, SOLAR_RECEIVE, &(struct solar_work){.id = 2, .mr = p.b.mr, .length = 300});
    check_done(await(&p, &p.b), 2, SOLAR_RECEIVE);
    assert_memory_equal(p.b.memory, p.a.memory, 300);
    check_done(await(&p, &p.a), 1, SOLAR_SEND);
    close_pair(&p);
}

static void a_read_brings_the_peers_bytes(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    fill(p.b.memory, 400000, 5);
    for (uint64_t i = 0; i < SOLAR_READS_MAX; i++)
        post(&p.a, SOLAR_READ,
             &(struct solar_work){.id = i,
                                  .mr = p.a.mr,
                                  .offset = i * 20000,
                                  .length = 20000,
                                  .remote_key = solar_mr_key(p.b.mr),
                                  .remote_offset = i * 20001});
    struct err err = ERR_INIT;
    assert_int_equal(solar_post(p.a.qp, SOLAR_READ,
                                &(struct solar_work){.remote_key = solar_mr_key(p.b.mr)}, &err),
                     ERR_LIMIT);
    for (uint64_t i = 0; i < SOLAR_READS_MAX; i++) {
        check_done(await(&p, &p.a), i, SOLAR_READ);
        assert_memory_equal(p.a.memory + i * 20000, p.b.memory + i * 20001, 20000);
    }
    close_pair(&p);
}

/* Answers are acknowledged after the reads are complete here, so the other side has more reads
 * than it may answer at once. */
static void reads_follow_each_other_without_end(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    fill(p.b.memory, 200000, 5);
    uint64_t posted = 0;
    for (uint64_t done = 0; done < 200; done++) {
        for (; posted < 200 && posted - done < SOLAR_READS_MAX; posted++)
            post(&p.a, SOLAR_READ,
                 &(struct solar_work){.id = posted,
                                      .mr = p.a.mr,
                                      .offset = posted * 20000,
                                      .length = 20000,
                                      .remote_key = solar_mr_key(p.b.mr),
                                      .remote_offset = posted * 900});
        check_done(await(&p, &p.a), done, SOLAR_READ);
        assert_memory_equal(p.a.memory + done * 20000, p.b.memory + done * 900, 20000);
    }
    close_pair(&p);
}

static void a_read_sees_the_write_before_it(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 2 * MS_NS});
    set_weather(
        &p.b, (struct weather){.lost = 50000, .late = 200000, .late_packets = 9, .dead_path = -1});
    for (uint32_t round = 0; round < 5; round++) {
        fill(p.a.memory, 200000, 60 + round);
        post(&p.a, SOLAR_WRITE,
             &(struct solar_work){
                 .mr = p.a.mr, .length = 200000, .remote_key = solar_mr_key(p.b.mr)});
        post(&p.a, SOLAR_READ,
             &(struct solar_work){.mr = p.a.mr,
                                  .offset = 200000,
                                  .length = 200000,
                                  .remote_key = solar_mr_key(p.b.mr)});
        check_done(await(&p, &p.a), 0, SOLAR_WRITE);
        check_done(await(&p, &p.a), 0, SOLAR_READ);
        assert_memory_equal(p.a.memory, p.a.memory + 200000, 200000);
    }
    close_pair(&p);
}

/* Writes, sends and reads of odd sizes both ways, checked byte for byte. */
static void all_arrives(struct weather weather, int rounds)
{
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 3 * MS_NS, .payload_max = 1440});
    set_weather(&p.a, weather);
    set_weather(&p.b, weather);
    uint32_t seed = 77;
    for (int round = 0; round < rounds; round++) {
        const uint32_t length = 1 + roll(&seed) % 300000, sent = roll(&seed) % 9000;
        fill(p.a.memory, PAIR_BYTES / 2, (uint32_t)round);
        memset(p.b.memory, 0, PAIR_BYTES);
        post(&p.b, SOLAR_RECEIVE,
             &(struct solar_work){.id = 1, .mr = p.b.mr, .offset = 3000000, .length = 9000});
        post(&p.a, SOLAR_WRITE,
             &(struct solar_work){.id = 2,
                                  .mr = p.a.mr,
                                  .length = length,
                                  .remote_key = solar_mr_key(p.b.mr),
                                  .remote_offset = 11});
        post(&p.a, SOLAR_SEND,
             &(struct solar_work){.id = 3, .mr = p.a.mr, .offset = 500000, .length = sent});
        post(&p.a, SOLAR_READ,
             &(struct solar_work){.id = 4,
                                  .mr = p.a.mr,
                                  .offset = PAIR_BYTES / 2,
                                  .length = length,
                                  .remote_key = solar_mr_key(p.b.mr),
                                  .remote_offset = 11});
        check_done(await(&p, &p.b), 1, SOLAR_RECEIVE);
        assert_memory_equal(p.b.memory + 11, p.a.memory, length);
        assert_memory_equal(p.b.memory + 3000000, p.a.memory + 500000, sent);
        check_done(await(&p, &p.a), 2, SOLAR_WRITE);
        check_done(await(&p, &p.a), 3, SOLAR_SEND);
        check_done(await(&p, &p.a), 4, SOLAR_READ);
        assert_memory_equal(p.a.memory + PAIR_BYTES / 2, p.a.memory, length);
        assert_int_equal(p.b.memory[10], 0);
    }
    struct solar_qp_stats a;
    solar_qp_stats(p.a.qp, &a);
    if (weather.lost > 0 && weather.twice == 0 && weather.late == 0) {
        assert_true(p.b.weather.lost_count > 0);
        assert_true(a.resent_packets > 0);
    }
    close_pair(&p);
}

static void all_arrives_without_loss(void **state)
{
    (void)state;
    all_arrives((struct weather){.dead_path = -1}, 10);
}
static void all_arrives_with_1_lost_of_10000(void **state)
{
    (void)state;
    all_arrives((struct weather){.lost = 100, .dead_path = -1, .twice = 1}, 20);
}
static void all_arrives_with_1_lost_of_100(void **state)
{
    (void)state;
    all_arrives((struct weather){.lost = 10000, .dead_path = -1}, 20);
}
static void all_arrives_with_1_lost_of_5(void **state)
{
    (void)state;
    all_arrives((struct weather){.lost = 200000, .dead_path = -1}, 5);
}
static void all_arrives_repeated_and_reordered(void **state)
{
    (void)state;
    all_arrives(
        (struct weather){
            .lost = 1000, .twice = 100000, .late = 100000, .late_packets = 20, .dead_path = -1},
        20);
}
static void all_arrives_with_a_path_that_carries_nothing(void **state)
{
    (void)state;
    all_arrives((struct weather){.dead_path = 2}, 10);
}

/* A long transfer, 1.4 kB a packet, with `lost` of a million packets of each direction dropped:
 * what is sent beside the payload is what was lost and not more, and nothing is sent for nothing,
 * however busy the machine is. */
static void only_what_was_lost_is_sent_again(int lost, uint32_t seed, uint64_t percent)
{
    enum { MESSAGES = 30, BYTES = 1000003 };
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 2 * MS_NS, .payload_max = 1440});
    struct err err = ERR_INIT;
    struct solar_mr *mr;
    uint8_t *memory = calloc(MESSAGES, BYTES);
    assert_non_null(memory);
    assert_int_equal(solar_mr_new(p.b.pd, memory, MESSAGES * BYTES, SOLAR_REMOTE_WRITE, &mr, &err),
                     ERR_OK);
    set_weather(&p.a, (struct weather){.lost = lost, .dead_path = -1});
    set_weather(&p.b, (struct weather){.lost = lost, .dead_path = -1});
    p.b.weather.state = seed; /* one that loses some of so few packets */
    fill(p.a.memory, PAIR_BYTES, (uint32_t)lost);
    for (uint64_t i = 0; i < MESSAGES; i++)
        post(&p.a, SOLAR_WRITE,
             &(struct solar_work){.id = i,
                                  .mr = p.a.mr,
                                  .offset = i * 99991,
                                  .length = BYTES,
                                  .remote_key = solar_mr_key(mr),
                                  .remote_offset = i * BYTES});
    for (uint64_t i = 0; i < MESSAGES; i++) {
        check_done(await(&p, &p.a), i, SOLAR_WRITE);
        assert_memory_equal(memory + i * BYTES, p.a.memory + i * 99991, BYTES);
    }
    struct solar_qp_stats a;
    solar_qp_stats(p.a.qp, &a);
    print_message("# %d of a million lost: %llu packets, %llu again, %llu for nothing\n", lost,
                  (unsigned long long)a.sent_packets, (unsigned long long)a.resent_packets,
                  (unsigned long long)a.spurious_packets);
    assert_int_equal(a.spurious_packets, 0);
    assert_in_range(a.resent_packets, 1, p.b.weather.lost_count);
    assert_true(a.sent_packets * 100 >= percent * (a.sent_packets + a.resent_packets));
    assert_int_equal(solar_mr_free(mr, &err), ERR_OK);
    close_pair(&p);
    free(memory);
}

static void of_10_lost_in_a_million_10_are_sent_again(void **state)
{
    (void)state;
    only_what_was_lost_is_sent_again(10, 50, 99);
}
static void of_100_lost_in_a_million_100_are_sent_again(void **state)
{
    (void)state;
    only_what_was_lost_is_sent_again(100, 9, 99);
}

static void a_dead_path_is_left_out(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 20 * MS_NS});
    set_weather(&p.b, (struct weather){.dead_path = 1});
    struct solar_qp_stats stats = {.bad_paths = 0};
    for (int i = 0; i < 1000 && stats.bad_paths == 0; i++) {
        post(&p.a, SOLAR_WRITE,
             &(struct solar_work){
                 .mr = p.a.mr, .length = 500000, .remote_key = solar_mr_key(p.b.mr)});
        check_done(await(&p, &p.a), 0, SOLAR_WRITE);
        solar_qp_stats(p.a.qp, &stats);
    }
    assert_int_equal(stats.bad_paths, 1);
    close_pair(&p);
}

static void ipv6_works_alike(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.address = "::1"});
    fill(p.a.memory, 200000, 8);
    post(&p.a, SOLAR_WRITE,
         &(struct solar_work){.mr = p.a.mr, .length = 200000, .remote_key = solar_mr_key(p.b.mr)});
    check_done(await(&p, &p.a), 0, SOLAR_WRITE);
    assert_memory_equal(p.b.memory, p.a.memory, 200000);
    close_pair(&p);
}

/* Every payload that is handed to the kernel, new or repaired, stands in the region. */
struct witness {
    const uint8_t *from, *to;
    uint64_t payloads, elsewhere;
};

static void witness(void *arg, const struct msghdr *m)
{
    struct witness *w = arg;
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        const uint8_t *at = m->msg_iov[i].iov_base;
        bool is_head = m->msg_iov[i].iov_len <= UDP_HEAD_MAX;
        w->payloads += !is_head;
        w->elsewhere += !is_head && (at < w->from || at >= w->to);
    }
}

static void nothing_is_copied_to_be_sent_or_repaired(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 2 * MS_NS});
    set_weather(&p.b, (struct weather){.lost = 50000, .dead_path = -1});
    struct witness w = {.from = p.a.memory, .to = p.a.memory + PAIR_BYTES};
    udp_watch(p.a.context->udp, witness, &w);
    for (int i = 0; i < 5; i++) {
        post(&p.a, SOLAR_WRITE,
             &(struct solar_work){
                 .mr = p.a.mr, .length = 1000000, .remote_key = solar_mr_key(p.b.mr)});
        check_done(await(&p, &p.a), 0, SOLAR_WRITE);
    }
    struct solar_qp_stats stats;
    solar_qp_stats(p.a.qp, &stats);
    assert_true(stats.resent_packets > 0);
    assert_true(w.payloads >= stats.sent_packets + stats.resent_packets);
    assert_int_equal(w.elsewhere, 0);
    close_pair(&p);
}

/* Also where packets come twice, late or only after a repair. */
static void each_byte_that_arrives_is_copied_once(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 2 * MS_NS});
    set_weather(
        &p.b,
        (struct weather){
            .lost = 20000, .twice = 50000, .late = 50000, .late_packets = 9, .dead_path = -1});
    for (int i = 0; i < 5; i++) {
        post(&p.a, SOLAR_WRITE,
             &(struct solar_work){
                 .mr = p.a.mr, .length = 1000000, .remote_key = solar_mr_key(p.b.mr)});
        check_done(await(&p, &p.a), 0, SOLAR_WRITE);
    }
    struct solar_stats b;
    struct solar_qp_stats of_b;
    solar_context_stats(p.b.context, &b);
    solar_qp_stats(p.b.qp, &of_b);
    assert_true(of_b.duplicate_packets > 0);
    assert_int_equal(of_b.received_bytes, 5000000);
    assert_int_equal(b.copied_bytes + b.placed_bytes, 5000000);
    close_pair(&p);
}

static void an_access_out_of_the_region_ends_both(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    post(&p.a, SOLAR_WRITE,
         &(struct solar_work){.id = 1,
                              .mr = p.a.mr,
                              .length = 2,
                              .remote_key = solar_mr_key(p.b.mr),
                              .remote_offset = PAIR_BYTES - 1});
    struct solar_completion c = await(&p, &p.a);
    assert_int_equal(c.status, ERR_DENIED);
    assert_non_null(strstr(solar_qp_error(p.a.qp)->text, "region"));
    assert_int_equal(solar_qp_state(p.b.qp), SOLAR_FAILED);
    assert_non_null(strstr(solar_qp_error(p.b.qp)->text, "out of the regions"));
    assert_int_equal(p.b.memory[PAIR_BYTES - 1], 0);
    close_pair(&p);
}

static void the_last_byte_of_a_region_can_be_written(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    p.a.memory[0] = 9;
    post(&p.a, SOLAR_WRITE,
         &(struct solar_work){.id = 1,
                              .mr = p.a.mr,
                              .length = 1,
                              .remote_key = solar_mr_key(p.b.mr),
                              .remote_offset = PAIR_BYTES - 1});
    check_done(await(&p, &p.a), 1, SOLAR_WRITE);
    assert_int_equal(p.b.memory[PAIR_BYTES - 1], 9);
    close_pair(&p);
}

static void a_region_of_another_domain_is_refused(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    struct err err = ERR_INIT;
    struct solar_pd *other;
    struct solar_mr *mr;
    assert_int_equal(solar_pd_new(p.b.context, &other, &err), ERR_OK);
    assert_int_equal(solar_mr_new(other, p.b.memory, 100, SOLAR_REMOTE_READ, &mr, &err), ERR_OK);
    post(&p.a, SOLAR_READ,
         &(struct solar_work){.mr = p.a.mr, .length = 2, .remote_key = solar_mr_key(mr)});
    assert_int_equal(await(&p, &p.a).status, ERR_DENIED);
    assert_int_equal(solar_mr_free(mr, &err), ERR_OK);
    solar_pd_free(other);
    close_pair(&p);
}

static void a_region_that_was_freed_is_refused(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    struct err err = ERR_INIT;
    uint32_t stale = solar_mr_key(p.b.mr);
    assert_int_equal(solar_mr_free(p.b.mr, &err), ERR_OK);
    assert_int_equal(
        solar_mr_new(p.b.pd, p.b.memory, PAIR_BYTES, SOLAR_REMOTE_WRITE, &p.b.mr, &err), ERR_OK);
    assert_int_not_equal(solar_mr_key(p.b.mr), stale);
    post(&p.a, SOLAR_WRITE, &(struct solar_work){.mr = p.a.mr, .length = 2, .remote_key = stale});
    assert_int_equal(await(&p, &p.a).status, ERR_DENIED);
    close_pair(&p);
}

static void a_send_longer_than_its_receive_ends_both(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    post(&p.b, SOLAR_RECEIVE, &(struct solar_work){.id = 2, .mr = p.b.mr, .length = 299});
    post(&p.a, SOLAR_SEND, &(struct solar_work){.id = 1, .mr = p.a.mr, .length = 300});
    assert_int_equal(await(&p, &p.a).status, ERR_DENIED);
    struct solar_completion c = await(&p, &p.b);
    assert_int_equal(c.id, 2);
    assert_int_equal(c.status, ERR_DENIED);
    close_pair(&p);
}

static void a_region_in_use_is_not_freed(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    struct err err = ERR_INIT;
    post(&p.b, SOLAR_RECEIVE, &(struct solar_work){.id = 2, .mr = p.b.mr, .length = 299});
    assert_int_equal(solar_mr_free(p.b.mr, &err), ERR_CONFLICT);
    close_pair(&p);
}

static void what_is_posted_has_limits(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    struct err err = ERR_INIT;
    struct solar_work w = {.mr = p.a.mr, .offset = PAIR_BYTES - 10, .length = 10};
    assert_int_equal(solar_post(p.a.qp, SOLAR_RECEIVE, &w, &err), ERR_OK);
    w.length = 11;
    assert_int_equal(solar_post(p.a.qp, SOLAR_RECEIVE, &w, &err), ERR_INVALID);
    w = (struct solar_work){.mr = p.b.mr, .length = 1};
    assert_int_equal(solar_post(p.a.qp, SOLAR_SEND, &w, &err), ERR_INVALID);
    w = (struct solar_work){.mr = p.a.mr, .length = 1, .tensor = 4};
    assert_int_equal(solar_post(p.a.qp, SOLAR_SEND, &w, &err), ERR_INVALID);
    for (int i = 1; i < 64; i++)
        assert_int_equal(solar_post(p.a.qp, SOLAR_RECEIVE, &(struct solar_work){.id = 1}, &err),
                         ERR_OK);
    assert_int_equal(solar_post(p.a.qp, SOLAR_RECEIVE, &(struct solar_work){.id = 1}, &err),
                     ERR_LIMIT);
    close_pair(&p);
}

static void immediates_wait_for_a_full_completion_queue(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = 2 * MS_NS});
    int told = 0, sent = 0, done = 0;
    /* b does not poll: its 256 places fill, then a is held up. */
    int64_t end_ns = context_now_ns() + 300 * MS_NS;
    struct err err = ERR_INIT;
    struct solar_completion c;
    while (sent < 600) {
        if (solar_post(p.a.qp, SOLAR_WRITE_IMMEDIATE,
                       &(struct solar_work){.immediate = (uint32_t)sent}, &err) == ERR_OK)
            sent++;
        done += solar_cq_poll(p.a.cq, &c, 1);
        if (context_now_ns() > end_ns) {
            if (solar_cq_poll(p.b.cq, &c, 1) == 1) {
                assert_int_equal(c.status, ERR_OK);
                assert_int_equal(c.immediate, told++);
            }
        }
        both(&p);
    }
    for (; told < 600; told++)
        assert_int_equal(await(&p, &p.b).immediate, told);
    for (; done < 600; done++)
        assert_int_equal(await(&p, &p.a).status, ERR_OK);
    close_pair(&p);
}

static void a_peer_that_closes_is_told_of(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.port = 0});
    solar_qp_free(p.b.qp);
    p.b.qp = NULL;
    int64_t end_ns = context_now_ns() + LONG_NS;
    while (solar_qp_state(p.a.qp) == SOLAR_OPEN && context_now_ns() < end_ns)
        both(&p);
    assert_int_equal(solar_qp_state(p.a.qp), SOLAR_FAILED);
    assert_int_equal(solar_qp_error(p.a.qp)->code, ERR_UNAVAILABLE);
    struct err err = ERR_INIT;
    assert_int_equal(solar_post(p.a.qp, SOLAR_SEND, &(struct solar_work){.id = 1}, &err),
                     ERR_CONFLICT);
    close_pair(&p);
}

static void a_peer_that_is_silent_counts_as_gone(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = MS_NS, .dead_ns = 50 * MS_NS});
    set_weather(&p.b, (struct weather){.lost = 1000000, .dead_path = -1});
    post(&p.a, SOLAR_SEND, &(struct solar_work){.id = 8, .mr = p.a.mr, .length = 10});
    struct solar_completion c = await(&p, &p.a);
    assert_int_equal(c.id, 8);
    assert_int_equal(c.status, ERR_UNAVAILABLE);
    assert_non_null(strstr(solar_qp_error(p.a.qp)->text, "no sign of the peer 127.0.0.1:"));
    close_pair(&p);
}

static void an_idle_queue_pair_notices_a_dead_peer(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.dead_ns = 20 * MS_NS});
    set_weather(&p.b, (struct weather){.lost = 1000000, .dead_path = -1});
    int64_t end_ns = context_now_ns() + LONG_NS;
    while (solar_qp_state(p.a.qp) == SOLAR_OPEN && context_now_ns() < end_ns)
        both(&p);
    assert_int_equal(solar_qp_state(p.a.qp), SOLAR_FAILED);
    assert_int_equal(solar_qp_error(p.a.qp)->code, ERR_UNAVAILABLE);
    close_pair(&p);
}

static void an_idle_peer_that_answers_stays(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.dead_ns = 20 * MS_NS});
    int64_t end_ns = context_now_ns() + 500 * MS_NS;
    while (context_now_ns() < end_ns)
        both(&p);
    assert_int_equal(solar_qp_state(p.a.qp), SOLAR_OPEN);
    assert_int_equal(solar_qp_state(p.b.qp), SOLAR_OPEN);
    close_pair(&p);
}

/* Nobody looked for longer than dead_ns; then something is posted, and its answer takes longer than
 * many round trips: neither is the peer gone nor is anything lost. */
static void time_without_anything_to_do_is_no_silence(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.timeout_min_ns = MS_NS, .dead_ns = 400 * MS_NS});
    struct timespec span = {.tv_nsec = 500 * MS_NS};
    nanosleep(&span, NULL);
    post(&p.b, SOLAR_RECEIVE, &(struct solar_work){.id = 1, .mr = p.b.mr, .length = 10});
    post(&p.a, SOLAR_SEND, &(struct solar_work){.id = 8, .mr = p.a.mr, .length = 10});
    int64_t end_ns = context_now_ns() + 100 * MS_NS;
    while (context_now_ns() < end_ns)
        solar_progress(p.a.context, MS_NS);
    check_done(await(&p, &p.a), 8, SOLAR_SEND);
    struct solar_qp_stats stats;
    solar_qp_stats(p.a.qp, &stats);
    assert_int_equal(stats.resent_packets, 0);
    close_pair(&p);
}

/* What is granted to a process that does not run waits with it: the receiver has to know. */
static void a_sender_tells_for_how_long_it_was_away(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, &(struct solar_config){.spin_ns = -1});
    assert_true(p.b.context->away_ns < 4e6);
    /* The kernel begins to stamp arrivals a little after it was asked to. */
    for (uint64_t id = 0; id < 50 && p.b.context->away_ns < 4e6; id++) {
        post(&p.b, SOLAR_RECEIVE, &(struct solar_work){.id = id, .mr = p.b.mr, .length = 10});
        post(&p.a, SOLAR_SEND, &(struct solar_work){.id = id, .mr = p.a.mr, .length = 10});
        solar_progress(p.a.context, 0);
        while (p.b.context->qps[1]->place.next <= id || p.b.context->ack_first != NULL)
            solar_progress(p.b.context, 0); /* its acknowledgement is on its way */
        struct timespec span = {.tv_nsec = 5 * MS_NS};
        nanosleep(&span, NULL);
        check_done(await(&p, &p.a), id, SOLAR_SEND);
    }
    assert_true(p.b.context->away_ns >= 4e6);
    assert_true(p.b.context->credit->held_bytes >=
                (int64_t)(4e6 / 8e9 * (double)p.b.context->config.line_bps));
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_places_its_bytes),
        cmocka_unit_test(a_write_with_immediate_tells_the_peer),
        cmocka_unit_test(an_empty_write_with_immediate_needs_no_region),
        cmocka_unit_test(sends_meet_receives_in_order),
        cmocka_unit_test(a_send_waits_for_its_receive),
        cmocka_unit_test(a_read_brings_the_peers_bytes),
        cmocka_unit_test(reads_follow_each_other_without_end),
        cmocka_unit_test(a_read_sees_the_write_before_it),
        cmocka_unit_test(all_arrives_without_loss),
        cmocka_unit_test(all_arrives_with_1_lost_of_10000),
        cmocka_unit_test(all_arrives_with_1_lost_of_100),
        cmocka_unit_test(all_arrives_with_1_lost_of_5),
        cmocka_unit_test(all_arrives_repeated_and_reordered),
        cmocka_unit_test(all_arrives_with_a_path_that_carries_nothing),
        cmocka_unit_test(of_10_lost_in_a_million_10_are_sent_again),
        cmocka_unit_test(of_100_lost_in_a_million_100_are_sent_again),
        cmocka_unit_test(a_dead_path_is_left_out),
        cmocka_unit_test(ipv6_works_alike),
        cmocka_unit_test(nothing_is_copied_to_be_sent_or_repaired),
        cmocka_unit_test(an_access_out_of_the_region_ends_both),
        cmocka_unit_test(the_last_byte_of_a_region_can_be_written),
        cmocka_unit_test(a_region_of_another_domain_is_refused),
        cmocka_unit_test(a_region_that_was_freed_is_refused),
        cmocka_unit_test(a_send_longer_than_its_receive_ends_both),
        cmocka_unit_test(a_region_in_use_is_not_freed),
        cmocka_unit_test(what_is_posted_has_limits),
        cmocka_unit_test(immediates_wait_for_a_full_completion_queue),
        cmocka_unit_test(a_peer_that_closes_is_told_of),
        cmocka_unit_test(a_peer_that_is_silent_counts_as_gone),
        cmocka_unit_test(an_idle_queue_pair_notices_a_dead_peer),
        cmocka_unit_test(an_idle_peer_that_answers_stays),
        cmocka_unit_test(time_without_anything_to_do_is_no_silence),
        cmocka_unit_test(each_byte_that_arrives_is_copied_once),
        cmocka_unit_test(a_sender_tells_for_how_long_it_was_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
