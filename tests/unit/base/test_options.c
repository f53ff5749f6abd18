#include "tests/unit/test.h"

#include <unistd.h>

#include "base/file.h"
#include "base/options.h"

struct target {
    const char *listen;
    bool verbose, helped;
    int devices;
    char last[32];
    const char *folder;
};

static enum err_code set_listen(void *target, const char *value, struct err *err)
{
    if (strchr(value, ':') == NULL)
        return err_set(err, ERR_INVALID, "'%s': ADDRESS:PORT is wanted", value);
    ((struct target *)target)->listen = value;
    return ERR_OK;
}

static enum err_code set_verbose(void *target, const char *value, struct err *err)
{
    (void)err;
    assert_null(value);
    ((struct target *)target)->verbose = true;
    return ERR_OK;
}

static enum err_code set_device(void *target, const char *value, struct err *err)
{
    (void)err;
    struct target *to = target;
    to->devices++;
    snprintf(to->last, sizeof(to->last), "%s", value);
    return ERR_OK;
}

static enum err_code set_help(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct target *)target)->helped = true;
    return ERR_OK;
}

static const struct option_row rows[] = {
    {"listen", "ADDRESS:PORT", "where to listen", 0, set_listen, 0},
    {"verbose", NULL, "say more", 0, set_verbose, 0},
    {"device", "IF", "one of several\nmay be given more than once", OPTION_REPEATED, set_device, 0},
    {"folder", "DIR", "kept as it is", OPTION_TEXT, NULL, offsetof(struct target, folder)},
    {"config", "FILE", "read it first", OPTION_LINE_ONLY, NULL, 0},
    {"help", NULL, "print this", OPTION_LINE_ONLY, set_help, 0},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static char folder[TEST_PATH_MAX], path[TEST_PATH_MAX + 8];

static int set_up(void **state)
{
    (void)state;
    test_folder(folder);
    snprintf(path, sizeof(path), "%s/c", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_config(const char *text)
{
    struct err err = ERR_INIT;
    assert_ok(file_write_atomic(path, text, strlen(text), 0600, &err));
}

/* argv behind the program's name, ended by NULL. */
static enum err_code read_options(const char *const *words, struct options *options,
                                  struct target *target, struct err *err)
{
    static char name[] = "program";
    char *argv[12] = {name};
    int argc = 1;
    for (; *words != NULL; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    *options = (struct options){.rows = rows, .count = ROWS, .file = options->file};
    *target = (struct target){0};
    return options_read(options, argc, argv, target, NULL, err);
}

static void the_line_sets_options_in_both_spellings(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct options options = {0};
    struct target target;
    const char *words[] = {"--listen", "a:1", "--device=x", "--device", "y", "--verbose", NULL};
    assert_ok(read_options(words, &options, &target, &err));
    assert_string_equal(target.listen, "a:1");
    assert_true(target.verbose);
    assert_int_equal(target.devices, 2);
    assert_string_equal(target.last, "y");
    options_release(&options);
}

static void a_text_is_stored_without_a_function(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct options options = {.file = path};
    struct target target;
    const char *none[] = {NULL}, *words[] = {"--folder=line", NULL};
    write_config("{\"folder\": \"file\"}");
    assert_ok(read_options(none, &options, &target, &err));
    assert_string_equal(target.folder, "file");
    options_release(&options);
    assert_ok(read_options(words, &options, &target, &err));
    assert_string_equal(target.folder, "line");
    options_release(&options);
}

static void the_line_wins_over_the_file(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct options options = {.file = path};
    struct target target;
    const char *none[] = {NULL}, *words[] = {"--listen", "line:2", NULL};
    write_config("{\"listen\": \"file:1\", \"verbose\": true, \"device\": [\"p\", \"q\"]}");
    assert_ok(read_options(none, &options, &target, &err));
    assert_string_equal(target.listen, "file:1");
    assert_true(target.verbose);
    assert_int_equal(target.devices, 2);
    options_release(&options);
    assert_ok(read_options(words, &options, &target, &err));
    assert_string_equal(target.listen, "line:2");
    options_release(&options);
}

static void a_file_that_is_named_must_be_there(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct options options = {.file = path};
    struct target target;
    const char *none[] = {NULL}, *words[] = {"--config", path, NULL};
    unlink(path);
    assert_ok(read_options(none, &options, &target, &err));
    assert_fails(read_options(words, &options, &target, &err), ERR_NOT_FOUND);
    options_release(&options);
    write_config("{\"device\": 5, \"verbose\": false}");
    assert_ok(read_options(words, &options, &target, &err));
    assert_string_equal(target.last, "5");
    assert_false(target.verbose);
    options_release(&options);
}

static void assert_file_refused(const char *text, const char *words_wanted)
{
    struct err err = ERR_INIT;
    struct options options = {.file = path};
    struct target target;
    const char *none[] = {NULL};
    write_config(text);
    assert_fails(read_options(none, &options, &target, &err), ERR_INVALID);
    assert_contains(err.text, path);
    assert_contains(err.text, words_wanted);
    options_release(&options);
}

static void a_wrong_file_is_refused_with_the_place(void **state)
{
    (void)state;
    assert_file_refused("{\"listn\": \"a:1\"}", "is \"listen\" meant?");
    assert_file_refused("{\"zzz\": 1}", "there is no option \"zzz\"");
    assert_file_refused("{\"help\": true}", "\"help\"");
    assert_file_refused("{\"config\": \"x\"}", "\"config\"");
    assert_file_refused("{\"listen\": true}", "a text or a whole number");
    assert_file_refused("{\"listen\": [\"a:1\"]}", "a text or a whole number");
    assert_file_refused("{\"verbose\": \"yes\"}", "true or false");
    assert_file_refused("{\"listen\": \"nocolon\"}", "ADDRESS:PORT is wanted");
    assert_file_refused("{\"device\": [1.5]}", "a text or a whole number");
    assert_file_refused("{\"listen\": \"a:1\", \"listen\": \"a:2\"}", "listen");
    assert_file_refused("[1]", "object");
    assert_file_refused("{", path);
}

static void assert_line_refused(const char *word, const char *value, const char *wanted)
{
    struct err err = ERR_INIT;
    struct options options = {0};
    struct target target;
    const char *words[] = {word, value, NULL};
    assert_fails(read_options(words, &options, &target, &err), ERR_INVALID);
    assert_contains(err.text, wanted);
    options_release(&options);
}

static void a_wrong_line_is_refused_with_what_is_meant(void **state)
{
    (void)state;
    assert_line_refused("--lisen", "a:1", "is --listen meant?");
    assert_line_refused("--qqqqqq", NULL, "there is no option --qqqqqq");
    assert_line_refused("--listen", NULL, "--listen needs ADDRESS:PORT");
    assert_line_refused("--verbose=1", NULL, "--verbose takes no value");
    assert_line_refused("--listen", "nocolon", "--listen: 'nocolon': ADDRESS:PORT is wanted");
    assert_line_refused("stray", NULL, "'stray' is no option");
    assert_line_refused("-x", NULL, "there is no option -x");
    assert_line_refused("--\x1b[31m", NULL, "\\u001b");
}

static void help_is_made_of_the_same_table(void **state)
{
    (void)state;
    char text[2048] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");
    options_help(rows, ROWS, out);
    fclose(out);
    assert_contains(text, "  --listen ADDRESS:PORT   where to listen\n");
    assert_contains(text, "  --device IF             one of several\n"
                          "                          may be given more than once\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_sets_options_in_both_spellings),
        cmocka_unit_test(a_text_is_stored_without_a_function),
        cmocka_unit_test(the_line_wins_over_the_file),
        cmocka_unit_test(a_file_that_is_named_must_be_there),
        cmocka_unit_test(a_wrong_file_is_refused_with_the_place),
        cmocka_unit_test(a_wrong_line_is_refused_with_what_is_meant),
        cmocka_unit_test(help_is_made_of_the_same_table),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
