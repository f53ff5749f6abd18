#include "tests/unit/test.h"

#include "base/json.h"

static struct finding_list findings;
static json_t *document;

static struct json_reader start(const char *text)
{
    struct err err = ERR_INIT;
    struct json_reader r;
    assert_ok(json_parse_limit(text, strlen(text), JSON_TEXT_MAX, true, &document, &err));
    json_reader_init(&r, document, "", &findings);
    return r;
}

static int setup(void **state)
{
    (void)state;
    finding_list_init(&findings);
    document = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    finding_list_release(&findings);
    json_decref(document);
    return 0;
}

static void finding_is(size_t index, const char *pointer, const char *part)
{
    assert_true(index < findings.count);
    assert_string_equal(findings.items[index].pointer, pointer);
    assert_contains(findings.items[index].message, part);
    assert_int_equal(findings.items[index].severity, FINDING_ERROR);
}

static void right_members_are_taken_without_findings(void **state)
{
    (void)state;
    static const char *const names[] = {"throughput", "latency", NULL};
    struct json_reader r = start("{\"i\":7,\"b\":true,\"s\":\"x\",\"e\":\"latency\",\"w\":\"40%\","
                                 "\"a\":[1],\"o\":{\"n\":1},\"any\":null}");
    int64_t i = 0, n = 0;
    bool b = false;
    const char *s = NULL;
    int e = 0;
    struct bandwidth w;
    const json_t *a = NULL, *any = NULL;
    struct json_reader sub;
    assert_true(json_reader_int(&r, "i", true, 0, 7, &i));
    assert_true(json_reader_bool(&r, "b", true, &b));
    assert_true(json_reader_string(&r, "s", true, 1, 1, &s));
    assert_true(json_reader_enum(&r, "e", true, names, &e));
    assert_true(json_reader_bandwidth(&r, "w", true, &w));
    assert_true(json_reader_array(&r, "a", true, 1, &a));
    assert_true(json_reader_any(&r, "any", true, &any));
    assert_true(json_reader_object(&r, "o", true, &sub));
    assert_true(json_reader_int(&sub, "n", true, 1, 1, &n));
    json_reader_end(&sub);
    json_reader_end(&r);
    assert_int_equal(findings.count, 0);
    assert_true(i == 7 && b && e == 1 && w.share_permyriad == 4000 && n == 1);
    assert_true(json_is_null(any) && json_array_size(a) == 1);
    assert_string_equal(s, "x");
}

static void missing_member_is_a_finding_only_when_required(void **state)
{
    (void)state;
    struct json_reader r = start("{}");
    int64_t i = 5;
    assert_false(json_reader_int(&r, "i", false, 0, 9, &i));
    assert_int_equal(findings.count, 0);
    assert_false(json_reader_int(&r, "j", true, 0, 9, &i));
    finding_is(0, "/j", "'j' is missing");
    assert_int_equal(i, 5);
    assert_string_equal(findings.items[0].rule, "schema");
}

static void integer_bounds_are_inclusive(void **state)
{
    (void)state;
    struct json_reader r = start("{\"a\":-1,\"b\":0,\"c\":7,\"d\":8,\"e\":1.0,\"f\":\"3\"}");
    int64_t i = 0;
    assert_false(json_reader_int(&r, "a", true, 0, 7, &i));
    assert_true(json_reader_int(&r, "b", true, 0, 7, &i));
    assert_true(json_reader_int(&r, "c", true, 0, 7, &i));
    assert_false(json_reader_int(&r, "d", true, 0, 7, &i));
    assert_false(json_reader_int(&r, "e", true, 0, 7, &i));
    assert_false(json_reader_int(&r, "f", true, 0, 7, &i));
    assert_int_equal(findings.count, 4);
    finding_is(0, "/a", "must be an integer from 0 to 7, but is -1");
    finding_is(1, "/d", "but is 8");
    finding_is(3, "/f", "but is \"3\"");
    assert_string_equal(findings.items[1].observed, "8");
    assert_string_equal(findings.items[1].limit, "an integer from 0 to 7");
    assert_int_equal(i, 7);
}

static void string_length_counts_bytes_at_both_ends(void **state)
{
    (void)state;
    struct json_reader r = start("{\"a\":\"1\",\"b\":\"12\",\"c\":\"1234\",\"d\":\"12345\","
                                 "\"e\":3,\"f\":\"\xc3\xa4\xc3\xa4\"}");
    const char *s = NULL;
    assert_false(json_reader_string(&r, "a", true, 2, 4, &s));
    assert_true(json_reader_string(&r, "b", true, 2, 4, &s));
    assert_true(json_reader_string(&r, "c", true, 2, 4, &s));
    assert_false(json_reader_string(&r, "d", true, 2, 4, &s));
    assert_false(json_reader_string(&r, "e", true, 2, 4, &s));
    assert_true(json_reader_string(&r, "f", true, 2, 4, &s));
    assert_int_equal(findings.count, 3);
}

static void characters_that_nobody_sees_are_refused(void **state)
{
    (void)state;
    struct json_reader r = start("{\"a\":\"x\\n\",\"b\":\"x\\u007f\",\"c\":\"x\\u200b\","
                                 "\"d\":\"\\u202ex\",\"e\":\"\\ufeffx\",\"f\":\"x y\"}");
    const char *s = NULL;
    static const char *const keys[] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < 5; i++)
        assert_false(json_reader_string(&r, keys[i], true, 0, 100, &s));
    assert_int_equal(findings.count, 5);
    finding_is(2, "/c", "U+200B");
    assert_true(json_reader_string(&r, "f", true, 0, 100, &s));
}

static void wrong_enum_lists_what_is_possible(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", NULL};
    struct json_reader r = start("{\"e\":\"c\",\"f\":1}");
    int e = 9;
    assert_false(json_reader_enum(&r, "e", true, names, &e));
    assert_false(json_reader_enum(&r, "f", true, names, &e));
    finding_is(0, "/e", "one of \"a\", \"b\", but is \"c\"");
    assert_int_equal(e, 9);
}

static void other_types_are_refused_by_name(void **state)
{
    (void)state;
    struct json_reader r = start("{\"b\":1,\"a\":{},\"o\":[],\"w\":40,\"x\":\"40 %\",\"l\":[1,2]}");
    bool b = false;
    const json_t *a = NULL;
    struct json_reader sub;
    struct bandwidth w;
    assert_false(json_reader_bool(&r, "b", true, &b));
    assert_false(json_reader_array(&r, "a", true, 1, &a));
    assert_false(json_reader_object(&r, "o", true, &sub));
    assert_false(json_reader_bandwidth(&r, "w", true, &w));
    assert_false(json_reader_bandwidth(&r, "x", true, &w));
    assert_false(json_reader_array(&r, "l", true, 1, &a));
    finding_is(0, "/b", "true or false");
    finding_is(1, "/a", "an object");
    finding_is(2, "/o", "an array");
    finding_is(3, "/w", "must be a bandwidth");
    finding_is(4, "/x", "is no bandwidth");
    finding_is(5, "/l", "but has 2");
    json_reader_end(&r);
    assert_int_equal(findings.count, 6);
}

static void member_that_nobody_asked_for_is_a_finding_with_a_suggestion(void **state)
{
    (void)state;
    struct json_reader r = start("{\"bw_garantee\":\"40%\",\"priority\":1,\"zzz\\n\":1}");
    int64_t i;
    struct bandwidth w;
    json_reader_int(&r, "priority", true, 0, 7, &i);
    json_reader_int(&r, "priority", true, 0, 7, &i); /* asking twice counts once */
    json_reader_bandwidth(&r, "bw_guarantee", false, &w);
    json_reader_end(&r);
    assert_int_equal(findings.count, 2);
    finding_is(0, "/bw_garantee", "did you mean 'bw_guarantee'?");
    finding_is(1, "/zzz\n", "unknown member 'zzz\\u000a'");
}

static void value_that_is_no_object_is_one_finding(void **state)
{
    (void)state;
    struct json_reader r = start("[]");
    int64_t i;
    assert_false(json_reader_int(&r, "a", true, 0, 1, &i));
    json_reader_end(&r);
    assert_int_equal(findings.count, 1);
    finding_is(0, "", "an object { ... } is expected here, but an array");
    json_reader_init(&r, NULL, "/x", &findings);
    finding_is(1, "/x", "nothing");
}

static void pointers_lead_into_arrays_and_objects(void **state)
{
    (void)state;
    struct json_reader r = start("{\"a/b\":[{\"n\":\"x\"}]}");
    const json_t *array;
    struct json_reader sub;
    int64_t i;
    r.rule = "own-rule";
    assert_true(json_reader_array(&r, "a/b", true, 9, &array));
    json_reader_element(&r, "a/b", 0, json_array_get(array, 0), &sub);
    assert_false(json_reader_int(&sub, "n", true, 0, 1, &i));
    finding_is(0, "/a~1b/0/n", "'n'");
    assert_string_equal(findings.items[0].rule, "own-rule");
}

#define READER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER(right_members_are_taken_without_findings),
        READER(missing_member_is_a_finding_only_when_required),
        READER(integer_bounds_are_inclusive),
        READER(string_length_counts_bytes_at_both_ends),
        READER(characters_that_nobody_sees_are_refused),
        READER(wrong_enum_lists_what_is_possible),
        READER(other_types_are_refused_by_name),
        READER(member_that_nobody_asked_for_is_a_finding_with_a_suggestion),
        READER(value_that_is_no_object_is_one_finding),
        READER(pointers_lead_into_arrays_and_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
