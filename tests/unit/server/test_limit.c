/*
 * tests/unit/server/test_limit.c - token buckets.
 */
#include "tests/unit/test.h"

#include <pthread.h>

#include "base/clock.h"
#include "server/limit.h"

static int take_all(struct limit *limit, const struct limit_rate *rate, int64_t now_ns)
{
    int64_t wait_ns = 0;
    int taken = 0;
    while (taken < 100000 && limit_take(limit, rate, now_ns, &wait_ns))
        taken++;
    return taken;
}

static void a_burst_is_let_through_and_then_the_rate(void **state)
{
    (void)state;
    struct limit limit = {.full_ns = 0};
    const struct limit_rate rate = limit_rate_of(10);
    int64_t now_ns = 5 * NS_PER_S, wait_ns = 0;
    assert_int_equal(take_all(&limit, &rate, now_ns), 20);
    assert_false(limit_take(&limit, &rate, now_ns, &wait_ns));
    assert_int_equal(wait_ns, NS_PER_S / 10);
    assert_false(limit_take(&limit, &rate, now_ns + wait_ns - 1, &wait_ns));
    assert_int_equal(wait_ns, 1);
    assert_true(limit_take(&limit, &rate, now_ns + NS_PER_S / 10, &wait_ns));
    assert_int_equal(take_all(&limit, &rate, now_ns + NS_PER_S), 9);
    assert_int_equal(take_all(&limit, &rate, now_ns + 3600 * NS_PER_S), 20);
}

static void no_rate_is_no_limit(void **state)
{
    (void)state;
    struct limit limit = {.full_ns = 0};
    const struct limit_rate rate = limit_rate_of(0);
    assert_int_equal(take_all(&limit, &rate, 1), 100000);
}

static void the_highest_rate_still_counts(void **state)
{
    (void)state;
    struct limit limit = {.full_ns = 0};
    const struct limit_rate rate = limit_rate_of(UINT32_MAX);
    assert_true(rate.interval_ns >= 1);
    int64_t wait_ns = 0;
    assert_true(limit_take(&limit, &rate, NS_PER_S, &wait_ns));
}

#define THREADS 4
static struct limit shared;
static _Atomic int total;

static void *take_some(void *arg)
{
    total += take_all(&shared, arg, NS_PER_S);
    return NULL;
}

static void threads_together_get_no_more_than_one(void **state)
{
    (void)state;
    struct limit_rate rate = limit_rate_of(5000);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_some, &rate), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(total, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_let_through_and_then_the_rate),
        cmocka_unit_test(no_rate_is_no_limit),
        cmocka_unit_test(the_highest_rate_still_counts),
        cmocka_unit_test(threads_together_get_no_more_than_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
