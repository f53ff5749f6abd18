/*
 * tests/unit/fleet/test_histogram.c - fixed buckets: ends, merging, quantiles, columns.
 */
#include "tests/unit/test.h"

#include "fleet/histogram.h"

static void a_time_is_in_the_bucket_that_ends_not_before_it(void **state)
{
    (void)state;
    assert_int_equal(histogram_end_ns(0), 256);
    assert_int_equal(histogram_end_ns(1), 362);
    assert_int_equal(histogram_end_ns(2), 512);
    assert_int_equal(histogram_end_ns(HISTOGRAM_BUCKETS - 2), INT64_C(1) << 32);
    assert_true(histogram_end_ns(HISTOGRAM_BUCKETS - 1) == INT64_MAX);
    for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
        assert_true(histogram_end_ns(i) < histogram_end_ns(i + 1));
        assert_int_equal(histogram_bucket(histogram_end_ns(i)), i);
        assert_int_equal(histogram_bucket(histogram_end_ns(i) + 1), i + 1);
    }
    assert_int_equal(histogram_bucket(0), 0);
    assert_int_equal(histogram_bucket(-1), 0);
    assert_int_equal(histogram_bucket(INT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static int64_t quantile(const struct histogram *histogram, unsigned permyriad)
{
    int64_t time_ns = -1;
    assert_true(histogram_quantile_ns(histogram, permyriad, &time_ns));
    return time_ns;
}

static void a_quantile_is_never_better_than_it_was(void **state)
{
    (void)state;
    struct histogram histogram = {{0}};
    int64_t none = 7;
    assert_false(histogram_quantile_ns(&histogram, 5000, &none));
    assert_int_equal(none, 7);
    for (int i = 0; i < 989; i++)
        histogram_add(&histogram, 1000);
    for (int i = 0; i < 10; i++)
        histogram_add(&histogram, 100000);
    histogram_add(&histogram, 5000000);
    assert_int_equal(histogram_count(&histogram), 1000);
    assert_int_equal(quantile(&histogram, 0), 1024);
    assert_int_equal(quantile(&histogram, 5000), 1024);
    assert_int_equal(quantile(&histogram, 9890), 1024);
    assert_int_equal(quantile(&histogram, 9900), 131072);   /* the 990th */
    assert_int_equal(quantile(&histogram, 9990), 131072);   /* the 999th */
    assert_int_equal(quantile(&histogram, 10000), 5931584); /* 4 ms x root 2 */
}

static void parts_add_up_to_the_whole(void **state)
{
    (void)state;
    struct histogram a = {{0}}, b = {{0}}, whole = {{0}}, rest;
    for (int64_t i = 0; i < 1000; i++) {
        histogram_add(i % 3 == 0 ? &a : &b, i * i * 1000);
        histogram_add(&whole, i * i * 1000);
    }
    struct histogram merged = a;
    histogram_merge(&merged, &b);
    assert_memory_equal(&merged, &whole, sizeof(whole));
    assert_true(histogram_between(&a, &whole, &rest));
    assert_memory_equal(&rest, &b, sizeof(b));
    assert_false(histogram_between(&whole, &a, &rest)); /* it began anew */
    assert_memory_equal(&rest, &b, sizeof(b));
}

static void counts_stay_at_their_end(void **state)
{
    (void)state;
    struct histogram a = {{0}}, b = {{0}};
    a.counts[3] = UINT64_MAX - 1;
    b.counts[3] = b.counts[4] = 5;
    histogram_merge(&a, &b);
    assert_true(a.counts[3] == UINT64_MAX);
    assert_true(histogram_count(&a) == UINT64_MAX);
    assert_int_equal(quantile(&a, 9990), histogram_end_ns(3));
}

static void buckets_are_columns(void **state)
{
    (void)state;
    struct telemetry_name name;
    size_t bucket = 99;
    char longest[HISTOGRAM_PREFIX_SIZE + 1];
    assert_true(histogram_column("latency", 7, &name));
    assert_string_equal(name.text, "latency.b7");
    assert_int_equal(name.course, TELEMETRY_STAYS);
    assert_true(histogram_column_find("latency", name.text, &bucket));
    assert_int_equal(bucket, 7);
    memset(longest, 'x', sizeof(longest));
    longest[HISTOGRAM_PREFIX_SIZE] = '\0';
    assert_false(histogram_column(longest, 0, &name));
    assert_true(histogram_column(longest + 1, HISTOGRAM_BUCKETS - 1, &name));
    assert_false(histogram_column("latency", HISTOGRAM_BUCKETS, &name));
    assert_false(histogram_column("a b", 0, &name));
    static const char *const none[] = {
        "latency",     "latency.b",   "latency.b50", "latency.b07", "latency.b-1",
        "latency.b7x", "latencyy.b7", "late.b7",     "latency.b+7", "latency.b4294967303"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(histogram_column_find("latency", none[i], &bucket));
    assert_int_equal(bucket, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_in_the_bucket_that_ends_not_before_it),
        cmocka_unit_test(a_quantile_is_never_better_than_it_was),
        cmocka_unit_test(parts_add_up_to_the_whole),
        cmocka_unit_test(counts_stay_at_their_end),
        cmocka_unit_test(buckets_are_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
