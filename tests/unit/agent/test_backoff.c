/*
 * tests/unit/agent/test_backoff.c - bounds of the waits.
 */
#include "tests/unit/test.h"

#include "agent/backoff.h"

static void the_longest_wait_doubles_from_the_floor_to_the_ceiling(void **state)
{
    (void)state;
    struct backoff backoff = {0};
    int64_t wanted_ns = BACKOFF_FLOOR_NS;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(backoff_next(&backoff, UINT32_MAX), wanted_ns);
        wanted_ns = wanted_ns * 2 < BACKOFF_CEILING_NS ? wanted_ns * 2 : BACKOFF_CEILING_NS;
    }
    assert_int_equal(wanted_ns, BACKOFF_CEILING_NS);
}

static void the_shortest_wait_is_none_and_the_middle_is_half(void **state)
{
    (void)state;
    struct backoff backoff = {.failures = 50};
    assert_int_equal(backoff_next(&backoff, 0), 0);
    int64_t half_ns = backoff_next(&backoff, UINT32_MAX / 2);
    assert_in_range(half_ns, BACKOFF_CEILING_NS / 2 - NS_PER_MS, BACKOFF_CEILING_NS / 2);
}

static void after_a_success_it_begins_at_the_floor(void **state)
{
    (void)state;
    struct backoff backoff = {.failures = 7};
    backoff_reset(&backoff);
    assert_int_equal(backoff_next(&backoff, UINT32_MAX), BACKOFF_FLOOR_NS);
}

static void the_count_of_failures_never_overflows_the_wait(void **state)
{
    (void)state;
    struct backoff backoff = {.failures = 4000000000u};
    assert_int_equal(backoff_next(&backoff, UINT32_MAX), BACKOFF_CEILING_NS);
}

static void jitter_stays_within_its_percents(void **state)
{
    (void)state;
    assert_int_equal(jitter(60 * NS_PER_S, 10, 0), 54 * NS_PER_S);
    assert_int_equal(jitter(60 * NS_PER_S, 10, UINT32_MAX), 66 * NS_PER_S);
    for (int i = 0; i < 1000; i++)
        assert_in_range(jitter(60 * NS_PER_S, 10, jitter_random()), 54 * NS_PER_S, 66 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_wait_doubles_from_the_floor_to_the_ceiling),
        cmocka_unit_test(the_shortest_wait_is_none_and_the_middle_is_half),
        cmocka_unit_test(after_a_success_it_begins_at_the_floor),
        cmocka_unit_test(the_count_of_failures_never_overflows_the_wait),
        cmocka_unit_test(jitter_stays_within_its_percents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
