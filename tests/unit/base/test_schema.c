/* Each keyword of draft 2020-12; the suite of draft 7 is in test_schema_suite.c, error texts and
 * limits in test_schema_report.c. */
#include "tests/unit/test.h"

#include "base/json.h"
#include "base/schema.h"

static struct err err;

static json_t *parse(const char *text)
{
    json_t *json = NULL;
    assert_ok(json_parse_limit(text, strlen(text), JSON_TEXT_MAX, true, &json, &err));
    return json;
}

static struct schema *compile(const char *text)
{
    OWN(json) json_t *document = parse(text);
    struct schema *schema = NULL;
    assert_ok(schema_compile(document, true, &schema, &err));
    return schema;
}

/* `good` and `bad` hold instances separated by blanks. */
static void check_all(const struct schema *schema, const char *what, const char *instances,
                      bool wanted)
{
    char wrapped[2048];
    snprintf(wrapped, sizeof(wrapped), "[%s]", instances);
    OWN(json) json_t *list = parse(wrapped);
    size_t i;
    json_t *instance;
    json_array_foreach(list, i, instance)
    {
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        bool fast = schema_validate(schema, instance, NULL);
        bool told = schema_validate(schema, instance, &findings);
        OWN(str) char *text = json_canonical(instance, NULL);
        if (fast != wanted || told != wanted || (findings.count > 0) == wanted)
            fail_msg("%s: %s: fast %d, told %d, %zu findings; wanted %d", what, text, fast, told,
                     findings.count, wanted);
    }
}

static void check(const char *text, const char *good, const char *bad)
{
    OWN(schema) struct schema *schema = compile(text);
    check_all(schema, text, good, true);
    check_all(schema, text, bad, false);
}

static void types_tell_integers_from_reals_by_value(void **state)
{
    (void)state;
    check("{\"type\":\"integer\"}", "1,1.0,-3,1e15", "1.5,\"1\",null,[],{},true");
    check("{\"type\":\"number\"}", "1,1.5", "\"1\",null");
    check("{\"type\":[\"string\",\"null\"]}", "\"\",null", "0,false,[],{}");
    check("{\"type\":\"boolean\"}", "true,false", "0,\"true\"");
}

static void numbers_are_compared_exactly(void **state)
{
    (void)state;
    check("{\"maximum\":9007199254740993}", "9007199254740993,9007199254740992.0,\"x\"",
          "9007199254740994,9007199254740994.0");
    check("{\"minimum\":9223372036854775807}", "9223372036854775807,9223372036854775808.0",
          "9223372036854775806");
    check("{\"exclusiveMinimum\":0,\"exclusiveMaximum\":1}", "0.5,1e-300", "0,1,0.0,1.0,-1");
    check("{\"minimum\":-9223372036854775808}", "-9223372036854775808", "-1e19");
    check("{\"multipleOf\":3}", "0,3,-9,9223372036854775806,6.0", "1,4,9223372036854775807,1.5");
    check("{\"multipleOf\":0.01}", "0.07,4.35,19.99,1,0", "0.005,4.355");
    check("{\"multipleOf\":0.5}", "1e308,4.5", "0.25");
}

static void equality_ignores_number_form_and_member_order(void **state)
{
    (void)state;
    check("{\"const\":{\"a\":1,\"b\":[2]}}", "{\"b\":[2.0],\"a\":1.0}",
          "{\"a\":1},{\"a\":1,\"b\":[2,3]},{\"a\":1,\"b\":[true]}");
    check("{\"enum\":[1,\"1\",null,[]]}", "1,1.0,\"1\",null,[]", "true,\"\",{},0");
    check("{\"const\":false}", "false", "0,null,[]");
    check("{\"enum\":[]}", "", "1");
}

static void lengths_count_code_points(void **state)
{
    (void)state;
    check("{\"minLength\":2,\"maxLength\":2}",
          "\"ab\",\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\",\"\xc3\xa4"
          "b\",3",
          "\"a\",\"abc\",\"\xf0\x9f\x98\x80\"");
}

static void patterns_search_and_end_exactly(void **state)
{
    (void)state;
    check("{\"pattern\":\"b+\"}", "\"abc\",1", "\"ac\"");
    check("{\"pattern\":\"^[a-z]+$\"}", "\"ab\"", "\"ab\\n\",\"\",\"AB\"");
    check("{\"pattern\":\"^\\\\d$\"}", "\"1\"", "\"\xef\xbc\x91\"");
    check("{\"pattern\":\"^.$\"}", "\"\xf0\x9f\x98\x80\"", "\"\"");
    check("{\"pattern\":\"^\\\\u00e4[^]$\"}", "\"\xc3\xa4x\"", "\"a\"");
}

static void prefix_items_and_items_share_the_array(void **state)
{
    (void)state;
    check("{\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"items\":false}",
          "[],[1],[1,\"a\"]", "[\"a\"],[1,2],[1,\"a\",3]");
    check("{\"prefixItems\":[true],\"items\":{\"type\":\"null\"}}", "[1,null]", "[1,2]");
    check("{\"minItems\":1,\"maxItems\":2}", "[1],[1,2]", "[],[1,2,3]");
}

static void contains_counts_between_its_bounds(void **state)
{
    (void)state;
    check("{\"contains\":{\"const\":1}}", "[1],[0,1]", "[],[0]");
    check("{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":3}", "[1,1],[1,1,1,0]",
          "[1],[1,1,1,1]");
    check("{\"contains\":{\"const\":1},\"minContains\":0}", "[],[0]", "");
    check("{\"minContains\":5,\"maxContains\":0}", "[]", "");
}

static void unique_items_hold_for_short_and_long_arrays(void **state)
{
    (void)state;
    check("{\"uniqueItems\":true}", "[],[1,true,\"1\",[1],{}],[{\"a\":1},{\"a\":2}]",
          "[1,1.0],[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}],[[],[]]");
    OWN(schema) struct schema *schema = compile("{\"uniqueItems\":true}");
    OWN(json) json_t *array = json_array();
    for (int i = 0; i < 5000; i++)
        json_array_append_new(array, json_pack("{s:i,s:[s,f]}", "a", i, "b", "x", i / 4.0));
    assert_true(schema_validate(schema, array, NULL));
    json_array_append_new(array, json_pack("{s:[s,f],s:f}", "b", "x", 7 / 4.0, "a", 7.0));
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_false(schema_validate(schema, array, &findings));
    assert_contains(findings.items[0].message, "7 and 5000 are equal");
}

static void members_are_checked_by_name_pattern_and_rest(void **state)
{
    (void)state;
    check("{\"properties\":{\"a\":{\"type\":\"integer\"}},"
          "\"patternProperties\":{\"^x\":{\"type\":\"string\"}},\"additionalProperties\":false}",
          "{},{\"a\":1},{\"x1\":\"\"}", "{\"a\":\"\"},{\"x1\":1},{\"b\":1}");
    check(
        "{\"properties\":{\"xa\":{\"minimum\":1}},\"patternProperties\":{\"^x\":{\"maximum\":2}}}",
        "{\"xa\":1},{\"xa\":2}", "{\"xa\":0},{\"xa\":3}");
    check("{\"additionalProperties\":{\"type\":\"null\"}}", "{\"a\":null}", "{\"a\":1}");
    check("{\"required\":[\"a\",\"b\",\"a\"],\"properties\":{\"b\":true}}", "{\"a\":1,\"b\":2},[]",
          "{\"a\":1},{\"b\":1},{}");
    check("{\"minProperties\":1,\"maxProperties\":1}", "{\"a\":1}", "{},{\"a\":1,\"b\":1}");
}

static void names_are_checked_as_strings(void **state)
{
    (void)state;
    check("{\"propertyNames\":{\"pattern\":\"^[a-z]+$\",\"maxLength\":3}}", "{},{\"abc\":1}",
          "{\"abcd\":1},{\"A\":1},{\"\":1}");
    check("{\"propertyNames\":{\"$ref\":\"#/$defs/n\"},\"$defs\":{\"n\":{\"minLength\":2}}}",
          "{\"ab\":1}", "{\"a\":1}");
    check("{\"propertyNames\":{\"enum\":[\"a\",\"b\"]}}", "{\"a\":1}", "{\"c\":1}");
    check("{\"propertyNames\":{\"not\":{\"const\":\"a\"}}}", "{\"b\":1}", "{\"a\":1}");
    check("{\"propertyNames\":{\"type\":\"integer\"}}", "{}", "{\"a\":1}");
    check("{\"propertyNames\":false}", "{}", "{\"a\":1}");
    check("{\"propertyNames\":true}", "{\"a\":1}", "");
}

static void dependent_keywords_act_when_the_member_is_there(void **state)
{
    (void)state;
    check("{\"dependentRequired\":{\"a\":[\"b\",\"c\"],\"d\":[]},"
          "\"dependentSchemas\":{\"e\":{\"maxProperties\":1}}}",
          "{},{\"b\":1},{\"a\":1,\"b\":1,\"c\":1},{\"d\":1},{\"e\":1}",
          "{\"a\":1},{\"a\":1,\"b\":1},{\"e\":1,\"b\":1}");
}

static void combinations_hold_as_written(void **state)
{
    (void)state;
    check("{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "1,3", "0,4");
    check("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "\"\",5,null", "4");
    check("{\"oneOf\":[{\"multipleOf\":2},{\"multipleOf\":3}]}", "2,3,4,9", "6,1");
    check("{\"not\":{\"type\":\"string\"}}", "1", "\"\"");
    check("{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"multipleOf\":3}}",
          "20,9", "15,8");
    check("{\"if\":false,\"then\":false}", "1", "");
    check("{\"then\":false,\"else\":false}", "1", "");
    check("{\"not\":{\"not\":{\"const\":1}}}", "1", "2");
}

static void unevaluated_properties_see_through_applicators(void **state)
{
    (void)state;
    check("{\"allOf\":[{\"properties\":{\"a\":true}}],\"properties\":{\"b\":true},"
          "\"unevaluatedProperties\":false}",
          "{},{\"a\":1,\"b\":2}", "{\"c\":1},{\"a\":1,\"c\":1}");
    check("{\"$ref\":\"#/$defs/x\",\"unevaluatedProperties\":{\"type\":\"null\"},"
          "\"$defs\":{\"x\":{\"properties\":{\"a\":{\"type\":\"integer\"}}}}}",
          "{\"a\":1,\"z\":null}", "{\"a\":null},{\"z\":1}");
    check("{\"anyOf\":[{\"properties\":{\"a\":{\"const\":1}},\"required\":[\"a\"]},"
          "{\"properties\":{\"b\":{\"const\":1}},\"required\":[\"b\"]}],"
          "\"unevaluatedProperties\":false}",
          "{\"a\":1},{\"b\":1},{\"a\":1,\"b\":1}", "{\"a\":1,\"b\":2},{\"a\":1,\"c\":1},{}");
    check("{\"oneOf\":[{\"required\":[\"a\"],\"properties\":{\"a\":true}},"
          "{\"required\":[\"b\"],\"properties\":{\"b\":true}}],\"unevaluatedProperties\":false}",
          "{\"a\":1}", "{\"a\":1,\"b\":1},{\"a\":1,\"c\":1}");
    check("{\"if\":{\"properties\":{\"k\":{\"const\":1}},\"required\":[\"k\"]},"
          "\"then\":{\"properties\":{\"a\":true}},\"else\":{\"properties\":{\"b\":true}},"
          "\"unevaluatedProperties\":false}",
          "{\"k\":1,\"a\":1},{\"b\":1},{\"k\":1}", "{\"k\":1,\"b\":1},{\"a\":1},{\"k\":2}");
    check("{\"not\":{\"not\":{\"properties\":{\"a\":true}}},\"unevaluatedProperties\":false}", "{}",
          "{\"a\":1}");
    check("{\"dependentSchemas\":{\"a\":{\"properties\":{\"b\":true}}},\"properties\":{\"a\":true},"
          "\"unevaluatedProperties\":false}",
          "{\"a\":1,\"b\":1}", "{\"b\":1}");
    check("{\"patternProperties\":{\"^a\":true},\"unevaluatedProperties\":false}", "{\"ab\":1}",
          "{\"b\":1}");
    check("{\"additionalProperties\":true,\"unevaluatedProperties\":false}", "{\"b\":1}", "");
    check("{\"allOf\":[{\"unevaluatedProperties\":true}],\"unevaluatedProperties\":false}",
          "{\"b\":1}", "");
    /* A cousin does not see what the other branch evaluated. */
    check("{\"allOf\":[{\"properties\":{\"a\":true}},{\"unevaluatedProperties\":false}]}", "{}",
          "{\"a\":1}");
    check("{\"properties\":{\"o\":{\"properties\":{\"a\":true}}},\"unevaluatedProperties\":false}",
          "{\"o\":{\"z\":1}}", "{\"a\":1}");
}

static void unevaluated_items_see_prefix_items_and_contains(void **state)
{
    (void)state;
    check("{\"prefixItems\":[true],\"unevaluatedItems\":false}", "[],[1]", "[1,2]");
    check("{\"items\":true,\"unevaluatedItems\":false}", "[1,2]", "");
    check("{\"contains\":{\"type\":\"string\"},\"unevaluatedItems\":{\"type\":\"integer\"}}",
          "[\"a\"],[1,\"a\",\"b\"]", "[\"a\",null]");
    check("{\"allOf\":[{\"prefixItems\":[true,true]}],\"unevaluatedItems\":false}", "[1,2]",
          "[1,2,3]");
    check("{\"anyOf\":[{\"prefixItems\":[true,{\"const\":2}]},{\"prefixItems\":[true]}],"
          "\"unevaluatedItems\":false}",
          "[1],[1,2]", "[1,3],[1,2,3]");
    check("{\"if\":{\"prefixItems\":[{\"const\":1}]},\"then\":{\"prefixItems\":[true,true]},"
          "\"unevaluatedItems\":false}",
          "[1,2],[]", "[2],[1,2,3]");
}

static void more_than_256_members_are_marked(void **state)
{
    (void)state;
    OWN(schema)
    struct schema *schema =
        compile("{\"allOf\":[{\"anyOf\":[{\"patternProperties\":{\"^k\":true}}]}],"
                "\"unevaluatedProperties\":false}");
    OWN(json) json_t *object = json_object();
    for (int i = 0; i < 600; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%d", i);
        json_object_set_new(object, key, json_true());
    }
    assert_true(schema_validate(schema, object, NULL));
    json_object_set_new(object, "z", json_true());
    assert_false(schema_validate(schema, object, NULL));
}

static void references_find_pointers_anchors_and_ids(void **state)
{
    (void)state;
    check("{\"$ref\":\"#/$defs/a~1b%25\",\"$defs\":{\"a/b%\":{\"type\":\"integer\"}}}", "1",
          "\"\"");
    check("{\"$ref\":\"#x\",\"$defs\":{\"a\":{\"$anchor\":\"x\",\"type\":\"integer\"}}}", "1",
          "\"\"");
    check("{\"$dynamicRef\":\"#x\",\"$defs\":{\"a\":{\"$dynamicAnchor\":\"x\",\"const\":1}}}", "1",
          "2");
    check("{\"$id\":\"http://h/a/b.json\",\"$ref\":\"../c.json#/$defs/d\",\"$defs\":{"
          "\"c\":{\"$id\":\"/c.json\",\"$defs\":{\"d\":{\"$ref\":\"#e\"},"
          "\"e\":{\"$anchor\":\"e\",\"const\":1}}}}}",
          "1", "2");
    check("{\"$id\":\"https://h/root\",\"properties\":{\"n\":{\"$ref\":\"tree\"}},"
          "\"$defs\":{\"t\":{\"$id\":\"tree\",\"type\":\"object\",\"properties\":{"
          "\"kids\":{\"items\":{\"$ref\":\"#\"}}}}}}",
          "{\"n\":{\"kids\":[{\"kids\":[]}]}}", "{\"n\":{\"kids\":[{\"kids\":[1]}]}}");
    check("{\"$id\":\"urn:example:root\",\"$ref\":\"urn:example:root#/$defs/a\","
          "\"$defs\":{\"a\":{\"const\":1}}}",
          "1", "2");
    check("{\"$ref\":\"#/$defs/a\",\"minimum\":5,\"$defs\":{\"a\":{\"maximum\":7}}}", "5,7", "4,8");
    /* $id inside of const or enum is data. */
    check("{\"const\":{\"$id\":\"x\",\"$ref\":\"#/nowhere\"}}",
          "{\"$id\":\"x\",\"$ref\":\"#/nowhere\"}", "{}");
    check("{\"properties\":{\"$ref\":{\"type\":\"string\"}}}", "{\"$ref\":\"a\"}", "{\"$ref\":1}");
}

static void formats_that_are_asserted_refuse_wrong_texts(void **state)
{
    (void)state;
    check("{\"format\":\"date-time\"}", "\"2026-02-28T23:59:59.5Z\",1,\"1998-12-31T23:59:60Z\"",
          "\"2026-02-29T00:00:00Z\",\"2026-02-28 00:00:00Z\",\"1998-12-31T22:59:60Z\"");
    check("{\"format\":\"ipv6\"}", "\"::1\",\"fe80::1\"", "\"::g\",\"1.2.3.4\",\"::1%eth0\"");
    check("{\"format\":\"hostname\"}", "\"a-b.c\"", "\"-a\",\"a..b\",\"a.\",\"\",\"a_b\"");
    check("{\"format\":\"uuid\"}", "\"00000000-0000-4000-8000-0000000000aF\"",
          "\"00000000-0000-4000-8000-0000000000a\",\"00000000000040008000000000000000aaaa\"");
    check("{\"format\":\"uri\"}", "\"not checked\"", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_tell_integers_from_reals_by_value),
        cmocka_unit_test(numbers_are_compared_exactly),
        cmocka_unit_test(equality_ignores_number_form_and_member_order),
        cmocka_unit_test(lengths_count_code_points),
        cmocka_unit_test(patterns_search_and_end_exactly),
        cmocka_unit_test(prefix_items_and_items_share_the_array),
        cmocka_unit_test(contains_counts_between_its_bounds),
        cmocka_unit_test(unique_items_hold_for_short_and_long_arrays),
        cmocka_unit_test(members_are_checked_by_name_pattern_and_rest),
        cmocka_unit_test(names_are_checked_as_strings),
        cmocka_unit_test(dependent_keywords_act_when_the_member_is_there),
        cmocka_unit_test(combinations_hold_as_written),
        cmocka_unit_test(unevaluated_properties_see_through_applicators),
        cmocka_unit_test(unevaluated_items_see_prefix_items_and_contains),
        cmocka_unit_test(more_than_256_members_are_marked),
        cmocka_unit_test(references_find_pointers_anchors_and_ids),
        cmocka_unit_test(formats_that_are_asserted_refuse_wrong_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
