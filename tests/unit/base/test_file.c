#include "tests/unit/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static struct err err;
static char folder[TEST_PATH_MAX];

static const char *in_folder(const char *name)
{
    static char path[TEST_PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int make_test_folder(void **state)
{
    (void)state;
    test_folder(folder);
    return 0;
}

static int remove_test_folder(void **state)
{
    (void)state;
    char command[TEST_PATH_MAX + 32];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void content_comes_back_with_a_nul_behind_it(void **state)
{
    (void)state;
    char data[10000];
    memset(data, 'x', sizeof(data));
    data[5] = '\0';
    assert_ok(file_write_atomic(in_folder("a"), data, sizeof(data), 0600, &err));
    char *back = NULL;
    size_t len = 0;
    assert_ok(file_read(in_folder("a"), sizeof(data), &back, &len, &err));
    assert_int_equal(len, sizeof(data));
    assert_memory_equal(back, data, len);
    assert_int_equal(back[len], '\0');
    free(back);
}

static void limit_is_met_by_one_byte_more(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4094, 4095, 4096, 8191};
    char data[8192] = {0};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *back = NULL;
        size_t len = 99;
        assert_ok(file_write_atomic(in_folder("a"), data, sizes[i], 0600, &err));
        assert_ok(file_read(in_folder("a"), sizes[i], &back, &len, &err));
        assert_int_equal(len, sizes[i]);
        free(back);
        assert_ok(file_write_atomic(in_folder("a"), data, sizes[i] + 1, 0600, &err));
        back = NULL;
        assert_fails(file_read(in_folder("a"), sizes[i], &back, &len, &err), ERR_LIMIT);
        assert_null(back);
    }
}

static void attribute_that_reports_no_size_is_read(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    assert_ok(file_read("/proc/self/status", 1 << 20, &text, &len, &err));
    assert_true(len > 100);
    free(text);
}

static void missing_file_and_folder_are_told_apart(void **state)
{
    (void)state;
    char *text = NULL;
    assert_fails(file_read(in_folder("none"), 10, &text, NULL, &err), ERR_NOT_FOUND);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_fails(file_read(folder, 10, &text, NULL, &err), ERR_IO);
    assert_int_equal(err.sys_errno, EISDIR);
}

static void what_is_no_regular_file_is_neither_waited_for_nor_read(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_fails(file_read_regular(in_folder("pipe"), 10, &text, NULL, &err), ERR_INVALID);
    assert_fails(file_read_regular("/dev/zero", 10, &text, NULL, &err), ERR_INVALID);
    assert_fails(file_read_regular(folder, 10, &text, NULL, &err), ERR_INVALID);
    assert_fails(file_read_regular(in_folder("none"), 10, &text, NULL, &err), ERR_NOT_FOUND);
    assert_int_equal(symlink("loop", in_folder("loop")), 0);
    assert_fails(file_read_regular(in_folder("loop"), 10, &text, NULL, &err), ERR_IO);
    assert_null(text);
    assert_ok(file_write_atomic(in_folder("a"), "text", 4, 0600, &err));
    assert_int_equal(symlink("a", in_folder("link")), 0);
    assert_ok(file_read_regular(in_folder("link"), 10, &text, NULL, &err));
    assert_string_equal(text, "text");
    free(text);
}

static void atomic_write_replaces_sets_the_mode_and_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_ok(file_write_atomic(in_folder("a"), "old", 3, 0600, &err));
    assert_ok(file_write_atomic(in_folder("a"), "new", 3, 0644, &err));
    struct stat st;
    assert_int_equal(stat(in_folder("a"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_size, 3);
    assert_int_equal(mkdir(in_folder("d"), 0700), 0);
    assert_fails(file_write_atomic(in_folder("d"), "x", 1, 0600, &err), ERR_IO);
    char command[TEST_PATH_MAX + 64];
    snprintf(command, sizeof(command), "test \"$(ls -A '%s')\" = \"$(printf 'a\\nd')\"", folder);
    assert_int_equal(system(command), 0);
}

static void atomic_write_into_a_missing_folder_fails(void **state)
{
    (void)state;
    assert_fails(file_write_atomic(in_folder("no/a"), "x", 1, 0600, &err), ERR_NOT_FOUND);
    char path[5000];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_fails(file_write_atomic(path, "x", 1, 0600, &err), ERR_INVALID);
}

static void relative_path_without_a_slash_is_written(void **state)
{
    (void)state;
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    assert_ok(file_write_atomic("plain", "x", 1, 0600, &err));
    assert_int_equal(access(in_folder("plain"), F_OK), 0);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void attribute_must_exist_and_is_written_once(void **state)
{
    (void)state;
    assert_fails(file_write_attr(in_folder("a"), "1", &err), ERR_NOT_FOUND);
    assert_ok(file_write_atomic(in_folder("a"), "0", 1, 0600, &err));
    assert_ok(file_write_attr(in_folder("a"), "1", &err));
    char *text = NULL;
    assert_ok(file_read(in_folder("a"), 10, &text, NULL, &err));
    assert_string_equal(text, "1");
    free(text);
    assert_fails(file_write_attr("/dev/full", "1", &err), ERR_IO);
    assert_int_equal(err.sys_errno, ENOSPC);
}

static void folders_are_made_with_their_parents_and_twice(void **state)
{
    (void)state;
    assert_ok(file_mkdirs(in_folder("x/y//z/"), 0750, &err));
    assert_ok(file_mkdirs(in_folder("x/y/z"), 0750, &err));
    struct stat st;
    assert_int_equal(stat(in_folder("x/y/z"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    assert_ok(file_mkdirs("/", 0750, &err));
}

static void file_in_the_way_of_a_folder_is_an_error(void **state)
{
    (void)state;
    assert_ok(file_write_atomic(in_folder("a"), "x", 1, 0600, &err));
    assert_fails(file_mkdirs(in_folder("a/b"), 0750, &err), ERR_IO);
    assert_int_equal(err.sys_errno, ENOTDIR);
    assert_fails(file_mkdirs("", 0750, &err), ERR_INVALID);
}

static void random_bytes_differ_and_hex_is_lower_case(void **state)
{
    (void)state;
    unsigned char a[16], b[16];
    random_bytes(a, sizeof(a));
    random_bytes(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    char text[7];
    hex_encode("\x00\xab\xff", 3, text);
    assert_string_equal(text, "00abff");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_test_folder, remove_test_folder)

int main(void)
{
    umask(022);
    const struct CMUnitTest tests[] = {
        IN_FOLDER(content_comes_back_with_a_nul_behind_it),
        IN_FOLDER(limit_is_met_by_one_byte_more),
        cmocka_unit_test(attribute_that_reports_no_size_is_read),
        IN_FOLDER(what_is_no_regular_file_is_neither_waited_for_nor_read),
        IN_FOLDER(missing_file_and_folder_are_told_apart),
        IN_FOLDER(atomic_write_replaces_sets_the_mode_and_leaves_nothing_behind),
        IN_FOLDER(atomic_write_into_a_missing_folder_fails),
        IN_FOLDER(relative_path_without_a_slash_is_written),
        IN_FOLDER(attribute_must_exist_and_is_written_once),
        IN_FOLDER(folders_are_made_with_their_parents_and_twice),
        IN_FOLDER(file_in_the_way_of_a_folder_is_an_error),
        cmocka_unit_test(random_bytes_differ_and_hex_is_lower_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
