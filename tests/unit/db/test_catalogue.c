/*
 * tests/unit/db/test_catalogue.c - switches and firmware images.
 */
#include "tests/unit/db/table.h"

#include "db/catalogue.h"

static bool see_switch(void *arg, const struct db_switch *s)
{
    return seen_add(arg, "%s r%lld %s; ", s->name, (long long)s->revision, s->body);
}

static bool see_image(void *arg, const struct db_image *i)
{
    return seen_add(arg, "%s %s %s [%s] %lld %s; ", i->id, i->component, i->version, i->psids,
                    (long long)i->size_bytes, i->uploaded_by);
}

static void a_switch_made_anew_goes_on_counting(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {0};
    int64_t revision = 0;
    assert_ok(switch_put(&t->tx, "sw1", "{}", &revision, &err));
    assert_ok(switch_put(&t->tx, "sw1", "{\"pfc\":true}", &revision, &err));
    assert_int_equal(revision, 2);
    assert_ok(switch_delete(&t->tx, "sw1", &err));
    assert_fails(switch_delete(&t->tx, "sw1", &err), ERR_NOT_FOUND);
    assert_fails(switch_get(t->ro, "sw1", see_switch, &seen, &err), ERR_NOT_FOUND);
    assert_ok(switch_put(&t->tx, "sw1", "{}", &revision, &err));
    assert_int_equal(revision, 3);
    assert_ok(switch_put(&t->tx, "sw0", "{}", &revision, &err));
    assert_ok(switch_list(t->ro, NULL, 10, see_switch, &seen, &err));
    assert_string_equal(seen.text, "sw0 r3 {}; sw1 r3 {}; ");
    seen = (struct seen){0};
    assert_ok(switch_list(t->ro, "sw0", 1, see_switch, &seen, &err));
    assert_string_equal(seen.text, "sw1 r3 {}; ");
}

static void an_image_is_one_of_its_component_version_and_boards(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    struct seen seen = {0};
    struct db_image row = {.id = "01",
                           .component = "mlx5_core",
                           .version = "22.41.1000",
                           .psids = "MT_1",
                           .name = "fw.bin",
                           .size_bytes = 10,
                           .sha256 = "ab",
                           .uploaded_by = "token:x"};
    assert_ok(image_put(&t->tx, &row, &err));
    row.id = "02";
    assert_fails(image_put(&t->tx, &row, &err), ERR_CONFLICT);
    row.psids = "MT_2";
    assert_ok(image_put(&t->tx, &row, &err));
    row.id = "03";
    row.version = "1";
    row.size_bytes = 0;
    assert_fails(image_put(&t->tx, &row, &err), ERR_CONFLICT);
    assert_ok(image_list(t->ro, NULL, 10, see_image, &seen, &err));
    assert_string_equal(seen.text, "01 mlx5_core 22.41.1000 [MT_1] 10 token:x; "
                                   "02 mlx5_core 22.41.1000 [MT_2] 10 token:x; ");
    seen = (struct seen){0};
    const struct db_image like = {
        .component = "mlx5_core", .version = "22.41.1000", .psids = "MT_2"};
    assert_ok(image_find(t->ro, &like, see_image, &seen, &err));
    assert_ok(image_get(t->ro, "02", see_image, &seen, &err));
    assert_int_equal(seen.rows, 2);
    assert_ok(image_delete(&t->tx, "02", &err));
    assert_fails(image_delete(&t->tx, "02", &err), ERR_NOT_FOUND);
    assert_fails(image_get(t->ro, "02", see_image, &seen, &err), ERR_NOT_FOUND);
    const struct db_image other = {.component = "mlx5_core", .version = "22.41.1000", .psids = ""};
    assert_fails(image_find(t->ro, &other, see_image, &seen, &err), ERR_NOT_FOUND);
}

static bool count_image(void *arg, const struct db_image *i)
{
    (void)i;
    return ++*(int *)arg < DB_PAGE_MAX + 3;
}

static void the_images_of_a_component_are_more_than_a_page(void **state)
{
    struct table_test *t = *state;
    struct err err = ERR_INIT;
    char id[24], version[24];
    int count = 0;
    for (int i = 0; i < 2 * (DB_PAGE_MAX + 5); i++) {
        snprintf(id, sizeof(id), "%016d", i);
        snprintf(version, sizeof(version), "1.%d", i);
        const struct db_image row = {.id = id,
                                     .component = i % 2 == 0 ? "mlx5_core" : "bnxt_en",
                                     .version = version,
                                     .psids = "",
                                     .name = "",
                                     .size_bytes = 10,
                                     .sha256 = "ab",
                                     .uploaded_by = "token:x"};
        assert_ok(image_put(&t->tx, &row, &err));
    }
    assert_ok(image_each_of(t->ro, "mlx5_core", count_image, &count, &err));
    assert_int_equal(count, DB_PAGE_MAX + 3);
    count = 0;
    assert_ok(image_each_of(t->ro, "ice", count_image, &count, &err));
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(a_switch_made_anew_goes_on_counting),
        table_test(an_image_is_one_of_its_component_version_and_boards),
        table_test(the_images_of_a_component_are_more_than_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
