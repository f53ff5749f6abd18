/*
 * tests/unit/db/test_incidents.c - rows of incidents and of exclusions.
 */
#include "tests/unit/db/table.h"

#include "db/incidents.h"

static const struct db_incident link_down = {
    .rule = "link-down",
    .subject = "node/n1/port/p0",
    .node = "n1",
    .kind = 1,
    .device = "p0",
    .port = "p0",
    .severity = "warning",
    .message = "a link went down",
    .observed = "1 drops",
    .limit = "below 1 drops",
    .hint = "look",
};
#define ALL                                                                                        \
    {                                                                                              \
        .open = -1, .acknowledged = -1, .root = -1                                                 \
    }

static bool see(void *arg, const struct db_incident *row)
{
    return seen_add(arg, "%lld %s %s %s%s root=%lld count=%lld %s\n", (long long)row->id, row->rule,
                    row->subject, row->severity, row->cleared_us == 0 ? "" : " over",
                    (long long)row->root, (long long)row->count, row->acknowledged_by);
}

static int64_t raise_it(struct table_test *t, const struct db_incident *row,
                        enum incident_news wanted)
{
    struct err err = ERR_INIT;
    enum incident_news news;
    int64_t id = 0;
    assert_ok(incident_raise(&t->tx, row, &id, &news, &err));
    assert_int_equal(news, wanted);
    return id;
}

static void an_incident_is_one_until_it_is_over_for_long(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    struct db_incident worse = link_down;
    int64_t cleared;
    worse.severity = "critical";
    int64_t id = raise_it(t, &link_down, INCIDENT_OPENED);
    assert_int_equal(raise_it(t, &link_down, INCIDENT_SAME), id);
    assert_int_equal(raise_it(t, &worse, INCIDENT_CHANGED), id);
    assert_ok(incident_clear(&t->tx, "link-down", link_down.subject, &cleared, &err));
    assert_int_equal(cleared, id);
    assert_ok(incident_clear(&t->tx, "link-down", link_down.subject, &cleared, &err));
    assert_int_equal(cleared, 0);
    table_later(t, INCIDENT_REOPEN_US);
    assert_int_equal(raise_it(t, &link_down, INCIDENT_OPENED), id);
    assert_ok(incident_clear(&t->tx, "link-down", link_down.subject, &cleared, &err));
    table_later(t, INCIDENT_REOPEN_US + 1);
    assert_int_equal(raise_it(t, &link_down, INCIDENT_OPENED), id + 1);
    const struct incident_filter all = ALL;
    assert_ok(incident_list(t->ro, &all, 0, 10, see, &seen, &err));
    assert_string_equal(seen.text, "2 link-down node/n1/port/p0 warning root=0 count=1 \n"
                                   "1 link-down node/n1/port/p0 warning over root=0 count=2 \n");
}

static void a_root_that_gets_a_root_takes_its_symptoms_along(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    struct db_incident symptom = link_down, second = link_down;
    int64_t root = raise_it(t, &link_down, INCIDENT_OPENED);
    symptom.rule = "port-down";
    int64_t middle = raise_it(t, &symptom, INCIDENT_OPENED);
    second.rule = "guarantee-not-met";
    second.root = middle;
    raise_it(t, &second, INCIDENT_OPENED);
    assert_ok(incident_set_root(&t->tx, middle, root, &err));
    struct incident_filter of_root = ALL;
    of_root.root = root;
    assert_ok(incident_list(t->ro, &of_root, 0, 10, see, &seen, &err));
    assert_int_equal(seen.rows, 2);
    of_root.root = 0;
    seen = (struct seen){.rows = 0};
    assert_ok(incident_list(t->ro, &of_root, 0, 10, see, &seen, &err));
    assert_string_equal(seen.text, "1 link-down node/n1/port/p0 warning root=0 count=1 \n");
}

static void what_a_rule_raised_elsewhere_is_found(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    struct db_incident one = link_down;
    int64_t cleared, began = t->tx.ro.now_us;
    const struct incident_place place = {"link-down", "n1", began + 1};
    raise_it(t, &one, INCIDENT_OPENED); /* its own */
    one.node = "n2";
    one.subject = "node/n2/port/p0"; /* ended too early */
    raise_it(t, &one, INCIDENT_OPENED);
    assert_ok(incident_clear(&t->tx, "link-down", one.subject, &cleared, &err));
    table_later(t, 1);
    one.subject = "node/n2/port/p1"; /* ended since */
    raise_it(t, &one, INCIDENT_OPENED);
    assert_ok(incident_clear(&t->tx, "link-down", one.subject, &cleared, &err));
    one.subject = "node/n2/port/p2";
    raise_it(t, &one, INCIDENT_OPENED);
    one.subject = "node/n2/port/p3";
    raise_it(t, &one, INCIDENT_OPENED);
    one.rule = "port-down"; /* another rule's */
    raise_it(t, &one, INCIDENT_OPENED);
    assert_ok(incident_elsewhere(t->ro, &place, 10, see, &seen, &err));
    assert_string_equal(seen.text, "5 link-down node/n2/port/p3 warning root=0 count=1 \n"
                                   "4 link-down node/n2/port/p2 warning root=0 count=1 \n"
                                   "3 link-down node/n2/port/p1 warning over root=0 count=1 \n");
    seen = (struct seen){.rows = 0};
    assert_ok(incident_elsewhere(t->ro, &place, 1, see, &seen, &err));
    assert_int_equal(seen.rows, 1);
}

static void filters_take_what_they_name(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct db_incident other = link_down;
    bool again;
    int64_t id = raise_it(t, &link_down, INCIDENT_OPENED), cleared;
    other.subject = "tenant/a/job/b";
    other.node = "n2";
    other.tenant = "a";
    other.severity = "critical";
    raise_it(t, &other, INCIDENT_OPENED);
    assert_ok(incident_clear(&t->tx, "link-down", other.subject, &cleared, &err));
    assert_ok(incident_acknowledge(&t->tx, id, "user:eve", "cable ordered", &again, &err));
    assert_false(again);
    assert_ok(incident_acknowledge(&t->tx, id, "user:bob", "me too", &again, &err));
    assert_true(again);
    assert_fails(incident_acknowledge(&t->tx, 99, "user:eve", "", &again, &err), ERR_NOT_FOUND);
    const struct {
        struct incident_filter filter;
        int first; /* id of the one row; 0 = none */
    } cases[] = {
        {{.open = 1, .acknowledged = -1, .root = -1}, 1},
        {{.open = 0, .acknowledged = -1, .root = -1}, 2},
        {{.open = -1, .acknowledged = 1, .root = -1}, 1},
        {{.open = -1, .acknowledged = 0, .root = -1}, 2},
        {{.node = "n2", .open = -1, .acknowledged = -1, .root = -1}, 2},
        {{.tenant = "a", .open = -1, .acknowledged = -1, .root = -1}, 2},
        {{.severity = "warning", .open = -1, .acknowledged = -1, .root = -1}, 1},
        {{.rule = "fcs-errors", .open = -1, .acknowledged = -1, .root = -1}, 0},
        {{.open = -1, .acknowledged = -1, .root = -1, .since_us = START_US + 1}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct seen seen = {.rows = 0};
        assert_ok(incident_list(t->ro, &cases[i].filter, 0, 10, see, &seen, &err));
        assert_int_equal(seen.rows, cases[i].first != 0);
        if (cases[i].first != 0)
            assert_int_equal(atoi(seen.text), cases[i].first);
    }
}

static void a_node_that_goes_takes_its_open_incidents_with_it(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t count;
    raise_it(t, &link_down, INCIDENT_OPENED);
    assert_ok(incidents_clear_node(&t->tx, "n2", &count, &err));
    assert_int_equal(count, 0);
    assert_ok(incidents_clear_node(&t->tx, "n1", &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(table_number(t, "SELECT count(*) FROM incidents WHERE cleared_us = 0"), 0);
}

static void open_incidents_are_bounded_and_old_ones_go(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    enum incident_news news;
    int64_t id;
    char subject[32];
    struct db_incident row = link_down;
    row.subject = subject;
    snprintf(subject, sizeof(subject), "node/first");
    int64_t first = raise_it(t, &row, INCIDENT_OPENED);
    assert_ok(incident_clear(&t->tx, row.rule, subject, &id, &err));
    assert_ok(conn_exec(t->ro->conn,
                        "UPDATE incidents SET cleared_us = 1 WHERE id = 1;"
                        "INSERT INTO incidents SELECT value + 1, 'r', 's' || value, 'n1', '', '',"
                        " 1, '', 0, 0, '', 'warning', 0, '', '', '', '', 1, 0, 0, 0, 0, '', ''"
                        " FROM (WITH RECURSIVE c(value) AS (VALUES (1) UNION ALL SELECT value + 1"
                        " FROM c WHERE value < 9999) SELECT value FROM c)",
                        &err));
    snprintf(subject, sizeof(subject), "node/last");
    raise_it(t, &row, INCIDENT_OPENED); /* the 10,000th that is open */
    snprintf(subject, sizeof(subject), "node/more");
    assert_fails(incident_raise(&t->tx, &row, &id, &news, &err), ERR_LIMIT);
    assert_ok(conn_exec(t->ro->conn, "UPDATE incidents SET id = 30000 WHERE id = 10001", &err));
    assert_ok(incidents_clear_node(&t->tx, "n1", &id, &err));
    raise_it(t, &row, INCIDENT_OPENED);
    (void)first;
    assert_int_equal(table_number(t, "SELECT min(id) FROM incidents"), 30000);
}

static bool see_exclusion(void *arg, const struct db_exclusion *row)
{
    return seen_add(arg, "%lld %s %s %s %s %lld\n", (long long)row->id, row->rule, row->subject,
                    row->reason, row->created_by, (long long)(row->expires_us - START_US));
}

static void exclusions_are_added_listed_and_dropped_after_their_end(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    int64_t id;
    const struct db_exclusion row = {.rule = "link-down",
                                     .subject = "node/n1",
                                     .reason = "being moved",
                                     .created_by = "user:eve",
                                     .expires_us = START_US + 5};
    assert_ok(exclusion_add(&t->tx, &row, &id, &err));
    assert_ok(exclusion_get(t->ro, id, see_exclusion, &seen, &err));
    assert_string_equal(seen.text, "1 link-down node/n1 being moved user:eve 5\n");
    table_later(t, INT64_C(86400000000) + 6);
    assert_ok(exclusion_add(&t->tx, &row, &id, &err));
    assert_int_equal(table_number(t, "SELECT count(*) FROM exclusions"), 1);
    assert_ok(exclusion_delete(&t->tx, id, &err));
    assert_fails(exclusion_delete(&t->tx, id, &err), ERR_NOT_FOUND);
    assert_fails(exclusion_get(t->ro, id, see_exclusion, &seen, &err), ERR_NOT_FOUND);
}

static void more_exclusions_than_the_limit_are_refused(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t id;
    const struct db_exclusion row = {
        .rule = "", .subject = "node/n1", .reason = "r", .created_by = "u", .expires_us = START_US};
    for (int i = 0; i < EXCLUSIONS_MAX; i++)
        assert_ok(exclusion_add(&t->tx, &row, &id, &err));
    assert_fails(exclusion_add(&t->tx, &row, &id, &err), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(an_incident_is_one_until_it_is_over_for_long),
        table_test(a_root_that_gets_a_root_takes_its_symptoms_along),
        table_test(what_a_rule_raised_elsewhere_is_found),
        table_test(filters_take_what_they_name),
        table_test(a_node_that_goes_takes_its_open_incidents_with_it),
        table_test(open_incidents_are_bounded_and_old_ones_go),
        table_test(exclusions_are_added_listed_and_dropped_after_their_end),
        table_test(more_exclusions_than_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
