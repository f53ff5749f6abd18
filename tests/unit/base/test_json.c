#include "tests/unit/test.h"

#include <dirent.h>
#include <locale.h>

#include "base/json.h"

static struct err err;

static json_t *parse(const char *text)
{
    json_t *json = NULL;
    assert_ok(json_parse_limit(text, strlen(text), JSON_TEXT_MAX, true, &json, &err));
    return json;
}

/* Refused, with an error that names the byte. */
static void refused_at(const char *text, size_t byte, const char *part)
{
    json_t *json = NULL;
    char place[64];
    assert_fails(json_parse_limit(text, strlen(text), JSON_TEXT_MAX, true, &json, &err),
                 ERR_INVALID);
    assert_null(json);
    snprintf(place, sizeof(place), "(byte %zu)", byte);
    assert_contains(err.text, place);
    assert_contains(err.text, part);
}

static void hostile_files_have_the_verdict_of_the_index(void **state)
{
    (void)state;
    static const char *const accepted[] = {
        "jts_y_object_empty_key.json",
        "jts_y_object_extreme_numbers.json",
        "jts_y_string_accepted_surrogate_pair.json",
        "jts_y_string_backslash_and_u_escaped_zero.json",
        "jts_y_string_unicode_U+200B_ZERO_WIDTH_SPACE.json", /* the reader refuses it in a name */
        "jts_y_structure_lonely_int.json",                   /* as any root; not as an object */
    };
    char path[TEST_PATH_MAX];
    test_path("data/hostile-json", path);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t files = 0, good = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, "jts_", 4) != 0)
            continue;
        char name[512];
        size_t len;
        snprintf(name, sizeof(name), "data/hostile-json/%s", entry->d_name);
        char *text = test_load(name, &len);
        bool wanted = false;
        for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++)
            wanted |= strcmp(accepted[i], entry->d_name) == 0;
        json_t *json = NULL;
        bool ok = json_parse_limit(text, len, JSON_TEXT_MAX, true, &json, &err) == ERR_OK;
        if (ok != wanted)
            fail_msg("%s: %s", entry->d_name, ok ? "accepted" : err.text);
        json_decref(json);
        free(text);
        files++;
        good += ok;
    }
    closedir(dir);
    assert_int_equal(good, sizeof(accepted) / sizeof(accepted[0]));
    assert_true(files >= 38);
}

static void root_must_be_an_object_unless_any_is_asked(void **state)
{
    (void)state;
    static const char *const roots[] = {"[]", "1", "\"a\"", "null", " true "};
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        json_t *json = NULL;
        assert_fails(json_parse(roots[i], strlen(roots[i]), &json, &err), ERR_INVALID);
        assert_contains(err.text, "an object { ... } is expected");
        json_decref(parse(roots[i]));
    }
    json_t *json = NULL;
    assert_ok(json_parse(" {} \r\n\t", 7, &json, &err));
    json_decref(json);
}

static void depth_of_32_passes_and_33_does_not(void **state)
{
    (void)state;
    char text[2 * JSON_DEPTH_MAX + 3] = "";
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    json_decref(parse(text));
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    json_t *json = NULL;
    assert_fails(json_parse_limit(text, sizeof(text) - 1, 1000, true, &json, &err), ERR_LIMIT);
    assert_contains(err.text, "column 33");
    /* Siblings do not count. */
    json_decref(parse("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                      "[],[],[],[],[],[],[],[],[],[],[],[],[]]"));
}

static void deep_nesting_without_end_is_cheap(void **state)
{
    (void)state;
    size_t len = JSON_TEXT_MAX;
    char *text = malloc(len);
    json_t *json = NULL;
    memset(text, '[', len);
    assert_fails(json_parse_limit(text, len, JSON_TEXT_MAX, true, &json, &err), ERR_LIMIT);
    for (size_t i = 0; i + 5 <= len; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    assert_fails(json_parse_limit(text, len - len % 5, JSON_TEXT_MAX, true, &json, &err),
                 ERR_LIMIT);
    free(text);
}

static void size_limit_is_met_by_one_byte_more(void **state)
{
    (void)state;
    json_t *json = NULL;
    assert_ok(json_parse_limit("{}  ", 4, 4, false, &json, &err));
    json_decref(json);
    json = NULL;
    assert_fails(json_parse_limit("{}   ", 5, 4, false, &json, &err), ERR_LIMIT);
    assert_null(json);
}

static void text_needs_no_nul_behind_it(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"a\":1}", "[12]", "12",         "\"ab\"",
                                        "true",      "1.5",  "\"\\u00e4\""};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t len = strlen(texts[i]);
        for (size_t cut = 0; cut <= len; cut++) {
            char *exact = malloc(cut > 0 ? cut : 1); /* a read too far is seen by the sanitizer */
            memcpy(exact, texts[i], cut);
            json_t *json = NULL;
            if (json_parse_limit(exact, cut, 100, true, &json, &err) == ERR_OK)
                json_decref(json);
            else
                assert_true(cut < len);
            free(exact);
        }
    }
    json_t *json = NULL;
    assert_fails(json_parse(NULL, 0, &json, &err), ERR_INVALID);
}

static void duplicate_keys_are_refused_also_when_escaped(void **state)
{
    (void)state;
    refused_at("{\"a\":1,\"b\":2,\"a\":1}", 13, "'a' stands twice");
    refused_at("{\"a\":1,\"\\u0061\":2}", 7, "stands twice");
    refused_at("[{\"\":1,\"\":2}]", 7, "stands twice");
    json_decref(parse("[{\"a\":1},{\"a\":1}]"));
}

static void nul_is_refused_raw_and_escaped_but_not_as_text(void **state)
{
    (void)state;
    json_t *json = NULL;
    assert_fails(json_parse("{\"a\0b\":1}", 9, &json, &err), ERR_INVALID);
    assert_fails(json_parse("{\"a\":1}\0", 8, &json, &err), ERR_INVALID);
    assert_fails(json_parse("\0{}", 3, &json, &err), ERR_INVALID);
    assert_fails(json_parse("{\0}", 3, &json, &err), ERR_INVALID);
    refused_at("[\"\\u0000\"]", 2, "NUL");
    refused_at("{\"x\\u0000\":1}", 3, "NUL");
    refused_at("[\"\\\\\\u0000\"]", 4, "NUL");
    json_t *good = parse("[\"\\\\u0000\"]");
    assert_string_equal(json_string_value(json_array_get(good, 0)), "\\u0000");
    json_decref(good);
}

static void surrogates_must_come_in_pairs(void **state)
{
    (void)state;
    refused_at("[\"\\ud800\"]", 2, "first half");
    refused_at("[\"\\ud800x\"]", 2, "first half");
    refused_at("[\"\\ud800\\ud800\"]", 2, "first half");
    refused_at("[\"\\ud800\\u0041\"]", 2, "first half");
    refused_at("[\"\\udbff\\\\udfff\"]", 2, "first half");
    refused_at("[\"\\udc00\"]", 2, "second half");
    refused_at("[\"\\uDFFF\\uD800\"]", 2, "second half");
    refused_at("[\"\xed\xa0\x80\"]", 2, "UTF-8");
    json_t *good = parse("[\"\\ud800\\udc00\\uDBFF\\uDFFF\\uFFFF\\u0001\"]");
    assert_string_equal(json_string_value(json_array_get(good, 0)),
                        "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbf\x01");
    json_decref(good);
}

static void bytes_that_are_no_utf8_are_refused_everywhere(void **state)
{
    (void)state;
    refused_at("[\"\xff\"]", 2, "UTF-8");
    refused_at("[\"a\xc0\xaf\"]", 3, "UTF-8");
    refused_at("[\"\xe2\x82\"]", 2, "UTF-8");
    refused_at("{\"\xf5\x80\x80\x80\":1}", 2, "UTF-8");
    refused_at("[\"\\n\xe0\x80\x80\"]", 4, "UTF-8");
    refused_at("\xef\xbb\xbf{}", 0, "byte order mark");
    refused_at("\xff\xfe{", 0, "UTF-16");
    refused_at("\xfe\xff{", 0, "UTF-16");
    refused_at("{}\xef\xbb\xbf", 2, "the end of the text");
    json_decref(parse("[\"\xef\xbb\xbf\"]")); /* inside a string it is a character */
}

static void integers_are_int64_and_no_more(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"0", 0},
                {"-0", 0},
                {"-1", -1}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        json_t *json = parse(good[i].text);
        assert_true(json_is_integer(json));
        assert_int_equal(json_integer_value(json), good[i].value);
        json_decref(json);
    }
    refused_at("9223372036854775808", 0, "64 bits");
    refused_at("-9223372036854775809", 0, "64 bits");
    refused_at("18446744073709551616", 0, "64 bits");
    refused_at("[1,100000000000000000000000000000000000000]", 3, "64 bits");
}

static void reals_that_overflow_or_underflow_are_refused(void **state)
{
    (void)state;
    json_decref(parse("1.7976931348623157e308"));
    refused_at("1.8e308", 0, "too large");
    refused_at("-1e9999999999999999999", 0, "too large");
    json_decref(parse("2.2250738585072014e-308")); /* the smallest normal one */
    refused_at("2.2250738585072009e-308", 0, "too small");
    refused_at("5e-324", 0, "too small");
    refused_at("-1e-400", 0, "too small");
    refused_at("0.00000000000000000001e-400", 0, "too small");
    static const char *const zeros[] = {"0.0", "0e5", "-0.0", "0.000e-999", "0E+9999"};
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
        json_t *json = parse(zeros[i]);
        assert_true(json_is_real(json) && json_real_value(json) == 0);
        json_decref(json);
    }
}

static void long_real_literals_are_read(void **state)
{
    (void)state;
    char text[400] = "0.1";
    memset(text + 3, '0', sizeof(text) - 4);
    text[sizeof(text) - 1] = '\0';
    json_t *json = parse(text);
    assert_true(json_real_value(json) == 0.1);
    json_decref(json);
}

static void reals_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL)
        print_message("no German locale here: tested in the C locale only\n");
    json_t *json = parse("[1.5]");
    assert_true(json_real_value(json_array_get(json, 0)) == 1.5);
    char *text = json_canonical(json, NULL);
    assert_string_equal(text, "[1.5]");
    free(text);
    json_decref(json);
    setlocale(LC_NUMERIC, "C");
}

static void grammar_faults_are_refused_where_they_stand(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t byte;
        const char *part;
    } bad[] = {
        {"", 0, "the text ends here"},
        {"   ", 3, "the text ends here"},
        {"{", 1, "member's name"},
        {"{\"a\"", 4, "':'"},
        {"{\"a\":", 5, "a value"},
        {"{\"a\":1", 6, "a comma or '}'"},
        {"{\"a\":1,", 7, "member's name"},
        {"{\"a\":1,}", 7, "member's name"},
        {"{,}", 1, "member's name"},
        {"{a:1}", 1, "member's name"},
        {"{1:1}", 1, "member's name"},
        {"{'a':1}", 1, "member's name"},
        {"[1 2]", 3, "a comma or ']'"},
        {"[1,]", 3, "a value"},
        {"[,1]", 1, "a value"},
        {"[1}", 2, "a comma or ']'"},
        {"{\"a\":1]", 6, "a comma or '}'"},
        {"[01]", 1, "begin with 0"},
        {"[-01]", 2, "begin with 0"},
        {"[+1]", 1, "a value"},
        {"[.5]", 1, "a value"},
        {"[5.]", 3, "a digit"},
        {"[1e]", 3, "a digit"},
        {"[1e+]", 4, "a digit"},
        {"[-]", 2, "a digit"},
        {"[0x1]", 2, "a comma"},
        {"[NaN]", 1, "a value"},
        {"[Infinity]", 1, "a value"},
        {"[-Infinity]", 2, "a digit"},
        {"[True]", 1, "a value"},
        {"[tru]", 1, "a value"},
        {"[nulll]", 5, "a comma"},
        {"[\"\t\"]", 2, "control character"},
        {"[\"\n\"]", 2, "control character"},
        {"[\"\\x41\"]", 2, "backslash"},
        {"[\"\\\"]", 5, "ends inside a string"},
        {"[\"\\u12g4\"]", 2, "four hexadecimal"},
        {"[\"\\u12", 2, "four hexadecimal"},
        {"[\"\\", 2, "ends inside a string"},
        {"[\"abc", 5, "ends inside a string"},
        {"{} {}", 3, "the end of the text"},
        {"{}}", 2, "the end of the text"},
        {"{}//x", 2, "the end of the text"},
        {"[1/**/]", 2, "a comma"},
        {"\f{}", 0, "a value"},
        {"\xc2\xa0{}", 0, "a value"},
        {"\xe2\x81\xa0{}", 0, "\\u2060"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused_at(bad[i].text, bad[i].byte, bad[i].part);
}

static void place_counts_lines_and_characters(void **state)
{
    (void)state;
    refused_at("{\n \"\xc3\xa4\": x}", 9, "line 2 column 7 (byte 9)");
}

static void output_is_untouched_after_a_fault(void **state)
{
    (void)state;
    json_t *json = (json_t *)&err;
    assert_fails(json_parse("{", 1, &json, &err), ERR_INVALID);
    assert_ptr_equal(json, &err);
    assert_int_equal(json_parse("{", 1, &json, NULL), ERR_INVALID);
}

static long fail_at = -1;

static void *failing_malloc(size_t size)
{
    return fail_at >= 0 && fail_at-- == 0 ? NULL : malloc(size);
}

static void every_failed_allocation_of_a_value_is_told(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,2.5,\"x\",{\"b\\n\":null}],\"c\":[1,2,3,4,5,6,7,8,9,10],"
                               "\"d\":{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,"
                               "\"8\":1,\"9\":1}}";
    json_set_alloc_funcs(failing_malloc, free);
    bool reached_end = false;
    for (long at = 0; !reached_end; at++) {
        json_t *json = NULL;
        fail_at = at;
        enum err_code code = json_parse(text, strlen(text), &json, &err);
        reached_end = fail_at >= 0;
        fail_at = -1;
        assert_int_equal(code, reached_end ? ERR_OK : ERR_NOMEM);
        json_decref(json);
        assert_true(at < 500);
    }
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_files_have_the_verdict_of_the_index),
        cmocka_unit_test(root_must_be_an_object_unless_any_is_asked),
        cmocka_unit_test(depth_of_32_passes_and_33_does_not),
        cmocka_unit_test(deep_nesting_without_end_is_cheap),
        cmocka_unit_test(size_limit_is_met_by_one_byte_more),
        cmocka_unit_test(text_needs_no_nul_behind_it),
        cmocka_unit_test(duplicate_keys_are_refused_also_when_escaped),
        cmocka_unit_test(nul_is_refused_raw_and_escaped_but_not_as_text),
        cmocka_unit_test(surrogates_must_come_in_pairs),
        cmocka_unit_test(bytes_that_are_no_utf8_are_refused_everywhere),
        cmocka_unit_test(integers_are_int64_and_no_more),
        cmocka_unit_test(reals_that_overflow_or_underflow_are_refused),
        cmocka_unit_test(long_real_literals_are_read),
        cmocka_unit_test(reals_do_not_depend_on_the_locale),
        cmocka_unit_test(grammar_faults_are_refused_where_they_stand),
        cmocka_unit_test(place_counts_lines_and_characters),
        cmocka_unit_test(output_is_untouched_after_a_fault),
        cmocka_unit_test(every_failed_allocation_of_a_value_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
