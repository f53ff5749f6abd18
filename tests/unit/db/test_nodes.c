/*
 * tests/unit/db/test_nodes.c - nodes, their reports and receipts, and generations.
 */
#include "tests/unit/db/table.h"

static const char *or_dash(const char *text)
{
    return text != NULL ? text : "-";
}

static int after_start(int64_t us)
{
    return us == 0 ? -1 : (int)(us - START_US);
}

static bool see(void *arg, const struct db_node *n)
{
    return seen_add(arg, "%s r%lld %s %s %s@%d %s@%d %s@%d\n", n->name, (long long)n->revision,
                    n->body, n->token_hash, or_dash(n->inventory), after_start(n->inventory_us),
                    or_dash(n->state), after_start(n->state_us), or_dash(n->receipt),
                    after_start(n->receipt_us));
}

static bool see_receipt(void *arg, const struct db_receipt *r)
{
    return seen_add(arg, "%lld %s g%lld %s %s %s %s\n", (long long)r->id, r->node,
                    (long long)r->generation, r->digest, r->observed, r->result, r->body);
}

static void put(struct table_test *t, const char *name)
{
    struct err err = ERR_INIT;
    int64_t revision = 0;
    assert_ok(node_put(&t->tx, name, "{}", "hash", &revision, &err));
}

static int64_t receipt(struct table_test *t, const char *node, int64_t generation)
{
    struct err err = ERR_INIT;
    struct db_receipt receipt = {
        .node = node,
        .generation = generation,
        .digest = "d",
        .observed = "o",
        .result = "ok",
        .body = "{\"r\":1}",
    };
    int64_t id = 0;
    assert_ok(receipt_put(&t->tx, &receipt, &id, &err));
    return id;
}

static void a_node_keeps_its_token_when_none_is_given(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t revision = 0;
    assert_ok(node_put(&t->tx, "n1", "{}", NULL, &revision, &err));
    assert_ok(node_put(&t->tx, "n1", "{}", "h1", &revision, &err));
    assert_ok(node_put(&t->tx, "n1", "{\"x\":1}", NULL, &revision, &err));
    assert_int_equal(revision, 3);
    struct seen seen = {.rows = 0};
    assert_ok(node_list(t->ro, NULL, 10, see, &seen, &err));
    assert_string_equal(seen.text, "n1 r3 {\"x\":1} h1 -@-1 -@-1 -@-1\n");
}

static void a_node_made_anew_has_a_new_revision(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t revision = 0;
    assert_ok(node_put(&t->tx, "n1", "{}", NULL, &revision, &err));
    assert_ok(node_put(&t->tx, "n1", "{}", NULL, &revision, &err));
    assert_int_equal(revision, 2);
    assert_ok(node_delete(&t->tx, "n1", &err));
    assert_ok(node_put(&t->tx, "n1", "{}", NULL, &revision, &err));
    assert_int_equal(revision, 3);
}

static void the_last_reports_stand_beside_the_node(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "n1");
    put(t, "n2");
    table_later(t, 1);
    assert_ok(node_inventory_put(&t->tx, "n1", "{\"i\":1}", &err));
    assert_ok(node_inventory_put(&t->tx, "n1", "{\"i\":2}", &err));
    table_later(t, 1);
    assert_ok(node_state_put(&t->tx, "n1", "{\"s\":1}", &err));
    table_later(t, 1);
    receipt(t, "n1", 4);
    struct seen seen = {.rows = 0};
    assert_ok(node_list(t->ro, NULL, 10, see, &seen, &err));
    assert_string_equal(seen.text, "n1 r1 {} hash {\"i\":2}@1 {\"s\":1}@2 {\"r\":1}@3\n"
                                   "n2 r1 {} hash -@-1 -@-1 -@-1\n");
}

static void a_state_that_says_nothing_new_writes_nothing(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    static const char received[] = "SELECT received_us FROM node_reports WHERE kind = 'state'";
    put(t, "n1");
    assert_ok(node_state_keep(&t->tx, "n1", "{\"knobs\":[],\"of\":{\"time_us\":1}}", &err));
    int64_t first = table_number(t, received);
    table_later(t, 1);
    assert_ok(node_state_keep(&t->tx, "n1", "{\"knobs\":[],\"of\":{\"time_us\":2}}", &err));
    assert_int_equal(table_number(t, received), first);
    assert_ok(node_state_keep(&t->tx, "n1", "{\"knobs\":[1],\"of\":{\"time_us\":3}}", &err));
    int64_t second = table_number(t, received);
    assert_true(second > first);
    table_later(t, 1);
    assert_ok(node_state_put(&t->tx, "n1", "{\"knobs\":[1],\"of\":{\"time_us\":3}}", &err));
    assert_true(table_number(t, received) > second);
    assert_fails(node_state_keep(&t->tx, "n", "{}", &err), ERR_NOT_FOUND);
}

static void reports_of_unknown_nodes_are_not_found(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct db_receipt receipt = {.node = "n", .body = "{}"};
    int64_t id;
    assert_fails(node_inventory_put(&t->tx, "n", "{}", &err), ERR_NOT_FOUND);
    assert_fails(node_state_put(&t->tx, "n", "{}", &err), ERR_NOT_FOUND);
    assert_fails(receipt_put(&t->tx, &receipt, &id, &err), ERR_NOT_FOUND);
    assert_fails(node_delete(&t->tx, "n", &err), ERR_NOT_FOUND);
}

static bool see_order(void *arg, const struct db_node *n)
{
    return seen_add(arg, "%s %lld %s\n", n->name, (long long)n->attempt, or_dash(n->approved));
}

static void orders_are_numbered_and_the_last_one_says_what_is_approved(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0}, then = {.rows = 0};
    int64_t number = 0;
    put(t, "n1");
    put(t, "n2");
    assert_ok(node_attempt_next(&t->tx, "n1", "", &number, &err));
    assert_ok(node_attempt_next(&t->tx, "n1", "sha256:1", &number, &err));
    assert_int_equal(number, 2);
    assert_ok(node_list(t->ro, NULL, 10, see_order, &seen, &err));
    assert_string_equal(seen.text, "n1 2 sha256:1\nn2 0 \n");
    assert_ok(node_attempt_next(&t->tx, "n1", "", &number, &err));
    assert_int_equal(number, 3);
    assert_ok(node_list(t->ro, NULL, 10, see_order, &then, &err));
    assert_string_equal(then.text, "n1 3 \nn2 0 \n");
}

static void a_deleted_node_takes_its_reports_and_receipts_along(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "n1");
    put(t, "n2");
    assert_ok(node_inventory_put(&t->tx, "n1", "{}", &err));
    receipt(t, "n1", 1);
    receipt(t, "n2", 1);
    assert_ok(node_delete(&t->tx, "n1", &err));
    assert_int_equal(table_number(t, "SELECT count(*) FROM node_reports WHERE node = 'n1'"), 0);
    assert_int_equal(table_number(t, "SELECT count(*) FROM receipts"), 1);
}

static void nodes_are_listed_by_name_in_pages(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "n2");
    put(t, "n1");
    put(t, "n3");
    struct seen seen = {.rows = 0}, rest = {.rows = 0};
    assert_ok(node_list(t->ro, NULL, 2, see, &seen, &err));
    assert_int_equal(seen.rows, 2);
    assert_ok(node_list(t->ro, "n2", 2, see, &rest, &err));
    assert_string_equal(rest.text, "n3 r1 {} hash -@-1 -@-1 -@-1\n");
    assert_fails(node_list(t->ro, NULL, 0, see, &rest, &err), ERR_INVALID);
    assert_fails(node_list(t->ro, NULL, DB_PAGE_MAX + 1, see, &rest, &err), ERR_INVALID);
}

static void receipts_are_listed_newest_first_in_pages(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "n1");
    put(t, "n2");
    receipt(t, "n1", 7);
    receipt(t, "n2", 7);
    receipt(t, "n1", 8);
    receipt(t, "n1", 9);
    struct seen seen = {.rows = 0}, rest = {.rows = 0};
    assert_ok(receipt_list(t->ro, "n1", 0, 2, see_receipt, &seen, &err));
    assert_string_equal(seen.text, "4 n1 g9 d o ok {\"r\":1}\n3 n1 g8 d o ok {\"r\":1}\n");
    assert_ok(receipt_list(t->ro, "n1", 3, 2, see_receipt, &rest, &err));
    assert_string_equal(rest.text, "1 n1 g7 d o ok {\"r\":1}\n");
    assert_fails(receipt_list(t->ro, "n1", 0, 0, see_receipt, &rest, &err), ERR_INVALID);
    assert_fails(receipt_list(t->ro, "n1", 0, DB_PAGE_MAX + 1, see_receipt, &rest, &err),
                 ERR_INVALID);
}

static void a_node_keeps_its_last_100_receipts(void **state)
{
    struct table_test *t = *state;
    put(t, "n1");
    put(t, "n2");
    receipt(t, "n2", 1);
    for (int i = 0; i < RECEIPTS_KEPT; i++)
        receipt(t, "n1", i);
    assert_int_equal(table_number(t, "SELECT count(*) FROM receipts WHERE node = 'n1'"), 100);
    receipt(t, "n1", 100);
    receipt(t, "n1", 101);
    assert_int_equal(table_number(t, "SELECT count(*) FROM receipts WHERE node = 'n1'"), 100);
    assert_int_equal(table_number(t, "SELECT min(generation) FROM receipts WHERE node = 'n1'"), 2);
    assert_int_equal(table_number(t, "SELECT count(*) FROM receipts WHERE node = 'n2'"), 1);
}

static void receipt_ids_are_not_reused_after_a_node_is_deleted(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "n1");
    assert_int_equal(receipt(t, "n1", 1), 1);
    assert_ok(node_delete(&t->tx, "n1", &err));
    put(t, "n1");
    assert_int_equal(receipt(t, "n1", 1), 2);
}

static void generations_count_up_by_one(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t number = -1;
    assert_ok(generation_current(t->ro, &number, &err));
    assert_int_equal(number, 0);
    assert_ok(generation_next(&t->tx, "policy a", &number, &err));
    assert_int_equal(number, 1);
    assert_ok(generation_next(&t->tx, "policy b", &number, &err));
    assert_ok(generation_current(t->ro, &number, &err));
    assert_int_equal(number, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(a_node_keeps_its_token_when_none_is_given),
        table_test(a_node_made_anew_has_a_new_revision),
        table_test(the_last_reports_stand_beside_the_node),
        table_test(a_state_that_says_nothing_new_writes_nothing),
        table_test(reports_of_unknown_nodes_are_not_found),
        table_test(orders_are_numbered_and_the_last_one_says_what_is_approved),
        table_test(a_deleted_node_takes_its_reports_and_receipts_along),
        table_test(nodes_are_listed_by_name_in_pages),
        table_test(receipts_are_listed_newest_first_in_pages),
        table_test(a_node_keeps_its_last_100_receipts),
        table_test(receipt_ids_are_not_reused_after_a_node_is_deleted),
        table_test(generations_count_up_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
