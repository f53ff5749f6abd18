/*
 * tests/unit/db/test_operations.c - rows of long work, keys of the store, labels by an archive.
 */
#include "tests/unit/db/table.h"

#include "db/operations.h"

static bool see(void *arg, const struct db_operation *o)
{
    return seen_add(arg, "%s %s %s %s %lld/%lld '%s' %lld %lld\n", o->id, o->kind, o->state,
                    o->actor, (long long)o->done, (long long)o->total, o->result,
                    (long long)(o->created_us - START_US),
                    (long long)(o->finished_us == 0 ? 0 : o->finished_us - START_US));
}

static void add(struct table_test *t, const char *id)
{
    struct err err = ERR_INIT;
    const struct db_operation row = {.id = id, .kind = "import", .actor = "token:a", .total = 9};
    assert_ok(operation_add(&t->tx, &row, &err));
}

static void an_operation_runs_and_ends_once(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    const struct db_operation end = {
        .id = "op-1", .state = "succeeded", .done = 9, .result = "{\"changed\":1}"};
    add(t, "op-1");
    table_later(t, 7);
    assert_ok(operation_finish(&t->tx, &end, &err));
    assert_ok(operation_get(t->ro, "op-1", see, &seen, &err));
    assert_string_equal(seen.text, "op-1 import succeeded token:a 9/9 '{\"changed\":1}' 0 7\n");
    assert_fails(operation_finish(&t->tx, &end, &err), ERR_NOT_FOUND);
    assert_fails(operation_get(t->ro, "op-2", see, &seen, &err), ERR_NOT_FOUND);
}

static void a_restart_interrupts_what_runs_and_nothing_else(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    const struct db_operation end = {.id = "op-1", .state = "failed", .done = 2};
    add(t, "op-1");
    add(t, "op-2");
    assert_ok(operation_finish(&t->tx, &end, &err));
    table_later(t, 5);
    assert_ok(operations_interrupt(&t->tx, &err));
    assert_ok(operation_list(t->ro, NULL, 10, see, &seen, &err));
    assert_string_equal(seen.text, "op-2 import interrupted token:a 0/9 '' 0 5\n"
                                   "op-1 import failed token:a 2/9 '' 0 0\n");
}

static void operations_are_listed_newest_first_behind_a_key(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    add(t, "op-1");
    add(t, "op-2");
    add(t, "op-3");
    assert_ok(operation_list(t->ro, "op-3", 1, see, &seen, &err));
    assert_string_equal(seen.text, "op-2 import running token:a 0/9 '' 0 0\n");
}

static void ended_ones_go_after_their_time(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    const struct db_operation end = {.id = "op-1", .state = "succeeded"};
    add(t, "op-1");
    assert_ok(operation_finish(&t->tx, &end, &err));
    table_later(t, OPERATIONS_KEPT_US);
    add(t, "op-2");
    assert_int_equal(table_number(t, "SELECT count(*) FROM operations"), 2);
    table_later(t, 1);
    add(t, "op-3");
    assert_int_equal(table_number(t, "SELECT count(*) FROM operations"), 2);
    assert_int_equal(table_number(t, "SELECT count(*) FROM operations WHERE id = 'op-1'"), 0);
}

static void a_key_is_made_once(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    unsigned char first[STORE_KEY_SIZE], again[STORE_KEY_SIZE], other[STORE_KEY_SIZE];
    assert_ok(store_key_get(&t->tx, "page-token", first, &err));
    assert_ok(store_key_get(&t->tx, "page-token", again, &err));
    assert_ok(store_key_get(&t->tx, "other", other, &err));
    assert_memory_equal(first, again, STORE_KEY_SIZE);
    assert_memory_not_equal(first, other, STORE_KEY_SIZE);
    assert_ok(conn_exec(t->ro->conn, "UPDATE store_keys SET value = 'xx'", &err));
    assert_fails(store_key_get(&t->tx, "page-token", again, &err), ERR_INVALID);
}

static bool see_label(void *arg, const char *tenant, const char *job, uint32_t label)
{
    return seen_add(arg, "%s/%s:%u\n", tenant, job, (unsigned)label);
}

static void a_claimed_label_is_one_jobs_for_ever(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    uint32_t label = 0;
    assert_ok(label_claim(&t->tx, "a", "x", 7, true, &err));
    assert_ok(label_claim(&t->tx, "a", "x", 7, true, &err));
    assert_fails(label_claim(&t->tx, "a", "x", 8, true, &err), ERR_CONFLICT);
    assert_fails(label_claim(&t->tx, "a", "y", 7, true, &err), ERR_CONFLICT);
    assert_ok(label_claim(&t->tx, "b", "gone", 9, false, &err));
    assert_ok(label_get(&t->tx, "a", "new", &label, &err));
    assert_int_equal(label, 10);
    assert_ok(label_list_freed(t->ro, 0, 10, see_label, &seen, &err));
    assert_string_equal(seen.text, "b/gone:9\n");
    assert_ok(label_get(&t->tx, "b", "gone", &label, &err));
    assert_int_equal(label, 9);
}

static bool see_tenant(void *arg, const struct db_tenant *row)
{
    return seen_add(arg, "%s %s\n", row->name, row->body);
}

static bool see_placement(void *arg, const struct db_placement *row)
{
    return seen_add(arg, "%s/%s:%u %s\n", row->tenant, row->job, (unsigned)row->label, row->body);
}

static void one_row_is_read_by_its_name(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    int64_t revision;
    uint32_t label = 0;
    assert_ok(tenant_put(&t->tx, "a", "{}", &revision, &err));
    assert_ok(tenant_put(&t->tx, "b", "{\"x\":1}", &revision, &err));
    assert_ok(label_get(&t->tx, "b", "j", &label, &err));
    assert_ok(placement_put(&t->tx, "b", "j", label, "{\"p\":1}", &revision, &err));
    assert_ok(tenant_get(t->ro, "b", see_tenant, &seen, &err));
    assert_ok(placement_get(t->ro, "b", "j", see_placement, &seen, &err));
    assert_string_equal(seen.text, "b {\"x\":1}\nb/j:1 {\"p\":1}\n");
    assert_fails(tenant_get(t->ro, "c", see_tenant, &seen, &err), ERR_NOT_FOUND);
    assert_fails(placement_get(t->ro, "a", "j", see_placement, &seen, &err), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(an_operation_runs_and_ends_once),
        table_test(a_restart_interrupts_what_runs_and_nothing_else),
        table_test(operations_are_listed_newest_first_behind_a_key),
        table_test(ended_ones_go_after_their_time),
        table_test(a_key_is_made_once),
        table_test(a_claimed_label_is_one_jobs_for_ever),
        table_test(one_row_is_read_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
