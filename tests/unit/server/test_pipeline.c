/*
 * Preconditions and page keys: the small things that every write and list leans on.
 */
#include "tests/unit/test.h"

#include "server/page.h"
#include "server/pipeline.h"

static void an_etag_list_has_exactly_its_tags(void **state)
{
    (void)state;
    assert_true(etag_list_has("\"3\"", 3));
    assert_true(etag_list_has("\"1\", \"3\"", 3));
    assert_true(etag_list_has("\"1\",\"2\",\t\"3\"", 3));
    assert_true(etag_list_has("*", 3));
    assert_false(etag_list_has("\"33\"", 3));
    assert_false(etag_list_has("\"3", 3));
    assert_false(etag_list_has("3", 3));
    assert_false(etag_list_has("W/\"3\"", 3));
    assert_false(etag_list_has("", 3));
    assert_false(etag_list_has(",,,", 3));
    assert_true(etag_list_has("\"9223372036854775807\"", INT64_MAX));
}

static void an_etag_list_is_read_to_its_maximum_only(void **state)
{
    (void)state;
    assert_true(etag_list_has("\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"3\"", 3));
    assert_false(etag_list_has("\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"3\"", 3));
}

static void the_key_before_a_name_has_no_name_in_between(void **state)
{
    static const char *const names[] = {"n1", "n", "0", "a-b", "zz", "n1.x", "A"};
    static const char *const below[] = {"n0zzzzzz", "mzzz", "", "a-azzzz", "zyzz", "n1.w_", "@"};
    char key[PAGE_KEY_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        key_before(names[i], key);
        assert_true(strcmp(key, names[i]) < 0);
        assert_true(strcmp(below[i], key) < 0);
    }
}

static enum err_code prepare(struct write *w, struct err *err)
{
    return write_refuse(w, 404, "not-found", err, "there is no %s", w->tenant);
}

static void a_refusal_keeps_its_words(void **state)
{
    struct err err = ERR_INIT;
    struct write w = {.tenant = "a"};
    (void)state;
    assert_fails(prepare(&w, &err), ERR_CONFLICT);
    assert_int_equal(w.refusal, 404);
    assert_string_equal(w.refusal_text, "there is no a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_etag_list_has_exactly_its_tags),
        cmocka_unit_test(an_etag_list_is_read_to_its_maximum_only),
        cmocka_unit_test(the_key_before_a_name_has_no_name_in_between),
        cmocka_unit_test(a_refusal_keeps_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
