/*
 * tests/unit/datapath/test_env_file.c - datapath/sys/env_file: files of environment variables under
 * a made-up root.
 */
#include "tests/unit/datapath/root_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "datapath/sys/env_file.h"

#define FILE_PATH ENV_FOLDER "/nccl.env"
#define MARK      "# Made by stellar-agent; changes by hand are undone.\n"

static char root[TEST_PATH_MAX];

static int setup(void **state)
{
    (void)state;
    test_folder(root);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    root_remove(root);
    return 0;
}

static json_t *json_of(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

static void assert_file(bool ours, const char *value)
{
    struct err err = ERR_INIT;
    OWN_ENV_FILE struct env_file file;
    assert_ok(env_file_get(root, "nccl.env", &file, &err));
    assert_int_equal(file.present, value != NULL);
    if (value == NULL)
        return;
    assert_int_equal(file.ours, ours);
    OWN(json) json_t *want = json_of(value);
    assert_true(json_equal(file.value, want));
}

static enum err_code put(const char *value, struct err *err)
{
    OWN(json) json_t *json = json_of(value);
    return env_file_set(root, "nccl.env", json, err);
}

static void a_file_is_what_a_shell_can_source(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct stat info;
    char path[TEST_PATH_MAX + 64];
    assert_file(false, NULL);
    mode_t before = umask(0077);
    assert_ok(put("{\"NCCL_IB_TC\":\"106\",\"NCCL_IB_HCA\":\"=mlx5_0:1,mlx5_1:1\"}", &err));
    umask(before);
    OWN(str) char *text = root_text(root, FILE_PATH);
    assert_string_equal(text, MARK "export NCCL_IB_HCA='=mlx5_0:1,mlx5_1:1'\n"
                                   "export NCCL_IB_TC='106'\n");
    snprintf(path, sizeof(path), "%s" FILE_PATH, root);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
    snprintf(path, sizeof(path), "%s" ENV_FOLDER, root);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
    assert_file(true, "{\"NCCL_IB_HCA\":\"=mlx5_0:1,mlx5_1:1\",\"NCCL_IB_TC\":\"106\"}");
    assert_ok(env_file_remove(root, "nccl.env", &err));
    assert_file(false, NULL);
    assert_ok(env_file_remove(root, "nccl.env", &err));
}

static void what_somebody_edited_is_given_back_as_it_was(void **state)
{
    (void)state;
    static const char *const edits[] = {
        MARK "export NCCL_IB_TC='106'\nexport LD_PRELOAD='/x'\n",
        MARK "export NCCL_IB_TC=106\n",
        MARK "export NCCL_IB_TC='106'",
        MARK "export NCCL_IB_TC='1'\nexport NCCL_IB_TC='2'\n",
        MARK "export NCCL_IB_TC='1'\nexport NCCL_IB_HCA='x'\n", /* not in order */
        MARK "export NCCL_IB_TC=''\n",
        MARK "export NCCL_X='$(id)'\n",
        MARK "export NCCL_X='a'b'\n",
        MARK "",
        MARK "\n",
    };
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        struct err err = ERR_INIT;
        OWN_ENV_FILE struct env_file file;
        root_file(root, FILE_PATH, edits[i], 0644);
        assert_ok(env_file_get(root, "nccl.env", &file, &err));
        assert_true(file.ours);
        assert_string_equal(json_string_value(json_object_get(file.value, "text")), edits[i]);
        assert_ok(put("{\"NCCL_IB_TC\":\"106\"}", &err));
        assert_ok(env_file_set(root, "nccl.env", file.value, &err));
        OWN(str) char *text = root_text(root, FILE_PATH);
        assert_string_equal(text, edits[i]);
    }
}

static void files_of_others_are_told_without_their_text(void **state)
{
    (void)state;
    char path[TEST_PATH_MAX + 64];
    root_file(root, FILE_PATH, "export NCCL_IB_TC='1'\n", 0644);
    assert_file(false, "{\"other\":true}");
    OWN(str) char *big = malloc(ENV_FILE_MAX + 2);
    memset(big, 'x', ENV_FILE_MAX + 1);
    memcpy(big, MARK, strlen(MARK));
    big[ENV_FILE_MAX + 1] = '\0';
    root_file(root, FILE_PATH, big, 0644);
    assert_file(false, "{\"other\":true}");
    /* A link is not followed, wherever it leads. */
    root_file(root, "/elsewhere", MARK "export NCCL_IB_TC='1'\n", 0644);
    snprintf(path, sizeof(path), "%s" FILE_PATH, root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("../../../elsewhere", path), 0);
    assert_file(false, "{\"other\":true}");
}

static void bytes_that_no_document_holds_cannot_be_given_back(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    root_file(root, FILE_PATH, MARK "\x01\xff\n", 0644);
    assert_file(true, "{\"text\":null}");
    assert_fails(put("{\"text\":null}", &err), ERR_INVALID);
    const char nul[] = MARK "a\0b\n";
    OWN(json) json_t *value = env_parse(nul, sizeof(nul) - 1);
    assert_true(json_is_null(json_object_get(value, "text")));
}

static void no_file_stands_outside_of_the_folder(void **state)
{
    (void)state;
    static const struct {
        const char *name, *says;
    } wrong[] = {
        {"../nccl.env", "outside of " ENV_FOLDER},
        {"/etc/passwd", "outside of " ENV_FOLDER},
        {"..", "outside of " ENV_FOLDER},
        {"a/b", "outside of " ENV_FOLDER},
        {"", "no name of a file"},
        {".bashrc", "no name of a file"},
        {"a b", "no name of a file"},
        {"a\n", "no name of a file"},
    };
    OWN(json) json_t *value = json_of("{\"NCCL_X\":\"1\"}");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err err = ERR_INIT;
        OWN_ENV_FILE struct env_file file = {.present = false};
        assert_fails(env_file_set(root, wrong[i].name, value, &err), ERR_INVALID);
        assert_contains(err.text, wrong[i].says);
        assert_fails(env_file_get(root, wrong[i].name, &file, &err), ERR_INVALID);
        assert_fails(env_file_remove(root, wrong[i].name, &err), ERR_INVALID);
    }
    struct err err = ERR_INIT;
    char name[ENV_NAME_MAX + 2];
    memset(name, 'a', sizeof(name));
    name[ENV_NAME_MAX] = '\0';
    assert_ok(env_name_check(name, &err));
    name[ENV_NAME_MAX] = 'a';
    name[ENV_NAME_MAX + 1] = '\0';
    assert_fails(env_name_check(name, &err), ERR_INVALID);
}

static void values_hold_nothing_that_a_shell_runs(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{}",
        "[]",
        "{\"NCCL_\":\"1\"}",
        "{\"LD_PRELOAD\":\"x\"}",
        "{\"NCCL_x\":\"1\"}",
        "{\"NCCL_X\":1}",
        "{\"NCCL_X\":\"\"}",
        "{\"NCCL_X\":\"a'b\"}",
        "{\"NCCL_X\":\"a\\nb\"}",
        "{\"NCCL_X\":\"$(id)\"}",
        "{\"NCCL_X\":\"`id`\"}",
        "{\"NCCL_X\":\"a\\u0000b\"}",
        "{\"text\":\"export NCCL_X='1'\\n\"}", /* without the mark it would not be ours */
        "{\"NCCL_X\":\"1\",\"text\":\"x\"}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err err = ERR_INIT;
        OWN(json) json_t *json = json_loads(wrong[i], JSON_ALLOW_NUL, NULL);
        assert_non_null(json);
        assert_int_equal(env_value_check(json, &err), ERR_INVALID);
    }
}

static void limits_are_at_their_places(void **state)
{
    (void)state;
    static char text[ENV_VALUE_MAX + 2];
    struct err err = ERR_INIT;
    OWN(json) json_t *value = json_object();
    memset(text, 'a', ENV_VALUE_MAX);
    json_object_set_new(value, "NCCL_X", json_string(text));
    assert_ok(env_value_check(value, &err));
    text[ENV_VALUE_MAX] = 'a';
    json_object_set_new(value, "NCCL_X", json_string(text));
    assert_fails(env_value_check(value, &err), ERR_INVALID);
    text[ENV_VALUE_MAX] = '\0';
    for (int i = 0; i < 8; i++) {
        char key[16];
        snprintf(key, sizeof(key), "NCCL_%d", i);
        json_object_set_new(value, key, json_string(text));
    }
    json_object_del(value, "NCCL_X");
    assert_fails(env_value_check(value, &err), ERR_LIMIT);
    json_object_clear(value);
    for (int i = 0; i <= ENV_VARIABLES_MAX; i++) {
        char key[16];
        snprintf(key, sizeof(key), "NCCL_%d", i);
        assert_int_equal(i == 0 ? ERR_OK : env_value_check(value, &err), ERR_OK);
        json_object_set_new(value, key, json_string("1"));
    }
    assert_fails(env_value_check(value, &err), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_what_a_shell_can_source, setup, teardown),
        cmocka_unit_test_setup_teardown(what_somebody_edited_is_given_back_as_it_was, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(files_of_others_are_told_without_their_text, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(bytes_that_no_document_holds_cannot_be_given_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(no_file_stands_outside_of_the_folder, setup, teardown),
        cmocka_unit_test(values_hold_nothing_that_a_shell_runs),
        cmocka_unit_test(limits_are_at_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
