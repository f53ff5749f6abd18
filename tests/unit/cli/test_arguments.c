#include "tests/unit/test.h"

#include "cli/command.h"

static struct err err;
static struct arguments arguments;

static enum err_code parse(const char *const *words)
{
    int count = 0;
    while (words[count] != NULL)
        count++;
    return arguments_parse(count, (char **)(uintptr_t)words, &arguments, &err);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void options_stand_anywhere_and_in_all_spellings(void **state)
{
    (void)state;
    assert_ok(PARSE("get", "-ojson", "nodes", "-p", "x", "--timeout=5m", "-w", "--", "-l"));
    assert_int_equal(arguments.word_count, 3);
    assert_string_equal(arguments.words[2], "-l");
    assert_string_equal(arguments_get(&arguments, OPTION_OUTPUT), "json");
    assert_string_equal(arguments_get(&arguments, OPTION_PROFILE), "x");
    assert_string_equal(arguments_get(&arguments, OPTION_TIMEOUT), "5m");
    assert_true(arguments_has(&arguments, OPTION_WATCH));
    assert_false(arguments_has(&arguments, OPTION_SELECTOR));
    assert_ok(PARSE("-wh", "-"));
    assert_true(arguments_has(&arguments, OPTION_HELP));
    assert_string_equal(arguments.words[0], "-");
}

static void what_is_wrong_with_an_option_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *word, *text;
    } bad[] = {
        {"--servr", "there is no option --servr; did you mean --server?"},
        {"--zzzzzzzzzz", "there is no option --zzzzzzzzzz"},
        {"-Z", "there is no option -Z"},
        {"--watch=1", "--watch takes no value"},
        {"--server", "--server needs a value: URL"},
        {"-o", "--output needs a value: FORMAT"},
        {"--\x1b[2J", "there is no option --\\u001b[2J"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_fails(PARSE(bad[i].word), ERR_INVALID);
        assert_string_equal(err.text, bad[i].text);
    }
    assert_fails(PARSE("-o", "json", "-o", "csv"), ERR_INVALID);
    assert_string_equal(err.text, "--output was given twice");
    assert_ok(PARSE("-f", "a", "-f", "b"));
    assert_string_equal(arguments_get(&arguments, OPTION_FILE), "b");
}

static void as_many_as_fit_and_not_one_more(void **state)
{
    (void)state;
    const char *words[ARGUMENTS_MAX + 2] = {NULL};
    for (size_t i = 0; i < ARGUMENTS_MAX; i++)
        words[i] = "-fx";
    assert_ok(parse(words));
    words[ARGUMENTS_MAX] = "-fx";
    assert_fails(parse(words), ERR_LIMIT);
    for (size_t i = 0; i < ARGUMENTS_MAX; i++)
        words[i] = "x";
    words[ARGUMENTS_MAX] = NULL;
    assert_ok(parse(words));
    words[ARGUMENTS_MAX] = "x";
    assert_fails(parse(words), ERR_LIMIT);
}

static void times_have_units_and_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds; /* -1 = refused */
    } times[] = {
        {"1", 1},
        {"30s", 30},
        {"10m", 600},
        {"12h", 43200},
        {"7d", 604800},
        {"315360000", 315360000},
        {"0", -1},
        {"3650d", 315360000},
        {"315360001", -1},
        {"3651d", -1},
        {"-1", -1},
        {"", -1},
        {"s", -1},
        {"1x", -1},
        {"1 s", -1},
        {"+5", -1},
        {"99999999999999999999", -1},
    };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        int64_t seconds = -1;
        assert_ok(PARSE("--timeout", times[i].text));
        enum err_code code = arguments_seconds(&arguments, OPTION_TIMEOUT, &seconds, &err);
        assert_int_equal(code, times[i].seconds < 0 ? ERR_INVALID : ERR_OK);
        assert_int_equal(seconds, times[i].seconds);
    }
}

static void numbers_have_bounds(void **state)
{
    (void)state;
    static const int64_t range[2] = {1, 9};
    static const struct {
        const char *text;
        int64_t number;
    } numbers[] = {{"1", 1}, {"9", 9}, {"0", -1}, {"10", -1}, {"x", -1}, {"1x", -1}, {"", -1}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int64_t number = -1;
        assert_ok(PARSE("--limit", numbers[i].text));
        enum err_code code = arguments_number(&arguments, OPTION_LIMIT, range, &number, &err);
        assert_int_equal(code, numbers[i].number < 0 ? ERR_INVALID : ERR_OK);
        assert_int_equal(number, numbers[i].number);
    }
}

static void every_option_has_a_name_and_a_letter_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        assert_non_null(option_rows[i].name);
        assert_non_null(option_rows[i].text);
        for (size_t j = 0; j < i; j++) {
            char letter = option_rows[i].letter;
            assert_string_not_equal(option_rows[i].name, option_rows[j].name);
            assert_true(letter == 0 || letter != option_rows[j].letter);
        }
    }
}

static void every_option_belongs_to_a_command_and_every_command_runs(void **state)
{
    (void)state;
    for (size_t i = OPTION_GLOBAL_COUNT; i < OPTION_COUNT; i++) {
        bool taken = false;
        for (size_t j = 0; j < command_count; j++)
            taken = taken || command_takes(&commands[j], (enum option)i);
        if (!taken)
            fail_msg("no command takes --%s", option_rows[i].name);
    }
    for (size_t j = 0; j < command_count; j++) {
        assert_non_null(commands[j].run);
        assert_true(commands[j].summary[0] != '\0');
        assert_true(commands[j].words_max >= commands[j].words_min);
    }
}

static void two_words_name_a_command_before_one_does(void **state)
{
    (void)state;
    size_t used;
    const char *const words[] = {"rollout", "start", "x"};
    assert_string_equal(command_find(words, 3, &used)->name, "rollout start");
    assert_int_equal(used, 2);
    assert_null(command_find(words, 1, &used));
    const char *const get[] = {"get", "nodes"};
    assert_string_equal(command_find(get, 2, &used)->name, "get");
    assert_int_equal(used, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_anywhere_and_in_all_spellings),
        cmocka_unit_test(what_is_wrong_with_an_option_is_said),
        cmocka_unit_test(as_many_as_fit_and_not_one_more),
        cmocka_unit_test(times_have_units_and_bounds),
        cmocka_unit_test(numbers_have_bounds),
        cmocka_unit_test(every_option_has_a_name_and_a_letter_of_its_own),
        cmocka_unit_test(every_option_belongs_to_a_command_and_every_command_runs),
        cmocka_unit_test(two_words_name_a_command_before_one_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
