#include "tests/unit/test.h"

#include <errno.h>

#include "base/text.h"

static void context_stands_before_the_text_and_keeps_the_code(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_int_equal(err_set(&err, ERR_CONFLICT, "step %d", 4), ERR_CONFLICT);
    assert_int_equal(err_context(&err, "node %s", "n3"), ERR_CONFLICT);
    assert_string_equal(err.text, "node n3: step 4");
}

static void errno_text_is_appended(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    err_set_errno(&err, ERR_IO, ENOENT, "cannot open %s", "x");
    assert_string_equal(err.text, "cannot open x: No such file or directory");
    assert_int_equal(err.sys_errno, ENOENT);
}

static void text_that_just_fits_is_whole_and_one_byte_more_is_cut_with_dots(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char text[ERR_TEXT_MAX + 1];
    memset(text, 'a', sizeof(text));
    err_set(&err, ERR_INVALID, "%.*s", ERR_TEXT_MAX - 1, text);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    assert_int_equal(err.text[ERR_TEXT_MAX - 2], 'a');
    err_set(&err, ERR_INVALID, "%.*s", ERR_TEXT_MAX, text);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    assert_string_equal(err.text + ERR_TEXT_MAX - 4, "...");
}

static void cut_never_splits_a_character(void **state)
{
    (void)state;
    for (int pad = 0; pad < 5; pad++) {
        struct err err = ERR_INIT;
        char text[ERR_TEXT_MAX * 2] = "";
        memset(text, 'a', (size_t)pad);
        while (strlen(text) < ERR_TEXT_MAX + 8)
            strcat(text, "\xf0\x9f\x98\x80");
        err_set(&err, ERR_INVALID, "%s", text);
        assert_false(text_find_hidden(err.text, strlen(err.text), NULL));
        assert_string_equal(err.text + strlen(err.text) - 3, "...");
        err_context(&err, "%s", text);
        assert_false(text_find_hidden(err.text, strlen(err.text), NULL));
    }
}

static void null_err_still_returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_DENIED, "x"), ERR_DENIED);
    assert_int_equal(err_set_errno(NULL, ERR_IO, EIO, "x"), ERR_IO);
    assert_int_equal(err_context(NULL, "x"), ERR_IO);
    assert_int_equal(err_nomem(NULL), ERR_NOMEM);
}

static void pointer_is_kept_and_cleared_by_the_next_error(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    err_set_at(&err, ERR_INVALID, "/a/b", "x");
    assert_string_equal(err.pointer, "/a/b");
    err_set(&err, ERR_INVALID, "y");
    assert_string_equal(err.pointer, "");
}

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int code = ERR_OK; code <= ERR_NOMEM; code++)
        assert_string_not_equal(err_code_name((enum err_code)code), "unknown");
    assert_string_equal(err_code_name((enum err_code)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_stands_before_the_text_and_keeps_the_code),
        cmocka_unit_test(errno_text_is_appended),
        cmocka_unit_test(text_that_just_fits_is_whole_and_one_byte_more_is_cut_with_dots),
        cmocka_unit_test(cut_never_splits_a_character),
        cmocka_unit_test(null_err_still_returns_the_code),
        cmocka_unit_test(pointer_is_kept_and_cleared_by_the_next_error),
        cmocka_unit_test(every_code_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
