/*
 * tests/unit/db/test_placements.c - placements and labels.
 */
#include "tests/unit/db/table.h"

static bool see(void *arg, const struct db_placement *p)
{
    return seen_add(arg, "%s/%s:%u r%lld %s %lld\n", p->tenant, p->job, (unsigned)p->label,
                    (long long)p->revision, p->body, (long long)(p->updated_us - START_US));
}

static uint32_t label(struct table_test *t, const char *tenant, const char *job)
{
    struct err err = ERR_INIT;
    uint32_t out = 0;
    assert_ok(label_get(&t->tx, tenant, job, &out, &err));
    return out;
}

static int64_t place(struct table_test *t, const char *tenant, const char *job)
{
    struct err err = ERR_INIT;
    int64_t revision = 0;
    assert_ok(tenant_put(&t->tx, tenant, "{}", &revision, &err));
    assert_ok(
        placement_put(&t->tx, tenant, job, label(t, tenant, job), "{\"p\":1}", &revision, &err));
    return revision;
}

static bool see_taken(void *arg, const struct db_placement *p)
{
    *(int64_t *)arg = p->taken_us;
    return true;
}

static int64_t taken(struct table_test *t, const char *tenant, const char *job)
{
    struct err err = ERR_INIT;
    int64_t since_us = -1;
    assert_ok(placement_get(t->ro, tenant, job, see_taken, &since_us, &err));
    return since_us;
}

static void labels_count_from_1_and_stay_with_their_jobs(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    assert_int_equal(label(t, "a", "x"), 1);
    assert_int_equal(label(t, "a", "y"), 2);
    assert_int_equal(label(t, "b", "x"), 3);
    assert_int_equal(label(t, "a", "x"), 1);
    place(t, "a", "x");
    assert_ok(placement_delete(&t->tx, "a", "x", &err));
    assert_int_equal(label(t, "c", "x"), 4);
    assert_int_equal(label(t, "a", "x"), 1);
}

/* All labels but 65533 belong to other jobs; which of them are free is up to the test. */
static void take_all_but_the_last(struct table_test *t)
{
    struct err err = ERR_INIT;
    assert_ok(conn_exec(t->ro->conn,
                        "INSERT INTO labels (label, tenant, job, freed_us)"
                        " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                        " WHERE i < 65532) SELECT i, 'full', 'j' || i, 0 FROM n",
                        &err));
}

static void an_unused_label_is_given_before_a_freed_one(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    take_all_but_the_last(t);
    assert_ok(conn_exec(t->ro->conn, "UPDATE labels SET freed_us = 5 WHERE label = 7", &err));
    assert_int_equal(label(t, "a", "x"), DB_LABEL_MAX);
    assert_int_equal(label(t, "a", "y"), 7);
}

static void the_longest_freed_label_is_reused_first_and_then_there_is_none(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    take_all_but_the_last(t);
    label(t, "a", "last");
    assert_ok(conn_exec(t->ro->conn,
                        "UPDATE labels SET freed_us = 9 WHERE label = 7;"
                        "UPDATE labels SET freed_us = 5 WHERE label = 8",
                        &err));
    assert_int_equal(label(t, "a", "x"), 8);
    assert_int_equal(label(t, "a", "y"), 7);
    uint32_t none = 99;
    assert_fails(label_get(&t->tx, "a", "z", &none, &err), ERR_LIMIT);
    assert_int_equal(none, 99);
    /* The job that lost its label gets the next free one. */
    assert_ok(conn_exec(t->ro->conn, "UPDATE labels SET freed_us = 9 WHERE label = 11", &err));
    assert_int_equal(label(t, "full", "j7"), 11);
}

static void a_label_is_a_jobs_since_another_one_lost_it(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    take_all_but_the_last(t);
    place(t, "a", "x");
    assert_int_equal(taken(t, "a", "x"), 0);
    table_later(t, 3);
    assert_ok(placement_delete(&t->tx, "a", "x", &err));
    table_later(t, 4);
    place(t, "a", "x"); /* it comes back to its own */
    assert_int_equal(taken(t, "a", "x"), 0);
    assert_ok(placement_delete(&t->tx, "a", "x", &err));
    table_later(t, 5);
    place(t, "a", "y");
    assert_int_equal(label(t, "a", "y"), DB_LABEL_MAX);
    assert_int_equal(taken(t, "a", "y"), START_US + 12);
}

static void a_placement_changes_in_place(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    assert_int_equal(place(t, "a", "x"), 1);
    table_later(t, 3);
    assert_int_equal(place(t, "a", "x"), 2);
    struct seen seen = {.rows = 0};
    assert_ok(placement_list(t->ro, NULL, NULL, NULL, 10, see, &seen, &err));
    assert_string_equal(seen.text, "a/x:1 r2 {\"p\":1} 3\n");
}

static void a_label_of_another_job_is_refused(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t revision;
    place(t, "a", "x");
    uint32_t own = label(t, "a", "y");
    assert_fails(placement_put(&t->tx, "a", "y", 1, "{}", &revision, &err), ERR_CONFLICT);
    assert_fails(placement_put(&t->tx, "a", "z", own, "{}", &revision, &err), ERR_CONFLICT);
}

static void a_placement_made_anew_has_a_new_revision(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    place(t, "a", "x");
    assert_int_equal(place(t, "a", "x"), 2);
    assert_ok(placement_delete(&t->tx, "a", "x", &err));
    assert_int_equal(place(t, "a", "x"), 3);
    assert_int_equal(place(t, "a", "x"), 4);
    /* Its tenant takes it along; the tenant's own revision is lower. */
    assert_ok(conn_exec(t->ro->conn, "UPDATE tenants SET revision = 1", &err));
    assert_ok(tenant_delete(&t->tx, "a", &err));
    assert_int_equal(place(t, "a", "x"), 5);
}

static void a_placement_of_no_tenant_is_refused(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t revision;
    uint32_t own = label(t, "nobody", "x");
    assert_fails(placement_put(&t->tx, "nobody", "x", own, "{}", &revision, &err), ERR_CONFLICT);
}

static void deleting_an_unknown_placement_is_not_found(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    place(t, "a", "x");
    assert_fails(placement_delete(&t->tx, "a", "y", &err), ERR_NOT_FOUND);
    assert_ok(placement_delete(&t->tx, "a", "x", &err));
    assert_fails(placement_delete(&t->tx, "a", "x", &err), ERR_NOT_FOUND);
}

static void placements_are_listed_by_tenant_and_job_in_pages(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    place(t, "b", "x");
    place(t, "a", "y");
    place(t, "a", "x");
    struct seen all = {.rows = 0}, rest = {.rows = 0}, own = {.rows = 0}, own_rest = {.rows = 0};
    assert_ok(placement_list(t->ro, NULL, NULL, NULL, 2, see, &all, &err));
    assert_string_equal(all.text, "a/x:3 r1 {\"p\":1} 0\na/y:2 r1 {\"p\":1} 0\n");
    assert_ok(placement_list(t->ro, NULL, "a", "y", 2, see, &rest, &err));
    assert_string_equal(rest.text, "b/x:1 r1 {\"p\":1} 0\n");
    assert_ok(placement_list(t->ro, "a", NULL, NULL, 9, see, &own, &err));
    assert_int_equal(own.rows, 2);
    assert_ok(placement_list(t->ro, "a", "a", "x", 9, see, &own_rest, &err));
    assert_string_equal(own_rest.text, "a/y:2 r1 {\"p\":1} 0\n");
    assert_fails(placement_list(t->ro, NULL, NULL, NULL, 0, see, &all, &err), ERR_INVALID);
    assert_fails(placement_list(t->ro, NULL, NULL, NULL, DB_PAGE_MAX + 1, see, &all, &err),
                 ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(labels_count_from_1_and_stay_with_their_jobs),
        table_test(an_unused_label_is_given_before_a_freed_one),
        table_test(the_longest_freed_label_is_reused_first_and_then_there_is_none),
        table_test(a_label_is_a_jobs_since_another_one_lost_it),
        table_test(a_placement_changes_in_place),
        table_test(a_label_of_another_job_is_refused),
        table_test(a_placement_made_anew_has_a_new_revision),
        table_test(a_placement_of_no_tenant_is_refused),
        table_test(deleting_an_unknown_placement_is_not_found),
        table_test(placements_are_listed_by_tenant_and_job_in_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
