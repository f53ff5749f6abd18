/*
 * tests/soak/soak_solar.c - two ends of libsolar for as long as they are asked to, through networks
 * that lose, repeat, reorder or swallow: every byte is compared, and nothing may be left undone.
 * Usage: soak_solar [SECONDS]. `make soak-solar` builds it with sanitizers.
 */
#include "tests/unit/datapath/solar_pair.h"

#define ROUNDS       8 /* with one pair */
#define LENGTH_MAX   400000
#define SENT_MAX     9000
#define HALF         (PAIR_BYTES / 2)
#define AT_RECEIVE   (HALF - SENT_MAX) /* of what is sent, in the first half */
#define AT_ANSWER    HALF              /* of what is read, in the second */
#define SECONDS_MOST 86400

static const struct {
    const char *name;
    struct weather weather;
} networks[] = {
    {"nothing happens", {.dead_path = -1}},
    {"1 of 10,000 is lost", {.lost = 100, .dead_path = -1}},
    {"1 of 100 is lost", {.lost = 10000, .dead_path = -1}},
    {"1 of 5 is lost", {.lost = 200000, .dead_path = -1}},
    {"1 of 10 comes twice", {.twice = 100000, .dead_path = -1}},
    {"1 of 10 comes 20 late", {.late = 100000, .late_packets = 20, .dead_path = -1}},
    {"a path swallows all", {.dead_path = 1}},
    {"all of it",
     {.lost = 20000, .twice = 50000, .late = 50000, .late_packets = 9, .dead_path = 2}},
};
#define NETWORKS (sizeof(networks) / sizeof(networks[0]))

struct tally {
    uint64_t rounds, bytes, resent, spurious, lost, duplicates;
};

static int64_t seconds = 60;

static void post(struct side *s, enum solar_op op, struct solar_work work)
{
    struct err err = ERR_INIT;
    work.id = (uint64_t)op;
    if (solar_post(s->qp, op, &work, &err) != ERR_OK)
        fail_msg("%s", err.text);
}

/* Writes into the first half of the peer, sends behind that, and reads both back. */
static void post_all(struct side *s, const struct side *peer, uint32_t length, uint32_t sent)
{
    uint32_t key = solar_mr_key(peer->mr);
    post(s, SOLAR_RECEIVE,
         (struct solar_work){.mr = s->mr, .offset = AT_RECEIVE, .length = SENT_MAX});
    post(s, SOLAR_WRITE,
         (struct solar_work){
             .mr = s->mr, .offset = HALF + HALF / 2, .length = length, .remote_key = key});
    post(s, SOLAR_SEND,
         (struct solar_work){.mr = s->mr, .offset = HALF + HALF / 2, .length = sent});
    post(
        s, SOLAR_READ,
        (struct solar_work){.mr = s->mr, .offset = AT_ANSWER, .length = length, .remote_key = key});
}

static void await_all(struct pair *p, struct side *s, uint32_t length, uint32_t sent)
{
    unsigned seen = 0;
    for (int i = 0; i < 4; i++) {
        struct solar_completion c = await(p, s);
        if (c.status != ERR_OK)
            fail_msg("%s: %s", solar_code_name(c.status), solar_qp_error(s->qp)->text);
        assert_int_equal(c.id, c.op);
        assert_int_equal(c.length, c.op == SOLAR_SEND || c.op == SOLAR_RECEIVE ? sent : length);
        seen |= 1u << c.op;
    }
    assert_int_equal(seen,
                     1u << SOLAR_RECEIVE | 1u << SOLAR_WRITE | 1u << SOLAR_SEND | 1u << SOLAR_READ);
}

/* What `s` wrote and sent stands at the peer, what it read is that, and nothing beside it. */
static void check(const struct side *s, const struct side *peer, uint32_t length, uint32_t sent)
{
    const uint8_t *own = s->memory + HALF + HALF / 2;
    assert_memory_equal(peer->memory, own, length);
    assert_memory_equal(peer->memory + AT_RECEIVE, own, sent);
    assert_memory_equal(s->memory + AT_ANSWER, own, length);
    for (size_t i = length; i < AT_RECEIVE; i++)
        if (peer->memory[i] != 0)
            fail_msg("byte %zu was written, behind the %u that should be", i, length);
}

static void add_stats(const struct side *s, struct tally *t)
{
    struct solar_qp_stats stats;
    solar_qp_stats(s->qp, &stats);
    t->bytes += stats.sent_bytes;
    t->resent += stats.resent_packets;
    t->spurious += stats.spurious_packets;
    t->duplicates += stats.duplicate_packets;
    t->lost += s->weather.lost_count;
}

static void go_through(size_t network, uint32_t *seed, bool v6, struct tally *t)
{
    struct pair p;
    open_pair(&p, &(struct solar_config){.address = v6 ? "::1" : "127.0.0.1",
                                         .timeout_min_ns = 3 * MS_NS,
                                         .payload_max = 1440});
    set_weather(&p.a, networks[network].weather);
    set_weather(&p.b, networks[network].weather);
    p.a.weather.state = roll(seed);
    p.b.weather.state = roll(seed);
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t length = 1 + roll(seed) % LENGTH_MAX, sent = 1 + roll(seed) % SENT_MAX;
        memset(p.a.memory, 0, PAIR_BYTES);
        memset(p.b.memory, 0, PAIR_BYTES);
        fill(p.a.memory + HALF + HALF / 2, LENGTH_MAX, roll(seed));
        fill(p.b.memory + HALF + HALF / 2, LENGTH_MAX, roll(seed));
        post_all(&p.a, &p.b, length, sent);
        post_all(&p.b, &p.a, length, sent);
        await_all(&p, &p.a, length, sent);
        await_all(&p, &p.b, length, sent);
        check(&p.a, &p.b, length, sent);
        check(&p.b, &p.a, length, sent);
        t->rounds++;
    }
    add_stats(&p.a, t);
    add_stats(&p.b, t);
    close_pair(&p);
}

static void every_byte_arrives_all_the_time(void **state)
{
    (void)state;
    struct tally tallies[NETWORKS] = {0};
    uint32_t seed = 20;
    int64_t end_ns = context_now_ns() + seconds * 1000 * MS_NS;
    /* Each network at least once, however short the time. */
    for (size_t turn = 0; turn < NETWORKS || context_now_ns() < end_ns; turn++)
        go_through(turn % NETWORKS, &seed, turn / NETWORKS % 2 == 1, &tallies[turn % NETWORKS]);
    for (size_t i = 0; i < NETWORKS; i++) {
        const struct tally *t = &tallies[i];
        const struct weather *w = &networks[i].weather;
        print_message("# %s: %llu rounds, %llu bytes, %llu dropped, %llu sent again, %llu of them "
                      "for nothing, %llu twice\n",
                      networks[i].name, (unsigned long long)t->rounds, (unsigned long long)t->bytes,
                      (unsigned long long)t->lost, (unsigned long long)t->resent,
                      (unsigned long long)t->spurious, (unsigned long long)t->duplicates);
        if (w->lost >= 10000 || w->dead_path >= 0)
            assert_true(t->lost > 0 && t->resent > 0);
        if (w->twice > 0)
            assert_true(t->duplicates > 0);
    }
}

int main(int argc, char **argv)
{
    char *end = NULL;
    if (argc > 1)
        seconds = strtol(argv[1], &end, 10);
    if (argc > 2 || (end != NULL && (*end != '\0' || end == argv[1])) || seconds < 1 ||
        seconds > SECONDS_MOST) {
        fprintf(stderr, "Usage: soak_solar [SECONDS], 1 to %d\n", SECONDS_MOST);
        return 2;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_byte_arrives_all_the_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
