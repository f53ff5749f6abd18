/*
 * tests/unit/db/test_certificates.c - join tokens and certificates of agents.
 */
#include "tests/unit/db/table.h"

#define PRINT_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define PRINT_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define PRINT_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static bool see_join(void *arg, const struct db_join *join)
{
    return seen_add(arg, "%s %s '%s' %lld %lld\n", join->node, join->hash, join->key,
                    (long long)(join->created_us - START_US), (long long)join->expires_us);
}

static bool see(void *arg, const struct db_certificate *row)
{
    return seen_add(arg, "%.2s %s %s %s %lld %lld\n", row->fingerprint, row->node, row->serial,
                    row->origin, (long long)(row->created_us - START_US),
                    (long long)row->expires_us);
}

static void make_nodes(struct table_test *t)
{
    struct err err = ERR_INIT;
    int64_t revision;
    assert_ok(node_put(&t->tx, "n1", "{}", NULL, &revision, &err));
    assert_ok(node_put(&t->tx, "n2", "{}", NULL, &revision, &err));
}

static void put(struct table_test *t, const char *fingerprint, const char *node, const char *origin)
{
    struct err err = ERR_INIT;
    const struct db_certificate row = {.fingerprint = fingerprint,
                                       .node = node,
                                       .serial = "01",
                                       .origin = origin,
                                       .expires_us = 9};
    assert_ok(certificate_put(&t->tx, &row, &err));
}

static void a_newer_join_token_replaces_the_older(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    make_nodes(t);
    assert_ok(join_put(&t->tx, "n1", "h1", 5, &err));
    assert_ok(join_use(&t->tx, "n1", "k1", &err));
    assert_ok(join_get(t->ro, "h1", see_join, &seen, &err));
    table_later(t, 3);
    assert_ok(join_put(&t->tx, "n1", "h2", 6, &err));
    assert_fails(join_get(t->ro, "h1", see_join, &seen, &err), ERR_NOT_FOUND);
    assert_ok(join_get(t->ro, "h2", see_join, &seen, &err));
    assert_string_equal(seen.text, "n1 h1 'k1' 0 5\nn1 h2 '' 3 6\n");
    assert_ok(join_end(&t->tx, "n1", &err));
    assert_fails(join_get(t->ro, "h2", see_join, &seen, &err), ERR_NOT_FOUND);
    assert_fails(join_use(&t->tx, "n1", "k1", &err), ERR_NOT_FOUND);
    assert_fails(join_put(&t->tx, "nobody", "h3", 6, &err), ERR_CONFLICT);
}

static void certificates_are_listed_and_ended_by_node(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t count = -1;
    struct seen all = {.rows = 0}, mine = {.rows = 0}, left = {.rows = 0};
    make_nodes(t);
    put(t, PRINT_B, "n1", "join");
    table_later(t, 1);
    put(t, PRINT_A, "n1", "renewal");
    put(t, PRINT_C, "n2", "join");
    assert_ok(certificate_each(t->ro, NULL, see, &all, &err));
    assert_string_equal(all.text, "bb n1 01 join 0 9\naa n1 01 renewal 1 9\ncc n2 01 join 1 9\n");
    assert_ok(certificate_each(t->ro, "n2", see, &mine, &err));
    assert_int_equal(mine.rows, 1);
    assert_ok(certificates_end(&t->tx, "n1", PRINT_A, &count, &err));
    assert_int_equal(count, 1);
    assert_ok(certificates_end(&t->tx, "n1", NULL, &count, &err));
    assert_int_equal(count, 1);
    assert_ok(certificate_each(t->ro, NULL, see, &left, &err));
    assert_int_equal(left.rows, 1);
}

static void a_deleted_node_takes_its_certificates_along(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    make_nodes(t);
    put(t, PRINT_A, "n1", "join");
    assert_ok(join_put(&t->tx, "n1", "h1", 5, &err));
    assert_ok(node_delete(&t->tx, "n1", &err));
    assert_int_equal(table_number(t, "SELECT count(*) FROM certificates"), 0);
    assert_int_equal(table_number(t, "SELECT count(*) FROM join_tokens"), 0);
}

static void a_certificate_of_no_node_or_twice_is_refused(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    make_nodes(t);
    put(t, PRINT_A, "n1", "join");
    struct db_certificate row = {
        .fingerprint = PRINT_A, .node = "n2", .serial = "02", .origin = "join"};
    assert_fails(certificate_put(&t->tx, &row, &err), ERR_CONFLICT);
    row.fingerprint = PRINT_B;
    row.node = "nobody";
    assert_fails(certificate_put(&t->tx, &row, &err), ERR_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(a_newer_join_token_replaces_the_older),
        table_test(certificates_are_listed_and_ended_by_node),
        table_test(a_deleted_node_takes_its_certificates_along),
        table_test(a_certificate_of_no_node_or_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
