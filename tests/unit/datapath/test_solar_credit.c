/*
 * tests/unit/datapath/test_solar_credit.c - a receiver's line divided among senders, and a sender's
 * pump that keeps to it.
 */
#include "tests/unit/test.h"

#include "datapath/solar/credit.h"
#include "datapath/solar/pump.h"

#define POOL   INT64_C(160000)
#define PACKET INT64_C(4000)

static struct credit c;
static struct err err;

static void start(void)
{
    err = (struct err)ERR_INIT;
    assert_ok(credit_init(&c, POOL, PACKET, &err));
}

static uint16_t join(int weight)
{
    uint16_t sender;
    assert_ok(credit_join(&c, weight, &sender, &err));
    return sender;
}

static int64_t outstanding(void)
{
    int64_t sum = 0;
    for (int i = 0; i < c.senders; i++)
        if (c.sender[i].used && c.sender[i].demand > c.sender[i].arrived)
            sum += (int64_t)(c.sender[i].granted - c.sender[i].arrived);
    return sum;
}

static void one_sender_may_start_with_the_whole_pool(void **state)
{
    (void)state;
    start();
    uint16_t sender = join(1), told;
    assert_int_equal(credit_sum(&c, sender), POOL);
    credit_demand(&c, sender, 1000000);
    assert_int_equal(credit_sum(&c, sender), POOL);
    assert_false(credit_grant(&c, &told));
    credit_arrived(&c, sender, PACKET); /* makes room for one more */
    assert_true(credit_grant(&c, &told));
    assert_int_equal(told, sender);
    assert_int_equal(credit_sum(&c, sender), POOL + PACKET);
    assert_false(credit_grant(&c, &told));
}

static void one_that_sends_alone_may_fill_the_receivers_socket(void **state)
{
    (void)state;
    start();
    credit_set_alone(&c, 3 * POOL);
    uint16_t a = join(1), told;
    credit_demand(&c, a, 100 * (uint64_t)POOL);
    while (credit_grant(&c, &told))
        ;
    assert_int_equal(c.outstanding, 3 * POOL);
    /* With a second one that is an incast: nothing is granted until the pool holds them again. */
    uint16_t b = join(1);
    credit_demand(&c, b, 100 * (uint64_t)POOL);
    while (c.outstanding > POOL) {
        assert_false(credit_grant(&c, &told));
        credit_arrived(&c, a, PACKET);
    }
    for (int i = 0; i < 100; i++) {
        credit_arrived(&c, a, PACKET);
        while (credit_grant(&c, &told))
            ;
        assert_in_range(c.outstanding, POOL - PACKET, POOL);
    }
    credit_set_alone(&c, 1);
    assert_int_equal(c.alone_bytes, POOL);
}

static void what_waits_in_the_receivers_socket_waits_in_no_switch(void **state)
{
    (void)state;
    start();
    credit_set_alone(&c, 3 * POOL);
    credit_set_held(&c, POOL / 2);
    uint16_t a = join(1), b = join(1), told;
    credit_demand(&c, a, 100 * (uint64_t)POOL);
    credit_demand(&c, b, 100 * (uint64_t)POOL);
    while (credit_grant(&c, &told))
        ;
    assert_int_equal(c.outstanding, POOL + POOL / 2);
    credit_set_held(&c, 100 * POOL); /* no more than one alone may have */
    while (credit_grant(&c, &told))
        ;
    assert_int_equal(c.outstanding, 3 * POOL);
    assert_int_equal(outstanding(), c.outstanding);
}

static void many_senders_announce_first(void **state)
{
    (void)state;
    start();
    uint16_t few[40], told;
    for (int i = 0; i < 40; i++)
        few[i] = join(1);
    assert_int_equal(credit_sum(&c, few[0]), PACKET);
    uint16_t more = join(1);
    assert_int_equal(credit_sum(&c, few[0]), 0);
    credit_demand(&c, more, 10 * PACKET);
    assert_true(credit_grant(&c, &told)); /* and is served at once where others idle */
    while (credit_grant(&c, &told))
        ;
    assert_int_equal(credit_sum(&c, more), 10 * PACKET);
}

static void several_pools_start_many_sooner(void **state)
{
    (void)state;
    start();
    credit_set_first(&c, 3);
    uint16_t first = join(1);
    assert_int_equal(credit_sum(&c, first), POOL); /* never more than one */
    for (int i = 1; i < 120; i++)
        join(1);
    assert_int_equal(credit_sum(&c, first), PACKET);
    join(1);
    assert_int_equal(credit_sum(&c, first), 0);
}

static void what_is_outstanding_never_exceeds_the_pool(void **state)
{
    (void)state;
    start();
    enum { N = 127 };
    uint16_t s[N], told;
    uint64_t sent[N] = {0}, x = 5, each = 100 * PACKET;
    for (int i = 0; i < N; i++)
        s[i] = join(1);
    for (int i = 0; i < N; i++)
        credit_demand(&c, s[i], each);
    uint64_t total = 0;
    for (int step = 0; total < N * each && step < 1000000; step++) {
        while (credit_grant(&c, &told))
            ;
        assert_true(outstanding() <= POOL);
        assert_int_equal(outstanding(), c.outstanding);
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int i = (int)((x >> 33) % N);
        uint64_t may = credit_sum(&c, s[i]) - sent[i];
        uint64_t now = may < (uint64_t)PACKET ? may : (uint64_t)PACKET;
        sent[i] += now;
        total += now;
        credit_arrived(&c, s[i], (int64_t)now);
    }
    assert_true(total == N * each);
    assert_int_equal(c.outstanding, 0);
    assert_int_equal(credit_weight_total(&c), 0);
}

static void grants_follow_the_weights(void **state)
{
    (void)state;
    start();
    uint16_t a = join(1), b = join(3), told;
    credit_demand(&c, a, 100000000);
    credit_demand(&c, b, 100000000);
    assert_int_equal(credit_weight_total(&c), 4);
    uint64_t a0 = credit_sum(&c, a), b0 = credit_sum(&c, b);
    for (int i = 0; i < 4000; i++) {
        uint16_t turn =
            credit_sum(&c, a) - c.sender[a].arrived > credit_sum(&c, b) - c.sender[b].arrived ? a
                                                                                              : b;
        credit_arrived(&c, turn, PACKET);
        while (credit_grant(&c, &told))
            ;
    }
    uint64_t of_a = credit_sum(&c, a) - a0, of_b = credit_sum(&c, b) - b0;
    assert_true(of_b > 29 * of_a / 10 && of_b < 31 * of_a / 10);
}

static void one_that_lies_gains_nothing(void **state)
{
    (void)state;
    start();
    uint16_t a = join(1), told;
    credit_demand(&c, a, UINT64_MAX);
    assert_int_equal(c.sender[a].demand, CREDIT_DEMAND_MAX);
    credit_demand(&c, a, 5); /* less than before */
    assert_int_equal(c.sender[a].demand, CREDIT_DEMAND_MAX);
    credit_arrived(&c, a, 10 * POOL); /* more than it may */
    assert_int_equal(c.outstanding, 0);
    assert_int_equal(outstanding(), 0);
    while (credit_grant(&c, &told))
        ;
    assert_int_equal(c.outstanding, POOL);
}

static void one_that_leaves_gives_back(void **state)
{
    (void)state;
    start();
    uint16_t a = join(1), b = join(1), told;
    credit_demand(&c, a, 100 * PACKET);
    credit_demand(&c, b, 100 * PACKET);
    credit_leave(&c, a);
    assert_int_equal(outstanding(), c.outstanding);
    assert_int_equal(credit_weight_total(&c), 1);
    while (credit_grant(&c, &told))
        assert_int_equal(told, b);
    assert_int_equal(c.outstanding, POOL);
    credit_leave(&c, b);
    assert_int_equal(c.outstanding, 0);
    assert_int_equal(credit_sum(&c, join(1)), POOL);
}

static void one_that_is_silent_leaves_the_line_to_others_and_comes_back(void **state)
{
    (void)state;
    start();
    uint16_t gone = join(1), stays = join(1), told;
    credit_demand(&c, gone, 10 * (uint64_t)POOL);
    while (credit_grant(&c, &told))
        ;
    credit_demand(&c, stays, 10 * (uint64_t)POOL);
    uint64_t was_told = credit_sum(&c, gone);
    assert_true(outstanding() > POOL - PACKET);
    assert_false(credit_grant(&c, &told)); /* the other has the whole pool, and sends nothing */
    assert_true(credit_is_active(&c, gone));
    credit_rest(&c, gone);
    credit_rest(&c, gone); /* once is enough */
    assert_false(credit_is_active(&c, gone));
    assert_int_equal(credit_weight_total(&c), 1);
    while (credit_grant(&c, &told))
        assert_int_equal(told, stays);
    assert_true(credit_sum(&c, stays) > (uint64_t)(POOL - PACKET));
    assert_int_equal(c.outstanding, outstanding());
    /* All that it was allowed before comes after all, and it asks for more. */
    for (uint64_t sum = 0; sum < was_told; sum += (uint64_t)PACKET)
        credit_arrived(&c, gone, PACKET);
    assert_int_equal(c.outstanding, outstanding());
    credit_demand(&c, gone, 10 * (uint64_t)POOL);
    assert_int_equal(credit_weight_total(&c), 2);
    assert_int_equal(c.outstanding, outstanding());
    credit_leave(&c, gone);
    assert_int_equal(c.outstanding, outstanding());
}

static void limits_are_told(void **state)
{
    (void)state;
    start();
    uint16_t sender;
    assert_fails(credit_join(&c, 0, &sender, &err), ERR_INVALID);
    assert_fails(credit_join(&c, CREDIT_WEIGHT_MAX + 1, &sender, &err), ERR_INVALID);
    assert_ok(credit_join(&c, CREDIT_WEIGHT_MAX, &sender, &err));
    for (int i = 1; i < CREDIT_SENDERS_MAX; i++)
        join(1);
    assert_fails(credit_join(&c, 1, &sender, &err), ERR_LIMIT);
    assert_fails(credit_init(&c, PACKET - 1, PACKET, &err), ERR_INVALID);
    assert_ok(credit_init(&c, PACKET, PACKET, &err));
}

/* Pump -------------------------------------------------------------------------------------------
 */

static struct track_packet slots[1024];
static struct track track;
static struct pump pump;

static void start_pump(uint64_t credit_bytes)
{
    start();
    struct cc_params params = cc_defaults(INT64_C(100000000000), 12000, 4160);
    struct cc cc;
    assert_ok(cc_init(&cc, CC_SOLAR, &params, &err));
    assert_ok(track_init(&track, slots, 1024, 8, 1000000, &err));
    pump_init(&pump, &track, &cc, 64, credit_bytes, false);
}

static int send_all(int64_t now_ns)
{
    int sent = 0;
    int64_t ready_ns = 0;
    while (pump_next(&pump, PACKET, now_ns, &ready_ns) == PUMP_NEW) {
        pump_send(&pump, 0, pump.sent_bytes, (uint16_t)PACKET, now_ns);
        sent++;
    }
    return sent;
}

static void a_pump_sends_no_more_than_credit(void **state)
{
    (void)state;
    start_pump(3 * PACKET);
    int sent = 0;
    for (int64_t now_ns = 0; now_ns < 100000; now_ns += 10)
        sent += send_all(now_ns);
    assert_int_equal(sent, 3);
    struct wire_ack more = {.credit_bytes = 4 * PACKET};
    pump_on_credit(&pump, &more, 200000);
    assert_int_equal(send_all(200000), 1);
}

static void a_pump_sends_no_more_than_the_product(void **state)
{
    (void)state;
    start_pump(UINT64_MAX);
    for (int64_t now_ns = 0; now_ns < 100000; now_ns += 10)
        send_all(now_ns);
    assert_int_equal(track.flight_bytes, (150000 + 4160) / PACKET * PACKET);
}

static void a_pump_that_sprays_sends_what_waits_in_queues_too(void **state)
{
    (void)state;
    start_pump(UINT64_MAX);
    pump_set_window(&pump, PUMP_SPRAY_BDPS);
    for (int64_t now_ns = 0; now_ns < 100000; now_ns += 10)
        send_all(now_ns);
    assert_int_equal(track.flight_bytes, (150000 + 4160) * 3 / 2 / PACKET * PACKET);
}

static void a_pump_without_credit_probes_and_again(void **state)
{
    (void)state;
    start_pump(0);
    int64_t ready_ns;
    assert_int_equal(pump_next(&pump, PACKET, 0, &ready_ns), PUMP_PROBE);
    pump_announced(&pump, 2 * PACKET, 0);
    assert_int_equal(pump_next(&pump, PACKET, 1, &ready_ns), PUMP_WAIT); /* it knows */
    assert_int_equal(ready_ns, 64 * 12000);
    assert_int_equal(pump_next(&pump, PACKET, ready_ns, &ready_ns), PUMP_PROBE); /* lost? */
    struct wire_ack none = {.credit_bytes = 0};
    pump_on_credit(&pump, &none, 800000);
    assert_int_equal(pump_next(&pump, PACKET, 800001, &ready_ns), PUMP_WAIT);
    assert_int_equal(pump_next(&pump, 0, 9000000, &ready_ns), PUMP_WAIT);
}

/* Many senders of messages that are no whole number of packets, all of them announced: whatever a
 * grant leaves over is used, or the rests of all would fill the pool for good. */
static void rests_of_credit_do_not_stop_an_incast(void **state)
{
    (void)state;
    enum { SENDERS = 200, PACKETS = 60 };
    static struct pump pumps[SENDERS];
    static struct track tracks[SENDERS];
    static const int64_t lens[] = {PACKET, PACKET / 2, PACKET - 1, 1, PACKET, 700};
    static uint16_t of[SENDERS];
    int64_t total = 0;
    for (int i = 0; i < PACKETS; i++)
        total += lens[(size_t)i % 6];
    assert_ok(credit_init(&c, 20 * PACKET, PACKET, &err));
    for (int i = 0; i < SENDERS; i++) {
        pumps[i] = (struct pump){.track = &tracks[i]};
        assert_ok(credit_join(&c, 1, &of[i], &err));
    }
    for (int i = 0; i < SENDERS; i++)
        credit_demand(&c, of[i], (uint64_t)total);
    int64_t sent_packets[SENDERS] = {0}, part[SENDERS] = {0}, most = 0, rounds = 0;
    for (bool moves = true; moves; rounds++) {
        uint16_t granted;
        moves = false;
        while (credit_grant(&c, &granted))
            moves = true;
        most = c.outstanding > most ? c.outstanding : most;
        for (int i = 0; i < SENDERS; i++) {
            struct pump *p = &pumps[i];
            p->credit_bytes = credit_sum(&c, of[i]);
            while (sent_packets[i] < PACKETS) {
                int64_t len = pump_fit(p, lens[sent_packets[i] % 6] - part[i]);
                if (p->sent_bytes + (uint64_t)len > p->credit_bytes)
                    break;
                p->sent_bytes += (uint64_t)len;
                credit_arrived(&c, of[i], len);
                part[i] += len;
                if (part[i] == lens[sent_packets[i] % 6]) {
                    part[i] = 0;
                    sent_packets[i]++;
                }
                moves = true;
            }
        }
    }
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(pumps[i].sent_bytes, total);
    assert_true(most <= 20 * PACKET);
    assert_true(rounds > 1);
}

static void a_pump_with_packets_on_their_way_sends_whole_ones(void **state)
{
    (void)state;
    start_pump(PACKET + 100);
    assert_int_equal(pump_fit(&pump, 200), 200);
    assert_int_equal(pump_fit(&pump, 2 * PACKET), PACKET + 100);
    pump_send(&pump, 0, 0, (uint16_t)PACKET, 0);
    assert_int_equal(pump_fit(&pump, PACKET), PACKET); /* its arrival brings the rest of it */
    track.flight_bytes = 0;
    assert_int_equal(pump_fit(&pump, PACKET), 100);
    pump.sent_bytes += 100;
    assert_int_equal(pump_fit(&pump, PACKET), PACKET); /* nothing is left: it asks */
}

static void a_pump_paces(void **state)
{
    (void)state;
    start_pump(UINT64_MAX);
    pump.cc.rate_bps = 1e9; /* 4064 bytes in 32.5 us */
    int sent = 0;
    for (int64_t now_ns = 0; now_ns < 1000000; now_ns += 100)
        sent += send_all(now_ns);
    assert_in_range(sent, 30, 32);
}

static void a_burst_leaves_whole_and_is_paced(void **state)
{
    (void)state;
    start_pump(UINT64_MAX);
    pump_set_burst(&pump, 5);
    pump.cc.params.base_rtt_ns = 200000;
    pump.cc.rate_bps = 1e9; /* five packets in 162.6 us */
    assert_int_equal(send_all(0), 5);
    assert_int_equal(send_all(162000), 0);
    assert_int_equal(send_all(163000), 5);
    int sent = 10;
    for (int64_t now_ns = 163000; now_ns < 1000000; now_ns += 100)
        sent += send_all(now_ns);
    assert_in_range(sent, 30, 35);
}

static void bursts_of_those_who_share_a_line_are_as_much_as_one(void **state)
{
    (void)state;
    start_pump(UINT64_MAX);
    pump_set_burst(&pump, 20);
    pump.cc.rate_bps = 1e11 / 4;
    assert_int_equal(send_all(0), 9); /* of 36 packets of the path */
    start_pump(UINT64_MAX);
    pump_set_burst(&pump, 20);
    pump.cc.rate_bps = 1e11 / 1000;
    assert_int_equal(send_all(0), PUMP_BURST_LEAST);
}

/* Tells the pump that the newest packet came after so long. */
static void hear(int64_t rtt_ns, int64_t now_ns)
{
    const struct track_packet *p = &slots[(track.next - 1) % 1024];
    struct wire_ack ack = {.next_psn = track.next,
                           .echo_psn = track.next - 1,
                           .arrived = (uint32_t)track.next,
                           .credit_bytes = UINT64_MAX};
    assert_int_equal(now_ns - p->sent_ns, rtt_ns);
    assert_ok(pump_on_ack(&pump, &ack, now_ns, &err));
}

static void the_own_burst_is_no_queue_of_others(void **state)
{
    (void)state;
    const int64_t train_ns = 19 * (PACKET + 64) * 8 / 100; /* before the last of 20 packets */
    start_pump(UINT64_MAX);
    pump_set_burst(&pump, 20);
    assert_int_equal(send_all(0), 20);
    hear(12000 + train_ns, 12000 + train_ns);
    assert_true(pump.cc.u.solar.queue < 0.001);
    /* What is more than that is one. */
    const int64_t later_ns = 1000000;
    assert_int_equal(send_all(later_ns), 20);
    hear(24000 + train_ns, later_ns + 24000 + train_ns);
    assert_true(pump.cc.u.solar.queue > 0.9);
}

static void where_hosts_hold_packets_up_a_queue_is_one_that_stands(void **state)
{
    (void)state;
    start_pump(UINT64_MAX);
    pump_set_hold(&pump, 1000000);
    int64_t now_ns = 1000000;
    for (int i = 0; i < 3 * PUMP_QUEUES; i++, now_ns += 1000000) {
        pump_send(&pump, 0, 0, (uint16_t)PACKET, now_ns);
        hear(i % 4 == 0 ? 12000 : 48000, now_ns + (i % 4 == 0 ? 12000 : 48000));
    }
    assert_true(pump.cc.u.solar.queue < 0.001);
    for (int i = 0; i < PUMP_QUEUES + 1; i++, now_ns += 1000000) {
        pump_send(&pump, 0, 0, (uint16_t)PACKET, now_ns);
        hear(48000, now_ns + 48000);
    }
    assert_true(pump.cc.u.solar.queue > 2.9);
}

static void what_an_absence_kept_back_goes_at_once(void **state)
{
    (void)state;
    start_pump(UINT64_MAX);
    pump_set_hold(&pump, INT64_C(100000000));
    pump.cc.rate_bps = 1e9; /* 32.5 us a packet */
    assert_int_equal(send_all(0), 1);
    assert_int_equal(send_all(330000), 1); /* it did not want to send */
    pump_note_absence(&pump, 325000);
    assert_in_range(send_all(700000), 10, 12);
    /* At most so much, however long it was away; what was in flight has arrived. */
    pump_note_absence(&pump, INT64_C(90000000));
    const int64_t now_ns = INT64_C(100000000);
    hear(now_ns - 700000, now_ns);
    pump.cc.rate_bps = 1e9;
    assert_in_range(send_all(now_ns), PUMP_CATCH_UP_NS / 32512, PUMP_CATCH_UP_NS / 32512 + 2);
}

static void what_the_receiver_holds_lengthens_the_window(void **state)
{
    (void)state;
    const int64_t window = (150000 + 4160) / PACKET * PACKET;
    struct wire_ack held = {.hold_ns = 24000, .credit_bytes = UINT64_MAX, .next_psn = 1};
    start_pump(UINT64_MAX);
    for (int64_t now_ns = 0; now_ns < 100000; now_ns += 10)
        send_all(now_ns);
    assert_int_equal(track.flight_bytes, window);
    assert_ok(pump_on_ack(&pump, &held, 100000, &err));
    send_all(200000);
    assert_in_range(track.flight_bytes, 0, window); /* it does not count as long as none is set */
    pump_set_hold(&pump, 12000);
    held.arrived = 1;
    assert_ok(pump_on_ack(&pump, &held, 200000, &err));
    pump.cc.rate_bps = 1e11;
    for (int64_t now_ns = 200000; now_ns < 300000; now_ns += 10)
        send_all(now_ns);
    assert_int_equal(track.flight_bytes, (150000 + 4160 + 150000) / PACKET * PACKET);
}

static void a_pump_repairs_before_it_sends_new(void **state)
{
    (void)state;
    start_pump(10 * PACKET);
    pump_send(&pump, 7, 0, (uint16_t)PACKET, 0);
    pump_on_tick(&pump, pump_deadline_ns(&pump));
    int64_t ready_ns;
    assert_int_equal(pump_next(&pump, PACKET, 10000000, &ready_ns), PUMP_REPAIR);
    assert_int_equal(pump_repair(&pump, 10000000)->token, 7);
    assert_true(cc_rate_bps(&pump.cc) <= INT64_C(100000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_sender_may_start_with_the_whole_pool),
        cmocka_unit_test(one_that_sends_alone_may_fill_the_receivers_socket),
        cmocka_unit_test(what_waits_in_the_receivers_socket_waits_in_no_switch),
        cmocka_unit_test(many_senders_announce_first),
        cmocka_unit_test(several_pools_start_many_sooner),
        cmocka_unit_test(what_is_outstanding_never_exceeds_the_pool),
        cmocka_unit_test(grants_follow_the_weights),
        cmocka_unit_test(one_that_lies_gains_nothing),
        cmocka_unit_test(one_that_leaves_gives_back),
        cmocka_unit_test(one_that_is_silent_leaves_the_line_to_others_and_comes_back),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(a_pump_sends_no_more_than_credit),
        cmocka_unit_test(a_pump_sends_no_more_than_the_product),
        cmocka_unit_test(a_pump_that_sprays_sends_what_waits_in_queues_too),
        cmocka_unit_test(a_pump_without_credit_probes_and_again),
        cmocka_unit_test(rests_of_credit_do_not_stop_an_incast),
        cmocka_unit_test(a_pump_with_packets_on_their_way_sends_whole_ones),
        cmocka_unit_test(a_pump_paces),
        cmocka_unit_test(a_burst_leaves_whole_and_is_paced),
        cmocka_unit_test(bursts_of_those_who_share_a_line_are_as_much_as_one),
        cmocka_unit_test(the_own_burst_is_no_queue_of_others),
        cmocka_unit_test(where_hosts_hold_packets_up_a_queue_is_one_that_stands),
        cmocka_unit_test(what_an_absence_kept_back_goes_at_once),
        cmocka_unit_test(what_the_receiver_holds_lengthens_the_window),
        cmocka_unit_test(a_pump_repairs_before_it_sends_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
