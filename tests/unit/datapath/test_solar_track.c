/*
 * tests/unit/datapath/test_solar_track.c - the books of sender and receiver: alone, and together
 * over paths that lose, double, delay and reorder.
 */
#include "tests/unit/test.h"

#include "datapath/solar/place.h"
#include "datapath/solar/track.h"

#define TIMEOUT_NS INT64_C(1000000)
#define LEN        1000
#define SLOTS      256

static struct track_packet track_slots[SLOTS];
static struct track t;
static struct place_slot place_slots[SLOTS];
static struct place p;
static struct err err;

static void start(int paths)
{
    err = (struct err)ERR_INIT;
    assert_ok(track_init(&t, track_slots, SLOTS, paths, TIMEOUT_NS, &err));
    assert_ok(place_init(&p, place_slots, SLOTS, 4, &err));
}

static void send_on(uint8_t path, int count, int64_t now_ns)
{
    for (int i = 0; i < count; i++)
        track_send(&t, 0, t.next * LEN, LEN, path, now_ns);
}

/* All before next_psn, those of the bitmap, and the newest of them as the echo. */
static struct track_news ack(uint64_t next_psn, uint64_t base, uint64_t sack, int64_t now_ns)
{
    uint64_t newest = sack != 0 ? base + 63 - (uint64_t)__builtin_clzll(sack) : next_psn - 1;
    struct wire_ack a = {.next_psn = next_psn, .sack_base = base, .sack = sack, .echo_psn = newest};
    struct track_news news;
    assert_ok(track_on_ack(&t, &a, now_ns, &news, &err));
    return news;
}

static void an_acknowledgement_empties_the_flight(void **state)
{
    (void)state;
    start(1);
    send_on(0, 10, 100);
    assert_int_equal(t.flight_bytes, 10 * LEN);
    struct track_news news = ack(10, 0, 0, 5100);
    assert_int_equal(news.acked_packets, 10);
    assert_int_equal(news.acked_bytes, 10 * LEN);
    assert_int_equal(news.rtt_ns, 5000);
    assert_int_equal(news.lost_packets, 0);
    assert_int_equal(t.flight_bytes, 0);
    assert_int_equal(t.una, 10);
    news = ack(10, 0, 0, 5200); /* again: nothing new */
    assert_int_equal(news.acked_packets, 0);
}

static void the_receivers_hold_is_no_round_trip(void **state)
{
    (void)state;
    start(1);
    send_on(0, 1, 0);
    struct wire_ack a = {.next_psn = 1, .hold_ns = 3000};
    struct track_news news;
    assert_ok(track_on_ack(&t, &a, 10000, &news, &err));
    assert_int_equal(news.rtt_ns, 7000);
    send_on(0, 1, 20000);
    a = (struct wire_ack){.next_psn = 2, .echo_psn = 1, .hold_ns = 20000};
    assert_ok(track_on_ack(&t, &a, 30000, &news, &err)); /* held longer than it was away */
    assert_int_equal(news.rtt_ns, -1);
}

static void three_later_arrivals_on_its_path_make_a_packet_lost(void **state)
{
    (void)state;
    start(1);
    send_on(0, 8, 0);
    assert_int_equal(ack(2, 0, 0x0000000c << 1, 10).lost_packets, 0); /* 3 and 4 arrived, not 2 */
    struct track_news news = ack(2, 0, 0x38, 20);                     /* and 5 */
    assert_int_equal(news.lost_packets, 1);
    assert_int_equal(news.lost_bytes, LEN);
    const struct track_packet *lost = track_lost(&t);
    assert_non_null(lost);
    assert_int_equal(lost->psn, 2);
    assert_int_equal(lost->offset, 2 * LEN); /* where its bytes stand: nothing was kept */
    const struct track_packet *again = track_resend(&t, 0, 30);
    assert_int_equal(again->psn, 2);
    assert_int_equal(again->attempt, 1);
    assert_null(track_lost(&t));
    assert_int_equal(t.counters.resent, 1);
    assert_int_equal(ack(8, 0, 0, 40).acked_packets, 3); /* 2, 6, 7 */
}

static void arrivals_on_other_paths_make_nothing_lost(void **state)
{
    (void)state;
    start(4);
    send_on(0, 1, 0);
    for (uint8_t path = 1; path < 4; path++)
        send_on(path, 20, 0);
    assert_int_equal(ack(0, 0, UINT64_C(0x1ffffffffffffffe), 10).lost_packets, 0);
    send_on(0, 3, 20); /* 61 to 63 */
    assert_int_equal(ack(0, 0, UINT64_C(0xfffffffffffffffe), 30).lost_packets, 1);
}

static void an_overtaken_acknowledgement_makes_nothing_lost(void **state)
{
    (void)state;
    start(1);
    send_on(0, 6, 0);
    struct track_news news;
    struct wire_ack newer = {.next_psn = 0, .sack_base = 0, .sack = 0x3a, .arrived = 4};
    newer.echo_psn = 5; /* 1, 3, 4, 5 arrived: 0 is lost, 2 too; but say so only once asked */
    struct wire_ack older = {.next_psn = 0, .sack_base = 0, .sack = 0x02, .arrived = 1};
    older.echo_psn = 1;
    newer.sack_base = 64, newer.sack = 0; /* its bitmap stands elsewhere */
    assert_ok(track_on_ack(&t, &newer, 10, &news, &err));
    assert_int_equal(news.lost_packets, 0);
    assert_ok(track_on_ack(&t, &older, 11, &news, &err));
    assert_int_equal(news.lost_packets, 0);
    newer.sack_base = 0, newer.sack = 0x3a;
    assert_ok(track_on_ack(&t, &newer, 12, &news, &err));
    assert_int_equal(news.lost_packets, 2);
}

static void a_timer_finds_the_last_packet(void **state)
{
    (void)state;
    start(1);
    assert_true(track_deadline_ns(&t) == INT64_MAX);
    send_on(0, 1, 0);
    assert_int_equal(track_deadline_ns(&t), 4 * TIMEOUT_NS); /* no round trip is known yet */
    assert_int_equal(track_on_tick(&t, 4 * TIMEOUT_NS - 1), 0);
    assert_int_equal(track_on_tick(&t, 4 * TIMEOUT_NS), 1);
    assert_int_equal(t.counters.timeouts, 1);
    track_resend(&t, 0, 4 * TIMEOUT_NS);
    assert_int_equal(track_deadline_ns(&t), 12 * TIMEOUT_NS); /* doubled */
}

static struct track_news answer(uint64_t next_psn, int64_t asked_ns, int64_t now_ns)
{
    struct wire_ack a = {.next_psn = next_psn,
                         .echo_psn = next_psn - 1,
                         .echo_ticks = wire_ticks(asked_ns),
                         .hold_ns = 12000};
    struct track_news news;
    assert_ok(track_on_ack(&t, &a, now_ns, &news, &err));
    return news;
}

/* A wait of 5 us once: 15 us are a long one. */
static void the_answer_to_a_question_finds_the_last_packets(void **state)
{
    (void)state;
    start(1);
    send_on(0, 4, 1000);
    assert_int_equal(track_deadline_ns(&t), 1000 + 4 * TIMEOUT_NS); /* no wait is known yet */
    ack(2, 0, 0, 6000);
    assert_int_equal(track_deadline_ns(&t), 16000);
    assert_false(track_wants_ask(&t, 15999));
    assert_true(track_wants_ask(&t, 16000));
    track_asked(&t, 16000);
    struct track_news news = answer(2, 16000, 21000);
    assert_int_equal(news.lost_packets, 2);
    assert_int_equal(news.rtt_ns, -1); /* its hold is the silence, not the receiver's */
    assert_int_equal(t.srtt_ns, 5000);
    assert_int_equal(t.counters.timeouts, 0);
    assert_int_equal(track_lost(&t)->psn, 2);
}

static void an_answer_to_no_question_proves_nothing(void **state)
{
    (void)state;
    start(1);
    send_on(0, 4, 1000);
    ack(2, 0, 0, 6000);
    track_asked(&t, 16000);
    assert_int_equal(answer(2, 26000, 31000).lost_packets, 0);
    assert_int_equal(answer(2, 10000, 31000).lost_packets, 0);
}

static void questions_in_vain_come_ever_less_often(void **state)
{
    (void)state;
    start(1);
    send_on(0, 4, 1000);
    ack(2, 0, 0, 6000);
    track_asked(&t, 16000);
    assert_int_equal(track_deadline_ns(&t), 16000 + 2 * 15000);
    track_asked(&t, 46000);
    assert_int_equal(track_deadline_ns(&t), 46000 + 4 * 15000);
    ack(3, 0, 0, 50000); /* it lives */
    assert_int_equal(t.asks, 0);
    ack(4, 0, 0, 50001);
    assert_int_equal(track_deadline_ns(&t), INT64_MAX); /* nothing is in flight */
}

static void what_was_sent_a_long_wait_later_proves_a_loss_on_any_path(void **state)
{
    (void)state;
    start(2);
    send_on(0, 1, 1000);
    ack(1, 0, 0, 6000);
    send_on(0, 1, 7000);  /* 1 gets lost */
    send_on(1, 1, 19000); /* 12 us later: no proof, 12.5 us are a long wait by then */
    assert_int_equal(ack(1, 0, 4, 24000).lost_packets, 0);
    send_on(1, 1, 23000);
    assert_int_equal(ack(1, 0, 12, 28000).lost_packets, 1);
    assert_int_equal(t.path[0].timeouts, 1); /* on trial, as after a timer */
}

static void a_packet_that_was_passed_leaves_the_window(void **state)
{
    (void)state;
    start(1);
    send_on(0, 3, 0);
    assert_int_equal(ack(0, 0, 2, 10).lost_packets, 0);  /* 1 has arrived, 0 has not */
    assert_int_equal(t.flight_bytes, LEN);               /* 2 alone */
    assert_int_equal(ack(1, 0, 2, 20).acked_packets, 1); /* it was only late */
    assert_int_equal(t.flight_bytes, LEN);
    ack(3, 0, 0, 30);
    assert_int_equal(t.flight_bytes, 0);
}

static void a_path_that_only_loses_is_left_out_for_a_while(void **state)
{
    (void)state;
    start(3);
    int64_t now_ns = 0;
    for (int i = 0; i < TRACK_BAD_TIMEOUTS; i++) {
        assert_false(track_path_is_bad(&t, 1, now_ns));
        send_on(1, 1, now_ns);
        now_ns = track_deadline_ns(&t);
        assert_int_equal(track_on_tick(&t, now_ns), 1);
    }
    assert_true(track_path_is_bad(&t, 1, now_ns));
    for (int i = 0; i < 6; i++)
        assert_int_not_equal(track_next_path(&t, now_ns), 1);
    bool used = false;
    for (int i = 0; i < 3; i++)
        used |= track_next_path(&t, now_ns + TRACK_BAD_NS) == 1;
    assert_true(used);
}

static void where_all_paths_are_bad_all_are_used(void **state)
{
    (void)state;
    start(2);
    t.path[0].bad_until_ns = t.path[1].bad_until_ns = 100;
    assert_int_not_equal(track_next_path(&t, 0), track_next_path(&t, 0));
}

static void a_repair_for_nothing_is_counted_and_learnt_from(void **state)
{
    (void)state;
    start(1);
    send_on(0, 5, 0);
    ack(0, 0, 0x0e, 10); /* 1 to 3 */
    assert_int_equal(track_lost(&t)->psn, 0);
    track_resend(&t, 0, 20);
    struct track_news news;
    struct wire_ack a = {.next_psn = 5, .echo_psn = 0, .echo_attempt = 1, .echo_duplicate = true};
    assert_ok(track_on_ack(&t, &a, 30, &news, &err));
    assert_int_equal(t.counters.spurious, 1);
    assert_int_equal(t.path[0].tolerance, TRACK_TOLERANCE + 1);
    assert_int_equal(news.rtt_ns, -1);
    a.echo_attempt = 0; /* doubled by the network */
    assert_ok(track_on_ack(&t, &a, 30, &news, &err));
    assert_int_equal(t.counters.spurious, 1);
}

/* Silence for longer than any timer: whoever does not run says nothing of what is lost. */
static void with_patience_silence_loses_nothing(void **state)
{
    (void)state;
    start(1);
    track_set_patience(&t, 100 * TIMEOUT_NS);
    send_on(0, 2, 0);
    assert_int_equal(track_on_tick(&t, 99 * TIMEOUT_NS), 0);
    assert_null(track_lost(&t));
    assert_int_equal(track_on_tick(&t, 100 * TIMEOUT_NS), 2); /* but it has an end */
    assert_non_null(track_lost(&t));
}

/* Whoever is slow with all that waits before a packet has not lost it. */
static void with_patience_news_put_timers_off(void **state)
{
    (void)state;
    start(1);
    track_set_patience(&t, 100 * TIMEOUT_NS);
    send_on(0, 2, 0);
    ack(1, 0, 0, 10 * TIMEOUT_NS);
    assert_int_equal(track_on_tick(&t, 109 * TIMEOUT_NS), 0);
    assert_int_equal(track_on_tick(&t, 110 * TIMEOUT_NS), 1);
}

/* The first packets have no sample to go by: who is asked says whether they are lost. */
static void with_patience_the_first_packets_are_asked_for(void **state)
{
    (void)state;
    start(1);
    track_set_patience(&t, 100 * TIMEOUT_NS);
    send_on(0, 2, 10);
    int64_t ask_ns = 10 + 4 * TIMEOUT_NS;
    assert_int_equal(track_deadline_ns(&t), ask_ns);
    assert_false(track_wants_ask(&t, ask_ns - 1));
    assert_true(track_wants_ask(&t, ask_ns));
    track_asked(&t, ask_ns);
    struct track_news news;
    struct wire_ack a = {.next_psn = 0, .sack = 2, .echo_psn = 1, .arrived = 1};
    a.echo_ticks = wire_ticks(ask_ns);
    assert_ok(track_on_ack(&t, &a, ask_ns + 1000, &news, &err));
    assert_int_equal(news.lost_packets, 1);
    assert_int_equal(track_lost(&t)->psn, 0);
    assert_int_equal(t.counters.timeouts, 0);
}

/* A process that does not always run holds back its acknowledgements: timers wait for that, what
 * is known of the network does not change by it. */
static void timers_go_by_the_receivers_hold_too(void **state)
{
    (void)state;
    start(1);
    const int64_t hold_ns = 10 * TIMEOUT_NS;
    for (uint64_t psn = 0; psn < 20; psn++) {
        int64_t now_ns = (int64_t)psn * 100 * TIMEOUT_NS;
        send_on(0, 1, now_ns);
        struct track_news news;
        struct wire_ack a = {.next_psn = psn + 1, .echo_psn = psn, .hold_ns = (uint32_t)hold_ns};
        assert_ok(track_on_ack(&t, &a, now_ns + hold_ns + 5000, &news, &err));
    }
    assert_int_equal(t.srtt_ns, 5000);
    int64_t now_ns = 20 * 100 * TIMEOUT_NS;
    send_on(0, 1, now_ns);
    assert_true(track_deadline_ns(&t) - now_ns > hold_ns);
}

static void a_burst_takes_one_path(void **state)
{
    (void)state;
    start(4);
    track_set_burst(&t, 3);
    uint8_t paths[12];
    for (int i = 0; i < 12; i++)
        paths[i] = track_next_path(&t, 0);
    for (int i = 3; i < 12; i++) { /* the first burst is under way already, so one shorter */
        assert_true(paths[i] == paths[i - 1] || paths[i] == (paths[i - 1] + 1) % 4);
        assert_true(paths[i] != paths[i - 3]);
    }
    t.path[paths[11]].bad_until_ns = 100; /* it ends where the path turns bad */
    assert_int_not_equal(track_next_path(&t, 0), paths[11]);
}

/* Each order visits all paths before one again, also those that go around a bad one. */
static void each_order_visits_all_paths(void **state)
{
    (void)state;
    static struct track_packet few[TRACK_SLOTS_MIN];
    int orders = 0;
    for (int paths = 1; paths <= TRACK_PATHS_MAX; paths++)
        for (uint64_t seed = 0, before = 0; seed < 20; seed++) {
            uint64_t seen = 0;
            assert_ok(track_init(&t, few, TRACK_SLOTS_MIN, paths, 1000000, &err));
            track_set_order(&t, seed);
            for (int i = 0; i < paths; i++)
                seen |= UINT64_C(1) << track_next_path(&t, 0);
            assert_true(seen == (paths == 64 ? UINT64_MAX : (UINT64_C(1) << paths) - 1));
            orders += seed > 0 && before != (uint64_t)t.stride;
            before = (uint64_t)t.stride;
        }
    assert_true(orders > TRACK_PATHS_MAX); /* not the same for all */
}

static void the_window_of_slots_is_finite(void **state)
{
    (void)state;
    start(1);
    send_on(0, SLOTS - 1, 0);
    assert_true(track_has_room(&t));
    send_on(0, 1, 0);
    assert_false(track_has_room(&t));
    ack(1, 0, 0, 10);
    assert_true(track_has_room(&t));
}

static void acknowledgements_of_what_was_never_sent_are_refused(void **state)
{
    (void)state;
    start(1);
    struct track_news news;
    struct wire_ack a = {0};
    assert_fails(track_on_ack(&t, &a, 0, &news, &err), ERR_INVALID); /* nothing was sent */
    send_on(0, 10, 0);
    a = (struct wire_ack){.next_psn = 11};
    assert_fails(track_on_ack(&t, &a, 0, &news, &err), ERR_INVALID);
    a = (struct wire_ack){.next_psn = 1, .echo_psn = 10};
    assert_fails(track_on_ack(&t, &a, 0, &news, &err), ERR_INVALID);
    a = (struct wire_ack){.next_psn = 1, .sack = 1 << 10};
    assert_fails(track_on_ack(&t, &a, 0, &news, &err), ERR_INVALID);
    a = (struct wire_ack){.next_psn = 1, .sack_base = UINT64_MAX - 63, .sack = 1};
    assert_fails(track_on_ack(&t, &a, 0, &news, &err), ERR_INVALID);
    assert_int_equal(t.una, 0);
    a = (struct wire_ack){.next_psn = 1, .sack = 1 << 9};
    assert_ok(track_on_ack(&t, &a, 0, &news, &err));
}

static uint32_t dice(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*x >> 33);
}

static void check_books(void)
{
    int64_t flight = 0;
    for (uint64_t psn = t.una; psn < t.next; psn++)
        if (track_slots[psn % SLOTS].state == TRACK_FLIGHT && !track_slots[psn % SLOTS].passed)
            flight += track_slots[psn % SLOTS].len;
    assert_int_equal(flight, t.flight_bytes);
}

static void any_acknowledgement_leaves_the_books_right(void **state)
{
    (void)state;
    uint64_t x = 3;
    start(5);
    for (int i = 0; i < 50000; i++) {
        while (track_has_room(&t) && dice(&x) % 3 != 0)
            send_on((uint8_t)(dice(&x) % 5), 1, i);
        struct track_news news;
        struct wire_ack a = {.next_psn = t.una + dice(&x) % 20,
                             .sack_base = (t.una + dice(&x) % 300) & ~UINT64_C(63),
                             .sack = (uint64_t)dice(&x) << 32 & (uint64_t)dice(&x) << 20,
                             .echo_psn = t.una + dice(&x) % 200,
                             .echo_attempt = (uint8_t)(dice(&x) % 8),
                             .echo_duplicate = dice(&x) % 4 == 0,
                             .hold_ns = dice(&x) % 100};
        if (track_on_ack(&t, &a, i, &news, NULL) == ERR_OK)
            assert_true(news.acked_packets >= 0 && news.acked_packets <= SLOTS);
        if (track_lost(&t) != NULL && dice(&x) % 2 == 0)
            track_resend(&t, (uint8_t)(dice(&x) % 5), i);
        if (i % 100 == 0) {
            track_on_tick(&t, i + (int64_t)(dice(&x) % 3) * TIMEOUT_NS);
            check_books();
        }
    }
    assert_true(t.una > 1000);
}

/* Receiver alone --------------------------------------------------------------------------------
 */

static struct wire_packet data(uint64_t psn, uint8_t flags, size_t len, uint32_t length)
{
    return (struct wire_packet){.type = WIRE_WRITE,
                                .flags = flags,
                                .id = 5,
                                .psn = psn,
                                .payload_len = len,
                                .start = {.length = length, .immediate = 77}};
}

static enum place_verdict arrive(struct wire_packet packet)
{
    return place_arrive(&p, &packet, false, 0);
}

static void messages_are_told_in_order_whatever_the_arrival(void **state)
{
    (void)state;
    start(1);
    bool has;
    struct place_message m;
    assert_int_equal(arrive(data(3, WIRE_F_START | WIRE_F_LAST, 10, 10)), PLACE_NEW);
    assert_int_equal(arrive(data(2, WIRE_F_LAST, 50, 0)), PLACE_NEW);
    assert_int_equal(arrive(data(1, 0, 100, 0)), PLACE_NEW);
    assert_ok(place_message(&p, &has, &m, &err));
    assert_false(has);
    assert_int_equal(arrive(data(0, WIRE_F_START | WIRE_F_IMMEDIATE, 100, 250)), PLACE_NEW);
    assert_ok(place_message(&p, &has, &m, &err));
    assert_true(has);
    assert_int_equal(m.length, 250);
    assert_true(m.has_immediate);
    assert_int_equal(m.immediate, 77);
    assert_int_equal(m.last_psn, 2);
    assert_ok(place_message(&p, &has, &m, &err));
    assert_true(has && !m.has_immediate);
    assert_int_equal(m.length, 10);
    assert_ok(place_message(&p, &has, &m, &err));
    assert_false(has);
}

static void each_packet_is_new_once(void **state)
{
    (void)state;
    start(1);
    assert_int_equal(arrive(data(0, WIRE_F_START, 1, 100)), PLACE_NEW);
    assert_int_equal(arrive(data(0, WIRE_F_START, 1, 100)), PLACE_DUPLICATE);
    assert_int_equal(arrive(data(9, 0, 1, 0)), PLACE_NEW);
    assert_int_equal(arrive(data(9, 0, 1, 0)), PLACE_DUPLICATE);
    assert_int_equal(arrive(data(SLOTS, 0, 1, 0)), PLACE_BEYOND);
    assert_int_equal(arrive(data(SLOTS - 1, 0, 1, 0)), PLACE_NEW);
    assert_int_equal(arrive(data(UINT64_MAX, 0, 1, 0)), PLACE_BEYOND);
    bool has;
    struct place_message m;
    assert_ok(place_message(&p, &has, &m, &err)); /* the first slot is free again */
    assert_int_equal(arrive(data(SLOTS, 0, 1, 0)), PLACE_NEW);
    assert_int_equal(p.counters.duplicates, 2);
    assert_int_equal(p.counters.beyond, 2);
}

static void packets_that_contradict_each_other_break_the_peer(void **state)
{
    (void)state;
    static const struct {
        uint8_t first, second;
        uint32_t length;
        size_t len;
        const char *text;
    } rows[] = {
        {0, 0, 0, 10, "belongs to no message"},
        {WIRE_F_START, WIRE_F_START, 20, 10, "inside one"},
        {WIRE_F_START, WIRE_F_LAST, 21, 10, "another length"},
        {WIRE_F_START, WIRE_F_LAST, 19, 10, "another length"},
        {WIRE_F_START | WIRE_F_LAST, 0, 9, 10, "another length"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        start(1);
        bool has;
        struct place_message m;
        arrive(data(0, rows[i].first, rows[i].len, rows[i].length));
        arrive(data(1, rows[i].second, rows[i].len, rows[i].length));
        assert_fails(place_message(&p, &has, &m, &err), ERR_INVALID);
        assert_contains(err.text, rows[i].text);
        assert_fails(place_message(&p, &has, &m, &err), ERR_INVALID); /* and stays so */
    }
    start(1);
    bool has;
    struct place_message m;
    struct wire_packet other = data(1, WIRE_F_LAST, 10, 0);
    other.type = WIRE_SEND;
    arrive(data(0, WIRE_F_START, 10, 20));
    arrive(other);
    assert_fails(place_message(&p, &has, &m, &err), ERR_INVALID);
    assert_contains(err.text, "another type");
}

static void an_acknowledgement_is_due_when_it_is_news(void **state)
{
    (void)state;
    start(1);
    assert_false(place_owes_ack(&p));
    arrive(data(0, WIRE_F_START, 1, 100));
    assert_false(place_wants_ack(&p));
    assert_true(place_owes_ack(&p));
    arrive(data(1, 0, 1, 0));
    arrive(data(2, 0, 1, 0));
    assert_false(place_wants_ack(&p));
    arrive(data(3, 0, 1, 0)); /* each fourth */
    assert_true(place_wants_ack(&p));
    struct wire_ack a;
    place_ack(&p, 0, &a);
    assert_int_equal(a.next_psn, 4);
    assert_false(place_owes_ack(&p));
    arrive(data(5, 0, 1, 0)); /* a gap opens */
    assert_true(place_wants_ack(&p));
    place_ack(&p, 0, &a);
    arrive(data(4, 0, 1, 0)); /* and closes */
    assert_true(place_wants_ack(&p));
    place_ack(&p, 0, &a);
    arrive(data(6, WIRE_F_ASK, 1, 0));
    assert_true(place_wants_ack(&p));
    place_ack(&p, 0, &a);
    arrive(data(6, 0, 1, 0));
    assert_true(place_wants_ack(&p));
    place_ack(&p, 0, &a);
    assert_true(a.echo_duplicate);
}

static void what_one_bitmap_cannot_tell_the_next_ones_do(void **state)
{
    (void)state;
    start(1);
    arrive(data(0, WIRE_F_START, 1, 100));
    for (uint64_t psn = 2; psn < 130; psn++) /* two words and two packets, behind a gap */
        arrive(data(psn, 0, 1, 0));
    uint64_t seen[3] = {0};
    int acks = 0;
    for (; place_wants_ack(&p) && acks < 4; acks++) {
        struct wire_ack a;
        place_ack(&p, 0, &a);
        assert_in_range(a.sack_base / 64, 0, 2);
        seen[a.sack_base / 64] = a.sack;
    }
    assert_int_equal(acks, 3);
    assert_true(seen[0] == UINT64_MAX - 3);
    assert_true(seen[1] == UINT64_MAX);
    assert_true(seen[2] == 3);
}

static void bitmaps_tell_of_the_gap_and_of_the_newest(void **state)
{
    (void)state;
    start(1);
    arrive(data(0, WIRE_F_START, 1, 100));
    arrive(data(2, 0, 1, 0));
    arrive(data(200, 0, 1, 0));
    uint64_t seen_low = 0, seen_high = 0;
    for (int i = 0; i < 3; i++) {
        struct wire_ack a;
        place_ack(&p, 0, &a);
        assert_int_equal(a.sack_base % 64, 0);
        seen_low |= a.sack_base == 0 ? a.sack : 0;
        seen_high |= a.sack_base == 192 ? a.sack : 0;
    }
    assert_true(seen_low == 4);
    assert_true(seen_high == 1 << 8);
}

static void delay_is_measured_between_clocks_that_differ(void **state)
{
    (void)state;
    start(1);
    uint32_t behind = WIRE_TICKS - 5; /* the sender's clock, when this one says 0 */
    struct wire_ack a;
    for (uint64_t i = 0; i < 4; i++) {
        static const int64_t transit_ticks[] = {100, 150, 90, 1090};
        struct wire_packet packet = data(i, i == 0 ? WIRE_F_START : 0, 1, 100);
        packet.sent_ticks = (uint32_t)((behind + i * 1000) % WIRE_TICKS);
        place_arrive(&p, &packet, false, ((int64_t)i * 1000 + transit_ticks[i]) * WIRE_TICK_NS);
        place_ack(&p, 0, &a);
        static const int64_t above_ticks[] = {0, 50, 0, 1000};
        assert_int_equal(a.queue_ns, above_ticks[i] * WIRE_TICK_NS);
    }
}

static void sizes_out_of_range_are_refused(void **state)
{
    (void)state;
    start(1);
    static struct track_packet many[TRACK_SLOTS_MAX];
    static struct place_slot places[PLACE_SLOTS_MAX];
    assert_fails(track_init(&t, many, TRACK_SLOTS_MIN / 2, 1, 1, &err), ERR_INVALID);
    assert_fails(track_init(&t, many, TRACK_SLOTS_MAX * 2, 1, 1, &err), ERR_INVALID);
    assert_fails(track_init(&t, many, 100, 1, 1, &err), ERR_INVALID);
    assert_fails(track_init(&t, many, 64, 0, 1, &err), ERR_INVALID);
    assert_fails(track_init(&t, many, 64, TRACK_PATHS_MAX + 1, 1, &err), ERR_INVALID);
    assert_fails(track_init(&t, many, 64, 1, 0, &err), ERR_INVALID);
    assert_fails(track_init(&t, many, 64, 1, TRACK_TIMEOUT_MAX_NS + 1, &err), ERR_INVALID);
    assert_ok(track_init(&t, many, TRACK_SLOTS_MAX, TRACK_PATHS_MAX, TRACK_TIMEOUT_MAX_NS, &err));
    assert_fails(place_init(&p, places, PLACE_SLOTS_MIN / 2, 1, &err), ERR_INVALID);
    assert_fails(place_init(&p, places, PLACE_SLOTS_MAX * 2, 1, &err), ERR_INVALID);
    assert_fails(place_init(&p, places, 64, 0, &err), ERR_INVALID);
    assert_fails(place_init(&p, places, 64, PLACE_ACK_EVERY_MAX + 1, &err), ERR_INVALID);
    assert_ok(place_init(&p, places, PLACE_SLOTS_MAX, PLACE_ACK_EVERY_MAX, &err));
}

/* Both, over a net -------------------------------------------------------------------------------
 */

#define NET_MAX 4096

struct net {
    uint64_t x;
    uint32_t loss, twice;  /* of 1,000,000 */
    bool shuffles;         /* inside a path */
    int blackhole;         /* a path that carries nothing, or -1 */
    int64_t transit_ns[8]; /* by path */
    struct flying {
        int64_t at_ns;
        struct wire_packet packet;
    } flying[NET_MAX];
    int count;
    uint64_t dropped;
    int64_t path_ns[8];         /* the last arrival of a path, which the next does not overtake */
    uint32_t crc_sent, crc_got; /* sums over what was sent and placed */
};

static void throw(struct net * n, const struct track_packet *packet, int64_t now_ns)
{
    struct wire_packet w = {.type = WIRE_WRITE,
                            .flags = packet->offset == 0 ? WIRE_F_START : 0,
                            .path = packet->path,
                            .attempt = packet->attempt,
                            .psn = packet->psn,
                            .offset = packet->offset,
                            .payload_len = packet->len,
                            .sent_ticks = wire_ticks(now_ns)};
    w.start.length = WIRE_MESSAGE_MAX;
    if (packet->path == n->blackhole || dice(&n->x) % 1000000 < n->loss) {
        n->dropped++;
        return;
    }
    int copies = 1 + (dice(&n->x) % 1000000 < n->twice);
    for (int i = 0; i < copies; i++) {
        assert_true(n->count < NET_MAX);
        int64_t at_ns = now_ns + n->transit_ns[packet->path] + dice(&n->x) % 2000;
        if (!n->shuffles && at_ns <= n->path_ns[packet->path])
            at_ns = n->path_ns[packet->path] + 1;
        n->path_ns[packet->path] = at_ns;
        n->flying[n->count++] = (struct flying){at_ns, w};
    }
}

static void deliver(struct net *n, int64_t now_ns)
{
    for (;;) {
        int first = -1;
        for (int i = 0; i < n->count; i++)
            if (n->flying[i].at_ns <= now_ns &&
                (first < 0 || n->flying[i].at_ns < n->flying[first].at_ns))
                first = i;
        if (first < 0)
            return;
        struct flying f = n->flying[first];
        n->flying[first] = n->flying[--n->count];
        if (place_arrive(&p, &f.packet, false, f.at_ns) == PLACE_NEW)
            n->crc_got += (uint32_t)f.packet.offset * 2654435761u;
        bool has;
        struct place_message m;
        assert_ok(place_message(&p, &has, &m, &err));
    }
}

/* Sends `packets` packets, one a microsecond, 64 in flight; returns how many were sent in all. */
static uint64_t transfer(struct net *n, uint64_t packets, int paths)
{
    start(paths);
    for (int64_t now_ns = 0; t.una < packets; now_ns += 1000) {
        assert_true(now_ns < 1000000000);
        track_on_tick(&t, now_ns);
        const struct track_packet *next = NULL;
        uint8_t path = track_next_path(&t, now_ns);
        if (track_lost(&t) != NULL) {
            next = track_resend(&t, path, now_ns);
        } else if (t.next < packets && t.flight_bytes < 64 * LEN && track_has_room(&t)) {
            next = track_send(&t, 0, t.next * LEN, LEN, path, now_ns);
            n->crc_sent += (uint32_t)next->offset * 2654435761u;
        }
        if (next != NULL)
            throw(n, next, now_ns);
        deliver(n, now_ns);
        if (!place_wants_ack(&p) && !(place_owes_ack(&p) && now_ns % 20000 == 0))
            continue;
        struct wire_ack a;
        struct track_news news;
        place_ack(&p, now_ns, &a);
        if (dice(&n->x) % 1000000 >= n->loss) /* at once: the way back takes no time here */
            assert_ok(track_on_ack(&t, &a, now_ns, &news, &err));
    }
    assert_int_equal(p.counters.arrived, packets);
    assert_int_equal(n->crc_sent, n->crc_got);
    return t.counters.sent + t.counters.resent;
}

static void a_probe_is_answered_with_its_own_ticks(void **state)
{
    (void)state;
    start(1);
    place_probed(&p, 77);
    assert_false(place_wants_ack(&p)); /* there is nothing to tell of yet */
    struct wire_packet w = {
        .type = WIRE_WRITE, .flags = WIRE_F_START, .payload_len = LEN, .sent_ticks = 5};
    w.start.length = 4 * LEN;
    struct wire_ack a;
    assert_int_equal(place_arrive(&p, &w, false, 1000), PLACE_NEW);
    place_ack(&p, 2000, &a);
    assert_int_equal(a.echo_ticks, 5);
    place_probed(&p, 78);
    assert_true(place_wants_ack(&p));
    place_ack(&p, 9000, &a);
    assert_int_equal(a.echo_ticks, 78);
    assert_int_equal(a.echo_psn, 0);
    assert_int_equal(a.hold_ns, 8000);
}

static struct net net_of(uint32_t loss)
{
    return (struct net){.x = 11,
                        .loss = loss,
                        .blackhole = -1,
                        .transit_ns = {5000, 9000, 30000, 6000, 12000, 7000, 8000, 20000}};
}

static void what_is_lost_is_repaired_and_nothing_else(void **state)
{
    (void)state;
    static const uint32_t losses[] = {0, 10, 100, 10000, 100000};
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
        static struct net n;
        n = net_of(losses[i]);
        uint64_t packets = 20000, sent = transfer(&n, packets, 8);
        print_message(
            "# loss %u ppm: %llu sent again, %llu dropped, %llu for nothing, %llu timers\n",
            losses[i], (unsigned long long)(sent - packets), (unsigned long long)n.dropped,
            (unsigned long long)t.counters.spurious, (unsigned long long)t.counters.timeouts);
        assert_int_equal(sent - packets - n.dropped, p.counters.duplicates);
        assert_true(p.counters.duplicates <= t.counters.timeouts);
        if (losses[i] <= 10000)
            assert_int_equal(p.counters.duplicates, 0);
    }
}

static void doubled_packets_do_no_harm(void **state)
{
    (void)state;
    static struct net n;
    n = net_of(1000);
    n.twice = 100000;
    transfer(&n, 5000, 8);
    assert_true(p.counters.duplicates > 300);
    assert_int_equal(t.counters.spurious, 0);
}

static void a_path_that_shuffles_teaches_tolerance(void **state)
{
    (void)state;
    static struct net n;
    n = net_of(0);
    n.shuffles = true;
    uint64_t sent = transfer(&n, 20000, 1);
    print_message("# one shuffling path: %llu of 20000 sent again, tolerance %d\n",
                  (unsigned long long)(sent - 20000), t.path[0].tolerance);
    assert_true(sent - 20000 < 100);
}

static void a_blackhole_is_left_out(void **state)
{
    (void)state;
    static struct net n;
    n = net_of(0);
    n.blackhole = 2;
    uint64_t sent = transfer(&n, 20000, 8);
    print_message("# a blackhole of 8 paths: %llu of 20000 sent again\n",
                  (unsigned long long)(sent - 20000));
    assert_true(sent - 20000 < 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acknowledgement_empties_the_flight),
        cmocka_unit_test(the_receivers_hold_is_no_round_trip),
        cmocka_unit_test(three_later_arrivals_on_its_path_make_a_packet_lost),
        cmocka_unit_test(arrivals_on_other_paths_make_nothing_lost),
        cmocka_unit_test(an_overtaken_acknowledgement_makes_nothing_lost),
        cmocka_unit_test(a_timer_finds_the_last_packet),
        cmocka_unit_test(the_answer_to_a_question_finds_the_last_packets),
        cmocka_unit_test(an_answer_to_no_question_proves_nothing),
        cmocka_unit_test(questions_in_vain_come_ever_less_often),
        cmocka_unit_test(what_was_sent_a_long_wait_later_proves_a_loss_on_any_path),
        cmocka_unit_test(a_packet_that_was_passed_leaves_the_window),
        cmocka_unit_test(a_path_that_only_loses_is_left_out_for_a_while),
        cmocka_unit_test(where_all_paths_are_bad_all_are_used),
        cmocka_unit_test(a_repair_for_nothing_is_counted_and_learnt_from),
        cmocka_unit_test(with_patience_silence_loses_nothing),
        cmocka_unit_test(with_patience_news_put_timers_off),
        cmocka_unit_test(with_patience_the_first_packets_are_asked_for),
        cmocka_unit_test(timers_go_by_the_receivers_hold_too),
        cmocka_unit_test(a_probe_is_answered_with_its_own_ticks),
        cmocka_unit_test(a_burst_takes_one_path),
        cmocka_unit_test(each_order_visits_all_paths),
        cmocka_unit_test(the_window_of_slots_is_finite),
        cmocka_unit_test(acknowledgements_of_what_was_never_sent_are_refused),
        cmocka_unit_test(any_acknowledgement_leaves_the_books_right),
        cmocka_unit_test(messages_are_told_in_order_whatever_the_arrival),
        cmocka_unit_test(each_packet_is_new_once),
        cmocka_unit_test(packets_that_contradict_each_other_break_the_peer),
        cmocka_unit_test(an_acknowledgement_is_due_when_it_is_news),
        cmocka_unit_test(what_one_bitmap_cannot_tell_the_next_ones_do),
        cmocka_unit_test(bitmaps_tell_of_the_gap_and_of_the_newest),
        cmocka_unit_test(delay_is_measured_between_clocks_that_differ),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(what_is_lost_is_repaired_and_nothing_else),
        cmocka_unit_test(doubled_packets_do_no_harm),
        cmocka_unit_test(a_path_that_shuffles_teaches_tolerance),
        cmocka_unit_test(a_blackhole_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
