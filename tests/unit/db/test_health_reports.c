/*
 * tests/unit/db/test_health_reports.c - rows of kept reports of health.
 */
#include "tests/unit/db/table.h"

#include "db/health_reports.h"

static bool see(void *arg, const struct db_health_report *row)
{
    return seen_add(arg, "%lld %s %s %s %s %lld\n", (long long)row->id, row->kind, row->source,
                    row->grade, row->body == NULL ? "-" : row->body,
                    (long long)(row->created_us - START_US));
}

static bool count(void *arg, const struct db_health_report *row)
{
    (void)row;
    (*(int *)arg)++;
    return true;
}

static int64_t add(struct table_test *t, const char *kind)
{
    struct err err = ERR_INIT;
    const struct db_health_report row = {
        .kind = kind, .source = "tool", .grade = "ok", .body = "{}"};
    int64_t id = 0;
    assert_ok(health_report_add(&t->tx, &row, &id, &err));
    return id;
}

static void reports_are_kept_by_kind_newest_first(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    assert_int_equal(add(t, "daily"), 1);
    table_later(t, 5);
    assert_int_equal(add(t, "upload"), 2);
    assert_int_equal(add(t, "daily"), 3);
    assert_ok(health_report_list(t->ro, NULL, 0, 10, see, &seen, &err));
    assert_string_equal(seen.text,
                        "3 daily tool ok - 5\n2 upload tool ok - 5\n1 daily tool ok - 0\n");
    seen = (struct seen){.rows = 0};
    assert_ok(health_report_list(t->ro, "daily", 3, 10, see, &seen, &err));
    assert_string_equal(seen.text, "1 daily tool ok - 0\n");
    seen = (struct seen){.rows = 0};
    assert_ok(health_report_get(t->ro, 2, see, &seen, &err));
    assert_string_equal(seen.text, "2 upload tool ok {} 5\n");
    assert_fails(health_report_get(t->ro, 4, see, &seen, &err), ERR_NOT_FOUND);
}

static void so_many_of_each_kind_are_kept(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int daily = 0, uploads = 0;
    for (int i = 0; i < HEALTH_REPORTS_DAILY_MAX; i++)
        (void)add(t, "daily");
    (void)add(t, "upload");
    assert_ok(health_report_list(t->ro, "daily", 0, 1000, count, &daily, &err));
    assert_int_equal(daily, HEALTH_REPORTS_DAILY_MAX);
    (void)add(t, "daily");
    daily = 0;
    assert_ok(health_report_list(t->ro, "daily", 0, 1000, count, &daily, &err));
    assert_int_equal(daily, HEALTH_REPORTS_DAILY_MAX);
    struct seen seen = {.rows = 0};
    assert_fails(health_report_get(t->ro, 1, see, &seen, &err), ERR_NOT_FOUND);
    assert_ok(health_report_list(t->ro, "upload", 0, 1000, count, &uploads, &err));
    assert_int_equal(uploads, 1);
    for (int i = 0; i < HEALTH_REPORTS_UPLOAD_MAX; i++)
        (void)add(t, "upload");
    uploads = 0;
    assert_ok(health_report_list(t->ro, "upload", 0, 1000, count, &uploads, &err));
    assert_int_equal(uploads, HEALTH_REPORTS_UPLOAD_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(reports_are_kept_by_kind_newest_first),
        table_test(so_many_of_each_kind_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
