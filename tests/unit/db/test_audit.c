/*
 * tests/unit/db/test_audit.c - the audit log and its chain.
 */
#include "tests/unit/db/table.h"

static const struct audit_filter all, of_a = {.tenant = "a"}, of_none = {.tenant = ""};

static bool see(void *arg, const struct db_audit *row)
{
    return seen_add(arg, "%lld %s %s %s %s %s %s %s\n", (long long)row->id, row->actor, row->action,
                    row->subject, row->request_id, row->reason, row->before, row->after);
}

static bool see_hashes(void *arg, const struct db_audit *row)
{
    return seen_add(arg, "%s>%s ", row->prev_hash, row->hash);
}

static bool see_id(void *arg, const struct db_audit *row)
{
    return seen_add(arg, "%lld", (long long)row->id);
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
    assert_ok(audit_list(t->ro, &all, 0, 2, see, &seen, &err));
    assert_string_equal(seen.text, "5 token:a policy.put tenant/a/placements/j    \n"
                                   "4 token:a policy.put tenant/a    \n");
    assert_ok(audit_list(t->ro, &all, 4, 1000, see, &rest, &err));
    assert_int_equal(rest.rows, 3);
    assert_fails(audit_list(t->ro, &all, 0, 0, see, &rest, &err), ERR_INVALID);
    assert_fails(audit_list(t->ro, &all, 0, DB_PAGE_MAX + 1, see, &rest, &err), ERR_INVALID);
}

static void a_tenant_sees_its_own_rows_only(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    fill(t);
    struct seen seen = {.rows = 0}, rest = {.rows = 0}, none = {.rows = 0};
    assert_ok(audit_list(t->ro, &of_a, 0, 10, see, &seen, &err));
    assert_string_equal(seen.text, "5 token:a policy.put tenant/a/placements/j    \n"
                                   "4 token:a policy.put tenant/a    \n"
                                   "2 token:a policy.put tenant/a/policy    \n");
    assert_ok(audit_list(t->ro, &of_a, 4, 1, see, &rest, &err));
    assert_string_equal(rest.text, "2 token:a policy.put tenant/a/policy    \n");
    assert_ok(audit_list(t->ro, &of_none, 0, 10, see, &none, &err));
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
    assert_ok(audit_list(t->ro, &all, 0, 10, see_hashes, &seen, &err));
    assert_int_equal(seen.text[0], '>');
    assert_memory_equal(seen.text + 1, want, strlen(want));
}

static void a_generation_is_hashed_too(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct db_audit row = {.actor = "a", .action = "b", .subject = "c", .generation = 12};
    assert_ok(audit_add(&t->tx, &row, &err));
    const char text[] = "0:,1:1,16:1700000000000000,1:a,1:b,1:c,0:,0:,0:,0:,2:12,";
    char want[DIGEST_TEXT_MAX];
    bytes_digest(text, strlen(text), want);
    struct seen seen = {.rows = 0};
    assert_ok(audit_list(t->ro, &all, 0, 10, see_hashes, &seen, &err));
    assert_memory_equal(seen.text + 1, want, strlen(want));
}

static void each_filter_takes_its_rows(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    static const struct {
        struct audit_filter filter;
        const char *ids;
    } cases[] = {
        {{.actor = "token:b"}, "43"},
        {{.action = "node.put"}, "42"},
        {{.subject = "tenant/a"}, "31"},
        {{.subject = "tenant/a/"}, ""},
        {{.request_id = "r2"}, "42"},
        {{.request_id = "r2", .actor = "token:b"}, "4"},
        {{.tenant = "a", .request_id = "r1"}, "1"},
        {{.since_us = START_US + 1}, "65432"},
        {{.until_us = START_US + 1}, "1"},
        {{.since_us = START_US + 1, .until_us = START_US + 3}, "32"},
        {{.actor = "' OR 1=1 --"}, ""},
        {{.actor = "token:c"}, "5"},
        {{.actor = "user:ann"}, "65"},
        {{.actor = "user:ann", .principal_only = true}, "6"},
        {{.actor = "token:c", .principal_only = true}, "5"},
        {{.actor = "ann"}, ""},
        {{.actor = "token"}, ""},
        {{.actor = "token:c user:ann"}, "5"},
        {{.actor = "nobody:with-a-name-longer-than-any-actor-of-these-rows"}, ""},
    };
    static const struct db_audit rows[] = {
        {.actor = "token:a",
         .action = "policy.put",
         .subject = "tenant/a/policy",
         .request_id = "r1"},
        {.actor = "token:a", .action = "node.put", .subject = "node/a", .request_id = "r2"},
        {.actor = "token:b", .action = "tenant.put", .subject = "tenant/a", .request_id = "r3"},
        {.actor = "token:b", .action = "node.put", .subject = "tenant/ab", .request_id = "r2"},
        {.actor = "token:c user:ann", .action = "fabric.put", .subject = "fabric"},
        {.actor = "user:ann", .action = "fabric.put", .subject = "fabric"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_ok(audit_add(&t->tx, &rows[i], &err));
        table_later(t, 1);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct seen seen = {.rows = 0};
        assert_ok(audit_list(t->ro, &cases[i].filter, 0, 10, see_id, &seen, &err));
        assert_string_equal(seen.text, cases[i].ids);
    }
}

static void one_row_is_got_by_its_id(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    fill(t);
    assert_ok(audit_get(t->ro, 3, see_id, &seen, &err));
    assert_string_equal(seen.text, "3");
    assert_fails(audit_get(t->ro, 6, see_id, &seen, &err), ERR_NOT_FOUND);
}

static struct audit_check verified(struct table_test *t)
{
    struct err err = ERR_INIT;
    struct audit_check check = {.rows = -1};
    assert_ok(audit_verify(t->ro, &check, &err));
    return check;
}

static void an_untouched_log_verifies_over_many_chunks(void **state)
{
    struct table_test *t = *state;
    struct audit_check check = verified(t);
    assert_int_equal(check.rows, 0);
    assert_string_equal(check.head, "");
    for (int i = 0; i < 10001; i++)
        add(t, "tenant/a");
    check = verified(t);
    assert_int_equal(check.rows, 10001);
    assert_int_equal(check.bad_id, 0);
    assert_string_equal(check.head, t->db->heads.audit_hash);
}

static void an_anchor_shows_that_the_tail_was_cut(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    fill(t);
    struct audit_check check = verified(t);
    check.anchor_id = 5;
    memcpy(check.anchor, check.head, sizeof(check.anchor));
    assert_ok(audit_verify(t->ro, &check, &err));
    assert_true(check.anchored);
    check.anchor_id = 4;
    assert_ok(audit_verify(t->ro, &check, &err));
    assert_false(check.anchored);
    check.anchor_id = 5;
    assert_ok(conn_exec(t->ro->conn, "DELETE FROM audit WHERE id = 5", &err));
    assert_ok(audit_verify(t->ro, &check, &err));
    assert_int_equal(check.bad_id, 0);
    assert_int_equal(check.rows, 4);
    assert_false(check.anchored);
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
        "UPDATE audit SET generation = 1 WHERE id = 3",
        "UPDATE audit SET reason = after_text, after_text = reason || 'x' WHERE id = 3",
        "DELETE FROM audit WHERE id = 3",
        "UPDATE audit SET id = 6 WHERE id = 3",
    };
    fill(t);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        assert_ok(conn_exec(t->ro->conn, "SAVEPOINT change", &err));
        assert_ok(conn_exec(t->ro->conn, changes[i], &err));
        struct audit_check check = verified(t);
        assert_int_equal(check.bad_id, 3);
        assert_int_equal(check.rows, 2);
        assert_contains(check.problem, "the row");
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
    assert_int_equal(verified(t).rows, 1);
    assert_ok(conn_exec(t->ro->conn, "UPDATE audit SET before_text = before_text || 'x'", &err));
    assert_int_equal(verified(t).bad_id, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(rows_are_listed_newest_first_in_pages),
        table_test(a_tenant_sees_its_own_rows_only),
        table_test(the_hash_is_what_the_head_of_the_file_says),
        table_test(a_generation_is_hashed_too),
        table_test(each_filter_takes_its_rows),
        table_test(one_row_is_got_by_its_id),
        table_test(an_anchor_shows_that_the_tail_was_cut),
        table_test(an_untouched_log_verifies_over_many_chunks),
        table_test(every_changed_column_is_found),
        table_test(a_long_row_is_hashed_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
