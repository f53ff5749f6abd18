/*
 * JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386): each rule of the two, the limits, and that
 * a document is changed wholly or not at all.
 */
#include "tests/unit/test.h"

#include "base/json_patch.h"
#include "base/own.h"

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *json = NULL;
    assert_ok(json_parse_limit(text, strlen(text), JSON_TEXT_MAX, true, &json, &err));
    return json;
}

typedef enum err_code apply_fn(const json_t *, const json_t *, json_t **, struct err *);

struct sample {
    const char *document, *patch, *wanted; /* wanted NULL: it is refused ... */
    const char *pointer;                   /* ... there */
};

static void check(apply_fn *apply, const struct sample *sample)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *document = parse(sample->document);
    OWN(json) json_t *patch = parse(sample->patch);
    OWN(json) json_t *out = NULL;
    OWN(json) json_t *kept = json_deep_copy(document);
    enum err_code code = apply(document, patch, &out, &err);
    assert_true(json_equal(document, kept));
    if (sample->wanted == NULL) {
        if (code == ERR_OK)
            fail_msg("%s on %s was not refused", sample->patch, sample->document);
        assert_int_equal(code, ERR_INVALID);
        assert_null(out);
        assert_true(err.text[0] != '\0');
        if (strcmp(err.pointer, sample->pointer) != 0)
            fail_msg("%s: pointer %s, wanted %s", sample->patch, err.pointer, sample->pointer);
        return;
    }
    if (code != ERR_OK)
        fail_msg("%s on %s: %s", sample->patch, sample->document, err.text);
    OWN(str) char *text = json_canonical(out, NULL);
    assert_string_equal(text, sample->wanted);
}

static void check_all(apply_fn *apply, const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(apply, &samples[i]);
}
#define CHECK_ALL(apply, samples) check_all(apply, samples, sizeof(samples) / sizeof(samples[0]))

static void each_operation_does_what_its_name_says(void **state)
{
    static const struct sample samples[] = {
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":2}]", "{\"a\":1,\"b\":2}", ""},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":[]}]", "{\"a\":[]}", ""},
        {"{\"l\":[1,3]}", "[{\"op\":\"add\",\"path\":\"/l/1\",\"value\":2}]", "{\"l\":[1,2,3]}",
         ""},
        {"{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/-\",\"value\":[2]}]", "{\"l\":[1,[2]]}",
         ""},
        {"{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/1\",\"value\":2}]", "{\"l\":[1,2]}", ""},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":{}}]", "{}", ""},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/n\",\"value\":null}]", "{\"a\":1,\"n\":null}",
         ""},
        {"{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"b\":2}", ""},
        {"{\"l\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/l/1\"}]", "{\"l\":[1,3]}", ""},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{\"x\":1}}]",
         "{\"a\":{\"x\":1}}", ""},
        {"{\"l\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/l/0\",\"value\":9}]", "{\"l\":[9,2]}",
         ""},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[1]}]", "[1]", ""},
        {"{\"a\":{\"x\":1},\"b\":{}}", "[{\"op\":\"move\",\"from\":\"/a/x\",\"path\":\"/b/y\"}]",
         "{\"a\":{},\"b\":{\"y\":1}}", ""},
        {"{\"l\":[1,2,3,4]}", "[{\"op\":\"move\",\"from\":\"/l/1\",\"path\":\"/l/3\"}]",
         "{\"l\":[1,3,4,2]}", ""},
        {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", "{\"a\":1}", ""},
        {"{\"a\":{\"x\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/y\"}]",
         "{\"a\":{\"x\":1,\"y\":{\"x\":1}}}", ""},
        {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1.0}]", "{\"a\":1}", ""},
        {"{\"a\":{\"y\":[1],\"x\":null}}",
         "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"x\":null,\"y\":[1]}}]",
         "{\"a\":{\"x\":null,\"y\":[1]}}", ""},
        {"{\"a\":1}", "[]", "{\"a\":1}", ""},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":2,\"note\":\"x\"}]",
         "{\"a\":1,\"b\":2}", ""},
    };
    (void)state;
    CHECK_ALL(json_patch_apply, samples);
}

static void pointers_are_decoded_token_by_token(void **state)
{
    static const struct sample samples[] = {
        {"{\"a/b\":1,\"m~n\":2,\"\":3,\"~1\":4}",
         "[{\"op\":\"test\",\"path\":\"/a~1b\",\"value\":1},"
         "{\"op\":\"test\",\"path\":\"/m~0n\",\"value\":2},"
         "{\"op\":\"test\",\"path\":\"/\",\"value\":3},"
         "{\"op\":\"remove\",\"path\":\"/~01\"}]",
         "{\"\":3,\"a/b\":1,\"m~n\":2}", ""},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/~2\"}]", NULL, "/0/path"},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/~\"}]", NULL, "/0/path"},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"a\"}]", NULL, "/0/path"},
        {"{\"1\":{\"2\":3}}", "[{\"op\":\"remove\",\"path\":\"/1/2\"}]", "{\"1\":{}}", ""},
        {"{\"l\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/l/01\"}]", NULL, "/0/path"},
        {"{\"l\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/l/+1\"}]", NULL, "/0/path"},
        {"{\"l\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/l/1e0\"}]", NULL, "/0/path"},
        {"{\"l\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/l/99999999999999999999\"}]", NULL,
         "/0/path"},
    };
    (void)state;
    CHECK_ALL(json_patch_apply, samples);
}

static void what_does_not_fit_is_refused_with_its_place(void **state)
{
    static const struct sample samples[] = {
        {"{}", "{}", NULL, ""},
        {"{}", "[1]", NULL, "/0"},
        {"{}", "[{\"path\":\"/a\"}]", NULL, "/0/op"},
        {"{}", "[{\"op\":\"spam\",\"path\":\"/a\"}]", NULL, "/0/op"},
        {"{}", "[{\"op\":\"remove\"}]", NULL, "/0/path"},
        {"{}", "[{\"op\":\"remove\",\"path\":7}]", NULL, "/0/path"},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", NULL, "/0/value"},
        {"{}", "[{\"op\":\"move\",\"path\":\"/a\"}]", NULL, "/0/from"},
        {"{}", "[{\"op\":\"copy\",\"path\":\"/a\",\"from\":\"/b\"}]", NULL, "/0/from"},
        {"{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", NULL, "/0/path"},
        {"{}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL, "/0/path"},
        {"{}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1}]", NULL, "/0/path"},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", NULL, "/0/path"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", NULL, "/0/path"},
        {"{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/2\",\"value\":1}]", NULL, "/0/path"},
        {"{\"l\":[1]}", "[{\"op\":\"remove\",\"path\":\"/l/1\"}]", NULL, "/0/path"},
        {"{\"l\":[1]}", "[{\"op\":\"remove\",\"path\":\"/l/-\"}]", NULL, "/0/path"},
        {"{\"l\":[1]}", "[{\"op\":\"replace\",\"path\":\"/l/-\",\"value\":1}]", NULL, "/0/path"},
        {"{\"l\":[1]}", "[{\"op\":\"test\",\"path\":\"/l/-\",\"value\":1}]", NULL, "/0/path"},
        {"{\"a\":1}",
         "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},"
         "{\"op\":\"test\",\"path\":\"/a\",\"value\":\"1\"}]",
         NULL, "/1/value"},
        {"{\"a\":{\"b\":{}}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b/c\"}]", NULL,
         "/0/from"},
        {"{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"\",\"path\":\"/a/b\"}]", NULL, "/0/from"},
        {"{\"a\":[1]}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b/0\"}]", NULL, "/0/path"},
        {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/b\"}]", NULL, "/0/from"},
    };
    (void)state;
    CHECK_ALL(json_patch_apply, samples);
}

static void a_name_that_another_begins_with_is_no_parent(void **state)
{
    static const struct sample samples[] = {
        {"{\"a\":1,\"ab\":{}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/ab/c\"}]",
         "{\"ab\":{\"c\":1}}", ""},
    };
    (void)state;
    CHECK_ALL(json_patch_apply, samples);
}

static json_t *many_ops(size_t count)
{
    json_t *patch = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            patch, json_pack("{ss, ss, si}", "op", "add", "path", "/a", "value", (int)i));
    return patch;
}

static void one_operation_over_the_maximum_is_refused(void **state)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *document = json_object();
    OWN(json) json_t *most = many_ops(JSON_PATCH_OPS_MAX);
    OWN(json) json_t *over = many_ops(JSON_PATCH_OPS_MAX + 1);
    OWN(json) json_t *out = NULL;
    (void)state;
    assert_fails(json_patch_apply(document, over, &out, &err), ERR_LIMIT);
    assert_null(out);
    assert_ok(json_patch_apply(document, most, &out, &err));
}

static void a_document_that_doubles_itself_meets_its_limit(void **state)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *document = parse("{\"a\":[\"0123456789\"]}");
    OWN(json) json_t *patch = json_array();
    OWN(json) json_t *out = NULL;
    (void)state;
    for (int i = 0; i < 200; i++)
        json_array_append_new(
            patch, json_pack("{ss, ss, ss}", "op", "copy", "from", "/a", "path", "/a/-"));
    assert_fails(json_patch_apply(document, patch, &out, &err), ERR_LIMIT);
    assert_null(out);
}

/* depth containers, the innermost empty */
static json_t *nested(int depth)
{
    json_t *value = json_array();
    for (int i = 1; i < depth; i++)
        value = json_pack("[o]", value);
    return value;
}

static void nesting_ends_at_the_parsers_depth(void **state)
{
    struct err err = ERR_INIT;
    OWN(json) json_t *document = json_object();
    OWN(json) json_t *out = NULL;
    (void)state;
    for (int depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX; depth++) {
        OWN(json)
        json_t *patch =
            json_pack("[{ss, ss, so}]", "op", "add", "path", "/a", "value", nested(depth));
        enum err_code code = json_patch_apply(document, patch, &out, &err);
        assert_int_equal(code, depth == JSON_DEPTH_MAX ? ERR_LIMIT : ERR_OK);
        OWN(json) json_t *merged = json_pack("{so}", "a", nested(depth));
        json_decref(GIVE(out));
        code = json_merge_apply(document, merged, &out, &err);
        assert_int_equal(code, depth == JSON_DEPTH_MAX ? ERR_LIMIT : ERR_OK);
        if (code == ERR_OK)
            json_decref(GIVE(out));
    }
}

static void a_merge_patch_sets_removes_and_replaces(void **state)
{
    static const struct sample samples[] = {
        {"{\"a\":1}", "{\"a\":2}", "{\"a\":2}", ""},
        {"{\"a\":1}", "{\"b\":2}", "{\"a\":1,\"b\":2}", ""},
        {"{\"a\":1}", "{\"a\":null}", "{}", ""},
        {"{\"a\":1,\"b\":2}", "{\"a\":null,\"c\":null}", "{\"b\":2}", ""},
        {"{\"a\":[1]}", "{\"a\":2}", "{\"a\":2}", ""},
        {"{\"a\":1}", "{\"a\":[2]}", "{\"a\":[2]}", ""},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"b\":2,\"c\":null}}", "{\"a\":{\"b\":2}}", ""},
        {"{\"a\":[{\"b\":1}]}", "{\"a\":[null]}", "{\"a\":[null]}", ""},
        {"{\"a\":1}", "{\"a\":{\"b\":{\"c\":null}}}", "{\"a\":{\"b\":{}}}", ""},
        {"{\"a\":1}", "[1]", "[1]", ""},
        {"{\"a\":1}", "\"x\"", "\"x\"", ""},
        {"[1]", "{\"a\":1,\"b\":null}", "{\"a\":1}", ""},
        {"{\"a\":null}", "{}", "{\"a\":null}", ""},
    };
    (void)state;
    CHECK_ALL(json_merge_apply, samples);
}

static void a_pointer_reads_one_value(void **state)
{
    OWN(json) json_t *document = parse("{\"a\":{\"b/c\":[1,2]}}");
    (void)state;
    assert_ptr_equal(json_pointer_get(document, ""), document);
    assert_int_equal(json_integer_value(json_pointer_get(document, "/a/b~1c/1")), 2);
    assert_null(json_pointer_get(document, "/a/b~1c/2"));
    assert_null(json_pointer_get(document, "/a/b~1c/-"));
    assert_null(json_pointer_get(document, "/x"));
    assert_null(json_pointer_get(document, "/x/y"));
    assert_null(json_pointer_get(document, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_does_what_its_name_says),
        cmocka_unit_test(pointers_are_decoded_token_by_token),
        cmocka_unit_test(what_does_not_fit_is_refused_with_its_place),
        cmocka_unit_test(a_name_that_another_begins_with_is_no_parent),
        cmocka_unit_test(one_operation_over_the_maximum_is_refused),
        cmocka_unit_test(a_document_that_doubles_itself_meets_its_limit),
        cmocka_unit_test(nesting_ends_at_the_parsers_depth),
        cmocka_unit_test(a_merge_patch_sets_removes_and_replaces),
        cmocka_unit_test(a_pointer_reads_one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
