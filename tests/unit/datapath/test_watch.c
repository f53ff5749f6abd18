/*
 * tests/unit/datapath/test_watch.c - files that are written while they are watched.
 */
#include "tests/unit/datapath/root_test.h"

#include "base/own.h"
#include "datapath/sys/modparam.h"
#include "datapath/sys/sys.h"
#include "datapath/sys/watch.h"

static char root[TEST_PATH_MAX];

static int setup(void **state)
{
    struct err err = ERR_INIT;
    struct sys_watch *watch = NULL;
    test_folder(root);
    assert_ok(sys_watch_new(&watch, &err));
    *state = watch;
    return 0;
}

static int teardown(void **state)
{
    sys_watch_free(*state);
    root_remove(root);
    return 0;
}

static bool is_news(struct sys_watch *watch)
{
    struct err err = ERR_INIT;
    bool changed = false;
    assert_ok(sys_watch_drain(watch, &changed, &err));
    return changed;
}

static void read_of(const char *path)
{
    struct err err = ERR_INIT;
    char value[16];
    assert_ok(sys_read(root, path, value, sizeof(value), &err));
}

static void write_to(const char *path)
{
    struct err err = ERR_INIT;
    assert_ok(sys_write(root, path, "2", &err));
}

static void what_was_read_is_watched_while_tracing(void **state)
{
    root_file(root, "/sys/a", "1", 0644);
    root_file(root, "/sys/b", "1", 0644);
    read_of("/sys/a");
    sys_watch_trace(*state);
    read_of("/sys/b");
    sys_watch_trace(NULL);
    read_of("/sys/b");
    assert_false(is_news(*state)); /* reading is none */
    write_to("/sys/a");
    assert_false(is_news(*state));
    write_to("/sys/b");
    assert_true(is_news(*state));
    assert_false(is_news(*state));
}

static void a_file_that_came_back_is_watched_again_when_read(void **state)
{
    char full[2 * TEST_PATH_MAX];
    snprintf(full, sizeof(full), "%s/sys/a", root);
    root_file(root, "/sys/a", "1", 0644);
    sys_watch_trace(*state);
    read_of("/sys/a");
    assert_int_equal(unlink(full), 0);
    assert_true(is_news(*state));
    root_file(root, "/sys/a", "1", 0644);
    read_of("/sys/a");
    assert_false(is_news(*state));
    write_to("/sys/a");
    assert_true(is_news(*state));
}

static void what_is_not_read_any_more_is_let_go(void **state)
{
    root_file(root, "/sys/a", "1", 0644);
    sys_watch_trace(*state);
    read_of("/sys/a");
    for (int i = 0; i < SYS_WATCH_KEEP; i++)
        sys_watch_round(*state);
    write_to("/sys/a");
    assert_true(is_news(*state));
    sys_watch_round(*state);
    assert_false(is_news(*state)); /* letting go is no news */
    write_to("/sys/a");
    assert_false(is_news(*state));
}

static void watched_files_have_a_maximum(void **state)
{
    char path[64];
    sys_watch_trace(*state);
    for (int i = 0; i <= SYS_WATCH_MAX; i++) {
        snprintf(path, sizeof(path), "/sys/many/%d", i);
        root_file(root, path, "1", 0644);
        read_of(path);
    }
    sys_watch_trace(NULL);
    write_to(path); /* still read, not announced */
    assert_false(is_news(*state));
    snprintf(path, sizeof(path), "/sys/many/%d", SYS_WATCH_MAX - 1);
    write_to(path);
    assert_true(is_news(*state));
}

static void a_new_file_in_modprobes_folder_is_news(void **state)
{
    struct err err = ERR_INIT;
    struct modparam_name name;
    struct modparam_state is;
    root_folder(root, MODPARAM_FOLDER);
    assert_ok(modparam_parse("m.p", &name, &err));
    sys_watch_trace(*state);
    assert_ok(modparam_get(root, &name, &is, &err));
    sys_watch_trace(NULL);
    assert_false(is_news(*state));
    root_file(root, MODPARAM_FOLDER "/other.conf", "options m p=1\n", 0644);
    assert_true(is_news(*state));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_read_is_watched_while_tracing),
        TEST(a_file_that_came_back_is_watched_again_when_read),
        TEST(what_is_not_read_any_more_is_let_go),
        TEST(watched_files_have_a_maximum),
        TEST(a_new_file_in_modprobes_folder_is_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
