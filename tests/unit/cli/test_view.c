#include "tests/unit/test.h"

#include <locale.h>

#include "base/own.h"
#include "cli/problem.h"
#include "cli/view.h"

static struct err err;
static struct context context;
static char *text;
static size_t text_len;
static json_t *items;

static const struct view people = {"name",
                                   {{"NAME", "name", false, false, false},
                                    {"AGE", "age", true, false, false},
                                    {"STATE", "state", false, true, false},
                                    {"NOTE", "about.note", false, false, false}}};

static int setup(void **state)
{
    (void)state;
    setlocale(LC_CTYPE, "C.UTF-8");
    context_init(&context, stdin, open_memstream(&text, &text_len), stderr);
    items = json_array();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (context.out != NULL)
        fclose(context.out);
    context.out = NULL;
    context_release(&context);
    json_decref(items);
    free(text);
    text = NULL;
    return 0;
}

static void add(const char *json)
{
    json_t *item = json_loads(json, 0, NULL);
    assert_non_null(item);
    json_array_append_new(items, item);
}

static const char *printed(enum output output)
{
    context.output = output;
    assert_ok(view_print(&context, &people, items, &err));
    fflush(context.out);
    return text;
}

static void chinese_columns_align_and_numbers_stand_right(void **state)
{
    (void)state;
    add("{\"name\":\"语言模型\",\"age\":7,\"about\":{\"note\":\"x\"}}");
    add("{\"name\":\"b\",\"age\":1234}");
    assert_string_equal(printed(OUTPUT_TABLE), "NAME       AGE  STATE  NOTE\n"
                                               "语言模型     7  -      x\n"
                                               "b         1234  -      -\n");
}

static void a_narrow_terminal_cuts_the_last_column(void **state)
{
    (void)state;
    add("{\"name\":\"b\",\"age\":1,\"state\":\"s\",\"about\":{\"note\":\"a long note that is "
        "cut\"}}");
    context.width = 30;
    const char *line = strchr(printed(OUTPUT_TABLE), '\n') + 1;
    assert_true(strcspn(line, "\n") <= 30);
    assert_null(strstr(line, "is cut"));
}

static void control_characters_never_reach_the_terminal(void **state)
{
    (void)state;
    add("{\"name\":\"a\\u001b[2J\\u009b\\u202e\\n\\te\",\"age\":1}");
    context.width = 80; /* without it CSV goes to a program, quoted, but as it is */
    for (int output = 0; output < OUTPUT_COUNT; output++) {
        const char *got = printed((enum output)output);
        assert_null(strchr(got, 0x1b));
        assert_null(strstr(got, "\xc2\x9b"));
        assert_null(strstr(got, "\xe2\x80\xae"));
        assert_null(strchr(got, '\t'));
        assert_true(strstr(got, "\\u001b[2J") != NULL || strstr(got, "\\u001B[2J") != NULL);
    }
}

static void escaped_json_is_the_same_json(void **state)
{
    (void)state;
    add("{\"name\":\"\\u202e \\u0001 \\udb40\\udc41 语\"}");
    json_t *again = json_loads(printed(OUTPUT_JSON), 0, NULL);
    assert_true(json_equal(json_object_get(again, "items"), items));
    json_decref(again);
}

static void colours_only_where_they_are_asked_for(void **state)
{
    (void)state;
    add("{\"name\":\"b\",\"state\":\"failed\"}");
    assert_null(strchr(printed(OUTPUT_TABLE), 0x1b));
    context.colours = true;
    assert_non_null(strstr(printed(OUTPUT_TABLE), "\x1b[31mfailed"));
}

static void csv_quotes_and_disarms_formulas(void **state)
{
    (void)state;
    add("{\"name\":\"=1+1\",\"age\":-1,\"state\":\"a\\\"b,c\",\"about\":{\"note\":\"x\\ny\"}}");
    assert_string_equal(printed(OUTPUT_CSV), "NAME,AGE,STATE,NOTE\r\n"
                                             "'=1+1,'-1,\"a\"\"b,c\",\"x\ny\"\r\n");
}

static void csv_without_titles(void **state)
{
    (void)state;
    add("{\"name\":\"@x\"}");
    context.headings = false;
    assert_string_equal(printed(OUTPUT_CSV), "'@x,,,\r\n");
}

static void csv_for_a_program_has_every_character(void **state)
{
    (void)state;
    add("{\"name\":\"a\\u001b\\u200b\\\"\\t\"}");
    context.headings = false;
    const size_t len = strlen("\"a\x1b\xe2\x80\x8b\"\"\t\",,,\r\n");
    assert_string_equal(printed(OUTPUT_CSV), "\"a\x1b\xe2\x80\x8b\"\"\t\",,,\r\n");
    context.width = 80;
    assert_string_equal(printed(OUTPUT_CSV) + len, "\"a\\u001b\\u200b\"\"\\u0009\",,,\r\n");
}

static void names_and_lines_of_json(void **state)
{
    (void)state;
    add("{\"name\":\"a\",\"age\":1}");
    add("{\"name\":\"b\"}");
    assert_string_equal(printed(OUTPUT_NAME), "a\nb\n");
    assert_string_equal(printed(OUTPUT_JSONL) + 4,
                        "{\"age\":1,\"name\":\"a\"}\n{\"name\":\"b\"}\n");
}

static void a_document_is_over_lines_only_with_json(void **state)
{
    (void)state;
    OWN(json) json_t *document = json_pack("{s:i}", "a", 1);
    context.output = OUTPUT_JSON;
    assert_int_equal(view_show_json(&context, document), EXIT_DONE);
    context.output = OUTPUT_JSONL;
    assert_int_equal(view_show_json(&context, document), EXIT_DONE);
    fflush(context.out);
    assert_string_equal(text, "{\n  \"a\": 1\n}\n{\"a\":1}\n");
}

static void cells_show_lists_maps_and_what_is_missing(void **state)
{
    (void)state;
    OWN(json)
    json_t *item = json_loads("{\"l\":[\"a\",1,true],\"m\":{\"k\":\"v\",\"n\":2},"
                              "\"d\":{\"x\":{\"y\":[]}},\"z\":null,\"r\":1.5}",
                              0, NULL);
    static const struct {
        const char *path, *text;
    } cells[] = {{"l", "a,1,yes"}, {"m", "k=v,n=2"}, {"m.k", "v"}, {"d", "{\"x\":{\"y\":[]}}"},
                 {"d.x.y", ""},    {"z", ""},        {"none", ""}, {"m.k.none", ""},
                 {"r", "1.5"}};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        OWN(str) char *cell = view_cell(item, cells[i].path);
        assert_string_equal(cell, cells[i].text);
    }
}

static void a_problem_says_everything_and_nothing_raw(void **state)
{
    (void)state;
    OWN(json)
    json_t *problem =
        json_loads("{\"code\":\"policy-refused\",\"detail\":\"no \\u001b\",\"request_id\":\"r1\","
                   "\"truncated\":true,\"errors\":[{\"rule\":\"bw-limit-floor\",\"pointer\":\"/a\","
                   "\"message\":\"m\",\"observed\":\"60%\",\"limit\":\"63%\",\"hint\":\"h\"},"
                   "{\"rule\":\"x\",\"severity\":\"warning\",\"message\":\"n\",\"limit\":\"5\"}]}",
                   0, NULL);
    problem_print(context.out, 422, problem);
    fflush(context.out);
    assert_string_equal(text, "stellarctl: 422 policy-refused: no \\u001b\n"
                              "  error bw-limit-floor at /a: m\n"
                              "    observed 60%, limit 63%\n"
                              "    hint: h\n"
                              "  warning x: n\n"
                              "    limit 5\n"
                              "  there are more than these\n"
                              "  request r1\n");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(chinese_columns_align_and_numbers_stand_right),
        T(a_narrow_terminal_cuts_the_last_column),
        T(control_characters_never_reach_the_terminal),
        T(escaped_json_is_the_same_json),
        T(colours_only_where_they_are_asked_for),
        T(csv_quotes_and_disarms_formulas),
        T(csv_without_titles),
        T(csv_for_a_program_has_every_character),
        T(names_and_lines_of_json),
        T(a_document_is_over_lines_only_with_json),
        T(cells_show_lists_maps_and_what_is_missing),
        T(a_problem_says_everything_and_nothing_raw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
