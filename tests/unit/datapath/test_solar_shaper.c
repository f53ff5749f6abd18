/*
 * tests/unit/datapath/test_solar_shaper.c - ternary rules and token buckets.
 */
#include "tests/unit/test.h"

#include "datapath/solar/shaper.h"

static struct shaper shaper;

static struct shaper_key key_of_label(uint32_t label)
{
    struct shaper_fields fields = {.label = label, .qp = 5, .priority = 3, .message_kib = 64};
    return shaper_key_of(&fields);
}

static struct shaper_rule rule_of(uint32_t id, uint32_t label, int priority,
                                  enum shaper_action action)
{
    struct shaper_rule rule = {.id = id,
                               .value = {.high = (uint64_t)label << 32},
                               .mask = {.high = UINT64_C(0xffffffff) << 32},
                               .priority = priority,
                               .action = action};
    if (action == SHAPER_LIMIT) {
        rule.rate_bps = 8000000; /* a byte a microsecond */
        rule.burst_bytes = 1000;
    }
    return rule;
}

static enum shaper_action passes(struct shaper_key key, int64_t bytes, int64_t now_ns)
{
    int64_t ready_ns;
    return shaper_pass(&shaper, key, bytes, now_ns, &ready_ns);
}

static void load(const struct shaper_rule *rules, size_t count)
{
    struct err err = ERR_INIT;
    assert_ok(shaper_load(&shaper, rules, count, 0, &err));
}

static void the_highest_priority_decides(void **state)
{
    (void)state;
    shaper.count = 0;
    struct shaper_rule rules[] = {
        {.id = 1, .priority = 0, .action = SHAPER_DROP}, /* a mask of 0 matches all */
        rule_of(2, 42, 10, SHAPER_PASS),
        rule_of(3, 43, 10, SHAPER_PASS),
    };
    rules[2].mask.high |= 0xff, rules[2].value.high |= 2; /* only of tensor class 2 */
    load(rules, 3);
    assert_int_equal(passes(key_of_label(42), 1, 0), SHAPER_PASS);
    assert_int_equal(passes(key_of_label(43), 1, 0), SHAPER_DROP);
    assert_int_equal(passes(key_of_label(44), 1, 0), SHAPER_DROP);
    assert_int_equal(shaper_find(&shaper, 2)->packets, 1);
    assert_int_equal(shaper_find(&shaper, 1)->refused, 2);
    load(rules, 0);
    assert_int_equal(passes(key_of_label(44), 1, 0), SHAPER_PASS);
}

static void each_field_of_the_key_can_be_matched(void **state)
{
    (void)state;
    struct shaper_fields fields = {0};
    struct shaper_key none = shaper_key_of(&fields), key, seen = {0};
    assert_true(none.high == 0 && none.low == 0);
    const struct shaper_fields each[] = {
        {.label = UINT32_MAX}, {.qp = UINT16_MAX}, {.priority = 255},           {.tensor = 255},
        {.path = 255},         {.type = 255},      {.message_kib = UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        key = shaper_key_of(&each[i]);
        assert_true((key.high | key.low) != 0);
        assert_true((key.high & seen.high) == 0 && (key.low & seen.low) == 0);
        seen.high |= key.high, seen.low |= key.low;
    }
}

static void a_limit_holds_its_rate(void **state)
{
    (void)state;
    shaper.count = 0;
    struct shaper_rule rule = rule_of(1, 42, 1, SHAPER_LIMIT);
    load(&rule, 1);
    int64_t sent = 0, ready_ns;
    for (int64_t now_ns = 0; now_ns < 1000000000;) {
        if (shaper_pass(&shaper, key_of_label(42), 300, now_ns, &ready_ns) == SHAPER_PASS) {
            sent += 300;
            continue;
        }
        assert_true(ready_ns > now_ns);
        now_ns = ready_ns;
    }
    /* a second at a byte a microsecond, a burst, and one packet of debt */
    assert_true(sent >= 1000000 && sent <= 1000000 + 1000 + 300);
}

static void the_first_burst_has_its_size(void **state)
{
    (void)state;
    shaper.count = 0;
    struct shaper_rule rule = rule_of(1, 42, 1, SHAPER_LIMIT);
    load(&rule, 1);
    assert_int_equal(passes(key_of_label(42), 999, 0), SHAPER_PASS);
    assert_int_equal(passes(key_of_label(42), 1, 0), SHAPER_PASS);
    assert_int_equal(passes(key_of_label(42), 1, 0), SHAPER_LIMIT);
    assert_int_equal(passes(key_of_label(42), 1, 1), SHAPER_PASS);
}

static void a_rule_that_stays_keeps_bucket_and_counters(void **state)
{
    (void)state;
    shaper.count = 0;
    struct shaper_rule rules[] = {rule_of(1, 42, 1, SHAPER_LIMIT), rule_of(2, 7, 9, SHAPER_DROP)};
    load(rules, 1);
    assert_int_equal(passes(key_of_label(42), 5000, 0), SHAPER_PASS);
    load(rules, 2);
    assert_int_equal(shaper_find(&shaper, 1)->bytes, 5000);
    assert_int_equal(passes(key_of_label(42), 1, 0), SHAPER_LIMIT);
    rules[0].burst_bytes++; /* another rule */
    load(rules, 2);
    assert_int_equal(shaper_find(&shaper, 1)->bytes, 0);
    assert_int_equal(passes(key_of_label(42), 1, 0), SHAPER_PASS);
}

static void the_table_is_finite_and_changes_as_a_whole(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct shaper_rule rules[SHAPER_RULES_MAX + 1];
    for (uint32_t i = 0; i <= SHAPER_RULES_MAX; i++)
        rules[i] = rule_of(i, i, 1, SHAPER_DROP);
    shaper.count = 0;
    load(rules, SHAPER_RULES_MAX);
    assert_int_equal(passes(key_of_label(SHAPER_RULES_MAX - 1), 1, 0), SHAPER_DROP);
    assert_fails(shaper_load(&shaper, rules, SHAPER_RULES_MAX + 1, 0, &err), ERR_LIMIT);
    rules[3].priority = -1;
    assert_fails(shaper_load(&shaper, rules, 4, 0, &err), ERR_INVALID);
    assert_string_equal(err.pointer, "/3");
    assert_int_equal(shaper.count, SHAPER_RULES_MAX);
}

static void rules_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    const struct shaper_rule good = rule_of(1, 42, 1, SHAPER_LIMIT);
    struct shaper_rule bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].priority = SHAPER_PRIORITY_MAX + 1;
    bad[1].value.low = 1;
    bad[2].action = (enum shaper_action)9;
    bad[3].rate_bps = 0;
    bad[4].rate_bps = BUCKET_RATE_MAX_BPS + 1;
    bad[5].burst_bytes = 0;
    bad[6].burst_bytes = BUCKET_BURST_MAX_BYTE + 1;
    bad[7].action = SHAPER_PASS; /* with a rate */
    bad[8].value.high |= 1;
    for (int i = 0; i < 9; i++)
        assert_fails(shaper_load(&shaper, &bad[i], 1, 0, &err), ERR_INVALID);
    struct shaper_rule twice[2] = {good, good};
    assert_fails(shaper_load(&shaper, twice, 2, 0, &err), ERR_CONFLICT);
    assert_contains(err.text, "twice");
    twice[1].id = 2;
    assert_fails(shaper_load(&shaper, twice, 2, 0, &err), ERR_CONFLICT);
    assert_contains(err.text, "same priority");
    twice[1].priority = SHAPER_PRIORITY_MAX;
    twice[1].rate_bps = BUCKET_RATE_MAX_BPS, twice[1].burst_bytes = BUCKET_BURST_MAX_BYTE;
    load(twice, 2);
}

static void a_bucket_is_exact_at_any_rate(void **state)
{
    (void)state;
    static const int64_t rates[] = {1, 7, 999999937, INT64_C(399999999989), BUCKET_RATE_MAX_BPS};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct bucket b;
        bucket_init(&b, rates[i], 1, 0);
        for (int k = 0; k < 1000; k++)
            bucket_take(&b, 1, 0);
        __int128 wanted = (__int128)8000000000 * 1000 / rates[i];
        assert_true(b.full_ns == (int64_t)wanted);
    }
}

static void a_bucket_survives_the_end_of_time(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 1, BUCKET_BURST_MAX_BYTE, 0);
    for (int i = 0; i < 10; i++)
        bucket_take(&b, BUCKET_BURST_MAX_BYTE, 0);
    assert_false(bucket_has(&b, 0));
    assert_true(b.full_ns > 0);
    bucket_retune(&b, BUCKET_RATE_MAX_BPS, 1000, 0);
    assert_false(bucket_has(&b, 0)); /* still in debt, but not for years */
    assert_true(bucket_ready_ns(&b) < 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_priority_decides),
        cmocka_unit_test(each_field_of_the_key_can_be_matched),
        cmocka_unit_test(a_limit_holds_its_rate),
        cmocka_unit_test(the_first_burst_has_its_size),
        cmocka_unit_test(a_rule_that_stays_keeps_bucket_and_counters),
        cmocka_unit_test(the_table_is_finite_and_changes_as_a_whole),
        cmocka_unit_test(rules_that_make_no_sense_are_refused),
        cmocka_unit_test(a_bucket_is_exact_at_any_rate),
        cmocka_unit_test(a_bucket_survives_the_end_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
