/*
 * tests/unit/datapath/test_bench.c - what times of a measurement say; the measurements themselves
 * need RDMA devices and run in the lab (check_verify.sh).
 */
#include "tests/unit/test.h"

#include "datapath/verbs/bench_private.h"

static void one_way_is_half_of_there_and_back(void **state)
{
    (void)state;
    int64_t times[100];
    struct bench_result result = BENCH_RESULT_NONE;
    for (int i = 0; i < 100; i++)
        times[i] = 200 * (100 - i);
    bench_latency(times, 100, &result);
    assert_int_equal(result.latency_min_ns, 100);
    assert_int_equal(result.latency_p50_ns, 5000);
    assert_int_equal(result.latency_p99_ns, 9900);
    assert_int_equal(result.rate_bps, -1);
    times[0] = 3000;
    bench_latency(times, 1, &result);
    assert_int_equal(result.latency_min_ns, 1500);
    assert_int_equal(result.latency_p99_ns, 1500);
}

static void spread_is_of_the_median(void **state)
{
    (void)state;
    int64_t times[] = {1020, 1000, 990, 1000, 1010}, still[] = {0, 0};
    struct bench_result result = BENCH_RESULT_NONE;
    bench_spread(times, 5, &result);
    assert_int_equal(result.iteration_ns, 1000);
    assert_int_equal(result.spread_permyriad, 300);
    result.spread_permyriad = -1;
    bench_spread(still, 2, &result);
    assert_int_equal(result.spread_permyriad, -1);
}

static void what_is_no_test_is_refused_before_a_device_is_asked(void **state)
{
    (void)state;
    const struct bench good = {.kind = BENCH_SEND_LAT,
                               .addresses = {"127.0.0.1", "127.0.0.2"},
                               .count = 2,
                               .device = "none",
                               .service = 18600,
                               .bytes = 1,
                               .iterations = 1};
    struct bench bad[5];
    struct bench_result result;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < 5; i++)
        bad[i] = good;
    bad[0].count = 3;
    bad[1].place = 2;
    bad[2].bytes = 0;
    bad[3].iterations = 0;
    bad[4].count = BENCH_ENDS_MAX + 1;
    for (size_t i = 0; i < 5; i++) {
        result.corrupt = true;
        assert_fails(verbs_bench(&bad[i], &result, &err), ERR_INVALID);
        assert_false(result.corrupt);
    }
}

/* A ring of three without wires: the parts that its ends would send are added up here. */
static void a_wrong_bit_of_a_sum_is_corruption(void **state)
{
    (void)state;
    enum { ENDS = 3, NUMBERS = 4 * ENDS };
    uint32_t sum[NUMBERS] = {0}, part[NUMBERS];
    struct bench bench = {.kind = BENCH_ALLREDUCE, .count = ENDS, .bytes = sizeof(sum)};
    struct bench_end end = {.bench = &bench, .memory = (char *)part};
    struct bench_result result = BENCH_RESULT_NONE;
    struct err err = ERR_INIT;
    for (bench.place = 0; bench.place < ENDS; bench.place++) {
        bench_ring_fill(&end);
        for (size_t i = 0; i < NUMBERS; i++)
            sum[i] += part[i];
    }
    assert_fails(bench_ring_check(&end, 2, &result, &err), ERR_IO); /* a part is not the sum */
    end.memory = (char *)sum;
    assert_ok(bench_ring_check(&end, 2, &result, &err));
    assert_false(result.corrupt);
    for (size_t bit = 0; bit < 8 * sizeof(sum); bit++) {
        end.memory[bit / 8] ^= (char)(1 << bit % 8);
        assert_fails(bench_ring_check(&end, 2, &result, &err), ERR_IO);
        assert_true(result.corrupt);
        assert_contains(err.text, "iteration 2 ");
        end.memory[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_ok(bench_ring_check(&end, 3, &result, &err));
    assert_false(result.corrupt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_way_is_half_of_there_and_back),
        cmocka_unit_test(spread_is_of_the_median),
        cmocka_unit_test(a_wrong_bit_of_a_sum_is_corruption),
        cmocka_unit_test(what_is_no_test_is_refused_before_a_device_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
