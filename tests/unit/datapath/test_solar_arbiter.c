/*
 * tests/unit/datapath/test_solar_arbiter.c - who sends next on a line: guarantees, weights, limits
 * between labels; order and ageing inside one.
 */
#include "tests/unit/test.h"

#include "datapath/solar/arbiter.h"

#define LINE_BPS INT64_C(10000000000)
#define QUANTUM  INT64_C(10000) /* 8 us of the line */
#define AGE_NS   INT64_C(100000)
#define MS       INT64_C(1000000)

static struct arbiter a;
static int64_t now_ns;
static int64_t idle_ns;
static int64_t gaps_ns[ARBITER_ENTRIES_MAX]; /* longest wait of a token, where looked for */
static int64_t served_ns[ARBITER_ENTRIES_MAX];

static void start(enum arbiter_order order)
{
    struct err err = ERR_INIT;
    struct arbiter_config config = {QUANTUM, AGE_NS, order};
    assert_ok(arbiter_init(&a, &config, &err));
    now_ns = idle_ns = 0;
    memset(gaps_ns, 0, sizeof(gaps_ns));
    memset(served_ns, 0, sizeof(served_ns));
}

static void label(uint32_t id, int64_t guarantee_bps, int64_t limit_bps, int weight)
{
    struct err err = ERR_INIT;
    struct arbiter_share share = {guarantee_bps, limit_bps, weight};
    assert_ok(arbiter_label_set(&a, id, &share, now_ns, &err));
}

static uint16_t push(uint32_t id, uint8_t tensor, int64_t bytes, uint32_t token)
{
    struct err err = ERR_INIT;
    uint16_t entry;
    assert_ok(arbiter_push(&a, id, tensor, bytes, token, now_ns, &entry, &err));
    served_ns[token] = now_ns;
    return entry;
}

/* The line sends for a while; returns the first token that was done, -1 = none. With `endless`
 * no message gets smaller. */
static int64_t run(int64_t span_ns, bool endless)
{
    for (int64_t end_ns = now_ns + span_ns; now_ns < end_ns;) {
        struct arbiter_grant grant;
        int64_t ready_ns;
        if (!arbiter_pick(&a, now_ns, &grant, &ready_ns)) {
            int64_t then_ns = ready_ns < end_ns ? ready_ns : end_ns;
            assert_true(then_ns > now_ns);
            idle_ns += then_ns - now_ns;
            now_ns = then_ns;
            continue;
        }
        assert_true(grant.bytes >= 1 && grant.bytes <= QUANTUM);
        int64_t waited = now_ns - served_ns[grant.token];
        if (waited > gaps_ns[grant.token])
            gaps_ns[grant.token] = waited;
        now_ns += grant.bytes * 8000000000 / LINE_BPS;
        served_ns[grant.token] = now_ns;
        if (arbiter_sent(&a, grant.entry, grant.bytes, endless ? 0 : grant.bytes, now_ns))
            return grant.token;
    }
    return -1;
}

static double gbps(uint32_t id, int64_t span_ns)
{
    return (double)arbiter_label_bytes(&a, id) * 8 / (double)span_ns;
}

#define assert_near(value, wanted)                                                                 \
    do {                                                                                           \
        double got_ = (value);                                                                     \
        if (got_ < (wanted)*0.99 || got_ > (wanted)*1.01)                                          \
            fail_msg("%s is %g, wanted %g", #value, got_, (double)(wanted));                       \
    } while (0)

static void weights_divide_the_line(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 0, 0, 1);
    label(2, 0, 0, 3);
    for (uint32_t i = 0; i < 5; i++) /* the number of messages does not count */
        push(1, 1, 1000000, i);
    push(2, 1, 1000000, 5);
    run(100 * MS, true);
    assert_near(gbps(1, 100 * MS), 2.5);
    assert_near(gbps(2, 100 * MS), 7.5);
    assert_int_equal(idle_ns, 0);
}

static void a_guarantee_holds_against_any_weight(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 4000000000, 0, 1);
    label(2, 0, 0, ARBITER_WEIGHT_MAX);
    push(1, 1, 1000000, 0);
    push(2, 1, 1000000, 1);
    run(100 * MS, true);
    assert_near(gbps(1, 100 * MS), 4);
    assert_near(gbps(2, 100 * MS), 6);
}

static void what_guarantees_leave_goes_by_weight(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 4000000000, 0, 1);
    label(2, 0, 0, 1);
    push(1, 1, 1000000, 0);
    push(2, 1, 1000000, 1);
    run(100 * MS, true);
    assert_near(gbps(1, 100 * MS), 7);
    assert_near(gbps(2, 100 * MS), 3);
}

static void guarantees_above_the_line_are_cut_in_proportion(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 5000000000, 0, 1);
    label(2, 15000000000, 0, 1);
    label(3, 0, 0, 100);
    for (uint32_t i = 0; i < 3; i++)
        push(i + 1, 1, 1000000, i);
    run(100 * MS, true);
    assert_near(gbps(1, 100 * MS), 2.5);
    assert_near(gbps(2, 100 * MS), 7.5);
}

static void a_limit_holds_on_an_idle_line(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 0, 2000000000, 1);
    push(1, 1, 1000000, 0);
    run(100 * MS, true);
    assert_near(gbps(1, 100 * MS), 2);
    assert_true(idle_ns > 79 * MS);
}

static void what_a_limit_leaves_is_sent_by_others(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 1000000000, 2000000000, 100);
    label(2, 0, 0, 1);
    push(1, 1, 1000000, 0);
    push(2, 1, 1000000, 1);
    run(100 * MS, true);
    assert_near(gbps(1, 100 * MS), 2);
    assert_near(gbps(2, 100 * MS), 8);
    assert_int_equal(idle_ns, 0);
}

static void one_that_idled_has_no_claim_on_the_past(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 0, 0, 1);
    label(2, 0, 0, 1);
    push(1, 1, 1000000, 0);
    run(50 * MS, true);
    int64_t before = arbiter_label_bytes(&a, 1);
    push(2, 1, 1000000, 1);
    run(10 * MS, true);
    assert_near((double)(arbiter_label_bytes(&a, 1) - before) * 8 / (10 * MS), 5);
}

static void a_change_of_shares_counts_at_once(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 0, 0, 1);
    label(2, 0, 0, 1);
    push(1, 1, 1000000, 0);
    push(2, 1, 1000000, 1);
    run(50 * MS, true);
    label(1, 0, 1000000000, 1);
    int64_t before = arbiter_label_bytes(&a, 1);
    run(50 * MS, true);
    assert_near((double)(arbiter_label_bytes(&a, 1) - before) * 8 / (50 * MS), 1);
    label(1, 0, 3000000000, 1);
    before = arbiter_label_bytes(&a, 1);
    run(50 * MS, true);
    assert_near((double)(arbiter_label_bytes(&a, 1) - before) * 8 / (50 * MS), 3);
}

static void repair_counts_against_the_label_not_the_message(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 0, 0, 1);
    uint16_t entry = push(1, 1, 100, 0);
    assert_false(arbiter_sent(&a, entry, 5000, 0, now_ns));
    assert_int_equal(arbiter_label_bytes(&a, 1), 5000);
    assert_true(arbiter_sent(&a, entry, 150, 100, now_ns));
    struct arbiter_grant grant;
    int64_t ready_ns;
    assert_false(arbiter_pick(&a, now_ns, &grant, &ready_ns));
    assert_true(ready_ns == INT64_MAX);
}

static void the_smallest_goes_first(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 0, 0, 1);
    push(1, 1, 80000, 0);
    push(1, 1, 20000, 1);
    push(1, 1, 40000, 2);
    assert_int_equal(run(MS, false), 1);
    assert_int_equal(run(MS, false), 2);
    assert_int_equal(run(MS, false), 0);
}

static void the_largest_goes_first_where_chosen(void **state)
{
    (void)state;
    start(ARBITER_LARGE_FIRST);
    label(1, 0, 0, 1);
    push(1, 1, 20000, 0);
    push(1, 1, 160000, 1);
    struct arbiter_grant grant;
    int64_t ready_ns;
    assert_true(arbiter_pick(&a, now_ns, &grant, &ready_ns));
    assert_int_equal(grant.token, 1);
    push(1, 0, 160000, 2); /* control goes first in either order */
    assert_true(arbiter_pick(&a, now_ns, &grant, &ready_ns));
    assert_int_equal(grant.token, 2);
}

static void nobody_waits_longer_than_the_bound(void **state)
{
    (void)state;
    for (int order = ARBITER_SMALL_FIRST; order <= ARBITER_LARGE_FIRST; order++) {
        start((enum arbiter_order)order);
        label(1, 0, 0, 1);
        enum { N = 40 };
        for (uint32_t i = 0; i < N; i++) /* all ranks, and none ever gets smaller */
            push(1, (uint8_t)(i % 4), INT64_C(4096) << i % 19, i);
        run(200 * MS, true);
        int64_t bound_ns = arbiter_wait_bound_ns(&a, LINE_BPS, N), most_ns = 0;
        for (uint32_t i = 0; i < N; i++) {
            int64_t waits_ns = now_ns - served_ns[i];
            int64_t longest_ns = waits_ns > gaps_ns[i] ? waits_ns : gaps_ns[i];
            most_ns = longest_ns > most_ns ? longest_ns : most_ns;
            assert_true(served_ns[i] > 0);
        }
        print_message("# longest wait %lld ns, bound %lld\n", (long long)most_ns,
                      (long long)bound_ns);
        assert_true(most_ns <= bound_ns);
    }
}

static void equal_messages_are_sent_one_after_the_other(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 0, 0, 1);
    push(1, 1, 4000000, 0);
    run(QUANTUM * 8000000000 / LINE_BPS, true);
    push(1, 1, 4000000, 1);
    int64_t before = now_ns;
    run(AGE_NS * 9 / 10, true);
    assert_int_equal(gaps_ns[1], 0); /* not served while the first is younger than age_ns */
    assert_int_equal(served_ns[1], before);
}

static void a_parked_message_costs_nobody(void **state)
{
    (void)state;
    start(ARBITER_SMALL_FIRST);
    label(1, 5000000000, 0, 1);
    label(2, 0, 0, 1);
    uint16_t entry = push(1, 1, 1000000, 0);
    push(2, 1, 1000000, 1);
    arbiter_park(&a, entry);
    arbiter_park(&a, entry);
    run(10 * MS, true);
    assert_near(gbps(2, 10 * MS), 10);
    assert_int_equal(arbiter_label_bytes(&a, 1), 0);
    arbiter_unpark(&a, entry, now_ns);
    arbiter_unpark(&a, entry, now_ns);
    run(10 * MS, true);
    assert_near(gbps(1, 10 * MS), 7.5);
    arbiter_park(&a, entry);
    arbiter_remove(&a, entry);
    struct err err = ERR_INIT;
    assert_ok(arbiter_label_drop(&a, 1, &err));
}

static void limits_of_the_table_are_told(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    start(ARBITER_SMALL_FIRST);
    struct arbiter_share share = {.weight = 1};
    for (uint32_t i = 0; i < ARBITER_LABELS_MAX; i++)
        label(i, 0, 0, 1);
    assert_fails(arbiter_label_set(&a, 1000, &share, 0, &err), ERR_LIMIT);
    uint16_t entry;
    for (uint32_t i = 0; i < ARBITER_ENTRIES_MAX; i++)
        push(7, 1, 1, i);
    assert_fails(arbiter_push(&a, 7, 1, 1, 0, 0, &entry, &err), ERR_LIMIT);
    assert_fails(arbiter_push(&a, 1000, 1, 1, 0, 0, &entry, &err), ERR_NOT_FOUND);
    assert_fails(arbiter_push(&a, 7, 1, 0, 0, 0, &entry, &err), ERR_INVALID);
    assert_fails(arbiter_push(&a, 7, 1, ARBITER_MESSAGE_MAX + 1, 0, 0, &entry, &err), ERR_INVALID);
    assert_fails(arbiter_label_drop(&a, 7, &err), ERR_CONFLICT);
    assert_fails(arbiter_label_drop(&a, 1000, &err), ERR_NOT_FOUND);
    assert_ok(arbiter_label_drop(&a, 8, &err));
    assert_int_equal(arbiter_label_bytes(&a, 8), -1);
    assert_ok(arbiter_label_set(&a, 1000, &share, 0, &err));
}

static void shares_out_of_range_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    start(ARBITER_SMALL_FIRST);
    static const struct arbiter_share bad[] = {
        {0, 0, 0},
        {0, 0, ARBITER_WEIGHT_MAX + 1},
        {-1, 0, 1},
        {BUCKET_RATE_MAX_BPS + 1, 0, 1},
        {0, BUCKET_RATE_MAX_BPS + 1, 1},
        {2000, 1999, 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_fails(arbiter_label_set(&a, 1, &bad[i], 0, &err), ERR_INVALID);
    label(1, 2000, 2000, ARBITER_WEIGHT_MAX);
    label(2, BUCKET_RATE_MAX_BPS, BUCKET_RATE_MAX_BPS, 1);
    struct arbiter_config config = {0, AGE_NS, ARBITER_SMALL_FIRST};
    assert_fails(arbiter_init(&a, &config, &err), ERR_INVALID);
    config = (struct arbiter_config){ARBITER_QUANTUM_MAX + 1, AGE_NS, ARBITER_SMALL_FIRST};
    assert_fails(arbiter_init(&a, &config, &err), ERR_INVALID);
    config = (struct arbiter_config){ARBITER_QUANTUM_MAX, 0, ARBITER_SMALL_FIRST};
    assert_fails(arbiter_init(&a, &config, &err), ERR_INVALID);
    config.age_ns = ARBITER_AGE_MAX_NS + 1;
    assert_fails(arbiter_init(&a, &config, &err), ERR_INVALID);
    config.age_ns = ARBITER_AGE_MAX_NS;
    assert_ok(arbiter_init(&a, &config, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_divide_the_line),
        cmocka_unit_test(a_guarantee_holds_against_any_weight),
        cmocka_unit_test(what_guarantees_leave_goes_by_weight),
        cmocka_unit_test(guarantees_above_the_line_are_cut_in_proportion),
        cmocka_unit_test(a_limit_holds_on_an_idle_line),
        cmocka_unit_test(what_a_limit_leaves_is_sent_by_others),
        cmocka_unit_test(one_that_idled_has_no_claim_on_the_past),
        cmocka_unit_test(a_change_of_shares_counts_at_once),
        cmocka_unit_test(repair_counts_against_the_label_not_the_message),
        cmocka_unit_test(the_smallest_goes_first),
        cmocka_unit_test(the_largest_goes_first_where_chosen),
        cmocka_unit_test(nobody_waits_longer_than_the_bound),
        cmocka_unit_test(equal_messages_are_sent_one_after_the_other),
        cmocka_unit_test(a_parked_message_costs_nobody),
        cmocka_unit_test(limits_of_the_table_are_told),
        cmocka_unit_test(shares_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
