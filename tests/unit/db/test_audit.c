/*
 * tests/unit/db/test_audit.c - the audit log and its chain.
 */
#include "tests/unit/db/table.h"

static bool see(void *arg, const struct db_audit *row)
{
    return seen_add(arg, "%lld %s %s %s %s %s %s %s\n", (long long)row->id, row->actor, row->action,
                    row->subject, row->request_id, row->reason, row->before, row->after);
}

static bool see_hashes(void *arg, const struct db_audit *row)
{
    return seen_add(arg, "%s>%s ", row->prev_hash, row->hash);
}

static void add(struct table_test *t, const char *subject)
{
    struct err err = ERR_INIT;
    struct db_audit row = {.actor = "token:a", .action = "policy.put", .subject = subject};
    assert_ok(audit_add(&t->tx, &row, &err));
}

static void fill(struct table_test *t)
{
    add(t, "fabric");
    add(t, "tenant/a/policy");
    add(t, "tenant/ab");
    add(t, "tenant/a");
    add(t, "tenant/a/placements/j");
}

static void rows_are_listed_newest_first_in_pages(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    fill(t);
    struct seen seen = {.rows = 0}, rest = {.rows = 0};
    assert_ok(audit_list(t->ro, NULL, 0, 2, see, &seen, &err));
    assert_string_equal(seen.text, "5 token:a policy.put tenant/a/placements/j    \n"
                                   "4 token:a policy.put tenant/a    \n");
    assert_ok(audit_list(t->ro, NULL, 4, 1000, see, &rest, &err));
    assert_int_equal(rest.rows, 3);
    assert_fails(audit_list(t->ro, NULL, 0, 0, see, &rest, &err), ERR_INVALID);
    assert_fails(audit_list(t->ro, NULL, 0, DB_PAGE_MAX + 1, see, &rest, &err), ERR_INVALID);
}

static void a_tenant_sees_its_own_rows_only(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    fill(t);
    struct seen seen = {.rows = 0}, rest = {.rows = 0}, none = {.rows = 0};
    assert_ok(audit_list(t->ro, "a", 0, 10, see, &seen, &err));
    assert_string_equal(seen.text, "5 token:a policy.put tenant/a/placements/j    \n"
                                   "4 token:a policy.put tenant/a    \n"
                                   "2 token:a policy.put tenant/a/policy    \n");
    assert_ok(audit_list(t->ro, "a", 4, 1, see, &rest, &err));
    assert_string_equal(rest.text, "2 token:a policy.put tenant/a/policy    \n");
    assert_ok(audit_list(t->ro, "", 0, 10, see, &none, &err));
    assert_int_equal(none.rows, 0);
}

static void the_hash_is_what_the_head_of_the_file_says(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct db_audit row = {.actor = "a",
                           .action = "b",
                           .subject = "c",
                           .request_id = "d",
                           .reason = "ef",
                           .before = "{}",
                           .after = ""};
    assert_ok(audit_add(&t->tx, &row, &err));
    const char text[] = "0:,1:1,16:1700000000000000,1:a,1:b,1:c,1:d,2:ef,2:{},0:,";
    char want[DIGEST_TEXT_MAX];
    bytes_digest(text, strlen(text), want);
    struct seen seen = {.rows = 0};
    assert_ok(audit_list(t->ro, NULL, 0, 10, see_hashes, &seen, &err));
    assert_int_equal(seen.text[0], '>');
    assert_memory_equal(seen.text + 1, want, strlen(want));
}

static void an_untouched_log_verifies_over_many_chunks(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t rows = -1;
    assert_ok(audit_verify(t->ro, &rows, &err));
    assert_int_equal(rows, 0);
    for (int i = 0; i < 10001; i++)
        add(t, "tenant/a");
    assert_ok(audit_verify(t->ro, &rows, &err));
    assert_int_equal(rows, 10001);
}

static void every_changed_column_is_found(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    static const char *const changes[] = {
        "UPDATE audit SET time_us = time_us + 1 WHERE id = 3",
        "UPDATE audit SET actor = 'x' WHERE id = 3",
        "UPDATE audit SET action = 'x' WHERE id = 3",
        "UPDATE audit SET subject = 'tenant/abc' WHERE id = 3",
        "UPDATE audit SET tenant = '' WHERE id = 3",
        "UPDATE audit SET tenant = 'a' WHERE id = 3",
        "UPDATE audit SET request_id = 'x' WHERE id = 3",
        "UPDATE audit SET reason = 'x' WHERE id = 3",
        "UPDATE audit SET before_text = 'x' WHERE id = 3",
        "UPDATE audit SET after_text = 'x' WHERE id = 3",
        "UPDATE audit SET prev_hash = '' WHERE id = 3",
        "UPDATE audit SET hash = '' WHERE id = 3",
        "UPDATE audit SET reason = after_text, after_text = reason || 'x' WHERE id = 3",
        "DELETE FROM audit WHERE id = 3",
        "UPDATE audit SET id = 6 WHERE id = 3",
    };
    fill(t);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        int64_t rows = -1;
        assert_ok(conn_exec(t->ro->conn, "SAVEPOINT change", &err));
        assert_ok(conn_exec(t->ro->conn, changes[i], &err));
        assert_fails(audit_verify(t->ro, &rows, &err), ERR_CONFLICT);
        assert_contains(err.text, "audit row 3");
        assert_int_equal(rows, -1);
        assert_ok(conn_exec(t->ro->conn, "ROLLBACK TO change; RELEASE change", &err));
    }
}

static void a_long_row_is_hashed_whole(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    struct db_audit row = {.actor = "a", .action = "b", .subject = "c", .before = text};
    assert_ok(audit_add(&t->tx, &row, &err));
    free(text);
    int64_t rows = -1;
    assert_ok(audit_verify(t->ro, &rows, &err));
    assert_ok(conn_exec(t->ro->conn, "UPDATE audit SET before_text = before_text || 'x'", &err));
    assert_fails(audit_verify(t->ro, &rows, &err), ERR_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(rows_are_listed_newest_first_in_pages),
        table_test(a_tenant_sees_its_own_rows_only),
        table_test(the_hash_is_what_the_head_of_the_file_says),
        table_test(an_untouched_log_verifies_over_many_chunks),
        table_test(every_changed_column_is_found),
        table_test(a_long_row_is_hashed_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
