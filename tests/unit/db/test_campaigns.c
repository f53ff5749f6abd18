/*
 * tests/unit/db/test_campaigns.c - rows of firmware campaigns and of their devices.
 */
#include "tests/unit/db/table.h"

#include "db/campaigns.h"

static bool see(void *arg, const struct db_campaign *c)
{
    return seen_add(arg, "%lld %s %d %lld %s %s\n", (long long)c->number, c->state, c->active,
                    (long long)c->revision, c->image, c->head);
}

static bool see_device(void *arg, const struct db_campaign_device *d)
{
    return seen_add(arg, "%lld %s %s %lld %s %s\n", (long long)d->place, d->node, d->device,
                    (long long)d->wave, d->state, d->body);
}

static void put(struct table_test *t, int64_t number, const char *state, bool active)
{
    struct err err = ERR_INIT;
    const struct db_campaign row = {.number = number,
                                    .state = state,
                                    .active = active,
                                    .revision = 1,
                                    .image = "i1",
                                    .head = "{}"};
    assert_ok(campaign_put(&t->tx, &row, &err));
}

static void put_device(struct table_test *t, int64_t place, const char *state, const char *node)
{
    struct err err = ERR_INIT;
    const struct db_campaign_device row = {
        .place = place, .node = node, .device = "d", .wave = 1, .state = state, .body = "{}"};
    assert_ok(campaign_device_put(&t->tx, 1, &row, &err));
}

static void a_campaign_is_replaced_and_keeps_its_image(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    const struct db_campaign next = {
        .number = 1, .state = "done", .revision = 2, .image = "i2", .head = "{\"a\":1}"};
    put(t, 1, "running", true);
    assert_ok(campaign_put(&t->tx, &next, &err));
    assert_ok(campaign_get(t->ro, 1, see, &seen, &err));
    assert_string_equal(seen.text, "1 done 0 2 i1 {\"a\":1}\n");
    assert_fails(campaign_get(t->ro, 2, see, &seen, &err), ERR_NOT_FOUND);
}

static void campaigns_are_listed_newest_first(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0}, active = {.rows = 0};
    put(t, 1, "running", true);
    put(t, 2, "done", false);
    put(t, 3, "draft", true);
    assert_ok(campaign_list(t->ro, 3, false, 10, see, &seen, &err));
    assert_string_equal(seen.text, "2 done 0 1 i1 {}\n1 running 1 1 i1 {}\n");
    assert_ok(campaign_list(t->ro, 0, true, 10, see, &active, &err));
    assert_string_equal(active.text, "3 draft 1 1 i1 {}\n1 running 1 1 i1 {}\n");
    assert_fails(campaign_list(t->ro, 0, true, DB_PAGE_MAX + 1, see, &active, &err), ERR_INVALID);
}

static void devices_are_listed_by_place_and_keep_their_names(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    put(t, 1, "running", true);
    put_device(t, 2, "waiting", "n2");
    put_device(t, 1, "waiting", "n1");
    put_device(t, 2, "offered", "other");
    assert_ok(campaign_device_list(t->ro, 1, 0, 10, see_device, &seen, &err));
    assert_string_equal(seen.text, "1 n1 d 1 waiting {}\n2 n2 d 1 offered {}\n");
    seen = (struct seen){.rows = 0};
    assert_ok(campaign_device_list(t->ro, 1, 1, 10, see_device, &seen, &err));
    assert_string_equal(seen.text, "2 n2 d 1 offered {}\n");
}

static void old_ones_that_are_over_go_with_their_devices(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {.rows = 0};
    put(t, 1, "done", false);
    put_device(t, 1, "success", "n1");
    put(t, CAMPAIGNS_KEPT, "done", false);
    assert_ok(campaign_get(t->ro, 1, see, &seen, &err));
    put(t, CAMPAIGNS_KEPT + 1, "draft", true);
    assert_fails(campaign_get(t->ro, 1, see, &seen, &err), ERR_NOT_FOUND);
    seen = (struct seen){.rows = 0};
    assert_ok(campaign_device_list(t->ro, 1, 0, 10, see_device, &seen, &err));
    assert_int_equal(seen.rows, 0);
}

static void numbers_are_given_once(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    int64_t first, second;
    assert_ok(campaign_next(&t->tx, &first, &err));
    assert_ok(campaign_next(&t->tx, &second, &err));
    assert_true(first == 1 && second == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(a_campaign_is_replaced_and_keeps_its_image),
        table_test(campaigns_are_listed_newest_first),
        table_test(devices_are_listed_by_place_and_keep_their_names),
        table_test(old_ones_that_are_over_go_with_their_devices),
        table_test(numbers_are_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
