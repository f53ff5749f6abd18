/*
 * tests/unit/datapath/test_solar_cc.c - laws of congestion control on one queue in the fluid limit
 * (rates, a queue that integrates, feedback a round trip late), and under hostile input.
 */
#include "tests/unit/test.h"

#include <float.h>
#include <math.h>

#include "datapath/solar/cc.h"

#define LINE_BPS  INT64_C(100000000000)
#define RTT_NS    INT64_C(12000)
#define FLOWS_MAX 64
#define STEPS     8 /* a round trip */

/* A queue of one link and its senders. Its unit is the round trip: queue 1 = one BDP. */
struct fluid {
    struct cc flows[FLOWS_MAX];
    int count;
    bool marks;       /* ECN on a line from 0 to 0.5 of a BDP, and no delay seen */
    bool tells_total; /* as the receiver does */
    bool telemetry;
    double load; /* of the link in the last step */
    double queue, seen[STEPS];
    int64_t step;
    /* Of the second half. */
    double carried, offered, queue_sum, queue_max, sent[FLOWS_MAX];
};

static void fluid_start(struct fluid *f, enum cc_kind kind, int count)
{
    struct err err = ERR_INIT;
    *f = (struct fluid){.count = count, .tells_total = true};
    struct cc_params params = cc_defaults(LINE_BPS, RTT_NS, 1500);
    for (int i = 0; i < count; i++)
        assert_ok(cc_init(&f->flows[i], kind, &params, &err));
}

static void start_at(struct cc *cc, double share)
{
    cc->rate_bps = share * (double)LINE_BPS;
    switch (cc->kind) {
    case CC_SOLAR:
    case CC_SOLAR_LITERAL:
        cc->u.solar.alpha = share;
        break;
    case CC_DCQCN:
        cc->u.dcqcn.target_bps = cc->rate_bps;
        break;
    case CC_SWIFT:
        cc->u.swift.window = share * cc->bdp_bytes / 1500;
        break;
    case CC_HPCC:
        cc->u.hpcc.base_bytes = cc->window_bytes = share * cc->bdp_bytes;
        break;
    }
}

/* Unequal beginnings, as of flows that come one after the other. */
static void fluid_spread(struct fluid *f)
{
    for (int i = 0; i < f->count; i++) {
        double share = (i + 1.0) / f->count / f->count;
        start_at(&f->flows[i], share);
    }
}

/* One has 65 % of the link, the others 5 % each: Jain 0.28 for eight. */
static void fluid_incumbent(struct fluid *f)
{
    for (int i = 0; i < f->count; i++) {
        double share = i == 0 ? 0.65 : 0.05;
        start_at(&f->flows[i], share);
    }
}

/* What a sender sends: its rate, or its window in a round trip with the queue. */
static double share_sent(const struct fluid *f, int i)
{
    const struct cc *cc = &f->flows[i];
    double by_window = cc->window_bytes * 8e9 / (double)RTT_NS / (1 + f->queue);
    return fmin(cc->rate_bps, by_window) / (double)LINE_BPS;
}

static void acknowledge(struct fluid *f, int i, double queue, double carried)
{
    double marked = queue * 2 > 1 ? 1 : queue * 2;
    double bytes = share_sent(f, i) * (double)LINE_BPS / 8e9 * (double)RTT_NS / STEPS * carried;
    struct cc_ack ack = {.now_ns = f->step * RTT_NS / STEPS,
                         .rtt_ns = f->marks ? RTT_NS : RTT_NS + (int64_t)(queue * RTT_NS),
                         .queue_ns = -1,
                         .acked_bytes = (int64_t)bytes,
                         .packets = f->marks ? 1000 : 0,
                         .marked = f->marks ? (int64_t)(marked * 1000) : -1,
                         .weight_total = f->tells_total ? f->count : 0,
                         .utilisation = f->telemetry ? queue + f->load : -1};
    cc_on_ack(&f->flows[i], &ack);
}

static void fluid_run(struct fluid *f, int rounds)
{
    int64_t last = f->step + (int64_t)rounds * STEPS, half = f->step + (int64_t)rounds * STEPS / 2;
    for (; f->step < last; f->step++) {
        double offered = 0;
        for (int i = 0; i < f->count; i++)
            offered += share_sent(f, i);
        double carried = f->queue > 0 || offered > 1 ? 1 : offered;
        double late = f->seen[f->step % STEPS]; /* the queue of a round trip ago */
        f->seen[f->step % STEPS] = f->queue;
        f->load = carried;
        f->queue = fmax(0, f->queue + (offered - 1) / STEPS);
        for (int i = 0; i < f->count; i++)
            acknowledge(f, i, late, offered > 0 ? carried / offered : 1);
        if (f->step < half)
            continue;
        f->carried += carried * 2 / rounds / STEPS;
        f->queue_sum += f->queue * 2 / rounds / STEPS;
        f->queue_max = fmax(f->queue_max, f->queue);
        for (int i = 0; i < f->count; i++)
            f->sent[i] += share_sent(f, i);
    }
}

/* Jain's index of what was sent, each divided by its weight: 1 = fair, 1/N = one has all. */
static double fairness(const struct fluid *f)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < f->count; i++) {
        double x = f->sent[i] / f->flows[i].params.weight;
        sum += x;
        squares += x * x;
    }
    return sum * sum / f->count / squares;
}

static void the_stable_form_is_fair(void **state)
{
    (void)state;
    static struct fluid f;
    static const int counts[] = {2, 8, FLOWS_MAX};
    for (int marks = 0; marks < 2; marks++)
        for (size_t i = 0; i < 3; i++) {
            fluid_start(&f, CC_SOLAR, counts[i]);
            f.marks = marks;
            fluid_spread(&f);
            fluid_run(&f, 4000);
            print_message("# solar %s N=%d: Jain %.4f, link %.3f, queue %.2f (most %.2f) BDP\n",
                          marks ? "ECN" : "delay", f.count, fairness(&f), f.carried, f.queue_sum,
                          f.queue_max);
            assert_true(fairness(&f) >= 0.99);
            assert_true(f.carried >= 0.99);
            assert_true(f.queue_max <= 0.3);
        }
}

static void without_the_total_the_stable_form_is_fair_too(void **state)
{
    (void)state;
    static struct fluid f;
    fluid_start(&f, CC_SOLAR, 16);
    f.tells_total = false;
    fluid_spread(&f);
    fluid_run(&f, 4000);
    assert_true(fairness(&f) >= 0.99);
    assert_true(f.carried >= 0.95);
}

static void shares_follow_the_weights(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static struct fluid f;
    fluid_start(&f, CC_SOLAR, 4);
    f.tells_total = false;
    for (int i = 0; i < 4; i++) {
        struct cc_params params = f.flows[i].params;
        params.weight = i + 1;
        params.weight_assumed = 10;
        assert_ok(cc_retune(&f.flows[i], &params, &err));
    }
    fluid_run(&f, 4000);
    assert_true(fairness(&f) >= 0.999);
    assert_true(f.sent[3] > 3.8 * f.sent[0] && f.sent[3] < 4.2 * f.sent[0]);
}

/* Gains that a queue of eight is stable under, so that fairness is seen apart from swinging. */
static void slow_gain(struct fluid *f, double reward_rate)
{
    struct err err = ERR_INIT;
    for (int i = 0; i < f->count; i++) {
        struct cc_params params = f->flows[i].params;
        params.eta = 0.001;
        params.damping = 8;
        params.reward_rate = reward_rate;
        assert_ok(cc_retune(&f->flows[i], &params, &err));
    }
}

static void the_literal_form_keeps_the_first_distances(void **state)
{
    (void)state;
    static struct fluid f;
    fluid_start(&f, CC_SOLAR_LITERAL, 8);
    slow_gain(&f, 0);
    fluid_incumbent(&f);
    fluid_run(&f, 20000);
    print_message("# literal N=8: Jain %.4f, link %.3f, queue %.2f (most %.2f) BDP\n", fairness(&f),
                  f.carried, f.queue_sum, f.queue_max);
    assert_true(fairness(&f) < 0.5);
    assert_true(f.queue_max < 1); /* it has settled, and stays there */
}

static void the_literal_form_with_a_growing_reward_lets_one_win(void **state)
{
    (void)state;
    static struct fluid f;
    fluid_start(&f, CC_SOLAR_LITERAL, 8);
    slow_gain(&f, 1);
    fluid_spread(&f);
    fluid_run(&f, 20000);
    assert_true(fairness(&f) < 0.2);
}

static void the_references_share_a_link(void **state)
{
    (void)state;
    static struct fluid f;
    static const struct {
        enum cc_kind kind;
        bool marks;
        double fair, carried;
        int rounds; /* DCQCN converges in tens of milliseconds */
    } rows[] = {
        {CC_DCQCN, true, 0.9, 0.8, 40000},
        {CC_SWIFT, false, 0.9, 0.9, 4000},
        {CC_HPCC, false, 0.9, 0.8, 4000},
    };
    for (size_t i = 0; i < 3; i++) {
        fluid_start(&f, rows[i].kind, 4);
        f.marks = rows[i].marks;
        f.telemetry = rows[i].kind == CC_HPCC;
        fluid_incumbent(&f);
        fluid_run(&f, rows[i].rounds);
        print_message("# %s N=4: Jain %.4f, link %.3f, queue %.2f (most %.2f) BDP\n",
                      cc_kind_name(rows[i].kind), fairness(&f), f.carried, f.queue_sum,
                      f.queue_max);
        assert_true(fairness(&f) >= rows[i].fair);
        assert_true(f.carried >= rows[i].carried);
    }
}

static void the_window_is_the_least_of_bdp_and_credit(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct cc_params params = cc_defaults(LINE_BPS, RTT_NS, 1500);
    int64_t bdp = 150000 + 1500;
    for (int kind = 0; kind < CC_KINDS; kind++) {
        struct cc cc;
        assert_ok(cc_init(&cc, (enum cc_kind)kind, &params, &err));
        assert_int_equal(cc_window_bytes(&cc, INT64_MAX), bdp);
        assert_int_equal(cc_window_bytes(&cc, bdp + 1), bdp);
        assert_int_equal(cc_window_bytes(&cc, bdp - 1), bdp - 1);
        assert_int_equal(cc_window_bytes(&cc, 0), 0);
        assert_int_equal(cc_window_bytes(&cc, -1), 0);
        assert_int_equal(cc_rate_bps(&cc), LINE_BPS);
    }
}

/* Rate after an acknowledgement with this delay, a loss, and one more. */
static int64_t rate_after_loss(enum cc_kind kind, int64_t queue_ns)
{
    struct err err = ERR_INIT;
    struct cc_params params = cc_defaults(LINE_BPS, RTT_NS, 1500);
    struct cc cc;
    assert_ok(cc_init(&cc, kind, &params, &err));
    struct cc_ack ack = {.now_ns = 1000000,
                         .rtt_ns = RTT_NS + queue_ns,
                         .queue_ns = -1,
                         .acked_bytes = 1500,
                         .marked = -1,
                         .utilisation = queue_ns > 0 ? 2 : -1};
    cc_on_ack(&cc, &ack);
    ack.now_ns += 2 * RTT_NS;
    cc_on_loss(&cc, ack.now_ns, 1500);
    cc_on_ack(&cc, &ack);
    return cc_rate_bps(&cc);
}

static void loss_with_a_queue_makes_each_law_slower(void **state)
{
    (void)state;
    for (int kind = 0; kind < CC_KINDS; kind++)
        assert_true(rate_after_loss((enum cc_kind)kind, RTT_NS) < LINE_BPS * 9 / 10);
}

static void loss_without_a_queue_is_no_congestion_for_solar(void **state)
{
    (void)state;
    assert_int_equal(rate_after_loss(CC_SOLAR, 0), LINE_BPS);
}

static void hostile_input_leaves_all_in_range(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, 1500, 12001, INT64_MAX / 2, INT64_MAX};
    const double reals[] = {NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, DBL_MIN, 0, 1};
    struct cc_params params = cc_defaults(LINE_BPS, RTT_NS, 1500);
    params.eta = 1, params.beta = params.damping = params.reward_rate = CC_GAIN_MAX;
    uint64_t x = 7;
    for (int kind = 0; kind < CC_KINDS; kind++) {
        struct cc cc;
        assert_ok(cc_init(&cc, (enum cc_kind)kind, &params, &err));
        for (int i = 0; i < 20000; i++) {
            int pick[10];
            for (int k = 0; k < 10; k++) {
                x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
                pick[k] = (int)(x >> 40 & 7);
            }
            struct cc_ack ack = {numbers[pick[0]], numbers[pick[1]], numbers[pick[2]],
                                 numbers[pick[3]], numbers[pick[4]], numbers[pick[5]],
                                 numbers[pick[9]], reals[pick[6]],   reals[pick[7]]};
            if (pick[8] == 0)
                cc_on_loss(&cc, numbers[pick[0]], numbers[pick[1]]);
            else if (pick[8] == 1)
                cc_on_tick(&cc, numbers[pick[0]]);
            else
                cc_on_ack(&cc, &ack);
            int64_t rate = cc_rate_bps(&cc), window = cc_window_bytes(&cc, INT64_MAX);
            assert_true(rate >= (int64_t)((double)LINE_BPS * CC_SHARE_MIN) - 1 && rate <= LINE_BPS);
            assert_true(window >= 1 && window <= 151500);
        }
    }
}

#define refuses(member, value)                                                                     \
    do {                                                                                           \
        p = good;                                                                                  \
        p.member = (value);                                                                        \
        assert_fails(cc_init(&cc, CC_SOLAR, &p, &err), ERR_INVALID);                               \
        assert_contains(err.text, #member);                                                        \
    } while (0)
#define takes(member, value)                                                                       \
    do {                                                                                           \
        p = good;                                                                                  \
        p.member = (value);                                                                        \
        assert_ok(cc_init(&cc, CC_SOLAR, &p, &err));                                               \
    } while (0)

static void parameters_out_of_range_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct cc cc;
    const struct cc_params good = cc_defaults(LINE_BPS, RTT_NS, 1500);
    struct cc_params p;
    refuses(line_bps, CC_RATE_MIN_BPS - 1);
    refuses(line_bps, CC_RATE_MAX_BPS + 1);
    takes(line_bps, CC_RATE_MIN_BPS);
    takes(line_bps, CC_RATE_MAX_BPS);
    refuses(base_rtt_ns, CC_RTT_MIN_NS - 1);
    refuses(base_rtt_ns, CC_RTT_MAX_NS + 1);
    takes(base_rtt_ns, CC_RTT_MIN_NS);
    takes(base_rtt_ns, CC_RTT_MAX_NS);
    refuses(packet_bytes, CC_PACKET_MIN - 1);
    refuses(packet_bytes, CC_PACKET_MAX + 1);
    refuses(eta, 0);
    refuses(eta, 1.01);
    refuses(eta, NAN);
    refuses(beta, 0);
    refuses(beta, INFINITY);
    refuses(damping, -1);
    refuses(weight, 0);
    refuses(weight, 9); /* above weight_assumed */
    takes(weight, 8);
    refuses(weight_assumed, CC_WEIGHT_MAX + 1);
}

static void laws_have_names(void **state)
{
    (void)state;
    enum cc_kind kind;
    for (int i = 0; i < CC_KINDS; i++) {
        assert_true(cc_kind_from_name(cc_kind_name((enum cc_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    assert_false(cc_kind_from_name("reno", &kind));
}

/* A sender that is told of the same queue each `every` round trips, `rounds` times in all. */
static double share_after(int64_t every, int64_t hold_ns, int64_t queue_ns, int rounds)
{
    struct cc cc;
    struct err err = ERR_INIT;
    struct cc_params params = cc_defaults(LINE_BPS, RTT_NS, 1500);
    assert_int_equal(cc_init(&cc, CC_SOLAR, &params, &err), ERR_OK);
    start_at(&cc, 0.05);
    for (int64_t i = 1; i <= rounds; i += every)
        cc_on_ack(&cc, &(struct cc_ack){.now_ns = i * RTT_NS,
                                        .rtt_ns = -1,
                                        .queue_ns = queue_ns,
                                        .hold_ns = hold_ns,
                                        .packets = 1,
                                        .marked = -1,
                                        .weight_total = 4,
                                        .utilisation = -1});
    return cc.rate_bps / (double)LINE_BPS;
}

static void who_hears_seldom_grows_as_fast(void **state)
{
    (void)state;
    double often = share_after(1, 0, 0, 81), seldom = share_after(4, 0, 0, 81);
    assert_true(fabs(often - 0.05 - 81 / 32.0 / 4) < 1e-9);
    assert_true(fabs(seldom - 0.05 - (1 + 80) / 32.0 / 4) < 1e-9);
    double silent = share_after(80, 0, 0, 81); /* but what one acknowledgement does is bounded */
    assert_true(fabs(silent - 0.05 - (1 + CC_STEPS_MAX) / 32.0 / 4) < 1e-9);
}

/* alpha = w / (beta q): q is a share of the whole round trip. */
static void what_hosts_hold_up_is_no_queue(void **state)
{
    (void)state;
    assert_true(fabs(share_after(1, 0, RTT_NS / 4, 5000) - 0.25) < 1e-3);
    assert_true(fabs(share_after(1, 9 * RTT_NS, RTT_NS * 10 / 4, 50000) - 0.25) < 1e-3);
    assert_true(fabs(share_after(1, 0, RTT_NS * 10 / 4, 5000) - 0.025) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stable_form_is_fair),
        cmocka_unit_test(without_the_total_the_stable_form_is_fair_too),
        cmocka_unit_test(shares_follow_the_weights),
        cmocka_unit_test(the_literal_form_keeps_the_first_distances),
        cmocka_unit_test(the_literal_form_with_a_growing_reward_lets_one_win),
        cmocka_unit_test(the_references_share_a_link),
        cmocka_unit_test(the_window_is_the_least_of_bdp_and_credit),
        cmocka_unit_test(loss_with_a_queue_makes_each_law_slower),
        cmocka_unit_test(loss_without_a_queue_is_no_congestion_for_solar),
        cmocka_unit_test(hostile_input_leaves_all_in_range),
        cmocka_unit_test(parameters_out_of_range_are_refused),
        cmocka_unit_test(laws_have_names),
        cmocka_unit_test(who_hears_seldom_grows_as_fast),
        cmocka_unit_test(what_hosts_hold_up_is_no_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
