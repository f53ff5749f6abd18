/*
 * tests/unit/db/test_verifications.c - rows of verifications and of their tests.
 */
#include "tests/unit/db/table.h"

#include "db/verifications.h"

static bool see(void *arg, const struct db_verification *v)
{
    return seen_add(arg, "%lld %s %d %s %lld %s %s %lld %lld\n", (long long)v->number, v->state,
                    v->active, v->verdict, (long long)v->revision, v->head, v->counts,
                    (long long)v->created_us, (long long)v->updated_us);
}

static bool see_number(void *arg, const struct db_verification *v)
{
    return seen_add(arg, "%lld ", (long long)v->number);
}

static bool see_first(void *arg, const struct db_verification *v)
{
    (void)see_number(arg, v);
    return false;
}

static bool see_test(void *arg, const struct db_verification_test *row)
{
    return seen_add(arg, "%lld %s %lld %s\n", (long long)row->place, row->same,
                    (long long)row->value, row->body);
}

static void put(struct table_test *t, int64_t number, const char *state, bool active)
{
    struct err err = ERR_INIT;
    const struct db_verification row = {.number = number,
                                        .state = state,
                                        .active = active,
                                        .verdict = active ? "open" : "pass",
                                        .revision = 1,
                                        .head = "{}",
                                        .counts = "{}",
                                        .created_us = 5,
                                        .updated_us = 6};
    assert_ok(verification_put(&t->tx, &row, &err));
}

static void put_test(struct table_test *t, int64_t number, int64_t place, const char *same,
                     int64_t value)
{
    struct err err = ERR_INIT;
    const struct db_verification_test row = {
        .place = place, .same = same, .value = value, .body = "{}"};
    assert_ok(verification_test_put(&t->tx, number, &row, &err));
}

static void one_is_replaced_and_keeps_when_it_was_made(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    const struct db_verification next = {.number = 1,
                                         .state = "done",
                                         .verdict = "fail",
                                         .revision = 2,
                                         .head = "{\"a\":1}",
                                         .counts = "{\"b\":2}",
                                         .created_us = 50,
                                         .updated_us = 60};
    put(t, 1, "running", true);
    assert_ok(verification_put(&t->tx, &next, &err));
    assert_ok(verification_get(t->ro, 1, see, &seen, &err));
    assert_string_equal(seen.text, "1 done 0 fail 2 {\"a\":1} {\"b\":2} 5 60\n");
    assert_fails(verification_get(t->ro, 2, see, &seen, &err), ERR_NOT_FOUND);
}

static void they_are_listed_newest_first(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen all = {.rows = 0}, below = {.rows = 0}, two = {.rows = 0}, one = {.rows = 0};
    for (int64_t i = 1; i <= 4; i++)
        put(t, i, "running", true);
    assert_ok(verification_list(t->ro, 0, DB_PAGE_MAX, see_number, &all, &err));
    assert_string_equal(all.text, "4 3 2 1 ");
    assert_ok(verification_list(t->ro, 3, 10, see_number, &below, &err));
    assert_string_equal(below.text, "2 1 ");
    assert_ok(verification_list(t->ro, 0, 2, see_number, &two, &err));
    assert_string_equal(two.text, "4 3 ");
    assert_ok(verification_list(t->ro, 0, 10, see_first, &one, &err));
    assert_string_equal(one.text, "4 ");
    assert_fails(verification_list(t->ro, 0, DB_PAGE_MAX + 1, see, &all, &err), ERR_INVALID);
    assert_fails(verification_list(t->ro, 0, 0, see, &all, &err), ERR_INVALID);
}

static void tests_come_by_place_and_are_replaced(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0}, none = {.rows = 0};
    put(t, 1, "running", true);
    put_test(t, 1, 2, "b", -1);
    put_test(t, 1, 1, "a", -1);
    put_test(t, 1, 2, "b", 7);
    assert_ok(verification_test_each(t->ro, 1, see_test, &seen, &err));
    assert_string_equal(seen.text, "1 a -1 {}\n2 b 7 {}\n");
    assert_ok(verification_test_each(t->ro, 2, see_test, &none, &err));
    assert_int_equal(none.rows, 0);
}

static void a_test_of_no_verification_is_refused(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    const struct db_verification_test row = {.place = 1, .same = "a", .value = 1, .body = "{}"};
    assert_int_not_equal(verification_test_put(&t->tx, 9, &row, &err), ERR_OK);
}

static void assert_last(struct table_test *t, const char *same, int64_t before, int64_t number,
                        int64_t value)
{
    struct err err = ERR_INIT;
    int64_t got_number = -1, got_value = -1;
    assert_ok(verification_test_last(t->ro, same, before, &got_number, &got_value, &err));
    assert_int_equal(got_number, number);
    assert_int_equal(got_value, value);
}

static void the_last_one_is_the_newest_that_measured_the_same(void **state)
{
    struct table_test *t = *state;
    for (int64_t i = 1; i <= 5; i++)
        put(t, i, "done", false);
    put_test(t, 1, 1, "same", 100);
    put_test(t, 2, 1, "other", 999);
    put_test(t, 2, 2, "same", 0); /* nothing at all was measured: still a figure */
    put_test(t, 3, 1, "same", -1);
    put_test(t, 5, 1, "same", 300);
    assert_last(t, "same", 6, 5, 300);
    assert_last(t, "same", 5, 2, 0);
    assert_last(t, "same", 2, 1, 100);
    assert_last(t, "same", 1, 0, 0);
    assert_last(t, "strange", 6, 0, 0);
}

static void old_ones_that_are_over_go_with_their_tests(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0}, tests = {.rows = 0}, active = {.rows = 0};
    put(t, 1, "running", true);
    put(t, 2, "done", false);
    put(t, 3, "done", false);
    put_test(t, 2, 1, "a", 1);
    put_test(t, 3, 1, "a", 2);
    put(t, VERIFICATIONS_KEPT + 2, "running", true);
    assert_ok(verification_list(t->ro, 0, 10, see_number, &seen, &err));
    assert_string_equal(seen.text, "102 3 1 ");
    assert_ok(verification_test_each(t->ro, 2, see_test, &tests, &err));
    assert_int_equal(tests.rows, 0);
    assert_last(t, "a", 100, 3, 2);
    put(t, 1, "done", false); /* is dropped with the next one */
    put(t, VERIFICATIONS_KEPT + 3, "running", true);
    assert_ok(verification_list(t->ro, 0, 10, see_number, &active, &err));
    assert_string_equal(active.text, "103 102 ");
}

static void numbers_are_given_once(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t first, second;
    assert_ok(verification_next(&t->tx, &first, &err));
    assert_ok(verification_next(&t->tx, &second, &err));
    assert_true(first == 1 && second == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(one_is_replaced_and_keeps_when_it_was_made),
        table_test(they_are_listed_newest_first),
        table_test(tests_come_by_place_and_are_replaced),
        table_test(a_test_of_no_verification_is_refused),
        table_test(the_last_one_is_the_newest_that_measured_the_same),
        table_test(old_ones_that_are_over_go_with_their_tests),
        table_test(numbers_are_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
