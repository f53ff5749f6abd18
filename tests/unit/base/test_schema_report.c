/* What wrong schemas and wrong instances are told, and what stops a check that would not end. */
#include "tests/unit/test.h"

#include <pthread.h>

#include "base/embed.h"
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

static void schema_is_wrong(const char *text, const char *pointer, const char *part)
{
    OWN(json) json_t *document = parse(text);
    struct schema *schema = NULL;
    assert_fails(schema_compile(document, true, &schema, &err), ERR_INVALID);
    assert_null(schema);
    assert_string_equal(err.pointer, pointer);
    assert_contains(err.text, part);
}

static void wrong_schemas_are_refused_with_their_place(void **state)
{
    (void)state;
    schema_is_wrong("3", "", "a schema must be");
    schema_is_wrong("{\"type\":\"int\"}", "/type", "must be one or a list of");
    schema_is_wrong("{\"type\":[\"string\",3]}", "/type", "must be one or a list of");
    schema_is_wrong("{\"properties\":{\"a\":{\"minLength\":-1}}}", "/properties/a/minLength",
                    "whole number");
    schema_is_wrong("{\"maxItems\":1.5}", "/maxItems", "whole number");
    schema_is_wrong("{\"minimum\":\"1\"}", "/minimum", "a number");
    schema_is_wrong("{\"multipleOf\":0}", "/multipleOf", "over 0");
    schema_is_wrong("{\"items\":[{}]}", "/items", "prefixItems");
    schema_is_wrong("{\"allOf\":[]}", "/allOf", "one schema or more");
    schema_is_wrong("{\"anyOf\":[true,1]}", "/anyOf/1", "a schema must be");
    schema_is_wrong("{\"$defs\":{\"a\":{\"enum\":1}}}", "/$defs/a/enum", "array");
    schema_is_wrong("{\"required\":[1]}", "/required", "strings");
    schema_is_wrong("{\"required\":\"a\"}", "/required", "strings");
    schema_is_wrong("{\"properties\":[]}", "/properties", "object");
    schema_is_wrong("{\"patternProperties\":{\"(\":true}}", "/patternProperties/(", "pattern");
    schema_is_wrong("{\"pattern\":\"[a\"}", "/pattern", "at character");
    schema_is_wrong("{\"pattern\":1}", "/pattern", "string");
    schema_is_wrong("{\"uniqueItems\":1}", "/uniqueItems", "true or false");
    schema_is_wrong("{\"dependentRequired\":{\"a\":[1]}}", "/dependentRequired/a", "strings");
    schema_is_wrong("{\"$ref\":\"#/$defs/a\"}", "/$ref", "names nothing");
    schema_is_wrong("{\"$ref\":\"#a\"}", "/$ref", "names nothing");
    schema_is_wrong("{\"$ref\":\"other.json\"}", "/$ref", "another document");
    schema_is_wrong("{\"$ref\":1}", "/$ref", "string");
    schema_is_wrong("{\"$ref\":\"#/title\",\"title\":\"x\"}", "/$ref", "no schema");
    schema_is_wrong("{\"$id\":\"x#y\"}", "", "fragment");
    schema_is_wrong("{\"$id\":1}", "", "string");
    schema_is_wrong("{\"$defs\":{\"a\":{\"$anchor\":\"x\"},\"b\":{\"$anchor\":\"x\"}}}", "/$defs/b",
                    "two subschemas");
    schema_is_wrong("{\"minLenght\":1}", "", "'minLenght' is unknown");
    schema_is_wrong("{\"format\":\"colour\"}", "/format", "unknown");
}

static void unknown_keywords_are_refused_only_when_strict(void **state)
{
    (void)state;
    OWN(json) json_t *document = parse("{\"foo\":1,\"format\":\"colour\"}");
    OWN(schema) struct schema *schema = NULL;
    assert_ok(schema_compile(document, false, &schema, &err));
    schema_free(compile("{\"x-unit\":\"bit/s\",\"title\":\"t\",\"examples\":[1]}"));
}

static void references_in_a_circle_end_with_a_finding(void **state)
{
    (void)state;
    OWN(json) json_t *one = json_integer(1);
    static const char *const schemas[] = {
        "{\"$ref\":\"#\"}",
        "{\"not\":{\"$ref\":\"#\"}}",
        "{\"anyOf\":[{\"$ref\":\"#/$defs/a\"},true],\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}",
        "{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}",
        "{\"if\":{\"$ref\":\"#\"},\"else\":true}",
    };
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
        OWN(schema) struct schema *schema = compile(schemas[i]);
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        assert_false(schema_validate(schema, one, NULL));
        assert_false(schema_validate(schema, one, &findings));
        assert_contains(findings.items[findings.count - 1].message, "too deep");
    }
}

static void schema_that_doubles_the_work_at_each_step_is_stopped(void **state)
{
    (void)state;
    char text[4096] = "{\"$ref\":\"#/$defs/d0\",\"$defs\":{\"d40\":true";
    for (int i = 0; i < 40; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used,
                 ",\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}", i,
                 i + 1, i + 1);
    }
    strcat(text, "}}");
    OWN(schema) struct schema *schema = compile(text);
    OWN(json) json_t *one = json_integer(1);
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_false(schema_validate(schema, one, &findings));
    assert_contains(findings.items[0].message, "too many steps");
}

static void pattern_that_runs_away_refuses_the_document(void **state)
{
    (void)state;
    OWN(schema) struct schema *schema = compile("{\"not\":{\"pattern\":\"^(a+)+$\"}}");
    OWN(json)
    json_t *text = json_string("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_false(schema_validate(schema, text, &findings));
    assert_contains(findings.items[0].message, "a pattern took too many steps");
}

static void schema_nested_too_deep_is_refused(void **state)
{
    (void)state;
    for (int depth = 60; depth <= 140; depth += 80) {
        json_t *document = json_object();
        for (int i = 0; i < depth; i++)
            document = json_pack("{s:o}", "not", document);
        struct schema *schema = NULL;
        enum err_code code = schema_compile(document, true, &schema, &err);
        assert_int_equal(code, depth == 60 ? ERR_OK : ERR_LIMIT);
        schema_free(schema);
        json_decref(document);
    }
}

static void all_problems_are_told_at_once_in_words(void **state)
{
    (void)state;
    OWN(schema)
    struct schema *schema = compile(
        "{\"type\":\"object\",\"required\":[\"name\"],\"additionalProperties\":false,"
        "\"propertyNames\":{\"maxLength\":12},\"properties\":{\"name\":{\"type\":\"string\"},"
        "\"bw_guarantee\":{\"type\":\"string\"},\"priority\":{\"type\":\"integer\",\"minimum\":0,"
        "\"maximum\":7},\"mode\":{\"enum\":[\"a\",\"b\"]},\"tags\":{\"items\":{\"type\":["
        "\"string\","
        "\"null\"]},\"uniqueItems\":true}}}");
    OWN(json)
    json_t *instance =
        parse("{\"bw_garantee\":\"40%\",\"priority\":8,\"mode\":\"c\",\"tags\":[1,null,null],"
              "\"something_else\":1}");
    static const struct {
        const char *pointer, *message;
    } wanted[] = {
        {"/bw_garantee", "unknown member 'bw_garantee'; did you mean 'bw_guarantee'?"},
        {"/priority", "'priority' must be at most 7, but is 8"},
        {"/mode", "'mode' must be one of \"a\", \"b\", but is \"c\""},
        {"/tags/0", "element 0 must be a string or null, but is 1"},
        {"/tags", "'tags' must not have equal elements, but 1 and 2 are equal"},
        {"/something_else", "unknown member 'something_else'"},
        {"/something_else",
         "the name 'something_else' must have at most 12 characters, but has 14"},
        {"/name", "'name' is missing"},
    };
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_false(schema_validate(schema, instance, &findings));
    size_t count = sizeof(wanted) / sizeof(wanted[0]);
    for (size_t i = 0; i < count && i < findings.count; i++) {
        assert_string_equal(findings.items[i].message, wanted[i].message);
        assert_string_equal(findings.items[i].pointer, wanted[i].pointer);
        assert_string_equal(findings.items[i].rule, "schema");
    }
    assert_int_equal(findings.count, count);
}

static void alternatives_tell_the_problems_of_the_only_branch_of_that_type(void **state)
{
    (void)state;
    OWN(schema)
    struct schema *schema =
        compile("{\"anyOf\":[{\"type\":\"string\"},{\"$ref\":\"#/$defs/o\"}],\"$defs\":{\"o\":{"
                "\"type\":\"object\",\"properties\":{\"a\":{\"minimum\":1}}}}}");
    OWN(json) json_t *object = parse("{\"a\":0}");
    OWN(json) json_t *number = parse("5");
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_false(schema_validate(schema, object, &findings));
    assert_string_equal(findings.items[0].pointer, "/a");
    assert_false(schema_validate(schema, number, &findings));
    assert_string_equal(findings.items[1].message,
                        "the document must be an object or a string, but is 5");
}

static void findings_stop_at_their_limit(void **state)
{
    (void)state;
    OWN(schema) struct schema *schema = compile("{\"items\":{\"type\":\"string\"}}");
    OWN(json) json_t *array = json_array();
    for (int i = 0; i < 1000; i++)
        json_array_append_new(array, json_integer(i));
    OWN_FINDINGS struct finding_list findings;
    finding_list_init(&findings);
    assert_false(schema_validate(schema, array, &findings));
    assert_int_equal(findings.count, FINDING_LIST_MAX);
    assert_true(findings.truncated);
}

static void document_may_change_after_compile(void **state)
{
    (void)state;
    json_t *document = parse("{\"required\":[\"a\"],\"const\":{\"a\":1}}");
    OWN(schema) struct schema *schema = NULL;
    assert_ok(schema_compile(document, true, &schema, &err));
    json_object_clear(document);
    json_decref(document);
    OWN(json) json_t *good = parse("{\"a\":1}");
    assert_true(schema_validate(schema, good, NULL));
}

static const struct schema *shared;
static json_t *shared_good, *shared_bad;

static void *validate_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2000; i++) {
        OWN_FINDINGS struct finding_list findings;
        finding_list_init(&findings);
        if (!schema_validate(shared, shared_good, NULL) ||
            schema_validate(shared, shared_bad, &findings) || findings.count != 2)
            return (void *)1;
    }
    return NULL;
}

static void threads_share_a_schema(void **state)
{
    (void)state;
    OWN(schema)
    struct schema *schema =
        compile("{\"additionalProperties\":{\"pattern\":\"^[a-z]+$\"},"
                "\"propertyNames\":{\"pattern\":\"^k\"},\"unevaluatedProperties\":false}");
    shared = schema;
    shared_good = parse("{\"k1\":\"abc\",\"k2\":\"def\"}");
    shared_bad = parse("{\"k1\":\"ABC\",\"x\":\"def\"}");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, validate_often, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    json_decref(shared_good);
    json_decref(shared_bad);
}

static void own_schemas_compile_once_and_an_unknown_one_is_null(void **state)
{
    (void)state;
    size_t count = 0;
    for (const struct embed_file *file = schema_files; file->name != NULL; file++, count++) {
        const struct schema *schema = schema_get(file->name);
        assert_non_null(schema);
        assert_ptr_equal(schema_get(file->name), schema);
    }
    print_message("%zu schemas are built in\n", count);
    assert_null(schema_get("no-such-schema"));
    schema_free(NULL);
}

static long fail_at = -1;

static void *failing_malloc(size_t size)
{
    return fail_at >= 0 && fail_at-- == 0 ? NULL : malloc(size);
}

static void copy_without_memory_is_told(void **state)
{
    (void)state;
    OWN(json) json_t *document = parse("{\"allOf\":[{\"type\":\"string\"},{\"enum\":[\"a\"]}]}");
    json_set_alloc_funcs(failing_malloc, free);
    bool reached_end = false;
    for (long at = 0; !reached_end; at++) {
        struct schema *schema = NULL;
        fail_at = at;
        enum err_code code = schema_compile(document, true, &schema, &err);
        reached_end = fail_at >= 0;
        fail_at = -1;
        assert_int_equal(code, reached_end ? ERR_OK : ERR_NOMEM);
        schema_free(schema);
        assert_true(at < 200);
    }
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_schemas_are_refused_with_their_place),
        cmocka_unit_test(unknown_keywords_are_refused_only_when_strict),
        cmocka_unit_test(references_in_a_circle_end_with_a_finding),
        cmocka_unit_test(schema_that_doubles_the_work_at_each_step_is_stopped),
        cmocka_unit_test(pattern_that_runs_away_refuses_the_document),
        cmocka_unit_test(schema_nested_too_deep_is_refused),
        cmocka_unit_test(all_problems_are_told_at_once_in_words),
        cmocka_unit_test(alternatives_tell_the_problems_of_the_only_branch_of_that_type),
        cmocka_unit_test(findings_stop_at_their_limit),
        cmocka_unit_test(document_may_change_after_compile),
        cmocka_unit_test(threads_share_a_schema),
        cmocka_unit_test(own_schemas_compile_once_and_an_unknown_one_is_null),
        cmocka_unit_test(copy_without_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
