/*
 * tests/unit/db/test_tenants.c - tenants, and what goes with them.
 */
#include "tests/unit/db/table.h"

static bool see(void *arg, const struct db_tenant *tenant)
{
    return seen_add(arg, "%s %lld %s %lld %lld\n", tenant->name, (long long)tenant->revision,
                    tenant->body, (long long)(tenant->created_us - START_US),
                    (long long)(tenant->updated_us - START_US));
}

static bool see_placement(void *arg, const struct db_placement *placement)
{
    return seen_add(arg, "%s/%s ", placement->tenant, placement->job);
}

static bool see_token(void *arg, const struct db_token *token)
{
    return seen_add(arg, "%s ", token->id);
}

static void put(struct table_test *t, const char *name)
{
    struct err err = ERR_INIT;
    int64_t revision;
    assert_ok(tenant_put(&t->tx, name, "{}", &revision, &err));
}

static void a_change_counts_the_revision_up_and_keeps_the_creation_time(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t revision = 0;
    assert_ok(tenant_put(&t->tx, "a", "{}", &revision, &err));
    assert_int_equal(revision, 1);
    table_later(t, 7);
    assert_ok(tenant_put(&t->tx, "a", "{\"x\":1}", &revision, &err));
    assert_int_equal(revision, 2);
    struct seen seen = {.rows = 0};
    assert_ok(tenant_list(t->ro, NULL, 10, see, &seen, &err));
    assert_string_equal(seen.text, "a 2 {\"x\":1} 0 7\n");
}

static void tenants_are_listed_by_name_in_pages(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    put(t, "b");
    put(t, "a");
    put(t, "c");
    struct seen seen = {.rows = 0};
    assert_ok(tenant_list(t->ro, NULL, 2, see, &seen, &err));
    assert_string_equal(seen.text, "a 1 {} 0 0\nb 1 {} 0 0\n");
    struct seen rest = {.rows = 0};
    assert_ok(tenant_list(t->ro, "b", 2, see, &rest, &err));
    assert_string_equal(rest.text, "c 1 {} 0 0\n");
    assert_fails(tenant_list(t->ro, NULL, 0, see, &rest, &err), ERR_INVALID);
    assert_fails(tenant_list(t->ro, NULL, DB_PAGE_MAX + 1, see, &rest, &err), ERR_INVALID);
}

static void deleting_an_unknown_tenant_is_not_found(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    assert_fails(tenant_delete(&t->tx, "a", &err), ERR_NOT_FOUND);
    assert_contains(err.text, "tenant a");
}

static void fill(struct table_test *t, const char *tenant, const char *doc)
{
    struct err err = ERR_INIT;
    put(t, tenant);
    struct db_revision policy = {
        .doc = doc, .body = "{}", .digest = "d", .author = "a", .message = "", .origin = "upload"};
    struct db_token token = {.id = tenant, .hash = doc, .role = "tenant-user", .tenant = tenant};
    int64_t number;
    uint32_t label = 0;
    assert_ok(document_put(&t->tx, &policy, &number, &err));
    assert_ok(token_put(&t->tx, &token, &err));
    assert_ok(label_get(&t->tx, tenant, "j", &label, &err));
    assert_ok(placement_put(&t->tx, tenant, "j", label, "{}", &number, &err));
}

static void a_tenant_knows_when_it_was_made(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t revision = 0, us = 0;
    assert_ok(tenant_created(t->ro, "a", &us, &err));
    assert_true(us == INT64_MAX);
    assert_ok(tenant_put(&t->tx, "a", "{}", &revision, &err));
    assert_ok(tenant_created(t->ro, "a", &us, &err));
    assert_int_equal(us, db_tx_now_us(&t->tx));
    assert_ok(tenant_delete(&t->tx, "a", &err));
    assert_ok(tenant_created(t->ro, "a", &us, &err));
    assert_true(us == INT64_MAX);
}

static void a_deleted_tenant_takes_its_policy_placements_and_tokens_along(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    fill(t, "a", "tenant/a/policy");
    fill(t, "ab", "tenant/ab/policy");
    struct db_token fleet = {.id = "z", .hash = "h", .role = "admin", .tenant = ""};
    assert_ok(token_put(&t->tx, &fleet, &err));
    assert_ok(tenant_delete(&t->tx, "a", &err));

    int64_t number = -1;
    assert_ok(document_current(t->ro, "tenant/a/policy", &number, &err));
    assert_int_equal(number, 0);
    assert_ok(document_current(t->ro, "tenant/ab/policy", &number, &err));
    assert_int_equal(number, 1);
    struct seen placements = {.rows = 0}, tokens = {.rows = 0}, tenants = {.rows = 0};
    assert_ok(placement_list(t->ro, NULL, NULL, NULL, 10, see_placement, &placements, &err));
    assert_string_equal(placements.text, "ab/j ");
    assert_ok(token_each(t->ro, "", see_token, &tokens, &err));
    assert_string_equal(tokens.text, "ab z ");
    assert_ok(tenant_list(t->ro, NULL, 10, see, &tenants, &err));
    assert_int_equal(tenants.rows, 1);
}

static void a_tenant_that_comes_back_finds_its_labels_and_revision_numbers(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    fill(t, "a", "tenant/a/policy");
    uint32_t before = 0, after = 0;
    assert_ok(label_get(&t->tx, "a", "j", &before, &err));
    assert_ok(tenant_delete(&t->tx, "a", &err));
    fill(t, "a", "tenant/a/policy");
    assert_ok(label_get(&t->tx, "a", "j", &after, &err));
    assert_int_equal(before, after);
    int64_t number = 0;
    assert_ok(document_current(t->ro, "tenant/a/policy", &number, &err));
    assert_int_equal(number, 2);
}

static void a_revision_never_comes_back_with_its_name(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t revision = 0, other = 0;
    for (int i = 0; i < 3; i++)
        assert_ok(tenant_put(&t->tx, "a", "{}", &revision, &err));
    assert_int_equal(revision, 3);
    assert_ok(tenant_put(&t->tx, "b", "{}", &other, &err));
    assert_ok(tenant_delete(&t->tx, "a", &err));
    assert_ok(tenant_delete(&t->tx, "b", &err));
    assert_ok(tenant_put(&t->tx, "a", "{}", &revision, &err));
    assert_int_equal(revision, 4);
    assert_ok(tenant_put(&t->tx, "a", "{}", &revision, &err));
    assert_int_equal(revision, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(a_change_counts_the_revision_up_and_keeps_the_creation_time),
        table_test(tenants_are_listed_by_name_in_pages),
        table_test(deleting_an_unknown_tenant_is_not_found),
        table_test(a_tenant_knows_when_it_was_made),
        table_test(a_deleted_tenant_takes_its_policy_placements_and_tokens_along),
        table_test(a_tenant_that_comes_back_finds_its_labels_and_revision_numbers),
        table_test(a_revision_never_comes_back_with_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
