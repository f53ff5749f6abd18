/*
 * tests/unit/server/test_denials.c - refused calls get a bounded number of rows, and are all
 * counted.
 */
#include "tests/unit/test.h"

#include "server/denials.h"

static struct clock_fake now;

static struct denials *denials_here(void)
{
    struct err err = ERR_INIT;
    struct denials *denials = NULL;
    clock_fake_init(&now, 1);
    assert_ok(denials_new(&now.base, &denials, &err));
    return denials;
}

static int take(struct denials *denials, enum denial_kind kind, const char *caller, int times)
{
    int rows = 0;
    for (int i = 0; i < times; i++)
        rows += denials_take(denials, kind, caller);
    return rows;
}

static void a_caller_has_a_few_rows_a_minute(void **state)
{
    (void)state;
    OWN(denials) struct denials *denials = denials_here();
    assert_int_equal(take(denials, DENIAL_CALL, "ann", DENIALS_CALLER_MAX), DENIALS_CALLER_MAX);
    assert_int_equal(denials_untold(denials), 0);
    assert_int_equal(take(denials, DENIAL_CALL, "ann", 300), 0);
    assert_int_equal(take(denials, DENIAL_CALL, "bob", 1), 1);
    assert_int_equal(denials_untold(denials), 300);
    assert_int_equal(denials_untold(denials), 0);
    assert_int_equal(denials_total(denials), 300);
    now.mono += 60 * NS_PER_S - 1;
    assert_int_equal(take(denials, DENIAL_CALL, "ann", 1), 0);
    now.mono += 1;
    assert_int_equal(take(denials, DENIAL_CALL, "ann", 2 * DENIALS_CALLER_MAX), DENIALS_CALLER_MAX);
}

static void all_callers_have_a_limit_and_strangers_another(void **state)
{
    (void)state;
    OWN(denials) struct denials *denials = denials_here();
    char name[32];
    int rows = 0;
    for (int i = 0; i < 2 * DENIALS_ALL_MAX; i++) {
        snprintf(name, sizeof(name), "192.0.2.%d", i);
        rows += denials_take(denials, DENIAL_LOGIN, name);
    }
    assert_int_equal(rows, DENIALS_ALL_MAX);
    assert_int_equal(take(denials, DENIAL_CALL, "ann", 1), 1);
    assert_int_equal(denials_untold(denials), DENIALS_ALL_MAX);
}

static void what_could_not_be_told_is_told_the_next_time(void **state)
{
    (void)state;
    OWN(denials) struct denials *denials = denials_here();
    take(denials, DENIAL_CALL, "ann", DENIALS_CALLER_MAX + 3);
    uint64_t n = denials_untold(denials);
    denials_count(denials, n);
    assert_int_equal(denials_untold(denials), 3);
    assert_int_equal(denials_total(denials), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_has_a_few_rows_a_minute),
        cmocka_unit_test(all_callers_have_a_limit_and_strangers_another),
        cmocka_unit_test(what_could_not_be_told_is_told_the_next_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
