/*
 * Which events a caller gets, how a stream carries them, and what the ring of the newest holds.
 */
#include "tests/unit/test.h"

#include "server/event.h"
#include "server/event_ring.h"

static struct db_event event_of(int64_t id, const char *kind, const char *subject)
{
    return (struct db_event){.id = id,
                             .time_us = 1700000000000000,
                             .kind = kind,
                             .subject = subject,
                             .request_id = "r1",
                             .body = "{\"a\":1}"};
}

static bool takes(struct event_filter filter, const char *kind, const char *subject)
{
    const struct db_event event = event_of(1, kind, subject);
    return event_filter_takes(&filter, &event);
}

static void a_tenant_gets_what_is_below_its_name(void **state)
{
    (void)state;
    const struct event_filter own = {.tenant = "a"};
    assert_true(takes(own, "k", "tenant/a"));
    assert_true(takes(own, "k", "tenant/a/policy"));
    assert_false(takes(own, "k", "tenant/ab"));
    assert_false(takes(own, "k", "tenant/b/a"));
    assert_false(takes(own, "k", "tenant/"));
    assert_false(takes(own, "k", "node/a"));
    assert_false(takes(own, "k", "a"));
}

static void people_hear_of_themselves_and_managers_of_all(void **state)
{
    (void)state;
    static const char *const kinds[] = {"user.changed", "token.changed", "session.changed"};
    const struct event_filter admin = {.manages_people = true}, ann = {.user = "ann"},
                              nobody = {.user = ""},
                              manager = {.manages_people = true, .tenant = "a"},
                              eve = {.tenant = "a", .user = "eve@a"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *kind = kinds[i];
        assert_true(takes(admin, kind, "user/ann"));
        assert_true(takes(admin, kind, "token/1"));
        assert_true(takes(ann, kind, "user/ann"));
        assert_true(takes(ann, kind, "user/ann/token/1"));
        assert_false(takes(ann, kind, "user/anna"));
        assert_false(takes(ann, kind, "user/bob/token/1"));
        assert_false(takes(ann, kind, "token/1"));
        assert_false(takes(ann, kind, "tenant/a"));
        assert_false(takes(nobody, kind, "user/"));
        assert_false(takes(nobody, kind, "token/1"));
        assert_true(takes(manager, kind, "tenant/a/user/eve@a"));
        assert_false(takes(manager, kind, "tenant/b/user/eve@b"));
        assert_false(takes(manager, kind, "user/ann"));
        assert_true(takes(eve, kind, "tenant/a/user/eve@a/session/1"));
        assert_false(takes(eve, kind, "tenant/a/user/bob@a"));
        assert_false(takes(eve, kind, "tenant/a/token/1"));
    }
    assert_true(takes(nobody, "users.changed", "s"));
    assert_true(takes(nobody, "policy.changed", "user/ann"));
}

static void nothing_older_than_the_tenant_is_its_own(void **state)
{
    (void)state;
    assert_true(takes((struct event_filter){.since_us = 1700000000000000}, "k", "s"));
    assert_false(takes((struct event_filter){.since_us = 1700000000000001}, "k", "s"));
}

static void kinds_are_whole_or_begin_so(void **state)
{
    (void)state;
    const struct event_filter f = {.kind_count = 2, .kinds = {"policy.changed", "node.*"}};
    assert_true(takes(f, "policy.changed", "s"));
    assert_true(takes(f, "node.drift", "s"));
    assert_false(takes(f, "policy.changed2", "s"));
    assert_false(takes(f, "nodes.drift", "s"));
    assert_false(takes(f, "node", "s"));
}

static void a_subject_is_itself_and_what_is_below(void **state)
{
    (void)state;
    const struct event_filter f = {.subject = "node/n1"};
    assert_true(takes(f, "k", "node/n1"));
    assert_true(takes(f, "k", "node/n1/plan"));
    assert_false(takes(f, "k", "node/n10"));
    assert_false(takes(f, "k", "node"));
    assert_false(
        event_filter_is_set(&(struct event_filter){.manages_people = true, .since_us = 5}));
    assert_true(event_filter_is_set(&f));
    assert_true(event_filter_is_set(&(struct event_filter){.user = "ann"}));
}

static void an_event_is_two_lines_and_an_empty_one(void **state)
{
    (void)state;
    const struct db_event event = event_of(7, "node.drift", "node/n1");
    struct blob *blob = event_to_blob(&event);
    assert_non_null(blob);
    assert_string_equal(blob->data,
                        "id: 7\ndata: {\"body\":{\"a\":1},\"id\":7,\"kind\":\"node.drift\","
                        "\"request_id\":\"r1\",\"subject\":\"node/n1\","
                        "\"time\":\"2023-11-14T22:13:20.000000Z\"}\n\n");
    assert_int_equal(blob->len, strlen(blob->data));
    blob_unref(blob);
}

static void an_event_is_the_text_of_its_json(void **state)
{
    (void)state;
    const struct db_event events[] = {
        event_of(1, "policy.changed", "tenant/a/policy"),
        {.id = INT64_MAX, .kind = "k", .subject = "s", .request_id = "", .body = "{}"},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        OWN(json) json_t *item = event_to_json(&events[i]);
        OWN(str) char *text = json_canonical(item, NULL);
        struct blob *blob = event_to_blob(&events[i]);
        assert_non_null(text);
        assert_non_null(blob);
        const char *data = strstr(blob->data, "data: ") + strlen("data: ");
        assert_memory_equal(data, text, strlen(text));
        assert_string_equal(data + strlen(text), "\n\n");
        blob_unref(blob);
    }
}

static void an_id_is_at_most_18_digits(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "-1", "+1", "1x", " 1", "0x1", "1234567890123456789"};
    int64_t id = -7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(event_id_parse(bad[i], &id));
    assert_int_equal(id, -7);
    assert_true(event_id_parse("0", &id));
    assert_int_equal(id, 0);
    assert_true(event_id_parse("999999999999999999", &id));
    assert_int_equal(id, 999999999999999999);
}

static struct event_ring *ring_new(int64_t last)
{
    struct event_ring *ring = malloc(sizeof(*ring));
    assert_non_null(ring);
    event_ring_init(ring, last);
    return ring;
}

static void add(struct event_ring *ring, int64_t id, const char *body)
{
    struct db_event event = event_of(id, "k", "s");
    struct event_entry entry;
    event.body = body;
    assert_true(event_entry_make(&event, &entry));
    event_ring_add(ring, &entry);
}

static void ring_free(struct event_ring *ring)
{
    event_ring_release(ring);
    assert_int_equal(ring->bytes, 0);
    free(ring);
}

static void the_ring_holds_the_newest_8192(void **state)
{
    (void)state;
    struct event_ring *ring = ring_new(100);
    assert_null(event_ring_get(ring, 100));
    for (int64_t id = 101; id <= 100 + EVENT_RING_EVENTS; id++)
        add(ring, id, "{}");
    assert_int_equal(ring->first, 101);
    add(ring, 101 + EVENT_RING_EVENTS, "{}");
    assert_int_equal(ring->first, 102);
    assert_null(event_ring_get(ring, 101));
    assert_int_equal(event_ring_get(ring, 102)->event.id, 102);
    assert_int_equal(event_ring_get(ring, 101 + EVENT_RING_EVENTS)->event.id,
                     101 + EVENT_RING_EVENTS);
    assert_null(event_ring_get(ring, 102 + EVENT_RING_EVENTS));
    ring_free(ring);
}

static void the_ring_holds_at_most_16_mib(void **state)
{
    (void)state;
    struct event_ring *ring = ring_new(0);
    const size_t size = 1024 * 1024;
    char *body = malloc(size + 32);
    assert_non_null(body);
    strcpy(body, "{\"a\":\"");
    memset(body + 6, 'x', size);
    strcpy(body + 6 + size, "\"}");
    for (int64_t id = 1; id <= 20; id++)
        add(ring, id, body);
    assert_in_range(ring->bytes, EVENT_RING_BYTES_MAX - 2 * size, EVENT_RING_BYTES_MAX);
    assert_int_equal(ring->last, 20);
    assert_int_equal(ring->first, 20 - 14);
    free(body);
    ring_free(ring);
}

static void a_gap_empties_the_ring(void **state)
{
    (void)state;
    struct event_ring *ring = ring_new(0);
    add(ring, 1, "{}");
    add(ring, 3, "{}");
    assert_null(event_ring_get(ring, 1));
    assert_null(event_ring_get(ring, 2));
    assert_non_null(event_ring_get(ring, 3));
    assert_int_equal(ring->first, 3);
    ring_free(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_gets_what_is_below_its_name),
        cmocka_unit_test(people_hear_of_themselves_and_managers_of_all),
        cmocka_unit_test(nothing_older_than_the_tenant_is_its_own),
        cmocka_unit_test(kinds_are_whole_or_begin_so),
        cmocka_unit_test(a_subject_is_itself_and_what_is_below),
        cmocka_unit_test(an_event_is_two_lines_and_an_empty_one),
        cmocka_unit_test(an_event_is_the_text_of_its_json),
        cmocka_unit_test(an_id_is_at_most_18_digits),
        cmocka_unit_test(the_ring_holds_the_newest_8192),
        cmocka_unit_test(the_ring_holds_at_most_16_mib),
        cmocka_unit_test(a_gap_empties_the_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
