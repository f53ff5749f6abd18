/*
 * tests/unit/agent/test_keep.c - agent/keep: what a folder may hold beside the files that are
 * whole.
 */
#include "agent_test.h"

static char dir[TEST_PATH_MAX];

static int setup(void **state)
{
    (void)state;
    test_folder(dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_folder(dir);
    return 0;
}

static void halves_of_killed_writers_are_swept(void **state)
{
    (void)state;
    static const char *const halves[] = {"plan.json.aB3xYz",       "confirm.json.000000",
                                         "identity-12.pem.q0Q0q0", "enrol.key.zzzzzz",
                                         "ca.crt.ABCDEF",          "joined.123456"};
    static const char *const others[] = {
        "plan.json",       "plan.json.corrupt-17", "notes.backup", "plan.json.backup1",
        "plan.json.12345", "identity-1.pem",       ".json",        "lock"};
    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++)
        scribble(dir, halves[i], "{");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        scribble(dir, others[i], "{}");
    keep_sweep(dir);
    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++)
        assert_false(kept(dir, halves[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_true(kept(dir, others[i]));
    keep_sweep("/no/such/folder");
}

/* What a writer leaves that is killed before its rename. */
static void a_half_is_named_as_the_writer_names_it(void **state)
{
    (void)state;
    char path[TEST_PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/plan.json.XXXXXX", dir);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    keep_sweep(dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void what_is_no_file_is_not_waited_for(void **state)
{
    (void)state;
    char path[TEST_PATH_MAX + 64];
    json_t *document = NULL;
    struct err err = ERR_INIT;
    snprintf(path, sizeof(path), "%s/pipe.json", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(keep_read(dir, "pipe.json", &document, &err), ERR_INVALID);
    keep_set_aside(dir, "pipe.json", clock_system(), &err);
    assert_false(kept(dir, "pipe.json"));
    snprintf(path, sizeof(path), "%s/link.json", dir);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_fails(keep_read(dir, "link.json", &document, &err), ERR_INVALID);
    snprintf(path, sizeof(path), "%s/folder.json", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(keep_read(dir, "folder.json", &document, &err), ERR_INVALID);
    assert_fails(keep_read(dir, "none.json", &document, &err), ERR_NOT_FOUND);
}

static void the_oldest_that_was_set_aside_goes(void **state)
{
    (void)state;
    struct clock_fake clock;
    struct err err = ERR_INIT;
    char first[128];
    clock_fake_init(&clock, 1790000000000000);
    snprintf(first, sizeof(first), "plan.json.corrupt-1790000000000000");
    scribble(dir, "plan.jsons.corrupt-1", "{");
    for (int i = 0; i < KEEP_ASIDE_MAX + 3; i++) {
        scribble(dir, "plan.json", "{");
        keep_set_aside(dir, "plan.json", &clock.base, &err);
        assert_true(kept(dir, first) == (i < KEEP_ASIDE_MAX));
        clock_fake_advance(&clock, NS_PER_S);
    }
    assert_int_equal(count_files(dir, "plan.json.corrupt-"), KEEP_ASIDE_MAX);
    assert_int_equal(count_files(dir, "plan.jsons.corrupt-"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(halves_of_killed_writers_are_swept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_half_is_named_as_the_writer_names_it, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(the_oldest_that_was_set_aside_goes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
