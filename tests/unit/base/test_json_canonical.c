/* json.c is compiled in here with an allocator that fails on demand (see test_finding.c). */
#include "tests/unit/test.h"

static long fail_at = -1;

static bool fails_now(void)
{
    return fail_at >= 0 && fail_at-- == 0;
}

static void *failing_malloc(size_t size)
{
    return fails_now() ? NULL : malloc(size);
}

static void *failing_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : realloc(old, size);
}

#define malloc  failing_malloc
#define realloc failing_realloc
#include "base/json.c"
#undef malloc
#undef realloc

static struct err err;

static void check(const char *text, const char *wanted)
{
    json_t *json = NULL;
    assert_ok(json_parse_limit(text, strlen(text), JSON_TEXT_MAX, true, &json, &err));
    size_t len = 0;
    OWN(str) char *got = json_canonical(json, &len);
    assert_string_equal(got, wanted);
    assert_int_equal(len, strlen(wanted));
    json_decref(json);
}

static void members_are_sorted_by_bytes_and_blanks_go(void **state)
{
    (void)state;
    check(" { \"b\" : 1 , \"a\" : [ true , false , null ] , \"B\" : { } } ",
          "{\"B\":{},\"a\":[true,false,null],\"b\":1}");
    check("{\"aa\":1,\"a\":2,\"\":3,\"\xc3\xa4\":4,\"z\":5}",
          "{\"\":3,\"a\":2,\"aa\":1,\"z\":5,\"\xc3\xa4\":4}");
}

static void only_what_must_be_escaped_is(void **state)
{
    (void)state;
    check("\"\\u0041\\/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u00e4\"",
          "\"A/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa4\"");
}

static void integers_and_reals_stay_apart(void **state)
{
    (void)state;
    check("[0,-0,1,1.0,1e0,-1.50,0.1,1e2,-0.0]", "[0,0,1,1.0,1.0,-1.5,0.1,100.0,-0.0]");
    check("[9223372036854775807,-9223372036854775808]",
          "[9223372036854775807,-9223372036854775808]");
    check("[1e300,1.7976931348623157e308,2.2250738585072014e-308,0.30000000000000004]",
          "[1e+300,1.7976931348623157e+308,2.2250738585072014e-308,0.30000000000000004]");
}

static void canonical_text_reads_back_to_the_same_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"a\":1.0,\"b\":[1e+300,-0.0,5e-10,123456789.125]}",
                                        "[1.2345678901234568e+17,1e+22,0.0001,1e-05]"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check(texts[i], texts[i]);
}

static void many_members_are_sorted_too(void **state)
{
    (void)state;
    OWN(json) json_t *object = json_object();
    for (int i = 299; i >= 0; i--) {
        char key[16];
        snprintf(key, sizeof(key), "k%03d", i);
        json_object_set_new(object, key, json_integer(i));
    }
    OWN(str) char *text = json_canonical(object, NULL);
    assert_memory_equal(text, "{\"k000\":0,\"k001\":1,", 19);
    assert_string_equal(text + strlen(text) - 11, "\"k299\":299}");
}

static void value_nested_without_end_is_refused_not_followed(void **state)
{
    (void)state;
    json_t *json = json_array();
    for (int i = 0; i < WRITE_DEPTH_MAX; i++) {
        json_t *outer = json_array();
        json_array_append_new(outer, json);
        json = outer;
    }
    char *text = json_canonical(json, NULL);
    assert_non_null(text);
    free(text);
    json_t *outer = json_array();
    json_array_append_new(outer, json);
    assert_null(json_canonical(outer, NULL));
    json_decref(outer);
    assert_null(json_canonical(NULL, NULL));
}

static void digest_is_sha256_of_the_canonical_text(void **state)
{
    (void)state;
    char text[DIGEST_TEXT_MAX], other[DIGEST_TEXT_MAX];
    bytes_digest("abc", 3, text);
    assert_string_equal(text,
                        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    OWN(json) json_t *a = json_pack("{s:i,s:i}", "a", 1, "b", 2);
    OWN(json) json_t *b = json_pack("{s:i,s:i}", "b", 2, "a", 1);
    assert_ok(json_digest(a, text, &err));
    assert_ok(json_digest(b, other, &err));
    assert_string_equal(text, other);
    bytes_digest("{\"a\":1,\"b\":2}", 13, other);
    assert_string_equal(text, other);
}

static void every_failed_allocation_is_told(void **state)
{
    (void)state;
    OWN(json) json_t *object = json_object();
    for (int i = 0; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof(key), "k%03d", i);
        json_object_set_new(object, key, json_string("a text of some length \n"));
    }
    bool reached_end = false;
    for (long at = 0; !reached_end; at++) {
        fail_at = at;
        char *text = json_canonical(object, NULL);
        reached_end = fail_at >= 0;
        fail_at = -1;
        assert_int_equal(text != NULL, reached_end);
        free(text);
        assert_true(at < 50);
    }
    char digest[DIGEST_TEXT_MAX];
    fail_at = 0;
    assert_fails(json_digest(object, digest, &err), ERR_NOMEM);
}

static void pointer_tokens_are_escaped_and_cut_whole(void **state)
{
    (void)state;
    char pointer[16] = "";
    json_pointer_push(pointer, sizeof(pointer), "a/b~c");
    assert_string_equal(pointer, "/a~1b~0c");
    json_pointer_push(pointer, sizeof(pointer), "12345");
    assert_string_equal(pointer, "/a~1b~0c/12345");
    json_pointer_push(pointer, sizeof(pointer), "~");
    assert_string_equal(pointer, "/a~1b~0c/12345/");
    json_pointer_push(pointer, sizeof(pointer), "x");
    assert_string_equal(pointer, "/a~1b~0c/12345/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_sorted_by_bytes_and_blanks_go),
        cmocka_unit_test(only_what_must_be_escaped_is),
        cmocka_unit_test(integers_and_reals_stay_apart),
        cmocka_unit_test(canonical_text_reads_back_to_the_same_text),
        cmocka_unit_test(many_members_are_sorted_too),
        cmocka_unit_test(value_nested_without_end_is_refused_not_followed),
        cmocka_unit_test(digest_is_sha256_of_the_canonical_text),
        cmocka_unit_test(every_failed_allocation_is_told),
        cmocka_unit_test(pointer_tokens_are_escaped_and_cut_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
