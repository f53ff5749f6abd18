/*
 * tests/unit/db/test_events.c - the event log.
 */
#include "tests/unit/db/table.h"

static bool see(void *arg, const struct db_event *event)
{
    return seen_add(arg, "%lld@%d %s %s %s %s\n", (long long)event->id,
                    (int)(event->time_us - START_US), event->kind, event->subject,
                    event->request_id, event->body);
}

static int64_t add(struct table_test *t)
{
    struct err err = ERR_INIT;
    int64_t id = 0;
    const struct db_event event = {
        .kind = "node.drift", .subject = "node/n1", .request_id = "r1", .body = "{}"};
    assert_ok(event_add(&t->tx, &event, &id, &err));
    return id;
}

static void events_are_listed_oldest_first_after_an_id(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    assert_int_equal(add(t), 1);
    table_later(t, 2);
    assert_int_equal(add(t), 2);
    add(t);
    struct seen seen = {.rows = 0}, rest = {.rows = 0};
    assert_ok(event_list(t->ro, 0, 2, see, &seen, &err));
    assert_string_equal(seen.text, "1@0 node.drift node/n1 r1 {}\n2@2 node.drift node/n1 r1 {}\n");
    assert_ok(event_list(t->ro, 2, 2, see, &rest, &err));
    assert_string_equal(rest.text, "3@2 node.drift node/n1 r1 {}\n");
    assert_fails(event_list(t->ro, 0, 0, see, &rest, &err), ERR_INVALID);
    assert_fails(event_list(t->ro, 0, DB_PAGE_MAX + 1, see, &rest, &err), ERR_INVALID);
}

static void on_event(void *arg, const struct db_event *event)
{
    see(arg, event);
}

static void the_hook_hears_what_was_not_rolled_back(void **state)
{
    struct table_test *t = *state;
    struct seen seen = {.rows = 0};
    t->db->hooks = (struct db_hooks){.arg = &seen, .event = on_event};
    add(t);
    struct db_heads before = t->db->heads;
    add(t);
    t->db->heads = before;
    events_undo(t->db);
    table_later(t, 5);
    assert_true(t->db->event_log.count == 1);
    events_tell(t->db);
    assert_string_equal(seen.text, "1@0 node.drift node/n1 r1 {}\n");
    events_tell(t->db);
    assert_int_equal(seen.rows, 1);
    events_release(t->db);
}

static void the_bounds_are_what_is_kept(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t oldest = -1, newest = -1;
    assert_ok(event_bounds(t->ro, &oldest, &newest, &err));
    assert_int_equal(oldest, 0);
    assert_int_equal(newest, 0);
    add(t);
    add(t);
    assert_ok(conn_exec(t->ro->conn, "DELETE FROM events WHERE id = 1", &err));
    assert_ok(event_bounds(t->ro, &oldest, &newest, &err));
    assert_int_equal(oldest, 2);
    assert_int_equal(newest, 2);
}

static void ids_go_on_where_the_file_ends(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    add(t);
    add(t);
    t->db->heads.event_id = 0;
    assert_ok(events_start(&t->tx, &err));
    assert_int_equal(add(t), 3);
}

static void old_events_are_dropped_a_few_at_a_time(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    assert_ok(conn_exec(t->ro->conn,
                        "INSERT INTO events (id, time_us, kind, subject, body)"
                        " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                        " WHERE i < 100000) SELECT i, 1, 'k', 's', '{}' FROM n",
                        &err));
    assert_ok(events_start(&t->tx, &err));
    int64_t id = 0, most = 0;
    for (int i = 0; i < 200; i++) {
        id = add(t);
        int64_t rows = table_number(t, "SELECT count(*) FROM events");
        most = rows > most ? rows : most;
        assert_true(rows >= EVENTS_KEPT);
    }
    assert_int_equal(id, EVENTS_KEPT + 200);
    assert_in_range(most, EVENTS_KEPT, EVENTS_KEPT + 64);
    assert_int_equal(table_number(t, "SELECT max(id) FROM events"), EVENTS_KEPT + 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(events_are_listed_oldest_first_after_an_id),
        table_test(the_hook_hears_what_was_not_rolled_back),
        table_test(the_bounds_are_what_is_kept),
        table_test(ids_go_on_where_the_file_ends),
        table_test(old_events_are_dropped_a_few_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
