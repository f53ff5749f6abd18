/*
 * tests/unit/db/test_tokens.c - tokens and idempotency keys.
 */
#include "tests/unit/db/table.h"

static bool see(void *arg, const struct db_token *token)
{
    return seen_add(arg, "%s %s %s '%s' '%s' %lld %lld\n", token->id, token->hash, token->role,
                    token->tenant, token->description, (long long)(token->created_us - START_US),
                    (long long)token->expires_us);
}

static bool see_answer(void *arg, const struct db_idempotency *row)
{
    return seen_add(arg, "%s %s %d %s\n", row->key, row->request, row->status, row->body);
}

static void a_token_is_stored_replaced_and_deleted(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct db_token token = {.id = "i1", .hash = "h1", .role = "admin", .expires_us = 9};
    assert_ok(token_put(&t->tx, &token, &err));
    struct db_token other = {.id = "i0", .hash = "h0", .role = "tenant-user", .tenant = "a"};
    assert_ok(token_put(&t->tx, &other, &err));
    table_later(t, 5);
    token.description = "new";
    assert_ok(token_put(&t->tx, &token, &err));
    struct seen seen = {.rows = 0}, rest = {.rows = 0};
    assert_ok(token_each(t->ro, "", see, &seen, &err));
    assert_string_equal(seen.text, "i0 h0 tenant-user 'a' '' 0 0\ni1 h1 admin '' 'new' 0 9\n");
    assert_ok(token_delete(&t->tx, "i0", &err));
    assert_fails(token_delete(&t->tx, "i0", &err), ERR_NOT_FOUND);
    assert_ok(token_each(t->ro, "", see, &rest, &err));
    assert_int_equal(rest.rows, 1);
}

static void two_tokens_with_one_hash_are_refused(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct db_token token = {.id = "i1", .hash = "h1", .role = "admin"};
    assert_ok(token_put(&t->tx, &token, &err));
    token.id = "i2";
    assert_fails(token_put(&t->tx, &token, &err), ERR_CONFLICT);
}

static void an_answer_is_kept_for_a_day(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    assert_fails(idempotency_get(t->ro, "k", see_answer, &seen, &err), ERR_NOT_FOUND);
    struct db_idempotency row = {.key = "k", .request = "q", .status = 201, .body = "{}"};
    assert_ok(idempotency_put(&t->tx, &row, &err));
    table_later(t, IDEMPOTENCY_KEPT_US - 1);
    assert_ok(idempotency_get(t->ro, "k", see_answer, &seen, &err));
    assert_string_equal(seen.text, "k q 201 {}\n");
    assert_fails(idempotency_put(&t->tx, &row, &err), ERR_CONFLICT);
    table_later(t, 1);
    assert_fails(idempotency_get(t->ro, "k", see_answer, &seen, &err), ERR_NOT_FOUND);
    row.status = 409;
    assert_ok(idempotency_put(&t->tx, &row, &err));
    struct seen again = {.rows = 0};
    assert_ok(idempotency_get(t->ro, "k", see_answer, &again, &err));
    assert_string_equal(again.text, "k q 409 {}\n");
}

static void expired_answers_are_dropped_by_later_ones(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    char key[16];
    struct db_idempotency row = {.key = key, .request = "q", .status = 200, .body = "{}"};
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        assert_ok(idempotency_put(&t->tx, &row, &err));
    }
    table_later(t, IDEMPOTENCY_KEPT_US);
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof(key), "new%d", i);
        assert_ok(idempotency_put(&t->tx, &row, &err));
    }
    assert_int_equal(table_number(t, "SELECT count(*) FROM idempotency"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(a_token_is_stored_replaced_and_deleted),
        table_test(two_tokens_with_one_hash_are_refused),
        table_test(an_answer_is_kept_for_a_day),
        table_test(expired_answers_are_dropped_by_later_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
